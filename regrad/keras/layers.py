"""`tf.keras.layers`: layers as Keras has them, those of `tf.layers` among them."""

import inspect

from regrad import nn
from regrad.core import nest
from regrad.core.arguments import bound
from regrad.core.dtypes import bool_, int32
from regrad.core.shapes import TensorShape
from regrad.keras.backend import image_data_format
from regrad.keras.base import Input, InputLayer, Layer, Wrapper
from regrad.keras.cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells
from regrad.keras.configs import deserialize, serialize
from regrad.keras.operations import batch_dot, repeat_elements, resize_images
from regrad.keras.recurrent import GRU, LSTM, RNN, Bidirectional, ConvLSTM2D, SimpleRNN
from regrad.keras.regularizers import L1L2
from regrad.keras.utils import custom_object
from regrad.layers import convolutional, core, normalization, pooling
from regrad.layers.base import InputSpec, activation_of, normalize
from regrad.nn.embedding import embedding_lookup
from regrad.ops import array, layout, math, reduce
from regrad.ops.compare import not_equal
from regrad.ops.conv import depthwise_conv2d
from regrad.ops.random import random_normal, random_uniform


def _adapted(of, phases=False, masks=False, **defaults):
    """Returns Keras's form of a layer of `tf.layers`; `defaults` are arguments whose defaults differ, or were not optional.

    `phases` are for layers that ask whether they are trained, `masks` for those that pass masks on.
    """
    signature = inspect.Signature([
        p if p.name not in defaults else p.replace(default=None if callable(defaults[p.name]) else defaults[p.name])
        for p in inspect.signature(of.__init__).parameters.values()])

    def init(self, *args, **kwargs):
        given = bound(made, signature, (self, *args), kwargs)
        del given["self"]
        for name, value in defaults.items():
            if given.get(name) is None:
                given[name] = value(given) if callable(value) else value
        super(made, self).__init__(**given)

    init.__signature__ = signature
    made = type(of.__name__, (Layer, of), {"__init__": init, "__doc__": of.__doc__, "__module__": __name__,
                                           "_in_phases": phases, "supports_masking": masks})
    return made


def _format(given):
    return image_data_format()


def _of_pool(rank):
    return {"pool_size": 2 if rank == 1 else (2,) * rank, "strides": lambda given: given["pool_size"], "data_format": _format}


Dense = _adapted(core.Dense, masks=True)
Flatten = _adapted(core.Flatten, data_format=_format)
Dropout = _adapted(core.Dropout, phases=True, masks=True)
BatchNormalization = _adapted(normalization.BatchNormalization, phases=True, masks=True)
Conv1D = Convolution1D = _adapted(convolutional.Conv1D)
Conv2D = Convolution2D = _adapted(convolutional.Conv2D, data_format=_format)
Conv3D = Convolution3D = _adapted(convolutional.Conv3D, data_format=_format)
Conv2DTranspose = Convolution2DTranspose = _adapted(convolutional.Conv2DTranspose, data_format=_format)
Conv3DTranspose = Convolution3DTranspose = _adapted(convolutional.Conv3DTranspose, data_format=_format)
SeparableConv1D = SeparableConvolution1D = _adapted(convolutional.SeparableConv1D)
SeparableConv2D = SeparableConvolution2D = _adapted(convolutional.SeparableConv2D, data_format=_format)
MaxPooling1D = MaxPool1D = _adapted(pooling.MaxPooling1D, **_of_pool(1))
MaxPooling2D = MaxPool2D = _adapted(pooling.MaxPooling2D, **_of_pool(2))
MaxPooling3D = MaxPool3D = _adapted(pooling.MaxPooling3D, **_of_pool(3))
AveragePooling1D = AvgPool1D = _adapted(pooling.AveragePooling1D, **_of_pool(1))
AveragePooling2D = AvgPool2D = _adapted(pooling.AveragePooling2D, **_of_pool(2))
AveragePooling3D = AvgPool3D = _adapted(pooling.AveragePooling3D, **_of_pool(3))


class TimeDistributed(Wrapper):
    """Calls a layer with each step [batch, time, ...] of the inputs, all at once."""

    supports_masking = True

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs):
        steps = inputs.dims[1] if inputs.dims[1] is not None else array.shape(inputs)[1]
        rows = array.reshape(inputs, array.concat([[-1], array.shape(inputs)[2:]], 0))
        rows.set_shape([None, *inputs.dims[2:]])
        found = self.layer(rows)
        out = array.reshape(found, array.concat([[-1, steps], array.shape(found)[1:]], 0))
        out.set_shape([inputs.dims[0], inputs.dims[1], *found.dims[1:]])
        return out


