"""Vector quantisation (van den Oord et al. 2017): straight-through codes, codebook and commitment."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(20)
K, D = 6, 3
w_enc = tf.Variable(rng.randn(8, 2 * D) / 3, name="w_enc")
w_dec = tf.Variable(rng.randn(2 * D, 8) / 3, name="w_dec")
codebook = tf.get_variable("codebook", initializer=tf.constant(rng.randn(K, D)))

x = tf.placeholder(tf.float64, [None, 8])
z_e = tf.reshape(tf.matmul(x, w_enc), [-1, D])
distances = (tf.reduce_sum(z_e ** 2, 1, keepdims=True) - 2 * tf.matmul(z_e, codebook, transpose_b=True)
             + tf.reduce_sum(codebook ** 2, 1))
codes = tf.argmin(distances, 1)
z_q = tf.nn.embedding_lookup(codebook, codes)
codebook_loss = tf.reduce_mean((z_q - tf.stop_gradient(z_e)) ** 2)
commitment = tf.reduce_mean((tf.stop_gradient(z_q) - z_e) ** 2)
z = z_e + tf.stop_gradient(z_q - z_e)
x_recon = tf.matmul(tf.reshape(z, [-1, 2 * D]), w_dec)
recon_loss = tf.reduce_mean((x_recon - x) ** 2)
loss = recon_loss + codebook_loss + 0.25 * commitment

avg_probs = tf.reduce_mean(tf.one_hot(codes, K, dtype=tf.float64), 0)
perplexity = tf.exp(-tf.reduce_sum(avg_probs * tf.log(avg_probs + 1e-10)))
variables = [w_enc, w_dec, codebook]
grads = tf.gradients(loss, variables)
dense_codebook = tf.convert_to_tensor(grads[2])
train_op = tf.train.AdamOptimizer(0.02).minimize(loss)
ema = tf.train.ExponentialMovingAverage(0.9)
with tf.control_dependencies([train_op]):
    update = ema.apply(variables)

data = rng.randn(10, 8)
history = []
with tf.Session() as sess:
    tf.global_variables_initializer().run()
    first = sess.run([codes, z, grads[0], dense_codebook, perplexity], {x: data})
    for _ in range(5):
        history.append(sess.run([recon_loss, codebook_loss, commitment, perplexity, update], {x: data})[:4])
    average = sess.run(ema.average(codebook))

RESULTS = {"sparse": np.array(isinstance(grads[2], tf.IndexedSlices)), "codes": first[0], "z": first[1],
           "d_w_enc": first[2], "d_codebook": first[3], "perplexity": first[4], "losses": history,
           "average": average}
