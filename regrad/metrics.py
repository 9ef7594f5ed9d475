"""`tf.metrics`: measures kept over many runs, in local variables.

Each function returns (value, update): `update` adds a batch and gives the new value, `value` reads it. The variables are
in the collections LOCAL_VARIABLES and METRIC_VARIABLES; `local_variables_initializer()` sets them back. Arguments that all
have: `weights` (broadcast to what is counted), `metrics_collections` and `updates_collections` (to which value and update
are added), `name` (of the scope).
"""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import bool_, float32, float64, int32, int64
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.framework import control_dependencies
from regrad.ops import array, math
from regrad.ops.check import assert_greater_equal, assert_less_equal
from regrad.ops.compare import equal, greater, greater_equal, less, logical_and, logical_not, not_equal, where_v2
from regrad.ops.counting import confusion_matrix
from regrad.ops.cumulative import cumsum
from regrad.ops.diag import diag_part
from regrad.ops.generate import range as range_
from regrad.ops.indexing import gather
from regrad.ops.reduce import argmax, argmin, reduce_any, reduce_mean, reduce_min, reduce_sum
from regrad.ops.sort import top_k
from regrad.ops.sparse import SparseTensor, SparseTensorValue, sparse_tensor_to_dense
from regrad.variables.assign import assign_add, scatter_add
from regrad.variables.scope import variable_scope
from regrad.variables.variable import Variable

__all__ = [
    "accuracy", "auc", "average_precision_at_k", "false_negatives", "false_negatives_at_thresholds",
    "false_positives", "false_positives_at_thresholds", "mean", "mean_absolute_error", "mean_cosine_distance",
    "mean_iou", "mean_per_class_accuracy", "mean_relative_error", "mean_squared_error", "mean_tensor",
    "percentage_below", "precision", "precision_at_k", "precision_at_thresholds", "precision_at_top_k", "recall",
    "recall_at_k", "recall_at_thresholds", "recall_at_top_k", "root_mean_squared_error",
    "sensitivity_at_specificity", "sparse_average_precision_at_k", "sparse_precision_at_k",
    "specificity_at_sensitivity", "true_negatives", "true_negatives_at_thresholds", "true_positives",
    "true_positives_at_thresholds",
]


def _counter(name, shape=(), dtype=float32):
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(np.zeros(shape, dtype.as_numpy_dtype), trainable=False, collections=collections, name=name)


def _ratio(a, b, name=None):
    return math.div_no_nan(a, b, name=name)


def _finished(value, update, metrics_collections, updates_collections):
    graph = get_default_graph()
    for names, x in ((metrics_collections, value), (updates_collections, update)):
        for name in [names] if isinstance(names, str) else names or []:
            graph.add_to_collection(name, x)
    return value, update


def _squeezed(labels, predictions, weights=None):
    """Returns the three as tensors; where one has an axis of size 1 more at its end than the others, it is taken away."""
    labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
    if None not in (labels.rank, predictions.rank):
        if labels.rank == predictions.rank + 1 and labels.dims[-1] in (1, None):
            labels = array.squeeze(labels, [-1])
        elif predictions.rank == labels.rank + 1 and predictions.dims[-1] in (1, None):
            predictions = array.squeeze(predictions, [-1])
    if weights is not None:
        weights = convert_to_tensor(weights)
        if weights.rank and predictions.rank is not None and weights.rank == predictions.rank + 1 and weights.dims[-1] == 1:
            weights = array.squeeze(weights, [-1])
    return labels, predictions, weights


def _as_weights(weights, values):
    """Returns weights of the shape and dtype of `values`, or None."""
    if weights is None:
        return None
    return array.broadcast_like(array.fit_weights(math.cast(weights, values.dtype), values, last_axis=True), values)


