"""tf.metrics: two batches are measured as one, the variables are local, and initialising them starts again."""

import numpy as np
import pytest

import regrad as tf

RNG = np.random.RandomState(2)
LABELS, SCORES = RNG.rand(2, 40) > 0.4, RNG.rand(2, 40).astype(np.float32)
WEIGHTS = RNG.rand(2, 40).astype(np.float32)
HARD = SCORES > 0.5


def area(labels, scores, weights):
    """The share of (positive, negative) pairs in the right order, by weight."""
    order = scores[labels][:, None] > scores[~labels][None]
    pairs = weights[labels][:, None] * weights[~labels][None]
    return (order * pairs).sum() / pairs.sum()


ROWS = {  # name -> (predictions, the measure in NumPy, tolerance)
    "mean_squared_error": (SCORES, lambda t, p, w: (w * (t - p) ** 2).sum() / w.sum(), 1e-5),
    "mean_absolute_error": (SCORES, lambda t, p, w: (w * abs(t - p)).sum() / w.sum(), 1e-5),
    "root_mean_squared_error": (SCORES, lambda t, p, w: np.sqrt((w * (t - p) ** 2).sum() / w.sum()), 1e-5),
    "accuracy": (HARD, lambda t, p, w: (w * (t == p)).sum() / w.sum(), 1e-5),
    "precision": (HARD, lambda t, p, w: w[t & p].sum() / w[p].sum(), 1e-5),
    "recall": (HARD, lambda t, p, w: w[t & p].sum() / w[t].sum(), 1e-5),
    "true_positives": (HARD, lambda t, p, w: w[t & p].sum(), 1e-5),
    "false_positives": (HARD, lambda t, p, w: w[~t & p].sum(), 1e-5),
    "true_negatives": (HARD, lambda t, p, w: w[~t & ~p].sum(), 1e-5),
    "false_negatives": (HARD, lambda t, p, w: w[t & ~p].sum(), 1e-5),
    "auc": (SCORES, area, 1e-2),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", ROWS)
def test_over_two_batches(name, weighted):
    predictions, reference, tolerance = ROWS[name]
    labels = tf.placeholder(tf.bool, [40])
    given = tf.placeholder(predictions.dtype, [40])
    w = tf.placeholder(tf.float32, [40])
    value, update = getattr(tf.metrics, name)(labels, given, weights=w if weighted else None)
    assert tf.trainable_variables() == [] and tf.global_variables() == []
    assert [v.name.split("/")[0] for v in tf.local_variables()] == [name] * len(tf.local_variables())

    def wanted(rows):
        t, p, weights = (np.concatenate(a[:rows]) for a in (LABELS, predictions, WEIGHTS))
        p = p.astype(np.float64) if p.dtype.kind == "f" else p
        t = t.astype(np.float64) if p.dtype.kind == "f" and name != "auc" else t
        return reference(t, p, weights if weighted else np.ones_like(weights))

    with tf.Session() as sess:
        for _ in range(2):
            sess.run(tf.local_variables_initializer())
            for i in range(2):
                got = sess.run(update, {labels: LABELS[i], given: predictions[i], w: WEIGHTS[i]})
                assert got == pytest.approx(wanted(i + 1), rel=tolerance)
                assert sess.run(value) == pytest.approx(got, rel=1e-6)


def test_mean_of_nothing_is_zero():
    value, update = tf.metrics.mean(tf.constant([1.0, 4.0]), metrics_collections="seen", updates_collections=["updates"])
    assert tf.get_collection("seen") == [value] and tf.get_collection("updates") == [update]
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(value) == 0.0
        assert sess.run(update) == 2.5


def test_precision_and_recall_of_nothing():
    labels, scores, none = tf.constant([[1]], tf.int64), tf.constant([[0.1, 0.2, 0.7]]), tf.zeros([3])
    of_k = [tf.metrics.precision_at_k(labels, scores, 1, class_id=0), tf.metrics.recall_at_k(labels, scores, 1, class_id=0)]
    with tf.Session() as sess:
        for metrics, nothing in ((of_k, np.nan), ([tf.metrics.precision(none, none), tf.metrics.recall(none, none)], 0.0)):
            sess.run(tf.local_variables_initializer())
            values = sess.run([update for _, update in metrics]) + sess.run([value for value, _ in metrics])
            np.testing.assert_equal(values, [nothing] * 4)


def test_weights_have_the_rank_of_the_values_but_for_a_last_axis_of_one():
    values, given, weights = np.arange(24.0).reshape(3, 2, 4, 1), tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    _, update = tf.metrics.mean(given, weights)
    with tf.Session() as sess:
        for shape in ((), (1, 2, 4), (3, 2, 1, 1), (3, 1, 4, 1, 1)):
            sess.run(tf.local_variables_initializer())
            assert sess.run(update, {given: values, weights: np.ones(shape)}) == 11.5
            tf.metrics.mean(values, np.ones(shape))
        for shape in ((1,), (3, 2), (2, 4, 1), (3, 3, 4, 1), (3, 2, 4, 2)):
            with pytest.raises(ValueError, match="weights can not be broadcast to values"):
                tf.metrics.mean(values, np.ones(shape))
            with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
                sess.run(update, {given: values, weights: np.ones(shape)})


def test_results_are_called_as_in_tensorflow():
    y, p = tf.constant([[1]], tf.int64), tf.constant([[0.2, 0.8]])
    made = {"auc/value": tf.metrics.auc([0, 1], [0.2, 0.8]), "precision_at_1": tf.metrics.precision_at_k(y, p, 1),
            "recall_at_thresholds/recall_value": tf.metrics.recall_at_thresholds([0, 1], [0.2, 0.8], [0.5]),
            "mean_accuracy/mean_accuracy": tf.metrics.mean_per_class_accuracy([0, 1], [0, 1], 2),
            "specificity_at_sensitivity/value": tf.metrics.specificity_at_sensitivity([0, 1], [0.2, 0.8], 0.5)}
    assert {name: value.op.name for name, (value, _) in made.items()} == {name: name for name in made}


def test_refusals():
    y, p = tf.constant([[1]], tf.int64), tf.constant([[0.2, 0.8]])
    with pytest.raises(ValueError, match="Invalid k=0"):
        tf.metrics.average_precision_at_k(y, p, 0)
    with pytest.raises(ValueError, match="Invalid summation_method: simpson; there are trapezoidal"):
        tf.metrics.auc([0, 1], [0.2, 0.8], summation_method="simpson")
