"""Lookup tables: words to numbers and back. What a table holds lives in the session; nothing here has a gradient.

A static table gets its contents once, from tensors or a file, when its initializer runs (`tables_initializer`); mutable ones
are inserted into. Strings that a table lacks may be hashed into further buckets behind its own.
"""

import collections
import os

import numpy as np

from regrad.core import dtypes
from regrad.core.constants import constant_value
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import AbortedError, BadValue, FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from regrad.core.facts import Stored
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.opdef import Spec, rank_is
from regrad.core.reading import reading
from regrad.core.records import opened
from regrad.core.shown import Shown
from regrad.ops.array import size
from regrad.ops.compare import not_equal, where
from regrad.ops.generate import range as range_of
from regrad.ops.hashing import string_to_hash_bucket_fast, string_to_hash_bucket_strong
from regrad.ops.math import add, cast
from regrad.ops.queues import define_handle, kept_op
from regrad.ops.sparse import SparseTensor
from regrad.ops.strings import as_string


class TableSpec:
    """What a table is; what it holds is in `session.resources`, that of tables of one `shared_name` under that.

    Attributes:
      static: it gets its contents once, by an initializer.
      value_dims: the shape of the value of one key.
    """

    def __init__(self, key_dtype, value_dtype, value_dims=(), static=False, shared_name=None):
        self.key_dtype, self.value_dtype, self.value_dims, self.static = key_dtype, value_dtype, value_dims, static
        self.key = (get_default_graph()._container or "", shared_name) if shared_name else self

    def contents(self, session):
        """Returns the Contents of this table in a session.

        Raises:
          InvalidArgumentError: another table has its shared name, and is not like it.
        """
        found = session.resources.get(self.key)
        if found is None:
            found = session.resources[self.key] = Contents(self)
        elif not isinstance(found, Contents) or vars(found.spec) | {"key": None} != vars(self) | {"key": None}:
            raise InvalidArgumentError(f"Another resource, or a table of other types, has the shared name {self.key[1]!r}.")
        return found


class Contents:
    """What a table holds in one session.

    Attributes:
      values: {key: value}, of Python's types where a value is a scalar, arrays elsewhere.
      filled: whether a static table has been initialised.
      forbidden: {key: what it is called}, keys that a dense table cannot hold.
    """

    def __init__(self, spec):
        self.spec = spec
        self.values = {}
        self.filled = False
        self.forbidden = {}

    def checked(self, keys):
        """Returns an array of keys as a list.

        Raises:
          InvalidArgumentError: one of them is forbidden.
        """
        found = keys.reshape(-1).tolist()
        for key, called in self.forbidden.items():
            if key in found:
                raise InvalidArgumentError(f"Using the {called} as a table key is not allowed: {key!r}.")
        return found

    def find(self, keys, default):
        """Returns the values of an array of keys; of those that are not there `default`, or its part at their place."""
        spec = self.spec
        if spec.static and not self.filled:
            raise FailedPreconditionError("Table not initialized. Run tf.tables_initializer() in this session first.")
        missing = object()
        found = [self.values.get(key, missing) for key in self.checked(keys)]
        out = np.empty((len(found), *spec.value_dims), spec.value_dtype.as_numpy_dtype)
        try:
            defaults = np.broadcast_to(default, keys.shape + spec.value_dims).reshape(out.shape)
        except ValueError:
            raise InvalidArgumentError(f"Expected shape {list(spec.value_dims)} or {[*keys.shape, *spec.value_dims]} for "
                                       f"default value, got {list(np.shape(default))}") from None
        for i, value in enumerate(found):
            out[i, ...] = defaults[i, ...] if value is missing else value
        return out.reshape(keys.shape + spec.value_dims)

    def put(self, keys, values):
        """Gives keys their values."""
        if values.shape != keys.shape + self.spec.value_dims:
            raise InvalidArgumentError(f"Expected shape {[*keys.shape, *self.spec.value_dims]} for value, got "
                                       f"{list(values.shape)}")
        rows = values.reshape(-1, *self.spec.value_dims)
        self.values.update(zip(self.checked(keys), list(rows.copy()) if self.spec.value_dims else rows.tolist()))

    def fill(self, pairs):
        """Initialises a static table; one that has been stays as it is.

        Raises:
          FailedPreconditionError: two values for one key.
        """
        if self.filled:
            return
        values = {}
        for key, value in pairs:
            if values.setdefault(key, value) != value:
                raise FailedPreconditionError(f"HashTable has different value for same key. Key {_text(key)} has "
                                              f"{_text(values[key])} and trying to add value {_text(value)}")
        self.values, self.filled = values, True


