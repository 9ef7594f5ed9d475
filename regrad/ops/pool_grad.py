"""Gradient rules for `pool.py`. Max-pooling selects, so its gradient and the gradient's gradient are
transposes of each other; the selection itself is constant almost everywhere.
"""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import pool
from regrad.ops.array import shape, zeros_like


def _attrs(op):
    return {name: op.attrs[name] for name in op.opdef.attrs}


def _selecting(op_types, grad, gradgrad):
    forward, back, on = op_types

    @RegisterGradient(forward)
    def pool_grad(op, dy):
        return grad(op.inputs[0], op.outputs[0], dy, **_attrs(op))

    @RegisterGradient(back)
    def pool_grad_grad(op, g):
        x, y, _ = op.inputs
        return zeros_like(x), zeros_like(y), gradgrad(x, y, g, **_attrs(op))

    @RegisterGradient(on)
    def pool_grad_grad_grad(op, g):
        x, y, _ = op.inputs
        return zeros_like(x), zeros_like(y), grad(x, y, g, **_attrs(op))


_selecting(("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"), pool.maxpoolgrad_op, pool.maxpoolgradgrad_op)
_selecting(("MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad"), pool.maxpool3dgrad_op,
           pool.maxpool3dgradgrad_op)


@RegisterGradient("MaxPoolV2")
def _maxpoolv2_grad(op, dy):
    x, ksize, strides = op.inputs
    return pool.maxpoolgradv2_op(x, op.outputs[0], dy, ksize, strides, **_attrs(op)), None, None


@RegisterGradient("MaxPoolGradV2")
def _maxpoolgradv2_grad(op, g):
    x, y, _, ksize, strides = op.inputs
    return zeros_like(x), zeros_like(y), pool.maxpoolgradgradv2_op(x, y, g, ksize, strides,
                                                                   **_attrs(op)), None, None


@RegisterGradient("MaxPoolGradGradV2")
def _maxpoolgradgradv2_grad(op, g):
    x, y, _, ksize, strides = op.inputs
    return zeros_like(x), zeros_like(y), pool.maxpoolgradv2_op(x, y, g, ksize, strides,
                                                               **_attrs(op)), None, None


@RegisterGradient("MaxPoolWithArgmax")
def _maxpoolargmax_grad(op, dy, _):
    return pool.maxpoolargmaxgrad_op(op.inputs[0], dy, op.outputs[1], **_attrs(op))


@RegisterGradient("MaxPoolGradWithArgmax")
def _maxpoolargmaxgrad_grad(op, g):
    x, _, argmax = op.inputs
    return zeros_like(x), pool.maxpoolargmaxgradgrad_op(x, g, argmax, **_attrs(op)), None


@RegisterGradient("MaxPoolGradGradWithArgmax")
def _maxpoolargmaxgradgrad_grad(op, g):
    x, _, argmax = op.inputs
    return zeros_like(x), pool.maxpoolargmaxgrad_op(x, g, argmax, **_attrs(op)), None


# -- means: linear, each the transpose of the other ----------------------------------------------------
@RegisterGradient("AvgPool")
def _avgpool_grad(op, dy):
    return pool.avgpoolgrad_op(shape(op.inputs[0]), dy, **_attrs(op))


@RegisterGradient("AvgPoolGrad")
def _avgpoolgrad_grad(op, g):
    return None, pool.avgpool_op(g, **_attrs(op))


@RegisterGradient("AvgPool3D")
def _avgpool3d_grad(op, dy):
    return pool.avgpool3dgrad_op(shape(op.inputs[0]), dy, **_attrs(op))


@RegisterGradient("AvgPool3DGrad")
def _avgpool3dgrad_grad(op, g):
    return None, pool.avgpool3d_op(g, **_attrs(op))
