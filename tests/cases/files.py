"""Rows for `regrad/ops/files.py`: files, compressed strings, tensors as strings, CSV and TensorFlow's Examples."""

import gzip
import os
import zlib

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps, once
from tests.cases.queues import folder

raw = tf.raw_ops


def text(x):
    return np.array(x, object)


# -- whole files ---------------------------------------------------------------------------------------
def at(name):
    return os.path.join(folder().name, name)


def written():
    """A file in a folder that was not there, written twice."""
    name, contents = at("new/deep/x"), tf.constant(b"one\0\xff")
    return [tf.write_file(name, contents), tf.read_file(name), tf.write_file(name, b""), tf.read_file(name)]


CASES = [
    Steps("ReadFile", lambda: [tf.read_file(at(n)) for n in ("a.txt", "empty", "none there", "c.gz")]),
    Steps("ReadFile", lambda: [tf.read_file(tf.placeholder_with_default([at("a.txt")], None))], note="several"),
    Steps("WriteFile", written),
    Steps("WriteFile", lambda: [tf.write_file(at("a.txt/x"), b"")], note="no folder"),
    *(Steps("MatchingFiles", lambda p=p: [tf.regex_replace(tf.matching_files(tf.constant([at(q) for q in p])), "^.*/", "")],
            note=" ".join(p)) for p in (["?.txt"], ["*.txt", "c*"], ["[ab].*"], ["none*"], ["a.txt"], ["a.txt", "a.*"])),
    Bad("ReadFile", lambda: tf.read_file(1.0), TypeError, "Expected string, got 1.0"),
    Bad("MatchingFiles", lambda: tf.matching_files([1]), TypeError, "Expected string, got 1"),
]


# -- compressed ------------------------------------------------------------------------------------------
def decompressed(kind):
    return lambda x: tf.decode_compressed(x, kind)


PLAIN = [b"", b"abc", b"a" * 1000]
CASES += [
    once("DecodeCompressed", decompressed(""), text(PLAIN)),
    once("DecodeCompressed", decompressed("GZIP"), text([gzip.compress(x, mtime=0) for x in PLAIN]), note="GZIP"),
    once("DecodeCompressed", decompressed("ZLIB"), text([[zlib.compress(x)] for x in PLAIN]), note="ZLIB"),
    once("DecodeCompressed", decompressed("GZIP"), text(PLAIN[1:]), note="no GZIP"),
    once("DecodeCompressed", decompressed("ZLIB"), text(PLAIN[1:]), note="no ZLIB"),
    once("DecodeCompressed", decompressed("ZLIB"), np.zeros((0, 2), object), note="empty"),
    Bad("DecodeCompressed", lambda: tf.decode_compressed(["a"], "LZ4"), ValueError, "compression_type must be"),
]

# -- tensors as strings ------------------------------------------------------------------------------------
NUMERIC = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
           "bool", "complex64", "complex128")


def of(dtype, values):
    return np.array(values, tf.as_dtype(dtype).as_numpy_dtype)


def there_and_back(x):
    return tf.parse_tensor(tf.serialize_tensor(x), x.dtype)


CASES += [
    *(once("SerializeTensor", tf.serialize_tensor, of(d, [[0, 1], [2, 3]]), note=d) for d in NUMERIC),
    once("SerializeTensor", tf.serialize_tensor, text([b"a", b"", b"b\0"]), note="string"),
    *(once("SerializeTensor", tf.serialize_tensor, of(d, v), note=f"{d} {v}") for d, v in (
        ("float32", 1.5), ("int32", [7]), ("bool", True), ("bool", [[False]]), ("complex64", 1 + 2j), ("int64", 0))),
    once("SerializeTensor", tf.serialize_tensor, of("float64", np.zeros((2, 0))), note="empty"),
    once("SerializeTensor", tf.serialize_tensor, of("float32", [np.inf, -np.inf, -0.0, np.nan]), note="not finite"),
    *(once("ParseTensor", there_and_back, of(d, [[0, 1], [2, 3]]), note=d) for d in NUMERIC),
    once("ParseTensor", there_and_back, text([b"a", b"", b"b\0"]), note="string"),
    once("ParseTensor", there_and_back, of("int32", 5), note="scalar"),
    once("ParseTensor", there_and_back, of("float64", np.zeros((2, 0))), note="empty"),
    once("ParseTensor", lambda x: tf.parse_tensor(x, tf.float32), text(b"no tensor"), note="no tensor"),
    once("ParseTensor", lambda x: tf.parse_tensor(tf.serialize_tensor(x), tf.float32), of("int32", [1]), note="another dtype"),
]


