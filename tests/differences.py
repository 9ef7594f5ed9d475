"""Rows of `tests/cases` in which Regrad differs from TensorFlow on purpose, or TensorFlow from mathematics: and why.

A key is "family-row id", or a pattern with "*". `docs/differences.md` says the same to users. Every row that is listed is
held against finite differences like all others.
"""

_CONJUGATE = "TensorFlow forgets a conjugate in the gradient for complex numbers"
_REAL = "the op's value is real, but TensorFlow lets the imaginary part of the incoming gradient through"

DIFFERENT = {
    "math-MulNoNan-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xdivy-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xlogy-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xlog1py-complex-(2,2)x(2,)": _CONJUGATE,
    "math-SquaredDifference-complex-(2,2)x(2,)": _REAL,
    "reduce-EuclideanNorm-complex-(2,3)": _REAL,
    "reduce-Prod-complex-(2,3)": "TensorFlow forgets a conjugate in the gradient of Cumprod, from which this one is made",
}
