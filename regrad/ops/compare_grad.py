"""Gradient rules for `compare.py`."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops.array import sum_to_like, zeros_like
from regrad.ops.compare import select, selectv2_op


@RegisterGradient("Select")
def _select_grad(op, dz):
    c = op.inputs[0]
    zero = zeros_like(dz)
    return None, select(c, dz, zero), select(c, zero, dz)


@RegisterGradient("SelectV2")
def _selectv2_grad(op, dz):
    c, x, y = op.inputs
    zero = zeros_like(dz)
    return None, sum_to_like(selectv2_op(c, dz, zero), x), sum_to_like(selectv2_op(c, zero, dz), y)


for _op_type in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual",
                 "LogicalAnd", "LogicalOr", "LogicalNot"):
    NotDifferentiable(_op_type)
