"""`tf.keras.metrics`: measures kept over many batches, in variables of Keras; and functions of (y_true, y_pred).

Called with a batch, a metric returns its value after that batch; `update_state` returns the operations that add a batch,
`result` the value, and `reset_states` begins anew. `tf.metrics` has measures of TensorFlow's own kind.
"""

import inspect

import numpy as np

from regrad.core.arguments import bound, unexpected
from regrad.core.dtypes import as_dtype, bool_
from regrad.core.graph import get_default_graph
from regrad.core.shown import Shown
from regrad.core.traversal import may_assign
from regrad.framework import control_dependencies
from regrad.keras import backend, initializers, losses
from regrad.keras.base import _unique_name
from regrad.keras.losses import (  # noqa: F401
    KLD,
    MAE,
    MAPE,
    MSE,
    MSLE,
    binary_crossentropy,
    categorical_crossentropy,
    cosine,
    cosine_proximity,
    hinge,
    kld,
    kullback_leibler_divergence,
    mae,
    mape,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    mse,
    msle,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from regrad.layers.base import _snake_case
from regrad.metrics import _area_between, _even_thresholds, _squeezed
from regrad.ops import array, math, norm, reduce
from regrad.ops.compare import equal, greater, logical_and, logical_not, where_v2
from regrad.ops.counting import confusion_matrix
from regrad.ops.diag import diag_part
from regrad.ops.indexing import gather
from regrad.ops.nn import in_top_k
from regrad.ops.reduce import argmax, argmin
from regrad.ops.sort import top_k as top_k_of
from regrad.variables.assign import assign_add
from regrad.variables.lifting import init_scope, root_graph
from regrad.variables.variable import Variable


# -- functions -------------------------------------------------------------------------------------------------
def _floats(x):
    return math.cast(x, backend.floatx())


def binary_accuracy(y_true, y_pred, threshold=0.5):
    """Returns the shares, over the last axis, of predictions on the side of `threshold` that labels 0 and 1 say."""
    return reduce.reduce_mean(_floats(equal(math.cast(y_true, y_pred.dtype), math.cast(y_pred > threshold, y_pred.dtype))), -1)


def categorical_accuracy(y_true, y_pred):
    """Returns 1 where the largest prediction is that of the largest label, else 0: [...] of [..., classes]."""
    return _floats(equal(argmax(y_true, -1), argmax(y_pred, -1)))


def _classes(y_true, y_pred):
    """Returns labels without the axis of size 1 at their end that targets of Keras have."""
    return array.squeeze(y_true, [-1]) if y_true.rank and y_true.rank == y_pred.rank else y_true


def sparse_categorical_accuracy(y_true, y_pred):
    """Returns 1 where the largest prediction is that of the class, else 0: [...] of classes [...] or [..., 1]."""
    y_true = _classes(y_true, y_pred)
    return _floats(equal(math.cast(y_true, backend.floatx()), _floats(argmax(y_pred, -1))))


def top_k_categorical_accuracy(y_true, y_pred, k=5):
    """Returns 1 where the largest label is among the k best predictions, else 0: [batch]."""
    return _floats(in_top_k(y_pred, argmax(y_true, -1), k))


def sparse_top_k_categorical_accuracy(y_true, y_pred, k=5):
    """Returns 1 where the class is among the k best predictions, else 0: [batch]."""
    return _floats(in_top_k(y_pred, math.cast(array.reshape(y_true, [-1]), "int32"), k))


def accuracy(y_true, y_pred):
    """Returns 1 where predictions equal their labels, else 0."""
    return _floats(equal(math.cast(y_true, y_pred.dtype), y_pred))


def _cosine(y_true, y_pred, axis=-1):
    return reduce.reduce_sum(norm.l2_normalize(y_true, axis) * norm.l2_normalize(y_pred, axis), axis=axis)


# -- classes -----------------------------------------------------------------------------------------------------
class Metric(Shown):
    """Base of metrics: a subclass makes variables by `add_weight`, and has `update_state(...)` and `result()`.

    Args:
      name: the key in logs; made of the class's name by default.
      dtype: of the variables, `floatx()` by default.
    """

    def __init__(self, name=None, dtype=None, **kwargs):
        kwargs.pop("trainable", None)
        if kwargs:
            raise unexpected(type(self), kwargs)
        self._name = name or _unique_name(_snake_case(type(self).__name__))
        self._dtype, self._weights, self.stateful = as_dtype(dtype or backend.floatx()), [], True

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype.name)
    weights = variables = property(lambda self: list(self._weights))
    non_trainable_weights = property(lambda self: list(self._weights))
    trainable_weights = property(lambda self: [])
    updates = losses = property(lambda self: [])

    def add_weight(self, name, shape=(), aggregation=None, synchronization=None, initializer=None, dtype=None):
        """Returns a new variable of this metric, zeros by default; it joins no collection, and Keras initializes it."""
        start, dtype = initializers.get(initializer or "zeros"), as_dtype(dtype or self._dtype)
        with init_scope(), get_default_graph().name_scope(""):
            made = Variable(lambda: start(list(shape), dtype=dtype), trainable=False, collections=[], dtype=dtype,
                            name=f"{self.name}/{name}")
        root_graph().__dict__.setdefault("_keras_variables", []).append(made)
        self._weights.append(made)
        return made

    def update_state(self, *args, **kwargs):
        """Returns the operations that add a batch, or None: assignments made meanwhile count in any case."""
        raise NotImplementedError(f"{type(self).__name__} must define update_state.")

    def result(self):
        """Returns the value as a tensor."""
        raise NotImplementedError(f"{type(self).__name__} must define result.")

    def __call__(self, *args, **kwargs):
        """Adds a batch, as `update_state`, and returns the value after it."""
        graph = get_default_graph()
        with graph.name_scope(self.name):
            before = len(graph.get_operations())
            update = self.update_state(*args, **kwargs)
            starts = {v.initializer for v in self._weights}
            made = [op for op in graph.get_operations()[before:] if may_assign(op) and op not in starts]
            given = [] if update is None else update if isinstance(update, (list, tuple)) else [update]
            with control_dependencies([*made, *(getattr(u, "op", u) for u in given)]):
                result = array.identity(self.result())
        result._metric_obj = self
        return result

    def reset_states(self):
        """Makes all variables 0 in the session of Keras."""
        backend.batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self._weights])

    def get_config(self):
        """Returns the arguments that make the same metric."""
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _weighted(values, weights):
    """Returns weights of the shape and dtype of `values`: they may lack axes at the end, or have one of size 1 more."""
    weights = math.cast(weights, values.dtype)
    if weights.rank and values.rank is not None:
        if weights.rank == values.rank + 1:
            weights = array.squeeze(weights, [-1])
        elif weights.rank < values.rank:
            weights = array.reshape(weights, array.concat([array.shape(weights), [1] * (values.rank - weights.rank)], 0))
    return array.broadcast_like(weights, values)


