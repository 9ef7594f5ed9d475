"""What all distributions share: names, shapes, samples, fallbacks between methods, and the registry of divergences."""

import contextlib
import hashlib

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.graph import get_default_graph
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.ops import array, check, math, operators  # noqa: F401
from regrad.ops.compare import logical_not, where_v2
from regrad.ops.control import with_dependencies
from regrad.ops.reduce import reduce_all, reduce_prod


class ReparameterizationType:
    """How samples depend on parameters; each instance equals only itself."""

    def __init__(self, rep_type):
        self._rep_type = rep_type

    def __repr__(self):
        return f"<Reparameterization Type: {self._rep_type}>"


#: Samples are differentiable functions of the parameters: gradients flow through them.
FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
#: No gradient flows through samples: use log_prob and the score function.
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")

_INSTEAD = {  # method: (another that gives it, how)
    "log_prob": ("prob", math.log),
    "prob": ("log_prob", math.exp),
    "log_cdf": ("cdf", math.log),
    "cdf": ("log_cdf", math.exp),
    "log_survival_function": ("cdf", lambda p: math.log1p(-p)),
    "survival_function": ("cdf", lambda p: 1.0 - p),
    "stddev": ("variance", math.sqrt),
    "variance": ("stddev", math.square),
}


class Distribution:
    """Base class. A subclass gives some of `_sample_n(n, seed)`, `_log_prob(value)` or `_prob`, `_log_cdf` or `_cdf`,
    `_survival_function`, `_log_survival_function`, `_quantile(value)`, `_entropy()`, `_mean()`, `_variance()` or `_stddev()`,
    `_covariance()`, `_mode()`; and `_batch_parameters` or `_batch_shape()`, `_batch_shape_tensor()`; for events that are
    not scalars also `_event_shape()` and `_event_shape_tensor()`.

    Args:
      dtype: of samples.
      reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
      validate_args: add checks of parameters and values.
      allow_nan_stats: a statistic that is not defined is NaN; False: the run fails.
      parameters: the arguments of the subclass's constructor, by name; used by `copy`.
      graph_parents: accepted.
      name: name scope; the class's name by default.
    """

    _batch_parameters: tuple = ()  # (name of an attribute, number of its event axes): they broadcast to the batch

    def __init__(self, dtype, reparameterization_type, validate_args, allow_nan_stats, parameters=None, graph_parents=None,
                 name=None):
        if not name or not name.endswith("/"):
            with get_default_graph().name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args, self._allow_nan_stats = validate_args, allow_nan_stats
        self._parameters = own_arguments(parameters or {})
        self._graph_parents = list(graph_parents or ())
        self._name = name

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    parameters = property(lambda self: dict(self._parameters))
    reparameterization_type = property(lambda self: self._reparameterization_type)
    allow_nan_stats = property(lambda self: self._allow_nan_stats)
    validate_args = property(lambda self: self._validate_args)

    def copy(self, **override_parameters_kwargs):
        """Returns a distribution of the same class and arguments, some of them others."""
        return type(self)(**{**self._parameters, **override_parameters_kwargs})

    def __repr__(self):
        return (f"<{type(self).__module__.partition('.')[0]}.distributions.{type(self).__name__} '{self.name}' "
                f"batch_shape={self.batch_shape} event_shape={self.event_shape} dtype={self.dtype.name}>")

    # -- shapes ---------------------------------------------------------------------------------------
    @classmethod
    def param_shapes(cls, sample_shape, name="DistributionParamShapes"):
        """Returns {parameter: shape tensor it must have} so that `sample()` has the shape `sample_shape`."""
        with get_default_graph().name_scope(name):
            return cls._param_shapes(convert_to_tensor(sample_shape, dtype=dtypes.int32))

    @classmethod
    def param_static_shapes(cls, sample_shape):
        """Returns {parameter: TensorShape it must have} so that `sample()` has the shape `sample_shape`."""
        return {k: TensorShape([int(n) for n in v.value()]) for k, v in cls.param_shapes(list(sample_shape)).items()}

    @staticmethod
    def _param_shapes(sample_shape):
        raise NotImplementedError("_param_shapes not implemented")

    def _batch_shape(self):
        shape = TensorShape([])
        for name, event_axes in self._batch_parameters:
            own = getattr(self, name).shape
            own = own if own.ndims is None else TensorShape(own.as_list()[:own.ndims - event_axes])
            shape = array.broadcast_static_shape(shape, own)
        return shape

    def _batch_shape_tensor(self):
        shape = []
        for name, event_axes in self._batch_parameters:
            own = array.shape(getattr(self, name))
            own = own[:array.size(own) - event_axes] if event_axes else own
            shape = own if isinstance(shape, list) else array.broadcast_dynamic_shape(shape, own)
        return shape

    def _event_shape(self):
        return TensorShape([])

    def _event_shape_tensor(self):
        return convert_to_tensor([], dtype=dtypes.int32)

    @property
    def batch_shape(self):
        """TensorShape of the batch, as far as it is known."""
        return TensorShape(self._batch_shape())

    @property
    def event_shape(self):
        """TensorShape of one draw, as far as it is known."""
        return TensorShape(self._event_shape())

    def batch_shape_tensor(self, name="batch_shape_tensor"):
        """Returns the shape of the batch, an int32 vector."""
        with self._scope(name):
            return _sizes(self.batch_shape, self._batch_shape_tensor, "batch_shape")

    def event_shape_tensor(self, name="event_shape_tensor"):
        """Returns the shape of one draw, an int32 vector."""
        with self._scope(name):
            return _sizes(self.event_shape, self._event_shape_tensor, "event_shape")

    def is_scalar_event(self, name="is_scalar_event"):
        """Returns a bool tensor: one draw is a scalar."""
        with self._scope(name):
            return convert_to_tensor(self.event_shape.ndims == 0, name="is_scalar_event")

    def is_scalar_batch(self, name="is_scalar_batch"):
        """Returns a bool tensor: this is a single distribution."""
        with self._scope(name):
            if self.batch_shape.ndims is not None:
                return convert_to_tensor(self.batch_shape.ndims == 0, name="is_scalar_batch")
            return math.cast(1 - math.minimum(array.size(self._batch_shape_tensor()), 1), dtypes.bool_)

    # -- what is asked of a distribution -----------------------------------------------------------------
    def sample(self, sample_shape=(), seed=None, name="sample", **condition_kwargs):
        """Returns draws of shape sample_shape + batch_shape + event_shape.

        Args:
          sample_shape: sizes, an int or an int32 tensor; () for one draw.
          seed: op seed.
        """
        with self._scope(name):
            sizes = convert_to_tensor(sample_shape, dtype=dtypes.int32, name="sample_shape")
            if sizes.shape.ndims == 0:
                sizes = array.expand_dims(sizes, 0)
            known = sizes.value()
            n = reduce_prod(sizes) if known is None else convert_to_tensor(int(np.prod(known)), name="n")
            draws = self._sample_n(n, seed, **condition_kwargs)
            draws = array.reshape(draws, array.concat([sizes, array.shape(draws)[1:]], 0))
            draws = self._finished(draws, **condition_kwargs)
            lead = TensorShape([None] * sizes.dims[0] if known is None else [int(k) for k in known]
                               ) if sizes.dims is not None and sizes.dims[0] is not None else TensorShape(None)
            draws.set_shape(lead.concatenate(self.batch_shape).concatenate(self.event_shape))
            return draws

    def log_prob(self, value, name="log_prob", **condition_kwargs):
        """Returns the logarithm of the density (or of the probability) at `value`."""
        return self._asked("log_prob", name, value, **condition_kwargs)

    def prob(self, value, name="prob", **condition_kwargs):
        """Returns the density (or the probability) at `value`."""
        return self._asked("prob", name, value, **condition_kwargs)

    def log_cdf(self, value, name="log_cdf", **condition_kwargs):
        """Returns log P(X <= value)."""
        return self._asked("log_cdf", name, value, **condition_kwargs)

    def cdf(self, value, name="cdf", **condition_kwargs):
        """Returns P(X <= value)."""
        return self._asked("cdf", name, value, **condition_kwargs)

    def log_survival_function(self, value, name="log_survival_function", **condition_kwargs):
        """Returns log P(X > value)."""
        return self._asked("log_survival_function", name, value, **condition_kwargs)

    def survival_function(self, value, name="survival_function", **condition_kwargs):
        """Returns P(X > value)."""
        return self._asked("survival_function", name, value, **condition_kwargs)

    def quantile(self, value, name="quantile", **condition_kwargs):
        """Returns the x with P(X <= x) = value."""
        return self._asked("quantile", name, value, **condition_kwargs)

    def entropy(self, name="entropy"):
        """Returns Shannon's entropy, in nats."""
        return self._asked("entropy", name)

    def mean(self, name="mean"):
        """Returns the mean."""
        return self._asked("mean", name)

    def variance(self, name="variance"):
        """Returns the variance of each element."""
        return self._asked("variance", name)

    def stddev(self, name="stddev"):
        """Returns the standard deviation of each element."""
        return self._asked("stddev", name)

    def covariance(self, name="covariance"):
        """Returns the matrix of covariances of the elements of an event."""
        return self._asked("covariance", name)

    def mode(self, name="mode"):
        """Returns the most likely value."""
        return self._asked("mode", name)

    def kl_divergence(self, other, name="kl_divergence"):
        """Returns E[log p(X) - log q(X)] for X drawn from this distribution p and another, q; see `kl_divergence`."""
        with self._scope(name):
            return kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    def cross_entropy(self, other, name="cross_entropy"):
        """Returns E[-log q(X)] for X drawn from this distribution and another, q."""
        with self._scope(name):
            return kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats) + self.entropy()

    # -- for subclasses --------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _scope(self, name):
        graph = get_default_graph()
        with graph.name_scope(self.name), graph.name_scope(name) as scope:
            yield scope

    _name_scope = _scope

    def _asked(self, method, name, *value, **kwargs):
        with self._scope(name):
            values = [convert_to_tensor(v, name="value", preferred_dtype=self.dtype) for v in value]
            return self._computed(method, values, kwargs)

    def _computed(self, method, values, kwargs, asked=()):
        """Returns what a method gives, or else the methods in `_INSTEAD` that have not been asked."""
        try:
            return getattr(self, f"_{method}")(*values, **kwargs)
        except NotImplementedError as error:
            other, how = _INSTEAD.get(method, (None, None))
            if other is None or other in asked:
                raise
            try:
                return how(self._computed(other, values, kwargs, (*asked, method)))
            except NotImplementedError:
                raise error from None

    def _finished(self, draws, **condition_kwargs):
        """Returns what `sample` gives for draws in their final shape."""
        return draws

    def _missing(self, method):
        raise NotImplementedError(f"{method} is not implemented: {type(self).__name__}")

    def _sample_n(self, n, seed=None):
        self._missing("sample_n")

    def _log_prob(self, value):
        self._missing("log_prob")

    def _prob(self, value):
        self._missing("prob")

    def _log_cdf(self, value):
        self._missing("log_cdf")

    def _cdf(self, value):
        self._missing("cdf")

    def _log_survival_function(self, value):
        self._missing("log_survival_function")

    def _survival_function(self, value):
        self._missing("survival_function")

    def _quantile(self, value):
        self._missing("quantile")

    def _entropy(self):
        self._missing("entropy")

    def _mean(self):
        self._missing("mean")

    def _variance(self):
        self._missing("variance")

    def _stddev(self):
        self._missing("stddev")

    def _covariance(self):
        self._missing("covariance")

    def _mode(self):
        self._missing("mode")

    def _where_defined(self, condition, value, words):
        """Returns `value` where `condition` holds; elsewhere NaN, or the run fails with `words`: see `allow_nan_stats`."""
        if self.allow_nan_stats:
            return where_v2(condition, value, convert_to_tensor(np.nan, dtype=value.dtype))
        return with_dependencies([check.assert_true(reduce_all(condition), words, [value])], value)


