"""A long chain of tanh(h * w) on small vectors, with its gradient: many cheap ops, first and warm.

The same chain as a loop shows what a user gains by writing one. JAX cannot compile the unrolled chain whole
in reasonable time beyond a few hundred ops, so above 1,000 ops its program is cut into equal pieces by hand,
each recomputed in the backward pass.
"""

import numpy as np

ROWS = {
    "chain of 400 ops": {"n": 400},
    "chain of 20,000 ops": {"n": 20_000},
    "chain of 20,000 ops, as a loop": {"n": 20_000, "loop": True},
}
QUICK = {
    "chain of 400 ops": {"n": 400},
    "chain of 4,000 ops": {"n": 4_000},
    "chain of 4,000 ops, as a loop": {"n": 4_000, "loop": True},
}
REPEATS = 1
PIECE = 100  # links in one piece, two ops each


def data(n, loop=False):
    # Factors around one keep both the values and the gradient away from zero for a while.
    return {"x": np.linspace(0.1, 1, 16, dtype=np.float32), "w": np.linspace(0.9, 1.2, 16, dtype=np.float32)}


def tf1_program(tf, data, n, loop=False):
    x, w = tf.placeholder(tf.float32, [16]), tf.placeholder(tf.float32, [16])
    if loop:
        _, h = tf.while_loop(lambda i, h: i < n // 2, lambda i, h: (i + 1, tf.tanh(h * w)), [0, x])
    else:
        h = x
        for _ in range(n // 2):
            h = tf.tanh(h * w)
    y = tf.reduce_sum(h)
    fetches = [y, *tf.gradients(y, [x, w])]
    session = tf.Session()
    feed = {x: data["x"], w: data["w"]}
    return lambda: session.run(fetches, feed)


def torch_program(torch, data, n, loop=False):
    def step():
        x, w = (torch.tensor(data[name], requires_grad=True) for name in "xw")
        h = x
        for _ in range(n // 2):
            h = torch.tanh(h * w)
        y = h.sum()
        return [t.detach().numpy() for t in (y, *torch.autograd.grad(y, [x, w]))]

    return step


def jax_program(jax, data, n, loop=False):
    jnp = jax.numpy

    def unrolled(h, w, links):
        for _ in range(links):
            h = jnp.tanh(h * w)
        return h

    def scanned(h, w):
        return jax.lax.scan(lambda h, _: (jnp.tanh(h * w), None), h, None, length=n // 2)[0]

    if loop or n <= 1_000:
        chain = scanned if loop else lambda h, w: unrolled(h, w, n // 2)
        run = jax.jit(jax.value_and_grad(lambda h, w: chain(h, w).sum(), (0, 1)))

        def step():
            y, gradients = run(data["x"], data["w"])
            return [np.asarray(t) for t in (y, *gradients)]

        return step

    def piece(h, w):
        return unrolled(h, w, PIECE)

    @jax.jit
    def piece_back(h, w, dh, dw):
        dh, more = jax.vjp(piece, h, w)[1](dh)
        return dh, dw + more

    forward = jax.jit(piece)

    def step():
        hs, w = [jnp.asarray(data["x"])], jnp.asarray(data["w"])
        for _ in range(n // 2 // PIECE):
            hs.append(forward(hs[-1], w))
        dh, dw = jnp.ones(16), jnp.zeros(16)
        for h in reversed(hs[:-1]):
            dh, dw = piece_back(h, w, dh, dw)
        return [np.asarray(t) for t in (hs[-1].sum(), dh, dw)]

    return step
