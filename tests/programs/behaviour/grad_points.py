"""Gradients at the points where a rule can go wrong: zeros, ties, borders, broadcasting, repeats."""
from corpus import Row


def _grads(id, point, *expressions, dtype="tf.float64", **options):
    """A row with the gradients with respect to x, at `point`, of the sums of several expressions."""
    code = "\n".join([f"x = tf.constant({point}, {dtype})",
                      f"ys = [{', '.join(expressions)}]",
                      "result = [None if g is None else run(g) for y in ys for g in tf.gradients(y, x)]"])
    return Row(id, code, **options)


def _both(id, x, y, *expressions, before=""):
    """A row with the gradients with respect to x and y of several expressions."""
    code = "\n".join([f"x, y = tf.constant({x}, tf.float64), tf.constant({y}, tf.float64)", before,
                      f"zs = [{', '.join(expressions)}]",
                      "grads = [tf.gradients(z, [x, y]) for z in zs]",
                      "result = [[None if g is None else run(g) for g in pair] for pair in grads]"])
    return Row(id, code)


ROWS = [
    _grads("element-wise", "[-1.3, 0.4, 2.0]", "tf.exp(x)", "tf.square(x)", "tf.negative(x)", "tf.tanh(x)",
           "tf.sigmoid(x)", "tf.sin(x)", "tf.cos(x)", "tf.tan(x)", "tf.atan(x)", "tf.sinh(x)", "tf.cosh(x)",
           "tf.asinh(x)", "tf.expm1(x)", "tf.reciprocal(x)", "tf.erf(x)", "tf.erfc(x)", "x ** 3", "x * x * x",
           "tf.log_sigmoid(x)"),
    _grads("element-wise, positive", "[0.3, 0.9, 2.5]", "tf.log(x)", "tf.sqrt(x)", "tf.rsqrt(x)",
           "tf.log1p(x)", "tf.lgamma(x)", "tf.digamma(x)", "x ** 0.5", "2.0 ** x", "x ** x",
           "tf.igamma(tf.constant(2.0, tf.float64), x)", "tf.acosh(x + 1.0)"),
    _grads("element-wise, within one", "[-0.6, 0.1, 0.9]", "tf.asin(x)", "tf.acos(x)", "tf.atanh(x)"),
    _grads("at zero", "[0.0]", "tf.abs(x)", "tf.sign(x)", "tf.sqrt(x)", "tf.nn.relu(x)", "tf.nn.relu6(x)",
           "tf.nn.elu(x)", "tf.nn.selu(x)", "tf.nn.leaky_relu(x, 0.25)", "tf.nn.softplus(x)",
           "tf.nn.softsign(x)",
           "x ** 2", "x ** 1.0", "tf.square(x) / 2.0", "tf.maximum(x, 0.0)", "tf.minimum(x, 0.0)",
           "tf.clip_by_value(x, 0.0, 1.0)", "tf.reduce_max(x)", "tf.log1p(x)"),
    _grads("activations far out", "[-800.0, -30.0, 30.0, 800.0]", "tf.nn.softplus(x)", "tf.sigmoid(x)",
           "tf.tanh(x)", "tf.log_sigmoid(x)", "tf.nn.elu(x)", "tf.nn.selu(x)", "tf.nn.softsign(x)"),
    _grads("relu6 at its corners", "[0.0, 6.0, 3.0, 7.0, -1.0]", "tf.nn.relu6(x)",
           "tf.clip_by_value(x, 0.0, 6.0)", "tf.minimum(tf.nn.relu(x), 6.0)"),
    _grads("piecewise constant", "[0.3, 1.7]", "tf.round(x)", "tf.floor(x)", "tf.ceil(x)", "tf.sign(x)",
           "tf.rint(x)", "tf.floordiv(x, 2.0)", "tf.argmax(x)", "tf.cast(x > 1.0, tf.float64)",
           "tf.one_hot(tf.cast(x, tf.int32), 3)", "tf.zeros_like(x)", "tf.ones_like(x)",
           "tf.cast(tf.cast(x, tf.int32), tf.float64)"),
    _grads("remainder", "[3.7, -3.7]", "tf.mod(x, 2.0)", "x % 2.0", "tf.floormod(x, -2.0)"),
    _grads("ties of maxima", "[[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]", "tf.reduce_max(x)", "tf.reduce_max(x, 1)",
           "tf.reduce_min(x, 1)", "tf.nn.top_k(x, 2)[0]", "tf.maximum(x, 2.0)", "tf.minimum(x, 2.0)",
           "tf.segment_max(x, [0, 0])", "tf.unsorted_segment_max(x, [0, 0], 1)", "tf.norm(x, ord=np.inf)"),
    _grads("products with zeros", "[[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]]", "tf.reduce_prod(x)",
           "tf.reduce_prod(x, 1)", "tf.reduce_prod(x, 0)", "x * x",
           "tf.reduce_prod(x, 1, keepdims=True) * x"),
    # TF1 divides by zero here
    Row("cumulative products with zeros", """
x = tf.constant([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]])
(g,) = tf.gradients(tf.cumprod(x, 1), x)
result = run(g).tolist()""",
        expect=[[1.0, 4.0, 0.0], [1.0, 0.0, 0.0]]),
    _grads("reductions", "[[1.0, 2.0], [3.0, 5.0]]", "tf.reduce_sum(x)", "tf.reduce_mean(x)",
           "tf.reduce_mean(x, 0)", "tf.reduce_prod(x)", "tf.reduce_logsumexp(x, 1)", "tf.cumsum(x, 1)",
           "tf.cumsum(x, reverse=True, exclusive=True)", "tf.nn.l2_loss(x)", "tf.norm(x)",
           "tf.norm(x, ord=1)", "tf.nn.moments(x, [0])[1]", "tf.reduce_mean(x, [])",
           "tf.sqrt(tf.reduce_sum(x ** 2))"),
    _grads("softmax and entropy", "[[1.0, 2.0, 0.5], [1000.0, 0.25, -1000.0]]", "tf.nn.softmax(x)[:, 0]",
           "tf.nn.log_softmax(x)[:, 1]",
           "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=x)",
           "tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.constant([[0.2, 0.3, 0.5], [0.0, 1.0, "
           "0.0]], tf.float64), logits=x)",
           "tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(x), logits=x)",
           "tf.nn.weighted_cross_entropy_with_logits(tf.ones_like(x) * 0.5, x, 2.0)"),
    _both("cross entropy, both inputs", "[[1.0, 2.0, 0.5]]", "[[0.2, 0.3, 0.5]]",
          "tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x)",
          "tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=x)",
          "tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x)"),
    _both("broadcasting", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]", "[0.5, -1.0, 2.0]", "x + y", "x - y", "x * y",
          "x / y", "y - x", "y / x", "tf.maximum(x, y)", "tf.minimum(x, y)", "tf.squared_difference(x, y)",
          "x ** y", "tf.atan2(x, y)", "tf.mod(x, y)", "tf.div_no_nan(x, y)", "tf.floordiv(x, y)"),
    _both("broadcasting a scalar", "[[1.0, 2.0]]", "3.0", "x * y", "y / x", "tf.fill([2, 2], y) * x[0, 0]",
          "tf.maximum(x, y)", "y - x"),
    _both("broadcasting both ways", "[[1.0], [2.0]]", "[[3.0, 4.0, 5.0]]", "x * y", "x / y", "x ** y",
          "tf.maximum(x * 3.0, y)"),
    _both("powers", "[0.0, 0.0, -2.0, 2.0]", "[2.0, 1.0, 3.0, 0.5]", "x ** y", "tf.pow(tf.abs(x), y)"),
    _both("ties of two operands", "[1.0, 2.0, 3.0]", "[1.0, 3.0, 2.0]", "tf.maximum(x, y)",
          "tf.minimum(x, y)", "tf.where(x > y, x, y)", "tf.where(tf.equal(x, y), x * 2.0, y * 3.0)"),
    _both("division by zero", "[1.0, 0.0]", "[0.0, 0.0]", "tf.div_no_nan(x, y)", "x / y",
          "tf.math.multiply_no_nan(x, y)", "tf.math.xlogy(x, y)", "tf.math.xdivy(x, y)"),
    _both("matmul", "[[1.0, 2.0], [3.0, 4.0]]", "[[0.5, -1.0], [2.0, 1.0]]", "tf.matmul(x, y)",
          "tf.matmul(x, y, transpose_a=True)", "tf.matmul(x, y, transpose_b=True)",
          "tf.matmul(x, y, True, True)", "tf.tensordot(x, y, 1)", "tf.einsum('ij,jk->k', x, y)",
          "tf.matmul(x[tf.newaxis], y[tf.newaxis])", "tf.matrix_solve(x, y)",
          "tf.matrix_triangular_solve(x, y)", "tf.einsum('ij,ij->', x, y)"),
    _both("batch matmul with broadcasting", "[[[1.0, 2.0]], [[3.0, 4.0]]]", "[[0.5], [2.0]]",
          "tf.matmul(x, y)"),
    _grads("linear algebra", "[[4.0, 1.0], [1.0, 3.0]]", "tf.matrix_inverse(x)", "tf.matrix_determinant(x)",
           "tf.cholesky(x)", "tf.trace(x)", "tf.self_adjoint_eig(x)[0]", "tf.svd(x)[0]",
           "tf.linalg.logdet(x)", "tf.linalg.slogdet(x)[1]", "tf.diag_part(x)",
           "tf.matrix_band_part(x, 0, -1)", "tf.matrix_transpose(x) * x", "tf.qr(x)[1]", "tf.linalg.expm(x)",
           "tf.matrix_diag(x)", "tf.matrix_set_diag(x, x[0])"),
    _grads("array functions", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]", "tf.reshape(x, [-1])[2:]",
           "tf.transpose(x)[0]", "tf.concat([x, 2.0 * x], 1)[:, 2:4]", "tf.stack([x, x * x], 2)[..., 1]",
           "tf.split(x, 3, 1)[1]", "tf.unstack(x)[1]", "tf.expand_dims(x, 0) * 2.0", "tf.squeeze(x[:1])",
           "tf.tile(x, [2, 3])", "tf.pad(x, [[1, 1], [0, 2]])[1:, :2]", "tf.reverse(x, [1]) * x",
           "tf.slice(x, [0, 1], [2, 2])", "x[::-1, ::2] * x[:, :2]", "tf.identity(x)", "tf.roll(x, 1, 1) * x",
           "tf.broadcast_to(x, [2, 2, 3])", "tf.pad(x, [[1, 0], [0, 0]], 'REFLECT')",
           "tf.pad(x, [[0, 0], [1, 2]], 'SYMMETRIC') ** 2", "tf.reverse_sequence(x, [2, 3], seq_axis=1) * x",
           "tf.space_to_depth(x[:, :2][tf.newaxis, :, :, tf.newaxis], 2)", "tf.meshgrid(x[0], x[1])[0]"),
    _grads("gather and scatter, as tensors", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]",
           "tf.gather_nd(x, [[0, 1], [0, 1], [1, 2]])", "tf.gather(x, [0, 0, 2], axis=1)",
           "tf.boolean_mask(x, [True, False])", "tf.where(x > 2.5, x, x * x)",
           "tf.where([True, False], x, -x)", "tf.dynamic_partition(x, [1, 0], 2)[1]",
           "tf.scatter_nd([[1], [1]], x, [4, 3]) ** 2", "tf.segment_sum(x, [0, 0]) ** 2",
           "tf.segment_mean(x, [0, 1])", "tf.unsorted_segment_sum(x, [1, 1], 3) ** 2",
           "tf.dynamic_stitch([[1], [0]], [x[:1], x[1:]]) ** 2",
           "tf.tensor_scatter_add(x, [[0]], x[1:]) ** 2", "tf.tensor_scatter_update(x, [[0]], x[1:]) ** 2",
           "tf.batch_gather(x, [[0], [2]])"),
    _grads("where hides no NaN", "[-1.0, 4.0]", "tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x))",
           "tf.where(x > 0, tf.sqrt(tf.where(x > 0, x, tf.ones_like(x))), tf.zeros_like(x))",
           "tf.where(x > 0, tf.log(x), x)"),
    _grads("norms", "[3.0, 4.0]", "tf.nn.l2_normalize(x, 0)[0]", "tf.clip_by_norm(x, 1.0)[0]",
           "tf.clip_by_norm(x, 10.0)[0]", "tf.clip_by_global_norm([x], 1.0)[0][0][1]", "tf.norm(x, ord=3)",
           "tf.nn.l2_normalize(x * 0.0, 0)"),
    _grads("pools, ties", "[[[[1.0], [1.0]], [[1.0], [0.0]]]]",
           "tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')",
           "tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID')",
           "tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')", dtype="tf.float32"),
    _grads("pools", "np.arange(25.0).reshape(1, 5, 5, 1) % 7",
           "tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME') ** 2",
           "tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME') ** 2",
           "tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], 'VALID') ** 2",
           "tf.image.resize_bilinear(tf.cast(x, tf.float32), [3, 7])",
           "tf.extract_image_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'VALID') ** 2", tolerance=1e-6),
    _both("convolutions", "np.arange(16.0).reshape(1, 4, 4, 1) % 5",
          "np.arange(18.0).reshape(3, 3, 1, 2) % 7 - 3", "tf.nn.conv2d(x, y, [1, 1, 1, 1], 'SAME') ** 2",
          "tf.nn.conv2d(x, y, [1, 2, 2, 1], 'SAME') ** 2", "tf.nn.conv2d(x, y, [1, 1, 1, 1], 'VALID') ** 2",
          "tf.nn.conv2d(x, y, [1, 3, 3, 1], 'SAME') ** 2",
          "tf.nn.depthwise_conv2d(x, y, [1, 1, 1, 1], 'SAME') ** 2",
          "tf.nn.conv1d(x[:, 0], y[0], 1, 'SAME') ** 2"),
    _both("transposed convolution", "np.arange(8.0).reshape(1, 2, 2, 2)",
          "np.arange(18.0).reshape(3, 3, 1, 2) % 7 - 3",
          "tf.nn.conv2d_transpose(x, y, [1, 4, 4, 1], [1, 2, 2, 1], 'SAME') ** 2"),
    _both("bias_add", "[[1.0, 2.0], [3.0, 4.0]]", "[0.5, -1.0]", "tf.nn.bias_add(x, y) ** 2"),
    _both("batch_normalization", "[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]", "[0.5, -1.0]",
          "tf.nn.batch_normalization(x, *tf.nn.moments(x, [0]), y, y * 2.0, 1e-3) ** 2",
          "tf.nn.batch_normalization(x, y, tf.square(y), None, None, 1e-3)"),
    Row("complex, magnitudes", """
z = tf.constant([3 + 4j, 1 - 2j], tf.complex128)
x = tf.constant([1.0, 2.0], tf.float64)
result = [
    run(tf.gradients(tf.abs(z), z)[0]),
    run(tf.gradients(tf.real(z * z), z)[0]),
    run(tf.gradients(tf.imag(tf.exp(z)), z)[0]),
    run(tf.gradients(tf.abs(tf.complex(x, 2.0 * x)), x)[0]),
    run(tf.gradients(tf.real(tf.conj(z) * z), z)[0]),
    run(tf.gradients(tf.angle(z), z)[0]),
]"""),
    Row("fft", """
x = tf.constant([1.0, 2.0, 4.0, -1.0], tf.float32)
y = tf.abs(tf.fft(tf.cast(x, tf.complex64))) ** 2; z = tf.abs(tf.spectral.rfft(x)) ** 2
result = run([tf.gradients(y * [1.0, 2.0, 3.0, 4.0], x)[0], tf.gradients(z * [1.0, 2.0, 3.0], x)[0]])"""),
    Row("second order", """
x = tf.constant([0.3, -0.7], tf.float64)
fs = [
    tf.exp,
    tf.tanh,
    tf.sigmoid,
    tf.sin,
    tf.square,
    lambda t: t**3,
    tf.nn.softplus,
    lambda t: tf.log(t + 2.0),
    lambda t: tf.sqrt(t + 2.0),
    lambda t: 1.0 / (t + 2.0),
    tf.nn.softmax,
    tf.nn.elu,
    lambda t: tf.rsqrt(t + 2.0),
    tf.atan,
    tf.erf,
    lambda t: tf.nn.relu(t) * t,
    tf.nn.selu,
]
result = []
for f in fs:
    (g,) = tf.gradients(f(x) * [1.0, 3.0], x)
    result.append(run(tf.gradients(g * [2.0, 1.0], x)[0]))"""),
    Row("second order of matrices", """
x = tf.constant([[1.0, 2.0], [0.5, 3.0]], tf.float64)
w = tf.constant([[1.0, -1.0], [2.0, 0.5]], tf.float64)
fs = [
    lambda t: tf.matmul(t, tf.matmul(w, t)),
    tf.matrix_inverse,
    tf.matrix_determinant,
    lambda t: tf.reduce_prod(t, 1),
    tf.nn.log_softmax,
    lambda t: tf.reduce_max(t, 1) ** 2,
    lambda t: tf.cumsum(t) ** 2,
    lambda t: tf.gather(t, [0, 0, 1]) ** 2,
    lambda t: t[0] * t[1],
    lambda t: tf.norm(t),
]
result = []
for f in fs:
    (g,) = tf.gradients(tf.square(f(x)), x)
    result.append(run(tf.convert_to_tensor(tf.gradients(g * w, x)[0])))"""),
    Row("second order of a sum of products is by the others alone", """
x, w = tf.ones([2, 3]), tf.ones([3, 4])
first = tf.gradients(tf.einsum('ab,bc->c', x, w), [x, w])
result = [[g is None for g in tf.gradients(g, [x, w])] for g in first]"""),
    Row("second order of a convolution", """
x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1) % 5)
k = tf.constant(np.arange(9.0).reshape(3, 3, 1, 1) % 4 - 1)
y = tf.nn.relu(tf.nn.conv2d(x, k, [1, 1, 1, 1], 'SAME')) ** 2
(g,) = tf.gradients(y, x)
result = [run(t) for t in tf.gradients(tf.reduce_sum(g**2), [x, k])]"""),
    Row("second order of pools", """
x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1) % 5 - 2)
result = []
for pool in (tf.nn.max_pool, tf.nn.avg_pool):
    g, = tf.gradients(pool(x, [1, 2, 2, 1], [1, 1, 1, 1], 'VALID') ** 3, x)
    result.append(run(tf.gradients(g ** 2, x)[0]))"""),
    Row("third order", """
x = tf.constant(0.7, tf.float64); y = tf.sin(x) * x
for _ in range(3): y, = tf.gradients(y, x)
result = run(y)"""),
    Row("float16 and integers", """
h = tf.constant([1.0, 2.0], tf.float16)
i = tf.constant([1, 2])
result = [
    run(tf.gradients(h * h, h)[0]),
    tf.gradients(i * i, i),
    [g is None for g in tf.gradients(tf.cast(i, tf.float32), i)],
]"""),
    Row("cast back and forth", """
x = tf.constant([1.5], tf.float32)
y = tf.cast(tf.cast(x, tf.float64) ** 2, tf.float32)
(g,) = tf.gradients(y, x)
result = run(g)"""),
    Row("dropout", """
tf.set_random_seed(3)
x = tf.ones([50])
y = tf.nn.dropout(x, keep_prob=0.5)
(g,) = tf.gradients(y, x)
a, b = run([y, g])
result = bool((a == b).all())"""),
]
