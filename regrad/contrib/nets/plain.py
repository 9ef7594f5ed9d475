"""What VGG, AlexNet and OverFeat have in common: convolutions and pools in a row, and a classifier of convolutions."""

from regrad.contrib.framework import arg_scope
from regrad.contrib.layer_utils import convert_collection_to_dict
from regrad.contrib.layers import conv2d, dropout, fully_connected, l2_regularizer, max_pool2d
from regrad.ops import nn
from regrad.ops.array import squeeze
from regrad.variables.initializers import Constant, TruncatedNormal, Zeros
from regrad.variables.scope import variable_scope


def settings(weight_decay, biases, pool_padding=None):
    """Returns the arg_scope of such a network.

    Args:
      weight_decay: scale of the weights' L2 loss.
      biases: initializer.
      pool_padding: of pools; None leaves it as it is.
    """
    with arg_scope([conv2d, fully_connected], activation_fn=nn.relu, biases_initializer=biases,
                   weights_regularizer=l2_regularizer(weight_decay)), arg_scope([conv2d], padding="SAME") as scope:
        if pool_padding is None:
            return scope
        with arg_scope([max_pool2d], padding=pool_padding) as scope:
            return scope


SMALL = {"weights_initializer": TruncatedNormal(0.0, 0.005), "biases_initializer": Constant(0.1)}


def network(features, hidden, kernel, classifier, inputs, num_classes, is_training, keep_prob, spatial_squeeze, scope, default):
    """Returns (logits, end points).

    Args:
      features: function of the images that gives their features.
      hidden: sizes of the layers "fc6" and "fc7", of which the first covers `kernel` and no padding.
      classifier: settings of the layers "fc6" to "fc8".
      spatial_squeeze: take the two spatial axes, of size 1, away.
      default: name of the scope where `scope` is None.
    """
    with variable_scope(scope, default, [inputs]) as found:
        collection = f"{found.original_name_scope}_end_points"
        with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=collection):
            net = features(inputs)
            with arg_scope([conv2d], **classifier):
                net = conv2d(net, hidden[0], kernel, padding="VALID", scope="fc6")
                net = dropout(net, keep_prob, is_training=is_training, scope="dropout6")
                net = conv2d(net, hidden[1], 1, scope="fc7")
                net = dropout(net, keep_prob, is_training=is_training, scope="dropout7")
                biases = {"biases_initializer": Zeros()} if classifier else {}
                net = conv2d(net, num_classes, 1, activation_fn=None, normalizer_fn=None, scope="fc8", **biases)
        end_points = convert_collection_to_dict(collection)
        if spatial_squeeze:
            net = end_points[f"{found.name}/fc8"] = squeeze(net, [1, 2], name="fc8/squeezed")
        return net, end_points
