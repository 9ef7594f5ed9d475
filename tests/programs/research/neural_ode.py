"""A neural ODE (Chen et al. 2018): Runge-Kutta in a while_loop, the adjoint by custom_gradient."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(38)
STEPS, END = 40, 1.0
DT = END / STEPS


def field(y, w):
    return tf.tanh(tf.matmul(y, w)) - 0.3 * y


def rk4(f, state, dt):
    def move(state, slope, h):
        return [s + h * k for s, k in zip(state, slope)]
    k1 = f(state)
    k2 = f(move(state, k1, dt / 2))
    k3 = f(move(state, k2, dt / 2))
    k4 = f(move(state, k3, dt))
    return [s + dt / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4)]


def integrate(f, state, dt):
    state = [tf.identity(s) for s in state]
    return tf.while_loop(lambda i, *s: i < STEPS, lambda i, *s: [i + 1] + rk4(f, list(s), dt), [0] + state)[
        1:
    ]


@tf.custom_gradient
def ode(y0, w):
    y1, = integrate(lambda s: [field(s[0], w)], [tf.stop_gradient(y0)], DT)

    def grad(dy):
        def backward(state):
            y, a, _ = state
            w_here = tf.identity(w)          # TensorFlow differentiates only within the loop's body
            f = field(y, w_here)
            dfdy, dfdw = tf.gradients(f, [y, w_here], grad_ys=-a)
            return [f, dfdy, dfdw]
        # Backwards in time: the state runs back, the adjoint and the weights' gradient come with it.
        _, a0, dw = integrate(backward, [y1, dy, tf.zeros_like(w)], -DT)
        return a0, dw

    return y1, grad


y0, w = tf.constant(rng.randn(3, 2)), tf.constant(rng.randn(2, 2))
target = rng.randn(3, 2)
adjoint = ode(y0, w)
direct, = integrate(lambda s: [field(s[0], w)], [y0], DT)
unrolled = [y0]
for _ in range(STEPS):
    unrolled = rk4(lambda s: [field(s[0], w)], unrolled, DT)

RESULTS, fetches = {}, {}
for name, y in [("adjoint", adjoint), ("loop", direct), ("unrolled", unrolled[0])]:
    fetches[name] = [y] + tf.gradients(tf.reduce_sum(tf.square(y - target)), [y0, w])
with tf.Session() as sess:
    for name, (y, dy, dw) in sess.run(fetches).items():
        RESULTS[name], RESULTS["dy0_" + name], RESULTS["dw_" + name] = y, dy, dw
