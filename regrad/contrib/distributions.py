"""`tf.contrib.distributions`: `tf.distributions`, and further ones that research programs used.

The relaxed ones are Maddison et al. 2017 (arXiv:1611.00712) and Jang et al. 2017 (arXiv:1611.01144).
"""

import math as numbers

import numpy as np

from regrad.contrib import bijectors  # noqa: F401 - part of this namespace
from regrad.contrib.counts import (  # noqa: F401
    Binomial,
    Deterministic,
    Geometric,
    NegativeBinomial,
    Poisson,
    VectorDeterministic,
)
from regrad.contrib.normals import (  # noqa: F401
    MultivariateNormalDiag,
    MultivariateNormalDiagPlusLowRank,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from regrad.contrib.positive import (  # noqa: F401
    Cauchy,
    Chi2,
    Chi2WithAbsDf,
    ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate,
    HalfNormal,
    InverseGamma,
    InverseGammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale,
)
from regrad.contrib.transformed import (  # noqa: F401
    ConditionalDistribution,
    ConditionalTransformedDistribution,
    Kumaraswamy,
    Mixture,
    QuantizedDistribution,
    TransformedDistribution,
)
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import int32
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.distributions import (  # noqa: F401 - part of this namespace
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Distribution,
    Exponential,
    Gamma,
    Laplace,
    Multinomial,
    Normal,
    RegisterKL,
    ReparameterizationType,
    StudentT,
    Uniform,
    kl_divergence,
)
from regrad.distributions.base import sized
from regrad.distributions.continuous import _LocationScale
from regrad.distributions.discrete import _Vector, logits_and_probs
from regrad.distributions.util import fill_triangular, fill_triangular_inverse, softplus_inverse  # noqa: F401
from regrad.ops import array, math, nn, special
from regrad.ops.indexing import one_hot
from regrad.ops.random import multinomial, random_uniform
from regrad.ops.reduce import argmax, reduce_logsumexp, reduce_sum


def _uniform(shape, dtype, seed):
    """Returns draws from the open interval (0, 1)."""
    return random_uniform(shape, np.finfo(dtype.as_numpy_dtype).tiny, 1.0, dtype, seed=seed)


class NormalWithSoftplusScale(Normal):
    """A Normal whose deviation is softplus(scale)."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="NormalWithSoftplusScale"):
        super().__init__(loc, nn.softplus(convert_to_tensor(scale)), validate_args, allow_nan_stats, name)
        self._parameters = {"loc": loc, "scale": scale, "validate_args": validate_args, "allow_nan_stats": allow_nan_stats,
                            "name": name}


class Logistic(_LocationScale):
    """The logistic distribution: P(X <= x) = sigmoid((x - loc) / scale); samples carry gradients to both."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Logistic"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        u = _uniform(self._noise_shape(n), self.dtype, seed)
        return self.loc + self.scale * (math.log(u) - math.log1p(-u))

    def _log_prob(self, x):
        z = self._z(x)
        return -z - 2.0 * nn.softplus(-z) - math.log(self.scale)

    def _cdf(self, x):
        return math.sigmoid(self._z(x))

    def _log_cdf(self, x):
        return -nn.softplus(-self._z(x))

    def _survival_function(self, x):
        return math.sigmoid(-self._z(x))

    def _log_survival_function(self, x):
        return -nn.softplus(self._z(x))

    def _entropy(self):
        return 2.0 + math.log(self.scale * array.ones_like(self.loc))

    def _stddev(self):
        return self.scale * array.ones_like(self.loc) * numbers.pi / numbers.sqrt(3.0)


class Gumbel(_LocationScale):
    """The Gumbel distribution: P(X <= x) = exp(-exp(-(x - loc) / scale)); samples carry gradients to both."""

    def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name="Gumbel"):
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return self.loc - self.scale * math.log(-math.log(_uniform(self._noise_shape(n), self.dtype, seed)))

    def _log_prob(self, x):
        z = self._z(x)
        return -z - math.exp(-z) - math.log(self.scale)

    def _log_cdf(self, x):
        return -math.exp(-self._z(x))

    def _entropy(self):
        return 1.0 + math.log(self.scale * array.ones_like(self.loc)) + np.euler_gamma

    def _mean(self):
        return self.loc + self.scale * np.euler_gamma

    def _stddev(self):
        return self.scale * array.ones_like(self.loc) * numbers.pi / numbers.sqrt(6.0)

    def _mode(self):
        return self.loc * array.ones_like(self.scale)


class _OfClasses(_Vector):
    """What distributions over vectors of class probabilities share."""

    _batch_parameters = (("_logits", 1),)

    logits = property(lambda self: self._logits, doc="Unnormalised log-probabilities.")
    probs = property(lambda self: self._probs, doc="Probabilities.")

    def _noise(self, n, seed):
        return -math.log(-math.log(_uniform(sized(n, array.shape(self._logits)), self._logits.dtype, seed)))


