"""Static shapes: TensorShape's arithmetic, what functions infer from whole, partial and no shapes."""
from corpus import Row


def _shapes(id, *expressions):
    """A row with the static shapes of several expressions over these placeholders:
    x [2, 3], b [None, 3], m [None, None], u (unknown rank), n [] int32, img [None, 8, 8, 3]."""
    lines = ["x, b = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [None, 3])",
             "m, u = tf.placeholder(tf.float32, [None, None]), tf.placeholder(tf.float32)",
             "n, img = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [None, 8, 8, 3])",
             "shape = lambda t: t.shape.as_list() if t.shape.ndims is not None else 'unknown'",
             f"result = [shape(t) for t in [{', '.join(expressions)}]]"]
    return Row(id, "\n".join(lines))


ROWS = [
    _shapes("element-wise", "x + b", "b + b", "x + m", "x + u", "b + 1.0", "b + tf.ones([4, 1, 3])",
            "tf.exp(m)", "b > 0.0", "b * tf.ones([1, 3])"),
    _shapes("matmul", "tf.matmul(b, tf.ones([3, 5]))", "tf.matmul(x, b, transpose_b=True)", "tf.matmul(m, m)",
            "tf.matmul(tf.ones([4, 2, 3]), tf.ones([4, 3, 6]))", "tf.matmul(b, b, transpose_a=True)"),
    _shapes("reductions", "tf.reduce_sum(b)", "tf.reduce_sum(b, 0)", "tf.reduce_sum(b, 1)",
            "tf.reduce_mean(b, -1)", "tf.reduce_max(b, 1, keepdims=True)",
            "tf.reduce_sum(b, [0, 1], keepdims=True)", "tf.reduce_sum(u)", "tf.reduce_sum(u, 0)",
            "tf.reduce_sum(u, keepdims=True)", "tf.reduce_sum(b, n)", "tf.argmax(b, 1)",
            "tf.reduce_all(b > 0, 0)", "tf.reduce_logsumexp(b, 1)", "tf.norm(b, axis=1)"),
    _shapes("reshape", "tf.reshape(b, [-1])", "tf.reshape(x, [3, -1])", "tf.reshape(b, [-1, 3, 1])",
            "tf.reshape(u, [2, 2])", "tf.reshape(b, [tf.shape(b)[0], 1, 3])", "tf.reshape(b, [n, -1])",
            "tf.reshape(x, [-1, n])", "tf.reshape(b, tf.shape(x))", "tf.reshape(m, tf.shape(b))",
            "tf.reshape(x, [6])"),
    _shapes("shape of shapes", "tf.shape(b)", "tf.shape(u)", "tf.rank(u)", "tf.size(m)", "tf.shape(b)[0]",
            "tf.shape(b)[:1]"),
    _shapes("indexing", "x[0]", "b[0]", "b[:, 1]", "b[1:]", "b[:, 1:]", "b[..., 0]", "b[tf.newaxis]",
            "b[:, tf.newaxis, 0]", "x[::2]", "x[:, ::-1]", "x[1:10]", "b[n]", "b[:n]", "u[0]", "x[-1:]",
            "x[5:]", "b[:-1]", "b[::2]"),
    _shapes("slice", "tf.slice(x, [0, 1], [2, 2])", "tf.slice(b, [0, 1], [-1, 2])",
            "tf.slice(x, [1, 0], [-1, -1])", "tf.slice(b, [0, 0], [n, 3])",
            "tf.strided_slice(x, [0, 0], [2, 3], [1, 2])"),
    _shapes("concat and stack", "tf.concat([b, b], 0)", "tf.concat([b, b], 1)", "tf.concat([x, b], 0)",
            "tf.concat([x, b], 1)", "tf.concat([x, u], 0)", "tf.concat([u, u], 0)", "tf.stack([b, b])",
            "tf.stack([x, b], axis=1)", "tf.stack([b, b], axis=-1)", "tf.concat([m, x], n)"),
    _shapes("split and unstack", "tf.split(x, 3, 1)[0]", "tf.split(b, 2)[1]", "tf.split(b, [1, 2], 1)[1]",
            "tf.unstack(x)[0]", "tf.unstack(b, axis=1)[2]", "tf.unstack(u, 2)[0]"),
    _shapes("dimensions", "tf.expand_dims(b, 0)", "tf.expand_dims(b, -1)", "tf.expand_dims(u, 0)",
            "tf.squeeze(x[tf.newaxis])", "tf.squeeze(b[:, :, tf.newaxis], [2])", "tf.squeeze(b)",
            "tf.squeeze(u)", "tf.transpose(b)", "tf.transpose(img, [0, 3, 1, 2])", "tf.transpose(u)",
            "tf.matrix_transpose(img)"),
    _shapes("tile and pad", "tf.tile(x, [2, 3])", "tf.tile(b, [2, 1])", "tf.tile(b, [n, 2])",
            "tf.pad(x, [[1, 1], [0, 2]])", "tf.pad(b, [[1, 0], [1, 1]])", "tf.reverse(b, [0])",
            "tf.broadcast_to(x, [4, 2, 3])"),
    _shapes("gather", "tf.gather(x, [0, 1, 1])", "tf.gather(b, n)", "tf.gather(b, [0, 2], axis=1)",
            "tf.gather(x, [[0], [1]])", "tf.gather_nd(x, [[0, 1], [1, 2]])", "tf.gather_nd(b, [[0]])",
            "tf.boolean_mask(x, x > 0)", "tf.boolean_mask(b, [True, False, True], axis=1)", "tf.where(x > 0)",
            "tf.nn.embedding_lookup(x, [[0, 1]])"),
    _shapes("making", "tf.zeros([n, 3])", "tf.fill([2, n], 1.0)", "tf.ones(tf.shape(b))", "tf.zeros_like(b)",
            "tf.range(5)", "tf.range(n)", "tf.range(0, 10, 3)", "tf.linspace(0.0, 1.0, 4)",
            "tf.one_hot([1, 2], 5)", "tf.one_hot(n, 5)", "tf.one_hot([1, 2], n)", "tf.eye(3)",
            "tf.random_normal([2, 5])", "tf.random_uniform(tf.shape(b))", "tf.diag([1.0, 2.0])",
            "tf.sequence_mask([1, 2], 4)"),
    _shapes("making, from folded values", "tf.sequence_mask([1, 3])", "tf.fill(tf.constant([2]) * 3, 1.0)",
            "tf.zeros([tf.shape(x)[1], 1])"),
    _shapes("convolution", "tf.nn.conv2d(img, tf.ones([3, 3, 3, 7]), [1, 1, 1, 1], 'SAME')",
            "tf.nn.conv2d(img, tf.ones([3, 3, 3, 7]), [1, 2, 2, 1], 'VALID')",
            "tf.nn.conv2d(img, tf.ones([3, 3, 3, 7]), [1, 3, 3, 1], 'SAME')",
            "tf.nn.conv2d(img, tf.ones([3, 2, 3, 7]), [1, 1, 1, 1], 'VALID', dilations=[1, 2, 2, 1])",
            "tf.nn.depthwise_conv2d(img, tf.ones([3, 3, 3, 2]), [1, 1, 1, 1], 'SAME')",
            "tf.nn.conv2d(tf.placeholder(tf.float32, [1, None, None, 3]), tf.ones([3, 3, 3, 7]), [1, 2, "
            "2, 1], 'SAME')",
            "tf.nn.conv2d_transpose(tf.ones([4, 8, 8, 3]), tf.ones([3, 3, 5, 3]), [4, 16, 16, 5], "
            "[1, 2, 2, 1], 'SAME')"),
    _shapes("pooling", "tf.nn.max_pool(img, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID')",
            "tf.nn.max_pool(img, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME')",
            "tf.nn.avg_pool(img, [1, 3, 3, 1], [1, 3, 3, 1], 'VALID')",
            "tf.image.resize_bilinear(img, [4, 6])", "tf.space_to_depth(img, 2)",
            "tf.depth_to_space(tf.ones([1, 2, 2, 8]), 2)"),
    _shapes("losses and norms", "tf.nn.softmax(b)",
            "tf.nn.softmax_cross_entropy_with_logits_v2(labels=b, logits=b)",
            "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=x)",
            "tf.nn.moments(img, [0, 1, 2])[0]", "tf.nn.l2_loss(b)", "tf.nn.top_k(b, 2)[0]",
            "tf.nn.top_k(b, 2)[1]", "tf.nn.l2_normalize(b, 1)", "tf.nn.bias_add(b, tf.ones([3]))",
            "tf.nn.dropout(b, 0.5)"),
    _shapes("where and cond", "tf.where(x > 0, x, x)", "tf.where(b > 0, b, b)",
            "tf.cond(n > 0, lambda: x, lambda: x * 2.0)", "tf.cond(n > 0, lambda: x, lambda: b)",
            "tf.cond(n > 0, lambda: x, lambda: tf.ones([3]))", "tf.identity(b)", "tf.stop_gradient(b)",
            "tf.cast(b, tf.int32)"),
    _shapes("products", "tf.tensordot(b, tf.ones([3, 4]), 1)",
            "tf.tensordot(img, tf.ones([3, 4]), [[3], [0]])", "tf.einsum('ij,jk->ik', b, tf.ones([3, 4]))",
            "tf.einsum('bhwc,cd->bd', img, tf.ones([3, 4]))"),
    _shapes("layers", "tf.layers.dense(b, 5)", "tf.layers.flatten(img)", "tf.layers.conv2d(img, 4, 3)",
            "tf.layers.conv2d(img, 4, 3, strides=2, padding='same')", "tf.layers.max_pooling2d(img, 2, 2)",
            "tf.layers.batch_normalization(img)", "tf.layers.dense(tf.ones([2, 4, 3]), 5)",
            "tf.layers.conv2d_transpose(img, 2, 3, strides=2, padding='same')"),
    _shapes("gradients", "tf.gradients(b * 2.0, b)[0]", "tf.gradients(tf.reduce_sum(x), x)[0]",
            "tf.gradients(tf.matmul(b, tf.ones([3, 5])), b)[0]", "tf.gradients(b[:, 0], b)[0]"),
    _shapes("host functions", "tf.py_func(np.sin, [x], tf.float32)",
            "tf.py_func(lambda v: (v, v), [x], [tf.float32] * 2)[0]"),
    Row("set_shape", """
x = tf.placeholder(tf.float32, [None, 3])
x.set_shape([2, None])
y = tf.placeholder(tf.float32)
y.set_shape([None, 4])
result = [x.shape.as_list(), y.shape.as_list()]"""),
    Row("set_shape of a py_func", """
y = tf.py_func(np.sin, [tf.ones([2])], tf.float32)
y.set_shape([2])
result = [y.shape.as_list(), (y + 1.0).shape.as_list()]"""),
    Row("TensorShape", """
s = tf.TensorShape([2, None, 3])
result = [
    s.ndims,
    s.as_list(),
    s.is_fully_defined(),
    len(s),
    s[0].value,
    s[1].value,
    str(s),
    s[1:].as_list(),
    tf.TensorShape(None).ndims,
    str(tf.TensorShape(None)),
    str(tf.TensorShape([3])),
    str(tf.TensorShape([])),
]""",
        expect=[3, [2, None, 3], False, 3, 2, None, "(2, ?, 3)", [None, 3], None, "<unknown>", "(3,)", "()"]),
    Row("TensorShape, merging", """
T = tf.TensorShape; s = T([2, None])
result = [s.merge_with([None, 3]).as_list(), s.concatenate([4]).as_list(), s.is_compatible_with([2, 7]),
          s.is_compatible_with([3, 7]), s.is_compatible_with(T(None)), T(None).merge_with([1]).as_list(),
          s.with_rank(2).as_list(), T([2, 3]).num_elements(), s.num_elements(), T([2, 3]) == [2, 3]]"""),
    Row("Dimension", """
D = tf.Dimension
result = [int(D(3)), D(None).value, (D(3) + 2).value, (D(3) * D(None)).value, (D(7) // 2).value, D(3) == 3,
          D(3) == D(None), D(3).is_compatible_with(None), (10 - D(3)).value, str(D(None))]"""),
    Row("get_shape", """
x = tf.placeholder(tf.float32, [4, None])
result = [
    x.get_shape().as_list(),
    x.get_shape()[0] == 4,
    x.get_shape().ndims,
    int(x.get_shape()[0]),
    x.shape[1].value,
]"""),
    # TF1 refuses any iteration
    Row("iteration", """
x = tf.ones([3, 2])
result = [t.shape.as_list() for t in x] + [len(list(tf.TensorShape([1, 2])))]""",
        expect=[[2], [2], [2], 2]),
    Row("iteration over an unknown size", """
b = tf.placeholder(tf.float32, [None, 2])
for t in b: pass""",
        raises=("TypeError", "iter")),
    Row("shape of a fed value", """
b = tf.placeholder(tf.float32, [None, 3])
result = run([tf.shape(b), tf.reshape(b, [tf.shape(b)[0] * 3])], {b: np.ones((4, 3))})"""),
    Row("shape as int64", """
result = [tf.shape(tf.ones([2]), out_type=tf.int64).dtype.name, tf.shape(tf.ones([2])).dtype.name]"""),
    Row("broadcast_static_shape", """
f = tf.broadcast_static_shape
T = tf.TensorShape
result = [f(T([2, 1]), T([3])).as_list(), f(T([None, 3]), T([1])).as_list()]"""),
    Row("shape_n and broadcast_dynamic_shape", """
result = [run(tf.shape_n([tf.ones([2]), tf.ones([3, 1])])), run(tf.broadcast_dynamic_shape([2, 1], [3]))]"""),
    _shapes("gradients of reshapes", "tf.gradients(tf.reshape(b, [2, 6]), b)[0]", "tf.gradients(tf.reshape(b, [-1]), b)[0]",
            "tf.gradients(tf.tile(u, [1, 2]), u)[0]"),
    Row("dynamic reshape", """
x = tf.placeholder(tf.float32, [None, None, 4]); s = tf.shape(x)
y = tf.reshape(x, tf.stack([s[0] * s[1], 4])); z = tf.reshape(y, tf.concat([s[:2], [4]], 0))
result = [y.shape.as_list(), z.shape.as_list(), run(tf.shape(z), {x: np.zeros((2, 3, 4))})]"""),
    Row("sizes as ints", """
x, u = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32)
tf.enable_v2_tensorshape()
try:
    result = [x.shape[0], x.shape[1] * 2, list(x.shape), x.shape[1:].as_list(), u.shape[0], x.shape.dims[1].value]
finally:
    tf.disable_v2_tensorshape()
result += [x.shape[1].value]"""),
    Row("placeholder of unknown rank", """
u = tf.placeholder(tf.float32)
y = u * 2.0
result = [run(y, {u: 3.0}), run(y, {u: [[1.0, 2.0]]})]"""),
    Row("variable of unknown shape", """
v = tf.Variable([1.0], validate_shape=False)
result = [run(v), run(tf.assign(v, [1.0, 2.0], validate_shape=False))]"""),
]
