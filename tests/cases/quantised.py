"""Quantised integers: the integers and ranges of TensorFlow's kernels, and NumPy's where a definition is short."""

import itertools

import numpy as np

import regrad as tf
from regrad.ops import quantised
from tests.cases import Bad, Case

X = np.concatenate([np.linspace(-3, 4, 15), [-0.0, 0.001, 1.5, 2.25, -2.75, 1e6, -1e6]])
MATRIX = np.linspace(-3, 4, 12).reshape(4, 3)
RNG = np.random.RandomState(3)
BYTES = {"qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16, "qint32": np.int32}


def whole(kind, *shape, fewer=1):
    """Returns integers all over the range of a quantised type, its ends first."""
    info = np.iinfo(BYTES[kind])
    values = RNG.randint(info.min // fewer, info.max // fewer, shape, dtype=np.int64)
    values.flat[:2] = info.min // fewer, info.max // fewer
    return values.astype(BYTES[kind])


def q(x, kind):
    return tf.bitcast(x, getattr(tf, kind))


def f32(x):
    return tf.cast(x, tf.float32)


def integers(outputs):
    """The first of the outputs as plain integers, so that TensorFlow's can be kept."""
    return [tf.bitcast(outputs[0], tf.as_dtype(BYTES[outputs[0].dtype.name])), *outputs[1:]]


def quantize(kind, low, high, **how):
    return lambda x: integers(tf.quantize(f32(x), low, high, getattr(tf, kind), **how))


def scaled(x, low, high, most, least):
    """SCALED's integers by its definition."""
    step = max(low / least if least else 0.0, high / most)
    return np.clip(np.rint(np.clip(x, least * step, most * step) / step), least, most)


_NO = {"derivatives": False, "dtypes": ()}
_MODES = [("MIN_COMBINED", {}), ("MIN_FIRST", {}), ("SCALED", {}), ("SCALED", {"round_mode": "HALF_TO_EVEN"}),
          ("SCALED", {"narrow_range": True}), ("MIN_COMBINED", {"ensure_minimum_range": 4.0})]
_RANGES = [(-1.0, 2.0), (0.3, 3.1), (-2.5, -0.5), (0.0, 0.0)]


def pair(op, *ends, kinds=("quint8", "quint8"), **attrs):
    """An op of two quantised tensors with ranges."""
    return lambda x, y: integers(op(q(x, kinds[0]), q(y, kinds[1]), *ends, **attrs))


def one(op, *ends, kind="quint8", **attrs):
    return lambda x: integers(op(q(x, kind), *ends, **attrs))


_IMAGE = whole("quint8", 2, 5, 4, 3)
_POOL = {"ksize": (1, 2, 3, 1), "strides": (1, 2, 1, 1)}
_ENDS = (-1.0, 2.0, -0.5, 3.0)


def products(x, y):
    """Products of what two bytes stand for: -1 + 3 x / 255, and so on, counted from 0."""
    zero_x, zero_y = 85, 36  # round(255 / 3), round(255 * 0.5 / 3.5)
    level = np.float32(3 / 255) * np.float32(3.5 / 255)
    return (x.astype(int) - zero_x) @ (y.astype(int) - zero_y), level * -2.0**31, level * 2.0**31


CASES = [
    # The range onto the integers.
    *(Case("QuantizeV2", quantize(kind, *ends, mode=mode, **how), None, (X,), note=f"{kind} {mode} {i} {ends}", **_NO)
      for kind, (i, (mode, how)), ends in itertools.product(("qint8", "quint8", "qint16", "quint16"), enumerate(_MODES), _RANGES)
      if kind in ("qint8", "quint8") or ends[0] == -1 and i < 3),
    *(Case("QuantizeV2", quantize("qint32", -1.0, 2.0, mode=mode), None, (X[np.abs(X) < 1.5],), note=f"qint32 {mode}", **_NO)
      for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")),
    Case("QuantizeV2", lambda x: tf.quantize(f32(x), -1.0, 2.0, tf.qint8, "SCALED", "HALF_TO_EVEN")[0],
         lambda x: scaled(np.float32(x), -1.0, 2.0, 127, -128), (X,), note="definition", **_NO),
    *(Case("QuantizeV2", lambda x, m=mode: integers(tf.quantize(
        f32(x), [-1.0, -2.0, 0.5], [1.0, 0.5, 2.0], tf.qint8, m, axis=-1)), None, (MATRIX,), note=f"axis {mode}", unknown="rank",
           **_NO) for mode in ("MIN_COMBINED", "SCALED")),
    # And back.
    *(Case("Dequantize", lambda x, k=kind, m=mode, e=ends: tf.dequantize(q(x, k), *e, m), None,
           (whole(kind, 9, fewer=1 + (kind == "qint32")),),  # at the end of 32 bits TensorFlow's numbers change their sign
           note=f"{kind} {mode} {ends}", **_NO)
      for kind, mode, ends in itertools.product(BYTES, ("MIN_COMBINED", "MIN_FIRST", "SCALED"), _RANGES[:3])
      if ends[0] == -1 or kind == "qint8"),
    Case("Dequantize", lambda x: tf.dequantize(q(x, "quint8"), 0.0, 255.0), lambda x: x, (whole("quint8", 4, 2),),
         note="definition", **_NO),
    Case("Dequantize", lambda x: tf.dequantize(q(x, "qint8"), [-1.0, -2.0, 0.5], [1.0, 0.5, 2.0], "SCALED", axis=1,
                                               narrow_range=True), None, (whole("qint8", 4, 3),), note="axis", **_NO),
    Case("Dequantize", lambda x: tf.cast(tf.dequantize(q(x, "qint8"), -1.0, 2.0, dtype=tf.bfloat16), tf.float32), None,
         (whole("qint8", 5),), note="bfloat16", **_NO),
    # From one range to another.
    *(Case("Requantize", one(quantised.requantize_op, -10.0, 12.0, *ends, kind="qint32", out_type=getattr(tf, kind)), None,
           (whole("qint32", 20),), note=f"{kind} {ends}", **_NO)
      for kind in ("quint8", "qint8") for ends in ((-1.0, 2.0), (-20.0, 30.0), (0.0, 5.0))),
    Case("RequantizationRange", lambda x: quantised.requantizationrange_op(q(x, "qint32"), -256.0, 256.0),
         lambda x: (np.float32(x.min() / 2.0**23), np.float32(x.max() / 2.0**23)), (np.array([-(2**23), 5, 2**24], np.int32),),
         rtol=1e-6, **_NO),
    *(Case("QuantizeDownAndShrinkRange", one(quantised.quantizedownandshrinkrange_op, -3.0, 5.0, kind="qint32", out_type=tf.quint8), None,
           (whole("qint32", 20, fewer=fewer),), note=str(fewer), **_NO) for fewer in (1, 1000)),
    # Arithmetic.
    Case("QuantizedMatMul", pair(quantised.quantizedmatmul_op, *_ENDS), products,
         (whole("quint8", 3, 4), whole("quint8", 4, 2)), rtol=1e-6, **_NO),
    Case("QuantizedMatMul", pair(quantised.quantizedmatmul_op, *_ENDS, transpose_a=True, transpose_b=True), None,
         (whole("quint8", 4, 3), whole("quint8", 2, 4)), note="transposed", **_NO),
    *(Case(f"Quantized{name}", pair(op, *ends), None, (whole("quint8", *x), whole("quint8", *y)), note=str(ends), **_NO)
      for name, op in (("Mul", quantised.quantizedmul_op), ("Add", quantised.quantizedadd_op))
      for ends, x, y in ((_ENDS, (2, 3), (3,)), ((0.5, 2.0, -7.0, -3.0), (4,), (4,)), (_ENDS, (), (5,)))),
    *(Case("QuantizedBiasAdd", pair(quantised.quantizedbiasadd_op, *ends, kinds=(kind, kind), out_type=tf.qint32), None,
           (whole(kind, 2, 3), whole(kind, 3)), note=f"{kind} {ends}", **_NO)
      for kind in ("qint8", "quint8") for ends in (_ENDS, (-38.44586, 3.751778, -231.59996, 135.96284))),
    # Networks.
    *(Case("QuantizedConv2D", lambda x, w, p=padding, s=strides, e=ends: integers(tf.nn.quantized_conv2d(
        q(x, "quint8"), q(w, "quint8"), *e, s, p)), None, (_IMAGE, whole("quint8", 3, 2, 3, 2)),
           note=f"{padding} {strides} {ends}", **_NO)
      for padding, strides, ends in (("SAME", [1, 1, 1, 1], _ENDS), ("VALID", [1, 2, 2, 1], _ENDS),
                                     ("SAME", [1, 2, 2, 1], (1.0, 2.0, -4.0, -3.0)))),
    *(Case(name, one(op, -1.0, 9.0, kind=kind, out_type=getattr(tf, kind)), None, (whole(kind, 20),), note=kind, **_NO)
      for name, op in (("QuantizedRelu", quantised.quantizedrelu_op), ("QuantizedRelu6", quantised.quantizedrelu6_op))
      for kind in ("quint8", "qint32")),
    # TensorFlow has a kernel for this in other builds only.
    Case("QuantizedReluX", lambda x: tf.nn.quantized_relu_x(q(x, "quint8"), 1.0, -1.0, 1.55), lambda x: (
        np.clip(x, 100, 200), -1.0, 1.55), (np.array([0, 99, 100, 101, 199, 200, 201, 255], np.uint8),), rtol=1e-6, **_NO),
    *(Case(name, lambda x, f=function, p=padding, k=kind: integers(f(q(x, k), -1.0, 2.0, padding=p, **_POOL)), None,
           (_IMAGE.view(BYTES[kind]),), note=f"{kind} {padding}", **_NO)
      for name, function in (("QuantizedMaxPool", tf.nn.quantized_max_pool), ("QuantizedAvgPool", tf.nn.quantized_avg_pool))
      for kind in ("quint8", "qint8") for padding in ("SAME", "VALID")),
    # Shapes.
    Case("QuantizedReshape", lambda x: integers(quantised.quantizedreshape_op(q(x, "quint8"), [3, -1], -1.0, 2.0)),
         lambda x: (x.reshape(3, -1), -1.0, 2.0), (whole("quint8", 2, 6),), **_NO),
    *(Case("QuantizedConcat", lambda x, y, k=kind, e=ends: integers(tf.quantized_concat(
        1, [q(x, k), q(y, k)], e[::2], e[1::2])), None, (whole(kind, 2, 3), whole(kind, 2, 2)), note=f"{kind} {ends}", **_NO)
      for kind in ("quint8", "qint32") for ends in (_ENDS, (-1.0, 2.0, -1.0, 2.0))),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2]), 0.0, 1.0, tf.int8), TypeError, "not in list of allowed values: qint16"),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2]), 0.0, 1.0, tf.qint8, "FIRST"), ValueError, "'FIRST' is not in the list"),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2]), 0.0, 1.0, tf.qint8, round_mode="HALF_TO_EVEN"), ValueError,
        "only supported for mode 'SCALED'"),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2]), [0.0], 1.0, tf.qint8), ValueError, "Shape must be rank 0 but is rank 1"),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2, 3]), [0.0, 1.0], [1.0, 2.0], tf.qint8, axis=1), ValueError,
        "Dimensions must be equal, but are 2 and 3"),
    Bad("QuantizeV2", lambda: tf.quantize(tf.zeros([2]), 2.0, 1.0, tf.qint8)[0], tf.errors.InvalidArgumentError,
        "input_max_range must be larger than input_min_range", run=True),
    Bad("Dequantize", lambda: tf.dequantize(tf.zeros([2]), 0.0, 1.0), TypeError, "has DataType float32 not in list"),
    Bad("Requantize", lambda: quantised.requantize_op(tf.zeros([2], tf.qint32), 0.0, 1.0, 0.5, 1.0, out_type=tf.quint8),
        tf.errors.InvalidArgumentError, "requested_output_min must be <= 0", run=True),
    Bad("QuantizedConcat", lambda: tf.quantized_concat(0, [tf.zeros([2], tf.quint8)] * 2, [0.0], [1.0, 1.0]), ValueError,
        "2 values, 1 minima and 2 maxima"),
    Bad("QuantizedConv2D", lambda: tf.nn.quantized_conv2d(
        tf.zeros([1, 3, 3, 2], tf.quint8), tf.zeros([1, 1, 3, 1], tf.quint8), 0.0, 1.0, 0.0, 1.0, [1, 1, 1, 1], "SAME"),
        ValueError, "must have the same depth"),
    Bad("QuantizedBiasAdd", lambda: quantised.quantizedbiasadd_op(
        tf.zeros([2, 3], tf.quint8), tf.zeros([2], tf.quint8), 0.0, 1.0, 0.0, 1.0), ValueError, "as many biases as the last"),
    Bad("QuantizedMatMul", lambda: quantised.quantizedmatmul_op(
        tf.zeros([2, 3], tf.quint8), tf.zeros([2, 3], tf.quint8), 0.0, 1.0, 0.0, 1.0), ValueError, "inner|Dimensions"),
]