class Sum(Metric):
    """The sum of all values."""

    def __init__(self, name="sum", dtype=None):
        super().__init__(name, dtype)
        self.total = self.add_weight("total")

    def update_state(self, values, sample_weight=None):
        values = math.cast(values, self._dtype)
        values = values if sample_weight is None else values * _weighted(values, sample_weight)
        return assign_add(self.total, reduce.reduce_sum(values))

    def result(self):
        return array.identity(self.total)


class Mean(Metric):
    """The mean of all values, each counted by its weight."""

    def __init__(self, name="mean", dtype=None):
        super().__init__(name, dtype)
        self.total, self.count = self.add_weight("total"), self.add_weight("count")

    def update_state(self, values, sample_weight=None):
        values = math.cast(values, self._dtype)
        if sample_weight is None:
            n = math.cast(array.size(values), self._dtype)
        else:
            weights = _weighted(values, sample_weight)
            values, n = values * weights, reduce.reduce_sum(weights)
        return [assign_add(self.total, reduce.reduce_sum(values)), assign_add(self.count, n)]

    def result(self):
        return math.div_no_nan(self.total, self.count)


class MeanTensor(Metric):
    """The mean of each element of tensors of one shape."""

    def __init__(self, name="mean_tensor", dtype=None):
        super().__init__(name, dtype)
        self.total = self.count = None

    def update_state(self, values, sample_weight=None):
        values = math.cast(values, self._dtype)
        if self.total is None:
            self.total, self.count = (self.add_weight(n, values.shape.as_list()) for n in ("total", "count"))
        weights = array.ones_like(values) if sample_weight is None else _weighted(values, sample_weight)
        return [assign_add(self.total, values * weights), assign_add(self.count, weights)]

    def result(self):
        if self.total is None:
            raise ValueError("MeanTensor does not have any result yet. Please call the MeanTensor instance or use "
                             "`.update_state(value)` before retrieving the result.")
        return math.div_no_nan(self.total, self.count)


