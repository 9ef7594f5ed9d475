"""Keras's names for operations, with its arguments: what `tf.keras.backend` has beside settings and sessions.

What stands in `regrad.ops` with the same arguments is taken from there; see the end of `backend.py`.
"""

import numpy as np

from regrad.core.convert import constant as constant_of
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype, bool_, int32, int64
from regrad.core.errors import ShapeError
from regrad.core.graph import is_tensor
from regrad.core.operation import Tensor, origin
from regrad.core.shapes import TensorShape
from regrad.framework import control_dependencies
from regrad.keras import backend
from regrad.keras.backend import learning_phase
from regrad.layers.core import smart_cond
from regrad.nn import functions
from regrad.ops import (
    array,
    check,
    compare,
    conv,
    cumulative,
    functional,
    generate,
    indexing,
    layout,
    math,
    nn,
    norm,
    pool,
    reduce,
)
from regrad.ops import random as random_ops
from regrad.ops.clip import clip_by_value
from regrad.ops.ctc import ctc_beam_search_decoder, ctc_greedy_decoder, ctc_loss
from regrad.ops.einsum import einsum, tensordot
from regrad.ops.flow import cond
from regrad.ops.image import resize_bilinear, resize_nearest_neighbor
from regrad.ops.matmul import matmul
from regrad.ops.sparse import SparseTensor, sparse_placeholder, sparse_tensor_dense_matmul, sparse_tensor_to_dense
from regrad.train.moving_averages import assign_moving_average
from regrad.variables.assign import assign, assign_add, assign_sub
from regrad.variables.lifting import init_scope
from regrad.variables.variable import Variable


def _dtype(given):
    return as_dtype(given or backend.floatx())


def _seed(given):
    """Keras draws a seed where none is given, from NumPy's global stream."""
    return np.random.randint(10_000_000) if given is None else given


# -- making ----------------------------------------------------------------------------------------------------


def variable(value, dtype=None, name=None, constraint=None):
    """Returns a variable that begins with `value`, of the floating dtype in use by default."""
    return Variable(value if is_tensor(value) else np.asarray(value, _dtype(dtype).as_numpy_dtype), dtype=_dtype(dtype),
                    name=name, constraint=constraint)


def constant(value, dtype=None, shape=None, name=None):
    """Returns a constant tensor, of the floating dtype in use by default."""
    return constant_of(value, dtype=_dtype(dtype), shape=shape, name=name or "Const")


def placeholder(shape=None, ndim=None, dtype=None, sparse=False, name=None):
    """Returns a placeholder of a shape, or of `ndim` axes of any size; one of sparse tensors if `sparse`."""
    if shape is None and ndim:
        shape = [None] * ndim
    return (sparse_placeholder if sparse else array.placeholder)(_dtype(dtype), shape=shape, name=name)


def _filled(make, shape, dtype, name):
    with init_scope():
        value = make(shape, _dtype(dtype))
    return variable(value, dtype, name) if value.shape.is_fully_defined() else value


def zeros(shape, dtype=None, name=None):
    """Returns a variable that begins with zeros; a tensor where the shape is not known beforehand."""
    return _filled(array.zeros, shape, dtype, name)


def ones(shape, dtype=None, name=None):
    """Returns a variable that begins with ones; a tensor where the shape is not known beforehand."""
    return _filled(array.ones, shape, dtype, name)


def eye(size, dtype=None, name=None):
    """Returns a variable that begins with an identity matrix."""
    return _filled(lambda n, t: generate.eye(n, dtype=t), size, dtype, name)


def zeros_like(x, dtype=None, name=None):
    """Returns zeros of the shape of `x`."""
    return array.zeros_like(x, dtype, name)


def ones_like(x, dtype=None, name=None):
    """Returns ones of the shape of `x`."""
    return array.ones_like(x, dtype, name)


def arange(start, stop=None, step=1, dtype="int32"):
    """Returns start, start + step ... below `stop`; `arange(n)` counts from 0."""
    first, last = (0, start) if stop is None else (start, stop)
    return math.cast(generate.range(first, last, step), dtype)


