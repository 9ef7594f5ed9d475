"""SparseTensor: coordinates and values, as three tensors. Fed and fetched as `SparseTensorValue`.

The ops take and give the three tensors one by one, as TensorFlow's do. Those whose number of elements depends on values run
on the host. Gradients, to the values and to dense operands: `sparse_grad.py`.
"""

import collections

import numpy as np

from regrad.core import dtypes
from regrad.core.context import get_default_session
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import INDEX, NUMERIC
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.graph import is_tensor
from regrad.core.opdef import Bounds, Refusal, Spec, define_op, rank_is, spec_text
from regrad.core.shapes import TensorShape, as_dims, broadcast, compatible, fully_known, merge
from regrad.ops.array import BadValue, one_of, placeholder, placeholder_with_default, size
from regrad.ops.generate import range as range_
from regrad.ops.indexing import OutOfRange, check_index, gather_nd_lower
from regrad.ops.math import TRUE_DIVISION, cast, div_op, mul_op
from regrad.runtime import memory

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])


class SparseTensor:
    """A tensor of which only some elements are given.

    Attributes:
      indices: int64 [n, rank], the positions, in row-major order.
      values: [n], the elements there.
      dense_shape: int64 [rank].

    Example:
      s = tf.SparseTensor(indices=[[0, 1], [1, 2]], values=[5, 7], dense_shape=[2, 3])
      print(tf.Session().run(tf.sparse_tensor_to_dense(s)))
      #> [[0 5 0]
      #>  [0 0 7]]
    """

    def __init__(self, indices, values, dense_shape):
        self.indices = convert_to_tensor(indices, dtype=dtypes.int64, name="indices")
        self.values = convert_to_tensor(values, name="values")
        self.dense_shape = convert_to_tensor(dense_shape, dtype=dtypes.int64, name="shape")
        _check_parts(self.indices, self.values, self.dense_shape)

    is_tensor_like = True
    _dims = None  # the static shape, where dense_shape may be fed but need not

    @classmethod
    def from_value(cls, value):
        """Returns a SparseTensor of a SparseTensorValue, or `value` if it is one already; TypeError for anything else."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, tuple) or len(value) != 3:
            raise TypeError(f"Input must be a SparseTensor, got {value!r:.200}; tf.sparse.from_dense(x) makes one "
                            "of a dense tensor.")
        return cls(*value)

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def graph(self):
        return self.values.graph

    @property
    def op(self):
        return self.values.op

    @property
    def shape(self):
        return TensorShape(self.dense_shape.partial() if self._dims is None else self._dims)

    def get_shape(self):
        return self.shape

    def _loop_parts(self):
        return [self.indices, self.values, self.dense_shape], SparseTensor

    def _loop_dims(self, shape):
        """Returns the sizes of the parts in any turn of a loop, given the shape of `dense_shape` or None for the one it has."""
        (rank,) = (self.dense_shape.dims if shape is None else shape.dims_) or (None,)
        return [(None, rank), (None,), (rank,)]

    def _fetch_parts(self):
        return [self.indices, self.values, self.dense_shape], SparseTensorValue

    def _feed_parts(self, value):
        if isinstance(value, np.ndarray) or not 2 <= len(value) <= 3:
            raise TypeError("A sparse tensor is fed a tf.SparseTensorValue(indices, values, dense_shape), or a tuple of the "
                            f"three; got {value!r:.200}.")
        parts = [(self.indices, np.asarray(value[0], np.int64)), (self.values, value[1])]
        return parts + [(self.dense_shape, np.asarray(s, np.int64)) for s in value[2:]]

    def consumers(self):
        """Returns the operations that take any of its three tensors."""
        return list(dict.fromkeys(op for t in (self.indices, self.values, self.dense_shape) for op in t.consumers()))

    def eval(self, feed_dict=None, session=None):
        """Returns the SparseTensorValue."""
        return (session or get_default_session()).run(self, feed_dict)

    def __mul__(self, dense):
        """Returns this tensor with its elements multiplied by those of a dense one, which may broadcast to its shape."""
        return self._with_values(sparsedensecwisemul_op(self.indices, self.values, self.dense_shape,
                                                        convert_to_tensor(dense, dtype=self.dtype), name="mul"))

    __rmul__ = __mul__
    _reflected = ("mul",)  # of `dense <op> self`, what this class has

    def __truediv__(self, dense):
        dense = convert_to_tensor(dense, dtype=self.dtype)
        wide = TRUE_DIVISION.get(self.dtype, self.dtype)
        return self._with_values(sparsedensecwisediv_op(self.indices, cast(self.values, wide), self.dense_shape,
                                                        cast(dense, wide), name="truediv"))

    def __div__(self, dense):
        return self._with_values(sparsedensecwisediv_op(self.indices, self.values, self.dense_shape,
                                                        convert_to_tensor(dense, dtype=self.dtype), name="div"))

    @classmethod
    def _of_shape(cls, parts, dims):
        """Returns the tensor of three parts, whose shape is known to be `dims` (None where a size is not)."""
        indices, values, dense_shape = parts
        if fully_known(dims):
            return cls(indices, values, np.array(dims, np.int64))
        out = cls(indices, values, dense_shape)
        out._dims = dims
        return out

    def _with_values(self, values):
        return SparseTensor(self.indices, values, self.dense_shape)

    def __repr__(self):
        return f"SparseTensor(indices={self.indices}, values={self.values}, dense_shape={self.dense_shape})"


def sparse_placeholder(dtype, shape=None, name=None):
    """Returns a SparseTensor to be fed with a SparseTensorValue; a shape that is known need not be fed.

    Args:
      shape: sizes (None or -1 for one that is unknown), or an integer vector that holds them.
    """
    named = (lambda part: None) if name is None else lambda part: f"{name}/{part}"
    if is_tensor(shape):
        known = shape.partial()
        shape = ([None] * shape.dims[0] if shape.dims and shape.dims[0] is not None else None) if known is None else [
            None if d is None or d < 0 else int(d) for d in known]
    dims = as_dims(shape)
    rank = None if dims is None else len(dims)
    if dims is None:
        dense_shape = placeholder(dtypes.int64, [None], named("shape"))
    else:
        default = constant(np.array([-1 if d is None else d for d in dims], np.int64), name=named("shape_default") or "Const")
        dense_shape = placeholder_with_default(default, [rank], named("shape"))
    values = placeholder(dtype, [None], named("values"))
    sparse = SparseTensor(placeholder(dtypes.int64, [None, rank], named("indices")), values, dense_shape)
    sparse._dims = dims
    return sparse


def _check_parts(indices, values, dense_shape):
    if indices.rank not in (None, 2):
        raise ShapeError(f"the indices of a sparse tensor are a matrix, a row for each element, got {spec_text(indices)}")
    if values.rank not in (None, 1) or dense_shape.rank not in (None, 1):
        raise ShapeError(f"values and shape of a sparse tensor are vectors, got {spec_text(values)} and "
                         f"{spec_text(dense_shape)}")
    if indices.dims is not None:
        merge(indices.dims[:1], values.dims, "the numbers of indices and of values of a sparse tensor,")
        merge(indices.dims[1:], dense_shape.dims, "the number of columns of indices and the rank of a sparse tensor,")


def parts(x):
    """Returns (indices, values, dense_shape) of a sparse tensor, or of the value of one."""
    x = SparseTensor.from_value(x)
    return x.indices, x.values, x.dense_shape


# -- to dense -----------------------------------------------------------------------------------
def _to_dense_infer(indices, output_shape, values, default_value, *, validate_indices):
    if indices.dims is not None and len(indices.dims) > 2:
        raise ShapeError(f"sparse_indices must be a scalar, vector or matrix, got {spec_text(indices)}")
    rank_is(output_shape, 1, "output_shape")
    rank_is(default_value, 0, "default_value")
    if values.dims is not None and len(values.dims) > 1:
        raise ShapeError(f"sparse_values has incorrect shape {spec_text(values)}: must be a scalar or a vector")
    return Spec(output_shape.partial(), values.dtype)


def _to_dense_lower(b, indices, output_shape, values, default_value, *, validate_indices):
    dims = tuple(int(d) for d in output_shape)
    if indices.ndim == 2 and indices.shape[1] != len(dims):
        raise ShapeError(f"output_shape has {len(dims)} sizes, for indices of {indices.shape[1]} coordinates")
    at = b.np.reshape(indices, (-1, len(dims)))
    if values.shape not in ((), at.shape[:1]):
        raise ShapeError(f"sparse_values has incorrect shape {list(values.shape)}: must be [] or [{at.shape[0]}]")
    values = b.np.broadcast_to(values, at.shape[:1])
    if b.is_host:
        if validate_indices:
            check_places(at, dims)
        else:
            check_index(dims, tuple(at.T), "shape")
        out = np.full(dims, default_value, values.dtype)
        out[tuple(at.T)] = values
        return out
    full = b.np.broadcast_to(default_value, dims)
    return full.at[tuple(at.T)].set(values, mode="drop", wrap_negative_indices=False)


def check_places(indices, dims):
    """Raises InvalidArgumentError for coordinates outside, repeated, or out of order."""
    last = None
    for i, row in enumerate(indices.tolist()):
        if any(not 0 <= c < d for c, d in zip(row, dims)):
            raise InvalidArgumentError(f"indices[{i}] = {row} is out of bounds: need 0 <= index < {list(dims)}")
        if last is not None and row <= last:
            what = "is repeated" if row == last else "is out of order"
            raise InvalidArgumentError(f"indices[{i}] = {row} {what}. Many sparse ops require sorted indices: "
                                       "sparse_reorder sorts them")
        last = row


def _wrong_places(b, result, indices, output_shape, values, default_value, *, validate_indices):
    """Finds what `check_places` refuses, or only what is outside."""
    dims = output_shape.astype(np.int64)
    at = b.np.reshape(indices, (-1, len(dims)))
    outside = b.np.any((at < 0) | (at >= dims.astype(at.dtype)))
    if not validate_indices or at.shape[0] < 2 or not len(dims):
        return outside
    strides = np.append(np.cumprod(dims[:0:-1])[::-1], 1)
    place = b.np.sum(at.astype(np.int64) * strides, axis=1)
    return outside | b.np.any(place[1:] <= place[:-1])


sparsetodense_op = define_op(
    "SparseToDense", "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T",
    attrs={"validate_indices": True}, types={"Tindices": INDEX}, static=(1,), infer=_to_dense_infer, lower=_to_dense_lower)
sparsetodense_op.declare(refusal=Refusal("indices are out of bounds, repeated or out of order", _wrong_places,
                                         by_itself=True))


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0, validate_indices=True, name=None):
    """Returns a dense tensor of `output_shape` with `sparse_values` at `sparse_indices` and `default_value` elsewhere.

    Args:
      sparse_indices: int32 or int64: [n, rank], [n] for a vector, or a scalar.
      output_shape: vector of the dtype of the indices.
      sparse_values: [n], or a scalar for all.
      default_value: a scalar.
      validate_indices: indices that are repeated or out of order are an InvalidArgumentError, as those outside always are.

    Gradient: to values and default value.
    """
    values = convert_to_tensor(sparse_values)
    return sparsetodense_op(sparse_indices, output_shape, values, convert_to_tensor(default_value, dtype=values.dtype),
                            validate_indices=validate_indices, name=name)


def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """Returns the dense tensor, `default_value` (0) where nothing is given. The gradient reaches the values."""
    indices, values, dims = parts(sp_input)
    if default_value is None:
        default_value = b"" if values.dtype is dtypes.string else 0
    return sparse_to_dense(indices, dims, values, default_value, validate_indices, name)


# -- with dense operands --------------------------------------------------------------------------
def _matmul_infer(a_indices, a_values, a_shape, c, *, adjoint_a, adjoint_b):
    _check_parts(a_indices, a_values, a_shape)
    if c.rank not in (None, 2):
        raise ShapeError(f"b must be a matrix, got {spec_text(c)}")
    a, c_dims = a_shape.partial() or (None, None), c.dims or (None, None)
    if len(a) != 2:
        raise ShapeError(f"a must be a matrix, its shape is {list(a)}")
    n, k = a[::-1] if adjoint_a else a
    k2, m = c_dims[::-1] if adjoint_b else c_dims
    if None not in (k, k2) and k != k2:
        raise ShapeError(f"Dimensions must be equal, but are {k} and {k2}: the inner sizes of a, {list(a)}, and b, "
                         f"{spec_text(c)} (adjoint_a={adjoint_a}, adjoint_b={adjoint_b})")
    return Spec((n, m), a_values.dtype)


def _check_inside(indices, dims, adjoint):
    """Raises OutOfRange for an element of a matrix that lies outside; m and k are the rows and columns of the factor."""
    outside = (indices < 0) | (indices >= np.asarray(dims))
    if np.any(outside):
        i, j = (int(n) for n in np.argwhere(outside)[0])
        raise OutOfRange(f"{'mk'[j != adjoint]} ({indices[i, j]}) from index[{i},{j}] out of bounds (>={dims[j]})")


def _matmul_lower(b, indices, values, a_shape, c, *, adjoint_a, adjoint_b):
    # Rows of b, weighed and added up: nothing of the size of a is made.
    rows, columns = indices[:, 0], indices[:, 1]
    n = int(a_shape[1] if adjoint_a else a_shape[0])
    if b.is_host:
        _check_inside(indices, a_shape, adjoint_a)
    if adjoint_a:
        rows, columns, values = columns, rows, b.np.conj(values)
    if adjoint_b:
        c = b.np.conj(c).T
    terms = values[:, None] * b.np.take(c, columns, axis=0)
    if b.is_host:
        out = np.zeros((n, c.shape[1]), terms.dtype)
        np.add.at(out, rows, terms)
        return out
    return b.np.zeros((n, c.shape[1]), terms.dtype).at[rows].add(terms)


sparsetensordensematmul_op = define_op(
    "SparseTensorDenseMatMul", "a_indices: Tindices, a_values: T, a_shape: int64, b: T",
    attrs={"adjoint_a": False, "adjoint_b": False}, types={"Tindices": INDEX, "T": NUMERIC}, static=(2,),
    infer=_matmul_infer, lower=_matmul_lower)
sparsetensordensematmul_op.declare(refusal=Bounds(
    0, lambda indices, values, dims, b, **_: tuple(int(d) for d in dims.value()),
    lambda indices, dims: _check_inside(indices, dims, False)))


def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """Returns the product of a sparse matrix and a dense one: [n, k] times [k, m] gives [n, m].

    Args:
      sp_a: SparseTensor of rank 2.
      b: dense matrix of the same dtype.
      adjoint_a, adjoint_b: use the conjugate transpose of that operand.

    Gradient: to the values of `sp_a` and to `b`.
    """
    return sparsetensordensematmul_op(*parts(sp_a), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b, name=name)


def positions_in(b, indices, dense_dims):
    """Returns the coordinates in a dense operand that broadcasts of the elements of a sparse one."""
    own = indices[:, indices.shape[1] - len(dense_dims):]
    return own * np.array([d != 1 for d in dense_dims], indices.dtype)


def _cwise(op_type, function):
    def infer(indices, values, dims, dense):
        _check_parts(indices, values, dims)
        sparse_dims = dims.partial()
        if sparse_dims is not None and dense.dims is not None and (
                len(dense.dims) > len(sparse_dims)
                or None not in sparse_dims and broadcast(sparse_dims, dense.dims) != tuple(sparse_dims)):
            raise ShapeError("an operation of a sparse tensor and a dense one broadcasts dense to sparse only; got "
                             f"incompatible shapes {list(sparse_dims)} and {spec_text(dense)}")
        return Spec(values.dims, values.dtype)

    def lower(b, indices, values, dims, dense):
        return function(b, values, gather_nd_lower(b, dense, positions_in(b, indices, dense.shape)))

    def outside(b, result, indices, values, dims, dense):
        at = positions_in(b, indices, dense.shape)
        return (at < 0) | (at >= np.array(dense.shape, at.dtype))

    op = define_op(op_type, "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T", types={"T": NUMERIC},
                   infer=infer, lower=lower)
    op.declare(refusal=Refusal("an index is out of range", outside, by_itself=True))
    return op


sparsedensecwisemul_op = _cwise("SparseDenseCwiseMul", mul_op.lower)
sparsedensecwisediv_op = _cwise("SparseDenseCwiseDiv", div_op.lower)


def _dense_add_infer(indices, values, dims, dense):
    _check_parts(indices, values, dims)
    if not compatible(dims.partial(), dense.dims):
        raise ShapeError(f"Dimensions of the sparse tensor, {list(dims.partial())}, and of the dense one, {spec_text(dense)}, "
                         "do not match")
    return Spec(dense.dims if dense.dims is not None else dims.partial(), values.dtype)


def _dense_add_lower(b, indices, values, dims, dense):
    if b.is_host:
        check_index(dense.shape, tuple(indices.T), "shape")
        out = np.array(dense)
        np.add.at(out, tuple(indices.T), values)
        return out
    return b.np.asarray(dense).at[tuple(indices.T)].add(values, mode="drop", wrap_negative_indices=False)


sparsetensordenseadd_op = define_op(
    "SparseTensorDenseAdd", "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T",
    types={"Tindices": INDEX, "T": NUMERIC}, infer=_dense_add_infer, lower=_dense_add_lower)
sparsetensordenseadd_op.declare(refusal=Bounds(0, lambda indices, values, dims, dense: dense.dims,
                                               lambda indices, dims: check_index(dims, tuple(indices.T), "shape")))


# -- sums -------------------------------------------------------------------------------------------
def _add_lower(b, a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    if a_shape.tolist() != b_shape.tolist():
        raise BadValue(f"SparseAdd: operands' shapes do not match: got {a_shape.tolist()} and {b_shape.tolist()}")
    sums = dict(zip(map(tuple, a_indices.tolist()), a_values))
    for at, v in zip(map(tuple, b_indices.tolist()), b_values):
        if at not in sums:
            sums[at] = v
        elif abs(sums[at] + v) < thresh:  # as in TF, only what is really a sum may be left out
            del sums[at]
        else:
            sums[at] = sums[at] + v
    kept = sorted(sums)
    return (np.array(kept, a_indices.dtype).reshape(-1, a_indices.shape[1]),
            np.array([sums[at] for at in kept], a_values.dtype), a_shape)


def _add_infer(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    _check_parts(a_indices, a_values, a_shape)
    _check_parts(b_indices, b_values, b_shape)
    if not compatible(a_shape.partial(), b_shape.partial()):
        raise ShapeError(f"Shapes {TensorShape(a_shape.partial())} and {TensorShape(b_shape.partial())} of the two sparse "
                         "tensors are incompatible")
    rank = a_indices.dims[1] if a_indices.dims is not None else None
    return [Spec((None, rank), a_indices.dtype), Spec((None,), a_values.dtype), Spec(a_shape.dims or (rank,), a_shape.dtype)]


sparseadd_op = define_op(
    "SparseAdd", "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, "
    "thresh: Treal", types={"T": NUMERIC}, host=True, single=False, infer=_add_infer, lower=_add_lower)


def sparse_add(a, b, threshold=None, thresh=None, name=None):
    """Returns the sum of two tensors, of which one at least is sparse: sparse if both are, else dense.

    Args:
      a, b: SparseTensors of one shape, or one of them and a dense tensor.
      threshold, thresh: sums of two elements that are smaller in magnitude are left out; 0 keeps all.
    """
    threshold = one_of("threshold", threshold, "thresh", thresh)
    sparse = [isinstance(x, (SparseTensor, SparseTensorValue)) for x in (a, b)]
    if not any(sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not all(sparse):
        a, b = (a, b) if sparse[0] else (b, a)
        return sparsetensordenseadd_op(*parts(a), convert_to_tensor(b), name=name)
    a = SparseTensor.from_value(a)
    b = SparseTensor.from_value(b)
    thresh = convert_to_tensor(0 if threshold is None else threshold, dtype=a.dtype.real_dtype)
    return SparseTensor._of_shape(sparseadd_op(*parts(a), *parts(b), thresh, name=name), merge(
        a.shape.dims_, b.shape.dims_, "the shapes of the two sparse tensors"))


def reduced(axes, rank):
    """Returns for each axis of a sparse tensor whether a reduction over `axes` removes it."""
    given = np.atleast_1d(axes).tolist()
    if any(not -rank <= a < rank for a in given):
        wrong = next(a for a in given if not -rank <= a < rank)
        raise BadValue(f"Invalid reduction dimension {wrong}, for input with {rank} dimensions")
    chosen = {a % rank for a in given}
    return [i in chosen for i in range(rank)]


def _reduced_dims(dims, axes, keep_dims):
    gone = reduced(axes, len(dims))
    return tuple(1 if g else d for g, d in zip(gone, dims) if keep_dims or not g)


def _reduce_sum_infer(indices, values, dims, axes, *, keep_dims):
    _check_parts(indices, values, dims)
    sizes, known = dims.partial(), axes.value()
    return Spec(None if sizes is None or known is None else _reduced_dims(sizes, known, keep_dims), values.dtype)


def _reduce_sum_lower(b, indices, values, dims, axes, *, keep_dims):
    sizes = tuple(int(d) for d in dims)
    gone = reduced(axes, len(sizes))
    left = [i for i, g in enumerate(gone) if not g]
    out_dims = tuple(sizes[i] for i in left)
    where = tuple(indices[:, i] for i in left)
    if not left:
        out = b.np.sum(values, dtype=values.dtype)
    elif b.is_host:
        check_index(sizes, tuple(indices.T), "shape")
        out = np.zeros(out_dims, values.dtype)
        np.add.at(out, where, values)
    else:
        out = b.np.zeros(out_dims, values.dtype).at[where].add(values)
    return b.np.reshape(out, _reduced_dims(sizes, axes, keep_dims))


sparsereducesum_op = define_op(
    "SparseReduceSum", "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32",
    attrs={"keep_dims": False}, types={"T": NUMERIC}, static=(2, 3), infer=_reduce_sum_infer, lower=_reduce_sum_lower)
sparsereducesum_op.declare(refusal=Bounds(0, lambda indices, values, dims, *_, **attrs: tuple(map(int, dims.value())),
                                          lambda indices, dims: check_index(dims, tuple(indices.T), "shape")))


def sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    """Returns the sum of a sparse tensor's elements over `axis` (an axis, a list of them, None for all), a dense tensor."""
    axis = one_of("axis", axis, "reduction_axes", reduction_axes)
    keep = keepdims if keepdims is not None else keep_dims
    indices, values, dims = parts(sp_input)
    axes = range_(size(dims)) if axis is None else axis
    return sparsereducesum_op(indices, values, dims, convert_to_tensor(axes, dtype=dtypes.int32), keep_dims=bool(keep))


