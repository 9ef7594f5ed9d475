"""Feedback alignment (Lillicrap et al. 2016): errors go back through fixed random weights, and it learns.

The override is one rule for one matrix product; `compare` of the two backward passes measures their angle while it learns.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import sel

draw = np.random.RandomState(0)
data = draw.randn(128, 10).astype(np.float32)
target = np.tanh(data @ draw.randn(10, 3)).astype(np.float32)
w1 = tf.Variable(draw.randn(10, 30).astype(np.float32) * 0.2)
w2 = tf.Variable(draw.randn(30, 3).astype(np.float32) * 0.2)
feedback = tf.constant(draw.randn(3, 30).astype(np.float32))


def aligned(op, dy, default):
    return [tf.matmul(dy, feedback), default()[1]]


loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(data, w1)), w2) - target))
view = tf.View("aligned", {sel.last(sel.type("MatMul")): aligned})
true, other = (tf.gradients(loss, [w1, w2], view=v) for v in (None, view))
cosine = tf.reduce_sum(true[0] * other[0]) / (tf.norm(true[0]) * tf.norm(other[0]))
step = tf.train.GradientDescentOptimizer(0.3).apply_gradients(zip(other, [w1, w2]))
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    values, cosines = zip(*[session.run([loss, cosine, step])[:2] for _ in range(300)])
    print(tf.compare(None, view, loss, [w1, w2]).tables()[0])
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].semilogy(values)
axes[0].set(xlabel="step", ylabel="loss")
axes[1].plot(np.degrees(np.arccos(np.clip(cosines, -1, 1))))
axes[1].set(xlabel="step", ylabel="angle to the true gradient, degrees")
save(figure)
