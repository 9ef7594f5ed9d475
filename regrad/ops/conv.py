"""Convolutions of one to three dimensions, their transposes, depthwise and separable ones, and dilation.

Gradients: `conv_grad.py`. A filter is [*window, input channels, output channels]; with fewer input channels
than the input has, the channels fall into groups. How they are computed is in `convolve.py`.
"""

import functools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING
from regrad.core.errors import ShapeError, Unsupported
from regrad.core.facts import Product
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import compatible, size_of, text
from regrad.ops import array, convolve
from regrad.ops.array import one_of
from regrad.ops.dilated import with_space_to_batch
from regrad.ops.window import as_format, as_padding, as_text, conv_windows, cropped, first_of_largest, per_axis, taps, untap

# -- shape rules ------------------------------------------------------------------------------------


def _put(dims, values):
    """Returns `dims` with axes replaced as in the dict `values`."""
    return tuple(values.get(i, d) for i, d in enumerate(dims))


def _conv_infer(x, w, *, strides, padding, data_format, dilations, explicit_paddings=(), **attrs):
    rank, channels = len(data_format), data_format.index("C")
    rank_is(x, rank, "input")
    rank_is(w, rank, "filter")
    dims, kernel = x.dims or (None,) * rank, w.dims or (None,) * rank
    c, per_group, out = dims[channels], kernel[-2], kernel[-1]
    if None not in (c, per_group) and (per_group == 0 or c % per_group):
        raise ShapeError(f"the input depth {c} is no multiple of the depth of the filter, {per_group}: input "
                         f"{spec_text(x)} in the format {data_format}, filter {spec_text(w)}")
    if None not in (c, per_group, out) and out % (c // per_group):
        raise ShapeError(f"the filter {spec_text(w)} has {out} output channels, which must be a multiple of "
                         f"the {c // per_group} groups that it makes of the channels of {spec_text(x)}")
    windows = conv_windows(x.dims, kernel[:-2], data_format, strides, dilations, padding, explicit_paddings)
    return Spec(_put(dims, {channels: out} | {v.axis: v.out for v in windows}), x.dtype)


def _sizes_of(spec, rank, what):
    """Returns the dims that a vector of sizes gives, unknown ones where it is not known."""
    rank_is(spec, 1, f"{what}, a vector of {rank} sizes")
    dims = spec.partial()
    if dims is None:
        return (None,) * rank
    if len(dims) != rank:
        raise ShapeError(f"{what} must have shape ({rank},), got {list(dims)}")
    if any(d is not None and d < 0 for d in dims):
        raise ShapeError(f"{what} must hold sizes, each of which must be >= 0, got {list(dims)}")
    return dims


def _agree(forward, dy, what):
    if not compatible(forward.dims, dy.dims):
        raise ShapeError(f"out_backprop is {spec_text(dy)}, but the convolution of {what} has shape "
                         f"{text(forward.dims)}")


def _conv_input_infer(input_sizes, w, dy, *, data_format, infer=_conv_infer, **attrs):
    rank = len(data_format)
    rank_is(w, rank, "filter")
    rank_is(dy, rank, "out_backprop")
    dims = _sizes_of(input_sizes, rank, "input_sizes")
    if dy.dims is not None and dims[0] is None:
        dims = (dy.dims[0], *dims[1:])
    forward = infer(Spec(dims, dy.dtype), w, data_format=data_format, **attrs)
    _agree(forward, dy, f"input_sizes {text(dims)} with the filter {spec_text(w)}")
    return Spec(dims, dy.dtype)


def _conv_filter_infer(x, filter_sizes, dy, *, data_format, infer=_conv_infer, **attrs):
    rank = len(data_format)
    rank_is(x, rank, "input")
    rank_is(dy, rank, "out_backprop")
    dims = _sizes_of(filter_sizes, rank, "filter_sizes")
    forward = infer(x, Spec(dims, dy.dtype), data_format=data_format, **attrs)
    _agree(forward, dy, f"{spec_text(x)} with filter_sizes {text(dims)}")
    return Spec(dims, dy.dtype)


# -- Conv2D, Conv3D and their gradients ---------------------------------------------------------------
_FLOAT = {"T": FLOATING}
_ATTRS_2D = {"strides": None, "use_cudnn_on_gpu": True, "padding": None, "explicit_paddings": (),
             "data_format": "NHWC",
             "dilations": (1, 1, 1, 1)}
_ATTRS_3D = {"strides": None, "padding": None, "data_format": "NDHWC", "dilations": (1, 1, 1, 1, 1)}


def _windows(dims, kernel, *, data_format, strides, dilations, padding, explicit_paddings=(), **_):
    """Returns the Windows of a convolution, on the axes that they have when channels stand last."""
    windows = conv_windows(dims, kernel, data_format, strides, dilations, padding, explicit_paddings)
    for w in windows:
        w.axis -= data_format[1] == "C"
    return windows


def _last(b, x, data_format):
    """Returns `x` with channels last."""
    return b.np.moveaxis(x, 1, -1) if data_format[1] == "C" else x


def _restored(b, x, data_format):
    """Returns a channels-last `x` in `data_format`."""
    return b.np.moveaxis(x, -1, 1) if data_format[1] == "C" else x


def _as(x, dtype):
    return x if x.dtype == dtype else x.astype(dtype)


def _lowerings(forward, by_input, by_filter):
    """Returns the lowerings of a convolution and of its gradients from functions of channels-last arrays."""

    def lower(b, x, w, **attrs):
        layout = attrs["data_format"]
        y = forward(b, _last(b, x, layout), w, _windows(x.shape, w.shape[:-2], **attrs))
        return _as(_restored(b, y, layout), x.dtype)  # NumPy's products of bfloat16 are float32

    def lower_input(b, sizes, w, dy, **attrs):
        layout = attrs["data_format"]
        dims = tuple(int(d) for d in sizes)
        windows = _windows(dims, w.shape[:-2], **attrs)
        if layout[1] == "C":
            dims = (dims[0], *dims[2:], dims[1])
        return _as(_restored(b, by_input(b, dims, w, _last(b, dy, layout), windows), layout), dy.dtype)

    def lower_filter(b, x, sizes, dy, **attrs):
        layout = attrs["data_format"]
        dims = tuple(int(d) for d in sizes)
        windows = _windows(x.shape, dims[:-2], **attrs)
        return _as(by_filter(b, _last(b, x, layout), dims, _last(b, dy, layout), windows), dy.dtype)

    return lower, lower_input, lower_filter


_conv_lower, _conv_input_lower, _conv_filter_lower = _lowerings(convolve.forward, convolve.by_input,
                                                                convolve.by_filter)
conv2d_op = define_op("Conv2D", "input, filter", attrs=_ATTRS_2D, types=_FLOAT, infer=_conv_infer,
                      lower=_conv_lower)
conv2dinput_op = define_op("Conv2DBackpropInput", "input_sizes: int32, filter: T, out_backprop: T",
                           attrs=_ATTRS_2D, types=_FLOAT, static=(0,), infer=_conv_input_infer,
                           lower=_conv_input_lower)
conv2dfilter_op = define_op("Conv2DBackpropFilter", "input: T, filter_sizes: int32, out_backprop: T",
                            attrs=_ATTRS_2D, types=_FLOAT, static=(1,), infer=_conv_filter_infer,
                            lower=_conv_filter_lower)
conv3d_op = define_op("Conv3D", "input, filter", attrs=_ATTRS_3D, types=_FLOAT, infer=_conv_infer,
                      lower=_conv_lower)
conv3dinput_op = define_op("Conv3DBackpropInputV2", "input_sizes: Tshape, filter: T, out_backprop: T",
                           attrs=_ATTRS_3D, types={"T": FLOATING, "Tshape": dtypes.INDEX}, static=(0,),
                           infer=_conv_input_infer, lower=_conv_input_lower)
conv3dfilter_op = define_op("Conv3DBackpropFilterV2", "input: T, filter_sizes: int32, out_backprop: T",
                            attrs=_ATTRS_3D, types=_FLOAT, static=(1,), infer=_conv_filter_infer,
                            lower=_conv_filter_lower)


def _multiply_adds(image, taps):
    """Returns how many there are where each of so many elements on the output's side meets a filter for its channel."""
    return image * size_of(taps) // taps[-1] if taps is not None and all(taps) else 0


for _op, _count in (((conv2d_op, conv3d_op), lambda op, dims, made: _multiply_adds(made, dims[1])),
                    ((conv2dinput_op, conv3dinput_op), lambda op, dims, made: _multiply_adds(size_of(dims[2]), dims[1])),
                    ((conv2dfilter_op, conv3dfilter_op),
                     lambda op, dims, made: _multiply_adds(size_of(dims[2]), op.outputs[0].dims))):
    for _one in _op:
        _one.declare(cost="heavy", product=Product(multiply_adds=_count, convolution=True))


def _attrs(spatial, strides, padding, data_format, dilations):
    """Returns the attributes shared by a convolution and its gradients, checked and in full."""
    data_format = as_format(data_format, spatial)
    if strides is None:
        raise ValueError("strides must be given: an int, or a list of them.")
    padding, explicit = as_padding(padding, data_format)
    attrs = {"strides": per_axis(strides, data_format, "strides"), "padding": padding,
             "data_format": data_format,
             "dilations": per_axis(dilations, data_format, "dilations")}
    for c in "NC":
        at = data_format.index(c)
        if attrs["strides"][at] != 1 or attrs["dilations"][at] != 1:
            raise Unsupported("strides in the batch and depth dimensions must be 1, and dilations: got strides "
                              f"{list(attrs['strides'])}, dilations {list(attrs['dilations'])} for "
                              f"{data_format}.")
    if spatial == 2:
        attrs["explicit_paddings"] = explicit
    elif explicit:
        raise ValueError("explicit padding is for 2-D convolutions; pad with tf.pad and use 'VALID'.")
    return attrs


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC",
           dilations=(1, 1, 1, 1), name=None, filters=None):
    """Returns the 2-D convolution (cross-correlation) of images with a filter.

    Args:
      input: floating [batch, height, width, channels], or in the order that `data_format` says.
      filter: [height, width, input channels, output channels], of the dtype of `input`. With a divisor of the
        input's channels as its input channels, it is a grouped convolution.
      strides: int, or a list of 1, 2 or 4.
      padding: "SAME" (zeros around, the output has size ceil(size / stride)), "VALID" (none), or a pair of
        sizes per axis, [[0, 0], [top, bottom], [left, right], [0, 0]].
      use_cudnn_on_gpu: accepted.
      data_format: "NHWC" or "NCHW".
      dilations: int, or a list of 1, 2 or 4: the distance between the filter's taps.
      name: the operation's name.
      filters: the newer name of `filter`.

    Raises:
      ShapeError: (a ValueError) ranks, channels or sizes do not fit.

    Example:
      image = tf.reshape([1.0, 2.0, 3.0, 4.0], [1, 1, 4, 1])
      pairs = tf.nn.conv2d(image, tf.ones([1, 2, 1, 1]), strides=[1, 1, 1, 1], padding="VALID")
      print(tf.Session().run(pairs).ravel())
      #> [3. 5. 7.]
    """
    filter = one_of("filter", filter, "filters", filters)
    return conv2d_op(input, filter, name=name, **_attrs(2, strides, padding, data_format, dilations))


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,
                          use_cudnn_on_gpu=True, data_format="NHWC", dilations=(1, 1, 1, 1), name=None,
                          filters=None):
    """Returns the gradient of `conv2d` with respect to its input, of shape `input_sizes`."""
    filter = one_of("filter", filter, "filters", filters)
    return conv2dinput_op(input_sizes, filter, out_backprop, name=name,
                          **_attrs(2, strides, padding, data_format, dilations))


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides=None, padding=None,
                           use_cudnn_on_gpu=True, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    """Returns the gradient of `conv2d` with respect to its filter, of shape `filter_sizes`."""
    return conv2dfilter_op(input, filter_sizes, out_backprop, name=name,
                           **_attrs(2, strides, padding, data_format, dilations))


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC", dilations=(1, 1, 1, 1, 1),
           name=None, filters=None):
    """Returns the 3-D convolution of [batch, depth, height, width, channels] with [d, h, w, in, out].

    Args as `conv2d`; `padding` is "SAME" or "VALID", `data_format` "NDHWC" or "NCDHW".
    """
    filter = one_of("filter", filter, "filters", filters)
    return conv3d_op(input, filter, name=name, **_attrs(3, strides, padding, data_format, dilations))


