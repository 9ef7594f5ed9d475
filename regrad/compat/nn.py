"""What released programs take from TensorFlow's modules of networks besides the public names."""

from regrad.autodiff.gradients import gradients
from regrad.core import nest
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import InvalidArgumentError
from regrad.core.shapes import TensorShape
from regrad.nn import embedding, functions, rnn, sampled
from regrad.nn.rnn_cell import RNNCell
from regrad.ops import array, conv, indexing, math, norm
from regrad.ops import nn as ops
from regrad.ops.flow import cond
from regrad.ops.layout import reverse_sequence

NOT_A_CELL = "is not an RNNCell"  # in the message of `assert_like_rnncell`
WEIGHTS, BIAS = "kernel", "bias"  # the last part of the names of a cell's variables


# -- recurrent networks -----------------------------------------------------------------------------------
def assert_like_rnncell(cell_name, cell):
    """Raises TypeError unless `cell` may be called and has `output_size` and `state_size`."""
    rnn._check_cell(cell, cell_name)


def best_effort_input_batch_size(flat_input):
    """Returns the size of axis 1, the batch of inputs with time first: an int where any of them knows it, else a tensor."""
    for x in flat_input:
        if x.dims is not None and len(x.dims) >= 2 and x.dims[1] is not None:
            return x.dims[1]
    return array.shape(flat_input[0])[1]


def infer_state_dtype(explicit_dtype, state):
    """Returns `explicit_dtype`, or if it is None the dtype that all tensors of `state` have; ValueError if they differ."""
    if explicit_dtype is not None:
        return explicit_dtype
    if not nest.is_sequence(state):
        return state.dtype
    found = {t.dtype for t in nest.flatten(state)}
    if not found:
        raise ValueError("Unable to infer dtype from empty state.")
    if len(found) > 1:
        raise ValueError("State has tensors of different inferred_dtypes. Unable to infer a single representative dtype.")
    return found.pop()


def joined_sizes(prefix, suffix, static=False):
    """Returns the sizes `prefix` and `suffix` one after the other: a list of ints and Nones with `static`, else a vector."""
    def sizes(x):
        if hasattr(x, "_as_graph_element"):
            known = convert_to_tensor(x).partial()
            if static or known is not None and None not in (known if isinstance(known, tuple) else (known,)):
                return list(known) if isinstance(known, tuple) else [known]
            return array.reshape(x, [-1])
        return TensorShape(x).as_list()

    prefix, suffix = sizes(prefix), sizes(suffix)
    return prefix + suffix if static else array.concat([prefix, suffix], 0)


def reverse_seq(input_seq, lengths):
    """Returns a list of tensors [batch, ...] in reverse order, that of each example within its length if these are given."""
    if lengths is None:
        return list(reversed(input_seq))
    parts = [nest.flatten(x) for x in input_seq]
    turned = [array.unstack(reverse_sequence(array.stack(rows), lengths, seq_axis=0, batch_axis=1), num=len(rows))
              for rows in zip(*parts)]
    return [nest.pack_sequence_as(input_seq[0], list(leaves)) for leaves in zip(*turned)]


def rnn_step(time, sequence_length, min_sequence_length, max_sequence_length, zero_output, state, call_cell, state_size,
             skip_conditionals=False):
    """Returns (output, next state) of one time step: zeros, and the state as it was, for examples that have ended.

    Args:
      time: int32 scalar.
      sequence_length: int32 [batch]; the minimum and maximum of it are there to save work.
      zero_output: structure of zeros, as the output.
      call_cell: function without arguments that returns (output, next state).
      state_size: accepted.
      skip_conditionals: call the cell even where all examples have ended.
    """
    def step():
        output, new = call_cell()
        nest.assert_same_structure(state, new)
        over = time >= sequence_length
        return (nest.map_structure(lambda zero, y: rnn._where_over(over, zero, y), zero_output, output),
                nest.map_structure(lambda old, n: rnn._where_over(over, old, n), state, new))

    if skip_conditionals:
        return step()
    leaves = cond(time >= max_sequence_length, lambda: nest.flatten([zero_output, state]), lambda: nest.flatten(list(step())))
    for leaf, like in zip(leaves, nest.flatten([zero_output, state])):
        leaf.set_shape(like.shape)
    return tuple(nest.pack_sequence_as([zero_output, state], leaves))


class SlimRNNCell(RNNCell):
    """A cell made of a function (inputs, state, scope=None) -> (output, next state).

    The function given None for the state returns outputs and a state to start from; it is asked for their sizes.

    Raises:
      TypeError: no such function.
    """

    def __init__(self, cell_fn):
        if not callable(cell_fn):
            raise TypeError(f"cell_fn {cell_fn!r} needs to be callable")
        super().__init__()
        self._function = cell_fn
        self._base_name = getattr(cell_fn, "func", cell_fn).__name__
        output, state = cell_fn(None, None)
        self._output_size, self._state_size = ([t.dims[1] for t in nest.flatten(x)] if nest.is_sequence(x) else x.dims[1]
                                               for x in (output, state))

    output_size = property(lambda self: self._output_size)
    state_size = property(lambda self: self._state_size)

    def __call__(self, inputs, state, scope=None):
        return self._function(inputs, state, scope=scope or self._base_name)


