"""tf.contrib.cudnn_rnn: layers against loops in NumPy, and their variables."""
import numpy as np
import pytest

import regrad as tf

C = tf.contrib.cudnn_rnn
X = np.random.RandomState(0).randn(4, 2, 3).astype("f")  # [time, batch, size]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, state, w):
    h, c = state
    i, g, f, o = np.split(np.concatenate([x, h], 1) @ w["kernel"] + w["bias"], 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, state, w):
    (h,) = state
    r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    a = x @ w["candidate/input_projection/kernel"] + w["candidate/input_projection/bias"]
    b = h @ w["candidate/hidden_projection/kernel"] + w["candidate/hidden_projection/bias"]
    return (u * h + (1 - u) * np.tanh(a + r * b),)


def simple(x, state, w):
    return (np.tanh(np.concatenate([x, state[0]], 1) @ w["kernel"] + w["bias"]),)


def whole(step, cells, x, starts, lengths):
    """Returns (outputs, states) of cells, two a layer, ahead and back."""
    ends = []
    for layer in range(0, len(cells), 2):
        ways = []
        for way in (0, 1):
            state, out = tuple(s[layer + way] for s in starts), np.zeros((*x.shape[:2], 5))
            for t in range(len(x)):
                for row in range(x.shape[1]):
                    if t < lengths[row]:
                        at = lengths[row] - 1 - t if way else t
                        new = step(x[at, row][None], tuple(s[row][None] for s in state), cells[layer + way])
                        out[at, row] = new[0][0]
                        state = tuple(np.concatenate([s[:row], n, s[row + 1:]]) for s, n in zip(state, new))
            ways.append(out)
            ends.append(state)
        x = np.concatenate(ways, 2)
    return x, [np.stack(s) for s in zip(*ends)]


@pytest.mark.parametrize("layer, step, cell, time_major", [
    (C.CudnnLSTM, lstm, "cudnn_compatible_lstm_cell", True), (C.CudnnGRU, gru, "cudnn_compatible_gru_cell", False),
    (C.CudnnRNNTanh, simple, "basic_rnn_cell", True)])
def test_two_layers_both_ways(layer, step, cell, time_major):
    n = 2 if step is lstm else 1
    starts = np.random.RandomState(1).randn(n, 4, 2, 5).astype("f")
    made = layer(2, 5, direction="bidirectional", bias_initializer=tf.constant_initializer(0.3), name="net")
    x = X if time_major else X.transpose(1, 0, 2)
    given = tuple(starts if time_major else starts.transpose(0, 2, 1, 3))
    outputs, states = made(tf.constant(x), initial_state=given, sequence_lengths=[4, 2], time_major=time_major)
    again, _ = made(tf.constant(x), initial_state=given, sequence_lengths=[4, 2], time_major=time_major, training=False)
    scopes = [f"net/stack_bidirectional_rnn/cell_{i}/bidirectional_rnn/{way}/{cell}/" for i in (0, 1) for way in ("fw", "bw")]
    variables = made.trainable_variables
    assert variables == tf.global_variables() and {v.op.name.partition(cell)[0] + cell + "/" for v in variables} == set(scopes)
    grads = tf.gradients(tf.reduce_sum(tf.sin(outputs)), variables)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values, ends, same, grads = sess.run([outputs, states, again, grads])
        w = [{v.op.name.removeprefix(s): sess.run(v) for v in variables if v.op.name.startswith(s)} for s in scopes]
    want, want_ends = whole(step, w, X, starts, [4, 2])
    values, ends = (values, ends) if time_major else (values.transpose(1, 0, 2), [e.transpose(1, 0, 2) for e in ends])
    np.testing.assert_allclose(values, want, rtol=1e-4, atol=1e-5)
    for got, end in zip(ends, want_ends):
        np.testing.assert_allclose(got, end, rtol=1e-4, atol=1e-5)
    assert np.array_equal(same if time_major else same.transpose(1, 0, 2), values)
    assert all(np.isfinite(g).all() for g in grads) and all(0.3 in b for s in w for k, b in s.items() if k.endswith("bias"))


def test_a_checkpoint_is_read_by_cells(tmp_path):
    layer = C.CudnnLSTM(2, 5, kernel_initializer=tf.random_uniform_initializer(-1, 1))
    layer.build([None, None, 3])
    assert [v.shape.as_list() for v in layer.trainable_variables] == [[8, 20], [20], [10, 20], [20]]
    outputs, (h, c) = layer(tf.constant(X))
    assert [t.shape.as_list() for t in (outputs, h, c)] == [[4, 2, 5], [2, 2, 5], [2, 2, 5]]
    assert layer.state_shape(7) == ([2, 7, 5], [2, 7, 5])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        want = sess.run([outputs, h])
        tf.train.Saver().save(sess, str(tmp_path / "net"))
    with tf.Graph().as_default(), tf.variable_scope("cudnn_lstm"):
        cells = tf.nn.rnn_cell.MultiRNNCell([C.CudnnCompatibleLSTMCell(5) for _ in range(2)])
        y, states = tf.nn.dynamic_rnn(cells, tf.constant(X), dtype=tf.float32, time_major=True)
        with tf.Session() as sess:
            tf.train.Saver().restore(sess, str(tmp_path / "net"))
            got = sess.run([y, [s.h for s in states]])
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-5, atol=1e-6)


def test_dropout_stands_between_layers():
    training = tf.placeholder(tf.bool, [])
    layer = C.CudnnGRU(2, 5, dropout=0.5, seed=3)
    y, _ = layer(tf.constant(X), training=training)
    alone, _ = C.CudnnGRU(1, 5, dropout=0.5)(tf.constant(X))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        still = [sess.run(y, {training: False}) for _ in range(2)]
        drawn = [sess.run(y, {training: True}) for _ in range(2)]
        assert np.array_equal(*still) and not np.array_equal(*drawn)
        assert np.array_equal(sess.run(alone), sess.run(alone))


def test_refusals():
    with pytest.raises(ValueError, match="Invalid direction"):
        C.CudnnLSTM(1, 2, direction="both")
    with pytest.raises(ValueError, match="Invalid input_mode"):
        C.CudnnLSTM(1, 2, input_mode="skip_input")
    with pytest.raises(ValueError, match="skip their weights"):
        C.CudnnLSTM(1, 3, input_mode="auto_select")(tf.constant(X))
    with pytest.raises(ValueError, match="Only support"):
        C.CudnnLSTM(1, 2, dtype=tf.int32)
    with pytest.raises(TypeError, match="expecting tuple"):
        C.CudnnGRU(1, 2)(tf.constant(X), initial_state=tf.zeros([1, 2, 2]))
    with pytest.raises(ValueError, match="3 dims"):
        C.CudnnGRU(1, 2).build([2, 3])
