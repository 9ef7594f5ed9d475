"""Generalised divisive normalisation (Balle et al. 2015): a bound whose gradient looks at its sign."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(14)


@tf.RegisterGradient("GdnProgramLowerBound")
def _lower_bound_grad(op, grad):
    """Passes the gradient where the bound is inactive, or where it moves the value back towards it."""
    inputs, bound = op.inputs
    pass_through = tf.logical_or(inputs >= bound, grad < 0)
    return [tf.cast(pass_through, grad.dtype) * grad, None]


def lower_bound(inputs, bound, name=None):
    with tf.name_scope(name, "GDNLowerBound", [inputs, bound]) as scope:
        inputs = tf.convert_to_tensor(inputs, name="inputs")
        bound = tf.convert_to_tensor(bound, name="bound", dtype=inputs.dtype)
        with tf.get_default_graph().gradient_override_map({"Maximum": "GdnProgramLowerBound"}):
            return tf.maximum(inputs, bound, name=scope)


def gdn(x, channels, inverse=False, beta_min=1e-3, gamma_init=0.1, offset=2 ** -10):
    pedestal = offset ** 2
    with tf.variable_scope("igdn" if inverse else "gdn"):
        beta = tf.get_variable("reparam_beta", initializer=tf.constant(
            np.sqrt(np.array([1.0, 0.5, -0.2]) ** 2 + pedestal) * [1, 1, -1]))
        beta = tf.square(lower_bound(beta, (beta_min + offset ** 2) ** 0.5)) - pedestal
        start = np.sqrt(gamma_init * np.eye(channels) + pedestal) - 0.001 * (1 - np.eye(channels))
        gamma = tf.get_variable("reparam_gamma", initializer=tf.constant(start))
        gamma = tf.square(lower_bound(gamma, offset)) - pedestal
        norm_pool = tf.nn.conv2d(
            tf.square(x), tf.reshape(gamma, [1, 1, channels, channels]), [1, 1, 1, 1], "VALID"
        )
        norm_pool = tf.nn.bias_add(norm_pool, beta)
        return x * tf.sqrt(norm_pool) if inverse else x * tf.rsqrt(norm_pool)


x = tf.constant(rng.randn(2, 4, 4, 3))
noise = tf.constant(rng.uniform(-0.5, 0.5, (2, 4, 4, 3)))
y = gdn(x, 3)
decoded = gdn(y * 4.0 + noise, 3, inverse=True) / 4.0
loss = tf.reduce_mean(tf.square(decoded - x)) + 0.01 * tf.reduce_mean(tf.abs(y))
variables = tf.trainable_variables()
grads = tf.gradients(loss, variables, gate_gradients=True)
train_op = tf.train.GradientDescentOptimizer(1e-4).apply_gradients(zip(grads, variables))
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads)
    for _ in range(5):
        history.append(sess.run([loss, train_op])[0])
    last = sess.run(variables)

RESULTS = {"losses": history}
for variable, g, value in zip(variables, first, last):
    RESULTS["grad " + variable.name] = g
    RESULTS["final " + variable.name] = value
