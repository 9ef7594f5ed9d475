"""`tf.keras.models`: containers of layers."""

from regrad.keras.base import Input, Model, Sequential

__all__ = ["Input", "Model", "Sequential"]
