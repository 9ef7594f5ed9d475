"""Grad-CAM and guided Grad-CAM (Selvaraju et al. 2016): gradients at an inner tensor."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(6)
DTYPE = tf.float64
TOLERANCE = 1e-5     # images are resized in float32


@tf.RegisterGradient("GradCamGuidedRelu")
def _guided_relu_grad(op, grad):
    return tf.where(0. < grad, tf.where(op.outputs[0] > 0., grad, tf.zeros_like(grad)), tf.zeros_like(grad))


def conv(x, n, name):
    with tf.variable_scope(name, reuse=tf.AUTO_REUSE):
        shape = [3, 3, int(x.get_shape()[-1]), n]
        w = tf.get_variable(
            "w", shape, DTYPE, tf.constant_initializer(np.random.RandomState(n).randn(*shape) / 4)
        )
        return tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), name="relu")


def network(x):
    h = conv(x, 4, "conv1")
    h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    last = conv(h, 5, "conv2")
    pooled = tf.reduce_mean(last, [1, 2])
    with tf.variable_scope("fc", reuse=tf.AUTO_REUSE):
        w = tf.get_variable("w", [5, 3], DTYPE, tf.constant_initializer(np.random.RandomState(9).randn(5, 3)))
    return last, tf.matmul(pooled, w)


x = tf.placeholder(DTYPE, [1, 12, 12, 1])
last, logits = network(x)
prob = tf.nn.softmax(logits)
top = tf.argmax(logits[0])
signal = logits[0, top]
grads = tf.gradients(signal, last)[0]
norm_grads = tf.div(grads, tf.sqrt(tf.reduce_mean(tf.square(grads))) + tf.constant(1e-5, DTYPE))
weights = tf.reduce_mean(norm_grads, axis=(0, 1, 2))
cam = tf.nn.relu(tf.tensordot(last[0], weights, [[2], [0]]))
cam = cam / tf.reduce_max(cam)
heat = tf.image.resize_bilinear(cam[tf.newaxis, :, :, tf.newaxis], [12, 12])

with tf.get_default_graph().gradient_override_map({"Relu": "GradCamGuidedRelu"}):
    _, guided_logits = network(x)
guided = tf.gradients(guided_logits[0, top], x)[0]

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    out = sess.run({"prob": prob, "top": top, "grads": grads, "weights": weights, "cam": cam, "heat": heat,
                    "guided": guided, "guided_grad_cam": guided * tf.cast(heat, DTYPE)},
                   {x: rng.rand(1, 12, 12, 1)})
RESULTS = out
