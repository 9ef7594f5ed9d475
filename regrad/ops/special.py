"""Special functions. Gradients: `special_grad.py`.

XLA computes them (through jax.scipy), and `runtime/special.c` the incomplete gamma and beta functions; in cold runs SciPy, a
dependency of JAX, those that programs use most. The Bessel functions J, K and Y, which XLA lacks, are host steps that SciPy
computes. 16-bit numbers are computed in 32 bits.
"""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, same
from regrad.core.shapes import broadcast, merge
from regrad.ops import math
from regrad.ops.math import of_values
from regrad.runtime import foreign, native

_TARGET = "regrad_special"


def _broadcast_all(*xs, **attrs):
    dims = xs[0].dims
    for x in xs[1:]:
        dims = broadcast(dims, x.dims)
    return Spec(dims, xs[0].dtype)


def _special(op_type, function, signature="x", infer=None, host=None):
    """Defines an op computed by `function(b, *arrays)`, in 32 bits where the arrays have 16.

    Args:
      host: the name of SciPy's function, if it has the same values; or a function of scipy.special and arrays.
    """

    def lower(b, *xs):
        dtype = xs[0].dtype
        if dtype.itemsize < 4:
            xs = [x.astype(np.float32) for x in xs]
        if b.is_host:
            import scipy.special

            values = getattr(scipy.special, host)(*xs) if isinstance(host, str) else host(scipy.special, *xs)
            return np.asarray(values).astype(dtype, copy=False)
        return function(b, *xs).astype(dtype)

    infer = infer or (same if signature == "x" else _broadcast_all)
    return define_op(op_type, signature, infer=infer, types={"T": FLOATING}, xla_only=host is None, lower=lower)


def _scipy(name):
    return lambda b, *xs: getattr(b.jax.scipy.special, name)(*xs)


def _lax(name):
    return lambda b, *xs: getattr(b.lax, name)(*b.np.broadcast_arrays(*xs))


def _on_host(op_type, name):
    """Defines an op that SciPy computes between compiled segments."""

    def lower(b, x):
        import scipy.special

        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        return np.asarray(getattr(scipy.special, name)(wide)).astype(x.dtype)

    return define_op(op_type, "x", infer=same, types={"T": FLOATING}, host=True, lower=lower)


# -- gamma and its relatives ---------------------------------------------------------------------
def _zeta(b, x, q):
    values = b.jax.scipy.special.zeta(x, q)
    return b.np.where(b.np.isposinf(q) & (x > 1), b.np.zeros_like(values), values)


def _native(number, function):
    """Returns what computes function `number` of `special.c`, or where there is no such library `function(b, *arrays)`."""

    def compute(b, *xs):
        xs = b.np.broadcast_arrays(*xs)
        if native.serves(_TARGET):
            return foreign.call(_TARGET, xs[0].shape, xs[0].dtype, *xs, function=np.int32(number))
        return function(b, *xs)

    return compute


def _incomplete(name, limit):
    """An incomplete gamma function by XLA, defined for a > 0; at an infinite a all of the integral is still to come."""

    def function(b, a, x):
        values = b.np.where(a > 0, getattr(b.lax, name)(a, x), np.nan)
        return b.np.where(b.np.isposinf(a) & (x >= 0) & b.np.isfinite(x), b.np.full_like(values, limit), values)

    return function


def _polygamma(b, a, x):
    # (-1)^(a+1) a! zeta(a + 1, x), and digamma at order 0.
    a, x = b.np.broadcast_arrays(a, x)
    zero = a == 0
    n = b.np.where(zero, b.np.ones_like(a), a)
    sign = 1 - 2 * b.np.mod(n + 1, 2)
    value = b.np.where(zero, b.lax.digamma(x), sign * b.np.exp(b.lax.lgamma(n + 1)) * _zeta(b, n + 1, x))
    return b.np.where((a == b.np.floor(a)) & (a >= 0), value, np.nan)


def _zeta_on_host(special, x, q):
    x, q = np.broadcast_arrays(x, q)
    values = np.asarray(special.zeta(x, q))
    # The poles, which SciPy takes for infinities of one sign: of an odd power there are two.
    return np.where((q <= 0) & (q == np.floor(q)), np.where((x == 1) | (np.mod(x, 2) == 0), np.inf, np.nan), values)


