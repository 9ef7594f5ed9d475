"""Recurrent cells with other gates: found by search, independent, phased, coupled, simple; and highways around cells."""

import math as numbers

from regrad.contrib.cells import Linear, linear, normalised
from regrad.contrib.grid_cells import sharded_variable
from regrad.core import nest
from regrad.core.graph import get_default_graph
from regrad.layers.base import activation_of
from regrad.nn.rnn_cell import LSTMStateTuple, RNNCell, _LayerCell, _Wrapper
from regrad.ops import array, clip, math, nn, norm
from regrad.ops.compare import less, where
from regrad.ops.matmul import matmul
from regrad.ops.random import random_uniform
from regrad.variables.initializers import constant_initializer, ones_initializer, random_uniform_initializer, zeros_initializer
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope


def _width(inputs):
    """Returns the number of columns of the inputs, which must be known."""
    if inputs.dims is None or inputs.dims[-1] is None:
        raise ValueError(f"Could not infer input size from inputs.shape[-1]: the inputs are {inputs.shape}.")
    return inputs.dims[-1]


class _OneState(RNNCell):
    """A cell whose state is its output."""

    def __init__(self, num_units, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)


class UGRNNCell(_OneState):
    """One gate between the last state and a new one (Collins et al. 2017, arXiv:1611.09913).

    Args:
      num_units: size of the state.
      initializer: of the weights.
      forget_bias: added to the gate.
      activation: of the new state.
    """

    def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=math.tanh, reuse=None):
        super().__init__(num_units, reuse)
        self._initializer, self._forget_bias, self._activation = initializer, forget_bias, activation

    def call(self, inputs, state):
        _width(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            g, c = array.split(linear([inputs, state], 2 * self._num_units, True), 2, axis=1)
        g = math.sigmoid(g + self._forget_bias)
        state = g * state + (1.0 - g) * self._activation(c)
        return state, state


class _OfUnits(_LayerCell):
    """A cell of units with initializers of its weights."""

    def __init__(self, units, activation="tanh", kernel_initializer="glorot_uniform", bias_initializer="ones", name=None,
                 dtype=None, reuse=None, **kwargs):
        super().__init__(units, activation_of(activation), reuse, name, dtype, **kwargs)
        self.units, self._initializer, self._bias_initializer = units, kernel_initializer, bias_initializer

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)


class MinimalRNNCell(_OfUnits):
    """One gate over what the input alone gives (Chen 2017, arXiv:1711.06788).

    z = activation(x W); u = sigmoid([z, h] V + b); h' = u h + (1 - u) z. W and V are one variable, "kernel".

    Args:
      units: size of the state and the output.
      activation, kernel_initializer, bias_initializer: functions and initializers, or their names.
    """

    def build(self, input_shape):
        n = self._input_size(input_shape)
        self.kernel = self.add_weight("kernel", [n + 2 * self.units, self.units], initializer=self._initializer)
        self.bias = self.add_weight("bias", [self.units], initializer=self._bias_initializer)
        self.built = True

    def call(self, inputs, state):
        of_inputs, of_gate = array.split(self.kernel, [_width(inputs), 2 * self.units], axis=0)
        new = self._activation(matmul(inputs, of_inputs))
        u = math.sigmoid(nn.bias_add(matmul(array.concat([new, state], 1), of_gate), self.bias))
        state = u * state + (1 - u) * new
        return state, state


class CFNCell(_OfUnits):
    """The chaos-free network (Laurent and von Brecht 2016, arXiv:1612.06212).

    [t, e] = sigmoid(x V + h U + b); h' = t activation(h) + e activation(x W). V and W are one variable, "kernel".

    Args:
      units, activation, kernel_initializer, bias_initializer: as for MinimalRNNCell.
    """

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", [self._input_size(input_shape), 3 * self.units], initializer=self._initializer)
        self.recurrent_kernel = self.add_weight("recurrent_kernel", [self.units, 2 * self.units], initializer=self._initializer)
        self.bias = self.add_weight("bias", [2 * self.units], initializer=self._bias_initializer)
        self.built = True

    def call(self, inputs, state):
        of_gates, new = array.split(matmul(inputs, self.kernel), [2 * self.units, self.units], axis=1)
        gates = math.sigmoid(nn.bias_add(of_gates + matmul(state, self.recurrent_kernel), self.bias))
        keep, let_in = array.split(gates, 2, axis=1)
        state = keep * self._activation(state) + let_in * self._activation(new)
        return state, state


