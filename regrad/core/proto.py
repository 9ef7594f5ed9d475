"""Protocol buffers, as far as TensorFlow's files need them: messages declared by their fields, read and written as bytes.

    class Point(Message):
        FIELDS = fields("1 x float; 2 label string; 3 tags string*; 4 next Point")

A message is made with keywords, has its fields as attributes, and `SerializeToString`, `FromString`, `CopyFrom`, `HasField`
and the rest of the methods that programs call on TensorFlow's messages. Source of the encoding: the Protocol Buffers
specification (protobuf.dev, "Encoding"), proto3.
"""

import struct

import numpy as np

from regrad.core.dtypes import enum_name
from regrad.core.errors import Damaged

_VARINT, _FIXED64, BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {"float": _FIXED32, "double": _FIXED64, "string": BYTES, "bytes": BYTES, "int32": _VARINT, "int64": _VARINT,
         "uint32": _VARINT, "uint64": _VARINT, "fixed32": _FIXED32, "bool": _VARINT, "enum": _VARINT}
_DEFAULTS = {"float": 0.0, "double": 0.0, "string": "", "bytes": b"", "bool": False}
_RANGES = {"int32": (-2**31, 2**31), "enum": (-2**31, 2**31), "int64": (-2**63, 2**63), "uint32": (0, 2**32),
           "fixed32": (0, 2**32), "uint64": (0, 2**64)}
NESTED = 100  # messages in one another that are read, as of Protocol Buffers


class _Broken(ValueError):
    """What is wrong with a message's bytes, and where."""


class Field:
    """One field: `number`, `name`, `kind` (a scalar's, or a message's name), `repeated`, `mapped`, `oneof` (its name or "")."""

    __slots__ = ("number", "name", "kind", "repeated", "mapped", "oneof")

    def __init__(self, text):
        number, self.name, kind, *oneof = text.split()
        self.number = int(number)
        self.mapped = kind.startswith("map:")
        self.repeated = kind.endswith("*")
        self.kind = kind.removeprefix("map:").rstrip("*")
        self.oneof = oneof[0] if oneof else ""

    @property
    def is_message(self):
        return self.kind not in _WIRE

    def message(self):
        return _types[self.kind]

    def checked(self, value):
        """Returns `value` as this field keeps it; TypeError or ValueError when it cannot."""
        kind = self.kind
        if isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, np.ndarray) and value.ndim == 0 and kind in ("float", "double"):
            value = value.item()
        if kind in ("string", "bytes"):
            if isinstance(value, str):
                return value if kind == "string" else value.encode()
            if isinstance(value, (bytes, bytearray)):
                return value.decode() if kind == "string" else bytes(value)
        elif kind == "bool":
            if isinstance(value, (bool, int)):
                return bool(value)
        elif kind in ("float", "double"):
            if isinstance(value, (int, float)):
                with np.errstate(over="ignore"):
                    return float(np.float32(value)) if kind == "float" else float(value)
        elif isinstance(value, int):
            low, high = _RANGES[kind]
            if not low <= value < high:
                raise ValueError(f"Value out of range: {value} for field {self.name!r} of type {kind}.")
            return int(value)
        raise TypeError(f"{value!r:.100} has type {type(value).__name__}, but field {self.name!r} expects {kind}.")


def fields(text):
    """Returns {name: Field} of "number name kind [oneof]; ...": kind* is repeated, map:kind a map from strings."""
    found = [Field(part) for part in text.split(";") if part.strip()]
    return {f.name: f for f in found}


_types: dict = {}
_KEY = Field("1 key string")  # of a map's entry


