"""Images read at places that tensors say: scaled and moved, through projections, or point by point. Gradients: `warp_grad.py`.

What lies outside of an image is 0.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, REAL
from regrad.core.errors import BadValue, ShapeError
from regrad.core.opdef import Spec, define_op, rank_at_least, rank_is, spec_text
from regrad.core.shapes import compatible, merge
from regrad.ops.math import away_from_zero


# -- ScaleAndTranslate ---------------------------------------------------------------------------
def _lanczos(radius):
    def kernel(b, x):
        near = x <= np.float32(1e-3)
        z = b.np.where(near, np.float32(1), x) * np.float32(np.pi)
        value = radius * b.np.sin(z) * b.np.sin(z / np.float32(radius)) / (z * z)
        return b.np.where(near, np.float32(1), b.np.where(x > radius, np.float32(0), value))

    return kernel


def _pieces(*polynomials):
    """Returns the kernel that is polynomial i, coefficients from the highest power down, for x in [i, i + 1)."""
    def kernel(b, x):
        value = b.np.zeros_like(x)
        for i, coefficients in enumerate(polynomials):
            y = np.float32(0)
            for c in coefficients:
                y = y * x + np.float32(c)
            value = b.np.where((x >= i) & (x < i + 1), y, value)
        return value

    return kernel


def _gauss(b, x):
    return b.np.where(x >= np.float32(1.5), np.float32(0), b.np.exp(-2 * x * x))  # a deviation of 1/2, cut off at three


def _box(b, x):
    half = np.float32(0.5)
    return b.np.where(x < half, np.float32(1), b.np.where(x == half, half, np.float32(0)))


_KERNELS = {  # name: function of |x|, radius
    "lanczos1": (_lanczos(1), 1), "lanczos3": (_lanczos(3), 3), "lanczos5": (_lanczos(5), 5),
    "gaussian": (_gauss, 1.5), "box": (_box, 1), "triangle": (_pieces((-1, 1)), 1),
    "keyscubic": (_pieces((1.5, -2.5, 0, 1), (-0.5, 2.5, -4, 2)), 2),
    "mitchellcubic": (_pieces((7 / 6, -2, 0, 8 / 9), (-7 / 18, 2, -10 / 3, 16 / 9)), 2),
}


def _spans(b, n, m, scale, translation, kernel_type, antialias):
    """Returns the float32 matrix [m, n] that maps an axis of `n` pixels to one of `m`: scaled, then moved."""
    kernel, radius = _KERNELS[kernel_type]
    step = np.float32(1) / scale
    width = b.np.maximum(step, np.float32(1)) if antialias else np.float32(1)
    at = b.rounded((np.arange(m, dtype=np.float32) + np.float32(0.5)) * step) - b.rounded(step * translation)
    far = (b.np.asarray(np.arange(n, dtype=np.float32))[None] + np.float32(0.5) - at[:, None]) * (np.float32(1) / width)
    weights = b.np.where(b.np.abs(far) <= np.float32(radius), kernel(b, b.np.abs(far)), np.float32(0))
    total = b.np.sum(weights, axis=1, keepdims=True, dtype=np.float32)
    tiny = np.float32(1000 * np.finfo(np.float32).tiny)
    weights = b.np.where(b.np.abs(total) >= tiny, weights / b.np.where(total == 0, np.float32(1), total), weights)
    return b.np.where(((at >= 0) & (at <= n))[:, None], weights, np.float32(0))


def _check_scaling(x, scale, translation, kernel_type):
    rank_is(x, 4, "images [batch, height, width, channels]")
    for what, t in (("scale", scale), ("translation", translation)):
        if not compatible(t.dims, (2,)):
            raise ShapeError(f"{what} must be a vector of two numbers, for rows and columns; got {spec_text(t)}")
    if scale.value() is not None and not (scale.value() > 0).all():
        raise BadValue(f"scale must be greater than zero, got {scale.value().tolist()}")
    if kernel_type not in _KERNELS:
        raise BadValue(f"Unrecognized kernel type: {kernel_type!r}; it is one of {', '.join(_KERNELS)}")


def _scaled_infer(x, size, scale, translation, *, kernel_type, antialias):
    _check_scaling(x, scale, translation, kernel_type)
    rank_is(size, 1, "size")
    rows, columns = size.partial() or (None, None)
    if any(d is not None and d < 1 for d in (rows, columns)):
        raise ShapeError(f"output dimensions must be positive, got {rows} and {columns}")
    batch, channels = (None, None) if x.dims is None else (x.dims[0], x.dims[3])
    return Spec((batch, rows, columns, channels), dtypes.float32)


def _scaled_lower(b, x, size, scale, translation, *, kernel_type, antialias):
    x = x.astype(np.float32)
    for i, axis in enumerate((1, 2)):
        w = _spans(b, x.shape[axis], int(size[i]), scale[i], translation[i], kernel_type, antialias)
        x = b.np.moveaxis(b.np.tensordot(x, w, ((axis,), (1,))), -1, axis)
    return x


def _scaled_back_lower(b, dy, like, scale, translation, *, kernel_type, antialias):
    for i, axis in enumerate((1, 2)):
        w = _spans(b, like.shape[axis], dy.shape[axis], scale[i], translation[i], kernel_type, antialias)
        dy = b.np.moveaxis(b.np.tensordot(dy, w, ((axis,), (0,))), -1, axis)
    return dy.astype(like.dtype)


_SCALING = {"kernel_type": "lanczos3", "antialias": True}
scaleandtranslate_op = define_op("ScaleAndTranslate", "images: T, size: int32, scale: float32, translation: float32",
                                 types={"T": REAL}, static=(1,), attrs=_SCALING, infer=_scaled_infer, lower=_scaled_lower)
scaleandtranslategrad_op = define_op(
    "ScaleAndTranslateGrad", "grads: float32, original_image: T, scale: float32, translation: float32",
    types={"T": {dtypes.float32}}, attrs=_SCALING, shape_only=(1,), lower=_scaled_back_lower,
    infer=lambda dy, like, scale, translation, **attrs: Spec(like.dims, like.dtype))


# -- ImageProjectiveTransformV2 -------------------------------------------------------------------
def _read(b, images, rows, columns):
    """Returns pixels [batch, places ..., channels] at whole rows and columns [batch or 1, places ...]; 0 outside."""
    height, width = images.shape[1:3]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    batch = np.arange(images.shape[0]).reshape(-1, *[1] * (rows.ndim - 1))
    at = b.np.clip(rows, 0, height - 1).astype("int32"), b.np.clip(columns, 0, width - 1).astype("int32")
    return b.np.where(inside[..., None], images[(batch, *at)], images.dtype.type(0))


def _between(b, images, y, x):
    """Returns pixels at any places, bilinear between the four around."""
    top, left = b.stop_gradient(b.np.floor(y)), b.stop_gradient(b.np.floor(x))
    dy, dx = (y - top)[..., None], (x - left)[..., None]
    one = dy.dtype.type(1)
    upper = _read(b, images, top, left) * (one - dx) + _read(b, images, top, left + one) * dx
    lower = _read(b, images, top + one, left) * (one - dx) + _read(b, images, top + one, left + one) * dx
    return upper * (one - dy) + lower * dy


def _projected_infer(images, transforms, output_shape, *, interpolation):
    rank_is(images, 4, "images [batch, height, width, channels]")
    rank_is(transforms, 2, "transforms [batch or 1, 8]")
    if transforms.dims is not None and transforms.dims[1] not in (None, 8):
        raise ShapeError(f"Input transform should be num_images x 8 or 1 x 8, got {spec_text(transforms)}")
    if interpolation not in ("NEAREST", "BILINEAR"):
        raise BadValue(f"Invalid interpolation {interpolation!r}. Supported types: NEAREST, BILINEAR")
    rows, columns = output_shape.partial() or (None, None)
    batch, channels = (None, None) if images.dims is None else (images.dims[0], images.dims[3])
    return Spec((batch, rows, columns, channels), images.dtype)


def _projected_lower(b, images, transforms, output_shape, *, interpolation):
    rows, columns = (int(n) for n in output_shape)
    y, x = np.arange(rows, dtype=np.float32)[None, :, None], np.arange(columns, dtype=np.float32)[None, None]
    t = [transforms[:, i, None, None] for i in range(8)]
    depth = b.rounded(t[6] * x) + b.rounded(t[7] * y) + np.float32(1)
    seen = depth != 0
    depth = b.np.where(seen, depth, np.float32(1))
    x, y = ((b.rounded(t[i] * x) + b.rounded(t[i + 1] * y) + t[i + 2]) / depth for i in (0, 3))
    if interpolation == "BILINEAR":
        values = _between(b, images.astype(np.float32) if images.dtype.kind in "iu" else images, y, x)
    else:
        values = _read(b, images, away_from_zero(b, y), away_from_zero(b, x))
    return b.np.where(seen[..., None], values, values.dtype.type(0)).astype(images.dtype)


imageprojectivetransform_op = define_op(
    "ImageProjectiveTransformV2", "images: dtype, transforms: float32, output_shape: int32", static=(2,),
    types={"dtype": FLOATING | {dtypes.uint8, dtypes.int32, dtypes.int64}}, attrs={"interpolation": "NEAREST"},
    infer=_projected_infer, lower=_projected_lower)


# -- Resampler ------------------------------------------------------------------------------------------
def _resampled_infer(data, warp):
    rank_is(data, 4, "data [batch, height, width, channels]")
    rank_at_least(warp, 2, "warp [batch, ..., 2]")
    if warp.dims is not None and warp.dims[-1] not in (None, 2):
        raise ShapeError(f"warp should be of shape [batch, ..., 2], got {spec_text(warp)}")
    if warp.dims is None:
        return Spec(None, data.dtype)
    batch, channels = (None, None) if data.dims is None else (data.dims[0], data.dims[3])
    (batch,) = merge((batch,), warp.dims[:1], "data and warp have one batch size;")
    return Spec((batch, *warp.dims[1:-1], channels), data.dtype)


resampler_op = define_op("Resampler", "data: T, warp: T", types={"T": FLOATING}, infer=_resampled_infer,
                         lower=lambda b, data, warp: _between(b, data, warp[..., 1], warp[..., 0]))


def resampler(data, warp, name="resampler"):
    """Returns images read at points, bilinear between pixels and 0 outside: [batch, ..., channels].

    Args:
      data: floating [batch, height, width, channels].
      warp: [batch, ..., 2], of the same dtype: column and row of each point.
    """
    return resampler_op(convert_to_tensor(data, name="data"), warp, name=name)
