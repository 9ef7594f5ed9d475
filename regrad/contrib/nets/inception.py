"""Inception networks: Szegedy et al. 2014 (arXiv:1409.4842), Ioffe & Szegedy (1502.03167), Szegedy et al. 2015 (1512.00567).

A network is a table, a line an end point: its name, then its branches, separated by "|", of which each is layers one after
another. A layer is its scope without "Conv2d_" (or with "MaxPool_", "AvgPool_" cut to "Max_", "Avg_"), which ends with the
size of its kernel, and

  =64   its channels         :3x3  the size of the kernel, where the name says another
  /2    its stride           V     padding "VALID", not "SAME"
  ~.09  the standard deviation of its initial weights
  &     in front: takes what the layer before took, and joins its output
"""

import re

from regrad.contrib.framework import arg_scope
from regrad.contrib.layers import (
    avg_pool2d,
    batch_norm,
    conv2d,
    dropout,
    fully_connected,
    l2_regularizer,
    max_pool2d,
    separable_conv2d,
    softmax,
    variance_scaling_initializer,
)
from regrad.contrib.nets import sized
from regrad.core.graph_keys import GraphKeys
from regrad.ops import nn
from regrad.ops.array import concat, squeeze
from regrad.variables.initializers import TruncatedNormal
from regrad.variables.scope import variable_scope

_V1 = """
    Conv2d_1a_7x7   1a_7x7=64/2
    MaxPool_2a_3x3  Max_2a_3x3/2
    Conv2d_2b_1x1   2b_1x1=64
    Conv2d_2c_3x3   2c_3x3=192
    MaxPool_3a_3x3  Max_3a_3x3/2
    Mixed_3b        0a_1x1=64  | 0a_1x1=96  0b_3x3=128 | 0a_1x1=16 0b_3x3=32  | Max_0a_3x3 0b_1x1=32
    Mixed_3c        0a_1x1=128 | 0a_1x1=128 0b_3x3=192 | 0a_1x1=32 0b_3x3=96  | Max_0a_3x3 0b_1x1=64
    MaxPool_4a_3x3  Max_4a_3x3/2
    Mixed_4b        0a_1x1=192 | 0a_1x1=96  0b_3x3=208 | 0a_1x1=16 0b_3x3=48  | Max_0a_3x3 0b_1x1=64
    Mixed_4c        0a_1x1=160 | 0a_1x1=112 0b_3x3=224 | 0a_1x1=24 0b_3x3=64  | Max_0a_3x3 0b_1x1=64
    Mixed_4d        0a_1x1=128 | 0a_1x1=128 0b_3x3=256 | 0a_1x1=24 0b_3x3=64  | Max_0a_3x3 0b_1x1=64
    Mixed_4e        0a_1x1=112 | 0a_1x1=144 0b_3x3=288 | 0a_1x1=32 0b_3x3=64  | Max_0a_3x3 0b_1x1=64
    Mixed_4f        0a_1x1=256 | 0a_1x1=160 0b_3x3=320 | 0a_1x1=32 0b_3x3=128 | Max_0a_3x3 0b_1x1=128
    MaxPool_5a_2x2  Max_5a_2x2/2
    Mixed_5b        0a_1x1=256 | 0a_1x1=160 0b_3x3=320 | 0a_1x1=32 0a_3x3=128 | Max_0a_3x3 0b_1x1=128
    Mixed_5c        0a_1x1=384 | 0a_1x1=192 0b_3x3=384 | 0a_1x1=48 0b_3x3=128 | Max_0a_3x3 0b_1x1=128"""