class Repeated(list):
    """The values of a repeated field."""

    def __init__(self, owner, field, values=()):
        super().__init__()
        self._owner, self._field = owner, field
        if values is not None:
            self.extend(values)

    def _item(self, value):
        self._owner._touch()
        if not self._field.is_message:
            return self._field.checked(value)
        if isinstance(value, dict):
            value = self._field.message()(**value)
        if type(value) is not self._field.message():
            raise TypeError(f"field {self._field.name!r} holds {self._field.kind}, not {type(value).__name__}.")
        return value

    def append(self, value):
        super().append(self._item(value))

    def extend(self, values):
        super().extend([self._item(v) for v in values])

    def __iadd__(self, values):  # type: ignore[misc]
        self.extend(values)
        return self

    def insert(self, at, value):
        super().insert(at, self._item(value))

    def __setitem__(self, at, value):
        super().__setitem__(at, [self._item(v) for v in value] if isinstance(at, slice) else self._item(value))

    def add(self, **values):
        """Appends a new message and returns it."""
        self.append(self._field.message()(**values))
        return self[-1]

    def MergeFrom(self, other):
        self.extend(other)

    def CopyFrom(self, other):
        self[:] = other


class Map(dict):
    """The entries of a map field; asking for a missing message makes it."""

    def __init__(self, owner, field, values=()):
        super().__init__()
        self._owner, self._field = owner, field
        for key, value in dict(values or ()).items():
            self.put(key, value)

    def put(self, key, value):
        """Makes `value`, a message that nothing else holds where the field is one of messages, the value of a key."""
        self._owner._touch()
        key = key.decode() if isinstance(key, bytes) else key
        if not isinstance(key, str):
            raise TypeError(f"{key!r} is no key of the map {self._field.name!r}: its keys are strings.")
        super().__setitem__(key, value if self._field.is_message else self._field.checked(value))

    def __setitem__(self, key, value):
        if self._field.is_message:
            raise ValueError(f"Values of the map {self._field.name!r} are messages: use m[key].CopyFrom(value).")
        self.put(key, value)

    def __missing__(self, key):
        self.put(key, self._field.message()() if self._field.is_message else _DEFAULTS.get(self._field.kind, 0))
        return self[key]


def _copied(value):
    """Returns a copy of what a field holds."""
    if not isinstance(value, Message):
        return value
    made = type(value)()
    made.MergeFrom(value)
    return made


class Serialized:
    """What follows from `SerializeToString`, `MergeFromString`, `MergeFrom` and `Clear`."""

    __slots__ = ()

    def ByteSize(self):
        """Returns how many bytes the message is."""
        return len(self.SerializeToString())

    def ParseFromString(self, data):
        """Reads the message from bytes, in place of what it held; returns how many bytes that were.

        Raises:
          DataLossError: (a ValueError too) `data` is no such message.
        """
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data):
        """Returns the message that bytes hold; DataLossError, which is a ValueError too, where that is none."""
        message = cls()
        message.MergeFromString(data)
        return message

    def CopyFrom(self, other):
        """Makes this message a copy of `other`."""
        self.Clear()
        self.MergeFrom(other)


