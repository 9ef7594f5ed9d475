"""Operators made of smaller ones: diagonal blocks, Kronecker products, updates of low rank."""

from regrad.core.shapes import TensorShape
from regrad.linear_operators.base import (
    LinearOperator,
    _product,
    _sum,
    as_parameter,
    common_batch,
    common_batch_tensor,
    if_all,
    same_dtype,
)
from regrad.linear_operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity
from regrad.ops import array, complex, linalg, math
from regrad.ops.control import group
from regrad.ops.generate import range as sequence
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_sum

_HINTS = (("is_non_singular", "non-singular"), ("is_self_adjoint", "self-adjoint"),
          ("is_positive_definite", "positive definite"), ("is_square", "square"))


class _OfParts(LinearOperator):
    """What BlockDiag and Kronecker share: they are what all their parts are."""

    _between = ""

    def __init__(self, operators, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None, is_square=None,
                 name=None):
        parameters = dict(locals())
        self._operators = list(operators)
        dtype = same_dtype(self._operators, type(self).__name__)
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint,
                 "is_positive_definite": is_positive_definite, "is_square": is_square}
        hints = {hint: if_all(given[hint], [getattr(o, hint) for o in self._operators], words) for hint, words in _HINTS}
        super().__init__(dtype, [p for o in self._operators for p in o.graph_parents], parameters=parameters,
                         name=name or self._between.join(o.name for o in self._operators), **hints)

    operators = property(lambda self: list(self._operators), doc="The parts.")

    def _of_parts(self, method):
        hints = self._hints() if method != "cholesky" else {"is_non_singular": True, "is_square": True}
        return type(self)([getattr(o, method)() for o in self._operators], **hints)

    def _adjoint(self):
        return self._of_parts("adjoint")

    def _inverse(self):
        return self._of_parts("inverse")

    def _cholesky(self):
        return self._of_parts("cholesky")

    def _assert_non_singular(self):
        return group(*[o.assert_non_singular() for o in self._operators])

    def _assert_positive_definite(self):
        return group(*[o.assert_positive_definite() for o in self._operators])

    def _assert_self_adjoint(self):
        return group(*[o.assert_self_adjoint() for o in self._operators])


