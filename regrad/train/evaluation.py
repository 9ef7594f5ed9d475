"""Evaluates checkpoints: `tf.contrib.training.evaluate_once`, and the hooks that say when an evaluation is over."""

import time

from regrad import logging
from regrad.core import dtypes
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.framework import control_dependencies
from regrad.ops.array import identity
from regrad.ops.summary import merge_all
from regrad.train.checkpoint import checkpoints_iterator, latest_checkpoint
from regrad.train.event_files import FileWriterCache
from regrad.train.hooks import FinalOpsHook, SessionRunArgs, SessionRunHook
from regrad.train.monitored import ChiefSessionCreator, MonitoredSession
from regrad.train.steps import get_or_create_global_step
from regrad.variables.assign import assign_add
from regrad.variables.initializers import zeros_initializer
from regrad.variables.scope import get_variable

__all__ = ["StopAfterNEvalsHook", "SummaryAtEndHook", "checkpoints_iterator", "evaluate_once", "evaluate_repeatedly",
           "get_or_create_eval_step", "wait_for_new_checkpoint"]


def get_or_create_eval_step():
    """Returns the local int64 variable that counts the runs of an evaluation; makes it if there is none.

    Raises:
      ValueError: the collection EVAL_STEP holds several.
    """
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable("eval_step", [], dtypes.int64, zeros_initializer(), trainable=False,
                        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP])


class StopAfterNEvalsHook(SessionRunHook):
    """Ends an evaluation after `num_evals` runs; None lets it go on until the data end."""

    def __init__(self, num_evals, log_progress=True):
        self._wanted, self._log = num_evals, log_progress
        self._log_every = 1 if num_evals is None or num_evals < 20 else num_evals // 10
        self._done = None

    def _set_evals_completed_tensor(self, updated_eval_step):
        self._done = updated_eval_step

    def before_run(self, run_context):
        return SessionRunArgs({"evals_completed": self._done})

    def after_run(self, run_context, run_values):
        done = run_values.results["evals_completed"]
        if self._log and (done % self._log_every == 0 or done == self._wanted):
            logging.info("Evaluation [%d]" if self._wanted is None else f"Evaluation [%d/{self._wanted}]", done)
        if self._wanted is not None and done >= self._wanted:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries when an evaluation ends."""

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        """Args:
          log_dir: folder of the events, where no `summary_writer` is given.
          summary_op: all summaries of the graph by default.
          feed_dict: what it is fed.

        Raises:
          ValueError: neither log_dir nor summary_writer.
        """
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._directory, self._writer = log_dir, summary_writer
        self._given, self._op, self._feeds = summary_op, summary_op, feed_dict

    def begin(self):
        if self._given is None:
            self._op = merge_all()
        self._step = get_or_create_global_step()

    def after_create_session(self, session, coord):
        if self._writer is None:
            self._writer = FileWriterCache.get(self._directory)

    def end(self, session):
        if self._op is not None:
            self._writer.add_summary(session.run(self._op, self._feeds), int(session.run(self._step)))
        self._writer.flush()


def _counted(eval_ops, hooks):
    """Returns `eval_ops` with the operation that counts its runs; tells the hooks the count."""
    if eval_ops is None:
        return None
    count = assign_add(get_or_create_eval_step(), 1)
    if isinstance(eval_ops, dict):
        eval_ops = {**eval_ops, "update_eval_step": count}
    else:
        eval_ops = [*(eval_ops if isinstance(eval_ops, (tuple, list)) else [eval_ops]), count]
    with control_dependencies(list(eval_ops.values()) if isinstance(eval_ops, dict) else eval_ops):
        value = identity(get_or_create_eval_step().read_value())
    for hook in hooks:
        if hasattr(hook, "_set_evals_completed_tensor"):
            hook._set_evals_completed_tensor(value)
    return eval_ops


def _evaluated(checkpoint_path, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks):
    """Runs one evaluation; returns the values of `final_ops`."""
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path)
    with MonitoredSession(session_creator=creator, hooks=[*hooks, last]) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    return last.final_ops_values


def evaluate_once(checkpoint_path, master="", scaffold=None, eval_ops=None, feed_dict=None, final_ops=None,
                  final_ops_feed_dict=None, hooks=None, config=None):
    """Restores a checkpoint, runs `eval_ops` until a hook stops the session or the data end, and returns `final_ops`' values.

    Args:
      checkpoint_path: prefix of the checkpoint.
      master, config: accepted.
      scaffold: a `tf.train.Scaffold`.
      eval_ops: tensor, operation, list or dictionary of them; None to run the hooks and `final_ops` only.
      feed_dict, final_ops_feed_dict: what they are fed.
      final_ops: tensor, list or dictionary of them, run once at the end.
      hooks: among them a StopAfterNEvalsHook, if the data do not end.
    """
    get_or_create_eval_step()
    hooks = list(hooks or [])
    return _evaluated(checkpoint_path, scaffold, _counted(eval_ops, hooks), feed_dict, final_ops, final_ops_feed_dict, hooks)


def evaluate_repeatedly(checkpoint_dir, master="", scaffold=None, eval_ops=None, feed_dict=None, final_ops=None,
                        final_ops_feed_dict=None, eval_interval_secs=60, hooks=None, config=None,
                        max_number_of_evaluations=None, timeout=None, timeout_fn=None):
    """Evaluates each new checkpoint of a directory as `evaluate_once` does; returns the last values of `final_ops`.

    Args:
      eval_interval_secs: least time between two evaluations.
      max_number_of_evaluations: how many; None for no end.
      timeout: how long to wait for a new checkpoint, in seconds; None waits for ever.
      timeout_fn: called on timeout; it ends when this is missing or returns True.
      The others: see `evaluate_once`.
    """
    get_or_create_eval_step()
    hooks = list(hooks or [])
    eval_ops = _counted(eval_ops, hooks)
    values = None
    for number, path in enumerate(checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn), 1):
        values = _evaluated(path, scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return values


def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
    """Returns the prefix of a checkpoint other than `last_checkpoint`, or None when `timeout` seconds have passed."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if end is not None and time.monotonic() + seconds_to_sleep > end:
            return None
        time.sleep(seconds_to_sleep)
