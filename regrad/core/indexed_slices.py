"""IndexedSlices: a tensor known only in some rows, such as the gradient of a gather."""

import math
import warnings

from regrad.core.convert import register_tensor_conversion_function
from regrad.core.opdef import find_op
from regrad.core.operation import Tensor
from regrad.core.shapes import TensorShape, fully_known

_LARGE = 100_000_000  # elements of a dense tensor made of slices that are worth a warning


class IndexedSlices:
    """Rows `values[i]` at positions `indices[i]` of a dense tensor that is zero elsewhere; equal indices add up.

    Attributes:
      values: tensor [n, ...].
      indices: int32 or int64 tensor [n].
      dense_shape: vector tensor, the shape of the dense tensor, or None when unknown.

    Example:
      params = tf.Variable(tf.zeros([100, 2]))
      rows = tf.gradients(tf.gather(params, [7, 3]), params)[0]
      print(type(rows).__name__, tf.Session().run(rows.indices))
      #> IndexedSlices [7 3]
    """

    __slots__ = ("values", "indices", "dense_shape")
    is_tensor_like = True
    _reflected = ("add", "mul", "sub", "truediv")  # of `tensor <op> slices`, what this class has

    def __init__(self, values, indices, dense_shape=None):
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def name(self):
        return self.values.name

    @property
    def op(self):
        return self.values.op

    @property
    def graph(self):
        return self.values.graph

    @property
    def device(self):
        return self.values.device

    @property
    def shape(self):
        dense = self.dense_shape
        return TensorShape(dense.partial() if isinstance(dense, Tensor) else dense)

    def consumers(self):
        return self.values.consumers()

    def _loop_parts(self):
        return [p for p in (self.values, self.indices, self.dense_shape) if p is not None], IndexedSlices

    def _loop_dims(self, shape):
        """Returns the sizes of the parts in any turn of a loop, given the shape of the values or None for the one they have."""
        dims = self.values.dims if shape is None else shape.dims_ or (None,) * len(self.values.dims or ())
        return [dims, dims[:1], *([] if self.dense_shape is None else [self.dense_shape.dims])]

    def __neg__(self):
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __str__(self):
        dense = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{dense})"

    __repr__ = __str__


def to_dense(slices, dtype=None, name=None, as_ref=False):
    """Returns the dense tensor; ValueError when the dense shape is unknown."""
    if dtype is not None and dtype is not slices.dtype:
        raise ValueError(f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {slices.dtype.name}.")
    if slices.dense_shape is None:
        raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {slices}")
    if isinstance(slices.values, Tensor):
        _warn_if_large(slices)
        rows = find_op("StridedSlice")(slices.dense_shape, [0], [1], [1], begin_mask=0, end_mask=0, ellipsis_mask=0,
                                       new_axis_mask=0, shrink_axis_mask=1)
        dense = find_op("UnsortedSegmentSum")(slices.values, slices.indices, rows, name=name)
        dense.set_shape(slices.shape)
        return dense
    raise TypeError(f"{slices} does not hold tensors.")


def _warn_if_large(slices):
    dims = slices.shape.dims_
    if fully_known(dims) and math.prod(dims) >= _LARGE:
        warnings.warn(f"Converting sparse IndexedSlices to a dense Tensor with {math.prod(dims)} elements. This may consume a "
                      "large amount of memory.", stacklevel=3)


register_tensor_conversion_function(IndexedSlices, to_dense)
