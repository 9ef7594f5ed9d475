"""Pictures as bytes: PNG, JPEG, GIF and BMP, on the host. PNG is written with the standard library, the rest is Pillow's work.

Pillow is optional (`pip install regrad[image]`): without it these ops say so when they run.
"""

import contextlib
import io

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import BadValue, InternalError, InvalidArgumentError, OpError, ShapeError, UnimplementedError
from regrad.core.opdef import Spec, spec_text
from regrad.core.png import encode_png as png_bytes
from regrad.ops.compare import equal
from regrad.ops.hosted import host_op
from regrad.ops.strings import substr

_PIXELS_PER_BYTE = 8 * 1032  # what a PNG holds at most: bits, of which zlib puts 1032 bytes into one
_PIXELS = 1 << 24  # that any picture may have, such as a GIF most of which does not change


def _pillow():
    try:
        import PIL.Image
    except ModuleNotFoundError:
        raise UnimplementedError("Reading this picture format needs Pillow: pip install pillow (or regrad[image]).") from None
    return PIL.Image


def _opened(contents, kinds):
    """Returns contents as an open Pillow image of one of the formats `kinds`."""
    if contents.ndim:
        raise InvalidArgumentError(f"contents must be scalar, got shape {list(contents.shape)}")
    image_module = _pillow()
    data = contents.item()
    with _decoding(kinds, data):
        picture = image_module.open(io.BytesIO(data), formats=kinds)
        if data[:4] == b"\x89PNG" and data[24] == 16 and data[25] != 0:
            raise UnimplementedError("Colour PNGs of 16 bits are not read: Pillow would give 8 of them.")
        pixels = picture.width * picture.height * (getattr(picture, "n_frames", 1) if picture.format == "GIF" else 1)
        if pixels > max(_PIXELS, _PIXELS_PER_BYTE * len(data)):
            raise ValueError(f"it says that it has {pixels} pixels, for which there are too few bytes")
        picture.load()
    if picture.format != kinds[0] and getattr(picture, "n_frames", 1) > 1 and "BMP" not in kinds:
        raise InvalidArgumentError(f"Got {picture.n_frames} frames, but animated gifs can only be decoded by tf.io.decode_gif "
                                   "or tf.io.decode_image")
    return picture


@contextlib.contextmanager
def _decoding(kinds, data):
    """Context manager: whatever Pillow raises while it reads a picture is InvalidArgumentError."""
    try:
        yield
    except OpError:
        raise
    except Exception as error:
        words = str(error).partition(" <")[0]  # Pillow goes on with the address of the object that held the bytes
        words = words or type(error).__name__
        raise InvalidArgumentError(f"Invalid {'/'.join(kinds)} data, size {len(data)}: {words}") from None


# 0.299, 0.587 and 0.114 in 32768ths, as libpng counts
_GRAY = np.array([9798, 19234, 3736], np.uint32)


def _with_channels(pixels, channels, full):
    """Returns [..., own channels] with `channels` of them (0: as they are): gray is repeated, alpha left out or made full."""
    own = pixels.shape[-1]
    if channels in (0, own):
        return pixels
    colour, alpha = (pixels[..., :-1], pixels[..., -1:]) if own in (2, 4) else (pixels, None)
    if channels in (1, 2) and colour.shape[-1] == 3:
        colour = ((colour.astype(np.uint32) * _GRAY).sum(-1, keepdims=True) >> 15).astype(pixels.dtype)
    elif channels in (3, 4) and colour.shape[-1] == 1:
        colour = np.repeat(colour, 3, -1)
    if channels in (2, 4):
        colour = np.concatenate([colour, np.full_like(colour[..., :1], full) if alpha is None else alpha], -1)
    return colour


def _pixels(picture):
    """Returns a Pillow image as [height, width, channels] of uint8 or uint16."""
    if picture.mode in ("I;16", "I;16B", "I;16L", "I"):
        return np.asarray(picture).astype(np.uint16)[..., None]
    if picture.mode == "P":
        picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    elif picture.mode == "1":
        picture = picture.convert("L")
    elif picture.mode in ("CMYK", "YCbCr"):
        picture = picture.convert("RGB")
    pixels = np.asarray(picture)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def _of_type(pixels, dtype):
    if dtype is dtypes.uint16 and pixels.dtype == np.uint8:
        return pixels.astype(np.uint16) * np.uint16(257)
    if dtype is dtypes.uint8 and pixels.dtype == np.uint16:
        return (pixels >> np.uint16(8)).astype(np.uint8)
    if dtype is dtypes.float32:
        return pixels / np.float32(np.iinfo(pixels.dtype).max)
    return pixels