def _text(x):
    return x.decode(errors="replace") if isinstance(x, bytes) else x


# -- op types -----------------------------------------------------------------------------------------


def _begin(spec, session):
    spec.contents(session)


_ATTRS = ("key_dtype", "value_dtype", "container", "shared_name")
hashtable_op = define_handle("HashTableV2", _ATTRS, _begin)
mutablehashtable_op = define_handle("MutableHashTableV2", _ATTRS, _begin)
mutablehashtableoftensors_op = define_handle("MutableHashTableOfTensorsV2", (*_ATTRS, "value_shape"), _begin)


def _spec_from_file(static):
    """Returns the function that gives a table of a file, whose attributes say what it is, its spec."""

    def complete(attrs):
        shared = attrs["shared_name"]
        return attrs | {"spec": TableSpec(as_dtype(attrs["key_dtype"]), as_dtype(attrs["value_dtype"]),
                                          attrs.get("value_shape") or (), static, shared or None)}

    return complete


for _op, _static in ((hashtable_op, True), (mutablehashtable_op, False), (mutablehashtableoftensors_op, False)):
    _op.declare(stored=Stored(complete=_spec_from_file(_static)))


def _dense(b, session, empty_key, deleted_key, *, spec, **_):
    if empty_key == deleted_key:
        raise InvalidArgumentError(f"Empty and deleted keys cannot be equal: {empty_key.item()!r}.")
    spec.contents(session).forbidden = {empty_key.item(): "empty_key", deleted_key.item(): "deleted_key"}
    return np.array(spec, object)


mutabledensehashtable_op = kept_op(
    "MutableDenseHashTableV2", "empty_key: K, deleted_key: K", lambda e, d, *, spec, **_: Spec((), dtypes.resource), _dense,
    {"spec": None, **dict.fromkeys((*_ATTRS, "value_shape", "initial_num_buckets"))})


def _table(handle, session):
    return handle.item().contents(session)


def _find(b, session, handle, keys, default, *, value_shape):
    return _table(handle, session).find(keys, default)


def _insert(b, session, handle, keys, values):
    _table(handle, session).put(keys, values)
    return ()


def _remove(b, session, handle, keys):
    table = _table(handle, session)
    for key in table.checked(keys):
        table.values.pop(key, None)
    return ()


def _import(b, session, handle, keys, values):
    table = _table(handle, session)
    if table.spec.static:
        table.fill(zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist()))
    else:
        table.values.clear()
        table.put(keys, values)
    return ()


def _export(b, session, handle, *, key_dtype, value_dtype, value_shape):
    table = _table(handle, session)
    if table.spec.static and not table.filled:
        raise AbortedError(None, None, "HashTable is not initialized. Run tf.tables_initializer() in this session first.")
    keys = np.array(list(table.values), key_dtype.as_numpy_dtype)
    values = np.empty((len(keys), *table.spec.value_dims), value_dtype.as_numpy_dtype)
    for i, value in enumerate(table.values.values()):
        values[i, ...] = value
    return keys, values


def _pairs_infer(handle, keys, values):
    if keys.dims is not None and values.dims is not None and any(
            a != b for a, b in zip(keys.dims, values.dims) if None not in (a, b)):
        raise BadValue(f"Dimensions must be equal: there are keys of shape {list(keys.dims)} and values of shape "
                       f"{list(values.dims)}.")
    return []


def _find_infer(handle, keys, default, *, value_shape):
    return Spec(None if keys.dims is None else (*keys.dims, *value_shape), default.dtype)


_VALUES = {"value_shape": ()}
_PAIRS = "table_handle: resource, keys: Tin, values: Tout"
lookuptablefind_op = kept_op("LookupTableFindV2", "table_handle: resource, keys: Tin, default_value: Tout", _find_infer, _find,
                             _VALUES)
lookuptableinsert_op = kept_op("LookupTableInsertV2", _PAIRS, _pairs_infer, _insert)
lookuptableimportv2_op = kept_op("LookupTableImportV2", _PAIRS, _pairs_infer, _import)
initializetablev2_op = kept_op("InitializeTableV2", _PAIRS, _pairs_infer, _import)
lookuptableremove_op = kept_op("LookupTableRemoveV2", "table_handle: resource, keys: Tin", lambda handle, keys: [], _remove)
lookuptablesize_op = kept_op("LookupTableSizeV2", "table_handle: resource", lambda handle: Spec((), dtypes.int64),
                             lambda b, session, handle: np.int64(len(_table(handle, session).values)))
