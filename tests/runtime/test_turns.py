"""Loops whose turns do not depend on one another are computed at once, and give what they give turn by turn."""

import numpy as np
import pytest

import regrad as tf
from regrad.ops import flow, turns
from regrad.runtime.segment import clear_cache

N, WIDTH, UNITS = 6, 5, 3


def energy(row, w):
    return tf.reduce_sum(tf.tanh(tf.matmul(row[None], w)) ** 2)


def rows(x, w):
    return tf.map_fn(lambda row: tf.tanh(tf.matmul(row[None], w))[0], x)


def structures(x, w):
    """Several arrays read, several written, one of them of another dtype, numbers drawn in every turn."""
    def turn(given):
        row, k = given
        noise = tf.random_normal([UNITS], seed=3, dtype=x.dtype) + tf.cast(k, x.dtype)
        return tf.tensordot(row, w, 1) * noise, k * 2, tf.nn.dropout(row, keep_prob=0.5, seed=4)

    a, k, b = tf.map_fn(turn, (x, tf.range(N)), dtype=(x.dtype, tf.int32, x.dtype))
    return tf.reduce_sum(a, 1) + tf.cast(k, x.dtype) + tf.reduce_sum(b, 1)


def examples(x, w):
    """A gradient for each example."""
    return tf.map_fn(lambda row: tf.gradients(energy(row, w), w)[0], x)


def jacobian(x, w):
    return tf.jacobian(tf.tanh(tf.matmul(x, w)), w)


def sums(x, w):
    """Several sums, one of a product, one that broadcasts, over every other row from the last on."""
    def turn(i, total, product, count):
        row = tf.sin(x[i])
        return (i - 2, total + row + 1.0, product + tf.matmul(row[:, None], tf.reduce_sum(w, 0)[None]),
                tf.add_n([count, row[:2]]) + tf.reduce_mean(row))

    _, *found = tf.while_loop(lambda i, *_: i >= 1, turn, [N - 1, tf.zeros([WIDTH], x.dtype), w, tf.zeros([2], x.dtype)])
    return tf.concat([tf.reshape(t, [-1]) for t in found], 0)


def backwards(x, w):
    """An array written from its end on, in part, over rows that were there."""
    start = tf.TensorArray(x.dtype, N, element_shape=[UNITS]).unstack(tf.tile(tf.reduce_sum(w, 0)[None], [N, 1]))
    def turn(i, a):
        return i - 1, a.write(i, tf.tensordot(x[i] * x[0], w, 1))

    return tf.while_loop(lambda i, _: i > 1, turn, (N - 1, start))[1].stack()


def unknown_rows(x, w):
    """Rows of a shape that only the turns tell, in two arrays, one of which is read no more."""
    def turn(i, a, b):
        row = tf.reshape(x[i], tf.shape(x)[1:])
        return i + 1, a.write(i, tf.cumsum(row)), b.write(i, row * 2)

    _, a, _ = tf.while_loop(lambda i, *_: i < N, turn, (0, tf.TensorArray(x.dtype, N), tf.TensorArray(x.dtype, N)))
    return a.stack() * tf.reduce_sum(w)


def sequences(x, w):
    """A loop in each turn, with numbers drawn in its turns."""
    def turn(row):
        def step(t, h):
            return t + 1, tf.tanh(row[t] * h @ w + tf.random_normal([1, UNITS], seed=5, dtype=x.dtype)) @ tf.transpose(w)

        return tf.while_loop(lambda t, _: t < WIDTH, step, (0, row[None]))[1][0]

    return tf.map_fn(turn, x)


def nested(x, w):
    return tf.map_fn(lambda row: tf.map_fn(lambda v: tf.sin(v) * tf.reduce_sum(w), row), x)


LOOPS_WITHIN = [sequences, nested]
AT_ONCE = [rows, structures, examples, jacobian, sums, backwards, unknown_rows]


def recurrence(x, w):
    return tf.scan(lambda h, row: tf.tanh(h + row), x) * tf.reduce_sum(w)


def read_again(x, w):
    """Turns that read what the one before wrote."""
    def turn(i, a):
        return i + 1, a.write(i, a.read(i - 1) * 0.5 + x[i])

    start = tf.TensorArray(x.dtype, N, clear_after_read=False).write(0, x[0])
    return tf.while_loop(lambda i, _: i < N, turn, (1, start))[1].stack() * tf.reduce_sum(w)


