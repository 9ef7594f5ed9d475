"""Bijectors: inverses undo, and log-determinants are those of the Jacobians that gradients give."""
import numpy as np
import pytest

import regrad as tf

tb = tf.contrib.distributions.bijectors
D = np.float64
X, POSITIVE, MANY = np.array([0.3, -0.7, 1.2]), np.array([0.2, 0.7, 0.95]), np.array([0.3, -0.7, 1.2, 0.1, -2.0, 0.6])
LOWER = np.array([[0.5, 0.0, 0.0], [-1.0, 1.5, 0.0], [2.0, 0.3, 0.8]])
TRIANGLE = np.tril_indices(3)

NUMBERS = [
    (tb.Exp, X), (tb.Sigmoid, X), (tb.Softplus, X), (lambda: tb.Softplus(D(2)), X), (tb.Softsign, X), (tb.Square, POSITIVE),
    (lambda: tb.PowerTransform(0.5), X), (lambda: tb.SinhArcsinh(D(0.3), D(1.4)), X), (lambda: tb.Gumbel(D(0.1), D(2)), X),
    (lambda: tb.Weibull(D(2), D(1.5)), POSITIVE), (lambda: tb.Kumaraswamy(D(2), D(3)), POSITIVE),
    (lambda: tb.AffineScalar(1.0, -2.0), X), (tb.Identity, X), (lambda: tb.Invert(tb.Exp()), POSITIVE),
    (lambda: tb.Chain([tb.Exp(), tb.AffineScalar(D(1), D(3))]), X),
    (lambda: tb.Inline(tf.sinh, tf.asinh, None, lambda x: tf.log(tf.cosh(x)), forward_min_event_ndims=0), X),
]


def test_of_numbers():
    rows = []
    for make, at in NUMBERS:
        b, x = make(), tf.constant(at)
        y = b.forward(x)
        again = tf.identity(y)  # not known as what was made of x
        rows.append({"slope": tf.log(tf.abs(tf.gradients(y, x)[0])), "forward": b.forward_log_det_jacobian(x, 0) + 0.0 * x,
                     "inverse": b.inverse_log_det_jacobian(again, 0) + 0.0 * x, "back": b.inverse(again),
                     "vector": b.forward_log_det_jacobian(x, 1)})
    with tf.Session() as sess:
        got = sess.run(rows)
    for i, ((_, at), row) in enumerate(zip(NUMBERS, got)):
        np.testing.assert_allclose(row["forward"], row["slope"], rtol=1e-6, atol=1e-9, err_msg=str(i))
        np.testing.assert_allclose(row["inverse"], -row["slope"], rtol=1e-6, atol=1e-9, err_msg=str(i))
        np.testing.assert_allclose(row["back"], at, rtol=1e-6, err_msg=str(i))
        np.testing.assert_allclose(row["vector"], row["slope"].sum(), rtol=1e-6, atol=1e-9, err_msg=str(i))


VECTORS = {  # the bijector, where, which entries of x and y are free
    "softmax": (tb.SoftmaxCentered, X, None, np.s_[:3]),
    "triangular": (lambda: tb.Affine(D([1, 2, 3]), scale_tril=LOWER, scale_identity_multiplier=D(1)), X, None, None),
    "low rank": (lambda: tb.Affine(scale_diag=POSITIVE, scale_perturb_factor=X[:, None]), X, None, None),
    "multiple": (lambda: tb.Affine(D([1, 2, 3]), scale_identity_multiplier=D(2)), X, None, None),
    "adjoint": (lambda: tb.AffineLinearOperator(None, tf.linalg.LinearOperatorLowerTriangular(LOWER), True), X, None, None),
    "permute": (lambda: tb.Permute([2, 0, 1]), X, None, None),
    "ordered": (tb.Ordered, np.sort(X), None, None),
    "outer": (tb.CholeskyOuterProduct, LOWER, TRIANGLE, TRIANGLE),
    "inverse": (tb.MatrixInverseTriL, LOWER, TRIANGLE, TRIANGLE),
    "fill": (tb.FillTriangular, MANY, None, TRIANGLE),
    "fill above": (lambda: tb.FillTriangular(upper=True), MANY, None, np.triu_indices(3)),
    "scale": (tb.ScaleTriL, MANY, None, TRIANGLE),
    "diagonal": (lambda: tb.TransformDiagonal(tb.Exp()), LOWER, TRIANGLE, TRIANGLE),
    "reshape": (lambda: tb.Reshape([2, -1]), MANY, None, np.s_[:, :]),
    "real nvp": (lambda: tb.RealNVP(1, tb.real_nvp_default_template([4])), X, None, None),
    "autoregressive": (lambda: tb.MaskedAutoregressiveFlow(tb.masked_autoregressive_default_template([6])), X, None, None),
}


