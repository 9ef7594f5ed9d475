"""Distributions of numbers beyond those of `tf.distributions`, and those whose parameters are made positive."""

import math as numbers

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.distributions.base import FULLY_REPARAMETERIZED, Distribution, own_arguments, parameter, sized
from regrad.distributions.continuous import Exponential, Gamma, Laplace, StudentT, _ConcentrationRate, _LocationScale
from regrad.ops import array, math, nn, special
from regrad.ops.check import assert_positive
from regrad.ops.compare import where_v2
from regrad.ops.random import random_gamma, random_normal, random_uniform


class Cauchy(_LocationScale):
    """The Cauchy distribution, density 1 / (pi scale (1 + ((x - loc) / scale)^2)); samples carry gradients to both.

    Its mean and variance are not defined: NaN, or ValueError with `allow_nan_stats=False`.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Cauchy"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return self._quantile(random_uniform(self._noise_shape(n), dtype=self.dtype, seed=seed))

    def _log_prob(self, x):
        return -math.log1p(math.square(self._z(x))) - numbers.log(numbers.pi) - math.log(self.scale)

    def _cdf(self, x):
        return math.atan(self._z(x)) / numbers.pi + 0.5

    def _log_cdf(self, x):
        return math.log1p(2.0 / numbers.pi * math.atan(self._z(x))) - numbers.log(2.0)

    def _quantile(self, p):
        return self.loc + self.scale * math.tan(numbers.pi * (p - 0.5))

    def _entropy(self):
        return numbers.log(4.0 * numbers.pi) + math.log(self.scale * array.ones_like(self.loc))

    def _mode(self):
        return self.loc * array.ones_like(self.scale)

    def _mean(self):
        if not self.allow_nan_stats:
            raise ValueError("`mean` and `variance` are undefined for Cauchy distribution.")
        return array.fill(self.batch_shape_tensor(), convert_to_tensor(np.nan, dtype=self.dtype))

    _stddev = _mean


class HalfNormal(Distribution):
    """The distribution of |X| for a normal X of mean 0 and deviation `scale`; samples carry gradients.

    Args:
      scale: positive floating tensor.
      validate_args: check that it is positive.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_scale", 0),)

    def __init__(self, scale, validate_args=False, allow_nan_stats=True, name="HalfNormal"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._scale = parameter(scale, "scale", *[assert_positive] * validate_args)
        super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self._scale],
                         name)

    scale = property(lambda self: self._scale, doc="The deviation of the normal distribution.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"scale": sample_shape}

    def _sample_n(self, n, seed=None):
        return math.abs(random_normal(sized(n, self.batch_shape_tensor()), dtype=self.dtype, seed=seed) * self.scale)

    def _prob(self, x):
        inside = numbers.sqrt(2.0 / numbers.pi) / self.scale * math.exp(-0.5 * math.square(x / self.scale))
        return inside * math.cast(x >= 0.0, self.dtype)

    def _log_prob(self, x):
        inside = 0.5 * numbers.log(2.0 / numbers.pi) - math.log(self.scale) - 0.5 * math.square(x / self.scale)
        return where_v2(x >= 0.0, inside, convert_to_tensor(-np.inf, dtype=self.dtype))

    def _cdf(self, x):
        return special.erf(math.maximum(x, array.zeros_like(x)) / self.scale * numbers.sqrt(0.5))

    def _quantile(self, p):
        return numbers.sqrt(2.0) * self.scale * special.erfinv(p)

    def _entropy(self):
        return 0.5 * math.log(numbers.pi * math.square(self.scale) / 2.0) + 0.5

    def _mean(self):
        return self.scale * numbers.sqrt(2.0 / numbers.pi)

    def _variance(self):
        return math.square(self.scale) * (1.0 - 2.0 / numbers.pi)

    def _mode(self):
        return array.zeros_like(self.scale)


class InverseGamma(_ConcentrationRate):
    """The distribution of 1 / X for X of a Gamma(concentration, rate); samples carry gradients.

    Args:
      concentration, rate: positive floating tensors of one dtype that broadcast.
      validate_args: check that they are positive.
      allow_nan_stats: the mean is not defined for concentrations of at most 1, nor the variance up to 2: NaN, or with False an
        error.
    """

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="InverseGamma"):
        super().__init__(concentration, rate, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return 1.0 / random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        a = self.concentration
        return a * math.log(self.rate) - special.lgamma(a) - (1.0 + a) * math.log(x) - self.rate / x

    def _cdf(self, x):
        both = array.zeros_like(self.concentration * self.rate * x)
        return special.igammac(self.concentration + both, self.rate / x + both)

    def _entropy(self):
        a = self.concentration
        return a + math.log(self.rate) + special.lgamma(a) - (1.0 + a) * special.digamma(a)

    def _mean(self):
        return self._where_defined(self.concentration > 1.0, self.rate / (self.concentration - 1.0),
                                   "mean undefined when any concentration <= 1")

    def _variance(self):
        a = self.concentration
        return self._where_defined(a > 2.0, math.square(self.rate) / math.square(a - 1.0) / (a - 2.0),
                                   "variance undefined when any concentration <= 2")

    def _mode(self):
        return self.rate / (1.0 + self.concentration)


class Chi2(Gamma):
    """The chi-squared distribution with `df` degrees of freedom: Gamma(df / 2, 1 / 2)."""

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._df = parameter(df, "df", *[assert_positive] * validate_args)
            super().__init__(0.5 * self._df, convert_to_tensor(0.5, dtype=self._df.dtype), validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)

    df = property(lambda self: self._df, doc="The degrees of freedom.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"df": sample_shape}


class Chi2WithAbsDf(Chi2):
    """A Chi2 with floor(|df|) degrees of freedom."""

    def __init__(self, df, validate_args=False, allow_nan_stats=True, name="Chi2WithAbsDf"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            super().__init__(math.floor(math.abs(convert_to_tensor(df))), validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class ExponentialWithSoftplusRate(Exponential):
    """An Exponential with the rate softplus(rate)."""

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="ExponentialWithSoftplusRate"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            super().__init__(nn.softplus(convert_to_tensor(rate)), validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class GammaWithSoftplusConcentrationRate(Gamma):
    """A Gamma whose parameters are softplus of these."""

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True,
                 name="GammaWithSoftplusConcentrationRate"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            concentration, rate = nn.softplus(convert_to_tensor(concentration)), nn.softplus(convert_to_tensor(rate))
            super().__init__(concentration, rate, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """An InverseGamma whose parameters are softplus of these."""

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True,
                 name="InverseGammaWithSoftplusConcentrationRate"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            concentration, rate = nn.softplus(convert_to_tensor(concentration)), nn.softplus(convert_to_tensor(rate))
            super().__init__(concentration, rate, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class LaplaceWithSoftplusScale(Laplace):
    """A Laplace whose scale is softplus(scale)."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="LaplaceWithSoftplusScale"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            super().__init__(loc, nn.softplus(convert_to_tensor(scale)), validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)


class StudentTWithAbsDfSoftplusScale(StudentT):
    """A StudentT with floor(|df|) degrees of freedom and the scale softplus(scale)."""

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentTWithAbsDfSoftplusScale"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            df, scale = math.floor(math.abs(convert_to_tensor(df))), nn.softplus(convert_to_tensor(scale))
            super().__init__(df, loc, scale, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)
