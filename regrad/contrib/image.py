"""`tf.contrib.image`: images turned, moved, seen through projections, and read where a flow says.

A projection is a vector [a0, a1, a2, b0, b1, b2, c0, c1]: the output at (x, y) is what the input holds at
((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), with k = c0 x + c1 y + 1.
"""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.ops import array, math
from regrad.ops.check import assert_greater_equal
from regrad.ops.generate import range as numbers
from regrad.ops.indexing import gather
from regrad.ops.matmul import matmul
from regrad.ops.warp import imageprojectivetransform_op

__all__ = ["angles_to_projective_transforms", "compose_transforms", "dense_image_warp", "flat_transforms_to_matrices",
           "matrices_to_flat_transforms", "rotate", "transform", "translate", "translations_to_projective_transforms"]


def transform(images, transforms, interpolation="NEAREST", output_shape=None, name=None):
    """Returns images seen through projections; 0 where a projection looks outside.

    Args:
      images: [batch, rows, columns, channels], [rows, columns, channels] or [rows, columns].
      transforms: a projection, or one for each image: float32 [8] or [batch, 8].
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: rows and columns of the result, by default those of `images`.

    Raises:
      TypeError: the rank of `images` or `transforms` is not known, or does not fit.
    """
    with get_default_graph().name_scope(name or "transform"):
        images = convert_to_tensor(images, name="images")
        transforms = convert_to_tensor(transforms, dtype=dtypes.float32, name="transforms")
        if images.dims is None or len(images.dims) not in (2, 3, 4):
            raise TypeError(f"Images should have rank between 2 and 4, got shape {images.shape}")
        if transforms.dims is None or len(transforms.dims) not in (1, 2):
            raise TypeError(f"Transforms should have rank 1 or 2, got shape {transforms.shape}")
        batch = {2: lambda x: x[None, :, :, None], 3: lambda x: x[None], 4: lambda x: x}[len(images.dims)](images)
        transforms = transforms if len(transforms.dims) == 2 else transforms[None]
        size = array.shape(batch)[1:3] if output_shape is None else convert_to_tensor(output_shape, dtype=dtypes.int32)
        out = imageprojectivetransform_op(batch, transforms, size, interpolation=interpolation.upper())
        return {2: lambda x: x[0, :, :, 0], 3: lambda x: x[0], 4: lambda x: x}[len(images.dims)](out)


def _columns(columns, name):
    return array.concat([c if c.dims is not None and len(c.dims) == 2 else c[:, None] for c in columns], 1, name=name)


def angles_to_projective_transforms(angles, image_height, image_width, name=None):
    """Returns projections float32 [n, 8] that turn images counter-clockwise about their centres by angles in radians."""
    with get_default_graph().name_scope(name or "angles_to_projective_transforms") as scope:
        angles = convert_to_tensor(angles, dtype=dtypes.float32, name="angles")
        if angles.dims is None or len(angles.dims) > 1:
            raise TypeError("Angles should have rank 0 or 1.")
        angles = array.reshape(angles, [-1])
        height, width = (math.cast(convert_to_tensor(n), dtypes.float32) - 1 for n in (image_height, image_width))
        cos, sin = math.cos(angles), math.sin(angles)
        x = (width - (cos * width - sin * height)) / 2.0
        y = (height - (sin * width + cos * height)) / 2.0
        zero = array.zeros_like(angles)
        return _columns([cos, -sin, x, sin, cos, y, zero, zero], scope)


def translations_to_projective_transforms(translations, name=None):
    """Returns projections float32 [n, 8] that move images by [dx, dy] (or rows of them)."""
    with get_default_graph().name_scope(name or "translations_to_projective_transforms") as scope:
        moves = convert_to_tensor(translations, dtype=dtypes.float32, name="translations")
        if moves.dims is None or len(moves.dims) not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        moves = array.reshape(moves, [-1, 2])
        zero, one = array.zeros_like(moves[:, 0]), array.ones_like(moves[:, 0])
        return _columns([one, zero, -moves[:, 0], zero, one, -moves[:, 1], zero, zero], scope)


