"""`tf.keras.constraints`: functions that optimizers apply to the new value of a variable."""

from regrad.core.shown import Shown
from regrad.ops import math, reduce
from regrad.ops.clip import clip_by_value

_SMALL = 1e-7  # what lengths are kept from being


class Constraint(Shown):
    """Base of constraints: called with a tensor, one returns a tensor of its shape."""

    def __call__(self, w):
        raise NotImplementedError(f"{type(self).__name__} is called with a variable's value: define __call__.")

    def get_config(self):
        """Returns the arguments that make the same one."""
        return dict(vars(self))


class MaxNorm(Constraint):
    """Shortens columns (vectors along `axis`) that are longer than `max_value`."""

    def __init__(self, max_value=2, axis=0):
        self.max_value, self.axis = max_value, axis

    def __call__(self, w):
        lengths = _lengths(w, self.axis)
        return w * (clip_by_value(lengths, 0.0, self.max_value) / (_SMALL + lengths))


class NonNeg(Constraint):
    """Makes what is negative 0."""

    def __call__(self, w):
        return w * math.cast(w >= 0.0, w.dtype)


class UnitNorm(Constraint):
    """Gives columns (vectors along `axis`) the length 1."""

    def __init__(self, axis=0):
        self.axis = axis

    def __call__(self, w):
        return w / (_SMALL + _lengths(w, self.axis))


class MinMaxNorm(Constraint):
    """Moves the lengths of columns (vectors along `axis`) towards [min_value, max_value], by the part `rate`."""

    def __init__(self, min_value=0.0, max_value=1.0, rate=1.0, axis=0):
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w):
        lengths = _lengths(w, self.axis)
        wanted = self.rate * clip_by_value(lengths, self.min_value, self.max_value) + (1 - self.rate) * lengths
        return w * (wanted / (_SMALL + lengths))


def _lengths(w, axis):
    return math.sqrt(reduce.reduce_sum(math.square(w), axis=axis, keepdims=True))


max_norm, non_neg, unit_norm, min_max_norm = MaxNorm, NonNeg, UnitNorm, MinMaxNorm


def get(identifier):
    """Returns a constraint for a name, a description {"class_name", "config"}, a function, or None; ValueError for others."""
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict) and identifier.get("class_name") in _NAMES:
        return globals()[identifier["class_name"]](**identifier.get("config", {}))
    if isinstance(identifier, str) and identifier in _NAMES:
        return globals()[identifier]()
    raise ValueError(f"Could not interpret constraint identifier: {identifier!r}")


__all__ = ["Constraint", "MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm", "get", "max_norm", "min_max_norm", "non_neg",
           "unit_norm"]
_NAMES = set(__all__) - {"Constraint", "get"}
