"""What TensorFlow's checkpoints are made of: tensors by name in files, written and read.

Version 2, a "bundle", is the form that is written. A checkpoint with the prefix "dir/model.ckpt-10" is then

    model.ckpt-10.index                  a sorted table: name -> dtype, shape, and where in the data its bytes lie
    model.ckpt-10.data-00000-of-00001    the tensors' bytes, one after the other

A checkpoint that is saved again is replaced by one system call, the renaming of its index (`_replace`): whoever reads finds the
old values or the new ones, all of them, wherever the process that saves is killed.

Strings stand there as their lengths, a checksum of these, and their bytes. A partitioned variable that TensorFlow saved has an
entry without data that names its slices, whose entries stand under keys of name and slice. Version 1 is one table (or several)
that holds the data itself, as messages.
"""

import contextlib
import glob
import math
import os
import re
import struct

import numpy as np

from regrad.core import files
from regrad.core.dtypes import as_dtype
from regrad.core.errors import OpError
from regrad.core.files import Part, alone_in, also_called, remove_if_there, set_aside, translated
from regrad.core.messages import MOST_AXES, TensorProto, TensorShapeProto, make_ndarray
from regrad.core.proto import BYTES, Message, entries, fields, read_varint, varint
from regrad.core.reading import reading
from regrad.core.records import masked_crc
from regrad.core.tables import is_table, read_table, table_bytes

INDEX = ".index"
DATA = ".data-00000-of-00001"
_MEANWHILE = ".data-00000-of-00002"  # as an index of two files calls the first; nothing lies in the second


class TensorSliceProto(Message):
    class Extent(Message):
        FIELDS = fields("1 start int64; 2 length int64 has_length")

    FIELDS = fields("1 extent TensorSliceProto.Extent*")


class VersionDef(Message):
    FIELDS = fields("1 producer int32; 2 min_consumer int32; 3 bad_consumers int32*")


class BundleHeaderProto(Message):
    FIELDS = fields("1 num_shards int32; 2 endianness enum; 3 version VersionDef")


class BundleEntryProto(Message):
    FIELDS = fields("""1 dtype enum; 2 shape TensorShapeProto; 3 shard_id int32; 4 offset int64; 5 size int64; 6 crc32c fixed32;
        7 slices TensorSliceProto*""")


class SavedSliceMeta(Message):
    FIELDS = fields("1 name string; 2 shape TensorShapeProto; 3 type enum; 4 slice TensorSliceProto*")


class SavedTensorSliceMeta(Message):
    FIELDS = fields("1 tensor SavedSliceMeta*; 2 versions VersionDef")


class SavedSlice(Message):
    FIELDS = fields("1 name string; 2 slice TensorSliceProto; 3 data bytes")


class SavedTensorSlices(Message):
    FIELDS = fields("1 meta SavedTensorSliceMeta; 2 data SavedSlice")


# -- values as bytes -------------------------------------------------------------------------------------------
def _lengths_checked(lengths):
    """Returns the checksum that stands between the lengths of strings and the strings."""
    plain = b"".join(struct.pack("<I" if n < 2**32 else "<Q", n) for n in lengths)
    return plain, struct.pack("<I", masked_crc(plain))


def _encoded(array, dtype):
    """Returns (the bytes of an array in a bundle, what their checksum is of)."""
    if dtype.name != "string":
        data = array.reshape(-1).view(np.uint8)
        return data, data
    strings = [s.encode() if isinstance(s, str) else bytes(s) for s in array.flat]
    plain, check = _lengths_checked([len(s) for s in strings])
    text = b"".join(strings)
    return b"".join(varint(len(s)) for s in strings) + check + text, plain + check + text


def _decoded(data, dtype, shape, stored):
    """The inverse: returns the array; ValueError where the bytes do not fit, or have another checksum than `stored`."""
    count = math.prod(shape)
    checked = data
    if dtype.name == "string":
        if count > len(data):
            raise ValueError(f"{len(data)} bytes for {count} strings")
        at, lengths = 0, []
        try:
            for _ in range(count):
                n, at = read_varint(data, at)
                lengths.append(n)
        except IndexError:
            raise ValueError("the lengths of its strings are damaged") from None
        plain, check = _lengths_checked(lengths)
        if bytes(data[at:at + 4]) != check or sum(lengths) != len(data) - at - 4:
            raise ValueError("the lengths of its strings are damaged")
        checked, at = plain + bytes(data[at:]), at + 4
        array = np.empty(count, object)
        for i, n in enumerate(lengths):
            array[i], at = bytes(data[at:at + n]), at + n
    else:
        kind = np.dtype(dtype.as_numpy_dtype)
        if count * kind.itemsize != len(data):
            raise ValueError(f"{len(data)} bytes for {count} elements of {dtype.name}")
        array = np.frombuffer(data, np.uint8).copy().view(kind)
    if masked_crc(checked) != stored:
        raise ValueError("its checksum is wrong")
    return array.reshape(shape)


