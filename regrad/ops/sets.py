"""Sets along the last axis, dense or sparse. On the host; nothing here has a gradient."""

import itertools

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.opdef import Spec, spec_text
from regrad.core.shapes import compatible
from regrad.ops.hosted import host_op
from regrad.ops.sparse import SparseTensor, SparseTensorValue, check_places, parts


def _groups(indices, values, dims, validate):
    """Returns {leading index: list of values} of a sparse tensor."""
    if validate:
        check_places(indices, dims)
    found: dict = {}
    for at, value in zip(indices, values):
        found.setdefault(tuple(int(i) for i in at[:-1]), []).append(value)
    return found


def _dense_groups(x):
    return {at: list(x[at]) for at in np.ndindex(x.shape[:-1])}


def _combined(a, b, shape, operation, dtype):
    """Returns indices, values and shape of the operation on the sets of each group."""
    indices, values, longest = [], [], 0
    for at in itertools.product(*(range(n) for n in shape)):
        x, y = set(a.get(at, ())), set(b.get(at, ()))
        found = sorted({"intersection": x & y, "union": x | y, "a-b": x - y, "b-a": y - x}[operation])
        longest = max(longest, len(found))
        for i, value in enumerate(found):
            indices.append((*at, i))
            values.append(value)
    out = np.empty(len(values), dtype)
    out[:] = values
    return (np.array(indices, np.int64).reshape(-1, len(shape) + 1), out,
            np.array([*shape, longest], np.int64))


def _same_groups(a, b):
    if tuple(a) != tuple(b):
        raise InvalidArgumentError(f"Mismatched group shapes: {list(a)} and {list(b)}")
    return tuple(int(n) for n in a)


def _sets_infer(rank, dtype):
    return [Spec((None, rank), dtypes.int64), Spec((None,), dtype), Spec((rank,), dtypes.int64)]


def _dense_infer(a, b, **attrs):
    for x in a, b:
        if x.dims is not None and len(x.dims) < 2:
            raise ShapeError(f"sets are rows along the last axis of at least 2 axes, got {spec_text(x)}")
    if a.dims is not None and b.dims is not None and not compatible(a.dims[:-1], b.dims[:-1]):
        raise ShapeError(f"the groups of {spec_text(a)} and {spec_text(b)} differ: all sizes but the last must be alike")
    return _sets_infer(a.rank, a.dtype)


def _dense_lower(b_, a, b, *, set_operation, validate_indices):
    shape = _same_groups(a.shape[:-1], b.shape[:-1])
    return _combined(_dense_groups(a), _dense_groups(b), shape, set_operation, a.dtype)


def _mixed_lower(b_, a, indices, values, dims, *, set_operation, validate_indices):
    shape = _same_groups(a.shape[:-1], dims[:-1])
    return _combined(_dense_groups(a), _groups(indices, values, dims, validate_indices), shape, set_operation, a.dtype)


def _sparse_lower(b_, i1, v1, s1, i2, v2, s2, *, set_operation, validate_indices):
    shape = _same_groups(s1[:-1], s2[:-1])
    sets = (_groups(i, v, dims, validate_indices) for i, v, dims in ((i1, v1, s1), (i2, v2, s2)))
    return _combined(*sets, shape, set_operation, v1.dtype)


_TYPES = frozenset((dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16, dtypes.string))
_ATTRS = {"set_operation": "union", "validate_indices": True}
densetodensesetoperation_op = host_op("DenseToDenseSetOperation", "set1: T, set2: T", _dense_infer, _dense_lower, _ATTRS,
                                      single=False)
densetosparsesetoperation_op = host_op(
    "DenseToSparseSetOperation", "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64",
    lambda a, i, v, s, **_: _sets_infer(a.rank, a.dtype), _mixed_lower, _ATTRS, single=False)
sparsetosparsesetoperation_op = host_op(
    "SparseToSparseSetOperation",
    "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64",
    lambda i, v, s, *_, **__: _sets_infer(i.dims[1] if i.dims is not None else None, v.dtype), _sparse_lower, _ATTRS,
    single=False)


def _size_lower(b, indices, values, dims, *, validate_indices):
    out = np.zeros(tuple(int(n) for n in dims[:-1]), np.int32)
    for at, found in _groups(indices, values, dims, validate_indices).items():
        out[at] = len(set(found))
    return out


setsize_op = host_op(
    "SetSize", "set_indices: int64, set_values: T, set_shape: int64",
    lambda i, v, s, **_: Spec(None if i.dims is None or i.dims[1] is None else (None,) * (i.dims[1] - 1), dtypes.int32),
    _size_lower, {"validate_indices": True}, types={"T": _TYPES})


def _operand(x):
    if isinstance(x, (SparseTensor, SparseTensorValue)):
        return SparseTensor.from_value(x)
    return convert_to_tensor(x)


def _operation(a, b, kind, validate_indices):
    a, b = _operand(a), _operand(b)
    for what, x in (("a", a), ("b", b)):
        if x.dtype not in _TYPES:
            raise TypeError(f"'{what}' has invalid dtype {x.dtype.name}; sets hold "
                            f"{', '.join(sorted(t.name for t in _TYPES))}.")
    if isinstance(a, SparseTensor) and not isinstance(b, SparseTensor):
        a, b, kind = b, a, {"a-b": "b-a", "b-a": "a-b"}.get(kind, kind)
    more = {"set_operation": kind, "validate_indices": validate_indices}
    if isinstance(a, SparseTensor):
        return SparseTensor(*sparsetosparsesetoperation_op(*parts(a), *parts(b), **more))
    if isinstance(b, SparseTensor):
        return SparseTensor(*densetosparsesetoperation_op(a, *parts(b), **more))
    return SparseTensor(*densetodensesetoperation_op(a, b, **more))


def set_intersection(a, b, validate_indices=True):
    """Returns, per row of the last axis, the elements in both: a SparseTensor, each row sorted.

    Args:
      a, b: tensors or SparseTensors of one dtype, integers or strings, whose axes but the last are alike.
      validate_indices: places of SparseTensors out of order, repeated or outside are an InvalidArgumentError.
    """
    return _operation(a, b, "intersection", validate_indices)


def set_union(a, b, validate_indices=True):
    """Returns, per row of the last axis, the elements in either; see `set_intersection`."""
    return _operation(a, b, "union", validate_indices)


def set_difference(a, b, aminusb=True, validate_indices=True):
    """Returns, per row of the last axis, the elements of `a` that are not in `b` (or of `b` not in `a`)."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_size(a, validate_indices=True):
    """Returns the number of different elements per row of the last axis of a SparseTensor, int32.

    Raises:
      TypeError: `a` is no SparseTensor.
    """
    a = _operand(a)
    if not isinstance(a, SparseTensor):
        raise TypeError("Expected `SparseTensor`, got a dense tensor.")
    return setsize_op(*parts(a), validate_indices=validate_indices)
