"""tf.contrib.integrate: solutions that are known, and their derivatives by what they started with."""
import numpy as np
import pytest

import regrad as tf
from regrad.contrib.integrate import odeint, odeint_fixed

A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
TIMES = np.array([0.0, 0.5, 0.7, 2.0])


def spiral(y, t):
    return tf.einsum("ij,j->i", tf.constant(A, y.dtype), y)


def exact(times):
    angle, size = 2 * times, np.exp(-0.1 * times)
    return np.stack([size * np.cos(angle), -size * np.sin(angle)], 1)


def test_adaptive_steps():
    y, info = odeint(spiral, tf.constant([1.0, 0.0], tf.float64), TIMES, full_output=True)
    with tf.Session() as sess:
        y, count = sess.run([y, info["num_func_evals"]])
    np.testing.assert_allclose(y, exact(TIMES), atol=1e-5)
    assert count % 6 == 1 and count > 60


def test_the_derivative_goes_through_the_steps():
    y0, rate = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [])
    end = odeint(lambda y, t: rate * y * tf.cast(t, y.dtype), y0, [0.0, 1.0, 2.0], rtol=1e-9)[-1]
    with tf.Session() as sess:
        value, grads = sess.run([end, tf.gradients(end, [y0, rate])], {y0: [1.0, 3.0], rate: 0.5})
    np.testing.assert_allclose(value, np.e * np.array([1, 3]), rtol=1e-7)
    np.testing.assert_allclose(grads[0], [np.e, np.e], rtol=1e-7)
    np.testing.assert_allclose(grads[1], 4 * 2 * np.e, rtol=1e-6)


@pytest.mark.parametrize(("method", "error"), [("rk4", 2e-6), ("midpoint", 3e-3)])
@pytest.mark.parametrize("dt", [0.05, [0.05, 0.1, 0.04]])
def test_fixed_steps(method, error, dt):
    y = odeint_fixed(spiral, tf.constant([1.0, 0.0], tf.float64), TIMES, dt, method)
    back = odeint_fixed(spiral, y[-1], TIMES[::-1], -0.05, method)
    with tf.Session() as sess:
        y, back = sess.run([y, back])
    np.testing.assert_allclose(y, exact(TIMES), atol=10 * error)
    assert np.abs(y - exact(TIMES)).max() > error / 100
    np.testing.assert_allclose(back, exact(TIMES)[::-1], atol=20 * error)


def test_one_step_from_time_to_time():
    y0 = tf.placeholder(tf.float64, [])
    y = odeint_fixed(lambda y, t: y, y0, np.arange(3.0))
    with tf.Session() as sess:
        value, grad = sess.run([y, tf.gradients(y[-1], y0)[0]], {y0: 2.0})
    factor = 1 + 1 + 1 / 2 + 1 / 6 + 1 / 24
    np.testing.assert_allclose(value, 2 * factor ** np.arange(3))
    np.testing.assert_allclose(grad, factor**2)


def test_refusals():
    y = tf.constant([1.0, 0.0], tf.float64)
    with pytest.raises(ValueError, match="method not supported"):
        odeint(spiral, y, TIMES, method="euler")
    with pytest.raises(ValueError, match="without specifying"):
        odeint(spiral, y, TIMES, options={"first_step": 1})
    with pytest.raises(ValueError, match="unknown options"):
        odeint(spiral, y, TIMES, method="dopri5", options={"first": 1})
    with pytest.raises(TypeError, match="floating"):
        odeint_fixed(spiral, tf.constant([1, 0]), TIMES)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="monotonic"):
            sess.run(odeint(spiral, y, tf.placeholder_with_default(TIMES[::-1].copy(), [4])))
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_num_steps"):
            sess.run(odeint(spiral, y, TIMES, method="dopri5", options={"max_num_steps": 2}))
