"""Images."""

import colorsys

import numpy as np

import regrad as tf
from regrad.core.errors import ShapeError
from regrad.ops import image, math
from tests.cases import Bad, Case, Edge

X = np.random.RandomState(3).rand(2, 4, 5, 3)
SINGLE = {"rtol": 1e-5, "derivatives": False}  # the op computes in float32


def linear(x, m, align, half):
    """Interpolates along the first axis to `m` points."""
    n = len(x)
    scale = (n - 1) / (m - 1) if align and m > 1 else n / m
    src = np.clip([(i + 0.5) * scale - 0.5 if half else i * scale for i in range(m)], 0, n - 1)
    flat = x.reshape(n, -1)
    return np.stack([np.interp(src, np.arange(n), c) for c in flat.T], 1).reshape(m, *x.shape[1:])


def mean_areas(x, m):
    n = len(x)
    parts = np.repeat(x, m, axis=0).reshape(m, n, *x.shape[1:])  # each point stands m times, each area has n of them
    return parts.mean(1)


def nearest(x, m, align, half):
    n = len(x)
    scale = (n - 1) / (m - 1) if align and m > 1 else n / m
    at = [int(np.floor((i + 0.5 * (half or align) * (1 if half else 1 / scale)) * scale + 1e-6)) for i in range(m)]
    return x[np.minimum(at, n - 1)]


def transposed(kind, dy, x):
    """The transpose of a resizing, from what it makes of the rows and columns of a unit matrix."""
    kind = {"ResizeBilinear": "bilinear", "ResizeBicubic": "bicubic", "ResizeArea": "area", "ResizeNearestNeighbor": "nearest"}[kind]
    rows, columns = (image.resize_weights(kind, n, m) for n, m in zip(x.shape[1:3], dy.shape[1:3]))
    out = np.einsum("bmnc,mh,nw->bhwc", dy, rows, columns)
    return out if kind == "nearest" else out.astype(np.float32)


def on_both(f, size, *args):
    def reference(x):
        x = np.moveaxis(f(np.moveaxis(x, 1, 0), size[0], *args), 0, 1)
        return np.moveaxis(f(np.moveaxis(x, 2, 0), size[1], *args), 0, 2).astype(np.float32 if f is not nearest else x.dtype)

    return reference


def per_pixel(f):
    return lambda x: np.array([f(*p) for p in x.reshape(-1, 3)]).reshape(x.shape)


