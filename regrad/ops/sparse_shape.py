"""Sparse tensors in other shapes and orders, joined and taken apart, of ordinary operations: gradients reach the values."""

from math import prod as math_prod

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import BadValue, InvalidArgumentError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.opdef import Spec, define_op
from regrad.core.shapes import size_of
from regrad.ops import array, math
from regrad.ops.check import Assert, assert_equal, assert_less_equal
from regrad.ops.compare import equal, not_equal, where, where_v2
from regrad.ops.control import with_dependencies
from regrad.ops.generate import range as range_
from regrad.ops.indexing import boolean_mask, gather, gather_nd
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_all, reduce_max
from regrad.ops.sparse import (
    SparseTensor,
    SparseTensorValue,
    sparse_reorder,
    sparse_slice,
    sparse_tensor_to_dense,
    sparse_to_dense,
)


def _sparse(x):
    if not isinstance(x, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"Input must be a SparseTensor, got {x!r}.")
    return SparseTensor.from_value(x)


# -- SparseReshape ------------------------------------------------------------------------------------
def _reshaped(old, new):
    """Returns the sizes that come of reshaping `old` (or None) to `new`, None where unknown.

    Refuses what no run can do: two sizes left open, or another number of elements.
    """
    sizes = new.value()
    if sizes is None or np.ndim(sizes) != 1:
        return new.partial()
    open_sizes = int((sizes == -1).sum())
    if open_sizes > 1:
        raise BadValue(f"At most one dimension can be inferred (-1): only one output dimension may be -1. Found: "
                       f"{sizes.tolist()}")
    known, count = math_prod(s for s in sizes.tolist() if s != -1), None if old is None else size_of(old)
    if count is not None and (count != known if not open_sizes else known and count % known):
        raise BadValue(f"Cannot reshape a tensor with {count} elements to shape {sizes.tolist()} ({known} elements).")
    rest = count // known if open_sizes and count is not None and known else None
    return tuple(rest if s == -1 else s for s in sizes.tolist())


def _reshape_infer(indices, dims, new):
    _reshaped(dims.partial(), new)
    count = indices.dims[0] if indices.dims is not None else None
    rank = new.dims[0] if new.dims is not None else None
    return [Spec((count, rank), dtypes.int64), Spec((rank,), dtypes.int64)]


def _reshape_lower(b, indices, dims, new):
    size, new = int(np.prod(dims)), np.array(new)
    if (new == -1).sum() > 1:
        raise InvalidArgumentError("only one output dimension may be -1")
    rest = int(np.prod(new[new != -1]))
    if (new == -1).any():
        if not rest or size % rest:
            raise InvalidArgumentError(f"Input to reshape is a SparseTensor with {size} dense values, but the requested shape "
                                       f"requires a multiple of {rest}")
        new[new == -1] = size // rest
    elif rest != size:
        raise InvalidArgumentError(f"Input to reshape is a tensor with {size} dense values, but the requested shape has {rest}")
    flat = np.ravel_multi_index(tuple(indices.T), tuple(dims)) if len(indices) else np.zeros(0, np.int64)
    return np.stack(np.unravel_index(flat, tuple(new)), 1).astype(np.int64).reshape(-1, len(new)), new


sparsereshape_op = define_op("SparseReshape", "input_indices: int64, input_shape: int64, new_shape: int64", host=True,
                             single=False, infer=_reshape_infer, lower=_reshape_lower)
NotDifferentiable("SparseReshape")


def sparse_reshape(sp_input, shape, name=None):
    """Returns a SparseTensor with the same values in row-major order in another shape, of which one size may be -1."""
    sp_input = _sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseReshape"):
        wanted = math.cast(convert_to_tensor(shape), dtypes.int64)
        indices, dims = sparsereshape_op(sp_input.indices, sp_input.dense_shape, wanted)
        known = _reshaped(sp_input.shape.dims_, wanted)
        return SparseTensor._of_shape((indices, array.identity(sp_input.values), dims), known)


# -- order and size -----------------------------------------------------------------------------------
def sparse_transpose(sp_input, perm=None, name=None):
    """Returns a SparseTensor with its axes in the order `perm`, by default turned around."""
    sp_input = _sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseTranspose"):
        if perm is None:
            rank = array.shape(sp_input.dense_shape)[0]
            perm = rank - 1 - range_(rank)
        return sparse_reorder(SparseTensor(gather(sp_input.indices, perm, axis=1), sp_input.values,
                                           gather(sp_input.dense_shape, perm)))


