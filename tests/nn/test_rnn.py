"""Recurrent networks against NumPy loops: cells, wrappers, lengths, both directions, names of variables, refusals."""

import numpy as np
import pytest

import regrad as tf

cells = tf.nn.rnn_cell
RNG = np.random.RandomState(0)
X, LENGTHS = RNG.randn(3, 5, 4), [5, 2, 3]


def run(fetches, feeds=None):
    """Returns the values of `fetches` with variables that depend on their names alone, and these by short name."""
    variables = tf.global_variables()
    values = {}
    for v in variables:
        seed = sum(ord(c) * (i + 1) for i, c in enumerate(v.op.name.split("/", 1)[-1]))
        values[v.op.name] = 0.4 * np.random.RandomState(seed).randn(*v.shape.as_list())
    with tf.Session() as sess:
        sess.run([tf.assign(v, values[v.op.name]) for v in variables])
        return sess.run(fetches, feeds), values


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def basic(x, state, w):
    h = np.tanh(np.hstack([x, state]) @ w["kernel"] + w["bias"])
    return h, h


def gru(x, state, w):
    r, u = np.split(sigmoid(np.hstack([x, state]) @ w["gates/kernel"] + w["gates/bias"]), 2, 1)
    c = np.tanh(np.hstack([x, r * state]) @ w["candidate/kernel"] + w["candidate/bias"])
    h = u * state + (1 - u) * c
    return h, h


def lstm(x, state, w, forget=1.0, clip=np.inf, proj_clip=np.inf):
    c, h = state
    i, j, f, o = np.split(np.hstack([x, h]) @ w["kernel"] + w["bias"], 4, 1)
    f = f + forget + w.get("w_f_diag", 0) * c
    c = np.clip(sigmoid(f) * c + sigmoid(i + w.get("w_i_diag", 0) * c) * np.tanh(j), -clip, clip)
    h = sigmoid(o + w.get("w_o_diag", 0) * c) * np.tanh(c)
    if "projection/kernel" in w:
        h = np.clip(h @ w["projection/kernel"], -proj_clip, proj_clip)
    return h, (c, h)


def tree(f, *structures):
    if isinstance(structures[0], tuple):
        return tuple(tree(f, *parts) for parts in zip(*structures))
    return f(*structures)


def carried(step, state, x, lengths):
    outputs = []
    for t in range(x.shape[1]):
        on = (t < np.asarray(lengths))[:, None]
        y, new = step(x[:, t], state)
        outputs.append(np.where(on, y, 0))
        state = tree(lambda a, b: np.where(on, b, a), state, new)  # noqa: B023
    return np.stack(outputs, 1), state


def zeros(*sizes):
    parts = tuple(np.zeros((3, n)) for n in sizes)
    return parts if len(parts) > 1 else parts[0]


ROWS = {  # name -> (cell, scope of its variables, step in NumPy, first state)
    "basic": (lambda: cells.BasicRNNCell(6), "basic_rnn_cell", basic, zeros(6)),
    "gru": (lambda: cells.GRUCell(6), "gru_cell", gru, zeros(6)),
    "basic_lstm": (lambda: cells.BasicLSTMCell(6, forget_bias=0.5), "basic_lstm_cell",
                   lambda x, s, w: lstm(x, s, w, 0.5), zeros(6, 6)),
    "lstm": (lambda: cells.LSTMCell(6), "lstm_cell", lstm, zeros(6, 6)),
    "lstm_full": (lambda: cells.LSTMCell(6, use_peepholes=True, cell_clip=0.5, num_proj=3, proj_clip=0.2), "lstm_cell",
                  lambda x, s, w: lstm(x, s, w, clip=0.5, proj_clip=0.2), zeros(6, 3)),
    "residual": (lambda: cells.ResidualWrapper(cells.GRUCell(4)), "gru_cell",
                 lambda x, s, w: tuple(v + a for v, a in zip(gru(x, s, w), (x, 0))), zeros(4)),
    "dropout_of_nothing": (lambda: cells.DropoutWrapper(cells.GRUCell(4)), "gru_cell", gru, zeros(4)),
}


