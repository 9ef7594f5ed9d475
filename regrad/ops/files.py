"""Files and records: reading, writing, CSV, and TensorFlow's Example messages. On the host; nothing here has a gradient."""

import collections
import glob
import gzip
import os
import re
import zlib

import numpy as np

from regrad.core import dtypes
from regrad.core.constants import known_value
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, runtime_name
from regrad.core.errors import DataLossError, InvalidArgumentError, ShapeError
from regrad.core.facts import Stored
from regrad.core.files import in_place_of, make_folders
from regrad.core.graph import is_tensor
from regrad.core.messages import Example, SequenceExample, TensorProto, content_proto, make_ndarray
from regrad.core.opdef import Spec, spec_text
from regrad.core.reading import reading
from regrad.core.records import opened
from regrad.core.shapes import TensorShape, as_dims
from regrad.core.shapes import text as text_of
from regrad.ops.hosted import host_op
from regrad.ops.sparse import SparseTensor
from regrad.ops.strings import number


def _scalar_text(x, **attrs):
    return Spec((), dtypes.string)


# -- whole files ----------------------------------------------------------------------------------------
def _path(x):
    if x.ndim:
        raise InvalidArgumentError(f"Input filename tensor must be scalar, but had shape: {list(x.shape)}")
    return x.item().decode()


def _read(b, filename):
    with reading(_path(filename)), opened(_path(filename)) as file:
        return np.array(file.read(), object)


def _write(b, filename, contents):
    path = _path(filename)
    make_folders(os.path.dirname(path) or ".")
    with in_place_of(path) as file:
        file.write(contents.item())
    return ()


def _matching(b, pattern):
    found = sorted(name for p in pattern.flat for name in glob.glob(p.decode()))
    return np.array([n.encode() for n in found] or np.zeros(0, object), object)


readfile_op = host_op("ReadFile", "filename: string", _scalar_text, _read, stateful=True)
writefile_op = host_op("WriteFile", "filename: string, contents: string", lambda *x: [], _write, stateful=True)
writefile_op.declare(stored=Stored(writes_files=lambda op: True))
matchingfiles_op = host_op("MatchingFiles", "pattern: string", lambda p: Spec((None,), dtypes.string), _matching, stateful=True)


def read_file(filename, name=None):
    """Returns the bytes of a file, a string scalar.

    Raises:
      NotFoundError: (when run) there is no such file.
    """
    return readfile_op(filename, name=name)


def write_file(filename, contents, name=None):
    """Returns an operation that writes a string scalar into a file, making its folder if need be."""
    return writefile_op(filename, contents, name=name)


def matching_files(pattern, name=None):
    """Returns the names of files that match a pattern ("*", "?", "[]"), or any of a vector of them, sorted."""
    return matchingfiles_op(pattern, name=name)


def _decompress(b, x, *, compression_type):
    decompress = {"GZIP": gzip.decompress, "ZLIB": zlib.decompress, "": bytes}[compression_type]
    out = np.empty(x.shape, object)
    for i, v in np.ndenumerate(x):
        try:
            out[i] = decompress(v)
        except (zlib.error, gzip.BadGzipFile, EOFError) as error:
            raise DataLossError(None, None, f"DecodeCompressed, {compression_type}: {error}") from None
    return out


decodecompressed_op = host_op("DecodeCompressed", "bytes: string", lambda x, **_: Spec(x.dims, dtypes.string), _decompress,
                              {"compression_type": ""})


def decode_compressed(bytes, compression_type="", name=None):
    """Returns strings decompressed: "GZIP", "ZLIB" or "" (as they are)."""
    if compression_type not in ("GZIP", "ZLIB", ""):
        raise ValueError(f"decode_compressed: compression_type must be 'GZIP', 'ZLIB' or '', got {compression_type!r}.")
    return decodecompressed_op(bytes, compression_type=compression_type, name=name)


# -- tensors as strings -----------------------------------------------------------------------------------
def _parse_tensor(b, serialized, *, out_type):
    try:
        proto = TensorProto.FromString(serialized.item())
    except ValueError as error:
        raise InvalidArgumentError(f"Could not parse `serialized` as TensorProto: {error}") from None
    if proto.dtype != out_type.as_datatype_enum:
        raise InvalidArgumentError(f"Type mismatch between parsed tensor ({as_dtype(proto.dtype).name}) and dtype "
                                   f"({out_type.name})")
    return make_ndarray(proto)


