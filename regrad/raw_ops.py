"""`tf.raw_ops`: every op type as a function of its inputs and attributes, by keyword."""

from regrad.compat.tensorflow import raw_op


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return raw_op(name)


def __dir__():
    from regrad.core import gradient_registry
    from regrad.core.opdef import op_types

    gradient_registry.complete()
    return sorted(name for name in op_types() if name.isidentifier())
