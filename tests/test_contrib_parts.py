"""tf.contrib: sparsemax, metric learning, copies of graphs, averages that trade places, normalisation of groups."""
import numpy as np
import pytest

import regrad as tf
from regrad.contrib import copy_graph, metric_learning, nn, sparsemax

RNG = np.random.RandomState(0)
E, LABELS = RNG.randn(7, 3), np.array([0, 1, 0, 2, 1, 1, 0])
SQUARES = ((E[:, None] - E[None]) ** 2).sum(-1)


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def gradient_is_right(build, shape=(7, 3), at=E):
    with tf.Session():
        x = tf.placeholder(tf.float64, shape)
        y = build(x)
        return tf.test.compute_gradient_error(x, shape, y, y.shape.as_list(), x_init_value=at) < 1e-5


def nearest_distribution(z):
    """Sparsemax by its definition, tau found by bisection."""
    low, high = z.min() - 1, z.max()
    for _ in range(100):
        tau = (low + high) / 2
        low, high = (tau, high) if np.maximum(z - tau, 0).sum() > 1 else (low, tau)
    return np.maximum(z - low, 0)


def test_sparsemax():
    z = np.concatenate([RNG.randn(4, 5) * 2, np.zeros([1, 5])])
    p = tf.contrib.sparsemax.sparsemax(z)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, p, np.eye(5))
    p, loss = run([p, loss])
    want = np.stack([nearest_distribution(r) for r in z])
    np.testing.assert_allclose(p, want, atol=1e-12)
    np.testing.assert_allclose(loss, ((np.eye(5) - z) ** 2 - (want - z) ** 2).sum(1) / 2, atol=1e-12)
    assert np.isnan(run(sparsemax.sparsemax(tf.constant([[0.0, np.nan], [1, 3]])))).tolist() == [[True, True], [False, False]]
    assert gradient_is_right(lambda x: tf.reduce_sum(sparsemax.sparsemax(x) * RNG.randn(7, 3)))
    assert gradient_is_right(lambda x: sparsemax.sparsemax_loss(x, sparsemax.sparsemax(x), np.eye(3)[LABELS]))
    x = tf.constant(z)
    grad = tf.gradients(sparsemax.sparsemax_loss(x, sparsemax.sparsemax(x), np.eye(5)), x)[0]
    np.testing.assert_allclose(run(grad), want - np.eye(5), atol=1e-12)


def triplets():
    losses = []
    for a in range(7):
        others = [SQUARES[a, k] for k in range(7) if LABELS[k] != LABELS[a]]
        for p in range(7):
            if p != a and LABELS[p] == LABELS[a]:
                harder = [d for d in others if d > SQUARES[a, p]]
                losses.append(max(0, 1 + SQUARES[a, p] - (min(harder) if harder else max(others))))
    return np.mean(losses)


def lifted():
    def apart(i):
        return sum(np.exp(1 - np.sqrt(SQUARES[i, k])) for k in range(7) if LABELS[k] != LABELS[i])

    pairs = [(i, j) for i in range(7) for j in range(i) if LABELS[i] == LABELS[j]]
    return np.mean([max(np.log(apart(i) + apart(j)) + np.sqrt(SQUARES[i, j]), 0) ** 2 for i, j in pairs]) / 2


def test_metric_learning():
    other = E[::-1].copy()
    products = E @ other.T
    same = LABELS[:, None] == LABELS
    logs = products - np.log(np.exp(products).sum(1, keepdims=True))
    npairs = -(same / same.sum(1, keepdims=True) * logs).sum(1).mean() + 0.25 * 0.002 * 2 * (E**2).sum(1).mean()
    ones = np.array([1, 0, 1, 0, 0, 1, 1])
    apart = np.sqrt(((E - other) ** 2).sum(1))
    contrast = np.mean(np.where(ones, apart**2, np.maximum(1 - apart, 0) ** 2))
    losses = tf.contrib.losses.metric_learning
    x = tf.constant(E)
    np.testing.assert_allclose(run([losses.triplet_semihard_loss(LABELS, x), losses.lifted_struct_loss(LABELS, x),
                                    losses.npairs_loss(LABELS, x, other), losses.contrastive_loss(ones, x, other)]),
                               [triplets(), lifted(), npairs, contrast], rtol=1e-9)
    np.testing.assert_allclose(run(metric_learning.pairwise_distance(x)), np.sqrt(SQUARES), atol=1e-7)
    assert gradient_is_right(lambda x: losses.triplet_semihard_loss(LABELS, x))
    assert gradient_is_right(lambda x: losses.lifted_struct_loss(LABELS, x))
    assert gradient_is_right(lambda x: losses.npairs_loss(LABELS, x, tf.reverse(x, [0])))
    assert gradient_is_right(lambda x: losses.contrastive_loss(ones, x, tf.reverse(x, [1])))
    alone = run(losses.lifted_struct_loss([0, 0], x[:2]))
    assert alone == 0, "nothing to be apart from"


