"""tf.keras without `fit`: recurrent layers, masks, further layers, the backend's operations, losses and optimizers."""
from corpus import Row

# Initializers whose numbers follow from the shape alone; sequences of two features.
START = """
L, K = tf.keras.layers, tf.keras
def fill(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape)) + len(shape)).reshape(shape) * 0.7, tf.float32)
same = dict(kernel_initializer=fill, recurrent_initializer=fill, bias_initializer=fill)
drawn = K.initializers.RandomUniform(-0.7, 0.7, seed=3)
copied = dict(kernel_initializer=drawn, recurrent_initializer=drawn, bias_initializer=drawn)
x = tf.constant(np.cos(np.arange(24.0)).reshape(2, 4, 3), tf.float32)
def with_gradients(y, layer):
    y = tf.nest.flatten(y)
    loss = tf.add_n([tf.reduce_sum(tf.sin(t)) for t in y])
    return [y, [t.shape.as_list() for t in y], tf.gradients(loss, [x] + layer.trainable_weights)]
def values(made):
    return [[run(y), shapes, run(g)] for y, shapes, g in made]
"""

ROWS = [
    Row("recurrent layers", START + """
layers = [
    L.SimpleRNN(3, **same), L.SimpleRNN(3, activation='relu', return_sequences=True, go_backwards=True, use_bias=False,
                                        kernel_initializer=fill, recurrent_initializer=fill),
    L.GRU(3, **same), L.GRU(3, return_sequences=True, reset_after=True, recurrent_activation='sigmoid', **same),
    L.GRU(2, unroll=True, return_state=True, **same),
    L.LSTM(3, **same), L.LSTM(3, return_sequences=True, return_state=True, recurrent_activation='sigmoid', **same),
    L.LSTM(2, unroll=True, go_backwards=True, unit_forget_bias=False, **same),
]
result = values([with_gradients(layer(x), layer) for layer in layers])""", tolerance=1e-4),
    Row("cells, stacked and of one's own", START + """
class Mine(L.Layer):
    state_size = 2
    def build(self, shape):
        self.w = self.add_weight(name='w', shape=(shape[-1], 2), initializer=fill)
        self.built = True
    def call(self, inputs, states):
        h = tf.tanh(tf.matmul(inputs, self.w) - states[0])
        return 2.0 * h, [h]
layers = [L.RNN(Mine()), L.RNN([L.LSTMCell(2, **same), Mine(), L.GRUCell(3, **same)], return_sequences=True, return_state=True),
          L.RNN(L.SimpleRNNCell(2, **same), unroll=True, time_major=True, return_sequences=True)]
made = [with_gradients(layer(x), layer) for layer in layers]
nested = [isinstance(t, list) for t in layers[1](x)]
given = L.LSTM(2, **same)
states = [tf.constant([[1.0, -1.0], [0.5, 0.0]]), tf.constant([[0.2, 0.1], [0.0, -0.4]])]
made.append(with_gradients(given(x, initial_state=states), given))
result = [values(made), nested]""", tolerance=1e-4),
    Row("both directions", START + """
layers = [L.Bidirectional(L.LSTM(2, **copied)), L.Bidirectional(L.GRU(2, return_sequences=True, **copied), merge_mode='sum'),
          L.Bidirectional(L.SimpleRNN(2, **copied), merge_mode=None), L.Bidirectional(L.SimpleRNN(2, **copied), merge_mode='ave'),
          L.Bidirectional(L.LSTM(2, return_sequences=True, return_state=True, **copied), merge_mode='mul')]
result = values([with_gradients(layer(x), layer) for layer in layers])""", tolerance=1e-4),
    Row("masks", START + """
ids = tf.constant([[1, 2, 0, 0], [2, 1, 1, 0], [0, 0, 1, 2]])
made = []
for layer in [L.LSTM(3, **same), L.GRU(2, return_sequences=True, **same), L.SimpleRNN(2, go_backwards=True, **same),
              L.Bidirectional(L.LSTM(2, return_sequences=True, **copied)), L.LSTM(2, unroll=True, return_sequences=True, **same)]:
    embedded = L.Embedding(3, 2, embeddings_initializer=fill, mask_zero=True)
    made.append(layer(L.Activation('tanh')(L.Dropout(0.5)(embedded(ids)))))
m = L.Masking(0.5)(tf.constant([[[0.5, 0.5], [1.0, 0.5]], [[2.0, 3.0], [0.5, 0.5]]]))
made += [m, L.SimpleRNN(2, **same)(m), L.TimeDistributed(L.Dense(2, kernel_initializer=fill))(m)]
last = L.SimpleRNN(2, **same)(L.Dense(2, kernel_initializer=fill)(m), mask=tf.constant([[True, False], [True, True]]))
result = run(made + [last])""", tolerance=1e-4),
    Row("a network with masks called again", START + """
inputs = K.Input([4], dtype='int32')
h = L.Embedding(5, 3, embeddings_initializer=fill, mask_zero=True)(inputs)
h = L.LSTM(3, return_sequences=True, **same)(h)
model = K.Model(inputs, L.GRU(2, **same)(h))
result = run([model(tf.constant([[1, 2, 0, 0], [3, 4, 4, 0]])), model(tf.constant([[1, 2, 3, 0]]))])
result += [len(model.layers), len(model.trainable_weights)]""", tolerance=1e-4),
    Row("states of a model's recurrent layer", START + """
inputs, first = K.Input([None, 3]), K.Input([2])
out, h = L.GRU(2, return_state=True, return_sequences=True, **same)(inputs, initial_state=first)
model = K.Model([inputs, first], [out, h])
result = run(model([x, tf.ones([2, 2])]))""", tolerance=1e-4),
    Row("a layer that goes on where it ended", START + """
layer = L.LSTM(2, stateful=True, **same)
inputs = tf.placeholder(tf.float32, [2, 4, 3])
y = layer(inputs)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    K.backend.set_session(s)
    feed = {inputs: np.cos(np.arange(24.0)).reshape(2, 4, 3)}
    result = [s.run([y] + layer.updates, feed)[0] for _ in range(3)]
    layer.reset_states()
    result.append(s.run(y, feed))""", tolerance=1e-4),
    Row("a convolutional LSTM", START + """
x = tf.constant(np.cos(np.arange(240.0)).reshape(2, 3, 5, 4, 2), tf.float32)
layers = [L.ConvLSTM2D(2, 3, padding='same', return_sequences=True, **same), L.ConvLSTM2D(1, (2, 3), strides=(2, 1), **same)]
result = values([with_gradients(layer(x), layer) for layer in layers])""", tolerance=1e-4),
    Row("further layers", START + """
rows = tf.constant(np.sin(np.arange(24.0)).reshape(2, 4, 3), tf.float32)
image = tf.constant(np.sin(np.arange(96.0)).reshape(2, 4, 4, 3), tf.float32)
volume = tf.constant(np.sin(np.arange(108.0)).reshape(1, 3, 3, 4, 3), tf.float32)
K.backend.set_learning_phase(0)
made = [layer(given) for given, layers in [
    (rows, [L.ZeroPadding1D(), L.ZeroPadding1D((2, 1)), L.Cropping1D(), L.Cropping1D((0, 2)), L.UpSampling1D(3),
            L.SpatialDropout1D(0.5), L.GaussianDropout(0.5), L.AlphaDropout(0.5), L.ThresholdedReLU(0.3), L.Masking()]),
    (image, [L.DepthwiseConv2D(3, depthwise_initializer=fill, depth_multiplier=2, padding='same', activation='tanh'),
             L.DepthwiseConv2D((2, 1), strides=2, depthwise_initializer=fill, use_bias=False), L.SpatialDropout2D(0.5)]),
    (volume, [L.ZeroPadding3D((1, 0, 2)), L.Cropping3D(((1, 0), (0, 1), (1, 1))), L.UpSampling3D((1, 2, 1)),
              L.GlobalAveragePooling3D(), L.GlobalMaxPooling3D()])] for layer in layers]
made += [L.Dot(2)([rows, rows * rows]), L.Dot((1, 2), normalize=True)([rows[:, :3], rows[:, :3] + 1.0]),
         L.Dot(1)([rows[:, 0], rows[:, 1]]), L.dot([rows, rows], axes=1), L.subtract([rows, rows * rows]), L.average([rows, rows * 3.0]),
         L.maximum([rows, -rows]), L.minimum([rows, -rows])]
regular = L.ActivityRegularization(0.1, 0.2)
regular(rows)
result = [run(made), [y.shape.as_list() for y in made], run(regular.losses)]""", tolerance=1e-4),
    Row("a layer that knows no masks drops them", START + """
class Plain(L.Layer):
    def call(self, x):
        return 1.0 * x
class Own(Plain):
    def compute_mask(self, x, mask=None):
        return mask[:, ::-1]
m = L.Masking()(tf.constant([[[0.0], [1.0]]]))
result = run([L.SimpleRNN(1, **same)(layer(m)) for layer in [Plain(), Own()]] + [Own()(m)._keras_mask])
result.append(getattr(Plain()(m), '_keras_mask', None) is None)"""),
    Row("initial states of the wrong number", START + """
L.LSTM(2)(x, initial_state=[tf.zeros([2, 2])])""", raises=("ValueError", "initial")),

    # -- backend ---------------------------------------------------------------------------------------------
    Row("the backend's operations", """
B = tf.keras.backend
x, y = tf.constant([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]]), tf.constant([[0.2, 0.9, 0.1], [1.5, -0.3, 0.7]])
b = tf.constant([[True, False], [True, True]])
image = tf.constant(np.sin(np.arange(48.0)).reshape(1, 4, 4, 3), tf.float32)
made = [B.sum(x), B.sum(x, axis=1, keepdims=True), B.mean(x, axis=-1), B.mean(b), B.prod(x, 0), B.max(x, 1), B.min(x), B.std(x, 1),
        B.var(b, axis=0), B.any(x, 1), B.all(b, 0), B.argmax(x), B.argmin(x, 0), B.cumsum(x, 1), B.cumprod(x),
        B.abs(x), B.exp(y), B.log(y[:, :1]), B.sqrt(x), B.square(x), B.sign(x), B.round(x * 0.7), B.pow(y[:, :1], 3), B.sin(x),
        B.cos(x), B.maximum(x, y), B.minimum(x, y), B.clip(x, -1, 2), B.clip(x, 1.5, None), B.equal(x, x), B.not_equal(x, y),
        B.greater(x, y), B.less_equal(x, y), B.relu(x), B.relu(x, 0.1), B.relu(x, 0.2, 2.0, 0.5), B.elu(x, 0.5), B.sigmoid(x),
        B.hard_sigmoid(x), B.softmax(x), B.softmax(x, 0), B.softplus(x), B.softsign(x), B.tanh(x), B.l2_normalize(x, 1),
        B.dot(x, B.transpose(y)), B.dot(tf.ones([2, 3, 4]), tf.ones([5, 4, 2])), B.batch_flatten(image), B.flatten(x),
        B.reshape(x, (3, 2)), B.permute_dimensions(image, (0, 3, 1, 2)), B.repeat(x, 2), B.repeat_elements(x, 2, 1),
        B.tile(x, [1, 2]), B.reverse(x, 1), B.expand_dims(x), B.squeeze(B.expand_dims(x, 0), 0), B.stack([x, y]),
        B.concatenate([x, y]), B.concatenate([x, y], 0), B.gather(x, tf.constant([1, 0])), B.one_hot(tf.constant([[0, 2]]), 3),
        B.arange(3), B.arange(1, 7, 2, 'float32'), B.ones_like(x), B.zeros_like(x, 'int32'), B.cast(x, 'int32'), B.eye(2), B.ones((2,)),
        B.zeros((1, 2)), B.constant([1, 2]), B.temporal_padding(image[0], (1, 2)), B.spatial_2d_padding(image),
        B.resize_images(image, 2, 1, 'channels_last'), B.resize_images(image, 2, 3, 'channels_last', 'bilinear'),
        B.bias_add(x, tf.constant([1.0, 2.0, 3.0])), B.bias_add(image, tf.ones([4, 4, 3])), B.in_top_k(x, tf.constant([2, 2]), 1),
        B.batch_normalization(x, tf.ones([3]), 2.0 * tf.ones([3]), tf.ones([3]), tf.ones([3])),
        B.switch(x > y, x, y), B.switch(tf.constant([[True], [False]]), x, y), B.switch(tf.constant(1), lambda: x, lambda: y),
        B.in_train_phase(x, y), B.in_test_phase(lambda: x, lambda: y), B.in_train_phase(x, y, training=1),
        B.map_fn(lambda r: 2.0 * r, x), B.foldl(lambda a, r: a + r, x), B.foldr(lambda a, r: a * r, x), B.stop_gradient(x)]
result = [run(made), [y.shape.as_list() for y in made], B.int_shape(tf.placeholder(tf.float32, [None, 3])), B.ndim(x), B.dtype(x),
          B.count_params(B.zeros((2, 3))), B.is_sparse(x), B.is_keras_tensor(tf.keras.Input([2]))]""", tolerance=1e-4),
    Row("windows of the backend", """
B = tf.keras.backend
image = tf.constant(np.sin(np.arange(96.0)).reshape(2, 4, 4, 3), tf.float32)
kernel = tf.constant(np.cos(np.arange(54.0)).reshape(3, 3, 3, 2), tf.float32)
made = [B.conv2d(image, kernel), B.conv2d(image, kernel, (2, 1), 'same'), B.conv2d(image, kernel, padding='same', dilation_rate=(2, 1)),
        B.conv1d(image[0], kernel[0], 1, 'causal'), B.conv1d(image[0], kernel[0], 2, 'same'),
        B.conv3d(image[:, None], kernel[None]), B.conv2d_transpose(image, tf.transpose(kernel, [0, 1, 3, 2]), (2, 8, 8, 2), (2, 2), 'same'),
        B.depthwise_conv2d(image, kernel, padding='same'), B.separable_conv2d(image, kernel, tf.ones([1, 1, 6, 2])),
        B.pool2d(image, (2, 2)), B.pool2d(image, (3, 2), (2, 2), 'same', pool_mode='avg')]
result = run(made)""", tolerance=1e-4),
    Row("products of examples", """
B = tf.keras.backend
a, b, c = (tf.constant(np.sin(np.arange(np.prod(s)) + 1.0).reshape(s), tf.float32) for s in ([2, 3], [2, 3, 4], [2, 4, 3]))
made = [B.batch_dot(a, a + 1.0, axes=1), B.batch_dot(b, c), B.batch_dot(b, c, axes=(1, 2)), B.batch_dot(b, b, axes=2),
        B.batch_dot(a, b, axes=(1, 1)), B.batch_dot(c, a, axes=(2, 1)), B.batch_dot(b, b, (1, 1))]
result = [run(made), [y.shape.as_list() for y in made]]"""),
    Row("functions of the backend", """
B = tf.keras.backend
with tf.Session() as s:
    B.set_session(s)
    w = B.variable(np.array([1.0, 2.0]), name='w')
    n = B.zeros((2,))
    x = B.placeholder((None, 2))
    y = B.sum(x * w, axis=1)
    f = B.function([x], [y] + B.gradients(y, [w]), updates=[(n, n + 1.0), B.update_add(w, [0.5, 0.0])])
    result = [f([np.ones((3, 2))]), f([np.array([[1.0, 2.0]])])[0], B.get_value(w), B.batch_get_value([n, w])]
    B.set_value(w, [7.0, 8.0])
    phase = B.function([x, B.learning_phase()], [B.in_train_phase(x, 2.0 * x)])
    result += [B.eval(w), phase([np.ones((1, 2)), 0]), phase([np.ones((1, 2)), 1]), [v.name for v in tf.trainable_variables()], w.name,
               B.get_session() is s]
    mean = B.variable([1.0])
    move = B.moving_average_update(mean, tf.constant([4.0]), 0.5)
    s.run(tf.global_variables_initializer())
    result += [s.run(move) for _ in range(2)]"""),
    Row("steps of the backend", """
B = tf.keras.backend
x = tf.constant(np.cos(np.arange(24.0)).reshape(2, 4, 3), tf.float32)
def step(x, states):
    h = tf.tanh(x + states[0] + states[1])
    return 2.0 * h, [h]
made = []
for options in [{}, dict(go_backwards=True), dict(unroll=True), dict(mask=tf.constant([[True, True, False, True], [True, False, False, False]])),
                dict(mask=tf.constant([[True, True, False, True], [False] * 4]), zero_output_for_mask=True)]:
    made.append(B.rnn(step, x, [tf.zeros([2, 3])], constants=[tf.constant([[0.1, 0.2, 0.3]])], **options))
result = run(made)""", tolerance=1e-4),
    Row("labellings", """
B = tf.keras.backend
p = tf.constant([[[0.6, 0.1, 0.3], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]], [[0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.5, 0.2, 0.3]]])
cost = B.ctc_batch_cost(tf.constant([[0, 1], [1, 0]]), p, tf.constant([[3], [3]]), tf.constant([[2], [1]]))
greedy, score = B.ctc_decode(p, tf.constant([3, 3]))
result = run([cost, tf.gradients(cost, p)[0], greedy[0][:, :2], score])""", tolerance=1e-4),

    # -- losses and optimizers ---------------------------------------------------------------------------------
    Row("losses of Keras", """
K = tf.keras.losses
y, p = tf.constant([[1.0, 0.0, 0.0], [0.0, 0.3, 0.7]]), tf.constant([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
hard, soft, logits = tf.constant([[1, 0, 1], [0, 0, 1]]), tf.sigmoid(p * 3.0), tf.constant([[2.0, -1.0, 0.3], [0.0, 30.0, -90.0]])
labels = tf.constant([0, 2])
made = [K.mean_squared_error(y, p), K.mae(y, p), K.mape(y, p), K.msle(y, p), K.hinge(hard, logits), K.squared_hinge(2 * hard - 1, logits),
        K.categorical_hinge(y, p), K.logcosh(y, logits), K.kld(y, p), K.poisson(y, p), K.cosine_similarity(y, p), K.cosine(y, p, axis=0),
        K.categorical_crossentropy(y, p * 1.5), K.categorical_crossentropy(y, logits, from_logits=True, label_smoothing=0.1),
        K.categorical_crossentropy(y, tf.nn.softmax(logits)), K.sparse_categorical_crossentropy(labels, p),
        K.sparse_categorical_crossentropy(labels, logits, from_logits=True), K.sparse_categorical_crossentropy(labels, tf.nn.softmax(logits)),
        K.binary_crossentropy(hard, p), K.binary_crossentropy(hard, logits, from_logits=True, label_smoothing=0.2),
        K.binary_crossentropy(hard, soft), K.get('mse')(y, p)]
for loss in [K.MeanSquaredError(), K.MeanAbsoluteError(reduction='sum'), K.Huber(0.5), K.Hinge(reduction='none'), K.KLDivergence(),
             K.BinaryCrossentropy(), K.BinaryCrossentropy(from_logits=True, label_smoothing=0.1), K.CategoricalCrossentropy(),
             K.Hinge(), K.SquaredHinge(), K.CategoricalHinge(), K.LogCosh(), K.Poisson(), K.CosineSimilarity(),
             K.MeanAbsolutePercentageError(), K.MeanSquaredLogarithmicError()]:
    made += [loss(y, p), loss(y, p, sample_weight=[1.0, 3.0])]
made += [K.SparseCategoricalCrossentropy(from_logits=True)(labels, logits, [0.5, 1.0]), K.MeanSquaredError()(y, p, [[1.0], [2.0]])]
result = [run(made), run([tf.gradients(m, [p, logits], unconnected_gradients='zero') for m in made])]""", tolerance=1e-4),
    Row("optimizers of Keras", """
O = tf.keras.optimizers
made = [O.SGD(0.1), O.SGD(0.1, momentum=0.9), O.SGD(0.1, momentum=0.9, nesterov=True), O.RMSprop(0.1), O.RMSprop(0.1, momentum=0.5),
        O.RMSprop(0.1, centered=True), O.Adagrad(0.1), O.Adadelta(0.5), O.Adam(0.1), O.Adam(0.1, amsgrad=True), O.Adamax(0.1),
        O.SGD(0.5, clipnorm=0.1), O.SGD(0.5, clipvalue=0.1)]
w = [tf.Variable([1.0, -2.0, 3.0], use_resource=True) for _ in made]
steps = [o.get_updates(tf.reduce_sum(tf.square(v) * [1.0, 0.5, -0.2]), [v]) for o, v in zip(made, w)]
rows = [tf.Variable(tf.ones([3, 2]), use_resource=True) for _ in made]
steps += [o.get_updates(tf.reduce_sum(tf.square(tf.gather(v, [0, 2, 2]))), [v]) for o, v in zip(made, rows)]
result = []
for _ in range(3):
    run(steps)
    result.append(run([w, rows, [o.iterations for o in made]]))""", tolerance=1e-4),
    Row("settings of an optimizer", """
O, B = tf.keras.optimizers, tf.keras.backend
v = tf.Variable([1.0], use_resource=True)
o = O.SGD(lr=0.5)
step = o.get_updates(2.0 * v[0], [v])
with tf.Session() as s:
    B.set_session(s)
    s.run(tf.global_variables_initializer())
    s.run(step)
    result = [s.run(v), B.get_value(o.lr)]
    B.set_value(o.lr, 0.25)
    s.run(step)
    o.learning_rate = 1.0
    s.run(step)
    result += [s.run(v), s.run(o.iterations), [x.shape for x in o.get_weights()], len(tf.trainable_variables())]"""),
    Row("a learning rate that falls", """
v = tf.Variable([4.0, 1.0], use_resource=True)
o = tf.keras.optimizers.SGD(lr=0.5, momentum=0.5, decay=0.5)
step = o.apply_gradients([(tf.constant([1.0, 2.0]), v)])
result = []
for _ in range(3):
    run(step)
    result.append(run(v))"""),

    # -- NumPy's side --------------------------------------------------------------------------------------------
    Row("sequences of one length", """
P = tf.keras.preprocessing.sequence
rows = [[1, 2, 3], [4], [], [5, 6]]
result = [P.pad_sequences(rows), P.pad_sequences(rows, 2), P.pad_sequences(rows, 2, padding='post', truncating='post', value=-1),
          P.pad_sequences([np.ones((2, 3)), np.ones((1, 3))], 4, dtype='float32', padding='post'),
          P.pad_sequences([['a', 'b'], ['c']], dtype=object, value='-').tolist(), P.make_sampling_table(5, 0.01),
          P.skipgrams([1, 2, 0, 3], 10, 1, negative_samples=0, shuffle=False),
          P.skipgrams([1, 2, 3], 10, 2, negative_samples=0, shuffle=True, categorical=True, seed=4),
          raised(lambda: P.pad_sequences([1, 2]))[0], raised(lambda: P.pad_sequences(rows, padding='middle'))[0]]"""),
    Row("texts as numbers", """
T = tf.keras.preprocessing.text
texts = ['The cat sat on the mat.', 'The dog, the cat!', 'A dog']
result = [T.text_to_word_sequence(texts[1]), T.hashing_trick(texts[0], 9, 'md5')]
for options in [{}, dict(num_words=4), dict(num_words=4, oov_token='?'), dict(lower=False, filters='.'), dict(char_level=True)]:
    t = T.Tokenizer(**options)
    t.fit_on_texts(texts)
    numbers = t.texts_to_sequences(texts + ['the bird sat'])
    result += [t.word_index, t.document_count, dict(t.word_counts), dict(t.word_docs), dict(t.index_docs), numbers,
               t.sequences_to_texts(numbers)]
    result += [t.texts_to_matrix(texts, mode) for mode in ('binary', 'count', 'freq', 'tfidf')]
listed = T.Tokenizer(num_words=10)
listed.fit_on_sequences([[1, 2], [2]])
result += [listed.sequences_to_matrix([[2, 2, 1]], 'tfidf'), raised(lambda: T.Tokenizer().texts_to_matrix(texts))[0]]"""),
    Row("labels and vectors", """
U = tf.keras.utils
result = [U.to_categorical([0, 2, 1]), U.to_categorical([[1], [0]], 3, 'int32'), U.to_categorical([[0, 1]]),
          U.normalize(np.array([[3.0, 4.0], [0.0, 0.0]])), U.normalize(np.array([[1.0, -3.0]]), order=1)]"""),
]
