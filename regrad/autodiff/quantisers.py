"""Quantised forward, useful backward: DoReFa, PACT, LSQ, fake quantisation, binary and ternary weights.

Each is a function of tensors whose forward value has few levels and whose gradient is the published one; all are found in
`regrad.rules` too. Rounding is to the nearest, ties to even, as `tf.round`.
"""

from regrad.autodiff import surrogates
from regrad.autodiff.custom import custom_gradient
from regrad.autodiff.surrogates import straight_through
from regrad.autodiff.transforms import block, quantize_gradient
from regrad.core.convert import convert_to_tensor
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import array, compare, math
from regrad.ops.quantise import fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_per_channel
from regrad.ops.reduce import reduce_max, reduce_mean, reduce_sum


def _bits(bits, least=1):
    if not isinstance(bits, int) or not least <= bits <= 32:
        raise ValueError(f"bits must be an integer between {least} and 32, got {bits!r}.")
    return float(2**bits - 1)


def _tensor(x):
    return convert_to_tensor(x)


def _where(condition, like):
    return math.cast(condition, like.dtype)


def _clipped(x, low, high):
    return math.minimum(math.maximum(x, low), high)


def _whole(dy):
    return convert_to_tensor(dy) if isinstance(dy, IndexedSlices) else dy


def quantize_unit(x, bits, name=None):
    """Returns `x`, between 0 and 1, rounded to 2**bits levels; the gradient passes straight through.

    Zhou et al. 2016 (DoReFa-Net), arXiv 1606.06160, eq. 5 and 6.
    """
    levels = _bits(bits)
    return straight_through(lambda v: math.round(v * levels) / levels, name=name or "quantize_unit")(_tensor(x))


def dorefa_weights(w, bits, name=None):
    """Returns weights of `bits` bits. Zhou et al. 2016 (DoReFa-Net), arXiv 1606.06160, eq. 8 and 9.

    One bit: sign(w) mean|w|, straight through; more: 2 quantize(tanh(w) / (2 max|tanh(w)|) + 1/2) - 1, whose gradient goes
    through tanh and the maximum.
    """
    _bits(bits)
    w = _tensor(w)
    with get_default_graph().name_scope(name or "dorefa_weights"):
        if bits == 1:
            return straight_through(lambda v: _sign(v) * reduce_mean(math.abs(v)))(w)
        t = math.tanh(w)
        return 2.0 * quantize_unit(t / (2.0 * reduce_max(math.abs(t))) + 0.5, bits) - 1.0


def dorefa_activations(x, bits, name=None):
    """Returns clip(x, 0, 1) in `bits` bits. Zhou et al. 2016 (DoReFa-Net), arXiv 1606.06160, eq. 11."""
    _bits(bits)
    x = _tensor(x)
    with get_default_graph().name_scope(name or "dorefa_activations"):
        return quantize_unit(_clipped(x, array.zeros_like(x), array.ones_like(x)), bits)


def dorefa_gradients(x, bits, seed=None, name=None):
    """Returns `x`, whose gradient is quantised to `bits` bits, rounding at random. DoReFa-Net, eq. 12."""
    _bits(bits)
    return block(_tensor(x), quantize_gradient(bits, seed), name or "dorefa_gradients")


def pact(x, alpha, bits, name=None):
    """Returns clip(x, 0, alpha) in `bits` bits, with a learnt clip level. Choi et al. 2018 (PACT), arXiv 1805.06085.

    Args:
      alpha: scalar tensor or variable. Its gradient is the sum of what arrives where x >= alpha (eq. 3); that of x passes
        where 0 <= x < alpha.
    """
    levels = _bits(bits)

    @custom_gradient
    def pact_(x, alpha):
        def grad(dy):
            dy = _whole(dy)
            above = _where(x >= alpha, x)
            inside = _where(compare.logical_and(x >= array.zeros_like(x), x < alpha), x)
            return dy * inside, reduce_sum(dy * above)

        step = alpha / levels
        return math.round(_clipped(x, array.zeros_like(x), alpha) / step) * step, grad

    with get_default_graph().name_scope(name or "pact"):
        return pact_(_tensor(x), _tensor(alpha))


