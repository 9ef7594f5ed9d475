"""`tf.keras.losses`: functions of (y_true, y_pred) that keep the batch, and classes of them that reduce it."""

import inspect
import math as python_math

from regrad.core.arguments import bound
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.shown import Shown
from regrad.keras import backend, operations
from regrad.losses import Reduction, compute_weighted_loss
from regrad.ops import array, compare, math, nn, norm, reduce
from regrad.ops.flow import cond


def _two(y_true, y_pred):
    y_pred = convert_to_tensor(y_pred)
    return math.cast(y_true, y_pred.dtype), y_pred


def _mean(x):
    return reduce.reduce_mean(x, axis=-1)


def mean_squared_error(y_true, y_pred):
    """Returns the means of squared differences over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    return _mean(math.squared_difference(y_pred, y_true))


def mean_absolute_error(y_true, y_pred):
    """Returns the means of absolute differences over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    return _mean(math.abs(y_pred - y_true))


def mean_absolute_percentage_error(y_true, y_pred):
    """Returns the means of absolute differences, in hundredths of abs(y_true), over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    return 100.0 * _mean(math.abs((y_true - y_pred) / operations.clip(math.abs(y_true), backend.epsilon(), None)))


def mean_squared_logarithmic_error(y_true, y_pred):
    """Returns the means of squared differences of log(1 + y) over the last axis."""
    logs = [math.log(operations.clip(y, backend.epsilon(), None) + 1.0) for y in _two(y_true, y_pred)]
    return _mean(math.squared_difference(*logs[::-1]))


def _signs(y_true):
    """Returns labels as -1 and 1, where they are 0 and 1."""
    zero_or_one = reduce.reduce_all(compare.logical_or(compare.equal(y_true, 0), compare.equal(y_true, 1)))
    return cond(zero_or_one, lambda: 2.0 * y_true - 1.0, lambda: array.identity(y_true))


def hinge(y_true, y_pred):
    """Returns the means of max(0, 1 - y_true y_pred) over the last axis; labels are -1 and 1, or 0 and 1."""
    y_true, y_pred = _two(y_true, y_pred)
    return _mean(math.maximum(1.0 - _signs(y_true) * y_pred, 0.0))


def squared_hinge(y_true, y_pred):
    """Returns the means of max(0, 1 - y_true y_pred)^2 over the last axis; labels are -1 and 1, or 0 and 1."""
    y_true, y_pred = _two(y_true, y_pred)
    return _mean(math.square(math.maximum(1.0 - _signs(y_true) * y_pred, 0.0)))


def categorical_hinge(y_true, y_pred):
    """Returns max(0, 1 + the largest wrong score - the right one) over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    right = reduce.reduce_sum(y_true * y_pred, axis=-1)
    return math.maximum(0.0, reduce.reduce_max((1.0 - y_true) * y_pred, axis=-1) - right + 1.0)


def huber_loss(y_true, y_pred, delta=1.0):
    """Returns half of squared differences, linear beyond `delta`, element by element."""
    y_true, y_pred = _two(y_true, y_pred)
    apart = math.abs(y_pred - y_true)
    near = math.minimum(apart, delta)
    return 0.5 * near * near + delta * (apart - near)


