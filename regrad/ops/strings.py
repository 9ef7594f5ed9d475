"""Strings: tensors of byte strings, computed on the host. Nothing here has a gradient."""

import base64
import re

import numpy as np

from regrad.core import dtypes, nest
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX, NUMERIC, as_dtype
from regrad.core.errors import BadValue, InvalidArgumentError, ShapeError, UnimplementedError
from regrad.core.opdef import Spec, rank_is, spec_text
from regrad.core.operation import Tensor
from regrad.core.shapes import broadcast, compatible, merge
from regrad.ops.array import one_of, rank
from regrad.ops.generate import range as range_
from regrad.ops.hosted import host_op


def _each(function, *arrays):
    """Returns the object array of `function` on corresponding elements of broadcast arrays."""
    arrays = np.broadcast_arrays(*arrays)
    out = np.empty(arrays[0].shape, object)
    for i in np.ndindex(out.shape):
        out[i] = function(*(a[i] for a in arrays))
    return out


def _bytes(x):
    return x if isinstance(x, bytes) else str(x).encode()


def _strings(x, *rest, **attrs):
    return Spec(x.dims, dtypes.string)


# -- numbers and text ------------------------------------------------------------------------
def _number_text(x, number, flags, precision, letter):
    if isinstance(x, bytes):
        return x if not number else (f"%{flags}s" % x.decode("latin-1")).encode("latin-1")
    if isinstance(x, (bool, np.bool_)):
        return b"true" if x else b"false"  # whatever the width
    if isinstance(x, (int, np.integer)):
        return (f"%{flags}d" % int(x)).encode()
    if isinstance(x, (complex, np.complexfloating)):
        parts = [f"%{flags}{precision}{letter}" % p for p in (x.real, x.imag)]
        return f"({parts[0]},{parts[1]})".encode()
    return (f"%{flags}{precision}{letter}" % float(x)).encode()


def _as_string_lower(b, x, *, precision, scientific, shortest, width, fill):
    flags = fill + (str(width) if width > -1 else "")
    letter = "g" if shortest else "e" if scientific else "f"
    return _each(lambda v: _number_text(v, bool(flags), flags, f".{precision}" if precision > -1 else "", letter), x)


asstring_op = host_op("AsString", "input", _strings, _as_string_lower,
                      attrs={"precision": -1, "scientific": False, "shortest": False, "width": -1, "fill": ""})


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    """Returns numbers (and bools) as strings, formatted as C's printf does.

    Args:
      precision: digits after the point, for floating numbers; 6 by default.
      scientific: %e, with an exponent.
      shortest: %g, the shorter of %e and %f.
      width: least number of characters.
      fill: how to fill them: "0", " ", "-" (numbers to the left), "+" (a sign always).

    Raises:
      ValueError: `scientific` and `shortest` together, an unknown `fill`, a format of fractions for what has none.
    """
    if scientific and shortest:
        raise BadValue("Cannot select both scientific and shortest notation")
    if len(fill) > 1:
        raise BadValue(f"Fill string must be one or fewer characters, got {fill!r}")
    if fill not in ("", "0", " ", "-", "+"):
        raise BadValue(f"Fill argument not supported: {fill!r}; it is '', '0', ' ', '-' or '+'")
    input = convert_to_tensor(input, name="input")
    if not (input.dtype.is_floating or input.dtype.is_complex):
        if scientific or shortest:
            raise BadValue(f"scientific and shortest format not supported for datatype {input.dtype.name}")
        if precision >= 0:
            raise BadValue(f"precision not supported for datatype {input.dtype.name}")
    return asstring_op(input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill,
                       name=name)


def number(text, dtype):
    """Returns the number that bytes spell; ValueError or OverflowError where it is none, or none of `dtype`."""
    if b"_" in text:  # which Python allows
        raise ValueError(text)
    return float(text) if dtype.is_floating else dtype.as_numpy_dtype(int(text))


def _to_number(b, x, *, out_type):
    out = np.empty(x.size, out_type.as_numpy_dtype)
    for i, text in enumerate(x.reshape(-1)):
        try:
            out[i] = number(text, out_type)
        except (ValueError, OverflowError):
            raise InvalidArgumentError("StringToNumberOp could not correctly convert string: "
                                       + text.decode(errors="replace")) from None
    return out.reshape(x.shape)


stringtonumber_op = host_op("StringToNumber", "string_tensor: string",
                            lambda x, *, out_type: Spec(x.dims, out_type), _to_number,
                            attrs={"out_type": dtypes.float32})