serializetensor_op = host_op("SerializeTensor", "tensor: T", _scalar_text,
                             lambda b, x: np.array(content_proto(np.asarray(x)).SerializeToString(), object))
parsetensor_op = host_op("ParseTensor", "serialized: string", lambda x, *, out_type: Spec(None, out_type), _parse_tensor,
                         {"out_type": dtypes.float32})


def serialize_tensor(tensor, name=None):
    """Returns a tensor as a TensorProto's bytes, a string scalar."""
    return serializetensor_op(tensor, name=name)


def parse_tensor(serialized, out_type, name=None):
    """Returns the tensor of a TensorProto's bytes; its static rank is unknown."""
    return parsetensor_op(serialized, out_type=as_dtype(out_type), name=name)


# -- CSV --------------------------------------------------------------------------------------------------
def _csv_infer(records, defaults, **attrs):
    for d in defaults:
        if d.dims is not None and (len(d.dims) > 1 or d.dims and (d.dims[0] or 0) > 1):
            raise ShapeError(f"a default of decode_csv is at most one value, got {spec_text(d)}")
    return [Spec(records.dims, d.dtype) for d in defaults]


def _csv_lower(b, records, defaults, *, field_delim, use_quote_delim, na_value, select_cols):
    out = [np.empty(records.size, d.dtype) for d in defaults]
    delimiter, missing = field_delim.encode(), (na_value.encode(), b"")
    for n, record in enumerate(records.reshape(-1)):
        row = _fields(record, delimiter, use_quote_delim)
        columns = [row[c] for c in select_cols if c < len(row)] if select_cols else row
        if len(columns) != len(out):
            raise InvalidArgumentError(f"Expect {len(out)} fields but have {len(columns)} in record {n}")
        for k, (text, default) in enumerate(zip(columns, defaults)):
            if text in missing:
                if not default.size:
                    raise InvalidArgumentError(f"Field {k} is required but missing in record {n}!")
                out[k][n] = default.reshape(-1)[0]
            elif default.dtype == np.object_:
                out[k][n] = text
            else:
                try:
                    out[k][n] = number(text, as_dtype(default.dtype))
                except (ValueError, OverflowError):
                    raise InvalidArgumentError(f"Field {k} in record {n} is not a valid {runtime_name(default.dtype)}: "
                                               f"{text.decode(errors='replace')}") from None
    return tuple(column.reshape(records.shape) for column in out)


_QUOTED = re.compile(rb'"((?:[^"]|"")*)"')


def _fields(record, delimiter, quotes):
    """Returns the fields of one record of CSV, as bytes."""
    fields, rest = [], record
    while rest:
        rest = rest.lstrip(b"\r\n")
        if quotes and rest.startswith(b'"'):
            quoted = _QUOTED.match(rest)
            if quoted is None:
                raise InvalidArgumentError("Quoted field has to end with quote followed by delim or end")
            field, rest = quoted[1].replace(b'""', b'"'), rest[quoted.end():]
            if rest and not rest.startswith(delimiter):
                raise InvalidArgumentError("Quote inside a string has to be escaped by another quote")
            more, rest = bool(rest), rest[len(delimiter):]
        else:
            field, more, rest = rest.partition(delimiter)
            if re.search(rb'["\r\n]' if quotes else rb"[\r\n]", field):
                raise InvalidArgumentError("Unquoted fields cannot have quotes/CRLFs inside")
        fields.append(field)
        if more and not rest:
            fields.append(b"")
    return fields