lookuptableexport_op = kept_op(
    "LookupTableExportV2", "table_handle: resource",
    lambda handle, *, key_dtype, value_dtype, value_shape: [Spec((None,), key_dtype), Spec((None, *value_shape), value_dtype)],
    _export, {"key_dtype": None, "value_dtype": None, **_VALUES})


# -- tables in text files -------------------------------------------------------------------------------


class TextFileIndex(Shown):
    """What of a line a key or value is, besides a column: all of it, or its number."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


def _lines_of(path, vocab_size):
    """Yields (number, line) of a file of one entry a line, of `vocab_size` entries or of all.

    Raises:
      InvalidArgumentError: there are fewer, or a line is empty.
      OutOfRangeError: the file is empty.
    """
    with reading(path), opened(path) as file:
        lines = file.read().replace(b"\r", b"").split(b"\n")
    if lines and not lines[-1]:
        del lines[-1]
    if not lines:
        raise OutOfRangeError(None, None, f"{path} holds no entries: Read less bytes than requested")
    if vocab_size > len(lines):
        raise InvalidArgumentError(f"Invalid vocab_size in {path}: expected {vocab_size} but got {len(lines)}")
    for i, line in enumerate(lines[:vocab_size] if vocab_size > 0 else lines):
        if not line:
            raise InvalidArgumentError(f"Invalid content in {path}: empty line found at line {i + 1}.")
        yield i, line


_READERS = {"i": int, "u": int, "f": float, "b": lambda text: {b"true": True, b"false": False}[text.lower()]}


def _field(path, i, line, parts, index, dtype):
    if index == TextFileIndex.LINE_NUMBER:
        return i
    text = line if index == TextFileIndex.WHOLE_LINE else parts[index]
    if dtype is dtypes.string:
        return text
    try:
        return _READERS[dtype.np_dtype.kind](text)
    except (KeyError, ValueError):
        raise InvalidArgumentError(f"Field {_text(text)} in line {i} is not a valid {dtype.name}. ({path})") from None


def _from_file(b, session, handle, filename, *, key_index, value_index, vocab_size, delimiter, offset):
    table, path = _table(handle, session), os.fsdecode(filename.item())
    separator, columns = os.fsencode(delimiter), max(key_index, value_index) + 1

    def pairs():
        for i, line in _lines_of(path, vocab_size):
            parts = line.split(separator) if columns > 0 else ()
            if len(parts) < columns:
                raise InvalidArgumentError(f"Invalid number of columns in {path} line {i} ({_text(line)}) : expected at least "
                                           f"{columns} got {len(parts)}")
            key, value = (_field(path, i, line, parts, index, dtype) for index, dtype in
                          ((key_index, table.spec.key_dtype), (value_index, table.spec.value_dtype)))
            yield key, value + offset if offset else value

    try:
        table.fill(pairs())
    except FailedPreconditionError as error:
        error.message += f" ({path})"
        raise
    return ()


initializetablefromtextfile_op = kept_op(
    "InitializeTableFromTextFileV2", "table_handle: resource, filename: string",
    lambda handle, filename, **_: rank_is(filename, 0, "InitializeTableFromTextFileV2") or [], _from_file,
    {"key_index": -2, "value_index": -1, "vocab_size": -1, "delimiter": "\t", "offset": 0})


# -- where static tables come from ------------------------------------------------------------------------


class _Typed(Shown):
    """What holds keys and values of certain dtypes."""

    def __init__(self, key_dtype, value_dtype):
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self):
        return self._key_dtype

    @property
    def value_dtype(self):
        return self._value_dtype


class TableInitializerBase(_Typed):
    """What fills a static table: `initialize(table)` returns the operation that does.

    Attributes:
      key_dtype, value_dtype: what it fills the table with.
    """

    def initialize(self, table):
        """Returns the operation that fills `table`, which is also in the collection TABLE_INITIALIZERS."""
        raise NotImplementedError

    @property
    def _shared_name(self):
        return None

    def _check(self, table):
        for what in ("key_dtype", "value_dtype"):
            theirs, ours = getattr(table, what), getattr(self, what)
            if theirs is not ours:
                raise TypeError(f"Invalid {what.partition('_')[0]} dtype for table: expected {theirs.name}, the initializer "
                                f"has {ours.name}.")


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a static table with keys and their values, tensors of one shape.

    Args:
      key_dtype, value_dtype: the dtypes that Python values become.
    """

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        with get_default_graph().name_scope(name or "key_value_init") as scope:
            self._keys = convert_to_tensor(keys, dtype=key_dtype, name="keys")
            self._values = convert_to_tensor(values, dtype=value_dtype, name="values")
            self._scope = scope
        super().__init__(self._keys.dtype, self._values.dtype)

    def initialize(self, table):
        self._check(table)
        with get_default_graph().name_scope(self._scope):
            made = lookuptableimportv2_op(table.resource_handle, self._keys, self._values, name="LookupTableImportV2")
        get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        return made


