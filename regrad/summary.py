"""`tf.summary`: values, pictures and graphs for TensorBoard, by TF1's names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.core.messages": "Event SessionLog Summary SummaryDescription SummaryMetadata TaggedRunMetadata",
    "regrad.train.event_files": "FileWriter FileWriterCache SummaryWriterCache=FileWriterCache summary_iterator",
    "regrad.ops.summary": "audio get_summary_description histogram image merge merge_all scalar tensor_summary text",
})