class IntersectionRNNCell(_OneState):
    """As UGRNNCell, with a second gate that lets the input through to the output (Collins et al. 2017).

    Args:
      num_units: size of the state and the output, and of the input unless `num_in_proj` is given.
      num_in_proj: project inputs of another size to this one, which must be num_units.
      initializer, forget_bias: as for UGRNNCell.
      y_activation: of the output.
    """

    def __init__(self, num_units, num_in_proj=None, initializer=None, forget_bias=1.0, y_activation=nn.relu, reuse=None):
        super().__init__(num_units, reuse)
        self._initializer, self._forget_bias, self._y_activation = initializer, forget_bias, y_activation
        self._num_in_proj = num_in_proj

    def call(self, inputs, state):
        n = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            if _width(inputs) != n:
                if not self._num_in_proj:
                    raise ValueError(f"Must have input size == output size for Intersection RNN: {_width(inputs)} and {n}. To "
                                     "fix, num_in_proj should be set to num_units at cell init.")
                with variable_scope("in_projection"):
                    inputs = linear(inputs, self._num_in_proj, True)
            gates = linear([inputs, state], 4 * n, True)
        gh, h, gy, y = array.split(gates, 4, axis=1)
        gh, gy = math.sigmoid(gh + self._forget_bias), math.sigmoid(gy + self._forget_bias)
        return (gy * inputs + (1.0 - gy) * self._y_activation(y)), gh * state + (1.0 - gh) * math.tanh(h)


class NASCell(RNNCell):
    """The cell that architecture search found (Zoph and Le 2017, arXiv:1611.01578).

    Args:
      num_units: size of the memory.
      num_proj: size of a projection of the output; None for none.
      use_bias: add a bias.
    """

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    output_size = property(lambda self: self._num_proj or self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size))

    def call(self, inputs, state):
        c, m = state
        n = self._num_units
        recurrent = matmul(m, get_variable("recurrent_kernel", [self.output_size, 8 * n]))
        given = matmul(inputs, get_variable("kernel", [_width(inputs), 8 * n]))
        if self._use_bias:
            recurrent = nn.bias_add(recurrent, get_variable("bias", [8 * n], initializer=zeros_initializer()))
        x, r = array.split(given, 8, axis=1), array.split(recurrent, 8, axis=1)
        total = [a + b for a, b in zip(x, r)]
        first = math.tanh(math.sigmoid(total[0]) * nn.relu(total[1]))
        second = math.tanh(math.sigmoid(total[2]) + nn.relu(x[3] * r[3]))
        third = math.tanh(math.tanh(total[4]) * math.sigmoid(total[5]))
        fourth = math.sigmoid(math.tanh(total[6]) + math.sigmoid(total[7]))
        c = math.tanh(first + c) * second
        m = math.tanh(c * math.tanh(third + fourth))
        if self._num_proj is not None:
            m = matmul(m, get_variable("projection_weights", [n, self._num_proj]))
        return m, LSTMStateTuple(c, m)