class TextFileInitializer(TableInitializerBase):
    """Fills a static table with the lines of a text file.

    Args:
      filename: text, or a string scalar tensor.
      key_index, value_index: a column, counted from 0, or one of TextFileIndex.
      vocab_size: how many lines count; all by default.
      delimiter: what separates columns.
      value_index_offset: what is added to the values.
    """

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t", name=None,
                 value_index_offset=0):
        if not hasattr(filename, "dtype") and not filename:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        super().__init__(key_dtype, value_dtype)
        for what, index, dtype in (("key", key_index, self.key_dtype), ("value", value_index, self.value_dtype)):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(f"`{what}_dtype` must be int64 if `{what}_index` is -1, received: {dtype.name}")
            if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype is dtypes.string):
                raise ValueError(f"`{what}_dtype` should be either integer or string for `{what}_index` -2, received: "
                                 f"{dtype.name}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._attrs = {"key_index": key_index, "value_index": value_index, "delimiter": delimiter,
                       "vocab_size": -1 if vocab_size is None else int(vocab_size), "offset": int(value_index_offset)}
        self._name = name or "text_file_init"
        self._filename = convert_to_tensor(filename if hasattr(filename, "dtype") else os.fspath(filename),
                                           dtype=dtypes.string, name="asset_path")

    @property
    def _shared_name(self):
        name = constant_value(self._filename)
        if name is None:
            return None
        return f"hash_table_{_text(name.item())}_{'_'.join(map(str, self._attrs.values()))}"

    def initialize(self, table):
        self._check(table)
        graph = get_default_graph()
        with graph.name_scope(self._name):
            made = initializetablefromtextfile_op(table.resource_handle, self._filename, **self._attrs,
                                                  name="InitializeTableFromTextFileV2")
        graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, made)
        if self._filename.op.type == "Const":
            graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
        return made


class TextFileIdTableInitializer(TextFileInitializer):
    """Fills a static table of words to int64 numbers from a text file: each line's number by default."""

    def __init__(self, filename, key_column_index=TextFileIndex.WHOLE_LINE, value_column_index=TextFileIndex.LINE_NUMBER,
                 vocab_size=None, delimiter="\t", name="text_file_id_table_init", key_dtype=dtypes.string):
        super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index, vocab_size, delimiter, name)


class TextFileStringTableInitializer(TextFileInitializer):
    """Fills a static table of int64 numbers to words from a text file: by each line's number by default."""

    def __init__(self, filename, key_column_index=TextFileIndex.LINE_NUMBER, value_column_index=TextFileIndex.WHOLE_LINE,
                 vocab_size=None, delimiter="\t", name="text_file_string_table_init"):
        super().__init__(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index, vocab_size, delimiter,
                         name)


# -- tables -----------------------------------------------------------------------------------------------


