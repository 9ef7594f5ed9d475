"""What TensorFlow's own tests of its Python side ask: names, scopes, dependencies, sessions, branches, templates, layers."""
import numpy as np
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # Graphs and names.
    Row("unique names", """
g, out = graph, []
for n in ('foo', 'foo', 'foo_1', 'foo_1', 'foo_1_2', 'Foo'):
    out += [g.unique_name(n, mark_as_used=False), g.unique_name(n)]
with g.name_scope('bar'):
    out += [g.unique_name('foo'), g.unique_name('foo')]
    with g.name_scope(None):
        out.append(g.unique_name('foo'))
    for _ in range(2):
        with g.name_scope('baz'):
            out.append(g.unique_name('foo'))
result = out + [g.unique_name('bar'), g.unique_name('x_2'), g.unique_name('x'), g.unique_name('x'), g.unique_name('x')]"""),
    Row("a consumer for each input it is", """
a = tf.constant(1.0)
b = tf.add_n([a, tf.constant(2.0), a], name='b')
result = [op.name for op in a.consumers()]"""),
    Row("control inputs that are implied", """
a, b, c, d = [tf.constant(float(i), name='abcd'[i]) for i in range(4)]
with tf.control_dependencies([a]):
    p = c * d
    q = a * p
    with tf.control_dependencies([b]):
        r, s, t = c * d, a * p, tf.identity(b)
result = [sorted(o.name for o in x.op.control_inputs) for x in (p, q, r, s, t)]"""),
    Row("names of devices", """
out = []
def made():
    out.append(tf.constant(1.0).device)
made()
with tf.device('/job:worker/replica:2'):
    made()
    with tf.device('/cpu:1'):
        made()
        with tf.device('/device:GPU:*'):
            made()
    with tf.device(None):
        made()
        with tf.device(lambda op: '/job:' + op.type):
            made()
with tf.device(tf.DeviceSpec(job='ps', task=3, device_type='GPU', device_index=0)):
    made()
with tf.device(lambda op: '/job:over'):
    with tf.device('/job:ps'):
        made()
result = out"""),
    Row("specs of devices", """
a = tf.DeviceSpec(job='worker', task=0)
b = tf.DeviceSpec.from_string('/job:ps/replica:1/gpu:3')
result = [a.to_string(), b.to_string(), b.device_type, b.device_index, a == tf.DeviceSpec.from_string('/job:worker/task:0')]"""),
    Row("colocation groups", """
a = tf.constant(1.0, name='a')
with tf.colocate_with(a):
    b = tf.constant(2.0, name='b')
    with tf.colocate_with(b):
        c = tf.constant(3.0)
    with tf.colocate_with(None, ignore_existing=True):
        d = tf.constant(4.0, name='d')
result = [[g.decode() for g in t.op.colocation_groups()] for t in (a, b, c, d)] + run([b, c])"""),
    Row("slices become a tensor", """
s = tf.IndexedSlices(tf.constant([[2, 3], [5, 7]]), tf.constant([0, 2]), tf.constant([3, 2]))
result = run([tf.convert_to_tensor(s), (-s).values, tf.scalar_mul(-2, s).values])"""),
    Row("static sizes of a vector of sizes", """
p = tf.placeholder(tf.float32, [None, 3])
n = tf.shape(p)
vs = [n, tf.stack([n[0], 4]), tf.concat([n, [5]], 0), n[1:], tf.constant([-1, 2])]
result = [tf.zeros(v).shape.as_list() for v in vs[:-1]] + [tf.reshape(p, [-1, n[1]]).shape.as_list()]"""),
    Row("booleans are numbers", """
result = run([tf.constant(True, tf.int32), tf.constant([True, 1.5]), tf.constant(1.0) + True])"""),
    Row("objects of strings", """
x = np.empty([2], object)
x[:] = 'ab'
p = tf.placeholder(tf.string)
result = [run(tf.constant(x)), run(tf.identity(p), {p: x})]"""),
    Row("numbers of types", """
result = [int(tf.float32), tf.DType(3).name, tf.uint8.limits, tf.int8.limits, tf.float64.limits]"""),
    # Sessions.
    Row("sparse placeholder of a known shape", """
p = tf.sparse_placeholder(tf.float32, [7, 9], name='p')
value = run(p, {p: (np.array([[3, 2]]), np.array([1.5], 'f'))})
result = [value.indices, value.values, value.dense_shape, p.get_shape().as_list(), p.values.name]"""),
    Row("sparse placeholder whose shape is a tensor", """
p = tf.sparse_placeholder(tf.float32, tf.constant([7, 9], tf.int64))
value = run(p, {p: (np.array([[3, 2]]), np.array([1.5], 'f'))})
result = [value.indices, value.values, value.dense_shape, p.get_shape().as_list()]"""),
    Row("a partial run asks for what was announced", """
a = tf.placeholder(tf.float32, [])
b = a + 1.0
s = tf.Session()
h = s.partial_run_setup([b], [a])
result = [raised(lambda: s.partial_run(h, b * 2.0, {a: 1.0}))[:2], raised(lambda: s.partial_run_setup([], []))[:2]]""",
        expect=[["InvalidArgumentError", "OpError"]] * 2),
    Row("what a trace holds", """
m = tf.RunMetadata()
before = len(m.step_stats.dev_stats)
x = tf.placeholder(tf.float32)
full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
tf.Session().run(tf.exp(x) * 2.0, {x: np.ones(2000)}, options=full, run_metadata=m)
result = [before, len(m.step_stats.dev_stats) > 0, len(m.step_stats.dev_stats[0].node_stats) > 0]"""),
    Row("shapes in a graph's definition", """
tf.placeholder(tf.float32, [None, 3])
tf.placeholder(tf.float32)
nodes = graph.as_graph_def(add_shapes=True).node
shapes = [n.attr['_output_shapes'].list.shape[0] for n in nodes]
result = [[s.unknown_rank, [d.size for d in s.dim]] for s in shapes]"""),
    # Branches.
    Row("branches give slices, sparse tensors and arrays", """
p = tf.placeholder(tf.bool)
v, i = tf.constant([10.0]), tf.constant([0])
c = tf.cond(p, lambda: tf.IndexedSlices(v + 1.0, i), lambda: tf.IndexedSlices(v - 1.0, i))
s = tf.cond(p, lambda: tf.SparseTensor([[1]], [1.0], [3]), lambda: tf.SparseTensor([[0]], [2.0], [3]))
t = tf.TensorArray(tf.float32, 2)
a = tf.cond(p, lambda: t.unstack([1.0, 2.0]), lambda: t.unstack([3.0, 4.0])).stack()
result = [run([c.values, c.indices, s.values, s.indices, a], {p: on}) for on in (True, False)]"""),
    Row("branches that gather different rows", """
p = tf.placeholder(tf.bool)
t = tf.get_variable('t', initializer=np.ones([3, 2], 'f'))
y = tf.cond(p, lambda: tf.gather(t, [0, 0]), lambda: tf.gather(t, [2]) * 2.0)
g = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(y), t)[0])
result = [run(g, {p: on}) for on in (True, False)]"""),
    Row("an array of unlike elements", """
x = tf.constant([[1.0, 2.0]])
ta = tf.TensorArray(tf.float32, 3, infer_shape=False)
ta = ta.write(0, x).write(1, [[1.0]]).write(2, -3.0)
y = [ta.read(i) for i in range(3)]
result = [run(y), run(tf.gradients(y[0], x))]"""),
    Row("gradients beside their operations", """
w = tf.constant([[1.0]])
y = tf.matmul(w, w + 1.0, name='y')
g = tf.gradients(y, w, colocate_gradients_with_ops=True)
result = [[c.decode() for c in op.colocation_groups()] for op in graph.get_operations() if op.name.endswith('y_grad/MatMul')]"""),
    Row("one result in a tuple", """
p = tf.constant(True)
result = [run(tf.cond(p, lambda: (1,), lambda: 2)), type(tf.cond(p, lambda: [1], lambda: [2], strict=True)).__name__]"""),
    Row("a gradient that is an integer's", """
x = tf.constant(1.5)
result = [tf.gradients(tf.cast(x, tf.int32), x), tf.gradients([], x)]"""),
    Row("what waits for an initializer", """
v = tf.Variable([1.0, 2.0], use_resource=False)
with tf.control_dependencies([v.initializer]):
    w = tf.constant(3.0)
x = tf.Variable(0.0, use_resource=False)
with tf.control_dependencies([v.value()]):
    y = tf.get_variable('y', [], initializer=tf.ones_initializer())
s = tf.Session()
a = s.run(w)
b = s.run(v)
s.run(y.initializer)
result = [a, b, s.run(y), raised(lambda: s.run(x))[:1]]"""),
    Row("variables made in branches", """
v, made = tf.get_variable('v', [], initializer=tf.zeros_initializer()), {}
def branch(name):
    def f():
        made[name] = tf.get_variable(name, [1], initializer=tf.ones_initializer())
        return made[name] + v
    return f
y = tf.cond(v < 10, branch('a'), branch('b'))
s = tf.Session()
s.run([made['a'].initializer, made['b'].initializer])
early = raised(lambda: s.run(y))[:1]
s.run(v.initializer)
result = [early, s.run(y)]"""),
    Row("bodies read after what their block waits for", """
v = tf.Variable(1.0, use_resource=True)
count = tf.Variable(0.0, use_resource=True)
with tf.control_dependencies([count.assign_add(3.0)]):
    up = tf.cond(count >= 6.0, lambda: v.assign_sub(count), lambda: tf.constant(0.0))
    sum_ = tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + count), [0, 0.0])[1]
out = [run([up, sum_]) for _ in range(2)]
result = [out, run([v, count])]"""),
    Row("gradients through variables read late in bodies", """
w = tf.Variable([1.0, 2.0], use_resource=True)
p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
with tf.control_dependencies([w.assign_add([1.0, 1.0])]):
    y = tf.cond(p, lambda: tf.reduce_sum(w * w) * x, lambda: x * 0.0)
    z = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * tf.reduce_sum(w)), [0, x])[1]
g = tf.gradients(y + z, x)
result = run([y, z, g], {x: 2.0, p: True})"""),
    Row("loops in loops that grow", """
def twice(s):
    return tf.while_loop(lambda i, x: i < 4, lambda i, x: [i + 1, x * 2.0], [tf.constant(0), s])[1]
o = tf.constant(1.0)
a = tf.while_loop(lambda x: x < 128.0, lambda x: twice(twice(x)), [o])
b = tf.while_loop(lambda x: x < 128.0, lambda x: twice(x) * twice(x), [o])
x, y = tf.constant(3.0), tf.constant(2.0)
def grown(x, y):
    return x * (x + y), x + y
rx, ry = tf.while_loop(lambda x, y: x < 100.0, grown, [x, y])
result = run([tf.gradients(a, o), tf.gradients(b, o), tf.gradients([rx, ry], [x, y]), tf.gradients(rx, y)])"""),
    Row("loops of text, names and structures", """
n = tf.placeholder(tf.int32, [])
a = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, tf.string_join([s, 'x'])), [0, tf.constant('a')])[1]
b = tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, (t[0] + 1, {'a': t[1]['a'] * 2})), (0, (1, {'a': 3})))
result = [run(a, {n: 3}), run(b)]"""),
    Row("an array through two loops", """
acc = tf.TensorArray(tf.float32, size=20, clear_after_read=False, element_shape=[])
x, z = tf.constant(2.0), tf.constant(0.0)
def first(i, a):
    return i + 1, a.write(i, tf.cond(tf.equal(i, 0), lambda: x, lambda: a.read(i - 1) * 2.0))
i, a = tf.while_loop(lambda i, a: i < 5, first, [tf.constant(0), acc])
_, a = tf.while_loop(lambda i, a: i < 20, lambda i, a: (i + 1, a.write(i, z)), [i, a])
r = a.stack()
result = run([r, tf.gradients(r, x)])"""),
    # Variables.
    Row("variable creators", """
def doubled(make, **arguments):
    arguments['name'] = 'made_' + arguments['name']
    return make(**arguments)
with tf.variable_creator_scope(doubled):
    v, w = tf.Variable(1.0, name='v'), tf.get_variable('w', [1])
result = [v.name, w.name, tf.Variable(2.0, name='v').name]"""),
    Row("partitioned variables by slicing", """
v = tf.create_partitioned_variables([4, 2], [2, 1], tf.ones_initializer(), name='p')
result = [[x.name for x in v], run(v)]"""),
    Row("a template's names", """
def f(x):
    return x * tf.get_variable('v', [], initializer=tf.ones_initializer())
t = tf.make_template('t', f)
u = tf.make_template('t', f)
a, b, c = t(tf.constant(1.0)), t(tf.constant(2.0)), u(tf.constant(3.0))
result = [a.name, b.name, c.name, [v.name for v in t.trainable_variables], t.var_scope.name, u.var_scope.name]"""),
    Row("an initializer with partition_info", """
def start(shape, dtype, partition_info):
    return tf.fill(shape, 1.0 if partition_info is None else 2.0)
result = run(tf.get_variable('v', [2], initializer=start))"""),
    # Layers, training.
    Row("layers count from 1, scopes from 0", """
a, b = tf.layers.Dense(2), tf.layers.Dense(2)
a(tf.ones([1, 3]))
b(tf.ones([1, 3]))
result = [a.name, b.name, a.scope_name, b.scope_name]"""),
    Row("a layer that is not trainable updates nothing", """
tf.layers.batch_normalization(tf.ones([4, 3]), training=True, trainable=False)
result = [len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)), len(tf.trainable_variables())]"""),
    Row("losses that depend on no input", """
d = tf.layers.Dense(2, kernel_regularizer=tf.reduce_sum, activity_regularizer=tf.reduce_sum)
d(tf.ones([1, 3]))
result = [len(d.losses), len(d.get_losses_for(None))]"""),
    Row("names of a metric", """
result = [t.name for t in tf.metrics.mean(tf.constant([1.0])) + tf.metrics.accuracy([1.0], [1.0])]"""),
    Row("ids without rows", """
e = tf.constant(np.arange(8.0).reshape(4, 2))
sp = tf.SparseTensor([[0, 0], [2, 0]], tf.constant([1, 3], tf.int64), [3, 2])
w = tf.SparseTensor(sp.indices, tf.constant([2.0, 1.0], tf.float64), sp.dense_shape)
result = [run(tf.nn.embedding_lookup_sparse(e, sp, w, combiner=c)) for c in ('mean', 'sqrtn')]"""),
    Row("a root of what is left of the steps", """
s = tf.placeholder(tf.int32, [])
rate = tf.train.polynomial_decay(0.05, s, 10, 0.001, power=0.5)
result = [run(rate, {s: i}) for i in (0, 5, 10, 15)]"""),
    # Refusals at building.
    _refused("a device of no kind", "ValueError", "unknown attribute", """
with tf.device('/jbo:worker'):
    tf.constant(1.0)"""),
    _refused("a gradient of text", "TypeError", "", "tf.gradients(tf.constant('a'), tf.constant(1.0))"),
    _refused("an aggregation method", "ValueError", "aggregation_method",
             "x = tf.constant(1.0); tf.gradients(x * 2.0 + x, x, aggregation_method=77)"),
    _refused("a conversion that gives no tensor", "RuntimeError", "", """
class Odd: pass
tf.register_tensor_conversion_function(Odd, lambda value, dtype=None, name=None, as_ref=False: 3)
tf.convert_to_tensor(Odd())"""),
    _refused("a conversion of what is no type", "TypeError", "type",
             "tf.register_tensor_conversion_function(3, lambda *a, **k: None)"),
    _refused("a shape too large for int32", "ValueError", "large",
             "tf.convert_to_tensor(tf.TensorShape([2 ** 32]), dtype=tf.int32)"),
    _refused("a name scope of two graphs", "ValueError", "same graph", """
a = tf.constant(1.0)
with tf.Graph().as_default():
    b = tf.constant(2.0)
with tf.name_scope('x', values=[a, b]):
    pass"""),
    _refused("colocation with nothing", "ValueError", "ignore_existing", """
with tf.colocate_with(None):
    pass""", asked=False),
    _refused("a fill with a vector", "ValueError", "rank", "tf.fill([2], [1, 2])"),
    _refused("broadcast of static shapes", "ValueError", "incompatible shapes for broadcasting",
             "tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))"),
    _refused("no dtype", "TypeError", "", "tf.as_dtype(None)"),
    _refused("an unknown dtype", "TypeError", "", "tf.as_dtype('int')"),
    _refused("true_fn twice", "TypeError", "may not be set simultaneously", """
f = lambda: 1
tf.cond(tf.constant(True), f, f, fn1=f)"""),
    _refused("a vector as predicate", "ValueError", "rank", "tf.cond(tf.constant([True]), lambda: 1, lambda: 2)"),
    _refused("branches of other keys", "ValueError", "",
             "tf.cond(tf.constant(True), lambda: {'a': 1}, lambda: {'b': 1})"),
    _refused("a tensor as branch", "TypeError", "callable", "tf.cond(tf.constant(True), tf.constant(1), lambda: 2)"),
    _refused("cases that are no list", "TypeError", "list", "tf.case(3)"),
    _refused("a default that is no function", "TypeError", "callable",
             "tf.case([(tf.constant(True), lambda: 1)], default=3)"),
    _refused("branches by text", "TypeError", "int", "tf.switch_case(tf.constant(0), {'a': lambda: 1})"),
    _refused("turns in parallel", "TypeError", "parallel_iterations",
             "tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], parallel_iterations=0)"),
    _refused("several maxima of turns", "ValueError", "scalar",
             "tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=tf.constant([1, 2]))"),
    _refused("collections that are text", "ValueError", "list, tuple, or set", "tf.Variable(1.0, collections='abc')"),
    _refused("reuse that is text", "ValueError", "reuse", """
with tf.variable_scope('a', reuse='x'):
    pass"""),
    _refused("an initial value of another shape", "ValueError", "shape",
             "tf.get_variable('v', [2], initializer=lambda shape, dtype, partition_info: tf.zeros([3]))"),
    _refused("new variables in a template", "ValueError", "after the first time", """
t = tf.make_template('t', lambda: tf.Variable(1.0))
t()
t()"""),
    _refused("integers into a dense layer", "TypeError", "", "tf.layers.dense(tf.constant([[1]]), 2)"),
    _refused("pooling without strides", "ValueError", "strides", "tf.layers.MaxPooling2D(2, None)"),
    _refused("a session of a number", "TypeError", "target", "tf.Session(3)"),
    _refused("a session's config", "TypeError", "config", "tf.constant(1.0); tf.Session(config=3)"),
    _refused("feeds that are a list", "TypeError", "dict", "x = tf.constant(1.0); tf.Session().run(x, [1])"),
    _refused("a rank that is a float", "TypeError", "int32", "tf.assert_rank(tf.constant(1), 0.5)"),
    _refused("order of text", "TypeError", "numeric", "tf.is_non_decreasing(['a'])"),
    _refused("an import of text", "TypeError", "must be a graphdef proto", "tf.import_graph_def('')"),
    _refused("elements of an import", "TypeError", "list of strings", """
with tf.Graph().as_default() as g:
    tf.constant(1.0)
tf.import_graph_def(g.as_graph_def(), return_elements=[7])"""),
    # Refusals at running.
    _refused("shapes that do not broadcast at run time", "InvalidArgumentError", "incompatible shapes", """
p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
run(p + q, {p: np.ones(2), q: np.ones(3)})"""),
    _refused("products at run time", "InvalidArgumentError", "size-incompatible: in[0]: [2,3], in[1]: [2,3]", """
p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
run(tf.matmul(p, q), {p: np.ones([2, 3]), q: np.ones([2, 3])})"""),
    _refused("a reshape at run time", "InvalidArgumentError",
             "input to reshape is a tensor with 3 values, but the requested shape has 4", """
p = tf.placeholder(tf.float32)
run(tf.reshape(p, [4]), {p: np.ones(3)})"""),
    _refused("a negative size at run time", "InvalidArgumentError", "", """
p = tf.placeholder(tf.int32)
run(tf.fill(p, 1.0), {p: [-1]})"""),
    _refused("an unfed placeholder says what it is", "InvalidArgumentError",
             "placeholder tensor 'p' with dtype float and shape [10,?]", "run(tf.placeholder(tf.float32, [10, None], 'p'))"),
    _refused("no case holds", "InvalidArgumentError", "none of the conditions evaluated as true", """
x = tf.placeholder(tf.int32, [])
run(tf.case([(tf.equal(x, 1), lambda: 1)]), {x: 7})""", asked=False),
    _refused("an object from py_func", "UnimplementedError", "unsupported object type",
             "run(tf.py_func(lambda: {'a': 1}, [], tf.int64))", asked=False),
    _refused("a structured array from py_func", "UnimplementedError", "unsupported numpy type",
             "run(tf.py_func(lambda: np.zeros(1, [('a', 'f')]), [], tf.float32))", asked=False),
    _refused("arrays for one output", "InvalidArgumentError", "expects to see 1 values",
             "run(tf.py_func(lambda x: (x, x), [tf.ones([2])], tf.float32))"),
    _refused("an empty graph", "RuntimeError", "graph is empty", "tf.Session(graph=tf.Graph()).run('x')"),
    Row("words through a table into a model", """
words = tf.lookup.KeyValueTensorInitializer(['a', 'b', 'c'], [0, 1, 2], tf.string, tf.int64)
table = tf.lookup.StaticVocabularyTable(words, 2)
texts = tf.data.Dataset.from_tensor_slices(['a c', 'b q', 'c a']).map(lambda t: table.lookup(tf.string_split([t]).values))
ids = tf.data.make_initializable_iterator(texts)
batch = ids.get_next()
e = tf.get_variable('e', initializer=np.arange(10.0).reshape(5, 2), dtype=tf.float64, use_resource=True)
loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(e, batch)))
step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
sparse = table.lookup(tf.SparseTensor([[0, 1], [2, 0]], ['c', 'a'], [3, 2]))
result = [table.name, table.key_dtype.name, [t.op.type for t in [batch, loss]],
          sorted(o.op.type if hasattr(o, 'op') else o.type for o in tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS))]
with tf.Session() as s:
    s.run([tf.global_variables_initializer(), tf.tables_initializer()])
    s.run(ids.initializer)
    result += [[s.run([batch, loss, step])[:2] for _ in range(3)], s.run(e), s.run([sparse.indices, sparse.values, table.size()])]"""),
    Row("counts of parameters and of floating operations", """
O = tf.profiler.ProfileOptionBuilder
x = tf.placeholder(tf.float32, [8, 6, 6, 3], name='x')
image = tf.ones([8, 6, 6, 4])
with tf.variable_scope('net'):
    w, b = tf.get_variable('w', [3, 3, 3, 4]), tf.get_variable('b', [4])
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, 'SAME'), b))
    y = tf.reshape(tf.nn.max_pool(y, 2, 2, 'SAME'), [8, 36])
    z = tf.nn.softmax(tf.matmul(y, tf.get_variable('v', [36, 5])) * 2.0)
tf.get_variable('still', [7], trainable=False)
loss = tf.reduce_mean(tf.square(z)) + tf.nn.l2_loss(y) + tf.add_n([tf.reduce_sum(y), tf.reduce_sum(z), tf.reduce_max(z)])
tf.nn.depthwise_conv2d(image, tf.ones([3, 3, 4, 2]), [1, 2, 2, 1], 'VALID')
tf.nn.avg_pool(image, 3, 2, 'VALID'), tf.argmax(z, 1), tf.rsqrt(y), tf.squared_difference(y, 1.0), tf.less(y, 0.0)
tf.matmul(tf.ones([2, 4, 3]), tf.ones([2, 3, 5])), tf.matmul(tf.ones([3, 4]), tf.ones([3, 5]), transpose_a=True), tf.log(y), -y, tf.maximum(y, 0.1) / 3.0
tf.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 3]), [1] * 5, 'VALID')
quiet = lambda o: O(o).with_empty_output()
flops = tf.profiler.profile(tf.get_default_graph(), options=quiet(O.float_operation()).build())
params = tf.profiler.profile(options=quiet(O.trainable_variables_parameter()).build())
large = tf.profiler.profile(options=quiet(O.float_operation()).with_min_float_operations(1000).order_by('name').build())
hidden = tf.profiler.profile(options=quiet(O.float_operation()).with_node_names(hide_name_regexes=['net/.*']).build())
top = tf.profiler.profile(options=quiet(O.trainable_variables_parameter()).account_displayed_op_only(False).with_max_depth(1).build())
def tree(node):
    return [node.name, node.total_float_ops, node.total_parameters, [tree(c) for c in node.children]]
result = [tree(flops), tree(params), tree(large), tree(hidden), [top.total_parameters, [c.name for c in top.children]]]"""),
]
