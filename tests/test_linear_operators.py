"""Linear operators do what their matrices do, whatever is known of shapes, and know what they are."""

import numpy as np
import pytest

import regrad as tf

L = tf.linalg
RNG = np.random.RandomState(0)


def _normal(*shape, kind=np.float64):
    x = RNG.randn(*shape)
    return (x + 1j * RNG.randn(*shape) if kind is np.complex128 else x).astype(kind)


def _spd(n):
    x = RNG.randn(n, n)
    return x @ x.T + n * np.eye(n)


A2, A3, B23, C3 = _normal(2, 2), _normal(3, 3), _normal(2, 3, 3), _normal(3, 3, kind=np.complex128)
U, V, D, SPD = _normal(3, 2), _normal(3, 2), np.array([0.5, 2.0]), _spd(3)
SPECTRUM = _normal(4, kind=np.complex128)


def _circulant(spectrum):
    kernel = np.fft.ifft(spectrum)
    return np.stack([np.roll(kernel, i) for i in range(len(kernel))], -1)


def _circulant2d(spectrum):
    n = spectrum.size
    return np.stack([np.fft.ifftn(np.fft.fftn(e.reshape(spectrum.shape)) * spectrum).reshape(n) for e in np.eye(n)], -1)


def _householder(v):
    return np.eye(len(v)) - 2 * np.outer(v, v) / (v @ v)


def _full(x, **hints):
    return L.LinearOperatorFullMatrix(x, **hints)


ROWS = {  # the operator of tensors, what they are, the matrix
    "full": (_full, [A3], A3),
    "full, a batch": (_full, [B23], B23),
    "full, complex": (_full, [C3], C3),
    "full, positive definite": (lambda x: _full(x, is_self_adjoint=True, is_positive_definite=True), [SPD], SPD),
    "triangular": (L.LinearOperatorLowerTriangular, [A3], np.tril(A3)),
    "triangular, complex": (L.LinearOperatorLowerTriangular, [C3], np.tril(C3)),
    "diagonal": (L.LinearOperatorDiag, [A2], np.stack([np.diag(d) for d in A2])),
    "diagonal, complex": (L.LinearOperatorDiag, [C3[0]], np.diag(C3[0])),
    "identity": (lambda n: L.LinearOperatorIdentity(n, dtype=tf.float64), [np.int32(3)], np.eye(3)),
    "identity, a batch": (lambda n: L.LinearOperatorIdentity(3, n, tf.float64), [np.array([2], np.int32)],
                          np.tile(np.eye(3), [2, 1, 1])),
    "scaled identity": (lambda m: L.LinearOperatorScaledIdentity(3, m), [np.array([2.0, -0.5])],
                        np.stack([2 * np.eye(3), -0.5 * np.eye(3)])),
    "householder": (L.LinearOperatorHouseholder, [A3[0]], _householder(A3[0])),
    "permutation": (lambda p: L.LinearOperatorPermutation(p, tf.float64), [np.array([2, 0, 1])], np.eye(3)[[2, 0, 1]]),
    "toeplitz": (L.LinearOperatorToeplitz, [np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 5.0])],
                 np.array([[1.0, -2.0, 5.0], [2.0, 1.0, -2.0], [3.0, 2.0, 1.0]])),
    "tridiagonal": (L.LinearOperatorTridiag, [np.array([[1.0, 2.0, 9.0], [5.0, 6.0, 7.0], [9.0, 3.0, 4.0]])],
                    np.array([[5.0, 1.0, 0.0], [3.0, 6.0, 2.0], [0.0, 4.0, 7.0]])),
    "circulant": (lambda s: L.LinearOperatorCirculant(s, tf.complex128), [SPECTRUM], _circulant(SPECTRUM)),
    "circulant, real": (lambda s: L.LinearOperatorCirculant(s, tf.float64), [np.array([3.0, 2.0, 1.0, 2.0])],
                        _circulant(np.array([3.0, 2.0, 1.0, 2.0])).real),
    "circulant, of images": (lambda s: L.LinearOperatorCirculant2D(s, tf.complex128), [C3[:2]], _circulant2d(C3[:2])),
    "adjoint": (lambda x: L.LinearOperatorAdjoint(_full(x)), [C3], C3.conj().T),
    "inverse": (lambda x: L.LinearOperatorInversion(_full(x)), [A3], np.linalg.inv(A3)),
    "product": (lambda x, y: L.LinearOperatorComposition([_full(x), L.LinearOperatorDiag(y)]), [B23, A3[0]],
                B23 @ np.diag(A3[0])),
    "blocks": (lambda x, y: L.LinearOperatorBlockDiag([_full(x), _full(y)]), [A2, B23],
               np.stack([np.block([[A2, np.zeros([2, 3])], [np.zeros([3, 2]), b]]) for b in B23])),
    "kronecker": (lambda x, y: L.LinearOperatorKronecker([_full(x), _full(y)]), [A2, A3], np.kron(A2, A3)),
    "kronecker of three": (lambda x, y: L.LinearOperatorKronecker([_full(x), _full(y), _full(x)]), [A2, C3.real],
                           np.kron(A2, np.kron(C3.real, A2))),
    "low rank": (lambda b, u, d, v: L.LinearOperatorLowRankUpdate(_full(b), u, d, v), [A3, U, D, V], A3 + U @ np.diag(D) @ V.T),
    "low rank, positive definite": (
        lambda b, u: L.LinearOperatorLowRankUpdate(L.LinearOperatorDiag(b, is_positive_definite=True), u), [D[[0, 1, 1]], U],
        np.diag(D[[0, 1, 1]]) + U @ U.T),
}


