"""Rows for `regrad/ops/warp.py`."""

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import ShapeError
from regrad.ops import math, warp
from tests.cases import Bad, Case, Edge

X = np.random.RandomState(4).rand(2, 5, 6, 2)
F32 = np.float32
SINGLE = {"rtol": 3e-5, "derivatives": False}  # computed in float32
SCALE, MOVE = np.array([0.7, 1.2], F32), np.array([0.3, -0.4], F32)
PROJECTIONS = np.array([[1.1, 0.2, 0.3, -0.1, 0.9, 0.5, 0.01, -0.02], [1, 0, 1, 0, 1, -2, -0.5, 0]], F32)

KERNELS = {
    "lanczos1": (1, lambda x: np.sinc(x) * np.sinc(x)), "lanczos3": (3, lambda x: np.sinc(x) * np.sinc(x / 3)),
    "lanczos5": (5, lambda x: np.sinc(x) * np.sinc(x / 5)), "gaussian": (1.5, lambda x: np.exp(-2 * x * x)),
    "box": (0.5, np.ones_like), "triangle": (1, lambda x: 1 - abs(x)),
    "keyscubic": (2, lambda x: np.where(abs(x) < 1, 1.5 * abs(x) ** 3 - 2.5 * x * x + 1,
                                        -0.5 * abs(x) ** 3 + 2.5 * x * x - 4 * abs(x) + 2)),
    "mitchellcubic": (2, lambda x: np.where(abs(x) < 1, (21 * abs(x) ** 3 - 36 * x * x + 16) / 18,
                                            (-7 * abs(x) ** 3 + 36 * x * x - 60 * abs(x) + 32) / 18)),
}


def spans(n, m, scale, move, kernel, antialias):
    radius, function = KERNELS[kernel]
    width = max(1 / scale, 1) if antialias else 1
    out = np.zeros((m, n))
    for i in range(m):
        at = (i + 0.5 - move) / scale
        far = (np.arange(n) + 0.5 - at) / width
        if 0 <= at <= n:
            weights = np.where(abs(far) <= radius, function(far), 0)
            out[i] = weights / weights.sum()
    return out


def scaled(x, scale=SCALE, move=MOVE, *, size, kernel, antialias=True):
    rows, columns = (spans(n, m, s, t, kernel, antialias) for n, m, s, t in zip(x.shape[1:3], size, scale, move))
    return np.einsum("bhwc,mh,nw->bmnc", x, rows, columns).astype(F32)


def single(x):
    return math.cast(x, dtypes.float32)


def _scale(size, kernel, antialias=True):
    return lambda x, s, t: warp.scaleandtranslate_op(x, np.array(size, np.int32), single(s), single(t), kernel_type=kernel,
                                                     antialias=antialias)


def pixel(image, row, column):
    inside = 0 <= row < image.shape[0] and 0 <= column < image.shape[1]
    return image[int(row), int(column)] if inside else np.zeros(image.shape[2])


def between(image, y, x):
    top, left = np.floor(y), np.floor(x)
    return sum(pixel(image, top + i, left + j) * (1 - abs(y - top - i)) * (1 - abs(x - left - j)) for i in (0, 1) for j in (0, 1))


def projected(images, transforms, size, bilinear):
    out = np.zeros((len(images), *size, images.shape[3]))
    for n, row, column in np.ndindex(out.shape[:3]):
        t = transforms[n % len(transforms)].astype(float)
        depth = t[6] * column + t[7] * row + 1
        if depth:
            x, y = (t[0] * column + t[1] * row + t[2]) / depth, (t[3] * column + t[4] * row + t[5]) / depth
            out[n, row, column] = between(images[n], y, x) if bilinear else pixel(
                images[n], *(np.sign(v) * np.floor(abs(v) + 0.5) for v in (y, x)))
    return out.astype(images.dtype)


def _project(size, interpolation):
    return lambda x, t: warp.imageprojectivetransform_op(x, single(t), np.array(size, np.int32), interpolation=interpolation)


POINTS = np.random.RandomState(5).uniform(-1.4, 6.4, (2, 3, 4, 2))

