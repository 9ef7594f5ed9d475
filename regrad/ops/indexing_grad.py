"""Gradient rules for `indexing.py`."""

from regrad.core.convert import convert_to_tensor
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import indexing
from regrad.ops.array import concat, reshape, shape, squeeze, zeros_like
from regrad.ops.compare import equal
from regrad.ops.indexing import MASKS
from regrad.ops.math import cast


def _masks(op):
    return {m: op.get_attr(m) for m in MASKS}


@RegisterGradient("StridedSlice")
def _stridedslice_grad(op, dy):
    x, begin, end, strides = op.inputs
    dx = indexing.strided_slice_grad(shape(x, out_type=begin.dtype), begin, end, strides, dy,
                                     op.get_attr("_known"), **_masks(op))
    return dx, None, None, None


@RegisterGradient("StridedSliceGrad")
def _stridedslicegrad_grad(op, g):
    _, begin, end, strides, _ = op.inputs
    return None, None, None, None, indexing.strided_slice(g, begin, end, strides, **_masks(op))


@RegisterGradient("Slice")
def _slice_grad(op, dy):
    x, begin, _ = op.inputs
    return indexing.slice_grad(dy, x, begin), None, None


@RegisterGradient("SliceGrad")
def _slicegrad_grad(op, g):
    dy, _, begin = op.inputs
    return indexing.slice_(g, begin, shape(dy, out_type=begin.dtype)), None, None


@RegisterGradient("GatherV2")
def _gather_grad(op, dy):
    params, indices, axis = op.inputs
    batch_dims = op.get_attr("batch_dims")
    at = axis.partial()
    if at == 0 or at is not None and params.dims is not None and at == -len(params.dims):
        return _rows(params, indices, dy), None, None
    return indexing.gathergrad_op(dy, indices, axis, params, batch_dims=batch_dims), None, None


def _rows(params, indices, dy):
    """Returns the gradient of gathering rows of `params` as IndexedSlices."""
    dense_shape = shape(params)
    dy = convert_to_tensor(dy)
    if indices.dims is not None and len(indices.dims) == 1:
        return IndexedSlices(dy, indices, dense_shape)
    if params.dims is not None and None not in params.dims[1:]:
        row = (-1, *params.dims[1:])
    else:
        row = concat([[-1], dense_shape[1:]], 0)
    if params.dims is not None and 0 in params.dims[1:]:
        row = (indices.shape.num_elements() or shape(reshape(indices, [-1]))[0], *params.dims[1:])
    return IndexedSlices(reshape(dy, row), reshape(indices, [-1]), dense_shape)


@RegisterGradient("GatherV2Grad")
def _gathergrad_grad(op, g):
    _, indices, axis, _ = op.inputs
    return indexing.gather_op(g, indices, axis, batch_dims=op.get_attr("batch_dims")), None, None, None


@RegisterGradient("GatherNd")
def _gathernd_grad(op, dy):
    params, indices = op.inputs
    if indices.dims is not None and len(indices.dims) == 2 and indices.dims[-1] == 1:
        return IndexedSlices(convert_to_tensor(dy), squeeze(indices, [-1]), shape(params)), None
    return indexing.scatternd_op(indices, dy, shape(params, out_type=indices.dtype)), None


@RegisterGradient("ScatterNd")
def _scatternd_grad(op, dy):
    return None, indexing.gathernd_op(dy, op.inputs[0]), None


@RegisterGradient("TensorScatterUpdate")
def _tensorscatterupdate_grad(op, dy):
    _, indices, updates = op.inputs
    dx = indexing.tensorscatterupdate_op(dy, indices, zeros_like(updates))
    return dx, None, indexing.gathernd_op(dy, indices)


@RegisterGradient("TensorScatterAdd")
def _tensorscatteradd_grad(op, dy):
    return dy, None, indexing.gathernd_op(dy, op.inputs[1])


@RegisterGradient("TensorScatterSub")
def _tensorscattersub_grad(op, dy):
    return dy, None, -indexing.gathernd_op(dy, op.inputs[1])


def _extreme_grad(op, dy):
    # Whatever equals the result has a share in it, all the same one, as in TF.
    x, indices, updates = op.inputs
    y = op.outputs[0]
    dtype = dy.dtype
    first = cast(equal(y, x), dtype)
    rest = cast(equal(indexing.gathernd_op(y, indices), updates), dtype)
    share = dy / indexing.tensorscatteradd_op(first, indices, rest)
    return first * share, None, rest * indexing.gathernd_op(share, indices)


RegisterGradient("TensorScatterMax")(_extreme_grad)
RegisterGradient("TensorScatterMin")(_extreme_grad)

for _op_type in ("OneHot", "Where", "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "StridedSliceAssign"):
    NotDifferentiable(_op_type)
