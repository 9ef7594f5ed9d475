"""`tf.keras`: of Keras, its initializers."""

from regrad.keras import initializers

__all__ = ["initializers"]


def __getattr__(name):
    from regrad.core.absent import hint

    others = ": of Keras there are initializers; tf.layers and tf.losses have layers and losses"
    raise AttributeError(f"module 'regrad.keras' has no attribute {name!r}{hint('regrad.keras', name) or others}", name=name)
