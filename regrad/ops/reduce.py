"""Reductions over axes. Gradients: `reduce_grad.py`."""

import functools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import INDEX, NUMERIC, REAL, as_dtype
from regrad.core.errors import ShapeError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is, spec_text
from regrad.core.shapes import text
from regrad.ops import ordering, reducing
from regrad.ops.array import axis_in, one_of, rank


def axes_of(axes, rank):
    """Returns sorted axes counted from 0, from the value of a scalar or vector of axes."""
    return _axes(tuple(np.asarray(axes).ravel().tolist()), rank)


@functools.lru_cache(maxsize=4096)
def _axes(axes, rank):
    return tuple(sorted({axis_in(int(a), rank, "Invalid reduction dimension", "; must be in the range") for a in axes}))


def reduced_dims(dims, axes_value, keep_dims):
    """Returns the dims after reducing the axes given by the array `axes_value` (None: not known)."""
    if dims is None:
        return None
    if axes_value is None:
        return (None,) * len(dims) if keep_dims else None
    axes = axes_of(axes_value, len(dims))
    if keep_dims:
        return tuple(1 if i in axes else d for i, d in enumerate(dims))
    return tuple(d for i, d in enumerate(dims) if i not in axes)


def _axes_value(axes):
    if axes.dims is not None and len(axes.dims) > 1:
        raise ShapeError(f"Shape must be at most rank 1 but is rank {len(axes.dims)} for the axes to reduce, {spec_text(axes)}")
    return axes.value()


def _reduction(op_type, lower, types=NUMERIC, partial=False):
    def infer(x, axes, *, keep_dims):
        return Spec(reduced_dims(x.dims, _axes_value(axes), keep_dims), x.dtype)

    def run(b, x, axes, *, keep_dims):
        return lower(b, x, axis=axes_of(axes, x.ndim), keepdims=keep_dims)

    return define_op(op_type, "input: T, reduction_indices: Tidx", attrs={"keep_dims": False}, static=(1,), infer=infer,
                     types={"T": types, "Tidx": INDEX}, lower=run, partial=partial)


def _mean(b, x, axis, keepdims):
    n = int(np.prod([x.shape[a] for a in axis], dtype=np.int64))
    if x.dtype.kind not in "iu" and n:
        return reducing.mean(b, x, axis, keepdims)
    total = b.np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    if n == 0:  # the mean of nothing is NaN; of no integers, 0
        return total if x.dtype.kind in "iu" else total * x.dtype.type(np.nan)
    return b.np.asarray(b.np.trunc(b.divide(total, n))).astype(x.dtype)


sum_op = _reduction("Sum", reducing.total, partial=True)


def _numpy_sum(op, known):
    """Returns what computes a sum on the host, its axes being known: see `runtime.direct`."""
    x = op.inputs[0]
    if x.dims is None or x.dtype.name not in ("float32", "float64"):  # NumPy adds up small integers in larger ones
        return None
    axes = axes_of(known[1], len(x.dims))
    return functools.partial(np.add.reduce, axis=axes if len(axes) < len(x.dims) else None, keepdims=op.attrs["keep_dims"])


sum_op.declare(numpy=_numpy_sum)
mean_op = _reduction("Mean", _mean)
prod_op = _reduction("Prod", lambda b, x, axis, keepdims: reducing.reduce(
    b, functools.partial(b.np.prod, dtype=x.dtype), b.np.multiply, x, axis, keepdims), partial=True)


def _extreme(largest):
    # Of no elements at all the maximum is the least value of the type, as in TF.
    def lower(b, x, axis, keepdims):
        if 0 not in x.shape:
            return reducing.extreme(b, x, axis, keepdims, largest)
        if x.dtype.kind in "fV":  # V: bfloat16
            worst = -np.inf if largest else np.inf
        else:
            worst = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
        return (b.np.max if largest else b.np.min)(x, axis=axis, keepdims=keepdims, initial=x.dtype.type(worst))

    return lower


max_op = _reduction("Max", _extreme(largest=True), REAL)
min_op = _reduction("Min", _extreme(largest=False), REAL)


