"""Quantised integers: tensors of qint8, quint8, qint16, quint16 and qint32, and arithmetic with them.

A quantised tensor goes with two float32 numbers, those that its lowest and its highest integer stand for; so each op takes
and gives such a pair with every tensor. As in TensorFlow there are no gradients: asking for one is an error, unless the
program registers a rule; `quantise.py` has what is rounded while training.

The formulas are those of TensorFlow's reference kernels, each step rounded to float32 where they round, so that the integers
are the same ones. A compiled program may fuse a product with the sum that it goes into and round them once; so all is
computed in float64, in which sums, products and quotients of float32 numbers are exact enough, and then rounded.
"""

import collections

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX, as_dtype, bfloat16, float32, qint8, qint32, quint8
from regrad.core.errors import BadValue, ShapeError
from regrad.core.host import HOST
from regrad.core.opdef import Refusal, Spec, define_op, rank_is, spec_text
from regrad.core.shapes import broadcast, compatible
from regrad.ops import array, conv, convolve, matmul, pool
from regrad.ops.math import away_from_zero
from regrad.ops.window import as_padding, per_axis

QUANTISED = dtypes.QUANTIZED_DTYPES
_MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_ROUNDINGS = ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN")
_HUGE, _TINY = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)


# -- numbers as TensorFlow's kernels round them -------------------------------------------------------
def _rounder(b):
    """Returns the function that rounds float64 numbers to those that float32 has."""
    if b.is_host:
        return lambda x: np.asarray(x, np.float32).astype(np.float64)
    return lambda x: b.lax.reduce_precision(x, 8, 23)


def _wide(b, *arrays):
    return [x.astype(np.float64) for x in arrays]


def _ends(dtype):
    """Returns the lowest and the highest integer of a quantised type, as floats."""
    info = np.iinfo(dtype.as_numpy_dtype)
    return float(info.min), float(info.max)


def _steps(dtype):
    return float(2 ** (8 * np.dtype(dtype.as_numpy_dtype).itemsize))


def _number(b, x, low, high, dtype):
    """Returns the integer nearest to `x`, not clipped, as float64: what the kernels call for single numbers."""
    lowest, _ = _ends(dtype)
    r, steps = _rounder(b), _steps(dtype)
    empty = low == high
    scale = steps / b.np.where(empty, 1.0, r(high - low) * (steps / (steps - 1.0)))
    return b.np.where(empty, 0.0, away_from_zero(b, x * scale) - away_from_zero(b, low * scale) + lowest)


def _nearest(b, x, low, high, dtype):
    """Returns `_number`, clipped to what the type holds."""
    return b.np.clip(_number(b, x, low, high, dtype), *_ends(dtype))


def _stands_for(b, q, low, high, dtype):
    """Returns the numbers that the integers `q` (float64) stand for, as the kernels compute single ones."""
    lowest, _ = _ends(dtype)
    r, steps = _rounder(b), _steps(dtype)
    empty = low == high
    scale = b.np.where(empty, 1.0, r(high - low) * (steps / (steps - 1.0)) / steps)
    first = r(away_from_zero(b, r(low / r(scale))) * r(scale))
    return r(b.np.where(empty, low, first + (q - lowest) * scale))


def _level(b, low, high, dtype):
    """Returns the distance between the numbers of two neighbouring integers."""
    lowest, highest = _ends(dtype)
    return _rounder(b)(_rounder(b)(high - low) / (highest - lowest))


def _all_nearest(b, x, low, high, dtype):
    """Returns the integers nearest to `x` in float64, in single precision as the kernels do with whole arrays."""
    lowest, highest = _ends(dtype)
    r = _rounder(b)
    empty = low == high
    scale = r(b.np.where(empty, 0.0, (_steps(dtype) - 1.0) / b.np.where(empty, 1.0, r(high - low))))
    shift = r(away_from_zero(b, r(low * scale)) - r(lowest))
    whole = r(away_from_zero(b, r(x * scale)) - shift)
    return b.np.clip(whole, max(lowest, -2147483648.0), min(highest, 2147483520.0))


def _all_stand_for(b, q, low, high, dtype):
    """Returns the numbers that the integers `q` (float64) stand for, in single precision."""
    lowest, _ = _ends(dtype)
    r = _rounder(b)
    scale = r(r(high - low) / (_steps(dtype) - 1.0))
    empty = low == high
    first = b.np.where(empty, low, r(away_from_zero(b, r(low / b.np.where(scale == 0, 1.0, scale))) * scale))
    return r(r(first - r(lowest * scale)) + r(r(q) * scale))


