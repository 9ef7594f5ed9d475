"""`tf.contrib.tensorboard`: what TensorBoard's plugins are told by files."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {}, modules="plugins")
