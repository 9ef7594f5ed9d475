"""An LSTM over a whole sequence, or one step of it, as one operation. Gradients: `block_lstm_grad.py`.

With [x, h] w + b cut into the gates i, ci, f, o (Hochreiter and Schmidhuber 1997; peepholes as Gers and Schmidhuber 2000):

    i = sigmoid(i + wci c'), f = sigmoid(f + forget_bias + wcf c'), ci = tanh(ci)
    c = clip(ci i + c' f), o = sigmoid(o + wco c), co = tanh(c), h = co o

where c' is the cell before. The gradient passes the clip unchanged, as in TF.
"""

from regrad.core.dtypes import FLOATING
from regrad.core.errors import ShapeError
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import merge

_TYPES = {"T": FLOATING}
OUTPUTS = ("i", "cs", "f", "o", "ci", "co", "h")


def _check(x, cs, h, w, peepholes, bias, time):
    rank_is(x, 2 + time, "x [time, batch, inputs]" if time else "x [batch, inputs]")
    for what, t, rank in (("cs_prev", cs, 2), ("h_prev", h, 2), ("w", w, 2), ("b", bias, 1),
                          *((f"wc{c}", t, 1) for c, t in zip("ifo", peepholes))):
        rank_is(t, rank, what)
    batch, cells = merge(cs.dims, h.dims, "cs_prev and h_prev have one shape;") or (None, None)
    (batch,) = merge((batch,), None if x.dims is None else x.dims[time:time + 1], "x and h_prev have one batch size;")
    if cells is not None and bias.dims not in (None, (None,), (4 * cells,)):
        raise ShapeError(f"b must hold 4 numbers for each of {cells} cells, got {spec_text(bias)}")
    if w.dims is not None and None not in w.dims and x.dims is not None and None not in (cells, x.dims[-1]) \
            and w.dims != (x.dims[-1] + cells, 4 * cells):
        raise ShapeError(f"w must be [inputs + cells, 4 cells] = {[x.dims[-1] + cells, 4 * cells]}, got {spec_text(w)}")
    return batch, cells


def _step(b, x, c, h, w, wci, wcf, wco, bias, *, forget_bias, cell_clip, use_peephole, order):
    """Returns the seven outputs of one step."""
    def sigmoid(v):
        one = v.dtype.type(1)
        return one / (one + b.np.exp(-v))

    gates = dict(zip(order, b.np.split(b.np.concatenate([x, h], 1) @ w + bias, 4, axis=1)))
    i, f, o = gates["i"], gates["f"] + x.dtype.type(forget_bias), gates["o"]
    i, f = (sigmoid(v + weights * c if use_peephole else v) for v, weights in ((i, wci), (f, wcf)))
    ci = b.np.tanh(gates["c"])
    c = ci * i + c * f
    if cell_clip > 0:
        c = c + b.stop_gradient(b.np.clip(c, -x.dtype.type(cell_clip), x.dtype.type(cell_clip)) - c)
    o = sigmoid(o + wco * c if use_peephole else o)
    co = b.np.tanh(c)
    return i, c, f, o, ci, co, co * o


def _sequence_infer(seq_len_max, x, cs, h, w, wci, wcf, wco, bias, **attrs):
    rank_is(seq_len_max, 0, "seq_len_max")
    batch, cells = _check(x, cs, h, w, (wci, wcf, wco), bias, 1)
    return [Spec((None if x.dims is None else x.dims[0], batch, cells), x.dtype)] * len(OUTPUTS)


def _sequence_lower(order):
    def lower(b, seq_len_max, x, cs, h, *weights, forget_bias=0.0, cell_clip, use_peephole):
        def step(state, row):
            out = _step(b, row, *state, *weights, forget_bias=forget_bias, cell_clip=cell_clip, use_peephole=use_peephole,
                        order=order)
            return (out[1], out[-1]), out

        _, outs = b.lax.scan(step, (cs, h), x)
        given = (b.np.arange(x.shape[0]) < seq_len_max)[:, None, None]
        return tuple(b.np.where(given, t, t.dtype.type(0)) for t in outs)

    return lower


_INPUTS = "x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
blocklstm_op = define_op(
    "BlockLSTM", f"seq_len_max: int64, {_INPUTS}", types=_TYPES, xla_only=True, single=False, infer=_sequence_infer,
    lower=_sequence_lower("icfo"), attrs={"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False})
blocklstmv2_op = define_op(
    "BlockLSTMV2", f"seq_len_max: int64, {_INPUTS}", types=_TYPES, xla_only=True, single=False, infer=_sequence_infer,
    lower=_sequence_lower("ifco"), attrs={"cell_clip": 0.0, "use_peephole": False})


def _cell_infer(x, cs, h, w, wci, wcf, wco, bias, **attrs):
    return [Spec(_check(x, cs, h, w, (wci, wcf, wco), bias, 0), x.dtype)] * len(OUTPUTS)


lstmblockcell_op = define_op(
    "LSTMBlockCell", _INPUTS, types=_TYPES, single=False, infer=_cell_infer,
    attrs={"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False},
    lower=lambda b, x, c, h, *weights, **attrs: _step(b, x, c, h, *weights, order="icfo", **attrs))
