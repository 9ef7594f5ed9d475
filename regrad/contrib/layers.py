"""`tf.contrib.layers`: layers as functions, with their initializers and regularizers.

Variables are called "weights", "biases", "beta", "gamma", "moving_mean", "moving_variance", and are model variables.
Arguments that all have: `reuse` and `scope` (of the variable scope), `outputs_collections` (to which the output is added),
`variables_collections`, `trainable`.
"""

import math as _math
import re

import numpy as np

from regrad.contrib.framework import add_arg_scope, model_variable
from regrad.contrib.gdn import GDN, gdn  # noqa: F401 - public here
from regrad.contrib.layer_utils import collect_named_outputs
from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.lazy import names_of
from regrad.core.shapes import as_int
from regrad.layers.core import smart_cond
from regrad.nn import functions
from regrad.ops import array, conv, math, nn, norm, pool, summary
from regrad.ops.compare import equal
from regrad.ops.control import with_dependencies
from regrad.ops.indexing import one_hot
from regrad.ops.matmul import matmul
from regrad.ops.random import random_uniform, truncated_normal
from regrad.ops.reduce import reduce_max, reduce_mean, reduce_sum
from regrad.train.moving_averages import assign_moving_average
from regrad.variables.initializers import Ones, Zeros
from regrad.variables.scope import get_variable_scope, variable_scope

__getattr__, __dir__ = names_of(__name__, {
    "regrad.contrib.optimize": "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES optimize_loss",
}, modules="utils=regrad.contrib.layer_utils")[:2]

# -- initializers and regularizers ------------------------------------------------------------------------


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=dtypes.float32):
    """Returns an initializer whose variance is factor / n: n by `mode` the inputs, the outputs, or their mean.

    Args:
      mode: "FAN_IN", "FAN_OUT" or "FAN_AVG".
      uniform: draw evenly; else from a normal distribution cut at two deviations.
    """
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")
    if not dtype.is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")

    def initializer(shape, dtype=dtype, partition_info=None):
        shape = [int(n) for n in shape]
        window = _math.prod(shape[:-2])
        fan_in = window * (shape[-2] if len(shape) > 1 else shape[-1] if shape else 1)
        fan_out = window * (shape[-1] if shape else 1)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = _math.sqrt(3.0 * factor / n)
            return random_uniform(shape, -limit, limit, dtype, seed=seed)
        return truncated_normal(shape, 0.0, _math.sqrt(1.3 * factor / n), dtype, seed=seed)

    return initializer


def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
    """Returns the initializer of Glorot and Bengio 2010: variance 2 / (inputs + outputs)."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def _checked_scale(scale):
    if isinstance(scale, int) and not isinstance(scale, bool):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, float) and scale < 0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}")
    return scale


def l1_regularizer(scale, scope=None):
    """Returns the function scale * sum(|weights|); of None for a scale of 0."""
    if _checked_scale(scale) == 0.0:
        return lambda weights: None

    def l1(weights, name=None):
        with get_default_graph().name_scope(scope or "l1_regularizer"):
            return math.multiply(convert_to_tensor(scale, dtype=weights.dtype, name="scale"), reduce_sum(math.abs(weights)),
                                 name=name)

    return l1


def l2_regularizer(scale, scope=None):
    """Returns the function scale * sum(weights^2) / 2; of None for a scale of 0."""
    if _checked_scale(scale) == 0.0:
        return lambda weights: None

    def l2(weights):
        with get_default_graph().name_scope(scope or "l2_regularizer") as name:
            return math.multiply(convert_to_tensor(scale, dtype=weights.dtype, name="scale"), nn.l2_loss(weights), name=name)

    return l2


def sum_regularizer(regularizer_list, scope=None):
    """Returns the sum of several regularizers, or None for none."""
    regularizers = [r for r in regularizer_list if r is not None]
    if not regularizers:
        return None

    def total(weights):
        with get_default_graph().name_scope(scope or "sum_regularizer") as name:
            losses = [loss for loss in (r(weights) for r in regularizers) if loss is not None]
            return math.add_n(losses, name=name) if losses else None

    return total


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """Returns the sum of `l1_regularizer` and `l2_regularizer`."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer")


