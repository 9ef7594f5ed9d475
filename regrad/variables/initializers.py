"""Initializers: objects called with (shape, dtype) that give a variable's first value."""

import math

import numpy as np

from regrad.core.convert import constant
from regrad.core.dtypes import FLOATING, as_dtype, float32
from regrad.core.graph import get_default_graph
from regrad.core.opdef import find_op
from regrad.core.shapes import TensorShape
from regrad.core.shown import Shown
from regrad.ops import array, layout, random


class Initializer(Shown):
    """Base class: `initializer(shape, dtype=None, partition_info=None)` returns a tensor.

    `get_config()` gives the arguments that make an equal initializer through `from_config`.
    """

    dtype = float32

    def __call__(self, shape, dtype=None, partition_info=None):
        raise NotImplementedError

    def get_config(self):
        """Returns the constructor's arguments as a dictionary."""
        return {}

    @classmethod
    def from_config(cls, config):
        """Returns an initializer made from what `get_config` gave."""
        return cls(**config)

    def _dtype(self, dtype):
        return self.dtype if dtype is None else as_dtype(dtype)


def _config(*names):
    """Makes a `get_config` of the named attributes, and the dtype's name."""

    def get_config(self):
        values = {n: getattr(self, n) for n in names}
        return {**values, "dtype": self.dtype.name}

    return get_config


def _floating(dtype):
    dtype = as_dtype(dtype)
    if dtype not in FLOATING:
        raise ValueError(f"Expected floating point type, got {dtype!r}.")
    return dtype


def _sizes(shape):
    return TensorShape(shape).as_list() if not hasattr(shape, "_as_graph_element") else shape


class Zeros(Initializer):
    """Zeros (False, empty strings).

    Example:
      print(tf.Session().run(tf.zeros_initializer()([2])))
      #> [0. 0.]
    """

    def __init__(self, dtype=float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array.zeros(shape, self._dtype(dtype))

    get_config = _config()


class Ones(Initializer):
    """Ones (True).

    Example:
      print(tf.Session().run(tf.ones_initializer()([2])))
      #> [1. 1.]
    """

    def __init__(self, dtype=float32):
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return array.ones(shape, self._dtype(dtype))

    get_config = _config()


class Constant(Initializer):
    """A value, or the values of a list or array in row-major order, the last repeated if they are too few.

    Args:
      value: Python number, list or NumPy array.
      dtype: default DType.
      verify_shape: refuse a `value` that has not exactly the wanted shape.

    Example:
      w = tf.get_variable("w", [2], initializer=tf.constant_initializer(0.5))
      with tf.Session() as sess:
          sess.run(w.initializer)
          print(sess.run(w))
      #> [0.5 0.5]
    """

    def __init__(self, value=0, dtype=float32, verify_shape=False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(f"Invalid type for initial value: {type(value)} (expected Python scalar, list or tuple of values, "
                            "or numpy.ndarray).")
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
        verify = self._verify_shape if verify_shape is None else verify_shape
        return constant(self.value, self._dtype(dtype), shape, verify_shape=verify)

    get_config = _config("value")


class RandomUniform(Initializer):
    """Numbers drawn evenly from [minval, maxval); integers too."""

    def __init__(self, minval=0, maxval=None, seed=None, dtype=float32):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random.random_uniform(shape, self.minval, self.maxval, self._dtype(dtype), seed=self.seed)

    get_config = _config("minval", "maxval", "seed")


class RandomNormal(Initializer):
    """Numbers drawn from a normal distribution."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random.random_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)

    get_config = _config("mean", "stddev", "seed")


class TruncatedNormal(Initializer):
    """Numbers drawn from a normal distribution, none further than two standard deviations from the mean."""

    def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=float32):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        return random.truncated_normal(shape, self.mean, self.stddev, self._dtype(dtype), seed=self.seed)

    get_config = _config("mean", "stddev", "seed")


class UniformUnitScaling(Initializer):
    """Uniform numbers in +- factor * sqrt(3 / n), n being the product of all sizes but the last: keeps a linear layer's
    output at the scale of its input."""

    def __init__(self, factor=1.0, seed=None, dtype=float32):
        self.factor, self.seed, self.dtype = factor, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = partition_info.full_shape if partition_info is not None else _sizes(shape)
        inputs = max(math.prod(full[:-1]), 1.0)
        limit = math.sqrt(3 / inputs) * self.factor
        return random.random_uniform(shape, -limit, limit, self._dtype(dtype), seed=self.seed)

    get_config = _config("factor", "seed")


# The standard deviation of a unit normal that is cut off at two standard deviations.
_TRUNCATED_STDDEV = 0.87962566103423978


class VarianceScaling(Initializer):
    """Numbers of variance scale / n, n being the fan-in, the fan-out or their mean.

    Args:
      scale: positive float.
      mode: "fan_in", "fan_out" or "fan_avg". For a convolution's filter fans count the whole window.
      distribution: "truncated_normal" ("normal" means the same), "untruncated_normal" or "uniform".

    Raises:
      ValueError: an argument is none of these.
    """

    def __init__(self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, dtype=float32):
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}; it is fan_in, fan_out or fan_avg.")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"Invalid `distribution` argument: {distribution}; it is truncated_normal, untruncated_normal or "
                             "uniform.")
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.seed, self.dtype = seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        fan_in, fan_out = fans(partition_info.full_shape if partition_info is not None else _sizes(shape))
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}[self.mode]
        scale = self.scale / max(1.0, n)
        dtype = self._dtype(dtype)
        if self.distribution in ("normal", "truncated_normal"):
            return random.truncated_normal(shape, 0.0, math.sqrt(scale) / _TRUNCATED_STDDEV, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, math.sqrt(scale), dtype, seed=self.seed)
        limit = math.sqrt(3.0 * scale)
        return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)

    get_config = _config("scale", "mode", "distribution", "seed")


def fans(shape):
    """Returns (fan-in, fan-out) of a weight's shape: [..window.., inputs, outputs]."""
    shape = [int(d) for d in shape]
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


class GlorotUniform(VarianceScaling):
    """Uniform numbers of variance 2 / (fan-in + fan-out); Glorot & Bengio 2010, "Xavier"."""

    def __init__(self, seed=None, dtype=float32):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)

    get_config = _config("seed")


class GlorotNormal(VarianceScaling):
    """Truncated normal numbers of variance 2 / (fan-in + fan-out); Glorot & Bengio 2010."""

    def __init__(self, seed=None, dtype=float32):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)

    get_config = _config("seed")