def _integers(b, x, dtype):
    return b.cast(x, dtype)


def _single(b, *numbers):
    return tuple(b.cast(x, float32) for x in numbers)


def _gives(op_type, dtype, *allowed):
    if dtype not in allowed:
        raise TypeError(f"{op_type} gives {' or '.join(t.name for t in allowed)}, not {dtype.name}")


# -- the shapes of ranges -----------------------------------------------------------------------------
def _ranges(*pairs):
    """Refuses ends of ranges that are no scalars: (what, Spec) pairs."""
    for what, t in pairs:
        rank_is(t, 0, what)


_SCALAR = Spec((), float32)


def _along(b, end, axis, rank):
    """Returns the ends of slices so that they broadcast along `axis`; a single one as it is."""
    return end if axis < 0 else end.reshape(tuple(-1 if i == axis else 1 for i in range(rank)))


def _slices(x, low, high, axis):
    """Checks the ends of a range, one pair or one for each index of `axis`; returns their dims."""
    if axis < -1:
        raise ShapeError(f"axis must be at least -1, got {axis}")
    if axis >= 0 and x.dims is not None and axis >= len(x.dims):
        raise ShapeError(f"Axis must be less than input dimension({len(x.dims)}), got {axis} for {spec_text(x)}")
    wanted = () if axis == -1 else (None if x.dims is None else x.dims[axis],)
    for what, t in (("min_range", low), ("max_range", high)):
        if t.dims is not None and len(t.dims) != len(wanted):
            raise ShapeError(f"Shape must be rank {len(wanted)} but is rank {len(t.dims)} for {what}, {spec_text(t)}, "
                             f"with axis={axis}")
        if not compatible(t.dims, wanted):
            raise ShapeError(f"Dimensions must be equal, but are {t.dims[0]} and {wanted[0]}: {what} is {spec_text(t)}, "
                             f"input {spec_text(x)}, with axis={axis}")
    return wanted


