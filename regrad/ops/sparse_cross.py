"""Crosses of sparse features: for each row, every choice of one value per feature, joined or hashed."""

import itertools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.opdef import Spec
from regrad.ops import math
from regrad.ops.hashing import farmhash
from regrad.ops.hosted import host_op
from regrad.ops.sparse import SparseTensor, SparseTensorValue

_M = (1 << 64) - 1
_MUL = 0xC6A4A7935BD1E995
HASH_KEY = 0xDECAFCAFFE  # what TensorFlow begins with where nothing else is said


def _mixed(x):
    return x ^ x >> 47


def _joined(a, b):
    """Returns one hash of two: a step of MurmurHash64A, as TensorFlow's FingerprintCat64."""
    result = a ^ _MUL
    result ^= _mixed(b * _MUL & _M) * _MUL & _M
    result = result * _MUL & _M
    return _mixed(_mixed(result) * _MUL & _M)


def _rows(indices, values, count):
    """Returns the values of each row, in order."""
    found = [[] for _ in range(count)]
    for row, value in zip(indices[:, 0].tolist(), values.tolist()):
        found[row].append(value)
    return found


def _hashed(choice, num_buckets, hash_key):
    result = hash_key
    for value in choice:
        result = _joined(result, farmhash(value) if isinstance(value, bytes) else value & _M)
    return result % (num_buckets or 2**63 - 1)


def _lower(b, indices, values, shapes, dense_inputs, *, hashed_output, num_buckets, hash_key, out_type, internal_type):
    count = int(shapes[0][0]) if shapes else len(dense_inputs[0])
    features = [_rows(i, v, count) for i, v in zip(indices, values)] + [dense.tolist() for dense in dense_inputs]
    rows = [list(itertools.product(*(feature[row] for feature in features))) for row in range(count)]
    at = [(row, i) for row, choices in enumerate(rows) for i in range(len(choices))]
    if hashed_output:
        made = np.array([_hashed(c, num_buckets, hash_key) for choices in rows for c in choices], np.int64)
    else:
        made = np.empty(len(at), object)
        made[:] = [b"_X_".join(v if isinstance(v, bytes) else b"%d" % v for v in c) for choices in rows for c in choices]
    return np.array(at, np.int64).reshape(-1, 2), made, np.array([count, max(map(len, rows), default=0)], np.int64)


def _infer(indices, values, shapes, dense_inputs, *, out_type, **_):
    return [Spec((None, 2), dtypes.int64), Spec((None,), out_type), Spec((2,), dtypes.int64)]


sparsecross_op = host_op("SparseCross", "indices: [I], values: [V], shapes: [S], dense_inputs: [D]", _infer, _lower,
                         {"hashed_output": False, "num_buckets": 0, "hash_key": HASH_KEY, "out_type": dtypes.string,
                          "internal_type": dtypes.string})


def sparse_cross(inputs, name=None):
    """Returns the SparseTensor [rows, n] of each row's crosses, strings joined by "_X_".

    Args:
      inputs: list of matrices of strings or integers, Tensors and SparseTensors, of equally many rows. The values of the last
        one vary fastest; a row without values of one of them has no cross. Sparse ones come first.

    Raises:
      TypeError: values of another dtype.
    """
    return _cross(inputs, name or "SparseCross", hashed_output=False, out_type=dtypes.string)


def sparse_cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
    """Returns `sparse_cross(inputs)` with int64 hashes in the place of strings, in [0, num_buckets) if `num_buckets` is not 0.

    Args:
      hash_key: where hashes begin; TensorFlow's number by default.
    """
    return _cross(inputs, name or "SparseCross", hashed_output=True, out_type=dtypes.int64, num_buckets=int(num_buckets),
                  hash_key=HASH_KEY if hash_key is None else int(hash_key))


def _cross(inputs, name, **attrs):
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Inputs must be a list, got {inputs!r}.")
    sparse = [SparseTensor.from_value(x) for x in inputs if isinstance(x, (SparseTensor, SparseTensorValue))]
    dense = [convert_to_tensor(x) for x in inputs if not isinstance(x, (SparseTensor, SparseTensorValue))]
    for x in [*sparse, *dense]:
        if x.dtype is not dtypes.string and not x.dtype.is_integer:
            raise TypeError(f"Crosses are made of strings and integers, got {x!r}.")
    values, dense = ([x if x.dtype is dtypes.string else math.cast(x, dtypes.int64) for x in part]
                     for part in ([s.values for s in sparse], dense))
    return SparseTensor(*sparsecross_op([s.indices for s in sparse], values, [s.dense_shape for s in sparse], dense, name=name,
                                        internal_type=dtypes.int64 if attrs["hashed_output"] else dtypes.string, **attrs))
