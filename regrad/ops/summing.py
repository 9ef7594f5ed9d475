"""How sums are computed.

Sums that leave the last axes - of a bias gradient, a batch's moments, the gradient of broadcasting - are where XLA on a CPU
is slowest: it walks down the columns. As products with ones they take a tenth of the time (benchmarks/NOTES.md), and a few
hundred numbers to a product keep the rounding errors as small as those of a sum by halves.
"""

import functools
import math

import numpy as np

_ROWS = 512  # XLA itself sums fewer, in one loop with what computes them
_COLUMNS = (8, 2048)
_CHUNK = 256


@functools.lru_cache(maxsize=1024)
def _chunk(rows):
    """Returns the divisor of `rows` nearest to _CHUNK, or None where there is none near."""
    near = [k for k in range(_CHUNK // 4, 4 * _CHUNK) if rows % k == 0]
    return min(near, key=lambda k: abs(math.log(k / _CHUNK)), default=None)


def _by_products(b, x, axes):
    """Returns the sum of `x` over its leading `axes`, as columns; None where it had better be a plain sum."""
    rows, columns = math.prod(x.shape[:len(axes)]), math.prod(x.shape[len(axes):])
    wide = x.dtype in (np.float32, np.float64)
    if not wide or axes != tuple(range(len(axes))) or rows < _ROWS or not _COLUMNS[0] <= columns <= _COLUMNS[1]:
        return None
    chunk = _chunk(rows)
    if chunk is None:
        return None
    ones = b.np.ones((rows // chunk, chunk), x.dtype)
    parts = b.lax.dot_general(ones, x.reshape(-1, chunk, columns), (((1,), (1,)), ((0,), (0,))))
    return b.np.sum(parts, axis=0)


def _kept(x, axes, keepdims):
    """Returns the shape of a sum of `x` over leading axes."""
    return (1,) * (len(axes) * keepdims) + x.shape[len(axes):]


def total(b, x, axis, keepdims=False):
    """Returns the sum of `x`, in its own dtype, over the axes in the tuple `axis`, counted from 0 and sorted."""
    if b.is_host:
        add = b.np.sum if x.dtype == np.object_ else np.add.reduce  # what np.sum calls, after a microsecond
        return add(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    columns = _by_products(b, x, axis)
    if columns is None:
        return b.np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return columns.reshape(_kept(x, axis, keepdims))


def mean(b, x, axis, keepdims=False):
    """Returns the mean of a floating `x`, as `total` does."""
    columns = None if b.is_host else _by_products(b, x, axis)
    if columns is None:
        return b.np.mean(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    rows = math.prod(x.shape[:len(axis)])
    return (columns / x.dtype.type(rows)).reshape(_kept(x, axis, keepdims))