def conv3d_backprop_input_v2(input_sizes, filter, out_backprop, strides, padding, data_format="NDHWC",
                             dilations=(1, 1, 1, 1, 1), name=None):
    """Returns the gradient of `conv3d` with respect to its input of shape `input_sizes`."""
    return conv3dinput_op(input_sizes, filter, out_backprop, name=name,
                          **_attrs(3, strides, padding, data_format, dilations))


def conv3d_backprop_filter_v2(input, filter_sizes, out_backprop, strides, padding, data_format="NDHWC",
                              dilations=(1, 1, 1, 1, 1), name=None):
    """Returns the gradient of `conv3d` with respect to its filter of shape `filter_sizes`."""
    return conv3dfilter_op(input, filter_sizes, out_backprop, name=name,
                           **_attrs(3, strides, padding, data_format, dilations))


# -- depthwise: every input channel has filters of its own -----------------------------------------------
def _depthwise_infer(x, w, *, data_format, **attrs):
    rank_is(x, 4, "input")
    rank_is(w, 4, "filter")
    channels = data_format.index("C")
    c = x.dims[channels] if x.dims is not None else None
    if w.dims is None:
        kernel = (None, None, 1, None)
    else:
        h, width, own, multiplier = w.dims
        if None not in (c, own) and c != own:
            raise ShapeError(f"Dimensions must be equal: the input {spec_text(x)} has {c} channels, the "
                             f"filter {spec_text(w)} is for {own}")
        c = own if c is None else c
        kernel = (h, width, 1, None if None in (c, multiplier) else c * multiplier)
    return _conv_infer(Spec(x.dims, x.dtype), Spec(kernel, w.dtype), data_format=data_format, **attrs)


