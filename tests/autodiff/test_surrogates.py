"""Surrogate derivatives by their formulas; straight-through, spikes; ReLUs for looking into networks."""

import math

import numpy as np
import pytest

import regrad as tf
from regrad import rules

X = np.array([-2.5, -1.0, -0.4, -0.05, 0.05, 0.3, 1.0, 1.7])
G = np.array([1.0, -2.0, 0.5, 3.0, -1.5, 2.0, 0.25, -1.0])


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slope_of(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


SURROGATES = {
    "identity": (rules.identity, np.ones(8)),
    "clipped": (rules.clipped(), (np.abs(X) <= 1) * 1.0),
    "clipped, narrow": (rules.clipped(0.3), (np.abs(X) <= 0.3) * 1.0),
    "tanh": (rules.tanh(), 1 - np.tanh(X) ** 2),
    "tanh, cold": (rules.tanh(0.25), slope_of(lambda x: np.tanh(x / 0.25), X)),
    "sigmoid": (rules.sigmoid(4.0), slope_of(lambda x: sigmoid(4 * x), X)),
    "fast sigmoid": (rules.fast_sigmoid(10.0), 1 / (1 + 10 * np.abs(X)) ** 2),
    "arctan": (rules.arctan(2.0), slope_of(lambda x: np.arctan(math.pi / 2 * 2.0 * x) / math.pi, X)),
    "triangle": (rules.triangle(0.3, 0.5), 0.3 * np.maximum(0, 1 - np.abs(X) / 0.5)),
    "gaussian": (rules.gaussian(0.5), np.exp(-0.5 * (X / 0.5) ** 2) / (0.5 * math.sqrt(2 * math.pi))),
    "approximate sign": (rules.approx_sign, np.where(np.abs(X) <= 1, 2 - 2 * np.abs(X), 0)),
    "swish sign": (rules.swish_sign(5.0),
                   slope_of(lambda x: 2 * sigmoid(5 * x) * (1 + 5 * x * (1 - sigmoid(5 * x))) - 1, X)),
}


@pytest.mark.parametrize("name", SURROGATES)
def test_surrogate(name):
    derivative, expected = SURROGATES[name]
    x = tf.constant(X)
    ways = [tf.straight_through(tf.sign, derivative)(x), tf.sign(x)]
    through = tf.gradients(ways[0], x, grad_ys=[G])[0]
    as_rule = tf.gradients(ways[1], x, grad_ys=[G], overrides={"Sign": rules.surrogate(derivative)})[0]
    value, a, b = run([ways[0], through, as_rule])
    np.testing.assert_array_equal(value, np.sign(X))
    np.testing.assert_allclose(a, G * expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(b, G * expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f", ["round", "sign", "floor", "ceil"])
def test_straight_through_is_the_identity_backward(f):
    x = tf.constant(X)
    y = tf.straight_through(getattr(tf, f))(x)
    value, g = run([y, tf.gradients(y, x, grad_ys=[G])[0]])
    np.testing.assert_array_equal(value, getattr(np, f)(X))
    np.testing.assert_array_equal(g, G)


def test_a_temperature_may_be_fed():
    x, t = tf.constant(X), tf.placeholder(tf.float64, [])
    g = tf.gradients(tf.straight_through(tf.sign, rules.tanh(t))(x), x)[0]
    for value in (0.5, 2.0):
        np.testing.assert_allclose(run(g, {t: value}), (1 - np.tanh(X / value) ** 2) / value)


def test_spike():
    v = tf.constant(X)
    s = tf.spike(v, threshold=0.3)
    value, g = run([s, tf.gradients(s, v)[0]])
    np.testing.assert_array_equal(value, (X > 0.3) * 1.0)
    np.testing.assert_allclose(g, 1 / (1 + 10 * np.abs(X - 0.3)) ** 2)


def test_a_spiking_neuron_in_a_loop():
    """Leaky integrate and fire, u' = 0.9 u (1 - s) + w: the derivative through time by hand."""

    def neuron(i, u, total):
        s = tf.spike(u, rules.fast_sigmoid(2.0), threshold=1.0)
        return i + 1, 0.9 * u * (1.0 - s) + w, total + s

    w = tf.constant(0.6, tf.float64)
    zero = tf.constant(0.0, tf.float64)
    _, _, count = tf.while_loop(lambda i, *_: i < 6, neuron, (0, zero, zero))
    value, g = run([count, tf.gradients(count, w)[0]])

    u, du, spikes, slope = 0.0, 0.0, 0.0, 0.0
    for _ in range(6):
        s, ds = float(u > 1), du / (1 + 2 * abs(u - 1)) ** 2
        u, du = 0.9 * u * (1 - s) + 0.6, 0.9 * du * (1 - s) - 0.9 * u * ds + 1
        spikes, slope = spikes + s, slope + ds
    assert value == spikes > 0
    np.testing.assert_allclose(g, slope)


ACTIVE = X > 0
RELUS = {
    "guided": (rules.guided_relu, np.maximum(G, 0) * ACTIVE),
    "deconvnet": (rules.deconvnet_relu, np.maximum(G, 0)),
}


@pytest.mark.parametrize("name", RELUS)
@pytest.mark.parametrize("relu", ["Relu", "Elu"])
def test_relus(name, relu):
    rule, expected = RELUS[name]
    x = tf.constant(X)
    y = {"Relu": tf.nn.relu, "Elu": tf.nn.elu}[relu](x)
    np.testing.assert_array_equal(run(tf.gradients(y, x, grad_ys=[G], overrides={relu: rule})[0]), expected)


@pytest.mark.parametrize("derivative", [None, rules.tanh()])
def test_straight_through_is_of_one_tensor(derivative):
    with pytest.raises(TypeError, match="called with 2.*tf.substitute"):
        tf.straight_through(tf.add, derivative)(tf.constant(1.0), tf.constant(2.0))


def test_redirected_relu():
    x = np.array([[-1.0, -2.0], [-1.0, 3.0]])
    g = np.array([[-1.0, 2.0], [-1.0, 2.0]])
    t = tf.constant(x)
    got = run(tf.gradients(tf.nn.relu(t), t, grad_ys=[g], overrides={"Relu": rules.redirected_relu})[0])
    # first example: all units are dead, so those whose growth is asked for get their gradient; second: as usual
    np.testing.assert_array_equal(got, [[-1, 0], [0, 2]])


def test_the_second_derivative_within_a_loop():
    def turn(h):
        return tf.sin(tf.straight_through(tf.round)(h) * w)

    x, w = tf.constant([1.0, 2.0], tf.float64), tf.constant([0.5, -0.25], tf.float64)
    looped = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, turn(h)), [0, x])[1]
    second = [tf.gradients(tf.sin(tf.gradients(y, w)[0]), x)[0] for y in (turn(turn(x)), looped)]
    with tf.Session() as s:
        unrolled, got = s.run(second)
    np.testing.assert_allclose(got, unrolled)
    assert np.abs(got).min() > 0.01
