"""Products of matrices: by the backend, or by `products.c` where that is the faster one.

XLA gives a product to one core unless its second operand is large. In a loop's turn, or in a step of an unrolled one, nothing
else can be done meanwhile, so the other cores wait. `products.c` shares it out to XLA's own threads; building it is optional
(pyproject.toml), and without it XLA computes everything. Only float32.
"""

import itertools
import math

import numpy as np

from regrad.runtime import foreign, native
from regrad.runtime.loading import import_jax

TARGET, SUM_OF_ROWS, UNINITIALIZED = "regrad_product", "regrad_sum_of_rows", "regrad_uninitialized"
_LEAST, _MOST = 1_000_000, 12_000_000  # products of numbers: below, waking a thread takes what it saves; XLA shares out more
_ROWS, _COLUMNS = 32, 64  # at least: of fewer, rearranging y takes the time
_TURNED = 128  # terms from which on XLA is faster at x' y when it has turned x first: YNNPACK does not take it as it is
_NARROW, _LEAST_NARROW, _MOST_NARROW = 32, 1_000_000, 50_000_000  # columns of x' y for which XLA takes twice the time
_MOST_LONG = 400_000_000  # products of numbers in x' y with sums longer than its sides, at which XLA is the slower, too
_LEAST_EMPTY = 16_384  # numbers: fewer are written faster than a call is made
_numbers = itertools.count()


def available():
    """True where compiled programs may use `products.c`: it was built, is not switched off, and there are cores to share."""
    return native.threads() > 1 and native.available(TARGET)


def serves(b, rows, columns, inner, dtype, transpose_x=False):
    """True where `products.c` is to compute a product for the backend `b` (figures: benchmarks/NOTES.md)."""
    if b.is_host or dtype != np.float32:
        return False
    products = rows * columns * inner
    if transpose_x and columns <= _NARROW:
        worth = _LEAST_NARROW <= products <= _MOST_NARROW and rows >= _ROWS
    elif transpose_x and inner >= rows + columns:
        worth = _LEAST <= products <= _MOST_LONG and columns >= _COLUMNS
    else:
        worth = _LEAST <= products <= _MOST and rows >= _ROWS and columns >= _COLUMNS
    return worth and available() and foreign.register(TARGET) is not None


def product(b, x, y, transpose_x=False, transpose_y=False):
    """Returns the product of the matrices `x` and `y`, or of what they are transposed."""
    inner, rows = x.shape if transpose_x else x.shape[::-1]
    columns = y.shape[0 if transpose_y else 1]
    if transpose_x and columns == 1 and not b.is_host:  # a row times a matrix takes XLA a tenth of a matrix times a column
        return b.np.matmul(y if transpose_y else y.T, x).astype(x.dtype, copy=False).T
    if serves(b, rows, columns, inner, x.dtype, transpose_x):
        return foreign.call(TARGET, (rows, columns), np.float32, x, y, transposed=np.int32(transpose_x + 2 * transpose_y))
    if transpose_x and not b.is_host and inner >= _TURNED and x.dtype == np.float32:
        return b.np.matmul(b.lax.optimization_barrier(x.T), y.T if transpose_y else y)
    # NumPy multiplies bfloat16 in float32.
    return b.np.matmul(x.T if transpose_x else x, y.T if transpose_y else y).astype(x.dtype, copy=False)


def _how(eqn):
    """Returns how the operands of a jaxpr's equation are transposed, if it is a product by `products.c`; else None."""
    if eqn.primitive.name == "ffi_call" and eqn.params["target_name"] == TARGET:
        return int(dict(eqn.params["attributes"])["transposed"])
    return None


def turned(eqn, known):
    """Takes the turning of a matrix out of a product in a loop.

    Args:
      eqn: an equation of a turn's jaxpr.
      known: the variables that are the same in all turns.

    Returns:
      The equations to compute before the loop, and the one that takes the place of `eqn`. Only where `eqn` is a product by
      `products.c` whose second operand is such a variable and would be turned in each turn.
    """
    transposed = _how(eqn)
    if transposed is None or not transposed & 2 or eqn.invars[1] not in known:
        return [], eqn
    x, y = eqn.invars
    one = import_jax().make_jaxpr(lambda y: y.T)(y.aval).jaxpr.eqns[0]
    attributes = (("transposed", np.int32(transposed & 1)),)
    return ([one.replace(invars=[y])],
            eqn.replace(invars=[x, *one.outvars], params=eqn.params | {"attributes": attributes}))


def from_stack(jaxpr, row):
    """True if all equations of a jaxpr that read `row` can read it from a stack, and one of them is a product (of_stack)."""
    readers = [eqn for eqn in jaxpr.eqns if row in eqn.invars]
    return any(_how(eqn) is not None for eqn in readers) and all(of_stack(eqn, row) for eqn in readers)


def of_stack(eqn, row):
    """Returns how an equation of a jaxpr is computed from the stack that its operand `row` lies in, without copying it.

    Returns:
      A function of the stack, the position in it and the equation's other operands; None where there is none.
    """
    z, how = eqn.outvars[0].aval, _how(eqn)
    if eqn.primitive.name == "reduce_sum" and eqn.params["axes"] == (0,) and foreign.register(SUM_OF_ROWS) is not None:
        return lambda stack, at: foreign.call(SUM_OF_ROWS, z.shape, z.dtype, stack, at)
    if how in (0, 2) and len(eqn.invars) == 2 and row is eqn.invars[0] is not eqn.invars[1]:
        return lambda stack, at, y: foreign.call(TARGET, z.shape, z.dtype, stack, y, at, transposed=np.int32(how))
    return None


def uninitialized(shape, dtype):
    """Returns an array for a program that writes all of it before it reads any: zeros, or what is in the memory by chance."""
    if math.prod(shape) < _LEAST_EMPTY or not available() or foreign.register(UNINITIALIZED) is None:
        return import_jax().numpy.zeros(shape, dtype)
    # The number makes the calls different, so that XLA does not make one of them and copies of it.
    return foreign.call(UNINITIALIZED, shape, dtype, number=np.int32(next(_numbers)))
