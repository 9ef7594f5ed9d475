"""Where values lie, and how often: constants of one number, variables that programs overwrite, feeds read in place."""

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import buffers, config


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0)
    monkeypatch.setattr(config, "tiny_ops", 0)


@pytest.mark.parametrize("runs", [0, 3])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.int64, tf.bfloat16])
def test_a_constant_of_one_number_takes_no_room(runs, dtype, monkeypatch):
    monkeypatch.setattr(config, "host_runs", runs)
    monkeypatch.setattr(config, "tiny_ops", 0)
    x = tf.placeholder(dtype, [])
    three, seven = tf.constant(3, dtype, [40, 50]), tf.constant(7, dtype, [40, 50])
    assert buffers.uniform(three.op.attrs["value"])
    with tf.Session() as sess:
        a, b, c = sess.run([three * x, seven * x, three], {x: 2})
    assert a.dtype == dtype.as_numpy_dtype and np.all(a == 6) and np.all(b == 14)
    c[0, 0] = 1  # the caller's own
    assert c[0, 0] == 1 and np.all(c[1:] == 3)


def test_variables_that_begin_as_one_number_are_overwritten_alone(monkeypatch):
    start = tf.constant(0.5, shape=[200, 100])
    v, w = tf.Variable(start), tf.Variable(start)
    step = tf.assign_add(v, tf.ones([200, 100]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert buffers.uniform(sess.state[w.op])
        monkeypatch.setattr(config, "host_runs", 0)
        for _ in range(2):
            sess.run(step)
        assert np.all(sess.run(v) == 2.5) and np.all(sess.run(w) == 0.5) and np.all(sess.run(start) == 0.5)


def test_a_fed_array_that_a_variable_took_stays_as_it_was(compiled):
    fed = buffers.like(np.zeros([300, 100], np.float32))
    fed[...] = 1
    x = tf.placeholder(tf.float32, [300, 100])
    v = tf.Variable(tf.zeros([300, 100]))
    take, step = tf.assign(v, x), tf.assign_add(v, tf.ones([300, 100]))
    with tf.Session() as sess:
        sess.run(take.op, {x: fed})
        kept = sess.run(v)
        sess.run(step)
        sess.run(step)
        assert np.all(fed == 1) and np.all(kept == 1) and np.all(sess.run(v) == 3)


def test_large_feeds_are_read_from_memory_of_their_own(compiled):
    x = tf.placeholder(tf.float32, [200, 100])
    twice = tf.identity(x) * 2.0
    with tf.Session() as sess:
        results = [sess.run([twice, x], {x: np.full([200, 100], n, np.float32)}) for n in range(3)]
        strided = sess.run(twice, {x: np.ones([100, 200], np.float32).T})
    for n, (doubled, same) in enumerate(results):
        assert np.all(doubled == 2 * n) and np.all(same == n)
    assert np.all(strided == 2)
