"""Gradient rules for `sparse.py`: to the values of sparse operands, and to dense ones."""

from regrad.core import dtypes
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.ops import sparse
from regrad.ops.array import concat, invert_permutation, reshape, shape, size, sum_to_like, transpose, zeros
from regrad.ops.compare import not_equal
from regrad.ops.complex import conj
from regrad.ops.generate import range as range_
from regrad.ops.indexing import gather, gather_nd, one_hot, scatter_nd
from regrad.ops.math import cast, realdiv_op
from regrad.ops.reduce import reduce_sum
from regrad.ops.segment import unsorted_segment_sum


# -- dense ----------------------------------------------------------------------------------------
@RegisterGradient("SparseToDense")
def _sparsetodense_grad(op, dy):
    indices, output_shape, values, _ = op.inputs
    at = reshape(indices, concat([[-1], shape(output_shape)], 0))
    there = gather_nd(dy, at)
    return None, None, sum_to_like(there, values), reduce_sum(dy) - reduce_sum(there)


@RegisterGradient("SparseTensorDenseMatMul")
def _sparsetensordensematmul_grad(op, dy):
    # y = A B: dA = dy B^H, of which only the elements that A has are wanted, and dB = A^H dy.
    indices, values, a_shape, b = op.inputs
    adjoint_a, adjoint_b = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns = columns, rows
    b = conj(transpose(b)) if adjoint_b else b
    dvalues = reduce_sum(gather(dy, rows) * conj(gather(b, columns)), 1)
    db = sparse.sparsetensordensematmul_op(indices, values, a_shape, dy, adjoint_a=not adjoint_a)
    return None, conj(dvalues) if adjoint_a else dvalues, None, conj(transpose(db)) if adjoint_b else db


def _at(indices, dense):
    """Returns the coordinates in `dense`, which may broadcast, of a sparse tensor's elements."""
    dims = shape(dense, out_type=dtypes.int64)
    own = indices[:, shape(indices)[1] - size(dims):]
    return own * cast(not_equal(dims, 1), dtypes.int64)


@RegisterGradient("SparseDenseCwiseMul")
def _sparsedensecwisemul_grad(op, dy):
    indices, values, _, dense = op.inputs
    at = _at(indices, dense)
    ddense = scatter_nd(at, dy * conj(values), shape(dense, out_type=dtypes.int64))
    return None, dy * conj(gather_nd(dense, at)), None, ddense


@RegisterGradient("SparseDenseCwiseDiv")
def _sparsedensecwisediv_grad(op, dy):
    indices, values, _, dense = op.inputs
    at = _at(indices, dense)
    divisor = conj(gather_nd(dense, at))
    dvalues = realdiv_op(dy, divisor)
    ddense = scatter_nd(at, -dvalues * realdiv_op(conj(values), divisor), shape(dense, out_type=dtypes.int64))
    return None, dvalues, None, ddense


@RegisterGradient("SparseTensorDenseAdd")
def _sparsetensordenseadd_grad(op, dy):
    return None, gather_nd(dy, op.inputs[0]), None, dy


# -- sums -----------------------------------------------------------------------------------------
def _picked(dvalues, indices, wanted):
    """Returns the gradients of the elements at `wanted` among those at `indices`, 0 for those that are not there."""
    return gather(concat([dvalues, zeros([1], dvalues.dtype)], 0), sparse.sparsepositions_op(indices, wanted))


@RegisterGradient("SparseAdd")
def _sparseadd_grad(op, _, dvalues, __):
    a_indices, _, _, b_indices, *_ = op.inputs
    total = op.outputs[0]
    return None, _picked(dvalues, total, a_indices), None, None, _picked(dvalues, total, b_indices), None, None


@RegisterGradient("SparseReduceSum")
def _sparsereducesum_grad(op, dy):
    # Each element gets the gradient of the sum it went into, whose coordinates are its own but for those summed over.
    indices, _, dims, axes = op.inputs
    rank = size(dims, out_type=axes.dtype)
    chosen = reduce_sum(one_hot((reshape(axes, [-1]) + rank) % rank, rank, dtype=dtypes.int64), 0)
    left = cast(chosen < 1, dtypes.int64)
    return None, gather_nd(reshape(dy, dims * left + (1 - left)), indices * left), None, None


# -- other elements, other places -------------------------------------------------------------------
@RegisterGradient("SparseReorder")
def _sparsereorder_grad(op, _, dvalues):
    indices, values, dims = op.inputs
    order = sparse.sparsereorder_op(indices, range_(size(values)), dims)[1]
    return None, gather(dvalues, invert_permutation(order)), None


@RegisterGradient("SparseSlice")
def _sparseslice_grad(op, _, dvalues, __):
    indices, _, _, start, _ = op.inputs
    return None, _picked(dvalues, op.outputs[0], indices - start), None, None, None


@RegisterGradient("SparseFillEmptyRows")
def _sparsefillemptyrows_grad(op, _, dvalues, *__):
    own = gather(dvalues, op.outputs[3])
    return None, own, None, reduce_sum(dvalues) - reduce_sum(own)


@RegisterGradient("SparseSoftmax")
def _sparsesoftmax_grad(op, dy):
    # As for softmax: y (dy - sum of y dy over the row).
    y = op.outputs[0]
    rows = sparse.sparserownumbers_op(op.inputs[0])
    return None, y * (dy - gather(unsorted_segment_sum(y * dy, rows, size(y)), rows)), None


for _op_type in ("SparseRowNumbers", "SparsePositions"):
    NotDifferentiable(_op_type)
