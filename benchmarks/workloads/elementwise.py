"""Ten sigmoids and squares in a row over a million floats, with the gradient: what fusion is worth."""

import numpy as np

ROWS = {"ten sigmoids and squares, 1M floats": {"n": 1_000_000}}
LINKS = 10


def data(n):
    return {"x": np.linspace(-2, 2, n, dtype=np.float32)}


def tf1_program(tf, data, n):
    start = tf.placeholder(tf.float32, [n])
    x = tf.Variable(start)
    y = x
    for _ in range(LINKS):
        y = tf.square(tf.sigmoid(y))
    total = tf.reduce_sum(y)
    fetches = [total, tf.gradients(total, x)[0]]
    session = tf.Session()
    session.run(tf.global_variables_initializer(), {start: data["x"]})
    return lambda: session.run(fetches)


def torch_program(torch, data, n):
    x = torch.tensor(data["x"], requires_grad=True)

    def step():
        y = x
        for _ in range(LINKS):
            y = torch.square(torch.sigmoid(y))
        total = y.sum()
        (gradient,) = torch.autograd.grad(total, x)
        return [total.detach().numpy(), gradient.numpy()]

    return step


def jax_program(jax, data, n):
    jnp = jax.numpy

    def total(y):
        for _ in range(LINKS):
            y = jnp.square(jax.nn.sigmoid(y))
        return y.sum()

    run = jax.jit(jax.value_and_grad(total))
    x = jnp.array(data["x"])
    return lambda: [np.asarray(part) for part in run(x)]
