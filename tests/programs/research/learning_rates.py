"""Learning rate schedules driven by global_step, and one model trained under a warm-up and a decay."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(28)
global_step = tf.Variable(0, trainable=False, name="global_step")
schedules = {
    "exponential": tf.train.exponential_decay(0.1, global_step, 4, 0.5),
    "staircase": tf.train.exponential_decay(0.1, global_step, 4, 0.5, staircase=True),
    "piecewise": tf.train.piecewise_constant(global_step, [3, 6], [1.0, 0.5, 0.1]),
    "polynomial": tf.train.polynomial_decay(0.1, global_step, 8, 0.01, power=2.0),
    "polynomial_cycle": tf.train.polynomial_decay(0.1, global_step, 3, 0.01, cycle=True),
    "natural_exp": tf.train.natural_exp_decay(0.1, global_step, 4, 0.7),
    "inverse_time": tf.train.inverse_time_decay(0.1, global_step, 4, 0.7),
    "cosine": tf.train.cosine_decay(0.1, global_step, 8, alpha=0.1),
    "cosine_restarts": tf.train.cosine_decay_restarts(0.1, global_step, 3, t_mul=2.0, m_mul=0.9),
    "linear_cosine": tf.train.linear_cosine_decay(0.1, global_step, 8),
}
warm = tf.cast(global_step, tf.float32) / 3.0 * 0.1
rate = tf.cond(global_step < 3, lambda: warm, lambda: schedules["exponential"])

w = tf.Variable(rng.randn(5, 2), name="w")
data, target = rng.randn(12, 5), rng.randn(12, 2)
loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(data), w) - target))
train_op = tf.train.MomentumOptimizer(rate, 0.9).minimize(loss, global_step=global_step)

rates, history = [], []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(11):
        rates.append(sess.run([rate] + list(schedules.values())))
        history.append(sess.run([train_op, loss])[1])
    final, step = sess.run([w, global_step])

TOLERANCE = 1e-5
RESULTS = {"rates": rates, "losses": history, "w": final, "global_step": step}