class Message(Serialized):
    """A message; subclasses declare FIELDS. Unset fields give their default."""

    FIELDS: dict[str, Field] = {}
    __slots__ = ("_values", "_parent", "_slot")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        _types[cls.__qualname__] = cls
        cls._by_number = {f.number: f for f in cls.FIELDS.values()}

    def __init__(self, **values):
        set_ = object.__setattr__
        set_(self, "_values", {})
        set_(self, "_parent", None)
        set_(self, "_slot", None)
        for name, value in values.items():
            if value is None:
                continue
            field = self._field(name)
            if field.mapped:
                self._values[name] = Map(self, field, value)
            elif field.repeated:
                self._values[name] = Repeated(self, field, value)
            elif field.is_message:
                value = field.message()(**value) if isinstance(value, dict) else value
                getattr(self, name).CopyFrom(value)
            else:
                setattr(self, name, value)

    @classmethod
    def _field(cls, name):
        field = cls.FIELDS.get(name)
        if field is None:
            raise ValueError(f"Protocol message {cls.__name__} has no \"{name}\" field; it has {', '.join(cls.FIELDS)}.")
        return field

    def __getattr__(self, name):
        field = type(self).FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(type(self).FIELDS)}.")
        if name in self._values:
            return self._values[name]
        if field.mapped or field.repeated:
            self._values[name] = (Map if field.mapped else Repeated)(self, field)
            return self._values[name]
        if not field.is_message:
            return _DEFAULTS.get(field.kind, 0)
        child = field.message()()
        object.__setattr__(child, "_parent", self)  # joins its parent when something in it is set
        object.__setattr__(child, "_slot", field)
        return child

    def __setattr__(self, name, value):
        field = type(self).FIELDS.get(name)
        if field is None:
            raise AttributeError(f"Protocol message {type(self).__name__} has no \"{name}\" field.")
        if field.mapped or field.repeated or field.is_message:
            raise AttributeError(f"Assignment not allowed to the field \"{name}\" of {type(self).__name__}: use its CopyFrom, "
                                 "extend or add.")
        self._occupy(field)
        self._values[name] = field.checked(value)
        self._touch()

    def _occupy(self, field):
        if field.oneof:
            for other in type(self).FIELDS.values():
                if other.oneof == field.oneof and other is not field:
                    self._values.pop(other.name, None)

    def _touch(self):
        child = self
        while child._parent is not None:
            parent, field = child._parent, child._slot
            if parent._values.get(field.name) is not child:
                parent._occupy(field)
                parent._values[field.name] = child
            child = parent

    # -- the methods programs call -----------------------------------------------------

    def SetInParent(self):
        """Counts this message as set in the one it belongs to."""
        self._touch()

    def HasField(self, name):
        """Returns whether a field is set; for repeated fields ValueError, as they have no presence."""
        field = self._field(name) if name in type(self).FIELDS else None
        if field is None:
            return self.WhichOneof(name) is not None
        if field.repeated or field.mapped:
            raise ValueError(f"Protocol message {type(self).__name__} has no singular \"{name}\" field.")
        return name in self._values

    def WhichOneof(self, oneof):
        """Returns the name of the field of a oneof that is set, or None."""
        names = [f.name for f in type(self).FIELDS.values() if f.oneof == oneof]
        if not names:
            raise ValueError(f"Protocol message {type(self).__name__} has no oneof \"{oneof}\" field.")
        return next((n for n in names if n in self._values), None)

    def ClearField(self, name):
        self._values.pop(self._field(name).name, None)

    def Clear(self):
        self._values.clear()

    def ListFields(self):
        """Returns (field, value) of all that is set, by number."""
        found = [(f, self._values[f.name]) for f in type(self).FIELDS.values() if f.name in self._values]
        return sorted(((f, v) for f, v in found if not (f.repeated or f.mapped) or len(v)), key=lambda p: p[0].number)

    def MergeFrom(self, other):
        """Adds what is set in `other`."""
        if type(other) is not type(self):
            raise TypeError(f"Parameter to MergeFrom() must be {type(self).__name__}, not {type(other).__name__}.")
        self._touch()
        for name, value in list(other._values.items()):
            field = type(self).FIELDS[name]
            if field.mapped:
                mine = getattr(self, name)
                for key, v in list(value.items()):
                    mine.put(key, _copied(v))
            elif field.repeated:
                getattr(self, name).extend([_copied(v) for v in value] if field.is_message else value)
            elif field.is_message:
                getattr(self, name).MergeFrom(value)
            else:
                setattr(self, name, value)

    def SerializeToString(self, deterministic=None):
        """Returns the message as bytes; maps by key."""
        return b"".join(_field_bytes(f, v) for f, v in self.ListFields())

    def MergeFromString(self, data):
        """Adds what bytes hold. Unknown fields are left out.

        Raises:
          DataLossError: (a ValueError too) `data` is no such message.
        """
        try:
            self._read(memoryview(data), 0, 0)
        except _Broken as error:
            raise Damaged(f"Error parsing message with type '{type(self).__name__.removeprefix('Proto')}': {error}") from None
        return len(data)

    def _read(self, data, start, depth):
        """Adds what `data` hold, which are at byte `start` of the whole, in a message in `depth` others."""
        at = before = 0
        try:
            if depth > NESTED:
                raise ValueError(f"more than {NESTED} messages in one another")
            while at < len(data):
                before = at
                key, at = read_varint(data, at)
                value, at = _read_value(data, at, key & 7)
                field = self._by_number.get(key >> 3)
                if field is not None:
                    place = start + at - (len(value) if key & 7 == BYTES else 0)
                    self._merge(field, value, key & 7, place, depth)
        except _Broken:
            raise
        except IndexError:
            raise _Broken(f"at byte {start + before}, the data end in the middle of a field") from None
        except (struct.error, ValueError) as error:
            raise _Broken(f"at byte {start + before}, {error}") from None

    def _merge(self, field, value, wire, place, depth):
        if wire != BYTES and (field.mapped or field.is_message):
            raise ValueError(f"field {field.name!r} of type {field.kind} has wire type {wire}")
        if field.mapped:
            self._merge_entry(field, value, place, depth)
        elif field.is_message:
            child = field.message()() if field.repeated else getattr(self, field.name)
            child._read(value, place, depth + 1)
            if field.repeated:
                list.append(getattr(self, field.name), child)
            else:
                child._touch()
        elif field.repeated:
            if wire == BYTES and _WIRE[field.kind] != BYTES:
                getattr(self, field.name).extend(_unpacked(field, value))
            else:
                getattr(self, field.name).append(_decoded(field, value, wire))
        else:
            setattr(self, field.name, _decoded(field, value, wire))

    def _merge_entry(self, field, value, place, depth):
        """Adds an entry of a map: a message of a key, 1, and a value, 2."""
        name, wire, of_value = "", _WIRE.get(field.kind, BYTES), None
        at = 0
        while at < len(value):
            key, at = read_varint(value, at)
            found, at = _read_value(value, at, key & 7)
            if key >> 3 == 1:
                name = _decoded(_KEY, found, key & 7)
            elif key >> 3 == 2:
                wire, of_value, place_of = key & 7, found, place + at - (len(found) if key & 7 == BYTES else 0)
        if not field.is_message:
            getattr(self, field.name)[name] = _decoded(field, of_value, wire)
            return
        child = field.message()()
        if wire != BYTES:
            raise ValueError(f"the value of an entry of {field.name!r} has wire type {wire}")
        if of_value is not None:
            child._read(of_value, place_of, depth + 1)
        getattr(self, field.name).put(name, child)

    def __eq__(self, other):
        return type(other) is type(self) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self):
        return type(self).FromString, (self.SerializeToString(),)

    def __str__(self):
        return "".join(line + "\n" for line in _lines(self, ""))

    __repr__ = __str__


