"""Element-wise arithmetic.

One block per op: shape rule, lowering, definition, public function. Gradients: `math_grad.py`, under the same op
types. Tests: `tests/cases/math.py`.

In every rule tensors are positional and attributes keyword-only. `b` is the backend (`b.np` is NumPy or jax.numpy).
"""

import functools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, INEXACT, INTEGER, NUMERIC, REAL, UNSIGNED, as_dtype
from regrad.core.errors import UnimplementedError
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Refusal, Spec, broadcasted, define_op, extent, same
from regrad.core.operation import Tensor
from regrad.core.shapes import as_dims, merge
from regrad.ops import arcs

ARITHMETIC = NUMERIC | {dtypes.string}
SIGNED = NUMERIC - UNSIGNED


def of_values(function):
    """Lets a function of one tensor take IndexedSlices and SparseTensors: it is applied to what they hold."""

    @functools.wraps(function)
    def applied(x, *args, **kwargs):
        if type(x) is Tensor or not (hasattr(x, "dense_shape") and hasattr(x, "indices")):
            return function(x, *args, **kwargs)
        values = function(x.values, *args, **kwargs)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(values, x.indices, x.dense_shape)
        from regrad.ops.sparse import SparseTensor

        return SparseTensor(x.indices, values, x.dense_shape)

    return applied


def unary(op_type, function, types=NUMERIC, partial=False, lower=None):
    """Defines an op of one tensor, of the same shape and dtype, computed by `b.np.<function>` or `lower`."""
    return by_numpy(getattr(np, function), define_op(op_type, "x", infer=same, types={"T": types}, partial=partial,
                                                     lower=lower or (lambda b, x: getattr(b.np, function)(x))))


def by_numpy(function, op):
    """Notes that NumPy's `function` of the op's operands is its lowering on the host; returns the op."""
    op.declare(numpy=lambda op, known: function)
    return op


def binary(op_type, function, types=NUMERIC, partial=False, lower=None):
    """Defines an op of two tensors of one dtype, with broadcasting, computed by `b.np.<function>` or `lower`."""
    return by_numpy(getattr(np, function), define_op(op_type, "x, y", infer=broadcasted, types={"T": types}, partial=partial,
                                                     lower=lower or (lambda b, x, y: getattr(b.np, function)(x, y))))


# -- sums and products -----------------------------------------------------------------
add_op = binary("Add", "add", ARITHMETIC, partial=True)
sub_op = binary("Sub", "subtract", partial=True)
mul_op = binary("Mul", "multiply", partial=True)
neg_op = unary("Neg", "negative", SIGNED, partial=True)


def add(x, y, name=None):
    """Returns x + y element-wise, with broadcasting; strings are concatenated.

    Example:
      print(tf.Session().run(tf.add([1, 2], 10)))
      #> [11 12]
    """
    return add_op(x, y, name=name)


def subtract(x, y, name=None):
    """Returns x - y element-wise, with broadcasting.

    Example:
      print(tf.Session().run(tf.subtract([1, 2], 10)))
      #> [-9 -8]
    """
    return sub_op(x, y, name=name)


def multiply(x, y, name=None):
    """Returns x * y element-wise, with broadcasting.

    Raises:
      TypeError: the dtypes differ.
      ShapeError: (a ValueError) the shapes do not broadcast.

    Example:
      print(tf.Session().run(tf.multiply([1, 2], 10)))
      #> [10 20]
    """
    return mul_op(x, y, name=name)


@of_values
def negative(x, name=None):
    """Returns -x element-wise; what is sparse stays so.

    Example:
      print(tf.Session().run(tf.negative([1, -2])))
      #> [-1  2]
    """
    return neg_op(x, name=name)


# -- AddN ------------------------------------------------------------------------------
def _addn_infer(inputs):
    dims = inputs[0].dims
    for x in inputs[1:]:
        dims = merge(dims, x.dims, "AddN adds tensors of one shape;")
    return Spec(dims, inputs[0].dtype)


def _addn_lower(b, inputs):
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    return total


addn_op = define_op("AddN", "inputs: N*T", infer=_addn_infer, lower=_addn_lower, types={"T": NUMERIC})


