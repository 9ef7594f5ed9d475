"""`tf.nn`: names, dropout, embeddings, sampled losses; what no row of one op can show."""

import numpy as np
import pytest

import regrad as tf

RNG = np.random.RandomState(0)


def run(*fetches):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run(list(fetches))
    return values[0] if len(values) == 1 else values


def test_every_name_of_the_table_is_there():
    for name in tf.nn.__all__:
        assert callable(getattr(tf.nn, name)) or name == "rnn_cell", name
    with pytest.raises(AttributeError, match="leaky_relu"):
        tf.nn.leakyrelu  # noqa: B018


@pytest.mark.parametrize(("build", "name", "op_type"), [
    (lambda x: tf.nn.relu(x), "Relu", "Relu"),
    (lambda x: tf.nn.relu6(x), "Relu6", "Relu6"),
    (lambda x: tf.nn.softmax(x), "Softmax", "Softmax"),
    (lambda x: tf.nn.softmax(x, axis=1), "transpose_1", "Transpose"),
    (lambda x: tf.nn.leaky_relu(x), "LeakyRelu", "LeakyRelu"),
    (lambda x: tf.nn.bias_add(x, tf.zeros([3])), "BiasAdd", "BiasAdd"),
    (lambda x: tf.nn.conv2d(x, tf.zeros([1, 1, 3, 2]), [1, 1, 1, 1], "SAME"), "Conv2D", "Conv2D"),
    (lambda x: tf.nn.conv1d(x[0], tf.zeros([1, 3, 2]), 1, "SAME"), "conv1d/Squeeze", "Squeeze"),
    (lambda x: tf.nn.max_pool(x, 2, 2, "SAME"), "MaxPool", "MaxPool"),
    (lambda x: tf.nn.avg_pool(x, 2, 2, "SAME", name="a/pool"), "a/pool", "AvgPool"),
    (lambda x: tf.nn.moments(x, [0])[0], "moments/Squeeze", "Squeeze"),
    (lambda x: tf.nn.l2_normalize(x, 1), "l2_normalize", "Mul"),
    (lambda x: tf.nn.dropout(x, 0.5), "dropout/mul_1", "Mul"),
    (lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0], logits=x[0, 0, :1]),
     "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits",
     "SparseSoftmaxCrossEntropyWithLogits"),
    (lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=[[0.5, 0.5, 0]], logits=x[0, 0, :1]),
     "softmax_cross_entropy_with_logits_sg", "SoftmaxCrossEntropyWithLogits"),
    (lambda x: tf.nn.embedding_lookup(x, [0]), "embedding_lookup/Identity", "Identity"),
])
def test_names_are_tensorflows(build, name, op_type):
    op = build(tf.placeholder(tf.float32, [1, 4, 4, 3], name="x")).op
    assert (op.name, op.type) == (name, op_type)


# -- dropout ------------------------------------------------------------------------------------------
def test_dropout_keeps_the_expectation_and_repeats_with_its_seed():
    x = tf.ones([200, 500])
    y = tf.nn.dropout(x, keep_prob=0.8, seed=3)
    gradient = tf.gradients(y, x)[0]
    with tf.Session() as sess:
        value, mask = sess.run([y, gradient])
        again = sess.run(y)
    np.testing.assert_allclose(np.unique(value), [0, 1.25], rtol=1e-6)
    np.testing.assert_array_equal(value, mask)  # the same draw forward and backward
    assert abs(value.mean() - 1) < 0.01 and abs((value == 0).mean() - 0.2) < 0.01
    assert not np.array_equal(value, again)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(y), value)


def test_dropout_keeps_the_shape_whatever_the_noise():
    assert tf.nn.dropout(tf.ones([4, 3]), 0.5, noise_shape=tf.placeholder(tf.int32)).shape == (4, 3)
    assert tf.nn.dropout(tf.ones([]), 0.5, noise_shape=[]).shape == ()
    with pytest.raises(ValueError, match="must be a scalar"):
        tf.nn.dropout(tf.ones([4, 3]), [0.5, 1.0])


