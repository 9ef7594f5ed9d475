"""Integrated gradients (Sundararajan et al. 2017): a path of inputs, a map_fn, and Gauss points."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(9)
w1, w2 = rng.randn(6, 12) / 2.5, rng.randn(12, 3) / 3.5
x = tf.placeholder(tf.float64, [6])
baseline = tf.placeholder(tf.float64, [6])


def score(batch):
    return tf.nn.softmax(tf.matmul(tf.nn.softplus(tf.matmul(batch, w1)), w2))[:, 2]


def integrated(points, weights):
    path = baseline + points[:, tf.newaxis] * (x - baseline)
    grads, = tf.gradients(score(path), path)
    return (x - baseline) * tf.reduce_sum(weights[:, tf.newaxis] * grads, axis=0)


steps = 50
riemann = integrated((tf.range(1, steps + 1, dtype=tf.float64) - 0.5) / steps,
                     tf.fill([steps], tf.constant(1.0 / steps, tf.float64)))
nodes, node_weights = np.polynomial.legendre.leggauss(8)
gauss = integrated(tf.constant((nodes + 1) / 2), tf.constant(node_weights / 2))
values = tf.map_fn(lambda p: score((baseline + p * (x - baseline))[tf.newaxis])[0],
                   tf.linspace(tf.constant(0.0, tf.float64), 1.0, 11))
total = score(x[tf.newaxis])[0] - score(baseline[tf.newaxis])[0]

with tf.Session() as sess:
    RESULTS = sess.run({"riemann": riemann, "gauss": gauss, "path": values, "total": total,
                        "gap": tf.reduce_sum(gauss) - total}, {x: rng.randn(6), baseline: np.zeros(6)})
