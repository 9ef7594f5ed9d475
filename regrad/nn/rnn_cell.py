"""`tf.nn.rnn_cell`: cells of recurrent networks, each a layer that maps (input, state) to (output, next state)."""

import collections
import hashlib
import numbers
import warnings

from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import RegradWarning
from regrad.core.graph import get_default_graph
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, as_dims, as_int
from regrad.framework import device
from regrad.layers.base import Layer
from regrad.nn.functions import dropout
from regrad.ops import array
from regrad.ops.clip import clip_by_value
from regrad.ops.math import floor, sigmoid, tanh
from regrad.ops.matmul import matmul
from regrad.ops.nn import bias_add
from regrad.ops.random import random_uniform
from regrad.variables.initializers import constant_initializer, zeros_initializer
from regrad.variables.scope import get_variable_scope, variable_scope

__all__ = ["BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple",
           "MultiRNNCell", "RNNCell", "ResidualWrapper"]


class LSTMStateTuple(collections.namedtuple("LSTMStateTuple", ["c", "h"])):
    """The state of an LSTM: `c`, what it remembers, and `h`, what it last put out."""

    __slots__ = ()

    @property
    def dtype(self):
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def _state_shape(batch_size, size):
    """Returns (static dims, shape tensor or list) of a state tensor for a batch."""
    dims = as_dims(size) if isinstance(size, (TensorShape, list, tuple)) else (int(size),)
    if isinstance(batch_size, numbers.Integral):
        return (int(batch_size), *dims), [int(batch_size), *dims]
    batch_size = convert_to_tensor(batch_size)
    if not batch_size.dtype.is_integer:
        raise TypeError(f"batch_size must be an integer, or a scalar tensor of integers; got {batch_size!r}.")
    static = batch_size.value()
    return (None if static is None else int(static), *dims), array.stack([batch_size, *dims])


def _zeros(batch_size, state_size, dtype):
    def one(size):
        dims, shape = _state_shape(batch_size, size)
        t = array.zeros(shape, dtype)
        t.set_shape(dims)
        return t

    leaves = [one(s) for s in nest.flatten(state_size)] if not isinstance(state_size, TensorShape) else [one(state_size)]
    return nest.pack_sequence_as(state_size, leaves)


class RNNCell(Layer):
    """Base class. A subclass gives `state_size`, `output_size` and either `call(inputs, state)` or `__call__`.

    `call` gets inputs of shape [batch, input size] and a state with the structure of `state_size`; it returns (output,
    next state). Variables that it makes by `get_variable` are made at the first call and used again at every other.
    """

    def __call__(self, inputs, state, scope=None):
        """Returns (output, next state).

        Args:
          scope: name or VariableScope for the cell's variables, in place of the cell's own name.
        """
        if scope is not None:
            with variable_scope(scope) as scope:
                return super().__call__(inputs, state, scope=scope)
        if not hasattr(self, "_rnncell_scope"):
            self._rnncell_scope = get_variable_scope()
        with variable_scope(self._rnncell_scope, auxiliary_name_scope=False):
            return super().__call__(inputs, state)

    @property
    def state_size(self):
        """Sizes of the state: an int, a TensorShape, or a structure of them, without the batch axis."""
        raise NotImplementedError(f"{type(self).__name__} must give state_size.")

    @property
    def output_size(self):
        """Size of the output: an int or a TensorShape, without the batch axis."""
        raise NotImplementedError(f"{type(self).__name__} must give output_size.")

    def zero_state(self, batch_size, dtype):
        """Returns a state of zeros for a batch; `batch_size` is an int or an int32 scalar tensor."""
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return _zeros(batch_size, self.state_size, as_dtype(dtype))

    def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
        """Returns the state before the first input; zeros, of the batch and dtype of `inputs` where it is given."""
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            known = inputs.dims and inputs.dims[0]
            batch_size, dtype = array.shape(inputs)[0] if known is None else known, inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError("batch_size and dtype cannot be None while constructing initial state: "
                             f"batch_size={batch_size}, dtype={dtype}")
        return self.zero_state(batch_size, dtype)


class LayerRNNCell(RNNCell):
    """Base class of cells whose variables `build(input_shape)` makes by `add_weight`; their scope is a layer's."""

    def __call__(self, inputs, state, scope=None, *args, **kwargs):
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


