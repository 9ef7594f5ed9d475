"""A spiking cell as an RNNCell under tf.nn.dynamic_rnn, sequences of different lengths (LSNN style)."""
import collections

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(13)
State = collections.namedtuple("State", ["v", "z"])


@tf.custom_gradient
def spike_function(v_scaled):
    z = tf.cast(tf.greater(v_scaled, 0.0), tf.float32)

    def grad(dy):
        return [dy * tf.maximum(1.0 - tf.abs(v_scaled), 0.0) * 0.3]

    return z, grad


class LIF(tf.nn.rnn_cell.RNNCell):
    def __init__(self, n_in, n_rec):
        super(LIF, self).__init__()
        self.n_rec = n_rec
        self.w_in = tf.Variable(rng.randn(n_in, n_rec).astype(np.float32), name="w_in")
        self.w_rec = tf.Variable(0.3 * rng.randn(n_rec, n_rec).astype(np.float32), name="w_rec")

    @property
    def state_size(self):
        return State(v=self.n_rec, z=self.n_rec)

    @property
    def output_size(self):
        return self.n_rec

    def __call__(self, inputs, state, scope=None):
        current = tf.matmul(inputs, self.w_in) + tf.matmul(state.z, self.w_rec)
        v = 0.8 * state.v + 0.6 * current - state.z * 0.5
        z = spike_function((v - 0.5) / 0.5)
        return z, State(v=v, z=z)


cell = LIF(4, 7)
inputs = tf.placeholder(tf.float32, [None, 10, 4])
lengths = tf.placeholder(tf.int32, [None])
outputs, last = tf.nn.dynamic_rnn(cell, inputs, sequence_length=lengths, dtype=tf.float32)
loss = tf.reduce_sum(tf.square(tf.reduce_mean(outputs, [0, 1]) - 0.3)) + 0.1 * tf.reduce_mean(
    tf.square(last.v)
)
grads = tf.gradients(loss, [cell.w_in, cell.w_rec], gate_gradients=True)
train_op = tf.train.AdamOptimizer(0.02).apply_gradients(zip(grads, [cell.w_in, cell.w_rec]))

feed = {inputs: (rng.rand(3, 10, 4) < 0.3).astype(np.float32), lengths: [10, 6, 3]}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    spikes, v, (d_in, d_rec) = sess.run([outputs, last.v, grads], feed)
    for _ in range(4):
        history.append(sess.run([loss, train_op], feed)[0])

RESULTS = {"spikes": spikes, "v": v, "d_w_in": d_in, "d_w_rec": d_rec, "losses": history}