_V2 = """
    Conv2d_1a_7x7   Separable_1a_7x7=64/2~1
    MaxPool_2a_3x3  Max_2a_3x3/2
    Conv2d_2b_1x1   2b_1x1=64~.1
    Conv2d_2c_3x3   2c_3x3=192
    MaxPool_3a_3x3  Max_3a_3x3/2
    Mixed_3b  0a_1x1=64  | 0a_1x1=64~.09  0b_3x3=64  | 0a_1x1=64~.09  0b_3x3=96  0c_3x3=96  | Avg_0a_3x3 0b_1x1=32~.1
    Mixed_3c  0a_1x1=64  | 0a_1x1=64~.09  0b_3x3=96  | 0a_1x1=64~.09  0b_3x3=96  0c_3x3=96  | Avg_0a_3x3 0b_1x1=64~.1
    Mixed_4a  0a_1x1=128~.09 1a_3x3=160/2 | 0a_1x1=64~.09  0b_3x3=96  1a_3x3=96/2  | Max_1a_3x3/2
    Mixed_4b  0a_1x1=224 | 0a_1x1=64~.09  0b_3x3=96  | 0a_1x1=96~.09  0b_3x3=128 0c_3x3=128 | Avg_0a_3x3 0b_1x1=128~.1
    Mixed_4c  0a_1x1=192 | 0a_1x1=96~.09  0b_3x3=128 | 0a_1x1=96~.09  0b_3x3=128 0c_3x3=128 | Avg_0a_3x3 0b_1x1=128~.1
    Mixed_4d  0a_1x1=160 | 0a_1x1=128~.09 0b_3x3=160 | 0a_1x1=128~.09 0b_3x3=160 0c_3x3=160 | Avg_0a_3x3 0b_1x1=96~.1
    Mixed_4e  0a_1x1=96  | 0a_1x1=128~.09 0b_3x3=192 | 0a_1x1=160~.09 0b_3x3=192 0c_3x3=192 | Avg_0a_3x3 0b_1x1=96~.1
    Mixed_5a  0a_1x1=128~.09 1a_3x3=192/2 | 0a_1x1=192~.09 0b_3x3=256 1a_3x3=256/2 | Max_1a_3x3/2
    Mixed_5b  0a_1x1=352 | 0a_1x1=192~.09 0b_3x3=320 | 0a_1x1=160~.09 0b_3x3=224 0c_3x3=224 | Avg_0a_3x3 0b_1x1=128~.1
    Mixed_5c  0a_1x1=352 | 0a_1x1=192~.09 0b_3x3=320 | 0a_1x1=192~.09 0b_3x3=224 0c_3x3=224 | Max_0a_3x3 0b_1x1=128~.1"""


def _tall(name, n):
    """Returns the line of an end point whose kernels of 7 x 7 are split in two, with `n` channels inside."""
    return (f"{name}  0a_1x1=192 | 0a_1x1={n} 0b_1x7={n} 0c_7x1=192 | 0a_1x1={n} 0b_7x1={n} 0c_1x7={n} 0d_7x1={n} 0e_1x7=192"
            " | Avg_0a_3x3 0b_1x1=192")


def _wide(name, second):
    """Returns the line of an end point whose kernels of 3 x 3 are split side by side; `second` begins the name of one half."""
    return (f"{name}  0a_1x1=320 | 0a_1x1=384 0b_1x3=384 &{second}_3x1=384 | 0a_1x1=448 0b_3x3=384 0c_1x3=384 &0d_3x1=384"
            " | Avg_0a_3x3 0b_1x1=192")


_V3 = f"""
    Conv2d_1a_3x3   1a_3x3=32/2V
    Conv2d_2a_3x3   2a_3x3=32V
    Conv2d_2b_3x3   2b_3x3=64
    MaxPool_3a_3x3  Max_3a_3x3/2V
    Conv2d_3b_1x1   3b_1x1=80V
    Conv2d_4a_3x3   4a_3x3=192V
    MaxPool_5a_3x3  Max_5a_3x3/2V
    Mixed_5b  0a_1x1=64 | 0a_1x1=48 0b_5x5=64        | 0a_1x1=64 0b_3x3=96 0c_3x3=96 | Avg_0a_3x3 0b_1x1=32
    Mixed_5c  0a_1x1=64 | 0b_1x1=48 Conv_1_0c_5x5=64 | 0a_1x1=64 0b_3x3=96 0c_3x3=96 | Avg_0a_3x3 0b_1x1=64
    Mixed_5d  0a_1x1=64 | 0a_1x1=48 0b_5x5=64        | 0a_1x1=64 0b_3x3=96 0c_3x3=96 | Avg_0a_3x3 0b_1x1=64
    Mixed_6a  1a_1x1=384:3x3/2V | 0a_1x1=64 0b_3x3=96 1a_1x1=96:3x3/2V | Max_1a_3x3/2V
    {_tall("Mixed_6b", 128)}
    {_tall("Mixed_6c", 160)}
    {_tall("Mixed_6d", 160)}
    {_tall("Mixed_6e", 192)}
    Mixed_7a  0a_1x1=192 1a_3x3=320/2V | 0a_1x1=192 0b_1x7=192 0c_7x1=192 1a_3x3=192/2V | Max_1a_3x3/2V
    {_wide("Mixed_7b", "0b")}
    {_wide("Mixed_7c", "0c")}"""

_LAYER = re.compile(r"(?P<same>&?)(?P<kind>Max|Avg|Separable)?_?(?P<name>\w+?_(?P<h>\d)x(?P<w>\d))(=(?P<size>\d+))?"
                    r"(:(?P<kh>\d)x(?P<kw>\d))?(/(?P<stride>\d))?(?P<valid>V?)(~(?P<spread>[.\d]+))?")


