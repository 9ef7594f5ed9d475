"""VGG16 as three systems write it, for the workloads that train it and look into it."""

import numpy as np

from shared import weights

CONVS = (2, 2, 3, 3, 3)
CHANNELS = (64, 128, 256, 512, 512)


def arrays(image, dense, classes):
    """Returns the weights: thirteen 3 x 3 convolutions, then dense layers, each followed by its bias."""
    shapes, last = [], 3
    for count, channels in zip(CONVS, CHANNELS, strict=True):
        for _ in range(count):
            shapes += [(3, 3, last, channels), (channels,)]
            last = channels
    last *= (image // 32) ** 2
    for width in (*dense, classes):
        shapes += [(last, width), (width,)]
        last = width
    return weights(*shapes)


def torch_layout(values):
    """Returns the weights in PyTorch's layouts; the first dense layer takes channels first."""
    convs = [np.ascontiguousarray(w.transpose(3, 2, 0, 1)) if w.ndim == 4 else w for w in values[:26]]
    first = values[26]
    side = int(np.sqrt(first.shape[0] // 512))
    first = first.reshape(side, side, 512, -1).transpose(2, 0, 1, 3).reshape(first.shape)
    return [*convs, np.ascontiguousarray(first), *values[27:]]


def _stack(x, w, conv, pool, dense, flat, relu):
    """Applies VGG16 to `x`, given the system's own functions for each kind of layer."""
    w = iter(w)
    for count in CONVS:
        for _ in range(count):
            x = relu(conv(x, next(w), next(w)))
        x = pool(x)
    x = flat(x)
    rest = list(w)
    for i in range(0, len(rest), 2):
        x = dense(x, rest[i], rest[i + 1])
        if i + 2 < len(rest):
            x = relu(x)
    return x


def tf1_logits(tf, images, w):
    """Returns the logits of a batch of images, channels last."""
    return _stack(
        images, w, relu=tf.nn.relu,
        conv=lambda x, k, b: tf.nn.bias_add(tf.nn.conv2d(x, k, strides=[1, 1, 1, 1], padding="SAME"), b),
        pool=lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], padding="SAME"),
        flat=lambda x: tf.reshape(x, [-1, int(np.prod(x.shape.as_list()[1:]))]),
        dense=lambda x, k, b: tf.nn.bias_add(tf.matmul(x, k), b))


def torch_logits(torch, images, w, relu=None):
    """Returns the logits of a batch of images, indexed as [image, channel, y, x] in any memory order."""
    functional = torch.nn.functional
    return _stack(
        images, w, relu=relu or torch.relu,
        conv=lambda x, k, b: functional.conv2d(x, k, b, padding=1),
        pool=lambda x: functional.max_pool2d(x, 2),
        flat=lambda x: x.flatten(1),
        dense=lambda x, k, b: torch.addmm(b, x, k))


def jax_logits(jax, images, w, relu=None):
    """Returns the logits of a batch of images, channels last."""
    lax, window = jax.lax, (1, 2, 2, 1)
    return _stack(
        images, w, relu=relu or jax.nn.relu,
        conv=lambda x, k, b: lax.conv_general_dilated(
            x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")) + b,
        pool=lambda x: lax.reduce_window(x, -np.inf, lax.max, window, window, "SAME"),
        flat=lambda x: x.reshape(x.shape[0], -1),
        dense=lambda x, k, b: x @ k + b)