def _sizes(shape):
    """Returns the sizes that a TensorShapeProto tells; ValueError for what no array has."""
    sizes = [d.size for d in shape.dim]
    if min(sizes, default=0) < 0 or len(sizes) > MOST_AXES:
        raise ValueError(f"there is no array of shape {sizes}")
    return sizes


# -- slices ------------------------------------------------------------------------------------------------------
def _ordered(n):
    """Returns a signed integer as bytes that are sorted as the numbers are (TensorFlow's "ordered code")."""
    x = ~n if n < 0 else n
    length = x.bit_length() // 7 + 1
    if length == 1:
        return bytes([0x80 ^ n & 0xFF])
    data = bytearray(n.to_bytes(length, "big", signed=True))
    head = ((1 << length) - 1) << (16 - length)
    data[0] ^= head >> 8
    data[1] ^= head & 0xFF
    return bytes(data)


def _slice_key(name, extents):
    """Returns the key of a slice: a zero, the name, how many axes, and start and length of each (0, -1 for a whole one)."""
    text = name.encode().replace(b"\0", b"\0\xff")
    rank = b"\1" + bytes([len(extents)]) if extents else b"\0"
    return b"\0" + text + b"\0\1" + rank + b"".join(_ordered(n) for extent in extents for n in extent)


def _extents(proto):
    return [(e.start, e.length) if e.HasField("length") else (0, -1) for e in proto.extent]


# -- version 2 ---------------------------------------------------------------------------------------------------
def write(prefix, values):
    """Writes a checkpoint; one of the same name stays as it is until the new one is whole.

    Args:
      prefix: path without the endings.
      values: {name: (array, DType)}, or {name: (Parts, DType)} for a whole that is given in slices.

    Raises:
      OpError: the system does not let it, ResourceExhaustedError for a full disk. Nothing has changed then.
    """
    entries, offset = {}, 0

    def put(file, key, array, dtype):
        nonlocal offset
        array = np.asarray(array, order="C")
        data, checked = _encoded(array, dtype)
        entry = entries[key] = _entry(array.shape, dtype)
        entry.offset, entry.size, entry.crc32c = offset, len(data), masked_crc(checked)
        file.write(data)
        offset += len(data)

    with translated(prefix + DATA), Part(prefix + DATA) as data:
        for name in sorted(values, key=str.encode):
            value, dtype = values[name]
            if not isinstance(value, Parts):
                put(data.file, name.encode(), value, dtype)
                continue
            whole = entries[name.encode()] = _entry(value.shape, dtype)
            for extents, array in value.slices:
                put(data.file, _slice_key(name, extents), array, dtype)
                whole.slices.add(extent=[TensorSliceProto.Extent(start=o, length=None if n < 0 else n) for o, n in extents])
        data.finish()
        with translated(prefix + INDEX), Part(prefix + INDEX) as index, Part(prefix + INDEX) as meanwhile:
            for count, part in enumerate((index, meanwhile), 1):
                header = BundleHeaderProto(num_shards=count, version=VersionDef(producer=1))
                part.file.write(table_bytes([(b"", header.SerializeToString()), *(
                    (key, entries[key].SerializeToString()) for key in sorted(entries))]))
                part.finish()
            with alone_in(os.path.dirname(prefix)):
                _replace(prefix, data, index, meanwhile)


def _replace(prefix, data, index, meanwhile):
    """Puts a checkpoint's files in place.

    Between any two of these calls the index names files that are whole and its own. So where the old one names a file of the
    name that the new data are to have, they get another for a moment, and an index that says so.
    """
    usual, other = prefix + DATA, prefix + _MEANWHILE
    try:
        if _count_of_files(prefix) in (1, None):
            data.take_place(other)
            meanwhile.take_place(prefix + INDEX)  # from here on it is the new one
            usual = usual if also_called(other, usual) else other
        else:
            data.take_place(usual)
        if usual == prefix + DATA:
            index.take_place(prefix + INDEX)
    finally:
        count = _count_of_files(prefix)
        for path in _files_of_data(prefix):
            if count is not None and not path.endswith(f"-of-{count:05d}"):
                remove_if_there(path)


def _count_of_files(prefix):
    """Returns how many files of data the index names: 0 where there is none, None of one that cannot be read."""
    if not os.path.exists(prefix + INDEX):
        return 0
    try:
        with reading(prefix + INDEX):
            with open(prefix + INDEX, "rb") as file:
                _, header = next(read_table(file.read()))
            return BundleHeaderProto.FromString(header).num_shards
    except OpError:
        return None



