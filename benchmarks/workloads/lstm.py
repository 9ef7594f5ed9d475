"""One training step of an LSTM: 50 steps of a batch of 64, 64 inputs, 128 units; unrolled and as a loop.

The loop is TF1's dynamic one (`while_loop` and `TensorArray`) and JAX's `scan`. PyTorch's own LSTM, which is
C++, stands in both rows.
"""

import numpy as np

from shared import tf1_session, tf1_variables, torch_step, weights

ROWS = {
    "LSTM of 50 steps, unrolled": {"steps": 50, "loop": False},
    "LSTM of 50 steps, as a loop": {"steps": 50, "loop": True},
}
QUICK = {
    "LSTM of 20 steps, unrolled": {"steps": 20, "loop": False},
    "LSTM of 20 steps, as a loop": {"steps": 20, "loop": True},
}
REPEATS = 2
BATCH, INPUTS, UNITS, RATE = 64, 64, 128, 0.1


def data(steps, loop):
    rng = np.random.default_rng(1)
    return {
        "weights": weights((INPUTS + UNITS, 4 * UNITS), (4 * UNITS,), (UNITS, 1), (1,)),
        "x": rng.standard_normal((steps, BATCH, INPUTS), np.float32),
        "y": rng.standard_normal((BATCH, 1), np.float32),
    }


def tf1_program(tf, data, steps, loop):
    xs = tf.placeholder(tf.float32, [steps, BATCH, INPUTS])
    y = tf.placeholder(tf.float32, [BATCH, 1])
    (kernel, bias, out, out_bias), start = tf1_variables(tf, data["weights"])

    def cell(x, h, c):
        i, f, g, o = tf.split(tf.matmul(tf.concat([x, h], 1), kernel) + bias, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        return tf.sigmoid(o) * tf.tanh(c), c

    h = c = tf.zeros([BATCH, UNITS])
    if loop:
        array = tf.TensorArray(tf.float32, steps).unstack(xs)
        _, h, c = tf.while_loop(
            lambda t, h, c: t < steps,
            lambda t, h, c: (t + 1, *cell(array.read(t), h, c)),
            [tf.constant(0), h, c])
    else:
        for x in tf.unstack(xs):
            h, c = cell(x, h, c)
    loss = tf.reduce_mean(tf.square(tf.matmul(h, out) + out_bias - y))
    train = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
    session = tf1_session(tf, start)
    feed = {xs: data["x"], y: data["y"]}
    return lambda: session.run([loss, train], feed)[0]


def torch_program(torch, data, steps, loop):
    kernel, bias, out, out_bias = (torch.tensor(w) for w in data["weights"])
    lstm = torch.nn.LSTM(INPUTS, UNITS)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(kernel[:INPUTS].T)
        lstm.weight_hh_l0.copy_(kernel[INPUTS:].T)
        lstm.bias_ih_l0.copy_(bias)
        lstm.bias_hh_l0.zero_()
    lstm.bias_hh_l0.requires_grad_(False)  # one bias, as in the other programs
    leaves = [lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0,
              out.requires_grad_(), out_bias.requires_grad_()]
    optimizer = torch.optim.SGD(leaves, lr=RATE)

    def loss_of():
        _, (h, _) = lstm(torch.from_numpy(data["x"]))
        return torch.nn.functional.mse_loss(torch.addmm(out_bias, h[0], out), torch.from_numpy(data["y"]))

    return torch_step(optimizer, loss_of)


def jax_program(jax, data, steps, loop):
    jnp = jax.numpy

    def cell(x, h, c, kernel, bias):
        i, f, g, o = jnp.split(jnp.concatenate([x, h], 1) @ kernel + bias, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def loss_of(params, xs, y):
        kernel, bias, out, out_bias = params
        h = c = jnp.zeros((BATCH, UNITS))
        if loop:
            (h, c), _ = jax.lax.scan(lambda hc, x: (cell(x, *hc, kernel, bias), None), (h, c), xs)
        else:
            for x in xs:
                h, c = cell(x, h, c, kernel, bias)
        return jnp.mean((h @ out + out_bias - y) ** 2)

    def descend(params, xs, y):
        loss, gradients = jax.value_and_grad(loss_of)(params, xs, y)
        return [p - RATE * g for p, g in zip(params, gradients, strict=True)], loss

    run = jax.jit(descend, donate_argnums=0)
    state = [[jnp.array(w) for w in data["weights"]]]

    def step():
        state[0], loss = run(state[0], data["x"], data["y"])
        return float(loss)

    return step
