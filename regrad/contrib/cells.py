"""Further recurrent cells: layer normalisation, attention to the own past, convolutions; and stacks of both directions."""

from regrad.contrib.layers import layer_norm
from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.shapes import TensorShape
from regrad.nn.functions import dropout
from regrad.nn.rnn import bidirectional_dynamic_rnn
from regrad.nn.rnn_cell import LSTMStateTuple, RNNCell, _Wrapper
from regrad.ops import array, conv, math, nn
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_sum
from regrad.variables.initializers import constant_initializer
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope


def linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None, bias_start=0.0, scope=None):
    """Returns concat(args, 1) @ kernel (+ bias): TensorFlow's `_linear`, with variables "kernel" and "bias".

    Args:
      args: matrix [batch, n], or a list of them.
      output_size: columns of the result.
      bias: whether to add one.
      bias_initializer, bias_start: how it begins.
      scope: variable scope; by default the one in force.

    Raises:
      ValueError: no arguments; one of another rank, or of unknown width.
    """
    if args is None or nest.is_sequence(args) and not args:
        raise ValueError("`args` must be specified")
    args = [convert_to_tensor(a) for a in (args if nest.is_sequence(args) else [args])]
    for a in args:
        if a.rank != 2 or a.dims[1] is None:
            raise ValueError(f"linear is expecting 2D arguments whose second size is known, got {a.shape}.")
    with variable_scope(scope or get_variable_scope()):
        kernel = get_variable("kernel", [sum(a.dims[1] for a in args), output_size], dtype=args[0].dtype,
                              initializer=kernel_initializer)
        out = matmul(args[0] if len(args) == 1 else array.concat(args, 1), kernel)
        if not bias:
            return out
        with variable_scope(get_variable_scope()) as inner:
            inner.set_partitioner(None)
            biases = get_variable("bias", [output_size], dtype=args[0].dtype,
                                  initializer=bias_initializer or constant_initializer(bias_start, dtype=args[0].dtype))
        return nn.bias_add(out, biases)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM whose gates and state are normalised (Ba et al. 2016), with dropout of the new memory (Semeniuta et al. 2016).

    Args:
      num_units: size of the state and the output.
      forget_bias: added to the forget gate.
      activation: tanh by default.
      layer_norm: normalise; else biases are added.
      norm_gain, norm_shift: how gamma and beta begin.
      dropout_keep_prob: of the new memory's elements; `dropout_prob_seed`: op seed.
    """

    def __init__(self, num_units, forget_bias=1.0, input_size=None, activation=math.tanh, layer_norm=True, norm_gain=1.0,
                 norm_shift=0.0, dropout_keep_prob=1.0, dropout_prob_seed=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def _norm(self, x, scope):
        if not self._layer_norm:
            return x
        with variable_scope(scope):  # made here for their initial values
            get_variable("gamma", x.shape[-1:], dtype=x.dtype, initializer=constant_initializer(self._gain))
            get_variable("beta", x.shape[-1:], dtype=x.dtype, initializer=constant_initializer(self._shift))
        return layer_norm(x, reuse=True, scope=scope)

    def call(self, inputs, state):
        c, h = state
        gates = linear([inputs, h], 4 * self._num_units, not self._layer_norm)
        i, j, f, o = (self._norm(x, name) for x, name in
                      zip(array.split(gates, 4, axis=1), ("input", "transform", "forget", "output")))
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = dropout(g, self._keep_prob, seed=self._seed)
        c = self._norm(c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * g, "state")
        h = self._activation(c) * math.sigmoid(o)
        return h, LSTMStateTuple(c, h)


class AttentionCellWrapper(RNNCell):
    """A cell that attends to its own last outputs (Bahdanau et al. 2015).

    Args:
      cell: an RNNCell.
      attn_length: how many outputs it looks back on.
      attn_size: their size, and the output's; the cell's by default.
      attn_vec_size: size of what they are compared in; `attn_size` by default.
      input_size: size of the cell's inputs; that of the inputs by default.
      state_is_tuple: the state is (cell's state, attention, past outputs); False: joined.
    """

    def __init__(self, cell, attn_length, attn_size=None, attn_vec_size=None, input_size=None, state_is_tuple=True, reuse=None):
        super().__init__(_reuse=reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise NotImplementedError("AttentionCellWrapper: state_is_tuple=False is not offered.")
        self._cell, self._length = cell, attn_length
        self._size = attn_size or cell.output_size
        self._vec_size, self._input_size = attn_vec_size or self._size, input_size

    state_size = property(lambda self: (self._cell.state_size, self._size, self._size * self._length))
    output_size = property(lambda self: self._size)

    def call(self, inputs, state):
        state, attention, past = state
        past = array.reshape(past, [-1, self._length, self._size])
        inputs = linear([inputs, attention], self._input_size or inputs.dims[1], True)
        output, state = self._cell(inputs, state)
        attention, past = self._attend(array.concat(nest.flatten(state), 1), past)
        with variable_scope("attn_output_projection"):
            output = linear([output, attention], self._size, True)
        past = array.concat([past, array.expand_dims(output, 1)], 1)
        return output, (state, attention, array.reshape(past, [-1, self._length * self._size]))

    def _attend(self, query, past):
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._vec_size])
            v = get_variable("attn_v", [self._vec_size])
            hidden = array.reshape(past, [-1, self._length, 1, self._size])
            features = conv.conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            y = array.reshape(linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
            weights = nn.softmax(reduce_sum(v * math.tanh(features + y), [2, 3]))
            mean = reduce_sum(array.reshape(weights, [-1, self._length, 1, 1]) * hidden, [1, 2])
            return array.reshape(mean, [-1, self._size]), past[:, 1:]


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs go through a linear layer.

    Args:
      cell: an RNNCell.
      output_size: size of the results.
      activation: function of the results; None for none.
    """

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(cell, _reuse=reuse)
        self._output_size, self._activation = output_size, activation

    output_size = property(lambda self: self._output_size)

    def call(self, inputs, state):
        output, state = self._cell(inputs, state)
        output = linear(output, self._output_size, True)
        return (output if self._activation is None else self._activation(output)), state


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs go through a linear layer; arguments as for OutputProjectionWrapper."""

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(cell, _reuse=reuse)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs, state):
        projected = linear(inputs, self._num_proj, True)
        return self._cell(projected if self._activation is None else self._activation(projected), state)


class ConvLSTMCell(RNNCell):
    """An LSTM of pictures (Shi et al. 2015): its products are convolutions.

    Args:
      conv_ndims: axes of space, 1, 2 or 3.
      input_shape: shape of an input without the batch: sizes and channels.
      output_channels: channels of the state and the output.
      kernel_shape: sizes of the kernel.
      use_bias, forget_bias: whether to add biases; added to the forget gate.
      skip_connection: the inputs are joined to the output.
    """

    def __init__(self, conv_ndims, input_shape, output_channels, kernel_shape, use_bias=True, skip_connection=False,
                 forget_bias=1.0, initializers=None, name="conv_lstm_cell"):
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._axes, self._input_shape, self._channels = conv_ndims, list(input_shape), output_channels
        self._kernel_shape, self._use_bias, self._skip = list(kernel_shape), use_bias, skip_connection
        self._forget_bias = forget_bias

    @property
    def output_size(self):
        extra = self._input_shape[-1] if self._skip else 0
        return TensorShape([*self._input_shape[:-1], self._channels + extra])

    @property
    def state_size(self):
        size = TensorShape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    def call(self, inputs, state, scope=None):
        c, h = state
        both = array.concat([inputs, h], -1)
        kernel = get_variable("kernel", [*self._kernel_shape, both.dims[-1], 4 * self._channels], dtype=both.dtype)
        gates = conv.convolution(both, kernel, "SAME")
        if self._use_bias:
            gates += get_variable("biases", [4 * self._channels], dtype=both.dtype,
                                  initializer=constant_initializer(0.0, dtype=both.dtype))
        i, j, f, o = array.split(gates, 4, axis=-1)
        c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
        h = math.tanh(c) * math.sigmoid(o)
        return (array.concat([h, inputs], -1) if self._skip else h), LSTMStateTuple(c, h)


class Conv1DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell along one axis."""

    def __init__(self, name="conv_1d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell of pictures."""

    def __init__(self, name="conv_2d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=2, name=name, **kwargs)


def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                                    sequence_length=None, parallel_iterations=None, time_major=False, scope=None,
                                    swap_memory=False):
    """Carries pairs of cells along sequences in both directions, each over the joined outputs of the pair before.

    Returns:
      (outputs of the last pair joined, list of forward states, list of backward states).

    Raises:
      ValueError: lists of different lengths, or no lists.
    """
    if not cells_fw or not isinstance(cells_fw, list) or not isinstance(cells_bw, list) or len(cells_fw) != len(cells_bw):
        raise ValueError("stack_bidirectional_dynamic_rnn: cells_fw and cells_bw must be lists of cells of the same length.")
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = bidirectional_dynamic_rnn(
                    fw, bw, inputs, sequence_length, initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None, dtype, parallel_iterations, swap_memory, time_major)
            inputs = array.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)
