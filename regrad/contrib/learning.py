"""Training loops of `slim.learning` and `tf.contrib.training`: operations that train, with gradients clipped and scaled."""

import time

from regrad import logging, summary
from regrad.core.errors import OutOfRangeError
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import math
from regrad.ops.array import check_numerics
from regrad.ops.clip import clip_by_norm, global_norm
from regrad.ops.compare import equal, greater_equal
from regrad.ops.control import with_dependencies
from regrad.train.optimizer import Optimizer
from regrad.train.saver import Saver
from regrad.train.steps import get_or_create_global_step
from regrad.train.supervisor import Supervisor
from regrad.variables.listing import trainable_variables

__all__ = ["add_gradients_summaries", "clip_gradient_norms", "create_train_op", "multiply_gradients", "train", "train_step"]
_GLOBAL_STEP = 0


def _slices_or_tensor(function, gradient):
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def clip_gradient_norms(gradients_to_variables, max_norm):
    """Returns (gradient, variable) pairs whose gradients have at most the norm `max_norm` each; None stays."""
    return [(g if g is None else _slices_or_tensor(lambda t: clip_by_norm(t, max_norm), g), v)
            for g, v in gradients_to_variables]


def multiply_gradients(grads_and_vars, gradient_multipliers):
    """Returns (gradient, variable) pairs with some gradients scaled.

    Args:
      gradient_multipliers: {variable, or its name without ":0": factor}.

    Raises:
      ValueError: no dictionary, an empty one, or a variable in it has no gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    by_key = {k if isinstance(k, str) else k.op.name: f for k, f in gradient_multipliers.items()}
    scaled = []
    for gradient, variable in grads_and_vars:
        factor = by_key.get(variable.op.name)
        if factor is not None:
            if gradient is None:
                raise ValueError(f"Requested multiple of `None` gradient: variable {variable.op.name}.")
            gradient = _slices_or_tensor(lambda t, f=factor: t * math.cast(f, t.dtype), gradient)
        scaled.append((gradient, variable))
    return scaled


def add_gradients_summaries(grads_and_vars):
    """Returns summaries of gradients: a histogram and the norm of each."""
    made = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        made.append(summary.histogram(variable.op.name + "_gradient", values))
        made.append(summary.scalar(variable.op.name + "_gradient_norm", global_norm([values])))
    return made


def create_train_op(total_loss, optimizer, global_step=_GLOBAL_STEP, update_ops=None, variables_to_train=None,
                    clip_gradient_norm=0, summarize_gradients=False, gate_gradients=Optimizer.GATE_OP, aggregation_method=None,
                    colocate_gradients_with_ops=False, gradient_multipliers=None, check_numerics=True,
                    transform_grads_fn=None):
    """Returns a tensor, the loss, whose computation makes one step of training.

    Args:
      total_loss: the scalar to minimise.
      optimizer: an Optimizer.
      global_step: the variable to count in; None for none, by default the graph's, made if there is none.
      update_ops: operations to run before the loss, by default those of the collection UPDATE_OPS.
      variables_to_train: by default all trainable ones.
      clip_gradient_norm: the largest norm of a gradient; 0 for no bound.
      summarize_gradients: add summaries of the gradients.
      gradient_multipliers: see `multiply_gradients`.
      check_numerics: refuse a loss that is infinite or NaN.
      transform_grads_fn: function of a list of (gradient, variable) pairs that returns such a list.
    """
    graph = get_default_graph()
    if global_step is _GLOBAL_STEP:
        global_step = get_or_create_global_step()
    update_ops = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
    if update_ops:
        total_loss = with_dependencies(update_ops, total_loss)
    variables = trainable_variables() if variables_to_train is None else variables_to_train
    pairs = optimizer.compute_gradients(total_loss, variables, gate_gradients=gate_gradients,
                                        aggregation_method=aggregation_method,
                                        colocate_gradients_with_ops=colocate_gradients_with_ops)
    if transform_grads_fn:
        pairs = transform_grads_fn(pairs)
    if gradient_multipliers:
        pairs = multiply_gradients(pairs, gradient_multipliers)
    if clip_gradient_norm > 0:
        pairs = clip_gradient_norms(pairs, clip_gradient_norm)
    if summarize_gradients:
        with graph.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    step = optimizer.apply_gradients(pairs, global_step=global_step)
    with graph.name_scope("train_op"):
        if check_numerics:
            total_loss = _checked(total_loss)
        train_op = with_dependencies([step], total_loss)
    if train_op not in graph.get_collection(GraphKeys.TRAIN_OP):
        graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op


def _checked(loss):
    return check_numerics(loss, "LossTensor is inf or nan")


def train_step(sess, train_op, global_step, train_step_kwargs):
    """Makes a step; returns (loss, whether training is over).

    Args:
      train_step_kwargs: {"should_log": ..., "should_stop": ...}, bool tensors or nothing.
    """
    start = time.time()
    loss, step = sess.run([train_op, global_step])
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, time.time() - start)
    return loss, bool("should_stop" in train_step_kwargs and sess.run(train_step_kwargs["should_stop"]))


def train(train_op, logdir, train_step_fn=train_step, train_step_kwargs=None, log_every_n_steps=1, graph=None, master="",
          is_chief=True, global_step=None, number_of_steps=None, init_op=Supervisor.USE_DEFAULT, init_feed_dict=None,
          local_init_op=Supervisor.USE_DEFAULT, init_fn=None, ready_op=Supervisor.USE_DEFAULT,
          summary_op=Supervisor.USE_DEFAULT, save_summaries_secs=600, summary_writer=Supervisor.USE_DEFAULT,
          startup_delay_steps=0, saver=None, save_interval_secs=600, sync_optimizer=None, session_config=None,
          session_wrapper=None, trace_every_n_steps=None, ignore_live_threads=False):
    """Trains until `number_of_steps`, or until the data end; returns the last loss.

    Variables come from the latest checkpoint in `logdir`, if there is one; one is written at the end. The arguments are those
    of `tf.train.Supervisor`; `startup_delay_steps`, `sync_optimizer` and `trace_every_n_steps` are accepted.

    Args:
      train_op: what `create_train_op` gave.
      logdir: folder of checkpoints and summaries, None for none.
      train_step_fn: function like `train_step`.
      train_step_kwargs: what it gets; by default when to log and when to stop.

    Raises:
      ValueError: no train_op, or a number of steps below 1.
    """
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")
    graph = graph or get_default_graph()
    with graph.as_default():
        global_step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        if train_step_kwargs is None:
            train_step_kwargs = {}
            if number_of_steps is not None:
                train_step_kwargs["should_stop"] = greater_equal(global_step, number_of_steps)
            if log_every_n_steps > 0:
                train_step_kwargs["should_log"] = equal(math.mod(global_step, log_every_n_steps), 0)
    supervisor = Supervisor(graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op, init_feed_dict=init_feed_dict,
                            local_init_op=local_init_op, ready_op=ready_op, summary_op=summary_op,
                            summary_writer=summary_writer, global_step=global_step, saver=saver,
                            save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs, init_fn=init_fn)
    loss = None
    with supervisor.managed_session(master, config=session_config, start_standard_services=False) as sess:
        if session_wrapper is not None:
            sess = session_wrapper(sess)
        if logdir:
            supervisor.start_standard_services(sess)
        supervisor.start_queue_runners(sess)
        try:
            done = False
            while not done and not supervisor.should_stop():
                loss, done = train_step_fn(sess, train_op, global_step, train_step_kwargs)
        except OutOfRangeError as error:
            logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
        supervisor.stop(close_summary_writer=False, ignore_live_threads=True)  # else an older save might end after the last
        if logdir and is_chief:
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)
    return loss
