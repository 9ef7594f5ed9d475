"""Rows for `regrad/ops/bitwise.py`."""

import numpy as np

from regrad.ops import bitwise
from tests.cases import Bad, Case

TYPES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def _x(t):
    limits = np.iinfo(t)
    return np.array([[0, 1, 5], [limits.max, limits.min, 100]], t)


def _count(x):
    return np.vectorize(lambda v: (int(v) & (2 ** (8 * x.dtype.itemsize) - 1)).bit_count())(x).astype(np.uint8)


CASES = [
    *[Case(op, f, r, (_x(t), np.array([3, 6, 7], t)), note=np.dtype(t).name)
      for t in TYPES for op, f, r in (
          ("BitwiseAnd", bitwise.bitwise_and, np.bitwise_and), ("BitwiseOr", bitwise.bitwise_or, np.bitwise_or),
          ("BitwiseXor", bitwise.bitwise_xor, np.bitwise_xor), ("LeftShift", bitwise.left_shift, np.left_shift),
          ("RightShift", bitwise.right_shift, np.right_shift))],
    *[Case("Invert", bitwise.invert, np.invert, (_x(t),), note=np.dtype(t).name) for t in TYPES],
    *[Case("PopulationCount", bitwise.population_count, _count, (_x(t),), note=np.dtype(t).name) for t in TYPES],
    Case("BitwiseAnd", bitwise.bitwise_and, np.bitwise_and, (np.zeros((0, 2), np.int32), np.zeros((1,), np.int32))),
    Case("LeftShift", bitwise.left_shift, lambda x, y: np.array([-2**31, 1], np.int32),
         (np.array([1, 1], np.int32), np.array([40, -3], np.int32)), note="beyond the width"),
    Case("RightShift", bitwise.right_shift, lambda x, y: np.array([-1, 0], np.int32),
         (np.array([-8, 8], np.int32), np.array([40, 40], np.int32)), note="beyond the width"),
    Bad("BitwiseAnd", lambda: bitwise.bitwise_and(np.zeros(2), np.zeros(2)), TypeError, "float64 not in list"),
    Bad("Invert", lambda: bitwise.invert(np.array([True])), TypeError, "bool not in list"),
    Bad("BitwiseOr", lambda: bitwise.bitwise_or(np.zeros(2, int), np.zeros(3, int)), ValueError, "2 and 3"),
]