class OneHotCategorical(_OfClasses):
    """The distribution of a class out of k as a vector that is 1 there.

    Args:
      logits: unnormalised log-probabilities, a floating tensor [..., k]; or
      probs: probabilities.
      dtype: of samples.
    """

    def __init__(self, logits=None, probs=None, dtype=int32, validate_args=False, allow_nan_stats=True,
                 name="OneHotCategorical"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
        super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [self._logits], name)

    def _sample_n(self, n, seed=None):
        k = self.event_shape_tensor()[0]
        drawn = multinomial(array.reshape(self.logits, array.stack([-1, k])), n, seed=seed)
        return one_hot(array.reshape(array.transpose(drawn), sized(n, self.batch_shape_tensor())), k, dtype=self.dtype)

    def _log_prob(self, x):
        return reduce_sum(math.cast(x, self.logits.dtype) * nn.log_softmax(self.logits), -1)

    def _entropy(self):
        return -reduce_sum(math.mul_no_nan(nn.log_softmax(self.logits), self.probs), -1)

    def _mean(self):
        return array.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _covariance(self):
        return self._spread(array.ones_like(self.probs[..., 0]), self.probs)

    def _mode(self):
        return one_hot(argmax(self.logits, -1), self.event_shape_tensor()[0], dtype=self.dtype)


class ExpRelaxedOneHotCategorical(_OfClasses):
    """The logarithm of a RelaxedOneHotCategorical: log_softmax((logits + Gumbel noise) / temperature).

    Args:
      temperature: positive scalar, or a tensor [...] of the batch.
      logits: unnormalised log-probabilities [..., k]; or
      probs: probabilities.
    """

    def __init__(self, temperature, logits=None, probs=None, dtype=None, validate_args=False, allow_nan_stats=True,
                 name="ExpRelaxedOneHotCategorical"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            self._temperature = convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
            wide = self._temperature
            self._wide_temperature = array.expand_dims(wide, -1) if wide.rank else wide
        super().__init__(self._logits.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._logits, self._temperature], name)

    temperature = property(lambda self: self._temperature, doc="Towards 0 samples become one class.")

    def _sample_n(self, n, seed=None):
        return nn.log_softmax((self.logits + self._noise(n, seed)) / self._wide_temperature)

    def _log_prob(self, x):
        # Maddison et al., equation 24, in logarithms.
        k = math.cast(self.event_shape_tensor()[0], self.dtype)
        scores = nn.log_softmax(self.logits - x * self._wide_temperature)
        return special.lgamma(k) + (k - 1.0) * math.log(self._temperature) + reduce_sum(scores, -1)


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """A continuous distribution over probabilities near one class: softmax((logits + Gumbel noise) / temperature).

    Samples carry gradients (Gumbel-softmax).

    Args:
      temperature: positive scalar, or a tensor [...] of the batch.
      logits: unnormalised log-probabilities [..., k]; or
      probs: probabilities.
    """

    def __init__(self, temperature, logits=None, probs=None, dtype=None, validate_args=False, allow_nan_stats=True,
                 name="RelaxedOneHotCategorical"):
        super().__init__(temperature, logits, probs, dtype, validate_args, allow_nan_stats, name)

    def _sample_n(self, n, seed=None):
        return nn.softmax((self.logits + self._noise(n, seed)) / self._wide_temperature)

    def _log_prob(self, x):
        return super()._log_prob(math.log(x)) - reduce_sum(math.log(x), -1)


class RelaxedBernoulli(Distribution):
    """A continuous distribution on (0, 1) near 0 and 1: sigmoid((logits + logistic noise) / temperature).

    Args:
      temperature: positive floating tensor that broadcasts with the batch.
      logits: log(p / (1 - p)); or
      probs: p.
    """

    _batch_parameters = (("_temperature", 0), ("_logits", 0))

    def __init__(self, temperature, logits=None, probs=None, validate_args=False, allow_nan_stats=True,
                 name="RelaxedBernoulli"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            self._temperature = convert_to_tensor(temperature, dtype=self._logits.dtype, name="temperature")
        super().__init__(self._logits.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._logits, self._temperature], name)

    logits = property(lambda self: self._logits, doc="log(p / (1 - p)).")
    probs = property(lambda self: self._probs, doc="The probability of 1, at temperature 0.")
    temperature = property(lambda self: self._temperature, doc="Towards 0 samples become 0 and 1.")

    def _sample_n(self, n, seed=None):
        u = _uniform(sized(n, self.batch_shape_tensor()), self.dtype, seed)
        return math.sigmoid((self.logits + math.log(u) - math.log1p(-u)) / self._temperature)

    def _log_prob(self, x):
        # Of y = log(x / (1 - x)), logistic with middle logits / t and width 1 / t; dy/dx = 1 / (x (1 - x)).
        z = self._temperature * (math.log(x) - math.log1p(-x)) - self.logits
        return math.log(self._temperature) - z - 2.0 * nn.softplus(-z) - math.log(x) - math.log1p(-x)