def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean, update) of all elements of `values` seen, each counted by its weight."""
    with variable_scope(name, "mean"):
        values = math.cast(values, float32)
        total, count = _counter("total"), _counter("count")
        weights = _as_weights(weights, values)
        n = math.cast(array.size(values), float32) if weights is None else reduce_sum(weights)
        new_total = assign_add(total, reduce_sum(values if weights is None else values * weights))
        new_count = assign_add(count, n)
        return _finished(_ratio(total.read_value(), count.read_value(), "value"),
                         _ratio(new_total, new_count, "update_op"), metrics_collections, updates_collections)


def accuracy(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of predictions that equal their labels."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
    if labels.dtype is not predictions.dtype:
        predictions = math.cast(predictions, labels.dtype)
    right = math.cast(equal(labels, predictions), float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_squared_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean of squared differences, update)."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
    errors = math.squared_difference(math.cast(labels, float32), math.cast(predictions, float32))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean of absolute differences, update)."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
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
            labels, predictions, weights = _squeezed(labels, predictions, weights)
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
        labels, predictions, weights = _squeezed(labels, predictions, weights)
        found = _outcomes(labels, predictions)
        (a, new_a), (b, new_b) = (_counted(found[k], weights, f"{k}/count") for k in (kind, other))
        return _finished(_ratio(a, a + b, "value"), _ratio(new_a, new_a + new_b, "update_op"), metrics_collections,
                         updates_collections)  # 0 where nothing was counted


def precision(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of predicted positives whose labels are positive."""
    return _share("true_positives", "false_positives", labels, predictions, weights, metrics_collections,
                  updates_collections, (name, "precision"))


