"""An optimizer that keeps moving averages of what it trains, and savers that write these in the variables' places."""

from regrad.core.graph import get_default_graph
from regrad.ops.control import group
from regrad.train.moving_averages import ExponentialMovingAverage
from regrad.train.saver import Saver
from regrad.train.wrapping import WrappingOptimizer
from regrad.variables.listing import global_variables


class MovingAverageOptimizer(WrappingOptimizer):
    """Trains as another optimizer does, and keeps averages of the variables that were updated.

        opt = tf.contrib.opt.MovingAverageOptimizer(tf.train.AdamOptimizer())
        train_op = opt.minimize(loss)
        saver = opt.swapping_saver()      # what it saves are the averages; an evaluation graph needs no others

    Args:
      opt: the optimizer.
      average_decay: of the averages.
      num_updates: if given, the decay is at most (1 + num_updates) / (10 + num_updates).
      sequential_update: average what the update gave; else what was there when the run began, or after.
    """

    def __init__(self, opt, average_decay=0.9999, num_updates=None, sequential_update=True):
        super().__init__(opt, False, "MovingAverageOptimizer")
        self._sequential = sequential_update
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped = None

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """Returns an operation that updates the variables, then their averages."""
        grads_and_vars = list(grads_and_vars)
        train = self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        variables = [v for g, v in grads_and_vars if g is not None]
        with get_default_graph().control_dependencies([train] if self._sequential else []):
            averaged = self._ema.apply(variables)
        self._swapped = {v.op.name: self._ema.average(v) for v in variables}
        return group(train, averaged, name="train_with_avg")

    def swapping_saver(self, var_list=None, name="swapping_saver", **kwargs):
        """Returns a Saver that writes each average under its variable's name, and the variable under the average's.

        Args:
          var_list: variables, or {name: variable}; all of the graph by default.
          name, kwargs: of the Saver.

        Raises:
          RuntimeError: called before `apply_gradients` or `minimize`.
          ValueError: `var_list` leaves out a variable that is averaged.
        """
        if self._swapped is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        if not isinstance(var_list, dict):
            var_list = {v.op.name: v for v in (global_variables() if var_list is None else var_list)}
        swapped = dict(var_list)
        names = {id(v): name for name, v in var_list.items()}
        for name_of, average in self._swapped.items():
            if name_of not in var_list:
                raise ValueError(f"Variable to swap {name_of} is not in variables to save")
            swapped[name_of] = average
            if id(average) in names:
                swapped[names[id(average)]] = var_list[name_of]
        return Saver(swapped, name=name, **kwargs)


__all__ = ["MovingAverageOptimizer"]
