"""An equilibrium as a layer (Bai et al. 2019, arXiv 1909.01377): the gradient of a fixed point by one linear equation.

Backpropagation through the turns of the loop comes nearer to it with every turn; the rule gives it at once.
"""

import numpy as np
from figure import plt, save

import regrad as tf

draw = np.random.RandomState(0)
weights = 0.9 * np.linalg.qr(draw.randn(6, 6))[0]
x, w = tf.constant(draw.randn(6, 1)), tf.constant(weights)
turns = tf.placeholder(tf.int32, [])


def iterate(n):
    return tf.while_loop(lambda i, z: i < n, lambda i, z: (i + 1, tf.tanh(tf.matmul(w, z) + x)), (0, tf.zeros_like(x)))[1]


@tf.custom_gradient
def equilibrium(x):
    z = iterate(400)

    def grad(dz):
        slope = 1.0 - tf.square(z)
        return slope * tf.matrix_solve(tf.eye(6, dtype=tf.float64) - tf.transpose(slope * w), dz)

    return z, grad


exact = tf.gradients(tf.reduce_sum(tf.square(equilibrium(x))), x)[0]
unrolled = tf.gradients(tf.reduce_sum(tf.square(iterate(turns))), x)[0]
with tf.Session() as session:
    truth = session.run(exact)
    counts = [1, 2, 4, 8, 16, 32, 64]
    errors = [np.linalg.norm(session.run(unrolled, {turns: n}) - truth) / np.linalg.norm(truth) for n in counts]
figure, axes = plt.subplots(figsize=(5, 3.2))
axes.loglog(counts, errors, "o-")
axes.set(xlabel="turns unrolled", ylabel="relative error of the gradient")
print({n: f"{e:.1e}" for n, e in zip(counts, errors)})
save(figure)