def _layer(net, words, depth):
    """Returns the output of one layer of a table."""
    kernel = [int(words["kh"] or words["h"]), int(words["kw"] or words["w"])]
    settings = {"stride": int(words["stride"] or 1), "padding": "VALID" if words["valid"] else "SAME"}
    if words["kind"] in ("Max", "Avg"):
        return {"Max": max_pool2d, "Avg": avg_pool2d}[words["kind"]](net, kernel, scope=f"{words['kind']}Pool_{words['name']}",
                                                                     **settings)
    if words["spread"]:
        settings["weights_initializer"] = TruncatedNormal(0.0, float(words["spread"]))
    name = words["name"] if words["name"].startswith("Conv") else f"Conv2d_{words['name']}"
    size = depth(int(words["size"]))
    if words["kind"] == "Separable":
        return separable_conv2d(net, size, kernel, depth_multiplier=min(size // 3, 8), scope=name, **settings)
    return conv2d(net, size, kernel, scope=name, **settings)


def _branch(net, text, depth):
    """Returns the output of layers one after another."""
    before = net
    for token in text.split():
        words = _LAYER.fullmatch(token).groupdict()
        if words["same"]:
            net = concat([net, _layer(before, words, depth)], 3)
        else:
            before, net = net, _layer(net, words, depth)
    return net


def _base(table, default, inputs, final_endpoint, min_depth, depth_multiplier, scope):
    """Returns (the tensor of the end point, {name: tensor} of all up to it)."""
    def depth(size):
        return max(int(size * depth_multiplier), min_depth)

    lines = [line.split(None, 1) for line in table.strip().splitlines()]
    if final_endpoint not in dict(lines):
        raise ValueError(f"Unknown final endpoint {final_endpoint}; there are {', '.join(name for name, _ in lines)}.")
    net, end_points = inputs, {}
    with variable_scope(scope, default, [inputs]):
        for name, text in lines:
            branches = text.split("|")
            if len(branches) == 1:
                net = _branch(net, text, depth)
            else:
                with variable_scope(name):
                    outputs = []
                    for i, branch in enumerate(branches):
                        with variable_scope(f"Branch_{i}"):
                            outputs.append(_branch(net, branch, depth))
                    net = concat(outputs, 3)
            end_points[name] = net
            if name == final_endpoint:
                break
    return net, end_points


def _checked(depth_multiplier):
    if depth_multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero: {depth_multiplier}.")


def inception_v1_base(inputs, final_endpoint="Mixed_5c", scope="InceptionV1"):
    """Returns (features, {name: tensor}) of images, up to an end point.

    Raises:
      ValueError: there is no such end point.
    """
    with arg_scope([conv2d, fully_connected], weights_initializer=TruncatedNormal(0.0, 0.01)):
        return _base(_V1, "InceptionV1", inputs, final_endpoint, 0, 1, scope)


def inception_v2_base(inputs, final_endpoint="Mixed_5c", min_depth=16, depth_multiplier=1.0, scope=None):
    """Returns (features, {name: tensor}) of images, up to an end point.

    Args:
      min_depth, depth_multiplier: every number of channels is multiplied, and at least so large.

    Raises:
      ValueError: there is no such end point, or the multiplier is not positive.
    """
    _checked(depth_multiplier)
    return _base(_V2, "InceptionV2", inputs, final_endpoint, min_depth, depth_multiplier, scope)


def inception_v3_base(inputs, final_endpoint="Mixed_7c", min_depth=16, depth_multiplier=1.0, scope=None):
    """Returns (features, {name: tensor}) of images, up to an end point; the arguments are those of `inception_v2_base`."""
    _checked(depth_multiplier)
    return _base(_V3, "InceptionV3", inputs, final_endpoint, min_depth, depth_multiplier, scope)


def _fitting(net, kernel):
    """Returns a kernel size, cut to the images where their size is known."""
    return [kernel if d is None else min(d, kernel) for d in net.dims[1:3]]


def _classified(net, num_classes, layer, spatial_squeeze, **settings):
    """Returns logits: a 1 x 1 convolution, its spatial axes taken away."""
    logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=layer, **settings)
    return squeeze(logits, [1, 2], name="SpatialSqueeze") if spatial_squeeze else logits


@sized(224)
def inception_v1(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8, prediction_fn=softmax, spatial_squeeze=True,
                 reuse=None, scope="InceptionV1"):
    """Returns (logits, {name: tensor}) of images [batch, 224, 224, channels]; see `inception_v3`."""
    with variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as found, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v1_base(inputs, scope=found)
        with variable_scope("Logits"):
            net = avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = end_points["Logits"] = _classified(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


@sized(224)
def inception_v2(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8, min_depth=16, depth_multiplier=1.0,
                 prediction_fn=softmax, spatial_squeeze=True, reuse=None, scope="InceptionV2"):
    """Returns (logits, {name: tensor}) of images [batch, 224, 224, channels]; see `inception_v3`."""
    with variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as found, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v2_base(inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=found)
        logits = end_points["Logits"] = _top(net, 7, num_classes, dropout_keep_prob, spatial_squeeze, {})
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def _top(net, kernel, num_classes, keep_prob, spatial_squeeze, end_points):
    """Returns the logits of features, which are averaged first."""
    with variable_scope("Logits"):
        height, width = _fitting(net, kernel)
        net = avg_pool2d(net, [height, width], padding="VALID", scope=f"AvgPool_1a_{height}x{width}")
        net = end_points["PreLogits"] = dropout(net, keep_prob, scope="Dropout_1b")
        return _classified(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)


def _auxiliary(net, num_classes, depth_multiplier, min_depth, spatial_squeeze):
    """Returns the logits of a second classifier, on features in the middle of the network."""
    def depth(size):
        return max(int(size * depth_multiplier), min_depth)

    with variable_scope("AuxLogits"):
        net = avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        height, width = _fitting(net, 5)
        net = conv2d(net, depth(768), [height, width], padding="VALID", weights_initializer=TruncatedNormal(0.0, 0.01),
                     scope=f"Conv2d_2a_{height}x{width}")
        return _classified(net, num_classes, "Conv2d_2b_1x1", spatial_squeeze, weights_initializer=TruncatedNormal(0.0, 0.001))


@sized(299)
def inception_v3(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8, min_depth=16, depth_multiplier=1.0,
                 prediction_fn=softmax, spatial_squeeze=True, reuse=None, create_aux_logits=True, scope="InceptionV3"):
    """Returns (logits, {name: tensor}) of images [batch, 299, 299, channels].

    Args:
      num_classes: how many logits.
      is_training: batch normalisation uses the batch's moments; drop out with 1 - `dropout_keep_prob`.
      min_depth, depth_multiplier: every number of channels is multiplied, and at least so large.
      prediction_fn: function of the logits and `scope=` that gives the end point "Predictions".
      spatial_squeeze: logits [batch, num_classes]; False keeps their places, of which larger images have several.
      reuse, scope: of the variables.
      create_aux_logits: make the end point "AuxLogits", whose loss helps training.

    Raises:
      ValueError: the multiplier is not positive.
    """
    with variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as found, \
            arg_scope([batch_norm, dropout], is_training=is_training):
        net, end_points = inception_v3_base(inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=found)
        if create_aux_logits and num_classes:
            end_points["AuxLogits"] = _auxiliary(end_points["Mixed_6e"], num_classes, depth_multiplier, min_depth,
                                                 spatial_squeeze)
        logits = end_points["Logits"] = _top(net, 8, num_classes, dropout_keep_prob, spatial_squeeze, end_points)
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points



def _settings(weight_decay, collection, normalizer=batch_norm, **moments):
    """Returns an arg_scope of convolutions that are normalised; `collection` gets the variables of the moving moments."""
    names = {"beta": None, "gamma": None, "moving_mean": [collection], "moving_variance": [collection]}
    params = {"decay": 0.9997, "epsilon": 0.001, "updates_collections": GraphKeys.UPDATE_OPS, "variables_collections": names,
              **moments}
    with arg_scope([conv2d, fully_connected], weights_regularizer=l2_regularizer(weight_decay)), \
            arg_scope([conv2d], weights_initializer=variance_scaling_initializer(), activation_fn=nn.relu,
                      normalizer_fn=normalizer, normalizer_params=params if normalizer else {}) as scope:
        return scope


def inception_v1_arg_scope(weight_decay=0.00004, use_batch_norm=True, batch_norm_var_collection="moving_vars"):
    """Returns the arg_scope the network was trained with; see `inception_v3_arg_scope`."""
    return _settings(weight_decay, batch_norm_var_collection, batch_norm if use_batch_norm else None)


def inception_v2_arg_scope(weight_decay=0.00004, batch_norm_var_collection="moving_vars"):
    """Returns the arg_scope the network was trained with; see `inception_v3_arg_scope`."""
    return _settings(weight_decay, batch_norm_var_collection)


def inception_v3_arg_scope(weight_decay=0.00004, batch_norm_var_collection="moving_vars", batch_norm_decay=0.9997,
                           batch_norm_epsilon=0.001, updates_collections=GraphKeys.UPDATE_OPS, use_fused_batchnorm=True):
    """Returns the arg_scope the network was trained with.

    Args:
      weight_decay: scale of the weights' L2 loss.
      batch_norm_var_collection: collection of the moving moments.
      batch_norm_decay, batch_norm_epsilon, updates_collections, use_fused_batchnorm: of batch normalisation.
    """
    return _settings(weight_decay, batch_norm_var_collection, decay=batch_norm_decay, epsilon=batch_norm_epsilon,
                     updates_collections=updates_collections, fused=use_fused_batchnorm)
