"""Storage of variables and what overwrites it.

A variable's storage is the output of a `VariableV2` operation. An op that takes it as an input reads the value it has
at that point of the run's order; an op that lists it in `writes` gives it a new one, which is also the op's output.
The order within a run is fixed (see `runtime/plan.py`): reads that wait for no assignment come first.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import INDEX, NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.opdef import Bounds, Spec, define_op, spec_text
from regrad.core.shapes import compatible, merge

variable_op = define_op("VariableV2", "", attrs={"shape": None, "dtype": None, "container": "", "shared_name": ""},
                        infer=lambda *, shape, dtype, container, shared_name: Spec(shape, dtype), variable=True)


# -- whole assignments -----------------------------------------------------------------------
def _assign_infer(ref, value, *, validate_shape, use_locking):
    if validate_shape and not compatible(ref.dims, value.dims):
        raise ShapeError(f"cannot assign {spec_text(value)} to a variable of {spec_text(ref)}; validate_shape=False allows "
                         "a change of shape")
    return Spec(merge(ref.dims, value.dims) if validate_shape else value.dims, ref.dtype)


assign_op = define_op("Assign", "ref: T, value: T", attrs={"validate_shape": True, "use_locking": True}, writes=(0,),
                      reads=False, infer=_assign_infer, lower=lambda b, ref, value, **_: value)
assign_op.declare(cost="free")


def _update(op_type, function):
    def infer(ref, value, *, use_locking):
        return Spec(merge(ref.dims, value.dims, f"{op_type} needs a value of the variable's shape;"), ref.dtype)

    return define_op(op_type, "ref: T, value: T", attrs={"use_locking": False}, writes=(0,), types={"T": NUMERIC},
                     infer=infer, lower=lambda b, ref, value, *, use_locking: getattr(b.np, function)(ref, value))


assignadd_op = _update("AssignAdd", "add")
assignsub_op = _update("AssignSub", "subtract")


# -- asking about a variable --------------------------------------------------------------------
isinitialized_op = define_op("IsVariableInitialized", "ref", infer=lambda ref: Spec((), dtypes.bool_), stateful=True,
                             host=True, lower=lambda b, ref: np.asarray(ref is not None))
isinitialized_op.declare(uninitialized_ok=True)


# -- updates of rows ------------------------------------------------------------------------------
def _scatter_infer(ref, indices, updates, *, use_locking):
    if None not in (ref.dims, indices.dims, updates.dims) and updates.dims:
        merge(indices.dims + ref.dims[1:], updates.dims, "updates must have the shape of indices, then that of a row;")
    return Spec(ref.dims, ref.dtype)


def _at(b, ref, indices, updates, method):
    """Returns `ref` with `method` ("set", "add" ...) applied at rows `indices`, repeated ones included."""
    from regrad.ops.indexing import update_at

    updates = b.np.broadcast_to(updates, indices.shape + ref.shape[1:])
    if b.is_host:
        wanted = needed_rows(indices)
        indices, updates = (indices, updates) if wanted.all() else (indices[wanted], updates[wanted])
    return update_at(b, ref, (indices,), updates, method)


def needed_rows(indices):
    """Returns which of `indices` are not that of rows which `sum_repeated_rows` made superfluous."""
    return indices != np.iinfo(indices.dtype).max


def refuse_rows(indices, n):
    """Raises OutOfRange where one of `indices` is no row of a variable that has n."""
    from regrad.ops.indexing import check_index

    check_index((n,), (np.where(needed_rows(indices), indices, 0) if n else indices[needed_rows(indices)],))


def _scatter(op_type, method):
    op = define_op(op_type, "ref: T, indices: Tindices, updates: T", attrs={"use_locking": False}, writes=(0,),
                   types={"Tindices": INDEX}, infer=_scatter_infer,
                   lower=lambda b, ref, i, u, *, use_locking: _at(b, ref, i, u, method))
    op.declare(rows_of=(0,))
    op.declare(refusal=Bounds(1, lambda ref, indices, updates, *, use_locking: ref.dims[0], refuse_rows, spare="largest"))
    return op


scatterupdate_op = _scatter("ScatterUpdate", "set")
scatteradd_op = _scatter("ScatterAdd", "add")
scattersub_op = _scatter("ScatterSub", "subtract")
scattermul_op = _scatter("ScatterMul", "multiply")
scatterdiv_op = _scatter("ScatterDiv", "divide")
scattermax_op = _scatter("ScatterMax", "max")
scattermin_op = _scatter("ScatterMin", "min")

# -- doing nothing, in order -------------------------------------------------------------------------
noop_op = define_op("NoOp", "", infer=list, lower=lambda b: ())