# -- bytes ------------------------------------------------------------------------------------------


def varint(n):
    """Returns an integer as bytes of 7 bits each, the lowest first."""
    n &= 2**64 - 1  # a negative number is written as its two's complement of 64 bits
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_varint(data, at):
    """Returns (the integer that stands at `at`, where it ends); IndexError where the data end in it, ValueError if it is longer
    than one of 64 bits."""
    n = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        n |= (byte & 127) << shift
        if byte < 128:
            return n & 2**64 - 1, at
        shift += 7
    raise ValueError("an integer of more than ten bytes")


def _read_value(data, at, wire):
    if wire == _VARINT:
        return read_varint(data, at)
    if wire == BYTES:
        size, at = read_varint(data, at)
    elif wire in (_FIXED32, _FIXED64):
        size = 4 if wire == _FIXED32 else 8
    else:
        raise ValueError(f"wire type {wire}")
    if at + size > len(data):
        raise IndexError("the data end in the middle of a field")
    return data[at:at + size], at + size


def entries(data):
    """Yields (key, value) for each field of a message's bytes: an int, or the bytes of what is no varint."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        value, at = _read_value(data, at, key & 7)
        yield key, value


def _decoded(field, value, wire):
    if value is None:
        return _DEFAULTS.get(field.kind, 0)
    if wire != _WIRE[field.kind]:
        raise ValueError(f"field {field.name!r} of type {field.kind} has wire type {wire}")
    if wire == BYTES:
        return bytes(value).decode() if field.kind == "string" else bytes(value)
    if wire == _VARINT:
        if field.kind in ("int32", "int64", "enum") and value >= 2**63:
            value -= 2**64
        return bool(value) if field.kind == "bool" else value
    return struct.unpack("<I" if field.kind == "fixed32" else "<f" if wire == _FIXED32 else "<d", value)[0]


def _unpacked(field, data):
    wire = _WIRE[field.kind]
    if wire == _VARINT:
        at, out = 0, []
        while at < len(data):
            value, at = read_varint(data, at)
            out.append(_decoded(field, value, wire))
        return out
    return np.frombuffer(data, "<f4" if wire == _FIXED32 else "<f8").tolist()


def _scalar_bytes(kind, value):
    if kind == "string":
        value = value.encode()
    if kind in ("string", "bytes"):
        return varint(len(value)) + value
    if kind in ("float", "fixed32"):
        return struct.pack("<f" if kind == "float" else "<I", value)
    return struct.pack("<d", value) if kind == "double" else varint(int(value))


def _tagged(number, wire, payload):
    return varint(number << 3 | wire) + payload


def sized(number, payload):
    """Returns a field of bytes, a message's for one, as bytes."""
    return _tagged(number, BYTES, varint(len(payload)) + payload)


