"""Operators that are multiples of the identity, diagonal, or zero."""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.shapes import TensorShape
from regrad.linear_operators.base import LinearOperator, as_parameter, fails, holds, with_diagonal
from regrad.ops import array, check, complex, linalg, math
from regrad.ops.diag import matrix_diag
from regrad.ops.generate import eye
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_prod, reduce_sum


class LinearOperatorDiag(LinearOperator):
    """The diagonal matrix of `diag` [..., n].

    Raises:
      ValueError: it is said not to be square, or, for a real `diag`, not to be self-adjoint.
    """

    def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name="LinearOperatorDiag"):
        parameters = dict(locals())
        self._diag = as_parameter(diag, "diag", 1)
        if not self._diag.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        super().__init__(self._diag.dtype, [self._diag], is_non_singular, is_self_adjoint, is_positive_definite, True, name,
                         parameters)

    diag = property(lambda self: self._diag, doc="The diagonal.")
    _elementwise = True

    def _shape(self):
        shape = self._diag.shape
        return shape.concatenate(shape[-1:]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = array.shape(self._diag)
        return array.concat([shape, shape[-1:]], 0)

    def _conjugated(self, adjoint):
        return complex.conj(self._diag) if adjoint else self._diag

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._conjugated(adjoint)[..., None] * (linalg.adjoint(x) if adjoint_arg else x)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return (linalg.adjoint(rhs) if adjoint_arg else rhs) / self._conjugated(adjoint)[..., None]

    def _to_dense(self):
        return matrix_diag(self._diag)

    def _diag_part(self):
        return self._diag

    def _determinant(self):
        return reduce_prod(self._diag, -1)

    def _log_abs_determinant(self):
        return math.cast(reduce_sum(math.log(math.abs(self._diag)), -1), self.dtype)

    def _add_to_tensor(self, x):
        return with_diagonal(x, self._diag)

    def _adjoint(self):
        return LinearOperatorDiag(complex.conj(self._diag), **self._hints())

    def _inverse(self):
        return LinearOperatorDiag(1.0 / self._diag, **{**self._hints(), "is_non_singular": True})

    def _cholesky(self):
        return LinearOperatorDiag(math.sqrt(self._diag), is_non_singular=True, is_self_adjoint=True, is_positive_definite=True)

    def _simple_product(self, right):
        if isinstance(right, LinearOperatorDiag):
            return LinearOperatorDiag(self._diag * right.diag)
        return super()._simple_product(right)

    def _assert_non_singular(self):
        return check.assert_none_equal(self._diag, 0, message="Singular operator:  Diagonal contained zero values.")

    def _assert_positive_definite(self):
        return check.assert_positive(complex.real(self._diag), message=f"Operator was not positive definite: {self.name}.")

    def _assert_self_adjoint(self):
        return check.assert_equal(complex.imag(self._diag), 0,
                                  message=f"This diagonal operator was not self-adjoint: {self.name}.")


class _Sized(LinearOperator):
    """What operators share that are given by their size alone."""

    _elementwise = True

    def _sizes(self, assert_proper_shapes, **sizes):
        """Keeps sizes as int32 tensors, after checks of what is known of them."""
        for name, size in sizes.items():
            known = convert_to_tensor(size, name=name)
            if not known.dtype.is_integer:
                raise TypeError(f"Argument {name} must be integer type.  Found: {size}")
            if known.shape.ndims not in (0, None):
                raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {size}")
            value = known.value()
            if value is not None and value < 0:
                raise ValueError(f"Argument {name} must be non-negative.  Found: {value}")
            if assert_proper_shapes and value is None:
                with known.graph.control_dependencies([check.assert_non_negative(known)]):
                    known = array.identity(known)
            setattr(self, f"_{name}", math.cast(known, dtypes.int32))

    def _given_batch(self, batch_shape):
        given = batch_shape is not None
        self._batch = convert_to_tensor(batch_shape, dtype=dtypes.int32, name="batch_shape_arg") if given else None

    def _static(self, *sizes):
        """Returns the TensorShape of the given batch and sizes."""
        batch = TensorShape([])
        if self._batch is not None:
            known = self._batch.value()
            count = self._batch.dims and self._batch.dims[0]
            batch = TensorShape(known) if known is not None else TensorShape(None if count is None else [None] * count)
        return batch.concatenate([None if s.value() is None else int(s.value()) for s in sizes])

    def _dynamic(self, *sizes):
        return array.concat([convert_to_tensor([], dtype=dtypes.int32) if self._batch is None else self._batch,
                             array.stack(sizes)], 0)

    def _in_batch(self, x):
        """Returns `x` repeated over the batch."""
        if self._batch is None:
            return x
        return array.broadcast_to(x, array.broadcast_dynamic_shape(array.shape(x), array.concat([self._batch, [1, 1]], 0)))


class _OfIdentity(_Sized):
    """What Identity and ScaledIdentity share."""

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._over(linalg.adjoint(rhs) if adjoint_arg else rhs, adjoint)


class LinearOperatorIdentity(_OfIdentity):
    """The identity of n rows.

    Args:
      num_rows: how many rows, an int or an int32 scalar.
      batch_shape: shape of the batch, by default none.
      dtype: float32 by default.
      assert_proper_shapes: check sizes that are known when running only.

    Raises:
      ValueError: a negative size, or hints that no identity has.
      TypeError: a size that is not an integer.
    """

    def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True, is_self_adjoint=True,
                 is_positive_definite=True, is_square=True, assert_proper_shapes=False, name="LinearOperatorIdentity"):
        parameters = dict(locals())
        for hint, words in ((is_self_adjoint, "self adjoint"), (is_non_singular, "non-singular"),
                            (is_positive_definite, "positive-definite"), (is_square, "square")):
            if not hint:
                raise ValueError(f"An identity operator is always {words}.")
        self._sizes(assert_proper_shapes, num_rows=num_rows)
        self._given_batch(batch_shape)
        super().__init__(as_dtype(dtype or dtypes.float32), None, True, True, True, True, name, parameters)

    def _shape(self):
        return self._static(self._num_rows, self._num_rows)

    def _shape_tensor(self):
        return self._dynamic(self._num_rows, self._num_rows)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._in_batch(linalg.adjoint(x) if adjoint_arg else x)

    def _over(self, rhs, adjoint):
        return self._in_batch(rhs)

    def _ones(self, *sizes):
        return array.ones(array.concat([self.batch_shape_tensor(), *sizes], 0), self.dtype)

    def _to_dense(self):
        return eye(self._num_rows, batch_shape=self._batch, dtype=self.dtype)

    def _diag_part(self):
        return self._ones([self._num_rows])

    def _trace(self):
        return self._ones() * math.cast(self._num_rows, self.dtype)

    def _determinant(self):
        return self._ones()

    def _log_abs_determinant(self):
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _add_to_tensor(self, x):
        return with_diagonal(x, self.diag_part())

    def _inverse(self):
        return self

    def _cholesky(self):
        return self

    def _simple_product(self, right):
        return right if self._batch is None else super()._simple_product(right)

    def _simple_product_from_left(self, left):
        return left if self._batch is None else None

    def _assert_non_singular(self):
        return holds()

    _assert_positive_definite = _assert_self_adjoint = _assert_non_singular


