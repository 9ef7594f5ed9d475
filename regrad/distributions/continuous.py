"""Distributions of numbers: Normal, Uniform, Laplace, Exponential, Gamma, Beta, StudentT, and their divergences.

Formulas: Johnson, Kotz, Balakrishnan, "Continuous Univariate Distributions", 2nd edition.
"""

import math as numbers

import numpy as np

from regrad.core.graph import get_default_graph
from regrad.distributions.base import (
    FULLY_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    new_seed,
    own_arguments,
    parameter,
    same_dtype,
    sized,
)
from regrad.ops import array, math, special
from regrad.ops.check import assert_less, assert_positive
from regrad.ops.compare import greater_equal, less, logical_and, logical_or, where_v2
from regrad.ops.random import random_gamma, random_normal, random_uniform

_LOG_2PI = numbers.log(2.0 * numbers.pi)


# -- functions of the normal distribution -----------------------------------------------------------------
def ndtr(x):
    """Returns P(X <= x) for a standard normal X."""
    return 0.5 * special.erfc(x * -numbers.sqrt(0.5))


def log_ndtr(x):
    """Returns log P(X <= x) for a standard normal X, exact in both tails."""
    far = -20.0 if x.dtype.size > 4 else -10.0  # below it the asymptotic series is exact
    ones = array.ones_like(x)
    right = math.log1p(-ndtr(-math.maximum(x, 0.0 * ones)))
    middle = math.log(ndtr(math.minimum(math.maximum(x, far * ones), 0.0 * ones)))
    tail = math.minimum(x, far * ones)
    square, term, series = math.square(tail), ones, ones
    for odd in (1, 3, 5, 7, 9):  # 1 - 1/x^2 + 1*3/x^4 - 1*3*5/x^6 ...
        term = -odd * term / square
        series += term
    left = -0.5 * square - math.log(-tail) - 0.5 * _LOG_2PI + math.log(series)
    return where_v2(x > 0.0, right, where_v2(x < far, left, middle))


def _lbeta(a, b):
    return special.lgamma(a) + special.lgamma(b) - special.lgamma(a + b)


