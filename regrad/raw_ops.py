"""`tf.raw_ops`: every op type as a function of its inputs and attributes, by keyword."""

from regrad.compat.tensorflow import raw_op


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return raw_op(name)
