"""What metrics of other packages take from `tensorflow.python.ops.metrics_impl` besides the metrics."""

from regrad import metrics
from regrad.core.convert import convert_to_tensor
from regrad.core.graph_keys import GraphKeys
from regrad.ops import array, math
from regrad.variables.variable import Variable

_SHORT = {"tp": "true_positives", "fn": "false_negatives", "tn": "true_negatives", "fp": "false_positives"}
_streaming_sparse_average_precision_at_top_k = metrics.average_precision_at_top_k


def metric_variable(shape, dtype, validate_shape=True, name=None):
    """Returns a local variable of zeros, in the collection METRIC_VARIABLES too."""
    return Variable(lambda: array.zeros(shape, dtype), trainable=False, name=name, validate_shape=validate_shape,
                    collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES])


def _aggregate_variable(v, collections):
    """Returns what a variable holds, and adds it to collections: there is one replica."""
    return metrics._finished(v.read_value(), None, collections, None)[0]


def _safe_scalar_div(numerator, denominator, name):
    """Returns the ratio, 0 where the denominator is 0."""
    return math.div_no_nan(numerator, denominator, name=name)


def _remove_squeezable_dimensions(predictions, labels, weights):
    """Returns the three, of one rank where their last sizes are 1; labels and weights may be None."""
    if labels is None:
        predictions = convert_to_tensor(predictions)
        weights = metrics._squeezed(predictions, predictions, weights)[2]
    else:
        labels, predictions, weights = metrics._squeezed(labels, predictions, weights)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is not None and weights.rank and predictions.rank is not None and predictions.rank == weights.rank + 1:
        weights = array.expand_dims(weights, -1)
    return predictions, labels, weights


def _confusion_matrix_at_thresholds(labels, predictions, thresholds, weights=None, includes=None):
    """Returns ({kind: counts [thresholds]}, {kind: updates}) of the kinds "tp", "fn", "tn", "fp" in `includes`."""
    includes = tuple(_SHORT) if includes is None else includes
    for kind in includes:
        if kind not in _SHORT:
            raise ValueError(f"Invalid key: {kind}; there are {', '.join(_SHORT)}.")
    old, new = metrics._over_thresholds(labels, predictions, thresholds, weights, [_SHORT[kind] for kind in includes])
    return {kind: old[_SHORT[kind]] for kind in includes}, {kind: new[_SHORT[kind]] for kind in includes}


def __getattr__(name):
    return getattr(metrics, name)
