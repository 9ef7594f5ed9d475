"""Reductions over groups of rows. Gradients: `segment_grad.py`."""

from regrad.core.dtypes import INDEX, NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.shapes import compatible
from regrad.ops.indexing import add_at


def _unsorted_infer(data, ids, num):
    n = num.partial()
    if isinstance(n, tuple):
        raise ShapeError(f"num_segments must be a scalar, got {spec_text(num)}")
    if n is not None and n < 0:
        raise ShapeError(f"num_segments must be at least 0, got {n}")
    if data.dims is None or ids.dims is None:
        return Spec(None, data.dtype)
    k = len(ids.dims)
    if k > len(data.dims) or not compatible(data.dims[:k], ids.dims):
        raise ShapeError(f"the shape of data, {spec_text(data)}, must start with the shape of segment_ids, {spec_text(ids)}")
    return Spec((n, *data.dims[k:]), data.dtype)


_UNSORTED = "data: T, segment_ids: Tindices, num_segments: Tnum"
_UNSORTED_TYPES = {"T": NUMERIC, "Tindices": INDEX, "Tnum": INDEX}

unsortedsegmentsum_op = define_op("UnsortedSegmentSum", _UNSORTED, types=_UNSORTED_TYPES, static=(2,),
                                  infer=_unsorted_infer, lower=lambda b, data, ids, num:
                                  _unsorted_sum(b, data, ids, num))  # fmt: skip


def _unsorted_sum(b, data, ids, num):
    if b.is_host:  # NumPy would count a negative index from the end; here it leaves the row out
        keep = ids >= 0
        data, ids = data[keep], ids[keep]
    return add_at(b, (int(num), *data.shape[len(ids.shape):]), (ids,), data)


def unsorted_segment_sum(data, segment_ids, num_segments, name=None):
    """Returns [num_segments, ...]: row i is the sum of the rows of `data` whose segment id is i.

    Args:
      data: numeric tensor whose shape starts with that of `segment_ids`.
      segment_ids: int32 or int64, in any order; rows with a negative id are left out.
      num_segments: scalar, above all ids.
    """
    return unsortedsegmentsum_op(data, segment_ids, num_segments, name=name)
