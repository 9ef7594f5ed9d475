"""Distributions of classes, counts and probabilities: Bernoulli, Categorical, Multinomial, Dirichlet, DirichletMultinomial.

Formulas: Johnson, Kotz, Balakrishnan, "Discrete Multivariate Distributions".
"""

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
    parameter,
    same_dtype,
    sized,
)
from regrad.nn.functions import sigmoid_cross_entropy_with_logits
from regrad.ops import array, math, nn, special
from regrad.ops.check import assert_equal, assert_less_equal, assert_near, assert_non_negative, assert_positive
from regrad.ops.compare import where_v2
from regrad.ops.control import with_dependencies
from regrad.ops.diag import matrix_set_diag
from regrad.ops.indexing import one_hot, sequence_mask
from regrad.ops.matmul import matmul
from regrad.ops.random import multinomial, random_gamma, random_uniform
from regrad.ops.reduce import argmax, reduce_all, reduce_max, reduce_sum


def logits_and_probs(logits, probs, many, validate):
    """Returns (logits, probs) of one of them; `many` are the classes of the last axis, else one class of two."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")
    if probs is None:
        logits = parameter(logits, "logits")
        return logits, nn.softmax(logits, name="probs") if many else math.sigmoid(logits, name="probs")
    checks = []
    if validate:
        checks = [assert_non_negative]
        if many:
            checks.append(lambda p: assert_near(reduce_sum(p, -1), array.ones([], p.dtype), message="probs does not sum to 1."))
        else:
            checks.append(lambda p: assert_less_equal(p, array.ones([], p.dtype),
                                                      message="probs has components greater than 1."))
    probs = parameter(probs, "probs", *checks)
    return math.log(probs) if many else math.log(probs) - math.log1p(-probs), probs


class Bernoulli(Distribution):
    """The distribution of 1 with a probability and 0 otherwise.

    Args:
      logits: log(p / (1 - p)), a floating tensor; or
      probs: p.
      dtype: of samples.
      validate_args: check that p lies in [0, 1].
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_logits", 0),)

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Bernoulli"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
        super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._logits, self._probs], name)

    logits = property(lambda self: self._logits, doc="log(p / (1 - p)).")
    probs = property(lambda self: self._probs, doc="The probability of 1.")

    @staticmethod
    def _param_shapes(sample_shape):
        return {"logits": sample_shape}

    def _sample_n(self, n, seed=None):
        u = random_uniform(sized(n, self.batch_shape_tensor()), dtype=self.probs.dtype, seed=seed)
        return math.cast(u < self.probs, self.dtype)

    def _log_prob(self, event):
        event = math.cast(event, self.logits.dtype)
        # The cross entropy wants equal shapes.
        both = array.zeros_like(event * self.logits)
        return -sigmoid_cross_entropy_with_logits(labels=event + both, logits=self.logits + both)

    def _entropy(self):
        return nn.softplus(-self.logits) - self.logits * (math.sigmoid(self.logits) - 1.0)

    def _mean(self):
        return array.identity(self.probs)

    def _variance(self):
        return self.probs * (1.0 - self.probs)

    def _mode(self):
        return math.cast(self.probs > 0.5, self.dtype)


