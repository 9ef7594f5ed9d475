"""Lists of values as sets, and tensors dealt out and put together by index. Gradients: `partition_grad.py`.

The shapes of these outputs depend on data, so the ops run on the host; dealing out and putting together
compile where the indices are known beforehand.
"""

import collections

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import compatible, merge
from regrad.ops.array import axis_in, variant
from regrad.ops.indexing import OutOfRange, check_index, gather
from regrad.runtime import memory

Unique = collections.namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = collections.namedtuple("UniqueWithCounts", ["y", "idx", "count"])
ListDiff = collections.namedtuple("ListDiff", ["out", "idx"])


# -- unique values ----------------------------------------------------------------------------
def _vector(x, what="x"):
    rank_is(x, 1, f"{what}, a vector")


def _unique_infer(x, *, out_idx):
    rank_is(x, 1, "x (unique expects a 1D vector)")
    return [Spec((None,), x.dtype), Spec(x.dims or (None,), out_idx)]


_CLOSE = 4  # times as many integers as there are elements: so far apart they are counted rather than sorted


def _unique_integers(x, low, span):
    """Does what `_unique_values` does for integers from `low` to less than `span` above it."""
    wide = x.astype(np.int64) if x.dtype.kind == "i" else x
    place = (wide - wide.dtype.type(low)).astype(np.intp)
    first = np.full(span, x.size)
    first[place[::-1]] = np.arange(x.size - 1, -1, -1)  # of several that are written to one place, the last one stays
    there = np.flatnonzero(first < x.size)
    order = there[np.argsort(first[there])]
    number = np.empty(span, np.intp)
    number[order] = np.arange(order.size)
    return x[first[order]], number[place], np.bincount(place, minlength=span)[order]


def _unique_values(x):
    """Returns values in the order they first occur, for each element its value's number, and counts."""
    if x.size and x.dtype.kind in "iu":
        low, high = int(x.min()), int(x.max())
        if high - low < _CLOSE * x.size:
            return _unique_integers(x, low, high - low + 1)
    _, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return x[first[order]], number[inverse], counts[order]


def _unique_lower(b, x, *, out_idx):
    y, idx, _ = _unique_values(x)
    return y, idx.astype(out_idx.as_numpy_dtype)


def _unique_with_counts_lower(b, x, *, out_idx):
    y, idx, count = _unique_values(x)
    return y, idx.astype(out_idx.as_numpy_dtype), count.astype(out_idx.as_numpy_dtype)


unique_op = define_op("Unique", "x", attrs={"out_idx": dtypes.int32}, host=True, infer=_unique_infer,
                      lower=_unique_lower)
uniquewithcounts_op = define_op("UniqueWithCounts", "x", attrs={"out_idx": dtypes.int32}, host=True,
                                infer=lambda x, *, out_idx:
                                [*_unique_infer(x, out_idx=out_idx), Spec((None,), out_idx)],
                                lower=_unique_with_counts_lower)


def _unique_along_infer(x, axis, *, out_idx, counts=False):
    at = axis.value()
    vector = Spec((None,), out_idx)
    dims = x.dims
    if dims is not None and at is not None and np.size(at):
        i = axis_in(int(np.ravel(at)[0]), len(dims))
        vector, dims = Spec((dims[i],), out_idx), (*dims[:i], None, *dims[i + 1:])
    elif dims is not None:
        dims = (None,) * len(dims)
    return [Spec(dims, x.dtype), vector, *([Spec((None,), out_idx)] if counts else [])]


def _unique_along(x, axis):
    """Returns the distinct slices of `x` along an axis in the order they first occur, as `_unique_values`."""
    at = axis_in(int(np.ravel(axis)[0]), x.ndim) if np.size(axis) else 0
    rows = np.moveaxis(x, at, 0)
    keys = {}
    idx = np.array([keys.setdefault(tuple(row.reshape(-1).tolist()), len(keys)) for row in rows], np.int64)
    first = np.unique(idx, return_index=True)[1]
    return np.moveaxis(rows[first], 0, at), idx, np.bincount(idx, minlength=len(keys))


