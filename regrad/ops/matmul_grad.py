"""Gradient rules for `matmul.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.array import sum_to_like
from regrad.ops.complex import conj
from regrad.ops.matmul import batchmatmul_op, matmul_op


@RegisterGradient("MatMul")
def _matmul_grad(op, dc):
    # With A = a or aT and B = b or bT, C = A B gives dA = dC BT and dB = AT dC.
    # A transposed operand wants its gradient transposed too: (dC BT)T = B dCT.
    a, b = conj(op.inputs[0]), conj(op.inputs[1])
    ta, tb = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    if ta:
        da = matmul_op(b, dc, transpose_a=tb, transpose_b=True)
    else:
        da = matmul_op(dc, b, transpose_a=False, transpose_b=not tb)
    if tb:
        db = matmul_op(dc, a, transpose_a=True, transpose_b=ta)
    else:
        db = matmul_op(a, dc, transpose_a=not ta, transpose_b=False)
    return da, db


@RegisterGradient("BatchMatMulV2")
def _batchmatmul_grad(op, dc):
    # The same with adjoints for transposes, summed over the batch axes that were broadcast.
    x, y = op.inputs
    ax, ay = op.get_attr("adj_x"), op.get_attr("adj_y")
    if ax:
        dx = batchmatmul_op(y, dc, adj_x=ay, adj_y=True)
    else:
        dx = batchmatmul_op(dc, y, adj_x=False, adj_y=not ay)
    if ay:
        dy = batchmatmul_op(dc, x, adj_x=True, adj_y=ax)
    else:
        dy = batchmatmul_op(x, dc, adj_x=not ax, adj_y=False)
    return sum_to_like(dx, x), sum_to_like(dy, y)
