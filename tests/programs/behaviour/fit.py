"""tf.keras models that are compiled and fitted: losses and metrics of each epoch, what callbacks do, and what is refused."""
from corpus import Row

# Layers whose numbers follow from their shapes alone; twenty samples of three features, in two classes.
START = """
L, K = tf.keras.layers, tf.keras
B = K.backend
def fill(shape, dtype=None, partition_info=None):
    return tf.constant(np.sin(np.arange(np.prod(shape)) + len(shape)).reshape(shape) * 0.7, tf.float32)
same = dict(kernel_initializer=fill)
draws = np.random.RandomState(0)
x = draws.randn(20, 3).astype('float32')
classes = draws.randint(2, size=20)
y = np.eye(2)[classes]
def shown(history):
    return {name: np.array(values, 'float32') for name, values in history.history.items()}
def floats(values):
    return np.array(values, 'float32')
def small(*more, **of_last):
    return K.Sequential([L.Dense(4, activation='relu', input_shape=(3,), **same), *more,
                         L.Dense(2, activation='softmax', **{**same, **of_last})])
still = dict(shuffle=False, verbose=0)
"""

ROWS = [
    Row("fit, evaluate and predict", START + """
model = small(kernel_regularizer=K.regularizers.l2(0.1))
model.compile('adam', 'categorical_crossentropy', metrics=['accuracy', 'mse'])
first = shown(model.fit(x, y, epochs=3, batch_size=8, validation_split=0.25, **still))
result = [first, model.metrics_names, floats(model.evaluate(x, y, verbose=0)), model.predict(x, batch_size=7), len(model.weights),
          floats(model.train_on_batch(x, y)), floats(model.test_on_batch(x[:3], y[:3])), model.predict_on_batch(x[:2]),
          shown(model.fit(x, y, epochs=4, initial_epoch=2, validation_data=(x[:5], y[:5]), **still)), model.history.epoch]""",
        tolerance=1e-4),
    Row("shuffled by NumPy's stream", START + """
model = small()
model.compile('sgd', 'mse')
np.random.seed(3)
result = [shown(model.fit(x, y, epochs=2, batch_size=6, verbose=0)), shown(model.fit(x, y, batch_size=8, shuffle='batch', verbose=0))]""",
        tolerance=1e-4),
    Row("weights of samples and of classes", START + """
result = []
for how in [dict(class_weight={0: 1.0, 1: 3.0}), dict(sample_weight=np.arange(20.0)),
            dict(class_weight={0: 0.5, 1: 2.0}, sample_weight=np.linspace(0, 1, 20), validation_split=0.4),
            dict(validation_data=(x, y, np.arange(20.0)), sample_weight=np.ones(20))]:
    model = small()
    model.compile('sgd', 'categorical_crossentropy', metrics=['acc'], weighted_metrics=['acc', 'mae'])
    result.append(shown(model.fit(x, y, epochs=2, batch_size=8, **how, **still)))
result += [floats(model.train_on_batch(x, y, sample_weight=np.arange(20.0))),
           floats(model.test_on_batch(x, y, sample_weight=np.arange(20.0))),
           floats(model.evaluate(x, y, sample_weight=np.arange(20.0), verbose=0)),
           floats(model.train_on_batch(x, y, class_weight={0: 2.0, 1: 1.0}))]""", tolerance=1e-4),
    Row("several inputs and outputs", START + """
a, b = K.Input([3], name='a'), K.Input([2], name='b')
h = L.Dense(4, activation='tanh', **same)(L.Concatenate()([a, b]))
outputs = [L.Dense(1, activation='sigmoid', name='left', **same)(h), L.Dense(3, activation='softmax', name='right', **same)(h)]
given = {'a': x, 'b': draws.randn(20, 2)}
targets = {'left': classes, 'right': draws.randint(3, size=20)}
result = []
for how in [dict(loss={'left': 'binary_crossentropy', 'right': 'sparse_categorical_crossentropy'}, loss_weights={'left': 1., 'right': 0.5},
                 metrics={'left': ['acc'], 'right': ['acc', 'sparse_categorical_accuracy']}),
            dict(loss=['mse', 'sparse_categorical_crossentropy'], loss_weights=[0.3, 2.0], metrics=[['mae'], []]),
            dict(loss={'left': 'binary_crossentropy', 'right': 'sparse_categorical_crossentropy'}, metrics=['accuracy'],
                 weighted_metrics={'right': 'acc'})]:
    model = K.Model([a, b], outputs)
    model.compile(K.optimizers.SGD(0.1), **how)
    h = model.fit(given, targets, epochs=2, **still)
    result += [shown(h), model.metrics_names, floats(model.evaluate(list(given.values()), list(targets.values()), verbose=0))]
result += [model.input_names, model.output_names, model.predict(given)]""", tolerance=1e-4),
    Row("the order of layers", START + """
a, b, unused = K.Input([4], name='a'), K.Input([4], name='b'), K.Input([1], name='unused')
inner = K.Sequential([L.Dense(4, name='d'), L.Dense(4)], name='inner')
late = L.Dense(2, name='late')(b)
joined = L.Add(name='add')([inner(a), L.Activation('tanh', name='tanh')(inner(b))])
far = L.Dense(1, name='far')(L.Dense(3, name='middle')(joined))
model = K.Model([b, a, unused], [late, far, L.Dense(1, name='other')(joined)])
result = [[layer.name for layer in model.layers], [w.shape for w in model.get_weights()], model.output_names, model.input_names]"""),
    Row("optimizers by name and of tf.train", START + """
result = []
for optimizer in ['rmsprop', 'adagrad', 'adadelta', 'adamax', 'sgd', K.optimizers.Adam(0.01, clipnorm=0.1),
                  K.optimizers.SGD(0.1, momentum=0.9, nesterov=True, decay=0.1), tf.train.AdamOptimizer(0.01),
                  tf.train.MomentumOptimizer(0.1, 0.9)]:
    model = small()
    model.compile(optimizer, 'categorical_crossentropy')
    result.append(shown(model.fit(x, y, epochs=2, **still)))""", tolerance=1e-4),
    Row("losses by name and of the program's own", START + """
result = []
def own(y_true, y_pred):
    return B.mean(B.square(y_true - y_pred) * [1.0, 2.0], axis=-1)
class Own(K.losses.Loss):
    def call(self, y_true, y_pred):
        return B.sum(B.abs(y_true - y_pred), axis=-1)
for loss in ['mse', 'mae', 'msle', 'hinge', 'squared_hinge', 'categorical_hinge', 'logcosh', 'kld', 'poisson',
             'cosine_similarity', own, Own(), K.losses.Huber(0.3), K.losses.CategoricalCrossentropy(label_smoothing=0.1),
             lambda t, p: B.mean(t * p), K.losses.MeanSquaredError(reduction='sum')]:
    model = small()
    model.compile('sgd', loss, metrics=['acc', own])
    result.append(shown(model.fit(x, y, epochs=2, **still)))
for loss in ['sparse_categorical_crossentropy', K.losses.SparseCategoricalCrossentropy()]:
    model = small()
    model.compile('sgd', loss, metrics=['acc', 'ce'])
    result.append(shown(model.fit(x, classes, epochs=2, **still)))
model = K.Sequential([L.Dense(1, input_dim=3, activation='sigmoid', **same)])
model.compile('sgd', 'binary_crossentropy', metrics=['accuracy', 'crossentropy'])
result.append(shown(model.fit(x, classes, epochs=2, **still)))""", tolerance=1e-4),
    Row("metrics", START + """
M = K.metrics
made = [M.AUC(name='a'), M.AUC(curve='PR', name='b', num_thresholds=20), M.AUC(summation_method='minoring', name='c'), M.Precision(name='d'),
        M.Recall(name='e'), M.Recall(class_id=1, name='f'), M.Precision(top_k=1, name='g'), M.TruePositives(name='h'),
        M.FalseNegatives(0.4, name='i'), M.CategoricalAccuracy(), M.TopKCategoricalAccuracy(1), M.BinaryAccuracy(threshold=0.6),
        M.RootMeanSquaredError(), M.MeanSquaredError(), M.CosineSimilarity(axis=1), M.Hinge(), M.LogCoshError(), M.KLDivergence(), M.Poisson(),
        M.CategoricalCrossentropy(), M.MeanAbsolutePercentageError(), M.SquaredHinge(), M.CategoricalHinge(),
        M.MeanSquaredLogarithmicError(), M.MeanAbsoluteError()]
class Spread(M.Metric):
    def __init__(self, name='spread', **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name='total', initializer='zeros')
        self.count = self.add_weight(name='count', initializer='zeros')
    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(tf.reduce_sum(tf.abs(y_pred[:, 0] - y_pred[:, 1])))
        self.count.assign_add(1.0)
    def result(self):
        return self.total / self.count
model = small()
model.compile('sgd', 'categorical_crossentropy', metrics=made + [Spread()])
result = [shown(model.fit(x, y, epochs=2, validation_data=(x[:9], y[:9]), **still)), model.metrics_names,
          floats(model.test_on_batch(x[:5], y[:5])), floats(model.test_on_batch(x[5:], y[5:], reset_metrics=False)),
          floats(model.test_on_batch(x[:5], y[:5]))]""", tolerance=1e-4),
    Row("metrics by themselves", """
M = tf.keras.metrics
with tf.Session() as session:
    tf.keras.backend.set_session(session)
    values = tf.placeholder(tf.float32, [3])
    mean, total, iou, tensor = M.Mean(), M.Sum(), M.MeanIoU(3), M.MeanTensor()
    made = [mean(values), total(values, sample_weight=[0.5, 1.0, 2.0]), tensor(values),
            iou(tf.constant([0, 1, 1]), tf.cast(values, tf.int32)), M.MeanRelativeError([1.0, 2.0, 4.0])(values, [1.0, 1.0, 3.0]),
            M.Accuracy()([1.0, 2.0, 2.0], values, sample_weight=[1.0, 1.0, 3.0])]
    tf.keras.backend.get_session()
    result = [session.run(made, {values: [0.0, 1.0, 2.0]}), session.run(made, {values: [1.0, 1.0, 2.0]})]
    mean.reset_states()
    result += [session.run(mean.result()), session.run(total.result()), mean.name, iou.name, len(tf.global_variables())]
    one, two = tf.constant([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]]), tf.constant([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    result += session.run([M.categorical_accuracy(two, one), M.binary_accuracy(two, one, 0.4),
                           M.sparse_categorical_accuracy(tf.constant([1, 1]), one), M.sparse_categorical_accuracy(tf.constant([[1], [1]]), one),
                           M.top_k_categorical_accuracy(two, one, 2), M.sparse_top_k_categorical_accuracy(tf.constant([1, 1]), one, 1)])""",
        tolerance=1e-4),
    Row("layers that differ in training", START + """
result = []
drop = dict(epochs=2, **still)
model = K.Sequential([L.Dense(4, input_shape=(3,), **same), L.BatchNormalization(momentum=0.7), L.Activation('relu'), L.Dropout(0.0), L.Dense(2, **same)])
model.compile('sgd', 'mse')
result += [shown(model.fit(x, y, validation_data=(x, y), **drop)), model.get_weights()[2:6], model.predict(x)[:3]]
model.layers[0].trainable = False
model.layers[1].trainable = False
model.compile('sgd', 'mse')
before = model.get_weights()
h = shown(model.fit(x, y, **drop))
result += [h, [bool((old == new).all()) for old, new in zip(before, model.get_weights())], len(model.trainable_weights), len(model.updates)]
noise = K.Sequential([L.Dropout(0.5, input_shape=(3,)), L.Dense(2, **same)])
noise.compile('sgd', 'mse')
result.append(bool((noise.predict(x) == noise.predict(x)).all()))""", tolerance=1e-4),
    Row("losses of layers", START + """
class Own(L.Layer):
    def call(self, inputs):
        self.add_loss(0.1 * tf.reduce_mean(tf.square(inputs)))
        self.add_metric(tf.reduce_mean(inputs), aggregation='mean', name='seen')
        return inputs * 2.0
a = K.Input([3])
h = L.Dense(4, activity_regularizer=K.regularizers.l1(0.01), kernel_regularizer='l2', **same)(a)
out = L.Dense(2, bias_regularizer=K.regularizers.l1(0.5), bias_initializer='ones', **same)(Own()(h))
model = K.Model(a, out)
model.add_loss(tf.reduce_mean(tf.abs(out)))
model.add_metric(tf.reduce_max(h), name='top', aggregation='mean')
model.compile('sgd', 'mse', metrics=['mae'])
result = [shown(model.fit(x, y, epochs=2, **still)), model.metrics_names, len(model.losses), floats(model.evaluate(x, y, verbose=0))]
codes = K.Model(a, out)
codes.add_loss(tf.reduce_mean(tf.square(out)))
codes.compile('adam')
result += [shown(codes.fit(x, epochs=2, **still)), floats(codes.train_on_batch(x))]""", tolerance=1e-4),
    Row("a model of one's own class", START + """
class Mine(K.Model):
    def __init__(self):
        super().__init__()
        self.first, self.last = L.Dense(4, activation='relu', **same), [L.Dense(2, activation='softmax', **same)]
        self.norm = L.BatchNormalization()
    def call(self, inputs, training=None):
        return self.last[0](self.norm(self.first(inputs), training=training))
model = Mine()
model.compile('sgd', 'categorical_crossentropy', metrics=['acc'])
result = [shown(model.fit(x, y, epochs=2, **still)), floats(model.evaluate(x, y, verbose=0)), model.predict(x)[:2],
          len(model.weights), model.metrics_names]
class Two(K.Model):
    def __init__(self):
        super().__init__()
        self.a, self.b = L.Dense(1, **same), L.Dense(2, **same)
    def call(self, inputs):
        return [self.a(inputs[0]), self.b(inputs[1])]
model = Two()
model.compile('sgd', ['mse', 'mae'])
result += [shown(model.fit([x, x[:, :2]], [classes, y], epochs=2, **still)), [p.shape for p in model.predict([x, x[:, :2]])]]
late = K.Sequential([L.Dense(3, **same), L.Dense(2, **same)])
late.compile('sgd', 'mse')
result += [shown(late.fit(x, y, epochs=2, **still)), late.output_names]""", tolerance=1e-4),
    Row("masks and time", START + """
steps = np.array([[1, 2, 0, 0], [2, 1, 1, 0], [1, 1, 1, 2], [2, 0, 0, 0]])
wanted = draws.randn(4, 4, 2)
result = []
for mode in (None, 'temporal'):
    model = K.Sequential([L.Embedding(3, 2, embeddings_initializer=fill, mask_zero=True, input_length=4),
                          L.SimpleRNN(3, return_sequences=True, recurrent_initializer=fill, **same), L.TimeDistributed(L.Dense(2, **same))])
    model.compile('sgd', K.losses.MeanSquaredError(reduction='sum'), metrics=['mae'], sample_weight_mode=mode, weighted_metrics=['mse'])
    result += [shown(model.fit(steps, wanted, batch_size=2, **still)), model.predict(steps).shape]
    weights = np.arange(16.0).reshape(4, 4) if mode else np.arange(4.0)
    result.append(floats(model.train_on_batch(steps, wanted, sample_weight=weights)))""", tolerance=1e-4),
    Row("stateful layers", START + """
model = K.Sequential([L.SimpleRNN(2, stateful=True, batch_input_shape=(2, 3, 1), recurrent_initializer=fill, **same), L.Dense(1, **same)])
model.compile('sgd', 'mse')
steps, wanted = draws.randn(4, 3, 1), draws.randn(4, 1)
result = [shown(model.fit(steps, wanted, batch_size=2, **still)), model.predict(steps, batch_size=2), model.predict(steps, batch_size=2)]
model.reset_states()
result += [model.predict(steps, batch_size=2), raised(lambda: model.fit(steps[:3], wanted[:3], batch_size=2))[0]]""", tolerance=1e-4),
    Row("generators, Sequences and datasets", START + """
class Batches(K.utils.Sequence):
    ended = 0
    def __len__(self):
        return 5
    def __getitem__(self, i):
        return x[4 * i:4 * i + 4], y[4 * i:4 * i + 4]
    def on_epoch_end(self):
        self.ended += 1
def generated(weights=False):
    while True:
        for i in range(4):
            rows = slice(5 * i, 5 * i + 5)
            yield (x[rows], y[rows], np.arange(5.0)) if weights else (x[rows], y[rows])
dataset = tf.data.Dataset.from_tensor_slices((x, y.astype('float32'))).batch(8)
def fresh():
    model = small()
    model.compile('sgd', 'categorical_crossentropy', metrics=['acc'])
    return model
result = [shown(fresh().fit_generator(generated(), 4, epochs=2, verbose=0)),
          shown(fresh().fit_generator(generated(True), steps_per_epoch=3, epochs=2, verbose=0)),
          shown(fresh().fit_generator(Batches(), epochs=2, verbose=0, shuffle=False, validation_data=Batches(), class_weight={0: 1.0, 1: 2.0})),
          shown(fresh().fit_generator(generated(), 2, validation_data=(x, y), verbose=0)),
          shown(fresh().fit(dataset.repeat(), steps_per_epoch=3, epochs=2, verbose=0, validation_data=dataset, validation_steps=3)),
          shown(fresh().fit(dataset, epochs=2, verbose=0))]
model = fresh()
result += [floats(model.evaluate_generator(Batches())), floats(model.evaluate(dataset, steps=3, verbose=0)),
           model.predict_generator(Batches()), model.predict(dataset, steps=2), model.predict(x[:4])]
late = K.Sequential([L.Dense(2, activation='softmax', **same)])
late.compile('sgd', 'categorical_crossentropy', metrics=['acc'])
result.append(shown(late.fit_generator(Batches(), epochs=2, shuffle=False, verbose=0)))""", tolerance=1e-4),
    Row("tensors for data", START + """
a = K.Input(tensor=tf.constant(x))
out = L.Dense(2, **same)(a)
model = K.Model(a, out)
model.compile('sgd', 'mse', target_tensors=[tf.constant(y, tf.float32)])
result = [shown(model.fit(epochs=2, steps_per_epoch=3, verbose=0))]
fed = small()
fed.compile('sgd', 'mse')
result += [shown(fed.fit(tf.constant(x), tf.constant(y, tf.float32), epochs=2, steps_per_epoch=2, verbose=0)),
           floats(fed.evaluate(tf.constant(x), tf.constant(y, tf.float32), steps=1, verbose=0)), fed.predict(tf.constant(x), steps=1).shape]""",
        tolerance=1e-4),
    Row("two players", START + """
real = draws.randn(12, 2)
critic = K.Sequential([L.Dense(3, activation='tanh', input_shape=(2,), **same), L.Dense(1, activation='sigmoid', **same)])
critic.compile(K.optimizers.SGD(0.1), 'binary_crossentropy', metrics=['acc'])
maker = K.Sequential([L.Dense(2, input_shape=(3,), **same)])
critic.trainable = False
both = K.Sequential([maker, critic])
both.compile(K.optimizers.SGD(0.1), 'binary_crossentropy')
result = []
for _ in range(3):
    made = maker.predict(x[:12])
    result += [floats(critic.train_on_batch(np.concatenate([real, made]), np.repeat([1, 0], 12))), floats(both.train_on_batch(x[:12], np.ones(12)))]
result += [len(critic.trainable_weights), len(both.trainable_weights), critic.get_weights(), maker.get_weights()]""", tolerance=1e-4),
    Row("callbacks", START + """
calls = []
class Noting(K.callbacks.Callback):
    pass
for name in ['train_begin', 'train_end', 'epoch_begin', 'epoch_end', 'batch_begin', 'batch_end', 'test_begin', 'test_end', 'test_batch_begin',
             'test_batch_end', 'predict_begin', 'predict_end', 'predict_batch_begin', 'predict_batch_end']:
    def call(self, *args, name=name, logs=None):
        given = [a for a in args if not isinstance(a, dict)]
        found = logs if logs is not None else next((a for a in args if isinstance(a, dict)), {})
        calls.append([name, given, sorted(set(found) - {'outputs', 'batch', 'size'}) if 'end' in name and 'train' not in name else []])
    setattr(Noting, 'on_' + name, call)
model = small()
model.compile(K.optimizers.SGD(0.5), 'categorical_crossentropy', metrics=['acc'])
model.fit(x, y, batch_size=10, epochs=2, validation_data=(x[:4], y[:4]), callbacks=[Noting()], **still)
model.evaluate(x, y, verbose=0, callbacks=[Noting()])
model.predict(x, callbacks=[Noting()])
result = [calls]
C = K.callbacks
def run_with(epochs, *callbacks, **how):
    m = small()
    m.compile(K.optimizers.SGD(0.5), 'categorical_crossentropy', metrics=['acc'])
    h = m.fit(x, y, batch_size=10, epochs=epochs, validation_split=0.5, callbacks=list(callbacks), **still)
    return [shown(h), floats(B.get_value(m.optimizer.lr)), m.get_weights()[0]]
stop = C.EarlyStopping('val_loss', patience=1, min_delta=0.05)
result += [run_with(6, stop), stop.stopped_epoch, run_with(3, C.EarlyStopping('loss', mode='max', restore_best_weights=True)),
           run_with(4, C.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1))),
           run_with(3, C.LearningRateScheduler(lambda epoch, rate: rate * 0.5)),
           run_with(6, C.ReduceLROnPlateau('loss', factor=0.5, patience=1, min_delta=0.1, cooldown=1, min_lr=0.05)),
           run_with(4, C.ReduceLROnPlateau('val_acc', factor=0.5, patience=2)),
           run_with(3, C.LambdaCallback(on_epoch_end=lambda epoch, logs: calls.append(epoch)))]
bad = small()
bad.compile(K.optimizers.SGD(1e30), 'mse')
result.append(len(bad.fit(x * 1e20, y, batch_size=5, epochs=3, callbacks=[C.TerminateOnNaN()], **still).epoch))
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'log.csv')
    run_with(2, C.CSVLogger(path))
    run_with(1, C.CSVLogger(path, append=True))
    with open(path) as file:
        lines = file.read().split()
    result += [lines[0], [line.split(',')[0] for line in lines]]
    m = small()
    m.compile('sgd', 'mse')
    m.fit(x, y, epochs=3, callbacks=[C.ModelCheckpoint(os.path.join(folder, 'w{epoch:02d}'), save_weights_only=True)], **still)
    result.append(sorted(name for name in os.listdir(folder) if name.endswith('.index')))
    kept = m.get_weights()
    m.fit(x, y, **still)
    m.load_weights(os.path.join(folder, 'w03'))
    result.append([bool((a == b).all()) for a, b in zip(kept, m.get_weights())])""", tolerance=1e-4),
    Row("gradients of one's own within a model", START + """
@tf.custom_gradient
def sign(t):
    return tf.sign(t), lambda dy: dy * tf.cast(tf.abs(t) <= 1.0, tf.float32)
@tf.custom_gradient
def reverse(t):
    return tf.identity(t), lambda dy: -0.5 * dy
class Binary(L.Layer):
    def build(self, shape):
        self.w = self.add_weight(name='w', shape=(int(shape[-1]), 4), initializer=fill, trainable=True)
        self.built = True
    def call(self, inputs):
        return tf.matmul(inputs, sign(self.w))
a = K.Input([3])
h = Binary()(a)
label = L.Dense(2, activation='softmax', name='label', **same)(L.Activation('tanh')(h))
domain = L.Dense(1, activation='sigmoid', name='domain', **same)(L.Lambda(reverse)(h))
model = K.Model(a, [label, domain])
model.compile('sgd', ['categorical_crossentropy', 'binary_crossentropy'])
result = [shown(model.fit(x, [y, classes], epochs=2, **still))]
f = B.function([model.input], B.gradients(B.mean(model.outputs[1]), [model.input]) + [h])
result.append(f([x[:3]]))""", tolerance=1e-4),
    Row("a penalty on gradients", START + """
class Between(L.Layer):
    def call(self, inputs):
        return 0.3 * inputs[0] + 0.7 * inputs[1]
critic = K.Sequential([L.Dense(6, input_dim=4, **same), L.LeakyReLU(0.2), L.Dense(1, **same)])
maker = K.Sequential([L.Dense(4, input_shape=(3,), **same)])
maker.trainable = False
real, z = K.Input([4]), K.Input([3])
made = maker(z)
middle = Between()([real, made])
def penalty(y_true, y_pred):
    (slope,) = B.gradients(y_pred, middle)
    return B.mean(B.square(1.0 - B.sqrt(B.sum(B.square(slope), axis=1))))
def distance(y_true, y_pred):
    return B.mean(y_true * y_pred)
model = K.Model([real, z], [critic(real), critic(made), critic(middle)])
model.compile(K.optimizers.RMSprop(0.005), [distance, distance, penalty], loss_weights=[1, 1, 10])
ones = np.ones((20, 1))
result = [floats(model.train_on_batch([draws.randn(20, 4), x], [-ones, ones, 0 * ones])) for _ in range(2)] + critic.get_weights()""",
        tolerance=1e-4),
    Row("refused data and arguments", START + """
def kinds(*calls):
    return [(raised(call) or ['nothing'])[0] for call in calls]
model = small()
result = kinds(lambda: model.fit(x, y), lambda: model.evaluate(x, y), lambda: model.train_on_batch(x, y))
model.compile('sgd', 'categorical_crossentropy')
result += kinds(lambda: model.fit(x[:, :2], y), lambda: model.fit(x, y[:10]), lambda: model.fit(x, classes),
                lambda: model.fit({'none': x}, y), lambda: model.fit(x[:, None], y), lambda: model.fit(x, y, nothing=1),
                lambda: model.fit(x, y, class_weight={0: 1.0}), lambda: model.fit(x, y, sample_weight=np.ones((20, 2))),
                lambda: model.fit(x, y, validation_data=3), lambda: model.compile('none', 'mse'), lambda: model.compile('sgd', 'none'),
                lambda: model.compile('sgd', 'mse', metrics=['none']), lambda: model.compile('sgd', ['mse', 'mse']),
                lambda: model.compile('sgd'), lambda: model.compile('sgd', {'none': 'mse'}))""", tolerance=1e-4),
]
