"""PNG and WAV bytes from arrays, with the standard library alone."""

import io
import struct
import wave
import zlib

import numpy as np

_COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}  # channels -> PNG's number for gray, gray + alpha, RGB, RGB + alpha


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _filtered(rows, step):
    """Returns rows of bytes as PNG stores them: the number of a filter, then the differences that it leaves.

    A filter guesses a byte from those of the pixels to the left (`step` bytes before), above, and above to the left. Each row
    has the one that leaves the smallest sum of differences, which compresses well (PNG specification, 12.8).
    """
    left, above, corner = np.zeros((3, *rows.shape), np.uint8)
    left[:, step:], above[1:], corner[1:, step:] = rows[:, :-step], rows[:-1], rows[:-1, :-step]
    a, b, c = (x.astype(np.int16) for x in (left, above, corner))
    far = [np.abs(a + b - c - x) for x in (a, b, c)]
    paeth = np.where((far[0] <= far[1]) & (far[0] <= far[2]), left, np.where(far[1] <= far[2], above, corner))
    guesses = 0, left, above, ((a + b) >> 1).astype(np.uint8), paeth
    tries = np.stack([rows - guess for guess in guesses])
    best = np.abs(tries.view(np.int8).astype(np.int16)).sum(2, dtype=np.int64).argmin(0)
    return np.concatenate([best[:, None].astype(np.uint8), tries[best, np.arange(len(rows))]], 1)


def encode_png(image, compression=-1):
    """Returns an image [height, width, channels] of uint8 or uint16, with 1 to 4 channels, as PNG bytes."""
    height, width, channels = image.shape
    depth = 8 * image.dtype.itemsize
    rows = np.ascontiguousarray(image.astype(image.dtype.newbyteorder(">"))).view(np.uint8).reshape(height, -1)
    filtered = _filtered(rows, channels * image.dtype.itemsize)
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