# -- decoding -----------------------------------------------------------------------------------------
def _contents(contents):
    if contents.dims:
        raise ShapeError(f"contents must be one string, got {spec_text(contents)}; decode several with tf.map_fn.")


def _decode_infer(contents, *, channels, dtype=dtypes.uint8, **attrs):
    _contents(contents)
    return Spec((None, None, channels or None), dtype)


def _decode_png_infer(contents, *, channels, dtype):
    if dtype not in (dtypes.uint8, dtypes.uint16):
        raise BadValue(f"Value for attr 'dtype' of {dtype.name} is not in the list of allowed values: uint8, uint16")
    return _decode_infer(contents, channels=channels, dtype=dtype)


def _decode_png(b, contents, *, channels, dtype):
    picture = _opened(contents, ("PNG", "GIF", "JPEG"))
    if picture.format == "JPEG":
        return _of_type(_decode_jpeg(b, contents, **{**_JPEG, "channels": channels}), dtype)
    pixels = _pixels(picture)
    return np.ascontiguousarray(_of_type(_with_channels(pixels, channels, np.iinfo(pixels.dtype).max), dtype))


def _decode_bmp(b, contents, *, channels):
    pixels = _pixels(_opened(contents, ("BMP",)))
    if channels not in (0, pixels.shape[-1]):
        raise InvalidArgumentError(f"channels attribute {channels} does not match bits per pixel from file {pixels.shape[-1]}")
    return pixels


_JPEG = {"channels": 0, "ratio": 1, "fancy_upscaling": True, "try_recover_truncated": False, "acceptable_fraction": 1.0,
         "dct_method": ""}


