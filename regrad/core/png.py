"""PNG and WAV bytes from arrays, with the standard library alone."""

import io
import struct
import wave
import zlib

import numpy as np

_COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG's number for gray, gray + alpha, RGB, RGB + alpha


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encode_png(image, compression=-1):
    """Returns an image [height, width, channels] of uint8 or uint16, with 1 to 4 channels, as PNG bytes."""
    height, width, channels = image.shape
    depth = 8 * image.dtype.itemsize
    rows = np.ascontiguousarray(image.astype(image.dtype.newbyteorder(">"))).view(np.uint8).reshape(height, -1)
    filtered = np.zeros((height, rows.shape[1] + 1), np.uint8)  # each row: the filter's number, 0, then the row
    filtered[:, 1:] = rows
    header = struct.pack(">IIBBBBB", width, height, depth, _COLOUR_TYPE[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(
        b"IDAT", zlib.compress(filtered.tobytes(), compression)) + _chunk(b"IEND", b"")


def encode_wav(sound, sample_rate):
    """Returns a sound [frames, channels] in [-1, 1] as WAV bytes of 16 bits per sample."""
    scaled = np.asarray(sound, np.float32) * np.float32(1 << 15)
    # away from zero at halves, as C's round does
    samples = np.clip(np.trunc(scaled + np.copysign(np.float32(0.5), scaled)), -(1 << 15), (1 << 15) - 1)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(sound.shape[1])
        file.setsampwidth(2)
        file.setframerate(int(sample_rate))
        file.writeframes(np.nan_to_num(samples).astype("<i2").tobytes())
    return out.getvalue()