def lecun_normal(seed=None):
    """Returns an initializer of truncated normal numbers of variance 1 / fan-in; LeCun et al. 1998."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed=None):
    """Returns an initializer of uniform numbers of variance 1 / fan-in; LeCun et al. 1998."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed=None):
    """Returns an initializer of truncated normal numbers of variance 2 / fan-in; He et al. 2015."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed=None):
    """Returns an initializer of uniform numbers of variance 2 / fan-in; He et al. 2015."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class Orthogonal(Initializer):
    """Orthogonal rows or columns, times `gain`: the last axis against all others; Saxe et al. 2013.

    Raises:
      ValueError: fewer than two axes.
    """

    def __init__(self, gain=1.0, seed=None, dtype=float32):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        shape = _sizes(shape)
        dtype = self._dtype(dtype)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional.")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        normal = random.random_normal([max(rows, columns), min(rows, columns)], dtype=dtype, seed=self.seed)
        q, r = find_op("Qr")(normal, full_matrices=False)
        # The signs that make the decomposition unique make its distribution even (Mezzadri 2006).
        from regrad.ops.math import sign

        q = q * sign(_diagonal(r))
        if rows < columns:
            q = array.transpose(q)
        return self.gain * array.reshape(q, shape)

    get_config = _config("gain", "seed")


def _diagonal(matrix):
    op = find_op("MatrixDiagPart") or find_op("DiagPart")
    return op(matrix)


class Identity(Initializer):
    """The identity matrix, times `gain`.

    Raises:
      ValueError: the shape is not that of a matrix.
    """

    def __init__(self, gain=1.0, dtype=float32):
        self.gain, self.dtype = gain, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        full = partition_info.full_shape if partition_info is not None else _sizes(shape)
        if len(full) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        dtype = self._dtype(dtype)
        sizes = _sizes(shape)
        offset = partition_info.var_offset if partition_info is not None else (0, 0)
        eye = np.eye(sizes[0], sizes[1], offset[0] - offset[1], dtype=dtype.as_numpy_dtype)
        with get_default_graph().name_scope("eye"):
            whole = constant(eye, dtype)
        return whole if self.gain == 1.0 else self.gain * whole

    get_config = _config("gain")


class ConvolutionDeltaOrthogonal(Initializer):
    """A filter that is zero but for an orthogonal matrix in the middle of its window; Xiao et al. 2018.

    Raises:
      ValueError: the shape has fewer than 3 or more than 5 axes, or more inputs than outputs.
    """

    def __init__(self, gain=1.0, seed=None, dtype=float32):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None):
        shape = _sizes(shape)
        if not 3 <= len(shape) <= 5:
            raise ValueError("The tensor to initialize must be at least three-dimensional and at most five-dimensional")
        if shape[-2] > shape[-1]:
            raise ValueError(f"In_filters cannot be greater than out_filters: {shape[-2]} > {shape[-1]}.")
        square = Orthogonal(self.gain, self.seed, self.dtype)([shape[-1], shape[-1]], dtype)
        middle = array.reshape(square[:shape[-2], :], [1] * (len(shape) - 2) + shape[-2:])
        paddings = [[(d - 1) // 2, d - 1 - (d - 1) // 2] for d in shape[:-2]] + [[0, 0], [0, 0]]
        return layout.pad(middle, paddings)

    get_config = _config("gain", "seed")


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
orthogonal_initializer = Orthogonal
identity_initializer = Identity
convolutional_delta_orthogonal = ConvolutionDeltaOrthogonal
