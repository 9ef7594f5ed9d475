"""Shapes and contents of tensors: identity, shape, filling, reshaping, joining, splitting.

Slicing, gathering and scattering are in `indexing.py`; gradients in `array_grad.py`.
"""

import copy

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant, convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, NUMERIC, QUANTIZED_DTYPES, as_dtype
from regrad.core.errors import BadValue, InvalidArgumentError, ShapeError
from regrad.core.frames import framed
from regrad.core.graph import get_default_graph, is_tensor
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Known, Refusal, Spec, define_op, rank_is, same, spec_text
from regrad.core.operation import UNASKED, Tensor
from regrad.core.shapes import TensorShape, as_dims, broadcast, compatible, fully_known, merge, size_of, text
from regrad.ops import reducing


def variant(opdef, **changes):
    """Returns the same op type with some fields of its definition changed.

    For ops built where a run decides what is known elsewhere: with other `static` operands, one program
    serves all the values these take; with `host`, an op whose output shape depends on data runs between the
    compiled segments.
    """
    other = copy.copy(opdef)
    for field, value in changes.items():
        setattr(other, field, value)
    return other


# -- passing on --------------------------------------------------------------------------
identity_op = define_op("Identity", "input", infer=same, lower=lambda b, x: x, partial=True)
identityn_op = define_op("IdentityN", "input: [T]", single=False, lower=lambda b, xs: tuple(xs),
                         infer=lambda xs: [Spec(x.dims, x.dtype) for x in xs])
stopgradient_op = define_op("StopGradient", "input", infer=same, lower=lambda b, x: x, partial=True)
preventgradient_op = define_op("PreventGradient", "input", infer=same, attrs={"message": ""},
                               lower=lambda b, x, *, message: x)
guaranteeconst_op = define_op("GuaranteeConst", "input", infer=same, lower=lambda b, x: x, partial=True)
snapshot_op = define_op("Snapshot", "input", infer=same, lower=lambda b, x: x)
debuggradientidentity_op = define_op("DebugGradientIdentity", "input", infer=same, lower=lambda b, x: x)
for _op in (identity_op, identityn_op, stopgradient_op, preventgradient_op, guaranteeconst_op, snapshot_op):
    _op.declare(cost="free")
for _op in (identity_op, stopgradient_op):
    _op.declare(passes_value="unchanged")


def identity(input, name=None):
    """Returns a tensor that equals `input`: a node of its own, to be named or overridden. What is sparse stays so.

    Example:
      print(tf.Session().run(tf.identity([1, 2], name="the_answer")))
      #> [1 2]
    """
    if type(input) is not Tensor and hasattr(input, "dense_shape") and hasattr(input, "indices"):
        return _identity_of_parts(input, name)
    return identity_op(input, name=name)


def unasked_identity(input, name=None):
    """Returns `identity(input)` that only an override which names it catches: loops, branches and functions with a gradient
    of their own consist of such, no user's line asked for them."""
    with framed(get_default_graph(), override_scope=None):
        out = identity_op(input, name=name)
    out.op.attrs = UNASKED
    return out


def _identity_of_parts(x, name):
    with get_default_graph().name_scope(name or "Identity"):
        parts = [None if p is None else identity_op(p) for p in (x.values, x.indices, x.dense_shape)]
    if isinstance(x, IndexedSlices):
        return IndexedSlices(*parts)
    return type(x)(parts[1], parts[0], parts[2])


def identity_n(input, name=None):
    """Returns a list of tensors like the list `input`, as one operation."""
    if isinstance(input, (list, tuple)) and not input:
        raise ValueError("identity_n: input is empty; the list must have at least one tensor.")
    return identityn_op(input, name=name)


def guarantee_const(input, name=None):
    """Returns `input`; that it never changes is noted, and changes nothing."""
    return guaranteeconst_op(input, name=name)


def stop_gradient(input, name=None):
    """Returns `input`; gradients do not flow through this tensor.

    Example:
      x = tf.constant([1.0, 2.0])
      print(tf.Session().run(tf.gradients(x * tf.stop_gradient(x), x)[0]))
      #> [1. 2.]
    """
    return stopgradient_op(input, name=name)


def prevent_gradient(input, message="", name=None):
    """Returns `input`; asking for a gradient through it is a LookupError that says `message`."""
    return preventgradient_op(input, message=message, name=name)


def _check_numerics_lower(b, x, *, message):
    for found, what in ((np.isnan, "NaN"), (np.isinf, "Inf")):
        if found(x).any():
            raise InvalidArgumentError(f"{message} : Tensor had {what} values")
    return x


checknumerics_op = define_op("CheckNumerics", "tensor", attrs={"message": ""}, types={"T": FLOATING},
                             host=True, infer=same, lower=_check_numerics_lower)


def check_numerics(tensor, message, name=None):
    """Returns `tensor`; InvalidArgumentError with `message` when it holds NaN or infinity."""
    return checknumerics_op(tensor, message=message, name=name)


def _ensure_shape_infer(x, *, shape, of):
    if not compatible(x.dims, shape):
        raise ShapeError(f"Shape of tensor {of} {text(x.dims)} is not compatible with expected shape {text(shape)}")
    return Spec(merge(x.dims, shape, "ensure_shape: the tensor's shape and the one it should have,"), x.dtype)


def _ensure_shape_lower(b, x, *, shape, of):
    if not compatible(x.shape, shape):
        raise BadValue(f"Shape of tensor {of} {text(x.shape)} is not compatible with expected shape {text(shape)}")
    return x


ensureshape_op = define_op("EnsureShape", "input", attrs={"shape": None, "of": ""}, infer=_ensure_shape_infer,
                           partial=True, lower=_ensure_shape_lower)


def ensure_shape(x, shape, name=None):
    """Returns `x`; an error, now or when run, if its shape does not fit `shape` (None inside: any size)."""
    x = convert_to_tensor(x, name="input")
    return ensureshape_op(x, shape=as_dims(shape), of=x.op.name, name=name)