def _field_bytes(field, value):
    if field.mapped:
        return b"".join(sized(field.number, sized(1, key.encode()) + (
            sized(2, value[key].SerializeToString()) if field.is_message
            else _tagged(2, _WIRE[field.kind], _scalar_bytes(field.kind, value[key])))) for key in sorted(value))
    if field.is_message:
        return b"".join(sized(field.number, v.SerializeToString()) for v in (value if field.repeated else [value]))
    wire = _WIRE[field.kind]
    if field.repeated:
        if wire == BYTES:
            return b"".join(_tagged(field.number, wire, _scalar_bytes(field.kind, v)) for v in value)
        if wire == _VARINT:
            return sized(field.number, b"".join(varint(int(v)) for v in value))
        return sized(field.number, np.asarray(value, "<f4" if wire == _FIXED32 else "<f8").tobytes())
    if not field.oneof and value == _DEFAULTS.get(field.kind, 0) and str(value) != "-0.0":
        return b""  # proto3: a default is not written
    return _tagged(field.number, wire, _scalar_bytes(field.kind, value))


# -- text -------------------------------------------------------------------------------------------


def _text(field, value):
    if field.kind == "bool":
        return str(value).lower()
    if field.kind == "enum" and field.name in ("dtype", "type") and value:
        try:
            return enum_name(value % 100) + "_REF" * (value > 100)
        except TypeError:  # of a later TensorFlow
            return str(value)
    if field.kind in ("string", "bytes"):
        raw = value.encode() if isinstance(value, str) else value
        return '"' + "".join({92: "\\\\", 34: '\\"', 10: "\\n"}.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}")
                             for c in raw) + '"'
    return f"{np.float32(value)!s}" if field.kind == "float" else str(value)


def _lines(message, indent):
    for field, value in message.ListFields():
        if field.mapped:
            for key in sorted(value):
                inner = [f"{indent}  value {{", *_lines(value[key], indent + "    "), f"{indent}  }}"] if field.is_message \
                    else [f"{indent}  value: {_text(field, value[key])}"]
                yield from [f"{indent}{field.name} {{", f'{indent}  key: "{key}"', *inner, f"{indent}}}"]
        else:
            for v in value if field.repeated else [value]:
                if field.is_message:
                    yield from [f"{indent}{field.name} {{", *_lines(v, indent + "  "), f"{indent}}}"]
                else:
                    yield f"{indent}{field.name}: {_text(field, v)}"
