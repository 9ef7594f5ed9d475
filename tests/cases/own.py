"""Rows for op types of Regrad's own, of which TensorFlow has none."""

import numpy as np

import regrad as tf
from regrad.autodiff import transforms
from regrad.autodiff.gradients import same_shape_op
from regrad.ops import barrier, quantise, sparse
from regrad.variables.variable import initializedvalue_op
from tests.cases import Bad, Case, Edge, Steps

X = np.array([[-1.5, 0.0, 0.3], [1.0, 7.0, -np.inf]])


def side(x, low, high, **_):
    """-1 below the range, 1 above it, 0 within."""
    return (x > high).astype(x.dtype) - (x < low)


def _unset(value):
    """What a variable starts from: the value, until the variable has one of its own."""
    ref = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32)
    chosen = initializedvalue_op(ref, value)
    return [chosen, tf.raw_ops.Assign(ref=ref, value=[5.0, 6.0]), chosen]


ALL = ("float16", "bfloat16", "float32", "complex64")
CASES = [
    Case("After", lambda x, y: barrier.after([x, y], [x * y]), lambda x, y: (x, y), ((2, 3), (2, 3)), dtypes=ALL),
    Case("After", lambda x: barrier.after([x], [])[0], lambda x: x, ((0, 3),), dtypes=(), note="empty"),
    Case("After", lambda n: barrier.after([n], [n])[0], lambda n: n, (np.arange(3),), dtypes=(), note="int"),
    Case("GradientBlock", lambda x: transforms.block_op(x), lambda x: x, ((2, 3),), dtypes=ALL),
    Case("GradientBlock", lambda x: transforms.block_op(x), lambda x: x, ((0, 3),), dtypes=(), note="empty"),
    Edge("GradientBlock", lambda x: tf.scale_gradient(x, 0.5), ([[1.0, np.nan]],), (np.array([[0.5, 0.5]]),), note="transform"),
    Case("SameShape", lambda g, x: same_shape_op(g, x), lambda g, x: g, ((2, 3), (2, 3)), wrt=(0,), dtypes=ALL),
    Case("SameShape", lambda g, x: same_shape_op(g, x), lambda g, x: g, ((), ()), wrt=(0,), dtypes=(), note="scalar"),
    Edge("SameShape", lambda g, x: same_shape_op(g, x), ([1.0, 2.0], [3.0, 4.0]), (np.ones(2), None), note="of a gradient"),
    Bad("SameShape", lambda: same_shape_op(tf.ones([2, 3]), tf.ones([3])), ValueError,
        r"float32\[2,3\] as the gradient of an input that is float32\[3\]"),
    Case("ForwardOf", lambda x, y: transforms.forward_of_op(x, y), lambda x, y: x, ((2, 3), (2, 3)), dtypes=ALL,
         derivatives=False),
    Case("ForwardOf", lambda x, y: transforms.forward_of_op(x, y), lambda x, y: x, ((0,), (0,)), dtypes=(), derivatives=False,
         note="empty"),
    Edge("ForwardOf", lambda x, y: transforms.forward_of_op(x, y), ([1.0, 2.0], [3.0, 4.0]), (None, np.array([5.0, 6.0])),
         dy=[5.0, 6.0], note="the other's gradient"),
    Bad("ForwardOf", lambda: tf.substitute(tf.sign, tf.reduce_sum)(tf.ones([2])), ValueError, "both must have one shape"),
    Case("SparsePositions", sparse.sparsepositions_op, lambda at, wanted: np.array([2, 0, 3, 3]),
         (np.array([[0, 1], [2, 0], [2, 3]]), np.array([[2, 3], [0, 1], [0, 0], [3, 2]])), dtypes=(), order=0),
    Case("SparsePositions", sparse.sparsepositions_op, lambda at, wanted: np.array([0, 0]),
         (np.zeros((0, 1), np.int64), np.array([[0], [1]])), dtypes=(), order=0, note="empty"),
    Case("SparseRowNumbers", sparse.sparserownumbers_op, lambda at: np.array([0, 0, 1, 2]),
         (np.array([[0, 1, 0], [0, 1, 4], [0, 2, 4], [3, 2, 4]]),), dtypes=(), order=0),
    Case("SparseRowNumbers", sparse.sparserownumbers_op, lambda at: np.zeros(0, np.int64), (np.zeros((0, 2), np.int64),),
         dtypes=(), order=0, note="empty"),
    Case("FakeQuantWithMinMaxVarsSide", lambda x, a, b: quantise.fakequantvarsside_op(x, a, b), side,
         (X, np.array(-1.0), np.array(5.0)), order=0),
    Case("FakeQuantWithMinMaxVarsPerChannelSide", lambda x, a, b: quantise.fakequantchannelside_op(x, a, b), side,
         (X, np.array([-1.0, -2.0, -3.0]), np.array([0.5, 5.0, 6.0])), order=0),
    Steps("InitializedValue", _unset, (), (np.array([1.0, 2.0], np.float32),), [[np.array(v, np.float32)] for v in ([1, 2], [5, 6], [5, 6])]),
]
