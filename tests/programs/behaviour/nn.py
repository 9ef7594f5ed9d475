"""Moments, batch normalisation, losses, layers, initializers, and older spellings."""
from corpus import Row

ROWS = [
    Row("moments", """
x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
result = run([tf.nn.moments(x, [0]), tf.nn.moments(x, [0, 1], keep_dims=True), tf.nn.moments(x, 1)])"""),
    Row("moments, weighted and sufficient statistics", """
x = tf.constant([1.0, 2.0, 6.0])
result = run(
    [
        tf.nn.weighted_moments(x, [0], [1.0, 1.0, 2.0]),
        tf.nn.sufficient_statistics(x, [0])[:3],
        tf.nn.normalize_moments(3.0, 9.0, 41.0, None),
    ]
)"""),
    Row("batch_normalization", """
x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
m, v = tf.nn.moments(x, [0])
result = run(
    [
        tf.nn.batch_normalization(x, m, v, [1.0, 2.0], [3.0, 4.0], 1e-3),
        tf.nn.batch_normalization(x, m, v, None, None, 1e-3),
        tf.nn.batch_normalization(x, m, v, 0.5, None, 0.1),
    ]
)"""),
    Row("fused_batch_norm", """
x = tf.constant(np.arange(16.0).reshape(2, 2, 2, 2), tf.float32)
s, o = tf.constant([1.0, 2.0]), tf.constant([0.5, -0.5])
y, m, v = tf.nn.fused_batch_norm(x, s, o)
z, _, _ = tf.nn.fused_batch_norm(x, s, o, mean=[6.0, 7.0], variance=[4.0, 9.0], is_training=False)
result = run([y, m, v, z] + tf.gradients(y**3, [x, s, o]) + tf.gradients(z**2, [x, s, o]))""",
        tolerance=3e-5),
    Row("batch norm layer, training and inference", """
x = tf.constant([[1.0, 2.0], [3.0, 6.0]])
t = tf.placeholder(tf.bool)
y = tf.layers.batch_normalization(x, training=t, momentum=0.5)
up = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
a = run(y, {t: True})
run(up, {t: True})
moving = run(tf.global_variables()[2:])
result = [a, moving, run(y, {t: False}), len(up)]"""),
    Row("layer with reuse", """
a = tf.layers.dense(tf.ones([1, 2]), 3, name='d', kernel_initializer=tf.ones_initializer())
b = tf.layers.dense(2.0 * tf.ones([1, 2]), 3, name='d', reuse=True)
result = [run([a, b]), len(tf.trainable_variables())]"""),
    Row("layer objects share", """
l = tf.layers.Dense(2, kernel_initializer=tf.ones_initializer())
a, b = l(tf.ones([1, 3])), l(tf.zeros([1, 3]))
result = [run([a, b]), len(l.trainable_weights), l.kernel.shape.as_list()]"""),
    Row("regularised layer", """
tf.layers.dense(
    tf.ones([1, 2]),
    2,
    kernel_initializer=tf.ones_initializer(),
    kernel_regularizer=lambda w: 0.5 * tf.reduce_sum(w**2),
)
result = run(tf.losses.get_regularization_losses())"""),
    Row("losses", """
y, p = tf.constant([[1.0, 0.0], [0.0, 1.0]]), tf.constant([[0.7, 0.4], [0.2, 3.0]])
L = tf.losses
result = run(
    [
        L.mean_squared_error(y, p),
        L.absolute_difference(y, p),
        L.huber_loss(y, p),
        L.hinge_loss(y, p),
        L.log_loss(y, p * 0.3),
        L.cosine_distance(y, p, axis=1),
        L.softmax_cross_entropy(y, p),
        L.sparse_softmax_cross_entropy([0, 1], p),
        L.sigmoid_cross_entropy(y, p),
        L.mean_pairwise_squared_error(y, p),
    ]
)""",
        tolerance=1e-5),
    Row("losses, weighted", """
y, p = tf.constant([[1.0, 0.0], [0.0, 1.0]]), tf.constant([[0.7, 0.4], [0.2, 3.0]])
L = tf.losses
result = run(
    [
        L.mean_squared_error(y, p, weights=2.0),
        L.mean_squared_error(y, p, weights=[[1.0], [0.0]]),
        L.softmax_cross_entropy(y, p, weights=[1.0, 3.0]),
        L.mean_squared_error(y, p, weights=[[1.0], [0.0]], reduction=L.Reduction.MEAN),
        L.compute_weighted_loss([1.0, 2.0], [0.0, 0.0]),
    ]
)"""),
    Row("losses, reductions", """
y, p = tf.constant([1.0, 2.0]), tf.constant([2.0, 4.0])
R = tf.losses.Reduction
result = run(
    [
        tf.losses.mean_squared_error(y, p, reduction=r)
        for r in (R.NONE, R.SUM, R.MEAN, R.SUM_OVER_BATCH_SIZE, R.SUM_BY_NONZERO_WEIGHTS)
    ]
)"""),
    Row("losses smooth labels", """
result = run(
    [
        tf.losses.softmax_cross_entropy([[1.0, 0.0]], [[2.0, 1.0]], label_smoothing=0.2),
        tf.losses.sigmoid_cross_entropy([[1.0, 0.0]], [[2.0, 1.0]], label_smoothing=0.2),
    ]
)"""),
    Row("cross entropies, values", """
z = tf.constant([[2.0, 1.0, -500.0], [0.0, 0.0, 0.0]])
y = tf.constant([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
result = run(
    [
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=z),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 1], logits=z),
        tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=z, dim=0),
    ]
)"""),
    Row("shapes of initializers", """
I = tf
result = [
    run(init([4, 3], tf.float32)).shape
    for init in (
        I.zeros_initializer(),
        I.ones_initializer(),
        I.random_normal_initializer(),
        I.truncated_normal_initializer(),
        I.random_uniform_initializer(),
        I.glorot_uniform_initializer(),
        I.glorot_normal_initializer(),
        I.variance_scaling_initializer(),
        I.orthogonal_initializer(),
        I.uniform_unit_scaling_initializer(),
        I.variance_scaling_initializer(2.0),
    )
]"""),
    Row("spread of initializers", """
tf.set_random_seed(5)
g = run(tf.glorot_uniform_initializer()([200, 100], tf.float32))
n = run(tf.truncated_normal_initializer(0.0, 0.02)([1000], tf.float32))
h = run(tf.variance_scaling_initializer(2.0, 'fan_in', 'normal')([100, 400], tf.float32))
u = run(tf.random_uniform_initializer(-0.1, 0.1)([1000], tf.float32))
lim = np.sqrt(6.0 / 300)
result = [
    bool(abs(g).max() <= lim and abs(g).max() > 0.98 * lim),
    bool(abs(n).max() <= 0.04),
    bool(abs(h.std() - np.sqrt(2.0 / 100)) < 0.005),
    bool(-0.1 <= u.min() < u.max() <= 0.1),
]"""),
    Row("fans of a convolution", """
tf.set_random_seed(5)
k = run(tf.glorot_uniform_initializer()([3, 3, 20, 30], tf.float32)); lim = np.sqrt(6.0 / (9 * 20 + 9 * 30))
result = [bool(abs(k).max() <= lim), bool(abs(k).max() > 0.98 * lim)]"""),
    Row("orthogonal", """
q = run(tf.orthogonal_initializer(gain=2.0)([5, 3], tf.float32))
result = bool(np.allclose(q.T.dot(q), 4 * np.eye(3), atol=1e-4))"""),
    Row("identity and constant", """
result = [
    run(tf.initializers.identity()([2, 3], tf.float32)),
    run(tf.constant_initializer([1, 2, 3])([3], tf.float32)),
    run(tf.constant_initializer(2)([2, 2], tf.int32)),
]"""),
    Row("embedding_lookup", """
e = tf.constant([[1.0, 2.0], [3.0, 4.0]])
result = run([tf.nn.embedding_lookup(e, [1, 0, 1]), tf.nn.embedding_lookup(e, [[0]])])"""),
    Row("embedding_lookup, clipped", """
e = tf.constant([[3.0, 4.0], [0.3, 0.4]])
result = run(tf.nn.embedding_lookup(e, [0, 1], max_norm=1.0))"""),
    Row("l2_normalize", """
result = run([tf.nn.l2_normalize([[3.0, 4.0], [0.0, 0.0]], 1), tf.nn.l2_normalize([3.0, 4.0], dim=0)])"""),
    Row("local_response_normalization", """
x = tf.constant(np.arange(8.0).reshape(1, 1, 2, 4), tf.float32)
y = tf.nn.lrn(x, depth_radius=1, bias=1.0, alpha=0.5, beta=0.5)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("top_k and in_top_k", """
x = tf.constant([[1.0, 4.0, 2.0]])
v, i = tf.nn.top_k(x, 2)
result = run([v, i, tf.nn.in_top_k(x, [2], 2), tf.gradients(v, x)[0]])"""),
    Row("xw_plus_b and friends", """
x = tf.constant([[1.0, 2.0]])
w, b = tf.constant([[1.0], [-3.0]]), tf.constant([0.5])
result = run(
    [
        tf.nn.xw_plus_b(x, w, b),
        tf.nn.relu_layer(x, w, b),
        tf.nn.zero_fraction([0.0, 1.0, 0.0, 0.0]),
        tf.nn.log_poisson_loss([1.0], [0.5]),
    ]
)"""),
    Row("metrics", """
acc, up = tf.metrics.accuracy(labels=[1, 2, 3], predictions=[1, 2, 4])
s = tf.Session()
s.run(tf.local_variables_initializer())
result = [s.run(up), s.run(acc)]"""),
    Row("older spellings", """
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
result = run(
    [
        tf.reduce_sum(x, reduction_indices=1),
        tf.reduce_sum(x, keep_dims=True),
        tf.argmax(x, dimension=1),
        tf.expand_dims(x, dim=0),
        tf.squeeze(x[:1], squeeze_dims=[0]),
        tf.nn.softmax(x, dim=0),
        tf.multiply(x, x),
        tf.log(x),
        tf.matrix_transpose(x),
        tf.to_int32(x),
    ]
)"""),
    Row("oldest spellings", """
x = tf.constant([3.0, 4.0])
result = [
    np.array(v).tolist()
    for v in run(
        [
            tf.neg(x),
            tf.mul(x, x),
            tf.sub(x, 1.0),
            tf.pack([x, x]),
            tf.unpack(x),
            tf.batch_matmul(tf.ones([1, 1, 2]), tf.ones([1, 2, 1])),
        ]
    )
]""",
        expect=[[-3.0, -4.0], [9.0, 16.0], [2.0, 3.0], [[3.0, 4.0], [3.0, 4.0]], [3.0, 4.0], [[[2.0]]]]),
    Row("newer module names", """
x = tf.constant([0.5, 0.25])
result = run(
    [
        tf.math.log(x),
        tf.math.reduce_sum(x),
        tf.linalg.norm(x),
        tf.math.sigmoid(x),
        tf.random.uniform([1]) * 0.0,
        tf.strings.join(['a', 'b']),
        tf.math.top_k(x)[0],
        tf.linalg.matmul([[1.0]], [[2.0]]),
        tf.image.flip_left_right(tf.ones([1, 1, 1])),
        tf.initializers.zeros()([1], tf.float32),
    ]
)"""),
    Row("flags and logging", """
tf.logging.set_verbosity(tf.logging.ERROR)
tf.logging.info('x')
result = [tf.logging.INFO, tf.logging.ERROR]"""),
    Row("image functions", """
x = tf.constant(np.arange(12.0).reshape(2, 2, 3) / 12, tf.float32)
result = run(
    [
        tf.image.flip_up_down(x),
        tf.image.rot90(x),
        tf.image.rgb_to_grayscale(x),
        tf.image.adjust_brightness(x, 0.1),
        tf.image.adjust_contrast(x, 2.0),
        tf.image.total_variation(x),
        tf.image.central_crop(tf.ones([4, 4, 1]), 0.5),
        tf.image.per_image_standardization(x),
        tf.image.rgb_to_hsv(x),
        tf.image.resize_image_with_crop_or_pad(x, 1, 3),
    ]
)""",
        tolerance=1e-5),
    Row("crop_and_resize", """
x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1), tf.float32)
y = tf.image.crop_and_resize(x, [[0.1, 0.2, 0.8, 0.9]], [0], [2, 2])
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("space_to_batch and depth", """
x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1))
result = run(
    [tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]), tf.depth_to_space(tf.space_to_depth(x, 2), 2)]
)"""),
    Row("separable_conv2d", """
x = tf.constant(np.arange(16.0).reshape(1, 4, 4, 1))
result = run(
    tf.nn.separable_conv2d(
        x, tf.ones([3, 3, 1, 2], tf.float64), tf.ones([1, 1, 2, 3], tf.float64), [1, 1, 1, 1], 'VALID'
    )
)"""),
    Row("conv1d and conv3d", """
x = tf.constant(np.arange(6.0).reshape(1, 6, 1))
y = tf.constant(np.arange(8.0).reshape(1, 2, 2, 2, 1))
result = run(
    [
        tf.nn.conv1d(x, tf.ones([3, 1, 1], tf.float64), 2, 'SAME'),
        tf.nn.conv3d(y, tf.ones([2, 2, 2, 1, 1], tf.float64), [1] * 5, 'VALID'),
    ]
)"""),
    Row("ctc_loss", """
z = tf.constant(np.log(np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]], [[0.1, 0.6, 0.3]]], 'f')))
loss = tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [0, 1]], [0, 1], [1, 2]), z, [3])
result = run([loss, tf.gradients(loss, z)[0]])"""),
    Row("dense summaries merge", """
tf.summary.scalar('a', 1.0)
m = tf.summary.merge_all()
result = type(run(m)).__name__"""),
    Row("names of Keras's layers and their variables", """
L, K = tf.keras.layers, tf.keras
x = tf.placeholder(tf.float32, [None, 8])
made = [L.Dense(4, activation='relu'), L.Dense(2, name='fc'), L.Dense(2, name='fc')]
y = made[1](made[0](x))
made[2](y)
with tf.variable_scope('s'):
    made += [L.Dense(3, kernel_regularizer=K.regularizers.l2(0.1)), L.Dense(3)]
    z = made[3](y)
    made[3](y), made[4](z)
with tf.variable_scope('s', reuse=tf.AUTO_REUSE):
    made.append(L.Dense(3, activation=tf.nn.tanh))
    made[5](z)
with tf.name_scope('ns'):
    made.append(L.Dense(3))
    o = made[6](z)
bn = L.BatchNormalization()
bn(tf.ones([2, 4, 4, 3]))
class Mine(L.Layer):
    def __init__(self, n, **more):
        super(Mine, self).__init__(**more)
        self.n = n
    def build(self, shape):
        self.w = self.add_weight(name='w', shape=(shape[-1], self.n), initializer='uniform')
        super(Mine, self).build(shape)
    def call(self, x):
        return tf.matmul(x, self.w)
mine = Mine(3)
result = [[l.name for l in made], [v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()],
          [l.name for l in made[3].losses], tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES), y.name, o.name, z.name,
          [v.name for v in bn.trainable_weights], len(bn.updates), tf.get_collection(tf.GraphKeys.UPDATE_OPS),
          mine(x).name, mine.w.name, mine.name]"""),
    Row("names of Keras's models", """
L, K = tf.keras.layers, tf.keras
x = tf.placeholder(tf.float32, [None, 8])
plain, with_input = K.Sequential([L.Dense(4), L.Dense(2)]), K.Sequential([L.Dense(4, input_shape=(8,)), L.Dense(2)])
inputs = K.Input(shape=(8,))
outputs = L.Dense(1)(L.Concatenate()([L.Dense(5)(inputs), inputs]))
model = K.Model(inputs=inputs, outputs=outputs)
class Own(K.Model):
    def __init__(self):
        super(Own, self).__init__()
        self.first, self.second = L.Dense(3), L.Dense(2)
    def call(self, x):
        return self.second(self.first(x))
own = Own()
result = [[m.name, m(x).name, [v.name for v in m.trainable_weights], [l.name for l in m.layers]]
          for m in (plain, with_input, model, own)] + [[t.name for t in with_input.inputs + with_input.outputs], inputs.name]"""),
    Row("values of Keras's layers", """
L, K = tf.keras.layers, tf.keras
rows, image = np.arange(12.0).reshape(3, 4) / 6 - 1, np.sin(np.arange(96.0)).reshape(2, 4, 4, 3)
same = dict(kernel_initializer=tf.constant_initializer(0.3))
made = [
    (rows, [L.Dense(3, activation='tanh', use_bias=False, **same), L.Dense(2, **same), L.Activation('softmax'), L.LeakyReLU(),
            L.LeakyReLU(0.1), L.ReLU(), L.ReLU(0.5), L.ReLU(0.5, 0.1, 0.2), L.ELU(), L.ELU(0.5), L.Softmax(),
            L.PReLU(alpha_initializer=tf.constant_initializer(0.2)), L.LayerNormalization(), L.Reshape((2, 2)), L.RepeatVector(2),
            L.Lambda(lambda t, by: t * by, arguments={'by': 3.0}), L.Dropout(0.5), L.GaussianNoise(1.0), L.Flatten()]),
    (image, [L.Conv2D(2, 3, padding='same', activation='relu', **same), L.Conv2D(2, (2, 1), strides=2, **same), L.MaxPooling2D(),
             L.MaxPool2D(3, 1, 'same'), L.AveragePooling2D((2, 1)), L.GlobalAveragePooling2D(), L.GlobalMaxPooling2D(),
             L.ZeroPadding2D(), L.ZeroPadding2D(((1, 0), (2, 1))), L.Cropping2D(1), L.Cropping2D(((0, 1), (1, 0))), L.UpSampling2D(),
             L.UpSampling2D((1, 3), interpolation='bilinear'), L.Permute((2, 3, 1)), L.Flatten(), L.BatchNormalization(),
             L.Conv2DTranspose(2, 2, strides=2, **same), L.TimeDistributed(L.Dense(2, **same)),
             L.SeparableConv2D(2, 2, depthwise_initializer='ones', pointwise_initializer='ones')]),
    ([rows, rows * rows, rows + 1], [L.Add(), L.Multiply(), L.Average(), L.Maximum(), L.Minimum(), L.Concatenate(), L.Concatenate(0)]),
    ([rows, rows * rows], [L.Subtract()]),
    (np.array([[0, 2], [1, 1]]), [L.Embedding(3, 2, embeddings_initializer='ones')]),
]
fetches = []
for x, layers in made:
    for layer in layers:
        given = [tf.constant(v, tf.float32) for v in x] if isinstance(x, list) else tf.constant(x, tf.float32 if x.dtype.kind == 'f' else None)
        y = layer(given)
        fetches += [y, y.shape.as_list(), [tf.shape(v) for v in layer.weights]]
flat = [f for f in fetches if not isinstance(f, list) or f and hasattr(f[0], 'op')]
result = [run(flat), [f for f in fetches if isinstance(f, list) and not (f and hasattr(f[0], 'op'))]]""", tolerance=1e-4),
    Row("a Keras model that TensorFlow 1 trains", """
L, K = tf.keras.layers, tf.keras
x, wanted = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 2])
ones = dict(kernel_initializer='ones', kernel_regularizer=K.regularizers.l2(0.01))
model = K.Sequential([L.Dense(3, activation='tanh', **ones), L.BatchNormalization(momentum=0.5), L.Dropout(0.3),
                      L.Dense(2, kernel_constraint=K.constraints.max_norm(0.5), **ones)])
loss = tf.losses.mean_squared_error(wanted, model(x)) + tf.add_n(model.losses)
with tf.control_dependencies(model.updates):
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
feed = {x: np.arange(12.0).reshape(3, 4) / 6 - 1, wanted: np.eye(3)[:, :2]}
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    result = [[s.run([loss, step], feed)[0] for _ in range(3)]]
    K.backend.set_session(s)
    kept = model.get_weights()
    result += [kept, [w.shape for w in kept], len(model.losses), len(model.updates)]
    model.set_weights([0.5 * w for w in kept])
    result += [s.run(loss, feed), K.backend.get_value(model.weights[0])]
    frozen = model.layers[0]
    frozen.trainable = False
    result += [[v.name for v in model.trainable_weights], [v.name for v in frozen.non_trainable_weights]]""", tolerance=1e-4),
    Row("what a dropout wrapper draws", """
tf.set_random_seed(9)
cells = [lambda: tf.nn.rnn_cell.LSTMCell(3),
         lambda: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.LSTMCell(3)])]
fetches = []
for n, (cell, seed, whole) in enumerate([(0, 3, False), (1, None, False), (0, 3, True), (1, None, True)]):
    wrapped = tf.nn.rnn_cell.DropoutWrapper(cells[cell](), 0.7, 0.5, 0.6, whole, 2 if whole else None, tf.float32, seed)
    with tf.variable_scope('s%d' % n, initializer=tf.constant_initializer(0.3)):
        fetches += tf.nn.static_rnn(wrapped, [tf.ones([1, 2])] * 2, dtype=tf.float32)[0]
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    result = [s.run(fetches) for _ in range(3)]""", tolerance=1e-5),
]
