"""tf.contrib.seq2seq and tf.contrib.crf: against loops written out, and against all sequences there are."""
import itertools

import numpy as np
import pytest

import regrad as tf

seq, crf = tf.contrib.seq2seq, tf.contrib.crf
RNG = np.random.RandomState(0)
X = RNG.randn(3, 5, 4).astype("f")
LENGTHS = [5, 2, 3]
INIT = tf.random_uniform_initializer(-0.7, 0.7, seed=1)


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_training_decoder_is_dynamic_rnn():
    x = tf.placeholder(tf.float32, [None, None, 4])
    cell = tf.nn.rnn_cell.LSTMCell(3, initializer=INIT)
    layer = tf.layers.Dense(6, kernel_initializer=INIT, name="out")
    helper = seq.TrainingHelper(x, LENGTHS)
    decoder = seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32), layer)
    (logits, ids), state, lengths = seq.dynamic_decode(decoder, impute_finished=True)
    assert [v.op.name for v in tf.trainable_variables()] == [
        "decoder/lstm_cell/kernel", "decoder/lstm_cell/bias", "decoder/out/kernel", "decoder/out/bias"]
    assert logits.shape.as_list() == [3, None, 6]
    with tf.variable_scope("decoder", reuse=True):
        outputs, last = tf.nn.dynamic_rnn(cell, x, LENGTHS, dtype=tf.float32)
    expected = tf.where(tf.tile(tf.sequence_mask(LENGTHS)[:, :, None], [1, 1, 6]), layer(outputs), tf.zeros([3, 5, 6]))
    targets, weights = tf.constant(RNG.randint(0, 6, (3, 5))), tf.sequence_mask(LENGTHS, dtype=tf.float32)
    loss = seq.sequence_loss(logits, targets, weights)
    rows = seq.sequence_loss(expected, targets, weights, False, False)
    steps = seq.sequence_loss(logits, targets, weights, average_across_timesteps=False)
    grads = [tf.gradients(y, tf.trainable_variables()) for y in (loss, tf.reduce_sum(rows) / 10.0)]
    got = run([logits, state.c, lengths, ids, loss, steps, expected, last.c, rows, grads], {x: X})
    np.testing.assert_allclose(got[0], got[6], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], got[7], rtol=1e-5)
    assert got[2].tolist() == LENGTHS and (got[3] == got[0].argmax(-1)).all()
    np.testing.assert_allclose(got[4], got[8].sum() / 10, rtol=1e-5)
    np.testing.assert_allclose(got[5], got[8].sum(0) / [3, 3, 2, 1, 1], rtol=1e-5)
    for a, b in zip(*got[9]):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="batch, time, classes"):
        seq.sequence_loss(targets, targets, weights)


@pytest.mark.parametrize("kind", ["bahdanau", "normalised", "luong", "scaled"])
def test_attention(kind):
    memory = tf.constant(X)
    cell = tf.nn.rnn_cell.GRUCell(4, kernel_initializer=INIT)
    with tf.variable_scope("s", initializer=INIT):
        if kind in ("bahdanau", "normalised"):
            mechanism = seq.BahdanauAttention(4, memory, LENGTHS, normalize=kind == "normalised")
        else:
            mechanism = seq.LuongAttention(4, memory, LENGTHS, scale=kind == "scaled")
        wrapper = seq.AttentionWrapper(cell, mechanism, attention_layer_size=2, alignment_history=True)
        decoder = seq.BasicDecoder(wrapper, seq.TrainingHelper(tf.constant(X), [5, 4, 5]), wrapper.zero_state(3, tf.float32))
        outputs, state, _ = seq.dynamic_decode(decoder)
    variables = {v.op.name: v for v in tf.trainable_variables()}
    w = "s/decoder/attention_wrapper/"
    assert {"s/memory_layer/kernel", f"{w}attention_layer/kernel", f"{w}gru_cell/gates/kernel"} <= set(variables)
    gradients = tf.gradients(outputs.rnn_output, list(variables.values()))
    assert all(g is not None for g in gradients)
    got, history, values = run([outputs.rnn_output, state.alignment_history.stack(), variables])

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    h, attention = np.zeros((3, 4)), np.zeros((3, 2))
    mask = np.arange(5) < np.array(LENGTHS)[:, None]
    keys = (X * mask[..., None]) @ values["s/memory_layer/kernel"]
    for t in range(5):
        x = np.concatenate([X[:, t], attention], 1)
        r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ values[f"{w}gru_cell/gates/kernel"]
                                + values[f"{w}gru_cell/gates/bias"]), 2, 1)
        c = np.tanh(np.concatenate([x, r * h], 1) @ values[f"{w}gru_cell/candidate/kernel"])
        h = u * h + (1 - u) * c
        if kind in ("bahdanau", "normalised"):
            v, query = values[f"{w}bahdanau_attention/attention_v"], h @ values[f"{w}bahdanau_attention/query_layer/kernel"]
            v = v / np.linalg.norm(v) * values[f"{w}bahdanau_attention/attention_g"] if kind == "normalised" else v
            score = (v * np.tanh(keys + query[:, None])).sum(2)
        else:
            score = (keys * h[:, None]).sum(2)
        score = np.where(mask, np.exp(score), 0)
        weights = score / score.sum(1, keepdims=True)
        attention = np.concatenate([h, (weights[..., None] * X).sum(1)], 1) @ values[f"{w}attention_layer/kernel"]
        np.testing.assert_allclose(history[t], weights, rtol=1e-4, atol=1e-6)
        if t < 4:
            np.testing.assert_allclose(got[:, t], attention, rtol=1e-4, atol=1e-5)


