"""Rows of `tests/cases` in which Regrad differs from TensorFlow on purpose, or TensorFlow from mathematics: and why.

A key is "family-row id", or a pattern with "*". `docs/differences.md` says the same to users. Every row that is listed is
held against finite differences like all others.

`differences.json` says of each row of values which of its parts differ, in how many elements and, where both are finite, by how
much at most: {key: {backend: {part: [elements, difference relative to TensorFlow's largest]}}}. What is not in it agrees.
`tests/bounds.py` writes it.
"""

import json
import pathlib

BOUNDS = json.loads((pathlib.Path(__file__).parent / "differences.json").read_text())

_CONJUGATE = "TensorFlow forgets a conjugate in the gradient for complex numbers"
_REAL = "the op's value is real, but TensorFlow lets the imaginary part of the incoming gradient through"

_LABELS = "TensorFlow's second derivative leaves out the labels"
_MEAN = "TensorFlow stops the gradient at the mean: right to first order only"

_NAN = "a NaN among others decides here; in TensorFlow it depends on its place"
_AGAIN = "TensorFlow takes equal indices one after another, here one of them wins: optimizers add them up before"
_RECIPROCAL = "TensorFlow multiplies by the reciprocal of a constant divisor: 49 / 49 is less than 1"
_OUTSIDE = "outside its domain NaN here, as in SciPy"

DIFFERENT = {
    "nonfinite-cumulative-Cumprod-*": "TensorFlow divides by the elements, so that infinities give NaN",
    "nonfinite-cumulative-CumulativeLogsumexp-*": _NAN,
    "nonfinite-diag-MatrixDiag*V2-*": "TensorFlow has no derivative with respect to padding_value",
    "nonfinite-indexing-TensorScatterM*": _NAN,
    "nonfinite-layout-PadV2-*": "TensorFlow has no derivative with respect to constant_values",
    "nonfinite-math-Pow-*": "0 where the exponent is 0 or the logarithm of the base has no value, NaN in TensorFlow",
    "nonfinite-nn-Softplus-weighted-*": "TensorFlow's derivative at 0 is that of a formula with a kink there",
    "nonfinite-norm-SquaredDifference-*": _MEAN,
    "nonfinite-reduce-M[ai][xn]-*": "no element equals a NaN, so nothing flows to them; NaN in TensorFlow",
    "nonfinite-segment-*SegmentM*": _NAN,
    "nonfinite-sort-*": _NAN,
    "nonfinite-special-Erf-*": "TensorFlow's vector code gives NaN at infinity",
    "nonfinite-special-Expint-*": "TensorFlow gives NaN below 0 and at infinity",
    "nonfinite-special-BesselI1-*": "the derivative at 0 is 1/2, TensorFlow says 1",
    "nonfinite-special-Bessel[KY]*": _OUTSIDE + ", infinity in TensorFlow",
    "nonfinite-special-Zeta-*": "TensorFlow has no derivative with respect to x",
    "nonfinite-special-Igamma*": _OUTSIDE + ", 0 in TensorFlow",
    "math-RealDiv-floor of multiples, constant *": _RECIPROCAL,
    "math-Div-floor of multiples, constant *": _RECIPROCAL,
    "math-Xdivy-floor of multiples, constant *": _RECIPROCAL,
    "generate-LinSpace-whole 50-()x()": _RECIPROCAL,
    "math-MulNoNan-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xdivy-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xlogy-complex-(2,2)x(2,)": _CONJUGATE,
    "math-Xlog1py-complex-(2,2)x(2,)": _CONJUGATE,
    "math-SquaredDifference-complex-(2,2)x(2,)": _REAL,
    "diag-MatrixDiagV2-*": "TensorFlow has no derivative with respect to padding_value",
    "diag-MatrixDiagPartV2-*": "TensorFlow has no derivative with respect to padding_value",
    "image-HSVToRGB-*": "TensorFlow has no derivative",
    "image-Rsqrt-standard-*": "TensorFlow computes in float32 whatever the dtype",
    "layout-PadV2-(2,3)x()": "TensorFlow has no derivative with respect to constant_values",
    "linalg-Svd-False-(3,2)": "TensorFlow's second derivative for complex vectors is not that of finite differences",
    "linalg-Svd-True-(3,2)": "TensorFlow's second derivative for complex vectors is not that of finite differences",
    "linalg-MatrixDeterminant-(3,3)": _CONJUGATE,
    "linalg-LogMatrixDeterminant-(3,3)": "TensorFlow lets no gradient through the sign, which turns if it is complex",
    "linalg-MatrixSquareRoot-(1,2,2)": _CONJUGATE,
    "linalg-SelfAdjointEigV2-tridiagonal-(4,)x(3,)": "TensorFlow differentiates a search by bisection",
    "special-Erf-points-(4,)": "TensorFlow's vector code gives NaN at infinity",
    "special-Expint-points-(3,)": "TensorFlow gives NaN below 0 and at infinity",
    "special-Bessel[KY]*-points-(3,)": "below 0, outside their domain: NaN as in SciPy, where TensorFlow says infinity",
    "special-Zeta-*": "TensorFlow has no derivative with respect to x",
    "special-Betainc-*": "TensorFlow has no derivatives with respect to a and b",
    "nn-SoftmaxCrossEntropyWithLogits-(4,3)x(4,3)": _LABELS,
    "nn-SoftmaxCrossEntropyWithLogits-rank 3-*": _LABELS,
    "nn-SoftmaxCrossEntropyWithLogits-extreme-*": _LABELS,
    "nn-SoftmaxCrossEntropyWithLogits-axis-*": "TensorFlow's gradient takes for granted that labels sum to 1",
    "nn-SoftmaxCrossEntropyWithLogits-impossible class-*": "0 times an infinite logarithm is 0 here, NaN in TensorFlow",
    "norm-SquaredDifference-(4,3,2)": _MEAN,
    "norm-SquaredDifference-keep-(4,3)": _MEAN,
    "state-ScatterM[ai]*-not finite": _NAN,
    "check-PrintV2-complex*": "TensorFlow prints a question mark for each complex number",
    **dict.fromkeys(("check-EagerPyFunc-float*", "check-EagerPyFunc-two results"),
                    "its function computes with arrays, so there is nothing to differentiate: give it a rule"),
    "random-ParameterizedTruncatedNormal-": "the same distribution, by another way of rejecting numbers of the same stream",
    **dict.fromkeys(("random-RandomShuffle-(5,2)", "random-RandomShuffle-scalar-()"), "TensorFlow has no derivative"),
    "state-CountUpTo-raw": "the op gives the variable's new value, as every assignment; tf.count_up_to the one before",
    "queues-PriorityQueueV2-what is left": "TensorFlow's gives up where fewer are left than were asked for",
    "flow-While-two variables": "TensorFlow's loops lose what their derivatives depend on",
    "train-SparseApply*-repeated": _AGAIN,
    "train-ApplyAdaMax-not finite": "a NaN gradient stays; TensorFlow's maximum drops it",
    "train-SparseApply*RMSProp-not finite": "after an infinite gradient NaN, as TensorFlow's dense op",
    "train-SparseApplyFtrl*-not finite": "a NaN gives 0, as in TensorFlow's dense op",
    "partition-DynamicStitch-overwritten*": "TensorFlow gives a gradient to elements that were overwritten",
    "sort-TopKV2-ties-*": "unsorted results have no order",
    "reduce-EuclideanNorm-complex-(2,3)": _REAL,
    "reduce-Prod-complex-(2,3)": "TensorFlow forgets a conjugate in the gradient of Cumprod, from which this one is made",
}
