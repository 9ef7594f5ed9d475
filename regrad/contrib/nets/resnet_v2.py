"""Residual networks whose units normalise their inputs: He et al. 2016, arXiv:1603.05027."""

from regrad.contrib.framework import add_arg_scope
from regrad.contrib.layer_utils import collect_named_outputs, last_dimension
from regrad.contrib.layers import batch_norm, conv2d
from regrad.contrib.nets import resnet_utils, sized
from regrad.contrib.nets.resnet_utils import resnet_arg_scope  # noqa: F401 - part of this namespace
from regrad.ops import nn
from regrad.variables.scope import variable_scope


@add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None):
    """Returns a unit's output: inputs + three convolutions of their normalised relu, the middle one of fewer channels.

    Args:
      depth, depth_bottleneck: channels of the output and of the middle.
      stride, rate: of the middle convolution.
    """
    plain = {"normalizer_fn": None, "activation_fn": None}
    with variable_scope(scope, "bottleneck_v2", [inputs]) as found:
        active = batch_norm(inputs, activation_fn=nn.relu, scope="preact")
        if last_dimension(inputs.shape, min_rank=4) == depth:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(active, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        residual = conv2d(active, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return collect_named_outputs(outputs_collections, found.name, shortcut + residual)


@sized(224)
def resnet_v2(inputs, blocks, num_classes=None, is_training=True, global_pool=True, output_stride=None, include_root_block=True,
              reuse=None, scope=None):
    """Returns (logits, end points) of images, or (features, end points); the arguments are those of `resnet_v1`."""
    return resnet_utils.network(inputs, blocks, bottleneck, {"normalizer_fn": None, "activation_fn": None},
                                lambda net: batch_norm(net, activation_fn=nn.relu, scope="postnorm"), num_classes, is_training,
                                global_pool, output_stride, include_root_block, reuse, scope, "resnet_v2")

resnet_v2_block, _deep = resnet_utils.made_of(bottleneck, resnet_v2, "v2")
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = _deep.values()
