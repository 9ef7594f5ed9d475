"""Order: the largest elements, sorting, searching. Gradients: `sort_grad.py`."""

import collections

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import INDEX, REAL, as_dtype
from regrad.core.errors import BadValue, ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Refusal, Spec, define_op, extent, rank_at_least, rank_is, spec_text
from regrad.core.shapes import fully_known, merge, size_of
from regrad.ops import ordering
from regrad.ops.array import axis_in, rank, reshape, shape, transpose
from regrad.ops.reduce import reduce_prod

TopKV2 = collections.namedtuple("TopKV2", ["values", "indices"])


# -- TopKV2 ----------------------------------------------------------------------------------
def _top_k_infer(x, k, *, sorted):
    n = k.partial()
    rank_is(k, 0, "k, a scalar")
    if n is not None and n < 0:
        raise ShapeError(f"Need k >= 0, got {n}")
    if x.dims is None:
        return [Spec(None, x.dtype), Spec(None, dtypes.int32)]
    rank_at_least(x, 1, "input")
    if None not in (n, x.dims[-1]) and n > x.dims[-1]:
        raise ShapeError(f"input must have at least k columns. Had {x.dims[-1]}, needed {n}")
    return [Spec((*x.dims[:-1], n), x.dtype), Spec((*x.dims[:-1], n), dtypes.int32)]


_FEW = 8  # XLA's selection of k elements takes less than sorting them all up to an eighth of them


def _top_k_lower(b, x, k, *, sorted):
    k = int(k)
    if not b.is_host and (x.dtype.itemsize > 4 or x.dtype == np.float32 and 1 < k <= x.shape[-1] // _FEW):
        if x.dtype.kind == "f":  # XLA tells zeros, and NaN, apart by their signs
            x = b.np.where(x == 0, b.np.zeros_like(x), b.np.where(b.np.isnan(x), b.np.full_like(x, np.nan), x))
        # A call: where results are sliced, XLA no longer sees what it has a kernel for, and sorts.
        return tuple(b.call(lambda x: tuple(b.lax.top_k(x, k)), [x]))
    if not b.is_host:
        # Key and place in one integer, so that the least come first and no two are equal.
        places = b.lax.broadcasted_iota(np.int64, x.shape, x.ndim - 1)
        whole = x.dtype.kind in "iu"
        packed = (~(x if whole else ordering.keys(b, x)).astype(np.int64) << 32) | places
        packed = b.np.min(packed, -1, keepdims=True) if k == 1 else b.lax.sort(packed, dimension=-1)[..., :k]
        values = ~(packed >> 32)
        values = values.astype(x.dtype) if whole else ordering.numbers(b, values.astype(np.int32), x.dtype)
        return values, (packed & (2**32 - 1)).astype(np.int32)
    # A stable ascending order of the reversed row, read backwards: of equal elements the first comes first.
    order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1][..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


topk_op = define_op("TopKV2", "input: T, k: int32", attrs={"sorted": True}, types={"T": REAL}, static=(1,),
                    infer=_top_k_infer, lower=_top_k_lower)


def top_k(input, k=1, sorted=True, name=None):
    """Returns the `k` largest elements along the last axis, largest first, and their indices (int32).

    Args:
      input: real tensor of at least one axis.
      k: int scalar, at most the size of the last axis.
      sorted: accepted; the result is always sorted. Of equal elements the one of lower index comes first.

    Returns:
      (values, indices), a named tuple.

    Example:
      print(*tf.Session().run(tf.nn.top_k([1, 9, 5], k=2)))
      #> [9 5] [1 2]
    """
    return TopKV2(*topk_op(input, k, sorted=sorted, name=name))


# -- NthElement ------------------------------------------------------------------------------
def _nth_infer(x, n, *, reverse):
    i = n.partial()
    rank_is(n, 0, "n, a scalar")
    if i is not None and i < 0:
        raise ShapeError(f"Need n >= 0, got {i}")
    rank_at_least(x, 1, "input")
    if x.dims is not None and None not in (i, x.dims[-1]) and i >= x.dims[-1]:
        raise ShapeError(f"Input must have at least n+1 = {i + 1} columns, had {x.dims[-1]}")
    return Spec(None if x.dims is None else x.dims[:-1], x.dtype)


def _nth_lower(b, x, n, *, reverse):
    at = -1 - int(n) if reverse else int(n)
    if b.is_host or x.dtype.itemsize > 4 or x.dtype.kind in "iu":
        return b.np.sort(x, -1)[..., at]
    return ordering.numbers(b, b.np.sort(ordering.keys(b, x), -1)[..., at], x.dtype)


nthelement_op = define_op("NthElement", "input: T, n: int32", attrs={"reverse": False}, types={"T": REAL}, static=(1,),
                          infer=_nth_infer, lower=_nth_lower)


def _nth_places_lower(b, x, n, *, reverse):
    def chosen(x):
        return x == nthelement_op.lower(b, x, n, reverse=reverse)[..., None]

    return chosen(x) if b.is_host else b.call(chosen, [x])


# Where the element stands, of equal ones all. As `Extremes`, it compares what lies in memory: XLA may compute `x` again for a
# comparison with the result of the forward op, in another loop with other roundings, and nothing would equal it.
nthplaces_op = define_op("NthElementPlaces", "input: T, n: int32", attrs={"reverse": False}, types={"T": REAL}, static=(1,),
                         infer=lambda x, n, *, reverse: Spec(x.dims, dtypes.bool_), lower=_nth_places_lower)


def nth_element(input, n, reverse=False, name=None):
    """Returns the element at place `n` of the sorted last axis (`reverse`: largest first)."""
    return nthelement_op(input, n, reverse=bool(reverse), name=name)


# -- Bucketize -------------------------------------------------------------------------------
def _bucketize_infer(x, *, boundaries):
    if list(boundaries) != sorted(boundaries):
        raise BadValue(f"Expected sorted boundaries, got {list(boundaries)}")
    return Spec(x.dims, dtypes.int32)


def _bucketize_lower(b, x, *, boundaries):
    # The kernel holds boundaries in single precision, and compares in that of the input.
    ends = np.asarray(boundaries, np.float32)
    return b.np.searchsorted(ends, x.astype(np.float64) if x.dtype.kind in "fiu" else x, side="right").astype(np.int32)


bucketize_op = define_op("Bucketize", "input: T", attrs={"boundaries": ()}, infer=_bucketize_infer, lower=_bucketize_lower,
                         types={"T": frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64))})


