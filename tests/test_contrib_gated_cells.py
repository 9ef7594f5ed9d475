"""tf.contrib.rnn: cells with other gates, against the same formulas in NumPy, with the derivatives of their weights."""
import numpy as np
import pytest

import regrad as tf

RNG = np.random.RandomState(1)
X, C, H = (RNG.randn(3, n).astype("f") for n in (4, 4, 4))


def sig(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def lin(w, *xs, kernel="kernel", bias="bias"):
    return np.concatenate(xs, 1) @ w[kernel] + w.get(bias, 0)


def split(a, n):
    return np.split(a, n, 1)


def ugrnn(w, x, h):
    g, c = split(lin(w, x, h), 2)
    g = sig(g + 1)
    new = g * h + (1 - g) * np.tanh(c)
    return new, new


def minimal(w, x, h):
    n = x.shape[1]
    z = np.tanh(x @ w["kernel"][:n])
    u = sig(np.concatenate([z, h], 1) @ w["kernel"][n:] + w["bias"])
    new = u * h + (1 - u) * z
    return new, new


def chaos_free(w, x, h):
    n = h.shape[1]
    keep, let_in = split(sig(x @ w["kernel"][:, :2 * n] + h @ w["recurrent_kernel"] + w["bias"]), 2)
    new = keep * np.tanh(h) + let_in * np.tanh(x @ w["kernel"][:, 2 * n:])
    return new, new


def intersection(w, x, h):
    gh, a, gy, y = split(lin(w, x, h), 4)
    gh, gy = sig(gh + 1), sig(gy + 1)
    return gy * x + (1 - gy) * relu(y), gh * h + (1 - gh) * np.tanh(a)


def nas(w, x, c, h):
    a, b = split(x @ w["kernel"], 8), split(h @ w["recurrent_kernel"] + w["bias"], 8)
    s = [p + q for p, q in zip(a, b)]
    new = np.tanh(np.tanh(sig(s[0]) * relu(s[1])) + c) * np.tanh(sig(s[2]) + relu(a[3] * b[3]))
    out = np.tanh(new * np.tanh(np.tanh(np.tanh(s[4]) * sig(s[5])) + sig(np.tanh(s[6]) + sig(s[7]))))
    out = out @ w["projection_weights"]
    return out, new, out


def coupled(w, x, c, h):
    j, f, o = split(lin(w, x, h, kernel="W_0", bias="B"), 3)
    f = sig(f + w["W_F_diag"] * c + 1)
    c = f * c + (1 - f) * np.tanh(j)
    m = np.clip((sig(o + w["W_O_diag"] * c) * np.tanh(c)) @ w["W_P_0"], -0.2, 0.2)
    return m, c, m


def independent(w, x, h, times, prefix=""):
    return x @ w[prefix + "kernel_w"] + np.tile(h, times) * w[prefix + "kernel_u"] + w[prefix + "bias"]


def indrnn(w, x, h):
    new = np.tanh(independent(w, x, h, 1))
    return new, new


def indygru(w, x, h):
    r, u = split(sig(independent(w, x, h, 2, "gates/")), 2)
    new = u * h + (1 - u) * np.tanh(independent(w, x, r * h, 1, "candidate/"))
    return new, new


def indylstm(w, x, c, h):
    i, j, f, o = split(independent(w, x, h, 4), 4)
    c = c * sig(f + 1) + sig(i) * np.tanh(j)
    h = np.tanh(c) * sig(o)
    return h, c, h


def sru(w, x, c):
    x, f, r, through = split(x @ w["kernel"], 4)
    f, r = split(sig(np.concatenate([f, r], 1) + w["bias"]), 2)
    c = f * c + (1 - f) * x
    return r * np.tanh(c) + (1 - r) * through, c


def highway(w, x, h):
    new = np.tanh(lin(w, x, h, kernel="basic_rnn_cell/kernel", bias="basic_rnn_cell/bias"))
    carry, transform = (sig(x @ w[f"{g}_w"] + w[f"{g}_b"]) for g in ("carry", "transform"))
    return x * carry + new * transform, new


def normal(w, x, scope):
    x = x - x.mean(1, keepdims=True)
    return x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-12) * w[f"{scope}/gamma"] + w[f"{scope}/beta"]