class Independent(Distribution):
    """A distribution whose last batch axes count as part of the event.

    Args:
      distribution: a Distribution.
      reinterpreted_batch_ndims: how many axes; by default all but the first.
    """

    def __init__(self, distribution, reinterpreted_batch_ndims=None, validate_args=False, name=None):
        parameters = dict(locals())
        rank = distribution.batch_shape.ndims
        if rank is None:
            raise ValueError("Independent: the rank of the distribution's batch must be known.")
        self._axes = max(0, rank - 1) if reinterpreted_batch_ndims is None else int(reinterpreted_batch_ndims)
        if self._axes > rank:
            raise ValueError(f"Independent: reinterpreted_batch_ndims ({self._axes}) is more than the batch has, {rank}.")
        self._own = distribution
        super().__init__(distribution.dtype, distribution.reparameterization_type, validate_args,
                         distribution.allow_nan_stats, parameters, name=name or "Independent" + distribution.name)

    distribution = property(lambda self: self._own, doc="The distribution of the parts.")
    reinterpreted_batch_ndims = property(lambda self: self._axes, doc="How many batch axes are part of the event.")

    def _batch_shape(self):
        shape = self._own.batch_shape
        return shape[:shape.ndims - self._axes]

    def _batch_shape_tensor(self):
        return self._own.batch_shape_tensor()[:self._own.batch_shape.ndims - self._axes]

    def _event_shape(self):
        shape = self._own.batch_shape
        return shape[shape.ndims - self._axes:].concatenate(self._own.event_shape)

    def _event_shape_tensor(self):
        last = self._own.batch_shape_tensor()[self._own.batch_shape.ndims - self._axes:]
        return array.concat([last, self._own.event_shape_tensor()], 0)

    def _summed(self, x):
        return reduce_sum(x, list(range(-self._axes, 0))) if self._axes else x

    def _sample_n(self, n, seed=None):
        return self._own.sample(n, seed)

    def _log_prob(self, x):
        return self._summed(self._own.log_prob(x))

    def _entropy(self):
        return self._summed(self._own.entropy())

    def _mean(self):
        return self._own.mean()

    def _variance(self):
        return self._own.variance()

    def _stddev(self):
        return self._own.stddev()

    def _mode(self):
        return self._own.mode()


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch axis of `components_distribution`.

    Args:
      mixture_distribution: a Categorical with as many classes.
      components_distribution: a Distribution whose last batch axis are the components.
    """

    def __init__(self, mixture_distribution, components_distribution, validate_args=False, allow_nan_stats=True,
                 name="MixtureSameFamily"):
        parameters = dict(locals())
        self._mixture, self._components = mixture_distribution, components_distribution
        super().__init__(components_distribution.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         name=name)

    mixture_distribution = property(lambda self: self._mixture, doc="Which component.")
    components_distribution = property(lambda self: self._components, doc="The components.")

    def _batch_shape(self):
        return self._components.batch_shape[:-1]

    def _batch_shape_tensor(self):
        return self._components.batch_shape_tensor()[:-1]

    def _event_shape(self):
        return TensorShape(self._components.event_shape)

    def _event_shape_tensor(self):
        return self._components.event_shape_tensor()

    def _axis(self):
        return -1 - self._components.event_shape.ndims

    def _weighted(self, x):
        weights = self._mixture.probs
        for _ in range(self._components.event_shape.ndims):
            weights = array.expand_dims(weights, -1)
        return reduce_sum(weights * x, self._axis())

    def _sample_n(self, n, seed=None):
        draws = self._components.sample(n, seed)
        chosen = one_hot(self._mixture.sample(n, seed), array.shape(self._mixture.probs)[-1], dtype=self.dtype)
        chosen += array.zeros(sized(n, self._components.batch_shape_tensor()), self.dtype)
        for _ in range(self._components.event_shape.ndims):
            chosen = array.expand_dims(chosen, -1)
        return reduce_sum(chosen * draws, self._axis())

    def _log_prob(self, x):
        each = self._components.log_prob(array.expand_dims(x, self._axis()))
        return reduce_logsumexp(nn.log_softmax(self._mixture.logits) + each, -1)

    def _mean(self):
        return self._weighted(self._components.mean())

    def _variance(self):
        mean = array.expand_dims(self._mean(), self._axis())
        return self._weighted(self._components.variance() + math.square(self._components.mean() - mean))


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_classes(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_categorical_categorical"):
        difference = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return reduce_sum(math.mul_no_nan(difference, a.probs), -1)


@RegisterKL(Independent, Independent)
def _kl_independent(a, b, name=None):
    if a.reinterpreted_batch_ndims != b.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of two Independent: their events must have as many axes of the batch.")
    return a._summed(kl_divergence(a.distribution, b.distribution, name=name))


