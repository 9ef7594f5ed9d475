"""Features that cannot tell where they come from (Ganin & Lempitsky 2015, arXiv 1409.7495), in two dimensions.

Labels are known in one domain; the other is moved along a second axis. A reversed gradient removes the axis that tells the
domains apart, and with it the error on the unlabelled one.
"""

import numpy as np
from figure import plt, save

import regrad as tf

draw = np.random.RandomState(2)


def points(n, shift):
    side = draw.randint(2, size=n)
    return np.stack([draw.randn(n) * 0.5 + 1.6 * side - 0.8, draw.randn(n) * 0.6 + 1.2 * side + shift], 1).astype("f"), side


(source, labels), (target, hidden) = points(300, 0.0), points(300, -3.0)
data, domains = np.concatenate([source, target]), np.repeat([0, 1], 300)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True)
for place, strength in zip(axes, (0.0, 3.0)):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        x = tf.placeholder(tf.float32, [None, 2])
        features = tf.layers.dense(x, 1, use_bias=False, kernel_initializer=tf.constant_initializer([[0.5], [0.5]]))
        scores = tf.layers.dense(features, 2)
        domain = tf.layers.dense(tf.layers.dense(tf.reverse_gradient(features, strength), 8, tf.nn.relu), 2)
        cross = tf.nn.sparse_softmax_cross_entropy_with_logits
        loss = tf.reduce_mean(cross(labels=labels, logits=scores[:300])) + tf.reduce_mean(cross(labels=domains, logits=domain))
        step = tf.train.AdamOptimizer(0.02).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(400):
            session.run(step, {x: data})
        grid = np.stack(np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-6, 4, 80)), -1).reshape(-1, 2)
        guess = session.run(tf.argmax(scores, 1), {x: grid}).reshape(80, 80)
        right = np.mean(session.run(tf.argmax(scores, 1), {x: target}) == hidden)
    place.contourf(np.linspace(-3, 3, 80), np.linspace(-6, 4, 80), guess, alpha=0.25, cmap="coolwarm", levels=1)
    place.scatter(*source.T, c=labels, cmap="coolwarm", s=7)
    place.scatter(*target.T, c=hidden, cmap="coolwarm", s=14, marker="x", lw=0.8)
    place.set_title(f"reversal x {strength:g}: {right:.0%} right on the unlabelled (x)", fontsize=9)
    print(f"strength {strength:g}: accuracy on the unlabelled domain {right:.3f}")
save(figure)