class LinearOperatorScaledIdentity(_OfIdentity):
    """The identity of n rows times `multiplier` [...], one for each matrix of the batch.

    Raises:
      ValueError: a negative size, or it is said not to be square or, for a real multiplier, not self-adjoint.
      TypeError: a size that is not an integer.
    """

    def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=True, assert_proper_shapes=False, name="LinearOperatorScaledIdentity"):
        parameters = dict(locals())
        self._multiplier = as_parameter(multiplier, "multiplier", 0)
        if not self._multiplier.dtype.is_complex:
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        self._sizes(assert_proper_shapes, num_rows=num_rows)
        self._batch = None
        super().__init__(self._multiplier.dtype, [self._multiplier], is_non_singular, is_self_adjoint, is_positive_definite,
                         True, name, parameters)

    multiplier = property(lambda self: self._multiplier, doc="What the identity is multiplied by.")

    def _shape(self):
        return self._multiplier.shape.concatenate(self._static(self._num_rows, self._num_rows))

    def _shape_tensor(self):
        return array.concat([array.shape(self._multiplier), array.stack([self._num_rows] * 2)], 0)

    def _wide(self, adjoint):
        return (complex.conj(self._multiplier) if adjoint else self._multiplier)[..., None, None]

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._wide(adjoint) * (linalg.adjoint(x) if adjoint_arg else x)

    def _over(self, rhs, adjoint):
        return rhs / self._wide(adjoint)

    def _to_dense(self):
        return self._wide(False) * eye(self._num_rows, dtype=self.dtype)

    def _diag_part(self):
        return self._multiplier[..., None] * array.ones([self._num_rows], self.dtype)

    def _trace(self):
        return self._multiplier * math.cast(self._num_rows, self.dtype)

    def _determinant(self):
        return math.pow(self._multiplier, math.cast(self._num_rows, self.dtype))

    def _log_abs_determinant(self):
        return math.cast(math.log(math.abs(self._multiplier)), self.dtype) * math.cast(self._num_rows, self.dtype)

    def _add_to_tensor(self, x):
        return with_diagonal(x, self.diag_part())

    def _adjoint(self):
        return LinearOperatorScaledIdentity(self._num_rows, complex.conj(self._multiplier), **self._hints())

    def _inverse(self):
        return LinearOperatorScaledIdentity(self._num_rows, 1.0 / self._multiplier,
                                            **{**self._hints(), "is_non_singular": True})

    def _cholesky(self):
        return LinearOperatorScaledIdentity(self._num_rows, math.sqrt(self._multiplier), is_non_singular=True,
                                            is_self_adjoint=True, is_positive_definite=True)

    def _simple_product(self, right):
        if isinstance(right, LinearOperatorScaledIdentity):
            return LinearOperatorScaledIdentity(self._num_rows, self._multiplier * right.multiplier)
        if isinstance(right, LinearOperatorDiag):
            return LinearOperatorDiag(self._multiplier[..., None] * right.diag)
        return super()._simple_product(right)

    def _simple_product_from_left(self, left):
        if isinstance(left, LinearOperatorDiag):
            return LinearOperatorDiag(left.diag * self._multiplier[..., None])
        return None

    def _assert_non_singular(self):
        return check.assert_none_equal(self._multiplier, 0, message="LinearOperator was singular")

    def _assert_positive_definite(self):
        return check.assert_positive(complex.real(self._multiplier), message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self):
        return check.assert_equal(complex.imag(self._multiplier), 0, message="LinearOperator was not self-adjoint")


