"""Sums over leading axes, which compiled programs compute as products with ones."""

import numpy as np
import pytest

import regrad as tf
from regrad.ops import summing

SHAPES = [(4, 16, 16, 8), (2, 521, 9), (1042, 16), (9, 111, 3), (600, 2, 6), (1031, 12), (300, 8)]


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


@pytest.mark.parametrize("rows, chunk", [(256, 256), (512, 256), (50176, 256), (1000, 250), (521, 521), (1031, None)])
def test_chunks_divide_the_rows(rows, chunk):
    assert summing._chunk(rows) == chunk