def coupled_normal(w, x, s):
    c, h = s[:, :4], s[:, 4:]
    gates = np.concatenate([x, h], 1) @ np.concatenate([w["W_0"], w["W_1"], w["W_2"]])
    j, f, o = (normal(w, g, name) for g, name in zip(split(gates, 3), ("transform", "forget", "output")))
    f = sig(f + 1)
    c = normal(w, f * c + (1 - f) * np.tanh(j), "state")
    m = sig(o) * np.tanh(c)
    return m, np.concatenate([c, m], 1)


def normal_lstm(w, x, c, h):
    i, j, f, o = (normal(w, g, name) for g, name in
                  zip(split(np.concatenate([x, h], 1) @ w["kernel"], 4), ("input", "transform", "forget", "output")))
    c = sig(f + w["w_f_diag"] * c + 1) * c + sig(i + w["w_i_diag"] * c) * np.tanh(j)
    c = np.clip(normal(w, c, "state"), -0.7, 0.7)
    m = np.clip(sig(o + w["w_o_diag"] * c) * np.tanh(c) @ w["projection/kernel"], -0.3, 0.3)
    return m, c, m


def groups(w, x, c, h):
    parts = [split(np.concatenate([a, b], 1) @ w["group0/kernel"], 4) for a, b in zip(split(x[:, :2], 2), split(h, 2))]
    i, j, f, o = (np.concatenate(g, 1) + w[f"bias_{name}"] for name, g in zip("ijfo", zip(*parts)))
    c = sig(f + 1) * c + sig(i) * np.tanh(j)
    m = sig(o) * np.tanh(c) @ w["projection/kernel"]
    return m, c, m


def weight_norm(w, x, c, h):
    def product(xs, at):
        out, rows = 0, np.cumsum([0] + [a.shape[1] for a in xs])
        for k, a in enumerate(xs):
            part = w[f"wn_lstm_cell/{at}kernel"][rows[k]:rows[k + 1]]
            out = out + a @ (part / np.sqrt((part**2).sum(0)) * w[f"wn_lstm_cell/{at}norm_{k}"])
        return out

    see_f, see_i, see_o = (w[f"wn_lstm_cell/w_{g}_diag"] for g in "fio")
    i, j, f, o = split(product([x, h], "") + w["wn_lstm_cell/bias"], 4)
    c = np.clip(c * sig(f + see_f * c + 1) + sig(i + see_i * c) * np.tanh(j), -0.7, 0.7)
    m = np.clip(product([sig(o + see_o * c) * np.tanh(c)], "projection/"), -0.3, 0.3)
    return m, c, m


def gru_block(w, x, h):
    r, u = split(sig(np.concatenate([x, h], 1) @ w["w_ru"] + w["b_ru"]), 2)
    new = u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1) @ w["w_c"] + w["b_c"])
    return new, new


def time_freq(w, x, s):
    before, outputs, states = np.zeros((3, 2)), [], []
    for k in range(3):
        c, m = s[:, 4 * k:4 * k + 2], s[:, 4 * k + 2:4 * k + 4]
        i, j, f, o = split(lin(w, x[:, k:k + 2], m, before, kernel="W_0", bias="B"), 4)
        c = np.clip(sig(f + w["W_F_diag"] * c + 1) * c + sig(i + w["W_I_diag"] * c) * np.tanh(j), -0.8, 0.8)
        before = sig(o + w["W_O_diag"] * c) * np.tanh(c)
        outputs.append(before)
        states += [c, before]
    return np.concatenate(outputs, 1), np.concatenate(states, 1)


def grid_step(w, slices, state, coupled, shared):
    """Outputs and states of one block, whose slices are in the order in which the LSTM along frequencies sees them."""
    def lstm(letter, kind, x, own, c_f, c_t):
        def see(gate, c_f, c_t):
            return sum(w.get(f"W_{gate}_diag_{kind}{end}_0", 0) * c for end, c in (("f", c_f), ("t", c_t)))

        i, j, *f, o = split(lin(w, *x, kernel=f"W_{letter}_0_0", bias=f"B_{letter}_0"), 3 if coupled else 4)
        i = sig(i + see("I", c_f, c_t))
        f = 1 - i if coupled else sig(f[0] + see("F", c_f, c_t) + 1)
        c = np.clip(f * own + i * np.tanh(j), -0.9, 0.9)
        return c, lambda c_f, c_t: sig(o + see("O", c_f, c_t)) * np.tanh(c)

    c_f = m_f = np.zeros((3, 2))
    outputs, states = [], []
    for k, x in enumerate(slices):
        c_t, m_t = state[2 * k:2 * k + 2]
        x = x, m_t, m_f
        new_f, out_f = lstm("f", "freq", x, c_f, c_f, c_t)
        new_t, out_t = lstm(*(("f", "freq") if shared else ("t", "time")), x, c_t, c_f, c_t)
        c_f, m_f, m_t = new_f, out_f(new_f, new_t), out_t(new_f, new_t)
        outputs += [m_t, m_f]
        states += [new_t, m_t]
    return outputs, states


