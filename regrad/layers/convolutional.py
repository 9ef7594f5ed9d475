"""Convolutions as layers: plain, separable and transposed, over one to three spatial axes."""

from regrad.core.shapes import TensorShape, as_int
from regrad.layers.base import InputSpec, Layer, activation_of, functional, normalize
from regrad.ops import array, conv
from regrad.ops.layout import pad
from regrad.ops.nn import bias_add
from regrad.variables.initializers import Zeros

FORMATS = {"channels_last": ("NWC", "NHWC", "NDHWC"), "channels_first": ("NCW", "NCHW", "NCDHW")}


def checked_data_format(value):
    value = value.lower()
    if value not in FORMATS:
        raise ValueError(f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}')
    return value


def checked_padding(value, causal=False):
    value = value.lower()
    if value not in ("valid", "same") and not (causal and value == "causal"):
        raise ValueError(f'The `padding` argument must be a list/tuple or one of "valid", "same"'
                         f'{" (or " + chr(34) + "causal" + chr(34) + ", only for `Conv1D`)" if causal else ""}. '
                         f"Received: {value}")
    return value


def output_length(length, window, padding, stride, dilation=1):
    """Returns the size of an axis after a convolution; None for None."""
    if length is None:
        return None
    covered = (window - 1) * dilation + 1
    if padding == "full":
        length, padding = length + covered - 1, "same"
    return -(-(length if padding in ("same", "causal") else length - covered + 1) // stride)


def input_length(length, window, padding, stride):
    """Returns the size of an axis before a convolution, the smallest that gives `length`; None for None."""
    if length is None:
        return None
    around = {"same": window // 2, "valid": 0, "full": window - 1}[padding]
    return (length - 1) * stride - 2 * around + window


def transposed_length(length, window, padding, stride):
    """Returns the size of an axis after a transposed convolution; None for None."""
    if length is None:
        return None
    more = {"same": 0, "valid": max(window - stride, 0), "full": -(stride + window - 2)}[padding]
    return length * stride + more


def tf_data_format(data_format, ndim):
    """Returns "NHWC" and its kin for "channels_last" or "channels_first" and 3, 4 or 5 axes.

    Raises:
      ValueError: another format or number of axes.
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Invalid data_format: {data_format}")
    if not 3 <= ndim <= 5:
        raise ValueError(f"Input rank not supported: {ndim}")
    spatial = {3: "W", 4: "HW", 5: "DHW"}[ndim]
    return f"N{spatial}C" if data_format == "channels_last" else f"NC{spatial}"


class _Conv(Layer):
    """What the convolutions share; `rank` spatial axes."""

    def __init__(self, rank, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                 kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                 kernel_constraint, bias_constraint, trainable, name, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.rank = rank
        self.filters = None if filters is None else as_int(filters, "filters")
        self.kernel_size = normalize(kernel_size, rank, "kernel_size")
        self.strides = normalize(strides, rank, "strides")
        self.padding = checked_padding(padding, causal=rank == 1)
        self.data_format = checked_data_format(data_format)
        self.dilation_rate = normalize(dilation_rate, rank, "dilation_rate")
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1: got "
                             f"{self.strides}, {self.dilation_rate}.")
        self.activation = activation_of(activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(ndim=rank + 2)

    @property
    def _channel_axis(self):
        return 1 if self.data_format == "channels_first" else -1

    @property
    def _tf_format(self):
        return FORMATS[self.data_format][self.rank - 1]

    def _channels(self, input_shape):
        size = TensorShape(input_shape).as_list()[self._channel_axis]
        if size is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: size})
        return size

    def _kernel_shape(self, channels):
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", self._kernel_shape(self._channels(input_shape)),
                                      initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
                                      constraint=self.kernel_constraint)
        self._build_bias()

    def _build_bias(self):
        self.bias = self.add_weight("bias", [self.filters], initializer=self.bias_initializer,
                                    regularizer=self.bias_regularizer,
                                    constraint=self.bias_constraint) if self.use_bias else None
        self.built = True

    def call(self, inputs):
        padding = self.padding
        if padding == "causal":
            before = [(self.kernel_size[0] - 1) * self.dilation_rate[0], 0]
            inputs = pad(inputs, [[0, 0], before, [0, 0]] if self.data_format == "channels_last"
                         else [[0, 0], [0, 0], before])
            padding = "valid"
        return self._finished(self._convolved(inputs, padding))

    def _convolved(self, inputs, padding):
        """The op itself, named as TF names it."""
        full = self._with_ends(self.strides), self._with_ends(self.dilation_rate)
        if self.rank == 1:
            return conv.conv1d(inputs, self.kernel, self.strides[0], padding.upper(), data_format=self._tf_format,
                               dilations=self.dilation_rate[0])
        function = conv.conv2d if self.rank == 2 else conv.conv3d
        return function(inputs, self.kernel, strides=full[0], padding=padding.upper(), data_format=self._tf_format,
                        dilations=full[1])

    def _with_ends(self, sizes):
        return [1, 1, *sizes] if self.data_format == "channels_first" else [1, *sizes, 1]

    def _finished(self, outputs):
        if self.bias is not None:
            outputs = bias_add(outputs, self.bias,
                               data_format="NCHW" if self.data_format == "channels_first" else "NHWC")
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        space = sizes[2:] if self.data_format == "channels_first" else sizes[1:-1]
        space = [output_length(*a) for a in zip(space, self.kernel_size, [self.padding] * self.rank, self.strides,
                                                self.dilation_rate)]
        return self._shape_of(sizes[0], space)

    def _shape_of(self, batch, space):
        return TensorShape([batch, self.filters, *space] if self.data_format == "channels_first"
                           else [batch, *space, self.filters])


_DOC = """{what}: activation(convolution(inputs, kernel) + bias).

    Args:
      filters: number of output channels.
      kernel_size: size of the window, an int or one per spatial axis.
      strides: steps of the window.
      padding: "valid" or "same"{causal}.
      data_format: "channels_last" ([batch, ..., channels]) or "channels_first" ([batch, channels, ...]).
{extra}      activation: function of the output, its name ("relu"), or None.
      use_bias: whether there is a bias.
      *_initializer, *_regularizer, *_constraint, trainable, name: as for `Dense`.
    """
_DILATION = "      dilation_rate: distance between the elements of the window.\n"


class Conv1D(_Conv):
    __doc__ = _DOC.format(what="Convolution over one spatial axis", extra=_DILATION,
                          causal=', or "causal": no output sees a later input')

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                 activation=None, use_bias=True, kernel_initializer=None, bias_initializer=Zeros(),  # noqa: B008
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(1, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **kwargs)


class Conv2D(_Conv):
    __doc__ = _DOC.format(what="Convolution over two spatial axes", extra=_DILATION, causal="")

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                 dilation_rate=(1, 1), activation=None, use_bias=True, kernel_initializer=None,
                 bias_initializer=Zeros(), kernel_regularizer=None, bias_regularizer=None,  # noqa: B008
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None,
                 **kwargs):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **kwargs)


class Conv3D(_Conv):
    __doc__ = _DOC.format(what="Convolution over three spatial axes", extra=_DILATION, causal="")

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
                 dilation_rate=(1, 1, 1), activation=None, use_bias=True, kernel_initializer=None,
                 bias_initializer=Zeros(), kernel_regularizer=None, bias_regularizer=None,  # noqa: B008
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, trainable=True, name=None,
                 **kwargs):
        super().__init__(3, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **kwargs)


class _Transposed(_Conv):
    """What the transposed convolutions share."""

    def _kernel_shape(self, channels):
        return [*self.kernel_size, self.filters, channels]

    def _lengths(self, space):
        """Sizes of the output's spatial axes; the sizes of the input may be ints or scalar tensors."""
        return [size * stride if self.padding == "same" else size * stride + max(window - stride, 0)
                for size, window, stride in zip(space, self.kernel_size, self.strides)]

    def _convolved(self, inputs, padding):
        dims = inputs.dims
        run_time = array.shape(inputs) if None in dims else None
        sizes = [run_time[i] if d is None else d for i, d in enumerate(dims)]
        first = self.data_format == "channels_first"
        space = self._lengths(sizes[2:] if first else sizes[1:-1])
        shape = [sizes[0], self.filters, *space] if first else [sizes[0], *space, self.filters]
        function = conv.conv2d_transpose if self.rank == 2 else conv.conv3d_transpose
        outputs = function(inputs, self.kernel, shape, self._with_ends(self.strides), padding.upper(),
                           data_format=self._tf_format)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape):
        sizes = TensorShape(input_shape).as_list()
        space = sizes[2:] if self.data_format == "channels_first" else sizes[1:-1]
        known = self._lengths([0 if d is None else d for d in space])
        return self._shape_of(sizes[0], [None if d is None else n for d, n in zip(space, known)])


class Conv2DTranspose(_Transposed):
    __doc__ = _DOC.format(what="The transpose of a convolution over two spatial axes, which enlarges", extra="", causal="")

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last", activation=None,
                 use_bias=True, kernel_initializer=None, bias_initializer=Zeros(), kernel_regularizer=None,  # noqa: B008
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
                 trainable=True, name=None, **kwargs):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **kwargs)


