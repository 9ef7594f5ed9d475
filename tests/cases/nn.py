"""Rows for `regrad/ops/nn.py` and `regrad/nn/functions.py`."""

import numpy as np
import scipy.special

from regrad.core import dtypes
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.nn import functions
from regrad.ops import nn
from regrad.ops.array import placeholder
from tests.cases import Bad, Case, Edge

FLOATS = ("float16", "bfloat16", "float32")
INF, NAN = np.inf, np.nan

# Values on both sides of every kink, none within a difference's step of one.
SIGNED = np.array([[-3.0, -0.7, 0.4], [1.5, 5.5, 7.0]])
DY = np.array([[0.3, -1.2, 2.0], [0.7, 1.0, -0.4]])


def _elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def _selu(x):
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))


def _leaky(x, alpha=0.2):
    return np.where(x > 0, x, alpha * x)


def _softmax(x, axis=-1):
    return scipy.special.softmax(x, axis=axis)


def _xent(labels, logits, axis=-1):
    return -np.sum(labels * scipy.special.log_softmax(logits, axis=axis), axis=axis)


def _sparse_xent(labels, logits):
    return -np.take_along_axis(scipy.special.log_softmax(logits, axis=-1), labels[..., None], -1)[..., 0]


def _v2(labels, logits, **kwargs):
    return nn.softmax_cross_entropy_with_logits_v2(labels, logits, **kwargs)


def _sparse(labels, logits):
    return nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _sigmoid_xent(labels, logits):
    return functions.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _bias(x, b, data_format="NHWC"):
    return x + b.reshape((-1,) + (1,) * (x.ndim - 2)) if data_format.startswith("NC") else x + b


def _f32(x):
    return np.asarray(x, np.float32)


LABELS = scipy.special.softmax(np.random.RandomState(1).randn(4, 3), axis=-1)
CLASSES = np.array([2, 0, 1, 2], np.int32)
EXTREME = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, 1e4], [700.0, 710.0, -700.0], [0.0, 0.0, 0.0]])

