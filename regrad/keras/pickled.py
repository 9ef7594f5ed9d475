"""Data that were pickled, read without pickle: a file can say what is in it, and nothing else.

What files of data sets hold: dicts, lists, tuples, numbers, text, bytes and NumPy arrays of these. Of what pickle can call, the
reader knows by name the few functions with which NumPy describes an array, and makes the array of the description itself; it
imports nothing and calls nothing. Source of the codes: `pickletools` of Python's library, protocols 2 to 5.
"""

import re
import struct

import numpy as np

_MARK = object()
_NUMBERS = {0x4A: "<i", 0x47: ">d"}  # BININT, BINFLOAT
_SHORT = re.compile(rb"(?:K.|M..){1,1000}", re.DOTALL)  # BININT1, BININT2: most of what files of texts are
_ONE = re.compile(rb"K(.)|M(..)", re.DOTALL)
_SIZED = {  # codes of bytes and text that have their length in front: its form, whether they are text
    0x42: ("<I", False), 0x43: ("B", False), 0x8E: ("<Q", False), 0x54: ("<i", False), 0x55: ("B", False),
    0x58: ("<I", True), 0x8C: ("B", True), 0x8D: ("<Q", True)}
_PLAIN = {0x4E: None, 0x88: True, 0x89: False}  # NONE, NEWTRUE, NEWFALSE
_TUPLES = {0x29: 0, 0x85: 1, 0x86: 2, 0x87: 3}
_EMPTY = {0x5D: list, 0x7D: dict}


class _Name(str):
    """A name that a file gives for something to be called."""


class _Array:
    """What a file says of an array."""

    value = None

    def __init__(self, *args):
        pass

    def take(self, state):
        _, shape, kind, by_columns, data = state
        if not isinstance(kind, np.dtype) or isinstance(data, list) != kind.hasobject or min(_of(tuple, shape), default=0) < 0:
            raise ValueError(f"an array of {kind!r} of shape {shape!r} of a {type(data).__name__}")
        if isinstance(data, list):
            found = np.empty(len(data), object)
            found[:] = [_plain(value) for value in data]
        else:
            found = np.frombuffer(_of(bytes, data), kind)
        self.value = found.reshape(shape, order="F" if by_columns else "C")


class _Type:
    """What a file says of a dtype."""

    def __init__(self, name, *args):
        name = name.decode() if isinstance(name, bytes) else _of(str, name)
        self.value = np.dtype(object) if name in ("O", "O8", "O4") else np.dtype(name)
        if self.value.kind not in "biufO":
            raise ValueError(f"arrays of dtype {name!r}")

    def take(self, state):
        order = state[1]
        if order in ("<", ">", b"<", b">"):
            self.value = self.value.newbyteorder(order.decode() if isinstance(order, bytes) else order)


def _encoded(text, encoding):
    """What bytes are in files of protocol 2 that Python 3 wrote; empty ones are `bytes()`."""
    if encoding != "latin1":
        raise ValueError(f"bytes in {encoding!r}")
    return text.encode("latin1")


_CALLS = {"numpy.core.multiarray _reconstruct": _Array, "numpy._core.multiarray _reconstruct": _Array, "numpy dtype": _Type,
          "_codecs encode": _encoded, "__builtin__ bytes": lambda: b""}
_NAMES = {*_CALLS, "numpy ndarray"}


def loads(data):
    """Returns the object that was pickled: of dicts, lists, tuples, numbers, text, bytes and arrays.

    Text of Python 2 is bytes, as of `pickle.loads(data, encoding="bytes")`.

    Raises:
      ValueError: the bytes are no such object, or name something else; with the place.
    """
    reader = _Reader(data)
    try:
        return reader.run()
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, struct.error) as error:
        raise ValueError(f"at byte {reader.at}, {error or 'the data end'}") from None