class LinearOperatorBlockDiag(_OfParts):
    """Operators along the diagonal, zeros elsewhere.

    Raises:
      ValueError: there are none, or a hint contradicts what all of them are.
      TypeError: dtypes differ.
    """

    _between = "_ds_"

    def _shape(self):
        sizes = [sum((getattr(o, d) for o in self._operators), start=TensorShape([0])[0])
                 for d in ("range_dimension", "domain_dimension")]
        return common_batch(self._operators).concatenate(sizes)

    def _shape_tensor(self):
        sizes = [_sum([getattr(o, d)() for o in self._operators])
                 for d in ("range_dimension_tensor", "domain_dimension_tensor")]
        return array.concat([common_batch_tensor(self._operators), array.stack(sizes)], 0)

    def _applied(self, x, method, of_range, adjoint, adjoint_arg):
        """Returns the parts' `method` of the rows of x that belong to each, one below another."""
        x = linalg.adjoint(x) if adjoint_arg else x
        sizes = [o.range_dimension_tensor() if of_range else o.domain_dimension_tensor() for o in self._operators]
        static = [o.range_dimension.value if of_range else o.domain_dimension.value for o in self._operators]
        rows = array.split(x, static if None not in static else array.stack(sizes), axis=-2, num=len(sizes))
        parts = [getattr(o, method)(r, adjoint=adjoint) for o, r in zip(self._operators, rows)]
        batches = [o.batch_shape for o in self._operators]
        if not all(b.is_fully_defined() and b == batches[0] for b in batches):
            ones = array.ones(array.concat([common_batch_tensor(self._operators), [1, 1]], 0), self.dtype)
            parts = [ones * p for p in parts]
        return array.concat(parts, -2)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._applied(x, "matmul", adjoint, adjoint, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._applied(rhs, "solve", not adjoint, adjoint, adjoint_arg)

    def _over_batch(self, tensors):
        return [t + array.zeros(array.concat([self.batch_shape_tensor(), [1]], 0), self.dtype) for t in tensors]

    def _diag_part(self):
        if all(o.is_square for o in self._operators):
            return array.concat(self._over_batch([o.diag_part() for o in self._operators]), -1)
        return super()._diag_part()

    def _trace(self):
        if all(o.is_square for o in self._operators):
            return _sum([o.trace() for o in self._operators])
        return super()._trace()

    def _determinant(self):
        if all(o.is_square for o in self._operators):
            return _product([o.determinant() for o in self._operators])
        return super()._determinant()

    def _log_abs_determinant(self):
        if all(o.is_square for o in self._operators):
            return _sum([o.log_abs_determinant() for o in self._operators])
        return super()._log_abs_determinant()

    def _simple_product(self, right):
        if isinstance(right, LinearOperatorBlockDiag) and len(right.operators) == len(self._operators):
            pairs = list(zip(self._operators, right.operators))
            if all(a.domain_dimension.value is not None and a.domain_dimension == b.range_dimension for a, b in pairs):
                return LinearOperatorBlockDiag([a.matmul(b) for a, b in pairs])
        return super()._simple_product(right)


class LinearOperatorKronecker(_OfParts):
    """The Kronecker product of operators: entries of the first times the next as a block.

    Raises:
      ValueError: there are none, or a hint contradicts what all of them are.
      TypeError: dtypes differ.
    """

    _between = "_x_"

    def _shape(self):
        sizes = [_product([getattr(o, d) for o in self._operators]) for d in ("range_dimension", "domain_dimension")]
        return common_batch(self._operators).concatenate(sizes)

    def _shape_tensor(self):
        sizes = [_product([getattr(o, d)() for o in self._operators])
                 for d in ("range_dimension_tensor", "domain_dimension_tensor")]
        return array.concat([common_batch_tensor(self._operators), array.stack(sizes)], 0)

    def _applied(self, x, method, of_range, adjoint, adjoint_arg):
        # Rows of x count (i, j, ...) with j running fastest. The first operator works on i, all others being columns; then
        # its axis goes behind the others, and the next stands in front.
        x = linalg.adjoint(x) if adjoint_arg else x
        columns = array.shape(x)[-1]
        taken = [o.range_dimension_tensor() if of_range else o.domain_dimension_tensor() for o in self._operators]
        given = [o.domain_dimension_tensor() if of_range else o.range_dimension_tensor() for o in self._operators]
        for operator, takes, gives in zip(self._operators, taken, given):
            rest = array.shape(x)[-2] // takes
            x = array.reshape(x, array.concat([array.shape(x)[:-2], array.stack([takes, rest * columns])], 0))
            x = getattr(operator, method)(x, adjoint=adjoint)
            x = array.reshape(x, array.concat([array.shape(x)[:-2], array.stack([gives, rest, columns])], 0))
            count = array.rank(x)
            x = array.transpose(x, array.concat([sequence(count - 3), array.stack([count - 2, count - 3, count - 1])], 0))
            x = array.reshape(x, array.concat([array.shape(x)[:-3], array.stack([gives * rest, columns])], 0))
        return x

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        y = self._applied(x, "matmul", adjoint, adjoint, adjoint_arg)
        return self._with_shape(y, x, self.domain_dimension if adjoint else self.range_dimension, adjoint_arg)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        if not all(o.is_square for o in self._operators):
            return super()._solve(rhs, adjoint, adjoint_arg)
        y = self._applied(rhs, "solve", not adjoint, adjoint, adjoint_arg)
        return self._with_shape(y, rhs, self.range_dimension if adjoint else self.domain_dimension, adjoint_arg)

    def _with_shape(self, y, x, rows, adjoint_arg):
        if x.shape.ndims is not None:
            batch = array.broadcast_static_shape(self.batch_shape, x.shape[:-2])
            y.set_shape(batch.concatenate([rows, x.shape[-2 if adjoint_arg else -1]]))
        return y

    def _diag_part(self):
        if not all(o.is_square for o in self._operators):
            return super()._diag_part()
        first, *others = [o.diag_part() for o in self._operators]
        for other in others:
            both = first[..., None] * other[..., None, :]
            first = array.reshape(both, array.concat([array.shape(both)[:-2], [-1]], 0))
        first.set_shape(self.shape[:-1])
        return first

    def _trace(self):
        if not all(o.is_square for o in self._operators):
            return super()._trace()
        return _product([o.trace() for o in self._operators])

    def _powers(self):
        """Returns how often each part's determinant is a factor."""
        total = math.cast(self.domain_dimension_tensor(), self.dtype)
        return [total / math.cast(o.domain_dimension_tensor(), self.dtype) for o in self._operators]

    def _determinant(self):
        if not all(o.is_square for o in self._operators):
            return super()._determinant()
        return _product([math.pow(o.determinant(), p) for o, p in zip(self._operators, self._powers())])

    def _log_abs_determinant(self):
        if not all(o.is_square for o in self._operators):
            return super()._log_abs_determinant()
        return _sum([o.log_abs_determinant() * p for o, p in zip(self._operators, self._powers())])


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H for an operator L of n rows and k columns of `u` and `v`; solved through k x k matrices (Woodbury).

    Args:
      base_operator: L, square.
      u: [..., n, k].
      diag_update: the diagonal of D, [..., k]; 1 by default.
      v: [..., n, k]; `u` by default.
      is_diag_update_positive: whether D is; then, where L is positive definite and v is u, this is too.

    Raises:
      ValueError: L is not square, or sizes do not go together.
      TypeError: dtypes differ.
    """

    def __init__(self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None, is_non_singular=None,
                 is_self_adjoint=None, is_positive_definite=None, is_square=None, name="LinearOperatorLowRankUpdate"):
        parameters = dict(locals())
        if base_operator.is_square is False or is_square is False:
            raise ValueError(f"LinearOperatorLowRankUpdate must be square, and its base operator: {base_operator.shape}.")
        self._base, self._u = base_operator, as_parameter(u, "u", 2)
        self._v = self._u if v is None else as_parameter(v, "v", 2)
        self._diag = None if diag_update is None else as_parameter(diag_update, "diag_update", 1)
        self._is_positive = True if diag_update is None and is_diag_update_positive is None else is_diag_update_positive
        if diag_update is None and is_diag_update_positive is False:
            raise ValueError("Without diag_update it is 1, which is positive: is_diag_update_positive=False was given.")
        for name_, x in (("u", self._u), ("v", self._v), ("diag_update", self._diag)):
            if x is not None and x.dtype is not base_operator.dtype:
                raise TypeError(f"All Tensors must have the same dtype as base_operator, {base_operator.dtype.name}, but "
                                f"{name_} is {x.dtype.name}.")
        base_operator.domain_dimension.assert_is_compatible_with(self._u.shape[-2])
        self._u.shape[-2:].assert_is_compatible_with(self._v.shape[-2:])
        if self._diag is not None:
            self._u.shape[-1:].assert_is_compatible_with(self._diag.shape[-1:])
        if v is None and base_operator.is_self_adjoint and (self._diag is None or not self._diag.dtype.is_complex):
            is_self_adjoint = True if is_self_adjoint is None else is_self_adjoint
            if base_operator.is_positive_definite and self._is_positive:
                is_positive_definite = True if is_positive_definite is None else is_positive_definite
        super().__init__(base_operator.dtype, base_operator.graph_parents, is_non_singular, is_self_adjoint,
                         is_positive_definite, True, name, parameters)

    base_operator = property(lambda self: self._base, doc="What is updated.")
    u = property(lambda self: self._u, doc="The left factor.")
    v = property(lambda self: self._v, doc="The right factor, before it is transposed.")
    is_diag_update_positive = property(lambda self: self._is_positive, doc="Whether the diagonal between them is.")

    @property
    def diag_update(self):
        """The diagonal between the factors, or None."""
        return self._diag

    @property
    def diag_operator(self):
        """The diagonal between the factors, an operator."""
        if self._diag is None:
            return LinearOperatorIdentity(array.shape(self._u)[-1], dtype=self.dtype)
        return LinearOperatorDiag(self._diag, is_positive_definite=self._is_positive)

    def _shape(self):
        batch = array.broadcast_static_shape(self._base.batch_shape, array.broadcast_static_shape(
            self._u.shape[:-2], self._v.shape[:-2]))
        return batch.concatenate(self._base.shape[-2:])

    def _shape_tensor(self):
        batch = array.broadcast_dynamic_shape(self._base.batch_shape_tensor(), array.broadcast_dynamic_shape(
            array.shape(self._u)[:-2], array.shape(self._v)[:-2]))
        return array.concat([batch, self._base.shape_tensor()[-2:]], 0)

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        inner = self.diag_operator.matmul(matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg), adjoint=adjoint)
        return self._base.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg) + matmul(left, inner)

    def _capacitance(self):
        """Returns D^-1 + V^H L^-1 U."""
        inverse = self.diag_operator.inverse().to_dense()
        return inverse + matmul(self._v, self._base.solve(self._u), adjoint_a=True)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        left, right = (self._v, self._u) if adjoint else (self._u, self._v)
        first = self._base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        inner = linalg.matrix_solve(self._capacitance(), matmul(right, first, adjoint_a=True), adjoint=adjoint)
        return first - self._base.solve(matmul(left, inner), adjoint=adjoint)

    def _determinant(self):
        return linalg.matrix_determinant(self._capacitance()) * self.diag_operator.determinant() * self._base.determinant()

    def _log_abs_determinant(self):
        return (linalg.slogdet(self._capacitance())[1] + self.diag_operator.log_abs_determinant()
                + self._base.log_abs_determinant())

    def _diag_part(self):
        scaled = self._u if self._diag is None else self._u * self._diag[..., None, :]
        return self._base.diag_part() + reduce_sum(scaled * complex.conj(self._v), -1)

    def _adjoint(self):
        diag = None if self._diag is None else complex.conj(self._diag)
        return LinearOperatorLowRankUpdate(self._base.adjoint(), self._v, diag, self._u, self._is_positive, **self._hints())