class LookupInterface(_Typed):
    """A table of keys and values.

    Attributes:
      key_dtype, value_dtype: their dtypes.
      name: of its operation, without scopes.
      resource_handle: the handle, a resource tensor.
    """

    def __init__(self, key_dtype, value_dtype):
        super().__init__(key_dtype, value_dtype)
        self._value_dims = ()
        if not (self._key_dtype.is_integer or self._key_dtype in (dtypes.string, dtypes.bool_)):
            raise InvalidArgumentError(None, None, f"The keys of a table are integers or strings, not {self._key_dtype.name}.")

    @property
    def name(self):
        return self.resource_handle.op.name.rpartition("/")[2]

    def _scope(self, name, what):
        return get_default_graph().name_scope(name or f"{self.name}_{what}")

    def size(self, name=None):
        """Returns how many keys the table holds, an int64 scalar."""
        with self._scope(name, "Size"):
            return lookuptablesize_op(self.resource_handle, name="LookupTableSizeV2")[0]

    def lookup(self, keys, name=None):
        """Returns the values of `keys`."""
        raise NotImplementedError

    def _as_keys(self, keys):
        keys = convert_to_tensor(keys, dtype=None if hasattr(keys, "dtype") else self.key_dtype, name="keys")
        if keys.dtype is not self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype.name}, received: {keys.dtype.name}")
        return keys

    def _find(self, keys, default, scope):
        """Returns values of the shape of `keys`, a tensor or SparseTensor; those of a sparse one are sparse.

        Raises:
          TypeError: keys of another dtype.
        """
        sparse = isinstance(keys, SparseTensor)
        given = self._as_keys(keys.values if sparse else keys)
        with scope:
            found = lookuptablefind_op(self.resource_handle, given, default, value_shape=self._value_dims,
                                       name="LookupTableFindV2")[0]
        return SparseTensor(keys.indices, found, keys.dense_shape) if sparse else found


class _Exported(LookupInterface):
    """A table whose contents may be asked for."""

    def export(self, name=None):
        """Returns (keys [n], values [n, ...]), in the order in which keys came into the table."""
        with self._scope(name, self._export_scope):
            keys, values = lookuptableexport_op(self.resource_handle, key_dtype=self.key_dtype, value_dtype=self.value_dtype,
                                                value_shape=self._value_dims, name="LookupTableExportV2")
        return keys, values


class InitializableLookupTableBase(_Exported):
    """A table that an initializer fills once.

    Attributes:
      default_value: the value of any key that the table lacks, a tensor.
      initializer: the operation that fills it; `init` is an older name.
    """

    _export_scope = "Export"

    def __init__(self, default_value, initializer, shared_name=None, name=None):
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        default_value = convert_to_tensor(default_value, dtype=self.value_dtype)
        rank_is(default_value, 0, "default_value")
        self.default_value = default_value
        spec = TableSpec(self.key_dtype, self.value_dtype, static=True, shared_name=shared_name)
        self.resource_handle = hashtable_op(spec=spec, key_dtype=self.key_dtype, value_dtype=self.value_dtype,
                                            shared_name=shared_name or "", container="", name=name or "hash_table")[0]
        self.initializer = self.init = initializer.initialize(self)

    def lookup(self, keys, name=None):
        """Returns the values of `keys`, a tensor or SparseTensor, in the same form; `default_value` for others.

        Raises:
          TypeError: keys of another dtype.
          FailedPreconditionError: (when run) the initializer has not run in this session.
        """
        return self._find(keys, self.default_value, self._scope(name, "Lookup"))


class StaticHashTable(InitializableLookupTableBase):
    """A table that is filled once.

        words = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
        table = tf.lookup.StaticHashTable(words, -1)
        ids = table.lookup(tf.constant(["b", "q"]))  # after tf.tables_initializer(): [1, -1]

    Args:
      initializer: what fills it, a TableInitializerBase.
      default_value: the value of keys it lacks.

    Raises:
      TypeError: the value is not of the initializer's dtype.
      InvalidArgumentError: keys that are neither integers nor strings.
    """

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        super().__init__(default_value, initializer, initializer._shared_name, name)


class HashTable(InitializableLookupTableBase):
    """`tf.contrib.lookup.HashTable`: a StaticHashTable; tables of one `shared_name` are one."""

    def __init__(self, initializer, default_value, shared_name=None, name=None):
        super().__init__(default_value, initializer, shared_name, name)


