"""Indices and class labels from outside are looked at before a compiled program gets them."""

import numpy as np
import pytest

import regrad as tf


def lookup(ids):
    return tf.nn.embedding_lookup(tf.get_variable("table", [5, 3]), tf.reshape(ids, [2, 2]))


def coordinates(ids):
    return tf.gather_nd(tf.get_variable("table", [3, 5]), tf.reshape(ids, [2, 2]))


def labels(ids):
    logits = tf.get_variable("logits", [4, 5])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.cast(ids, tf.int64), logits=logits)
    return [loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)]


def update(ids):
    return tf.scatter_update(tf.get_variable("table", [5, 3]), tf.identity(ids), tf.zeros([4, 3]))


def elements(ids):
    return tf.TensorArray(tf.float32, 5).unstack(tf.get_variable("rows", [5, 3])).gather(ids)


CASES = [
    (lookup, [0, 1, 2, 4], [0, 1, 5, 4], r"indices\[1,0\] = 5 is not in \[0, 5\)"),
    (lookup, [0, 1, 2, 4], [0, -1, 2, 4], r"indices\[0,1\] = -1 is not in \[0, 5\)"),
    (coordinates, [0, 4, 2, 1], [0, 4, 2, 5], r"indices\[1\] = \[2, 5\] does not index into param shape \[3, 5\]"),
    (labels, [0, 1, 2, 4], [0, 1, 9, 4], r"label value of 9 which is outside the valid range of \[0, 5\)"),
    (update, [0, 1, 2, 4], [0, 1, 2, 7], r"indices\[3\] = 7 is not in \[0, 5\)"),
    (elements, [0, 1, 2, 4], [0, 1, -1, 4], "read from index -1 but array size is: 5"),
]


@pytest.mark.parametrize("host_runs", [0, 9])
@pytest.mark.parametrize("build, good, bad, words", CASES, ids=[f"{c[0].__name__} {c[2]}" for c in CASES])
@pytest.mark.parametrize("source", ["fed", "host"])
def test_what_is_out_of_bounds_is_refused_and_changes_nothing(build, good, bad, words, host_runs, source, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", host_runs)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    fed = tf.placeholder(tf.int32, [4])
    ids = fed
    if source == "host":
        ids = tf.py_func(np.array, [fed], tf.int32)
        ids.set_shape([4])
    fetches = build(ids)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(fetches, {fed: good})
        before = session.run(tf.global_variables())
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(fetches, {fed: bad})
        for was, now in zip(before, session.run(tf.global_variables())):
            np.testing.assert_array_equal(was, now)
        session.run(fetches, {fed: good})


@pytest.mark.parametrize("host_runs", [0, 9])
def test_places_of_a_tensor_array(host_runs, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", host_runs)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    i, v = tf.placeholder(tf.int32, []), tf.get_variable("rows", [3, 2])
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False)
    fetches = [array.unstack(v).read(i), array.write(i, v[0]).stack(), array.scatter(tf.reshape(i, [1]), v[:1]).stack()]
    with tf.Session() as session:
        session.run(v.initializer)
        for fetch, verb in zip(fetches, ("read from", "write to", "write to")):
            for bad in (-1, 3):
                with pytest.raises(tf.errors.InvalidArgumentError, match=f"Tried to {verb} index {bad} "):
                    session.run(fetch, {i: bad})
        assert all((session.run(fetch, {i: 2}) != 0).any() for fetch in fetches)
