"""Reductions over groups of rows. Gradients: `segment_grad.py`.

Segment ids name the group of each row. Where they are sorted, the number of groups is read off the last one:
the output's shape depends on data, so these ops run on the host unless the ids are known beforehand. The
unsorted ones are told the number, and compile.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, NUMERIC, REAL, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Bounds, Refusal, Spec, define_op, rank_at_least, rank_is, spec_text
from regrad.core.shapes import compatible, merge
from regrad.ops.array import ones_like, variant
from regrad.ops.indexing import UFUNCS, OutOfRange, add_at, take, update_at
from regrad.ops.math import maximum, sqrt
from regrad.runtime import memory


def _filled(b, shape, value, dtype):
    return b.np.full(shape, np.asarray(value).astype(dtype))


_LONG = 8  # rows of a segment, on average, from which on NumPy adds up vectors of numbers segment by segment

# name -> (method of `update_at`, what a group starts with, what a sorted segment without rows gives)
_SUM, _PROD = ("add", lambda dtype: 0, 0), ("multiply", lambda dtype: 1, 1)
_MAX, _MIN = ("max", lambda dtype: as_dtype(dtype).min, 0), ("min", lambda dtype: as_dtype(dtype).max, 0)


# -- unsorted --------------------------------------------------------------------------------
def _unsorted_infer(data, ids, num):
    n = num.partial()
    rank_is(num, 0, "num_segments, a scalar")
    if n is not None and n < 0:
        raise ShapeError(f"num_segments must be at least 0, got {n}")
    if data.dims is None or ids.dims is None:
        return Spec(None, data.dtype)
    k = len(ids.dims)
    if k > len(data.dims) or not compatible(data.dims[:k], ids.dims):
        raise ShapeError(f"the shape of data, {spec_text(data)}, must start with the shape of segment_ids, "
                         f"{spec_text(ids)}")
    return Spec((n, *data.dims[k:]), data.dtype)


def _refuse_beyond(ids, n):
    beyond = np.argwhere(ids >= n)
    if beyond.size:
        at = tuple(beyond[0])
        raise OutOfRange(f"segment_ids[{','.join(map(str, at))}] = {ids[at]} is out of range [0, {n})")


def _unsorted(op_type, kind, types):
    method, start, _ = kind

    def lower(b, data, ids, num):
        out = _filled(b, (int(num), *data.shape[len(ids.shape):]), start(data.dtype), data.dtype)
        if b.is_host:
            _refuse_beyond(ids, int(num))
            data, ids = data[ids >= 0], ids[ids >= 0]
        return update_at(b, out, (ids,), data, method)

    op = define_op(op_type, "data: T, segment_ids: Tindices, num_segments: Tnumsegments", infer=_unsorted_infer,
                   types={"T": types, "Tindices": INDEX, "Tnumsegments": INDEX}, static=(2,), lower=lower)
    op.declare(refusal=Bounds(1, lambda data, ids, num: int(num.value()), _refuse_beyond, spare="negative"))
    return op


unsortedsegmentsum_op = _unsorted("UnsortedSegmentSum", _SUM, NUMERIC)
unsortedsegmentprod_op = _unsorted("UnsortedSegmentProd", _PROD, NUMERIC)
unsortedsegmentmax_op = _unsorted("UnsortedSegmentMax", _MAX, REAL)
unsortedsegmentmin_op = _unsorted("UnsortedSegmentMin", _MIN, REAL)


def unsorted_segment_sum(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the sum of the rows of `data` whose segment id is i.

    Args:
      data: numeric tensor whose shape starts with that of `segment_ids`.
      segment_ids: int32 or int64, in any order; rows with a negative id are left out.
      num_segments: scalar, above all ids.
    """
    return unsortedsegmentsum_op(data, segment_ids, num_segments, name=name)


