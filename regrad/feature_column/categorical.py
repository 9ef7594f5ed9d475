"""Columns of categories: by hashes, by numbers, by vocabularies, of crosses, and with weights."""

import dataclasses
from typing import Any

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import as_dtype
from regrad.feature_column.columns import CategoricalColumn, as_sparse, check_key
from regrad.feature_column.numeric import BucketizedColumn
from regrad.framework import control_dependencies
from regrad.ops import math
from regrad.ops.array import identity
from regrad.ops.check import assert_greater_equal, assert_less
from regrad.ops.compare import greater_equal, less, logical_and, where_v2
from regrad.ops.files import VarLenFeature
from regrad.ops.hashing import string_to_hash_bucket_fast
from regrad.ops.lookup import index_table_from_file, index_table_from_tensor
from regrad.ops.sparse import SparseTensor
from regrad.ops.sparse_cross import sparse_cross_hashed
from regrad.ops.strings import as_string


class _Keyed(CategoricalColumn):
    """A column of one feature."""

    name = property(lambda self: self.key)
    parse_example_spec = property(lambda self: {self.key: VarLenFeature(self.dtype)})

    def _checked(self, features):
        """Returns the feature as a SparseTensor.

        Raises:
          ValueError: it is of another kind (text, integers) than the column.
        """
        x = as_sparse(features.get(self.key))
        if x.dtype is not dtypes.string and not x.dtype.is_integer:
            raise ValueError(f"column dtype must be string or integer. dtype: {x.dtype}, column_name: {self.key}")
        if (x.dtype is dtypes.string) != (self.dtype is dtypes.string):
            raise ValueError(f"Column dtype and SparseTensors dtype must be compatible. key: {self.key}, column dtype: "
                             f"{self.dtype}, tensor dtype: {x.dtype}")
        return x


def _with_values(x, values):
    return SparseTensor(x.indices, values, x.dense_shape)


@dataclasses.dataclass(frozen=True)
class HashedColumn(_Keyed):
    key: str
    num_buckets: int
    dtype: Any

    def transformed(self, features):
        x = self._checked(features)
        words = x.values if x.dtype is dtypes.string else as_string(x.values)
        return _with_values(x, string_to_hash_bucket_fast(words, self.num_buckets, name="lookup"))


def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
    """Returns a column whose categories are hashes, in [0, hash_bucket_size), of strings or integers.

    Raises:
      ValueError: another dtype, or a size below 1.
    """
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    return HashedColumn(check_key(key), int(hash_bucket_size), _text_or_integer(dtype, key))


def _text_or_integer(dtype, key):
    dtype = as_dtype(dtype)
    if dtype is not dtypes.string and not dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {dtype}, column_name: {key}")
    return dtype


@dataclasses.dataclass(frozen=True)
class IdentityColumn(_Keyed):
    key: str
    num_buckets: int
    default_value: int | None

    dtype = dtypes.int64

    def transformed(self, features):
        x = self._checked(features)
        values, n = math.cast(x.values, dtypes.int64), np.int64(self.num_buckets)
        if self.default_value is None:
            with control_dependencies([assert_greater_equal(values, np.int64(0), name="assert_greater_or_equal_0"),
                                       assert_less(values, n, name="assert_less_than_num_buckets")]):
                return _with_values(x, identity(values))
        inside = logical_and(greater_equal(values, np.int64(0)), less(values, n))
        return _with_values(x, where_v2(inside, values, np.int64(self.default_value)))


def categorical_column_with_identity(key, num_buckets, default_value=None):
    """Returns a column whose categories are the integers that a feature holds, in [0, num_buckets).

    Args:
      default_value: the category of integers outside; without it they are an error when the model runs.

    Raises:
      ValueError: `num_buckets` below 1, or a default that is no category.
    """
    check_key(key)
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityColumn(key, num_buckets, default_value)


class _Looked(_Keyed):
    """A column of a vocabulary."""

    def transformed(self, features):
        x = self._checked(features)
        values = x.values if x.dtype is dtypes.string else math.cast(x.values, dtypes.int64)
        return _with_values(x, self._table(values.dtype).lookup(values))


@dataclasses.dataclass(frozen=True)
class ListedColumn(_Looked):
    key: str
    vocabulary_list: tuple
    dtype: Any
    default_value: int
    num_oov_buckets: int

    num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

    def _table(self, dtype):
        return index_table_from_tensor(self.vocabulary_list, self.num_oov_buckets, self.default_value, dtype=dtype,
                                       name=f"{self.key}_lookup")


