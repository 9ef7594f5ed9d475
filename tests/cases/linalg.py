"""Rows for `regrad/ops/linalg.py`."""

import numpy as np
import scipy.linalg

from regrad.ops import complex as complex_
from regrad.ops import linalg, math, matmul, reduce
from tests.cases import Bad, Case, Edge

RNG = np.random.RandomState(4)
SINGLE = ("float32",)
DOUBLE = ("complex64",)


def _m(*shape):
    return RNG.randn(*shape) + 2 * np.eye(shape[-2], shape[-1])


def _z(*shape):
    return RNG.randn(*shape) + 1j * RNG.randn(*shape) + 2 * np.eye(shape[-2], shape[-1])


def _h(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _adj(x, adjoint):
    return _h(x) if adjoint else x


def _positive(x):
    """Returns x x^H + 1 as a tensor: Hermitian positive definite, and Hermitian in whatever direction x moves."""
    return matmul.matmul(x, x, adjoint_b=True) + np.eye(3, dtype=x.dtype.as_numpy_dtype)


def _positive_np(x):
    return x @ _h(x) + np.eye(3)


def _on_positive(f):
    return lambda x, **kw: f(_positive(x), **kw)


def _on_positive_np(f):
    return lambda x, **kw: f(_positive_np(x), **kw)


def _tri(x, lower):
    return np.tril(x) if lower else np.triu(x)


def _lstsq(a, y, l2_regularizer=0.0, fast=True):
    n = a.shape[-1]
    if not fast:
        return np.linalg.pinv(a) @ y
    if l2_regularizer:
        return np.linalg.solve(_h(a) @ a + l2_regularizer * np.eye(n), _h(a) @ y)
    return np.linalg.pinv(a) @ y


def _from_svd(x, **kw):
    """A function of u, s, v that does not depend on the vectors' signs or phases."""
    s, u, v = linalg.svd(x, **kw)
    k = s.shape[-1].value
    weights = math.cast(math.sin(s), u.dtype)[..., None, :]
    return s, matmul.matmul(u[..., :k] * weights, v[..., :k], adjoint_b=True), \
        matmul.matmul(u[..., k:], u[..., k:], adjoint_b=True), matmul.matmul(v[..., k:], v[..., k:], adjoint_b=True)


def _from_svd_np(x, full_matrices=False):
    u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
    k = s.shape[-1]
    v = _h(vh)
    return s, (u[..., :k] * np.sin(s)[..., None, :]) @ _h(v[..., :k]), u[..., k:] @ _h(u[..., k:]), v[..., k:] @ _h(v[..., k:])


def _from_eigh(x):
    e, v = linalg.self_adjoint_eig(x)
    return e, matmul.matmul(v * math.cast(math.sin(e), v.dtype)[..., None, :], v, adjoint_b=True)


def _projector(x):
    """The projector on the span of the first two eigenvectors."""
    _, v = linalg.self_adjoint_eig(x)
    return matmul.matmul(v[:, :2], v[:, :2], adjoint_b=True)


def _from_eigh_np(x):
    e, v = np.linalg.eigh(x)
    return e.astype(x.dtype), (v * np.sin(e)[..., None, :]) @ _h(v)


def _from_qr(x, full_matrices=False):
    """Q R, |R| squared by rows, and Q Q^H: nothing that depends on signs or phases."""
    q, r = linalg.qr(x, full_matrices=full_matrices)
    n = min(x.shape[-1].value, x.shape[-2].value)
    q1, q2 = q[..., :n], q[..., n:]
    return matmul.matmul(q, r), complex_.real(r * complex_.conj(r)), matmul.matmul(q1, q1, adjoint_b=True), \
        matmul.matmul(q2, q2, adjoint_b=True)


def _from_qr_np(x, full_matrices=False):
    q, r = np.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    n = min(x.shape[-2:])
    q1, q2 = q[..., :n], q[..., n:]
    return x, np.abs(r) ** 2, q1 @ _h(q1), q2 @ _h(q2)


def _from_eig(x):
    """The product of the parts, and a symmetric function of the values: eigenvalues have no order of their own."""
    e, v = linalg.eig(x)
    back = matmul.matmul(v * math.exp(e)[..., None, :], linalg.matrix_inverse(v))
    return back


def _from_lu(x):
    lu, p = linalg.lu(x)
    return lu, p


def _from_lu_np(x):
    out_lu, out_p = np.empty_like(x), np.empty(x.shape[:-1], np.int32)
    for i in np.ndindex(x.shape[:-2]):
        p, low, up = scipy.linalg.lu(x[i])
        out_lu[i] = low - np.eye(x.shape[-1]) + up
        out_p[i] = np.argmax(p, axis=0)
    return out_lu, out_p


def _tridiagonal(d):
    n = d.shape[-1]
    out = np.zeros(d.shape[:-2] + (n, n), d.dtype)
    for i in range(n):
        out[..., i, i] = d[..., 1, i]
        if i + 1 < n:
            out[..., i, i + 1], out[..., i + 1, i] = d[..., 0, i], d[..., 2, i + 1]
    return out


def _bands(d, lower):
    k, n = d.shape[-2:]
    out = np.zeros(d.shape[:-2] + (n, n), d.dtype)
    for i in range(n):
        for j in range(k):
            column = i - j if lower else i + j
            if 0 <= column < n:
                out[..., i, column] = d[..., j if lower else k - 1 - j, i]
    return out


def _each(f):
    def reference(x):
        out = np.empty(x.shape, x.dtype)
        for i in np.ndindex(x.shape[:-2]):
            out[i] = f(x[i])
        return out

    return reference


def _stable(*shape):
    """A matrix with real eigenvalues away from 0 and from one another: principal roots exist."""
    x = RNG.randn(*shape)
    return x @ np.swapaxes(x, -1, -2) + np.diag(np.arange(1.0, shape[-1] + 1)) + 0.2 * RNG.randn(*shape)


DIAGONALS = RNG.randn(3, 4) + np.array([[0.0], [4], [0]])
T = DIAGONALS[0][None, :], DIAGONALS[1][None, :], DIAGONALS[2][None, :]
ADJOINT = (False, True)
EMPTY = np.zeros((2, 0, 0))
V3 = (2, 3)

CASES = [
    # Inverse and solutions.
    *[Case("MatrixInverse", linalg.matrix_inverse, lambda x, adjoint: np.linalg.inv(_adj(x, adjoint)), (x,), {"adjoint": a},
           dtypes=types, note=f"{a}", rtol=1e-9)
      for x, types in ((_m(2, 3, 3), SINGLE), (_z(3, 3), DOUBLE)) for a in ADJOINT],
    Case("MatrixInverse", linalg.matrix_inverse, lambda x: x, (EMPTY,), dtypes=(), note="empty"),
    *[Case("MatrixSolve", linalg.matrix_solve, lambda a, y, adjoint: np.linalg.solve(_adj(a, adjoint), y), (a, y),
           {"adjoint": adj}, dtypes=types, note=f"{adj}", rtol=1e-9)
      for a, y, types in ((_m(2, 3, 3), _m(2, 3, 2), SINGLE), (_z(3, 3), _z(3, 1), DOUBLE), (_m(2, 3, 3), _m(3, 2), ()))
      for adj in ADJOINT],
    *[Case("MatrixTriangularSolve", linalg.matrix_triangular_solve,
           lambda a, y, lower, adjoint: np.linalg.solve(_adj(_tri(a, lower), adjoint), y), (a, y),
           {"lower": lower, "adjoint": adj}, dtypes=types, note=f"{lower}-{adj}", rtol=1e-9)
      for a, y, types in ((_m(2, 3, 3), _m(2, 3, 2), SINGLE), (_z(3, 3), _z(3, 1), DOUBLE), (_m(3, 3), _m(2, 3, 2), ()))
      for lower in ADJOINT for adj in ADJOINT],
    *[Case("MatrixSolveLs", linalg.matrix_solve_ls, _lstsq, (a, y), {"l2_regularizer": l2, "fast": fast},
           dtypes=types if fast else (), note=f"{l2}-{fast}", rtol=1e-8)
      for a, y, types in ((_m(2, 4, 2), _m(2, 4, 3), SINGLE), (_m(2, 4), _m(2, 1), ()), (_z(4, 2), _z(4, 1), DOUBLE))
      for l2, fast in ((0.0, True), (0.5, True), (0.0, False))],
    # Factorisations.
    Case("Cholesky", _on_positive(linalg.cholesky), _on_positive_np(np.linalg.cholesky), ((2, 3, 3),), dtypes=SINGLE),
    Case("Cholesky", _on_positive(linalg.cholesky), _on_positive_np(np.linalg.cholesky), (_z(3, 3),), dtypes=DOUBLE),
    Case("Cholesky", linalg.cholesky, np.linalg.cholesky, (np.array([[4.0, 99], [2, 3]]),), derivatives=False,
         note="reads the lower triangle"),
    Case("Cholesky", linalg.cholesky, lambda x: x, (EMPTY,), dtypes=(), derivatives=False, note="empty"),
    Case("Cholesky", lambda x, y: linalg.cholesky_solve(linalg.cholesky(_positive(x)), y),
         lambda x, y: np.linalg.solve(_positive_np(x), y), ((3, 3), (3, 2)), rtol=1e-9, note="solve"),
    *[Case("Qr", _from_qr, _from_qr_np, (x,), {"full_matrices": full}, dtypes=types, note=f"{full}", unknown=False, rtol=1e-9,
           order=2 if types else 1)
      for x, types in ((_m(2, 4, 3), SINGLE), (_m(3, 3), ()), (_m(2, 4), ()), (_z(3, 2), DOUBLE)) for full in (False, True)],
    *[Case("Svd", _from_svd, _from_svd_np, (x,), {"full_matrices": full}, dtypes=types, note=f"{full}", unknown=False,
           rtol=1e-9, grad_rtol=1e-5, order=2 if types else 1)
      for x, types in ((_m(2, 4, 3), SINGLE), (_m(3, 3), ()), (_m(2, 4), ()), (_z(3, 2), DOUBLE), (_z(2, 3), ()))
      for full in (False, True)],
    *[Case("Svd", lambda x: linalg.svd(x, compute_uv=False), lambda x: np.linalg.svd(x, compute_uv=False), (x,), dtypes=types,
           note="values", rtol=1e-9) for x, types in ((_m(2, 4, 3), SINGLE), (_z(2, 3), DOUBLE))],
    Case("SelfAdjointEigV2", lambda x: _from_eigh(_positive(x)), _on_positive_np(_from_eigh_np), ((2, 3, 3),), dtypes=SINGLE,
         rtol=1e-9, grad_rtol=1e-5),
    Case("SelfAdjointEigV2", lambda x: _from_eigh(_positive(x)), _on_positive_np(_from_eigh_np), (_z(3, 3),), dtypes=DOUBLE,
         rtol=1e-9, grad_rtol=1e-5),
    Case("SelfAdjointEigV2", linalg.self_adjoint_eigvals, np.linalg.eigvalsh, (_m(2, 3, 3),), rtol=1e-9, note="values"),
    Case("Eig", lambda x: _from_eig(x), lambda x: scipy.linalg.expm(x) + 0j, (_m(3, 3),), dtypes=(), rtol=1e-8),
    Case("Eig", lambda x: reduce.reduce_sum(math.abs(linalg.eigvals(x))), lambda x: np.abs(np.linalg.eigvals(x)).sum(), (_m(3, 3) + np.diag([0, 5.0, 11]),),
         dtypes=(), rtol=1e-8, note="values"),
    Case("Lu", _from_lu, _from_lu_np, (_m(2, 3, 3),), dtypes=(), rtol=1e-9),
    Case("Lu", lambda x: linalg.lu_solve(*linalg.lu(x), np.eye(3)[:, :2] + 1.0),
         lambda x: np.linalg.solve(x, np.eye(3)[:, :2] + 1.0), (_m(3, 3),), rtol=1e-9, note="solve", unknown="rank"),
    Case("Lu", lambda x: linalg.lu_reconstruct(*linalg.lu(x)), lambda x: x, (_m(2, 3, 3),), rtol=1e-9, note="reconstruct",
         unknown="rank"),
    Case("Lu", lambda x: linalg.lu_matrix_inverse(*linalg.lu(x)), np.linalg.inv, (_m(3, 3),), rtol=1e-9, note="inverse",
         unknown="rank"),
    # Determinants.
    *[Case("MatrixDeterminant", linalg.matrix_determinant, np.linalg.det, (x,), dtypes=types, rtol=1e-9)
      for x, types in ((_m(2, 3, 3), SINGLE), (_m(4, 4), ()), (_m(1, 1), ()), (_z(3, 3), DOUBLE))],
    Case("MatrixDeterminant", linalg.matrix_determinant, lambda x: np.ones(2), (EMPTY,), dtypes=(), note="empty"),
    *[Case("LogMatrixDeterminant", linalg.slogdet, lambda x: tuple(np.asarray(v, x.dtype) for v in np.linalg.slogdet(x)), (x,),
           dtypes=types, rtol=1e-9)
      for x, types in ((_m(2, 3, 3), SINGLE), (_z(3, 3), DOUBLE))],
    Case("Cholesky", _on_positive(linalg.logdet), lambda x: np.linalg.slogdet(_positive_np(x))[1], ((3, 3),), rtol=1e-9,
         note="logdet"),
    # Functions of matrices.
    Case("MatrixExponential", linalg.expm, _each(scipy.linalg.expm), ((2, 3, 3),), rtol=1e-9, dtypes=SINGLE),
    Case("MatrixExponential", linalg.expm, scipy.linalg.expm, (_z(2, 2),), rtol=1e-9, dtypes=DOUBLE),
    Case("MatrixLogarithm", linalg.logm, _each(scipy.linalg.logm), (_stable(3, 3) + 0.3j * RNG.randn(3, 3),), rtol=1e-8,
         dtypes=DOUBLE),
    Case("MatrixLogarithm", linalg.logm, _each(scipy.linalg.logm), (_stable(2, 2)[None] + 0j,), rtol=1e-8, dtypes=(), order=3,
         note="third"),
    Case("MatrixSquareRoot", linalg.sqrtm, _each(scipy.linalg.sqrtm), (_stable(3, 3),), rtol=1e-8, dtypes=SINGLE),
    Case("MatrixSquareRoot", linalg.sqrtm, _each(scipy.linalg.sqrtm), (_stable(2, 2)[None] + 0.2j,), rtol=1e-8, dtypes=DOUBLE),
    # Tridiagonal and banded.
    Case("TridiagonalSolve", linalg.tridiagonal_solve, lambda d, y: np.linalg.solve(_tridiagonal(d), y),
         (DIAGONALS, (4, 2)), dtypes=SINGLE, rtol=1e-9, unknown="rank"),
    Case("TridiagonalSolve", linalg.tridiagonal_solve, lambda d, y: np.linalg.solve(_tridiagonal(d), y),
         (DIAGONALS, (4,)), rtol=1e-9, note="vector", unknown="rank"),
    Case("TridiagonalSolve", lambda a, b, c, y: linalg.tridiagonal_solve([a, b, c], y, diagonals_format="sequence"),
         lambda a, b, c, y: np.linalg.solve(np.diag(a, 1) + np.diag(b) + np.diag(c, -1), y),
         ((3,), np.array([4.0, 5, 4, 6]), (3,), (4, 2)), rtol=1e-9, note="sequence", unknown=False),
    Case("TridiagonalSolve", lambda m, y: linalg.tridiagonal_solve(m, y, diagonals_format="matrix"),
         lambda m, y: np.linalg.solve(np.triu(np.tril(m, 1), -1), y), (_m(4, 4) + 3 * np.eye(4), (4, 2)), rtol=1e-9,
         note="matrix", unknown="rank"),
    Case("TridiagonalSolve", linalg.tridiagonalsolve_op, lambda d, y: np.linalg.solve(_tridiagonal(d), y),
         (np.stack([DIAGONALS, DIAGONALS + 0.1]), (2, 4, 2)), rtol=1e-9, note="op"),
    Case("TridiagonalMatMul", linalg.tridiagonal_matmul, lambda d, y: _tridiagonal(d) @ y, (DIAGONALS, (4, 2)), dtypes=SINGLE,
         unknown="rank"),
    Case("TridiagonalMatMul", linalg.tridiagonalmatmul_op,
         lambda a, b, c, y: _tridiagonal(np.concatenate([a, b, c], -2)) @ y, (*T, (4, 2)), note="op"),
    *[Case("BandedTriangularSolve", linalg.banded_triangular_solve,
           lambda d, y, lower, adjoint: np.linalg.solve(_adj(_bands(d, lower), adjoint), y),
           (np.abs(RNG.randn(2, 4)) + (np.array([[4.0], [0]]) if lower else np.array([[0], [4.0]])), (4, 2)),
           {"lower": lower, "adjoint": adj}, dtypes=(), note=f"{lower}-{adj}", rtol=1e-9)
      for lower in ADJOINT for adj in ADJOINT],
    # Vectors, norms and shapes.
    Case("Cross", linalg.cross, np.cross, (V3, V3), dtypes=("float16", "float32", "int32")),
    Case("Sum", linalg.trace, lambda x: np.trace(x, axis1=-2, axis2=-1), ((2, 3, 3),), note="trace", dtypes=("float32", "int32")),
    Case("Sum", linalg.trace, lambda x: np.trace(x, axis1=-2, axis2=-1), ((2, 4),), note="trace wide"),
    Case("ConjugateTranspose", linalg.adjoint, _h, (_z(2, 3, 4),), dtypes=DOUBLE),
    *[Case("Squeeze", linalg.matvec, lambda a, y, transpose_a: (np.swapaxes(a, -1, -2) if transpose_a else a) @ y,
           ((3, 3), (3,)), {"transpose_a": t}, note=f"matvec-{t}", unknown="rank") for t in ADJOINT],
    *[Case("EuclideanNorm", linalg.norm, lambda x, axis=None, keepdims=False: np.asarray(
           np.sqrt((x * x).sum(tuple(axis) if isinstance(axis, list) else axis, keepdims=keepdims))), ((3, 4),),
           {"axis": axis, "keepdims": keep}, note=f"norm-{axis}-{keep}".replace(" ", ""))
      for axis in (None, 0, -1, [0, 1]) for keep in ADJOINT],
    *[Case("Max" if o == np.inf else "Sum", linalg.norm, lambda x, ord, axis, keepdims: np.linalg.norm(
           x, ord, tuple(axis) if isinstance(axis, list) else axis, keepdims), ((3, 4),),
           {"ord": o, "axis": axis, "keepdims": keep}, low=0.2, note=f"norm-{o}-{axis}-{keep}".replace(" ", ""))
      for o, axis in ((1, 1), (3, 0), (2.5, 1), (np.inf, 1), (1, [0, 1]), (np.inf, [0, 1])) for keep in ADJOINT],
    *[Case("Svd", linalg.norm, lambda x, ord, axis, keepdims: np.linalg.norm(x, ord, tuple(axis), keepdims), ((3, 2, 4),),
           {"ord": 2, "axis": axis, "keepdims": keep}, note=f"norm-2-{axis}-{keep}".replace(" ", ""), unknown="rank", rtol=1e-9)
      for axis in ([0, 2], [-1, -2]) for keep in ADJOINT],
    Case("RealDiv", linalg.normalize, lambda x, axis: (x / np.linalg.norm(x, axis=axis, keepdims=True),
         np.linalg.norm(x, axis=axis, keepdims=True)), ((3, 4),), {"axis": 1}, note="normalize"),
    Case("Svd", linalg.pinv, np.linalg.pinv, (_m(2, 4, 3),), note="pinv", rtol=1e-8, dtypes=SINGLE, unknown="rank"),
    Case("Svd", linalg.pinv, np.linalg.pinv, (_z(2, 3),), note="pinv complex", rtol=1e-8, dtypes=DOUBLE, unknown="rank"),
    Case("Svd", linalg.matrix_rank, lambda x: np.linalg.matrix_rank(x).astype(np.int32),
         (np.array([[[1.0, 2], [2, 4]], [[1, 0], [0, 1]]]),), note="rank", derivatives=False, unknown="rank"),
    Case("SelfAdjointEigV2", linalg.eigh_tridiagonal, lambda a, c: scipy.linalg.eigh_tridiagonal(a, c, eigvals_only=True),
         ((4,), (3,)), low=0.5, rtol=1e-9, note="tridiagonal"),
    # Decided derivatives.
    Edge("MatrixDeterminant", linalg.matrix_determinant, ([[1.0, 2], [2, 4]],), ([[4, -2], [-2, 1]],), note="singular"),
    Edge("MatrixDeterminant", linalg.matrix_determinant, ([[1.0, 0, 0], [0, 1, 0], [0, 0, 0]],),
         ([[0, 0, 0], [0, 0, 0], [0, 0, 1]],), note="singular 3"),
    # Equal values: finite, and right for the values and for the subspaces they share.
    Edge("Svd", lambda x: linalg.svd(x)[0], (np.eye(2),), (np.eye(2),), second=(np.zeros((2, 2)),), note="equal values"),
    Edge("Svd", lambda x: linalg.svd(x, compute_uv=False), (2 * np.eye(2),), (np.eye(2),), note="equal values alone"),
    Edge("SelfAdjointEigV2", lambda x: linalg.self_adjoint_eig(x)[0], (np.eye(2),), (np.eye(2),), note="equal values"),
    Edge("SelfAdjointEigV2", _projector, (np.diag([1.0, 1, 3]),), ([[0, 0, 0], [0, 0, 0], [-1, -1, 0]],),
         note="subspace of equal values"),
    Edge("EuclideanNorm", linalg.norm, ([0.0, 0],), ([0, 0],), note="norm at 0"),
    Edge("Cholesky", lambda x: linalg.cholesky(x)[1, 0], ([[4.0, 2], [2, 3]],), ([[-0.125, 0.25], [0.25, 0]],),
         note="gradient is symmetric"),
    # Refusals.
    Bad("MatrixInverse", lambda: linalg.matrix_inverse(np.zeros((2, 3))), ValueError, "must be square"),
    Bad("MatrixInverse", lambda: linalg.matrix_inverse(np.zeros(3)), ValueError, "at least rank 2"),
    Bad("MatrixInverse", lambda: linalg.matrix_inverse(np.eye(2, dtype=int)), TypeError, "int64 not in list"),
    Bad("MatrixSolve", lambda: linalg.matrix_solve(np.eye(3), np.zeros((2, 2))), ValueError, "numbers of rows"),
    Bad("MatrixSolveLs", lambda: linalg.matrix_solve_ls(np.zeros((3, 2)), np.zeros((2, 2))), ValueError, "numbers of rows"),
    Bad("Cross", lambda: linalg.cross(np.zeros((2, 2)), np.zeros((2, 2))), ValueError, "size 3"),
    Bad("TridiagonalSolve", lambda: linalg.tridiagonal_solve(np.zeros((2, 4)), np.zeros((4, 1))), ValueError, "3 rows"),
    Bad("TridiagonalSolve", lambda: linalg.tridiagonal_solve(np.eye(3), np.zeros((3, 1)), diagonals_format="other"), ValueError,
        "Unrecognized diagonals_format"),
    Bad("EuclideanNorm", lambda: linalg.norm(np.zeros(3), ord="other"), ValueError, "'ord' must be"),
    Bad("EuclideanNorm", lambda: linalg.norm(np.zeros((3, 3)), ord=3, axis=[0, 1]), ValueError, "supported matrix norm"),
    Bad("EuclideanNorm", lambda: linalg.norm(np.zeros((3, 3)), axis=[0, 0]), ValueError, "unique integers"),
    Bad("Svd", lambda: linalg.pinv(np.eye(2, dtype=int)), TypeError, "float"),
]
