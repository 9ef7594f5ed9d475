"""Gradient rule for `einsum.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.complex import conj
from regrad.ops.einsum import einsum_op, parse
from regrad.ops.vjp import lowering_vjp


@RegisterGradient("Einsum")
def _einsum_grad(op, dy):
    operands, result = parse(op.get_attr("equation"))
    grads = []
    for i, labels in enumerate(operands):
        others = operands[:i] + operands[i + 1:]
        reachable = set(result).union(*others)
        if "." in labels or len(set(labels)) < len(labels) or not set(labels) <= reachable:
            # A diagonal, a broadcast axis, or one that only this operand has and that was summed: JAX knows.
            return lowering_vjp(op, dy, linear=len(operands) == 1)
        # The sum of products is linear in each operand: its gradient is the product of dy with the others.
        terms = [dy, *(conj(x) for j, x in enumerate(op.inputs) if j != i)]
        grads.append(einsum_op(terms, equation=",".join([result, *others]) + "->" + labels))
    return grads
