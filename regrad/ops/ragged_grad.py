"""Gradient rules for `ragged.py`: both only move values."""

from regrad.core.gradient_registry import RegisterGradient
from regrad.ops.array import reshape_like, shape
from regrad.ops.generate import range as range_
from regrad.ops.ragged import raggedgather_op
from regrad.ops.segment import unsorted_segment_sum


@RegisterGradient("RaggedTensorToSparse")
def _sparse_grad(op, dindices, dvalues, dshape):
    *splits, values = op.inputs
    return *(None for _ in splits), reshape_like(dvalues, values)


@RegisterGradient("RaggedGather")
def _gather_grad(op, *grads):
    *splits, values, indices = op.inputs
    count = shape(values)[0]
    numbers = raggedgather_op(splits, range_(count), indices, OUTPUT_RAGGED_RANK=len(op.outputs) - 1)[-1]
    return *(None for _ in splits), unsorted_segment_sum(grads[-1], numbers, count), None
