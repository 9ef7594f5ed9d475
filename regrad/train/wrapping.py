"""What optimizers that train by another optimizer have in common: the state is the other one's."""

from regrad.train.optimizer import Optimizer


class WrappingOptimizer(Optimizer):
    """Trains as another optimizer, `_opt`, does; a subclass changes what that applies, or adds what happens around it."""

    def __init__(self, opt, use_locking, name):
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args, **kwargs):
        """Returns what the optimizer's own `compute_gradients` does."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns what the optimizer's own `apply_gradients` does."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args, **kwargs):
        """Returns a slot of the optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        """Returns the names of the optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self):
        """Returns the variables of the optimizer."""
        return self._opt.variables()
