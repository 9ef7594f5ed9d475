"""`tf.contrib.losses`, which is `slim.losses`: the losses of `tf.losses` with predictions first, and labels second."""

from regrad import losses as _losses
from regrad.core.lazy import names_of
from regrad.losses import add_loss, compute_weighted_loss, get_losses, get_regularization_losses, get_total_loss

__getattr__, __dir__ = names_of(__name__, {}, modules="metric_learning=regrad.contrib.metric_learning")[:2]
__all__ = ["absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
           "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss", "mean_pairwise_squared_error",
           "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy"]


def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
    """Returns `tf.losses.absolute_difference(labels, predictions, ...)`."""
    return _losses.absolute_difference(labels, predictions, weights, scope)


def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
    """Returns `tf.losses.cosine_distance(labels, predictions, ...)`."""
    return _losses.cosine_distance(labels, predictions, dim if axis is None else axis, weights, scope)


def hinge_loss(logits, labels=None, scope=None):
    """Returns the hinge loss of each element, not reduced and in no collection; labels are 0 or 1."""
    return _losses.hinge_loss(labels, logits, scope=scope, loss_collection=None, reduction=_losses.Reduction.NONE)


def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
    """Returns `tf.losses.log_loss(labels, predictions, ...)`."""
    return _losses.log_loss(labels, predictions, weights, epsilon, scope)


def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """Returns `tf.losses.mean_pairwise_squared_error(labels, predictions, ...)`."""
    return _losses.mean_pairwise_squared_error(labels, predictions, weights, scope)


def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
    """Returns `tf.losses.mean_squared_error(labels, predictions, ...)`."""
    return _losses.mean_squared_error(labels, predictions, weights, scope)


def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
    """Returns `tf.losses.sigmoid_cross_entropy(multi_class_labels, logits, ...)`."""
    return _losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
    """Returns `tf.losses.softmax_cross_entropy(onehot_labels, logits, ...)`."""
    return _losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
    """Returns `tf.losses.sparse_softmax_cross_entropy(labels, logits, ...)`."""
    return _losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)