CASES = [
    *(Case("ScaleAndTranslate", _scale((4, 7), kernel, antialias),
           lambda x, s, t, k=kernel, a=antialias: scaled(x, s, t, size=(4, 7), kernel=k, antialias=a),
           (X.astype(F32), SCALE, MOVE), note=f"{kernel} {antialias}", **SINGLE)
      for kernel, antialias in ((*((k, True) for k in KERNELS), ("lanczos3", False), ("mitchellcubic", False)))),
    Case("ScaleAndTranslate", _scale((9, 9), "triangle"),
         lambda x, s, t: scaled(x, (0.7, 3.0), (3.1, -4.0), size=(9, 9), kernel="triangle"),
         (np.round(X * 200).astype(np.uint8), np.array([0.7, 3.0], F32), np.array([3.1, -4.0], F32)), note="out of the image",
         **SINGLE),
    Case("ScaleAndTranslateGrad", lambda dy, x, s, t: warp.scaleandtranslategrad_op(*map(single, (dy, x, s, t)), kernel_type="triangle"),
         lambda dy, x, s, t: np.einsum("bmnc,mh,nw->bhwc", dy, spans(5, 4, *(float(v[0]) for v in (SCALE, MOVE)), "triangle", True),
                                       spans(6, 7, *(float(v[1]) for v in (SCALE, MOVE)), "triangle", True)).astype(F32),
         (np.random.RandomState(6).rand(2, 4, 7, 2).astype(F32), X.astype(F32), SCALE, MOVE), **SINGLE),
    Bad("ScaleAndTranslate", lambda: warp.scaleandtranslate_op(np.ones((1, 2, 2, 1), F32), [2, 2], [0.0, 1.0], [0.0, 0.0]),
        ValueError, "scale must be greater than zero"),
    Bad("ScaleAndTranslate", lambda: warp.scaleandtranslate_op(np.ones((1, 2, 2, 1), F32), [2, 2], [1.0, 1.0], [0.0, 0.0],
                                                               kernel_type="lancos"), ValueError, "Unrecognized kernel type"),
    *(Case("ImageProjectiveTransformV2", _project((4, 5), interpolation),
           lambda x, t, i=interpolation: projected(x, t, (4, 5), i == "BILINEAR"), (x, PROJECTIONS), rtol=3e-5, order=0,
           derivatives=False, dtypes=(), note=f"{interpolation} {x.dtype}")
      for interpolation in ("NEAREST", "BILINEAR") for x in (X, np.round(X * 200).astype(np.uint8))),
    # One image shifted by a whole pixel, one left where it is: what comes back from there is exact.
    # Places that are halves, whole numbers, or just beside one.
    *(Case("ImageProjectiveTransformV2", lambda x, i=interpolation, t=t: _project((9, 11), i)(x, np.array([t])), None, (X[:1],),
           dtypes=(), note=f"{interpolation} {t}", **SINGLE)
      for interpolation in ("NEAREST", "BILINEAR")
      for t in ((0.5, 0, 0, 0, 0.5, 0, 0, 0), (1.1, 0.1, -0.3, 0.1, 0.9, 0.5, 0, 0), (-0.1, 0.5, 2.5, 0.7, -0.3, 1.5, 0.1, 0.1))),
    *(Case("ScaleAndTranslate", lambda x, k=kernel, a=antialias: _scale((9, 11), k, a)(x, [1.5, 0.7], [0.35, 0.1]), None, (X,),
           dtypes=(), note=f"{kernel} {antialias} places", **SINGLE)
      for kernel in ("box", "triangle") for antialias in (True, False)),
    Edge("ImageProjectiveTransformV2", lambda x: warp.imageprojectivetransform_op(
        x, np.array([[1, 0, 1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 1, 0, 0, 0]], F32), np.array([1, 3], np.int32)),
        (np.arange(6.0).reshape(2, 1, 3, 1),), (np.array([0.0, 5.0, 7.0, 2.0, 3.0, 4.0]).reshape(2, 1, 3, 1),),
        dy=np.array([5.0, 7.0, 9.0, 2.0, 3.0, 4.0]).reshape(2, 1, 3, 1), note="shift"),
    Bad("ImageProjectiveTransformV2", lambda: _project((2, 2), "NEAREST")(np.ones((1, 2, 2, 1)), np.ones((1, 3), F32)), ShapeError,
        "num_images x 8"),
    Case("Resampler", warp.resampler, lambda x, at: np.array([[[between(image, y, x) for x, y in row] for row in rows]
                                                              for image, rows in zip(x, at)]), (X, POINTS)),
    Bad("Resampler", lambda: warp.resampler(np.ones((1, 2, 2, 1)), np.ones((1, 3))), ShapeError, "warp should be of shape"),
]
