"""`tf.contrib.resampler`: images read at points."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {"regrad.ops.warp": "resampler"})