class Conv3DTranspose(_Transposed):
    __doc__ = _DOC.format(what="The transpose of a convolution over three spatial axes, which enlarges", extra="", causal="")

    def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding="valid", data_format="channels_last",
                 activation=None, use_bias=True, kernel_initializer=None, bias_initializer=Zeros(),  # noqa: B008
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(3, filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, trainable, name, **kwargs)


class _Separable(_Conv):
    """What the separable convolutions share."""

    def __init__(self, rank, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
                 use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
                 pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint, pointwise_constraint,
                 bias_constraint, trainable, name, **kwargs):
        super().__init__(rank, filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias, None,
                         bias_initializer, None, bias_regularizer, activity_regularizer, None, bias_constraint, trainable,
                         name, **kwargs)
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer, self.pointwise_initializer = depthwise_initializer, pointwise_initializer
        self.depthwise_regularizer, self.pointwise_regularizer = depthwise_regularizer, pointwise_regularizer
        self.depthwise_constraint, self.pointwise_constraint = depthwise_constraint, pointwise_constraint

    def build(self, input_shape):
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer, constraint=self.depthwise_constraint)
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", [*(1,) * self.rank, channels * self.depth_multiplier, self.filters],
            initializer=self.pointwise_initializer, regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint)
        self._build_bias()

    def _convolved(self, inputs, padding):
        strides, rates = self.strides, self.dilation_rate
        depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
        axis = 2 if self.data_format == "channels_first" else 1
        if self.rank == 1:
            strides, rates = strides * 2, (1, *rates)
            inputs = array.expand_dims(inputs, axis)
            depthwise, pointwise = array.expand_dims(depthwise, 0), array.expand_dims(pointwise, 0)
        outputs = conv.separable_conv2d(inputs, depthwise, pointwise, self._with_ends(strides), padding.upper(), rate=rates,
                                        data_format=FORMATS[self.data_format][1])
        return array.squeeze(outputs, [axis]) if self.rank == 1 else outputs


