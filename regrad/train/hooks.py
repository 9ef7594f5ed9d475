"""Hooks: what to do around each run of a monitored session."""

import collections
import os
import time

import numpy as np

from regrad import logging
from regrad.core.files import in_place_of
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.messages import SessionLog, Summary
from regrad.core.shown import Shown
from regrad.gfile import MakeDirs
from regrad.runtime.trace import RunOptions
from regrad.train.event_files import FileWriterCache
from regrad.train.graph_files import write_graph
from regrad.train.steps import get_global_step


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ("fetches", "feed_dict", "options"))):
    """What a hook adds to a run: fetches (any structure), feeds, options."""

    def __new__(cls, fetches=None, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunValues(collections.namedtuple("SessionRunValues", ("results", "options", "run_metadata"))):
    """What a hook gets back: the values of its fetches, in their structure."""


class SessionRunContext(Shown):
    """The run that is about to happen, or has: the caller's arguments, the session, and a way to stop the loop."""

    def __init__(self, original_args, session):
        self.original_args = original_args
        self.session = session
        self._stop = False

    stop_requested = property(lambda self: self._stop)

    def request_stop(self):
        """Makes `should_stop` of the monitored session true."""
        self._stop = True


class SessionRunHook(Shown):
    """Base class; all methods may be left as they are."""

    def begin(self):
        """Called once before the session is made: the graph may still be changed."""

    def after_create_session(self, session, coord):
        """Called once the session exists and its variables have values; the graph is finalised."""

    def before_run(self, run_context):
        """Called before each run; returns SessionRunArgs, or None."""

    def after_run(self, run_context, run_values):
        """Called after each run that succeeded."""

    def end(self, session):
        """Called at the end, unless an exception ended the loop."""


class SecondOrStepTimer(Shown):
    """Tells when something is due: every so many seconds, or steps; ValueError unless one of the two is given."""

    def __init__(self, every_secs=None, every_steps=None):
        if (every_secs is None) == (every_steps is None):
            raise ValueError("Exactly one of every_secs and every_steps should be provided.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self):
        """Forgets when it was last due."""
        self._last_step = self._last_time = None

    def should_trigger_for_step(self, step):
        """Returns whether it is due; always the first time, never twice for one step."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            return time.monotonic() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step):
        """Notes that it was done; returns (seconds, steps) since the last time, or (None, None)."""
        now = time.monotonic()
        since = (None, None) if self._last_step is None else (now - self._last_time, step - self._last_step)
        self._last_time, self._last_step = now, step
        return since

    def last_triggered_step(self):
        """Returns the step at which it was done last, or None."""
        return self._last_step


def _step_tensor(hook):
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return step


class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` more steps, or at global step `last_step`."""

    def __init__(self, num_steps=None, last_step=None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self):
        self._step = _step_tensor("StopAtStepHook")

    def after_create_session(self, session, coord):
        if self._last_step is None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def after_run(self, run_context, run_values):
        if run_context.session.run(self._step) >= self._last_step:
            run_context.request_stop()


class CheckpointSaverListener(Shown):
    """Base class of what happens around each save of a CheckpointSaverHook."""

    def begin(self):
        pass

    def before_save(self, session, global_step_value):
        pass

    def after_save(self, session, global_step_value):
        """A true result asks to stop training."""

    def end(self, session, global_step_value):
        pass


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint every so many seconds or steps, at the start and at the end, and notes it in the event file there."""

    def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None, checkpoint_basename="model.ckpt",
                 scaffold=None, listeners=None, save_graph_def=True):
        """Args: save_graph_def: whether the graph is written at the start, as text (graph.pbtxt) and into the event file."""
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._directory = checkpoint_dir
        self._path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._saver, self._scaffold = saver, scaffold
        self._listeners = list(listeners or [])
        self._save_graph = save_graph_def

    def add_listeners(self, listeners):
        """Adds CheckpointSaverListeners."""
        self._listeners += listeners

    def begin(self):
        MakeDirs(self._directory)
        self._writer = FileWriterCache.get(self._directory)
        self._step = _step_tensor("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        step = int(session.run(self._step))
        if self._save_graph:
            graph = session.graph.as_graph_def(add_shapes=True)
            write_graph(graph, self._directory, "graph.pbtxt")
            self._writer.add_graph(graph)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context, run_values):
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session):
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _saver_of(self, graph):
        """Returns the saver to use: of nobody's own, the one that restored the session, which knows the older checkpoints."""
        if self._saver is None and self._scaffold is None:
            savers = graph.get_collection(GraphKeys.SAVERS)
            if len(savers) != 1:
                raise RuntimeError(f"CheckpointSaverHook: {'More than one' if savers else 'No'} items in collection "
                                   f"{GraphKeys.SAVERS}. Please provide a saver or scaffold.")
            self._saver = savers[0]
        return self._saver or self._scaffold.saver

    def _save(self, session, step):
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._saver_of(session.graph).save(session, self._path, global_step=step)
        self._writer.add_session_log(SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._path), step)
        self._writer.flush()
        answers = [listener.after_save(session, step) for listener in self._listeners]
        return any(answers)


def _element(given):
    """Returns an element of the default graph; the name of an operation stands for the one tensor that it gives.

    Raises:
      KeyError: there is nothing of that name.
      ValueError: the operation gives several, or the element is of another graph.
    """
    graph = get_default_graph()
    if not isinstance(given, str) or ":" in given:
        return graph.as_graph_element(given)
    if len(graph.get_operation_by_name(given).outputs) > 1:
        raise ValueError(f"Name {given} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return graph.get_tensor_by_name(f"{given}:0")


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every so many runs or seconds, and perhaps at the end."""

    def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
        """Args: tensors: list of tensors or names, or {tag: tensor or name}; formatter: function of {tag: value}."""
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tensors = dict(tensors) if isinstance(tensors, dict) else {getattr(t, "name", t): t for t in tensors}
        self._timer = None if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        self._at_end, self._formatter = at_end, formatter

    def begin(self):
        if self._timer is not None:
            self._timer.reset()
        self._runs = 0
        self._tensors = {tag: _element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context):
        self._due = self._timer is not None and self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._tensors) if self._due else None

    def after_run(self, run_context, run_values):
        if self._due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session):
        if self._at_end:
            self._log(session.run(self._tensors))

    def _log(self, values):
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._runs)
        text = self._formatter(values) if self._formatter else ", ".join(f"{tag} = {v}" for tag, v in values.items())
        logging.info("%s%s", text, f" ({seconds:.3f} sec)" if seconds is not None and not self._formatter else "")


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops, or raises NanLossDuringTrainingError, when a tensor has a NaN."""

    def __init__(self, loss_tensor, fail_on_nan_loss=True):
        self._tensor, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        return SessionRunArgs(self._tensor)

    def after_run(self, run_context, run_values):
        if np.any(np.isnan(run_values.results)):
            if self._fail:
                logging.error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class StepCounterHook(SessionRunHook):
    """Logs how many steps per second are made.

    Attributes:
      steps_per_sec: the last figure, or None.
    """

    def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
        """Args: output_dir: folder of the FileWriterCache's writer; summary_writer: the FileWriter. Neither: the figure is
        only logged."""
        self._timer = SecondOrStepTimer(every_n_secs, None if every_n_secs is not None else every_n_steps)
        self._writer, self._output_dir = summary_writer, output_dir
        self.steps_per_sec = None

    def begin(self):
        self._writer = _writer(self._writer, self._output_dir)
        self._step = _step_tensor("StepCounterHook")

    def after_run(self, run_context, run_values):
        step = int(run_context.session.run(self._step))
        if self._timer.should_trigger_for_step(step):
            seconds, steps = self._timer.update_last_triggered_step(step)
            if seconds:
                self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
        """Logs the figure, and writes it; subclasses of programs do more."""
        self.steps_per_sec = elapsed_steps / elapsed_time
        self._record(self._step.op.name + "/sec", self.steps_per_sec, global_step)

    def _record(self, tag, figure, global_step):
        if self._writer is not None:
            self._writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=figure)]), global_step)
        logging.info("%s: %g", tag, figure)


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds, at the first step always."""

    def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None, scaffold=None, summary_op=None):
        """Args:
          save_steps, save_secs: how often; one of them.
          output_dir, summary_writer: where to.
          scaffold: gives the summary operation (`scaffold.summary_op`), if `summary_op` does not.
          summary_op: string tensor or tensors of serialised summaries.

        Raises:
          ValueError: both or neither of `scaffold` and `summary_op`.
        """
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._op, self._scaffold = summary_op, scaffold
        self._writer, self._output_dir = summary_writer, output_dir

    def begin(self):
        self._writer = _writer(self._writer, self._output_dir)
        self._step = _step_tensor("SummarySaverHook")
        self._next = None

    def before_run(self, run_context):
        self._due = self._next is None or self._timer.should_trigger_for_step(self._next)
        fetches = {"step": self._step}
        op = self._op if self._scaffold is None else self._scaffold.summary_op
        if self._due and op is not None:
            fetches["summary"] = list(op) if isinstance(op, (list, tuple)) else [op]
        return SessionRunArgs(fetches)

    def after_run(self, run_context, run_values):
        if self._writer is None:
            return
        step = int(run_values.results["step"]) + 1  # it was read before this run's training step
        if self._due:
            step = int(run_context.session.run(self._step))
        if self._next is None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next = step + 1

    def end(self, session):
        if self._writer is not None:
            self._writer.flush()


class ProfilerHook(SessionRunHook):
    """Records a run every so many steps or seconds into `timeline-<step>.json`, for chrome://tracing."""

    def __init__(self, save_steps=None, save_secs=None, output_dir="", show_dataflow=True, show_memory=False):
        """Args: show_dataflow, show_memory: accepted."""
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._path = os.path.join(output_dir, "timeline-{}.json")

    def begin(self):
        self._step = _step_tensor("ProfilerHook")
        self._next = None

    def before_run(self, run_context):
        self._due = self._next is not None and self._timer.should_trigger_for_step(self._next)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None
        return SessionRunArgs({"step": self._step}, options=options)

    def after_run(self, run_context, run_values):
        step = int(run_values.results["step"]) + 1
        if self._next is None:  # the first run compiles: it would show nothing else
            self._timer.update_last_triggered_step(step)
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            with in_place_of(self._path.format(step)) as file:
                file.write(run_values.run_metadata.to_chrome_trace().encode())
        self._next = step + 1


def _writer(given, folder):
    return given if given is not None or not folder else FileWriterCache.get(folder)


class FinalOpsHook(SessionRunHook):
    """Evaluates tensors at the end.

    Attributes:
      final_ops_values: their values.
    """

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self.final_ops_values = None

    def end(self, session):
        if self._ops is not None:
            self.final_ops_values = session.run(self._ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds every run with what a function returns."""

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class GlobalStepWaiterHook(SessionRunHook):
    """Delays until the global step has come to `wait_until_step`, for workers that start one after another."""

    def __init__(self, wait_until_step):
        self._wait_until = wait_until_step

    def begin(self):
        self._step = _step_tensor("_GlobalStepWaiterHook")

    def before_run(self, run_context):
        while run_context.session.run(self._step) < self._wait_until:
            time.sleep(0.05)
