"""`tf.contrib.tensorboard.plugins`: the plugins."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {}, modules="projector")