def test_alpha_dropout_keeps_mean_and_variance():
    x = tf.constant(RNG.randn(200, 200).astype("f"))
    y = run(nn.alpha_dropout(x, 0.8, seed=3))
    assert abs(y.mean()) < 0.03 and abs(y.std() - 1) < 0.03
    assert nn.alpha_dropout(x, 1.0) is x
    rows = run(nn.alpha_dropout(tf.zeros([50, 4]), 0.5, noise_shape=[50, 1], seed=1))
    assert np.all(rows == rows[:, :1]) and len(np.unique(rows)) == 2
    with pytest.raises(ValueError, match="keep_prob"):
        nn.alpha_dropout(x, 1.5)


def test_scaled_softplus():
    x, alpha = np.array([[-3.0, 0, 2], [1, -1, 50]]), np.array([[0.5], [2.0]])
    got, clipped = run([nn.scaled_softplus(x, alpha), nn.scaled_softplus(x, alpha, clip=3.0)])
    np.testing.assert_allclose(got, alpha * np.logaddexp(0, x / alpha))
    np.testing.assert_allclose(clipped, np.minimum(got, 3))
    assert gradient_is_right(lambda a: nn.scaled_softplus(x, a), (2, 1), alpha)


@pytest.mark.parametrize("axes", [(-1, (-3, -2)), (1, (2, 3)), (-1, ())])
def test_group_norm(axes):
    x = RNG.randn(2, 6, 3, 6)
    channels, reduced = axes
    at = channels % 4
    got = run(tf.contrib.layers.group_norm(tf.placeholder_with_default(x, [None, 6, 3, 6]), 3, channels, reduced,
                                           param_initializers={"beta": tf.constant_initializer(0.5)}))
    grouped = x.reshape(*x.shape[:at], 3, 2, *x.shape[at + 1:])
    over = tuple(i % 4 + (i % 4 > at) for i in reduced) + (at + 1,)
    want = (grouped - grouped.mean(over, keepdims=True)) / np.sqrt(grouped.var(over, keepdims=True) + 1e-6) + 0.5
    np.testing.assert_allclose(got, want.reshape(x.shape), rtol=1e-6, atol=1e-9)
    assert [v.op.name for v in tf.trainable_variables()] == ["GroupNorm/beta", "GroupNorm/gamma"]


def test_group_norm_refuses():
    with pytest.raises(ValueError, match="Invalid groups 4 for 6 channels"):
        tf.contrib.layers.group_norm(tf.zeros([2, 3, 3, 6]), 4)
    with pytest.raises(ValueError, match="different axes"):
        tf.contrib.layers.group_norm(tf.zeros([2, 3, 3, 6]), 3, -1, (-1,))


def test_spatial_softmax_finds_points():
    x = np.full([1, 5, 3, 2], -100.0, "f")
    x[0, 1, 2, 0] = x[0, 4, 0, 1] = 100
    flipped = np.transpose(x, [0, 3, 1, 2])
    got = run([tf.contrib.layers.spatial_softmax(x), tf.contrib.layers.spatial_softmax(flipped, 0.5, data_format="NCHW")])
    np.testing.assert_allclose(got, [[[-0.5, 1, 1, -1]]] * 2, atol=1e-6)


@pytest.mark.parametrize("wrapped", [
    tf.contrib.opt.MovingAverageOptimizer, lambda opt: tf.contrib.opt.VariableClippingOptimizer(opt, {}, 1.0),
    tf.contrib.tpu.CrossShardOptimizer, lambda opt: tf.contrib.estimator.clip_gradients_by_norm(opt, 1.0)])
def test_slots_of_an_optimizer_are_seen_through_one_that_wraps_it(wrapped):
    v, inner = tf.Variable([1.0, 2.0]), tf.train.MomentumOptimizer(0.5, 0.5)
    opt = wrapped(inner)
    opt.minimize(tf.reduce_sum(v * v))
    slot = inner.get_slot(v, "momentum")
    assert slot is not None and opt.get_slot(v, "momentum") is slot
    assert (opt.get_slot_names(), opt.variables()) == (["momentum"], [slot])


def test_averages_trade_places_in_a_checkpoint(tmp_path):
    v, other = tf.Variable(1.0, name="v"), tf.Variable(5.0, name="other")
    opt = tf.contrib.opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.5), average_decay=0.5)
    with pytest.raises(RuntimeError, match="before creating"):
        opt.swapping_saver()
    train = opt.minimize(v * 2.0, var_list=[v])
    saver, plain = opt.swapping_saver(), tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        sess.run(train)
        assert sess.run(v) == -1
        path = saver.save(sess, str(tmp_path / "swapped"))
        plain.restore(sess, path)
        assert sess.run([v, other]) == [-0.25, 5], "the average of 1, 0 and -1, each half as old"
        saver.restore(sess, path)
        assert sess.run(v) == -1
    with pytest.raises(ValueError, match="not in variables to save"):
        opt.swapping_saver([other])


