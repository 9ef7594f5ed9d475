"""tf.contrib.legacy_seq2seq: models of lists, against the same computations in NumPy."""
import numpy as np
import pytest

import regrad as tf

S = tf.contrib.legacy_seq2seq
rng = np.random.RandomState(0)
ENCODED, DECODED = rng.randint(0, 5, [3, 2]), rng.randint(0, 4, [2, 2])  # [time, batch]


def run(fetches, feeds=None):
    """Returns values with every variable drawn from a seed of its own shape, and those variables by name."""
    with tf.Session() as sess:
        variables = tf.global_variables()
        for v in variables:
            v.load(np.random.RandomState(sum(v.shape.as_list())).randn(*v.shape.as_list()) / 2, sess)
        return sess.run(fetches, feeds), {v.op.name: sess.run(v) for v in variables}


def gru(x, h, w, scope):
    both = 1 / (1 + np.exp(-(np.concatenate([x, h], 1) @ w[f"{scope}/gates/kernel"] + w[f"{scope}/gates/bias"])))
    r, u = np.split(both, 2, 1)
    c = np.tanh(np.concatenate([x, r * h], 1) @ w[f"{scope}/candidate/kernel"] + w[f"{scope}/candidate/bias"])
    return u * h + (1 - u) * c


def softmax(s):
    e = np.exp(s - s.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def as_inputs(rows):
    return [tf.constant(row, tf.int32) for row in rows]


def encoded(w, scope, embedding):
    h, outputs = np.zeros((2, 3)), []
    for row in ENCODED:
        h = gru(w[embedding][row], h, w, scope)
        outputs.append(h)
    return np.stack(outputs, 1), h


def decoded(w, scope, states, h, fed, heads, first):
    """Returns outputs of a decoder with attention, as it is written in the paper."""
    at = scope + "/embedding_attention_decoder"
    d = at + "/attention_decoder"

    def linear(x, where):
        return np.concatenate(x, 1) @ w[where + "/kernel"] + w[where + "/bias"]

    def look(h):
        seen = []
        for k in range(heads):
            keys = states @ w[f"{d}/AttnW_{k}"][0, 0]
            scores = (w[f"{d}/AttnV_{k}"] * np.tanh(keys + linear([h], f"{d}/Attention_{k}")[:, None])).sum(2)
            seen.append((softmax(scores)[:, :, None] * states).sum(1))
        return seen

    seen, outputs = look(h) if first else [np.zeros((2, 3))] * heads, []
    for i, row in enumerate(DECODED):
        row = outputs[-1].argmax(1) if fed and i else row
        x = linear([w[at + "/embedding"][row], *seen], d)
        h = gru(x, h, w, d + "/output_projection_wrapper/gru_cell")
        y = linear([h], d + "/output_projection_wrapper")
        seen = look(h)
        outputs.append(linear([y, *seen], d + "/AttnOutputProjection"))
    return np.stack(outputs), h


@pytest.mark.parametrize("heads, first", [(1, False), (2, True)])
def test_attention(heads, first):
    feed = tf.placeholder(tf.bool, [])
    made, states = [], []
    for fed in (False, True, feed):
        with tf.variable_scope("m", reuse=bool(made)):
            outputs, state = S.embedding_attention_seq2seq(
                as_inputs(ENCODED), as_inputs(DECODED), tf.nn.rnn_cell.GRUCell(3), 5, 4, 2, num_heads=heads, feed_previous=fed,
                initial_state_attention=first)
        made.append(tf.stack(outputs))
        states.append(state)
    grads = tf.gradients(tf.reduce_sum(tf.sin(made[1])), tf.trainable_variables())
    (values, last, grads), w = run([made, states, grads], {feed: True})
    scope = "m/embedding_attention_seq2seq"
    looked_at, h = encoded(w, f"{scope}/rnn/embedding_wrapper/gru_cell", f"{scope}/rnn/embedding_wrapper/embedding")
    for i, fed in enumerate((False, True, True)):
        want, end = decoded(w, scope, looked_at, h, fed, heads, first)
        np.testing.assert_allclose(values[i], want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(last[i], end, rtol=1e-4, atol=1e-5)
    assert all(g is not None for g in grads) and len(grads) == 2 + 4 + 4 + 2 + 2 + 2 + 4 * heads


def test_models_without_attention():
    cell = lambda: tf.nn.rnn_cell.BasicLSTMCell(3)  # noqa: E731
    xs = [tf.constant(rng.randn(2, 4), tf.float32) for _ in range(3)]
    outputs, state = S.basic_rnn_seq2seq(xs, xs[:2], cell())
    tied, _ = S.tied_rnn_seq2seq(xs, xs[:2], cell(), loop_function=lambda y, i: tf.tile(y[:, :1], [1, 4]))
    names = [v.op.name for v in tf.global_variables()]
    assert names == [f"{scope}/basic_lstm_cell/{v}" for scope in (
        "basic_rnn_seq2seq/rnn", "basic_rnn_seq2seq/rnn_decoder", "combined_tied_rnn_seq2seq/tied_rnn_seq2seq")
        for v in ("kernel", "bias")]
    assert len(outputs) == len(tied) == 2 and isinstance(state, tf.nn.rnn_cell.LSTMStateTuple)
    (values, ends), w = run([outputs, tied])
    c = h = np.zeros((2, 3))
    with tf.Session() as sess:
        inputs = sess.run(xs)

    def step(x, c, h, where):
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ w[where + "kernel"] + w[where + "bias"], 4, 1)
        c = c / (1 + np.exp(-f - 1)) + np.tanh(j) / (1 + np.exp(-i))
        return c, np.tanh(c) / (1 + np.exp(-o))

    for x in inputs:
        c, h = step(x, c, h, "basic_rnn_seq2seq/rnn/basic_lstm_cell/")
    for x, y in zip(inputs, values):
        c, h = step(x, c, h, "basic_rnn_seq2seq/rnn_decoder/basic_lstm_cell/")
        np.testing.assert_allclose(y, h, rtol=1e-4, atol=1e-5)
    c = h = np.zeros((2, 3))
    for i, x in enumerate([*inputs, inputs[0], None]):
        c, h = step(np.tile(h[:, :1], 4) if i == 4 else x, c, h, "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/basic_lstm_cell/")
    np.testing.assert_allclose(ends[1], h, rtol=1e-4, atol=1e-5)


def test_models_of_symbols_have_their_variables_and_gradients():
    cell = lambda: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(3) for _ in range(2)])  # noqa: E731
    enc, dec = as_inputs(ENCODED), as_inputs(DECODED)
    feed = tf.placeholder_with_default(True, [])
    plain, state = S.embedding_rnn_seq2seq(enc, dec, cell(), 5, 4, 2, feed_previous=feed)
    tied, _ = S.embedding_tied_rnn_seq2seq(enc, dec, cell(), 5, 2, num_decoder_symbols=4, feed_previous=feed)
    weights = tf.Variable(tf.ones([3, 4])), tf.Variable(tf.ones([4]))
    projected, _ = S.embedding_rnn_seq2seq(enc, dec, cell(), 5, 4, 2, output_projection=weights, feed_previous=True, scope="p")
    many, ends = S.one2many_rnn_seq2seq(enc, {"a": dec, "b": dec[:1]}, cell(), {"a": cell(), "b": cell()}, 5,
                                        {"a": 4, "b": 6}, 2)
    assert [len(plain), len(tied), len(projected), len(many["a"]), len(many["b"])] == [2, 2, 2, 2, 1]
    assert [y[0].shape.as_list() for y in (plain, tied, projected, many["b"])] == [[2, 4], [2, 4], [2, 3], [2, 6]]
    assert len(state) == len(ends["a"]) == 2
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert shapes["embedding_rnn_seq2seq/rnn/embedding_wrapper/embedding"] == [5, 2]
    assert shapes["embedding_rnn_seq2seq/embedding_rnn_decoder/embedding"] == [4, 2]
    assert shapes["embedding_tied_rnn_seq2seq/embedding"] == [5, 2]
    assert shapes["one2many_rnn_seq2seq/one2many_decoder_b/embedding_rnn_decoder/embedding"] == [6, 2]
    (values, grads), _ = run([[plain, tied, projected, many], tf.gradients(plain + tied, tf.trainable_variables()[:3])])
    assert all(np.isfinite(v).all() for v in tf.nest.flatten(values)) and all(g is not None for g in grads)
    with pytest.raises(ValueError, match="keys of dec_cells_dict"):
        S.one2many_rnn_seq2seq(enc, {"a": dec}, cell(), {"b": cell()}, 5, {"a": 4}, 2)
    with pytest.raises(TypeError, match="must be RNNCells"):
        S.one2many_rnn_seq2seq(enc, {"a": dec}, None, {"a": cell()}, 5, {"a": 4}, 2)
    with pytest.raises(ValueError, match="at least 1 input"):
        S.attention_decoder([], None, tf.zeros([2, 3, 4]), cell())
    with pytest.raises(ValueError, match="less than 1 heads"):
        S.attention_decoder(dec, None, tf.zeros([2, 3, 4]), cell(), num_heads=0)


