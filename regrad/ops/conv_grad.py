"""Gradient rules for `conv.py`. A convolution y = x * w is bilinear, and so are its two transposes; each of
the three has the other two as its derivatives.
"""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import conv
from regrad.ops.array import shape, zeros_like


def _bilinear(forward, by_input, by_filter, op_types):
    def attrs(op):
        return {name: op.attrs[name] for name in forward.attrs}

    @RegisterGradient(op_types[0])
    def conv_grad(op, dy):
        x, w = op.inputs
        return by_input(shape(x), w, dy, **attrs(op)), by_filter(x, shape(w), dy, **attrs(op))

    @RegisterGradient(op_types[1])
    def input_grad(op, g):
        _, w, dy = op.inputs
        return None, by_filter(g, shape(w), dy, **attrs(op)), forward(g, w, **attrs(op))

    @RegisterGradient(op_types[2])
    def filter_grad(op, g):
        x, _, dy = op.inputs
        return by_input(shape(x), g, dy, **attrs(op)), None, forward(x, g, **attrs(op))


_bilinear(conv.conv2d_op, conv.conv2dinput_op, conv.conv2dfilter_op,
          ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"))
_bilinear(conv.conv3d_op, conv.conv3dinput_op, conv.conv3dfilter_op,
          ("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"))
_bilinear(conv.depthwise_op, conv.depthwiseinput_op, conv.depthwisefilter_op,
          ("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput",
           "DepthwiseConv2dNativeBackpropFilter"))


# -- Dilation2D: each window passes its gradient to one input element and to one filter tap ----------
def _dilation(op):
    return {name: op.attrs[name] for name in conv.dilation2d_op.attrs}


@RegisterGradient("Dilation2D")
def _dilation2d_grad(op, dy):
    x, w = op.inputs
    return conv.dilation2dinput_op(x, w, dy,
                                   **_dilation(op)), conv.dilation2dfilter_op(x, w, dy, **_dilation(op))


@RegisterGradient("Dilation2DBackpropInput")
def _dilation2dinput_grad(op, g):
    x, w, _ = op.inputs
    return zeros_like(x), zeros_like(w), conv.dilation2dchange_op(x, w, g, zeros_like(w), **_dilation(op))


@RegisterGradient("Dilation2DBackpropFilter")
def _dilation2dfilter_grad(op, g):
    x, w, _ = op.inputs
    return zeros_like(x), zeros_like(w), conv.dilation2dchange_op(x, w, zeros_like(x), g, **_dilation(op))


@RegisterGradient("Dilation2DGradGrad")
def _dilation2dchange_grad(op, g):
    x, w, _, _ = op.inputs
    return (zeros_like(x), zeros_like(w), conv.dilation2dinput_op(x, w, g, **_dilation(op)),
            conv.dilation2dfilter_op(x, w, g, **_dilation(op)))