def a_row_twice(x, w):
    """Turns that write the same row: the last one stays."""
    start = tf.TensorArray(x.dtype, 2, element_shape=[WIDTH]).unstack(x[:2])
    _, out = tf.while_loop(lambda i, _: i < N, lambda i, a: (i + 1, a.write(i * 0, x[i])), (0, start))
    return out.stack() * tf.reduce_sum(w)


def counting_by_halves(x, w):
    """A float that counts is rounded in each turn."""
    i = tf.while_loop(lambda i, t, s: i < N, lambda i, t, s: (i + 1, t + 0.1, s + t * x[i]),
                      [0, tf.constant(0.0, x.dtype), x[0]])
    return i[2] * tf.reduce_sum(w)


def running(x, w):
    """A sum that turns read before it is whole."""
    return tf.while_loop(lambda i, s, a: i < N, lambda i, s, a: (i + 1, s + x[i], a.write(i, s)),
                         (0, x[0], tf.TensorArray(x.dtype, N)))[2].stack() * tf.reduce_sum(w)


def choices(x, w):
    return tf.map_fn(lambda row: tf.cond(row[0] > 0, lambda: energy(row, w), lambda: row[1]), x)


ONE_BY_ONE = [recurrence, read_again, a_row_twice, counting_by_halves, running, choices]


def run(build, compiled, monkeypatch, **settings):
    """Returns what a program gives, its first and its second derivatives, and which of its loops were computed at once."""
    found = []
    monkeypatch.setattr(flow, "at_once", lambda *a: found.append(turns.at_once(*a)) or found[-1])
    for name, number in {"host_runs": 0 if compiled else 9, "tiny_ops": 0, "cache_dir": None, **settings}.items():
        monkeypatch.setattr(tf.config, name, number)
    clear_cache()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, w = tf.placeholder(tf.float64, [N, WIDTH]), tf.placeholder(tf.float64, [WIDTH, UNITS])
        y = build(x, w)
        first = tf.gradients(tf.reduce_sum(y ** 2), [x, w])
        second = tf.gradients([tf.reduce_sum(tf.sin(g)) for g in first], [x, w])
        rng = np.random.default_rng(0)
        values = session.run([y, *first, *second], {x: rng.standard_normal(x.shape), w: rng.standard_normal(w.shape)})
    return values, [made is not None for made in found]


@pytest.mark.parametrize("build", [*AT_ONCE, *LOOPS_WITHIN, *ONE_BY_ONE], ids=lambda f: f.__name__)
def test_turns_at_once_give_what_turns_one_by_one_give(build, monkeypatch):
    want, none = run(build, False, monkeypatch)
    got, at_once = run(build, True, monkeypatch)
    assert not none and len(at_once) >= 3
    if build in LOOPS_WITHIN:
        assert any(at_once)  # not those within, and what is tried before all shapes are known
    else:
        assert all(at_once) if build in AT_ONCE else not at_once[0], at_once
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


def test_turns_that_make_much_are_made_one_by_one(monkeypatch):
    monkeypatch.setattr(turns, "_MOST", 100)
    assert not any(run(rows, True, monkeypatch)[1])


def test_programs_in_pieces_know_which_rows_the_turns_of_a_gradient_take(monkeypatch):
    assert all(run(rows, True, monkeypatch, apart_ops=0, call_ops=2)[1])


def test_loops_within_turns_end_each_at_its_own_time(monkeypatch):
    found = []
    monkeypatch.setattr(flow, "at_once", lambda *a: found.append(turns.at_once(*a)) or found[-1])
    for name, number in {"host_runs": 0, "tiny_ops": 0, "cache_dir": None}.items():
        monkeypatch.setattr(tf.config, name, number)
    x = tf.placeholder(tf.float32, [4])
    halved = tf.map_fn(lambda v: tf.while_loop(lambda v, k: v > 1, lambda v, k: (v / 2, k + 1), (v, 0))[1], x, dtype=tf.int32)
    with tf.Session() as session:
        assert session.run(halved, {x: [0.5, 9, 1e30, 2]}).tolist() == [0, 4, 100, 1]
    assert found[-1] is not None
