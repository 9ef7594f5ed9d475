"""A variational autoencoder with the reparametrisation trick, and an importance-weighted bound."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(35)
K, Z = 3, 2
x = tf.placeholder(tf.float64, [None, 8])
eps = tf.placeholder(tf.float64, [K, None, Z])
params = {name: tf.Variable(rng.randn(*shape) / 2.5, name=name) for name, shape in
          [("enc", (8, 6)), ("mu", (6, Z)), ("log_sigma", (6, Z)), ("dec", (Z, 6)), ("out", (6, 8))]}
h = tf.nn.softplus(tf.matmul(x, params["enc"]))
mu, log_sigma2 = tf.matmul(h, params["mu"]), tf.matmul(h, params["log_sigma"])
z = mu + tf.exp(0.5 * log_sigma2) * eps
flat = tf.reshape(z, [-1, Z])
logits = tf.reshape(tf.matmul(tf.nn.tanh(tf.matmul(flat, params["dec"])), params["out"]), [K, -1, 8])
log_px = -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(
    labels=tf.tile(x[tf.newaxis], [K, 1, 1]), logits=logits), axis=2)
log_pz = -0.5 * tf.reduce_sum(tf.square(z) + np.log(2 * np.pi), axis=2)
log_qz = -0.5 * tf.reduce_sum(tf.square(eps) + log_sigma2 + np.log(2 * np.pi), axis=2)
log_w = log_px + log_pz - log_qz
kl = -0.5 * tf.reduce_sum(1 + log_sigma2 - tf.square(mu) - tf.exp(log_sigma2), axis=1)
elbo = tf.reduce_mean(tf.reduce_mean(log_px, 0) - kl)
iwae = tf.reduce_mean(tf.reduce_logsumexp(log_w, 0) - np.log(K))
normalised = tf.stop_gradient(tf.nn.softmax(log_w, dim=0))
surrogate = tf.reduce_mean(tf.reduce_sum(normalised * log_w, 0))      # same gradient as iwae

variables = list(params.values())
g_elbo, g_iwae, g_surrogate = (
    tf.gradients(-bound, variables, gate_gradients=True) for bound in (elbo, iwae, surrogate)
)
train_op = tf.train.AdamOptimizer(0.05).apply_gradients(zip(g_iwae, variables))

data = (rng.rand(7, 8) < 0.4).astype(float)
RESULTS, history = {}, []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed = {x: data, eps: rng.randn(K, 7, Z)}
    grads = sess.run([g_elbo, g_iwae, g_surrogate], feed)
    for label, gs in zip(("elbo", "iwae", "surrogate"), grads):
        for name, g in zip(params, gs):
            RESULTS["%s_%s" % (label, name)] = g
    for _ in range(5):
        feed[eps] = rng.randn(K, 7, Z)
        history.append(sess.run([elbo, iwae, train_op], feed)[:2])
RESULTS["bounds"] = history
