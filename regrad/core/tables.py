"""Sorted tables of byte strings in a file: the form of checkpoints' indices (LevelDB's "table format" says how).

A file is blocks of entries, an index block that names the last key of each with its place, and a footer of 48 bytes. An entry
is the number of bytes its key shares with the one before, the rest of the key, and the value. Behind a block stand how it is
compressed (0 not, 1 Snappy) and its checksum.
"""

import struct

from regrad.core.errors import Damaged
from regrad.core.proto import read_varint, varint
from regrad.core.records import masked_crc

_MAGIC = 0xDB4775248B80FB57
_BLOCK = 1 << 16  # bytes after which a block ends
_INTERVAL = 16  # entries between those that are found directly
_SHARED = 200  # bytes of keys in a block for each of its own: more is no prefixes that names share, but made to fill memory


# -- writing -------------------------------------------------------------------------------------------------
def table_bytes(items):
    """Returns the file of (key, value) pairs, in the order of their keys."""
    out = bytearray()
    index, block, size = [], [], 0
    for key, value in items:
        block.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK:
            index.append((block[-1][0], _put(out, block)))
            block, size = [], 0
    if block:
        index.append((block[-1][0], _put(out, block)))
    footer = _put(out, []) + _put(out, index)
    return bytes(out + footer.ljust(40, b"\0") + struct.pack("<Q", _MAGIC))


def _put(out, entries):
    """Adds a block to a file, and returns its place as an index has it."""
    block, restarts = bytearray(), []
    for i, (key, value) in enumerate(entries):
        if i % _INTERVAL == 0:
            restarts.append(len(block))
        block += varint(0) + varint(len(key)) + varint(len(value)) + key + value
    restarts = restarts or [0]
    block += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
    place = varint(len(out)) + varint(len(block))
    block += b"\0"
    out += block + struct.pack("<I", masked_crc(block))
    return place


# -- reading -------------------------------------------------------------------------------------------------
def is_table(data):
    """Returns whether bytes end as a table does."""
    return len(data) >= 48 and bytes(data[-8:]) == struct.pack("<Q", _MAGIC)


def read_table(data):
    """Yields the (key, value) pairs of a table's bytes.

    Raises:
      DataLossError: (a ValueError too) they are no table, or a damaged one; with the place.
    """
    data = memoryview(data)
    if not is_table(data):
        raise Damaged("the file is no table, or was cut short: its last bytes are others")
    end = 0
    _, at = _place(data, len(data) - 48)
    for _, place in _entries(*_block(data, _place(data, at)[0])):
        offset, size = _place(place, 0)[0]
        if offset < end:
            raise Damaged(f"the table is damaged: its block at byte {offset} begins in another")
        end = offset + size
        yield from _entries(*_block(data, (offset, size)))


def _place(data, at):
    try:
        offset, at = read_varint(data, at)
        size, at = read_varint(data, at)
    except (IndexError, ValueError):
        raise Damaged("the table is damaged: its index names no place of a block") from None
    return (offset, size), at


def _block(data, place):
    """Returns (a block's bytes, where they are)."""
    offset, size = place
    if offset + size + 5 > len(data):
        raise Damaged(f"the table is damaged: its block at byte {offset}, of {size} bytes, goes beyond the {len(data)} of the "
                      "file")
    block = data[offset:offset + size + 1]
    (stored,) = struct.unpack("<I", data[offset + size + 1:offset + size + 5])
    if masked_crc(block) != stored:
        raise Damaged(f"the table is damaged: the checksum of its block at byte {offset} is wrong")
    kind = block[-1]
    if kind > 1:
        raise Damaged(f"the block at byte {offset} is compressed in a way ({kind}) that is unknown")
    try:
        return memoryview(unsnapped(block[:-1])) if kind else block[:-1], offset
    except (IndexError, ValueError) as error:
        raise Damaged(f"the compressed block at byte {offset} is damaged: {error}") from None


def _entries(block, offset):
    """Yields (key, value) of a block that is at byte `offset`."""
    at, end, key, bytes_of_keys = 0, len(block) - 4, b"", 0
    try:
        (count,) = struct.unpack("<I", block[-4:])
        end -= 4 * count
        while at < end:
            shared, at = read_varint(block, at)
            rest, at = read_varint(block, at)
            size, at = read_varint(block, at)
            if shared > len(key) or at + rest + size > end:
                raise IndexError
            key = key[:shared] + bytes(block[at:at + rest])
            bytes_of_keys += len(key)
            if bytes_of_keys > _SHARED * len(block):
                raise IndexError
            yield key, block[at + rest:at + rest + size]
            at += rest + size
        if at != end:
            raise IndexError
    except (IndexError, ValueError, struct.error):
        raise Damaged(f"the table is damaged: an entry goes beyond its block, which is at byte {offset}") from None


def unsnapped(data):
    """Returns what Snappy made shorter ("Snappy compressed format description": literals, and copies of what came before)."""
    size, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data) and len(out) <= size:
        tag = data[at]
        at += 1
        length, kind = tag >> 2, tag & 3
        if kind == 0:
            if length >= 60:
                n = length - 59
                length, at = int.from_bytes(data[at:at + n], "little"), at + n
            out += data[at:at + length + 1]
            at += length + 1
            continue
        if kind == 1:
            length, offset, at = (length & 7) + 4, (tag >> 5) << 8 | data[at], at + 1
        else:
            n = 2 if kind == 2 else 4
            length, offset, at = length + 1, int.from_bytes(data[at:at + n], "little"), at + n
        if not 0 < offset <= len(out):
            raise ValueError(f"a copy of what is {offset} bytes before byte {len(out)}")
        for _ in range(length):  # a copy may reach into itself
            out.append(out[-offset])
    if len(out) != size:
        raise ValueError(f"it holds {len(out)} bytes instead of {size}")
    return bytes(out)
