"""Rows for `regrad/ops/lookup.py`: words and numbers in tables, and what becomes of those that a table lacks."""

import functools
import os
import tempfile

import numpy as np

import regrad as tf
from regrad.ops import lookup
from tests.cases import Bad, Steps

WORDS = np.array([[b"a", b"zz"], [b"c", b"b"]], object)
SEEN = np.array([b"b", b"b", b"d"], object)
NUMBERS = np.array([11, 12, -3, 11])


def static(keys=("a", "b", "c"), values=(5, 6, 7), default=-1, key=tf.string, value=tf.int64):
    """Returns a StaticHashTable."""
    keys, values = tf.constant(list(keys), key), tf.constant(list(values), value)
    return lookup.StaticHashTable(lookup.KeyValueTensorInitializer(keys, values), tf.constant(default, value))


def asked(op_type, table, *inputs, note=""):
    """A row: before the initializer, after it, after it once more; size and export, without their order."""
    def build(*keys):
        made = table()
        found = [made.lookup(k) for k in keys]
        exported = [tf.shape(x) for x in made.export()] if hasattr(made, "export") else made.size()
        return [found, made.size(), tf.tables_initializer(), found, tf.tables_initializer(), [found, made.size()], exported]

    return Steps(op_type, build, inputs=inputs, note=note)


def dtypes_row(key, value):
    kinds = {tf.string: ["x", "y"], tf.bool: [True, False]}
    keys, values = kinds.get(key, [3, 4]), kinds.get(value, [7, 9])
    given = np.array([k.encode() if key is tf.string else k for k in keys[::-1]], object if key is tf.string else key.as_numpy_dtype)
    return asked("HashTableV2", lambda: static(keys, values, values[0], key, value), given, note=f"{key.name}-{value.name}")


@functools.cache
def folder():
    """A folder of vocabularies, until the process ends."""
    made = tempfile.TemporaryDirectory()
    for name, text in (("words", "a\nb\r\nc\nd\n"), ("columns", "a\t5\tx\nb\t7\ty\nc\t9\tz"), ("twice", "a\nb\na\n"), ("empty", ""),
                       ("gap", "a\n\nb\n"), ("floats", "a 1.5\nb 2\n")):
        with open(os.path.join(made.name, name), "w", newline="") as file:
            file.write(text)
    return made


def from_file(name, *inputs, note="", function=lookup.index_table_from_file, **more):
    return asked("InitializeTableFromTextFileV2", lambda: function(os.path.join(folder().name, name), **more), *inputs,
                 note=note or name)


def of_columns(name, *inputs, note, key=tf.string, value=tf.int64, columns=(0, 1), default=-1, **more):
    def table():
        filled = lookup.TextFileInitializer(os.path.join(folder().name, name), key, columns[0], value, columns[1], **more)
        return lookup.StaticHashTable(filled, default)

    return asked("InitializeTableFromTextFileV2", table, *inputs, note=note)


def filled_by(keys, values):
    table = static()
    handle = table.resource_handle
    return [lookup.initializetablev2_op(handle, keys, values), table.lookup(keys), table.size()]


