"""Jacobians, Hessians, products with them, forward mode; each under overrides too."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules

X = np.array([0.5, -1.2, 2.0])
M = np.arange(6.0).reshape(2, 3) - 2.5


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_jacobian():
    x, m = tf.constant(X), tf.constant(M)
    y = tf.sin(m) * x
    by_x, by_m = run(tf.jacobian(y, [x, m]))
    np.testing.assert_allclose(by_x, np.sin(M)[:, :, None] * np.eye(3))
    np.testing.assert_allclose(by_m, np.einsum("ij,ik,jl->ijkl", np.cos(M) * X, np.eye(2), np.eye(3)))


def test_jacobian_of_unknown_size_and_of_no_path():
    x = tf.placeholder(tf.float64, [None])
    y = tf.square(x[1:]) + x[:1]
    j, none = tf.jacobian(y, [x, tf.constant(1.0)])
    assert none is None and tf.jacobian(y, x).shape.as_list() == [None, None]
    np.testing.assert_allclose(run(j, {x: X}), [[1, 2 * X[1], 0], [1, 0, 2 * X[2]]])


def test_jacobian_under_an_override():
    x = tf.constant(X)
    plain, scaled = run([tf.jacobian(tf.tanh(x), x), tf.jacobian(tf.tanh(x), x, overrides={"Tanh": rules.scale(2.0)})])
    np.testing.assert_allclose(scaled, 2 * plain)


def test_hessians():
    x, m = tf.constant(X), tf.constant(M)
    y = tf.reduce_sum(tf.sin(x)) * x[0] + tf.reduce_sum(m**3.0)
    by_x, by_m = run(tf.hessians(y, [x, m]))
    expected = np.diag(-np.sin(X) * X[0])
    expected[0] += np.cos(X)
    expected[:, 0] += np.cos(X)
    np.testing.assert_allclose(by_x, expected)
    np.testing.assert_allclose(by_m.reshape(6, 6), np.diag(6 * M.ravel()))
    np.testing.assert_allclose(by_x, by_x.T)


@pytest.mark.parametrize("f", [
    lambda x: tf.reduce_sum(tf.sin(x) * x[0]), lambda x: tf.reduce_prod(x), lambda x: tf.reduce_logsumexp(x * 2.0),
    lambda x: tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(h * h + x[1])), (0, x))[1]])
def test_products_with_the_hessian_are_the_hessian_times_the_vector(f):
    x, v = tf.constant(X), np.array([1.0, -2.0, 0.5])
    y = tf.reduce_sum(f(x))
    product, hessian = run([tf.hessian_vector_product(y, x, [v.tolist()])[0], tf.hessians(y, x)[0]])  # numbers get x's dtype
    np.testing.assert_allclose(product, hessian @ v, rtol=1e-10)


@pytest.mark.parametrize("f", [
    lambda x: tf.sin(x) * tf.reverse(x, [0]), lambda x: tf.sin(x) / (x + 3.0), tf.nn.softmax, lambda x: tf.gather(x, [2, 2, 0]),
    lambda x: tf.cond(x[0] > 0.0, lambda: tf.exp(x), lambda: x), lambda x: tf.cumsum(x * x),
    lambda x: tf.scan(lambda a, v: tf.tanh(a * v), x)])
def test_forward_mode_is_the_jacobian_times_the_vector(f):
    x, v = tf.constant(X), np.array([1.0, -2.0, 0.5])
    y = f(x)
    product, jacobian = run([tf.forward_gradients(y, x, v)[0], tf.jacobian(y, x)])
    np.testing.assert_allclose(product, jacobian @ v, rtol=1e-10)


def test_forward_mode_by_several_and_of_no_path():
    a, b = tf.constant(2.0), tf.constant(3.0)
    assert run(tf.jvp(a * b, [a, b], [1.0, 10.0])) == [23.0]
    assert tf.jvp(a * 1.0, b, [1.0]) == [None]


def test_forward_mode_uses_the_rules_in_force():
    x = tf.constant(X)
    y = tf.tanh(x)
    plain, tripled = run([tf.jvp(y, x, X)[0], tf.jvp(y, x, X, overrides={"Tanh": rules.scale(3.0)})[0]])
    np.testing.assert_allclose(tripled, 3 * plain)


def test_views_share_one_program():
    x = tf.constant(X)
    y = tf.nn.relu(tf.sin(x))
    views = [tf.View("true"), tf.View("guided", {"Relu": rules.guided_relu}), tf.View("deconv", {"Relu": rules.deconvnet_relu})]
    got = run(tf.view_gradients(y, x, views, grad_ys=[tf.constant(-X)]))
    relu = (np.sin(X) > 0) * 1.0
    np.testing.assert_allclose(got["true"][0], -X * relu * np.cos(X))
    np.testing.assert_allclose(got["guided"][0], np.maximum(-X, 0) * relu * np.cos(X))
    np.testing.assert_allclose(got["deconv"][0], np.maximum(-X, 0) * np.cos(X))


def test_a_view_has_any_name():
    x = tf.constant(X)
    got = run(tf.view_gradients(x * x, x, [tf.View("gradient x input, 1é"), tf.View("β")]))
    assert sorted(got) == ["gradient x input, 1é", "β"]


def test_refusals():
    x = tf.constant(X)
    with pytest.raises(ValueError, match="same length"):
        tf.hessian_vector_product(tf.reduce_sum(x), [x], [X, X])
    with pytest.raises(ValueError, match="same length"):
        tf.forward_gradients(x, [x, x], [X])
    with pytest.raises(ValueError, match="one name"):
        tf.view_gradients(x, x, [tf.View("a"), tf.View("a")])


def test_a_jacobian_without_a_path():
    x, other = tf.constant([1.0, 2.0]), tf.constant([3.0])
    y = tf.square(x)
    assert tf.jacobian(y, other) is None
    assert tf.jacobian(y, [other]) == [None]
    assert [j is None for j in tf.jacobian(y, [x, other])] == [False, True]


def test_batch_jacobian():
    from regrad.python.ops.parallel_for import gradients as pfor

    x, m = tf.placeholder(tf.float64, [None, 3]), tf.constant(np.random.RandomState(0).randn(3, 4))
    y = tf.reshape(tf.tanh(tf.matmul(x, m)) * x[:, :1] ** 2, [-1, 2, 2])
    j = tf.batch_jacobian(y, x)
    assert j.shape.as_list() == [None, 2, 2, 3]
    value = np.random.RandomState(1).randn(5, 3)
    with tf.Session() as sess:
        each, whole, again, rows = sess.run([j, tf.jacobian(y, x), pfor.batch_jacobian(y, x, use_pfor=False),
                                             pfor.jacobian(y, x, use_pfor=False)], {x: value})
    np.testing.assert_allclose(each, whole[np.arange(5), :, :, np.arange(5)], rtol=1e-10)
    np.testing.assert_allclose(each, again)
    np.testing.assert_allclose(whole, rows)
    assert tf.batch_jacobian(y, tf.ones([5, 3])) is None
    with pytest.raises(ValueError, match="must be the same batch"):
        tf.batch_jacobian(tf.ones([2, 3]), tf.ones([3, 3]))
