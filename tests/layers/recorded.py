"""Layers: programs for both systems (see `tests/recorded.py`)."""
import numpy as np

from tests.recorded import graph_lines, refusal


def init(tf, seed=0):
    """An initializer whose numbers depend on the shape alone."""

    def initializer(shape, dtype=None, partition_info=None):
        return tf.constant(np.random.RandomState(sum(shape) + seed).randn(*shape).astype(np.float32) / 2)

    return initializer


def plain(tf):
    return {"kernel_initializer": init(tf), "bias_initializer": init(tf, 1)}


def separable(tf):
    return {"depthwise_initializer": init(tf), "pointwise_initializer": init(tf, 2), "bias_initializer": init(tf, 1)}


X2, X3 = np.random.RandomState(0).randn(4, 6), np.random.RandomState(1).randn(2, 9, 3)
X4, X5 = np.random.RandomState(2).randn(2, 7, 8, 3), np.random.RandomState(3).randn(2, 5, 6, 5, 2)


def yes(tf):
    return tf.placeholder_with_default(True, [])


def shared_layer(tf, x):
    layer = tf.layers.Dense(6, name="shared", **plain(tf))
    return layer(layer(x)) + layer.apply(x)


LAYERS = {
    "dense": (X2, lambda tf, x: tf.layers.dense(x, 3, **plain(tf))),
    "dense_named": (X2, lambda tf, x: tf.layers.dense(x, 3, tf.nn.relu, name="fc", kernel_regularizer=tf.reduce_sum,
                                                      **plain(tf))),
    "dense_twice": (X2, lambda tf, x: tf.layers.dense(tf.layers.dense(x, 3, **plain(tf)), 2, use_bias=False,
                                                      kernel_initializer=init(tf))),
    "dense_reuse": (X2, lambda tf, x: tf.layers.dense(x, 3, name="d", **plain(tf))
                    + tf.layers.dense(2 * x, 3, name="d", reuse=True, **plain(tf))),
    "dense_shared": (X2, shared_layer),
    "dense_rank_3": (X3, lambda tf, x: tf.layers.dense(x, 4, **plain(tf))),
    "conv1d": (X3, lambda tf, x: tf.layers.conv1d(x, 4, 3, **plain(tf))),
    "conv1d_same": (X3, lambda tf, x: tf.layers.conv1d(x, 4, 3, 2, "same", activation=tf.nn.tanh, **plain(tf))),
    "conv2d": (X4, lambda tf, x: tf.layers.conv2d(x, 5, 3, **plain(tf))),
    "conv2d_same": (X4, lambda tf, x: tf.layers.conv2d(x, 5, [3, 2], (2, 1), "same", activation=tf.nn.relu, name="c",
                                                       **plain(tf))),
    "conv2d_dilated": (X4, lambda tf, x: tf.layers.conv2d(x, 5, 3, dilation_rate=2, **plain(tf))),
    "conv2d_dilated_same": (X4, lambda tf, x: tf.layers.conv2d(x, 5, 3, 1, "same", dilation_rate=(2, 1), **plain(tf))),
    "conv3d": (X5, lambda tf, x: tf.layers.conv3d(x, 4, [2, 3, 2], **plain(tf))),
    "conv2d_transpose": (X4, lambda tf, x: tf.layers.conv2d_transpose(x, 5, 3, 2, **plain(tf))),
    "conv2d_transpose_same": (X4, lambda tf, x: tf.layers.conv2d_transpose(x, 5, [3, 4], (2, 1), "same", **plain(tf))),
    "conv3d_transpose": (X5, lambda tf, x: tf.layers.conv3d_transpose(x, 3, 3, 2, "same", **plain(tf))),
    "separable_conv2d": (X4, lambda tf, x: tf.layers.separable_conv2d(x, 5, 3, depth_multiplier=2, **separable(tf))),
    "separable_conv1d": (X3, lambda tf, x: tf.layers.separable_conv1d(x, 5, 3, padding="same", **separable(tf))),
    "max_pooling1d": (X3, lambda tf, x: tf.layers.max_pooling1d(x, 3, 2)),
    "max_pooling2d": (X4, lambda tf, x: tf.layers.max_pooling2d(x, 2, 2, "same")),
    "max_pooling3d": (X5, lambda tf, x: tf.layers.max_pooling3d(x, 2, 2)),
    "average_pooling1d": (X3, lambda tf, x: tf.layers.average_pooling1d(x, 3, 2, "same")),
    "average_pooling2d": (X4, lambda tf, x: tf.layers.average_pooling2d(x, [3, 2], 2, name="p")),
    "average_pooling3d": (X5, lambda tf, x: tf.layers.average_pooling3d(x, 2, 1)),
    "flatten": (X4, lambda tf, x: tf.layers.flatten(x)),
    "flatten_rank_2": (X2, lambda tf, x: tf.layers.flatten(x)),
    "flatten_channels_first": (X4, lambda tf, x: tf.layers.flatten(x, data_format="channels_first")),
    "dropout_off": (X2, lambda tf, x: tf.layers.dropout(x)),
    "dropout": (X2, lambda tf, x: tf.layers.dropout(x, 0.4, seed=3, training=True)),
    "dropout_by_run": (X2, lambda tf, x: tf.layers.dropout(x, 0.4, seed=3, training=yes(tf))),
    "batch_norm": (X4, lambda tf, x: tf.layers.batch_normalization(x, training=True, gamma_initializer=init(tf),
                                                                   beta_initializer=init(tf, 1))),
    "batch_norm_off": (X4, lambda tf, x: tf.layers.batch_normalization(x, moving_mean_initializer=init(tf, 4))),
    "batch_norm_rank_2": (X2, lambda tf, x: tf.layers.batch_normalization(x, momentum=0.9, training=True,
                                                                          gamma_initializer=init(tf))),
    "batch_norm_rank_2_off": (X2, lambda tf, x: tf.layers.batch_normalization(x, moving_mean_initializer=init(tf))),
    "batch_norm_rank_3": (X3, lambda tf, x: tf.layers.batch_normalization(x, training=True)),
    "batch_norm_by_run": (X4, lambda tf, x: tf.layers.batch_normalization(x, training=yes(tf), name="bn")),
    "batch_norm_rank_2_by_run": (X2, lambda tf, x: tf.layers.batch_normalization(x, training=yes(tf), name="bn")),
    "batch_norm_axis_1": (X4, lambda tf, x: tf.layers.batch_normalization(x, 1, training=True, fused=False,
                                                                          gamma_initializer=init(tf))),
    "batch_norm_bare": (X4, lambda tf, x: tf.layers.batch_normalization(x, training=True, scale=False, center=False)),
    "batch_norm_axes": (X4, lambda tf, x: tf.layers.batch_normalization(x, [1, 3], training=True, fused=False)),
    "batch_renorm": (X2, lambda tf, x: tf.layers.batch_normalization(
        x, training=True, renorm=True, renorm_clipping={"rmax": 1.5, "rmin": 0.5, "dmax": 0.3},
        gamma_initializer=init(tf))),
}
# Where operations too are named alike; others differ in how branches, dilation, shapes or dropout are put together.
SAME_GRAPH = ("dense", "dense_named", "dense_twice", "dense_reuse", "dense_shared", "dense_rank_3", "conv2d", "conv2d_same",
              "conv3d", "max_pooling1d", "max_pooling2d", "max_pooling3d", "average_pooling1d", "average_pooling2d",
              "average_pooling3d", "dropout_off")


