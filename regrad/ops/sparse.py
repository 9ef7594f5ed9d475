"""SparseTensor: coordinates and values, as three tensors. Fed and fetched as `SparseTensorValue`."""

import collections

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.shapes import TensorShape
from regrad.ops.array import broadcast_to, expand_dims, fill, placeholder, shape, transpose
from regrad.ops.indexing import gather, scatter_nd, tensor_scatter_update
from regrad.ops.math import cast
from regrad.ops.segment import unsorted_segment_sum

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor:
    """A tensor of which only some elements are given.

    Attributes:
      indices: int64 [n, rank], the positions, in row-major order.
      values: [n], the elements there.
      dense_shape: int64 [rank].
    """

    def __init__(self, indices, values, dense_shape):
        self.indices = convert_to_tensor(indices, dtype=dtypes.int64, name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, dtype=dtypes.int64, name="shape")

    @classmethod
    def from_value(cls, value):
        """Returns a SparseTensor of a SparseTensorValue, or `value` if it is one already."""
        return value if isinstance(value, cls) else cls(*value)

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def graph(self):
        return self.values.graph

    @property
    def op(self):
        return self.values.op

    @property
    def shape(self):
        return TensorShape(self.dense_shape.partial())

    def get_shape(self):
        return self.shape

    def _fetch_parts(self):
        return [self.indices, self.values, self.dense_shape], SparseTensorValue

    def _feed_parts(self, value):
        indices, values, dense_shape = value
        return [(self.indices, np.asarray(indices, np.int64)), (self.values, values),
                (self.dense_shape, np.asarray(dense_shape, np.int64))]

    def eval(self, feed_dict=None, session=None):
        """Returns the SparseTensorValue."""
        from regrad.core.context import get_default_session

        return (session or get_default_session()).run(self, feed_dict)

    def __repr__(self):
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


def sparse_placeholder(dtype, shape=None, name=None):
    """Returns a SparseTensor to be fed with a SparseTensorValue."""

    name = name or "Placeholder"
    rank = None if shape is None else len(shape)
    return SparseTensor(placeholder(dtypes.int64, [None, rank], name + "/indices"),
                        placeholder(dtype, [None], name + "/values"),
                        placeholder(dtypes.int64, [rank], name + "/shape"))


def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """Returns the dense tensor, `default_value` (0) where nothing is given. The gradient reaches the values."""

    dims = cast(sp_input.dense_shape, dtypes.int64)
    if default_value is None:
        return scatter_nd(sp_input.indices, sp_input.values, dims, name=name)
    return tensor_scatter_update(fill(dims, convert_to_tensor(default_value, dtype=sp_input.dtype)), sp_input.indices,
                                 sp_input.values)


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    """Returns a dense tensor of `output_shape` with `sparse_values` at `sparse_indices` and `default_value` elsewhere."""

    indices, values = convert_to_tensor(sparse_indices), convert_to_tensor(sparse_values)
    if indices.rank == 0:
        indices = expand_dims(indices, 0)
    if indices.rank == 1:
        indices = expand_dims(indices, 1)
    if values.rank == 0:
        values = broadcast_to(values, shape(indices)[:1])
    return tensor_scatter_update(fill(output_shape, convert_to_tensor(default_value, dtype=values.dtype)), indices, values)


def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """Returns the product of a sparse matrix and a dense one, by gathering rows and adding: gradients reach both."""

    b = convert_to_tensor(b)
    b = transpose(b) if adjoint_b else b
    rows, columns = sp_a.indices[:, 0], sp_a.indices[:, 1]
    rows, columns, n = (columns, rows, sp_a.dense_shape[1]) if adjoint_a else (rows, columns, sp_a.dense_shape[0])
    return unsorted_segment_sum(gather(b, columns) * expand_dims(sp_a.values, 1), rows, n, name=name)
