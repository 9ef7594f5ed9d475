"""What a model function is asked for, and what it returns."""

import collections

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import Operation, Tensor
from regrad.ops.array import reshape
from regrad.ops.sparse import SparseTensor
from regrad.train.hooks import SessionRunHook
from regrad.train.monitored import Scaffold
from regrad.variables.variable import Variable


class ModeKeys:
    """What a model function is asked for: TRAIN, EVAL or PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class EstimatorSpec(collections.namedtuple("EstimatorSpec", [
        "mode", "predictions", "loss", "train_op", "eval_metric_ops", "export_outputs", "training_chief_hooks",
        "training_hooks", "scaffold", "evaluation_hooks", "prediction_hooks"])):
    """What a model function returns: operations and objects, by name.

    Args:
      mode: a ModeKeys.
      predictions: tensor, or {name: tensor}.
      loss: scalar, or tensor of one element.
      train_op: the operation of one step.
      eval_metric_ops: {name: (value, update)}, as the functions of `tf.metrics` return them.
      export_outputs: {name: what a served model gives}.
      training_hooks, training_chief_hooks, evaluation_hooks, prediction_hooks: hooks of the session.
      scaffold: a `tf.train.Scaffold`.

    Raises:
      ValueError: `train_op` or `loss` is missing for TRAIN, `loss` for EVAL, or `predictions` for PREDICT; the loss is no
        scalar; something is of another graph.
      TypeError: an argument is not of the kind above.
    """

    __slots__ = ()

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, export_outputs=None,
                training_chief_hooks=None, training_hooks=None, scaffold=None, evaluation_hooks=None, prediction_hooks=None):
        needed = {ModeKeys.TRAIN: {"train_op": train_op, "loss": loss}, ModeKeys.EVAL: {"loss": loss},
                  ModeKeys.PREDICT: {"predictions": predictions}}
        for name, given in needed.get(mode, {}).items():
            if given is None:
                raise ValueError(f"Missing {name}.")
        predictions = {} if predictions is None else predictions
        for name, value in predictions.items() if isinstance(predictions, dict) else [("", predictions)]:
            _check_here(value, f"predictions[{name}]" if name else "predictions")
        if train_op is not None:
            _check_here(train_op, "train_op")
        hooks = [checked(hooks) for hooks in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)]
        scaffold = Scaffold() if scaffold is None else scaffold
        if not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(cls, mode, predictions, _scalar(loss), train_op, _metrics(eval_metric_ops), export_outputs,
                               hooks[0], hooks[1], scaffold, hooks[2], hooks[3])


def _check_here(value, what):
    """Raises unless `value` is an element of the default graph."""
    if not isinstance(value, (Tensor, Operation, Variable, SparseTensor, IndexedSlices)):
        raise TypeError(f"{what} must be Operation or Tensor, given: {value}")
    if value.graph is not get_default_graph():
        raise ValueError(f"{what} must be from the default graph. Possible causes of this error include:\n"
                         "1) it was created outside the context of the default graph.\n"
                         "2) the object passed through to EstimatorSpec was not created in the most recent call to model_fn. "
                         f"Given: {value!r}")


def _scalar(loss):
    if loss is None:
        return None
    loss = convert_to_tensor(loss)
    _check_here(loss, "loss")
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    return loss if loss.dims in ((), None) else reshape(loss, [])


def _metrics(given):
    given = given or {}
    if not isinstance(given, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {given}")
    for name, pair in given.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {pair} for key: "
                            f"{name}")
        for element in pair:
            _check_here(element, f"eval_metric_ops[{name}]")
    return given


def checked(given, kind=SessionRunHook):
    """Returns a tuple of hooks, or of listeners; TypeError for anything else in it."""
    found = tuple(given or ())
    for item in found:
        if not isinstance(item, kind):
            raise TypeError(f"Hooks must be a {kind.__name__}, given: {item}")
    return found