class _LayerCell(LayerRNNCell):
    """A cell of units with an activation."""

    def __init__(self, num_units, activation, reuse, name, dtype, **kwargs):
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kwargs)
        self._num_units = as_int(num_units, f"{type(self).__name__}: num_units")
        if self._num_units < 0:
            raise ValueError(f"{type(self).__name__}: num_units must not be negative, got {num_units}.")
        self._activation = _activation(activation)

    def _input_size(self, inputs_shape):
        shape = TensorShape(inputs_shape)
        size = None if shape.ndims is None else shape.dims_[-1]
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
        return size

    def _pair(self, prefix, n_in, n_out, kernel=None, bias=None, bias_name="bias"):
        weights = self.add_weight(f"{prefix}kernel", [n_in, n_out], initializer=kernel)
        return weights, self.add_weight(f"{prefix}{bias_name}", [n_out], initializer=bias or zeros_initializer())


def _activation(activation):
    if activation is None:
        return tanh
    if callable(activation):
        return activation
    import regrad

    return getattr(regrad.nn, activation)


class BasicRNNCell(_LayerCell):
    """h' = activation([x, h] W + b).

    Args:
      num_units: size of the state and the output.
      activation: function, or its name in `tf.nn`; tanh by default.
      reuse: whether to share the variables of that name.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        self._kernel, self._bias = self._pair("", self._input_size(input_shape) + self._num_units, self._num_units)
        self.built = True

    def call(self, inputs, state):
        output = self._activation(bias_add(matmul(array.concat([inputs, state], 1), self._kernel), self._bias))
        return output, output


class GRUCell(_LayerCell):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078).

    [r, u] = sigmoid([x, h] W + b); c = activation([x, r h] V + d); h' = u h + (1 - u) c.

    Args:
      num_units: size of the state and the output.
      activation: of the candidate c; tanh by default.
      kernel_initializer, bias_initializer: the gates' biases are 1 by default, the candidate's 0.
    """

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None,
                 dtype=None, **kwargs):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer, self._bias_initializer = kernel_initializer, bias_initializer

    state_size = property(lambda self: self._num_units)
    output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        n, size = self._num_units, self._input_size(input_shape) + self._num_units
        self._gates = self._pair("gates/", size, 2 * n, self._kernel_initializer,
                                 self._bias_initializer or constant_initializer(1.0, dtype=self.dtype))
        self._candidate = self._pair("candidate/", size, n, self._kernel_initializer, self._bias_initializer)
        self.built = True

    def call(self, inputs, state):
        gates = sigmoid(bias_add(matmul(array.concat([inputs, state], 1), self._gates[0]), self._gates[1]))
        r, u = array.split(gates, 2, axis=1)
        candidate = bias_add(matmul(array.concat([inputs, r * state], 1), self._candidate[0]), self._candidate[1])
        state = u * state + (1 - u) * self._activation(candidate)
        return state, state


class _LSTM(_LayerCell):
    """What both LSTMs share: a state of two parts, as a tuple or joined."""

    def _parts(self, state):
        if self._state_is_tuple:
            if not nest.is_sequence(state) and (not state.shape or state.dims[0] != 2):
                raise ValueError("Expected state to be a tuple (c, h), as cell.zero_state(batch, dtype) gives it, but received "
                                 f"{state}; {type(self).__name__}(..., state_is_tuple=False) takes both joined.")
            return state
        return array.split(state, [self._num_units, self.output_size], axis=1)

    def _joined(self, c, h):
        return LSTMStateTuple(c, h) if self._state_is_tuple else array.concat([c, h], 1)

    @property
    def state_size(self):
        sizes = self._num_units, self.output_size
        return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)


