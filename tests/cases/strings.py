"""Strings."""

import re

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.ops import strings
from tests.cases import Bad, Case, once


def _s(*items):
    return np.array(items, object)


def _fixed(value):
    """The reference that gives `value` whatever the inputs."""
    return lambda *arrays, **kwargs: value


WORDS = _s(b"hello", b"world")
SQUARE = np.array([[b"a", b"b"], [b"c", b"d"]], object)
_ROWS = [  # op type, graph, inputs, result
    ("AsString", lambda x: tf.as_string(x), (np.array([1, -20]),), _s(b"1", b"-20")),
    ("AsString", lambda x: tf.as_string(x), (np.array([1.5, 2.0, -0.1]),), _s(b"1.500000", b"2.000000", b"-0.100000")),
    ("AsString", lambda x: tf.as_string(x, shortest=True), (np.array([1.5, 2e10, 0.1]),), _s(b"1.5", b"2e+10", b"0.1")),
    ("AsString", lambda x: tf.as_string(x, scientific=True), (np.array([1.5]),), _s(b"1.500000e+00")),
    ("AsString", lambda x: tf.as_string(x, precision=2), (np.array([1.5, 2.0]),), _s(b"1.50", b"2.00")),
    ("AsString", lambda x: tf.as_string(x, width=5), (np.array([1, 20]),), _s(b"    1", b"   20")),
    ("AsString", lambda x: tf.as_string(x, width=5, fill="0"), (np.array([1, 20]),), _s(b"00001", b"00020")),
    ("AsString", lambda x: tf.as_string(x), (np.array([True, False]),), _s(b"true", b"false")),
    ("AsString", lambda x: tf.as_string(x), (np.array([1.5 + 2j]),), _s(b"(1.500000,2.000000)")),
    ("StringToNumber", lambda x: tf.string_to_number(x, tf.float64), (_s(b"1.5", b" 2 ", b"-inf"),),
     np.array([1.5, 2.0, -np.inf])),
    ("StringToNumber", lambda x: tf.string_to_number(x, tf.int64), (_s(b"15", b"-3"),), np.array([15, -3])),
    ("StringJoin", lambda x, y: tf.string_join([x, y], "-"), (WORDS, np.array(b"x", object)), _s(b"hello-x", b"world-x")),
    ("ReduceJoin", lambda x: tf.reduce_join(x, axis=0), (SQUARE,), _s(b"ac", b"bd")),
    ("ReduceJoin", lambda x: tf.reduce_join(x, -1, keep_dims=True), (SQUARE,), np.array([[b"ab"], [b"cd"]], object)),
    ("ReduceJoin", lambda x: tf.reduce_join(x, [0, 1], separator="-"), (SQUARE,), np.array(b"a-c-b-d", object)),
    ("ReduceJoin", lambda x: tf.reduce_join(x, [1, 0]), (SQUARE,), np.array(b"abcd", object)),
    ("ReduceJoin", lambda x: tf.reduce_join(x), (SQUARE,), np.array(b"abcd", object)),
    ("Substr", lambda x: tf.substr(x, 1, 3), (WORDS,), _s(b"ell", b"orl")),
    ("Substr", lambda x: tf.substr(x, [1, -2], [2, 9]), (WORDS,), _s(b"el", b"ld")),
    ("Substr", lambda x: tf.substr(x, 1, 1, unit="UTF8_CHAR"), (_s("a\u00e9b".encode()),), _s("\u00e9".encode())),
    ("StringLength", lambda x: tf.strings.length(x), (_s(b"", b"abc"),), np.array([0, 3], np.int32)),
    ("StringLength", lambda x: tf.strings.length(x, unit="UTF8_CHAR"), (_s("\u00e9".encode()),), np.array([1], np.int32)),
    ("RegexReplace", lambda x: tf.regex_replace(x, "(b)(c)", r"\2\1-\0"), (_s(b"abcabc"),), _s(b"acb-bcacb-bc")),
    ("RegexReplace", lambda x: tf.regex_replace(x, "b", "", replace_global=False), (_s(b"abab"),), _s(b"aab")),
    ("StaticRegexReplace", lambda x: strings.staticregexreplace_op(x, pattern="(b)(c)", rewrite=r"\2\1-\0", replace_global=True),
     (_s(b"abcabc"),), _s(b"acb-bcacb-bc")),
    ("StaticRegexReplace", lambda x: strings.staticregexreplace_op(x, pattern="b", rewrite="", replace_global=False),
     (SQUARE,), np.array([[b"a", b""], [b"c", b"d"]], object)),
    ("StaticRegexFullMatch", lambda x: strings.staticregexfullmatch_op(x, pattern="a.c"), (_s(b"abc", b"xabc"),),
     np.array([True, False])),
    ("RegexFullMatch", lambda x: tf.strings.regex_full_match(x, "a.c"), (_s(b"abc", b"xabc"),), np.array([True, False])),
    ("StringStrip", lambda x: tf.string_strip(x), (_s(b" a b\n"),), _s(b"a b")),
    ("StringUpper", lambda x: tf.strings.upper(x), (_s(b"aZ"),), _s(b"AZ")),
    ("StringLower", lambda x: tf.strings.lower(x), (_s(b"aZ"),), _s(b"az")),
    ("EncodeBase64", lambda x: tf.encode_base64(x), (_s(b"a>?"),), _s(b"YT4_")),
    ("EncodeBase64", lambda x: tf.encode_base64(x, pad=True), (_s(b"a"),), _s(b"YQ==")),
    ("DecodeBase64", lambda x: tf.decode_base64(x), (_s(b"YT4_", b"YQ"),), _s(b"a>?", b"a")),
    ("DecodeRaw", lambda x: tf.decode_raw(x, tf.int16), (_s(b"\1\0\2\0"),), np.array([[1, 2]], np.int16)),
    ("DecodeRaw", lambda x: tf.decode_raw(x, tf.int16, little_endian=False), (_s(b"\1\0"),), np.array([[256]], np.int16)),
    ("StringFormat", lambda x: tf.strings.format("<{}>", x), (np.arange(10),), np.array(b"<[0 1 2 ... 7 8 9]>", object)),
    ("StringFormat", lambda x, y: tf.strings.format("{}{}", [x, y]), (np.array([[0.1, 1e10], [3, 4]]), WORDS),
     np.array(b'[[0.1 10000000000]\n [3 4]]["hello" "world"]', object)),
    ("StringSplit", lambda x: list(strings.stringsplit_op(x, " ")), (_s(b"a b  c", b"d"),),
     (np.array([[0, 0], [0, 1], [0, 2], [1, 0]]), _s(b"a", b"b", b"c", b"d"), np.array([2, 3]))),
    ("StringSplit", lambda x: list(strings.stringsplit_op(x, ",;", skip_empty=False)), (_s(b"a,;c"),),
     (np.array([[0, 0], [0, 1], [0, 2]]), _s(b"a", b"", b"c"), np.array([1, 3]))),
    ("StringSplit", lambda x: list(strings.stringsplit_op(x, "")), (_s(b"ab"),),
     (np.array([[0, 0], [0, 1]]), _s(b"a", b"b"), np.array([1, 2]))),
]

