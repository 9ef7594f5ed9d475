"""Rows for `regrad/ops/indexing.py`."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import indexing
from tests.cases import Bad, Case, Edge

ALL = ("float16", "float32", "complex64", "int32")
S = np.s_


def floats(*shape):
    return tf.placeholder("float32", shape)


def ints(*values):
    return np.array(values, np.int32)


def sliced(*items):
    """A row for x[items], for a tensor and for an array alike."""
    key = items if len(items) > 1 else items[0]
    note = str(key).replace("slice", "").replace("None", "-").replace(" ", "").replace("Ellipsis", "...")
    return Case("StridedSlice", lambda x: x[key], lambda x: x[key], ((3, 4, 5),), note=note)


def at(index, value, **more):
    """A row for x[index(i)] with i known only at run time."""
    return Case("StridedSlice", lambda x, i: x[index(i)], lambda x, i: x[index(int(i))],
                ((3, 4, 5), np.array(value, np.int32)), **more)


def gather_axis(x, indices, axis, batch):
    if batch == 0:
        return np.take(x, indices, axis)
    return np.stack([gather_axis(a, i, axis - 1, batch - 1) for a, i in zip(x, indices)])


def gathered(shape, indices, axis=None, batch=0, **more):
    def reference(x, i):
        return gather_axis(x, i, batch if axis is None else axis % x.ndim, batch % i.ndim if batch else 0)

    return Case("GatherV2", lambda x, i: indexing.gather(x, i, axis=axis, batch_dims=batch), reference,
                (shape, np.array(indices)), note=f"axis={axis}batch={batch}", **more)


def gather_nd(x, indices):
    if not indices.shape[-1]:
        return np.broadcast_to(x, indices.shape[:-1] + x.shape)
    return x[tuple(np.moveaxis(indices, -1, 0))]


def scatter(ufunc):
    def reference(x, indices, updates):
        x = x.copy()
        ufunc(x, tuple(np.moveaxis(indices, -1, 0)), updates)
        return x

    return reference


def scattered(op_type, function, ufunc, indices=((2,), (0,)), updates=(2, 3), **more):
    return Case(op_type, function, scatter(ufunc), ((4, 3), np.array(indices), updates), **more)


def put(x, index, updates):
    x[index] = updates


REPEATED = ((1, 2), (0, 0), (1, 2))
MASK = np.array([[True, False, True], [False, False, True]])


CASES = [
    # x[...]
    *(sliced(*items) for items in (
        (0,), (-1,), (S[1:],), (S[:, 1:3],), (S[:-1, ::2],), (S[::-1],), (S[5:0:-2, ::-3, -1:-9:-2],),
        (..., -1), (None, 0, ..., None), (S[:, None, 2, :],), (1, 2, 3), (S[2:1],), (S[:, 4:],),
        (S[0:3:5],), (S[..., 0:0],), (S[:, -6::-1],), (S[7:1], S[9:9:-1], S[-1:9:-2]),
    )),
    Case("StridedSlice", lambda x: x[0], lambda x: x[0], ((2, 3),), dtypes=ALL),
    Case("StridedSlice", lambda x: x[...], lambda x: x, ((),), note="scalar"),
    Case("StridedSlice", lambda x: x[tf.shape(x)[0] - 1, : tf.shape(x)[1] // 2], lambda x: x[2, :2],
         ((3, 4),), note="the shape says where"),
    at(lambda i: i, 1, note="index at run time"),
    at(lambda i: (slice(1, None, 2), i, ..., None), -3, note="negative index at run time"),
    at(lambda i: (i, slice(None, None, -1), i), 2, note="two indices at run time"),
    Case("StridedSlice", lambda x: indexing.strided_slice(x, [0, 1], [2, 4], end_mask=1), lambda x: x[:, 1:4],
         ((3, 4),), note="masks"),
    # Slice
    Case("Slice", lambda x: indexing.slice_(x, [1, 0, 2], [2, -1, 2]), lambda x: x[1:, :, 2:4], ((3, 4, 5),),
         dtypes=ALL),
    Case("Slice", lambda x, i: indexing.slice_(x, [i, 0], [1, 2]), lambda x, i: x[i:i + 1, :2],
         ((3, 4), np.array(2, np.int32)), note="at run time"),
    Case("Slice", lambda x: indexing.slice_(x, [3, 0], [0, -1]), lambda x: x[3:], ((3, 4),), note="empty"),
    Case("Slice", lambda x, i: indexing.slice_(x, [i, 1], [1, -1]), lambda x, i: x[i:i + 1, 1:],
         ((3, 4), np.array(2, np.int32)), note="at run time, what is left of an axis"),
    Case("Slice", lambda x, i: indexing.slice_(x, [i, 1], [-1, -1]), lambda x, i: x[i:, 1:],
         ((3, 4), np.array(1, np.int32)), note="what is left from where a run says"),
    # gather
    gathered((3, 4), [2, 0, 2], dtypes=ALL),
    gathered((3, 4), [[1, 1], [0, 2]], 0),
    gathered((3, 4), 1, 1),
    gathered((3, 4, 2), [[3, 0]], -2),
    gathered((3, 2), np.zeros((0, 2), int), 0),
    gathered((0, 2), np.zeros(0, int), 0),
    gathered((2, 4, 3), [[1, 3, 1], [0, 0, 2]], 1, 1),
    gathered((2, 4, 3), [[1, 2, 1], [0, 0, 2]], 2, 1),
    gathered((2, 2, 3), [[[1], [2]], [[0], [0]]], None, 2),
    gathered((2, 3), [[1], [2]], 1, -1),
    Case("GatherV2", lambda x, i: indexing.batch_gather(x, i), lambda x, i: np.take_along_axis(x, i, 1),
         ((2, 4), ints([3, 0, 3], [1, 1, 2])), unknown=False, note="batch_gather"),
    Case("GatherNd", indexing.gather_nd, gather_nd, ((3, 4), ints(*REPEATED)), dtypes=ALL),
    Case("GatherNd", indexing.gather_nd, gather_nd, ((3, 4), ints([2], [0], [2])), note="rows"),
    Case("GatherNd", indexing.gather_nd, gather_nd, ((3, 4), np.zeros((2, 0), np.int32)), note="whole"),
    Case("GatherNd", indexing.gather_nd, gather_nd, ((3, 4), np.zeros((0, 2), np.int32)), note="nothing"),
    Case("GatherNd", lambda x, i: indexing.gather_nd(x, i, batch_dims=1),
         lambda x, i: np.stack([gather_nd(*p) for p in zip(x, i)]),
         ((2, 3, 4), ints([[1, 2], [0, 0]], [[2, 3], [2, 3]])), unknown=False, note="batch"),
    # scatter
    Case("ScatterNd", lambda i, u: indexing.scatter_nd(i, u, [3, 4]),
         lambda i, u: scatter(np.add.at)(np.zeros((3, 4), u.dtype), i, u),
         (ints(*REPEATED), (3,)), dtypes=ALL),
    Case("ScatterNd", lambda i, u: indexing.scatter_nd(i, u, [4, 2]),
         lambda i, u: scatter(np.add.at)(np.zeros((4, 2)), i, u),
         (ints([[3], [0]], [[0], [0]]), (2, 2, 2)), note="rows"),
    Case("ScatterNd", lambda i, u: indexing.scatter_nd(i, u, [2]), lambda i, u: u.sum(0),
         (np.zeros((3, 0), np.int32), (3, 2)), note="whole"),
    scattered("TensorScatterUpdate", indexing.tensor_scatter_update, put, dtypes=ALL),
    scattered("TensorScatterUpdate", indexing.tensor_scatter_update, put, np.zeros((0, 2), int), (0,),
              note="nothing"),
    scattered("TensorScatterAdd", indexing.tensor_scatter_add, np.add.at, REPEATED, (3,), dtypes=ALL),
    scattered("TensorScatterSub", indexing.tensor_scatter_sub, np.subtract.at, REPEATED, (3,), dtypes=ALL),
    scattered("TensorScatterMax", indexing.tensor_scatter_max, np.maximum.at, REPEATED, (3,),
              dtypes=("float32", "int32")),
    scattered("TensorScatterMin", indexing.tensor_scatter_min, np.minimum.at, dtypes=("float32", "int32")),
    Edge("TensorScatterMax", lambda x, u: indexing.tensor_scatter_max(x, [[0], [0], [1]], u),
         ([1.0, 5.0], [1.0, 1.0, 2.0]), ([1 / 3, 1], [1 / 3, 1 / 3, 0]), note="ties share"),
    # by truth
    Case("Where", indexing.where_op, np.argwhere, (MASK,)),
    Case("Where", indexing.where_op, np.argwhere, (np.array([0.0, 2.0, -0.0, np.nan]),), derivatives=False,
         note="numbers"),
    Case("Where", indexing.where_op, lambda x: np.zeros((1, 0)), (np.array(True),), note="scalar"),
    Case("GatherV2", lambda x, m: indexing.boolean_mask(x, m), lambda x, m: x[m], ((2, 3, 2), MASK),
         unknown=False, note="boolean_mask"),
    Case("GatherV2", lambda x: indexing.boolean_mask(x, [True, False, True], axis=1), lambda x: x[:, [0, 2]],
         ((2, 3, 2),), note="boolean_mask axis"),
    Case("GatherV2", lambda x: x[np.array([True, False])], lambda x: x[:1], ((2, 3),), note="x[mask]"),
    Case("Less", lambda n: indexing.sequence_mask(n, 4), lambda n: np.arange(4) < n[..., None],
         (ints([1, 0], [4, 7]),), note="sequence_mask"),
    Case("Less", lambda: indexing.sequence_mask([2.5, 0.0], tf.Dimension(3)), lambda: np.arange(3) < np.array([[2], [0]]),
         (), note="sequence_mask of lengths that are no integers"),
    Case("Less", lambda: indexing.sequence_mask([2, 0, 3]), lambda: np.arange(3) < np.array([[2], [0], [3]]),
         (), note="sequence_mask to the longest"),
    # one_hot
    Case("OneHot", lambda i: indexing.one_hot(i, 3), lambda i: (i[..., None] == np.arange(3)).astype("f"),
         (ints([0, 2], [-1, 3]),)),
    Case("OneHot", lambda i, a, b: indexing.one_hot(i, 3, a, b, axis=0),
         lambda i, a, b: np.where(i == np.arange(3)[:, None], a, b),
         (np.array([1, 2, 1]), (), ()), order=0, dtypes=ALL, note="values"),
    Case("OneHot", lambda i: indexing.one_hot(i, 2, True, False), lambda i: i[..., None] == np.arange(2),
         (np.array([1, 0, 2], np.uint8),), note="bool"),
    Case("OneHot", lambda i: indexing.one_hot(i, 0, dtype=tf.int64), lambda i: np.zeros((2, 0)),
         (ints(1, 0),), note="depth 0"),
    # refusals
    Bad("StridedSlice", lambda: floats(3)[3], ValueError, "slice index 3 of dimension 0 out of bounds"),
    Bad("StridedSlice", lambda: floats(3)[-4], ValueError, "slice index -4"),
    Bad("StridedSlice", lambda: floats(3)[0, 0], ValueError, "only has 1 dims|input has only 1 dims"),
    Bad("StridedSlice", lambda: floats(3)[::0], ValueError, r"strides\[0\] must be non-zero"),
    Bad("StridedSlice", lambda: floats(3)[..., ...], ValueError, "Multiple ellipses"),
    Bad("StridedSlice", lambda: floats(3)[1.0], TypeError, "Only integers, slices"),
    Bad("StridedSlice", lambda: floats(3)["a"], TypeError, "Only integers, slices"),
    Bad("StridedSlice", lambda: floats(3)[tf.constant([1, 2])], TypeError, "tf.gather"),
    Bad("StridedSlice", lambda: floats(3)[tf.constant(1.5)], TypeError, "Only integers"),
    Bad("StridedSlice", lambda: indexing.strided_slice(floats(3), [0], [1, 2]), ValueError,
        "vectors of one length"),
    Bad("Slice", lambda: indexing.slice_(floats(3), [1], [3]), ValueError,
        r"Expected size\[0\] in \[0, 2\], but got 3"),
    Bad("Slice", lambda: indexing.slice_(floats(3), [4], [0]), ValueError,
        r"Expected begin\[0\] in \[0, 3\], but got 4"),
    Bad("Slice", lambda: indexing.slice_(floats(3), [0, 0], [1, 1]), ValueError, "one entry per axis"),
    Bad("GatherV2", lambda: indexing.gather(floats(), 0), ValueError, "at least rank 1"),
    Bad("GatherV2", lambda: indexing.gather(floats(2), 0, axis=1), ValueError, "axis 1 is out of valid range"),
    Bad("GatherV2", lambda: indexing.gather(floats(2, 3), [0], axis=0, batch_dims=1), ValueError,
        "batch_dims 1 must be in"),
    Bad("GatherV2", lambda: indexing.gather(floats(2, 3), [[0]], batch_dims=1), ValueError, "batch axes"),
    Bad("GatherV2", lambda: indexing.gather(floats(2), [0.5]), TypeError, "indices"),
    Bad("GatherNd", lambda: indexing.gather_nd(floats(2), [[0, 0]]), ValueError, "2 vs. 1"),
    Bad("GatherNd", lambda: indexing.gather_nd(floats(2), 0), ValueError, "at least rank 1"),
    Bad("GatherNd", lambda: indexing.gather_nd(floats(2, 2), [0], batch_dims=1), ValueError,
        "less than rank"),
    Bad("ScatterNd", lambda: indexing.scatter_nd([[0]], floats(2), [3]), ValueError,
        "outer 1 dimensions of indices.shape"),
    Bad("ScatterNd", lambda: indexing.scatter_nd([[0]], floats(1), [-3]), ValueError, "must be >= 0"),
    Bad("TensorScatterAdd", lambda: indexing.tensor_scatter_add(floats(3), [[0, 0]], floats(1)), ValueError,
        "2 vs. 1"),
    Bad("TensorScatterUpdate", lambda: indexing.tensor_scatter_update(floats(3, 2), [[0]], floats(1)),
        ValueError, "inner 1 dimensions of input.shape"),
    Bad("GatherV2", lambda: indexing.gather(tf.constant([1.0]), [1]), InvalidArgumentError,
        r"= 1 is not in \[0, 1\)", run=True),
    Bad("GatherV2", lambda: indexing.gather(tf.constant([1.0]), [0, -1]), InvalidArgumentError,
        r"indices\[1\] = -1", run=True),
    Bad("ScatterNd", lambda: indexing.scatter_nd([[5]], [1.0], [3]), InvalidArgumentError, r"\[5\] does not index into shape \[3\]",
        run=True),
    Bad("Where", lambda: indexing.boolean_mask(floats(2), True), ValueError, "mask cannot be scalar"),
    Bad("Where", lambda: indexing.boolean_mask(floats(2), tf.placeholder(tf.bool, None)), ValueError,
        "Number of mask dim"),
    Bad("Where", lambda: indexing.boolean_mask(floats(2), [True]), ValueError, r"\[2\] and \[1\]"),
    Bad("Less", lambda: indexing.sequence_mask([1], [2]), ValueError, "maxlen must be scalar"),
    Bad("OneHot", lambda: indexing.one_hot([1], -1), ValueError, "non-negative"),
    Bad("OneHot", lambda: indexing.one_hot([1], [2]), ValueError, "scalar"),
    Bad("OneHot", lambda: indexing.one_hot([1], 2, axis=2), ValueError, "Expected axis to be -1"),
    Bad("OneHot", lambda: indexing.one_hot([1], 2, 1.0, dtype=tf.int32), TypeError,
        "float32.*int32|must agree"),
    Bad("OneHot", lambda: indexing.one_hot([1], 2, dtype=tf.string), TypeError, "must both be given"),
]


# -- what the gradients of reads are made of -----------------------------------------------------------------
def added(shape, at):
    """Zeros of a shape, to which a gradient is added at `at`."""
    def reference(dy, *_):
        out = np.zeros(shape, dy.dtype)
        np.add.at(out, at, dy)
        return out

    return reference


CASES += [
    Case("SliceGrad", lambda dy, x: indexing.slicegrad_op(dy, x, [1, 0]), added((4, 3), np.s_[1:3]), ((2, 3), (4, 3)), wrt=(0,)),
    Case("SliceGrad", lambda dy, x: indexing.slicegrad_op(dy, x, [1, 0]), added((4, 3), np.s_[1:1]), ((0, 3), (4, 3)), wrt=(0,),
         note="empty"),
    Case("StridedSliceGrad", lambda dy: indexing.stridedslicegrad_op([5, 3], [4, 0], [0, 3], [-2, 1], dy),
         added((5, 3), np.s_[4:0:-2]), ((2, 3),)),
    Case("StridedSliceGrad", lambda dy: indexing.stridedslicegrad_op([5, 3], [1, 0], [4, 0], [2, 1], dy, end_mask=2),
         added((5, 3), np.s_[1:4:2]), ((2, 3),), note="mask"),
    Case("GatherV2Grad", lambda dy, x: indexing.gathergrad_op(dy, [2, 0, 2], 0, x), added((4, 2), np.array([2, 0, 2])),
         ((3, 2), (4, 2)), wrt=(0,)),
    Case("GatherV2Grad", lambda dy, x: indexing.gathergrad_op(dy, [1, 1], 1, x), added((3, 2), np.s_[:, np.array([1, 1])]),
         ((3, 2), (3, 2)), wrt=(0,), note="axis 1"),
]