def one_hot(indices, num_classes):
    """Returns rows with a 1 at each index: [..., num_classes]."""
    return indexing.one_hot(indices, num_classes, axis=-1)


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Returns normal numbers."""
    return random_ops.random_normal(shape, mean, stddev, _dtype(dtype), _seed(seed))


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Returns even numbers in [minval, maxval)."""
    return random_ops.random_uniform(shape, minval, maxval, _dtype(dtype), _seed(seed))


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Returns normal numbers cut off at two standard deviations."""
    return random_ops.truncated_normal(shape, mean, stddev, _dtype(dtype), _seed(seed))


def random_binomial(shape, p=0.0, dtype=None, seed=None):
    """Returns ones with probability `p`, else zeros."""
    return math.cast(random_uniform(shape, dtype=dtype, seed=seed) <= p, _dtype(dtype))


def random_normal_variable(shape, mean, scale, dtype=None, name=None, seed=None):
    """Returns a variable that begins with normal numbers."""
    return variable(random_normal(shape, mean, scale, dtype, seed), dtype, name)


def random_uniform_variable(shape, low, high, dtype=None, name=None, seed=None):
    """Returns a variable that begins with even numbers in [low, high)."""
    return variable(random_uniform(shape, low, high, dtype, seed), dtype, name)


# -- variables -------------------------------------------------------------------------------------------------


def update(x, new_x):
    """Returns the assignment of `new_x` to the variable `x`."""
    return assign(x, new_x)


def update_add(x, increment):
    """Returns the assignment that adds to the variable `x`."""
    return assign_add(x, increment)


def update_sub(x, decrement):
    """Returns the assignment that subtracts from the variable `x`."""
    return assign_sub(x, decrement)


def moving_average_update(x, value, momentum):
    """Returns the assignment that moves the variable `x` towards `value`, by the part 1 - momentum, as if from zeros on."""
    return assign_moving_average(x, value, momentum, zero_debias=True)


def count_params(x):
    """Returns the number of elements, a NumPy number."""
    return np.prod(x.shape.as_list())


# -- reductions ------------------------------------------------------------------------------------------------


def _reduction(name, function, doc, cast_to=None):
    def reduced(x, axis=None, keepdims=False):
        x = convert_to_tensor(x)
        if cast_to is bool_ or x.dtype == bool_ and cast_to:
            x = math.cast(x, bool_ if cast_to is bool_ else backend.floatx())
        return function(x, axis=axis, keepdims=keepdims)

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = f"Returns {doc} over `axis`, all of them by default."
    return reduced


sum = _reduction("sum", reduce.reduce_sum, "the sum")
prod = _reduction("prod", reduce.reduce_prod, "the product")
max = _reduction("max", reduce.reduce_max, "the largest element")
min = _reduction("min", reduce.reduce_min, "the smallest element")
mean = _reduction("mean", reduce.reduce_mean, "the mean", "floatx")
var = _reduction("var", reduce.reduce_variance, "the variance", "floatx")
std = _reduction("std", reduce.reduce_std, "the standard deviation", "floatx")
logsumexp = _reduction("logsumexp", reduce.reduce_logsumexp, "log(sum(exp(x)))")
any = _reduction("any", reduce.reduce_any, "whether an element is true", bool_)
all = _reduction("all", reduce.reduce_all, "whether all elements are true", bool_)


def argmax(x, axis=-1):
    """Returns where the largest elements stand along an axis."""
    return reduce.argmax(x, axis)


def argmin(x, axis=-1):
    """Returns where the smallest elements stand along an axis."""
    return reduce.argmin(x, axis)


def cumsum(x, axis=0):
    """Returns running sums along an axis."""
    return cumulative.cumsum(x, axis)


def cumprod(x, axis=0):
    """Returns running products along an axis."""
    return cumulative.cumprod(x, axis)


# -- elements --------------------------------------------------------------------------------------------------


def sqrt(x):
    """Returns the square root, 0 of what is negative."""
    return math.sqrt(math.maximum(x, math.cast(0, convert_to_tensor(x).dtype)))


def clip(x, min_value, max_value):
    """Returns `x` kept between two values; None for no bound."""
    low = -np.inf if min_value is None else min_value
    high = np.inf if max_value is None else max_value
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and high < low:
        high = low
    return clip_by_value(x, math.cast(low, x.dtype), math.cast(high, x.dtype))


def relu(x, alpha=0.0, max_value=None, threshold=0):
    """Returns `x` above `threshold`, at most `max_value`, and alpha (x - threshold) below."""
    if threshold == 0 and max_value is None:
        return nn.leaky_relu(x, alpha=alpha) if alpha else nn.relu(x)
    above = x * math.cast(x > threshold, x.dtype)
    above = above if max_value is None else clip(above, 0.0, max_value)
    return above - alpha * nn.relu(threshold - x) if alpha else above


def elu(x, alpha=1.0):
    """Returns `x`, or alpha (exp(x) - 1) where it is negative."""
    found = nn.elu(x)
    return found if alpha == 1 else compare.where(x > 0, found, alpha * found)


def softmax(x, axis=-1):
    """Returns the softmax along an axis."""
    return nn.softmax(x, axis=axis)


def l2_normalize(x, axis=None):
    """Returns vectors along `axis` brought to the length 1."""
    return norm.l2_normalize(x, axis)


def in_top_k(predictions, targets, k):
    """Returns for each row whether the target is among the `k` largest."""
    return nn.in_top_k(predictions, targets, k)


def dropout(x, level, noise_shape=None, seed=None):
    """Returns `x` with a part `level` dropped and the rest enlarged."""
    return functions.dropout(x, rate=level, noise_shape=noise_shape, seed=_seed(seed))


# -- shapes ----------------------------------------------------------------------------------------------------


def concatenate(tensors, axis=-1):
    """Returns tensors joined along an axis."""
    return array.concat(tensors, axis)


def expand_dims(x, axis=-1):
    """Returns `x` with an axis of size 1 put in."""
    return array.expand_dims(x, axis)


def squeeze(x, axis):
    """Returns `x` without an axis of size 1."""
    return array.squeeze(x, [axis])


def flatten(x):
    """Returns the elements in a vector."""
    return array.reshape(x, [-1])


def batch_flatten(x):
    """Returns each example as a vector: [batch, all the rest]."""
    sizes = x.shape.as_list()[1:]
    size = reduce.reduce_prod(array.shape(x)[1:]) if None in sizes else int(np.prod(sizes))
    return array.reshape(x, array.stack([-1, size]))


def permute_dimensions(x, pattern):
    """Returns `x` with its axes in another order."""
    return array.transpose(x, pattern)


def transpose(x):
    """Returns `x` with its axes in reverse order."""
    return array.transpose(x)


def reshape(x, shape):
    """Returns the elements in another shape."""
    return array.reshape(x, shape)


def repeat(x, n):
    """Returns vectors [batch, size] `n` times: [batch, n, size]."""
    return layout.tile(array.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x, rep, axis):
    """Returns each element along an axis `rep` times, one after the other."""
    return layout.repeat(x, rep, axis)


def tile(x, n):
    """Returns `x` repeated `n` times along its axes: a number, or one for each."""
    return layout.tile(x, [n] if isinstance(n, int) else n)


def reverse(x, axes):
    """Returns `x` turned round along one axis or several."""
    return layout.reverse(x, [axes] if isinstance(axes, int) else axes)


def gather(reference, indices):
    """Returns rows at `indices`."""
    return indexing.gather(reference, indices)


def _spatial(x, pairs, data_format):
    first = (data_format or backend.image_data_format()) == "channels_first"
    return layout.pad(x, [[0, 0], *([[0, 0]] if first else []), *pairs, *([] if first else [[0, 0]])])


def temporal_padding(x, padding=(1, 1)):
    """Returns sequences [batch, time, size] with zeros before and after."""
    return layout.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x, padding=((1, 1), (1, 1)), data_format=None):
    """Returns images with zeros around: ((top, bottom), (left, right))."""
    return _spatial(x, padding, data_format)


def spatial_3d_padding(x, padding=((1, 1), (1, 1), (1, 1)), data_format=None):
    """Returns volumes with zeros around."""
    return _spatial(x, padding, data_format)


def resize_images(x, height_factor, width_factor, data_format, interpolation="nearest"):
    """Returns images enlarged by whole factors; `interpolation` is "nearest" or "bilinear"."""
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    first = data_format == "channels_first"
    images = array.transpose(x, [0, 2, 3, 1]) if first else x
    sizes = [d and d * n for d, n in zip(images.dims[1:3], (height_factor, width_factor))]
    given = array.shape(images)[1:3] * constant_of([height_factor, width_factor]) if None in sizes else sizes
    if interpolation == "nearest":
        out = resize_nearest_neighbor(images, given)
    else:
        out = resize_bilinear(images, given, half_pixel_centers=True)
    out.set_shape([images.dims[0], *sizes, images.dims[3]])
    return array.transpose(out, [0, 3, 1, 2]) if first else out


# -- products and windows --------------------------------------------------------------------------------------


def dot(x, y):
    """Returns the products of the last axis of `x` with the last but one of `y` (the only one of a vector)."""
    if isinstance(x, SparseTensor):
        return sparse_tensor_dense_matmul(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.shape.ndims == y.shape.ndims == 2:
        return matmul(x, y)
    return tensordot(x, y, [[x.shape.ndims - 1], [0 if y.shape.ndims == 1 else y.shape.ndims - 2]])


def batch_dot(x, y, axes=None):
    """Returns, for each example, the products summed along an axis of `x` and one of `y`, which both drop.

    Args:
      x, y: [batch, ...].
      axes: (axis of x, axis of y), or one number for both; the last of `x` and the last but one of `y` (the last of a
        matrix) by default. Of two matrices the result is [batch, 1].
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    n, m = x.shape.ndims, y.shape.ndims
    if not n or not m or n < 2 or m < 2:
        raise ShapeError(f"batch_dot: x and y must be [batch, ...] of known rank, got {x.shape} and {y.shape}.")
    axes = (n - 1, m - 1 if m == 2 else m - 2) if axes is None else (axes, axes) if isinstance(axes, int) else tuple(axes)
    a, b = (axis % rank for axis, rank in zip(axes, (n, m)))
    if 0 in (a, b):
        raise ValueError(f"batch_dot: cannot sum over axis 0, the batch: axes are {axes}.")
    of_x, of_y = "abcdefgh"[:n - 1], "ijklmnop"[:m - 1]
    terms = of_x[:a - 1] + "z" + of_x[a:], of_y[:b - 1] + "z" + of_y[b:]
    out = einsum(f"q{terms[0]},q{terms[1]}->q{of_x[:a - 1] + of_x[a:]}{of_y[:b - 1] + of_y[b:]}", x, y)
    return array.expand_dims(out, 1) if out.shape.ndims == 1 else out


