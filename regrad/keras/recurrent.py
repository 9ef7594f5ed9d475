"""Keras's recurrent layers: a cell, which makes one step, carried along a sequence by `RNN`.

A cell of Keras is a layer that is called with an input [batch, ...] and a list of states, and has `state_size`. Past the end
of a sequence, where its mask is False, the state stays and the output is repeated. Dropout draws one mask a call, not a step.
"""

import copy
import inspect

from regrad.core import nest
from regrad.core.arguments import bound
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import bool_
from regrad.core.shapes import TensorShape
from regrad.keras import backend, cells
from regrad.keras.base import Layer, Wrapper
from regrad.keras.initializers import Zeros
from regrad.layers.base import InputSpec
from regrad.nn.rnn import _axis_size, _transposed, _where_over
from regrad.ops import array, math
from regrad.ops.compare import logical_not
from regrad.ops.flow import while_loop
from regrad.ops.layout import reverse
from regrad.ops.tensor_array import TensorArray
from regrad.variables.assign import assign
from regrad.variables.lifting import init_scope
from regrad.variables.variable import Variable


def rnn(step_function, inputs, initial_states, go_backwards=False, mask=None, constants=None, unroll=False, input_length=None,
        time_major=False, zero_output_for_mask=False):
    """Returns (last output, outputs [batch, time, ...], list of last states) of a step carried along sequences.

    Args:
      step_function: from (input [batch, ...], list of states and `constants`) to (output, list of next states).
      inputs: [batch, time, ...], or a structure of such; time first if `time_major`, as the outputs then.
      initial_states: list of tensors.
      go_backwards: take the steps from the last on; the outputs stay in the order in which they were made.
      mask: bool [batch, time]: where it is False, states stay and the output is the one before (zeros at first).
      unroll: one copy of the step for each input, of a known number, in place of a loop.
      input_length: accepted; the inputs say how many steps there are.
      zero_output_for_mask: outputs are zeros where the mask is False.

    Raises:
      ValueError: `unroll` and an unknown number of steps, or inputs of fewer than two axes.
    """
    flat = [convert_to_tensor(x) for x in nest.flatten(inputs)]
    constants, states = list(constants or ()), [convert_to_tensor(s) for s in initial_states]
    if mask is not None:
        mask = math.cast(convert_to_tensor(mask), bool_)
        mask = array.squeeze(mask, [2]) if mask.shape.ndims == 3 else mask
        mask = mask if time_major else _transposed(mask)
    flat = flat if time_major else [_transposed(x) for x in flat]
    if go_backwards:
        flat, mask = [reverse(x, [0]) for x in flat], None if mask is None else reverse(mask, [0])
    steps, batch = _axis_size(flat, 0), _axis_size(flat, 1)

    def step(rows, states, given, before):
        """Returns (flat outputs, next states) of one step; `before` are the outputs of the one before."""
        output, new = step_function(nest.pack_sequence_as(inputs, rows), [*states, *constants])
        leaves, new = nest.flatten(output), nest.flatten(new)
        structure[:] = [output]
        if given is None:
            return leaves, new
        left_out = logical_not(given)
        before = [array.zeros_like(y) for y in leaves] if before is None or zero_output_for_mask else before
        return ([_where_over(left_out, old, y) for old, y in zip(before, leaves)],
                [_where_over(left_out, old, s) for old, s in zip(states, new)])

    structure = []
    if unroll:
        if not isinstance(steps, int) or not steps:
            raise ValueError(f"unrolling needs a known number of time steps, at least one; the inputs are {flat}.")
        made, given = [], [None] * steps if mask is None else array.unstack(mask, num=steps)
        last = None
        for rows, one in zip(zip(*[array.unstack(x, num=steps) for x in flat]), given):
            last, states = step(list(rows), states, one, last)
            made.append(last)
        outputs = [array.stack(ys) for ys in zip(*made)]
    else:
        first, _ = step([x[0] for x in flat], states, None, None)  # what outputs look like; it draws the masks of dropout, too
        sources = [TensorArray(x.dtype, size=steps, tensor_array_name="input").unstack(x)
                   for x in (flat if mask is None else [*flat, mask])]
        targets = [TensorArray(y.dtype, size=steps, tensor_array_name="output") for y in first]
        keeps = mask is not None and not zero_output_for_mask

        def turn(time, states, targets, before):
            rows = [a.read(time) for a in sources]
            given = None if mask is None else rows.pop()
            leaves, new = step(rows, states, given, before if keeps else None)
            return time + 1, new, [a.write(time, y) for a, y in zip(targets, leaves)], leaves if keeps else []

        _, states, targets, _ = while_loop(
            lambda time, *_: time < steps, turn,
            (constant(0, name="time"), states, targets, [array.zeros_like(y) for y in first] if keeps else []),
            parallel_iterations=32, maximum_iterations=steps)
        outputs = [a.stack() for a in targets]
        for y, one in zip(outputs, first):
            y.set_shape([steps if isinstance(steps, int) else None, batch if isinstance(batch, int) else None, *one.dims[1:]])
        last = [y[-1] for y in outputs]
    outputs = [y if time_major else _transposed(y) for y in outputs]
    return nest.pack_sequence_as(structure[0], last), nest.pack_sequence_as(structure[0], outputs), list(states)


