"""What both versions of the residual networks are made of: He et al. 2015, arXiv:1512.03385."""

import collections

from regrad.contrib.framework import add_arg_scope, arg_scope
from regrad.contrib.layer_utils import collect_named_outputs, convert_collection_to_dict
from regrad.contrib.layers import batch_norm, conv2d, l2_regularizer, max_pool2d, softmax, variance_scaling_initializer
from regrad.core.graph_keys import GraphKeys
from regrad.ops import nn
from regrad.ops.layout import pad
from regrad.ops.reduce import reduce_mean
from regrad.variables.scope import variable_scope


class Block(collections.namedtuple("Block", "scope unit_fn args")):
    """Units in a row: the name of their scope, the function of a unit, and the keyword arguments of each."""


def subsample(inputs, factor, scope=None):
    """Returns every `factor`-th pixel of images."""
    return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """Returns a convolution whose steps begin at the same pixel for every image size, unlike those of padding "SAME"."""
    if stride == 1:
        return conv2d(inputs, num_outputs, kernel_size, rate=rate, padding="SAME", scope=scope)
    total = (kernel_size - 1) * rate
    before = total // 2
    inputs = pad(inputs, [[0, 0], [before, total - before], [before, total - before], [0, 0]])
    return conv2d(inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
    """Returns the output of Blocks in a row.

    Args:
      blocks: a list of Blocks.
      output_stride: how much smaller than `net` the output may be: where the strides have come to it, further ones
        become distances between the elements of the kernels (Chen et al. 2016, arXiv:1606.00915). None for no limit.

    Raises:
      ValueError: the strides do not come to `output_stride`.
    """
    stride = rate = 1
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as scope:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise _unreached(output_stride, stride)
                with variable_scope(f"unit_{number}", values=[net]):
                    step = unit.get("stride", 1)
                    if stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= step
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= step
            net = collect_named_outputs(outputs_collections, scope.name, net)
    if output_stride is not None and stride != output_stride:
        raise _unreached(output_stride, stride)
    return net


def _unreached(wanted, stride):
    return ValueError(f"The target output_stride cannot be reached: it is {wanted}, and the stride {stride}.")


def resnet_arg_scope(weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True):
    """Returns the arg_scope the networks were trained with."""
    moments = {"decay": batch_norm_decay, "epsilon": batch_norm_epsilon, "scale": batch_norm_scale,
               "updates_collections": GraphKeys.UPDATE_OPS}
    with arg_scope([conv2d], weights_regularizer=l2_regularizer(weight_decay), activation_fn=nn.relu,
                   weights_initializer=variance_scaling_initializer(), normalizer_fn=batch_norm, normalizer_params=moments), \
            arg_scope([batch_norm], **moments), arg_scope([max_pool2d], padding="SAME") as scope:
        return scope


def network(inputs, blocks, bottleneck, root, top, num_classes, is_training, global_pool, output_stride, include_root_block,
            reuse, scope, default):
    """Returns (logits, or features where `num_classes` is None; end points).

    Args:
      bottleneck: the function of the units, whose outputs are end points.
      root: settings of the first convolution.
      top: function of the last block's output.
      default: name of the scope where `scope` is None.
    """
    with variable_scope(scope, default, [inputs], reuse=reuse) as found:
        collection = f"{found.original_name_scope}_end_points"
        with arg_scope([conv2d, bottleneck, stack_blocks_dense], outputs_collections=collection), \
                arg_scope([batch_norm], is_training=is_training):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4:
                        raise ValueError(f"The output_stride needs to be a multiple of 4, got {output_stride}.")
                    output_stride //= 4
                with arg_scope([conv2d], **root):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = top(stack_blocks_dense(net, blocks, output_stride))
            if global_pool:
                net = reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(collection)
            if num_classes is not None:
                end_points["predictions"] = softmax(net, scope="predictions")
            return net, end_points


def made_of(bottleneck, network_of, version):
    """Returns the function of a block, and {layers: network} of the networks with 50, 101, 152 and 200 layers."""

    def block(scope, base_depth, num_units, stride):
        unit = {"depth": 4 * base_depth, "depth_bottleneck": base_depth}
        return Block(scope, bottleneck, [{**unit, "stride": 1}] * (num_units - 1) + [{**unit, "stride": stride}])

    def deep(layers, units):
        name = f"resnet_{version}_{layers}"

        def resnet(inputs, num_classes=None, is_training=True, global_pool=True, output_stride=None, reuse=None, scope=name):
            blocks = [block(f"block{i + 1}", 64 << i, n, 1 if i == 3 else 2) for i, n in enumerate(units)]
            return network_of(inputs, blocks, num_classes, is_training, global_pool, output_stride, include_root_block=True,
                              reuse=reuse, scope=scope)

        resnet.__name__ = resnet.__qualname__ = name
        resnet.__doc__ = f"Returns (logits or features, end points) of images: `resnet_{version}` with {layers} layers."
        resnet.default_image_size = 224
        return resnet

    block.__name__ = f"resnet_{version}_block"
    block.__doc__ = "Returns a Block of `num_units` bottlenecks with 4 * `base_depth` channels, the last of the given stride."
    units = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}
    return block, {layers: deep(layers, n) for layers, n in units.items()}