CASES = [
    # -- activations and their gradients, as ops of their own
    Case("Relu", nn.relu, lambda x: np.maximum(x, 0), (SIGNED,), dtypes=FLOATS),
    Case("Relu", nn.relu, lambda x: np.maximum(x, 0), (np.array([-2, 0, 3], np.int32),), note="int"),
    Case("Relu", nn.relu, lambda x: np.maximum(x, 0), ((0, 3),), note="empty"),
    Case("Relu", nn.relu, lambda x: np.maximum(x, 0), (np.array([NAN, INF, -INF]),), derivatives=False,
         note="nan"),
    Case("ReluGrad", nn.relu_grad, lambda g, x: np.where(x > 0, g, 0), (DY, SIGNED), dtypes=FLOATS),
    Case("Relu6", nn.relu6, lambda x: np.clip(x, 0, 6), (SIGNED,), dtypes=FLOATS),
    Case("Relu6Grad", nn.relu6_grad, lambda g, x: g * ((x > 0) & (x < 6)), (DY, SIGNED), dtypes=FLOATS),
    Case("LeakyRelu", nn.leaky_relu, _leaky, (SIGNED,), dtypes=FLOATS),
    Case("LeakyRelu", nn.leaky_relu, _leaky, (SIGNED,), {"alpha": 1.5}, note="steep"),
    Case("LeakyRelu", nn.leaky_relu, _leaky, (np.array([-2, 0, 3], np.int32),), rtol=1e-7, note="int"),
    Case("LeakyReluGrad", nn.leaky_relu_grad, lambda g, x, alpha=0.2: g * np.where(x > 0, 1, alpha),
         (DY, SIGNED), {"alpha": 0.1}),
    Case("Select", lambda x, a: nn.leaky_relu(x, a), lambda x, a: _leaky(x, a), (SIGNED, np.array(0.25)),
         note="prelu"),
    Case("Elu", nn.elu, _elu, (SIGNED,), order=3, dtypes=FLOATS),
    Case("Elu", nn.elu, _elu, (np.array([-800.0, 800.0, -30.0]),), note="extreme"),
    Case("EluGrad", nn.elu_grad, lambda g, y: g * np.where(y < 0, y + 1, 1), (DY, _elu(SIGNED)),
         dtypes=FLOATS, order=3),
    Case("Selu", nn.selu, _selu, (SIGNED,), order=3, dtypes=FLOATS),
    Case("SeluGrad", nn.selu_grad, lambda g,
         y: g * np.where(y < 0, y + 1.7580993408473766, 1.0507009873554805), (DY, _selu(SIGNED)),
         dtypes=FLOATS),
    Case("Softplus", nn.softplus, lambda x: np.logaddexp(x, 0), (SIGNED,), order=3, dtypes=FLOATS),
    Case("Softplus", nn.softplus, lambda x: np.logaddexp(x, 0), (np.array([-900.0, 900.0, -40.0, 40.0]),),
         note="extreme"),
    Case("SoftplusGrad", nn.softplus_grad, lambda g, x: g * scipy.special.expit(x), (DY, SIGNED), order=3,
         dtypes=FLOATS),
    Case("Softsign", nn.softsign, lambda x: x / (1 + np.abs(x)), (SIGNED,), order=3, dtypes=FLOATS),
    Case("SoftsignGrad", nn.softsign_grad, lambda g, x: g / (1 + np.abs(x)) ** 2, (DY, SIGNED), order=3,
         dtypes=FLOATS),
    Case("Sigmoid", nn.swish, lambda x: x * scipy.special.expit(x), (SIGNED,), note="swish"),
    Case("Relu", nn.crelu, lambda x: np.maximum(np.concatenate([x, -x], -1), 0), (SIGNED,), note="crelu"),
    Edge("Relu", nn.relu, ([0.0, -0.0, 1.0, -1.0],), ([0.0, 0.0, 1.0, 0.0],), note="zero"),
    Edge("Relu6", nn.relu6, ([0.0, 6.0, 3.0, 7.0],), ([0.0, 0.0, 1.0, 0.0],), note="kinks"),
    Edge("Relu", nn.relu, ([1.0, -1.0],), ([INF, 0.0],), dy=[INF, INF], note="infinite gradient"),
    Edge("LeakyRelu", nn.leaky_relu, ([0.0, 1.0],), ([0.2, 1.0],), note="zero"),
    Edge("Elu", nn.elu, ([0.0, 800.0, -800.0],), ([1.0, 1.0, 0.0],), note="ends"),
    Edge("Selu", nn.selu, ([0.0, 900.0],), ([1.0507009873554805] * 2,), note="ends"),
    Edge("Softplus", nn.softplus, ([0.0, 900.0, -900.0],), ([0.5, 1.0, 0.0],), ([0.25, 0.0, 0.0],),
         note="ends"),
    Edge("Softsign", nn.softsign, ([0.0],), ([1.0],), note="zero"),
    Bad("ReluGrad", lambda: nn.relu_grad(np.ones((2, 3), "f"), np.ones((3, 2), "f")), ShapeError,
        "have one shape"),
    Bad("Elu", lambda: nn.elu(np.array([1, 2])), TypeError, "not in list of allowed values"),

    # -- bias
    Case("BiasAdd", nn.bias_add, _bias, ((2, 3), (3,)), dtypes=(*FLOATS, "complex64")),
    Case("BiasAdd", nn.bias_add, _bias, ((2, 3, 4, 5), (5,))),
    Case("BiasAdd", nn.bias_add, _bias, ((2, 3, 4, 5), (3,)), {"data_format": "NCHW"}, unknown=False,
         note="NCHW"),
    Case("BiasAdd", nn.bias_add, _bias, ((2, 3, 4), (3,)), {"data_format": "NCW"}, unknown=False, note="NCW"),
    Case("BiasAdd", nn.bias_add, _bias,
         (np.arange(6, dtype=np.int32).reshape(2, 3), np.array([1, 2, 3], np.int32)), note="int"),
    Case("BiasAdd", nn.bias_add, _bias, ((0, 3), (3,)), note="empty"),
    Case("BiasAddGrad", nn.bias_add_grad, lambda g, **k: g.sum((0, 1, 2)), ((2, 3, 4, 5),), dtypes=FLOATS),
    Case("BiasAddGrad", nn.bias_add_grad, lambda g, **k: g.sum((0, 2, 3)), ((2, 3, 4, 5),),
         {"data_format": "NCHW"},
         unknown=False, note="NCHW"),
    Bad("BiasAdd", lambda: nn.bias_add(np.ones((2, 3), "f"), np.ones(4, "f")), ShapeError,
        r"float32\[2,3\] has 3 channels.*float32\[4\]"),
    Bad("BiasAdd", lambda: nn.bias_add(np.ones((2, 3), "f"), np.ones((1, 3), "f")), ShapeError,
        "must be rank 1 but is rank 2 for bias"),
    Bad("BiasAdd", lambda: nn.bias_add(np.ones(3, "f"), np.ones(3, "f")), ShapeError, "at least rank 2"),
    Bad("BiasAdd", lambda: nn.bias_add(np.ones((2, 3), "f"), np.ones(3, "f"), "HWC"), ValueError,
        "data_format"),

    # -- softmax
    Case("Softmax", nn.softmax, _softmax, ((4, 3),), order=3, dtypes=FLOATS),
    Case("Softmax", nn.softmax, _softmax, ((3,),), note="vector"),
    Case("Softmax", nn.softmax, _softmax, ((2, 3, 4),), {"axis": 1}, unknown=False, note="axis"),
    Case("Softmax", nn.softmax, _softmax, (EXTREME,), note="extreme"),
    Case("Softmax", nn.softmax, _softmax, ((3, 1),), note="one class"),
    Case("Softmax", nn.softmax, lambda x: x, ((2, 0),), note="no class"),
    Case("LogSoftmax", nn.log_softmax, lambda x: scipy.special.log_softmax(x, -1), ((4, 3),), order=3,
         dtypes=FLOATS),
    Case("LogSoftmax", nn.log_softmax, lambda x, axis: scipy.special.log_softmax(x, axis), ((4, 3),),
         {"axis": 0},
         unknown=False, note="axis"),
    Case("LogSoftmax", nn.log_softmax, lambda x: scipy.special.log_softmax(x, -1), (EXTREME,),
         note="extreme"),
    Bad("Softmax", lambda: nn.softmax(np.float32(1.0)), ShapeError, "at least rank 1"),
    Bad("Softmax", lambda: nn.softmax(np.ones((2, 3), "f"), axis=2), InvalidArgumentError, "range"),
    Bad("Softmax", lambda: nn.softmax(np.ones((2, 3), "f"), axis=1, dim=1), ValueError,
        "both 'axis' and 'dim'"),

    # -- cross entropies
    Case("SoftmaxCrossEntropyWithLogits", _v2, _xent, (LABELS, (4, 3)), order=3),
    Case("SoftmaxCrossEntropyWithLogits", lambda x, z: nn.xent_op(x, z),
         lambda x, z: (_xent(z, x), _softmax(x) * z.sum(-1, keepdims=True) - z), ((4, 3), (4, 3)),
         note="both outputs"),
    Case("SoftmaxCrossEntropyWithLogits", lambda x, z: nn.xent_op(x, z),
         lambda x, z: (_xent(z, x), _softmax(x) * z.sum(-1, keepdims=True) - z), ((4, 3), (1, 3)),
         unknown=False, note="broadcast labels"),
    Case("SoftmaxCrossEntropyWithLogits", lambda x, z: nn.xent_op(x, z), lambda x, z: (_xent(z + 0 * x, x), _softmax(x) * 3 * z - z),
         ((4, 3), (4, 1)), unknown=False, note="one label for all classes"),
    Case("SoftmaxCrossEntropyWithLogits", _v2, _xent, (LABELS.reshape(2, 2, 3), (2, 2, 3)), note="rank 3"),
    Case("SoftmaxCrossEntropyWithLogits", _v2, _xent, ((2, 3, 4), (2, 3, 4)), {"axis": 1}, unknown=False,
         note="axis"),
    Case("SoftmaxCrossEntropyWithLogits", _v2, _xent, (LABELS, EXTREME), note="extreme"),
    Case("SoftmaxCrossEntropyWithLogits", _v2, lambda z, x: np.array([0.0, 0.0]),
         (np.array([[1.0, 0, 0], [0, 1, 0]]), np.array([[3.0, -INF, -INF], [-INF, 3.0, -INF]])), wrt=(),
         note="impossible class"),
    Case("SoftmaxCrossEntropyWithLogits", lambda z,
         x: nn.softmax_cross_entropy_with_logits(labels=z, logits=x), _xent, (LABELS, (4, 3)), wrt=(1,),
         note="v1"),
    Edge("SoftmaxCrossEntropyWithLogits", lambda z,
         x: nn.softmax_cross_entropy_with_logits(labels=z, logits=x), ([[1.0, 0.0]], [[0.0, 0.0]]),
         (None, [[-0.5, 0.5]]), note="v1 stops at labels"),
    Edge("SoftmaxCrossEntropyWithLogits", _v2, ([[0.0, 1.0]], [[1e4, -1e4]]), ([[0.0, 2e4]], [[1.0, -1.0]]),
         note="extreme"),
    Edge("SoftmaxCrossEntropyWithLogits", _v2, ([[0.0, 0.0]], [[1.0, 2.0]]),
         ([[1.3132616875182228, 0.3132616875182228]], [[0.0, 0.0]]), note="a row without label"),
    Case("SparseSoftmaxCrossEntropyWithLogits", _sparse, _sparse_xent, (CLASSES, (4, 3)), order=3),
    Case("SparseSoftmaxCrossEntropyWithLogits", _sparse, _sparse_xent, (CLASSES.astype(np.int64), EXTREME),
         note="extreme"),
    Case("SparseSoftmaxCrossEntropyWithLogits", lambda z, x: nn.sparse_xent_op(x, z),
         lambda z, x: (_sparse_xent(z, x), _softmax(x) - np.eye(3)[z]), (CLASSES, (4, 3)),
         note="both outputs"),
    Case("SparseSoftmaxCrossEntropyWithLogits", _sparse, _sparse_xent, (CLASSES.reshape(2, 2), (2, 2, 3)),
         note="rank 3"),
    Case("SparseSoftmaxCrossEntropyWithLogits", _sparse, _sparse_xent, (np.array(1), (3,)), unknown=False,
         note="rank 1"),
    Case("SparseSoftmaxCrossEntropyWithLogits", _sparse, lambda z, x: np.zeros(0),
         (np.zeros(0, np.int32), (0, 3)), note="empty"),
    Bad("SparseSoftmaxCrossEntropyWithLogits", lambda: _sparse(np.array([-1, 3]), np.ones((2, 3), "f")), InvalidArgumentError,
        "label value of -1 which is outside the valid range of .0, 3.", run=True),
    Edge("SparseSoftmaxCrossEntropyWithLogits", lambda x: _sparse(np.array([1]), x), ([[1e4, -1e4]],),
         ([[1.0, -1.0]],), note="extreme"),
    Bad("SoftmaxCrossEntropyWithLogits", lambda: nn.softmax_cross_entropy_with_logits(np.ones((2, 3), "f")),
        ValueError, "named arguments"),
    Bad("SoftmaxCrossEntropyWithLogits",
        lambda: nn.softmax_cross_entropy_with_logits(logits=np.ones((2, 3), "f")), ValueError,
        "Both labels and logits"),
    Bad("SoftmaxCrossEntropyWithLogits", lambda: _v2(np.ones((2, 4), "f"), np.ones((2, 3), "f")), ShapeError,
        "broadcastable"),
    Bad("SparseSoftmaxCrossEntropyWithLogits", lambda: _sparse(np.eye(2, dtype="i"), np.ones((2, 3), "f")),
        ValueError, "Rank mismatch"),
    Bad("SparseSoftmaxCrossEntropyWithLogits", lambda: _sparse(np.array([0, 1, 2]), np.ones((2, 3), "f")),
        ShapeError, "same first dimension"),
    Bad("SparseSoftmaxCrossEntropyWithLogits", lambda: _sparse(np.float32(0), np.float32(1)), ValueError,
        "cannot be scalars"),
    Bad("SparseSoftmaxCrossEntropyWithLogits", lambda: _sparse(np.ones(2, "f"), np.ones((2, 3), "f")),
        TypeError, "not in list of allowed"),
    Case("Log1p", _sigmoid_xent, lambda z, x: np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x))),
         ((3, 4), (3, 4)), order=3),
    Case("Log1p", _sigmoid_xent, lambda z, x: np.maximum(x, 0) - x * z + np.log1p(np.exp(-np.abs(x))),
         (np.array([0.0, 1.0, 1.0]), np.array([-900.0, 900.0, -900.0])), note="extreme"),
    Edge("Log1p", _sigmoid_xent, ([0.25], [0.0]), ([0.0], [0.25]), ([-1.0], [-0.75]), note="zero"),
    Case("Softplus", lambda z, x, **k: functions.weighted_cross_entropy_with_logits(z, x, **k),
         lambda z, x, pos_weight: (1 - z) * x + (1 + (pos_weight - 1) * z) * np.logaddexp(0, -x),
         ((3, 4), (3, 4)), {"pos_weight": 2.5}, note="weighted"),
    Edge("Softplus", lambda z, x: functions.weighted_cross_entropy_with_logits(z, x, 2.0),
         ([1.0, 0.0], [0.0, 0.0]), ([2 * np.log(2) - np.log(2)] * 2, [-1.0, 0.5]), note="weighted, zero"),
    Case("Exp", lambda z, x: functions.log_poisson_loss(z, x), lambda z, x: np.exp(x) - x * z,
         ((3, 4), (3, 4)), note="poisson"),
    Case("Exp", lambda z, x: functions.log_poisson_loss(z, x, compute_full_loss=True),
         lambda z, x: np.exp(x) - x * z + np.where(z <= 1, 0,
                                                   z * np.log(z) - z + 0.5 * np.log(2 * np.pi * z)),
         (np.array([[0.5, 0.1, 3.0], [7.0, 2.0, 0.9]]), (2, 3)), note="poisson, full"),
    Bad("Log1p", lambda: _sigmoid_xent(np.ones(3, "f"), np.ones(4, "f")), ValueError,
        "must have the same shape"),

    # -- the rest
    Case("L2Loss", nn.l2_loss, lambda t: np.sum(t**2) / 2, ((3, 4),), dtypes=FLOATS),
    Case("L2Loss", nn.l2_loss, lambda t: np.sum(t**2) / 2, ((0, 4),), note="empty"),
]


