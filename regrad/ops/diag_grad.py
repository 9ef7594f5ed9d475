"""Gradient rules for `diag.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import diag
from regrad.ops.array import zeros_like
from regrad.ops.reduce import reduce_sum


@RegisterGradient("Diag")
def _diag_grad(op, dy):
    return diag.diag_part(dy)


@RegisterGradient("DiagPart")
def _diagpart_grad(op, dy):
    return diag.diag(dy)


@RegisterGradient("MatrixDiagV2")
def _matrixdiag_grad(op, dy):
    x, k, _, _, padding = op.inputs
    align = op.get_attr("align")
    elsewhere = diag.matrixsetdiag_op(dy, zeros_like(x), k, align=align)
    dx = diag.matrixdiagpart_op(dy, k, zeros_like(padding), align=align)
    return dx, None, None, None, reduce_sum(elsewhere)


@RegisterGradient("MatrixDiagPartV2")
def _matrixdiagpart_grad(op, dy):
    x, k, padding = op.inputs
    dx = diag.matrixsetdiag_op(zeros_like(x), dy, k, align=op.get_attr("align"))
    return dx, None, reduce_sum(dy) - reduce_sum(dx)


@RegisterGradient("MatrixSetDiagV2")
def _matrixsetdiag_grad(op, dy):
    x, diagonal, k = op.inputs
    align = op.get_attr("align")
    dx = diag.matrixsetdiag_op(dy, zeros_like(diagonal), k, align=align)
    return dx, diag.matrixdiagpart_op(dy, k, zeros_like(reduce_sum(dy)), align=align), None


@RegisterGradient("MatrixBandPart")
def _matrixbandpart_grad(op, dy):
    _, num_lower, num_upper = op.inputs
    return diag.matrixbandpart_op(dy, num_lower, num_upper), None, None
