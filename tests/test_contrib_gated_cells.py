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


CELLS = [
    ("UGRNNCell", lambda r: r.UGRNNCell(4), ugrnn, [H]),
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
    out, state = cell(tf.constant(X), given[0] if len(given) == 1 else tf.nn.rnn_cell.LSTMStateTuple(*given))
    results = [out, *(state if isinstance(state, tuple) else [state])]
    variables = tf.trainable_variables()
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


def test_refusals():
    r = tf.contrib.rnn
    with pytest.raises(ValueError, match="input size == output size"):
        r.IntersectionRNNCell(3)(tf.constant(X), tf.zeros([3, 3]))
    with pytest.raises(ValueError, match="Could not infer input size"):
        r.SRUCell(3)(tf.placeholder(tf.float32, [3, None]), tf.zeros([3, 3]))
    with pytest.raises(NotImplementedError, match="shards"):
        r.CoupledInputForgetGateLSTMCell(3, num_unit_shards=2)
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
