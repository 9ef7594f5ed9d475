"""`tf.linalg.LinearOperator` and its family: matrices as objects that know how to be multiplied, solved and measured cheaply.

    scale = tf.linalg.LinearOperatorLowerTriangular(factor)
    x = scale.solvevec(y - mean)
    half_log_det = scale.log_abs_determinant()

An operator stands for a batch of matrices, `shape` being batch_shape + [range_dimension, domain_dimension]. What is known of it
(`is_non_singular`, `is_self_adjoint`, `is_positive_definite`, `is_square`: True, False or None) is said when it is made, and
chooses how it is solved; nothing is checked unless asked for with the `assert_` methods.
"""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.linear_operators.base": "LinearOperator LinearOperatorAdjoint LinearOperatorComposition LinearOperatorInversion",
    "regrad.linear_operators.blocks": "LinearOperatorBlockDiag LinearOperatorKronecker LinearOperatorLowRankUpdate",
    "regrad.linear_operators.diagonal": """
        LinearOperatorDiag LinearOperatorIdentity LinearOperatorScaledIdentity LinearOperatorZeros""",
    "regrad.linear_operators.matrices": """
        LinearOperatorFullMatrix LinearOperatorHouseholder LinearOperatorLowerTriangular LinearOperatorPermutation
        LinearOperatorToeplitz LinearOperatorTridiag""",
    "regrad.linear_operators.circulant": "LinearOperatorCirculant LinearOperatorCirculant2D LinearOperatorCirculant3D",
})