class LinearOperatorZeros(_Sized):
    """The matrix of zeros.

    Args:
      num_rows, num_columns: sizes, ints or int32 scalars; square by default.
      batch_shape: shape of the batch, by default none.
      dtype: float32 by default.
      assert_proper_shapes: check sizes that are known when running only.

    Raises:
      ValueError: a negative size, or hints that zeros do not have.
      TypeError: a size that is not an integer.
    """

    def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None, is_non_singular=False, is_self_adjoint=True,
                 is_positive_definite=False, is_square=True, assert_proper_shapes=False, name="LinearOperatorZeros"):
        parameters = dict(locals())
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        num_columns = num_rows if num_columns is None else num_columns
        self._sizes(assert_proper_shapes, num_rows=num_rows, num_columns=num_columns)
        if is_square and (self._num_rows.value() is not None and self._num_columns.value() is not None
                          and self._num_rows.value() != self._num_columns.value()):
            raise ValueError("A zero operator initialized as square must have equal num_rows and num_columns.")
        self._given_batch(batch_shape)
        super().__init__(as_dtype(dtype or dtypes.float32), None, False, is_self_adjoint, False, is_square, name, parameters)

    def _shape(self):
        return self._static(self._num_rows, self._num_columns)

    def _shape_tensor(self):
        return self._dynamic(self._num_rows, self._num_columns)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return matmul(self.to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self):
        return array.zeros(self.shape_tensor(), self.dtype)

    def _diag_part(self):
        least = math.minimum(self._num_rows, self._num_columns)
        return array.zeros(array.concat([self.batch_shape_tensor(), [least]], 0), self.dtype)

    def _determinant(self):
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    _trace = _determinant

    def _log_abs_determinant(self):
        return math.log(self._determinant())

    def _add_to_tensor(self, x):
        return self._in_batch(x)

    def _adjoint(self):
        return LinearOperatorZeros(self._num_columns, self._num_rows, self._batch, self.dtype, is_self_adjoint=None,
                                   is_square=self._is_square)

    def _times_zeros(self, rows, columns, batch):
        return LinearOperatorZeros(rows, columns, batch, self.dtype, is_self_adjoint=None, is_square=None)

    def _simple_product(self, right):
        if self._batch is None and right.batch_shape.ndims == 0:
            return self._times_zeros(self._num_rows, right.domain_dimension_tensor(), None)
        return None

    def _simple_product_from_left(self, left):
        if self._batch is None and left.batch_shape.ndims == 0:
            return self._times_zeros(left.range_dimension_tensor(), self._num_columns, None)
        return None

    def _assert_non_singular(self):
        return fails("Zero operators are always non-invertible.")

    def _assert_positive_definite(self):
        return fails("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self):
        return check.assert_equal(self._num_rows, self._num_columns, message="Zeros that are not square: not self-adjoint.")
