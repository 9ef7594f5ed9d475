"""tf.contrib.distributions: densities against SciPy and against their own draws."""
import contextlib

import numpy as np
import pytest
from scipy import stats

import regrad as tf

ds = tf.contrib.distributions
A, B = np.array([[0.3, -1.2, 2.5], [4.0, 0.8, 1.0]]), np.array([0.5, 2.0, 1.5])
X = np.array([[0.2, 0.7, 3.0], [1e-3, -2.0, 1.0]])


def run(fetches):
    with tf.Session() as sess:
        return sess.run(fetches)


@pytest.mark.parametrize(("name", "theirs"), [("Logistic", stats.logistic), ("Gumbel", stats.gumbel_r)])
def test_numbers(name, theirs):
    d, law = getattr(ds, name)(A, B), theirs(A, B)
    got = run([d.log_prob(X), d.cdf(X), d.log_cdf(X), d.entropy(), d.mean(), d.stddev(), d.survival_function(X)])
    want = [law.logpdf(X), law.cdf(X), law.logcdf(X), law.entropy(), law.mean(), law.std(), law.sf(X)]
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    one = getattr(ds, name)(np.float64(0.5), np.float64(2.0)).sample(2000, seed=1)
    assert stats.kstest(run(one), theirs(0.5, 2.0).cdf).pvalue > 1e-3


def test_normal_vectors():
    d, other = ds.MultivariateNormalDiag(A, B), ds.MultivariateNormalDiag(tf.zeros([3], tf.float64))
    assert d.batch_shape.as_list() == [2] and d.event_shape.as_list() == [3] and d.sample(4).shape.as_list() == [4, 2, 3]
    wide = ds.MultivariateNormalDiag(A[0], scale_identity_multiplier=np.float64(2.0))
    soft = ds.NormalWithSoftplusScale(A, ds.softplus_inverse(B))
    joined = ds.Independent(ds.Normal(A, np.broadcast_to(B, A.shape)), 1)
    got = run([d.log_prob(X), d.entropy(), d.covariance(), d.kl_divergence(other), wide.stddev(), soft.stddev(),
               joined.log_prob(X), joined.kl_divergence(ds.Independent(ds.Normal(np.zeros((2, 3)), np.ones((2, 3))), 1))])
    for i in (0, 1):
        law = stats.multivariate_normal(A[i], np.diag(B ** 2))
        np.testing.assert_allclose([got[0][i], got[1][i]], [law.logpdf(X[i]), law.entropy()])
        np.testing.assert_allclose(got[2][i], np.diag(B ** 2))
    np.testing.assert_allclose(got[3], 0.5 * (B ** 2 + A ** 2 - 1 - np.log(B ** 2)).sum(1))
    np.testing.assert_allclose([got[4], got[5][0]], [[2, 2, 2], B])
    np.testing.assert_allclose([got[6], got[7]], [got[0], got[3]])
    assert joined.event_shape.as_list() == [3] and joined.batch_shape.as_list() == [2]
    with pytest.raises(ValueError, match="how many elements"):
        ds.MultivariateNormalDiag()


def test_one_hot():
    d = ds.OneHotCategorical(logits=A, dtype=tf.float64)
    p = np.exp(A) / np.exp(A).sum(1, keepdims=True)
    draws, log_prob, entropy, mode, kl = run([d.sample(3000, seed=2), d.log_prob(np.eye(3)[[1, 2]]), d.entropy(), d.mode(),
                                              d.kl_divergence(ds.OneHotCategorical(probs=np.ones((2, 3)) / 3))])
    assert (draws.sum(-1) == 1).all() and mode.argmax(1).tolist() == [2, 0]
    np.testing.assert_allclose(draws.mean(0), p, atol=0.04)
    np.testing.assert_allclose(log_prob, np.log(p[[0, 1], [1, 2]]))
    np.testing.assert_allclose([entropy, kl], [-(p * np.log(p)).sum(1), (p * np.log(3 * p)).sum(1)])