_SEPARABLE = "      depth_multiplier: channels that the depthwise step makes of each input channel.\n"


class SeparableConv1D(_Separable):
    __doc__ = _DOC.format(what="A convolution per channel, then one across channels, over one spatial axis",
                          extra=_DILATION + _SEPARABLE, causal=', or "causal"')

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format="channels_last", dilation_rate=1,
                 depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
                 bias_initializer=Zeros(), depthwise_regularizer=None, pointwise_regularizer=None,  # noqa: B008
                 bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None, pointwise_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(1, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
                         use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
                         pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint,
                         pointwise_constraint, bias_constraint, trainable, name, **kwargs)


class SeparableConv2D(_Separable):
    __doc__ = _DOC.format(what="A convolution per channel, then one across channels, over two spatial axes",
                          extra=_DILATION + _SEPARABLE, causal="")

    def __init__(self, filters, kernel_size, strides=(1, 1), padding="valid", data_format="channels_last",
                 dilation_rate=(1, 1), depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer=None,
                 pointwise_initializer=None, bias_initializer=Zeros(), depthwise_regularizer=None,  # noqa: B008
                 pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
                 pointwise_constraint=None, bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(2, filters, kernel_size, strides, padding, data_format, dilation_rate, depth_multiplier, activation,
                         use_bias, depthwise_initializer, pointwise_initializer, bias_initializer, depthwise_regularizer,
                         pointwise_regularizer, bias_regularizer, activity_regularizer, depthwise_constraint,
                         pointwise_constraint, bias_constraint, trainable, name, **kwargs)


conv1d = functional(Conv1D, "conv1d")
conv2d = functional(Conv2D, "conv2d")
conv3d = functional(Conv3D, "conv3d")
conv2d_transpose = functional(Conv2DTranspose, "conv2d_transpose")
conv3d_transpose = functional(Conv3DTranspose, "conv3d_transpose")
separable_conv1d = functional(SeparableConv1D, "separable_conv1d")
separable_conv2d = functional(SeparableConv2D, "separable_conv2d")

# Older names.
Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
SeparableConvolution2D = SeparableConv2D
Convolution2DTranspose = Deconvolution2D = Deconv2D = Conv2DTranspose
Convolution3DTranspose = Deconvolution3D = Deconv3D = Conv3DTranspose
convolution1d, convolution2d, convolution3d = conv1d, conv2d, conv3d
separable_convolution2d = separable_conv2d
convolution2d_transpose = deconvolution2d = deconv2d = conv2d_transpose
convolution3d_transpose = deconvolution3d = deconv3d = conv3d_transpose
