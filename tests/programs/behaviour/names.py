"""Names, types and text of operations as TF1 makes them."""
from corpus import Row

ROWS = [
    Row("constants are counted", "[tf.constant(1.0) for _ in range(3)]; result = names()"),
    Row("name of a constant", "result = [tf.constant(1, name='a').name, tf.constant(1, name='a').name]"),
    Row("names differ by case", "[tf.constant(1, name=n) for n in ('a', 'A', 'a')]; result = names()"),
    Row("operators", """
x, y = tf.placeholder(tf.float32, name='x'), tf.placeholder(tf.float32, name='y')
result = [
    t.op.name
    for t in (
        x + y,
        x - y,
        x * y,
        x / y,
        x // y,
        x % y,
        x**y,
        -x,
        abs(x),
        x > y,
        x >= y,
        x < y,
        x <= y,
        y + x,
        x @ y,
    )
]"""),
    Row("operator with a constant", """
x = tf.placeholder(tf.float32, name='x')
y = x + 1.0
result = names()"""),
    Row("operator with a constant before", """
x = tf.placeholder(tf.float32, name='x')
y = 2.0 * x
z = 1.0 - x
result = names()"""),
    Row("types of operators", """
x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
result = [
    t.op.type for t in (x - y, x * y, x / y, x // y, x % y, x**y, -x, abs(x), x > y, x >= y, x < y, x <= y)
]"""),
    Row("type of a sum", "x = tf.placeholder(tf.float32); result = tf.add(x, x).op.type", expect="Add"),
    Row("logical operators", """
p, q = tf.placeholder(tf.bool), tf.placeholder(tf.bool)
ts = [p & q, p | q, p ^ q, ~p]; result = [[t.op.name, t.op.type] for t in ts]"""),
    Row("division of integers", """
x = tf.constant([7, 8])
y = x / 2
result = [y.op.type, y.dtype.name, y.op.name]"""),
    Row("functions", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
fs = [
    'exp',
    'log',
    'tanh',
    'sigmoid',
    'square',
    'sqrt',
    'rsqrt',
    'sign',
    'floor',
    'round',
    'negative',
    'identity',
    'sin',
    'cos',
    'transpose',
    'matrix_inverse',
    'stop_gradient',
    'zeros_like',
    'ones_like',
    'shape',
    'rank',
    'size',
]
result = [getattr(tf, f)(x).op.name for f in fs]"""),
    Row("types of functions", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
fs = [
    'exp',
    'log',
    'tanh',
    'sigmoid',
    'square',
    'sqrt',
    'rsqrt',
    'sign',
    'floor',
    'round',
    'negative',
    'identity',
    'sin',
    'cos',
    'transpose',
    'matrix_inverse',
    'stop_gradient',
    'reciprocal',
    'log1p',
    'expm1',
    'erf',
    'lgamma',
]
result = [getattr(tf, f)(x).op.type for f in fs]"""),
    Row("functions of nn", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
fs = [
    'relu',
    'relu6',
    'elu',
    'selu',
    'softplus',
    'softsign',
    'softmax',
    'log_softmax',
    'l2_loss',
    'tanh',
    'sigmoid',
]
result = [[getattr(tf.nn, f)(x).op.name, getattr(tf.nn, f)(x).op.type] for f in fs]"""),
    Row("matmul", """
x = tf.placeholder(tf.float32, [2, 2])
result = [tf.matmul(x, x).op.name, tf.matmul(x, x).op.type]"""),
    Row("reductions", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
fs = ['reduce_sum', 'reduce_mean', 'reduce_max', 'reduce_min', 'reduce_prod']
result = [[getattr(tf, f)(x, axis=0).op.name, getattr(tf, f)(x).op.type] for f in fs]"""),
    Row("reduction, all names", """
x = tf.placeholder(tf.float32, [2, 3], name='x')
tf.reduce_sum(x)
result = names()"""),
    Row("reduction over an axis, all names", """
x = tf.placeholder(tf.float32, [2, 3], name='x')
tf.reduce_mean(x, axis=1)
result = names()"""),
    Row("array functions", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
ts = [
    tf.reshape(x, [4]),
    tf.concat([x, x], 0),
    tf.stack([x, x]),
    tf.expand_dims(x, 0),
    tf.squeeze(x[tf.newaxis]),
    tf.tile(x, [2, 1]),
    tf.pad(x, [[1, 1], [0, 0]]),
    tf.gather(x, [0]),
    tf.one_hot([1], 3),
    tf.cast(x, tf.int32),
    tf.fill([2], 1.0),
    tf.range(3),
    tf.argmax(x, 0),
    tf.cumsum(x),
    tf.split(x, 2)[1],
    tf.unstack(x)[0],
    tf.reverse(x, [0]),
    tf.where(x > 0, x, x),
    tf.slice(x, [0, 0], [1, 1]),
]
result = [t.op.name for t in ts]"""),
    Row("types of array functions", """
x = tf.placeholder(tf.float32, [2, 2], name='x')
ts = [
    tf.reshape(x, [4]),
    tf.concat([x, x], 0),
    tf.stack([x, x]),
    tf.expand_dims(x, 0),
    tf.squeeze(x[tf.newaxis]),
    tf.tile(x, [2, 1]),
    tf.pad(x, [[1, 1], [0, 0]]),
    tf.gather(x, [0]),
    tf.one_hot([1], 3),
    tf.cast(x, tf.int32),
    tf.fill([2], 1.0),
    tf.range(3),
    tf.argmax(x, 0),
    tf.cumsum(x),
    tf.split(x, 2)[1],
    tf.unstack(x)[0],
    tf.reverse(x, [0]),
    tf.where(x > 0, x, x),
    tf.slice(x, [0, 0], [1, 1]),
]
result = [t.op.type for t in ts]"""),
    Row("indexing, all names", "x = tf.placeholder(tf.float32, [4, 4], name='x'); x[1]; result = names()"),
    Row("indexing twice", """
x = tf.placeholder(tf.float32, [4, 4], name='x')
x[0]
result = x[1:, 2].op.name"""),
    Row("stack of python numbers", "tf.stack([1, 2]); result = names()"),
    Row("concat, all names", """
x = tf.placeholder(tf.float32, [2], name='x')
tf.concat([x, x], 0)
result = names()"""),
    Row("concat of one", """
x = tf.placeholder(tf.float32, [2], name='x')
result = tf.concat([x], 0, name='c').op.type"""),
    Row("placeholder", """
tf.placeholder(tf.float32)
tf.placeholder(tf.int32, [2])
result = names() + types()"""),
    Row("placeholder_with_default", "tf.placeholder_with_default(1.0, []); result = names() + types()"),
    Row("a given name is kept", """
x = tf.constant(1.0)
result = [tf.add(x, x, name='sum').name, (x + x).op.name, tf.add(x, x, name='sum').op.name]"""),
    Row("outputs", """
a, b = tf.split(tf.constant([1.0, 2.0]), 2, name='s')
result = [a.name, b.name, b.value_index, len(a.op.outputs)]"""),
    Row("variable, all names", "tf.Variable(1.0, name='v'); result = names()"),
    Row("variable, types", "tf.Variable(1.0, name='v'); result = types()"),
    Row("variable without a name", """
tf.Variable(1.0)
tf.Variable(2.0)
result = [v.op.name for v in tf.global_variables()]"""),
    Row("variable's name", """
v = tf.Variable(1.0, name='v')
result = [v.name, v.op.name, v.value().name, v.initializer.name, v.initial_value.name]"""),
    Row("variable used", """
v = tf.Variable(1.0, name='v')
y = v * 2.0
result = [t.name for t in y.op.inputs]"""),
    Row("get_variable with zeros", """
tf.get_variable('w', [2], initializer=tf.zeros_initializer())
result = names()"""),
    Row("get_variable with ones", """
tf.get_variable('w', [2], initializer=tf.ones_initializer())
result = names()"""),
    Row("get_variable with a constant", """
tf.get_variable('w', [2], initializer=tf.constant_initializer(3.0))
result = names()"""),
    Row("get_variable with an array", "tf.get_variable('w', initializer=np.ones(2, 'f')); result = names()"),
    Row("get_variable by default", "tf.get_variable('w', [2, 3]); result = names()"),
    Row("get_variable, truncated normal", """
tf.get_variable('w', [2], initializer=tf.truncated_normal_initializer(0.0, 0.02))
result = names()"""),
    Row("get_variable, normal", """
tf.get_variable('w', [2], initializer=tf.random_normal_initializer())
result = names()"""),
    Row("assign", """
v = tf.Variable(1.0, name='v')
n = len(names())
ops = [v.assign(2.0), v.assign_add(1.0), v.assign_sub(1.0), tf.assign(v, 3.0)]
result = names()[n:] + [o.op.type for o in ops]"""),
    Row("initializer of all", """
tf.Variable(1.0, name='v')
op = tf.global_variables_initializer()
result = [op.name, op.type, [c.name for c in op.control_inputs]]"""),
    Row("group and no_op", """
a = tf.constant(1)
result = [tf.group(a.op, name='g').name, tf.no_op().name, tf.group(a).type]"""),
    Row("tuple", """
a, b = tf.tuple([tf.constant(1.0), tf.constant(2.0)])
result = [a.op.name, b.op.name, a.op.type]"""),
    Row("random", """
result = [t.op.name for t in (tf.random_normal([2]), tf.random_uniform([2]), tf.truncated_normal([2]))]""",
        expect=["random_normal", "random_uniform", "truncated_normal"]),
    Row("random_uniform, all names", "tf.random_uniform([2], -1., 1.); result = names()"),
    Row("clip_by_value", """
x = tf.placeholder(tf.float32, name='x')
y = tf.clip_by_value(x, -1.0, 1.0)
result = [y.op.name] + names()"""),
    Row("bias_add and conv2d", """
x = tf.placeholder(tf.float32, [1, 4, 4, 2])
y = tf.nn.conv2d(x, tf.zeros([3, 3, 2, 5]), [1, 1, 1, 1], 'SAME')
z = tf.nn.bias_add(y, tf.zeros([5]))
result = [y.op.name, z.op.name, z.op.type]"""),
    Row("pools", """
x = tf.placeholder(tf.float32, [1, 4, 4, 2])
ts = [f(x, [1, 2, 2, 1], [1, 2, 2, 1], 'VALID') for f in (tf.nn.max_pool, tf.nn.avg_pool)]
result = [[t.op.name, t.op.type] for t in ts]"""),
    Row("cross entropies", """
z = tf.placeholder(tf.float32, [2, 3])
a = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=z)
b = tf.nn.sigmoid_cross_entropy_with_logits(labels=z, logits=z)
result = [a.op.name, b.op.name]"""),
    Row("py_func", """
x = tf.constant(1.0)
y = tf.py_func(np.sin, [x], tf.float32)
z = tf.py_func(np.sin, [x], tf.float32, stateful=False)
result = [y.op.name, y.op.type, z.op.name, z.op.type]"""),
    Row("custom_gradient", """
f = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy))
y = f(tf.constant(1.0))
result = [y.op.name, y.op.type]"""),
    Row("gradients, scopes", """
