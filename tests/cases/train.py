"""Rows for `regrad/ops/train.py`: the sum of repeated rows. The update rules are tested in `tests/train`."""

import numpy as np

from regrad.ops import train
from tests.cases import Case

INDICES = np.array([3, 1, 3, 0, 1], np.int64)


def summed(values, indices, num_rows=None):
    """The sum stands where the last of the equal rows stood."""
    sums, rows = np.zeros_like(values), np.full_like(indices, np.iinfo(indices.dtype).max)
    for row in np.unique(indices[(indices >= 0) & (num_rows is None or indices < num_rows)] if num_rows else indices):
        last = np.flatnonzero(indices == row)[-1]
        sums[last], rows[last] = values[indices == row].sum(0), row
    return sums, rows


SPARSE = np.array([3, 1, 3, 9, -1, 1], np.int32)
CASES = [
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5,), INDICES.astype(np.int32)), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), order=0, wrt=(), note="empty"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), {"num_rows": 4}, order=0, wrt=(),
         note="table"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((6, 2), SPARSE), {"num_rows": 5}, order=0, wrt=(),
         note="outside"),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), {"num_rows": 0}, order=0, wrt=(),
         note="nothing"),
]
