"""Contracts: what a gradient promises, checked in every run that computes it.

    tf.gradients(y, x, overrides={"Relu": rules.default >> expect(finite=True, norm=(1e-6, 1e3))})
    h = expect_gradient(h, nonzero=0.1)
"""

import numpy as np

from regrad.autodiff.rules import Transform, dense
from regrad.autodiff.transforms import block
from regrad.core import source
from regrad.core.graph import get_default_graph


def expect(finite=True, nonzero=None, norm=None):
    """Returns a Transform that passes a gradient on as it is, and fails the run when the gradient breaks its promise.

    Args:
      finite: True: no element is NaN or infinite.
      nonzero: least share of elements that are not 0.
      norm: (least, greatest) Euclidean norm; None for either end that is free.

    Raises:
      InvalidArgumentError: (when run) the promise is broken; the message has the operation, its line, and the number.
      ValueError: `nonzero` is no share, or `norm` no pair.
    """
    if nonzero is not None and not 0 <= nonzero <= 1:
        raise ValueError(f"expect: nonzero is a share between 0 and 1, got {nonzero!r}.")
    if norm is not None and not (isinstance(norm, (tuple, list)) and len(norm) == 2):
        raise ValueError(f"expect: norm is a pair (least, greatest), either of which may be None; got {norm!r}.")
    if norm is not None and None not in norm and norm[0] > norm[1]:
        raise ValueError(f"expect: norm is a pair (least, greatest), got {norm!r}: nothing lies between.")
    where = source.here()

    def kept(g, op):
        from regrad.ops import array, compare, math, reduce
        from regrad.ops.check import Assert

        g = dense(g)
        checks = []

        def check(condition, promise, *data):
            text = f"The gradient at {op.describe()} breaks the contract of {where}: {promise}"
            checks.append(Assert(condition, [text, *data]))

        if finite:
            check(reduce.reduce_all(math.is_finite(math.abs(g))), "it is to be finite")
        if nonzero is not None:
            moved = reduce.reduce_mean(math.cast(compare.not_equal(g, array.zeros_like(g)), np.float32))
            check(moved >= np.float32(nonzero), f"at least {nonzero:g} of it is to be other than 0; its share is", moved)
        if norm is not None:
            size = math.sqrt(reduce.reduce_sum(math.square(math.abs(g))))
            low, high = norm
            if low is not None:
                check(size >= size.dtype.as_numpy_dtype(low), f"its norm is to be at least {low:g}; it is", size)
            if high is not None:
                check(size <= size.dtype.as_numpy_dtype(high), f"its norm is to be at most {high:g}; it is", size)
        with get_default_graph().control_dependencies(checks):
            return array.identity(g)

    promises = [f"finite={finite}", nonzero is not None and f"nonzero={nonzero:g}", norm is not None and f"norm={norm}"]
    return Transform(kept, f"expect({', '.join(p for p in promises if p)})")


def expect_gradient(x, finite=True, nonzero=None, norm=None, name=None):
    """Returns `x`; a run that computes its gradient fails when the gradient breaks its promise. Arguments as of `expect`."""
    return block(x, expect(finite, nonzero, norm), name or "expect_gradient")