_COLUMNS = frozenset((dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string))
decodecsv_op = host_op("DecodeCSV", "records: string, record_defaults: [T]", _csv_infer, _csv_lower, single=False,
                       types={"T": _COLUMNS},
                       attrs={"field_delim": ",", "use_quote_delim": True, "na_value": "", "select_cols": ()})


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, name=None, na_value="", select_cols=None):
    """Returns the columns of comma-separated records, each a tensor of the shape of `records`.

    Args:
      records: strings, one record each.
      record_defaults: per column a vector: of one element, the value where a field is empty, or of none, where a field is
        required. Its dtype (float32, float64, int32, int64, string) is the column's.
      field_delim: one character.
      use_quote_delim: double quotes hold a field together.
      na_value: a text that counts as empty.
      select_cols: the columns to take, in increasing order.

    Raises:
      InvalidArgumentError: (when run) a record has another number of fields, or a field is no number.
    """
    columns = tuple(select_cols or ())
    if columns and len(columns) != len(record_defaults) or list(columns) != sorted(set(columns)):
        raise ValueError("decode_csv: select_cols must be increasing, and as many as record_defaults.")
    defaults = [convert_to_tensor(d) for d in record_defaults]
    return decodecsv_op(records, defaults, field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                        select_cols=columns, name=name)


# -- Example messages -------------------------------------------------------------------------------------
class FixedLenFeature(collections.namedtuple("FixedLenFeature", ["shape", "dtype", "default_value"])):
    """A feature of a fixed shape; required unless there is a default."""

    def __new__(cls, shape, dtype, default_value=None):
        return super().__new__(cls, shape, dtype, default_value)


class VarLenFeature(collections.namedtuple("VarLenFeature", ["dtype"])):
    """A feature of any length: gives a SparseTensor."""


class FixedLenSequenceFeature(collections.namedtuple("FixedLenSequenceFeature",
                                                     ["shape", "dtype", "allow_missing", "default_value"])):
    """A feature of any number of rows of a fixed shape: gives a dense tensor, filled up with the default."""

    def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
        return super().__new__(cls, shape, dtype, allow_missing, default_value)


class SparseFeature(collections.namedtuple("SparseFeature", ["index_key", "value_key", "dtype", "size", "already_sorted"])):
    """Two features, indices and values, of which a SparseTensor is made."""

    def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
        return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


_KINDS = {"float32": "float_list", "int64": "int64_list", "string": "bytes_list"}


class _Place(collections.namedtuple("_Place", ["name", "index", "list"], defaults=(None, None, False))):
    """Where a value stands, for errors: the name of its Example, its number in the batch or in a list of features."""

    def error(self, key, words, list=False):
        """Returns the error that says `words` of a feature."""
        parts = [f"Name: {self.name}"] if self.name is not None else []
        parts.append(f"Feature list: {key}" if list else f"Key: {key}")
        parts += [f"Index: {self.index}"] if self.index is not None else []
        return InvalidArgumentError(f"{', '.join(parts)}.  {words}")

    def missing(self, words):
        """Returns the error that says which feature is not there."""
        return InvalidArgumentError(("" if self.name is None else f"Name: {self.name}, ") + words)


def _named(names, i):
    """Returns the name of the i-th Example of a batch, for errors."""
    return names[i].decode(errors="replace") if i < len(names) else "<unknown>"


def _checked_dtype(key, dtype):
    if dtype is None:
        raise ValueError(f"Missing type for feature {key}.")
    dtype = as_dtype(dtype)
    if dtype.name not in _KINDS:
        raise ValueError(f"Feature {key}: dtype must be float32, int64 or string, got {dtype.name}.")
    return dtype


def _values(feature, key, dtype, place):
    """Returns the array of a Feature (or None): empty when it holds nothing."""
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _KINDS[dtype.name]:
        raise place.error(key, f"Data types don't match. Expected type: {runtime_name(dtype)}  Feature is: {kind}", place.list)
    found = getattr(feature, kind).value
    out = np.empty(len(found), dtype.as_numpy_dtype)
    out[:] = found
    return out


def _default(dtype):
    return b"" if dtype.name == "string" else 0


def _known(key, default_value):
    """Returns a default value as Python or NumPy has it; ValueError for a tensor whose value depends on a run."""
    if not is_tensor(default_value):
        return default_value
    value = known_value(default_value)
    if value is None:
        raise ValueError(f"The default value of feature {key!r} must be known while building; {default_value} is not. Pass a "
                         "number or an array.")
    return value


