"""What is made of columns: the input of a network, a linear model, and how examples are read."""

from regrad.core import dtypes
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shapes import size_of
from regrad.feature_column.columns import CategoricalColumn, DenseColumn, FeatureColumn, Features
from regrad.nn.embedding import safe_embedding_lookup_sparse
from regrad.ops import array, math
from regrad.ops.matmul import matmul
from regrad.variables.initializers import zeros_initializer
from regrad.variables.scope import get_variable, variable_scope


def _checked(feature_columns, kinds, words):
    """Returns the columns, sorted by name."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = [feature_columns] if isinstance(feature_columns, FeatureColumn) else list(feature_columns)
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    names: dict = {}
    for column in columns:
        if not isinstance(column, kinds):
            raise ValueError(f"{words} Given (type {type(column)}): {column}")
        if column.name in names:
            raise ValueError(f"Duplicate feature column name found for columns: {column} and {names[column.name]}. This "
                             "usually means that these columns refer to same base feature. Either one must be discarded or a "
                             "duplicated but renamed item must be inserted in features dict.")
        names[column.name] = column
    return sorted(columns, key=lambda c: c.name)


def _collections(given):
    return sorted({*(given or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES})


def _variables(scope):
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope.name + "/")


def input_layer(features, feature_columns, weight_collections=None, trainable=True, cols_to_vars=None,
                cols_to_output_tensors=None):
    """Returns the columns' values beside each other, float32 [batch, n], in the order of the columns' names.

    Args:
      features: {name: Tensor or SparseTensor}, with the examples of a batch on the first axis.
      feature_columns: numeric, bucketized, indicator and embedding columns.
      weight_collections: collections of the variables, besides the usual ones.
      trainable: whether variables are.
      cols_to_vars, cols_to_output_tensors: dictionaries that receive {column: list of its variables}, {column: its tensor}.

    Raises:
      ValueError: no columns, two of one name, columns of categories, or features that are missing.
    """
    columns = _checked(feature_columns, DenseColumn, "Items of feature_columns must be a _DenseColumn. You can wrap a "
                       "categorical column with an embedding_column or indicator_column.")
    found, tensors = Features(features), []
    with variable_scope(None, default_name="input_layer", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.variable_scope) as scope:
                tensor = column.dense(found, trainable, _collections(weight_collections))
                tensors.append(array.reshape(tensor, [array.shape(tensor)[0], size_of(column.variable_shape)]))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables(scope)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        _check_batches(columns, tensors)
        return array.concat(tensors, 1)


def _check_batches(columns, tensors):
    sizes = {t.dims[0]: c for c, t in zip(columns, tensors) if t.dims is not None and t.dims[0] is not None}
    if len(sizes) > 1:
        raise ValueError("Batch size (first dimension) of each feature must be same. Batch size of columns "
                         f"({', '.join(c.name for c in sizes.values())}): ({', '.join(map(str, sizes))})")


def linear_model(features, feature_columns, units=1, sparse_combiner="sum", weight_collections=None, trainable=True,
                 cols_to_vars=None):
    """Returns a weighted sum of the columns, and a bias: float32 [batch, units]. All weights begin with zeros.

    Args:
      feature_columns: numeric, bucketized, indicator and embedding columns, and columns of categories, each of which has a
        weight of its own.
      sparse_combiner: how the weights of an example's categories are combined: "sum", "mean" or "sqrtn".
      cols_to_vars: dictionary that receives {column: list of its variables}, and the bias as "bias".
      The others: see `input_layer`.

    Raises:
      ValueError: no columns, two of one name, or features that are missing.
    """
    columns = _checked(feature_columns, (DenseColumn, CategoricalColumn),
                       "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn.")
    found, collections, sums = Features(features), _collections(weight_collections), []
    with variable_scope(None, default_name="linear_model", values=list(features.values())):
        for column in columns:
            with variable_scope(None, default_name=column.variable_scope) as scope:
                sums.append(_weighted(column, found, units, sparse_combiner, collections, trainable))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables(scope)
        _check_batches(columns, sums)
        total = math.add_n(sums, name="weighted_sum_no_bias")
        bias = get_variable("bias_weights", [units], dtypes.float32, zeros_initializer(), trainable=trainable,
                            collections=collections)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return math.add(total, bias, name="weighted_sum")


def _weighted(column, features, units, combiner, collections, trainable):
    sparse = isinstance(column, CategoricalColumn)
    tensor = None if sparse else column.dense(features, trainable, collections)
    rows = column.num_buckets if sparse else size_of(column.variable_shape)
    weights = get_variable("weights", [rows, units], dtypes.float32, zeros_initializer(), trainable=trainable,
                           collections=collections)
    if not sparse:
        return matmul(array.reshape(tensor, [array.shape(tensor)[0], rows]), weights, name="weighted_sum")
    ids, id_weights = column.ids_and_weights(features)
    return safe_embedding_lookup_sparse(weights, ids, id_weights, combiner, name="weighted_sum")


def make_parse_example_spec(feature_columns):
    """Returns {feature: how it is read} of columns, for `tf.parse_example`.

    Raises:
      ValueError: something that is no column, or columns that read one feature differently.
    """
    found: dict = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, spec in column.parse_example_spec.items():
            if found.setdefault(key, spec) != spec:
                raise ValueError(f"feature_columns contain different parse_spec for key {key}. Given {spec} and {found[key]}")
    return found
