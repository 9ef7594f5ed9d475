"""What becomes of a model's last layer: losses, metrics and predictions of classes and of numbers."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.estimator.export import ClassificationOutput, PredictOutput, RegressionOutput
from regrad.estimator.spec import EstimatorSpec, ModeKeys
from regrad.feature_column.columns import DenseColumn, Features
from regrad.feature_column.numeric import numeric_column
from regrad.framework import control_dependencies
from regrad.losses import Reduction, compute_weighted_loss
from regrad.metrics import accuracy, auc, mean, precision, recall
from regrad.nn.functions import sigmoid_cross_entropy_with_logits
from regrad.ops import array, math
from regrad.ops.array import expand_dims, identity, shape, zeros_like
from regrad.ops.check import assert_greater_equal, assert_less_equal
from regrad.ops.control import group
from regrad.ops.generate import range as range_
from regrad.ops.layout import tile
from regrad.ops.lookup import index_table_from_tensor, index_to_string_table_from_tensor
from regrad.ops.nn import softmax, sparse_softmax_cross_entropy_with_logits
from regrad.ops.reduce import argmax, reduce_sum
from regrad.ops.sparse import SparseTensor
from regrad.ops.strings import as_string
from regrad.ops.summary import scalar
from regrad.saved_model import signature_constants

_KEY = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class Head:
    """The common part of heads.

    Attributes:
      logits_dimension: how many numbers the last layer gives for an example.
    """

    def __init__(self, logits_dimension, weight_column=None, loss_reduction=Reduction.SUM):
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
        if weight_column is not None and not isinstance(weight_column, (str, DenseColumn)):
            raise TypeError("Weight column must be either a string or _DenseColumn. Given type: "
                            f"{type(weight_column)}.")
        self.logits_dimension = logits_dimension
        self._weight_column, self._reduction = weight_column, loss_reduction

    def predictions(self, logits):
        """Returns {name: tensor}, the first axis being the batch."""
        raise NotImplementedError

    def exports(self, predictions):
        """Returns {signature: ExportOutput}."""
        raise NotImplementedError

    def loss(self, labels, logits):
        """Returns (the loss of each example [batch, 1], the labels as they are compared)."""
        raise NotImplementedError

    def metrics(self, labels, predictions, weights, losses):
        """Returns {name: (value, update)}."""
        raise NotImplementedError

    def spec(self, features, mode, logits, labels, train_op_fn):
        """Returns the EstimatorSpec; `train_op_fn(loss)` gives the operation of a step."""
        predictions = self.predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions, export_outputs=self.exports(predictions))
        losses, labels = self.loss(self._labels(labels), logits)
        weights = self._weights(features)
        loss = compute_weighted_loss(losses, 1.0 if weights is None else weights, reduction=self._reduction)
        if mode == ModeKeys.EVAL:
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops={
                "average_loss": mean(losses, weights, name="average_loss"),
                **self.metrics(labels, predictions, weights, losses)})
        scalar("loss", loss)
        if self._reduction == Reduction.SUM:
            count = reduce_sum(array.ones_like(losses) * (1.0 if weights is None else weights))
            scalar("average_loss", math.div_no_nan(loss, count))
        return EstimatorSpec(mode, predictions, loss, group(
            train_op_fn(loss), *get_default_graph().get_collection(GraphKeys.UPDATE_OPS)))

    def _labels(self, labels):
        """Returns labels as [batch, n]; ValueError where they are missing, sparse or of another width."""
        if labels is None:
            raise ValueError("You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your "
                             "data contain your label feature. Check that your input_fn properly parses and returns labels.")
        if isinstance(labels, SparseTensor):
            raise ValueError("SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, "
                             f"{self.labels_dimension}].")
        labels = convert_to_tensor(labels)
        if labels.dims is not None and len(labels.dims) == 1:
            labels = expand_dims(labels, -1)
        if labels.dims is not None and labels.dims[-1] not in (None, self.labels_dimension):
            raise ValueError(f"Mismatched label shape. Expected labels dimension={self.labels_dimension}. Received "
                             f"{labels.dims[-1]}. Check the arguments of the estimator, and the shape of labels.")
        return labels

    labels_dimension = 1

    def _weights(self, features):
        """Returns the examples' weights [batch, 1], or None."""
        if self._weight_column is None:
            return None
        column = numeric_column(self._weight_column) if isinstance(self._weight_column, str) else self._weight_column
        return math.cast(column.dense(Features(features), False, None), dtypes.float32)


class RegressionHead(Head):
    """Numbers, with the squared error."""

    def __init__(self, label_dimension=1, weight_column=None, loss_reduction=Reduction.SUM):
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        super().__init__(label_dimension, weight_column, loss_reduction)
        self.labels_dimension = label_dimension

    def predictions(self, logits):
        return {"predictions": logits}

    def exports(self, predictions):
        value = RegressionOutput(predictions["predictions"])
        return {_KEY: value, "regression": value, "predict": PredictOutput(predictions)}

    def loss(self, labels, logits):
        labels = math.cast(labels, dtypes.float32)
        return math.squared_difference(logits, labels), labels

    def metrics(self, labels, predictions, weights, losses):
        return {"prediction/mean": mean(predictions["predictions"], weights, name="prediction/mean"),
                "label/mean": mean(labels, weights, name="label/mean")}


