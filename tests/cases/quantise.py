"""Fake quantisation: values by its definition, gradients where they are decided."""

import numpy as np

import regrad as tf
from regrad.core.errors import ShapeError
from regrad.ops import quantise
from tests.cases import Bad, Case, Edge

X = np.linspace(-3, 3, 13)
GRID = np.linspace(-3, 3, 12).reshape(3, 4)


def fake(x, low, high, num_bits=8, narrow_range=False):
    """The nearest of the 2^n values k step, with integers k, that span [low, high] moved so that 0 is one of them."""
    first, last = int(narrow_range), 2**num_bits - 1
    step = (high - low) / (last - first)
    zero = np.clip(np.floor(first - low / step + 0.5), first, last)
    values = (np.arange(first, last + 1) - zero) * step
    middles = (values[1:] + values[:-1]) / 2
    return values[np.searchsorted(middles, x, side="right")]


def fake_channels(x, low, high, **bits):
    return np.stack([fake(c, *ends, **bits) for c, *ends in zip(x.T, low, high)], 1)


def inside(x, low, high, dy=1.0, **bits):
    grid = fake(np.array([-1e9, 1e9]), low, high, **bits)
    return np.where((x >= grid[0]) & (x <= grid[1]), dy, 0.0), np.where(x < grid[0], dy, 0.0), np.where(x > grid[1], dy, 0.0)


def _rounded(x, most, end, half_up=False):
    step = end / most
    return (np.floor(x / step + 0.5) if half_up else np.rint(x / step)) * step


