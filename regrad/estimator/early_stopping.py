"""Hooks that stop training where evaluations say so: they read the event files that `Estimator.evaluate` writes."""

import collections
import glob
import operator
import os

from regrad import logging
from regrad.estimator.estimator import Estimator
from regrad.train.event_files import summary_iterator
from regrad.train.hooks import SecondOrStepTimer, SessionRunHook
from regrad.train.steps import get_global_step


def make_early_stopping_hook(estimator, should_stop_fn, run_every_secs=60, run_every_steps=None):
    """Returns a hook that stops training when a function says so.

    Args:
      estimator: an Estimator.
      should_stop_fn: function without arguments.
      run_every_secs, run_every_steps: how often it is asked, one of them.

    Raises:
      TypeError: `estimator` is none.
      ValueError: both intervals, or neither.
    """
    if not isinstance(estimator, Estimator):
        raise TypeError(f"`estimator` must have type `tf.estimator.Estimator`. Got: {type(estimator)}")
    if (run_every_secs is None) == (run_every_steps is None):
        raise ValueError("Exactly one of `run_every_secs` and `run_every_steps` must be set.")
    return _StopWhen(should_stop_fn, SecondOrStepTimer(run_every_secs, run_every_steps))


class _StopWhen(SessionRunHook):
    def __init__(self, should_stop_fn, timer):
        self._should_stop, self._timer = should_stop_fn, timer

    def begin(self):
        self._step = get_global_step()
        self._timer.reset()

    def after_run(self, run_context, run_values):
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._should_stop():
                logging.info("Requesting early stopping at global step %d", step)
                run_context.request_stop()


def read_eval_metrics(eval_dir):
    """Returns {global step: {metric: value}} of the event files in a folder, by increasing step."""
    found = collections.defaultdict(dict)
    for path in sorted(glob.glob(os.path.join(glob.escape(os.fspath(eval_dir)), "*.tfevents.*"))):
        for event in summary_iterator(path):
            if event.HasField("summary"):
                numbers = {v.tag: v.simple_value for v in event.summary.value if v.HasField("simple_value")}
                if numbers:
                    found[event.step].update(numbers)
    return collections.OrderedDict(sorted(found.items()))


def _values(estimator, metric_name, eval_dir, min_steps):
    """Returns [(step, value)] of a metric, from the first step that counts."""
    results = read_eval_metrics(eval_dir or estimator.eval_dir())
    return [(step, metrics[metric_name]) for step, metrics in results.items() if step >= min_steps]


def _at_threshold(estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps, is_past):
    def should_stop():
        for step, value in _values(estimator, metric_name, eval_dir, min_steps):
            if is_past(value, threshold):
                logging.info('At step %s, metric "%s" has value %s which is past the configured threshold (%s) for early '
                             "stopping.", step, metric_name, value, threshold)
                return True
        return False

    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_higher_hook(estimator, metric_name, threshold, eval_dir=None, min_steps=0, run_every_secs=60, run_every_steps=None):
    """Returns a hook that stops training when an evaluation's metric was greater than `threshold`.

    Args:
      metric_name: of what `evaluate` returns.
      eval_dir: folder of the event files; that of evaluations without a name by default.
      min_steps: evaluations of earlier global steps do not count.
      run_every_secs, run_every_steps: how often to look, one of them.
    """
    return _at_threshold(estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps, operator.gt)


def stop_if_lower_hook(estimator, metric_name, threshold, eval_dir=None, min_steps=0, run_every_secs=60, run_every_steps=None):
    """Returns a hook that stops training when an evaluation's metric was less than `threshold`; see `stop_if_higher_hook`."""
    return _at_threshold(estimator, metric_name, threshold, eval_dir, min_steps, run_every_secs, run_every_steps, operator.lt)


def _without_change(estimator, metric_name, patience, eval_dir, min_steps, run_every_secs, run_every_steps, is_better):
    def should_stop():
        best = None
        for step, value in _values(estimator, metric_name, eval_dir, min_steps):
            if best is None or is_better(value, best[1]):
                best = step, value
            if step - best[0] >= patience:
                logging.info('No improvement in metric "%s" for %s steps, which is greater than or equal to max steps (%s) '
                             "configured for early stopping.", metric_name, step - best[0], patience)
                return True
        return False

    return make_early_stopping_hook(estimator, should_stop, run_every_secs, run_every_steps)


def stop_if_no_increase_hook(estimator, metric_name, max_steps_without_increase, eval_dir=None, min_steps=0, run_every_secs=60,
                             run_every_steps=None):
    """Returns a hook that stops training when a metric has not come above its best for `max_steps_without_increase` global
    steps; see `stop_if_higher_hook`."""
    return _without_change(estimator, metric_name, max_steps_without_increase, eval_dir, min_steps, run_every_secs,
                           run_every_steps, operator.gt)


def stop_if_no_decrease_hook(estimator, metric_name, max_steps_without_decrease, eval_dir=None, min_steps=0, run_every_secs=60,
                             run_every_steps=None):
    """Returns a hook that stops training when a metric has not come below its best for `max_steps_without_decrease` global
    steps; see `stop_if_higher_hook`."""
    return _without_change(estimator, metric_name, max_steps_without_decrease, eval_dir, min_steps, run_every_secs,
                           run_every_steps, operator.lt)
