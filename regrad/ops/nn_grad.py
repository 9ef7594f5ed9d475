"""Gradient rules for `nn.py`. Kinks are TF's: the derivative of relu at 0 is 0, of relu6 also at 6."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import math, nn
from regrad.ops.array import broadcast_like, expand_dims, reshape, sum_to_like, zeros_like
from regrad.ops.compare import less, select
from regrad.ops.reduce import reduce_sum


# -- activations: dx is one op, f(dy, x) linear in dy -------------------------------------------
@RegisterGradient("Relu")
def _relu_grad(op, dy):
    # The output is positive where the input is; with it the input need not be kept.
    return nn.relugrad_op(dy, op.outputs[0])


@RegisterGradient("Relu6")
def _relu6_grad(op, dy):
    return nn.relu6grad_op(dy, op.outputs[0])


@RegisterGradient("LeakyRelu")
def _leakyrelu_grad(op, dy):
    return nn.leakyrelugrad_op(dy, op.inputs[0], alpha=op.attrs["alpha"])


@RegisterGradient("Elu")
def _elu_grad(op, dy):
    return nn.elugrad_op(dy, op.outputs[0])


@RegisterGradient("Selu")
def _selu_grad(op, dy):
    return nn.selugrad_op(dy, op.outputs[0])


@RegisterGradient("Softplus")
def _softplus_grad(op, dy):
    return nn.softplusgrad_op(dy, op.inputs[0])


@RegisterGradient("Softsign")
def _softsign_grad(op, dy):
    return nn.softsigngrad_op(dy, op.inputs[0])


# ... and theirs, for second order: by dy the same op again, by x the second derivative.
@RegisterGradient("ReluGrad")
def _relugrad_grad(op, g):
    x = op.inputs[1]
    return nn.relugrad_op(g, x), zeros_like(x)


@RegisterGradient("Relu6Grad")
def _relu6grad_grad(op, g):
    x = op.inputs[1]
    return nn.relu6grad_op(g, x), zeros_like(x)


@RegisterGradient("LeakyReluGrad")
def _leakyrelugrad_grad(op, g):
    x = op.inputs[1]
    return nn.leakyrelugrad_op(g, x, alpha=op.attrs["alpha"]), zeros_like(x)


@RegisterGradient("EluGrad")
def _elugrad_grad(op, g):
    dy, y = op.inputs  # dy (y + 1) where y < 0
    return nn.elugrad_op(g, y), select(less(y, 0), g * dy, zeros_like(y))


@RegisterGradient("SeluGrad")
def _selugrad_grad(op, g):
    dy, y = op.inputs  # dy (y + scale alpha) where y < 0
    return nn.selugrad_op(g, y), select(less(y, 0), g * dy, zeros_like(y))


@RegisterGradient("SoftplusGrad")
def _softplusgrad_grad(op, g):
    dy, x = op.inputs  # dy s(x), with s' = s (1 - s)
    return nn.softplusgrad_op(g, x), math.sigmoidgrad_op(math.sigmoid(x), g * dy)


@RegisterGradient("SoftsignGrad")
def _softsigngrad_grad(op, g):
    dy, x = op.inputs  # dy (1 + |x|)^-2
    return nn.softsigngrad_op(g, x), -2.0 * math.sign(x) * g * dy / math.pow(1.0 + math.abs(x), 3.0)


# -- BiasAdd ----------------------------------------------------------------------------------
@RegisterGradient("BiasAdd")
def _biasadd_grad(op, dy):
    return dy, nn.biasaddgrad_op(dy, data_format=op.attrs["data_format"])


@RegisterGradient("BiasAddGrad")
def _biasaddgrad_grad(op, g):
    dy = op.inputs[0]
    if op.attrs["data_format"] == "NCHW":
        if dy.dims is None:
            raise LookupError("BiasAddGrad: the second derivative in the format NCHW needs the rank of "
                              f"{dy.name}.")
        g = reshape(g, (-1,) + (1,) * (len(dy.dims) - 2))
    return broadcast_like(g, dy)


# -- Softmax ----------------------------------------------------------------------------------
@RegisterGradient("Softmax")
def _softmax_grad(op, dy):
    p = op.outputs[0]
    return (dy - reduce_sum(dy * p, -1, keepdims=True)) * p


@RegisterGradient("LogSoftmax")
def _logsoftmax_grad(op, dy):
    return dy - reduce_sum(dy, -1, keepdims=True) * math.exp(op.outputs[0])


# -- cross entropies: the second output is the gradient of the first -----------------------------
def _is_zeros(t):
    return t.op.type == "ZerosLike"  # what gradients() puts for an output that nothing was asked of


@RegisterGradient("SoftmaxCrossEntropyWithLogits")
def _xent_grad(op, dloss, dback):
    # With p = softmax(logits) and s = sum(labels): loss = -labels . log p, back = s p - labels.
    logits, labels = (broadcast_like(x, op.outputs[1]) for x in op.inputs)
    column = expand_dims(dloss, -1)
    dlogits = column * op.outputs[1]
    dlabels = -column * nn.log_softmax(logits)
    if not _is_zeros(dback):
        p = nn.softmax(logits)
        dp = reduce_sum(dback * p, -1, keepdims=True)
        dlogits += reduce_sum(labels, -1, keepdims=True) * (dback - dp) * p
        dlabels += dp - dback
    return sum_to_like(dlogits, op.inputs[0]), sum_to_like(dlabels, op.inputs[1])




@RegisterGradient("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_xent_grad(op, dloss, dback):
    logits = op.inputs[0]
    dlogits = expand_dims(dloss, -1) * op.outputs[1]
    if not _is_zeros(dback):
        p = nn.softmax(logits)
        dlogits += (dback - reduce_sum(dback * p, -1, keepdims=True)) * p
    return dlogits, None


@RegisterGradient("L2Loss")
def _l2loss_grad(op, dy):
    return op.inputs[0] * dy


NotDifferentiable("InTopK")
NotDifferentiable("InTopKV2")
