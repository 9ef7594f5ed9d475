"""Rows for `regrad/ops/norm.py`."""

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import ShapeError
from regrad.ops import norm
from regrad.ops.array import placeholder
from tests.cases import Bad, Case, Edge


def _axes(x, data_format):
    return tuple(i for i, c in enumerate(data_format) if c != "C")


def _broad(v, data_format):
    return np.reshape(v, [-1 if c == "C" else 1 for c in data_format])


def ref_train(x, scale, offset, data_format="NHWC", epsilon=1e-3):
    """Returns y, mean, unbiased variance, mean, variance of the batch."""
    axes = _axes(x, data_format)
    n = np.prod([x.shape[a] for a in axes])
    mean, variance = x.mean(axes), x.var(axes)
    y = (x - _broad(mean, data_format)) / np.sqrt(_broad(variance, data_format) + epsilon)
    return (y * _broad(scale, data_format) + _broad(offset, data_format), mean, variance * n / max(n - 1, 1))


def ref_infer(x, scale, offset, mean, variance, data_format="NHWC", epsilon=1e-3):
    y = (x - _broad(mean, data_format)) / np.sqrt(_broad(variance, data_format) + epsilon)
    return y * _broad(scale, data_format) + _broad(offset, data_format), mean, variance


def _train(x, scale, offset, **kwargs):
    return norm.fused_batch_norm(x, scale, offset, **kwargs)


def _infer(x, scale, offset, mean, variance, **kwargs):
    return norm.fused_batch_norm(x, scale, offset, mean, variance, is_training=False, **kwargs)


def ref_bn_grad(dy, x, scale, mean, variance, training, epsilon=1e-3):
    inverse = 1 / np.sqrt(variance + epsilon)
    xhat = (x - mean) * inverse
    dscale, doffset = np.sum(dy * xhat, (0, 1, 2)), np.sum(dy, (0, 1, 2))
    n = dy.size / dy.shape[-1]
    dx = dy - doffset / n - xhat * dscale / n if training else dy
    return dx * scale * inverse, dscale, doffset, np.zeros(0), np.zeros(0)


def ref_batch_normalization(x, m, v, beta, gamma, eps):
    return (x - m) / np.sqrt(v + eps) * gamma + beta


def ref_lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    s = np.zeros_like(x)
    for c in range(x.shape[-1]):
        s[..., c] = np.sum(x[..., max(c - depth_radius, 0):c + depth_radius + 1] ** 2, -1)
    return x / (bias + alpha * s) ** beta


def ref_weighted(x, w, axes, keep_dims=False):
    w = np.broadcast_to(w, x.shape)
    total = w.sum(axes, keepdims=True)
    mean = (w * x).sum(axes, keepdims=True) / total
    variance = (w * (x - mean) ** 2).sum(axes, keepdims=True) / total
    return (mean, variance) if keep_dims else (mean.squeeze(axes), variance.squeeze(axes))


def ref_moments(x, axes, keep_dims=False):
    axes = tuple(axes)
    return x.mean(axes, keepdims=keep_dims), x.var(axes, keepdims=keep_dims)


POSITIVE = np.array([0.5, 2.0, 1.2])
V3 = {"epsilon": 1e-3, "data_format": "NHWC"}

