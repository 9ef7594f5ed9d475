"""Linear algebra on batches of matrices. Gradients: `linalg_grad.py`.

LAPACK computes them, XLA's or NumPy's, but for the matrix logarithm and square root, which XLA lacks: those are host steps
that SciPy, a dependency of JAX, computes. What has a choice of signs, singular vectors and eigenvectors, is always XLA's, so
that it is the same in every run. A matrix that cannot be inverted or factored stops the run; inside a compiled
loop or branch it gives NaN or infinity. Conventions are TF's: `svd` gives s, u, v (not v's adjoint), `adjoint=True` means
the conjugate transpose, Cholesky and the symmetric eigenproblem read the lower triangle only.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import COMPLEX, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Refusal, Spec, define_op, rank_at_least, spec_text
from regrad.core.shapes import broadcast, compatible, merge
from regrad.ops import array, compare, diag, indexing, layout, math, reduce
from regrad.ops import complex as complex_
from regrad.ops.array import expand_dims, matrix_transpose, squeeze
from regrad.ops.complex import conj
from regrad.ops.diag import matrix_diag_part
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_sum

_TYPES = {"T": frozenset((dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128))}


# -- shape rules ---------------------------------------------------------------------------------
def _matrix(x, what="input"):
    """Returns dims with at least two entries for a tensor of matrices (None: nothing is known)."""
    rank_at_least(x, 2, what)
    return x.dims


def _square(x, what="input"):
    dims = _matrix(x, what)
    if dims is None:
        return None
    n = merge(dims[-1:], dims[-2:-1], f"{what} must be square, but is {spec_text(x)}:")
    return dims[:-2] + n + n


def _square_like(x, **attrs):
    return Spec(_square(x), x.dtype)


def _adjoint(b, x):
    return b.np.conj(b.np.swapaxes(x, -1, -2))


def _host_scipy(op_type, name, types):
    """Defines a function of square matrices that `scipy.linalg.<name>` computes between compiled segments."""

    def lower(b, x):
        import scipy.linalg

        out = np.empty(x.shape, x.dtype)
        for i in np.ndindex(x.shape[:-2]):
            wide = x[i].astype(np.complex128 if x.dtype.kind == "c" else np.float64)
            y = getattr(scipy.linalg, name)(wide) if x.shape[-1] else wide
            if x.dtype.kind != "c" and np.iscomplexobj(y):
                # A real matrix may have a complex result; TF's op has the input's dtype, and no room for it.
                y = y.real if np.allclose(y.imag, 0) else np.full_like(y.real, np.nan)
            out[i] = y
        return out

    return define_op(op_type, "input", infer=_square_like, types={"T": types}, host=True, lower=lower)


def _not_finite(b, result, *operands, **attrs):
    """True when finite matrices gave NaN or infinity: there is no inverse."""
    bad = ~b.np.all(b.np.isfinite(result))
    for x in operands:
        bad = bad & b.np.all(b.np.isfinite(x))
    return bad


def _zero_on_diagonal(b, result, a, *rest, **attrs):
    return b.np.diagonal(a, axis1=-2, axis2=-1) == 0


# -- inverse and solutions -----------------------------------------------------------------------
def _or_nan(function, *xs):
    """Returns `function` of matrices with equal batch axes; NaN for those that NumPy refuses, as XLA has it."""
    try:
        return function(*xs)
    except np.linalg.LinAlgError:
        batch = xs[0].shape[:-2]
        if not batch:
            return np.full_like(xs[-1], np.nan)
        rows = [_or_nan(function, *(x[i] for x in xs)) for i in np.ndindex(batch)]
        return np.stack(rows).reshape(batch + rows[0].shape)


matrixinverse_op = define_op("MatrixInverse", "input", attrs={"adjoint": False}, types=_TYPES, infer=_square_like,
                             lower=lambda b, x, *, adjoint: _or_nan(b.np.linalg.inv, _adjoint(b, x) if adjoint else x))


def _batched(b, x, y):
    """Returns two tensors of matrices with their batch axes broadcast."""
    batch = b.np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return b.np.broadcast_to(x, batch + x.shape[-2:]), b.np.broadcast_to(y, batch + y.shape[-2:])


def _solve_infer(matrix, rhs, **attrs):
    a, y = _square(matrix, "matrix"), _matrix(rhs, "rhs")
    if a is None or y is None:
        return Spec(None if y is None else (None,) * len(y), rhs.dtype)
    n = merge(a[-1:], y[-2:-1], f"matrix is {spec_text(matrix)} and rhs {spec_text(rhs)}: their numbers of rows")
    return Spec(broadcast(a[:-2], y[:-2]) + n + y[-1:], rhs.dtype)


def _solve_lower(b, a, y, *, adjoint):
    a, y = _batched(b, a, y)
    return _or_nan(b.np.linalg.solve, _adjoint(b, a) if adjoint else a, y)


def _substituted(a, y, lower):
    """Returns the solution of a triangular system by substitution, half by half, then by rows: what is exactly 0 stays so."""
    n = a.shape[-1]
    if n > 32:
        first, then = (slice(n // 2), slice(n // 2, n)) if lower else (slice(n // 2, n), slice(n // 2))
        x = _substituted(a[..., first, first], y[..., first, :], lower)
        rest = _substituted(a[..., then, then], y[..., then, :] - np.matmul(a[..., then, first], x), lower)
        return np.concatenate([x, rest] if lower else [rest, x], axis=-2)
    x = np.empty_like(y)
    for i in range(n) if lower else reversed(range(n)):
        done = slice(i) if lower else slice(i + 1, n)
        known = np.matmul(a[..., i:i + 1, done], x[..., done, :])[..., 0, :]
        x[..., i, :] = (y[..., i, :] - known) / a[..., i, i, None]
    return x


def _triangular_lower(b, a, y, *, lower, adjoint):
    a, y = _batched(b, a, y)
    if b.is_host:
        return _substituted(_adjoint(b, a) if adjoint else a, y, lower != adjoint)
    return b.lax.linalg.triangular_solve(a, y, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint)


matrixsolve_op = define_op("MatrixSolve", "matrix, rhs", attrs={"adjoint": False}, types=_TYPES, infer=_solve_infer,
                           lower=_solve_lower)
matrixtriangularsolve_op = define_op("MatrixTriangularSolve", "matrix, rhs", attrs={"lower": True, "adjoint": False},
                                     types=_TYPES, infer=_solve_infer, lower=_triangular_lower)
matrixinverse_op.declare(refusal=Refusal("Input is not invertible.", _not_finite))
matrixsolve_op.declare(refusal=Refusal("Input matrix is not invertible.", _not_finite))
matrixtriangularsolve_op.declare(refusal=Refusal("Input matrix is not invertible.", _zero_on_diagonal))


def matrix_inverse(input, adjoint=False, name=None):
    """Returns the inverse of each matrix in `input` ([..., n, n]), or of its adjoint.

    Raises:
      InvalidArgumentError: (when run) there is none.
      ShapeError: (a ValueError) the matrices are not square.
    """
    return matrixinverse_op(input, adjoint=adjoint, name=name)


def matrix_solve(matrix, rhs, adjoint=False, name=None):
    """Returns x with matrix x = rhs, for `matrix` [..., n, n] and `rhs` [..., n, k]; with its adjoint on request."""
    return matrixsolve_op(matrix, rhs, adjoint=adjoint, name=name)


def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
    """Returns x with matrix x = rhs, reading only the lower (or upper) triangle of `matrix`.

    Args:
      matrix: [..., n, n].
      rhs: [..., n, k]; batch axes broadcast.
      lower: which triangle holds the matrix.
      adjoint: solve with the adjoint of that triangle.
    """
    return matrixtriangularsolve_op(matrix, rhs, lower=lower, adjoint=adjoint, name=name)


# -- least squares ---------------------------------------------------------------------------------
def _lstsq_infer(matrix, rhs, l2_regularizer, *, fast):
    a, y = _matrix(matrix, "matrix"), _matrix(rhs, "rhs")
    if a is None or y is None:
        return Spec(None if y is None else (None,) * len(y), rhs.dtype)
    merge(a[-2:-1], y[-2:-1], f"matrix is {spec_text(matrix)} and rhs {spec_text(rhs)}: their numbers of rows")
    batch = merge(a[:-2], y[:-2], "the batch axes of matrix and rhs,")
    return Spec(batch + (a[-1], y[-1]), rhs.dtype)


def _lstsq_lower(b, a, y, l2, *, fast):
    if not fast:
        return b.np.matmul(b.np.linalg.pinv(a), y)
    m, n = a.shape[-2:]
    ah = _adjoint(b, a)
    gram = b.np.matmul(ah, a) if m >= n else b.np.matmul(a, ah)
    gram = gram + l2.astype(a.dtype) * b.np.eye(min(m, n), dtype=a.dtype)
    if m >= n:
        return b.np.linalg.solve(gram, b.np.matmul(ah, y))
    return b.np.matmul(ah, b.np.linalg.solve(gram, y))


matrixsolvels_op = define_op("MatrixSolveLs", "matrix: T, rhs: T, l2_regularizer: float64", attrs={"fast": True},
                             types=_TYPES, infer=_lstsq_infer, xla_only=True, lower=_lstsq_lower)


def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """Returns the x that minimises |matrix x - rhs|^2 + l2_regularizer |x|^2; the least one if there are many.

    Args:
      matrix: [..., m, n].
      rhs: [..., m, k].
      l2_regularizer: a number.
      fast: solve the normal equations; otherwise use the pseudo-inverse, which needs no full rank (and, as in TF,
        ignores `l2_regularizer`).

    Returns:
      [..., n, k].
    """
    return matrixsolvels_op(matrix, rhs, convert_to_tensor(l2_regularizer, dtypes.float64), fast=fast,
                            name=name or "matrix_solve_ls")


# -- factorisations ------------------------------------------------------------------------------
def _has_nan(b, x):
    """Returns for each matrix whether NaN is among its elements."""
    return b.np.any(b.np.isnan(x), (-2, -1))


def _lower_half(b, x):
    """Returns the Hermitian matrix whose lower triangle is that of `x`."""
    low = b.np.tril(x, -1)
    diagonal = b.np.real(x) if x.dtype.kind == "c" else x
    return low + _adjoint(b, low) + b.np.eye(x.shape[-1], dtype=x.dtype) * diagonal


def _cholesky_lower(b, x):
    if b.is_host:
        return _or_nan(np.linalg.cholesky, _lower_half(b, x))
    return b.lax.linalg.cholesky(_lower_half(b, x), symmetrize_input=False)


cholesky_op = define_op("Cholesky", "input", types=_TYPES, infer=_square_like, lower=_cholesky_lower)
cholesky_op.declare(refusal=Refusal("Cholesky decomposition was not successful. The input might not be valid.",
                                    lambda b, result, x: _has_nan(b, result) & ~_has_nan(b, b.np.tril(x))))
cholesky_op.declare(symmetric=True)  # its gradient is meant for inputs that stay Hermitian; an audit moves them so


def cholesky(input, name=None):
    """Returns the lower triangular L with L L^H = input, for each Hermitian positive-definite matrix.

    Only the lower triangle of `input` is read. The gradient is Hermitian, as the input is.
    """
    return cholesky_op(input, name=name)


def cholesky_solve(chol, rhs, name=None):
    """Returns x with A x = rhs, given `chol`, the Cholesky factor of A."""
    with get_default_graph().name_scope(name or "cholesky_solve"):
        y = matrix_triangular_solve(chol, rhs, lower=True)
        return matrix_triangular_solve(chol, y, lower=True, adjoint=True)


def _qr_infer(x, *, full_matrices):
    dims = _matrix(x)
    if dims is None:
        return [Spec(None, x.dtype), Spec(None, x.dtype)]
    batch, m, n = dims[:-2], dims[-2], dims[-1]
    k = m if full_matrices else None if m is None or n is None else min(m, n)
    return [Spec((*batch, m, k), x.dtype), Spec((*batch, k, n), x.dtype)]


def _qr_lower(b, x, *, full_matrices):
    m, n = x.shape[-2:]
    if m < n:
        # The first m columns make Q, and the others follow by its adjoint: a form that is differentiable.
        q, r = b.np.linalg.qr(x[..., :m])
        return q, b.np.concatenate([r, b.np.matmul(_adjoint(b, q), x[..., m:])], -1)
    if full_matrices and m > n:
        return np.linalg.qr(x, mode="complete") if b.is_host else _full_qr(b)(x)
    return b.np.linalg.qr(x, mode="reduced")


def _full_qr(b):
    """Returns the function x -> (square Q, R above zeros) with its derivative.

    The columns beyond rank n may be turned among themselves at will; of all derivatives they might have, they get the
    one that only keeps them orthogonal to the others: dQ2 = -Q1 dQ1^H Q2.
    """

    @b.jax.custom_jvp
    def qr(x):
        return tuple(b.np.linalg.qr(x, mode="complete"))

    @qr.defjvp
    def derivative(primals, tangents):
        (x,), (dx,) = primals, tangents
        n = x.shape[-1]
        q, r = qr(x)
        q1, q2 = q[..., :n], q[..., n:]
        _, (dq1_inside, dr1) = b.jax.jvp(lambda x: tuple(b.np.linalg.qr(x)), (x,), (dx,))
        dq2 = -b.np.matmul(q1, b.np.matmul(_adjoint(b, dq1_inside), q2))
        dr = b.np.concatenate([dr1, b.np.zeros_like(r[..., n:, :])], -2)
        return (q, r), (b.np.concatenate([dq1_inside, dq2], -1), dr)

    return qr


qr_op = define_op("Qr", "input", attrs={"full_matrices": False}, types=_TYPES, infer=_qr_infer, lower=_qr_lower)


def qr(input, full_matrices=False, name=None):
    """Returns (q, r): q with orthonormal columns and r upper triangular, q r = input, for each matrix [..., m, n].

    Args:
      input: tensor of matrices.
      full_matrices: q is [m, m] and r [m, n]; otherwise [m, p] and [p, n] with p = min(m, n).

    Gradient: any shape; the extra columns of a full q are taken to turn no more than they must.
    """
    return qr_op(input, full_matrices=full_matrices, name=name)


def _gap_inverse(b, x):
    """Returns 1 / x, and 0 where |x| is no more than rounding of the largest: equal values have no gap."""
    limit = 10 * np.finfo(x.dtype).eps * b.np.max(b.np.abs(x), axis=(-2, -1), keepdims=True, initial=0)
    equal = b.np.abs(x) <= limit
    return b.np.where(equal, x.dtype.type(0), 1 / b.np.where(equal, x.dtype.type(1), x))


def _svd_infer(x, *, compute_uv, full_matrices):
    dims = _matrix(x)
    real = x.dtype.real_dtype
    s_type = x.dtype if not x.dtype.is_complex else real
    empty = Spec((0,), x.dtype)
    if dims is None:
        return [Spec(None, s_type), *([Spec(None, x.dtype)] * 2 if compute_uv else [empty] * 2)]
    batch, m, n = dims[:-2], dims[-2], dims[-1]
    k = None if m is None or n is None else min(m, n)
    if not compute_uv:
        return [Spec((*batch, k), s_type), empty, empty]
    p, q = (m, n) if full_matrices else (k, k)
    return [Spec((*batch, k), s_type), Spec((*batch, m, p), x.dtype), Spec((*batch, n, q), x.dtype)]


def _svd_function(b, full):
    """Returns the function x -> (s, u, v) with its derivative, to all orders.

    With Y = U^H dX V: ds = diag(Y), and U turns by the Hermitian part of Y S over the gaps s_j^2 - s_i^2, V by that of
    S Y. Terms of equal values, between which the vectors may be turned at will, are 0. Columns of full factors beyond the
    values turn no more than they must.
    """
    np_ = b.np

    @b.jax.custom_jvp
    def svd(x):
        u, s, vh = np_.linalg.svd(x, full_matrices=full)
        return s, u, _adjoint(b, vh)

    @svd.defjvp
    def derivative(primals, tangents):
        (x,), (dx,) = primals, tangents
        s, u, v = svd(x)
        k = s.shape[-1]
        u1, v1 = u[..., :k], v[..., :k]
        y = np_.matmul(_adjoint(b, u1), np_.matmul(dx, v1))
        ds = np_.real(np_.diagonal(y, axis1=-2, axis2=-1))
        row, column = s[..., None, :], s[..., :, None]
        f = _gap_inverse(b, (row - column) * (row + column)).astype(y.dtype)
        ys, sy = y * row.astype(y.dtype), column.astype(y.dtype) * y
        turn_u = f * (ys + _adjoint(b, ys))
        turn_v = f * (sy + _adjoint(b, sy))
        zero = s == 0
        s_inverse = (np_.where(zero, 0, 1) / np_.where(zero, 1, s)).astype(s.dtype)[..., None, :].astype(y.dtype)
        if y.dtype.kind == "c":
            # One phase per pair of vectors is free; it goes to u.
            phase = (y - _adjoint(b, y)) / 2 * np_.eye(k, dtype=y.dtype) * s_inverse
            turn_u = turn_u + phase
        du, dv = np_.matmul(u1, turn_u), np_.matmul(v1, turn_v)
        outside_u = np_.matmul(dx, v1) - np_.matmul(u1, y)
        outside_v = np_.matmul(_adjoint(b, dx), u1) - np_.matmul(v1, _adjoint(b, y))
        if x.shape[-2] > k:
            du = du + outside_u * s_inverse
        if x.shape[-1] > k:
            dv = dv + outside_v * s_inverse
        if u.shape[-1] > k:
            du = np_.concatenate([du, -np_.matmul(u1, np_.matmul(_adjoint(b, du), u[..., k:]))], -1)
        if v.shape[-1] > k:
            dv = np_.concatenate([dv, -np_.matmul(v1, np_.matmul(_adjoint(b, dv), v[..., k:]))], -1)
        return (s, u, v), (ds, du, dv)

    return svd


def _svd_lower(b, x, *, compute_uv, full_matrices):
    # Singular values alone have a derivative that needs the vectors, but no gaps between values.
    s, u, v = _svd_function(b, full_matrices and compute_uv)(x)
    if compute_uv:
        return s, u, v
    return s, b.np.zeros((0,), x.dtype), b.np.zeros((0,), x.dtype)


svd_op = define_op("Svd", "input", attrs={"compute_uv": True, "full_matrices": False}, types=_TYPES, infer=_svd_infer,
                   xla_only=True, lower=_svd_lower)


def svd(tensor, full_matrices=False, compute_uv=True, name=None):
    """Returns the singular value decomposition of each matrix: tensor = u diag(s) v^H.

    Args:
      tensor: [..., m, n].
      full_matrices: u is [m, m] and v [n, n]; otherwise [m, p] and [n, p] with p = min(m, n).
      compute_uv: otherwise only s is returned.

    Returns:
      (s, u, v), or s: s [..., p] real, largest first; v itself, not its adjoint (NumPy gives the adjoint).

    Gradient: all shapes. Where values are equal it leaves out the turn of their vectors towards one another, which has
    no derivative: it is finite, and right for functions of the values and of the subspaces of equal ones.
    """
    with get_default_graph().name_scope(name or "svd") as scope:
        s, u, v = svd_op(tensor, compute_uv=bool(compute_uv), full_matrices=bool(full_matrices), name=scope)
        return (s, u, v) if compute_uv else s


def _eigh_infer(x, *, compute_v):
    dims = _square(x)
    e = Spec(None if dims is None else dims[:-1], x.dtype)
    return [e, Spec(dims if compute_v else (0,), x.dtype)]


def _eigh_function(b):
    """Returns the function x -> (values, vectors) with its derivative: de = diag(V^H dX V), V turns by it over the gaps."""
    np_ = b.np

    @b.jax.custom_jvp
    def eigh(x):
        v, e = b.lax.linalg.eigh(x, lower=True, symmetrize_input=False)
        return e, v

    @eigh.defjvp
    def derivative(primals, tangents):
        (x,), (dx,) = primals, tangents
        e, v = eigh(x)
        y = np_.matmul(_adjoint(b, v), np_.matmul(dx, v))
        f = _gap_inverse(b, e[..., None, :] - e[..., :, None]).astype(y.dtype)
        return (e, v), (np_.real(np_.diagonal(y, axis1=-2, axis2=-1)), np_.matmul(v, f * y))

    return eigh


def _eigh_lower(b, x, *, compute_v):
    e, v = _eigh_function(b)(_lower_half(b, x))
    finite = b.np.all(b.np.isfinite(b.np.tril(x)), (-2, -1))
    e = b.np.where(finite[..., None], e, np.nan)  # LAPACK gives any numbers for a matrix with NaN
    e = e.astype(x.dtype)  # real, but of the input's dtype, as in TF
    return e, v if compute_v else b.np.zeros((0,), x.dtype)


selfadjointeig_op = define_op("SelfAdjointEigV2", "input", attrs={"compute_v": True}, types=_TYPES, infer=_eigh_infer,
                              xla_only=True, lower=_eigh_lower)
for _op in (matrixinverse_op, matrixsolve_op, matrixtriangularsolve_op, cholesky_op, qr_op, svd_op, selfadjointeig_op):
    _op.declare(cost="heavy")
selfadjointeig_op.declare(refusal=Refusal(
    "Self-adjoint eigen decomposition was not successful. The input might not be valid.",
    lambda b, result, x, compute_v: b.np.isnan(result[0])))


def self_adjoint_eig(tensor, name=None):
    """Returns (e, v): eigenvalues, ascending and real (in the dtype of the input), and eigenvectors as columns.

    Only the lower triangle of `tensor` is read, and only there the gradient is not 0. Where values are equal it leaves out
    the turn of their vectors towards one another, as that of `svd` does.
    """
    return tuple(selfadjointeig_op(tensor, compute_v=True, name=name))


def self_adjoint_eigvals(tensor, name=None):
    """Returns the eigenvalues, ascending and real (in the dtype of the input), of each Hermitian matrix [..., n, n]."""
    return selfadjointeig_op(tensor, compute_v=False, name=name)[0]


def _eig_infer(x, *, compute_v, Tout):
    dims = _square(x)
    return [Spec(None if dims is None else dims[:-1], Tout), Spec(dims if compute_v else (0,), Tout)]


def _eig_lower(b, x, *, compute_v, Tout):
    e, v = b.lax.linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)
    e, v = e.astype(Tout.as_numpy_dtype), v.astype(Tout.as_numpy_dtype)
    return e, v if compute_v else b.np.zeros((0,), v.dtype)


eig_op = define_op("Eig", "input", attrs={"compute_v": True, "Tout": None}, types=_TYPES, infer=_eig_infer,
                   xla_only=True, lower=_eig_lower)


def _complex_type(x):
    return dtypes.complex128 if x.dtype in (dtypes.float64, dtypes.complex128) else dtypes.complex64


def eig(tensor, name=None):
    """Returns (e, v), both complex: eigenvalues and eigenvectors, as columns of norm 1, of each square matrix."""
    x = convert_to_tensor(tensor)
    return tuple(eig_op(x, compute_v=True, Tout=_complex_type(x), name=name))


def eigvals(tensor, name=None):
    """Returns the complex eigenvalues of each square matrix."""
    x = convert_to_tensor(tensor)
    return eig_op(x, compute_v=False, Tout=_complex_type(x), name=name)[0]


def _lu_infer(x, *, output_idx_type):
    dims = _square(x)
    return [Spec(dims, x.dtype), Spec(None if dims is None else dims[:-1], output_idx_type)]


def _lu_lower(b, x, *, output_idx_type):
    factors, _, permutation = b.lax.linalg.lu(x)
    return factors, permutation.astype(output_idx_type.as_numpy_dtype)


lu_op = define_op("Lu", "input", attrs={"output_idx_type": dtypes.int32}, types=_TYPES, infer=_lu_infer, xla_only=True,
                  lower=_lu_lower)
lu_op.declare(refusal=Refusal("Input is not invertible.", lambda b, result, x, *, output_idx_type: b.np.logical_not(
    abs(b.np.diagonal(result[0], axis1=-2, axis2=-1)) > 0)))


def lu(input, output_idx_type=dtypes.int32, name=None):
    """Returns (lu, p): the factors of each square matrix packed into one, L below the diagonal (its own is 1), U on and
    above it, and the permutation with which input[p] = L U."""
    return tuple(lu_op(input, output_idx_type=as_dtype(output_idx_type), name=name))


# -- determinants ----------------------------------------------------------------------------------
def _without_matrix(x, count):
    dims = _square(x)
    return [Spec(None if dims is None else dims[:-2], x.dtype)] * count


matrixdeterminant_op = define_op("MatrixDeterminant", "input", types=_TYPES,
                                 infer=lambda x: _without_matrix(x, 1)[0],
                                 lower=lambda b, x: b.np.linalg.det(x) if x.shape[-1] else
                                 b.np.ones(x.shape[:-2], x.dtype))


def _slogdet_lower(b, x):
    if not x.shape[-1]:
        return b.np.ones(x.shape[:-2], x.dtype), b.np.zeros(x.shape[:-2], x.dtype)
    sign, log = b.np.linalg.slogdet(x)
    return sign.astype(x.dtype), log.astype(x.dtype)


logmatrixdeterminant_op = define_op("LogMatrixDeterminant", "input", types=_TYPES,
                                    infer=lambda x: _without_matrix(x, 2), lower=_slogdet_lower)


def matrix_determinant(input, name=None):
    """Returns the determinant of each square matrix [..., n, n]. The gradient is right for singular ones too."""
    return matrixdeterminant_op(input, name=name)


def slogdet(input, name=None):
    """Returns (sign, log_abs_determinant) of each square matrix: the determinant is sign exp(log_abs_determinant)."""
    return tuple(logmatrixdeterminant_op(input, name=name))


def logdet(matrix, name=None):
    """Returns the logarithm of the determinant of each Hermitian positive-definite matrix."""
    with get_default_graph().name_scope(name or "logdet"):
        diagonal = complex_.real(diag.matrix_diag_part(cholesky(matrix)))
        return 2.0 * reduce.reduce_sum(math.log(diagonal), axis=[-1])


# -- functions of matrices ---------------------------------------------------------------------------
matrixexponential_op = define_op("MatrixExponential", "input", types=_TYPES, infer=_square_like, xla_only=True,
                                 lower=lambda b, x: b.jax.scipy.linalg.expm(x) if x.size else x)
matrixlogarithm_op = _host_scipy("MatrixLogarithm", "logm", COMPLEX)
matrixsquareroot_op = _host_scipy("MatrixSquareRoot", "sqrtm", _TYPES["T"])


def expm(input, name=None):
    """Returns the matrix exponential of each square matrix."""
    return matrixexponential_op(input, name=name or "matrix_exponential")


def logm(input, name=None):
    """Returns the principal matrix logarithm of each square complex matrix; a host step."""
    return matrixlogarithm_op(input, name=name)


def sqrtm(input, name=None):
    """Returns the principal matrix square root of each square matrix; a host step. NaN where it would not be real."""
    return matrixsquareroot_op(input, name=name)


# -- tridiagonal and banded matrices ---------------------------------------------------------------
def _tridiagonal_solve_infer(diagonals, rhs, *, partial_pivoting):
    d, y = _matrix(diagonals, "diagonals"), _matrix(rhs, "rhs")
    if d is not None and d[-2] not in (None, 3):
        raise ShapeError(f"diagonals must have 3 rows (above, on and below the diagonal), but is {spec_text(diagonals)}")
    if d is not None and y is not None:
        merge(d[-1:], y[-2:-1], "the number of columns of diagonals and of rows of rhs,")
        merge(d[:-2], y[:-2], "the batch axes of diagonals and rhs,")
    return Spec(y, rhs.dtype)


def _tridiagonal_solve_lower(b, d, y, *, partial_pivoting):
    n = d.shape[-1]
    above, on, below = d[..., 0, :], d[..., 1, :], d[..., 2, :]
    # The two corners outside the matrix are read as 0, whatever they hold.
    above = b.np.where(np.arange(n) < n - 1, above, b.np.zeros_like(above))
    below = b.np.where(np.arange(n) > 0, below, b.np.zeros_like(below))
    return b.lax.linalg.tridiagonal_solve(below, on, above, y) if n else y


tridiagonalsolve_op = define_op("TridiagonalSolve", "diagonals, rhs", attrs={"partial_pivoting": True}, types=_TYPES,
                                infer=_tridiagonal_solve_infer, xla_only=True, lower=_tridiagonal_solve_lower)


def _tridiagonal_matmul_infer(above, on, below, rhs):
    for x, what in ((above, "superdiag"), (on, "maindiag"), (below, "subdiag")):
        dims = _matrix(x, what)
        if dims is not None and dims[-2] not in (None, 1):
            raise ShapeError(f"{what} must have one row, but is {spec_text(x)}")
    return Spec(_matrix(rhs, "rhs"), rhs.dtype)


def _tridiagonal_matmul_lower(b, above, on, below, y):
    above, on, below = (b.np.swapaxes(d, -1, -2) for d in (above, on, below))
    zero = b.np.zeros_like(y[..., :1, :])
    up = b.np.concatenate([y[..., 1:, :], zero], -2)[..., :y.shape[-2], :]
    down = b.np.concatenate([zero, y[..., :-1, :]], -2)[..., :y.shape[-2], :]
    return above * up + on * y + below * down


tridiagonalmatmul_op = define_op("TridiagonalMatMul", "superdiag, maindiag, subdiag, rhs", types=_TYPES,
                                 infer=_tridiagonal_matmul_infer, lower=_tridiagonal_matmul_lower)


def _three_diagonals(diagonals, form):
    """Returns the diagonals (above, on, below), [..., n] each, of any of TF's three formats."""
    if form == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, on, below = (convert_to_tensor(d) for d in diagonals)
        if on.dims is None or on.dims[-1] is None:
            return above, on, below
        n = on.dims[-1]
        pad = [[0, 0]] * (len(on.dims) - 1)
        if above.dims is not None and above.dims[-1] == n - 1:
            above = _padded(above, [*pad, [0, 1]])
        if below.dims is not None and below.dims[-1] == n - 1:
            below = _padded(below, [*pad, [1, 0]])
        return above, on, below
    diagonals = convert_to_tensor(diagonals)
    if form == "compact":
        if diagonals.dims is not None and len(diagonals.dims) > 1 and diagonals.dims[-2] not in (None, 3):
            raise ValueError(f"Expected diagonals to have 3 rows, got shape {diagonals.shape}.")
        return array.unstack(diagonals, num=3, axis=-2)
    if form == "matrix":
        if diagonals.rank is None or diagonals.rank < 2 or not compatible(diagonals.dims[-2:-1], diagonals.dims[-1:]):
            raise ValueError(f"Expected last two dimensions of diagonals to be equal, got shape {diagonals.shape}.")
        pad = [[0, 0]] * (len(diagonals.dims) - 2)
        above, on, below = (diag.matrix_diag_part(diagonals, k=k) for k in (1, 0, -1))
        return _padded(above, [*pad, [0, 1]]), on, _padded(below, [*pad, [1, 0]])
    raise ValueError(f"Unrecognized diagonals_format: {form}; it is 'compact', 'matrix' or 'sequence'.")


