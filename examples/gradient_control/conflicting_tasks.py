"""Two tasks that pull apart (Yu et al. 2020, PCGrad, arXiv 2001.06782): how gradients add where paths meet is a rule too.

Where the gradients of two tasks oppose each other, a step along their sum makes one of them worse. PCGrad projects each off the
other first, and a small step never does.
"""

import numpy as np
from figure import plt, save

import regrad as tf
from regrad import rules

point = tf.placeholder(tf.float64, [2])
one, other = tf.identity(point), tf.identity(point)  # each task uses the point once
tasks = [tf.square(one[0] - 2.0) + 12.0 * tf.square(one[1]), 3.0 * tf.square(other[0] + 1.0) + tf.square(other[1] - 2.0)]
own = [tf.gradients(t, point)[0] for t in tasks]
ways = {"sum": tf.gradients(tasks, point)[0],
        "PCGrad": tf.gradients(tasks, point, accumulate={point: rules.accumulate_pcgrad})[0]}
places = np.stack(np.meshgrid(np.linspace(-3, 4, 15), np.linspace(-2, 4, 13)), -1).reshape(-1, 2)
with tf.Session() as session:
    found = [session.run([own, ways], {point: p}) for p in places]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for place, name in zip(axes, ways):
    steps = -np.array([way[name] for _, way in found])
    # To first order, a task gets worse where the step goes up its gradient.
    worse = np.array([any(g @ s > 1e-9 for g in grads) for (grads, _), s in zip(found, steps)])
    arrows = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    place.quiver(*places.T, *arrows.T, np.where(worse, 1.0, 0.0), cmap="coolwarm")
    place.set_title(f"{name}: a task gets worse at {worse.mean():.0%} of the points")
    print(f"{name}: a task gets worse at {worse.mean():.0%} of the points")
save(figure)
