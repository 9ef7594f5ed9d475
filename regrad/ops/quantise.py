"""Rounding to the values that few bits can tell apart, for networks that will run quantised. Gradients: `quantise_grad.py`.

Fake quantisation (Jacob et al. 2018, arXiv:1712.05877) rounds to 2^num_bits values between `min` and `max`, after moving
these a little so that 0 is one of the values.
"""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING
from regrad.core.errors import BadValue, ShapeError
from regrad.core.opdef import Spec, define_op, rank_at_least, spec_text
from regrad.core.shapes import compatible
from regrad.ops import reducing

_FLOAT = {"T": FLOATING}
_BITS = {"num_bits": 8, "narrow_range": False}


# -- the grid ------------------------------------------------------------------------------------
def _nudged(b, low, high, num_bits, narrow_range):
    """Returns (lowest value, highest value, step, number of the value 0) of the grid."""
    first, last = float(narrow_range), float(2**num_bits - 1)
    kind = low.dtype.type
    step = (high - low) / kind(last - first)
    step = b.np.where(step == 0, kind(1), step)  # an empty range: nothing is divided by 0, and nothing uses the result
    exact = kind(first) - low / step
    zero = b.np.clip(b.np.floor(exact + kind(0.5)), kind(first), kind(last))
    return (kind(first) - zero) * step, (kind(last) - zero) * step, step, zero - kind(first)


def _empty(low, high):
    return (low == 0) & (high == 0)


def _fake_quant(b, x, low, high, *, num_bits, narrow_range):
    lowest, highest, step, zero = _nudged(b, low, high, num_bits, narrow_range)
    steps = b.rounded((b.np.clip(x, lowest, highest) - lowest) * (x.dtype.type(1) / step))
    rounded = b.np.floor(steps + x.dtype.type(0.5))
    return b.np.where(_empty(low, high), b.np.zeros_like(x), (rounded - zero) * step).astype(x.dtype)


def _side(b, x, low, high, *, num_bits, narrow_range):
    """Returns -1 where `x` lies below the grid, 1 above it, 0 within (and everywhere for an empty range)."""
    lowest, highest, _, _ = _nudged(b, low, high, num_bits, narrow_range)
    kind = x.dtype.type
    side = b.np.where(x < lowest, kind(-1), b.np.where(x > highest, kind(1), kind(0)))
    return b.np.where(_empty(low, high), b.np.zeros_like(side), side).astype(x.dtype)


def _bits(num_bits):
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, got {num_bits}")


# -- fixed range -----------------------------------------------------------------------------------
def _args_infer(*tensors, min, max, num_bits, narrow_range):
    if not min < max:
        raise ValueError(f"min must be smaller than max, got {min} and {max}")
    _bits(num_bits)
    return Spec(tensors[-1].dims, tensors[-1].dtype)


def _limits(x, min, max):
    return np.asarray(min, x.dtype), np.asarray(max, x.dtype)


_ARGS = {"min": -6.0, "max": 6.0, **_BITS}
fakequantargs_op = define_op(
    "FakeQuantWithMinMaxArgs", "inputs", attrs=_ARGS, types=_FLOAT, infer=_args_infer,
    lower=lambda b, x, *, min, max, **bits: _fake_quant(b, x, *_limits(x, min, max), **bits))
fakequantargsgrad_op = define_op(
    "FakeQuantWithMinMaxArgsGradient", "gradients: T, inputs: T", attrs=_ARGS, types=_FLOAT, infer=_args_infer,
    lower=lambda b, dy, x, *, min, max, **bits:
    b.np.where(_side(b, x, *_limits(x, min, max), **bits) == 0, dy, b.np.zeros_like(dy)))


