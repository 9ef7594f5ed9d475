"""Estimators that bring their model: linear, deep, and both side by side."""

import math as _math

from regrad import nn
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.estimator.estimator import Estimator
from regrad.estimator.heads import RegressionHead, class_head
from regrad.estimator.spec import ModeKeys
from regrad.feature_column.model import input_layer, linear_model
from regrad.framework import control_dependencies
from regrad.layers import batch_normalization, dense, dropout
from regrad.losses import Reduction
from regrad.ops.control import group
from regrad.ops.summary import histogram, scalar
from regrad.train.optimizer import Optimizer
from regrad.train.optimizers import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    RMSPropOptimizer,
)
from regrad.train.steps import get_global_step
from regrad.variables.assign import assign_add
from regrad.variables.initializers import glorot_uniform_initializer
from regrad.variables.scope import variable_scope

_OPTIMIZERS = {"Adagrad": AdagradOptimizer, "Adam": AdamOptimizer, "Ftrl": FtrlOptimizer, "RMSProp": RMSPropOptimizer,
               "SGD": GradientDescentOptimizer}


def _optimizer(given, learning_rate):
    """Returns an optimizer, given by name (with a learning rate), as it is, or by a function."""
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError(f"Unsupported optimizer name: {given}. Supported names are: {sorted(_OPTIMIZERS)}")
        return _OPTIMIZERS[given](learning_rate)
    made = given() if callable(given) else given
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made


class _Linear:
    """A weighted sum of columns.

    Attributes:
      scope: of the variables, once it was built.
    """

    def __init__(self, columns, optimizer, partitioner, combiner, beside=False):
        self._columns, self._partitioner, self._combiner = list(columns), partitioner, combiner
        self._optimizer, self._beside = optimizer, beside

    def logits(self, features, units, mode):
        found: dict = {}
        with variable_scope("linear", values=list(features.values()), partitioner=self._partitioner) as scope:
            self.scope = scope.name
            logits = linear_model(features, self._columns, units, self._combiner, cols_to_vars=found)
            weights = [nn.zero_fraction(v) for column, vs in found.items() if column != "bias" for v in vs]
            if units == 1:
                scalar("bias", found["bias"][0][0])
            else:
                histogram("bias", found["bias"][0])
            scalar("fraction_of_zero_weights", sum(weights) / len(weights))
            if self._beside:
                _summarise(logits, scope.name)
        return logits

    def optimizer(self):
        return _optimizer(self._optimizer, min(0.005 if self._beside else 0.2, 1.0 / _math.sqrt(len(self._columns))))


class _Deep:
    """Layers over columns.

    Attributes:
      scope: of the variables, once it was built.
    """

    def __init__(self, hidden_units, columns, optimizer, activation, rate, partitioner, batch_norm, learning_rate=0.05):
        self._hidden, self._columns, self._optimizer, self._activation = hidden_units, columns, optimizer, activation
        self._rate, self._partitioner, self._normalise, self._learning_rate = rate, partitioner, batch_norm, learning_rate

    def logits(self, features, units, mode):
        training = mode == ModeKeys.TRAIN
        with variable_scope("dnn", values=list(features.values()), partitioner=self._partitioner) as scope:
            self.scope = scope.name
            with variable_scope("input_from_feature_columns"):
                net = input_layer(features, self._columns)
            for i, width in enumerate(self._hidden):
                with variable_scope(f"hiddenlayer_{i}") as layer:
                    net = dense(net, width, self._activation, kernel_initializer=glorot_uniform_initializer(), name=layer)
                    if self._rate is not None and training:
                        net = dropout(net, rate=self._rate, training=True)
                    if self._normalise:
                        net = batch_normalization(net, momentum=0.999, training=training, name=f"batchnorm_{i}")
                _summarise(net, layer.name)
            with variable_scope("logits") as layer:
                logits = dense(net, units, kernel_initializer=glorot_uniform_initializer(), name=layer)
            _summarise(logits, layer.name)
        return logits

    def optimizer(self):
        return _optimizer(self._optimizer, self._learning_rate)


def _summarise(value, name):
    scalar(f"{name}/fraction_of_zero_values", nn.zero_fraction(value))
    histogram(f"{name}/activation", value)


class _Canned(Estimator):
    """An Estimator of a head over parts, whose logits are added, each trained by an optimizer of its own."""

    def __init__(self, head, parts, model_dir, config, warm_start_from):
        def model_fn(features, labels, mode):
            if not isinstance(features, dict):
                raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
            logits = sum(part.logits(features, head.logits_dimension, mode) for part in parts)
            return head.spec(features, mode, logits, labels, lambda loss: _trained(parts, loss))

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


def _trained(parts, loss):
    if len(parts) == 1:
        return parts[0].optimizer().minimize(loss, get_global_step())
    steps = [part.optimizer().minimize(loss, var_list=get_default_graph().get_collection(
        GraphKeys.TRAINABLE_VARIABLES, part.scope + "/")) for part in parts]
    with control_dependencies([group(*steps)]):
        return assign_add(get_global_step(), 1).op


