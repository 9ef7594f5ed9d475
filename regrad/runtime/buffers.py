"""Arrays where XLA reads them in place, and arrays that are one number over and over."""

import numpy as np

LARGE = 1 << 16  # bytes from which it matters where an array lies
HUGE = 32 << 20  # bytes from which it matters how often there is one
_ALIGNED = 64  # bytes; XLA reads arrays that begin at a multiple of it where they lie, and copies others


def like(array):
    """Returns an array of the shape and dtype of `array`, holding anything, that XLA reads where it lies."""
    raw = np.empty(array.nbytes + _ALIGNED, np.uint8)
    at = -raw.ctypes.data % _ALIGNED
    return raw[at:at + array.nbytes].view(array.dtype).reshape(array.shape)


def uniform(array):
    """True for an array that is one number over and over, and takes the room of that number: `np.broadcast_to` of a scalar."""
    return array.size > 1 and not any(array.strides)


def kept(array):
    """Returns a copy of `array` that the session may keep; one number over and over stays that."""
    if array.nbytes < LARGE:
        return np.array(array)
    if uniform(array):
        return np.broadcast_to(np.array(array[(0,) * array.ndim]), array.shape)
    if array.nbytes < HUGE:
        return np.array(array)
    copy = like(array)
    copy[...] = array
    return copy
