"""`train_and_evaluate`: trains, and evaluates the checkpoints that training saves."""

import collections
import os

from regrad import logging
from regrad.core.graph_keys import GraphKeys
from regrad.estimator.estimator import Estimator
from regrad.estimator.spec import checked
from regrad.train.hooks import CheckpointSaverListener, SecondOrStepTimer


class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
    """How `train_and_evaluate` trains: see `Estimator.train`.

    Raises:
      ValueError: `max_steps` below 1.
      TypeError: `input_fn` is no function, or one of `hooks` no hook.
    """

    __slots__ = ()

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, _function(input_fn), max_steps, checked(hooks), tuple(saving_listeners or ()))


class EvalSpec(collections.namedtuple("EvalSpec", ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs",
                                                   "throttle_secs"])):
    """How `train_and_evaluate` evaluates: see `Estimator.evaluate`.

    Args:
      exporters: an Exporter or several, which export after each evaluation.
      start_delay_secs: accepted.
      throttle_secs: least time between two evaluations.

    Raises:
      ValueError: `steps` below 1, or a negative time.
      TypeError: `input_fn` is no function, `name` no string, or one of `hooks` no hook.
    """

    __slots__ = ()

    def __new__(cls, input_fn, steps=100, name=None, hooks=None, exporters=None, start_delay_secs=120, throttle_secs=600):
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        for what, seconds in ("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs):
            if seconds < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {seconds}")
        return super().__new__(cls, _function(input_fn), steps, name, checked(hooks), _exporters(exporters), start_delay_secs,
                               throttle_secs)


def _function(input_fn):
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")
    return input_fn


def _exporters(given):
    if given is None:
        return ()
    exporters = [given] if hasattr(given, "export") else list(given)
    names = [exporter.name for exporter in exporters]
    if not all(names) or len(set(names)) < len(names):
        raise ValueError(f"`exporters` must have unique names, which are folders. Names found: {names}")
    return tuple(exporters)


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains, and evaluates checkpoints as they are saved, `throttle_secs` apart, and the last one.

    Args:
      estimator: an Estimator.
      train_spec: a TrainSpec.
      eval_spec: an EvalSpec.

    Returns:
      (the last evaluation's {name: value}, list of what the exporters returned).

    Raises:
      TypeError: an argument is of another type.
    """
    for name, given, kind in (("estimator", estimator, Estimator), ("train_spec", train_spec, TrainSpec),
                              ("eval_spec", eval_spec, EvalSpec)):
        if not isinstance(given, kind):
            raise TypeError(f"`{name}` must have type `tf.estimator.{kind.__name__}`. Got: {type(given)}")
    config = estimator.config
    logging.info("Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint frequency is "
                 "determined based on RunConfig arguments: save_checkpoints_steps %s or save_checkpoints_secs %s.",
                 config.save_checkpoints_steps, config.save_checkpoints_secs)
    evaluations = _Evaluations(estimator, train_spec.max_steps, eval_spec)
    estimator.train(train_spec.input_fn, hooks=train_spec.hooks, max_steps=train_spec.max_steps,
                    saving_listeners=[evaluations, *train_spec.saving_listeners])
    return evaluations.metrics, evaluations.exported


class _Evaluations(CheckpointSaverListener):
    """Evaluates checkpoints when they have been saved.

    Attributes:
      metrics: what the last evaluation gave, or None.
      exported: what the exporters returned then.
    """

    def __init__(self, estimator, max_steps, spec):
        self._estimator, self._max_steps, self._spec = estimator, max_steps, spec
        self._timer = SecondOrStepTimer(every_secs=spec.throttle_secs)
        self._before_training = True
        self.metrics, self.exported = None, []

    def begin(self):
        self._timer.reset()
        self._before_training = True

    def after_save(self, session, global_step_value):
        if self._before_training:
            self._before_training = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            logging.info("Skip the current checkpoint eval due to throttle secs (%s secs).", self._spec.throttle_secs)

    def end(self, session, global_step_value):
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step):
        self._timer.update_last_triggered_step(step)
        spec, estimator = self._spec, self._estimator
        path = estimator.latest_checkpoint()
        self.metrics = estimator.evaluate(spec.input_fn, spec.steps, list(spec.hooks), path, spec.name)
        final = bool(self._max_steps) and int(self.metrics[GraphKeys.GLOBAL_STEP]) >= self._max_steps
        self.exported = [
            exporter.export(estimator, os.path.join(estimator.model_dir, "export", exporter.name), path, self.metrics, final)
            for exporter in spec.exporters]
