"""Rows for `regrad/ops/cumulative.py`."""

import itertools

import numpy as np

from regrad.ops import cumulative
from tests.cases import FLOATS, Bad, Case, Edge

FLAGS = list(itertools.product((False, True), (False, True)))


def _reference(accumulate, neutral):
    def reference(x, axis=0, exclusive=False, reverse=False):
        if x.shape[axis] == 0:
            return x
        x = np.flip(x, axis) if reverse else x
        y = accumulate(x, axis)
        if exclusive:
            first = np.full_like(np.take(x, [0], axis), neutral(x.dtype))
            y = np.concatenate([first, np.take(y, range(x.shape[axis] - 1), axis)], axis)
        return np.flip(y, axis) if reverse else y

    return reference


_sum = _reference(lambda x, axis: np.cumsum(x, axis, dtype=x.dtype), lambda t: 0)
_prod = _reference(lambda x, axis: np.cumprod(x, axis, dtype=x.dtype), lambda t: 1)
_lse = _reference(lambda x, axis: np.logaddexp.accumulate(x, axis), lambda t: -np.inf)


def rows(op_type, function, reference, dtypes):
    out = [Case(op_type, function, reference, ((3, 4),), {"axis": axis, "exclusive": e, "reverse": r},
                dtypes=dtypes if axis == 0 else (), note=f"axis{axis}{'-exclusive' * e}{'-reverse' * r}")
           for axis in (0, -1) for e, r in FLAGS]
    out += [Case(op_type, function, reference, (shape,), {"axis": axis, "exclusive": True}, dtypes=())
            for shape, axis in (((1,), 0), ((0,), 0), ((2, 0, 3), 1), ((2, 3, 2), 1))]
    return out


CASES = [
    *rows("Cumsum", cumulative.cumsum, _sum, (*FLOATS, "int32", "int64", "complex64")),
    *rows("Cumprod", cumulative.cumprod, _prod, (*FLOATS, "int32", "int64", "complex64")),
    *rows("CumulativeLogsumexp", cumulative.cumulative_logsumexp, _lse, ("float16", "float32")),
    Case("CumulativeLogsumexp", cumulative.cumulative_logsumexp, _lse, (np.array([1000.0, -1000, 999, 0]),), note="large"),
    Case("Cumsum", cumulative.cumsum, _sum, (np.array([1.0, np.inf, 2, -np.inf, np.nan]),), derivatives=False,
         note="special"),
    Case("Cumprod", cumulative.cumprod, _prod, ((4,),), order=3, note="third"),
    # With zeros: y = (a, 0, 0, 0), whose sum has the derivative (1 + 0, a + ac + 0, 0, 0) ...
    Edge("Cumprod", cumulative.cumprod, ([2.0, 0, 3, 5],), ([1, 2 + 6 + 30, 0, 0],), note="one zero"),
    Edge("Cumprod", cumulative.cumprod, ([2.0, 0, 0, 5],), ([1, 2, 0, 0],),
         second=([1, 1 + 2 + 10, 2 + 10, 0],), note="two zeros"),
    Bad("Cumsum", lambda: cumulative.cumsum(np.zeros((2, 3)), axis=2), ValueError, r"scan axis in the range \[-2, 2\)"),
    Bad("Cumprod", lambda: cumulative.cumprod(np.array([True])), TypeError, "bool"),
    Bad("CumulativeLogsumexp", lambda: cumulative.cumulative_logsumexp(np.array([1])), TypeError, "int"),
]
