"""Rows for `regrad/ops/ragged.py`."""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.errors import BadValue, InvalidArgumentError
from regrad.ops import ragged
from tests.cases import Bad, Case

ROWS, INNER = np.array([0, 2, 2, 3], np.int64), np.array([0, 2, 3], np.int64)


def _sparse(*splits):
    return lambda v: ragged.raggedtensortosparse_op(list(splits), v)


def _gather(*splits):
    def build(values, indices, rank=None):
        out = ragged.raggedgather_op([convert_to_tensor(s) for s in splits], values, indices, OUTPUT_RAGGED_RANK=rank)
        return [*out[0], out[1]] if isinstance(out[0], list) else list(out)  # TensorFlow gives the splits as a list

    return build


def _int(*rows):
    return tuple(np.array(r) for r in rows)


CASES = [
    Case("RaggedTensorToSparse", _sparse(ROWS), lambda v: (np.array([[0, 0], [0, 1], [2, 0]]), v, np.array([3, 2])), ((3,),)),
    Case("RaggedTensorToSparse", _sparse(INNER, ROWS),
         lambda v: (np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0]]), v, np.array([2, 2, 2])), ((3,),), note="two axes"),
    Case("RaggedTensorToSparse", _sparse(ROWS),
         lambda v: (np.array([[i, j, k] for i, j in ((0, 0), (0, 1), (2, 0)) for k in (0, 1)]), v.ravel(), np.array([3, 2, 2])),
         ((3, 2),), note="dense inside"),
    Case("RaggedTensorToSparse", _sparse(np.zeros(2, np.int64)), lambda v: (np.zeros((0, 2), int), v, np.array([1, 0])), ((0,),),
         note="empty"),
    Bad("RaggedTensorToSparse", lambda: _sparse(np.array([0, 2, 1, 3]))(np.ones(3))[0], InvalidArgumentError, "non decreasing",
        run=True),
    Bad("RaggedTensorToSparse", lambda: _sparse(np.array([0, 2, 2, 4]))(np.ones(3))[0], InvalidArgumentError, "Final value",
        run=True),
    Bad("RaggedTensorToSparse", lambda: _sparse(np.array([1, 2, 3]))(np.ones(3))[0], InvalidArgumentError, "must be 0", run=True),
    Case("RaggedGather", lambda v, i: _gather(ROWS)(v, i, 1), lambda v, i: (np.array([0, 1, 3, 5]), v[[2, 0, 1, 0, 1]]), ((3,), np.array([2, 0, 0]))),
    Case("RaggedGather", lambda v, i: _gather(ROWS)(v, i, 2), lambda v, i: (*_int([0, 2, 4], [0, 1, 3, 3, 3]), v[[2, 0, 1]]),
         ((3, 2), np.array([[2, 0], [1, 1]])), note="a matrix of rows"),
    Case("RaggedGather", lambda v, i: _gather(INNER, ROWS)(v, i, 2), lambda v, i: (*_int([0, 1, 3], [0, 1, 3, 3]), v[[2, 0, 1]]),
         ((3,), np.array([1, 0])), note="two axes"),
    Case("RaggedGather", lambda v, i: _gather(ROWS)(v, i, 0), lambda v, i: v[2:], ((3,), np.array(2)), note="one row"),
    Bad("RaggedGather", lambda: _gather(ROWS)(np.ones(3), np.array([3]))[0], InvalidArgumentError, "not in", run=True),
    Bad("RaggedGather", lambda: ragged.raggedgather_op([ROWS], np.ones(3), [0], OUTPUT_RAGGED_RANK=2), BadValue,
        "OUTPUT_RAGGED_RANK"),
]
