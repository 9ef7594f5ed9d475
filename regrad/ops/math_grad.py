"""Gradient rules for the ops of `math.py`, easy to hard.

A rule takes the forward operation and the gradient of its output, and returns one gradient per input; None means
that nothing flows to that input. Users' rules are registered and written exactly like these.

Complex numbers follow TF: the gradient is the conjugate of the derivative, so a holomorphic f passes on dy * conj(f').
"""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import math
from regrad.ops.array import sum_to_like, zeros_like
from regrad.ops.compare import equal, greater_equal, less_equal, select
from regrad.ops.complex import conj


def elementwise(op_type, derivative):
    """Registers dx = dy * conj(derivative(x, y)), y being the op's output, for an op of one tensor."""

    @RegisterGradient(op_type)
    def rule(op, dy):
        return dy * conj(derivative(op.inputs[0], op.outputs[0]))

    return rule


# -- one input ------------------------------------------------------------------------------
elementwise("Exp", lambda x, y: y)
elementwise("Expm1", lambda x, y: math.exp(x))
elementwise("Log", lambda x, y: math.reciprocal(x))
elementwise("Log1p", lambda x, y: math.reciprocal(1.0 + x))
elementwise("Sin", lambda x, y: math.cos(x))
elementwise("Cos", lambda x, y: -math.sin(x))
elementwise("Tan", lambda x, y: math.square(math.reciprocal(math.cos(x))))
elementwise("Asin", lambda x, y: math.rsqrt(1.0 - math.square(x)))
elementwise("Acos", lambda x, y: -math.rsqrt(1.0 - math.square(x)))
elementwise("Atan", lambda x, y: math.reciprocal(1.0 + math.square(x)))
elementwise("Sinh", lambda x, y: math.cosh(x))
elementwise("Cosh", lambda x, y: math.sinh(x))
elementwise("Asinh", lambda x, y: math.reciprocal(math.cosh(y)))
elementwise("Acosh", lambda x, y: math.reciprocal(math.sinh(y)))
elementwise("Atanh", lambda x, y: math.reciprocal(1.0 - math.square(x)))
elementwise("Square", lambda x, y: 2.0 * x if not x.dtype.is_integer else 2 * x)
elementwise("Abs", lambda x, y: math.sign(x))


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
    y, dy = op.inputs
    return conj(-op.outputs[0] / y) * g, math.sqrtgrad_op(conj(y), g)


@RegisterGradient("RsqrtGrad")
def _rsqrtgrad_grad(op, g):
    y, dy = op.inputs
    return conj(-1.5 * math.square(y) * dy) * g, math.rsqrtgrad_op(conj(y), g)


@RegisterGradient("ReciprocalGrad")
def _reciprocalgrad_grad(op, g):
    y, dy = op.inputs
    return conj(-2.0 * y * dy) * g, math.reciprocalgrad_op(conj(y), g)


@RegisterGradient("Neg")
def _neg_grad(op, dy):
    return -dy


@RegisterGradient("AddN")
def _addn_grad(op, dy):
    return [dy] * len(op.inputs)


@RegisterGradient("Cast")
def _cast_grad(op, dy):
    source = op.inputs[0].dtype
    return math.cast(dy, source) if source.is_floating or source.is_complex else None


@RegisterGradient("Sign")
def _sign_grad(op, dy):
    # Flat wherever it is differentiable: a zero, not a break in the path, as in TF.
    return zeros_like(op.inputs[0])


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
    # z = x / y: dx = dz / y, dy = -dz z / y, written through x so that y alone is divided by.
    x, y = op.inputs
    y = conj(y)
    dx = math.div_op(dz, y)
    return sum_to_like(dx, x), sum_to_like(dz * math.div_op(math.div_op(-conj(x), y), y), op.inputs[1])


RegisterGradient("RealDiv")(_quotient)
RegisterGradient("Div")(_quotient)


@RegisterGradient("DivNoNan")
def _divnonan_grad(op, dz):
    x, y = op.inputs
    cy = conj(y)
    dy = dz * math.div_no_nan(math.div_no_nan(-conj(x), cy), cy)
    return sum_to_like(math.div_no_nan(dz, cy), x), sum_to_like(dy, y)


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
    x, y = op.inputs
    dx = dz * (2.0 * (x - y)) if not x.dtype.is_integer else dz * (2 * (x - y))
    return sum_to_like(dx, x), sum_to_like(-dx, y)


@RegisterGradient("Pow")
def _pow_grad(op, dz):
    # dx = dz y x^(y-1); dy = dz z log x. log x is taken as 0 where x <= 0 (complex: x = 0), as in TF.
    x, y = op.inputs
    z = op.outputs[0]
    x, y, z = conj(x), conj(y), conj(z)
    safe = equal(x, zeros_like(x)) if x.dtype.is_complex else less_equal(x, zeros_like(x))
    log_x = select(safe, zeros_like(x), math.log(select(safe, x - x + 1, x)))
    dx = dz * y * math.pow(x, y - 1)
    return sum_to_like(dx, op.inputs[0]), sum_to_like(dz * z * log_x, op.inputs[1])


@RegisterGradient("Atan2")
def _atan2_grad(op, dz):
    y, x = op.inputs
    share = dz / (math.square(x) + math.square(y))
    return sum_to_like(x * share, y), sum_to_like(-y * share, x)


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
for _op_type in ("Floor", "Ceil", "Rint", "Round", "FloorDiv", "TruncateDiv"):
    NotDifferentiable(_op_type)