def test_dropout_by_rows_and_with_a_fed_rate():
    rate = tf.placeholder(tf.float32, [])
    y = tf.nn.dropout(tf.ones([50, 40]), rate=rate, noise_shape=[50, 1])
    z = tf.nn.dropout(tf.ones([50, 40]), 1.0 - rate, noise_shape=[None, 1])
    with tf.Session() as sess:
        for t in (y, z):
            value = sess.run(t, {rate: 0.5})
            assert set(np.unique(value)) == {0.0, 2.0}
            assert np.all(value == value[:, :1])
        np.testing.assert_array_equal(sess.run(y, {rate: 0.0}), np.ones((50, 40), np.float32))


# -- embeddings ------------------------------------------------------------------------------------------
TABLE = RNG.randn(7, 3).astype(np.float32)
IDS = np.array([[0, 6], [3, 3]])


@pytest.mark.parametrize(("strategy", "parts"), [("mod", [TABLE[0::3], TABLE[1::3], TABLE[2::3]]),
                                                 ("div", [TABLE[:3], TABLE[3:5], TABLE[5:]])])
def test_a_table_in_parts_is_one_table(strategy, parts):
    tensors = [tf.constant(p) for p in parts]
    rows = tf.nn.embedding_lookup(tensors, tf.constant(IDS), partition_strategy=strategy)
    weights = RNG.randn(2, 2, 3).astype(np.float32)
    gradients = [tf.convert_to_tensor(g) for g in tf.gradients(rows, tensors, grad_ys=[tf.constant(weights)])]
    value, *found = run(rows, *gradients)
    np.testing.assert_array_equal(value, TABLE[IDS])
    whole = np.zeros_like(TABLE)
    np.add.at(whole, IDS, weights)
    expected = [whole[0::3], whole[1::3],
                whole[2::3]] if strategy == "mod" else [whole[:3], whole[3:5], whole[5:]]
    for g, e in zip(found, expected):
        np.testing.assert_allclose(g, e, rtol=1e-6)


def test_the_gradient_of_a_variable_table_is_sparse():
    table = tf.Variable(TABLE)
    (gradient,) = tf.gradients(tf.nn.embedding_lookup(table, IDS), table)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_array_equal(run(gradient).indices, [0, 6, 3, 3])


