"""Rows for `regrad/ops/train.py`: the sum of repeated rows. The update rules are tested in `tests/train`."""

import numpy as np

from regrad.ops import train
from tests.cases import Case

INDICES = np.array([3, 1, 3, 0, 1], np.int64)


def summed(values, indices, num_rows=None):
    """The sum stands where the last of the equal rows stood."""
    outside = (indices < 0) | (indices >= num_rows) if num_rows is not None else np.zeros(len(indices), bool)
    key = np.where(outside, -1, indices) if indices.dtype == np.int64 else indices
    sums, rows = np.zeros_like(values), np.full_like(indices, np.iinfo(indices.dtype).max)
    for row in np.unique(key):
        last = np.flatnonzero(key == row)[-1]
        sums[last], rows[last] = values[key == row].sum(0), indices[last]
    return sums, rows


SPARSE = np.array([3, 1, 3, 9, -1, 1], np.int32)
CASES = [
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5,), INDICES.astype(np.int32)), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), order=0, wrt=(), note="empty"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), {"num_rows": 4}, order=0, wrt=(),
         note="bounded"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE), {"num_rows": 5}, order=0, wrt=(),
         note="outside"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE.astype(np.int64)), {"num_rows": 5}, order=0,
         wrt=(), note="outside_int64"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), {"num_rows": 0}, order=0, wrt=(),
         note="nothing"),
]
CASES.append(Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE), order=0, wrt=(), note="negative"))
