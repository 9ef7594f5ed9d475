"""Rows for `regrad/ops/train.py`: the sum of repeated rows. The update rules are tested in `tests/train`."""

import numpy as np

from regrad.ops import train
from tests.cases import Case

INDICES = np.array([3, 1, 3, 0, 1], np.int64)


def summed(values, indices):
    rows, place = np.unique(indices, return_inverse=True)
    sums = np.zeros_like(values)
    np.add.at(sums, place, values)
    return sums, np.r_[rows, np.full(len(indices) - len(rows), np.iinfo(indices.dtype).max, indices.dtype)]


CASES = [
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5, 2), INDICES), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((5,), INDICES.astype(np.int32)), order=0, wrt=()),
    Case("SumRepeatedRows", train.sum_repeated_rows, summed, ((0, 2), INDICES[:0]), order=0, wrt=(), note="empty"),
]
