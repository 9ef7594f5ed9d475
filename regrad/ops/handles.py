"""Session handles: values that stay where they were computed, and are fed again without a copy through the caller."""

import itertools
import weakref

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import InvalidArgumentError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op
from regrad.ops.array import placeholder

_numbers = itertools.count()
_living: weakref.WeakValueDictionary = weakref.WeakValueDictionary()  # raw handle -> TensorHandle, as long as it is held
_kept: dict = {}  # those whose raw handle was given away


class TensorHandle:
    """A value kept by the session that computed it, until the handle is deleted or forgotten.

    What `Session.run` gives for `get_session_handle(x)`. It may be fed in place of the value, and its `handle` to the
    placeholder that `get_session_tensor` makes.
    """

    def __init__(self, value):
        self._value = value
        self.handle = f"GetSessionHandle;{next(_numbers)};{value.dtype.name}".encode()
        _living[self.handle] = self

    def eval(self):
        """Returns the value as a NumPy array."""
        return np.array(self._value)[()]

    to_numpy_array = eval

    def __array__(self, dtype=None, copy=None):
        return np.array(self._value, dtype)

    def delete(self):
        """Lets go of the value: a run that asks for it fails."""
        _living.pop(self.handle, None)
        _kept.pop(self.handle, None)

    def get_raw_handle(self):
        """Returns the handle as bytes; the value then stays until `delete_session_tensor` is run."""
        _kept[self.handle] = self
        return self.handle

    def __str__(self):
        return self.handle.decode()


def _find(handle):
    raw = handle[()]
    found = _living.get(raw.encode() if isinstance(raw, str) else raw)
    if found is None:
        raise InvalidArgumentError(f"The tensor with handle '{raw}' is not in the session store.")
    return found


def _handle_lower(b, value):
    out = np.empty((), object)
    out[()] = TensorHandle(np.array(value))
    return out


def _delete_lower(b, handle):
    _find(handle).delete()
    return ()


gethandle_op = define_op("GetSessionHandleV2", "value: T", host=True, stateful=True, lower=_handle_lower,
                         infer=lambda value: Spec((), dtypes.string))
getsessiontensor_op = define_op("GetSessionTensor", "handle: string", host=True, stateful=True, attrs={"dtype": None},
                                infer=lambda handle, *, dtype: Spec(None, dtype),
                                lower=lambda b, handle, *, dtype: _find(handle)._value)
deletesessiontensor_op = define_op("DeleteSessionTensor", "handle: string", host=True, stateful=True, infer=lambda handle: [],
                                   lower=_delete_lower)
for _op_type in ("GetSessionHandleV2", "GetSessionTensor", "DeleteSessionTensor"):
    NotDifferentiable(_op_type)


def get_session_handle(data, name=None):
    """Returns a tensor whose fetched value is a TensorHandle of the tensor `data`.

    Raises:
      TypeError: `data` is no tensor.
    """
    if not hasattr(data, "_as_graph_element"):
        raise TypeError("`data` must be of type Tensor.")
    return gethandle_op(convert_to_tensor(data), name=name)


def get_session_tensor(handle, dtype, name=None):
    """Returns (a string placeholder to feed with a handle, the tensor of the value it stands for).

    Args:
      handle: bytes or text of some TensorHandle; the one that is fed counts.
      dtype: of the value.
    """
    with get_default_graph().name_scope(name or "GetSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, getsessiontensor_op(holder, dtype=as_dtype(dtype))


def delete_session_tensor(handle, name=None):
    """Returns (a string placeholder to feed with a handle, the operation that lets go of its value)."""
    with get_default_graph().name_scope(name or "DeleteSessionTensor"):
        holder = placeholder(dtypes.string)
        return holder, deletesessiontensor_op(holder)
