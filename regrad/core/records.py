"""Record files: TensorFlow's framing of byte strings, used for event files and TFRecord data.

Each record is its length (8 bytes, little endian), a checksum of those, the data, and a checksum of the data. A checksum
is the CRC-32C of the bytes, rotated by 15 bits and moved by a constant.
"""

import functools
import gzip
import os
import struct
import zlib

import numpy as np

from regrad.core.errors import DataLossError, NotFoundError

_POLYNOMIAL = 0x82F63B78  # Castagnoli's, reflected
_LANES = 256


@functools.cache
def _table():
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table, table.tolist()


@functools.cache
def _skip(length):
    """Returns four tables of 256: the checksum after `length` zero bytes, which is linear in each byte of the one before."""
    states = (np.arange(256, dtype=np.uint32)[None, :] << (8 * np.arange(4, dtype=np.uint32))[:, None]).reshape(-1)
    table = _table()[0]
    for _ in range(length):
        states = table[states & 255] ^ states >> 8
    return states.reshape(4, 256).tolist()


def crc32c(data):
    """Returns the CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    table, plain = _table()
    data = memoryview(data)
    whole = 0
    if len(data) >= 16 * _LANES:
        # Long data: lanes of a fixed length are checked side by side, then joined, as the checksum is linear.
        lane = 64
        whole = len(data) // lane * lane
        blocks = np.frombuffer(data[:whole], np.uint8).reshape(-1, lane)
        states = np.zeros(len(blocks), np.uint32)
        for column in blocks.T:
            states = table[(states ^ column) & 255] ^ states >> 8
        a, b, c, d = _skip(lane)
        for state in states.tolist():
            crc = a[crc & 255] ^ b[crc >> 8 & 255] ^ c[crc >> 16 & 255] ^ d[crc >> 24] ^ state
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
    """Returns a record file open for reading; compression is "", "GZIP" or "ZLIB"."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise NotFoundError(None, None, f"{path}; No such file or directory")
    if compression == "GZIP":
        return gzip.open(path, "rb")
    if compression == "ZLIB":
        import io

        with open(path, "rb") as file:
            try:
                return io.BytesIO(zlib.decompress(file.read()))
            except zlib.error as error:
                raise DataLossError(None, None, f"{path}: {error}") from None
    return open(path, "rb")


def read_records(path, compression=""):
    """Yields the byte strings of a record file.

    Raises:
      NotFoundError: no such file.
      DataLossError: a checksum is wrong, or the file ends within a record.
    """
    at = 0

    def lost(what):
        return DataLossError(None, None, f"{os.fspath(path)}: {what}")

    with opened(path, compression) as file:
        while header := file.read(12):
            if len(header) < 12 or masked_crc(header[:8]) != struct.unpack("<I", header[8:])[0]:
                raise lost(f"corrupted record at {at} (its length), or a truncated file")
            (length,) = struct.unpack("<Q", header[:8])
            data = file.read(length + 4)
            if len(data) < length + 4:
                raise lost(f"truncated record at {at}")
            if masked_crc(data[:-4]) != struct.unpack("<I", data[-4:])[0]:
                raise lost(f"corrupted record at {at} (its data)")
            yield data[:-4]
            at += length + 16
