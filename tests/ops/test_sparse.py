"""The functions and operators of SparseTensor, which the rows of `tests/cases/sparse.py` reach op by op."""

import numpy as np

import regrad as tf

AT, VALUES, DIMS = [[0, 1], [1, 0], [1, 3], [2, 2]], np.float32([1, 2, 3, 4]), [3, 4]
DENSE = np.zeros(DIMS, np.float32)
DENSE[tuple(np.transpose(AT))] = VALUES


def _run(x):
    with tf.Session() as sess:
        return sess.run(x)


def _dense(x):
    return _run(tf.sparse_tensor_to_dense(x, validate_indices=False))


def test_functions_of_sparse_tensors():
    x = tf.SparseTensor(AT, VALUES, DIMS)
    row = np.float32([1, 2, 4, 8])
    np.testing.assert_array_equal(_dense(x * row), DENSE * row)
    np.testing.assert_array_equal(_dense(x / row), DENSE / row)
    np.testing.assert_array_equal(_dense(tf.sparse_add(x, x)), 2 * DENSE)
    np.testing.assert_array_equal(_run(tf.sparse_add(np.ones(DIMS, np.float32), x)), DENSE + 1)
    np.testing.assert_array_equal(_run(tf.sparse_reduce_sum(x)), 10)
    np.testing.assert_array_equal(_run(tf.sparse_reduce_sum(x, 1, keep_dims=True)), DENSE.sum(1, keepdims=True))
    np.testing.assert_array_equal(_dense(tf.sparse_slice(x, [1, 0], [2, 3])), DENSE[1:3, 0:3])
    np.testing.assert_array_equal(_dense(tf.sparse_reorder(tf.SparseTensor(AT[::-1], VALUES[::-1], DIMS))), DENSE)
    filled, empty = tf.sparse_fill_empty_rows(tf.SparseTensor(AT[1:], VALUES[1:], DIMS), -1.0)
    assert _dense(filled)[0, 0] == -1
    np.testing.assert_array_equal(_run(empty), [True, False, False])
    np.testing.assert_allclose(_run(tf.sparse_reduce_sum(tf.sparse_softmax(x), 1)), [1, 1, 1], rtol=1e-6)


def test_a_product_with_a_fed_sparse_tensor_and_its_gradients():
    x = tf.sparse_placeholder(tf.float32)
    w = tf.placeholder(tf.float32, [4, 2])
    y = tf.sparse_tensor_dense_matmul(x, w)
    gradients = tf.gradients(y, [x.values, w])
    value = np.float32([[1, 2], [3, 4], [5, 6], [7, 8]])
    with tf.Session() as sess:
        got, (dx, dw) = sess.run([y, gradients], {x: (AT, VALUES, DIMS), w: value})
    np.testing.assert_allclose(got, DENSE @ value)
    np.testing.assert_allclose(dx, value.sum(1)[[1, 0, 3, 2]])
    np.testing.assert_allclose(dw, np.tile(DENSE.sum(0)[:, None], (1, 2)))


def test_edit_distance():
    hypothesis = tf.SparseTensor([[0, 0, 0], [1, 0, 0], [1, 0, 1]], ["a", "b", "c"], [2, 1, 2])
    truth = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 0, 0]], ["a", "x", "b"], [2, 1, 2])
    np.testing.assert_array_equal(_run(tf.edit_distance(hypothesis, truth)), [[0.5], [1.0]])
