"""`tf.keras`: of Keras, its settings (`backend`), initializers and regularizers, and layers, which are those of `tf.layers`."""

from regrad.keras import initializers, regularizers

__all__ = ["backend", "initializers", "layers", "regularizers"]


def __getattr__(name):
    if name in ("backend", "layers"):  # when they are used: they need operations
        import importlib

        return importlib.import_module(f"regrad.keras.{name}")
    from regrad.core.absent import hint

    others = ": of Keras there are initializers, regularizers and layers; tf.losses has losses, tf.train optimizers"
    raise AttributeError(f"module 'regrad.keras' has no attribute {name!r}{hint('regrad.keras', name) or others}", name=name)
