"""Distributions of counts, and of a single value."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    new_seed,
    own_arguments,
    parameter,
    same_dtype,
    sized,
)
from regrad.distributions.discrete import logits_and_probs
from regrad.ops import array, math, nn, special
from regrad.ops.check import assert_non_negative, assert_positive
from regrad.ops.compare import less_equal, logical_and, where_v2
from regrad.ops.generate import range as sequence
from regrad.ops.random import random_gamma, random_poisson, random_uniform
from regrad.ops.reduce import reduce_all, reduce_max, reduce_sum


def _log_choose(n, k):
    return special.lgamma(n + 1.0) - special.lgamma(k + 1.0) - special.lgamma(n - k + 1.0)


class Poisson(Distribution):
    """The Poisson distribution of counts, P(k) = rate^k exp(-rate) / k!.

    Args:
      rate: positive floating tensor; or
      log_rate: its logarithm.
      interpolate_nondiscrete: give the formula's value at numbers that are no counts too; False: the floor's cdf, and 0
        probability.
      validate_args: check that the rate is positive, and that values are not negative.
      allow_nan_stats: accepted: all statistics are defined.

    Raises:
      ValueError: both are given, or none.
    """

    _batch_parameters = (("_log_rate", 0),)

    def __init__(self, rate=None, log_rate=None, interpolate_nondiscrete=True, validate_args=False, allow_nan_stats=True,
                 name="Poisson"):
        parameters = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with get_default_graph().name_scope(name) as name:
            if rate is None:
                self._log_rate = parameter(log_rate, "log_rate")
                self._rate = math.exp(self._log_rate)
            else:
                self._rate = parameter(rate, "rate", *[assert_positive] * validate_args)
                self._log_rate = math.log(self._rate)
        self._interpolate = interpolate_nondiscrete
        super().__init__(self._rate.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self._rate], name)

    rate = property(lambda self: self._rate, doc="The mean.")
    log_rate = property(lambda self: self._log_rate, doc="Its logarithm.")
    interpolate_nondiscrete = property(lambda self: self._interpolate, doc="Whether numbers that are no counts have a value.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"rate": sample_shape}

    def _sample_n(self, n, seed=None):
        return random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _checked(self, x):
        if not self.validate_args:
            return x
        with get_default_graph().control_dependencies([assert_non_negative(x)]):
            return array.identity(x)

    def _log_prob(self, x):
        x = self._checked(x)
        value = math.xlogy(x, self.rate) - special.lgamma(1.0 + x) - self.rate
        if self._interpolate:
            return value
        count = logical_and(x >= 0.0, less_equal(math.abs(x - math.floor(x)), 0.0))
        return where_v2(count, value, convert_to_tensor(-float("inf"), dtype=self.dtype))

    def _cdf(self, x):
        x = self._checked(x)
        x = math.maximum(x if self._interpolate else math.floor(x), convert_to_tensor(-1.0, dtype=self.dtype))
        both = array.zeros_like(x + self.rate)
        return special.igammac(x + 1.0 + both, self.rate + both)

    def _mean(self):
        return array.identity(self.rate)

    def _variance(self):
        return array.identity(self.rate)

    def _mode(self):
        return math.floor(self.rate)


class Binomial(Distribution):
    """How many of `total_count` trials succeed.

    Args:
      total_count: floating tensor of counts.
      logits: log(p / (1 - p)); or
      probs: p.
      validate_args: check the parameters.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_total_count", 0), ("_probs", 0))

    def __init__(self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Binomial"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._total_count = parameter(total_count, "total_count", *[assert_non_negative] * validate_args)
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            same_dtype(self._total_count, self._probs)
            self._batch_shape()
        super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._total_count, self._logits, self._probs], name)

    total_count = property(lambda self: self._total_count, doc="The number of trials.")
    logits = property(lambda self: self._logits, doc="log(p / (1 - p)).")
    probs = property(lambda self: self._probs, doc="The probability of a success.")

    def _sample_n(self, n, seed=None):
        trials = math.cast(reduce_max(self._total_count), dtypes.int32)
        shape = sized(n, self.batch_shape_tensor())
        u = random_uniform(array.concat([[trials], shape], 0), dtype=self.dtype, seed=seed)
        order = array.reshape(sequence(trials), array.concat([[trials], array.ones_like(shape)], 0))
        counts = logical_and(u < self._probs, math.cast(order, self.dtype) < self._total_count)
        return reduce_sum(math.cast(counts, self.dtype), 0)

    def _log_prob(self, k):
        n = self._total_count
        # log p = -softplus(-logit), log(1 - p) = -softplus(logit)
        return _log_choose(n, k) - k * nn.softplus(-self._logits) - (n - k) * nn.softplus(self._logits)

    def _mean(self):
        return self._total_count * self._probs

    def _variance(self):
        return self._mean() * (1.0 - self._probs)

    def _mode(self):
        return math.floor((1.0 + self._total_count) * self._probs)


