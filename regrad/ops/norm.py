"""Normalisation: batch normalisation (fused and in parts), moments, local response normalisation,
l2_normalize.

Gradients: `norm_grad.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import FLOATING
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import merge, size_of
from regrad.ops import array, math, reducing
from regrad.ops.array import one_of
from regrad.ops.reduce import reduce_mean, reduce_sum
from regrad.ops.window import as_text

# -- FusedBatchNorm ----------------------------------------------------------------------------------
_FORMATS = {4: ("NHWC", "NCHW"), 5: ("NDHWC", "NCDHW")}
_BN_ATTRS = {"epsilon": 1e-3, "data_format": "NHWC", "is_training": True}
_BN_TYPES = {"T": FLOATING, "U": FLOATING}


def _channel_axis(data_format):
    return data_format.index("C")


def _bn_dims(x, vectors, data_format, what="x"):
    """Returns (dims of x, dims of its channels), checked against the vectors, {name: spec}."""
    rank = len(data_format)
    rank_is(x, rank, f"{what} in the format {data_format}")
    dims = x.dims or (None,) * rank
    axis = _channel_axis(data_format)
    channels = (dims[axis],)
    for name, v in vectors.items():
        rank_is(v, 1, f"{name} (one number per channel)")
        channels = merge(channels, v.dims,
                         f"{what} is {spec_text(x)}, {name} {spec_text(v)}: their numbers of channels")
    return dims[:axis] + channels + dims[axis + 1:], channels


def _bn_infer(n_outputs):
    def infer(x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
        vectors = {"scale": scale, "offset": offset}
        if not is_training:
            vectors |= {"mean": mean, "variance": variance}
        dims, channels = _bn_dims(x, vectors, data_format)
        specs = [Spec(dims, x.dtype)] + [Spec(channels, scale.dtype) for _ in range(4)]
        return specs + [Spec((0,), scale.dtype)] * (n_outputs - 5)

    return infer


def _layout(x, data_format):
    """Returns (axes to reduce, elements per channel, shape in which a vector of channels broadcasts)."""
    at = _channel_axis(data_format)
    axes = tuple(i for i in range(x.ndim) if i != at)
    return axes, int(np.prod([x.shape[i] for i in axes],
                             dtype=np.int64)), tuple(-1 if i == at else 1 for i in range(x.ndim))


def _bn_lower(n_outputs):
    def lower(b, x, scale, offset, mean, variance, *, epsilon, data_format, is_training):
        axes, n, broad = _layout(x, data_format)
        wide = x.astype(scale.dtype, copy=False)
        number = scale.dtype.type
        if is_training and not n:  # moments of nothing
            mean = variance = unbiased = b.np.full(scale.shape, number(np.nan))
            centred = wide
        elif is_training:
            mean = reducing.mean(b, wide, axes)
            centred = wide - mean.reshape(broad)
            variance = reducing.mean(b, b.np.square(centred), axes)
            unbiased = variance * number(n / max(n - 1, 1))
        else:
            centred = wide - mean.reshape(broad)
            unbiased = variance
        factor = scale / b.np.sqrt(variance + number(epsilon))
        y = centred * factor.reshape(broad) + offset.reshape(broad)
        # The two reserve spaces hold what the gradient needs: mean and (biased) variance.
        outputs = (y.astype(x.dtype, copy=False), mean, unbiased, mean, variance)
        return outputs + (b.np.zeros((0,), scale.dtype),) * (n_outputs - 5)

    return lower


def _bn_grad_infer(dy, x, scale, mean, variance, *rest, epsilon, data_format, is_training):
    dims, channels = _bn_dims(x, {"scale": scale, "reserve_space_1": mean, "reserve_space_2": variance},
                              data_format)
    return [Spec(merge(dims, dy.dims, "y_backprop and x have one shape;"), x.dtype),
            Spec(channels, scale.dtype), Spec(channels, scale.dtype), Spec((0,), scale.dtype),
            Spec((0,), scale.dtype)]


def _bn_grad_lower(b, dy, x, scale, mean, variance, *rest, epsilon, data_format, is_training):
    axes, n, broad = _layout(x, data_format)
    number = scale.dtype.type
    g = dy.astype(scale.dtype, copy=False)
    inverse = number(1) / b.np.sqrt(variance + number(epsilon))
    centred = x.astype(scale.dtype, copy=False) - mean.reshape(broad)
    doffset = reducing.total(b, g, axes)
    along = reducing.total(b, g * centred, axes)
    dscale = along * inverse if n else along
    if is_training:
        # Mean and variance move with x: dx loses its mean and its component along x.
        g = g - (doffset * number(1 / max(n, 1))).reshape(broad) \
            - centred * (along * inverse * inverse * number(1 / max(n, 1))).reshape(broad)
    dx = g * (scale * inverse).reshape(broad)
    empty = b.np.zeros((0,), scale.dtype)
    return dx.astype(x.dtype, copy=False), dscale, doffset, empty, empty


def _bn_family(suffix, n_outputs):
    forward = define_op(f"FusedBatchNorm{suffix}", "x: T, scale: U, offset: U, mean: U, variance: U",
                        attrs=_BN_ATTRS, types=_BN_TYPES, infer=_bn_infer(n_outputs),
                        lower=_bn_lower(n_outputs))
    signature = "y_backprop: T, x: T, scale: U, reserve_space_1: U, reserve_space_2: U"
    if n_outputs > 5:
        signature += ", reserve_space_3: U"
    grad = define_op(f"FusedBatchNormGrad{suffix}", signature, attrs=_BN_ATTRS, types=_BN_TYPES,
                     infer=_bn_grad_infer, lower=_bn_grad_lower)
    return forward, grad


fusedbatchnorm_op, fusedbatchnormgrad_op = _bn_family("", 5)
fusedbatchnormv2_op, fusedbatchnormgradv2_op = _bn_family("V2", 5)
fusedbatchnormv3_op, fusedbatchnormgradv3_op = _bn_family("V3", 6)


def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format="NHWC",
                     is_training=True, name=None, exponential_avg_factor=1.0):
    """Normalises each channel of a batch of images to mean 0 and variance 1, then scales and shifts it.

    Args:
      x: floating [batch, height, width, channels], or 5-D; channels second for "NCHW", "NCDHW".
      scale, offset: [channels], float32 (float64 for a float64 `x`).
      mean, variance: [channels], used when not training.
      epsilon: added to the variance; at least 1.001e-5 is used.
      data_format: "NHWC", "NCHW", "NDHWC" or "NCDHW".
      is_training: normalise by the moments of this batch.
      exponential_avg_factor: weight of this batch in the returned moments; the rest is `mean` and `variance`.

    Returns:
      (y, mean, variance): the normalised `x`, and the moments of the batch (variance with n - 1 as divisor)
      when training, else `mean` and `variance`.

    Raises:
      ValueError: `mean` or `variance` is missing where it is needed.
    """
    data_format = as_text(data_format)
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
                         f"`exponential_avg_factor` != 1.0. Received: `mean` {mean!r} and `variance` "
                         f"{variance!r}")
    x = convert_to_tensor(x, name="input")
    if x.dims is not None and data_format not in _FORMATS.get(len(x.dims), ()):
        allowed = _FORMATS.get(len(x.dims), ("NHWC", "NCHW"))
        raise ValueError(f"data_format must be one of {', '.join(map(repr, allowed))} for {spec_text(x)}, "
                         f"got {data_format!r}.")
    wide = dtypes.float64 if x.dtype is dtypes.float64 else dtypes.float32
    vectors = {"scale": scale, "offset": offset, "mean": mean, "variance": variance}
    scale, offset, before, var_before = (
        convert_to_tensor([] if v is None else v, None if hasattr(v, "_as_graph_element") else wide, name=n)
        for n, v in vectors.items())
    y, batch_mean, batch_variance, *_ = fusedbatchnormv3_op(
        x, scale, offset, before, var_before, epsilon=max(float(epsilon), 1.001e-5), data_format=data_format,
        is_training=bool(is_training), name=name)
    if is_training and exponential_avg_factor != 1.0:
        f = exponential_avg_factor
        batch_mean = (1.0 - f) * before + f * batch_mean
        batch_variance = (1.0 - f) * var_before + f * batch_variance
    return y, batch_mean, batch_variance


# -- in parts -----------------------------------------------------------------------------------------
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """Returns scale * (x - mean) / sqrt(variance + variance_epsilon) + offset, with broadcasting.

    `offset` and `scale` may be None.
    """
    with get_default_graph().name_scope(name or "batchnorm"):
        x = convert_to_tensor(x)
        factor = math.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        shift = -mean * factor if offset is None else offset - mean * factor
        return x * math.cast(factor, x.dtype) + math.cast(shift, x.dtype)


def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None, variance_epsilon=None,
                                         scale_after_normalization=None, name=None, input=None, mean=None,
                                         variance=None):
    """Returns `batch_normalization(t, m, v, beta, gamma or None, variance_epsilon)`; deprecated."""
    t, m, v = one_of("t", t, "input", input), one_of("m", m, "mean",
                                                     mean), one_of("v", v, "variance", variance)
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon,
                               name)


def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """Returns (mean, variance) of `x` over `axes`; the variance has n as divisor.

    Args:
      x: floating tensor; float16 is computed in float32.
      axes: list of ints.
      shift: accepted; the computation needs none.
      keepdims: leave the reduced axes with size 1.
    """
    keepdims = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with get_default_graph().name_scope(name or "moments"):
        x = convert_to_tensor(x, name="x")
        y = math.cast(x, dtypes.float32) if x.dtype is dtypes.float16 else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        variance = reduce_mean(math.squared_difference(y, mean), axes, keepdims=True, name="variance")
        if not keepdims:
            mean, variance = array.squeeze(mean, axes), array.squeeze(variance, axes)
        return math.cast(mean, x.dtype), math.cast(variance, x.dtype)


def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """Returns (count, sum, sum of squares, shift) of `x` over `axes`, from which moments follow.

    With a `shift` near the mean, sums are of x - shift, which loses fewer digits.
    """
    keepdims = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    axes = [int(a) for a in np.ravel(axes)]
    with get_default_graph().name_scope(name or "sufficient_statistics"):
        x = convert_to_tensor(x, name="x")
        sizes = None if x.dims is None else [x.dims[a] for a in axes]
        if sizes is not None and None not in sizes:
            counts = constant(size_of(tuple(sizes)), dtype=x.dtype, name="count")
        else:
            from regrad.ops.indexing import gather
            from regrad.ops.reduce import reduce_prod

            counts = math.cast(reduce_prod(gather(array.shape(x), axes)), x.dtype, name="count")
        if shift is None:
            total, squares = x, math.square(x)
        else:
            shift = convert_to_tensor(shift, name="shift",
                                      dtype=None if hasattr(shift, "_as_graph_element") else x.dtype)
            total, squares = x - shift, math.squared_difference(x, shift)
        total = reduce_sum(total, axes, keepdims=keepdims, name="mean_ss")
        squares = reduce_sum(squares, axes, keepdims=keepdims, name="var_ss")
        return counts, total, squares, shift


def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """Returns (mean, variance) from `sufficient_statistics`."""
    with get_default_graph().name_scope(name or "normalize"):
        divisor = math.reciprocal(counts, name="divisor")
        shifted = math.multiply(mean_ss, divisor, name="shifted_mean")
        mean = shifted if shift is None else math.add(shifted, shift, name="mean")
        variance = math.subtract(math.multiply(variance_ss, divisor), math.square(shifted), name="variance")
        return mean, variance


def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """Returns (mean, variance) of `x` over `axes`, each element counting `frequency_weights` times."""
    keepdims = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with get_default_graph().name_scope(name or "weighted_moments"):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights",
                                    dtype=None if hasattr(frequency_weights,
                                                          "_as_graph_element") else x.dtype)
        asked = x.dtype
        if asked is dtypes.float16:
            x = math.cast(x, dtypes.float32)
        weights = math.cast(weights, x.dtype)
        total_weight = reduce_sum(weights + array.zeros_like(x), axes, keepdims=True, name="sum_of_weights")
        divisor = math.reciprocal(total_weight, name="inv_weight_sum")
        mean = math.multiply(reduce_sum(weights * x, axes, keepdims=True), divisor)
        variance = math.multiply(reduce_sum(weights * math.squared_difference(x, mean), axes, keepdims=True),
                                 divisor)
        if not keepdims:
            mean, variance = array.squeeze(mean, axes), array.squeeze(variance, axes)
        return math.cast(mean, asked), math.cast(variance, asked)


def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """Returns x / sqrt(max(sum(x ** 2), epsilon)), the sum over `axis` (an int or a list)."""
    axis = one_of("axis", axis, "dim", dim)
    with get_default_graph().name_scope(name or "l2_normalize") as scope:
        x = convert_to_tensor(x, name="x")
        squares = reduce_sum(math.square(x), axis, keepdims=True)
        return math.multiply(x, math.rsqrt(math.maximum(squares, epsilon)), name=scope)


# -- local response normalisation ---------------------------------------------------------------------------
def _lrn_infer(x, **attrs):
    rank_is(x, 4, "input (must be 4-dimensional)")
    return Spec(x.dims, x.dtype)


def _window_sum(b, x, radius):
    """Returns the sum of `radius` elements to either side, and the element itself, along the last axis."""
    n = x.shape[-1]
    padded = b.np.pad(x, [(0, 0)] * (x.ndim - 1) + [(min(radius, n),) * 2])
    total = x
    for d in range(1, min(radius, n - 1) + 1):
        total = total + padded[..., min(radius, n) + d:min(radius, n) + d + n] \
            + padded[..., min(radius, n) - d:min(radius, n) - d + n]
    return total


def _lrn_norm(b, x, depth_radius, bias, alpha):
    return x.dtype.type(bias) + x.dtype.type(alpha) * _window_sum(b, b.np.square(x), depth_radius)


def _lrn_scale(b, norm, beta):
    """Returns norm^-beta; of the usual powers by square roots, in a fifth of the time that a power takes XLA."""
    if beta == 1:
        return 1 / norm
    if beta == 0.5:
        return 1 / b.np.sqrt(norm)
    if beta == 0.75:
        root = b.np.sqrt(norm)
        return 1 / (root * b.np.sqrt(root))
    return b.np.power(norm, norm.dtype.type(-beta))


def _lrn_lower(b, x, *, depth_radius, bias, alpha, beta):
    return x * _lrn_scale(b, _lrn_norm(b, x, depth_radius, bias, alpha), beta)


def _lrn_grad_infer(dy, x, y, **attrs):
    _lrn_infer(x)
    return Spec(merge(merge(x.dims, y.dims, "input_image and output_image:"), dy.dims,
                      "input_grads and input_image:"), x.dtype)


def _lrn_grad_lower(b, dy, x, y, *, depth_radius, bias, alpha, beta):
    # y_i = x_i m_i^-beta with m = bias + alpha sum x_j^2 over the neighbours j of i, which is symmetric in i
    # and j. The output is a function of x; it is computed anew, so that the derivative is right in each
    # argument.
    norm = _lrn_norm(b, x, depth_radius, bias, alpha)
    power = _lrn_scale(b, norm, beta)
    around = _window_sum(b, dy * x * power / norm, depth_radius)
    return dy * power - x.dtype.type(2 * alpha * beta) * x * around


_LRN_ATTRS = {"depth_radius": 5, "bias": 1.0, "alpha": 1.0, "beta": 0.5}
lrn_op = define_op("LRN", "input", attrs=_LRN_ATTRS, types={"T": FLOATING}, infer=_lrn_infer,
                   lower=_lrn_lower)
lrngrad_op = define_op("LRNGrad", "input_grads, input_image, output_image", attrs=_LRN_ATTRS,
                       types={"T": FLOATING},
                       infer=_lrn_grad_infer, lower=_lrn_grad_lower)


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """Returns input / (bias + alpha * s) ** beta, s summing the squares of channels within `depth_radius`.

    Args:
      input: floating [batch, height, width, channels] (Krizhevsky et al. 2012, section 3.3).
    """
    return lrn_op(input, depth_radius=int(depth_radius), bias=float(bias), alpha=float(alpha),
                  beta=float(beta), name=name)


lrn = local_response_normalization