def add_n(inputs, name=None):
    """Returns the sum of a list of tensors of one shape and dtype.

    Raises:
      ValueError: the list is empty, or shapes differ.
      TypeError: dtypes differ.

    Example:
      print(tf.Session().run(tf.add_n([[1, 2], [10, 20], [100, 200]])))
      #> [111 222]
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape")
    inputs = [convert_to_tensor(x) for x in inputs]
    if len(inputs) == 1:
        return inputs[0] if not name else _identity(inputs[0], name)
    return addn_op(inputs, name=name)


def _identity(x, name):
    from regrad.ops.array import identity

    return identity(x, name=name)


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """Returns the sum of a list of tensors of one shape and dtype, as `add_n`.

    Args:
      inputs: list of tensors.
      shape: the expected shape, checked against theirs.
      tensor_dtype: the expected dtype, checked against theirs.

    Raises:
      ValueError: the list is empty, or shapes do not fit.
      TypeError: `tensor_dtype` is not that of the inputs.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    inputs = [convert_to_tensor(x) for x in inputs]
    if any(x.dtype is not inputs[0].dtype for x in inputs):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape; the dtypes are "
                         f"{dtypes.names({x.dtype for x in inputs})}")
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not inputs[0].dtype:
        raise TypeError(f"tensor_dtype is {as_dtype(tensor_dtype).name}, but input is of type {inputs[0].dtype.name}")
    dims = as_dims(shape)
    for x in inputs:
        dims = merge(dims, x.dims, "accumulate_n adds tensors of one shape;")
    if len(inputs) == 1 and tensor_dtype is None:
        return inputs[0] if not name else _identity(inputs[0], name)
    return accumulaten_op(inputs, shape=dims, name=name)


accumulaten_op = define_op("AccumulateNV2", "inputs: N*T", attrs={"shape": None}, types={"T": NUMERIC},
                           infer=lambda xs, *, shape: Spec(merge(shape, _addn_infer(xs).dims), xs[0].dtype),
                           lower=lambda b, xs, *, shape: _addn_lower(b, xs))


