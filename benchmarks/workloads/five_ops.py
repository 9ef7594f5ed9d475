"""What a run costs when there is next to nothing to compute: five ops on sixteen numbers, fed and fetched."""

import numpy as np

ROWS = {"five-op graph": {"n": 16}}
METRICS = ("steady: Session.run", "steady: make_callable")


def data(n):
    return {"x": np.linspace(-1, 1, n, dtype=np.float32), "w": np.linspace(0, 2, n, dtype=np.float32)}


def tf1_program(tf, data, n):
    x = tf.placeholder(tf.float32, [n])
    w = tf.Variable(data["w"])
    y = tf.reduce_sum(tf.square(tf.tanh(x * w + 1.0)))
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    call = session.make_callable(y, [x])
    return {
        "Session.run": lambda: session.run(y, {x: data["x"]}),
        "make_callable": lambda: call(data["x"]),
    }


def torch_program(torch, data, n):
    w = torch.tensor(data["w"])

    def step():
        x = torch.from_numpy(data["x"])
        return torch.square(torch.tanh(x * w + 1.0)).sum().numpy()

    return {"Session.run": step, "make_callable": step}


def jax_program(jax, data, n):
    jnp = jax.numpy
    w = jnp.array(data["w"])
    run = jax.jit(lambda x, w: jnp.square(jnp.tanh(x * w + 1.0)).sum())

    def step():
        return np.asarray(run(data["x"], w))

    return {"Session.run": step, "make_callable": step}
