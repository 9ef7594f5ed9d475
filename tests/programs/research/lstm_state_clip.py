"""Gradients of an LSTM's cell state clipped at every step, by an Identity override (Graves 2013)."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(22)
STEPS, BATCH, N_IN, N = 8, 3, 4, 5


@tf.RegisterGradient("LstmClipState")
def _clip_state(op, grad):
    return tf.clip_by_value(grad, -0.02, 0.02)


@tf.RegisterGradient("LstmClipStateNorm")
def _clip_state_norm(op, grad):
    return tf.clip_by_norm(grad, 0.05, axes=[1])


w = tf.Variable(rng.randn(N_IN + N, 4 * N) * 0.8, name="kernel")
b = tf.Variable(np.zeros(4 * N), name="bias")
x = tf.placeholder(tf.float64, [BATCH, STEPS, N_IN])
y = tf.placeholder(tf.float64, [BATCH, N])


def run_cell(rule):
    c = h = tf.zeros([BATCH, N], tf.float64)
    states = []
    for t in range(STEPS):
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x[:, t], h], 1), w), b)
        i, j, f, o = tf.split(value=gates, num_or_size_splits=4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        with tf.get_default_graph().gradient_override_map({"Identity": rule} if rule else {}):
            c = tf.identity(c, name="state")
        states.append(c)
        h = tf.sigmoid(o) * tf.tanh(c)
    loss = tf.reduce_sum(tf.square(h - y))
    return loss, tf.gradients(loss, [w, b]), tf.gradients(loss, [states[0], states[-1]])


plain, clipped, clipped_norm = run_cell(None), run_cell("LstmClipState"), run_cell("LstmClipStateNorm")
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: rng.randn(BATCH, STEPS, N_IN), y: rng.randn(BATCH, N)}
    RESULTS = {}
    for name, (loss, d_weights, d_states) in zip(("plain", "clip", "norm"), (plain, clipped, clipped_norm)):
        (
            RESULTS[name + "_loss"],
            (RESULTS[name + "_dw"], RESULTS[name + "_db"]),
            (RESULTS[name + "_dc_first"], RESULTS[name + "_dc_last"]),
        ) = sess.run([loss, d_weights, d_states], feed)