def weights(values, scope):
    return {name.split(f"{scope}/", 1)[1]: v for name, v in values.items() if f"{scope}/" in name}


def leaves(s):
    return [x for part in s for x in leaves(part)] if isinstance(s, tuple) else [s]


@pytest.mark.parametrize("fed", [False, True], ids=["static", "fed"])
@pytest.mark.parametrize("name", ROWS)
def test_dynamic_rnn(name, fed):
    make, scope, step, start = ROWS[name]
    x = tf.placeholder(tf.float64, [None, None, 4]) if fed else tf.constant(X)
    y, state = tf.nn.dynamic_rnn(make(), x, sequence_length=LENGTHS, dtype=tf.float64)
    dx = tf.gradients(tf.reduce_sum(tf.square(y)), x)[0]
    (y, state, dx), values = run([y, state, dx], {x: X})
    assert all(n.startswith(f"rnn/{scope}/") for n in values)
    w = weights(values, scope)

    def loss(a):
        return (carried(lambda x, s: step(x, s, w), start, a, LENGTHS)[0] ** 2).sum()

    want, last = carried(lambda x, s: step(x, s, w), start, X, LENGTHS)
    np.testing.assert_allclose(y, want, rtol=1e-10, atol=1e-12)
    for got, expected in zip(leaves(tuple(state) if isinstance(start, tuple) else state), leaves(last)):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    v = np.random.RandomState(1).randn(*X.shape)
    np.testing.assert_allclose((dx * v).sum(), (loss(X + 1e-6 * v) - loss(X - 1e-6 * v)) / 2e-6, rtol=1e-6)


NAMES = [
    (lambda: cells.BasicRNNCell(2), ["basic_rnn_cell/kernel:0", "basic_rnn_cell/bias:0"]),
    (lambda: cells.GRUCell(2), ["gru_cell/gates/kernel:0", "gru_cell/gates/bias:0", "gru_cell/candidate/kernel:0",
                                "gru_cell/candidate/bias:0"]),
    (lambda: cells.BasicLSTMCell(2), ["basic_lstm_cell/kernel:0", "basic_lstm_cell/bias:0"]),
    (lambda: cells.LSTMCell(2, use_peepholes=True, num_proj=1),
     ["lstm_cell/" + n for n in ("kernel:0", "bias:0", "w_f_diag:0", "w_i_diag:0", "w_o_diag:0", "projection/kernel:0")]),
    (lambda: cells.MultiRNNCell([cells.BasicLSTMCell(2), cells.DropoutWrapper(cells.GRUCell(2), 0.5)]),
     ["multi_rnn_cell/cell_0/basic_lstm_cell/kernel:0", "multi_rnn_cell/cell_0/basic_lstm_cell/bias:0",
      "multi_rnn_cell/cell_1/gru_cell/gates/kernel:0", "multi_rnn_cell/cell_1/gru_cell/gates/bias:0",
      "multi_rnn_cell/cell_1/gru_cell/candidate/kernel:0", "multi_rnn_cell/cell_1/gru_cell/candidate/bias:0"]),
]


@pytest.mark.parametrize(("make", "names"), NAMES, ids=[n[0].split("/")[0] for _, n in NAMES])
def test_names_of_variables(make, names):
    tf.nn.dynamic_rnn(make(), X, dtype=tf.float64)
    assert [v.name for v in tf.trainable_variables()] == ["rnn/" + n for n in names]
    with tf.variable_scope("again"):
        tf.nn.static_rnn(make(), tf.unstack(X, axis=1), dtype=tf.float64)
    assert [v.name for v in tf.trainable_variables()][len(names):] == ["again/rnn/" + n for n in names]


