"""Pooling: the largest or the mean of each window, in one to three dimensions, and its gradients.

A maximum over a rectangle is the maximum over its rows of the maxima within them, and the element that comes
first in row-major order among equals is found the same way: the first row that holds the maximum, then the
first place in it. So large windows are treated along one axis after the other, the last axis first, and their
gradients the other way round; small ones at once. Gradients: `pool_grad.py`.
"""

import functools
import itertools
import math

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, REAL
from regrad.core.errors import ShapeError, Unsupported
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import compatible, text
from regrad.ops import array, reducing
from regrad.ops.array import one_of
from regrad.ops.indexing import add_at
from regrad.ops.window import (
    Window,
    as_format,
    as_padding,
    as_text,
    cropped,
    first_of_largest,
    pad,
    per_axis,
    places,
    taps,
    untap,
)

_FEW = 4  # elements of a window that are worth an operation each; more are reduced along an axis of their own

# -- windows along one axis ---------------------------------------------------------------------------


def pool_windows(dims, ksize, strides, padding):
    """Returns the Windows of the axes that are pooled, in order."""
    if dims is None:
        dims = (None,) * len(ksize)
    return [Window(a, d, k, s, 1, padding) for a,
            (d, k, s) in enumerate(zip(dims, ksize, strides)) if (k, s) != (1, 1)]


def _lowest(dtype):
    return dtype.type(np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf)


def _tiles(x, w):
    """Returns `x` with the axis of a plain window split into [windows, elements of a window]."""
    return x.reshape(x.shape[:w.axis] + (w.out, w.k) + x.shape[w.axis + 1:])


def _untiled(x, w):
    return x.reshape(x.shape[:w.axis] + (w.size,) + x.shape[w.axis + 2:])


def _max_along(b, x, w):
    if w.plain and w.k > _FEW:
        return reducing.extreme(b, _tiles(x, w), (w.axis + 1,))
    return functools.reduce(b.np.maximum, taps(b, x, [w], _lowest(x.dtype)))


def _sum_along(b, x, w):
    if w.plain and w.k > _FEW:
        return b.np.sum(_tiles(x, w), axis=w.axis + 1, dtype=x.dtype)
    return sum(taps(b, x, [w]))


def _spread_along(b, dy, w):
    """Returns the transpose of `_sum_along`."""
    if w.plain:
        tiles = b.np.expand_dims(dy, w.axis + 1)
        return _untiled(b.np.broadcast_to(tiles, dy.shape[:w.axis + 1] + (w.k,) + dy.shape[w.axis + 1:]), w)
    return cropped(b, sum(untap(b, dy, [w], (t,)) for t in range(w.k)), [w])


# -- which element was the largest ------------------------------------------------------------------------
def _apart(b, function, x):
    """Returns `function(x)`, computed from `x` as it lies in memory."""
    return function(x) if b.is_host else b.call(function, [x])


def _back(b, x, dy, windows):
    """Returns `dy` sent to the first of the largest elements of each window of `x`."""
    if all(w.plain for w in windows):
        return _back_to_tiles(b, x, dy, windows)
    chosen = first_of_largest(b, taps(b, x, windows, _lowest(x.dtype)))
    shares = {at: b.np.where(chosen == i, dy, dy.dtype.type(0)) for i, at in enumerate(places(windows))}
    return _interleaved(b, shares, windows)


def _back_to_tiles(b, x, dy, windows):
    """Does so for windows that tile the input: finds which element each window chose, then fills tile by tile."""
    n = math.prod(w.k for w in windows)
    number = np.arange(n, dtype=np.int8 if n < 128 else np.int32)
    apart, tiled, spread = [], [], []  # shapes: windows, windows and their elements, the elements' numbers
    sizes = {w.axis: (w.out, w.k) for w in windows}
    for axis, d in enumerate(x.shape):
        out, k = sizes.get(axis, (d, 1))
        apart += [out, 1]
        tiled += [out, k]
        spread += [1, k]
    number = number.reshape(spread)
    if n <= _FEW**2:
        chosen = first_of_largest(b, taps(b, x, windows))
    else:
        # The least number among those that hold the maximum: XLA's argmax takes ten times as long.
        axes = tuple(2 * w.axis + 1 for w in windows)

        def least(x):
            tiles = x.reshape(tiled)
            holds = tiles == reducing.extreme(b, tiles, axes, keepdims=True)
            return b.np.min(b.np.where(holds, number, number.dtype.type(n - 1)), axis=axes)

        chosen = _apart(b, least, x)
    return b.np.where(chosen.reshape(apart) == number, dy.reshape(apart), dy.dtype.type(0)).reshape(x.shape)


