"""`tf.keras`: of Keras, its initializers."""

from regrad.keras import initializers

__all__ = ["initializers"]