def _in_top_k_rows():
    x = _f32([[1, 2, 3], [3, 3, 1], [NAN, 2, 3], [1, 2, INF], [1, 2, 3], [1, 2, 3]])
    targets = np.array([1, 1, 1, 0, 3, -1])
    expected = {1: [False, True, False, False, False, False], 2: [True, True, False, False, False, False]}
    rows = []
    for k, answer in expected.items():
        rows.append(Case("InTopKV2", lambda t, k: nn.in_top_k(x, t, k), lambda t, k,
                         answer=answer: np.array(answer), (targets,), {"k": k}, note=f"k={k}"))
        rows.append(Case("InTopK", lambda t, k: nn.intopk_op(x, t, k=k), lambda t, k,
                         answer=answer: np.array(answer), (targets,), {"k": k}, note=f"k={k}"))
    return rows


CASES += _in_top_k_rows()
CASES += [
    Bad("InTopKV2", lambda: nn.in_top_k(np.ones(3, "f"), np.array([1]), 1), ShapeError,
        "rank 1 for predictions"),
    Bad("InTopKV2", lambda: nn.in_top_k(np.ones((2, 3), "f"), np.array([1, 2, 3]), 1), ShapeError,
        "First dimension of predictions"),
    Case("Relu", functions.relu_layer, lambda x, w, b: np.maximum(x @ w + b, 0), ((2, 3), (3, 4), (4,)),
         note="relu_layer"),
    Case("BiasAdd", functions.xw_plus_b, lambda x, w, b: x @ w + b, ((2, 3), (3, 4), (4,)), note="xw_plus_b"),
    Case("Mean", functions.zero_fraction, lambda x: np.float32(np.mean(x == 0)), (np.array([0, 1, 0, 2]),),
         note="zero_fraction"),
    Case("Mul", lambda x: functions.dropout(x, rate=0.0) * 2.0, lambda x: 2 * x, ((3,),), note="no dropout"),
    Bad("Mul", lambda: functions.dropout(placeholder(dtypes.float32, [3]), rate=1.0), ValueError,
        r"range \[0, 1\), got 1"),
    Bad("Mul", lambda: functions.dropout(np.array([1, 2]), 0.5), ValueError, "floating point"),
    Bad("Mul", lambda: functions.dropout(np.ones(2, "f")), ValueError, "You must provide a rate"),
]
