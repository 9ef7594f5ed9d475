"""Layer-wise relevance propagation, epsilon rule (Bach et al. 2015), as gradient overrides."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(7)
EPSILON = 1e-3


def stabilised(z):
    return z + EPSILON * tf.where(z >= 0, tf.ones_like(z), -tf.ones_like(z))


@tf.RegisterGradient("LrpMatMul")
def _lrp_matmul(op, relevance):
    a, w = op.inputs
    return a * tf.matmul(relevance / stabilised(op.outputs[0]), w, transpose_b=True), None


@tf.RegisterGradient("LrpConv2D")
def _lrp_conv2d(op, relevance):
    a, w = op.inputs
    back = tf.nn.conv2d_backprop_input(tf.shape(a), w, relevance / stabilised(op.outputs[0]),
                                       op.get_attr("strides"), op.get_attr("padding"))
    return a * back, None


@tf.RegisterGradient("LrpBiasAdd")
def _lrp_bias_add(op, relevance):
    # The bias takes its share of the relevance and keeps it.
    x, bias = op.inputs
    return x * (relevance / stabilised(op.outputs[0])), tf.zeros_like(bias)


@tf.RegisterGradient("LrpPass")
def _lrp_pass(op, relevance):
    return relevance


@tf.RegisterGradient("LrpAvgPool")
def _lrp_avg_pool(op, relevance):
    # A second pool of the same input, made outside the override's scope, has the true gradient.
    x = op.inputs[0]
    z = tf.nn.avg_pool(x, op.get_attr("ksize"), op.get_attr("strides"), op.get_attr("padding").decode())
    return x * tf.gradients(z, x, relevance / stabilised(z))[0]


RULES = {"MatMul": "LrpMatMul", "Conv2D": "LrpConv2D", "BiasAdd": "LrpBiasAdd", "Relu": "LrpPass"}

kernel, bias = 0.5 * rng.randn(3, 3, 1, 3), 0.1 * rng.randn(3)
w1, b1, w2, b2 = rng.randn(27, 8) / 5, 0.1 * rng.randn(8), rng.randn(8, 4) / 3, 0.1 * rng.randn(4)


def network(x):
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME"), bias))
    h = tf.reshape(h, [-1, 27])
    h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, w1), b1))
    return tf.nn.bias_add(tf.matmul(h, w2), b2)


x = tf.placeholder(tf.float64, [None, 6, 6, 1])
plain = network(x)
with tf.get_default_graph().gradient_override_map(RULES):
    explained = network(x)
winner = tf.one_hot(tf.argmax(plain, 1), 4, dtype=tf.float64)
relevance, = tf.gradients(explained, x, grad_ys=explained * winner)
gradient_times_input = x * tf.gradients(plain * winner, x)[0]

# This rule calls tf.gradients while tf.gradients runs.
with tf.get_default_graph().gradient_override_map({"AvgPool": "LrpAvgPool"}):
    pooled = tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
pool_relevance, = tf.gradients(pooled, x, grad_ys=pooled)

with tf.Session() as sess:
    RESULTS = sess.run(
        {
            "relevance": relevance,
            "gradient_times_input": gradient_times_input,
            "scores": explained,
            "pool_relevance": pool_relevance,
            "share": tf.reduce_sum(relevance, [1, 2, 3]) / tf.reduce_sum(explained * winner, 1),
        },
        {x: rng.randn(3, 6, 6, 1)},
    )