x = tf.placeholder(tf.float32, [2], name='x')
y = tf.exp(tf.sin(x), name='outer'); tf.gradients(y, x); tf.gradients(y, x)
result = sorted({n.split('/')[1] for n in names() if n.startswith('gradients/') and '_grad/' in n}) + sorted(
    {n.split('/')[0] for n in names()})""",
        expect=["Sin_grad", "outer_grad", "Sin", "gradients", "gradients_1", "outer", "x"]),
    Row("gradients, own name", """
x = tf.constant(1.0)
y = tf.exp(x)
(g,) = tf.gradients(y, x, name='mine')
result = g.op.name.split('/')[:2]"""),
    Row("gradients in a scope", """
x = tf.constant(1.0); y = tf.exp(x)
with tf.name_scope('train'):
    g, = tf.gradients(y, x)
result = g.op.name.split('/')[:3]"""),
    Row("minimize, new ops", """
w = tf.Variable([1.0], name='w'); loss = tf.square(w)
op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
result = [op.name, op.type] + [n for n in names() if n.startswith('GradientDescent')]"""),
    Row("momentum, variables", """
w = tf.Variable([1.0], name='w'); tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.square(w))
result = [v.op.name for v in tf.global_variables()]
result += [n for n in names() if n.startswith(('w/Mom', 'Mom'))]"""),
    Row("adam, variables", """
