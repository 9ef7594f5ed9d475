"""Exponential moving averages of variables and tensors."""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown
from regrad.ops import control, math, state
from regrad.train import slots
from regrad.variables.initializers import Zeros
from regrad.variables.lifting import init_scope
from regrad.variables.listing import global_variables, trainable_variables
from regrad.variables.listing import moving_average_variables as followed_variables
from regrad.variables.scope import get_variable, variable_scope
from regrad.variables.variable import Variable

_AVERAGED = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
    """Returns `variable` moved towards `value`: variable -= (1 - decay) * (variable - value).

    Args:
      variable: the Variable that holds the average.
      value: tensor or variable of its shape.
      decay: number or scalar tensor.
      zero_debias: take the average of what came so far, not of the zeros that the variable started with: Kingma & Ba
        2015, section 3. It keeps two further variables, "biased" and "local_step".
    """
    with get_default_graph().name_scope(name or "AssignMovingAvg") as scope:
        rate = math.cast(convert_to_tensor(1.0 - decay, name="decay"), variable.dtype)
        if zero_debias:
            delta = _zero_debiased(variable, value, rate)
        else:
            delta = (variable - value) * rate
        return state.assignsub_op(variable._variable, delta, name=scope)


def _zero_debiased(variable, value, rate):
    """Returns what to subtract from `variable` so that it is the average without the zeros at the start."""
    with variable_scope(variable.op.name, values=[variable._variable]):
        with init_scope():
            biased = get_variable(_free("biased"), initializer=Zeros(variable.dtype)(variable.shape), trainable=False)
            local_step = get_variable(_free("local_step"), shape=[], dtype=variable.dtype, initializer=Zeros(variable.dtype),
                                      trainable=False)
        new_biased = state.assignsub_op(biased._variable, (biased - value) * rate)
        new_step = local_step.assign_add(1)
        return variable - new_biased / (1 - math.pow(1.0 - rate, new_step))


def _free(name):
    """Returns `name`, with _1, _2 ... when the current variable scope has it already."""
    from regrad.variables.scope import _store, get_variable_scope

    prefix = get_variable_scope().name
    taken = _store().vars
    i, candidate = 0, name
    while (f"{prefix}/{candidate}" if prefix else candidate) in taken:
        i += 1
        candidate = f"{name}_{i}"
    return candidate


def weighted_moving_average(value, decay, weight, truediv=True, collections=None, name=None):
    """Returns the average of `value` weighted by `weight`, both followed with `decay` by two new variables."""
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "WeightedMovingAvg", [value, weight]):
        value_x_weight = get_variable("value_x_weight", shape=value.shape, initializer=Zeros(), trainable=False,
                                      dtype=value.dtype, collections=collections)
        total = get_variable("weight", shape=weight.shape, initializer=Zeros(), trainable=False, dtype=weight.dtype,
                             collections=collections)
        numerator = assign_moving_average(value_x_weight, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(total, weight, decay, zero_debias=False)
        return math.truediv(numerator, denominator) if truediv else math.div(numerator, denominator)


class ExponentialMovingAverage(Shown):
    """Shadow variables that follow others: shadow = decay * shadow + (1 - decay) * variable.

        ema = tf.train.ExponentialMovingAverage(0.999)
        with tf.control_dependencies([train_op]):
            train_op = ema.apply()                       # what apply reads is the value after the update
        saver = tf.train.Saver(ema.variables_to_restore())

    Shadow variables are named "<variable>/ExponentialMovingAverage" and start at the variable's initial value, those of
    tensors at zero.
    """

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        """Args:
          decay: number or scalar tensor.
          num_updates: if given, the decay is at most (1 + num_updates) / (10 + num_updates), so that averages move faster
            at the start.
          zero_debias: averages of tensors leave out the zeros they started with.
          name: name of the ops and part of the shadow variables' names.
        """
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages = {}

    @property
    def name(self):
        return self._name

    def apply(self, var_list=None):
        """Returns an operation that moves the averages of `var_list` (by default all trainable variables) one step.

        Raises:
          TypeError: a variable or tensor that is not floating.
          ValueError: a tensor that is followed already.
        """
        var_list = trainable_variables() if var_list is None else list(var_list)
        debiased = set()
        for v in var_list:
            if v.dtype not in _AVERAGED:
                raise TypeError(f"The variables must be half, float, or double: {v.name}")
            if v.op in self._averages:
                continue
            with init_scope():
                if isinstance(v, Variable):
                    average = slots.create_slot(v, v.initialized_value(), self._name)
                    get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
                else:
                    average = slots.create_zeros_slot(v, self._name)
                    if self._zero_debias:
                        debiased.add(average)
            self._averages[v.op] = average
        with get_default_graph().name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                n = math.cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = math.minimum(decay, (1.0 + n) / (10.0 + n))
            updates = []
            for v in var_list:
                average = self._averages[v.op]
                updates.append(assign_moving_average(average, v, decay, zero_debias=average in debiased))
            return control.group(*updates, name=scope)

    def average(self, var):
        """Returns the shadow variable of a variable or tensor, or None when it is not followed."""
        return self._averages.get(var.op)

    def average_name(self, var):
        """Returns the name of the shadow variable of `var`, whether it exists or not."""
        average = self._averages.get(var.op)
        return average.op.name if average is not None else f"{var.op.name}/{self._name}"

    def variables_to_restore(self, moving_avg_variables=None):
        """Returns {name in a checkpoint: variable} that restores averages in place of the variables they follow."""
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + followed_variables()
        followed = list(dict.fromkeys(moving_avg_variables))
        names = {self.average_name(v): v for v in followed}
        ops = {v.op for v in followed}
        others = {v.op.name: v for v in global_variables() if v.op not in ops}
        return others | names