def test_max_norm_scales_long_rows_only():
    value = run(tf.nn.embedding_lookup(tf.constant([[3.0, 4.0], [0.3, 0.4]]), [0, 1], max_norm=1.0))
    np.testing.assert_allclose(value, [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_embedding_lookup_refuses():
    with pytest.raises(ValueError, match="at least one"):
        tf.nn.embedding_lookup([], [0])
    with pytest.raises(ValueError, match="Unrecognized partition strategy: rows"):
        tf.nn.embedding_lookup(TABLE, [0], partition_strategy="rows")


# -- sampled losses --------------------------------------------------------------------------------
W, B = RNG.randn(20, 4).astype(np.float32), RNG.randn(20).astype(np.float32)
X, TRUE = RNG.randn(3, 4).astype(np.float32), np.array([[1, 5], [2, 2], [7, 9]])
SAMPLED, TRUE_COUNT, SAMPLED_COUNT = np.array([9, 0, 5, 17]), RNG.rand(3, 2) + 0.1, RNG.rand(4) + 0.1


def _reference_logits(remove):
    logits = X @ W.T + B
    true = np.take_along_axis(logits, TRUE, 1) - np.log(TRUE_COUNT)
    sampled = logits[:, SAMPLED] - np.log(SAMPLED_COUNT)
    hits = (TRUE[:, :, None] == SAMPLED).any(1)
    return np.concatenate([true, np.where(hits & remove, -np.inf, sampled)], 1), np.repeat([0.5, 0.0], [2, 4])


def _values():
    return [tf.constant(SAMPLED), tf.constant(TRUE_COUNT, tf.float32), tf.constant(SAMPLED_COUNT, tf.float32)]


@pytest.mark.parametrize("remove", [False, True])
def test_sampled_softmax_loss(remove):
    loss = tf.nn.sampled_softmax_loss(W, B, TRUE, X, 4, 20, num_true=2, sampled_values=_values(),
                                      remove_accidental_hits=remove)
    logits, labels = _reference_logits(remove)
    expected = np.log(np.exp(logits).sum(1)) - (logits[:, :2] * 0.5).sum(1)
    np.testing.assert_allclose(run(loss), expected, rtol=1e-4)


@pytest.mark.parametrize("remove", [False, True])
def test_nce_loss(remove):
    loss = tf.nn.nce_loss(W, B, TRUE, X, 4, 20, num_true=2, sampled_values=_values(),
                          remove_accidental_hits=remove)
    logits, labels = _reference_logits(remove)
    finite = np.where(np.isfinite(logits), logits, -1e30)
    expected = (np.logaddexp(0, finite) - finite * labels).sum(1)
    np.testing.assert_allclose(run(loss), expected, rtol=1e-4)


@pytest.mark.parametrize(("sampler", "p"), [
    (tf.nn.uniform_candidate_sampler, np.full(10, 0.1)),
    (tf.nn.log_uniform_candidate_sampler, np.log((np.arange(10) + 2) / (np.arange(10) + 1)) / np.log(11)),
    (lambda *a, **k: tf.nn.fixed_unigram_candidate_sampler(*a, unigrams=list(range(1, 11)), **k),
     np.arange(1, 11) / 55),
])
def test_candidates_come_as_often_as_expected(sampler, p):
    true = tf.constant(np.arange(10).reshape(1, 10))
    drawn, true_count, sampled_count = run(*sampler(true, 10, 20000, False, 10, seed=1))
    np.testing.assert_allclose(np.bincount(drawn, minlength=10) / 20000, p, atol=0.015)
    np.testing.assert_allclose(true_count[0], 20000 * p, rtol=1e-5)
    np.testing.assert_allclose(sampled_count, 20000 * p[drawn], rtol=1e-5)
    drawn, _, count = run(*sampler(true, 10, 10, True, 10, seed=1))
    np.testing.assert_array_equal(np.sort(drawn), np.arange(10))
    assert np.all((count > 0) & (count <= 1))
    with pytest.raises(ValueError, match="11 different classes cannot be drawn out of 10"):
        sampler(true, 10, 11, True, 10)


def test_what_can_never_be_drawn_is_not_waited_for():
    drawn = tf.nn.fixed_unigram_candidate_sampler([[0]], 1, 2, True, 3, unigrams=[1.0, 0.0, 0.0])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="2 different classes .* 1 whose"):
        sess.run(drawn)


def test_accidental_hits():
    hits = run(*tf.nn.compute_accidental_hits(tf.constant(TRUE), tf.constant(SAMPLED), 2))
    np.testing.assert_array_equal(hits[0], [0, 2])
    np.testing.assert_array_equal(hits[1], [2, 0])
    assert np.all(hits[2] == -np.finfo(np.float32).max)
    sampled, _, count = run(*tf.nn.all_candidate_sampler(tf.constant(TRUE), 2, 6, True))
    np.testing.assert_array_equal(sampled, np.arange(6))
    np.testing.assert_array_equal(count, np.ones(6))


# -- fractional pooling ----------------------------------------------------------------------------
@pytest.mark.parametrize("pseudo_random", [False, True])
def test_fractional_regions_cover_the_image(pseudo_random):
    x = tf.placeholder(tf.float32, [None, 11, 8, 1])
    y = tf.nn.fractional_max_pool(x, [1, 1.6, 1.3, 1], pseudo_random=pseudo_random, seed=5)
    gradient = tf.gradients(y.output, x)[0]
    image = RNG.permutation(88).reshape(1, 11, 8, 1)
    with tf.Session() as sess:
        seen = set()
        for _ in range(6):
            value, rows, columns, dx = sess.run([*y, gradient], {x: image})
            assert value.shape == (1, 6, 6, 1)
            for borders, size in ((rows, 11), (columns, 8)):
                assert borders[0] == 0 and borders[-1] == size
                assert set(np.diff(borders)) <= {size // 6, size // 6 + 1}
            expected = [[image[0, rows[i]:rows[i + 1], columns[j]:columns[j + 1],
                               0].max() for j in range(6)] for i in range(6)]
            np.testing.assert_array_equal(value[0, ..., 0], expected)
            np.testing.assert_array_equal(np.sort(image[dx == 1]), np.sort(np.ravel(expected)))
            seen.add((*rows, *columns))
        assert len(seen) > 1  # other regions in every run


# -- the runtime's other back end ------------------------------------------------------------------
def test_relevance_propagation_may_change_the_pooled_output():
    """MaxPoolGrad finds the maxima itself: programs pass orig_output + epsilon."""
    from regrad.ops.pool import max_pool_grad

    x = tf.constant(RNG.permutation(16).reshape(1, 4, 4, 1).astype(np.float32))
    y = tf.nn.max_pool(x, 2, 2, "VALID")
    ones = tf.ones_like(y)
    same = tf.gradients(y, x)[0]
    changed = max_pool_grad(x, y + 0.1, ones, 2, 2, "VALID")
    a, b = run(same, changed)
    np.testing.assert_array_equal(a, b)
    assert a.sum() == 4


# -- rows of a table, combined ----------------------------------------------------------------------------
def _sparse(values, dtype, rows=4):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]], tf.constant(values, dtype), [rows, 2])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 2.0, 1.0, 3.0]])
def test_embedding_lookup_sparse(combiner, weights):
    ids = [2, 4, 4, 1, 3]
    w = np.ones(5) if weights is None else np.array(weights)
    table = tf.Variable(TABLE)
    rows = tf.nn.embedding_lookup_sparse(table, _sparse(ids, tf.int64),
                                         None if weights is None else _sparse(weights, tf.float32), combiner=combiner)
    (gradient,) = tf.gradients(rows, table)
    expected, dense = [], np.zeros_like(TABLE)
    for members in ([0, 1], [2], [3, 4]):
        norm = {"sum": 1, "mean": w[members].sum(), "sqrtn": np.sqrt((w[members] ** 2).sum())}[combiner]
        expected.append((TABLE[[ids[m] for m in members]] * w[members, None]).sum(0) / norm)
        for m in members:
            dense[ids[m]] += w[m] / norm
    value, g = run(rows, tf.convert_to_tensor(gradient))
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    np.testing.assert_allclose(g, dense, rtol=1e-5)