# -- other layers ------------------------------------------------------------------------------------------
class Convolution:
    """`tf.nn.convolution` with all but the input and the filter given beforehand; the shapes are accepted."""

    def __init__(self, input_shape, filter_shape, padding, strides=None, dilation_rate=None, name=None, data_format=None):
        self._given = dict(padding=padding, strides=strides, dilation_rate=dilation_rate, name=name, data_format=data_format)

    def __call__(self, inp, filter):
        return conv.convolution(inp, filter, **self._given)


def softmax_v2(logits, axis=None, name=None):
    return ops.softmax(logits, axis=axis, name=name)


def log_softmax_v2(logits, axis=None, name=None):
    return ops.log_softmax(logits, axis=axis, name=name)


def dropout_v2(x, rate, noise_shape=None, seed=None, name=None):
    return functions.dropout(x, rate=rate, noise_shape=noise_shape, seed=seed, name=name)


def moments_v2(x, axes, shift=None, keepdims=False, name=None):
    return norm.moments(x, axes, shift=shift, keep_dims=keepdims, name=name)


def embedding_lookup_v2(params, ids, max_norm=None, name=None):
    return embedding.embedding_lookup(params, ids, "div", name, max_norm=max_norm)


def embedding_lookup_and_transform(params, ids, partition_strategy="mod", name=None, max_norm=None, transform_fn=None):
    """Returns `transform_fn` of what `tf.nn.embedding_lookup` returns."""
    rows = embedding.embedding_lookup(params, ids, partition_strategy, name, max_norm=max_norm)
    return rows if transform_fn is None else transform_fn(rows)


def compute_sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                           subtract_log_q=True, remove_accidental_hits=False, partition_strategy="mod", name=None, seed=None):
    """Returns (logits, labels) [batch, num_true + num_sampled] of the true and of sampled classes; see `tf.nn.nce_loss`."""
    return sampled._logits(weights, biases, labels, convert_to_tensor(inputs), num_sampled, num_classes, num_true,
                           sampled_values, subtract_log_q, remove_accidental_hits, partition_strategy, seed)


def nce_loss_v2(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                remove_accidental_hits=False, name="nce_loss"):
    return sampled.nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                            remove_accidental_hits, "div", name)


def sampled_softmax_loss_v2(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None,
                            remove_accidental_hits=True, seed=None, name="sampled_softmax_loss"):
    return sampled.sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                        remove_accidental_hits, "div", name, seed)


def batch_norm_grad(grad_y, x, scale, pop_mean, pop_var, epsilon, data_format, is_training=True):
    """Returns the gradients by x, scale and offset of `tf.nn.fused_batch_norm`, for a gradient by its first result."""
    given = {} if is_training else {"mean": pop_mean, "variance": pop_var}
    offset = array.zeros_like(scale)
    y = norm.fused_batch_norm(x, scale, offset, epsilon=epsilon, data_format=data_format, is_training=is_training, **given)[0]
    return tuple(gradients(y, [x, scale, offset], grad_y))


# -- orders of axes -----------------------------------------------------------------------------------------
def _order(src_format, dst_format):
    """Returns where each axis of the source is in the destination."""
    if len(src_format) not in (4, 5):
        raise InvalidArgumentError(f"Source format must be of length 4 or 5, received src_format = {src_format}")
    if len(dst_format) not in (4, 5):
        raise InvalidArgumentError(f"Destination format must be of length 4 or 5, received dst_format = {dst_format}")
    if len(set(src_format)) != len(src_format) or sorted(src_format) != sorted(dst_format):
        raise InvalidArgumentError("Destination and source format must determine a permutation, got "
                                   f"{src_format} and {dst_format}")
    return [dst_format.index(axis) for axis in src_format]


def data_format_dim_map(x, src_format="NHWC", dst_format="NCHW", name=None):
    """Returns the numbers that axes `x` (int32 or int64, from the end if negative) have in another order of axes."""
    x, order = convert_to_tensor(x), _order(src_format, dst_format)
    return indexing.gather(convert_to_tensor(order, dtype=x.dtype), math.floormod(x, len(order)), name=name)


def data_format_vec_permute(x, src_format="NHWC", dst_format="NCHW", name=None):
    """Returns sizes [axes] or paddings [axes, 2], int32 or int64, of the source's order of axes in the destination's.

    Two less than all: those of the axes H and W.
    """
    x = convert_to_tensor(x)
    _order(src_format, dst_format)
    if x.dims is None or x.rank not in (1, 2) or x.dims[0] is None:
        raise ValueError(f"data_format_vec_permute: x must be a vector or matrix of known length, got {x.shape}.")
    if x.dims[0] == len(src_format) - 2:
        src_format, dst_format = ("".join(a for a in f if a not in "NC") for f in (src_format, dst_format))
    return indexing.gather(x, [src_format.index(axis) for axis in dst_format], name=name)
