"""Gradient rules for `reduce.py`. What a reduction summed, its gradient spreads: `unreduce_like` is the transpose of Sum."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.shapes import size_of
from regrad.ops import math
from regrad.ops.array import reshape_like, size
from regrad.ops.complex import conj, real
from regrad.ops.reduce import extremes_op, productofothers_op, sum_op, unreduce_like
from regrad.ops.vjp import vjp_of_lowering


@RegisterGradient("Sum")
def _sum_grad(op, dy):
    x, axes = op.inputs
    return unreduce_like(dy, x, axes), None


@RegisterGradient("UnreduceLike")
def _unreduce_grad(op, dx):
    dy, _, axes = op.inputs
    return reshape_like(sum_op(dx, axes, keep_dims=False), dy), None, None


def _terms(op):
    """Returns how many elements of the input went into each element of the output, in the input's dtype."""
    x, y = op.inputs[0], op.outputs[0]
    nx, ny = size_of(x.dims), size_of(y.dims)
    if nx is not None and ny is not None:
        return max(nx // max(ny, 1), 1)
    return math.cast(math.maximum(math.floordiv(size(x), math.maximum(size(y), 1)), 1), x.dtype)


@RegisterGradient("Mean")
def _mean_grad(op, dy):
    x, axes = op.inputs
    return unreduce_like(math.realdiv(dy, _terms(op)), x, axes), None


@RegisterGradient("Prod")
def _prod_grad(op, dy):
    # dx_i = dy times the product of all other elements; y / x_i would be 0 / 0 where x_i = 0.
    x, axes = op.inputs
    return unreduce_like(dy, x, axes) * conj(productofothers_op(x, axes)), None


vjp_of_lowering("ProductOfOthers")


def _extreme_grad(op, dy):
    # Equal extremes share the gradient equally, as in TF.
    x, axes = op.inputs
    chosen = math.cast(extremes_op(x, axes, largest=op.type == "Max"), dy.dtype)
    shared = math.div_no_nan(dy, sum_op(chosen, axes, keep_dims=op.get_attr("keep_dims")))
    return chosen * unreduce_like(shared, x, axes), None


RegisterGradient("Max")(_extreme_grad)
RegisterGradient("Min")(_extreme_grad)


@RegisterGradient("EuclideanNorm")
def _euclideannorm_grad(op, dy):
    # x / norm, and 0 where the norm is 0: x / 0 would be NaN there.
    x, axes = op.inputs
    y = op.outputs[0]
    if dy.dtype.is_complex:  # a norm is real
        dy = math.cast(real(dy), dy.dtype)
    return x * unreduce_like(math.divnonan_op(dy, y), x, axes), None


for _op_type in ("All", "Any", "ArgMax", "ArgMin", "Extremes"):
    NotDifferentiable(_op_type)
