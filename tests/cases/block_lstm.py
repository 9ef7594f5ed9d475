"""Rows for `regrad/ops/block_lstm.py`."""

import numpy as np

from regrad.core.errors import ShapeError
from regrad.ops import block_lstm
from tests.cases import Bad, Case

SHAPES = ((3, 2, 2), (2, 3), (2, 3), (5, 12), (3,), (3,), (3,), (12,))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(x, c, h, w, wci, wcf, wco, b, *, order, forget_bias, cell_clip, use_peephole):
    gates = dict(zip(order, np.split(np.concatenate([x, h], 1) @ w + b, 4, axis=1)))
    sees = c if use_peephole else 0 * c
    i, f = sigmoid(gates["i"] + wci * sees), sigmoid(gates["f"] + forget_bias + wcf * sees)
    ci = np.tanh(gates["c"])
    c = ci * i + c * f
    c = np.clip(c, -cell_clip, cell_clip) if cell_clip > 0 else c
    o = sigmoid(gates["o"] + wco * (c if use_peephole else 0 * c))
    return i, c, f, o, ci, np.tanh(c), np.tanh(c) * o


def sequence(x, c, h, *weights, order="icfo", length=3, forget_bias=1.0, cell_clip=3.0, use_peephole=False):
    outs = []
    for t, row in enumerate(x):
        out = step(row, c, h, *weights, order=order, forget_bias=forget_bias, cell_clip=cell_clip, use_peephole=use_peephole)
        c, h = out[1], out[6]
        outs.append(out if t < length else [0 * v for v in out])
    return tuple(np.stack(v) for v in zip(*outs))


def _run(op, length=3, **attrs):
    return lambda *t: op(np.int64(length), *t, **attrs)


ARRAYS = tuple(np.random.RandomState(i).uniform(-1, 1, s) for i, s in enumerate(SHAPES))
ONE = (ARRAYS[0][0], *ARRAYS[1:])


def _cell(*t, **attrs):
    return step(*t, order="icfo", **{"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False, **attrs})


CASES = [
    *(Case("BlockLSTM", _run(block_lstm.blocklstm_op, length, **attrs),
           lambda *t, n=length, a=attrs: sequence(*t, length=n, **a), ARRAYS, note=note,
           derivatives=note != "clip")
      for note, length, attrs in (("plain", 3, {}), ("shorter", 2, {}), ("peephole", 3, {"use_peephole": True}),
                                  ("clip", 3, {"cell_clip": 0.3, "forget_bias": 0.5}), ("no clip", 3, {"cell_clip": 0.0}))),
    Case("BlockLSTMV2", _run(block_lstm.blocklstmv2_op, use_peephole=True),
         lambda *t: sequence(*t, order="ifco", forget_bias=0.0, cell_clip=0.0, use_peephole=True), ARRAYS),
    *(Case("LSTMBlockCell", lambda *t, a=attrs: block_lstm.lstmblockcell_op(*t, **a), lambda *t, a=attrs: _cell(*t, **a), ONE,
           note=str(sorted(attrs)), derivatives=not attrs) for attrs in ({}, {"use_peephole": True, "cell_clip": 0.2})),
    Bad("BlockLSTM", lambda: _run(block_lstm.blocklstm_op)(*ARRAYS[:3], np.ones((6, 12)), *ARRAYS[4:]), ShapeError,
        "w must be"),
    Bad("LSTMBlockCell", lambda: block_lstm.lstmblockcell_op(*ONE[:7], np.ones(11)), ShapeError, "b must hold 4"),
]
