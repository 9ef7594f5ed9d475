"""Sequences: range, linspace."""

import math as pymath

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, REAL, as_dtype
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is, spec_text


def _range_infer(start, limit, delta):
    for what, v in (("start", start), ("limit", limit), ("delta", delta)):
        rank_is(v, 0, what)
    values = start.value(), limit.value(), delta.value()
    if any(v is None for v in values):
        return Spec((None,), start.dtype)
    if values[2] == 0:
        raise ValueError("Requires delta != 0")
    start_, limit_, delta_ = (v.item() for v in map(np.asarray, values))
    if start_ > limit_ and delta_ > 0 or start_ < limit_ and delta_ < 0:
        needed = "start <= limit when delta > 0" if delta_ > 0 else "start >= limit when delta < 0"
        raise ValueError(f"Requires {needed}, got start {start_}, limit {limit_} and delta {delta_}")
    steps = (limit_ - start_) / delta_ if isinstance(delta_, float) else -(-(limit_ - start_) // delta_)
    return Spec((pymath.ceil(steps),), start.dtype)


_WRITTEN = 1 << 20  # elements; longer ranges of integers are computed by the program instead of being a constant in it


def _range_lower(b, start, limit, delta):
    counted = start.dtype.kind in "iu" and abs(int(limit) - int(start)) > _WRITTEN * abs(int(delta))
    return (b.np if counted else np).arange(start, limit, delta, dtype=start.dtype)


range_op = define_op("Range", "start: Tidx, limit: Tidx, delta: Tidx", types={"Tidx": REAL}, static=(0, 1, 2), partial=True,
                     infer=_range_infer, lower=_range_lower)


def range(start, limit=None, delta=1, dtype=None, name="range"):
    """Returns start, start + delta ... below `limit`; `range(n)` counts from 0.

    The dtype is `dtype`, or the first of int32, int64, float32, float64 that holds all three arguments.

    Example:
      print(*tf.Session().run([tf.range(3), tf.range(1, 10, 4)]))
      #> [0 1 2] [1 5 9]
    """
    if limit is None:
        start, limit = 0, start
    with get_default_graph().name_scope(name) as scope:
        given = [as_dtype(dtype)] if dtype is not None else []
        args = [convert_to_tensor(v, dtype=given[0] if given and not hasattr(v, "_as_graph_element") else None, name=n)
                for v, n in ((start, "start"), (limit, "limit"), (delta, "delta"))]
        order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
        if not given:
            for a, what in zip(args, ("start", "limit", "delta")):
                if a.dtype not in order:
                    raise TypeError(f"range: {what} is {spec_text(a)}, and no common dtype of the arguments follows: they "
                                    f"are {', '.join(t.name for t in order)}. dtype= says which the numbers shall have.")
            given = [max((a.dtype for a in args), key=order.index)]
        from regrad.ops.math import cast

        return range_op(*(cast(a, given[0]) for a in args), name=scope)


def _linspace_infer(start, stop, num):
    n = num.partial()
    if n is not None and n < 1:
        raise ValueError(f"Requires num > 0, got {n}")
    return Spec((n,), start.dtype)


def _linspace_lower(b, start, stop, num):
    n = int(num)
    if n == 1:
        return b.np.reshape(start, (1,))
    step = b.divide(stop - start, start.dtype.type(n - 1))
    values = start + b.rounded(b.np.arange(n - 1, dtype=start.dtype) * step)
    return b.np.concatenate([values, b.np.reshape(stop, (1,))])


linspace_op = define_op("LinSpace", "start: T, stop: T, num: Tidx", types={"T": FLOATING, "Tidx": INDEX}, static=(2,),
                        infer=_linspace_infer, lower=_linspace_lower)


def lin_space(start, stop, num, name=None):
    """Returns `num` values evenly spaced from `start` to `stop`, both included."""
    return linspace_op(start, stop, num, name=name)


linspace = lin_space


def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
    """Returns an identity matrix of `num_rows` by `num_columns` (square by default), repeated over `batch_shape`."""
    from regrad.ops.array import concat, ones, zeros
    from regrad.ops.diag import matrix_diag, matrix_set_diag
    from regrad.ops.math import minimum

    columns = num_rows if num_columns is None else num_columns
    with get_default_graph().name_scope(name or "eye"):
        known = not any(hasattr(n, "_as_graph_element") for n in (num_rows, columns))
        side = min(num_rows, columns) if known else minimum(num_rows, columns)
        batch = [] if batch_shape is None else batch_shape
        if isinstance(batch, (list, tuple)):
            diagonal, shape = ones([*batch, side], dtype), [*batch, num_rows, columns]
        else:
            diagonal, shape = ones(concat([batch, [side]], 0), dtype), concat([batch, [num_rows, columns]], 0)
        return matrix_diag(diagonal) if num_columns is None else matrix_set_diag(zeros(shape, dtype), diagonal)
