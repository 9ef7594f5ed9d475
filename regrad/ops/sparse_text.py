"""Sparse tensors as strings, which queues and files hold: three TensorProtos for each, of indices, values and shape."""

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import as_dtype
from regrad.core.errors import InvalidArgumentError, ShapeError
from regrad.core.messages import TensorProto, content_proto, make_ndarray
from regrad.core.opdef import Spec, spec_text
from regrad.ops.hosted import host_op
from regrad.ops.sparse import SparseTensor


def _text(indices, values, dense_shape):
    """Returns the three strings of one sparse tensor, a vector."""
    return np.array([content_proto(part).SerializeToString() for part in (indices, values, dense_shape)], object)


def _serialize(b, indices, values, dense_shape):
    return _text(np.asarray(indices), np.asarray(values), np.asarray(dense_shape))


def _serialize_many(b, indices, values, dense_shape):
    if len(dense_shape) < 2:
        raise InvalidArgumentError(f"Rank of input SparseTensor should be > 1, but saw rank: {len(dense_shape)}")
    rows = np.asarray(indices)[:, 0]
    if len(rows) and (rows[0] < 0 or rows[-1] >= dense_shape[0] or (np.diff(rows) < 0).any()):
        raise InvalidArgumentError(f"serialize_many_sparse: the rows of indices must be in order and below {dense_shape[0]}, "
                                   f"got {rows}.")
    out = np.empty((dense_shape[0], 3), object)
    ends = np.searchsorted(rows, np.arange(dense_shape[0] + 1))
    for i, (start, end) in enumerate(zip(ends, ends[1:])):
        out[i] = _text(np.asarray(indices)[start:end, 1:], np.asarray(values)[start:end], np.asarray(dense_shape)[1:])
    return out


def _parsed(strings, dtype):
    """Returns (indices, values, shape) of the three strings of one sparse tensor."""
    parts = []
    for text, wanted, what in zip(strings, (dtypes.int64, dtype, dtypes.int64), ("indices", "values", "shape")):
        try:
            proto = TensorProto.FromString(text)
        except ValueError:
            raise InvalidArgumentError(f"Could not parse serialized SparseTensor: its {what} are no TensorProto.") from None
        if proto.dtype != wanted.as_datatype_enum:
            raise InvalidArgumentError(f"Requested SparseTensor of type {wanted.name} but its serialized {what} are of type "
                                       f"{as_dtype(proto.dtype).name}")
        parts.append(make_ndarray(proto))
    indices, values, shape = parts
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1 or indices.shape != (len(values), len(shape)):
        raise InvalidArgumentError("These strings are no serialized SparseTensor: indices, values and shape have shapes "
                                   f"{indices.shape}, {values.shape} and {shape.shape}.")
    return parts


def _deserialize(b, serialized, *, dtype):
    """Puts sparse tensors side by side: the axes of `serialized` but its last come first, and sizes are the largest."""
    outer = serialized.shape[:-1]
    found = [_parsed(strings, dtype) for strings in serialized.reshape(-1, 3)]
    ranks = sorted({len(shape) for _, _, shape in found})
    if len(ranks) > 1:
        raise InvalidArgumentError(f"Inconsistent rank across SparseTensors: {ranks}")
    sizes = np.max([shape for _, _, shape in found], axis=0, initial=0) if found else np.zeros(0, np.int64)
    indices = np.zeros((sum(len(values) for _, values, _ in found), len(outer) + len(sizes)), np.int64)
    at = 0
    for place, (own, values, _) in zip(np.ndindex(*outer), found):
        indices[at:at + len(values), :len(outer)] = place
        indices[at:at + len(values), len(outer):] = own
        at += len(values)
    values = [values for _, values, _ in found]
    return (indices, np.concatenate(values) if values else np.zeros(0, dtype.as_numpy_dtype),
            np.array([*outer, *sizes], np.int64))


def _deserialize_infer(serialized, *, dtype):
    dims = serialized.dims
    if dims is not None and (not dims or dims[-1] not in (None, 3)):
        raise ShapeError(f"each sparse tensor is three strings along the last axis, got {spec_text(serialized)}")
    return [Spec((None, None), dtypes.int64), Spec((None,), dtype), Spec((None,), dtypes.int64)]


_PARTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
serializesparse_op = host_op("SerializeSparse", _PARTS, lambda *parts: Spec((3,), dtypes.string), _serialize)
serializemanysparse_op = host_op("SerializeManySparse", _PARTS, lambda *parts: Spec((None, 3), dtypes.string), _serialize_many)
deserializesparse_op = host_op("DeserializeSparse", "serialized_sparse: string", _deserialize_infer, _deserialize,
                               {"dtype": dtypes.float32}, single=False)
deserializemanysparse_op = host_op("DeserializeManySparse", "serialized_sparse: string", _deserialize_infer, _deserialize,
                                   {"dtype": dtypes.float32}, single=False)


def _sparse(sp_input, out_type):
    if as_dtype(out_type) is not dtypes.string:
        raise ValueError(f"Sparse tensors are serialized as strings, not as {as_dtype(out_type).name}.")
    return SparseTensor.from_value(sp_input)


def serialize_sparse(sp_input, name=None, out_type=dtypes.string):
    """Returns a SparseTensor as a string tensor [3]: its indices, values and shape as TensorProtos.

    Raises:
      TypeError: `sp_input` is no SparseTensor.
      ValueError: `out_type` is not string.
    """
    x = _sparse(sp_input, out_type)
    return serializesparse_op(x.indices, x.values, x.dense_shape, name=name)


def serialize_many_sparse(sp_input, name=None, out_type=dtypes.string):
    """Returns the rows of a SparseTensor of rank 2 or more, each as `serialize_sparse` gives it: a string tensor [n, 3].

    Raises:
      TypeError, ValueError: as `serialize_sparse`.
      InvalidArgumentError: (when run) the rank is 1, or the rows are not in order.
    """
    x = _sparse(sp_input, out_type)
    return serializemanysparse_op(x.indices, x.values, x.dense_shape, name=name)


def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
    """Returns the SparseTensor whose rows are sparse tensors that were serialized, one for each row of a string tensor [n, 3].

    Args:
      dtype: of their values.
      rank: of the result, if known.

    Raises:
      InvalidArgumentError: (when run) they are of another dtype, of unlike ranks, or no such strings.
    """
    return _made(deserializemanysparse_op(serialized_sparse, dtype=as_dtype(dtype), name=name), rank)


def deserialize_sparse(serialized_sparse, dtype, rank=None, name=None):
    """Returns the SparseTensor of a string tensor [..., 3], whose other axes come first; see `deserialize_many_sparse`."""
    return _made(deserializesparse_op(serialized_sparse, dtype=as_dtype(dtype), name=name), rank)


def _made(parts, rank):
    indices, values, dense_shape = parts
    indices.set_shape([None, rank])
    dense_shape.set_shape([rank])
    return SparseTensor(indices, values, dense_shape)