def scalar_mul(scalar, x, name=None):
    """Returns `scalar` (a number or scalar tensor) times `x`; IndexedSlices stay sparse.

    Raises:
      ValueError: `scalar` is not a scalar.
    """
    dtype = x.dtype if hasattr(x, "_as_graph_element") or isinstance(x, IndexedSlices) else None
    scalar = convert_to_tensor(scalar, dtype=dtype, name="scalar")
    if scalar.dims not in ((), None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(mul_op(scalar, x.values, name=name), x.indices, x.dense_shape)
    return mul_op(scalar, x, name=name)


def polyval(coeffs, x, name=None):
    """Returns coeffs[0] x^(n-1) + ... + coeffs[n-1], by Horner's scheme; 0 for no coefficients.

    Args:
      coeffs: list of tensors or numbers, highest power first.
      x: tensor.
    """
    if not isinstance(coeffs, (list, tuple)):
        raise ValueError(f"Argument coeffs must be list type found {type(coeffs)}.")
    with get_default_graph().name_scope(name or "polyval"):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            from regrad.ops.array import zeros_like

            return zeros_like(x)
        coeffs = [convert_to_tensor(c, dtype=None if hasattr(c, "_as_graph_element") else x.dtype) for c in coeffs]
        total = coeffs[0]
        for c in coeffs[1:]:
            total = add_op(c, mul_op(total, x))
        return total


# -- quotients -------------------------------------------------------------------------
def _truncate_div(b, x, y):
    if x.dtype.kind == "u":
        return b.np.floor_divide(x, y)
    q = b.np.floor_divide(x, y)
    return b.np.where((q < 0) & (q * y != x), q + 1, q).astype(x.dtype)


def _floor_div(b, x, y):
    # For floats the quotient is rounded down, as in TF: with NumPy's floor_divide 1 // 0.1 is 9, and inf // 1 is NaN.
    return b.np.floor(b.divide(x, y)) if x.dtype.kind in "fV" else b.np.floor_divide(x, y)


def _div(b, x, y):
    return _truncate_div(b, x, y) if x.dtype.kind in "iu" else b.divide(x, y)


realdiv_op = define_op("RealDiv", "x, y", infer=broadcasted, types={"T": INEXACT},
                       lower=lambda b, x, y: b.divide(x, y))
div_op = define_op("Div", "x, y", infer=broadcasted, types={"T": NUMERIC}, lower=_div)
floordiv_op = define_op("FloorDiv", "x, y", infer=broadcasted, types={"T": REAL}, partial=True,
                        lower=_floor_div)
truncatediv_op = define_op("TruncateDiv", "x, y", infer=broadcasted, types={"T": REAL},
                           lower=lambda b, x, y: b.np.trunc(b.divide(x, y)) if x.dtype.kind == "f"
                           else _truncate_div(b, x, y))
floormod_op = define_op("FloorMod", "x, y", infer=broadcasted, types={"T": REAL}, partial=True,
                        lower=lambda b, x, y: b.np.mod(x, y))
truncatemod_op = define_op("TruncateMod", "x, y", infer=broadcasted, types={"T": FLOATING | INDEX},
                           lower=lambda b, x, y: b.np.fmod(x, y))

def _has_no_zero(x):
    low, high = extent(x)
    return low > 0 or high < 0 or x.value() is not None and np.all(x.value())


_BY_ZERO = Refusal("Integer division by zero", lambda b, result, x, y: (y == 0) & bool(result.size), INTEGER,
                   never=lambda x, y: _has_no_zero(y))
for _op in (div_op, floordiv_op, truncatediv_op, floormod_op, truncatemod_op):
    _op.declare(refusal=_BY_ZERO)


def _divnonan_lower(b, x, y):
    zero = y == 0
    return b.np.where(zero, b.np.zeros_like(x), b.divide(x, b.np.where(zero, b.np.ones_like(y), y)))


divnonan_op = define_op("DivNoNan", "x, y", infer=broadcasted, types={"T": INEXACT}, lower=_divnonan_lower)

TRUE_DIVISION = {dtypes.int8: dtypes.float32, dtypes.uint8: dtypes.float32, dtypes.int16: dtypes.float32,
                 dtypes.uint16: dtypes.float32, dtypes.int32: dtypes.float64, dtypes.uint32: dtypes.float64,
                 dtypes.int64: dtypes.float64, dtypes.uint64: dtypes.float64}


def truediv(x, y, name=None):
    """Returns x / y as Python 3 divides: integers give float32 (8 and 16 bits) or float64.

    Raises:
      TypeError: the dtypes differ.
    """
    with get_default_graph().name_scope(name or "truediv") as scope:
        x, y = _two(x, y)
        if x.dtype in TRUE_DIVISION:
            x, y = cast(x, TRUE_DIVISION[x.dtype]), cast(y, TRUE_DIVISION[x.dtype])
        return realdiv_op(x, y, name=scope)


def _two(x, y):
    """Converts two operands to tensors of one dtype, each giving it to the other if it is a Python number."""
    x_is_tensor = hasattr(x, "_as_graph_element")
    if x_is_tensor or not hasattr(y, "_as_graph_element"):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=None if hasattr(y, "_as_graph_element") else x.dtype)
    else:
        y = convert_to_tensor(y, name="y")
        x = convert_to_tensor(x, name="x", dtype=y.dtype)
    if x.dtype is not y.dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
    return x, y


def realdiv(x, y, name=None):
    """Returns x / y for floating and complex tensors."""
    return realdiv_op(x, y, name=name)


def div(x, y, name=None):
    """Returns x / y as Python 2 divides: integers are divided towards zero, as C does."""
    with get_default_graph().name_scope(name or "div") as scope:
        x, y = _two(x, y)
        return (realdiv_op if x.dtype in INEXACT else floordiv_op)(x, y, name=scope)


def divide(x, y, name=None):
    """Returns x / y by Python's rules (`truediv`)."""
    return truediv(x, y, name)


def floordiv(x, y, name=None):
    """Returns floor(x / y) element-wise."""
    return floordiv_op(x, y, name=name or "floordiv")


floor_div = floordiv


def truncatediv(x, y, name=None):
    """Returns x / y rounded towards zero."""
    return truncatediv_op(x, y, name=name)


def floormod(x, y, name=None):
    """Returns x - floor(x / y) * y: the remainder with the sign of `y`."""
    return floormod_op(x, y, name=name)


