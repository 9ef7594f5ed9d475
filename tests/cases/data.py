"""Rows for `regrad/data/iterator.py` (`tests/data` holds what datasets give) and for the storage of TensorArrays."""

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps

X = np.arange(6, dtype=np.float32).reshape(3, 2)
WORDS = np.array([b"a", b"", b"b\0"], object)
Dataset, Iterator = tf.data.Dataset, tf.data.Iterator


def given(dataset_of, *inputs, op_type="IteratorV2", note=""):
    """Elements one after the other, before the beginning, past the end, and from the beginning again."""
    def build(*tensors):
        iterator = tf.data.make_initializable_iterator(dataset_of(*tensors))
        following = iterator.get_next()
        return [following, iterator.initializer, *[following] * 4, iterator.initializer, following]

    return Steps(op_type, build, inputs=inputs, note=note)


def one_shot(dataset):
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    return [following] * 4


def several():
    """One iterator for two datasets, and two elements in one run."""
    first, second = Dataset.range(3), Dataset.from_tensor_slices(np.array([7, 8]))
    iterator = Iterator.from_structure(tf.int64, tf.TensorShape([]))
    following = iterator.get_next()
    return [iterator.make_initializer(first), following, iterator.make_initializer(second), *[following] * 3]


def by_handle():
    first, second = (tf.data.make_one_shot_iterator(Dataset.range(a, b)) for a, b in ((0, 2), (5, 7)))
    rows = []
    for iterator in (first, second, first):
        rows.append(Iterator.from_string_handle(iterator.string_handle(), tf.int64, tf.TensorShape([])).get_next())
    return [*rows, first.get_next(), second.get_next()]


def pair(x, words):
    return Dataset.from_tensor_slices({"x": x, "w": words})


def reduced(n):
    total = Dataset.range(n).reduce(np.int64(1), lambda state, i: state * 2 + i)
    last = Dataset.range(n).map(lambda i: (i, "w")).reduce((np.float32(0), ""), lambda state, e: (tf.cast(e[0], tf.float32), e[1]))
    return [total, last[0], last[1], total]


def single(x):
    found = tf.data.experimental.get_single_element(Dataset.from_tensor_slices((x, x + 1)))
    return [found[0], found[1], found[0]]


TYPES = ("float16", "bfloat16", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "bool", "complex64", "complex128")
CASES = [
    given(lambda x: Dataset.from_tensor_slices(x), X),
    given(lambda x: Dataset.from_tensor_slices(x).batch(2), X, note="batches"),
    given(lambda x: Dataset.from_tensor_slices(x), X[:0], note="empty"),
    *(given(lambda x: Dataset.from_tensor_slices(x), np.ones((2, 2), tf.as_dtype(d).as_numpy_dtype), op_type="IteratorGetNext",
            note=d) for d in TYPES),
    given(lambda x: Dataset.from_tensor_slices(x), WORDS, op_type="IteratorGetNext", note="string"),
    given(lambda x, w: Dataset.from_tensor_slices((x, w)), X, WORDS, op_type="IteratorGetNext", note="pairs"),
    Steps("MakeIterator", several),
    given(lambda x: Dataset.from_tensors(x).map(lambda v: v[::-1]).repeat(2), X, op_type="MakeIterator", note="map"),
    Steps("OneShotIterator", lambda: one_shot(Dataset.range(2))),
    Steps("ReduceDataset", reduced, inputs=(np.array(4),)),
    Steps("ReduceDataset", reduced, inputs=(np.array(0),), note="nothing"),
    Steps("DatasetToSingleElement", single, inputs=(X[:1],)),
    Steps("DatasetToSingleElement", single, inputs=(X[:0],), note="none"),
    Steps("DatasetToSingleElement", single, inputs=(X,), note="several"),
    Steps("OneShotIterator", lambda: one_shot(Dataset.from_tensor_slices(X).batch(2)), note="batches"),
    Steps("IteratorFromStringHandleV2", by_handle),
    Steps("IteratorToStringHandle", by_handle),
    Bad("MakeIterator", lambda: Iterator.from_structure(tf.int64, tf.TensorShape([])).make_initializer(
        Dataset.from_tensors(1.0)), TypeError, "Expected output types tf.int64 but got dataset with output types tf.float32"),
    Bad("MakeIterator", lambda: Iterator.from_structure(tf.int64, tf.TensorShape([])).make_initializer(
        Dataset.from_tensors(np.array([1]))), TypeError, r"compatible with TensorShape\(\[\]\)"),
    Bad("OneShotIterator", lambda: tf.data.make_one_shot_iterator(Dataset.from_tensors(tf.placeholder(tf.float32, []))),
        ValueError, "placeholder"),
    Bad("IteratorFromStringHandleV2", lambda: Iterator.from_string_handle(tf.constant("none"), tf.int64, []).get_next(),
        tf.errors.InvalidArgumentError, "no handle of an iterator", run=True),
]


# -- TensorArrays ------------------------------------------------------------------------------------------------
def written(dtype, **more):
    def build(x):
        made = tf.TensorArray(dtype, size=3, **more)
        filled = made.write(1, x[0]).write(0, x[1]).write(2, x[2])
        return [filled.stack(), [filled.read(1), filled.size()], made.size()]

    return build


CASES += [
    *(Steps("TensorArrayV3", written(tf.as_dtype(d)), inputs=(np.array([[0, 1], [2, 3], [1, 0]], tf.as_dtype(d).as_numpy_dtype),),
            note=d, compiled=d == "int32") for d in (*TYPES, "float32")),
    Steps("TensorArrayV3", written(tf.float32, element_shape=[2]), inputs=(X,), note="shape"),
    Steps("TensorArrayV3", written(tf.float32, infer_shape=False), inputs=(X,), note="no shape"),
    Steps("TensorArrayV3", lambda x: [tf.TensorArray(tf.float32, 0, dynamic_size=True).unstack(x).stack(),
                                      tf.TensorArray(tf.float32, 0, dynamic_size=True).write(1, x[0]).size()], inputs=(X,),
          note="grows"),
    Steps("TensorArrayV3", lambda x: [tf.TensorArray(tf.float32, 2).write(2, x[0]).size()], inputs=(X,), note="past the end"),
    Steps("TensorArrayV3", lambda x: [tf.TensorArray(tf.float32, 2, element_shape=[2]).write(-1, x[0]).size()], inputs=(X,),
          note="negative"),
    Bad("TensorArrayV3", lambda: tf.TensorArray(tf.float32, 2).write(0, tf.constant(1)), TypeError,
        "dtype is float32 but op is trying to write dtype int32"),
]
