"""Summaries: values for TensorBoard, as serialised `Summary` messages; computed on the host, without gradients."""

import contextlib
import functools
import re

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import REAL
from regrad.core.errors import BadValue, Damaged, InvalidArgumentError, ShapeError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.messages import HistogramProto, Summary, SummaryMetadata, content_proto
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.png import encode_png, encode_wav


def _text(*inputs, **attrs):
    return Spec((), dtypes.string)


def _packed(*values):
    return np.array(Summary(value=values).SerializeToString(), object)


def _name(tag):
    return tag.item().decode() if isinstance(tag, np.ndarray) else tag.decode()


# -- numbers ------------------------------------------------------------------------------------------
def _scalar_lower(b, tags, values):
    if tags.shape != values.shape:
        note = f" (tag '{_name(tags)}')" if tags.ndim == 0 else ""
        raise InvalidArgumentError(f"tags and values are not the same shape: {list(tags.shape)} != {list(values.shape)}{note}")
    return _packed(*(Summary.Value(tag=t.decode(), simple_value=float(v)) for t, v in zip(tags.flat, values.flat)))


scalarsummary_op = define_op("ScalarSummary", "tags: string, values: T", types={"T": REAL}, host=True,
                             infer=_text, lower=_scalar_lower)


@functools.cache
def _bucket_limits():
    """TensorFlow's: from 1e-12 up by 10 % steps to 1e20, the same below zero, and the largest number."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    largest = float(np.finfo(np.float64).max)
    return np.array([-largest, *(-p for p in reversed(positive)), 0.0, *positive, largest])


def histogram_of(values):
    """Returns the HistogramProto of finite numbers; empty buckets are joined to those that follow."""
    x = np.asarray(values, np.float64).reshape(-1)
    limits = _bucket_limits()
    counts = np.bincount(np.searchsorted(limits[:-1], x, side="right"), minlength=len(limits))
    largest = limits[-1]
    with np.errstate(over="ignore"):  # the sums may be infinite, as TensorFlow's are
        histogram = HistogramProto(min=x.min() if x.size else largest, max=x.max() if x.size else -largest, num=x.size,
                                   sum=x.sum(), sum_squares=x @ x)
    # A run of empty buckets is one, which ends where the next that is not empty begins.
    full = counts > 0
    kept = full.copy()
    kept[:-1] |= full[1:]
    kept[-1] |= not full[-1]
    histogram.bucket_limit.extend(limits[kept].tolist())
    histogram.bucket.extend(counts[kept].tolist())
    return histogram


def _histogram_lower(b, tag, values):
    x = np.asarray(values).astype(np.float64)
    if not np.isfinite(x).all():
        word = "Nan" if np.isnan(x).any() else "Infinity"
        raise InvalidArgumentError(f"{word} in summary histogram for: {_name(tag)}")
    return _packed(Summary.Value(tag=_name(tag), histo=histogram_of(x)))


histogramsummary_op = define_op("HistogramSummary", "tag: string, values: T", types={"T": REAL | {dtypes.bool_}}, host=True,
                                infer=_text, lower=_histogram_lower)


# -- pictures and sound -------------------------------------------------------------------------------
def _tags(tag, kind, limit, count):
    name = _name(tag)
    return [f"{name}/{kind}"] if limit == 1 else [f"{name}/{kind}/{i}" for i in range(min(limit, count))]


def _as_bytes(image, bad_color):
    """Scales one floating image to 0..255: around 128 if anything is negative. What is not finite gets `bad_color`."""
    finite = np.isfinite(image).all(-1)
    x = image[finite]
    out = np.empty(image.shape, np.uint8)
    out[...] = bad_color[:image.shape[-1]]
    if x.size:
        low, high = np.float32(x.min()), np.float32(x.max())
        largest, full, offset = (max(abs(low), abs(high)), 127, 128) if low < 0 else (high, 255, 0)
        scale = np.float32(0 if largest < 1e-6 else full / largest)
        out[finite] = (x * x.dtype.type(scale) + x.dtype.type(offset)).astype(np.uint8)
    return out


def _at_least_one(name, value):
    if value < 1:
        raise BadValue(f"Value for attr {name!r} of {value} must be at least minimum 1")


def _image_infer(tag, tensor, *, max_images, bad_color):
    _at_least_one("max_images", max_images)
    if tensor.dims is not None and (len(tensor.dims) != 4 or tensor.dims[3] not in (None, 1, 3, 4)):
        raise ShapeError("ImageSummary: the tensor must be [batch, height, width, 1, 3 or 4 channels], "
                         f"got {spec_text(tensor)}")
    return Spec((), dtypes.string)


def _image_lower(b, tag, tensor, *, max_images, bad_color):
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(f"Tensor must be 4-D with last dim 1, 3, or 4, not {list(tensor.shape)}")
    _, height, width, channels = tensor.shape
    values = []
    for name, image in zip(_tags(tag, "image", max_images, len(tensor)), tensor):
        pixels = image if image.dtype == np.uint8 else _as_bytes(image, bad_color)
        values.append(Summary.Value(tag=name, image=Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=encode_png(pixels))))
    return _packed(*values)


imagesummary_op = define_op("ImageSummary", "tag: string, tensor: T", host=True, infer=_image_infer, lower=_image_lower,
                            attrs={"max_images": 3, "bad_color": (255, 0, 0, 255)},
                            types={"T": {dtypes.uint8, dtypes.float16, dtypes.float32, dtypes.float64}})


def _audio_infer(tag, tensor, sample_rate, *, max_outputs):
    _at_least_one("max_outputs", max_outputs)
    if tensor.dims is not None and len(tensor.dims) not in (2, 3):
        raise ShapeError(f"AudioSummaryV2: the tensor must be [batch, frames] or [batch, frames, channels], "
                         f"got {spec_text(tensor)}")
    return Spec((), dtypes.string)


def _audio_lower(b, tag, tensor, sample_rate, *, max_outputs):
    sounds = tensor[..., None] if tensor.ndim == 2 else tensor
    _, frames, channels = sounds.shape
    rate = float(sample_rate)
    return _packed(*(Summary.Value(tag=name, audio=Summary.Audio(
        sample_rate=rate, num_channels=channels, length_frames=frames, encoded_audio_string=encode_wav(sound, rate),
        content_type="audio/wav")) for name, sound in zip(_tags(tag, "audio", max_outputs, len(sounds)), sounds)))


audiosummary_op = define_op("AudioSummaryV2", "tag: string, tensor: float32, sample_rate: float32", host=True,
                            infer=_audio_infer, lower=_audio_lower, attrs={"max_outputs": 3})


@contextlib.contextmanager
def _parsing(what):
    """Context manager: bytes that are no message are an operand that the op refuses, as in TensorFlow, not a damaged file."""
    try:
        yield
    except Damaged as error:
        raise InvalidArgumentError(f"Could not parse {what}: {error.message}") from None


def _tensor_lower(b, tag, tensor, serialized_summary_metadata):
    value = Summary.Value(tag=_name(tag), tensor=content_proto(np.asarray(tensor)))
    value.metadata.SetInParent()
    with _parsing("the serialized_summary_metadata"):
        value.metadata.ParseFromString(serialized_summary_metadata.item())
    return _packed(value)


tensorsummary_op = define_op("TensorSummaryV2", "tag: string, tensor: T, serialized_summary_metadata: string", host=True,
                             infer=_text, lower=_tensor_lower)


# -- several at once ----------------------------------------------------------------------------------
def _merge_lower(b, inputs):
    merged, seen = Summary(), set()
    for packed in inputs:
        for text in packed.flat:
            with _parsing("one of the summary inputs"):
                summary = Summary.FromString(text)
            for value in summary.value:
                if value.tag in seen:
                    raise InvalidArgumentError(f"Duplicate tag {value.tag} found in summary inputs")
                seen.add(value.tag)
                merged.value.append(value)
    return np.array(merged.SerializeToString(), object)


mergesummary_op = define_op("MergeSummary", "inputs: N*string", host=True, infer=_text, lower=_merge_lower)

for _op_type in ("ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummaryV2", "TensorSummaryV2", "MergeSummary"):
    NotDifferentiable(_op_type)


# -- the public functions -----------------------------------------------------------------------------
def _clean(name):
    """Returns `name` with what no op's name may contain replaced by "_"."""
    if not isinstance(name, (str, type(None))):
        raise TypeError(f"The name of a summary must be a string, got {name!r}.")
    return name if name is None else re.sub(r"[^-/\w.]", "_", name).lstrip("/")


