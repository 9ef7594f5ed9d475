"""Functions of `tf.nn` that are made of other ops: dropout, losses per element, small layers."""

import math as _math
import numbers

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.opdef import spec_text
from regrad.core.shapes import as_dims, compatible
from regrad.ops import array, math
from regrad.ops.array import one_of
from regrad.ops.compare import equal, greater_equal, less_equal, logical_and, select
from regrad.ops.matmul import matmul
from regrad.ops.nn import bias_add, relu, softplus
from regrad.ops.reduce import reduce_mean


def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
    """Returns `x` with a random part of it set to 0 and the rest scaled up: the expectation stays.

    Args:
      x: floating tensor.
      keep_prob: the probability that an element is kept; or give `rate` = 1 - keep_prob. A number or a scalar
        tensor.
      noise_shape: shape of the random choice, broadcast to `x`; None in it takes the size of `x`.
      seed: op seed; see `set_random_seed`.

    Raises:
      ValueError: `x` is not floating, or the rate is not in [0, 1).

    Example:
      kept = tf.Session().run(tf.nn.dropout(tf.ones([100]), keep_prob=0.5, seed=1))
      print(np.unique(kept))
      #> [0. 2.]
    """
    if isinstance(keep_prob, (str, list, tuple)):
        raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob!r}")
    rate = one_of("rate", rate, "keep_prob", None if keep_prob is None else 1.0 - keep_prob)
    if rate is None:
        raise ValueError("You must provide a rate to dropout.")
    from regrad.ops.random import random_uniform

    with get_default_graph().name_scope(name or "dropout"):
        number = isinstance(rate, numbers.Real)
        if number and not 0 <= rate < 1:
            raise ValueError(f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
                             f"{'' if keep_prob is None else f', from keep_prob = {keep_prob:g}'}")
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError("x has to be a floating point tensor since it's going to be scaled. Got a "
                             f"{x.dtype.name} tensor instead.")
        if number and rate == 0:
            return x
        if not number:
            rate = convert_to_tensor(rate, dtype=None if hasattr(rate, "dtype") else x.dtype, name="rate")
            if rate.dims not in ((), None):
                raise ValueError(f"rate must be a scalar, got {spec_text(rate)}")
        noise = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        kept = greater_equal(noise, rate)
        out = x * (1 / (1 - rate)) * math.cast(kept, x.dtype)
        out.set_shape(x.shape)
        return out


def _noise_shape(x, noise_shape):
    if noise_shape is None:
        return array.shape(x)
    try:
        dims = as_dims(noise_shape)
    except (TypeError, ValueError):
        return noise_shape  # a tensor, or a list that holds tensors
    if dims is None or x.dims is None or len(dims) != len(x.dims):
        return noise_shape
    if None not in dims:
        return dims
    return array.stack([array.shape(x)[i] if a is None and b is None else b if a is None else a
                        for i, (a, b) in enumerate(zip(dims, x.dims))])


# -- losses per element --------------------------------------------------------------------------------
def _named(function, sentinel, **tensors):
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if any(t is None for t in tensors.values()):
        raise ValueError(f"Both {' and '.join(tensors)} must be provided.")


def _same_shape(a, b, what):
    if not compatible(a.dims, b.dims):
        raise ValueError(f"{what} must have the same shape ({a.shape} vs {b.shape})")


def _pair(logits, other, name):
    logits = convert_to_tensor(logits, name="logits")
    return logits, convert_to_tensor(other, name=name,
                                     dtype=None if hasattr(other, "_as_graph_element") else logits.dtype)


def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Returns the cross entropy of sigmoid(logits) and `labels` for each element, without overflow.

    Args:
      labels: tensor of the shape and dtype of `logits`, of probabilities: classes need not exclude each
        other.
      logits: float32 or float64.

    Formula: max(x, 0) - x z + log(1 + exp(-|x|)), x being the logits and z the labels.
    """
    _named("sigmoid_cross_entropy_with_logits", _sentinel, labels=labels, logits=logits)
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        logits, labels = _pair(logits, labels, "labels")
        _same_shape(logits, labels, "logits and labels")
        # One condition for both terms, so that their derivatives agree at 0.
        zeros = array.zeros_like(logits)
        positive = greater_equal(logits, zeros)
        top = select(positive, logits, zeros)
        minus_abs = select(positive, -logits, logits)
        return math.add(top - logits * labels, math.log1p(math.exp(minus_abs)), name=scope)


def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """Returns `sigmoid_cross_entropy_with_logits` in which the positive term counts `pos_weight` times.

    Formula: (1 - z) x + (1 + (pos_weight - 1) z) log(1 + exp(-x)).
    """
    labels = one_of("labels", labels, "targets", targets)
    _named("weighted_cross_entropy_with_logits", None, labels=labels, logits=logits)
    with get_default_graph().name_scope(name or "logistic_loss") as scope:
        logits, labels = _pair(logits, labels, "labels")
        _same_shape(logits, labels, "logits and labels")
        weight = 1 + (pos_weight - 1) * labels
        return math.add((1 - labels) * logits, weight * softplus(-logits), name=scope)


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """Returns exp(log_input) - targets * log_input: minus the log likelihood of counts, less a constant.

    With `compute_full_loss` that constant is added, log(targets!) by Stirling's formula, where targets > 1.
    """
    with get_default_graph().name_scope(name or "log_poisson_loss"):
        log_input, targets = _pair(log_input, targets, "targets")
        _same_shape(log_input, targets, "log_input and targets")
        loss = math.exp(log_input) - log_input * targets
        if not compute_full_loss:
            return loss
        small = logical_and(greater_equal(targets, 0), less_equal(targets, 1))
        safe = select(small, array.ones_like(targets),
                      targets)  # log 0 must not reach the gradient of the branch not taken
        stirling = safe * math.log(safe) - safe + 0.5 * math.log(2 * _math.pi * safe)
        return loss + select(small, array.zeros_like(targets), stirling)


# -- small layers ---------------------------------------------------------------------------------------
def xw_plus_b(x, weights, biases, name=None):
    """Returns matmul(x, weights) + biases."""
    with get_default_graph().name_scope(name or "xw_plus_b") as scope:
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x, weights, biases, name=None):
    """Returns relu(matmul(x, weights) + biases)."""
    with get_default_graph().name_scope(name or "relu_layer") as scope:
        return relu(bias_add(matmul(x, weights), biases), name=scope)


def zero_fraction(value, name=None):
    """Returns the fraction of zeros in `value`, a float32 scalar; NaN when it is empty."""
    with get_default_graph().name_scope(name or "zero_fraction"):
        value = convert_to_tensor(value, name="value")
        return reduce_mean(math.cast(equal(value, array.zeros_like(value)), dtypes.float32), name="fraction")
