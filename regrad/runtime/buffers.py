"""Arrays where XLA reads them in place, and arrays that are one number over and over."""

import ctypes
import functools

import numpy as np

from regrad.runtime import config

LARGE = 1 << 16  # bytes from which it matters where an array lies
HUGE = 32 << 20  # bytes from which it matters how often there is one
_GROWN = 32 << 20  # bytes
_ALIGNED = 64  # bytes; XLA reads arrays that begin at a multiple of it where they lie, and copies others


def like(array):
    """Returns an array of the shape and dtype of `array`, holding anything, that XLA reads where it lies."""
    return room(array.nbytes).view(array.dtype).reshape(array.shape)


def room(size):
    """Returns an array of `size` bytes, holding anything, that begins where XLA and oneDNN like it."""
    raw = np.empty(size + _ALIGNED, np.uint8)
    at = -raw.ctypes.data % _ALIGNED
    return raw[at:at + size]


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


@functools.cache
def heap():
    """Returns the process's _Heap, made with the first large computation; None if `config.keep_memory` is off."""
    return _Heap() if config.keep_memory else None


class _Heap:
    """glibc's heap, told to keep what is freed: large temporaries are freed in every run and wanted again soon.

    Without it each run of a large program pays some 0.4 ms per MB for page faults.
    """

    def __init__(self):
        try:
            libc = ctypes.CDLL(None)
            mallopt, self._trim, self._break = libc.mallopt, libc.malloc_trim, libc.sbrk
        except (AttributeError, OSError):
            self._break = None
            return
        self._break.argtypes, self._break.restype = [ctypes.c_ssize_t], ctypes.c_size_t
        self._trim.argtypes = [ctypes.c_size_t]
        arena_max, mmap_max, trim_threshold = -8, -4, -1  # glibc's names for its settings, from malloc.h
        mallopt(arena_max, 2)  # with one, XLA's threads and the caller wait in turns; with more, each keeps memory of its own
        mallopt(mmap_max, 0)
        mallopt(trim_threshold, 2**31 - 1)
        self._highest = self._break(0)

    def settle(self):
        """Gives free memory back if the heap has grown: what compiling left, and holes too small for what they held.

        Called before runs of large programs. Once they have found their place, nothing grows and nothing is given back.
        """
        if self._break is not None and self._break(0) > self._highest + _GROWN:
            self._highest = self._break(0)
            self._trim(0)