class _Fixed:
    """How a FixedLenFeature is read: one output."""

    def __init__(self, key, feature):
        self.key, self.dtype = key, _checked_dtype(key, feature.dtype)
        self.shape = as_dims(feature.shape)
        if self.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        if None in self.shape:
            raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
        self.default = None
        if feature.default_value is not None:
            value = np.array(_known(key, feature.default_value))
            if self.dtype.name == "string":
                value = np.array([v.encode() if isinstance(v, str) else v for v in value.reshape(-1)], object)
            value = value.astype(self.dtype.as_numpy_dtype).reshape(-1)
            self.default = np.broadcast_to(value if value.size > 1 else value.reshape(()), int(np.prod(self.shape)))

    def specs(self, batch):
        return [Spec((*batch, *self.shape), self.dtype)]

    def dense_shape(self):
        return self.shape

    def default_array(self):
        """Returns the default as an array, an empty one where there is none."""
        return np.zeros(0, self.dtype.as_numpy_dtype) if self.default is None else self.default.reshape(self.shape)

    def one(self, features, place):
        found = _values(features.get(self.key), self.key, self.dtype, place)
        if found is None:
            if self.default is None:
                raise self._required(place)
            found = self.default
        if len(found) != int(np.prod(self.shape)):
            raise place.error(self.key, f"Number of {runtime_name(self.dtype)} values != expected.  values size: {len(found)} "
                              f"but output shape: {text_of(self.shape)}")
        return found.reshape(self.shape)

    def _required(self, place):
        return place.missing(f"Feature: {self.key} (data type: {runtime_name(self.dtype)}) is required but could not be found.")

    def many(self, rows, places):
        return [np.stack([self.one(r, p) for r, p in zip(rows, places)]) if rows
                else np.zeros((0, *self.shape), self.dtype.as_numpy_dtype)]

    def result(self, outputs):
        return outputs[0]


class _Ragged(_Fixed):
    """How a FixedLenSequenceFeature is read: one output."""

    def __init__(self, key, feature):
        super().__init__(key, FixedLenFeature(feature.shape, feature.dtype))
        self.fill = _default(self.dtype) if feature.default_value is None else _known(key, feature.default_value)
        self.missing = feature.allow_missing

    def specs(self, batch):
        return [Spec((*batch, None, *self.shape), self.dtype)]

    def dense_shape(self):
        return (None, *self.shape)

    def default_array(self):
        fill = np.empty(1, self.dtype.as_numpy_dtype)
        fill[0] = self.fill.encode() if isinstance(self.fill, str) else self.fill
        return fill

    def one(self, features, place):
        found = _values(features.get(self.key), self.key, self.dtype, place)
        if found is None:
            found = np.zeros(0, self.dtype.as_numpy_dtype)
        if len(found) % int(np.prod(self.shape)):
            raise place.error(self.key, f"Number of {runtime_name(self.dtype)} values is not a multiple of stride length. Saw "
                              f"{len(found)} values but output shape is: {text_of((None, *self.shape))}")
        return found.reshape(-1, *self.shape)

    def many(self, rows, places):
        parts = [self.one(r, p) for r, p in zip(rows, places)]
        out = np.empty((len(parts), max(map(len, parts), default=0), *self.shape), self.dtype.as_numpy_dtype)
        out[...] = self.fill
        for i, p in enumerate(parts):
            out[i, :len(p)] = p
        return [out]

    def list_of(self, feature_list, name):
        """The rows of a FeatureList."""
        if feature_list is None:
            if not self.missing:
                raise _Place(name).missing(
                    f"Feature list '{self.key}' is required but could not be found.  Did you mean to include it in "
                    "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults? allow_missing=True does.")
            return np.zeros((0, *self.shape), self.dtype.as_numpy_dtype)
        row = _Fixed(self.key, FixedLenFeature(self.shape, self.dtype))
        rows = [row.one({self.key: f}, _Place(name, i, True)) for i, f in enumerate(feature_list.feature)]
        return np.stack(rows) if rows else np.zeros((0, *self.shape), self.dtype.as_numpy_dtype)


