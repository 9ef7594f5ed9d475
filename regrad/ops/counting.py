"""Counting: bins, histograms, confusion matrices. Gradient of Bincount: to its weights, in this file."""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import ShapeError
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Refusal, Spec, define_op, extent, rank_is, spec_text
from regrad.core.shapes import compatible
from regrad.ops import array, compare, indexing, math, reduce

_WEIGHTS = frozenset((dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64))


def _bincount_infer(arr, size, weights):
    if weights.dims != (0,) and not compatible(arr.dims, weights.dims):
        raise ShapeError(f"weights must be empty or of the shape of arr, but arr is {spec_text(arr)} and weights "
                         f"{spec_text(weights)}")
    rank_is(size, 0, "size")
    n = size.partial()
    if n is not None and n < 0:
        raise ShapeError(f"size ({n}) must be non-negative")
    return Spec((n,), weights.dtype)


def _bincount_lower(b, arr, size, weights):
    size = int(size)
    arr = b.np.ravel(arr)
    weights = b.np.ravel(weights) if weights.size else b.np.ones(arr.shape, weights.dtype)
    # What does not fit goes to one more bin, which is cut off.
    arr = b.np.where(arr < size, arr, size)
    if b.is_host:
        if arr.size and arr.min() < 0:
            raise array.BadValue("Input arr must be non-negative!")
        out = np.zeros(size + 1, weights.dtype)
        np.add.at(out, arr, weights)
        return out[:size]
    return b.np.zeros(size + 1, weights.dtype).at[arr].add(weights)[:size]


bincount_op = define_op("Bincount", "arr: int32, size: int32, weights: T", types={"T": _WEIGHTS}, static=(1,),
                        infer=_bincount_infer, lower=_bincount_lower)
bincount_op.declare(refusal=Refusal("Input arr must be non-negative!", lambda b, result, arr, *_: arr < 0,
                                    by_itself=True, never=lambda arr, *_: extent(arr)[0] >= 0))


@RegisterGradient("Bincount")
def _bincount_grad(op, dy):
    arr, size, weights = op.inputs
    if weights.dims == (0,):
        return None, None, None
    # Each weight went to the bin of its number; those of numbers that have no bin went nowhere.
    taken = indexing.gather(dy, math.minimum(arr, size - 1))
    shares = compare.select(compare.less(arr, size), taken, array.zeros_like(taken))
    return None, None, shares


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32, name=None):
    """Returns how often each of 0, 1, 2 ... occurs in `arr`, or the sum of the weights there.

    Args:
      arr: non-negative int32 tensor.
      weights: tensor of the shape of `arr`; then the result has its dtype.
      minlength, maxlength: least and greatest length of the result; larger values are not counted. The length is one
        more than the greatest value.
      dtype: of the result, without weights.
    """
    with get_default_graph().name_scope(name or "bincount"):
        arr = convert_to_tensor(arr, name="arr", dtype=None if hasattr(arr, "dtype") else dtypes.int32)
        arr = math.cast(arr, dtypes.int32)
        nonempty = math.cast(compare.greater(array.size(arr), 0), dtypes.int32)
        size = nonempty * (reduce.reduce_max(arr) + 1)
        if minlength is not None:
            size = math.maximum(convert_to_tensor(minlength, dtypes.int32, name="minlength"), size)
        if maxlength is not None:
            size = math.minimum(convert_to_tensor(maxlength, dtypes.int32, name="maxlength"), size)
        weights = array.zeros([0], dtype) if weights is None else convert_to_tensor(weights, name="weights")
        return bincount_op(arr, size, weights)


# -- histograms ------------------------------------------------------------------------------------------
def _histogram_infer(values, value_range, nbins, *, dtype):
    if not compatible(value_range.dims, (2,)):
        raise ShapeError(f"value_range must have two elements but is {spec_text(value_range)}")
    n, ends = nbins.partial(), value_range.value()
    if n is not None and n <= 0:
        raise ShapeError(f"Requires nbins > 0, got {n}: nbins should be a positive number")
    if ends is not None and not ends[0] < ends[1]:
        raise ValueError(f"value_range should satisfy value_range[0] < value_range[1], got {ends.tolist()}")
    return Spec((n,), dtype)


def _histogram_lower(b, values, value_range, nbins, *, dtype):
    low, high = value_range[0], value_range[1]
    places = b.divide((b.np.maximum(values, low) - low).astype(np.float64), (high - low).astype(np.float64) / float(nbins))
    bins = b.np.minimum(places, float(nbins - 1)).astype(np.int32)
    target = dtype.as_numpy_dtype
    if b.is_host:
        if not value_range[0] < value_range[1]:
            raise array.BadValue(f"value_range should satisfy value_range[0] < value_range[1], got {value_range.tolist()}")
        return np.bincount(bins.ravel(), minlength=int(nbins)).astype(target)
    return b.np.zeros(int(nbins), target).at[bins.ravel()].add(target(1))