def _extremes_lower(b, x, axes, *, largest):
    axis = axes_of(axes, x.ndim)

    def chosen(x):
        return x == reducing.extreme(b, x, axis, keepdims=True, largest=largest)

    if 0 in x.shape:
        return b.np.zeros(x.shape, bool)
    return chosen(x) if b.is_host else b.call(chosen, [x])


# Which elements are as large (or small) as the reduction over `axes`. Not `x == y` of the forward op's result: XLA may compute
# `x` again for the comparison, in another loop, where products and sums are contracted otherwise, and nothing would equal `y`.
extremes_op = define_op("Extremes", "input: T, reduction_indices: Tidx", attrs={"largest": True}, static=(1,),
                        types={"T": REAL, "Tidx": INDEX}, infer=lambda x, axes, *, largest: Spec(x.dims, dtypes.bool_),
                        lower=_extremes_lower)


def _logical(op_type, function):
    return define_op(op_type, "input: bool, reduction_indices: Tidx", attrs={"keep_dims": False}, static=(1,),
                     types={"Tidx": INDEX},
                     infer=lambda x, axes, *, keep_dims: Spec(reduced_dims(x.dims, _axes_value(axes), keep_dims), dtypes.bool_),
                     lower=lambda b, x, axes, *, keep_dims:
                     getattr(b.np, function)(x, axis=axes_of(axes, x.ndim), keepdims=keep_dims))


all_op = _logical("All", "all")
any_op = _logical("Any", "any")


def _all_axes(x):
    """Returns the axes of `x` as a tensor: a constant when the rank is known."""
    if x.dims is not None:
        return constant(np.arange(len(x.dims), dtype=np.int32))
    from regrad.ops.generate import range as range_

    return range_(0, rank(x))


def _reduce(op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims):
    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keepdims = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    x = convert_to_tensor(input_tensor, name="input_tensor",
                          preferred_dtype=dtypes.bool_ if op in (all_op, any_op) else None)  # of an empty list
    result = op(x, _all_axes(x) if axis is None else axis, keep_dims=bool(keepdims), name=name)
    if axis is None and not keepdims:
        result.set_shape(())  # over all axes, however many there are
    return result


