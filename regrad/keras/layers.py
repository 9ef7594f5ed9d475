"""`tf.keras.layers`: the layers of `tf.layers`, and Keras's base of layers that change another."""

from regrad.layers import *  # noqa: F403
from regrad.layers.base import Layer


class Wrapper(Layer):
    """Base of layers that call another, `layer`, in a way of their own.

    Attributes:
      layer: the other layer; its variables, losses and updates count as this one's.
    """

    def __init__(self, layer, name=None, **kwargs):
        if not isinstance(layer, Layer):
            raise TypeError(f"{type(self).__name__} wraps a layer, got {layer!r}.")
        super().__init__(name=name, **kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True
