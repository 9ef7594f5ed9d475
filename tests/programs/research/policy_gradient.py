"""REINFORCE with a learned baseline, and PPO's clipped objective; the actions are recorded."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(26)
states = tf.placeholder(tf.float64, [None, 4])
actions = tf.placeholder(tf.int32, [None])
returns = tf.placeholder(tf.float64, [None])
old_log_p = tf.placeholder(tf.float64, [None])


def dense(x, n, name, activation=None):
    with tf.variable_scope(name):
        n_in = int(x.shape[-1])
        w = tf.get_variable("w", initializer=tf.constant(rng.randn(n_in, n) / np.sqrt(n_in)))
        b = tf.get_variable("b", shape=(n,), dtype=tf.float64, initializer=tf.zeros_initializer)
        out = tf.matmul(x, w) + b
        return activation(out) if activation else out


with tf.variable_scope("body"):
    hidden = dense(states, 9, "h", tf.nn.tanh)
logits = dense(hidden, 3, "policy")
value = tf.squeeze(dense(hidden, 1, "value"), axis=[1])
log_probs = tf.nn.log_softmax(logits)
index = tf.stack([tf.range(tf.shape(actions)[0]), actions], axis=1)
chosen = tf.gather_nd(log_probs, index)
advantage = tf.stop_gradient(returns - value)
mean, variance = tf.nn.moments(advantage, axes=[0])
advantage = (advantage - mean) / tf.sqrt(variance + 1e-8)
entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_probs) * log_probs, axis=1))
ratio = tf.exp(chosen - old_log_p)
ppo = -tf.reduce_mean(tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage))
value_loss = tf.reduce_mean(tf.squared_difference(returns, value))
loss = ppo + 0.5 * value_loss - 0.01 * entropy
reinforce = -tf.reduce_mean(chosen * advantage)

variables = tf.trainable_variables()
grads = tf.gradients(reinforce, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)
optimizer = tf.train.AdamOptimizer(3e-2)
clipped, norm = tf.clip_by_global_norm(tf.gradients(loss, variables), 0.5)
train_op = optimizer.apply_gradients(zip(clipped, variables))

feed = {states: rng.randn(14, 4), actions: rng.randint(0, 3, 14), returns: rng.randn(14)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed[old_log_p] = sess.run(chosen, feed)
    first = sess.run(grads, feed)
    for _ in range(6):
        history.append(sess.run([loss, ppo, value_loss, entropy, norm, train_op], feed)[:5])

RESULTS = {"history": history}
for v, g in zip(variables, first):
    RESULTS["reinforce " + v.op.name] = g
