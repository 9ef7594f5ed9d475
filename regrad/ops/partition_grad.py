"""Gradient rules for `partition.py`."""

import numpy as np

from regrad.core.convert import constant
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops.array import ones_like, reshape, reshape_like, shape, size
from regrad.ops.compare import equal, select
from regrad.ops.generate import range as range_
from regrad.ops.partition import dynamic_partition, dynamic_stitch
from regrad.ops.segment import gathersegments_op


@RegisterGradient("DynamicPartition")
def _dynamicpartition_grad(op, *grads):
    # The rows go back to the places they came from.
    data, partitions = op.inputs
    n, known = op.get_attr("num_partitions"), partitions.value()
    if known is None:
        places = reshape(range_(size(partitions)), shape(partitions))
        places = dynamic_partition(places, partitions, n)
    else:
        places = [constant(np.flatnonzero(known == i).astype(np.int32)) for i in range(n)]
    return reshape_like(dynamic_stitch(places, list(grads)), data), None


@RegisterGradient("DynamicStitch")
def _dynamicstitch_grad(op, dy):
    n = len(op.inputs) // 2
    indices = list(op.inputs[:n])
    if not _distinct(indices):
        indices = _last_writers(indices)
    return [None] * n + [gathersegments_op(dy, i) for i in indices]


def _distinct(indices):
    """True when it is known that no place is written twice."""
    values = [i.value() for i in indices]
    if any(v is None for v in values):
        return False
    flat = [int(e) for v in values for e in v.flat]
    return len(set(flat)) == len(flat)


def _last_writers(indices):
    """Returns the indices, -1 where a later row replaced the one written."""
    start, numbers = 0, []
    for i in indices:
        numbers.append(reshape(range_(start, start + size(i)), shape(i)))
        start = start + size(i)
    writer = dynamic_stitch(indices, numbers)
    kept = [equal(gathersegments_op(writer, i), number) for i, number in zip(indices, numbers)]
    return [select(k, i, -ones_like(i)) for k, i in zip(kept, indices)]


for _op_type in ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "ListDiff"):
    NotDifferentiable(_op_type)
