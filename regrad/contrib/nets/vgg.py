"""VGG networks with 11, 16 and 19 layers: Simonyan & Zisserman 2014, arXiv:1409.1556."""

from regrad.contrib.layers import conv2d, max_pool2d, repeat
from regrad.contrib.nets.plain import network, settings
from regrad.variables.initializers import Zeros


def vgg_arg_scope(weight_decay=0.0005):
    """Returns the arg_scope the networks were trained with."""
    return settings(weight_decay, Zeros())


def _vgg(name, repetitions):
    """Makes the network of that name: five groups of 3 x 3 convolutions, with a pool after each."""

    def features(net):
        for group, (times, size) in enumerate(zip(repetitions, (64, 128, 256, 512, 512)), 1):
            net = repeat(net, times, conv2d, size, [3, 3], scope=f"conv{group}")
            net = max_pool2d(net, [2, 2], scope=f"pool{group}")
        return net

    def vgg(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5, spatial_squeeze=True, scope=name):
        """Returns (logits, end points) of images [batch, 224, 224, channels], or larger ones: it is all convolutions.

        Args:
          is_training: drop out with 1 - `dropout_keep_prob`.
          spatial_squeeze: logits [batch, num_classes]; False keeps their places, which larger images have several of.
        """
        return network(features, (4096, 4096), 7, {}, inputs, num_classes, is_training, dropout_keep_prob, spatial_squeeze,
                       scope, name)

    vgg.__name__ = vgg.__qualname__ = name
    vgg.default_image_size = 224
    return vgg


vgg_a = _vgg("vgg_a", (1, 1, 2, 2, 2))
vgg_16 = vgg_d = _vgg("vgg_16", (2, 2, 3, 3, 3))
vgg_19 = vgg_e = _vgg("vgg_19", (2, 2, 4, 4, 4))