def _padded(x, paddings):
    return layout.pad(x, paddings)


def tridiagonal_solve(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
                      partial_pivoting=True, perturb_singular=False):
    """Returns x with A x = rhs for a tridiagonal A.

    Args:
      diagonals: A as [..., 3, n] ("compact": above, on and below the diagonal; the last of the first and the first of
        the last are not read), [..., n, n] ("matrix") or a list of three tensors ("sequence").
      rhs: [..., n] or [..., n, k].
      diagonals_format: which of the three.
      transpose_rhs, conjugate_rhs: transpose or conjugate `rhs` first.
      partial_pivoting, perturb_singular: accepted; XLA's solver decides.

    Raises:
      ValueError: `diagonals` does not have its format.
    """
    with get_default_graph().name_scope(name or "tridiagonal_solve"):
        packed = array.stack(_three_diagonals(diagonals, diagonals_format), axis=-2)
        rhs = convert_to_tensor(rhs, dtype=None if hasattr(rhs, "dtype") else packed.dtype)
        vector = packed.rank is not None and rhs.rank == packed.rank - 1
        if vector:
            rhs = array.expand_dims(rhs, -1)
        elif transpose_rhs:
            rhs = matrix_transpose(rhs)
        x = tridiagonalsolve_op(packed, conj(rhs) if conjugate_rhs else rhs, partial_pivoting=partial_pivoting)
        return array.squeeze(x, -1) if vector else x


