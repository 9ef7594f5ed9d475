"""PCGrad (Yu et al. 2020): the gradients of several tasks, each freed of what opposes another."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(41)
TASKS = 3
x = tf.constant(rng.randn(16, 5))
targets = [rng.randn(16, 2) for _ in range(TASKS)]
shared = tf.Variable(rng.randn(5, 7) / 2, name="shared")
heads = [tf.Variable(rng.randn(7, 2) / 2, name="head%d" % i) for i in range(TASKS)]
h = tf.nn.selu(tf.matmul(x, shared))
losses = tf.stack([tf.reduce_mean(tf.abs(tf.matmul(h, head) - t)) for head, t in zip(heads, targets)])
variables = [shared] + heads

flat_grads = []
for task in range(TASKS):
    grads = tf.gradients(losses[task], variables)
    flat_grads.append(tf.concat([tf.reshape(g if g is not None else tf.zeros_like(v), [-1])
                                 for g, v in zip(grads, variables)], axis=0))
grads_task = tf.stack(flat_grads)


def proj_grad(grad_task):
    for k in range(TASKS):
        inner_product = tf.reduce_sum(grad_task * grads_task[k])
        proj_direction = inner_product / tf.reduce_sum(grads_task[k] * grads_task[k])
        grad_task = grad_task - tf.minimum(proj_direction, 0.0) * grads_task[k]
    return grad_task


projected = tf.map_fn(proj_grad, grads_task)
total = tf.reduce_sum(projected, axis=0)
pieces = tf.split(total, [v.shape.num_elements() for v in variables])
gvs = [(tf.reshape(p, v.shape), v) for p, v in zip(pieces, variables)]
train_op = tf.train.AdagradOptimizer(0.1, initial_accumulator_value=0.01).apply_gradients(gvs)
cosines = tf.matmul(tf.nn.l2_normalize(grads_task, 1), tf.nn.l2_normalize(grads_task, 1), transpose_b=True)

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    RESULTS = sess.run({"cosines": cosines, "projected": projected, "plain": tf.reduce_sum(grads_task, 0)})
    for _ in range(6):
        history.append(sess.run([losses, train_op])[0])
RESULTS["losses"] = history