CASES = [
    asked("HashTableV2", static, WORDS),
    asked("HashTableV2", lambda: static(value=tf.float32, default=0.5), WORDS, note="floats"),
    *(dtypes_row(k, v) for k, v in ((tf.int32, tf.int32), (tf.int32, tf.string), (tf.int64, tf.float32), (tf.int64, tf.float64),
                                    (tf.string, tf.bool), (tf.string, tf.string), (tf.string, tf.int32), (tf.int32, tf.float32))),
    Steps("InitializeTableV2", filled_by, inputs=(np.array([b"q", b"r"], object), np.array([3, 4]))),
    Steps("LookupTableImportV2", lambda k: [
        (t := lookup.index_table_from_tensor(tf.constant(["a", "b", "a"]))).lookup(k), tf.tables_initializer(), t.lookup(k)],
        inputs=(SEEN,), note="one key twice"),
    asked("LookupTableImportV2", lambda: lookup.index_table_from_tensor(["a", "b", "c"], default_value=9), WORDS, note="index"),
    asked("LookupTableFindV2", lambda: lookup.index_table_from_tensor(["a", "b", "c"], num_oov_buckets=7), WORDS),
    asked("LookupTableFindV2", lambda: lookup.index_table_from_tensor([11, 12], num_oov_buckets=5, dtype=tf.int32),
          NUMBERS.astype(np.int32), note="numbers"),
    asked("LookupTableFindV2", lambda: lookup.IdTableWithHashBuckets(static(values=(0, 1, 2)), 9, lookup.StrongHashSpec((3, 4))), WORDS,
          note="strong"),
    asked("LookupTableFindV2", lambda: lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(
        ["a", "b"], [0, 1], tf.string, tf.int64), 3), WORDS, note="vocabulary"),
    asked("LookupTableFindV2", lambda: lookup.index_to_string_table_from_tensor(["x", "y"], default_value="?"), np.array([[1, 0, 5]]),
          note="strings"),
    Steps("HashTableV2", lambda k: [tf.tables_initializer(), tf.while_loop(
        lambda i, x: i < 3, lambda i, x: (i + 1, x + TABLES[-1].lookup(k)), [0, tf.zeros_like(TABLES.append(static()) or k, tf.int64)])[1],
        tf.cond(tf.constant(True), lambda: TABLES[-1].lookup(k), lambda: tf.constant([1], tf.int64))], inputs=(SEEN,), note="in bodies"),
    from_file("words", WORDS),
    from_file("words", WORDS, note="with buckets", num_oov_buckets=4),
    from_file("words", WORDS, note="two", vocab_size=2),
    from_file("words", WORDS, note="too many", vocab_size=9),
    from_file("words", NUMBERS, note="back", function=lookup.index_to_string_table_from_file, default_value="?"),
    from_file("words", NUMBERS, note="no numbers", key_dtype=tf.int64),
    from_file("none", WORDS),
    from_file("twice", WORDS),
    from_file("empty", WORDS),
    from_file("gap", WORDS),
    of_columns("columns", WORDS, note="columns"),
    of_columns("columns", WORDS, note="too few columns", columns=(0, 4)),
    of_columns("columns", WORDS, note="no number", columns=(0, 2)),
    of_columns("columns", WORDS, note="word columns", columns=(2, 0), value=tf.string, default="?"),
    of_columns("columns", np.array([5, 9, 1]), note="numbers", columns=(1, -1), key=tf.int64),
    of_columns("columns", np.array([5, 9, 0]), note="lines", columns=(-1, -2), key=tf.int64, value=tf.string, default="?"),
    of_columns("floats", WORDS, note="floats", value=tf.float32, delimiter=" ", default=-1.0),
    Bad("LookupTableFindV2", lambda: static().lookup(tf.constant([1])), TypeError, "Dtype of argument `keys` must be string"),
    Bad("LookupTableFindV2", lambda: lookup.IdTableWithHashBuckets(None, 0), ValueError, "must be > 0 if no `table`"),
    Bad("LookupTableFindV2", lambda: static().lookup(tf.constant(["a"])), tf.errors.FailedPreconditionError,
        r"Table not initialized. Run tf.tables_initializer\(\)", run=True),
    Bad("LookupTableImportV2", lambda: lookup.KeyValueTensorInitializer(["a", "b"], [1]) and static(values=(1, 2)), ValueError,
        r"keys of shape \[3\] and values of shape \[2\]"),
    Bad("HashTableV2", lambda: static([1.0], [1], key=tf.float32), tf.errors.InvalidArgumentError, "integers or strings, not float32"),
    Bad("HashTableV2", lambda: lookup.index_table_from_tensor(), ValueError, "`vocabulary_list` must be specified"),
    Bad("HashTableV2", lambda: lookup.index_table_from_tensor(["a"], num_oov_buckets=-1), ValueError, "greater or equal than 0"),
    Bad("HashTableV2", lambda: lookup.index_table_from_tensor([1.0], dtype=tf.float32), TypeError, "must either be integer or string"),
    Bad("HashTableV2", lambda: lookup.index_table_from_tensor(["a"], dtype=tf.int64), ValueError, "Expected integer, got string"),
    Bad("HashTableV2", lambda: lookup.index_table_from_file(""), ValueError, "must be specified and must not be empty"),
    Bad("HashTableV2", lambda: lookup.index_table_from_file("x", vocab_size=0), ValueError, "must be greater than 0, got 0"),
    Bad("HashTableV2", lambda: lookup.index_table_from_file("x", key_column_index=-1), ValueError, "must be int64"),
    Bad("HashTableV2", lambda: lookup.StaticVocabularyTable(None, 0), ValueError, "`num_oov_buckets` must be > 0"),
]
TABLES: list = []  # what a body looks up in, made before it


