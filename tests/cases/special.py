"""Rows for `regrad/ops/special.py`."""

import numpy as np
import scipy.special as sp

from regrad.ops import special
from tests.cases import FLOATS, Bad, Case, Edge

SINGLE = ("float32",)
inf, nan = np.inf, np.nan


def rows(op_type, function, reference, low, high, dtypes=FLOATS, points=(), **more):
    """A matrix, a scalar, an empty tensor, and the values at poles and limits."""
    more = {"rtol": 1e-9, "low": low, "high": high} | more
    out = [
        Case(op_type, function, reference, ((3, 4),), dtypes=dtypes, **more),
        Case(op_type, function, reference, ((),), dtypes=(), derivatives=False, **more),
        Case(op_type, function, reference, ((2, 0),), dtypes=(), derivatives=False, **more),
    ]
    if points:
        out.append(Case(op_type, function, reference, (np.array(points),), dtypes=(), derivatives=False, note="points", **more))
    return out


def _ndtri(x):
    return sp.ndtri(x)


def _lbeta(x):
    return sp.gammaln(x).sum(-1) - sp.gammaln(x.sum(-1))


def _fresnel(which):
    return lambda x: sp.fresnel(x)[which]


def _polygamma(a, x):
    return sp.polygamma(a.astype(int), x)


ORDERS = np.array([0.0, 1, 2, 3])