def sparse_concat(axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None, expand_nonconcat_dims=None):
    """Returns SparseTensors joined along an axis.

    Args:
      axis, concat_dim: the axis, an int.
      sp_inputs: list of SparseTensors of one rank.
      expand_nonconcat_dim, expand_nonconcat_dims: the others' sizes may differ: the largest counts.
    """
    axis = concat_dim if axis is None else axis
    inputs = [_sparse(x) for x in sp_inputs]
    if not inputs:
        raise ValueError("sparse_concat: sp_inputs is empty; it must have at least one SparseTensor.")
    if len(inputs) == 1:
        return inputs[0]
    with get_default_graph().name_scope(name or "SparseConcat"):
        rank = inputs[0].indices.dims[1] if inputs[0].indices.dims is not None else None
        if axis < 0:
            if rank is None:
                raise ValueError("sparse_concat: a negative axis needs a known rank.")
            axis += rank
        at = math.cast(range_(array.size(inputs[0].dense_shape)), dtypes.int64)
        on_axis = math.cast(_equal(at, axis), dtypes.int64)
        moved, offset = [], array.zeros_like(inputs[0].dense_shape)
        for x in inputs:
            moved.append(x.indices + offset)
            offset = offset + x.dense_shape * on_axis
        shapes = array.stack([x.dense_shape for x in inputs])
        expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
        others = reduce_max(shapes, 0) if expand else inputs[0].dense_shape
        dims = offset * on_axis + others * (1 - on_axis)
        values = array.concat([x.values for x in inputs], 0)
        if not expand:
            values = with_dependencies([_alike_but_on(shapes, on_axis)], values)
        joined = SparseTensor._of_shape((array.concat(moved, 0), values, dims),
                                        _joined_dims([x.shape.dims_ for x in inputs], axis, expand))
        return sparse_reorder(joined) if axis else joined


def _joined_dims(shapes, axis, expand):
    """Returns what is known of the shape of tensors of these shapes, joined along an axis."""
    if None in shapes or len({len(s) for s in shapes}) > 1:
        return next((None if not s else (None,) * len(s) for s in shapes), None)
    out = []
    for i, sizes in enumerate(zip(*shapes)):
        known = [s for s in sizes if s is not None]
        if i == axis:
            out.append(sum(known) if len(known) == len(sizes) else None)
        elif expand:
            out.append(max(known) if len(known) == len(sizes) else None)
        else:
            out.append(known[0] if len(set(known)) == 1 else None)
    return tuple(out)


def _alike_but_on(shapes, on_axis):
    """Returns the check that shapes differ on no other axis than the one that is joined."""
    alike = reduce_all(equal(shapes, shapes[:1]) | equal(on_axis, np.int64(1)))
    return Assert(alike, ["Input shapes must match along all axes but the one of concatenation:", shapes])


def _equal(a, b):
    return equal(a, math.cast(b, a.dtype))