class CoupledInputForgetGateLSTMCell(RNNCell):
    """An LSTM that forgets as much as it takes in (Greff et al. 2015, arXiv:1503.04069).

    Args:
      num_units: size of the memory.
      use_peepholes: gates look at the memory.
      initializer: of the weights.
      num_proj, proj_clip: size of a projection of the output, and a bound on its values; None for none.
      num_unit_shards, num_proj_shards: how many variables keep the weights.
      forget_bias: added to the gate.
      state_is_tuple: whether the state is an LSTMStateTuple, or its parts joined.
      activation: tanh by default.
      layer_norm, norm_gain, norm_shift: whether gates and memory are normalised (Ba et al. 2016), and what the learned gain and
        shift begin at.
    """

    def __init__(self, num_units, use_peepholes=False, initializer=None, num_proj=None, proj_clip=None, num_unit_shards=1,
                 num_proj_shards=1, forget_bias=1.0, state_is_tuple=True, activation=math.tanh, reuse=None, layer_norm=False,
                 norm_gain=1.0, norm_shift=0.0):
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes, self._initializer = num_units, use_peepholes, initializer
        self._num_proj, self._proj_clip, self._forget_bias, self._activation = num_proj, proj_clip, forget_bias, activation
        self._shards, self._state_is_tuple = (num_unit_shards, num_proj_shards), state_is_tuple
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift

    output_size = property(lambda self: self._num_proj or self._num_units)

    @property
    def state_size(self):
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    def _norm(self, x, scope):
        return normalised(x, self._gain, self._shift, scope) if self._layer_norm else x

    def call(self, inputs, state):
        n, dtype = self._num_units, inputs.dtype
        c, m = state if self._state_is_tuple else array.split(state, [n, self.output_size], axis=1)
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            weights = sharded_variable("W", [_width(inputs) + self.output_size, 3 * n], dtype, self._shards[0])
            bias = get_variable("B", [3 * n], dtype=dtype, initializer=zeros_initializer())
            gates = matmul(array.concat([inputs, m], 1), weights)
            gates = gates if self._layer_norm else nn.bias_add(gates, bias)
            j, f, o = (self._norm(x, name) for x, name in zip(array.split(gates, 3, axis=1), ("transform", "forget", "output")))
            if self._peepholes:
                f += get_variable("W_F_diag", [n], dtype=dtype) * c
                w_o = get_variable("W_O_diag", [n], dtype=dtype)
            f = math.sigmoid(f + self._forget_bias)
            c = self._norm(f * c + (1.0 - f) * self._activation(j), "state")
            m = math.sigmoid(o + w_o * c if self._peepholes else o) * self._activation(c)
            if self._num_proj is not None:
                m = matmul(m, sharded_variable("W_P", [n, self._num_proj], dtype, self._shards[1]))
                if self._proj_clip is not None:
                    m = clip.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1)


class PhasedLSTMCell(RNNCell):
    """An LSTM each unit of which opens for a part of a period of its own (Neil et al. 2016, arXiv:1610.09513).

    The inputs are a pair: times [batch, 1], and features [batch, size].

    Args:
      num_units: size of the memory.
      use_peepholes: gates look at the memory.
      leak: how much passes while a unit is closed; ratio_on: the part of the period in which it is open.
      trainable_ratio_on: whether that part is learnt.
      period_init_min, period_init_max: periods begin between these, evenly in their logarithms.
    """

    def __init__(self, num_units, use_peepholes=False, leak=0.001, ratio_on=0.1, trainable_ratio_on=True, period_init_min=1.0,
                 period_init_max=1000.0, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes, self._leak = num_units, use_peepholes, leak
        self._ratio_on, self._trainable_ratio_on = ratio_on, trainable_ratio_on
        self._least, self._most = period_init_min, period_init_max

    output_size = property(lambda self: self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))

    def _openness(self, time, dtype):
        """Returns how open each unit is at `time`: it rises, falls, and then leaks."""
        n = self._num_units

        def periods(shape, dtype=dtype, partition_info=None):
            return math.exp(random_uniform(shape, numbers.log(self._least), numbers.log(self._most), dtype))

        period = get_variable("period", [n], dtype, initializer=periods)
        phase = get_variable("phase", [n], dtype, initializer=random_uniform_initializer(0.0, period.initial_value))
        ratio = get_variable("ratio_on", [n], dtype, initializer=constant_initializer(self._ratio_on),
                             trainable=self._trainable_ratio_on)
        shifted = math.cast(time, dtype) - phase
        # The rest of a division moves as its dividend does: whole periods are no reason to move.
        rest = array.stop_gradient(math.floormod(shifted, period) - shifted) + shifted
        cycle = rest / period
        up = 2.0 * cycle / ratio
        open_ = where(less(cycle, ratio + array.zeros_like(cycle)), 2.0 - up, self._leak * cycle)
        return where(less(cycle, 0.5 * ratio + array.zeros_like(cycle)), up, open_)

    def call(self, inputs, state):
        c, h = state
        time, x = inputs
        n, seen = self._num_units, [x, h]
        with variable_scope("mask_gates"):
            gates = math.sigmoid(linear([*seen, c] if self._peepholes else seen, 2 * n, True))
            i, f = array.split(gates, 2, axis=1)
        with variable_scope("new_input"):
            new = math.tanh(linear(seen, n, True))
        new_c = c * f + i * new
        with variable_scope("output_gate"):
            new_h = math.tanh(new_c) * math.sigmoid(linear([*seen, new_c] if self._peepholes else seen, n, True))
        k = self._openness(time, x.dtype)
        new_c, new_h = k * new_c + (1.0 - k) * c, k * new_h + (1.0 - k) * h
        return new_h, LSTMStateTuple(new_c, new_h)