def fake_quant_with_min_max_args(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Returns `inputs` clipped to [min, max] and rounded to one of 2^num_bits values in it, 0 among them.

    Args:
      inputs: floating tensor.
      min, max: Python numbers, min < max.
      num_bits: from 2 to 16.
      narrow_range: leave out the lowest value, so that a symmetric range has as many values below 0 as above.

    The gradient passes unchanged where `inputs` lies in the range, and is 0 elsewhere.
    """
    return fakequantargs_op(inputs, min=float(min), max=float(max), num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(gradients, inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Returns `gradients` where `inputs` lies in the range of `fake_quant_with_min_max_args`, 0 elsewhere."""
    return fakequantargsgrad_op(gradients, inputs, min=float(min), max=float(max), num_bits=num_bits,
                                narrow_range=narrow_range, name=name)


# -- a range that is learned ---------------------------------------------------------------------------
def _range_dims(x, low, high, per_channel):
    if per_channel:
        rank_at_least(x, 1, "inputs, whose last axis is that of the channels")
    wanted = ((x.dims[-1] if x.dims else None,) if per_channel else ())
    for what, t in (("min", low), ("max", high)):
        if not compatible(t.dims, wanted):
            kind = "one number per channel (last axis)" if per_channel else "a scalar"
            raise ShapeError(f"{what} must be {kind}, got {spec_text(t)} for inputs {spec_text(x)}")


def _vars_infer(per_channel):
    def infer(x, low, high, *, num_bits, narrow_range):
        _bits(num_bits)
        _range_dims(x, low, high, per_channel)
        return Spec(x.dims, x.dtype)

    return infer


def _vars_grad_infer(per_channel):
    def infer(dy, x, low, high, *, num_bits, narrow_range):
        _bits(num_bits)
        _range_dims(x, low, high, per_channel)
        if not compatible(dy.dims, x.dims):
            raise ShapeError(f"gradients is {spec_text(dy)}, inputs is {spec_text(x)}: they must have one shape")
        channels = (x.dims[-1] if x.dims else None,) if per_channel else ()
        return [Spec(x.dims, x.dtype), Spec(channels, x.dtype), Spec(channels, x.dtype)]

    return infer


def _vars_grad_lower(per_channel):
    def lower(b, dy, x, low, high, **bits):
        side = _side(b, x, low, high, **bits)
        zero = b.np.zeros_like(dy)
        axes = tuple(range(x.ndim - per_channel))
        return (b.np.where(side == 0, dy, zero), b.np.where(side < 0, dy, zero).sum(axes, dtype=dy.dtype),
                b.np.where(side > 0, dy, zero).sum(axes, dtype=dy.dtype))

    return lower


def _learned(op_type, per_channel):
    """Defines an op, its gradient, and on which side of the range each element lies."""
    signature = "inputs: T, min: T, max: T"
    return (define_op(op_type, signature, attrs=_BITS, types=_FLOAT, infer=_vars_infer(per_channel), lower=_fake_quant),
            define_op(op_type + "Gradient", "gradients: T, " + signature, attrs=_BITS, types=_FLOAT,
                      infer=_vars_grad_infer(per_channel), lower=_vars_grad_lower(per_channel)),
            define_op(op_type + "Side", signature, attrs=_BITS, types=_FLOAT, infer=_vars_infer(per_channel), lower=_side))


fakequantvars_op, fakequantvarsgrad_op, fakequantvarsside_op = _learned("FakeQuantWithMinMaxVars", False)
fakequantchannel_op, fakequantchannelgrad_op, fakequantchannelside_op = _learned("FakeQuantWithMinMaxVarsPerChannel", True)


def fake_quant_with_min_max_vars(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """As `fake_quant_with_min_max_args`, with scalar tensors `min` and `max`.

    They receive the sum of the gradients of the elements below and above the range.
    """
    return fakequantvars_op(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Returns the gradients of `fake_quant_with_min_max_vars` for inputs, min and max."""
    return fakequantvarsgrad_op(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """As `fake_quant_with_min_max_vars`, with a range for each index of the last axis: vectors `min` and `max`."""
    return fakequantchannel_op(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Returns the gradients of `fake_quant_with_min_max_vars_per_channel` for inputs, min and max."""
    return fakequantchannelgrad_op(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


# -- quantize_and_dequantize ------------------------------------------------------------------------------
def _quantize_infer(x, low, high, *, num_bits, axis, round_mode, **attrs):
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise ValueError(f"round_mode must be 'HALF_TO_EVEN' or 'HALF_UP', got {round_mode!r}")
    if not 1 <= num_bits < 63:
        raise BadValue(f"num_bits is out of range: {num_bits}")
    if attrs["range_given"] and low.value() is not None and high.value() is not None and np.any(low.value() > high.value()):
        raise BadValue(f"Invalid range: input_min {low.value()} > input_max {high.value()}")
    if axis >= 0 and x.dims is not None and axis >= len(x.dims):
        raise ShapeError(f"axis {axis} is out of range for input {spec_text(x)}")
    return Spec(x.dims, x.dtype)


def _quantize_lower(b, x, low, high, *, signed_input, num_bits, range_given, round_mode, narrow_range, axis):
    np_, kind = b.np, x.dtype.type
    if not range_given:
        axes = tuple(i for i in range(x.ndim) if i != axis)
        low, high = (reducing.extreme(b, x, axes, largest=largest) for largest in (False, True))
    if axis >= 0:
        ends = tuple(-1 if i == axis else 1 for i in range(x.ndim))
        low, high = low.reshape(ends), high.reshape(ends)
    least = float(-(2 ** (num_bits - 1)) + narrow_range if signed_input else 0)
    most = float(2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1)
    huge = kind(np.finfo(x.dtype).max)

    def scale(count, end):
        used = count * end > 0
        return np_.where(used, kind(count) / np_.where(used, end, kind(1)), huge)

    from_low, from_high = scale(least, low), scale(most, high)
    by_low = from_low < from_high
    step = np_.where(by_low, low / kind(least or 1.0), high / kind(most))
    if range_given:
        x = np_.clip(x, np_.where(by_low, low, kind(least) * step), np_.where(by_low, kind(most) * step, high))
    exact = np_.minimum(x * np_.minimum(from_low, from_high), kind(most))
    rounded = np_.rint(exact) if round_mode == "HALF_TO_EVEN" else np_.floor(exact + kind(0.5))
    return (rounded * step).astype(x.dtype)


quantize_op = define_op("QuantizeAndDequantizeV2", "input: T, input_min: T, input_max: T", types=_FLOAT,
                        attrs={"signed_input": True, "num_bits": 8, "range_given": False, "round_mode": "HALF_TO_EVEN",
                               "narrow_range": False, "axis": -1}, infer=_quantize_infer, lower=_quantize_lower)


def quantize_and_dequantize(input, input_min, input_max, signed_input=True, num_bits=8, range_given=False,
                            round_mode="HALF_TO_EVEN", name=None, narrow_range=False, axis=None):
    """Returns `input` rounded to one of 2^num_bits evenly spaced values around 0; the gradient passes unchanged.

    Args:
      input: floating tensor.
      input_min, input_max: the range, used if `range_given` (else that of `input`); vectors along `axis` if it is given.
      signed_input: values on both sides of 0.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      narrow_range: leave out the lowest value.
      axis: each index of it has a range of its own.
    """
    input = convert_to_tensor(input, name="input")
    low, high = (convert_to_tensor(t, dtype=None if hasattr(t, "dtype") else input.dtype) for t in (input_min, input_max))
    return quantize_op(input, low, high, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
                       round_mode=round_mode, narrow_range=narrow_range, axis=-1 if axis is None else axis, name=name)