class Markov(tf.nn.rnn_cell.RNNCell):
    """Logits that depend on the last id alone, which is the input as a one-hot vector."""

    def __init__(self, table):
        super().__init__()
        self.table, self.n = tf.constant(table), table.shape[0]

    state_size = property(lambda self: 1)
    output_size = property(lambda self: self.n)

    def call(self, inputs, state):
        return tf.matmul(inputs, self.table), state + 1.0


TABLE = np.log(np.array([[.1, .5, .3, .1], [.05, .2, .25, .5], [.6, .2, .1, .1], [.1, .3, .2, .4]], "f"))


def test_greedy_and_drawn():
    cell = Markov(TABLE)
    embedding = tf.eye(4)
    greedy = seq.GreedyEmbeddingHelper(embedding, [0, 2], 3)
    decoder = seq.BasicDecoder(cell, greedy, cell.zero_state(2, tf.float32))
    out, state, lengths = seq.dynamic_decode(decoder, impute_finished=True)
    drawn = seq.SampleEmbeddingHelper(lambda ids: tf.one_hot(ids, 4), tf.fill([500], 0), 3, seed=1)
    few, _, cut = seq.dynamic_decode(seq.BasicDecoder(cell, drawn, cell.zero_state(500, tf.float32)), maximum_iterations=3,
                                     output_time_major=True)
    ids, state, lengths, few, cut = run([out.sample_id, state, lengths, few.sample_id, cut])
    assert ids.tolist() == [[1, 3, 0], [0, 1, 3]] and lengths.tolist() == [2, 3] and state[:, 0].tolist() == [2, 3]
    assert few.shape == (3, 500) and cut.max() == 3
    np.testing.assert_allclose(np.bincount(few[0]) / 500, np.exp(TABLE[0]), atol=0.06)


