"""A digit reader whose weights have few bits, trained through roundings that have no derivative.

The same network is trained with real weights, with two bits, with one bit, and with one bit but the true derivative of the
sign, which is zero: what the override is for.

    python examples/gradient_control/few_bits.py
"""

import numpy as np
from figure import plt, save
from sklearn.datasets import load_digits

import regrad as tf
from regrad import rules

STEPS = 200
WAYS = {  # what becomes of the weights; overrides of the backward pass
    "real weights": (lambda w: w, None),
    "two bits (DoReFa)": (lambda w: rules.dorefa_weights(w, 2), None),
    "one bit, straight through": (lambda w: tf.sign(w) * 0.1, {"Sign": rules.surrogate(rules.clipped(1.0))}),
    "one bit, true derivative": (lambda w: tf.sign(w) * 0.1, None),
}


def accuracy(name, images, labels, train, test):
    """Returns the share of unseen digits read rightly after training one way."""
    quantised, overrides = WAYS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        x, y = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.int32, [None])
        h = x
        for i, (a, b) in enumerate([(64, 48), (48, 10)]):
            w = tf.get_variable(f"w{i}", [a, b], initializer=tf.random_normal_initializer(stddev=0.1))
            bias = tf.get_variable(f"b{i}", [b], initializer=tf.zeros_initializer())
            h = tf.matmul(h, quantised(w)) + bias
            h = tf.nn.relu(h) if i == 0 else h
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=h))
        variables = tf.trainable_variables()
        grads = tf.gradients(loss, variables, overrides=overrides)
        step = tf.train.AdamOptimizer(5e-3).apply_gradients(zip(grads, variables))
        guess = tf.argmax(h, 1)
        session.run(tf.global_variables_initializer())
        draw = np.random.RandomState(4)
        for _ in range(STEPS):
            batch = draw.choice(train, 64)
            session.run(step, {x: images[batch], y: labels[batch]})
        return np.mean(session.run(guess, {x: images[test]}) == labels[test])


def main():
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(images))
    found = {name: accuracy(name, images, labels, order[:1400], order[1400:]) for name in WAYS}
    for name, share in found.items():
        print(f"{name:28s} {share:.3f}")
    figure, axes = plt.subplots(figsize=(6, 2.4))
    axes.barh(list(found)[::-1], list(found.values())[::-1])
    axes.set(xlim=(0, 1), xlabel="unseen digits read rightly")
    save(figure)


if __name__ == "__main__":
    main()