def test_copy_graph():
    v = tf.Variable([1.0, 2.0], name="v", collections=["mine", tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES])
    y = tf.reduce_sum(tf.exp(v) * 3.0, name="y")
    other = tf.Graph()
    w = copy_graph.copy_variable_to_graph(v, other, "copy")
    z = copy_graph.copy_op_to_graph(y, other, [w], "copy")
    assert (w.op.name, z.name, z.graph) == ("copy/v", "copy/y:0", other)
    assert copy_graph.copy_op_to_graph(y, other, [w], "copy") is z is copy_graph.get_copied_op(y, other, "copy")
    assert copy_graph.get_copied_op(v, other, "copy") is w and other.get_collection("copy/mine") == [w]
    with tf.Session(graph=other) as sess:
        sess.run(w.initializer)
        w.load([0.0, 1.0], sess)
        np.testing.assert_allclose(sess.run(z), 3 * (1 + np.e), rtol=1e-6)
    with pytest.raises(TypeError, match="is not a Variable"):
        copy_graph.copy_variable_to_graph(y, other)
    with pytest.raises(TypeError, match="Could not copy"):
        copy_graph.copy_op_to_graph("y", other, [])


def attended(p, previous):
    """Where a walk stops that goes on from where the last one stopped: by its definition, over all starts."""
    out = np.zeros_like(p)
    for start in range(p.shape[1]):
        reached = previous[:, start].copy()
        for place in range(start, p.shape[1]):
            out[:, place] += reached * p[:, place]
            reached *= 1 - p[:, place]
    return out


@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_monotonic_attention(mode):
    p, previous = RNG.uniform(0, 1, (3, 6)), np.eye(6)[[0, 2, 5]]
    if mode == "hard":
        p = (p > 0.5).astype(float)
    else:
        previous = 0.6 * previous + 0.1 * (np.arange(6) < 4)
    seq2seq = tf.contrib.seq2seq
    got = run(seq2seq.monotonic_attention(p, previous, mode))
    np.testing.assert_allclose(got, attended(p, previous), rtol=1e-7, atol=1e-12)
    if mode != "hard":
        assert gradient_is_right(lambda x: seq2seq.monotonic_attention(x, previous, mode), (3, 6), p)
    with pytest.raises(ValueError, match="mode must be"):
        seq2seq.monotonic_attention(p, previous, "soft")


@pytest.mark.parametrize("kind", ["Bahdanau", "Luong"])
def test_a_decoder_that_only_moves_forward(kind):
    memory = tf.constant(RNG.randn(2, 5, 4).astype("f"))
    seq2seq = tf.contrib.seq2seq
    mechanism = getattr(seq2seq, kind + "MonotonicAttention")(4, memory, [5, 3], score_bias_init=-1.0, mode="recursive")
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism, alignment_history=True)
    out, state, _ = seq2seq.dynamic_decode(seq2seq.BasicDecoder(
        cell, seq2seq.TrainingHelper(tf.constant(RNG.randn(2, 3, 4).astype("f")), [3, 3]), cell.zero_state(2, tf.float32)))
    names = {v.op.name.rpartition("/")[2]: v for v in tf.trainable_variables() if "monotonic_attention" in v.op.name}
    assert set(names) == {"attention_score_bias"} | ({"attention_v", "kernel"} if kind == "Bahdanau" else set())
    history, grads = run([state.alignment_history.stack(), tf.gradients(out.rnn_output, list(names.values()))])
    places = (history * np.arange(5)).sum(-1) + 5 * (1 - history.sum(-1))
    assert np.all(np.diff(places, axis=0) >= -1e-5) and np.all(history[:, 1, 3:] == 0)
    assert all(np.isfinite(g).all() and np.any(g) for g in grads)


@pytest.mark.parametrize("sparse", [False, True])
def test_steps_in_proportion_to_the_weights(sparse):
    start = RNG.randn(4, 2)
    v, skipped = tf.Variable(start, name="v"), tf.Variable(start, name="skipped")
    opt = tf.contrib.opt.LARSOptimizer(0.5, momentum=0.8, weight_decay=0.01, eeta=0.1, skip_list=["skip"])
    pull = np.array([1.0, 0, 1, 0])[:, None] * np.ones(2)
    loss = sum(tf.reduce_sum(tf.gather(x, [0, 2]) if sparse else x * pull) for x in (v, skipped))
    train = opt.minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        sess.run(train)
        got, plain = sess.run([v, skipped])
    w, m = start, 0
    for _ in range(2):
        rate = 0.5 * 0.1 * np.linalg.norm(w) / (np.linalg.norm(pull) + 0.01 * np.linalg.norm(w))
        m = 0.8 * m + pull + 0.01 * w
        w = w - rate * m
    np.testing.assert_allclose(got, w, rtol=1e-6)
    np.testing.assert_allclose(plain, start - 0.5 * pull - 0.5 * 1.8 * pull, rtol=1e-6)


def test_bounds_on_variables():
    v, free = tf.Variable([[3.0, 4.0], [0.3, 0.4]]), tf.Variable([9.0])
    opt = tf.contrib.opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(1.0), {v: [1]}, 1.0)
    train = opt.minimize(0.0 * tf.reduce_sum(v) + tf.reduce_sum(free))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(train)
        got = sess.run([v, free])
    np.testing.assert_allclose(got[0], [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)
    np.testing.assert_allclose(got[1], [8.0])