class Categorical(Distribution):
    """The distribution of a class out of k.

    Args:
      logits: unnormalised log-probabilities, a floating tensor [..., k]; or
      probs: probabilities.
      dtype: of samples.
      validate_args: check probabilities.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_logits", 1),)

    def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False, allow_nan_stats=True,
                 name="Categorical"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            self._event_size = array.shape(self._logits)[-1]
        super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._logits, self._probs], name)

    logits = property(lambda self: self._logits, doc="Unnormalised log-probabilities.")
    probs = property(lambda self: self._probs, doc="Probabilities.")
    event_size = property(lambda self: self._event_size, doc="The number of classes, a scalar tensor.")

    def _sample_n(self, n, seed=None):
        rows = array.reshape(self.logits, array.stack([-1, self.event_size]))
        drawn = multinomial(rows, n, seed=seed, output_dtype=dtypes.int64 if self.dtype.size > 4 else dtypes.int32)
        drawn = array.reshape(array.transpose(drawn), sized(n, self.batch_shape_tensor()))
        return math.cast(drawn, self.dtype)

    def _with_logits(self, k):
        """Returns (classes, logits, probs) that agree in their batch axes."""
        sizes = k.dims is not None and self.logits.dims is not None and k.dims == self.logits.dims[:-1]
        if sizes and None not in k.dims:
            return k, self.logits, self.probs
        shape = array.broadcast_dynamic_shape(array.shape(k), self.batch_shape_tensor())
        wide = array.concat([shape, [self.event_size]], 0)
        return array.broadcast_to(k, shape), array.broadcast_to(self.logits, wide), array.broadcast_to(self.probs, wide)

    def _log_prob(self, k):
        k = convert_to_tensor(k, name="k")
        k = k if k.dtype.is_integer else math.cast(k, dtypes.int32)
        k, logits, _ = self._with_logits(k)
        return -nn.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k):
        # As in TensorFlow: the probability of the classes below k, without k's own.
        k, _, probs = self._with_logits(convert_to_tensor(k, name="k"))
        below = sequence_mask(math.cast(k, dtypes.int32), self.event_size)
        return reduce_sum(where_v2(below, probs, array.zeros_like(probs)), -1)

    def _entropy(self):
        # A probability of 0 counts 0, whatever its logarithm.
        return -reduce_sum(math.mul_no_nan(nn.log_softmax(self.logits), self.probs), -1)

    def _mode(self):
        return math.cast(argmax(self.logits, axis=-1), self.dtype)


class _Vector(Distribution):
    """What distributions of vectors share: the last axis of `_batch_parameters[0]` is the event."""

    def _last(self):
        return getattr(self, self._batch_parameters[-1][0])

    def _event_shape(self):
        return TensorShape(None) if self._last().shape.ndims is None else TensorShape([self._last().shape[-1]])

    def _event_shape_tensor(self):
        return array.shape(self._last())[-1:]

    def _spread(self, factor, probs):
        """Returns factor (diag(p) - p p')."""
        product = -matmul(array.expand_dims(probs, -1), array.expand_dims(probs, -2))
        return array.expand_dims(array.expand_dims(factor, -1), -1) * matrix_set_diag(product, probs * (1.0 - probs))


class Dirichlet(_Vector):
    """The Dirichlet distribution of probabilities of k classes; samples carry gradients.

    Args:
      concentration: positive floating tensor [..., k].
      validate_args: check that it is positive, and that values are probabilities.
      allow_nan_stats: the mode is not defined where a concentration is at most 1: NaN, or with False an error.
    """

    _batch_parameters = (("_concentration", 1),)

    def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name="Dirichlet"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._concentration = parameter(concentration, "concentration", *[assert_positive] * validate_args)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._concentration, self._total_concentration], name)

    concentration = property(lambda self: self._concentration, doc="The exponents, plus one.")
    total_concentration = property(lambda self: self._total_concentration, doc="Their sum over the classes.")

    def _sample_n(self, n, seed=None):
        draws = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return draws / reduce_sum(draws, -1, keepdims=True)

    def _log_prob(self, x):
        if self.validate_args:
            x = with_dependencies([assert_positive(x, message="samples must be positive"), assert_near(
                array.ones([], self.dtype), reduce_sum(x, -1), message="sample last-dimension must sum to `1`")], x)
        return reduce_sum(math.xlogy(self.concentration - 1.0, x), -1) - special.lbeta(self.concentration)

    def _entropy(self):
        a, total = self.concentration, self.total_concentration
        k = math.cast(array.shape(a)[-1], self.dtype)
        return (special.lbeta(a) + (total - k) * special.digamma(total)
                - reduce_sum((a - 1.0) * special.digamma(a), -1))

    def _mean(self):
        return self.concentration / array.expand_dims(self.total_concentration, -1)

    def _variance(self):
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + array.expand_dims(self.total_concentration, -1))

    def _covariance(self):
        return self._spread(1.0 / (1.0 + self.total_concentration), self._mean())

    def _mode(self):
        k = math.cast(array.shape(self.concentration)[-1], self.dtype)
        mode = (self.concentration - 1.0) / array.expand_dims(self.total_concentration - k, -1)
        defined = reduce_all(self.concentration > 1.0, -1, keepdims=True)
        return self._where_defined(defined, mode, "mode undefined when any concentration <= 1")


class _Counts(_Vector):
    """What distributions of the counts of k classes in `total_count` draws share."""

    total_count = property(lambda self: self._total_count, doc="The number of draws.")

    def _take_total(self, total_count, validate):
        self._total_count = parameter(total_count, "total_count", *[assert_non_negative] * validate)

    def _counted(self, logits, n, seed):
        """Returns counts [n, batch, k] for logits [n * batch, k]."""
        totals = self.total_count * array.ones(self.batch_shape_tensor(), self.dtype)
        # Rows differ in their number of draws: each draws the most, and the first of them count.
        most = math.cast(reduce_max(totals), dtypes.int32)
        shape = sized(n, self.batch_shape_tensor(), [most])
        drawn = array.reshape(multinomial(logits, most, seed=seed), shape)
        counts = array.expand_dims(sequence_mask(totals, most, self.dtype), -1) * one_hot(
            drawn, self.event_shape_tensor()[0], dtype=self.dtype)
        return reduce_sum(counts, -2)

    def _log_orders(self, counts):
        """Returns the logarithm of the number of sequences of draws with these counts."""
        if self.validate_args:
            counts = with_dependencies([assert_non_negative(counts, message="counts must be non-negative"), assert_equal(
                self.total_count + 0.0 * reduce_sum(counts, -1), reduce_sum(counts, -1),
                message="counts last-dimension must sum to `self.total_count`")], counts)
        return special.lgamma(self.total_count + 1.0) - reduce_sum(special.lgamma(counts + 1.0), -1)