class MeanRelativeError(Mean):
    """The mean of abs(y_pred - y_true) / normalizer, 0 where that is 0."""

    def __init__(self, normalizer, name=None, dtype=None):
        super().__init__(name, dtype)
        self.normalizer = normalizer

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, _ = _squeezed(*(math.cast(y, self._dtype) for y in (y_true, y_pred)))
        return super().update_state(math.div_no_nan(math.abs(y_true - y_pred), math.cast(self.normalizer, self._dtype)),
                                    sample_weight)


class MeanMetricWrapper(Mean):
    """The mean of a function of (y_true, y_pred), which takes `kwargs` too."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name or getattr(fn, "__name__", "").strip("<>") or None, dtype)
        taken = inspect.signature(fn).parameters
        unknown = [key for key in kwargs if key not in taken]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
            raise unexpected(fn, unknown)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, _ = _squeezed(*(math.cast(y, self._dtype) for y in (y_true, y_pred)))
        return super().update_state(self._fn(y_true, y_pred, **self._fn_kwargs), sample_weight)

    def get_config(self):
        return super().get_config() | self._fn_kwargs


def _mean_of(name, function, key, **defaults):
    """Returns the class of the mean of a function; `defaults` are its further arguments, `key` its name in logs."""
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
                                   for n, value in ({"name": key, "dtype": None} | defaults).items()])

    def init(self, *args, **kwargs):
        given = {"name": key} | defaults | bound(type(self), signature, args, kwargs)
        MeanMetricWrapper.__init__(self, function, **given)

    init.__signature__ = signature
    return type(name, (MeanMetricWrapper,), {"__init__": init, "__module__": __name__,
                                             "__doc__": f"The mean of `{function.__name__.strip('_')}` over all batches."})


Accuracy = _mean_of("Accuracy", accuracy, "accuracy")
BinaryAccuracy = _mean_of("BinaryAccuracy", binary_accuracy, "binary_accuracy", threshold=0.5)
CategoricalAccuracy = _mean_of("CategoricalAccuracy", categorical_accuracy, "categorical_accuracy")
SparseCategoricalAccuracy = _mean_of("SparseCategoricalAccuracy", sparse_categorical_accuracy, "sparse_categorical_accuracy")
BinaryCrossentropy = _mean_of("BinaryCrossentropy", binary_crossentropy, "binary_crossentropy", from_logits=False,
                              label_smoothing=0)
CategoricalCrossentropy = _mean_of("CategoricalCrossentropy", categorical_crossentropy, "categorical_crossentropy",
                                   from_logits=False, label_smoothing=0)
SparseCategoricalCrossentropy = _mean_of("SparseCategoricalCrossentropy", sparse_categorical_crossentropy,
                                         "sparse_categorical_crossentropy", from_logits=False, axis=-1)
CosineSimilarity = _mean_of("CosineSimilarity", _cosine, "cosine_similarity", axis=-1)
MeanSquaredError = _mean_of("MeanSquaredError", mean_squared_error, "mean_squared_error")
MeanAbsoluteError = _mean_of("MeanAbsoluteError", mean_absolute_error, "mean_absolute_error")
MeanAbsolutePercentageError = _mean_of("MeanAbsolutePercentageError", mean_absolute_percentage_error,
                                       "mean_absolute_percentage_error")
MeanSquaredLogarithmicError = _mean_of("MeanSquaredLogarithmicError", mean_squared_logarithmic_error,
                                       "mean_squared_logarithmic_error")
Hinge = _mean_of("Hinge", hinge, "hinge")
SquaredHinge = _mean_of("SquaredHinge", squared_hinge, "squared_hinge")
CategoricalHinge = _mean_of("CategoricalHinge", losses.categorical_hinge, "categorical_hinge")
LogCoshError = _mean_of("LogCoshError", losses.logcosh, "logcosh")
Poisson = _mean_of("Poisson", poisson, "poisson")
KLDivergence = _mean_of("KLDivergence", kullback_leibler_divergence, "kullback_leibler_divergence")


class TopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose largest label is among the k best predictions."""

    def __init__(self, k=5, name="top_k_categorical_accuracy", dtype=None):
        super().__init__(top_k_categorical_accuracy, name, dtype, k=k)


