"""Normal distributions of vectors, given by a mean and a linear operator that scales standard normal numbers."""

import math as numbers

from regrad.contrib.bijectors import of_one_dtype, scale_operator
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape, dimension_value
from regrad.distributions.base import FULLY_REPARAMETERIZED, Distribution, RegisterKL, own_arguments, parameter, sized
from regrad.linear_operators.diagonal import LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity
from regrad.linear_operators.matrices import LinearOperatorLowerTriangular
from regrad.ops import array, linalg, math, nn
from regrad.ops.check import assert_near
from regrad.ops.diag import matrix_diag
from regrad.ops.matmul import matmul
from regrad.ops.random import random_normal
from regrad.ops.reduce import reduce_sum

_LOG_2PI = numbers.log(2.0 * numbers.pi)


class MultivariateNormalLinearOperator(Distribution):
    """X = loc + scale Z for a vector Z of independent standard normal numbers; samples carry gradients.

    Args:
      loc: the means [..., k]; 0 by default.
      scale: a `tf.linalg.LinearOperator` of k rows, not singular.
      validate_args, allow_nan_stats: accepted.

    Raises:
      ValueError: no scale is given.
      TypeError: its dtype is not floating.
    """

    def __init__(self, loc=None, scale=None, validate_args=False, allow_nan_stats=True,
                 name="MultivariateNormalLinearOperator"):
        parameters = dict(locals())
        if scale is None:
            raise ValueError("Missing required `scale` parameter.")
        if not scale.dtype.is_floating:
            raise TypeError("`scale` parameter must have floating-point dtype.")
        with get_default_graph().name_scope(name) as name:
            self._loc = None if loc is None else convert_to_tensor(loc, dtype=None if hasattr(loc, "dtype") else scale.dtype,
                                                                   name="loc")
            if self._loc is not None and self._loc.dtype is not scale.dtype:
                raise ValueError(f"loc is {self._loc.dtype.name}, but scale {scale.dtype.name}.")
        self._scale = scale
        self._batch_shape()
        super().__init__(scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, scale.graph_parents,
                         name)

    loc = property(lambda self: self._loc, doc="The means, or None.")
    scale = property(lambda self: self._scale, doc="The linear operator that scales.")

    def _batch_shape(self):
        own = TensorShape([]) if self._loc is None else self._loc.shape[:-1]
        return array.broadcast_static_shape(self._scale.batch_shape, own)

    def _batch_shape_tensor(self):
        own = [] if self._loc is None else array.shape(self._loc)[:-1]
        return array.broadcast_dynamic_shape(self._scale.batch_shape_tensor(), own) if own != [] else \
            self._scale.batch_shape_tensor()

    def _event_shape(self):
        rows = self._scale.range_dimension
        return TensorShape([self._loc.shape[-1] if rows.value is None and self._loc is not None and self._loc.shape.ndims
                            else rows])

    def _event_shape_tensor(self):
        return array.expand_dims(self._scale.range_dimension_tensor(), 0)

    def _diagonal(self):
        """Whether the scale is a diagonal matrix."""
        return isinstance(self._scale, (LinearOperatorDiag, LinearOperatorIdentity, LinearOperatorScaledIdentity))

    def _shifted(self, x):
        return x if self._loc is None else x + self._loc

    def _over_batch(self, x):
        """Returns events `x` for the whole batch."""
        return x + array.zeros(array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype)

    def _sample_n(self, n, seed=None):
        shape = sized(n, self.batch_shape_tensor(), self.event_shape_tensor())
        return self._shifted(self._scale.matvec(random_normal(shape, dtype=self.dtype, seed=seed)))

    def _log_prob(self, x):
        z = self._scale.solvevec(x if self._loc is None else x - self._loc)
        return -0.5 * (reduce_sum(math.square(z), -1) + self._size() * _LOG_2PI) - self._scale.log_abs_determinant()

    def _size(self):
        return math.cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self):
        each = 0.5 * self._size() * (1.0 + _LOG_2PI) + self._scale.log_abs_determinant()
        return each + array.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self):
        return self._over_batch(convert_to_tensor(0.0, dtype=self.dtype) if self._loc is None else self._loc)

    def _mode(self):
        return self._mean()

    def _variance(self):
        if self._diagonal():
            return self._over_batch(math.square(self._scale.diag_part()))
        return self._over_batch(reduce_sum(math.square(self._scale.to_dense()), -1))

    def _stddev(self):
        if self._diagonal():
            return self._over_batch(math.abs(self._scale.diag_part()))
        return math.sqrt(self._variance())

    def _covariance(self):
        if self._diagonal():
            return matrix_diag(self._variance())
        dense = self._scale.to_dense()
        k = self.event_shape_tensor()
        wide = array.concat([self.batch_shape_tensor(), k, k], 0)
        return matmul(dense, dense, adjoint_b=True) + array.zeros(wide, self.dtype)