def tridiagonal_matmul(diagonals, rhs, diagonals_format="compact", name=None):
    """Returns A rhs for a tridiagonal A, given in any of the formats of `tridiagonal_solve`."""
    with get_default_graph().name_scope(name or "tridiagonal_matmul"):
        above, on, below = (expand_dims(d, -2) for d in _three_diagonals(diagonals, diagonals_format))
        return tridiagonalmatmul_op(above, on, below, rhs)


def _banded_infer(bands, rhs, *, lower, adjoint):
    d, y = _matrix(bands, "matrix"), _matrix(rhs, "rhs")
    if d is None or y is None:
        return Spec(None if y is None else (None,) * len(y), rhs.dtype)
    n = merge(d[-1:], y[-2:-1], f"matrix is {spec_text(bands)} and rhs {spec_text(rhs)}: their numbers of rows")
    return Spec(broadcast(d[:-2], y[:-2]) + n + y[-1:], rhs.dtype)


def _banded_lower(b, bands, y, *, lower, adjoint):
    count, n = bands.shape[-2:]
    # A lower band k holds A[i, i - k] at column i; an upper one, counted from the last row, A[i, i + k] there.
    dense = sum(b.np.eye(n, k=-k if lower else k, dtype=bands.dtype)
                * bands[..., k if lower else count - 1 - k, :][..., :, None] for k in range(count))
    return _triangular_lower(b, dense, y, lower=lower, adjoint=adjoint)


