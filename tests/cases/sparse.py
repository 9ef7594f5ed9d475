"""Rows for `regrad/ops/sparse.py`: the ops, on indices, values and shapes one by one."""

import numpy as np

import regrad as tf
from regrad.core.errors import InvalidArgumentError
from regrad.ops import sparse
from tests.cases import Bad, Case, once

P = np.array
AT = P([[0, 1], [1, 0], [1, 3], [2, 2]])  # of a [3, 4] matrix
DIMS = P([3, 4])
UNSORTED = P([[1, 3], [0, 1], [2, 2], [1, 0]])
ALL = ("float16", "float32", "complex64")
COMPLEX = P([1 + 2j, -0.5j, 0.7 + 0.1j, -1.0])
NONE = np.zeros((0, 2), np.int64)


def dense(at, values, dims, default=0):
    out = np.full(tuple(dims), default, np.asarray(values).dtype)
    out[tuple(np.reshape(at, (-1, len(dims))).T)] = values
    return out


def to_dense(at, dims, values, default, **_):
    return dense(at, values, dims, default)


def product(at, values, dims, c, adjoint_a=False, adjoint_b=False):
    a = dense(at, values, dims)
    return (a.conj().T if adjoint_a else a) @ (c.conj().T if adjoint_b else c)


def cwise(function):
    return lambda at, values, dims, c: function(values, np.broadcast_to(c, tuple(dims))[tuple(at.T)])


def softmax(at, values, dims):
    out = np.empty_like(values)
    for row in {tuple(r) for r in at[:, :-1].tolist()}:
        mine = np.all(at[:, :-1] == row, axis=1)
        e = np.exp(values[mine] - values[mine].max())
        out[mine] = e / e.sum()
    return out


def total(at, values, dims, axes, keep_dims=False):
    return dense(at, values, dims).sum(tuple(np.atleast_1d(axes).tolist()), keepdims=keep_dims)


