"""Steps that repeat themselves compile as a loop, and give what they give one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regrad as tf
from regrad.runtime import repeats, segment
from regrad.runtime.segment import clear_cache

BATCH, WIDTH, UNITS, TURNS = 3, 4, 5, 14
CELLS = {"gated": tf.nn.rnn_cell.GRUCell, "lstm": tf.nn.rnn_cell.BasicLSTMCell}


def cell(x_of, kind="lstm", use=lambda outs: outs[-1], wrap=lambda c: c):
    """Returns a function that builds an unrolled network of inputs `x_of(x)`, and gradients."""

    def build(x, w):
        with tf.variable_scope("net", initializer=tf.random_uniform_initializer(-0.5, 0.5, seed=4)):
            outs, _ = tf.nn.static_rnn(wrap(CELLS[kind](UNITS)), x_of(x), dtype=x.dtype)
        loss = tf.reduce_sum(tf.square(use(outs))) + tf.reduce_sum(w)
        return [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]

    return build


def unstacked(x):
    return tf.unstack(x, axis=1)


def split(x):
    return tf.split(tf.reshape(tf.transpose(x, [1, 0, 2]), [-1, WIDTH]), TURNS)


def sliced(x):
    return [x[:, t, :] for t in range(TURNS)]


def joined(outs):
    return tf.reshape(tf.concat(outs, 1), [-1, UNITS])


def stacked(outs):
    return tf.stack(outs, 1)[:, ::2]


def each(outs):
    return tf.add_n([tf.tanh(tf.nn.softplus(tf.sin(o) * 0.5 + 0.2) - 0.1) * 0.3 for o in outs])


def descent(x, w):
    """Turns that hold gradients themselves: steps of gradient descent, differentiated."""
    theta, data = w, x[:, 0]
    for _ in range(TURNS):
        theta -= 0.1 * tf.gradients(tf.reduce_mean(tf.square(tf.tanh(data @ theta) - 0.3)), theta)[0]
    loss = tf.reduce_mean(tf.square(x[:, 1] @ theta))
    return [loss, *tf.gradients(loss, [x, w])]


def four_stages(x, w):
    """A weight that is used several times in a turn: the products of its gradient come in several rows of their own."""
    def slope(h):
        return tf.tanh(h @ w[:, :WIDTH])

    h = x[:, 0]
    for _ in range(TURNS):
        first = slope(h)
        second = slope(h + 0.05 * first)
        h += 0.1 / 6 * (first + 2 * second + 2 * slope(h + 0.05 * second))
    return [h, *tf.gradients(h, [x, w])]


def backwards(x, w):
    """Rows read from the last to the first, and put together in the order they had."""
    rows = tf.unstack(x, axis=1)
    rows, seen = tf.unstack(x, axis=1), []
    h = rows[0]
    for row in reversed(rows):
        h = tf.tanh(tf.sin(h * 0.3) * row + tf.cos(h) * tf.reduce_mean(w))
        seen.append(h)
    return [tf.stack(seen[::-1]), *tf.gradients(seen, [x, w])]


def broadcast(x, w):
    """A first value and rows of other shapes than the others, from which results of one shape come."""
    h, rows = x[:1, 0], tf.unstack(x, axis=1)
    rows[3] = tf.reduce_mean(rows[3], 1, keepdims=True)
    for row in rows * 2:
        h = tf.tanh(tf.sin(h * 0.3) * row + tf.cos(h) * w[:BATCH, :WIDTH])
    return [h, *tf.gradients(h, [x, w])]


PROGRAMS = {
    "unstack": cell(unstacked), "split": cell(split, "gated"), "sliced": cell(sliced),
    "concatenated outputs": cell(unstacked, use=joined), "stacked outputs": cell(sliced, "gated", stacked),
    "summed outputs": cell(unstacked, "gated", each),
    "two layers": cell(unstacked, wrap=lambda _: tf.nn.rnn_cell.MultiRNNCell([CELLS["lstm"](UNITS) for _ in range(2)])),
    "dropout": cell(unstacked, wrap=lambda c: tf.nn.rnn_cell.DropoutWrapper(c, output_keep_prob=0.7, seed=3)),
    "descent": descent, "four stages": four_stages, "backwards": backwards, "broadcast": broadcast,
}


def tasks(x, w):
    """A meta-learner: a step of gradient descent for each row, from the same weights, judged by another row."""
    losses, weights = [], [w, tf.ones([UNITS, 2], x.dtype) / 3]

    def loss_of(weights, rows):
        return tf.reduce_mean(tf.square(tf.tanh(rows @ weights[0]) @ weights[1]))

    for row in tf.unstack(x, axis=1):
        gradients = tf.gradients(loss_of(weights, row), weights)
        losses.append(loss_of([p - 0.1 * g for p, g in zip(weights, gradients)], row[::-1] * 0.5))
    loss = tf.add_n(losses)
    return [loss, losses[3], *tf.gradients(loss, [x, w])]


def members(x, w):
    """An ensemble whose members have inputs, noise and a sorting of their own."""
    outs = []
    for k, own in enumerate(tf.unstack(x, axis=1)):
        h = tf.matmul(own, w) + tf.random_normal([BATCH, UNITS], seed=k, dtype=x.dtype)
        h = tf.cumsum(tf.nn.dropout(tf.sort(tf.sin(h), 1), keep_prob=0.8, seed=50 + k), 1) * tf.nn.softmax(h)
        outs.append(tf.tanh(h))
    return [tf.stack(outs), *tf.gradients(outs, [x, w])]


def images(x, w):
    """Convolutions of each member's own images by filters that all have, and by its own."""
    shared, outs = tf.reshape(w[:3, :3], [3, 3, 1, 1]), []
    for own in tf.unstack(x, axis=1):
        image = tf.tile(tf.reshape(own, [1, BATCH, WIDTH, 1]), [2, 2, 2, 1])
        h = tf.nn.relu(tf.nn.conv2d(image, shared, [1, 2, 2, 1], "SAME"))
        h = tf.nn.conv2d(tf.sin(h), tf.nn.softmax(tf.reshape(own[:2, :2], [2, 2, 1, 1])), [1, 1, 1, 1], "VALID")
        outs.append(tf.reduce_sum(tf.square(tf.nn.max_pool(tf.tanh(h), [1, 2, 2, 1], [1, 1, 1, 1], "SAME"))))
    loss = tf.add_n(outs)
    return [loss, *tf.gradients(loss, [x, w])]