def _unique_along_lower(b, x, axis, *, out_idx):
    y, idx, _ = _unique_along(x, axis)
    return y, idx.astype(out_idx.as_numpy_dtype)


def _unique_along_with_counts_lower(b, x, axis, *, out_idx):
    y, idx, count = _unique_along(x, axis)
    return y, idx.astype(out_idx.as_numpy_dtype), count.astype(out_idx.as_numpy_dtype)


uniquev2_op = define_op("UniqueV2", "x: T, axis: Taxis", types={"Taxis": INDEX}, attrs={"out_idx": dtypes.int32}, host=True,
                        infer=_unique_along_infer, lower=_unique_along_lower)
uniquewithcountsv2_op = define_op("UniqueWithCountsV2", "x: T, axis: Taxis", types={"Taxis": INDEX},
                                  attrs={"out_idx": dtypes.int32}, host=True, lower=_unique_along_with_counts_lower,
                                  infer=lambda x, axis, *, out_idx:
                                  _unique_along_infer(x, axis, out_idx=out_idx, counts=True))


def unique(x, out_idx=dtypes.int32, name=None):
    """Returns (y, idx): the distinct values of a vector in the order they first occur, and x = y[idx]."""
    return Unique(*unique_op(x, out_idx=as_dtype(out_idx), name=name))


def unique_with_counts(x, out_idx=dtypes.int32, name=None):
    """Returns (y, idx, count): the values and places of `unique`, and how often each value occurs."""
    return UniqueWithCounts(*uniquewithcounts_op(x, out_idx=as_dtype(out_idx), name=name))


# -- difference of lists ------------------------------------------------------------------------
def _list_diff_infer(x, y, *, out_idx):
    _vector(x)
    _vector(y, "y")
    return [Spec((None,), x.dtype), Spec((None,), out_idx)]


def _list_diff_lower(b, x, y, *, out_idx):
    left = np.flatnonzero(~np.isin(x, y))
    return x[left], left.astype(out_idx.as_numpy_dtype)


listdiff_op = define_op("ListDiff", "x, y", attrs={"out_idx": dtypes.int32}, host=True,
                        infer=_list_diff_infer, lower=_list_diff_lower)


def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
    """Returns (out, idx): the elements of the vector `x` that are not in `y`, and where they stand in `x`."""
    return ListDiff(*listdiff_op(x, y, out_idx=as_dtype(index_dtype), name=name))


def listdiff(x, y, out_idx=None, name=None):
    """Older name of `setdiff1d`."""
    return setdiff1d(x, y, dtypes.int32 if out_idx is None else out_idx, name=name)


def sparse_mask(a, mask_indices, name=None):
    """Returns the IndexedSlices `a` without the rows whose index is in `mask_indices`."""
    with get_default_graph().name_scope(name or "sparse_mask") as scope:
        indices, kept = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, kept, name=scope), indices, a.dense_shape)


# -- DynamicPartition -----------------------------------------------------------------------------
def _partition_infer(data, partitions, *, num_partitions):
    value = partitions.value()
    counts = [None] * num_partitions if value is None else list(_partition_counts(value, num_partitions))
    if data.dims is None or partitions.dims is None:
        return [Spec(None, data.dtype)] * num_partitions
    k = len(partitions.dims)
    if k > len(data.dims) or not compatible(data.dims[:k], partitions.dims):
        raise ShapeError(f"the shape of data, {spec_text(data)}, must start with that of partitions, "
                         f"{spec_text(partitions)}")
    return [Spec((n, *data.dims[k:]), data.dtype) for n in counts]


def _partition_counts(partitions, n):
    flat = partitions.reshape(-1)
    if flat.size and (flat.min() < 0 or flat.max() >= n):
        bad = int(np.flatnonzero((flat < 0) | (flat >= n))[0])
        raise OutOfRange(f"partitions[{bad}] = {flat[bad]} is not in [0, {n})")
    return (int(c) for c in np.bincount(flat, minlength=n))


def _partition_lower(b, data, partitions, *, num_partitions):
    _partition_counts(partitions, num_partitions)
    rows = b.np.reshape(data, (partitions.size, *data.shape[partitions.ndim:]))
    flat = partitions.reshape(-1)
    return tuple(rows[np.flatnonzero(flat == i)] for i in range(num_partitions))


