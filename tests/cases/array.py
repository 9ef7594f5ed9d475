"""Rows for `regrad/ops/array.py`."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import array
from tests.cases import Bad, Case, Edge

I32 = np.int32
ALL = ("float16", "float32", "complex64")
P = np.array


def unknown(dtype="float32"):
    return tf.placeholder(dtype, None)


def floats(*shape):
    return tf.placeholder("float32", shape)


CASES = [
    # passing on
    Case("Identity", array.identity, lambda x: x, ((3, 4),), dtypes=ALL),
    Case("IdentityN", lambda x, y: array.identity_n([x, y]), lambda x, y: (x, y), ((3,), (0, 2))),
    Case("Snapshot", array.snapshot_op, lambda x: x, ((2,),)),
    Case("GuaranteeConst", array.guarantee_const, lambda x: x, ((2,),)),
    Case("StopGradient", array.stop_gradient, lambda x: x, ((3,),), order=0),
    Case("PreventGradient", array.prevent_gradient, lambda x: x, ((3,),), derivatives=False),
    Case("PlaceholderWithDefault", lambda x: array.placeholder_with_default(x, [3, 2]), lambda x: x,
         ((3, 2),)),
    Case("EnsureShape", lambda x: array.ensure_shape(x, [None, 2]), lambda x: x, ((3, 2),)),
    Case("CheckNumerics", lambda x: array.check_numerics(x, "no"), lambda x: x, ((3, 2),)),
    Case("Bitcast", lambda x: array.bitcast(x, tf.int64), lambda x: x.view(np.int64), ((2, 3),), order=0,
         dtypes=()),
    Case("Bitcast", lambda x: array.bitcast(x, tf.int32), lambda x: x.view(I32).reshape(2, 3, 2), ((2, 3),),
         order=0, dtypes=(), note="narrower"),
    Case("Bitcast", lambda x: array.bitcast(x, tf.float64), lambda x: x.view(np.float64).reshape(3),
         (np.arange(6, dtype=I32).reshape(3, 2),), note="wider"),
    # asking about shape
    Case("Shape", array.shape_op, lambda x: P(x.shape, I32), ((2, 0, 3),), order=0),
    Case("Shape", lambda x: array.shape(x, out_type=tf.int64) + array.shape_op(x, out_type=tf.int64),
         lambda x: 2 * P(x.shape), ((2, 3),), order=0, note="int64"),
    Case("ShapeN", lambda x, y: array.shape_n([x, y]), lambda x, y: (P(x.shape, I32), P(y.shape, I32)),
         ((2, 3), ()), order=0),
    Case("Size", array.size_op, lambda x: I32(x.size), ((2, 3),), order=0),
    Case("Rank", array.rank_op, lambda x: I32(x.ndim), ((2, 3),), order=0),
    # filling
    Case("Fill", lambda x: array.fill([2, 3], x), lambda x: np.full((2, 3), x), ((),), dtypes=ALL),
    Case("ZerosLike", array.zeros_like, np.zeros_like, ((2, 0),), order=0, dtypes=ALL),
    Case("OnesLike", array.ones_like, np.ones_like, ((2, 3),), order=0, dtypes=ALL),
    Case("Fill", lambda x: array.zeros_like(x, tf.int32), lambda x: np.zeros((40, 30), I32), ((40, 30),),
         order=2, derivatives=False, note="zeros_like of another dtype"),
    # broadcasting
    Case("SumToLike", lambda x, y: array.sumtolike_op(x, y), lambda x, y: x.sum(0).sum(1, keepdims=True),
         ((2, 3, 4), (3, 1)), dtypes=ALL, wrt=(0,)),
    Case("SumToLike", lambda x, y: array.sumtolike_op(x, y), lambda x, y: x, ((3, 4), (3, 4)), wrt=(0,),
         note="same"),
    Case("BroadcastLike", lambda x, y: array.broadcastlike_op(x, y), lambda x, y: np.broadcast_to(x, y.shape),
         ((3, 1), (2, 3, 4)), wrt=(0,)),
    Case("BroadcastTo", lambda x: array.broadcast_to(x, [2, 3, 4]), lambda x: np.broadcast_to(x, (2, 3, 4)),
         ((3, 1),), dtypes=ALL),
    Case("BroadcastArgs", array.broadcast_dynamic_shape, lambda a, b: P([4, 2, 3], I32),
         (P([2, 1], I32), P([4, 1, 3], I32))),
    # other shapes
    Case("Reshape", lambda x: array.reshape(x, [3, -1]), lambda x: x.reshape(3, -1), ((2, 3, 2),),
         dtypes=ALL),
    Case("Reshape", lambda x: array.reshape(x, [array.shape(x)[0], -1]), lambda x: x.reshape(2, 12),
         ((2, 3, 4),), note="with the shape"),
    Case("Reshape", lambda x: array.reshape(x, []), lambda x: x.reshape(()), ((1, 1),), note="to scalar"),
    Case("Reshape", lambda x: array.reshape(x, [0, 7]), lambda x: x.reshape(0, 7), ((3, 0),), note="empty"),
    Case("ReshapeLike", array.reshape_like, lambda x, y: x.reshape(y.shape), ((2, 3), (6,)), wrt=(0,)),
    Case("ExpandDims", lambda x: array.expand_dims(x, -2), lambda x: x[:, None], ((2, 3),), dtypes=ALL),
    Case("ExpandDims", lambda x: array.expand_dims(x, dim=0), lambda x: x[None], ((),), note="of a scalar"),
    Case("Squeeze", array.squeeze, lambda x: x.reshape(2, 3), ((1, 2, 1, 3),), dtypes=ALL),
    Case("Squeeze", lambda x: array.squeeze(x, [0, -2]), lambda x: x.reshape(2, 3, 1), ((1, 2, 3, 1, 1),),
         note="axes"),
    Case("Transpose", array.transpose, np.transpose, ((2, 3, 4),), dtypes=ALL),
    Case("Transpose", lambda x: array.transpose(x, [1, 0]), np.transpose, ((0, 3),), note="empty"),
    Case("ConjugateTranspose", lambda x: array.transpose(x, [1, 0], conjugate=True), lambda x: x.conj().T,
         (np.arange(6).reshape(2, 3) * (1 + 2j),)),
    Case("Transpose", array.matrix_transpose, lambda x: np.swapaxes(x, -1, -2), ((2, 3, 4),),
         note="matrices"),
    Case("ConjugateTranspose", lambda x: array.matrix_transpose(x, conjugate=True), lambda x: x.conj().T,
         (np.arange(6).reshape(2, 3) * (1 + 2j),), note="matrix"),
    Case("InvertPermutation", array.invert_permutation, np.argsort, (P([2, 0, 3, 1], I32),)),
    # joining and splitting
    Case("Pack", lambda x, y: array.stack([x, y]), lambda x, y: np.stack([x, y]), ((2, 3), (2, 3)),
         dtypes=ALL),
    Case("Pack", lambda x, y: array.stack([x, y, x], axis=-1), lambda x, y: np.stack([x, y, x], -1),
         ((2, 3), (2, 3)), note="last axis"),
    Case("Pack", lambda x: array.parallel_stack([x, x]), lambda x: np.stack([x, x]), ((2,),), unknown=False,
         note="parallel"),
    Case("Unpack", lambda x: array.unstack(x, 3, axis=-1), lambda x: tuple(x[:, i] for i in range(3)),
         ((2, 3),), dtypes=ALL),
    Case("Unpack", lambda x: array.unstack(x), lambda x: tuple(x), ((2, 0),), unknown=False,
         note="first axis"),
    Case("ConcatV2", lambda x, y, z: array.concat([x, y, z], 0), lambda *a: np.concatenate(a),
         ((2, 3), (0, 3), (1, 3)), dtypes=ALL),
    Case("ConcatV2", lambda x, y: array.concat([x, y], -1), lambda x, y: np.concatenate([x, y], -1),
         ((2, 3), (2, 1)), note="last axis"),
    Case("Split", lambda x: array.split(x, 3, axis=1), lambda x: tuple(np.split(x, 3, 1)), ((2, 6),),
         dtypes=ALL),
    Case("SplitV", lambda x: array.split(x, [2, -1, 1], axis=-1), lambda x: tuple(np.split(x, [2, 5], 1)),
         ((2, 6),), dtypes=ALL),
    Case("SplitV", lambda x: array.split(x, [0, 3]), lambda x: (x[:0], x), ((3, 2),), note="empty part"),
    # edges
    Edge("Reshape", lambda x: array.reshape(x, [-1]), ([[1.0], [2.0]],), ([[3.0], [4.0]],), dy=[3, 4]),
    # refusals
    Bad("PreventGradient", lambda: tf.gradients(array.prevent_gradient(x := floats(2), "because"), x),
        LookupError, "Reason: because"),
    Bad("CheckNumerics", lambda: array.check_numerics(tf.constant([1.0, np.nan]), "loss"),
        InvalidArgumentError, "loss : Tensor had NaN", run=True),
    Bad("CheckNumerics", lambda: array.check_numerics(tf.constant([np.inf]), "loss"), InvalidArgumentError,
        "loss : Tensor had Inf", run=True),
    Bad("EnsureShape", lambda: array.ensure_shape(tf.placeholder_with_default([1.0, 2.0], None), [3]),
        InvalidArgumentError, r"\[2\] is not compatible with expected shape \[3\]", run=True),
    Bad("Reshape", lambda: array.reshape(tf.placeholder_with_default([1.0, 2.0, 3.0], None), [2, 2]),
        InvalidArgumentError, r"3 values, but the requested shape \[2,2\] has 4", run=True),
    Bad("EnsureShape", lambda: array.ensure_shape(floats(3, 2), [None, 3]), ValueError,
        r"\[3,2\] and \[\?,3\]"),
    Bad("Bitcast", lambda: array.bitcast(floats(3), tf.float64), ValueError,
        r"last size of float32\[3\] must be 2"),
    Bad("Fill", lambda: array.fill([[2]], 1.0), ValueError, "dims must be a vector"),
    Bad("Fill", lambda: array.fill([-2], 1.0), ValueError, "at least 0"),
    Bad("BroadcastTo", lambda: array.broadcast_to(floats(3, 2), [3, 3]), ValueError,
        "Dimensions must be equal or 1"),
    Bad("BroadcastTo", lambda: array.broadcast_to(floats(3, 2), [2]), ValueError, "more axes"),
    Bad("BroadcastArgs", lambda: array.broadcast_dynamic_shape(tf.zeros([2, 2], tf.int32), [1]), ValueError,
        "must be a vector"),
    Bad("Reshape", lambda: array.reshape(floats(2, 3), [4]), ValueError, "6 elements to shape .4."),
    Bad("Reshape", lambda: array.reshape(floats(2, 3), [4, -1]), ValueError, "not divisible by 4"),
    Bad("Reshape", lambda: array.reshape(floats(2, 3), [-1, -1]), ValueError, "one input size may be -1"),
    Bad("Reshape", lambda: array.reshape(floats(2, 3), [-2]), ValueError, "at least 0"),
    Bad("ExpandDims", lambda: array.expand_dims(floats(2), 2), ValueError, r"axis 2 is not in \[-2, 2\)"),
    Bad("ExpandDims", lambda: array.expand_dims(floats(2)), ValueError, "Must specify an axis"),
    Bad("ExpandDims", lambda: array.expand_dims(floats(2), 0, dim=0), ValueError, "Cannot specify both"),
    Bad("Squeeze", lambda: array.squeeze(floats(2, 1), [0]), ValueError, r"Can not squeeze dim\[0\]"),
    Bad("Squeeze", lambda: array.squeeze(floats(2, 1), [2]), ValueError, "axis 2 is not in"),
    Bad("Transpose", lambda: array.transpose(floats(2, 3), [0, 0]), ValueError, "not a permutation"),
    Bad("Transpose", lambda: array.matrix_transpose(floats(2)), ValueError, "rank >= 2"),
    Bad("Pack", lambda: array.stack([floats(2), floats(3)]), ValueError, r"\[2\] and \[3\]"),
    Bad("Pack", lambda: array.stack([]), ValueError, "empty"),
    Bad("Pack", lambda: array.stack([floats(2), floats(2)], 2), ValueError, "axis 2 is not in"),
    Bad("Pack", lambda: array.stack([floats(2), tf.zeros([2], tf.int32)]), TypeError, "don't all match"),
    Bad("Pack", lambda: array.parallel_stack([unknown()]), ValueError, "not fully defined"),
    Bad("Unpack", lambda: array.unstack(unknown()), ValueError, "Cannot infer num"),
    Bad("Unpack", lambda: array.unstack(floats(3), 2), ValueError, "into 2 tensors"),
    Bad("ConcatV2", lambda: array.concat([floats(2, 3), floats(2, 2)], 0), ValueError,
        "other than along axis 0"),
    Bad("ConcatV2", lambda: array.concat([floats(2, 3), floats(2)], 0), ValueError, "one rank"),
    Bad("ConcatV2", lambda: array.concat([floats(), floats()], 0), ValueError, "scalars"),
    Bad("ConcatV2", lambda: array.concat([floats(2), floats(2)], 1), ValueError, "axis 1 is not in"),
    Bad("ConcatV2", lambda: array.concat(0, [floats(2), floats(2)]), TypeError,
        "the list of tensors comes first"),
    Bad("Split", lambda: array.split(floats(2, 5), 2, 1), ValueError, "evenly divide"),
    Bad("SplitV", lambda: array.split(floats(5), [2, 2]), ValueError, "do not add up"),
    Bad("SplitV", lambda: array.split(floats(5), tf.placeholder("int32", [None])), ValueError,
        "Cannot infer num"),
]