class _Sparse:
    """How a VarLenFeature is read: indices, values and shape."""

    def __init__(self, key, feature):
        self.key, self.dtype = key, _checked_dtype(key, feature.dtype)

    def specs(self, batch):
        rank = len(batch) + 1
        return [Spec((None, rank), dtypes.int64), Spec((None,), self.dtype), Spec((rank,), dtypes.int64)]

    def _row(self, features, place):
        found = _values(features.get(self.key), self.key, self.dtype, place)
        return np.zeros(0, self.dtype.as_numpy_dtype) if found is None else found

    def single(self, features, place):
        row = self._row(features, place)
        return [np.arange(len(row), dtype=np.int64)[:, None], row, np.array([len(row)], np.int64)]

    def many(self, rows, places):
        parts = [self._row(r, p) for r, p in zip(rows, places)]
        indices = [(i, j) for i, p in enumerate(parts) for j in range(len(p))]
        values = np.concatenate(parts) if parts else np.zeros(0, self.dtype.as_numpy_dtype)
        return [np.array(indices, np.int64).reshape(-1, 2), values,
                np.array([len(parts), max(map(len, parts), default=0)], np.int64)]

    def result(self, outputs):
        return SparseTensor(*outputs)


class _Indexed(_Sparse):
    """How a SparseFeature is read."""

    def __init__(self, key, feature):
        super().__init__(key, feature)
        keys, sizes = feature.index_key, feature.size
        self.index_keys = [keys] if isinstance(keys, str) else list(keys)
        self.sizes = [sizes] if isinstance(sizes, int) else list(sizes)
        self.value_key, self.sorted = feature.value_key, feature.already_sorted

    def specs(self, batch):
        rank = len(batch) + len(self.sizes)
        return [Spec((None, rank), dtypes.int64), Spec((None,), self.dtype), Spec((rank,), dtypes.int64)]

    def _found(self, features, place):
        columns = [_values(features.get(k), k, dtypes.int64, place) for k in self.index_keys]
        indices = np.stack([np.zeros(0, np.int64) if c is None else c for c in columns], 1)
        values = _values(features.get(self.value_key), self.value_key, self.dtype, place)
        values = np.zeros(0, self.dtype.as_numpy_dtype) if values is None else values
        if len(indices) != len(values):
            raise place.error(self.key, f"{len(indices)} indices for {len(values)} values")
        if self.sorted:
            return indices, values
        order = np.lexsort(indices.T[::-1])
        return indices[order], values[order]

    def single(self, features, place):
        indices, values = self._found(features, place)
        return [indices, values, np.array(self.sizes, np.int64)]

    def many(self, rows, places):
        parts = [self._found(r, p) for r, p in zip(rows, places)]
        indices = [np.concatenate([np.full((len(i), 1), n), i], 1) for n, (i, _) in enumerate(parts)]
        return [np.concatenate(indices) if parts else np.zeros((0, 1 + len(self.sizes)), np.int64),
                np.concatenate([v for _, v in parts]) if parts else np.zeros(0, self.dtype.as_numpy_dtype),
                np.array([len(parts), *self.sizes], np.int64)]


_READERS = {FixedLenFeature: _Fixed, FixedLenSequenceFeature: _Ragged, VarLenFeature: _Sparse, SparseFeature: _Indexed}


def _readers(features, what, lists=False):
    if not features:
        raise ValueError(f"Missing: {what} was {features}.")
    found = []
    for key in sorted(features):
        if isinstance(features[key], FixedLenSequenceFeature) and not (lists or features[key].allow_missing):
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        reader = _READERS.get(type(features[key]))
        if reader is None:
            raise ValueError(f"Invalid feature {key}:{features[key]}.")
        found.append(reader(key, features[key]))
    return found


def _parsed(kind, text):
    try:
        return kind.FromString(text)
    except ValueError:
        raise InvalidArgumentError(f"Could not parse example input, value: '{text[:80]!r}'") from None


def _examples_lower(b, serialized, names, *, readers):
    rows = [dict(_parsed(Example, text).features.feature) for text in serialized]
    places = [_Place(_named(names, i), i) for i in range(len(rows))]
    return tuple(a for r in readers for a in r.many(rows, places))


def _examples_infer(serialized, names, *, readers):
    if serialized.dims is not None and len(serialized.dims) != 1:
        raise ShapeError(f"parse_example: serialized must be a vector of strings, got {spec_text(serialized)}")
    batch = serialized.dims or (None,)
    return [s for r in readers for s in r.specs(batch)]


def _single_lower(b, serialized, *, readers):
    features = dict(_parsed(Example, serialized.item()).features.feature)
    return tuple(_of_one(readers, features, _Place()))