# -- QuantizeV2 and Dequantize ------------------------------------------------------------------------
def _quantize_infer(x, low, high, *, T, mode, round_mode, narrow_range, axis, ensure_minimum_range):
    if T not in QUANTISED:
        raise TypeError(f"Value passed to parameter 'T' has DataType {T.name} not in list of allowed values: "
                        f"{dtypes.names(QUANTISED)}")
    if mode not in _MODES:
        raise ValueError(f"Value for attr 'mode' of {mode!r} is not in the list of allowed values: {', '.join(_MODES)}")
    if round_mode not in _ROUNDINGS:
        raise ValueError(f"Value for attr 'round_mode' of {round_mode!r} is not in the list of allowed values: "
                         f"{', '.join(_ROUNDINGS)}")
    if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
        raise BadValue(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is {mode!r}.")
    dims = _slices(x, low, high, axis)
    return [Spec(x.dims, T), Spec(dims, float32), Spec(dims, float32)]


def _quantize_lower(b, x, low, high, *, T, mode, round_mode, narrow_range, axis, ensure_minimum_range):
    r, (lowest, highest) = _rounder(b), _ends(T)
    x, given, above = _wide(b, x, low, high)
    low = b.np.minimum(given, 0.0)
    room = r(b.np.maximum(1.0, b.np.maximum(abs(given), abs(above))) * float(np.float32(ensure_minimum_range)))
    high = b.np.maximum(b.np.maximum(above, r(low + room)), 0.0)
    if mode == "SCALED":
        least = lowest + narrow_range

        def factor(count, end):
            used = count * end > 0
            return b.np.where(used, r(r(count) / b.np.where(used, end, 1.0)), _HUGE)

        scale = b.np.minimum(factor(least, low), factor(highest, high))
        low, high = (r(r(end) / scale) for end in (least, highest))
        low = b.np.where(abs(low) < _TINY, 0.0, low)  # as the kernels' processors do
    first, last = _along(b, low, axis, x.ndim), _along(b, high, axis, x.ndim)
    inside = b.np.clip(x, first, last)
    if mode == "MIN_FIRST":
        whole = _all_nearest(b, x, first, last, T)
    elif mode == "MIN_COMBINED":
        shifted = r(r(inside - first) * r((highest - lowest) / r(last - first)))
        if lowest < 0:
            whole = away_from_zero(b, r(shifted - r((highest - lowest + 1) / 2)))
        else:
            whole = b.np.floor(r(shifted + 0.5))
    else:
        exact = r(inside * _along(b, scale, axis, x.ndim))
        whole = b.np.rint(exact) if round_mode == "HALF_TO_EVEN" else away_from_zero(b, exact)
    return (_integers(b, b.np.clip(whole, lowest, highest), T), *_single(b, low, high))


quantizev2_op = define_op(
    "QuantizeV2", "input: float32, min_range: float32, max_range: float32", infer=_quantize_infer, lower=_quantize_lower,
    attrs={"T": None, "mode": "MIN_COMBINED", "round_mode": "HALF_AWAY_FROM_ZERO", "narrow_range": False, "axis": -1,
           "ensure_minimum_range": 0.01})
quantizev2_op.declare(refusal=Refusal("input_max_range must be larger than input_min_range.",
                                      lambda b, result, x, low, high, **attrs: low > high))

QuantizeV2 = collections.namedtuple("QuantizeV2", "output output_min output_max")


def _positive(axis, x):
    """Returns `axis` counted from the front, -1 for None."""
    if axis is None:
        return -1
    if axis < 0:
        if x.dims is None:
            raise ValueError("input should have known rank to use negative axis.")
        axis %= len(x.dims)
    return axis


def quantize(input, min_range, max_range, T, mode="MIN_COMBINED", round_mode="HALF_AWAY_FROM_ZERO", name=None,
             narrow_range=False, axis=None, ensure_minimum_range=0.01):
    """Returns (output, output_min, output_max): `input` as integers of type `T`, and the numbers that their range stands for.

    Args:
      input: float32 tensor.
      min_range, max_range: float32 scalars, the ends of the range; vectors along `axis` if that is given. The range is
        widened so that it holds 0, and is at least `ensure_minimum_range` max(1, |min_range|, |max_range|) wide.
      T: qint8, quint8, qint16, quint16 or qint32.
      mode: "MIN_COMBINED": the range onto all integers. "MIN_FIRST": as that, with 0 exactly an integer. "SCALED": integers
        are a multiple of the numbers, so that 0 is 0; the range grows on one side.
      round_mode: "HALF_AWAY_FROM_ZERO", or in mode "SCALED" "HALF_TO_EVEN".
      narrow_range: in mode "SCALED", leave out the lowest integer.
      axis: each index of it has a range of its own.

    Raises:
      InvalidArgumentError: when running, max_range lies below min_range.
      ValueError: unknown modes, or shapes that do not fit.
    """
    input = convert_to_tensor(input, float32, name="input")
    return QuantizeV2(*quantizev2_op(
        input, min_range, max_range, T=as_dtype(T), mode=mode, round_mode=round_mode, narrow_range=narrow_range,
        axis=_positive(axis, input), ensure_minimum_range=float(ensure_minimum_range), name=name))


def quantize_v2(input, min_range, max_range, T, mode="MIN_COMBINED", name=None, round_mode="HALF_AWAY_FROM_ZERO",
                narrow_range=False, axis=None, ensure_minimum_range=0.01):
    """`quantize` with its arguments in an older order."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis, ensure_minimum_range)


def _dequantize_infer(q, low, high, *, mode, narrow_range, axis, dtype):
    if mode not in _MODES:
        raise ValueError(f"Value for attr 'mode' of {mode!r} is not in the list of allowed values: {', '.join(_MODES)}")
    if dtype not in (float32, bfloat16):
        raise TypeError(f"Output type must be bfloat16 or float32, got {dtype.name}")
    _slices(q, low, high, axis)
    return Spec(q.dims, dtype)


def _type_of(q):
    """Returns the quantised type whose integers an array holds."""
    return {"int8": qint8, "uint8": quint8, "int16": dtypes.qint16, "uint16": dtypes.quint16, "int32": qint32}[q.dtype.name]


def _dequantize_lower(b, q, low, high, *, mode, narrow_range, axis, dtype):
    r, T = _rounder(b), _type_of(q)
    lowest, highest = _ends(T)
    q, low, high = _wide(b, q, low, high)
    low, high = _along(b, low, axis, q.ndim), _along(b, high, axis, q.ndim)
    if mode == "MIN_COMBINED":
        scale = r(r(high - low) / r(highest - lowest))
        half = (highest - lowest + 1) / 2 if lowest < 0 else 0.0
        x = r(r(r(r(q) + r(half)) * scale) + low)
    elif mode == "MIN_FIRST":
        x = _all_stand_for(b, q, low, high, T)
    else:
        scale = r(high / r(highest))
        if lowest < 0:
            scale = b.np.maximum(r(low / r(lowest + narrow_range)), scale)
        x = r(r(q) * scale)
    return b.cast(b.np.broadcast_to(x, q.shape), dtype)


dequantize_op = define_op("Dequantize", "input: T, min_range: float32, max_range: float32", types={"T": QUANTISED},
                          attrs={"mode": "MIN_COMBINED", "narrow_range": False, "axis": -1, "dtype": float32},
                          infer=_dequantize_infer, lower=_dequantize_lower)


def dequantize(input, min_range, max_range, mode="MIN_COMBINED", name=None, axis=None, narrow_range=False, dtype=float32):
    """Returns the numbers that the integers of a quantised tensor stand for.

    Args:
      input: tensor of a quantised type.
      min_range, max_range: float32 scalars, what its lowest and highest integer stand for; vectors along `axis` if given.
      mode, narrow_range: as in `quantize`.
      dtype: float32 or bfloat16.
    """
    input = convert_to_tensor(input, name="input")
    return dequantize_op(input, min_range, max_range, mode=mode, narrow_range=narrow_range, axis=_positive(axis, input),
                         dtype=as_dtype(dtype), name=name)


# -- from one range to another --------------------------------------------------------------------------
def _moved(b, q, low, high, T, new_low, new_high, out_type):
    """Returns the integers `q` (float64) of one range as those of another, each by itself, as float64."""
    return _nearest(b, _stands_for(b, q, low, high, T), new_low, new_high, out_type)


_FRACTION = 16  # bits below the point of the kernels' numbers with a fixed one


def _narrowed(b, q, low, high, new_low, new_high):
    """Returns the integers of a qint32 array as quint8 of another range, in integer arithmetic, as float64."""
    r, one = _rounder(b), 1 << _FRACTION
    width, new_width = r(high - low), r(new_high - new_low)
    empty = new_width == 0
    divisor = b.np.where(empty, 1.0, new_width)

    def whole(x):
        return b.np.where(empty, 0.0, b.np.trunc(x)).astype(np.int64)

    per_step = r(255.0 / divisor)
    scale = whole(255.0 * one * width / divisor)
    offset = whole(r(r(r(r(low + high) / 2.0) * per_step) * one))
    new_offset = whole(one * (new_low * 255.0) / divisor)
    fixed = ((q.astype(np.int64) * scale) >> 32) + offset - new_offset + (one >> 1)
    return b.np.clip(fixed >> _FRACTION, 0, 255)


def _used_range(b, q, low, high):
    """Returns the numbers that the smallest (at most 0) and the largest integer of a qint32 array stand for."""
    q = q.astype(np.int64)
    least = b.np.min(q, initial=2**31 - 1).astype(np.float64)
    most = b.np.max(q, initial=-(2**31)).astype(np.float64)
    return b.np.minimum(_stands_for(b, least, low, high, qint32), 0.0), _stands_for(b, most, low, high, qint32)


def _requantize_infer(q, low, high, new_low, new_high, *, out_type):
    _gives("Requantize", out_type, qint8, quint8)
    _ranges(("input_min", low), ("input_max", high), ("requested_output_min", new_low), ("requested_output_max", new_high))
    return [Spec(q.dims, out_type), _SCALAR, _SCALAR]


def _requantize_lower(b, q, low, high, new_low, new_high, *, out_type):
    low, high, first, last = _wide(b, low, high, new_low, new_high)
    if out_type is quint8:
        moved = _narrowed(b, q, low, high, first, last)
    else:
        moved = _moved(b, q.astype(np.float64), low, high, qint32, first, last, out_type)
    return _integers(b, moved, out_type), new_low, new_high


requantize_op = define_op(
    "Requantize", "input: T, input_min: float32, input_max: float32, requested_output_min: float32, "
    "requested_output_max: float32", types={"T": {qint32}}, attrs={"out_type": None},
    infer=_requantize_infer, lower=_requantize_lower)
requantize_op.declare(refusal=Refusal(
    "requested_output_min must be <= 0, and requested_output_max >= requested_output_min",
    lambda b, result, q, low, high, new_low, new_high, **attrs: (new_low > 0) | (new_high < new_low)))


def _range_infer(q, low, high):
    _ranges(("input_min", low), ("input_max", high))
    return [_SCALAR, _SCALAR]


requantizationrange_op = define_op(
    "RequantizationRange", "input: T, input_min: float32, input_max: float32", types={"T": {qint32}}, infer=_range_infer,
    lower=lambda b, q, low, high: _single(b, *_used_range(b, q, *_wide(b, low, high))))


def _shrink_infer(q, low, high, *, out_type):
    _gives("QuantizeDownAndShrinkRange", out_type, quint8)
    _ranges(("input_min", low), ("input_max", high))
    return [Spec(q.dims, out_type), _SCALAR, _SCALAR]


def _shrink_lower(b, q, low, high, *, out_type):
    low, high = _wide(b, low, high)
    first, last = _used_range(b, q, low, high)
    return (_integers(b, _narrowed(b, q, low, high, first, last), out_type), *_single(b, first, last))


quantizedownandshrinkrange_op = define_op("QuantizeDownAndShrinkRange", "input: T, input_min: float32, input_max: float32",
                           types={"T": {qint32}}, attrs={"out_type": quint8}, infer=_shrink_infer, lower=_shrink_lower)


# -- arithmetic --------------------------------------------------------------------------------------------
_BYTE = {"T": {quint8}}


def _product_range(b, low_x, high_x, x_type, low_y, high_y, y_type):
    """Returns the range of qint32 in which a product of the two steps is the distance of neighbours."""
    level = _rounder(b)(_level(b, low_x, high_x, x_type) * _level(b, low_y, high_y, y_type))
    return _single(b, *(_rounder(b)(level * _rounder(b)(end)) for end in map(np.float64, _ends(qint32))))


def _from_zero(b, q, low, high):
    """Returns integers as int32 counted from the one that stands for 0."""
    T = _type_of(q)
    low, high = _wide(b, low, high)
    return q.astype(np.int32) - _number(b, 0.0, low, high, T).astype(np.int32)


def _sum_range(b, low_x, high_x, low_y, high_y, bits):
    """Returns the range in which sums of two quantised tensors are given: 2^bits times as wide as they, 0 in its middle."""
    largest = b.np.maximum(b.np.maximum(high_x, -low_x), b.np.maximum(high_y, -low_y))
    high = _rounder(b)(largest * float(1 << bits))
    return -high, high


def _two_infer(x, y, *ends, Toutput):
    _gives("An operation on two quantised tensors", Toutput, qint32)
    _ranges(*zip(("min_x", "max_x", "min_y", "max_y"), ends))
    return [Spec(broadcast(x.dims, y.dims), qint32), _SCALAR, _SCALAR]


def _mul_lower(b, x, y, low_x, high_x, low_y, high_y, *, Toutput):
    z = _from_zero(b, x, low_x, high_x) * _from_zero(b, y, low_y, high_y)
    return (z, *_product_range(b, *_wide(b, low_x, high_x), _type_of(x), *_wide(b, low_y, high_y), _type_of(y)))


def _add_lower(b, x, y, *ends, Toutput):
    low_x, high_x, low_y, high_y = _wide(b, *ends)
    low, high = _sum_range(b, low_x, high_x, low_y, high_y, 14)

    def spread(q, *of):  # a multiple of the integer, which is what the kernels make of it
        first, second = (_moved(b, np.float64(n), *of, _type_of(q), low, high, qint32).astype(np.int32) for n in (0, 1))
        return q.astype(np.int32) * (second - first) + first

    return (spread(x, low_x, high_x) + spread(y, low_y, high_y), *_single(b, low, high))


quantizedmul_op, quantizedadd_op = (
    define_op(op_type, "x: T, y: T, min_x: float32, max_x: float32, min_y: float32, max_y: float32", types=_BYTE,
              attrs={"Toutput": qint32}, infer=_two_infer, lower=lower)
    for op_type, lower in (("QuantizedMul", _mul_lower), ("QuantizedAdd", _add_lower)))


def _bias_infer(x, bias, *ends, out_type):
    _gives("QuantizedBiasAdd", out_type, qint32)
    _ranges(*zip(("min_input", "max_input", "min_bias", "max_bias"), ends))
    rank_is(bias, 1, "bias")
    if x.dims is not None and (not x.dims or not compatible(x.dims[-1:], bias.dims)):
        raise ShapeError(f"Must provide as many biases as the last dimension of the input tensor: input is {spec_text(x)}, "
                         f"bias {spec_text(bias)}")
    return [Spec(x.dims, qint32), _SCALAR, _SCALAR]


def _bias_lower(b, x, bias, *ends, out_type):
    low_x, high_x, low_y, high_y = _wide(b, *ends)
    low, high = _sum_range(b, low_x, high_x, low_y, high_y, 17)
    z = sum(_all_nearest(b, _all_stand_for(b, q.astype(np.float64), *of, _type_of(q)), low, high, qint32).astype(np.int32)
            for q, of in ((x, (low_x, high_x)), (bias, (low_y, high_y))))
    zero = _nearest(b, 0.0, low, high, qint32).astype(np.int32)  # 0, or by rounding -1
    return (z + zero, *_single(b, low, high))


quantizedbiasadd_op = define_op(
    "QuantizedBiasAdd", "input: T, bias: T, min_input: float32, max_input: float32, min_bias: float32, max_bias: float32",
    types={"T": {qint8, quint8}}, attrs={"out_type": qint32}, infer=_bias_infer, lower=_bias_lower)


def _matmul_infer(x, y, *ends, transpose_a, transpose_b, Toutput, Tactivation):
    _gives("QuantizedMatMul", Toutput, qint32)
    _ranges(*zip(("min_a", "max_a", "min_b", "max_b"), ends))
    product = matmul.matmul_op.infer(x, y, transpose_a=transpose_a, transpose_b=transpose_b)
    return [Spec(product.dims, qint32), _SCALAR, _SCALAR]


def _matmul_lower(b, x, y, low_x, high_x, low_y, high_y, *, transpose_a, transpose_b, Toutput, Tactivation):
    x_type, y_type = _type_of(x), _type_of(y)
    x, y = _from_zero(b, x, low_x, high_x), _from_zero(b, y, low_y, high_y)
    z = b.np.matmul(x.T if transpose_a else x, y.T if transpose_b else y)
    return (z, *_product_range(b, *_wide(b, low_x, high_x), x_type, *_wide(b, low_y, high_y), y_type))


quantizedmatmul_op = define_op(
    "QuantizedMatMul", "a: T, b: T, min_a: float32, max_a: float32, min_b: float32, max_b: float32", types=_BYTE,
    attrs={"Toutput": qint32, "transpose_a": False, "transpose_b": False, "Tactivation": quint8}, infer=_matmul_infer,
    lower=_matmul_lower)


# -- neural networks --------------------------------------------------------------------------------------
def _conv_attrs(strides, padding, dilations):
    return {"strides": strides, "padding": padding, "dilations": dilations, "data_format": "NHWC"}


def _conv_infer(x, w, *ends, out_type, strides, padding, dilations):
    _gives("QuantizedConv2D", out_type, qint32)
    _ranges(*zip(("min_input", "max_input", "min_filter", "max_filter"), ends))
    if tuple(dilations) != (1, 1, 1, 1):
        raise BadValue(f"QuantizedConv2D: dilations must be 1, got {dilations}")
    for t in (x, w):
        rank_is(t, 4, "input" if t is x else "filter")
    if x.dims is not None and w.dims is not None and not compatible(x.dims[3:], w.dims[2:3]):
        raise ShapeError(f"input must have the same depth as filter: {spec_text(x)} and {spec_text(w)}")
    return [Spec(conv._conv_infer(x, w, **_conv_attrs(strides, padding, dilations)).dims, qint32), _SCALAR, _SCALAR]


def _conv_lower(b, x, w, low_x, high_x, low_w, high_w, *, out_type, strides, padding, dilations):
    x_type, w_type = _type_of(x), _type_of(w)
    x, w = _from_zero(b, x, low_x, high_x), _from_zero(b, w, low_w, high_w)
    windows = conv._windows(x.shape, w.shape[:-2], **_conv_attrs(strides, padding, dilations))
    z = convolve._forward_by_taps(b, x, w, windows)  # the padding stands for 0, which counted from there is 0
    return (z, *_product_range(b, *_wide(b, low_x, high_x), x_type, *_wide(b, low_w, high_w), w_type))


quantizedconv2d_op = define_op(
    "QuantizedConv2D", "input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32, "
    "max_filter: float32", types={"Tinput": {quint8}, "Tfilter": {qint8, quint8}},
    attrs={"out_type": qint32, "strides": None, "padding": None, "dilations": (1, 1, 1, 1)}, infer=_conv_infer,
    lower=_conv_lower)


def quantized_conv2d(input, filter, min_input, max_input, min_filter, max_filter, strides, padding, out_type=qint32,
                     dilations=(1, 1, 1, 1), name=None):
    """Returns (output, min_output, max_output): the convolution of quantised tensors, as `tf.nn.conv2d` makes it.

    Args:
      input: quint8 [batch, height, width, channels].
      filter: quint8 or qint8 [height, width, channels, output channels].
      min_input, max_input, min_filter, max_filter: float32 scalars, the ranges that they stand for.
      strides: list of 4 ints.
      padding: "SAME" or "VALID".
      out_type: qint32.
    """
    return QuantizedConv2D(*quantizedconv2d_op(
        input, filter, min_input, max_input, min_filter, max_filter, out_type=as_dtype(out_type),
        strides=per_axis(strides, "NHWC", "strides"), padding=as_padding(padding, "NHWC")[0],
        dilations=per_axis(dilations, "NHWC", "dilations"), name=name))


QuantizedConv2D = collections.namedtuple("QuantizedConv2D", "output min_output max_output")


def _relu_infer(x, *ends, out_type):
    if out_type is not x.dtype:
        raise TypeError(f"features are {x.dtype.name}, out_type is {out_type.name}: they must be the same")
    _ranges(*zip(("min_features", "max_features", "max_value"), ends))
    return [Spec(x.dims, out_type), _SCALAR, _SCALAR]


def _relu_lower(b, x, low, high, most=None):
    """Returns `x` clipped to the integers that stand for 0 and `most`."""
    T, (first, last) = _type_of(x), _wide(b, low, high)
    y = b.np.maximum(x.astype(np.float64), _nearest(b, 0.0, first, last, T))
    if most is not None:
        y = b.np.minimum(y, _nearest(b, most, first, last, T))
    return _integers(b, y, T), low, high


_RELU = {"types": {"T": {quint8, qint32}}, "attrs": {"out_type": quint8}}
quantizedrelu_op = define_op(
    "QuantizedRelu", "features: T, min_features: float32, max_features: float32", infer=_relu_infer,
    lower=lambda b, x, low, high, *, out_type: _relu_lower(b, x, low, high), **_RELU)
quantizedrelu6_op = define_op(
    "QuantizedRelu6", "features: T, min_features: float32, max_features: float32", infer=_relu_infer,
    lower=lambda b, x, low, high, *, out_type: _relu_lower(b, x, low, high, 6.0), **_RELU)
quantizedrelux_op = define_op(
    "QuantizedReluX", "features: T, max_value: float32, min_features: float32, max_features: float32",
    infer=lambda x, most, low, high, *, out_type: _relu_infer(x, low, high, most, out_type=out_type),
    lower=lambda b, x, most, low, high, *, out_type: _relu_lower(b, x, low, high, *_wide(b, most)), **_RELU)

QuantizedReluX = collections.namedtuple("QuantizedReluX", "activations min_activations max_activations")


def quantized_relu_x(features, max_value, min_features, max_features, out_type=quint8, name=None):
    """Returns (activations, min, max): quantised numbers clipped to [0, max_value], in the range in which they came.

    Args:
      features: quint8 or qint32 tensor.
      max_value, min_features, max_features: float32 scalars.
      out_type: the type of `features`.
    """
    return QuantizedReluX(*quantizedrelux_op(features, max_value, min_features, max_features, out_type=as_dtype(out_type),
                                          name=name))


def _pool_infer(x, low, high, *, ksize, strides, padding):
    _ranges(("min_input", low), ("max_input", high))
    rank_is(x, 4, "input")
    return [Spec(pool._pooled(x, ksize, strides, padding, "NHWC"), x.dtype), _SCALAR, _SCALAR]


def _maxpool_lower(b, x, low, high, *, ksize, strides, padding):
    return pool._max_lower(b, x, pool.pool_windows(x.shape, ksize, strides, padding)), low, high


def _avgpool_lower(b, x, low, high, *, ksize, strides, padding):
    # Sums of integers divided by how many elements of the image lie in the window, towards zero.
    windows = pool.pool_windows(x.shape, ksize, strides, padding)
    sums, counts = x.astype(np.int32), np.ones([1, *x.shape[1:3], 1], np.int32)
    for w in reversed(windows):
        sums = pool._sum_along(b, sums, w)
        counts = pool._sum_along(HOST, counts, w)
    return _integers(b, b.np.trunc(b.divide(sums.astype(np.float64), counts)), _type_of(x)), low, high


_POOL = {"types": {"T": {qint8, quint8}}, "attrs": {"ksize": None, "strides": None, "padding": None}, "infer": _pool_infer}
quantizedmaxpool_op = define_op("QuantizedMaxPool", "input: T, min_input: float32, max_input: float32", lower=_maxpool_lower,
                                **_POOL)
quantizedavgpool_op = define_op("QuantizedAvgPool", "input: T, min_input: float32, max_input: float32", lower=_avgpool_lower,
                                **_POOL)


def _pool(op, type, input, min_input, max_input, ksize, strides, padding, name):
    made = op(input, min_input, max_input, ksize=per_axis(ksize, "NHWC", "ksize"), strides=per_axis(strides, "NHWC", "strides"),
              padding=as_padding(padding, "NHWC")[0], name=name)
    return type(*made)


QuantizedMaxPool = collections.namedtuple("QuantizedMaxPool", "output min_output max_output")
QuantizedAvgPool = collections.namedtuple("QuantizedAvgPool", "output min_output max_output")


def quantized_max_pool(input, min_input, max_input, ksize, strides, padding, name=None):
    """Returns (output, min_output, max_output): the largest element of each window of a qint8 or quint8 image.

    `ksize` and `strides` are lists of 4 ints, `padding` is "SAME" or "VALID"; the range is that of `input`.
    """
    return _pool(quantizedmaxpool_op, QuantizedMaxPool, input, min_input, max_input, ksize, strides, padding, name)


def quantized_avg_pool(input, min_input, max_input, ksize, strides, padding, name=None):
    """Returns (output, min_output, max_output): the mean of each window of a qint8 or quint8 image, rounded towards zero.

    `ksize` and `strides` are lists of 4 ints, `padding` is "SAME" or "VALID"; the range is that of `input`.
    """
    return _pool(quantizedavgpool_op, QuantizedAvgPool, input, min_input, max_input, ksize, strides, padding, name)


# -- shapes ----------------------------------------------------------------------------------------------
def _reshape_infer(x, shape, low, high):
    _ranges(("input_min", low), ("input_max", high))
    return [array.reshape_op.infer(x, shape), _SCALAR, _SCALAR]


quantizedreshape_op = define_op(
    "QuantizedReshape", "tensor: T, shape: Tshape, input_min: float32, input_max: float32",
    types={"T": QUANTISED, "Tshape": INDEX}, static=(1,), infer=_reshape_infer,
    lower=lambda b, x, shape, low, high: (array.reshape_op.lower(b, x, shape), low, high))


def _concat_infer(axis, values, lows, highs):
    for end in (*lows, *highs):
        rank_is(end, 0, "the ends of the ranges")
    rank_is(axis, 0, "concat_dim")
    if not len(values) == len(lows) == len(highs):
        raise ShapeError(f"QuantizedConcat: {len(values)} values, {len(lows)} minima and {len(highs)} maxima: there must be as "
                         "many of each")
    return [array.concat_op.infer(values, axis), _SCALAR, _SCALAR]


def _concat_lower(b, axis, values, lows, highs):
    T = _type_of(values[0])
    lows, highs = _wide(b, *lows), _wide(b, *highs)
    low, high = lows[0], highs[0]
    for other_low, other_high in zip(lows[1:], highs[1:]):
        low, high = b.np.minimum(low, other_low), b.np.maximum(high, other_high)
    if T is qint32:  # 0 in the middle
        high = b.np.maximum(abs(low), abs(high))
        low = -high
    moved = []
    for q, first, last in zip(values, lows, highs):
        same = (first == low) & (last == high)
        new = _all_nearest(b, _all_stand_for(b, q.astype(np.float64), first, last, T), low, high, T)
        moved.append(b.np.where(same, q, _integers(b, new, T)))
    return (b.np.concatenate(moved, int(axis)), *_single(b, low, high))


quantizedconcat_op = define_op(
    "QuantizedConcat", "concat_dim: int32, values: N*T, input_mins: N*float32, input_maxes: N*float32",
    types={"T": {quint8, qint32}}, static=(0,), infer=_concat_infer, lower=_concat_lower)

QuantizedConcat = collections.namedtuple("QuantizedConcat", "output output_min output_max")


def quantized_concat(concat_dim, values, input_mins, input_maxes, name=None):
    """Returns (output, output_min, output_max): quantised tensors joined along an axis, in a range that holds all theirs.

    Args:
      concat_dim: int scalar, the axis.
      values: list of quint8 or qint32 tensors.
      input_mins, input_maxes: lists of float32 scalars, their ranges.
    """
    return QuantizedConcat(*quantizedconcat_op(concat_dim, values, input_mins, input_maxes, name=name))