def test_buckets_share_a_model():
    def model(encoder, decoder):
        return S.embedding_rnn_seq2seq(encoder, decoder, tf.nn.rnn_cell.GRUCell(3), 5, 4, 2)

    targets, weights = as_inputs(DECODED[::-1]), [tf.constant([1.0, 0.5])] * 2
    outputs, losses = S.model_with_buckets(as_inputs(ENCODED), as_inputs(DECODED), targets, weights, [(2, 1), (3, 2)], model)
    _, rows = S.model_with_buckets(as_inputs(ENCODED), as_inputs(DECODED), targets, weights, [(3, 2)],
                                   lambda *xs: tf.make_template("again", lambda: model(*xs))(), per_example_loss=True)
    assert [len(y) for y in outputs] == [1, 2] and rows[0].shape.as_list() == [2]
    (values, got), w = run([outputs, losses])
    assert len([n for n in w if n.startswith("embedding_rnn_seq2seq")]) == 12
    for ys, loss, t in zip(values, got, (1, 2)):
        cost = -sum(np.log(softmax(y)[np.arange(2), DECODED[::-1][i]]) * [1.0, 0.5] for i, y in enumerate(ys))
        np.testing.assert_allclose(loss, (cost / (t * np.array([1.0, 0.5]))).sum() / 2, rtol=1e-5)
    with pytest.raises(ValueError, match="at least that of last bucket"):
        S.model_with_buckets([], [], targets, weights, [(1, 1)], model)
