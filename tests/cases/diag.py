"""Rows for `regrad/ops/diag.py`."""

import numpy as np

import regrad as tf
from regrad.ops import diag
from tests.cases import Bad, Case

ALIGN = ("LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT")
ALL = ("float16", "float32", "complex64", "int32")


def floats(*shape):
    return tf.placeholder("float32", shape)


def right(d, align):
    upper, lower = align.split("_")
    return (upper == "RIGHT") if d > 0 else (lower == "RIGHT") if d < 0 else align == "RIGHT_RIGHT"


def places(low, high, rows, cols, align):
    """Yields (row among the diagonals, place in it, row of the matrix, column) of each element."""
    longest = max(len(np.diagonal(np.zeros((rows, cols)), d)) for d in range(low, high + 1))
    for d in range(low, high + 1):
        n = len(np.diagonal(np.zeros((rows, cols)), d))
        for i in range(n):
            yield high - d, i + (longest - n if right(d, align) else 0), i - min(d, 0), i + max(d, 0)


def matrix(x, pad, low, high, rows, cols, align="LEFT_LEFT", into=None):
    x = x if low < high else x[..., None, :]
    out = np.broadcast_to(pad, (*x.shape[:-2], rows, cols)).astype(x.dtype) if into is None else into.copy()
    for band, i, r, c in places(low, high, rows, cols, align):
        out[..., r, c] = x[..., band, i]
    return out


def part(x, pad, low, high, align="LEFT_LEFT"):
    rows, cols = x.shape[-2:]
    longest = max(i for _, i, _, _ in places(low, high, rows, cols, align)) + 1
    out = np.broadcast_to(pad, (*x.shape[:-2], high - low + 1, longest)).astype(x.dtype)
    for band, i, r, c in places(low, high, rows, cols, align):
        out[..., band, i] = x[..., r, c]
    return out if low < high else out[..., 0, :]


def diag_case(shape, k, rows, cols, align="LEFT_LEFT", num=(-1, -1), **more):
    low, high = k if isinstance(k, tuple) else (k, k)
    return Case("MatrixDiagV2", lambda x, p: diag.matrix_diag(x, k=k, num_rows=num[0], num_cols=num[1],
                                                              padding_value=p, align=align),
                lambda x, p: matrix(x, p, low, high, rows, cols, align), (shape, ()),
                note=f"k={k}{align}{num}", **more)


def part_case(shape, k, align="LEFT_LEFT", **more):
    low, high = k if isinstance(k, tuple) else (k, k)
    return Case("MatrixDiagPartV2", lambda x, p: diag.matrix_diag_part(x, k=k, padding_value=p, align=align),
                lambda x, p: part(x, p, low, high, align), (shape, ()), note=f"k={k}{align}", **more)


def set_case(shape, diagonal, k, align="LEFT_LEFT", **more):
    low, high = k if isinstance(k, tuple) else (k, k)
    return Case("MatrixSetDiagV2", lambda x, d: diag.matrix_set_diag(x, d, k=k, align=align),
                lambda x, d: matrix(d, 0, low, high, *x.shape[-2:], align, into=x), (shape, diagonal),
                note=f"k={k}{align}", **more)


def band(x, lower, upper):
    i, j = np.indices(x.shape[-2:])
    return np.where((lower < 0) | (i - j <= lower), x, 0) * ((upper < 0) | (j - i <= upper))


