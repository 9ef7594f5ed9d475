"""Rows for `regrad/ops/sets.py`: sets along the last axis, dense and sparse."""

import numpy as np

import regrad as tf
from tests.cases import Bad, once

raw = tf.raw_ops
A, B = np.array([[3, 1, 1], [4, 5, 6]]), np.array([[1, 9], [6, 4]])
WORDS_A, WORDS_B = np.array([[b"c", b"a", b"a"]], object), np.array([[b"a", b""]], object)
AT, VALUES, DIMS = np.array([[0, 0], [1, 0], [1, 1]]), np.array([3, 4, 4]), np.array([2, 2])
NONE = np.zeros((0, 2), np.int64)
OPERATIONS = ("intersection", "union", "a-b", "b-a")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")


def dense(kind="union"):
    return lambda a, b: raw.DenseToDenseSetOperation(set1=a, set2=b, set_operation=kind)


def mixed(kind="union", **more):
    return lambda a, i, v, s: raw.DenseToSparseSetOperation(set1=a, set2_indices=i, set2_values=v, set2_shape=s,
                                                            set_operation=kind, **more)


def sparse(kind="union", **more):
    return lambda i, v, s, j, w, t: raw.SparseToSparseSetOperation(
        set1_indices=i, set1_values=v, set1_shape=s, set2_indices=j, set2_values=w, set2_shape=t, set_operation=kind, **more)


def size(i, v, s, **more):
    return raw.SetSize(set_indices=i, set_values=v, set_shape=s, **more)


def elements(x):
    """The sparse form of a dense matrix, all of its elements."""
    return np.argwhere(np.ones(x.shape)), x.ravel(), np.array(x.shape)


CASES = [
    *(once("DenseToDenseSetOperation", dense(kind), A, B, note=kind) for kind in OPERATIONS),
    *(once("DenseToDenseSetOperation", dense(), A.astype(d), B.astype(d), note=d) for d in INTEGERS),
    once("DenseToDenseSetOperation", dense(), WORDS_A, WORDS_B, note="string"),
    once("DenseToDenseSetOperation", dense(), A[:, :0], B, note="empty row"),
    once("DenseToDenseSetOperation", dense("intersection"), A[:0], B[:0], note="no rows"),
    once("DenseToDenseSetOperation", dense("a-b"), A[None, :, None], B[None, :, None], note="rank 4"),
    *(once("DenseToSparseSetOperation", mixed(kind), A, AT, VALUES, DIMS, note=kind) for kind in OPERATIONS),
    *(once("DenseToSparseSetOperation", mixed(), A.astype(d), AT, VALUES.astype(d), DIMS, note=d) for d in INTEGERS),
    once("DenseToSparseSetOperation", mixed(), WORDS_A, *elements(WORDS_B), note="string"),
    once("DenseToSparseSetOperation", mixed("a-b"), A, NONE, VALUES[:0], DIMS, note="empty"),
    once("DenseToSparseSetOperation", mixed(), A, AT, VALUES, np.array([3, 2]), note="other groups"),
    once("DenseToSparseSetOperation", mixed(), A, AT[::-1].copy(), VALUES, DIMS, note="unsorted"),
    *(once("SparseToSparseSetOperation", sparse(kind), AT, VALUES, DIMS, *elements(B), note=kind) for kind in OPERATIONS),
    *(once("SparseToSparseSetOperation", sparse(), AT, VALUES.astype(d), DIMS, *elements(B.astype(d)), note=d)
      for d in INTEGERS),
    once("SparseToSparseSetOperation", sparse(), *elements(WORDS_A), *elements(WORDS_B), note="string"),
    once("SparseToSparseSetOperation", sparse("intersection"), NONE, VALUES[:0], DIMS, AT, VALUES, DIMS, note="empty"),
    once("SparseToSparseSetOperation", sparse(), AT, VALUES, DIMS, AT, VALUES, np.array([3, 2]), note="other groups"),
    once("SparseToSparseSetOperation", sparse(), AT, VALUES, DIMS, AT[::-1].copy(), VALUES, DIMS, note="unsorted"),
    once("SparseToSparseSetOperation", sparse("a-b", validate_indices=False), *elements(A), AT[::-1].copy(), VALUES, DIMS,
         note="unchecked"),
    once("SetSize", size, AT, VALUES, np.array([2, 1]), note="outside"),
    *(once("SetSize", size, AT, VALUES.astype(d), DIMS, note=d) for d in INTEGERS),
    once("SetSize", size, *elements(WORDS_A), note="string"),
    once("SetSize", size, NONE, VALUES[:0], DIMS, note="empty"),
    once("SetSize", size, np.array([[0, 1, 0], [0, 1, 1]]), np.array([2, 3]), np.array([2, 2, 2]), note="rank 3"),
    Bad("DenseToDenseSetOperation", lambda: tf.sets.set_union(tf.constant([1]), tf.constant([2])), ValueError,
        "sets are rows along the last axis of at least 2 axes"),
    Bad("DenseToDenseSetOperation", lambda: tf.sets.set_union(tf.constant([[1]]), tf.constant([[1], [2]])), ValueError,
        "all sizes but the last must be alike"),
    Bad("DenseToDenseSetOperation", lambda: tf.sets.set_union(tf.constant([[1.0]]), tf.constant([[1.0]])), TypeError,
        "invalid dtype float32"),
    Bad("SetSize", lambda: tf.sets.set_size(tf.constant([[1]])), TypeError, "Expected `SparseTensor`"),
]
