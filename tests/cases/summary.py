"""Rows for `regrad/ops/summary.py`: serialised Summaries, byte for byte."""

import numpy as np

import regrad as tf
from tests.cases import Bad, once

raw = tf.raw_ops
REAL = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64")
X = np.random.RandomState(0).randn(40).astype(np.float32)
PICTURES = np.random.RandomState(1).rand(2, 3, 4, 3).astype(np.float32)
NAN = np.where(np.arange(72).reshape(2, 3, 4, 3) == 5, np.nan, PICTURES).astype(np.float32)


def of(dtype, values):
    return np.array(values, tf.as_dtype(dtype).as_numpy_dtype)


def scalars(x, *tags):
    return raw.ScalarSummary(tags=tags[0] if not x.shape.ndims else list(tags), values=x)


def histogram(x):
    return raw.HistogramSummary(tag="h", values=x)


def picture(x, **more):
    """Tag, size and kind of each picture, and its pixels: how a PNG packs them is the library's."""
    return raw.ImageSummary(tag="i", tensor=x, **more)


def sound(x, rate=44100.0, **more):
    return raw.AudioSummaryV2(tag="a", tensor=x, sample_rate=rate, **more)


def any_tensor(x, metadata=b""):
    return raw.TensorSummaryV2(tag="t", tensor=x, serialized_summary_metadata=metadata)


def merged(*texts):
    return raw.MergeSummary(inputs=list(texts))


def summary(tag, value):
    return np.array(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)]).SerializeToString(), object)


SOUND = np.linspace(-1.2, 1.2, 24).reshape(2, 6, 2).astype(np.float32)
CASES = [
    *(once("ScalarSummary", lambda x: scalars(x, "a/b"), of(d, 3), note=d, unknown=False) for d in REAL),
    once("ScalarSummary", lambda x: scalars(x, "a", "b", "c"), of("float32", [np.nan, np.inf, -0.0]), note="not finite",
         unknown=False),
    once("ScalarSummary", lambda x: scalars(x, "a"), of("float64", 1e300), note="too large", unknown=False),
    once("ScalarSummary", lambda x: scalars(x, "a"), of("float64", 0.1), note="rounded", unknown=False),
    once("ScalarSummary", lambda x: raw.ScalarSummary(tags="a", values=x), of("float32", [1, 2]), note="another shape"),
    once("ScalarSummary", lambda x: raw.ScalarSummary(tags=np.zeros((0,), "S"), values=x), of("float32", []), note="empty"),
    *(once("HistogramSummary", histogram, of(d, [[0, 1], [1, 100]]), note=d) for d in REAL),
    once("HistogramSummary", histogram, X),
    once("HistogramSummary", histogram, of("float64", [0, 0, 1, 1e21, -1e-13, -1e300, 1e-300]), note="extremes"),
    once("HistogramSummary", histogram, of("float32", []), note="empty"),
    once("HistogramSummary", histogram, of("float32", 2.5), note="scalar"),
    *(once("HistogramSummary", histogram, of("float32", [1, v]), note=str(v)) for v in (np.nan, np.inf)),
    *(once("AudioSummaryV2", sound, x, note=n) for n, x in {
        "stereo": SOUND, "mono": SOUND[..., 0], "one": SOUND[:1], "no frames": SOUND[:, :0], "no sounds": SOUND[:0]}.items()),
    once("AudioSummaryV2", lambda x: sound(x, max_outputs=1), SOUND, note="the first"),
    once("AudioSummaryV2", lambda x, r: sound(x, r), SOUND, np.float32(8000), note="rate"),
    once("AudioSummaryV2", sound, of("float32", [[0.0, np.nan, np.inf]]), note="not finite"),
    Bad("AudioSummaryV2", lambda: sound(np.zeros([3], "f")), ValueError, r"must be \[batch, frames\] or \[batch, frames, channels\], got float32\[3\]"),
    Bad("AudioSummaryV2", lambda: sound(SOUND, max_outputs=0), ValueError, "'max_outputs' of 0 must be at least minimum 1"),
    *(once("TensorSummaryV2", any_tensor, of(d, [[0, 1], [2, 3]]), note=d) for d in (*REAL, "bool", "complex64", "complex128")),
    once("TensorSummaryV2", any_tensor, np.array([b"a", b""], object), note="string"),
    once("TensorSummaryV2", any_tensor, of("float32", np.zeros((0, 2))), note="empty"),
    once("TensorSummaryV2", lambda x: any_tensor(x, tf.SummaryMetadata(
        summary_description="d", plugin_data=tf.SummaryMetadata.PluginData(plugin_name="p")).SerializeToString()),
         of("int32", [5]), note="metadata"),
    once("MergeSummary", merged, summary("a", 1.0), summary("b", 2.0)),
    once("MergeSummary", merged, summary("a", 1.0), note="one"),
    once("MergeSummary", merged, summary("a", 1.0), summary("a", 2.0), note="one tag twice"),
    once("MergeSummary", merged, np.array(b"no summary", object), note="no summary"),
    once("MergeSummary", merged, np.array([summary("a", 1.0).item(), summary("b", 2.0).item()], object), note="vector"),
]


# -- pictures: their PNGs are read again --------------------------------------------------------------------
def reread(x, **more):
    """The pixels that `ImageSummary` packed, read from the serialised Summary by a function of the host."""
    def pixels(text):
        values = tf.Summary.FromString(text).value
        return [np.array([v.tag.encode() for v in values], object),
                np.array([[v.image.height, v.image.width, v.image.colorspace] for v in values], np.int64).reshape(-1, 3),
                np.array([v.image.encoded_image_string for v in values], object)]

    tags, sizes, files = tf.py_func(pixels, [picture(x, **more)], [tf.string, tf.int64, tf.string])
    count = min(x.shape[0].value, more.get("max_images", 3))
    return [tags, sizes, *(tf.image.decode_png(files[i]) for i in range(count))]


CASES += [once("ImageSummary", reread, x, note=n, unknown=False) for n, x in {
    "unit": PICTURES, "signed": PICTURES - np.float32(0.5), "bytes": (PICTURES * 255).astype(np.uint8), "NaN": NAN,
    "gray": PICTURES[..., :1], "alpha": np.concatenate([PICTURES, PICTURES[..., :1]], -1), "zero": np.zeros_like(PICTURES),
    "float16": PICTURES.astype(np.float16), "float64": PICTURES.astype(np.float64),
}.items()]
CASES += [
    once("ImageSummary", lambda x: reread(x, max_images=1), PICTURES, note="the first", unknown=False),
    Bad("ImageSummary", lambda: picture(np.zeros([3, 3, 3], "f")), ValueError, r"1, 3 or 4 channels\], got float32\[3,3,3\]"),
    Bad("ImageSummary", lambda: picture(np.zeros([1, 3, 3, 2], "f")), ValueError,
        r"1, 3 or 4 channels\], got float32\[1,3,3,2\]"),
]