class Activation(Layer):
    """A function of the inputs, or its name ("relu")."""

    supports_masking = True

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self.activation = activation_of(activation)

    def call(self, inputs):
        return array.identity(inputs) if self.activation is None else self.activation(inputs)


class Lambda(Layer):
    """A function of the inputs as a layer.

    Args:
      function: of the inputs, and of `arguments` by name.
    """

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function = custom_object(function) if isinstance(function, str) else function
        if self.function is None:
            raise ValueError(f"Unknown function: {function!r}. Give it in `custom_objects`, {{{function!r}: the function}}.")
        if not callable(self.function):
            raise ValueError(f"Lambda layer {self.name!r}: its function is {function!r:.60}. Keras writes the bytecode of a "
                             "lambda, and Regrad runs no code of files: give the layer a function with a name, and that to "
                             "`custom_objects`.")
        self.arguments = arguments or {}

    def call(self, inputs):
        return self.function(inputs, **self.arguments)

    @classmethod
    def from_config(cls, config):
        """Returns a layer by its description; a function in it is a name for which `custom_objects` has one."""
        of_keras = ("function_type", "module", "output_shape_type", "output_shape_module")  # where Keras looks for functions
        return super().from_config({key: value for key, value in config.items() if key not in of_keras})


class Embedding(Layer):
    """Rows of the variable "embeddings" [input_dim, output_dim] for integer inputs.

    Args:
      embeddings_initializer, embeddings_regularizer, embeddings_constraint: as for `Dense`.
      mask_zero: where the input is 0, later layers that know masks leave the step out.
      input_length: accepted.
    """

    def __init__(self, input_dim, output_dim, embeddings_initializer="uniform", embeddings_regularizer=None,
                 activity_regularizer=None, embeddings_constraint=None, mask_zero=False, input_length=None, **kwargs):
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,)
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.input_dim, self.output_dim, self.mask_zero, self.input_length = input_dim, output_dim, mask_zero, input_length
        self.embeddings_initializer, self.embeddings_regularizer = embeddings_initializer, embeddings_regularizer
        self.embeddings_constraint = embeddings_constraint

    def build(self, input_shape):
        self.embeddings = self.add_weight("embeddings", [self.input_dim, self.output_dim],
                                          initializer=self.embeddings_initializer, regularizer=self.embeddings_regularizer,
                                          constraint=self.embeddings_constraint)
        self.built = True

    def call(self, inputs):
        return embedding_lookup(self.embeddings, inputs if inputs.dtype.is_integer else math.cast(inputs, int32))

    def compute_mask(self, inputs, mask=None):
        return not_equal(inputs, array.zeros_like(inputs)) if self.mask_zero else None

    def get_config(self):
        """Returns what `Layer.get_config` does, and the arguments that mean another thing in other layers."""
        return {**super().get_config(), "input_dim": self.input_dim, "input_length": self.input_length}


class Masking(Layer):
    """Leaves steps out whose values are all `mask_value`: they become 0, and later layers that know masks pass them over."""

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.mask_value = mask_value

    def compute_mask(self, inputs, mask=None):
        return reduce.reduce_any(not_equal(inputs, math.cast(self.mask_value, inputs.dtype)), axis=-1)

    def call(self, inputs):
        return inputs * math.cast(array.expand_dims(self.compute_mask(inputs), -1), inputs.dtype)


class Reshape(Layer):
    """Gives each example another shape, of which one size may be -1."""

    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def call(self, inputs):
        out = array.reshape(inputs, [array.shape(inputs)[0], *self.target_shape])
        if -1 not in self.target_shape:
            out.set_shape([inputs.dims[0], *self.target_shape])
        return out


class Permute(Layer):
    """Swaps the axes of each example, counted from 1."""

    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)

    def call(self, inputs):
        return array.transpose(inputs, [0, *self.dims])


class RepeatVector(Layer):
    """Gives vectors [batch, size] `n` times, [batch, n, size]."""

    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs):
        return layout.tile(array.expand_dims(inputs, 1), [1, self.n, 1])


class LeakyReLU(Layer):
    """`alpha` times the inputs where they are negative."""

    supports_masking = True

    def __init__(self, alpha=0.3, **kwargs):
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs):
        return nn.leaky_relu(inputs, alpha=self.alpha)