def _polygamma_on_host(special, a, x):
    a, x = np.broadcast_arrays(a, x)
    n = np.where(a == 0, np.ones_like(a), a)
    of_order = (1 - 2 * np.mod(n + 1, 2)) * np.exp(special.gammaln(n + 1)) * _zeta_on_host(special, n + 1, x)
    value = np.where(a == 0, np.where(x == 0, np.nan, special.psi(x)), of_order)
    return np.where((a == np.floor(a)) & (a >= 0), value, np.nan)


def _betainc_infer(*xs):
    full = [x.dims for x in xs if x.dims != ()]
    for dims in full[1:]:
        merge(full[0], dims, "shapes of a, b and x, which must be equal if not scalars:")
    return _broadcast_all(*xs)


lgamma_op = _special("Lgamma", _lax("lgamma"), host="gammaln")
digamma_op = _special("Digamma", _lax("digamma"),
                      host=lambda special, x: np.where(x == 0, np.nan, special.psi(x)))
polygamma_op = _special("Polygamma", _polygamma, "a, x", host=_polygamma_on_host)
zeta_op = _special("Zeta", _zeta, "x, q", host=_zeta_on_host)
igamma_op = _special("Igamma", _native(0, _incomplete("igamma", 0)), "a, x", host="gammainc")
igammac_op = _special("Igammac", _native(1, _incomplete("igammac", 1)), "a, x", host="gammaincc")
igammagrada_op = _special("IgammaGradA", _native(2, _lax("igamma_grad_a")), "a, x")
betainc_op = _special("Betainc", _native(3, _lax("betainc")), "a, b, x", _betainc_infer, host="betainc")


def lgamma(x, name=None):
    """Returns log |Gamma(x)| element-wise; infinity at 0, -1, -2 ..."""
    return lgamma_op(x, name=name)


def digamma(x, name=None):
    """Returns psi(x), the derivative of log Gamma, element-wise."""
    return digamma_op(x, name=name)


def polygamma(a, x, name=None):
    """Returns the derivative of order `a` (0, 1, 2 ... as floats) of digamma at `x`, with broadcasting."""
    return polygamma_op(a, x, name=name)


def zeta(x, q, name=None):
    """Returns the Hurwitz zeta function, the sum over n >= 0 of (q + n)^-x, for x > 1, with broadcasting."""
    return zeta_op(x, q, name=name)


def igamma(a, x, name=None):
    """Returns the lower regularised incomplete gamma function P(a, x), with broadcasting."""
    return igamma_op(a, x, name=name)


def igammac(a, x, name=None):
    """Returns the upper regularised incomplete gamma function Q(a, x) = 1 - P(a, x), with broadcasting."""
    return igammac_op(a, x, name=name)


def betainc(a, b, x, name=None):
    """Returns the regularised incomplete beta function I_x(a, b), with broadcasting."""
    return betainc_op(a, b, x, name=name)


def lbeta(x, name=None):
    """Returns log |Beta(x)| over the last axis: the sum of log Gamma(x_i) less log Gamma of the sum.

    Raises:
      ShapeError: (a ValueError) `x` is a scalar.
    """
    from regrad.ops.reduce import reduce_sum

    with get_default_graph().name_scope(name or "lbeta"):
        x = convert_to_tensor(x, name="x")
        if x.dims == ():
            raise ShapeError("lbeta: x is a scalar; it needs a last axis to run over")
        return reduce_sum(lgamma_op(x), axis=[-1]) - lgamma_op(reduce_sum(x, axis=[-1]))


# -- their derivatives in parameters, as sums that are differentiable themselves ------------------------
def _nodes(n=800, reach=6.1):
    """Returns log u, log(1 - u) and the log of the weight without u (1 - u), of the tanh-sinh rule on (0, 1)."""
    t = np.linspace(-reach, reach, n)
    with np.errstate(over="ignore"):
        log_u, log_1u = -np.log1p(np.exp(-np.pi * np.sinh(t))), -np.log1p(np.exp(np.pi * np.sinh(t)))
    # exp overflows at the far ends, where log1p(exp(z)) is z.
    log_u = np.where(np.isinf(log_u), np.pi * np.sinh(t), log_u)
    log_1u = np.where(np.isinf(log_1u), -np.pi * np.sinh(t), log_1u)
    return log_u, log_1u, np.log((t[1] - t[0]) * np.pi * np.cosh(t))