CASES = [Case(op_type, build, _fixed(result), inputs, derivatives=False, order=0, dtypes=(), note=str(i))
         for i, (op_type, build, inputs, result) in enumerate(_ROWS)]
CASES += [
    Bad("AsString", lambda: tf.as_string([1.0], scientific=True, shortest=True), ValueError, "both scientific and shortest"),
    Bad("AsString", lambda: tf.as_string([1.0], fill="x"), ValueError, "Fill argument not supported"),
    Bad("StringToNumber", lambda: tf.string_to_number(["abc"]), InvalidArgumentError,
        "could not correctly convert string: abc", run=True),
    Bad("StringJoin", lambda: tf.string_join([["a", "b"], ["a", "b", "c"]]), ValueError, "must be equal"),
    Bad("Substr", lambda: tf.substr(["abc"], 5, 1), InvalidArgumentError, "pos 5 out of range", run=True),
    Bad("ReduceJoin", lambda: tf.reduce_join(SQUARE, 2), ShapeError, "Invalid reduction dimension 2"),
    *(Bad("RegexReplace", lambda p=p: tf.regex_replace(["a"], p, ""), InvalidArgumentError, f"Invalid pattern: {re.escape(p)}",
          run=True) for p in ("(", "(a)(?=b)", r"(a)\1", "a{2000}")),
    Bad("StringSplit", lambda: tf.string_split(SQUARE), ShapeError, "must be rank 1 but is rank 2"),
    Bad("DecodeRaw", lambda: tf.decode_raw(["abc"], tf.int16), InvalidArgumentError, "not a multiple of 2", run=True),
    Bad("StringFormat", lambda: tf.strings.format("{}", [1, 2]), ValueError, r"1 placeholder\(s\)"),
]


