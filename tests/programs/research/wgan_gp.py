"""Wasserstein GAN with gradient penalty (Gulrajani et al. 2017): a loss made of gradients."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(17)
DTYPE, LAMBDA, DIM = tf.float64, 10.0, 8


def linear(name, n_in, n_out, x):
    start = tf.constant_initializer(rng.randn(n_in, n_out) * np.sqrt(2.0 / n_in))
    w = tf.get_variable(name + ".W", [n_in, n_out], DTYPE, start)
    b = tf.get_variable(name + ".b", [n_out], DTYPE, tf.zeros_initializer())
    return tf.nn.bias_add(tf.matmul(x, w), b)


def generator(noise):
    with tf.variable_scope("Generator", reuse=tf.AUTO_REUSE):
        return linear("2", DIM, 2, tf.nn.relu(linear("1", 2, DIM, noise)))


def discriminator(x):
    with tf.variable_scope("Discriminator", reuse=tf.AUTO_REUSE):
        h = tf.nn.leaky_relu(linear("1", 2, DIM, x), alpha=0.25)
        h = tf.tanh(linear("2", DIM, DIM, h))
        return tf.reshape(linear("3", DIM, 1, h), [-1])


real = tf.placeholder(DTYPE, [None, 2])
noise = tf.placeholder(DTYPE, [None, 2])
alpha = tf.placeholder(DTYPE, [None, 1])
fake = generator(noise)
disc_real, disc_fake = discriminator(real), discriminator(fake)
gen_cost = -tf.reduce_mean(disc_fake)
wasserstein = tf.reduce_mean(disc_fake) - tf.reduce_mean(disc_real)
interpolates = alpha * real + (1 - alpha) * fake
gradients = tf.gradients(discriminator(interpolates), [interpolates])[0]
slopes = tf.sqrt(tf.reduce_sum(tf.square(gradients), reduction_indices=[1]))
penalty = tf.reduce_mean((slopes - 1.0) ** 2)
disc_cost = wasserstein + LAMBDA * penalty

gen_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
disc_params = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Discriminator")
disc_train = tf.train.AdamOptimizer(1e-2, beta1=0.5, beta2=0.9).minimize(disc_cost, var_list=disc_params)
gen_train = tf.train.AdamOptimizer(1e-2, beta1=0.5, beta2=0.9).minimize(gen_cost, var_list=gen_params)
penalty_grads = tf.gradients(penalty, disc_params[:5] + gen_params)


def batch():
    angle = rng.rand(16) * 2 * np.pi
    circle = np.stack([np.cos(angle), np.sin(angle)], 1) * 1.5
    return {real: circle, noise: rng.randn(16, 2), alpha: rng.rand(16, 1)}


history = []
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    first = session.run(penalty_grads, batch())
    for _ in range(3):
        for _ in range(5):
            costs = session.run([disc_cost, wasserstein, penalty, disc_train], batch())[:3]
        feed = batch()
        history.append(costs + session.run([gen_cost, gen_train], {noise: feed[noise]})[:1])
    final = session.run(disc_params[0])

RESULTS = {"costs": history, "Discriminator.1.W": final}
for variable, g in zip(disc_params[:5] + gen_params, first):
    RESULTS["penalty grad " + variable.op.name] = g
