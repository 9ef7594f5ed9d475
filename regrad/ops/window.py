"""Sliding windows: data formats, paddings, output sizes, and the shifted views ("taps") of which windows are
made.

Shared by `conv.py`, `pool.py` and patch extraction. A data format names the axes, "NHWC", "NCDHW" ...; a
*window* of an axis is its kernel size, stride, dilation, and the padding before and after.
"""

import numpy as np

from regrad.core.errors import ShapeError
from regrad.core.shapes import as_int

FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def as_text(value):
    """Returns a string attribute as str; TF1 programs pass on what `get_attr` gave them, which is bytes."""
    return value.decode() if isinstance(value, bytes) else value


def as_format(data_format, spatial):
    """Returns a data format of `spatial` axes, channels last by default; ValueError for other words."""
    data_format = as_text(data_format) or FORMATS[spatial][0]
    if data_format not in FORMATS[spatial]:
        raise ValueError(f"data_format must be one of {', '.join(map(repr, FORMATS[spatial]))}, got "
                         f"{data_format!r}.")
    return data_format


def spatial_axes(data_format):
    """Returns the positions of the spatial axes: (1, 2) for "NHWC"."""
    return tuple(i for i, c in enumerate(data_format) if c not in "NC")


def per_axis(value, data_format, what, default=1):
    """Returns one int per axis of `data_format` from an int, or a list for the spatial axes or for all axes.

    Raises:
      ValueError: the list is of no such length, or a number is less than 1.
    """
    if value is None:
        value = default
    rank = len(data_format)
    values = [as_int(v, what) for v in ([value] if np.ndim(value) == 0 else value)]
    if len(values) == 1:
        values *= rank - 2
    if len(values) == rank - 2:
        values.insert(data_format.index("C") - 1, 1)
        values.insert(0, 1)
    if len(values) != rank:
        raise ValueError(f"{what} should be of length 1, {rank - 2} or {rank} but was {len(values)}: "
                         f"{value}.")
    if any(v < 1 for v in values):
        raise ValueError(f"all values of {what} must be positive, got {value}.")
    return tuple(values)


def as_padding(padding, data_format):
    """Returns (padding, flat explicit paddings) from "SAME", "VALID" or a pair of ints per axis."""
    padding = as_text(padding)
    if isinstance(padding, str):
        if padding not in ("SAME", "VALID"):
            raise ValueError("padding must be 'SAME', 'VALID' or a list of pairs, one per axis; got "
                             f"{padding!r}.")
        return padding, ()
    if padding is None:
        raise ValueError("padding must be given: 'SAME', 'VALID' or a list of pairs, one per axis.")
    pairs = [tuple(int(v) for v in pair) for pair in padding]
    if len(pairs) != len(data_format) or any(len(pair) != 2 or min(pair) < 0 for pair in pairs):
        raise ValueError(f"explicit padding must be a list of {len(data_format)} pairs of sizes of at least "
                         f"0, one per axis of {data_format}, got {padding}.")
    if any(pairs[data_format.index(c)] != (0, 0) for c in "NC"):
        raise ValueError(f"explicit padding of the batch and channel axes must be [0, 0], got {padding} for "
                         f"{data_format}.")
    return "EXPLICIT", tuple(v for pair in pairs for v in pair)


