"""Distributions made of others: transformed, quantised, mixed."""

import numpy as np

from regrad.contrib import bijectors
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape, dimension_value
from regrad.distributions.base import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    new_seed,
    same_dtype,
    sized,
)
from regrad.ops import array, math, nn, special
from regrad.ops.compare import where_v2
from regrad.ops.indexing import one_hot
from regrad.ops.random import random_uniform
from regrad.ops.reduce import reduce_logsumexp, reduce_prod, reduce_sum

#: Distributions whose methods take further arguments by name: every one does.
ConditionalDistribution = Distribution


class TransformedDistribution(Distribution):
    """The distribution of Y = bijector.forward(X), X drawn from another: p(y) = p(x) |det dx/dy|.

    Args:
      distribution: of X.
      bijector: a Bijector; the identity by default.
      batch_shape: makes a batch of independent copies of a distribution that is no batch.
      event_shape: makes events of independent draws of a distribution of numbers.
      validate_args: accepted.
      name: by default of both.
    """

    def __init__(self, distribution, bijector=None, batch_shape=None, event_shape=None, validate_args=False, name=None):
        parameters = dict(locals())
        self._own, self._bijector = distribution, bijectors.Identity() if bijector is None else bijector
        with get_default_graph().name_scope(name or self._bijector.name + distribution.name.rstrip("/").split("/")[-1]) as name:
            self._batch, self._event = (None if shape is None else convert_to_tensor(shape, dtype=dtypes.int32, name=what)
                                        for shape, what in ((batch_shape, "batch_shape"), (event_shape, "event_shape")))
        for what, shape, base in (("batch", self._batch, distribution.batch_shape), ("event", self._event,
                                                                                      distribution.event_shape)):
            if shape is not None and base.ndims != 0:
                raise ValueError(f"TransformedDistribution: {what}_shape is for a base distribution with scalar {what}; it is "
                                 f"{base}.")
        super().__init__(distribution.dtype, distribution.reparameterization_type, validate_args, distribution.allow_nan_stats,
                         parameters, name=name)

    distribution = property(lambda self: self._own, doc="The distribution of X.")
    bijector = property(lambda self: self._bijector, doc="The function.")

    @staticmethod
    def _static(shape):
        known = shape.value()
        return TensorShape([None] * dimension_value(shape.shape[0]) if known is None else [int(n) for n in known])

    def _base_event(self):
        return self._own.event_shape if self._event is None else self._static(self._event)

    def _base_event_tensor(self):
        return self._own.event_shape_tensor() if self._event is None else self._event

    def _event_shape(self):
        return self._bijector.forward_event_shape(self._base_event())

    def _event_shape_tensor(self):
        return self._bijector.forward_event_shape_tensor(self._base_event_tensor())

    def _batch_shape(self):
        return self._own.batch_shape if self._batch is None else self._static(self._batch)

    def _batch_shape_tensor(self):
        return self._own.batch_shape_tensor() if self._batch is None else self._batch

    def _sample_n(self, n, seed=None, bijector_kwargs=None, distribution_kwargs=None):
        # Draws [n] + batch + event, of which the base distribution's own batch stands behind a new event: it goes before.
        new = [s for s in (self._batch, self._event) if s is not None]
        x = self._own.sample(sized(n, *new), seed=seed, **(distribution_kwargs or {}))
        own = self._own.batch_shape.ndims
        if self._event is not None and self._batch is None and own != 0:
            if own is None:
                raise ValueError("TransformedDistribution: the rank of the batch must be known.")
            count = dimension_value(self._event.shape[0])
            x = array.transpose(x, [0, *range(1 + count, 1 + count + own), *range(1, 1 + count)])
        return x

    def _finished(self, draws, bijector_kwargs=None, distribution_kwargs=None):
        # The bijector knows the image of what is returned, so that `log_prob` of it is exact.
        return self._bijector.forward(draws, **(bijector_kwargs or {}))

    def _ndims(self):
        count = self.event_shape.ndims
        if count is None:
            raise ValueError(f"{self.name}: the rank of events must be known.")
        return count

    def _over_new_event(self, x):
        return x if self._event is None else reduce_sum(x, list(range(-dimension_value(self._event.shape[0]), 0)))

    def _log_prob(self, y, bijector_kwargs=None, distribution_kwargs=None):
        kwargs = bijector_kwargs or {}
        x = self._bijector.inverse(y, **kwargs)
        slope = self._bijector.inverse_log_det_jacobian(y, event_ndims=self._ndims(), **kwargs)
        return self._over_new_event(self._own.log_prob(x, **(distribution_kwargs or {}))) + slope

    def _of_base(self, method, y, bijector_kwargs=None, distribution_kwargs=None):
        if self._event is not None or self._ndims():
            self._missing(method)
        x = self._bijector.inverse(y, **(bijector_kwargs or {}))
        return getattr(self._own, method)(x, **(distribution_kwargs or {}))

    def _cdf(self, y, **kwargs):
        return self._of_base("cdf", y, **kwargs)

    def _log_cdf(self, y, **kwargs):
        return self._of_base("log_cdf", y, **kwargs)

    def _survival_function(self, y, **kwargs):
        return self._of_base("survival_function", y, **kwargs)

    def _log_survival_function(self, y, **kwargs):
        return self._of_base("log_survival_function", y, **kwargs)

    def _quantile(self, value, bijector_kwargs=None, distribution_kwargs=None):
        if self._event is not None or self._ndims():
            self._missing("quantile")
        return self._bijector.forward(self._own.quantile(value, **(distribution_kwargs or {})), **(bijector_kwargs or {}))

    def _entropy(self):
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        value = self._own.entropy()
        if self._event is not None:
            value = value * math.cast(reduce_prod(self._event), value.dtype)
        if self._batch is not None:
            value = value + array.zeros(self._batch, value.dtype)
        anywhere = array.zeros(array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), self.dtype)
        return value - self._bijector.inverse_log_det_jacobian(anywhere, event_ndims=self._ndims())

    def _mean(self):
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("mean is not implemented for non-linear bijectors")
        x = self._own.mean()
        new = [s for s in (self._batch, self._event) if s is not None]
        if new:
            wide = array.concat([self.batch_shape_tensor(), self._base_event_tensor()], 0)
            if self._event is not None:
                x = array.reshape(x, array.concat([array.shape(x), array.ones_like(self._event)], 0))
            x = x + array.zeros(wide, x.dtype)
        return self._bijector.forward(x)


