"""Cells of Keras's recurrent layers: layers that make one step, called with an input [batch, ...] and a list of states."""

import inspect

from regrad.core import nest
from regrad.core.arguments import handing_on
from regrad.core.shapes import TensorShape, as_dims
from regrad.keras import backend
from regrad.keras.base import Layer
from regrad.keras.initializers import Ones
from regrad.keras.initializers import get as initializer_of
from regrad.layers.base import activation_of, normalize
from regrad.layers.core import smart_cond
from regrad.nn.functions import dropout
from regrad.ops import array, nn
from regrad.ops.conv import convolution
from regrad.ops.matmul import matmul


class BaseCell(Layer):
    """What the cells of Keras share: weights for `gates` gates side by side, and dropout.

    Args:
      units: size of the output and of each state.
      activation, recurrent_activation: functions, or their names.
      use_bias: add the variable "bias".
      kernel_*, recurrent_*, bias_*: initializers, regularizers and constraints of the variables "kernel" [inputs, gates *
        units], "recurrent_kernel" [units, gates * units] and "bias", or their names.
      dropout, recurrent_dropout: which parts of inputs and of states are dropped while training.
      implementation: accepted.
    """

    gates = 1

    def __init__(self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
                 recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None,
                 recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
                 bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, implementation=1, **kwargs):
        super().__init__(**kwargs)
        self.units, self.activation, self.use_bias = units, activation_of(activation) or array.identity, use_bias
        self.kernel_initializer, self.kernel_regularizer = kernel_initializer, kernel_regularizer
        self.recurrent_initializer, self.recurrent_regularizer = recurrent_initializer, recurrent_regularizer
        self.bias_initializer, self.bias_regularizer = bias_initializer, bias_regularizer
        self.kernel_constraint, self.recurrent_constraint = kernel_constraint, recurrent_constraint
        self.bias_constraint, self.implementation = bias_constraint, implementation
        self.dropout, self.recurrent_dropout = (min(1.0, max(0.0, rate)) for rate in (dropout, recurrent_dropout))
        self._masks = {}

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)

    def _weight(self, name, kind, shape, initializer=None):
        return self.add_weight(name, shape, initializer=initializer or getattr(self, f"{kind}_initializer"),
                               regularizer=getattr(self, f"{kind}_regularizer"), constraint=getattr(self, f"{kind}_constraint"))

    def build(self, input_shape):
        size, n = TensorShape(input_shape).as_list()[-1], self.gates * self.units
        if size is None:
            raise ValueError(f"{self.name}: the last size of the inputs must be known, got {input_shape}.")
        self.kernel = self._weight("kernel", "kernel", [size, n])
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent", [self.units, n])
        self.bias = self._weight("bias", "bias", self._bias_shape(), self._first_bias()) if self.use_bias else None
        self.built = True

    def _bias_shape(self):
        return [self.gates * self.units]

    def _first_bias(self):
        return None

    def reset_dropout_mask(self):
        """Makes the next step draw which inputs and states are dropped."""
        self._masks = {}

    reset_recurrent_dropout_mask = reset_dropout_mask

    def _dropped(self, x, rate, kind, training):
        """Returns `x` for each gate; while training, each has another part of it dropped."""
        if not rate:
            return [x] * self.gates
        masks = self._masks.get(kind)
        if masks is None:
            training = backend.learning_phase() if training is None else training
            ones = array.ones_like(x)
            masks = self._masks[kind] = [smart_cond(training, lambda: dropout(ones, rate=rate), lambda: array.identity(ones))
                                         for _ in range(self.gates)]
        return [x * m for m in masks]

    def _product(self, h, weights):
        return matmul(h, weights)

    def _input_product(self, x, weights):
        return matmul(x, weights)

    def _products(self, xs, weights, product):
        """Returns the products of tensors, one a gate, with the gates' weights: one product where they are all the same."""
        n = len(xs)
        if all(x is xs[0] for x in xs):
            found = product(xs[0], weights)
            return array.split(found, n, axis=-1) if n > 1 else [found]
        return [product(x, w) for x, w in zip(xs, array.split(weights, n, axis=-1))]

    def _from_inputs(self, x, training, bias):
        """Returns what each gate takes from the inputs."""
        found = self._products(self._dropped(x, self.dropout, "inputs", training), self.kernel, self._input_product)
        return self._biased(found, bias)

    def _biased(self, found, bias):
        if bias is None:
            return found
        return [nn.bias_add(y, b) for y, b in zip(found, array.split(bias, self.gates) if self.gates > 1 else [bias])]

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Returns zeros, a tensor or a list as `state_size`, for the batch and dtype of `inputs` where they are given."""
        if inputs is not None:
            batch_size, dtype = array.shape(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype in constructing initial state cannot be None. "
                             f"Received: batch_size={batch_size}, dtype={dtype}")
        return _zero_state(self.state_size, batch_size, dtype)


def _zero_state(state_size, batch_size, dtype):
    def one(size):
        return array.zeros(array.stack([batch_size, *as_dims(TensorShape(size))]), dtype)

    if isinstance(state_size, TensorShape) or not isinstance(state_size, (list, tuple)):
        return one(state_size)
    return [one(size) for size in state_size]


class SimpleRNNCell(BaseCell):
    """The step h = activation(x kernel + bias + h recurrent_kernel)."""

    def call(self, inputs, states, training=None):
        (x,) = self._from_inputs(inputs, training, self.bias)
        (h,) = self._dropped(states[0], self.recurrent_dropout, "states", training)
        output = self.activation(x + self._product(h, self.recurrent_kernel))
        return output, [output]


@handing_on
class _Gated(BaseCell):
    """As `BaseCell`, with an activation of gates."""

    def __init__(self, units, activation="tanh", recurrent_activation="hard_sigmoid", *args, **kwargs):
        super().__init__(units, activation, *args, **kwargs)
        self.recurrent_activation = activation_of(recurrent_activation) or array.identity


@handing_on
class GRUCell(_Gated):
    """The step of a gated recurrent unit; the gates are z, r and h, and the next state z h + (1 - z) candidate.

    Args:
      reset_after: r multiplies the product of the state and its weights, and there are two biases [2, 3 * units], one for
        inputs and one for states. Else it multiplies the state.
    """

    gates = 3

    def __init__(self, *args, reset_after=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.reset_after = reset_after

    def _bias_shape(self):
        return [2, 3 * self.units] if self.reset_after else [3 * self.units]

    def call(self, inputs, states, training=None):
        h, n, two = states[0], self.units, self.reset_after and self.use_bias
        x_z, x_r, x_h = self._from_inputs(inputs, training, self.bias[0] if two else self.bias)
        hs = self._dropped(h, self.recurrent_dropout, "states", training)
        if self.reset_after:
            products = self._products(hs, self.recurrent_kernel, self._product)
            h_z, h_r, h_h = self._biased(products, self.bias[1] if two else None)
            z, r = self.recurrent_activation(x_z + h_z), self.recurrent_activation(x_r + h_r)
            inner = r * h_h
        else:
            h_z, h_r = self._products(hs[:2], self.recurrent_kernel[:, :2 * n], self._product)
            z, r = self.recurrent_activation(x_z + h_z), self.recurrent_activation(x_r + h_r)
            inner = self._product(r * hs[2], self.recurrent_kernel[:, 2 * n:])
        h = z * h + (1 - z) * self.activation(x_h + inner)
        return h, [h]


@handing_on
class LSTMCell(_Gated):
    """The step of an LSTM; the gates are i, f, c and o, the states h and c.

    Args:
      unit_forget_bias: the bias of f begins with ones.
    """

    gates = 4

    def __init__(self, *args, unit_forget_bias=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    state_size = property(lambda self: [self.units, self.units])

    def _first_bias(self):
        if not self.unit_forget_bias:
            return None
        n, start = self.units, initializer_of(self.bias_initializer)
        return lambda shape, dtype=None, partition_info=None: array.concat(
            [start([n], dtype=dtype), Ones()([n], dtype=dtype), start([2 * n], dtype=dtype)], 0)

    def call(self, inputs, states, training=None):
        h, c = states
        xs = self._from_inputs(inputs, training, self.bias)
        hs = self._products(self._dropped(h, self.recurrent_dropout, "states", training), self.recurrent_kernel, self._product)
        i, f, g, o = (x + y for x, y in zip(xs, hs))
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]


class ConvLSTM2DCell(LSTMCell):
    """The step of an LSTM on images [batch, rows, columns, channels], with convolutions in place of products.

    Args:
      filters: channels of the output and of the states.
      kernel_size, strides, padding, dilation_rate: of the convolution of inputs; that of states keeps their size.
      data_format: "channels_last".
    """

    _state_by_input = True

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1),
                 *args, **kwargs):
        super().__init__(filters, *args, **kwargs)
        if (data_format or backend.image_data_format()) != "channels_last":
            raise ValueError("ConvLSTM2D works on channels_last; transpose the inputs.")
        self.data_format = "channels_last"
        self.filters, self.kernel_size = filters, normalize(kernel_size, 2, "kernel_size")
        self.strides, self.padding = normalize(strides, 2, "strides"), padding.upper()
        self.dilation_rate = normalize(dilation_rate, 2, "dilation_rate")

    state_size = property(lambda self: [TensorShape([None, None, self.filters])] * 2)
    output_size = property(lambda self: TensorShape([None, None, self.filters]))

    def build(self, input_shape):
        channels = TensorShape(input_shape).as_list()[-1]
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.kernel = self._weight("kernel", "kernel", [*self.kernel_size, channels, 4 * self.filters])
        self.recurrent_kernel = self._weight("recurrent_kernel", "recurrent",
                                             [*self.kernel_size, self.filters, 4 * self.filters])
        self.bias = self._weight("bias", "bias", self._bias_shape(), self._first_bias()) if self.use_bias else None
        self.built = True

    def _input_product(self, x, weights):
        return convolution(x, weights, self.padding, self.strides, self.dilation_rate)

    def _product(self, h, weights):
        return convolution(h, weights, "SAME")

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Returns zeros of the size that the convolution of `inputs` [batch, rows, columns, channels] has."""
        zeros = array.zeros_like(self._input_product(inputs, self.kernel[..., :self.filters]))
        return [zeros, zeros]