class SparseTopKCategoricalAccuracy(MeanMetricWrapper):
    """The share of examples whose class is among the k best predictions."""

    def __init__(self, k=5, name="sparse_top_k_categorical_accuracy", dtype=None):
        super().__init__(sparse_top_k_categorical_accuracy, name, dtype, k=k)


class RootMeanSquaredError(Mean):
    """The root of the mean of squared differences."""

    def __init__(self, name="root_mean_squared_error", dtype=None):
        super().__init__(name, dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, _ = _squeezed(*(math.cast(y, self._dtype) for y in (y_true, y_pred)))
        return super().update_state(math.squared_difference(y_pred, y_true), sample_weight)

    def result(self):
        return math.sqrt(super().result())


# -- outcomes over thresholds --------------------------------------------------------------------------------------
_OUTCOMES = {"true_positives": lambda above, truth: logical_and(above, truth),
             "false_positives": lambda above, truth: logical_and(above, logical_not(truth)),
             "true_negatives": lambda above, truth: logical_and(logical_not(above), logical_not(truth)),
             "false_negatives": lambda above, truth: logical_and(logical_not(above), truth)}
_LOWEST = -1e10  # stands for predictions that are not among the k best


class _Outcomes(Metric):
    """Counts of outcomes, a variable [thresholds] for each of `kinds`; what is above a threshold is predicted to be true."""

    kinds: tuple = tuple(_OUTCOMES)

    def __init__(self, thresholds, name, dtype, top_k=None, class_id=None):
        super().__init__(name, dtype)
        for t in thresholds:
            if t is None or t != _LOWEST and not -0.1 <= t <= 1.1:
                raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {thresholds}")
        self._limits, self.top_k, self.class_id = list(thresholds), top_k, class_id
        for kind in self.kinds:
            setattr(self, kind, self.add_weight(kind, [len(self._limits)]))

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, _ = _squeezed(*(math.cast(y, self._dtype) for y in (y_true, y_pred)))
        if self.top_k is not None:
            worst = top_k_of(y_pred, self.top_k, sorted=True)[0][..., -1:]
            y_pred = where_v2(y_pred >= worst, y_pred, _LOWEST)
        if self.class_id is not None:
            y_true, y_pred = y_true[..., self.class_id], y_pred[..., self.class_id]
        truth = array.reshape(math.cast(y_true, bool_), [1, -1])
        above = greater(array.reshape(y_pred, [1, -1]), np.array(self._limits, self._dtype.as_numpy_dtype)[:, None])
        weights = None if sample_weight is None else array.reshape(_weighted(y_pred, sample_weight), [1, -1])
        updates = []
        for kind in self.kinds:
            found = math.cast(_OUTCOMES[kind](above, truth), self._dtype)
            found = found if weights is None else found * weights
            updates.append(assign_add(getattr(self, kind), reduce.reduce_sum(found, 1)))
        return updates


def _limits(given, default=0.5):
    return [default] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]


def _counts(name, kind):
    def init(self, thresholds=None, name=None, dtype=None):
        _Outcomes.__init__(self, _limits(thresholds), name, dtype)
        self.thresholds = thresholds

    def result(self):
        found = array.identity(getattr(self, kind))
        return found if len(self._limits) > 1 else found[0]

    return type(name, (_Outcomes,), {"__init__": init, "result": result, "kinds": (kind,), "__module__": __name__,
                                     "get_config": lambda self: Metric.get_config(self) | {"thresholds": self.thresholds},
                                     "__doc__": f"The number of {kind.replace('_', ' ')}, for one threshold (1/2) or several."})