def grid(w, x, s):
    outputs, states = grid_step(w, [x[:, k:k + 2] for k in range(3)], split(s, 6), False, False)
    return np.concatenate(outputs, 1), np.concatenate(states, 1)


def both_ways(w, x, *s):
    there, back = ({k.partition("/")[2]: v for k, v in w.items() if k.startswith(d)} for d in ("fwd/", "bwd/"))
    further = np.pad(x, [(0, 0), (0, 1)])
    a, p = grid_step(there, [x[:, k:k + 2] for k in range(3)], s[:6], True, True)
    b, q = grid_step(back, [further[:, k + 1:k + 3] for k in (2, 1, 0)], s[6:], True, True)
    return np.concatenate(a + b, 1), *p, *q


SLICES = {"feature_size": 2, "frequency_skip": 1}
S = RNG.randn(3, 12).astype("f")
CELLS = [
    ("CoupledInputForgetGateLSTMCell, normalised", lambda r: r.CoupledInputForgetGateLSTMCell(
        4, num_unit_shards=3, state_is_tuple=False, layer_norm=True), coupled_normal, [np.concatenate([C, H], 1)]),
    ("LayerNormLSTMCell", lambda r: r.LayerNormLSTMCell(4, True, 0.7, num_proj=2, proj_clip=0.3, layer_norm=True), normal_lstm,
     [C, H[:, :2]]),
    ("GLSTMCell", lambda r: r.GLSTMCell(4, num_proj=2, number_of_groups=2), groups, [C, H[:, :2]]),
    ("WeightNormLSTMCell", lambda r: r.WeightNormLSTMCell(4, True, True, 0.7, num_proj=2, proj_clip=0.3), weight_norm,
     [C, H[:, :2]]),
    ("GRUBlockCell", lambda r: r.GRUBlockCell(4), gru_block, [H]),
    ("TimeFreqLSTMCell", lambda r: r.TimeFreqLSTMCell(2, True, 0.8, **SLICES), time_freq, [S]),
    ("GridLSTMCell", lambda r: r.GridLSTMCell(2, True, cell_clip=0.9, num_frequency_blocks=[3], state_is_tuple=False, **SLICES),
     grid, [S]),
    ("BidirectionalGridLSTMCell", lambda r: r.BidirectionalGridLSTMCell(
        2, True, True, 0.9, num_frequency_blocks=[3], couple_input_forget_gates=True, backward_slice_offset=1, **SLICES),
     both_ways, np.split(S, 6, 1) * 2),
    ("UGRNNCell", lambda r: r.UGRNNCell(4), ugrnn, [H]),
    ("MinimalRNNCell", lambda r: r.MinimalRNNCell(4), minimal, [H]), ("CFNCell", lambda r: r.CFNCell(4), chaos_free, [H]),
    ("IntersectionRNNCell", lambda r: r.IntersectionRNNCell(4), intersection, [H]),
    ("NASCell", lambda r: r.NASCell(4, 2, use_bias=True), nas, [C, H[:, :2]]),
    ("CoupledInputForgetGateLSTMCell", lambda r: r.CoupledInputForgetGateLSTMCell(4, True, num_proj=2, proj_clip=0.2), coupled,
     [C, H[:, :2]]),
    ("IndRNNCell", lambda r: r.IndRNNCell(4), indrnn, [H]), ("IndyGRUCell", lambda r: r.IndyGRUCell(4), indygru, [H]),
    ("IndyLSTMCell", lambda r: r.IndyLSTMCell(4), indylstm, [C, H]), ("SRUCell", lambda r: r.SRUCell(4), sru, [C]),
    ("HighwayWrapper", lambda r: r.HighwayWrapper(tf.nn.rnn_cell.BasicRNNCell(4), False), highway, [H]),
]


