"""`tf.contrib.metrics`, which is `slim.metrics`: the metrics of `tf.metrics` as streaming_..., with predictions first."""

import inspect

from regrad import metrics as _metrics
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.framework import control_dependencies
from regrad.ops import array, math
from regrad.ops.compare import equal, where_v2
from regrad.ops.reduce import reduce_mean, reduce_sum
from regrad.variables.assign import assign_add
from regrad.variables.scope import variable_scope

# What takes (labels, predictions, ...) there takes (predictions, labels, ...) here.
_SWAPPED = """accuracy auc false_negatives false_positives mean_absolute_error mean_cosine_distance mean_iou
    mean_relative_error mean_squared_error precision precision_at_thresholds recall recall_at_thresholds
    root_mean_squared_error sensitivity_at_specificity specificity_at_sensitivity true_negatives true_positives""".split()
_SAME = {"streaming_mean": "mean", "streaming_mean_tensor": "mean_tensor", "streaming_percentage_less": "percentage_below"}


def _swapped(name):
    function = getattr(_metrics, name)

    def streaming(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)

    parameters = list(inspect.signature(function).parameters.values())
    streaming.__name__ = streaming.__qualname__ = f"streaming_{name}"
    streaming.__signature__ = inspect.Signature([parameters[1], parameters[0], *parameters[2:]])
    streaming.__doc__ = f"Returns `tf.metrics.{name}(labels, predictions, ...)`: (value, update)."
    return streaming


globals().update({f"streaming_{name}": _swapped(name) for name in _SWAPPED})
globals().update({name: getattr(_metrics, target) for name, target in _SAME.items()})


def accuracy(predictions, labels, weights=None, name=None):
    """Returns the share of predictions that equal their labels, of this batch alone."""
    right = math.cast(equal(predictions, labels), dtypes.float32)
    if weights is None:
        return reduce_mean(right, name=name)
    weights = math.cast(weights, dtypes.float32)
    return math.divide(reduce_sum(right * weights), reduce_sum(weights), name=name)


def streaming_covariance(predictions, labels, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (covariance, update) of all pairs seen, each counted by its weight: the co-moment over the count less 1.

    The co-moment of two batches is the sum of theirs and of the product of the differences of their means, times
    n m / (n + m): Chan, Golub and LeVeque 1979. NaN before the count is above 1.
    """
    x, y = (math.cast(convert_to_tensor(t), dtypes.float32) for t in (predictions, labels))
    x.shape.assert_is_compatible_with(y.shape)
    with variable_scope(name, "covariance"):
        count, mean_x, mean_y, comoment = (_metrics._counter(n) for n in ("count", "mean_prediction", "mean_label", "comoment"))
        weights = _metrics._as_weights(weights, y)
        weights = array.ones_like(y) if weights is None else weights
        n = reduce_sum(weights)
        old_count = count.value()
        new_count = assign_add(count, n)
        steps, batch_means, differences = [], [], []
        for mean, values in ((mean_x, x), (mean_y, y)):
            batch_mean = math.div_no_nan(reduce_sum(values * weights), n)
            difference = batch_mean - mean.value()
            steps.append(assign_add(mean, math.div_no_nan(difference * n, new_count)))
            batch_means.append(batch_mean)
            differences.append(difference)
        more = reduce_sum(weights * (x - batch_means[0]) * (y - batch_means[1]))
        more += differences[0] * differences[1] * math.div_no_nan(old_count * n, new_count)
        with control_dependencies(steps):
            new_comoment = assign_add(comoment, more)

        def covariance(total, counted, name):
            return where_v2(counted > 1.0, math.divide(total, math.maximum(counted - 1.0, 1e-30)), float("nan"), name=name)

        return _metrics._finished(covariance(comoment.read_value(), count.read_value(), "covariance"),
                                  covariance(new_comoment, new_count, "update_op"), metrics_collections, updates_collections)


def streaming_pearson_correlation(predictions, labels, weights=None, metrics_collections=None, updates_collections=None,
                                  name=None):
    """Returns (correlation, update): the covariance of all pairs seen over the product of the standard deviations."""
    with variable_scope(name, "pearson_r"):
        both, own_x, own_y = (streaming_covariance(a, b, weights, name=n) for a, b, n in (
            (predictions, labels, "covariance"), (predictions, predictions, "variance_predictions"),
            (labels, labels, "variance_labels")))
        value, update = (math.divide(c, math.sqrt(v) * math.sqrt(w), name=n)
                         for c, v, w, n in zip(both, own_x, own_y, ("pearson_r", "update_op")))
        return _metrics._finished(value, update, metrics_collections, updates_collections)


def aggregate_metrics(*value_update_tuples):
    """Returns ([values], [updates]) of (value, update) pairs.

    Raises:
      ValueError: no pair.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples):
    """Returns ({name: value}, {name: update}) of {name: (value, update)}."""
    return {k: v for k, (v, _) in names_to_tuples.items()}, {k: u for k, (_, u) in names_to_tuples.items()}


__all__ = ["accuracy", "aggregate_metric_map", "aggregate_metrics",
           "streaming_covariance", "streaming_pearson_correlation", *sorted(_SAME), *(f"streaming_{n}" for n in _SWAPPED)]