def _depthwise_input_infer(input_sizes, w, dy, **attrs):
    return _conv_input_infer(input_sizes, w, dy, infer=_depthwise_infer, **attrs)


def _depthwise_filter_infer(x, filter_sizes, dy, **attrs):
    return _conv_filter_infer(x, filter_sizes, dy, infer=_depthwise_infer, **attrs)


_ATTRS_DEPTHWISE = {"strides": None, "padding": None, "data_format": "NHWC", "dilations": (1, 1, 1, 1)}
_depthwise_lower, _depthwise_input_lower, _depthwise_filter_lower = _lowerings(
    convolve.depthwise, convolve.depthwise_by_input, convolve.depthwise_by_filter)
depthwise_op = define_op("DepthwiseConv2dNative", "input, filter", attrs=_ATTRS_DEPTHWISE, types=_FLOAT,
                         infer=_depthwise_infer, lower=_depthwise_lower)
depthwiseinput_op = define_op("DepthwiseConv2dNativeBackpropInput",
                              "input_sizes: int32, filter: T, out_backprop: T", attrs=_ATTRS_DEPTHWISE,
                              types=_FLOAT, static=(0,), infer=_depthwise_input_infer,
                              lower=_depthwise_input_lower)
depthwisefilter_op = define_op("DepthwiseConv2dNativeBackpropFilter",
                               "input: T, filter_sizes: int32, out_backprop: T", attrs=_ATTRS_DEPTHWISE,
                               types=_FLOAT, static=(1,), infer=_depthwise_filter_infer,
                               lower=_depthwise_filter_lower)
