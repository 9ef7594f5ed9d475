"""Rows for `regrad/ops/fractional.py`. Where the ratio is an integer the regions are equal; others are
given.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import ShapeError
from regrad.ops import fractional
from regrad.ops.array import placeholder
from tests.cases import Bad, Case, Edge

ROWS, COLUMNS = np.array([0, 2, 3, 5, 7]), np.array([0, 1, 3, 6])
SHAPE, OUT = (2, 7, 6, 2), (2, 4, 3, 2)


def _regions(overlapping):
    for i in range(len(ROWS) - 1):
        for j in range(len(COLUMNS) - 1):
            rows = range(ROWS[i], min(ROWS[i + 1] + overlapping, SHAPE[1]))
            columns = range(COLUMNS[j], min(COLUMNS[j + 1] + overlapping, SHAPE[2]))
            yield i, j, [(r, c) for r in rows for c in columns]


def _pooled(f, x, overlapping):
    y = np.zeros(OUT)
    for i, j, region in _regions(overlapping):
        y[:, i, j] = f(np.stack([x[:, r, c] for r, c in region]))
    return y


def _first(x, region, n, k):
    return max(region, key=lambda at: x[n, at[0], at[1], k])


def ref_max_grad(x, y, dy, *_, overlapping=False):
    dx = np.zeros(SHAPE)
    for i, j, region in _regions(overlapping):
        for n, k in np.ndindex(SHAPE[0], SHAPE[3]):
            dx[(n, *_first(x, region, n, k), k)] += dy[n, i, j, k]
    return dx


def ref_max_grad_grad(x, g, *_, overlapping=False):
    out = np.zeros(OUT)
    for i, j, region in _regions(overlapping):
        for n, k in np.ndindex(SHAPE[0], SHAPE[3]):
            out[n, i, j, k] = g[(n, *_first(x, region, n, k), k)]
    return out


def ref_avg_grad(dy, *_, overlapping=False):
    dx = np.zeros(SHAPE)
    for i, j, region in _regions(overlapping):
        for r, c in region:
            dx[:, r, c] += dy[:, i, j] / len(region)
    return dx


def _tiles(x):
    return x.reshape(2, 2, 2, 2, 3, 1)


X = np.random.RandomState(5).permutation(int(np.prod(SHAPE))).reshape(SHAPE) / 7.0
SQUARE = np.random.RandomState(5).permutation(48).reshape(2, 4, 6, 1) / 7.0
RATIO = {"pooling_ratio": [1.0, 2.0, 3.0, 1.0]}


def _x(*dims):
    return placeholder(dtypes.float32, list(dims))


CASES = [
    Case("FractionalMaxPool", lambda x, **k: fractional.fractional_max_pool(x, **k).output,
         lambda x, **_: _tiles(x).max((2, 4)), (SQUARE,), RATIO),
    Case("FractionalMaxPool", lambda x, **k: fractional.fractional_max_pool(x, **k)[1:],
         lambda x, **_: (np.array([0, 2, 4]), np.array([0, 3, 6])), (SQUARE,),
         {**RATIO, "pseudo_random": True}, wrt=(),
         note="borders"),
    Case("FractionalAvgPool", lambda x, **k: fractional.fractional_avg_pool(x, **k).output,
         lambda x, **_: _tiles(x).mean((2, 4)), (SQUARE,), RATIO),
    Edge("FractionalMaxPool", lambda x: fractional.fractional_max_pool(x, [1, 2, 2, 1]).output,
         (np.ones((1, 2, 2, 1)),), (np.array([1.0, 0, 0, 0]).reshape(1, 2, 2, 1),), note="ties"),
    Bad("FractionalMaxPool", lambda: fractional.fractional_max_pool(_x(1, 4, 4, 1), [2, 1, 1, 1]), ValueError,
        "batch nor channel"),
    Bad("FractionalMaxPool", lambda: fractional.fractional_max_pool(_x(1, 4, 4, 1), [1, 5, 1, 1]), ShapeError,
        "smaller than"),
    Bad("FractionalAvgPool", lambda: fractional.fractional_avg_pool(_x(1, 4, 4, 1), [1, 2, 2, 1],
                                                                    deterministic=True), ValueError,
        "should be non-zero"),
]
for _overlapping in (False, True):
    _kwargs = {"overlapping": _overlapping}
    _note = "overlapping" if _overlapping else "apart"
    CASES += [
        Case("FractionalMaxPoolGrad", fractional.fractionalmaxpoolgrad_op, ref_max_grad,
             (X, _pooled(lambda e: e.max(0), X, _overlapping), OUT, ROWS, COLUMNS), _kwargs, jax=False,
             note=_note),
        Case("FractionalMaxPoolGradGrad", fractional.fractionalmaxpoolgradgrad_op, ref_max_grad_grad,
             (X, SHAPE, ROWS, COLUMNS), _kwargs, jax=False, note=_note),
        Case("FractionalAvgPoolGrad", lambda dy, r, c,
             **k: fractional.fractionalavgpoolgrad_op(list(SHAPE), dy, r, c, **k), ref_avg_grad,
             (OUT, ROWS, COLUMNS), _kwargs, note=_note),
        Case("FractionalAvgPoolGiven", fractional.fractionalavgpoolgiven_op,
             lambda x, r, c, overlapping: _pooled(lambda e: e.mean(0), x, overlapping),
             (SHAPE, ROWS, COLUMNS), _kwargs, note=_note),
    ]