def own_arguments(parameters):
    """Returns the `locals()` of a constructor without what is not an argument of its caller's."""
    return {k: v for k, v in parameters.items() if not k.startswith("_") and k != "self"}


def sized(n, *shapes):
    """Returns the shape [n] + shapes, an int32 vector."""
    return array.concat([[n], *shapes], 0)


def new_seed(seed, salt):
    """Returns TensorFlow's seed for a second draw beside one with `seed`; None for None."""
    if seed is None:
        return None
    return int(hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF


def parameter(value, name, *checks):
    """Returns a parameter as a tensor of that name, which waits for `checks`.

    Raises:
      ValueError: its dtype is not floating.
    """
    value = convert_to_tensor(value, name=f"{name}/input" if not hasattr(value, "dtype") else None)
    if not value.dtype.is_floating:
        raise ValueError(f"{name}: Expected floating point type, got {value.dtype!r}.")
    with get_default_graph().control_dependencies([make(value) for make in checks]):
        return array.identity(value, name=name)


def same_dtype(*tensors):
    """Raises ValueError where tensors differ in dtype."""
    check.assert_same_float_dtype(list(tensors))


def _sizes(static, dynamic, name):
    if static.is_fully_defined():
        return convert_to_tensor(static.as_list(), dtype=dtypes.int32, name=name)
    return array.identity(dynamic(), name=name)


# -- divergences ------------------------------------------------------------------------------------------
_divergences: dict = {}


def _registered(cls_a, cls_b):
    """Returns the function of the nearest classes that both derive from, or None."""
    found = [(i + j, i, _divergences[a, b]) for i, a in enumerate(cls_a.__mro__) for j, b in enumerate(cls_b.__mro__)
             if (a, b) in _divergences]
    return min(found, key=lambda row: row[:2])[2] if found else None


def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """Returns KL(a || b) = E[log a(X) - log b(X)], X drawn from a, of the broadcast batch shape.

    Args:
      allow_nan_stats: False: the run fails where the result is NaN.

    Raises:
      NotImplementedError: no function is registered for the classes of `a` and `b`; see `RegisterKL`.
    """
    function = _registered(type(distribution_a), type(distribution_b))
    if function is None:
        names = type(distribution_a).__name__, type(distribution_b).__name__
        raise NotImplementedError(f"No KL(distribution_a || distribution_b) registered for distribution_a type {names[0]} and "
                                  f"distribution_b type {names[1]}; tf.distributions.RegisterKL({names[0]}, {names[1]}) "
                                  "registers one.")
    with get_default_graph().name_scope("KullbackLeibler"):
        value = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return value
        bad = check.assert_true(reduce_all(logical_not(math.is_nan(value))),
                                f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
                                "values (and was called with allow_nan_stats=False).", [value])
        return with_dependencies([bad], value)


def cross_entropy(ref, other, allow_nan_stats=True, name=None):
    """Returns E[-log other(X)], X drawn from `ref`."""
    with get_default_graph().name_scope(name or "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


class RegisterKL(Shown):
    """Decorator that registers a function (a, b, name=None) for the divergence of two classes and what derives from them."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = dist_cls_a, dist_cls_b

    def __call__(self, kl_fn):
        """Registers; returns the function.

        Raises:
          TypeError: not callable.
          ValueError: there is one already.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _divergences:
            a, b = (c.__name__ for c in self._key)
            raise ValueError(f"KL({a} || {b}) has already been registered to: {_divergences[self._key]}")
        _divergences[self._key] = kl_fn
        return kl_fn