# -- sort, argsort ----------------------------------------------------------------------------------
def _opposed(x):
    """Returns `x` in the reversed order, without overflow: -1 - x for integers."""
    if x.dtype.is_unsigned:
        return constant(x.dtype.max, x.dtype) - x
    return constant(-1, x.dtype) - x if x.dtype.is_integer else -x


def _ordered(values, axis, direction, which):
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{direction} should be one of ASCENDING, DESCENDING")
    values = convert_to_tensor(values, name="values")
    at = axis.value() if hasattr(axis, "_as_graph_element") else axis
    if at is None:
        raise ValueError("axis must be a constant scalar")
    ascending = direction == "ASCENDING"
    n = len(values.dims) if values.dims is not None else None
    at = axis_in(int(at), n) if n is not None else int(at)
    last = at == -1 or n is not None and at == n - 1
    if not last:
        if n is not None:
            swap = list(range(n))
            swap[at], swap[-1] = swap[-1], swap[at]
        else:
            from regrad.ops.array import concat
            from regrad.ops.generate import range as range_

            r = rank(values)
            at = at + r if at < 0 else at
            swap = concat([range_(0, at), [r - 1], range_(at + 1, r - 1), [at]], 0)
        values = transpose(values, swap)
    values = _opposed(values) if ascending else values
    result = topk_op(values, shape(values)[-1], sorted=True)[which]
    result = _opposed(result) if ascending and which == 0 else result
    return result if last else transpose(result, swap)


