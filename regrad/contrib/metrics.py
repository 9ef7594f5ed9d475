"""`tf.contrib.metrics`, which is `slim.metrics`: the metrics of `tf.metrics` as streaming_..., with predictions first."""

from regrad import metrics as _metrics
from regrad.core import dtypes
from regrad.ops import math
from regrad.ops.compare import equal
from regrad.ops.reduce import reduce_mean, reduce_sum

# What takes (labels, predictions, ...) there takes (predictions, labels, ...) here.
_SWAPPED = """accuracy auc false_negatives false_positives mean_absolute_error mean_cosine_distance mean_iou
    mean_relative_error mean_squared_error precision precision_at_thresholds recall recall_at_thresholds
    root_mean_squared_error sensitivity_at_specificity specificity_at_sensitivity true_negatives true_positives""".split()
_SAME = {"streaming_mean": "mean", "streaming_mean_tensor": "mean_tensor", "streaming_percentage_less": "percentage_below"}


def _swapped(name):
    function = getattr(_metrics, name)

    def streaming(predictions, labels, *args, **kwargs):
        return function(labels, predictions, *args, **kwargs)

    streaming.__name__ = f"streaming_{name}"
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


__all__ = ["accuracy", "aggregate_metric_map", "aggregate_metrics", *sorted(_SAME), *(f"streaming_{n}" for n in _SWAPPED)]
