"""Learning to learn (Finn et al. 2017, MAML, arXiv 1703.03400), to second order and, by one argument, to first.

Tasks are lines of any slope through a shared bend; one gradient step on five points has to do.
"""

import numpy as np
from figure import plt, save

import regrad as tf

WAYS = {"second order": True, "first order": False}
figure, axes = plt.subplots(figsize=(5.6, 3.2))
for name, through in WAYS.items():
    with tf.Graph().as_default(), tf.Session() as session:
        draw = np.random.RandomState(0)
        x, y = tf.placeholder(tf.float32, [2, 5, 1]), tf.placeholder(tf.float32, [2, 5, 1])
        shapes = [(1, 20), (20,), (20, 1), (1,)]
        start = [tf.Variable(draw.randn(*s).astype(np.float32) * 0.5) for s in shapes]

        def predict(weights, v):
            a, b, c, d = weights
            return tf.matmul(tf.tanh(tf.matmul(v, a) + b), c) + d

        inner = tf.reduce_mean(tf.square(predict(start, x[0]) - y[0]))
        fast = [w - 0.1 * g for w, g in zip(start, tf.gradients(inner, start))]
        outer = tf.reduce_mean(tf.square(predict(fast, x[1]) - y[1]))
        grads = tf.gradients(outer, start, through_gradients=through)
        step = tf.train.AdamOptimizer(0.01).apply_gradients(zip(grads, start))
        session.run(tf.global_variables_initializer())
        values = []
        for _ in range(400):
            points, phase = draw.uniform(-2, 2, (2, 5, 1)), draw.uniform(0.5, 2.0)
            values.append(session.run([outer, step], {x: points, y: phase * np.sin(points)})[0])
    smooth = np.convolve(values, np.ones(40) / 40, "valid")
    axes.plot(smooth, label=name)
    print(f"{name}: loss after one step {smooth[0]:.3f} -> {smooth[-1]:.3f}")
axes.legend()
axes.set(xlabel="meta step", ylabel="loss after one inner step")
save(figure)
