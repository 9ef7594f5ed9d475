"""Rows for `regrad/ops/partition.py`."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import partition
from tests.cases import Bad, Case, Edge

X = np.array([4, 1, 4, 2, 1, 4], np.int32)
WORDS = np.array([b"b", b"a", b"b"], object)
PARTS = np.array([1, 0, 3, 1], np.int32)
I32 = np.int32


def floats(*shape):
    return tf.placeholder("float32", shape)


def parts(x, which, n):
    return tuple(x[which == i] for i in range(n))


def stitched(indices, data):
    rest = data[0].shape[indices[0].ndim:]
    out = np.zeros((max((i.max() + 1 for i in indices if i.size), default=0), *rest), data[0].dtype)
    for i, d in zip(indices, data):
        for at, row in zip(i.ravel(), d.reshape(-1, *rest)):
            out[at] = row
    return out


I0, I1, TWICE = np.array([3, 0], I32), np.array([[1, 4], [2, 6]], I32), np.array([0, 3, 0], I32)


def stitch_row(indices, shapes, known, **more):
    if known:
        return Case("DynamicStitch", lambda *data: partition.dynamic_stitch(indices, list(data)),
                    lambda *data: stitched(indices, data), shapes, **more)
    n = len(indices)
    return Case("DynamicStitch", lambda *a: partition.dynamic_stitch(list(a[:n]), list(a[n:])),
                lambda *a: stitched(a[:n], a[n:]), (*indices, *shapes), **more)


CASES = [
    Case("Unique", partition.unique, lambda x: (np.array([4, 1, 2]), np.array([0, 1, 0, 2, 1, 0])), (X,)),
    Case("Unique", partition.unique, lambda x: (np.array([100, -128, 127]), np.tile([0, 1, 2, 0], 20)),
         (np.tile(np.array([100, -128, 127, 100], np.int8), 20),), order=0, note="far apart for the type"),
    Case("Unique", lambda x: partition.unique(x, tf.int64),
         lambda x: (np.array([b"b", b"a"], object), np.array([0, 1, 0])), (WORDS,), note="strings"),
    Case("Unique", partition.unique, lambda x: (np.zeros(0), np.zeros(0)), (np.zeros(0),), order=0,
         note="empty"),
    Case("UniqueWithCounts", partition.unique_with_counts,
         lambda x: (np.array([4, 1, 2]), np.array([0, 1, 0, 2, 1, 0]), np.array([3, 2, 1])), (X,)),
    *(Case("UniqueV2", lambda x, a=axis: partition.uniquev2_op(x, [a]), lambda x, y=y, i=i: (np.array(y), np.array(i)),
           (np.array([[1, 0, 0], [1, 0, 0], [2, 0, 0]], I32),), note=f"axis {axis}")
      for axis, y, i in ((0, [[1, 0, 0], [2, 0, 0]], [0, 0, 1]), (1, [[1, 0], [1, 0], [2, 0]], [0, 1, 1]))),
    Case("UniqueV2", lambda x: partition.uniquev2_op(x, np.zeros(0, np.int64)),
         lambda x: (np.array([4, 1, 2]), np.array([0, 1, 0, 2, 1, 0])), (X,), note="no axis"),
    Case("UniqueWithCountsV2", lambda x: partition.uniquewithcountsv2_op(x, [-2]),
         lambda x: (np.array([[1, 0], [2, 0]]), np.array([0, 0, 1]), np.array([2, 1])),
         (np.array([[1, 0], [1, 0], [2, 0]], I32),)),
    Case("ListDiff", partition.setdiff1d, lambda x, y: (np.array([4, 4, 2, 4]), np.array([0, 2, 3, 5])),
         (X, np.array([1, 7], I32))),
    Case("ListDiff", lambda x: partition.listdiff(x, [b"b"]), lambda x: (x[1:2], np.array([1])), (WORDS,),
         note="strings"),
    Case("DynamicPartition", lambda x, p: partition.dynamic_partition(x, p, 4), lambda x, p: parts(x, p, 4),
         ((4, 2), PARTS), note="at run time"),
    Case("DynamicPartition", lambda x: partition.dynamic_partition(x, PARTS, 4), lambda x: parts(x, PARTS, 4),
         ((4, 2),), dtypes=("float32", "int32")),
    Case("DynamicPartition", lambda x: partition.dynamic_partition(x, [[0, 1], [1, 1]], 2),
         lambda x: parts(x, np.array([[0, 1], [1, 1]]), 2), ((2, 2, 3),), note="matrix"),
    Case("DynamicPartition", lambda x: partition.dynamic_partition(x, np.zeros(0, I32), 2), lambda x: (x, x),
         ((0, 2),), note="empty"),
    stitch_row([I0, I1], ((2, 3), (2, 2, 3)), True, dtypes=("float32", "int32")),
    stitch_row([I0, I1], ((2, 3), (2, 2, 3)), False, note="at run time"),
    stitch_row([TWICE, I0], ((3,), (2,)), True, note="overwritten"),
    stitch_row([TWICE, I0], ((3, 2), (2, 2)), False, note="overwritten at run time"),
    Edge("DynamicStitch", lambda x, y: partition.dynamic_stitch([[0, 1, 0], [1]], [x, y]),
         ([1.0, 2.0, 3.0], [4.0]), ([0, 0, 1], [1]), note="only what is left counts"),
    Bad("Unique", lambda: partition.unique(floats(2, 2)), ValueError, "expects a 1D vector"),
    Bad("ListDiff", lambda: partition.setdiff1d([1], [1.5]), TypeError, "y"),
    Bad("DynamicPartition", lambda: partition.dynamic_partition(floats(2), [0, 2], 2), ValueError,
        r"partitions\[1\] = 2 is not in \[0, 2\)"),
    Bad("DynamicPartition", lambda: partition.dynamic_partition(floats(2), [0, 1, 1], 2), ValueError,
        "must start with"),
    Bad("DynamicPartition", lambda: partition.dynamic_partition(floats(2), [0, 0], 0), ValueError,
        "at least 1"),
    Bad("DynamicPartition", lambda: partition.dynamic_partition([1.0], tf.placeholder_with_default([5], [1]),
                                                                2),
        InvalidArgumentError, "= 5 is not in", run=True),
    Bad("DynamicStitch", lambda: partition.dynamic_stitch([[0, 1]], [floats(3)]), ValueError,
        "must start with"),
    Bad("DynamicStitch", lambda: partition.dynamic_stitch([[0], [1]], [floats(1)]), ValueError, "one length"),
    Bad("DynamicStitch", lambda: partition.dynamic_stitch([[0], [1]], [floats(1), floats(1, 2)]), ValueError,
        "one shape"),
    Bad("DynamicStitch", lambda: partition.dynamic_stitch([], []), ValueError, "at least one"),
]
