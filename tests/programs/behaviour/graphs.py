"""What TensorFlow's own tests ask of graphs: changed edges, attributes, terms of gradients, elements of arrays and loops."""
import numpy as np
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # Edges of what is built.
    Row("another input", """
x, y = tf.constant(1), tf.constant(2)
z = x + y
z.op._update_input(0, y)
out = [len(x.consumers()), [op.name for op in y.consumers()]]
z.op._update_input(1, x)
result = out + [run(z - x), list(z.op.inputs) == [y, x]]"""),
    Row("another input, made later", """
x = tf.constant(3.0)
y = tf.square(x, name='y')
z = tf.exp(y * 0.0) + y
y.op._update_input(0, tf.identity(x * 2.0))
result = run([y, z, tf.gradients(z, x)])"""),
    Row("more to wait for", """
v = tf.Variable(1.0)
x = tf.constant(2.0)
y = tf.identity(x)
up = v.assign_add(1.0)
y.op._add_control_input(up.op)
z = tf.identity(x)
z.op._add_control_inputs([up.op, x.op])
z.op._remove_all_control_inputs()
run(y)
run(z)
result = [float(run(v)), z.op.control_inputs, len(y.op.control_inputs)]"""),
    Row("a run sees edges that were changed since the last", """
x, y = tf.constant(1.0), tf.constant(2.0)
z = tf.square(x)
f = tf.Session().make_callable(z)
out = [run(z), f()]
z.op._update_input(0, y)
result = out + [run(z), f()]""", expect=[np.float32(1), np.float32(1), np.float32(4), np.float32(4)]),
    Row("lists of an operation", """
a = tf.constant(1.0)
with tf.control_dependencies([a]):
    b = tf.constant(2.0)
s = tf.split(tf.constant([1.0, 2.0]), 2)
result = [isinstance(b.op.control_inputs, list), isinstance(b.op.outputs, list), s[0].op.outputs == s,
          isinstance(s[0].op.values(), tuple)]"""),
    _refused("an input that is not there", "OutOfRangeError", "is greater than the number of total inputs",
             "x = tf.constant(1.0); x.op._update_input(1, x)"),
    _refused("an input of another dtype", "InvalidArgumentError", "incompatible with expected int32",
             "z = tf.constant(1) + tf.constant(2); z.op._update_input(0, tf.constant(''))", asked=False),
    _refused("an input of another graph", "ValueError", "from the same graph", """
z = tf.constant(1) + tf.constant(2)
with tf.Graph().as_default():
    x = tf.constant(3)
z.op._update_input(0, x)""", asked=False),
    _refused("a cycle of what waits", "InvalidArgumentError", "cycle", """
a, b = tf.constant(1.0), tf.constant(2.0)
a.op._add_control_input(b.op)
b.op._add_control_input(a.op)
run(a)"""),
    Row("attributes by a block", """
from_bytes = type(tf.no_op().node_def.attr['x'])
with graph._attr_scope({'_a': from_bytes(s=b'one')}):
    x = tf.no_op()
    with graph._attr_scope({'_a': None, '_b': lambda node: from_bytes(s=node.op.encode())}):
        y = tf.no_op()
z = tf.no_op()
result = [x.get_attr('_a'), y.get_attr('_b')] + [raised(lambda o=o: o.get_attr('_a'))[-3] for o in (y, z)]"""),
    Row("names below scopes", """
with tf.name_scope('s'):
    x = tf.constant(1.0, name='_x')
result = [x.op.name, raised(lambda: tf.constant(1.0, name='_x'))[:1]]"""),
    Row("fetching what may not be fetched, after a run", """
x = tf.constant(1.0) * 2.0
run(x)
graph.prevent_fetching(x.op)
result = 'ValueError' in raised(lambda: run(x))"""),
    Row("tensors as text", """
p, q = tf.placeholder(tf.float32, name='p'), tf.placeholder(tf.float32, [2], name='q')
with tf.device('/cpu:0'):
    c = tf.constant(1.0, name='c')
result = [str(t) for t in (p, q, c)]"""),
    Row("a node's shape", """
node = tf.placeholder(tf.float32, [None, 2]).op.node_def
result = [[d.size for d in node.attr['shape'].shape.dim], int(node.attr['dtype'].type)]"""),
    Row("an operation's definition", """
x = tf.placeholder(tf.float32, [2, 2])
defs = [op.op_def for op in (tf.matmul(x, x).op, tf.nn.relu(x).op, tf.random_shuffle(x).op, tf.concat([x, x], 0).op)]
result = [[d.name, [a.name for a in d.input_arg], d.is_stateful] for d in defs]"""),
    Row("whether variables have a length", """
v = tf.Variable([1.0])
result = [hasattr(v, '__len__'), raised(lambda: len(v))[0], raised(lambda: len(tf.zeros([2])))[0]]"""),
    Row("references to tensors and variables", """
x, v = tf.constant(1.0), tf.Variable(1.0)
a, b = x.ref(), v.ref()
result = [a == x.ref(), a == b, a.deref() is x, b.deref() is v, len({a, x.ref(), b}), a == tf.identity(x).ref()]"""),
    Row("an operation for each device to wait for", """
with tf.device('/task:0'):
    a, b = tf.constant(0.0), tf.constant(1.0)
with tf.device('/task:1'):
    c = tf.constant(2.0)
g = tf.group(a, b, c, name='root')
result = [[op.name for op in g.control_inputs], [len(op.control_inputs) for op in g.control_inputs]]"""),
    _refused("a block that ends too early", "AssertionError", "Nesting violated for default stack", """
a, b = tf.Graph().as_default(), tf.Graph().as_default()
a.__enter__()
b.__enter__()
try:
    a.__exit__(None, None, None)
finally:
    b.__exit__(None, None, None)
    a.__exit__(None, None, None)"""),
    # Gradients.
    Row("what a gradient was made from", """
w = tf.constant(1.0, shape=[3, 2])
y = tf.matmul(tf.ones([2, 3]), w)
g = tf.gradients(y, w)[0]
result = [g.op._original_op is y.op, g.op.type]"""),
    Row("sums of gradients beside their terms", """
out = []
for devices in (('', ''), ('/task:1', '/task:2')):
    w = tf.constant(1.0, shape=[1, 1])
    xs = []
    for d in devices:
        with tf.device(d):
            xs.append(tf.matmul(w, tf.ones([1, 2])))
    g = tf.gradients(xs[0] + xs[1], w, colocate_gradients_with_ops=True)[0]
    out.append([g.op.colocation_groups() == xs[0].op.colocation_groups(), g.op.colocation_groups() == w.op.colocation_groups()])
result = out"""),
    # Loops and arrays.
    Row("elements of an array say each other's shape", """
n = tf.placeholder(tf.int32, [])
ta = tf.TensorArray(tf.float32, size=n)
x = tf.constant([1.0, 2.0])
_, out = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t.write(i, x)), [0, ta])
result = [out.stack().shape.as_list(), out.read(0).shape.as_list(), run(out.stack(), {n: 3})]"""),
    Row("fewer rows than an array has", """
x = tf.constant([[1.0], [2.0]])
ta = tf.TensorArray(tf.float32, size=3).unstack(x)
result = run([ta.size(), ta.read(1), tf.gradients(ta.read(0) * 3.0, x)])"""),
    Row("a loop variable of any shape", """
def f(x):
    return x * np.float32(2)
y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.py_func(f, [x], tf.float32)), [0, 1.0],
                  shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])[1]
result = run(y)"""),
    Row("branches with indices of two types", """
p = tf.placeholder(tf.bool)
v = tf.constant([10.0])
s = tf.cond(p, lambda: tf.IndexedSlices(v, tf.constant([0])), lambda: tf.IndexedSlices(v, tf.constant([1], tf.int64)))
result = [s.indices.dtype.name, run(s.indices, {p: True})]"""),
    _refused("more rows than an array has", "OpError", "", """
run(tf.TensorArray(tf.float32, size=1).unstack([1.0, 2.0]).stack())"""),
    _refused("an element written twice", "InvalidArgumentError", "already been written to", """
ta = tf.TensorArray(tf.float32, size=3)
run(ta.write(2, 3.0).write(2, 4.0).stack())"""),
    _refused("elements of two shapes", "ValueError", "Inconsistent shapes", """
tf.TensorArray(tf.float32, size=3).write(0, [1.0, 2.0]).write(1, [1.0])"""),
    _refused("parts that are too few", "InvalidArgumentError", "Expected sum of lengths to be equal to values.shape", """
run(tf.TensorArray(tf.float32, size=2, infer_shape=False).split([1.0, 2.0, 3.0], [1, 1]).concat())"""),
    _refused("parts for another array", "InvalidArgumentError", "size is not equal to the size of lengths (3 vs. 2)", """
run(tf.TensorArray(tf.float32, size=3, infer_shape=False).split([1.0, 2.0, 3.0], [1, 2]).concat())"""),
    _refused("another structure from a body", "TypeError", "sequence type", """
tf.while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, [p[0], p[1]]), (0, (1, 2)))"""),
    _refused("a loop's inner tensor outside", "ValueError", "is in a while loop", """
inner = []
def body(i):
    inner.append(i + 1)
    return inner[0]
tf.while_loop(lambda i: i < 3, body, [0])
inner[0] + 1"""),
    # Values that are known, messages, structures.
    Row("sizes known in part", """
n = tf.placeholder(tf.int32, [1])
sizes = tf.concat([[16], n, [4]], 0)
result = [tf.ones(sizes).shape.as_list()]"""),
    Row("a dictionary with a default is fetched", """
import collections
d = collections.defaultdict(list, {'a': tf.constant(1.0)})
got = run(d)
result = [dict(got), type(got).__name__]"""),
    Row("variables as messages", """
v = tf.get_variable('v', initializer=2.0, trainable=False)
p = v.to_proto()
w = tf.Variable.from_proto(p)
result = [p.variable_name, p.initializer_name, p.snapshot_name, p.initial_value_name, p.trainable, w.name, run(w + v),
          len(tf.global_variables())]"""),
    Row("complex numbers as messages", """
p = tf.make_tensor_proto(1 + 2j, tf.complex64)
result = [list(p.scomplex_val), tf.make_ndarray(p)]"""),
    Row("structures packed", """
nest = tf.nest
result = [nest.map_structure(lambda a, b: a + b, {'x': [1, 2]}, {'x': [3, 4]}), raised(lambda: nest.map_structure(3, [1]))[:1],
          raised(lambda: nest.pack_sequence_as([1], [1, 2]))[:1], raised(lambda: nest.pack_sequence_as('a', [4, 5]))[:1],
          raised(lambda: nest.map_structure(lambda x: x))[:1], raised(lambda: nest.pack_sequence_as([4, 5], 'ab'))[:1]]"""),
    Row("devices of a session", """
devices = tf.Session().list_devices()
result = [d.device_type == 'CPU' and d.name.endswith(':0') for d in devices if d.device_type == 'CPU'][:1]"""),
    _refused("a session entered twice", "RuntimeError", "not re-entrant", """
s = tf.Session()
with s:
    with s:
        pass"""),
    _refused("predictions that are no probabilities", "InvalidArgumentError", "predictions must be in [0, 1]", """
update = tf.metrics.auc(tf.constant([0, 1]), tf.constant([-1.0, 2.0]))[1]
s = tf.Session()
s.run(tf.local_variables_initializer())
s.run(update)"""),
    _refused("weights of a metric that do not fit", "ValueError", "weights can not be broadcast to values",
             "tf.metrics.mean([[1.0, 2.0]], weights=[[1.0], [1.0]])"),
    _refused("the mean of tensors of unknown size", "ValueError", "known",
             "tf.metrics.mean_tensor(tf.placeholder(tf.float32, [None]))"),
    _refused("a getter that is no function", "ValueError", "not callable", "tf.get_variable('q', [], custom_getter=3)"),
    _refused("a vector cut along axis 1", "ValueError", "Cannot partition variable along axis 1 when shape is only (2,)",
             "tf.get_variable('q', [2], partitioner=tf.min_max_variable_partitioner(2, axis=1))"),
    _refused("a variable that is read late and trained", "ValueError", "only for non-trainable variables",
             "tf.get_variable('w', [], trainable=True, synchronization=tf.VariableSynchronization.ON_READ)", asked=False),
    # What runs.
    Row("what no output of a body needs does not run", """
v = tf.Variable(0.0)
def body(i):
    tf.assign_add(v, 1.0)
    return i + 1
r = tf.while_loop(lambda i: i < 3, body, [0])
c = tf.cond(tf.constant(True), lambda: (tf.assign_add(v, 10.0), tf.constant(1))[1], lambda: tf.constant(2))
def counted(i):
    with tf.control_dependencies([tf.assign_add(v, 100.0)]):
        return i + 1
n = tf.while_loop(lambda i: i < 2, counted, [0])
run([r, c, n])
result = run(v)"""),
    Row("one step before a loop, for all turns", """
v = tf.Variable(0.0)
up = v.assign_add(1.0)
def body(i):
    with tf.control_dependencies([up]):
        return i + 1
result = [run(tf.while_loop(lambda i: i < 3, body, [0])), run(v)]"""),
    Row("attributes of nodes, changed in place", """
x = tf.placeholder(tf.float32, [1, 4, 4, 1], name='x')
h = tf.nn.conv2d(x, tf.reshape(tf.range(8.0), [2, 2, 1, 2]), [1, 1, 1, 1], 'SAME', name='c')
tf.nn.relu(h, name='r')
rule = 'gradients by edited nodes'
@tf.RegisterGradient(rule)
def twice(op, dy):
    return 2.0 * dy
result = []
def size(n): n['x'].attr['shape'].shape.dim[0].size = -1
def strides(n): n['c'].attr['strides'].list.i[:] = [1, 2, 2, 1]
def padding(n): n['c'].attr['padding'].s = b'VALID'
def copied(n): n['c'].attr['strides'].CopyFrom(tf.AttrValue(list=tf.AttrValue.ListValue(i=[1, 2, 1, 1])))
def gradient(n):
    n['r'].attr['_gradient_op_type'].s = rule.encode()
    n['r'].attr['_class'].list.s.append(b'loc:@c')
for edit in (size, strides, padding, copied, gradient):
    graph_def = tf.get_default_graph().as_graph_def()
    edit({n.name: n for n in graph_def.node})
    with tf.Graph().as_default() as graph, tf.Session() as session:
        a, b, c = tf.import_graph_def(graph_def, return_elements=['x:0', 'c:0', 'r:0'], name='')
        value = np.arange(16.0).reshape(1, 4, 4, 1)
        result += [str(a.shape), str(b.shape), c.op.colocation_groups(), session.run(b, {a: value}).sum(),
                   session.run(tf.gradients(c, a)[0], {a: value}).sum()]"""),
    Row("create_op with attributes as messages", """
x = tf.constant([[1.0, -2.0], [3.0, 4.0]])
A, real, whole = tf.AttrValue, tf.float32.as_datatype_enum, tf.int32.as_datatype_enum
graph = tf.get_default_graph()
def made(op_type, inputs, dtypes, **attrs):
    with graph.name_scope('made'):
        op = graph.create_op(op_type, inputs, dtypes, attrs=attrs, name='y')
    return [op.name, op.type] + run(list(op.outputs))
result = [
    made('Relu', [x], [tf.float32], T=A(type=real)),
    made('MatMul', [x, x], [tf.float32], T=A(type=real), transpose_a=A(b=True), transpose_b=A(b=False)),
    made('ConcatV2', [x, x, tf.constant(0)], [tf.float32], N=A(i=2), T=A(type=real), Tidx=A(type=whole)),
    made('AddN', [x, x, x], [tf.float32], N=A(i=3), T=A(type=real)),
    made('Split', [tf.constant(1), x], [tf.float32] * 2, T=A(type=real), num_split=A(i=2)),
    made('IdentityN', [x, tf.constant(1)], [tf.float32, tf.int32], T=A(list=A.ListValue(type=[real, whole]))),
    made('MaxPool', [x[None, :, :, None]], [tf.float32], T=A(type=real), ksize=A(list=A.ListValue(i=[1, 2, 1, 1])),
         strides=A(list=A.ListValue(i=[1, 1, 1, 1])), padding=A(s=b'VALID'), data_format=A(s=b'NHWC')),
]
@tf.RegisterGradient('five times, by create_op')
def five(op, dy):
    return 5.0 * dy
y = graph.create_op('Relu', [x], [tf.float32], attrs={'T': A(type=real), '_gradient_op_type': A(s=b'five times, by create_op')})
result += [run(tf.gradients(y.outputs[0], x)[0]), y.colocation_groups(), y.get_attr('_gradient_op_type')]"""),
    Row("kinds of attributes, and those that were never set", """
c = tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), [1, 2, 2, 1], 'SAME', name='c')
tf.placeholder(tf.float32, [2], name='x')
n = {n.name: n for n in tf.get_default_graph().as_graph_def().node}
pairs = [('c', 'T'), ('c', 'strides'), ('c', 'padding'), ('x', 'shape'), ('zeros', 'value'), ('c', 'nothing')]
a = tf.AttrValue()
result = [[n[node].attr[key].WhichOneof('value') for node, key in pairs], a.s, a.i, a.f, a.b, list(a.list.i), a.HasField('b'),
          n['c'].attr['T'].HasField('type'), n['c'].attr['T'].HasField('s')]"""),
    Row("the session within a MonitoredSession", """
step = tf.train.get_or_create_global_step()
with tf.train.MonitoredTrainingSession() as session:
    raw = session
    while type(raw).__name__ != 'Session':
        raw = raw._sess
    result = [raw.run(step), session._tf_sess() is raw, raw is session]"""),
    Row("what must run on the CPU", """
v = tf.Variable([1.0], name='v', use_resource=False)
ops = [t.op for t in (tf.constant('s'), tf.constant([1]), tf.constant(1.0), tf.cast(tf.constant(1), tf.float32),
                      tf.cast(1.0, tf.int32), tf.dynamic_stitch([[0]], [[1]]), tf.dynamic_stitch([[0]], [[1.0]]),
                      tf.identity(1), v, v.assign([2.0]))]
check = tf.graph_util.must_run_on_cpu
result = [[check(op), check(op, pin_variables_on_cpu=True), check(op.node_def)] for op in ops]"""),
]
