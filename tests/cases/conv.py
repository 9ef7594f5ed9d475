"""Rows for `regrad/ops/conv.py`. The reference computes a convolution from its definition, one window at a
time.
"""

import itertools

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import ShapeError
from regrad.ops import conv
from regrad.ops.array import placeholder
from tests.cases import Bad, Case, Edge


def _many(value, n):
    """Returns one int per spatial axis from what TF accepts for `strides` and `dilations`, channels last."""
    value = np.ravel(value)
    if len(value) == 1:
        return [int(value[0])] * n
    return [int(v) for v in (value if len(value) == n else value[1:-1])]


def _pads(size, k, stride, dilation, padding, explicit):
    if padding == "VALID":
        return 0, 0
    if padding != "SAME":
        return explicit
    out = -(-size // stride)
    total = max((out - 1) * stride + (k - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def windows(x, kernel, strides, padding, dilations, fill=0.0):
    """Yields (output position, the window's elements [batch, *kernel, channels]) of a channels-last array."""
    n = len(kernel)
    pads = [_pads(x.shape[i + 1], kernel[i], strides[i], dilations[i], padding,
                  None if isinstance(padding, str) else padding[i + 1])
            for i in range(n)]
    x = np.pad(x, [(0, 0), *pads, (0, 0)], constant_values=fill)
    outs = [(x.shape[i + 1] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(n)]
    for at in itertools.product(*map(range, outs)):
        index = tuple(slice(a * s, a * s + (k - 1) * d + 1, d) for a, s, k,
                      d in zip(at, strides, kernel, dilations))
        yield outs, at, x[(slice(None), *index)]


def ref_conv(x, w, strides=1, padding="SAME", data_format=None, dilations=1, **_):
    n = w.ndim - 2
    first = data_format is not None and data_format.startswith("NC")
    if first:
        x = np.moveaxis(x, 1, -1)
        strides, dilations = ([v[0], *v[2:],
                               v[1]] if np.ndim(v) and len(v) == n + 2 else v for v in (strides, dilations))
        if not isinstance(padding, str):
            padding = [padding[0], *padding[2:], padding[1]]
    y = None
    groups = x.shape[-1] // w.shape[-2]
    per = w.shape[-1] // groups
    for outs, at, window in windows(x, w.shape[:-2], _many(strides, n), padding, _many(dilations, n)):
        if y is None:
            y = np.zeros((x.shape[0], *outs, w.shape[-1]))
        for g in range(groups):
            part = window[..., g * w.shape[-2]:(g + 1) * w.shape[-2]]
            y[(slice(None), *at, slice(g * per,
                                       (g + 1) * per))] = np.tensordot(part, w[..., g * per:(g + 1) * per],
                                                                       n + 1)
    return np.moveaxis(y, -1, 1) if first else y


def _transpose(f, shape, dy):
    """Returns the transpose of a linear function, from its matrix."""
    columns = []
    for i in range(int(np.prod(shape))):
        e = np.zeros(int(np.prod(shape)))
        e[i] = 1
        columns.append(np.sum(f(e.reshape(shape)) * dy))
    return np.array(columns).reshape(shape)


def ref_input(w, dy, sizes, **kwargs):
    return _transpose(lambda x: ref_conv(x, w, **kwargs), sizes, dy)


def ref_filter(x, dy, sizes, **kwargs):
    return _transpose(lambda w: ref_conv(x, w, **kwargs), sizes, dy)


def ref_depthwise(x, w, strides, padding, rate=None, data_format=None, dilations=1, **_):
    h, k, c, m = w.shape
    wide = np.zeros((h, k, c, c * m))
    for i in range(c):
        wide[:, :, i, i * m:(i + 1) * m] = w[:, :, i]
    return ref_conv(x, wide, strides, padding, data_format, dilations if rate is None else rate)


def ref_dilation(x, w, strides, rates, padding):
    y = None
    for outs, at, window in windows(x, w.shape[:2], strides[1:3], padding, rates[1:3], -np.inf):
        y = np.zeros((x.shape[0], *outs, x.shape[3])) if y is None else y
        y[(slice(None), *at)] = np.max(window + w, axis=(1, 2))
    return y


def _conv2d(x, w, strides=1, padding="SAME", **kwargs):
    return conv.conv2d(x, w, strides, padding, **kwargs)


def _backprop_input(w, dy, sizes, strides=1, padding="SAME", **kwargs):
    return conv.conv2d_backprop_input(sizes, w, dy, strides, padding, **kwargs)


def _backprop_filter(x, dy, sizes, strides=1, padding="SAME", **kwargs):
    return conv.conv2d_backprop_filter(x, sizes, dy, strides, padding, **kwargs)


def _case2d(x, w, note, order=1, unknown=False, **kwargs):
    """Returns a row about one geometry; few of them need all orders and all kinds of unknown shapes."""
    return Case("Conv2D", _conv2d, ref_conv, (x, w), kwargs, order=order, unknown=unknown, note=note)


E3 = [[0, 0], [1, 2], [0, 1], [0, 0]]

CASES = [
    Case("Conv2D", _conv2d, ref_conv, ((2, 5, 4, 3), (3, 2, 3, 4)), order=3, dtypes=("float16", "float32")),
    _case2d((1, 5, 6, 2), (3, 3, 2, 3), "valid", unknown=True, padding="VALID"),
    _case2d((2, 6, 5, 1), (3, 3, 1, 4), "one channel"),
    _case2d((2, 7, 6, 1), (3, 2, 1, 4), "one channel, strides", 2, strides=[1, 2, 2, 1], padding="VALID"),
    _case2d((2, 4, 4, 3), (1, 1, 3, 5), "1x1"),
    _case2d((2, 5, 5, 3), (1, 1, 3, 2), "1x1, strides", strides=2),
    _case2d((2, 7, 8, 2), (3, 3, 2, 3), "strides", strides=[1, 2, 3, 1]),
    _case2d((2, 7, 8, 2), (2, 3, 2, 3), "strides valid", unknown=True, strides=[2, 3], padding="VALID"),
    _case2d((1, 8, 9, 2), (3, 2, 2, 3), "dilations", 2, dilations=[1, 2, 3, 1]),
    _case2d((1, 8, 9, 2), (2, 2, 2, 3), "dilations valid", dilations=2, padding="VALID"),
    _case2d((1, 6, 5, 2), (3, 2, 2, 3), "explicit", unknown=True, padding=E3),
    _case2d((1, 6, 5, 2), (3, 2, 2, 3), "explicit, strides", 2, padding=E3, strides=2),
    _case2d((1, 2, 5, 6), (3, 2, 2, 3), "NCHW", data_format="NCHW"),
    _case2d((1, 2, 6, 5), (3, 2, 2, 3), "NCHW, all", 2, unknown=True, data_format="NCHW", strides=[1, 1, 2, 1],
            dilations=[1, 1, 1, 2]),
    _case2d((1, 2, 6, 5), (3, 2, 2, 3), "NCHW, explicit", data_format="NCHW",
            padding=[[0, 0], [0, 0], [1, 2], [0, 1]]),
    _case2d((2, 4, 4, 4), (2, 2, 2, 6), "groups", 2, unknown=True),
    _case2d((2, 3, 3, 2), (5, 5, 2, 3), "window larger than the image"),
    # Large enough for XLA's own convolution in all three products.
    _case2d((2, 23, 24, 5), (3, 2, 5, 2), "large"),
    _case2d((2, 24, 47, 5), (3, 2, 5, 2), "large, strides", 2, strides=[1, 2], padding="VALID"),
    _case2d((2, 5, 23, 24), (3, 2, 5, 2), "large NCHW", data_format="NCHW", dilations=[2, 1]),
    _case2d((1, 7, 8, 1), (6, 6, 1, 2), "many taps"),
    _case2d((0, 4, 4, 2), (3, 3, 2, 3), "no image"),
    Case("Conv2DBackpropInput", _backprop_input, ref_input, ((3, 2, 2, 3), (2, 3, 4, 3)),
         {"sizes": [2, 5, 4, 2], "strides": [1, 2, 1, 1]}, order=3),
    Case("Conv2DBackpropInput", _backprop_input, ref_input, ((3, 2, 2, 3), (1, 2, 2, 3)),
         {"sizes": [1, 6, 4, 2], "strides": 2, "padding": "VALID"}, note="unused rows"),
    Case("Conv2DBackpropInput", _backprop_input, ref_input, ((2, 2, 2, 3), (1, 3, 4, 3)),
         {"sizes": [1, 5, 6, 2], "padding": "VALID", "dilations": 2}, note="dilations"),
    Case("Conv2DBackpropFilter", _backprop_filter, ref_filter, ((2, 5, 4, 2), (2, 3, 4, 3)),
         {"sizes": [3, 2, 2, 3], "strides": [1, 2, 1, 1]}, order=3),
    Case("Conv2DBackpropFilter", _backprop_filter, ref_filter, ((2, 6, 5, 1), (2, 6, 5, 3)),
         {"sizes": [3, 3, 1, 3]},
         note="one channel"),
    Case("Conv2DBackpropFilter", _backprop_filter, ref_filter, ((1, 6, 5, 2), (1, 7, 5, 3)),
         {"sizes": [3, 2, 2, 3], "padding": E3}, note="explicit"),
    Case("Conv2DBackpropInput", lambda x, w: conv.conv2d_transpose(x, w, [2, 6, 8, 2], [1, 2, 2, 1]),
         lambda x, w: ref_input(w, x, (2, 6, 8, 2), strides=2), ((2, 3, 4, 3), (3, 3, 2, 3)),
         note="transpose"),
    Case("Conv2DBackpropInput", lambda x, w: conv.conv2d_transpose(x, w, [1, 2, 6, 8], 2, data_format="NCHW"),
         lambda x, w: ref_input(w, x, (1, 2, 6, 8), strides=2, data_format="NCHW"),
         ((1, 3, 3, 4), (2, 3, 2, 3)), note="transpose NCHW"),
    Case("Conv2D", lambda x, w: conv.atrous_conv2d(x, w, 2, "SAME"), lambda x, w: ref_conv(x, w, dilations=2),
         ((1, 5, 6, 2), (3, 2, 2, 2)), note="atrous"),
    Case("Conv2DBackpropInput", lambda x, w: conv.atrous_conv2d_transpose(x, w, [1, 5, 6, 2], 2, "SAME"),
         lambda x, w: ref_input(w, x, (1, 5, 6, 2), dilations=2), ((1, 5, 6, 3), (3, 2, 2, 3)),
         note="atrous transpose"),
    Case("Conv2D", lambda x, w, **k: conv.conv1d(x, w, **k), lambda x, w, stride,
         padding: ref_conv(x, w, stride, padding), ((2, 7, 3), (3, 3, 2)), {"stride": 2, "padding": "VALID"},
         unknown=False, note="1-D"),
    Case("Conv2D", lambda x, w: conv.conv1d(x, w, 1, "SAME", data_format="NCW", dilations=2),
         lambda x, w: ref_conv(x, w, 1, "SAME", "NCW", 2), ((2, 3, 7), (3, 3, 2)), unknown=False,
         note="1-D NCW"),
    Case("Conv2DBackpropInput", lambda x, w: conv.conv1d_transpose(x, w, [2, 8, 2], 2),
         lambda x, w: ref_input(w, x, (2, 8, 2), strides=2), ((2, 4, 3), (3, 2, 3)), unknown=False,
         note="1-D transpose"),
    Case("Conv2D", lambda x, w: conv.convolution(x, w, "VALID", strides=[2, 1]),
         lambda x, w: ref_conv(x, w, [2, 1], "VALID"), ((1, 5, 5, 2), (2, 3, 2, 3)), unknown=False,
         note="convolution"),
    Case("Conv3D", lambda x, w: conv.convolution(x, w, "SAME", dilation_rate=[1, 2, 1]),
         lambda x, w: ref_conv(x, w, dilations=[1, 2, 1]), ((1, 3, 4, 3, 2), (2, 2, 2, 2, 2)), unknown=False,
         note="convolution"),

    # -- 3-D
    Case("Conv3D", lambda x, w, **k: conv.conv3d(x, w, 1, "SAME", **k), ref_conv,
         ((1, 3, 4, 3, 2), (2, 3, 2, 2, 3))),
    Case("Conv3D", lambda x, w: conv.conv3d(x, w, [1, 2, 1, 2, 1], "VALID"), lambda x,
         w: ref_conv(x, w, [2, 1, 2], "VALID"),
         ((1, 4, 3, 5, 2), (2, 2, 3, 2, 2)), note="strides valid"),
    Case("Conv3D", lambda x, w: conv.conv3d(x, w, 1, "SAME", "NCDHW"), lambda x,
         w: ref_conv(x, w, data_format="NCDHW"),
         ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2)), note="NCDHW"),
    Case("Conv3DBackpropInputV2", lambda x, w: conv.conv3d_transpose(x, w, [1, 4, 4, 5, 2], [1, 2, 2, 2, 1]),
         lambda x, w: ref_input(w, x, (1, 4, 4, 5, 2), strides=2), ((1, 2, 2, 3, 2), (2, 2, 3, 2, 2))),
    Case("Conv3DBackpropFilterV2", lambda x,
         dy: conv.conv3d_backprop_filter_v2(x, [2, 2, 2, 2, 2], dy, 1, "SAME"),
         lambda x, dy: ref_filter(x, dy, (2, 2, 2, 2, 2)), ((1, 3, 3, 2, 2), (1, 3, 3, 2, 2))),

    # -- depthwise
    Case("DepthwiseConv2dNative", conv.depthwise_conv2d, ref_depthwise, ((2, 5, 4, 3), (3, 2, 3, 2)),
         {"strides": [1, 1, 1, 1], "padding": "SAME"}, order=3, dtypes=("float16", "float32")),
    Case("DepthwiseConv2dNative", conv.depthwise_conv2d, ref_depthwise, ((1, 7, 6, 2), (3, 2, 2, 1)),
         {"strides": [1, 2, 2, 1], "padding": "VALID"}, note="strides valid"),
    Case("DepthwiseConv2dNative", conv.depthwise_conv2d, ref_depthwise, ((1, 7, 6, 2), (3, 2, 2, 1)),
         {"strides": [1, 1, 1, 1], "padding": "SAME", "rate": [2, 3]}, note="rate"),
    Case("DepthwiseConv2dNative", conv.depthwise_conv2d_native, ref_depthwise, ((1, 2, 5, 4), (3, 2, 2, 2)),
         {"strides": 2, "padding": "SAME", "data_format": "NCHW"}, note="NCHW"),
    Case("DepthwiseConv2dNativeBackpropInput",
         lambda w, dy: conv.depthwise_conv2d_native_backprop_input([1, 5, 4, 2], w, dy, [1, 2, 2, 1], "SAME"),
         lambda w, dy: _transpose(lambda x: ref_depthwise(x, w, 2, "SAME"), (1, 5, 4, 2), dy),
         ((3, 2, 2, 2), (1, 3, 2, 4))),
    Case("DepthwiseConv2dNativeBackpropFilter",
         lambda x, dy: conv.depthwise_conv2d_native_backprop_filter(x, [3, 2, 2, 2], dy, [1, 1, 1, 1],
                                                                    "VALID"),
         lambda x, dy: _transpose(lambda w: ref_depthwise(x, w, 1, "VALID"), (3, 2, 2, 2), dy),
         ((1, 5, 4, 2), (1, 3, 3, 4))),
    Case("Conv2D", lambda x, d, p: conv.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME"),
         lambda x, d, p: ref_conv(ref_depthwise(x, d, 1, "SAME"), p),
         ((1, 4, 4, 2), (2, 2, 2, 2), (1, 1, 4, 3)), note="separable"),

    # -- dilation
    Case("Dilation2D", conv.dilation2d, ref_dilation, ((2, 5, 4, 2), (3, 2, 2)),
         {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}),
    Case("Dilation2D", conv.dilation2d, ref_dilation, ((1, 7, 6, 2), (2, 2, 2)),
         {"strides": [1, 2, 1, 1], "rates": [1, 2, 2, 1], "padding": "VALID"}, order=3,
         note="strides and rates"),
    Case("Dilation2D", conv.erosion2d, lambda x, w, **k: -ref_dilation(-x, w[::-1, ::-1], **k),
         ((1, 4, 4, 2), (2, 3, 2)), {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
         note="erosion"),
    Edge("Dilation2D", lambda x, w: conv.dilation2d(x, w, 1, 1, "VALID"),
         (np.ones((1, 2, 2, 1)), np.zeros((2, 2, 1))),
         ([[[[1.0], [0.0]], [[0.0], [0.0]]]], [[[1.0], [0.0]], [[0.0], [0.0]]]), note="ties"),
]
for _name in ("Dilation2DBackpropInput", "Dilation2DBackpropFilter", "Dilation2DGradGrad"):
    CASES.append(Case(_name, getattr(conv, {"I": "dilation2dinput_op", "F": "dilation2dfilter_op",
                                            "G": "dilation2dchange_op"}[
        _name.replace("Dilation2DBackprop", "").replace("Dilation2D", "")[0]]), None,
        ((1, 4, 4, 2), (2, 2, 2), (1, 4, 4, 2), *(((2, 2, 2),) if _name.endswith("GradGrad") else ())),
        {"strides": (1, 1, 1, 1), "rates": (1, 1, 1, 1), "padding": "SAME"}, jax=False))


def _x(*dims):
    return placeholder(dtypes.float32, list(dims))


CASES += [
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4), _x(2, 2, 1, 1), 1, "SAME"), ShapeError,
        "must be rank 4 but is rank 3"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 2, 1), 1, "SAME"), ShapeError,
        r"input depth 3 is no multiple.*float32\[1,4,4,3\].*float32\[2,2,2,1\]"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 4), _x(2, 2, 2, 3), 1, "SAME"), ShapeError,
        "multiple of the 2 groups"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 2, 4, 3), _x(3, 3, 3, 1), 1, "VALID"), ShapeError,
        "Negative dimension.*3 from 2"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 1, "HALF"), ValueError,
        "padding must be 'SAME'"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 1), ValueError,
        "padding must be given"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), None, "SAME"), ValueError,
        "strides must be given"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), [2, 1, 1, 1], "SAME"), ValueError,
        "batch and depth"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), [1, 1, 1], "SAME"), ValueError,
        "strides should be of length"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 0, "SAME"), ValueError, "must be positive"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 1, [[0, 0], [1, 1], [1, 1], [1, 0]]),
        ValueError, "channel axes"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 1, [[0, 0], [1, 1]]), ValueError,
        "list of 4 pairs"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), _x(2, 2, 3, 1), 1, "SAME", data_format="HWNC"),
        ValueError, "data_format"),
    Bad("Conv2D", lambda: conv.conv2d(_x(1, 4, 4, 3), placeholder(dtypes.float64, [2, 2, 3, 1]), 1, "SAME"),
        TypeError, "float64"),
    Bad("Conv2DBackpropInput", lambda: conv.conv2d_transpose(_x(1, 3, 3, 1), _x(2, 2, 1, 1), [1, 7, 6, 1], 2),
        ShapeError, r"out_backprop is float32\[1,3,3,1\].*\[1,4,3,1\]"),
    Bad("Conv2DBackpropInput", lambda: conv.conv2d_transpose(_x(1, 3, 3, 1), _x(2, 2, 1, 1), [1, 6, 6], 2),
        ShapeError, r"must have shape \(4,\)"),
    Bad("DepthwiseConv2dNative", lambda: conv.depthwise_conv2d(_x(1, 4, 4, 3), _x(2, 2, 2, 1), 1, "SAME"),
        ShapeError, "3 channels"),
    Bad("Dilation2D", lambda: conv.dilation2d(_x(1, 4, 4, 3), _x(2, 2, 2), 1, 1, "SAME"), ShapeError,
        "3 channels"),
    Bad("Conv2D", lambda: conv.convolution(_x(1, 4, 4, 3), _x(2, 2, 3, 1), "SAME", strides=2,
                                           dilation_rate=2), ValueError, "strides > 1"),
]
