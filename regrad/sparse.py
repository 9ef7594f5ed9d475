"""`tf.sparse`: tensors of which only some elements are given, by their later names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.accumulators": "SparseConditionalAccumulator",
    "regrad.ops.partition": "mask=sparse_mask",
    "regrad.ops.segment": """
        segment_mean=sparse_segment_mean segment_sqrt_n=sparse_segment_sqrt_n segment_sum=sparse_segment_sum""",
    "regrad.ops.sparse": """
        SparseTensor add=sparse_add fill_empty_rows=sparse_fill_empty_rows matmul=sparse_tensor_dense_matmul
        placeholder=sparse_placeholder reduce_sum=sparse_reduce_sum reorder=sparse_reorder slice=sparse_slice
        softmax=sparse_softmax sparse_dense_matmul=sparse_tensor_dense_matmul to_dense=sparse_tensor_to_dense""",
    "regrad.ops.sparse_cross": "cross=sparse_cross cross_hashed=sparse_cross_hashed",
    "regrad.ops.sparse_shape": """
        concat=sparse_concat expand_dims=sparse_expand_dims eye=sparse_eye from_dense=sparse_from_dense
        maximum=sparse_maximum merge=sparse_merge minimum=sparse_minimum reduce_max=sparse_reduce_max
        reset_shape=sparse_reset_shape reshape=sparse_reshape retain=sparse_retain split=sparse_split
        to_indicator=sparse_to_indicator transpose=sparse_transpose""",
})