w = tf.Variable([1.0], name='w'); tf.train.AdamOptimizer(0.1).minimize(tf.square(w))
result = [v.name for v in tf.global_variables()]"""),
    Row("adam, update ops", """
w = tf.Variable([1.0], name='w'); tf.train.AdamOptimizer(0.1).minimize(tf.square(w))
result = [n for n in names() if n.startswith('Adam')]"""),
    Row("adam in a scope", """
with tf.variable_scope('net'):
    w = tf.get_variable('w', [1])
with tf.variable_scope('opt'):
    tf.train.AdamOptimizer(0.1).minimize(tf.square(w))
result = [v.name for v in tf.global_variables()]"""),
    Row("two adams", """
w = tf.Variable([1.0], name='w')
for _ in range(2): tf.train.AdamOptimizer(0.1).minimize(tf.square(w))
result = [v.name for v in tf.global_variables()]"""),
    Row("slots of every optimizer", """
w = tf.Variable([1.0], name='w')
loss = tf.square(w)
for o in [
    tf.train.AdagradOptimizer(0.1),
    tf.train.AdadeltaOptimizer(0.1),
    tf.train.RMSPropOptimizer(0.1, momentum=0.9),
    tf.train.RMSPropOptimizer(0.1, centered=True, name='Centred'),
    tf.train.FtrlOptimizer(0.1),
]:
    o.minimize(loss)
