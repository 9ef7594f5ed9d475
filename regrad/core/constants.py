"""Values that can be known while the graph is built: constants, static shapes, and arithmetic on them.

Shape rules ask for `known_value` and `partial_value`: the sizes of a shape tensor, None where one is unknown, so that
`tf.reshape(x, [tf.shape(x)[0], 3, -1])` has the static shape (?, 3, ?). TF's functions for users are made of these.
"""

import numpy as np

from regrad.core.errors import OpError
from regrad.core.host import HOST, UNKNOWN, UnknownSize
from regrad.core.opdef import declared_attrs
from regrad.core.operation import Tensor, op_arguments
from regrad.core.shapes import TensorShape, size_of

_MAX_SIZE = 1024  # elements; larger constants are data, not shapes
_MAX_DEPTH = 64
_UNSET = object()


def known_value(tensor):
    """Returns the value of `tensor` as a NumPy array if nothing needs to run for it, else None."""
    if tensor.op.opdef.type == "Const":
        return tensor.op.attrs["value"]
    array = _evaluate(tensor, _MAX_DEPTH)
    if array is None or array.dtype == np.object_ and any(e is UNKNOWN for e in array.flat):
        return None
    return array.astype(tensor.dtype.as_numpy_dtype)


def partial_value(tensor):
    """Returns an int or None for a scalar, a tuple of ints and Nones for a vector, None if its length is unknown."""
    dims = tensor.dims
    if dims is None or len(dims) > 1 or dims and (dims[0] is None or dims[0] > 64):
        return None
    array = _evaluate(tensor, _MAX_DEPTH)
    if array is None:
        return None if dims == () else (None,) * dims[0]
    sizes = [None if e is UNKNOWN else int(e) for e in array.flat]
    return sizes[0] if dims == () else tuple(sizes)


def _evaluate(tensor, depth):
    """Returns an array of `tensor`'s elements, object dtype with UNKNOWN where some are not known, or None."""
    op = tensor.op
    opdef = op.opdef
    if opdef.type == "Const":
        value = op.attrs["value"]
        return value if value.size <= _MAX_SIZE else None
    if opdef.type in ("Shape", "ShapeN"):
        source = op.inputs[tensor.value_index].dims
        if source is None:
            return None
        if None not in source:
            return None if max(source, default=0) > tensor.dtype.max else np.array(source, tensor.dtype.as_numpy_dtype)
        out = np.empty(len(source), object)
        out[:] = [UNKNOWN if d is None else d for d in source]
        return out
    if opdef.type in ("Size", "Rank"):
        source = op.inputs[0].dims
        if source is None:
            return None
        n = len(source) if opdef.type == "Rank" else size_of(source)
        return None if n is None or n > tensor.dtype.max else np.asarray(n, tensor.dtype.as_numpy_dtype)
    if not (opdef.partial or _foldable(opdef)) or op.forward_op is not None and depth < _MAX_DEPTH and len(op.inputs) > 64:
        return None
    cached = tensor._partial if hasattr(tensor, "_partial") else _UNSET
    if cached is not _UNSET:
        return cached
    result = None
    size = size_of(tensor.dims)
    if depth > 0 and size is not None and size <= _MAX_SIZE:
        result = _fold(op, tensor.value_index, depth)
    tensor._partial = result
    return result


def _foldable(opdef):
    """True when NumPy computes the op from the values of its inputs alone, and no run may say otherwise."""
    if opdef.type == "PlaceholderWithDefault" or not opdef.pure():
        return False
    return not (opdef.xla_only or opdef.shape_only or opdef.facts.bodies)


def _fold(op, index, depth):
    values = []
    whole = not op.opdef.partial
    for t in op.inputs:
        v = _evaluate(t, depth - 1)
        if whole and (v is None or v.dtype == np.object_ and any(e is UNKNOWN for e in v.flat)):
            return None
        if v is None:
            # A vector of known length still says how long it is; a scalar is one unknown size.
            if (t.dims == () or t.dims is None and op.type == "Pack") and t.dtype.is_integer:
                v = np.empty((), object)
                v[()] = UNKNOWN
            elif t.dims is not None and len(t.dims) == 1 and t.dims[0] is not None and t.dims[0] <= 64 and t.dtype.is_integer:
                v = np.full(t.dims, UNKNOWN, object)
            else:
                return None
        values.append(v)
    attrs = declared_attrs(op)
    try:
        with np.errstate(all="ignore"):
            result = op.opdef.lower(HOST, *op_arguments(op, values), **attrs)
    except (UnknownSize, TypeError, ValueError, NotImplementedError, IndexError, ZeroDivisionError, AttributeError, OpError):
        return None
    if isinstance(result, (tuple, list)):
        result = result[index]
    return np.asarray(result)


def constant_value_as_shape(tensor):
    """Returns the TensorShape that a vector of sizes stands for, as far as it is known; -1 is an unknown size.

    Raises:
      ValueError: `tensor` is a scalar other than -1, a matrix, or holds a size below -1.
    """
    dims = tensor.dims
    if dims is not None and len(dims) != 1:
        if dims == () and known_value(tensor) is not None and int(known_value(tensor)) == -1:
            return TensorShape(None)
        raise ValueError(f"constant_value_as_shape: a tensor of shape {tensor.shape} is given, and sizes are a vector, or "
                         "the scalar -1.")
    sizes = partial_value(tensor)
    if sizes is None:
        return TensorShape(None if dims is None or dims[0] is None else [None] * dims[0])
    return TensorShape([None if d is None or d == -1 else d for d in sizes])


def get_static_value(tensor, partial=False):
    """Returns the value of `tensor` as a NumPy array if nothing needs to run for it, else None; of what is no tensor, itself.

    Args:
      partial: of a vector of sizes, also give them with None for each that is not known.
    """
    if not (isinstance(tensor, Tensor) or hasattr(tensor, "_as_graph_element")):
        return tensor
    value = known_value(tensor)
    return partial_value(tensor) if partial and value is None else value


constant_value = get_static_value
