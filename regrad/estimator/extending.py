"""Estimators and optimizers made of others."""

from regrad.compat.decorators import fn_args
from regrad.estimator.estimator import Estimator, taken
from regrad.estimator.spec import ModeKeys
from regrad.ops.clip import clip_by_global_norm
from regrad.train.optimizer import Optimizer


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


class _Clipping(Optimizer):
    """Another optimizer, whose gradients are changed before they are applied."""

    def __init__(self, optimizer, change):
        super().__init__(False, f"Transform{optimizer.get_name()}")
        self._optimizer, self._change = optimizer, change

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        return self._optimizer.apply_gradients(self._change(grads_and_vars), global_step, name)

    def get_slot(self, var, name):
        return self._optimizer.get_slot(var, name)

    def get_slot_names(self):
        return self._optimizer.get_slot_names()

    def variables(self):
        return self._optimizer.variables()


def clip_gradients_by_norm(optimizer, clip_norm):
    """Returns an optimizer that scales all gradients down together where their common norm is above `clip_norm`."""
    def change(grads_and_vars):
        gradients, variables = zip(*grads_and_vars)
        return list(zip(clip_by_global_norm(gradients, clip_norm)[0], variables))

    return _Clipping(optimizer, change)
