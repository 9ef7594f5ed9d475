"""`tf.contrib.learn`: of the older library of estimators, the modes that model functions name."""

from regrad.core.absent import hint

__all__ = ["ModeKeys"]


class ModeKeys:
    """What a model function is asked for; the values are those of `tf.estimator.ModeKeys`."""

    TRAIN, EVAL, INFER = "train", "eval", "infer"


def __getattr__(name):
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint(__name__, name)}", name=name)
