"""Functions that assign variables: `tf.assign(w, value)` and its kin."""

import contextlib

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import INDEX
from regrad.core.errors import OutOfRangeError
from regrad.core.gradient_registry import NotDifferentiable
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is
from regrad.core.operation import Tensor, variable_of
from regrad.core.shapes import fully_known
from regrad.ops import state
from regrad.ops.array import stack
from regrad.ops.indexing import scatter_nd_update


def _storage(ref, op_type):
    """Returns (the storage tensor, operations that must run first) for a variable, or for the result of an assignment.

    Raises:
      TypeError: `ref` is neither.
    """
    variable = getattr(ref, "_variable", None)
    if variable is not None:
        return variable, []
    before = []
    while isinstance(ref, Tensor):
        if variable_of(ref) is not None:
            return ref, before
        if not ref.op.opdef.writes:
            break
        # TF1's assignments return the variable itself, so one may be assigned to the result of another.
        before.append(ref.op)
        ref = ref.op.inputs[ref.op.opdef.writes[ref.value_index]]
    what = f"Tensor {ref.name}, which is computed" if isinstance(ref, Tensor) else repr(ref)
    raise TypeError(f"{op_type} assigns a variable, not {what}.")


def _assigned(op, ref, *operands, name, **attrs):
    storage, before = _storage(ref, op.type)
    with storage.graph.control_dependencies(before) if before else contextlib.nullcontext():
        return op(storage, *operands, name=name, **attrs)


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """Returns a tensor of `value`, whose computing makes it the value of the variable `ref`.

    Args:
      ref: a Variable, a slice of one, or what an assignment of one returned: then this one comes after it.
      value: tensor of the variable's dtype, and shape unless `validate_shape` is False.

    Raises:
      TypeError: `ref` is no variable, or the dtypes differ.
      ValueError: the shapes differ.

    Example:
      v = tf.Variable(1.0)
      print(tf.Session().run(tf.assign(v, 5.0)))
      #> 5.0
    """
    if isinstance(ref, Tensor) and hasattr(ref, "assign"):
        return ref.assign(value, name=name)
    return _assigned(state.assign_op, ref, value, name=name, validate_shape=validate_shape is not False,
                     use_locking=use_locking is not False)


def assign_add(ref, value, use_locking=None, name=None):
    """Returns a tensor of the variable plus `value`, whose computing makes it the variable's value.

    Example:
      v = tf.Variable(1.0)
      with tf.Session() as sess:
          sess.run(v.initializer)
          print(sess.run(tf.assign_add(v, 5.0)), sess.run(v))
      #> 6.0 6.0
    """
    return _assigned(state.assignadd_op, ref, value, name=name, use_locking=bool(use_locking))


def assign_sub(ref, value, use_locking=None, name=None):
    """Returns a tensor of the variable minus `value`, whose computing makes it the variable's value."""
    return _assigned(state.assignsub_op, ref, value, name=name, use_locking=bool(use_locking))


def _scatter(op, text):
    def scatter(ref, indices, updates, use_locking=False, name=None):
        return _assigned(op, ref, indices, updates, name=name, use_locking=bool(use_locking))

    scatter.__doc__ = f"""Returns the variable with rows changed, and assigns it: {text}

    Args:
      ref: a Variable.
      indices: int32 or int64 tensor of any shape; out of range they are an error, in a compiled loop left out.
      updates: tensor of shape indices.shape + ref.shape[1:], or a scalar.
    """
    return scatter


scatter_update = _scatter(state.scatterupdate_op, "ref[indices] = updates; of equal indices one wins.")
scatter_add = _scatter(state.scatteradd_op, "ref[indices] += updates, equal indices adding up.")
scatter_sub = _scatter(state.scattersub_op, "ref[indices] -= updates, equal indices adding up.")
scatter_mul = _scatter(state.scattermul_op, "ref[indices] *= updates.")
scatter_div = _scatter(state.scatterdiv_op, "ref[indices] /= updates.")
scatter_max = _scatter(state.scattermax_op, "ref[indices] = max(ref[indices], updates).")
scatter_min = _scatter(state.scattermin_op, "ref[indices] = min(ref[indices], updates).")
for _name in ("update", "add", "sub", "mul", "div", "max", "min"):
    globals()[f"scatter_{_name}"].__name__ = f"scatter_{_name}"


def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Returns the variable with ref[b, indices[b, i]] = updates[b, i] for every batch item b, and assigns it.

    Args:
      ref: a Variable [batch axes ..., n, ...].
      indices: tensor [batch axes ..., k], of known shape.
      updates: tensor [batch axes ..., k, ...].
    """
    with get_default_graph().name_scope(name or "batch_scatter_update") as scope:
        indices = convert_to_tensor(indices, name="indices")
        if not fully_known(indices.dims):
            raise ValueError(f"batch_scatter_update: the shape of indices, {indices.shape}, must be known.")
        places = np.meshgrid(*(np.arange(d) for d in indices.dims), indexing="ij")[:-1]
        full = stack([*(convert_to_tensor(p, dtype=indices.dtype) for p in places), indices], axis=-1)
        return scatter_nd_update(ref, full, updates, name=scope)


# -- CountUpTo ------------------------------------------------------------------------------------
def _count_up_to(b, ref, *, limit):
    if int(ref) >= limit:
        raise OutOfRangeError(None, None, f"Reached limit of {limit}")
    return ref + ref.dtype.type(1)


def _count_up_to_infer(ref, *, limit):
    rank_is(ref, 0, "CountUpTo")
    return Spec((), ref.dtype)


countupto_op = define_op("CountUpTo", "ref: T", attrs={"limit": 0}, types={"T": INDEX}, writes=(0,), host=True, stateful=True,
                         infer=_count_up_to_infer, lower=_count_up_to)


def count_up_to(ref, limit, name=None):
    """Returns the value of an integer scalar variable and adds 1 to it; OutOfRangeError once it has reached `limit`."""
    return _assigned(countupto_op, ref, limit=int(limit), name=name) - 1


NotDifferentiable("CountUpTo")
