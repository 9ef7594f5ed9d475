"""`tf.contrib.lookup`: tables of words and numbers."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.lookup": """FastHashSpec HashTable HasherSpec IdTableWithHashBuckets InitializableLookupTableBase
        KeyValueTensorInitializer LookupInterface MutableDenseHashTable=DenseHashTable MutableHashTable StrongHashSpec
        TableInitializerBase TextFileIdTableInitializer TextFileIndex TextFileInitializer TextFileStringTableInitializer
        index_table_from_file index_table_from_tensor index_to_string index_to_string_table_from_file
        index_to_string_table_from_tensor string_to_index DenseHashTable StaticHashTableV1=StaticHashTable
        StaticHashTable StaticVocabularyTable""",
})