#: Its `sample`, `log_prob` ... take bijector_kwargs and distribution_kwargs, as every TransformedDistribution's do.
ConditionalTransformedDistribution = TransformedDistribution


class QuantizedDistribution(Distribution):
    """The distribution of ceil(X), clipped to [low, high].

    Args:
      distribution: of X, numbers; it has a cdf.
      low, high: whole numbers, tensors; by default there are no ends.
      validate_args: accepted.
    """

    def __init__(self, distribution, low=None, high=None, validate_args=False, name="QuantizedDistribution"):
        parameters = dict(locals())
        self._own = distribution
        with get_default_graph().name_scope(name) as name:
            self._low, self._high = (None if t is None else math.ceil(convert_to_tensor(t, dtype=distribution.dtype, name=what))
                                     for t, what in ((low, "low"), (high, "high")))
        super().__init__(distribution.dtype, NOT_REPARAMETERIZED, validate_args, distribution.allow_nan_stats, parameters,
                         name=name)

    distribution = property(lambda self: self._own, doc="The distribution of X.")
    low = property(lambda self: self._low, doc="The lowest value, or None.")
    high = property(lambda self: self._high, doc="The highest value, or None.")

    def _batch_shape(self):
        return self._own.batch_shape

    def _batch_shape_tensor(self):
        return self._own.batch_shape_tensor()

    def _event_shape(self):
        return self._own.event_shape

    def _event_shape_tensor(self):
        return self._own.event_shape_tensor()

    def _sample_n(self, n, seed=None):
        y = math.ceil(self._own.sample(n, seed))
        y = y if self._low is None else math.maximum(y, self._low)
        return y if self._high is None else math.minimum(y, self._high)

    def _ended(self, y, value, below, above):
        """Returns `value` between the ends, `below` under the lower one and `above` from the upper one on."""
        if self._low is not None:
            value = where_v2(y < self._low, convert_to_tensor(below, dtype=value.dtype), value)
        if self._high is not None:
            value = where_v2(y >= self._high, convert_to_tensor(above, dtype=value.dtype), value)
        return value

    def _log_cdf(self, y):
        y = math.floor(y)
        return self._ended(y, self._own.log_cdf(y), -np.inf, 0.0)

    def _cdf(self, y):
        y = math.floor(y)
        return self._ended(y, self._own.cdf(y), 0.0, 1.0)

    def _log_survival_function(self, y):
        y = math.floor(y)
        return self._ended(y, self._own.log_survival_function(y), 0.0, -np.inf)

    def _survival_function(self, y):
        y = math.floor(y)
        return self._ended(y, self._own.survival_function(y), 1.0, 0.0)

    def _log_prob(self, y):
        # log(P(Y <= y) - P(Y <= y - 1)), or of what is above, whichever is the smaller number.
        below, below_before = self._log_cdf(y), self._log_cdf(y - 1.0)
        above, above_before = self._log_survival_function(y), self._log_survival_function(y - 1.0)
        right = above < below
        large, small = where_v2(right, above_before, below), where_v2(right, above, below_before)
        nothing = large <= small
        safe = where_v2(nothing, array.ones_like(large), large - where_v2(nothing, array.zeros_like(small), small))
        value = where_v2(nothing, array.zeros_like(large), large) + math.log(-math.expm1(-safe))
        return where_v2(nothing, convert_to_tensor(-np.inf, dtype=large.dtype), value)


