"""Feeds of any size in a few sizes, so that what they are fed to compiles a few times only."""

import numpy as np

from regrad.core import dtypes
from regrad.core.graph import Tensor
from regrad.core.shapes import TensorShape
from regrad.ops.array import placeholder as make_placeholder
from regrad.ops.array import shape
from regrad.ops.indexing import sequence_mask


class Bucket:
    """How the feeds of a placeholder are padded: with zeros, along one axis, to the next of some sizes."""

    def __init__(self, tensor, axis, sizes, length):
        self.tensor = tensor
        self.axis = axis
        self.sizes = sizes
        self.length = length  # the placeholder that is fed with the size that came

    def feeds(self, value):
        """Returns [(tensor, value)]: what is fed instead of `value`."""
        array = np.asarray(value)
        if array.ndim <= self.axis:
            return [(self.tensor, value), (self.length, np.int32(0))]  # refused where it is fed, in the usual words
        size = array.shape[self.axis]
        widths = [(0, 0)] * array.ndim
        widths[self.axis] = (0, self._size_for(size) - size)
        return [(self.tensor, np.pad(array, widths)), (self.length, np.int32(size))]

    def _size_for(self, size):
        if self.sizes is None:
            return 1 << max(size - 1, 0).bit_length()
        for s in self.sizes:
            if s >= size:
                return s
        raise ValueError(f"A feed of size {size} along axis {self.axis} of {self.tensor.name} is larger than the largest "
                         f"bucket, {self.sizes[-1]}; tf.bucket was given {list(self.sizes)}.")


def bucket(placeholder, axis=0, sizes=None, name=None):
    """Pads every feed of a placeholder with zeros to one of a few sizes, and returns which of its rows are real.

    A program is compiled for every shape that it is fed with; with buckets there are only a few. What sums over the padded
    axis has to leave the padding out: `tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)`.

        x = tf.placeholder(tf.float32, [None, 10])
        mask = tf.bucket(x, sizes=[16, 64, 256])

    Args:
      placeholder: a placeholder whose size along `axis` is unknown.
      axis: the axis.
      sizes: increasing sizes; by default the powers of two.
      name: of the mask.

    Returns:
      float32 [padded size]: 1 for what was fed, 0 for padding.

    Raises:
      TypeError: `placeholder` is none.
      ValueError: the size along `axis` is known, or there is no such axis, `sizes` do not increase, or the placeholder has
        buckets already; when run: a feed is larger than all sizes.
    """
    if not isinstance(placeholder, Tensor) or placeholder.op.type not in ("Placeholder", "PlaceholderWithDefault"):
        raise TypeError(f"tf.bucket takes a placeholder, got {placeholder!r}.")
    dims, graph = placeholder.dims, placeholder.op.graph
    if dims is None or not -len(dims) <= axis < len(dims) or dims[axis] is not None:
        raise ValueError(f"tf.bucket needs an axis of unknown size; {placeholder.name} has shape {TensorShape(dims)}, and axis "
                         f"{axis} was asked for; made at {placeholder.op.location}.")
    if placeholder in graph._buckets:
        raise ValueError(f"{placeholder.name} has buckets already; made at {placeholder.op.location}.")
    sizes = tuple(int(s) for s in sizes) if sizes is not None else None
    if sizes is not None and (not sizes or any(b <= a for a, b in zip((0, *sizes), sizes))):
        raise ValueError(f"tf.bucket: sizes must be positive and increase, got {list(sizes)}.")
    axis %= len(dims)
    with graph.as_default(), graph.name_scope(name or "bucket"):
        length = make_placeholder(dtypes.int32, [], name="length")
        mask = sequence_mask(length, shape(placeholder)[axis], dtype=dtypes.float32)
    graph._buckets[placeholder] = Bucket(placeholder, axis, sizes, length)
    return mask
