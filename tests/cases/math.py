"""Rows for `regrad/ops/math.py`."""

import numpy as np
import scipy.special

from regrad.ops import array, math
from tests.cases import FLOATS, INEXACT, Bad, Case, Edge, binary, unary

nan, inf = np.nan, np.inf
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
I32 = np.array([[7, -7, 3], [-3, 5, 1]], np.int32)
J32 = np.array([2, -2, 4], np.int32)


def _tf_sign(x):
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))
    return np.sign(x)


def _xdivy(x, y):
    return np.where(x == 0, 0, x / y)


def _divnonan(x, y):
    return np.where(y == 0, 0, x / np.where(y == 0, 1, y))


def _mulnonan(x, y):
    return np.where(y == 0, 0, x * y)


def _xlog(log):
    return lambda x, y: np.where(x == 0, 0, x * log(y))


_DIVISORS = np.array([3.0, 7.0, 41.0, 47.0, 49.0, 55.0, 60.0, 98.0, 103.0])
_MULTIPLES = np.arange(1.0, 100.0)[:, None] * _DIVISORS

CASES = [
    # One tensor.
    *unary("Neg", math.negative, np.negative, dtypes=(*INEXACT, "int32", "int64")),
    *unary("Abs", math.abs, np.abs, low=0.1, dtypes=(*FLOATS, "int32", "int64"), note="right"),
    *unary("Abs", math.abs, np.abs, low=-2, high=-0.1, dtypes=FLOATS, special=False, note="left"),
    *unary("Square", math.square, np.square, dtypes=(*INEXACT, "int32", "int64")),
    *unary("Sqrt", math.sqrt, np.sqrt, low=0.1, high=4),
    *unary("Rsqrt", math.rsqrt, lambda x: 1 / np.sqrt(x), low=0.1, high=4),
    *unary("Reciprocal", math.reciprocal, lambda x: 1 / x, low=0.3),
    *unary("Exp", math.exp, np.exp),
    *unary("Expm1", math.expm1, np.expm1),
    *unary("Log", math.log, np.log, low=0.1, high=4),
    *unary("Log1p", math.log1p, np.log1p, low=-0.8),
    *unary("Sin", math.sin, np.sin),
    *unary("Cos", math.cos, np.cos),
    *unary("Tan", math.tan, np.tan, low=-1.3, high=1.3),
    *unary("Asin", math.asin, np.arcsin, low=-0.9, high=0.9),
    *unary("Acos", math.acos, np.arccos, low=-0.9, high=0.9),
    *unary("Atan", math.atan, np.arctan),
    *unary("Sinh", math.sinh, np.sinh),
    *unary("Cosh", math.cosh, np.cosh),
    *unary("Tanh", math.tanh, np.tanh),
    *unary("Asinh", math.asinh, np.arcsinh, special=False),
    *unary("Acosh", math.acosh, np.arccosh, low=1.2, high=4, complex_jax=False),
    *unary("Atanh", math.atanh, np.arctanh, low=-0.9, high=0.9),
    *unary("Sigmoid", math.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    *unary("Sign", math.sign, _tf_sign, low=0.1, dtypes=(*INEXACT, "int32"), complex_jax=False),
    *unary("Floor", math.floor, np.floor, low=-3, order=0, dtypes=FLOATS),
    *unary("Ceil", math.ceil, np.ceil, low=-3, order=0, dtypes=FLOATS),
    *unary("Rint", math.rint, np.rint, low=-3, order=0, dtypes=FLOATS),
    *unary("Round", math.round, np.round, low=-3, order=0, dtypes=(*FLOATS, "int32")),
    *unary("IsNan", math.is_nan, np.isnan, order=0, dtypes=FLOATS),
    *unary("IsInf", math.is_inf, np.isinf, order=0, dtypes=FLOATS),
    *unary("IsFinite", math.is_finite, np.isfinite, order=0, dtypes=FLOATS),
    Case("Round", math.round, np.round, (np.array([0.5, 1.5, 2.5, -0.5, -1.5]),), order=0, note="halves"),
    Case("Sigmoid", math.sigmoid, scipy.special.expit, (np.array([-800.0, -40, 0, 40, 800]),), derivatives=False,
         note="extreme"),
    Case("Cast", lambda x: math.cast(x, "float32"), lambda x: x.astype(np.float32), ((2, 3),), rtol=1e-6, order=0,
         derivatives=False),
    Case("Cast", lambda x: math.cast(x, "int32"), lambda x: x.astype(np.int32), (np.array([-1.7, -0.2, 1.7]),),
         derivatives=False, note="truncates"),
    Case("Cast", lambda x: math.cast(math.cast(x, "float64"), "complex128"), lambda x: x + 0j, (I32,), note="ints"),
    Case("Cast", lambda x: math.cast(x, "complex128"), lambda x: x + 0j, ((2, 3),), dtypes=(), note="complex"),
    Case("Cast", lambda x: math.cast(x, "float64"), np.real, (np.array([1 + 2j, 3 - 1j]),), dtypes=(), note="real part"),
    Case("Cast", lambda x: math.cast(x, "bool"), lambda x: x != 0, (np.array([0.0, 0.5, -2]),), derivatives=False,
         note="bool"),
    Case("Cast", lambda x: math.cast(x, "float32"), lambda x: x.astype(np.float32), (np.array([True, False]),),
         note="from bool"),
    Case("Maximum", lambda x: math.saturate_cast(x, "uint8"), lambda x: np.clip(x, 0, 255).astype(np.uint8),
         (np.array([-5.0, 3.2, 400.0]),), derivatives=False, note="saturate_cast"),
    # Two tensors.
    *binary("Add", math.add, np.add, dtypes=(*INEXACT, *INTS)),
    *binary("Sub", math.subtract, np.subtract, dtypes=(*INEXACT, *INTS)),
    *binary("Mul", math.multiply, np.multiply, dtypes=(*INEXACT, *INTS)),
    *binary("RealDiv", math.realdiv, np.true_divide, low=0.4),
    *binary("Div", math.div_op, np.true_divide, low=0.4),
    *binary("DivNoNan", math.div_no_nan, _divnonan, low=0.4, special=False),
    *binary("MulNoNan", math.multiply_no_nan, _mulnonan, low=0.4, special=False),
    *binary("Xdivy", math.xdivy, _xdivy, low=0.4, special=False),
    *binary("Xlogy", math.xlogy, _xlog(np.log), low=0.4, special=False),
    *binary("Xlog1py", math.xlog1py, _xlog(np.log1p), low=0.4, special=False),
    *binary("FloorDiv", math.floordiv, np.floor_divide, low=0.4, order=0, dtypes=FLOATS[2:], special=False),
    *binary("TruncateDiv", math.truncatediv, lambda x, y: np.trunc(x / y), low=0.4, order=0, dtypes=("float32",),
            special=False),
    *binary("FloorMod", math.floormod, np.mod, low=0.41, dtypes=("float32",), special=False, jax=False),
    *binary("TruncateMod", math.truncatemod, np.fmod, low=0.41, dtypes=("float32",), special=False, jax=False),
    *binary("SquaredDifference", math.squared_difference, lambda x, y: np.conj(x - y) * (x - y),
            dtypes=(*FLOATS, "int32", "complex64")),
    *binary("Pow", math.pow, np.power, low=0.4, dtypes=(*INEXACT, "int32")),
    *binary("Atan2", math.atan2, np.arctan2, low=0.4, dtypes=FLOATS),
    *binary("Maximum", math.maximum, np.maximum, dtypes=FLOATS),
    *binary("Minimum", math.minimum, np.minimum, dtypes=FLOATS),
    *binary("NextAfter", math.nextafter, np.nextafter, dtypes=(), jax=False, special=False),
    Case("NextAfter", lambda x, y: math.nextafter(math.cast(x, "float32"), math.cast(y, "float32")),
         lambda x, y: np.nextafter(x.astype(np.float32), y.astype(np.float32)).astype(np.float32),
         (np.array([1.0, 1, 0, 5]), np.array([2.0, 0, 1, 5])), derivatives=False, rtol=1e-12, note="float32"),
    Case("Pow", math.pow, np.power, (np.array([2, -3, 0, 7], np.int32), np.array([3, 3, 0, 2], np.int32))),
    Case("Div", math.div_op, lambda x, y: np.trunc(x / y).astype(np.int32), (I32, J32), note="ints"),
    Case("TruncateDiv", math.truncatediv, lambda x, y: np.trunc(x / y).astype(np.int32), (I32, J32), note="ints"),
    Case("TruncateMod", math.truncatemod, np.fmod, (I32, J32), note="ints"),
    # By a divisor that is repeated: multiples of it, whose quotients are whole numbers.
    *(Case(op, lambda x, f=f, by=by: math.floor(f(x, by(x))), lambda x: np.rint(x / _DIVISORS), (_MULTIPLES,),
           dtypes=("float32",), derivatives=False, note=f"floor of multiples, {name} divisor")
      for op, f in (("RealDiv", math.realdiv), ("Div", math.div_op), ("FloorDiv", math.floordiv),
                    ("TruncateDiv", math.truncatediv), ("DivNoNan", math.div_no_nan), ("Xdivy", math.xdivy))
      for name, by in (("constant", lambda x: math.cast(_DIVISORS, x.dtype)), ("computed", lambda x: x[0]))),
    Case("FloorDiv", math.floordiv, np.floor_divide, (I32, J32), note="ints"),
    Case("FloorMod", math.floormod, np.mod, (I32, J32), note="ints"),
    Case("FloorDiv", math.floordiv, np.floor_divide, (np.array([200, 7], np.uint8), np.array([3], np.uint8)), note="uint8"),
    Case("RealDiv", math.truediv, np.true_divide, (I32, J32), note="truediv of ints"),
    Case("RealDiv", math.truediv, lambda x, y: (x / y).astype(np.float32),
         (I32.astype(np.int8), J32.astype(np.int8)), rtol=1e-6, note="truediv of int8"),
    Case("ApproximateEqual", lambda x, y: math.approximate_equal(x, y, tolerance=0.1), lambda x, y: np.abs(x - y) < 0.1,
         (np.array([1.0, 2, 3]), np.array([1.05, 2.2, 3])), order=0),
    Case("Mul", lambda x: math.scalar_mul(2.5, x), lambda x: 2.5 * x, ((2, 3),), note="scalar_mul"),
    Case("Mul", lambda a, b, c, x: math.polyval([a, b, c], x), lambda a, b, c, x: (a * x + b) * x + c,
         ((), (), (), (3,)), note="polyval"),
    # Many tensors.
    Case("AddN", lambda *xs: math.add_n(list(xs)), lambda *xs: sum(xs), ((2, 3), (2, 3), (2, 3)), dtypes=(*INEXACT, *INTS)),
    Case("AddN", lambda *xs: math.add_n(list(xs)), lambda *xs: sum(xs), ((0,), (0,))),
    Case("AccumulateNV2", lambda *xs: math.accumulate_n(list(xs), shape=[2, 3]), lambda *xs: sum(xs),
         ((2, 3), (2, 3), (2, 3)), dtypes=(*INEXACT, *INTS)),
    # The derivatives that have op types of their own.
    Case("TanhGrad", math.tanhgrad_op, lambda y, dy: dy * (1 - y * y), ((2, 3), (2, 3)), dtypes=FLOATS),
    Case("SigmoidGrad", math.sigmoidgrad_op, lambda y, dy: dy * y * (1 - y), ((2, 3), (2, 3)), dtypes=FLOATS),
    Case("SqrtGrad", math.sqrtgrad_op, lambda y, dy: dy / (2 * y), ((2, 3), (2, 3)), low=0.3, dtypes=FLOATS, order=3),
    Case("RsqrtGrad", math.rsqrtgrad_op, lambda y, dy: dy * -0.5 * y**3, ((2, 3), (2, 3)), low=0.3, dtypes=FLOATS, order=3),
    Case("ReciprocalGrad", math.reciprocalgrad_op, lambda y, dy: -dy * y * y, ((2, 3), (2, 3)), low=0.3, dtypes=FLOATS,
         order=3),
    # Third order, where a rule's rule has a rule.
    Case("Tanh", math.tanh, np.tanh, ((3,),), order=3, note="third"),
    Case("Pow", math.pow, np.power, ((3,), (3,)), low=0.4, order=3, note="third"),
    Case("RealDiv", math.realdiv, np.true_divide, ((3,), (3,)), low=0.4, order=3, note="third"),
    Case("Log", math.log, np.log, ((3,),), low=0.4, order=3, note="third"),
    # Names of older days and special forms.
    Case("RealDiv", math.div, np.true_divide, ((3,), (3,)), low=0.4, note="div"),
    Case("FloorDiv", math.div, np.floor_divide, (I32, J32), note="div of ints"),
    Case("DivNoNan", math.reciprocal_no_nan, lambda x: _divnonan(np.ones_like(x), x), (np.array([0.0, 2, -4]),),
         derivatives=False, note="reciprocal_no_nan"),
    # Decided values: 0 wins.
    Case("DivNoNan", math.div_no_nan, lambda x, y: np.array([0.0, 0, 0, 0, 2]),
         (np.array([1.0, 0, inf, nan, 4]), np.array([0.0, 0, 0, 0, 2])), derivatives=False, note="zero"),
    Case("MulNoNan", math.multiply_no_nan, lambda x, y: np.array([0.0, 0, nan, 0]),
         (np.array([inf, nan, 0, 3.0]), np.array([0.0, 0, nan, 0])), derivatives=False, note="zero"),
    Case("Xdivy", math.xdivy, lambda x, y: np.array([0.0, 0, inf]), (np.array([0.0, 0, 1]), np.array([0.0, nan, 0])),
         derivatives=False, note="zero"),
    Case("Xlogy", math.xlogy, lambda x, y: np.array([0.0, 0, 0, -inf]),
         (np.array([0.0, 0, 0, 1]), np.array([0.0, -1, nan, 0])), derivatives=False, note="zero"),
    Case("Xlog1py", math.xlog1py, lambda x, y: np.array([0.0, 0, 0, -inf]),
         (np.array([0.0, 0, 0, 1]), np.array([-1.0, -3, nan, -1])), derivatives=False, note="zero"),
    # Decided derivatives.
    Edge("Abs", math.abs, ([0.0, -0.0, 2, -2],), ([0, 0, 1, -1],), note="kink"),
    Edge("Sqrt", math.sqrt, ([0.0, 4],), ([inf, 0.25],), note="at 0"),
    Edge("Sqrt", math.sqrt, ([0.0, -1, 4],), ([0, 0, 0.25],), dy=[0.0, 0, 1], second=([0, 0, -1 / 32],), note="0 arrives"),
    Edge("Rsqrt", math.rsqrt, ([0.0, -1, 4],), ([0, 0, -1 / 16],), dy=[0.0, 0, 1], note="0 arrives"),
    Edge("Reciprocal", math.reciprocal, ([0.0, 2],), ([0, -0.25],), dy=[0.0, 1], note="0 arrives"),
    Edge("Log", math.log, ([0.0, -1, 2],), ([0, 0, 0.5],), dy=[0.0, 0, 1], second=([0, 0, -0.25],), note="0 arrives"),
    Edge("Log1p", math.log1p, ([-1.0, 1],), ([inf, 0.5],), note="pole"),
    Edge("Log1p", math.log1p, ([-1.0, -2, 1],), ([0, 0, 0.5],), dy=[0.0, 0, 1], note="0 arrives"),
    Edge("Exp", math.exp, ([1e4, 0.0],), ([0, 1],), dy=[0.0, 1], note="overflow masked"),
    Edge("Acosh", math.acosh, ([1.0, 0.5],), ([0, 0],), dy=[0.0, 0], note="0 arrives"),
    Edge("Atanh", math.atanh, ([1.0, 2],), ([0, 0],), dy=[0.0, 0], note="0 arrives"),
    Edge("Asin", math.asin, ([1.0, 2],), ([0, 0],), dy=[0.0, 0], note="0 arrives"),
    Edge("Acos", math.acos, ([1.0, 2],), ([0, 0],), dy=[0.0, 0], note="0 arrives"),
    Edge("Pow", math.pow, ([0.0, 0, 0, 0, -2], [0.0, 1, 2, 3, 2]), ([0, 1, 0, 0, -4], [0, 0, 0, 0, 0]), note="0 and below"),
    Edge("Pow", lambda x: math.pow(x, 2.0), ([0.0, -3],), ([0, -6],), second=([2, 2],), note="square"),
    Edge("Pow", lambda x: math.pow(x, 0.5), ([0.0, 4],), ([0, 0.25],), dy=[0.0, 1], note="root, 0 arrives"),
    Edge("RealDiv", math.realdiv, ([1.0, 0, 3], [0.0, 0, 2]), ([0, 0, 0.5], [0, 0, -0.75]), dy=[0.0, 0, 1],
         note="0 arrives"),
    Edge("RealDiv", lambda x: x / math.abs(x), ([0.0],), ([nan],), note="x over its magnitude"),
    Edge("DivNoNan", lambda x: math.div_no_nan(x, math.abs(x)), ([0.0, 3, -3],), ([0, 0, 0],), note="x over its magnitude"),
    Edge("DivNoNan", math.div_no_nan, ([1.0, 0, 3], [0.0, 0, 2]), ([0, 0, 0.5], [0, 0, -0.75]), note="zeros"),
    Edge("DivNoNan", math.div_no_nan, ([1e200, 3], [1e-200, 2]), ([0, 0.5], [0, -0.75]), dy=[0.0, 1], note="overflow masked"),
    Edge("MulNoNan", math.multiply_no_nan, ([inf, 3.0], [0.0, 2]), ([0, 2], [inf, 3]), note="infinity times 0"),
    Edge("Xlogy", math.xlogy, ([0.0, 0, 2], [0.0, 2, 2]), ([0, 0, np.log(2)], [0, 0, 1]), note="x is 0"),
    Edge("Xlog1py", math.xlog1py, ([0.0, 0, 2], [-1.0, 1, 1]), ([0, 0, np.log(2)], [0, 0, 1]), note="x is 0"),
    Edge("Xdivy", math.xdivy, ([0.0, 0, 2], [0.0, 2, 2]), ([0, 0, 0.5], [0, 0, -0.5]), note="x is 0"),
    Edge("Maximum", math.maximum, ([1.0, 2, 3], [1.0, 3, 2]), ([1, 0, 1], [0, 1, 0]), note="ties go first"),
    Edge("Minimum", math.minimum, ([1.0, 2, 3], [1.0, 3, 2]), ([1, 1, 0], [0, 0, 1]), note="ties go first"),
    Edge("Atan2", math.atan2, ([0.0, 1], [0.0, 0]), ([0, 0], [0, -1]), note="origin"),
    Edge("Sign", math.sign, ([0.0, 2],), ([0, 0],), note="flat"),
    Edge("NextAfter", math.nextafter, ([1.0], [2.0]), ([1], [0]), note="moves with x1"),
    # Refusals.
    Bad("Add", lambda: math.add(np.zeros((2, 3)), np.zeros((2, 4))), ValueError, r"3 and 4.*\[2,3\], \[2,4\]"),
    Bad("Mul", lambda: math.multiply(array.zeros([2]), array.zeros([2], "int32")), TypeError, "int32.*float32"),
    Bad("Sqrt", lambda: math.sqrt(np.array([1, 2])), TypeError, "int.*not in list of allowed values"),
    Bad("Floor", lambda: math.floor(np.array([1j])), TypeError, "complex"),
    Bad("AddN", lambda: math.add_n([]), ValueError, "at least one Tensor"),
    Bad("AddN", lambda: math.add_n(np.zeros(3)), ValueError, "must be a list"),
    Bad("AddN", lambda: math.add_n([np.zeros(2), np.zeros(3)]), ValueError, r"\[2\] and \[3\]"),
    Bad("AddN", lambda: math.add_n([np.zeros(2), np.zeros(2, np.float32)]), TypeError, "float32 and float64"),
    Bad("AccumulateNV2", lambda: math.accumulate_n([np.zeros(2), np.zeros(2)], shape=[3]), ValueError, "are incompatible"),
    Bad("AccumulateNV2", lambda: math.accumulate_n([np.zeros(2)], tensor_dtype="int32"), TypeError, "tensor_dtype is int32"),
    Bad("RealDiv", lambda: math.truediv(array.zeros([2]), array.zeros([2], "float64")), TypeError, "same dtype"),
    Bad("Mul", lambda: math.scalar_mul(np.zeros(2), np.zeros(2)), ValueError, "Only scalar multiply"),
    Bad("Mul", lambda: math.polyval(3.0, 2.0), ValueError, "must be list"),
    Bad("Cast", lambda: math.cast(1.0, "nonsense"), TypeError, "nonsense"),
    Bad("Neg", lambda: math.negative("text"), TypeError, "string"),
]

