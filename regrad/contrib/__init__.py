"""`tf.contrib`: the parts that research programs of TensorFlow 1's time used most: layers, slim, rnn, opt, framework, training.

The rest raises AttributeError with the nearest name.
"""

import importlib

_PARTS = ("framework", "layers", "opt", "rnn", "slim", "training")


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"regrad.contrib.{name}")
    raise AttributeError(f"module 'regrad.contrib' has no attribute {name!r}: it has {', '.join(_PARTS)}.")


def __dir__():
    return sorted(_PARTS)
