"""Convolutions by Winograd's method (`winograd.c`), with a quarter to a third of the definition's multiplications.

They serve square filters of 2 to 5 numbers a side, or as many for each place that they move by, where enough channels meet;
everything is float32. Rounding errors are near those of the definition, but a number that is not finite makes all results of
its tiles NaN, up to five places from it, where the definition has an infinity and only next to it. Building the C file is
optional (pyproject.toml); without it oneDNN or XLA computes the definition.
"""

import ctypes
import math

import numpy as np

from regrad.runtime import config, foreign, native
from regrad.runtime.onednn import BY_FILTER, BY_INPUT, FORWARD

TARGET, _ON_HOST = "regrad_winograd", "regrad_winograd_on_host"
_KINDS = {FORWARD: 0, BY_INPUT: 1, BY_FILTER: 2}  # as in winograd.c
_SIDE = 6  # of a tile, which gives results of one less the filter's side less
_LEAST = 300_000  # products of numbers in the definition that are worth a call
# How many products of the definition by oneDNN take as long as a product here, and as a number's transforms, and a
# fifth more, so that there is something to gain (benchmarks/NOTES.md).
_PRODUCT, _TRANSFORM = 1.8, 10.6
_VECTOR = 16  # channels that are computed together


def serves(b, kind, x_shape, w_shape, dtype, windows):
    """True where it is to compute one of the three products of a convolution for the backend `b`.

    Args:
      x_shape, w_shape: [batch, *spatial, channels] of the input, [*window, in, out] of the filter.
    """
    side, (channels, out), stride = w_shape[0], w_shape[-2:], windows[0].stride
    phases = -(-side // stride)  # the side of the filter's phases
    if dtype != np.float32 or len(windows) != 2 or x_shape[-1] != channels or not (config.native and 2 <= phases <= 5):
        return False
    if any((w.k, w.stride, w.dilation) != (side, stride, 1) for w in windows) or stride > 1 and channels < _VECTOR:
        return False
    definition = x_shape[0] * math.prod(w.out for w in windows) * math.prod(w_shape)
    if definition < _LEAST:
        return False
    results = [-(-(w.size + w.lo % stride) // stride) if kind == BY_INPUT else w.out for w in windows]
    tiles = x_shape[0] * math.prod(-(-n // (_SIDE + 1 - phases)) for n in results)
    channels, out = (-(-n // _VECTOR) * _VECTOR for n in (channels * stride**2, out))
    products, transformed = tiles * channels * out, tiles * (channels + out) + channels * out
    if _SIDE**2 * (_PRODUCT * products + _TRANSFORM * transformed) > definition:
        return False
    return native.available(_ON_HOST) if b.is_host else native.serves(TARGET)


def convolution(b, kind, first, second, shape, windows):
    """Returns one of the three products of a convolution, FORWARD, BY_INPUT or BY_FILTER, whose result has `shape`.

    Args:
      first, second: input and filter; filter and gradient of the output; input and gradient of the output.
    """
    (top, left), stride = (w.lo for w in windows), windows[0].stride
    if not b.is_host:
        return foreign.call(TARGET, shape, np.float32, first, second, kind=np.int32(_KINDS[kind]), left=np.int32(left),
                            stride=np.int32(stride), top=np.int32(top))
    first, second, result = np.ascontiguousarray(first), np.ascontiguousarray(second), np.empty(shape, np.float32)
    x, y, w = {FORWARD: (first, result, second), BY_INPUT: (result, second, first), BY_FILTER: (first, second, result)}[kind]
    images = [v for a in (x, y) for v in (ctypes.c_void_p(a.ctypes.data), (ctypes.c_int64 * 4)(*a.shape))]
    filters = ctypes.c_void_p(w.ctypes.data), len(w)
    if native.function(_ON_HOST)(_KINDS[kind], *images, *filters, stride, top, left, native.threads()):
        raise MemoryError("there is not enough memory for a convolution")
    return result