_KINDS = [(False, False), (True, False), (False, True)]
_SIZES = [(2, 3), (7, 9), (1, 1)]
_CORNERS = np.random.RandomState(6).rand(1, 32, 32, 1)
_HSV = np.array([[0.1, 0.4, 0.8], [0.55, 0.9, 0.3], [0.9, 0.2, 0.5]])
CASES = [
    *(Case("ResizeBilinear", lambda x, s=s, a=a, h=h: image.resize_bilinear(x, s, a, half_pixel_centers=h),
           on_both(linear, s, a, h), (X,), dtypes=(), note=f"{s}{a}{h}", **SINGLE) for s in _SIZES for a, h in _KINDS),
    *(Case(f"{kind}Grad", lambda dy, x, back=back: back(math.cast(dy, "float32"), math.cast(x, "float32")),
           lambda dy, x, kind=kind: transposed(kind, dy, x), ((2, 3, 7, 3), X), dtypes=(), rtol=3e-5, derivatives=False)
      for kind, back in (("ResizeBilinear", image.resizebilineargrad_op), ("ResizeBicubic", image.resizebicubicgrad_op),
                         ("ResizeArea", image.resizeareagrad_op))),
    Case("ResizeNearestNeighborGrad", lambda dy: image.resizenearestgrad_op(dy, np.array([4, 5], np.int32)),
         lambda dy: transposed("ResizeNearestNeighbor", dy, X), ((2, 3, 7, 3),), dtypes=()),
    *(Case("ResizeNearestNeighbor", lambda x, s=s, a=a, h=h: image.resize_nearest_neighbor(x, s, a, half_pixel_centers=h),
           on_both(nearest, s, a, h), (X,), note=f"{s}{a}{h}") for s in _SIZES[:2] for a, h in _KINDS),
    *(Case("ResizeArea", lambda x, s=s: image.resize_area(x, s), on_both(mean_areas, s), (X,), dtypes=(), note=str(s), **SINGLE)
      for s in _SIZES),
    Case("ResizeBicubic", lambda x: image.resize_bicubic(x, [4, 5]), lambda x: x.astype(np.float32), (X,), dtypes=(),
         note="same size", **SINGLE),
    Case("CropAndResize", lambda x: image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [1], [7, 9]),
         lambda x: on_both(linear, (7, 9), True, False)(x)[1:], (X,), dtypes=(), note="whole", **SINGLE),
    Case("CropAndResize", lambda x: image.crop_and_resize(x, [[1.0, 1.0, 0.0, 0.0]], [0], [4, 5], extrapolation_value=7.0),
         lambda x: x[:1, ::-1, ::-1].astype(np.float32), (X,), dtypes=(), note="turned", **SINGLE),
    Case("CropAndResize", lambda x: image.crop_and_resize(x, [[0.0, -1.0, 1.0, 0.0]], [0], [4, 2], "nearest", 7.0),
         lambda x: np.stack([np.full((1, 4, 3), 7.0), x[:1, :, 0]], 2).astype(np.float32), (X,), dtypes=(), note="outside",
         **SINGLE),
    # The last point of a whole image lies on its last pixel, also where the step to it is rounded.
    *(Case("CropAndResize", lambda x, s=s, m=m, box=box: image.crop_and_resize(x, [box], [0], s, m, -9.0), None, (_CORNERS,),
           dtypes=(), note=f"corners {s} {m} {box}", **SINGLE)
      for s in ([16, 16], [7, 23], [29, 3]) for m in ("bilinear", "nearest") for box in ([0.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0])),
    Case("CropAndResize", lambda x, b: image.crop_and_resize(x, math.cast(b, "float32"), [0] * 8, [9, 11], "nearest", -9.0), None,
         (_CORNERS, np.round(np.random.RandomState(5).rand(8, 4), 1)), wrt=(0,), dtypes=(), note="tenths", **SINGLE),
    Case("RGBToHSV", image.rgb_to_hsv, per_pixel(colorsys.rgb_to_hsv), (X,)),
    Case("HSVToRGB", image.hsv_to_rgb, per_pixel(colorsys.hsv_to_rgb), (_HSV,)),
    Case("ReverseV2", image.flip_left_right, lambda x: x[:, :, ::-1], (X,), unknown=False, note="flip"),
    Case("ReverseV2", image.flip_up_down, lambda x: x[::-1], (X[0],), unknown=False, note="flip"),
    *(Case("Transpose" if k % 2 else "ReverseV2", lambda x, k=k: image.rot90(x, k), lambda x, k=k: np.rot90(x, k, (1, 2)), (X,),
           unknown=False, note=f"rot{k}") for k in (1, 2, 3, -1)),
    Case("Pad", lambda x: image.pad_to_bounding_box(x, 1, 2, 6, 8),
         lambda x: np.pad(x, [[0, 0], [1, 1], [2, 1], [0, 0]]), (X,), unknown=False, note="box"),
    Case("StridedSlice", lambda x: image.central_crop(x, 0.5), lambda x: x[:, 1:3, 1:4], (X,), unknown=False, note="middle"),
    Case("Pad", lambda x: image.resize_image_with_crop_or_pad(x, 2, 8),
         lambda x: np.pad(x[:, 1:3], [[0, 0], [0, 0], [1, 2], [0, 0]]), (X,), unknown=False, note="crop or pad"),
    Case("Mul", lambda x: image.adjust_contrast(x, 1.5),
         lambda x: (x - x.mean((1, 2), keepdims=True)) * 1.5 + x.mean((1, 2), keepdims=True), (X,), note="contrast"),
    Case("RGBToHSV", lambda x: image.adjust_saturation(x, 1.1), per_pixel(
        lambda *p: colorsys.hsv_to_rgb(*(c * f for c, f in zip(colorsys.rgb_to_hsv(*p), (1, 1.1, 1))))),
         (0.2 + 0.5 * X[:, :2],), unknown=False, note="saturation", dtypes=()),
    Case("Sum", image.rgb_to_grayscale, lambda x: x @ [[0.2989], [0.587], [0.114]], (X,), unknown=False, note="gray"),
    Case("Rsqrt", image.per_image_standardization, lambda x: (x - x.mean((1, 2, 3), keepdims=True)) / x.std(
        (1, 2, 3), keepdims=True), (X,), unknown=False, note="standard"),
    Case("Abs", image.total_variation, lambda x: np.abs(np.diff(x, axis=1)).sum((1, 2, 3)) + np.abs(
        np.diff(x, axis=2)).sum((1, 2, 3)), (X,), unknown=False, note="variation"),
    Case("Sub", lambda x: list(image.image_gradients(x)), lambda x: (
        np.diff(x, axis=1, append=x[:, -1:]), np.diff(x, axis=2, append=x[:, :, -1:])), (X,), unknown=False, note="image"),
    Case("Log", lambda x: image.psnr(x, x * 0.5, 1.0), lambda x: (-10 * np.log10((0.25 * x * x).mean((1, 2, 3)))).astype(
        np.float32), (X,), unknown=False, dtypes=(), note="psnr", **SINGLE),
    # The gradient of a resizing is its transpose: what arrives is given back to where it came from.
    Edge("ResizeBilinear", lambda x: image.resize_bilinear(x, [1, 4]), (np.zeros((1, 1, 2, 1)),),
         (np.array([1.5, 2.5]).reshape(1, 1, 2, 1),), note="transpose"),
    # And the transpose's is the resizing again.
    *(Edge(f"{kind}Grad", lambda dy, x, back=back: math.cast(back(math.cast(dy, "float32"), math.cast(x, "float32")), "float64"),
           (np.zeros((1, 1, len(resized), 1)), np.zeros((1, 1, len(given), 1))), (np.reshape(resized, (1, 1, -1, 1)), None),
           dy=np.reshape(given, (1, 1, -1, 1)), note="transpose")
      for kind, back, given, resized in (("ResizeBilinear", image.resizebilineargrad_op, [1.0, 3.0], [1.0, 2.0, 3.0, 3.0]),
                                         ("ResizeBicubic", image.resizebicubicgrad_op, [1.0, 3.0, 4.0], [1.0, 3.0, 4.0]))),
    Edge("ResizeArea", lambda x: image.resize_area(x, [1, 1]), (np.zeros((1, 2, 2, 1)),), (np.full((1, 2, 2, 1), 0.25),),
         note="transpose"),
    Edge("ResizeBicubic", lambda x: image.resize_bicubic(x, [2, 2]), (np.zeros((1, 2, 2, 1)),), (np.ones((1, 2, 2, 1)),),
         note="transpose"),
    Edge("CropAndResize", lambda x: image.crop_and_resize(x, [[0.0, 0.25, 0.0, 0.25]], [0], [1, 1]),
         (np.zeros((1, 1, 3, 1)),), (np.array([0.5, 0.5, 0]).reshape(1, 1, 3, 1),), note="transpose"),
    Bad("ResizeBilinear", lambda: image.resize_bilinear(X[0], [2, 2]), ShapeError, "must be rank 4 but is rank 3 for images"),
    Bad("ResizeBilinear", lambda: image.resize_bilinear(X, [0, 2]), ShapeError, "size must be positive"),
    Bad("ResizeBilinear", lambda: image.resize_bilinear(X, [2]), ShapeError, "1-D Tensor of 2 elements"),
    Bad("ResizeBilinear", lambda: image.resize_bilinear(X, [2, 2], True, half_pixel_centers=True), ValueError,
        "align_corners must be False"),
    Bad("ResizeArea", lambda: tf.image.resize_images(X, [2, 2], method=9), ValueError, "not implemented"),
    Bad("CropAndResize", lambda: image.crop_and_resize(X, [[0.0, 1.0]], [0], [1, 1]), ShapeError, r"boxes must be \[boxes, 4\]"),
    Bad("RGBToHSV", lambda: image.rgb_to_hsv(X[..., :2]), ShapeError, "3 channels"),
    Bad("Pad", lambda: image.pad_to_bounding_box(X, 0, 0, 2, 9), ValueError, "must be <= target"),
    Bad("StridedSlice", lambda: image.crop_to_bounding_box(X, 2, 0, 3, 3), ValueError, "must be >= target"),
    Bad("ReverseV2", lambda: image.flip_left_right(tf.ones([3, 4])), ValueError, "must be at least three-dimensional"),
    Bad("ReverseV2", lambda: image.random_flip_up_down(tf.ones([3, 0, 1])), ValueError, "inner 3 dims of 'image.shape' must be > 0"),
    Bad("RGBToHSV", lambda: image.adjust_hue(tf.ones([2, 3]), 0.1), ValueError, "Shape must be at least rank 3 but is rank 2"),
    Bad("Pow", lambda: image.adjust_gamma(X, -1), ValueError, "Gamma should be a non-negative real number"),
    Bad("ResizeArea", lambda: tf.image.resize_images(X, [2.0, 2.0]), ValueError, "'size' must be a 1-D int32 Tensor"),
    Bad("ResizeArea", lambda: tf.image.resize_images(X, [2, 2, 2]), ValueError, "'size' must be a 1-D Tensor of 2 elements"),
    Bad("Abs", lambda: image.total_variation(tf.ones([2, 2])), ValueError, "'images' must be either 3 or 4-dimensional"),
]
