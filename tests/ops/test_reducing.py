"""Reductions in compiled programs: by XLA, by its library of kernels, or piece by piece, they give the same."""

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import reductions

SHAPES = [(4, 16, 16, 8), (2, 521, 9), (1042, 16), (9, 111, 3), (5, 4000), (8, 3, 1031), (1031, 12), (40, 1024)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_equal_the_sums_of_greater_precision(shape, dtype):
    x = np.random.default_rng(0).random(shape).astype(dtype)
    axes = list(range(len(shape) - 1))
    fed = tf.placeholder(dtype, shape)
    results = [tf.reduce_sum(fed, axes), tf.reduce_mean(fed, axes, keepdims=True), tf.reduce_sum(fed, 0)]
    wide = x.astype(np.float64)
    want = [wide.sum(tuple(axes)), wide.mean(tuple(axes), keepdims=True), wide.sum(0)]
    with tf.Session() as session:
        for _ in range(tf.config.host_runs + 3):  # on the host first, compiled at last
            for got, value in zip(session.run(results, {fed: x}), want):
                assert got.dtype == dtype and got.shape == value.shape
                np.testing.assert_allclose(got, value, rtol=32 * np.finfo(dtype).eps)


def test_what_is_not_finite_stays_in_its_column():
    x = np.ones((2048, 8), np.float32)
    x[5, 1], x[7, 2], x[9, 3], x[11, 3] = np.nan, np.inf, np.inf, -np.inf
    fed = tf.placeholder(tf.float32, x.shape)
    with tf.Session() as session:
        total = tf.reduce_sum(fed, 0)
        for _ in range(tf.config.host_runs + 3):
            got = session.run(total, {fed: x})
    np.testing.assert_array_equal(got, [2048, np.nan, np.inf, np.nan, 2048, 2048, 2048, 2048])


@pytest.mark.parametrize("shape, axis", [((4, 5000), 0), ((5000, 4), 1), ((70, 3, 100), 1), ((20_000, 1), 1)], ids=str)
def test_short_axes_of_large_arrays(shape, axis):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[0, 0] = np.nan
    fed = tf.placeholder(tf.float32, shape)
    functions = {tf.reduce_sum: np.sum, tf.reduce_mean: np.mean, tf.reduce_prod: np.prod, tf.reduce_max: np.max,
                 tf.reduce_min: np.min}
    with tf.Session() as session:
        for keepdims in (False, True):
            results = [f(fed, axis, keepdims=keepdims) for f in functions]
            for _ in range(tf.config.host_runs + 3):
                got = session.run(results, {fed: x})
            for y, f in zip(got, functions.values()):
                np.testing.assert_allclose(y, f(x, axis=axis, keepdims=keepdims), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("shape", [(64, 400), (4, 5000), (2, 20, 20, 64)], ids=str)
def test_a_maximum_of_numbers_among_which_is_nan_is_nan(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[1, 2], x[0, 0] = np.nan, -np.inf
    fed = tf.placeholder(tf.float32, shape)
    axes = [None, 0, len(shape) - 1, list(range(len(shape) - 1))]
    results = [f(fed, axis) for f in (tf.reduce_max, tf.reduce_min) for axis in axes] + [tf.nn.softmax(fed)]
    if len(shape) == 4:
        results += [tf.nn.max_pool(fed, [1, k, k, 1], [1, k, k, 1], "VALID") for k in (2, 10)]
    cost = tf.reduce_sum(tf.tanh(tf.constant(x[1:2])) * np.ones((50, 1) + (1,) * (len(shape) - 2), np.float32))
    with tf.Session() as session:
        first = session.run([*results, cost], {fed: x})
        for _ in range(tf.config.host_runs + 3):
            last = session.run([*results, cost], {fed: x})
    for cold, warm in zip(first, last):
        np.testing.assert_allclose(warm, cold, rtol=1e-5, atol=1e-6)
    assert all(np.isnan(y).any() for y in last)


GAINS = {  # shape, axes -> does YNNPACK gain?
    ((4096, 64), (0, 1)): True,
    ((4096, 64), (1,)): True,
    ((64, 28, 28, 32), (0, 1, 2)): True,
    ((64, 28, 28, 1), (1, 2)): True,
    ((4, 50_000), (0,)): False,
    ((50_000, 4), (1,)): False,
    ((100, 20_000), (0,)): False,
    ((64, 64), (0, 1)): True,
    ((8, 1500), (0,)): False,
    ((64, 64), (0,)): None,
    ((10, 10), (0,)): None,  # too small to matter
    ((64, 0), (0,)): None,
}


@pytest.mark.parametrize("shape, axes", GAINS)
def test_who_reduces(shape, axes):
    gain = reductions.gain(shape, axes)
    assert (gain > 0, gain < 0) == {True: (True, False), False: (False, True), None: (False, False)}[GAINS[shape, axes]]


def test_a_program_is_weighed_with_its_loops_and_calls():
    import jax
    import jax.numpy as jnp

    long, short = np.zeros((200, 400), np.float32), np.zeros((9, 40_000), np.float32)

    def turns(n):
        body = lambda i, rows: jnp.sum(rows, 0) + jnp.zeros_like(rows)  # noqa: E731
        return lambda x, rows: (jax.jit(jnp.sum)(x), jax.lax.fori_loop(0, n, body, rows))

    gains = [reductions.library_gains(jax.jit(f).trace(long, short).jaxpr)
             for f in (lambda x, rows: x.sum(), lambda x, rows: rows.astype(int).sum(0), turns(0), turns(1),
                       lambda x, rows: (x.sum(), x.max()))]
    assert gains == [True, False, True, False, False]


def test_maxima_windows_and_padding_are_optimised_hardest():
    import jax
    import jax.numpy as jnp

    x = np.zeros((3, 4), np.float32)
    functions = [lambda x: jnp.tanh(x * 2).sum(), lambda x: x.max(), lambda x: jnp.pad(x, 1),
                 lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y * y, x),
                 lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + y.max(), x)]
    assert [reductions.level(jax.jit(f).trace(x).jaxpr) for f in functions] == [2, 3, 3, 2, 3]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, np.float64])
def test_extremes_of_other_types(dtype, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    x = (np.random.default_rng(0).standard_normal((7, 90, 11)) * 50 + 60).astype(dtype)
    fed = tf.placeholder(dtype, x.shape)
    axes = [None, 0, 1, 2, [0, 2]]
    with tf.Session() as session:
        got = session.run([f(fed, a, keepdims=a == 1) for a in axes for f in (tf.reduce_max, tf.reduce_min)], {fed: x})
    want = [f(x, axis=tuple(a) if type(a) is list else a, keepdims=a == 1) for a in axes for f in (np.max, np.min)]
    for y, z in zip(got, want):
        np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("dtype", [np.int16, np.float32, np.float64])
def test_the_place_of_the_first_extreme(dtype, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    x = (np.random.default_rng(0).standard_normal((3, 301, 80)) * 9).astype(np.int16).astype(dtype)  # many are equal
    if dtype != np.int16:
        x[1, 7, 3] = x[1, 5, 3] = np.nan
        x[2, 9] *= -0.0
    fed = tf.placeholder(dtype, x.shape)
    with tf.Session() as session:
        got = session.run([tf.argmax(fed, 1), tf.argmin(fed, 1)], {fed: x})
    np.testing.assert_array_equal(got, [np.argmax(x, 1), np.argmin(x, 1)])
