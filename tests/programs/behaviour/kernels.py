"""What TF1's own tests of its kernels ask: what each op refuses, in whose words, and what is known of shapes beforehand."""
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # Static shapes of what is known in part.
    Row("reverse shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.reverse(tf.placeholder(tf.float32), tf.placeholder(tf.int32, [3])),
    tf.reverse(tf.placeholder(tf.float32), tf.placeholder(tf.int32)),
    tf.reverse(tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.int32, [3]))]]"""),
    Row("slice shapes", """
x = tf.placeholder(tf.float32, [None, 3, 4])
i = tf.placeholder(tf.int32, [3])
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.slice(x, [0, 1, 1], [-1, 2, -1]), tf.slice(tf.placeholder(tf.float32), [0, 1], [2, -1]),
    tf.slice(x, i, [2, -1, 1]), tf.slice(x, [0, 1, 1], i), tf.slice(tf.placeholder(tf.float32), i, i)]]"""),
    Row("concat shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.concat([tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [3, None])], 0),
    tf.concat([tf.placeholder(tf.float32), tf.placeholder(tf.float32, [3, None])], 1),
    tf.concat([tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [2, 3])], tf.placeholder(tf.int32, [])),
    tf.concat([tf.placeholder(tf.float32), tf.placeholder(tf.float32)], 0)]]"""),
    Row("pad shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.pad(tf.placeholder(tf.float32, [None, 3]), [[1, 1], [2, 2]]),
    tf.pad(tf.placeholder(tf.float32), [[1, 1], [2, 2]]),
    tf.pad(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32)),
    tf.pad(tf.placeholder(tf.float32), tf.placeholder(tf.int32, [2, 2])),
    tf.pad(tf.placeholder(tf.float32), tf.placeholder(tf.int32)),
    tf.pad(tf.constant([[1, 2]]), tf.placeholder(tf.int32, [2, 2]))]]"""),
    Row("gather shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.gather(tf.placeholder(tf.float32), tf.placeholder(tf.int32)),
    tf.gather(tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int32, [None, None])),
    tf.gather(tf.placeholder(tf.float32, [4, None]), [1, 2], axis=1),
    tf.gather(tf.placeholder(tf.float32, [4, None]), [1, 2], axis=tf.placeholder(tf.int32, []))]]"""),
    Row("gather_nd shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.gather_nd(tf.placeholder(tf.float32), tf.placeholder(tf.int32)),
    tf.gather_nd(tf.placeholder(tf.float32, [4, 5, None]), tf.placeholder(tf.int32, [None, 2])),
    tf.gather_nd(tf.placeholder(tf.float32, [4, 5, None]), tf.placeholder(tf.int32, [3, None]))]]"""),
    Row("one_hot shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.one_hot(tf.placeholder(tf.int32), 3), tf.one_hot(tf.placeholder(tf.int32, [None, 2]), 3, axis=1),
    tf.one_hot(tf.placeholder(tf.int32, [2]), tf.placeholder(tf.int32))]]"""),
    Row("reshape shapes", """
x = tf.placeholder(tf.float32)
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.reshape(x, [-1, 2]), tf.reshape(tf.placeholder(tf.float32, [None, 4]), [2, -1]),
    tf.reshape(tf.placeholder(tf.float32, [2, 4]), [2, -1]), tf.reshape(x, tf.placeholder(tf.int32)),
    tf.reshape(x, tf.placeholder(tf.int32, [3])), tf.reshape(x, [tf.placeholder(tf.int32, []), 3]),
    tf.reshape(tf.placeholder(tf.float32, [None, None]), tf.shape(tf.placeholder(tf.float32, [2, None])))]]"""),
    Row("transpose shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.transpose(tf.placeholder(tf.float32)), tf.transpose(tf.placeholder(tf.float32, [None, 3])),
    tf.transpose(tf.placeholder(tf.float32), [0, 2, 1]),
    tf.transpose(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32)),
    tf.transpose(tf.placeholder(tf.float32, [100, 37, None]), [1, 0, 2])]]"""),
    Row("stack shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.stack([tf.placeholder(tf.float32), tf.placeholder(tf.float32)]),
    tf.stack([tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [3])]),
    tf.stack([tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [3, None])], 1)]]"""),
    Row("tile shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.tile(tf.placeholder(tf.float32), [1, 2]), tf.tile(tf.placeholder(tf.float32, [None, 3]), [2, 2]),
    tf.tile(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32)),
    tf.tile(tf.placeholder(tf.float32), tf.placeholder(tf.int32, [3]))]]"""),
    Row("batch_to_space: shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.batch_to_space_nd(tf.placeholder(tf.float32, [4, None, 2, 1]), [2, 2], [[0, 0], [0, 0]]),
    tf.batch_to_space(tf.placeholder(tf.float32, [None, 4, 4, 1]), [[0, 0], [0, 0]], 2),
    tf.batch_to_space(tf.placeholder(tf.float32), [[0, 0], [0, 0]], 2)]]"""),
    Row("space_to_depth: shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.space_to_depth(tf.placeholder(tf.float32, [None, 4, None, 1]), 2),
    tf.depth_to_space(tf.placeholder(tf.float32, [None, 4, None, 4]), 2),
    tf.space_to_depth(tf.placeholder(tf.float32), 2),
    tf.depth_to_space(tf.placeholder(tf.float32, [2, 3, 4, None]), 2)]]"""),
    Row("where shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.where(tf.placeholder(tf.bool)), tf.where(tf.placeholder(tf.bool, [None, 3])),
    tf.where(tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2]))]]"""),
    Row("diag_part unknown", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.diag_part(tf.placeholder(tf.float32)), tf.diag_part(tf.placeholder(tf.float32, [None, None])),
    tf.matrix_diag(tf.placeholder(tf.float32)), tf.matrix_diag(tf.placeholder(tf.float32, [None, 2])),
    tf.matrix_diag_part(tf.placeholder(tf.float32, [None, 2, None])),
    tf.matrix_set_diag(tf.placeholder(tf.float32, [None, 2, 3]), tf.placeholder(tf.float32)),
    tf.matrix_set_diag(tf.placeholder(tf.float32), tf.placeholder(tf.float32, [2, 3]))]]"""),
    Row("argmax shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.argmax(tf.placeholder(tf.float32, [None, 3]), 1), tf.argmax(tf.placeholder(tf.float32), 0),
    tf.argmax(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32))]]"""),
    Row("tensordot shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.tensordot(tf.placeholder(tf.float32), tf.placeholder(tf.float32), 1),
    tf.tensordot(tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3, None]), 1),
    tf.tensordot(tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32), [[1], [0]])]]"""),
    Row("stitch shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.dynamic_stitch([tf.constant([0, 2]), tf.constant([1])], [tf.constant([1., 2]), tf.constant([3.])]),
    tf.dynamic_stitch([tf.placeholder(tf.int32, [None])], [tf.placeholder(tf.float32, [None, 3])])]]"""),
    Row("reduce shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.reduce_sum(tf.placeholder(tf.float32), 1), tf.reduce_sum(tf.placeholder(tf.float32, [None, 3]), 1),
    tf.reduce_sum(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32)),
    tf.reduce_sum(tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.int32), keepdims=True),
    tf.reduce_sum(tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.int32, [1])),
    tf.reduce_sum(tf.placeholder(tf.float32))]]"""),
    Row("segment shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.segment_sum(tf.placeholder(tf.float32), tf.placeholder(tf.int32)),
    tf.segment_sum(tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.int32, [4]))]]"""),
    Row("einsum shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.einsum("ij, jk->ik", tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3, None]))]]"""),
    Row("cholesky shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.cholesky(tf.placeholder(tf.float32)), tf.cholesky(tf.placeholder(tf.float32, [None, 2, None]))]]"""),
    Row("bias shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.nn.bias_add(tf.placeholder(tf.float32), tf.placeholder(tf.float32, [3])),
    tf.nn.bias_add(tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32, [3]))]]"""),
    Row("pool shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.nn.max_pool(tf.placeholder(tf.float32), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    tf.nn.avg_pool(tf.placeholder(tf.float32, [None, None, 7, 3]), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
    tf.nn.max_pool(tf.placeholder(tf.float32, [1, 4, 4, 4]), [1, 1, 1, 2], [1, 1, 1, 2], "SAME")]]"""),
    Row("random unknown shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.random_normal(tf.placeholder(tf.int32)), tf.random_normal(tf.placeholder(tf.int32, [2])),
    tf.random_uniform([tf.placeholder(tf.int32, []), 3])]]"""),
    Row("range shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.range(tf.placeholder(tf.int32, [])), tf.range(0, 5, 2)]]"""),
    Row("fill shapes", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.fill(tf.placeholder(tf.int32, [None]), 3.), tf.fill(tf.placeholder(tf.int32, [2]), 3.),
    tf.fill([tf.placeholder(tf.int32, []), 17], 1.)]]"""),
    Row("bitcast shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.bitcast(tf.placeholder(tf.int32), tf.int8), tf.bitcast(tf.placeholder(tf.int32, [None, 2]), tf.int64),
    tf.bitcast(tf.placeholder(tf.int32, [3, None]), tf.uint8)]]"""),
    Row("broadcast_to shape", """
result = [None if x.shape.ndims is None else x.shape.as_list() for x in [
    tf.broadcast_to(tf.placeholder(tf.float32), tf.placeholder(tf.int32, [2])),
    tf.broadcast_to([1], tf.placeholder(tf.int32))]]"""),

    Row("shapes of sparse tensors in other shapes", """
x = tf.SparseTensor([[0, 1], [2, 3]], [1., 2], [3, 4])
result = [y.shape.as_list() for y in [
    tf.sparse_reshape(x, [2, -1]), tf.sparse_add(x, x), tf.sparse_concat(1, [x, x]), tf.sparse_concat(-1, [x, x])]]"""),
    Row("pad shape by a list in which some are known", """
n, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2, 3])
result = [tf.pad(x, [[1, 1], [n, 1]]).shape.as_list(), tf.pad(x, [[1, n], [0, 2]], "REFLECT").shape.as_list()]"""),
    Row("integers of a sparse tensor over others", """
y = tf.SparseTensor([[0, 1], [2, 3]], [1, 2], [3, 4]) / [2, 2, 2, 4]
result = [y.dtype.name, run(y.values)]"""),
    Row("parts of a sparse tensor along its last axis", """
x = tf.SparseTensor([[0, 1], [2, 3]], [1., 2], [3, 4])
result = run([tf.sparse_tensor_to_dense(y) for y in tf.sparse_split(sp_input=x, num_split=3, axis=-1)])"""),
    *(_refused(f"a sparse tensor in {n} parts along axis {axis}", "InvalidArgumentError", word, f"""
x = tf.SparseTensor([[0, 1], [2, 3]], [1., 2], [3, 4])
run([y.values for y in tf.sparse_split(sp_input=x, num_split={n}, axis={axis})])""") for n, axis, word in (
        (2, 3, "axis should be in range [-2, 2)"), (5, 1, "num_split should be between 1 and the splitting dimension size"))),
    _refused("a sparse row that is not there", "InvalidArgumentError", "indices(1, 0) is invalid", """
run(tf.sparse_fill_empty_rows(tf.SparseTensor([[0, 0], [7, 0]], [1, 2], [2, 2]), 0))"""),
    _refused("a sum along a sparse axis that is not there", "InvalidArgumentError", "Invalid reduction dimension 2", """
run(tf.sparse_reduce_sum(tf.SparseTensor([[0, 0]], [1], [2, 2]), 2))"""),
    *(_refused(f"a product with a sparse element outside, {note}", "InvalidArgumentError", word, f"""
x, at = tf.ones([2, 1]), tf.placeholder(tf.int64, [1, 2])
y = tf.sparse_tensor_dense_matmul(tf.SparseTensor(at, [1.], [2, 2]), x)
for _ in range({runs}):
    run(y, {{at: [[0, 1]]}})
run(y, {{at: {at}}})""") for note, at, word, runs in (
        ("column", [[0, 3]], "k (3) from index[0,1] out of bounds (>=2)", 0),
        ("row", [[3, 0]], "m (3) from index[0,0] out of bounds (>=2)", 5))),
    _refused("a sparse shape of another rank", "InvalidArgumentError", "x == y did not hold element-wise", """
shape = tf.placeholder(tf.int64)
run(tf.sparse_reset_shape(tf.SparseTensor([[0, 0]], [1], [2, 2]), shape), {shape: [2]})"""),
    _refused("a sum of sparse and dense of other sizes", "ValueError", "", """
tf.sparse_add(tf.SparseTensor([[0, 0]], [1.], [2, 2]), np.ones([3, 3], np.float32))""", asked=False),
    *(_refused(f"sparse to dense with {note}", "ValueError", word, f"tf.sparse_to_dense([1, 3], {arguments})", asked=False)
      for note, word, arguments in (("a matrix as a shape", "rank 1", "[[5], [3]], 1"),
                                    ("a matrix of values", "incorrect shape", "[5], [[5], [3]]"),
                                    ("a vector as default", "rank 0", "[5], [1, 2], [0]"))),
    _refused("a rank that a run gives, and is none", "InvalidArgumentError", "Rank must be a scalar", """
rank = tf.placeholder(tf.int32)
run(tf.assert_rank(tf.constant([1, 2]), rank), {rank: [1, 2]})"""),
    _refused("another rank than a run gives", "InvalidArgumentError", "must have rank", """
rank = tf.placeholder(tf.int32, [], name="rank")
check = tf.assert_rank_in(tf.constant([1, 2], name="pair"), [0, rank])
run(check, {rank: 1})
run(check, {rank: 2})"""),
    _refused("a tensor to go through", "TypeError", "proper", """
module("python.ops.check_ops").assert_proper_iterable(tf.constant([1, 2]))"""),
    _refused("a shape that is not ensured", "InvalidArgumentError", "Shape of tensor root [2] is not compatible", """
x = tf.placeholder(tf.float32)
run(tf.ensure_shape(tf.sqrt(x, name="root"), [3]), {x: [1, 4]})"""),
    *(_refused(f"perm {perm}", "ValueError", word, f"tf.transpose(tf.ones([2, 3, 4]), {perm})") for perm, word in (
        ([0, 1, 5], "perm dim 5 is out of range of input rank 3"), ([0, 1], "Dimension must be 3 but is 2"))),
    _refused("offsets of another rank", "InvalidArgumentError", "should contain 3 elements", """
run(tf.raw_ops.ConcatOffset(concat_dim=0, shape=[tf.placeholder_with_default(s, None) for s in ([2, 3, 5], [2, 3])]))""",
             asked=False),

    Row("a dense tensor times a sparse one", """
x = tf.SparseTensor([[0, 1], [2, 3]], [1., 2], [3, 4])
y = tf.constant([[1., 2, 3, 4]]) * x
result = [type(y).__name__, run(y.values)]"""),
    _refused("a dense tensor larger than a sparse one", "InvalidArgumentError", "broadcasts dense to sparse only", """
run((tf.ones([3, 1]) * tf.SparseTensor([[0, 0]], [1.], [1, 1])).values)"""),
    _refused("sparse tensors of other ranks", "InvalidArgumentError", "Operands do not have the same ranks", """
run(tf.sparse_maximum(tf.SparseTensor([[0, 0]], [0], [1, 1]), tf.SparseTensor([[0]], [1], [2])).values)"""),
    _refused("a dimension beyond the rank", "ValueError", "dim 3 not in the interval [-2, 1]", "tf.expand_dims(tf.ones([2]), 3)"),
    _refused("shapes that do not broadcast", "InvalidArgumentError", "ncompatible shapes", """
run(tf.broadcast_dynamic_shape([2, 5], tf.placeholder_with_default([1, 3], None)))""", asked=False),
    _refused("several numbers of samples", "ValueError", "rank 0", "tf.multinomial([[1., 2.]], [3])"),
    _refused("Poisson draws as text", "TypeError", "string", "tf.random_poisson(2., [1], dtype=tf.string)"),
    # What distributions are written with.
    Row("helpers of distributions", """
du = module("python.ops.distributions.util")
x = tf.placeholder_with_default(np.arange(6, dtype=np.float32).reshape(2, 3), None)
yes = tf.placeholder_with_default(True, [])
made = [du.fill_triangular([1., 2, 3]), du.tridiag([1., 2], [3., 4, 5], [6., 7]), du.tridiag(diag=[[1., 2]]),
        du.log_combinations(4., [2., 1, 1]), du.softplus_inverse(0.5), du.rotate_transpose(x, 1), du.rotate_transpose(x, -2),
        du.pick_vector(yes, [1., 2], [3.]), du.pick_vector(~yes, [1., 2], [3.]), du.same_dynamic_shape(x, x + 1),
        du.same_dynamic_shape(x, [1.]), du.dimension_size(x, 1), du.prefer_static_shape(x),
        du.matrix_diag_transform(tf.ones([2, 2]), lambda d: d * 3), du.reduce_weighted_logsumexp(x, [[1., -2, 3]], axis=1),
        *du.reduce_weighted_logsumexp(x, -x, return_sign=True), *du.get_logits_and_probs(probs=[.25, .5]),
        *du.get_logits_and_probs(logits=[.25, .5], multidimensional=True, validate_args=True)]
known = [du.prefer_static_shape(tf.ones([2, 3])), du.prefer_static_rank(tf.ones([2, 3])), du.maybe_get_static_value(2, np.float64)]
result = [run(made), [np.asarray(k).tolist() for k in known], du.gen_new_seed(5, "salt"), du.dimension_size(tf.ones([2, 3]), 1),
          du.maybe_get_static_value(x), du.prefer_static_broadcast_shape([2, 1], [3]).as_list()]"""),
    *(_refused(f"a parameter of a distribution: {word}", kind, word, f"""
du = module("python.ops.distributions.util")
x = tf.placeholder(tf.as_dtype("{dtype}"))
run(du.{check}, {{x: {value}}})""", asked="close" not in check) for word, kind, dtype, value, check in (
        ("has non-integer components", "InvalidArgumentError", "float32", [1.1], "assert_integer_form(x)"),
        ("Condition x ~= y", "InvalidArgumentError", "float32", [1.1], "assert_close(x, x + 1.)"),
        ("must have at least 2 events", "InvalidArgumentError", "float16", [1.0],
         "embed_check_categorical_event_shape(x)"),
        ("Elements must be non-negative", "InvalidArgumentError", "float16", [1, -1],
         "embed_check_integer_casting_closed(x, tf.int16)"),
        ("Elements must be int16-equivalent", "InvalidArgumentError", "float16", [1, 1.5],
         "embed_check_integer_casting_closed(x, tf.int16)"),
        ("Elements cannot exceed 32767", "InvalidArgumentError", "int32", [1, 2 ** 15],
         "embed_check_integer_casting_closed(x, tf.int16)"),
        ("Elements cannot be smaller than 0", "InvalidArgumentError", "int32", [1, -1],
         "embed_check_integer_casting_closed(x, tf.uint16, False)"))),
    _refused("one class", "ValueError", "at least 2 events", """
module("python.ops.distributions.util").get_logits_and_probs(probs=[1.], multidimensional=True, validate_args=True)"""),
    Row("an axis that is named twice", """
x = tf.constant([[1., 2, 3], [4, 5, 6]])
y = [tf.reduce_sum(x, (0, -2)), tf.reduce_mean(x, (1, 1)), tf.reduce_max(x, [0, 1, 0])]
result = [[np.asarray(v).tolist() for v in run(y)], run(tf.gradients(y, x)[0]).tolist()]""", expect=[
        [[5.0, 7.0, 9.0], [2.0, 5.0], 6.0], [[4 / 3] * 3, [4 / 3, 4 / 3, 7 / 3]]], tolerance=1e-5),
    Row("one-hot rows of nothing", "result = run(tf.one_hot([], 3))"),
    _refused("the largest of an empty axis", "InvalidArgumentError", "Reduction axis 0 is empty in shape [0,3]", """
run(tf.argmax(tf.placeholder_with_default(np.zeros([0, 3]), None), 0))"""),
    _refused("half a diagonal tensor", "ValueError", "Dimensions must be equal, but are 2 and 3", "tf.diag_part(np.ones([2, 3]))"),
    _refused("a range the wrong way", "ValueError", "Requires start <= limit", "tf.range(3, 1)"),
    _refused("classes of another batch", "ValueError", "must be equal, but are 2 and 1", "tf.nn.in_top_k([[1.], [2.]], [0], 1)"),
    _refused("lengths of another batch", "ValueError", "Dimensions must be equal, but are 2 and 3", """
tf.reverse_sequence(np.ones([2, 4]), [1, 2, 3], seq_axis=1, batch_axis=0)"""),

    # Texts and messages that are read.
    *(_refused(f"CSV: {word}", "InvalidArgumentError", word, f"run(tf.decode_csv({records!r}, [{default!r}]))")
      for word, records, default in (
          ("Field 0 in record 1 is not a valid int32: 2.5", ["1", "2.5"], [1]),
          ("Field 0 in record 0 is not a valid float: 1_0", ["1_0"], [1.]),
          ("Unquoted fields cannot have quotes/CRLFs inside", ['a"b'], ["x"]),
          ("Quote inside a string has to be escaped by another quote", ['"a"b'], ["x"]),
          ("Quoted field has to end with quote followed by delim or end", ['"ab'], ["x"]))),
    Row("CSV with quotes", """
result = run(tf.decode_csv(['"a ""b"", c",', 'd,"e\\nf"', ',""'], [["x"], ["y"]]))"""),
    Row("CSV with quotes as they are", """
result = run(tf.decode_csv(['"a,b"'], [["x"], ["y"]], use_quote_delim=False))"""),
    Row("nothing is split into nothing, and a group that is not there is left", r"""
x = tf.string_split(["a  b", "", " c"], skip_empty=False)
result = [run(x.indices).tolist(), run(tf.regex_replace(["ab", "cab"], "a(b)", r"\7"))]"""),
    _refused("characters of another kind", "ValueError", "INVALID", 'tf.substr("abc", 1, 1, unit="INVALID")'),
    _refused("two delimiters", "ValueError", "scalar", 'tf.string_split(["a"], tf.constant(["b", "c"]))', asked=False),
    _refused("the size of a set of floats", "TypeError", "float32", "tf.sets.set_size(tf.SparseTensor([[0, 0]], [1.], [1, 1]))"),
    _refused("no base64", "InvalidArgumentError", "Invalid character found in base64", 'run(tf.decode_base64("^^"))'),
    _refused("raw strings of unequal lengths", "InvalidArgumentError",
             "requires input strings to all be the same size, but element 1 has size 1 != 2", """
run(tf.decode_raw(["ab", "c"], tf.uint8))""", asked=False),
    _refused("raw strings as strings", "TypeError", "string", 'tf.decode_raw(["ab"], tf.string)'),
    *(_refused(f"examples: {word}", kind, word, f"""
t = tf.train
a, b = [t.Example(features=t.Features(feature={{"x": t.Feature(float_list=t.FloatList(value=v))}})).SerializeToString()
        for v in ([1, 2], [1, 2, 3])]
F, D, N = tf.FixedLenFeature, tf.FixedLenSequenceFeature, tf.VarLenFeature
found = tf.parse_example([a, b], {{"x": {feature}}}, example_names=["one", "two"])
run(found["x"])""", asked=asked) for kind, word, feature, asked in (
        ("InvalidArgumentError", "Name: two, Key: x, Index: 1.  Number of float values != expected.", "F([2], tf.float32)",
         True),
        ("InvalidArgumentError", "Name: one, Key: x, Index: 0.  Data types don't match. Expected type: int64", "N(tf.int64)",
         True),
        ("InvalidArgumentError", "Number of float values is not a multiple of stride length. Saw 3 values",
         "D([2], tf.float32, allow_missing=True)", True),
        ("ValueError", "requires allow_missing to be True", "D([2], tf.float32)", True),
        ("ValueError", "Missing shape for feature x", "F(None, tf.float32)", True),
        ("ValueError", "Missing type for feature x", "F([2], None)", True))),
    _refused("an example without a feature", "InvalidArgumentError", "Name: one, Feature: x (data type: float) is required", """
run(tf.parse_example([b""], {"x": tf.FixedLenFeature([2], tf.float32)}, example_names=["one"]))"""),
    *(_refused(f"steps: {word}", "InvalidArgumentError", word, f"""
t = tf.train
step = [t.Feature(int64_list=t.Int64List(value=v)) for v in ([1, 2], [1, 2, 3])]
step.append(t.Feature(bytes_list=t.BytesList(value=[b""])))
lists = t.FeatureLists(feature_list={{"x": t.FeatureList(feature={steps})}})
text = t.SequenceExample(feature_lists=lists).SerializeToString()
features = {{{key!r}: tf.FixedLenSequenceFeature([2], tf.int64)}}
run(tf.parse_single_sequence_example(text, None, features, example_name="one"))""",
               asked=asked) for word, steps, key, asked in (
        ("Name: one, Feature list: x, Index: 1.  Data types don't match. Expected type: int64", "[step[0], step[2]]", "x",
         True),
        ("Name: one, Key: x, Index: 1.  Number of int64 values != expected.  values size: 3 but output shape: [2]", "step[:2]",
         "x", False),
        ("Name: one, Feature list 'y' is required but could not be found.", "[]", "y", True))),
    Row("a feature of places as they come", """
t = tf.train
number = lambda v: t.Feature(int64_list=t.Int64List(value=v))
text = t.Example(features=t.Features(feature={"at": number([3, 1]), "x": number([7, 8])})).SerializeToString()
found = [tf.parse_example([text], {"s": tf.SparseFeature("at", "x", tf.int64, 5, done)})["s"] for done in (False, True)]
result = [[list(map(int, v)) for v in run([s.indices[:, 1], s.values])] for s in found]"""),

    # Values that stay with the session.
    Row("session handles", """
c = tf.constant(10) * tf.constant(5)
h, v = run([tf.get_session_handle(c), c])
holder, x = tf.get_session_tensor(h.handle, tf.int32)
more = tf.get_session_handle(x + 1)
kept = h
for _ in range(3):
    h = run(more, {holder: h.handle})
result = [h.eval(), kept.eval(), v, run(c * c, {c: h})]"""),
    _refused("a session handle that was deleted", "InvalidArgumentError", "is not in the session store", """
h = run(tf.get_session_handle(tf.constant([1.0])))
holder, x = tf.get_session_tensor(h.handle, tf.float32)
raw = h.get_raw_handle()
holder2, delete = tf.delete_session_tensor(raw)
run(delete, {holder2: raw})
run(x, {holder: raw})"""),
    Row("padding text", """
result = run([tf.pad(["a", "b"], [[1, 1]]), tf.pad(["a"], [[0, 1]], constant_values="-")])"""),
    Row("sparse tensors through element-wise functions", """
sp = tf.SparseTensor([[0, 0], [1, 2]], [-1.0, 2.0], [2, 3])
result = [list(run(f(sp))) for f in (tf.abs, tf.negative, tf.square, tf.sign, tf.tanh, tf.erf)]
result += [run([tf.shape(sp), tf.size(sp), tf.rank(sp)]), list(run(tf.cast(sp, tf.int32)))]"""),
    Row("tensordot of unknown rank", """
x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
feed = {x: np.arange(24.0).reshape(2, 3, 4), y: np.arange(24.0).reshape(4, 3, 2)}
result = [run(tf.tensordot(x, y, axes), feed) for axes in (1, [[1, -1], [1, 0]], [2, 0])]"""),
    Row("values to the limit of an integer", """
result = run([tf.saturate_cast([1e10, -1e10, 1.9], tf.int32), tf.saturate_cast([300.0, -5.0], tf.uint8)])"""),

    # Refusals, while building or running.
    _refused("an unsorted segment's id past the end", "InvalidArgumentError", "segment_ids[0] = 10 is out of range [0, 2)",
             "run(tf.unsorted_segment_sum([1.0], [10], 2))"),
    _refused("a segment id above the last", "InvalidArgumentError", "Segment id 1 out of range [0, 1), possibly", """
i = tf.placeholder(tf.int32)
run(tf.segment_sum([1.0, 2, 3, 4], i), {i: [0, 1, 2, 0]})"""),
    _refused("a row of a sparse segment that is not there", "InvalidArgumentError", "indices[3] == 10 out of range [0, 10)", """
i = tf.placeholder(tf.int32)
run(tf.sparse_segment_sum(tf.ones([10, 4]), i, [0, 1, 2, 2]), {i: [8, 3, 0, 10]})"""),
    _refused("too few segments", "InvalidArgumentError", "segment ids must be < num_segments", """
i = tf.placeholder(tf.int32)
run(tf.sparse_segment_sum(tf.ones([10, 4]), [1, 2, 3, 4], i, num_segments=2), {i: [0, 0, 1, 2]})"""),
    _refused("updates that are too wide", "ValueError", "The inner 1 dimensions of output.shape=",
             "tf.scatter_nd(np.zeros((2, 2, 1), np.int32), np.zeros((2, 2, 3)), [2, 2])", asked=False),
    _refused("updates that are too few", "ValueError", "The outer 2 dimensions of indices.shape=",
             "tf.scatter_nd(np.zeros((3, 2, 2), np.int32), np.zeros((2, 2, 2)), [2, 2, 2])", asked=False),
    _refused("a sparse tensor whose rank is not that of its indices", "ValueError", "",
             "tf.SparseTensor([[0]], [1.0], [2, 3])"),
    _refused("matrix transpose vector", "ValueError", "should be a", "tf.linalg.transpose([1, 2, 3])"),
    _refused("boolean_mask: 2d arr 2d mask axis 1", "ValueError", "incompatible",
             "tf.boolean_mask(np.arange(4.).reshape(2, 2), np.ones((2, 2), bool), axis=1)"),
    _refused("boolean_mask: unknown mask rank", "ValueError", "dimensions must be specified",
             "tf.boolean_mask(tf.placeholder(tf.int32, [None, 2]), tf.placeholder(tf.bool))"),
    _refused("boolean_mask: scalar mask", "ValueError", "mask cannot be scalar", "tf.boolean_mask(1, True)"),
    _refused("squeeze bad", "ValueError", "Can not squeeze dim[1], expected a dimension of 1, got 3",
             "tf.squeeze([[1, 2, 3]], [1])"),
    _refused("expand nonscalar", "ValueError", "must be a tensor with a single value", "tf.expand_dims(1, axis=[0, 1])"),
    _refused("reverse bad", "ValueError", "is out of valid range", "tf.reverse(np.ones((2, 3), np.float32), [-30])"),
    _refused("reverse twice", "ValueError", "axis 0 specified more than once",
             "tf.reverse(np.ones((2, 3), np.float32), [0, -2])"),
    _refused("reverse rank0 axis", "ValueError", "Shape must be rank 1 but is rank 0", "tf.reverse([1, 2], 0)"),
    _refused("meshgrid bad kw", "TypeError", "keyword argument", "tf.meshgrid([1], [2], foo=1)"),
    _refused("meshgrid bad indexing", "ValueError", "parameter must be either 'xy' or 'ij",
             'tf.meshgrid([1], [2], indexing="ab")'),
    _refused("slicing: two ellipsis", "ValueError", "Multiple ellipses", "tf.constant(np.ones((2, 2, 2)))[..., :, ...]"),
    _refused("slicing: constant: str", "TypeError", "Only integers, slices (`:`), ellipsis",
             'tf.constant(np.ones((3, 2)))[tf.constant("foo")]'),
    _refused("slicing: grad out of range", "ValueError", "out of bounds", "tf.Variable(tf.ones((6, 4, 4)))[:, -200, :]"),
    _refused("slicing: fn zero stride", "ValueError", "strides[0] must be non-zero",
             "tf.strided_slice([1, 2, 3], [0], [2], [0])"),
    _refused("slicing: fn mixed", "TypeError", "of 'StridedSlice' Op has type int32 that does not match type",
             "tf.strided_slice([1, 2, 3], tf.constant([0], tf.int64), tf.constant([2]), [1])"),
    _refused("slicing: fn two ellipsis", "ValueError", "Multiple ellipses",
             "tf.strided_slice(np.ones((2, 2, 2)), [0, 0, 0], [1, 1, 1], [1, 1, 1], ellipsis_mask=5)"),
    _refused("slicing: fn rank", "ValueError", "Index out of range using input dim 1; input has only 1 dims",
             "tf.strided_slice([1, 2, 3], [0, 0], [1, 1], [1, 1])"),
    _refused("slicing: fn negative shrink stride", "ValueError", "only stride 1 allowed on non-range indexing",
             "tf.strided_slice([1, 2, 3], [0], [1], [-1], shrink_axis_mask=1)"),
    _refused("slicing: assign type", "TypeError", "of 'StridedSliceAssign' Op has type int8 that does not match",
             "v = tf.Variable(tf.constant([1, 2])); v[:].assign(tf.constant([3, 4], tf.int8))"),
    _refused("slicing: assign type2", "TypeError", "Input 'value' of 'StridedSliceAssign' Op has type int64 that",
             "v = tf.Variable(tf.constant([1, 2])); v[:].assign(tf.constant([3, 4], tf.int64))"),
    _refused("sequence_mask: bad", "ValueError", "must be scalar for sequence_mask", "tf.sequence_mask([10, 20], [10, 20])"),
    _refused("invert_permutation: bad", "InvalidArgumentError", "2 is duplicated in the input",
             "run(tf.invert_permutation([3, 4, 0, 2, 2]))"),
    _refused("invert_permutation: rank", "ValueError", "Shape must be rank 1 but is rank 2",
             "tf.invert_permutation([[1, 0]])"),
    _refused("searchsorted bad", "ValueError", "must be either 'right' or 'left", 'tf.searchsorted([1.], [2.], side="x")'),
    _refused("slice out of range size", "InvalidArgumentError", "Expected size[1] in [0, 3], but got 8",
             "run(tf.slice(np.zeros((2, 3)), [0, 0], [1, 8]))"),
    _refused("slice out of range begin", "InvalidArgumentError", "Expected begin[1] in [0, 3], but got 4",
             "run(tf.slice(np.zeros((2, 3)), [0, 4], [1, 0]))"),
    _refused("slice negative begin", "InvalidArgumentError", "Expected begin[0] in [0, 2], but got -1",
             "b = tf.placeholder(tf.int32, [2]); run(tf.slice(np.zeros((2, 3)), b, [1, 1]), {b:[-1, 0]})"),
    _refused("slice matrix as begin", "ValueError", "Shape must be rank 1 but is rank 2",
             "tf.slice(np.zeros((2, 3)), [[0, 0]], [1, 1])"),
    _refused("concat scalar axis0", "ValueError", "Can't concatenate scalars (use tf.stack instead)", "tf.concat([1, 2], 0)"),
    _refused("concat rank mix", "ValueError", "Shape must be rank 2 but is rank 1",
             "tf.concat([np.ones((2, 2)), np.ones(2)], 0)"),
    _refused("concat sizes", "ValueError", "in both shapes must be equal, but are 2 and 3",
             "tf.concat([np.ones((2, 2)), np.ones((2, 3))], 0)"),
    _refused("concat axis bad", "ValueError", "Shape must be at least rank 4 but is rank 2",
             "tf.concat([np.ones((2, 2)), np.ones((2, 3))], 3)"),
    _refused("concat axis bad negative", "ValueError", "Shape must be at least rank 3 but is rank 2",
             "tf.concat([np.ones((2, 2)), np.ones((2, 3))], -3)"),
    _refused("concat at run time sizes", "InvalidArgumentError", "Dimension 1 in both shapes must be", """
x = tf.placeholder(tf.float32)
y = tf.placeholder(tf.float32)
run(tf.concat([x, y], 0), {x:np.ones((2, 2)), y:np.ones((2, 3))})"""),
    _refused("concat empty list", "ValueError", "values' to 'ConcatV2' Op with length 0 shorter than minimum",
             "tf.concat([], 0)"),
    _refused("concat dtypes", "TypeError", "Tensors in list passed to 'values' of 'ConcatV2' Op have",
             "tf.concat([tf.constant([1.]), tf.constant([1])], 0)"),
    _refused("concat float axis", "TypeError", "has DataType float32 not in list of allowed values: int32",
             "tf.concat([[1], [2]], 1.5)"),
    _refused("concat vector axis", "ValueError", "Shape must be rank 0", "tf.concat([[1], [2]], [0])"),
    _refused("split bad", "ValueError", "Number of ways to split should evenly divide the split",
             "tf.split(np.arange(5), 2)"),
    _refused("split bad at run time", "InvalidArgumentError", "ways to split should evenly divide the split dimension, but",
             "x = tf.placeholder(tf.float32, [None]); run(tf.split(x, 2), {x:np.ones(5)})"),
    _refused("split sizes bad", "ValueError", "can't split axis of size 5 into pieces of size [1",
             "run(tf.split(np.arange(5), [1, 2], 0))"),
    _refused("split sizes bad at run time", "InvalidArgumentError", "the size of",
             "x = tf.placeholder(tf.float32, [None]); run(tf.split(x, [1, 2]), {x:np.ones(5)})"),
    _refused("split two negative", "ValueError", "size_splits can only have one -1",
             "run(tf.split(np.arange(5), [-1, -1], 0))"),
    _refused("split sizes scalar tensor unknown", "ValueError", "Cannot infer",
             "x = tf.placeholder(tf.float32, [4]); n = tf.placeholder(tf.int32); tf.split(x, n)"),
    _refused("split num mismatch", "InvalidArgumentError", "You must feed a value for placeholder tensor",
             "x = tf.placeholder(tf.float32, [4]); n = tf.placeholder(tf.int32, [2]); run(tf.split(x, n, num=3))"),
    _refused("pad reflect too big", "InvalidArgumentError", "paddings must be less than the dimension size",
             'run(tf.pad([[1, 2, 3], [4, 5, 6]], [[2, 0], [0, 0]], "REFLECT"))'),
    _refused("pad symmetric too big", "InvalidArgumentError", "paddings must be no greater than the dimension size",
             'run(tf.pad([[1, 2, 3], [4, 5, 6]], [[3, 0], [0, 0]], "SYMMETRIC"))'),
    _refused("pad negative", "ValueError", "Paddings must be", "run(tf.pad([[1, 2]], [[-1, 0], [0, 0]]))"),
    _refused("pad negative at run time", "InvalidArgumentError", "Paddings must be",
             "p = tf.placeholder(tf.int32, [1, 2]); run(tf.pad([1, 2], p), {p:[[-1, 0]]})"),
    _refused("pad rank", "ValueError", "Shape must be rank 1 but is rank 2", "tf.pad([[1, 2]], [[1, 0]])"),
    _refused("pad cols", "ValueError", "Dimension must be 2 but is", "tf.pad([[1, 2]], [[1], [2]])"),
    _refused("gather out of range", "InvalidArgumentError", "indices[0,0] = 7 is not in [0, 3)",
             "run(tf.gather(tf.constant([0, 1, 2]), [[7]]))"),
    _refused("gather out of range axis", "InvalidArgumentError", "indices[0] = 7 is not in [0, 3)",
             "i = tf.placeholder(tf.int32); run(tf.gather(np.ones((2, 3)), i, axis=1), {i:[7]})"),
    _refused("gather bad axis", "ValueError", "Shape must be at least rank 3 but is rank 2", "tf.gather([[0]], [0], axis=2)"),
    _refused("gather bad axis at run time", "InvalidArgumentError", "Shape must be at least rank 4 but is rank 2",
             "a = tf.placeholder(tf.int32, []); run(tf.gather([[0]], [0], axis=a), {a:3})"),
    _refused("gather scalar params", "ValueError", "Shape must be at least rank 1 but is rank 0", "tf.gather(0, 0)"),
    _refused("gather axis not scalar", "ValueError", "Shape must be rank 0 but is rank 1",
             "tf.gather([0, 1], [0], axis=[0])"),
    _refused("gather float index", "TypeError", "has DataType float32 not in list of allowed values",
             "tf.gather([0, 1], [0.])"),
    _refused("gather empty out of range", "InvalidArgumentError", "indices[0] = 0 is not in [0, 0)",
             "run(tf.gather(np.zeros((0, 3)), [0]))"),
    _refused("gather_nd out of range", "InvalidArgumentError", "indices[0] = [7] does not index into param shape [3]",
             "run(tf.gather_nd(tf.constant([0, 1, 2]), [[7]]))"),
    _refused("gather_nd too deep at run time", "InvalidArgumentError", "index innermost dimension length must be <=",
             "i = tf.placeholder(tf.int32); run(tf.gather_nd(tf.constant([0, 1]), i), {i:[[0, 0]]})"),
    _refused("gather_nd scalar index", "ValueError", "Shape must be at least rank 1 but is rank 0",
             "tf.gather_nd([0, 1], 0)"),
    _refused("one_hot bad axis", "ValueError", "axis must be >=", "tf.one_hot([0], 2, axis=-2)"),
    _refused("one_hot bad axis 2", "InvalidArgumentError", "Expected axis to be -1 or between [0",
             "run(tf.one_hot([[0]], 2, axis=3))"),
    _refused("one_hot float index", "TypeError", "has DataType float32 not in list of allowed values",
             "tf.one_hot([0.5], 3)"),
    _refused("reshape bad", "ValueError", "divisible by 5", "tf.reshape([0, 1, 2, 3, 4, 5], [-1, 5])"),
    _refused("reshape two negative", "InvalidArgumentError", "Only one input size may be -1",
             "run(tf.reshape([0, 1, 2, 3], [-1, -1]))"),
    _refused("reshape matrix shape", "ValueError", "Shape must be rank 1 but is rank 2", "tf.reshape([1, 2], [[1, 2]])"),
    _refused("reshape scalar shape", "ValueError", "Shape must be rank 1 but is rank 0", "tf.reshape([1, 2], 2)"),
    _refused("reshape at run time bad", "InvalidArgumentError", "reshape is a tensor with 2 values, but the requested shape",
             "x = tf.placeholder(tf.float32, [None]); run(tf.reshape(x, [3]), {x:[1, 2]})"),
    _refused("reshape at run time bad2", "InvalidArgumentError", "a tensor with 2",
             "x = tf.placeholder(tf.float32, [None]); run(tf.reshape(x, [-1, 5]), {x:[1, 2]})"),
    _refused("reshape float shape", "TypeError", "has DataType float32 not in list of allowed values: int32",
             "tf.reshape([1, 2], [2.])"),
    _refused("stack axis bad negative", "ValueError", "= -3 not in", "tf.stack([[1, 2], [3, 4]], axis=-3)"),
    _refused("stack mismatch", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 1",
             "tf.stack([tf.constant([1, 2]), tf.constant([1])])"),
    _refused("stack dtypes", "TypeError", "Tensors in list passed to 'values' of 'Pack' Op have types",
             "tf.stack([tf.constant(1), tf.constant(2.)])"),
    _refused("unstack infer fail", "ValueError", "from shape (?", "tf.unstack(tf.placeholder(tf.float32, [None, 2]))"),
    _refused("unstack unknown rank", "ValueError", "Cannot infer", "tf.unstack(tf.placeholder(tf.float32))"),
    _refused("unstack axis bad negative", "ValueError", "= -3 not in", "tf.unstack([[1, 2], [3, 4]], axis=-3)"),
    _refused("tile length", "ValueError", "Shape must be rank", "tf.tile([[1, 2]], [2])"),
    _refused("tile matrix", "ValueError", "Shape must be rank 1 but is rank 2", "tf.tile([1, 2], [[1]])"),
    _refused("scatter_nd out of range", "InvalidArgumentError", "indices[1] = [7] does not index into shape [5]",
             "run(tf.scatter_nd([[1], [7]], [1, 2], [5]))"),
    _refused("scatter_nd empty out", "ValueError", "Indices and updates specified for empty",
             "run(tf.scatter_nd([[0]], [1], [0]))"),
    _refused("scatter_nd scalar index", "ValueError", "Shape must be at least rank 1 but is rank 0",
             "tf.scatter_nd(0, 1, [3])"),
    _refused("variable, scatter nd out of range", "InvalidArgumentError", "indices[0] = [7] does not index into shape [4]",
             "v = tf.Variable([1, 2, 3, 4]);  run(tf.scatter_nd_update(v, [[7]], [9]))"),
    _refused("variable, scatter out of range", "InvalidArgumentError", "indices[0] = -1 is not in [0, 3)",
             "v = tf.Variable([1, 2, 3]);  run(tf.scatter_update(v, [-1], [9]))"),
    _refused("variable, scatter oob2", "InvalidArgumentError", "indices[1] = 6 is not in [0, 3)",
             "v = tf.Variable([1, 2, 3]);  run(tf.scatter_add(v, [2, 6], [9, 8]))"),
    _refused("variable, scatter shape", "ValueError", "Dimension 1 in both shapes must be equal, but are",
             "v = tf.Variable([[1, 2], [3, 4]]);  run(tf.scatter_update(v, [0], [[1, 2, 3]]))"),
    _refused("space_to_batch: not divisible", "ValueError", "divisible by",
             "tf.space_to_batch(np.zeros((1, 3, 3, 1)), [[0, 0], [0, 0]], 2)"),
    _refused("space_to_batch: block 0", "ValueError", "block_shape must be",
             "run(tf.space_to_batch(np.zeros((1, 2, 2, 1)), [[0, 0], [0, 0]], 0))"),
    _refused("space_to_batch_nd: rank", "ValueError", "Shape must be at least rank 3 but is rank 2",
             "tf.space_to_batch_nd(np.zeros((2, 2)), [1, 2], [[0, 0], [0, 0]])"),
    _refused("space_to_batch_nd: blk negative", "ValueError", "block_shape must be",
             "run(tf.space_to_batch_nd(np.zeros((1, 2, 2, 1)), [0, 2], [[0, 0], [0, 0]]))"),
    _refused("batch_to_space: indivisible", "ValueError", "divisible by",
             "tf.batch_to_space(np.zeros((3, 2, 2, 1)), [[0, 0], [0, 0]], 2)"),
    _refused("batch_to_space: block 0", "ValueError", "block_shape must be",
             "run(tf.batch_to_space(np.zeros((4, 1, 1, 1)), [[0, 0], [0, 0]], 0))"),
    _refused("depth_to_space: indivisible", "ValueError", "divisible by 4", "tf.depth_to_space(np.zeros((1, 1, 1, 3)), 2)"),
    _refused("depth_to_space: rank", "ValueError", "Shape must be rank 4 but is rank 3",
             "tf.depth_to_space(np.zeros((1, 1, 4)), 2)"),
    _refused("depth_to_space: format", "ValueError", "DepthToSpace",
             'tf.depth_to_space(np.zeros((1, 1, 1, 4)), 2, data_format="X")'),
    _refused("space_to_depth: indivisible", "ValueError", "divisible by 2", "tf.space_to_depth(np.zeros((1, 3, 2, 1)), 2)"),
    _refused("where one arg", "ValueError", "x and y must both be non-None or both be None", "tf.where([True], [1])"),
    _refused("where mismatch", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 3",
             "tf.where([True, False], [1, 2], [3, 4, 5])"),
    _refused("where cond length", "ValueError", "Dimension 0 in both shapes must be equal, but are 3 and 2",
             "tf.where([True, False, True], [[1, 2], [3, 4]], [[1, 2], [3, 4]])"),
    _refused("where types", "TypeError", "got 1.0 of type 'float", "tf.where([True], [1], [1.])"),
    _refused("where cond type", "TypeError", "Expected bool", "tf.where([1, 0], [1, 2], [3, 4])"),
    _refused("unique matrix", "ValueError", "Shape must be rank 1 but is rank 2", "tf.unique([[1, 2]])"),
    _refused("unique at run time matrix", "InvalidArgumentError", "unique expects a 1D vector",
             "x = tf.placeholder(tf.int32); run(tf.unique(x)[0], {x:[[1, 2]]})"),
    _refused("listdiff 2d", "ValueError", "Shape must be rank 1 but is rank 2", "tf.setdiff1d([[1]], [1])"),
    _refused("diag rank", "ValueError", "Shape must be at least rank 1 but is rank 0", "tf.diag(3)"),
    _refused("diag_part odd", "ValueError", "Input must have even and non-zero rank", "tf.diag_part([1, 2, 3])"),
    _refused("diag_part uneq", "ValueError", "must be equal, but are 2 and", "tf.diag_part(np.ones((2, 3)))"),
    _refused("matrix_diag scalar", "ValueError", "must be at least rank 1", "tf.matrix_diag(0)"),
    _refused("matrix_diag at run time", "InvalidArgumentError", "must be at least 1-dim",
             "x = tf.placeholder(tf.float32); run(tf.matrix_diag(x), {x:0.})"),
    _refused("matrix_diag_part vector", "ValueError", "must be at least rank 2", "tf.matrix_diag_part([0])"),
    _refused("matrix_diag_part at run time", "InvalidArgumentError", "must be at least 2-dim",
             "x = tf.placeholder(tf.float32); run(tf.matrix_diag_part(x), {x:[0.]})"),
    _refused("set_diag rank", "ValueError", "must be at least rank 2", "tf.matrix_set_diag([0], [0])"),
    _refused("set_diag scalar diag", "ValueError", "must be at least rank 1", "tf.matrix_set_diag([[0]], 0)"),
    _refused("set_diag at run time", "InvalidArgumentError", "must be at least 2-dim",
             "x = tf.placeholder(tf.float32); run(tf.matrix_set_diag(x, [0.]), {x:[0.]})"),
    _refused("set_diag diag at run time", "InvalidArgumentError", "must be at least",
             "d = tf.placeholder(tf.float32); run(tf.matrix_set_diag([[0.]], d), {d:0.})"),
    _refused("roll scalar", "ValueError", "Shape must be at least rank 1 but is rank 0", "tf.roll(7, 1, 0)"),
    _refused("roll sizes", "ValueError", "Shapes must be equal rank, but are 1 and", "tf.roll([[1, 2]], [0, 1], 1)"),
    _refused("roll axis out of range", "InvalidArgumentError", "is out of range", "run(tf.roll([[1, 2]], 1, 2))"),
    _refused("roll scalar at run time", "InvalidArgumentError", "input must be 1-D or higher",
             "x = tf.placeholder(tf.float32); run(tf.roll(x, 1, 0), {x:7})"),
    _refused("argmax out of range", "ValueError", "must be in the range", "tf.argmax([[1.]], 2)"),
    _refused("argmax at run time out of range", "InvalidArgumentError", "in the range [-2",
             "a = tf.placeholder(tf.int32); run(tf.argmax([[1.]], a), {a:-3})"),
    _refused("argmax scalar", "InvalidArgumentError", "in the range", "run(tf.argmax(3., 0))"),
    _refused("argmax out type", "TypeError", "has DataType float32 not in list of allowed values",
             "tf.argmax([1.], 0, output_type=tf.float32)"),
    _refused("add_n empty", "ValueError", "of at least one Tensor/IndexedSlices with the same dtype and", "tf.add_n([])"),
    _refused("add_n shapes", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 1",
             "tf.add_n([tf.constant([1, 2]), tf.constant([1])])"),
    _refused("add_n types", "TypeError", "Tensors in list passed to 'inputs' of 'AddN' Op have types",
             "tf.add_n([tf.constant([1, 2]), tf.constant([1., 1])])"),
    _refused("accumulate_n dtype", "ValueError", "inputs must be a list",
             "tf.accumulate_n([tf.constant([1.]), tf.constant([1])])"),
    _refused("matmul inner", "ValueError", "Dimensions must be equal, but are 3 and",
             "tf.matmul(np.ones((2, 3)), np.ones((2, 3)))"),
    _refused("matmul inner at run time", "InvalidArgumentError", "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]", """
x = tf.placeholder(tf.float32)
run(tf.matmul(x, tf.constant(np.ones((2, 3), np.float32))), {x:np.ones((2, 3))})"""),
    _refused("matmul both t", "ValueError", "can be True",
             "tf.matmul(np.ones((2, 2)), np.ones((2, 2)), transpose_a=True, adjoint_a=True)"),
    _refused("matmul batch mismatch", "ValueError", "Dimensions must be equal, but are 2 and 3",
             "tf.matmul(np.ones((2, 2, 3)), np.ones((3, 3, 2)))"),
    _refused("matmul rank", "ValueError", "rank 2 but is rank 1", "tf.matmul(np.ones(3), np.ones((3, 2)))"),
    _refused("tensordot axes length", "ValueError", "Different number of contraction axes",
             "tf.tensordot([[1, 2]], [[5, 6]], [[0], [0, 1]])"),
    _refused("tensordot axes too big", "ValueError", "must not be larger than the number of dimensions of",
             "tf.tensordot([[1, 2]], [[5], [7]], 3)"),
    _refused("tensordot no valid axes", "ValueError", "must be an integer or have length 2",
             "tf.tensordot([[1, 2]], [[5], [7]], [0])"),
    _refused("bincount negative", "InvalidArgumentError", "Input arr must be non-negative!", "run(tf.bincount([-1, 2]))"),
    _refused("bincount size negative", "ValueError", "size (-1) must be non-negative",
             "run(tf.raw_ops.Bincount(arr=[1], size=-1, weights=[1.]))"),
    _refused("clip shape", "ValueError", "Dimensions must be equal, but are 3 and 2",
             "tf.clip_by_value([-5., 2, 5], [1., 2], 3.)"),
    _refused("clip int float", "TypeError", "got 0.5 of type 'float' instead", "tf.clip_by_value([1, 2], 0.5, 1)"),
    _refused("global norm bad", "TypeError", "should be a sequence", "tf.clip_by_global_norm(tf.constant([1.]), 1.)"),
    _refused("confusion negative", "InvalidArgumentError", "Condition x >= 0 did not hold element-wise",
             "run(tf.confusion_matrix([-1, 2], [1, 2]))"),
    _refused("confusion sizes", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 3",
             "tf.confusion_matrix([1, 2], [1, 2, 3])"),
    _refused("cross shape", "ValueError", "Shapes must be equal rank, but are 2 and", "tf.cross([[1., 2, 3]], [1., 2, 3])"),
    _refused("cumsum axis bad", "InvalidArgumentError", "Expected scan axis in the range [-2, 2)",
             "run(tf.cumsum([[1.]], 2))"),
    _refused("cumsum axis bad negative", "InvalidArgumentError", "Expected scan axis in the range [-2",
             "run(tf.cumsum([[1.]], -3))"),
    _refused("cumsum axis vector", "InvalidArgumentError", "must be a scalar", "run(tf.cumsum([[1.]], [0]))"),
    _refused("in_top_k sizes", "ValueError", "must be equal, but are 1 and", "tf.nn.in_top_k([[.1, .2]], [0, 1], 1)"),
    _refused("in_top_k rank", "ValueError", "Shape must be rank 2 but is rank 1", "tf.nn.in_top_k([.1, .2], [0], 1)"),
    _refused("top_k too big", "ValueError", "input must have", "tf.nn.top_k([.1, .2], 4)"),
    _refused("top_k at run time too big", "InvalidArgumentError", "input must have at least k columns",
             "k = tf.placeholder(tf.int32); run(tf.nn.top_k([.1, .2], k), {k:4})"),
    _refused("top_k negative at run time", "InvalidArgumentError", "Need k >= 0, got -3",
             "k = tf.placeholder(tf.int32); run(tf.nn.top_k([.1, .2], k), {k:-3})"),
    _refused("top_k scalar", "ValueError", "Shape must be at least rank 1 but is rank 0", "tf.nn.top_k(.1, 1)"),
    _refused("dynamic_partition out of range", "InvalidArgumentError", "partitions[2] = 99 is not in [0, 4)",
             "run(tf.dynamic_partition([0, 1, 2, 3], [0, 0, 99, 1], 4))"),
    _refused("dynamic_partition negative", "InvalidArgumentError", "partitions[0] = -1 is not in [0, 1)",
             "run(tf.dynamic_partition([0], [-1], 1))"),
    _refused("dynamic_partition 0", "ValueError", "num_partitions", "tf.dynamic_partition([1], [0], 0)"),
    _refused("dynamic_partition at run time shape", "InvalidArgumentError", "must start with",
             "p = tf.placeholder(tf.int32); run(tf.dynamic_partition([1., 2, 3], p, 2), {p:[0, 1]})"),
    _refused("stitch prefix", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 1", """
tf.dynamic_stitch([tf.constant([0, 1]), tf.constant([2])], [tf.constant([[1, 2], [3, 4]]), tf.constant([[1]])])"""),
    _refused("reduce bad", "ValueError", "Invalid reduction dimension", "tf.reduce_sum([[1., 2]], 2)"),
    _refused("reduce bad2", "ValueError", "Invalid reduction dimension -3", "tf.reduce_sum([[1., 2]], -3)"),
    _refused("reduce bad at run time", "InvalidArgumentError", "Invalid reduction dimension",
             "a = tf.placeholder(tf.int32); run(tf.reduce_sum([[1.]], a), {a:5})"),
    _refused("reduce keep_dims both", "ValueError", "Cannot specify both",
             "tf.reduce_sum([1.], keep_dims=True, keepdims=True)"),
    _refused("reduce mean bool", "TypeError", "has DataType bool not in list of allowed values", "tf.reduce_mean([True])"),
    _refused("reduce max complex", "TypeError", "has DataType complex128 not in list of allowed values",
             "tf.reduce_max(tf.constant([1j]))"),
    _refused("reduce sum string", "TypeError", "has DataType string not in list of allowed values", 'tf.reduce_sum(["a"])'),
    _refused("segment unsorted", "InvalidArgumentError", "segment ids are not increasing",
             "run(tf.segment_sum([1., 2, 3], [1, 0, 2]))"),
    _refused("segment size", "InvalidArgumentError", "segment_ids should", "run(tf.segment_sum([1., 2, 3], [0, 1]))"),
    _refused("segment rank", "ValueError", "Shape must be rank 1 but is rank 2", "tf.segment_sum([1., 2, 3], [[0, 1, 2]])"),
    _refused("sparse segment: bad index", "InvalidArgumentError", "indices[0] =",
             "run(tf.sparse_segment_sum(tf.constant([[1.]]), [3], [0]))"),
    _refused("sparse segment: unsorted", "InvalidArgumentError", "segment ids are not increasing",
             "run(tf.sparse_segment_sum(tf.constant([[1.]]), [0, 0], [1, 0]))"),
    _refused("sparse segment: negative", "InvalidArgumentError", "segment ids must be >=",
             "run(tf.sparse_segment_sum(tf.constant([[1.]]), [0], [-1]))"),
    _refused("sparse segment: size mismatch", "ValueError", "Dimension 0 in both shapes must be equal, but are",
             "tf.sparse_segment_sum(tf.constant([[1.], [2.]]), [0, 1], [0])"),
    _refused("einsum bad4", "ValueError", "have incorrect format: i+j->ij", 'tf.einsum("i+j->ij", np.ones(3))'),
    _refused("einsum kw", "TypeError", "Invalid keyword arguments for einsum: foo. Valid",
             'tf.einsum("ij->ji", np.ones((2, 2)), foo=1)'),
    _refused("div zero", "InvalidArgumentError", "Integer division by zero", "run(tf.constant([1])//tf.constant([0]))"),
    _refused("div zero py", "InvalidArgumentError", "Integer division by zero", "run(tf.div(tf.constant([1]), 0))"),
    _refused("cholesky nonsquare", "ValueError", "must be equal, but are", "tf.cholesky(np.ones((2, 3)))"),
    _refused("cholesky vector", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.cholesky(np.ones(3))"),
    _refused("cholesky int", "TypeError", "has DataType int32 not in list of allowed values", "tf.cholesky([[1]])"),
    _refused("inverse not square", "ValueError", "must be equal, but are", "tf.matrix_inverse([[1., 2, 3], [3, 4, 5]])"),
    _refused("inverse rank", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.matrix_inverse([1., 2])"),
    _refused("solve sizes", "ValueError", "must be equal, but are 2 and",
             "tf.matrix_solve([[1., 2], [3, 4]], [[1.], [2], [3]])"),
    _refused("solve rank", "ValueError", "Shape must be at least rank 2 but is rank 1",
             "tf.matrix_solve([[1., 2], [3, 4]], [1., 2])"),
    _refused("trisolve not square", "ValueError", "must be equal, but are",
             "tf.matrix_triangular_solve(np.ones((3, 4)), np.ones((4, 1)))"),
    _refused("trisolve sizes", "ValueError", "must be equal, but are 3 and",
             "tf.matrix_triangular_solve(np.eye(3), np.ones((4, 1)))"),
    _refused("det not square", "ValueError", "must be equal, but are 3 and", "tf.matrix_determinant(np.ones((2, 3)))"),
    _refused("det vector", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.matrix_determinant(np.ones(3))"),
    _refused("band bad", "InvalidArgumentError", "num_lower must be negative or less or equal to number of rows",
             "run(tf.matrix_band_part(np.ones((3, 4)), 5, 0))"),
    _refused("band bad upper", "InvalidArgumentError", "num_upper must be negative or less or equal to number of columns",
             "run(tf.matrix_band_part(np.ones((3, 4)), 0, 5))"),
    _refused("band rank", "InvalidArgumentError", "must be at least", "run(tf.matrix_band_part([1.], 0, 0))"),
    _refused("expm not square", "ValueError", "must be equal, but are 3 and", "tf.linalg.expm(np.ones((2, 3)))"),
    _refused("logm not square", "ValueError", "must be equal, but are",
             "tf.linalg.logm(tf.constant(np.ones((2, 3)), tf.complex64))"),
    _refused("logm real", "TypeError", "has DataType float32 not in list of allowed values",
             "tf.linalg.logm(tf.constant([[1.]]))"),
    _refused("sqrtm not square", "ValueError", "must be equal, but are", "tf.linalg.sqrtm(np.ones((2, 3)))"),
    _refused("qr rank", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.qr([1.])"),
    _refused("svd rank", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.svd([1.])"),
    _refused("eigh not square", "ValueError", "must be equal, but are", "tf.self_adjoint_eig(np.ones((2, 3)))"),
    _refused("eigh rank", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.self_adjoint_eig(np.ones((2, )))"),
    _refused("lstsq sizes", "ValueError", "must be equal, but are 3 and",
             "tf.matrix_solve_ls(np.ones((3, 2)), np.ones((2, 1)))"),
    _refused("norm bad ord", "ValueError", "a supported matrix norm in ['euclidean', 'fro', 1, 2, inf]",
             'tf.norm([[1., 2], [3, 4]], "foo", axis=[0, 1])'),
    _refused("norm bad ord2", "ValueError", "vector norm", 'tf.norm([[1., 2], [3, 4]], "fro", axis=0)'),
    _refused("norm bad ord3", "ValueError", "ord' must be", "tf.norm([[1., 2], [3, 4]], -1)"),
    _refused("norm bad axis", "ValueError", "must be None, an integer, or a tuple of 2 unique integers",
             "tf.norm([[1., 2], [3, 4]], axis=[0, 0])"),
    _refused("adjoint vector", "ValueError", "should be a (batch)", "tf.linalg.adjoint([1.])"),
    _refused("softsign int", "TypeError", "has DataType int32 not in list of allowed values",
             "tf.nn.softsign(tf.constant([1]))"),
    _refused("softplus int", "TypeError", "has DataType int32 not in list of allowed values",
             "tf.nn.softplus(tf.constant([1]))"),
    _refused("softmax sizes too large", "InvalidArgumentError", "must be in the range",
             "run(tf.nn.softmax([[1., 2]], axis=100))"),
    _refused("softmax sizes scalar", "ValueError", "Shape must be at least rank 1 but is rank 0", "tf.nn.softmax(1.)"),
    _refused("softmax int", "TypeError", "has DataType int32 not in list of allowed values", "tf.nn.softmax([[1, 2]])"),
    _refused("cross entropy scalar", "IndexError", "index out of range",
             "tf.nn.softmax_cross_entropy_with_logits_v2(labels=1., logits=1.)"),
    _refused("sparse cross entropy out of range", "InvalidArgumentError", "Received a label value of",
             "run(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[4, 3, 0, -1], logits=[[1., 1., 1., 1.]]*4))"),
    _refused("sparse cross entropy labels mismatch", "ValueError", "except for the last dimension", """
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[0, 2]], logits=[[[0., 1], [2, 3]], [[0., 1], [2, 3]]])"""),
    _refused("sparse cross entropy label dtype", "TypeError", "has DataType float32 not in list of allowed values: int32",
             "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0.], logits=[[0., 1]])"),
    _refused("sigmoid cross entropy shape", "ValueError", "must have the same shape",
             "tf.nn.sigmoid_cross_entropy_with_logits(labels=[[2., 1]], logits=[1., 2, 3])"),
    _refused("weighted cross entropy shape", "ValueError", "must have the same shape",
             "tf.nn.weighted_cross_entropy_with_logits(targets=[[2., 1]], logits=[1., 2, 3], pos_weight=2.)"),
    _refused("bias 1d", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.nn.bias_add([1., 2], [1., 2])"),
    _refused("bias matrix", "ValueError", "Shape must be rank 1 but is rank 2", "tf.nn.bias_add([[1., 2]], [[1., 2]])"),
    _refused("bias mismatch", "ValueError", "Dimensions must be", "tf.nn.bias_add([[1., 2]], [1., 2, 3])"),
    _refused("bias format", "ValueError", "must be of the form `N...C` or",
             'tf.nn.bias_add([[1., 2]], [1., 2], data_format="X")'),
    _refused("dropout bad keep", "ValueError", "must be a scalar tensor or a float in the range [0",
             "tf.nn.dropout([1.], -1.)"),
    _refused("dropout int", "ValueError", "be a floating point tensor", "tf.nn.dropout(tf.constant([1, 2]), .5)"),
    _refused("dropout noise bad", "ValueError", "Dimensions must be equal, but are",
             "run(tf.nn.dropout(tf.ones([4, 5]), .5, noise_shape=[4, 3]))"),
    _refused("dropout both", "ValueError", "Cannot specify both", "tf.nn.dropout([1.], keep_prob=.5, rate=.5)"),
    _refused("fused bn missing", "ValueError", "mean` and `variance` must be a 1D tensor when `is_training",
             "tf.nn.fused_batch_norm(tf.ones([1, 1, 1, 2]), [1., 2], [1., 1], is_training=False)"),
    _refused("fused bn scale", "ValueError", "must be equal, but are 2 and",
             "tf.nn.fused_batch_norm(tf.ones([1, 1, 1, 2]), [1., 2, 3], [1., 1])"),
    _refused("log poisson shape", "ValueError", "must have the same shape", "tf.nn.log_poisson_loss([1., 2], [.5, .3, 1])"),
    _refused("lrn rank", "ValueError", "Shape must be rank 4 but is rank 2", "tf.nn.lrn([[1.]])"),
    _refused("conv2d kernel larger", "ValueError", "Negative dimension size caused by subtracting 5 from 4", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, np.ones((5, 5, 2, 3), np.float32), [1, 1, 1, 1], "VALID")"""),
    _refused("conv2d rank", "ValueError", "Shape must be rank 4 but is rank 3", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X[0], W, [1, 1, 1, 1], "SAME")"""),
    _refused("conv2d depth", "ValueError", "input depth", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, np.ones((3, 3, 3, 2), np.float32), [1, 1, 1, 1], "SAME")"""),
    _refused("conv2d depth at run time", "InvalidArgumentError", "input depth", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
x = tf.placeholder(tf.float32)
run(tf.nn.conv2d(x, np.ones((3, 3, 3, 2), np.float32), [1, 1, 1, 1], "SAME"), {x:X})"""),
    _refused("conv2d strides batch", "UnimplementedError", "strides in the batch and depth", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
run(tf.nn.conv2d(X, W, [2, 1, 1, 1], "SAME"))"""),
    _refused("conv2d strides length", "ValueError", "strides should be of length 1, 2 or 4", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, W, [1, 1], "SAME") if 0 else tf.nn.conv2d(X, W, [1, 1, 1], "SAME")"""),
    _refused("conv2d explicit batch pad", "ValueError", "explicit padding", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, W, [1, 1, 1, 1], [[1, 0], [1, 2], [0, 1], [0, 0]])"""),
    _refused("conv2d explicit length", "ValueError", "[[1, 2], [0", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, W, [1, 1, 1, 1], [[1, 2], [0, 1]])"""),
    _refused("conv2d explicit pair", "ValueError", "[[0], [1], [1]", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, W, [1, 1, 1, 1], [[0], [1], [1], [0]])"""),
    _refused("conv2d format", "ValueError", "data_format", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d(X, W, [1, 1, 1, 1], "SAME", data_format="XX")"""),
    _refused("backprop bad sizes", "InvalidArgumentError", "out_backprop", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
run(tf.nn.conv2d_backprop_input([1, 5, 4, 2], W, np.ones((1, 9, 4, 2), np.float32), [1, 1, 1, 1], "SAME"))"""),
    _refused("backprop input rank", "ValueError", "Conv2DBackpropInput", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d_backprop_input([1, 4, 4], W, np.ones((1, 4, 4, 2), np.float32), [1, 1, 1, 1], "SAME")"""),
    _refused("transpose bad out", "InvalidArgumentError", "out_backprop", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
run(tf.nn.conv2d_transpose(X, W, [1, 9, 9, 2], [1, 2, 2, 1], "VALID"))"""),
    _refused("transpose bad out channels", "InvalidArgumentError", "input depth", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
run(tf.nn.conv2d_transpose(X, W, [1, 8, 8, 3], [1, 2, 2, 1], "SAME"))"""),
    _refused("transpose outshape", "ValueError", "Conv2DBackpropInput", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d_transpose(X, W, [8, 8, 2], [1, 2, 2, 1], "SAME")"""),
    _refused("transpose format", "ValueError", "data_format", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.conv2d_transpose(X, W, [1, 8, 8, 2], [1, 2, 2, 1], "SAME", data_format="X")"""),
    _refused("conv3d rank", "ValueError", "Shape must be rank 5 but is rank 4", """
tf.nn.conv3d(np.ones((1, 2, 2, 2), np.float32), np.ones((2, 1, 2, 2, 3), np.float32), [1, 1, 1, 1, 1], "SAME")"""),
    _refused("conv3d too large", "ValueError", "Negative dimension size", """
tf.nn.conv3d(np.ones((1, 2, 2, 2, 2), np.float32), np.ones((3, 1, 2, 2, 3), np.float32), [1, 1, 1, 1, 1], "VALID")"""),
    _refused("depthwise channels", "ValueError", "Dimensions must be", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.depthwise_conv2d(X, np.ones((2, 2, 3, 3), np.float32), [1, 1, 1, 1], "VALID")"""),
    _refused("separable mismatch", "ValueError", "input depth", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.separable_conv2d(X, np.ones((2, 2, 2, 3), np.float32), np.ones((1, 1, 5, 4), np.float32), [1, 1, 1, 1], "SAME")"""),
    _refused("atrous rate 0", "ValueError", "all values of", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.atrous_conv2d(X, W, 0, "SAME")"""),
    _refused("convolution both", "ValueError", "not supported in conjunction with", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
tf.nn.convolution(X, W, "SAME", strides=[2, 2], dilation_rate=[2, 2])"""),
    _refused("pool too large", "ValueError", "Negative dimension size",
             'tf.nn.max_pool(np.ones((1, 3, 3, 1), np.float32), [1, 4, 4, 1], [1, 1, 1, 1], "VALID")'),
    _refused("pool rank", "ValueError", "Shape must be rank 4 but is rank 3",
             'tf.nn.max_pool(np.ones((3, 3, 1), np.float32), [1, 2, 2, 1], [1, 1, 1, 1], "VALID")'),
    _refused("pool batch", "UnimplementedError", "Pooling is not yet supported on the batch",
             'run(tf.nn.max_pool(np.ones((2, 3, 3, 1), np.float32), [2, 2, 2, 1], [1, 1, 1, 1], "VALID"))'),
    _refused("pool ksize length", "ValueError", "ksize should be of length 1, 2 or 4",
             'tf.nn.max_pool(np.ones((2, 3, 3, 1), np.float32), [1, 2, 2], [1, 1, 1, 1], "VALID")'),
    _refused("dilation channels", "ValueError", "Dimensions must be", """
tf.nn.dilation2d(np.ones((1, 2, 2, 2), np.float32), np.ones((2, 2, 3), np.float32), [1, 1, 1, 1], [1, 1, 1, 1], "SAME")"""),
    _refused("patches batch", "UnimplementedError", "Only support ksizes across",
             'run(tf.extract_image_patches(np.ones((1, 4, 4, 1)), [2, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"))'),
    _refused("embedding strategy", "ValueError", "Unrecognized partition strategy", """
tf.nn.embedding_lookup([tf.constant(np.ones((3, 2))), tf.constant(np.ones((3, 2)))], [0], partition_strategy="foo")"""),
    _refused("embedding empty", "ValueError", "Need at least one param", "tf.nn.embedding_lookup([], [0])"),
    _refused("embedding out of range", "InvalidArgumentError", "indices[0] = 7 is not in [0, 3)",
             "run(tf.nn.embedding_lookup(tf.constant(np.ones((3, 2))), [7]))"),
    _refused("embedding sparse bad combiner", "ValueError", "combiner must be one of", """
X = np.arange(1., 33.).reshape(1, 4, 4, 2).astype(np.float32)
W = (np.arange(1., 13.).reshape(3, 1, 2, 2)/10).astype(np.float32)
sp = tf.SparseTensor([[0, 0]], tf.constant([0], tf.int64), [2, 2])
tf.nn.embedding_lookup_sparse(tf.constant(np.ones((3, 2))), sp, None, combiner="x")"""),
    _refused("embedding sparse dense ids", "TypeError", "sp_ids must be SparseTensor",
             'tf.nn.embedding_lookup_sparse(tf.constant(np.ones((3, 2))), [0], None, combiner="sum")'),
    _refused("random int no max", "ValueError", "Must specify maxval", "tf.random_uniform([2], dtype=tf.int32)"),
    _refused("random int minmax", "InvalidArgumentError", "Need minval < maxval",
             "run(tf.random_uniform([2], 5, 5, dtype=tf.int32))"),
    _refused("random normal dtype bad", "TypeError", "got 0.0 of type 'float", "tf.random_normal([2], dtype=tf.int32)"),
    _refused("random shape negative", "InvalidArgumentError", "Dimension -1 must be >=", "run(tf.random_normal([-1]))"),
    _refused("random shape matrix", "ValueError", "Shape must be rank 1 but is rank 2", "tf.random_normal([[1, 2]])"),
    _refused("multinomial rank", "ValueError", "Shape must be rank 2 but is rank 1", "tf.multinomial([0., 1], 3)"),
    _refused("multinomial no classes", "InvalidArgumentError", "num_classes should be positive",
             "run(tf.multinomial(np.ones((2, 0), np.float32), 4))"),
    _refused("random crop bad", "InvalidArgumentError", "Need value.shape >= size",
             "run(tf.random_crop(np.ones((4, 5)), [5, 5]))"),
    _refused("orthogonal vector", "ValueError", "at least two-dimensional", "tf.orthogonal_initializer()([5])"),
    _refused("variance scaling bad dist", "ValueError", "untruncated_normal",
             'tf.variance_scaling_initializer(distribution="x")'),
    _refused("variance scaling bad scale", "ValueError", "scale` must be", "tf.variance_scaling_initializer(scale=-1.)"),
    _refused("uniform unit scaling dtype", "ValueError", "floating point",
             "tf.uniform_unit_scaling_initializer(dtype=tf.string)"),
    _refused("ones string", "TypeError", "got 1 of type 'int", "tf.ones([2], tf.string)"),
    _refused("fill matrix", "ValueError", "Shape must be rank 1 but is rank 2", "tf.fill([[0, 1], [2, 3]], 1.)"),
    _refused("fill value vector", "ValueError", "Shape must be rank 0 but is rank", "tf.fill([2], [0, 1])"),
    _refused("constant: verify", "TypeError", "Expected Tensor's shape",
             "tf.constant([1, 2, 3], shape=[6], verify_shape=True)"),
    _refused("constant: str to float", "TypeError", "Expected float32", 'tf.constant("a", dtype=tf.float32)'),
    _refused("constant: ragged", "ValueError", "an array element with a sequence. The requested array has an",
             "tf.constant([[1, 2], [3]])"),
    _refused("constant: none", "ValueError", "None values not", "tf.constant(None)"),
    _refused("constant: none list", "TypeError", "Consider casting elements to a supported type", "tf.constant([1, None])"),
    _refused("constant: float to int", "TypeError", "got 1.5 of type 'float", "tf.constant(1.5, tf.int32)"),
    _refused("constant: int to bool", "TypeError", "got 1 of type 'int", "tf.constant(1, tf.bool)"),
    _refused("constant: int to string", "TypeError", "got 1 of type 'int", "tf.constant(1, tf.string)"),
    _refused("constant: shape float", "TypeError", "Cannot convert",
             "tf.convert_to_tensor(tf.TensorShape([1, 2]), dtype=tf.float32)"),
    _refused("convert list mixed dtype", "TypeError", "Cannot convert a list containing a tensor of dtype",
             "tf.convert_to_tensor([tf.constant(1), tf.constant(2.)])"),
    _refused("convert mixed", "TypeError", "got 1.5 of type 'float", "tf.convert_to_tensor([1.5, tf.constant(2)])"),
    _refused("placeholder unfed", "InvalidArgumentError", "feed a value for placeholder tensor 'Placeholder' with dtype",
             "run(tf.placeholder(tf.float32)+1)"),
    _refused("placeholder wrong", "ValueError", "Cannot feed value of shape",
             "x = tf.placeholder(tf.float32, [2]); run(x, {x:[1., 2, 3]})"),
    _refused("pwd bad", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 3",
             "tf.placeholder_with_default([1, 2], [3])"),
    _refused("unary int refused", "TypeError", "has DataType int32 not in list of allowed values: bfloat16",
             "tf.exp([1, 2])"),
    _refused("sqrt int", "TypeError", "has DataType int32 not in list of allowed values: bfloat16",
             "tf.sqrt(tf.constant([4]))"),
    _refused("bcast bad", "ValueError", "Dimensions must be equal, but are 3 and 2",
             "x = tf.constant([[-1.5, 0., 2.], [.5, 1., 3.]]); x+tf.constant([[1., 2.]])"),
    _refused("bcast at run time bad", "InvalidArgumentError", "Incompatible shapes: [2,3] vs",
             "x = tf.constant([[-1.5, 0., 2.], [.5, 1., 3.]]); a = tf.placeholder(tf.float32); run(x+a, {a:[1., 2.]})"),
    _refused("broadcast static bad", "ValueError", "Incompatible shapes for",
             "tf.broadcast_static_shape(tf.TensorShape([2, 2]), tf.TensorShape([3]))"),
    _refused("less bool", "TypeError", "has DataType bool not in list of allowed values", "tf.less([True], [False])"),
    _refused("less complex", "TypeError", "has DataType complex128 not in list of allowed values", "tf.less([1j], [2j])"),
    _refused("compare bad shape", "ValueError", "Dimensions must be equal, but are 2 and 3", "tf.less([1, 2], [1, 2, 3])"),
    _refused("add bool", "TypeError", "has DataType bool not in list of allowed values: bfloat16", "tf.add(True, False)"),
    _refused("logical int", "TypeError", "got 1 of type 'int", "tf.logical_and([1], [1])"),
    _refused("polyval type", "ValueError", "Argument coeffs must be list type",
             "x = tf.constant([[-1.5, 0., 2.], [.5, 1., 3.]]); tf.math.polyval(tf.constant([1.]), x)"),
    _refused("bitcast bad", "ValueError", "Cannot bitcast", "run(tf.bitcast(tf.constant([1, 2, 3]), tf.int64))"),
    _refused("bitcast at run time bad", "InvalidArgumentError", "Cannot bitcast from",
             "a = tf.placeholder(tf.int32); run(tf.bitcast(a, tf.int64), {a:[1, 2, 3]})"),
    _refused("bitcast string", "TypeError", "has DataType string not in list of allowed values: bfloat16",
             'tf.bitcast(tf.constant("a"), tf.int32)'),
    _refused("broadcast_to bad", "ValueError", "Dimensions must be equal, but are 3 and 2",
             "tf.broadcast_to([1, 2, 3], [3, 2])"),
    _refused("broadcast_to at run time bad", "InvalidArgumentError", "Incompatible shapes",
             "s = tf.placeholder(tf.int32); run(tf.broadcast_to([1, 2, 3], s), {s:[3, 2]})"),
    _refused("check numerics nan", "InvalidArgumentError", "hello : Tensor had NaN",
             'run(tf.check_numerics(tf.constant([1., 2.])*float("nan"), "hello"))'),
    _refused("check numerics inf", "InvalidArgumentError", "hello : Tensor had Inf",
             'run(tf.check_numerics(tf.constant([1., 2.])*float("inf"), "hello"))'),
    _refused("check numerics both", "InvalidArgumentError", "hello : Tensor had",
             'run(tf.check_numerics([float("inf"), float("nan")], "hello"))'),
    _refused("betainc shapes", "ValueError", "Dimension 0 in both shapes must be equal, but are 2 and 1",
             "tf.betainc([.5, .5], [1.], [.2, .3])"),
    _refused("fft rank", "ValueError", "Shape must be at least rank 2 but is rank 1", "tf.fft2d(np.ones(3, np.complex64))"),
    _refused("dct bad type", "ValueError", "Types I, II, III and IV (I)DCT are supported", "tf.spectral.dct([1.], type=7)"),
    _refused("join shapes", "ValueError", "must be equal", 'tf.string_join([["a", "b"], ["c"]])'),
    _refused("reduce_join sizes", "ValueError", "Invalid reduction dimension", 'run(tf.reduce_join([["a"]], 2))'),
    _refused("as_string bad", "InvalidArgumentError", "Cannot select both scientific and shortest notation",
             "run(tf.as_string([1.5], scientific=True, shortest=True))"),
    _refused("as_string bad2", "InvalidArgumentError", "precision not supported for datatype int32",
             "run(tf.as_string([1], precision=2))"),
    _refused("as_string bad fill", "InvalidArgumentError", "Fill string must be one or fewer",
             'run(tf.as_string([1], width=5, fill="ab"))'),
    _refused("to number bad", "InvalidArgumentError", "StringToNumberOp could not correctly convert string",
             'run(tf.string_to_number(["10foobar"]))'),
    _refused("substr out of range", "InvalidArgumentError", "out of range", 'run(tf.substr("hi", 9, 1))'),
    _refused("substr shapes", "ValueError", "pos and len shapes must match", 'run(tf.substr(["hi"], [0, 1], [1]))'),
    _refused("regex bad", "InvalidArgumentError", "Invalid pattern", 'run(tf.regex_replace(["a"], "A[", "x"))'),
    _refused("decode_raw mult", "InvalidArgumentError", "is not a multiple of 2, the size of",
             'run(tf.decode_raw(["123"], tf.int16))'),
    _refused("decode_raw differ", "InvalidArgumentError", "DecodeRaw requires input strings to all be the same size",
             'run(tf.decode_raw(["1", "22"], tf.uint8))'),
    _refused("fractional ratio", "ValueError", "pooling_ratio",
             "tf.nn.fractional_max_pool(np.ones((1, 6, 6, 1), np.float32), [1, .5, 1.5, 1])"),
    _refused("fractional batch ratio", "UnimplementedError", "pooling is not yet supported on the batch nor channel",
             "run(tf.nn.fractional_max_pool(np.ones((1, 6, 6, 1), np.float32), [2, 1.5, 1.5, 1]))"),
    _refused("reverse_sequence: sizes equal", "InvalidArgumentError", "batch_dim == seq_dim == 0",
             "run(tf.reverse_sequence(np.ones((2, 2)), [1, 1], seq_dim=0, batch_dim=0))"),
    _refused("reverse_sequence: length 2d", "ValueError", "Shape must be rank 1 but is rank 2",
             "tf.reverse_sequence(tf.placeholder(tf.float32), tf.placeholder(tf.int64, [32, 2]), seq_dim=1)"),
    _refused("reverse_sequence: grad", "TypeError", "Input 'y' of 'Mul' Op has type float32 that does not match", """
x = tf.constant(np.arange(6.).reshape(2, 3))
tf.gradients(tf.reverse_sequence(x, [2, 3], 1)*tf.constant([[1., 2, 3], [4, 5, 6]]), x)"""),
    _refused("weights bad", "ValueError", "weights can not be broadcast to values", """
tf.losses.compute_weighted_loss(tf.constant(np.ones((2, 3), np.float32)), tf.constant(np.ones((3, ), np.float32)))"""),
    _refused("assert false", "InvalidArgumentError", "assertion failed",
             'run(tf.Assert(tf.constant(False), ["x", tf.constant([1, 2])]))'),
    _refused("histogram bad range", "InvalidArgumentError", "value_range should satisfy value_range[0] < value_range[1]",
             "run(tf.histogram_fixed_width([1.], [5., 0.], nbins=5))"),
    _refused("histogram bad nbins", "ValueError", "Requires nbins >",
             "run(tf.histogram_fixed_width([1.], [0., 5.], nbins=0))"),
    _refused("image gamma negative", "ValueError", "Gamma should be a non-negative real",
             "run(tf.image.adjust_gamma(np.ones((1, 1, 3), np.float32), -1.))"),
    _refused("image gray to rgb bad", "ValueError", "Last dimension of a grayscale image should be size",
             "tf.image.grayscale_to_rgb(tf.constant(np.ones((2, 2, 2))))"),
    _refused("central crop bad", "ValueError", "central_fraction must be within",
             "tf.image.central_crop(np.ones((2, 2, 1)), 0.)"),
    _refused("crop bad", "ValueError", "offset_height", "tf.image.crop_to_bounding_box(np.ones((2, 2, 1)), -1, 0, 1, 1)"),
    _refused("crop bad2", "ValueError", "width must be", "tf.image.crop_to_bounding_box(np.ones((2, 2, 1)), 0, 0, 1, 5)"),
    _refused("crop bad3", "ValueError", "target_width must be > 0",
             "tf.image.crop_to_bounding_box(np.ones((2, 2, 1)), 0, 0, 1, 0)"),
    _refused("pad bad", "ValueError", "offset_height must be >= 0",
             "tf.image.pad_to_bounding_box(np.ones((2, 2, 1)), -1, 0, 4, 4)"),
    _refused("pad bad2", "ValueError", "width must be <= target - offset",
             "tf.image.pad_to_bounding_box(np.ones((2, 2, 1)), 0, 3, 4, 4)"),
    _refused("crop rank", "ValueError", "must have either 3 or 4",
             "tf.image.crop_to_bounding_box(np.ones((2, 2)), 0, 0, 1, 1)"),
    _refused("crop inner", "ValueError", "inner 3 dims of 'image.shape' must be > 0",
             "tf.image.crop_to_bounding_box(np.ones((0, 2, 1)), 0, 0, 1, 1)"),
    _refused("crop or pad bad", "ValueError", "target_width must be > 0",
             "tf.image.resize_image_with_crop_or_pad(np.ones((2, 2, 1)), 2, 0)"),
    _refused("resize rank", "ValueError", "'images' must have either 3 or 4 dimensions",
             "tf.image.resize_images(np.ones((2, 2)), [2, 2])"),
    _refused("resize unknown rank", "ValueError", "'images' contains no shape",
             "tf.image.resize_images(tf.placeholder(tf.float32), [2, 2])"),
    _refused("resize size", "ValueError", "'size' must be a 1-D Tensor of 2 elements",
             "tf.image.resize_images(np.ones((2, 2, 1)), [2, 2, 2])"),
    _refused("total variation rank", "ValueError", "images' must", "tf.image.total_variation(tf.constant(np.ones((2, 2))))"),
    _refused("psnr shapes", "ValueError", "Dimensions must be equal, but are 2 and 3",
             "tf.image.psnr(np.ones((2, 2, 3)), np.ones((3, 3, 3)), 1.)"),
    _refused("non_max_suppression: bad thr", "InvalidArgumentError", "iou_threshold must be in [0, 1]",
             "run(tf.image.non_max_suppression([[0., 0, 1, 1]], [.9], 3, 1.2))"),
    _refused("random image refusals", "ValueError", "lower must be",
             "tf.image.random_contrast(np.ones((1, 1, 3), np.float32), -1., 2.)"),
    _refused("random image refusals2", "ValueError", "upper must be > lower",
             "tf.image.random_saturation(np.ones((1, 1, 3), np.float32), 2., 1.)"),
    _refused("random hue", "ValueError", "max_delta must be <= 0.5",
             "tf.image.random_hue(np.ones((1, 1, 3), np.float32), .6)"),
    _refused("random hue negative", "ValueError", "max_delta must be non-negative",
             "tf.image.random_hue(np.ones((1, 1, 3), np.float32), -.6)"),
    _refused("random brightness negative", "ValueError", "max_delta must be non-negative",
             "tf.image.random_brightness(np.ones((1, 1, 3), np.float32), -.6)"),
    Row("rot90 by a tensor", """
k = tf.placeholder(tf.int32)
x = tf.constant(np.arange(12.).reshape(2, 3, 2))
turned = tf.image.rot90(x, k)
batch = tf.image.rot90(x[None], k)
result = [turned.shape.as_list(), batch.shape.as_list(), [run([turned, batch], {k: n}) for n in range(-1, 4)]]"""),
    Row("ssim of one image, and of two batch axes", """
a = np.random.RandomState(0).rand(2, 2, 12, 13, 3).astype(np.float32)
result = run([tf.image.ssim(a[0, 0], a[1, 1], 1.), tf.image.ssim(tf.constant(a[:1]), tf.constant(a[1:]), 1.)])"""),
    Row("tensordot of axes that are a tensor", """
axes = tf.placeholder(tf.int32)
a, b = tf.constant(np.arange(24.).reshape(2, 3, 4)), tf.constant(np.arange(24.).reshape(4, 3, 2))
y = tf.tensordot(a, b, axes)
result = [run([y, tf.gradients(y, [a, b])], {axes: v}) for v in ([[2], [0]], [[1, 2], [1, 0]])]"""),
    Row("frames of a signal of unknown rank", """
x = tf.placeholder(tf.float32)
made = [tf.signal.frame(x, 4, 2), tf.signal.frame(x, 4, 3, pad_end=True, pad_value=7), tf.signal.overlap_and_add(x, 3)]
result = [run(made, {x: np.arange(20., dtype=np.float32).reshape(s)}) for s in ((4, 5), (2, 2, 5))]
result.append(run(made[:2], {x: np.arange(9., dtype=np.float32)}))"""),
    Row("overlap_and_add of unknown sizes", """
x = tf.placeholder(tf.float32, [None, None])
result = run(tf.signal.overlap_and_add(x, 2), {x: np.arange(12., dtype=np.float32).reshape(3, 4)})"""),
    Row("scattered strings", """
result = run(tf.scatter_nd([[1], [3], [1]], tf.constant(["a", "b", "c"]), [5]))"""),
    Row("a mask of numbers", "result = run(tf.boolean_mask([1., 2., 3.], tf.constant([1, 0, 1])))"),
    Row("soft suppression of boxes", """
boxes = [[0., 0, 1, 1], [0, .1, 1, 1.1], [5., 5, 6, 6]]
result = list(run(tf.image.non_max_suppression_with_scores(boxes, [.9, .75, .3], 3, .5, soft_nms_sigma=.5)))"""),
    Row("depthwise convolution of rate and stride", """
x = np.random.RandomState(0).rand(2, 5, 6, 3).astype(np.float32)
k = np.random.RandomState(1).rand(3, 2, 3, 2).astype(np.float32)
result = run([tf.nn.depthwise_conv2d(x, k, [1, 2, 2, 1], p, rate=[2, 2]) for p in ("SAME", "VALID")])"""),
    Row("squeeze an axis named twice", "result = run(tf.squeeze(np.ones((1, 1, 2)), [0, -3]))"),
    Row("text of truth values", 'result = run(tf.as_string([True, False], width=8, fill="0"))'),
    Row("identity of what is sparse", """
y = tf.identity(tf.SparseTensor([[0], [2]], [1., 2.], [3]))
result = run([y.indices, y.values, y.dense_shape])"""),
    Row("sums of integers by segment", "result = run(tf.sparse_segment_sum(tf.constant([[1, 2], [3, 4]]), [0, 1, 1], [0, 0, 1]))"),
    Row("shapes of a list that holds a placeholder", """
n = tf.placeholder(tf.int32)
result = [x.shape.as_list() for x in (tf.zeros([2, n]), tf.fill([n, 3], 1), tf.reshape(tf.ones([6]), [n, 2]))]"""),
    Row("sizes that are whole floats", "result = run(tf.zeros([2., 3]))"),
    _refused("slice: begin and size of two dtypes", "TypeError", "int64",
             "tf.slice([1, 2], tf.constant([0], tf.int64), tf.constant([1]))"),
    _refused("indices of two dtypes in one slice", "TypeError", "don't all match",
             "tf.ones([2, 2])[tf.constant(1, tf.int64), tf.constant(0)]"),
    _refused("cast to strings", "OpError", "Cast int64 to string is not supported", "run(tf.cast(np.arange(10), tf.string))"),
    _refused("cast of strings", "OpError", "Cast string to float", 'run(tf.cast(tf.constant(["1"]), tf.float32))'),
    _refused("abs of unsigned", "TypeError", "uint8", "tf.abs(tf.constant([1], tf.uint8))"),
    _refused("minus unsigned", "TypeError", "uint16", "-tf.constant([1], tf.uint16)"),
    _refused("sign of unsigned", "TypeError", "uint32", "tf.sign(tf.constant([1], tf.uint32))"),
    _refused("power of unsigned", "TypeError", "uint8", "tf.pow(tf.constant([1], tf.uint8), tf.constant([1], tf.uint8))"),
    _refused("constant of tensors", "TypeError", "tensor", "tf.constant([tf.constant(1), tf.constant(2)])"),
    _refused("ones_like of strings", "TypeError", "string", 'tf.ones_like(tf.constant(["a"]))'),
    _refused("bitcast to strings", "TypeError", "string", "tf.bitcast(tf.constant([1.]), tf.string)"),
    _refused("reduction axes that are a matrix", "ValueError", "must be at most rank 1 but is rank 2",
             "tf.reduce_sum(tf.ones([2, 3]), [[0]])"),
    _refused("where: a vector chooses between numbers", "ValueError", "", "tf.where([True, False], 1, 2)"),
    _refused("transpose: order is a scalar", "ValueError", "must be rank 1 but is rank 0", "tf.transpose(tf.ones([3]), 0)"),
    _refused("pooling: batch", "UnimplementedError", "Pooling is not yet supported on the batch dimension",
             "run(tf.nn.max_pool(tf.ones([4, 2, 2, 4]), [2, 1, 1, 1], [2, 1, 1, 1], 'SAME'))"),
    _refused("pooling: depth and space", "UnimplementedError", "exactly one of pooling across depth",
             "run(tf.nn.max_pool(tf.ones([1, 2, 2, 4]), [1, 2, 2, 2], [1, 1, 1, 2], 'SAME'))"),
    _refused("pooling: depth stride", "UnimplementedError", "depth window to equal the depth stride",
             "run(tf.nn.max_pool(tf.ones([1, 2, 2, 4]), [1, 1, 1, 2], [1, 1, 1, 1], 'SAME'))"),
    _refused("pooling: depth window", "UnimplementedError", "evenly divide",
             "run(tf.nn.max_pool(tf.ones([1, 2, 2, 4]), [1, 1, 1, 3], [1, 1, 1, 3], 'SAME'))"),
    _refused("pooling: means across depth", "UnimplementedError", "Non-spatial pooling is not yet supported",
             "run(tf.nn.avg_pool(tf.ones([1, 2, 2, 4]), [1, 1, 1, 2], [1, 1, 1, 2], 'SAME'))"),
    _refused("padding in small letters", "ValueError", "'same'", "tf.nn.max_pool(tf.ones([1, 2, 2, 4]), 2, 2, 'same')"),
    _refused("crop_and_resize: image", "OutOfRangeError", "box_index has values outside [0, batch_size)",
             "run(tf.image.crop_and_resize(np.ones((2, 4, 5, 2)), [[0., 0, 1, 1]], [2], [3, 3]))"),
    _refused("crop_and_resize: sizes", "InvalidArgumentError", "crop dimensions must be positive",
             "run(tf.image.crop_and_resize(np.ones((2, 4, 5, 2)), [[0., 0, 1, 1]], [1], [0, 3]))"),
    _refused("sparse_add: shapes", "ValueError", "incompatible", """
tf.sparse_add(tf.SparseTensor([[0, 0]], [1.], [2, 3]), tf.SparseTensor([[0, 0]], [1.], [2, 4]))"""),
    _refused("sparse_reshape: sizes", "ValueError", "Cannot reshape a tensor with 6 elements",
             "tf.sparse_reshape(tf.SparseTensor([[0, 0]], [1.], [2, 3]), [4, 2])"),
    _refused("sparse_reset_shape: too small", "ValueError", "Requested new_shape should have dimension sizes >=",
             "tf.sparse_reset_shape(tf.SparseTensor([[0, 0]], [1.], [4, 3]), [3, 5])"),
    _refused("sparse_concat: other sizes", "InvalidArgumentError", "shapes must match", """
parts = [tf.SparseTensor([[0, 0]], [1.], [2, n]) for n in (2, 3)]
run(tf.sparse_concat(0, parts).values)"""),
    _refused("sets: groups", "ValueError", "", "tf.sets.set_union(tf.constant([[1]]), tf.constant([[1], [2]]))"),
    _refused("sets: floats", "TypeError", "dtype", "tf.sets.set_union(tf.constant([[1.]]), tf.constant([[2.]]))"),
    _refused("buckets: none", "ValueError", "less than", 'tf.string_to_hash_bucket_fast(tf.constant(["a"]), 0)'),
    _refused("numbers of strings as strings", "TypeError", "string", 'tf.string_to_number(tf.constant(["10"]), tf.string)'),
    _refused("reverse_sequence: axis left out", "TypeError", "", "tf.reverse_sequence(tf.ones([2, 2]), [1, 1])"),
    _refused("quantize: range upside down", "InvalidArgumentError", "Invalid range", """
run(tf.quantization.quantize_and_dequantize(tf.ones([2]), 2., -2., range_given=True))"""),
    Row("batch normalisation in virtual batches", """
x = tf.constant(np.random.RandomState(0).rand(4, 3).astype(np.float32))
training = tf.placeholder(tf.bool, [])
y = tf.layers.batch_normalization(x, training=training, virtual_batch_size=2)
updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
result = [run([y, tf.gradients(y * y, x)], {training: True}), run(updates, {training: True}) and None,
          run([y] + tf.global_variables(), {training: False})]"""),
    Row("batch normalisation that is adjusted", """
x = tf.constant(np.random.RandomState(0).rand(4, 3).astype(np.float32))
training = tf.placeholder(tf.bool, [])
y = tf.layers.batch_normalization(x, training=training, adjustment=lambda shape: (
    tf.constant([[1., 2, 3]]), tf.constant([[.1, .2, .3]])))
result = [run([y, tf.gradients(y * y, x)], {training: t}) for t in (True, False)]"""),
    _refused("virtual batches: none", "ValueError", "virtual_batch_size must be a positive integer",
             "tf.layers.batch_normalization(tf.ones([4, 3]), training=True, virtual_batch_size=0)", asked=False),
    _refused("virtual batches that do not divide the batch", "InvalidArgumentError", "",
             "run(tf.layers.batch_normalization(tf.placeholder_with_default(tf.ones([4, 3]), [None, 3]), training=True, "
             "virtual_batch_size=3))"),
    _refused("virtual batches, adjusted", "ValueError", "adjustment cannot be specified", """
tf.layers.batch_normalization(tf.ones([4, 3]), virtual_batch_size=2, adjustment=lambda shape: (1., 2.))"""),
    _refused("stateless seed of one number", "ValueError", "2", "tf.random.stateless_normal([3], [1])"),
    _refused("range from a vector", "ValueError", "must be rank 0 but is rank 1", "tf.range([1], 5)"),
    Row("an LSTM in one operation", """
r = np.random.RandomState(0)
shapes = ((4, 2, 3), (2, 5), (2, 5), (8, 20), (5,), (5,), (5,), (20,))
inputs = [tf.constant(r.uniform(-1, 1, s).astype(np.float32)) for s in shapes]
names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
out = tf.raw_ops.BlockLSTM(seq_len_max=tf.constant(3, tf.int64), cell_clip=.4, use_peephole=True, forget_bias=.5,
                           **dict(zip(names, inputs)))
result = [run([out[1], out[6]]), run(tf.gradients([out[1], out[6]], inputs))]"""),
    Row("rows of a ragged tensor", """
splits, values = [tf.constant([0, 2, 3], tf.int64), tf.constant([0, 2, 2, 3], tf.int64)], tf.constant([1., 2, 3])
got = list(tf.raw_ops.RaggedGather(params_nested_splits=splits, params_dense_values=values, indices=[1, 0, 0],
                                   OUTPUT_RAGGED_RANK=2))
outer, inner, found = (got[0][0], got[0][1], got[1]) if isinstance(got[0], list) else got
grad = tf.convert_to_tensor(tf.gradients(found * [1., 2, 3, 4, 5], values)[0])
result = run([outer, inner, found, grad])"""),
    Row("convolutions of nothing, and into nothing", """
x, none = tf.ones([1, 4, 4, 2]), tf.zeros([0, 4, 4, 2])
y = [tf.nn.conv2d(x, tf.ones([2, 2, 2, 0]), 1, "VALID"), tf.nn.conv2d(none, tf.ones([2, 2, 2, 3]), 1, "SAME"),
     tf.nn.depthwise_conv2d(none, tf.ones([2, 2, 2, 3]), [1, 1, 1, 1], "SAME")]
result = [run(y), run(tf.gradients(y, [x, none]))]"""),
    Row("the gradient of batch normalisation of no images", """
x, scale, offset = tf.placeholder(tf.float32, [None, 2, 2, 3]), tf.ones([3]), tf.zeros([3])
y = tf.nn.fused_batch_norm(x, scale, offset)[0]
result = run(tf.gradients(y, [x, scale, offset]), {x: np.zeros([0, 2, 2, 3])})"""),
    Row("candidates that no draw repeats", """
out = tf.nn.fixed_unigram_candidate_sampler(tf.constant([[1]], tf.int64), 1, 1, True, 5, unigrams=[1., 2, 3, 4, 5])
result = run(out[1])"""),
]
