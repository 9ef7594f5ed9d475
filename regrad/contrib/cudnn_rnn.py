"""`tf.contrib.cudnn_rnn`: stacks of recurrent layers, one way or both ways, computed like any others.

Variables are those that TensorFlow's checkpoints hold, a kernel and a bias a cell, by the names that the cells have which read
such checkpoints without cuDNN; TensorFlow's graph has one variable, "opaque_kernel".
"""

from regrad.contrib.lstm_block import LSTMBlockCell
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, float16, float32, float64
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.layers.base import InputSpec, Layer
from regrad.layers.core import smart_cond
from regrad.nn.functions import dropout as drop
from regrad.nn.rnn import dynamic_rnn
from regrad.nn.rnn_cell import BasicRNNCell, LSTMStateTuple, _LayerCell
from regrad.ops import array, math, nn
from regrad.ops.layout import reverse, reverse_sequence
from regrad.ops.matmul import matmul
from regrad.variables.initializers import constant_initializer, glorot_uniform_initializer
from regrad.variables.scope import variable_scope

CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_RELU, CUDNN_RNN_TANH = "lstm", "gru", "rnn_relu", "rnn_tanh"
CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION = "unidirectional", "bidirectional"
CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_AUTO_MODE = "linear_input", "auto_select"


class _Started(Shown):
    """A cell whose kernels, of inputs and states together or of one of them, and biases begin as a layer says."""

    _starts = None

    def _pair(self, prefix, n_in, n_out, kernel=None, bias=None, bias_name="bias"):
        if self._starts is not None:
            together, alone, bias = self._starts
            kernel = alone if prefix.startswith("candidate/") else together
        return super()._pair(prefix, n_in, n_out, kernel, bias, bias_name)


