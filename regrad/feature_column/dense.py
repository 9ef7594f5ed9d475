"""Columns of categories as vectors: many-hot, or embedded."""

import dataclasses
import math as _math
from typing import Any

from regrad.core import dtypes
from regrad.core.graph import get_default_graph
from regrad.feature_column.columns import CategoricalColumn, DenseColumn
from regrad.nn.embedding import safe_embedding_lookup_sparse
from regrad.ops.indexing import one_hot
from regrad.ops.reduce import reduce_sum
from regrad.ops.sparse import sparse_tensor_to_dense
from regrad.train.saver import init_from_checkpoint
from regrad.variables.initializers import truncated_normal_initializer
from regrad.variables.scope import get_variable


@dataclasses.dataclass(frozen=True)
class IndicatorColumn(DenseColumn):
    categorical_column: CategoricalColumn

    name = property(lambda self: f"{self.categorical_column.name}_indicator")
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: (self.categorical_column.num_buckets,))

    def transformed(self, features):
        ids, weights = self.categorical_column.ids_and_weights(features)
        depth = self.categorical_column.num_buckets
        hot = one_hot(sparse_tensor_to_dense(ids, default_value=-1), depth, 1.0, 0.0)
        if weights is not None:
            hot *= sparse_tensor_to_dense(weights)[..., None]
        found = reduce_sum(hot, axis=-2)
        found.set_shape([*(found.dims[:-1] if found.dims is not None else [None]), depth])
        return found

    def dense(self, features, trainable, collections):
        return features.get(self)


def indicator_column(categorical_column):
    """Returns a column of vectors that count, or weigh, the categories of each example.

    Raises:
      ValueError: `categorical_column` is none.
    """
    return IndicatorColumn(_categorical(categorical_column))


def _categorical(column):
    if not isinstance(column, CategoricalColumn):
        raise ValueError(f"Unsupported input type. Input must be a CategoricalColumn. Given: {column}")
    return column


@dataclasses.dataclass(frozen=True)
class EmbeddingColumn(DenseColumn):
    categorical_column: CategoricalColumn
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    name = property(lambda self: f"{self.categorical_column.name}_embedding")
    parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
    variable_shape = property(lambda self: (self.dimension,))

    def transformed(self, features):
        return self.categorical_column.ids_and_weights(features)

    def _table(self, trainable, collections):
        table = get_variable("embedding_weights", [self.categorical_column.num_buckets, self.dimension], dtypes.float32,
                             self.initializer, trainable=self.trainable and trainable, collections=collections)
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return table

    def dense(self, features, trainable, collections):
        ids, weights = features.get(self)
        return safe_embedding_lookup_sparse(self._table(trainable, collections), ids, weights, self.combiner,
                                            name=f"{self.name}_weights", max_norm=self.max_norm)


@dataclasses.dataclass(frozen=True)
class SharedEmbeddingColumn(EmbeddingColumn):
    """A column whose table is that of others: it is in the graph's collection of that name."""

    collection: str

    name = property(lambda self: f"{self.categorical_column.name}_shared_embedding")
    variable_scope = property(lambda self: self.collection)

    def _table(self, trainable, collections):
        shared = get_default_graph().get_collection_ref(self.collection)
        if len(shared) > 1:
            raise ValueError(f"Collection {self.collection} can only contain one variable. Suggested fix A: Choose a unique "
                             "name for this collection. Suggested fix B: Do not add any variables to this collection. Given: "
                             f"{shared}")
        if not shared:
            shared.append(super()._table(trainable, collections))
        wanted = [self.categorical_column.num_buckets, self.dimension]
        if shared[0].shape.as_list() != wanted:
            raise ValueError(f"Shared embedding collection {self.collection} contains variable {shared[0].name} of unexpected "
                             f"shape {shared[0].shape}. Expected shape is {wanted}. Suggested fix A: Choose a unique name for "
                             "this collection. Suggested fix B: Do not add any variables to this collection.")
        return shared[0]


def _settings(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable):
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")
    if initializer is None:
        initializer = truncated_normal_initializer(mean=0.0, stddev=1 / _math.sqrt(dimension))
    return dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable


def embedding_column(categorical_column, dimension, combiner="mean", initializer=None, ckpt_to_load_from=None,
                     tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    """Returns a column of vectors: the mean, or another combination, of the rows that a table has for an example's categories.

    Args:
      categorical_column: the column of categories.
      dimension: of a row.
      combiner: "mean", "sqrtn" or "sum".
      initializer: of the table; truncated normal with the deviation 1 / sqrt(dimension) by default.
      ckpt_to_load_from, tensor_name_in_ckpt: checkpoint, and name in it, of the table to begin with.
      max_norm: rows with a greater norm are scaled down to it.
      trainable: whether the table is.
      use_safe_embedding_lookup: accepted.

    Raises:
      ValueError: `categorical_column` is none, `dimension` is below 1, or one of the checkpoint's arguments is missing.
    """
    return EmbeddingColumn(_categorical(categorical_column), *_settings(
        dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable))


def shared_embedding_columns(categorical_columns, dimension, combiner="mean", initializer=None,
                             shared_embedding_collection_name=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None,
                             max_norm=None, trainable=True, use_safe_embedding_lookup=True):
    """Returns a list of embedding columns, one for each column of categories, with one table.

    Args:
      categorical_columns: columns of one kind, with equally many categories.
      shared_embedding_collection_name: of the table's scope, and of the collection that it is in; by default made of the names.
      The others: see `embedding_column`.

    Raises:
      ValueError: columns of different kinds, or what `embedding_column` refuses.
    """
    columns = [_categorical(column) for column in categorical_columns]
    kinds = {type(getattr(c, "categorical_column", c)) for c in columns}
    sizes = {c.num_buckets for c in columns}
    if len(kinds) > 1:
        raise ValueError("To use shared_embedding_column, all categorical_columns must have the same type, or be "
                         f"weighted_categorical_column of the same type. Given columns: {columns}")
    if len(sizes) > 1:
        raise ValueError("To use shared_embedding_column, all categorical_columns must have the same number of buckets. Given "
                         f"columns: {columns}")
    name = shared_embedding_collection_name or "_".join(sorted(c.name for c in columns)) + "_shared_embedding"
    settings = _settings(dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)
    return [SharedEmbeddingColumn(column, *settings, name) for column in columns]
