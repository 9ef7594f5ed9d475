"""Tensors with some rows, or a slice, replaced: op types that TensorFlow applies in place, and that make new tensors here.

TensorFlow's functions for them are in `tensorflow.python.ops.inplace_ops`. Gradients: `inplace_grad.py`.
"""

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX, NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.opdef import Bounds, Spec, define_op, same, spec_text
from regrad.core.shapes import compatible
from regrad.ops.array import expand_dims, reshape
from regrad.ops.indexing import MASKS, check_index, strided_assign_infer, strided_assign_lower, update_at


def _rows_infer(x, i, v):
    if i.dims is not None and len(i.dims) != 1:
        raise ShapeError(f"i must be a vector, got {spec_text(i)}")
    if x.dims is not None:
        if not x.dims:
            raise ShapeError(f"x must have rows, got {spec_text(x)}")
        wanted = ((i.dims or (None,))[0], *x.dims[1:])
        if not compatible(v.dims, wanted):
            raise ShapeError(f"v must hold a row of x for each index, got {spec_text(v)} for x {spec_text(x)}")
    return Spec(x.dims, x.dtype)


def _define(op_type, method, types):
    op = define_op(op_type, "x: T, i: int32, v: T", types=types, infer=_rows_infer,
                   lower=lambda b, x, i, v: update_at(b, x, (i,), v, method))
    op.declare(refusal=Bounds(1, lambda x, i, v: x.dims[0], lambda i, n: check_index((n,), (i,))))
    return op


inplaceupdate_op = _define("InplaceUpdate", "set", {})
inplaceadd_op = _define("InplaceAdd", "add", {"T": NUMERIC})
inplacesub_op = _define("InplaceSub", "subtract", {"T": NUMERIC})
deepcopy_op = define_op("DeepCopy", "x", infer=same, lower=lambda b, x: b.np.array(x))
tensorstridedsliceupdate_op = define_op(
    "TensorStridedSliceUpdate", "input: T, begin: Index, end: Index, strides: Index, value: T", static=(1, 2, 3),
    types={"Index": INDEX}, attrs=MASKS,
    infer=lambda *inputs, **masks: strided_assign_infer(*inputs, _known=None, **masks),
    lower=lambda b, *inputs, **masks: strided_assign_lower(b, *inputs, _known=None, **masks))


def _rows(op):
    def function(x, i, v):
        x = convert_to_tensor(x)
        if i is None:  # the whole of x
            flat = op(reshape(x, [1, -1]), [0], reshape(convert_to_tensor(v, x.dtype), [1, -1]))
            return reshape(flat, x.shape if x.shape.is_fully_defined() else [-1])
        i, v = convert_to_tensor(i, dtypes.int32), convert_to_tensor(v, x.dtype)
        return op(x, expand_dims(i, 0), expand_dims(v, 0)) if i.rank == 0 else op(x, i, v)

    return function


alias_inplace_update = inplace_update = _rows(inplaceupdate_op)
alias_inplace_add = inplace_add = _rows(inplaceadd_op)
alias_inplace_sub = inplace_sub = _rows(inplacesub_op)
for _name, _function in (("update", inplace_update), ("add", inplace_add), ("sub", inplace_sub)):
    _function.__name__ = f"inplace_{_name}"
    _function.__doc__ = f"Returns `x` after the {_name} of its rows `i` (an int, a vector, or None for all) by `v`."