def test_a_stack_is_its_cells_one_after_the_other():
    cell = cells.MultiRNNCell([cells.GRUCell(6), cells.BasicRNNCell(2)])
    (y, state), values = run(tf.nn.dynamic_rnn(cell, X, dtype=tf.float64))
    low, a = carried(lambda x, s: gru(x, s, weights(values, "gru_cell")), zeros(6), X, [5] * 3)
    high, b = carried(lambda x, s: basic(x, s, weights(values, "basic_rnn_cell")), zeros(2), low, [5] * 3)
    np.testing.assert_allclose(y, high, rtol=1e-10)
    np.testing.assert_allclose(state[0], a, rtol=1e-10)
    np.testing.assert_allclose(state[1], b, rtol=1e-10)


def test_time_first_initial_state_and_scope():
    start = RNG.randn(3, 6)
    y, state = tf.nn.dynamic_rnn(cells.GRUCell(6), X.swapaxes(0, 1), initial_state=tf.constant(start), time_major=True,
                                 scope="mine")
    assert y.shape.as_list() == [5, 3, 6]
    (y, state), values = run([y, state])
    assert all(n.startswith("mine/gru_cell/") for n in values)
    want, last = carried(lambda x, s: gru(x, s, weights(values, "gru_cell")), start, X, [5] * 3)
    np.testing.assert_allclose(y, want.swapaxes(0, 1), rtol=1e-10)
    np.testing.assert_allclose(state, last, rtol=1e-10)


def test_joined_lstm_state():
    y, state = tf.nn.dynamic_rnn(cells.BasicLSTMCell(6, state_is_tuple=False), X, dtype=tf.float64)
    (y, state), values = run([y, state])
    want, (c, h) = carried(lambda x, s: lstm(x, s, weights(values, "basic_lstm_cell")), zeros(6, 6), X, [5] * 3)
    np.testing.assert_allclose(y, want, rtol=1e-10)
    np.testing.assert_allclose(state, np.hstack([c, h]), rtol=1e-10)


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_static_rnn_is_dynamic_rnn(lengths):
    with tf.variable_scope("a"):
        y, s = tf.nn.dynamic_rnn(cells.LSTMCell(6), X, lengths, dtype=tf.float64)
    with tf.variable_scope("b"):
        ys, t = tf.nn.static_rnn(cells.LSTMCell(6), tf.unstack(X, axis=1), dtype=tf.float64, sequence_length=lengths)
    (y, s, ys, t), _ = run([y, s, tf.stack(ys, 1), t])
    np.testing.assert_allclose(y, ys, rtol=1e-12)
    np.testing.assert_allclose(s, t, rtol=1e-12)
    assert np.abs(y).max() > 0.1


@pytest.mark.parametrize("lengths", [[5, 5, 5], LENGTHS])
def test_both_directions(lengths):
    pair = lambda: (cells.GRUCell(6), cells.BasicRNNCell(2))  # noqa: E731
    (f, b), (sf, sb) = tf.nn.bidirectional_dynamic_rnn(*pair(), X, dtype=tf.float64, sequence_length=lengths)
    with tf.variable_scope("static"):
        joined, tf_, tb = tf.nn.static_bidirectional_rnn(*pair(), tf.unstack(X, axis=1), dtype=tf.float64,
                                                         sequence_length=lengths)
    (f, b, sf, sb, joined, tf_, tb), values = run([f, b, sf, sb, tf.stack(joined, 1), tf_, tb])
    assert {n.rsplit("/", 2)[0] for n in values if n.endswith("gru_cell/gates/kernel")} == {
        "bidirectional_rnn/fw/gru_cell", "static/bidirectional_rnn/fw/gru_cell"}
    # The scopes "a/..." and "static/..." differ only before the first slash where run() looks for a seed's name.
    turned = np.array([np.concatenate([row[:n][::-1], row[n:]]) for row, n in zip(X, lengths)])
    own = {n: v for n, v in values.items() if n.startswith("bidirectional")}
    want_f, want_sf = carried(lambda x, s: gru(x, s, weights(own, "gru_cell")), zeros(6), X, lengths)
    want_b, want_sb = carried(lambda x, s: basic(x, s, weights(own, "basic_rnn_cell")), zeros(2), turned, lengths)
    want_b = np.array([np.concatenate([row[:n][::-1], row[n:]]) for row, n in zip(want_b, lengths)])
    for got, want in ((f, want_f), (b, want_b), (sf, want_sf), (sb, want_sb)):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    assert joined.shape == (3, 5, 8)
    own = {n: v for n, v in values.items() if n.startswith("static")}
    want_f, _ = carried(lambda x, s: gru(x, s, weights(own, "gru_cell")), zeros(6), X, lengths)
    np.testing.assert_allclose(joined[:, :, :6], want_f, rtol=1e-10, atol=1e-12)