dynamicpartition_op = define_op("DynamicPartition", "data: T, partitions: int32",
                                attrs={"num_partitions": None}, host=True,
                                single=False, infer=_partition_infer, lower=_partition_lower)
_partition_known_op = variant(dynamicpartition_op, host=False, static=(1,))


def dynamic_partition(data, partitions, num_partitions, name=None):
    """Returns a list of `num_partitions` tensors: number i holds the rows of `data` whose partition is i, in
    order.

    Args:
      data: tensor whose shape starts with that of `partitions`.
      partitions: int32, values in [0, num_partitions).
      num_partitions: int of at least 1.
    """
    if num_partitions < 1:
        raise ValueError(f"num_partitions must be at least 1, got {num_partitions}")
    partitions = convert_to_tensor(partitions, dtypes.int32, name="partitions")
    op = dynamicpartition_op if partitions.value() is None else _partition_known_op
    return op(data, partitions, num_partitions=int(num_partitions), name=name)


# -- DynamicStitch ----------------------------------------------------------------------------------
def _stitch_rows(indices):
    return max((int(i.max()) + 1 for i in indices if i.size), default=0)


def _stitch_infer(indices, data):
    if len(indices) != len(data):
        raise ValueError(f"indices and data must be lists of one length, got {len(indices)} and {len(data)}")
    rest = None
    for i, d in zip(indices, data):
        if i.dims is None or d.dims is None:
            continue
        k = len(i.dims)
        if k > len(d.dims) or not compatible(d.dims[:k], i.dims):
            raise ShapeError(f"the shape of data, {spec_text(d)}, must start with that of its indices, "
                             f"{spec_text(i)}")
        rest = merge(rest, d.dims[k:], "the rows of all the data must have one shape;")
    values = [i.value() for i in indices]
    n = None if any(v is None for v in values) else _stitch_rows(values)
    return Spec(None if rest is None else (n, *rest), data[0].dtype)


def _stitch_lower(b, indices, data):
    rest, n = data[0].shape[indices[0].ndim:], _stitch_rows(indices)
    memory.room_for((n, *rest), data[0].dtype)
    indices = [i.reshape(-1) for i in indices]
    data = [b.np.reshape(d, (i.size, *rest)) for i, d in zip(indices, data)]
    if b.is_host:  # of equal indices the last one counts, as NumPy has it
        out = np.zeros((n, *rest), data[0].dtype)
        for i, d in zip(indices, data):
            check_index(out.shape, (i,))
            out[i] = d
        return out
    # XLA leaves open in which order it writes, and reads rows faster.
    places = np.concatenate(indices)
    source = np.full(n, places.size)
    source[places[places >= 0]] = np.flatnonzero(places >= 0)
    return b.np.concatenate(data).at[source].get(mode="fill", fill_value=0)


dynamicstitch_op = define_op("DynamicStitch", "indices: N*int32, data: N*T", host=True, infer=_stitch_infer,
                             lower=_stitch_lower)
_stitch_known_op = variant(dynamicstitch_op, host=False, static=(0,))


def dynamic_stitch(indices, data, name=None):
    """Returns the rows of the tensors in `data`, each at the place that its index names.

    Args:
      indices: list of int32 tensors.
      data: list of tensors of one dtype, as long; each one's shape starts with that of its indices, and the
        rest is the same for all.

    Returns:
      A tensor [largest index + 1, ...]. Of rows with equal indices the last one counts; rows that no index
      names are zero.
    """
    if not isinstance(indices, (list, tuple)) or not isinstance(data, (list, tuple)):
        raise TypeError(f"dynamic_stitch takes two lists of tensors, got {indices!r} and {data!r}.")
    if not indices:
        raise ValueError("dynamic_stitch takes two lists of at least one tensor each: indices is empty.")
    indices = [convert_to_tensor(i, dtypes.int32, name="indices") for i in indices]
    op = dynamicstitch_op if any(i.value() is None for i in indices) else _stitch_known_op
    return op(indices, list(data), name=name)


parallel_dynamic_stitch = dynamic_stitch