def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
    """Returns a column whose categories are places in a list.

    Args:
      vocabulary_list: strings or integers.
      dtype: of the feature; that of the list by default.
      default_value: the category of others, which do not count where it is -1.
      num_oov_buckets: how many categories follow, of which others get one by a hash.

    Raises:
      ValueError: an empty list, values twice, both `default_value` and `num_oov_buckets`, or a dtype that does not fit.
    """
    check_key(key)
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list!r} must be non-empty, column_name: {key}")
    words = np.array(vocabulary_list)
    if len({*vocabulary_list}) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list: {vocabulary_list!r}, column_name: {key}")
    _check_others(key, default_value, num_oov_buckets)
    own = dtypes.string if words.dtype.kind in "OSU" else as_dtype(words.dtype)
    dtype = own if dtype is None else _text_or_integer(dtype, key)
    if (_text_or_integer(own, key) is dtypes.string) != (dtype is dtypes.string):
        raise ValueError(f"dtype {dtype} and vocabulary dtype {own} do not match, column_name: {key}")
    return ListedColumn(key, tuple(vocabulary_list), dtype, default_value, num_oov_buckets)


def _check_others(key, default_value, num_oov_buckets):
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    if num_oov_buckets and default_value not in (None, -1):
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")


@dataclasses.dataclass(frozen=True)
class FiledColumn(_Looked):
    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: Any
    default_value: int

    num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

    def _table(self, dtype):
        return index_table_from_file(self.vocabulary_file, self.num_oov_buckets, self.vocabulary_size, self.default_value,
                                     key_dtype=dtype, name=f"{self.key}_lookup")


def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None,
                                            dtype=dtypes.string):
    """Returns a column whose categories are lines of a file.

    Args:
      vocabulary_file: path of a text file.
      vocabulary_size: how many lines count; all by default.
      num_oov_buckets, default_value: see `categorical_column_with_vocabulary_list`.
      dtype: of the feature: string or an integer.

    Raises:
      ValueError: no file, a size below 1, both `default_value` and `num_oov_buckets`, or another dtype.
    """
    check_key(key)
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        try:
            with open(vocabulary_file, "rb") as file:
                vocabulary_size = sum(1 for _ in file)
        except OSError as error:
            raise ValueError(f"vocabulary_file in {key} does not exist: {error}.") from None
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_others(key, default_value, num_oov_buckets)
    return FiledColumn(key, str(vocabulary_file), vocabulary_size, num_oov_buckets, _text_or_integer(dtype, key),
                       -1 if default_value is None else default_value)


@dataclasses.dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: Any

    name = property(lambda self: f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}")
    num_buckets = property(lambda self: self.categorical_column.num_buckets)

    @property
    def parse_example_spec(self):
        spec = self.categorical_column.parse_example_spec
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}.")
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    def transformed(self, features):
        weights = as_sparse(features.get(self.weight_feature_key), np.array(0, self.dtype.as_numpy_dtype))
        if weights.dtype is not dtypes.float32:
            weights = _with_values(weights, math.cast(weights.values, dtypes.float32))
        return features.get(self.categorical_column), weights

    def ids_and_weights(self, features):
        return features.get(self)


def weighted_categorical_column(categorical_column, weight_feature_key, dtype=dtypes.float32):
    """Returns a column whose categories have the weights that another feature holds at the same places.

    Raises:
      ValueError: `dtype` is not of numbers.
    """
    dtype = as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedColumn(categorical_column, weight_feature_key, dtype)


@dataclasses.dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    keys: tuple
    num_buckets: int
    hash_key: int | None

    name = property(lambda self: "_X_".join(sorted(key if isinstance(key, str) else key.name for key in self._columns())))

    @property
    def parse_example_spec(self):
        found = {}
        for key in self.keys:
            found |= {key: VarLenFeature(dtypes.string)} if isinstance(key, str) else key.parse_example_spec
        return found

    def transformed(self, features):
        tensors = []
        for key in self._columns():
            if isinstance(key, str):
                tensors.append(features.get(key))
                continue
            ids, weights = key.ids_and_weights(features)
            if weights is not None:
                raise ValueError("crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
                                 f"Given column: {key.name}")
            tensors.append(ids)
        return sparse_cross_hashed(tensors, self.num_buckets, self.hash_key)

    def _columns(self):
        """Yields what is crossed, crosses within crosses taken apart."""
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                yield from key._columns()
            else:
                yield key


def crossed_column(keys, hash_bucket_size, hash_key=None):
    """Returns a column whose categories are hashes of all choices of one value per feature.

    Args:
      keys: names of features of strings or integers, and columns of categories, without hashes: at least two.
      hash_bucket_size: how many categories there are.
      hash_key: where hashes begin.

    Raises:
      ValueError: fewer keys, keys of another kind, or a size below 1.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not isinstance(keys, (list, tuple)) or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn, BucketizedColumn)):
            raise ValueError("Unsupported key type. All keys must be either string, or categorical column except "
                             f"HashedCategoricalColumn. Given: {key}")
        if isinstance(key, HashedColumn):
            raise ValueError("categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                             f"increase probability of collision. Instead, use the feature name as a string. Given: {key}")
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
