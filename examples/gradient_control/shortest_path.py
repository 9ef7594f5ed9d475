"""A combinatorial solver as a layer (Vlastelica et al. 2019, arXiv 1912.02175): costs of a map, learnt from shortest paths.

The solver is dynamic programming in NumPy. Its gradient is a host function too: the solver called once more, on costs moved
along the gradient that arrives.
"""

import numpy as np
from figure import plt, save

import regrad as tf

SIZE, STRENGTH = 12, 20.0


def solve(costs):
    """Returns 1 on the cheapest way from the top left to the bottom right, going right and down."""
    total = np.full((SIZE + 1, SIZE + 1), np.inf)
    total[0, 1] = 0
    for i in range(SIZE):
        for j in range(SIZE):
            total[i + 1, j + 1] = costs[i, j] + min(total[i, j + 1], total[i + 1, j])
    path, i, j = np.zeros_like(costs), SIZE, SIZE
    while i and j:
        path[i - 1, j - 1] = 1
        i, j = (i - 1, j) if total[i - 1, j] <= total[i, j - 1] else (i, j - 1)
    return path


def moved(costs, dy):
    return (solve(costs + STRENGTH * dy) - solve(costs)) / STRENGTH


draw = np.random.RandomState(3)
true = draw.rand(SIZE, SIZE).astype(np.float32) + 0.1
wanted = solve(true)
costs = tf.Variable(np.full((SIZE, SIZE), 0.5, np.float32))
path = tf.py_func(solve, [tf.abs(costs) + 0.01], tf.float32, grad=tf.host_gradient(moved), shape=[SIZE, SIZE])
loss = tf.reduce_sum(path * (1.0 - wanted) + (1.0 - path) * wanted)
step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    start = session.run(path)
    losses = [session.run([loss, step])[0] for _ in range(40)]
    end, learnt = session.run([path, costs])
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8))
for place, picture, name in zip(axes, (start, end, learnt), ("path at first", "path learnt", "costs learnt")):
    place.imshow(picture)
    place.set(title=name, xticks=[], yticks=[])
axes[3].plot(losses)
axes[3].set(title="cells off the wanted path", xlabel="step")
print(f"cells off the wanted path: {losses[0]:.0f} -> {np.sum(end != wanted):.0f}")
save(figure)