CASES = [
    Case("Diag", diag.diag, np.diag, ((3,),), dtypes=ALL),
    Case("Diag", diag.diag, lambda x: np.diag(x.ravel()).reshape(2, 3, 2, 3), ((2, 3),), note="matrix"),
    Case("DiagPart", diag.diag_part, np.diag, ((3, 3),), dtypes=ALL),
    Case("DiagPart", diag.diag_part, lambda x: np.diag(x.reshape(6, 6)).reshape(2, 3), ((2, 3, 2, 3),),
         note="rank 4"),
    Case("Diag", diag.diag, lambda x: np.zeros((0, 0)), ((0,),), note="empty"),
    diag_case((2, 3), 0, 3, 3, dtypes=ALL),
    diag_case((3,), 1, 4, 4),
    diag_case((2, 3), -2, 5, 4, num=(-1, 4)),
    diag_case((2,), 0, 2, 4, num=(2, 4)),
    *(diag_case((2, 3, 3), (-1, 1), 3, 3, align) for align in ALIGN),
    diag_case((2, 2, 3), (1, 2), 4, 4),
    diag_case((0, 3), 0, 3, 3),
    part_case((2, 3, 4), 0, dtypes=ALL),
    part_case((3, 4), 2),
    part_case((3, 4), -1),
    *(part_case((2, 3, 4), (-2, 1), align) for align in ALIGN),
    part_case((4, 3), (-3, -1)),
    set_case((2, 3, 4), (2, 3), 0, dtypes=ALL),
    set_case((3, 4), (2,), 2),
    *(set_case((2, 3, 4), (2, 4, 3), (-2, 1), align) for align in ALIGN),
    Case("MatrixBandPart", lambda x: diag.matrix_band_part(x, 1, 0), lambda x: band(x, 1, 0), ((2, 3, 4),),
         dtypes=ALL),
    Case("MatrixBandPart", lambda x: diag.matrix_band_part(x, -1, 1), lambda x: band(x, -1, 1), ((4, 3),),
         note="all below"),
    Case("MatrixBandPart", lambda x, n: diag.matrix_band_part(x, n, n), lambda x, n: band(x, n, n),
         ((3, 3), np.array(1)), note="at run time"),
    Case("MatrixBandPart", lambda x: diag.matrix_band_part(x, 0, -1), lambda x: x, ((0, 2),), note="empty"),
    Bad("Diag", lambda: diag.diag(floats()), ValueError, "at least rank 1"),
    Bad("Diag", lambda: diag.diag(["a"]), TypeError, "string"),
    Bad("DiagPart", lambda: diag.diag_part(floats(2, 2, 2)), ValueError, "even and non-zero rank"),
    Bad("DiagPart", lambda: diag.diag_part(floats(2, 3)), ValueError, "halves of the shape"),
    Bad("MatrixDiagV2", lambda: diag.matrix_diag(floats(2), k=(1, 0)), ValueError, "lowest, highest"),
    Bad("MatrixDiagV2", lambda: diag.matrix_diag(floats(2, 3), k=(0, 2)), ValueError, "3 rows for k"),
    Bad("MatrixDiagV2", lambda: diag.matrix_diag(floats(3), num_rows=2), ValueError, "do not fit"),
    Bad("MatrixDiagV2", lambda: diag.matrix_diag(floats(3), num_rows=4, num_cols=4), ValueError,
        "one of them just that"),
    Bad("MatrixDiagV2", lambda: diag.matrix_diag(floats(3), align="LEFT"), ValueError,
        "align must be one of"),
    Bad("MatrixDiagPartV2", lambda: diag.matrix_diag_part(floats(3, 2), k=2), ValueError,
        r"k 2 must be in \(-3, 2\)"),
    Bad("MatrixDiagPartV2", lambda: diag.matrix_diag_part(floats(3)), ValueError, "at least rank 2"),
    Bad("MatrixSetDiagV2", lambda: diag.matrix_set_diag(floats(3, 3), floats(2)), ValueError,
        r"\[3\] and \[2\]"),
    Bad("MatrixSetDiagV2", lambda: diag.matrix_set_diag(floats(3, 3), floats(2), k=-3), ValueError,
        "k -3 must be in"),
    Bad("MatrixBandPart", lambda: diag.matrix_band_part(floats(3), 0, 0), ValueError, "at least rank 2"),
    Bad("MatrixBandPart", lambda: diag.matrix_band_part(floats(3, 3), [0], 0), ValueError,
        "must be rank 0"),
]
