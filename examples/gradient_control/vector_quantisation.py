"""Vector quantisation with a decoder's gradient copied over the look-up (van den Oord et al. 2017, arXiv 1711.00937).

Points are encoded by the nearest of five codes; the encoder learns through the choice, the codes follow the points.
"""

import numpy as np
from figure import plt, save

import regrad as tf

draw = np.random.RandomState(1)
centres = np.array([[0, 0], [2, 2], [-2, 2], [2, -2], [-2, -2]], np.float32)
points = (centres[draw.randint(5, size=300)] + 0.3 * draw.randn(300, 2)).astype(np.float32)
x = tf.constant(points)
turn = tf.Variable(np.array([[0.8, -0.6], [0.6, 0.8]], np.float32))
codes = tf.Variable(draw.randn(5, 2).astype(np.float32))
z = tf.matmul(x, turn)
nearest = tf.argmin(tf.reduce_sum(tf.square(z[:, None] - codes), -1), 1)
chosen = tf.gather(codes, nearest)
q = tf.straight_through(lambda v: chosen)(z)
loss = tf.reduce_mean(tf.square(tf.matmul(q, turn, transpose_b=True) - x))
commitment = tf.reduce_mean(tf.square(tf.stop_gradient(z) - chosen) + 0.25 * tf.square(z - tf.stop_gradient(chosen)))
step = tf.train.AdamOptimizer(0.05).minimize(loss + commitment)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    before, start = session.run([loss, codes])
    for _ in range(150):
        session.run(step)
    after, end, where, which = session.run([loss, codes, z, nearest])
figure, axes = plt.subplots(figsize=(4.6, 4.2))
axes.scatter(*where.T, c=which, s=8, cmap="tab10")
for a, b in zip(start, end):
    axes.annotate("", b, a, arrowprops={"arrowstyle": "->"})
axes.plot(*end.T, "k*", ms=12)
print(f"reconstruction error {before:.3f} -> {after:.3f}, {len(set(which))} codes in use")
save(figure)
