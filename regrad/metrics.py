"""`tf.metrics`: measures kept over many runs, in local variables.

Each function returns (value, update): `update` adds a batch and gives the new value, `value` reads it. The variables are
in the collections LOCAL_VARIABLES and METRIC_VARIABLES; `local_variables_initializer()` sets them back.
"""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import bool_, float32
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.ops import array, math
from regrad.ops.compare import equal, greater, logical_and, logical_not
from regrad.ops.reduce import reduce_sum
from regrad.variables.assign import assign_add
from regrad.variables.scope import variable_scope
from regrad.variables.variable import Variable

__all__ = ["accuracy", "auc", "false_negatives", "false_positives", "mean", "mean_absolute_error", "mean_squared_error",
           "precision", "recall", "root_mean_squared_error", "true_negatives", "true_positives"]


def _counter(name, shape=()):
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(np.zeros(shape, np.float32), trainable=False, collections=collections, name=name)


def _ratio(a, b):
    return math.div_no_nan(a, b)


def _finished(value, update, metrics_collections, updates_collections):
    graph = get_default_graph()
    for names, x in ((metrics_collections, value), (updates_collections, update)):
        for name in [names] if isinstance(names, str) else names or []:
            graph.add_to_collection(name, x)
    return value, update


def _as_weights(weights, values):
    """Returns weights of the shape of `values`, or None."""
    if weights is None:
        return None
    weights = math.cast(weights, float32)
    while weights.dims is not None and values.dims is not None and 0 < len(weights.dims) < len(values.dims):
        weights = array.expand_dims(weights, -1)
    return weights + array.zeros_like(values)


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean, update) of all elements of `values` seen, each counted by its weight."""
    with variable_scope(name, "mean"):
        values = math.cast(values, float32)
        total, count = _counter("total"), _counter("count")
        weights = _as_weights(weights, values)
        n = math.cast(array.size(values), float32) if weights is None else reduce_sum(weights)
        new_total = assign_add(total, reduce_sum(values if weights is None else values * weights))
        new_count = assign_add(count, n)
        return _finished(_ratio(total.read_value(), count.read_value()), _ratio(new_total, new_count), metrics_collections,
                         updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of predictions that equal their labels."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    if labels.dtype is not predictions.dtype:
        predictions = math.cast(predictions, labels.dtype)
    right = math.cast(equal(labels, predictions), float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean of squared differences, update)."""
    errors = math.squared_difference(math.cast(labels, float32), math.cast(predictions, float32))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean of absolute differences, update)."""
    errors = math.abs(math.cast(labels, float32) - math.cast(predictions, float32))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
                            name=None):
    """Returns (root of the mean of squared differences, update)."""
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return _finished(math.sqrt(value), math.sqrt(update), metrics_collections, updates_collections)


def _counted(where, weights, name):
    """Returns (count so far, new count) of the elements where a bool tensor holds."""
    found = math.cast(where, float32)
    weights = _as_weights(weights, found)
    count = _counter(name)
    return count.read_value(), assign_add(count, reduce_sum(found if weights is None else found * weights))


def _outcomes(labels, predictions):
    labels, predictions = math.cast(labels, bool_), math.cast(predictions, bool_)
    no, negative = logical_not(labels), logical_not(predictions)
    return {"true_positives": logical_and(labels, predictions), "false_positives": logical_and(no, predictions),
            "true_negatives": logical_and(no, negative), "false_negatives": logical_and(labels, negative)}


def _outcome_metric(kind, doc):
    def metric(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with variable_scope(name, kind):
            value, update = _counted(_outcomes(labels, predictions)[kind], weights, "count")
            return _finished(value, update, metrics_collections, updates_collections)

    metric.__name__, metric.__doc__ = kind, doc
    return metric


true_positives = _outcome_metric("true_positives", "Returns (number, update) of positive labels predicted as positive.")
false_positives = _outcome_metric("false_positives", "Returns (number, update) of negative labels predicted as positive.")
true_negatives = _outcome_metric("true_negatives", "Returns (number, update) of negative labels predicted as negative.")
false_negatives = _outcome_metric("false_negatives", "Returns (number, update) of positive labels predicted as negative.")


def _share(kind, other, labels, predictions, weights, metrics_collections, updates_collections, name):
    with variable_scope(*name):
        found = _outcomes(labels, predictions)
        (a, new_a), (b, new_b) = (_counted(found[k], weights, f"{k}/count") for k in (kind, other))
        return _finished(_ratio(a, a + b), _ratio(new_a, new_a + new_b), metrics_collections, updates_collections)


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of predicted positives whose labels are positive."""
    return _share("true_positives", "false_positives", labels, predictions, weights, metrics_collections,
                  updates_collections, (name, "precision"))


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of positive labels that are predicted as positive."""
    return _share("true_positives", "false_negatives", labels, predictions, weights, metrics_collections,
                  updates_collections, (name, "recall"))


def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
        name=None):
    """Returns (area, update) under the curve of true over false positive rates, by trapezoids between thresholds.

    Args:
      labels: bool, or numbers of which 0 is negative.
      predictions: numbers in [0, 1], of the same shape.
      num_thresholds: how many, evenly spaced.
    """
    with variable_scope(name, "auc"):
        scores = array.reshape(math.cast(predictions, float32), [1, -1])
        truth = array.reshape(math.cast(labels, bool_), [1, -1])
        limits = np.arange(num_thresholds) / (num_thresholds - 1.0)
        limits[0], limits[-1] = -1e-7, 1 + 1e-7
        above = greater(scores, limits[:, None].astype(np.float32))
        w = None if weights is None else array.reshape(_as_weights(weights, math.cast(predictions, float32)), [1, -1])

        def kept(where, kind):
            found = math.cast(where, float32)
            total = _counter(kind, (num_thresholds,))
            return total.read_value(), assign_add(total, reduce_sum(found if w is None else found * w, 1))

        counts = [kept(logical_and(above, truth), "true_positives"),
                  kept(logical_and(logical_not(above), truth), "false_negatives"),
                  kept(logical_and(logical_not(above), logical_not(truth)), "true_negatives"),
                  kept(logical_and(above, logical_not(truth)), "false_positives")]

        def area(tp, fn, tn, fp):
            y, x = (tp + 1e-6) / (tp + fn + 1e-6), fp / (fp + tn + 1e-6)
            return reduce_sum((x[:-1] - x[1:]) * (y[:-1] + y[1:]) / 2.0)

        return _finished(area(*(old for old, _ in counts)), area(*(new for _, new in counts)), metrics_collections,
                         updates_collections)
