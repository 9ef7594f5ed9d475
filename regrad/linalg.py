"""`tf.linalg`: linear algebra."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.linalg": """
        adjoint banded_triangular_solve cholesky cholesky_solve cross det=matrix_determinant eig
        eigh=self_adjoint_eig eigh_tridiagonal eigvals eigvalsh=self_adjoint_eigvals expm
        inv=matrix_inverse logdet logm lstsq=matrix_solve_ls lu lu_matrix_inverse lu_reconstruct
        lu_solve matrix_rank matvec norm normalize pinv qr slogdet solve=matrix_solve sqrtm svd trace
        triangular_solve=matrix_triangular_solve tridiagonal_matmul tridiagonal_solve""",
    "regrad.ops.diag": """
        band_part=matrix_band_part diag=matrix_diag diag_part=matrix_diag_part set_diag=matrix_set_diag
        tensor_diag tensor_diag_part""",
    "regrad.ops.matmul": """
        matmul""",
    "regrad.ops.einsum": """
        einsum tensordot""",
    "regrad.ops.norm": """
        l2_normalize""",
    "regrad.ops.generate": "eye",
    "regrad.ops.clip": """
        global_norm""",
    "regrad.linear_operators": """
        LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant LinearOperatorCirculant2D
        LinearOperatorCirculant3D LinearOperatorComposition LinearOperatorDiag LinearOperatorFullMatrix
        LinearOperatorHouseholder LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker
        LinearOperatorLowRankUpdate LinearOperatorLowerTriangular LinearOperatorPermutation LinearOperatorScaledIdentity
        LinearOperatorToeplitz LinearOperatorTridiag LinearOperatorZeros""",
    "regrad.ops.array": """
        matrix_transpose transpose=matrix_transpose""",
})
