"""Feature visualisation with redirected ReLU gradients, in the manner of lucid (Olah et al. 2017)."""
import contextlib

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(10)


def redirected_relu_grad(op, grad):
    assert op.type == "Relu"
    x = op.inputs[0]
    relu_grad = tf.where(x < 0., tf.zeros_like(grad), grad)
    # Where the unit is off, and the gradient would push it further down: let the gradient through.
    neg_pushing_neg = tf.logical_and(x < 0., grad > 0.)
    redirected_grad = tf.where(neg_pushing_neg, tf.zeros_like(grad), grad)
    # Only if no gradient reaches the input at all.
    assert_op = tf.Assert(tf.greater(tf.rank(relu_grad), 1), [tf.rank(relu_grad)])
    with tf.control_dependencies([assert_op]):
        batch = tf.shape(relu_grad)[0]
        reshaped = tf.reshape(relu_grad, [batch, -1])
        magnitude = tf.norm(reshaped, axis=1)
    blocked = tf.equal(magnitude, 0.)
    return tf.where(blocked, redirected_grad, relu_grad)


def redirected_relu6_grad(op, grad):
    assert op.type == "Relu6"
    x = op.inputs[0]
    relu_grad = tf.where(tf.logical_or(x < 0., x > 6.), tf.zeros_like(grad), grad)
    neg_pushing_neg = tf.logical_and(x < 0., grad > 0.)
    pos_pushing_pos = tf.logical_and(x > 6., grad < 0.)
    dir_sign = tf.logical_or(neg_pushing_neg, pos_pushing_pos)
    redirected_grad = tf.where(dir_sign, tf.zeros_like(grad), grad)
    blocked = tf.equal(tf.norm(tf.reshape(relu_grad, [tf.shape(relu_grad)[0], -1]), axis=1), 0.)
    return tf.where(blocked, redirected_grad, relu_grad)


@contextlib.contextmanager
def gradient_override(rules):
    names = {}
    for op_type, rule in rules.items():
        names[op_type] = "Redirected_" + op_type
        tf.RegisterGradient(names[op_type])(rule)
    with tf.get_default_graph().gradient_override_map(names):
        yield


kernel = (0.4 * rng.randn(5, 5, 3, 4)).astype(np.float32)
read_out = rng.randn(4, 2).astype(np.float32)


def network(x):
    h = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME") - 4.0)      # mostly off
    h = tf.nn.relu6(3.0 * tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME") - 0.5)
    return tf.matmul(tf.reduce_mean(h, [1, 2]), read_out)


start = 0.3 * rng.randn(2, 12, 12, 3) * np.reshape([1.0, 4.0], [2, 1, 1, 1])      # the second is partly on
image = tf.Variable(start.astype(np.float32), name="image")
plain = network(image)
with gradient_override({"Relu": redirected_relu_grad, "Relu6": redirected_relu6_grad}):
    redirected = network(image)

objective = tf.reduce_mean(redirected[:, 0])
grad, = tf.gradients(-objective, image)
step = tf.train.AdamOptimizer(0.05).apply_gradients([(grad, image)])
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    plain_grad, redirected_grad = sess.run([tf.gradients(-plain[:, 0], image)[0], grad])
    for _ in range(8):
        history.append(sess.run([objective, step])[0])

RESULTS = {"plain_grad": plain_grad, "redirected_grad": redirected_grad, "objective": history}