CASES = [
    Case("FusedBatchNormV3", _train, ref_train, ((2, 3, 2, 3), (3,), (3,)), order=3, dtypes=("float32",)),
    Case("FusedBatchNormV3", _train, ref_train, ((2, 3, 2, 4), (3,), (3,)), {"data_format": "NCHW"},
         note="NCHW"),
    Case("FusedBatchNormV3", _train, ref_train, ((2, 2, 2, 2, 3), (3,), (3,)), {"data_format": "NDHWC"},
         note="NDHWC"),
    Case("FusedBatchNormV3", _train, ref_train, ((1, 1, 1, 3), (3,), (3,)), note="one element"),
    Case("FusedBatchNormV3", _infer, ref_infer, ((2, 3, 2, 3), (3,), (3,), (3,), POSITIVE),
         note="given moments"),
    Case("FusedBatchNormV3", _infer, ref_infer, ((2, 3, 2, 2), (3,), (3,), (3,), POSITIVE),
         {"data_format": "NCHW", "epsilon": 0.1}, note="given moments, NCHW"),
    Case("FusedBatchNormV3", lambda x, s, o, m,
         v: norm.fused_batch_norm(x, s, o, m, v, exponential_avg_factor=0.25), lambda x, s, o, m,
         v: (ref_train(x, s, o)[0], 0.75 * m + 0.25 * ref_train(x, s, o)[1],
                                0.75 * v + 0.25 * ref_train(x, s, o)[2]),
         ((2, 3, 2, 3), (3,), (3,), (3,), POSITIVE), note="running moments"),
    Case("FusedBatchNorm", lambda x, s, o: norm.fusedbatchnorm_op(x, s, o, np.zeros(3), np.ones(3))[:3],
         ref_train, ((2, 3, 2, 3), (3,), (3,)), dtypes=()),
    Case("FusedBatchNormV2", lambda x, s, o: norm.fusedbatchnormv2_op(x, s, o, np.zeros(3), np.ones(3))[:3],
         ref_train, ((2, 3, 2, 3), (3,), (3,)), dtypes=()),
    Case("FusedBatchNormV3", lambda x, s, o: norm.fused_batch_norm(x, s, o)[0],
         lambda x, s, o: ref_train(x, s, o)[0], (np.ones((2, 2, 2, 3)), (3,), (3,)),
         note="constant channels"),
    Case("Rsqrt", lambda x, m, v, o, s: norm.batch_normalization(x, m, v, o, s, 1e-3),
         lambda x, m, v, o, s: ref_batch_normalization(x, m, v, o, s, 1e-3),
         ((4, 3), (3,), POSITIVE, (3,), (3,))),
    Case("Rsqrt", lambda x, m, v: norm.batch_normalization(x, m, v, None, None, 1e-3),
         lambda x, m, v: ref_batch_normalization(x, m, v, 0, 1, 1e-3), ((4, 3), (3,), POSITIVE),
         note="neither"),
    Case("Rsqrt", lambda x, m, v, o, s: norm.batch_norm_with_global_normalization(x, m, v, o, s, 1e-3, False),
         lambda x, m, v, o, s: ref_batch_normalization(x, m, v, o, 1, 1e-3),
         ((4, 3), (3,), POSITIVE, (3,), (3,)), note="global"),

    # -- moments
    Case("SquaredDifference", norm.moments, ref_moments, ((4, 3, 2),), {"axes": [0, 2]}, order=3,
         unknown=False),
    Case("SquaredDifference", norm.moments, ref_moments, ((4, 3),), {"axes": [1], "keep_dims": True},
         note="keep",
         dtypes=("float16", "float32")),
    Case("SquaredDifference", lambda x, w, axes, **k: norm.weighted_moments(x, axes, w, **k), ref_weighted,
         ((4, 3), np.random.RandomState(2).rand(4, 1)), {"axes": (0,)}, unknown=False, note="weighted"),
    Case("SquaredDifference", lambda x, w, axes, **k: norm.weighted_moments(x, axes, w, **k), ref_weighted,
         ((4, 3), np.random.RandomState(2).rand(4, 3)), {"axes": (1,), "keep_dims": True},
         note="weighted, keep"),
    Case("Square", lambda x: norm.normalize_moments(*norm.sufficient_statistics(x, [0, 1])),
         lambda x: ref_moments(x, (0, 1)), ((4, 3, 2),), note="statistics"),
    Case("SquaredDifference", lambda x,
         s: norm.normalize_moments(*norm.sufficient_statistics(x, [0], shift=s)), lambda x,
         s: ref_moments(x, (0,)), ((4, 3), (3,)), wrt=(0,), note="statistics, shift"),
    Case("Maximum", norm.l2_normalize, lambda x, axis: x / np.sqrt((x**2).sum(axis, keepdims=True)),
         ((4, 3),), {"axis": 1}, order=3, low=0.5),
    Case("Maximum", lambda x: norm.l2_normalize(x, dim=[0, 1]), lambda x: x / np.sqrt((x**2).sum()),
         ((4, 3),), low=0.5, note="all"),
    Edge("Maximum", lambda x: norm.l2_normalize(x, 0), ([0.0, 0.0],), ([1e6, 1e6],), note="zero"),

    # -- local response normalisation
    Case("LRN", norm.local_response_normalization, ref_lrn, ((1, 2, 3, 7),),
         {"depth_radius": 2, "bias": 1.5, "alpha": 0.7, "beta": 0.75}, order=3,
         dtypes=("float16", "float32")),
    Case("LRN", norm.lrn, ref_lrn, ((1, 2, 2, 3),), note="radius above channels"),

    Bad("FusedBatchNormV3", lambda: _train(_x(2, 3, 2, 3), np.ones(4, "f"), np.ones(3, "f")), ShapeError,
        r"numbers of channels \[3\] and \[4\]"),
    Bad("FusedBatchNormV3", lambda: _train(_x(2, 3), np.ones(3, "f"), np.ones(3, "f")), ValueError,
        "data_format must be one"),
    Bad("FusedBatchNormV3", lambda: norm.fused_batch_norm(_x(2, 3, 2, 3), np.ones(3, "f"), np.ones(3, "f"),
                                                          is_training=False),
        ValueError, "must be a 1D tensor when `is_training` is False"),
    Bad("LRN", lambda: norm.lrn(_x(2, 3)), ShapeError, "4-dimensional"),
    Bad("SquaredDifference", lambda: norm.moments(_x(2, 3), [0], keep_dims=True, keepdims=True), ValueError,
        "Cannot specify both"),
]


def _x(*dims):
    return placeholder(dtypes.float32, list(dims))


for _name, _op in (("FusedBatchNormGrad", norm.fusedbatchnormgrad_op),
                   ("FusedBatchNormGradV2", norm.fusedbatchnormgradv2_op),
                   ("FusedBatchNormGradV3", lambda *a,
                    **k: norm.fusedbatchnormgradv3_op(*a, np.zeros(0), **k))):
    for _training in (True, False):
        CASES.append(Case(_name, lambda dy, x, s, m, v, training,
                          op=_op: op(dy, x, s, m, v, is_training=training, **V3)[:3], lambda *a,
                          training: ref_bn_grad(*a, training)[:3],
                          ((2, 3, 2, 3), (2, 3, 2, 3), (3,), (3,), POSITIVE), {"training": _training},
                          dtypes=(), note="training" if _training else "given"))
CASES.append(Case("LRNGrad", norm.lrngrad_op, None, ((1, 2, 2, 5), (1, 2, 2, 5), (1, 2, 2, 5)),
                  {"depth_radius": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.6}))