def _igamma_slope(b, a, x):
    # P(a, x) = x^a / Gamma(a) int_0^1 u^(a-1) e^(-x u) du; its derivative in a under the integral.
    log_u, log_1u, log_w = (n.astype(a.dtype) for n in _nodes())
    a, x = (v[..., None] for v in b.np.broadcast_arrays(a, x))
    log_xu = b.np.log(x) + log_u
    terms = b.np.exp(a * log_xu + log_1u + log_w - b.np.exp(log_xu) - b.lax.lgamma(a))
    return b.np.sum(terms * (log_xu - b.lax.digamma(a)), axis=-1)


def _betainc_integral(b, p, q, x):
    # I_x(p, q) = x^p / B(p, q) int_0^1 u^(p-1) (1 - x u)^(q-1) du.
    log_u, log_1u, log_w = (n.astype(p.dtype) for n in _nodes())
    p, q, x = (v[..., None] for v in b.np.broadcast_arrays(p, q, x))
    log_beta = b.lax.lgamma(p) + b.lax.lgamma(q) - b.lax.lgamma(p + q)
    rest = (q - 1) * b.np.log1p(-x * np.exp(log_u))
    return b.np.sum(b.np.exp(p * (b.np.log(x) + log_u) + log_1u + log_w + rest - log_beta), axis=-1)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def _zeta_sum(b, s, q):
    # Euler and Maclaurin: ten terms, the integral of the rest, and corrections with the Bernoulli numbers.
    s, q = b.np.broadcast_arrays(s, q)
    n = 10
    total = sum(b.np.exp(-s * b.np.log(q + i)) for i in range(n))
    log_w = b.np.log(q + n)
    total = total + b.np.exp((1 - s) * log_w) / (s - 1) + b.np.exp(-s * log_w) / 2
    rising, factorial = s, 2.0
    for k, number in enumerate(_BERNOULLI, 1):
        total = total + number / factorial * rising * b.np.exp(-(s + (2 * k - 1)) * log_w)
        rising = rising * (s + (2 * k - 1)) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total


igammaslope_op = _special("IgammaSlope", _igamma_slope, "a, x")
betaincintegral_op = _special("BetaincIntegral", _betainc_integral, "a, b, x")
zetasum_op = _special("ZetaSum", _zeta_sum, "x, q")


# -- error functions -------------------------------------------------------------------------------
erf_op = _special("Erf", _lax("erf"), host="erf")
erfc_op = _special("Erfc", _lax("erfc"), host="erfc")
for _op in (lgamma_op, digamma_op, erf_op, erfc_op):
    _op.declare(cost="slow")
erfinv_op = _special("Erfinv", _lax("erf_inv"), host="erfinv")
ndtri_op = _special("Ndtri", _scipy("ndtri"), host="ndtri")


@of_values
def erf(x, name=None):
    """Returns the error function element-wise."""
    return erf_op(x, name=name)


def erfc(x, name=None):
    """Returns 1 - erf(x) element-wise, exact for large x."""
    return erfc_op(x, name=name)


def erfinv(x, name=None):
    """Returns the inverse of erf element-wise: infinite at -1 and 1, NaN beyond."""
    return erfinv_op(x, name=name or "erfinv")


def ndtri(x, name=None):
    """Returns the quantile of the standard normal distribution at `x` in [0, 1], element-wise."""
    return ndtri_op(x, name=name or "ndtri")


def erfcinv(x, name=None):
    """Returns the inverse of erfc element-wise."""
    with get_default_graph().name_scope(name or "erfcinv"):
        x = convert_to_tensor(x, name="start")
        return -ndtri_op(0.5 * x) * np.sqrt(0.5)


def log_sigmoid(x, name=None):
    """Returns log(1 / (1 + exp(-x))) element-wise, exact for large negative x."""
    from regrad.ops.nn import softplus

    with get_default_graph().name_scope(name or "LogSigmoid") as scope:
        return math.negative(softplus(-convert_to_tensor(x, name="x")), name=scope)


# -- integrals ---------------------------------------------------------------------------------------
def _fresnel(which):
    return lambda b, x: b.jax.scipy.special.fresnel(x)[which]


