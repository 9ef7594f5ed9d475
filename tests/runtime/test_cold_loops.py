"""Loops and branches in the first runs of a program are NumPy's: the same results as compiled, and the same refusals."""

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import background, config


def _rnn(x, w):
    rows = tf.TensorArray(tf.float64, 4).unstack(x)
    out = tf.TensorArray(tf.float64, 4)

    def turn(t, h, out):
        h = tf.tanh(tf.matmul(h, w) + rows.read(t))
        return t + 1, h, out.write(t, h)

    return tf.while_loop(lambda t, h, out: t < 4, turn, [0, tf.zeros([2, 3], tf.float64), out])[2].stack()


def _random(x, w):
    def turn(i, y):
        return i + 1, tf.random_uniform([2, 3], seed=4, dtype=tf.float64) * (y @ w)

    return tf.while_loop(lambda i, y: i < 3, turn, [0, x[0]])[1]


def _branches(x, w):
    def turn(i, y):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.matmul(y, w), lambda: tf.sin(y) * tf.reduce_sum(w))

    return tf.while_loop(lambda i, y: i < 5, turn, [0, x[0]])[1]


def _switched(x, w):
    index = tf.cast(tf.reduce_sum(x) * 0.0, tf.int32) + 1
    return tf.switch_case(index, [lambda: x[0] @ w, lambda: tf.exp(x[0]) @ w @ w, lambda: x[0]])


def _nested(x, w):
    def inner(h):
        return tf.while_loop(lambda j, h: j < 2, lambda j, h: (j + 1, tf.tanh(h @ w)), [0, h])[1]

    return tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, inner(h) + x[i]), [0, x[3]])[1]


def _no_turns(x, w):
    rows = tf.map_fn(lambda row: tf.sin(row @ w), x)
    return tf.while_loop(lambda i, h: i < 0, lambda i, h: (i + 1, h @ w), [0, x[0]])[1] + rows[1]


def _data_decides(x, w):
    return tf.while_loop(lambda h: tf.reduce_sum(tf.abs(h)) > 1.0, lambda h: 0.5 * (h @ w), [x[0]])


@pytest.mark.parametrize("make, batch", [(_rnn, None), (_random, 2), (_branches, 2), (_switched, 2), (_nested, None),
                                         (_no_turns, 2), (_data_decides, 2)])
def test_results_and_gradients_are_those_of_the_compiled_program(make, batch, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", None)
    x = tf.placeholder(tf.float64, [4, batch, 3])
    w = tf.Variable(np.linspace(-0.4, 0.5, 9).reshape(3, 3), use_resource=True)
    y = make(x, w)
    first = tf.gradients(tf.reduce_sum(tf.sin(y)), [x, w])
    second = tf.gradients(tf.reduce_sum(first[0] ** 2), [w])
    fed = {x: np.random.default_rng(1).normal(size=[4, 2, 3])}
    compiled, results = [], []
    monkeypatch.setattr(background, "compile_soon", compiled.append)
    for runs in (3, 0):
        monkeypatch.setattr(config, "host_runs", runs)
        with tf.Session() as sess:
            sess.run(w.initializer)
            before = sess.compiles
            results.append(sess.run([y, *first, second[0]], fed))
            if runs and make is not _data_decides:  # how long that takes nobody knows
                assert sess.compiles == before
    for cold, warm in zip(*results):
        assert cold.shape == warm.shape and cold.dtype == warm.dtype
        np.testing.assert_allclose(cold, warm, rtol=1e-12, atol=1e-14)


def test_a_loop_whose_variable_changes_its_shape_is_made_again():
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a], 0)), [0, x],
                      shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])[1]
    with tf.Session() as sess:
        for _ in range(4):
            assert sess.run(tf.reduce_sum(y), {x: np.ones([1, 2])}) == 16


def test_a_long_loop_of_small_operations_is_compiled_when_it_turns_out_hot(monkeypatch):
    monkeypatch.setattr(config, "cache_dir", None)  # what comes from the disk is not compiled
    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda i, a: i < 20, lambda i, a: (i + 1, a * 1.01 + 0.1), [0, x])[1]
    with tf.Session() as sess:
        before = sess.compiles
        cold = [sess.run(y, {x: 1.0}) for _ in range(5)]
        assert sess.compiles == before + 1
    assert cold[0] == cold[1] == cold[2] and cold[3] == cold[4] and cold[0] == pytest.approx(cold[3], rel=1e-6)