def unsorted_segment_prod(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the product of the rows of segment i, 1 if there are none."""
    return unsortedsegmentprod_op(data, segment_ids, num_segments, name=name)


def unsorted_segment_max(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the maximum of the rows of segment i, else the least value."""
    return unsortedsegmentmax_op(data, segment_ids, num_segments, name=name)


def unsorted_segment_min(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the minimum of the rows of segment i, else the largest value."""
    return unsortedsegmentmin_op(data, segment_ids, num_segments, name=name)


def _row_counts(data, segment_ids, num_segments):
    """Returns how many rows each segment has, at least 1, shaped to divide the sums by."""
    counts = unsortedsegmentsum_op(ones_like(data), segment_ids, num_segments)
    return maximum(counts, constant(1, data.dtype))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the mean of the rows of segment i, 0 if there are none."""
    with get_default_graph().name_scope(name or "UnsortedSegmentMean"):
        data = convert_to_tensor(data)
        sums = unsortedsegmentsum_op(data, segment_ids, num_segments)
        return sums / _row_counts(data, segment_ids, num_segments)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    """Returns the sums of `unsorted_segment_sum`, each divided by the square root of its number of rows."""
    with get_default_graph().name_scope(name or "UnsortedSegmentSqrtN"):
        data = convert_to_tensor(data)
        sums = unsortedsegmentsum_op(data, segment_ids, num_segments)
        return sums / sqrt(_row_counts(data, segment_ids, num_segments))


# -- the transpose of a sum over segments ----------------------------------------------------------
def _gather_segments_infer(segments, ids):
    if segments.dims is None or ids.dims is None:
        return Spec(None, segments.dtype)
    return Spec(ids.dims + segments.dims[1:], segments.dtype)


def _gather_segments_lower(b, segments, ids):
    if not b.is_host:
        return segments.at[ids].get(mode="fill", fill_value=0, wrap_negative_indices=False)
    inside = (ids >= 0) & (ids < segments.shape[0])
    out = np.zeros(ids.shape + segments.shape[1:], segments.dtype)
    out[inside] = segments[ids[inside]]
    return out


gathersegments_op = define_op("GatherSegments", "segments: T, segment_ids: Tindices",
                              types={"Tindices": INDEX},
                              infer=_gather_segments_infer, lower=_gather_segments_lower)


# -- sorted ----------------------------------------------------------------------------------
def _check_ids(data_rows, ids):
    """Returns the number of segments if the ids are known; refuses ids that do not go with the rows."""
    rank_is(ids, 1, "segment_ids, a vector")
    merge(ids.dims, (data_rows,), "segment_ids should be the same size as dimension 0 of the rows;")
    value = ids.value()
    return None if value is None else _count(value)


def _count(ids):
    """Returns the number of segments; refuses ids that are not sorted, or negative."""
    if not ids.size:
        return 0
    n = int(ids[-1]) + 1
    if n < 0 or ids[0] < 0:
        raise OutOfRange(f"segment ids must be >= 0, got {min(ids[0], ids[-1])}")
    runs = ids[np.concatenate([[True], ids[1:] != ids[:-1]])]
    falls, past = np.append(runs[1:] < runs[:-1], False), runs >= n
    if falls.any() and falls.argmax() <= (past.argmax() if past.any() else runs.size):
        raise OutOfRange(f"segment ids are not increasing: {ids.tolist() if ids.size < 20 else ids}")
    if past.any():
        raise OutOfRange(f"Segment id {runs[past.argmax()]} out of range [0, {n}), possibly because 'segment_ids' input is not "
                         "sorted.")
    return n


def _sorted_infer(data, ids):
    rank_at_least(data, 1, "data")
    n = _check_ids(None if data.dims is None else data.dims[0], ids)
    return Spec(None if data.dims is None else (n, *data.dims[1:]), data.dtype)


def _over_rows(counts, data):
    """Returns a vector with one entry per segment in a shape that goes with the segments of `data`."""
    return counts.reshape((-1,) + (1,) * (data.ndim - 1))


def _reduced(b, out, data, ids, method):
    """Returns `out` with the rows of `data` taken in by `method`, each at its id; the ids are sorted."""
    if b.is_host and ids.size:
        starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
        if data.ndim > 1 or ids.size >= _LONG * starts.size:  # numbers one by one are added faster than found
            out[ids[starts]] = UFUNCS[method].reduceat(data, starts, axis=0, dtype=data.dtype)
            return out
    return update_at(b, out, (ids,), data, method)


def _sorted(op_type, kind, types):
    """Defines a reduction of sorted segments; returns the op for known ids and the host's one."""
    method, start, empty = kind

    def lower(b, data, ids):
        n = _count(ids)
        memory.room_for((n, *data.shape[1:]), data.dtype)
        out = _filled(b, (n, *data.shape[1:]), start(data.dtype), data.dtype)
        out = _reduced(b, out, data, ids, method)
        counts = np.bincount(ids, minlength=n)
        return b.np.where(_over_rows(counts > 0, data), out, _filled(b, (), empty, data.dtype)) if n else out

    return _known_and_host(op_type, types, lower)


def _known_and_host(op_type, types, lower):
    op = define_op(op_type, "data: T, segment_ids: Tindices", types={"T": types, "Tindices": INDEX},
                   host=True, infer=_sorted_infer, lower=lower)
    return variant(op, host=False, static=(1,)), op


def _mean_lower(b, data, ids):
    n = _count(ids)
    memory.room_for((n, *data.shape[1:]), data.dtype)
    counts = _over_rows(np.maximum(np.bincount(ids, minlength=n), 1), data)
    sums = _reduced(b, b.np.zeros((n, *data.shape[1:]), data.dtype), data, ids, "add")
    if data.dtype.kind in "iu":
        return b.np.trunc(b.divide(sums, counts)).astype(data.dtype)
    return sums / counts.astype(data.dtype)


_SORTED = {
    "SegmentSum": _sorted("SegmentSum", _SUM, NUMERIC),
    "SegmentProd": _sorted("SegmentProd", _PROD, NUMERIC),
    "SegmentMax": _sorted("SegmentMax", _MAX, REAL),
    "SegmentMin": _sorted("SegmentMin", _MIN, REAL),
    "SegmentMean": _known_and_host("SegmentMean", NUMERIC, _mean_lower),
}


def _segment(op_type, data, segment_ids, name):
    ids = convert_to_tensor(segment_ids, name="segment_ids", preferred_dtype=dtypes.int32)
    known, on_host = _SORTED[op_type]
    return (on_host if ids.value() is None else known)(data, ids, name=name)


def segment_sum(data, segment_ids, name=None):
    """Returns [largest id + 1, ...]: row i is the sum of the rows of `data` whose segment id is i.

    Args:
      data: numeric tensor of at least one axis.
      segment_ids: int32 or int64 vector, sorted, as long as the first axis of `data`.

    Raises:
      InvalidArgumentError: (when run, if the ids are not known before) the ids are not sorted, or negative.
    """
    return _segment("SegmentSum", data, segment_ids, name)


def segment_mean(data, segment_ids, name=None):
    """Returns the means of the rows of each segment (see `segment_sum`), 0 for an id that does not occur."""
    return _segment("SegmentMean", data, segment_ids, name)


def segment_prod(data, segment_ids, name=None):
    """Returns the products of the rows of each segment (see `segment_sum`), 1 where there are none."""
    return _segment("SegmentProd", data, segment_ids, name)


def segment_max(data, segment_ids, name=None):
    """Returns the maxima of the rows of each segment (see `segment_sum`), 0 for an id that does not occur."""
    return _segment("SegmentMax", data, segment_ids, name)


def segment_min(data, segment_ids, name=None):
    """Returns the minima of the rows of each segment (see `segment_sum`), 0 for an id that does not occur."""
    return _segment("SegmentMin", data, segment_ids, name)


# -- of gathered rows ----------------------------------------------------------------------------
def _sparse_infer(data, indices, ids, num=None):
    rank_at_least(data, 1, "data")
    rank_is(indices, 1, "indices, a vector")
    n = _check_ids(None if indices.dims is None else indices.dims[0], ids)
    if num is not None:
        n = num.partial()
        if n is not None and n < 0:
            raise ShapeError(f"Cannot specify a negative value for num_segments, got {n}")
    return Spec(None if data.dims is None else (n, *data.dims[1:]), data.dtype)


def _check_rows(indices, ids, rows, num):
    """Refuses rows that are not there, and (num given) ids that are not sorted or not below it."""
    bad = np.flatnonzero((indices < 0) | (indices >= rows))
    if bad.size:
        raise OutOfRange(f"indices[{bad[0]}] == {indices[bad[0]]} out of range [0, {rows})")
    if num is not None and _count(ids) > num:
        raise OutOfRange(f"segment ids must be < num_segments: {ids[-1]} is not in [0, {num})")


def _wrong_rows(b, result, data, indices, ids, num=None):
    """Finds what `_check_rows` refuses; ids that are known were looked at before."""
    wrong = b.np.any((indices < 0) | (indices >= data.shape[0]))
    if type(ids) is np.ndarray or not ids.shape[0]:
        return wrong
    return wrong | b.np.any(ids[1:] < ids[:-1]) | (ids[0] < 0) | (ids[-1] >= num)


_ROWS = Refusal("rows or segment ids are out of range, or not sorted", _wrong_rows, by_itself=True)


def _sparse_lower(divisor):
    def lower(b, data, indices, ids, num=None):
        n = _count(ids) if num is None else int(num)
        if b.is_host:
            _check_rows(indices, ids, len(data), None if num is None else n)
        sums = _reduced(b, b.np.zeros((n, *data.shape[1:]), data.dtype), take(b, data, (indices,)), ids, "add")
        if divisor is None:
            return sums
        counts = add_at(b, (n,), (ids,), b.np.ones(ids.shape, data.dtype))
        counts = b.np.maximum(counts, data.dtype.type(1)).reshape((n,) + (1,) * (data.ndim - 1))
        return sums / divisor(b, counts)

    return lower


def _sparse(op_type, divisor):
    types = {"T": REAL if divisor is None else FLOATING, "Tidx": INDEX, "Tsegmentids": INDEX}
    op = define_op(op_type, "data: T, indices: Tidx, segment_ids: Tsegmentids", types=types, host=True,
                   infer=_sparse_infer, lower=_sparse_lower(divisor))
    op.declare(refusal=_ROWS)
    with_num = define_op(op_type + "WithNumSegments",
                         "data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments",
                         static=(3,),
                         types=types | {"Tnumsegments": INDEX}, infer=_sparse_infer,
                         lower=_sparse_lower(divisor))
    with_num.declare(refusal=_ROWS)
    return variant(op, host=False, static=(2,)), op, with_num


_SPARSE = {
    "SparseSegmentSum": _sparse("SparseSegmentSum", None),
    "SparseSegmentMean": _sparse("SparseSegmentMean", lambda b, n: n),
    "SparseSegmentSqrtN": _sparse("SparseSegmentSqrtN", lambda b, n: b.np.sqrt(n)),
}


def _sparse_grad_infer(grad, indices, ids, size):
    rank_at_least(grad, 1, "grad")
    rank_is(indices, 1, "indices, a vector")
    _check_ids(None if indices.dims is None else indices.dims[0], ids)
    return Spec(None if grad.dims is None else (size.partial(), *grad.dims[1:]), grad.dtype)


def _sparse_grad(op_type, divisor):
    """Defines TensorFlow's op for a gradient by `data`, of which `size` rows there were; rules here use others."""
    def lower(b, grad, indices, ids, size):
        if b.is_host:
            _check_rows(ids, ids, len(grad), None)
        counts = add_at(b, grad.shape[:1], (ids,), b.np.ones(ids.shape, grad.dtype))
        scale = 1 / divisor(b, b.np.maximum(counts, grad.dtype.type(1)))
        rows = take(b, grad, (ids,)) * take(b, scale, (ids,)).reshape(-1, *[1] * (grad.ndim - 1))
        return add_at(b, (int(size), *grad.shape[1:]), (indices,), rows)

    op = define_op(op_type, "grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32", static=(3,),
                   types={"T": FLOATING, "Tidx": INDEX, "Tsegmentids": INDEX}, infer=_sparse_grad_infer, lower=lower)
    op.declare(refusal=Refusal("rows or segment ids are out of range", lambda b, result, grad, rows, ids, n:
                               (ids < 0) | (ids >= grad.shape[0]) | (rows < 0) | (rows >= int(n)), by_itself=True))
    return op


sparsesegmentmeangrad_op = _sparse_grad("SparseSegmentMeanGrad", lambda b, n: n)
sparsesegmentsqrtngrad_op = _sparse_grad("SparseSegmentSqrtNGrad", lambda b, n: b.np.sqrt(n))


def _sparse_segment(op_type, data, indices, segment_ids, num_segments, name):
    known, on_host, with_num = _SPARSE[op_type]
    if num_segments is not None:
        return with_num(data, indices, segment_ids, num_segments, name=name)
    ids = convert_to_tensor(segment_ids, name="segment_ids", preferred_dtype=dtypes.int32)
    return (on_host if ids.value() is None else known)(data, indices, ids, name=name)


def sparse_segment_sum(data, indices, segment_ids, name=None, num_segments=None):
    """Returns the sums, by segment, of the rows of `data` that `indices` names.

    Args:
      data: floating tensor of at least one axis.
      indices: int32 or int64 vector of rows.
      segment_ids: sorted vector as long as `indices`.
      num_segments: how many rows the result has; the largest id + 1 by default.
    """
    return _sparse_segment("SparseSegmentSum", data, indices, segment_ids, num_segments, name)


def sparse_segment_mean(data, indices, segment_ids, name=None, num_segments=None):
    """Returns the means, by segment, of the rows that `indices` names (see `sparse_segment_sum`)."""
    return _sparse_segment("SparseSegmentMean", data, indices, segment_ids, num_segments, name)


def sparse_segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None):
    """Returns the sums of `sparse_segment_sum`, each divided by the square root of its number of rows."""
    return _sparse_segment("SparseSegmentSqrtN", data, indices, segment_ids, num_segments, name)
