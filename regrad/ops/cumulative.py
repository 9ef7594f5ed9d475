"""Running sums and products along an axis. Gradients: `cumulative_grad.py`."""

import numpy as np

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import FLOATING, INDEX, NUMERIC
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_is
from regrad.ops.array import axis_in


def _infer(x, axis, *, exclusive, reverse):
    rank_is(axis, 0, "axis (must be a scalar)")
    at = axis.value()
    if at is not None and x.dims is not None:
        rank = len(x.dims)
        axis_in(int(at), rank, f"Expected scan axis in the range [-{rank}, {rank}):")
    return Spec(x.dims, x.dtype)


def _running(op_type, accumulate, join, neutral, types):
    """Defines a scan along an axis: `exclusive` leaves each element out of its own total, `reverse` goes backwards.

    `accumulate` does it with NumPy, `join(np, total, element)` is one turn of XLA's loop: windows that grow, which it has for
    this, take three times as long, and thirty where the turn is a logarithm.
    """

    def lower(b, x, axis, *, exclusive, reverse):
        axis = axis_in(int(axis), x.ndim)
        if x.shape[axis] == 0:
            return x
        if not b.is_host:
            def turn(total, element):
                joined = join(b.np, total, element).astype(x.dtype)
                return joined, total if exclusive else joined

            elements = b.np.moveaxis(x, axis, 0)
            start = b.np.full(elements.shape[1:], neutral(x.dtype), x.dtype)
            return b.np.moveaxis(b.lax.scan(turn, start, elements, reverse=reverse)[1], 0, axis)
        if reverse:
            x = np.flip(x, axis)
        if exclusive:
            kept = x[(slice(None),) * axis + (slice(0, -1),)]
            first = np.full(x.shape[:axis] + (1,) + x.shape[axis + 1:], neutral(x.dtype), x.dtype)
            x = np.concatenate([first, accumulate(kept, axis)], axis)
        else:
            x = accumulate(x, axis)
        return np.flip(x, axis) if reverse else x

    return define_op(op_type, "x: T, axis: Tidx", attrs={"exclusive": False, "reverse": False}, static=(1,), infer=_infer,
                     types={"T": types, "Tidx": INDEX}, lower=lower)


cumsum_op = _running("Cumsum", lambda x, axis: np.cumsum(x, axis, dtype=x.dtype), lambda np, total, x: total + x, lambda t: 0,
                     NUMERIC)
cumprod_op = _running("Cumprod", lambda x, axis: np.cumprod(x, axis, dtype=x.dtype), lambda np, total, x: total * x,
                      lambda t: 1, NUMERIC)
cumulativelogsumexp_op = _running("CumulativeLogsumexp", np.logaddexp.accumulate, lambda np, total, x: np.logaddexp(total, x),
                                  lambda t: -np.inf, FLOATING)


def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the running sum of `x` along `axis`: [a, a + b, a + b + c].

    Args:
      x: numeric tensor.
      axis: int or scalar tensor.
      exclusive: leave each element out of its own sum: [0, a, a + b].
      reverse: sum from the end: [a + b + c, b + c, c].

    Example:
      print(tf.Session().run(tf.cumsum([1, 2, 3])))
      #> [1 3 6]
    """
    return _call(cumsum_op, "Cumsum", x, axis, exclusive, reverse, name)


def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the running product of `x` along `axis`; arguments as for `cumsum`. The gradient is exact at zeros."""
    return _call(cumprod_op, "Cumprod", x, axis, exclusive, reverse, name)


def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """Returns the running log(sum(exp(x))) along `axis`; arguments as for `cumsum`. An exclusive one starts with -inf."""
    return _call(cumulativelogsumexp_op, "CumulativeLogsumexp", x, axis, exclusive, reverse, name)


def _call(op, default, x, axis, exclusive, reverse, name):
    with get_default_graph().name_scope(name or default) as scope:
        x = convert_to_tensor(x, name="x")
        return op(x, axis, exclusive=bool(exclusive), reverse=bool(reverse), name=scope)