handing_on(ConvLSTM2DCell, ["units"])


class StackedRNNCells(Layer):
    """Cells one on top of the other as one; its states are theirs, in order."""

    def __init__(self, cells, **kwargs):
        super().__init__(**kwargs)
        for cell in cells:
            check_cell(cell)
        self.cells = list(cells)

    state_size = property(lambda self: [size for cell in self.cells for size in state_sizes(cell)])
    output_size = property(lambda self: output_size_of(self.cells[-1]))

    def build(self, input_shape):
        for cell in self.cells:
            if not cell.built:
                cell.build(input_shape)
                cell.built = True
            input_shape = TensorShape([None, *as_dims(TensorShape(output_size_of(cell)))])
        self.built = True

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Returns the first states of the cells, one list."""
        return [t for cell in self.cells for t in first_states(cell, inputs, batch_size, dtype)]

    def reset_dropout_mask(self):
        for cell in self.cells:
            getattr(cell, "reset_dropout_mask", list)()

    def call(self, inputs, states, training=None, constants=None):
        states, new = list(states), []
        for cell in self.cells:
            own = [states.pop(0) for _ in state_sizes(cell)]
            given = {"training": training, "constants": constants}
            inputs, own = cell.call(inputs, own, **{k: v for k, v in given.items() if takes(cell, k) and v is not None})
            new += nest.flatten(own)
        return inputs, new


def check_cell(cell):
    if not hasattr(cell, "call"):
        raise ValueError(f"`cell` should have a `call` method. The RNN was passed: {cell!r}")
    if not hasattr(cell, "state_size"):
        raise ValueError("The RNN cell should have an attribute `state_size` (tuple of integers, one integer per RNN state): "
                         f"{cell!r}.")


def state_sizes(cell):
    """Returns the sizes of a cell's states, a list."""
    size = cell.state_size
    return list(size) if isinstance(size, (list, tuple)) else [size]


def packed_states(cell, states):
    """Returns states as a cell gives them: a list; of stacked cells, those of one cell in a list where it has several."""
    states = list(states)
    if not isinstance(cell, StackedRNNCells):
        return states
    own = [[states.pop(0) for _ in state_sizes(one)] for one in cell.cells]
    return [t if isinstance(one.state_size, (list, tuple)) else t[0] for one, t in zip(cell.cells, own)]


def output_size_of(cell):
    size = getattr(cell, "output_size", None)
    return state_sizes(cell)[0] if size is None else size


def takes(cell, argument):
    return argument in inspect.signature(cell.call).parameters


def first_states(cell, inputs, batch_size, dtype):
    make = getattr(cell, "get_initial_state", None)
    made = _zero_state(cell.state_size, batch_size, dtype) if make is None else make(inputs=inputs, batch_size=batch_size,
                                                                                    dtype=dtype)
    return nest.flatten(made)
