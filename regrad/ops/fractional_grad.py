"""Gradient rules for `fractional.py`: the regions drawn are constant; max selects, mean is linear."""

from regrad.core.dtypes import int64
from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import fractional
from regrad.ops.array import shape, zeros_like


def _overlapping(op):
    return {"overlapping": op.attrs["overlapping"]}


@RegisterGradient("FractionalMaxPool")
def _max_grad(op, dy, *_):
    y, rows, columns = op.outputs
    return fractional.fractionalmaxpoolgrad_op(op.inputs[0], y, dy, rows, columns, **_overlapping(op))


@RegisterGradient("FractionalMaxPoolGrad")
def _max_grad_grad(op, g):
    x, y, _, rows, columns = op.inputs
    dy = fractional.fractionalmaxpoolgradgrad_op(x, g, rows, columns, **_overlapping(op))
    return zeros_like(x), zeros_like(y), dy, None, None


@RegisterGradient("FractionalMaxPoolGradGrad")
def _max_grad_grad_grad(op, g):
    x, _, rows, columns = op.inputs
    dx = fractional.fractionalmaxpoolgrad_op(x, op.outputs[0], g, rows, columns, **_overlapping(op))
    return zeros_like(x), dx, None, None


@RegisterGradient("FractionalAvgPool")
def _avg_grad(op, dy, *_):
    _, rows, columns = op.outputs
    return fractional.fractionalavgpoolgrad_op(shape(op.inputs[0], out_type=int64), dy, rows, columns,
                                               **_overlapping(op))


@RegisterGradient("FractionalAvgPoolGrad")
def _avg_grad_grad(op, g):
    _, _, rows, columns = op.inputs
    return None, fractional.fractionalavgpoolgiven_op(g, rows, columns, **_overlapping(op)), None, None


@RegisterGradient("FractionalAvgPoolGiven")
def _given_grad(op, g):
    x, rows, columns = op.inputs
    dx = fractional.fractionalavgpoolgrad_op(shape(x, out_type=int64), g, rows, columns, **_overlapping(op))
    return dx, None, None