# -- layers --------------------------------------------------------------------------------------------------


class RNN(Layer):
    """Carries a cell along sequences [batch, time, ...].

    Args:
      cell: a cell of Keras, or a list of cells, one on top of the other.
      return_sequences: put out all outputs [batch, time, ...], not the last alone.
      return_state: put out a list: the output, then the last states.
      go_backwards: take the steps from the last on; outputs stand in the order in which they were made.
      stateful: begin where the last run ended: states are variables, which `updates` assign, for inputs of a known batch size.
      unroll, time_major, zero_output_for_mask: as for `tf.keras.backend.rnn`.
    """

    supports_masking = True

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 time_major=False, zero_output_for_mask=False, input_length=None, **kwargs):
        if kwargs.get("input_dim") is not None and kwargs.get("input_shape") is None:
            kwargs["input_shape"] = (input_length, kwargs.pop("input_dim"))
        cell = cells.StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        cells.check_cell(cell)
        super().__init__(**kwargs)
        self.cell, self.return_sequences, self.return_state = cell, return_sequences, return_state
        self.go_backwards, self.stateful, self.unroll, self.time_major = go_backwards, stateful, unroll, time_major
        self.zero_output_for_mask, self._states, self._n_constants = zero_output_for_mask, None, 0

    states = property(lambda self: self._states or [None] * len(cells.state_sizes(self.cell)))

    def __call__(self, inputs, initial_state=None, constants=None, **kwargs):
        """Returns the output; see the class.

        Args:
          inputs: [batch, time, ...]; or a list of that, the first states, and constants.
          initial_state: a tensor or a list; zeros by default.
          constants: tensors that the cell's `call` takes by that name.
        """
        given = [*_listed(initial_state), *_listed(constants)]
        self._n_constants = len(_listed(constants))
        if any(hasattr(t, "_keras_history") for t in given):  # then they are inputs to a Model that contains this layer
            return super().__call__([inputs, *given], **kwargs)
        if initial_state is not None:
            kwargs["initial_state"] = nest.flatten(initial_state)
        if constants is not None:
            kwargs["constants"] = nest.flatten(constants)
        return super().__call__(inputs, **kwargs)

    def _check_inputs(self, tensors):
        super()._check_inputs(tensors[:1])  # further ones are states

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        dims = TensorShape(shape).as_list()
        self.batch_size = dims[1 if self.time_major else 0]
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell._dtype = self.cell._dtype or self._dtype
            for part in getattr(self.cell, "cells", ()):
                part._dtype = part._dtype or self._dtype
            self.cell.build(TensorShape(dims[1:] if self.time_major else [dims[0], *dims[2:]]))
            self.cell.built = True
        self.built = True

    def call(self, inputs, mask=None, training=None, initial_state=None, constants=None):
        if isinstance(inputs, list):
            n = len(inputs) - self._n_constants
            inputs, initial_state, constants = inputs[0], inputs[1:n] or initial_state, inputs[n:] or constants
        mask = None if mask is None else nest.flatten(mask)[0]
        cell, first = self.cell, inputs if self.time_major else _transposed(inputs)
        if initial_state is None:
            initial_state = self._kept(first[0]) if self.stateful else self.get_initial_state(inputs)
        n = len(cells.state_sizes(cell))
        if len(initial_state) != n:
            raise ValueError(f"Layer has {n} states but was passed {len(initial_state)} initial states.")
        getattr(cell, "reset_dropout_mask", list)()
        more = {"training": training} if cells.takes(cell, "training") else {}
        if constants and not cells.takes(cell, "constants"):
            raise ValueError("RNN cell does not support constants")

        def step(x, states):
            own = states[:len(states) - len(constants or ())]
            return cell.call(x, own, **more, **({"constants": constants} if constants else {}))

        last, outputs, states = rnn(step, inputs, initial_state, go_backwards=self.go_backwards, mask=mask, constants=constants,
                                    unroll=self.unroll, time_major=self.time_major,
                                    zero_output_for_mask=self.zero_output_for_mask)
        if self.stateful:
            self.add_update([assign(v, t) for v, t in zip(self._states, states)])
        output = outputs if self.return_sequences else last
        return [*nest.flatten(output), *cells.packed_states(cell, states)] if self.return_state else output

    def get_initial_state(self, inputs):
        """Returns the first states for inputs [batch, time, ...]: a list."""
        inputs = nest.flatten(inputs)[0]
        first = inputs[0] if self.time_major else inputs[:, 0]
        return cells.first_states(self.cell, first if _by_input(self.cell) else None, array.shape(first)[0], inputs.dtype)

    def _kept(self, first):
        """Returns the variables that hold the states between runs."""
        if self._states is None:
            if self.batch_size is None:
                raise ValueError("If a RNN is stateful, it needs to know its batch size: give the inputs a fixed one, as by "
                                 "`batch_input_shape` of the first layer of a Sequential, or by `batch_shape` of Input.")
            zeros = cells.first_states(self.cell, first if _by_input(self.cell) else None, self.batch_size, first.dtype)
            with init_scope():
                self._states = [Variable(lambda t=t: Zeros()(t.shape.as_list(), dtype=t.dtype), trainable=False, name="state")
                                for t in zeros]
        return list(self._states)

    def reset_states(self, states=None):
        """Gives the kept states zeros, or the values `states`, in the session of Keras.

        Raises:
          AttributeError: the layer keeps none.
          ValueError: another number of values.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        if self._states is None:
            raise ValueError(f"Layer {self.name} has no states yet: call it first.")
        values = [0.0 * backend.get_value(v) for v in self._states] if states is None else nest.flatten(states)
        if len(values) != len(self._states):
            raise ValueError(f"Layer {self.name} expects {len(self._states)} states, but it received {len(values)} state "
                             "values.")
        backend.batch_set_value(list(zip(self._states, values)))

    def compute_mask(self, inputs, mask=None):
        mask = nest.flatten(mask)[0] if self.return_sequences else None
        return [mask, *[None] * len(self.states)] if self.return_state else mask


def _listed(states):
    return [] if states is None else nest.flatten(states)


def _by_input(cell):
    return getattr(cell, "_state_by_input", False)


def _of_cell(name, cell, doc):
    """Returns the layer that carries cells of a class; it takes the arguments of both, in Keras's order."""
    named = dict(inspect.signature(cell.__init__).parameters)
    this, kwargs = named.pop("self"), named.pop("kwargs")
    named["activity_regularizer"] = this.replace(name="activity_regularizer", default=None)
    rest = {n: p for n, p in [*inspect.signature(RNN.__init__).parameters.items(), *named.items()]
            if n not in (*_ORDER, "self", "cell", "kwargs")}
    signature = inspect.Signature([
        this, *(named[n].replace(kind=this.kind) for n in _ORDER if n in named),
        *(p.replace(kind=p.KEYWORD_ONLY) for p in rest.values()), kwargs])
    del named["activity_regularizer"]

    def init(self, *args, **kwargs):
        given = bound(made, signature, (self, *args), kwargs)
        del given["self"]
        cell_kwargs = {n: given.pop(n) for n in list(given) if n in named}
        if "dtype" in given:
            cell_kwargs["dtype"] = given["dtype"]
        self._in_phases = bool(cell_kwargs.get("dropout") or cell_kwargs.get("recurrent_dropout"))
        RNN.__init__(self, cell(**cell_kwargs, trainable=given.get("trainable", True)), **given)
        self.input_spec = InputSpec(ndim=5 if issubclass(cell, cells.ConvLSTM2DCell) else 3)

    init.__signature__ = signature
    made = type(name, (RNN,), {"__init__": init, "__doc__": doc, "__module__": __name__,
                               "units": property(lambda self: self.cell.units)})
    return made


