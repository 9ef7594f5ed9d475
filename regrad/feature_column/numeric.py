"""Columns of numbers, as they are and by intervals."""

import dataclasses
import math as _math
from collections.abc import Callable
from typing import Any

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import as_dtype
from regrad.feature_column.columns import CategoricalColumn, DenseColumn, check_key
from regrad.ops import array, math
from regrad.ops.files import FixedLenFeature
from regrad.ops.generate import range as range_
from regrad.ops.indexing import one_hot
from regrad.ops.layout import tile
from regrad.ops.sort import bucketize_op
from regrad.ops.sparse import SparseTensor


@dataclasses.dataclass(frozen=True)
class NumericColumn(DenseColumn):
    key: str
    shape: tuple
    default_value: tuple | None
    dtype: Any
    normalizer_fn: Callable | None

    name = property(lambda self: self.key)
    variable_shape = property(lambda self: self.shape)

    @property
    def parse_example_spec(self):
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    def transformed(self, features):
        x = features.get(self.key)
        if isinstance(x, SparseTensor):
            raise ValueError(f"The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                             f"key: {self.key}")
        if self.normalizer_fn is not None:
            x = self.normalizer_fn(x)
        return math.cast(x, dtypes.float32)

    def dense(self, features, trainable, collections):
        return features.get(self)


@dataclasses.dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    source_column: NumericColumn
    boundaries: tuple

    name = property(lambda self: f"{self.source_column.name}_bucketized")
    parse_example_spec = property(lambda self: self.source_column.parse_example_spec)
    variable_shape = property(lambda self: (*self.source_column.shape, len(self.boundaries) + 1))
    num_buckets = property(lambda self: (len(self.boundaries) + 1) * self.source_column.shape[0])

    def transformed(self, features):
        return bucketize_op(features.get(self.source_column), boundaries=self.boundaries)

    def dense(self, features, trainable, collections):
        return one_hot(math.cast(features.get(self), dtypes.int64), len(self.boundaries) + 1, 1.0, 0.0)

    def ids_and_weights(self, features):
        places = features.get(self)  # of several numbers, each has categories of its own
        batch, width = array.shape(places)[0], self.source_column.shape[0]
        ids = array.reshape(places, [-1, width]) + range_(0, width) * (len(self.boundaries) + 1)
        rows = array.reshape(tile(array.expand_dims(range_(0, batch), 1), [1, width]), [-1])
        columns = tile(range_(0, width), [batch])
        at = math.cast(array.stack([rows, columns], 1), dtypes.int64)
        return SparseTensor(at, math.cast(array.reshape(ids, [-1]), dtypes.int64),
                            math.cast(array.stack([batch, width]), dtypes.int64)), None


def numeric_column(key, shape=(1,), default_value=None, dtype=dtypes.float32, normalizer_fn=None):
    """Returns a column of numbers, as float32.

    Args:
      key: name of the feature.
      shape: of one example.
      default_value: number, or array of `shape`, for examples without the feature.
      dtype: in which the feature is read.
      normalizer_fn: function of the tensor that gives another one.

    Raises:
      ValueError: a shape that is not made of sizes above 0, a dtype that is not of numbers, or a default of another shape.
      TypeError: `normalizer_fn` is no function, or `default_value` is of another kind.
    """
    check_key(key)
    shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    for size in shape:
        if not hasattr(size, "__index__"):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    dtype = as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, tuple(int(s) for s in shape), _default(default_value, shape, dtype, key), dtype, normalizer_fn)


def _default(given, shape, dtype, key):
    """Returns a default as a flat tuple, or None."""
    if given is None:
        return None
    found = np.asarray(given)
    if found.dtype.kind not in "iuf" or dtype.is_integer and found.dtype.kind == "f" and np.any(found != np.floor(found)):
        raise TypeError(f"default_value must be compatible with dtype. default_value: {given}, dtype: {dtype}, key: {key}")
    if found.ndim and found.shape != tuple(shape):
        raise ValueError(f"The shape of default_value must be equal to given shape. default_value: {given}, shape: {shape}, "
                         f"key: {key}")
    return tuple(np.broadcast_to(found, shape).astype(dtype.as_numpy_dtype).ravel().tolist())


def bucketized_column(source_column, boundaries):
    """Returns a column of the intervals between sorted boundaries in which numbers are: one-hot, or categories.

    Args:
      source_column: a numeric column of shape [n].
      boundaries: increasing numbers; interval i begins with boundary i - 1.

    Raises:
      ValueError: another column, or boundaries that do not increase.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    boundaries = tuple(boundaries or ())
    if not boundaries:
        raise ValueError("boundaries must not be empty.")
    if any(not a < b or _math.isnan(b) for a, b in zip(boundaries, boundaries[1:])):
        raise ValueError(f"boundaries must be a sorted list, got {list(boundaries)}.")
    return BucketizedColumn(source_column, boundaries)
