"""Rows for `regrad/ops/sparse_cross.py`."""

import numpy as np

import regrad as tf
from tests.cases import Bad, once


def text(x):
    return np.array(x, object)


AT = np.array([[0, 0], [0, 1], [1, 0], [3, 0]])
WORDS, NUMBERS, DENSE = text([b"a", b"", b"longer than that", b"b"]), np.array([5, -3, 0, 2**40]), np.array([[1], [2], [3], [4]])
TEXTS = text([[b"x", b"y"]] * 4)


def crossed(function, *more):
    """Crosses two sparse matrices of four rows, of which the third is empty, and dense ones."""
    def build(words, numbers, *dense):
        made = [tf.SparseTensor(AT, values, [4, 2]) for values in (words, numbers)]
        result = function([*made, *dense], *more)
        return [result.indices, result.values, result.dense_shape]

    return build


CASES = [
    once("SparseCross", crossed(tf.sparse.cross), WORDS, NUMBERS),
    once("SparseCross", crossed(tf.sparse.cross), WORDS, NUMBERS, DENSE, TEXTS, note="dense"),
    once("SparseCross", crossed(tf.sparse.cross_hashed), WORDS, NUMBERS, note="hashed"),
    once("SparseCross", crossed(tf.sparse.cross_hashed, 100), WORDS, NUMBERS, DENSE, TEXTS, note="hashed dense"),
    once("SparseCross", crossed(tf.sparse.cross_hashed, 1000, 7), WORDS, NUMBERS, TEXTS, note="key"),
    once("SparseCross", lambda x: list(parts_of(tf.sparse.cross([x, x]))), TEXTS, note="only dense"),
    Bad("SparseCross", lambda: tf.sparse.cross([tf.constant([[1.0]])]), TypeError, "made of strings and integers"),
    Bad("SparseCross", lambda: tf.sparse.cross(tf.constant([["a"]])), TypeError, "Inputs must be a list"),
]


def parts_of(x):
    return x.indices, x.values, x.dense_shape