def logcosh(y_true, y_pred):
    """Returns the means of log(cosh(y_pred - y_true)) over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    d = y_pred - y_true
    return _mean(d + nn.softplus(-2.0 * d) - python_math.log(2.0))


def categorical_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    """Returns the cross entropy of distributions along the last axis; `label_smoothing` moves labels towards even ones."""
    y_true, y_pred = _two(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / math.cast(array.shape(y_true)[1], y_pred.dtype)
    return operations.categorical_crossentropy(y_true, y_pred, from_logits)


def sparse_categorical_crossentropy(y_true, y_pred, from_logits=False, axis=-1):
    """Returns the cross entropy of classes, integers."""
    return operations.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


def binary_crossentropy(y_true, y_pred, from_logits=False, label_smoothing=0):
    """Returns the means of cross entropies of truth values over the last axis; `label_smoothing` moves labels towards 1/2."""
    y_true, y_pred = _two(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return _mean(operations.binary_crossentropy(y_true, y_pred, from_logits))


def kullback_leibler_divergence(y_true, y_pred):
    """Returns sum(y_true log(y_true / y_pred)) over the last axis."""
    y_true, y_pred = (operations.clip(y, backend.epsilon(), 1) for y in _two(y_true, y_pred))
    return reduce.reduce_sum(y_true * math.log(y_true / y_pred), axis=-1)


def poisson(y_true, y_pred):
    """Returns the means of y_pred - y_true log(y_pred) over the last axis."""
    y_true, y_pred = _two(y_true, y_pred)
    return _mean(y_pred - y_true * math.log(y_pred + backend.epsilon()))


def cosine_similarity(y_true, y_pred, axis=-1):
    """Returns minus the cosine between vectors along an axis."""
    y_true, y_pred = (norm.l2_normalize(y, axis) for y in _two(y_true, y_pred))
    return -reduce.reduce_sum(y_true * y_pred, axis=axis)


MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error
MSLE = msle = mean_squared_logarithmic_error
KLD = kld = kullback_leibler_divergence
cosine = cosine_proximity = cosine_similarity


class Loss(Shown):
    """A loss to be called with (y_true, y_pred, sample_weight=None); a subclass gives `call(y_true, y_pred)`.

    Args:
      reduction: "sum_over_batch_size" (the default, "auto"), "sum" or "none".
      name: of the name scope.
    """

    def __init__(self, reduction="auto", name=None):
        if reduction not in _REDUCTIONS:
            raise ValueError(f'Invalid Reduction Key {reduction}: it is "auto", "none", "sum" or "sum_over_batch_size".')
        self.reduction, self.name = reduction, name

    def _said(self):
        return getattr(self, "_arguments", {})

    def call(self, y_true, y_pred):
        raise NotImplementedError(f"{type(self).__name__} is a Loss: define call(y_true, y_pred).")

    def get_config(self):
        """Returns the arguments that make the same loss."""
        return {"reduction": self.reduction, "name": self.name, **getattr(self, "_arguments", {})}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __call__(self, y_true, y_pred, sample_weight=None):
        """Returns the losses, weighted and reduced; `sample_weight` is [batch], or of the shape of the losses."""
        with get_default_graph().name_scope(self.name or type(self).__name__.lower()):
            losses = self.call(y_true, y_pred)
            weights = 1.0 if sample_weight is None else math.cast(sample_weight, losses.dtype)
            ranks = losses.shape.ndims, getattr(weights, "shape", losses.shape).ndims
            if None not in ranks and ranks[1] == ranks[0] + 1 and weights.dims[-1] == 1:
                weights = array.squeeze(weights, [-1])
            elif None not in ranks and 0 < ranks[1] < ranks[0]:
                weights = array.reshape(weights, array.concat([array.shape(weights), [1] * (ranks[0] - ranks[1])], 0))
            return compute_weighted_loss(losses, weights, loss_collection=None, reduction=_REDUCTIONS[self.reduction])


_REDUCTIONS = {"auto": Reduction.SUM_OVER_BATCH_SIZE, "sum_over_batch_size": Reduction.SUM_OVER_BATCH_SIZE,
               "sum": Reduction.SUM, "none": Reduction.NONE}


def _class(name, function, **defaults):
    """Returns the class of a loss function; `defaults` are its further arguments."""
    of_loss = {"reduction": "auto", "name": function.__name__}
    signature = inspect.Signature([inspect.Parameter(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
                                   for argument, default in (defaults | of_loss).items()])

    def init(self, *args, **kwargs):
        given = defaults | of_loss | bound(type(self), signature, args, kwargs)
        Loss.__init__(self, given.pop("reduction"), given.pop("name"))
        self._arguments = given

    return type(name, (Loss,), {
        "__init__": init, "__signature__": signature, "__module__": __name__, "__doc__": f"`{function.__name__}` as a Loss.",
        "function": staticmethod(function),
        "call": lambda self, y_true, y_pred: function(y_true, y_pred, **self._arguments)})


MeanSquaredError = _class("MeanSquaredError", mean_squared_error)
MeanAbsoluteError = _class("MeanAbsoluteError", mean_absolute_error)
MeanAbsolutePercentageError = _class("MeanAbsolutePercentageError", mean_absolute_percentage_error)
MeanSquaredLogarithmicError = _class("MeanSquaredLogarithmicError", mean_squared_logarithmic_error)
BinaryCrossentropy = _class("BinaryCrossentropy", binary_crossentropy, from_logits=False, label_smoothing=0)
CategoricalCrossentropy = _class("CategoricalCrossentropy", categorical_crossentropy, from_logits=False, label_smoothing=0)
SparseCategoricalCrossentropy = _class("SparseCategoricalCrossentropy", sparse_categorical_crossentropy, from_logits=False)
Hinge = _class("Hinge", hinge)
SquaredHinge = _class("SquaredHinge", squared_hinge)
CategoricalHinge = _class("CategoricalHinge", categorical_hinge)
Poisson = _class("Poisson", poisson)
LogCosh = _class("LogCosh", logcosh)
KLDivergence = _class("KLDivergence", kullback_leibler_divergence)
Huber = _class("Huber", huber_loss, delta=1.0)
CosineSimilarity = _class("CosineSimilarity", cosine_similarity, axis=-1)


def get(identifier):
    """Returns a loss for a name, a description {"class_name", "config"}, a function, or None.

    Raises:
      ValueError: there is none of that name.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        config = {key: value for key, value in identifier.get("config", {}).items() if key != "fn"}  # of later versions
        found = get(identifier["class_name"])
        return type(found)(**config) if isinstance(found, Loss) else found
    if isinstance(identifier, str) and identifier in _NAMES:
        found = globals()[identifier]
        return found() if isinstance(found, type) else found
    from regrad.keras.utils import custom_object

    found = custom_object(identifier) if isinstance(identifier, str) else None
    if found is None:
        raise ValueError(f"Could not interpret loss function identifier: {identifier!r}")
    return found() if isinstance(found, type) else found


__all__ = [name for name, value in list(globals().items()) if getattr(value, "__module__", None) == __name__ and name[0] != "_"]
_NAMES = set(__all__) - {"Loss", "get"}