def test_other_helpers():
    cell, x = Markov(TABLE), tf.constant(np.eye(4, dtype="f")[[[0, 1, 2], [3, 2, 1]]])
    start = cell.zero_state(2, tf.float32)

    def decode(helper, steps=None):
        return seq.dynamic_decode(seq.BasicDecoder(cell, helper, start), maximum_iterations=steps)[0]

    given = decode(seq.TrainingHelper(x, [3, 3]))
    never = decode(seq.ScheduledEmbeddingTrainingHelper(x, [3, 3], tf.eye(4), 0.0))
    always = decode(seq.ScheduledEmbeddingTrainingHelper(x, [3, 3], tf.eye(4), 1.0, seed=2))
    own = decode(seq.CustomHelper(
        lambda: (tf.zeros([2], tf.bool), x[:, 0]), lambda time, outputs, state: tf.cast(tf.argmax(outputs, -1), tf.int32),
        lambda time, outputs, state, sample_ids: (tf.equal(sample_ids, 3), tf.one_hot(sample_ids, 4), state)), 4)
    infer = decode(seq.InferenceHelper(lambda y: tf.nn.softmax(y), [4], tf.float32, x[:, 0], lambda y: y[:, 3] > 0.45), 4)
    got = run([given.rnn_output, never.rnn_output, always, own.sample_id, infer.sample_id])
    np.testing.assert_array_equal(got[0], got[1])
    np.testing.assert_allclose(got[2].rnn_output[:, 1], TABLE[got[2].sample_id[:, 0]], rtol=1e-6)
    assert got[3].tolist() == [[1, 3, 3], [3, 3, 3]][:2] or got[3][0].tolist()[:2] == [1, 3]
    assert got[4].shape[0] == 2 and got[4].shape[2] == 4


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_beam_search_finds_the_best(penalty):
    cell, steps, beams = Markov(TABLE), 3, 16  # so many that none is lost
    start = seq.tile_batch(tf.zeros([2, 1]), beams)
    decoder = seq.BeamSearchDecoder(cell, tf.eye(4), [0, 2], 3, start, beams, length_penalty_weight=penalty)
    out, state, lengths = seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, scores, states = run([out.predicted_ids, out.beam_search_decoder_output.scores, state.cell_state])
    assert ids.shape == (2, steps, beams) and states.shape == (2, beams, 1)
    for b, first in enumerate((0, 2)):
        found = {}
        for path in itertools.product(range(4), repeat=steps):
            end = path.index(3) + 1 if 3 in path else steps
            path = path[:end] + (3,) * (steps - end)
            log_prob = sum(TABLE[i, j] for i, j in zip((first, *path), path[:end]))
            # As TensorFlow counts: the end token makes a sequence longer from the step after it on.
            found[path] = log_prob / ((5 + end - (3 in path and end == steps)) / 6) ** penalty
        best = sorted(found, key=found.get, reverse=True)[:3]
        assert [tuple(ids[b, :, k]) for k in range(3)] == best
        np.testing.assert_allclose(scores[b, -1, :3], [found[p] for p in best], rtol=1e-4)


def test_small_functions():
    t = seq.tile_batch({"a": tf.constant([1, 2]), "b": tf.ones([2, 3])}, 2)
    tree = seq.gather_tree([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], [3], 10)
    got = run([t, tree, seq.hardmax([[0.1, 0.7, 0.2]])])
    assert got[0]["a"].tolist() == [1, 1, 2, 2] and got[0]["b"].shape == (4, 3)
    assert got[1].tolist() == [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]] and got[2].tolist() == [[0, 1, 0]]
    for wrong, error in ((lambda: seq.GreedyEmbeddingHelper(tf.eye(3), 0, 1), ValueError),
                         (lambda: seq.dynamic_decode(3), TypeError), (lambda: seq.TrainingHelper(X, 3), ValueError)):
        with pytest.raises(error):
            wrong()


def score(x, transitions, tags):
    return sum(row[t] for row, t in zip(x, tags)) + sum(transitions[a, b] for a, b in zip(tags[:-1], tags[1:]))


def test_random_fields_sum_over_all_sequences():
    x, transitions, tags, lengths = RNG.randn(3, 4, 3), RNG.randn(3, 3), RNG.randint(0, 3, (3, 4)), [4, 1, 3]
    unary = tf.constant(x)
    likelihood, used = crf.crf_log_likelihood(unary, tags, lengths, tf.constant(transitions))
    marginals = tf.gradients(crf.crf_log_norm(unary, lengths, used), unary)[0]
    value, slopes, (best, scores) = run([likelihood, marginals, crf.crf_decode(unary, used, lengths)])
    for b, n in enumerate(lengths):
        every = {t: score(x[b], transitions, t) for t in itertools.product(range(3), repeat=n)}
        total = np.log(sum(np.exp(v) for v in every.values()))
        np.testing.assert_allclose(value[b], score(x[b], transitions, tags[b, :n]) - total)
        for i, k in itertools.product(range(4), range(3)):
            np.testing.assert_allclose(slopes[b, i, k], sum(np.exp(v - total) for t, v in every.items() if i < n and t[i] == k),
                                       atol=1e-12)
        top = max(every, key=every.get)
        assert tuple(best[b, :n]) == top and (best[b, n:] == 0).all()
        path, reached = crf.viterbi_decode(x[b, :n], transitions)
        assert tuple(path) == top
        np.testing.assert_allclose([reached, scores[b]], every[top])
    with tf.variable_scope("c"):
        assert crf.crf_log_likelihood(unary, tags, lengths, None)[1].op.name == "c/transitions"
