"""Gradient rule for `clip.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.array import sum_to_like, zeros_like
from regrad.ops.compare import selectv2_op


@RegisterGradient("ClipByValue")
def _clipbyvalue_grad(op, dy):
    # Inside the bounds the gradient is t's; outside it is that of the bound that took its place.
    t, low, high = op.inputs
    zero = zeros_like(dy)
    above, below = t > high, t < low
    dt = selectv2_op(above, zero, selectv2_op(below, zero, dy))
    dlow, dhigh = selectv2_op(below, dy, zero), selectv2_op(above, dy, zero)
    return sum_to_like(dt, t), sum_to_like(dlow, low), sum_to_like(dhigh, high)
