"""`tf.losses`: values, weights, reductions, collections, refusals."""

import numpy as np
import pytest

import regrad as tf

RNG = np.random.RandomState(0)
LABELS = RNG.rand(4, 3).astype(np.float32)
PREDICTIONS = (RNG.rand(4, 3) * 0.9 + 0.05).astype(np.float32)
ONE_HOT = np.eye(3, dtype=np.float32)[[0, 2, 1, 2]]
WEIGHTS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)
E = PREDICTIONS - LABELS


def _log_softmax(x):
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _huber(delta):
    a = np.abs(E)
    return np.where(a <= delta, a * a / 2, delta * (a - delta / 2))


def _sigmoid(labels, x):
    return np.logaddexp(0, x) - x * labels


PER_ELEMENT = {
    "absolute_difference": ({}, np.abs(E)),
    "mean_squared_error": ({}, E**2),
    "huber_loss": ({"delta": 0.3}, _huber(0.3)),
    "hinge_loss": ({}, np.maximum(0, 1 - (2 * LABELS - 1) * PREDICTIONS)),
    "log_loss": ({}, -LABELS * np.log(PREDICTIONS + 1e-7) - (1 - LABELS) * np.log(1 - PREDICTIONS + 1e-7)),
    "cosine_distance": ({"axis": 1}, 1 - (LABELS * PREDICTIONS).sum(1, keepdims=True)),
    "sigmoid_cross_entropy": ({"label_smoothing": 0.2}, _sigmoid(LABELS * 0.8 + 0.1, PREDICTIONS)),
}


def value(tensor):
    with tf.Session() as sess:
        return sess.run(tensor)


@pytest.mark.parametrize("name", PER_ELEMENT)
def test_losses_and_reductions(name):
    kwargs, losses = PER_ELEMENT[name]
    f = getattr(tf.losses, name)
    weighted = losses * WEIGHTS
    present = np.broadcast_to(WEIGHTS != 0, losses.shape).sum()
    expected = {"NONE": weighted, "SUM": weighted.sum(),
                "SUM_OVER_BATCH_SIZE": weighted.sum() / weighted.size,
                "MEAN": weighted.sum() / np.broadcast_to(WEIGHTS, losses.shape).sum(),
                "SUM_BY_NONZERO_WEIGHTS": weighted.sum() / present}
    for reduction, e in expected.items():
        loss = f(LABELS, PREDICTIONS, weights=WEIGHTS, reduction=getattr(tf.losses.Reduction, reduction),
                 **kwargs)
        np.testing.assert_allclose(value(loss), e, rtol=2e-5, err_msg=f"{name}, {reduction}")
    np.testing.assert_allclose(value(f(LABELS, PREDICTIONS, **kwargs)), losses.mean(), rtol=2e-5)
    assert value(f(LABELS, PREDICTIONS, weights=0.0, **kwargs)) == 0  # not 0 / 0


@pytest.mark.parametrize("weights", [1.0, WEIGHTS[:, 0]])
def test_cross_entropies_are_one_loss_per_example(weights):
    losses = -(ONE_HOT * _log_softmax(PREDICTIONS)).sum(1)
    w = np.broadcast_to(weights, (4,))
    expected = (losses * w).sum() / (w != 0).sum()
    dense = tf.losses.softmax_cross_entropy(ONE_HOT, PREDICTIONS, weights)
    sparse = tf.losses.sparse_softmax_cross_entropy(ONE_HOT.argmax(1), PREDICTIONS, weights)
    column = tf.losses.sparse_softmax_cross_entropy(ONE_HOT.argmax(1)[:, None], PREDICTIONS, weights)
    for loss in (dense, sparse, column):
        np.testing.assert_allclose(value(loss), expected, rtol=1e-5)
    smooth = ONE_HOT * 0.7 + 0.1
    loss = tf.losses.softmax_cross_entropy(ONE_HOT, PREDICTIONS, label_smoothing=0.3)
    np.testing.assert_allclose(value(loss), -(smooth * _log_softmax(PREDICTIONS)).sum(1).mean(), rtol=1e-5)


def test_mean_pairwise_squared_error():
    pairs = [(E[n, i] - E[n, j]) ** 2 for n in range(4) for i in range(3) for j in range(i)]
    loss = value(tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS))
    np.testing.assert_allclose(loss, sum(pairs) * 2 / (3 * 2), rtol=1e-4)