def test_safe_lookup_leaves_out_what_is_invalid():
    ids, weights = _sparse([2, 4, -1, 1, 3], tf.int64), _sparse([0.5, 1.0, 2.0, -1.0, 3.0], tf.float32)
    sums, means, filled = run(
        tf.nn.safe_embedding_lookup_sparse(TABLE, ids, combiner="sum"),
        tf.nn.safe_embedding_lookup_sparse(TABLE, ids, weights, combiner="mean"),
        tf.nn.safe_embedding_lookup_sparse(TABLE, ids, weights, combiner="sqrtn", default_id=6))
    np.testing.assert_allclose(sums, [TABLE[2] + TABLE[4], 0 * TABLE[0], TABLE[1] + TABLE[3], 0 * TABLE[0]], rtol=1e-5)
    np.testing.assert_allclose(means, [(0.5 * TABLE[2] + TABLE[4]) / 1.5, 0 * TABLE[0], TABLE[3], 0 * TABLE[0]], rtol=1e-5)
    np.testing.assert_allclose(filled[1:], [TABLE[6], TABLE[3], TABLE[6]], rtol=1e-5)


def test_embedding_lookup_sparse_refuses():
    with pytest.raises(TypeError, match="sp_ids must be SparseTensor"):
        tf.nn.embedding_lookup_sparse(TABLE, [[0]], None)
    with pytest.raises(ValueError, match="combiner must be one of"):
        tf.nn.embedding_lookup_sparse(TABLE, _sparse([0, 1, 2, 3, 4], tf.int64), None, combiner="max")
