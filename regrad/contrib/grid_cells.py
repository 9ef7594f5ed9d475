"""Recurrent cells that also run along frequencies: an LSTM over overlapping parts of each input, beside the one over time."""

import collections

from regrad.core.dtypes import as_dtype
from regrad.nn.rnn_cell import RNNCell
from regrad.ops import array, clip, math, nn
from regrad.ops.layout import pad
from regrad.ops.matmul import matmul
from regrad.variables.initializers import zeros_initializer
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope


def sharded_variable(name, shape, dtype, shards):
    """Returns a matrix whose rows are kept in `shards` variables name_0, name_1 ..., of sizes as equal as may be."""
    if shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    sizes = [shape[0] // shards + (i < shape[0] % shards) for i in range(shards)]
    parts = [get_variable(f"{name}_{i}", [n, *shape[1:]], dtype=dtype) for i, n in enumerate(sizes)]
    return parts[0] if shards == 1 else array.concat(parts, 0)


def _parts(inputs, size, skip, start, number):
    """Returns `number` slices of `size` columns, every `skip` columns from `start`."""
    return [inputs[:, start + i * skip:start + i * skip + size] for i in range(number)]


class _OverFrequencies(RNNCell):
    """What the cells here share."""

    def __init__(self, num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias, feature_size,
                 frequency_skip, reuse):
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._shards, self._forget_bias = initializer, num_unit_shards, forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    def _width(self, inputs):
        if inputs.rank != 2 or inputs.dims[1] is None:
            raise ValueError(f"Cannot infer input_size from static shape inference: the inputs are {inputs.shape}.")
        return inputs.dims[1]

    def _number(self, width):
        return (width - self._feature_size) // self._frequency_skip + 1

    def _weights(self, ending, gates, dtype):
        n = self._num_units
        kernel = sharded_variable(f"W{ending}", [self._feature_size + 2 * n, gates * n], dtype, self._shards)
        bias = get_variable(f"B{ending}", [gates * n], dtype=dtype, initializer=zeros_initializer())
        return lambda x: array.split(nn.bias_add(matmul(x, kernel), bias), gates, axis=1)

    def _clipped(self, c):
        return c if self._cell_clip is None else clip.clip_by_value(c, -self._cell_clip, self._cell_clip)

    def _zeros(self, inputs):
        batch = array.shape(inputs)[0] if inputs.dims[0] is None else inputs.dims[0]
        return array.zeros([batch, self._num_units], inputs.dtype)


class TimeFreqLSTMCell(_OverFrequencies):
    """An LSTM over time whose parts, one for each slice of the input, also see the output of the part before.

    From Sainath and Li, "Modeling Time-Frequency Patterns with LSTM vs. Convolutional Architectures for LVCSR Tasks", 2016.
    The state, [batch, 2 * num_units * slices], holds c and the output of each slice, joined.

    Args:
      num_units: size of each part's state.
      use_peepholes: gates look at c.
      cell_clip: c is clipped to [-cell_clip, cell_clip]; None for no bound.
      initializer: of the weights.
      num_unit_shards: how many variables keep the weights.
      forget_bias: added to the forget gate.
      feature_size, frequency_skip: columns of a slice, and from one slice to the next.
    """

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_unit_shards=1, forget_bias=1.0,
                 feature_size=None, frequency_skip=1, reuse=None):
        super().__init__(num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias, feature_size,
                         frequency_skip, reuse)

    output_size = property(lambda self: self._num_units)
    state_size = property(lambda self: 2 * self._num_units)

    def call(self, inputs, state):
        n, dtype = self._num_units, inputs.dtype
        slices = _parts(inputs, self._feature_size, self._frequency_skip, 0, self._number(self._width(inputs)))
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gates = self._weights("", 4, dtype)
            diagonals = [get_variable(f"W_{g}_diag", [n], dtype=dtype) if self._use_peepholes else None for g in "FIO"]
        see_f, see_i, see_o = (lambda c, w=w: 0.0 if w is None else w * c for w in diagonals)
        m_before, outputs, states = self._zeros(inputs), [], []
        for x, c, m in zip(slices, *(_parts(state, n, 2 * n, start, len(slices)) for start in (0, n))):
            i, j, f, o = gates(array.concat([x, m, m_before], 1))
            c = self._clipped(math.sigmoid(f + self._forget_bias + see_f(c)) * c + math.sigmoid(i + see_i(c)) * math.tanh(j))
            m_before = math.sigmoid(o + see_o(c)) * math.tanh(c)
            outputs.append(m_before)
            states += [c, m_before]
        return array.concat(outputs, 1), array.concat(states, 1)


