"""Gradient rules for `sort.py`."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops.array import expand_dims
from regrad.ops.indexing import gathergrad_op
from regrad.ops.math import cast
from regrad.ops.reduce import reduce_sum
from regrad.ops.sort import nthplaces_op


@RegisterGradient("TopKV2")
def _topk_grad(op, dy, _):
    # Each element that was chosen gets the gradient of the place it was chosen for.
    return gathergrad_op(dy, op.outputs[1], -1, op.inputs[0], batch_dims=-1), None


@RegisterGradient("NthElement")
def _nthelement_grad(op, dy):
    # Equal elements share the gradient equally, as in TF.
    chosen = cast(nthplaces_op(*op.inputs, reverse=op.get_attr("reverse")), dy.dtype)
    return chosen * expand_dims(dy, -1) / reduce_sum(chosen, -1, keepdims=True), None


for _op_type in ("Bucketize", "LowerBound", "NthElementPlaces", "UpperBound", "UnravelIndex"):
    NotDifferentiable(_op_type)
