"""Rows for `regrad/ops/reduce.py`."""

import numpy as np
import scipy.special

from regrad.ops import array, math, reduce
from tests.cases import FLOATS, INEXACT, Bad, Case, Edge

nan, inf = np.nan, np.inf
AXES = [None, 0, -1, [0, 2], [1, -1], []]


def _np(function):
    def reference(x, axis=None, keepdims=False):
        axis = tuple(axis) if isinstance(axis, list) else axis
        return np.asarray(function(x, axis=axis, keepdims=bool(keepdims)))

    return reference


def rows(op_type, function, reference, dtypes=FLOATS, low=-2.0, order=2, axes=AXES, **more):
    reference = _np(reference)
    out = [Case(op_type, function, reference, ((2, 3, 4),), {"axis": axis, "keepdims": keep}, low=low, order=order,
                dtypes=dtypes if axis in (None, 0) else (), note=f"axis={axis}{'-keep' * keep}".replace(" ", ""), **more)
           for axis in axes for keep in (False, True)]
    out.append(Case(op_type, function, reference, ((),), low=low, order=order, dtypes=(), **more))
    out.append(Case(op_type, function, reference, ((3, 1),), {"axis": 1}, low=low, order=order, dtypes=(), **more))
    return out


def _int_mean(x, axis, keepdims):
    n = x.size if axis is None else x.shape[axis]
    return np.trunc(np.sum(x, axis=axis, keepdims=keepdims) / n).astype(x.dtype)


def _norm(x, axis, keepdims):
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))


def _max(x, axis, keepdims):
    return np.max(x, axis=axis, keepdims=keepdims, initial=-inf)


def _min(x, axis, keepdims):
    return np.min(x, axis=axis, keepdims=keepdims, initial=inf)


def _lse(x, axis, keepdims):
    return scipy.special.logsumexp(x, axis=axis, keepdims=keepdims) if x.size else np.full(
        np.sum(x, axis=axis, keepdims=keepdims).shape, -inf)


BOOLS = np.array([[True, False, True], [True, True, True]])
TIES = np.array([[1.0, 3, 3], [2, 2, 0]])
Z = np.array([[1 + 2j, 3 - 1j, 0.5j], [2 - 2j, 1 + 1j, 1 - 3j]])
INTS = np.array([[3, -4, 5], [7, 0, -2]], np.int32)