class GridLSTMCell(_OverFrequencies):
    """Two LSTMs over a grid, one along time and one along the slices of each input (Kalchbrenner et al. 2016).

    Args:
      num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias, feature_size, frequency_skip: as for
        `TimeFreqLSTMCell`.
      share_time_frequency_weights: both LSTMs have the same weights.
      num_frequency_blocks: list: how many slices there are in each block of columns.
      start_freqindex_list, end_freqindex_list: first and past-the-end column of each block; one block of all by default.
      couple_input_forget_gates: what is not taken in is kept: there is no forget gate.
      state_is_tuple: the state is a `state_tuple_type`: c and m for each slice; otherwise they are joined.

    Raises:
      ValueError: no `num_frequency_blocks`, or numbers that do not fit the inputs.
    """

    _directions: tuple[str, ...] = ("state",)

    def __init__(self, num_units, use_peepholes=False, share_time_frequency_weights=False, cell_clip=None, initializer=None,
                 num_unit_shards=1, forget_bias=1.0, feature_size=None, frequency_skip=None, num_frequency_blocks=None,
                 start_freqindex_list=None, end_freqindex_list=None, couple_input_forget_gates=False, state_is_tuple=True,
                 reuse=None):
        super().__init__(num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias, feature_size,
                         frequency_skip, reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._shared, self._coupled, self._state_is_tuple = (share_time_frequency_weights, couple_input_forget_gates,
                                                             state_is_tuple)
        self._blocks, self._starts, self._ends = list(num_frequency_blocks), start_freqindex_list, end_freqindex_list
        names = [f"{d}_f{f:02}_b{b:02}_{part}" for d in self._directions for b, n in enumerate(self._blocks) for f in range(n)
                 for part in "cm"]
        self._state_type = collections.namedtuple("GridLSTMStateTuple", names)

    @property
    def output_size(self):
        return self._num_units * len(self._state_type._fields)

    @property
    def state_size(self):
        sizes = [self._num_units] * len(self._state_type._fields)
        return self._state_type(*sizes) if self._state_is_tuple else sum(sizes)

    @property
    def state_tuple_type(self):
        """The class of the states, a namedtuple."""
        return self._state_type if self._state_is_tuple else None

    def _slices(self, inputs, offset=0):
        """Returns the slices of each block; an offset moves them, past the edge there are zeros."""
        width = self._width(inputs)
        starts, ends = (self._starts, self._ends) if self._starts else ([0], [width])
        if not len(starts) == len(ends) == len(self._blocks):
            raise ValueError(f"num_frequency_blocks and the lists of frequency indices must be of one length: {self._blocks}, "
                             f"{starts}, {ends}.")
        for first, end, wanted in zip(starts, ends, self._blocks):
            found = self._number(end - first)
            if found != wanted:
                raise ValueError(f"Invalid num_frequency_blocks, requires {wanted} but gets {found}, please check the input "
                                 "size and filter config are correct.")
        if offset:
            inputs = pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        return [_parts(inputs, self._feature_size, self._frequency_skip, first + max(offset, 0), number)
                for first, number in zip(starts, self._blocks)]

    def call(self, inputs, state):
        state = state if self._state_is_tuple else self._state_type(*array.split(state, len(self._state_type._fields), axis=1))
        outputs, states = self._run(self._slices(inputs), state, "state")
        return array.concat(outputs, 1), self._state_type(*states) if self._state_is_tuple else array.concat(states, 1)

    def _run(self, blocks, state, direction):
        """Returns (outputs, states) of all slices of all blocks."""
        outputs, states = [], []
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            for b, slices in enumerate(blocks):
                self._run_block(b, slices, state, direction, outputs, states)
        return outputs, states

    def _lstm(self, kind, letter, block, dtype):
        """Returns the function (inputs, both c's) -> (gate of the output, functions of it) of one of the two LSTMs."""
        gates = self._weights(f"_{letter}_{block}", 3 if self._coupled else 4, dtype)

        def seen(gate):
            """Returns what `gate` sees of the two c's."""
            if not self._use_peepholes:
                return lambda c_freq, c_time: 0.0
            w = [get_variable(f"W_{gate}_diag_{kind}{end}_{block}", [self._num_units], dtype=as_dtype(dtype)) for end in "ft"]
            return lambda c_freq, c_time: w[0] * c_freq + w[1] * c_time

        see = {gate: seen(gate) for gate in ("IO" if self._coupled else "FIO")}

        def step(x, own, c_freq, c_time):
            i, j, *f, o = gates(x)
            i = math.sigmoid(i + see["I"](c_freq, c_time))
            f = 1.0 - i if self._coupled else math.sigmoid(f[0] + self._forget_bias + see["F"](c_freq, c_time))
            c = self._clipped(f * own + i * math.tanh(j))
            return c, lambda c_freq, c_time: math.sigmoid(o + see["O"](c_freq, c_time)) * math.tanh(c)

        return step

    def _run_block(self, block, slices, state, direction, outputs, states):
        dtype = slices[0].dtype
        over_freq = self._lstm("freq", "f", block, dtype)
        over_time = over_freq if self._shared else self._lstm("time", "t", block, dtype)
        c_freq = m_freq = self._zeros(slices[0])
        for i, x in enumerate(slices):
            c_time, m_time = (getattr(state, f"{direction}_f{i:02}_b{block:02}_{part}") for part in "cm")
            x = array.concat([x, m_time, m_freq], 1)
            new_freq, out_freq = over_freq(x, c_freq, c_freq, c_time)
            new_time, out_time = over_time(x, c_time, c_freq, c_time)
            c_freq, m_freq, m_time = new_freq, out_freq(new_freq, new_time), out_time(new_freq, new_time)
            outputs += [m_time, m_freq]
            states += [new_time, m_time]


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A `GridLSTMCell` that runs along the slices of an input in both directions, with weights of its own for each.

    Args:
      backward_slice_offset: by how many columns the slices of the other direction lie further on.
      The others are those of `GridLSTMCell`; the state is a tuple.
    """

    _directions = ("fwd_state", "bwd_state")

    def __init__(self, num_units, use_peepholes=False, share_time_frequency_weights=False, cell_clip=None, initializer=None,
                 num_unit_shards=1, forget_bias=1.0, feature_size=None, frequency_skip=None, num_frequency_blocks=None,
                 start_freqindex_list=None, end_freqindex_list=None, couple_input_forget_gates=False, backward_slice_offset=0,
                 reuse=None):
        super().__init__(num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards,
                         forget_bias, feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list,
                         end_freqindex_list, couple_input_forget_gates, True, reuse)
        self._offset = int(backward_slice_offset)

    def call(self, inputs, state):
        with variable_scope("fwd"):
            outputs, states = self._run(self._slices(inputs), state, "fwd_state")
        with variable_scope("bwd"):
            back = [slices[::-1] for slices in self._slices(inputs, self._offset)]
            more_outputs, more_states = self._run(back, state, "bwd_state")
        return array.concat(outputs + more_outputs, 1), self._state_type(*states, *more_states)