result = [v.op.name for v in tf.global_variables()]"""),
    Row("slot names", """
o = tf.train.AdamOptimizer(); w = tf.Variable([1.0], name='w'); o.minimize(tf.square(w))
result = [o.get_slot_names(), o.get_slot(w, 'm').op.name, o.get_slot(w, 'v').op.name, o.get_name(),
          sorted(v.op.name for v in o.variables())]"""),
    Row("dense layer", """
tf.layers.dense(tf.zeros([2, 3]), 4, activation=tf.nn.relu)
tf.layers.dense(tf.zeros([2, 3]), 1)
result = [v.name for v in tf.global_variables()]"""),
    Row("dense layer, outputs", """
result = [
    tf.layers.dense(tf.zeros([2, 3]), 4, name='fc').name,
    tf.layers.dense(tf.zeros([2, 3]), 4, activation=tf.nn.relu).name,
]"""),
    Row("batch_normalization's variables", """
tf.layers.batch_normalization(tf.zeros([2, 3]))
result = [[v.name for v in tf.global_variables()], [v.name for v in tf.trainable_variables()]]"""),
    Row("conv2d layer", """
tf.layers.conv2d(tf.zeros([1, 4, 4, 2]), 3, 3, name='c')
result = [[v.name, v.shape.as_list()] for v in tf.global_variables()]"""),
    Row("global_step", """
s = tf.train.get_or_create_global_step()
result = [s.name, s.dtype.base_dtype.name, tf.train.get_global_step() is s]"""),
    Row("tensor as text", """
x = tf.placeholder(tf.float32, [None, 3], name='x')
result = [str(x), repr(x)]""",
        expect=['Tensor("x:0", shape=(?, 3), dtype=float32)',
                "<tf.Tensor 'x:0' shape=(?, 3) dtype=float32>"]),
    Row("operation as text", "result = repr(tf.constant(1.0, name='c').op)"),
    Row("node text", """
