"""Defun, with a gradient in Python, in another Defun, or its own operations'."""

import numpy as np
import pytest

import regrad as tf
from regrad.autodiff.defun import Defun


def _run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def test_a_gradient_in_python_sees_the_call():
    seen = {}

    def gradient(call, dy, dz):
        seen.update(inputs=len(call.inputs), outputs=len(call.outputs), type=call.type)
        x, y = call.inputs
        return dy * y * 100.0, dz * call.outputs[0]

    @Defun(tf.float32, tf.float32, python_grad_func=gradient)
    def both(x, y):
        return tf.round(x * y), x + y

    x, y = tf.constant([2.0]), tf.constant([3.0])
    a, b = both(x, y)
    grads = tf.gradients([a, b], [x, y])
    assert [v.tolist() for v in _run([a, b, *grads])] == [[6.0], [5.0], [300.0], [6.0]]
    assert seen == {"inputs": 2, "outputs": 2, "type": "both"}


def test_another_function_as_gradient_and_second_order():
    @Defun(tf.float64, tf.float64)
    def slope(x, dy):
        return dy * 5.0 * x

    @Defun(tf.float64, grad_func=slope, func_name="Odd")
    def odd(x):
        return tf.square(x)

    x = tf.placeholder(tf.float64, [None])
    y = odd(odd(x))
    dx, = tf.gradients(y, x)
    ddx, = tf.gradients(dx, x)
    assert y.op.name.startswith("Odd") and odd.name == "Odd"
    # y = x^4 with slopes 5 x^2 and 5 x: dx = 25 x^3, whose x^2 is differentiated with slope 5 x again.
    np.testing.assert_allclose(_run([y, dx, ddx], {x: [2.0]}), [[16.0], [200.0], [2.0 * 25 * 10 + 25 * 4]])


def test_without_a_gradient_of_its_own_the_body_is_differentiated():
    w = tf.Variable(3.0)

    @Defun()
    def scaled(x):
        return tf.square(x) * w

    x = tf.constant(2.0)
    y = scaled(x)
    grads = tf.gradients(y, [x, w])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([y, *grads]) == [12.0, 12.0, 4.0]


def test_shapes_and_refusals():
    @Defun(tf.float32, shape_func=lambda call: [call.inputs[0].shape])
    def hidden(x):
        return tf.py_func(lambda v: v, [x], tf.float32)

    assert hidden(tf.zeros([2, 3])).shape == [2, 3]
    with pytest.raises(TypeError, match="argument 0 is int32, expected float32"):
        hidden(tf.constant(1))
    with pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"):
        hidden(tf.zeros([2]), tf.zeros([2]))
    with pytest.raises(ValueError, match="Gradient defined twice"):
        Defun(tf.float32, grad_func=hidden, python_grad_func=lambda op, dy: dy)
    with pytest.raises(ValueError, match="takes 2 arguments, but 1 types"):
        Defun(tf.float32)(lambda x, y: x)


def test_under_tensorflows_name():
    from regrad.compat.tensorflow import _lookup

    assert _lookup("tensorflow.python.framework.function", "Defun") is Defun


def test_a_call_gives_a_tensor_or_a_tuple():
    @Defun(tf.float32)
    def one(x):
        return [x]

    @Defun(tf.float32)
    def two(x):
        return {"b": x, "a": -x}

    assert isinstance(one(3.0), tf.Tensor)
    assert isinstance(two(3.0), tuple) and _run(two(3.0)) == (-3.0, 3.0)


def test_a_gradient_may_differentiate_what_the_call_was_given():
    w = tf.Variable(2.0)
    x = tf.constant(3.0)
    y = tf.square(x) * w

    def gradient(call, dy):  # as recomputing libraries do: the result is an argument too
        return [10.0 * g for g in tf.gradients(call.inputs[2], list(call.inputs[:2]), dy)] + [None]

    @Defun(tf.float32, tf.float32, tf.float32, python_grad_func=gradient)
    def passed(x, w, y):
        return tf.identity(y)

    dx, dw = tf.gradients(passed(x, w, y), [x, w])
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert sess.run([dx, dw]) == [120.0, 90.0]