# -- CSV -------------------------------------------------------------------------------------------------------
def csv(*defaults, **more):
    return lambda x: tf.decode_csv(x, [tf.constant(d, t) for d, t in defaults], **more)


F, D, N, L, S = tf.float32, tf.float64, tf.int32, tf.int64, tf.string
MIXED = csv(([0], N), ([-1.5], F), ([b""], S), ([], L), ([2.5], D))
CASES += [
    once("DecodeCSV", MIXED, text([b"1,2.5,a b,7,1e300", b'3,,"x, ""y""",8,', b"-4,-inf,,9,nan"])),
    once("DecodeCSV", MIXED, text([[b"1,2.5,a,7,0"], [b",,,1,"]]), note="rank 2"),
    once("DecodeCSV", MIXED, np.zeros((0,), object), note="empty"),
    *(once("DecodeCSV", csv(([0], N), ([9], N)), text([record]), note=note) for note, record in {
        "too few": b"1", "too many": b"1,2,3", "no number": b"1,x", "half a number": b"1,2.5", "too large": b"1,99999999999",
        "quoted number": b'1,"2"', "open quote": b'1,"2', "quote inside": b'1,2"3', "spaces": b" 1, 2 ", "ends in a line": b"1,2\n",
    }.items()),
    once("DecodeCSV", csv(([0], N)), text([b""]), note="empty record"),
    once("DecodeCSV", csv(([], L)), text([b""]), note="required"),
    once("DecodeCSV", csv(([b"d"], S), ([b"e"], S), use_quote_delim=False), text([b'"a",b"c"']), note="quotes as they are"),
    once("DecodeCSV", csv(([0], N), ([9], N), field_delim=";", na_value="NA", select_cols=[1, 2]),
         text([b"1;NA;5", b"2;3;;x"]), note="some columns"),
    Bad("DecodeCSV", lambda: tf.decode_csv(["1"], [[1, 2]]), ValueError, r"at most one value, got int32\[2\]"),
    Bad("DecodeCSV", lambda: tf.decode_csv(["1"], [tf.constant(True)]), TypeError, "DataType bool not in list of allowed values"),
    Bad("DecodeCSV", lambda: tf.decode_csv([1], [[1]]), TypeError, "Expected string, got 1"),
]


# -- examples ---------------------------------------------------------------------------------------------------
def ints(*v):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=v))


def floats(*v):
    return tf.train.Feature(float_list=tf.train.FloatList(value=v))


def texts(*v):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=v))


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)


FULL = example(n=ints(1), x=floats(1.5, -2), s=texts(b"a", b"bc"), i=ints(3, 1), v=floats(0.5, 0.25))
SOME = example(n=ints(2), x=floats(0, 3), s=texts(b"d"), q=floats(1, 2, 3, 4))
LITTLE = example(x=floats(7, 8))
FEATURES = {
    "n": tf.FixedLenFeature([], tf.int64, default_value=-1), "x": tf.FixedLenFeature([2], tf.float32),
    "s": tf.VarLenFeature(tf.string), "sp": tf.SparseFeature("i", "v", tf.float32, 5),
    "q": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=-1.0),
}
ONE = {"x": tf.FixedLenFeature([2], tf.float32)}
WRONG = {"missing": {"n": tf.FixedLenFeature([], tf.int64)}, "type": {"x": tf.FixedLenFeature([2], tf.int64)},
         "size": {"x": tf.FixedLenFeature([3], tf.float32)}, "sparse of another type": {"x": tf.VarLenFeature(tf.string)}}


def parsed(function, features):
    """The parts of all features, in the order of their names."""
    def build(serialized):
        found = function(serialized, features)
        return [found[k] for k in sorted(found)]

    return build


