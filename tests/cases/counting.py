"""Rows for `regrad/ops/counting.py`."""

import numpy as np

from regrad.core.errors import InvalidArgumentError
from regrad.ops import array, counting
from tests.cases import Bad, Case

ARR = np.array([[1, 4, 1], [0, 1, 7]], np.int32)
W = np.array([[0.5, 2, -1], [3, 0.25, 1]])
VALUES = np.array([-1.0, 0.0, 1.5, 2.0, 4.9, 5.0, 15.0])
LABELS, PREDICTIONS = np.array([0, 1, 2, 2, 1]), np.array([0, 2, 2, 1, 1])
CONFUSION = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def _op(size):
    return lambda arr, weights: counting.bincount_op(arr, size, weights)


def _op_np(size):
    return lambda arr, weights: np.bincount(arr.ravel(), weights.ravel(), minlength=size)[:size]


CASES = [
    Case("Bincount", lambda a: counting.bincount(a), lambda a: np.bincount(a.ravel()).astype(np.int32), (ARR,)),
    Case("Bincount", lambda a: counting.bincount(a, minlength=12, dtype="float32"),
         lambda a: np.bincount(a.ravel(), minlength=12).astype(np.float32), (ARR,), note="minlength"),
    Case("Bincount", lambda a: counting.bincount(a, maxlength=3), lambda a: np.bincount(a.ravel())[:3].astype(np.int32),
         (ARR,), note="maxlength"),
    Case("Bincount", _op(8), _op_np(8), (ARR, W), dtypes=("float32",), note="weights"),
    Case("Bincount", _op(3), _op_np(3), (ARR, W), dtypes=(), note="weights cut"),
    Case("Bincount", _op(9), _op_np(9), (ARR, W), dtypes=(), note="weights and zeros"),
    Case("Bincount", lambda a: counting.bincount(a), lambda a: np.zeros(0, np.int32), (np.zeros(0, np.int32),), note="nothing"),
    Case("HistogramFixedWidth", lambda v: counting.histogram_fixed_width(v, [0.0, 5.0], nbins=5),
         lambda v: np.array([2, 1, 1, 0, 3], np.int32), (VALUES,), order=0),
    *(Case("HistogramFixedWidth", lambda v, n=n: counting.histogram_fixed_width(v, [0.0, float(n)], nbins=n), None,
           (np.arange(n + 1.0),), note=f"edges {n}", order=0, dtypes=("float32",)) for n in (10, 41, 49)),
    Case("HistogramFixedWidth", lambda v: counting.histogram_fixed_width(v, [0, 10], nbins=2, dtype="int64"),
         lambda v: np.array([5, 1]), (ARR,), note="ints"),
    Case("Cast", lambda v: counting.histogram_fixed_width_bins(v, np.array([0.0, 5.0]), nbins=5),
         lambda v: np.array([0, 0, 1, 2, 4, 4, 4], np.int32), (VALUES,), derivatives=False, dtypes=(), note="histogram bins"),
    Case("ScatterNd", lambda a, b: counting.confusion_matrix(a, b), lambda a, b: CONFUSION.astype(np.int32),
         (LABELS, PREDICTIONS), note="confusion", unknown=False),
    Case("ScatterNd", lambda a, b: counting.confusion_matrix(a, b, num_classes=4, dtype="float32", weights=[1, 2, 3, 4, 5]),
         lambda a, b: np.array([[1, 0, 0, 0], [0, 5, 2, 0], [0, 4, 3, 0], [0, 0, 0, 0]], np.float32),
         (LABELS, PREDICTIONS[:, None]), note="confusion weighted", unknown=False),
    Bad("ScatterNd", lambda: counting.confusion_matrix([0, -1], [0, 1]), InvalidArgumentError, "negative values"),
    Bad("ScatterNd", lambda: counting.confusion_matrix(array.placeholder_with_default(np.array([0, 5]), [2]), [0, 1], 3),
        InvalidArgumentError, "`labels` out of bound|not in", run=True),
    Bad("Bincount", lambda: counting.bincount_op(ARR, 3, np.zeros(2)), ValueError, "shape of arr"),
    Bad("HistogramFixedWidth", lambda: counting.histogram_fixed_width(VALUES, [0.0, 1.0, 2.0]), ValueError, "two elements"),
]
