"""`tf.keras`: of Keras, its initializers."""

from regrad.keras import initializers

__all__ = ["initializers"]


def __getattr__(name):
    from regrad.core.absent import hint

    raise AttributeError(f"module 'regrad.keras' has no attribute {name!r}{hint('regrad.keras', name)}", name=name)