def apply_regularization(regularizer, weights_list=None):
    """Returns the sum of a regularizer over variables (by default the collection WEIGHTS), as a regularization loss."""
    graph = get_default_graph()
    weights = list(weights_list or graph.get_collection(GraphKeys.WEIGHTS))
    if not weights:
        raise ValueError("No weights to regularize.")
    with graph.name_scope("get_regularization_penalty") as name:
        total = math.add_n([regularizer(w) for w in weights], name=name)
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total


# -- layers -------------------------------------------------------------------------------------------
def _collected(outputs, collections, alias=None):
    """Adds the outputs to collections, called as the scope they are in: a variable scope unless `alias` says another name."""
    return collect_named_outputs(collections, alias or get_variable_scope().name, outputs)


def _of(variables_collections, name):
    if isinstance(variables_collections, dict):
        return variables_collections.get(name)
    return [variables_collections] if isinstance(variables_collections, str) else variables_collections


def _finished(outputs, size, settings):
    """Adds biases or the normalizer, then the activation."""
    normalizer = settings["normalizer_fn"]
    if normalizer is not None:
        outputs = normalizer(outputs, **(settings["normalizer_params"] or {}))
    elif settings["biases_initializer"] is not None:
        biases = model_variable("biases", [size], outputs.dtype, settings["biases_initializer"], settings["biases_regularizer"],
                                settings["trainable"], _of(settings["variables_collections"], "biases"))
        data_format = settings.get("data_format")
        outputs = nn.bias_add(outputs, biases, data_format=data_format if data_format == "NCHW" else None)
    return outputs if settings["activation_fn"] is None else settings["activation_fn"](outputs)


def _weights(shape, dtype, settings):
    return model_variable("weights", shape, dtype, settings["weights_initializer"] or xavier_initializer(),
                          settings["weights_regularizer"], settings["trainable"],
                          _of(settings["variables_collections"], "weights"))


_ZEROS = Zeros()


@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None,
                    weights_initializer=None, weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None,
                    reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Returns activation_fn(inputs @ weights + biases), along the last axis.

    Args:
      weights_initializer: `xavier_initializer()` by default.
      normalizer_fn, normalizer_params: a function used instead of biases, and its arguments.
      biases_initializer: None for no biases.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of [int], got {num_outputs!r}.")
    settings = dict(locals())
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        if not inputs.dims or inputs.dims[-1] is None:
            raise ValueError(f"fully_connected: the size of the last axis must be known, got shape {inputs.shape}.")
        weights = _weights([inputs.dims[-1], num_outputs], inputs.dtype, settings)
        if len(inputs.dims) > 2:
            rows = matmul(array.reshape(inputs, [-1, inputs.dims[-1]]), weights)
            sizes = [array.shape(inputs)[i] if d is None else d for i, d in enumerate(inputs.dims[:-1])]
            outputs = array.reshape(rows, [*sizes, num_outputs])
            outputs.set_shape([*inputs.dims[:-1], num_outputs])
        else:
            outputs = matmul(inputs, weights)
        return _collected(_finished(outputs, num_outputs, settings), outputs_collections)


def _pair(value):
    return [as_int(v, "kernel_size or stride") for v in (value if isinstance(value, (list, tuple)) else (value, value))]