@pytest.mark.parametrize(("name", "make", "formula", "states"), CELLS, ids=[c[0] for c in CELLS])
def test_one_step(name, make, formula, states):
    cell = make(tf.contrib.rnn)
    given = [tf.constant(s) for s in states]
    out, state = cell(tf.constant(X), given[0] if len(given) == 1 else type(cell.state_size)(*given))
    results = [out, *(state if isinstance(state, tuple) else [state])]
    variables = [v for v, g in zip(tf.trainable_variables(), tf.gradients(results, tf.trainable_variables())) if g is not None]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for v in variables:  # biases other than 0
            v.load(RNG.uniform(-1, 1, v.shape.as_list()).astype("f"), sess)
        weights = {v.op.name.partition("/")[2]: sess.run(v).astype(np.float64) for v in variables}
        got = sess.run(results)
        want = formula(weights, X.astype(np.float64), *(s.astype(np.float64) for s in states))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)
        # the derivative by all weights at once, in one direction
        total = tf.add_n([tf.reduce_sum(r * r) for r in results])
        grads = sess.run(tf.gradients(total, variables))
        slope, directions = 0, {v: RNG.uniform(-1, 1, v.shape.as_list()) for v in variables}
        for v, g in zip(variables, grads, strict=True):
            slope += (directions[v] * g).sum()
    ends = []
    for step in (1e-6, -1e-6):
        moved = {k: weights[k] + step * directions[v] for k, v in zip(weights, variables)}
        ends.append(sum((r**2).sum() for r in formula(moved, X.astype(np.float64), *(s.astype(np.float64) for s in states))))
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-3, atol=1e-4)


def test_phased_lstm():
    cell = tf.contrib.rnn.PhasedLSTMCell(4, use_peepholes=True, ratio_on=0.5, period_init_min=2.0, period_init_max=9.0)
    time = np.array([[0.3], [4.0], [7.5]], "f")
    inputs = (tf.placeholder_with_default(time, [3, 1]), tf.constant(X))
    out, state = cell(inputs, tf.nn.rnn_cell.LSTMStateTuple(tf.constant(C), tf.constant(H)))
    d_time, *grads = tf.gradients(out, [inputs[0], *tf.trainable_variables()])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        w = {v.op.name.partition("/")[2]: sess.run(v) for v in tf.trainable_variables()}
        out, state, d_time, grads = sess.run([out, state, d_time, grads])
    gates = {k: {"kernel": w[f"{k}/kernel"], "bias": w[f"{k}/bias"]} for k in ("mask_gates", "new_input", "output_gate")}
    i, f = split(sig(lin(gates["mask_gates"], X, H, C)), 2)
    c = C * f + i * np.tanh(lin(gates["new_input"], X, H))
    h = np.tanh(c) * sig(lin(gates["output_gate"], X, H, c))
    cycle = (time - w["phase"]) % w["period"] / w["period"]
    k = np.where(cycle < 0.25, 4 * cycle, np.where(cycle < 0.5, 2 - 4 * cycle, 0.001 * cycle))
    assert np.all((w["period"] >= 2) & (w["period"] <= 9) & (w["phase"] >= 0) & (w["phase"] <= w["period"]))
    np.testing.assert_allclose(state.c, k * c + (1 - k) * C, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(out, k * h + (1 - k) * H, rtol=1e-4, atol=1e-5)
    slope = np.where(cycle < 0.25, 4, np.where(cycle < 0.5, -4, 0.001)) / w["period"]
    np.testing.assert_allclose(d_time[:, 0], (slope * (h - H)).sum(1), rtol=1e-3, atol=1e-4)
    assert all(np.isfinite(g).all() for g in grads)


def test_cells_run_in_loops():
    inputs = tf.constant(X[:, None] * np.ones([1, 5, 1], "f"))
    out, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.HighwayWrapper(tf.contrib.rnn.UGRNNCell(4)), inputs, dtype=tf.float32)
    grads = tf.gradients(out, tf.trainable_variables())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert all(np.any(g) for g in sess.run(grads))


def test_block_cells_have_the_variables_of_the_plain_one():
    x, h = tf.constant(X), tf.constant(H)
    a, _ = tf.contrib.rnn.GRUBlockCellV2(4)(x, h, scope="s")
    b, _ = tf.nn.rnn_cell.GRUCell(4, reuse=True)(x, h, scope="s")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*sess.run([a, b]), rtol=1e-5)