mod = floormod


def truncatemod(x, y, name=None):
    """Returns the remainder with the sign of `x`, as C's fmod."""
    return truncatemod_op(x, y, name=name)


def div_no_nan(x, y, name=None):
    """Returns x / y, and 0 where y is 0, whatever x is."""
    with get_default_graph().name_scope(name or "div_no_nan") as scope:
        x, y = _two(x, y)
        return divnonan_op(x, y, name=scope)


divide_no_nan = div_no_nan


# -- products whose zero wins over infinity and NaN -----------------------------------------------
mulnonan_op = define_op("MulNoNan", "x, y", infer=broadcasted, types={"T": INEXACT},
                        lower=lambda b, x, y: b.np.where(y == 0, _number(x, 0), x * y))
xdivy_op = define_op("Xdivy", "x, y", infer=broadcasted, types={"T": INEXACT},
                     lower=lambda b, x, y: b.np.where(x == 0, _number(x, 0), b.divide(x, y)))
xlogy_op = define_op("Xlogy", "x, y", infer=broadcasted, types={"T": INEXACT},
                     lower=lambda b, x, y: b.np.where(x == 0, _number(x, 0), x * b.np.log(y)))
xlog1py_op = define_op("Xlog1py", "x, y", infer=broadcasted, types={"T": INEXACT},
                       lower=lambda b, x, y: b.np.where(x == 0, _number(x, 0), x * b.np.log1p(y)))


def multiply_no_nan(x, y, name=None):
    """Returns x * y, and 0 where y is 0, even if x is infinite or NaN there."""
    with get_default_graph().name_scope(name or "multiply_no_nan") as scope:
        x, y = _two(x, y)
        return mulnonan_op(x, y, name=scope)


mul_no_nan = multiply_no_nan


def xdivy(x, y, name=None):
    """Returns x / y, and 0 where x is 0, even if y is 0 or NaN there."""
    return xdivy_op(x, y, name=name)


def xlogy(x, y, name=None):
    """Returns x * log(y), and 0 where x is 0, even if log(y) is infinite or NaN there."""
    return xlogy_op(x, y, name=name)


def xlog1py(x, y, name=None):
    """Returns x * log1p(y), and 0 where x is 0, even if log1p(y) is infinite or NaN there."""
    return xlog1py_op(x, y, name=name or "xlog1py")


def reciprocal_no_nan(x, name=None):
    """Returns 1 / x, and 0 where x is 0."""
    with get_default_graph().name_scope(name or "reciprocal_no_nan") as scope:
        x = convert_to_tensor(x, name="x")
        return divnonan_op(convert_to_tensor(1, dtype=x.dtype, name="one"), x, name=scope)


# -- powers and roots -------------------------------------------------------------------
square_op = by_numpy(np.square, define_op("Square", "x", infer=same, types={"T": NUMERIC}, lower=lambda b, x: x * x))
squareddifference_op = define_op("SquaredDifference", "x, y", infer=broadcasted, types={"T": INEXACT | INDEX},
                                 lower=lambda b, x, y: _squared_difference(b, x - y))
sqrt_op = unary("Sqrt", "sqrt", INEXACT)
rsqrt_op = define_op("Rsqrt", "x", infer=same, types={"T": INEXACT},
                     lower=lambda b, x: 1 / b.np.sqrt(x) if b.is_host else b.lax.rsqrt(x))
reciprocal_op = define_op("Reciprocal", "x", infer=same, types={"T": INEXACT}, lower=lambda b, x: b.np.ones_like(x) / x)
pow_op = binary("Pow", "power", SIGNED)
pow_op.declare(refusal=Refusal("Integers to negative integer powers are not allowed",
                               lambda b, result, x, y: (y < 0) & bool(result.size), INTEGER,
                               never=lambda x, y: extent(y)[0] >= 0))


def _squared_difference(b, d):
    return b.np.conj(d) * d if d.dtype.kind == "c" else d * d


@of_values
def square(x, name=None):
    """Returns x * x element-wise: same shape and dtype as `x`; what is sparse stays so.

    Example:
      print(tf.Session().run(tf.square([1.0, -2.0])))
      #> [1. 4.]
    """
    return square_op(x, name=name)