def lsq(x, step, bits, signed=True, scale_gradient=True, name=None):
    """Returns `x` in multiples of a learnt `step`. Esser et al. 2019 (LSQ), arXiv 1902.08153.

    Args:
      step: scalar tensor or variable, positive. Its gradient is round(x / step) - x / step inside the range and the range's
        end outside (eq. 3), times 1 / sqrt(size(x) Q_P) (section 2.2).
      bits, signed: the range is [-2**(bits-1), 2**(bits-1) - 1], or [0, 2**bits - 1].
      scale_gradient: False leaves the factor of section 2.2 out.
    """
    levels = _bits(bits, least=2 if signed else 1)
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1) if signed else (0.0, levels)

    @custom_gradient
    def lsq_(x, step):
        v = x / step
        bounded = _clipped(v, array.ones_like(v) * low, array.ones_like(v) * high)
        rounded = math.round(bounded)

        def grad(dy):
            dy = _whole(dy)
            inside = _where(compare.logical_and(v > array.ones_like(v) * low, v < array.ones_like(v) * high), v)
            by_step = reduce_sum(dy * (rounded - inside * v))
            if scale_gradient:
                by_step = by_step * math.rsqrt(math.cast(array.size(x), x.dtype) * high)
            return dy * inside, by_step

        return rounded * step, grad

    with get_default_graph().name_scope(name or "lsq"):
        return lsq_(_tensor(x), _tensor(step))


def fake_quant(x, low, high, bits=8, narrow_range=False, name=None):
    """Returns `x` as it would be after quantisation to `bits` bits between `low` and `high`: TF's FakeQuantWithMinMaxVars.

    Jacob et al. 2017, arXiv 1712.05877, section 3. The range is moved a little so that 0 is a level. x gets what arrives
    inside the range, `low` the sum of what arrives below it, `high` the sum of what arrives above.

    Args:
      low, high: numbers, scalar tensors or variables, or vectors with one range per index of the last axis of `x`;
        low <= 0 <= high and low < high.
      bits: from 2 to 16.
      narrow_range: the lowest level is left out, so that levels are symmetric.
    """
    x = _tensor(x)
    low, high = (convert_to_tensor(v, dtype=None if hasattr(v, "dtype") else x.dtype) for v in (low, high))
    quantised = fake_quant_with_min_max_vars_per_channel if low.rank == 1 else fake_quant_with_min_max_vars
    return quantised(x, low, high, bits, narrow_range, name=name or "fake_quant")


def _sign(x):
    """sign(x), and 1 at 0: a weight of one bit has no third level."""
    return compare.select(x < array.zeros_like(x), -array.ones_like(x), array.ones_like(x))


def binarize(x, derivative=None, scale_axes=None, name=None):
    """Returns -1 or 1 by the sign of `x`. Courbariaux et al. 2016 (BinaryNet), arXiv 1602.02830.

    Args:
      derivative: function of x; by default 1 where |x| <= 1. `rules.identity`, `rules.approx_sign`, `rules.swish_sign()` ...
      scale_axes: axes over which mean|x| scales the signs, as in XNOR-Net (Rastegari et al. 2016, arXiv 1603.05279, eq. 6);
        the scale is a constant to the gradient.
    """
    x = _tensor(x)
    with get_default_graph().name_scope(name or "binarize"):
        signs = straight_through(_sign, derivative or surrogates.clipped(1.0))(x)
        if scale_axes is None:
            return signs
        return signs * array.stop_gradient(reduce_mean(math.abs(x), axis=scale_axes, keepdims=True))


def ternarize(w, threshold=0.7, name=None):
    """Returns -a, 0 or a: 0 where |w| <= threshold mean|w|, a the mean of the other |w|; straight through.

    Li & Liu 2016 (ternary weight networks), arXiv 1605.04711, eq. 3, 5 and 6.
    """

    def levels(v):
        size = math.abs(v)
        kept = _where(size > threshold * reduce_mean(size), v)
        return math.div_no_nan(reduce_sum(size * kept), reduce_sum(kept)) * kept * math.sign(v)

    return straight_through(levels, name=name or "ternarize")(_tensor(w))
