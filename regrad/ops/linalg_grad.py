"""Gradient rules for `linalg.py`: matrix identities where they are short, else the derivative of the lowering.

Identities: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode automatic
differentiation", 2008; functions of matrices: N. Higham, "Functions of Matrices", theorem 3.6.
"""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import linalg
from regrad.ops.array import concat, shape, sum_to_like, zeros_like
from regrad.ops.diag import matrix_band_part
from regrad.ops.matmul import batchmatmul_op
from regrad.ops.vjp import lowering_vjp, vjp_of_lowering


def _times(x, y, adj_x=False, adj_y=False):
    return batchmatmul_op(x, y, adj_x=adj_x, adj_y=adj_y)


@RegisterGradient("Cross")
def _cross_grad(op, dz):
    a, b = op.inputs
    return linalg.cross_op(b, dz), linalg.cross_op(dz, a)


@RegisterGradient("MatrixInverse")
def _inverse_grad(op, dy):
    # Y = X^-1: dX = -Y^H dY Y^H; when Y inverts the adjoint, its adjoint.
    y = op.outputs[0]
    dx = -_times(_times(y, dy, adj_x=True), y, adj_y=True)
    return linalg.adjoint(dx) if op.get_attr("adjoint") else dx


@RegisterGradient("MatrixSolve")
def _solve_grad(op, dx):
    # A X = B: dB = A^-H dX, dA = -dB X^H.
    a, b = op.inputs
    x = op.outputs[0]
    adjoint = op.get_attr("adjoint")
    db = linalg.matrixsolve_op(a, dx, adjoint=not adjoint)
    da = -_times(x, db, adj_y=True) if adjoint else -_times(db, x, adj_y=True)
    return sum_to_like(da, a), sum_to_like(db, b)


@RegisterGradient("MatrixTriangularSolve")
def _triangular_solve_grad(op, dx):
    # As for MatrixSolve, within the triangle that is read.
    a, b = op.inputs
    x = op.outputs[0]
    adjoint, lower = op.get_attr("adjoint"), op.get_attr("lower")
    db = linalg.matrixtriangularsolve_op(a, dx, lower=lower, adjoint=not adjoint)
    da = -_times(x, db, adj_y=True) if adjoint else -_times(db, x, adj_y=True)
    da = matrix_band_part(da, -1, 0) if lower else matrix_band_part(da, 0, -1)
    return sum_to_like(da, a), sum_to_like(db, b)


@RegisterGradient("Cholesky")
def _cholesky_grad(op, dl):
    # The lowering reads the lower triangle only; the gradient is spread over both, as the matrix is Hermitian.
    (dx,) = lowering_vjp(op, dl)
    return 0.5 * (dx + linalg.adjoint(dx))


def _block_rule(function_op):
    """The rule of a function f of matrices: with A^H and the gradient G, f([[A^H, G], [0, A^H]]) holds dA above right."""

    def rule(op, dy):
        x = linalg.adjoint(op.inputs[0])
        f = function_op(concat([concat([x, dy], -1), concat([zeros_like(x), x], -1)], -2))
        n = shape(x)[-1]
        return f[..., :n, n:]

    return rule


RegisterGradient("MatrixLogarithm")(_block_rule(linalg.matrixlogarithm_op))
RegisterGradient("MatrixSquareRoot")(_block_rule(linalg.matrixsquareroot_op))

for _op_type in ("MatrixSolveLs", "Qr", "Svd", "SelfAdjointEigV2", "Eig", "Lu", "MatrixDeterminant", "LogMatrixDeterminant",
                 "MatrixExponential", "TridiagonalSolve", "TridiagonalMatMul",
                 "BandedTriangularSolve"):
    vjp_of_lowering(_op_type)