class Mixture(Distribution):
    """One of several distributions, chosen by a Categorical.

    Args:
      cat: a Categorical whose batch shape is that of the components.
      components: list of distributions of one dtype, batch shape and event shape; as many as `cat` has classes.
      validate_args, allow_nan_stats: accepted.
      use_static_graph: accepted: all components are drawn from.

    Raises:
      TypeError: `cat` is no Categorical, a component no distribution, or dtypes differ.
      ValueError: there are no components, or not as many as classes.
    """

    def __init__(self, cat, components, validate_args=False, allow_nan_stats=True, use_static_graph=False, name="Mixture"):
        parameters = dict(locals())
        if not hasattr(cat, "logits"):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        components = list(components or ())
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        if not all(isinstance(c, Distribution) for c in components):
            raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        if len({c.dtype for c in components}) > 1:
            raise TypeError(f"All components must have the same dtype, but saw: {[c.dtype.name for c in components]}")
        classes = dimension_value(cat.logits.shape[-1])
        if classes is not None and classes != len(components):
            raise ValueError(f"cat.num_classes != len(components): {classes} vs. {len(components)}")
        self._cat, self._components = cat, components
        super().__init__(components[0].dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, name=name)

    cat = property(lambda self: self._cat, doc="Which component.")
    components = property(lambda self: list(self._components), doc="The components.")
    num_components = property(lambda self: len(self._components), doc="How many there are.")

    def _batch_shape(self):
        return self._cat.batch_shape

    def _batch_shape_tensor(self):
        return self._cat.batch_shape_tensor()

    def _event_shape(self):
        return self._components[0].event_shape

    def _event_shape_tensor(self):
        return self._components[0].event_shape_tensor()

    def _weighted(self, weights, values):
        """Returns the sum of values times weights [..., number of components]."""
        total = None
        for i, value in enumerate(values):
            weight = weights[..., i]
            for _ in range(self._components[0].event_shape.ndims):
                weight = array.expand_dims(weight, -1)
            total = weight * value if total is None else total + weight * value
        return total

    def _sample_n(self, n, seed=None):
        chosen = one_hot(self._cat.sample(n, seed), len(self._components), dtype=self.dtype)
        draws = [c.sample(n, new_seed(seed, f"component_{i}")) for i, c in enumerate(self._components)]
        return self._weighted(chosen, draws)

    def _each_log_prob(self, x):
        weights = nn.log_softmax(self._cat.logits)
        return array.stack([weights[..., i] + c.log_prob(x) for i, c in enumerate(self._components)], -1)

    def _log_prob(self, x):
        return reduce_logsumexp(self._each_log_prob(x), -1)

    def _cdf(self, x):
        return self._weighted(nn.softmax(self._cat.logits), [c.cdf(x) for c in self._components])

    def _mean(self):
        return self._weighted(nn.softmax(self._cat.logits), [c.mean() for c in self._components])

    def _variance(self):
        mean = self._mean()
        return self._weighted(nn.softmax(self._cat.logits),
                              [c.variance() + math.square(c.mean() - mean) for c in self._components])

    def entropy_lower_bound(self, name="entropy_lower_bound"):
        """Returns the components' entropies, weighted: the entropy is at least that."""
        with self._scope(name):
            weights = nn.softmax(self._cat.logits)
            return sum(weights[..., i] * c.entropy() for i, c in enumerate(self._components))


class Kumaraswamy(Distribution):
    """Kumaraswamy's distribution on (0, 1), P(X <= x) = 1 - (1 - x^a)^b; samples carry gradients.

    Args:
      concentration1, concentration0: a and b, positive floating tensors of one dtype that broadcast; 1 by default.
      validate_args, allow_nan_stats: accepted.
    """

    _batch_parameters = (("_concentration1", 0), ("_concentration0", 0))

    def __init__(self, concentration1=None, concentration0=None, validate_args=False, allow_nan_stats=True, name="Kumaraswamy"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._bijector = bijectors.Kumaraswamy(concentration1, concentration0)
            self._concentration1, self._concentration0 = self._bijector.concentration1, self._bijector.concentration0
            same_dtype(self._concentration1, self._concentration0)
        super().__init__(self._concentration1.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._concentration1, self._concentration0], name)

    concentration1 = property(lambda self: self._concentration1, doc="a, the inner power.")
    concentration0 = property(lambda self: self._concentration0, doc="b, the outer power.")

    def _sample_n(self, n, seed=None):
        tiny = np.finfo(self.dtype.as_numpy_dtype).tiny
        return self._bijector.forward(random_uniform(sized(n, self.batch_shape_tensor()), tiny, 1.0, self.dtype, seed=seed))

    def _log_prob(self, x):
        return self._bijector.inverse_log_det_jacobian(x, event_ndims=0)

    def _cdf(self, x):
        return self._bijector.inverse(x)

    def _moment(self, n):
        b, first = self._concentration0, 1.0 + n / self._concentration1
        return b * math.exp(special.lgamma(first) + special.lgamma(b) - special.lgamma(first + b))

    def _mean(self):
        return self._moment(1)

    def _variance(self):
        return self._moment(2) - math.square(self._moment(1))