class NegativeBinomial(Distribution):
    """How many successes, of probability p each, come before `total_count` failures.

    Args:
      total_count: positive floating tensor.
      logits: log(p / (1 - p)); or
      probs: p.
      validate_args: check the parameters.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_total_count", 0), ("_probs", 0))

    def __init__(self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True,
                 name="NegativeBinomial"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            self._total_count = parameter(total_count, "total_count", *[assert_positive] * validate_args)
            same_dtype(self._total_count, self._probs)
            self._batch_shape()
        super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._total_count, self._probs, self._logits], name)

    total_count = property(lambda self: self._total_count, doc="The number of failures.")
    logits = property(lambda self: self._logits, doc="log(p / (1 - p)).")
    probs = property(lambda self: self._probs, doc="The probability of a success.")

    def _sample_n(self, n, seed=None):
        # A Poisson count of a rate that is Gamma(total_count, (1 - p) / p).
        rate = random_gamma([n], self._total_count + array.zeros_like(self._logits), beta=math.exp(-self._logits),
                            dtype=self.dtype, seed=seed)
        return random_poisson(rate, [], dtype=self.dtype, seed=new_seed(seed, "negative_binom"))

    def _log_prob(self, k):
        r = self._total_count
        ways = special.lgamma(r + k) - special.lgamma(1.0 + k) - special.lgamma(r)
        return ways - r * nn.softplus(self._logits) - k * nn.softplus(-self._logits)

    def _cdf(self, k):
        both = array.zeros_like(self._total_count + k + self._probs)
        return special.betainc(self._total_count + both, 1.0 + k + both, math.sigmoid(-self._logits) + both)

    def _mean(self):
        return self._total_count * math.exp(self._logits)

    def _variance(self):
        return self._mean() / math.sigmoid(-self._logits)

    def _mode(self):
        adjusted = where_v2(self._total_count > 1.0, self._total_count - 1.0, array.zeros_like(self._total_count))
        return math.floor(adjusted * math.exp(self._logits))


class Geometric(Distribution):
    """How many failures come before the first success, P(k) = (1 - p)^k p.

    Args:
      logits: log(p / (1 - p)); or
      probs: p.
      validate_args: check the parameters and values.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_probs", 0),)

    def __init__(self, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Geometric"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
        super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._probs, self._logits], name)

    logits = property(lambda self: self._logits, doc="log(p / (1 - p)).")
    probs = property(lambda self: self._probs, doc="The probability of a success.")

    def _sample_n(self, n, seed=None):
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        u = random_uniform(sized(n, self.batch_shape_tensor()), tiny, 1.0, self.dtype, seed=seed)
        return math.floor(math.log(u) / math.log1p(-self._probs))

    def _log_prob(self, k):
        return math.xlogy(k, 1.0 - self._probs) + math.log(self._probs)

    def _cdf(self, k):
        k = math.floor(k)
        value = -math.expm1((1.0 + k) * math.log1p(-self._probs))
        return where_v2(k < 0.0, array.zeros_like(value), value)

    def _entropy(self):
        p = self._probs
        return (-math.xlogy(1.0 - p, 1.0 - p) - math.xlogy(p, p)) / p

    def _mean(self):
        return math.exp(-self._logits)

    def _variance(self):
        return self._mean() / self._probs

    def _mode(self):
        return array.zeros_like(self._probs)


class Deterministic(Distribution):
    """A single value: everything else has probability 0.

    Args:
      loc: the value, a tensor.
      atol, rtol: values as near as atol + rtol |loc| count as it.
      validate_args, allow_nan_stats: accepted.
    """

    _batch_parameters: tuple = (("_loc", 0),)

    def __init__(self, loc, atol=None, rtol=None, validate_args=False, allow_nan_stats=True, name="Deterministic"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._loc = convert_to_tensor(loc, name="loc")
            self._atol, self._rtol = (convert_to_tensor(0 if t is None else t, dtype=self._loc.dtype) for t in (atol, rtol))
            self._slack = self._atol if rtol is None else self._atol + self._rtol * math.abs(self._loc)
        super().__init__(self._loc.dtype, FULLY_REPARAMETERIZED if self._loc.dtype.is_floating else NOT_REPARAMETERIZED,
                         validate_args, allow_nan_stats, own_arguments(parameters), [self._loc], name)

    loc = property(lambda self: self._loc, doc="The value.")
    atol = property(lambda self: self._atol, doc="How far values may be that count as it.")
    rtol = property(lambda self: self._rtol, doc="How far they may be, of its size.")

    def _sample_n(self, n, seed=None):
        return self._loc + array.zeros(sized(n, array.ones_like(array.shape(self._loc))), self.dtype)

    def _there(self, x):
        return math.abs(x - self._loc) <= self._slack

    def _prob(self, x):
        return math.cast(self._there(x), self.dtype if self.dtype.is_floating else dtypes.float32)

    def _cdf(self, x):
        return math.cast(x >= self._loc - self._slack, self.dtype if self.dtype.is_floating else dtypes.float32)

    def _entropy(self):
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self):
        return array.identity(self._loc)

    _mode = _mean

    def _variance(self):
        return array.zeros_like(self._loc)


class VectorDeterministic(Deterministic):
    """A single vector, the last axis of `loc`; as Deterministic."""

    _batch_parameters = (("_loc", 1),)

    def __init__(self, loc, atol=None, rtol=None, validate_args=False, allow_nan_stats=True, name="VectorDeterministic"):
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _event_shape(self):
        return TensorShape([None] if self._loc.shape.ndims is None else self._loc.shape[-1:])

    def _event_shape_tensor(self):
        return array.shape(self._loc)[-1:]

    def _there(self, x):
        return reduce_all(super()._there(x), -1)

    def _cdf(self, x):
        self._missing("cdf")


@RegisterKL(Poisson, Poisson)
def _kl_poisson(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_poisson_poisson"):
        return a.rate * (a.log_rate - b.log_rate) + b.rate - a.rate


@RegisterKL(Deterministic, Distribution)
def _kl_deterministic(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_deterministic_distribution"):
        return -b.log_prob(a.loc)