@contextlib.contextmanager
def summary_scope(name, family=None, default_name=None, values=None):
    """Context manager: the name scope of a summary; gives (tag, name of the op).

    Args: family: put before the tag; default_name: taken where `name` is None; values: accepted.
    """
    name, family = _clean(name), _clean(family)
    inner = name or _clean(default_name)
    with get_default_graph().name_scope(f"{family}/{inner}" if family else inner) as scope:
        tag = scope.rstrip("/")
        yield f"{family}/{tag}" if family else tag, scope


def _collected(summary, collections):
    get_default_graph().add_to_collections([GraphKeys.SUMMARIES] if collections is None else list(collections), summary)
    return summary


def scalar(name, tensor, collections=None, family=None):
    """Returns a string scalar: the serialised Summary of one number.

    Args:
      name: becomes the tag, with the name scopes around it.
      tensor: a real number, of rank 0.
      collections: to which the summary is added; [GraphKeys.SUMMARIES] by default.
      family: put before the tag: TensorBoard shows a family together.

    Raises:
      InvalidArgumentError: (when run) the tensor is no scalar.
    """
    with summary_scope(name, family) as (tag, scope):
        return _collected(scalarsummary_op(tag, tensor, name=scope), collections)


def histogram(name, values, collections=None, family=None):
    """Returns a string scalar: the serialised Summary of the distribution of `values`, of any shape.

    Raises:
      InvalidArgumentError: (when run) a value is not finite.
    """
    with summary_scope(name, family) as (tag, scope):
        return _collected(histogramsummary_op(tag, values, name=scope), collections)