def _sequence():
    t = tf.train
    frames = t.FeatureList(feature=[ints(1, 2), ints(3, 4), ints(5, 6)])
    loose = t.FeatureList(feature=[texts(b"a"), texts(), texts(b"b", b"c")])
    return t.SequenceExample(context=t.Features(feature={"x": floats(1.5, -2)}), feature_lists=t.FeatureLists(
        feature_list={"f": frames, "l": loose})).SerializeToString(deterministic=True)


def sequence(context, steps):
    def build(serialized):
        first, rest = tf.parse_single_sequence_example(serialized, context, steps)
        return [*(first[k] for k in sorted(first)), *(rest[k] for k in sorted(rest))]

    return build


def by_keys(serialized, size=2):
    """As graphs of TensorFlow have it: keys and defaults are tensors, an empty default is none."""
    found = raw.ParseExampleV2(
        serialized=serialized, names=[], sparse_keys=["s", "i"], dense_keys=["n", "q", "x"], ragged_keys=[],
        dense_defaults=[tf.constant(-1, tf.int64), tf.constant([-1.0]), tf.zeros([0])], num_sparse=2,
        sparse_types=[tf.string, tf.int64], ragged_value_types=[], ragged_split_types=[],
        dense_shapes=[tf.TensorShape([]), tf.TensorShape([None, 2]), tf.TensorShape([size])])
    return [t for part in found for t in (part if isinstance(part, list) else [part])]


LISTS = {"f": tf.FixedLenSequenceFeature([2], tf.int64), "l": tf.VarLenFeature(tf.string)}
CASES += [
    once("ParseExample", parsed(tf.parse_example, FEATURES), text([FULL, SOME, LITTLE])),
    once("ParseExample", parsed(tf.parse_example, FEATURES), np.zeros((0,), object), note="empty"),
    once("ParseExampleV2", parsed(tf.parse_example, {k: f for k, f in FEATURES.items() if k != "sp"}),
         text([FULL, SOME, LITTLE]), note="features"),
    *(once("ParseExampleV2", parsed(tf.parse_example, f), text([LITTLE]), note=k) for k, f in WRONG.items()),
    once("ParseExampleV2", parsed(tf.parse_example, ONE), text([b"no example"]), note="no example"),
    once("ParseExampleV2", by_keys, text([FULL, SOME, LITTLE])),
    once("ParseExampleV2", by_keys, np.zeros((0,), object), note="empty"),
    once("ParseExampleV2", by_keys, text(SOME), note="one", unknown=False),
    once("ParseExampleV2", lambda x: by_keys(x, 3), text([FULL]), note="three numbers"),
    *(once("ParseSingleExample", parsed(tf.parse_single_example, FEATURES), text(x), note=k)
      for k, x in {"": FULL, "some": SOME, "little": LITTLE}.items()),
    *(once("ParseSingleExample", parsed(tf.parse_single_example, f), text(LITTLE), note=k) for k, f in WRONG.items()),
    once("ParseSingleSequenceExample", sequence(ONE, LISTS), text(_sequence())),
    once("ParseSingleSequenceExample", sequence({}, {"g": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True)}),
         text(_sequence()), note="missing list"),
    once("ParseSingleSequenceExample", sequence({}, {"g": tf.FixedLenSequenceFeature([], tf.int64)}), text(_sequence()),
         note="missing"),
    once("ParseSingleSequenceExample", sequence({}, {"f": tf.FixedLenSequenceFeature([3], tf.int64)}), text(_sequence()),
         note="size"),
    once("ParseSingleSequenceExample", sequence({}, {"l": tf.FixedLenSequenceFeature([1], tf.string)}), text(_sequence()),
         note="uneven"),
    Bad("ParseExample", lambda: tf.parse_example([FULL], {}), ValueError, "Missing: features was {}"),
    Bad("ParseExample", lambda: tf.parse_example([FULL], {"x": 1}), ValueError, "Invalid feature x:1"),
    Bad("ParseSingleExample", lambda: tf.parse_single_example(FULL, None), ValueError, "Missing: features was None"),
    Bad("ParseSingleSequenceExample", lambda: tf.parse_single_sequence_example(FULL), ValueError, "Missing features"),
]