for _op in (depthwise_op, depthwiseinput_op, depthwisefilter_op):
    _op.declare(cost="heavy")


def _depthwise_attrs(strides, padding, data_format, dilations):
    attrs = _attrs(2, strides, padding, data_format, dilations)
    if attrs.pop("explicit_paddings"):
        raise ValueError("explicit padding is for conv2d; pad with tf.pad and use 'VALID'.")
    return attrs


def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1),
                            name=None):
    """Returns the convolution of each channel with filters of its own.

    Args:
      input: floating [batch, height, width, channels] (or "NCHW").
      filter: [height, width, channels, multiplier].
      strides, padding, data_format, dilations: as in `conv2d`, without explicit padding.

    Returns:
      [batch, out height, out width, channels * multiplier]: the filters of one channel stay together.
    """
    return depthwise_op(input, filter, name=name,
                        **_depthwise_attrs(strides, padding, data_format, dilations))


def depthwise_conv2d_native_backprop_input(input_sizes, filter, out_backprop, strides, padding,
                                           data_format="NHWC",
                                           dilations=(1, 1, 1, 1), name=None):
    """Returns the gradient of `depthwise_conv2d_native` by its input, of shape `input_sizes`."""
    return depthwiseinput_op(input_sizes, filter, out_backprop, name=name,
                             **_depthwise_attrs(strides, padding, data_format, dilations))


