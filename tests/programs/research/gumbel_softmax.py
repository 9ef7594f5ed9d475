"""Straight-through Gumbel-softmax (Jang et al. 2016) in a discrete autoencoder; the draws are fed."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(19)
N, K = 4, 5     # N categorical variables of K classes


def gumbel_softmax(logits, uniform, temperature, hard=False, eps=1e-20):
    y = tf.nn.softmax((logits - tf.log(-tf.log(uniform + eps) + eps)) / temperature)
    if hard:
        y_hard = tf.cast(tf.equal(y, tf.reduce_max(y, 1, keep_dims=True)), y.dtype)
        y = tf.stop_gradient(y_hard - y) + y
    return y


x = tf.placeholder(tf.float64, [None, 10])
uniform = tf.placeholder(tf.float64, [None, K])
tau = tf.Variable(1.0, dtype=tf.float64, name="temperature", trainable=False)
w_enc = tf.Variable(rng.randn(10, N * K) / 3, name="w_enc")
w_dec = tf.Variable(rng.randn(N * K, 10) / 3, name="w_dec")
logits_y = tf.reshape(tf.matmul(x, w_enc), [-1, K])
q_y = tf.nn.softmax(logits_y)
log_q_y = tf.log(q_y + 1e-20)


def elbo(hard):
    y = tf.reshape(gumbel_softmax(logits_y, uniform, tau, hard), [-1, N * K])
    logits_x = tf.matmul(y, w_dec)
    log_p_x = -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits_x), 1)
    kl = tf.reduce_sum(tf.reshape(q_y * (log_q_y - tf.log(tf.constant(1.0 / K, tf.float64))), [-1, N * K]), 1)
    return y, tf.reduce_mean(log_p_x - kl)


y_soft, elbo_soft = elbo(False)
y_hard, elbo_hard = elbo(True)
train_op = tf.train.RMSPropOptimizer(0.01).minimize(-elbo_hard, var_list=tf.trainable_variables())
anneal = tf.assign(tau, tf.maximum(tau * 0.8, 0.5))

data = (rng.rand(6, 10) < 0.5).astype(float)
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: data, uniform: rng.rand(6 * N, K)}
    out = sess.run(
        [y_soft, y_hard, tf.gradients(elbo_soft, w_enc)[0], tf.gradients(elbo_hard, w_enc)[0]], feed
    )
    for _ in range(5):
        feed[uniform] = rng.rand(6 * N, K)
        history.append(sess.run([elbo_hard, train_op], feed)[:1] + [sess.run(anneal)])

RESULTS = {"y_soft": out[0], "y_hard": out[1], "d_soft": out[2], "d_hard": out[3], "history": history}