def _asked(operator, x, flipped):
    """Returns what an operator answers, and a function that computes it from the matrix."""
    n, dtype = x.shape[0], x.dtype
    answers = {
        "dense": (operator.to_dense(), lambda m: m),
        "matmul": (operator.matmul(x), lambda m: m @ x),
        "adjoint": (operator.matmul(flipped, adjoint=True, adjoint_arg=True), lambda m: _adjoint(m) @ flipped.conj().T),
        "matvec": (operator.matvec(x[:, 0]), lambda m: m @ x[:, 0]),
        "solve": (operator.solve(x), lambda m: np.linalg.solve(m, x)),
        "solve adjoint": (operator.solve(flipped, adjoint=True, adjoint_arg=True),
                          lambda m: np.linalg.solve(_adjoint(m), flipped.conj().T)),
        "solvevec": (operator.solvevec(x[:, 0]), lambda m: np.linalg.solve(m, x[:, :1])[..., 0]),
        "determinant": (operator.determinant(), np.linalg.det),
        "log": (operator.log_abs_determinant(), lambda m: np.linalg.slogdet(m)[1]),
        "diagonal": (operator.diag_part(), lambda m: np.diagonal(m, axis1=-2, axis2=-1)),
        "trace": (operator.trace(), lambda m: np.trace(m, axis1=-2, axis2=-1)),
        "sum": (operator.add_to_tensor(np.ones([n, n], dtype)), lambda m: m + 1),
        "H": (operator.H.to_dense(), _adjoint),
        "inverse": (operator.inverse().to_dense(), np.linalg.inv),
        "shape": (operator.shape_tensor(), np.shape),
        "batch": (operator.batch_shape_tensor(), lambda m: m.shape[:-2]),
    }
    if operator.is_positive_definite:
        answers["cholesky"] = operator.cholesky().to_dense(), np.linalg.cholesky
    return answers


def _adjoint(matrix):
    return np.swapaxes(matrix, -1, -2).conj()


@pytest.mark.parametrize("name", ROWS)
def test_does_what_its_matrix_does(name):
    make, given, matrix = ROWS[name]
    n, kind = matrix.shape[-1], matrix.dtype.type
    arguments = _normal(n, 2, kind=kind), _normal(2, n, kind=kind)
    feeds = {tf.placeholder(g.dtype): g for g in given}
    answers = _asked(make(*feeds), *arguments)
    with tf.Session() as sess:
        got = sess.run({k: t for k, (t, _) in answers.items()}, feeds)
    known = make(*map(tf.constant, given))
    assert known.shape == matrix.shape and known.batch_shape == matrix.shape[:-2]
    for k, (promised, wanted) in _asked(known, *arguments).items():
        np.testing.assert_allclose(got[k], wanted(matrix), rtol=1e-6, atol=1e-9, err_msg=k)
        assert promised.shape == np.shape(got[k]), k


def test_products_of_operators_stay_simple():
    matrix, triangle, diagonal = _full([[1.0, 2.0], [3.0, 4.0]]), L.LinearOperatorLowerTriangular(np.eye(2, dtype="f")), \
        L.LinearOperatorDiag([1.0, 2.0])
    one, three, zero = L.LinearOperatorIdentity(2), L.LinearOperatorScaledIdentity(2, 3.0), L.LinearOperatorZeros(2)
    for left, right, kind in ((matrix, diagonal, "Composition"), (one, matrix, "FullMatrix"), (matrix, one, "FullMatrix"),
                              (diagonal, diagonal, "Diag"), (three, diagonal, "Diag"), (diagonal, three, "Diag"),
                              (triangle, diagonal, "LowerTriangular"), (diagonal, triangle, "LowerTriangular"),
                              (three, three, "ScaledIdentity"), (zero, matrix, "Zeros"), (matrix, zero, "Zeros")):
        product = left @ right
        assert type(product).__name__ == "LinearOperator" + kind
        with tf.Session() as sess:
            got, a, b = sess.run([product.to_dense(), left.to_dense(), right.to_dense()])
        np.testing.assert_allclose(got, a @ b)
    assert isinstance(matrix.solve(diagonal), L.LinearOperatorComposition)