def depthwise_conv2d_native_backprop_filter(input, filter_sizes, out_backprop, strides, padding,
                                            data_format="NHWC",
                                            dilations=(1, 1, 1, 1), name=None):
    """Returns the gradient of `depthwise_conv2d_native` by its filter, of shape `filter_sizes`."""
    return depthwisefilter_op(input, filter_sizes, out_backprop, name=name,
                              **_depthwise_attrs(strides, padding, data_format, dilations))


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    """Returns `depthwise_conv2d_native` with the filter's taps `rate` (one or two ints) apart."""
    rate = one_of("rate", rate, "dilations", dilations)
    with get_default_graph().name_scope(name or "depthwise") as scope:
        if rate is not None and max(np.atleast_1d(rate)) > 1 and max(np.atleast_1d(strides)) > 1:
            # As in TF, whose documents ask for strides of 1 here: the strides count within each of the images
            # that the rate takes apart.
            filter = convert_to_tensor(filter, name="filter_in")
            return with_space_to_batch(
                input, np.broadcast_to(rate, 2), padding, filter_shape=filter.dims[:2], data_format=data_format,
                op=lambda x, num_spatial_dims, padding: depthwise_conv2d_native(x, filter, strides, padding,
                                                                                data_format or "NHWC"))
        return depthwise_conv2d_native(input, filter, strides, padding, data_format or "NHWC",
                                       1 if rate is None else rate, name=scope)


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None,
                     data_format=None, dilations=None):
    """Returns a depthwise convolution followed by one of size 1x1 that mixes the channels.

    Args:
      input: floating [batch, height, width, channels] (or "NCHW").
      depthwise_filter: [height, width, channels, multiplier].
      pointwise_filter: [1, 1, channels * multiplier, output channels].
      strides, padding, rate, data_format, dilations: of the depthwise convolution.
    """
    with get_default_graph().name_scope(name or "separable_conv2d") as scope:
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        if pointwise_filter.dims is not None and not compatible(pointwise_filter.dims, (1, 1, None, None)):
            raise ShapeError("separable_conv2d: pointwise_filter must be [1, 1, in, out], got "
                             f"{spec_text(pointwise_filter)}")
        y = depthwise_conv2d(input, depthwise_filter, strides, padding, rate, "depthwise", data_format,
                             dilations)
        return conv2d(y, pointwise_filter, 1, "VALID", data_format=data_format or "NHWC", name=scope)


