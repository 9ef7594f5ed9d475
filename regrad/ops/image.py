"""Images: resizing, crops, flips, colours and measures of quality. Gradients: `image_grad.py`.

An image is [height, width, channels], a batch of them [batch, height, width, channels]. Resizing is a linear map along
each axis; its weights depend on sizes alone, and are made with NumPy.
"""

import math as _math

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import FLOATING, REAL, as_dtype
from regrad.core.errors import BadValue, OutOfRangeError, ShapeError
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.opdef import Bounds, Spec, define_op, rank_is, same, spec_text
from regrad.core.operation import Tensor
from regrad.core.shapes import compatible, merge, size_of
from regrad.ops import array, check, indexing, math
from regrad.ops.array import one_of
from regrad.ops.clip import clip_by_value
from regrad.ops.compare import equal, greater, greater_equal, less, select, where_v2
from regrad.ops.control import with_dependencies
from regrad.ops.conv import depthwise_conv2d
from regrad.ops.layout import pad, reverse, tile
from regrad.ops.nn import relu
from regrad.ops.pool import avg_pool
from regrad.ops.random import random_uniform
from regrad.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
from regrad.runtime import foreign, native


# -- resizing ----------------------------------------------------------------------------------
def _linear_taps(src, n):
    low = np.floor(src)
    at = np.stack([np.maximum(low, 0), np.minimum(np.ceil(src), n - 1)], 1)
    part = src - low
    return at, np.stack([1 - part, part], 1)