class _ClassHead(Head):
    """Classes, which may have names."""

    def __init__(self, n_classes, logits_dimension, weight_column, label_vocabulary, loss_reduction):
        super().__init__(logits_dimension, weight_column, loss_reduction)
        if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
            raise ValueError(f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}")
        if label_vocabulary and len(label_vocabulary) != n_classes:
            raise ValueError(f'"label_vocabulary" does not have "n_classes" items. n_classes={n_classes}, '
                             f"label_vocabulary={label_vocabulary}")
        self._n, self._words = n_classes, tuple(label_vocabulary or ())

    def _numbers(self, labels):
        """Returns the numbers of labels; an error when the model runs where they are no classes."""
        if self._words:
            if labels.dtype is not dtypes.string:
                raise ValueError(f"Labels dtype should be string if there is a vocabulary. Instead got {labels.dtype}")
            labels = index_table_from_tensor(self._words, name="class_id_lookup").lookup(labels)
        return labels

    def _named(self, numbers):
        """Returns the names of classes, strings."""
        if not self._words:
            return as_string(numbers)
        table = index_to_string_table_from_tensor(self._words, name="class_string_lookup")
        return table.lookup(math.cast(numbers, dtypes.int64))

    def exports(self, predictions):
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {_KEY: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def _classes(self, logits, class_ids):
        rows = shape(logits)[0]
        numbers = tile(expand_dims(range_(self._n), 0), [rows, 1])
        return {"class_ids": class_ids, "classes": self._named(class_ids), "all_class_ids": numbers,
                "all_classes": self._named(numbers)}


class BinaryHead(_ClassHead):
    """Two classes, by one logit."""

    def __init__(self, weight_column=None, label_vocabulary=None, loss_reduction=Reduction.SUM):
        super().__init__(2, 1, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits):
        both = array.concat([zeros_like(logits), logits], -1)
        class_ids = expand_dims(argmax(both, axis=-1), -1)
        return {"logits": logits, "logistic": math.sigmoid(logits), "probabilities": softmax(both),
                **self._classes(logits, class_ids)}

    def exports(self, predictions):
        return {**super().exports(predictions), "regression": RegressionOutput(predictions["logistic"])}

    def loss(self, labels, logits):
        labels = math.cast(self._numbers(labels), dtypes.float32)
        with control_dependencies([assert_less_equal(labels, 1.0, message="Labels must <= n_classes - 1"),
                                   assert_greater_equal(labels, 0.0, message="Labels must >= 0")]):
            labels = identity(labels)
        return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), labels

    def metrics(self, labels, predictions, weights, losses):
        ids, probabilities = predictions["class_ids"], predictions["logistic"]
        share, share_update = mean(labels, weights, name="label/mean")
        return {
            "accuracy": accuracy(labels, ids, weights, name="accuracy"),
            "precision": precision(labels, ids, weights, name="precision"),
            "recall": recall(labels, ids, weights, name="recall"),
            "prediction/mean": mean(probabilities, weights, name="prediction/mean"), "label/mean": (share, share_update),
            "accuracy_baseline": (math.maximum(share, 1.0 - share), math.maximum(share_update, 1.0 - share_update)),
            "auc": auc(labels, probabilities, weights, name="auc"),
            "auc_precision_recall": auc(labels, probabilities, weights, curve="PR", name="auc_precision_recall")}


class MultiClassHead(_ClassHead):
    """Three classes or more, one logit each."""

    def __init__(self, n_classes, weight_column=None, label_vocabulary=None, loss_reduction=Reduction.SUM):
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, n_classes, weight_column, label_vocabulary, loss_reduction)

    def predictions(self, logits):
        return {"logits": logits, "probabilities": softmax(logits),
                **self._classes(logits, expand_dims(argmax(logits, axis=-1), -1))}

    def loss(self, labels, logits):
        labels = self._numbers(labels)
        if not labels.dtype.is_integer:
            raise ValueError(f"Labels dtype should be integer. Instead got {labels.dtype}.")
        labels = math.cast(labels, dtypes.int64)
        with control_dependencies([
                assert_less_equal(labels, np.int64(self._n - 1), message="Labels must <= n_classes - 1"),
                assert_greater_equal(labels, np.int64(0), message="Labels must >= 0")]):
            labels = identity(labels)
        losses = sparse_softmax_cross_entropy_with_logits(labels=array.squeeze(labels, axis=[-1]), logits=logits)
        return expand_dims(losses, -1), labels

    def metrics(self, labels, predictions, weights, losses):
        return {"accuracy": accuracy(labels, predictions["class_ids"], weights, name="accuracy")}


def class_head(n_classes, weight_column, label_vocabulary, loss_reduction):
    """Returns the head of so many classes."""
    if n_classes == 2:
        return BinaryHead(weight_column, label_vocabulary, loss_reduction)
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction)