# -- transposed -----------------------------------------------------------------------------------------

def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME",
                     data_format="NHWC", name=None,
                     input=None, filters=None, dilations=None):
    """Returns the transpose (the gradient) of `conv2d`, often called deconvolution.

    Args:
      value: floating [batch, height, width, channels] (or "NCHW").
      filter: [height, width, output channels, channels of `value`].
      output_shape: vector of 4 sizes: the shape of the result, an input that `conv2d` would take to the shape
        of `value`.
      strides, padding, data_format, dilations: of the convolution that is transposed.
      input, filters: newer names of `value` and `filter`.

    Raises:
      ShapeError: (a ValueError) `output_shape` does not lead to the shape of `value`.
    """
    value, filter = one_of("value", value, "input", input), one_of("filter", filter, "filters", filters)
    with get_default_graph().name_scope(name or "conv2d_transpose") as scope:
        return conv2d_backprop_input(output_shape, filter, value, strides, padding, data_format=data_format,
                                     dilations=dilations, name=scope)


def conv3d_transpose(value, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NDHWC",
                     name=None, input=None, filters=None, dilations=None):
    """Returns the transpose (the gradient) of `conv3d`; arguments as in `conv2d_transpose`."""
    value, filter = one_of("value", value, "input", input), one_of("filter", filter, "filters", filters)
    with get_default_graph().name_scope(name or "conv3d_transpose") as scope:
        return conv3d_backprop_input_v2(output_shape, filter, value, strides, padding, data_format, dilations,
                                        name=scope)


def atrous_conv2d(value, filters, rate, padding, name=None):
    """Returns the convolution of `value` ("NHWC") with `filters` whose taps stand `rate` apart."""
    with get_default_graph().name_scope(name or "convolution") as scope:
        return conv2d(value, filters, 1, padding, dilations=rate, name=scope)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """Returns the transpose of `atrous_conv2d`; filters are [height, width, output, input channels]."""
    with get_default_graph().name_scope(name or "atrous_conv2d_transpose") as scope:
        return conv2d_backprop_input(output_shape, filters, value, 1, padding, dilations=rate, name=scope)


# -- 1-D, as 2-D of height 1 ------------------------------------------------------------------------------
def _conv1d_arguments(data_format, strides, dilations):
    data_format = as_format({"NHWC": "NWC", "NCHW": "NCW"}.get(as_text(data_format), data_format), 1)
    return (data_format, data_format.replace("W", "HW"), data_format.index("W"),
            [1, per_axis(strides, data_format, "stride")[data_format.index("W")]],
            [1, per_axis(dilations, data_format, "dilations")[data_format.index("W")]])


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None,
           name=None, input=None, dilations=None):
    """Returns the 1-D convolution of [batch, width, channels] ("NWC", or "NCW") with [width, in, out].

    Args as `conv2d`, with one number each for `stride` and `dilations`; `input` is the newer name of `value`.
    """
    value = one_of("value", value, "input", input)
    with get_default_graph().name_scope(name or "conv1d"):
        _, wide, axis, strides, rates = _conv1d_arguments(data_format, stride, dilations)
        value = array.expand_dims(value, axis)
        filters = array.expand_dims(filters, 0)
        y = conv2d(value, filters, strides, padding, data_format=wide, dilations=rates)
        return array.squeeze(y, [axis])


def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None,
                     name=None):
    """Returns the transpose of `conv1d`: filters are [width, output channels, channels of `input`]."""
    with get_default_graph().name_scope(name or "conv1d_transpose"):
        _, wide, axis, strides, rates = _conv1d_arguments(data_format, strides, dilations)
        input = convert_to_tensor(input, name="value")
        sizes = convert_to_tensor(output_shape, name="output_shape", preferred_dtype=dtypes.int32)
        sizes = array.concat([sizes[:axis], [1], sizes[axis:]], 0)
        y = conv2d_backprop_input(sizes, array.expand_dims(filters, 0), array.expand_dims(input, axis),
                                  strides, padding, data_format=wide, dilations=rates)
        return array.squeeze(y, [axis])


