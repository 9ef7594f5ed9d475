"""`tf.contrib.estimator`: what `tf.estimator.experimental` was called before."""

from regrad.estimator.experimental import __all__, __dir__, __getattr__  # noqa: F401
