"""Models for SavedModels, built by TensorFlow and by Regrad alike.

`MODELS` is {name: function of `tf`}, which gives (inputs, outputs): {key: (tensor, the array to feed)} and {key: tensor}.
"""

import numpy as np


def gradients(tf, inputs, outputs):
    """Returns {name: tensor}: the gradients of the sum of all float outputs by float inputs and trained variables."""
    total = tf.add_n([tf.reduce_sum(tf.cast(y, tf.float64)) for y in outputs if y.dtype in (tf.float32, tf.float64)])
    xs = {t.op.name: t for t in inputs if t.dtype in (tf.float32, tf.float64) and not isinstance(t, tf.SparseTensor)}
    xs |= {v.op.name: v for v in tf.trainable_variables() if v.dtype.base_dtype in (tf.float32, tf.float64)}
    found = {name: tf.gradients(total, x)[0] for name, x in xs.items()}
    return {name: tf.convert_to_tensor(g) for name, g in found.items() if g is not None}


def draw(*shape, seed=0):
    return np.random.RandomState(seed + len(shape)).standard_normal(shape).astype(np.float32)


def variable(tf, name, *shape, seed=1, **more):
    return tf.get_variable(name, initializer=draw(*shape, seed=seed) * 0.5, **more)


def fed(tf, *shape, name="x", seed=0):
    """Returns a placeholder whose first axis is unknown, and what to feed."""
    return tf.placeholder(tf.float32, [None, *shape[1:]], name=name), draw(*shape, seed=seed)


def of(function, *shape):
    """The model of one input x and one output y."""

    def build(tf):
        x, array = fed(tf, *shape)
        return {"x": (x, array)}, {"y": tf.identity(function(tf, x), name="y")}

    return build


def dense(tf, x, units, name, **more):
    with tf.variable_scope(name):
        w = variable(tf, "w", x.shape.as_list()[-1], units, **more)
        return tf.nn.bias_add(tf.matmul(x, w), variable(tf, "b", units, **more))


def conv(tf, x, n, name, size=3, stride=1):
    with tf.variable_scope(name):
        return tf.nn.conv2d(x, variable(tf, "w", size, size, x.shape.as_list()[-1], n), [1, stride, stride, 1], "SAME")


def normalised(tf, x, name):
    n = x.shape.as_list()[-1]
    with tf.variable_scope(name):
        scale, offset = variable(tf, "gamma", n), variable(tf, "beta", n, seed=2)
        mean = variable(tf, "mean", n, seed=3, trainable=False)
        variance = tf.get_variable("variance", initializer=np.full(n, 1.5, np.float32), trainable=False)
        return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False, epsilon=0.01)[0]


