"""Linear algebra by NumPy in first runs and by XLA in later ones: the same values, and the same matrices are refused."""

import numpy as np
import pytest

import regrad as tf

RUNS = tf.config.host_runs + 2


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_large_triangular_systems(lower, adjoint):
    rng = np.random.default_rng(0)
    a, y = rng.standard_normal((2, 71, 71)) + 9 * np.eye(71), rng.standard_normal((71, 3))
    x = tf.matrix_triangular_solve(tf.placeholder_with_default(a, a.shape), y[None].repeat(2, 0), lower=lower, adjoint=adjoint)
    triangle = np.tril(a) if lower else np.triu(a)
    want = np.linalg.solve(np.swapaxes(triangle, 1, 2) if adjoint else triangle, y)
    with tf.Session() as session:
        for _ in range(RUNS):
            np.testing.assert_allclose(session.run(x), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("function, bad", [
    (tf.matrix_inverse, np.ones((2, 2))),
    (lambda a: tf.matrix_solve(a, tf.ones_like(a)), np.ones((2, 2))),
    (tf.cholesky, -np.eye(2)),
    (lambda a: tf.self_adjoint_eigvals(a)[..., None] * a, np.diag([np.nan, 1.0])),
], ids=["inverse", "solve", "cholesky", "eigenvalues"])
def test_one_of_several_matrices_that_has_no_result(function, bad):
    fed = tf.placeholder(tf.float64, [3, 2, 2])
    good = np.stack([np.eye(2), 2 * np.eye(2), 3 * np.eye(2)])
    mixed = np.stack([np.eye(2), bad, 3 * np.eye(2)])
    refused = function(fed)
    inside = tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, function(a)), [0, fed])[1]
    with tf.Session() as session:
        for _ in range(RUNS):
            np.testing.assert_allclose(session.run(refused, {fed: good}), session.run(inside, {fed: good}), rtol=1e-12)
            for fetch in (refused, inside):
                with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible|not successful"):
                    session.run(fetch, {fed: mixed})


def test_a_factor_of_nan_is_nan():
    fed = tf.placeholder(tf.float64, [2, 2])
    factor = tf.cholesky(fed)
    with tf.Session() as session:
        for _ in range(RUNS):
            got = session.run(factor, {fed: np.diag([4.0, np.nan])})
            np.testing.assert_array_equal(np.isnan(got), [[False, False], [False, True]])
