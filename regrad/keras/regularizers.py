"""`tf.keras.regularizers`: penalties on weights, sums where `tf.contrib.layers` halves the squares."""

__all__ = ["L1", "L1L2", "L2", "Regularizer", "deserialize", "get", "l1", "l1_l2", "l2", "serialize"]

from regrad.core.shown import Shown


class Regularizer(Shown):
    """Base of penalties: called with a tensor, one returns a scalar."""

    def __call__(self, x):
        raise NotImplementedError(f"{type(self).__name__} is called with weights and returns their penalty: define __call__.")

    def get_config(self):
        """Returns the arguments that make the same one."""
        raise NotImplementedError(f"{type(self).__name__} does not say what made it: define get_config.")

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class L1L2(Regularizer):
    """l1 * sum(abs(x)) + l2 * sum(x^2).

    Args:
      l1, l2: Python numbers.
    """

    def __init__(self, l1=0.0, l2=0.0):
        self.l1, self.l2 = float(l1), float(l2)

    def __call__(self, x):
        from regrad.ops import math, reduce
        from regrad.ops.array import zeros

        terms = [self.l1 * reduce.reduce_sum(math.abs(x))] if self.l1 else []
        terms += [self.l2 * reduce.reduce_sum(math.square(x))] if self.l2 else []
        return sum(terms[1:], terms[0]) if terms else zeros([], x.dtype)

    def get_config(self):
        return {"l1": self.l1, "l2": self.l2}


class L1(L1L2):
    """l1 * sum(abs(x))."""

    def __init__(self, l1=0.01):
        super().__init__(l1=l1)

    def get_config(self):
        return {"l1": self.l1}


class L2(L1L2):
    """l2 * sum(x^2)."""

    def __init__(self, l2=0.01):
        super().__init__(l2=l2)

    def get_config(self):
        return {"l2": self.l2}


def l1(l=0.01):  # noqa: E741
    """Returns the penalty l * sum(abs(x))."""
    return L1L2(l1=l)


def l2(l=0.01):  # noqa: E741
    """Returns the penalty l * sum(x^2)."""
    return L1L2(l2=l)


def l1_l2(l1=0.01, l2=0.01):
    """Returns the penalty l1 * sum(abs(x)) + l2 * sum(x^2)."""
    return L1L2(l1=l1, l2=l2)


def serialize(regularizer):
    """Returns {"class_name": ..., "config": ...} of a penalty."""
    return {"class_name": type(regularizer).__name__, "config": regularizer.get_config()}


def deserialize(config, custom_objects=None):
    """Returns the penalty that `serialize` described."""
    return _named(config["class_name"], custom_objects)(**config.get("config", {}))


def get(identifier):
    """Returns a penalty for a name, a description by `serialize`, a function, or None.

    Raises:
      ValueError: it is none of these.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return _named(identifier)()
    raise ValueError(f"Could not interpret regularizer identifier: {identifier!r}")


def _named(name, custom_objects=None):
    made = {"L1": L1, "L2": L2, "L1L2": L1L2, "l1": l1, "l2": l2, "l1_l2": l1_l2, **(custom_objects or {})}
    from regrad.keras.utils import custom_object

    found = made.get(name) or custom_object(name)
    if found is None:
        raise ValueError(f"Unknown regularizer: {name}")
    return found