def string_to_number(string_tensor=None, out_type=dtypes.float32, name=None, input=None):
    """Returns the numbers that strings spell: float32, float64, int32 or int64.

    Raises:
      InvalidArgumentError: (when run) a string that is no such number.
    """
    strings = one_of("input", input, "string_tensor", string_tensor)
    out_type = as_dtype(out_type)
    if not (out_type.is_floating or out_type in INDEX):
        raise TypeError(f"string_to_number: Value passed to parameter 'out_type' has DataType {out_type.name} not in list of "
                        "allowed values: float32, float64, int32, int64")
    return stringtonumber_op(strings, out_type=out_type, name=name)


def element_text(x, quoted):
    """Returns one element as messages show it."""
    if isinstance(x, bytes):
        text = x.decode(errors="backslashreplace")
        return f'"{text}"' if quoted else text
    if isinstance(x, (bool, np.bool_)):
        return "1" if x else "0"
    if isinstance(x, (float, np.floating)) or x.dtype.kind not in "iuc":
        number = float(x)
        if number == int(number) if np.isfinite(number) else False:
            return str(int(number)) if abs(number) < 1e16 else repr(number)
        return f"{number:.6g}" if x.dtype.itemsize < 8 else f"{number:.9g}"
    if x.dtype.kind == "c":
        return f"({x.real:g},{x.imag:g})"
    return str(int(x))


def array_text(x, summarize=3):
    """Returns an array as `tf.print` shows it: with "..." past the first and last `summarize` elements of an axis."""
    x = np.asarray(x)
    return _nested_text(x, summarize, " ") if x.ndim else element_text(x[()], True)


def _nested_text(x, summarize, indent):
    if x.ndim == 0:
        return element_text(x[()], True)
    n = len(x)
    shown = list(range(n)) if summarize < 0 or n <= 2 * summarize else \
        [*range(summarize), None, *range(n - summarize, n)]
    parts = ["..." if i is None else _nested_text(x[i, ...], summarize, indent + " ") for i in shown]
    return "[" + (" " if x.ndim == 1 else "\n" * (x.ndim - 1) + indent).join(parts) + "]"


def flat_text(x, summarize=3):
    """Returns an array as assertions show it: "[[1 2][3...]...]", the first `summarize` elements."""
    x = np.asarray(x)
    left = [x.size if summarize is None or summarize < 0 else summarize]

    def show(part):
        if part.ndim == 0:
            left[0] -= 1
            return element_text(part[()], False)
        inner = []
        for i in range(len(part)):
            if left[0] <= 0:
                return "[" + (" " if part.ndim == 1 else "").join(inner) + "...]"
            inner.append(show(part[i, ...]))
        return "[" + (" " if part.ndim == 1 else "").join(inner) + "]"

    return show(x)


def _format_lower(b, inputs, *, template, placeholder, summarize):
    pieces = template.split(placeholder)
    if len(pieces) != len(inputs) + 1:
        raise InvalidArgumentError(f"string_format: {len(pieces) - 1} placeholders {placeholder!r} for {len(inputs)} inputs")
    text = pieces[0] + "".join(array_text(x, summarize) + p for x, p in zip(inputs, pieces[1:]))
    return np.array(text.encode(), object)


stringformat_op = host_op("StringFormat", "inputs: [T]", lambda xs, **attrs: Spec((), dtypes.string), _format_lower,
                          attrs={"template": "%s", "placeholder": "%s", "summarize": 3})