class ReLU(Layer):
    """The inputs where they are above `threshold`, at most `max_value`, and `negative_slope` times what is below."""

    supports_masking = True

    def __init__(self, max_value=None, negative_slope=0, threshold=0, **kwargs):
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs):
        if self.threshold == 0 and not self.negative_slope:
            return nn.relu6(inputs) if self.max_value == 6 else nn.relu(inputs) if self.max_value is None else math.minimum(
                nn.relu(inputs), math.cast(self.max_value, inputs.dtype))
        above = inputs * math.cast(inputs > self.threshold, inputs.dtype)
        if self.max_value is not None:
            above = math.minimum(above, math.cast(self.max_value, inputs.dtype))
        return above - self.negative_slope * nn.relu(self.threshold - inputs)


class ELU(Layer):
    """`alpha` (exp(x) - 1) where the inputs are negative."""

    supports_masking = True

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs):
        found = nn.elu(inputs)
        return found if self.alpha == 1 else nn.relu(inputs) + self.alpha * (found - nn.relu(inputs))


class PReLU(Layer):
    """The variable "alpha" times the inputs where they are negative; `shared_axes` have one alpha."""

    supports_masking = True

    def __init__(self, alpha_initializer="zeros", alpha_regularizer=None, alpha_constraint=None, shared_axes=None, **kwargs):
        super().__init__(**kwargs)
        self.alpha_initializer, self.alpha_regularizer = alpha_initializer, alpha_regularizer
        self.alpha_constraint = alpha_constraint
        self.shared_axes = list(nest.flatten(shared_axes)) if shared_axes is not None else []

    def build(self, input_shape):
        sizes = [1 if i in self.shared_axes else d for i, d in enumerate(TensorShape(input_shape).as_list())][1:]
        self.alpha = self.add_weight("alpha", sizes, None, self.alpha_initializer, self.alpha_regularizer,
                                     constraint=self.alpha_constraint)
        self.built = True

    def call(self, inputs):
        return nn.relu(inputs) - self.alpha * nn.relu(-inputs)


class Softmax(Layer):
    """The softmax along an axis."""

    supports_masking = True

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs):
        return nn.softmax(inputs, axis=self.axis)


class GaussianNoise(Layer):
    """Adds normal numbers while training."""

    _in_phases = True

    supports_masking = True

    def __init__(self, stddev, **kwargs):
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs, training=None):
        return core.smart_cond(training, lambda: inputs + random_normal(array.shape(inputs), stddev=self.stddev,
                                                                       dtype=inputs.dtype), lambda: array.identity(inputs))


class GaussianDropout(Layer):
    """Multiplies by normal numbers of mean 1 and variance rate / (1 - rate) while training."""

    _in_phases = supports_masking = True

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs, training=None):
        if not 0 < self.rate < 1:
            return inputs
        stddev = (self.rate / (1 - self.rate)) ** 0.5
        return core.smart_cond(training, lambda: inputs * random_normal(array.shape(inputs), 1.0, stddev, dtype=inputs.dtype),
                               lambda: array.identity(inputs))


class AlphaDropout(Layer):
    """Drops a part `rate` of inputs while training as selu wants it: mean and variance stay 0 and 1.

    The dropped become -scale * alpha of selu, and all is scaled and shifted then (Klambauer et al. 2017, section "Dropout").
    """

    _in_phases = supports_masking = True

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs, training=None):
        if not 0 < self.rate < 1:
            return inputs
        low, rate = -1.7580993408473766, self.rate  # -scale * alpha

        def dropped():
            shape = array.shape(inputs) if self.noise_shape is None else self.noise_shape
            kept = math.cast(random_uniform(shape, seed=self.seed) >= rate, inputs.dtype)
            a = ((1 - rate) * (1 + rate * low ** 2)) ** -0.5
            return a * (inputs * kept + low * (1 - kept)) - a * low * rate

        return core.smart_cond(training, dropped, lambda: array.identity(inputs))


def _spatial_dropout(name, rank):
    """Returns the layer that drops whole channels of `rank` spatial axes."""

    def init(self, rate, data_format=None, **kwargs):
        Dropout.__init__(self, rate, **kwargs)
        self.data_format = "channels_last" if rank == 1 else data_format or image_data_format()
        self.input_spec = InputSpec(ndim=rank + 2)

    def call(self, inputs, training=None):
        batch, ones = array.shape(inputs)[0], [1] * rank
        channels = array.shape(inputs)[1 if self.data_format == "channels_first" else rank + 1]
        self.noise_shape = [batch, channels, *ones] if self.data_format == "channels_first" else [batch, *ones, channels]
        return Dropout.call(self, inputs, training)

    return type(name, (Dropout,), {"__init__": init, "call": call, "__module__": __name__, "__doc__":
                                   "Drops whole channels while training, a part `rate` of them."})


