"""Rows for `regrad/ops/segment.py`."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import segment
from tests.cases import Bad, Case, Edge

IDS = np.array([0, 0, 2, 2, 2], np.int32)
UNSORTED = np.array([2, 0, 2, -1, 0], np.int32)
ROWS = np.array([3, 0, 0, 1, 3], np.int32)
REAL = ("float16", "float32", "int32")
ALL = (*REAL, "complex64")


def floats(*shape):
    return tf.placeholder("float32", shape)


def groups(reduce, empty=0.0):
    """The reference: `reduce` over the rows of each id."""

    def reference(x, ids, n=None):
        n = (ids.max() + 1 if ids.size else 0) if n is None else n
        rest = x.shape[ids.ndim:]
        out = np.empty((n, *rest), x.dtype)
        for i in range(n):
            rows = x[ids == i]
            out[i] = reduce(rows) if len(rows) else empty
        return out

    return reference


def total(rows):
    return rows.sum(0, dtype=rows.dtype)


def mean(rows):
    if rows.dtype.kind == "i":
        return np.trunc(rows.sum(0) / len(rows)).astype(rows.dtype)
    return rows.mean(0)


def product(rows):
    return rows.prod(0, dtype=rows.dtype)


def sqrt_n(rows):
    return rows.sum(0) / np.sqrt(len(rows))


def largest(rows):
    return rows.max(0)


def least(rows):
    return rows.min(0)


def sorted_rows(op_type, function, reduce, empty=0.0, dtypes=REAL, **more):
    reference = groups(reduce, empty)
    return [
        Case(op_type, function, reference, ((5, 2), IDS), note="ids at run time"),
        Case(op_type, lambda x: function(x, IDS), lambda x: reference(x, IDS), ((5, 2),), dtypes=dtypes,
             **more),
        Case(op_type, lambda x: function(x, [1, 1, 3]), lambda x: reference(x, np.array([1, 1, 3])), ((3,),),
             note="vector", **more),
        Case(op_type, lambda x: function(x, np.zeros(0, np.int64)), lambda x: np.zeros((0, 2)), ((0, 2),),
             note="empty", **more),
    ]


def unsorted_rows(op_type, function, reduce, empty=0.0, dtypes=REAL, **more):
    reference = groups(reduce, empty)
    return [
        Case(op_type, lambda x, i: function(x, i, 4), lambda x, i: reference(x, i, 4), ((5, 2), UNSORTED),
             dtypes=(), **more),
        Case(op_type, lambda x, i: function(x, i, 3), lambda x, i: reference(x, i, 3),
             ((2, 3, 2), np.array([[1, 0, 1], [1, 2, 0]])), dtypes=dtypes, **more),
        Case(op_type, lambda x, i: function(x, i, 2), lambda x, i: reference(x, i, 2),
             ((0,), np.zeros(0, np.int32)), dtypes=(), note="empty", **more),
        Case(op_type, lambda x, i: function(x, i, 2), lambda x, i: reference(x, i, 2), ((), np.array(1)),
             dtypes=(), note="scalar", **more),
    ]


def sparse_rows(name, function, reduce):
    def reference(x, indices, ids, num_segments=None):
        return groups(reduce)(x[indices], ids, num_segments)

    return [
        Case(name, function, reference, ((4, 2), ROWS, IDS), note="ids at run time"),
        Case(name, lambda x, i: function(x, i, IDS), lambda x, i: reference(x, i, IDS), ((4, 2), ROWS)),
        Case(name + "WithNumSegments", function, reference, ((4, 2), ROWS, IDS), {"num_segments": 5}),
        Case(name + "WithNumSegments", function, reference, ((4,), ROWS[:0], IDS[:0]), {"num_segments": 2},
             note="empty"),
    ]


def of_sparse_rows(name, op, divide):
    """A row of TensorFlow's op for the gradient of means of gathered rows."""
    ids = np.array([0, 0, 1, 2, 2, 2])

    def reference(g):
        out, counts = np.zeros((6, 2)), np.bincount(ids)
        for row, i in zip([4, 1, 1, 0, 5, 4], ids):
            out[row] += g[i] / divide(counts[i])
        return out

    return Case(name, lambda g: op(g, np.array([4, 1, 1, 0, 5, 4], np.int32), ids.astype(np.int32), 6), reference, ((3, 2),), order=0)


LOWEST, HIGHEST = np.finfo(np.float64).min, np.finfo(np.float64).max