bandedtriangularsolve_op = define_op("BandedTriangularSolve", "matrix, rhs", attrs={"lower": True, "adjoint": False},
                                     types=_TYPES, infer=_banded_infer, xla_only=True, lower=_banded_lower)


def banded_triangular_solve(bands, rhs, lower=True, adjoint=False, name=None):
    """Returns x with A x = rhs for a triangular A given by its bands [..., k, n].

    Row 0 of the bands of a lower A is its diagonal; of an upper A the last row is. Element i of a band stands in row i.
    """
    return bandedtriangularsolve_op(bands, rhs, lower=lower, adjoint=adjoint, name=name or "banded_triangular_solve")


# -- built of others -------------------------------------------------------------------------------
def adjoint(matrix, name=None):
    """Returns the conjugate transpose of each matrix."""
    return matrix_transpose(convert_to_tensor(matrix), name=name or "adjoint", conjugate=True)


def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False, name=None):
    """Returns matrix `a` [..., n, k] times vector `b` [..., k], giving [..., n]."""
    with get_default_graph().name_scope(name or "MatVec"):
        return squeeze(matmul(a, expand_dims(b, axis=-1), transpose_a=transpose_a, adjoint_a=adjoint_a), axis=-1)


def trace(x, name=None):
    """Returns the sum of the diagonal of each matrix [..., m, n]."""
    with get_default_graph().name_scope(name or "Trace") as scope:
        return reduce_sum(matrix_diag_part(convert_to_tensor(x, name="x")), [-1], name=scope)


