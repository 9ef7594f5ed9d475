"""TensorFlow's messages that programs make and files hold, by TF's names and field numbers (facts of its .proto files)."""

import math

import numpy as np

from regrad.core.dtypes import as_dtype
from regrad.core.proto import Message, fields


class TensorShapeProto(Message):
    """The shape of a TensorProto."""

    class Dim(Message):
        FIELDS = fields("1 size int64; 2 name string")

    FIELDS = fields("2 dim TensorShapeProto.Dim*; 3 unknown_rank bool")


class TensorProto(Message):
    """A value: `dtype` (TF's enum), `tensor_shape`, and the elements, as bytes or in the list of their type."""

    FIELDS = fields("""1 dtype enum; 2 tensor_shape TensorShapeProto; 3 version_number int32; 4 tensor_content bytes;
        5 float_val float*; 6 double_val double*; 7 int_val int32*; 8 string_val bytes*; 9 scomplex_val float*;
        10 int64_val int64*; 11 bool_val bool*; 12 dcomplex_val double*; 13 half_val int32*; 16 uint32_val uint32*;
        17 uint64_val uint64*""")


class SaveSliceInfoDef(Message):
    """Which part of a whole variable one is."""

    FIELDS = fields("1 full_name string; 2 full_shape int64*; 3 var_offset int64*; 4 var_shape int64*")


class VariableDef(Message):
    """The names of the operations that make up a variable."""

    FIELDS = fields("""1 variable_name string; 2 initializer_name string; 3 snapshot_name string;
        4 save_slice_info_def SaveSliceInfoDef; 5 is_resource bool; 6 initial_value_name string; 7 trainable bool;
        8 synchronization enum; 9 aggregation enum""")


class ReaderBaseState(Message):
    """Where a reader of files stands."""

    FIELDS = fields("1 work_started int64; 2 work_finished int64; 3 num_records_produced int64; 4 current_work bytes")


class SummaryMetadata(Message):
    """What a summary is for: the plugin of TensorBoard that shows it."""

    class PluginData(Message):
        FIELDS = fields("1 plugin_name string; 2 content bytes")

    FIELDS = fields("""1 plugin_data SummaryMetadata.PluginData; 2 display_name string; 3 summary_description string;
        4 data_class enum""")


class HistogramProto(Message):
    """A histogram: bucket i holds what lies between bucket_limit[i - 1] and bucket_limit[i]."""

    FIELDS = fields("""1 min double; 2 max double; 3 num double; 4 sum double; 5 sum_squares double;
        6 bucket_limit double*; 7 bucket double*""")


class SummaryDescription(Message):
    FIELDS = fields("1 type_hint string")


class Summary(Message):
    """Values with tags: what summary operations give and `FileWriter.add_summary` takes.

        tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)])
    """

    class Image(Message):
        FIELDS = fields("1 height int32; 2 width int32; 3 colorspace int32; 4 encoded_image_string bytes")

    class Audio(Message):
        FIELDS = fields("""1 sample_rate float; 2 num_channels int64; 3 length_frames int64; 4 encoded_audio_string bytes;
            5 content_type string""")

    class Value(Message):
        FIELDS = fields("""7 node_name string; 1 tag string; 9 metadata SummaryMetadata; 2 simple_value float value;
            3 obsolete_old_style_histogram bytes value; 4 image Summary.Image value; 5 histo HistogramProto value;
            6 audio Summary.Audio value; 8 tensor TensorProto value""")

    FIELDS = fields("1 value Summary.Value*")


class LogMessage(Message):
    """A line of a log, and how grave it is."""

    UNKNOWN, DEBUGGING, INFO, WARN, ERROR, FATAL = 0, 10, 20, 30, 40, 50
    FIELDS = fields("1 level enum; 2 message string")


class SessionLog(Message):
    """That a session started, stopped, or saved a checkpoint."""

    STATUS_UNSPECIFIED, START, STOP, CHECKPOINT = 0, 1, 2, 3
    FIELDS = fields("1 status enum; 2 checkpoint_path string; 3 msg string")


class TaggedRunMetadata(Message):
    FIELDS = fields("1 tag string; 2 run_metadata bytes")


class Event(Message):
    """One record of an event file."""

    FIELDS = fields("""1 wall_time double; 2 step int64; 3 file_version string what; 4 graph_def bytes what;
        5 summary Summary what; 6 log_message LogMessage what; 7 session_log SessionLog what;
        8 tagged_run_metadata TaggedRunMetadata what; 9 meta_graph_def bytes what""")