class _Mutable(_Exported):
    """A table that is inserted into."""

    _export_scope = "lookup_table_export_values"

    def __init__(self, key_dtype, value_dtype, default_value):
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, dtype=self.value_dtype)
        self._value_dims = tuple(self._default_value.shape.as_list())

    def lookup(self, keys, dynamic_default_values=None, name=None):
        """Returns the values of `keys`, a tensor or SparseTensor, and the default value for others.

        Args:
          dynamic_default_values: a default for each key.

        Raises:
          TypeError: keys of another dtype.
        """
        if isinstance(dynamic_default_values, str):  # before 2.3 the second argument was the name
            dynamic_default_values, name = None, dynamic_default_values
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, dtype=self.value_dtype)
        return self._find(keys, default, self._scope(name, "lookup_table_find"))

    def insert(self, keys, values, name=None):
        """Returns the operation that gives `keys` (any shape) `values`; the last of repeated keys counts.

        Raises:
          ValueError: tensors of other dtypes.
          InvalidArgumentError: (when run) the shapes do not go together.
        """
        with self._scope(name, "lookup_table_insert"):
            keys = convert_to_tensor(keys, dtype=self.key_dtype, name="keys")
            values = convert_to_tensor(values, dtype=self.value_dtype, name="values")
            return lookuptableinsert_op(self.resource_handle, keys, values, name="LookupTableInsertV2")

    insert_or_assign = insert

    def remove(self, keys, name=None):
        """Returns the operation that takes `keys` out of the table; keys that it lacks do not matter.

        Raises:
          TypeError: keys of another dtype.
        """
        with self._scope(name, "lookup_table_remove"):
            return lookuptableremove_op(self.resource_handle, self._as_keys(keys), name="LookupTableRemoveV2")

    erase = remove


class MutableHashTable(_Mutable):
    """A table that is inserted into; its values are of the shape of `default_value`.

    Args:
      shared_name: tables of one are one.
      checkpoint: accepted; a Saver does not save tables.
    """

    def __init__(self, key_dtype, value_dtype, default_value, shared_name=None, name="MutableHashTable", checkpoint=True,
                 experimental_is_anonymous=False):
        super().__init__(key_dtype, value_dtype, default_value)
        spec = TableSpec(self.key_dtype, self.value_dtype, self._value_dims, shared_name=shared_name)
        more = {"value_shape": self._value_dims} if self._value_dims else {}
        op = mutablehashtableoftensors_op if self._value_dims else mutablehashtable_op
        self.resource_handle = op(spec=spec, key_dtype=self.key_dtype, value_dtype=self.value_dtype, container="",
                                  shared_name=shared_name or "", name=name, **more)[0]


class DenseHashTable(_Mutable):
    """A MutableHashTable that cannot hold two keys, which TensorFlow marks free places with."""

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets=None,
                 name="MutableDenseHashTable", checkpoint=True, shared_name=None, experimental_is_anonymous=False):
        super().__init__(key_dtype, value_dtype, default_value)
        spec = TableSpec(self.key_dtype, self.value_dtype, self._value_dims, shared_name=shared_name)
        empty_key = convert_to_tensor(empty_key, dtype=self.key_dtype, name="empty_key")
        deleted_key = convert_to_tensor(deleted_key, dtype=self.key_dtype, name="deleted_key")
        self.resource_handle = mutabledensehashtable_op(
            empty_key, deleted_key, spec=spec, key_dtype=self.key_dtype, value_dtype=self.value_dtype, container="",
            shared_name=shared_name or "", value_shape=self._value_dims, initial_num_buckets=initial_num_buckets, name=name)[0]


# -- words that a table lacks -----------------------------------------------------------------------------

HasherSpec = collections.namedtuple("HasherSpec", ["hasher", "key"])
FastHashSpec = HasherSpec("fasthash", None)


