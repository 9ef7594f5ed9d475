"""Name scopes, variable scopes, reuse, collections, control dependencies, devices."""
from corpus import Row

ROWS = [
    Row("name_scope", """
with tf.name_scope('a') as s:
    x = tf.constant(1.0)
    with tf.name_scope('b') as t:
        y = tf.constant(2.0, name='c')
result = [s, t, x.name, y.name]"""),
    Row("name_scope twice", """
out = []
for _ in range(2):
    with tf.name_scope('a'):
        out.append(tf.constant(1.0).op.name)
result = out"""),
    Row("name_scope entered again", """
with tf.name_scope('a') as s: tf.constant(1.0, name='x')
with tf.name_scope(s): y = tf.constant(1.0, name='x')
result = y.op.name"""),
    Row("name_scope of nothing", """
with tf.name_scope('a'):
    with tf.name_scope(None):
        x = tf.constant(1.0, name='x')
result = x.op.name"""),
    Row("name_scope with default", """
with tf.name_scope(None, 'layer', [tf.constant(1.0)]) as s: pass
with tf.name_scope('given', 'layer') as t: pass
result = [s, t]"""),
    Row("name ending in a slash", "result = tf.constant(1.0, name='a/b/').op.name"),
    Row("name with a scope in it", "result = tf.constant(1.0, name='a/b').op.name"),
    Row("op named after its scope", """
with tf.name_scope('a') as s:
    x = tf.constant(1.0)
    y = tf.identity(x, name=s)
result = [x.op.name, y.op.name]"""),
    Row("op takes a scope's name first", """
tf.constant(1.0, name='a')
with tf.name_scope('a') as s: pass
result = s"""),
    Row("get_name_scope", "with tf.name_scope('a'), tf.name_scope('b'): result = graph.get_name_scope()"),
    Row("name_scope does not name variables", """
with tf.name_scope('a'):
    v, w = tf.get_variable('v', [1]), tf.Variable(1.0, name='w')
result = [v.name, w.name]"""),
    Row("variable_scope", """
with tf.variable_scope('s') as scope:
    v = tf.get_variable('v', [1]); x = tf.constant(1.0, name='x')
result = [v.name, x.name, scope.name, scope.original_name_scope, scope.reuse]"""),
    Row("variable_scope nested", """
with tf.variable_scope('a'):
    with tf.variable_scope('b') as b:
        v = tf.get_variable('v', [1])
    with tf.variable_scope('b'):
        w = tf.get_variable('w', [1]); x = tf.constant(0, name='x')
result = [v.name, w.name, x.name, b.name]"""),
    Row("reuse", """
with tf.variable_scope('s'): v = tf.get_variable('v', [1])
with tf.variable_scope('s', reuse=True): w = tf.get_variable('v', [1])
result = [v is w, len(tf.global_variables())]"""),
    Row("reuse by default arguments", """
with tf.variable_scope('s') as s:
    v = tf.get_variable('v', [1])
    s.reuse_variables()
    result = [tf.get_variable('v') is v, s.reuse]"""),
    Row("AUTO_REUSE", """
vs = []
for _ in range(2):
    with tf.variable_scope('s', reuse=tf.AUTO_REUSE): vs.append(tf.get_variable('v', [1]))
result = [vs[0] is vs[1], vs[0].name]"""),
    Row("reuse is inherited", """
with tf.variable_scope('a'), tf.variable_scope('b'):
    v = tf.get_variable('v', [1])
with tf.variable_scope('a', reuse=True), tf.variable_scope('b') as b:
    result = [tf.get_variable('v', [1]) is v, b.reuse]"""),
    Row("reuse ends with its scope", """
with tf.variable_scope('a', reuse=True): pass
with tf.variable_scope('a') as a: result = a.reuse"""),
    Row("a scope object entered again", """
with tf.variable_scope('a') as a: v = tf.get_variable('v', [1])
with tf.variable_scope('other'):
    with tf.variable_scope(a, reuse=True): w = tf.get_variable('v', [1]); x = tf.constant(0, name='x')
result = [v is w, x.name]"""),
    Row("scope entered twice makes two name scopes", """
out = []
for _ in range(2):
    with tf.variable_scope('a', reuse=tf.AUTO_REUSE):
        out += [tf.get_variable('v', [1]).name, tf.constant(0).name]
result = out"""),
    Row("default_name", """
out = []
for _ in range(2):
    with tf.variable_scope(None, default_name='layer'): out.append(tf.get_variable('v', [1]).name)
result = out"""),
    Row("scope's initializer", """
with tf.variable_scope('s', initializer=tf.constant_initializer(4.0)):
    v = tf.get_variable('v', [2])
    with tf.variable_scope('t'): w = tf.get_variable('w', [1])
    u = tf.get_variable('u', [1], initializer=tf.zeros_initializer())
result = run([v, w, u])"""),
    Row("scope's dtype", """
with tf.variable_scope('s', dtype=tf.float64): v = tf.get_variable('v', [2])
result = v.dtype.base_dtype.name"""),
    Row("scope's regularizer", """
with tf.variable_scope('s', regularizer=lambda w: 3.0 * tf.reduce_sum(w)):
    v = tf.get_variable('v', [2], initializer=tf.ones_initializer())
result = [
    len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
    run(tf.losses.get_regularization_loss()),
]"""),
    Row("custom_getter", """
def getter(getter, name, *args, **kwargs):
    return 2.0 * getter(name, *args, **kwargs)
with tf.variable_scope('s', custom_getter=getter):
    v = tf.get_variable('v', [1], initializer=tf.ones_initializer())
result = [run(v), [w.name for w in tf.global_variables()]]"""),
    Row("a layer of weights that a custom_getter computes", """
def normalised(getter, name, *args, **kwargs):
    v = getter(name, *args, **kwargs)
    return v if name.endswith('bias') else 2.0 * tf.nn.l2_normalize(v, 0)
with tf.variable_scope('s', custom_getter=normalised):
    layer = tf.layers.Dense(1, kernel_initializer=tf.constant_initializer([[3.0], [4.0]]),
                            kernel_regularizer=tf.reduce_sum)
    y = layer(tf.ones([1, 2]))
result = [run([y, tf.losses.get_regularization_loss(), tf.gradients(y, tf.trainable_variables())]),
          [layer.kernel is layer.non_trainable_weights[0], layer.count_params()]]"""),
    Row("what a custom_getter is told", """
told = []
def getter(getter, name, **kwargs):
    told.append([name, kwargs['trainable'], kwargs['synchronization'] == tf.VariableSynchronization.AUTO,
                 kwargs['aggregation'] == tf.VariableAggregation.NONE, kwargs['reuse']])
    return getter(name, **kwargs)
with tf.variable_scope('s', custom_getter=getter):
    tf.get_variable('v', [1])
    tf.get_variable('w', [1], trainable=False)
    tf.layers.dense(tf.ones([1, 2]), 3)
on_read = tf.get_variable('on_read', [1], synchronization=tf.VariableSynchronization.ON_READ)
result = [told, on_read.trainable]"""),
    Row("get_variable_scope", """
with tf.variable_scope('a'), tf.variable_scope('b'):
    result = tf.get_variable_scope().name"""),
    Row("Variable in a variable_scope", """
with tf.variable_scope('s'): v = [tf.Variable(1.0, name='v').name for _ in range(2)]
result = v"""),
    Row("variables by scope", """
for n in ('a', 'ab', 'b'):
    with tf.variable_scope(n): tf.get_variable('v', [1])
result = [[v.name for v in tf.trainable_variables(scope=s)] for s in ('a', 'a/', 'b', '.*b/v')]"""),
    Row("collections of a variable", """
tf.Variable(1.0, name='a'); tf.Variable(1.0, name='b', trainable=False)
tf.Variable(1.0, name='c', collections=[tf.GraphKeys.LOCAL_VARIABLES])
kinds = tf.global_variables, tf.trainable_variables, tf.local_variables
result = [[v.op.name for v in f()] for f in kinds]"""),
    Row("collections", """
tf.add_to_collection('c', 1)
tf.add_to_collection('c', 'x')
graph.add_to_collections(['c', 'd'], 2)
result = [
    tf.get_collection('c'),
    tf.get_collection('d'),
    tf.get_collection('none'),
    sorted(graph.get_all_collection_keys()),
]"""),
    Row("get_collection copies", """
tf.add_to_collection('c', 1)
tf.get_collection('c').append(2)
tf.get_collection_ref('c').append(3)
result = tf.get_collection('c')"""),
    Row("clear_collection", """
tf.add_to_collection('c', 1)
graph.clear_collection('c')
result = tf.get_collection('c')"""),
    Row("collection by scope", """
with tf.name_scope('a'): tf.add_to_collection('c', tf.constant(1.0, name='x'))
tf.add_to_collection('c', tf.constant(1.0, name='y')); tf.add_to_collection('c', 7)
result = [t.op.name for t in tf.get_collection('c', scope='a')]"""),
    Row("collection keys", """
k = tf.GraphKeys
result = [
    k.GLOBAL_VARIABLES,
    k.TRAINABLE_VARIABLES,
    k.LOCAL_VARIABLES,
    k.REGULARIZATION_LOSSES,
    k.UPDATE_OPS,
    k.LOSSES,
    k.SUMMARIES,
    k.GLOBAL_STEP,
    k.MOVING_AVERAGE_VARIABLES,
]"""),
    Row("losses collection", """
a = tf.losses.mean_squared_error([1.0], [3.0]); tf.losses.add_loss(tf.constant(2.0))
result = [len(tf.losses.get_losses()), run(tf.losses.get_total_loss())]"""),
    Row("control_dependencies", """
a = tf.constant(1, name='a'); b = tf.no_op(name='b')
with tf.control_dependencies([a, b]): c = tf.constant(2)
result = [o.name for o in c.op.control_inputs]"""),
    Row("control_dependencies nested", """
a, b = tf.constant(1, name='a'), tf.constant(1, name='b')
with tf.control_dependencies([a]):
    with tf.control_dependencies([b]): c = tf.constant(2)
    d = tf.constant(3)
result = [sorted(o.name for o in t.op.control_inputs) for t in (c, d)]"""),
    Row("control_dependencies of None", """
a = tf.constant(1, name='a')
with tf.control_dependencies([a]):
    with tf.control_dependencies(None): c = tf.constant(2)
result = [o.name for o in c.op.control_inputs]"""),
    Row("control dependency on an input is dropped", """
a = tf.constant(1.0, name='a')
with tf.control_dependencies([a]): b = tf.exp(a)
result = [o.name for o in b.op.control_inputs]"""),
    Row("an op made before is not controlled", """
v = tf.Variable(0.0); a = v.assign_add(1.0); x = tf.constant(5.0)
with tf.control_dependencies([a]): y = x
result = [run(y), run(v)]"""),
    Row("assignment by control dependency", """
v = tf.Variable(0.0); a = v.assign_add(1.0)
with tf.control_dependencies([a]): y = v.read_value()
result = [run(y), run(y), run(v)]"""),
    Row("ordered assignments", """
v = tf.Variable(1.0)
with tf.control_dependencies([v.assign(v * 3.0)]):
    with tf.control_dependencies([v.assign_add(1.0)]): y = v.read_value()
result = [run(y), run(y)]"""),
    Row("assign returns the new value", """
v = tf.Variable(1.0)
result = [run(v.assign(5.0)), run(v.assign_add(2.0)), run(v.assign_sub(1.0)), run(v)]"""),
    Row("use of an assignment's result", """
v = tf.Variable(1.0)
y = v.assign(4.0) * 10.0
result = [run(y), run(v)]"""),
    Row("group runs all", """
v, w = tf.Variable(0.0), tf.Variable(0.0)
op = tf.group(v.assign(1.0), w.assign(2.0))
result = [run(op), run(v), run(w)]"""),
    Row("initialised from another", """
v = tf.Variable(3.0)
w = tf.Variable(v.initialized_value() * 2.0)
result = run(w)"""),
    Row("device", """
with tf.device('/cpu:0'): a = tf.constant(1.0)
b = tf.constant(1.0)
result = [a.device != '', b.device]"""),
    Row("override map is recorded", """
@tf.RegisterGradient('ScopesRecorded')
def rule(op, g):
    return g
with graph.gradient_override_map({'Identity': 'ScopesRecorded'}):
    x = tf.identity(tf.constant(1.0))
result = [
    x.op.get_attr('_gradient_op_type'),
    raised(lambda: tf.identity(x).op.get_attr('_gradient_op_type'))[0],
]"""),
    Row("a recorded override is replaced", """
tf.RegisterGradient('ScopesReplaced')(lambda op, g: g * 2.0)
tf.RegisterGradient('ScopesReplacing')(lambda op, g: g * 5.0)
x = tf.constant(1.0)
with graph.gradient_override_map({'Identity': 'ScopesReplaced'}):
    y, z = tf.identity(x), tf.identity(x)
y.op._set_attr('_gradient_op_type', tf.AttrValue(s=b'ScopesReplacing'))
result = [y.op.get_attr('_gradient_op_type'), run(tf.gradients(y, x) + tf.gradients(z, x))]"""),
    Row("override maps nest", """
for i in range(2):
    tf.RegisterGradient('ScopesNest%d' % i)(lambda op, g, i=i: g * (i + 2.0))
x = tf.constant(1.0)
with graph.gradient_override_map({'Exp': 'ScopesNest0'}):
    a = tf.exp(x)
    with graph.gradient_override_map({'Exp': 'ScopesNest1', 'Sin': 'ScopesNest1'}):
        b, c = tf.exp(x), tf.sin(x)
    d, e = tf.exp(x), tf.sin(x)
result = [run(tf.gradients(t, x)[0]) for t in (a, b, c, d, e)]"""),
    Row("default graph", """
outer = tf.get_default_graph() is graph
with tf.Graph().as_default() as g: inner = tf.constant(1.0).graph is g
result = [outer, inner, tf.constant(1.0).graph is graph]"""),
    Row("name of ops in function scope by values", """
def f(x, name=None):
    with tf.name_scope(name, 'f', [x]) as scope: return tf.add(x, 1.0, name=scope)
x = tf.constant(1.0)
result = [f(x).op.name, f(x).op.name, f(x, 'g').op.name]"""),
    Row("is_initialized and report", """
v = tf.Variable(1.0, name='v')
with tf.Session() as s:
    a = [s.run(tf.is_variable_initialized(v)), s.run(tf.report_uninitialized_variables()).tolist()]
    s.run(v.initializer)
    b = [s.run(tf.is_variable_initialized(v)), s.run(tf.report_uninitialized_variables()).tolist()]
result = [[bool(a[0]), a[1]], [bool(b[0]), b[1]]]"""),
    Row("make_template", """
t = tf.make_template('t', lambda x: x * tf.get_variable('w', [1], initializer=tf.ones_initializer()))
a, b = t(tf.constant(1.0)), t(tf.constant(2.0))
result = [[v.name for v in tf.global_variables()], run([a, b])]"""),
]
