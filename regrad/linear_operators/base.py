"""What all linear operators share: what is known of them, shapes, ways of last resort; adjoints, inverses and products."""

import contextlib

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.ops import array, check, complex, linalg, math
from regrad.ops.control import group, no_op
from regrad.ops.diag import matrix_diag_part, matrix_set_diag
from regrad.ops.generate import eye
from regrad.ops.reduce import reduce_max, reduce_min, reduce_sum


class LinearOperator:
    """Base class. A subclass gives `_shape()`, `_shape_tensor()`, `_matmul(x, adjoint, adjoint_arg)`, and what it can do better
    than the ways of last resort here, which make the matrix: `_solve(rhs, adjoint, adjoint_arg)`, `_to_dense()`,
    `_determinant()`, `_log_abs_determinant()`, `_diag_part()`, `_trace()`, `_adjoint()`, `_inverse()`, `_cholesky()`,
    `_add_to_tensor(x)`, `_assert_non_singular()`, `_assert_positive_definite()`, `_assert_self_adjoint()`.

    Args:
      dtype: of its elements, and of what it is applied to.
      graph_parents: accepted.
      is_non_singular, is_self_adjoint, is_positive_definite, is_square: what is known; None: nothing.
      name: name scope; the class's name by default.
      parameters: the arguments of the subclass's constructor, by name.

    Raises:
      ValueError: what is said contradicts itself.
    """

    def __init__(self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
                 is_square=None, name=None, parameters=None):
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        for hint, words in ((is_non_singular, "A non-singular"), (is_self_adjoint, "A self-adjoint")):
            if hint:
                if is_square is False:
                    raise ValueError(f"{words} matrix is always square.")
                is_square = True
        self._dtype = as_dtype(dtype)
        self._graph_parents = list(graph_parents or ())
        self._is_non_singular, self._is_self_adjoint = is_non_singular, is_self_adjoint
        self._is_positive_definite, self._is_square = is_positive_definite, is_square
        self._name = name or type(self).__name__
        self._parameters = dict(parameters or {})

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    parameters = property(lambda self: dict(self._parameters))
    graph_parents = property(lambda self: list(self._graph_parents))
    is_non_singular = property(lambda self: self._is_non_singular)
    is_self_adjoint = property(lambda self: self._is_self_adjoint)
    is_positive_definite = property(lambda self: self._is_positive_definite)

    @property
    def is_square(self):
        """True, False or None: said when it was made, or seen from the shape."""
        rows, columns = self.range_dimension.value, self.domain_dimension.value
        seen = None if rows is None or columns is None else rows == columns
        if self._is_square is None:
            return seen
        if seen is not None and seen != self._is_square:
            raise ValueError(f"{self.name}: is_square={self._is_square} was said or follows, but the shape is {self.shape}.")
        return self._is_square

    def __repr__(self):
        return (f"<{type(self).__module__.partition('.')[0]}.linalg.{type(self).__name__} '{self.name}' shape={self.shape} "
                f"dtype={self.dtype.name}>")

    # -- shapes -----------------------------------------------------------------------------------------
    @property
    def shape(self):
        """TensorShape of the batch of matrices, as far as it is known."""
        return TensorShape(self._shape())

    @property
    def batch_shape(self):
        """TensorShape of the batch, as far as it is known."""
        return self.shape[:-2]

    @property
    def tensor_rank(self):
        """Number of axes, with those of the batch; None if unknown."""
        return self.shape.ndims

    @property
    def domain_dimension(self):
        """Dimension of the vectors it is applied to."""
        return TensorShape([None] if self.shape.ndims is None else self.shape[-1:]).dims[0]

    @property
    def range_dimension(self):
        """Dimension of the vectors it gives."""
        return TensorShape([None] if self.shape.ndims is None else self.shape[-2:-1]).dims[0]

    def shape_tensor(self, name="shape_tensor"):
        """Returns the shape, an int32 vector."""
        with self._scope(name):
            if self.shape.is_fully_defined():
                return convert_to_tensor(self.shape.as_list(), dtype=dtypes.int32)
            return self._shape_tensor()

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """Returns the shape of the batch, an int32 vector."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return convert_to_tensor(self.batch_shape.as_list(), dtype=dtypes.int32)
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name="tensor_rank_tensor"):
        """Returns the number of axes, an int32 scalar."""
        with self._scope(name):
            return array.size(self.shape_tensor()) if self.tensor_rank is None else convert_to_tensor(self.tensor_rank)

    def domain_dimension_tensor(self, name="domain_dimension_tensor"):
        """Returns the dimension of the vectors it is applied to, an int32 scalar."""
        with self._scope(name):
            return self._size(self.domain_dimension, -1)

    def range_dimension_tensor(self, name="range_dimension_tensor"):
        """Returns the dimension of the vectors it gives, an int32 scalar."""
        with self._scope(name):
            return self._size(self.range_dimension, -2)

    def _size(self, known, axis):
        return self.shape_tensor()[axis] if known.value is None else convert_to_tensor(known.value)

    # -- what it does -----------------------------------------------------------------------------------
    def matmul(self, x, adjoint=False, adjoint_arg=False, name="matmul"):
        """Returns its product with `x`, a tensor [..., n, k], or with another operator, which gives an operator.

        Args:
          adjoint, adjoint_arg: take the conjugate transpose of this operator, of `x`.

        Raises:
          TypeError: `x` has another dtype.
          ValueError: sizes do not go together.
        """
        if isinstance(x, LinearOperator):
            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(f"Operators are incompatible. Expected `x` to have dimension {left.domain_dimension} but got "
                                 f"{right.range_dimension}.")
            return left._times(right)
        with self._scope(name):
            x = self._argument(x, self.range_dimension if adjoint else self.domain_dimension, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    __matmul__ = matmul

    def matvec(self, x, adjoint=False, name="matvec"):
        """Returns its product with vectors `x` [..., n]."""
        with self._scope(name):
            x = self._argument(x, self.range_dimension if adjoint else self.domain_dimension, -1)
            return self._of_vectors(self._matmul, x, adjoint)

    def solve(self, rhs, adjoint=False, adjoint_arg=False, name="solve"):
        """Returns the x with A x = `rhs`, [..., n, k]; for an operator as `rhs`, an operator.

        Args:
          adjoint, adjoint_arg: take the conjugate transpose of this operator, of `rhs`.

        Raises:
          NotImplementedError: the operator is said to be singular, or is not square.
        """
        self._solvable("Exact solve")
        if isinstance(rhs, LinearOperator):
            left, right = self.adjoint() if adjoint else self, rhs.adjoint() if adjoint_arg else rhs
            if not left.range_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(f"Operators are incompatible. Expected `rhs` to have dimension {left.range_dimension} but got "
                                 f"{right.range_dimension}.")
            return left.inverse()._times(right)
        with self._scope(name):
            rhs = self._argument(rhs, self.domain_dimension if adjoint else self.range_dimension, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def solvevec(self, rhs, adjoint=False, name="solve"):
        """Returns the x with A x = `rhs`, vectors [..., n]; errors as `solve`."""
        self._solvable("Exact solve")
        with self._scope(name):
            rhs = self._argument(rhs, self.domain_dimension if adjoint else self.range_dimension, -1)
            return self._of_vectors(self._solve, rhs, adjoint)

    _elementwise = False  # what it does costs no more for vectors one by one

    def _of_vectors(self, function, x, adjoint):
        """Returns what `_matmul` or `_solve` makes of vectors; where there is one matrix for all, they are its columns."""
        if self.batch_shape.ndims != 0 or not x.shape.ndims or x.shape.ndims < 2 or self._elementwise:
            return array.squeeze(function(array.expand_dims(x, -1), adjoint=adjoint), -1)
        columns = array.matrix_transpose(array.reshape(x, array.stack([-1, array.shape(x)[-1]])))
        y = array.matrix_transpose(function(columns, adjoint=adjoint))
        y = array.reshape(y, array.concat([array.shape(x)[:-1], array.shape(y)[-1:]], 0))
        y.set_shape(x.shape[:-1].concatenate([self.domain_dimension if function == self._solve else self.range_dimension]
                                             if not adjoint else [None]))
        return y

    def _solvable(self, what):
        for known, words in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if known is False:
                raise NotImplementedError(f"{what} not implemented for an operator that is expected to {words}.")

    def to_dense(self, name="to_dense"):
        """Returns the matrix, a tensor."""
        with self._scope(name):
            return self._to_dense()

    def diag_part(self, name="diag_part"):
        """Returns the diagonal, [..., min(rows, columns)]."""
        with self._scope(name):
            return self._diag_part()

    def trace(self, name="trace"):
        """Returns the sum of the diagonal."""
        with self._scope(name):
            return self._trace()

    def determinant(self, name="det"):
        """Returns the determinant.

        Raises:
          NotImplementedError: it is not square.
        """
        if self.is_square is False:
            raise NotImplementedError("Determinant not implemented for an operator that is expected to not be square.")
        with self._scope(name):
            return self._determinant()

    def log_abs_determinant(self, name="log_abs_det"):
        """Returns the logarithm of the determinant's absolute value, in the operator's dtype; errors as `determinant`."""
        if self.is_square is False:
            raise NotImplementedError("Determinant not implemented for an operator that is expected to not be square.")
        with self._scope(name):
            return self._log_abs_determinant()

    def add_to_tensor(self, x, name="add_to_tensor"):
        """Returns the matrix plus `x`."""
        with self._scope(name):
            return self._add_to_tensor(self._argument(x))

    def adjoint(self, name="adjoint"):
        """Returns the operator of the conjugate transpose."""
        if self.is_self_adjoint:
            return self
        with self._scope(name):
            return self._adjoint()

    H = property(adjoint, doc="The operator of the conjugate transpose.")

    def inverse(self, name="inverse"):
        """Returns the operator that undoes this one.

        Raises:
          ValueError: it is said to be singular, or is not square.
        """
        for known, words in ((self.is_square, "is not square"), (self.is_non_singular, "represents a singular matrix")):
            if known is False:
                raise ValueError(f"Cannot take the Inverse: This operator {words}.")
        with self._scope(name):
            return self._inverse()

    def cholesky(self, name="cholesky"):
        """Returns the lower triangular operator L with L L^H = A.

        Raises:
          ValueError: it is not said to be self-adjoint and positive definite.
        """
        if not self._has_cholesky():
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        with self._scope(name):
            return self._cholesky()

    def assert_non_singular(self, name="assert_non_singular"):
        """Returns an operation that fails unless the condition number is below 1 / epsilon of the dtype."""
        with self._scope(name):
            return self._assert_non_singular()

    def assert_positive_definite(self, name="assert_positive_definite"):
        """Returns an operation that fails unless Re(x^H A x) > 0 for every x."""
        with self._scope(name):
            return self._assert_positive_definite()

    def assert_self_adjoint(self, name="assert_self_adjoint"):
        """Returns an operation that fails unless the matrix equals its conjugate transpose."""
        with self._scope(name):
            return self._assert_self_adjoint()

    # -- ways of last resort ----------------------------------------------------------------------------
    def _shape(self):
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self):
        raise NotImplementedError("_shape_tensor is not implemented.")

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        raise NotImplementedError("_matmul is not implemented.")

    def _has_cholesky(self):
        return self.is_positive_definite and self.is_self_adjoint

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
        if self._has_cholesky():
            factor = linalg.cholesky(self.to_dense())
            return linalg.matrix_triangular_solve(factor, linalg.matrix_triangular_solve(factor, rhs), adjoint=True)
        return linalg.matrix_solve(self.to_dense(), rhs, adjoint=adjoint)

    def _to_dense(self):
        return self._matmul(eye(self.domain_dimension_tensor(), batch_shape=self.batch_shape_tensor(), dtype=self.dtype))

    def _diag_part(self):
        return matrix_diag_part(self.to_dense())

    def _trace(self):
        return reduce_sum(self.diag_part(), -1)

    def _determinant(self):
        return linalg.matrix_determinant(self.to_dense())

    def _log_abs_determinant(self):
        if self._has_cholesky():
            return 2.0 * reduce_sum(math.log(matrix_diag_part(linalg.cholesky(self.to_dense()))), -1)
        return linalg.slogdet(self.to_dense())[1]

    def _add_to_tensor(self, x):
        return self.to_dense() + x

    def _adjoint(self):
        return LinearOperatorAdjoint(self)

    def _inverse(self):
        return LinearOperatorInversion(self)

    def _cholesky(self):
        from regrad.linear_operators.matrices import LinearOperatorLowerTriangular

        return LinearOperatorLowerTriangular(linalg.cholesky(self.to_dense()), is_non_singular=True)

    def _times(self, right):
        """Returns the operator of the product with another; `_simple_product` knows the short ones."""
        simple = self._simple_product(right)
        return LinearOperatorComposition([self, right]) if simple is None else simple

    def _simple_product(self, right):
        return right._simple_product_from_left(self)

    def _simple_product_from_left(self, left):
        return None

    def _assert_non_singular(self):
        values = linalg.svd(self.to_dense(), compute_uv=False)
        epsilon = np.finfo(self.dtype.as_numpy_dtype).eps
        return check.assert_less(reduce_max(values, -1) * epsilon, reduce_min(values, -1),
                                 message=f"Singular matrix up to precision epsilon: {self.name}.")

    def _assert_positive_definite(self):
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = complex.real(matrix_diag_part(linalg.cholesky(self.to_dense())))
        return check.assert_positive(diagonal, message=f"Matrix was not positive definite: {self.name}.")

    def _assert_self_adjoint(self):
        dense = self.to_dense()
        return check.assert_equal(dense, linalg.adjoint(dense), message=f"Matrix was not equal to its adjoint: {self.name}.")

    # -- for subclasses ---------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _scope(self, name):
        graph = get_default_graph()
        with graph.name_scope(self.name), graph.name_scope(name):
            yield

    _name_scope = _scope  # what subclasses call it, as they do the next

    def _check_input_dtype(self, x):
        if x.dtype is not self.dtype:
            raise TypeError(f"{self.name}: Expected argument to have dtype {self.dtype!r}.  Found: {x.dtype!r} in tensor {x}")

    def _argument(self, x, size=None, axis=None):
        """Returns `x` as a tensor of the operator's dtype whose `axis` goes with `size`."""
        x = convert_to_tensor(x, name="x")
        self._check_input_dtype(x)
        if size is not None and x.shape.ndims is not None:
            x.shape.with_rank_at_least(-axis)
            size.assert_is_compatible_with(x.shape[axis])
        return x

    def _hints(self):
        return {"is_non_singular": self.is_non_singular, "is_self_adjoint": self.is_self_adjoint,
                "is_positive_definite": self.is_positive_definite, "is_square": self.is_square}