def _bitcast_infer(x, *, type):
    old, new = np.dtype(x.dtype.as_numpy_dtype).itemsize, np.dtype(type.as_numpy_dtype).itemsize
    if x.dims is None or old == new:
        return Spec(x.dims, type)
    if old > new:
        return Spec((*x.dims, old // new), type)
    if not x.dims or x.dims[-1] not in (None, new // old):
        raise ShapeError(f"Cannot bitcast from {x.dtype.name} to {type.name}: the last size of "
                         f"{spec_text(x)} must be {new // old}")
    return Spec(x.dims[:-1], type)


def _bitcast_lower(b, x, *, type):
    if not b.is_host:
        return b.lax.bitcast_convert_type(x, type.as_numpy_dtype)
    old, new = x.dtype.itemsize, np.dtype(type.as_numpy_dtype).itemsize
    shape = x.shape if old == new else (*x.shape, old // new) if old > new else x.shape[:-1]
    return np.ascontiguousarray(x).reshape(-1).view(type.as_numpy_dtype).reshape(shape)


bitcast_op = define_op("Bitcast", "input", attrs={"type": None}, types={"T": NUMERIC | QUANTIZED_DTYPES}, infer=_bitcast_infer,
                       lower=_bitcast_lower)


def bitcast(input, type, name=None):
    """Returns the bits of `input` taken as elements of another numeric type.

    To a smaller type an axis is added at the end, to a larger one the last axis, of just that size, is used
    up.
    """
    type = as_dtype(type)
    if type not in NUMERIC | QUANTIZED_DTYPES:
        raise TypeError(f"bitcast: Value passed to parameter 'type' has DataType {type.name} not in list of allowed values: "
                        "the numeric types")
    return bitcast_op(input, type=type, name=name)


# -- asking about shape ------------------------------------------------------------------
def _shape_infer(x, *, out_type):
    return Spec((x.rank,), out_type)


def _counted(sizes, out_type):
    """Returns sizes as an array of `out_type`, which has to hold them."""
    if np.max(sizes, initial=0) > out_type.max:
        raise BadValue(f"{np.max(sizes)} elements are more than {out_type.name} can count; out_type=tf.int64 does, where there "
                       "is such an argument.")
    return np.array(sizes, out_type.as_numpy_dtype)


shape_op = define_op("Shape", "input", attrs={"out_type": dtypes.int32}, infer=_shape_infer, shape_only=(0,),
                     partial=True, lower=lambda b, x, *, out_type: _counted(x.shape, out_type))
shapen_op = define_op("ShapeN", "input: N*T", attrs={"out_type": dtypes.int32}, single=False, shape_only=(0,),
                      partial=True, infer=lambda xs, *, out_type: [Spec((x.rank,), out_type) for x in xs],
                      lower=lambda b, xs, *, out_type:
                      tuple(_counted(x.shape, out_type) for x in xs))
size_op = define_op("Size", "input", attrs={"out_type": dtypes.int32}, shape_only=(0,), partial=True,
                    infer=lambda x, *, out_type: Spec((), out_type),
                    lower=lambda b, x, *, out_type: _counted(size_of(x.shape), out_type))
rank_op = define_op("Rank", "input", infer=lambda x: Spec((), dtypes.int32), shape_only=(0,), partial=True,
                    lower=lambda b, x: np.asarray(len(x.shape), np.int32))


def _sparse_dims(input, dtype):
    """Returns the dense_shape of a SparseTensor or SparseTensorValue as a tensor, None for anything else."""
    if not (hasattr(input, "dense_shape") and hasattr(input, "indices")) or isinstance(input, IndexedSlices):
        return None
    from regrad.ops.math import cast

    return cast(input.dense_shape, dtype)


def shape(input, name=None, out_type=dtypes.int32):
    """Returns the shape at run time, an int32 (or int64) vector; a constant where it is known statically.

    Example:
      x = tf.placeholder(tf.float32, [None, 3])
      print(x.shape, tf.Session().run(tf.shape(x), {x: [[1.0, 2.0, 3.0]]}))
      #> (?, 3) [1 3]
    """
    sparse = _sparse_dims(input, out_type)
    if sparse is not None:
        return sparse
    x = convert_to_tensor(input)
    if fully_known(x.dims):
        return constant(_counted(x.dims, as_dtype(out_type)), name=name or "Shape")
    return shape_op(x, out_type=as_dtype(out_type), name=name)


def shape_n(input, out_type=dtypes.int32, name=None):
    """Returns the run-time shapes of a list of tensors, a list of vectors."""
    return shapen_op(input, out_type=as_dtype(out_type), name=name)


def size(input, name=None, out_type=dtypes.int32):
    """Returns the number of elements at run time, a scalar; of a SparseTensor, those it leaves out included."""
    sparse = _sparse_dims(input, out_type)
    if sparse is not None:
        from regrad.ops.reduce import reduce_prod

        return reduce_prod(sparse, 0, name=name)
    x = convert_to_tensor(input)
    if fully_known(x.dims):
        return constant(_counted(size_of(x.dims), as_dtype(out_type)), name=name or "Size")
    return size_op(x, out_type=as_dtype(out_type), name=name)


def rank(input, name=None):
    """Returns the number of axes, an int32 scalar."""
    sparse = _sparse_dims(input, dtypes.int32)
    if sparse is not None:
        return size(sparse, name=name)
    x = convert_to_tensor(input)
    if x.dims is None:
        return rank_op(x, name=name)
    return constant(len(x.dims), dtypes.int32, name=name or "Rank")


# -- filling -----------------------------------------------------------------------------
def _dims_from(spec, what):
    """Returns dims from a shape tensor, as far as its value is known; refuses what is no vector of sizes."""
    rank_is(spec, 1, f"{what}, a vector of sizes")
    dims = spec.partial()
    if dims is not None and any(d is not None and d < 0 for d in dims):
        raise ShapeError(f"{what} must hold sizes, each of which must be >= 0, got {list(dims)}")
    return dims


def _fill_infer(dims, value):
    if value.dims:
        raise ShapeError(f"value: Shape must be rank 0 but is rank {len(value.dims)}, {spec_text(value)}")
    return Spec(_dims_from(dims, "dims"), value.dtype)


fill_op = define_op("Fill", "dims: index_type, value: T", types={"index_type": INDEX}, static=(0,),
                    partial=True, infer=_fill_infer,
                    lower=lambda b, dims, value: b.np.broadcast_to(value, tuple(int(d) for d in dims)))
fill_op.declare(cost="free")
zeroslike_op = define_op("ZerosLike", "x", infer=same, shape_only=(0,), lower=lambda b, x:
                         np.full(x.shape, b"", object)
                         if x.dtype == object else b.np.zeros(x.shape, x.dtype))
oneslike_op = define_op("OnesLike", "x", infer=same, shape_only=(0,), types={"T": NUMERIC | {dtypes.bool_}},
                        lower=lambda b, x: b.np.ones(x.shape, x.dtype))


def fill(dims, value, name=None):
    """Returns a tensor of shape `dims` (a vector of sizes) whose elements are all the scalar `value`.

    Example:
      print(tf.Session().run(tf.fill([2, 2], 7)))
      #> [[7 7]
      #>  [7 7]]
    """
    return fill_op(dims, value, name=name)


def _filled(shape, value, dtype, name):
    dtype = as_dtype(dtype)
    if dtype is dtypes.string and value == 1:
        raise TypeError("ones: Expected string, got 1 of type 'int' instead.")
    value = b"" if dtype is dtypes.string and value == 0 else np.asarray(value).astype(dtype.as_numpy_dtype)
    with get_default_graph().name_scope(name) as scope:
        if not hasattr(shape, "_as_graph_element"):
            try:
                dims = as_dims(shape)
            except TypeError:
                dims = None  # a list that holds tensors
            if dims is not None and None not in dims:
                if size_of(dims) < 1000:
                    array = np.full(dims, value, dtype.as_numpy_dtype)
                    return constant(array, dtype, name=scope)
                shape = constant(np.array(dims, np.int32 if max(dims) < 2**31 else np.int64), name="shape_as_tensor")
        shape = convert_to_tensor(shape, dtype=None if hasattr(shape, "dtype") else dtypes.int32)
        if not shape.rank:
            shape = reshape(shape, [-1])  # one size stands for a vector of it
        return fill_op(shape, constant(value, dtype), name=scope)


def zeros(shape, dtype=dtypes.float32, name=None):
    """Returns zeros (empty strings, False) of `shape`: sizes, or one size.

    Example:
      print(tf.Session().run(tf.zeros([2], tf.int32)))
      #> [0 0]
    """
    return _filled(shape, 0, dtype, name or "zeros")


def ones(shape, dtype=dtypes.float32, name=None):
    """Returns ones (True) of `shape`: sizes, or one size.

    Example:
      print(tf.Session().run(tf.ones([2])))
      #> [1. 1.]
    """
    return _filled(shape, 1, dtype, name or "ones")


def zeros_like(tensor, dtype=None, name=None, optimize=True):
    """Returns zeros of the shape of `tensor`, in its dtype or in `dtype`.

    Example:
      print(tf.Session().run(tf.zeros_like([[1, 2]])))
      #> [[0 0]]
    """
    x = convert_to_tensor(tensor, name="tensor")
    if dtype is not None and as_dtype(dtype) is not x.dtype:
        return zeros(shape(x), dtype, name=name or "zeros_like")
    return zeroslike_op(x, name=name or "zeros_like")


def ones_like(tensor, dtype=None, name=None, optimize=True):
    """Returns ones of the shape of `tensor`, in its dtype or in `dtype`.

    Example:
      print(tf.Session().run(tf.ones_like([[1, 2]], dtype=tf.float32)))
      #> [[1. 1.]]
    """
    x = convert_to_tensor(tensor, name="tensor")
    if dtype is not None and as_dtype(dtype) is not x.dtype:
        return ones(shape(x), dtype, name=name or "ones_like")
    return oneslike_op(x, name=name or "ones_like")


# -- broadcasting and its transpose --------------------------------------------------------
def _sum_to_lower(b, x, like):
    if x.shape == like.shape:
        return x
    extra = len(x.shape) - len(like.shape)
    axes = (*range(extra), *(i for i, d in enumerate(like.shape, extra) if d == 1 != x.shape[i]))
    return b.np.reshape(reducing.total(b, x, axes), like.shape)


sumtolike_op = define_op("SumToLike", "x: T, like: L", infer=lambda x, like: Spec(like.dims, x.dtype),
                         shape_only=(1,), lower=_sum_to_lower)
broadcastlike_op = define_op("BroadcastLike", "x: T, like: L", infer=lambda x, like: Spec(like.dims, x.dtype),
                             shape_only=(1,), lower=lambda b, x, like: b.np.broadcast_to(x, like.shape))


def _weight_dims(w, v, last_axis):
    """Returns the sizes `w` of weights as they stand to values of sizes `v`; ShapeError where TensorFlow refuses them."""
    fits = w
    if w and last_axis and len(w) == len(v) + 1 and w[-1] in (1, None):
        fits = w[:-1]
    elif w and last_axis and len(w) == len(v) - 1:
        fits = (*w, 1)
    if fits and (len(fits) != len(v) or any(a not in (None, 1) and b is not None and a != b for a, b in zip(fits, v))):
        raise ShapeError(f"weights can not be broadcast to values. values.rank={len(v)}. weights.rank={len(w)}. "
                         f"values.shape={TensorShape(v)}. weights.shape={TensorShape(w)}. A weight is a scalar, or has the "
                         "rank of the values and their sizes or 1.")
    return fits


def _fit_infer(weights, values, *, last_axis):
    known = weights.dims is not None and values.dims is not None
    return Spec(_weight_dims(weights.dims, values.dims, last_axis) if known else None, weights.dtype)


fitweights_op = define_op("FitWeights", "weights: T, values: L", attrs={"last_axis": False}, shape_only=(1,), infer=_fit_infer,
                          lower=lambda b, weights, values, *, last_axis: b.np.reshape(
                              weights, _weight_dims(weights.shape, values.shape, last_axis)))


def fit_weights(weights, values, last_axis=False):
    """Returns `weights`, which must be a scalar or have the rank of `values` and their sizes or 1.

    Args:
      last_axis: also take away, or add, an axis of size 1 at the end.

    Raises:
      ValueError: they are no such weights. What is not known while the graph is built is found by the run, which raises
        InvalidArgumentError.
    """
    w, v = weights.dims, values.dims
    if w == () or w is not None and v is not None and None not in (*w, *v) and _weight_dims(w, v, last_axis) == w:
        return weights
    return fitweights_op(weights, values, last_axis=last_axis)


def sum_to_like(x, like):
    """Returns `x` summed over the axes along which `like` was broadcast to the shape of `x`; the transpose of
    that.

    Every gradient of a broadcasting op passes through here. Works on shapes known only at run time.
    """
    x = convert_to_tensor(x)  # IndexedSlices become dense
    if x.dims is not None and x.dims == like.dims and None not in x.dims:
        return x
    return sumtolike_op(x, like)


def broadcast_like(x, like):
    """Returns `x` broadcast to the shape of `like`."""
    x = convert_to_tensor(x)
    if x.dims is not None and x.dims == like.dims and None not in x.dims:
        return x
    return broadcastlike_op(x, like)


def _broadcast_to_infer(x, shape):
    dims = _dims_from(shape, "shape")
    if dims is not None and x.dims is not None:
        if len(x.dims) > len(dims):
            raise ShapeError(f"the input {spec_text(x)} has more axes than the shape {list(dims)}")
        if not compatible(broadcast(x.dims, dims), dims):
            raise ShapeError(f"the input {spec_text(x)} does not broadcast to the shape {list(dims)}")
    return Spec(dims, x.dtype)


broadcastto_op = define_op("BroadcastTo", "input: T, shape: Tidx", types={"Tidx": INDEX}, static=(1,),
                           infer=_broadcast_to_infer,
                           lower=lambda b, x, shape: b.np.broadcast_to(x, tuple(int(d) for d in shape)))


def broadcast_to(input, shape, name=None):
    """Returns `input` broadcast to `shape`."""
    return broadcastto_op(input, shape, name=name)


broadcastargs_op = define_op("BroadcastArgs", "s0, s1", types={"T": INDEX}, partial=True, static=(0, 1),
                             infer=lambda s0, s1: Spec((_longer(s0, s1),), s0.dtype), lower=lambda b, s0, s1:
                             np.array(broadcast(tuple(s0.tolist()), tuple(s1.tolist())), s0.dtype))


def _longer(*vectors):
    for v in vectors:
        rank_is(v, 1, "a shape, a vector")
    lengths = [None if v.dims is None else v.dims[0] for v in vectors]
    return None if None in lengths else max(lengths)


def _reduced_axes(s0, s1):
    """Returns the axes of the broadcast shape along which each of two shapes has size 1, or None while that is unknown."""
    a, c = s0.value(), s1.value()
    if a is None or c is None:
        return None, None
    a, c = tuple(map(int, a)), tuple(map(int, c))
    try:
        rank = len(np.broadcast_shapes(a, c))
    except ValueError:
        raise ShapeError(f"the shapes {list(a)} and {list(c)} do not broadcast") from None
    if a == c:
        return (), ()
    padded = ((1,) * (rank - len(s)) + s for s in (a, c))
    return tuple(tuple(i for i, d in enumerate(s) if d == 1) for s in padded)


broadcastgradientargs_op = define_op(
    "BroadcastGradientArgs", "s0: T, s1: T", types={"T": INDEX}, static=(0, 1), single=False,
    infer=lambda s0, s1: [Spec((None if axes is None else len(axes),), s0.dtype) for axes in _reduced_axes(s0, s1)],
    lower=lambda b, s0, s1: tuple(np.array(axes, s0.dtype) for axes in _reduced_axes(Known(s0), Known(s1))))


def broadcast_gradient_args(s0, s1, name=None):
    """Returns two vectors: the axes over which to sum a gradient of the broadcast shape for each of two operands.

    An operand is then given its own shape by a reshape. `sum_to_like` does both.
    """
    return broadcastgradientargs_op(s0, s1, name=name)


def broadcast_dynamic_shape(shape_x, shape_y):
    """Returns the shape, an int32 or int64 vector, of the broadcast of tensors of two shapes."""
    return broadcastargs_op(shape_x, shape_y)


def broadcast_static_shape(shape_x, shape_y):
    """Returns the TensorShape of the broadcast of two TensorShapes; ValueError when they do not fit."""
    try:
        return TensorShape(broadcast(as_dims(shape_x), as_dims(shape_y)))
    except ShapeError as error:
        raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y} ({error})") from None


# -- Reshape -------------------------------------------------------------------------------
def _reshape_infer(x, shape):
    rank_is(shape, 1, "shape, a vector")
    target = shape.partial()
    if target is None:
        return Spec(None, x.dtype)
    n = size_of(x.dims)
    if target.count(-1) > 1:
        raise ShapeError(f"Only one input size may be -1, got {list(target)}")
    if any(d is not None and d < -1 for d in target):
        raise ShapeError(f"sizes must be >= 0 (or one -1), got {list(target)}")
    dims = tuple(None if d == -1 else d for d in target)
    if -1 in target and None not in target and n is not None:
        rest = size_of(tuple(d for d in target if d != -1))
        if rest == 0 and n == 0:
            dims = _without_zeros(x.dims, target)
        elif rest == 0 or n % rest:
            raise ShapeError(f"Cannot reshape a tensor with {n} elements to shape {list(target)}: Dimension size must be "
                             f"evenly divisible by {rest} but is {n}, but the requested shape requires a multiple of {rest}")
        else:
            dims = tuple(n // rest if d == -1 else d for d in target)
    elif n is not None and None not in target and size_of(target) != n:
        raise ShapeError(f"Input to reshape is a tensor with {n} values, but the requested shape has {size_of(target)}. "
                         f"Cannot reshape a tensor with {n} elements to shape {list(target)} "
                         f"({size_of(target)} elements)")
    return Spec(_worked_out(dims, n), x.dtype)


def _worked_out(dims, n):
    """Returns `dims` with the one size that is unknown, if n elements tell it."""
    if dims is None or n is None or dims.count(None) != 1:
        return dims
    rest = size_of(tuple(d for d in dims if d is not None))
    return tuple(n // rest if d is None else d for d in dims) if rest and n % rest == 0 else dims


def _without_zeros(dims, target):
    """Returns `target` with its -1 worked out for an empty tensor: what the sizes other than 0 leave for it."""
    n, rest = (size_of(tuple(d for d in sizes if d > 0)) for sizes in (dims, target))
    if n % rest:
        raise ShapeError(f"Cannot reshape a tensor of shape {text(dims)} to shape {list(target)}: {n} is not divisible "
                         f"by {rest}")
    return tuple(n // rest if d == -1 else d for d in target)


def _reshape_lower(b, x, shape):
    sizes = tuple(int(d) for d in shape)
    if -1 in sizes and 0 in sizes and 0 in x.shape:
        sizes = _without_zeros(x.shape, sizes)
    if -1 not in sizes and size_of(sizes) != size_of(x.shape):
        raise BadValue(f"Input to reshape is a tensor with {size_of(x.shape)} values, but the requested "
                       f"shape {text(sizes)} has {size_of(sizes)}")
    return b.np.reshape(x, sizes)


reshape_op = define_op("Reshape", "tensor: T, shape: Tshape", types={"Tshape": INDEX}, static=(1,),
                       infer=_reshape_infer, partial=True, lower=_reshape_lower)
reshapelike_op = define_op("ReshapeLike", "x: T, like: L", shape_only=(1,),
                           infer=lambda x, like: Spec(_worked_out(like.dims, size_of(x.dims)), x.dtype),
                           lower=lambda b, x, like: b.np.reshape(x, like.shape))


def reshape(tensor, shape, name=None):
    """Returns the elements of `tensor`, in row-major order, in another shape.

    Args:
      tensor: any tensor.
      shape: vector of sizes (Python ints and scalar tensors may be mixed); one may be -1 and is worked out.

    Raises:
      ValueError: the numbers of elements differ.

    Example:
      print(tf.Session().run(tf.reshape([1, 2, 3, 4], [2, -1])))
      #> [[1 2]
      #>  [3 4]]
    """
    return reshape_op(tensor, shape, name=name)


def reshape_like(x, like):
    """Returns `x` in the shape of `like`, which has as many elements."""
    return reshapelike_op(x, like)


# -- one axis more or less --------------------------------------------------------------------
def axis_in(axis, rank, what="axis", outside=" is out of valid range"):
    """Returns `axis` counted from 0; ShapeError when a tensor of `rank` axes has no such axis."""
    if not -rank <= axis < rank:
        least = axis + 1 if axis >= 0 else -axis
        raise ShapeError(f"{what} {axis}{outside} [-{rank}, {rank}): Shape must be at least rank {least} but is "
                         f"rank {rank}")
    return axis % rank


def _expand_dims_infer(x, dim):
    axis = dim.partial()
    if isinstance(axis, tuple):
        if len(axis) != 1:
            raise ShapeError(f"axis must be a tensor with a single value, got {spec_text(dim)}")
        axis = axis[0]
    if x.dims is None or axis is None:
        return Spec(None if x.dims is None else (None,) * (len(x.dims) + 1), x.dtype)
    rank = len(x.dims)
    if not -rank - 1 <= axis <= rank:
        raise ShapeError(f"dim {axis} not in the interval [{-rank - 1}, {rank}], for input of rank {rank}")
    axis %= rank + 1
    return Spec(x.dims[:axis] + (1,) + x.dims[axis:], x.dtype)


expanddims_op = define_op("ExpandDims", "input: T, dim: Tdim", types={"Tdim": INDEX}, static=(1,),
                          partial=True, infer=_expand_dims_infer,
                          lower=lambda b, x, dim: b.np.expand_dims(x, int(np.ravel(dim)[0])))


def expand_dims(input, axis=None, name=None, dim=None):
    """Returns `input` with an axis of size 1 inserted at `axis` (negative counts from the end).

    Example:
      print(tf.expand_dims([1, 2, 3], 0).shape, tf.expand_dims([1, 2, 3], -1).shape)
      #> (1, 3) (3, 1)
    """
    axis = one_of("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return expanddims_op(input, axis, name=name)


def one_of(name, value, old_name, old):
    """Returns the argument given under its present or its older name; ValueError when under both."""
    if old is None:
        return value
    if value is not None:
        raise ValueError(f"Cannot specify both '{name}' and '{old_name}'.")
    return old


def _squeeze_infer(x, *, squeeze_dims):
    if x.dims is None:
        return Spec(None, x.dtype)
    if not squeeze_dims:
        return Spec(None if None in x.dims else tuple(d for d in x.dims if d != 1), x.dtype)
    axes = _squeezed(squeeze_dims, len(x.dims))
    for a in axes:
        if x.dims[a] not in (None, 1):
            raise ShapeError(f"Can not squeeze dim[{a}], expected a dimension of 1, got {x.dims[a]}")
    return Spec(tuple(d for i, d in enumerate(x.dims) if i not in axes), x.dtype)


def _squeezed(axes, rank):
    return {axis_in(a, rank) for a in axes}


squeeze_op = define_op("Squeeze", "input", attrs={"squeeze_dims": ()}, infer=_squeeze_infer, partial=True,
                       lower=lambda b, x, *, squeeze_dims: b.np.squeeze(x, tuple(_squeezed(squeeze_dims, x.ndim)) or None))
for _op in (reshape_op, expanddims_op, squeeze_op):
    _op.declare(passes_value="reshaped")


def squeeze(input, axis=None, name=None, squeeze_dims=None):
    """Returns `input` without its axes of size 1, or without those of them named in `axis`.

    Example:
      print(tf.squeeze(tf.ones([1, 3, 1])).shape, tf.squeeze(tf.ones([1, 3, 1]), axis=[0]).shape)
      #> (3,) (3, 1)
    """
    axis = one_of("axis", axis, "squeeze_dims", squeeze_dims)
    axis = () if axis is None else (axis,) if np.isscalar(axis) else tuple(axis)
    return squeeze_op(input, squeeze_dims=tuple(int(a) for a in axis), name=name)


# -- Transpose -------------------------------------------------------------------------------
def _transpose_infer(x, perm):
    rank_is(perm, 1, "perm")
    order = perm.partial()
    if order is None or None in order or x.dims is None:
        n = len(order) if order is not None else x.rank
        return Spec(None if n is None else (None,) * n, x.dtype)
    rank = len(x.dims)
    if len(order) != rank:
        raise ShapeError(f"transpose expects a perm of size {rank}: Dimension must be {rank} but is {len(order)}, of perm "
                         f"{list(order)}")
    wrong = [i for i in order if not -rank <= i < rank]
    if wrong:
        raise ShapeError(f"perm dim {wrong[0]} is out of range of input rank {rank}, in {list(order)}")
    order = [i % rank for i in order]
    missing = set(range(rank)).difference(order)
    if missing:
        raise ShapeError(f"perm {order} is not a permutation of the {rank} axes: {min(missing)} is missing from it")
    return Spec(tuple(x.dims[i] for i in order), x.dtype)


transpose_op = define_op("Transpose", "x: T, perm: Tperm", types={"Tperm": INDEX}, static=(1,),
                         infer=_transpose_infer,
                         lower=lambda b, x, perm: b.np.transpose(x, tuple(int(i) for i in perm)))
conjugatetranspose_op = define_op("ConjugateTranspose", "x: T, perm: Tperm", types={"Tperm": INDEX},
                                  static=(1,), infer=_transpose_infer, lower=lambda b, x, perm:
                                  b.np.conj(b.np.transpose(x, tuple(int(i) for i in perm))))


def transpose(a, perm=None, name="transpose", conjugate=False):
    """Returns `a` with its axes in the order `perm`; reversed by default. `conjugate` also conjugates.

    Example:
      print(tf.Session().run(tf.transpose([[1, 2], [3, 4]])))
      #> [[1 3]
      #>  [2 4]]
    """
    with get_default_graph().name_scope(name) as scope:
        a = convert_to_tensor(a, name="a")
        op = conjugatetranspose_op if conjugate and a.dtype.is_complex else transpose_op
        if perm is None:
            if a.dims is None:
                r = rank(a)
                from regrad.ops.generate import range as range_

                perm = (r - 1) - range_(0, r, 1)
            else:
                perm = np.arange(len(a.dims) - 1, -1, -1, dtype=np.int32)
        return op(a, perm, name=scope)


def matrix_transpose(a, name="matrix_transpose", conjugate=False):
    """Returns `a` with its last two axes swapped; `conjugate` also conjugates.

    Raises:
      ValueError: `a` has less than 2 axes.
    """
    with get_default_graph().name_scope(name):
        a = convert_to_tensor(a, name="a")
        if a.dims is None:
            from regrad.ops.generate import range as range_

            r = rank(a)
            perm = concat([range_(0, r - 2), [r - 1, r - 2]], 0)
        elif len(a.dims) < 2:
            raise ValueError("Argument 'a' should be a (batch) matrix, with rank >= 2. Found: "
                             f"{spec_text(a)}")
        else:
            perm = [*range(len(a.dims) - 2), len(a.dims) - 1, len(a.dims) - 2]
        return transpose(a, perm, conjugate=conjugate)


def invert_permutation(x, name=None):
    """Returns the inverse of a permutation of 0 .. n-1, a vector of int32 or int64."""
    return invertpermutation_op(x, name=name)


def _permutation_infer(x):
    rank_is(x, 1, "x, a permutation")
    return same(x)


def _invert_permutation(b, x):
    if b.is_host:
        bad = [int(i) for i in x if not 0 <= i < len(x)]
        if bad:
            raise BadValue(f"{bad[0]} is not between 0 and {len(x)}")
        times = np.bincount(x, minlength=len(x))
        if np.any(times > 1):
            raise BadValue(f"{int(np.argmax(times > 1))} is duplicated in the input.")
    return b.np.argsort(x).astype(x.dtype)


invertpermutation_op = define_op("InvertPermutation", "x", infer=_permutation_infer, types={"T": INDEX}, partial=True,
                                 lower=_invert_permutation)
invertpermutation_op.declare(refusal=Refusal(
    "the input is no permutation", by_itself=True,
    finds=lambda b, result, x: b.np.sort(x) != np.arange(x.shape[0], dtype=x.dtype)))


# -- joining ----------------------------------------------------------------------------------
def _pack_infer(values, *, axis):
    dims = values[0].dims
    for v in values[1:]:
        dims = merge(dims, v.dims, "Shapes of all inputs must match to stack them:")
    if dims is None:
        return Spec(None, values[0].dtype)
    axis = axis_in(axis, len(dims) + 1, "axis =", " not in")
    return Spec(dims[:axis] + (len(values),) + dims[axis:], values[0].dtype)


pack_op = define_op("Pack", "values: N*T", attrs={"axis": 0}, infer=_pack_infer, partial=True,
                    lower=lambda b, values, *, axis: b.np.stack(values, axis))


def stack(values, axis=0, name="stack"):
    """Returns the tensors of a list, all of one shape, joined along a new axis.

    Raises:
      ValueError: shapes differ, or `axis` is out of range.

    Example:
      print(tf.Session().run(tf.stack([[1, 2], [3, 4]], axis=1)))
      #> [[1 3]
      #>  [2 4]]
    """
    if not hasattr(values, "_as_graph_element") and not isinstance(values, np.ndarray):
        values = list(values)
    elif hasattr(values, "_as_graph_element"):
        values = list(convert_to_tensor(values))
    if axis == 0:
        try:  # a list of Python numbers and arrays is one constant, as in TF
            if not values or not all(hasattr(v, "_as_graph_element") for v in values):
                return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    return pack_op(list(values), axis=axis, name=name)


def parallel_stack(values, name="parallel_stack"):
    """Returns tensors of one fully known shape joined along a new first axis."""
    values = [convert_to_tensor(v) for v in values]
    for v in values:
        v.shape.assert_is_fully_defined()
    return pack_op(values, axis=0, name=name)


def _concat_infer(values, axis):
    rank_is(axis, 0, "axis")
    at = axis.partial()
    rank = next((len(v.dims) for v in values if v.dims is not None), None)
    if rank == 0:
        raise ShapeError("Can't concatenate scalars (use tf.stack instead)")
    if rank is None or at is None:
        return Spec(None if rank is None else (None,) * rank, values[0].dtype)
    at = axis_in(at, rank)
    dims = None
    total = 0
    for i, v in enumerate(values):
        if v.dims is None:
            total = None
            continue
        if len(v.dims) != rank:
            raise ShapeError("ConcatOp : Ranks of all input tensors should match: Shape must be rank "
                             f"{rank} but is rank {len(v.dims)} for tensor {i}, {spec_text(v)}")
        others = v.dims[:at] + (None,) + v.dims[at + 1:]
        dims = merge(dims, others, "ConcatOp : Dimensions of inputs should match: sizes other than along "
                     f"axis {at}, of tensor {i} and those before it,")
        total = None if total is None or v.dims[at] is None else total + v.dims[at]
    return Spec(dims[:at] + (total,) + dims[at + 1:], values[0].dtype)


concat_op = define_op("ConcatV2", "values: N*T, axis: Tidx", types={"Tidx": INDEX}, static=(1,),
                      infer=_concat_infer,
                      partial=True, lower=lambda b, values, axis: b.np.concatenate(values, int(axis)))


def _concat_offset(b, concat_dim, shapes):
    at, rank = int(concat_dim), len(shapes[0])
    for i, s in enumerate(shapes):
        if len(s) != rank:
            raise BadValue(f"input {i} should contain {rank} elements, but got {len(s)}")
    if not -rank <= at < rank:
        raise BadValue(f"Concat dim is out of range: {at}, for shapes of {rank} sizes")
    at %= rank
    for i, s in enumerate(shapes):
        if np.delete(s, at).tolist() != np.delete(shapes[0], at).tolist():
            raise BadValue(f"All dimensions except {at} must match. Input {i} has shape {s.tolist()} and doesn't match input 0 "
                           f"with shape {shapes[0].tolist()}")
    starts = np.cumsum([0, *(int(s[at]) for s in shapes[:-1])])
    return tuple(np.where(np.arange(len(s)) == at, start, 0).astype(s.dtype) for s, start in zip(shapes, starts))


concatoffset_op = define_op("ConcatOffset", "concat_dim: int32, shape: N*T", types={"T": INDEX}, static=(0, 1), single=False,
                            infer=lambda concat_dim, shapes: [Spec(s.dims, s.dtype) for s in shapes], lower=_concat_offset)


def concat(values, axis=None, name="concat", concat_dim=None):
    """Returns the tensors of a list joined along an existing axis.

    Args:
      values: tensors of one dtype whose sizes agree along all axes but `axis`.
      axis: int or scalar tensor; negative counts from the end.

    Example:
      print(tf.Session().run(tf.concat([[[1, 2]], [[3, 4]]], axis=0)))
      #> [[1 2]
      #>  [3 4]]
    """
    axis = one_of("axis", axis, "concat_dim", concat_dim)
    if isinstance(axis, (list, tuple)):
        raise ShapeError("Shape must be rank 0 for axis, got a list: tf.concat(values, axis) takes the list of tensors first "
                         "(before TensorFlow 1.0 the axis came first).")
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        axis = convert_to_tensor(axis, name="concat_dim", dtype=dtypes.int32)
        return identity(values[0], name=name)
    return concat_op(list(values), axis, name=name)


# -- splitting ----------------------------------------------------------------------------------
def _unpack_infer(value, *, num, axis):
    if value.dims is None:
        return [Spec(None, value.dtype)] * num
    axis = axis_in(axis, len(value.dims))
    if value.dims[axis] not in (None, num):
        raise ShapeError(f"cannot unstack axis {axis} of {spec_text(value)} into {num} tensors")
    return [Spec(value.dims[:axis] + value.dims[axis + 1:], value.dtype) for _ in range(num)]


def _unpack_lower(b, x, *, num, axis):
    return tuple(b.np.squeeze(part, axis) for part in b.np.split(x, num, axis)) if num else ()


unpack_op = define_op("Unpack", "value", attrs={"num": None, "axis": 0}, infer=_unpack_infer,
                      lower=_unpack_lower, single=False, partial=True)


def unstack(value, num=None, axis=0, name="unstack"):
    """Returns a list of the slices of `value` along `axis`.

    Raises:
      ValueError: `num` is not given and the size of the axis is not known, or `axis` is out of range.

    Example:
      print(*tf.Session().run(tf.unstack([[1, 2], [3, 4]], axis=1)))
      #> [1 3] [2 4]
    """
    value = convert_to_tensor(value)
    if num is None:
        if value.dims is not None:
            num = value.dims[axis_in(axis, len(value.dims), "axis =", " not in")]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}: pass num= to unstack {value.name}.")
    return unpack_op(value, num=int(num), axis=axis, name=name) if num else []


def _split_sizes(dims, at, sizes):
    return [dims[:at] + (s,) + dims[at + 1:] for s in sizes]


def _split_infer(split_dim, value, *, num_split):
    if num_split < 1:
        raise ValueError(f"num_split must be at least 1, got {num_split}: passed less than the minimum 1")
    at = split_dim.partial()
    if value.dims is None or at is None:
        return [Spec(None if value.dims is None else (None,) * len(value.dims), value.dtype)] * num_split
    at = axis_in(at, len(value.dims))
    size = value.dims[at]
    if size is not None and size % num_split:
        raise ShapeError(f"Number of ways to split should evenly divide the split dimension, but got axis "
                         f"{at} (size = {size}) and num_split {num_split}")
    part = None if size is None else size // num_split
    return [Spec(d, value.dtype) for d in _split_sizes(value.dims, at, [part] * num_split)]


split_op = define_op("Split", "split_dim: int32, value: T", attrs={"num_split": None}, static=(0,),
                     single=False, infer=_split_infer, lower=lambda b, axis, x, *, num_split:
                     tuple(b.np.split(x, num_split, int(axis))))


def _splitv_infer(value, size_splits, split_dim, *, num_split):
    at, sizes = split_dim.partial(), size_splits.partial()
    if value.dims is None or at is None:
        return [Spec(None if value.dims is None else (None,) * len(value.dims), value.dtype)] * num_split
    at = axis_in(at, len(value.dims))
    sizes = (None,) * num_split if sizes is None else sizes
    total = value.dims[at]
    if total is not None and None not in sizes:
        rest = total - sum(s for s in sizes if s != -1)
        if sizes.count(-1) > 1 or rest < 0 or -1 not in sizes and rest:
            several = "; size_splits can only have one -1" if sizes.count(-1) > 1 else ""
            raise ShapeError(f"can't split axis of size {total} into pieces of size {list(sizes)}: Determined shape must "
                             f"either match input shape along split_dim exactly, the size of axis {at}, or have a -1{several}")
        sizes = tuple(rest if s == -1 else s for s in sizes)
    sizes = [None if s == -1 else s for s in sizes]
    return [Spec(d, value.dtype) for d in _split_sizes(value.dims, at, sizes)]


def _splitv_lower(b, x, sizes, axis, *, num_split):
    axis, sizes = int(axis), [int(s) for s in sizes]
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    return tuple(b.np.split(x, list(np.cumsum(sizes[:-1])), axis))


splitv_op = define_op("SplitV", "value: T, size_splits: Tlen, split_dim: int32", attrs={"num_split": None},
                      types={"Tlen": INDEX}, static=(1, 2), single=False, infer=_splitv_infer,
                      lower=_splitv_lower)


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Returns `value` cut along `axis` into equal parts (an int) or parts of given sizes (one may be -1).

    Example:
      print(*tf.Session().run(tf.split([1, 2, 3, 4], 2)))
      #> [1 2] [3 4]
    """
    if isinstance(value, int) and is_tensor(axis):
        raise TypeError("tf.split(value, num_or_size_splits, axis) takes the tensor first (before TensorFlow 1.0 the axis came "
                        "first).")
    if isinstance(num_or_size_splits, (int, np.integer)):
        return split_op(axis, value, num_split=int(num_or_size_splits), name=name)
    sizes = convert_to_tensor(num_or_size_splits, preferred_dtype=dtypes.int32)
    if sizes.dims == ():
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split.")
    if num is None:
        if sizes.dims is None or sizes.dims[0] is None:
            raise ValueError("Cannot infer num from shape of size_splits; pass num=.")
        num = sizes.dims[0]
    return splitv_op(value, sizes, axis, num_split=int(num), name=name)


# -- inputs of the program -----------------------------------------------------------------------
placeholder_op = define_op("Placeholder", "", attrs={"dtype": None, "shape": None}, stateful=True,
                           infer=lambda *, dtype, shape: Spec(shape, dtype))
placeholderdefault_op = define_op("PlaceholderWithDefault", "input", attrs={"shape": None},
                                  infer=lambda x, *, shape: Spec(merge(x.dims, shape), x.dtype),
                                  lower=lambda b, x, *, shape: x)


def placeholder(dtype, shape=None, name=None):
    """Returns a tensor whose value must be fed to every run that needs it.

    Args:
      dtype: its DType.
      shape: its static shape; None for any, None inside for any size.

    Example:
      x = tf.placeholder(tf.float32, [None])
      print(tf.Session().run(2.0 * x, {x: [1.0, 2.0]}))
      #> [2. 4.]
    """
    return placeholder_op(dtype=as_dtype(dtype), shape=as_dims(shape), name=name)


def placeholder_with_default(input, shape, name=None):
    """Returns a tensor that is `input` unless something else, compatible with `shape`, is fed.

    Example:
      x = tf.placeholder_with_default(1.0, [])
      print(tf.Session().run(x), tf.Session().run(x, {x: 5.0}))
      #> 1.0 5.0
    """
    out = placeholderdefault_op(input, shape=as_dims(shape), name=name)
    out.dims = as_dims(shape)  # what is fed need not have the shape of the default
    return out