def test_gradients_stop_at_labels_of_softmax_and_flow_elsewhere():
    labels, logits = tf.constant(ONE_HOT), tf.constant(PREDICTIONS)
    assert tf.gradients(tf.losses.softmax_cross_entropy(labels, logits), [labels, logits])[0] is None
    dlabels, dlogits = tf.gradients(tf.losses.mean_squared_error(labels, logits), [labels, logits])
    np.testing.assert_allclose(value(dlogits), 2 * (PREDICTIONS - ONE_HOT) / 12, rtol=1e-5)
    np.testing.assert_allclose(value(dlabels), -2 * (PREDICTIONS - ONE_HOT) / 12, rtol=1e-5)


def test_the_collection():
    a = tf.losses.mean_squared_error(LABELS, PREDICTIONS, scope="one")
    b = tf.losses.absolute_difference(LABELS, PREDICTIONS, scope="two")
    tf.losses.hinge_loss(LABELS, PREDICTIONS, loss_collection=None)
    tf.losses.hinge_loss(LABELS, PREDICTIONS, loss_collection="mine")
    extra = tf.constant(7.0)
    tf.losses.add_loss(extra)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5))
    assert tf.losses.get_losses() == [a, b, extra]
    assert tf.losses.get_losses("one") == [a]
    assert len(tf.get_collection("mine")) == 1
    total, plain = value([tf.losses.get_total_loss(),
                          tf.losses.get_total_loss(add_regularization_losses=False)])
    np.testing.assert_allclose(total - plain, 0.5, rtol=1e-5)
    np.testing.assert_allclose(plain, (E**2).mean() + np.abs(E).mean() + 7, rtol=1e-5)
    assert value(tf.losses.get_regularization_loss()) == 0.5
    assert a.op.name == "one/value"


def test_unknown_shapes():
    labels, predictions = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [None, 3])
    loss = tf.losses.mean_squared_error(labels, predictions, weights=WEIGHTS)
    with tf.Session() as sess:
        got = sess.run(loss, {labels: LABELS, predictions: PREDICTIONS})
    np.testing.assert_allclose(got, (E**2 * WEIGHTS).sum() / 9, rtol=1e-5)


def test_float64_is_computed_in_float64_where_the_dtype_is_kept():
    loss = tf.losses.compute_weighted_loss(np.full(3, 1e-12) + 1)
    assert loss.dtype == tf.float64
    assert value(loss) == 1 + 1e-12
    assert tf.losses.mean_squared_error(LABELS.astype(np.float64), PREDICTIONS).dtype == tf.float32


@pytest.mark.parametrize(("build", "says"), [
    (lambda: tf.losses.mean_squared_error(None, PREDICTIONS), "labels must not be None"),
    (lambda: tf.losses.mean_squared_error(LABELS, None), "predictions must not be None"),
    (lambda: tf.losses.mean_squared_error(LABELS[:3], PREDICTIONS), "incompatible"),
    (lambda: tf.losses.mean_squared_error(LABELS, PREDICTIONS, weights=np.ones(4, "f")),
     "weights can not be broadcast"),
    (lambda: tf.losses.mean_squared_error(LABELS, PREDICTIONS, reduction="sum"),
     "Invalid Reduction Key sum"),
    (lambda: tf.losses.cosine_distance(LABELS, PREDICTIONS), "must specify 'axis'"),
    (lambda: tf.losses.sparse_softmax_cross_entropy(None, PREDICTIONS), "labels must not be None"),
])
def test_refusals(build, says):
    with pytest.raises(ValueError, match=says):
        build()


def test_weights_of_unknown_shape_are_checked_when_it_is_known():
    losses, weights = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    made = [tf.losses.compute_weighted_loss(losses, weights), tf.losses.mean_pairwise_squared_error(losses, losses, weights)]
    classes = tf.losses.sparse_softmax_cross_entropy([[2], [0]], 10 * np.eye(3)[:2], weights)
    with tf.Session() as sess:
        for loss in made:
            sess.run(loss, {losses: np.ones((2, 3)), weights: np.ones((2, 1))})
            for shape in ((2,), (3, 3), (2, 3, 1)):
                with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
                    sess.run(loss, {losses: np.ones((2, 3)), weights: np.ones(shape)})
        column, row = (sess.run(classes, {weights: w}) for w in ([[1.0], [3.0]], [1.0, 3.0]))
        assert column == row == pytest.approx(20.0, abs=1e-2)