def test_relaxed_ones_integrate_to_one_and_carry_gradients():
    grid = (np.arange(4000) + 0.5) / 4000
    b = ds.RelaxedBernoulli(np.float64(0.8), logits=np.float64(0.4))
    two = ds.RelaxedOneHotCategorical(np.float64(0.8), logits=np.array([0.4, 0.0]))
    logs = ds.ExpRelaxedOneHotCategorical(np.float64(0.8), logits=np.array([0.4, 0.0]))
    point = np.array([0.3, 0.7])
    logits = tf.constant([0.4, 0.0], tf.float64)
    draws = ds.RelaxedOneHotCategorical(np.float64(0.5), logits).sample(100, seed=1)
    got = run([b.prob(grid), two.prob(np.stack([grid, 1 - grid], 1)), b.sample(3000, seed=1), draws,
               tf.gradients(draws[:, 0], logits)[0], two.log_prob(point), logs.log_prob(np.log(point))])
    np.testing.assert_allclose([got[0].mean(), got[1].mean()], 1, rtol=1e-3)
    np.testing.assert_allclose(got[0], got[1], rtol=1e-9)  # two classes are one logit
    np.testing.assert_allclose((got[2] > 0.5).mean(), 1 / (1 + np.exp(-0.4)), atol=0.03)
    np.testing.assert_allclose(got[3].sum(1), 1)
    assert got[4][0] > 0 and got[4][0] == pytest.approx(-got[4][1])
    np.testing.assert_allclose(got[5], got[6] - np.log(point).sum())


def test_mixture():
    d = ds.MixtureSameFamily(ds.Categorical(probs=[0.3, 0.7]), ds.Normal(tf.constant([-2.0, 1.0]), tf.constant([0.5, 1.0])))
    x = np.array([-2.0, 0.0, 3.0], "f")
    got = run([d.prob(x), d.mean(), d.variance(), d.sample(4000, seed=3)])
    np.testing.assert_allclose(got[0], 0.3 * stats.norm(-2, 0.5).pdf(x) + 0.7 * stats.norm(1, 1).pdf(x), rtol=1e-5)
    np.testing.assert_allclose([got[1], got[2]], [0.1, 0.3 * (0.25 + 2.1 ** 2) + 0.7 * (1 + 0.9 ** 2)], rtol=1e-5)
    np.testing.assert_allclose([got[3].mean(), got[3].var()], [got[1], got[2]], rtol=0.3, atol=0.05)


def test_sequences_as_lists():
    legacy = tf.contrib.legacy_seq2seq
    rng = np.random.RandomState(0)
    logits, targets = rng.randn(3, 2, 5), rng.randint(0, 5, (3, 2))
    weights = np.array([[1.0, 1], [1, 0.5], [0, 1]])
    cell = tf.nn.rnn_cell.GRUCell(4)
    ids = [tf.constant([1, 0])] * 3
    outputs, _ = legacy.embedding_rnn_decoder(ids, cell.zero_state(2, tf.float32), cell, 4, 3, feed_previous=True)
    assert len(outputs) == 3 and [v.op.name for v in tf.trainable_variables()][:2] == [
        "embedding_rnn_decoder/embedding", "embedding_rnn_decoder/rnn_decoder/gru_cell/gates/kernel"]
    arguments = [tf.unstack(tf.constant(x)) for x in (logits, targets, weights)]
    loss, rows = run([legacy.sequence_loss(*arguments), legacy.sequence_loss_by_example(*arguments)])
    p = np.log(np.exp(logits) / np.exp(logits).sum(2, keepdims=True))
    each = -np.take_along_axis(p, targets[..., None], 2)[..., 0] * weights
    np.testing.assert_allclose(rows, each.sum(0) / weights.sum(0), rtol=1e-6)
    assert loss == pytest.approx(rows.mean())
    with pytest.raises(ValueError, match="must be the same"):
        legacy.sequence_loss(arguments[0], arguments[1], [])


