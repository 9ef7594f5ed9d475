"""What released packages of TensorFlow 1's time rely on, and nothing else here holds."""

import numpy as np

import regrad as tf


def test_one_size_may_be_a_scalar_tensor():
    rows = tf.placeholder(tf.float32, [None, 2])
    size = tf.shape(rows)[0]
    with tf.Session() as sess:
        asked = tf.zeros(size, tf.float64), tf.ones(size), tf.zeros(tf.placeholder_with_default(3, None))
        zeros, ones, unknown = sess.run(asked, {rows: np.zeros([4, 2])})
    assert zeros.tolist() == [0.0] * 4 and zeros.dtype == np.float64 and ones.tolist() == [1.0] * 4
    assert unknown.tolist() == [0.0] * 3


def test_products_of_unknown_rank_may_be_batches():
    x, matrix = tf.placeholder(tf.float32), tf.constant([[1.0, 2.0], [3.0, 4.0]])
    left, right = tf.matmul(x, matrix), tf.matmul(matrix, x)
    assert left.op.type == right.op.type == "BatchMatMulV2" and tf.matmul(matrix, matrix).op.type == "MatMul"
    batch = np.arange(8.0).reshape(2, 2, 2)
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run([left, right], {x: batch}),
                                   [batch @ [[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]) @ batch])


def test_a_class_takes_the_operators_of_tensors():
    class Deferred:
        def __init__(self, value):
            self.value = value

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        setattr(Deferred, name, lambda self, *args, name=name: getattr(tf.Tensor, name)(self.value, *args))
    x = Deferred(tf.constant([1.0, 2.0]))
    with tf.Session() as sess:
        assert sess.run([(2.0 - x)[1], tf.reduce_sum(-x ** 2.0)]) == [0.0, -5.0]


def test_shapes_may_be_made_like_others():
    x = tf.placeholder(tf.float32)
    ones, none = tf.fill(tf.ones_like(tf.shape(x)), 3.0), tf.fill(tf.zeros_like(tf.shape(x)) + 2, 3.0)
    with tf.Session() as sess:
        assert [a.shape for a in sess.run([ones, none], {x: np.zeros([4, 5, 6])})] == [(1, 1, 1), (2, 2, 2)]


def test_slices_end_at_dimensions():
    x = tf.constant(np.arange(6.0).reshape(2, 3))
    with tf.Session() as sess:
        assert sess.run(x[:, 0:x.shape[0]]).tolist() == [[0.0, 1.0], [3.0, 4.0]]