def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of positive labels that are predicted as positive."""
    return _share("true_positives", "false_negatives", labels, predictions, weights, metrics_collections,
                  updates_collections, (name, "recall"))


def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None, updates_collections=None,
                        name=None):
    """Returns (mean of |label - prediction| / normalizer, update); 0 where the normalizer is 0."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
    errors = math.div_no_nan(math.abs(math.cast(labels, float32) - math.cast(predictions, float32)),
                             math.cast(normalizer, float32))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels, predictions, dim, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (1 - mean of the products summed over axis `dim`, update), of vectors of length 1."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
    products = reduce_sum(math.cast(labels, float32) * math.cast(predictions, float32), [dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    return _finished(1.0 - value, 1.0 - update, metrics_collections, updates_collections)


def percentage_below(values, threshold, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (share, update) of values below a threshold."""
    below = math.cast(less(values, threshold), float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean, update) of each element over the runs, of the shape of `values`, which must be known."""
    with variable_scope(name, "mean"):
        values = math.cast(values, float32)
        if not values.shape.is_fully_defined():
            raise ValueError(f"mean_tensor: the shape of values must be known, got {values.shape}; set_shape says it.")
        shape = values.shape.as_list()
        total, count = _counter("total_tensor", shape), _counter("count_tensor", shape)
        weights = _as_weights(weights, values)
        new_total = assign_add(total, values if weights is None else values * weights)
        new_count = assign_add(count, array.ones_like(values) if weights is None else weights)
        return _finished(_ratio(total.read_value(), count.read_value(), "value"),
                         _ratio(new_total, new_count, "update_op"), metrics_collections, updates_collections)


# -- classes ----------------------------------------------------------------------------------------------
def mean_iou(labels, predictions, num_classes, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean over classes of intersection over union, update); the update gives the confusion matrix, float64.

    Args:
      labels, predictions: class numbers, of one shape.
      num_classes: how many there are.
    """
    with variable_scope(name, "mean_iou"):
        labels, predictions, weights = _squeezed(labels, predictions, weights)
        labels, predictions = (array.reshape(math.cast(t, int64), [-1]) for t in (labels, predictions))
        if weights is not None:
            weights = array.reshape(_as_weights(weights, math.cast(labels, float64)), [-1])
        total = _counter("total_confusion_matrix", (num_classes, num_classes), float64)
        counts = confusion_matrix(labels, predictions, num_classes, dtype=float64, weights=weights)
        update = assign_add(total, counts)

        matrix = math.cast(total.read_value(), float32)
        shared = diag_part(matrix)
        union = reduce_sum(matrix, 0) + reduce_sum(matrix, 1) - shared
        present = reduce_sum(math.cast(not_equal(union, 0.0), float32))
        return _finished(_ratio(reduce_sum(_ratio(shared, union)), present), update, metrics_collections, updates_collections)


def mean_per_class_accuracy(labels, predictions, num_classes, weights=None, metrics_collections=None, updates_collections=None,
                            name=None):
    """Returns (mean over classes of the share of right predictions, update); classes never met count as 0.

    The update gives the share of each class.
    """
    with variable_scope(name, "mean_accuracy"):
        labels, predictions, weights = _squeezed(labels, predictions, weights)
        labels, predictions = (array.reshape(math.cast(t, int64), [-1]) for t in (labels, predictions))
        total, count = _counter("total", (num_classes,)), _counter("count", (num_classes,))
        right, one = math.cast(equal(labels, predictions), float32), array.ones_like(labels, float32)
        if weights is not None:
            weights = array.reshape(math.cast(weights, float32), [-1])
            right, one = right * weights, one * weights
        new_total, new_count = scatter_add(total, labels, one), scatter_add(count, labels, right)
        return _finished(reduce_mean(_ratio(count.read_value(), total.read_value()), name="mean_accuracy"),
                         _ratio(new_count, new_total, "update_op"), metrics_collections, updates_collections)


# -- thresholds -------------------------------------------------------------------------------------------
_EPSILON = 1e-7
_KINDS = ("true_positives", "false_negatives", "true_negatives", "false_positives")


def _over_thresholds(labels, predictions, thresholds, weights, kinds=_KINDS):
    """Returns ({kind: counts [thresholds]}, {kind: new counts})."""
    labels, predictions, weights = _squeezed(labels, predictions, weights)
    values = math.cast(predictions, float32)
    inside = "predictions must be in [0, 1]"
    checks = [assert_greater_equal(values, 0.0, message=inside), assert_less_equal(values, 1.0, message=inside)]
    with control_dependencies(checks):
        scores = array.reshape(values, [1, -1])
    truth = array.reshape(math.cast(labels, bool_), [1, -1])
    above = greater(scores, np.asarray(thresholds, np.float32)[:, None])
    weights = None if weights is None else array.reshape(_as_weights(weights, values), [1, -1])
    where = {"true_positives": lambda: logical_and(above, truth),
             "false_negatives": lambda: logical_and(logical_not(above), truth),
             "true_negatives": lambda: logical_and(logical_not(above), logical_not(truth)),
             "false_positives": lambda: logical_and(above, logical_not(truth))}
    old, new = {}, {}
    for kind in kinds:
        found = math.cast(where[kind](), float32)
        total = _counter(kind, (len(thresholds),))
        old[kind] = total.read_value()
        new[kind] = assign_add(total, reduce_sum(found if weights is None else found * weights, 1))
    return old, new


def _even_thresholds(n):
    inner = [(i + 1) / (n - 1) for i in range(n - 2)]
    return [-_EPSILON, *inner, 1 + _EPSILON]


def _at_thresholds(kind):
    def metric(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with variable_scope(name, kind):
            old, new = _over_thresholds(labels, predictions, thresholds, weights, (kind,))
            return _finished(old[kind], new[kind], metrics_collections, updates_collections)

    metric.__name__ = f"{kind}_at_thresholds"
    metric.__doc__ = f"Returns (numbers, update) of {kind.replace('_', ' ')} for each of the thresholds on the predictions."
    return metric


true_positives_at_thresholds, false_negatives_at_thresholds, true_negatives_at_thresholds, false_positives_at_thresholds = (
    _at_thresholds(kind) for kind in _KINDS)


def _share_at_thresholds(kind, other, labels, predictions, thresholds, weights, metrics_collections, updates_collections, name):
    with variable_scope(*name):
        old, new = _over_thresholds(labels, predictions, thresholds, weights, (kind, other))
        value, update = (math.divide(c[kind], _EPSILON + c[kind] + c[other], name=f"{name[1].partition('_')[0]}_{end}")
                         for c, end in ((old, "value"), (new, "update_op")))
        return _finished(value, update, metrics_collections, updates_collections)


def precision_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                            name=None):
    """Returns (precisions, update), one for each of the thresholds on the predictions."""
    return _share_at_thresholds("true_positives", "false_positives", labels, predictions, thresholds, weights,
                                metrics_collections, updates_collections, (name, "precision_at_thresholds"))


def recall_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None,
                         name=None):
    """Returns (recalls, update), one for each of the thresholds on the predictions."""
    return _share_at_thresholds("true_positives", "false_negatives", labels, predictions, thresholds, weights,
                                metrics_collections, updates_collections, (name, "recall_at_thresholds"))


def _area_between(tp, fn, tn, fp):
    """The area below precision over recall, interpolated as Davis and Goadrich 2006 do: counts go linearly between points."""
    gained = tp[:-1] - tp[1:]
    found = tp + fp
    slope = math.div_no_nan(gained, math.maximum(found[:-1] - found[1:], 0.0))
    intercept = tp[1:] - slope * found[1:]
    both = logical_and(greater(found[:-1], 0.0), greater(found[1:], 0.0))
    ratio = where_v2(both, math.div_no_nan(found[:-1], math.maximum(found[1:], 0.0)), array.ones_like(found[1:]))
    return reduce_sum(math.div_no_nan(slope * (gained + intercept * math.log(ratio)), math.maximum(tp[1:] + fn[1:], 0.0)))


_HEIGHTS = {"trapezoidal": lambda a, b: (a + b) / 2.0, "minoring": math.minimum, "majoring": math.maximum}
_HEIGHTS["careful_interpolation"] = _HEIGHTS["trapezoidal"]  # of ROC curves; `_area_between` is for the others


def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None, updates_collections=None,
        curve="ROC", name=None, summation_method="trapezoidal", thresholds=None):
    """Returns (area under a curve, update), made of steps between thresholds.

    Args:
      labels: bool, or numbers of which 0 is negative.
      predictions: numbers in [0, 1], of the same shape.
      num_thresholds: how many, evenly spaced.
      curve: "ROC", true over false positive rate, or "PR", precision over recall.
      summation_method: "trapezoidal", "minoring" (the lower height of each step), "majoring", or "careful_interpolation"
        (of "PR"; for "ROC" the same as "trapezoidal").
      thresholds: list of numbers in (0, 1), instead of evenly spaced ones.

    Raises:
      ValueError: an unknown curve or method.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    height = _HEIGHTS.get(summation_method)
    if height is None:
        raise ValueError(f"Invalid summation_method: {summation_method}; there are {', '.join(_HEIGHTS)}.")
    careful = summation_method == "careful_interpolation" and curve == "PR"
    with variable_scope(name, "auc"):
        limits = _even_thresholds(num_thresholds) if thresholds is None else [-_EPSILON, *sorted(thresholds), 1 + _EPSILON]
        old, new = _over_thresholds(labels, predictions, limits, weights)

        def area(counts, name):
            tp, fn, tn, fp = (counts[k] for k in _KINDS)
            if careful:
                return array.identity(_area_between(tp, fn, tn, fp), name)
            recall = (tp + 1e-6) / (tp + fn + 1e-6)
            x, y = (fp / (fp + tn + 1e-6), recall) if curve == "ROC" else (recall, (tp + 1e-6) / (tp + fp + 1e-6))
            return reduce_sum((x[:-1] - x[1:]) * height(y[:-1], y[1:]), name=name)

        return _finished(area(old, "value"), area(new, "update_op"), metrics_collections, updates_collections)


def sensitivity_at_specificity(labels, predictions, specificity, weights=None, num_thresholds=200, metrics_collections=None,
                               updates_collections=None, name=None):
    """Returns (sensitivity, update) at the threshold whose specificity is nearest to the one given, in [0, 1]."""
    if not 0 <= specificity <= 1:
        raise ValueError(f"`specificity` must be in the range [0, 1]. Currently, `specificity` got {specificity}.")
    with variable_scope(name, "sensitivity_at_specificity"):
        old, new = _over_thresholds(labels, predictions, _even_thresholds(num_thresholds), weights)

        def at(counts, name):
            tp, fn, tn, fp = (counts[k] for k in _KINDS)
            i = argmin(math.abs(tn / (tn + fp + _EPSILON) - specificity), 0)
            return math.divide(gather(tp, i), gather(tp, i) + gather(fn, i) + _EPSILON, name=name)

        return _finished(at(old, "value"), at(new, "update_op"), metrics_collections, updates_collections)


def specificity_at_sensitivity(labels, predictions, sensitivity, weights=None, num_thresholds=200, metrics_collections=None,
                               updates_collections=None, name=None):
    """Returns (specificity, update) at the highest threshold whose sensitivity is nearest to the one given, in [0, 1]."""
    if not 0 <= sensitivity <= 1:
        raise ValueError(f"`sensitivity` must be in the range [0, 1]. Currently, `sensitivity` is {sensitivity}.")
    with variable_scope(name, "specificity_at_sensitivity"):
        old, new = _over_thresholds(labels, predictions, _even_thresholds(num_thresholds), weights)

        def at(counts, name):
            tp, fn, tn, fp = (counts[k] for k in _KINDS)
            distance = math.abs(tp / (tp + fn + _EPSILON) - sensitivity)
            i = argmax(cumsum(math.cast(equal(distance, reduce_min(distance)), int64)), 0)
            return math.divide(gather(tn, i), gather(tn, i) + gather(fp, i) + _EPSILON, name=name)

        return _finished(at(old, "value"), at(new, "update_op"), metrics_collections, updates_collections)


# -- the k best classes -----------------------------------------------------------------------------------
_ABSENT = -2**62  # stands where a sparse row of labels has none


def _label_sets(labels, predictions_idx):
    """Returns labels as int64 [..., labels], and where they count: once each, and not where a sparse row has none."""
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
        labels = sparse_tensor_to_dense(SparseTensor.from_value(labels), default_value=_ABSENT)
    labels = math.cast(labels, int64)
    if labels.rank is not None and predictions_idx.rank is not None and labels.rank == predictions_idx.rank - 1:
        labels = array.expand_dims(labels, -1)
    same = equal(labels[..., :, None], labels[..., None, :])
    n = array.shape(labels)[-1]
    earlier = less(range_(n)[None, :], range_(n)[:, None])
    return labels, logical_and(logical_not(reduce_any(logical_and(same, earlier), -1)), not_equal(labels, _ABSENT))


def _hits(labels, counts, predictions_idx, class_id):
    """Returns float64 counts per row of labels among the predictions, missed labels, and predictions not among the labels."""
    if class_id is not None:
        counts = logical_and(counts, equal(labels, class_id))
    match = logical_and(equal(predictions_idx[..., :, None], labels[..., None, :]), counts[..., None, :])
    predicted = reduce_any(match, -1)
    considered = array.ones_like(predicted) if class_id is None else equal(predictions_idx, class_id)

    def total(x):
        return reduce_sum(math.cast(x, float64), -1)

    return (total(predicted), total(logical_and(counts, logical_not(reduce_any(match, -2)))),
            total(logical_and(considered, logical_not(predicted))))


def _at_k(kind, other, labels, predictions_idx, k, class_id, weights, metrics_collections, updates_collections, name):
    predictions_idx = math.cast(predictions_idx, int64)
    ending = f"_at_{k}" if k is not None else "_at_k"
    ending += "" if class_id is None else f"_class{class_id}"
    with variable_scope(name[0], name[1] + ending) as scope:
        found = dict(zip(("true_positive", "false_negative", "false_positive"),
                         _hits(*_label_sets(labels, predictions_idx), predictions_idx, class_id)))

        def kept(what):
            counts = found[what]
            if weights is not None:
                counts = counts * _as_weights(weights, counts)
            total = _counter(what + ending, dtype=float64)
            return total.read_value(), assign_add(total, reduce_sum(counts))

        (a, new_a), (b, new_b) = kept(kind), kept(other)
        return _finished(math.divide(a, a + b, name=scope.original_name_scope),
                         math.divide(new_a, new_a + new_b, name="update"), metrics_collections,
                         updates_collections)  # NaN where nothing was counted


def recall_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None,
                    updates_collections=None, name=None):
    """Returns (share, update) of labels that are among the given classes, float64.

    Args:
      labels: int64 [..., labels] or [...], the classes of each row; a SparseTensor where rows have different numbers.
      predictions_idx: int64 [..., k], the predicted classes.
      k: for names only.
      class_id: count this class alone.
    """
    return _at_k("true_positive", "false_negative", labels, predictions_idx, k, class_id, weights, metrics_collections,
                 updates_collections, (name, "recall"))


def recall_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
                name=None):
    """Returns (share, update) of labels among the `k` classes with the greatest predictions [..., classes], float64.

    The labels are as for `recall_at_top_k`; those that are no class count as missed.
    """
    return recall_at_top_k(labels, top_k(predictions, k)[1], k, class_id, weights, metrics_collections, updates_collections,
                           name)


def precision_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None, metrics_collections=None,
                       updates_collections=None, name=None):
    """Returns (share, update) of the given classes that are labels, float64; the arguments are as for `recall_at_top_k`."""
    return _at_k("true_positive", "false_positive", labels, predictions_idx, k, class_id, weights, metrics_collections,
                 updates_collections, (name, "precision"))