def _of_one(readers, features, place):
    return [a for r in readers for a in (r.single(features, place) if isinstance(r, _Sparse) else [r.one(features, place)])]


def _single_infer(serialized, *, readers):
    if serialized.dims:
        raise ShapeError(f"parse_single_example: serialized must be one string, got {spec_text(serialized)}")
    return [s for r in readers for s in r.specs(())]


def _sequence_infer(serialized, debug_name, *, context, sequence):
    if serialized.dims:
        raise ShapeError(f"parse_single_sequence_example: serialized must be one string, got {spec_text(serialized)}")
    return [s for r in context for s in r.specs(())] + [s for r in sequence for s in r.specs(
        () if isinstance(r, _Fixed) else (None,))]


def _sequence_lower(b, serialized, debug_name, *, context, sequence):
    name = debug_name.item().decode(errors="replace") or "<unknown>"
    message = _parsed(SequenceExample, serialized.item())
    features, lists = dict(message.context.feature), dict(message.feature_lists.feature_list)
    out = _of_one(context, features, _Place(name))
    for r in sequence:
        found = lists.get(r.key)
        if isinstance(r, _Sparse):
            steps = [{r.key: f} for f in (found.feature if found is not None else ())]
            out += r.many(steps, [_Place(name, i, True) for i in range(len(steps))])
        else:
            out.append(r.list_of(found, name))
    return tuple(out)


parseexample_op = host_op("ParseExample", "serialized: string, names: string", _examples_infer, _examples_lower,
                          {"readers": ()}, single=False)
parsesingleexample_op = host_op("ParseSingleExample", "serialized: string", _single_infer, _single_lower, {"readers": ()},
                                single=False)
parsesinglesequenceexample_op = host_op("ParseSingleSequenceExample", "serialized: string, debug_name: string",
                                        _sequence_infer, _sequence_lower, {"context": (), "sequence": ()}, single=False)


# What TensorFlow's graphs have: keys and defaults are inputs, and all sparse features come before the dense ones.
def _feature_of(shape, dtype, default):
    """Returns the feature that a dense shape, dtype and default, an array, stand for; an empty default is none."""
    dims = as_dims(shape)
    default = None if default is None or not default.size else default
    if dims and dims[0] is None:
        return FixedLenSequenceFeature(dims[1:], dtype, True, None if default is None else default.reshape(-1)[0])
    return FixedLenFeature(dims, dtype, default)


def _typed_readers(sparse_types, dense_types, dense_shapes, sparse_keys=None, dense_keys=None, defaults=None):
    """Returns the readers of sparse features and those of dense ones; without keys, such as tell the shapes of outputs."""
    def made(feature, keys, i):
        return _READERS[type(feature)]("" if keys is None else keys.flat[i].decode(), feature)

    return ([made(VarLenFeature(t), sparse_keys, i) for i, t in enumerate(sparse_types)],
            [made(_feature_of(s, t, None if defaults is None else defaults[i]), dense_keys, i)
             for i, (s, t) in enumerate(zip(dense_shapes, dense_types))])


def _examples_v2_infer(serialized, names, sparse_keys, dense_keys, ragged_keys, defaults, *, sparse_types, dense_shapes,
                       ragged_value_types, **attrs):
    if ragged_value_types:
        raise ShapeError("ParseExampleV2: Regrad has no ragged tensors; parse such a feature as one of variable length.")
    if serialized.dims is not None and len(serialized.dims) > 1:
        raise ShapeError(f"ParseExampleV2: serialized must be a string or a vector of strings, got {spec_text(serialized)}")
    if len(defaults) != len(dense_shapes):
        raise ShapeError(f"ParseExampleV2: {len(defaults)} dense_defaults for {len(dense_shapes)} dense_shapes")
    sparse, dense = _typed_readers(sparse_types, [d.dtype for d in defaults], dense_shapes)
    batch = (None,) if serialized.dims is None else serialized.dims
    parts = [r.specs(batch) for r in sparse]
    return [p[i] for i in range(3) for p in parts] + [s for r in dense for s in r.specs(batch)]


