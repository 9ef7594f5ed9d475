"""Products of matrices: by the backend, or by `products.c` where that is the faster one.

XLA gives a product to one core unless its second operand is large. In a loop's turn, or in a step of an unrolled one, nothing
else can be done meanwhile, so the other cores wait. `products.c` shares it out to XLA's own threads; building it is optional
(pyproject.toml), and without it XLA computes everything. Only float32.
"""

import ctypes
import functools
import importlib.machinery
import os

import numpy as np

from regrad.runtime import config, foreign

TARGET = "regrad_product"
_LEAST, _MOST = 2_000_000, 12_000_000  # products of numbers: below, waking a thread takes what it saves; XLA shares out more
_ROWS, _COLUMNS = 32, 64  # at least: of fewer, rearranging y takes the time
_TURNED = 128  # terms from which on XLA is faster at x' y when it has turned x first: YNNPACK does not take it as it is
_NARROW, _LEAST_NARROW, _MOST_NARROW = 32, 1_000_000, 50_000_000  # columns of x' y for which XLA takes twice the time
_MOST_LONG = 400_000_000  # products of numbers in x' y with sums longer than its sides, at which XLA is the slower, too


@functools.cache
def _library():
    """Returns what a C compiler made of products.c when Regrad was installed, or None."""
    base = os.path.join(os.path.dirname(__file__), "_products")
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if os.path.exists(base + suffix):
            try:
                return ctypes.CDLL(base + suffix)
            except OSError:  # made for another machine
                return None
    return None


def handler():
    """Returns the function that XLA calls, or None."""
    library = _library()
    return library and library.regrad_product


def available():
    """True where compiled programs may use `products.c`: it was built, is not switched off, and there are cores to share."""
    return bool(config.native and (config.threads or os.cpu_count() or 1) > 1 and _library())


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
