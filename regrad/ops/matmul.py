"""Matrix products. Gradients: `matmul_grad.py`."""

import functools

from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import NUMERIC
from regrad.core.errors import ShapeError
from regrad.core.facts import Product
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec, define_op, rank_at_least, rank_is, spec_text
from regrad.core.shapes import broadcast, text
from regrad.runtime.products import product


def _inner(a, b, adims, bdims, ta, tb):
    n, k = adims[::-1] if ta else adims
    k2, m = bdims[::-1] if tb else bdims
    if None not in (k, k2) and k != k2:
        raise ShapeError(f"Dimensions must be equal, but are {k} and {k2}: the inner sizes of a, {spec_text(a)}, and b, "
                         f"{spec_text(b)} (transpose_a={ta}, transpose_b={tb}). Matrix size-incompatible: "
                         f"In[0]: {text(a.dims)}, In[1]: {text(b.dims)}")
    return n, m


def _matmul_infer(a, b, *, transpose_a, transpose_b):
    for x, what in ((a, "a"), (b, "b")):
        if x.dims is not None and len(x.dims) == 1:
            raise ShapeError(f"Shape must be rank 2 but is rank 1 for {what}, {spec_text(x)}; tf.tensordot(a, b, 1) multiplies "
                             "vectors, too")
        rank_is(x, 2, what)
    n, m = _inner(a, b, a.dims or (None, None), b.dims or (None, None), transpose_a, transpose_b)
    return Spec((n, m), a.dtype)


def _matmul_lower(b, x, y, *, transpose_a, transpose_b):
    return product(b, x, y, transpose_a, transpose_b)


matmul_op = define_op("MatMul", "a, b", attrs={"transpose_a": False, "transpose_b": False}, types={"T": NUMERIC},
                      infer=_matmul_infer, lower=_matmul_lower)


def _batch_matmul_infer(x, y, *, adj_x, adj_y):
    if x.dims is None or y.dims is None:
        return Spec(None, x.dtype)
    for t, what in ((x, "x"), (y, "y")):
        rank_at_least(t, 2, what)
    n, m = _inner(x, y, x.dims[-2:], y.dims[-2:], adj_x, adj_y)
    return Spec(broadcast(x.dims[:-2], y.dims[:-2]) + (n, m), x.dtype)


def _adjoint(b, x):
    return b.np.conj(b.np.swapaxes(x, -1, -2)) if x.dtype.kind == "c" else b.np.swapaxes(x, -1, -2)


_FEW_TERMS, _SMALL = 16, 16_384  # terms of a sum and numbers of a matrix for which XLA's products of many take 2 to 40 times


def _batch_matmul_lower(b, x, y, *, adj_x, adj_y):
    if not b.is_host and x.dtype.kind == "f" and x.dtype.itemsize >= 4:
        terms, rows = x.shape[-2:] if adj_x else x.shape[:-3:-1]
        columns = y.shape[-2 if adj_y else -1]
        if 0 < terms <= _FEW_TERMS and rows * columns <= _SMALL:
            # A call, so that nothing is computed again for each of the terms; there it would read a transposed y slowly.
            return b.call(functools.partial(_term_by_term, b, adj_x), [x, _adjoint(b, y) if adj_y else y])
        if adj_x and columns > 1:
            x, adj_x = b.lax.optimization_barrier(_adjoint(b, x)), False
    return b.np.matmul(_adjoint(b, x) if adj_x else x, _adjoint(b, y) if adj_y else y).astype(x.dtype, copy=False)


def _term_by_term(b, adj_x, x, y):
    x = _adjoint(b, x) if adj_x else x
    terms = [x[..., k:k + 1] * y[..., k:k + 1, :] for k in range(y.shape[-2])]
    return functools.reduce(b.np.add, terms)


def of_matrices(op, dims, made):
    """Returns how many multiply-adds a product of matrices takes that makes so many elements."""
    transposed = op.attrs.get("transpose_a") or op.attrs.get("adj_x")
    return made * dims[0][-2 if transposed else -1] if dims[0] else 0


batchmatmul_op = define_op("BatchMatMulV2", "x, y", attrs={"adj_x": False, "adj_y": False}, types={"T": NUMERIC},
                           infer=_batch_matmul_infer, lower=_batch_matmul_lower)
for _op in (matmul_op, batchmatmul_op):
    _op.declare(cost="heavy", product=Product(multiply_adds=of_matrices))


def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False,
           b_is_sparse=False, name=None):
    """Multiplies matrix `a` ([..., n, k]) by matrix `b` ([..., k, m]), giving [..., n, m].

    Args:
      a, b: tensors of rank 2 or more and one numeric dtype; leading axes are batches and broadcast.
      transpose_a, transpose_b: use the transpose of that operand; its last two sizes then swap.
      adjoint_a, adjoint_b: use its conjugate transpose.
      a_is_sparse, b_is_sparse: accepted; the product is computed densely.

    Raises:
      ShapeError: (a ValueError) an operand has less than 2 axes, or the inner sizes differ.
      ValueError: both the transpose and the adjoint of an operand are asked for.

    Example:
      a = tf.constant([[1.0, 2.0]])
      print(*tf.Session().run([tf.matmul(a, [[3.0], [4.0]]), tf.matmul(a, a, transpose_b=True)]))
      #> [[11.]] [[5.]]
    """
    from regrad.ops.complex import conj

    with get_default_graph().name_scope(name or "MatMul") as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b", dtype=None if hasattr(b, "_as_graph_element") else a.dtype)
        if any(x.rank is None or x.rank > 2 for x in (a, b)):
            # BatchMatMulV2 knows adjoints; a plain transpose of complex numbers is the adjoint of the conjugate.
            a = conj(a) if transpose_a else a
            b = conj(b) if transpose_b else b
            return batchmatmul_op(a, b, adj_x=transpose_a or adjoint_a, adj_y=transpose_b or adjoint_b, name=scope)
        a = conj(a) if adjoint_a else a
        b = conj(b) if adjoint_b else b
        return matmul_op(a, b, transpose_a=transpose_a or adjoint_a, transpose_b=transpose_b or adjoint_b, name=scope)


def batch_matmul(x, y, adj_x=False, adj_y=False, name=None):
    """Multiplies batches of matrices; the batch axes broadcast. `adj_x`, `adj_y` use the conjugate transpose."""
    return batchmatmul_op(x, y, adj_x=adj_x, adj_y=adj_y, name=name or "BatchMatMul")
