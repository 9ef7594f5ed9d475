"""Further recurrent cells: layer normalisation, attention to the own past, convolutions; and stacks of both directions."""

from regrad.contrib.layers import layer_norm
from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.shapes import TensorShape
from regrad.nn.embedding import embedding_lookup
from regrad.nn.functions import dropout
from regrad.nn.rnn import bidirectional_dynamic_rnn, static_bidirectional_rnn
from regrad.nn.rnn_cell import LSTMStateTuple, RNNCell, _Wrapper
from regrad.ops import array, conv, math, nn
from regrad.ops.clip import clip_by_value
from regrad.ops.matmul import matmul
from regrad.ops.reduce import reduce_sum
from regrad.variables.initializers import constant_initializer, random_uniform_initializer
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope


class Linear:
    """concat(args, 1) @ kernel (+ bias), with variables "kernel" and "bias" of the variable scope it is made in.

    Args:
      args: matrix [batch, n], or a list of them: whose widths the kernel has rows for.
      output_size: columns of the result.
      build_bias: whether a bias is added.
      bias_initializer, kernel_initializer: how they begin; the bias at 0.

    Raises:
      ValueError: no arguments; one of another rank, or of unknown width.
    """

    def __init__(self, args, output_size, build_bias, bias_initializer=None, kernel_initializer=None):
        if args is None or nest.is_sequence(args) and not args:
            raise ValueError("`args` must be specified")
        args = [convert_to_tensor(a) for a in (args if nest.is_sequence(args) else [args])]
        for a in args:
            if a.rank != 2 or a.dims[1] is None:
                raise ValueError(f"linear is expecting 2D arguments whose second size is known, got {a.shape}.")
        dtype = args[0].dtype
        self._kernel = get_variable("kernel", [sum(a.dims[1] for a in args), output_size], dtype=dtype,
                                    initializer=kernel_initializer)
        self._bias = None
        if build_bias:
            with variable_scope(get_variable_scope()) as inner:
                inner.set_partitioner(None)
                self._bias = get_variable("bias", [output_size], dtype=dtype,
                                          initializer=bias_initializer or constant_initializer(0.0, dtype=dtype))

    def __call__(self, args):
        """Returns the product of `args`, of the widths given before, and the kernel, plus the bias."""
        args = [convert_to_tensor(a) for a in (args if nest.is_sequence(args) else [args])]
        out = matmul(args[0] if len(args) == 1 else array.concat(args, 1), self._kernel)
        return out if self._bias is None else nn.bias_add(out, self._bias)


def linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None, bias_start=0.0, scope=None):
    """Returns concat(args, 1) @ kernel (+ bias), TensorFlow's `_linear`; see `Linear`, which it makes in `scope`."""
    with variable_scope(scope or get_variable_scope()):
        if bias and bias_initializer is None and bias_start:
            bias_initializer = constant_initializer(bias_start)
        return Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def normalised(x, gain, shift, scope):
    """Returns `layer_norm` of x with variables that begin at `gain` and `shift`, in the variable scope `scope`."""
    with variable_scope(scope):  # made here for their initial values
        get_variable("gamma", x.shape[-1:], dtype=x.dtype, initializer=constant_initializer(gain))
        get_variable("beta", x.shape[-1:], dtype=x.dtype, initializer=constant_initializer(shift))
    return layer_norm(x, reuse=True, scope=scope)


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
        return normalised(x, self._gain, self._shift, scope) if self._layer_norm else x

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
        _need_cell(cell)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError("Cell returns tuple of states, but the flag state_is_tuple is not set. State size is: "
                             f"{cell.state_size}")
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._length, self._state_is_tuple = cell, attn_length, state_is_tuple
        self._size = attn_size or cell.output_size
        self._vec_size, self._input_size = attn_vec_size or self._size, input_size

    output_size = property(lambda self: self._size)

    @property
    def state_size(self):
        sizes = self._cell.state_size, self._size, self._size * self._length
        return sizes if self._state_is_tuple else sum(sizes)

    def call(self, inputs, state):
        if not self._state_is_tuple:
            state = array.split(state, [self._cell.state_size, self._size, self._size * self._length], axis=1)
        state, attention, past = state
        past = array.reshape(past, [-1, self._length, self._size])
        inputs = linear([inputs, attention], self._input_size or inputs.dims[1], True)
        output, state = self._cell(inputs, state)
        attention, past = self._attend(array.concat(nest.flatten(state), 1), past)
        with variable_scope("attn_output_projection"):
            output = linear([output, attention], self._size, True)
        past = array.concat([past, array.expand_dims(output, 1)], 1)
        state = state, attention, array.reshape(past, [-1, self._length * self._size])
        return output, state if self._state_is_tuple else array.concat(state, 1)

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


class Conv3DLSTMCell(ConvLSTMCell):
    """ConvLSTMCell of volumes."""

    def __init__(self, name="conv_3d_lstm_cell", **kwargs):
        super().__init__(conv_ndims=3, name=name, **kwargs)


class EmbeddingWrapper(_Wrapper):
    """A cell whose inputs are numbers of classes, each of which has a vector of its own.

    Args:
      cell: an RNNCell.
      embedding_classes, embedding_size: how many classes there are, and the length of their vectors.
      initializer: of the variable "embedding"; by default that of the scope, or uniform numbers of deviation 1.

    Raises:
      TypeError: `cell` is no RNNCell.
      ValueError: a size that is not positive.
    """

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        _need_cell(cell)
        super().__init__(cell, _reuse=reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}.")
        self._shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs, state):
        """Returns what the cell makes of the vectors of `inputs`, int [batch, 1] or [batch]."""
        first = self._initializer or get_variable_scope().initializer or random_uniform_initializer(-(3 ** 0.5), 3 ** 0.5)
        vectors = get_variable("embedding", self._shape, dtype=nest.flatten(state)[0].dtype, initializer=first)
        return self._cell(embedding_lookup(vectors, array.reshape(inputs, [-1])), state)