CASES = [
    Case("SparseToDense", sparse.sparsetodense_op, to_dense, (AT, DIMS, (4,), ()), dtypes=ALL),
    Case("SparseToDense", sparse.sparsetodense_op, to_dense, (P([1, 3]), P([5]), (2,), ()), note="vector"),
    Case("SparseToDense", sparse.sparsetodense_op, to_dense, (P(2), P([4]), (), ()), note="scalar"),
    Case("SparseToDense", sparse.sparsetodense_op, to_dense, (AT, DIMS, (), ()), note="one value for all"),
    Case("SparseToDense", sparse.sparsetodense_op, to_dense, (NONE, DIMS, (0,), ()), note="empty"),
    Case("SparseTensorDenseMatMul", sparse.sparsetensordensematmul_op, product, (AT, (4,), DIMS, (4, 2)), dtypes=ALL),
    *(Case("SparseTensorDenseMatMul", sparse.sparsetensordensematmul_op, product,
           (AT, COMPLEX, DIMS, np.outer(COMPLEX[:3 if a else 4], [1, 1j]).T if b else np.outer(COMPLEX[:3 if a else 4], [1, 1j])),
           {"adjoint_a": a, "adjoint_b": b}, dtypes=(), note=f"{a} {b}") for a in (False, True) for b in (False, True)),
    Case("SparseTensorDenseMatMul", sparse.sparsetensordensematmul_op, product, (NONE, (0,), DIMS, (4, 2)), note="empty"),
    *(Case(op_type, op, cwise(f), (AT, (4,), DIMS, dims), low=0.5, dtypes=ALL if not i else (), note=str(dims))
      for op_type, op, f in (("SparseDenseCwiseMul", sparse.sparsedensecwisemul_op, np.multiply),
                             ("SparseDenseCwiseDiv", sparse.sparsedensecwisediv_op, np.divide))
      for i, dims in enumerate([(3, 4), (4,), (1, 4), (3, 1), ()])),
    Case("SparseDenseCwiseMul", sparse.sparsedensecwisemul_op, cwise(np.multiply), (AT, COMPLEX, DIMS, COMPLEX[::-1].copy()),
         note="complex"),
    Case("SparseDenseCwiseDiv", sparse.sparsedensecwisediv_op, cwise(np.divide), (AT, COMPLEX, DIMS, COMPLEX[::-1] + 2),
         note="complex"),
    Case("SparseTensorDenseAdd", sparse.sparsetensordenseadd_op, lambda at, v, dims, c: dense(at, v, dims) + c,
         (AT, (4,), DIMS, (3, 4)), dtypes=ALL),
    Case("SparseAdd", sparse.sparseadd_op,
         lambda *_: (P([[0, 0], [0, 1], [1, 0], [1, 3], [2, 2]]), P([8.0, 1.0, 2.0, 2.0, 4.0]), DIMS),
         (AT, P([1.0, 2, 3, 4]), DIMS, P([[0, 0], [1, 3]]), P([8.0, -1]), DIMS, P(0.0)), wrt=(1, 4)),
    Case("SparseAdd", sparse.sparseadd_op, lambda *_: (P([[0, 0], [0, 1], [1, 0], [2, 2]]), P([8.0, 1.0, 2.0, 4.0]), DIMS),
         (AT, P([1.0, 2, 3, 4]), DIMS, P([[0, 0], [1, 3]]), P([8.0, -1]), DIMS, P(2.5)), wrt=(1, 4), note="threshold"),
    *(Case("SparseReduceSum", sparse.sparsereducesum_op, total, (AT, (4,), DIMS, P(axes, np.int32)), {"keep_dims": keep},
           dtypes=ALL if axes == [1] else ("float32",), note=f"{axes} {keep}")
      for axes in ([1], [0], [-1], [0, 1], [0, -1], [], 1) for keep in (False, True)),
    Case("SparseReorder", sparse.sparsereorder_op, lambda at, v, dims: (AT, v[[1, 3, 0, 2]]), (UNSORTED, (4,), DIMS),
         dtypes=ALL),
    Case("SparseReorder", sparse.sparsereorder_op, lambda at, v, dims: (NONE, v), (NONE, (0,), DIMS), note="empty"),
    Case("SparseSlice", sparse.sparseslice_op, lambda at, v, *_: (P([[0, 0], [1, 2]]), v[[1, 3]], P([2, 3])),
         (AT, (4,), DIMS, P([1, 0]), P([5, 3])), dtypes=ALL),
    Case("SparseFillEmptyRows", sparse.sparsefillemptyrows_op,
         lambda at, v, dims, d: (P([[0, 1], [1, 0], [1, 3], [2, 0], [3, 2], [4, 0]]), P([v[0], v[1], v[2], d, v[3], d]),
                                 P([False, False, False, True, False, True])[[0, 1, 3, 4, 5]], P([0, 1, 2, 4])),
         (P([[0, 1], [1, 0], [1, 3], [3, 2]]), (4,), P([5, 4]), ())),
    Case("SparseSoftmax", sparse.sparsesoftmax_op, softmax, (AT, (4,), DIMS), dtypes=("float32",)),
    Case("SparseSoftmax", sparse.sparsesoftmax_op, softmax, (P([[0, 0, 1], [0, 0, 2], [1, 0, 0], [1, 1, 0], [1, 1, 3]]), (5,),
                                                            P([2, 2, 4])), note="rank 3"),
    Case("SparseSoftmax", sparse.sparsesoftmax_op, softmax, (AT, P([800.0, 900, -900, 1000]), DIMS), note="extreme"),
    Case("SparseSoftmax", sparse.sparsesoftmax_op, softmax, (NONE, (0,), DIMS), note="empty"),
    # Refusals.
    Bad("SparseToDense", lambda: sparse.sparse_to_dense([[0, 1], [0, 0]], [2, 2], [1.0, 2.0]), InvalidArgumentError,
        "out of order", run=True),
    Bad("SparseToDense", lambda: sparse.sparse_to_dense([[0, 0], [0, 0]], [2, 2], [1.0, 2.0]), InvalidArgumentError,
        "is repeated", run=True),
    Bad("SparseToDense", lambda: sparse.sparse_to_dense([[0, 5]], [2, 2], [1.0]), InvalidArgumentError, "out of bounds",
        run=True),
    Bad("SparseTensorDenseMatMul", lambda: sparse.sparse_tensor_dense_matmul(tf.SparseTensor(AT, [1.0] * 4, DIMS),
                                                                             tf.zeros([3, 2])), ValueError, "Dimensions must be equal, but are 4 and 3"),
    Bad("SparseDenseCwiseMul", lambda: tf.SparseTensor(AT, [1.0] * 4, DIMS) * tf.zeros([2, 4]), ValueError, "2"),
    Bad("SparseAdd", lambda: sparse.sparse_add(tf.zeros([2]), tf.zeros([2])), TypeError, "At least one input should be"),
]


# -- other shapes, and two of them -------------------------------------------------------------------
raw = tf.raw_ops
FLAT, OTHER = P([5.0, 1.0, -2.0, 3.0]), P([[0, 1], [1, 1], [2, 2]])


def reshaped(*new):
    return lambda at, dims: raw.SparseReshape(input_indices=at, input_shape=dims, new_shape=P(new, np.int64))


def merged(op_type, dtype="float64", values=FLAT, other=(-1.0, 2.0, 7.0), note="", b_dims=DIMS):
    def build(at, values, dims, b_at, others, b_dims):
        return getattr(raw, op_type)(a_indices=at, a_values=values, a_shape=dims, b_indices=b_at, b_values=others, b_shape=b_dims)

    values, other = (P(v).astype(tf.as_dtype(dtype).as_numpy_dtype) for v in (values, other))
    return once(op_type, build, AT[:len(values)], values, DIMS, OTHER[:len(other)], other, b_dims, note=note or dtype)


