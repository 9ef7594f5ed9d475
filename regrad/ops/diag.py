"""Diagonals and bands of matrices. Gradients: `diag_grad.py`."""

import numpy as np

from regrad.core.dtypes import INDEX, NUMERIC, bool_
from regrad.core.errors import ShapeError
from regrad.core.opdef import Refusal, Spec, define_op, extent, fully_known, rank_at_least, rank_is, spec_text
from regrad.core.shapes import merge
from regrad.ops.layout import pad_with


# -- Diag: a tensor of rank r on the diagonal of one of rank 2r ---------------------------------------
def _diag_infer(x):
    rank_at_least(x, 1, "diagonal")
    return Spec(None if x.dims is None else x.dims * 2, x.dtype)


def _diag_lower(b, x):
    n = int(np.prod(x.shape))
    flat = b.np.reshape(x, (n,))
    return b.np.reshape(b.np.where(np.eye(n, dtype=bool), flat, b.np.zeros_like(flat)), x.shape * 2)


def _diag_part_infer(x):
    if x.dims is None:
        return Spec(None, x.dtype)
    r = len(x.dims) // 2
    if len(x.dims) % 2 or not r:
        raise ShapeError(f"Input must have even and non-zero rank, got {spec_text(x)}")
    for d, e in zip(x.dims[:r], x.dims[r:]):
        if None not in (d, e) and d != e:
            raise ShapeError(f"Dimensions must be equal, but are {d} and {e}, in both halves of the shape {spec_text(x)}")
    return Spec(merge(x.dims[:r], x.dims[r:]), x.dtype)