def rotate(images, angles, interpolation="NEAREST", name=None):
    """Returns images turned counter-clockwise by angles in radians, one or one for each; see `transform`."""
    with get_default_graph().name_scope(name or "rotate"):
        images = convert_to_tensor(images, name="images")
        if images.dims is None or len(images.dims) not in (2, 3, 4):
            raise TypeError(f"Images should have rank between 2 and 4, got shape {images.shape}")
        first = 1 if len(images.dims) == 4 else 0
        sizes = array.shape(images)
        return transform(images, angles_to_projective_transforms(angles, sizes[first], sizes[first + 1]), interpolation)


def translate(images, translations, interpolation="NEAREST", name=None):
    """Returns images moved by [dx, dy], one or one for each; see `transform`."""
    with get_default_graph().name_scope(name or "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def flat_transforms_to_matrices(transforms):
    """Returns projections [n, 8] (or one, [8]) as matrices [n, 3, 3]."""
    flat = array.reshape(convert_to_tensor(transforms, dtype=dtypes.float32), [-1, 8])
    return array.reshape(array.concat([flat, array.ones_like(flat[:, :1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices):
    """Returns matrices [n, 3, 3] (or one) as projections [n, 8], scaled so that the last element is 1."""
    flat = array.reshape(convert_to_tensor(transform_matrices, dtype=dtypes.float32), [-1, 9])
    return (flat / flat[:, 8:])[:, :8]


def compose_transforms(*transforms):
    """Returns the projection [n, 8] that applies the given ones to images, in order."""
    if not transforms:
        raise ValueError("compose_transforms: transforms cannot be empty")
    total = flat_transforms_to_matrices(transforms[0])
    for t in transforms[1:]:
        total = matmul(total, flat_transforms_to_matrices(t))
    return matrices_to_flat_transforms(total)


def dense_image_warp(image, flow, name="dense_image_warp"):
    """Returns images moved by a vector for each pixel: at [b, j, i] is what `image` has at row j - flow[b, j, i, 0] and
    column i - flow[b, j, i, 1], bilinear between pixels; outside is the nearest pixel of the border.

    The derivative for `flow` is that between pixels, and 0 outside. On a pixel it is, as in TensorFlow, 0, too, but on those of
    the last row and column the one towards the pixel before.

    Args:
      image: floating [batch, rows, columns, channels], of two rows and columns at least.
      flow: floating [batch, rows, columns, 2]; it may be of another dtype.

    Raises:
      ValueError: `image` is not known to have four axes, or `flow` has another shape.
      InvalidArgumentError: there are fewer rows or columns; where sizes are not known, when it runs.
    """
    graph = get_default_graph()
    with graph.name_scope(name):
        image, flow = convert_to_tensor(image, name="image"), convert_to_tensor(flow, name="flow")
        if image.dims is None or len(image.dims) != 4:
            raise ValueError(f"Grid must be 4 dimensional. Received size: {image.shape}")
        if not flow.shape.is_compatible_with(image.shape[:3].concatenate([2])):
            raise ValueError(f"flow must have the batch, rows and columns of image, {image.shape}, and 2; got {flow.shape}.")
        batch, rows, columns, channels = (array.shape(image)[axis] for axis in (0, 1, 2, 3))
        with graph.control_dependencies([
                assert_greater_equal(rows, 2, message="Grid height must be at least 2."),
                assert_greater_equal(columns, 2, message="Grid width must be at least 2.")]):
            pixels = array.reshape(image, [-1, channels])
        top, down = _neighbours(math.cast(numbers(rows), flow.dtype)[:, None] - flow[..., 0], rows, image.dtype)
        left, right = _neighbours(math.cast(numbers(columns), flow.dtype) - flow[..., 1], columns, image.dtype)
        corner = (numbers(batch)[:, None, None] * rows + top) * columns + left
        upper, lower = (a + right * (b - a) for a, b in (
            (gather(pixels, corner + step), gather(pixels, corner + step + 1)) for step in (0, columns)))
        return array.reshape(upper + down * (lower - upper), array.shape(image))


def _neighbours(places, size, dtype):
    """Returns the pixels before places on an axis, and how far, of the way to the next ones, the places lie: [..., 1]."""
    before = math.minimum(math.maximum(0.0, math.floor(places)), math.cast(size - 2, places.dtype))
    way = math.minimum(math.maximum(0.0, math.cast(places - before, dtype)), 1.0)
    return math.cast(before, dtypes.int32), way[..., None]