class LayerNormLSTMCell(RNNCell):
    """An LSTM with peepholes, clips, projection and normalisation of its gates and memory (Ba et al. 2016), all optional.

    Args:
      num_units: size of the memory.
      use_peepholes: gates look at the memory.
      cell_clip, num_proj, proj_clip: as for `tf.nn.rnn_cell.LSTMCell`.
      initializer: of the weights.
      forget_bias: added to the forget gate.
      activation: tanh by default.
      layer_norm, norm_gain, norm_shift: whether to normalise, and what the learned gain and shift begin at.
    """

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
                 forget_bias=1.0, activation=None, layer_norm=False, norm_gain=1.0, norm_shift=0.0, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip, self._initializer = (num_units, use_peepholes, cell_clip,
                                                                                    initializer)
        self._num_proj, self._proj_clip, self._forget_bias = num_proj, proj_clip, forget_bias
        self._activation, self._layer_norm = activation or math.tanh, layer_norm
        self._gain, self._shift = norm_gain, norm_shift

    output_size = property(lambda self: self._num_proj or self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size))

    def _norm(self, x, scope):
        return normalised(x, self._gain, self._shift, scope) if self._layer_norm else x

    def call(self, inputs, state):
        c, h = state
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gates = Linear([inputs, h], 4 * self._num_units, True)
            if self._layer_norm:
                gates._bias = None  # the variable is there, but normalisation has its own
            i, j, f, o = (self._norm(x, name) for x, name in zip(array.split(gates([inputs, h]), 4, axis=1),
                                                                 ("input", "transform", "forget", "output")))
            see_f, see_i, see_o = (self._peephole(gate, inputs.dtype) for gate in "fio")
            c = math.sigmoid(f + self._forget_bias + see_f(c)) * c + math.sigmoid(i + see_i(c)) * self._activation(j)
            c = _within(self._norm(c, "state"), self._cell_clip)
            h = math.sigmoid(o + see_o(c)) * self._activation(c)
            if self._num_proj is not None:
                with variable_scope("projection"):
                    h = _within(linear(h, self._num_proj, False), self._proj_clip)
        return h, LSTMStateTuple(c, h)

    def _peephole(self, gate, dtype):
        """Returns the function of c that a gate sees."""
        if not self._use_peepholes:
            return lambda c: 0.0
        w = get_variable(f"w_{gate}_diag", [self._num_units], dtype=dtype)
        return lambda c: w * c


def _within(x, bound):
    return x if bound is None else clip_by_value(x, -bound, bound)


def _need_cell(cell):
    if not callable(cell) or not all(hasattr(cell, a) for a in ("output_size", "state_size")):
        raise TypeError(f"The parameter cell is not RNNCell. It is {cell!r}.")


def stack_bidirectional_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                            sequence_length=None, scope=None):
    """Carries pairs of cells along a list of inputs in both directions, each over the joined outputs of the pair before.

    Returns:
      (outputs of the last pair joined, tuple of forward states, tuple of backward states).

    Raises:
      ValueError: lists of different lengths, or no lists.
    """
    def pair(fw, bw, inputs, state_fw, state_bw, scope):
        return static_bidirectional_rnn(fw, bw, inputs, state_fw, state_bw, dtype, sequence_length, scope=scope)

    return _stacked_pairs(pair, cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope)


def _stacked_pairs(pair, cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope):
    """Returns (outputs of the last pair, forward states, backward states), each pair's inputs being the outputs before.

    Args:
      pair: of two cells, inputs, two initial states or None, and a variable scope; gives (joined outputs, two states).
    """
    _check_stack(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (fw, bw) in enumerate(zip(cells_fw, cells_bw)):
            with variable_scope(f"cell_{i}") as cell_scope:
                inputs, state_fw, state_bw = pair(fw, bw, inputs, initial_states_fw[i] if initial_states_fw else None,
                                                  initial_states_bw[i] if initial_states_bw else None, cell_scope)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def _check_stack(cells_fw, cells_bw, *initial):
    """Raises ValueError unless the two are lists of as many cells, and so are initial states that are given."""
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list) or not cells:
            raise ValueError(f"{name} must be a list of RNNCells (one per layer), got {cells!r}.")
    if len(cells_fw) != len(cells_bw):
        raise ValueError(f"Forward and Backward cells must have the same depth: {len(cells_fw)} and {len(cells_bw)}.")
    for states in initial:
        if states is not None and (not isinstance(states, (list, tuple)) or len(states) != len(cells_fw)):
            raise ValueError(f"initial states must be a list of {len(cells_fw)} states (one per layer), got {states!r}.")


def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None, dtype=None,
                                    sequence_length=None, parallel_iterations=None, time_major=False, scope=None,
                                    swap_memory=False):
    """Carries pairs of cells along sequences in both directions, each over the joined outputs of the pair before.

    Returns:
      (outputs of the last pair joined, tuple of forward states, tuple of backward states).

    Raises:
      ValueError: lists of different lengths, or no lists.
    """
    def pair(fw, bw, inputs, state_fw, state_bw, scope):
        outputs, states = bidirectional_dynamic_rnn(fw, bw, inputs, sequence_length, state_fw, state_bw, dtype,
                                                    parallel_iterations, swap_memory, time_major)
        return array.concat(outputs, 2), *states

    return _stacked_pairs(pair, cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope)