def bias_add(x, bias, data_format=None):
    """Returns `x` plus a bias: one number for each channel, or of the shape of an example."""
    first = (data_format or backend.image_data_format()) == "channels_first"
    rank = convert_to_tensor(bias).shape.ndims
    if rank == 1:
        return nn.bias_add(x, bias, data_format="NCHW" if first else "NHWC")
    if first:
        bias = array.transpose(bias, [rank - 1, *range(rank - 1)])
    return x + bias


def _format(data_format, rank):
    first = (data_format or backend.image_data_format()) == "channels_first"
    axes = "DHW"[3 - rank:]
    return f"NC{axes}" if first else f"N{axes}C"


def conv1d(x, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Returns the convolution of sequences; `padding` may be "causal", where no output sees a later input."""
    if padding == "causal":
        x, padding = temporal_padding(x, (dilation_rate * (kernel.shape.as_list()[0] - 1), 0)), "valid"
    return conv.convolution(x, kernel, padding.upper(), [strides], [dilation_rate], data_format=_format(data_format, 1))


def conv2d(x, kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    """Returns the convolution of images."""
    return conv.convolution(x, kernel, padding.upper(), strides, dilation_rate, data_format=_format(data_format, 2))


def conv3d(x, kernel, strides=(1, 1, 1), padding="valid", data_format=None, dilation_rate=(1, 1, 1)):
    """Returns the convolution of volumes."""
    return conv.convolution(x, kernel, padding.upper(), strides, dilation_rate, data_format=_format(data_format, 3))


def _around(sizes, data_format):
    return [1, 1, *sizes] if _format(data_format, 2) == "NCHW" else [1, *sizes, 1]


def conv2d_transpose(x, kernel, output_shape, strides=(1, 1), padding="valid", data_format=None):
    """Returns the transpose of `conv2d`; kernels are [height, width, out, in]."""
    if isinstance(output_shape, (list, tuple)):
        output_shape = array.stack([array.shape(x)[0] if d is None else d for d in output_shape])
    return conv.conv2d_transpose(x, kernel, output_shape, _around(strides, data_format), padding.upper(),
                                 _format(data_format, 2))


def depthwise_conv2d(x, depthwise_kernel, strides=(1, 1), padding="valid", data_format=None, dilation_rate=(1, 1)):
    """Returns the convolution of each channel with filters of its own."""
    return conv.depthwise_conv2d(x, depthwise_kernel, _around(strides, data_format), padding.upper(), rate=dilation_rate,
                                 data_format=_format(data_format, 2))


def separable_conv2d(x, depthwise_kernel, pointwise_kernel, strides=(1, 1), padding="valid", data_format=None,
                     dilation_rate=(1, 1)):
    """Returns a depthwise convolution followed by one that mixes the channels."""
    return conv.separable_conv2d(x, depthwise_kernel, pointwise_kernel, _around(strides, data_format), padding.upper(),
                                 rate=dilation_rate, data_format=_format(data_format, 2))


def pool2d(x, pool_size, strides=(1, 1), padding="valid", data_format=None, pool_mode="max"):
    """Returns the maximum, or the mean ("avg"), of windows of images."""
    if pool_mode not in ("max", "avg"):
        raise ValueError(f"Invalid pooling mode: {pool_mode!r}")
    return pool.pool(x, pool_size, pool_mode.upper(), padding.upper(), strides=strides, data_format=_format(data_format, 2))


def batch_normalization(x, mean, var, beta, gamma, axis=-1, epsilon=1e-3):
    """Returns (x - mean) / sqrt(var + epsilon) * gamma + beta, the four being of an axis of `x`."""
    if axis not in (-1, x.shape.ndims - 1):
        sizes = [1] * x.shape.ndims
        sizes[axis] = -1
        mean, var, beta, gamma = (None if v is None else array.reshape(v, sizes) for v in (mean, var, beta, gamma))
    return norm.batch_normalization(x, mean, var, beta, gamma, epsilon)


# -- choices and loops -----------------------------------------------------------------------------------------


def _value(x):
    return x() if callable(x) else x


def switch(condition, then_expression, else_expression):
    """Returns one of two tensors, or of what functions give: by a scalar, or element by element.

    Args:
      condition: bool; a scalar, or of the first axes of the two.
    """
    condition = math.cast(condition, bool_)
    if condition.shape.ndims == 0:
        return cond(condition, lambda: array.identity(convert_to_tensor(_value(then_expression))),
                    lambda: array.identity(convert_to_tensor(_value(else_expression))))
    then, other = convert_to_tensor(_value(then_expression)), convert_to_tensor(_value(else_expression))
    missing = then.shape.ndims - condition.shape.ndims
    if missing < 0:
        raise ValueError("Rank of `condition` should be less than or equal to rank of `then_expression` and `else_expression`. "
                         f"ndim(condition)={condition.shape.ndims}, ndim(then_expression)={then.shape.ndims}")
    return compare.where_v2(array.reshape(condition, array.concat([array.shape(condition), [1] * missing], 0)), then, other)


def in_train_phase(x, alt, training=None):
    """Returns `x` where the program is being trained, else `alt`; both may be functions. `training` is the learning phase."""
    training = learning_phase() if training is None else training
    return smart_cond(training, lambda: array.identity(convert_to_tensor(_value(x))),
                      lambda: array.identity(convert_to_tensor(_value(alt))))


def in_test_phase(x, alt, training=None):
    """Returns `alt` where the program is being trained, else `x`."""
    return in_train_phase(alt, x, training)


def map_fn(fn, elems, name=None, dtype=None):
    """Returns the results of `fn(row)`, stacked."""
    return functional.map_fn(fn, elems, dtype, name=name)


def foldl(fn, elems, initializer=None, name=None):
    """Returns the last of `state = fn(state, row)` from the first row on."""
    return functional.foldl(fn, elems, initializer, name=name)


def foldr(fn, elems, initializer=None, name=None):
    """Returns the last of `state = fn(state, row)` from the last row on."""
    return functional.foldr(fn, elems, initializer, name=name)


def gradients(loss, variables):
    """Returns the gradients of a loss with respect to tensors or variables, a list."""
    from regrad.autodiff.gradients import gradients

    return gradients(loss, variables)


def stop_gradient(variables):
    """Returns a tensor, or a list of them, through which no gradient flows."""
    several = isinstance(variables, (list, tuple))
    return [array.stop_gradient(v) for v in variables] if several else array.stop_gradient(variables)


def print_tensor(x, message="", summarize=3):
    """Returns `x`, and prints it when it is computed."""
    with control_dependencies([check.print_(message, x, summarize=summarize)]):
        return array.identity(x)


# -- losses ----------------------------------------------------------------------------------------------------


def _logits(output, op_type, from_logits):
    """Returns the logits behind probabilities, where they are of an operation of that type, or None."""
    if from_logits:
        return output
    source = origin(output).op
    return source.inputs[0] if source.type == op_type else None


def _between(output):
    small = math.cast(backend.epsilon(), output.dtype)
    return clip_by_value(output, small, 1 - small)


def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """Returns the cross entropy of distributions along `axis`; of logits, or of what a softmax gave, or of what is made one."""
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    logits = _logits(output, "Softmax", from_logits)
    if logits is not None:
        return nn.softmax_cross_entropy_with_logits_v2(target, logits, axis=axis)
    shares = _between(output / reduce.reduce_sum(output, axis, keepdims=True))
    return -reduce.reduce_sum(target * math.log(shares), axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """Returns the cross entropy of classes, integers without the axis `axis` of `output`."""
    output = convert_to_tensor(output)
    logits = _logits(output, "Softmax", from_logits)
    logits = math.log(_between(output)) if logits is None else logits
    rank = logits.shape.ndims
    if axis not in (-1, rank - 1):
        logits = array.transpose(logits, [*[i for i in range(rank) if i != axis % rank], axis % rank])
    shape = array.shape(logits)
    found = nn.sparse_softmax_cross_entropy_with_logits(labels=math.cast(array.reshape(target, [-1]), int64),
                                                        logits=array.reshape(logits, array.stack([-1, shape[-1]])))
    if rank == 2:
        return found
    found = array.reshape(found, shape[:-1])
    found.set_shape(logits.dims[:-1])
    return found


def binary_crossentropy(target, output, from_logits=False):
    """Returns the cross entropy of truth values, element by element."""
    target, output = convert_to_tensor(target), convert_to_tensor(output)
    logits = _logits(output, "Sigmoid", from_logits)
    if logits is not None:
        return functions.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
    share, small = _between(output), math.cast(backend.epsilon(), output.dtype)
    return -(target * math.log(share + small) + (1 - target) * math.log(1 - share + small))


def ctc_label_dense_to_sparse(labels, label_lengths):
    """Returns labels [batch, longest] as a SparseTensor of int32, each row as long as it says."""
    given = indexing.sequence_mask(label_lengths, array.shape(labels)[1])
    where = compare.where(given)
    return SparseTensor(where, math.cast(indexing.gather_nd(labels, where), int32), array.shape(labels, out_type=int64))


def ctc_batch_cost(y_true, y_pred, input_length, label_length):
    """Returns the CTC loss of each example, [batch, 1].

    Args:
      y_true: labels [batch, longest]; their last class is the blank.
      y_pred: probabilities [batch, time, classes].
      input_length, label_length: [batch, 1].
    """
    lengths = [math.cast(array.squeeze(n, [-1]), int32) for n in (input_length, label_length)]
    labels = ctc_label_dense_to_sparse(y_true, lengths[1])
    logits = math.log(array.transpose(y_pred, [1, 0, 2]) + backend.epsilon())
    return array.expand_dims(ctc_loss(labels, logits, lengths[0]), 1)


def ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """Returns (list of the likeliest labellings [batch, longest], -1 behind each end; their log probabilities).

    Args:
      y_pred: probabilities [batch, time, classes].
      input_length: [batch].
      greedy: take the likeliest class of each step; else search with `beam_width` beams for `top_paths` labellings.
    """
    logits, lengths = math.log(array.transpose(y_pred, [1, 0, 2]) + backend.epsilon()), math.cast(input_length, int32)
    if greedy:
        paths, score = ctc_greedy_decoder(logits, lengths)
    else:
        paths, score = ctc_beam_search_decoder(logits, lengths, beam_width, top_paths, merge_repeated=False)
    return [sparse_tensor_to_dense(p, default_value=-1) for p in paths], score


# -- questions -------------------------------------------------------------------------------------------------


def int_shape(x):
    """Returns the shape as a tuple of ints and None; None where the rank is unknown."""
    return None if x.shape.ndims is None else tuple(TensorShape(x.shape).as_list())


def ndim(x):
    """Returns the number of axes, None if unknown."""
    return x.shape.ndims


def dtype(x):
    """Returns the name of the dtype."""
    return as_dtype(x.dtype).name


def is_sparse(tensor):
    """Returns whether it is a SparseTensor."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor):
    """Returns a SparseTensor as a dense tensor, any other as it is."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def is_keras_tensor(x):
    """Returns whether a layer of Keras, or `Input`, gave the tensor; ValueError for what is no tensor."""
    if not isinstance(x, (Tensor, Variable, SparseTensor)):
        raise ValueError(f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance.")
    return hasattr(x, "_keras_history")


__all__ = [name for name in list(globals()) if getattr(globals()[name], "__module__", None) == __name__ and name[0] != "_"]
