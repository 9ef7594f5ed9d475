"""Incomplete gamma and beta functions of many numbers by `runtime/special.c`; other rows: tests/cases/special.py."""

import numpy as np
import pytest
from scipy import special

import regrad as tf
from regrad.runtime import native

pytestmark = pytest.mark.skipif(not native.available("regrad_special"), reason="there was no C compiler")


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 2e-7), (np.float64, 2e-11)])
@pytest.mark.parametrize("low, high", [(1e-3, 1), (0.1, 30), (100, 1e5)])
def test_against_scipy(low, high, dtype, rtol, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    rng = np.random.default_rng(0)
    a, b = np.exp(rng.uniform(np.log(low), np.log(high), (2, 500))).astype(dtype)
    x = (a * np.exp(rng.normal(0, min(1, 2 / np.sqrt(high)), 500))).astype(dtype)
    share = (x / (x + b)).astype(dtype)
    with tf.Graph().as_default(), tf.Session() as session:
        feed = {tf.placeholder(dtype, v.shape): v for v in (a, b, x, share)}
        at, bt, xt, st = feed
        results = session.run([tf.igamma(at, xt), tf.igammac(at, xt), tf.betainc(at, bt, st)], feed)
    a, b, x, share = (v.astype(np.float64) for v in (a, b, x, share))
    expected = [special.gammainc(a, x), special.gammaincc(a, x), special.betainc(a, b, share)]
    for got, want in zip(results, expected):
        seen = want > 1e-30
        np.testing.assert_allclose(got[seen], want[seen], rtol=rtol)


def test_derivative_by_the_parameter(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    a = np.array([0.01, 0.3, 1, 4, 40, 40, 3000, 3000])
    x = np.array([0.5, 0.01, 3, 2.5, 30, 60, 2950, 3020])
    with tf.Graph().as_default(), tf.Session() as session:
        at = tf.placeholder(tf.float64, a.shape)
        got = session.run(tf.gradients(tf.igamma(at, x), at)[0], {at: a})
    h = 1e-4 * a
    one, two = (special.gammainc(a + k * h, x) - special.gammainc(a - k * h, x) for k in (1, 2))
    np.testing.assert_allclose(got, (8 * one - two) / (12 * h), rtol=1e-7)
