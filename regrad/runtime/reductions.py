"""Who computes a compiled program's reductions: XLA's own loops, or YNNPACK, the library of kernels that XLA brings along.

Most sums - of everything, of a batch, of long rows - take YNNPACK a tenth to a half of the time. Where few numbers make each
of very many results it takes ten to a hundred times as long, and its maximum of numbers among which is NaN is not NaN. XLA has
one option for a whole program, so the program's reductions are weighed against each other. The figures are nanoseconds
measured on two cores (benchmarks/NOTES.md).
"""

import math

import numpy as np

_LEAST, _FEW, _MANY_RESULTS = 16_384, 4096, 512  # numbers; between the first two, sums of all of them gain one call's time
_SHORT_ROW, _SHORT_COLUMN, _LONG_COLUMN = 32, 64, 256
_NARROW, _WIDE = 1024, 16_384  # columns
_REDUCTIONS = ("reduce_sum", "reduce_prod")
_LOSE_NAN = ("reduce_max", "reduce_min", "reduce_window_max", "reduce_window_min")
_UNKNOWN_TURNS = 10


def gain(shape, axes):
    """Returns the nanoseconds that YNNPACK saves at reducing floating numbers of `shape` over `axes`; negative: it costs."""
    size = math.prod(shape)
    if size < _FEW:
        return 0.0
    length = math.prod(shape[a] for a in axes)
    results = size // length
    if size < _LEAST:
        return 3000.0 if results == 1 else -8.0 * results if results > _MANY_RESULTS else 0.0
    rest = [i for i, d in enumerate(shape) if d > 1]  # the others make no difference
    row = 1
    while rest and rest[-1] in axes:
        row *= shape[rest.pop()]
    if row > 1:
        return 0.2 * size if row >= _SHORT_ROW else -8.0 * results
    columns = 1
    while rest and rest[-1] not in axes:
        columns *= shape[rest.pop()]
    if columns > _WIDE:
        return -5.0 * size
    if length < _SHORT_COLUMN:
        return -8.0 * results
    if length < _LONG_COLUMN:
        return -0.5 * size
    return 0.4 * size if columns <= _NARROW else 0.0


def library_gains(jaxpr):
    """Returns whether YNNPACK should compute the reductions of a traced program, a jaxpr."""
    return _total(jaxpr) > 0


# Loops over these are as fast or faster without LLVM's unswitching, which it does from level 3 on: it copies a loop for each
# condition that stays the same in it. Maxima, windows and padding are up to seven times as fast with it.
_NOT_UNSWITCHED = {
    "abs", "add", "add_any", "and", "broadcast_in_dim", "concatenate", "convert_element_type", "copy", "cummin", "div",
    "dot_general", "dynamic_slice", "dynamic_update_slice", "eq", "exp", "ffi_call", "gather", "integer_pow", "iota", "jit",
    "log", "logistic", "lt", "max", "mul", "ne", "neg", "not", "or", "pjit", "pow", "reduce_sum", "reshape", "rev", "rsqrt",
    "scan", "scatter", "scatter-add", "select_n", "shift_left", "shift_right_arithmetic", "sign", "slice", "sort", "split",
    "sqrt", "square", "squeeze", "sub", "tanh", "transpose", "while"}


def level(jaxpr):
    """Returns how hard LLVM is to optimise a traced program, 2 or 3."""
    return 2 if all(name in _NOT_UNSWITCHED for name in _primitives(jaxpr)) else 3


def _primitives(jaxpr):
    for eqn in jaxpr.eqns:
        yield eqn.primitive.name
        for inner in _within(eqn.params.values()):
            yield from _primitives(inner)


def _total(jaxpr):
    total = 0.0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in (*_REDUCTIONS, *_LOSE_NAN):
            operand = eqn.invars[0].aval
            if np.issubdtype(operand.dtype, np.inexact):
                total += gain(operand.shape, eqn.params["axes"]) if eqn.primitive.name in _REDUCTIONS else -np.inf
        else:
            turns = eqn.params.get("length", _UNKNOWN_TURNS) if eqn.primitive.name in ("scan", "while") else 1
            total += turns * sum(map(_total, _within(eqn.params.values())))
    return total


def _within(values):
    """Yields the jaxprs among the parameters of an operation: bodies, branches, functions that it calls."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _within(value)
        elif hasattr(value, "eqns"):
            yield getattr(value, "jaxpr", value)
