"""OverFeat: Sermanet et al. 2014, arXiv:1312.6229."""

from regrad.contrib.layers import conv2d, max_pool2d
from regrad.contrib.nets import sized
from regrad.contrib.nets.plain import SMALL, network, settings
from regrad.variables.initializers import Zeros


def overfeat_arg_scope(weight_decay=0.0005):
    """Returns the arg_scope the network was trained with."""
    return settings(weight_decay, Zeros(), "VALID")


def _features(net):
    net = max_pool2d(conv2d(net, 64, 11, 4, padding="VALID", scope="conv1"), 2, scope="pool1")
    net = max_pool2d(conv2d(net, 256, 5, padding="VALID", scope="conv2"), 2, scope="pool2")
    for i, size in enumerate((512, 1024, 1024), 3):
        net = conv2d(net, size, 3, scope=f"conv{i}")
    return max_pool2d(net, 2, scope="pool5")


@sized(231)
def overfeat(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5, spatial_squeeze=True, scope="overfeat"):
    """Returns (logits, end points) of images [batch, 231, 231, channels], or larger ones: it is all convolutions.

    Args:
      is_training: drop out with 1 - `dropout_keep_prob`.
      spatial_squeeze: logits [batch, num_classes]; False keeps their places, which larger images have several of.
    """
    return network(_features, (3072, 4096), 6, SMALL, inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze,
                   scope, "overfeat")

