"""Rows for `regrad/ops/codecs.py`: pictures from bytes, and bytes from pictures."""

import pathlib

import numpy as np

import regrad as tf
from tests.cases import Bad, once

raw = tf.raw_ops
image = tf.image
with np.load(pathlib.Path(__file__).parent.parent / "surface" / "pictures.npz") as _arrays:
    FILES = {name: np.array(array.tobytes(), object) for name, array in _arrays.items()}
NOTHING, NOISE = np.array(b"", object), np.array(b"no picture" * 20, object)


def near(function):
    """JPEG's transforms differ by a few levels of 255 (docs/differences.md): compared as floats, to `NEAR` of the largest."""
    return lambda *tensors: tf.cast(function(*tensors), tf.float32)


NEAR = {"rtol": 0.05}


def formats(op_type, decode, *names, channels=(0, 1, 3), **more):
    """Every file by every number of channels; what is cut short, no picture, or empty."""
    return [
        *(once(op_type, lambda x, c=c: decode(x, c), FILES[n], note=f"{n} {c}", **more) for n in names for c in channels),
        once(op_type, lambda x: decode(x, 0), np.array(FILES[names[0]].item()[:40], object), note="cut short", **more),
        once(op_type, lambda x: decode(x, 0), NOISE, note="no picture"),
        once(op_type, lambda x: decode(x, 0), NOTHING, note="empty"),
    ]


PICTURE = np.random.RandomState(2).randint(0, 256, (5, 7, 3)).astype(np.uint8)
SMOOTH = np.add.outer(np.arange(16) * 9, np.arange(24) * 3)[..., None].repeat(3, -1).astype(np.uint8)
CASES = [
    *formats("DecodePng", lambda x, c: image.decode_png(x, c), "rgb", "gray", "la", "rgba", "palette", channels=(0, 1, 3, 4)),
    *(once("DecodePng", lambda x: image.decode_png(x, dtype=tf.uint16), FILES[n], note=f"{n} uint16") for n in ("deep", "rgb")),
    *formats("DecodeBmp", lambda x, c: image.decode_bmp(x, c), "bmp", channels=(0, 3)),
    *formats("DecodeGif", lambda x, c: image.decode_gif(x), "gif", channels=(0,)),
    *formats("DecodeJpeg", lambda x, c: tf.cast(image.decode_jpeg(x, c), tf.float32), "jpeg", **NEAR),
    *(once("DecodeJpeg", near(lambda x, r=r: image.decode_jpeg(x, ratio=r)), FILES["jpeg"], note=f"ratio {r}", **NEAR)
      for r in (2, 4, 8)),
    *(once("DecodeAndCropJpeg", near(lambda x, w=w: image.decode_and_crop_jpeg(x, w)), FILES["jpeg"], note=str(w), rtol=0.1)
      for w in ((0, 0, 4, 4), (2, 3, 4, 5), (0, 0, 1000, 5), (-1, 0, 2, 2), (0, 0, 0, 2))),
    *(once("DecodeImage", lambda x: image.decode_image(x), FILES[n], note=n) for n in ("rgb", "gray", "bmp", "gif")),
    once("DecodeImage", near(lambda x: image.decode_image(x)), FILES["jpeg"], note="jpeg", **NEAR),
    *(once("DecodeImage", lambda x, t=t: image.decode_image(x, dtype=t), FILES["gray"], note=t.name)
      for t in (tf.float32, tf.uint16)),
    once("DecodeImage", lambda x: image.decode_image(x), NOISE, note="no picture"),
    once("DecodeImage", lambda x: image.decode_image(x), NOTHING, note="empty"),
    *(once("ExtractJpegShape", lambda x, t=t: image.extract_jpeg_shape(x, t), FILES["jpeg"], note=t.name)
      for t in (tf.int32, tf.int64)),
    once("ExtractJpegShape", lambda x: image.extract_jpeg_shape(x), NOISE, note="no picture"),
    # What is written is held by reading it again: the bytes depend on the library that packs them.
    *(once("EncodePng", lambda x, t=t: image.decode_png(image.encode_png(x), dtype=t), PICTURE[..., :c].astype(t.as_numpy_dtype),
           note=f"{c} {t.name}") for c in (1, 3) for t in (tf.uint8, tf.uint16) if c == 1 or t == tf.uint8),
    once("EncodePng", lambda x: image.decode_png(image.encode_png(x, 0)), np.concatenate([PICTURE, PICTURE[..., :1]], -1),
         note="4, not compressed"),
    once("EncodePng", lambda x: image.encode_png(tf.placeholder_with_default(x, None)), PICTURE[:, :0], note="empty"),
    *(once("EncodeJpeg", near(lambda x, q=q: image.decode_jpeg(image.encode_jpeg(x, quality=q))), SMOOTH, note=f"quality {q}", **NEAR)
      for q in (95, 50)),
    once("EncodeJpeg", near(lambda x: image.decode_jpeg(image.encode_jpeg(x, format="grayscale"))), SMOOTH[..., :1], note="gray",
         **NEAR),
    once("EncodeJpeg", near(lambda x: image.decode_jpeg(image.encode_jpeg(x, progressive=True, chroma_downsampling=False))),
         SMOOTH, note="progressive", **NEAR),
    once("EncodeJpegVariableQuality", near(lambda x, q: image.decode_jpeg(raw.EncodeJpegVariableQuality(images=x, quality=q))),
         SMOOTH, np.int32(60), **NEAR),
    once("EncodeJpegVariableQuality", lambda x, q: raw.EncodeJpegVariableQuality(images=x, quality=q), SMOOTH, np.int32(101),
         note="quality of 101"),
    Bad("DecodePng", lambda: image.decode_png(b"", 5), ValueError, "channels"),
    Bad("DecodePng", lambda: image.decode_png(b"", dtype=tf.int32), ValueError, "of int32 is not in the list of allowed values: uint8, uint16"),
    Bad("DecodeJpeg", lambda: image.decode_jpeg(b"", ratio=3), ValueError, "ratio must be 1, 2, 4 or 8, got 3"),
    Bad("DecodeImage", lambda: image.decode_image(1.0), TypeError, "Expected string, got 1.0"),
    Bad("EncodePng", lambda: image.encode_png(np.zeros([3], "u1")), ValueError, r"image must be \[height, width, channels\], got uint8"),
    Bad("EncodePng", lambda: image.encode_png(np.zeros([3, 3, 1], "f")), TypeError, "float32"),
    Bad("EncodeJpeg", lambda: image.encode_jpeg(np.zeros([3, 3], "u1")), ValueError, r"image must be \[height, width, channels\], got uint8"),
]
