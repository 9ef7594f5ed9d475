"""NumPy functions inside a program: one, a hundred in a row, and ten with NumPy gradients of their own.

TF1 gives a `py_func` its gradient by overriding that of its op type; PyTorch has `autograd.Function`, JAX has
`pure_callback` with `custom_vjp`. PyTorch, being eager, pays but two views for a plain NumPy call.
"""

import numpy as np

ROWS = {"NumPy functions in the graph": {"n": 16}}
METRICS = ("steady: one", "steady: a hundred in a row", "steady: ten with gradients", "ready", "memory")
MANY, DEEP = 100, 10


def half(x):
    """Returns x / 2 + 1."""
    return x * np.float32(0.5) + np.float32(1.0)


def sine(x):
    return np.sin(x)


def sine_gradient(x, dy):
    return np.cos(x) * dy


def data(n):
    return {"x": np.linspace(-1, 1, n, dtype=np.float32)}


def tf1_program(tf, data, n):
    @tf.RegisterGradient("SineGradient")
    def _sine_gradient(op, dy):
        dx = tf.py_func(sine_gradient, [op.inputs[0], dy], tf.float32)
        dx.set_shape([n])
        return dx

    x = tf.placeholder(tf.float32, [n])

    def chain(function, links):
        y = x
        for _ in range(links):
            y = tf.py_func(function, [y], tf.float32)
            y.set_shape([n])
        return y

    one, many = chain(half, 1), chain(half, MANY)
    with tf.get_default_graph().gradient_override_map({"PyFunc": "SineGradient"}):
        deep = chain(sine, DEEP)
    deep = [deep, tf.gradients(deep, x)[0]]
    session = tf.Session()
    feed = {x: data["x"]}
    return {
        "one": lambda: session.run(one, feed),
        "a hundred in a row": lambda: session.run(many, feed),
        "ten with gradients": lambda: session.run(deep, feed),
    }


def torch_program(torch, data, n):
    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.from_numpy(sine(x.numpy()))

        @staticmethod
        def backward(ctx, dy):
            return torch.from_numpy(sine_gradient(ctx.saved_tensors[0].numpy(), dy.numpy()))

    def chain(links):
        y = torch.from_numpy(data["x"])
        for _ in range(links):
            y = torch.from_numpy(half(y.numpy()))
        return y.numpy()

    def deep():
        x = torch.from_numpy(data["x"]).requires_grad_()
        y = x
        for _ in range(DEEP):
            y = Sine.apply(y)
        (dx,) = torch.autograd.grad(y, x, torch.ones_like(y))
        return [y.detach().numpy(), dx.numpy()]

    return {"one": lambda: chain(1), "a hundred in a row": lambda: chain(MANY), "ten with gradients": deep}


def jax_program(jax, data, n):
    jnp = jax.numpy
    result = jax.ShapeDtypeStruct((n,), jnp.float32)

    def host(function, *arrays):
        # The callback is given JAX arrays; on them NumPy's functions would start JAX again.
        return jax.pure_callback(lambda *a: function(*map(np.asarray, a)), result, *arrays)

    @jax.custom_vjp
    def host_sine(x):
        return host(sine, x)

    host_sine.defvjp(lambda x: (host_sine(x), x), lambda x, dy: (host(sine_gradient, x, dy),))

    def chain(function, links):
        def apply(y):
            for _ in range(links):
                y = function(y)
            return y

        return apply

    one, many = (jax.jit(chain(lambda y: host(half, y), links)) for links in (1, MANY))
    ten = chain(host_sine, DEEP)

    @jax.jit
    def deep(x):
        y, back = jax.vjp(ten, x)
        return [y, *back(jnp.ones_like(y))]

    return {
        "one": lambda: np.asarray(one(data["x"])),
        "a hundred in a row": lambda: np.asarray(many(data["x"])),
        "ten with gradients": lambda: [np.asarray(part) for part in deep(data["x"])],
    }
