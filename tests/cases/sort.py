"""Rows for `regrad/ops/sort.py`."""

import numpy as np

import regrad as tf
from regrad.ops import sort
from tests.cases import Bad, Case, Edge

REAL = ("float16", "float32")
TIES = np.array([[1, 3, 3, 0, 1], [2, 2, 2, 2, 2]], np.int32)
EXTREMES = np.array([5, -(2**31), 2**31 - 1, 0, -7], np.int32)
SIGNED = np.tile(np.array([[-0.0, 0.0, -1.0], [0.0, -0.0, -2.5]], np.float32), 9)  # zeros are alike, whatever their sign
NANS = np.where(np.arange(27) == 20, -np.float32("nan"), np.where(np.arange(27) == 11, np.float32("nan"), SIGNED))
ROWS = np.array([[-1.5, 0.0, 0.0, 2.0], [-2.0, -1.0, 1.0, 1.0]])
VALUES = np.array([[0.0, 3.0, -2.0], [1.0, 0.0, -2.0]])


def floats(*shape):
    return tf.placeholder("float32", shape)


def top(x, k):
    order = np.argsort(np.where(np.isnan(x), -np.inf, -x.astype(float)), -1, kind="stable")[..., :k]  # NaN is the largest
    return np.take_along_axis(x, order, -1), order


def searched(side):
    return lambda rows, values: np.stack([np.searchsorted(r, v, side) for r, v in zip(rows, values)])