dawsn_op = _special("Dawsn", _scipy("dawsn"))
expint_op = _special("Expint", lambda b, x: b.np.where(
    x == 0, -np.inf, b.np.where(b.np.isposinf(x), x, b.jax.scipy.special.expi(x))))
spence_op = _special("Spence", _scipy("spence"))
fresnelsin_op = _special("FresnelSin", _fresnel(0))
fresnelcos_op = _special("FresnelCos", _fresnel(1))


def dawsn(x, name=None):
    """Returns Dawson's integral exp(-x^2) int_0^x exp(t^2) dt, element-wise."""
    return dawsn_op(x, name=name or "dawsn")


def expint(x, name=None):
    """Returns the exponential integral Ei(x), element-wise."""
    return expint_op(x, name=name or "expint")


def spence(x, name=None):
    """Returns Spence's integral -int_1^x log(t) / (t - 1) dt for x >= 0, element-wise."""
    return spence_op(x, name=name or "spence")


def fresnel_sin(x, name=None):
    """Returns Fresnel's integral int_0^x sin(pi t^2 / 2) dt, element-wise."""
    return fresnelsin_op(x, name=name or "fresnel_sin")


def fresnel_cos(x, name=None):
    """Returns Fresnel's integral int_0^x cos(pi t^2 / 2) dt, element-wise."""
    return fresnelcos_op(x, name=name or "fresnel_cos")


# -- Bessel functions ----------------------------------------------------------------------------------
besseli0_op = _special("BesselI0", _scipy("i0"))
besseli0e_op = _special("BesselI0e", _scipy("i0e"))
besseli1_op = _special("BesselI1", _scipy("i1"))
besseli1e_op = _special("BesselI1e", _scipy("i1e"))
besselj0_op = _on_host("BesselJ0", "j0")
besselj1_op = _on_host("BesselJ1", "j1")
besselk0_op = _on_host("BesselK0", "k0")
besselk0e_op = _on_host("BesselK0e", "k0e")
besselk1_op = _on_host("BesselK1", "k1")
besselk1e_op = _on_host("BesselK1e", "k1e")
bessely0_op = _on_host("BesselY0", "y0")
bessely1_op = _on_host("BesselY1", "y1")


def bessel_i0(x, name=None):
    """Returns the modified Bessel function of the first kind and order 0, element-wise."""
    return besseli0_op(x, name=name or "bessel_i0")


def bessel_i0e(x, name=None):
    """Returns exp(-|x|) bessel_i0(x), element-wise."""
    return besseli0e_op(x, name=name or "bessel_i0e")


def bessel_i1(x, name=None):
    """Returns the modified Bessel function of the first kind and order 1, element-wise."""
    return besseli1_op(x, name=name or "bessel_i1")


def bessel_i1e(x, name=None):
    """Returns exp(-|x|) bessel_i1(x), element-wise."""
    return besseli1e_op(x, name=name or "bessel_i1e")


def bessel_j0(x, name=None):
    """Returns the Bessel function of the first kind and order 0, element-wise; a host step."""
    return besselj0_op(x, name=name or "bessel_j0")


def bessel_j1(x, name=None):
    """Returns the Bessel function of the first kind and order 1, element-wise; a host step."""
    return besselj1_op(x, name=name or "bessel_j1")


def bessel_k0(x, name=None):
    """Returns the modified Bessel function of the second kind and order 0, element-wise; a host step."""
    return besselk0_op(x, name=name or "bessel_k0")


def bessel_k0e(x, name=None):
    """Returns exp(x) bessel_k0(x), element-wise; a host step."""
    return besselk0e_op(x, name=name or "bessel_k0e")


def bessel_k1(x, name=None):
    """Returns the modified Bessel function of the second kind and order 1, element-wise; a host step."""
    return besselk1_op(x, name=name or "bessel_k1")


def bessel_k1e(x, name=None):
    """Returns exp(x) bessel_k1(x), element-wise; a host step."""
    return besselk1e_op(x, name=name or "bessel_k1e")


def bessel_y0(x, name=None):
    """Returns the Bessel function of the second kind and order 0, element-wise; a host step."""
    return bessely0_op(x, name=name or "bessel_y0")


def bessel_y1(x, name=None):
    """Returns the Bessel function of the second kind and order 1, element-wise; a host step."""
    return bessely1_op(x, name=name or "bessel_y1")