def test_what_is_known_follows():
    assert L.LinearOperatorDiag([1.0]).is_self_adjoint and _full([[1.0, 2.0]]).is_square is False
    assert _full(np.eye(2), is_positive_definite=True).is_non_singular
    both = [_full(np.eye(2), is_positive_definite=True, is_self_adjoint=True)] * 2
    for made in (L.LinearOperatorKronecker(both), L.LinearOperatorBlockDiag(both)):
        assert made.is_positive_definite and made.is_self_adjoint and made.is_non_singular
        assert isinstance(made.cholesky().operators[0], L.LinearOperatorLowerTriangular)
    assert L.LinearOperatorComposition(both).is_positive_definite is None


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: _full([1.0]), ValueError, "at least 2 dimensions"),
    (lambda: _full([[1, 2]]), TypeError, "floating or complex"),
    (lambda: _full([[1.0, 2.0]]).solve([[1.0]]), NotImplementedError, "expected to not be square"),
    (lambda: _full([[1.0, 2.0]]).determinant(), NotImplementedError, "expected to not be square"),
    (lambda: _full([[1.0, 2.0]]).inverse(), ValueError, "is not square"),
    (lambda: _full([[1.0]]).matmul([[1.0], [2.0]]), ValueError, "not compatible"),
    (lambda: _full([[1.0]]) @ _full([[1.0], [2.0]]), ValueError, "incompatible"),
    (lambda: _full([[1.0]]).matmul(np.ones([1, 1])), TypeError, "float32.*float64"),
    (lambda: _full([[1.0]], is_positive_definite=True, is_non_singular=False), ValueError, "always non-singular"),
    (lambda: _full([[1.0]], is_self_adjoint=True, is_square=False), ValueError, "always square"),
    (lambda: _full([[1.0, 2.0]], is_non_singular=True).is_square, ValueError, "shape is"),
    (lambda: _full([[1.0]]).cholesky(), ValueError, "Not a positive definite"),
    (lambda: L.LinearOperatorDiag([1.0], is_self_adjoint=False), ValueError, "always self adjoint"),
    (lambda: L.LinearOperatorIdentity(-1), ValueError, "non-negative"),
    (lambda: L.LinearOperatorIdentity(2.0), TypeError, "integer type"),
    (lambda: L.LinearOperatorZeros(2).solve([[1.0], [1.0]]), NotImplementedError, "singular"),
    (lambda: L.LinearOperatorZeros(2, 3), ValueError, "equal num_rows"),
    (lambda: L.LinearOperatorComposition([]), ValueError, "non-empty"),
    (lambda: L.LinearOperatorBlockDiag([_full([[1.0]]), _full(np.eye(1))]), TypeError, "same dtype"),
    (lambda: L.LinearOperatorKronecker([L.LinearOperatorIdentity(2)], is_non_singular=False), ValueError, "all non-singular"),
    (lambda: L.LinearOperatorCirculant([1.0, 2.0], is_self_adjoint=False), ValueError, "real spectrum"),
    (lambda: L.LinearOperatorLowRankUpdate(L.LinearOperatorIdentity(3), [[1.0], [2.0]]), ValueError, "not compatible")])
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("what", ["non_singular", "positive_definite", "self_adjoint"])
def test_checks(what):
    good = [L.LinearOperatorDiag([1.0, 2.0]), L.LinearOperatorIdentity(2), L.LinearOperatorScaledIdentity(2, 3.0),
            _full([[2.0, 1.0], [1.0, 2.0]], is_self_adjoint=True), L.LinearOperatorCirculant([3.0, 2.0])]
    bad = {"non_singular": [_full([[1.0, 2.0], [2.0, 4.0]]), L.LinearOperatorDiag([1.0, 0.0]), L.LinearOperatorZeros(2),
                            L.LinearOperatorLowerTriangular([[1.0, 0.0], [1.0, 0.0]])],
           "positive_definite": [L.LinearOperatorDiag([1.0, -1.0]), L.LinearOperatorHouseholder([1.0, 0.0]),
                                 _full([[1.0, 2.0], [2.0, 1.0]], is_self_adjoint=True)],
           "self_adjoint": [_full([[1.0, 2.0], [3.0, 4.0]]), L.LinearOperatorToeplitz([1.0, 2.0], [1.0, 3.0]),
                            L.LinearOperatorDiag([1j])]}[what]
    with tf.Session() as sess:
        sess.run([getattr(operator, f"assert_{what}")() for operator in good])
        for operator in bad:
            with pytest.raises(tf.errors.InvalidArgumentError):
                sess.run(getattr(operator, f"assert_{what}")())