class _Reader:
    def __init__(self, data):
        self.data, self.at, self.made = bytes(data), 0, 0

    def _number(self, form):
        (found,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return found

    def _bytes(self, size):
        if not 0 <= size <= len(self.data) - self.at:
            raise ValueError(f"{size} bytes, and {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size:self.at]

    def _line(self):
        return self._bytes(self.data.index(b"\n", self.at) - self.at + 1)[:-1].decode()

    def _count(self, value):
        """Counts what is made of things that were read before: no file makes many times its size of one of them."""
        self.made += len(value) if isinstance(value, (bytes, str)) else 8 * len(value) if isinstance(value, list) else 0
        if self.made > 16 * len(self.data):
            raise ValueError("it makes much of little")

    def run(self):
        stack, memo, marks, data = [], {}, [], self.data

        def marked():
            items = stack[marks[-1]:]
            del stack[marks.pop():]
            return items

        def top():
            if len(stack) <= (marks[-1] if marks else 0):
                raise ValueError("an operation on nothing")
            return stack[-1]

        def pop():
            top()
            return stack.pop()

        while True:
            code = data[self.at]
            self.at += 1
            if code in b"KM" and (run := _SHORT.match(data, self.at - 1)) is not None:
                stack += [one[0] if one else two[0] | two[1] << 8 for one, two in _ONE.findall(data, self.at - 1, run.end())]
                self.at = run.end()
            elif code in _NUMBERS:
                stack.append(self._number(_NUMBERS[code]))
            elif code in _SIZED:
                form, is_text = _SIZED[code]
                found = self._bytes(self._number(form))
                stack.append(found.decode() if is_text else found)
            elif code in _PLAIN:
                stack.append(_PLAIN[code])
            elif code in _EMPTY:
                stack.append(_EMPTY[code]())
            elif code in _TUPLES:
                items = [pop() for _ in range(_TUPLES[code])]
                stack.append(tuple(reversed(items)))
            elif code == 0x28:  # MARK
                marks.append(len(stack))
            elif code == 0x74:  # TUPLE
                stack.append(tuple(marked()))
            elif code == 0x65:  # APPENDS
                items = marked()
                _of(list, top()).extend(items)
            elif code == 0x61:  # APPEND
                item = pop()
                _of(list, top()).append(item)
            elif code == 0x75:  # SETITEMS
                items = marked()
                _pairs(_of(dict, top()), items)
            elif code == 0x73:  # SETITEM
                value, key = pop(), pop()
                _pairs(_of(dict, top()), [key, value])
            elif code in (0x71, 0x72):  # BINPUT, LONG_BINPUT
                memo[self._number("B" if code == 0x71 else "<I")] = top()
            elif code == 0x94:  # MEMOIZE
                memo[len(memo)] = top()
            elif code in (0x68, 0x6A):  # BINGET, LONG_BINGET
                stack.append(memo[self._number("B" if code == 0x68 else "<I")])
            elif code in (0x8A, 0x8B):  # LONG1, LONG4
                stack.append(int.from_bytes(self._bytes(self._number("B" if code == 0x8A else "<i")), "little", signed=True))
            elif code in (0x63, 0x93):  # GLOBAL, STACK_GLOBAL
                name = f"{self._line()} {self._line()}" if code == 0x63 else " ".join(reversed((pop(), pop())))
                if name not in _NAMES:
                    raise ValueError(f"it names {name.replace(' ', '.')}, which is no part of data")
                stack.append(_Name(name))
            elif code == 0x52:  # REDUCE
                args, name = _of(tuple, pop()), _of(_Name, pop())
                for value in args:
                    self._count(value)
                stack.append(_CALLS[name](*args))
            elif code == 0x62:  # BUILD
                state, made = _of(tuple, pop()), top()
                if not isinstance(made, (_Array, _Type)):
                    raise ValueError(f"a state for {type(made).__name__}")
                for value in state:
                    self._count(value)
                made.take(tuple(_plain(value) for value in state))
            elif code == 0x80:  # PROTO
                self._bytes(1)
            elif code == 0x95:  # FRAME
                self._bytes(8)
            elif code == 0x30:  # POP
                pop()
            elif code == 0x2E:  # STOP
                return _finished(pop())
            else:
                raise ValueError(f"the code {code:#04x}, which stands in no file of plain data")


def _of(kind, value):
    if type(value) is not kind:
        raise ValueError(f"a {type(value).__name__} for a {kind.__name__}")
    return value


def _pairs(made, items):
    if len(items) % 2:
        raise ValueError("a key without a value")
    for key, value in zip(items[::2], items[1::2]):
        if not isinstance(key, (bytes, str, int)):
            raise ValueError(f"a {type(key).__name__} as a key")
        made[key] = value
    return made


def _plain(value):
    return value.value if isinstance(value, (_Array, _Type)) else value


def _finished(value):
    """Returns what was read: of a dict, what it has; of anything else, that."""
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    return _plain(value)


__all__ = ["loads"]
