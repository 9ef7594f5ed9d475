"""Messages of `core/proto.py` read from text: what `str(message)` writes, and what TensorFlow writes as text."""

import re

from regrad.core.dtypes import as_dtype
from regrad.core.errors import Damaged
from regrad.core.proto import NESTED

_TOKEN = re.compile(r"""
    \s+ | \#[^\n]*
    | (?P<string>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
    | (?P<word>[\w.+-]+)
    | (?P<mark>[{}<>:;,\[\]])""", re.VERBOSE)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "a": b"\a", "b": b"\b", "f": b"\f", "v": b"\v"}
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|.)", re.DOTALL)


def parse(message, text):
    """Adds to `message` what a text holds; fields that its class has not are left out.

    Args:
      text: a string, or its bytes in UTF-8.

    Raises:
      DataLossError: (a ValueError too) the text is no such message; with the line.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            line = text.count(10, 0, error.start) + 1
            raise Damaged(f"line {line}: {error}") from None
    _fields(message, _Tokens(text), None)
    return message


def parsed(kind, data):
    """Returns the message of class `kind` that bytes hold, or their text where they are that.

    Raises:
      DataLossError: (a ValueError too) they are neither.
    """
    if data and all(32 <= c < 127 or c in b"\t\n\r" for c in data[:200]):
        return parse(kind(), data)
    return kind.FromString(data)


class _Tokens:
    """The tokens of a text; `found` is (kind, text) of the one that comes, None at the end."""

    def __init__(self, text):
        self.text, self.at, self.found, self.depth = text, 0, None, 0
        self.step()

    def step(self):
        """Goes to the next token; returns the one before."""
        before = self.found
        while True:
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                self.found = None
                if self.at < len(self.text):
                    raise self.error("unexpected character")
                return before
            self.at = match.end()
            if match.lastgroup is not None:
                self.found = match.lastgroup, match[match.lastgroup]
                return before

    def take(self, mark):
        """Goes on where the token is `mark`; returns whether it was."""
        if self.found != ("mark", mark):
            return False
        self.step()
        return True

    def error(self, what):
        return Damaged(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")


def _fields(message, tokens, end):
    """Reads fields up to the mark `end`; for a message None they are read past."""
    known = type(message).FIELDS if message is not None else {}
    tokens.depth += 1
    if tokens.depth > NESTED:
        raise tokens.error(f"more than {NESTED} messages in one another")
    while tokens.found != (end and ("mark", end)):
        if tokens.found is None or tokens.found[0] != "word":
            raise tokens.error("a field's name is expected" if tokens.found else f"the text ends before {end!r}")
        field = known.get(tokens.step()[1])
        tokens.take(":")
        if tokens.take("["):
            while not tokens.take("]"):
                _value(message, field, tokens)
                tokens.take(",")
        else:
            _value(message, field, tokens)
        tokens.take(",") or tokens.take(";")
    if end:
        tokens.step()
    tokens.depth -= 1


def _value(message, field, tokens):
    for start, end in ("{}", "<>"):
        if tokens.take(start):
            _message(message, field, tokens, end)
            return
    if tokens.found is None or tokens.found[0] == "mark":
        raise tokens.error("a value is expected")
    kind, text = tokens.step()
    if kind == "string":
        parts = [text]
        while tokens.found is not None and tokens.found[0] == "string":  # strings that follow each other are one
            parts.append(tokens.step()[1])
        value = b"".join(map(unescaped, parts))
    if field is None:
        return
    try:
        value = value if kind == "string" else _scalar(field.kind, text)
        if field.repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    except (TypeError, ValueError, KeyError) as error:
        raise tokens.error(f"{text} is no value of the field {field.name!r}: {error}") from None


def _message(message, field, tokens, end):
    if field is None or not field.is_message:
        _fields(None, tokens, end)
    elif field.mapped:
        _entry(getattr(message, field.name), field.message()(), tokens, end)
    elif field.repeated:
        _fields(getattr(message, field.name).add(), tokens, end)
    else:
        child = getattr(message, field.name)
        child.SetInParent()
        _fields(child, tokens, end)


def _entry(entries, value, tokens, end):
    """Reads an entry of a map: a key, and a message."""
    key = b""
    while not tokens.take(end):
        if tokens.found not in (("word", "key"), ("word", "value")):
            raise tokens.error("a map's entry has a key and a value")
        word = tokens.step()[1]
        tokens.take(":")
        if word == "value":
            closing = next((c for o, c in ("{}", "<>") if tokens.take(o)), None)
            if closing is None:
                raise tokens.error("a message is expected")
            _fields(value, tokens, closing)
        elif tokens.found is None or tokens.found[0] != "string":
            raise tokens.error("a key, a string, is expected")
        else:
            key = unescaped(tokens.step()[1])
        tokens.take(",") or tokens.take(";")
    entries.put(key, value)


def unescaped(text):
    """Returns the bytes that a string of the text form, quotes included, stands for."""
    def plain(match):
        found = match[1].decode("latin-1")
        if found[0] in "01234567":
            return bytes([int(found, 8) & 255])
        if found[0] in "xX" and len(found) > 1:
            return bytes([int(found[1:], 16)])
        return _ESCAPES.get(found, match[1])

    return _ESCAPE.sub(plain, text[1:-1].encode())


# Names of the enumerations that graphs have besides the dtypes.
_ENUMS = {"LEGACY": 0, "V1": 1, "V2": 2, "DT_INVALID": 0}
for _group in ("VARIABLE_SYNCHRONIZATION_: AUTO NONE ON_WRITE ON_READ",
               "VARIABLE_AGGREGATION_: NONE SUM MEAN ONLY_FIRST_REPLICA"):
    _start, _, _names = _group.partition(":")
    _ENUMS |= {_start + name: i for i, name in enumerate(_names.split())}


def _scalar(kind, text):
    if kind == "bool":
        return {"true": True, "True": True, "t": True, "1": True, "false": False, "False": False, "f": False, "0": False}[text]
    if kind in ("float", "double"):
        return float(text.rstrip("f") if text[-1:] == "f" and text not in ("inf", "-inf") else text)
    if kind != "enum" or text.lstrip("-").isdigit():
        return int(text, 0)
    if text in _ENUMS:
        return _ENUMS[text]
    return as_dtype(text.removeprefix("DT_").lower()).as_datatype_enum + 100 * text.endswith("_REF")
