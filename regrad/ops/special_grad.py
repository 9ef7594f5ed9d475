"""Gradient rules for `special.py`. Formulas: NIST Digital Library of Mathematical Functions, chapters 5 to 10 and 25."""

import math as numbers

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import math, special
from regrad.ops.array import ones_like, sum_to_like
from regrad.ops.compare import equal, select
from regrad.ops.math_grad import elementwise, unbounded
from regrad.ops.vjp import lowering_vjp, vjp_of_lowering


def _at(x, point, value, otherwise):
    """Returns the function `otherwise` of x, with `value` at x = `point`, where its formula is 0 / 0."""
    there = equal(x, point * ones_like(x))
    safe = select(there, ones_like(x) + point, x)
    return select(there, value * ones_like(x), otherwise(safe))


# -- error functions and integrals -----------------------------------------------------------------
elementwise("Erf", lambda x, y: 2 / numbers.sqrt(numbers.pi) * math.exp(-math.square(x)))
elementwise("Erfc", lambda x, y: -2 / numbers.sqrt(numbers.pi) * math.exp(-math.square(x)))
unbounded("Erfinv", lambda x, y: numbers.sqrt(numbers.pi) / 2 * math.exp(math.square(y)))
unbounded("Ndtri", lambda x, y: numbers.sqrt(2 * numbers.pi) * math.exp(0.5 * math.square(y)))
elementwise("Dawsn", lambda x, y: 1.0 - 2.0 * x * y)
unbounded("Expint", lambda x, y: math.exp(x) / x)
unbounded("Spence", lambda x, y: _at(x, 1.0, -1.0, lambda x: math.log(x) / (1.0 - x)))
elementwise("FresnelSin", lambda x, y: math.sin(numbers.pi / 2 * math.square(x)))
elementwise("FresnelCos", lambda x, y: math.cos(numbers.pi / 2 * math.square(x)))

# -- Bessel functions ---------------------------------------------------------------------------------
unbounded("BesselI0", lambda x, y: special.bessel_i1(x))
elementwise("BesselI0e", lambda x, y: special.bessel_i1e(x) - math.sign(x) * y)
unbounded("BesselI1", lambda x, y: special.bessel_i0(x) - _over_x(special.besseli1_op, x))
elementwise("BesselI1e", lambda x, y: special.bessel_i0e(x) - math.sign(x) * y - _over_x(special.besseli1e_op, x))
elementwise("BesselJ0", lambda x, y: -special.bessel_j1(x))
elementwise("BesselJ1", lambda x, y: special.bessel_j0(x) - _over_x(special.besselj1_op, x))
unbounded("BesselK0", lambda x, y: -special.bessel_k1(x))
unbounded("BesselK0e", lambda x, y: y - special.bessel_k1e(x))
unbounded("BesselK1", lambda x, y: -special.bessel_k0(x) - y / x)
unbounded("BesselK1e", lambda x, y: y - y / x - special.bessel_k0e(x))
unbounded("BesselY0", lambda x, y: -special.bessel_y1(x))
unbounded("BesselY1", lambda x, y: special.bessel_y0(x) - y / x)


def _over_x(op, x):
    """Returns f(x) / x for a Bessel function of order 1, whose limit at 0 is 1/2."""
    return _at(x, 0.0, 0.5, lambda x: op(x) / x)


# -- gamma and its relatives ---------------------------------------------------------------------------
unbounded("Lgamma", lambda x, y: special.digamma(x))
unbounded("Digamma", lambda x, y: special.polygamma(ones_like(x), x))


@RegisterGradient("Polygamma")
def _polygamma_grad(op, dy):
    # The order is a whole number: there is no derivative with respect to it.
    a, x = op.inputs
    return None, sum_to_like(math.mulnonan_op(special.polygamma(a + 1.0, x), dy), x)


@RegisterGradient("Igamma")
def _igamma_grad(op, dy):
    a, x = op.inputs
    density = math.exp(math.xlogy_op(a - 1.0, x) - x - special.lgamma(a))
    return (sum_to_like(math.mulnonan_op(special.igammagrada_op(a, x), dy), a),
            sum_to_like(math.mulnonan_op(density, dy), x))


@RegisterGradient("Igammac")
def _igammac_grad(op, dy):
    da, dx = _igamma_grad(op, dy)
    return -da, -dx


@RegisterGradient("IgammaGradA")
def _igammagrada_grad(op, dy):
    return lowering_vjp(special.igammaslope_op(*op.inputs).op, dy)


@RegisterGradient("Betainc")
def _betainc_grad(op, dy):
    a, b, x = op.inputs
    log_beta = special.lgamma(a) + special.lgamma(b) - special.lgamma(a + b)
    density = math.exp(math.xlogy_op(a - 1.0, x) + math.xlog1py_op(b - 1.0, -x) - log_beta)
    da, db, _ = lowering_vjp(special.betaincintegral_op(a, b, x).op, dy)
    return da, db, sum_to_like(math.mulnonan_op(density, dy), x)


@RegisterGradient("Zeta")
def _zeta_grad(op, dy):
    x, q = op.inputs
    dx, _ = lowering_vjp(special.zetasum_op(x, q).op, dy)
    return dx, sum_to_like(math.mulnonan_op(-x * special.zeta(x + 1.0, q), dy), q)


for _op_type in ("IgammaSlope", "BetaincIntegral", "ZetaSum"):
    vjp_of_lowering(_op_type)
