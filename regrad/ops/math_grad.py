"""Gradient rules for the ops of `math.py`, easy to hard.

A rule takes the forward operation and the gradient of its output, and returns one gradient per input; None means
that nothing flows to that input. Users' rules are registered and written exactly like these.

Complex numbers follow TF: the gradient is the conjugate of the derivative, so a holomorphic f passes on dy * conj(f').
"""

from regrad.autodiff.walking import crosses
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import math
from regrad.ops.array import ones_like, sum_to_like, zeros_like
from regrad.ops.compare import equal, greater_equal, less_equal, not_equal, select
from regrad.ops.complex import complex_abs, conj, real


def elementwise(op_type, derivative):
    """Registers dx = dy * conj(derivative(x, y)), y being the op's output, for an op of one tensor."""

    @RegisterGradient(op_type)
    def rule(op, dy):
        return dy * conj(derivative(op.inputs[0], op.outputs[0]))

    return rule


def unbounded(op_type, derivative):
    """The same for a derivative that may be infinite or NaN: where dy is 0 the gradient is 0 nevertheless.

    So `where(x > 0, log(x), 0)` has the gradient it should have, and not NaN at 0, where 0 arrives.
    """

    @RegisterGradient(op_type)
    def rule(op, dy):
        return math.mulnonan_op(conj(derivative(op.inputs[0], op.outputs[0])), dy)

    return rule


# -- one input ------------------------------------------------------------------------------
elementwise("Sin", lambda x, y: math.cos(x))
elementwise("Cos", lambda x, y: -math.sin(x))
elementwise("Atan", lambda x, y: math.reciprocal(1.0 + math.square(x)))
elementwise("Asinh", lambda x, y: math.reciprocal(math.cosh(y)))
elementwise("Square", lambda x, y: 2 * x)
elementwise("Abs", lambda x, y: math.sign(x))
unbounded("Exp", lambda x, y: y)
unbounded("Expm1", lambda x, y: math.exp(x))
unbounded("Sinh", lambda x, y: math.cosh(x))
unbounded("Cosh", lambda x, y: math.sinh(x))
unbounded("Log", lambda x, y: math.reciprocal(x))
unbounded("Log1p", lambda x, y: math.reciprocal(1.0 + x))
unbounded("Tan", lambda x, y: math.square(math.reciprocal(math.cos(x))))
unbounded("Asin", lambda x, y: math.rsqrt(1.0 - math.square(x)))
unbounded("Acos", lambda x, y: -math.rsqrt(1.0 - math.square(x)))
unbounded("Acosh", lambda x, y: math.reciprocal(math.sinh(y)))
unbounded("Atanh", lambda x, y: math.reciprocal(1.0 - math.square(x)))


def through_output(op_type, grad_op):
    """Registers dx = grad_op(y, dy) for an op whose derivative is written in its output y, as one op that TF names too."""

    @RegisterGradient(op_type)
    def rule(op, dy):
        return grad_op(conj(op.outputs[0]), dy)


through_output("Tanh", math.tanhgrad_op)
through_output("Sigmoid", math.sigmoidgrad_op)
through_output("Sqrt", math.sqrtgrad_op)
through_output("Rsqrt", math.rsqrtgrad_op)
through_output("Reciprocal", math.reciprocalgrad_op)


# ... and theirs, for second order: f(y, dy) = dy g(y) is linear in dy.
@RegisterGradient("TanhGrad")
def _tanhgrad_grad(op, g):
    y, dy = op.inputs
    return conj(-2.0 * y * dy) * g, math.tanhgrad_op(conj(y), g)


@RegisterGradient("SigmoidGrad")
def _sigmoidgrad_grad(op, g):
    y, dy = op.inputs
    return conj((1.0 - 2.0 * y) * dy) * g, math.sigmoidgrad_op(conj(y), g)


@RegisterGradient("SqrtGrad")
def _sqrtgrad_grad(op, g):
    # dy / (2 y): its derivative in y is -dy / (2 y^2) = -(dy / (2 y)) / y.
    y, dy = op.inputs
    return math.mulnonan_op(conj(math.mulnonan_op(math.reciprocal(y), -op.outputs[0])), g), math.sqrtgrad_op(conj(y), g)


