"""Gradient rules for `tensor_array.py`: what is written by rows is read by rows, and the other way round."""

from regrad.core.convert import convert_to_tensor
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops.array import expand_dims, reshape, reshape_like, shape, zeros_like
from regrad.ops.tensor_array import gather_op, scatter_op, take_op, write_op

NotDifferentiable("TensorArrayV3")
NotDifferentiable("TensorArraySizeV3")


@RegisterGradient("TensorArrayWriteV3")
def _write_grad(op, dflow):
    index, value = op.inputs[1:]
    # What stood in the row before was replaced: nothing of the gradient reaches it.
    dvalue, rest = take_op(dflow, index)
    dvalue.set_shape(value.dims)
    return _as_long(rest, op), None, dvalue


@RegisterGradient("TensorArrayTake")
def _take_grad(op, drow, drest):
    return write_op(convert_to_tensor(drest), op.inputs[1], drow), None  # in place of the gradient of the zeros


def _as_long(rows, op):
    """Returns the rows that the array had before it was written to, where it is known to have grown."""
    flow = op.inputs[0]
    size = flow.dims[0] if flow.dims and op.get_attr("dynamic_size") else None
    return rows if size is None else rows[:size]


@RegisterGradient("TensorArrayReadV3")
def _read_grad(op, dvalue):
    # One row of the array: kept as a slice, so that a loop adds rows and not whole arrays.
    flow, index = op.inputs
    return IndexedSlices(expand_dims(dvalue, 0), reshape(index, [1]), shape(flow)), None


@RegisterGradient("TensorArrayGatherV3")
def _gather_grad(op, dvalues):
    flow, indices = op.inputs
    return IndexedSlices(dvalues, indices, shape(flow)), None


@RegisterGradient("TensorArrayScatterV3")
def _scatter_grad(op, dflow):
    indices, value = op.inputs[1:]
    dvalue = gather_op(dflow, indices)
    rest = scatter_op(dflow, indices, zeros_like(dvalue), dynamic_size=op.get_attr("dynamic_size"))
    return _as_long(rest, op), None, dvalue


@RegisterGradient("TensorArrayUnstack")
def _unstack_grad(op, dflow):
    # Rows that were read come as slices: here, where the array began, they become whole.
    value, flow = op.inputs
    rows = convert_to_tensor(dflow)
    if None in (value.dims and value.dims[0], flow.dims and flow.dims[0]) or value.dims[0] != flow.dims[0]:
        rows = rows[:shape(value)[0]]  # the array may be larger
    return rows, None


@RegisterGradient("TensorArrayConcatV3")
def _concat_grad(op, dvalue):
    return reshape_like(convert_to_tensor(dvalue), op.inputs[0])


@RegisterGradient("TensorArraySplitV3")
def _split_grad(op, dflow):
    return reshape_like(convert_to_tensor(dflow), op.inputs[0])
