"""Activations, bias, softmax and the cross entropies: the small ops of neural networks.

Convolutions are in `conv.py`, pooling in `pool.py`, normalisation in `norm.py`; gradients in `nn_grad.py`.
`b.np.where` rather than a product with a mask: a gradient of infinity times a derivative of zero is zero.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, NUMERIC, REAL
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Bounds, Spec, define_op, rank_at_least, rank_is, same, spec_text
from regrad.core.shapes import compatible, fully_known, merge
from regrad.ops import array, math, reducing
from regrad.ops.array import BadValue, axis_in, one_of
from regrad.ops.window import as_text

# The constants under which activations keep mean 0 and variance 1 (Klambauer et al. 2017, section 2).
SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = 1.0507009873554804934193349852946 * 1.6732632423543772848170429916717


def _n(x, value):
    return x.dtype.type(value)  # a scalar of the tensor's own dtype: no promotion, on either backend


def _activation(op_type, lower, types=FLOATING, attrs=None):
    return define_op(op_type, "features", infer=same, types={"T": types}, lower=lower, attrs=attrs)


def _activation_grad(op_type, lower, second="features", types=FLOATING, attrs=None):
    """Defines the derivative of an activation as an op of its own, which TF names too and users override."""

    def infer(gradients, features, **attrs):
        return Spec(merge(gradients.dims, features.dims, "gradients and features have one shape;"),
                    gradients.dtype)

    return define_op(op_type, f"gradients, {second}", infer=infer, types={"T": types}, lower=lower,
                     attrs=attrs)


# -- Relu and its kin ----------------------------------------------------------------------
relu_op = _activation("Relu", lambda b, x: b.np.maximum(x, _n(x, 0)), REAL)
relugrad_op = _activation_grad("ReluGrad", lambda b, dy, x: b.np.where(x > _n(x, 0), dy, _n(dy, 0)),
                               types=REAL)
relu6_op = _activation("Relu6", lambda b, x: b.np.minimum(b.np.maximum(x, _n(x, 0)), _n(x, 6)), REAL)
relu6grad_op = _activation_grad("Relu6Grad", types=REAL, lower=lambda b, dy, x:
                                b.np.where((x > _n(x, 0)) & (x < _n(x, 6)), dy, _n(dy, 0)))
leakyrelu_op = _activation("LeakyRelu", attrs={"alpha": 0.2}, lower=lambda b, x, *, alpha:
                           b.np.where(x > _n(x, 0), x, x * _n(x, alpha)))
leakyrelugrad_op = _activation_grad("LeakyReluGrad", attrs={"alpha": 0.2}, lower=lambda b, dy, x, *, alpha:
                                    b.np.where(x > _n(x, 0), dy, dy * _n(dy, alpha)))


def relu(features, name=None):
    """Returns max(features, 0), for any real dtype. The derivative at 0 is 0.

    Example:
      x = tf.constant([-1.0, 2.0])
      y = tf.nn.relu(x)
      print(*tf.Session().run([y, tf.gradients(y, x)[0]]))
      #> [0. 2.] [0. 1.]
    """
    return relu_op(features, name=name)


def relu_grad(gradients, features, name=None):
    """Returns `gradients` where `features`, the input or the output of `relu`, is positive, else 0."""
    return relugrad_op(gradients, features, name=name)


def relu6(features, name=None):
    """Returns min(max(features, 0), 6). The derivative at 0 and at 6 is 0."""
    return relu6_op(features, name=name or "Relu6")


def relu6_grad(gradients, features, name=None):
    """Returns `gradients` where 0 < `features` < 6, else 0."""
    return relu6grad_op(gradients, features, name=name)


def leaky_relu(features, alpha=0.2, name=None):
    """Returns `features` where they are positive and `alpha * features` elsewhere; integers become float32.

    Args:
      features: a floating or integer tensor.
      alpha: slope for negative values: a number, or a scalar tensor (through which gradients flow).
    """
    with get_default_graph().name_scope(name or "LeakyRelu") as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = math.cast(features, dtypes.float32)
        if not np.isscalar(alpha):
            # A learned slope (PReLU); `max` alone would be wrong for slopes above 1.
            from regrad.ops.compare import select

            alpha = convert_to_tensor(alpha,
                                      dtype=None if hasattr(alpha, "_as_graph_element") else features.dtype)
            return select(features > 0, features, alpha * features, name=scope)
        return leakyrelu_op(features, alpha=float(alpha), name=scope)


def leaky_relu_grad(gradients, features, alpha=0.2, name=None):
    """Returns `gradients` where `features` > 0, else `alpha * gradients`."""
    return leakyrelugrad_op(gradients, features, alpha=float(alpha), name=name)


# -- exponential units: the derivative is written in the output -------------------------------
# expm1 sees no positive argument, so that the branch not taken cannot overflow.
elu_op = _activation("Elu", lambda b, x: b.np.where(x > _n(x, 0), x, b.np.expm1(b.np.minimum(x, _n(x, 0)))))
elugrad_op = _activation_grad("EluGrad", lambda b, dy, y: b.np.where(y < _n(y, 0), dy * (y + _n(y, 1)), dy),
                              "outputs")


def _selu_lower(b, x):
    negative = _n(x, SELU_SCALE_ALPHA) * b.np.expm1(b.np.minimum(x, _n(x, 0)))
    return b.np.where(x > _n(x, 0), _n(x, SELU_SCALE) * x, negative)


selu_op = _activation("Selu", _selu_lower)
selugrad_op = _activation_grad("SeluGrad", lambda b, dy, y: dy * b.np.where(
    y < _n(y, 0), y + _n(y, SELU_SCALE_ALPHA), _n(y, SELU_SCALE)), "outputs")


def elu(features, name=None):
    """Returns `features` where they are positive, exp(features) - 1 elsewhere (Clevert et al. 2015)."""
    return elu_op(features, name=name)


def elu_grad(gradients, outputs, name=None):
    """Returns the gradient of `elu` from its output."""
    return elugrad_op(gradients, outputs, name=name)


def selu(features, name=None):
    """Returns scale * features where they are positive, scale * alpha * (exp(features) - 1) elsewhere.

    The two constants, about 1.0507 and 1.6733, are those of Klambauer et al. 2017.
    """
    return selu_op(features, name=name)


def selu_grad(gradients, outputs, name=None):
    """Returns the gradient of `selu` from its output."""
    return selugrad_op(gradients, outputs, name=name)


# -- smooth units ------------------------------------------------------------------------------
def _sigmoid(b, x):
    half = _n(x, 0.5)
    return half + half * b.np.tanh(half * x)


# log(1 + e^x) = max(x, 0) + log(1 + e^-|x|): neither end overflows or loses the small part.
softplus_op = _activation("Softplus", lambda b, x:
                          b.np.maximum(x, _n(x, 0)) + b.np.log1p(b.np.exp(-b.np.abs(x))))
softplusgrad_op = _activation_grad("SoftplusGrad", lambda b, dy, x: dy * _sigmoid(b, x))
softsign_op = _activation("Softsign", lambda b, x: x / (_n(x, 1) + b.np.abs(x)))
softsigngrad_op = _activation_grad("SoftsignGrad", lambda b, dy, x: dy / b.np.square(_n(x, 1) + b.np.abs(x)))


def softplus(features, name=None):
    """Returns log(exp(features) + 1)."""
    return softplus_op(features, name=name)


def softplus_grad(gradients, features, name=None):
    """Returns `gradients` / (1 + exp(-features))."""
    return softplusgrad_op(gradients, features, name=name)


def softsign(features, name=None):
    """Returns features / (1 + |features|)."""
    return softsign_op(features, name=name)


def softsign_grad(gradients, features, name=None):
    """Returns `gradients` / (1 + |features|)^2."""
    return softsigngrad_op(gradients, features, name=name)


def swish(features, name=None):
    """Returns features * sigmoid(features) (Ramachandran et al. 2017)."""
    with get_default_graph().name_scope(name or "swish") as scope:
        features = convert_to_tensor(features, name="features")
        return math.multiply(features, math.sigmoid(features), name=scope)


def crelu(features, name=None, axis=-1):
    """Returns relu of `features` and of their negatives, joined along `axis` (Shang et al. 2016)."""
    with get_default_graph().name_scope(name or "CRelu") as scope:
        features = convert_to_tensor(features, name="features")
        return relu(array.concat([features, -features], axis, name=scope))


# -- BiasAdd -----------------------------------------------------------------------------------
def _channel_axis(data_format, rank):
    return 1 if data_format == "NCHW" else rank - 1


def _biasadd_infer(value, bias, *, data_format):
    rank_is(bias, 1, "bias, a vector")
    if value.dims is None:
        return Spec(None, value.dtype)
    least = 3 if data_format == "NCHW" else 2
    rank_at_least(value, least, f"value in the format {data_format}")
    axis = _channel_axis(data_format, len(value.dims))
    if bias.dims is not None and not compatible((value.dims[axis],), bias.dims):
        raise ShapeError(f"Dimensions must be equal: value {spec_text(value)} has {value.dims[axis]} "
                         f"channels (axis {axis}), bias is {spec_text(bias)}")
    size = bias.dims[0] if bias.dims is not None and value.dims[axis] is None else value.dims[axis]
    return Spec(value.dims[:axis] + (size,) + value.dims[axis + 1:], value.dtype)


def _along_channels(bias, rank, data_format):
    axis = _channel_axis(data_format, rank)
    return bias.reshape((-1,) + (1,) * (rank - 1 - axis))


biasadd_op = define_op("BiasAdd", "value, bias", attrs={"data_format": "NHWC"}, types={"T": NUMERIC},
                       infer=_biasadd_infer, lower=lambda b, x, bias, *, data_format:
                       x + _along_channels(bias, x.ndim, data_format))


def _biasaddgrad_infer(dy, *, data_format):
    if dy.dims is None:
        return Spec((None,), dy.dtype)
    rank_at_least(dy, 2, "out_backprop")
    return Spec((dy.dims[_channel_axis(data_format, len(dy.dims))],), dy.dtype)


def _biasaddgrad_lower(b, dy, *, data_format):
    axis = _channel_axis(data_format, dy.ndim)
    return reducing.total(b, dy, tuple(i for i in range(dy.ndim) if i != axis))


biasaddgrad_op = define_op("BiasAddGrad", "out_backprop", attrs={"data_format": "NHWC"}, types={"T": NUMERIC},
                           infer=_biasaddgrad_infer, lower=_biasaddgrad_lower)



def _bias_format(data_format):
    data_format = as_text(data_format) or "NHWC"
    if data_format.startswith("NC"):
        return "NCHW"
    if data_format.startswith("N") and data_format.endswith("C"):
        return "NHWC"
    raise ValueError(f"bias_add: data_format must be of the form `N...C` or `NC...`, got {data_format!r}.")


def bias_add(value, bias, data_format=None, name=None):
    """Returns `value` plus the vector `bias` along the channel axis.

    Args:
      value: numeric tensor of 2 or more axes.
      bias: vector of the same dtype, as long as the channel axis.
      data_format: "N...C" (the default: channels last) or "NC..." (channels second).

    Example:
      print(tf.Session().run(tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0])))
      #> [[11. 22.]]
    """
    data_format = _bias_format(data_format)
    with get_default_graph().name_scope(name or "BiasAdd") as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=None if hasattr(bias, "_as_graph_element") else value.dtype,
                                 name="bias")
        return biasadd_op(value, bias, data_format=data_format, name=scope)


def bias_add_grad(out_backprop, data_format="NHWC", name=None):
    """Returns the sum of `out_backprop` over all axes but the channels: the gradient of the bias."""
    return biasaddgrad_op(out_backprop, data_format=_bias_format(data_format), name=name)


# -- Softmax -----------------------------------------------------------------------------------
def _softmax_infer(logits):
    rank_at_least(logits, 1, "logits")
    return Spec(logits.dims, logits.dtype)


def _shifted(b, x):
    """Returns x less its maximum along the last axis, so that the largest exponential is exactly 1."""
    return x - reducing.extreme(b, x, (x.ndim - 1,), keepdims=True) if x.size else x


def _total(b, x):
    return b.np.sum(x, axis=-1, keepdims=True, dtype=x.dtype)


def _softmax_lower(b, x):
    e = b.np.exp(_shifted(b, x))
    return e / _total(b, e)


def _logsoftmax_lower(b, x):
    x = _shifted(b, x)
    return x - b.np.log(_total(b, b.np.exp(x)))


softmax_op = define_op("Softmax", "logits", infer=_softmax_infer, types={"T": FLOATING}, lower=_softmax_lower)
logsoftmax_op = define_op("LogSoftmax", "logits", infer=_softmax_infer, types={"T": FLOATING},
                          lower=_logsoftmax_lower)
for _op in (softplus_op, softmax_op, logsoftmax_op):
    _op.declare(cost="slow")


def _along_last_axis(op, logits, axis, name):
    """Applies an op of the last axis along another one, by transposing there and back."""
    logits = convert_to_tensor(logits, name="logits")
    if axis is None or axis == -1 or logits.dims is not None and axis == len(logits.dims) - 1:
        return op(logits, name=name)
    if logits.dims is None:
        raise ValueError(f"{op.type}: the rank of {logits.name} is not known; only the last axis can be "
                         f"used then, got axis={axis}.")
    rank = len(logits.dims)
    if not -rank <= axis < rank:
        raise InvalidArgumentError(f"{op.type}: dimension {axis} must be in the range [{-rank}, {rank}), as "
                                   f"the input has {rank} dimensions ({spec_text(logits)}).")
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    return array.transpose(op(array.transpose(logits, perm)), perm, name=name or "transpose")


def softmax(logits, axis=None, name=None, dim=None):
    """Returns exp(logits) / sum(exp(logits)) along `axis` (the last by default), without overflow.

    Example:
      print(tf.Session().run(tf.nn.softmax([0.0, 0.0])))
      #> [0.5 0.5]
    """
    return _along_last_axis(softmax_op, logits, one_of("axis", axis, "dim", dim), name)


def log_softmax(logits, axis=None, name=None, dim=None):
    """Returns logits - log(sum(exp(logits))) along `axis` (the last by default), without overflow."""
    return _along_last_axis(logsoftmax_op, logits, one_of("axis", axis, "dim", dim), name)


# -- cross entropies: loss and its gradient from one pass ----------------------------------------
def _xent_infer(features, labels):
    for x, what in ((features, "logits"), (labels, "labels")):
        rank_is(x, 2, f"{what} [batch, classes]")
    f, g = features.dims, labels.dims
    if f is not None and g is not None:
        # Either may have one row, or one column, for all of the other.
        both = tuple(p if q == 1 else q if p == 1 or p is None else p for p, q in zip(f, g))
        if any(None not in (p, q) and p != q and 1 not in (p, q) for p, q in zip(f, g)):
            raise ShapeError(f"logits and labels must be broadcastable: logits are {spec_text(features)}, "
                             f"labels {spec_text(labels)}")
    else:
        both = (None, None)
    return [Spec(both[:1], features.dtype), Spec(both, features.dtype)]


def _xent_lower(b, x, labels):
    if x.shape != labels.shape:
        x, labels = b.np.broadcast_arrays(x, labels)
    x = _shifted(b, x)
    e = b.np.exp(x)
    total = _total(b, e)
    log_p = x - b.np.log(total)
    # A class that cannot be (label 0) costs nothing, even where its logit is -inf.
    loss = -b.np.sum(b.np.where(labels == _n(labels, 0), _n(x, 0), labels * log_p), axis=-1, dtype=x.dtype)
    # The sum of labels is 1 for distributions; with it the gradient is right for other labels too.
    return loss, e / total * _total(b, labels) - labels


xent_op = define_op("SoftmaxCrossEntropyWithLogits", "features, labels", infer=_xent_infer,
                    types={"T": FLOATING},
                    lower=_xent_lower)


def _sparse_xent_infer(features, labels):
    rank_is(features, 2, "logits [batch, classes]")
    rank_is(labels, 1, "labels (must be 1-D, class numbers)")
    rows = None if features.dims is None else features.dims[:1]
    rows = merge(rows, labels.dims,
                 "logits and labels must have the same first dimension, got logits and labels of") or (None,)
    return [Spec(rows, features.dtype),
            Spec(rows + ((None,) if features.dims is None else features.dims[1:]), features.dtype)]


def _refuse_labels(labels, n):
    bad = labels[(labels < 0) | (labels >= n)][0]
    raise BadValue(f"Received a label value of {bad} which is outside the valid range of [0, {n}). "
                   f"Label values: {' '.join(map(str, labels[:50]))}")


def _sparse_xent_lower(b, x, labels):
    x = _shifted(b, x)
    e = b.np.exp(x)
    total = _total(b, e)
    classes = b.np.arange(x.shape[-1], dtype=labels.dtype)
    chosen = classes == labels[:, None]
    # A label that is no class gives NaN where nothing can raise, as in TF.
    valid = (labels >= labels.dtype.type(0)) & (labels < labels.dtype.type(x.shape[-1]))
    if b.is_host and not valid.all():
        _refuse_labels(labels, x.shape[-1])
    nan = _n(x, np.nan)
    loss = b.np.log(total[:, 0]) - b.np.sum(b.np.where(chosen, x, _n(x, 0)), axis=-1, dtype=x.dtype)
    gradient = e / total - chosen.astype(x.dtype)
    return b.np.where(valid, loss, nan), b.np.where(valid[:, None], gradient, nan)


sparse_xent_op = define_op("SparseSoftmaxCrossEntropyWithLogits", "features: T, labels: Tlabels",
                           infer=_sparse_xent_infer, types={"T": FLOATING, "Tlabels": INDEX},
                           lower=_sparse_xent_lower)
sparse_xent_op.declare(refusal=Bounds(1, lambda x, labels: x.dims[1], _refuse_labels))


def _named_arguments(function, sentinel, labels, logits):
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


_HALVES = (dtypes.float16, dtypes.bfloat16)


def _precise(x):
    return math.cast(x, dtypes.float32) if x.dtype in _HALVES else x


def _rows(x):
    """Returns `x` as a matrix of its last axis."""
    if x.dims is not None and len(x.dims) == 2:
        return x
    last = x.dims[-1] if x.dims is not None else None
    return array.reshape(x, array.stack([-1, array.shape(x)[-1]]) if last is None else (-1, last))


def _leading_shape(x):
    dims = None if x.dims is None else x.dims[:-1]
    return list(dims) if fully_known(dims) else array.shape(x)[:-1]


def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
    """Returns -sum(labels * log(softmax(logits))) along `axis`: one loss per example.

    Args:
      labels: tensor of the shape and dtype of `logits`; each row a probability distribution. Gradients flow
        to it.
      logits: unscaled log probabilities; float16 is computed in float32.
      axis: the class axis, the last by default.

    Returns:
      A tensor of the shape of `logits` without `axis`.

    Example:
      loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0.5, 0.5]], logits=[[0.0, 0.0]])
      print(np.exp(-tf.Session().run(loss)).round(4))
      #> [0.5]
    """
    axis = one_of("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    _named_arguments("softmax_cross_entropy_with_logits", None, labels, logits)
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits") as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels",
                                   dtype=None if hasattr(labels, "_as_graph_element") else logits.dtype)
        asked = logits.dtype
        logits = _precise(logits)
        labels = math.cast(labels, logits.dtype)
        if axis != -1 and logits.dims is not None and axis_in(axis, len(logits.dims)) != len(logits.dims) - 1:
            rank = len(logits.dims)
            perm = [i for i in range(rank) if i != axis % rank] + [axis % rank]
            logits, labels = array.transpose(logits, perm), array.transpose(labels, perm)
        elif axis != -1 and logits.dims is None:
            raise ValueError(f"softmax_cross_entropy_with_logits: the rank of {logits.name} is not known; "
                             f"only the last axis can be used then, got axis={axis}.")
        if logits.rank == 2:
            return math.cast(xent_op(logits, labels, name=scope)[0], asked)
        loss, _ = xent_op(_rows(logits), _rows(labels), name=scope)
        return math.cast(array.reshape(loss, _leading_shape(logits)), asked)


def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None, axis=None):
    """Returns the cross entropy of softmax(logits) and `labels`; gradients flow to `logits` only."""
    _named_arguments("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with get_default_graph().name_scope(name or "softmax_cross_entropy_with_logits_sg") as scope:
        labels = array.stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(labels, logits, dim if axis is None else axis, name=scope)


def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """Returns the cross entropy of softmax(logits) and the true classes `labels`: one loss per example.

    Args:
      labels: int32 or int64 class numbers, of the shape of `logits` without its last axis. One that is no
        class gives NaN.
      logits: unscaled log probabilities, [..., classes]; float16 is computed in float32.

    Raises:
      ValueError: arguments are positional or missing, or the shapes do not fit.

    Example:
      loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]])
      print(np.exp(-tf.Session().run(loss)).round(4))
      #> [0.5]
    """
    _named_arguments("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with get_default_graph().name_scope(name or "SparseSoftmaxCrossEntropyWithLogits"):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        asked = logits.dtype
        logits = _precise(logits)
        if logits.rank == 0:
            raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
        if None not in (logits.rank, labels.rank) and labels.rank != logits.rank - 1:
            raise ValueError(f"Rank mismatch: Rank of labels (received {labels.rank}) should equal rank of "
                             f"logits minus 1 (received {logits.rank}): labels are {spec_text(labels)}, "
                             f"logits {spec_text(logits)}. For one-hot labels use "
                             "softmax_cross_entropy_with_logits.")
        if logits.rank == 2:
            return math.cast(sparse_xent_op(logits, labels, name=name)[0], asked)
        if logits.dims is not None and not compatible(logits.dims[:-1], labels.dims):
            raise ShapeError(f"Shape mismatch: labels are {spec_text(labels)}, logits {spec_text(logits)}: "
                             "the shape of labels should equal the shape of logits except for the last "
                             "dimension.")
        loss, _ = sparse_xent_op(_rows(logits), array.reshape(labels, (-1,)), name=name)
        return math.cast(array.reshape_like(loss, labels), asked)


# -- L2Loss ------------------------------------------------------------------------------------
def _l2loss_lower(b, x):
    return b.np.sum(b.np.square(x), dtype=x.dtype) * _n(x, 0.5)


l2loss_op = define_op("L2Loss", "t", infer=lambda t: Spec((), t.dtype), types={"T": FLOATING},
                      lower=_l2loss_lower)


def l2_loss(t, name=None):
    """Returns sum(t ** 2) / 2, a scalar."""
    return l2loss_op(t, name=name)


# -- InTopK ------------------------------------------------------------------------------------
def _intopk_infer(predictions, targets, k=None, **attrs):
    rank_is(predictions, 2, "predictions [batch, classes]")
    rank_is(targets, 1, "targets, a vector of class numbers")
    (rows, *_), (n,) = predictions.dims or (None,), targets.dims or (None,)
    if None not in (rows, n) and rows != n:
        raise ShapeError(f"First dimension of predictions {rows} must match length of targets {n}: Dimensions must be equal, "
                         f"but are {rows} and {n}")
    return Spec((n if rows is None else rows,), dtypes.bool_)


def _intopk_lower(b, x, targets, k):
    classes = x.shape[-1]
    if not classes:
        return b.np.zeros(targets.shape, bool)
    target = b.np.take_along_axis(x, b.np.clip(targets, 0, classes - 1)[:, None], -1)
    better = b.np.sum(x > target, axis=-1)
    return (better < k) & (targets >= 0) & (targets < classes) & b.np.all(b.np.isfinite(x), axis=-1)


intopk_op = define_op("InTopK", "predictions: float32, targets: T", attrs={"k": None}, types={"T": INDEX},
                      infer=_intopk_infer, lower=lambda b, x, targets, *, k: _intopk_lower(b, x, targets, k))
intopkv2_op = define_op("InTopKV2", "predictions: float32, targets: T, k: T", types={"T": INDEX},
                        infer=_intopk_infer, lower=_intopk_lower)


def in_top_k(predictions, targets, k, name=None):
    """Returns bool [batch]: whether fewer than `k` classes are predicted above the target class.

    Ties count as in; a row with an infinite or NaN prediction, or a target that is no class, is False.

    Args:
      predictions: float32 [batch, classes].
      targets: int32 or int64 [batch].
      k: int or scalar tensor.
    """
    with get_default_graph().name_scope(name or "in_top_k"):
        targets = convert_to_tensor(targets, name="targets")
        if np.isscalar(k):
            k = constant(k, targets.dtype, name="k")
        return intopkv2_op(predictions, targets, k, name=name)