@RegisterGradient("RsqrtGrad")
def _rsqrtgrad_grad(op, g):
    y, dy = op.inputs
    return math.mulnonan_op(conj(math.mulnonan_op(-1.5 * math.square(y), dy)), g), math.rsqrtgrad_op(conj(y), g)


@RegisterGradient("ReciprocalGrad")
def _reciprocalgrad_grad(op, g):
    y, dy = op.inputs
    return math.mulnonan_op(conj(math.mulnonan_op(-2.0 * y, dy)), g), math.reciprocalgrad_op(conj(y), g)


@RegisterGradient("Neg")
def _neg_grad(op, dy):
    return -dy


@RegisterGradient("AddN")
def _addn_grad(op, dy):
    return [dy] * len(op.inputs)


RegisterGradient("AccumulateNV2")(_addn_grad)


@RegisterGradient("Cast")
def _cast_grad(op, dy):
    source = op.inputs[0].dtype
    if not (dy.dtype.is_floating or dy.dtype.is_complex):
        return None  # the ones that stand for an integer y
    if source.is_floating or source.is_complex:
        return math.cast(dy, source)
    return dy if crosses(op.inputs[0]) else None


@RegisterGradient("Sign")
def _sign_grad(op, dy):
    # Flat wherever it is differentiable: a zero, not a break in the path, as in TF. A complex sign s = x / |x| turns
    # with x: the part of dy across s passes, divided by |x|.
    x, s = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return zeros_like(x)
    along = s * math.cast(real(conj(s) * dy), x.dtype)
    return math.divnonan_op(dy - along, math.cast(complex_abs(x), x.dtype))


# -- two inputs: broadcasting forward is summation backward ----------------------------------
@RegisterGradient("Add")
def _add_grad(op, dz):
    x, y = op.inputs
    return sum_to_like(dz, x), sum_to_like(dz, y)


@RegisterGradient("Sub")
def _sub_grad(op, dz):
    x, y = op.inputs
    return sum_to_like(dz, x), sum_to_like(-dz, y)


@RegisterGradient("Mul")
def _mul_grad(op, dz):
    x, y = op.inputs
    return sum_to_like(dz * conj(y), x), sum_to_like(dz * conj(x), y)


def _quotient(op, dz):
    # z = x / y: dx = dz / y, dy = -dz z / y, written through x so that y alone is divided by. Where dz is 0 both are 0.
    x, y = op.inputs
    cy = conj(y)
    # Products with 1 / y, not quotients of dz: a rule must stay linear in what arrives, at 0 too, for second order.
    dx = math.mulnonan_op(math.reciprocal(cy), dz)
    dy = math.mulnonan_op(math.realdiv_op(math.realdiv_op(-conj(x), cy), cy), dz)
    return sum_to_like(dx, x), sum_to_like(dy, y)


RegisterGradient("RealDiv")(_quotient)
RegisterGradient("Div")(_quotient)


@RegisterGradient("Xdivy")
def _xdivy_grad(op, dz):
    # As the quotient, but flat along y where x is 0, and with derivative 0 in x there too, as in TF: the branch taken
    # at x = 0 is the constant 0.
    x, y = op.inputs
    cx, cy = conj(x), conj(y)
    used = math.cast(not_equal(x, zeros_like(x)), x.dtype)
    dx = math.mulnonan_op(math.xdivy_op(used, cy), dz)
    dy = math.mulnonan_op(math.xdivy_op(math.xdivy_op(-cx, cy), cy), dz)
    return sum_to_like(dx, x), sum_to_like(dy, y)


@RegisterGradient("DivNoNan")
def _divnonan_grad(op, dz):
    x, y = op.inputs
    cy = conj(y)
    dy = math.mulnonan_op(math.divnonan_op(math.divnonan_op(-conj(x), cy), cy), dz)
    return sum_to_like(math.divnonan_op(dz, cy), x), sum_to_like(dy, y)


