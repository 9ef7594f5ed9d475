"""Spectral normalisation (Miyato et al. 2018): a power step a run, its vector kept in a variable."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(33)
SPECTRAL_NORM_UPDATE_OPS = "spectral_norm_update_ops"


def l2_norm(v, eps=1e-12):
    return v / (tf.reduce_sum(v ** 2) ** 0.5 + eps)


def spectral_norm(w, name):
    w_shape = w.shape.as_list()
    w_matrix = tf.reshape(w, [-1, w_shape[-1]])
    with tf.variable_scope(name):
        u = tf.get_variable("u", initializer=tf.constant(rng.randn(1, w_shape[-1])), trainable=False)
    v_hat = l2_norm(tf.matmul(u, tf.transpose(w_matrix)))
    u_hat = tf.stop_gradient(l2_norm(tf.matmul(v_hat, w_matrix)))
    v_hat = tf.stop_gradient(v_hat)
    sigma = tf.matmul(tf.matmul(v_hat, w_matrix), tf.transpose(u_hat))
    tf.add_to_collection(SPECTRAL_NORM_UPDATE_OPS, u.assign(u_hat))
    return tf.reshape(w_matrix / sigma, w_shape), sigma[0, 0]


x = tf.constant(rng.randn(4, 6, 6, 2))
y = tf.constant(rng.randn(4, 5))
kernel = tf.get_variable("kernel", initializer=tf.constant(rng.randn(3, 3, 2, 3)))
dense = tf.get_variable("dense", initializer=tf.constant(rng.randn(27, 5)))
kernel_sn, sigma_kernel = spectral_norm(kernel, "kernel_sn")
dense_sn, sigma_dense = spectral_norm(dense, "dense_sn")
h = tf.nn.leaky_relu(tf.nn.conv2d(x, kernel_sn, [1, 2, 2, 1], "SAME"), 0.125)
out = tf.matmul(tf.reshape(h, [4, 27]), dense_sn)
loss = tf.reduce_mean(tf.square(out - y))
grads = tf.gradients(loss, [kernel, dense], gate_gradients=True)
train_op = tf.train.GradientDescentOptimizer(0.2).apply_gradients(zip(grads, [kernel, dense]))
update_ops = tf.get_collection(SPECTRAL_NORM_UPDATE_OPS)

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads)
    for _ in range(6):
        history.append(sess.run([loss, sigma_kernel, sigma_dense, train_op])[:3])
        sess.run(update_ops)
    exact = [np.linalg.norm(w.reshape(-1, w.shape[-1]), 2) for w in sess.run([kernel, dense])]
    final = sess.run([sigma_kernel, sigma_dense])

RESULTS = {"history": history, "d_kernel": first[0], "d_dense": first[1], "exact": exact, "final": final}
