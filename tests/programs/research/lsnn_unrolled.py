"""Spiking neurons with adaptive thresholds and a pseudo-derivative (Bellec et al. 2018), unrolled."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(11)
T, BATCH, N_IN, N, N_OUT = 12, 4, 5, 8, 2
DT, TAU, TAU_ADAPT, BETA, THRESHOLD, DAMPENING = 1.0, 10.0, 30.0, 0.8, 0.4, 0.3


@tf.custom_gradient
def spike_function(v_scaled, dampening):
    z = tf.cast(tf.greater(v_scaled, 0.0), tf.float64)

    def grad(dy):
        dz_dv_scaled = tf.maximum(1.0 - tf.abs(v_scaled), 0.0) * dampening
        return [dy * dz_dv_scaled, tf.zeros_like(dampening)]

    return tf.identity(z, name="spike_function"), grad


w_in = tf.Variable(rng.randn(N_IN, N) / np.sqrt(N_IN), name="w_in")
w_rec = tf.Variable(rng.randn(N, N) / np.sqrt(N), name="w_rec")
w_out = tf.Variable(rng.randn(N, N_OUT) / np.sqrt(N), name="w_out")
decay, rho = np.exp(-DT / TAU), np.exp(-DT / TAU_ADAPT)
dampening = tf.constant(DAMPENING, tf.float64)
no_self = tf.where(np.eye(N, dtype=bool), tf.zeros_like(w_rec), w_rec)

inputs = tf.placeholder(tf.float64, [BATCH, T, N_IN])
targets = tf.placeholder(tf.float64, [BATCH, N_OUT])
v = b = z = tf.zeros([BATCH, N], tf.float64)
spikes, voltages = [], []
for x in tf.unstack(inputs, axis=1):
    current = tf.matmul(x, w_in) + tf.matmul(z, no_self)
    b = rho * b + (1.0 - rho) * z
    threshold = THRESHOLD + b * BETA
    v = decay * v + (1.0 - decay) * current * 3.0 - z * threshold
    z = spike_function((v - threshold) / threshold, dampening)
    spikes.append(z)
    voltages.append(v)
spikes = tf.stack(spikes, axis=1)
rate = tf.reduce_mean(spikes, axis=[0, 1])
readout = tf.matmul(tf.reduce_mean(spikes, axis=1), w_out)
loss_target = tf.reduce_mean(tf.square(readout - targets))
loss_rate = tf.reduce_sum(tf.square(rate - 0.2))
loss = loss_target + 0.1 * loss_rate

optimizer = tf.train.AdamOptimizer(0.01)
grads_and_vars = optimizer.compute_gradients(loss, [w_in, w_rec, w_out])
train_op = optimizer.apply_gradients(grads_and_vars)
feed = {inputs: (rng.rand(BATCH, T, N_IN) < 0.4).astype(float), targets: rng.randn(BATCH, N_OUT)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    raster, grads = sess.run([spikes, [g for g, _ in grads_and_vars]], feed)
    for _ in range(5):
        history.append(sess.run([loss_target, loss_rate, train_op], feed)[:2])

RESULTS = {"spikes": raster, "losses": history, "d_w_in": grads[0], "d_w_rec": grads[1], "d_w_out": grads[2]}