def _independent(prefix, inputs, state, n, times, bias):
    """Returns inputs @ kernel_w + [state, state ...] * kernel_u + bias: each unit sees its own past alone."""
    w = get_variable(f"{prefix}kernel_w", [_width(inputs), times * n])
    u = get_variable(f"{prefix}kernel_u", [1, times * n], initializer=random_uniform_initializer(-1, 1))
    b = get_variable(f"{prefix}bias", [times * n], initializer=bias)
    return nn.bias_add(matmul(inputs, w) + (array.concat([state] * times, 1) if times > 1 else state) * u, b)


class IndRNNCell(_OneState):
    """Each unit sees the inputs and its own past (Li et al. 2018, arXiv:1803.04831); tanh by default."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
        super().__init__(num_units, reuse, name=name, dtype=dtype)
        self._activation = activation or math.tanh

    def call(self, inputs, state):
        out = self._activation(_independent("", inputs, state, self._num_units, 1, zeros_initializer()))
        return out, out


class IndyGRUCell(_OneState):
    """A GRU whose units see their own past alone; arguments as for GRUCell."""

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None,
                 dtype=None):
        super().__init__(num_units, reuse, name=name, dtype=dtype)
        self._activation, self._kernel, self._bias = activation or math.tanh, kernel_initializer, bias_initializer

    def call(self, inputs, state):
        n = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._kernel):
            gates = math.sigmoid(_independent("gates/", inputs, state, n, 2, self._bias or ones_initializer()))
            r, u = array.split(gates, 2, axis=1)
            c = self._activation(_independent("candidate/", inputs, r * state, n, 1, self._bias or zeros_initializer()))
        state = u * state + (1.0 - u) * c
        return state, state


class IndyLSTMCell(RNNCell):
    """An LSTM whose units see their own past alone (Gonnet and Deselaers 2019, arXiv:1903.08023)."""

    def __init__(self, num_units, forget_bias=1.0, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None,
                 name=None, dtype=None):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation or math.tanh
        self._kernel, self._bias = kernel_initializer, bias_initializer

    output_size = property(lambda self: self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))

    def call(self, inputs, state):
        c, h = state
        with variable_scope(get_variable_scope(), initializer=self._kernel):
            gates = _independent("", inputs, h, self._num_units, 4, self._bias or zeros_initializer())
        i, j, f, o = array.split(gates, 4, axis=1)
        c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * self._activation(j)
        h = self._activation(c) * math.sigmoid(o)
        return h, LSTMStateTuple(c, h)


class SRUCell(_OneState):
    """The simple recurrent unit, whose gates see the inputs alone (Lei et al. 2017, arXiv:1709.02755); tanh by default."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, **kwargs):
        super().__init__(num_units, reuse, name=name, **kwargs)
        self._activation = activation or math.tanh

    def call(self, inputs, state):
        n = self._num_units
        kernel = get_variable("kernel", [_width(inputs), 4 * n])
        bias = get_variable("bias", [2 * n], initializer=zeros_initializer())
        x, f, r, through = array.split(matmul(inputs, kernel), 4, axis=1)
        f, r = array.split(math.sigmoid(nn.bias_add(array.concat([f, r], 1), bias)), 2, axis=1)
        c = f * state + (1.0 - f) * x
        return r * self._activation(c) + (1.0 - r) * through, c