def image(name, tensor, max_outputs=3, collections=None, family=None):
    """Returns a string scalar: the serialised Summary of up to `max_outputs` pictures, as PNG.

    Args:
      tensor: [batch, height, width, channels] with 1 (gray), 3 (RGB) or 4 (RGBA) channels. uint8 is taken as it is;
        floats are scaled per picture, so that the largest is 255, or, where any is negative, 0 is gray.
    """
    with summary_scope(name, family) as (tag, scope):
        return _collected(imagesummary_op(tag, tensor, max_images=int(max_outputs), name=scope), collections)


def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """Returns a string scalar: the serialised Summary of up to `max_outputs` sounds, as WAV.

    Args:
      tensor: float32 [batch, frames] or [batch, frames, channels], in [-1, 1].
      sample_rate: in hertz.
    """
    with summary_scope(name, family) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collected(audiosummary_op(tag, tensor, rate, max_outputs=int(max_outputs), name=scope), collections)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):
    """Returns a string scalar: the serialised Summary of a tensor of any type and shape.

    Args:
      summary_metadata: a SummaryMetadata, for the plugin that shows it.
      display_name, summary_description: texts for TensorBoard, part of the metadata.
    """
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = getattr(summary_description, "type_hint", summary_description)
    with summary_scope(name, family) as (tag, scope):
        return _collected(tensorsummary_op(tag, tensor, metadata.SerializeToString(), name=scope), collections)


def text(name, tensor, collections=None):
    """Returns a string scalar: the serialised Summary of strings, which TensorBoard shows as Markdown.

    Raises:
      ValueError: `tensor` is not of strings.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype is not dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype.name}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def merge(inputs, collections=None, name=None):
    """Returns a string scalar: one serialised Summary of all values of `inputs`.

    Raises:
      ValueError: there are no inputs.
      InvalidArgumentError: (when run) two values have one tag.
    """
    if not isinstance(inputs, (list, tuple, set)) or any(x is None for x in inputs):
        raise TypeError(f"summary.merge: inputs must be a list of what tf.summary.scalar and its like return, got {inputs!r}.")
    inputs = list(inputs)
    if not inputs:
        raise ValueError("summary.merge: inputs is empty; tf.summary.merge_all() gives None where there are no summaries.")
    with get_default_graph().name_scope(_clean(name) or "Merge"):
        merged = mergesummary_op(inputs, name="MergeSummary" if name is None else _clean(name))
    get_default_graph().add_to_collections(list(collections or ()), merged)
    return merged


def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """Returns all summaries of a collection merged into one, or None if there are none.

    Args:
      key: the collection.
      scope: only those whose names begin with this (a regular expression).
    """
    found = get_default_graph().get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    """Returns the SummaryDescription of a TensorSummary's NodeDef."""
    from regrad.core.messages import SummaryDescription

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return SummaryDescription(type_hint=node_def.attr["description"].s.decode())


# -- version 0's names: the tag is given, and no scope is opened ----------------------------------------
def scalar_summary(tags, values, collections=None, name=None):
    """Returns the Summary of numbers with given tags, both of one shape."""
    return _collected(scalarsummary_op(tags, values, name=name), collections)


def histogram_summary(tag, values, collections=None, name=None):
    """Returns the Summary of a distribution with a given tag."""
    return _collected(histogramsummary_op(tag, values, name=name), collections)


def image_summary(tag, tensor, max_images=3, collections=None, name=None):
    """Returns the Summary of pictures with a given tag."""
    return _collected(imagesummary_op(tag, tensor, max_images=max_images, name=name), collections)


def merge_summary(inputs, collections=None, name=None):
    """Returns one Summary of several: `merge` under its older name."""
    return merge(inputs, collections, name)


def merge_all_summaries(key=GraphKeys.SUMMARIES):
    """Returns all summaries merged: `merge_all` under its older name."""
    return merge_all(key)