class _LocationScale(Distribution):
    """What Normal, Laplace and others share: X = loc + scale Z."""

    _batch_parameters = (("_loc", 0), ("_scale", 0))

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name=None):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._loc = parameter(loc, "loc")
            self._scale = parameter(scale, "scale", *[assert_positive] * validate_args)
            same_dtype(self._loc, self._scale)
            self._batch_shape()  # they broadcast
        super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._loc, self._scale], name)

    loc = property(lambda self: self._loc, doc="The place of the middle.")
    scale = property(lambda self: self._scale, doc="How wide it is.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"loc": sample_shape, "scale": sample_shape}

    def _z(self, x):
        return (x - self.loc) / self.scale

    def _mean(self):
        return self.loc * array.ones_like(self.scale)

    def _mode(self):
        return self._mean()

    def _noise_shape(self, n):
        return sized(n, self.batch_shape_tensor())


class Normal(_LocationScale):
    """The normal distribution with mean `loc` and standard deviation `scale`; samples carry gradients to both.

    Args:
      loc, scale: floating tensors of one dtype that broadcast; scale positive.
      validate_args: check that scale is positive.
      allow_nan_stats: accepted: all statistics are defined.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Normal"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return random_normal(self._noise_shape(n), dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x):
        return -0.5 * math.square(self._z(x)) - (0.5 * _LOG_2PI + math.log(self.scale))

    def _cdf(self, x):
        return ndtr(self._z(x))

    def _log_cdf(self, x):
        return log_ndtr(self._z(x))

    def _survival_function(self, x):
        return ndtr(-self._z(x))

    def _log_survival_function(self, x):
        return log_ndtr(-self._z(x))

    def _quantile(self, p):
        return special.ndtri(p) * self.scale + self.loc

    def _entropy(self):
        return 0.5 + 0.5 * _LOG_2PI + math.log(self.scale * array.ones_like(self.loc))

    def _stddev(self):
        return self.scale * array.ones_like(self.loc)


class Laplace(_LocationScale):
    """The Laplace distribution, density exp(-|x - loc| / scale) / (2 scale); samples carry gradients to both.

    Args:
      loc, scale: floating tensors of one dtype that broadcast; scale positive.
      validate_args: check that scale is positive.
      allow_nan_stats: accepted: all statistics are defined.
    """

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Laplace"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        # From the open interval (-1, 1): log1p(-1) would be infinite.
        lowest = np.nextafter(self.dtype.as_numpy_dtype(-1.0), self.dtype.as_numpy_dtype(0.0))
        u = random_uniform(self._noise_shape(n), lowest, 1.0, self.dtype, seed=seed)
        return self.loc - self.scale * math.sign(u) * math.log1p(-math.abs(u))

    def _log_prob(self, x):
        return -math.abs(self._z(x)) - (numbers.log(2.0) + math.log(self.scale))

    def _prob(self, x):
        return 0.5 * math.exp(-math.abs(self._z(x))) / self.scale

    def _cdf(self, x):
        z = self._z(x)
        return 0.5 + 0.5 * math.sign(z) * (1.0 - math.exp(-math.abs(z)))

    def _log_cdf(self, x):
        return _log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x):
        return _log_cdf_laplace(-self._z(x))

    def _entropy(self):
        return numbers.log(2.0) + 1.0 + math.log(self.scale * array.ones_like(self.loc))

    def _stddev(self):
        return numbers.sqrt(2.0) * self.scale * array.ones_like(self.loc)

    def _median(self):
        return self._mean()


def _log_cdf_laplace(z):
    down = -math.abs(z)
    return where_v2(z < 0.0, down - numbers.log(2.0), math.log1p(-0.5 * math.exp(down)))


class Uniform(Distribution):
    """The uniform distribution on [low, high); samples carry gradients to both.

    Args:
      low, high: floating tensors of one dtype that broadcast; low < high.
      validate_args: check that low < high.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_low", 0), ("_high", 0))

    def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name="Uniform"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            checks = [assert_less(low, high, message="uniform not defined when low >= high.")] if validate_args else []
            with get_default_graph().control_dependencies(checks):
                self._low, self._high = parameter(low, "low"), parameter(high, "high")
            same_dtype(self._low, self._high)
            self._batch_shape()
        super().__init__(self._low.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._low, self._high], name)

    low = property(lambda self: self._low, doc="The smallest value.")
    high = property(lambda self: self._high, doc="What all values are below.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"low": sample_shape, "high": sample_shape}

    def range(self, name="range"):
        """Returns high - low."""
        with self._scope(name):
            return self.high - self.low

    def _sample_n(self, n, seed=None):
        u = random_uniform(sized(n, self.batch_shape_tensor()), dtype=self.dtype, seed=seed)
        return self.low + self.range() * u

    def _prob(self, x):
        zeros = array.zeros_like(x + self.low)
        outside = logical_or(less(x, self.low), greater_equal(x, self.high))
        return where_v2(math.is_nan(x), x + zeros, where_v2(outside, zeros, array.ones_like(zeros) / self.range()))

    def _cdf(self, x):
        zeros = array.zeros_like(x + self.low + self.high)
        inside = where_v2(greater_equal(x, self.high), 1.0 + zeros, (x - self.low) / self.range())
        return where_v2(less(x, self.low), zeros, inside)

    def _entropy(self):
        return math.log(self.range())

    def _mean(self):
        return (self.low + self.high) / 2.0

    def _variance(self):
        return math.square(self.range()) / 12.0

    def _stddev(self):
        return self.range() / numbers.sqrt(12.0)


class _ConcentrationRate(Distribution):
    """What Gamma and its kin share: a positive shape parameter and a positive rate, of one dtype, that broadcast."""

    _batch_parameters = (("_concentration", 0), ("_rate", 0))

    def __init__(self, concentration, rate, validate_args, allow_nan_stats, name):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            checks = [assert_positive] * validate_args
            self._concentration = parameter(concentration, "concentration", *checks)
            self._rate = parameter(rate, "rate", *checks)
            same_dtype(self._concentration, self._rate)
            self._batch_shape()
        super().__init__(self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._concentration, self._rate], name)

    concentration = property(lambda self: self._concentration, doc="The shape parameter.")
    rate = property(lambda self: self._rate, doc="The rate: the inverse scale of X, or the scale of 1 / X.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"concentration": sample_shape, "rate": sample_shape}


class Gamma(_ConcentrationRate):
    """The gamma distribution, density rate^a x^(a - 1) exp(-rate x) / Gamma(a) with a = concentration.

    Samples carry gradients to both parameters (implicitly, Figurnov et al. 2018).

    Args:
      concentration, rate: positive floating tensors of one dtype that broadcast.
      validate_args: check that they and the values are positive.
      allow_nan_stats: the mode is not defined for concentrations of at most 1: NaN, or with False an error.
    """

    def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name="Gamma"):
        super().__init__(concentration, rate, validate_args, allow_nan_stats, name)

    def _checked(self, x):
        with get_default_graph().control_dependencies([assert_positive(x)] if self.validate_args else []):
            return array.identity(x) if self.validate_args else x

    def _sample_n(self, n, seed=None):
        return random_gamma([n], self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x):
        x = self._checked(x)
        return math.xlogy(self.concentration - 1.0, x) - self.rate * x - (
            special.lgamma(self.concentration) - self.concentration * math.log(self.rate))

    def _cdf(self, x):
        # igamma asks for equal shapes or scalars: multiplying by ones gives both the common one.
        rate_x = self.rate * self._checked(x)
        both = array.ones_like(self.concentration * rate_x)
        return special.igamma(self.concentration * both, rate_x * both)

    def _entropy(self):
        a = self.concentration
        return a - math.log(self.rate) + special.lgamma(a) + (1.0 - a) * special.digamma(a)

    def _mean(self):
        return self.concentration / self.rate

    def _variance(self):
        return self.concentration / math.square(self.rate)

    def _stddev(self):
        return math.sqrt(self.concentration) / self.rate

    def _mode(self):
        return self._where_defined(self.concentration > 1.0, (self.concentration - 1.0) / self.rate,
                                   "mode not defined when any concentration <= 1")


