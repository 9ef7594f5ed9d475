"""TensorFlow's inner modules under Regrad's name: `from regrad.python.framework import ops`."""

from regrad.compat.tensorflow import mount

mount()


def __getattr__(name):
    import importlib

    try:
        return importlib.import_module(f"regrad.python.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'regrad.python' has no attribute {name!r}") from None
