"""Record files: TensorFlow's framing of byte strings, used for event files and TFRecord data.

Each record is its length (8 bytes, little endian), a checksum of those, the data, and a checksum of the data. A checksum
is the CRC-32C of the bytes, rotated by 15 bits and moved by a constant.
"""

import functools
import gzip
import io
import os
import struct
import zlib

import numpy as np

from regrad.core.errors import Damaged, NotFoundError
from regrad.core.files import translated
from regrad.core.reading import each

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected
_DOUBLINGS = 8
_WORDS = 1 << _DOUBLINGS  # a lane's length in words of four bytes
_LANE = 4 * _WORDS
_PART = 1 << 24  # bytes that are read at once


@functools.cache
def _table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table, table.tolist()


def _after_zeros(states, count):
    table = _table()[0]
    for _ in range(count):
        states = table[states & 255] ^ states >> 8
    return states


@functools.cache
def _halves(doublings):
    """Returns what becomes of the low and of the high half of a checksum by 4 * 2 ** doublings bytes of zeros.

    A checksum after zeros is linear in the one before, so these tables of 65536 say all.
    """
    if doublings:
        half = _halves(doublings - 1)
        return _moved(half[0], half), _moved(half[1], half)
    half = np.arange(1 << 16, dtype=np.uint32)
    return _after_zeros(half, 4), _after_zeros(half << 16, 4)


def _moved(states, tables):
    return tables[0][states & 0xFFFF] ^ tables[1][states >> 16]


def _of_lanes(data):
    """Returns the checksum (not inverted at the end) of bytes that are a whole number of lanes.

    Lanes are checked side by side, then joined in pairs: a pair's checksum is the first one's after as many zeros as the
    second has bytes, plus the second's.
    """
    words = np.frombuffer(data, "<u4").reshape(-1, _WORDS)
    states = np.zeros(len(words), np.uint32)
    states[0] = 0xFFFFFFFF
    word = _halves(0)
    for column in words.T:
        states = _moved(states ^ column, word)
    doublings = _DOUBLINGS
    while len(states) > 1:
        if len(states) % 2:  # in front of everything zeros count for nothing, as the checksum of a first lane has begun
            states = np.concatenate([np.zeros(1, np.uint32), states])
        states = _moved(states[::2], _halves(doublings)) ^ states[1::2]
        doublings += 1
    return int(states[0])


def crc32c(data):
    """Returns the CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    plain = _table()[1]
    data = memoryview(data).cast("B")
    whole = 0
    if len(data) >= 4 * _LANE:
        whole = len(data) // _LANE * _LANE
        crc = _of_lanes(data[:whole])
    for byte in data[whole:]:
        crc = plain[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    """Returns the checksum that stands in a record file."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data):
    """Returns one record: `data` between its length and its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def opened(path, compression=""):
    """Returns a record file open for reading; compression is "", "GZIP" or "ZLIB". Read it within `reading(path)`."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise NotFoundError(None, None, f"{path}; No such file or directory")
    with translated(path):
        if compression == "GZIP":
            return gzip.open(path, "rb")
        file = open(path, "rb")
        return io.BufferedReader(_Inflated(file)) if compression == "ZLIB" else file


class _Inflated(io.RawIOBase):
    """What a file holds that zlib compressed."""

    def __init__(self, file):
        self._file, self._zlib, self._data = file, zlib.decompressobj(), b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._zlib.eof:
            data = self._zlib.unconsumed_tail or self._file.read(io.DEFAULT_BUFFER_SIZE)
            found = self._zlib.decompress(data, len(buffer))
            if found:
                buffer[:len(found)] = found
                return len(found)
            if not data:
                raise EOFError
        return 0

    def close(self):
        self._file.close()
        super().close()


def _exactly(file, count):
    """Returns the next `count` bytes, fewer at the end: memory is taken as they come, not as a length says that they will."""
    data = file.read(min(count, _PART))
    if len(data) == count or len(data) < _PART:
        return data
    parts = [data]
    while data and count > len(data):
        count -= len(data)
        data = file.read(min(count, _PART))
        parts.append(data)
    return b"".join(parts)


def read_records(path, compression=""):
    """Yields the byte strings of a record file.

    Raises:
      NotFoundError: no such file.
      DataLossError: a checksum is wrong, or the file ends within a record.
    """
    with opened(path, compression) as file:
        yield from each(path, _records(file))


def _records(file):
    at = 0
    while header := file.read(12):
        if len(header) < 12 or masked_crc(header[:8]) != struct.unpack("<I", header[8:])[0]:
            raise Damaged(f"corrupted record at {at} (its length), or a truncated file")
        (length,) = struct.unpack("<Q", header[:8])
        data = _exactly(file, length + 4)
        if len(data) < length + 4:
            raise Damaged(f"truncated record at {at}: it says that it has {length} bytes, and {max(0, len(data) - 4)} follow")
        if masked_crc(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
            raise Damaged(f"corrupted record at {at} (its data)")
        yield data[:-4]
        at += length + 16