class BytesList(Message):
    """A feature's values that are bytes: `value`."""

    FIELDS = fields("1 value bytes*")


class FloatList(Message):
    """A feature's values that are numbers of float32: `value`."""

    FIELDS = fields("1 value float*")


class Int64List(Message):
    """A feature's values that are integers: `value`."""

    FIELDS = fields("1 value int64*")


class Feature(Message):
    """One of bytes_list, float_list, int64_list."""

    FIELDS = fields("1 bytes_list BytesList kind; 2 float_list FloatList kind; 3 int64_list Int64List kind")


class Features(Message):
    """Features by name: `feature`."""

    FIELDS = fields("1 feature map:Feature")


class Example(Message):
    """A record of named features: `Example(features=Features(feature={"x": Feature(...)}))`."""

    FIELDS = fields("1 features Features")


class FeatureList(Message):
    """The steps of a sequence's feature: `feature`."""

    FIELDS = fields("1 feature Feature*")


class FeatureLists(Message):
    """The features of a sequence by name: `feature_list`."""

    FIELDS = fields("1 feature_list map:FeatureList")


class SequenceExample(Message):
    """A record of features, and of lists of features over time."""

    FIELDS = fields("1 context Features; 2 feature_lists FeatureLists")


class NodeExecStats(Message):
    FIELDS = fields("""1 node_name string; 2 all_start_micros int64; 3 op_start_rel_micros int64; 4 op_end_rel_micros int64;
        5 all_end_rel_micros int64; 8 timeline_label string""")


class DeviceStepStats(Message):
    FIELDS = fields("1 device string; 2 node_stats NodeExecStats*")


class StepStats(Message):
    FIELDS = fields("1 dev_stats DeviceStepStats*")


class RunMetadataProto(Message):
    """What `tf.RunMetadata` is in an event file."""

    FIELDS = fields("1 step_stats StepStats")


# -- tensors ------------------------------------------------------------------------------------------

MOST_AXES = 32 if np.lib.NumpyVersion(np.__version__) < "2.0.0" else 64  # of NumPy's arrays
_LARGEST = 1 << 31  # bytes of a message, as of Protocol Buffers, and so of a value that one holds or stands for
_LISTS = {"float32": "float_val", "float64": "double_val", "int64": "int64_val", "bool": "bool_val", "string": "string_val",
          "uint32": "uint32_val", "uint64": "uint64_val"}


def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False, allow_broadcast=False):
    """Returns the TensorProto of a value.

    Args:
      values: an array, a Python number, string, or list of them.
      dtype: its DType, by default as `tf.constant` chooses it.
      shape: its shape, by default that of `values`; a shorter list of values is filled up with its last.

    Raises:
      TypeError: a value of another kind than `dtype`, or a tensor; with `verify_shape`, values of another shape.
      ValueError: `shape` has fewer elements than `values`.
    """
    from regrad.core.convert import to_array

    if hasattr(values, "_as_graph_element"):
        raise TypeError(f"make_tensor_proto takes values, not tensors: {values!r}.")
    array = np.asarray(to_array(values, as_dtype(dtype) if dtype is not None else None))
    kind = as_dtype(dtype) if dtype is not None else _dtype_of(array)
    if shape is not None:
        size = int(np.prod(shape, dtype=np.int64))
        if verify_shape and array.shape != tuple(shape):
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, got {array.shape}.")
        if array.size > size or array.size < size and (verify_shape or not array.size):
            raise ValueError(f"make_tensor_proto: {array.size} values for the shape {list(shape)}, which has {size}.")
        if array.size < size:
            flat = array.reshape(-1)
            array = np.concatenate([flat, np.repeat(flat[-1:], size - array.size)])
        array = array.reshape(shape)
    listed = kind.name in _LISTS and kind.name != "string" or kind.is_integer or kind.is_complex
    single = array.size == 1 and listed
    proto = content_proto(array, kind, content=not single)
    if not single:
        return proto
    if kind.name in _LISTS:
        getattr(proto, _LISTS[kind.name]).append(array.reshape(-1)[0])
    elif kind.is_integer:
        proto.int_val.append(int(array.reshape(-1)[0]))
    elif kind.is_complex:
        value = array.reshape(-1)[0]
        (proto.scomplex_val if kind.name == "complex64" else proto.dcomplex_val).extend([float(value.real), float(value.imag)])
    return proto