class Exponential(Gamma):
    """The exponential distribution, density rate exp(-rate x): a Gamma with concentration 1.

    Args:
      rate: positive floating tensor.
      validate_args: check that it and the values are positive.
      allow_nan_stats: the mode, as Gamma's, is not defined.
    """

    def __init__(self, rate, validate_args=False, allow_nan_stats=True, name="Exponential"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            rate = parameter(rate, "rate")
            super().__init__(array.ones_like(rate, name="concentration"), rate, validate_args, allow_nan_stats, name)
        self._parameters = own_arguments(parameters)

    @staticmethod
    def _param_shapes(sample_shape):
        return {"rate": sample_shape}

    def _sample_n(self, n, seed=None):
        # Not from 0, whose logarithm is infinite.
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        u = random_uniform(sized(n, array.shape(self.rate)), tiny, 1.0, self.dtype, seed=seed)
        return -math.log(u) / self.rate

    def _log_survival_function(self, x):
        return -self._checked(x) * self.rate


class Beta(Distribution):
    """The beta distribution on (0, 1), density x^(a - 1) (1 - x)^(b - 1) / B(a, b).

    Samples carry gradients to both parameters.

    Args:
      concentration1, concentration0: a and b, positive floating tensors that broadcast; 1 by default.
      validate_args: check that they are positive and values lie in (0, 1).
      allow_nan_stats: the mode is not defined unless a > 1 and b > 1: NaN, or with False an error.
    """

    _batch_parameters = (("_concentration1", 0), ("_concentration0", 0))

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, allow_nan_stats=True, name="Beta"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            checks = [assert_positive] * validate_args
            self._concentration1, self._concentration0 = (
                parameter(1.0 if c is None else c, n, *checks)
                for c, n in ((concentration1, "concentration1"), (concentration0, "concentration0")))
            same_dtype(self._concentration1, self._concentration0)
            self._total_concentration = self._concentration1 + self._concentration0
        super().__init__(self._total_concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._concentration1, self._concentration0, self._total_concentration], name)

    concentration1 = property(lambda self: self._concentration1, doc="The exponent of x, plus one.")
    concentration0 = property(lambda self: self._concentration0, doc="The exponent of 1 - x, plus one.")
    total_concentration = property(lambda self: self._total_concentration, doc="Their sum.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"concentration1": sample_shape, "concentration0": sample_shape}

    def _both(self):
        ones = array.ones_like(self.total_concentration)
        return self.concentration1 * ones, self.concentration0 * ones

    def _checked(self, x):
        if not self.validate_args:
            return x
        checks = [assert_positive(x, message="sample must be positive"),
                  assert_less(x, array.ones_like(x), message="sample must be less than `1`.")]
        with get_default_graph().control_dependencies(checks):
            return array.identity(x)

    def _sample_n(self, n, seed=None):
        a, b = self._both()
        x = random_gamma([n], a, dtype=self.dtype, seed=seed)
        y = random_gamma([n], b, dtype=self.dtype, seed=new_seed(seed, "beta"))
        return x / (x + y)

    def _log_prob(self, x):
        x = self._checked(x)
        a, b = self.concentration1, self.concentration0
        return math.xlogy(a - 1.0, x) + math.xlog1py(b - 1.0, -x) - _lbeta(a, b)

    def _cdf(self, x):
        ones = array.ones_like(self.total_concentration * x)
        return special.betainc(self.concentration1 * ones, self.concentration0 * ones, self._checked(x) * ones)

    def _entropy(self):
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (_lbeta(a, b) - (a - 1.0) * special.digamma(a) - (b - 1.0) * special.digamma(b)
                + (total - 2.0) * special.digamma(total))

    def _mean(self):
        return self.concentration1 / self.total_concentration

    def _variance(self):
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self):
        return self._where_defined(logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0),
                                   (self.concentration1 - 1.0) / (self.total_concentration - 2.0),
                                   "mode undefined unless concentration1 > 1 and concentration0 > 1")


