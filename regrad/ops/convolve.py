"""How convolutions are computed: the three products of a bilinear map, y = x * w, in the forms that are fast.

All work on channels-last arrays and on the Windows of the spatial axes; `conv.py` defines the ops. On the
host, and in the shapes where XLA on a CPU does better with them, a convolution is a sum over the filter's
taps: of matrix products of the shifted input (forward), of shifted products (by the input), and one product
for each tap (by the filter).
"""

import math

from regrad.ops.window import cropped, places, taps, untap
from regrad.runtime import onednn, products, winograd

_TAPS = 32  # more taps than these are not written out one by one
_FEW = 4  # up to so many channels of an image
_MANY_ROWS = 1024  # from so many on, XLA sums them up in a product on one core


def _groups(x_shape, w_shape):
    """Returns in how many groups the input's channels fall, for filters of fewer input channels."""
    return x_shape[-1] // w_shape[-2] if w_shape[-2] else 1


def _is_pointwise(windows):
    return all(w.k == 1 and not w.lo and not w.hi for w in windows)


def _rows(x):
    """Returns `x` as a matrix of its last axis; sizes may be 0, where -1 would say nothing."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _dot(x, w):
    """Returns the product of `x`, along its last axis, with the matrix `w`."""
    return (_rows(x) @ w).reshape(*x.shape[:-1], w.shape[-1])


def _matrices(w):
    """Returns the filter as a stack of matrices [taps, input channels, output channels]."""
    return w.reshape(math.prod(w.shape[:-2]), *w.shape[-2:])


def _by_group(b, function, groups, *arrays):
    """Returns the results for each group of channels side by side; `arrays` are cut on their last axis."""
    if groups <= 1:
        return function(*arrays)
    parts = zip(*(b.np.split(a, groups, -1) for a in arrays))
    return b.np.concatenate([function(*part) for part in parts], -1)


# -- sums over taps -----------------------------------------------------------------------------------
def _forward_by_taps(b, x, w, windows):
    return sum(_dot(tap, m) for tap, m in zip(taps(b, x, windows), _matrices(w)))


def _forward_of_few(b, x, w, windows):
    """Returns the convolution of an input of so few channels that XLA's own has short inner products to do."""
    for v in reversed(windows):  # along one axis after the other: fewer, longer copies
        x = b.np.concatenate(taps(b, x, [v]), -1)
    return _dot(x, _rows(w))


def _input_by_taps(b, w, dy, windows):
    # One product for all taps, then each tap's part put where its input came from.
    m = _matrices(w)
    parts = _dot(dy, _rows(m).T).reshape(*dy.shape[:-1], *m.shape[:2])
    terms = (untap(b, parts[..., i, :], windows, at) for i, at in enumerate(places(windows)))
    return cropped(b, sum(terms), windows)


def _filter_by_taps(b, x, dy, windows):
    rows = _rows(dy)
    parts = [products.product(b, _rows(tap), rows, transpose_x=True) for tap in taps(b, x, windows)]
    return b.np.stack(parts).reshape(*(w.k for w in windows), x.shape[-1], dy.shape[-1])


# -- XLA's convolution ----------------------------------------------------------------------------------
def _xla(b, x, w, windows):
    layout = {1: ("NWC", "WIO"), 2: ("NHWC", "HWIO"), 3: ("NDHWC", "DHWIO")}[len(windows)]
    return b.lax.conv_general_dilated(
        x, w, [v.stride for v in windows], [(v.lo, v.hi) for v in windows],
        rhs_dilation=[v.dilation for v in windows], dimension_numbers=(layout[0], layout[1], layout[0]),
        feature_group_count=_groups(x.shape, w.shape))


def _transposed(b, function, shape, dy):
    """Returns the transpose of a linear `function` of a tensor of `shape`, applied to `dy`."""
    (dx,) = b.jax.linear_transpose(function, b.jax.ShapeDtypeStruct(shape, dy.dtype))(dy)
    return dx


# -- the three products -----------------------------------------------------------------------------------
def _form(b, kind, x_shape, w_shape, dtype, windows):
    """Returns the form that is fastest, by measurement (benchmarks/NOTES.md): a module that has a `convolution` of all three
    kinds, or the name of a form.
    """
    n_taps, few = math.prod(w_shape[:-2]), x_shape[-1] <= _FEW
    if winograd.serves(b, kind, x_shape, w_shape, dtype, windows):
        return winograd
    by_onednn = onednn.serves(b, kind, x_shape, w_shape, dtype, windows)
    if b.is_host:
        return onednn if by_onednn else "taps"
    if x_shape[-1] != w_shape[-2]:
        return onednn if by_onednn else "xla"
    if kind == onednn.BY_INPUT and n_taps <= _TAPS:
        image = math.prod(w.out for w in windows)
        if few or not by_onednn and (image <= 64 or x_shape[0] * image <= 1024):
            return "taps"
    if _is_pointwise(windows):
        rows = x_shape[0] * math.prod(w.out for w in windows)
        if kind != onednn.BY_FILTER or rows < _MANY_ROWS or products.serves(b, *w_shape[-2:], rows, dtype, transpose_x=True):
            return "taps"
        return onednn if by_onednn else "taps"
    if by_onednn:
        return onednn
    return "patches" if kind == onednn.FORWARD and few and n_taps <= _TAPS else "xla"


