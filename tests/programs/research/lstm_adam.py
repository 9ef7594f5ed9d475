"""An LSTM language model of characters: BasicLSTMCell, static_rnn, clip_by_global_norm, Adam."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(23)
TEXT = "the quick brown fox jumps over the lazy dog and the cat "
alphabet = sorted(set(TEXT))
ids = np.array([alphabet.index(c) for c in TEXT])
V, T, B, N = len(alphabet), 9, 6, 10
TOLERANCE = 1e-4      # float32 over several Adam steps

inputs = tf.placeholder(tf.int32, [B, T])
targets = tf.placeholder(tf.int32, [B, T])
with tf.variable_scope("lm", initializer=tf.constant_initializer(0.0)):
    embedding = tf.get_variable("embedding", initializer=(0.5 * rng.randn(V, N)).astype(np.float32))
    steps = tf.unstack(tf.nn.embedding_lookup(embedding, inputs), axis=1)
    cell = tf.nn.rnn_cell.BasicLSTMCell(N, forget_bias=1.0)
    state = cell.zero_state(B, tf.float32)
    outputs, (c, h) = tf.nn.static_rnn(cell, steps, initial_state=state)
    output = tf.reshape(tf.concat(outputs, 1), [-1, N])
    w = tf.get_variable("softmax_w", initializer=(0.3 * rng.randn(N, V)).astype(np.float32))
    b = tf.get_variable("softmax_b", [V])
    logits = tf.matmul(output, w) + b
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
    labels=tf.reshape(targets, [-1]), logits=logits))

kernel, bias = [v for v in tf.trainable_variables() if "basic_lstm_cell" in v.name]
load_kernel = kernel.assign((0.3 * rng.randn(2 * N, 4 * N)).astype(np.float32))
global_step = tf.train.get_or_create_global_step()
tvars = tf.trainable_variables()
grads, norm = tf.clip_by_global_norm(tf.gradients(loss, tvars), 0.5)
train_op = tf.train.AdamOptimizer(0.05).apply_gradients(zip(grads, tvars), global_step=global_step)

starts = np.arange(B) * 7
feed = {inputs: ids[(starts[:, None] + np.arange(T)) % len(ids)],
        targets: ids[(starts[:, None] + np.arange(1, T + 1)) % len(ids)]}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(load_kernel)
    d_kernel, last_c, last_h = sess.run([grads[tvars.index(kernel)], c, h], feed)
    for _ in range(8):
        history.append(sess.run([loss, norm, train_op], feed)[:2])
    step = sess.run(global_step)

RESULTS = {
    "shapes": [v.get_shape().num_elements() for v in tvars],
    "d_kernel": d_kernel,
    "c": last_c,
    "h": last_h,
    "history": history,
    "global_step": step,
}
