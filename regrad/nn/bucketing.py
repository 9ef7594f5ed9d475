"""Feeds of any size in a few sizes, so that what they are fed to compiles a few times only."""

import numpy as np

from regrad.core import dtypes
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape
from regrad.ops.array import placeholder as make_placeholder
from regrad.ops.array import shape
from regrad.ops.indexing import sequence_mask


class Bucket:
    """How the feeds of a placeholder are padded: with zeros, along some axes, to the next of some sizes.

    Attributes:
      axes: {axis: (sizes, the placeholder that is fed with the size that came)}.
    """

    def __init__(self, tensor):
        self.tensor = tensor
        self.axes = {}

    def feeds(self, value):
        """Returns [(tensor, value)]: what is fed instead of `value`."""
        array = np.asarray(value)
        if array.ndim <= max(self.axes):  # refused where it is fed, in the usual words
            return [(self.tensor, value), *((length, np.int32(0)) for _, length in self.axes.values())]
        widths = [(0, 0)] * array.ndim
        for axis, (sizes, _) in self.axes.items():
            widths[axis] = (0, self._size_for(array.shape[axis], axis, sizes) - array.shape[axis])
        return [(self.tensor, np.pad(array, widths)),
                *((length, np.int32(array.shape[axis])) for axis, (_, length) in self.axes.items())]

    def _size_for(self, size, axis, sizes):
        if sizes is None:
            return 1 << max(size - 1, 0).bit_length()
        for s in sizes:
            if s >= size:
                return s
        raise ValueError(f"A feed of size {size} along axis {axis} of {self.tensor.name} is larger than the largest "
                         f"bucket, {sizes[-1]}; tf.bucket was given {list(sizes)}.")


def bucket(placeholder, axis=0, sizes=None, name=None):
    """Pads every feed of a placeholder with zeros to one of a few sizes, and returns which of its rows are real.

    A program is compiled for every shape that it is fed with; with buckets there are only a few. What sums over the padded
    axis has to leave the padding out: `tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)`.

        x = tf.placeholder(tf.float32, [None, 10])
        mask = tf.bucket(x, sizes=[16, 64, 256])

    Where several axes vary, each has buckets, and a mask, of its own.

    Args:
      placeholder: a placeholder whose size along `axis` is unknown.
      axis: the axis.
      sizes: increasing sizes; by default the powers of two.
      name: of the mask.

    Returns:
      float32 [padded size]: 1 for what was fed, 0 for padding.

    Raises:
      TypeError: `placeholder` is none.
      ValueError: the size along `axis` is known, or there is no such axis, `sizes` do not increase, or the axis has
        buckets already; when run: a feed is larger than all sizes.
    """
    if not isinstance(placeholder, Tensor) or placeholder.op.type not in ("Placeholder", "PlaceholderWithDefault"):
        raise TypeError(f"tf.bucket takes a placeholder, got {placeholder!r}.")
    dims, graph = placeholder.dims, placeholder.op.graph
    if dims is None or not -len(dims) <= axis < len(dims) or dims[axis] is not None:
        raise ValueError(f"tf.bucket needs an axis of unknown size; {placeholder.name} has shape {TensorShape(dims)}, and axis "
                         f"{axis} was asked for; made at {placeholder.op.location}.")
    sizes = tuple(int(s) for s in sizes) if sizes is not None else None
    if sizes is not None and (not sizes or any(b <= a for a, b in zip((0, *sizes), sizes))):
        raise ValueError(f"tf.bucket: sizes must be positive and increase, got {list(sizes)}.")
    axis %= len(dims)
    known = graph._buckets.get(placeholder)
    if known is not None and axis in known.axes:
        raise ValueError(f"Axis {axis} of {placeholder.name} has buckets already; made at {placeholder.op.location}.")
    with graph.as_default(), graph.name_scope(name or "bucket"):
        length = make_placeholder(dtypes.int32, [], name="length")
        mask = sequence_mask(length, shape(placeholder)[axis], dtype=dtypes.float32)
    graph._buckets.setdefault(placeholder, Bucket(placeholder)).axes[axis] = sizes, length
    return mask
