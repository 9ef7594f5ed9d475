"""Rows for `regrad/ops/matmul.py`."""

import itertools

import numpy as np

from regrad.ops import matmul
from tests.cases import INEXACT, Bad, Case


def _shape(n, m, transposed, batch=()):
    return (*batch, m, n) if transposed else (*batch, n, m)


def _reference(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False):
    a = np.swapaxes(a, -1, -2) if transpose_a or adjoint_a else a
    b = np.swapaxes(b, -1, -2) if transpose_b or adjoint_b else b
    return np.matmul(np.conj(a) if adjoint_a else a, np.conj(b) if adjoint_b else b)


def _z(*shape):
    rng = np.random.RandomState(5)
    return rng.randn(*shape) + 1j * rng.randn(*shape)


FLAGS = list(itertools.product((False, True), (False, True)))

CASES = [
    *[Case("MatMul", matmul.matmul, _reference, (_shape(2, 3, ta), _shape(3, 4, tb)),
           {"transpose_a": ta, "transpose_b": tb}, dtypes=(*INEXACT, "int32"), note=f"{ta}-{tb}", unknown="rank")
      for ta, tb in FLAGS],
    *[Case("MatMul", matmul.matmul_op, lambda a, b, transpose_a, transpose_b: _reference(a, b, transpose_a, transpose_b),
           (_shape(2, 3, ta), _shape(3, 4, tb)), {"transpose_a": ta, "transpose_b": tb}, dtypes=(), note=f"op-{ta}-{tb}")
      for ta, tb in FLAGS],
    *[Case("MatMul", matmul.matmul, _reference, (_z(*_shape(2, 3, ta)), _z(*_shape(3, 2, tb))),
           {"adjoint_a": ta, "transpose_b": tb}, dtypes=("complex64",), note=f"complex-{ta}-{tb}", unknown="rank")
      for ta, tb in FLAGS],
    *[Case("BatchMatMulV2", matmul.matmul, _reference, (_shape(2, 3, ta, (2,)), _shape(3, 2, tb, (2,))),
           {"transpose_a": ta, "adjoint_b": tb}, dtypes=(*INEXACT, "int32"), note=f"batch-{ta}-{tb}", unknown="rank")
      for ta, tb in FLAGS],
    *[Case("BatchMatMulV2", matmul.batch_matmul, lambda x, y, adj_x, adj_y: _reference(x, y, False, False, adj_x, adj_y),
           (_shape(2, 3, ta, (2, 1)), _shape(3, 2, tb, (3,))), {"adj_x": ta, "adj_y": tb}, dtypes=(), note=f"broadcast-{ta}-{tb}")
      for ta, tb in FLAGS],
    *[Case("BatchMatMulV2", matmul.matmul, _reference, (_z(*_shape(2, 3, ta, (2,))), _z(*_shape(3, 2, tb, (1,)))),
           {"transpose_a": ta, "adjoint_b": tb}, dtypes=("complex64",), note=f"batch-complex-{ta}-{tb}", unknown="rank")
      for ta, tb in FLAGS],
    *[Case("BatchMatMulV2", matmul.batch_matmul, lambda x, y, adj_x, adj_y: _reference(x, y, False, False, adj_x, adj_y),
           (_shape(2, 20, ta, (2,)), _shape(20, 3, tb, (2,))), {"adj_x": ta, "adj_y": tb}, note=f"many terms {ta} {tb}")
      for ta, tb in FLAGS],
    Case("BatchMatMulV2", matmul.matmul, np.matmul, ((2, 3, 4), (4, 5)), note="one batched", unknown="rank"),
    Case("BatchMatMulV2", matmul.batch_matmul, np.matmul, ((2, 3), (3, 4)), {}, note="matrices"),
    Case("MatMul", matmul.matmul, np.matmul, ((2, 0), (0, 3)), dtypes=(), note="no inner size", unknown="rank"),
    Case("MatMul", matmul.matmul, np.matmul, ((0, 2), (2, 3)), dtypes=(), note="no rows", unknown="rank"),
    Case("MatMul", matmul.matmul, np.matmul, ((1, 1), (1, 1)), dtypes=(), note="one", unknown="rank"),
    Case("BatchMatMulV2", matmul.matmul, np.matmul, ((0, 2, 3), (1, 3, 2)), dtypes=(), note="no batch", unknown="rank"),
    Case("MatMul", matmul.matmul, np.matmul, (np.array([[np.inf, 1], [np.nan, 0]]), np.eye(2) + 1.0), derivatives=False,
         note="special", unknown="rank"),
    Bad("MatMul", lambda: matmul.matmul(np.zeros((2, 3)), np.zeros((2, 3))), ValueError, "Dimensions must be equal, but are 3 and 2"),
    Bad("MatMul", lambda: matmul.matmul_op(np.zeros((2, 3)), np.zeros(3), transpose_a=False), ValueError,
        "rank 2 but is rank 1"),
    Bad("MatMul", lambda: matmul.matmul(np.zeros((2, 3)), np.zeros((3, 2)), transpose_a=True, adjoint_a=True), ValueError,
        "Only one of transpose_a and adjoint_a"),
    Bad("MatMul", lambda: matmul.matmul(np.zeros((2, 3)), np.zeros((3, 2)), transpose_b=True, adjoint_b=True), ValueError,
        "Only one of transpose_b and adjoint_b"),
    Bad("MatMul", lambda: matmul.matmul(np.array([[True]]), np.array([[True]])), TypeError, "bool"),
    Bad("BatchMatMulV2", lambda: matmul.matmul(np.zeros((2, 2, 3)), np.zeros((3, 3, 2))), ValueError, "2 and 3"),
    Bad("BatchMatMulV2", lambda: matmul.matmul(np.zeros((2, 2, 3)), np.zeros(3)), ValueError, "at least rank 2"),
]
