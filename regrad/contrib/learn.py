"""`tf.contrib.learn`: of the older library of estimators, the modes that model functions name."""

from regrad.core.lazy import names_of

__getattr__, __dir__ = names_of(__name__, {})[:2]
__all__ = ["ModeKeys"]


class ModeKeys:
    """What a model function is asked for; the values are those of `tf.estimator.ModeKeys`."""

    TRAIN, EVAL, INFER = "train", "eval", "infer"
