"""What picks the largest element finds it again in its gradient, however XLA computes the elements."""
import numpy as np
import pytest

import regrad as tf


def _select(kind, crops):
    if kind == "max":
        return tf.reduce_max(crops, [1, 2])
    if kind == "nth":
        return tf.raw_ops.NthElement(input=tf.reshape(crops, [36, 36]), n=3)
    if kind == "dilation":
        return tf.nn.dilation2d(crops, tf.zeros([2, 2, 6]), [1, 2, 2, 1], [1, 1, 1, 1], "SAME")
    if kind == "segments":
        return tf.unsorted_segment_max(tf.reshape(crops, [-1]), np.arange(6 * 36 * 6) % 72, 72)
    if kind == "scatter":
        indices = np.arange(6 * 36 * 6)[:, None] % 72
        return tf.tensor_scatter_nd_max(tf.fill([72], -9.0), indices, tf.reshape(crops, [-1]))
    return tf.nn.max_pool(crops, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


@pytest.mark.parametrize("kind", ["max", "pool", "nth", "dilation", "segments", "scatter"])
def test_gradient_reaches_the_largest_though_its_input_is_computed_twice(kind, monkeypatch):
    # Sums of products, which XLA contracts one way in the forward pass and another in the backward pass: compared with the
    # maximum found before, no element was equal to it any more.
    monkeypatch.setattr(tf.config, "host_runs", 0)
    rng = np.random.RandomState(0)
    image = tf.placeholder(tf.float32, [1, None, None, 6])
    boxes = tf.placeholder(tf.float32, [6, 4])
    crops = tf.image.crop_and_resize(image, boxes, tf.zeros([6], tf.int32), [6, 6])
    picked = _select(kind, crops)
    weights = rng.randn(*picked.shape.as_list()).astype(np.float32)
    d_crops, d_image = tf.gradients(picked, [crops, image], [tf.constant(weights)])
    given = tf.placeholder(tf.float32, crops.shape)
    back = tf.gradients(crops, image, given)[0]

    with tf.Session() as sess:
        corners = [[0.0, 0.0], [0.44, 0.0], [0.34, 0.0], [0.0, 0.0], [0.27, 0.0], [0.0, 0.0]]
        ends = [[0.57, 0.89], [1.05, 1.11], [0.95, 0.64], [0.25, 1.19], [0.85, 1.07], [0.4, 0.72]]
        feed = {image: rng.rand(1, 6, 5, 6), boxes: np.hstack([corners, ends])}
        d_crops, got = sess.run([d_crops, d_image], feed)
        want = sess.run(back, {**feed, given: d_crops})

    np.testing.assert_allclose(got, want, atol=1e-5)
    np.testing.assert_allclose(np.sum(d_crops), np.sum(weights), rtol=1e-4)  # equal elements share