class MultivariateNormalDiag(MultivariateNormalLinearOperator):
    """A vector of independent normal numbers; samples carry gradients.

    Args:
      loc: the means, a floating tensor [..., k]; 0 by default.
      scale_diag: their standard deviations [..., k]; 1 by default.
      scale_identity_multiplier: one deviation for all, [...]; with `scale_diag`, the two are added.
      validate_args, allow_nan_stats: accepted.

    Raises:
      ValueError: neither `loc` nor `scale_diag` says how many numbers there are.
    """

    def __init__(self, loc=None, scale_diag=None, scale_identity_multiplier=None, validate_args=False, allow_nan_stats=True,
                 name="MultivariateNormalDiag"):
        parameters = dict(locals())
        if loc is None and scale_diag is None:
            raise ValueError("MultivariateNormalDiag: loc or scale_diag must say how many elements there are.")
        with get_default_graph().name_scope(name) as name:
            loc, diag, multiplier = _floating(loc=loc, scale_diag=scale_diag,
                                              scale_identity_multiplier=scale_identity_multiplier)
            if diag is None and multiplier is None:
                multiplier = array.ones([], loc.dtype)
            scale = scale_operator(multiplier, diag, like=loc)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """A MultivariateNormalDiag whose deviations are softplus(scale_diag)."""

    def __init__(self, loc, scale_diag, validate_args=False, allow_nan_stats=True,
                 name="MultivariateNormalDiagWithSoftplusScale"):
        parameters = dict(locals())
        super().__init__(loc, nn.softplus(convert_to_tensor(scale_diag)), None, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class MultivariateNormalDiagPlusLowRank(MultivariateNormalLinearOperator):
    """A normal vector with scale diag + multiplier I + V D V^T.

    Args:
      loc: the means [..., k]; 0 by default.
      scale_diag: [..., k].
      scale_identity_multiplier: [...]; without it and `scale_diag`, 1.
      scale_perturb_factor: V, [..., k, r].
      scale_perturb_diag: D, [..., r]; 1 by default.
      validate_args, allow_nan_stats: accepted.
    """

    def __init__(self, loc=None, scale_diag=None, scale_identity_multiplier=None, scale_perturb_factor=None,
                 scale_perturb_diag=None, validate_args=False, allow_nan_stats=True, name="MultivariateNormalDiagPlusLowRank"):
        parameters = dict(locals())
        if loc is None and scale_diag is None and scale_perturb_factor is None:
            raise ValueError("MultivariateNormalDiagPlusLowRank: loc, scale_diag or scale_perturb_factor must say how many "
                             "elements there are.")
        with get_default_graph().name_scope(name) as name:
            loc, diag, multiplier, factor, perturb = _floating(
                loc=loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier,
                scale_perturb_factor=scale_perturb_factor, scale_perturb_diag=scale_perturb_diag)
            if diag is None and multiplier is None and factor is None:
                multiplier = array.ones([], loc.dtype)
            scale = scale_operator(multiplier, diag, None, loc, factor, perturb)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class MultivariateNormalTriL(MultivariateNormalLinearOperator):
    """A normal vector with a lower triangular scale L, so that its covariance is L L^T.

    Args:
      loc: the means [..., k]; 0 by default.
      scale_tril: L, [..., k, k]; what is above the diagonal is not read. The identity by default.
      validate_args, allow_nan_stats: accepted.
    """

    def __init__(self, loc=None, scale_tril=None, validate_args=False, allow_nan_stats=True, name="MultivariateNormalTriL"):
        parameters = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must pass one or both of `loc`, `scale_tril`.")
        with get_default_graph().name_scope(name) as name:
            loc, tril = _floating(loc=loc, scale_tril=scale_tril)
            if tril is None:
                size = dimension_value(loc.shape[-1])
                scale = LinearOperatorIdentity(array.shape(loc)[-1] if size is None else size,
                                               dtype=loc.dtype)
            else:
                scale = LinearOperatorLowerTriangular(tril, is_non_singular=True)
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """A normal vector of a given covariance, of which the Cholesky factor is taken.

    Args:
      loc: the means [..., k]; 0 by default.
      covariance_matrix: [..., k, k], positive definite; the identity by default.
      validate_args: check that it is symmetric.
      allow_nan_stats: accepted.
    """

    def __init__(self, loc=None, covariance_matrix=None, validate_args=False, allow_nan_stats=True,
                 name="MultivariateNormalFullCovariance"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            loc, covariance = _floating(loc=loc, covariance_matrix=covariance_matrix)
            tril = None
            if covariance is not None:
                checks = [assert_near(covariance, array.matrix_transpose(covariance),
                                      message="Matrix was not symmetric.")] if validate_args else []
                with get_default_graph().control_dependencies(checks):
                    tril = linalg.cholesky(covariance)
        super().__init__(loc, tril, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


def _floating(**values):
    """Returns values as floating tensors of one dtype, None as None."""
    return [None if t is None else parameter(t, name) for name, t in of_one_dtype(**values).items()]


@RegisterKL(MultivariateNormalLinearOperator, MultivariateNormalLinearOperator)
def _kl_normals(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_mvn"):
        zero = convert_to_tensor(0.0, dtype=a.dtype)
        apart = (zero if b.loc is None else b.loc) - (zero if a.loc is None else a.loc)
        apart = apart + array.zeros(a.event_shape_tensor(), a.dtype)
        if a._diagonal() and b._diagonal():
            ratio = reduce_sum(math.square(a.scale.diag_part() / b.scale.diag_part()), -1)
        else:
            ratio = reduce_sum(math.square(b.scale.solve(a.scale.to_dense())), [-2, -1])
        return (b.scale.log_abs_determinant() - a.scale.log_abs_determinant()
                + 0.5 * (ratio + reduce_sum(math.square(b.scale.solvevec(apart)), -1) - a._size()))
