"""tf.contrib.staging and tf.contrib.compiler."""
import numpy as np
import pytest

import regrad as tf

StagingArea = tf.contrib.staging.StagingArea


def test_what_one_run_leaves_the_next_gets():
    x = tf.placeholder(tf.float32, [2])
    area = StagingArea([tf.float32, tf.int32], shapes=[[2], []])
    put, (a, n) = area.put([x, 7]), area.get()
    assert a.shape.as_list() == [2] and n.shape.as_list() == [] and area.dtypes == [tf.float32, tf.int32]
    w = tf.Variable([1.0, 1.0])
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * a))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(put, {x: [1.0, 2.0]})
        for i in range(3):  # a pipeline: trains on what was put before
            sess.run([step, put], {x: [i, 0.0]})
        assert sess.run(area.size()) == 1
        np.testing.assert_allclose(sess.run(w), [1 - 0.5 * (1 + 0 + 1), 0.0])
        assert [v.tolist() for v in sess.run([a, n])] == [[2.0, 0.0], 7]


def test_names_and_unknown_shapes():
    area = StagingArea([tf.float32], shapes=[[None]], names=["x"], capacity=2)
    got = area.get()
    assert got["x"].shape.as_list() == [None]
    with tf.Session() as sess:
        sess.run(area.put({"x": [1.0]}))
        sess.run(area.put({"x": [1.0, 2.0]}))
        assert [sess.run(got)["x"].tolist() for _ in range(2)] == [[1.0], [1.0, 2.0]]


@pytest.mark.parametrize("arguments, words", [
    ({"dtypes": []}, "at least one dtype"), ({"dtypes": [tf.int32], "shapes": [[], []]}, "shapes must be the same length"),
    ({"dtypes": [tf.int32], "capacity": -1}, "capacity must be"),
    ({"dtypes": [tf.int32], "memory_limit": 9}, "memory_limit 0")])
def test_refusals(arguments, words):
    with pytest.raises(ValueError, match=words):
        StagingArea(**arguments)


def test_a_scope_of_the_compiler_changes_nothing():
    with tf.contrib.compiler.jit.experimental_jit_scope():
        y = tf.constant(2.0) * 3.0
    with tf.Session() as sess:
        assert sess.run(y) == 6.0
