"""A categorical choice that learns: one-hot forward, softmax backward (Jang et al. 2016, arXiv 1611.01144)."""

import numpy as np
from figure import plt, save

import regrad as tf

rewards = tf.constant([0.2, 1.0, 0.6, 0.0])
logits = tf.Variable(tf.zeros([4]))
uniform = tf.random_uniform([32, 4], minval=1e-6, seed=4)
noisy = (logits - tf.log(-tf.log(uniform))) / 0.7
choice = tf.substitute(forward=lambda v: tf.one_hot(tf.argmax(v, 1), 4), backward_of=tf.nn.softmax)(noisy)
gain = tf.reduce_mean(tf.reduce_sum(choice * rewards, axis=1))
step = tf.train.GradientDescentOptimizer(0.5).minimize(-gain)
probabilities = tf.nn.softmax(logits)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    history = [session.run([probabilities, step])[0] for _ in range(120)]
figure, axes = plt.subplots(figsize=(6, 3.2))
axes.stackplot(range(len(history)), np.array(history).T, labels=[f"reward {r}" for r in (0.2, 1.0, 0.6, 0.0)])
axes.legend(loc="lower right")
axes.set(xlabel="step", ylabel="probability")
print("probabilities:", np.round(history[-1], 3))
save(figure)
