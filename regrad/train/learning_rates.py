"""Learning rates that fall with the step: tensors that are functions of `global_step`."""

import math as pymath
import sys

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import compare, math
from regrad.ops.random import random_normal


class _Decay:
    """Context manager: a name scope; yields its prefix and the arguments as tensors of the learning rate's dtype."""

    def __init__(self, name, default, learning_rate, global_step, *numbers):
        if global_step is None:
            raise ValueError(f"global_step is required for {default}.")
        self.scope = get_default_graph().name_scope(name or default)
        self.rate = learning_rate
        self.numbers = global_step, *numbers

    def __enter__(self):
        prefix = self.scope.__enter__()
        try:
            rate = convert_to_tensor(self.rate, name="learning_rate")
            return prefix, rate, *(math.cast(convert_to_tensor(x), rate.dtype) for x in self.numbers)
        except BaseException:
            self.scope.__exit__(*sys.exc_info())
            raise

    def __exit__(self, *exc):
        return self.scope.__exit__(*exc)


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """Returns learning_rate * decay_rate ** (global_step / decay_steps), a scalar tensor.

    Args:
      learning_rate: number or scalar tensor; decides the dtype.
      global_step: number, tensor or variable.
      decay_steps, decay_rate: numbers or tensors.
      staircase: round the exponent down.
    """
    with _Decay(name, "ExponentialDecay", learning_rate, global_step, decay_steps, decay_rate) as (
            scope, rate, step, steps, decay):
        p = step / steps
        return math.multiply(rate, math.pow(decay, math.floor(p) if staircase else p), name=scope)


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """Returns learning_rate * exp(-decay_rate * global_step / decay_steps). Args: as for `exponential_decay`."""
    with _Decay(name, "ExponentialTimeDecay", learning_rate, global_step, decay_steps, decay_rate) as (
            scope, rate, step, steps, decay):
        p = step / steps
        return math.multiply(rate, math.exp(-decay * (math.floor(p) if staircase else p)), name=scope)


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False, name=None):
    """Returns learning_rate / (1 + decay_rate * global_step / decay_steps). Args: as for `exponential_decay`."""
    with _Decay(name, "InverseTimeDecay", learning_rate, global_step, decay_steps, decay_rate) as (
            scope, rate, step, steps, decay):
        p = step / steps
        return math.truediv(rate, 1 + decay * (math.floor(p) if staircase else p), name=scope)


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False,
                     name=None):
    """Returns (learning_rate - end) * (1 - global_step / decay_steps) ** power + end, and `end` after decay_steps.

    Args:
      cycle: instead of staying at the end, go on with the next multiple of `decay_steps` as the horizon.
    """
    with _Decay(name, "PolynomialDecay", learning_rate, global_step, decay_steps, end_learning_rate, power) as (
            scope, rate, step, steps, end, power):
        if cycle:
            multiple = math.ceil(step / steps)
            steps = steps * math.maximum(multiple, 1)  # a horizon of at least one period, also at step 0
        else:
            step = math.minimum(step, steps)
        # A compiler that contracts 1 - step * (1 / steps) may end below 0, of which no root can be taken.
        left = math.maximum(1 - step / steps, 0)
        return math.add((rate - end) * math.pow(left, power), end, name=scope)


def piecewise_constant(x, boundaries, values, name=None):
    """Returns values[0] while x <= boundaries[0], values[i] while boundaries[i-1] < x <= boundaries[i], then values[-1].

    Raises:
      ValueError: not one value more than boundaries, or dtypes that differ.
    """
    boundaries, values = list(boundaries), list(values)
    if len(values) != len(boundaries) + 1:
        raise ValueError(f"The length of boundaries should be 1 less than the length of values, got {len(boundaries)} "
                         f"and {len(values)}.")
    with get_default_graph().name_scope(name or "PiecewiseConstant"):
        x = convert_to_tensor(x)
        boundaries = [convert_to_tensor(v) for v in boundaries]
        values = [convert_to_tensor(v) for v in values]
        for i, v in enumerate(boundaries):
            if v.dtype is dtypes.int32 and x.dtype is dtypes.int64:
                boundaries[i] = math.cast(v, dtypes.int64)
            elif v.dtype is not x.dtype:
                raise ValueError(f"Boundaries ({v.dtype}) must have the same dtype as x ({x.dtype}).")
        for v in values:
            if v.dtype is not values[0].dtype:
                raise ValueError(f"Values must have elements all with the same dtype ({values[0].dtype.name} vs "
                                 f"{v.dtype.name}).")
        result = values[-1]
        for boundary, v in reversed(list(zip(boundaries, values))):
            result = compare.where(compare.less_equal(x, boundary), v, result)
        return result


piecewise_constant_decay = piecewise_constant


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
    """Returns learning_rate times half a cosine wave from 1 to `alpha` over decay_steps: Loshchilov & Hutter 2017."""
    with _Decay(name, "CosineDecay", learning_rate, global_step, decay_steps) as (scope, rate, step, steps):
        done = math.minimum(step, steps) / steps
        return math.multiply(rate, (1 - alpha) * _half_cosine(done) + alpha)


def _half_cosine(done):
    return 0.5 * (1.0 + math.cos(pymath.pi * done))


def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name=None):
    """Returns `cosine_decay` that starts again, each period `t_mul` times as long and its top `m_mul` times as high:
    Loshchilov & Hutter 2017."""
    with _Decay(name, "SGDRDecay", learning_rate, global_step, first_decay_steps, t_mul, m_mul, alpha) as (
            scope, rate, step, first, t_mul, m_mul, alpha):
        done = step / first
        # The periods' lengths are a geometric series: its partial sums tell which period this is.
        even = compare.equal(t_mul, 1)
        ratio = compare.where(even, t_mul + 1, t_mul)  # keeps the branch that is not taken free of 0 / 0
        period = math.floor(math.log(1 - done * (1 - ratio)) / math.log(ratio))
        begun = (1 - math.pow(ratio, period)) / (1 - ratio)
        stretched = (done - begun) / math.pow(ratio, period)
        count = compare.where(even, math.floor(done), period)
        done = compare.where(even, done - math.floor(done), stretched)
        top = math.pow(m_mul, count)
        return math.multiply(rate, (1 - alpha) * (top * _half_cosine(done)) + alpha, name=scope)


def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    """Returns learning_rate * ((alpha + linear decay) * cosine + beta): Bello et al. 2017."""
    with _Decay(name, "LinearCosineDecay", learning_rate, global_step, decay_steps, num_periods, alpha, beta) as (
            scope, rate, step, steps, periods, alpha, beta):
        step = math.minimum(step, steps)
        return math.multiply(rate, (alpha + (steps - step) / steps) * _half_cosine(2.0 * periods * (step / steps)) + beta,
                             name=scope)


def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55,
                              num_periods=0.5, alpha=0.0, beta=0.001, name=None):
    """Returns `linear_cosine_decay` with normal noise, of variance initial_variance / (1 + step) ** variance_decay, added
    to the linear part: Bello et al. 2017."""
    with _Decay(name, "NoisyLinearCosineDecay", learning_rate, global_step, decay_steps, initial_variance, variance_decay,
                num_periods, alpha, beta) as (scope, rate, step, steps, variance, decay, periods, alpha, beta):
        step = math.minimum(step, steps)
        linear = (steps - step) / steps
        stddev = math.sqrt(variance / math.pow(1 + step, decay))
        linear = linear + random_normal(linear.shape, stddev=stddev, dtype=rate.dtype)
        return math.multiply(rate, (alpha + linear) * _half_cosine(2.0 * periods * (step / steps)) + beta, name=scope)
