"""Slots: variables that go with another variable, and are named after it."""

from regrad.core.shapes import TensorShape, fully_known
from regrad.ops import array
from regrad.variables.initializers import Zeros
from regrad.variables.scope import get_variable, get_variable_scope, variable_scope
from regrad.variables.variable import Variable


def _slot_variable(primary, value, name, shape, dtype, validate_shape):
    with variable_scope(None, f"{primary.op.name}/{name}"):
        scope = get_variable_scope()
        scope.set_partitioner(None)
        # An empty name: the slot takes the name of the scope, which is made unique.
        slot = get_variable("", initializer=value, trainable=False, shape=shape if callable(value) else None, dtype=dtype,
                            validate_shape=validate_shape)
    info = getattr(primary, "_save_slice_info", None)
    rank = slot.shape.ndims
    if info is not None and rank != 0:  # a part's slot is a part, too: checkpoints hold the whole
        own_name = slot.op.name.removeprefix(primary.op.name)
        slot._set_save_slice_info(Variable.SaveSliceInfo(info.full_name + own_name, info.full_shape[:rank],
                                                         info.var_offset[:rank], info.var_shape[:rank]))
    return slot


def create_slot(primary, val, name, colocate_with_primary=True):
    """Returns a variable of the initial value `val`, named "<primary>/<name>"."""
    return _slot_variable(primary, val, name, None, None, fully_known(val.dims))


def create_slot_with_initializer(primary, initializer, shape, dtype, name, colocate_with_primary=True):
    """Returns a variable made by `initializer(shape, dtype)`, named "<primary>/<name>"."""
    shape = TensorShape(shape)
    return _slot_variable(primary, initializer, name, shape, dtype, shape.is_fully_defined())


def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
    """Returns a variable of zeros of the shape of `primary`, named "<primary>/<name>"."""
    dtype = dtype or primary.dtype
    if fully_known(primary.dims):
        return create_slot_with_initializer(primary, Zeros(dtype), primary.shape, dtype, name)
    value = primary.initialized_value() if hasattr(primary, "initialized_value") else primary
    return create_slot(primary, array.zeros(array.shape(value), dtype), name)
