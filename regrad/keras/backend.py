"""`tf.keras.backend`: of Keras's own names for operations, what programs without a Keras model use."""

import numpy as np

from regrad.core.context import get_default_session
from regrad.core.dtypes import as_dtype
from regrad.core.graph import reset_default_graph

_settings: dict = {"epsilon": 1e-7, "floatx": "float32", "image_data_format": "channels_last"}


def epsilon():
    """Returns the small number that keeps divisions finite, 1e-7 by default."""
    return _settings["epsilon"]


def set_epsilon(value):
    _settings["epsilon"] = value


def floatx():
    """Returns the name of the floating dtype in use, "float32" by default."""
    return _settings["floatx"]


def set_floatx(value):
    """Raises ValueError unless `value` is "float16", "float32" or "float64"."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _settings["floatx"] = str(value)


def cast_to_floatx(x):
    """Returns an array, or a tensor, in the floating dtype in use."""
    from regrad.core.graph import is_tensor
    from regrad.ops.math import cast

    return cast(x, floatx()) if is_tensor(x) else np.asarray(x, dtype=floatx())


def image_data_format():
    """Returns "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(data_format):
    """Raises ValueError unless it is "channels_last" or "channels_first"."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings["image_data_format"] = str(data_format)


def set_session(session):
    """Makes `session` the one in which values are got and set where there is no default session."""
    _settings["session"] = session


def learning_phase():
    """Returns what Keras's layers take for `training` by default: a placeholder, False where it is not fed."""
    from regrad.keras import base

    return base.learning_phase()


def set_learning_phase(value):
    """Makes `value`, 0 or 1, what Keras's layers of the default graph take for `training` by default."""
    from regrad.keras import base

    base.set_learning_phase(value)


def get_session():
    """Returns the default session, or that of `set_session`; RuntimeError where there is none."""
    session = get_default_session() or _settings.get("session")
    if session is None:
        raise RuntimeError("tf.keras.backend.get_session: there is no default session; `with tf.Session() as sess:` opens one.")
    return session


def clear_session():
    """Replaces the default graph by an empty one."""
    reset_default_graph()


def get_value(x):
    """Returns the value of a variable or tensor in the default session."""
    return get_session().run(x)


eval = get_value


def set_value(x, value):
    """Gives a variable a value in the default session."""
    x.load(np.asarray(value, x.dtype.as_numpy_dtype), get_session())


def batch_set_value(tuples):
    """Gives variables values: [(variable, value)]."""
    for x, value in tuples:
        set_value(x, value)


def batch_get_value(tensors):
    """Returns the values of several variables."""
    return get_session().run(list(tensors))


def int_shape(x):
    """Returns the shape as a tuple of ints and None; None where the rank is unknown."""
    return None if x.shape.ndims is None else tuple(x.shape.as_list())


def ndim(x):
    """Returns the number of axes, None if unknown."""
    return x.shape.ndims


def dtype(x):
    """Returns the name of the dtype."""
    return as_dtype(x.dtype).name