def _channels(data_format):
    if data_format not in (None, "NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    return 1 if data_format == "NCHW" else 3


@add_arg_scope
def conv2d(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1, activation_fn=nn.relu,
           normalizer_fn=None, normalizer_params=None, weights_initializer=None, weights_regularizer=None,
           biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None, outputs_collections=None,
           trainable=True, scope=None):
    """Returns activation_fn(convolution of images with weights + biases).

    Args:
      inputs: [batch, height, width, channels], or channels second with data_format "NCHW".
      num_outputs, kernel_size, stride, rate: output channels, and per axis (an int or two) sizes, steps and dilation.
      padding: "SAME" or "VALID".
      The rest as for `fully_connected`.
    """
    settings = dict(locals())
    with variable_scope(scope, "Conv", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        channels = inputs.dims[_channels(data_format)]
        weights = _weights([*_pair(kernel_size), channels, num_outputs], inputs.dtype, settings)
        outputs = conv.convolution(inputs, weights, padding, strides=_pair(stride), dilation_rate=_pair(rate),
                                   data_format=data_format)
        return _collected(_finished(outputs, num_outputs, settings), outputs_collections)


@add_arg_scope
def conv2d_transpose(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format="NHWC", activation_fn=nn.relu,
                     normalizer_fn=None, normalizer_params=None, weights_initializer=None, weights_regularizer=None,
                     biases_initializer=_ZEROS, biases_regularizer=None, reuse=None, variables_collections=None,
                     outputs_collections=None, trainable=True, scope=None):
    """Returns activation_fn(transposed convolution with weights + biases); see `conv2d`."""
    from regrad.layers.convolutional import Conv2DTranspose

    settings = dict(locals())
    with variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        channels = inputs.dims[_channels(data_format)]
        weights = _weights([*_pair(kernel_size), num_outputs, channels], inputs.dtype, settings)
        layer = Conv2DTranspose(num_outputs, _pair(kernel_size), _pair(stride), padding.lower(), use_bias=False,
                                data_format="channels_first" if data_format == "NCHW" else "channels_last")
        layer.kernel, layer.bias, layer.built = weights, None, True
        return _collected(_finished(layer.call(inputs), num_outputs, settings), outputs_collections)


@add_arg_scope
def separable_conv2d(inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1, padding="SAME", data_format="NHWC",
                     rate=1, activation_fn=nn.relu, normalizer_fn=None, normalizer_params=None, weights_initializer=None,
                     pointwise_initializer=None, weights_regularizer=None, biases_initializer=_ZEROS, biases_regularizer=None,
                     reuse=None, variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Returns activation_fn(each channel convolved on its own, then mixed by a 1 x 1 convolution, + biases).

    Args:
      num_outputs: channels of the result; None: no mixing.
      depth_multiplier: filters per channel.
      pointwise_initializer: of the mixing weights; by default `weights_initializer`.
      The rest as for `conv2d`. Variables are "depthwise_weights", "pointwise_weights" and "biases".
    """
    settings = dict(locals())
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        channels = inputs.dims[_channels(data_format)]

        def made(name, shape, initializer):
            return model_variable(name, shape, inputs.dtype, initializer or xavier_initializer(), weights_regularizer,
                                  trainable, _of(variables_collections, "weights"))

        kernel = made("depthwise_weights", [*_pair(kernel_size), channels, depth_multiplier], weights_initializer)
        strides = [1, *_pair(stride), 1] if data_format == "NHWC" else [1, 1, *_pair(stride)]
        outputs = conv.depthwise_conv2d(inputs, kernel, strides, padding, rate=_pair(rate), data_format=data_format)
        size = channels * depth_multiplier
        if num_outputs is not None:
            mixing = made("pointwise_weights", [1, 1, size, num_outputs], pointwise_initializer or weights_initializer)
            outputs, size = conv.conv2d(outputs, mixing, [1, 1, 1, 1], "VALID", data_format=data_format), num_outputs
        return _collected(_finished(outputs, size, settings), outputs_collections)


def _pooled(function, default, inputs, kernel_size, stride, padding, data_format, collections, scope):
    with get_default_graph().name_scope(scope or default):
        spatial = [1, *_pair(kernel_size), 1], [1, *_pair(stride), 1]
        if _channels(data_format) == 1:
            spatial = tuple([s[0], s[3], s[1], s[2]] for s in spatial)
        outputs = function(inputs, *spatial, padding, data_format=data_format or "NHWC")
        return _collected(outputs, collections, get_default_graph().get_name_scope())


@add_arg_scope
def max_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format=None, outputs_collections=None, scope=None):
    """Returns the largest element of each window of images."""
    return _pooled(pool.max_pool, "MaxPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def avg_pool2d(inputs, kernel_size, stride=2, padding="VALID", data_format=None, outputs_collections=None, scope=None):
    """Returns the mean of each window of images."""
    return _pooled(pool.avg_pool, "AvgPool2D", inputs, kernel_size, stride, padding, data_format, outputs_collections, scope)


@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None, seed=None):
    """Returns the inputs with each element kept with a probability and scaled up, while training."""
    with variable_scope(scope, "Dropout", [inputs]):
        inputs = convert_to_tensor(inputs)
        outputs = smart_cond(is_training, lambda: functions.dropout(inputs, keep_prob, noise_shape, seed=seed),
                             lambda: array.identity(inputs))
        return _collected(outputs, outputs_collections)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """Returns the inputs with all axes but the first joined."""
    from regrad.layers.core import Flatten

    with get_default_graph().name_scope(scope or "Flatten"):
        inputs = convert_to_tensor(inputs)
        if inputs.dims is None or len(inputs.dims) < 2:
            raise ValueError(f"flatten: inputs must have at least 2 axes, got {inputs.shape}.")
        return _collected(Flatten().call(inputs), outputs_collections, get_default_graph().get_name_scope())


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    """Returns labels as vectors that are `on_value` at their class."""
    with get_default_graph().name_scope(scope or "OneHotEncoding"):
        labels = convert_to_tensor(labels)
        labels = math.cast(labels, dtypes.int64) if labels.dtype is dtypes.int32 else labels
        return _collected(one_hot(labels, num_classes, on_value=on_value, off_value=off_value), outputs_collections,
                          get_default_graph().get_name_scope())


@add_arg_scope
def bias_add(inputs, activation_fn=None, initializer=_ZEROS, regularizer=None, reuse=None, variables_collections=None,
             outputs_collections=None, trainable=True, data_format=None, scope=None):
    """Returns activation_fn(inputs + biases)."""
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        size = inputs.dims[1 if data_format == "NCHW" else -1]
        biases = model_variable("biases", [size], inputs.dtype, initializer, regularizer, trainable,
                                _of(variables_collections, "biases"))
        outputs = nn.bias_add(inputs, biases, data_format=data_format)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), outputs_collections)


@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None, param_initializers=None,
               param_regularizers=None, updates_collections=GraphKeys.UPDATE_OPS, is_training=True, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True, batch_weights=None, fused=None,
               data_format="NHWC", zero_debias_moving_mean=False, scope=None, renorm=False, renorm_clipping=None,
               renorm_decay=0.99, adjustment=None):
    """Returns the inputs normalised by the mean and variance of each channel: the batch's, or, not training, moving ones.

    Args:
      decay: of the moving averages.
      center, scale: add "beta"; multiply by "gamma".
      updates_collections: where the updates of the moving averages go; None makes them part of the output.
      is_training: bool, or a bool scalar tensor.
      fused: False does not use the fused operation for matrices and images. It gives the moving variance n - 1 as the divisor.

    Raises:
      NotImplementedError: `batch_weights`, `renorm` or `adjustment`.
    """
    if batch_weights is not None or renorm or adjustment is not None:
        raise NotImplementedError("contrib.layers.batch_norm: batch_weights, renorm and adjustment are not offered; "
                                  "tf.layers.batch_normalization has renorm.")
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse):
        inputs = convert_to_tensor(inputs)
        rank = len(inputs.dims)
        axis = 1 if data_format == "NCHW" and rank > 2 else rank - 1
        size, others = inputs.dims[axis], [i for i in range(rank) if i != axis]
        fused = fused is not False and rank in (2, 4)
        dtype = dtypes.float32 if fused and inputs.dtype is dtypes.float16 else inputs.dtype
        initializers, regularizers = param_initializers or {}, param_regularizers or {}

        def made(name, default, learnt):
            return model_variable(name, [size], dtype, initializers.get(name, default), regularizers.get(name),
                                  trainable and learnt, _of(variables_collections, name))

        beta = made("beta", _ZEROS, True) if center else None
        gamma = made("gamma", Ones(), True) if scale else None
        moving_mean, moving_variance = made("moving_mean", _ZEROS, False), made("moving_variance", Ones(), False)
        if fused:
            images = inputs if rank == 4 else array.reshape(inputs, [-1, 1, 1, size])
            factor = array.ones([size], dtype) if gamma is None else gamma
            offset = array.zeros([size], dtype) if beta is None else beta

            def normalised(training):
                moments = {} if training else {"mean": moving_mean, "variance": moving_variance}
                return lambda: norm.fused_batch_norm(images, factor, offset, epsilon=epsilon, is_training=training,
                                                     data_format=data_format if rank == 4 else "NHWC", **moments)

            outputs, mean, variance = smart_cond(is_training, normalised(True), normalised(False))
            outputs = outputs if rank == 4 else array.reshape(outputs, array.shape(inputs))
        else:
            mean, variance = norm.moments(inputs, others)

        def update():
            new = [assign_moving_average(moving_mean, mean, decay, zero_debias=zero_debias_moving_mean),
                   assign_moving_average(moving_variance, variance, decay, zero_debias=False)]
            return [convert_to_tensor(v) for v in new]

        def leave():
            return [array.identity(moving_mean.read_value()), array.identity(moving_variance.read_value())]

        updates = [] if is_training is False else [u.op for u in smart_cond(is_training, update, leave)]
        if updates_collections is not None:
            for name in [updates_collections] if isinstance(updates_collections, str) else updates_collections:
                for u in updates:
                    get_default_graph().add_to_collection(name, u)
        if not fused:
            mean, variance = smart_cond(is_training, lambda: [array.identity(mean), array.identity(variance)], leave)
            dims = [size if i == axis else 1 for i in range(rank)]
            mean, variance, offset, factor = (v if v is None or axis == rank - 1 else array.reshape(v, dims)
                                              for v in (mean, variance, beta, gamma))
            outputs = norm.batch_normalization(inputs, mean, variance, offset, factor, epsilon)
        if updates_collections is None and updates:
            outputs = with_dependencies(updates, outputs)
        outputs.set_shape(inputs.dims)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), outputs_collections)


def _normalised(kind, inputs, axes, size, axis, epsilon, center, scale, activation_fn, settings):
    with variable_scope(settings["scope"], kind, [inputs], reuse=settings["reuse"]):
        collections, trainable = settings["variables_collections"], settings["trainable"]

        def made(name, initializer):
            return model_variable(name, [size], inputs.dtype, initializer, None, trainable, _of(collections, name))

        beta = made("beta", _ZEROS) if center else None
        gamma = made("gamma", Ones()) if scale else None
        mean, variance = norm.moments(inputs, axes, keep_dims=True)
        dims = [size if i == axis else 1 for i in range(len(inputs.dims))]
        offset, factor = (None if v is None else array.reshape(v, dims) for v in (beta, gamma))
        outputs = norm.batch_normalization(inputs, mean, variance, offset, factor, epsilon)
        outputs.set_shape(inputs.dims)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        return _collected(outputs, settings["outputs_collections"])


@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Returns each example normalised by its own mean and variance (Ba et al. 2016); only the last axis has parameters."""
    settings = dict(locals())
    inputs = convert_to_tensor(inputs)
    rank = len(inputs.dims)
    if begin_params_axis % rank != rank - 1:
        raise NotImplementedError("contrib.layers.layer_norm: only begin_params_axis=-1 is offered.")
    axes = list(range(begin_norm_axis % rank, rank))
    return _normalised("LayerNorm", inputs, axes, inputs.dims[-1], rank - 1, 1e-12, center, scale, activation_fn, settings)


@add_arg_scope
def instance_norm(inputs, center=True, scale=True, epsilon=1e-06, activation_fn=None, param_initializers=None, reuse=None,
                  variables_collections=None, outputs_collections=None, trainable=True, data_format="NHWC", scope=None):
    """Returns each channel of each image normalised by its own mean and variance (Ulyanov et al. 2016)."""
    settings = dict(locals())
    inputs = convert_to_tensor(inputs)
    rank = len(inputs.dims)
    axis = 1 if data_format == "NCHW" else rank - 1
    axes = [i for i in range(1, rank) if i != axis]
    return _normalised("InstanceNorm", inputs, axes, inputs.dims[axis], axis, epsilon, center, scale, activation_fn, settings)


@add_arg_scope
def group_norm(inputs, groups=32, channels_axis=-1, reduction_axes=(-3, -2), center=True, scale=True, epsilon=1e-6,
               activation_fn=None, param_initializers=None, reuse=None, variables_collections=None, outputs_collections=None,
               trainable=True, scope=None, mean_close_to_zero=False):
    """Returns each example normalised by the mean and variance of each of `groups` groups of channels (Wu and He 2018).

    Args:
      inputs: floating tensor of known rank and number of channels.
      channels_axis: the axis of the channels; `reduction_axes`: the others that a group extends over.
      center, scale: add "beta", multiply by "gamma".
      param_initializers: {"beta": ..., "gamma": ...}.
      mean_close_to_zero: accepted; the variance is computed from the mean.

    Raises:
      ValueError: the number of channels is unknown, or no multiple of `groups`; an axis is out of range, or is the channels'.
    """
    inputs = convert_to_tensor(inputs)
    if inputs.dims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    rank = len(inputs.dims)
    axes = [i + rank if i < 0 else i for i in (channels_axis, *reduction_axes)]
    at, reduced = axes[0], sorted(axes[1:])
    if not all(0 <= i < rank for i in axes) or at in reduced:
        raise ValueError(f"group_norm: channels_axis {channels_axis} and reduction_axes {tuple(reduction_axes)} must be "
                         f"different axes of inputs {inputs.shape}.")
    channels = inputs.dims[at]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {inputs.shape}.")
    if groups > channels or channels % groups:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    with variable_scope(scope, "GroupNorm", [inputs], reuse=reuse):
        given = param_initializers or {}

        def made(name, initializer):
            v = model_variable(name, [channels], inputs.dtype, given.get(name, initializer), None, trainable,
                               _of(variables_collections, name))
            return array.reshape(v, [groups if i == at else channels // groups if i == at + 1 else 1 for i in range(rank + 1)])

        beta = made("beta", _ZEROS) if center else None
        gamma = made("gamma", Ones()) if scale else None
        sizes = array.shape(inputs)
        split = array.concat([sizes[:at], [groups, channels // groups], sizes[at + 1:]], 0)
        grouped = array.reshape(inputs, split)
        mean, variance = norm.moments(grouped, [i + (i > at) for i in reduced] + [at + 1], keep_dims=True)
        outputs = array.reshape(norm.batch_normalization(grouped, mean, variance, beta, gamma, epsilon), sizes)
        outputs.set_shape(inputs.dims)
        return _collected(outputs if activation_fn is None else activation_fn(outputs), outputs_collections)


@add_arg_scope
def spatial_softmax(features, temperature=None, name=None, variables_collections=None, trainable=True, data_format="NHWC"):
    """Returns [batch, 2 channels]: where each channel's softmax over the image has its mean, from -1 to 1 (Levine et al. 2016).

    The places come as x and y of the first channel, then of the second ...; x runs along the first spatial axis.

    Args:
      features: floating [batch, height, width, channels], or as `data_format` says; sizes must be known but for the batch.
      temperature: number or tensor that divides the features; None: a variable that starts at 1.
    """
    with variable_scope(name, "spatial_softmax"):
        features = convert_to_tensor(features)
        if data_format == "NHWC":
            features = array.transpose(features, [0, 3, 1, 2])
        elif data_format != "NCHW":
            raise ValueError("data_format has to be either NCHW or NHWC.")
        _, channels, height, width = features.dims
        if temperature is None:
            temperature = model_variable("temperature", (), dtypes.float32, Ones(), trainable=trainable,
                                         collections=_of(variables_collections, "temperature"))
        x, y = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
        attention = nn.softmax(array.reshape(features, [-1, height * width]) / temperature)
        means = [reduce_sum(attention * p.reshape(-1).astype(attention.dtype.as_numpy_dtype), 1, keepdims=True) for p in (x, y)]
        return array.reshape(array.concat(means, 1), [-1, 2 * channels])


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-07, scope=None):
    """Returns the inputs divided by their length along an axis."""
    with get_default_graph().name_scope(scope or "UnitNorm"):
        inputs = convert_to_tensor(inputs)
        return math.divide(inputs, math.sqrt(epsilon + reduce_sum(math.square(inputs), dim, keepdims=True)))


@add_arg_scope
def softmax(logits, scope=None):
    """Returns the softmax along the last axis."""
    return nn.softmax(logits, name=scope or "softmax")


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """Returns a layer applied several times, in the scopes "<scope>/<scope>_1", "<scope>/<scope>_2" ..."""
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        base = scope or getattr(layer, "__name__", "repeat")
        for i in range(repetitions):
            inputs = layer(inputs, *args, scope=f"{base}_{i + 1}", **kwargs)
        return inputs


def stack(inputs, layer, stack_args, **kwargs):
    """Returns a layer applied once for each item of `stack_args` (its positional arguments), in scopes of their own."""
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        base = scope or getattr(layer, "__name__", "stack")
        for i, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *args, scope=f"{base}_{i + 1}", **kwargs)
        return inputs


@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None):
    """Returns the largest of each group of neighbours along an axis, of which `num_units` groups remain.

    Raises:
      ValueError: the size of the axis is no multiple of `num_units`.
    """
    with get_default_graph().name_scope(scope or "MaxOut"):
        inputs = convert_to_tensor(inputs)
        axis = axis % inputs.rank
        if inputs.dims[axis] % num_units:
            raise ValueError(f"number of features({inputs.dims[axis]}) is not a multiple of num_units({num_units})")
        sizes = [array.shape(inputs)[i] if d is None else d for i, d in enumerate(inputs.dims)]
        sizes[axis:axis + 1] = [num_units, inputs.dims[axis] // num_units]
        return reduce_max(array.reshape(inputs, sizes), axis + 1)


def summarize_activation(op):
    """Returns the histogram summary of a layer's output, and adds a summary of how many of a relu's are 0."""
    name = op.op.name
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        summary.scalar(f"{name}/zeros", functions.zero_fraction(op))
    if op.op.type == "Relu6":
        summary.scalar(f"{name}/sixes", reduce_mean(math.cast(equal(op, 6.0), dtypes.float32)))
    return summary.histogram(f"{name}/activation", op)


def summarize_tensor(tensor, tag=None):
    """Returns a scalar summary of a scalar, a histogram of any other tensor, called `tag` or the tensor's name."""
    tensor = convert_to_tensor(tensor)
    tag = tag or tensor.op.name
    return summary.scalar(tag, tensor) if tensor.rank == 0 else summary.histogram(tag, tensor)


def summarize_tensors(tensors, summarizer=summarize_tensor):
    """Returns the summaries of a list of tensors."""
    return [summarizer(t) for t in tensors]


def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
    """Returns the summaries of a collection's tensors whose names match a regular expression."""
    found = get_default_graph().get_collection(collection)
    return summarize_tensors([t for t in found if name_filter is None or re.match(name_filter, t.op.name)], summarizer)


def linear(inputs, num_outputs, **kwargs):
    """Returns `fully_connected` without an activation."""
    return fully_connected(inputs, num_outputs, activation_fn=None, **kwargs)


def relu6(inputs, num_outputs, **kwargs):
    """Returns `fully_connected` with relu6."""
    return fully_connected(inputs, num_outputs, activation_fn=nn.relu6, **kwargs)


def elu(inputs, num_outputs, **kwargs):
    """Returns `fully_connected` with elu."""
    return fully_connected(inputs, num_outputs, activation_fn=nn.elu, **kwargs)


relu = fully_connected
separable_convolution2d = separable_conv2d
convolution2d = convolution = conv2d
convolution2d_transpose = conv2d_transpose


def embed_sequence(ids, vocab_size=None, embed_dim=None, unique=False, initializer=None, regularizer=None, trainable=True,
                   scope=None, reuse=None):
    """Returns the embeddings of ids, [..., embed_dim], looked up in the variable "embeddings" [vocab_size, embed_dim].

    Args:
      unique: accepted.

    Raises:
      ValueError: a new table without `vocab_size` and `embed_dim`.
    """
    from regrad.nn.embedding import embedding_lookup

    if not (reuse or vocab_size and embed_dim):
        raise ValueError(f"Must specify vocab size and embedding dimension when not reusing. Got vocab_size={vocab_size} "
                         f"and embed_dim={embed_dim}")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        table = model_variable("embeddings", shape, initializer=initializer, regularizer=regularizer, trainable=trainable)
        return embedding_lookup(table, ids)
