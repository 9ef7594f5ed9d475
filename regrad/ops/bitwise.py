"""Bitwise operations on integers; none is differentiable."""

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import INTEGER
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import Spec, broadcasted, define_op, same


def _binary(op_type, function):
    return define_op(op_type, "x, y", infer=broadcasted, types={"T": INTEGER},
                     lower=lambda b, x, y: getattr(b.np, function)(x, y))


def _shift(op_type, function):
    def lower(b, x, y):
        # A shift by the width or more is left open by the processor; it counts as one by width - 1.
        width = x.dtype.itemsize * 8
        return getattr(b.np, function)(x, b.np.clip(y, 0, width - 1).astype(x.dtype))

    return define_op(op_type, "x, y", infer=broadcasted, types={"T": INTEGER}, lower=lower)


def _population_count(b, x):
    unsigned = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    return (b.np.bitwise_count(unsigned) if b.is_host else b.lax.population_count(unsigned)).astype(np.uint8)


bitwiseand_op = _binary("BitwiseAnd", "bitwise_and")
bitwiseor_op = _binary("BitwiseOr", "bitwise_or")
bitwisexor_op = _binary("BitwiseXor", "bitwise_xor")
invert_op = define_op("Invert", "x", infer=same, types={"T": INTEGER}, lower=lambda b, x: b.np.invert(x))
leftshift_op = _shift("LeftShift", "left_shift")
rightshift_op = _shift("RightShift", "right_shift")
populationcount_op = define_op("PopulationCount", "x", infer=lambda x: Spec(x.dims, dtypes.uint8),
                               types={"T": INTEGER}, lower=_population_count)

for _op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Invert", "LeftShift", "RightShift", "PopulationCount"):
    NotDifferentiable(_op_type)


def bitwise_and(x, y, name=None):
    """Returns x and y bit by bit, for integers of one dtype, with broadcasting."""
    return bitwiseand_op(x, y, name=name)


def bitwise_or(x, y, name=None):
    """Returns x or y bit by bit, for integers of one dtype, with broadcasting."""
    return bitwiseor_op(x, y, name=name)


def bitwise_xor(x, y, name=None):
    """Returns x exclusive-or y bit by bit, for integers of one dtype, with broadcasting."""
    return bitwisexor_op(x, y, name=name)


def invert(x, name=None):
    """Returns the integers `x` with every bit turned over."""
    return invert_op(x, name=name)


def left_shift(x, y, name=None):
    """Returns the integers `x` shifted left by `y` bits; a shift by the width or more counts as by one bit less."""
    return leftshift_op(x, y, name=name)


def right_shift(x, y, name=None):
    """Returns the integers `x` shifted right by `y` bits, copies of the sign moving in if they have one."""
    return rightshift_op(x, y, name=name)


def population_count(x, name=None):
    """Returns how many bits of each integer are 1, as uint8."""
    return populationcount_op(x, name=name)
