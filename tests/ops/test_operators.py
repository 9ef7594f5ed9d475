"""Python's operators on tensors and variables."""

import operator

import numpy as np
import pytest

import regrad as tf

A = np.array([[1.5, -2.0], [3.0, 0.5]])
B = np.array([[2.0, 0.5], [-1.0, 4.0]])
I, J = np.array([7, -7, 5]), np.array([2, 2, -3])  # noqa: E741
T, F = np.array([True, True, False]), np.array([True, False, False])

BINARY = [  # operator, operands, op type, name
    (operator.add, A, B, "Add", "add"), (operator.sub, A, B, "Sub", "sub"),
          (operator.mul, A, B, "Mul", "mul"),
    (operator.truediv, A, B, "RealDiv", "truediv"), (operator.floordiv, A, B, "FloorDiv", "floordiv"),
    (operator.mod, A, B, "FloorMod", "mod"), (operator.pow, np.abs(A), B, "Pow", "pow"),
    (operator.matmul, A, B, "MatMul", "matmul"), (operator.floordiv, I, J, "FloorDiv", "floordiv"),
    (operator.mod, I, J, "FloorMod", "mod"), (operator.and_, T, F, "LogicalAnd", "and"),
    (operator.or_, T, F, "LogicalOr", "or"), (operator.xor, T, F, "LogicalAnd", "xor"),
]
COMPARISONS = [(operator.lt, "Less"), (operator.le, "LessEqual"), (operator.gt, "Greater"),
               (operator.ge, "GreaterEqual")]


def run(t):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(t)


@pytest.mark.parametrize(("op", "x", "y", "op_type", "name"), BINARY,
                         ids=[f"{b[4]}-{b[1].dtype}" for b in BINARY])
def test_binary(op, x, y, op_type, name):
    t = op(tf.constant(x), tf.constant(y))
    assert (t.op.type, t.op.name) == (op_type, name)
    np.testing.assert_array_equal(run(t), op(x, y))
    left, right = op(tf.constant(x), y), op(x, tf.constant(y))
    assert left.op.name == f"{name}_1" and right.op.name == f"{name}_2"
    np.testing.assert_array_equal(run(left), op(x, y))
    np.testing.assert_array_equal(run(right), op(x, y))
    v = tf.Variable(x)
    np.testing.assert_array_equal(run(op(v, y)), op(x, y))
    np.testing.assert_array_equal(run(op(x, tf.Variable(y))), op(x, y))


@pytest.mark.parametrize(("op", "op_type"), COMPARISONS, ids=[c[1] for c in COMPARISONS])
def test_comparisons(op, op_type):
    t = op(tf.constant(I), 2)
    assert (t.op.type, t.op.name) == (op_type, op_type)
    np.testing.assert_array_equal(run(t), op(I, 2))
    np.testing.assert_array_equal(run(op(2, tf.constant(I))), op(2, I))
    np.testing.assert_array_equal(run(op(tf.Variable(I), 2)), op(I, 2))


def test_unary():
    x, b = tf.constant(A), tf.constant(T)
    for t, op_type, expected in ((-x, "Neg", -A), (abs(x), "Abs", abs(A)), (~b, "LogicalNot", ~T)):
        assert (t.op.type, t.op.name) == (op_type, op_type)
        np.testing.assert_array_equal(run(t), expected)
    np.testing.assert_array_equal(run(-tf.Variable(A)), -A)
    np.testing.assert_allclose(run(abs(tf.constant([3 + 4j]))), [5])


def test_constants_take_the_tensors_dtype_and_a_name():
    x = tf.placeholder(tf.float16, [2])
    y = 2 * x + 1.5
    assert y.dtype is tf.float16
    assert [t.op.name for t in y.op.inputs] == ["mul",
                                                "add/y"] and y.op.inputs[0].op.inputs[0].op.name == "mul/x"
    with pytest.raises(TypeError, match="Expected int32, got 1.5"):
        tf.constant([1]) + 1.5
    with pytest.raises(TypeError, match="float32.*int32|int32.*float32"):
        tf.constant([1]) + tf.constant([1.0])


def test_integers_divide_as_python_3_does():
    t = tf.constant([7]) / 2
    assert t.dtype is tf.float64 and run(t).tolist() == [3.5]
    assert (tf.constant([7], tf.int8) / tf.constant([2], tf.int8)).dtype is tf.float32
    assert run(tf.constant([7]).__div__(2)).tolist() == [3]


def test_equality_is_identity():
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert x == x and x != y and len({x, y}) == 2 and {x: 1}[x] == 1
    v = tf.Variable(1.0)
    assert v == v and v != x


def test_a_tensor_is_no_python_value():
    x = tf.placeholder("float32", [2, None], "x")
    with pytest.raises(TypeError, match="as a Python `bool`"):
        bool(x < 1)
    with pytest.raises(TypeError, match="as a Python `bool`"):
        0 < x[0, 0] < 1  # noqa: B015
    with pytest.raises(TypeError, match="len"):
        len(x)
    assert [t.shape.as_list() for t in x] == [[None], [None]]
    with pytest.raises(TypeError, match="cannot be iterated over"):
        iter(x[0])
    with pytest.raises(TypeError):
        x += "text"


def test_gradients_through_operators():
    x = tf.placeholder("float64", [2, 2])
    y = (2.0 - x) * x / (x @ x + 9.0) - x**2 % 0.7
    (g,) = tf.gradients(y, x)

    def f(a):
        return ((2 - a) * a / (a @ a + 9) - a**2 % 0.7).sum()

    numeric = [(f(A + 1e-6 * e) - f(A - 1e-6 * e)) / 2e-6 for e in np.eye(4).reshape(4, 2, 2)]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run(g, {x: A}).ravel(), numeric, rtol=1e-6)
