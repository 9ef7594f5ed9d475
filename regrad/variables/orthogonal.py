"""Initializers of convolutions that keep the norm of what they are given, but for its edges; Xiao et al. 2018.

A window of 2 along each axis is made of a projection P of the channels and of I - P, as two taps; products of such kernels make
larger windows.
"""

import itertools

import numpy as np

from regrad.core.convert import constant
from regrad.core.dtypes import float32
from regrad.ops import array, math, random
from regrad.ops.matmul import matmul
from regrad.variables.initializers import Initializer, Orthogonal, _config, _floating, _sizes


def _times(a, b):
    """Returns the kernel {place: matrix} that does what `a` does after `b`."""
    out = {}
    for (p, x), (q, y) in itertools.product(a.items(), b.items()):
        place = tuple(i + j for i, j in zip(p, q))
        out[place] = matmul(x, y) + out[place] if place in out else matmul(x, y)
    return out


class _ConvolutionOrthogonal(Initializer):
    """Base class; `_axes` is the number of axes of the window.

    Args:
      gain: factor of the norm.
      seed: op seed of the first draw; the others have the next ones.

    Raises:
      ValueError: a shape of another rank, a window whose sizes differ, or more input than output channels.
    """

    _axes = 0

    def __init__(self, gain=1.0, seed=None, dtype=float32):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        shape, dtype = _sizes(shape), self._dtype(dtype)
        if len(shape) != self._axes + 2:
            raise ValueError(f"The tensor to initialize must be {('three', 'four', 'five')[self._axes - 1]}-dimensional, "
                             f"got shape {shape}.")
        *window, n_in, n_out = shape
        if n_in > n_out:
            raise ValueError(f"In_filters cannot be greater than out_filters: {n_in} > {n_out}.")
        if len(set(window)) > 1:
            raise ValueError(f"Kernel sizes must be equal, got {window}.")
        seeds = itertools.repeat(None) if self.seed is None else itertools.count(self.seed)
        kernel = {(0,) * self._axes: Orthogonal(seed=next(seeds), dtype=dtype)([n_out, n_out])[:n_in]}
        for _ in range(window[0] - 1):
            kernel = _times(kernel, self._pair(n_out, dtype, seeds))
        taps = array.stack([kernel[place] for place in itertools.product(range(window[0]), repeat=self._axes)])
        return self.gain * array.reshape(taps, shape)

    def _pair(self, n, dtype, seeds):
        """Returns a kernel of window 2 along each axis."""
        kernel, eye = None, constant(np.eye(n), dtype)
        for axis in range(self._axes):
            vectors = Orthogonal(seed=next(seeds), dtype=dtype)([n, n])
            chosen = math.cast(random.random_normal([n], dtype=dtype, seed=next(seeds)) > 0, dtype)
            projection = matmul(vectors * chosen, vectors, transpose_b=True)
            taps = {tuple(int(k == axis) * tap for k in range(self._axes)): matrix
                    for tap, matrix in ((0, projection), (1, eye - projection))}
            kernel = taps if kernel is None else _times(kernel, taps)
        return kernel

    get_config = _config("gain", "seed")


class ConvolutionOrthogonal1D(_ConvolutionOrthogonal):
    """Filters [window, in, out] that keep norms, times `gain`; Xiao et al. 2018."""

    _axes = 1


class ConvolutionOrthogonal2D(_ConvolutionOrthogonal):
    """Filters [rows, columns, in, out] that keep norms, times `gain`; Xiao et al. 2018."""

    _axes = 2


class ConvolutionOrthogonal3D(_ConvolutionOrthogonal):
    """Filters [planes, rows, columns, in, out] that keep norms, times `gain`; Xiao et al. 2018."""

    _axes = 3
