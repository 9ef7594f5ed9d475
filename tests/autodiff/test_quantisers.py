"""Quantisers against the formulas of their papers in NumPy: levels forward, published gradients backward."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules

X = np.random.RandomState(0).randn(3, 7) * 1.5
DY = np.random.RandomState(1).randn(3, 7)
ONES = np.ones_like(X)


def unit(x, bits):
    return np.round(x * (2**bits - 1)) / (2**bits - 1)


def tanh_part(x):
    t = np.tanh(x)
    return t / (2 * np.abs(t).max()) + 0.5


def dorefa_slope(x):
    """Of dy (2 quantize(tanh(x) / (2 max) + 1/2) - 1), with the path through the maximum."""
    t = np.tanh(x)
    top = np.abs(t).max()
    by_t = DY / top
    by_t[np.abs(t) == top] -= np.sign(t[np.abs(t) == top]) * (DY * t).sum() / top**2
    return by_t * (1 - t**2)


def fake(x, low, high, bits, narrow):
    first, last = int(narrow), 2**bits - 1
    scale = (high - low) / (last - first)
    zero = np.floor(np.clip(first - low / scale, first, last) + 0.5)
    bottom, top = (first - zero) * scale, (last - zero) * scale
    return np.floor((np.clip(x, bottom, top) - bottom) / scale + 0.5) * scale + bottom, (x >= bottom) & (x <= top)


BIG = np.abs(X) > 0.7 * np.abs(X).mean()
ROWS = {  # function, forward value, gradient
    "unit": (lambda x: rules.quantize_unit(x, 3), unit(X, 3), DY),
    "DoReFa weights, 1 bit": (lambda x: rules.dorefa_weights(x, 1), np.sign(X) * np.abs(X).mean(), DY),
    "DoReFa weights, 3 bits": (lambda x: rules.dorefa_weights(x, 3), 2 * unit(tanh_part(X), 3) - 1, dorefa_slope(X)),
    "DoReFa activations": (lambda x: rules.dorefa_activations(x, 2), unit(np.clip(X, 0, 1), 2), DY * ((X >= 0) & (X <= 1))),
    "PACT": (lambda x: rules.pact(x, tf.constant(1.1, tf.float64), 2),
             np.round(np.clip(X, 0, 1.1) / (1.1 / 3)) * (1.1 / 3), DY * ((X >= 0) & (X < 1.1))),
    "LSQ": (lambda x: rules.lsq(x, tf.constant(0.4, tf.float64), 3), np.round(np.clip(X / 0.4, -4, 3)) * 0.4,
            DY * ((X / 0.4 > -4) & (X / 0.4 < 3))),
    "LSQ, unsigned": (lambda x: rules.lsq(x, tf.constant(0.4, tf.float64), 2, signed=False),
                      np.round(np.clip(X / 0.4, 0, 3)) * 0.4, DY * ((X > 0) & (X / 0.4 < 3))),
    "fake quant": (lambda x: rules.fake_quant(x, -1.03, 1.4, 4), fake(X, -1.03, 1.4, 4, False)[0],
                   DY * fake(X, -1.03, 1.4, 4, False)[1]),
    "fake quant, narrow": (lambda x: rules.fake_quant(x, -1.03, 1.4, 3, narrow_range=True), fake(X, -1.03, 1.4, 3, True)[0],
                           DY * fake(X, -1.03, 1.4, 3, True)[1]),
    "binary": (rules.binarize, np.sign(X), DY * (np.abs(X) <= 1)),
    "binary, straight through": (lambda x: rules.binarize(x, rules.identity), np.sign(X), DY),
    "binary, approximate sign": (lambda x: rules.binarize(x, rules.approx_sign), np.sign(X),
                                 DY * np.maximum(2 - 2 * np.abs(X), 0)),
    "XNOR": (lambda x: rules.binarize(x, scale_axes=[0]), np.sign(X) * np.abs(X).mean(0),
             DY * (np.abs(X) <= 1) * np.abs(X).mean(0)),
    "ternary": (rules.ternarize, np.abs(X)[BIG].mean() * BIG * np.sign(X), DY),
}


@pytest.mark.parametrize("name", ROWS)
def test_value_and_gradient(name):
    function, value, slope = ROWS[name]
    x = tf.constant(X)
    y = function(x)
    with tf.Session() as session:
        got, dx = session.run([y, tf.gradients(y, x, grad_ys=[tf.constant(DY)])[0]])
    np.testing.assert_allclose(got, value, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dx, slope, rtol=1e-10, atol=1e-12)


def test_one_bit_has_no_third_level():
    with tf.Session() as session:
        signs, scaled = session.run([rules.binarize(tf.zeros([2])), rules.dorefa_weights(tf.constant([0.0, 2.0]), 1)])
    assert signs.tolist() == [1, 1] and scaled.tolist() == [1, 1]


V = X / 0.4
INSIDE = (V > -4) & (V < 3)
LEARNT = {  # function of (x, parameters), parameters, their gradients
    "PACT": (lambda x, a: rules.pact(x, a, 2), [1.1], [(DY * (X >= 1.1)).sum()]),
    "LSQ": (lambda x, s: rules.lsq(x, s, 3), [0.4],
            [(DY * np.where(INSIDE, np.round(V) - V, np.clip(V, -4, 3))).sum() / np.sqrt(X.size * 3)]),
    "LSQ, plain": (lambda x, s: rules.lsq(x, s, 3, scale_gradient=False), [0.4],
                   [(DY * np.where(INSIDE, np.round(V) - V, np.clip(V, -4, 3))).sum()]),
    "fake quant": (lambda x, a, b: rules.fake_quant(x, a, b, 4), [-0.6, 0.9],
                   [(DY * (X < -0.6)).sum(), (DY * (X > 0.9)).sum()]),
}


@pytest.mark.parametrize("name", LEARNT)
def test_learnt_parameters(name):
    function, start, slopes = LEARNT[name]
    variables = [tf.Variable(np.float64(v)) for v in start]
    y = function(tf.constant(X), *variables)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(tf.gradients(y, variables, grad_ys=[tf.constant(DY)])), slopes, rtol=1e-10)


def test_fake_quant_keeps_zero_and_tensorflows_range():
    # TF 2.21, fake_quant_with_min_max_vars(x, -1.03, 1.4, num_bits=4): nudged to [-0.972, 1.458] in steps of 0.162
    x = tf.constant([-2.0, -1.0, 0.0, 0.3, 1.4, 2.0], tf.float64)
    with tf.Session() as session:
        got = session.run(rules.fake_quant(x, -1.03, 1.4, 4))
    np.testing.assert_allclose(got, [-0.972, -0.972, 0.0, 0.324, 1.458, 1.458], atol=1e-9)


def test_fake_quant_is_tensorflows_also_with_a_range_per_channel():
    x, low, high = tf.constant(np.linspace(-2, 2, 6).reshape(3, 2)), [-1.0, -0.5], [1.0, 1.5]
    both = [rules.fake_quant(x, tf.constant(np.float64(low)), high, 3),
            tf.fake_quant_with_min_max_vars_per_channel(x, np.float64(low), np.float64(high), 3)]
    with tf.Session() as session:
        got = session.run([[y, tf.gradients(y, x)[0]] for y in both])
    np.testing.assert_array_equal(got[0], got[1])


def test_quantised_gradients_have_few_levels_and_no_bias():
    x = tf.constant(np.zeros((1, 400)))
    g = np.linspace(-1, 1, 400)[None]
    y = rules.dorefa_gradients(x, 2, seed=1)
    dx = tf.gradients(y, x, grad_ys=[g])[0]
    with tf.Session() as session:
        draws = np.stack([session.run(dx) for _ in range(60)])
    assert np.unique(draws.round(9)).size == 4
    assert np.abs(draws.mean(0) - g).mean() < 0.06  # the mean of 60 draws with a deviation of at most 1/3


def test_a_quantised_network_learns():
    r = np.random.RandomState(2)
    data = r.randn(64, 4).astype(np.float32)
    labels = (data @ [1, -1, 1, 1] > 0).astype(np.float32)
    w = tf.Variable(r.randn(4, 1).astype(np.float32) * 0.1)
    logits = tf.matmul(data, rules.dorefa_weights(w, 2))[:, 0]
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits * 3.0))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(loss)
        for _ in range(30):
            session.run(step)
        assert session.run(loss) < 0.5 * before


@pytest.mark.parametrize("make", [lambda x: rules.dorefa_weights(x, 0), lambda x: rules.quantize_unit(x, 2.5),
                                  lambda x: rules.lsq(x, x[0, 0], 1), lambda x: rules.pact(x, x[0, 0], 64)])
def test_bits_are_checked(make):
    with pytest.raises(ValueError, match="bits must be an integer between"):
        make(tf.constant(X))
