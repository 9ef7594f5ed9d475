"""Complex numbers: parts, conjugate, magnitude. Gradients: `complex_grad.py`."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import COMPLEX
from regrad.core.opdef import Spec, define_op, same
from regrad.core.shapes import broadcast
from regrad.ops import arcs

conj_op = define_op("Conj", "input", infer=same, types={"T": COMPLEX}, lower=lambda b, x: b.np.conj(x))


def conj(x, name=None):
    """Returns the complex conjugate; a real tensor is returned itself."""
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_complex:
        return conj_op(x, name=name)
    if x.dtype.is_floating or x.dtype.is_integer:
        return x
    raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype.name}")


_arc = arcs.lowering("arctan2")


def _part(op_type, lower):
    return define_op(op_type, "input: T", attrs={"Tout": None}, types={"T": COMPLEX}, lower=lower,
                     infer=lambda x, *, Tout: Spec(x.dims, Tout or x.dtype.real_dtype))


real_op = _part("Real", lambda b, x, *, Tout: b.np.real(x))
imag_op = _part("Imag", lambda b, x, *, Tout: b.np.imag(x))
complexabs_op = _part("ComplexAbs", lambda b, x, *, Tout: b.np.abs(x))
angle_op = _part("Angle", lambda b, x, *, Tout: _arc(b, b.np.imag(x), b.np.real(x)))


def real(input, name=None):
    """Returns the real part: float32 for complex64, float64 for complex128; a real tensor is returned itself."""
    x = convert_to_tensor(input, name="input")
    return real_op(x, name=name) if x.dtype.is_complex else x


def imag(input, name=None):
    """Returns the imaginary part; zeros for a real tensor."""
    x = convert_to_tensor(input, name="input")
    if x.dtype.is_complex:
        return imag_op(x, name=name)
    from regrad.ops.array import zeros_like

    return zeros_like(x, name=name)


def angle(input, name=None):
    """Returns the argument in radians, in (-pi, pi]; for a real tensor 0 or pi by its sign."""
    x = convert_to_tensor(input, name="input")
    if x.dtype.is_complex:
        return angle_op(x, name=name)
    from regrad.ops.array import ones_like, zeros_like
    from regrad.ops.compare import less, select

    return select(less(x, zeros_like(x)), 3.141592653589793 * ones_like(x), zeros_like(x), name=name)


def complex_abs(x, name=None):
    """Returns the magnitude |x| of a complex tensor as its real dtype."""
    return complexabs_op(x, name=name)


def _complex_infer(real, imag, *, Tout):
    return Spec(broadcast(real.dims, imag.dims), dtypes.complex128 if real.dtype is dtypes.float64 else dtypes.complex64)


def _complex_lower(b, re, im, *, Tout):
    if not b.is_host:
        shape = b.np.broadcast_shapes(re.shape, im.shape)
        return b.lax.complex(b.np.broadcast_to(re, shape), b.np.broadcast_to(im, shape))
    # Not re + 1j * im, whose real part is NaN where im is infinite.
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.complex128 if re.dtype == np.float64 else np.complex64)
    out.real, out.imag = re, im
    return out


complex_op = define_op("Complex", "real, imag", infer=_complex_infer, attrs={"Tout": None},
                       types={"T": frozenset((dtypes.float32, dtypes.float64))}, lower=_complex_lower)


def complex(real, imag, name=None):
    """Returns real + i imag: complex64 for float32 parts, complex128 for float64."""
    return complex_op(real, imag, name=name or "Complex")
