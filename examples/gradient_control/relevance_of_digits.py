"""Which pixels speak for a digit? Four backward passes over one network, judged by deleting pixels.

A small convolutional network learns scikit-learn's digits. Then one graph holds four views: gradient times input, guided
backpropagation, and layer-wise relevance propagation with two presets. Each ranks the pixels of unseen digits; the ten
ranked first are set to zero, and the better the ranking, the more of the digit's score is gone.

    python examples/gradient_control/relevance_of_digits.py
"""

import numpy as np
from figure import plt, save
from sklearn.datasets import load_digits

import regrad as tf
from regrad import rules

DELETED = 10
STEPS = 150


def network(x):
    """Returns the scores of ten digits for images [n, 8, 8, 1]."""

    def weights(name, shape):
        deviation = np.sqrt(2 / np.prod(shape[:-1]))
        return tf.get_variable(name, shape, initializer=tf.random_normal_initializer(stddev=deviation))

    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        h = tf.nn.relu(tf.nn.conv2d(x, weights("c1", [3, 3, 1, 12]), [1, 1, 1, 1], "SAME"))
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        h = tf.nn.relu(tf.nn.conv2d(h, weights("c2", [3, 3, 12, 24]), [1, 1, 1, 1], "SAME"))
        h = tf.nn.relu(tf.matmul(tf.reshape(h, [-1, 16 * 24]), weights("d1", [16 * 24, 32])))
        return tf.matmul(h, weights("d2", [32, 10]))


def main():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    order = np.random.RandomState(0).permutation(len(images))
    train, test = order[:1400], order[1400:]

    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 8, 8, 1])
    y = tf.placeholder(tf.int32, [None])
    scores = network(x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))
    step = tf.train.AdamOptimizer(3e-3).minimize(loss)

    own = tf.reduce_sum(scores * tf.one_hot(y, 10), axis=1)  # the score of the true digit
    times_input = [tf.View("gradient x input"), tf.View("guided x input", {"Relu": rules.guided_relu})]
    relevance = [tf.View("LRP epsilon-plus", rules.lrp_epsilon_plus()),
                 tf.View("LRP epsilon-gamma-box", rules.lrp_epsilon_gamma_box(0.0, 1.0))]
    maps = {name: g[0] * x for name, g in tf.view_gradients(own, x, times_input).items()}
    maps.update((name, g[0]) for name, g in tf.view_gradients(own, x, relevance, grad_ys=[own]).items())

    draw = np.random.RandomState(2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            batch = draw.choice(train, 64)
            session.run(step, {x: images[batch], y: labels[batch]})
        feed = {x: images[test], y: labels[test]}
        guesses, before, found = session.run([tf.argmax(scores, 1), own, maps], feed)
        print(f"accuracy on unseen digits: {np.mean(guesses == labels[test]):.3f}")
        print(f"score of the true digit: {before.mean():.2f}; after deleting {DELETED} of 64 pixels, chosen by")
        found["chance"] = draw.rand(*images[test].shape)
        left = {}
        for name, ranking in found.items():
            cut = images[test].reshape(-1, 64).copy()
            first = np.argsort(-ranking.reshape(-1, 64), axis=1)[:, :DELETED]
            np.put_along_axis(cut, first, 0, axis=1)
            after = session.run(own, {x: cut.reshape(-1, 8, 8, 1), y: labels[test]})
            left[name] = after.mean()
            print(f"  {name:22s} {left[name]:6.2f}")
        total = found["LRP epsilon-plus"].sum((1, 2, 3))
        print(f"relevance adds up to the score within {np.abs(total - before).max():.1e}")
    figure, axes = plt.subplots(figsize=(6, 2.6))
    axes.barh(list(left)[::-1], list(left.values())[::-1])
    axes.axvline(before.mean(), color="0.5")
    axes.set(xlabel=f"score of the true digit after deleting {DELETED} pixels (line: before)")
    save(figure)


if __name__ == "__main__":
    main()