class StrongHashSpec(HasherSpec):
    """The hash that nobody can foresee without its `key`, two numbers."""

    __slots__ = ()

    def __new__(cls, key):
        if len(key) != 2:
            raise ValueError(f"`key` must have size 2, received {key}")
        if not all(isinstance(k, (int, np.integer)) for k in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


class IdTableWithHashBuckets(LookupInterface):
    """Numbers of words: those of `table`, and for any other word one of `num_oov_buckets` behind them, by its hash.

    Args:
      table: of int64 values below its size, or None: all words are hashed.
      hasher_spec: FastHashSpec or StrongHashSpec([k0, k1]).
      key_dtype: of the keys, an integer type or string; the table's by default.
    """

    def __init__(self, table, num_oov_buckets, hasher_spec=FastHashSpec, name=None, key_dtype=None):
        num_oov_buckets = int(num_oov_buckets)
        if table is None and num_oov_buckets <= 0:
            raise ValueError("`oov_buckets` must be > 0 if no `table` is supplied.")
        if num_oov_buckets < 0:
            raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"`hasher_spec` must be of type HasherSpec, received: {hasher_spec!r}.")
        if hasher_spec.hasher not in ("fasthash", "stronghash"):
            raise TypeError(f"`hasher_spec.hasher` must be 'fasthash' or 'stronghash', received: {hasher_spec.hasher!r}.")
        key_dtype = as_dtype(key_dtype or (dtypes.string if table is None else table.key_dtype))
        inner = key_dtype if table is None else table.key_dtype
        if not (key_dtype.is_integer or key_dtype is dtypes.string) or key_dtype.is_integer != inner.is_integer:
            raise TypeError(f"Invalid `key_dtype`: {key_dtype.name} for a table of {inner.name} keys.")
        super().__init__(key_dtype, dtypes.int64)
        self._table, self._buckets, self._hasher = table, num_oov_buckets, hasher_spec
        self._given_name = name.rsplit("/", 1)[-1] if name else None

    @property
    def name(self):
        return self._given_name or ("hash_bucket" if self._table is None else self._table.name)

    @property
    def resource_handle(self):
        return None if self._table is None else self._table.resource_handle

    @property
    def initializer(self):
        """The operation that fills the table; one that does nothing without one."""
        from regrad.ops.control import no_op

        return no_op() if self._table is None else self._table.initializer

    init = initializer

    def size(self, name=None):
        """Returns the number of words and buckets, an int64 scalar."""
        with self._scope(name, "Size"):
            known = constant(0, dtypes.int64) if self._table is None else self._table.size()
            return add(known, constant(self._buckets, dtypes.int64))

    def lookup(self, keys, name=None):
        """Returns the numbers, int64, of `keys`, a tensor or SparseTensor, in the same form.

        Raises:
          TypeError: keys of another dtype.
        """
        sparse = isinstance(keys, SparseTensor)
        given = self._as_keys(keys.values if sparse else keys)
        if given.dtype.is_integer:
            given = cast(given, dtypes.int64)
        table = self._table
        if not self._buckets:
            found = table.lookup(given, name=name)
        else:
            with self._scope(name, "Lookup"):
                text = as_string(given) if given.dtype.is_integer else given
                if self._hasher.hasher == "fasthash":
                    found = string_to_hash_bucket_fast(text, self._buckets, name="hash_bucket")
                else:
                    found = string_to_hash_bucket_strong(text, self._buckets, self._hasher.key, name="hash_bucket")
                if table is not None:
                    ids, offset = table.lookup(given), table.size()
                    found = where(not_equal(ids, table.default_value), ids, add(found, offset))
        return SparseTensor(keys.indices, found, keys.dense_shape) if sparse else found


class StaticVocabularyTable(IdTableWithHashBuckets):
    """Numbers of words: those an initializer gives, and for any other word one of `num_oov_buckets` behind them.

    Args:
      initializer: of string or integer keys and of int64 values, or None.
      num_oov_buckets: at least 1.
      lookup_key_dtype: of what is looked up; the initializer's keys by default.
    """

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None, experimental_is_anonymous=False):
        if num_oov_buckets <= 0:
            raise ValueError(f"`num_oov_buckets` must be > 0; use StaticHashTable. Received: {num_oov_buckets}.")
        table = None
        if initializer is not None:
            if lookup_key_dtype is None:
                lookup_key_dtype = initializer.key_dtype
            if initializer.value_dtype is not dtypes.int64:
                raise TypeError(f"Invalid `value_dtype`, expected int64 but got {initializer.value_dtype.name}.")
            table = StaticHashTable(initializer, -1)
        super().__init__(table, num_oov_buckets, FastHashSpec, name, lookup_key_dtype)


# -- tables in one call -----------------------------------------------------------------------------------