def sparse_split(keyword_required=None, sp_input=None, num_split=None, axis=None, name=None, split_dim=None):
    """Returns a list of `num_split` SparseTensors, parts along an axis; the first are larger by one if need be.

    All arguments are keywords: sp_input, num_split (an int), axis (or split_dim).
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    axis = split_dim if axis is None else axis
    if None in (sp_input, num_split, axis):
        raise ValueError("sparse_split: sp_input, num_split and axis are required.")
    sp_input = _sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseSplit"):
        dims = sp_input.dense_shape
        known = dims.partial()
        if known is not None and not is_tensor(axis):
            if not -len(known) <= axis < len(known):
                raise BadValue(f"Input axis should be in range [-{len(known)}, {len(known)}), got {axis}")
            axis %= len(known)
            if known[axis] is not None and not 1 <= num_split <= known[axis]:
                raise BadValue(f"Input num_split should be between 1 and the splitting dimension size ({known[axis]}), got "
                               f"{num_split}")
        size = gather(dims, axis)
        on_axis = math.cast(_equal(math.cast(range_(array.size(dims)), dtypes.int64), axis), dtypes.int64)
        parts, start = [], array.zeros_like(dims)
        for i in range(num_split):
            length = size // num_split + math.cast(i < size % num_split, dtypes.int64)
            part = length * on_axis + dims * (1 - on_axis)
            parts.append(sparse_slice(sp_input, start, part))
            start = start + part * on_axis
        return parts


def sparse_expand_dims(sp_input, axis=None, name=None):
    """Returns a SparseTensor with a new axis of size 1; the last by default."""
    sp_input = _sparse(sp_input)
    rank = sp_input.indices.dims[1]
    axis = rank if axis in (None, -1) else axis + rank + 1 if axis < 0 else axis
    with get_default_graph().name_scope(name or "sparse_expand_dims"):
        column = array.zeros_like(sp_input.indices[:, :1])
        indices = array.concat([sp_input.indices[:, :axis], column, sp_input.indices[:, axis:]], 1)
        one = np.ones(1, np.int64)
        return SparseTensor(indices, sp_input.values, array.concat([sp_input.dense_shape[:axis], one,
                                                                    sp_input.dense_shape[axis:]], 0))


def sparse_reset_shape(sp_input, new_shape=None):
    """Returns a SparseTensor with another dense shape: by default the smallest that holds its elements.

    Raises:
      InvalidArgumentError: (when run) `new_shape` is too small.
    """
    sp_input = _sparse(sp_input)
    if new_shape is None:
        dims = reduce_max(array.concat([sp_input.indices, array.zeros_like(sp_input.indices[:1]) - 1,
                                        array.zeros_like(array.expand_dims(sp_input.dense_shape, 0)) - 1], 0), 0) + 1
        return SparseTensor(sp_input.indices, sp_input.values, dims)
    wanted = math.cast(convert_to_tensor(new_shape), dtypes.int64)
    old, new = sp_input.dense_shape.value(), wanted.value()
    if old is not None and new is not None:
        if len(new) != len(old):
            raise ValueError(f"sparse_reset_shape: new_shape {new.tolist()} must have as many sizes as the tensor's shape, "
                             f"{old.tolist()}.")
        if (new < old).any():
            raise ValueError("Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
                             f"({new.tolist()}), sp_input.shape ({old.tolist()}).")
    rank = assert_equal(array.shape(sp_input.dense_shape), array.shape(wanted))
    with get_default_graph().control_dependencies([rank]):
        both = math.minimum(array.shape(sp_input.dense_shape)[0], array.shape(wanted)[0])
        check = assert_less_equal(sp_input.dense_shape[:both], wanted[:both])
    return SparseTensor(sp_input.indices, sp_input.values, with_dependencies([rank, check], wanted))


def sparse_retain(sp_input, to_retain):
    """Returns the SparseTensor of those elements for which the bool vector `to_retain` holds."""
    sp_input = _sparse(sp_input)
    keep = convert_to_tensor(to_retain, dtype=dtypes.bool_)
    return SparseTensor(boolean_mask(sp_input.indices, keep), boolean_mask(sp_input.values, keep), sp_input.dense_shape)


# -- from and to dense ----------------------------------------------------------------------------------
def sparse_from_dense(tensor, name=None):
    """Returns the SparseTensor of the elements that are not 0 (or not empty)."""
    tensor = convert_to_tensor(tensor)
    with get_default_graph().name_scope(name or "dense_to_sparse"):
        zero = convert_to_tensor(b"" if tensor.dtype is dtypes.string else np.zeros((), tensor.dtype.as_numpy_dtype))
        indices = where(not_equal(tensor, zero))
        return SparseTensor(indices, gather_nd(tensor, indices), array.shape(tensor, out_type=dtypes.int64))


def sparse_eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
    """Returns the SparseTensor with ones on the diagonal; sizes are ints."""
    columns = num_rows if num_columns is None else num_columns
    at = np.arange(min(num_rows, columns), dtype=np.int64)
    with get_default_graph().name_scope(name or "eye"):
        return SparseTensor(np.stack([at, at], 1), array.ones([len(at)], dtype), [num_rows, columns])


def sparse_to_indicator(sp_input, vocab_size, name=None):
    """Returns a bool tensor [..., vocab_size], true at the ids that the last axis of a SparseTensor holds."""
    sp_input = _sparse(sp_input)
    with get_default_graph().name_scope(name or "SparseToIndicator"):
        ids = math.cast(array.expand_dims(sp_input.values, 1), dtypes.int64)
        indices = array.concat([sp_input.indices[:, :-1], ids], 1)
        dims = array.concat([sp_input.dense_shape[:-1], [math.cast(vocab_size, dtypes.int64)]], 0)
        return sparse_to_dense(indices, dims, array.ones_like(sp_input.values, dtypes.bool_), False, validate_indices=False)


def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
    """Returns a SparseTensor of values at ids: [rows, vocab_size], or one axis for each of several `sp_ids`.

    Args:
      sp_ids: SparseTensor of ids, or a list of them.
      sp_values: SparseTensor of values at the same places.
      vocab_size: int, or a list of them.
      already_sorted: the ids of each row are in order.
    """
    several = isinstance(sp_ids, (list, tuple)) and not isinstance(sp_ids, SparseTensorValue)
    ids = [_sparse(x) for x in (sp_ids if several else [sp_ids])]
    sizes = vocab_size if several else [vocab_size]
    sp_values = _sparse(sp_values)
    with get_default_graph().name_scope(name or "SparseMerge"):
        columns = [array.expand_dims(math.cast(x.values, dtypes.int64), 1) for x in ids]
        indices = array.concat([ids[0].indices[:, :-1], *columns], 1)
        dims = array.concat([ids[0].dense_shape[:-1], math.cast(array.stack([convert_to_tensor(s) for s in sizes]),
                                                                dtypes.int64)], 0)
        merged = SparseTensor(indices, sp_values.values, dims)
        return merged if already_sorted else sparse_reorder(merged)


def sparse_reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the greatest element of a SparseTensor along axes, among those given; 0 where none is.

    Args: as for `sparse_reduce_sum`; the dtype is floating or an integer.
    """
    sp_input = _sparse(sp_input)
    axis = reduction_axes if axis is None else axis
    keep = bool(keep_dims if keepdims is None else keepdims)
    low = -np.inf if sp_input.dtype.is_floating else sp_input.dtype.min
    found = reduce_max(sparse_tensor_to_dense(sp_input, low), axis, keepdims=keep)
    given = reduce_max(sparse_tensor_to_dense(SparseTensor(
        sp_input.indices, array.ones_like(sp_input.values, dtypes.int32), sp_input.dense_shape)), axis, keepdims=keep)
    return where_v2(given > 0, found, array.zeros_like(found))


