"""LSTMs whose step, or whole sequence, is one operation."""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, int32, int64
from regrad.core.shapes import TensorShape
from regrad.layers.base import InputSpec, Layer
from regrad.nn.rnn_cell import _LSTM, LSTMStateTuple
from regrad.ops import array, math
from regrad.ops.block_lstm import blocklstm_op, lstmblockcell_op
from regrad.ops.generate import range as range_
from regrad.ops.indexing import gather_nd, sequence_mask
from regrad.ops.reduce import reduce_max


def _peepholes(layer, n, used):
    """Returns the weights with which the gates i, f and o see the cell, or zeros."""
    if used:
        return [layer.add_weight(f"w_{gate}_diag", [n]) for gate in "ifo"]
    return [array.zeros([n], layer.dtype)] * 3


class LSTMBlockCell(_LSTM):
    """`BasicLSTMCell` as one operation a step, with peepholes and a clip of the cell, both optional.

    Args:
      num_units: size of c, h and the output.
      forget_bias: added to the forget gate.
      cell_clip: clip c to [-cell_clip, cell_clip]; the gradient passes unchanged.
      use_peephole: the gates see c, through diagonal weights `w_i_diag`, `w_f_diag`, `w_o_diag`.
    """

    def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, dtype=None, reuse=None,
                 name="lstm_cell", **kwargs):
        super().__init__(num_units, None, reuse, name, dtype, **kwargs)
        self._state_is_tuple = True
        self._attrs = {"forget_bias": float(forget_bias), "cell_clip": -1.0 if cell_clip is None else float(cell_clip),
                       "use_peephole": use_peephole}

    output_size = property(lambda self: self._num_units)

    def build(self, input_shape):
        n = self._num_units
        self._kernel, self._bias = self._pair("", self._input_size(input_shape) + n, 4 * n)
        self._diagonals = _peepholes(self, n, self._attrs["use_peephole"])
        self.built = True

    def call(self, inputs, state):
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        out = lstmblockcell_op(inputs, *state, self._kernel, *self._diagonals, self._bias, **self._attrs)
        return out[6], LSTMStateTuple(out[1], out[6])


class LSTMBlockFusedCell(Layer):
    """An LSTM over a whole sequence as one operation: `cell(inputs)` -> (outputs, LSTMStateTuple of the last step).

    Args:
      num_units, forget_bias, cell_clip, use_peephole: as for `LSTMBlockCell`.
    """

    def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, reuse=None, dtype=None,
                 name="lstm_fused_cell"):
        super().__init__(name=name, dtype=dtype, _reuse=reuse)
        self._num_units = num_units
        self._attrs = {"forget_bias": float(forget_bias), "cell_clip": -1.0 if cell_clip is None else float(cell_clip),
                       "use_peephole": use_peephole}
        self.input_spec = InputSpec(ndim=3)

    num_units = property(lambda self: self._num_units)

    def build(self, input_shape):
        n, size = self._num_units, TensorShape(input_shape).as_list()[2]
        if size is None:
            raise ValueError("Expecting inputs.shape[2] to be known: [time, batch, inputs]")
        self._kernel = self.add_weight("kernel", [size + n, 4 * n])
        self._bias = self.add_weight("bias", [4 * n], initializer=lambda shape, dtype=None, partition_info=None:
                                     np.zeros(shape, dtype.as_numpy_dtype))
        self._diagonals = _peepholes(self, n, self._attrs["use_peephole"])
        self.built = True

    def __call__(self, inputs, *args, **kwargs):
        """Runs the LSTM over inputs [time, batch, inputs], or a list of [batch, inputs] (and puts out a list); see `call`."""
        if not isinstance(inputs, (list, tuple)):
            return super().__call__(inputs, *args, **kwargs)
        outputs, state = super().__call__(array.stack(inputs), *args, **kwargs)
        return array.unstack(outputs, num=len(inputs)), state

    def call(self, inputs, initial_state=None, dtype=None, sequence_length=None):
        """Runs the LSTM.

        Args:
          inputs: [time, batch, inputs].
          initial_state: (c, h), each [batch, num_units]; zeros by default, which need `dtype`.
          dtype: of the zeros.
          sequence_length: int vector: outputs of later steps are 0, and the state is that of the last step given.
        """
        if inputs.dims is None or len(inputs.dims) != 3:
            raise ValueError(f"inputs must be [time, batch, inputs], got shape {inputs.shape}")
        time, batch = (inputs.dims[i] if inputs.dims[i] is not None else array.shape(inputs)[i] for i in (0, 1))
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            initial_state = [array.zeros(array.stack([batch, self._num_units]), as_dtype(dtype))] * 2
        elif len(initial_state) != 2:
            raise ValueError("Expecting initial_state to be a tuple with length 2 or None")
        cell, hidden = initial_state
        longest = time
        if sequence_length is not None:
            sequence_length = math.cast(convert_to_tensor(sequence_length, name="sequence_length"), int32)
            longest = reduce_max(sequence_length)
        longest = math.cast(longest, int64)
        out = blocklstm_op(longest, inputs, cell, hidden, self._kernel, *self._diagonals, self._bias, **self._attrs)
        cells, outputs = out[1], out[6]
        if sequence_length is None:
            state = LSTMStateTuple(cells[-1], outputs[-1])
        else:
            at = array.stack([sequence_length, range_(batch)], axis=1)  # a sequence of length 0 ends where it begins
            state = LSTMStateTuple(*(gather_nd(array.concat([first[None], rows], 0), at)
                                     for first, rows in ((cell, cells), (hidden, outputs))))
            given = array.transpose(sequence_mask(sequence_length, time, dtype=inputs.dtype))
            outputs = outputs * given[:, :, None]
        return outputs, state


def block_lstm(seq_len_max, x, w, b, cs_prev=None, h_prev=None, wci=None, wcf=None, wco=None, forget_bias=None, cell_clip=None,
               use_peephole=None, name=None):
    """Returns i, cs, f, o, ci, co and h of an LSTM over a list of inputs, each a list as long: BlockLSTM by lists.

    Args:
      seq_len_max: how many steps to make, an int64 scalar.
      x: list of [batch, inputs].
      w, b: weights [inputs + units, 4 * units] and bias [4 * units].
      cs_prev, h_prev: the first state; zeros by default.
      wci, wcf, wco: what gates see of the cell, with `use_peephole`; zeros by default.
      forget_bias, cell_clip: 1 and no clip by default.

    Raises:
      ValueError: the size of the inputs or of the bias is not known.
    """
    x, w, b = [convert_to_tensor(t) for t in x], convert_to_tensor(w), convert_to_tensor(b)
    size = None if x[0].dims is None else x[0].dims[1]
    if size is None or w.dims is None or b.dims is None or None in (*w.dims, *b.dims):
        raise ValueError("block_lstm: the sizes of inputs, weights and bias must be known, got "
                         f"{x[0].shape}, {w.shape} and {b.shape}.")
    units = b.dims[0] // 4
    zeros = array.zeros(array.stack([array.shape(x[0])[0], units]), x[0].dtype)
    none = array.zeros([units], x[0].dtype)
    first = [zeros if state is None else state for state in (cs_prev, h_prev)]
    diagonals = [none if v is None else v for v in (wci, wcf, wco)]
    out = blocklstm_op(seq_len_max, array.stack(x), *first, w, *diagonals, b, name=name,
                       forget_bias=1.0 if forget_bias is None else float(forget_bias),
                       cell_clip=-1.0 if cell_clip is None else float(cell_clip), use_peephole=bool(use_peephole))
    return tuple(array.unstack(t, num=len(x)) for t in out)
