"""`tf.contrib.data`: what `tf.data.experimental` was called before."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.data.experimental": """
        AUTOTUNE copy_to_device enumerate_dataset group_by_window ignore_errors map_and_batch parallel_interleave
        prefetch_to_device shuffle_and_repeat unbatch""",
    "regrad.data": "Dataset Iterator TFRecordDataset TextLineDataset",
})