def squared_difference(x, y, name=None):
    """Returns (x - y)^2 element-wise, with broadcasting."""
    return squareddifference_op(x, y, name=name)


@of_values
def sqrt(x, name=None):
    """Returns the square root element-wise; NaN for negative real numbers.

    Example:
      print(tf.Session().run(tf.sqrt([4.0, 9.0])))
      #> [2. 3.]
    """
    return sqrt_op(x, name=name)


def rsqrt(x, name=None):
    """Returns 1 / sqrt(x) element-wise."""
    return rsqrt_op(x, name=name)


def reciprocal(x, name=None):
    """Returns 1 / x element-wise."""
    return reciprocal_op(x, name=name)


def pow(x, y, name=None):
    """Returns x ** y element-wise, with broadcasting."""
    return pow_op(x, y, name=name)


# -- exponentials, logarithms, trigonometry ----------------------------------------------
exp_op = unary("Exp", "exp", INEXACT)
expm1_op = unary("Expm1", "expm1", INEXACT)
log_op = unary("Log", "log", INEXACT)
log1p_op = unary("Log1p", "log1p", INEXACT)

_MANY, _FAR = 65_536, 1e6
_QUARTER = 0.5 * np.pi
_QUARTER_HIGH = np.floor(_QUARTER * 2**30) / 2**30  # times an integer below 2^23 it is exact
_QUARTER_LOW = 6.123233995736766e-17 + (_QUARTER - _QUARTER_HIGH)


def _sine_lower(b, x, quarters):
    """Returns the sine of `x` plus so many right angles; of many float32 numbers in a fifth of the time that XLA takes.

    The angle is reduced in double precision; the polynomials are those of S. Moshier's Cephes. Off by two units of the last
    place at most.
    """
    exact = b.np.cos if quarters else b.np.sin
    if b.is_host or x.dtype != np.float32 or x.size < _MANY:
        return exact(x)

    def near(x):
        wide, f = x.astype(np.float64), np.float32
        turns = b.np.round(wide * (1 / _QUARTER))
        r = ((wide - turns * _QUARTER_HIGH) - turns * _QUARTER_LOW).astype(np.float32)
        z = r * r
        sine = r + r * z * (f(-1.6666654611e-1) + z * (f(8.3321608736e-3) + z * f(-1.9515295891e-4)))
        cosine = f(1) - f(0.5) * z + z * z * (f(4.166664568298827e-2) + z * (f(-1.388731625493765e-3)
                                                                             + z * f(2.443315711809948e-5)))
        part = turns.astype(np.int32) + quarters
        result = b.np.where(part & 1 == 1, cosine, sine)
        return b.np.where(part & 2 == 2, -result, result)

    return b.lax.cond(b.np.all(b.np.abs(x) < _FAR), near, exact, x)


def _sine(op_type, function, quarters):
    return by_numpy(function, define_op(op_type, "x", infer=same, types={"T": INEXACT},
                                        lower=lambda b, x: _sine_lower(b, x, quarters)))


sin_op = _sine("Sin", np.sin, 0)
cos_op = _sine("Cos", np.cos, 1)
tan_op = unary("Tan", "tan", INEXACT)
asin_op = unary("Asin", "arcsin", INEXACT, lower=arcs.lowering("arcsin"))
acos_op = unary("Acos", "arccos", INEXACT, lower=arcs.lowering("arccos"))
atan_op = unary("Atan", "arctan", INEXACT, lower=arcs.lowering("arctan"))
sinh_op = unary("Sinh", "sinh", INEXACT)
cosh_op = unary("Cosh", "cosh", INEXACT)
tanh_op = unary("Tanh", "tanh", INEXACT)
asinh_op = unary("Asinh", "arcsinh", INEXACT)
acosh_op = unary("Acosh", "arccosh", INEXACT)
atanh_op = unary("Atanh", "arctanh", INEXACT)
atan2_op = binary("Atan2", "arctan2", FLOATING, lower=arcs.lowering("arctan2"))


def _sigmoid_lower(b, x):
    # 0.5 (1 + tanh(x / 2)) has no overflow and one transcendental.
    half = x.dtype.type(0.5)
    return half + half * b.np.tanh(half * x)