SpatialDropout1D = _spatial_dropout("SpatialDropout1D", 1)
SpatialDropout2D = _spatial_dropout("SpatialDropout2D", 2)
SpatialDropout3D = _spatial_dropout("SpatialDropout3D", 3)


class ActivityRegularization(Layer):
    """Passes its inputs on, and adds the loss l1 sum(abs(x)) + l2 sum(x^2), a mean over the batch."""

    supports_masking = True

    def __init__(self, l1=0.0, l2=0.0, **kwargs):
        super().__init__(activity_regularizer=L1L2(l1, l2), **kwargs)
        self.l1, self.l2 = l1, l2

    def call(self, inputs):
        return array.identity(inputs)


class ThresholdedReLU(Layer):
    """The inputs where they are above `theta`, else 0."""

    supports_masking = True

    def __init__(self, theta=1.0, **kwargs):
        super().__init__(**kwargs)
        self.theta = theta

    def call(self, inputs):
        return inputs * math.cast(inputs > self.theta, inputs.dtype)


class LayerNormalization(Layer):
    """Normalises each example over some axes, then scales by "gamma" and shifts by "beta".

    Args:
      axis: those axes, the last by default, which have their own gamma and beta.
      epsilon: added to the variance.
    """

    supports_masking = True

    def __init__(self, axis=-1, epsilon=0.001, center=True, scale=True, beta_initializer="zeros", gamma_initializer="ones",
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.axis, self.epsilon = list(nest.flatten(axis)), epsilon
        self.center, self.scale = center, scale
        self.beta_initializer, self.beta_regularizer, self.beta_constraint = beta_initializer, beta_regularizer, beta_constraint
        self.gamma_initializer, self.gamma_regularizer = gamma_initializer, gamma_regularizer
        self.gamma_constraint = gamma_constraint

    def build(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        self.axis = [a % len(sizes) for a in self.axis]
        self._sizes = [d if i in self.axis else 1 for i, d in enumerate(sizes)]
        shape = [sizes[a] for a in self.axis]
        self.gamma = self.add_weight("gamma", shape, None, self.gamma_initializer, self.gamma_regularizer,
                                     constraint=self.gamma_constraint) if self.scale else None
        self.beta = self.add_weight("beta", shape, None, self.beta_initializer, self.beta_regularizer,
                                    constraint=self.beta_constraint) if self.center else None
        self.built = True

    def call(self, inputs):
        mean, variance = nn.moments(inputs, self.axis, keep_dims=True)
        shaped = [v if v is None else array.reshape(v, self._sizes) for v in (self.beta, self.gamma)]
        return nn.batch_normalization(inputs, mean, variance, *shaped, self.epsilon)


# -- several inputs ------------------------------------------------------------------------------------------


class _Merge(Layer):
    """Makes one tensor of a list of them."""

    supports_masking = True

    def call(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(f"A merge layer should be called on a list of at least 2 inputs, got {inputs}.")
        return self.merged(list(inputs))

    def compute_mask(self, inputs, mask=None):
        masks = [m for m in nest.flatten(mask) if m is not None]
        return reduce.reduce_all(array.stack(masks), axis=0) if masks else None


def _merge(name, doc, merged):
    return type(name, (_Merge,), {"__doc__": doc, "__module__": __name__, "merged": lambda self, inputs: merged(inputs)})


def _folded(function):
    def merged(inputs):
        found = inputs[0]
        for t in inputs[1:]:
            found = function(found, t)
        return found

    return merged


Add = _merge("Add", "The sum of tensors.", _folded(math.add))
Subtract = _merge("Subtract", "The first of two tensors less the second.", _folded(math.subtract))
Multiply = _merge("Multiply", "The product of tensors, element by element.", _folded(math.multiply))
Average = _merge("Average", "The mean of tensors.", lambda inputs: _folded(math.add)(inputs) / len(inputs))
Maximum = _merge("Maximum", "The larger of tensors, element by element.", _folded(math.maximum))
Minimum = _merge("Minimum", "The smaller of tensors, element by element.", _folded(math.minimum))


class Concatenate(_Merge):
    """Joins tensors along an axis, the last by default."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def merged(self, inputs):
        return array.concat(inputs, self.axis)

    def compute_mask(self, inputs, mask=None):
        if not any(m is not None for m in nest.flatten(mask)):
            return None
        masks = [math.cast(array.ones_like(x), bool_) if m is None else m for x, m in zip(inputs, mask)]
        masks = [array.expand_dims(m, -1) if m.shape.ndims < x.shape.ndims else m for x, m in zip(inputs, masks)]
        return reduce.reduce_all(array.concat(masks, self.axis), axis=-1)


class Dot(_Merge):
    """The products of two tensors, summed along an axis of each, as `tf.keras.backend.batch_dot`.

    Args:
      axes: those axes, or one number for both.
      normalize: give vectors along those axes the length 1 first: cosines.
    """

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        self.axes, self.normalize = axes, normalize

    def merged(self, inputs):
        if len(inputs) != 2:
            raise ValueError(f"A `Dot` layer should be called on exactly 2 inputs, got {len(inputs)}.")
        axes = [a % t.shape.ndims for a, t in zip(normalize(self.axes, 2, "axes"), inputs)]
        if self.normalize:
            inputs = [nn.l2_normalize(t, a) for a, t in zip(axes, inputs)]
        return batch_dot(*inputs, axes)

    def compute_mask(self, inputs, mask=None):
        return None


def add(inputs, **kwargs):
    """Returns the sum of tensors, of a layer `Add`."""
    return Add(**kwargs)(inputs)


def subtract(inputs, **kwargs):
    """Returns the first of two tensors less the second, of a layer `Subtract`."""
    return Subtract(**kwargs)(inputs)


def average(inputs, **kwargs):
    """Returns the mean of tensors, of a layer `Average`."""
    return Average(**kwargs)(inputs)


def maximum(inputs, **kwargs):
    """Returns the larger of tensors, of a layer `Maximum`."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs, **kwargs):
    """Returns the smaller of tensors, of a layer `Minimum`."""
    return Minimum(**kwargs)(inputs)


def dot(inputs, axes, normalize=False, **kwargs):
    """Returns the products of two tensors' rows, of a layer `Dot`."""
    return Dot(axes, normalize, **kwargs)(inputs)


def multiply(inputs, **kwargs):
    """Returns the product of tensors, of a layer `Multiply`."""
    return Multiply(**kwargs)(inputs)


def concatenate(inputs, axis=-1, **kwargs):
    """Returns tensors joined along an axis, of a layer `Concatenate`."""
    return Concatenate(axis=axis, **kwargs)(inputs)


# -- images ----------------------------------------------------------------------------------------------------


class _Spatial(Layer):
    """What layers over `rank` spatial axes share."""

    rank = 2

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = data_format or image_data_format()
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _axes(self):
        first = 2 if self.data_format == "channels_first" else 1
        return list(range(first, first + self.rank))


def _global(name, rank, function, what):
    return type(name, (_Spatial,), {
        "rank": rank, "__module__": __name__, "__doc__": f"The {what} over {rank} spatial ax{'i' if rank == 1 else 'e'}s.",
        "call": lambda self, inputs: function(inputs, self._axes)})


GlobalAveragePooling1D = GlobalAvgPool1D = _global("GlobalAveragePooling1D", 1, reduce.reduce_mean, "mean")
GlobalAveragePooling2D = GlobalAvgPool2D = _global("GlobalAveragePooling2D", 2, reduce.reduce_mean, "mean")
GlobalAveragePooling3D = GlobalAvgPool3D = _global("GlobalAveragePooling3D", 3, reduce.reduce_mean, "mean")
GlobalMaxPooling1D = GlobalMaxPool1D = _global("GlobalMaxPooling1D", 1, reduce.reduce_max, "maximum")
GlobalMaxPooling2D = GlobalMaxPool2D = _global("GlobalMaxPooling2D", 2, reduce.reduce_max, "maximum")
GlobalMaxPooling3D = GlobalMaxPool3D = _global("GlobalMaxPooling3D", 3, reduce.reduce_max, "maximum")


def _margins(given, rank, name):
    """Returns [(before, after)] for each spatial axis, of what Keras's layers take for margins."""
    if rank == 1:
        return [normalize(given[0] if isinstance(given, list) and len(given) == 1 else given, 2, name)]
    given = (given,) * rank if isinstance(given, int) else given
    if len(given) != rank:
        raise ValueError(f"`{name}` must have {rank} elements, got {given}.")
    return [normalize(one, 2, name) for one in given]


class ZeroPadding2D(_Spatial):
    """Puts zeros around images.

    Args:
      padding: how many: an int, (vertical, horizontal), or ((top, bottom), (left, right)).
    """

    def __init__(self, padding=1, data_format=None, **kwargs):
        super().__init__(data_format, **kwargs)
        self.padding = _margins(padding, self.rank, "padding")

    def call(self, inputs):
        around = dict(zip(self._axes, self.padding))
        return layout.pad(inputs, [around.get(i, (0, 0)) for i in range(self.rank + 2)])


class ZeroPadding1D(ZeroPadding2D):
    """Puts zeros before and after sequences; `padding` is an int, or (before, after)."""

    rank = 1


class ZeroPadding3D(ZeroPadding2D):
    """Puts zeros around volumes; `padding` is an int, three, or three of (before, after)."""

    rank = 3


class Cropping2D(_Spatial):
    """Cuts the edges of images off; `cropping` as `padding` of ZeroPadding2D."""

    def __init__(self, cropping=None, data_format=None, **kwargs):
        super().__init__(data_format, **kwargs)
        default = 0 if self.rank == 2 else 1
        self.cropping = _margins(default if cropping is None else cropping, self.rank, "cropping")

    def call(self, inputs):
        cut = dict(zip(self._axes, self.cropping))
        return inputs[tuple(slice(cut[i][0], -cut[i][1] or None) if i in cut else slice(None) for i in range(self.rank + 2))]


class Cropping1D(Cropping2D):
    """Cuts the ends of sequences off; `cropping` is an int, (before, after); 1 by default."""

    rank = 1


class Cropping3D(Cropping2D):
    """Cuts the edges of volumes off; `cropping` as `padding` of ZeroPadding3D, 1 by default."""

    rank = 3


class UpSampling3D(_Spatial):
    """Repeats the elements of volumes `size` times along each spatial axis; an int or three."""

    rank = 3

    def __init__(self, size=2, data_format=None, **kwargs):
        super().__init__(data_format, **kwargs)
        self.size = normalize(size, self.rank, "size")

    def call(self, inputs):
        for axis, n in zip(self._axes, self.size):
            inputs = repeat_elements(inputs, n, axis)
        return inputs


class UpSampling1D(UpSampling3D):
    """Repeats each step of sequences `size` times."""

    rank = 1


class UpSampling2D(_Spatial):
    """Enlarges images by whole factors.

    Args:
      size: the factors, an int or (vertical, horizontal).
      interpolation: "nearest" or "bilinear".
    """

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs):
        super().__init__(data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError(f'interpolation must be "nearest" or "bilinear", got {interpolation!r}.')
        self.size, self.interpolation = normalize(size, 2, "size"), interpolation

    def call(self, inputs):
        return resize_images(inputs, *self.size, self.data_format, self.interpolation)


class DepthwiseConv2D(Conv2D):  # type: ignore[valid-type, misc]
    """Convolves each channel with `depth_multiplier` filters of its own: the variable "depthwise_kernel".

    Args:
      depthwise_*: as kernel_* of Conv2D, which its other arguments are.
    """

    def __init__(self, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1, data_format=None, activation=None,
                 use_bias=True, depthwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(filters=None, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                         activation=activation, use_bias=use_bias, bias_initializer=bias_initializer,
                         bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
                         bias_constraint=bias_constraint, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer, self.depthwise_regularizer = depthwise_initializer, depthwise_regularizer
        self.depthwise_constraint = depthwise_constraint

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], None, self.depthwise_initializer,
            self.depthwise_regularizer, constraint=self.depthwise_constraint)
        self.filters = channels * self.depth_multiplier
        self._build_bias()

    def _convolved(self, inputs, padding):
        return depthwise_conv2d(inputs, self.depthwise_kernel, self._with_ends(self.strides), padding.upper(),
                                rate=self.dilation_rate, data_format=self._tf_format)


__all__ = ["Bidirectional", "ConvLSTM2D", "GRU", "GRUCell", "Input", "InputLayer", "InputSpec", "LSTM", "LSTMCell", "Layer",
           "RNN", "SimpleRNN", "SimpleRNNCell", "StackedRNNCells", "Wrapper", "add", "average", "concatenate", "deserialize",
           "dot", "maximum", "minimum", "multiply", "serialize", "subtract"]
__all__ += [name for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, Layer)
            and not name.startswith("_") and name not in __all__]
