"""`tf.feature_column`: from features by name to the inputs of a model."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.feature_column.categorical": """
        categorical_column_with_hash_bucket categorical_column_with_identity categorical_column_with_vocabulary_file
        categorical_column_with_vocabulary_list crossed_column weighted_categorical_column""",
    "regrad.feature_column.dense": "embedding_column indicator_column shared_embedding_columns",
    "regrad.feature_column.model": "input_layer linear_model make_parse_example_spec",
    "regrad.feature_column.numeric": "bucketized_column numeric_column",
})