sigmoid_op = define_op("Sigmoid", "x", infer=same, types={"T": INEXACT}, lower=_sigmoid_lower)
for _op in (pow_op, exp_op, expm1_op, log_op, log1p_op, sin_op, cos_op, tan_op, asin_op, acos_op, atan_op, sinh_op, cosh_op,
            tanh_op, atan2_op, sigmoid_op):
    _op.declare(cost="slow")


# -- derivatives written in the output y: TF's own op types, so that second order can be overridden by name ----
def _through_output(op_type, lower):
    return define_op(op_type, "y, dy", infer=same, types={"T": INEXACT}, lower=lower)


def _number(x, value):
    return x.dtype.type(value)  # a scalar of the tensor's own dtype: no promotion, on either backend


def _zero_safe(function):
    # The derivatives below may be infinite; where dy is 0 they are 0 nevertheless.
    return lambda b, y, dy: b.np.where(dy == 0, _number(y, 0), function(y, dy))


tanhgrad_op = _through_output("TanhGrad", lambda b, y, dy: dy * (_number(y, 1) - y * y))
sigmoidgrad_op = _through_output("SigmoidGrad", lambda b, y, dy: dy * (y * (_number(y, 1) - y)))
sqrtgrad_op = _through_output("SqrtGrad", _zero_safe(lambda y, dy: dy * _number(y, 0.5) / y))
rsqrtgrad_op = _through_output("RsqrtGrad", _zero_safe(lambda y, dy: dy * (_number(y, -0.5) * (y * y * y))))
reciprocalgrad_op = _through_output("ReciprocalGrad", _zero_safe(lambda y, dy: -dy * (y * y)))


def exp(x, name=None):
    """Returns e ** x element-wise.

    Example:
      print(tf.Session().run(tf.exp([0.0, -np.inf])))
      #> [1. 0.]
    """
    return exp_op(x, name=name)


def expm1(x, name=None):
    """Returns e ** x - 1 element-wise, exact for small x."""
    return expm1_op(x, name=name)


def log(x, name=None):
    """Returns the natural logarithm element-wise.

    Example:
      print(tf.Session().run(tf.log([0.0, 1.0])))
      #> [-inf   0.]
    """
    return log_op(x, name=name)


def log1p(x, name=None):
    """Returns log(1 + x) element-wise, exact for small x."""
    return log1p_op(x, name=name)


def sin(x, name=None):
    """Returns the sine element-wise (radians).

    Example:
      print(tf.Session().run(tf.sin([0.0, np.pi / 2])))
      #> [0. 1.]
    """
    return sin_op(x, name=name)


def cos(x, name=None):
    """Returns the cosine element-wise (radians)."""
    return cos_op(x, name=name)


def tan(x, name=None):
    """Returns the tangent element-wise (radians)."""
    return tan_op(x, name=name)


def asin(x, name=None):
    """Returns the inverse sine element-wise, in radians."""
    return asin_op(x, name=name)


def acos(x, name=None):
    """Returns the inverse cosine element-wise, in radians."""
    return acos_op(x, name=name)


def atan(x, name=None):
    """Returns the inverse tangent element-wise, in radians."""
    return atan_op(x, name=name)


def atan2(y, x, name=None):
    """Returns the angle in radians of the point (x, y), element-wise with broadcasting."""
    return atan2_op(y, x, name=name)


def sinh(x, name=None):
    """Returns the hyperbolic sine element-wise."""
    return sinh_op(x, name=name)


def cosh(x, name=None):
    """Returns the hyperbolic cosine element-wise."""
    return cosh_op(x, name=name)


@of_values
def tanh(x, name=None):
    """Returns the hyperbolic tangent element-wise.

    Example:
      print(tf.Session().run(tf.tanh([-np.inf, 0.0, np.inf])))
      #> [-1.  0.  1.]
    """
    return tanh_op(x, name=name)


def asinh(x, name=None):
    """Returns the inverse hyperbolic sine element-wise."""
    return asinh_op(x, name=name)


def acosh(x, name=None):
    """Returns the inverse hyperbolic cosine element-wise."""
    return acosh_op(x, name=name)