def convolution(input, filter=None, padding=None, strides=None, dilation_rate=None, name=None,
                data_format=None, filters=None, dilations=None):
    """Returns the convolution of 1, 2 or 3 spatial dimensions, as the rank of `filter` says.

    Args:
      input: floating [batch, *spatial, channels]; channels second when `data_format` starts with "NC".
      filter: [*window, input channels, output channels].
      padding: "SAME" or "VALID".
      strides: ints per spatial axis, 1 by default.
      dilation_rate: ints per spatial axis, 1 by default; only one of strides and dilation_rate may exceed 1.
    """
    filter = one_of("filter", filter, "filters", filters)
    dilation_rate = one_of("dilation_rate", dilation_rate, "dilations", dilations)
    with get_default_graph().name_scope(name or "convolution") as scope:
        input, filter = convert_to_tensor(input, name="input"), convert_to_tensor(filter, name="filter")
        rank = filter.rank if filter.rank is not None else input.rank
        if rank not in (3, 4, 5):
            raise ValueError("Cannot apply convolution: the filter must have 3, 4 or 5 axes, got "
                             f"{spec_text(filter)}.")
        if np.max(strides or 1) > 1 and np.max(dilation_rate or 1) > 1:
            raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1: got "
                             f"{strides}, {dilation_rate}.")
        function = (conv1d, conv2d, conv3d)[rank - 3]
        return function(input, filter, strides or 1, padding, data_format=data_format,
                        dilations=dilation_rate or 1, name=scope)


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None,
                   name=None):
    """Returns the transpose of `convolution`, in 1, 2 or 3 spatial dimensions as the length of `output_shape`
    says.
    """
    with get_default_graph().name_scope(name or "conv_transpose") as scope:
        sizes = convert_to_tensor(output_shape, name="output_shape", preferred_dtype=dtypes.int32)
        rank = None if sizes.dims is None else sizes.dims[0]
        if rank not in (3, 4, 5):
            raise ValueError("conv_transpose: output_shape must have 3, 4 or 5 sizes, got "
                             f"{spec_text(sizes)}.")
        function = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[rank - 3]
        data_format = as_format(data_format, rank - 2)
        return function(input, filters, sizes, strides, padding, data_format, dilations=dilations, name=scope)


# -- Dilation2D: the largest of input plus filter ------------------------------------------------------------
def _dilation_infer(x, w, *, strides, rates, padding):
    rank_is(x, 4, "input")
    rank_is(w, 3, "filter")
    dims, kernel = x.dims or (None,) * 4, w.dims or (None,) * 3
    if None not in (dims[3], kernel[2]) and dims[3] != kernel[2]:
        raise ShapeError(f"Dimensions must be equal: the input {spec_text(x)} has {dims[3]} channels, the "
                         f"filter {spec_text(w)} is for {kernel[2]}")
    windows = conv_windows(x.dims, kernel[:2], "NHWC", strides, rates, padding)
    channels = kernel[2] if dims[3] is None else dims[3]
    return Spec(_put(dims, {3: channels} | {v.axis: v.out for v in windows}), x.dtype)


def _dilation_windows(x, w, strides, rates, padding):
    return conv_windows(x.shape, w.shape[:2], "NHWC", strides, rates, padding)


def _dilation_taps(b, x, w, **attrs):
    """Returns input tap + filter tap for each element of the window; padding is below every number."""
    return [tap + weight for tap, weight in
            zip(taps(b, x, _dilation_windows(x, w, **attrs), -np.inf), w.reshape(-1, w.shape[2]))]


def _dilation_lower(b, x, w, **attrs):
    return functools.reduce(b.np.maximum, _dilation_taps(b, x, w, **attrs))


def _dilation_chosen(b, x, w, **attrs):
    """Yields, per tap, where it is the first of the largest, and so takes the gradient."""
    elements = _dilation_taps(b, x, w, **attrs)
    chosen = first_of_largest(b, elements)
    return (chosen == i for i in range(len(elements)))