def run(tf, name, unknown_batch=False):
    """Returns (graph lines, names, values: output, gradients, and variables after two updates)."""
    data, build = LAYERS[name]
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        x = tf.placeholder(tf.float32, [None, *data.shape[1:]] if unknown_batch else data.shape, name="x")
        y = build(tf, x)
        lines = graph_lines(graph)
        static = ["?" if d is None else str(d) for d in y.shape.as_list()]
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        names = [*static, *(v.name for v in tf.global_variables()), "trainable:", *(v.name for v in tf.trainable_variables()),
                 f"{len(updates)} updates", *(r.name for r in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))]
        grads = tf.gradients(tf.reduce_sum(tf.sin(y)), [x, *tf.trainable_variables()])
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            values = sess.run([y, *(g for g in grads if g is not None)], {x: data})
            for _ in range(2):
                sess.run(updates, {x: data})
            values += sess.run(tf.global_variables()) if updates else []
    return lines, names, np.concatenate([np.ravel(v) for v in values])


def _image(tf, *dims):
    return tf.placeholder(tf.float32, dims)


REFUSALS = {
    "strides": lambda tf: tf.layers.conv2d(_image(tf, 2, 3, 4, 1), 3, 3, strides=(1, 2, 3)),
    "exists": lambda tf: [tf.layers.dense(_image(tf, 3, 4), 2, name="d"), tf.layers.dense(_image(tf, 3, 4), 2, name="d")],
    "missing": lambda tf: tf.layers.dense(_image(tf, 3, 4), 2, name="d", reuse=True),
}


def results(tf):
    found = {}
    for name in LAYERS:
        found[f"graph_{name}"], found[f"names_{name}"], found[f"values_{name}"] = run(tf, name)
        _, found[f"unknown_{name}"], _ = run(tf, name, unknown_batch=True)
    for name in set(LAYERS) - set(SAME_GRAPH):
        del found[f"graph_{name}"]
    for name, build in REFUSALS.items():
        with tf.Graph().as_default():
            found[f"refusal_{name}"] = refusal(lambda build=build: build(tf))
    return found
