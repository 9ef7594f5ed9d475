"""Guided backprop, deconvnet and the true gradient of one conv net (Springenberg 2014, Zeiler & Fergus 2013).

The model is built three times over shared variables, as override scopes demand.
"""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

rng = np.random.RandomState(5)


@ops.RegisterGradient("GuidedRelu")
def _guided_relu_grad(op, grad):
    gate_g = tf.cast(grad > 0, "float32")
    gate_y = tf.cast(op.outputs[0] > 0, "float32")
    return gate_y * gate_g * grad


@ops.RegisterGradient("DeconvRelu")
def _deconv_relu_grad(op, grad):
    return tf.where(0. < grad, grad, tf.zeros(tf.shape(grad)))


kernels = [0.5 * rng.randn(3, 3, 2, 4), 0.3 * rng.randn(3, 3, 4, 6), 0.3 * rng.randn(24, 5)]


def model(images):
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        w = [tf.get_variable("w%d" % i, initializer=k.astype(np.float32)) for i, k in enumerate(kernels)]
        h = tf.nn.relu(tf.nn.conv2d(images, w[0], strides=[1, 1, 1, 1], padding="SAME"))
        h = tf.nn.max_pool(h, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        h = tf.nn.relu(tf.nn.conv2d(h, w[1], strides=[1, 2, 2, 1], padding="SAME"))
        return tf.matmul(tf.reshape(h, [-1, 24]), w[2])


images = tf.placeholder(tf.float32, [None, 8, 8, 2])
label = tf.placeholder(tf.int32, [None])
g = tf.get_default_graph()
saliency = {}
for view, override in [("plain", {}), ("guided", {"Relu": "GuidedRelu"}), ("deconv", {"Relu": "DeconvRelu"})]:
    with g.gradient_override_map(override):
        logits = model(images)
    cost = tf.reduce_sum(logits * tf.one_hot(label, 5))
    saliency[view] = tf.gradients(cost, images)[0]
    saliency["logits_" + view] = logits

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    RESULTS = sess.run(saliency, {images: rng.randn(3, 8, 8, 2), label: [0, 3, 4]})
RESULTS["variables"] = np.array(len(tf.global_variables()))