def _cross_infer(a, b):
    dims = merge(a.dims, b.dims, "Cross takes tensors of one shape;")
    if dims is not None and (not dims or dims[-1] not in (None, 3)):
        raise ShapeError(f"the last axis must have size 3, but a is {spec_text(a)}")
    return Spec(dims, a.dtype)


cross_op = define_op("Cross", "a, b", types={"T": dtypes.REAL}, infer=_cross_infer,
                     lower=lambda b, x, y: b.np.stack(
                         [x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], -1))


def cross(a, b, name=None):
    """Returns the cross product of vectors in three dimensions, along the last axis of tensors of one shape."""
    return cross_op(a, b, name=name)


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None, keep_dims=None):
    """Returns the norm of vectors or matrices.

    Args:
      tensor: a floating or complex tensor.
      ord: "euclidean", "fro", 1, 2, any positive number, or numpy.inf. For matrices "euclidean", "fro", 1, 2 (the
        largest singular value) or numpy.inf.
      axis: None for the whole tensor as one vector, an int for vectors, a pair of ints for matrices.
      keepdims: leave the axes with size 1.

    Gradient: that of the Euclidean norm is 0 where the norm is 0.

    Raises:
      ValueError: an `ord` or `axis` that does not exist.

    Example:
      print(tf.Session().run(tf.norm([3.0, 4.0])))
      #> 5.0
    """
    keepdims = bool(array.one_of("keepdims", keepdims, "keep_dims", keep_dims))
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if isinstance(axis, (list, tuple)):
        if len(axis) not in (1, 2) or any(not isinstance(a, (int, np.integer)) for a in axis) or len(set(axis)) < len(axis):
            raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
        axis = tuple(axis)
    elif axis is not None and not hasattr(axis, "_as_graph_element") and not isinstance(axis, (int, np.integer)):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis!r}")
    allowed = ["euclidean", "fro", 1, 2, np.inf]
    if is_matrix:
        if ord not in allowed:
            raise ValueError(f"'ord' must be a supported matrix norm in {allowed}, got {ord}")
    elif ord not in allowed and (isinstance(ord, str) or not ord > 0):
        raise ValueError(f"'ord' must be 'euclidean', 'fro' (for matrices) or a positive number, got {ord}")
    if not is_matrix and ord == "fro":
        raise ValueError("Invalid vector norm order 'fro': it is a norm of matrices, give a pair of axes.")
    with get_default_graph().name_scope(name or "norm"):
        x = convert_to_tensor(tensor)
        axes = list(axis) if isinstance(axis, tuple) else axis
        if ord in ("euclidean", "fro") or ord == 2 and not is_matrix:
            # A norm is real, but has the dtype of its input, as in TF.
            return reduce.reduce_euclidean_norm(x, axes, keepdims)
        if is_matrix and ord == 2:
            return _spectral_norm(x, axis, keepdims)
        size = math.abs(x)
        if ord == 1 or ord == np.inf:
            if not is_matrix:
                return (reduce.reduce_sum if ord == 1 else reduce.reduce_max)(size, axes, keepdims=keepdims)
            rows, columns = axis
            first, second = (rows, columns) if ord == 1 else (columns, rows)
            sums = reduce.reduce_sum(size, first, keepdims=True)
            result = reduce.reduce_max(sums, second, keepdims=True)
            return result if keepdims else array.squeeze(result, list(axis))
        total = reduce.reduce_sum(math.pow(size, float(ord)), axes, keepdims=keepdims)
        return math.pow(total, 1.0 / ord)


