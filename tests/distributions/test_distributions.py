"""tf.distributions: against what TensorFlow answered, against SciPy, and what neither says."""
import numpy as np
import pytest

import regrad as tf
from tests import recorded as recording
from tests.distributions import recorded

EXPECTED = recording.expected("distributions")


@pytest.fixture(scope="module")
def got():
    return recorded.results(tf)


@pytest.mark.parametrize("case", recorded.CASES)
def test_answers_are_tensorflows(got, case):
    names = [n for n in EXPECTED if n.startswith(f"{case} ")]
    assert names and set(names) <= set(got)
    tolerance = 1e-4 if case == "StudentT" else 1e-7
    recording.compare({name: got[name] for name in names}, EXPECTED, rtol=tolerance, atol=tolerance / 100)


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def test_counts_are_drawn_with_their_means():
    p = np.array([[0.2, 0.7, 0.1], [0.5, 0.0, 0.5]])
    plain = tf.distributions.Multinomial(np.array([3.0, 8.0]), probs=p)
    mixed = tf.distributions.DirichletMultinomial(np.array([3.0, 8.0]), 2.0 * p + 0.1)
    for d in (plain, mixed):
        draws, mean, covariance = run([d.sample(4000, seed=1), d.mean(), d.covariance()])
        assert draws.shape == (4000, 2, 3) and (draws.sum(-1) == [3, 8]).all()
        np.testing.assert_allclose(draws.mean(0), mean, atol=0.15)
        np.testing.assert_allclose([np.cov(draws[:, i].T) for i in (0, 1)], covariance, atol=0.05 * covariance.max())


def test_shapes_that_are_not_known():
    loc, logits = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)
    normal, classes = tf.distributions.Normal(loc, [1.0, 2.0]), tf.distributions.Categorical(logits)
    n = tf.placeholder(tf.int32, [1])
    draws = normal.sample(n)
    assert draws.shape.as_list() == [None, None, 2] and classes.batch_shape.ndims is None
    feeds = {loc: np.zeros([3, 2]), logits: np.zeros([4, 5, 6]), n: [7]}
    values = run([draws, normal.batch_shape_tensor(), classes.sample(2), classes.log_prob(tf.zeros([5], tf.int32)),
                  classes.is_scalar_batch()], feeds)
    assert [np.shape(v) for v in values] == [(7, 3, 2), (2,), (2, 4, 5), (4, 5), ()] and not values[4]
    assert values[1].tolist() == [3, 2]


def test_tails_are_exact():
    from scipy import stats

    x = np.array([-200.0, -40.0, -20.0, -19.9, -3.0, 0.0, 2.0, 9.0, 40.0])
    d = tf.distributions.Normal(np.float64(0), np.float64(1))
    point = tf.constant(x)
    got = d.log_cdf(point)
    value, slope = run([got, tf.gradients(got, point)[0]])
    np.testing.assert_allclose(value, stats.norm.logcdf(x), rtol=1e-12)
    np.testing.assert_allclose(slope, np.exp(stats.norm.logpdf(x) - stats.norm.logcdf(x)), rtol=1e-7)
    a = np.array([[2.0, 3.0, 1.5], [0.5, 2.0, 2.0]])
    mode = run(tf.distributions.Dirichlet(a).mode())
    np.testing.assert_allclose(mode, [(a[0] - 1) / 3.5, [np.nan] * 3])


def test_parameters_are_kept_and_changed():
    d = tf.distributions.Exponential(2.0, name="wait")
    assert d.name == "wait/" and d.parameters["rate"] == 2.0 and set(d.parameters) == {
        "rate", "validate_args", "allow_nan_stats", "name"}
    assert run([d.mean(), d.copy(rate=4.0).mean()]) == [0.5, 0.25]
    assert tf.distributions.Normal.param_static_shapes([3, 2])["loc"].as_list() == [3, 2]
    assert repr(d) == "<regrad.distributions.Exponential 'wait/' batch_shape=() event_shape=() dtype=float32>"
    assert "Reparameterization Type: FULLY" in repr(d.reparameterization_type)


