"""`tf.contrib.data`: what `tf.data.experimental` was called before."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.data.experimental": """
        AUTOTUNE Counter batch_and_drop_remainder bucket_by_sequence_length choose_from_datasets copy_to_device
        enumerate_dataset get_single_element group_by_window ignore_errors map_and_batch padded_batch_and_drop_remainder
        parallel_interleave prefetch_to_device scan shuffle_and_repeat sliding_window_batch
        sloppy_interleave=parallel_interleave take_while unbatch unique""",
    "regrad.data": "Dataset Iterator TFRecordDataset TextLineDataset",
})