_SCALES = [(-1.0, 2.0, 4, False), (0.5, 2.0, 4, False), (-2.0, -0.5, 3, True), (-1.05, 1.0, 8, True)]
CASES = [
    *(Case("FakeQuantWithMinMaxArgs", lambda x, k=k: tf.fake_quant_with_min_max_args(x, *k), lambda x, k=k: fake(x, *k), (X,),
           dtypes=("float32",) if not i else (), note=str(i), derivatives=False) for i, k in enumerate(_SCALES)),
    *(Case("FakeQuantWithMinMaxVars", lambda x, a, b, k=k: tf.fake_quant_with_min_max_vars(x, a, b, *k[2:]),
           lambda x, a, b, k=k: fake(x, *k), (X, np.array(k[0]), np.array(k[1])), dtypes=(), note=str(i), derivatives=False)
      for i, k in enumerate(_SCALES)),
    Case("FakeQuantWithMinMaxVars", lambda x: tf.fake_quant_with_min_max_vars(x, tf.zeros([], x.dtype), tf.zeros([], x.dtype)),
         np.zeros_like, (X,), note="empty range", derivatives=False),
    Case("FakeQuantWithMinMaxVarsPerChannel", tf.fake_quant_with_min_max_vars_per_channel, fake_channels,
         (GRID, np.array([-1.0, -2.0, -0.5, 0.1]), np.array([1.0, 2.5, 0.25, 2.0])), {"num_bits": 3}, dtypes=(), derivatives=False),
    Case("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(x, -2.0, 2.0, range_given=True),
         lambda x: _rounded(np.clip(x, -256 / 127, 2), 127, 2), (X,), derivatives=False),
    Case("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(x, 0.0, 0.0, num_bits=4),
         lambda x: _rounded(x, 7, 3), (X,), note="range of the input", derivatives=False),
    Case("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(
        x, -1.0, 2.0, range_given=True, signed_input=False, num_bits=4), lambda x: _rounded(np.clip(x, 0, 2), 15, 2), (X,),
         note="unsigned", derivatives=False),
    Case("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(
        x, -1.0, 2.0, range_given=True, num_bits=4, narrow_range=True, round_mode="HALF_UP"),
         lambda x: _rounded(np.clip(x, -2, 2), 7, 2, True), (X,), note="narrow", derivatives=False),
    Case("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(x, [-9.0, -9.0, -9.0], [1.0, 3.0, 0.5], axis=0,
                                                                         range_given=True, num_bits=8, signed_input=False),
         lambda x: np.stack([_rounded(np.clip(r, 0, e), 255, e) for r, e in zip(x, [1, 3, 0.5])]), (GRID,), note="axis",
         derivatives=False),
    # The gradient ops are linear in what arrives; that is all there is to differentiate.
    *(Case("FakeQuantWithMinMaxArgsGradient", lambda g, k=k: tf.fake_quant_with_min_max_args_gradient(g, tf.cast(X, g.dtype), *k),
           lambda g, k=k: inside(X, *k[:2], dy=g, num_bits=k[2], narrow_range=k[3])[0], ((13,),), note=str(i), jax=False)
      for i, k in enumerate(_SCALES)),
    *(Case("FakeQuantWithMinMaxVarsGradient", lambda g, k=k: quantise.fake_quant_with_min_max_vars_gradient(
        g, tf.cast(X, g.dtype), tf.cast(k[0], g.dtype), tf.cast(k[1], g.dtype), *k[2:]),
           lambda g, k=k: tuple(a.sum() if i else a for i, a in enumerate(
               inside(X, *k[:2], dy=g, num_bits=k[2], narrow_range=k[3]))), ((13,),), note=str(i), jax=False)
      for i, k in enumerate(_SCALES)),
    Case("FakeQuantWithMinMaxVarsPerChannelGradient",
         lambda g: quantise.fake_quant_with_min_max_vars_per_channel_gradient(
             g, tf.cast(GRID, g.dtype), tf.cast([-1.0] * 4, g.dtype), tf.cast([1.0] * 4, g.dtype), 3),
         lambda g: tuple(a.sum(0) if i else a for i, a in enumerate(inside(GRID, -1.0, 1.0, dy=g, num_bits=3))), ((3, 4),),
         jax=False),
    Edge("FakeQuantWithMinMaxArgs", lambda x: tf.fake_quant_with_min_max_args(x, -1.0, 1.0, 3, narrow_range=True),
         ([-1.5, -1.0, 0.3, 1.0, 1.5],), (np.array([0.0, 1, 1, 1, 0]),), note="clipped"),
    Edge("FakeQuantWithMinMaxVars", lambda x, a, b: tf.fake_quant_with_min_max_vars(x, a, b, 3, narrow_range=True),
         ([-1.5, -1.0, 0.3, 1.5, 1.75], np.array(-1.0), np.array(1.0)),
         (np.array([0.0, 1, 1, 0, 0]), np.array(1.0), np.array(2.0)), note="clipped"),
    Edge("FakeQuantWithMinMaxVarsPerChannel", lambda x, a, b: tf.fake_quant_with_min_max_vars_per_channel(x, a, b, 3, True),
         ([[-1.5, 1.5], [0.5, 1.75]], [-1.0, -1.0], [1.0, 1.0]),
         (np.array([[0.0, 0], [1, 0]]), np.array([1.0, 0]), np.array([0.0, 2])), note="clipped"),
    Edge("QuantizeAndDequantizeV2", lambda x: tf.quantize_and_dequantize(x, -1.0, 1.0, range_given=True), ([-5.0, 0.3, 5.0],),
         (np.ones(3),), note="straight through"),
    Bad("FakeQuantWithMinMaxArgs", lambda: tf.fake_quant_with_min_max_args([1.0], 2.0, 1.0), ValueError, "min must be smaller"),
    Bad("FakeQuantWithMinMaxArgs", lambda: tf.fake_quant_with_min_max_args([1.0], num_bits=17), ValueError, "between 2 and 16"),
    Bad("FakeQuantWithMinMaxVars", lambda: tf.fake_quant_with_min_max_vars([1.0], [0.0, 1.0], 2.0), ShapeError,
        "min must be a scalar"),
    Bad("FakeQuantWithMinMaxVarsPerChannel", lambda: tf.fake_quant_with_min_max_vars_per_channel([1.0, 2.0], [0.0], [1.0]),
        ShapeError, "one number per channel"),
    Bad("QuantizeAndDequantizeV2", lambda: tf.quantize_and_dequantize([1.0], 0.0, 1.0, round_mode="UP"), ValueError,
        "round_mode must be"),
    Bad("QuantizeAndDequantizeV2", lambda: tf.quantize_and_dequantize([1.0], 0.0, 1.0, axis=1), ShapeError, "out of range"),
]