# -- other elements, other places ---------------------------------------------------------------------
def _reorder_lower(b, indices, values, dims):
    order = b.np.lexsort(tuple(indices[:, i] for i in reversed(range(indices.shape[1]))))
    return indices[order], values[order]


def _like_parts(indices, values, dims):
    _check_parts(indices, values, dims)
    return [Spec(indices.dims, indices.dtype), Spec(values.dims, values.dtype)]


sparsereorder_op = define_op("SparseReorder", "input_indices: int64, input_values: T, input_shape: int64", single=False,
                             infer=_like_parts, lower=_reorder_lower)


def sparse_reorder(sp_input, name=None):
    """Returns the SparseTensor with its elements in row-major order."""
    indices, values, dims = parts(sp_input)
    return SparseTensor(*sparsereorder_op(indices, values, dims, name=name), dims)


def _slice_infer(indices, values, dims, start, size):
    _check_parts(indices, values, dims)
    rank = indices.dims[1] if indices.dims is not None else None
    return [Spec((None, rank), indices.dtype), Spec((None,), values.dtype), Spec(dims.dims or (rank,), dims.dtype)]


def _slice_lower(b, indices, values, dims, start, size):
    end = np.minimum(start + size, dims)
    inside = np.all((indices >= start) & (indices < end), axis=1)
    return indices[inside] - start, values[inside], np.maximum(end - start, 0)


