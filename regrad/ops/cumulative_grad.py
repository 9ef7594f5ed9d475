"""Gradient rules for `cumulative.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.cumulative import cumsum_op
from regrad.ops.vjp import vjp_of_lowering


@RegisterGradient("Cumsum")
def _cumsum_grad(op, dy):
    # Each element went into the sums after it, so its gradient is the sum of theirs.
    return cumsum_op(dy, op.inputs[1], exclusive=op.get_attr("exclusive"), reverse=not op.get_attr("reverse")), None


# Formulas that divide by x, or take logarithms of gradients, fail at zeros; the derivative of the scan itself does not.
vjp_of_lowering("Cumprod")
vjp_of_lowering("CumulativeLogsumexp")