def string_format(template, inputs, placeholder="{}", summarize=3, name=None):
    """Returns `template` with its placeholders replaced, one after the other, by the values of `inputs`.

    Args:
      template: str.
      inputs: a tensor or a list of them.
      summarize: how many elements to show at both ends of an axis; -1 for all.

    Raises:
      ValueError: another number of placeholders than of inputs.
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(inputs):
        raise ValueError(f"{template.count(placeholder)} placeholder(s) in template does not match {len(inputs)} tensor(s)")
    return stringformat_op(inputs, template=template, placeholder=placeholder, summarize=summarize, name=name)


# -- parts and joins ---------------------------------------------------------------------------
def _join_infer(xs, *, separator):
    dims = ()
    for x in xs:
        dims = dims if x.dims == () else x.dims if dims == () else merge(dims, x.dims, "shapes of strings to join,")
    return Spec(dims, dtypes.string)


stringjoin_op = host_op("StringJoin", "inputs: N*string", _join_infer, attrs={"separator": ""},
                        lower=lambda b, xs, *, separator: _each(lambda *p: separator.encode().join(p), *xs))


def string_join(inputs, separator="", name=None):
    """Returns corresponding strings of a list of tensors of one shape (or scalars) joined, with `separator` between."""
    inputs = list(inputs)
    if not inputs:
        raise BadValue("string_join: List argument 'inputs' to 'StringJoin' Op with length 0 shorter than minimum length 1.")
    return stringjoin_op(inputs, separator=separator, name=name)


def _axes(x, axes):
    rank = len(x.dims)
    found = [int(a) for a in np.reshape(axes, -1)]
    for a in found:
        if not -rank <= a < rank:
            raise ShapeError(f"Invalid reduction dimension {a} for input with {rank} dimension(s)")
    found = [a % rank for a in found]
    if len(set(found)) < len(found):
        raise ShapeError(f"Duplicate reduction dimension in {found}")
    return found


def _reduce_join_infer(x, axes, *, keep_dims, separator):
    known = axes.value()
    if x.dims is None or known is None:
        return Spec(None, dtypes.string)
    reduced = _axes(x, known)
    return Spec(tuple(1 if i in reduced else d for i, d in enumerate(x.dims) if keep_dims or i not in reduced),
                dtypes.string)


def _reduce_join_lower(b, x, axes, *, keep_dims, separator):
    reduced = [int(a) % x.ndim for a in np.reshape(axes, -1)]
    kept = [i for i in range(x.ndim) if i not in reduced]
    rows = np.transpose(x, kept + reduced[::-1]).reshape([x.shape[i] for i in kept] + [-1])
    out = np.empty(rows.shape[:-1], object)
    for i in np.ndindex(out.shape):
        out[i] = separator.encode().join(rows[i])
    return out.reshape([1 if i in reduced else d for i, d in enumerate(x.shape)]) if keep_dims else out


reducejoin_op = host_op("ReduceJoin", "inputs: string, reduction_indices: int32", _reduce_join_infer,
                        _reduce_join_lower, attrs={"keep_dims": False, "separator": ""}, static=(1,))


def reduce_join(inputs, axis=None, keep_dims=None, separator="", name=None, reduction_indices=None, keepdims=None):
    """Returns the strings along some axes joined.

    Args:
      axis: int or list of ints, the fastest first; by default all, from the last to the first.
      keepdims: keep the joined axes with size 1.
      separator: what to put between.
    """
    inputs = convert_to_tensor(inputs)
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keep = one_of("keepdims", keepdims, "keep_dims", keep_dims) or False
    if axis is None:
        axis = range_(rank(inputs) - 1, -1, -1)
    return reducejoin_op(inputs, axis, keep_dims=keep, separator=separator, name=name)


def _substr_lower(b, x, pos, length, *, unit):
    def part(text, at, n):
        text = text.decode() if unit == "UTF8_CHAR" else text
        if not -len(text) <= at <= len(text):
            raise InvalidArgumentError(f"pos {at} out of range for string b'{_bytes(text).decode(errors='replace')}'")
        at = at + len(text) if at < 0 else at
        return _bytes(text[at:at + max(n, 0)])

    return _each(part, x, pos, length)


def _substr_infer(x, pos, n, *, unit):
    if not compatible(pos.dims, n.dims):
        raise ShapeError(f"pos and len shapes must match: {spec_text(pos)} vs. {spec_text(n)}")
    return Spec(broadcast(x.dims, merge(pos.dims, n.dims)), dtypes.string)


substr_op = host_op("Substr", "input: string, pos: T, len: T", _substr_infer,
                    _substr_lower, attrs={"unit": "BYTE"}, types={"T": INDEX})


def substr(input, pos, len, name=None, unit="BYTE"):
    """Returns `len` bytes (or characters of UTF-8 text, with unit="UTF8_CHAR") of each string from `pos` on.

    Negative positions count from the end; `pos` and `len`, of one shape, broadcast with `input`.

    Raises:
      InvalidArgumentError: (when run) a position outside its string.
    """
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"substr: unit must be 'BYTE' or 'UTF8_CHAR', got {unit!r}.")
    return substr_op(input, pos, len, unit=unit, name=name)


def _length_lower(b, x, *, unit):
    count = len if unit == "BYTE" else (lambda t: len(t.decode()))
    return np.array([count(t) for t in x.reshape(-1)], np.int32).reshape(x.shape)


stringlength_op = host_op("StringLength", "input: string", lambda x, *, unit: Spec(x.dims, dtypes.int32), _length_lower,
                          attrs={"unit": "BYTE"})


def string_length(input, name=None, unit="BYTE"):
    """Returns the lengths of strings in bytes (or characters, with unit="UTF8_CHAR")."""
    return stringlength_op(input, unit=unit, name=name)


def _split_infer(x, delimiter, *, skip_empty):
    rank_is(x, 1, "input, a vector")
    if delimiter.dims:
        raise ShapeError(f"delimiter must be a scalar, got {spec_text(delimiter)}")
    return [Spec((None, 2), dtypes.int64), Spec((None,), dtypes.string), Spec((2,), dtypes.int64)]


def _split_lower(b, x, delimiter, *, skip_empty):
    separators = delimiter[()]
    rows = []
    for text in x:
        parts = re.split(b"[" + re.escape(separators) + b"]", text) if separators and text else [bytes([c]) for c in text]
        rows.append([p for p in parts if p or not skip_empty])
    at = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([p for row in rows for p in row] + [None], object)[:-1]
    return (np.array(at, np.int64).reshape(-1, 2), values,
            np.array([len(rows), max(map(len, rows), default=0)], np.int64))


stringsplit_op = host_op("StringSplit", "input: string, delimiter: string", _split_infer, _split_lower,
                         attrs={"skip_empty": True})


def string_split(source=None, sep=None, skip_empty=True, delimiter=None, result_type="SparseTensor", name=None, input=None):
    """Returns the parts of the strings of a vector: a SparseTensor of shape [strings, most parts].

    Args:
      sep, delimiter: a string of the characters that each separate parts, " " by default; "" gives single bytes.
      skip_empty: leave out empty parts.
    """
    from regrad.ops.sparse import SparseTensor

    if result_type != "SparseTensor":
        raise ValueError(f"string_split: only result_type='SparseTensor' is offered, got {result_type!r}.")
    source = one_of("input", input, "source", source)
    delimiter = " " if sep is None and delimiter is None else delimiter if sep is None else sep
    return SparseTensor(*stringsplit_op(source, delimiter, skip_empty=skip_empty, name=name))


def _split_v2_lower(b, x, sep, *, maxsplit):
    rows = [text.split(sep.item() or None, maxsplit) for text in x]
    at = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = np.array([p for row in rows for p in row] + [None], object)[:-1]
    return (np.array(at, np.int64).reshape(-1, 2), values,
            np.array([len(rows), max(map(len, rows), default=0)], np.int64))


stringsplitv2_op = host_op("StringSplitV2", "input: string, sep: string",
                           lambda x, sep, *, maxsplit: _split_infer(x, sep, skip_empty=True), _split_v2_lower,
                           attrs={"maxsplit": -1})


def split(input=None, sep=None, maxsplit=-1, result_type="SparseTensor", source=None, name=None):
    """Returns the parts of the strings of a vector, as Python's `bytes.split` finds them: a SparseTensor.

    Args:
      sep: what separates parts, as a whole; by default runs of white space.
      maxsplit: the most cuts; -1 for no limit.
    """
    from regrad.ops.sparse import SparseTensor

    if result_type != "SparseTensor":
        raise ValueError(f"split: only result_type='SparseTensor' is offered, got {result_type!r}.")
    return SparseTensor(*stringsplitv2_op(one_of("input", input, "source", source), sep or "", maxsplit=maxsplit, name=name))


# -- patterns and cases ---------------------------------------------------------------------------
def _pattern(pattern):
    """Returns a pattern compiled by RE2, as TensorFlow does: its time is linear in the text, whoever wrote the graph."""
    try:
        import re2
    except ModuleNotFoundError:
        raise UnimplementedError("Regular expressions in a graph need the package google-re2, which is not installed "
                                 "(python -m pip install google-re2).") from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
        raise InvalidArgumentError(f"Invalid pattern: {pattern.decode(errors='replace')}, error: {words}. Patterns are those "
                                   "of RE2 (github.com/google/re2/wiki/Syntax), which has no backreferences and does not look "
                                   "ahead or behind.") from None


_CODE = re.compile(rb"\\(.|$)", re.DOTALL)


def _rewritten(rewrite):
    """Returns (function of a match that gives its replacement, whether `rewrite` is whole): \\0 ... \\9 stand for groups.

    One that is not whole, with something else than a digit or a backslash after a backslash, ends there.
    """
    *parts, end = _CODE.split(rewrite)
    pairs = list(zip(parts[::2], parts[1::2]))
    valid = next((i for i, (_, code) in enumerate(pairs) if not code.isdigit() and code != b"\\"), len(pairs))
    whole = valid == len(pairs)
    if not whole:
        pairs, end = pairs[:valid], pairs[valid][0]

    def replace(match):
        return b"".join(text + (code if code == b"\\" else match.group(int(code)) or b"") for text, code in pairs) + end

    return replace, whole


def _replaced(regex, replace, text):
    """Returns `text` with all matches replaced: none that is empty where the last one ended, as RE2's GlobalReplace has it."""
    out, at, last = [], 0, None
    while at <= len(text) and (match := regex.search(text, at)) is not None:
        start, end = match.span()
        out.append(text[at:start])
        if start == end == last:
            at = end + _character(text, end)
            out.append(text[end:at])
            continue
        out.append(replace(match))
        at = last = end
    out.append(text[at:])
    return b"".join(out)


