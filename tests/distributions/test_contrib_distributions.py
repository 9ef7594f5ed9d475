"""tf.contrib.distributions: densities against SciPy and against their own draws."""
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
