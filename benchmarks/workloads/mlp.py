"""One Adam step of an MLP, 784-1024-1024-10, on a batch of 128."""

import numpy as np

from shared import tf1_session, tf1_variables, torch_leaves, torch_step, weights

ROWS = {"MLP, Adam": {"batch": 128}}
RATE = 1e-4


def data(batch):
    rng = np.random.default_rng(1)
    return {
        "weights": weights((784, 1024), (1024,), (1024, 1024), (1024,), (1024, 10), (10,)),
        "x": rng.random((batch, 784), np.float32),
        "labels": rng.integers(0, 10, batch).astype(np.int32),
    }


def tf1_program(tf, data, batch):
    x = tf.placeholder(tf.float32, [None, 784])
    labels = tf.placeholder(tf.int32, [None])
    (w1, b1, w2, b2, w3, b3), start = tf1_variables(tf, data["weights"])
    h = tf.nn.relu(tf.matmul(x, w1) + b1)
    h = tf.nn.relu(tf.matmul(h, w2) + b2)
    logits = tf.matmul(h, w3) + b3
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.AdamOptimizer(RATE).minimize(loss)
    session = tf1_session(tf, start)
    feed = {x: data["x"], labels: data["labels"]}
    return lambda: session.run([loss, train], feed)[0]


def torch_program(torch, data, batch):
    leaves = torch_leaves(torch, data["weights"])
    w1, b1, w2, b2, w3, b3 = leaves
    optimizer = torch.optim.Adam(leaves, lr=RATE, fused=True)  # the fastest of PyTorch's three forms here

    def loss_of():
        x = torch.from_numpy(data["x"])
        labels = torch.from_numpy(data["labels"]).long()
        h = torch.relu(torch.addmm(b1, x, w1))
        h = torch.relu(torch.addmm(b2, h, w2))
        return torch.nn.functional.cross_entropy(torch.addmm(b3, h, w3), labels)

    return torch_step(optimizer, loss_of)


def jax_program(jax, data, batch):
    jnp = jax.numpy

    def loss_of(params, x, labels):
        w1, b1, w2, b2, w3, b3 = params
        h = jax.nn.relu(x @ w1 + b1)
        h = jax.nn.relu(h @ w2 + b2)
        log_p = jax.nn.log_softmax(h @ w3 + b3)
        return -jnp.take_along_axis(log_p, labels[:, None], axis=1).mean()

    def adam(state, x, labels):
        count, params, m, v = state
        loss, gradients = jax.value_and_grad(loss_of)(params, x, labels)
        count = count + 1
        rate = RATE * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        params = [p - rate * a / (jnp.sqrt(b) + 1e-8) for p, a, b in zip(params, m, v, strict=True)]
        return (count, params, m, v), loss

    run = jax.jit(adam, donate_argnums=0)
    params = [jnp.array(w) for w in data["weights"]]
    state = [(jnp.float32(0), params, *([jnp.zeros_like(p) for p in params] for _ in "mv"))]

    def step():
        state[0], loss = run(state[0], data["x"], data["labels"])
        return float(loss)

    return step
