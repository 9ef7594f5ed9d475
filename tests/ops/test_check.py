"""Assertions and printing."""

import numpy as np
import pytest

import regrad as tf
from regrad.ops.check import assert_true

InvalidArgument = tf.errors.InvalidArgumentError

ROWS = [  # name, arguments that hold, arguments that do not, what the error says
    ("assert_equal", ([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], 2.0), r"x == y did not hold.*\[1 2\].*= \] \[2\]"),
    ("assert_none_equal", ([1.0, 2.0], 3.0), ([1.0, 2.0], 2.0), "x != y"),
    ("assert_less", ([1.0, 2.0], 3.0), ([1.0, 2.0], 2.0), "x < y"),
    ("assert_less_equal", ([1.0, 2.0], 2.0), ([1.0, 2.5], 2.0), "x <= y"),
    ("assert_greater", ([1.0, 2.0], 0.0), ([1.0, 2.0], 1.0), "x > y"),
    ("assert_greater_equal", ([1.0, 2.0], 1.0), ([1.0, 2.0], 1.5), "x >= y"),
    ("assert_near", ([1.0, 2.0], [1.0, 2.0 + 1e-6]), ([1.0, 2.0], 1.5), "not equal to tolerance"),
    ("assert_positive", ([1.0],), ([1.0, 0.0],), r"x > 0 did not hold.*\[1 0\]"),
    ("assert_negative", ([-1.0],), ([-1.0, 0.0],), "x < 0"),
    ("assert_non_negative", ([0.0],), ([-1.0],), "x >= 0"),
    ("assert_non_positive", ([0.0],), ([1.0],), "x <= 0"),
]


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


@pytest.mark.parametrize(("name", "good", "bad", "says"), ROWS, ids=[r[0] for r in ROWS])
def test_when_run(name, good, bad, says):
    x = tf.placeholder(tf.float32, [None])
    run(getattr(tf, name)(x, *good[1:]), {x: good[0]})
    checked = getattr(tf, name)(x, *bad[1:], message="my words")
    with pytest.raises(InvalidArgument, match=says) as caught:
        run(checked, {x: bad[0]})
    assert "[my words]" in str(caught.value)
    with tf.control_dependencies([getattr(tf, name)(x, *bad[1:])]):
        y = x * 2.0
    with pytest.raises(InvalidArgument, match=says):
        run(y, {x: bad[0]})


AT_ONCE = [r for r in ROWS if r[0] != "assert_near"]  # whose tolerance the graph computes


@pytest.mark.parametrize(("name", "good", "bad", "says"), AT_ONCE, ids=[r[0] for r in AT_ONCE])
def test_at_once_where_values_are_known(name, good, bad, says):
    getattr(tf, name)(*good)
    with pytest.raises(InvalidArgument, match=says.split(".*")[0].split(" did")[0]):
        getattr(tf, name)(*bad)


STATIC = [
    (lambda: tf.assert_rank(np.ones(2), 2), ValueError, "must have rank 2.  Received rank 1"),
    (lambda: tf.assert_rank_at_least(np.ones(2), 2), ValueError, "rank at least 2"),
    (lambda: tf.assert_rank_in(np.ones(2), [0, 2]), ValueError, r"rank in \(0, 2\)"),
    (lambda: tf.assert_integer(1.0), TypeError, "integer type"),
    (lambda: tf.assert_type(1.0, tf.float64), TypeError, "must be of type <dtype: 'float64'>, not <dtype: 'float32'>"),
    (lambda: tf.assert_scalar([1.0]), ValueError, "Expected scalar"),
    (lambda: tf.assert_same_float_dtype([tf.constant(1.0)], tf.float64), ValueError, "same type"),
    (lambda: tf.assert_same_float_dtype([tf.constant(1)]), ValueError, "Expected floating"),
    (lambda: tf.assert_proper_iterable(np.ones(2)), TypeError, "iterable"),
]


@pytest.mark.parametrize(("build", "error", "says"), STATIC)
def test_static(build, error, says):
    with pytest.raises(error, match=says):
        build()


def test_what_passes_static_checks():
    for ok in (tf.assert_rank(1.0, 0), tf.assert_rank_at_least([[1.0]], 1), tf.assert_rank_in([1.0], (1, 2)),
               tf.assert_integer(3), tf.assert_type(1.0, tf.float32)):
        run(ok)
    assert tf.assert_same_float_dtype([tf.constant(1.0)]) is tf.float32
    x = tf.placeholder(tf.float32)
    run(tf.assert_rank(x, 1), {x: [1.0]})
    with pytest.raises(InvalidArgument, match="must have rank"):
        run(tf.assert_rank(x, 2), {x: [1.0]})


def test_assert_shows_its_data():
    x = tf.placeholder(tf.int32, [None, 2])
    check = tf.Assert(tf.reduce_all(x > 0), [x, "word"])
    run(check, {x: [[1, 2]]})
    with pytest.raises(InvalidArgument, match=r"assertion failed: \[\[0 1\]\[2\.\.\.\]\] \[word\]"):
        run(check, {x: [[0, 1], [2, 3]]})
    with pytest.raises(InvalidArgument, match="my reason"):
        run(assert_true(tf.reduce_all(x > 0), "my reason"), {x: [[0, 1]]})


def test_order_predicates():
    rows = [([1, 1, 2], True, False), ([1, 2, 3], True, True), ([2, 1], False, False), ([], True, True)]
    for row, non_decreasing, strictly in rows:
        x = tf.constant(np.array(row, np.int32))
        assert tuple(run([tf.is_non_decreasing(x), tf.is_strictly_increasing(x)])) == (non_decreasing, strictly)


def test_all_tensors_checked_for_numerics():
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(x, name="logarithm")
    checks = tf.add_check_numerics_ops()
    run([y, checks], {x: [1.0, 2.0]})
    with pytest.raises(InvalidArgument, match="logarithm:0 : Tensor had NaN"):
        run([y, checks], {x: [1.0, -2.0]})


def test_print_passes_on_and_prints(capsys):
    x = tf.placeholder(tf.float32, [2])
    y = tf.Print(x, [x, x * 2.0], "msg: ", first_n=2)
    dx = tf.gradients(y * 3.0, x)[0]
    with tf.Session() as sess:
        for _ in range(3):
            got, slope = sess.run([y, dx], {x: [1.0, 2.5]})
    np.testing.assert_array_equal(got, [1.0, 2.5])
    np.testing.assert_array_equal(slope, [3.0, 3.0])
    assert capsys.readouterr().err == "msg: [1 2.5][2 5]\n" * 2


def test_print_v2(capsys, tmp_path):
    import sys

    x = tf.placeholder(tf.float32, [2])
    run(tf.print("a", x, {"k": x}, [x, "t"], sep="|"), {x: [1.0, 2.0]})
    assert capsys.readouterr().err == "a|[1 2]|{'k': [1 2]}|[[1 2], 't']\n"
    run(tf.print(tf.range(9), 7, end="!", output_stream=sys.stdout))
    assert capsys.readouterr().out == "[0 1 2 ... 6 7 8] 7!"
    run(tf.print("x", x, output_stream=f"file://{tmp_path}/log"), {x: [3.0, 4.0]})
    assert (tmp_path / "log").read_text() == "x [3 4]\n"
