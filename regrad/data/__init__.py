"""`tf.data`: input pipelines, whose state lives in the session. Elements are made by the host, one at a time."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.data.dataset": """
        Dataset FixedLengthRecordDataset Options TFRecordDataset TextLineDataset get_output_classes get_output_shapes
        get_output_types""",
    "regrad.data.iterator": "Iterator make_initializable_iterator make_one_shot_iterator",
}, modules="experimental")
