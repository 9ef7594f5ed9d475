"""Each example's gradient clipped on its own, and noise on the sum (Abadi et al. 2016, DP-SGD, arXiv 1607.00133)."""

import numpy as np
from figure import plt, save

import regrad as tf

draw = np.random.RandomState(0)
data = draw.randn(200, 6).astype(np.float32) * np.exp(draw.randn(200, 1)).astype(np.float32)
labels = (data @ draw.randn(6) > 0).astype(np.float32)
w = tf.Variable(tf.zeros([6]))
logits = tf.tensordot(tf.constant(data), w, 1)
each_loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
each = tf.jacobian(each_loss, w)  # a row per example
clipped = tf.clip_by_norm(each, 0.5, axes=[1])
noise = tf.random_normal([6], stddev=0.5, seed=1)
step = tf.assign_sub(w, 0.5 * (tf.reduce_sum(clipped, 0) + noise) / 200.0)
loss = tf.reduce_mean(each_loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    norms = [np.linalg.norm(g, axis=1) for g in session.run([each, clipped])]
    values = [session.run([loss, step])[0] for _ in range(80)]
figure, axes = plt.subplots(1, 2, figsize=(8, 3))
axes[0].hist(norms, bins=30, label=["as they are", "clipped to 0.5"])
axes[0].set(xlabel="norm of an example's gradient", yscale="log")
axes[0].legend()
axes[1].plot(values)
axes[1].set(xlabel="step", ylabel="loss")
print(f"greatest norm {norms[0].max():.2f} -> {norms[1].max():.2f}; loss {values[0]:.3f} -> {values[-1]:.3f}")
save(figure)
