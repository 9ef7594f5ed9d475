"""`tf.keras.preprocessing`: sequences of numbers and words, made ready with NumPy."""

from regrad.keras.preprocessing import sequence, text

__all__ = ["sequence", "text"]
