"""Gradient rules for `segment.py`: they count segments by the gradient's rows, and so compile."""

from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import math
from regrad.ops.array import ones_like, shape, zeros_like
from regrad.ops.compare import equal, greater, select
from regrad.ops.complex import conj
from regrad.ops.segment import gathersegments_op, unsortedsegmentprod_op, unsortedsegmentsum_op


@RegisterGradient("UnsortedSegmentSum")
def _unsortedsegmentsum_grad(op, dy):
    return gathersegments_op(dy, op.inputs[1]), None, None


@RegisterGradient("GatherSegments")
def _gathersegments_grad(op, dy):
    segments, ids = op.inputs
    return unsortedsegmentsum_op(dy, ids, shape(segments)[0]), None


@RegisterGradient("SegmentSum")
def _segmentsum_grad(op, dy):
    return gathersegments_op(dy, op.inputs[1]), None


def _nothing_for_the_rest(op, dx):
    return [dx] + [None] * (len(op.inputs) - 1)


@RegisterGradient("SegmentMean")
def _segmentmean_grad(op, dy):
    x, ids = op.inputs
    counts = unsortedsegmentsum_op(ones_like(x), ids, shape(dy)[0])
    return gathersegments_op(math.div_no_nan(dy, counts), ids), None


def _extreme_grad(op, dy):
    # Equal extremes share the gradient equally, as in TF.
    x, ids = op.inputs[:2]
    chosen = math.cast(equal(x, gathersegments_op(op.outputs[0], ids)), dy.dtype)
    share = math.div_no_nan(dy, unsortedsegmentsum_op(chosen, ids, shape(dy)[0]))
    return _nothing_for_the_rest(op, chosen * gathersegments_op(share, ids))


for _op_type in ("SegmentMax", "SegmentMin", "UnsortedSegmentMax", "UnsortedSegmentMin"):
    RegisterGradient(_op_type)(_extreme_grad)


def _prod_grad(op, dy):
    # dx = dy times the product of the others in the segment: y / x, or for a zero that of all that are not
    # zero, unless there is another zero among them.
    x, ids = op.inputs[:2]
    n = shape(dy)[0]
    zero = equal(x, zeros_like(x))
    zeros = unsortedsegmentsum_op(math.cast(zero, dy.dtype.real_dtype), ids, n)
    others = select(zero, ones_like(x), x)
    product = unsortedsegmentprod_op(others, ids, n)
    alone = select(greater(zeros, ones_like(zeros)), zeros_like(product), product)
    rest = select(zero, gathersegments_op(alone, ids), gathersegments_op(op.outputs[0], ids) / others)
    return _nothing_for_the_rest(op, gathersegments_op(dy, ids) * conj(rest))


for _op_type in ("SegmentProd", "UnsortedSegmentProd"):
    RegisterGradient(_op_type)(_prod_grad)


# -- of gathered rows --------------------------------------------------------------------------
def _sparse(divisor):
    def rule(op, dy):
        x, indices, ids = op.inputs[:3]
        rows = gathersegments_op(dy, ids)
        if divisor is not None:
            counts = unsortedsegmentsum_op(ones_like(rows), ids, shape(dy)[0])
            rows = gathersegments_op(math.div_no_nan(dy, divisor(counts)), ids)
        return _nothing_for_the_rest(op, unsortedsegmentsum_op(rows, indices, shape(x)[0]))

    return rule


for _op_type in ("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"):  # only graphs of TensorFlow have them
    NotDifferentiable(_op_type)

for _op_type, _divisor in (("SparseSegmentSum", None), ("SparseSegmentMean", lambda n: n),
                           ("SparseSegmentSqrtN", math.sqrt)):
    RegisterGradient(_op_type)(_sparse(_divisor))
    RegisterGradient(_op_type + "WithNumSegments")(_sparse(_divisor))