def _spectral_norm(x, axis, keepdims):
    if x.dims is None:
        raise ValueError("norm: the largest singular value over given axes needs a tensor of known rank")
    rank = len(x.dims)
    rows, columns = (array.axis_in(a, rank) for a in axis)
    others = [i for i in range(rank) if i not in (rows, columns)]
    s = svd(array.transpose(x, [*others, rows, columns]), compute_uv=False)
    largest = reduce.reduce_max(s, -1)
    if not keepdims:
        return largest
    for a in sorted((rows, columns)):
        largest = array.expand_dims(largest, a)
    return largest


def pinv(a, rcond=None, validate_args=False, name=None):
    """Returns the Moore-Penrose pseudo-inverse of each matrix [..., m, n].

    Args:
      a: floating or complex tensor of matrices.
      rcond: singular values below rcond times the largest count as 0; by default 10 max(m, n) eps.
    """
    with get_default_graph().name_scope(name or "pinv"):
        a = convert_to_tensor(a, name="a")
        if a.dtype.is_integer:
            raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
        if a.dims is not None and len(a.dims) < 2:
            raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {len(a.dims)}).")
        real = a.dtype.real_dtype
        if rcond is None:
            shape = array.shape(a)
            largest = math.cast(math.maximum(shape[-2], shape[-1]), real)
            rcond = 10.0 * largest * float(np.finfo(real.as_numpy_dtype).eps)
        rcond = convert_to_tensor(rcond, dtype=None if hasattr(rcond, "_as_graph_element") else real)
        s, u, v = svd(a)
        cutoff = rcond * reduce.reduce_max(s, axis=-1)
        used = compare.greater(s, array.expand_dims(cutoff, -1))
        inverse = compare.select(used, math.reciprocal(compare.select(used, s, array.ones_like(s))), array.zeros_like(s))
        scaled = v * math.cast(array.expand_dims(inverse, -2), a.dtype)
        return matmul(scaled, u, adjoint_b=True)