CASES += [
    *(once("SparseReshape", reshaped(*new), AT, DIMS, note=str(new)) for new in ((2, 6), (12,), (-1,), (4, -1), (1, 3, -1, 2))),
    once("SparseReshape", reshaped(6, 2), NONE, DIMS, note="empty"),
    once("SparseReshape", reshaped(0, 5), NONE, P([0, 4]), note="no places"),
    once("SparseReshape", reshaped(5, 2), AT, DIMS, note="another number"),
    once("SparseReshape", reshaped(-1, 5), AT, DIMS, note="no multiple"),
    once("SparseReshape", lambda at, dims, new: raw.SparseReshape(input_indices=at, input_shape=dims, new_shape=new), AT, DIMS,
         P([-1, -1]), note="two open sizes"),
    Bad("SparseReshape", lambda: tf.sparse_reshape(tf.SparseTensor(AT, [1.0] * 4, DIMS), [-1, -1]), ValueError,
        "At most one dimension can be inferred"),
]
for _op_type in ("SparseSparseMaximum", "SparseSparseMinimum"):
    CASES += [
        *(merged(_op_type, d) for d in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64")),
        merged(_op_type, "uint8", (5, 1, 2, 3), (1, 2, 7)),
        merged(_op_type, values=(), note="empty"),
        merged(_op_type, note="other shapes", b_dims=P([3, 5])),
        merged(_op_type, values=(np.inf, np.nan, -0.0, 1), other=(np.nan, 2.0, -np.inf), note="not finite"),
        Bad(_op_type, lambda: tf.sparse_maximum(tf.constant([1.0]), tf.constant([1.0])), TypeError, "must be a SparseTensor"),
    ]


# -- as strings ------------------------------------------------------------------------------------------
def there_and_back(at, values, dims):
    return tf.deserialize_many_sparse(tf.stack([tf.serialize_sparse(tf.SparseTensor(at, values, dims))] * 2), values.dtype, 3)


def rows_and_back(at, values, dims):
    many = tf.serialize_many_sparse(tf.SparseTensor(at, values, dims))
    return tf.shape(many), tf.deserialize_many_sparse(many, values.dtype)


VALUES = {d: tf.as_dtype(d).as_numpy_dtype for d in ("float32", "float64", "int32", "int64", "bool", "complex64")}
CASES += [
    *(once("DeserializeManySparse", there_and_back, AT, P([1, 0, 2, 1]).astype(t), DIMS, note=d) for d, t in VALUES.items()),
    once("DeserializeManySparse", there_and_back, AT, P([b"a", b"", b"c\0", b"d"], object), DIMS, note="string"),
    once("DeserializeManySparse", there_and_back, NONE, np.zeros(0, np.float32), DIMS, note="empty"),
    once("SerializeManySparse", rows_and_back, AT, np.float32([1, 2, 3, 4]), DIMS),
    once("SerializeManySparse", rows_and_back, P([[0, 0, 1], [2, 1, 0]]), np.float32([1, 2]), P([4, 2, 2]), note="of rank 3"),
    once("SerializeManySparse", rows_and_back, P([[1]]), np.float32([1]), P([3]), note="of rank 1"),
    once("SerializeManySparse", rows_and_back, UNSORTED, np.float32([1, 2, 3, 4]), DIMS, note="out of order"),
    once("DeserializeManySparse", lambda x: tf.deserialize_many_sparse(x, tf.float32), P([[b"no", b"such", b"text"]], object),
         note="no such strings"),
    once("DeserializeManySparse", lambda at, v, dims: tf.deserialize_many_sparse(
        [tf.serialize_sparse(tf.SparseTensor(at, v, dims))], tf.float64), AT, np.float32([1, 2, 3, 4]), DIMS, note="another dtype"),
    once("DeserializeManySparse", lambda at, v, dims: tf.deserialize_many_sparse(
        [tf.serialize_sparse(tf.SparseTensor(at, v, dims)), tf.serialize_sparse(tf.SparseTensor([[0]], [1.0], [1]))], tf.float32),
         AT, np.float32([1, 2, 3, 4]), DIMS, note="unlike ranks"),
    once("SerializeSparse", lambda at, v, dims: tf.serialize_sparse(tf.SparseTensor(at, v, dims)), AT, np.float32([1, 2, 3, 4]),
         DIMS),
    once("DeserializeSparse", lambda at, v, dims: raw.DeserializeSparse(
        serialized_sparse=[[tf.serialize_sparse(tf.SparseTensor(at, v, dims))]], dtype=tf.float32), AT, np.float32([1, 2, 3, 4]),
         DIMS),
    Bad("SerializeSparse", lambda: tf.serialize_sparse(tf.constant([1.0])), TypeError, "SparseTensor"),
    Bad("DeserializeManySparse", lambda: tf.deserialize_many_sparse([[b"a", b"b"]], tf.float32), ValueError, "three strings"),
]