def convolutions(tf, x):
    h = tf.nn.relu(normalised(tf, conv(tf, x, 4, "c1"), "n1"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    h = h + tf.nn.relu6(conv(tf, h, 4, "c2"))
    return tf.nn.softmax(dense(tf, tf.reshape(h, [-1, 4 * 4 * 4]), 3, "out"))


def separable(tf, x):
    h = tf.nn.separable_conv2d(x, variable(tf, "deep", 3, 3, 2, 2), variable(tf, "point", 1, 1, 4, 3), [1, 1, 1, 1], "SAME")
    size = [tf.shape(x)[0], 12, 12, 2]
    h = tf.nn.conv2d_transpose(tf.nn.elu(h), variable(tf, "up", 3, 3, 2, 3), size, [1, 2, 2, 1], "SAME")
    return tf.nn.avg_pool(h, [1, 3, 3, 1], [1, 3, 3, 1], "SAME")


def recurrent(tf, x):
    h = c = tf.zeros([tf.shape(x)[0], 4])
    for step in tf.unstack(x, axis=1):
        with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):
            i, j, f, o = tf.split(dense(tf, tf.concat([step, h], 1), 16, "gates"), 4, axis=1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    return h


def attention(tf, x):
    q, k, v = (tf.tensordot(x, variable(tf, n, 6, 5, seed=i), 1) for i, n in enumerate("qkv"))
    weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / np.sqrt(5.0).astype(np.float32))
    y = tf.einsum("bij,bjk->bik", weights, v)
    mean, variance = tf.nn.moments(y, [-1], keep_dims=True)
    return (y - mean) * tf.rsqrt(variance + 1e-3) * variable(tf, "scale", 5)


def places(tf, x):
    table = variable(tf, "table", 7, 3)
    rows = tf.gather_nd(table, [[0, 1], [6, 2], [0, 1]])
    spread = tf.scatter_nd([[1], [3]], x[:2], [5, 3])
    best = tf.cast(tf.one_hot(tf.argmax(x, 1), 3), tf.float32)
    values, _ = tf.nn.top_k(x, 2)
    return tf.concat([spread, best * 2.0, tf.pad(values, [[0, 0], [0, 1]]), tf.tile(rows[None], [2, 1])], 0)


def rows(tf, x):
    sums = tf.segment_sum(x, [0, 0, 2]) + tf.unsorted_segment_max(x, [2, 1, 0], 3)
    return tf.cumsum(sums, axis=1, exclusive=True) + tf.reverse(x, [0]) * variable(tf, "v", 4) + tf.reduce_logsumexp(x)


def pictures(tf, x):
    y = tf.image.resize_bilinear(x, [6, 6]) + tf.image.resize_nearest_neighbor(x, [6, 6])
    boxes = tf.image.crop_and_resize(x, [[0.1, 0.1, 0.9, 0.8]], [0], [6, 6])
    return tf.nn.lrn(y + boxes, 1, bias=1.0, alpha=0.5) * variable(tf, "v", 2)


def matrices(tf, x):
    product = tf.matmul(x, x, transpose_b=True) + 2.0 * tf.eye(3)
    lower = tf.cholesky(product)
    solved = tf.matrix_triangular_solve(lower, variable(tf, "b", 3, 2))
    return tf.concat([solved, tf.matrix_inverse(product)[:, :2], tf.matrix_diag(tf.matrix_diag_part(product))[:, :2],
                      tf.matrix_band_part(product, 1, 0)[:, 1:], tf.reshape(tf.matrix_determinant(product), [1, 1])
                      * [[1.0, 2.0]]], 0)


def slices(tf, x):
    h = x[:, ::2] * x[:, 1::2] + x[:, 1:2, tf.newaxis][..., 0]
    a, b = tf.split(tf.transpose(h), 2)
    return tf.stack([tf.squeeze(a, [0]), tf.reduce_prod(b, 0)], axis=-1) + tf.where(x[:, :2] > 0, x[:, :2], -x[:, 2:])


def curves(tf, x):
    y = tf.nn.softplus(x) + tf.nn.selu(x) * tf.nn.leaky_relu(x, 0.1) + tf.atan2(x, tf.exp(x)) + tf.erf(x)
    y = y - tf.lgamma(x * x + 1.0)
    y = y + tf.log1p(tf.square(x)) * tf.sin(x) + tf.minimum(x, 0.3) - tf.maximum(x, -0.2) + tf.clip_by_value(x, -0.5, 0.5)
    return y / (tf.abs(x) + 1.0) + tf.pow(tf.abs(x) + 0.5, 1.5) + tf.squared_difference(x, 0.5) + tf.floormod(x, 0.7)


def partitioned(tf, x):
    w = tf.get_variable("w", [6, 4], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(3))
    return tf.matmul(x, tf.add(w, variable(tf, "base", 6, 4)))


def embedded(tf):
    ids = tf.placeholder(tf.int32, [None, 3], name="ids")
    table = tf.get_variable("table", initializer=draw(9, 4), partitioner=None)
    y = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1) + tf.gather(variable(tf, "bias", 9, 4), ids[:, 0])
    return {"ids": (ids, np.int32([[0, 1, 2], [8, 8, 3]]))}, {"y": y}


def resources(tf):
    x, array = fed(tf, 2, 3)
    ids = tf.placeholder(tf.int64, [None], name="ids")
    with tf.variable_scope("", use_resource=True):
        table = variable(tf, "table", 5, 4)
        h = tf.nn.relu(dense(tf, x, 4, "d")) + tf.gather(table, ids) + tf.nn.embedding_lookup(table, ids)
        step = tf.get_variable("step", initializer=np.int64(7), trainable=False)
        return ({"x": (x, array), "ids": (ids, np.int64([4, 0]))},
                {"y": h * tf.cast(step, tf.float32), "step": tf.identity(step), "picked": tf.gather_nd(table, [[0, 1]])})


def kinds(tf):
    """Variables and outputs of many dtypes."""
    x = tf.placeholder(tf.float64, [], name="x")
    outputs = {}
    for t in "float64 float16 int8 uint8 int16 int32 int64 complex64".split():
        outputs[t] = tf.identity(tf.get_variable(t, initializer=np.array([1, 2], t)))
    outputs["bool"] = tf.logical_not(tf.get_variable("bool", initializer=np.array([True, False])))
    outputs["sum"] = x * tf.reduce_sum(outputs["float64"])
    outputs["text"] = tf.string_join([tf.as_string(outputs["int32"]), "b"], separator="-")
    return {"x": (x, np.array(3.0))}, outputs


def texts(tf):
    words = tf.placeholder(tf.string, [None], name="words")
    clean = tf.regex_replace(words, "[0-9]+", "#")
    number = tf.string_to_number(tf.substr(words, 1, 1), tf.float32)
    return ({"words": (words, np.array([b"a1", b"b22"], object))},
            {"clean": clean, "hash": tf.string_to_hash_bucket_fast(words, 10), "number": number * variable(tf, "v", 2)})


def sparse(tf):
    x = tf.sparse_placeholder(tf.float32, [3, 4], name="x")
    value = (np.int64([[0, 1], [2, 3]]), np.float32([2, 3]), np.int64([3, 4]))
    return {"x": (x, value)}, {"y": tf.sparse_tensor_dense_matmul(x, variable(tf, "w", 4, 2))}