class Multinomial(_Counts):
    """The distribution of the counts of k classes in `total_count` independent draws.

    Args:
      total_count: floating tensor that broadcasts with the batch.
      logits: unnormalised log-probabilities [..., k]; or
      probs: probabilities.
      validate_args: check parameters and counts.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_total_count", 0), ("_logits", 1))

    def __init__(self, total_count, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Multinomial"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._take_total(total_count, validate_args)
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            same_dtype(self._total_count, self._logits)
        super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._total_count, self._logits, self._probs], name)

    logits = property(lambda self: self._logits, doc="Unnormalised log-probabilities.")
    probs = property(lambda self: self._probs, doc="Probabilities.")

    def _wide(self):
        """Returns (total count [batch, 1], probs [batch, k])."""
        total = self.total_count * array.ones(self.batch_shape_tensor(), self.dtype)
        total = array.expand_dims(total, -1)
        return total, self.probs * array.ones_like(total)

    def _sample_n(self, n, seed=None):
        logits = self.logits + array.zeros(sized(n, self.batch_shape_tensor(), [1]), self.dtype)
        return self._counted(array.reshape(logits, array.stack([-1, array.shape(logits)[-1]])), n, seed)

    def _log_prob(self, counts):
        return reduce_sum(counts * nn.log_softmax(self.logits), -1) + self._log_orders(counts)

    def _mean(self):
        total, probs = self._wide()
        return total * probs

    def _variance(self):
        total, probs = self._wide()
        return total * probs * (1.0 - probs)

    def _covariance(self):
        total, probs = self._wide()
        return self._spread(total[..., 0], probs)


class DirichletMultinomial(_Counts):
    """The distribution of the counts of k classes in `total_count` draws, with probabilities drawn from a Dirichlet.

    Args:
      total_count: floating tensor that broadcasts with the batch.
      concentration: positive floating tensor [..., k].
      validate_args: check parameters and counts.
      allow_nan_stats: accepted: all statistics are defined.
    """

    _batch_parameters = (("_total_count", 0), ("_concentration", 1))

    def __init__(self, total_count, concentration, validate_args=False, allow_nan_stats=True, name="DirichletMultinomial"):
        parameters = dict(locals())
        with get_default_graph().name_scope(name) as name:
            self._take_total(total_count, validate_args)
            self._concentration = parameter(concentration, "concentration", *[assert_positive] * validate_args)
            same_dtype(self._total_count, self._concentration)
            self._total_concentration = reduce_sum(self._concentration, -1)
        super().__init__(self._concentration.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
                         [self._total_count, self._concentration], name)

    concentration = property(lambda self: self._concentration, doc="The Dirichlet's concentration.")
    total_concentration = property(lambda self: self._total_concentration, doc="Its sum over the classes.")

    def _sample_n(self, n, seed=None):
        concentration = self.concentration * array.ones(array.concat([self.batch_shape_tensor(), [1]], 0), self.dtype)
        logits = math.log(random_gamma([n], concentration, dtype=self.dtype, seed=seed))
        return self._counted(array.reshape(logits, array.stack([-1, array.shape(logits)[-1]])), n,
                             new_seed(seed, "dirichlet_multinomial"))

    def _log_prob(self, counts):
        return (special.lbeta(self.concentration + counts) - special.lbeta(self.concentration)
                + self._log_orders(counts))

    def _mean(self):
        mean = self.concentration / array.expand_dims(self.total_concentration, -1)
        return array.expand_dims(self.total_count, -1) * mean

    def _scale(self):
        """Returns the factor between this distribution's covariance and that of one draw."""
        return self.total_count * (self.total_count + self.total_concentration) / (1.0 + self.total_concentration)

    def _variance(self):
        p = self.concentration / array.expand_dims(self.total_concentration, -1)
        return array.expand_dims(self._scale(), -1) * p * (1.0 - p)

    def _covariance(self):
        p = self.concentration / array.expand_dims(self.total_concentration, -1)
        p *= array.ones_like(array.expand_dims(self._scale(), -1))
        return self._spread(self._scale(), p)


# -- divergences ------------------------------------------------------------------------------------------
@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_bernoulli_bernoulli"):
        # log(p / q) of 0 and of 1, by their logits: -log p(0) = softplus(logits), -log p(1) = softplus(-logits).
        down = nn.softplus(b.logits) - nn.softplus(a.logits)
        up = nn.softplus(-b.logits) - nn.softplus(-a.logits)
        return math.sigmoid(a.logits) * up + math.sigmoid(-a.logits) * down


@RegisterKL(Categorical, Categorical)
def _kl_categorical(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_categorical_categorical"):
        difference = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return reduce_sum(math.mul_no_nan(difference, nn.softmax(a.logits)), -1)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet(a, b, name=None):
    with get_default_graph().name_scope(name or "kl_dirichlet_dirichlet"):
        mean_log = special.digamma(a.concentration) - special.digamma(array.expand_dims(a.total_concentration, -1))
        return (reduce_sum((a.concentration - b.concentration) * mean_log, -1)
                + special.lbeta(b.concentration) - special.lbeta(a.concentration))