sparseslice_op = define_op("SparseSlice", "indices: int64, values: T, shape: int64, start: int64, size: int64", host=True,
                           single=False, infer=_slice_infer, lower=_slice_lower)


def sparse_slice(sp_input, start, size, name=None):
    """Returns the part of a SparseTensor that begins at `start` and is of `size`, as far as there is so much."""
    return SparseTensor(*sparseslice_op(*parts(sp_input), convert_to_tensor(start, dtype=dtypes.int64),
                                        convert_to_tensor(size, dtype=dtypes.int64), name=name))


def _positions_lower(b, indices, wanted):
    place = {tuple(at): i for i, at in enumerate(indices.tolist())}
    return np.array([place.get(tuple(at), len(indices)) for at in wanted.tolist()], np.int64)


# Where elements of one sparse tensor are in another; the number of its elements for those that are not.
sparsepositions_op = define_op("SparsePositions", "indices: int64, wanted: int64", host=True, lower=_positions_lower,
                               infer=lambda indices, wanted: Spec(None if wanted.dims is None else wanted.dims[:1],
                                                                  dtypes.int64))


def _fill_rows_infer(indices, values, dims, default_value):
    _check_parts(indices, values, dims)
    sizes = dims.partial()
    return [Spec((None, indices.dims[1] if indices.dims is not None else None), indices.dtype), Spec((None,), values.dtype),
            Spec((None if not sizes else sizes[0],), dtypes.bool_), Spec(values.dims, dtypes.int64)]


