"""Residual networks: He et al. 2015, arXiv:1512.03385."""

from regrad.contrib.framework import add_arg_scope
from regrad.contrib.layer_utils import collect_named_outputs, last_dimension
from regrad.contrib.layers import conv2d
from regrad.contrib.nets import resnet_utils, sized
from regrad.contrib.nets.resnet_utils import resnet_arg_scope  # noqa: F401 - part of this namespace
from regrad.ops import nn
from regrad.variables.scope import variable_scope


@add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None):
    """Returns a unit's output: relu(inputs + three convolutions, the middle one of fewer channels).

    Args:
      depth, depth_bottleneck: channels of the output and of the middle.
      stride, rate: of the middle convolution.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as found:
        if last_dimension(inputs.shape, min_rank=4) == depth:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        residual = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        return collect_named_outputs(outputs_collections, found.name, nn.relu(shortcut + residual))


@sized(224)
def resnet_v1(inputs, blocks, num_classes=None, is_training=True, global_pool=True, output_stride=None, include_root_block=True,
              reuse=None, scope=None):
    """Returns (logits, end points) of images, or (features, end points) where `num_classes` is None.

    Args:
      blocks: list of `resnet_v1_block`s.
      is_training: batch normalisation uses and updates the moments of the batch.
      global_pool: average over all places before the logits.
      output_stride: how much smaller than the images the last block's output may be, None for no limit.
      include_root_block: the first convolution and pool.
      reuse, scope: of the variables.

    Raises:
      ValueError: `output_stride` cannot be reached.
    """
    return resnet_utils.network(inputs, blocks, bottleneck, {}, lambda net: net, num_classes, is_training, global_pool,
                                output_stride, include_root_block, reuse, scope, "resnet_v1")

resnet_v1_block, _deep = resnet_utils.made_of(bottleneck, resnet_v1, "v1")
resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200 = _deep.values()