def sort(values, axis=-1, direction="ASCENDING", name=None):
    """Returns `values` sorted along `axis`.

    Args:
      values: real tensor of at least one axis.
      axis: int.
      direction: "ASCENDING" or "DESCENDING".
    """
    with get_default_graph().name_scope(name or "sort"):
        return _ordered(values, axis, direction, 0)


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    """Returns the int32 indices that sort `values` along `axis`; equal elements keep their order."""
    with get_default_graph().name_scope(name or "argsort"):
        return _ordered(values, axis, direction, 1)


# -- searching a sorted row ---------------------------------------------------------------------------
def _search_infer(sorted_inputs, values, *, out_type):
    for x in (sorted_inputs, values):
        if x.rank not in (None, 2):
            raise ShapeError(f"sorted_inputs and values must be matrices, got {spec_text(x)}")
    if sorted_inputs.dims is not None and values.dims is not None:
        merge(sorted_inputs.dims[:1], values.dims[:1], "sorted_inputs and values must have as many rows;")
    return Spec(values.dims or (None, None), out_type)


def _search(op_type, side):
    def lower(b, rows, values, *, out_type):
        dtype = out_type.as_numpy_dtype
        if b.is_host:
            found = [np.searchsorted(r, v, side) for r, v in zip(rows, values)]
            return np.array(found, dtype).reshape(values.shape)
        return b.jax.vmap(lambda r, v: b.np.searchsorted(r, v, side=side))(rows, values).astype(dtype)

    return define_op(op_type, "sorted_inputs: T, values: T", attrs={"out_type": dtypes.int32},
                     infer=_search_infer, types={"T": REAL}, lower=lower)


lowerbound_op = _search("LowerBound", "left")
upperbound_op = _search("UpperBound", "right")


def searchsorted(sorted_sequence, values, side="left", out_type=dtypes.int32, name=None):
    """Returns where `values` would have to be inserted into the sorted rows of `sorted_sequence` to keep them
    sorted.

    Args:
      sorted_sequence: real tensor [..., n], its last axis sorted.
      values: tensor [..., m] with the same leading axes.
      side: "left": before equal elements, or "right": after them.
      out_type: int32 or int64.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    op = lowerbound_op if side == "left" else upperbound_op
    with get_default_graph().name_scope(name or "SearchSorted"):
        rows, values = convert_to_tensor(sorted_sequence), convert_to_tensor(values)
        matrices = [reshape(x, _as_matrix(x)) for x in (rows, values)]
        return reshape(op(*matrices, out_type=as_dtype(out_type)), shape(values))


def _as_matrix(x):
    """Returns the sizes of `x` with all axes but the last made one."""
    if fully_known(x.dims):
        return [size_of(x.dims[:-1]), x.dims[-1]]
    sizes = shape(x)
    return [reduce_prod(sizes[:-1]), sizes[-1]]


# -- UnravelIndex ----------------------------------------------------------------------------
def _unravel_infer(indices, dims):
    if dims.rank not in (None, 1) or indices.rank not in (None, 0, 1):
        raise ShapeError(f"indices must be a scalar or vector and dims a vector, got {spec_text(indices)} "
                         f"and {spec_text(dims)}")
    if indices.dims is None:
        return Spec(None, indices.dtype)
    return Spec((None if dims.dims is None else dims.dims[0], *indices.dims), indices.dtype)


def _unravel_lower(b, indices, dims):
    out = []
    for i in range(dims.shape[0] - 1, -1, -1):
        out.insert(0, indices % dims[i] if i else indices)
        indices = indices // dims[i]
    return b.np.stack(out)


unravelindex_op = define_op("UnravelIndex", "indices: Tidx, dims: Tidx", types={"Tidx": INDEX},
                            infer=_unravel_infer, lower=_unravel_lower)
unravelindex_op.declare(refusal=Refusal(
    "index is out of bound as with dims", lambda b, result, indices, dims: indices >= b.np.prod(dims),
    never=lambda indices, dims: dims.value() is not None and extent(indices)[1] < dims.value().prod()))


def unravel_index(indices, dims, name=None):
    """Returns the coordinates, [number of axes, ...], of flat `indices` into a tensor of sizes `dims`."""
    return unravelindex_op(indices, dims, name=name)
