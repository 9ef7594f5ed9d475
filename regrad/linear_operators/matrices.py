"""Operators given by a matrix, its triangle, its bands, or a vector that determines it."""

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import float32
from regrad.linear_operators.base import LinearOperator, as_parameter, fails, holds
from regrad.linear_operators.diagonal import LinearOperatorDiag
from regrad.ops import array, check, complex, linalg, math
from regrad.ops.compare import where_v2
from regrad.ops.diag import matrix_band_part, matrix_diag_part
from regrad.ops.generate import range as sequence
from regrad.ops.indexing import gather, one_hot
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_prod, reduce_sum


def _inexact(dtype):
    return dtype.is_floating or dtype.is_complex


class LinearOperatorFullMatrix(LinearOperator):
    """A `matrix` [..., m, n], floating or complex.

    Raises:
      ValueError: its rank is less than 2.
      TypeError: its dtype is an integer's.
    """

    def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorFullMatrix"):
        parameters = dict(locals())
        self._matrix = as_parameter(matrix, "matrix", 2, _inexact)
        super().__init__(self._matrix.dtype, [self._matrix], is_non_singular, is_self_adjoint, is_positive_definite, is_square,
                         name, parameters)

    matrix = property(lambda self: self._matrix, doc="The matrix.")

    def _shape(self):
        return self._matrix.shape

    def _shape_tensor(self):
        return array.shape(self._matrix)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return self._matrix


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangle of `tril` [..., n, n], floating or complex; what is above the diagonal is not read.

    Raises:
      ValueError: its rank is less than 2, or it is said not to be square.
      TypeError: its dtype is an integer's.
    """

    def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorLowerTriangular"):
        parameters = dict(locals())
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        self._given = as_parameter(tril, "tril", 2, _inexact)
        self._tril = matrix_band_part(self._given, -1, 0)
        super().__init__(self._given.dtype, [self._given], is_non_singular, is_self_adjoint, is_positive_definite, True, name,
                         parameters)

    tril = property(lambda self: self._tril, doc="The matrix, with zeros above the diagonal.")

    def _shape(self):
        return self._given.shape

    def _shape_tensor(self):
        return array.shape(self._given)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return matmul(self._tril, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return linalg.matrix_triangular_solve(self._tril, linalg.adjoint(rhs) if adjoint_arg else rhs, adjoint=adjoint)

    def _to_dense(self):
        return self._tril

    def _diag_part(self):
        return matrix_diag_part(self._given)

    def _determinant(self):
        return reduce_prod(self.diag_part(), -1)

    def _log_abs_determinant(self):
        return math.cast(reduce_sum(math.log(math.abs(self.diag_part())), -1), self.dtype)

    def _simple_product(self, right):
        if isinstance(right, LinearOperatorDiag):
            return LinearOperatorLowerTriangular(self._tril * right.diag[..., None, :])
        return super()._simple_product(right)

    def _simple_product_from_left(self, left):
        if isinstance(left, LinearOperatorDiag):
            return LinearOperatorLowerTriangular(left.diag[..., None] * self._tril)
        return None

    def _assert_non_singular(self):
        return check.assert_none_equal(self.diag_part(), 0, message=f"Singular operator:  Diagonal contained zero values: "
                                                                    f"{self.name}.")


class LinearOperatorHouseholder(LinearOperator):
    """The reflection I - 2 v v^H / |v|^2 along v = `reflection_axis` [..., n].

    Raises:
      ValueError: hints that no reflection has.
      TypeError: the axis's dtype is an integer's.
    """

    def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorHouseholder"):
        parameters = dict(locals())
        self._axis = as_parameter(reflection_axis, "reflection_axis", 1, _inexact)
        for hint, words in ((is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"), (is_square, "square")):
            if hint is False:
                raise ValueError(f"A Householder operator is always {words}.")
        if is_positive_definite:
            raise ValueError("A Householder operator is always non-positive definite.")
        super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name, parameters)

    reflection_axis = property(lambda self: self._axis, doc="The vector it turns round.")

    def _shape(self):
        shape = self._axis.shape
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = array.shape(self._axis)
        return array.concat([shape, shape[-1:]], 0)

    def _unit(self):
        squares = math.cast(reduce_sum(math.square(math.abs(self._axis)), -1, keepdims=True), self.dtype)
        return self._axis / math.sqrt(squares)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = linalg.adjoint(x) if adjoint_arg else x
        unit = self._unit()[..., None]
        return x - 2.0 * unit * matmul(unit, x, adjoint_a=True)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, adjoint, adjoint_arg)  # reflected twice it is as it was

    def _diag_part(self):
        unit = self._unit()
        return 1.0 - 2.0 * unit * complex.conj(unit)

    def _trace(self):
        n = math.cast(self.domain_dimension_tensor(), self.dtype)
        return array.zeros(self.batch_shape_tensor(), self.dtype) + (n - 2.0)

    def _determinant(self):
        return -array.ones(self.batch_shape_tensor(), self.dtype)

    def _log_abs_determinant(self):
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _inverse(self):
        return self

    def _assert_non_singular(self):
        return holds()

    _assert_self_adjoint = _assert_non_singular

    def _assert_positive_definite(self):
        return fails("Householder operators are always non-positive definite.")


class LinearOperatorPermutation(LinearOperator):
    """The matrix that takes x to x[perm], `perm` [..., n] being permutations of 0 ... n - 1.

    Raises:
      ValueError: `perm` is a scalar.
      TypeError: `perm` is not of integers.
    """

    def __init__(self, perm, dtype=float32, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name="LinearOperatorPermutation"):
        parameters = dict(locals())
        self._perm = as_parameter(perm, "perm", 1)
        if not self._perm.dtype.is_integer:
            raise TypeError(f"perm must be of integers, but is {self._perm.dtype.name}.")
        if is_non_singular is False or is_square is False:
            raise ValueError("A Permutation operator is always non-singular and square.")
        super().__init__(dtype, [self._perm], True, is_self_adjoint, is_positive_definite, True, name, parameters)

    perm = property(lambda self: self._perm, doc="The permutation.")

    def _shape(self):
        shape = self._perm.shape
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = array.shape(self._perm)
        return array.concat([shape, shape[-1:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._matmul(rhs, not adjoint, adjoint_arg)

    def _to_dense(self):
        return one_hot(self._perm, self.domain_dimension_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self):
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _assert_non_singular(self):
        return holds()


class LinearOperatorToeplitz(LinearOperator):
    """The matrix of constant diagonals with first column `col` [..., n] and first row `row` [..., n], whose first is not read.

    Raises:
      ValueError: a scalar, or it is said not to be square.
      TypeError: dtypes differ, or are integers'.
    """

    def __init__(self, col, row, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorToeplitz"):
        parameters = dict(locals())
        self._row = as_parameter(row, "row", 1, _inexact)
        self._col = as_parameter(col, "col", 1, _inexact)
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        if self._row.dtype is not self._col.dtype:
            raise TypeError(f"row and col must have one dtype, but are {self._row.dtype.name} and {self._col.dtype.name}.")
        super().__init__(self._row.dtype, [self._row, self._col], is_non_singular, is_self_adjoint, is_positive_definite, True,
                         name, parameters)

    col = property(lambda self: self._col, doc="The first column.")
    row = property(lambda self: self._row, doc="The first row.")

    def _shape(self):
        shape = array.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = array.broadcast_dynamic_shape(array.shape(self._row), array.shape(self._col))
        return array.concat([shape, shape[-1:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        i = sequence(self.domain_dimension_tensor())
        below = i[:, None] - i
        wanted = math.maximum(below, 0), math.maximum(-below, 0)
        return where_v2(below >= 0, gather(self._col, wanted[0], axis=-1), gather(self._row, wanted[1], axis=-1))

    def _diag_part(self):
        return self._col[..., :1] + array.zeros(self.shape_tensor()[:-1], self.dtype)

    def _assert_self_adjoint(self):
        return check.assert_equal(self._row, complex.conj(self._col),
                                  message="row and col are not the same, and so this operator is not self-adjoint.")


class LinearOperatorTridiag(LinearOperator):
    """A matrix with entries on the diagonal and beside it.

    Args:
      diagonals: [..., 3, n]: above the diagonal (its last is not read), on it, and below (its first is not read), for
        "compact"; a list of three for "sequence"; the matrix itself for "matrix".
      diagonals_format: "compact", "sequence" or "matrix".
    """

    def __init__(self, diagonals, diagonals_format="compact", is_non_singular=None, is_self_adjoint=None,
                 is_positive_definite=None, is_square=None, name="LinearOperatorTridiag"):
        parameters = dict(locals())
        if diagonals_format not in ("compact", "sequence", "matrix"):
            raise ValueError(f"diagonals_format is {diagonals_format!r}; expected 'compact', 'sequence' or 'matrix'.")
        if is_square is False:
            raise ValueError("Only square tridiagonal operators currently supported.")
        self._form = diagonals_format
        self._diagonals = ([convert_to_tensor(d) for d in diagonals] if diagonals_format == "sequence" else
                           as_parameter(diagonals, "diagonals", 2, _inexact))
        self._on = {"compact": lambda d: d[..., 1, :], "sequence": lambda d: d[1], "matrix": matrix_diag_part}[self._form](
            self._diagonals)
        super().__init__(self._on.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, parameters)

    diagonals = property(lambda self: self._diagonals, doc="The diagonals, as they were given.")
    diagonals_format = property(lambda self: self._form, doc="How they were given.")

    def _shape(self):
        shape = self._on.shape
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = array.shape(self._on)
        return array.concat([shape, shape[-1:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        x = linalg.adjoint(x) if adjoint_arg else x
        if adjoint:
            return matmul(self.to_dense(), x, adjoint_a=True)
        return linalg.tridiagonal_matmul(self._diagonals, x, self._form)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if adjoint:
            return super()._solve(rhs, adjoint, adjoint_arg)
        return linalg.tridiagonal_solve(self._diagonals, linalg.adjoint(rhs) if adjoint_arg else rhs, self._form)

    def _to_dense(self):
        return self._diagonals if self._form == "matrix" else super()._to_dense()

    def _diag_part(self):
        return self._on
