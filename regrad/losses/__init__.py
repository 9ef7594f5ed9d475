"""`tf.losses`: losses over batches, weighted, reduced to a scalar, and entered in the graph's collection of
losses.

Every loss has the arguments

    weights: multiplies the elements: a scalar, or a tensor of the rank of the losses whose sizes are theirs
      or 1.
    scope: name scope.
    loss_collection: where the result is entered; None for nowhere.
    reduction: one of `Reduction`; by default the sum over the number of elements whose weight is not 0.
"""

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shapes import compatible
from regrad.nn import functions
from regrad.ops import array, math, nn, operators  # noqa: F401
from regrad.ops.array import broadcast_like, one_of
from regrad.ops.compare import equal, greater, select
from regrad.ops.generate import range as range_
from regrad.ops.reduce import reduce_sum

__all__ = ["Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
           "get_losses",
           "get_regularization_loss", "get_regularization_losses", "get_total_loss", "hinge_loss",
           "huber_loss",
           "log_loss", "mean_pairwise_squared_error", "mean_squared_error", "sigmoid_cross_entropy",
           "softmax_cross_entropy", "sparse_softmax_cross_entropy"]


class Reduction:
    """How weighted losses become one number.

    Attributes:
      NONE: not at all.
      SUM: their sum.
      MEAN: their sum over the sum of the weights.
      SUM_OVER_BATCH_SIZE: their sum over the number of elements.
      SUM_BY_NONZERO_WEIGHTS, SUM_OVER_NONZERO_WEIGHTS: their sum over the number of elements of weight not 0.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls):
        return cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def validate(cls, key):
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}: it is one of {', '.join(map(repr, cls.all()))}.")


_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS


# -- the collection -----------------------------------------------------------------------------------
def add_loss(loss, loss_collection=GraphKeys.LOSSES):
    """Enters `loss` in a collection of the graph."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
    """Returns the losses entered so far, those whose name starts with `scope` if it is given."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope=None):
    """Returns the list of regularisation losses."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope=None, name="total_regularization_loss"):
    """Returns the sum of the regularisation losses, 0 when there are none."""
    losses = get_regularization_losses(scope)
    return math.add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(add_regularization_losses=True, name="total_loss", scope=None):
    """Returns the sum of the losses entered so far, and of the regularisation losses.

    Raises:
      ValueError: there are none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return math.add_n(losses, name=name)


# -- weights and reduction --------------------------------------------------------------------------------
def _present(weights, losses):
    """Returns 1 for each loss whose weight is not 0, 0 for the others."""
    present = select(equal(weights, 0), array.zeros_like(weights), array.ones_like(weights))
    return broadcast_like(present, losses)


def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=_BY_NONZERO):
    """Returns `losses` times `weights`, reduced, and enters the result in `loss_collection`.

    Integers and float16 are computed in float32; the result has the dtype of `losses`. The quotient of a sum
    over no weight at all is 0.

    Raises:
      ValueError: `reduction` is unknown, or `weights` do not fit `losses`.
    """
    Reduction.validate(reduction)
    with get_default_graph().name_scope(scope or "weighted_loss"):
        losses = convert_to_tensor(losses, name="losses")
        asked = losses.dtype
        wide = dtypes.float64 if asked is dtypes.float64 else dtypes.float32
        weights = math.cast(convert_to_tensor(weights, name="weights"), wide)
        weights = array.fit_weights(weights, losses)
        loss = math.multiply(math.cast(losses, wide), weights)
        if reduction != Reduction.NONE:
            if reduction == Reduction.MEAN:
                divisor = reduce_sum(broadcast_like(weights, loss))
            elif reduction == _BY_NONZERO:
                divisor = reduce_sum(_present(weights, loss), name="num_present")
            elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
                divisor = math.cast(array.size(loss), wide, name="num_elements")
            loss = reduce_sum(loss)
            if reduction != Reduction.SUM:
                loss = math.div_no_nan(loss, divisor, name="value")
        loss = math.cast(loss, asked)
        add_loss(loss, loss_collection)
        return loss


def _two(labels, predictions, label_name="labels", prediction_name="predictions", dtype=dtypes.float32):
    """Returns both as tensors of one shape and dtype; TF makes float32 of all but logits."""
    if labels is None or predictions is None:
        raise ValueError(f"{label_name if labels is None else prediction_name} must not be None.")
    predictions = convert_to_tensor(predictions, name=prediction_name)
    labels = convert_to_tensor(labels, name=label_name)
    predictions = math.cast(predictions, dtype or predictions.dtype)
    labels = math.cast(labels, predictions.dtype)
    if not compatible(predictions.dims, labels.dims):
        raise ValueError(f"Shapes {predictions.shape} and {labels.shape} are incompatible: "
                         f"{prediction_name} and {label_name} must have the same shape.")
    return labels, predictions


# -- losses ----------------------------------------------------------------------------------------
def absolute_difference(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                        reduction=_BY_NONZERO):
    """Returns the weighted mean of |predictions - labels|."""
    with get_default_graph().name_scope(scope or "absolute_difference") as scope:
        labels, predictions = _two(labels, predictions)
        losses = math.abs(math.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                    reduction=_BY_NONZERO, dim=None):
    """Returns the weighted mean of 1 - sum(labels * predictions) along `axis`, for unit vectors."""
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with get_default_graph().name_scope(scope or "cosine_distance_loss") as scope:
        labels, predictions = _two(labels, predictions)
        losses = 1 - reduce_sum(math.multiply(predictions, labels), [axis], keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=_BY_NONZERO):
    """Returns the weighted mean of max(0, 1 - y * logits), y being -1 and 1 for labels 0 and 1."""
    with get_default_graph().name_scope(scope or "hinge_loss") as scope:
        labels, logits = _two(labels, logits, "labels", "logits")
        losses = nn.relu(1 - (2 * labels - 1) * logits)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=_BY_NONZERO):
    """Returns the weighted mean of e^2 / 2 where |e| <= delta and delta * (|e| - delta / 2) elsewhere."""
    with get_default_graph().name_scope(scope or "huber_loss") as scope:
        labels, predictions = _two(labels, predictions)
        size = math.abs(math.subtract(predictions, labels))
        quadratic = math.minimum(size, delta)
        losses = 0.5 * quadratic * quadratic + delta * math.subtract(size, quadratic)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None, loss_collection=GraphKeys.LOSSES,
             reduction=_BY_NONZERO):
    """Returns the weighted mean of -z log(p + epsilon) - (1 - z) log(1 - p + epsilon)."""
    with get_default_graph().name_scope(scope or "log_loss") as scope:
        labels, predictions = _two(labels, predictions)
        losses = -math.multiply(labels, math.log(predictions + epsilon)) \
            - math.multiply(1 - labels, math.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None,
                                loss_collection=GraphKeys.LOSSES):
    """Returns the mean, over pairs of elements of one example, of the squared difference of their errors.

    Args:
      labels, predictions: [batch, ...], of one shape.
      weights: scalar, [batch] with 1 for each further axis, or of the shape of `predictions`.
    """
    with get_default_graph().name_scope(scope or "mean_pairwise_squared_error"):
        labels, predictions = _two(labels, predictions)
        weights = math.cast(convert_to_tensor(weights, name="weights"), predictions.dtype)
        weights = array.fit_weights(weights, labels)
        errors = math.subtract(predictions, labels)
        axes = list(range(1, len(errors.dims))) if errors.dims is not None else range_(1, array.rank(errors))
        present = reduce_sum(_present(weights, errors), axes, keepdims=True)
        others = math.maximum(present - 1, 0)
        # Over all pairs, the sum of (e_i - e_j)^2 is 2 n sum(e^2) - 2 (sum e)^2.
        squares = reduce_sum(math.square(errors), axes, keepdims=True)
        total = reduce_sum(errors, axes, keepdims=True)
        per_example = 2.0 * (math.div_no_nan(squares, others, name="value")
                             - math.div_no_nan(math.square(total), present * others, name="value"))
        loss = reduce_sum(math.multiply(per_example, weights))
        loss = select(greater(reduce_sum(present), 0), loss, array.zeros_like(loss), name="value")
        add_loss(loss, loss_collection)
        return loss


def mean_squared_error(labels, predictions, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                       reduction=_BY_NONZERO):
    """Returns the weighted mean of (predictions - labels) ** 2."""
    with get_default_graph().name_scope(scope or "mean_squared_error") as scope:
        labels, predictions = _two(labels, predictions)
        losses = math.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO):
    """Returns the weighted mean of `tf.nn.sigmoid_cross_entropy_with_logits`.

    `label_smoothing` moves the labels towards 1/2 by that share.
    """
    with get_default_graph().name_scope(scope or "sigmoid_cross_entropy_loss") as scope:
        labels, logits = _two(multi_class_labels, logits, "multi_class_labels", "logits", None)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = functions.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES, reduction=_BY_NONZERO):
    """Returns the weighted mean of `tf.nn.softmax_cross_entropy_with_logits` over examples.

    `label_smoothing` moves the labels towards 1 / classes by that share.
    """
    with get_default_graph().name_scope(scope or "softmax_cross_entropy_loss") as scope:
        labels, logits = _two(onehot_labels, logits, "onehot_labels", "logits", None)
        if label_smoothing > 0:
            classes = math.cast(array.shape(labels)[-1], logits.dtype)
            labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
        labels = array.stop_gradient(labels, name="labels_stop_gradient")
        losses = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _without_column(x, rank):
    """Returns `x` without its last axis when it has `rank` axes and the last may be of size 1."""
    return array.squeeze(x, [-1]) if rank and x.rank == rank and x.dims[-1] in (None, 1) else x


def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                                 reduction=_BY_NONZERO):
    """Returns the weighted mean of `tf.nn.sparse_softmax_cross_entropy_with_logits`, a loss per example.

    Args:
      labels: int32 or int64 class numbers, [batch, ...] or [batch, ..., 1].
      logits: [batch, ..., classes].
    """
    if labels is None or logits is None:
        raise ValueError(f"{'labels' if labels is None else 'logits'} must not be None.")
    with get_default_graph().name_scope(scope or "sparse_softmax_cross_entropy_loss") as scope:
        labels, logits = convert_to_tensor(labels, name="labels"), convert_to_tensor(logits, name="logits")
        labels = _without_column(labels, logits.rank)
        weights = convert_to_tensor(weights, name="weights")
        weights = _without_column(weights, None if labels.rank is None else labels.rank + 1)
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        if weights.rank is None:  # a column of weights, as one of labels, is known by the run
            weights = array.fit_weights(weights, losses, last_axis=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
