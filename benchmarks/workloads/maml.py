"""A step of MAML, gradients through gradient steps: eight tasks of ten points, a net 1-40-40-1, three inner steps a task."""

import numpy as np

from shared import tf1_session, tf1_variables, torch_leaves, torch_step, weights

ROWS = {"MAML, 8 tasks of 3 steps": {"tasks": 8}}
QUICK = {"MAML, 2 tasks of 3 steps": {"tasks": 2}}
REPEATS = 2
STEPS, INNER, RATE = 3, 0.01, 1e-3


def data(tasks):
    rng = np.random.default_rng(1)
    return {
        "weights": weights((1, 40), (40,), (40, 40), (40,), (40, 1), (1,)),
        "sets": [rng.standard_normal((tasks, 10, 1), np.float32) for _ in range(4)],  # to learn from, and to judge by
    }


def tf1_program(tf, data, tasks):
    sets = [tf.placeholder(tf.float32, [tasks, 10, 1]) for _ in range(4)]
    start_values, start = tf1_variables(tf, data["weights"])

    def loss_of(w, x, y):
        h = tf.nn.relu(tf.matmul(tf.nn.relu(tf.matmul(x, w[0]) + w[1]), w[2]) + w[3])
        return tf.reduce_mean(tf.square(tf.matmul(h, w[4]) + w[5] - y))

    losses = []
    for x, y, later_x, later_y in zip(*(tf.unstack(s) for s in sets), strict=True):
        w = start_values
        for _ in range(STEPS):
            w = [p - INNER * g for p, g in zip(w, tf.gradients(loss_of(w, x, y), w), strict=True)]
        losses.append(loss_of(w, later_x, later_y))
    loss = tf.add_n(losses) / tasks
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
    session = tf1_session(tf, start)
    feed = dict(zip(sets, data["sets"], strict=True))
    return lambda: session.run([loss, train], feed)[0]


def torch_program(torch, data, tasks):
    leaves = torch_leaves(torch, data["weights"])
    optimizer = torch.optim.SGD(leaves, lr=RATE)

    def loss_of(w, x, y):
        h = torch.relu(torch.addmm(w[3], torch.relu(torch.addmm(w[1], x, w[0])), w[2]))
        return torch.nn.functional.mse_loss(torch.addmm(w[5], h, w[4]), y)

    def outer_loss():
        loss = 0
        for x, y, later_x, later_y in zip(*(torch.from_numpy(s) for s in data["sets"]), strict=True):
            w = leaves
            for _ in range(STEPS):
                gradients = torch.autograd.grad(loss_of(w, x, y), w, create_graph=True)
                w = [p - INNER * g for p, g in zip(w, gradients, strict=True)]
            loss = loss + loss_of(w, later_x, later_y) / tasks
        return loss

    return torch_step(optimizer, outer_loss)


def jax_program(jax, data, tasks):
    jnp = jax.numpy

    def loss_of(w, x, y):
        h = jax.nn.relu(jax.nn.relu(x @ w[0] + w[1]) @ w[2] + w[3])
        return jnp.mean(jnp.square(h @ w[4] + w[5] - y))

    def outer(start, sets):
        def of_task(x, y, later_x, later_y):
            w = start
            for _ in range(STEPS):
                w = [p - INNER * g for p, g in zip(w, jax.grad(loss_of)(w, x, y), strict=True)]
            return loss_of(w, later_x, later_y)

        return jax.vmap(of_task)(*sets).mean()

    def descend(w, sets):
        loss, gradients = jax.value_and_grad(outer)(w, sets)
        return [p - RATE * g for p, g in zip(w, gradients, strict=True)], loss

    run = jax.jit(descend, donate_argnums=0)
    state = [[jnp.array(w) for w in data["weights"]]]

    def step():
        state[0], loss = run(state[0], data["sets"])
        return float(loss)

    return step