LAWS = [  # (a distribution, SciPy's law, points, whether it is of counts)
    (lambda: ds.Cauchy(A, B), stats.cauchy(A, B), X), (lambda: ds.HalfNormal(B), stats.halfnorm(0, B), X),
    (lambda: ds.InverseGamma(B + 2, B), stats.invgamma(B + 2, 0, B), np.abs(X)), (lambda: ds.Chi2(B), stats.chi2(B), np.abs(X)),
    (lambda: ds.Poisson(B), stats.poisson(B), np.array([0.0, 2.0, 5.0])),
    (lambda: ds.Binomial(np.float64(6), probs=B / 3), stats.binom(6, B / 3), np.array([0.0, 2.0, 6.0])),
    (lambda: ds.NegativeBinomial(B * 4, probs=B / 3), stats.nbinom(B * 4, 1 - B / 3), np.array([0.0, 2.0, 6.0])),
    (lambda: ds.Geometric(probs=B / 3), stats.geom(B / 3, -1), np.array([0.0, 2.0, 6.0])),
    (lambda: ds.TransformedDistribution(ds.Normal(np.float64(0.3), np.float64(2.0)), ds.bijectors.Exp()),
     stats.lognorm(2.0, 0, np.exp(0.3)), np.abs(X)),
    (lambda: ds.MultivariateNormalDiag(A[:, :1], scale_identity_multiplier=np.float64(2)), stats.norm(A[:, 0], 2), X[:2, :1]),
]


def _statistics(d, law, at):
    """Returns pairs of what a distribution and SciPy's law say."""
    if d.event_shape.ndims:
        return [(d.log_prob(at), law.logpdf(at[..., 0])), (d.entropy(), law.entropy())]
    pairs = [(d.log_prob(at), law.logpmf(at) if hasattr(law.dist, "pmf") else law.logpdf(at))]
    for method, wanted in (("cdf", law.cdf), ("entropy", law.entropy), ("mean", law.mean), ("variance", law.var)):
        if np.isfinite(law.mean()).all() or method in ("cdf", "entropy"):
            with contextlib.suppress(NotImplementedError):
                arguments = [at] if method == "cdf" else []
                pairs.append((getattr(d, method)(*arguments), wanted(*arguments)))
    return pairs


def test_further_laws():
    made = [(make(), law, at) for make, law, at in LAWS]
    pairs = [_statistics(*row) for row in made]
    got = run([[[t for t, _ in p], d.sample(3000, seed=1)] for p, (d, _, _) in zip(pairs, made)])
    for (values, draws), wanted, (d, law, _) in zip(got, pairs, made):
        for a, (_, b) in zip(values, wanted):
            np.testing.assert_allclose(a, np.broadcast_to(b, np.shape(a)), rtol=1e-6, atol=1e-9, err_msg=d.name)
        draws = draws[..., 0] if d.event_shape.ndims else draws
        middle = np.broadcast_to(np.round(law.median()) + 0.25, draws.shape[1:])
        np.testing.assert_allclose((draws <= middle).mean(0), law.cdf(middle), atol=0.05, err_msg=d.name)


COVARIANCE = np.array([[2.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.5]])
TRIL = np.linalg.cholesky(COVARIANCE)