def _diag_part_lower(b, x):
    shape = x.shape[:len(x.shape) // 2]
    n = int(np.prod(shape))
    return b.np.reshape(b.np.diagonal(b.np.reshape(x, (n, n))), shape)


_NUMBERS = NUMERIC | {bool_}
diag_op = define_op("Diag", "diagonal: T", types={"T": _NUMBERS}, infer=_diag_infer, lower=_diag_lower)
diagpart_op = define_op("DiagPart", "input: T", types={"T": _NUMBERS}, infer=_diag_part_infer, lower=_diag_part_lower)


def diag(diagonal, name=None):
    """Returns a tensor of twice the rank, zero but for out[i, ..., i, ...] = diagonal[i, ...]."""
    return diag_op(diagonal, name=name)


def diag_part(input, name=None):
    """Returns the diagonal of a tensor [d1 ... dr, d1 ... dr]: out[i, ...] = input[i, ..., i, ...]."""
    return diagpart_op(input, name=name)


tensor_diag = diag
tensor_diag_part = diag_part


# -- diagonals of (batches of) matrices: k, or a range of them -----------------------------------------------
# Several diagonals are rows of a matrix, from the highest down, each as long as the longest: shorter ones
# have their padding on the right ("LEFT" aligned) or on the left. Diagonal d holds the elements [i, i + d].
_ALIGN = {"LEFT_LEFT", "RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT"}


def _diagonals(k):
    """Returns (lowest, highest) diagonal from the value of `k`, a scalar or a pair."""
    k = np.ravel(k)
    if k.size not in (1, 2) or k[0] > k[-1]:
        raise ShapeError(f"k must be an int or a pair (lowest, highest), got {k.tolist()}")
    return int(k[0]), int(k[-1])


def _length(d, rows, cols):
    return max(min(rows + min(d, 0), cols - max(d, 0)), 0)


def _longest(low, high, rows, cols):
    return min(rows + min(high, 0), cols - max(low, 0))


def _check_range(low, high, rows, cols):
    for k in (low, high):
        if k and not -rows < k < cols:
            raise ShapeError(f"k {k} must be in ({-rows}, {cols}) for matrices of {rows} rows and {cols} "
                             "columns")


def _right_aligned(d, align):
    """True when the elements of diagonal `d` stand at the right end of its row."""
    upper, lower = align.split("_")
    return not (d >= 0 and upper == "LEFT" or d <= 0 and lower == "LEFT")


def _placed(b, diagonals, low, high, rows, cols, align):
    """Yields (mask [rows, cols], values [..., 1, cols]) for each diagonal: where it is, what stands there."""
    several = low < high
    longest = diagonals.shape[-1]
    for d in range(low, high + 1):
        n = _length(d, rows, cols)
        row = diagonals[..., high - d, :] if several else diagonals
        start = longest - n if _right_aligned(d, align) else 0
        left = max(d, 0)
        row = pad_with(b, row[..., start:start + n], [(0, 0)] * (row.ndim - 1) + [(left, cols - left - n)])
        yield b.np.eye(rows, cols, d, dtype=bool), row[..., None, :]


def _matrix_size(low, high, longest, num_rows, num_cols):
    """Returns rows and columns of the matrix; -1 asks for the least that fits, twice for a square."""
    rows, cols = longest - min(high, 0), longest + max(low, 0)
    given_rows, given_cols = num_rows, num_cols
    if num_rows == num_cols == -1:
        num_rows = num_cols = max(rows, cols)
    num_rows = rows if num_rows == -1 else num_rows
    num_cols = cols if num_cols == -1 else num_cols
    if num_rows < rows or num_cols < cols or num_rows != rows and num_cols != cols:
        raise ShapeError(f"num_rows {given_rows} and num_cols {given_cols} do not fit diagonals {low} to "
                         f"{high} of length {longest}: at least {rows} and {cols}, and one of them just that")
    return num_rows, num_cols


def _check_align(align):
    if align not in _ALIGN:
        raise ValueError(f"align must be one of {', '.join(sorted(_ALIGN))}, got {align!r}")


def _matrix_diag_infer(x, k, num_rows, num_cols, padding, *, align):
    _check_align(align)
    rank_at_least(x, 1, "diagonal: diagonal must be at least 1-dim")
    if x.dims is None or k.value() is None:
        return Spec(None, x.dtype)
    low, high = _diagonals(k.value())
    several = low < high
    if several and (len(x.dims) < 2 or x.dims[-2] not in (None, high - low + 1)):
        raise ShapeError(f"diagonal must have {high - low + 1} rows for k = ({low}, {high}), got "
                         f"{spec_text(x)}")
    batch, longest = x.dims[:-1 - several], x.dims[-1]
    rows, cols = num_rows.partial(), num_cols.partial()
    if None in (longest, rows, cols):
        return Spec((*batch, None if rows == -1 else rows, None if cols == -1 else cols), x.dtype)
    return Spec((*batch, *_matrix_size(low, high, longest, rows, cols)), x.dtype)


def _matrix_diag_lower(b, x, k, num_rows, num_cols, padding, *, align):
    low, high = _diagonals(k)
    rows, cols = _matrix_size(low, high, x.shape[-1], int(num_rows), int(num_cols))
    out = b.np.broadcast_to(padding, (*x.shape[:-1 - (low < high)], rows, cols))
    for mask, values in _placed(b, x, low, high, rows, cols, align):
        out = b.np.where(mask, values, out)
    return out


matrixdiag_op = define_op("MatrixDiagV2", "diagonal: T, k: int32, num_rows: int32, num_cols: int32, "
                          "padding_value: T",
                          attrs={"align": "LEFT_LEFT"}, static=(1, 2, 3), infer=_matrix_diag_infer,
                          lower=_matrix_diag_lower)


def _matrix_diag_part_infer(x, k, padding, *, align):
    _check_align(align)
    rank_at_least(x, 2, "input: input must be at least 2-dim")
    if x.dims is None or k.value() is None:
        return Spec(None, x.dtype)
    return Spec(_dims_of_diagonals(x, *_diagonals(k.value())), x.dtype)


def _dims_of_diagonals(x, low, high):
    """Returns the sizes of what holds the diagonals `low` to `high` of the matrices `x`; of one alone there is no axis."""
    rows, cols = x.dims[-2:]
    longest = None
    if None not in (rows, cols):
        _check_range(low, high, rows, cols)
        longest = _longest(low, high, rows, cols)
    return (*x.dims[:-2], *((high - low + 1,) if low < high else ()), longest)


def _matrix_diag_part_lower(b, x, k, padding, *, align):
    low, high = _diagonals(k)
    rows, cols = x.shape[-2:]
    longest = _longest(low, high, rows, cols)
    parts = []
    for d in range(high, low - 1, -1):
        part, n = b.np.diagonal(x, d, -2, -1), _length(d, rows, cols)
        if n < longest:
            start = longest - n if _right_aligned(d, align) else 0
            part = pad_with(b, part, [(0, 0)] * (part.ndim - 1) + [(start, longest - n - start)])
            i = np.arange(longest)
            part = b.np.where((i >= start) & (i < start + n), part, padding)
        parts.append(part)
    return b.np.stack(parts, -2) if low < high else parts[0]


matrixdiagpart_op = define_op("MatrixDiagPartV2", "input: T, k: int32, padding_value: T",
                              attrs={"align": "LEFT_LEFT"},
                              static=(1,), infer=_matrix_diag_part_infer, lower=_matrix_diag_part_lower)


def _matrix_set_diag_infer(x, diagonal, k, *, align):
    _check_align(align)
    rank_at_least(x, 2, "input: input must be at least 2-dim")
    rank_at_least(diagonal, 1, "diagonal: diagonal must be at least 1-dim")
    if x.dims is None and diagonal.dims is not None and k.value() is not None:
        several = np.size(k.value()) > 1
        return Spec((*diagonal.dims[:-1 - several], None, None), x.dtype)
    if x.dims is None or diagonal.dims is None or k.value() is None:
        return Spec(x.dims, x.dtype)
    low, high = _diagonals(k.value())
    dims = merge(_dims_of_diagonals(x, low, high), diagonal.dims,
                 f"diagonals {low} to {high} of {spec_text(x)} and the ones given:")
    return Spec((*dims[:len(x.dims) - 2], *x.dims[-2:]), x.dtype)


def _matrix_set_diag_lower(b, x, diagonal, k, *, align):
    for mask, values in _placed(b, diagonal, *_diagonals(k), *x.shape[-2:], align):
        x = b.np.where(mask, values, x)
    return x


matrixsetdiag_op = define_op("MatrixSetDiagV2", "input: T, diagonal: T, k: int32",
                             attrs={"align": "LEFT_LEFT"},
                             static=(2,), infer=_matrix_set_diag_infer, lower=_matrix_set_diag_lower)


def matrix_diag(diagonal, name="diag", k=0, num_rows=-1, num_cols=-1, padding_value=0, align="LEFT_LEFT"):
    """Returns (batches of) matrices with the given diagonals, and `padding_value` elsewhere.

    Args:
      diagonal: [..., n], or [..., number of diagonals, length of the longest] when `k` is a pair.
      k: the diagonal (0 the main one, positive above), or the pair (lowest, highest).
      num_rows, num_cols: size of the matrices; -1 takes the least that fits, both -1 a square.
      padding_value: scalar.
      align: where in their rows short diagonals above and below the main one stand, "LEFT_LEFT" for instance.
    """
    return matrixdiag_op(diagonal, k, num_rows, num_cols, _padding(padding_value, diagonal), align=align, name=name)


def matrix_diag_part(input, name="diag_part", k=0, padding_value=0, align="LEFT_LEFT"):
    """Returns the diagonals of (batches of) matrices, shaped and aligned as `matrix_diag` takes them."""
    return matrixdiagpart_op(input, k, _padding(padding_value, input), align=align, name=name)


def _padding(value, given):
    """Returns what pads `given`: of truth values the default 0 is False."""
    return bool(value) if isinstance(value, int) and getattr(given, "dtype", None) in (bool_, np.bool_) else value


def matrix_set_diag(input, diagonal, name="set_diag", k=0, align="LEFT_LEFT"):
    """Returns (batches of) matrices with diagonals replaced; these are shaped as `matrix_diag` takes them."""
    return matrixsetdiag_op(input, diagonal, k, align=align, name=name)


# -- MatrixBandPart ------------------------------------------------------------------------------
def _band_infer(x, num_lower, num_upper):
    rank_at_least(x, 2, "input")
    for v, what in ((num_lower, "num_lower"), (num_upper, "num_upper")):
        rank_is(v, 0, what)
    for v, what, axis, size in ((num_lower, "num_lower", -2, "rows"), (num_upper, "num_upper", -1, "columns")):
        n, most = v.partial(), None if x.dims is None else x.dims[axis]
        if None not in (n, most) and n > most:
            raise ShapeError(f"{what} must be negative or less or equal to number of {size} ({most}), got {n}")
    return Spec(x.dims, x.dtype)


def _band_lower(b, x, num_lower, num_upper):
    below = b.np.arange(x.shape[-2])[:, None] - b.np.arange(x.shape[-1])  # how far below the main diagonal
    inside = ((num_lower < 0) | (below <= num_lower)) & ((num_upper < 0) | (-below <= num_upper))
    return b.np.where(inside, x, b.np.zeros((), x.dtype))


matrixbandpart_op = define_op("MatrixBandPart", "input: T, num_lower: Tindex, num_upper: Tindex",
                              types={"Tindex": INDEX}, infer=_band_infer, lower=_band_lower)
matrixbandpart_op.declare(refusal=Refusal(
    "num_lower and num_upper must be negative or less or equal to the number of rows and columns",
    lambda b, result, x, num_lower, num_upper: (num_lower > x.shape[-2]) | (num_upper > x.shape[-1]),
    never=lambda x, num_lower, num_upper: fully_known(x.dims) and extent(num_lower)[1] <= x.dims[-2] and (
        extent(num_upper)[1] <= x.dims[-1])))


def matrix_band_part(input, num_lower, num_upper, name=None):
    """Returns (batches of) matrices with zeros outside a band around the main diagonal.

    Args:
      input: [..., rows, columns].
      num_lower, num_upper: how many diagonals below and above to keep; negative keeps all.
    """
    return matrixbandpart_op(input, num_lower, num_upper, name=name)
