"""`tf.data`: input pipelines, whose state lives in the session. Elements are made by the host, one at a time."""

import importlib

from regrad.core.lazy import names_of

_names, _dir, __all__ = names_of(__name__, {
    "regrad.data.dataset": """
        Dataset FixedLengthRecordDataset Options TFRecordDataset TextLineDataset get_output_classes get_output_shapes
        get_output_types""",
    "regrad.data.iterator": "Iterator make_initializable_iterator make_one_shot_iterator",
})


def __getattr__(name):
    if name == "experimental":
        return importlib.import_module("regrad.data.experimental")
    return _names(name)


def __dir__():
    return sorted({*_dir(), "experimental"})