def test_classes_as_inputs():
    cell = tf.contrib.rnn.EmbeddingWrapper(tf.nn.rnn_cell.GRUCell(4), 3, 2)
    out, _ = tf.nn.dynamic_rnn(cell, tf.constant([[[0], [2]]]), dtype=tf.float32)
    table = tf.trainable_variables()[0]
    assert table.op.name == "rnn/embedding_wrapper/embedding" and table.shape.as_list() == [3, 2]
    grad = tf.convert_to_tensor(tf.gradients(out, table)[0])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert (np.abs(sess.run(grad)).sum(1) > 0).tolist() == [True, False, True]


def test_attention_over_a_joined_state():
    outputs = []
    for joined in (False, True):
        base = tf.nn.rnn_cell.GRUCell(4, kernel_initializer=tf.ones_initializer())
        cell = tf.contrib.rnn.AttentionCellWrapper(base, 3, state_is_tuple=not joined)
        with tf.variable_scope(f"{joined}", initializer=tf.constant_initializer(0.3)):
            outputs.append(tf.nn.dynamic_rnn(cell, tf.constant(X[:, None]), dtype=tf.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        (a, state), (b, together) = sess.run(outputs)
    np.testing.assert_allclose(a, b, rtol=1e-6)
    np.testing.assert_allclose(np.concatenate(state, 1), together, rtol=1e-6)


def test_refusals():
    r = tf.contrib.rnn
    with pytest.raises(ValueError, match="input size == output size"):
        r.IntersectionRNNCell(3)(tf.constant(X), tf.zeros([3, 3]))
    with pytest.raises(ValueError, match="Could not infer input size"):
        r.SRUCell(3)(tf.placeholder(tf.float32, [3, None]), tf.zeros([3, 3]))
    with pytest.raises(ValueError, match="Too many shards"):
        r.CoupledInputForgetGateLSTMCell(3, num_unit_shards=9)(tf.constant(X), (tf.zeros([3, 3]), tf.zeros([3, 3])))
    with pytest.raises(ValueError, match="divisible by number_of_groups"):
        r.GLSTMCell(5, number_of_groups=2)
    with pytest.raises(ValueError, match="Must specify num_frequency_blocks"):
        r.GridLSTMCell(2)
    cell = r.GridLSTMCell(2, num_frequency_blocks=[2], **SLICES)
    with pytest.raises(ValueError, match="Invalid num_frequency_blocks, requires 2 but gets 3"):
        cell(tf.constant(X), cell.zero_state(3, tf.float32))
    with pytest.raises(TypeError, match="The parameter cell is not RNNCell"):
        r.EmbeddingWrapper(None, 3, 2)
    with pytest.raises(ValueError, match="Cell returns tuple of states"):
        r.AttentionCellWrapper(tf.nn.rnn_cell.LSTMCell(3), 2, state_is_tuple=False)
    assert r.IntersectionRNNCell(3, num_in_proj=3)(tf.constant(X), tf.zeros([3, 3]))[0].shape == (3, 3)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("lengths", [None, [5, 2, 0]])
@pytest.mark.parametrize("listed", [True, False])
def test_networks_over_sequences_read_backwards(dynamic, lengths, listed):
    x = RNG.randn(5, 3, 2).astype("f")
    rnn = tf.contrib.rnn
    net = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.BasicRNNCell(4), dynamic))
    out, state = net(tf.unstack(tf.constant(x)) if listed else tf.constant(x), dtype=tf.float32, sequence_length=lengths)
    assert isinstance(out, list) is listed
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out, state, kernel = sess.run([out, state, tf.trainable_variables()[0]])
    for b, length in enumerate(lengths or [5, 5, 5]):
        h = np.zeros(4)
        for t in reversed(range(length)):
            h = np.tanh(np.concatenate([x[t, b], h]) @ kernel)
            np.testing.assert_allclose(out[t][b], h, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(state[b], h, rtol=1e-4, atol=1e-6)
        assert all(np.all(out[t][b] == 0) for t in range(length, 5))


def test_a_fused_network_reads_backwards():
    x = tf.constant(RNG.randn(5, 3, 2).astype("f"))
    net = tf.contrib.rnn.LSTMBlockFusedCell(4)
    forward, _ = net(tf.reverse(x, [0]), dtype=tf.float32)
    backward, _ = tf.contrib.rnn.TimeReversedFusedRNN(net)(x, dtype=tf.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        forward, backward = sess.run([forward, backward])
    np.testing.assert_allclose(backward, forward[::-1], rtol=1e-6)
