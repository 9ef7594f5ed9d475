"""Optimizers that look at the size of what they train: steps in proportion to it, and bounds on it."""

import regrad as tf
from regrad.train.optimizers import MomentumOptimizer
from regrad.train.wrapping import WrappingOptimizer


class LARSOptimizer(MomentumOptimizer):
    """Momentum with steps that are, layer by layer, in proportion to the weights (You et al. 2017, arXiv:1708.03888).

    The learning rate is multiplied by eeta |w| / (|g| + weight_decay |w| + epsilon); weight_decay w is added to the gradient.

    Args:
      learning_rate: number, scalar tensor, or function of no arguments.
      momentum, weight_decay, eeta, epsilon: numbers.
      skip_list: parts of the names of variables that are trained with momentum alone.
      use_nesterov: take the gradient ahead.
    """

    def __init__(self, learning_rate, momentum=0.9, weight_decay=0.0001, eeta=0.001, epsilon=0.0, name="LARSOptimizer",
                 skip_list=None, use_nesterov=False):
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(learning_rate, momentum, name=name, use_nesterov=use_nesterov)
        self._weight_decay, self._eeta, self._epsilon, self._skip_list = weight_decay, eeta, epsilon, skip_list

    def _operands(self, grad, var):
        rate, grad, momentum = super()._operands(grad, var)
        if any(part in var.name for part in self._skip_list or ()):
            return rate, grad, momentum
        value = tf.convert_to_tensor(var)
        size, slope = tf.norm(value), tf.norm(grad)
        ratio = tf.div_no_nan(self._eeta * size, slope + self._weight_decay * size + self._epsilon)
        moves = tf.logical_and(size > 0, slope > 0)
        return rate * tf.where(moves, ratio, tf.ones_like(ratio)), grad + self._weight_decay * value, momentum

    def _apply_sparse_duplicate_indices(self, grad, var):
        return self._apply_dense(tf.convert_to_tensor(grad), var)


class VariableClippingOptimizer(WrappingOptimizer):
    """Another optimizer, after whose steps variables are scaled down to a largest norm.

    Args:
      opt: the optimizer.
      vars_to_clip_dims: {variable: axes over which its norms are taken}.
      max_norm: the largest norm.
      use_locking, colocate_clip_ops_with_vars: accepted.
    """

    def __init__(self, opt, vars_to_clip_dims, max_norm, use_locking=False, colocate_clip_ops_with_vars=False,
                 name="VariableClipping"):
        super().__init__(opt, use_locking, name)
        self._dims, self._max_norm = dict(vars_to_clip_dims), max_norm

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns an operation that updates the variables, then scales those down that are too large."""
        with tf.name_scope(name, self._name) as scope:
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            with tf.control_dependencies([update]):
                clipped = [v.assign(tf.clip_by_norm(v.read_value(), self._max_norm, axes)) for v, axes in self._dims.items()
                           if axes]
            return tf.group(update, *clipped, name=scope)


__all__ = ["LARSOptimizer", "VariableClippingOptimizer"]
