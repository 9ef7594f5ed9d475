"""A momentum step of a small MobileNet: depthwise and pointwise convolutions, batch normalisation, 16 images of 48 x 48."""

import numpy as np

from shared import jax_momentum, tf1_session, tf1_variables, torch_leaves, torch_step, weights

ROWS = {"separable convolutions, momentum": {"batch": 16}}
REPEATS = 2
RATE, MOMENTUM, EPSILON = 1e-2, 0.9, 1e-3
BLOCKS = [(16, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1)]  # channels in and out, stride


def data(batch):
    rng = np.random.default_rng(1)
    shapes = [(3, 3, 3, 16)]
    for before, after, _ in BLOCKS:
        shapes += [(3, 3, before, 1), (1, 1, before, after)]
    arrays = [w for filters in weights(*shapes)
              for w in (filters, *_norm(filters.shape[2] if filters.shape[3] == 1 else filters.shape[3]))]
    return {
        "weights": [*arrays, *weights((128, 10), (10,))],
        "images": rng.random((batch, 48, 48, 3), np.float32),
        "labels": rng.integers(0, 10, batch).astype(np.int32),
    }


def _norm(channels):
    return np.ones(channels, np.float32), np.zeros(channels, np.float32)


def _layers(v):
    """Yields (filter, scale, offset, stride, depthwise) for each convolution of the list of variables `v`."""
    strides = [(2, False)] + [kind for *_, s in BLOCKS for kind in ((s, True), (1, False))]
    for i, (stride, depthwise) in enumerate(strides):
        yield *v[3 * i:3 * i + 3], stride, depthwise


def tf1_program(tf, data, batch):
    images = tf.placeholder(tf.float32, [None, 48, 48, 3])
    labels = tf.placeholder(tf.int32, [None])
    v, start = tf1_variables(tf, data["weights"])
    h = images
    for w, scale, offset, stride, depthwise in _layers(v):
        convolve = tf.nn.depthwise_conv2d if depthwise else tf.nn.conv2d
        h = convolve(h, w, strides=[1, stride, stride, 1], padding="SAME")
        h = tf.nn.relu6(tf.nn.fused_batch_norm(h, scale, offset, epsilon=EPSILON)[0])
    logits = tf.matmul(tf.reduce_mean(h, [1, 2]), v[-2]) + v[-1]
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    train = tf.train.MomentumOptimizer(RATE, MOMENTUM).minimize(loss)
    session = tf1_session(tf, start)
    feed = {images: data["images"], labels: data["labels"]}
    return lambda: session.run([loss, train], feed)[0]


def torch_program(torch, data, batch):
    F = torch.nn.functional
    # Channels first; a depthwise filter is [channels, 1, height, width] there.
    arrays = [np.ascontiguousarray(w.transpose((2, 3, 0, 1) if w.shape[3] == 1 else (3, 2, 0, 1))) if w.ndim == 4 else w
              for w in data["weights"]]
    v = torch_leaves(torch, arrays)
    optimizer = torch.optim.SGD(v, lr=RATE, momentum=MOMENTUM)

    def loss_of():
        h = torch.from_numpy(data["images"]).permute(0, 3, 1, 2)  # channels last in memory
        for w, scale, offset, stride, depthwise in _layers(v):
            if stride == 2:  # as "SAME" pads an even size
                h = F.pad(h, (0, 1, 0, 1))
            h = F.conv2d(h, w, stride=stride, padding=0 if stride == 2 else w.shape[-1] // 2, groups=len(w) if depthwise else 1)
            h = F.relu6(F.batch_norm(h, None, None, scale, offset, training=True, eps=EPSILON))
        return F.cross_entropy(torch.addmm(v[-1], h.mean((2, 3)), v[-2]), torch.from_numpy(data["labels"]).long())

    return torch_step(optimizer, loss_of)


def jax_program(jax, data, batch):
    lax = jax.lax

    def logits(v, images):
        h = images
        for w, scale, offset, stride, depthwise in _layers(v):
            groups = w.shape[2] if depthwise else 1
            h = lax.conv_general_dilated(h, w.reshape(3, 3, 1, -1) if depthwise else w, (stride, stride), "SAME",
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)
            mean, variance = h.mean((0, 1, 2)), h.var((0, 1, 2))
            h = jax.nn.relu6((h - mean) * lax.rsqrt(variance + EPSILON) * scale + offset)
        return h.mean((1, 2)) @ v[-2] + v[-1]

    return jax_momentum(jax, logits, data, RATE, MOMENTUM)
