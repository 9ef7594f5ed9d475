"""Leaky integrate-and-fire neurons in a tf.while_loop, with a surrogate derivative by custom_gradient."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(12)
BATCH, N_IN, N = 3, 4, 6


@tf.custom_gradient
def spike(u):
    def grad(dy):
        return dy / tf.square(1.0 + 5.0 * tf.abs(u))          # SuperSpike (Zenke & Ganguli 2018)
    return tf.cast(u > 0.0, tf.float64), grad


inputs = tf.placeholder(tf.float64, [None, BATCH, N_IN])      # the number of steps is known when run
w_in = tf.Variable(rng.randn(N_IN, N), name="w_in")
w_rec = tf.Variable(0.5 * rng.randn(N, N), name="w_rec")
alpha = tf.Variable(0.9, dtype=tf.float64, name="alpha")
steps = tf.shape(inputs)[0]
frames = tf.TensorArray(tf.float64, steps).unstack(inputs)
raster = tf.TensorArray(tf.float64, steps)


def body(t, v, z, raster):
    v = alpha * v * (1.0 - z) + tf.matmul(frames.read(t), w_in) + tf.matmul(z, w_rec)
    z = spike(v - 1.0)
    return t + 1, v, z, raster.write(t, z)


zeros = tf.zeros([BATCH, N], tf.float64)
_, v_last, _, raster = tf.while_loop(lambda t, *_: t < steps, body, [0, zeros, zeros, raster])
spikes = raster.stack()
loss = tf.reduce_mean(tf.square(tf.reduce_sum(spikes, 0) - 2.0)) + 0.01 * tf.reduce_sum(tf.square(v_last))
grads = tf.gradients(loss, [w_in, w_rec, alpha, inputs])
train_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss)

data = (rng.rand(9, BATCH, N_IN) < 0.5).astype(float)
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run([spikes] + grads, {inputs: data})
    short = sess.run(grads[1], {inputs: data[:4]})
    for _ in range(4):
        history.append(sess.run([loss, train_op], {inputs: data})[0])

RESULTS = {
    "spikes": first[0],
    "d_w_in": first[1],
    "d_w_rec": first[2],
    "d_alpha": first[3],
    "d_inputs": first[4],
    "d_w_rec_short": short,
    "losses": history,
}
