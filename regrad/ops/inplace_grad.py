"""Gradient rules for `inplace.py`. TensorFlow has none for the ops on rows."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import inplace
from regrad.ops.array import sum_to_like, zeros_like
from regrad.ops.indexing import MASKS, gather, strided_slice


@RegisterGradient("DeepCopy")
def _deepcopy_grad(op, dy):
    return dy


@RegisterGradient("InplaceAdd")
def _inplaceadd_grad(op, dy):
    return dy, None, gather(dy, op.inputs[1])


@RegisterGradient("InplaceSub")
def _inplacesub_grad(op, dy):
    return dy, None, -gather(dy, op.inputs[1])


@RegisterGradient("InplaceUpdate")
def _inplaceupdate_grad(op, dy):
    # What was replaced counts no more. Of a row given twice either may have won: indices should differ.
    _, i, v = op.inputs
    return inplace.inplaceupdate_op(dy, i, zeros_like(v)), None, gather(dy, i)


@RegisterGradient("TensorStridedSliceUpdate")
def _tensorstridedsliceupdate_grad(op, dy):
    _, begin, end, strides, value = op.inputs
    masks = {k: op.get_attr(k) for k in MASKS}
    dx = inplace.tensorstridedsliceupdate_op(dy, begin, end, strides, zeros_like(value), **masks)
    return dx, None, None, None, sum_to_like(strided_slice(dy, begin, end, strides, **masks), value)
