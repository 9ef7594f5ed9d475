"""`tf.contrib.layers.optimize_loss`: one call from a loss to a training step."""

from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import array, math
from regrad.ops.clip import clip_by_global_norm, global_norm
from regrad.ops.control import with_dependencies
from regrad.ops.random import truncated_normal
from regrad.ops.summary import histogram, scalar
from regrad.train import optimizers
from regrad.train.optimizer import Optimizer
from regrad.train.steps import assert_global_step, get_global_step
from regrad.variables.initializers import constant_initializer
from regrad.variables.listing import trainable_variables
from regrad.variables.scope import get_variable, variable_scope

OPTIMIZER_CLS_NAMES = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": lambda learning_rate: optimizers.MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]


def _rate(learning_rate):
    if learning_rate is None or hasattr(learning_rate, "graph") and getattr(learning_rate, "shape", None) is not None:
        return learning_rate
    if not isinstance(learning_rate, (int, float)) or learning_rate < 0:
        raise ValueError(f"Invalid learning_rate {learning_rate}.")
    return get_variable("learning_rate", [], trainable=False, initializer=constant_initializer(learning_rate))


def _made(optimizer, rate):
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}.")
        if rate is None:
            raise ValueError(f"Learning rate is None, but should be specified if optimizer is string ({optimizer}).")
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ValueError(f"optimizer should be a name, a class, an instance or a function, got {optimizer!r}.")
    made = optimizer() if rate is None else optimizer(rate)
    if not isinstance(made, Optimizer):
        raise ValueError(f"Optimizer function should return an Optimizer, got {made!r}.")
    return made


def _changed(grad, change):
    """Returns a gradient with its values changed; slices stay slices."""
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(change(grad.values), grad.indices, grad.dense_shape)
    return change(grad)


def optimize_loss(loss, global_step, learning_rate, optimizer, gradient_noise_scale=None, gradient_multipliers=None,
                  clip_gradients=None, learning_rate_decay_fn=None, update_ops=None, variables=None, name=None, summaries=None,
                  colocate_gradients_with_ops=False, increment_global_step=True):
    """Returns the loss as a tensor that is there when a training step is done.

    Args:
      loss: scalar tensor.
      global_step: the step counter, or None for the graph's, if there is one.
      learning_rate: number, scalar tensor, or None where the optimizer has its own.
      optimizer: "Adagrad", "Adam", "Ftrl", "Momentum", "RMSProp" or "SGD"; a class; an instance; or a function of the rate.
      gradient_noise_scale: add normal noise of that deviation to the gradients (Neelakantan et al. 2015).
      gradient_multipliers: {variable or its name: factor}.
      clip_gradients: clip to that global norm; or a function from (gradient, variable) pairs to such.
      learning_rate_decay_fn: function of (learning rate, global step).
      update_ops: run before; by default the collection UPDATE_OPS.
      variables: by default the trainable ones.
      summaries: names out of OPTIMIZER_SUMMARIES; by default the learning rate, the loss and the global norm.
      colocate_gradients_with_ops: accepted.
      increment_global_step: whether the step counts.

    Raises:
      ValueError: no loss; a wrong rate, optimizer, or kind of clipping; a decay without a global step; no gradients.
    """
    loss = convert_to_tensor(loss)
    global_step = get_global_step() if global_step is None else global_step
    if global_step is not None:
        assert_global_step(global_step)
    summaries = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else summaries
    unknown = [s for s in summaries if s not in OPTIMIZER_SUMMARIES]
    if unknown:
        raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {unknown[0]}.")
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        update_ops = get_default_graph().get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        if update_ops:
            loss = with_dependencies(update_ops, loss)
        rate = _rate(learning_rate)
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
        if rate is not None and "learning_rate" in summaries:
            scalar("learning_rate", rate)
        made = _made(optimizer, rate)
        pairs = made.compute_gradients(loss, list(trainable_variables() if variables is None else variables))
        if gradient_noise_scale is not None:
            pairs = [(None if g is None else _changed(g, lambda x: x + truncated_normal(array.shape(x), dtype=x.dtype)
                                                      * gradient_noise_scale), v) for g, v in pairs]
        if gradient_multipliers is not None:
            pairs = [(_multiplied(g, gradient_multipliers.get(v, gradient_multipliers.get(v.op.name))), v) for g, v in pairs]
        if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
            scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif isinstance(clip_gradients, (int, float)) or hasattr(clip_gradients, "graph"):
            clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip_gradients)
            pairs = list(zip(clipped, [v for _, v in pairs]))
        elif clip_gradients is not None:
            raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
        if "loss" in summaries:
            scalar("loss", loss)
        for g, v in pairs:
            if g is not None and "gradients" in summaries:
                histogram("gradients/" + v.op.name, getattr(g, "values", g))
            if g is not None and "gradient_norm" in summaries:
                scalar("gradient_norm/" + v.op.name, global_norm([g]))
        step = made.apply_gradients(pairs, global_step=global_step if increment_global_step else None, name="train")
        return with_dependencies([step], loss)


def _multiplied(grad, factor):
    if grad is None or factor is None:
        return grad
    return _changed(grad, lambda x: x * math.cast(convert_to_tensor(factor), x.dtype))


__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "optimize_loss"]
