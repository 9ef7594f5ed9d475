"""Learned step sizes (LSQ, Esser et al. 2019) and clipping (PACT, Choi et al. 2018), custom_gradient."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(4)


@tf.custom_gradient
def round_pass(x):
    def grad(dy):
        return dy
    return tf.round(x), grad


def grad_scale(x, scale):
    y = x * scale
    return tf.stop_gradient(x - y) + y


def lsq(x, step, bits):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    count = np.prod(x.get_shape().as_list())
    step = grad_scale(step, 1.0 / np.sqrt(float(count * high)))
    return round_pass(tf.clip_by_value(x / step, float(low), float(high))) * step


def pact(x, alpha, bits):
    levels = float(2 ** bits - 1)

    @tf.custom_gradient
    def clipped(x, alpha):
        y = tf.clip_by_value(x, tf.zeros_like(alpha), alpha)

        def grad(dy):
            inside = tf.cast(tf.logical_and(x > 0.0, x < alpha), dy.dtype)
            above = tf.cast(x >= alpha, dy.dtype)
            return dy * inside, tf.reduce_sum(dy * above)
        return y, grad

    return round_pass(clipped(x, alpha) * levels / alpha) * alpha / levels


data, target = rng.randn(16, 5), rng.randn(16, 2)
w1, w2 = tf.Variable(rng.randn(5, 8) * 0.5, name="w1"), tf.Variable(rng.randn(8, 2) * 0.5, name="w2")
step1 = tf.Variable(2 * np.mean(np.abs(rng.randn(40))) / np.sqrt(7.0), name="step1")
step2 = tf.Variable(0.25, dtype=tf.float64, name="step2")
alpha = tf.Variable(1.3, dtype=tf.float64, name="alpha")
h = pact(tf.matmul(data, lsq(w1, step1, 4)), alpha, 3)
out = tf.matmul(h, lsq(w2, step2, 4))
loss = tf.reduce_mean(tf.square(out - target))
variables = [w1, w2, step1, step2, alpha]
grads = tf.gradients(loss + 1e-3 * tf.square(alpha), variables, gate_gradients=True)
train_op = tf.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True).apply_gradients(zip(grads, variables))

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads)
    for _ in range(6):
        history.append(sess.run([loss, train_op])[:1] + sess.run([step1, step2, alpha]))

RESULTS = dict({"grad_" + v.op.name: g for v, g in zip(variables, first)}, history=history)