def test_normal_vectors_of_any_covariance():
    wide = np.diag(B) + np.outer(A[0], A[0])
    rows = [(ds.MultivariateNormalTriL(A, TRIL), COVARIANCE), (ds.MultivariateNormalFullCovariance(A, COVARIANCE), COVARIANCE),
            (ds.MultivariateNormalDiagPlusLowRank(A, B, scale_perturb_factor=A[0][:, None]), wide @ wide)]
    other = ds.MultivariateNormalTriL(tf.zeros([3], tf.float64), np.diag(B))
    got = run([[d.log_prob(np.stack([X, X + 1])), d.entropy(), d.covariance(), d.variance(), d.mean(), d.kl_divergence(other),
                d.sample(4000, seed=3), d.scale.to_dense()] for d, _ in rows])
    inverse = np.diag(1 / B ** 2)
    for (_, covariance), (log_prob, entropy, found, variance, mean, kl, draws, scale) in zip(rows, got):
        for i in (0, 1):
            law = stats.multivariate_normal(A[i], covariance)
            np.testing.assert_allclose(log_prob[:, i], law.logpdf([X[i], X[i] + 1]))
            np.testing.assert_allclose(entropy[i], law.entropy())
            np.testing.assert_allclose(found[i], covariance)
            ratio = np.trace(inverse @ covariance) + A[i] @ inverse @ A[i] - 3
            size = np.linalg.slogdet(np.diag(B ** 2))[1] - np.linalg.slogdet(covariance)[1]
            np.testing.assert_allclose(kl[i], 0.5 * (ratio + size))
            np.testing.assert_allclose(np.cov(draws[:, i].T), covariance, atol=0.12 * covariance.max())
        np.testing.assert_allclose(variance, np.broadcast_to(np.diag(covariance), [2, 3]))
        np.testing.assert_allclose(mean, A)
        np.testing.assert_allclose(scale @ scale.T, covariance)


def test_one_normal_makes_vectors():
    tril = ds.bijectors.Affine(shift=A[0], scale_tril=TRIL)
    d = ds.TransformedDistribution(ds.Normal(np.float64(0), np.float64(1)), tril, event_shape=[3])
    batch = ds.TransformedDistribution(ds.Normal(np.float64(0), np.float64(1)), tril, event_shape=[3], batch_shape=[2])
    columns = ds.TransformedDistribution(ds.Normal(np.zeros(2), np.ones(2)), ds.bijectors.Affine(shift=A[0]), event_shape=[3])
    law = stats.multivariate_normal(A[0], COVARIANCE)
    assert d.event_shape == [3] and d.batch_shape == [] and d.sample(5).shape == [5, 3]
    assert batch.batch_shape == [2] and batch.sample(5).shape == [5, 2, 3] == columns.sample(5).shape
    got = run([d.log_prob(X), batch.log_prob(X), d.entropy(), d.mean(), batch.mean(), columns.mean(),
               columns.sample(3000, seed=1)])
    np.testing.assert_allclose(got[:2], [law.logpdf(X)] * 2)
    np.testing.assert_allclose(got[2], law.entropy())
    np.testing.assert_allclose(got[3], A[0])
    np.testing.assert_allclose(got[4:6], [[A[0], A[0]]] * 2)
    np.testing.assert_allclose(got[6].mean(0), [A[0], A[0]], atol=0.08)
    with pytest.raises(ValueError, match="scalar batch"):
        ds.TransformedDistribution(ds.Normal(np.zeros(2), np.ones(2)), batch_shape=[2])


def test_draws_are_known_to_their_bijector():
    d = ds.TransformedDistribution(ds.Normal(0.0, 1.0), ds.bijectors.Sigmoid())
    draw = d.sample(3)
    x = d.bijector.inverse(draw)
    assert d.bijector.forward(x) is draw and d.bijector.inverse(tf.identity(draw)) is not x
    flow = ds.ConditionalTransformedDistribution(ds.Normal(0.0, 1.0), ds.bijectors.Inline(
        lambda x, by=1.0: x * by, lambda y, by=1.0: y / by, lambda y, by=1.0: -tf.log(by + 0.0 * y), forward_min_event_ndims=0))
    np.testing.assert_allclose(run(flow.log_prob(1.0, bijector_kwargs={"by": 2.0})), stats.norm(0, 2).logpdf(1), rtol=1e-6)