x = tf.placeholder(tf.float32, name='x')
result = str(tf.multiply(x, x, name='Multiply').op).splitlines()[:4]"""),
    Row("node text with a control input", """
a = tf.constant(1.0, name='a')
with tf.control_dependencies([a]):
    b = tf.identity(a, name='b')
    c = tf.no_op(name='c')
result = str(b.op).splitlines()[:3] + str(c).splitlines()"""),
    Row("node text of a second output", """
a, b = tf.split(tf.constant([1.0, 2.0], name='x'), 2, name='s')
result = (
    str(tf.add(a, b, name='z').op).splitlines()[0::2][:2]
    + str(tf.negative(b, name='n').op).splitlines()[2:3]
)"""),
    Row("inputs and consumers", """
x = tf.constant(1.0, name='x')
y = tf.exp(x, name='y')
z = tf.add(x, y, name='z')
result = [
    [t.name for t in z.op.inputs],
    [o.name for o in x.consumers()],
    y.op.inputs[0] is x,
    z.graph is graph,
]"""),
    Row("attributes", """
x = tf.placeholder(tf.float32, [2, 3]); y = tf.matmul(x, x, transpose_b=True)
result = [y.op.get_attr('transpose_a'), y.op.get_attr('transpose_b')]"""),
    Row("attributes of a convolution", """
y = tf.nn.conv2d(tf.zeros([1, 4, 4, 2]), tf.zeros([3, 3, 2, 5]), [1, 2, 2, 1], 'SAME')
result = [list(y.op.get_attr('strides')), y.op.get_attr('padding'), y.op.get_attr('data_format')]"""),
    Row("unique_name", """
result = [
    graph.unique_name('a'),
    graph.unique_name('a'),
    graph.unique_name('A'),
    graph.unique_name('a', mark_as_used=False),
    graph.unique_name('a'),
]"""),
    Row("look-ups", """
x = tf.constant(1.0, name='x')
result = [
    graph.get_tensor_by_name('x:0') is x,
    graph.get_operation_by_name('x') is x.op,
    graph.as_graph_element('x:0') is x,
    graph.as_graph_element('x') is x.op,
    graph.as_graph_element(x) is x,
]"""),
    Row("graph of a variable", """
v = tf.Variable(1.0, name='v')
result = [graph.as_graph_element(v).name, v.graph is graph]"""),
    Row("deeply scoped variable read", """
with tf.variable_scope('a'), tf.variable_scope('b'):
    v = tf.get_variable('v', [1], initializer=tf.zeros_initializer())
result = names()"""),
    Row("losses", """
p = tf.placeholder(tf.float32, [2])
l = tf.losses.mean_squared_error(p, p)
result = l.op.name"""),
    Row("summary names", "result = tf.summary.scalar('loss', tf.constant(1.0)).name"),
    Row("operations by the graph's private tables", """
x = tf.constant(1.0, name='x')
y = tf.square(x, name='y')
by_id = graph._nodes_by_id
result = ['x' in graph._nodes_by_name, graph._nodes_by_name['y'] is y.op, len(graph._nodes_by_name), by_id[x.op._id] is x.op,
          [by_id[i].name for i in sorted(by_id.keys())], -1 in by_id]"""),
    Row("open override blocks by their private name", """
result = [dict(graph._gradient_override_map)]
with graph.gradient_override_map({'Relu': 'One', 'Square': 'Two'}):
    with graph.gradient_override_map({'Relu': 'Three'}):
        tf.nn.relu(1.0)
        result.append(dict(graph._gradient_override_map))
    tf.square(1.0)
    result.append(dict(graph._gradient_override_map))
result.append(dict(graph._gradient_override_map))"""),
    Row("private names of a session", """
s = tf.Session()
result = [s._graph is graph, s._closed]
s.close()
result.append(s._closed)"""),
    Row("sizes of a shape by their private name, which later versions have as a tuple of ints",
        "result = [[d.value for d in tf.TensorShape([1, None])._dims], tf.TensorShape(None)._dims]", expect=[[1, None], None]),
]