CASES = [
    *rows("Sum", reduce.reduce_sum, np.sum, dtypes=(*INEXACT, "int32", "int64")),
    *rows("Mean", reduce.reduce_mean, np.mean, dtypes=INEXACT),
    *(Case("Mean", lambda x: math.floor(reduce.reduce_mean(x, 0)), lambda x: x[0], (np.repeat(np.arange(-60.0, 60)[None], n, 0),),
           derivatives=False, note=f"floor of {n}") for n in (5, 49, 103)),
    Case("Mean", lambda x: reduce.reduce_mean(x, 0), lambda x: x[0], (np.repeat(np.arange(-60, 60)[None], 49, 0),), note="whole"),
    *rows("Prod", reduce.reduce_prod, np.prod, dtypes=(*INEXACT, "int32"), low=0.5),
    *rows("Max", reduce.reduce_max, _max, dtypes=FLOATS),
    *rows("Min", reduce.reduce_min, _min, dtypes=FLOATS),
    *rows("EuclideanNorm", reduce.reduce_euclidean_norm, _norm, low=0.3),
    *[Case("Log", reduce.reduce_logsumexp, _np(_lse), (shape,), {"axis": axis, "keepdims": keep}, dtypes=FLOATS,
           note=f"logsumexp-{axis}-{keep}".replace(" ", ""))
      for shape, axis in (((2, 3), None), ((2, 3), -1), ((2, 3, 2), [0, 2])) for keep in (False, True)],
    *[Case("Mean", reduce.reduce_variance, _np(np.var), ((3, 4),), {"axis": axis, "keepdims": keep},
           dtypes=("float32",), note=f"variance-{axis}-{keep}")
      for axis in (None, 0, 1) for keep in (False, True)],
    *[Case("EuclideanNorm", reduce.reduce_std, _np(np.std), ((3, 4),), {"axis": axis, "keepdims": keep},
           dtypes=("float32",), note=f"std-{axis}-{keep}")
      for axis in (None, 0, 1) for keep in (False, True)],
    # The helpers of the gradients.
    Case("ProductOfOthers", lambda x: reduce.productofothers_op(x, [0, 2]), lambda x: x.prod((0, 2), keepdims=True) / x,
         ((2, 3, 2),), low=0.5, order=3),
    Case("ProductOfOthers", lambda x: reduce.productofothers_op(x, [1]), lambda x: np.array([[0.0, 6, 0], [20, 0, 0]]),
         (np.array([[2.0, 0, 3], [0, 4, 5]]),), note="zeros"),
    Case("Extremes", lambda x: reduce.extremes_op(x, [1]), lambda x: x == x.max(1, keepdims=True), (TIES,), order=0),
    Case("Extremes", lambda x: reduce.extremes_op(x, [0, 1], largest=False), lambda x: x == x.min(), (TIES,), order=0,
         note="least"),
    Case("UnreduceLike", lambda dy, x: reduce.unreduce_like(dy, x, [0, 2]),
         lambda dy, x: np.broadcast_to(dy[None, :, None], x.shape), ((3,), (2, 3, 4)), wrt=(0,)),
    Case("UnreduceLike", lambda dy, x: reduce.unreduce_like(dy, x, [-1]), lambda dy, x: np.broadcast_to(dy, x.shape),
         ((3, 1), (3, 2)), wrt=(0,), note="kept"),
    # Complex numbers.
    Case("Sum", reduce.reduce_sum, _np(np.sum), (Z,), {"axis": 0}, dtypes=("complex64",), note="complex"),
    Case("Mean", reduce.reduce_mean, _np(np.mean), (Z,), {"axis": 1}, dtypes=("complex64",), note="complex"),
    Case("Prod", reduce.reduce_prod, _np(np.prod), (Z,), {"axis": 1}, dtypes=("complex64",), note="complex"),
    Case("EuclideanNorm", reduce.reduce_euclidean_norm, lambda x, axis: _norm(x, axis, False) + 0j, (Z,), {"axis": 1},
         dtypes=("complex64",), note="complex"),
    Case("Mean", reduce.reduce_variance, _np(np.var), (Z,), {"axis": 1}, dtypes=("complex64",), note="complex variance"),
    Case("EuclideanNorm", reduce.reduce_std, _np(np.std), (Z,), {"axis": 1}, dtypes=("complex64",), note="complex std"),
    # Integers and bools.
    Case("Sum", reduce.reduce_sum, _np(lambda x, **k: np.sum(x, dtype=x.dtype, **k)), (INTS,), {"axis": 0}, note="ints"),
    Case("Mean", reduce.reduce_mean, _np(_int_mean), (INTS,), {"axis": 1}, note="ints truncate"),
    Case("Prod", reduce.reduce_prod, _np(lambda x, **k: np.prod(x, dtype=x.dtype, **k)), (INTS,), {"axis": 1}, note="ints"),
    Case("Max", reduce.reduce_max, _np(np.max), (INTS,), {"axis": 1}, note="ints"),
    Case("Min", reduce.reduce_min, _np(np.min), (INTS,), note="ints"),
    *[Case(op, f, _np(r), (BOOLS,), {"axis": axis, "keepdims": keep}, note=f"{axis}-{keep}")
      for op, f, r in (("All", reduce.reduce_all, np.all), ("Any", reduce.reduce_any, np.any))
      for axis in (None, 0, 1) for keep in (False, True)],
    # Nothing to reduce.
    *[Case(op, f, _np(r), ((0, 3),), {"axis": axis}, dtypes=(), jax=op in ("Sum", "Prod"), note=f"empty-{axis}")
      for op, f, r in (("Sum", reduce.reduce_sum, np.sum), ("Prod", reduce.reduce_prod, np.prod),
                       ("Max", reduce.reduce_max, _max), ("Min", reduce.reduce_min, _min),
                       ("EuclideanNorm", reduce.reduce_euclidean_norm, _norm))
      for axis in (0, 1)],
    Case("Mean", reduce.reduce_mean, lambda x, axis: np.full(3, nan), ((0, 3),), {"axis": 0}, derivatives=False,
         dtypes=(), note="mean of nothing"),
    Case("Log", reduce.reduce_logsumexp, lambda x, axis: np.full(3, -inf), ((0, 3),), {"axis": 0}, derivatives=False,
         dtypes=(), note="logsumexp of nothing"),
    Case("Max", reduce.reduce_max, lambda x: np.int32(-2**31), (np.zeros(0, np.int32),), note="least int"),
    # NaN, infinities, large numbers.
    Case("Max", reduce.reduce_max, _np(np.max), (np.array([[1, nan, 2], [-inf, 0, inf]]),), {"axis": 1},
         derivatives=False, note="special"),
    Case("Min", reduce.reduce_min, _np(np.min), (np.array([[1, nan, 2], [-inf, 0, inf]]),), {"axis": 1},
         derivatives=False, note="special"),
    Case("Sum", reduce.reduce_sum, _np(np.sum), (np.array([[1, nan, 2], [-inf, 0, inf]]),), {"axis": 1},
         derivatives=False, note="special"),
    Case("Log", reduce.reduce_logsumexp, _np(_lse), (np.array([[1e4, 1e4, 0], [-inf, -inf, -inf], [inf, 0, 0]]),),
         {"axis": 1}, derivatives=False, dtypes=(), note="logsumexp special"),
    Case("Log", reduce.reduce_logsumexp, _np(_lse), (np.array([[1e4, 1e4 - 1, 0]]),), {"axis": 1}, dtypes=(), rtol=1e-9,
         note="logsumexp large"),
    # Counting and finding.
    Case("Sum", reduce.count_nonzero, lambda x: np.int64(np.count_nonzero(x)), (INTS,), note="count_nonzero"),
    Case("Sum", lambda x: reduce.count_nonzero(x, axis=1, keepdims=True, dtype="int32"),
         lambda x: np.count_nonzero(x, axis=1, keepdims=True).astype(np.int32), (TIES,), derivatives=False,
         note="count_nonzero axis"),
    Case("Sum", reduce.count_nonzero, lambda x: np.int64(2), (np.array([b"", b"a", b"bc"], object),),
         note="count_nonzero of strings"),
    *[Case(op, f, lambda x, axis=0, r=r: np.asarray(r(x, axis=axis)), (x,), {} if axis is None else {"axis": axis}, order=0,
           dtypes=FLOATS, note=f"{axis}-{x.dtype}")
      for op, f, r in (("ArgMax", reduce.argmax, np.argmax), ("ArgMin", reduce.argmin, np.argmin))
      for axis in (None, 1, -2) for x in (TIES, INTS, BOOLS)],
    Case("ArgMax", lambda x: reduce.argmax(x, dimension=1, output_type="int32"),
         lambda x: np.argmax(x, 1).astype(np.int32), ((2, 5, 3),), order=0, note="dimension"),
    # Decided derivatives: ties share, zeros are exact, a norm is flat at 0.
    Edge("Max", reduce.reduce_max, ([2.0, 5, 5, 1],), ([0, 0.5, 0.5, 0],), note="ties"),
    Edge("Min", reduce.reduce_min, (TIES,), ([[0, 0, 0], [0, 0, 1]],), note="all"),
    Edge("Max", lambda x: reduce.reduce_max(x, 1), (TIES,), ([[0, 0.5, 0.5], [0.5, 0.5, 0]],), note="ties per row"),
    Edge("Max", reduce.reduce_max, ([1.0, nan],), ([0, 0],), note="NaN"),
    Edge("Prod", reduce.reduce_prod, ([2.0, 0, 3],), ([0, 6, 0],), second=([3, 5, 2],), note="one zero"),
    Edge("Prod", reduce.reduce_prod, ([2.0, 0, 0],), ([0, 0, 0],), second=([0, 2, 2],), note="two zeros"),
    Edge("Prod", reduce.reduce_prod, ([0.0, 0, 0, 7],), ([0, 0, 0, 0],), second=([0, 0, 0, 0],), note="three zeros"),
    Edge("Prod", lambda x: reduce.reduce_prod(x, [0, 2]), ([[[2.0, 0], [1, 4]], [[5, 1], [0.5, 2]]],),
         ([[[0, 10], [4, 1]], [[0, 0], [8, 2]]],), note="axes"),
    Edge("EuclideanNorm", reduce.reduce_euclidean_norm, ([0.0, 0],), ([0, 0],), second=([0, 0],), note="at 0"),
    Edge("EuclideanNorm", reduce.reduce_euclidean_norm, ([3.0, 4],), ([0.6, 0.8],), note="elsewhere"),
    Edge("EuclideanNorm", reduce.reduce_std, ([2.0, 2, 2],), ([0, 0, 0],), note="std of equals"),
    Edge("Log", reduce.reduce_logsumexp, ([1e4, 1e4, 0.0],), ([0.5, 0.5, 0],), note="large"),
    Edge("Log", reduce.reduce_logsumexp, ([-inf, 0.0, 0.0],), ([0, 0.5, 0.5],), note="minus infinity"),
    # Refusals.
    Bad("Sum", lambda: reduce.reduce_sum(np.zeros((2, 3)), axis=2), ValueError, r"Invalid reduction dimension 2; must be in the range \[-2, 2\)"),
    Bad("Sum", lambda: reduce.reduce_sum(np.zeros(2), axis=0, reduction_indices=0), ValueError, "both"),
    Bad("Sum", lambda: reduce.reduce_sum(np.zeros(2), keepdims=True, keep_dims=True), ValueError, "both"),
    Bad("Sum", lambda: reduce.reduce_sum(np.array([True])), TypeError, "bool"),
    Bad("Max", lambda: reduce.reduce_max(Z), TypeError, "complex"),
    Bad("All", lambda: reduce.reduce_all(array.zeros([2])), TypeError, "bool"),
    Bad("ArgMax", lambda: reduce.argmax(np.zeros(2), axis=1), ValueError, r"dimension 1; must be in the range"),
    Bad("Mean", lambda: reduce.reduce_variance(INTS), TypeError, "integer type int32"),
    Bad("EuclideanNorm", lambda: reduce.reduce_std(INTS), TypeError, "integer type int32"),
]
