"""Of `tf.estimator`, what model functions are written with: modes, what they return, and the hooks.

There is no Estimator: a model function is called by the program, and trained with `tf.train.MonitoredTrainingSession`.
"""

import collections

from regrad.train.hooks import (  # noqa: F401 - part of this namespace
    CheckpointSaverHook,
    CheckpointSaverListener,
    FeedFnHook,
    FinalOpsHook,
    GlobalStepWaiterHook,
    LoggingTensorHook,
    NanLossDuringTrainingError,
    NanTensorHook,
    ProfilerHook,
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepCounterHook,
    StopAtStepHook,
    SummarySaverHook,
)


class ModeKeys:
    """What a model function is asked for: TRAIN, EVAL or PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class EstimatorSpec(collections.namedtuple("EstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
        "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks"])):
    """What a model function returns: operations and objects, by name.

    Raises:
      ValueError: `train_op` or `loss` is missing for TRAIN, `loss` for EVAL, or `predictions` for PREDICT.
    """

    __slots__ = ()

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, export_outputs=None,
                training_chief_hooks=None, training_hooks=None, scaffold=None, evaluation_hooks=None, prediction_hooks=None):
        needed = {ModeKeys.TRAIN: {"train_op": train_op, "loss": loss}, ModeKeys.EVAL: {"loss": loss},
                  ModeKeys.PREDICT: {"predictions": predictions}}
        for name, given in needed.get(mode, {}).items():
            if given is None:
                raise ValueError(f"Missing {name}.")
        return super().__new__(cls, mode, {} if predictions is None else predictions, loss, train_op, eval_metric_ops or {},
                               export_outputs, tuple(training_chief_hooks or ()), tuple(training_hooks or ()), scaffold,
                               tuple(evaluation_hooks or ()), tuple(prediction_hooks or ()))


def __getattr__(name):
    from regrad.core.absent import hint

    raise AttributeError(f"module 'regrad.estimator' has no attribute {name!r}{hint('regrad.estimator', name)}", name=name)
