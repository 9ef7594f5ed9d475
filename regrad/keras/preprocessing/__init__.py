"""`tf.keras.preprocessing`: sequences of numbers and words, made ready with NumPy."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {}, modules="sequence text")
