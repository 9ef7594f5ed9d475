"""What feature columns are: descriptions of how a feature becomes a tensor, which compare by value."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.ops import array
from regrad.ops.compare import equal, not_equal, where
from regrad.ops.flow import cond
from regrad.ops.indexing import gather_nd
from regrad.ops.sparse import SparseTensor, SparseTensorValue
from regrad.ops.sparse_shape import sparse_expand_dims


class FeatureColumn:
    """A column: `name`, and `transformed(features)`, which a `Features` keeps.

    Attributes:
      name: of the column, and of the scope of its variables.
      parse_example_spec: {feature: how `tf.parse_example` reads it}.
    """

    def transformed(self, features):
        """Returns the column's tensor, made of other columns' and of features: `features.get(column or key)`."""
        raise NotImplementedError

    variable_scope = property(lambda self: self.name)


class DenseColumn(FeatureColumn):
    """A column that can be put beside others.

    Attributes:
      variable_shape: the shape of one example.
    """

    def dense(self, features, trainable, collections):
        """Returns the tensor [batch, *variable_shape]."""
        raise NotImplementedError


class CategoricalColumn(FeatureColumn):
    """A column of which an example has any number of categories.

    Attributes:
      num_buckets: how many categories there are.
    """

    def ids_and_weights(self, features):
        """Returns the SparseTensor of categories, and that of their weights, or None."""
        return features.get(self), None


class Features:
    """The features of one model, and what columns have made of them, each once."""

    def __init__(self, features):
        self._given, self._made = features, {}

    def get(self, key):
        """Returns what a column makes, or the feature of that name with a batch of at least rank 2.

        Raises:
          ValueError: there is no such feature, or it is a scalar.
        """
        if key not in self._made:
            self._made[key] = key.transformed(self) if isinstance(key, FeatureColumn) else self._raw(key)
        return self._made[key]

    def _raw(self, key):
        if key not in self._given:
            raise ValueError(f"Feature {key} is not in features dictionary; it has {sorted(map(str, self._given))}.")
        x = self._given[key]
        if isinstance(x, (SparseTensor, SparseTensorValue)):
            x = SparseTensor.from_value(x)
            return sparse_expand_dims(x, -1) if x.shape.ndims == 1 else x
        x = convert_to_tensor(x)
        if x.dims == ():
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {x}")
        if x.dims is None:
            return cond(equal(array.rank(x), 1), lambda: array.expand_dims(x, -1), lambda: x)
        return array.expand_dims(x, -1) if len(x.dims) == 1 else x


def as_sparse(x, ignored=None):
    """Returns a SparseTensor of a dense feature, without the value that says that there is none: "" or -1."""
    if isinstance(x, SparseTensor):
        return x
    if ignored is None:
        ignored = b"" if x.dtype is dtypes.string else np.array(-1, x.dtype.as_numpy_dtype)
    at = where(not_equal(x, ignored))
    return SparseTensor(at, gather_nd(x, at), array.shape(x, out_type=dtypes.int64))


def check_key(key, what="key"):
    """Returns the name of a feature.

    Raises:
      ValueError: it is no string.
    """
    if not isinstance(key, str):
        raise ValueError(f"{what} must be a string. Got: type {type(key)}. Given key: {key}.")
    return key
