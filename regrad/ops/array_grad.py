"""Gradient rules for `array.py`."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import array
from regrad.ops.array import (
    broadcast_like,
    concat_op,
    reshape_like,
    shape,
    shape_n,
    splitv_op,
    stack,
    sum_to_like,
)
from regrad.ops.reduce import reduce_sum


# -- passing on --------------------------------------------------------------------------
def _pass_on(op, *grads):
    return grads


for _op_type in ("Identity", "IdentityN", "Snapshot", "PlaceholderWithDefault", "EnsureShape",
                 "GuaranteeConst", "DebugGradientIdentity"):
    RegisterGradient(_op_type)(_pass_on)


@RegisterGradient("PreventGradient")
def _preventgradient_grad(op, dy):
    raise LookupError(f"Gradient explicitly disabled at '{op.name}', made at {op.location}. "
                      f"Reason: {op.get_attr('message')}")


@RegisterGradient("CheckNumerics")
def _checknumerics_grad(op, dy):
    words = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return array.check_numerics(dy, f"{words} {op.get_attr('message')}")


for _op_type in ("Bitcast", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "Const", "StopGradient", "Shape",
                 "ShapeN", "Rank", "Size", "ZerosLike", "OnesLike", "InvertPermutation"):
    NotDifferentiable(_op_type)


# -- filling and broadcasting ----------------------------------------------------------------
@RegisterGradient("Fill")
def _fill_grad(op, dy):
    return None, reduce_sum(dy)


@RegisterGradient("SumToLike")
def _sumtolike_grad(op, dy):
    return broadcast_like(dy, op.inputs[0]), None


@RegisterGradient("BroadcastLike")
def _broadcastlike_grad(op, dy):
    return sum_to_like(dy, op.inputs[0]), None


@RegisterGradient("BroadcastTo")
def _broadcastto_grad(op, dy):
    return sum_to_like(dy, op.inputs[0]), None


@RegisterGradient("FitWeights")
def _fitweights_grad(op, dy):
    return reshape_like(dy, op.inputs[0]), None


# -- other shapes of the same elements ---------------------------------------------------------
def _reshape_back(op, dy):
    return [reshape_like(dy, op.inputs[0])] + [None] * (len(op.inputs) - 1)


for _op_type in ("Reshape", "ReshapeLike", "ExpandDims", "Squeeze"):
    RegisterGradient(_op_type)(_reshape_back)


@RegisterGradient("Transpose")
def _transpose_grad(op, dy):
    return array.transpose_op(dy, array.invert_permutation(op.inputs[1])), None


@RegisterGradient("ConjugateTranspose")
def _conjugatetranspose_grad(op, dy):
    return array.conjugatetranspose_op(dy, array.invert_permutation(op.inputs[1])), None


# -- joining and splitting ------------------------------------------------------------------------
@RegisterGradient("Pack")
def _pack_grad(op, dy):
    return array.unstack(dy, num=len(op.inputs), axis=op.get_attr("axis"))


@RegisterGradient("Unpack")
def _unpack_grad(op, *grads):
    return stack(grads, axis=op.get_attr("axis"))


@RegisterGradient("ConcatV2")
def _concat_grad(op, dy):
    *values, axis = op.inputs
    if len(values) == 1:
        return dy, None
    at = axis.partial()
    if isinstance(dy, IndexedSlices) and at is not None and op.outputs[0].dims is not None:
        if at % len(op.outputs[0].dims):  # joined along another axis than the rows
            parts = _split(dy.values, values, axis, at)
            return [IndexedSlices(p, dy.indices, shape(v)) for p, v in zip(parts, values)] + [None]
        return [*_rows_of(dy, values), None]
    return [*_split(dy, values, axis, at), None]


def _rows_of(dy, values):
    """Returns the rows of IndexedSlices that each of `values`, joined one after the other, contributed."""
    from regrad.ops.compare import greater_equal, less, logical_and
    from regrad.ops.indexing import boolean_mask

    parts, start = [], 0
    for v in values:
        dense_shape = shape(v, out_type=dy.indices.dtype)
        end = start + dense_shape[0]
        mine = logical_and(greater_equal(dy.indices, start), less(dy.indices, end))
        indices = boolean_mask(dy.indices, mine) - start
        parts.append(IndexedSlices(boolean_mask(dy.values, mine), indices, dense_shape))
        start = end
    return parts


def _split(dy, values, axis, at):
    """Returns `dy` cut along `axis` into parts as long as `values` are."""
    sizes = [None if at is None or v.dims is None else v.dims[at] for v in values]
    if None in sizes:
        sizes = stack(shape_n(values), axis=1)[axis if at is None else at]
    return splitv_op(dy, sizes, axis, num_split=len(values))


@RegisterGradient("Split")
def _split_grad(op, *grads):
    return None, concat_op(list(grads), op.inputs[0])


@RegisterGradient("SplitV")
def _splitv_grad(op, *grads):
    return concat_op(list(grads), op.inputs[2]), None, None
