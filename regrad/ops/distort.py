"""Random crops of images that keep enough of the objects in them, drawn from TensorFlow's own stream. On the host."""

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.ops.random import SEEDS, words

_SINGLE = np.float32
_SIZES = frozenset((dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64))


class _Draws:
    """The 32-bit words of a stream, one after the other."""

    def __init__(self, rng):
        self.words = words(rng)

    def unit(self):
        """Returns a float32 in [0, 1)."""
        bits = np.array(next(self.words) & 0x7FFFFF | 0x3F800000, np.uint32)
        return bits.view(_SINGLE)[()] - _SINGLE(1)

    def below(self, n):
        """Returns an int in [0, n), with equal chances: words that would favour the first ones are drawn again."""
        if n & (n - 1) == 0:
            return next(self.words) & (n - 1)
        rest = 0xFFFFFFFF % n + 1
        word = next(self.words)
        while word < rest:
            word = next(self.words)
        return word % n


def _crop(draws, width, height, area, aspect):
    """Returns (top, left, height, width) of a crop with an area in a range of fractions, or None if none came of it."""
    least, most = (_SINGLE(a) * _SINGLE(width) * _SINGLE(height) for a in area)

    def rounded(x):
        return int(np.rint(_SINGLE(x)))

    rows, limit = (rounded(np.sqrt(_SINGLE(a / aspect))) for a in (least, most))
    if rounded(limit * aspect) > width:
        limit = int((width + 0.5 - 1e-7) / float(aspect))
        if rounded(limit * aspect) > width:
            limit -= 1
    limit = min(limit, height)
    rows = min(rows, limit)
    if rows < limit:
        rows += draws.below(limit - rows + 1)
    columns = rounded(rows * aspect)
    if _SINGLE(columns * rows) < least:  # a rounding error shall not make it fail
        rows += 1
        columns = rounded(rows * aspect)
    if _SINGLE(columns * rows) > most:
        rows -= 1
        columns = rounded(rows * aspect)
    if not (least <= _SINGLE(columns * rows) <= most and 0 < columns <= width and 0 < rows <= height):
        return None
    top = draws.below(height - rows) if rows < height else 0
    left = draws.below(width - columns) if columns < width else 0
    return top, left, rows, columns


def _covers(crop, boxes, least):
    top, left, rows, columns = crop
    for y1, x1, y2, x2 in boxes:
        size = (y2 - y1) * (x2 - x1)
        if size >= 1:
            shared = max(min(top + rows, y2) - max(top, y1), 0) * max(min(left + columns, x2) - max(left, x1), 0)
            if _SINGLE(shared) / _SINGLE(size) >= least:
                return True
    return False


def _lower(b, rng, image_size, bounding_boxes, min_object_covered, *, seed, seed2, aspect_ratio_range, area_range,
           max_attempts, use_image_if_no_bounding_boxes):
    height, width = int(image_size[0]), int(image_size[1])
    if bounding_boxes.size:
        if not np.all((bounding_boxes >= 0) & (bounding_boxes <= 1)):
            raise InvalidArgumentError("All bounding box coordinates must be in [0.0, 1.0]: "
                                       f"{bounding_boxes.reshape(-1, 4).tolist()}")
        scale = np.array([height, width, height, width], _SINGLE)
        boxes = (bounding_boxes.reshape(-1, 4) * scale).astype(int).tolist()
    elif use_image_if_no_bounding_boxes:
        boxes = [[0, 0, height, width]]
    else:
        raise InvalidArgumentError("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you "
                                   "wish to not provide any bounding boxes.")
    draws = _Draws(rng)
    low, high = (_SINGLE(r) for r in aspect_ratio_range)
    found = 0, 0, height, width
    for _ in range(max_attempts):
        crop = _crop(draws, width, height, area_range, _SINGLE(draws.unit() * (high - low) + low))
        if crop is not None and _covers(crop, boxes, _SINGLE(min_object_covered)):
            found = crop
            break
    top, left, rows, columns = found
    box = np.array([top / _SINGLE(height), left / _SINGLE(width), (top + rows) / _SINGLE(height),
                    (left + columns) / _SINGLE(width)], _SINGLE)
    begin, size = (np.array(x).astype(image_size.dtype) for x in ([top, left, 0], [rows, columns, -1]))
    return begin, size, box.reshape(1, 1, 4)


def _infer(image_size, bounding_boxes, min_object_covered, **attrs):
    if image_size.dims not in (None, (None,), (3,)):
        raise ShapeError(f"image_size must hold 3 numbers, got {spec_text(image_size)}")
    if bounding_boxes.dims is not None and (len(bounding_boxes.dims) != 3 or bounding_boxes.dims[2] not in (None, 4)):
        raise ShapeError(f"bounding_boxes must be [1, boxes, 4], got {spec_text(bounding_boxes)}")
    return [Spec((3,), image_size.dtype), Spec((3,), image_size.dtype), Spec((1, 1, 4), dtypes.float32)]


sampledistortedboundingbox_op = define_op(
    "SampleDistortedBoundingBoxV2", "image_size: T, bounding_boxes: float32, min_object_covered: float32", random=True,
    host=True, single=False, types={"T": _SIZES}, infer=_infer, lower=_lower,
    attrs={**SEEDS, "aspect_ratio_range": (0.75, 1.33), "area_range": (0.05, 1.0), "max_attempts": 100,
           "use_image_if_no_bounding_boxes": False})
sampledistortedboundingbox_op.declare(blocks=lambda attrs, *dims: attrs["max_attempts"])  # of four words, as in TensorFlow
NotDifferentiable("SampleDistortedBoundingBoxV2")


def sample_distorted_bounding_box(image_size, bounding_boxes, seed=None, seed2=None, min_object_covered=0.1,
                                  aspect_ratio_range=None, area_range=None, max_attempts=None,
                                  use_image_if_no_bounding_boxes=None, name=None):
    """Returns (begin, size, box) of a random crop: for `tf.slice`, and as float32 [1, 1, 4] in fractions of the image.

    Args:
      image_size: integers [height, width, channels].
      bounding_boxes: float32 [1, boxes, 4], of the objects, in fractions of the image.
      min_object_covered: how much of at least one object the crop must hold.
      aspect_ratio_range: of width to height; (0.75, 1.33) by default.
      area_range: of the image's area; (0.05, 1) by default.
      max_attempts: after so many (100) the whole image is taken.
      use_image_if_no_bounding_boxes: without boxes the whole image is the object; else that is an error.
      seed, seed2: of the op alone; see `set_random_seed`.

    Raises:
      ValueError: a range that is none.
      InvalidArgumentError: (when run) there are no boxes, or one reaches out of the image.
    """
    aspect = tuple(aspect_ratio_range or (0.75, 1.33))
    area = tuple(area_range or (0.05, 1.0))
    if len(aspect) != 2 or not 0 < aspect[0] <= aspect[1]:
        raise ValueError(f"sample_distorted_bounding_box: aspect_ratio_range must be two positive numbers, got {aspect}.")
    if len(area) != 2 or not 0 < area[0] <= area[1] <= 1:
        raise ValueError(f"sample_distorted_bounding_box: area_range must be two numbers in (0, 1], got {area}.")
    return sampledistortedboundingbox_op(
        image_size, bounding_boxes, min_object_covered, seed=seed or 0, seed2=seed2 or 0, aspect_ratio_range=aspect,
        area_range=area, max_attempts=max_attempts or 100, name=name,
        use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes))