@RegisterGradient("MulNoNan")
def _mulnonan_grad(op, dz):
    # The zero of y wins forward. Backward the derivative in x is y (0 wins again), in y it is x, 0 where dz is.
    x, y = op.inputs
    return sum_to_like(math.mulnonan_op(dz, conj(y)), x), sum_to_like(math.mulnonan_op(conj(x), dz), y)


def _x_times(logarithm, slope):
    def rule(op, dz):
        # x log y: dx = dz log y where x is not 0, dy = dz x / y, 0 where x is 0.
        x, y = op.inputs
        cx, cy = conj(x), conj(y)
        used = math.cast(not_equal(x, zeros_like(x)), x.dtype)
        dx = math.mulnonan_op(logarithm(used, cy), dz)
        dy = math.mulnonan_op(math.xdivy_op(cx, slope(cy)), dz)
        return sum_to_like(dx, x), sum_to_like(dy, y)

    return rule


RegisterGradient("Xlogy")(_x_times(math.xlogy_op, lambda y: y))
RegisterGradient("Xlog1py")(_x_times(math.xlog1py_op, lambda y: 1.0 + y))


@RegisterGradient("FloorMod")
def _floormod_grad(op, dz):
    # x mod y = x - floor(x / y) y, with the floor constant almost everywhere.
    x, y = op.inputs
    return sum_to_like(dz, x), sum_to_like(-dz * math.floordiv(x, y), y)


@RegisterGradient("TruncateMod")
def _truncatemod_grad(op, dz):
    x, y = op.inputs
    return sum_to_like(dz, x), sum_to_like(-dz * math.truncatediv(x, y), y)


@RegisterGradient("SquaredDifference")
def _squareddifference_grad(op, dz):
    # |x - y|^2 is real, so of a complex dz only the real part counts.
    x, y = op.inputs
    if dz.dtype.is_complex:
        dz = math.cast(real(dz), dz.dtype)
    dx = dz * (2 * (x - y))
    return sum_to_like(dx, x), sum_to_like(-dx, y)


@RegisterGradient("Pow")
def _pow_grad(op, dz):
    # dx = dz y x^(y-1), and 0 where y or dz is 0 (x^0 is 1 for every x, 0 among them); dy = dz z log x, where log x is
    # taken as 0 if x <= 0 (complex: x = 0), as in TF.
    x, y = op.inputs
    z = op.outputs[0]
    cx, cy, cz = conj(x), conj(y), conj(z)
    outside = equal(x, zeros_like(x)) if x.dtype.is_complex else less_equal(x, zeros_like(x))
    log_x = select(outside, zeros_like(x), math.log(select(outside, ones_like(x), cx)))
    dx = math.mulnonan_op(math.pow_op(cx, cy - 1), dz * cy)
    dy = math.mulnonan_op(math.mulnonan_op(cz, log_x), dz)
    return sum_to_like(dx, x), sum_to_like(dy, y)


@RegisterGradient("Atan2")
def _atan2_grad(op, dz):
    # At the origin, where no angle is, 0.
    y, x = op.inputs
    share = math.divnonan_op(dz, math.square(x) + math.square(y))
    return sum_to_like(x * share, y), sum_to_like(-y * share, x)


@RegisterGradient("NextAfter")
def _nextafter_grad(op, dz):
    # The neighbour of x1 moves with x1; x2 only says on which side it is.
    x1, x2 = op.inputs
    return sum_to_like(dz, x1), zeros_like(x2)


def _extreme(chosen):
    def rule(op, dz):
        # Where both are equal the first argument takes the whole gradient, as in TF.
        x, y = op.inputs
        first = chosen(x, y)
        zero = zeros_like(dz)
        return sum_to_like(select(first, dz, zero), x), sum_to_like(select(first, zero, dz), y)

    return rule


RegisterGradient("Maximum")(_extreme(greater_equal))
RegisterGradient("Minimum")(_extreme(less_equal))

# Piecewise constant: TF lets the path end here, and so do we; an explanation of a None gradient names these.
for _op_type in ("Floor", "Ceil", "Rint", "Round", "FloorDiv", "TruncateDiv", "IsNan", "IsInf", "IsFinite",
                 "ApproximateEqual"):
    NotDifferentiable(_op_type)
