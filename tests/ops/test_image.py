"""Images whose sizes a run tells: what is refused then, as it is for known sizes while the graph is built."""

import numpy as np
import pytest

import regrad as tf

NO_PIXELS = "all dims of 'image.shape' must be > 0"


@pytest.mark.parametrize("f, shape, sizes, says", [
    (tf.image.crop_to_bounding_box, (4, 4, 1), (-1, 0, 3, 3), "offset_height must be >= 0"),
    (tf.image.crop_to_bounding_box, (4, 4, 1), (0, 0, 3, 0), "target_width must be > 0"),
    (tf.image.crop_to_bounding_box, (4, 4, 1), (2, 0, 3, 3), "height must be >= target [+] offset"),
    (tf.image.crop_to_bounding_box, (2, 2, 0), (0, 0, 1, 1), NO_PIXELS),
    (tf.image.pad_to_bounding_box, (3, 3, 1), (0, -1, 4, 4), "offset_width must be >= 0"),
    (tf.image.pad_to_bounding_box, (3, 3, 1), (0, 2, 4, 4), "width must be <= target - offset"),
    (tf.image.pad_to_bounding_box, (0, 2, 2), (0, 0, 2, 2), NO_PIXELS),
    (tf.image.resize_image_with_crop_or_pad, (2, 0, 2), (1, 1), NO_PIXELS),
    (tf.image.resize_image_with_crop_or_pad, (4, 4, 1), (0, 5), "target_height must be > 0")])
def test_what_a_run_refuses(f, shape, sizes, says):
    image, given = tf.placeholder(tf.float32, [None, None, None]), [tf.placeholder(tf.int32, []) for _ in sizes]
    out = f(image, *given)
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=f"assertion failed: .*{says}"):
        sess.run(out, {image: np.ones(shape), **dict(zip(given, sizes))})


def test_a_negative_exponent_is_refused_when_it_is_run():
    out = tf.image.adjust_gamma(tf.ones([2, 2, 1]), tf.constant(-1.0))
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="Gamma should be a non-negative"):
        sess.run(out)


def test_proportions_are_kept_at_sizes_that_a_run_tells():
    image, size = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32, [2])
    fitted = tf.image.resize_images(image, size, preserve_aspect_ratio=True)
    known = tf.image.resize_images(tf.zeros([3, 2, 3]), [2, 4], preserve_aspect_ratio=True)
    with tf.Session() as sess:
        for shape, limits, wanted in (((50, 100, 3), (250, 250), (125, 250, 3)), ((3, 2, 3), (2, 4), (2, 1, 3))):
            assert sess.run(fitted, {image: np.zeros(shape), size: limits}).shape == wanted
    assert known.shape == (2, 1, 3)


def test_colours_of_images_of_unknown_rank():
    gray = tf.placeholder(tf.uint8)
    colours = tf.image.grayscale_to_rgb(gray)
    with tf.Session() as sess:
        for shape in ((2, 1), (3, 2, 1, 1)):
            assert sess.run(colours, {gray: np.ones(shape)}).shape == (*shape[:-1], 3)


def test_names():
    x = tf.ones([2, 2, 3])
    for name in "flip_left_right flip_up_down transpose_image random_flip_left_right adjust_gamma rot90".split():
        assert getattr(tf.image, name)(x).op.name.startswith(name + "/")


def test_smooth_pictures_make_small_files():
    rows, columns = np.mgrid[:60, :80]
    picture = np.stack([rows, columns, (rows + columns) // 2], -1).astype(np.uint8)
    for pixels in (picture, picture[..., :2], picture[..., :1].astype(np.uint16) * 300):
        contents = tf.image.encode_png(pixels)
        with tf.Session() as sess:
            data, again = sess.run([contents, tf.image.decode_png(contents, dtype=pixels.dtype)])
        np.testing.assert_array_equal(again, pixels)
        assert len(data) < pixels.nbytes / 20


@pytest.mark.parametrize("method", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [(61, 20), (7, 90)])
def test_compiled_sizes_of_images_are_those_of_the_host(method, size, monkeypatch):
    rng = np.random.default_rng(0)
    given, results = rng.standard_normal((2, 40, 50, 3)).astype(np.float32), []
    for host_runs in (1, 0):
        monkeypatch.setattr(tf.config, "host_runs", host_runs)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, given.shape)
            y = tf.image.resize_images(x, size, method=method)
            fetches = [y] if method == 3 else [y, tf.gradients(y * y, x)[0]]
            results.append(session.run(fetches, {x: given}))
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