def precision_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None, updates_collections=None,
                   name=None):
    """Returns (share, update) of the `k` classes with the greatest predictions [..., classes] that are labels, float64."""
    return precision_at_top_k(labels, top_k(predictions, k)[1], k, class_id, weights, metrics_collections, updates_collections,
                              name)


sparse_precision_at_k = precision_at_k


def average_precision_at_k(labels, predictions, k, weights=None, metrics_collections=None, updates_collections=None, name=None):
    """Returns (mean over rows of the average precision at k, update), float64.

    A row's average precision is the mean, over its labels but at most k, of the precision at the place of each that is
    among the `k` classes with the greatest predictions.

    Args:
      labels: int64 [..., labels] or [...]; those that are no class are left out.
      predictions: floats [..., classes].
    """
    with variable_scope(name, f"average_precision_at_{k}"):
        predictions = convert_to_tensor(predictions)
        if k < 1:
            raise ValueError(f"Invalid k={k}: at least the best class has a precision.")
        best = math.cast(top_k(predictions, k)[1], int64)
        labels, _ = _label_sets(labels, best)
        known = less(labels, math.cast(array.shape(predictions)[-1], int64))
        return _average_precision(where_v2(known, labels, _ABSENT), best, weights, metrics_collections, updates_collections)


def average_precision_at_top_k(labels, predictions_idx, weights=None, metrics_collections=None, updates_collections=None,
                               name=None):
    """As `average_precision_at_k`, with the best classes given: int64 [..., k], in their order; k must be known."""
    with variable_scope(name, "average_precision_at_top_k"):
        best = math.cast(predictions_idx, int64)
        if best.dims is None or best.dims[-1] is None:
            raise ValueError(f"predictions_idx must have a known last size, k; its shape is {best.shape}.")
        return _average_precision(_label_sets(labels, best)[0], best, weights, metrics_collections, updates_collections)


def _average_precision(labels, best, weights, metrics_collections, updates_collections):
    """Returns (mean, update); labels below 0 do not count."""
    k = best.dims[-1]
    valid = greater_equal(labels, math.cast(0, int64))
    relevant = math.cast(reduce_any(logical_and(equal(best[..., :, None], labels[..., None, :]), valid[..., None, :]), -1),
                         float64)
    precision = cumsum(relevant, axis=-1) / np.arange(1.0, k + 1)
    number = math.minimum(reduce_sum(math.cast(valid, int32), -1), k)
    average = reduce_sum(precision * relevant, -1) / math.cast(number, float64)
    weights = _as_weights(weights, average)
    largest, total = _counter("max", dtype=float64), _counter("total", dtype=float64)
    n = math.cast(array.size(average), float64) if weights is None else reduce_sum(weights)
    new_largest = assign_add(largest, n)
    new_total = assign_add(total, reduce_sum(average if weights is None else average * weights))
    return _finished(_ratio(total.read_value(), largest.read_value()), _ratio(new_total, new_largest), metrics_collections,
                     updates_collections)


sparse_average_precision_at_k = average_precision_at_k