def matrix_rank(a, tol=None, validate_args=False, name=None):
    """Returns the number of singular values above `tol` (by default eps max(m, n) times the largest) of each matrix."""
    with get_default_graph().name_scope(name or "matrix_rank"):
        a = convert_to_tensor(a, name="a")
        s = svd(a, compute_uv=False)
        if tol is None:
            shape = array.shape(a)
            largest = math.cast(math.maximum(shape[-2], shape[-1]), s.dtype)
            tol = float(np.finfo(s.dtype.as_numpy_dtype).eps) * largest * reduce.reduce_max(s, axis=-1, keepdims=True)
        return reduce.reduce_sum(math.cast(compare.greater(s, tol), dtypes.int32), axis=-1)


def normalize(tensor, ord="euclidean", axis=None, name=None):
    """Returns (tensor / its norm along `axis`, the norm with that axis kept), by any `ord` of `norm`."""
    with get_default_graph().name_scope(name or "normalize"):
        x = convert_to_tensor(tensor)
        size = norm(x, ord, axis, keepdims=True)
        return x / size, size


def eigh_tridiagonal(alpha, beta, eigvals_only=True, select="a", select_range=None, tol=None, name=None):
    """Returns the eigenvalues (and vectors) of the Hermitian tridiagonal matrix of diagonal `alpha` and subdiagonal `beta`.

    Args:
      alpha: real or complex [n]; only its real part is used.
      beta: [n - 1].
      eigvals_only: otherwise (values, vectors) are returned.
      select: "a" for all, "i" for those numbered select_range[0] to select_range[1], both included.
      tol: accepted; the values have full precision.

    Raises:
      ValueError: another `select`: the number of values between two bounds depends on data.
    """
    if select not in ("a", "i"):
        raise ValueError(f"eigh_tridiagonal: select must be 'a' or 'i', got {select!r}.")
    with get_default_graph().name_scope(name or "eigh_tridiagonal"):
        alpha, beta = convert_to_tensor(alpha, name="alpha"), convert_to_tensor(beta, name="beta")
        diagonal = math.cast(complex_.real(alpha), alpha.dtype)
        matrix = diag.matrix_diag(diagonal) + diag.matrix_diag(beta, k=-1)
        e, v = self_adjoint_eig(matrix) if not eigvals_only else (self_adjoint_eigvals(matrix), None)
        if select == "i":
            first, last = select_range
            e, v = e[first:last + 1], None if v is None else v[:, first:last + 1]
        return e if eigvals_only else (e, v)