def _dilation_input_lower(b, x, w, dy, **attrs):
    windows = _dilation_windows(x, w, **attrs)
    total = 0
    for at, mask in zip(np.ndindex(w.shape[:2]), _dilation_chosen(b, x, w, **attrs)):
        total = total + untap(b, b.np.where(mask, dy, dy.dtype.type(0)), windows, at)
    return cropped(b, total, windows)


def _dilation_filter_lower(b, x, w, dy, **attrs):
    shares = [b.np.sum(b.np.where(mask, dy, dy.dtype.type(0)), axis=(0, 1, 2), dtype=dy.dtype)
              for mask in _dilation_chosen(b, x, w, **attrs)]
    return b.np.stack(shares).reshape(w.shape)


def _dilation_gradgrad_lower(b, x, w, dx, dw, **attrs):
    total = 0
    changes = zip(taps(b, dx, _dilation_windows(x, w, **attrs)), dw.reshape(-1, w.shape[2]))
    for (tap, weight), mask in zip(changes, _dilation_chosen(b, x, w, **attrs)):
        total = total + b.np.where(mask, tap + weight, dx.dtype.type(0))
    return total


def _like(i):
    def infer(*inputs, **attrs):
        forward = _dilation_infer(*inputs[:2], **attrs)
        if len(inputs) == 3:
            _agree(forward, inputs[2], f"{spec_text(inputs[0])} with the filter {spec_text(inputs[1])}")
        return Spec(inputs[i].dims, inputs[i].dtype) if i is not None else forward

    return infer


_ATTRS_DILATION = {"strides": None, "rates": None, "padding": None}
dilation2d_op = define_op("Dilation2D", "input, filter", attrs=_ATTRS_DILATION, types=_FLOAT,
                          infer=_dilation_infer, lower=_dilation_lower)
dilation2dinput_op = define_op("Dilation2DBackpropInput", "input, filter, out_backprop",
                               attrs=_ATTRS_DILATION, types=_FLOAT, infer=_like(0),
                               lower=_dilation_input_lower)
dilation2dfilter_op = define_op("Dilation2DBackpropFilter", "input, filter, out_backprop",
                                attrs=_ATTRS_DILATION, types=_FLOAT, infer=_like(1),
                                lower=_dilation_filter_lower)
# What a change of input and filter does to the output: the transpose of both gradients, for second order.
dilation2dchange_op = define_op("Dilation2DGradGrad", "input, filter, input_grad, filter_grad",
                                attrs=_ATTRS_DILATION, types=_FLOAT, infer=_like(None),
                                lower=_dilation_gradgrad_lower)


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None,
               dilations=None, data_format="NHWC"):
    """Returns the greyscale dilation: the largest of input + filter over each window.

    Args:
      input: floating [batch, height, width, channels].
      filter: [height, width, channels].
      strides, rates: [1, rows, columns, 1]: distance of windows, and of the filter's taps.
      padding: "SAME" or "VALID"; padding is never the largest.
    """
    filter = one_of("filter", filter, "filters", filters)
    rates = one_of("rates", rates, "dilations", dilations)
    if as_text(data_format) != "NHWC":
        raise ValueError(f"dilation2d: data_format must be NHWC, got {data_format!r}.")
    attrs = _depthwise_attrs(strides, padding, "NHWC", rates)
    return dilation2d_op(input, filter, strides=attrs["strides"], rates=attrs["dilations"],
                         padding=attrs["padding"], name=name)


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """Returns the greyscale erosion: the least of value - kernel (turned by 180 degrees) over each window."""
    with get_default_graph().name_scope(name or "erosion2d") as scope:
        value, kernel = convert_to_tensor(value, name="value"), convert_to_tensor(kernel, name="kernel")
        turned = kernel[::-1, ::-1]
        from regrad.ops.math import negative

        return negative(dilation2d(-value, turned, strides, rates, padding, name=scope))