def _interleaved(b, shares, windows):
    """Returns the sum over `at` of the transposed tap `at` of `shares[at]`.

    The input falls into as many interleaved parts as the strides have phases; each is a sum of the few taps
    that meet it, shifted. XLA makes one pass of that, where adding up spread-out taps makes many.
    """
    like = next(iter(shares.values()))
    blocks = [-(-(w.lo + w.size + w.hi) // w.stride) for w in windows]

    def part(phase):
        total = None
        for at in itertools.product(*(range(p, w.k, w.stride) for p, w in zip(phase, windows))):
            shift = [(0, 0)] * like.ndim
            for w, t, n in zip(windows, at, blocks):
                shift[w.axis] = (t // w.stride, n - w.out - t // w.stride)
            share = pad(b, shares[at], shift)
            total = share if total is None else total + share
        if total is None:  # a phase that lies between the windows
            shape = list(like.shape)
            for w, n in zip(windows, blocks):
                shape[w.axis] = n
            total = b.np.zeros(shape, like.dtype)
        return total

    def joined(phase):
        if len(phase) == len(windows):
            return part(phase)
        w, n = windows[len(phase)], blocks[len(phase)]
        parts = [joined((*phase, p)) for p in range(w.stride)]
        if len(parts) == 1:
            return parts[0]
        z = b.np.stack(parts, w.axis + 1)
        return z.reshape(z.shape[:w.axis] + (n * w.stride,) + z.shape[w.axis + 2:])

    return cropped(b, joined(()), windows)


def _on(b, x, g, windows):
    """Returns the elements of `g`, of the shape of `x`, where the windows' first maxima stand."""
    elements, values = taps(b, x, windows, _lowest(x.dtype)), taps(b, g, windows)
    chosen, picked = first_of_largest(b, elements), values[-1]
    for i, value in enumerate(values[:-1]):
        picked = b.np.where(chosen == i, value, picked)
    return picked


# -- whole rectangles ---------------------------------------------------------------------------------
def _groups(windows):
    """Returns the windows to be treated together: all when they have few elements, else one by one."""
    if math.prod(w.k for w in windows) <= _FEW**2 or all(w.plain for w in windows):
        return [windows] if windows else []
    return [[w] for w in windows]


def _max_lower(b, x, windows):
    for w in reversed(windows):
        x = _max_along(b, x, w)
    return x


def _stages(b, x, groups):
    """Returns [x, maxima over the last group of axes, over the last two ...], without those over all."""
    stages = [x]
    for group in reversed(groups[1:]):
        stages.append(_max_lower(b, stages[-1], group))
    return stages


def _back_lower(b, x, dy, windows):
    groups = _groups(windows)
    for stage, group in zip(reversed(_stages(b, x, groups)), groups):
        dy = _back(b, stage, dy, group)
    return dy


def _on_lower(b, x, g, windows):
    groups = _groups(windows)
    for stage, group in zip(_stages(b, x, groups), reversed(groups)):
        g = _on(b, stage, g, group)
    return g


def _counts(windows, shape, dtype):
    """Returns how many elements inside the input each window has, in a shape that broadcasts to `shape`."""
    counts = np.ones((1,) * len(shape))
    for w in windows:
        start = np.arange(w.out) * w.stride - w.lo
        n = np.minimum(start + w.k, w.size) - np.maximum(start, 0)
        counts = counts * n.reshape((1,) * w.axis + (-1,) + (1,) * (len(shape) - w.axis - 1))
    same = counts.size and np.all(counts == counts.flat[0])
    return counts.flat[0].astype(dtype) if same else counts.astype(dtype)


def _avg_lower(b, x, windows):
    y = x
    for w in reversed(windows):
        y = _sum_along(b, y, w)
    return y / _counts(windows, y.shape, x.dtype)


def _avg_back_lower(b, dy, windows):
    dx = dy / _counts(windows, dy.shape, dy.dtype)
    for w in windows:
        dx = _spread_along(b, dx, w)
    return dx


# -- shape rules ----------------------------------------------------------------------------------------
def _pooled(x, ksize, strides, padding, data_format, what="input"):
    rank = len(data_format)
    rank_is(x, rank, what)
    if ksize[0] != 1 or strides[0] != 1:
        raise Unsupported(f"Pooling is not yet supported on the batch dimension: ksize {list(ksize)}, strides "
                          f"{list(strides)}")
    dims = list(x.dims or (None,) * rank)
    for w in pool_windows(x.dims, ksize, strides, padding):
        dims[w.axis] = w.out
    return tuple(dims)


def _pool_infer(x, *, ksize, strides, padding, data_format, **attrs):
    _check_axes(x, ksize, strides, data_format)
    return Spec(_pooled(x, ksize, strides, padding, data_format), x.dtype)


def _check_axes(x, ksize, strides, data_format, across_depth=False):
    """Refuses windows across the batch or the channels, as TF's kernels do; max pooling may go across channels alone."""
    batch, depth = data_format.index("N"), data_format.index("C")
    if ksize[batch] != 1 or strides[batch] != 1:
        raise Unsupported("Pooling is not yet supported on the batch dimension.")
    k = ksize[depth]
    if k == 1 and strides[depth] == 1:
        return
    if not across_depth:
        raise Unsupported("Non-spatial pooling is not yet supported: pooling is not yet supported on the depth dimension.")
    if any(n != 1 for axis, n in enumerate(ksize) if axis != depth):
        raise Unsupported("MaxPooling supports exactly one of pooling across depth or pooling across width/height.")
    if k != strides[depth]:
        raise Unsupported("Depthwise max pooling requires the depth window to equal the depth stride.")
    if x.dims is not None and x.dims[depth] is not None and x.dims[depth] % k:
        raise Unsupported("Depthwise max pooling requires the depth window to evenly divide the input depth.")


def _max_pool_infer(x, *, ksize, strides, padding, data_format, **attrs):
    _check_axes(x, ksize, strides, data_format, across_depth=len(ksize) == 4)
    return Spec(_pooled(x, ksize, strides, padding, data_format), x.dtype)


def _must_agree(spec, dims, what):
    if not compatible(spec.dims, dims):
        raise ShapeError(f"{what} is {spec_text(spec)}, but pooling the input gives shape {text(dims)}")


def _pool_grad_infer(x, y, dy, *, ksize, strides, padding, data_format):
    dims = _pooled(x, ksize, strides, padding, data_format, "orig_input")
    _must_agree(y, dims, "orig_output")
    _must_agree(dy, dims, "grad")
    return Spec(x.dims, x.dtype)


def _pool_gradgrad_infer(x, y, g, *, ksize, strides, padding, data_format):
    dims = _pooled(x, ksize, strides, padding, data_format, "orig_input")
    _must_agree(y, dims, "orig_output")
    if not compatible(g.dims, x.dims):
        raise ShapeError(f"grad is {spec_text(g)}, but the input is {spec_text(x)}")
    return Spec(y.dims if x.dims is None else dims, x.dtype)


def _windows_of(x, ksize, strides, padding):
    return pool_windows(tuple(x.shape), ksize, strides, padding)


def _pool_attrs(data_format):
    return {"ksize": None, "strides": None, "padding": None, "data_format": data_format}


def _max_family(suffix, data_format):
    """Defines the max-pool op of 2 or 3 dimensions, its gradient and that one's gradient."""
    attrs = _pool_attrs(data_format)
    types = {"T": REAL}

    def lower(b, x, *, ksize, strides, padding, data_format):
        return _max_lower(b, x, _windows_of(x, ksize, strides, padding))

    def lower_grad(b, x, y, dy, *, ksize, strides, padding, data_format):
        return _back_lower(b, x, dy, _windows_of(x, ksize, strides, padding))

    def lower_gradgrad(b, x, y, g, *, ksize, strides, padding, data_format):
        return _on_lower(b, x, g, _windows_of(x, ksize, strides, padding))

    three = "orig_input, orig_output, grad"
    pool = define_op(f"MaxPool{suffix}", "input", attrs=attrs, types=types, infer=_max_pool_infer, lower=lower)
    # TF finds the maxima anew too, and programs rely on it: relevance propagation passes an orig_output that was changed.
    grad = define_op(f"MaxPool{suffix}Grad", three, attrs=attrs, types=types, shape_only=(1,), infer=_pool_grad_infer,
                     lower=lower_grad)
    gradgrad = define_op(f"MaxPool{suffix}GradGrad", three, attrs=attrs, types=types, shape_only=(1,),
                         infer=_pool_gradgrad_infer, lower=lower_gradgrad)
    return pool, grad, gradgrad


def _avg_family(suffix, data_format):
    attrs = _pool_attrs(data_format)

    def grad_infer(shape, dy, *, ksize, strides, padding, data_format):
        rank = len(data_format)
        dims = shape.partial()
        if shape.rank not in (None, 1) or dims is not None and len(dims) != rank:
            raise ShapeError(f"orig_input_shape must be a vector of {rank} sizes, got {spec_text(shape)}")
        if dims is None:
            dims = (None,) * rank
        if dy.dims is not None and len(dy.dims) == rank and dims[0] is None:
            dims = (dy.dims[0], *dims[1:])
        _must_agree(dy, _pooled(Spec(dims, dy.dtype), ksize, strides, padding, data_format), "grad")
        return Spec(dims, dy.dtype)

    pool = define_op(f"AvgPool{suffix}", "value", attrs=attrs, types={"T": FLOATING}, infer=_pool_infer,
                     lower=lambda b, x, *, ksize, strides, padding, data_format:
                     _avg_lower(b, x, _windows_of(x, ksize, strides, padding)))
    grad = define_op(f"AvgPool{suffix}Grad", "orig_input_shape: int32, grad: T", attrs=attrs,
                     types={"T": FLOATING},
                     static=(0,), infer=grad_infer, lower=lambda b, shape, dy, *, ksize, strides, padding,
                     data_format:
                     _avg_back_lower(b, dy, pool_windows(tuple(int(d) for d in shape), ksize, strides,
                                                         padding)))
    return pool, grad


maxpool_op, maxpoolgrad_op, maxpoolgradgrad_op = _max_family("", "NHWC")
maxpool3d_op, maxpool3dgrad_op, maxpool3dgradgrad_op = _max_family("3D", "NDHWC")
avgpool_op, avgpoolgrad_op = _avg_family("", "NHWC")
avgpool3d_op, avgpool3dgrad_op = _avg_family("3D", "NDHWC")


# -- MaxPoolV2: window and strides are tensors -------------------------------------------------------------
def _dynamic(infer):
    """Makes a shape rule whose last two inputs are ksize and strides from one that has them as attributes."""

    def rule(*inputs, padding, data_format):
        *tensors, ksize, strides = inputs
        k, s = ksize.value(), strides.value()
        if k is None or s is None:
            like = tensors[0] if infer is _pool_grad_infer else Spec((None,) * len(data_format),
                                                                     tensors[0].dtype)
            return Spec(like.dims, like.dtype)
        return infer(*tensors, ksize=_ints(k), strides=_ints(s), padding=padding, data_format=data_format)

    return rule


def _ints(v):
    v = np.asarray(v)
    if v.shape != (4,) or v.min() < 1:
        raise ShapeError(f"ksize and strides must be vectors of 4 sizes of at least 1, got {v.tolist()}")
    return tuple(int(i) for i in v)


_V2_ATTRS = {"padding": None, "data_format": "NHWC"}
_V2_TYPES = {"T": REAL}
maxpoolv2_op = define_op("MaxPoolV2", "input: T, ksize: int32, strides: int32", attrs=_V2_ATTRS,
                         types=_V2_TYPES, static=(1, 2), infer=_dynamic(_max_pool_infer), lower=lambda b, x, k, s,
                         *, padding, data_format:
                         _max_lower(b, x, _windows_of(x, _ints(k), _ints(s), padding)))
maxpoolgradv2_op = define_op("MaxPoolGradV2",
                             "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32",
                             attrs=_V2_ATTRS, types=_V2_TYPES, static=(3, 4), shape_only=(1,),
                             infer=_dynamic(_pool_grad_infer), lower=lambda b, x, y, dy, k, s, *, padding,
                             data_format:
                             _back_lower(b, x, dy, _windows_of(x, _ints(k), _ints(s), padding)))
maxpoolgradgradv2_op = define_op("MaxPoolGradGradV2",
                                 "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32",
                                 attrs=_V2_ATTRS, types=_V2_TYPES, static=(3, 4), shape_only=(1,),
                                 infer=_dynamic(_pool_gradgrad_infer), lower=lambda b, x, y, g, k, s, *,
                                 padding, data_format:
                                 _on_lower(b, x, g, _windows_of(x, _ints(k), _ints(s), padding)))


# -- MaxPoolWithArgmax --------------------------------------------------------------------------------------
_ARGMAX_ATTRS = {"ksize": None, "strides": None, "Targmax": dtypes.int64, "padding": None,
                 "include_batch_in_index": False}


def _argmax_infer(x, *, ksize, strides, padding, Targmax, include_batch_in_index):
    dims = _pooled(x, ksize, strides, padding, "NHWC")
    return [Spec(dims, x.dtype), Spec(dims, Targmax)]


def _argmax_lower(b, x, *, ksize, strides, padding, Targmax, include_batch_in_index):
    windows = _windows_of(x, ksize, strides, padding)
    shape = x.shape if include_batch_in_index else (1, *x.shape[1:])
    index = np.arange(np.prod(shape, dtype=np.int64), dtype=Targmax.as_numpy_dtype).reshape(shape)
    y = _max_lower(b, x, windows)
    return y, _on_lower(b, x, b.np.broadcast_to(b.np.asarray(index), x.shape), windows)


def _flat_index(b, argmax, n, per_example, include_batch_in_index):
    index = argmax.reshape(n, -1)
    if include_batch_in_index:
        return index
    return index + (b.np.arange(n) * per_example).astype(index.dtype)[:, None]


def _argmax_grad_infer(x, dy, argmax, *, ksize, strides, padding, Targmax, include_batch_in_index):
    dims = _pooled(x, ksize, strides, padding, "NHWC")
    _must_agree(dy, dims, "grad")
    _must_agree(argmax, dims, "argmax")
    return Spec(x.dims, dy.dtype)


def _argmax_grad_lower(b, x, dy, argmax, *, include_batch_in_index, **attrs):
    n, size = x.shape[0], int(np.prod(x.shape, dtype=np.int64))
    index = _flat_index(b, argmax, n, size // max(n, 1), include_batch_in_index)
    return add_at(b, (size,), (index.reshape(-1),), dy.reshape(-1)).reshape(x.shape)


def _argmax_gradgrad_infer(x, g, argmax, **attrs):
    return Spec(argmax.dims, g.dtype)


def _argmax_gradgrad_lower(b, x, g, argmax, *, include_batch_in_index, **attrs):
    n = x.shape[0]
    index = _flat_index(b, argmax, n, int(np.prod(x.shape[1:], dtype=np.int64)), include_batch_in_index)
    return b.np.take(g.reshape(-1), index.reshape(-1)).reshape(argmax.shape)


maxpoolargmax_op = define_op("MaxPoolWithArgmax", "input", attrs=_ARGMAX_ATTRS, types={"T": REAL},
                             infer=_argmax_infer, lower=_argmax_lower)
maxpoolargmaxgrad_op = define_op("MaxPoolGradWithArgmax", "input: T, grad: T, argmax: Targmax",
                                 attrs=_ARGMAX_ATTRS, types={"T": REAL, "Targmax": INDEX},
                                 infer=_argmax_grad_infer, shape_only=(0,), lower=_argmax_grad_lower)
maxpoolargmaxgradgrad_op = define_op("MaxPoolGradGradWithArgmax", "input: T, grad: T, argmax: Targmax",
                                     attrs=_ARGMAX_ATTRS, types={"T": REAL, "Targmax": INDEX},
                                     infer=_argmax_gradgrad_infer, shape_only=(0,),
                                     lower=_argmax_gradgrad_lower)


# -- public functions ------------------------------------------------------------------------------
def _attrs(spatial, ksize, strides, padding, data_format):
    data_format = as_format(data_format, spatial)
    if as_text(padding) is None or not isinstance(as_text(padding), str):
        raise ValueError(f"padding must be 'SAME' or 'VALID', got {padding!r}; pad with tf.pad for others.")
    return {"ksize": per_axis(ksize, data_format, "ksize", None),
            "strides": per_axis(strides, data_format, "strides", None),
            "padding": as_padding(padding, data_format)[0], "data_format": data_format}


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Returns the largest element of each window.

    Args:
      value: [batch, height, width, channels], any real dtype; or in the order that `data_format` says.
      ksize, strides: int, or a list of 1, 2 or 4: size of the window, and distance from one to the next.
      padding: "SAME" (the output has size ceil(size / stride); padding is never the largest) or "VALID".
      data_format: "NHWC" or "NCHW".
      input: the newer name of `value`.

    Gradient: all to the first of the largest elements, in row-major order.

    Example:
      image = tf.reshape([1.0, 4.0, 3.0, 2.0], [1, 1, 4, 1])
      print(tf.Session().run(tf.nn.max_pool(image, [1, 1, 2, 1], [1, 1, 2, 1], "VALID")).ravel())
      #> [4. 3.]
    """
    value = one_of("value", value, "input", input)
    with get_default_graph().name_scope(name or "MaxPool") as scope:
        return maxpool_op(convert_to_tensor(value, name="input"), name=scope,
                          **_attrs(2, ksize, strides, padding, data_format))


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """Returns the mean of each window; padding does not count. Arguments as in `max_pool`.

    Example:
      image = tf.reshape([1.0, 4.0, 3.0, 2.0], [1, 1, 4, 1])
      print(tf.Session().run(tf.nn.avg_pool(image, [1, 1, 2, 1], [1, 1, 2, 1], "VALID")).ravel())
      #> [2.5 2.5]
    """
    value = one_of("value", value, "input", input)
    with get_default_graph().name_scope(name or "AvgPool") as scope:
        return avgpool_op(convert_to_tensor(value, name="value"), name=scope,
                          **_attrs(2, ksize, strides, padding, data_format))


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Returns the largest element of each window of [batch, depth, height, width, channels] (or "NCDHW")."""
    return maxpool3d_op(input, name=name, **_attrs(3, ksize, strides, padding, data_format))


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """Returns the mean of each window of [batch, depth, height, width, channels] (or "NCDHW")."""
    return avgpool3d_op(input, name=name, **_attrs(3, ksize, strides, padding, data_format))


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """Returns the largest element of each window of images; as `max_pool`."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


def avg_pool2d(value=None, ksize=None, strides=None, padding=None, data_format="NHWC", name=None, input=None):
    """Returns the mean of each window of images; as `avg_pool`."""
    return avg_pool(one_of("input", input, "value", value), ksize, strides, padding, data_format, name or "AvgPool2D")


def _pool1d(pool, scope, input, ksize, strides, padding, data_format, name):
    with get_default_graph().name_scope(name or scope):
        data_format = as_format(data_format, 1)
        axis = data_format.index("W")
        ksize, strides = (per_axis(v, data_format, n, None) for v,
                          n in ((ksize, "ksize"), (strides, "strides")))
        wide = array.expand_dims(convert_to_tensor(input, name="input"), axis)
        y = pool(wide, ksize[:axis] + (1,) + ksize[axis:], strides[:axis] + (1,) + strides[axis:], padding,
                 data_format=data_format.replace("W", "HW"))
        return array.squeeze(y, [axis])


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Returns the largest element of each window of [batch, width, channels] (or "NCW")."""
    return _pool1d(max_pool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """Returns the mean of each window of [batch, width, channels] (or "NCW")."""
    return _pool1d(avg_pool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


def _any_rank(one, two, three, input, ksize, strides, padding, data_format, name):
    data_format = as_text(data_format)
    input = convert_to_tensor(input, name="input")
    rank = len(data_format) if data_format is not None else input.rank
    if rank not in (3, 4, 5):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}: {input.name}.")
    return (one, two, three)[rank - 3](input, ksize, strides, padding, data_format=data_format, name=name)


def max_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """Returns the largest element of each window, in 1, 2 or 3 dimensions by the rank of `input`."""
    return _any_rank(max_pool1d, max_pool, max_pool3d, input, ksize, strides, padding, data_format, name)


def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """Returns the mean of each window, in 1, 2 or 3 dimensions by the rank of `input`."""
    return _any_rank(avg_pool1d, avg_pool, avg_pool3d, input, ksize, strides, padding, data_format, name)


def max_pool_grad(orig_input, orig_output, grad, ksize, strides, padding, data_format="NHWC", name=None):
    """Returns the gradient of `max_pool`: `grad` at the first largest element of each window."""
    return maxpoolgrad_op(orig_input, orig_output, grad, name=name,
                          **_attrs(2, ksize, strides, padding, data_format))


def avg_pool_grad(orig_input_shape, grad, ksize, strides, padding, data_format="NHWC", name=None):
    """Returns the gradient of `avg_pool` of an input of shape `orig_input_shape`."""
    return avgpoolgrad_op(orig_input_shape, grad, name=name,
                          **_attrs(2, ksize, strides, padding, data_format))


def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", Targmax=None, name=None,
                         output_dtype=None, include_batch_in_index=False):
    """Returns (the largest element of each window, its index).

    Args:
      input: [batch, height, width, channels], any real dtype.
      ksize, strides, padding: as in `max_pool`.
      Targmax: int64 or int32, the dtype of the index; `output_dtype` is its newer name.
      include_batch_in_index: count elements through the whole input, not through one example.

    Returns:
      The maxima, and ((batch * height + y) * width + x) * channels + c for each (batch counted as 0 unless
      included).
    """
    if as_text(data_format) != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    Targmax = dtypes.as_dtype(one_of("Targmax", Targmax, "output_dtype", output_dtype) or dtypes.int64)
    attrs = _attrs(2, ksize, strides, padding, "NHWC")
    del attrs["data_format"]
    return maxpoolargmax_op(input, Targmax=Targmax, include_batch_in_index=include_batch_in_index, name=name,
                            **attrs)


def _one_each(values, n, what):
    """Returns `n` positive ints: 1 for None, and one number for all."""
    values = [1 if values is None else values] * n if np.ndim(values) == 0 else list(values)
    if len(values) != n or min(values) < 1:
        raise ValueError(f"{what} must be {n} positive ints, one for each axis of the window, got {values}.")
    return values


def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None,
         data_format=None, dilations=None, dims=None):
    """Returns "MAX" or "AVG" pooling in as many dimensions as `window_shape` has.

    Args:
      input: [batch, *spatial, channels]; channels second when `data_format` starts with "NC".
      window_shape: 1 to 3 sizes.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID".
      dilation_rate: distance between a window's elements per axis; with it "SAME" pads with zeros, which then
        count.
      strides: distance between windows per axis, 1 by default; not together with dilation_rate.
    """
    dilation_rate = one_of("dilation_rate", dilation_rate, "dilations", dilations)
    n = len(window_shape)
    if n not in (1, 2, 3):
        raise ValueError("Cannot perform pooling: window_shape must have 1, 2 or 3 sizes, got "
                         f"{window_shape}.")
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"Unsupported pooling type: {pooling_type!r}; it is 'MAX' or 'AVG'.")
    rates, strides = (_one_each(v, n, what) for v, what in ((dilation_rate, "dilation_rate"), (strides, "strides")))
    if max(rates) > 1 and max(strides) > 1:
        raise ValueError(f"strides > 1 not supported in conjunction with dilation_rate > 1: got {strides}, "
                         f"{rates}.")
    if any(s > w for s, w in zip(strides, window_shape)):
        raise ValueError("strides > window_shape not supported due to inconsistency between CPU and GPU: "
                         f"{strides}, {list(window_shape)}")
    function = {"MAX": (max_pool1d, max_pool, max_pool3d),
                "AVG": (avg_pool1d, avg_pool, avg_pool3d)}[pooling_type][n - 1]
    with get_default_graph().name_scope(name or f"{pooling_type.lower()}_pool") as scope:
        input = convert_to_tensor(input, name="input")
        if max(rates) == 1:
            return function(input, list(window_shape), strides, padding, data_format=data_format, name=scope)
        return _dilated_pool(function, input, window_shape, rates, padding, data_format, scope)


def _dilated_pool(function, input, window_shape, rates, padding, data_format, name):
    # Every rate-th element forms an image of its own: fold those into the batch, pool, unfold.
    from regrad.ops.layout import batch_to_space_nd, space_to_batch_nd

    n = len(window_shape)
    data_format = as_format(data_format, n)
    channels_first = data_format.startswith("NC")
    x = array.transpose(input, [0, *range(2, n + 2), 1]) if channels_first else input
    if x.dims is None or None in x.dims[1:-1]:
        raise ValueError(f"pool: with dilation_rate the spatial sizes of {input.name} must be known, got "
                         f"{spec_text(input)}.")
    base, crops = [], []
    for i in range(n):
        w = Window(i + 1, x.dims[i + 1], window_shape[i], 1, rates[i], as_padding(padding, data_format)[0])
        rest = -(w.size + w.lo + w.hi) % rates[i]
        base.append([w.lo, w.hi + rest])
        crops.append([0, rest])
    y = space_to_batch_nd(x, rates, base)
    y = function(y, list(window_shape), [1] * n, "VALID")
    y = batch_to_space_nd(y, rates, crops, name=None if channels_first else name)
    return array.transpose(y, [0, n + 1, *range(1, n + 1)], name=name) if channels_first else y