def test_mixtures_and_quantised():
    mixture = ds.Mixture(ds.Categorical(probs=[0.3, 0.7]), [ds.Normal(-1.0, 0.5), ds.Normal(2.0, 1.0)])
    quantised = ds.QuantizedDistribution(ds.Normal(np.float64(0.4), np.float64(2.0)), low=-3.0, high=4.0)
    counts = np.arange(-3.0, 5.0)
    at = np.array([-1.0, 0.5, 3.0], "f")
    got = run([mixture.log_prob(at), mixture.mean(), mixture.variance(), mixture.cdf(at), mixture.sample(4000, seed=5),
               mixture.entropy_lower_bound(), quantised.prob(counts), quantised.cdf(counts), quantised.sample(4000, seed=6),
               quantised.log_prob(np.array([-40.0, 40.0]))])
    first, second, law = stats.norm(-1, 0.5), stats.norm(2, 1), stats.norm(0.4, 2)
    np.testing.assert_allclose(got[0], np.log(0.3 * first.pdf(at) + 0.7 * second.pdf(at)), rtol=1e-5)
    np.testing.assert_allclose(got[1:3], [1.1, 0.3 * 0.25 + 0.7 + 0.21 * 9], rtol=1e-5)
    np.testing.assert_allclose(got[3], 0.3 * first.cdf(at) + 0.7 * second.cdf(at), rtol=1e-5)
    np.testing.assert_allclose([got[4].mean(), got[4].var()], got[1:3], atol=0.15)
    np.testing.assert_allclose(got[5], 0.3 * first.entropy() + 0.7 * second.entropy(), rtol=1e-5)
    cdf = np.append(law.cdf(counts[:-1]), 1.0)
    np.testing.assert_allclose(got[6], np.diff(cdf, prepend=0.0), rtol=1e-9)
    np.testing.assert_allclose(got[7], cdf)
    np.testing.assert_allclose([(got[8] == c).mean() for c in counts], got[6], atol=0.04)
    assert got[9].tolist() == [-np.inf, -np.inf]
    for wrong, error in ((lambda: ds.Mixture(ds.Categorical(probs=[0.3, 0.7]), [ds.Normal(-1.0, 0.5)]), ValueError),
                         (lambda: ds.Mixture(ds.Categorical(probs=[1.0]), [1.0]), TypeError),
                         (lambda: ds.Mixture(ds.Categorical(probs=[1.0]), []), ValueError)):
        with pytest.raises(error, match="components"):
            wrong()


def test_single_values_and_softplus_parameters():
    point, vector = ds.Deterministic(A, atol=0.1), ds.VectorDeterministic(A)
    soft = ds.GammaWithSoftplusConcentrationRate(A, B)
    plain = ds.Gamma(np.log1p(np.exp(A)), np.log1p(np.exp(B)))
    k = ds.Kumaraswamy(B, B + 1)
    got = run([point.prob(A + [0, 0.05, 0.2]), vector.prob(A + [[0, 0, 0], [1, 0, 0]]), vector.sample(2), soft.mean(),
               plain.mean(), ds.ExponentialWithSoftplusRate(B).rate, ds.StudentTWithAbsDfSoftplusScale(-A, A, B).df,
               k.mean(), k.sample(4000, seed=2), ds.kl_divergence(ds.Poisson(B), ds.Poisson(B + 1)), k.cdf(B / 3)])
    np.testing.assert_allclose(got[0], [[1, 1, 0]] * 2)
    np.testing.assert_allclose(got[1], [1, 0])
    np.testing.assert_allclose(got[2], [A, A])
    np.testing.assert_allclose(got[3], got[4])
    np.testing.assert_allclose(got[5], np.log1p(np.exp(B)))
    np.testing.assert_allclose(got[6], np.floor(np.abs(A)))
    np.testing.assert_allclose(got[7], got[8].mean(0), atol=0.02)
    np.testing.assert_allclose(got[9], B * np.log(B / (B + 1)) + 1)
    np.testing.assert_allclose(got[10], 1 - (1 - (B / 3) ** B) ** (B + 1))