def optional(tf):
    """An input that may be left out, and a random part that is then off."""
    x, array = fed(tf, 2, 5)
    training = tf.placeholder_with_default(False, [], name="training")
    kept = tf.where(tf.fill(tf.shape(x), training), tf.nn.dropout(x, 0.5, seed=1), x)
    return {"x": (x, array)}, {"y": dense(tf, kept, 2, "d"), "training": tf.identity(training)}


def constants(tf):
    x, array = fed(tf, 2, 3)
    return {"x": (x, array)}, {"y": tf.matmul(x, tf.constant(draw(3, 2))) + tf.fill([1, 2], 0.25)}


def placed(tf):
    with tf.device("/cpu:0"):
        x, array = fed(tf, 2, 3)
        with tf.name_scope("net"), tf.control_dependencies([tf.assert_greater(tf.shape(x)[0], 0)]):
            y = dense(tf, tf.identity(x), 2, "d")
    return {"x": (x, array)}, {"y": tf.nn.l2_normalize(y, 1)}


def averaged(tf):
    x, array = fed(tf, 2, 3)
    w = variable(tf, "w", 3, 2)
    average = tf.train.ExponentialMovingAverage(0.5)
    average.apply([w])
    return {"x": (x, array)}, {"y": tf.matmul(x, average.average(w)) - tf.matmul(x, w) * 2.0}


def chosen(tf):
    x, array = fed(tf, 2, 3)
    w = variable(tf, "w", 3, 3)
    h = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.matmul(x, w), lambda: tf.tanh(tf.matmul(x, w)))
    y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.sin(tf.matmul(h, w))), [0, h])[1]
    return {"x": (x, array)}, {"y": y}


def examples(tf):
    """Serialised Examples in, as a server has it."""
    serialized = tf.placeholder(tf.string, [None], name="examples")
    parsed = tf.parse_example(serialized, {
        "x": tf.FixedLenFeature([2], tf.float32), "ids": tf.VarLenFeature(tf.int64),
        "word": tf.FixedLenFeature([], tf.string, default_value="none"),
        "more": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True)})
    ids = tf.sparse_tensor_to_dense(parsed["ids"], default_value=4)
    y = dense(tf, parsed["x"], 2, "d") + tf.reduce_sum(tf.gather(variable(tf, "table", 5, 2), ids), 1)
    t = tf.train
    given = [t.Example(features=t.Features(feature={"x": t.Feature(float_list=t.FloatList(value=x)), **more}))
             for x, more in (([1, 2], {}), ([0.5, 3], {"ids": t.Feature(int64_list=t.Int64List(value=[1, 3]))}))]
    return ({"examples": (serialized, np.array([e.SerializeToString() for e in given], object))},
            {"y": y + tf.reduce_sum(parsed["more"], 1, keep_dims=True), "word": parsed["word"]})


MODELS = {
    "dense": of(lambda tf, x: tf.tanh(dense(tf, x, 2, "d")), 3, 4), "convolutions": of(convolutions, 2, 8, 8, 2),
    "separable": of(separable, 2, 6, 6, 2), "recurrent": of(recurrent, 2, 4, 3), "attention": of(attention, 2, 4, 6),
    "places": of(places, 3, 3), "rows": of(rows, 3, 4), "pictures": of(pictures, 1, 4, 5, 2), "matrices": of(matrices, 3, 3),
    "slices": of(slices, 3, 4), "curves": of(curves, 3, 4), "partitioned": of(partitioned, 2, 6),
    "volumes": of(lambda tf, x: tf.nn.max_pool3d(tf.nn.conv3d(x, variable(tf, "w", 2, 2, 2, 1, 2), [1] * 5, "SAME"),
                                                 [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME"), 1, 4, 4, 4, 1),
    "dilated": of(lambda tf, x: tf.nn.convolution(x, variable(tf, "w", 3, 3, 1, 2), "SAME", dilation_rate=[2, 2]), 1, 8, 8, 1),
    "along": of(lambda tf, x: tf.nn.conv1d(x, variable(tf, "w", 3, 2, 3), 2, "VALID"), 2, 7, 2),
    "blocks": of(lambda tf, x: tf.depth_to_space(tf.space_to_depth(x, 2) * variable(tf, "v", 8), 2), 1, 4, 4, 2),
    "losses": of(lambda tf, x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(x), logits=dense(
        tf, x, 4, "d")) + tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3], logits=x), 2, 4),
    "spectra": of(lambda tf, x: tf.abs(tf.fft(tf.complex(x, x * 0.5))) + tf.real(tf.ifft(tf.complex(x, -x))), 2, 8),
    "quantised": of(lambda tf, x: tf.fake_quant_with_min_max_args(tf.fake_quant_with_min_max_vars(
        dense(tf, x, 4, "d"), variable(tf, "low"), 2.0)), 3, 4),
    "identities": of(lambda tf, x: tf.add_n([*tf.identity_n([x, x * 2.0]), tf.ensure_shape(x, [3, 2]), tf.stop_gradient(x)])
                     * variable(tf, "v", 2), 3, 2),
    "embedded": embedded, "resources": resources, "kinds": kinds, "texts": texts, "sparse": sparse, "optional": optional,
    "constants": constants, "placed": placed, "averaged": averaged, "chosen": chosen,
    "examples": examples,
}