CASES = [
    *rows("Lgamma", special.lgamma, sp.gammaln, 0.3, 6, points=(0.0, -1.0, -0.5, inf, nan, 1e10)),
    *rows("Digamma", special.digamma, sp.digamma, 0.3, 6, points=(-0.5, inf, nan, 1e10)),
    *rows("Erf", special.erf, sp.erf, -2, 2, points=(0.0, inf, -inf, nan)),
    *rows("Erfc", special.erfc, sp.erfc, -2, 2, points=(0.0, inf, -inf, nan, 20.0)),
    *rows("Erfinv", special.erfinv, sp.erfinv, -0.9, 0.9, points=(0.0, 1.0, -1.0, 1.5, nan)),
    *rows("Ndtri", special.ndtri, sp.ndtri, 0.1, 0.9, dtypes=SINGLE, points=(0.0, 1.0, 0.5, 1e-9)),
    *rows("Ndtri", special.erfcinv, sp.erfcinv, 0.2, 1.8, dtypes=SINGLE, note="erfcinv"),
    *rows("Dawsn", special.dawsn, sp.dawsn, -3, 3, dtypes=SINGLE, points=(0.0, inf, nan)),
    *rows("Expint", special.expint, sp.expi, 0.3, 4, dtypes=SINGLE, points=(-1.0, inf, nan)),
    *rows("Spence", special.spence, sp.spence, 0.2, 3, dtypes=SINGLE, points=(0.0, 1.0, -1.0, nan)),
    *rows("FresnelSin", special.fresnel_sin, _fresnel(0), -2, 2, dtypes=SINGLE, points=(0.0, inf, nan)),
    *rows("FresnelCos", special.fresnel_cos, _fresnel(1), -2, 2, dtypes=SINGLE, points=(0.0, inf, nan)),
    *rows("BesselI0", special.bessel_i0, sp.i0, -4, 4, points=(0.0, nan)),
    *rows("BesselI0e", special.bessel_i0e, sp.i0e, 0.2, 4, points=(0.0, inf, nan)),
    *rows("BesselI1", special.bessel_i1, sp.i1, -4, 4, points=(0.0, nan), grad_rtol=1e-5),
    *rows("BesselI1e", special.bessel_i1e, sp.i1e, -4, -0.2, points=(0.0, inf, nan), grad_rtol=1e-5),
    *rows("BesselJ0", special.bessel_j0, sp.j0, -4, 4, points=(0.0, nan)),
    *rows("BesselJ1", special.bessel_j1, sp.j1, 0.2, 4, points=(0.0, nan)),
    *rows("BesselK0", special.bessel_k0, sp.k0, 0.3, 4, points=(0.0, -1.0, nan)),
    *rows("BesselK0e", special.bessel_k0e, sp.k0e, 0.3, 4, points=(0.0, -1.0, nan)),
    *rows("BesselK1", special.bessel_k1, sp.k1, 0.3, 4, points=(0.0, -1.0, nan)),
    *rows("BesselK1e", special.bessel_k1e, sp.k1e, 0.3, 4, points=(0.0, -1.0, nan)),
    *rows("BesselY0", special.bessel_y0, sp.y0, 0.3, 4, points=(0.0, -1.0, nan)),
    *rows("BesselY1", special.bessel_y1, sp.y1, 0.3, 4, points=(0.0, -1.0, nan)),
    Case("Polygamma", special.polygamma, _polygamma, (ORDERS, (3, 4)), low=0.4, high=4, wrt=(1,), rtol=1e-9, dtypes=SINGLE,
         order=3),
    Case("Polygamma", special.polygamma, _polygamma, (ORDERS[:, None], (3,)), low=0.4, high=4, wrt=(1,), rtol=1e-9, dtypes=()),
    Case("Zeta", special.zeta, sp.zeta, (np.array([[1.5, 2.5], [4.0, 7.0]]), (2, 2)), low=0.5, high=4, rtol=1e-9, dtypes=SINGLE,
         jax=False),
    Case("Zeta", special.zeta, sp.zeta, (np.array([[1.5], [4.0]]), (3,)), low=0.5, high=4, rtol=1e-9, dtypes=(), jax=False,
         order=3),
    Case("Igamma", special.igamma, sp.gammainc, ((3, 4), (3, 4)), low=0.3, high=6, rtol=1e-9, dtypes=SINGLE, jax=False,
         grad_rtol=1e-5),
    Case("Igamma", special.igamma, sp.gammainc, ((3, 1), (4,)), low=0.3, high=6, rtol=1e-9, dtypes=(), jax=False,
         grad_rtol=1e-5),
    Case("Igammac", special.igammac, sp.gammaincc, ((3, 4), (4,)), low=0.3, high=6, rtol=1e-9, dtypes=SINGLE, jax=False,
         grad_rtol=1e-5),
    Case("Igamma", special.igamma, sp.gammainc, (np.array([1.0, 2, 1, -1, 2]), np.array([0.0, inf, -1, 1, nan])),
         derivatives=False, dtypes=(), note="points"),
    Case("IgammaGradA", special.igammagrada_op, None, (np.array([0.4, 2, 9]), np.array([0.7, 3, 5])), dtypes=(), jax=False,
         grad_rtol=1e-5),
    Case("IgammaSlope", special.igammaslope_op, None, (np.array([0.4, 2, 9, 40]), np.array([0.7, 3, 5, 50])), dtypes=()),
    Case("Betainc", special.betainc, sp.betainc, (np.array([0.5, 2, 7]), np.array([3.0, 0.6, 11]), np.array([0.2, 0.7, 0.4])),
         rtol=1e-9, dtypes=SINGLE, jax=False),
    Case("Betainc", special.betainc, sp.betainc, (np.array([[0.5], [2]]), np.array(3.0), np.array([[0.2], [0.7]])),
         rtol=1e-9, dtypes=(), jax=False),
    Case("Betainc", special.betainc, sp.betainc, (np.array([2.0, 2]), np.array([3.0, 3]), np.array([0.0, 1])),
         derivatives=False, dtypes=(), note="ends"),
    Case("BetaincIntegral", special.betaincintegral_op, sp.betainc, (np.array([0.5, 2, 70]), np.array([3.0, 0.6, 30]),
         np.array([0.2, 0.7, 0.65])), rtol=1e-8, dtypes=()),
    Case("ZetaSum", special.zetasum_op, sp.zeta, (np.array([1.5, 3, 9]), np.array([0.3, 1, 12])), rtol=1e-9, dtypes=(), order=3),
    Case("Lgamma", special.lbeta, _lbeta, ((3, 4),), low=0.4, high=4, rtol=1e-9, dtypes=SINGLE, note="lbeta", unknown="rank"),
    Case("Lgamma", special.lbeta, _lbeta, ((2,),), low=0.4, high=4, rtol=1e-9, dtypes=(), note="lbeta"),
    Case("Softplus", special.log_sigmoid, lambda x: -np.logaddexp(0, -x), ((3,),), note="log_sigmoid"),
    Case("Softplus", special.log_sigmoid, lambda x: -np.logaddexp(0, -x), (np.array([-1000.0, 0, 1000]),), derivatives=False,
         dtypes=(), note="log_sigmoid far"),
    Edge("Spence", special.spence, ([1.0],), ([-1],), note="at 1"),
    Edge("BesselI1", special.bessel_i1, ([0.0],), ([0.5],), note="at 0"),
    Edge("BesselJ1", special.bessel_j1, ([0.0],), ([0.5],), note="at 0"),
    Edge("Lgamma", special.lgamma, ([0.0, 1.0],), ([0, -np.euler_gamma],), dy=[0.0, 1], note="0 arrives at a pole"),
    Edge("Erfinv", special.erfinv, ([1.0, 2, 0.0],), ([0, 0, np.sqrt(np.pi) / 2],), dy=[0.0, 0, 1], note="0 arrives"),
    Bad("Lgamma", lambda: special.lbeta(1.0), ValueError, "scalar"),
    Bad("Lgamma", lambda: special.lgamma(np.array([1])), TypeError, "int64"),
    Bad("Zeta", lambda: special.zeta(np.zeros(2), np.zeros(3)), ValueError, "2 and 3"),
]