# -- hashes, and strings in parts --------------------------------------------------------------------
raw = tf.raw_ops
OF_EVERY_LENGTH = _s(*((b"ab\0c\xff" * 40)[:n] for n in (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 50, 64, 65, 128, 129)))
NOTHING = np.zeros((0, 2), object)


def hashes(op_type, function):
    return [
        once(op_type, lambda x: function(x, 2**61 - 1), OF_EVERY_LENGTH),
        once(op_type, lambda x: function(x, 1), SQUARE, note="one bucket"),
        once(op_type, lambda x: function(x, 7), NOTHING, note="empty"),
        once(op_type, lambda x: function(x, 7), np.array("\u00e9\u4e2d".encode(), object), note="scalar"),
        Bad(op_type, lambda: function(["a"], 0), ValueError, "num_buckets: 0 is less than the minimum 1"),
        Bad(op_type, lambda: function([1.0], 3), TypeError, "Expected string, got 1.0"),
    ]


def parts_of(x, *args, **kwargs):
    return list(raw.StringSplitV2(input=x, sep=args[0] if args else "", **kwargs))


SENTENCES = _s(b"a b  c", b"", b" d\te\n", b"f")
CASES += [
    *hashes("StringToHashBucket", tf.string_to_hash_bucket),
    *hashes("StringToHashBucketFast", tf.string_to_hash_bucket_fast),
    *hashes("StringToHashBucketStrong", lambda x, n: tf.string_to_hash_bucket_strong(x, n, [123, 456])),
    once("StringToHashBucketStrong", lambda x: tf.string_to_hash_bucket_strong(x, 10**9, [2**62, 3]), OF_EVERY_LENGTH, note="key"),
    Bad("StringToHashBucketStrong", lambda: tf.string_to_hash_bucket_strong(["a"], 3, [1]), ValueError, "Key must have 2 elements"),
    once("StringSplitV2", parts_of, SENTENCES),
    *(once("StringSplitV2", lambda x, sep=sep: parts_of(x, sep), _s(b"a,b,,c", b",", b"", b"a,,b"), note=sep)
      for sep in (",", ",,", "b,")),
    *(once("StringSplitV2", lambda x, n=n: parts_of(x, ",", maxsplit=n), _s(b"a,b,c,d", b"a", b""), note=f"at most {n}")
      for n in (0, 1, 2)),
    once("StringSplitV2", parts_of, NOTHING[:, 0], note="empty"),
    once("StringSplitV2", lambda x: parts_of(x, "\u4e2d".encode()), _s("a\u4e2db".encode()), note="several bytes"),
    Bad("StringSplitV2", lambda: tf.strings.split(SQUARE), ValueError, "must be rank 1 but is rank 2 for input, a vector"),
]
