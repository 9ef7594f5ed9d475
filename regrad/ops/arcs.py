"""Arc functions of real numbers for compiled programs: lowerings of the ops in `math.py`.

XLA's take up to forty times as long, and its arc tangent in vectors of 512 bits is wrong (benchmarks/NOTES.md). Here they are
polynomials: minimax fits of the relative error, made for this file. Results are off by two and a half units of the last place
at most, and infinities, NaN and the signs of zeros are NumPy's. On the host NumPy computes; complex numbers, and arc sines and
cosines of float64, are XLA's.
"""

import numpy as np

# (arcsin(s) / s - 1) / s^2 in powers of s^2, up to s = 1/2.
_SINE = (0.16666753927958236, 0.07495241769534627, 0.045477098981648874, 0.024147600232939784, 0.04221856833177709)

# (arctan(t) / t - 1) / t^2 in powers of t^2, up to t = 1, for numbers of so many bytes.
_TANGENT = {
    4: (-0.33333299089206103, 0.19998548286886925, -0.14264241708433648, 0.10952185922327498, -0.08403450752561069,
        0.05795760070290423, -0.03117785282595231, 0.010914609424845111, -0.0017936225163261588),
    8: (-0.3333333333333333, 0.19999999999999554, -0.14285714285648404, 0.11111111107234799, -0.09090908969557403,
        0.07692305354678655, -0.06666636435777692, 0.05882074956371294, -0.05261265735709454, 0.04752086773576656,
        -0.04308119655330471, 0.03872640214042632, -0.033750132001619734, 0.027567942297344678, -0.020238706986393514,
        0.012756172907694298, -0.006575683344151699, 0.002622977891906089, -0.0007518472526973822, 0.0001368724853148122,
        -1.1832505417555692e-05)}


def lowering(name):
    """Returns the lowering of an op by the function below called `name`, or by NumPy's or jax.numpy's where that is to be."""
    function, widest = {"arctan": (_arctan, 8), "arctan2": (_arctan2, 8), "arcsin": (_arcsin, 4), "arccos": (_arccos, 4)}[name]

    def lower(b, *xs):
        dtype = xs[0].dtype
        if b.is_host or dtype.kind == "c" or dtype.itemsize > widest:
            return getattr(b.np, name)(*xs)
        return function(b.np, *(x.astype(np.float32) if dtype.itemsize < 4 else x for x in xs)).astype(dtype)

    return lower


def _odd(x, coefficients):
    """Returns x + c0 x^3 + c1 x^5 ..."""
    number, z = x.dtype.type, x * x
    total = number(coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * z + number(c)
    return x + x * z * total


def _arctan(xp, x):
    steep = xp.abs(x) > 1
    arc = _odd(xp.where(steep, 1 / xp.abs(x), xp.abs(x)), _TANGENT[x.dtype.itemsize])
    return xp.copysign(xp.where(steep, x.dtype.type(np.pi / 2) - arc, arc), x)


def _arctan2(xp, y, x):
    number, high, wide = x.dtype.type, xp.abs(y), xp.abs(x)
    steep = high > wide
    small, large = xp.where(steep, wide, high), xp.where(steep, high, wide)
    undefined = (small == large) & ((large == 0) | xp.isinf(large))
    arc = _odd(xp.where(undefined, xp.sign(large), small / large), _TANGENT[x.dtype.itemsize])
    arc = xp.where(steep, number(np.pi / 2) - arc, arc)
    return xp.copysign(xp.where(xp.signbit(x), number(np.pi) - arc, arc), y)


def _halved(xp, x):
    """Returns |x| > 1/2, and there arcsin(sqrt((1 - |x|) / 2)), half the arc from |x| to 1; elsewhere arcsin(|x|)."""
    x = xp.abs(x)
    far = x > 0.5
    return far, _odd(xp.where(far, xp.sqrt(np.float32(0.5) - np.float32(0.5) * x), x), _SINE)


def _arcsin(xp, x):
    far, arc = _halved(xp, x)
    return xp.copysign(xp.where(far, np.float32(np.pi / 2) - 2 * arc, arc), x)


def _arccos(xp, x):
    far, arc = _halved(xp, x)
    return xp.where(far, xp.where(x < 0, np.float32(np.pi) - 2 * arc, 2 * arc), np.float32(np.pi / 2) - xp.copysign(arc, x))
