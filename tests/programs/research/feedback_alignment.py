"""Feedback alignment (Lillicrap et al. 2016) and the direct form (Nokland 2016): other weights backward."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(34)
feedback = {}       # op name -> the fixed matrix that carries the gradient back


@tf.RegisterGradient("FeedbackAlignment")
def _feedback_grad(op, dy):
    x, w = op.inputs
    return tf.matmul(dy, feedback[op.name], transpose_b=True), tf.matmul(x, dy, transpose_a=True)


@tf.RegisterGradient("DirectFeedback")
def _direct_grad(op, dy):
    # What comes from above is ignored: the layer is told of the output's error by its own matrix.
    matrix, error = feedback[op.name]
    return tf.matmul(error(), matrix) * (1.0 - tf.square(op.outputs[0]))


sizes = [6, 12, 10, 3]
starts = [rng.randn(a, b) / np.sqrt(a) for a, b in zip(sizes, sizes[1:])]
fixed = [rng.randn(a, b) / np.sqrt(a) for a, b in zip(sizes, sizes[1:])]
direct = [rng.randn(3, b) / np.sqrt(3) for b in sizes[1:-1]]
data, target = rng.randn(20, 6), rng.randn(20, 3)


def network(kind):
    g = tf.get_default_graph()
    weights = [tf.Variable(w, name=kind) for w in starts]
    h, outputs = tf.constant(data), []
    for i, w in enumerate(weights):
        with g.gradient_override_map({"MatMul": "FeedbackAlignment"} if kind == "alignment" else {}):
            h = tf.matmul(h, w)
        feedback[h.op.name] = fixed[i]
        if i < len(weights) - 1:
            with g.gradient_override_map({"Tanh": "DirectFeedback"} if kind == "direct" else {}):
                h = tf.tanh(h)
            feedback[h.op.name] = direct[i], lambda: 2.0 * (outputs[0] - target) / target.size
    outputs.append(h)
    loss = tf.reduce_mean(tf.square(h - target))
    return loss, weights, tf.gradients(loss, weights, gate_gradients=True)


RESULTS, runs = {}, {}
for kind in ("backprop", "alignment", "direct"):
    loss, weights, grads = network(kind)
    runs[kind] = loss, grads, tf.train.GradientDescentOptimizer(0.3).apply_gradients(zip(grads, weights))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for kind, (loss, grads, train_op) in runs.items():
        for i, g in enumerate(sess.run(grads)):
            RESULTS["%s_d%d" % (kind, i)] = g
        RESULTS[kind + "_losses"] = [sess.run([loss, train_op])[0] for _ in range(6)]
