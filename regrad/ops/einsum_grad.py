"""Gradient rule for `einsum.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.array import broadcast_like, expand_dims
from regrad.ops.complex import conj
from regrad.ops.einsum import einsum_op, parse
from regrad.ops.vjp import lowering_vjp


@RegisterGradient("Einsum")
def _einsum_grad(op, dy):
    operands, result = parse(op.get_attr("equation"))
    grads = []
    for i, labels in enumerate(operands):
        others = operands[:i] + operands[i + 1:]
        if "." in labels or len(set(labels)) < len(labels):
            return lowering_vjp(op, dy, linear=len(operands) == 1)  # a broadcast axis, or a diagonal: JAX knows
        # The sum of products is linear in each operand: its gradient is the product of dy with the others.
        alone = [axis for axis, label in enumerate(labels) if label not in result + "".join(others)]
        reached = "".join(label for axis, label in enumerate(labels) if axis not in alone)
        terms = [dy, *(conj(y) for j, y in enumerate(op.inputs) if j != i)]
        dx = einsum_op(terms, equation=",".join([result, *others]) + "->" + reached)
        for axis in alone:  # only this operand has it, and it was summed
            dx = expand_dims(dx, axis)
        grads.append(broadcast_like(dx, op.inputs[i]) if alone else dx)
    return grads
