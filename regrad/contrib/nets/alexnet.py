"""AlexNet in the form for one device: Krizhevsky 2014, arXiv:1404.5997."""

from regrad.contrib.layers import conv2d, max_pool2d
from regrad.contrib.nets import sized
from regrad.contrib.nets.plain import SMALL, network, settings
from regrad.variables.initializers import Constant


def alexnet_v2_arg_scope(weight_decay=0.0005):
    """Returns the arg_scope the network was trained with."""
    return settings(weight_decay, Constant(0.1), "VALID")


def _features(net):
    net = max_pool2d(conv2d(net, 64, 11, 4, padding="VALID", scope="conv1"), 3, 2, scope="pool1")
    net = max_pool2d(conv2d(net, 192, 5, scope="conv2"), 3, 2, scope="pool2")
    for i, size in enumerate((384, 384, 256), 3):
        net = conv2d(net, size, 3, scope=f"conv{i}")
    return max_pool2d(net, 3, 2, scope="pool5")


@sized(224)
def alexnet_v2(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5, spatial_squeeze=True, scope="alexnet_v2"):
    """Returns (logits, end points) of images [batch, 224, 224, channels], or larger ones: it is all convolutions.

    Args:
      is_training: drop out with 1 - `dropout_keep_prob`.
      spatial_squeeze: logits [batch, num_classes]; False keeps their places, which larger images have several of.
    """
    return network(_features, (4096, 4096), 5, SMALL, inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze,
                   scope, "alexnet_v2")