# -- tables that are inserted into --------------------------------------------------------------------


def mutable(key=tf.string, value=tf.int64, default=-1):
    return lookup.MutableHashTable(key, value, default)


def dense(key=tf.int64, value=tf.int64, default=-1, empty=0, deleted=-9):
    return lookup.DenseHashTable(key, value, default, empty, deleted)


def changes(op_type, table, keys, values, more=lambda table, keys, values: [], note=""):
    def build(k, v):
        made = table()
        return [made.size(), made.lookup(k), made.insert(k, v), [made.lookup(k), made.size()], made.insert(k[:1], v[1:2]),
                made.lookup(k), made.remove(k[1:]), [made.lookup(k), made.size()], *more(made, k, v)]

    return Steps(op_type, build, inputs=(keys, values), note=note)


def exported(table, keys, values):
    return [[tf.sort(x) for x in table.export()]]


THREE = np.array([11, 12, 13])
NAMES = np.array([b"x", b"y", b"z"], object)
ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
CASES += [
    changes("MutableHashTableV2", mutable, NAMES, THREE),
    changes("MutableHashTableV2", lambda: mutable(tf.int64, tf.float32, 0.5), THREE, np.float32([1, 2, 3]), note="numbers"),
    changes("MutableHashTableV2", lambda: mutable(tf.int64, tf.string, "?"), THREE, NAMES, note="words"),
    changes("LookupTableInsertV2", mutable, np.array([b"x", b"x", b"y"], object), THREE, note="one twice"),
    changes("LookupTableRemoveV2", mutable, np.array([b"x", b"y", b"y"], object), THREE),
    changes("LookupTableSizeV2", mutable, NAMES, THREE),
    changes("LookupTableExportV2", lambda: mutable(tf.int64), THREE, THREE + 5, exported),
    changes("LookupTableFindV2", mutable, NAMES, THREE, lambda t, k, v: [t.lookup(k, v * 2)], note="defaults of their own"),
    changes("LookupTableImportV2", mutable, NAMES, THREE, lambda t, k, v: [
        lookup.lookuptableimportv2_op(t.resource_handle, k[:1], v[:1]), [t.lookup(k), t.size()]], note="mutable"),
    changes("MutableHashTableOfTensorsV2", lambda: mutable(value=tf.float32, default=[0.0, -1.0]), NAMES, ROWS),
    changes("MutableHashTableOfTensorsV2", lambda: mutable(value=tf.float32, default=[0.0, -1.0]), NAMES, ROWS[:, :1], note="too short"),
    changes("MutableDenseHashTableV2", dense, THREE, THREE * 2),
    changes("MutableDenseHashTableV2", lambda: dense(tf.string, tf.float32, [1.0, 2.0], "", "$"), NAMES, ROWS, note="words"),
    changes("MutableDenseHashTableV2", dense, np.array([1, 0, 2]), THREE, note="the empty key"),
    changes("MutableDenseHashTableV2", dense, np.array([1, 2, -9]), THREE, note="the deleted key"),
    changes("MutableDenseHashTableV2", lambda: dense(deleted=0), THREE, THREE, note="equal keys"),
    Bad("LookupTableInsertV2", lambda: mutable().insert(tf.constant(["a", "b"]), tf.constant([1], tf.int64)),
        (ValueError, tf.errors.InvalidArgumentError), r"keys of shape \[2\] and values of shape \[1\]"),
    Bad("LookupTableInsertV2", lambda: mutable().insert(tf.constant([1]), tf.constant([1], tf.int64)), ValueError,
        "requested dtype string for Tensor with dtype int32"),
    Bad("LookupTableRemoveV2", lambda: mutable().remove(tf.constant([1])), TypeError, "must be string, received: int32"),
]
