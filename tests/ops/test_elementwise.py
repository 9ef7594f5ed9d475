"""Long vectors, compiled as users' programs are; the rows of tests/cases are short, and compiled quickly."""

import numpy as np
import pytest

import regrad as tf

X = np.random.default_rng(0).standard_normal(5000)
UNIT = [tf.acos, tf.asin, tf.atanh]
POSITIVE = [tf.digamma, tf.lgamma, tf.log, tf.log1p, tf.rsqrt, tf.sqrt]
ALL = [tf.asinh, tf.atan, tf.ceil, tf.cos, tf.cosh, tf.erf, tf.erfc, tf.exp, tf.expm1, tf.floor, tf.nn.elu, tf.nn.softplus,
       tf.round, tf.sigmoid, tf.sin, tf.sinh, tf.square, tf.tan, tf.tanh, lambda x: tf.acosh(x * x + 1.5),
       lambda x: tf.atan2(x, x[::-1]), lambda x: tf.pow(tf.abs(x), 1.7), lambda x: tf.floormod(x, 0.3),
       lambda x: tf.cast(50.0 * x, tf.int32)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("functions", [UNIT, POSITIVE, ALL], ids=["unit", "positive", "all"])
def test_compiled_functions_of_long_vectors(functions, dtype, monkeypatch):
    given = np.tanh(X) if functions is UNIT else np.abs(X) + 0.1 if functions is POSITIVE else X
    results = []
    for host_runs in (1, 0):  # NumPy, XLA
        monkeypatch.setattr(tf.config, "host_runs", host_runs)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(dtype, X.shape)
            results.append(session.run([f(x) for f in functions], {x: given.astype(dtype)}))
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, **({"rtol": 2e-4, "atol": 2e-6} if dtype == np.float32 else {"rtol": 1e-9}))


@pytest.mark.parametrize("scale", [1e-3, 1, 1e4, 1e9])
def test_sines_of_many_numbers(scale, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    given = np.tile((scale * X).astype(np.float32), 14)
    given[:6] = np.float32([0, np.pi, -np.pi / 2, 100 * np.pi, 7.0, -0.0])
    for at in ([], [(7, np.inf), (8, np.nan), (9, -3e38)]):
        for place, number in at:
            given[place] = number
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(np.float32, given.shape)
            results = session.run([tf.sin(x), tf.cos(x)], {x: given})
        for got, function in zip(results, (np.sin, np.cos)):
            with np.errstate(invalid="ignore"):
                want = function(given.astype(np.float64))
            np.testing.assert_allclose(got, want, rtol=2.5e-7)


@pytest.mark.parametrize("dtype, off", [(np.float32, 2.5), (np.float64, 2)])
def test_arc_functions(dtype, off, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    edges = np.array([0.0, -0.0, 0.5, -0.5, 1, -1, 2, -2, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan])
    y, x = np.concatenate([np.stack(np.meshgrid(edges, edges)).reshape(2, -1), [X, np.tanh(X[::-1])]], 1).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        results = session.run([tf.atan2(y, x), tf.atan(y), tf.asin(x), tf.acos(x)])
    with np.errstate(invalid="ignore"):
        expected = [np.arctan2(y, x), np.arctan(y), np.arcsin(x), np.arccos(x)]
        wide = [np.arctan2(y, x, dtype=np.longdouble), np.arctan(y, dtype=np.longdouble)]
        wide += [np.arcsin(x, dtype=np.longdouble), np.arccos(x, dtype=np.longdouble)]
    for got, want, exact in zip(results, expected, wide):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        finite = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[finite]), np.signbit(want[finite]))
        normal = finite & (np.abs(want) > np.finfo(dtype).tiny)
        assert np.max(np.abs(got - exact)[normal] / np.spacing(np.abs(want[normal]))) < off