def content_proto(array, kind=None, content=True):
    """Returns the TensorProto that TensorFlow's kernels write of an array: strings one by one, anything else as its bytes.

    Args:
      kind: its DType, by default that of the array.
      content: False for dtype and shape alone.
    """
    kind = kind or _dtype_of(array)
    proto = TensorProto(dtype=kind.as_datatype_enum,
                        tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape]))
    proto.tensor_shape.SetInParent()
    if kind.name == "string":
        proto.string_val.extend(array.reshape(-1).tolist())
    elif array.size and content:
        proto.tensor_content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    return proto


def _dtype_of(array):
    return as_dtype("string" if array.dtype == np.object_ else array.dtype)


def shape_equals(tensor_proto, shape):
    """Returns whether a TensorProto's tensor has a shape, given as a list or a TensorShapeProto."""
    sizes = [d.size for d in shape.dim] if hasattr(shape, "dim") else list(shape)
    return [d.size for d in tensor_proto.tensor_shape.dim] == sizes


def make_ndarray(tensor):
    """Returns the NumPy array of a TensorProto.

    Raises:
      TypeError: a type that has no NumPy form.
      ValueError: other than the values that the shape asks for: the message is damaged.
    """
    dtype, shape, flat = _elements(tensor)
    size = math.prod(shape)
    # The last element stands for all that follow.
    return np.concatenate([flat, np.repeat(flat[-1:], size - flat.size)]).reshape(shape)


def stored_ndarray(tensor):
    """Returns what `make_ndarray` does, not to be written to: one value that stands for all takes no more memory than one."""
    dtype, shape, flat = _elements(tensor)
    return np.broadcast_to(flat, shape) if flat.size == 1 < math.prod(shape) else make_ndarray(tensor)


def _elements(tensor):
    """Returns (DType, shape, the elements that stand in a TensorProto, the last for all that follow)."""
    dtype = as_dtype(tensor.dtype)
    shape = [d.size for d in tensor.tensor_shape.dim]
    if min(shape, default=0) < 0 or len(shape) > MOST_AXES or tensor.tensor_shape.unknown_rank:
        raise ValueError(f"A TensorProto of {dtype.name}{shape}: there is no array of that shape.")
    size = math.prod(shape)
    item = np.dtype(dtype.as_numpy_dtype).itemsize
    if tensor.tensor_content:
        if len(tensor.tensor_content) != size * item or dtype.name == "string":
            raise ValueError(f"A TensorProto of {dtype.name}{shape} holds {len(tensor.tensor_content)} bytes, which are not "
                             f"{size} values.")
        return dtype, shape, np.frombuffer(tensor.tensor_content, dtype.as_numpy_dtype)
    if dtype.name in ("float16", "bfloat16"):
        flat = _integers(tensor.half_val, np.uint16).view(dtype.as_numpy_dtype)
    elif dtype.is_complex:
        parts = np.array(tensor.scomplex_val if dtype.name == "complex64" else tensor.dcomplex_val,
                         dtype.real_dtype.as_numpy_dtype)
        if parts.size % 2:
            raise ValueError(f"A TensorProto of {dtype.name}{shape} holds {parts.size} numbers, and two make a value.")
        flat = parts.view(dtype.as_numpy_dtype)
    elif dtype.name in _LISTS:
        flat = np.array(getattr(tensor, _LISTS[dtype.name]), dtype.as_numpy_dtype)
    elif dtype.is_integer:
        flat = _integers(tensor.int_val, dtype.as_numpy_dtype)
    else:
        raise TypeError(f"Unsupported tensor type: {dtype.name}")
    if flat.size == 0 and size:
        flat = np.zeros(1, dtype.as_numpy_dtype)
    if flat.size > size:
        raise ValueError(f"A TensorProto of {dtype.name}{shape} holds {flat.size} values.")
    if flat.size < size and size * item > _LARGEST:
        raise ValueError(f"A TensorProto of {dtype.name}{shape} holds {flat.size} values for {size * item} bytes; no message "
                         f"has room for more than {_LARGEST}.")
    return dtype, shape, flat


def _integers(values, dtype):
    found = np.array(values, np.int64)
    made = found.astype(dtype)
    if (made != found).any():
        raise ValueError(f"A TensorProto of {np.dtype(dtype)} holds {found[made != found][0]}, which is none.")
    return made


__all__ = ["BytesList", "Event", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
           "HistogramProto", "Int64List", "LogMessage", "RunMetadataProto", "SaveSliceInfoDef", "SequenceExample",
           "SessionLog", "Summary", "SummaryDescription", "SummaryMetadata", "TaggedRunMetadata", "TensorProto",
           "TensorShapeProto", "VariableDef", "make_ndarray", "make_tensor_proto"]
