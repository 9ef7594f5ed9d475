"""Discrete Fourier transforms over the last one, two or three axes. Gradients: `fft_grad.py`.

Transforms are not normalised forwards and divided by the number of elements backwards, as in TF and NumPy.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import COMPLEX, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_at_least, rank_is, spec_text
from regrad.ops import array, compare, generate, layout, math
from regrad.ops import complex as c

_NAMES = {1: "", 2: "2D", 3: "3D"}


def _complex_transform(op_type, function, axes):
    def infer(x):
        rank_at_least(x, axes, "input")
        return Spec(x.dims, x.dtype)

    return define_op(op_type, "input: Tcomplex", types={"Tcomplex": COMPLEX}, infer=infer,
                     lower=lambda b, x: getattr(b.np.fft, function)(x, axes=tuple(range(-axes, 0))).astype(x.dtype)
                     if x.size else x)


def _lengths(fft_length, axes):
    rank_is(fft_length, 1, "fft_length")
    if fft_length.dims not in (None, (None,), (axes,)):
        raise ShapeError(f"Dimension must be {axes} but is {fft_length.dims[0]}: fft_length must have shape [{axes}] but is "
                         f"{spec_text(fft_length)}")
    lengths = fft_length.partial()
    return (None,) * axes if lengths is None else lengths


_REAL = frozenset((dtypes.float32, dtypes.float64))


def _real_transform(op_type, axes):
    def infer(x, fft_length, *, Tcomplex):
        rank_at_least(x, axes, "input")
        lengths = _lengths(fft_length, axes)
        half = None if lengths[-1] is None else lengths[-1] // 2 + 1 if lengths[-1] else 0
        return Spec(None if x.dims is None else x.dims[:-axes] + (*lengths[:-1], half), Tcomplex)

    def lower(b, x, fft_length, *, Tcomplex):
        lengths = tuple(int(n) for n in fft_length)
        dtype = Tcomplex.as_numpy_dtype
        if 0 in lengths or 0 in x.shape[:-axes]:
            return b.np.zeros(x.shape[:-axes] + (*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0), dtype)
        if 0 in x.shape:
            x = b.np.zeros(x.shape[:-axes] + lengths, x.dtype)
        return b.np.fft.rfftn(x, s=lengths, axes=tuple(range(-axes, 0))).astype(dtype)

    return define_op(op_type, "input: Treal, fft_length: int32", attrs={"Tcomplex": None}, types={"Treal": _REAL},
                     static=(1,), infer=infer, lower=lower)


def _inverse_real_transform(op_type, axes):
    def infer(x, fft_length, *, Treal):
        rank_at_least(x, axes, "input")
        return Spec(None if x.dims is None else x.dims[:-axes] + _lengths(fft_length, axes), Treal)

    def lower(b, x, fft_length, *, Treal):
        lengths = tuple(int(n) for n in fft_length)
        dtype = Treal.as_numpy_dtype
        if 0 in lengths or 0 in x.shape:
            return b.np.zeros(x.shape[:-axes] + lengths, dtype)
        return b.np.fft.irfftn(x, s=lengths, axes=tuple(range(-axes, 0))).astype(dtype)

    return define_op(op_type, "input: Tcomplex, fft_length: int32", attrs={"Treal": None}, types={"Tcomplex": COMPLEX},
                     static=(1,), infer=infer, lower=lower)


_fft_ops = {n: _complex_transform(f"FFT{_NAMES[n]}", "fftn", n) for n in (1, 2, 3)}
_ifft_ops = {n: _complex_transform(f"IFFT{_NAMES[n]}", "ifftn", n) for n in (1, 2, 3)}
_rfft_ops = {n: _real_transform(f"RFFT{_NAMES[n]}", n) for n in (1, 2, 3)}
_irfft_ops = {n: _inverse_real_transform(f"IRFFT{_NAMES[n]}", n) for n in (1, 2, 3)}
for _op in (*_fft_ops.values(), *_ifft_ops.values(), *_rfft_ops.values(), *_irfft_ops.values()):
    _op.declare(cost="heavy")


def _complex(x):
    """Returns `x` as a tensor; real numbers that are none yet become complex64, as in TF."""
    if hasattr(x, "_as_graph_element") or np.iscomplexobj(x):
        return convert_to_tensor(x, name="input")
    return convert_to_tensor(x, preferred_dtype=dtypes.complex64, name="input")


def fft(input, name=None):
    """Returns the discrete Fourier transform over the last axis of a complex tensor."""
    return _fft_ops[1](_complex(input), name=name)


def fft2d(input, name=None):
    """Returns the discrete Fourier transform over the last two axes of a complex tensor."""
    return _fft_ops[2](_complex(input), name=name)


def fft3d(input, name=None):
    """Returns the discrete Fourier transform over the last three axes of a complex tensor."""
    return _fft_ops[3](_complex(input), name=name)


def ifft(input, name=None):
    """Returns the inverse discrete Fourier transform over the last axis of a complex tensor."""
    return _ifft_ops[1](_complex(input), name=name)


def ifft2d(input, name=None):
    """Returns the inverse discrete Fourier transform over the last two axes of a complex tensor."""
    return _ifft_ops[2](_complex(input), name=name)


def ifft3d(input, name=None):
    """Returns the inverse discrete Fourier transform over the last three axes of a complex tensor."""
    return _ifft_ops[3](_complex(input), name=name)


def _default_length(x, axes, inverse):
    """Returns the lengths of a transform that neither pads nor crops `x`, a constant where they are known."""
    if x.dims is not None and None not in x.dims[-axes:]:
        lengths = list(x.dims[-axes:])
        if inverse and lengths[-1]:
            lengths[-1] = max(0, 2 * (lengths[-1] - 1))
        return np.array(lengths, np.int32)
    lengths = array.shape(x)[-axes:]
    if not inverse:
        return lengths
    return array.concat([lengths[:-1], 2 * (lengths[-1:] - 1)], 0)


def _rfft(axes, input_tensor, fft_length, Tcomplex, name):
    with get_default_graph().name_scope(name or f"rfft{_NAMES[axes].lower()}"):
        x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.float32)
        rank_at_least(x, axes, "input")
        kind = as_dtype(Tcomplex) if Tcomplex is not None else \
            dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64
        if kind.real_dtype is not x.dtype and x.dtype in _REAL:
            raise TypeError(f"rfft: an input of {x.dtype.name} has a transform of another precision than {kind.name}")
        lengths = _default_length(x, axes, False) if fft_length is None else \
            convert_to_tensor(fft_length, dtypes.int32)
        return _rfft_ops[axes](x, lengths, Tcomplex=kind)


def _irfft(axes, input_tensor, fft_length, Treal, name):
    with get_default_graph().name_scope(name or f"irfft{_NAMES[axes].lower()}"):
        x = convert_to_tensor(input_tensor)
        rank_at_least(x, axes, "input")
        kind = as_dtype(Treal) if Treal is not None else x.dtype.real_dtype
        lengths = _default_length(x, axes, True) if fft_length is None else \
            convert_to_tensor(fft_length, dtypes.int32)
        return _irfft_ops[axes](x, lengths, Treal=kind)


def rfft(input_tensor, fft_length=None, name=None, Tcomplex=None):
    """Returns the fft_length // 2 + 1 first terms of the transform over the last axis of a real tensor.

    Args:
      input_tensor: float32 or float64.
      fft_length: int32 vector of one element: `input_tensor` is cropped or padded with zeros to it; as it is by default.
    """
    return _rfft(1, input_tensor, fft_length, Tcomplex, name)


def rfft2d(input_tensor, fft_length=None, name=None, Tcomplex=None):
    """Returns the transform over the last two axes of a real tensor; `fft_length` as for `rfft`, two elements."""
    return _rfft(2, input_tensor, fft_length, Tcomplex, name)


def rfft3d(input_tensor, fft_length=None, name=None, Tcomplex=None):
    """Returns the transform over the last three axes of a real tensor; `fft_length` as for `rfft`, three elements."""
    return _rfft(3, input_tensor, fft_length, Tcomplex, name)


def irfft(input_tensor, fft_length=None, name=None, Treal=None):
    """Returns the real signal over the last axis of which `input_tensor` is the first half of the transform.

    Args:
      input_tensor: complex64 or complex128.
      fft_length: length of the result; 2 (n - 1) for n terms by default.
    """
    return _irfft(1, input_tensor, fft_length, Treal, name)


def irfft2d(input_tensor, fft_length=None, name=None, Treal=None):
    """Returns the real signal over the last two axes that has the half transform `input_tensor` (see `irfft`)."""
    return _irfft(2, input_tensor, fft_length, Treal, name)


def irfft3d(input_tensor, fft_length=None, name=None, Treal=None):
    """Returns the real signal over the last three axes that has the half transform `input_tensor` (see `irfft`)."""
    return _irfft(3, input_tensor, fft_length, Treal, name)


# -- orders of frequencies ----------------------------------------------------------------------
def _shifted(x, axes, halves, name):
    with get_default_graph().name_scope(name):
        x = convert_to_tensor(x)
        if axes is None:
            if x.dims is None:
                raise ValueError("fftshift: a tensor of unknown rank needs axes=.")
            axes = list(range(len(x.dims)))
        axes = [axes] if isinstance(axes, int) else list(axes)
        if not axes:
            return array.identity(x)
        if x.dims is not None and all(x.dims[a] is not None for a in axes):
            shift = [halves(x.dims[a]) for a in axes]
        else:
            sizes = array.shape(x)
            shift = array.stack([halves(sizes[a]) for a in axes])
        return layout.roll(x, shift, axes)


def fftshift(x, axes=None, name=None):
    """Returns `x` with the zero frequency moved to the middle of `axes` (all by default)."""
    return _shifted(x, axes, lambda n: n // 2, name or "fftshift")


def ifftshift(x, axes=None, name=None):
    """Returns `x` with the zero frequency moved from the middle of `axes` back to the front."""
    return _shifted(x, axes, lambda n: -(n // 2), name or "ifftshift")


# -- cosine transforms -----------------------------------------------------------------------------
def _check_dct(type, norm, axis):
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if type not in (1, 2, 3, 4):
        raise ValueError("Types I, II, III and IV (I)DCT are supported.")
    if type == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Returns the cosine transform of a type (1, 2, 3 or 4) over the last axis of a real tensor.

    Args:
      input: float32 or float64 [..., samples].
      type: 1, 2, 3 or 4, defined as in scipy.fft.dct.
      n: crop or pad the axis with zeros to this length.
      axis: -1.
      norm: None or "ortho" (not for type 1).

    Raises:
      ValueError: an unknown type or norm; fewer than two samples for type 1.
    """
    _check_dct(type, norm, axis)
    with get_default_graph().name_scope(name or "dct"):
        x = convert_to_tensor(input, preferred_dtype=dtypes.float32)
        if n is not None:
            if n < 1:
                raise ValueError("n should be a positive integer")
            have = x.dims[-1] if x.dims is not None and x.dims[-1] is not None else array.shape(x)[-1]
            rank = len(x.dims)
            if isinstance(have, int):
                x = x[..., :n] if n <= have else layout.pad(x, [[0, 0]] * (rank - 1) + [[0, n - have]])
            else:
                missing = math.maximum(0, n - have)
                x = layout.pad(x[..., :n], array.stack([[0, 0]] * (rank - 1) + [[0, missing]]))
        size = x.dims[-1] if x.dims is not None and x.dims[-1] is not None else array.shape(x)[-1]
        if type == 1:
            if isinstance(size, int) and size < 2:
                raise ValueError("Dimension must be greater than 1 for DCT-I.")
            mirrored = array.concat([x, layout.reverse(x[..., 1:-1], [-1])], -1)
            return c.real(rfft(mirrored))
        real = x.dtype
        count = math.cast(size, real)
        k = math.cast(generate.range(size), real)
        if type == 2:
            turn = _unit(-k * np.pi * 0.5 / count)
            y = c.real(rfft(x, fft_length=[2 * size])[..., :size] * (2.0 * turn))
            return y * _ortho(k, count) if norm == "ortho" else y
        if type == 3:
            if norm == "ortho":
                first = compare.equal(k, array.zeros_like(k))
                halves = compare.select(first, array.ones_like(k), np.sqrt(0.5) * array.ones_like(k))
                x = x * (math.sqrt(count) * halves)
            else:
                x = x * count
            turn = 2.0 * _unit(k * np.pi * 0.5 / count)
            return irfft(turn * c.complex(x, array.zeros_like(x)), fft_length=[2 * size])[..., :size]
        # Type 4 is every second term of a type 2 of twice the length, over halved angles.
        padded = dct(array.concat([x, array.zeros_like(x)], -1), type=2)
        y = padded[..., 1::2]
        return y * (np.sqrt(2.0) * 0.5) * math.rsqrt(count) if norm == "ortho" else y


def _unit(angle):
    return c.complex(math.cos(angle), math.sin(angle))


def _ortho(k, count):
    """Returns the factors that make a transform of type 2 orthonormal: sqrt(1/4n) for term 0, sqrt(1/2n) for others."""
    first = compare.equal(k, array.zeros_like(k))
    return math.rsqrt(count) * compare.select(first, 0.5 * array.ones_like(k), np.sqrt(0.5) * array.ones_like(k))


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """Returns the inverse of `dct` over the last axis, up to the factor that its missing normalisation leaves.

    As in TF and SciPy's older form, an inverse of type 2 is a transform of type 3, and so on, without division; with
    norm="ortho" it is the exact inverse.
    """
    _check_dct(type, norm, axis)
    with get_default_graph().name_scope(name or "idct"):
        return dct(input, type={1: 1, 2: 3, 3: 2, 4: 4}[type], n=n, axis=axis, norm=norm)