def as_parameter(value, name, rank, types=None):
    """Returns what defines an operator as a tensor of at least that rank.

    Raises:
      ValueError: its rank is less.
      TypeError: its dtype is not one of `types`.
    """
    value = convert_to_tensor(value, name=name)
    if types is not None and not types(value.dtype):
        raise TypeError(f"Argument {name} must have a floating or complex dtype. Found: {value.dtype!r}")
    if value.shape.ndims is not None and value.shape.ndims < rank:
        raise ValueError(f"Argument `{name}` must have at least {rank} dimension{'s' * (rank > 1)}. Received: {value}.")
    return value


def same_dtype(operators, what):
    """Returns the dtype of operators.

    Raises:
      ValueError: there are none.
      TypeError: they differ.
    """
    if not operators:
        raise ValueError(f"{what}: Expected a non-empty list of operators. Found: {operators}")
    if len({o.dtype for o in operators}) > 1:
        given = " ".join(f"{o.name} {o.dtype.name}" for o in operators)
        raise TypeError(f"{what}: Expected all operators to have the same dtype.  Found {given}")
    return operators[0].dtype


def common_batch(operators):
    """Returns the broadcast TensorShape of the operators' batches."""
    shape = TensorShape([])
    for operator in operators:
        shape = array.broadcast_static_shape(shape, operator.batch_shape)
    return shape