def forward(b, x, w, windows):
    """Returns the cross-correlation of `x` [batch, *spatial, channels] with `w` [*window, in, out]."""
    form = _form(b, onednn.FORWARD, x.shape, w.shape, x.dtype, windows)
    if form == "taps":
        return _by_group(b, lambda x, w: _forward_by_taps(b, x, w, windows), _groups(x.shape, w.shape), x, w)
    if form == "patches":
        return _forward_of_few(b, x, w, windows)
    if form == "xla":
        return _xla(b, x, w, windows)
    shape = (x.shape[0], *(v.out for v in windows), w.shape[-1])
    return form.convolution(b, onednn.FORWARD, x, w, shape, windows)


def by_input(b, shape, w, dy, windows):
    """Returns the transpose of `forward` in `x`, which has `shape`: the gradient of the input."""
    form = _form(b, onednn.BY_INPUT, shape, w.shape, dy.dtype, windows)
    if form == "taps":
        return _by_group(b, lambda w, dy: _input_by_taps(b, w, dy, windows), _groups(shape, w.shape), w, dy)
    if form == "xla":
        return _transposed(b, lambda x: _xla(b, x, w, windows), shape, dy)
    return form.convolution(b, onednn.BY_INPUT, w, dy, shape, windows)


def by_filter(b, x, shape, dy, windows):
    """Returns the transpose of `forward` in `w`, which has `shape`: the gradient of the filter."""
    form = _form(b, onednn.BY_FILTER, x.shape, shape, dy.dtype, windows)
    if form == "taps":
        return _by_group(b, lambda x, dy: _filter_by_taps(b, x, dy, windows), _groups(x.shape, shape), x, dy)
    if form == "xla":
        return _transposed(b, lambda w: _xla(b, x, w, windows), shape, dy)
    return form.convolution(b, onednn.BY_FILTER, x, dy, shape, windows)


# -- depthwise ---------------------------------------------------------------------------------------------
# oneDNN's convolution in groups of one channel; else a sum over the filter's taps of the shifted input times one number per
# channel: what XLA makes of such a convolution takes 20 to 40 times as long on a CPU.


def _in_groups(w_shape):
    """Returns the shape, [*window, 1, out], of a depthwise filter as that of a convolution in groups of one channel."""
    return *w_shape[:-2], 1, math.prod(w_shape[-2:])


def depthwise(b, x, w, windows):
    """Returns each channel of `x` convolved with its own filters `w` [*window, channels, multiplier]."""
    shape = (x.shape[0], *(v.out for v in windows), math.prod(w.shape[-2:]))
    if onednn.serves(b, onednn.FORWARD, x.shape, _in_groups(w.shape), x.dtype, windows):
        return onednn.convolution(b, onednn.FORWARD, x, w.reshape(_in_groups(w.shape)), shape, windows)
    return sum(tap[..., None] * m for tap, m in zip(taps(b, x, windows), _matrices(w))).reshape(shape)


def depthwise_by_input(b, shape, w, dy, windows):
    """Returns the transpose of `depthwise` in `x`, which has `shape`."""
    if onednn.serves(b, onednn.BY_INPUT, shape, _in_groups(w.shape), dy.dtype, windows):
        return onednn.convolution(b, onednn.BY_INPUT, w.reshape(_in_groups(w.shape)), dy, shape, windows)
    dy = dy.reshape(*dy.shape[:-1], *w.shape[-2:])
    terms = (untap(b, b.np.sum(dy * m, axis=-1, dtype=dy.dtype), windows, at)
             for m, at in zip(_matrices(w), places(windows)))
    return cropped(b, sum(terms), windows)


def depthwise_by_filter(b, x, shape, dy, windows):
    """Returns the transpose of `depthwise` in `w`, which has `shape`."""
    if onednn.serves(b, onednn.BY_FILTER, x.shape, _in_groups(shape), x.dtype, windows):
        return onednn.convolution(b, onednn.BY_FILTER, x, dy, _in_groups(shape), windows).reshape(shape)
    dy = dy.reshape(*dy.shape[:-1], *shape[-2:])
    axes = tuple(range(dy.ndim - 2))
    return b.np.stack([b.np.sum(tap[..., None] * dy, axis=axes, dtype=dy.dtype)
                       for tap in taps(b, x, windows)]).reshape(shape)
