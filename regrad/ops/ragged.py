"""Rows of different lengths, as values and the places where rows begin and end ("splits"): the two operations of them that have
gradients. There is no ragged tensor type. On the host, as the sizes depend on data. Gradients: `ragged_grad.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.dtypes import INDEX
from regrad.core.errors import BadValue, InvalidArgumentError
from regrad.core.opdef import Spec, define_op, rank_at_least, rank_is
from regrad.core.shapes import size_of


def _check_splits(splits, count):
    """Refuses splits that do not begin at 0, fall, or end elsewhere than at the number of values below them."""
    for i, s in enumerate(splits):
        below = len(splits[i + 1]) - 1 if i + 1 < len(splits) else count
        if not len(s) or s[0] != 0:
            raise InvalidArgumentError(f"First value of ragged splits must be 0, got {s[:1].tolist()}")
        if (np.diff(s) < 0).any():
            raise InvalidArgumentError(f"Ragged splits should be non decreasing, got {s.tolist()}")
        if s[-1] != below:
            raise InvalidArgumentError(f"Final value of ragged splits must be the number of values below, {below}, got {s[-1]}")


# -- RaggedTensorToSparse ----------------------------------------------------------------------------
def _sparse_infer(splits, values):
    for s in splits:
        rank_is(s, 1, "rt_nested_splits, vectors")
    rank_at_least(values, 1, "rt_dense_values")
    if not splits:
        raise BadValue("RaggedTensorToSparse: rt_nested_splits must hold at least one vector")
    rank = None if values.dims is None else len(values.dims) + len(splits)
    count = size_of(values.dims)
    return [Spec((count, rank), dtypes.int64), Spec((count,), values.dtype), Spec((rank,), dtypes.int64)]


def _sparse_lower(b, splits, values):
    _check_splits(splits, len(values))
    at = np.arange(len(splits[0]) - 1)[:, None]  # the place of each row, found from outside to inside
    sizes = [len(splits[0]) - 1]
    for s in splits:
        lengths = np.diff(s)
        inner = np.arange(s[-1]) - np.repeat(s[:-1], lengths)
        at = np.column_stack([np.repeat(at, lengths, 0), inner])
        sizes.append(int(lengths.max(initial=0)))
    inside = np.stack(np.meshgrid(*map(np.arange, values.shape[1:]), indexing="ij"), -1).reshape(-1, values.ndim - 1) \
        if values.ndim > 1 else np.zeros((1, 0), np.int64)
    indices = np.column_stack([np.repeat(at, len(inside), 0), np.tile(inside, (len(at), 1))])
    return (indices.astype(np.int64).reshape(-1, len(sizes) + values.ndim - 1), values.reshape(-1),
            np.array([*sizes, *values.shape[1:]], np.int64))


raggedtensortosparse_op = define_op("RaggedTensorToSparse", "rt_nested_splits: N*Tsplits, rt_dense_values: T", host=True,
                                    single=False, types={"Tsplits": INDEX}, infer=_sparse_infer, lower=_sparse_lower)


# -- RaggedGather --------------------------------------------------------------------------------------
def _gather_infer(splits, values, indices, *, OUTPUT_RAGGED_RANK):
    for s in splits:
        rank_is(s, 1, "params_nested_splits, vectors")
    rank_at_least(values, 1, "params_dense_values")
    rank = OUTPUT_RAGGED_RANK
    if indices.dims is not None:
        rank = len(splits) + len(indices.dims) - 1
    if rank is None or OUTPUT_RAGGED_RANK not in (None, rank):
        raise BadValue(f"RaggedGather: OUTPUT_RAGGED_RANK must be the number of params_nested_splits, {len(splits)}, plus the "
                       f"rank of indices less 1, got {OUTPUT_RAGGED_RANK}")
    dims = None if values.dims is None else (None, *values.dims[1:])
    return [*(Spec((None,), splits[0].dtype) for _ in range(rank)), Spec(dims, values.dtype)]


def _gather_lower(b, splits, values, indices, *, OUTPUT_RAGGED_RANK):
    _check_splits(splits, len(values))
    rows = len(splits[0]) - 1
    bad = indices[(indices < 0) | (indices >= rows)]
    if bad.size:
        raise InvalidArgumentError(f"indices hold {bad.flat[0]}, which is not in [0, {rows})")
    out = []
    for size, count in zip(indices.shape[1:], np.cumprod(indices.shape)[:-1]):
        out.append(np.arange(count + 1) * size)  # the axes of the indices but the first: rows of equal length
    chosen = indices.reshape(-1).astype(np.int64)
    for s in splits:
        lengths = np.diff(s)[chosen]
        ends = np.cumsum(lengths)
        out.append(np.concatenate([[0], ends]))
        chosen = np.arange(lengths.sum()) + np.repeat(s[chosen] - (ends - lengths), lengths)
    if not indices.ndim:
        out = out[1:]
    return (*(s.astype(splits[0].dtype) for s in out), values[chosen])


raggedgather_op = define_op(
    "RaggedGather", "params_nested_splits: N*Tsplits, params_dense_values: T, indices: Tindices", host=True, single=False,
    types={"Tsplits": INDEX, "Tindices": INDEX}, attrs={"OUTPUT_RAGGED_RANK": None}, infer=_gather_infer, lower=_gather_lower)