CASES = [
    Case("TopKV2", lambda x: sort.top_k(x, 2), lambda x: top(x, 2), ((2, 3, 4),), dtypes=REAL),
    Case("TopKV2", sort.top_k, lambda x: top(x, 1), ((5,),), note="one"),
    Case("TopKV2", lambda x: sort.top_k(x, 3, sorted=False), lambda x: top(x, 3), (TIES,), note="ties"),
    Case("TopKV2", lambda x: sort.top_k(x, 0), lambda x: top(x, 0), ((2, 3),), note="none"),
    Case("TopKV2", lambda x: sort.top_k(x, 4), lambda x: top(x, 4), (np.array([[3, 250, 0, 7]], np.uint8),),
         note="uint8"),
    *(Case("TopKV2", lambda x, k=k: sort.top_k(x, k), lambda x, k=k: top(x, k), (x,), derivatives=False, note=f"{k}, {name}")
      for name, x in (("signed zeros", SIGNED), ("nan", NANS)) for k in (1, 3, 20)),
    Case("TopKV2", lambda x: sort.top_k(x, 3)[0][..., 1:2], lambda x: top(x, 3)[0][..., 1:2], ((2, 30),), note="one of a few"),
    *(Case("Bucketize", lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.5, 2.0]),
           lambda x: np.digitize(x, [-1.0, 0.5, 2.0]), (x,), order=0, note=str(i))
      for i, x in enumerate([np.array([[-2, -1, 0.5], [0.49, 2, 9]]), np.array([-2, -1, 0, 1, 2, 3]), np.zeros([0, 2])])),
    Bad("Bucketize", lambda: tf.raw_ops.Bucketize(input=[1.0], boundaries=[2.0, 1.0]), ValueError, "Expected sorted boundaries"),
    Case("NthElementPlaces", lambda x: sort.nthplaces_op(x, 1), lambda x: x == np.sort(x, -1)[..., 1:2], ((2, 4),), order=0),
    Case("NthElement", lambda x: sort.nth_element(x, 1), lambda x: np.sort(x, -1)[..., 1], ((2, 4),),
         dtypes=REAL),
    Case("NthElement", lambda x: sort.nth_element(x, 0, reverse=True), lambda x: x.max(-1), ((2, 3, 4),),
         note="reverse"),
    Case("TopKV2", sort.sort, np.sort, ((2, 5),), dtypes=(*REAL, "int32"), note="sort"),
    Case("TopKV2", lambda x: sort.sort(x, 0, "DESCENDING"), lambda x: -np.sort(-x, 0), ((4, 2, 3),),
         note="sort descending"),
    Case("TopKV2", lambda x: sort.sort(x, -2), lambda x: np.sort(x, -2), ((2, 4, 3),), note="sort axis -2"),
    Case("TopKV2", sort.sort, np.sort, (EXTREMES,), note="sort extremes"),
    Case("TopKV2", sort.sort, np.sort, (np.array([3, 0, 255, 7], np.uint8),), note="sort unsigned"),
    Case("TopKV2", sort.sort, np.sort, ((2, 0),), note="sort nothing"),
    Case("TopKV2", sort.argsort, lambda x: np.argsort(x, -1, kind="stable"), (TIES,), note="argsort"),
    Case("TopKV2", lambda x: sort.argsort(x, 0, "DESCENDING", stable=True),
         lambda x: np.argsort(-x, 0, kind="stable"), (TIES,), note="argsort descending"),
    Case("LowerBound", sort.searchsorted, searched("left"), (ROWS, VALUES), order=0),
    Case("UpperBound", lambda r, v: sort.searchsorted(r, v, "right", out_type=tf.int64), searched("right"),
         (ROWS, VALUES), order=0),
    Case("LowerBound", sort.searchsorted, lambda r, v: np.searchsorted(r, v),
         (np.array([1, 3, 3, 7]), np.array([3, 0, 9])), note="vectors"),
    Case("UpperBound", lambda r, v: sort.searchsorted(r, v, "right"), lambda r, v: np.zeros((2, 0)),
         (ROWS, np.zeros((2, 0))), order=0, note="nothing"),
    Case("UnravelIndex", sort.unravel_index, lambda i, d: np.stack(np.unravel_index(i, d)),
         (np.array([22, 0, 59], np.int32), np.array([3, 4, 5], np.int32))),
    Case("UnravelIndex", lambda i: sort.unravel_index(i, [7, 6]),
         lambda i: np.stack(np.unravel_index(i, (7, 6))), (np.array(41, np.int32),), note="scalar"),
    Edge("NthElement", lambda x: sort.nth_element(x, 1), ([3.0, 1.0, 1.0, 1.0],), ([0, 1 / 3, 1 / 3, 1 / 3],),
         note="ties share"),
    Edge("TopKV2", lambda x: sort.top_k(x, 2)[0], ([1.0, 4.0, 4.0, 4.0],), ([0, 3, 5, 0],), dy=[3, 5],
         note="ties by place"),
    Bad("TopKV2", lambda: sort.top_k(floats(3), 4), ValueError, "at least k columns. Had 3, needed 4"),
    Bad("TopKV2", lambda: sort.top_k(floats(3), -1), ValueError, "k >= 0"),
    Bad("TopKV2", lambda: sort.top_k(floats(), 1), ValueError, "at least rank 1"),
    Bad("TopKV2", lambda: sort.top_k(floats(3), [1]), ValueError, "scalar"),
    Bad("TopKV2", lambda: sort.top_k(tf.placeholder("complex64", [3])), TypeError, "complex64"),
    Bad("NthElement", lambda: sort.nth_element(floats(3), 3), ValueError, r"n\+1 = 4 columns, had 3"),
    Bad("NthElement", lambda: sort.nth_element(floats(3), -1), ValueError, "n >= 0"),
    Bad("TopKV2", lambda: sort.sort(floats(3), 1), ValueError, "axis 1 is out of valid range"),
    Bad("TopKV2", lambda: sort.sort(floats(3), 0, "UP"), ValueError, "UP should be one of"),
    Bad("TopKV2", lambda: sort.argsort(floats(3), tf.placeholder("int32", [])), ValueError,
        "axis must be a constant"),
    Bad("LowerBound", lambda: sort.searchsorted(floats(2, 3), floats(3, 3)), ValueError, "as many rows"),
    Bad("LowerBound", lambda: sort.searchsorted(floats(3), floats(3), "middle"), ValueError, "middle"),
    Bad("UnravelIndex", lambda: sort.unravel_index([[1]], [2]), ValueError, "scalar or vector"),
]
