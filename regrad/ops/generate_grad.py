"""Gradient rules for `generate.py`."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops.array import ones_like, zeros_like
from regrad.ops.generate import linspace_op
from regrad.ops.reduce import reduce_sum

NotDifferentiable("Range")


@RegisterGradient("LinSpace")
def _linspace_grad(op, dy):
    # Element i is (1 - t) start + t stop with t from 0 to 1. (TF calls LinSpace not differentiable.)
    start, stop, num = op.inputs
    t = linspace_op(zeros_like(start), ones_like(stop), num)
    return reduce_sum(dy * (1.0 - t)), reduce_sum(dy * t), None