def _character(text, at):
    """Returns how many bytes the character of UTF-8 that stands at `at` has; 1 where there is none."""
    for n in range(1, 5):
        try:
            if len(text[at:at + n].decode()) == 1:
                return n
        except UnicodeDecodeError:
            continue
    return 1


def _regex_replace_lower(b, x, pattern, rewrite, *, replace_global):
    regex, (replace, whole) = _pattern(pattern[()]), _rewritten(rewrite[()])
    if any(code.isdigit() and int(code) > regex.groups for code in _CODE.findall(rewrite[()])):
        return x  # as in TF, which only logs that there is no such group

    def first(text):
        match = regex.search(text) if whole else None
        return text if match is None else text[:match.start()] + replace(match) + text[match.end():]

    return _each((lambda text: _replaced(regex, replace, text)) if replace_global else first, x)


regexreplace_op = host_op("RegexReplace", "input: string, pattern: string, rewrite: string", _strings,
                          _regex_replace_lower, attrs={"replace_global": True})


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Returns strings in which what matches `pattern` is replaced by `rewrite`, everywhere or once.

    Args:
      pattern: a regular expression of RE2 (github.com/google/re2/wiki/Syntax), of bytes that are text in UTF-8.
      rewrite: the replacement; \\1 to \\9 stand for groups, \\0 for all that matched.

    Raises:
      InvalidArgumentError: (when run) RE2 does not take `pattern`.
      UnimplementedError: (when run) the package google-re2 is not installed.
    """
    return regexreplace_op(input, pattern, rewrite, replace_global=replace_global, name=name)


def _full_match_lower(b, x, pattern):
    regex = _pattern(pattern[()])
    return np.array([regex.fullmatch(t) is not None for t in x.reshape(-1)], bool).reshape(x.shape)


regexfullmatch_op = host_op("RegexFullMatch", "input: string, pattern: string",
                            lambda x, p: Spec(x.dims, dtypes.bool_), _full_match_lower)


def regex_full_match(input, pattern, name=None):
    """Returns whether each whole string matches a regular expression, of RE2; errors are those of `regex_replace`."""
    return regexfullmatch_op(input, pattern, name=name)


# The same with patterns that are attributes, as graphs of TensorFlow have them.
staticregexreplace_op = host_op(
    "StaticRegexReplace", "input: string", lambda x, **attrs: _strings(x),
    lambda b, x, *, pattern, rewrite, replace_global: _regex_replace_lower(b, x, _text(pattern), _text(rewrite),
                                                                           replace_global=replace_global),
    attrs={"pattern": "", "rewrite": "", "replace_global": True})
staticregexfullmatch_op = host_op("StaticRegexFullMatch", "input: string", lambda x, *, pattern: Spec(x.dims, dtypes.bool_),
                                  lambda b, x, *, pattern: _full_match_lower(b, x, _text(pattern)), attrs={"pattern": ""})


def _text(attribute):
    return np.array(attribute.encode() if isinstance(attribute, str) else attribute, object)


def _per_string(op_type, function, doc, name):
    op = host_op(op_type, "input: string", _strings, lambda b, x: _each(function, x))

    def public(input, name=None):
        return op(input, name=name)

    public.__name__, public.__doc__ = name, doc
    return public


string_strip = _per_string("StringStrip", bytes.strip, "Returns strings without white space at both ends.", "string_strip")


def _cased(op_type, change, words):
    def lower(b, x, *, encoding):
        return _each(change if not encoding else lambda text: _utf8(getattr(text.decode(), change.__name__)()), x)

    op = host_op(op_type, "input: string", _strings, lower, attrs={"encoding": ""})

    def public(input, encoding="", name=None):
        if encoding not in ("", "utf-8"):
            raise ValueError(f"{op_type}: encoding must be '' or 'utf-8', got {encoding!r}.")
        return op(input, encoding=encoding, name=name)

    public.__name__ = "string_" + change.__name__
    public.__doc__ = f"Returns strings in {words} case: ASCII letters, or, with `encoding` \"utf-8\", all."
    return public


def _utf8(text):
    return text.encode()


string_lower, string_upper = _cased("StringLower", bytes.lower, "lower"), _cased("StringUpper", bytes.upper, "upper")


_BASE64 = re.compile(rb"[A-Za-z0-9_-]*={0,2}")  # the web-safe alphabet only


def _base64_decoded(text):
    try:
        if not _BASE64.fullmatch(text):
            raise ValueError("a character that is none of A-Z, a-z, 0-9, - and _")
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except ValueError as error:
        raise InvalidArgumentError(f"Invalid character found in base64, or its length is wrong: {error}") from None


def _base64_encoded(text, pad):
    code = base64.urlsafe_b64encode(text)
    return code if pad else code.rstrip(b"=")


encodebase64_op = host_op("EncodeBase64", "input: string", _strings, attrs={"pad": False},
                          lower=lambda b, x, *, pad: _each(lambda t: _base64_encoded(t, pad), x))
decode_base64 = _per_string("DecodeBase64", _base64_decoded, "Returns what web-safe base64 strings encode.",
                            "decode_base64")


def encode_base64(input, pad=False, name=None):
    """Returns strings in web-safe base64, with `=` at the end if `pad`."""
    return encodebase64_op(input, pad=pad, name=name)


def _decode_raw_lower(b, x, *, out_type, little_endian):
    kind = np.dtype(out_type.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    sizes = [len(t) for t in x.reshape(-1)]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            raise InvalidArgumentError(f"DecodeRaw requires input strings to all be the same size, but element {i} has size "
                                       f"{size} != {sizes[0]}")
    if sizes and sizes[0] % kind.itemsize:
        raise InvalidArgumentError(f"Input to DecodeRaw has length {sizes[0]} that is not a multiple of "
                                   f"{kind.itemsize}, the size of {out_type.name}")
    data = np.frombuffer(b"".join(x.reshape(-1)), kind).astype(out_type.as_numpy_dtype)
    return data.reshape(*x.shape, -1) if x.size else np.zeros((*x.shape, 0), out_type.as_numpy_dtype)


decoderaw_op = host_op("DecodeRaw", "bytes: string",
                       lambda x, *, out_type, little_endian: Spec(None if x.dims is None else (*x.dims, None), out_type),
                       _decode_raw_lower, attrs={"out_type": None, "little_endian": True})


def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
    """Returns the numbers whose bytes the strings hold: one more axis at the end."""
    data = one_of("input_bytes", input_bytes, "bytes", bytes)
    out_type = as_dtype(out_type)
    if out_type not in NUMERIC | {dtypes.bool_}:
        raise TypeError(f"decode_raw: Value passed to parameter 'out_type' has DataType {out_type.name}, which is no number's")
    return decoderaw_op(data, out_type=out_type, little_endian=little_endian, name=name)


def print_template(inputs, separator, summarize):
    """Returns one string tensor for what `tf.print` is given: tensors, strings, numbers and structures of them."""
    tensors, words = [], []
    for item in inputs:
        if isinstance(item, str):
            words.append(item)
            continue
        leaves = nest.flatten(item)
        if not any(isinstance(x, Tensor) or hasattr(x, "_as_graph_element") for x in leaves):
            words.append(str(item))
            continue
        marked = [_Blank() if isinstance(x, Tensor) or hasattr(x, "_as_graph_element") else x for x in leaves]
        tensors += [x for x, m in zip(leaves, marked) if isinstance(m, _Blank)]
        words.append(str(nest.pack_sequence_as(item, marked)))
    return stringformat_op(tensors, template=separator.join(words), placeholder=_Blank.TEXT,
                           summarize=3 if summarize is None else summarize)


class _Blank:
    """Shows as the place where a tensor's value goes."""

    TEXT = "\0{}\0"

    def __repr__(self):
        return self.TEXT