_ORDER = """units filters kernel_size strides padding data_format dilation_rate activation recurrent_activation use_bias
    kernel_initializer recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer recurrent_regularizer
    bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint""".split()
SimpleRNN = _of_cell("SimpleRNN", cells.SimpleRNNCell, "A fully connected recurrent layer: SimpleRNNCell carried by RNN.")
GRU = _of_cell("GRU", cells.GRUCell, "A layer of gated recurrent units: GRUCell carried by RNN.")
LSTM = _of_cell("LSTM", cells.LSTMCell, "A layer of long short-term memory: LSTMCell carried by RNN.")
ConvLSTM2D = _of_cell("ConvLSTM2D", cells.ConvLSTM2DCell, "An LSTM on sequences of images: ConvLSTM2DCell carried by RNN.")


class Bidirectional(Wrapper):
    """Carries copies of a recurrent layer along sequences, one from the first step on and one from the last.

    Args:
      layer: an RNN that was not called yet.
      merge_mode: how the outputs are joined: "concat", "sum", "mul", "ave", or None for both in a list.
      backward_layer: for the way back, in place of a copy; it has `go_backwards=True`.
    """

    supports_masking = True

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError('Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}, '
                             f"got {merge_mode!r}.")
        if getattr(layer, "batch_input_shape", None) is not None and "batch_input_shape" not in kwargs:
            kwargs["batch_input_shape"] = layer.batch_input_shape
        super().__init__(layer, **kwargs)
        self.forward_layer = copy.deepcopy(layer)
        self.backward_layer = copy.deepcopy(layer) if backward_layer is None else backward_layer
        if backward_layer is None:
            self.backward_layer.go_backwards = not layer.go_backwards
        elif self.forward_layer.go_backwards == backward_layer.go_backwards:
            raise ValueError("forward layer and backward layer should have different `go_backwards` value.")
        for one in (self.forward_layer, self.backward_layer):
            one.zero_output_for_mask = one.return_sequences  # on the way back a repeated output would stand before the first
        self.forward_layer._name, self.backward_layer._name = f"forward_{layer.name}", f"backward_{self.backward_layer.name}"
        self._given_backward = backward_layer is not None
        self.merge_mode, self.return_sequences, self.return_state = merge_mode, layer.return_sequences, layer.return_state
        self._in_phases = layer._in_phases

    def build(self, input_shape=None):
        self.built = True  # each layer is, when it is called

    def __call__(self, inputs, initial_state=None, **kwargs):
        """Returns the joined outputs, and before them, of `return_state`, the states of both: [output, *forward, *backward]."""
        given = _listed(initial_state)
        if any(hasattr(t, "_keras_history") for t in given):
            return super().__call__([inputs, *given], **kwargs)
        return super().__call__(inputs, **({"initial_state": given} if given else {}), **kwargs)

    def call(self, inputs, training=None, mask=None, initial_state=None):
        if isinstance(inputs, list):
            inputs, initial_state = inputs[0], inputs[1:] or initial_state
        half = len(initial_state or ()) // 2
        found = []
        for layer, states in ((self.forward_layer, slice(0, half)), (self.backward_layer, slice(half, None))):
            more = {"training": training} if training is not None and layer._in_phases else {}
            found.append(layer(inputs, initial_state=initial_state[states] if half else None,
                               mask=None if mask is None else nest.flatten(mask)[0], **more))
        states = []
        if self.return_state:
            states = [*found[0][1:], *found[1][1:]]
            found = [f[0] for f in found]
        ahead, back = found
        if self.return_sequences:
            back = reverse(back, [0 if self.forward_layer.time_major else 1])
        merged = {"concat": lambda: array.concat([ahead, back], -1), "sum": lambda: ahead + back, "mul": lambda: ahead * back,
                  "ave": lambda: (ahead + back) / 2, None: lambda: [ahead, back]}[self.merge_mode]()
        return [*nest.flatten(merged), *states] if self.return_state else merged

    def get_config(self):
        """Returns what `Layer.get_config` does; a backward layer that is a copy is not named."""
        config = super().get_config()
        return config if self._given_backward else {k: v for k, v in config.items() if k != "backward_layer"}

    def reset_states(self):
        """Gives the kept states of both layers zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs, mask=None):
        mask = nest.flatten(mask)[0] if self.return_sequences else None
        masks = [mask, mask] if self.merge_mode is None else mask
        states = [None] * (2 * len(self.forward_layer.states))
        return [*nest.flatten(masks), *states] if self.return_state else masks


__all__ = ["Bidirectional", "ConvLSTM2D", "GRU", "LSTM", "RNN", "SimpleRNN", "rnn"]