class StudentT(Distribution):
    """Student's t-distribution with `df` degrees of freedom, moved by `loc` and widened by `scale`.

    Samples carry gradients to the parameters.

    Args:
      df, loc, scale: floating tensors of one dtype that broadcast; df and scale positive.
      validate_args: check that df is positive.
      allow_nan_stats: the mean is not defined for df <= 1, nor the variance: NaN, or with False an error.
    """

    _batch_parameters = (("_df", 0), ("_loc", 0), ("_scale", 0))

    def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name="StudentT"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._df = parameter(df, "df", *[assert_positive] * validate_args)
            self._loc, self._scale = parameter(loc, "loc"), parameter(scale, "scale")
            same_dtype(self._df, self._loc, self._scale)
            self._batch_shape()
        super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._df, self._loc, self._scale], name)

    df = property(lambda self: self._df, doc="The degrees of freedom.")
    loc = property(lambda self: self._loc, doc="The place of the middle.")
    scale = property(lambda self: self._scale, doc="How wide it is; not the standard deviation.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"df": sample_shape, "loc": sample_shape, "scale": sample_shape}

    def _ones(self):
        return array.ones(self.batch_shape_tensor(), self.dtype)

    def _sample_n(self, n, seed=None):
        # Z sqrt(df / V) with V of the chi-squared distribution, Gamma(df / 2, 1/2).
        z = random_normal(sized(n, self.batch_shape_tensor()), dtype=self.dtype, seed=seed)
        v = random_gamma([n], 0.5 * self.df * self._ones(), beta=0.5, dtype=self.dtype, seed=new_seed(seed, "student_t"))
        return z * math.rsqrt(v / self.df) * self.scale + self.loc

    def _log_prob(self, x):
        z, df = (x - self.loc) / self.scale, self.df
        return -0.5 * (df + 1.0) * math.log1p(math.square(z) / df) - (
            math.log(math.abs(self.scale)) + 0.5 * math.log(df) + 0.5 * numbers.log(numbers.pi)
            + special.lgamma(0.5 * df) - special.lgamma(0.5 * (df + 1.0)))

    def _cdf(self, x):
        # P(|T| > |z|) is the regularised incomplete beta function of df / (df + z^2).
        z = (x - self.loc) / math.abs(self.scale)
        both = array.ones_like(z * self.df)
        tail = 0.5 * special.betainc(0.5 * self.df * both, 0.5 * both, self.df / (math.square(z) + self.df) * both)
        return where_v2(z < 0.0, tail, 1.0 - tail)

    def _entropy(self):
        df = self.df * self._ones()
        half = 0.5 * (df + 1.0)
        return (math.log(math.abs(self.scale)) + 0.5 * math.log(df) + _lbeta(0.5 * df, 0.5 * array.ones_like(df))
                + half * (special.digamma(half) - special.digamma(0.5 * df)))

    def _mean(self):
        return self._where_defined(self.df > 1.0, self.loc * self._ones(), "mean not defined for components of df <= 1")

    def _variance(self):
        # Infinite for 1 < df <= 2.
        finite = self.df > 2.0
        df = where_v2(finite, self.df, 3.0 * array.ones_like(self.df))
        variance = where_v2(finite, self._ones() * math.square(self.scale) * df / (df - 2.0), np.inf * self._ones())
        return self._where_defined(self.df > 1.0, variance, "variance not defined for components of df <= 1")

    def _mode(self):
        return array.identity(self.loc)


# -- divergences ------------------------------------------------------------------------------------------
@RegisterKL(Normal, Normal)
def _kl_normal(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_normal_normal"):
        ratio = math.square(a.scale / b.scale)
        return math.square(a.loc - b.loc) / (2.0 * math.square(b.scale)) + 0.5 * (ratio - 1.0 - math.log(ratio))


@RegisterKL(Gamma, Gamma)
def _kl_gamma(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_gamma_gamma"):
        return ((a.concentration - b.concentration) * special.digamma(a.concentration)
                + special.lgamma(b.concentration) - special.lgamma(a.concentration)
                + b.concentration * (math.log(a.rate) - math.log(b.rate)) + a.concentration * (b.rate / a.rate - 1.0))


@RegisterKL(Beta, Beta)
def _kl_beta(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_beta_beta"):
        return (_lbeta(b.concentration1, b.concentration0) - _lbeta(a.concentration1, a.concentration0)
                + (a.concentration1 - b.concentration1) * special.digamma(a.concentration1)
                + (a.concentration0 - b.concentration0) * special.digamma(a.concentration0)
                + (b.total_concentration - a.total_concentration) * special.digamma(a.total_concentration))