def _cubic_taps(src, n, half_pixel):
    """Keys' kernel, read from a table of 1024 steps; with half-pixel centres, taps outside the image are left out."""
    a = np.float32(-0.5 if half_pixel else -0.75)
    low = np.floor(src)
    part = np.rint((src - low) * 1024) / np.float32(1024)

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    at = low[:, None] + np.arange(-1, 3)
    weights = np.stack([far(part + 1), near(part), near(1 - part), far(2 - part)], 1)
    if half_pixel:
        weights = np.where((at >= 0) & (at < n), weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(at, 0, n - 1), weights


def resize_weights(kind, n, m, align_corners=False, half_pixel_centers=False):
    """Returns the float32 matrix [m, n] that resizes an axis from `n` to `m` points."""
    single = np.float32
    scale = single((n - 1) / (m - 1)) if align_corners and m > 1 else single(n) / single(max(m, 1))
    steps = np.arange(m, dtype=single)
    out = np.zeros((m, n), single)
    if kind == "area":
        start = steps * scale
        for i, (lo, hi) in enumerate(zip(start, (steps + 1) * scale)):
            for j in range(int(np.floor(lo)), int(np.ceil(hi))):
                out[i, min(j, n - 1)] += (min(j + 1, hi) - max(j, lo)) / scale
        return out
    if kind == "nearest":
        src = (steps + single(0.5)) * scale if half_pixel_centers else steps * scale
        at = np.floor(src + single(0.5)) if align_corners else np.floor(src)
        at, weights = np.clip(at, 0, n - 1)[:, None], np.ones((m, 1), single)
    else:
        src = (steps + single(0.5)) * scale - single(0.5) if half_pixel_centers else steps * scale
        at, weights = _linear_taps(src, n) if kind == "bilinear" else _cubic_taps(src, n, half_pixel_centers)
    np.add.at(out, (np.arange(m)[:, None], at.astype(int)), weights.astype(single))
    return out


_TARGET = "regrad_sums_of_rows"
_DENSE = 4  # terms of a product that take as long as one that is looked for


def _along(b, x, axis, weights):
    """Returns `x` with its `axis` multiplied from the left by the matrix `weights`, of which most elements are 0."""
    terms = int(np.count_nonzero(weights, 1).max(initial=0))
    sparse = terms and x.size and _DENSE * terms <= x.shape[axis]
    if not sparse or not b.is_host and (x.dtype != np.float32 or not native.serves(_TARGET)):
        return b.np.moveaxis(b.np.tensordot(x, weights, ((axis,), (1,))), -1, axis)
    at = np.argsort(weights == 0, 1, kind="stable")[:, :terms]
    weights = np.take_along_axis(weights, at, 1)
    at = np.where(weights == 0, at[:, :1], at)  # rows of fewer terms: 0 times a pixel of their own
    if b.is_host:
        column = (-1,) + (1,) * (x.ndim - 1 - axis)
        return sum(np.take(x, at[:, i], axis, mode="clip") * weights[:, i].reshape(column) for i in range(terms))
    before, after = x.shape[:axis], x.shape[axis + 1:]
    sums = foreign.call(_TARGET, (size_of(before), len(at), size_of(after)), np.float32,
                        x.reshape(size_of(before), -1, size_of(after)), at.astype(np.int32), weights)
    return sums.reshape(*before, len(at), *after)


def _resize_infer(out_dtype):
    def infer(x, size, *, align_corners, half_pixel_centers=False):
        rank_is(x, 4, "images [batch, height, width, channels]")
        if not compatible(size.dims, (2,)):
            raise ShapeError(f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; got {spec_text(size)}")
        if align_corners and half_pixel_centers:
            raise ValueError("If half_pixel_centers is True, align_corners must be False.")
        rows, columns = size.partial() or (None, None)
        if any(d is not None and d <= 0 for d in (rows, columns)):
            raise ShapeError(f"size must be positive, got {rows} and {columns}")
        b, c = (None, None) if x.dims is None else (x.dims[0], x.dims[3])
        return Spec((b, rows, columns, c), out_dtype or x.dtype)

    return infer


def _resize_lower(kind):
    def lower(b, x, size, *, align_corners, half_pixel_centers=False):
        sizes = [int(s) for s in size]
        if kind == "nearest":
            for axis, m in zip((1, 2), sizes):
                at = resize_weights(kind, x.shape[axis], m, align_corners, half_pixel_centers).argmax(1)
                x = b.np.take(x, at, axis=axis)
            return x
        x = x.astype(np.float32)
        for axis, m in zip((1, 2), sizes):
            x = _along(b, x, axis, resize_weights(kind, x.shape[axis], m, align_corners, half_pixel_centers))
        return x

    return lower


_ALIGN = {"align_corners": False, "half_pixel_centers": False}


def _define_resize(op_type, kind, out_dtype, attrs):
    return define_op(op_type, "images: T, size: int32", types={"T": REAL}, static=(1,), attrs=attrs,
                     infer=_resize_infer(out_dtype), lower=_resize_lower(kind))


resizebilinear_op = _define_resize("ResizeBilinear", "bilinear", dtypes.float32, _ALIGN)
resizenearest_op = _define_resize("ResizeNearestNeighbor", "nearest", None, _ALIGN)
resizebicubic_op = _define_resize("ResizeBicubic", "bicubic", dtypes.float32, _ALIGN)
resizearea_op = _define_resize("ResizeArea", "area", dtypes.float32, {"align_corners": False})


def _resize_back(kind):
    """Returns the lowering of the transpose of a resizing: `dy` brought back to the height and width of the images."""
    def lower(b, dy, like, *, align_corners, half_pixel_centers=False):
        sizes = like.shape[1:3] if hasattr(like, "shape") and len(like.shape) == 4 else [int(n) for n in like]
        for axis, n in zip((1, 2), sizes):
            w = resize_weights(kind, n, dy.shape[axis], align_corners, half_pixel_centers).astype(dy.dtype)
            dy = _along(b, dy, axis, w.T)
        return dy if kind == "nearest" else dy.astype(like.dtype)

    return lower


def _nearest_back_infer(dy, size, **attrs):
    rows, columns = size.partial() or (None, None)
    batch, channels = (None, None) if dy.dims is None else (dy.dims[0], dy.dims[3])
    return Spec((batch, rows, columns, channels), dy.dtype)


def _define_resize_grad(op_type, kind):
    return define_op(op_type, "grads: float32, original_image: T", types={"T": FLOATING}, shape_only=(1,), attrs=_ALIGN,
                     infer=lambda dy, like, **attrs: Spec(like.dims, like.dtype), lower=_resize_back(kind))


resizebilineargrad_op = _define_resize_grad("ResizeBilinearGrad", "bilinear")
resizebicubicgrad_op = _define_resize_grad("ResizeBicubicGrad", "bicubic")
resizeareagrad_op = _define_resize_grad("ResizeAreaGrad", "area")
resizenearestgrad_op = define_op("ResizeNearestNeighborGrad", "grads: T, size: int32", types={"T": REAL}, static=(1,),
                                 attrs=_ALIGN, infer=_nearest_back_infer, lower=_resize_back("nearest"))


def resize_bilinear(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Returns images [batch, height, width, channels] at another size, float32, by bilinear interpolation.

    Args:
      images: tensor of numbers.
      size: int32 vector: the new height and width.
      align_corners: the centres of the corner pixels stay where they are.
      half_pixel_centers: pixels are areas, whose centres lie at half-integers.
    """
    return resizebilinear_op(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


def resize_nearest_neighbor(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Returns images at another size, of the same dtype, each pixel from the nearest one; see `resize_bilinear`."""
    return resizenearest_op(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


def resize_bicubic(images, size, align_corners=False, name=None, half_pixel_centers=False):
    """Returns images at another size, float32, by bicubic interpolation; see `resize_bilinear`."""
    return resizebicubic_op(images, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name)


def resize_area(images, size, align_corners=False, name=None):
    """Returns images at another size, float32: each pixel is the mean over its area; see `resize_bilinear`."""
    return resizearea_op(images, size, align_corners=align_corners, name=name)


class ResizeMethod:
    """Names of the methods of `resize_images`."""

    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, AREA = range(4)


_METHODS = {0: resize_bilinear, 1: resize_nearest_neighbor, 2: resize_bicubic, 3: resize_area}


def resize_images(images, size, method=ResizeMethod.BILINEAR, align_corners=False, preserve_aspect_ratio=False, name=None):
    """Returns an image or a batch of them at another size.

    Args:
      images: [height, width, channels] or [batch, height, width, channels].
      size: the new height and width.
      method: one of `ResizeMethod`.
      align_corners: the centres of the corner pixels stay where they are.
      preserve_aspect_ratio: the largest size within `size` that keeps the image's form.

    Raises:
      ValueError: an unknown method, an image of another number of axes, or a size that is not two ints.
    """
    with get_default_graph().name_scope(name or "resize"):
        images = convert_to_tensor(images, name="images")
        single = _is_single(images, "images")
        if single:
            images = array.expand_dims(images, 0)
        try:
            size = convert_to_tensor(size, dtypes.int32, name="size")
        except (TypeError, ValueError) as error:
            raise ValueError(f"'size' must be a 1-D int32 Tensor, got {size!r}.") from error
        if not compatible(size.dims, (2,)):
            raise ValueError(f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; got {spec_text(size)}.")
        height, width = images.dims[1:3]
        if preserve_aspect_ratio:
            size = _within(array.shape(images)[1:3] if None in (height, width) else constant([height, width]), size)
        if method not in _METHODS:
            raise ValueError("Resize method is not implemented: " + repr(method))
        known = size.value()
        if known is None or tuple(known) != (height, width):
            images = _METHODS[method](images, size, align_corners=align_corners)
        return array.squeeze(images, [0]) if single else images


def _within(size, limits):
    """Returns the largest height and width in the proportion of `size` within `limits`, rounded."""
    sizes = math.cast(size, dtypes.float64)
    scale = reduce_min(math.cast(limits, dtypes.float64) / sizes)
    fitting = math.cast(math.round(sizes * scale), dtypes.int32)
    known = fitting.value()
    return fitting if known is None else constant(known)


def _crop_infer(image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    for what, t, rank in (("image", image, 4), ("boxes", boxes, 2), ("box_ind", box_ind, 1), ("crop_size", crop_size, 1)):
        rank_is(t, rank, what)
    if boxes.dims is not None and boxes.dims[1] not in (None, 4):
        raise ShapeError(f"crop_and_resize: boxes must be [boxes, 4], got {spec_text(boxes)}")
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"crop_and_resize: method must be 'bilinear' or 'nearest', got {method!r}")
    rows, columns = crop_size.partial() or (None, None)
    if any(d is not None and d < 1 for d in (rows, columns)):
        raise BadValue(f"crop_and_resize: crop dimensions must be positive, got {[rows, columns]}")
    boxes_dims, index_dims = boxes.dims or (None, None), box_ind.dims or (None,)
    (n,) = merge(boxes_dims[:1], index_dims, "crop_and_resize: boxes and box_ind are as many;")
    return Spec((n, rows, columns, image.dims[3] if image.dims is not None else None), dtypes.float32)


def _crop_points(b, first, last, n, m):
    """Returns where the `m` points of each box lie on an axis of `n` pixels, [boxes, m]."""
    if m == 1:
        return b.rounded(np.float32(0.5) * (first + last) * np.float32(n - 1))[:, None]
    step = b.divide((last - first) * np.float32(n - 1), np.float32(m - 1))
    return b.rounded(first * np.float32(n - 1))[:, None] + b.rounded(np.arange(m, dtype=np.float32) * step[:, None])


def _refuse_boxes(box_ind, n):
    raise OutOfRangeError(f"box_index has values outside [0, batch_size): {box_ind.tolist()} for {n} images")


def _crop_lower(b, image, boxes, box_ind, crop_size, *, method, extrapolation_value):
    if b.is_host and box_ind.size and not (0 <= box_ind.min() and box_ind.max() < len(image)):
        _refuse_boxes(box_ind, len(image))
    image = image.astype(np.float32)
    height, width = image.shape[1:3]
    y = _crop_points(b, boxes[:, 0], boxes[:, 2], height, int(crop_size[0]))
    x = _crop_points(b, boxes[:, 1], boxes[:, 3], width, int(crop_size[1]))
    within = (((y >= 0) & (y <= height - 1))[:, :, None] & ((x >= 0) & (x <= width - 1))[:, None, :])[..., None]

    def at(rows, columns):
        rows = b.np.clip(rows, 0, height - 1).astype(np.int32)[:, :, None]
        columns = b.np.clip(columns, 0, width - 1).astype(np.int32)[:, None, :]
        return image[box_ind[:, None, None], rows, columns]

    if method == "nearest":
        values = at(math.away_from_zero(b, y), math.away_from_zero(b, x))
    else:
        top, left = b.np.floor(y), b.np.floor(x)
        dy, dx = (y - b.stop_gradient(top))[:, :, None, None], (x - b.stop_gradient(left))[:, None, :, None]
        bottom, right = b.np.ceil(y), b.np.ceil(x)  # on a pixel these are that pixel: the derivative there is 0, as TF's
        upper = at(top, left) * (1 - dx) + at(top, right) * dx
        lower = at(bottom, left) * (1 - dx) + at(bottom, right) * dx
        values = upper * (1 - dy) + lower * dy
    return b.np.where(within, values, np.float32(extrapolation_value))


cropandresize_op = define_op("CropAndResize", "image: T, boxes: float32, box_ind: int32, crop_size: int32",
                             types={"T": REAL}, static=(3,), infer=_crop_infer, lower=_crop_lower,
                             attrs={"method": "bilinear", "extrapolation_value": 0.0})
cropandresize_op.declare(refusal=Bounds(2, lambda image, *_, **attrs: image.dims[0], _refuse_boxes, error=OutOfRangeError))


def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method="bilinear", extrapolation_value=0, name=None,
                    box_indices=None):
    """Returns parts of images, each brought to one size: float32 [boxes, *crop_size, channels].

    Args:
      image: [batch, height, width, channels].
      boxes: float32 [boxes, 4]: y1, x1, y2, x2, in units of the image, 1 being the last row or column; y1 > y2 flips.
      box_ind, box_indices: int32 [boxes]: which image.
      crop_size: int32 [2].
      method: "bilinear" or "nearest".
      extrapolation_value: what lies outside the image.

    Gradients flow to the image and, with the bilinear method, to the boxes.
    """
    return cropandresize_op(image, boxes, one_of("box_indices", box_indices, "box_ind", box_ind), crop_size, method=method,
                            extrapolation_value=float(extrapolation_value), name=name)


# -- flips, turns, borders ------------------------------------------------------------------------------
def _is_single(image, what="image"):
    """Returns True for one image, False for a batch."""
    if image.dims is None:
        raise ValueError(f"'{what}' contains no shape.")
    rank = len(image.dims)
    if rank not in (3, 4):
        raise ValueError(f"'{what}' must have either 3 or 4 dimensions. Got {spec_text(image)}.")
    return rank == 3


def _image(image):
    """Returns an image or a batch as a tensor; one of unknown rank is taken for a single image."""
    image = convert_to_tensor(image, name="image")
    if image.dims is None:
        image = array.identity(image)
        image.set_shape([None, None, None])
    return image


def _axis(image, axis):
    """Returns the position of axis 0 (height) or 1 (width) of an image or a batch."""
    return axis if _is_single(image) else axis + 1


def _solid(image):
    """Returns what `_image` does, and refuses fewer axes than three, and images known to have no pixels or channels."""
    image = _image(image)
    if len(image.dims) < 3:
        raise ValueError(f"'image' must be at least three-dimensional: it is an image or a batch of them, not "
                         f"{spec_text(image)}.")
    _not_empty(image)
    return image


def flip_left_right(image):
    """Returns an image, or a batch of them, with columns in reverse order."""
    with get_default_graph().name_scope("flip_left_right"):
        image = _solid(image)
        return reverse(image, [_axis(image, 1)])


def flip_up_down(image):
    """Returns an image, or a batch of them, with rows in reverse order."""
    with get_default_graph().name_scope("flip_up_down"):
        image = _solid(image)
        return reverse(image, [_axis(image, 0)])


def transpose_image(image, name=None):
    """Returns an image, or a batch of them, with rows and columns exchanged."""
    with get_default_graph().name_scope(name or "transpose_image"):
        image = _solid(image)
        return array.transpose(image, [1, 0, 2] if _is_single(image) else [0, 2, 1, 3], name="transpose")


def rot90(image, k=1, name=None):
    """Returns an image, or a batch of them, turned counter-clockwise `k` times by 90 degrees; `k` is a scalar."""
    with get_default_graph().name_scope(name or "rot90"):
        image = _image(image)
        if hasattr(k, "_as_graph_element"):
            return _turned(image, math.floormod(k, 4))
        turns = k % 4
        if turns == 1:
            return flip_up_down(transpose_image(image))
        if turns == 2:
            return flip_up_down(flip_left_right(image))
        return transpose_image(flip_up_down(image)) if turns == 3 else image


def _turned(image, turns):
    """`rot90` by a number of turns that a run tells: perhaps a transposition, then flips."""
    turns = array.reshape(turns, [])  # its rank may not be known
    first = 0 if _is_single(image) else 1
    axes = np.arange(first, first + 2, dtype=np.int32)
    order = np.arange(first + 3, dtype=np.int32)
    swapped = order.copy()
    swapped[axes] = axes[::-1]
    order = where_v2(equal(math.floormod(turns, 2), 1), swapped, order)
    flips = array.stack([equal(turns, 1) | equal(turns, 2), greater_equal(turns, 2)])
    turned = reverse(array.transpose(image, order), indexing.boolean_mask(axes, flips))
    if image.dims is not None:
        turned.set_shape([*image.dims[:first], None, None, image.dims[-1]])
    return turned


def _random_flip(image, axis, seed, name):
    with get_default_graph().name_scope(name):
        image = _solid(image)
        single = _is_single(image)
        chosen = less(random_uniform([] if single else array.shape(image)[:1], seed=seed), 0.5)
        return select(chosen, reverse(image, [_axis(image, axis)]), image)


def random_flip_left_right(image, seed=None):
    """Returns the image flipped left to right or not, with even chances (each image of a batch for itself)."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image, seed=None):
    """Returns the image flipped upside down or not, with even chances (each image of a batch for itself)."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _sizes(image):
    """Returns (axis of the height, [height, width]): ints where they are known, else scalar tensors."""
    y = _axis(image, 0)
    shape = None if None not in image.dims[y:y + 2] else array.shape(image)
    return y, [shape[y + i] if d is None else d for i, d in enumerate(image.dims[y:y + 2])]


def _not_empty(image):
    """Refuses an image that is known to have no pixels or channels."""
    if 0 in image.dims[-3:]:
        raise ValueError(f"inner 3 dims of 'image.shape' must be > 0: {spec_text(image)}")


def _with_pixels(image):
    """Returns the image, or fails, when it is run at the latest, where it has no pixels or channels."""
    _not_empty(image)
    if None not in image.dims[-3:]:
        return image
    return _required(image, (reduce_all(greater(array.shape(image)[-3:], 0)), "all dims of 'image.shape' must be > 0."))


def _plain(*values):
    """Returns values as Python ints as far as they are known."""
    found = [v.value() if isinstance(v, Tensor) else v for v in values]
    return [v if f is None else int(f) for v, f in zip(values, found)]


def _required(image, *checks):
    """Returns the image, after checks (condition, message): at once where a condition is known, else when it runs."""
    later = []
    for condition, message in checks:
        if not isinstance(condition, Tensor):
            if not condition:
                raise ValueError(message)
        else:
            later.append(check.Assert(condition, [message]))
    return with_dependencies(later, image) if later else image


def _known_or_none(*values):
    return [v if isinstance(v, int) else None for v in values]


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Returns the image at (offset_height, offset_width) of a field of zeros of the target size; ints or int32 scalars.

    Raises:
      ValueError: negative offsets, or a target too small; InvalidArgumentError (when run) if that was not known before.
    """
    with get_default_graph().name_scope("pad_to_bounding_box"):
        image = _image(image)
        y, (height, width) = _sizes(image)
        image = _with_pixels(image)
        top, left, target_height, target_width = _plain(offset_height, offset_width, target_height, target_width)
        below, right = target_height - top - height, target_width - left - width
        image = _required(
            image, (offset_height >= 0, "offset_height must be >= 0"), (offset_width >= 0, "offset_width must be >= 0"),
            (below >= 0, f"height must be <= target - offset: {height} in {target_height} at {top}"),
            (right >= 0, f"width must be <= target - offset: {width} in {target_width} at {left}"))
        top, below, left, right = (_either(max, math.maximum, e, 0) for e in (top, below, left, right))  # the checks come first
        edges = [[0, 0]] * y + [[top, below], [left, right], [0, 0]]
        padded = pad(image, edges if all(isinstance(e, int) for p in edges for e in p) else
                     array.stack([array.stack(p) for p in edges]))
        padded.set_shape([*image.dims[:y], *_known_or_none(target_height, target_width), image.dims[-1]])
        return padded


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    """Returns the part of the target size at (offset_height, offset_width); ints or int32 scalars.

    Raises:
      ValueError: the part reaches outside the image, or is empty; InvalidArgumentError (when run) if that was not known
        before.
    """
    with get_default_graph().name_scope("crop_to_bounding_box"):
        image = _image(image)
        y, (height, width) = _sizes(image)
        image = _with_pixels(image)
        image = _required(
            image, (offset_height >= 0, "offset_height must be >= 0."), (offset_width >= 0, "offset_width must be >= 0."),
            (target_height > 0, "target_height must be > 0."), (target_width > 0, "target_width must be > 0."))
        top, left, target_height, target_width = _plain(offset_height, offset_width, target_height, target_width)
        image = _required(
            image,
            (height - top - target_height >= 0, f"height must be >= target + offset: {height} for {target_height} at {top}"),
            (width - left - target_width >= 0, f"width must be >= target + offset: {width} for {target_width} at {left}"))
        rows, columns = slice(top, top + target_height), slice(left, left + target_width)
        cropped = image[(slice(None),) * y + (rows, columns)]
        cropped.set_shape([*image.dims[:y], *_known_or_none(target_height, target_width), image.dims[-1]])
        return cropped


def _margin(n, part):
    n = math.cast(n, dtypes.float64)
    return math.cast((n - n * part) / 2, dtypes.int32)


def central_crop(image, central_fraction):
    """Returns the middle part of an image, that fraction (in (0, 1]) of its height and width."""
    with get_default_graph().name_scope("central_crop"):
        image = _image(image)
        if not 0 < central_fraction <= 1:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1:
            return image
        _, (height, width) = _sizes(image)
        top, left = (_either(lambda n, part: int((n - n * part) / 2), _margin, n, central_fraction) for n in (height, width))
        return crop_to_bounding_box(image, top, left, height - 2 * top, width - 2 * left)


def _either(known, built, a, b):
    """Returns `known(a, b)` of two ints, or what `built` makes of them if one is a tensor."""
    return built(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else known(a, b)


def resize_image_with_crop_or_pad(image, target_height, target_width):
    """Returns the image cut or filled with zeros on both sides to the target size, ints or int32 scalars."""
    with get_default_graph().name_scope("resize_image_with_crop_or_pad"):
        image = _image(image)
        y, sizes = _sizes(image)
        image = _with_pixels(image)
        targets = _plain(target_height, target_width)
        image = _required(image, (target_height > 0, "target_height must be > 0."),
                          (target_width > 0, "target_width must be > 0."))
        cut = [_either(max, math.maximum, (n - t) // 2, 0) for n, t in zip(sizes, targets)]
        image = crop_to_bounding_box(image, *cut, *(_either(min, math.minimum, t, n) for n, t in zip(sizes, targets)))
        fill = [_either(max, math.maximum, (t - n) // 2, 0) for n, t in zip(sizes, targets)]
        return pad_to_bounding_box(image, *fill, *targets)


def resize_image_with_pad(image, target_height, target_width, method=ResizeMethod.BILINEAR, align_corners=False):
    """Returns the image at the largest size within the target that keeps its form, zeros around it.

    Args:
      target_height, target_width: ints or int32 scalars.
      method, align_corners: as for `resize_images`.
    """
    with get_default_graph().name_scope("resize_image_with_pad"):
        image = convert_to_tensor(image, name="image")
        y, sizes = _sizes(image)
        image = _with_pixels(image)
        targets = _plain(target_height, target_width)
        image = _required(image, (targets[0] > 0, "target_height must be > 0."), (targets[1] > 0, "target_width must be > 0."))
        if all(isinstance(n, int) for n in (*sizes, *targets)):
            ratio = max(n / t for n, t in zip(sizes, targets))
            inner = [int(np.floor(n / ratio)) for n in sizes]
            before = [max(0, int(np.floor((t - n / ratio) / 2))) for n, t in zip(sizes, targets)]
        else:
            n, t = (math.cast(array.stack(v), dtypes.float64) for v in (sizes, targets))
            ratio = reduce_max(n / t)
            inner = array.unstack(math.cast(math.floor(n / ratio), dtypes.int32))
            before = array.unstack(math.maximum(math.cast(math.floor((t - n / ratio) / 2), dtypes.int32), 0))
        return pad_to_bounding_box(resize_images(image, array.stack(inner) if isinstance(inner[0], Tensor) else inner, method,
                                                 align_corners), *before, *targets)


# -- colours -------------------------------------------------------------------------------------
def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Returns an image in another dtype; floats mean [0, 1], integers their whole range from 0.

    Args:
      saturate: clip what the new dtype cannot hold.
    """
    image, dtype = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if dtype is image.dtype:
        return array.identity(image, name=name)
    cast = math.saturate_cast if saturate else math.cast
    with get_default_graph().name_scope(name or "convert_image"):
        if image.dtype.is_integer and dtype.is_integer:
            old, new = int(image.dtype.max), int(dtype.max)
            if old > new:
                return cast(image // ((old + 1) // (new + 1)), dtype)
            return cast(image, dtype) * ((new + 1) // (old + 1))
        if image.dtype.is_floating and dtype.is_floating:
            return math.cast(image, dtype)
        if image.dtype.is_integer:
            return math.cast(image, dtype) * (1.0 / image.dtype.max)
        return cast(image * (dtype.max + 0.5), dtype)


def _as_float(image, f, name):
    """Returns `f` of the image as floats, in the image's own dtype."""
    with get_default_graph().name_scope(name):
        image = convert_to_tensor(image, name="image")
        if image.dtype.is_floating:
            return f(image)
        return convert_image_dtype(f(convert_image_dtype(image, dtypes.float32)), image.dtype, saturate=True)


def _at_least_3d(x):
    if x.dims is not None and len(x.dims) < 3:
        raise ValueError(f"Shape must be at least rank 3 but is rank {len(x.dims)}: an image or a batch of them, not "
                         f"{spec_text(x)}.")
    return x


def _number(value, like):
    """Returns a number or scalar tensor in the dtype of `like`."""
    return math.cast(value, like.dtype) if hasattr(value, "dtype") else convert_to_tensor(value, like.dtype)


def adjust_brightness(image, delta):
    """Returns the image with `delta` (a fraction of the whole range) added to every pixel."""
    return _as_float(image, lambda x: x + _number(delta, x), "adjust_brightness")


def adjust_contrast(images, contrast_factor):
    """Returns images whose distance from each channel's mean is multiplied by `contrast_factor`."""

    def adjust(x):
        mean = reduce_mean(_at_least_3d(x), [-3, -2], keepdims=True)
        return (x - mean) * _number(contrast_factor, x) + mean

    return _as_float(images, adjust, "adjust_contrast")


def adjust_gamma(image, gamma=1, gain=1):
    """Returns gain * image^gamma, on a scale from 0 to 1.

    Raises:
      ValueError: a negative gamma; InvalidArgumentError (when run) if it is a tensor.
    """

    def adjust(x):
        wanted = "Gamma should be a non-negative real number."
        return math.pow(_required(x, (greater_equal(gamma, 0) if is_tensor(gamma) else gamma >= 0, wanted)),
                        _number(gamma, x)) * gain

    return _as_float(image, adjust, "adjust_gamma")


def _colours_infer(x):
    if x.dims is not None and (not x.dims or x.dims[-1] not in (None, 3)):
        raise ShapeError(f"images must have 3 channels on the last axis, got {spec_text(x)}")
    return same(x)


def _rgb_to_hsv_lower(b, x):
    planes = b.np.moveaxis(x, -1, 0)
    r, g, blue = planes if b.is_host else b.apart(planes)[0]  # XLA is slow where it computes with every third number
    kind = x.dtype.type
    value = b.np.maximum(b.np.maximum(r, g), blue)
    spread = value - b.np.minimum(b.np.minimum(r, g), blue)
    flat = spread <= 0
    safe = b.np.where(flat, kind(1), spread)
    saturation = b.np.where(value > 0, spread / b.np.where(value > 0, value, kind(1)), kind(0))
    sixth = b.np.where(r == value, (g - blue) / safe, b.np.where(g == value, (blue - r) / safe + kind(2),
                                                                (r - g) / safe + kind(4))) / kind(6)
    hue = b.np.where(flat, kind(0), b.np.where(sixth < 0, sixth + kind(1), sixth))
    return b.np.stack([hue, saturation, value], -1).astype(x.dtype)


def _hsv_to_rgb_lower(b, x):
    hue, saturation, value = x[..., 0], x[..., 1], x[..., 2]
    kind = x.dtype.type
    sixth = hue * kind(6)
    parts = [b.np.abs(sixth - kind(3)) - kind(1), kind(2) - b.np.abs(sixth - kind(2)), kind(2) - b.np.abs(sixth - kind(4))]
    return b.np.stack([((b.np.clip(p, kind(0), kind(1)) - kind(1)) * saturation + kind(1)) * value for p in parts],
                      -1).astype(x.dtype)


rgbtohsv_op = define_op("RGBToHSV", "images", types={"T": FLOATING}, infer=_colours_infer, lower=_rgb_to_hsv_lower)
hsvtorgb_op = define_op("HSVToRGB", "images", types={"T": FLOATING}, infer=_colours_infer, lower=_hsv_to_rgb_lower)


def rgb_to_hsv(images, name=None):
    """Returns hue, saturation and value, all from 0 to 1, of images with channels red, green and blue."""
    return rgbtohsv_op(images, name=name)


def hsv_to_rgb(images, name=None):
    """Returns red, green and blue of images with channels hue, saturation and value."""
    return hsvtorgb_op(images, name=name)


def adjust_hue(image, delta, name=None):
    """Returns the image with hue turned by `delta`, a fraction of the circle of colours."""

    def adjust(x):
        h, s, v = array.unstack(rgb_to_hsv(_at_least_3d(x)), axis=-1)
        return hsv_to_rgb(array.stack([math.floormod(h + _number(delta, x), 1.0), s, v], axis=-1))

    return _as_float(image, adjust, name or "adjust_hue")


def adjust_saturation(image, saturation_factor, name=None):
    """Returns the image with saturation multiplied by `saturation_factor` and clipped to [0, 1]."""

    def adjust(x):
        h, s, v = array.unstack(rgb_to_hsv(_at_least_3d(x)), axis=-1)
        s = clip_by_value(s * _number(saturation_factor, x), 0.0, 1.0)
        return hsv_to_rgb(array.stack([h, s, v], axis=-1))

    return _as_float(image, adjust, name or "adjust_saturation")


def rgb_to_grayscale(images, name=None):
    """Returns 0.2989 red + 0.587 green + 0.114 blue, one channel."""
    return _as_float(images, lambda x: reduce_sum(x * np.array([0.2989, 0.587, 0.114], x.dtype.as_numpy_dtype), -1,
                                                  keepdims=True), name or "rgb_to_grayscale")


def grayscale_to_rgb(images, name=None):
    """Returns images of one channel with that channel three times."""
    with get_default_graph().name_scope(name or "grayscale_to_rgb"):
        images = convert_to_tensor(images, name="images")
        if images.dims is None:
            return tile(images, array.concat([array.ones([array.rank(images) - 1], dtypes.int32), [3]], 0))
        if not images.dims or images.dims[-1] not in (1, None):
            raise ValueError(f"Last dimension of a grayscale image should be size 1, got {spec_text(images)}.")
        return tile(images, [1] * (len(images.dims) - 1) + [3])


def per_image_standardization(image):
    """Returns images of mean 0 and deviation 1 each; the deviation counts as at least 1 / sqrt(number of elements)."""
    with get_default_graph().name_scope("per_image_standardization") as scope:
        image = convert_to_tensor(image, name="image")
        image = image if image.dtype.is_floating else math.cast(image, dtypes.float32)
        n = math.cast(array.size(image[0] if not _is_single(image) else image), image.dtype)
        centred = image - reduce_mean(image, [-3, -2, -1], keepdims=True)
        deviation = math.sqrt(reduce_mean(math.square(centred), [-3, -2, -1], keepdims=True))
        return math.divide(centred, math.maximum(deviation, math.rsqrt(n)), name=scope)


# -- measures ------------------------------------------------------------------------------------------
def total_variation(images, name=None):
    """Returns the sum of |differences| of neighbouring pixels: a scalar, or one number per image of a batch."""
    with get_default_graph().name_scope(name or "total_variation"):
        images = convert_to_tensor(images)
        if images.dims is None or len(images.dims) not in (3, 4):
            raise ValueError(f"'images' must be either 3 or 4-dimensional, got {spec_text(images)}.")
        rows = math.abs(images[..., 1:, :, :] - images[..., :-1, :, :])
        columns = math.abs(images[..., :, 1:, :] - images[..., :, :-1, :])
        return reduce_sum(rows, [-3, -2, -1]) + reduce_sum(columns, [-3, -2, -1])


def image_gradients(image):
    """Returns (dy, dx), differences with the next row and column of [batch, height, width, channels], 0 at the end."""
    image = convert_to_tensor(image)
    if image.dims is None or len(image.dims) != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    dy = pad(image[:, 1:] - image[:, :-1], [[0, 0], [0, 1], [0, 0], [0, 0]])
    dx = pad(image[:, :, 1:] - image[:, :, :-1], [[0, 0], [0, 0], [0, 1], [0, 0]])
    return dy, dx


def _scaled(images, max_val):
    """Returns images and the largest value of theirs, both as float32."""
    images = [convert_to_tensor(x) for x in images]
    dtype = images[0].dtype
    max_val = convert_image_dtype(math.cast(max_val, dtype), dtypes.float32)
    return [convert_image_dtype(x, dtypes.float32) for x in images], max_val


def psnr(a, b, max_val, name=None):
    """Returns the peak signal-to-noise ratio, 10 log10(max_val^2 / mean squared error), float32, per image."""
    with get_default_graph().name_scope(name or "PSNR"):
        (a, b), max_val = _scaled((a, b), max_val)
        error = reduce_mean(math.squared_difference(a, b), [-3, -2, -1])
        return (20 * math.log(max_val) - 10 * math.log(error)) / np.float32(_math.log(10))


def _similarity(x, y, max_val, filter_size, filter_sigma, k1, k2):
    """Returns (luminance * contrast and structure, contrast and structure), means over each channel: [..., channels]."""
    steps = np.arange(filter_size) - (filter_size - 1) / 2
    window = np.exp(-0.5 * (steps / filter_sigma) ** 2)
    channels = x.dims[-1]
    column = (window / window.sum()).astype(np.float32)[:, None, None, None]
    column = np.tile(column, [1, 1, channels, 1]) if channels else tile(column, array.stack([1, 1, array.shape(x)[-1], 1]))
    row = array.transpose(column, [1, 0, 2, 3])

    def blur(t):
        # The window is a column times a row: a fifth of the products of both at once.
        return depthwise_conv2d(depthwise_conv2d(t, column, [1, 1, 1, 1], "VALID"), row, [1, 1, 1, 1], "VALID")

    c1, c2 = math.square(k1 * max_val), math.square(k2 * max_val)
    mean_x, mean_y = blur(x), blur(y)
    luminance = (2 * mean_x * mean_y + c1) / (math.square(mean_x) + math.square(mean_y) + c1)
    products, squares = 2 * blur(x * y), blur(math.square(x) + math.square(y))
    structure = (products - 2 * mean_x * mean_y + c2) / (squares - math.square(mean_x) - math.square(mean_y) + c2)
    return reduce_mean(luminance * structure, [-3, -2]), reduce_mean(structure, [-3, -2])


def _as_batches(images):
    """Returns [..., height, width, channels] as batches, and a function that gives their numbers the shape [...]."""
    if all(x.rank == 4 for x in images):
        return images, lambda y: y
    sizes = array.shape(images[0])
    flat = []
    for x in images:
        y = array.reshape(x, array.concat([[-1], array.shape(x)[-3:]], 0))
        y.set_shape([None, *([None] * 3 if x.dims is None else x.dims[-3:])])
        flat.append(y)
    return flat, lambda y: array.reshape(y, sizes[:-3])


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """Returns the structural similarity of images (Wang et al. 2004), in [-1, 1], one number per image.

    Args:
      img1, img2: [..., height, width, channels] of one shape, at least `filter_size` high and wide.
      max_val: the largest value a pixel may have.
      filter_size, filter_sigma: of the Gaussian window.
      k1, k2: constants that keep divisions by small numbers away.
    """
    with get_default_graph().name_scope("SSIM"):
        images, max_val = _scaled((img1, img2), max_val)
        images, shaped = _as_batches(images)
        return shaped(reduce_mean(_similarity(*images, max_val, filter_size, filter_sigma, k1, k2)[0], [-1]))


_SCALES = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


def ssim_multiscale(img1, img2, max_val, power_factors=_SCALES, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
    """Returns the structural similarity over several scales (Wang et al. 2003), in [0, 1], one number per image.

    Args:
      img1, img2: [..., height, width, channels] of one shape; at the coarsest scale, each half of the one before, they
        must still be at least `filter_size` high and wide.
      power_factors: the weight of each scale, the finest first.
      max_val, filter_size, filter_sigma, k1, k2: as for `ssim`.
    """
    with get_default_graph().name_scope("MS-SSIM"):
        images, max_val = _scaled((img1, img2), max_val)
        images, shaped = _as_batches(images)
        parts = []
        for k in range(len(power_factors)):
            if k:
                # Odd sizes are made even by repeating the last row or column.
                _, sizes = _sizes(images[0])
                odd = [[0, 0], [0, sizes[0] % 2], [0, sizes[1] % 2], [0, 0]]
                if any(isinstance(n, Tensor) for n in sizes):
                    odd = array.stack([array.stack(p) for p in odd])
                images = [avg_pool(pad(x, odd, "SYMMETRIC"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID") for x in images]
            whole, structure = _similarity(*images, max_val, filter_size, filter_sigma, k1, k2)
            parts.append(relu(structure if k < len(power_factors) - 1 else whole))
        powers = math.pow(array.stack(parts, axis=-1), np.array(power_factors, np.float32))
        return shaped(reduce_mean(reduce_prod(powers, [-1]), [-1]))


def sobel_edges(image):
    """Returns Sobel's derivatives of [batch, height, width, channels]: [batch, height, width, channels, 2], dy and dx."""
    image = convert_to_tensor(image)
    channels = image.dims[-1]
    dy = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], image.dtype.as_numpy_dtype)
    kernel = np.tile(np.stack([dy, dy.T], -1)[:, :, None], [1, 1, channels, 1])
    edges = depthwise_conv2d(pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"), kernel, [1, 1, 1, 1], "VALID")
    dims = [array.shape(image)[i] if d is None else d for i, d in enumerate(image.dims)]
    return array.reshape(edges, array.stack([*dims, 2]) if any(not isinstance(d, int) for d in dims) else [*dims, 2])