def reduce_sum(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns the sum over `axis`: a tensor of the dtype of `input_tensor`, without these axes.

    Args:
      input_tensor: tensor of numbers, of any shape.
      axis: an int, or a list of ints or a tensor of them, negative ones counted from the end; None means all axes.
      keepdims: True leaves the axes with size 1.
      reduction_indices, keep_dims: older names of `axis` and `keepdims`.

    Raises:
      ValueError: an axis that is not there.
      TypeError: `input_tensor` is of a dtype that has no sum.

    Example:
      x = tf.constant([[1, 2], [3, 4]])
      print(*tf.Session().run([tf.reduce_sum(x), tf.reduce_sum(x, axis=0)]))
      #> 10 [4 6]
    """
    return _reduce(sum_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_mean(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns the mean over `axis` (as of `reduce_sum`), in the dtype of the input: integers are truncated.

    Example:
      print(tf.Session().run(tf.reduce_mean([[1.0, 2.0], [3.0, 6.0]], axis=1)))
      #> [1.5 4.5]
    """
    return _reduce(mean_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_prod(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns the product over `axis` (as of `reduce_sum`). Gradient: right where elements are 0, too."""
    return _reduce(prod_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_max(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns the maximum over `axis` (as of `reduce_sum`). Gradient: equal ones share it.

    Example:
      print(tf.Session().run(tf.reduce_max([[1, 9], [8, 2]], axis=1)))
      #> [9 8]
    """
    return _reduce(max_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_min(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns the minimum over `axis` (as of `reduce_sum`). Gradient: equal ones share it.

    Example:
      print(tf.Session().run(tf.reduce_min([[1, 9], [8, 2]], axis=1)))
      #> [1 2]
    """
    return _reduce(min_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_all(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns whether all elements of a bool tensor are True over `axis` (as of `reduce_sum`), as bool."""
    return _reduce(all_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


def reduce_any(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns whether any element of a bool tensor is True over `axis` (as of `reduce_sum`), as bool."""
    return _reduce(any_op, input_tensor, axis, keepdims, name, reduction_indices, keep_dims)


# -- built of others ----------------------------------------------------------------------------
def _euclidean(b, x, axis, keepdims):
    squares = x * b.np.conj(x) if x.dtype.kind == "c" else x * x
    return b.np.sqrt(b.np.sum(squares, axis=axis, keepdims=keepdims, dtype=x.dtype)).astype(x.dtype)


euclideannorm_op = _reduction("EuclideanNorm", _euclidean)


def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the square root of the sum of |x|^2 over `axis`, in the dtype of the input.

    Gradient: x / norm, and 0 where the norm is 0.
    """
    return _reduce(euclideannorm_op, input_tensor, axis, keepdims, name, None, None)


def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """Returns log(sum(exp(x))) over `axis`, computed without overflow; -inf for no elements."""
    from regrad.ops import array, compare, math

    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keepdims = bool(one_of("keepdims", keepdims, "keep_dims", keep_dims))
    with get_default_graph().name_scope(name or "ReduceLogSumExp"):
        x = convert_to_tensor(input_tensor, name="input_tensor")
        largest = reduce_max(x, axis, keepdims=True)
        # A sum of zeros or with an infinity in it is not to be shifted by its infinite maximum.
        shift = array.stop_gradient(compare.select(math.is_finite(largest), largest, array.zeros_like(largest)))
        result = math.log(reduce_sum(math.exp(x - shift), axis, keepdims=keepdims))
        return result + (shift if keepdims else array.reshape_like(shift, result))


def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the mean squared distance from the mean, over `axis`; real for a complex input.

    Raises:
      TypeError: the input is an integer tensor.
    """
    from regrad.ops import complex as complex_
    from regrad.ops import math

    with get_default_graph().name_scope(name or "reduce_variance"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.is_integer:
            raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype.name}.")
        squares = math.squared_difference(x, reduce_mean(x, axis, keepdims=True))
        return reduce_mean(complex_.real(squares), axis, keepdims=keepdims)


def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """Returns the standard deviation over `axis`; real for a complex input.

    Gradient: (x - mean) / (n std), and 0 where all elements are equal.

    Raises:
      TypeError: the input is an integer tensor.
    """
    from regrad.ops import array, math
    from regrad.ops import complex as complex_

    with get_default_graph().name_scope(name or "reduce_std"):
        x = convert_to_tensor(input_tensor)
        if x.dtype.is_integer:
            raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype.name}.")
        norm = complex_.real(reduce_euclidean_norm(x - reduce_mean(x, axis, keepdims=True), axis, keepdims=keepdims))
        n = math.cast(array.size(x), norm.dtype) / math.cast(array.size(norm), norm.dtype)
        return norm / math.sqrt(n)


def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None, reduction_indices=None,
                  keep_dims=None, input=None):
    """Returns how many elements are not zero (not empty, for strings), over `axis`, as `dtype`."""
    from regrad.ops import compare, math

    axis = one_of("axis", axis, "reduction_indices", reduction_indices)
    keepdims = one_of("keepdims", keepdims, "keep_dims", keep_dims)
    with get_default_graph().name_scope(name or "count_nonzero"):
        x = convert_to_tensor(one_of("input_tensor", input_tensor, "input", input), name="input_tensor")
        zero = convert_to_tensor(b"" if x.dtype is dtypes.string else np.zeros((), x.dtype.as_numpy_dtype))
        nonzero = math.cast(compare.not_equal(x, zero), dtypes.int64)
        return math.cast(reduce_sum(nonzero, axis, keepdims=keepdims), dtype)


# -- where the extreme is -------------------------------------------------------------------------
_LONG, _LARGE = 256, 65_536  # of an axis, and of an array, from which on the extreme is found first, then its place


def _arg_extreme(op_type, function):
    def infer(x, axis, *, output_type):
        if output_type not in INDEX:
            raise TypeError(f"output_type has DataType {output_type.name} not in list of allowed values: {dtypes.names(INDEX)}")
        rank_is(axis, 0, "dimension")
        at = axis.value()
        if x.dims is not None and at is not None:
            return Spec(reduced_dims(x.dims, at, False), output_type)
        return Spec(None if x.dims is None else (None,) * max(len(x.dims) - 1, 0), output_type)

    def lower(b, x, axis, *, output_type):
        if x.ndim and not x.shape[int(axis)]:
            raise ShapeError(f"Reduction axis {int(axis)} is empty in shape {text(x.shape)}")
        if not b.is_host and x.size >= _LARGE and x.shape[int(axis)] >= _LONG and x.dtype.kind != "b":
            found = reducing.place(b, x, int(axis), largest=function == "argmax")
        elif b.is_host or x.dtype.itemsize > 4 or x.dtype.kind in "iub":
            found = getattr(b.np, function)(x, axis=int(axis))
        else:  # NaN is the one that is found, and of zeros the first, whatever their signs
            found = b.np.argmax(ordering.keys(b, x if function == "argmax" else -x), axis=int(axis))
        return found.astype(output_type.as_numpy_dtype)

    return define_op(op_type, "input: T, dimension: Tidx", attrs={"output_type": dtypes.int64}, static=(1,), infer=infer,
                     types={"T": REAL | {dtypes.bool_}, "Tidx": INDEX}, lower=lower)


argmax_op = _arg_extreme("ArgMax", "argmax")
argmin_op = _arg_extreme("ArgMin", "argmin")


def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """Returns the index of the largest element along `axis` (0 by default), the first of equal ones.

    Example:
      print(tf.Session().run(tf.argmax([[1, 9], [8, 2]], axis=1)))
      #> [1 0]
    """
    axis = one_of("axis", axis, "dimension", dimension)
    return argmax_op(input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """Returns the index of the smallest element along `axis` (0 by default), the first of equal ones."""
    axis = one_of("axis", axis, "dimension", dimension)
    return argmin_op(input, 0 if axis is None else axis, output_type=as_dtype(output_type), name=name)


def arg_max(input, dimension, output_type=dtypes.int64, name=None):
    """Returns `argmax` along an axis: its older form."""
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(input, dimension, output_type=dtypes.int64, name=None):
    """Returns `argmin` along an axis: its older form."""
    return argmin(input, dimension, name, output_type=output_type)


# -- the transpose of a sum ---------------------------------------------------------------------------
def _unreduce_lower(b, dy, like, axes):
    axes = axes_of(axes, len(like.shape))
    kept = tuple(1 if i in axes else d for i, d in enumerate(like.shape))
    return b.np.broadcast_to(b.np.reshape(dy, kept), like.shape)


unreduce_op = define_op("UnreduceLike", "dy: T, like: L, reduction_indices: Tidx", static=(2,), shape_only=(1,),
                        types={"Tidx": INDEX}, infer=lambda dy, like, axes: Spec(like.dims, dy.dtype),
                        lower=_unreduce_lower)


def unreduce_like(dy, like, axes):
    """Returns `dy`, the result of reducing a tensor of the shape of `like` over `axes`, spread back to that shape."""
    return unreduce_op(dy, like, axes)


# -- each element's product of all others: the derivative of Prod, without a division by zero ------------------
def _others_lower(b, x, axes):
    axes = axes_of(axes, x.ndim)
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    order = kept + axes
    moved = b.np.transpose(x, order)
    rows = b.np.reshape(moved, tuple(x.shape[i] for i in kept) + (-1 if x.size else 0,))
    one = b.np.ones_like(rows[..., :1])
    before = b.np.cumprod(b.np.concatenate([one, rows[..., :-1]], -1), -1, dtype=x.dtype)
    after = b.np.cumprod(b.np.concatenate([one, rows[..., :0:-1]], -1), -1, dtype=x.dtype)[..., ::-1]
    return b.np.transpose(b.np.reshape(before * after, moved.shape), tuple(int(i) for i in np.argsort(order)))


productofothers_op = define_op("ProductOfOthers", "input: T, reduction_indices: Tidx", static=(1,), lower=_others_lower,
                               types={"T": NUMERIC, "Tidx": INDEX}, infer=lambda x, axes: Spec(x.dims, x.dtype))
