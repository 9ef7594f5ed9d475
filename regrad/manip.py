"""`tf.manip`: shapes and contents of tensors."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.array": """
        reshape""",
    "regrad.ops.layout": """
        batch_to_space_nd reverse roll space_to_batch_nd tile""",
    "regrad.ops.indexing": """
        gather_nd scatter_nd""",
})
