"""Gradient rules for `segment.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.indexing import gather_op


@RegisterGradient("UnsortedSegmentSum")
def _unsortedsegmentsum_grad(op, dy):
    return gather_op(dy, op.inputs[1], 0, batch_dims=0), None, None
