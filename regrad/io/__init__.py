"""`tf.io`: files, records and pictures, by their later names."""

from regrad.core.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, {
    "regrad.ops.codecs": """
        decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
        extract_jpeg_shape is_jpeg""",
    "regrad.ops.files": """
        FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_compressed decode_csv
        matching_files parse_example parse_single_example parse_single_sequence_example parse_tensor read_file
        serialize_tensor write_file""",
    "regrad.ops.queues": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "regrad.ops.sparse_text": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    "regrad.ops.strings": "decode_base64 decode_raw encode_base64",
    "regrad.python_io": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator",
    "regrad.train.graph_files": "write_graph",
    "regrad.train.input": "match_filenames_once",
}, modules="gfile")