def index_table_from_tensor(vocabulary_list=None, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec,
                            dtype=dtypes.string, name=None, mapping=None):
    """Returns a table of each element of a vector to its place.

        table = tf.contrib.lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
        ids = table.lookup(tf.constant(["b", "q"]))  # after tf.tables_initializer(): [1, 2]

    Args:
      vocabulary_list: vector of strings or integers; `mapping` is its older name.
      num_oov_buckets: how many numbers behind those others are hashed to.
      default_value: the number of others where there are no buckets.

    Raises:
      ValueError: no list, `dtype` is of another kind than the list's, or fewer than 0 buckets.
      TypeError: `dtype` is neither an integer type nor string.
    """
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` must be specified.")
    if num_oov_buckets < 0:
        raise ValueError(f"`num_oov_buckets` must be greater or equal than 0, got {num_oov_buckets}.")
    dtype = as_dtype(dtype)
    if not (dtype.is_integer or dtype is dtypes.string):
        raise TypeError("`dtype` must either be integer or string.")
    with get_default_graph().name_scope(name or "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Invalid `dtype`: Expected {'integer' if dtype.is_integer else 'non-integer'}, got "
                             f"{keys.dtype.name}.")
        if keys.dtype is not dtype and not dtype.is_integer:
            raise ValueError(f"Invalid `dtype`: Expected {dtype.name}, got {keys.dtype.name}.")
        values = cast(range_of(size(keys)), dtypes.int64)
        with get_default_graph().name_scope("hash_table"):
            keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            table = StaticHashTable(KeyValueTensorInitializer(keys, values, name="table_init"), default_value)
            return _with_buckets(table, num_oov_buckets, hasher_spec, dtype)


def index_table_from_file(vocabulary_file=None, num_oov_buckets=0, vocab_size=None, default_value=-1, hasher_spec=FastHashSpec,
                          key_dtype=dtypes.string, name=None, key_column_index=TextFileIndex.WHOLE_LINE,
                          value_column_index=TextFileIndex.LINE_NUMBER, delimiter="\t"):
    """Returns a table of each line of a text file to its number, counted from 0.

    Args:
      vocab_size: how many lines count; all by default.
      others: as in `index_table_from_tensor` and `TextFileInitializer`.

    Raises:
      ValueError: no file is named, fewer than 0 buckets, or `vocab_size` is below 1.
      TypeError: `key_dtype` is neither an integer type nor string.
    """
    if not hasattr(vocabulary_file, "dtype") and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size} for vocabulary_file: {vocabulary_file}.")
    key_dtype = as_dtype(key_dtype)
    if not (key_dtype.is_integer or key_dtype is dtypes.string):
        raise TypeError("Dtype for `keys` should be either integer or string.")
    with get_default_graph().name_scope(name or "string_to_index"), get_default_graph().name_scope("hash_table"):
        own = dtypes.int64 if key_dtype.is_integer else key_dtype
        table = StaticHashTable(TextFileIdTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size,
                                                           delimiter, "table_init", own), default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype)


def _with_buckets(table, n, hasher_spec, key_dtype):
    return IdTableWithHashBuckets(table, n, hasher_spec, table.name, key_dtype) if n else table


def index_to_string_table_from_tensor(vocabulary_list=None, default_value="UNK", name=None, mapping=None):
    """Returns a table of places in a vector of strings, int64, to what stands there.

    Args:
      vocabulary_list: the vector; `mapping` is its older name.
      default_value: the string of other numbers.
    """
    vocabulary_list = mapping if vocabulary_list is None else vocabulary_list
    if vocabulary_list is None:
        raise ValueError("`vocabulary_list` argument must be specified.")
    with get_default_graph().name_scope(name or "index_to_string"):
        words = convert_to_tensor(vocabulary_list, dtype=dtypes.string)
        numbers = cast(range_of(size(words)), dtypes.int64)
        return StaticHashTable(KeyValueTensorInitializer(numbers, words, dtypes.int64, dtypes.string, name="table_init"),
                               default_value)


def index_to_string_table_from_file(vocabulary_file, vocab_size=None, default_value="UNK", name=None,
                                    key_column_index=TextFileIndex.LINE_NUMBER, value_column_index=TextFileIndex.WHOLE_LINE,
                                    delimiter="\t"):
    """Returns a table of line numbers, int64, to the lines of a text file; arguments as of `index_table_from_file`."""
    if not hasattr(vocabulary_file, "dtype") and not vocabulary_file:
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"`vocab_size` must be greater than 0, got {vocab_size}.")
    with get_default_graph().name_scope(name or "index_to_string"):
        return StaticHashTable(TextFileStringTableInitializer(vocabulary_file, key_column_index, value_column_index, vocab_size,
                                                              delimiter, "table_init"), default_value)


def string_to_index(tensor, mapping, default_value=-1, name=None):
    """Returns the places of strings in the vector `mapping`: `index_table_from_tensor(...).lookup(tensor)`."""
    return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(tensor)


def index_to_string(tensor, mapping, default_value="UNK", name=None):
    """Returns what stands in the vector `mapping` at places: `index_to_string_table_from_tensor(...).lookup(tensor)`."""
    return index_to_string_table_from_tensor(mapping, default_value, name).lookup(tensor)
