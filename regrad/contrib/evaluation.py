"""`slim.evaluation`: the evaluations of `regrad.train.evaluation` with slim's arguments."""

from regrad import summary
from regrad.train.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    checkpoints_iterator,
    evaluate_repeatedly,
    get_or_create_eval_step,
    wait_for_new_checkpoint,
)
from regrad.train.evaluation import evaluate_once as _evaluate_once
from regrad.train.monitored import Scaffold
from regrad.train.saver import Saver

__all__ = ["StopAfterNEvalsHook", "SummaryAtEndHook", "checkpoints_iterator", "evaluate_once", "evaluate_repeatedly",
           "evaluation_loop", "get_or_create_eval_step", "wait_for_new_checkpoint"]
_USE_DEFAULT = 0


def _hooks(num_evals, logdir, summary_op, feed_dict, hooks):
    """Returns what ends an evaluation, writes its summaries, and the caller's hooks."""
    if summary_op is _USE_DEFAULT:
        summary_op = summary.merge_all()
    found = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None and logdir is not None:
        found.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feed_dict))
    return [*found, *(hooks or [])]


def _scaffold(initial_op, feed_dict, variables_to_restore, init_fn=None):
    return Scaffold(init_op=initial_op, init_feed_dict=feed_dict, init_fn=init_fn,
                    saver=None if variables_to_restore is None else Saver(variables_to_restore))


def evaluate_once(master, checkpoint_path, logdir=None, num_evals=1, initial_op=None, initial_op_feed_dict=None, eval_op=None,
                  eval_op_feed_dict=None, final_op=None, final_op_feed_dict=None, summary_op=_USE_DEFAULT,
                  summary_op_feed_dict=None, variables_to_restore=None, session_config=None, hooks=None):
    """Restores a checkpoint, runs `eval_op` some times, and returns the values of `final_op`.

    Args:
      master, session_config: accepted.
      checkpoint_path: where the variables come from.
      logdir: folder for the summaries, None for none.
      num_evals: how often `eval_op` runs.
      initial_op: the initialisation of what is not restored; as the checkpoint gives all variables it does not run.
      final_op: what runs after; each has its ..._feed_dict.
      summary_op: what is written to `logdir`, by default all summaries.
      variables_to_restore: by default all.
      hooks: further hooks of the session.
    """
    return _evaluate_once(checkpoint_path, scaffold=_scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
                          eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op,
                          final_ops_feed_dict=final_op_feed_dict,
                          hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks))


def evaluation_loop(master, checkpoint_dir, logdir, num_evals=1, initial_op=None, initial_op_feed_dict=None, init_fn=None,
                    eval_op=None, eval_op_feed_dict=None, final_op=None, final_op_feed_dict=None, summary_op=_USE_DEFAULT,
                    summary_op_feed_dict=None, variables_to_restore=None, eval_interval_secs=60,
                    max_number_of_evaluations=None, session_config=None, timeout=None, timeout_fn=None, hooks=None):
    """Evaluates each new checkpoint of `checkpoint_dir` as `evaluate_once` does; returns the last values of `final_op`.

    Args:
      eval_interval_secs, max_number_of_evaluations, timeout, timeout_fn: as for `evaluate_repeatedly`.
      init_fn: as for `tf.train.Scaffold`.
      The others: see `evaluate_once`.
    """
    return evaluate_repeatedly(checkpoint_dir,
                               scaffold=_scaffold(initial_op, initial_op_feed_dict, variables_to_restore, init_fn),
                               eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op,
                               final_ops_feed_dict=final_op_feed_dict, eval_interval_secs=eval_interval_secs,
                               hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
                               max_number_of_evaluations=max_number_of_evaluations, timeout=timeout, timeout_fn=timeout_fn)