def _entry(shape, dtype):
    made = BundleEntryProto(dtype=dtype.as_datatype_enum)
    made.shape.dim.extend([TensorShapeProto.Dim(size=n) for n in shape])
    made.shape.SetInParent()
    return made


class Parts:
    """A whole of `shape`, given as `slices`: [(extents, array)], the extents a start and a length for each axis."""

    def __init__(self, shape):
        self.shape, self.slices = shape, []


def parsed_spec(text):
    """Returns (whole shape, extents) of the words that name a slice: "100 2 0,50:-" is rows 0 to 49 of [100, 2].

    Raises:
      ValueError: it is none.
    """
    *sizes, places = text.split(" ")
    shape = [int(n) for n in sizes]
    extents = [(0, -1) if place == "-" else tuple(int(n) for n in place.split(",")) for place in places.split(":")]
    if len(extents) != len(shape) or any(len(e) != 2 for e in extents):
        raise ValueError(f"{text!r} is no slice: the sizes of the whole, and for each axis start,length or -")
    extents = [(0, -1) if (start, n) == (0, size) else (start, n) for (start, n), size in zip(extents, shape)]
    for (start, n), size in zip(extents, shape):
        if not (start, n) == (0, -1) and not 0 <= start <= start + n <= size:
            raise ValueError(f"{text!r} is no slice: {start},{n} goes beyond {size}")
    return shape, extents


def place(extents):
    """Returns the index of a slice in the whole, such that it gives an array of any rank."""
    return (*(slice(None) if n < 0 else slice(start, start + n) for start, n in extents), ...)


class Bundle:
    """A checkpoint of version 2: `shapes` and `dtypes` by name, and `array(name)`; `stamp` is whoever's who opens it."""

    stamp: tuple | None = None

    def __init__(self, prefix):
        """Raises: OSError: a file is missing. DataLossError: one is damaged."""
        self.prefix = prefix
        with reading(prefix + INDEX) as at:
            with open(prefix + INDEX, "rb") as file:
                items = dict(read_table(file.read()))
            header = BundleHeaderProto.FromString(items.pop(b"", b""))
            if header.endianness:
                raise ValueError("it was written by a machine of the other byte order")
            entries, self.shapes, self.dtypes = {}, {}, {}
            for key, value in items.items():
                at.place = f"the entry of {key.decode()!r}" if not key.startswith(b"\0") else f"the slice {key!r}"
                entry = entries[key] = BundleEntryProto.FromString(value)
                if not key.startswith(b"\0"):
                    self.shapes[key.decode()], self.dtypes[key.decode()] = _sizes(entry.shape), as_dtype(entry.dtype)
        self._slices = {key: entry for key, entry in entries.items() if key.startswith(b"\0")}
        self._entries = {key.decode(): entry for key, entry in entries.items() if not key.startswith(b"\0")}
        self._paths = {i: f"{prefix}.data-{i:05d}-of-{header.num_shards:05d}"
                       for i in sorted({entry.shard_id for entry in entries.values() if not entry.slices})}
        self.check_data()

    def check_data(self):
        """Raises FileNotFoundError where a file of the data is missing."""
        for path in self._paths.values():
            if not os.path.isfile(path):
                raise FileNotFoundError(f"its data are missing: {path}")

    def array(self, name):
        entry = self._entries[name]
        if not entry.slices:
            return self._value(entry)
        extents = [_extents(proto) for proto in entry.slices]
        parts = [self._slices.get(_slice_key(name, e)) for e in extents]
        kept = sum(os.path.getsize(path) for path in self._paths.values())
        return _joined(self.shapes[name], self.dtypes[name], extents, parts, kept, self._value)

    def _value(self, entry):
        dtype, shape, path = as_dtype(entry.dtype), _sizes(entry.shape), self._paths[entry.shard_id]
        with open(path, "rb") as file:
            there = os.fstat(file.fileno()).st_size
            if not 0 <= entry.offset <= entry.offset + entry.size <= there:
                raise ValueError(f"{path}: {entry.size} bytes from byte {entry.offset} on go beyond its {there} bytes: it was "
                                 "cut short, or the index belongs to another")
            file.seek(entry.offset)
            data = file.read(entry.size)
        return _decoded(data, dtype, shape, entry.crc32c)


