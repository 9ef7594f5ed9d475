"""Gradient rules for `norm.py`."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops import math, norm
from regrad.ops.array import reshape, size, zeros_like
from regrad.ops.reduce import reduce_sum
from regrad.ops.vjp import vjp_of_lowering


def _attrs(op):
    return {name: op.attrs[name] for name in op.opdef.attrs}


def _is_zeros(t):
    return t.op.type == "ZerosLike"  # what gradients() puts for an output that nothing was asked of


def _batch_norm_rule(grad_op):
    def rule(op, dy, dmean, dvariance, dmean_saved, dvariance_saved, *_):
        x, scale, _, mean, variance = op.inputs
        attrs = _attrs(op)
        saved = op.outputs[3:]
        dx, dscale, doffset, _, _ = grad_op(dy, x, scale, *saved, **attrs)
        if not attrs["is_training"]:
            return dx, dscale, doffset, *_of_given_moments(op, dy, dmean, dvariance, dmean_saved,
                                                           dvariance_saved)
        # The moments are outputs too. d mean / dx = 1 / n, d variance / dx = 2 (x - mean) / n, with n - 1 if
        # unbiased.
        if not all(map(_is_zeros, (dmean, dvariance, dmean_saved, dvariance_saved))):
            centred = math.cast(x, scale.dtype) - _broad(op, op.outputs[3])
            n = math.cast(math.floordiv(size(x), size(scale)), scale.dtype)
            to_mean = (dmean + dmean_saved) / n
            to_variance = 2.0 * (dvariance / math.maximum(n - 1.0, 1.0) + dvariance_saved / n)
            dx += math.cast(_broad(op, to_mean) + _broad(op, to_variance) * centred, x.dtype)
        return dx, dscale, doffset, zeros_like(mean), zeros_like(variance)

    return rule


def _broad(op, vector):
    """Returns a vector of channels in a shape that broadcasts to `x`."""
    data_format = op.attrs["data_format"]
    return reshape(vector, [-1 if c == "C" else 1 for c in data_format])


def _of_given_moments(op, dy, dmean, dvariance, dmean_saved, dvariance_saved):
    """Returns the gradients of mean and variance where they are inputs that count."""
    x, scale, _, mean, variance = op.inputs
    axes = [i for i, c in enumerate(op.attrs["data_format"]) if c != "C"]
    dy, x = math.cast(dy, scale.dtype), math.cast(x, scale.dtype)
    inverse = math.rsqrt(variance + op.attrs["epsilon"])
    to_mean = -reduce_sum(dy, axes) * scale * inverse
    to_variance = -0.5 * reduce_sum(dy * (x - _broad(op, mean)), axes) * scale * inverse * inverse * inverse
    return to_mean + dmean + dmean_saved, to_variance + dvariance + dvariance_saved


RegisterGradient("FusedBatchNorm")(_batch_norm_rule(lambda *args,
                                                    **attrs: norm.fusedbatchnormgrad_op(*args[:5], **attrs)))
RegisterGradient("FusedBatchNormV2")(_batch_norm_rule(lambda *args, **attrs:
                                                      norm.fusedbatchnormgradv2_op(*args[:5], **attrs)))
RegisterGradient("FusedBatchNormV3")(_batch_norm_rule(norm.fusedbatchnormgradv3_op))

for _op_type in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
    vjp_of_lowering(_op_type)


@RegisterGradient("LRN")
def _lrn_grad(op, dy):
    return norm.lrngrad_op(dy, op.inputs[0], op.outputs[0], **_attrs(op))


vjp_of_lowering("LRNGrad")
