"""Differentiation through a combinatorial solver (Vlastelica et al. 2019): shortest paths by py_func."""
import heapq

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(16)
SIDE, LAMBDA = 5, 8.0


def shortest_path(costs):
    """Dijkstra from corner to corner of a grid of node costs [SIDE, SIDE]; the path as zeros and ones."""
    done, queue = {}, [(float(costs[0, 0]), (0, 0), None)]
    while queue:
        cost, node, parent = heapq.heappop(queue)
        if node in done:
            continue
        done[node] = parent
        y, x = node
        for ny, nx in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            if 0 <= ny < SIDE and 0 <= nx < SIDE and (ny, nx) not in done:
                heapq.heappush(queue, (cost + float(costs[ny, nx]), (ny, nx), node))
    path, node = np.zeros((SIDE, SIDE)), (SIDE - 1, SIDE - 1)
    while node is not None:
        path[node] = 1.0
        node = done[node]
    return path


calls = [0]


def solve(costs):
    calls[0] += 1
    return np.stack([shortest_path(c) for c in costs])


@tf.RegisterGradient("BlackboxSolver")
def _solver_grad(op, dy):
    costs = op.inputs[0]
    better, = tf.py_func(solve, [tf.maximum(costs + LAMBDA * dy, 0.0)], [tf.float64])
    return -(op.outputs[0] - better) / LAMBDA


def solver(costs):
    with tf.get_default_graph().gradient_override_map({"PyFunc": "BlackboxSolver"}):
        path, = tf.py_func(solve, [costs], [tf.float64], name="solver")
    path.set_shape(costs.shape)
    return path


terrain = rng.randint(0, 3, (6, SIDE, SIDE))
true_costs = np.array([0.3, 1.1, 2.7])[terrain] + 0.01 * rng.rand(6, SIDE, SIDE)
true_paths = solve(true_costs)
features = np.eye(3)[terrain] + 0.2 * rng.randn(6, SIDE, SIDE, 3)

w = tf.Variable(np.array([[1.5], [0.9], [0.6]]), name="w")
costs = tf.nn.softplus(tf.reshape(tf.matmul(tf.reshape(tf.constant(features), [-1, 3]), w), [6, SIDE, SIDE]))
paths = solver(costs)
hamming = tf.reduce_mean(paths * (1.0 - true_paths) + (1.0 - paths) * true_paths)
grad, = tf.gradients(hamming, w)
train_op = tf.train.GradientDescentOptimizer(20.0).apply_gradients([(grad, w)])

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    calls[0] = 0
    sess.run(hamming)
    forward_calls = calls[0]
    sess.run(grad)
    both_calls = calls[0] - forward_calls
    for _ in range(8):
        history.append(sess.run([hamming, grad, train_op])[:2])
    final = sess.run(w)

RESULTS = {"hamming": [h for h, _ in history], "grads": [g for _, g in history], "w": final,
           "calls": np.array([forward_calls, both_calls])}