class HighwayWrapper(_Wrapper):
    """A cell whose inputs pass by it as far as a learnt gate says (Srivastava et al. 2015, arXiv:1505.00387).

    Args:
      cell: an RNNCell whose outputs are as large as its inputs.
      couple_carry_transform_gates: what passes by leaves that much less of the output; else a second gate decides.
      carry_bias_init: how the bias of the gate begins.
    """

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__(cell)
        self._couple, self._carry_bias = couple_carry_transform_gates, carry_bias_init

    def _gate(self, name, x, bias):
        n = _width(x)
        w = get_variable(f"{name}_w", [n, n])
        b = get_variable(f"{name}_b", [n], initializer=constant_initializer(bias))
        return math.sigmoid(nn.bias_add(matmul(x, w), b))

    def _joined(self, x, out):
        with get_default_graph().name_scope("highway"):
            carry = self._gate("carry", x, self._carry_bias)
            transform = 1.0 - carry if self._couple else self._gate("transform", x, -self._carry_bias)
            return x * carry + out * transform

    def call(self, inputs, state):
        outputs, state = self._cell(inputs, state)
        nest.assert_same_structure(inputs, outputs)
        return nest.map_structure(self._joined, inputs, outputs), state


class GLSTMCell(RNNCell):
    """An LSTM whose products act on groups of columns of their own (Kuchaiev and Ginsburg 2017, arXiv:1703.10722).

    Each group sees its part of the inputs and of the output, of one width: num_units, or num_proj where given, divided by the
    number of groups.

    Args:
      num_units: size of the memory.
      initializer: of the weights.
      num_proj: size of a projection of the output; None for none.
      number_of_groups: how many; one is an LSTM.
      forget_bias: added to the forget gate.
      activation: of the output.

    Raises:
      ValueError: a size that is not a multiple of `number_of_groups`.
    """

    def __init__(self, num_units, initializer=None, num_proj=None, number_of_groups=1, forget_bias=1.0, activation=math.tanh,
                 reuse=None):
        super().__init__(_reuse=reuse)
        for what, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(f"{what} must be divisible by number_of_groups: {size}, {number_of_groups}.")
        self._num_units, self._initializer, self._num_proj = num_units, initializer, num_proj
        self._groups, self._forget_bias, self._activation = number_of_groups, forget_bias, activation

    output_size = property(lambda self: self._num_proj or self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size))

    def call(self, inputs, state):
        c, m = state
        wide = self.output_size // self._groups
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            parts = []
            for g in range(self._groups):
                with variable_scope(f"group{g}"):
                    x = array.concat([t[:, g * wide:(g + 1) * wide] for t in (inputs, m)], 1)
                    if not parts:
                        shared = Linear(x, 4 * self._num_units // self._groups, False)
                    parts.append(array.split(shared(x), 4, axis=1))
            biases = (get_variable(f"bias_{name}", [self._num_units], dtype=c.dtype, initializer=zeros_initializer())
                      for name in "ijfo")
            i, j, f, o = (nn.bias_add(array.concat(list(gate), 1), bias) for gate, bias in zip(zip(*parts), biases))
            c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
            m = math.sigmoid(o) * self._activation(c)
            if self._num_proj is not None:
                with variable_scope("projection"):
                    m = linear(m, self._num_proj, False)
        return m, LSTMStateTuple(c, m)


class WeightNormLSTMCell(RNNCell):
    """An LSTM whose weights are directions of length 1 times learned lengths (Salimans and Kingma 2016, arXiv:1602.07868).

    Args:
      num_units: size of the memory.
      norm: False for the weights as they are.
      use_peepholes: gates look at the memory.
      cell_clip, num_proj, proj_clip: as for `tf.nn.rnn_cell.LSTMCell`.
      initializer: of the weights and lengths.
      forget_bias: added to the forget gate.
      activation: tanh by default.
    """

    def __init__(self, num_units, norm=True, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None,
                 proj_clip=None, forget_bias=1, activation=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._with_norm, self._use_peepholes = num_units, norm, use_peepholes
        self._cell_clip, self._initializer, self._num_proj = cell_clip, initializer, num_proj
        self._proj_clip, self._forget_bias, self._activation = proj_clip, forget_bias, activation or math.tanh

    output_size = property(lambda self: self._num_proj or self._num_units)
    state_size = property(lambda self: LSTMStateTuple(self._num_units, self.output_size))

    def _product(self, args, n):
        """Returns the inputs, joined, times a matrix whose columns have learned lengths, of the rows of each input apart."""
        rows = [_width(a) for a in args]
        weights = get_variable("kernel", [sum(rows), n], dtype=args[0].dtype)
        if self._with_norm:
            weights = array.concat([norm.l2_normalize(w, 0) * get_variable(f"norm_{k}", [n], dtype=w.dtype)
                                    for k, w in enumerate(array.split(weights, rows, axis=0))], 0)
        return matmul(array.concat(args, 1), weights)

    def call(self, inputs, state):
        c, h = state
        n, dtype = self._num_units, inputs.dtype
        with variable_scope("wn_lstm_cell", initializer=self._initializer):
            gates = self._product([inputs, h], 4 * n)
            bias = get_variable("bias", [4 * n], dtype=dtype, initializer=zeros_initializer())
            i, j, f, o = array.split(nn.bias_add(gates, bias), 4, axis=1)
            if self._use_peepholes:
                w_f, w_i, w_o = (get_variable(f"w_{g}_diag", [n], dtype=dtype) for g in "fio")
                f, i = f + w_f * c, i + w_i * c
            c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * self._activation(j)
            if self._cell_clip is not None:
                c = clip.clip_by_value(c, -self._cell_clip, self._cell_clip)
            h = math.sigmoid(o + w_o * c if self._use_peepholes else o) * self._activation(c)
            if self._num_proj is not None:
                with variable_scope("projection"):
                    h = self._product([h], self._num_proj)
                if self._proj_clip is not None:
                    h = clip.clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h)


class GRUBlockCell(_OneState):
    """A GRU (Cho et al. 2014) with the variables w_ru, b_ru, w_c and b_c.

    Args:
      num_units: size of the state; `cell_size` is its older name.
    """

    _names = ("w_ru", "b_ru"), ("w_c", "b_c")

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell"):
        if (num_units is None) == (cell_size is None):
            raise ValueError(f"GRUBlockCell needs num_units, or cell_size: got {num_units} and {cell_size}.")
        super().__init__(cell_size if num_units is None else num_units, reuse, name=name)

    def call(self, inputs, state):
        n, kind = self._num_units, inputs.dtype

        def layer(x, columns, names, first):
            kernel = get_variable(names[0], [_width(x), columns], dtype=kind)
            return nn.bias_add(matmul(x, kernel), get_variable(names[1], [columns], dtype=kind,
                                                               initializer=constant_initializer(first)))

        r, u = array.split(math.sigmoid(layer(array.concat([inputs, state], 1), 2 * n, self._names[0], 1.0)), 2, axis=1)
        new = math.tanh(layer(array.concat([inputs, r * state], 1), n, self._names[1], 0.0))
        state = u * state + (1 - u) * new
        return state, state


class GRUBlockCellV2(GRUBlockCell):
    """`GRUBlockCell` with the variables of `tf.nn.rnn_cell.GRUCell`."""

    _names = ("gates/kernel", "gates/bias"), ("candidate/kernel", "candidate/bias")