class CudnnCompatibleLSTMCell(_Started, LSTMBlockCell):
    """The cell of CudnnLSTM: `LSTMBlockCell` without a forget bias."""

    def __init__(self, num_units, reuse=None):
        super().__init__(num_units, forget_bias=0.0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(_Started, _LayerCell):
    """The cell of CudnnGRU, a GRU whose reset gate multiplies the product of the state: tanh(W x + b + r (R h + c)).

    Args:
      num_units: size of the state.
      kernel_initializer: of all three kernels.
    """

    def __init__(self, num_units, reuse=None, kernel_initializer=None):
        super().__init__(num_units, None, reuse, "cudnn_compatible_gru_cell", None)
        self._kernel_initializer = kernel_initializer

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        n, size = self._num_units, self._input_size(input_shape)
        start = self._kernel_initializer
        self._gates = self._pair("gates/", size + n, 2 * n, start, constant_initializer(1.0))
        self._to_inputs = self._pair("candidate/input_projection/", size, n, start)
        self._to_state = self._pair("candidate/hidden_projection/", n, n, start)
        self.built = True

    def call(self, inputs, state):
        r, u = array.split(math.sigmoid(_linear(array.concat([inputs, state], 1), self._gates)), 2, axis=1)
        new = math.tanh(_linear(inputs, self._to_inputs) + r * _linear(state, self._to_state))
        state = u * state + (1 - u) * new
        return state, state


class _BasicCell(_Started, BasicRNNCell):
    """The cell of the other two."""


def _linear(x, pair):
    return nn.bias_add(matmul(x, pair[0]), pair[1])


_DOC = """{what} over whole sequences, all its layers: `layer(inputs)` -> (outputs, states).

    Args:
      num_layers: how many cells stand one on top of the other.
      num_units: size of each state.
      input_mode: "linear_input", or "auto_select", the same unless the inputs have the size num_units.
      direction: "unidirectional", or "bidirectional": a cell each way, whose outputs are joined.
      dropout: which part of the outputs is dropped between layers while training.
      seed: of that, and of the kernels' first values.
      dtype: float16, float32 or float64.
      kernel_initializer: of each gate's two matrices, [num_units, size]; glorot_uniform by default.
      bias_initializer: of biases; zeros by default.

    Raises:
      ValueError: inputs that skip their weights ("skip_input"), which cells do not; another dtype or direction.
    """


class _CudnnRNN(Layer):
    """What the four layers share; the cells are of BasicRNNCell where a subclass does not say otherwise."""

    def __init__(self, num_layers, num_units, input_mode=CUDNN_INPUT_LINEAR_MODE, direction=CUDNN_RNN_UNIDIRECTION, dropout=0.0,
                 seed=None, dtype=float32, kernel_initializer=None, bias_initializer=None, name=None):
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(f"Invalid direction: {direction}, expecting one of unidirectional, bidirectional.")
        if input_mode not in (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_AUTO_MODE):
            raise ValueError(f"Invalid input_mode: {input_mode}, expecting linear_input or auto_select.")
        if as_dtype(dtype) not in (float16, float32, float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        super().__init__(name=name, dtype=dtype)
        self._num_layers, self._num_units, self._input_mode, self._direction = num_layers, num_units, input_mode, direction
        self._dropout, self._seed = dropout, seed
        self._kernel_initializer = kernel_initializer or glorot_uniform_initializer(seed=seed)
        self._bias_initializer = bias_initializer or constant_initializer(0.0)
        self._cells = []  # of the first layer, ahead and back, then of the second ...

    num_layers = property(lambda self: self._num_layers)
    num_units = property(lambda self: self._num_units)
    num_dirs = property(lambda self: 1 if self._direction == CUDNN_RNN_UNIDIRECTION else 2)
    input_mode = property(lambda self: self._input_mode)
    direction = property(lambda self: self._direction)
    rnn_mode = property(lambda self: self._rnn_mode)

    def _cell(self):
        return _BasicCell(self._num_units, self._activation, name="basic_rnn_cell")

    def _scopes(self, layer):
        """Returns the variable scopes of a layer's cells."""
        if self.num_dirs == 1:
            return [f"rnn/multi_rnn_cell/cell_{layer}"]
        return [f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{way}" for way in ("fw", "bw")]

    def build(self, input_shape):
        if self.built:
            return
        dims = TensorShape(input_shape).as_list()
        if len(dims) != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {len(dims)}")
        if dims[-1] is None:
            raise ValueError("The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`.")
        if self._input_mode == CUDNN_INPUT_AUTO_MODE and dims[-1] == self._num_units:
            raise ValueError(f"{self.name}: auto_select means that inputs of the size num_units ({dims[-1]}) skip their "
                             "weights, which cells do not: give input_mode='linear_input'.")
        self.input_spec = InputSpec(ndim=3, axes={-1: dims[-1]})
        self._set_scope()
        with variable_scope(self._scope, auxiliary_name_scope=False):
            for layer in range(self._num_layers):
                size = self.num_dirs * self._num_units if layer else dims[-1]
                for scope in self._scopes(layer):
                    with variable_scope(scope):
                        cell = self._cell()
                        cell._dtype, cell._starts = self._dtype, (self._together, self._alone, self._bias_initializer)
                        cell._set_scope()
                        cell.build(TensorShape([None, size]))
                        cell.built = True
                    self._cells.append(cell)
        self.built = True

    def _alone(self, shape, dtype=None, partition_info=None):
        """The first value of a kernel [size, gates * units]: each gate's matrix for itself."""
        n = self._num_units
        return array.concat([array.transpose(self._kernel_initializer([n, shape[0]], dtype=dtype))
                             for _ in range(shape[1] // n)], 1)

    def _together(self, shape, dtype=None, partition_info=None):
        """The first value of a kernel [inputs + units, gates * units]."""
        sizes = shape[0] - self._num_units, self._num_units
        return array.concat([self._alone([size, shape[1]], dtype) for size in sizes], 0)

    def call(self, inputs, initial_state=None, sequence_lengths=None, time_major=True, training=True):
        """Returns (outputs, states).

        Args:
          inputs: [time, batch, size], or [batch, time, size] unless `time_major`; the outputs come in the same way.
          initial_state: a tuple as the states: of an LSTM (h, c), of others (h,), each [layers * directions, batch, num_units],
            or the batch first unless `time_major`; zeros by default.
          sequence_lengths: int [batch]: outputs of later steps are 0, and states those of the last steps given.
          training: a bool, or a tensor, whether there is dropout.

        Raises:
          TypeError: `initial_state` is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        x = inputs if time_major else array.transpose(inputs, [1, 0, 2])
        given = None
        if initial_state is not None:
            given = [array.unstack(convert_to_tensor(s, self.dtype), num=len(self._cells), axis=0 if time_major else 1)
                     for s in initial_state]
        last = []
        for layer in range(self._num_layers):
            found = []
            for way in range(self.num_dirs):
                i = len(last)
                state = None if given is None else self._packed([s[i] for s in given])
                steps = _reversed(x, sequence_lengths) if way else x
                outputs, end = dynamic_rnn(self._cells[i], steps, sequence_lengths, state, dtype=self.dtype, time_major=True,
                                           scope=f"run_{i}")
                found.append(_reversed(outputs, sequence_lengths) if way else outputs)
                last.append(self._unpacked(end))
            x = array.concat(found, 2) if len(found) > 1 else found[0]
            if self._dropout and layer < self._num_layers - 1:
                x = self._dropped(x, training)
        states = tuple(array.stack(s, axis=0 if time_major else 1) for s in zip(*last))
        return x if time_major else array.transpose(x, [1, 0, 2]), states

    def _dropped(self, x, training):
        return smart_cond(training, lambda: drop(x, rate=self._dropout, seed=self._seed), lambda: array.identity(x))

    def state_shape(self, batch_size):
        """Returns the shapes of the states, a tuple of lists."""
        return ([len(self._scopes(0)) * self._num_layers, batch_size, self._num_units],) * self._n_states

    _n_states = 1

    def _packed(self, states):
        return states[0]

    def _unpacked(self, state):
        return [state]


def _reversed(x, lengths):
    return reverse(x, [0]) if lengths is None else reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)


class CudnnLSTM(_CudnnRNN):
    __doc__ = _DOC.format(what="LSTMs")
    _rnn_mode, _n_states = CUDNN_LSTM, 2

    def _cell(self):
        return CudnnCompatibleLSTMCell(self._num_units)

    def _packed(self, states):
        return LSTMStateTuple(c=states[1], h=states[0])

    def _unpacked(self, state):
        return [state.h, state.c]


class CudnnGRU(_CudnnRNN):
    __doc__ = _DOC.format(what="Gated recurrent units")
    _rnn_mode = CUDNN_GRU

    def _cell(self):
        return CudnnCompatibleGRUCell(self._num_units)


class CudnnRNNTanh(_CudnnRNN):
    __doc__ = _DOC.format(what="Recurrent layers with tanh")
    _rnn_mode, _activation = CUDNN_RNN_TANH, staticmethod(math.tanh)


class CudnnRNNRelu(_CudnnRNN):
    __doc__ = _DOC.format(what="Recurrent layers with relu")
    _rnn_mode, _activation = CUDNN_RNN_RELU, staticmethod(nn.relu)


__all__ = ["CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell", "CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh"]