def _decode_jpeg(b, contents, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method):
    picture = _opened(contents, ("JPEG", "PNG", "GIF"))
    if picture.format == "JPEG":
        if channels not in (0, 1, 3):
            raise InvalidArgumentError(f"channels must be 0, 1, 3 for JPEG, but got {channels}")
        data = contents.item()
        with _decoding(("JPEG",), data):
            picture = _pillow().open(io.BytesIO(data), formats=["JPEG"])
            if channels == 1 or ratio > 1:  # the brightness, or a smaller picture, is read off the file itself
                picture.draft("L" if channels == 1 else None, (picture.width // ratio, picture.height // ratio))
            picture.load()
    pixels = _pixels(picture)
    return np.ascontiguousarray(_of_type(_with_channels(pixels, channels, 255), dtypes.uint8))


def _crop_infer(contents, crop_window, **attrs):
    _contents(contents)
    window = crop_window.value()
    height, width = (None, None) if window is None else (int(window[2]), int(window[3]))
    return Spec((height, width, attrs["channels"] or None), dtypes.uint8)


def _decode_and_crop(b, contents, crop_window, **attrs):
    pixels = _decode_jpeg(b, contents, **attrs)
    y, x, height, width = (int(i) for i in crop_window)
    if min(y, x) < 0 or height <= 0 or width <= 0 or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
        raise InvalidArgumentError(f"Invalid JPEG data or crop window: {[y, x, height, width]} of a picture of "
                                   f"{list(pixels.shape[:2])}")
    return pixels[y:y + height, x:x + width]


def _gif_infer(contents):
    _contents(contents)
    return Spec((None, None, None, 3), dtypes.uint8)


def _decode_gif(b, contents):
    picture = _opened(contents, ("GIF",))
    frames = []
    with _decoding(("GIF",), contents.item()):
        for i in range(getattr(picture, "n_frames", 1)):
            picture.seek(i)
            frames.append(np.asarray(picture.convert("RGB")))
        return np.stack(frames)


def _image_infer(contents, *, channels, dtype, expand_animations):
    _contents(contents)
    return Spec(None, dtype)


def _decode_image(b, contents, *, channels, dtype, expand_animations):
    picture = _opened(contents, ("PNG", "GIF", "JPEG", "BMP"))
    if picture.format == "GIF":
        if channels not in (0, 3):
            raise InvalidArgumentError(f"channels must be 0 or 3 for a GIF, got {channels}")
        frames = _of_type(_decode_gif(b, contents), dtype)
        return frames if expand_animations else frames[0]
    if picture.format == "BMP":
        return _of_type(_decode_bmp(b, contents, channels=channels), dtype)
    return _decode_png(b, contents, channels=channels, dtype=dtype)


decodepng_op = host_op("DecodePng", "contents: string", _decode_png_infer, _decode_png, {"channels": 0, "dtype": dtypes.uint8})
decodebmp_op = host_op("DecodeBmp", "contents: string", _decode_infer, _decode_bmp, {"channels": 0})
decodejpeg_op = host_op("DecodeJpeg", "contents: string", _decode_infer, _decode_jpeg, _JPEG)
decodeandcropjpeg_op = host_op("DecodeAndCropJpeg", "contents: string, crop_window: int32", _crop_infer, _decode_and_crop,
                               _JPEG)
decodegif_op = host_op("DecodeGif", "contents: string", _gif_infer, _decode_gif)
decodeimage_op = host_op("DecodeImage", "contents: string", _image_infer, _decode_image,
                         {"channels": 0, "dtype": dtypes.uint8, "expand_animations": True})


def _jpeg_shape(b, contents, *, output_type):
    picture = _opened(contents, ("JPEG",))
    return np.array([picture.height, picture.width, len(picture.getbands())], output_type.as_numpy_dtype)


extractjpegshape_op = host_op("ExtractJpegShape", "contents: string", lambda contents, *, output_type: Spec((3,), output_type),
                              _jpeg_shape, {"output_type": dtypes.int32})


def _count(channels, allowed, what):
    if channels not in allowed:
        raise ValueError(f"{what}: channels must be one of {', '.join(map(str, allowed))}, got {channels!r}.")
    return channels


def decode_png(contents, channels=0, dtype=dtypes.uint8, name=None):
    """Returns the pixels of a PNG, [height, width, channels].

    Args:
      contents: string scalar, the file's bytes.
      channels: 0 (as in the file), 1 (gray), 3 (RGB) or 4 (RGBA).
      dtype: uint8 or uint16.

    Raises:
      InvalidArgumentError: (when run) the bytes are no picture.
      UnimplementedError: (when run) Pillow is not installed.
    """
    return decodepng_op(contents, channels=_count(channels, (0, 1, 2, 3, 4), "decode_png"), dtype=as_dtype(dtype), name=name)


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False, acceptable_fraction=1,
                dct_method="", name=None):
    """Returns the pixels of a JPEG, uint8 [height, width, channels].

    Args:
      contents: string scalar, the file's bytes.
      channels: 0 (as in the file), 1 (gray) or 3 (RGB).
      ratio: 1, 2, 4 or 8: how much smaller to make it while reading.
      fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method: accepted.
    """
    if ratio not in (1, 2, 4, 8):
        raise ValueError(f"decode_jpeg: ratio must be 1, 2, 4 or 8, got {ratio!r}.")
    return decodejpeg_op(contents, channels=_count(channels, (0, 1, 3), "decode_jpeg"), ratio=ratio,
                         fancy_upscaling=fancy_upscaling, try_recover_truncated=try_recover_truncated,
                         acceptable_fraction=acceptable_fraction, dct_method=dct_method, name=name)


def decode_and_crop_jpeg(contents, crop_window, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                         acceptable_fraction=1, dct_method="", name=None):
    """Returns a part of a JPEG, uint8: `crop_window` is [top, left, height, width]. The rest as in `decode_jpeg`."""
    return decodeandcropjpeg_op(contents, crop_window, channels=_count(channels, (0, 1, 3), "decode_and_crop_jpeg"),
                                ratio=ratio, fancy_upscaling=fancy_upscaling, try_recover_truncated=try_recover_truncated,
                                acceptable_fraction=acceptable_fraction, dct_method=dct_method, name=name)


def decode_bmp(contents, channels=0, name=None):
    """Returns the pixels of a BMP, uint8 [height, width, channels]."""
    return decodebmp_op(contents, channels=_count(channels, (0, 1, 3, 4), "decode_bmp"), name=name)


def decode_gif(contents, name=None):
    """Returns the frames of a GIF, uint8 [frames, height, width, 3]."""
    return decodegif_op(contents, name=name)


def decode_image(contents=None, channels=None, dtype=dtypes.uint8, name=None, expand_animations=True):
    """Returns the pixels of a PNG, JPEG, BMP (rank 3) or GIF (rank 4), told by its bytes; the static rank is unknown.

    Args:
      channels: as in `decode_png`.
      dtype: uint8, uint16 or float32 (in [0, 1]).
      expand_animations: False: the first frame of a GIF, of rank 3.
    """
    out = decodeimage_op(contents, channels=channels or 0, dtype=as_dtype(dtype), expand_animations=expand_animations,
                         name=name)
    if not expand_animations:
        out.set_shape([None, None, channels or None])
    return out


def extract_jpeg_shape(contents, output_type=dtypes.int32, name=None):
    """Returns [height, width, channels] of a JPEG without reading its pixels."""
    return extractjpegshape_op(contents, output_type=as_dtype(output_type), name=name)


def is_jpeg(contents, name=None):
    """Returns whether bytes begin as a JPEG does."""
    return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


# -- encoding -----------------------------------------------------------------------------------------
def _encode_infer(image, **attrs):
    if image.dims is not None and len(image.dims) != 3:
        raise ShapeError(f"image must be [height, width, channels], got {spec_text(image)}")
    return Spec((), dtypes.string)


def _encode_png(b, image, *, compression):
    if image.ndim != 3 or not 1 <= image.shape[2] <= 4:
        raise InvalidArgumentError(f"image must be [height, width, channels] with 1 to 4 channels, got {list(image.shape)}")
    if not image.size:
        raise InternalError(None, None, f"a picture without pixels, {list(image.shape)}, has no PNG")
    return np.array(png_bytes(image, compression), object)


_ENCODE_JPEG = {"format": "", "quality": 95, "progressive": False, "optimize_size": False, "chroma_downsampling": True,
                "density_unit": "in", "x_density": 300, "y_density": 300, "xmp_metadata": ""}


def _encode_jpeg(b, image, *, format, quality, progressive, optimize_size, chroma_downsampling, density_unit, x_density,
                 y_density, xmp_metadata):
    if image.ndim != 3 or image.shape[2] not in (1, 3):
        raise InvalidArgumentError(f"image must be [height, width, 1 or 3], got {list(image.shape)}")
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {quality}")
    out = io.BytesIO()
    picture = _pillow().fromarray(image[..., 0] if image.shape[2] == 1 else image)
    density = (x_density, y_density) if density_unit == "in" else (round(x_density * 2.54), round(y_density * 2.54))
    picture.save(out, "JPEG", quality=quality, progressive=progressive, optimize=optimize_size, dpi=density,
                 subsampling=2 if chroma_downsampling else 0)
    return np.array(out.getvalue(), object)


def _encode_jpeg_of_quality(b, images, quality):
    return _encode_jpeg(b, images, **{**_ENCODE_JPEG, "quality": int(quality)})


encodejpegvariablequality_op = host_op("EncodeJpegVariableQuality", "images: uint8, quality: int32",
                                       lambda images, quality: _encode_infer(images), _encode_jpeg_of_quality)
encodepng_op = host_op("EncodePng", "image: T", _encode_infer, _encode_png, {"compression": -1},
                       types={"T": {dtypes.uint8, dtypes.uint16}})
encodejpeg_op = host_op("EncodeJpeg", "image: uint8", _encode_infer, _encode_jpeg, _ENCODE_JPEG)


def encode_png(image, compression=-1, name=None):
    """Returns a picture [height, width, channels], uint8 or uint16, as PNG: a string scalar.

    Args:
      compression: -1 (zlib's default) to 9.
    """
    return encodepng_op(image, compression=compression, name=name)


def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True,
                density_unit="in", x_density=300, y_density=300, xmp_metadata="", name=None):
    """Returns a picture uint8 [height, width, 1 or 3] as JPEG: a string scalar.

    Args:
      format: "", "grayscale" or "rgb"; the number of channels decides.
      quality: 0 to 100.
      chroma_downsampling: colours at half the resolution.
      xmp_metadata: accepted.
    """
    return encodejpeg_op(image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size,
                         chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density,
                         y_density=y_density, xmp_metadata=xmp_metadata, name=name)


def adjust_jpeg_quality(image, jpeg_quality, name=None):
    """Returns an image as it is after it was written as JPEG of a quality (0 to 100, an int or an int32 scalar) and
    read again: floats in [0, 1], or uint8."""
    from regrad.ops.image import convert_image_dtype

    image = convert_to_tensor(image)
    pixels = convert_image_dtype(image, dtypes.uint8, saturate=True)
    channels = image.dims[-1] if image.dims else None
    again = decode_jpeg(encodejpegvariablequality_op(pixels, jpeg_quality), channels=channels or 0)
    again.set_shape(image.dims)
    return convert_image_dtype(again, image.dtype, saturate=True, name=name)


__all__ = ["adjust_jpeg_quality", "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg",
           "decode_png", "encode_jpeg", "encode_png", "extract_jpeg_shape", "is_jpeg"]
