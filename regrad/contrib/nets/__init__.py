"""`slim.nets`: networks that won competitions, with the names of variables and end points that their checkpoints have.

Each network is a function of images [batch, height, width, channels] that returns (logits, {name: tensor}); its `..._arg_scope`
gives the settings it was trained with:

    with slim.arg_scope(vgg.vgg_arg_scope()):
        logits, end_points = vgg.vgg_16(images, is_training=False)
"""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__, {}, modules="alexnet inception overfeat resnet_utils resnet_v1 resnet_v2 vgg")


def sized(size):
    """Returns a decorator that notes the height and width of the images a network was trained on."""

    def decorate(network):
        network.default_image_size = size
        return network

    return decorate