def _examples_v2_lower(b, serialized, names, sparse_keys, dense_keys, ragged_keys, defaults, *, sparse_types, dense_shapes,
                       **attrs):
    dense_types = [as_dtype("string" if d.dtype == object else d.dtype) for d in defaults]
    sparse, dense = _typed_readers(sparse_types, dense_types, dense_shapes, sparse_keys, dense_keys, defaults)
    rows = [dict(_parsed(Example, text).features.feature) for text in serialized.flat]
    if serialized.ndim:
        places = [_Place(_named(names, i), i) for i in range(len(rows))]
        parts, whole = [r.many(rows, places) for r in sparse], [r.many(rows, places)[0] for r in dense]
    else:
        place = _Place(_named(names.reshape(-1), 0))
        parts, whole = [r.single(rows[0], place) for r in sparse], [r.one(rows[0], place) for r in dense]
    return (*(p[i] for i in range(3) for p in parts), *whole)


parseexamplev2_op = host_op(
    "ParseExampleV2", "serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
    "dense_defaults: [T]", _examples_v2_infer, _examples_v2_lower,
    {"num_sparse": 0, "sparse_types": (), "ragged_value_types": (), "ragged_split_types": (), "dense_shapes": ()}, single=False)


def _results(readers, outputs):
    found, at = {}, 0
    for r in readers:
        n = 3 if isinstance(r, _Sparse) else 1
        found[r.key] = r.result(outputs[at:at + n])
        at += n
    return found


def parse_example(serialized, features, name=None, example_names=None):
    """Returns {key: Tensor or SparseTensor} of a batch of serialised Examples.

    Args:
      serialized: string vector.
      features: {key: FixedLenFeature, VarLenFeature, FixedLenSequenceFeature or SparseFeature}.
      example_names: string vector, what errors call each Example.

    Raises:
      InvalidArgumentError: (when run) a string is no Example, or a feature is missing or of another type or size.
    """
    readers = _readers(features, "features")
    names = np.zeros(0, object) if example_names is None else example_names
    names, name = convert_to_tensor(names, dtype=dtypes.string), name or "ParseExample"
    if any(isinstance(r, _Indexed) for r in readers):  # which TensorFlow composes
        return _results(readers, parseexample_op(serialized, names, readers=tuple(readers), name=name))
    sparse = [r for r in readers if isinstance(r, _Sparse)]
    dense = [r for r in readers if not isinstance(r, _Sparse)]
    n = len(sparse)
    found = parseexamplev2_op(
        serialized, names, _keys(sparse), _keys(dense), _keys([]), [r.default_array() for r in dense], num_sparse=n,
        sparse_types=tuple(r.dtype for r in sparse), dense_shapes=tuple(TensorShape(r.dense_shape()) for r in dense), name=name)
    return ({r.key: r.result(found[i:3 * n:n]) for i, r in enumerate(sparse)}
            | {r.key: r.result(found[3 * n + i:][:1]) for i, r in enumerate(dense)})


def _keys(readers):
    out = np.empty(len(readers), object)
    out[:] = [r.key.encode() for r in readers]
    return out


def parse_single_example(serialized, features, name=None, example_names=None):
    """Returns {key: Tensor or SparseTensor} of one serialised Example, a string scalar; see `parse_example`."""
    readers = _readers(features, "features")
    return _results(readers, parsesingleexample_op(serialized, readers=tuple(readers), name=name or "ParseSingleExample"))


def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """Returns ({key: tensor} of the context, {key: tensor} of the lists over time) of one serialised SequenceExample.

    Args:
      context_features, sequence_features: as `features` of `parse_example`; over time FixedLenSequenceFeature gives
        [time, *shape], and VarLenFeature a SparseTensor [time, longest].
      example_name: string scalar, what errors call it.
    """
    if not (context_features or sequence_features):
        raise ValueError("Missing features.")
    context = _readers(context_features, "context_features") if context_features else []
    sequence = _readers(sequence_features, "sequence_features", lists=True) if sequence_features else []
    debug_name = convert_to_tensor("" if example_name is None else example_name, dtype=dtypes.string)
    outputs = parsesinglesequenceexample_op(serialized, debug_name, context=tuple(context), sequence=tuple(sequence),
                                            name=name or "ParseSingleSequenceExample")
    n = sum(3 if isinstance(r, _Sparse) else 1 for r in context)
    return _results(context, outputs[:n]), _results(sequence, outputs[n:])