class LinearClassifier(_Canned):
    """Classes by a weighted sum of columns: logistic regression, or softmax for more than two classes."""

    def __init__(self, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
                 optimizer="Ftrl", config=None, partitioner=None, warm_start_from=None, loss_reduction=Reduction.SUM,
                 sparse_combiner="sum"):
        """Args:
          feature_columns: columns, as for `tf.feature_column.linear_model`.
          n_classes: how many classes there are.
          weight_column: name of the feature, or numeric column, of the examples' weights.
          label_vocabulary: the names of classes, where labels are strings.
          optimizer: an optimizer, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp", "SGD".
          partitioner: of the variables.
          loss_reduction: of the examples' losses; the sum by default.
          sparse_combiner: as for `linear_model`.
          model_dir, config, warm_start_from: as for `tf.estimator.Estimator`.
        """
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), [
            _Linear(feature_columns, optimizer, partitioner, sparse_combiner)], model_dir, config, warm_start_from)


class LinearRegressor(_Canned):
    """Numbers by a weighted sum of columns."""

    def __init__(self, feature_columns, model_dir=None, label_dimension=1, weight_column=None, optimizer="Ftrl", config=None,
                 partitioner=None, warm_start_from=None, loss_reduction=Reduction.SUM, sparse_combiner="sum"):
        """Args: label_dimension: how many numbers; the others: see `LinearClassifier`."""
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), [
            _Linear(feature_columns, optimizer, partitioner, sparse_combiner)], model_dir, config, warm_start_from)


class DNNClassifier(_Canned):
    """Classes by layers over columns."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
                 optimizer="Adagrad", activation_fn=nn.relu, dropout=None, input_layer_partitioner=None, config=None,
                 warm_start_from=None, loss_reduction=Reduction.SUM, batch_norm=False):
        """Args:
          hidden_units: list of the layers' widths.
          feature_columns: columns, as for `tf.feature_column.input_layer`.
          activation_fn: of the layers but the last.
          dropout: the share of each layer that is dropped in training.
          input_layer_partitioner: of the variables.
          batch_norm: whether layers are normalised.
          The others: see `LinearClassifier`.
        """
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), [
            _Deep(hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm)],
            model_dir, config, warm_start_from)


class DNNRegressor(_Canned):
    """Numbers by layers over columns."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, label_dimension=1, weight_column=None,
                 optimizer="Adagrad", activation_fn=nn.relu, dropout=None, input_layer_partitioner=None, config=None,
                 warm_start_from=None, loss_reduction=Reduction.SUM, batch_norm=False):
        """Args: label_dimension: how many numbers; the others: see `DNNClassifier`."""
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), [
            _Deep(hidden_units, feature_columns, optimizer, activation_fn, dropout, input_layer_partitioner, batch_norm)],
            model_dir, config, warm_start_from)


def _both(linear_columns, linear_optimizer, dnn_columns, dnn_optimizer, hidden_units, activation_fn, rate, partitioner,
          batch_norm, combiner):
    """Returns the parts for which there are columns."""
    if not linear_columns and not dnn_columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    if dnn_columns and not hidden_units:
        raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
    parts = []
    if dnn_columns:
        parts.append(_Deep(hidden_units, dnn_columns, dnn_optimizer, activation_fn, rate, partitioner, batch_norm, 0.001))
    if linear_columns:
        parts.append(_Linear(linear_columns, linear_optimizer, partitioner, combiner, beside=True))
    return parts


class DNNLinearCombinedClassifier(_Canned):
    """Classes by layers over some columns and a weighted sum of others."""

    def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None,
                 dnn_optimizer="Adagrad", dnn_hidden_units=None, dnn_activation_fn=nn.relu, dnn_dropout=None, n_classes=2,
                 weight_column=None, label_vocabulary=None, input_layer_partitioner=None, config=None, warm_start_from=None,
                 loss_reduction=Reduction.SUM, batch_norm=False, linear_sparse_combiner="sum"):
        """Args: see `LinearClassifier` and `DNNClassifier`.

        Raises:
          ValueError: no columns, or no layers though there are columns for them.
        """
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), _both(
            linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn,
            dnn_dropout, input_layer_partitioner, batch_norm, linear_sparse_combiner), model_dir, config, warm_start_from)


class DNNLinearCombinedRegressor(_Canned):
    """Numbers by layers over some columns and a weighted sum of others."""

    def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer="Ftrl", dnn_feature_columns=None,
                 dnn_optimizer="Adagrad", dnn_hidden_units=None, dnn_activation_fn=nn.relu, dnn_dropout=None, label_dimension=1,
                 weight_column=None, input_layer_partitioner=None, config=None, warm_start_from=None,
                 loss_reduction=Reduction.SUM, batch_norm=False, linear_sparse_combiner="sum"):
        """Args: see `LinearClassifier` and `DNNRegressor`.

        Raises:
          ValueError: no columns, or no layers though there are columns for them.
        """
        super().__init__(RegressionHead(label_dimension, weight_column, loss_reduction), _both(
            linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer, dnn_hidden_units, dnn_activation_fn,
            dnn_dropout, input_layer_partitioner, batch_norm, linear_sparse_combiner), model_dir, config, warm_start_from)
