"""Rows for `regrad/ops/pool.py`. The reference walks over the windows one by one."""

import itertools

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import ShapeError
from regrad.ops import pool
from regrad.ops.array import placeholder
from tests.cases import Bad, Case, Edge


def _geometry(shape, ksize, strides, padding):
    """Yields (output index, [input indices of its window in row-major order])."""
    outs, los = [], []
    for size, k, s in zip(shape, ksize, strides):
        out = -(-size // s) if padding == "SAME" else (size - k) // s + 1
        outs.append(out)
        los.append(max((out - 1) * s + k - size, 0) // 2 if padding == "SAME" else 0)
    for at in itertools.product(*map(range, outs)):
        ranges = [range(max(a * s - lo, 0), min(a * s - lo + k, size))
                  for a, s, lo, k, size in zip(at, strides, los, ksize, shape)]
        yield tuple(outs), at, list(itertools.product(*ranges))


def _full(value, rank, data_format):
    value = list(np.ravel(value))
    if len(value) == 1:
        value *= rank - 2
    if len(value) == rank - 2:
        value = [1, 1, *value] if str(data_format).startswith("NC") else [1, *value, 1]
    return [int(v) for v in value]


def _each(f, x, ksize, strides, padding, data_format=None):
    ksize, strides = (_full(v, x.ndim, data_format) for v in (ksize, strides))
    y = None
    for outs, at, window in _geometry(x.shape, ksize, strides, padding):
        y = np.zeros(outs, x.dtype) if y is None else y
        y[at] = f([x[i] for i in window])
    return y


def ref_max(x, ksize, strides, padding, data_format=None):
    return _each(max, x, ksize, strides, padding, data_format)


def ref_avg(x, ksize, strides, padding, data_format=None):
    return _each(np.mean, x, ksize, strides, padding, data_format)


def ref_max_grad(x, y, dy, ksize, strides, padding, data_format=None):
    ksize, strides = (_full(v, x.ndim, data_format) for v in (ksize, strides))
    dx = np.zeros_like(x)
    for _, at, window in _geometry(x.shape, ksize, strides, padding):
        dx[max(window, key=lambda i: x[i])] += dy[at]
    return dx


def ref_max_grad_grad(x, y, g, ksize, strides, padding, data_format=None):
    out = np.zeros_like(y)
    for _, at, window in _geometry(x.shape, _full(ksize, x.ndim, data_format),
                                   _full(strides, x.ndim, data_format), padding):
        out[at] = g[max(window, key=lambda i: x[i])]
    return out


def ref_avg_grad(dy, shape, ksize, strides, padding, data_format=None):
    dx = np.zeros(shape, dy.dtype)
    for _, at, window in _geometry(shape, _full(ksize, len(shape), data_format),
                                   _full(strides, len(shape), data_format), padding):
        for i in window:
            dx[i] += dy[at] / len(window)
    return dx


def ref_argmax(x, ksize, strides, padding, include_batch_in_index=False, **_):
    index = np.arange(x.size).reshape(x.shape) % (x.size if include_batch_in_index else x[0].size)
    y = ref_max(x, ksize, strides, padding)
    return y, ref_max_grad_grad(x, y, index, ksize, strides, padding).astype(np.int64)


def ref_pool(x, window_shape, pooling_type, padding, dilation_rate=1, strides=1, **_):
    """Dilated windows; with a dilation, SAME pads with zeros that count."""
    n = len(window_shape)
    rates, strides = np.broadcast_to(dilation_rate, n), np.broadcast_to(strides, n)
    f = {"MAX": np.max, "AVG": np.mean}[pooling_type]
    if max(rates) == 1:
        return (ref_max if pooling_type == "MAX" else ref_avg)(x, window_shape, strides, padding)
    pads = [((k - 1) * r // 2, (k - 1) * r - (k - 1) * r // 2) if padding == "SAME" else (0, 0) for k,
            r in zip(window_shape, rates)]
    x = np.pad(x, [(0, 0), *pads, (0, 0)])
    outs = [x.shape[i + 1] - (window_shape[i] - 1) * rates[i] for i in range(n)]
    y = np.zeros((x.shape[0], *outs, x.shape[-1]))
    for at in itertools.product(*map(range, outs)):
        index = tuple(slice(a, a + (k - 1) * r + 1, r) for a, k, r in zip(at, window_shape, rates))
        y[(slice(None), *at)] = f(x[(slice(None), *index)], axis=tuple(range(1, n + 1)))
    return y


def _k(ksize, strides, padding="VALID", **more):
    return {"ksize": ksize, "strides": strides, "padding": padding, **more}


def _distinct(*shape):
    """Returns distinct numbers in random order, further apart than any difference's step."""
    return np.random.RandomState(5).permutation(int(np.prod(shape))).reshape(shape) / 7.0


def _x(*dims):
    return placeholder(dtypes.float32, list(dims))


CASES = []
for _note, _shape, _kwargs in [
    ("2x2", (2, 4, 6, 3), _k(2, 2)),
    ("2x2 rest", (1, 5, 7, 2), _k([1, 2, 2, 1], [1, 2, 2, 1])),
    ("2x2 same", (1, 5, 7, 2), _k(2, 2, "SAME")),
    ("overlap", (1, 6, 7, 2), _k(3, 2, "SAME")),
    ("overlap valid", (1, 6, 7, 2), _k([3, 2], [2, 1])),
    ("stride above window", (1, 6, 7, 2), _k(2, 3)),
    ("whole image", (2, 6, 5, 2), _k([6, 5], 1)),
    ("whole large image", (2, 12, 9, 2), _k([12, 9], 1)),
    ("large tiles", (1, 10, 12, 1), _k([5, 6], [5, 6])),
    ("channels", (1, 2, 2, 4), _k([1, 1, 1, 2], [1, 1, 1, 2])),
    ("NCHW", (1, 2, 5, 4), _k(2, [1, 1, 2, 1], "SAME", data_format="NCHW")),
    ("1x1", (1, 2, 3, 2), _k(1, 1)),
    ("no image", (0, 4, 4, 2), _k(2, 2)),
]:
    # The gradients' gradients have rows of their own; two geometries show that the three fit together.
    _order = 2 if _note in ("overlap", "NCHW") else 1
    CASES.append(Case("MaxPool", pool.max_pool, ref_max if 0 not in _shape else None, (_distinct(*_shape),),
                      _kwargs, order=_order, note=_note))
    if _note != "channels":
        CASES.append(Case("AvgPool", pool.avg_pool, ref_avg if 0 not in _shape else None, (_shape,), _kwargs,
                          order=_order, note=_note))

GRAD = _k((1, 3, 2, 1), (1, 2, 1, 1), "SAME", data_format="NHWC")
GRAD3 = _k((1, 2, 2, 2, 1), (1, 1, 2, 1, 1), "SAME", data_format="NDHWC")
X = _distinct(1, 5, 4, 2)
X3 = _distinct(1, 3, 4, 3, 1)

CASES += [
    Case("MaxPool", pool.max_pool, ref_max, (np.arange(32, dtype=np.int32).reshape(2, 4, 4, 1) % 7,),
         _k(2, 2), note="int"),
    Case("MaxPool", pool.max_pool, ref_max, (_distinct(1, 4, 4, 1),), _k(2, 2), order=3,
         dtypes=("float16", "bfloat16", "float32"),
         note="dtypes"),
    Case("AvgPool", pool.avg_pool, ref_avg, ((1, 4, 4, 1),), _k(2, 2), order=3,
         dtypes=("float16", "bfloat16", "float32"), note="dtypes"),
    Case("MaxPoolGrad", pool.max_pool_grad, ref_max_grad,
         (X, ref_max(X, *(GRAD[k] for k in ("ksize", "strides", "padding"))), (1, 3, 4, 2)),
         GRAD, jax=False),
    Case("MaxPoolGradGrad", pool.maxpoolgradgrad_op, ref_max_grad_grad,
         (X, ref_max(X, *(GRAD[k] for k in ("ksize", "strides", "padding"))), (1, 5, 4, 2)),
         GRAD, jax=False),
    Case("MaxPool3D", pool.max_pool3d, ref_max, (X3,), _k(2, [1, 1, 2, 1, 1], "SAME"), order=3),
    Case("MaxPool3D", pool.max_pool3d, ref_max, (_distinct(1, 2, 3, 4, 2),), _k(2, 1, data_format="NCDHW"),
         note="NCDHW"),
    Case("MaxPool3DGrad", pool.maxpool3dgrad_op, ref_max_grad,
         (X3, ref_max(X3, *(GRAD3[k] for k in ("ksize", "strides", "padding"))), (1, 3, 2, 3, 1)),
         GRAD3, jax=False),
    Case("MaxPool3DGradGrad", pool.maxpool3dgradgrad_op, ref_max_grad_grad,
         (X3, ref_max(X3, *(GRAD3[k] for k in ("ksize", "strides", "padding"))), (1, 3, 4, 3, 1)), GRAD3,
         jax=False),
    Case("AvgPool3D", pool.avg_pool3d, ref_avg, ((1, 3, 4, 3, 2),), _k(2, [1, 1, 2, 1, 1], "SAME"), order=3),
    Case("AvgPoolGrad", lambda dy, shape, **k: pool.avg_pool_grad(list(shape), dy, **k), ref_avg_grad,
         ((1, 3, 4, 2),), {"shape": (1, 5, 4, 2), **GRAD}),
    Case("AvgPool3DGrad", lambda dy, shape, **k: pool.avgpool3dgrad_op(list(shape), dy, **k), ref_avg_grad,
         ((1, 3, 2, 3, 1),), {"shape": (1, 3, 4, 3, 1), **GRAD3}),
    Case("MaxPoolV2", lambda x: pool.maxpoolv2_op(x, [1, 3, 2, 1], [1, 2, 1, 1], padding="SAME"),
         lambda x: ref_max(x, [3, 2], [2, 1], "SAME"), (X,), order=3, unknown=False),
    Case("MaxPoolWithArgmax", pool.max_pool_with_argmax, ref_argmax, (_distinct(2, 4, 5, 2),),
         _k(2, 2, "SAME"), order=3),
    Case("MaxPoolWithArgmax", pool.max_pool_with_argmax, ref_argmax, (_distinct(2, 4, 4, 2),),
         _k(3, 1, include_batch_in_index=True), note="with batch"),
    Case("MaxPool", pool.max_pool1d, lambda x,
         **k: ref_max(x[:, None], [1, 1, 3, 1], [1, 1, 2, 1], "SAME")[:, 0], (_distinct(2, 7, 2),),
         _k(3, 2, "SAME"), unknown=False, note="1-D"),
    Case("AvgPool", pool.avg_pool1d, lambda x,
         **k: ref_avg(x[:, :, None], [1, 1, 1, 3], [1, 1, 1, 2], "VALID")[:, :, 0], ((2, 3, 7),),
         _k(3, 2, data_format="NCW"), unknown=False, note="1-D NCW"),
    Case("MaxPool3D", pool.max_pool_v2, ref_max, (X3,), _k(2, 2), unknown=False, note="any rank"),
    Case("AvgPool", pool.avg_pool_v2, ref_avg, ((1, 4, 4, 2),), _k(2, 2), unknown=False, note="any rank"),
    Case("MaxPool", pool.pool, ref_pool, (_distinct(1, 5, 6, 2),),
         {"window_shape": [3, 2], "pooling_type": "MAX", "padding": "SAME",
         "strides": [2, 1]}, unknown=False, note="pool"),
    Case("AvgPool3D", pool.pool, ref_pool, ((1, 3, 3, 4, 2),),
         {"window_shape": [2, 1, 2], "pooling_type": "AVG", "padding": "VALID"},
         unknown=False, note="pool"),
    Case("AvgPool", pool.pool, ref_pool, ((1, 6, 7, 2),),
         {"window_shape": [2, 3], "pooling_type": "AVG", "padding": "SAME",
         "dilation_rate": [2, 2]}, unknown=False, note="dilated"),
    Case("MaxPool", pool.pool, ref_pool, (_distinct(1, 7, 6, 1) + 1,),
         {"window_shape": [2, 2], "pooling_type": "MAX", "padding": "VALID",
         "dilation_rate": [3, 2]}, unknown=False, note="dilated"),

    # The first of the largest takes all, in row-major order; windows that overlap each choose.
    Edge("MaxPool", lambda x: pool.max_pool(x, 2, 2, "VALID"), (np.ones((1, 2, 4, 1)),),
         ([[[[1.0], [0], [1], [0]], [[0], [0], [0], [0]]]],), note="ties"),
    Edge("MaxPool", lambda x: pool.max_pool(x, 2, 1, "VALID"),
         (np.array([[1.0, 2, 2], [2, 2, 0], [0, 0, 0]]).reshape(1, 3, 3, 1),),
         (np.array([[0.0, 2, 0], [1, 1, 0], [0, 0, 0]]).reshape(1, 3, 3, 1),), note="ties that overlap"),
    Edge("MaxPool3D", lambda x: pool.max_pool3d(x, 2, 2, "VALID"), (np.zeros((1, 2, 2, 2, 1)),),
         (np.array([1.0, 0, 0, 0, 0, 0, 0, 0]).reshape(1, 2, 2, 2, 1),), note="ties"),
    Edge("MaxPool", lambda x: pool.max_pool(x, 2, 2, "SAME"), (np.full((1, 3, 1, 1), -np.inf),),
         (np.array([1.0, 0, 1]).reshape(1, 3, 1, 1),), note="padding is never the largest"),
    Bad("MaxPool", lambda: pool.pool(np.ones((1, 5, 5, 2)), [2, 2], "MAX", "VALID", strides=[1]), ValueError,
        "strides must be 2 positive ints"),
    Bad("MaxPool", lambda: pool.max_pool(_x(1, 4, 4), 2, 2, "SAME"), ShapeError,
        "must be rank 4 but is rank 3"),
    Bad("MaxPool", lambda: pool.max_pool(_x(1, 2, 4, 1), 3, 1, "VALID"), ShapeError,
        "Negative dimension.*3 from 2"),
    Bad("MaxPool", lambda: pool.max_pool(_x(1, 4, 4, 1), [2, 1, 1, 1], 1, "VALID"), ValueError, "batch dimension"),
    Bad("MaxPool", lambda: pool.max_pool(_x(1, 4, 4, 1), 2, 2, [[0, 0]] * 4), ValueError,
        "padding must be 'SAME' or 'VALID'"),
    Bad("MaxPool", lambda: pool.max_pool(_x(1, 4, 4, 1), [2, 2, 2, 2, 2], 2, "SAME"), ValueError,
        "ksize should be of length"),
    Bad("AvgPool", lambda: pool.avg_pool(np.ones((1, 2, 2, 1), "i"), 2, 2, "SAME"), TypeError,
        "not in list of allowed"),
    Bad("MaxPoolGrad", lambda: pool.max_pool_grad(_x(1, 4, 4, 1), _x(1, 2, 2, 1), _x(1, 3, 2, 1), 2, 2,
                                                  "SAME"), ShapeError,
        r"grad is float32\[1,3,2,1\].*\[1,2,2,1\]"),
    Bad("MaxPoolWithArgmax", lambda: pool.max_pool_with_argmax(_x(1, 4, 4, 1), 2, 2, "SAME", "NCHW"),
        ValueError, "not yet supported"),
    Bad("MaxPool", lambda: pool.pool(_x(1, 4, 4, 1), [2, 2], "MIN", "SAME"), ValueError, "pooling type"),
    Bad("MaxPool", lambda: pool.pool(_x(1, 4, 4, 1), [2, 2], "MAX", "SAME", strides=[3, 3]), ValueError,
        "strides > window_shape"),
    Bad("MaxPoolV2", lambda: pool.maxpoolv2_op(_x(1, 4, 4, 1), [1, 2, 2], [1, 1, 1, 1], padding="SAME"),
        ShapeError, "vectors of 4 sizes"),
]
for _name, _op, _last in (("MaxPoolGradV2", pool.maxpoolgradv2_op, (1, 3, 4, 2)),
                          ("MaxPoolGradGradV2", pool.maxpoolgradgradv2_op, (1, 5, 4, 2))):
    CASES.append(Case(_name, lambda x, y, g, op=_op: op(x, y, g, [1, 3, 2, 1], [1, 2, 1, 1], padding="SAME"),
                      lambda x, y, g, f=ref_max_grad if _name == "MaxPoolGradV2" else ref_max_grad_grad:
                      f(x, y, g, [3, 2], [2, 1], "SAME"),
                      (X, ref_max(X, [3, 2], [2, 1], "SAME"), _last), jax=False, unknown=False))
_ARGMAX = {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": "VALID"}
_Y, _AT = ref_argmax(_distinct(2, 4, 4, 1), 2, 2, "VALID")
CASES += [
    Case("MaxPoolGradWithArgmax", pool.maxpoolargmaxgrad_op, lambda x, dy, at,
         **k: ref_max_grad(x, None, dy, 2, 2, "VALID"),
         (_distinct(2, 4, 4, 1), (2, 2, 2, 1), _AT), _ARGMAX),
    Case("MaxPoolGradGradWithArgmax", pool.maxpoolargmaxgradgrad_op, lambda x, g, at,
         **k: ref_max_grad_grad(x, _Y, g, 2, 2, "VALID"),
         (_distinct(2, 4, 4, 1), (2, 4, 4, 1), _AT), _ARGMAX),
]