# -- with the factors of `lu` -------------------------------------------------------------------------
def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
    """Returns the matrices of which `lower_upper` and `perm` are the factors (see `lu`)."""
    with get_default_graph().name_scope(name or "lu_reconstruct"):
        lower, upper = _triangles(lower_upper)
        product = matmul(lower, upper)
        perm = convert_to_tensor(perm, dtype=None if hasattr(perm, "dtype") else dtypes.int32)
        if product.rank is None:
            raise ValueError("lu_reconstruct: lower_upper must have a known rank.")
        if product.rank == 2:
            return indexing.gather(product, array.invert_permutation(perm))
        from regrad.ops.sort import argsort

        return indexing.gather(product, argsort(perm, axis=-1), axis=-2, batch_dims=product.rank - 2)


def _triangles(lower_upper):
    lower_upper = convert_to_tensor(lower_upper, name="lower_upper")
    lower = diag.matrix_band_part(lower_upper, num_lower=-1, num_upper=0)
    diagonal = diag.matrix_diag_part(lower)
    return diag.matrix_set_diag(lower, array.ones_like(diagonal)), diag.matrix_band_part(lower_upper, 0, -1)


def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
    """Returns x with A x = rhs, given the factors of A (see `lu`)."""
    with get_default_graph().name_scope(name or "lu_solve"):
        lower_upper = convert_to_tensor(lower_upper, name="lower_upper")
        rhs = convert_to_tensor(rhs, name="rhs", preferred_dtype=lower_upper.dtype)
        perm = convert_to_tensor(perm, dtype=None if hasattr(perm, "dtype") else dtypes.int32)
        if rhs.rank is None:
            raise ValueError("lu_solve: rhs must have a known rank.")
        batch = rhs.rank - 2
        permuted = indexing.gather(rhs, perm, axis=-2, batch_dims=batch) if batch else indexing.gather(rhs, perm)
        lower, upper = _triangles(lower_upper)
        y = matrix_triangular_solve(lower, permuted, lower=True)
        return matrix_triangular_solve(upper, y, lower=False)


def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
    """Returns the inverses of the matrices of which `lower_upper` and `perm` are the factors (see `lu`)."""
    with get_default_graph().name_scope(name or "lu_matrix_inverse"):
        return matrix_inverse(lu_reconstruct(lower_upper, perm))


