"""`tf.keras`: of Keras, its initializers and regularizers, and layers, which are those of `tf.layers`."""

from regrad.keras import initializers, regularizers

__all__ = ["initializers", "layers", "regularizers"]


def __getattr__(name):
    if name == "layers":  # when it is used: a layer needs operations
        import importlib

        return importlib.import_module("regrad.keras.layers")
    from regrad.core.absent import hint

    others = ": of Keras there are initializers, regularizers and layers; tf.losses has losses, tf.train optimizers"
    raise AttributeError(f"module 'regrad.keras' has no attribute {name!r}{hint('regrad.keras', name) or others}", name=name)
