"""Gradient rules for `complex.py`. With TF's convention a gradient is the conjugate of the derivative."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import complex as c
from regrad.ops import math
from regrad.ops.array import sum_to_like, zeros_like


@RegisterGradient("Conj")
def _conj_grad(op, dy):
    return c.conj(dy)


@RegisterGradient("Real")
def _real_grad(op, dy):
    return c.complex(dy, zeros_like(dy))


@RegisterGradient("Imag")
def _imag_grad(op, dy):
    # The imaginary part of x is Re(-i x), so the gradient is i dy.
    return c.complex(zeros_like(dy), dy)


@RegisterGradient("Complex")
def _complex_grad(op, dz):
    re, im = op.inputs
    return sum_to_like(c.real(dz), re), sum_to_like(c.imag(dz), im)


@RegisterGradient("ComplexAbs")
def _complexabs_grad(op, dy):
    # d|x| = x / |x|, and 0 at the origin.
    return c.complex(dy, zeros_like(dy)) * math.sign(op.inputs[0])


@RegisterGradient("Angle")
def _angle_grad(op, dy):
    # angle(x) = Im log x, so the gradient is dy i / conj(x), and 0 at the origin, where no angle is.
    x = op.inputs[0]
    return math.divnonan_op(c.complex(zeros_like(dy), dy), c.conj(x))