def atanh(x, name=None):
    """Returns the inverse hyperbolic tangent element-wise."""
    return atanh_op(x, name=name)


def sigmoid(x, name=None):
    """Returns 1 / (1 + exp(-x)) element-wise.

    Example:
      print(tf.Session().run(tf.sigmoid([0.0, np.inf])))
      #> [0.5 1. ]
    """
    return sigmoid_op(x, name=name)


# -- extremes, signs, rounding ------------------------------------------------------------
maximum_op = binary("Maximum", "maximum", REAL, partial=True)
minimum_op = binary("Minimum", "minimum", REAL, partial=True)
abs_op = unary("Abs", "abs", REAL - UNSIGNED)
sign_op = define_op("Sign", "x", infer=same, types={"T": SIGNED}, lower=lambda b, x: b.np.sign(x))
floor_op = unary("Floor", "floor", FLOATING)
ceil_op = unary("Ceil", "ceil", FLOATING)
rint_op = unary("Rint", "rint", FLOATING)
round_op = define_op("Round", "x", infer=same, types={"T": NUMERIC},
                     lower=lambda b, x: x if x.dtype.kind in "iu" else b.np.round(x))


def away_from_zero(b, x):
    """Returns `x` rounded to whole numbers, halves away from zero, as C's round; the largest number below 1/2 gives 0."""
    whole = b.np.trunc(x)
    return whole + b.np.where(b.np.abs(x - whole) >= 0.5, b.np.sign(x), b.np.zeros_like(x))


def maximum(x, y, name=None):
    """Returns the larger of x and y element-wise, with broadcasting; NaN if either is.

    Example:
      print(tf.Session().run(tf.maximum([1.0, 5.0], 3.0)))
      #> [3. 5.]
    """
    return maximum_op(x, y, name=name)


def minimum(x, y, name=None):
    """Returns the smaller of x and y element-wise, with broadcasting; NaN if either is.

    Example:
      print(tf.Session().run(tf.minimum([1.0, 5.0], 3.0)))
      #> [1. 3.]
    """
    return minimum_op(x, y, name=name)


@of_values
def abs(x, name=None):
    """Returns |x| element-wise; a complex `x` gives its real magnitude.

    Example:
      print(tf.Session().run(tf.abs([-1.5, 2.0])))
      #> [1.5 2. ]
    """
    with get_default_graph().name_scope(name or "Abs") as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            from regrad.ops.complex import complex_abs

            return complex_abs(x, name=scope)
        return abs_op(x, name=scope)


@of_values
def sign(x, name=None):
    """Returns -1, 0 or 1 by the sign of `x`; for a complex `x`, x / |x| or 0.

    Example:
      print(tf.Session().run(tf.sign([-3.0, 0.0, 2.0])))
      #> [-1.  0.  1.]
    """
    return sign_op(x, name=name)


def floor(x, name=None):
    """Returns the largest integer not above `x`, as a float."""
    return floor_op(x, name=name)


def ceil(x, name=None):
    """Returns the smallest integer not below `x`, as a float."""
    return ceil_op(x, name=name)


def rint(x, name=None):
    """Returns the integer nearest to `x`, halves to even, as a float."""
    return rint_op(x, name=name)


def round(x, name=None):
    """Returns `x` rounded to the nearest integer, halves to even, in the dtype of `x`.

    Example:
      print(tf.Session().run(tf.round([0.5, 1.5, 1.7])))
      #> [0. 2. 2.]
    """
    return round_op(x, name=name)


# -- tests and neighbours ------------------------------------------------------------------
def _property(op_type, function):
    return define_op(op_type, "x", infer=lambda x: Spec(x.dims, dtypes.bool_), types={"T": FLOATING},
                     lower=lambda b, x: getattr(b.np, function)(x))


isnan_op = _property("IsNan", "isnan")
isinf_op = _property("IsInf", "isinf")
isfinite_op = _property("IsFinite", "isfinite")
nextafter_op = binary("NextAfter", "nextafter", frozenset((dtypes.float32, dtypes.float64)))
approximateequal_op = define_op("ApproximateEqual", "x, y", attrs={"tolerance": 1e-5}, types={"T": NUMERIC},
                                infer=lambda x, y, *, tolerance:
                                Spec(merge(x.dims, y.dims, "ApproximateEqual needs one shape;"), dtypes.bool_),
                                lower=lambda b, x, y, *, tolerance: _near(b, x, y, tolerance))