def _joined(shape, dtype, extents, parts, kept, value):
    """Returns the whole that slices make up.

    Args:
      extents, parts: where each slice is, and what holds it, None where that is missing.
      kept: how many bytes there are of all slices: an array that cannot be made of them is not begun.
      value: function of what holds a slice that returns an array of its elements.

    Raises:
      ValueError: they do not make up a whole, each element once.
    """
    sizes = []
    for e, part in zip(extents, parts):
        if part is None:
            raise ValueError(f"its slice {e} is missing")
        if len(e) != len(shape) or any((start, n) != (0, -1) and not 0 <= start <= start + n <= size
                                       for (start, n), size in zip(e, shape)):
            raise ValueError(f"its slice {e} goes beyond its shape {shape}")
        sizes.append(math.prod(size if n < 0 else n for (_, n), size in zip(e, shape)))
    if sum(sizes) != math.prod(shape) or sum(sizes) > kept:
        raise ValueError(f"its shape {shape} has {math.prod(shape)} elements, its slices, of {kept} bytes, {sum(sizes)}")
    whole, given = np.empty(shape, dtype.as_numpy_dtype), np.zeros(shape if len(parts) > 1 else (), bool)
    for e, size, part in zip(extents, sizes, parts):
        found, at = value(part), place(e)
        if found.size != size:
            raise ValueError(f"its slice {e} has {found.size} elements instead of {size}")
        whole[at] = found.reshape(whole[at].shape)
        if len(parts) > 1:
            if given[at].any():
                raise ValueError(f"its slice {e} overlaps another")
            given[at] = True
    return whole


# -- version 1 ---------------------------------------------------------------------------------------------------
def files_of_slices(prefix):
    """Returns the files of a checkpoint of version 1: one of this very name, or its parts; none for a file of version 2."""
    if re.search(r"\.(index|meta|data-\d+-of-\d+)$", prefix):
        return []
    return [prefix] if os.path.isfile(prefix) else sorted(glob.glob(glob.escape(prefix) + "-?????-of-?????"))


def remove(prefix):
    """Deletes the files of a checkpoint, of either version, those that exist."""
    left_over = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        left_over.append(set_aside(prefix + INDEX))
    for path in (*(_files_of_data(prefix) or filter(_ends_as_table, files_of_slices(prefix))), *left_over):
        remove_if_there(path)


def remove_left_overs(prefix):
    """Deletes what processes that were killed while they saved, or deleted, have left of prefixes that begin with this one."""
    for path in files.remove_left_overs(prefix, and_longer=True):
        if path.endswith(INDEX):
            with alone_in(os.path.dirname(path)):
                if not os.path.exists(path):  # an index beside its place, and none in it: nobody can read the data
                    for data in _files_of_data(path.removesuffix(INDEX)):
                        remove_if_there(data)


def _files_of_data(prefix):
    return glob.glob(glob.escape(prefix) + ".data-?????-of-?????")


def _ends_as_table(path):
    """Returns whether a file may be one of a checkpoint of version 1, which has no ending of its own: no other is deleted."""
    with open(path, "rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - 48))
        return is_table(file.read())


class Slices:
    """A checkpoint of version 1, as TensorFlow's first releases wrote them, of the files named: as Bundle."""

    stamp = None

    def __init__(self, paths):
        self.shapes, self.dtypes, self._found, self._data = {}, {}, {}, {}
        for path in paths:
            with reading(path):
                with open(path, "rb") as file:
                    items = read_table(file.read())
                _, head = next(items, (None, b""))
                for tensor in SavedTensorSlices.FromString(head).meta.tensor:
                    self.shapes[tensor.name], self.dtypes[tensor.name] = _sizes(tensor.shape), as_dtype(tensor.type)
                    self._found.setdefault(tensor.name, []).extend(_extents(s) for s in tensor.slice)
                self._data.update(items)

    def array(self, name):
        dtype, extents = self.dtypes[name], self._found[name]
        parts = [self._data.get(_slice_key(name, e)) for e in extents]
        kept = sum(len(part) for part in parts if part is not None)
        return _joined(self.shapes[name], dtype, extents, parts, kept,
                       lambda part: _flat(SavedTensorSlices.FromString(part).data.data, dtype))


def _flat(data, dtype):
    """Returns the elements that a TensorProto's bytes hold; of floats, of which there are many, without a list of numbers."""
    if dtype.name in ("float32", "float64"):
        number = 5 if dtype.name == "float32" else 6
        found = [(key & 7, value) for key, value in entries(memoryview(data)) if key >> 3 == number]
        if len(found) == 1 and found[0][0] == BYTES:  # all of them in one field
            return np.frombuffer(found[0][1], dtype.as_numpy_dtype)
    proto = TensorProto.FromString(data)
    lists = [values for field, values in proto.ListFields() if field.repeated]
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.dim.add(size=len(lists[0]) // (2 if dtype.is_complex else 1) if lists else 0)
    return make_ndarray(proto)
