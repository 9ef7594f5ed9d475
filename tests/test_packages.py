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


def test_names_of_version_2_build_graphs_too():
    from regrad.compat import v2

    class Scale(v2.Module):
        def __init__(self):
            super().__init__()
            self.parts = {"a": [tf.get_variable("s", [], initializer=tf.ones_initializer())], "b": InnerPart()}

    class InnerPart(v2.Module):
        def __init__(self):
            super().__init__()
            self.s = tf.get_variable("t", [], trainable=False)

        @v2.Module.with_name_scope
        def named(self):
            return v2.constant(1.0).op.name

    scale = Scale()
    inner, = scale.submodules
    assert [v.op.name for v in scale.variables] == ["s", "t"] and [v.op.name for v in scale.trainable_variables] == ["s"]
    assert inner.name == "inner_part" and inner.named().startswith("inner_part/") and v2.float32 is tf.float32
    rows = v2.constant([[1.0, 2.0], [3.0, 4.0]])
    asked = [v2.where(rows > 1.0, rows, 0.0), v2.gather(rows, [[1], [0]], batch_dims=1), v2.reduce_sum(rows, 1, True),
             v2.concat([rows, rows], 1), v2.pad(rows, [[0, 0], [1, 0]], "CONSTANT", 5.0), v2.argmax(rows),
             v2.shape(rows, tf.int64), v2.size(rows), v2.zeros_like(rows, tf.int32), v2.ones_like(rows),
             v2.cond(rows[0, 0] > 0.0, lambda: [rows[0]], lambda: [rows[1]])[0], v2.convert_to_tensor(1, dtype_hint=tf.float32),
             v2.poisson([5], 0.0)]
    with tf.Session() as sess:
        got = [x.tolist() for x in sess.run(asked)]
    assert got == [[[0, 2], [3, 4]], [[2], [3]], [[3], [7]], [[1, 2, 1, 2], [3, 4, 3, 4]], [[5, 1, 2], [5, 3, 4]], [1, 1],
                   [2, 2], 4, [[0, 0], [0, 0]], [[1, 1], [1, 1]], [1, 2], 1.0, [0] * 5]


def test_what_packages_ask_of_tensorflows_modules():
    from regrad.python.ops.linalg import linear_operator_util
    from regrad.python.util import lazy_loader, nest, tf_inspect

    names = {}
    names["text"] = lazy_loader.LazyLoader("text", names, "textwrap")
    assert names["text"].dedent(" a") == "a" and type(names["text"]).__name__ == "module"
    assert tf_inspect.getfullargspec(tf.cast).args == ["x", "dtype", "name"] and not nest._is_namedtuple((1,))
    assert tf.get_static_value([1, 2]) == [1, 2] and tf.get_static_value(tf.int32) is tf.int32
    matrix = linear_operator_util.matrix_triangular_solve_with_broadcast(tf.eye(2), tf.ones([3, 2, 1]))
    assert matrix.shape == [3, 2, 1]
    assert all(hasattr(tf_inspect, name) for name in dir(tf_inspect))


def test_sizes_worked_out_before_a_loop_are_known_inside():
    rows = tf.shape(tf.zeros([4, 3]))[0]
    size = tf.stack([rows, 2])
    turns, total = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x + tf.random_uniform(size, 1.0, 1.0)),
                                 (0, tf.zeros([4, 2])))
    assert total.shape == [4, 2]
    with tf.Session() as sess:
        assert sess.run([turns, total])[1].tolist() == [[3.0, 3.0]] * 4