def test_divergences_are_found_by_class():
    class Mine(tf.distributions.Normal):
        def _log_prob(self, x):
            return 2.0 * super()._log_prob(x)

    a, b = Mine(0.0, 1.0), tf.distributions.Normal(0.0, 2.0)
    plain = tf.distributions.Normal(0.0, 1.0)
    values = run([a.kl_divergence(b), plain.kl_divergence(b), a.log_prob(1.0), plain.log_prob(1.0), a.prob(1.0)])
    assert values[0] == values[1] and values[2] == 2 * values[3] and values[4] == pytest.approx(np.exp(values[2]))

    @tf.distributions.RegisterKL(Mine, tf.distributions.Uniform)
    def _nothing(a, b, name=None):
        return tf.constant(np.nan)

    u = tf.distributions.Uniform(0.0, 1.0)
    assert np.isnan(run(a.kl_divergence(u)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN"):
        run(tf.distributions.kl_divergence(a, u, allow_nan_stats=False))


@pytest.mark.parametrize(("build", "error", "words"), [
    (lambda d: d.Bernoulli(), ValueError, "Must pass probs or logits, but not both."),
    (lambda d: d.Categorical([1.0], [1.0]), ValueError, "Must pass probs or logits, but not both."),
    (lambda d: d.Normal(0, 1), ValueError, "Expected floating point type, got tf.int32"),
    (lambda d: d.Normal(tf.zeros([2]), tf.ones([3])), ValueError, r"(?i)shapes|broadcast"),
    (lambda d: d.Normal(tf.zeros([2], tf.float64), tf.ones([2])), ValueError, "must have the same type"),
    (lambda d: d.Normal(0.0, 1.0).covariance(), NotImplementedError, "covariance is not implemented: Normal"),
    (lambda d: d.Bernoulli(0.0).cdf(1), NotImplementedError, "cdf is not implemented: Bernoulli"),
    (lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Uniform()), NotImplementedError, r"RegisterKL\(Normal, Uniform\)"),
    (lambda d: d.RegisterKL(d.Normal, d.Normal)(print), ValueError, "already been registered"),
    (lambda d: d.RegisterKL(d.Normal, d.Laplace)(3), TypeError, "must be callable"),
    (lambda d: run(d.Normal(0.0, -1.0, validate_args=True).sample()), tf.errors.InvalidArgumentError, "x > 0"),
    (lambda d: run(d.Uniform(1.0, 0.0, validate_args=True).mean()), tf.errors.InvalidArgumentError, "low >= high"),
    (lambda d: run(d.Bernoulli(probs=1.5, validate_args=True).mean()), tf.errors.InvalidArgumentError, "greater than 1"),
    (lambda d: run(d.Categorical(probs=[0.5, 0.6], validate_args=True).entropy()), tf.errors.InvalidArgumentError, "sum to 1"),
    (lambda d: run(d.Gamma(1.0, 1.0, validate_args=True).log_prob(-1.0)), tf.errors.InvalidArgumentError, "x > 0"),
    (lambda d: run(d.Beta(1.0, 1.0, validate_args=True).log_prob(2.0)), tf.errors.InvalidArgumentError, "less than"),
    (lambda d: run(d.Dirichlet([1.0, 1.0], validate_args=True).prob([0.5, 0.6])), tf.errors.InvalidArgumentError, "sum to"),
    (lambda d: run(d.Multinomial(3.0, [0.0, 0.0], validate_args=True).prob([1.0, 1.0])), tf.errors.InvalidArgumentError,
     "sum to"),
    (lambda d: run(d.StudentT(1.0, 0.0, 1.0, allow_nan_stats=False).mean()), tf.errors.InvalidArgumentError, "df <= 1"),
])
def test_refusals(build, error, words):
    with pytest.raises(error, match=words):
        build(tf.distributions)