def common_batch_tensor(operators):
    """Returns the broadcast shape of the operators' batches, an int32 vector."""
    shape = operators[0].batch_shape_tensor()
    for operator in operators[1:]:
        shape = array.broadcast_dynamic_shape(shape, operator.batch_shape_tensor())
    return shape


def if_all(given, hints, what):
    """Returns a hint for an operator made of others: `given`, or True where all of them are.

    Raises:
      ValueError: it was given as False, though all are.
    """
    if all(hints):
        if given is False:
            raise ValueError(f"An operator of parts that are all {what} is {what}.")
        return True
    return given


def with_diagonal(x, diagonal):
    """Returns matrices `x` plus the diagonal matrices of `diagonal`."""
    return matrix_set_diag(x + array.zeros_like(diagonal)[..., None], matrix_diag_part(x) + diagonal)


def holds():
    """Returns an operation that does nothing: there is nothing to check."""
    return no_op()


def fails(message):
    """Returns an operation that fails."""
    return check.assert_true(convert_to_tensor(False), message)


class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of an operator; what is known of it is known of this."""

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operator = operator
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                 "is_positive_definite": is_positive_definite, "is_square": is_square}
        super().__init__(operator.dtype, operator.graph_parents, name=name or operator.name + "_adjoint", parameters=parameters,
                         **_inherited(given, operator))

    operator = property(lambda self: self._operator, doc="The operator it is the adjoint of.")

    def _shape(self):
        shape = self._operator.shape
        return shape[:-2].concatenate([shape[-1], shape[-2]]) if shape.ndims is not None else shape

    def _shape_tensor(self):
        shape = self._operator.shape_tensor()
        return array.concat([shape[:-2], shape[-1:], shape[-2:-1]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _to_dense(self):
        return linalg.adjoint(self._operator.to_dense())

    def _diag_part(self):
        return complex.conj(self._operator.diag_part())

    def _trace(self):
        return complex.conj(self._operator.trace())

    def _determinant(self):
        return complex.conj(self._operator.determinant())

    def _log_abs_determinant(self):
        return self._operator.log_abs_determinant()

    def _adjoint(self):
        return self._operator

    def _inverse(self):
        return self._operator.inverse().adjoint()

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self):
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self):
        return self._operator.assert_self_adjoint()


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator."""

    def __init__(self, operator, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        if operator.is_square is False:
            raise ValueError(f"Operator {operator.name} must be square: its shape is {operator.shape}.")
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(f"is_non_singular must be True for an inversion: {operator.name}.")
        self._operator = operator
        given = {"is_non_singular": True, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite,
                 "is_square": is_square}
        super().__init__(operator.dtype, operator.graph_parents, name=name or operator.name + "_inv", parameters=parameters,
                         **_inherited(given, operator))

    operator = property(lambda self: self._operator, doc="The operator it is the inverse of.")

    def _shape(self):
        return self._operator.shape

    def _shape_tensor(self):
        return self._operator.shape_tensor()

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self):
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self):
        return -self._operator.log_abs_determinant()

    def _inverse(self):
        return self._operator

    def _assert_non_singular(self):
        return self._operator.assert_non_singular()