@pytest.mark.parametrize("name", VECTORS)
def test_of_vectors(name):
    make, at, free_x, free_y = VECTORS[name]
    b, x = make(), tf.constant(at)
    y = b.forward(x)
    again, flat = tf.identity(y), tf.reshape(y, [-1])
    slopes = [tf.gradients(flat[k], x)[0] for k in range(flat.shape[0].value)]
    slopes = tf.stack([tf.zeros_like(x) if s is None else s for s in slopes])
    asked = (slopes, y, b.inverse(again), b.forward_log_det_jacobian(x, at.ndim),
             b.inverse_log_det_jacobian(again, y.shape.ndims), b.forward_event_shape_tensor(at.shape),
             b.inverse_event_shape_tensor(tf.shape(y)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        jacobian, image, back, forward, inverse, *shapes = sess.run(asked)
    jacobian = jacobian.reshape(*image.shape, *at.shape)
    jacobian = jacobian.reshape(*image.shape, -1) if free_x is None else jacobian[..., free_x[0], free_x[1]]
    jacobian = (jacobian if free_y is None else jacobian[free_y]).reshape(-1, jacobian.shape[-1])
    log_det = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose([forward, inverse], [log_det, -log_det], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(back, at, rtol=1e-6)
    assert b.forward_event_shape(at.shape) == image.shape == tuple(shapes[0])
    assert b.inverse_event_shape(image.shape) == at.shape == tuple(shapes[1])
    assert b.inverse(y) is x


def test_chains_count_the_axes_of_events():
    chain = tb.Chain([tb.Softplus(), tb.ScaleTriL(diag_shift=None), tb.Exp()])
    assert (chain.forward_min_event_ndims, chain.inverse_min_event_ndims) == (1, 2)
    assert chain.forward_event_shape([5, 6]) == [5, 3, 3]
    assert tb.Invert(chain).forward_min_event_ndims == 2
    batch = tb.Affine(scale_identity_multiplier=[2.0, 3.0], shift=[0.0, 0.0, 0.0])
    with tf.Session() as sess:  # a constant Jacobian counts once for each vector of an event
        got = sess.run(batch.forward_log_det_jacobian(tf.zeros([2, 3]), 1)), sess.run(
            tb.AffineScalar(scale=2.0).forward_log_det_jacobian(tf.zeros([4, 3]), 1))
    np.testing.assert_allclose(got[0], 3 * np.log([2, 3]), rtol=1e-6)
    np.testing.assert_allclose(got[1], 3 * np.log(2), rtol=1e-6)


@pytest.mark.parametrize(("make", "error", "words"), [
    (lambda: tb.Bijector(), ValueError, "at least one"),
    (lambda: tb.Ordered().forward_log_det_jacobian([1.0], 0), ValueError, "larger than forward_min_event_ndims"),
    (lambda: tb.AffineScalar(D(1)).forward(tf.constant(1.0)), TypeError, "float32.*float64"),
    (lambda: tb.AffineScalar(D(1), tf.constant(1.0)), TypeError, "one dtype"),
    (lambda: tb.Chain([tb.AffineScalar(D(1)), tb.AffineScalar(np.float32(1))]), ValueError, "different dtypes"),
    (lambda: tb.AffineLinearOperator(scale=[1.0]), TypeError, "LinearOperator"),
    (lambda: tb.Affine(scale_identity_multiplier=2.0), ValueError, "how many rows"),
    (lambda: tb.PowerTransform(-1.0), ValueError, "non-negative"),
    (lambda: tb.FillTriangular().forward([1.0, 2.0]), ValueError, "n \\(n"),
    (lambda: tb.RealNVP(3, None).forward([1.0, 2.0]), ValueError, "smaller than the event size"),
    (lambda: tb.Permute([0, 1], axis=0), ValueError, "negative")])
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()
