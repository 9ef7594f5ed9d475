"""What gradients are made of, which numbers alone do not show: what loops save, which op types rules build, captures."""

import numpy as np
import pytest

import regrad as tf


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def _loop(body, x, turns=3):
    i, y = tf.while_loop(lambda i, _: i < turns, lambda i, x: (i + 1, body(x)), [0, x])
    return y


def _while(y):
    """Returns the loop of which `y` is a result."""
    op = y.op
    while op.type != "While":
        op = op.inputs[0].op
    return op


def _saved(y):
    """Returns the shapes of what the loop that made `y` hands to its gradient, besides the loop variables' last values."""
    loop = _while(y)
    return [t.shape.as_list() for t in loop.outputs[loop.get_attr("n_carry") + 1:]]


def test_a_loop_saves_no_rows_of_what_does_not_change():
    w = tf.constant(np.float32([[1, 2], [3, 4]]))
    x = tf.constant(np.float32([[1, 1]]))
    y = _loop(lambda x: tf.matmul(x, w), x)
    dx, dw = tf.gradients(y, [x, w])
    assert _saved(y) in ([[None, 1, 2]], [[None, 1, 2], [None, 1, 2]])  # rows of x; never of w
    w_ = np.float32([[1, 2], [3, 4]])
    got = _run([dx, dw])
    np.testing.assert_allclose(got[0], np.ones((1, 2)) @ np.linalg.matrix_power(w_.T, 3))
    steps = [np.ones((1, 2)) @ np.linalg.matrix_power(w_, k) for k in range(3)]
    np.testing.assert_allclose(got[1], sum(steps[k].T @ (np.ones((1, 2)) @ np.linalg.matrix_power(w_.T, 2 - k))
                                           for k in range(3)))


def test_a_loop_saves_no_rows_for_the_sake_of_a_shape():
    x = tf.placeholder(tf.float32, [None])
    y = _loop(lambda x: x + tf.constant([1.0, 2.0]), x)
    dx, = tf.gradients(y, x)
    assert _saved(y) == []
    np.testing.assert_allclose(_run(dx, {x: np.zeros(2, np.float32)}), [1.0, 1.0])


def test_what_a_loop_saves_has_names_of_its_own():
    x = tf.constant(np.float32([[1, 1]]))
    y = _loop(lambda x: tf.tanh(tf.matmul(x, x, transpose_a=True)[:1]), x)
    tf.gradients(y, x)
    outputs = _while(y).outputs
    assert [t.value_index for t in outputs] == list(range(len(outputs)))
    assert len(outputs) > 3


def test_a_gradient_added_after_a_run_reaches_into_loops_that_ran():
    x = tf.constant(np.float32([1.5]))
    y = _loop(lambda x: _loop(lambda x: tf.sin(x) * x, x, 2), x, 2)
    with tf.Session() as sess:
        before = sess.run(y)
        dx, = tf.gradients(y, x)
        after, slope = sess.run([y, dx])
    np.testing.assert_array_equal(before, after)
    u, s = 1.5, 1.0
    for _ in range(4):
        u, s = np.sin(u) * u, s * (np.cos(u) * u + np.sin(u))
    np.testing.assert_allclose(slope, [s], rtol=1e-5)


@pytest.mark.parametrize("inside", ["loop", "branch"])
def test_a_rule_inside_uses_a_tensor_from_outside(inside):
    x, scale = tf.constant([0.5]), tf.placeholder(tf.float32, [])
    doubled = 2.0 * scale

    def rule(op, dy):
        return dy * doubled

    y = _loop(tf.tanh, x, 2) if inside == "loop" else tf.cond(scale > 0, lambda: tf.tanh(tf.tanh(x)), lambda: x)
    dx, = tf.gradients(y, x, overrides={"Tanh": rule})
    np.testing.assert_allclose(_run(dx, {scale: 3.0}), [36.0])


def test_a_variable_that_one_branch_uses():
    w, v = tf.Variable([2.0, 3.0]), tf.Variable([5.0])
    choice = tf.placeholder(tf.bool, [])
    y = tf.cond(choice, lambda: tf.reduce_sum(w * w), lambda: tf.reduce_sum(v))
    grads = tf.gradients(y, [w, v])
    for chosen, expected in ((True, ([4.0, 6.0], [0.0])), (False, ([0.0, 0.0], [1.0]))):
        for got, e in zip(_run(grads, {choice: chosen}), expected):
            np.testing.assert_allclose(got, e)


@pytest.mark.parametrize("equation", ["ij,ij->ij", "ij,jk->ik", "bij,bjk->bik"])
def test_the_gradient_of_a_product_is_a_product(equation):
    first, second = equation.split("->")[0].split(",")
    x, y = (tf.placeholder(tf.float32, [3] * len(labels)) for labels in (first, second))
    grads = tf.gradients(tf.einsum(equation, x, y), [x, y])
    assert "LoweringVJP" not in {op.type for op in tf.get_default_graph().get_operations()}
    assert all(g.shape == t.shape for g, t in zip(grads, (x, y)))


def test_rows_joined_along_an_axis_that_is_fed():
    table, axis = tf.constant(np.arange(6.0).reshape(3, 2)), tf.placeholder(tf.int32, [])
    pair = tf.concat([table, table], axis)
    dx, = tf.gradients(tf.gather(tf.reshape(pair, [6, 2]), [0, 5, 5]), table)
    np.testing.assert_allclose(_run(tf.convert_to_tensor(dx), {axis: 0}), [[1, 1], [0, 0], [2, 2]])
    direct, = tf.gradients(tf.gather(pair, [0, 2, 2]), table)
    np.testing.assert_allclose(_run(tf.convert_to_tensor(direct), {axis: 0}), [[1, 1], [0, 0], [2, 2]])


def test_rows_of_no_elements():
    table, at = tf.constant(np.zeros((3, 0))), tf.placeholder(tf.int32, [None, 2])
    dx, = tf.gradients(tf.gather(table, at), table)
    values, indices = _run([dx.values, dx.indices], {at: [[0, 1], [2, 2]]})
    assert values.shape == (4, 0)
    np.testing.assert_array_equal(indices, [0, 1, 2, 2])


def test_values_that_wait_for_several_others():
    from regrad.ops.barrier import after

    x, y = tf.constant([2.0]), tf.constant([3.0])
    (z,) = after([x * x], [y, x + y, y * y])
    dx, dy = tf.gradients(z, [x, y])
    assert dy is None
    np.testing.assert_array_equal(_run(dx), [4.0])


def test_of_what_is_used_often_the_terms_are_summed_as_they_come():
    x = tf.constant([1.0, 2.0], tf.float64)
    g = tf.gradients([tf.sin(x) for _ in range(100)], x)[0]
    sums = [op for op in tf.get_default_graph().get_operations() if op.type == "AddN"]
    assert max(len(op.inputs) for op in sums) < 50
    rows = tf.gradients([tf.gather(x, [1]) for _ in range(100)], x)[0]
    assert isinstance(rows, tf.IndexedSlices)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(g), 100 * np.cos([1.0, 2.0]))
        np.testing.assert_allclose(session.run(tf.convert_to_tensor(rows)), [0.0, 100.0])