def _elementwise(op_type, function):
    """Defines an op of two sparse tensors; what one of them does not give counts as 0."""
    def lower(b, ai, av, ad, bi, bv, bd):
        if len(ad) != len(bd):
            raise InvalidArgumentError(f"Operands do not have the same ranks; got shapes: {ad.tolist()} and {bd.tolist()}")
        if not np.array_equal(ad, bd):
            raise InvalidArgumentError(f"Operands' shapes do not match: {ad.tolist()} and {bd.tolist()}")
        left = {tuple(i): v for i, v in zip(ai.tolist(), av)}
        right = {tuple(i): v for i, v in zip(bi.tolist(), bv)}
        at = sorted({*left, *right})
        zero = av.dtype.type(0)
        values = np.array([function(left.get(i, zero), right.get(i, zero)) for i in at], av.dtype)
        return np.array(at, np.int64).reshape(len(at), len(ad)), values

    NotDifferentiable(op_type)
    return define_op(
        op_type, "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64", host=True,
        single=False, lower=lower,
        infer=lambda ai, av, *_, **__: [Spec((None, ai.dims[1] if ai.dims is not None else None), dtypes.int64),
                                        Spec((None,), av.dtype)])


sparsesparsemaximum_op = _elementwise("SparseSparseMaximum", np.maximum)
sparsesparseminimum_op = _elementwise("SparseSparseMinimum", np.minimum)


def _both(op, a, b, name):
    a, b = _sparse(a), _sparse(b)
    return SparseTensor(*op(a.indices, a.values, a.dense_shape, b.indices, b.values, b.dense_shape, name=name), a.dense_shape)


def sparse_dense_cwise_add(sp_t, dense_t):
    """Returns a SparseTensor whose elements are added to those of a dense tensor at their places; it may broadcast."""
    sp_t = _sparse(sp_t)
    dense = array.broadcast_to(convert_to_tensor(dense_t, dtype=sp_t.dtype), sp_t.dense_shape)
    return SparseTensor(sp_t.indices, sp_t.values + gather_nd(dense, sp_t.indices), sp_t.dense_shape)


def sparse_maximum(sp_a, sp_b, name=None):
    """Returns the greater of two SparseTensors of one shape at each place; what is not given counts as 0."""
    return _both(sparsesparsemaximum_op, sp_a, sp_b, name or "SparseSparseMaximum")


def sparse_minimum(sp_a, sp_b, name=None):
    """Returns the less of two SparseTensors of one shape at each place; what is not given counts as 0."""
    return _both(sparsesparseminimum_op, sp_a, sp_b, name or "SparseSparseMinimum")


def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Returns the product of two dense matrices that hold many zeros: `matmul`."""
    return matmul(a, b, transpose_a=transpose_a, transpose_b=transpose_b, name=name)