class BasicLSTMCell(_LSTM):
    """Long short-term memory (Zaremba et al. 2014, arXiv:1409.2329).

    [i, j, f, o] = [x, h] W + b; c' = c sigmoid(f + forget_bias) + sigmoid(i) activation(j); h' = activation(c') sigmoid(o).

    Args:
      num_units: size of c, h and the output.
      forget_bias: added to the forget gate; 0.0 when weights trained elsewhere are restored.
      state_is_tuple: the state is an LSTMStateTuple; False: c and h joined in one tensor.
      activation: tanh by default.
    """

    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, dtype=None,
                 **kwargs):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        self._kernel, self._bias = self._pair("", self._input_size(input_shape) + self._num_units, 4 * self._num_units)
        self.built = True

    def call(self, inputs, state):
        c, h = self._parts(state)
        gates = bias_add(matmul(array.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array.split(gates, 4, axis=1)
        c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
        h = self._activation(c) * sigmoid(o)
        return h, self._joined(c, h)


class LSTMCell(_LSTM):
    """Long short-term memory with peepholes and a projection (Sak et al. 2014, arXiv:1402.1128), both optional.

    Args:
      num_units: size of c, and of h and the output where there is no projection.
      use_peepholes: the gates see c, through diagonal weights `w_f_diag`, `w_i_diag`, `w_o_diag`.
      cell_clip: clip c to [-cell_clip, cell_clip].
      initializer: of weights and projection.
      num_proj, proj_clip: size of the projection of the output (`projection/kernel`), and its clip.
      num_unit_shards, num_proj_shards: accepted; weights are in one piece.
      forget_bias, state_is_tuple, activation: as for BasicLSTMCell.
    """

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
                 num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None,
                 reuse=None, name=None, dtype=None, **kwargs):
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes, self._cell_clip, self._initializer = use_peepholes, cell_clip, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple

    output_size = property(lambda self: self._num_proj or self._num_units)

    def build(self, input_shape):
        n = self._num_units
        self._kernel, self._bias = self._pair("", self._input_size(input_shape) + self.output_size, 4 * n, self._initializer)
        if self._use_peepholes:
            self._peepholes = [self.add_weight(f"w_{gate}_diag", [n], initializer=self._initializer) for gate in "fio"]
        if self._num_proj:
            self._projection = self.add_weight("projection/kernel", [n, self._num_proj], initializer=self._initializer)
        self.built = True

    def call(self, inputs, state):
        c, h = self._parts(state)
        gates = bias_add(matmul(array.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = array.split(gates, 4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            w_f, w_i, w_o = self._peepholes
            f, i = f + w_f * c, i + w_i * c
        c = sigmoid(f) * c + sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + w_o * c
        h = sigmoid(o) * self._activation(c)
        if self._num_proj:
            h = matmul(h, self._projection)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, self._joined(c, h)


class MultiRNNCell(RNNCell):
    """Cells one upon another: the output of each is the input of the next.

    Args:
      cells: list of cells; their variables stand under `cell_0`, `cell_1` ...
      state_is_tuple: the state is a tuple of the cells' states; False: all joined along axis 1.
    """

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(c) for c in cells}) < len(cells):
            warnings.warn("MultiRNNCell: one cell object stands in several places, and has one set of weights. [cell] * n "
                          "repeats the object; [make_cell() for _ in range(n)] makes n.", RegradWarning, stacklevel=2)
        self._cells, self._state_is_tuple = list(cells), state_is_tuple
        if not state_is_tuple and any(nest.is_sequence(c.state_size) for c in cells):
            raise ValueError("Some cells return tuples of states, but the flag state_is_tuple is not set. "
                             f"State sizes are: {[c.state_size for c in cells]}")

    output_size = property(lambda self: self._cells[-1].output_size)

    @property
    def state_size(self):
        sizes = tuple(c.state_size for c in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    def zero_state(self, batch_size, dtype):
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return _zeros(batch_size, self.state_size, as_dtype(dtype))

    def call(self, inputs, state):
        if self._state_is_tuple:
            if not nest.is_sequence(state):
                raise ValueError(f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}")
            states = list(state)
        else:
            states = array.split(state, [c.state_size for c in self._cells], axis=1)
        news = []
        for i, (cell, old) in enumerate(zip(self._cells, states)):
            with variable_scope(f"cell_{i}"):
                inputs, new = cell(inputs, old)
            news.append(new)
        return inputs, tuple(news) if self._state_is_tuple else array.concat(news, 1)


class _Wrapper(RNNCell):
    """A cell around another: same sizes, and the inner cell's variables keep their names."""

    def __init__(self, cell, **kwargs):
        for needed in ("output_size", "state_size", "zero_state"):
            if not hasattr(type(cell), needed):
                raise TypeError(f"The parameter cell must be an RNNCell: {cell!r} has no {needed}.")
        super().__init__(**kwargs)
        self._cell = cell

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)
    wrapped_cell = property(lambda self: self._cell)

    def zero_state(self, batch_size, dtype):
        with get_default_graph().name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class DropoutWrapper(_Wrapper):
    """Dropout on a cell's inputs, outputs and states.

    Args:
      cell: an RNNCell.
      input_keep_prob, output_keep_prob, state_keep_prob: probability that an element is kept; a float or a scalar tensor.
      variational_recurrent: one random choice for all time steps (Gal and Ghahramani 2015, arXiv:1512.05287); needs
        `dtype`, and `input_size` when inputs are dropped.
      seed: op seed; each of the choices has one of its own that follows from it.
      dropout_state_filter_visitor: function of a part of the state that says (as a structure of bools) what is dropped;
        by default all but the `c` of an LSTMStateTuple.
    """

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
                 input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None, **kwargs):
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _all_but_memory
        self._keep = {}
        for what, p in (("input", input_keep_prob), ("state", state_keep_prob), ("output", output_keep_prob)):
            if isinstance(p, numbers.Real) and not 0 <= p <= 1:
                raise ValueError(f"Parameter {what}_keep_prob must be between 0 and 1: {p:g}")
            self._keep[what] = p
        self._seed, self._noise = seed, None
        if variational_recurrent:
            if dtype is None:
                raise ValueError("When variational_recurrent=True, dtype must be provided")
            self._noise = {}
            if self._drops("input"):
                if input_size is None:
                    raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size "
                                     "must be provided")
                self._noise["input"] = self._noises("input", input_size, dtype)
            self._noise["state"] = self._noises("state", cell.state_size, dtype)
            self._noise["output"] = self._noises("output", cell.output_size, dtype)

    def _drops(self, what):
        return not isinstance(self._keep[what], numbers.Real) or self._keep[what] < 1

    def _seed_of(self, what, i):
        if self._seed is None:
            return None
        return int(hashlib.md5(f"{self._seed}{what}_{i}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF  # as TensorFlow does

    def _noises(self, what, sizes, dtype):
        sizes = [sizes] if isinstance(sizes, TensorShape) else nest.flatten(sizes)
        shapes = [[1, *(s.as_list() if isinstance(s, TensorShape) else [s])] for s in sizes]
        return [random_uniform(s, seed=self._seed_of(what, i), dtype=dtype) for i, s in enumerate(shapes)]

    def _dropped(self, what, structure, choice=True):
        """Returns `structure` with those tensors dropped out where `choice`, a bool or a structure of them, says so."""
        if not self._drops(what):
            return structure
        leaves = nest.flatten(structure)
        chosen = nest.flatten(choice)
        chosen = chosen * len(leaves) if len(chosen) == 1 else chosen
        out = [self._drop(what, i, x) if wanted else x for i, (x, wanted) in enumerate(zip(leaves, chosen))]
        return nest.pack_sequence_as(structure, out)

    def _drop(self, what, i, x):
        if not isinstance(x, Tensor):
            return x  # a TensorArray
        keep = self._keep[what]
        if self._noise is None:
            return dropout(x, keep_prob=keep, seed=self._seed_of(what, i))
        keep = convert_to_tensor(keep, dtype=None if hasattr(keep, "dtype") else x.dtype)
        return x / keep * floor(keep + self._noise[what][i])

    def __call__(self, inputs, state, scope=None):
        inputs = self._dropped("input", inputs)
        output, new_state = self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
        if self._drops("state"):
            new_state = self._dropped("state", new_state, self._filtered(new_state))
        return self._dropped("output", output), new_state

    def _filtered(self, state):
        """Returns one bool per leaf of the state."""
        chosen = self._filter(state)
        if isinstance(chosen, bool):
            if not nest.is_sequence(state):
                return [chosen]
            if not chosen:
                return [False] * len(nest.flatten(state))
            return [c for part in state for c in self._filtered(part)]
        return [c for part, use in zip(state, chosen) for c in ([use] * len(nest.flatten(part)))]


def _all_but_memory(part):
    if isinstance(part, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not hasattr(part, "_loop_parts")


class ResidualWrapper(_Wrapper):
    """Adds a cell's input to its output, or combines them by `residual_fn(inputs, outputs)`."""

    def __init__(self, cell, residual_fn=None, **kwargs):
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def __call__(self, inputs, state, scope=None):
        output, state = self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
        if self._residual_fn is not None:
            return self._residual_fn(inputs, output), state
        nest.assert_same_structure(inputs, output)
        for x, y in zip(nest.flatten(inputs), nest.flatten(output)):
            x.shape.assert_is_compatible_with(y.shape)
        return nest.map_structure(lambda x, y: x + y, inputs, output), state


class DeviceWrapper(_Wrapper):
    """Builds a cell under `tf.device(device)`."""

    def __init__(self, cell, device, **kwargs):
        super().__init__(cell, **kwargs)
        self._device = device

    def __call__(self, inputs, state, scope=None):
        with device(self._device):
            return self._cell(inputs, state) if scope is None else self._cell(inputs, state, scope=scope)
