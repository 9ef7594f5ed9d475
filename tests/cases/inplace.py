"""Tensors with some rows, or a slice, replaced."""

import numpy as np

import regrad as tf
from regrad.core.errors import ShapeError
from regrad.ops import inplace
from tests.cases import Bad, Case

ALL = ("float16", "float32", "complex64")

ROWS = np.array([2, 0], np.int32)
TWICE = np.array([1, 1], np.int32)


def rows(method):
    def reference(x, i, v):
        out = np.array(x)
        if method == "set":
            out[i] = v
        else:
            getattr(np, method).at(out, i, v)
        return out

    return reference


def sliced(x, v):
    out = np.array(x)
    out[1:, ::-2] = v
    return out


def update(x, v):
    return inplace.tensorstridedsliceupdate_op(x, [1, 0], [0, 0], [1, -2], v, end_mask=3, begin_mask=2)


CASES = [
    Case("InplaceUpdate", inplace.inplaceupdate_op, rows("set"), ((3, 2), ROWS, (2, 2)), dtypes=ALL),
    Case("InplaceUpdate", inplace.inplaceupdate_op, rows("set"), ((3, 2), np.zeros(0, np.int32), (0, 2)), note="nothing"),
    *(Case(f"Inplace{name}", op, rows(method), ((3, 2), i, (2, 2)), dtypes=ALL if i is ROWS else (), note=str(i))
      for name, op, method in (("Add", inplace.inplaceadd_op, "add"), ("Sub", inplace.inplacesub_op, "subtract"))
      for i in (ROWS, TWICE)),
    Case("DeepCopy", inplace.deepcopy_op, np.array, ((2, 3),), dtypes=ALL),
    Case("TensorStridedSliceUpdate", update, sliced, ((3, 4), (2, 2)), dtypes=ALL),
    Case("TensorStridedSliceUpdate", update, sliced, ((3, 4), (2,)), note="broadcast"),
    Case("TensorStridedSliceUpdate", update, sliced, ((3, 4), ()), note="scalar"),
    Case("InplaceAdd", lambda x, v: inplace.alias_inplace_add(x, 1, v), lambda x, v: x + [[0], [1], [0]] * v, ((3, 2), (2,)),
         note="one row"),
    Case("InplaceUpdate", lambda x, v: inplace.alias_inplace_update(x, None, v), lambda x, v: v + 0 * x, ((3, 2), (3, 2)),
         unknown=False, note="all"),
    Bad("InplaceAdd", lambda: inplace.inplaceadd_op(tf.zeros([3, 2]), [0, 1], tf.zeros([3, 2])), ShapeError, "a row of x for each"),
    Bad("InplaceSub", lambda: inplace.inplacesub_op(tf.zeros([3, 2]), 0, tf.zeros([1, 2])), ShapeError, "must be a vector"),
    Bad("InplaceUpdate", lambda: inplace.inplaceupdate_op(tf.zeros([]), [0], tf.zeros([1])), ShapeError, "must have rows"),
    Bad("TensorStridedSliceUpdate", lambda: update(tf.zeros([3, 4]), tf.zeros([3, 3])), ShapeError, "does not fit the slice"),
]
