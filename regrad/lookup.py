"""`tf.lookup`: tables of words and numbers; `tf.contrib.lookup` has more of them."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.lookup": """KeyValueTensorInitializer StaticHashTable StaticVocabularyTable TextFileIndex
        TextFileInitializer""",
}, modules="experimental=regrad.contrib.lookup")