def _bins(b, values, value_range, nbins):
    kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    low, high = value_range[0].astype(kind), value_range[1].astype(kind)
    scaled = b.divide(values.astype(kind) - low, high - low)
    return b.np.clip(b.np.floor(scaled * kind.type(nbins)), 0, nbins - 1).astype(np.int32)


_VALUES = frozenset((dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64))
histogramfixedwidth_op = define_op("HistogramFixedWidth", "values: T, value_range: T, nbins: int32",
                                   attrs={"dtype": dtypes.int32}, types={"T": _VALUES}, static=(2,),
                                   infer=_histogram_infer, lower=_histogram_lower)
histogramfixedwidth_op.declare(refusal=Refusal(
    "value_range should satisfy value_range[0] < value_range[1]", by_itself=True,
    finds=lambda b, result, values, ends, nbins, *, dtype: b.np.logical_not(ends[0] < ends[1]),
    never=lambda values, ends, nbins, *, dtype: ends.value() is not None))
NotDifferentiable("HistogramFixedWidth")


def histogram_fixed_width(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Returns how many of `values` fall into each of `nbins` equal intervals of `value_range`, [nbins].

    Args:
      values: numeric tensor.
      value_range: [low, high] of the dtype of `values`; what lies outside counts to the first and the last interval.
      nbins: int.
      dtype: int32 or int64.
    """
    with get_default_graph().name_scope(name or "histogram_fixed_width") as scope:
        values = convert_to_tensor(values, name="values")
        return histogramfixedwidth_op(values, value_range, nbins, dtype=as_dtype(dtype), name=scope)


def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=dtypes.int32, name=None):
    """Returns the number of the interval (see `histogram_fixed_width`) into which each of `values` falls."""
    with get_default_graph().name_scope(name or "histogram_fixed_width_bins"):
        values = convert_to_tensor(values, name="values")
        shape = array.shape(values)
        flat = array.reshape(values, [-1])
        value_range = convert_to_tensor(value_range, name="value_range", dtype=None if hasattr(value_range, "dtype")
                                        else values.dtype)
        nbins = convert_to_tensor(nbins, name="nbins", dtype=dtypes.int32)
        scaled = math.truediv(flat - value_range[0], value_range[1] - value_range[0])
        index = math.floor(math.cast(nbins, scaled.dtype) * scaled)
        zero = array.zeros([], scaled.dtype)
        clipped = math.minimum(math.maximum(index, zero), math.cast(nbins - 1, scaled.dtype))
        bins = array.reshape(math.cast(clipped, as_dtype(dtype)), shape)
        bins.set_shape(values.shape)
        return bins


# -- confusion matrix -------------------------------------------------------------------------------------
def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """Returns (labels, predictions) with a last axis of size 1 removed from the one that has an axis too many."""
    with get_default_graph().name_scope(name or "remove_squeezable_dimensions"):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        if predictions.dims is None or labels.dims is None:
            return labels, predictions
        difference = len(predictions.dims) - len(labels.dims)
        if difference == expected_rank_diff + 1 and predictions.dims[-1] in (1, None):
            predictions = array.squeeze(predictions, [-1])
        elif difference == expected_rank_diff - 1 and labels.dims[-1] in (1, None):
            labels = array.squeeze(labels, [-1])
        return labels, predictions


def confusion_matrix(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None):
    """Returns the matrix [n, n] that counts at [i, j] how often label i met prediction j.

    Args:
      labels, predictions: vectors of equal length, of non-negative integers.
      num_classes: n; one more than the greatest of both by default.
      dtype: of the result.
      weights: vector of what each pair counts for.
    """
    from regrad.ops.check import assert_less, assert_non_negative
    from regrad.ops.control import with_dependencies

    with get_default_graph().name_scope(name or "confusion_matrix") as scope:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions, labels = math.cast(predictions, dtypes.int64), math.cast(labels, dtypes.int64)
        labels = with_dependencies([assert_non_negative(labels, message="`labels` contains negative values")], labels)
        predictions = with_dependencies([assert_non_negative(predictions, message="`predictions` contains negative values")],
                                        predictions)
        if num_classes is None:
            num_classes = math.maximum(reduce.reduce_max(predictions), reduce.reduce_max(labels)) + 1
        else:
            num_classes = math.cast(convert_to_tensor(num_classes), dtypes.int64)
            labels = with_dependencies([assert_less(labels, num_classes, message="`labels` out of bound")], labels)
            predictions = with_dependencies([assert_less(predictions, num_classes, message="`predictions` out of bound")],
                                            predictions)
        dtype = as_dtype(dtype)
        shape = array.stack([num_classes, num_classes])
        pairs = array.stack([labels, predictions], axis=1)
        values = array.ones_like(predictions, dtype) if weights is None else math.cast(convert_to_tensor(weights), dtype)
        return array.identity(indexing.scatter_nd(pairs, values, shape), name=scope)