class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last one is applied first.

    Raises:
      ValueError: there are none, or sizes do not go together.
      TypeError: dtypes differ.
    """

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = same_dtype(self._operators, "LinearOperatorComposition")
        for left, right in zip(self._operators, self._operators[1:]):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        is_non_singular = if_all(is_non_singular, [o.is_non_singular for o in self._operators], "non-singular")
        super().__init__(dtype, [p for o in self._operators for p in o.graph_parents], is_non_singular, is_self_adjoint,
                         is_positive_definite, is_square, name or "_o_".join(o.name for o in self._operators), parameters)

    operators = property(lambda self: list(self._operators), doc="The factors.")

    def _shape(self):
        ends = [self._operators[0].range_dimension, self._operators[-1].domain_dimension]
        return common_batch(self._operators).concatenate(ends)

    def _shape_tensor(self):
        ends = [self._operators[0].range_dimension_tensor(), self._operators[-1].domain_dimension_tensor()]
        return array.concat([common_batch_tensor(self._operators), array.stack(ends)], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        for i, operator in enumerate(self._operators if adjoint else self._operators[::-1]):
            x = operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg and i == 0)
        return x

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        for i, operator in enumerate(self._operators[::-1] if adjoint else self._operators):
            rhs = operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg and i == 0)
        return rhs

    def _of_factors(self, method):
        """Returns what each factor answers; None where one is not square, as those of a square product may be."""
        return [getattr(o, method)() for o in self._operators] if all(o.is_square for o in self._operators) else None

    def _determinant(self):
        found = self._of_factors("determinant")
        return super()._determinant() if found is None else _product(found)

    def _log_abs_determinant(self):
        found = self._of_factors("log_abs_determinant")
        return super()._log_abs_determinant() if found is None else _sum(found)

    def _assert_non_singular(self):
        if all(o.is_square for o in self._operators):
            return group(*[o.assert_non_singular() for o in self._operators])
        return super()._assert_non_singular()


def _inherited(given, operator):
    """Returns hints: what is given, else what is known of `operator`."""
    known = operator._hints()
    for hint, value in given.items():
        if value is not None and known[hint] is not None and value != known[hint]:
            raise ValueError(f"Operator {operator.name} has {hint}={known[hint]}, but {hint}={value} was given.")
    return {hint: known[hint] if value is None else value for hint, value in given.items()}


def _product(tensors):
    first, *others = tensors
    for other in others:
        first = first * other
    return first


def _sum(tensors):
    first, *others = tensors
    for other in others:
        first = first + other
    return first