INDEPENDENT = {"tasks": tasks, "members": members, "images": images}


def run(build, loops, **others):
    """Returns what a run gives, of the compiled program with loops or by NumPy, and the loops."""
    found, find = [], repeats.find
    names = {"host_runs": 0 if loops else 9, "tiny_ops": 0, "cache_dir": None, "repeat_size": 0, "apart_ops": 30, **others}
    before = {name: getattr(tf.config, name) for name in names}
    try:
        for name, number in names.items():
            setattr(tf.config, name, number)
        repeats.find = lambda w: found.append(find(w)) or found[-1]
        clear_cache()
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            x, w = tf.placeholder(tf.float64, [BATCH, TURNS, WIDTH]), tf.placeholder(tf.float64, [WIDTH, UNITS])
            fetches = build(x, w)
            session.run(tf.global_variables_initializer())
            rng = np.random.default_rng(0)
            return session.run(fetches, {x: rng.standard_normal(x.shape), w: rng.standard_normal(w.shape)}), sum(found, [])
    finally:
        repeats.find = find
        for name, number in before.items():
            setattr(tf.config, name, number)
        clear_cache()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_gives_what_the_steps_give(name):
    want, none = run(PROGRAMS[name], False)
    got, loops = run(PROGRAMS[name], True)
    assert not none and len(loops) >= 2, loops  # forwards and backwards
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_small_turns_that_do_not_depend_on_one_another_are_computed_at_once(name):
    want, _ = run(INDEPENDENT[name], False)
    got, found = run(INDEPENDENT[name], True, repeat_size=1 << 20)
    assert len(found) >= 2 and not any(r.carried for r in found), found
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_small_turns_that_depend_on_one_another_stay_as_they_are():
    assert run(PROGRAMS["unstack"], True, repeat_size=1 << 20)[1] == []