class Window:
    """The window along one axis; sizes may be None where not known."""

    __slots__ = ("axis", "size", "k", "stride", "dilation", "lo", "hi", "out")

    def __init__(self, axis, size, k, stride, dilation, padding, explicit=()):
        self.axis, self.size, self.k, self.stride, self.dilation = axis, size, k, stride, dilation
        self.lo = self.hi = 0
        self.out = None
        if padding == "EXPLICIT":
            self.lo, self.hi = explicit[2 * axis:2 * axis + 2]
        if size is None:
            return
        if padding == "SAME":
            # As many outputs as strides start inside; padding is shared out evenly, the odd one after.
            self.out = -(-size // stride)
            if k is not None:
                total = max((self.out - 1) * stride + (k - 1) * dilation + 1 - size, 0)
                self.lo, self.hi = total // 2, total - total // 2
        elif k is not None:
            extent, padded = (k - 1) * dilation + 1, size + self.lo + self.hi
            if padded < extent:
                raise ShapeError(f"Negative dimension size caused by subtracting {extent} from {padded}: "
                                 f"along axis {axis} the window covers {extent}, the padded input has "
                                 f"{padded}")
            self.out = (padded - extent) // stride + 1

    @property
    def plain(self):
        """True when the windows tile the axis: no padding, no overlap, no gap, no rest."""
        apart = (self.k == self.stride or self.out == 1) and self.dilation == 1
        return apart and not self.lo and not self.hi and self.out * self.k == self.size


def pad(b, x, widths, value=0):
    """Returns `x` with `value` put around it: (before, after) per axis."""
    if not any(map(any, widths)):
        return x
    if b.is_host:
        return np.pad(x, widths, constant_values=value)
    return b.lax.pad(x, x.dtype.type(value), [(lo, hi, 0) for lo, hi in widths])


def padded(b, x, windows, value=0):
    """Returns `x` with `value` put around it as the windows ask."""
    widths = [(0, 0)] * x.ndim
    for w in windows:
        widths[w.axis] = (w.lo, w.hi)
    return pad(b, x, widths, value)


def places(windows):
    """Returns the elements of a window as index tuples, in row-major order."""
    return list(np.ndindex(*(w.k for w in windows)))


def taps(b, x, windows, fill=0):
    """Returns the views of which the windows are made, in row-major order: for each element of a window, the
    tensor of that element in all windows. Outside of `x` it is `fill`.
    """
    x = padded(b, x, windows, fill)
    views = []
    for at in places(windows):
        start, stop, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
        for w, t in zip(windows, at):
            start[w.axis] = t * w.dilation
            stop[w.axis] = t * w.dilation + (w.out - 1) * w.stride + 1
            step[w.axis] = w.stride
        views.append(x[tuple(map(slice, start, stop, step))] if b.is_host
                     else b.lax.slice(x, start, stop, step))
    return views


def untap(b, y, windows, at):
    """Returns the transpose of the tap of element `at`: `y` put into zeros of the padded size."""
    config = [(0, 0, 0)] * y.ndim
    for w, t in zip(windows, at):
        total, start = w.lo + w.size + w.hi, t * w.dilation
        config[w.axis] = (start, total - start - ((w.out - 1) * w.stride + 1), w.stride - 1)
    if not b.is_host:
        return b.lax.pad(y, y.dtype.type(0), config)
    places = tuple(slice(lo, lo + (n - 1) * (step + 1) + 1, step + 1) for n,
                   (lo, _, step) in zip(y.shape, config))
    out = np.zeros([p.stop + hi for p, (_, hi, _) in zip(places, config)], y.dtype)
    out[places] = y
    return out


# Elements of a window are compared with each other, never with the maximum that the forward op made: XLA may compute the
# input of both again in another loop, where products and sums are contracted otherwise, and no element would equal it.
def first_of_largest(b, elements):
    """Returns which of equally shaped arrays is the first of the largest, an integer for each place."""
    dtype = np.int8 if len(elements) < 128 else np.int32
    best, chosen = elements[-1], dtype(len(elements) - 1)
    for i, element in reversed(list(enumerate(elements[:-1]))):  # backwards: the first is written last
        first = element >= best
        chosen = b.np.where(first, dtype(i), chosen)
        best = b.np.where(first, element, best)
    return chosen


def cropped(b, x, windows):
    """Returns `x` without its padding: the transpose of `padded` with zeros."""
    index = [slice(None)] * x.ndim
    for w in windows:
        index[w.axis] = slice(w.lo, w.lo + w.size)
    return x[tuple(index)] if any(w.lo or x.shape[w.axis] != w.size for w in windows) else x


def conv_windows(dims, kernel, data_format, strides, dilations, padding, explicit=()):
    """Returns the Windows of a convolution over `dims` (None: rank unknown) with sizes `kernel`."""
    dims = dims or (None,) * len(data_format)
    return [Window(a, dims[a], k, strides[a], dilations[a], padding, explicit)
            for a, k in zip(spatial_axes(data_format), kernel)]
