"""`tf.keras.initializers`: the initializers with Keras's defaults, and by their names in configurations."""

import inspect

from regrad.core.dtypes import float32
from regrad.variables import initializers as _tf
from regrad.variables.initializers import Constant, Identity, Initializer, Ones, Orthogonal, VarianceScaling, Zeros


class RandomNormal(_tf.RandomNormal):
    """Normal numbers of standard deviation 0.05 by default."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=float32):
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(_tf.RandomUniform):
    """Even numbers in [-0.05, 0.05) by default."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=float32):
        super().__init__(minval, maxval, seed, dtype)


class TruncatedNormal(_tf.TruncatedNormal):
    """Normal numbers of standard deviation 0.05 by default, cut off at two standard deviations."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=float32):
        super().__init__(mean, stddev, seed, dtype)


zeros, ones, constant, identity, orthogonal = Zeros, Ones, Constant, Identity, Orthogonal
normal = random_normal = RandomNormal
uniform = random_uniform = RandomUniform
truncated_normal = TruncatedNormal
GlorotNormal, GlorotUniform = _tf.GlorotNormal, _tf.GlorotUniform
glorot_normal, glorot_uniform = GlorotNormal, GlorotUniform
he_normal, he_uniform, lecun_normal, lecun_uniform = _tf.he_normal, _tf.he_uniform, _tf.lecun_normal, _tf.lecun_uniform
_LATER = {"HeNormal": he_normal, "HeUniform": he_uniform, "LecunNormal": lecun_normal, "LecunUniform": lecun_uniform}


def serialize(initializer):
    """Returns {"class_name": ..., "config": ...} of an initializer."""
    return {"class_name": type(initializer).__name__, "config": initializer.get_config()}


def deserialize(config, custom_objects=None):
    """Returns the initializer that `serialize` described."""
    made = _named(config["class_name"], custom_objects)
    return made.from_config(config.get("config", {})) if inspect.isclass(made) else made(**config.get("config", {}))


def get(identifier):
    """Returns an initializer for a name, a description by `serialize`, a function, or None.

    Raises:
      ValueError: it is none of these.
    """
    if identifier is None or isinstance(identifier, Initializer):
        return identifier
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return _named(identifier)()
    if callable(identifier):
        return identifier() if inspect.isclass(identifier) else identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier!r}")


def _named(name, custom_objects=None):
    from regrad.keras.utils import custom_object

    found = (custom_objects or {}).get(name) or (globals().get(name) if name in _NAMES else None) or custom_object(
        name) or _LATER.get(name)
    if found is None:
        raise ValueError(f"Unknown initializer: {name}")
    return found


__all__ = ["Constant", "GlorotNormal", "GlorotUniform", "Identity", "Initializer", "Ones", "Orthogonal", "RandomNormal",
           "RandomUniform", "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "deserialize", "get", "glorot_normal",
           "glorot_uniform", "he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform", "normal", "ones",
           "orthogonal", "random_normal", "random_uniform", "serialize", "truncated_normal", "uniform", "zeros"]  # fmt: skip
_NAMES = set(__all__) - {"Initializer", "deserialize", "get", "serialize"}