def test_raw_rnn_goes_on_while_asked():
    rows = tf.TensorArray(tf.float64, size=5).unstack(X.swapaxes(0, 1))
    cell = cells.GRUCell(6)

    def loop(time, output, state, seen):
        state = cell.zero_state(3, tf.float64) if output is None else state
        seen = tf.constant(0) if seen is None else seen + 1
        over = time >= LENGTHS
        x = tf.cond(tf.reduce_all(over), lambda: tf.zeros([3, 4], tf.float64), lambda: rows.read(time))
        x.set_shape([3, 4])
        return over, x, state, output, seen

    y, state, seen = tf.nn.raw_rnn(cell, loop)
    (y, state, seen), values = run([y.stack(), state, seen])
    want, last = carried(lambda x, s: gru(x, s, weights(values, "gru_cell")), zeros(6), X, LENGTHS)
    np.testing.assert_allclose(y, want.swapaxes(0, 1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state, last, rtol=1e-10)
    assert seen == 5


class Leaky(cells.RNNCell):
    """A user's cell in TF1's manner."""

    state_size = property(lambda self: 5)
    output_size = property(lambda self: 5)

    def call(self, inputs, state):
        w = tf.get_variable("w", [4, 5], tf.float64)
        y = 0.9 * state + tf.matmul(inputs, w)
        return y, y


def test_raw_rnn_puts_out_what_has_a_shape_of_its_own_and_nothing_in_no_steps():
    n, steps, cell = tf.placeholder(tf.int32), tf.placeholder(tf.int32), cells.GRUCell(3)

    def loop_fn(time, output, state, _):
        emit = tf.zeros([n], tf.int64) if output is None else tf.ones([2, n], tf.int64)
        state = cell.zero_state(2, tf.float32) if output is None else state
        return tf.fill([2], time >= steps), tf.zeros([2, 4]), state, emit, None

    out = tf.nn.raw_rnn(cell, loop_fn)[0].stack()
    plain = tf.nn.raw_rnn(cell, lambda time, output, *rest: (*loop_fn(time, output, *rest)[:3], output, None))[0].stack()
    assert out.dtype == tf.int64 and plain.shape.as_list() == [None, 2, 3]
    (value, _), _ = run([out, plain], {n: 5, steps: 4})
    np.testing.assert_array_equal(value, np.ones((4, 2, 5)))
    assert run(plain, {n: 5, steps: 0})[0].shape == (0, 2, 3)


def test_a_state_of_parts_is_saved_by_as_many_names():
    class Saver:
        saved = {}

        def state(self, name):
            return tf.zeros([2, 3])

        def save_state(self, name, value):
            self.saved[name] = value
            return tf.identity(value)

    cell = cells.MultiRNNCell([cells.LSTMCell(3), cells.GRUCell(3)])
    outputs, state = tf.nn.static_state_saving_rnn(cell, [tf.ones([2, 4])] * 2, Saver(), (("c", "h"), "g"))
    assert isinstance(state[0], cells.LSTMStateTuple) and Saver.saved == {"c": state[0].c, "h": state[0].h, "g": state[1]}
    for names in ("c", ("c", "h")):
        with pytest.raises(ValueError, match="names?"):
            tf.nn.static_state_saving_rnn(cell, [tf.ones([2, 4])], Saver(), names)


def test_a_users_cell():
    y, _ = tf.nn.dynamic_rnn(Leaky(), X, dtype=tf.float64)
    y, values = run(y)
    assert list(values) == ["rnn/leaky/w"]
    want, _ = carried(lambda x, s: (0.9 * s + x @ values["rnn/leaky/w"],) * 2, zeros(5), X, [5] * 3)
    np.testing.assert_allclose(y, want, rtol=1e-12)


def test_overrides_reach_inside():
    @tf.RegisterGradient("RnnNone")
    def none(op, dy):
        return tf.zeros_like(dy)

    x = tf.constant(X)
    with tf.get_default_graph().gradient_override_map({"Tanh": "RnnNone"}):
        y, _ = tf.nn.dynamic_rnn(cells.BasicRNNCell(6), x, dtype=tf.float64)
    dx, _ = run(tf.gradients(y, x)[0])
    np.testing.assert_array_equal(dx, np.zeros_like(X))


def test_dropout_drops_and_rescales():
    class Echo(cells.RNNCell):
        state_size = output_size = 200

        def call(self, inputs, state):
            return inputs, state + 1.0

    def outcome(**kwargs):
        cell = cells.DropoutWrapper(Echo(), dtype=tf.float64, input_size=200, seed=3, **kwargs)
        (y, s), _ = run(tf.nn.dynamic_rnn(cell, np.ones((4, 6, 200)), dtype=tf.float64))
        return y, s

    for which in ("input_keep_prob", "output_keep_prob"):
        y, s = outcome(**{which: 0.25})
        assert set(np.unique(y)) == {0.0, 4.0}
        assert 0.2 < (y > 0).mean() < 0.3
        assert (s == 6).all()
        assert not (y[:, 0] == y[:, 1]).all()
    y, s = outcome(output_keep_prob=0.25, variational_recurrent=True)
    assert set(np.unique(y)) == {0.0, 4.0}
    assert (y == y[:1, :1]).all()
    y, s = outcome(state_keep_prob=0.5)
    assert (y == 1).all()
    assert 0.4 < (s == 0).mean() < 0.6


def test_dropout_leaves_the_memory_of_an_lstm_alone():
    cell = cells.DropoutWrapper(cells.BasicLSTMCell(100), state_keep_prob=0.5, seed=1)
    _, (c, h) = cell(X[:, 0], cell.zero_state(3, tf.float64))
    (c, h), _ = run([c, h])
    assert (c != 0).all()
    assert 0.3 < (h == 0).mean() < 0.7


@pytest.mark.parametrize(("build", "error", "says"), [
    (lambda: tf.nn.dynamic_rnn(cells.GRUCell(6), X), ValueError, "must give a dtype"),
    (lambda: tf.nn.dynamic_rnn(3, X, dtype=tf.float64), TypeError, "not an RNNCell"),
    (lambda: tf.nn.dynamic_rnn(cells.GRUCell(6), X, [1, 2], dtype=tf.float64), ValueError, "length batch_size 3"),
    (lambda: tf.nn.dynamic_rnn(cells.GRUCell(6), X, [1.0, 2.0, 3.0], dtype=tf.float64), TypeError, "integer vector"),
    (lambda: tf.nn.dynamic_rnn(cells.GRUCell(6), tf.placeholder(tf.float64, [3, 5, None]), dtype=tf.float64), ValueError,
     "depth of inputs"),
    (lambda: tf.nn.static_rnn(cells.GRUCell(6), [], dtype=tf.float64), ValueError, "must not be empty"),
    (lambda: tf.nn.static_rnn(cells.GRUCell(6), tf.constant(X), dtype=tf.float64), TypeError, "must be a sequence"),
    (lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
    (lambda: cells.DropoutWrapper(cells.GRUCell(2), input_keep_prob=1.5), ValueError, "between 0 and 1: 1.5"),
    (lambda: cells.DropoutWrapper(3), TypeError, "must be an RNNCell"),
])
def test_refuses(build, error, says):
    with pytest.raises(error, match=says):
        build()