def _fill_rows_lower(b, indices, values, dims, default_value):
    rows = int(dims[0])
    if len(indices) and not (0 <= indices[:, 0].min() and indices[:, 0].max() < rows):
        wrong = int(np.flatnonzero((indices[:, 0] < 0) | (indices[:, 0] >= rows))[0])
        raise InvalidArgumentError(f"indices({wrong}, 0) is invalid: {indices[wrong, 0]}, of {rows} rows")
    memory.room_for((rows,), bool)
    empty = np.ones(rows, bool)
    empty[indices[:, 0]] = False
    added = np.zeros((int(empty.sum()), indices.shape[1]), indices.dtype)
    added[:, 0] = np.flatnonzero(empty)
    all_indices = np.concatenate([indices, added])
    all_values = np.concatenate([values, np.full(len(added), default_value, values.dtype)])
    order = np.argsort(all_indices[:, 0], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return all_indices[order], all_values[order], empty, place[:len(indices)]


sparsefillemptyrows_op = define_op(
    "SparseFillEmptyRows", "indices: int64, values: T, dense_shape: int64, default_value: T", host=True, single=False,
    infer=_fill_rows_infer, lower=_fill_rows_lower)


def sparse_fill_empty_rows(sp_input, default_value, name=None):
    """Returns (SparseTensor with `default_value` in the first column of each row that was empty, bool vector: which)."""
    indices, values, dims = parts(sp_input)
    out = sparsefillemptyrows_op(indices, values, dims, convert_to_tensor(default_value, dtype=values.dtype), name=name)
    return SparseTensor(out[0], out[1], dims), out[2]


# -- softmax ----------------------------------------------------------------------------------------------
def _row_numbers(b, indices):
    """Returns the number of the row (all axes but the last) of each element, counted in the order they come."""
    new = b.np.any(indices[1:, :-1] != indices[:-1, :-1], axis=1)
    return b.np.concatenate([b.np.zeros((min(1, indices.shape[0]),), np.int64), b.np.cumsum(new.astype(np.int64))])


sparserownumbers_op = define_op("SparseRowNumbers", "sp_indices: int64", lower=_row_numbers,
                                infer=lambda indices: Spec(None if indices.dims is None else indices.dims[:1], dtypes.int64))


def _softmax_infer(indices, values, dims):
    spec = _like_parts(indices, values, dims)[1]
    if dims.dims is not None and dims.dims[0] is not None and dims.dims[0] < 2:
        raise BadValue("Input should have rank >= 2")
    return spec


def _softmax_lower(b, indices, values, dims):
    rows, n = _row_numbers(b, indices), values.shape[0]
    low = b.np.full((n,), -np.inf, values.dtype)
    if b.is_host:
        np.maximum.at(low, rows, values)
        e = np.exp(values - low[rows])
        total = np.zeros(n, values.dtype)
        np.add.at(total, rows, e)
        return (e / total[rows]).astype(values.dtype)
    e = b.np.exp(values - low.at[rows].max(values)[rows])
    return e / b.np.zeros((n,), values.dtype).at[rows].add(e)[rows]


sparsesoftmax_op = define_op("SparseSoftmax", "sp_indices: int64, sp_values: T, sp_shape: int64",
                             types={"T": dtypes.FLOATING}, lower=_softmax_lower,
                             infer=_softmax_infer)


def sparse_softmax(sp_input, name=None):
    """Returns the SparseTensor of softmax over the last axis, of the elements that are given (in row-major order)."""
    indices, values, dims = parts(sp_input)
    return SparseTensor(indices, sparsesoftmax_op(indices, values, dims, name=name), dims)
