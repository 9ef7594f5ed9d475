"""`tf.keras`: of Keras, what builds graphs: layers and models to be called, initializers, regularizers, and its settings."""

import importlib

from regrad.keras import initializers, regularizers

_BASE = ("Input", "Model", "Sequential")
__all__ = ["Input", "Model", "Sequential", "activations", "backend", "constraints", "initializers", "layers", "losses",
           "models", "optimizers", "preprocessing", "regularizers", "utils"]


def __getattr__(name):
    if name in _BASE:
        return getattr(importlib.import_module("regrad.keras.base"), name)
    if name in __all__:  # when they are used: they need operations
        return importlib.import_module(f"regrad.keras.{name}")
    from regrad.core.absent import hint

    others = ": of Keras there are what layers and models are made of, losses and optimizers; tf.metrics has measures"
    raise AttributeError(f"module 'regrad.keras' has no attribute {name!r}{hint('regrad.keras', name) or others}", name=name)
