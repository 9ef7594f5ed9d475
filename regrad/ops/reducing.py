"""How numbers are reduced along axes: what the families share that sum, average or look for extremes."""

import functools
import math

import numpy as np

_SHORT, _MANY = 8, 16_384  # elements of an axis; of an array
_PIECES, _HALVED = 4, 4096  # likewise, where extremes are looked for


def _short(b, x, axis):
    return not b.is_host and len(axis) == 1 and 0 < x.shape[axis[0]] <= _SHORT and math.prod(x.shape) >= _MANY \
        and x.dtype.itemsize >= 4  # of smaller numbers, sums are computed in float32


def reduce(b, function, combine, x, axis, keepdims=False):
    """Returns `function(x, axis, keepdims)`, where `combine` does for two arrays what `function` does for many numbers.

    A short axis of a large array is taken apart and combined piece by piece: XLA fuses that into what surrounds it, and no
    library takes it for a reduction (runtime/reductions.py).

    Args:
      axis: tuple of axes, counted from 0 and sorted.
    """
    if not _short(b, x, axis):
        return function(x, axis=axis, keepdims=keepdims)
    pieces = (b.lax.index_in_dim(x, i, axis[0], keepdims) for i in range(x.shape[axis[0]]))
    return functools.reduce(combine, pieces)


def total(b, x, axis, keepdims=False):
    """Returns the sum of `x`, in its own dtype, over the axes in the tuple `axis`, counted from 0 and sorted."""
    if b.is_host:
        add = b.np.sum if x.dtype == np.object_ else np.add.reduce  # what np.sum calls, after a microsecond
        return add(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return reduce(b, functools.partial(b.np.sum, dtype=x.dtype), b.np.add, x, axis, keepdims)


def extreme(b, x, axis, keepdims=False, largest=True):
    """Returns the largest elements of `x` along the axes in the tuple `axis`, or the smallest; NaN where there is one."""
    function, combine = (b.np.max, b.np.maximum) if largest else (b.np.min, b.np.minimum)
    if b.is_host:
        return function(x, axis=axis, keepdims=keepdims)
    if math.prod(x.shape) >= _HALVED:
        for a in axis:
            x = _by_halves(b, combine, x, a)
        return x if keepdims else b.np.squeeze(x, axis)
    if x.dtype.kind in "fV":  # V: bfloat16
        function = functools.partial(_extreme_with_nan, b, largest)
    return function(x, axis=axis, keepdims=keepdims)


def _by_halves(b, combine, x, axis):
    """Returns `combine` of all elements along an axis, which stays, with 1 element.

    XLA combines two arrays in vectors, but a row number by number. What is in both halves counts twice.
    """
    while x.shape[axis] > _PIECES:
        n = x.shape[axis]
        half = (n + 1) // 2
        x = combine(b.lax.slice_in_dim(x, 0, half, axis=axis), b.lax.slice_in_dim(x, n - half, n, axis=axis))
    return functools.reduce(combine, (b.lax.index_in_dim(x, i, axis) for i in range(x.shape[axis])))


def place(b, x, axis, largest):
    """Returns where along an axis the first of the largest (smallest) elements is, as int32; NaN is it, if there is any."""
    found = extreme(b, x, (axis,), keepdims=True, largest=largest)
    number = b.lax.broadcasted_iota(np.int32, x.shape, axis)
    return extreme(b, b.np.where((x == found) | (x != x), number, x.shape[axis]), (axis,), largest=False)


def _extreme_with_nan(b, largest, x, axis, keepdims):
    # XLA may hand its own maximum to YNNPACK, whose maximum leaves NaN out.
    before = b.lax.ge if largest else b.lax.le
    result = b.lax.reduce(x, x.dtype.type(-np.inf if largest else np.inf),
                          lambda p, q: b.lax.select(b.lax.bitwise_or(before(p, q), b.lax.ne(p, p)), p, q), axis)
    return b.np.expand_dims(result, axis) if keepdims else result


def mean(b, x, axis, keepdims=False):
    """Returns the mean of a floating `x`, as `total` does."""
    if _short(b, x, axis):
        return b.divide(total(b, x, axis, keepdims), x.dtype.type(x.shape[axis[0]]))
    if not b.is_host and x.dtype in (np.float32, np.float64):
        n = math.prod(x.shape[a] for a in axis)
        return b.divide(b.np.sum(x, axis=axis, keepdims=keepdims), x.dtype.type(n))
    return b.np.mean(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