TruePositives = _counts("TruePositives", "true_positives")
FalsePositives = _counts("FalsePositives", "false_positives")
TrueNegatives = _counts("TrueNegatives", "true_negatives")
FalseNegatives = _counts("FalseNegatives", "false_negatives")


class Precision(_Outcomes):
    """The share of true ones among what is predicted to be true.

    Args:
      thresholds: one or several, 1/2 by default.
      top_k: predictions count that are among the k best of the last axis.
      class_id: only that place of the last axis counts.
    """

    kinds: tuple = ("true_positives", "false_positives")

    def __init__(self, thresholds=None, top_k=None, class_id=None, name=None, dtype=None):
        super().__init__(_limits(thresholds, 0.5 if top_k is None else _LOWEST), name, dtype, top_k, class_id)
        self.thresholds = thresholds

    def result(self):
        right, other = (getattr(self, kind) for kind in self.kinds)
        found = math.div_no_nan(right, right + other)
        return found if len(self._limits) > 1 else found[0]

    def get_config(self):
        return super().get_config() | {"thresholds": self.thresholds, "top_k": self.top_k, "class_id": self.class_id}


class Recall(Precision):
    """The share of what is predicted to be true among what is; arguments as for `Precision`."""

    kinds: tuple = ("true_positives", "false_negatives")


class AUC(_Outcomes):
    """The area below a curve over thresholds, summed up as Riemann did.

    Args:
      num_thresholds: how many there are, evenly from 0 to 1; or `thresholds`, those between 0 and 1.
      curve: "ROC", or "PR" of precision over recall.
      summation_method: "interpolation" (trapezoids; for PR by Davis and Goadrich 2006), "minoring" or "majoring".
    """

    def __init__(self, num_thresholds=200, curve="ROC", summation_method="interpolation", name=None, dtype=None,
                 thresholds=None):
        if curve not in ("ROC", "PR"):
            raise ValueError(f'Invalid curve: "{curve}". Valid options are: "ROC", "PR".')
        if summation_method not in ("interpolation", "minoring", "majoring"):
            raise ValueError(f'Invalid summation method: "{summation_method}". Valid options are: "interpolation", "minoring", '
                             '"majoring".')
        if thresholds is None and num_thresholds <= 1:
            raise ValueError(f"num_thresholds must be > 1, got {num_thresholds}.")
        even = _even_thresholds(num_thresholds)
        super().__init__(even if thresholds is None else [even[0], *sorted(thresholds), even[-1]], name, dtype)
        self.num_thresholds, self.curve, self.summation_method = len(self._limits), curve, summation_method
        self.thresholds = thresholds

    def result(self):
        tp, fp, tn, fn = (array.identity(getattr(self, kind)) for kind in self.kinds)
        if self.curve == "PR" and self.summation_method == "interpolation":
            return _area_between(tp, fn, tn, fp)
        recall = math.div_no_nan(tp, tp + fn)
        x, y = ((math.div_no_nan(fp, fp + tn), recall) if self.curve == "ROC" else
                (recall, math.div_no_nan(tp, tp + fp)))
        heights = {"interpolation": lambda a, b: (a + b) / 2.0, "minoring": math.minimum, "majoring": math.maximum}
        return reduce.reduce_sum((x[:-1] - x[1:]) * heights[self.summation_method](y[:-1], y[1:]))

    def get_config(self):
        return super().get_config() | {"num_thresholds": self.num_thresholds, "curve": self.curve,
                                       "summation_method": self.summation_method, "thresholds": self.thresholds}


