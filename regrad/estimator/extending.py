"""Estimators and optimizers made of others."""

from regrad.compat.decorators import fn_args
from regrad.estimator.estimator import Estimator, taken
from regrad.estimator.spec import ModeKeys
from regrad.ops.clip import clip_by_global_norm
from regrad.train.wrapping import WrappingOptimizer


def add_metrics(estimator, metric_fn):
    """Returns an Estimator like another, whose evaluations give further metrics.

    Args:
      estimator: an Estimator.
      metric_fn: function of any of (features, labels, predictions, config) that returns {name: (value, update)}; one whose
        name the model has takes its place.

    Raises:
      ValueError: the function takes other arguments.
    """
    known = {"features", "labels", "predictions", "config", "self"}
    if not set(fn_args(metric_fn)) <= known:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {sorted(set(fn_args(metric_fn)) - known)}")

    def model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        more = metric_fn(**taken(metric_fn, features=features, labels=labels, predictions=spec.predictions, config=config))
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **(more or {})})

    return Estimator(model_fn, estimator.model_dir, estimator.config, warm_start_from=estimator._warm_start)


class _Clipping(WrappingOptimizer):
    """Another optimizer, whose gradients are clipped by their common norm before they are applied."""

    def __init__(self, optimizer, clip_norm):
        super().__init__(optimizer, False, f"Transform{optimizer.get_name()}")
        self._clip_norm = clip_norm

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns an operation that trains by gradients scaled down."""
        gradients, variables = zip(*grads_and_vars)
        clipped, _ = clip_by_global_norm(gradients, self._clip_norm)
        return self._opt.apply_gradients(list(zip(clipped, variables)), global_step, name)


def clip_gradients_by_norm(optimizer, clip_norm):
    """Returns an optimizer that scales all gradients down together where their common norm is above `clip_norm`."""
    return _Clipping(optimizer, clip_norm)
