"""Numbers as integers in the same order, which XLA sorts and compares in a fifth to a third of the time."""

import numpy as np

_LAST = 2**31 - 1


def keys(b, x):
    """Returns int32s in the order of `x`, floating numbers of 32 bits or fewer: zeros alike whatever their sign, NaN last."""
    x = x.astype(np.float32)
    bits = b.lax.bitcast_convert_type(x, np.int32)
    bits = b.np.where(x == 0, 0, b.np.where(bits < 0, bits ^ _LAST, bits))
    return b.np.where(b.np.isnan(x), _LAST, bits)


def numbers(b, keys, dtype):
    """Returns the numbers of such keys."""
    return b.lax.bitcast_convert_type(b.np.where(keys < 0, keys ^ _LAST, keys), np.float32).astype(dtype)