CASES = [
    *sorted_rows("SegmentSum", segment.segment_sum, total, dtypes=ALL),
    *sorted_rows("SegmentMean", segment.segment_mean, mean, dtypes=ALL),
    *sorted_rows("SegmentProd", segment.segment_prod, product, 1.0, dtypes=ALL, jax=False),
    *sorted_rows("SegmentMax", segment.segment_max, largest),
    *sorted_rows("SegmentMin", segment.segment_min, least),
    *unsorted_rows("UnsortedSegmentSum", segment.unsorted_segment_sum, total, dtypes=ALL),
    *unsorted_rows("UnsortedSegmentProd", segment.unsorted_segment_prod, product, 1.0, dtypes=ALL, jax=False),
    *unsorted_rows("UnsortedSegmentMax", segment.unsorted_segment_max, largest, LOWEST),
    *unsorted_rows("UnsortedSegmentMin", segment.unsorted_segment_min, least, HIGHEST),
    *unsorted_rows("RealDiv", segment.unsorted_segment_mean, mean, dtypes=("float32",)),
    *(row for row in unsorted_rows("Sqrt", segment.unsorted_segment_sqrt_n, sqrt_n, dtypes=("float32",))),
    *sparse_rows("SparseSegmentSum", segment.sparse_segment_sum, total),
    *sparse_rows("SparseSegmentMean", segment.sparse_segment_mean, mean),
    *sparse_rows("SparseSegmentSqrtN", segment.sparse_segment_sqrt_n, sqrt_n),
    of_sparse_rows("SparseSegmentMeanGrad", segment.sparsesegmentmeangrad_op, lambda n: n),
    of_sparse_rows("SparseSegmentSqrtNGrad", segment.sparsesegmentsqrtngrad_op, np.sqrt),
    Case("GatherSegments", lambda x, i: segment.gathersegments_op(x, i),
         lambda x, i: np.where(i[..., None] < 0, 0, x[i]), ((3, 2), UNSORTED), dtypes=ALL),
    Edge("SegmentMax", lambda x: segment.segment_max(x, [0, 0, 0, 1]), ([2.0, 1.0, 2.0, 5.0],),
         ([0.5, 0, 0.5, 1],), note="ties share"),
    Edge("UnsortedSegmentMin", lambda x: segment.unsorted_segment_min(x, [1, 1, 0], 3), ([2.0, 2.0, 2.0],),
         ([0.5, 0.5, 1],), note="ties share"),
    Edge("UnsortedSegmentProd", lambda x: segment.unsorted_segment_prod(x, [0, 0, 1, 1, 1, 2], 3),
         ([0.0, 3.0, 0.0, 2.0, 0.0, 5.0],), ([3, 0, 0, 0, 0, 1],), note="zeros"),
    Edge("SegmentProd", lambda x: segment.segment_prod(x, [0, 0, 1]), ([0.0, 3.0, 2.0],), ([3, 0, 1],),
         ([1, 1, 0],), note="a zero, second order"),
    Bad("SegmentSum", lambda: segment.segment_sum(floats(2), [1, 0]), ValueError, "not increasing"),
    Bad("SegmentSum", lambda: segment.segment_sum(floats(2), [-1, 0]), ValueError, ">= 0"),
    Bad("SegmentSum", lambda: segment.segment_sum(floats(3), [0, 1]), ValueError, "should be the same size as"),
    Bad("SegmentSum", lambda: segment.segment_sum(floats(2), [[0, 1]]), ValueError, "must be rank 1 but is rank 2"),
    Bad("SegmentSum", lambda: segment.segment_sum(floats(), [0]), ValueError, "at least rank 1"),
    Bad("SegmentMax", lambda: segment.segment_max(tf.placeholder("complex64", [1]), [0]), TypeError,
        "complex64"),
    Bad("SegmentMean", lambda: segment.segment_mean([1.0, 2.0], tf.placeholder_with_default([1, 0], [2])),
        InvalidArgumentError, "not increasing", run=True),
    Bad("UnsortedSegmentSum", lambda: segment.unsorted_segment_sum(floats(2), [0, 0, 0], 1), ValueError,
        "must start with"),
    Bad("UnsortedSegmentSum", lambda: segment.unsorted_segment_sum(floats(2), [0, 0], -1), ValueError,
        "at least 0"),
    Bad("UnsortedSegmentSum", lambda: segment.unsorted_segment_sum(floats(2), [0, 0], [1]), ValueError,
        "scalar"),
    Bad("UnsortedSegmentSum", lambda: segment.unsorted_segment_sum([1.0], [3], 2), InvalidArgumentError,
        r"segment_ids\[0\] = 3 is out of range \[0, 2\)", run=True),
    Bad("SparseSegmentSum", lambda: segment.sparse_segment_sum(floats(2), [0], [0, 0]), ValueError,
        "should be the same size as"),
    Bad("SparseSegmentSum", lambda: segment.sparse_segment_sum(floats(2), [[0]], [0]), ValueError,
        "must be rank 1 but is rank 2"),
]
