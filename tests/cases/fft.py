"""Rows for `regrad/ops/fft.py`."""

import numpy as np
import scipy.fft

from regrad.ops import array, fft
from tests.cases import Bad, Case


def _z(*shape):
    rng = np.random.RandomState(3)
    return rng.randn(*shape) + 1j * rng.randn(*shape)


def _axes(n):
    return tuple(range(-n, 0))


SHAPES = {1: [(5,), (2, 4), (1,), (2, 0)], 2: [(3, 4), (2, 3, 3)], 3: [(2, 3, 4), (2, 2, 1, 3)]}
COMPLEX_ROWS = [
    Case(f"{inverse}FFT{suffix}", getattr(fft, f"{inverse.lower()}fft{suffix.lower()}"),
         lambda x, n=n, f=f: getattr(np.fft, f)(x, axes=_axes(n)) if x.size else x, (_z(*shape),), dtypes=("complex64",))
    for n, suffix in ((1, ""), (2, "2D"), (3, "3D")) for inverse, f in (("", "fftn"), ("I", "ifftn"))
    for shape in SHAPES[n]]
REAL_ROWS = [
    Case(f"RFFT{suffix}", getattr(fft, f"rfft{suffix.lower()}"),
         lambda x, fft_length=None, n=n: np.fft.rfftn(x, s=fft_length, axes=_axes(n)), (shape,), {"fft_length": length},
         note=f"{length}".replace(" ", ""), unknown=n == 1 or length is not None)
    for n, suffix, shape, lengths in (
        (1, "", (2, 5), (None, [4], [8])), (1, "", (2, 4), (None, [5])), (2, "2D", (2, 3, 4), (None, [2, 6], [4, 3])),
        (3, "3D", (2, 3, 4), (None, [2, 2, 5])))
    for length in lengths]
INVERSE_ROWS = [
    Case(f"IRFFT{suffix}", getattr(fft, f"irfft{suffix.lower()}"),
         lambda x, fft_length=None, n=n: np.fft.irfftn(x, s=fft_length, axes=_axes(n)), (_z(*shape),),
         {"fft_length": length}, note=f"{length}".replace(" ", ""), dtypes=("complex64",), unknown=n == 1)
    for n, suffix, shape, lengths in (
        (1, "", (2, 5), (None, [7], [12], [3])), (2, "2D", (2, 3, 4), (None, [2, 5])), (3, "3D", (2, 3, 4), (None, [2, 4, 5])))
    for length in lengths]

CASES = [
    *COMPLEX_ROWS,
    *REAL_ROWS,
    *INVERSE_ROWS,
    Case("RFFT", fft.rfft, lambda x: np.zeros((0, 3), complex), ((0, 4),), note="no signals"),
    Case("Roll", fft.fftshift, np.fft.fftshift, ((5, 4),), unknown="rank"),
    Case("Roll", lambda x: fft.fftshift(x, [1]), lambda x: np.fft.fftshift(x, [1]), ((2, 5),), note="axes"),
    Case("Roll", lambda x: fft.ifftshift(x, 0), lambda x: np.fft.ifftshift(x, 0), ((5, 4),), note="inverse"),
    *[Case("IRFFT" if kind == 3 else "RFFT", fft.dct, lambda x, type, norm: scipy.fft.dct(x, type, norm=norm), ((2, size),),
           {"type": kind, "norm": norm}, note=f"dct-{kind}-{norm}-{size}")
      for kind in (1, 2, 3, 4) for norm in (None, "ortho") for size in (4, 5) if not (kind == 1 and norm)],
    *[Case("RFFT" if kind == 3 else "IRFFT", lambda x, type: fft.idct(fft.dct(x, type=type, norm="ortho"), type=type,
           norm="ortho"), lambda x, type: x, ((2, 5),), {"type": kind}, note=f"idct-{kind}") for kind in (2, 3)],
    *[Case("RFFT", lambda x, n: fft.dct(x, n=n), lambda x, n: scipy.fft.dct(x, 2, n=n), ((2, 5),), {"n": n}, note=f"dct-n{n}",
           unknown="rank") for n in (3, 8)],
    Bad("FFT", lambda: fft.fft(array.zeros([3], "float64")), TypeError, "float64 not in list"),
    Bad("FFT2D", lambda: fft.fft2d(np.zeros(3, complex)), ValueError, "at least rank 2"),
    Bad("RFFT", lambda: fft.rfft(np.zeros(4), fft_length=[4, 4]), ValueError, r"fft_length must have shape \[1\]"),
    Bad("RFFT", lambda: fft.rfft(array.zeros([4], "float64"), Tcomplex="complex64"), TypeError, "another precision"),
    Bad("IRFFT", lambda: fft.irfft(np.zeros(4)), TypeError, "float64 not in list"),
    Bad("RFFT", lambda: fft.dct(np.zeros(4), type=5), ValueError, "Types I, II, III and IV"),
    Bad("RFFT", lambda: fft.dct(np.zeros(4), type=1, norm="ortho"), ValueError, "not supported for the Type-I"),
    Bad("RFFT", lambda: fft.dct(np.zeros(4), norm="other"), ValueError, "Unknown normalization"),
    Bad("RFFT", lambda: fft.dct(np.zeros(1), type=1), ValueError, "greater than 1"),
    Bad("RFFT", lambda: fft.dct(np.zeros((4, 4)), axis=0), NotImplementedError, "axis must be -1"),
]