def _near(b, x, y, tolerance):
    distance = b.np.abs(x - y)
    return distance < distance.dtype.type(tolerance)


def is_nan(x, name=None):
    """Returns whether each element is NaN, as bool."""
    return isnan_op(x, name=name)


def is_inf(x, name=None):
    """Returns whether each element is infinite, as bool."""
    return isinf_op(x, name=name)


def is_finite(x, name=None):
    """Returns whether each element is neither infinite nor NaN, as bool."""
    return isfinite_op(x, name=name)


def nextafter(x1, x2, name=None):
    """Returns the next representable number after `x1` in the direction of `x2`, element-wise."""
    return nextafter_op(x1, x2, name=name or "NextAfter")


def approximate_equal(x, y, tolerance=1e-05, name=None):
    """Returns whether |x - y| < tolerance, element-wise for tensors of one shape."""
    return approximateequal_op(x, y, tolerance=float(tolerance), name=name)


# -- Cast ------------------------------------------------------------------------------
def _cast_infer(x, *, DstT, Truncate):
    if (x.dtype is dtypes.string) != (DstT is dtypes.string):
        raise UnimplementedError(f"Cast {x.dtype.name} to {DstT.name} is not supported; tf.string_to_number reads numbers, "
                                 "tf.as_string writes them")
    return Spec(x.dims, DstT)


cast_op = define_op("Cast", "x: SrcT", attrs={"DstT": None, "Truncate": False}, partial=True, infer=_cast_infer,
                    lower=lambda b, x, *, DstT, Truncate: b.cast(x, DstT))
cast_op.declare(passes_value="reshaped")


@of_values
def cast(x, dtype, name=None):
    """Returns `x` with element type `dtype`; floats are truncated towards zero to integers.

    A tensor that has the dtype already is returned itself. What is sparse stays so.

    Raises:
      UnimplementedError: from strings to numbers, or to strings.

    Example:
      print(tf.Session().run(tf.cast([1.7, -1.7], tf.int32)))
      #> [ 1 -1]
    """
    dtype = as_dtype(dtype)
    x = convert_to_tensor(x, name="x")
    return x if x.dtype is dtype else cast_op(x, DstT=dtype, name=name)


def saturate_cast(value, dtype, name=None):
    """Returns `value` as `dtype`, clipped to its range first."""
    with get_default_graph().name_scope(name or "saturate_cast") as scope:
        value = convert_to_tensor(value, name="value")
        dtype = as_dtype(dtype)
        for limit, nearer, farther, name_ in ((dtype.min, maximum, np.less, "min"), (dtype.max, minimum, np.greater, "max")):
            if farther(getattr(value.dtype, name_), limit):
                bound = np.asarray(limit).astype(value.dtype.as_numpy_dtype)
                if value.dtype.is_floating and dtype.is_integer and farther(int(bound), limit):
                    bound = np.nextafter(bound, bound.dtype.type(0))  # rounded past the limit, which no float of that size is
                value = nearer(value, convert_to_tensor(bound, dtype=value.dtype, name=name_))
        return cast(value, dtype, name=scope)


def to_float(x, name="ToFloat"):
    """Returns `x` as float32."""
    return cast(x, dtypes.float32, name=name)


def to_double(x, name="ToDouble"):
    """Returns `x` as float64."""
    return cast(x, dtypes.float64, name=name)


def to_int32(x, name="ToInt32"):
    """Returns `x` as int32."""
    return cast(x, dtypes.int32, name=name)


def to_int64(x, name="ToInt64"):
    """Returns `x` as int64."""
    return cast(x, dtypes.int64, name=name)


def to_bfloat16(x, name="ToBFloat16"):
    """Returns `x` as bfloat16."""
    return cast(x, dtypes.bfloat16, name=name)


def to_complex64(x, name="ToComplex64"):
    """Returns `x` as complex64."""
    return cast(x, dtypes.complex64, name=name)


def to_complex128(x, name="ToComplex128"):
    """Returns `x` as complex128."""
    return cast(x, dtypes.complex128, name=name)
