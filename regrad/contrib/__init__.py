"""`tf.contrib`: the parts that research programs of TensorFlow 1's time used most: data, layers, slim, rnn, opt, framework,
training, graph_editor.

The rest raises AttributeError with the nearest name.
"""

import importlib

from regrad.core.absent import hint

_PARTS = ("framework", "layers", "opt", "rnn", "slim", "training", "data", "graph_editor")


def __getattr__(name):
    if name in _PARTS:
        return importlib.import_module(f"regrad.contrib.{name}")
    words = hint(__name__, name) or f": it has {', '.join(_PARTS)}."
    raise AttributeError(f"module 'regrad.contrib' has no attribute {name!r}{words}")


def __dir__():
    return sorted(_PARTS)