OPERATIONS = {  # of two values of the turn, its row, and what is the same in all turns
    "add": lambda a, b, row, same: a + b,
    "mul": lambda a, b, row, same: tf.sin(a * b),
    "tanh": lambda a, b, row, same: tf.tanh(a),
    "row": lambda a, b, row, same: a * 0.5 + row,
    "same": lambda a, b, row, same: a * same,
    "constant": lambda a, b, row, same: 0.7 * a,
}
READINGS = {"sum": tf.add_n, "stack": tf.stack, "last": lambda values: values[-1], "third": lambda values: values[3]}


def test_a_program_that_is_short_but_for_its_repeats_is_not_cut():
    want, _ = run(PROGRAMS["two layers"], False)
    before = segment.compile_count
    got, loops = run(PROGRAMS["two layers"], True, whole_ops=400)  # of 900 operations
    # The initial values are one more; the loops are found twice, to decide and to compile.
    assert segment.compile_count - before == 2 and len(loops) == 4
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


@st.composite
def recurrences(draw):
    """Returns a function that builds a program of turns that are wired at random, and what is read of them afterwards."""
    n_carried, period = draw(st.integers(0, 3)), draw(st.integers(6, 12))
    pick = st.integers(0, 1 << 20)
    kinds = st.sampled_from(sorted(OPERATIONS))
    ops = [(draw(kinds), draw(pick), draw(pick)) for _ in range(period)]
    handed_on = [draw(pick) for _ in range(n_carried)]
    read = [(draw(pick), draw(st.sampled_from(sorted(READINGS)))) for _ in range(draw(st.integers(0, 3)))]
    backwards = draw(st.booleans())

    def build(x, w):
        rows = [x[:, t] for t in range(TURNS)]
        shared = w[:BATCH, :WIDTH]
        carried, turns = [rows[0], shared, x[:, 1] * 0.5][:n_carried], []
        for t in reversed(range(TURNS)) if backwards else range(TURNS):
            values = list(carried) or [rows[t]]
            for kind, i, j in ops:
                values.append(OPERATIONS[kind](values[i % len(values)], values[j % len(values)], rows[t], shared))
            carried = [tf.sin(values[i % len(values)]) for i in handed_on]
            turns.append(values + carried)
        results = carried or [turns[0][-1]]
        for i, how in read:
            each = [values[i % len(values)] for values in turns]
            results.append(READINGS[how](each))
        return [*results, *(g for g in tf.gradients(results, [x, w]) if g is not None)]

    return build


@settings(max_examples=12, deadline=None)
@given(recurrences(), st.sampled_from([0, 1 << 20]))
def test_turns_wired_at_random(build, repeat_size):
    for got, want in zip(run(build, True, repeat_size=repeat_size)[0], run(build, False)[0], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("product", [False, True])
def test_a_long_program_is_taken_apart_where_much_follows_from_one_another(product, monkeypatch):
    found, pieces = [], segment.Segment._pieces
    monkeypatch.setattr(segment.Segment, "_pieces", lambda self: found.append(pieces(self)) or found[-1])

    def build(x, w):
        h = [tf.tensordot(x, w, 1)]
        for n in range(60):
            h.append(tf.sin(h[-1]) + 0.1 * n * h[n * n % len(h)])
            if product and n % 9 == 0:
                h[-1] = tf.tensordot(h[-1], w, ((2,), (1,)))
                h[-1] = tf.tensordot(h[-1], w, 1)
        return [h[-1]]

    (want,), (got,) = run(build, False)[0], run(build, True)[0]
    np.testing.assert_allclose(got, want, rtol=1e-9)
    assert [p is None for p in found] == [product]