class SensitivityAtSpecificity(_Outcomes):
    """The sensitivity at the threshold whose specificity is nearest to the one given, in [0, 1]."""

    _at, _of = ("true_negatives", "false_positives"), ("true_positives", "false_negatives")

    def __init__(self, specificity, num_thresholds=200, name=None, dtype=None):
        if not 0 <= specificity <= 1:
            raise ValueError(f"The value must be in the range [0, 1], got {specificity}.")
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__([0.5] if num_thresholds == 1 else [0.0, *inner, 1.0], name, dtype)
        self.value, self.num_thresholds = specificity, num_thresholds

    def result(self):
        def share(kinds, i=None):
            right, other = (getattr(self, k) if i is None else gather(getattr(self, k), i) for k in kinds)
            return math.div_no_nan(right, right + other)

        return share(self._of, argmin(math.abs(share(self._at) - self.value), 0))

    def get_config(self):
        return super().get_config() | {"num_thresholds": self.num_thresholds, "specificity": self.value}


class SpecificityAtSensitivity(SensitivityAtSpecificity):
    """The specificity at the threshold whose sensitivity is nearest to the one given, in [0, 1]."""

    _at, _of = ("true_positives", "false_negatives"), ("true_negatives", "false_positives")

    def __init__(self, sensitivity, num_thresholds=200, name=None, dtype=None):
        super().__init__(sensitivity, num_thresholds, name, dtype)

    def get_config(self):
        return Metric.get_config(self) | {"num_thresholds": self.num_thresholds, "sensitivity": self.value}


class MeanIoU(Metric):
    """The mean, over classes that occur, of intersections over unions of predictions and labels, both class numbers."""

    def __init__(self, num_classes, name=None, dtype=None):
        super().__init__(name, dtype)
        self.num_classes = num_classes
        self.total_cm = self.add_weight("total_confusion_matrix", [num_classes, num_classes])

    def update_state(self, y_true, y_pred, sample_weight=None):
        flat = [array.reshape(math.cast(y, "int64"), [-1]) for y in (y_true, y_pred)]
        weights = None if sample_weight is None else array.reshape(math.cast(sample_weight, self._dtype), [-1])
        return assign_add(self.total_cm, confusion_matrix(*flat, self.num_classes, weights=weights, dtype=self._dtype))

    def result(self):
        counts = array.identity(self.total_cm)
        both = diag_part(counts)
        either = reduce.reduce_sum(counts, 0) + reduce.reduce_sum(counts, 1) - both
        occur = reduce.reduce_sum(math.cast(either > 0, self._dtype))
        return math.div_no_nan(reduce.reduce_sum(math.div_no_nan(both, either)), occur)

    def get_config(self):
        return super().get_config() | {"num_classes": self.num_classes}


def clone_metric(metric):
    """Returns a metric like another, with variables of its own; what is no metric is returned."""
    if not isinstance(metric, Metric):
        return metric
    made = type(metric).from_config(metric.get_config())
    made._fn = getattr(metric, "_fn", None)
    return made


def get(identifier):
    """Returns a metric, or function, for a name or a description {"class_name", "config"}; a function or metric itself.

    Raises:
      ValueError: there is none of that name.
    """
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return get(identifier["class_name"])(**identifier.get("config", {}))
    if isinstance(identifier, str) and identifier in _NAMES:
        return globals()[identifier]
    from regrad.keras.utils import custom_object

    found = custom_object(identifier) if isinstance(identifier, str) else None
    if found is None:
        raise ValueError(f"Unknown metric function: {identifier!r}")
    return found


def serialize(metric):
    """Returns the name of a function, or {"class_name", "config"} of a metric."""
    if not isinstance(metric, Metric):
        return metric.__name__
    return {"class_name": type(metric).__name__, "config": metric.get_config()}


deserialize = get
cosine_similarity = cosine
_OF_LOSSES = """KLD MAE MAPE MSE MSLE binary_crossentropy categorical_crossentropy cosine cosine_proximity cosine_similarity
    hinge kld kullback_leibler_divergence mae mape mean_absolute_error mean_absolute_percentage_error mean_squared_error
    mean_squared_logarithmic_error mse msle poisson sparse_categorical_crossentropy squared_hinge""".split()
__all__ = [*_OF_LOSSES, *(name for name, value in list(globals().items())
                          if getattr(value, "__module__", "") == __name__ and name[0] != "_" and name != "clone_metric")]
_NAMES = set(__all__) - {"Metric", "get", "serialize", "deserialize"}
