"""Images changed at random, other colour spaces, and glimpses. All are made of ordinary operations."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, math
from regrad.ops.clip import clip_by_value
from regrad.ops.codecs import adjust_jpeg_quality
from regrad.ops.compare import logical_and, where_v2
from regrad.ops.einsum import tensordot
from regrad.ops.generate import range as range_
from regrad.ops.image import adjust_brightness, adjust_contrast, adjust_hue, adjust_saturation
from regrad.ops.indexing import gather_nd
from regrad.ops.random import random_normal, random_uniform


# -- at random ------------------------------------------------------------------------------------------
def random_brightness(image, max_delta, seed=None):
    """Returns the image with a number drawn from [-max_delta, max_delta) added to every pixel; see `adjust_brightness`.

    Raises:
      ValueError: `max_delta` is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _factor(lower, upper, seed):
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return random_uniform([], lower, upper, seed=seed)


def random_contrast(image, lower, upper, seed=None):
    """Returns the image with contrast multiplied by a number drawn from [lower, upper); see `adjust_contrast`.

    Raises:
      ValueError: not 0 <= lower < upper.
    """
    return adjust_contrast(image, _factor(lower, upper, seed))


def random_saturation(image, lower, upper, seed=None):
    """Returns the image with saturation multiplied by a number drawn from [lower, upper); see `adjust_saturation`.

    Raises:
      ValueError: not 0 <= lower < upper.
    """
    return adjust_saturation(image, _factor(lower, upper, seed))


def random_hue(image, max_delta, seed=None):
    """Returns the image with hue turned by a number drawn from [-max_delta, max_delta); see `adjust_hue`.

    Raises:
      ValueError: `max_delta` outside [0, 0.5].
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality, seed=None):
    """Returns the image as it is after JPEG compression of a quality drawn from [min, max).

    Raises:
      ValueError: not 0 <= min_jpeg_quality < max_jpeg_quality <= 100.
    """
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise ValueError("min_jpeg_quality and max_jpeg_quality must be within [0, 100], the first the smaller.")
    return adjust_jpeg_quality(image, random_uniform([], min_jpeg_quality, max_jpeg_quality, dtypes.int32, seed=seed))


# -- colour spaces ----------------------------------------------------------------------------------------
def _mixed(images, matrix, name):
    images = convert_to_tensor(images, name="images")
    with get_default_graph().name_scope(name):
        return tensordot(images, np.array(matrix, images.dtype.as_numpy_dtype), axes=[[-1], [0]])


def rgb_to_yiq(images):
    """Returns YIQ (the NTSC standard's) of images [..., 3] with channels red, green and blue."""
    return _mixed(images, [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617],
                           [0.114, -0.32134392, 0.31119955]], "rgb_to_yiq")


def yiq_to_rgb(images):
    """Returns red, green and blue of images [..., 3] in YIQ."""
    return _mixed(images, [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]],
                  "yiq_to_rgb")


def rgb_to_yuv(images):
    """Returns YUV (the PAL standard's) of images [..., 3] with channels red, green and blue."""
    return _mixed(images, [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512],
                           [0.114, 0.43601035, -0.10001026]], "rgb_to_yuv")


def yuv_to_rgb(images):
    """Returns red, green and blue of images [..., 3] in YUV."""
    return _mixed(images, [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]], "yuv_to_rgb")


# -- glimpses ---------------------------------------------------------------------------------------------
def extract_glimpse(input, size, offsets, centered=True, normalized=True, uniform_noise=True, name=None):
    """Returns a window of each image of a batch, float32 [batch, *size, channels]; noise where it leaves the image.

    Args:
      input: float32 [batch, height, width, channels].
      size: int32 [2], height and width of the window.
      offsets: float32 [batch, 2], row and column of the window's centre.
      centered: (0, 0) is the middle of the image, else its upper left corner.
      normalized: offsets are fractions: 1 is the lower right corner; else they are pixels.
      uniform_noise: noise drawn evenly from [0, 1), else normal with the images' mean and deviation 1.

    The gradient flows to the image.
    """
    with get_default_graph().name_scope(name or "ExtractGlimpse"):
        images, offsets = convert_to_tensor(input), convert_to_tensor(offsets, dtypes.float32)
        size = convert_to_tensor(size, dtypes.int32)
        whole = array.shape(images)[1:3]
        extent = math.cast(whole, dtypes.float32)
        centre = offsets * extent if normalized else offsets
        if centered:
            centre = centre / 2 + extent / 2
        first = math.cast(centre - math.cast(size, dtypes.float32) / 2, dtypes.int32)  # [batch, 2]
        rows = first[:, :1] + range_(size[0])
        columns = first[:, 1:] + range_(size[1])

        def within(at, n):
            return logical_and(at >= 0, at < n), clip_by_value(at, 0, n - 1)

        (row_ok, rows), (column_ok, columns) = within(rows, whole[0]), within(columns, whole[1])
        batch = range_(array.shape(images)[0])[:, None, None]
        ok = logical_and(row_ok[:, :, None], column_ok[:, None, :])
        zero = array.zeros_like(math.cast(ok, dtypes.int32))
        at = array.stack([batch + zero, rows[:, :, None] + zero, columns[:, None, :] + zero], axis=-1)
        glimpse = gather_nd(images, at)
        noise = random_uniform(array.shape(glimpse)) if uniform_noise else random_normal(array.shape(glimpse))
        known = size.partial() or (None, None)
        found = where_v2(ok[..., None], glimpse, noise)
        found.set_shape([images.dims[0] if images.dims else None, *known, images.dims[3] if images.dims else None])
        return found
