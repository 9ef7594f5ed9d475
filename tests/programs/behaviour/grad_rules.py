"""The machinery of gradients: paths, sums, None, stops, sparse gradients, custom rules, host functions."""
from corpus import Row

ROWS = [
    Row("sums of several ys", """
a, b = tf.constant(0.0), tf.constant(0.0)
result = [run(tf.gradients(y, [a, b])) for y in (5 * a + b, [a, b], [a + b, 2 * a + 3 * b])]"""),
    Row("several paths", """
x = tf.constant(2.0)
y = x * x + tf.exp(x) * x + x
result = run(tf.gradients(y, x)[0])"""),
    Row("x twice", "x = tf.constant(2.0); result = run(tf.gradients(x * x, [x, x]))"),
    Row("y among xs", "x = tf.constant(2.0); y = x * 3.0; result = run(tf.gradients(y, [y, x]))"),
    Row("xs between each other", """
x = tf.constant(2.0)
y = x * x
z = y * 5.0
result = run(tf.gradients(z, [x, y, z]))"""),
    Row("forms of the arguments", """
x = tf.constant(2.0)
y = x * x
forms = tf.gradients(y, x), tf.gradients([y], [x]), tf.gradients((y,), (x,))
result = [type(g).__name__ for g in forms]"""),
    Row("with respect to a variable", "v = tf.Variable([2.0]); y = v * v; result = run(tf.gradients(y, v))"),
    Row("variable and its read", """
v = tf.Variable([2.0])
r = v.read_value()
y = v * r
result = run(tf.gradients(y, v)) + [g is None for g in tf.gradients(v * 2.0, r)]"""),
    Row("grad_ys", """
x = tf.constant([1.0, 2.0])
y = x * x
result = run(tf.gradients(y, x, grad_ys=tf.constant([10.0, 100.0]))[0])"""),
    Row("grad_ys in part", """
x = tf.constant(1.0)
y, z = 2.0 * x, 3.0 * x
result = run(tf.gradients([y, z], x, grad_ys=[None, tf.constant(10.0)])[0])"""),
    Row("grad_ys as numbers", """
x = tf.constant([1.0, 2.0])
result = run(tf.gradients(x * 3.0, x, grad_ys=[[1.0, 5.0]])[0])"""),
    Row("grad_ys with axes of size 1 in front", """
x = tf.constant([[1.0, 2.0, 3.0]])
y = tf.reshape(x, [3])
d = tf.constant([[1.0, 10.0, 100.0]])
result = run(tf.gradients(y, x, grad_ys=d) + tf.gradients(tf.reshape(x * x, [3]), x, grad_ys=[d]))"""),
    Row("second order through grad_ys", """
x, d = tf.constant(2.0), tf.constant(3.0)
(g,) = tf.gradients(x**3, x, d)
result = run(tf.gradients(g, [x, d]))"""),
    Row("None where nothing leads", """
x, z = tf.constant(1.0), tf.constant(2.0)
result = [g is None for g in tf.gradients(tf.exp(z), [x, z])]"""),
    Row("None through shapes", """
x = tf.constant([1.0, 2.0])
result = tf.gradients(tf.cast(tf.shape(x), tf.float32), x)"""),
    Row("None through integers", """
x = tf.constant(1.0)
result = tf.gradients(tf.cast(tf.cast(x, tf.int32) * 2, tf.float32), x)"""),
    Row("None through comparisons", """
x = tf.constant([1.0, 2.0])
result = [tf.gradients(tf.cast(x > 0, tf.float32), x), tf.gradients(tf.argmax(x), x)]"""),
    Row("None for a condition", """
x = tf.constant([1.0, -2.0])
y = tf.where(x > 0, tf.ones([2]), tf.zeros([2]))
result = tf.gradients(y, x)"""),
    Row("zeros where asked", """
x, z = tf.constant([1.0, 2.0]), tf.constant(2.0)
result = run(tf.gradients(tf.exp(z), [x, z], unconnected_gradients=tf.UnconnectedGradients.ZERO))"""),
    Row("zeros by name", """
x = tf.constant([1.0, 2.0])
result = run(tf.gradients(tf.constant(3.0), x, unconnected_gradients='zero')[0])"""),
    Row("zeros through a stop", """
x = tf.constant([1.0, 2.0])
result = run(tf.gradients(tf.stop_gradient(x), x, unconnected_gradients='zero')[0])"""),
    Row("stop_gradient", """
x = tf.constant(3.0)
result = run([tf.gradients(x * tf.stop_gradient(x), x)[0], tf.stop_gradient(x)]) + tf.gradients(
    tf.stop_gradient(x * x), x
)"""),
    Row("stop_gradients", """
a = tf.constant(0.0)
b = 2 * a
result = run(tf.gradients(a + b, [a, b], stop_gradients=[a, b]))"""),
    Row("stop_gradients, one tensor", """
x = tf.constant(2.0)
y = x * x
z = y * x
result = run([tf.gradients(z, x, stop_gradients=y)[0], tf.gradients(z, [x, y], stop_gradients=[y])])"""),
    Row("stop_gradients at y", """
x = tf.constant(2.0)
y = x * x
result = tf.gradients(y, x, stop_gradients=[y])"""),
    Row("stop_gradients beyond x", """
x = tf.constant(2.0)
y = x * x
z = tf.sin(y)
result = run(tf.gradients(z, y, stop_gradients=[x])[0])"""),
    Row("only what is asked for is walked", """
@tf.RegisterGradient('RulesNeverCalled')
def rule(op, g): raise RuntimeError('called')
x, z = tf.constant(1.0), tf.constant(2.0)
with graph.gradient_override_map({'Exp': 'RulesNeverCalled'}): y = tf.exp(z)
result = run(tf.gradients(y * x, x)[0])"""),
    Row("an op without a rule off the path", """
x, z = tf.constant([1.0, 2.0]), tf.constant([1.0, 1.0])
result = run(tf.gradients(x * tf.unique(z)[0][0], x)[0])"""),
    Row("multiple outputs, some unused", """
x = tf.constant([1.0, 2.0, 3.0, 4.0])
a, b = tf.split(x, 2)
result = run(tf.gradients(a * a, x)[0])"""),
    Row("gradients for outputs unused are zeros", """
seen = []
x = tf.constant([1.0, 2.0])
@tf.RegisterGradient('RulesUnpack')
def rule(op, *gs): seen.append([g is None for g in gs]); return tf.stack(gs)
with graph.gradient_override_map({'Unpack': 'RulesUnpack'}): c, d = tf.unstack(x)
result = [run(tf.gradients(c * 3.0, x)[0]), seen]"""),
    Row("gather gives IndexedSlices", """
x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
y = tf.gather(x, [2, 0, 2])
(g,) = tf.gradients(y * [[1.0], [2.0], [3.0]], x)
result = [type(g).__name__] + run([g.values, g.indices, g.dense_shape, tf.convert_to_tensor(g)])"""),
    Row("sum of IndexedSlices", """
x = tf.Variable([1.0, 2.0, 3.0]); y = tf.gather(x, [0, 1]) * 2.0; z = tf.gather(x, [1, 2]) * 3.0
g, = tf.gradients([y, z], x)
result = [type(g).__name__, run(tf.convert_to_tensor(g)), sorted(run(g.indices).tolist())]"""),
    Row("IndexedSlices and a dense gradient", """
x = tf.Variable([1.0, 2.0, 3.0]); g, = tf.gradients([tf.gather(x, [0, 0]), x * x], x)
result = [isinstance(g, tf.Tensor), run(g)]"""),
    Row("IndexedSlices through another op", """
x = tf.constant([1.0, 2.0, 3.0])
y = tf.gather(tf.exp(x), [2, 2])
(g,) = tf.gradients(y, x)
result = [isinstance(g, tf.Tensor), run(g)]"""),
    Row("embedding_lookup", """
e = tf.Variable(tf.ones([4, 2]))
y = tf.nn.embedding_lookup(e, [[1, 1], [3, 0]])
(g,) = tf.gradients(y, e)
result = [type(g).__name__, run(g.indices), run(g.values), run(tf.convert_to_tensor(g))]"""),
    Row("custom_gradient", """
@tf.custom_gradient
def f(x):
    def grad(dy): return dy * 100.0 * x
    return x * 2.0, grad
x = tf.constant([1.0, 3.0]); y = f(x)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("custom_gradient, several", """
@tf.custom_gradient
def f(x, y):
    def grad(da, db): return da * 10.0 + db, tf.zeros_like(y)
    return (x + y, x * y), grad
x, y = tf.constant(2.0), tf.constant(3.0); a, b = f(x, y)
result = run([a, b, tf.gradients(a, [x, y]), tf.gradients([a, b], x)])"""),
    Row("custom_gradient, unused output", """
seen = []
@tf.custom_gradient
def f(x):
    def grad(da, db): seen.append([da is None, db is None]); return da + db
    return (x * 2.0, x * 3.0), grad
x = tf.constant(2.0); a, b = f(x)
result = [run(tf.gradients(a, x)[0]), seen]"""),
    Row("custom_gradient, nested", """
@tf.custom_gradient
def f(x): return tf.exp(x), lambda dy: dy * g(x)
@tf.custom_gradient
def g(x): return x * 2.0, lambda dy: dy * 7.0
x = tf.constant(3.0); y = f(x); d, = tf.gradients(y, x)
result = run([d, tf.gradients(d, x)[0]])"""),
    Row("custom_gradient, second order", """
@tf.custom_gradient
def f(x): return x ** 3, lambda dy: dy * 5.0 * x ** 2
x = tf.constant(2.0); d, = tf.gradients(f(x), x)
result = run([d, tf.gradients(d, x)[0]])"""),
    Row("custom_gradient captures", """
w = tf.constant(4.0)
@tf.custom_gradient
def f(x): return x * w, lambda dy: dy * w * 10.0
x = tf.constant(2.0)
result = [None if g is None else run(g) for g in tf.gradients(f(x), [x, w])]"""),
    Row("custom_gradient of Python numbers", """
f = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 3.0))
result = run(f(1.5))"""),
    Row("grad_pass_through", """
x = tf.constant([0.4, 1.6])
y = tf.grad_pass_through(tf.round)(x)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("straight through by hand", """
x = tf.constant([0.4, 1.6])
y = x + tf.stop_gradient(tf.round(x) - x)
result = run([y, tf.gradients(y * y, x)[0]])"""),
    Row("override with a built-in name", """
x = tf.constant([0.3, -2.0])
with graph.gradient_override_map({'Sign': 'Identity', 'Round': 'Identity', 'Floor': 'Tanh'}):
    a, b, c = tf.sign(x), tf.round(x), tf.floor(x)
result = run([tf.gradients(t, x)[0] for t in (a, b, c)])"""),
    Row("override sees op", """
seen = {}
@tf.RegisterGradient('RulesSees')
def rule(op, g):
    seen.update(
        type=op.type,
        name=op.name,
        inputs=[t.name for t in op.inputs],
        outputs=[t.name for t in op.outputs],
        g=g.shape.as_list(),
        graph=op.graph is graph,
        inside=tf.get_default_graph() is graph,
        scope=tf.get_default_graph().get_name_scope(),
    )
    return g * op.inputs[1], g * op.outputs[0]
a, b = tf.constant([2.0], name='a'), tf.constant([3.0], name='b')
with graph.gradient_override_map({'Mul': 'RulesSees'}):
    y = tf.multiply(a, b, name='y')
result = [run(tf.gradients(y, [a, b])), seen]"""),
    Row("override returning None", """
@tf.RegisterGradient('RulesNone')
def rule(op, g): return g, None
a, b = tf.constant(2.0), tf.constant(3.0)
with graph.gradient_override_map({'Mul': 'RulesNone'}): y = a * b
result = [None if g is None else run(g) for g in tf.gradients(y, [a, b])]"""),
    Row("override returning a number", """
@tf.RegisterGradient('RulesNumber')
def rule(op, g): return tf.constant(7.0)
x = tf.constant(2.0)
with graph.gradient_override_map({'Exp': 'RulesNumber'}): y = tf.exp(x)
result = run(tf.gradients(y * 3.0, x)[0])"""),
    Row("override holds in the scope only", """
@tf.RegisterGradient('RulesScope')
def rule(op, g): return g * 10.0
x = tf.constant(0.0)
with graph.gradient_override_map({'Exp': 'RulesScope'}): a = tf.exp(x)
b = tf.exp(x)
result = run([tf.gradients(t, x)[0] for t in (a, b, a + b)])"""),
    Row("override by type, not by name", """
@tf.RegisterGradient('RulesType')
def rule(op, g):
    return g * 10.0
x = tf.constant(0.0)
with graph.gradient_override_map({'Exp': 'RulesType'}):
    a, b = tf.exp(x, name='Identity'), tf.identity(x, name='Exp')
result = run([tf.gradients(t, x)[0] for t in (a, b)])"""),
    Row("override of the second order", """
@tf.RegisterGradient('RulesOrder')
def rule(op, g): return g * op.inputs[0] ** 2
x = tf.constant(3.0)
with graph.gradient_override_map({'Identity': 'RulesOrder'}): y = tf.identity(x)
d, = tf.gradients(y, x); e, = tf.gradients(d, x)
result = run([d, e, tf.gradients(e, x)[0]])"""),
    Row("override made of gradients", """
@tf.RegisterGradient('RulesInner')
def rule(op, g):
    x = op.inputs[0]
    return tf.gradients(tf.tanh(2.0 * x), x, grad_ys=g)[0]
x = tf.constant([0.0, 0.5])
with graph.gradient_override_map({'Sign': 'RulesInner'}): y = tf.sign(x)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("NotDifferentiable", """
tf.NotDifferentiable('RulesNotDifferentiable')
x = tf.constant(1.0)
with graph.gradient_override_map({'Exp': 'RulesNotDifferentiable'}): y = tf.exp(x)
result = tf.gradients(y, x)"""),
    Row("py_func has no gradient", """
x = tf.constant(1.0)
result = tf.gradients(tf.py_func(np.sin, [x], tf.float32), x)"""),
    Row("py_func with an override", """
@tf.RegisterGradient('RulesPyFunc')
def rule(op, g): return g * tf.cos(op.inputs[0])
x = tf.constant([0.0, 1.0])
with graph.gradient_override_map({'PyFunc': 'RulesPyFunc'}): y = tf.py_func(np.sin, [x], tf.float32)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("py_func, stateless, with an override", """
@tf.RegisterGradient('RulesPyFuncStateless')
def rule(op, g):
    return g * tf.cos(op.inputs[0])
x = tf.constant([0.0, 1.0])
with graph.gradient_override_map({'PyFuncStateless': 'RulesPyFuncStateless'}):
    y = tf.py_func(np.sin, [x], tf.float32, stateful=False)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("py_func with a host gradient", """
@tf.RegisterGradient('RulesHost')
def rule(op, g): return tf.py_func(lambda x, g: g * np.cos(x), [op.inputs[0], g], tf.float32), None
x, n = tf.constant([0.0, 1.0]), tf.constant(2)
with graph.gradient_override_map({'PyFunc': 'RulesHost'}):
    y = tf.py_func(lambda x, n: (np.sin(x) * n).astype('f'), [x, n], tf.float32)
y.set_shape([2])
result = run(tf.gradients(y, x)[0])"""),
    Row("gradient_override_map with both PyFuncs", """
@tf.RegisterGradient('RulesTwoPyFuncs')
def rule(op, g): return g * 2.0
x = tf.constant([1.0])
with graph.gradient_override_map({'PyFunc': 'RulesTwoPyFuncs', 'PyFuncStateless': 'RulesTwoPyFuncs'}):
    ys = [tf.py_func(np.sin, [x], tf.float32, stateful=s) for s in (True, False)]
result = run([tf.gradients(y, x)[0] for y in ys])"""),
    Row("eager_py_func's like by numpy_function", """
x = tf.constant([1.0])
result = tf.gradients(tf.numpy_function(np.sin, [x], tf.float32), x)"""),
    Row("hessians", """
x = tf.constant([1.0, 2.0], tf.float64)
(h,) = tf.hessians(x[0] ** 2 * x[1] + x[1] ** 3, x)
result = run(h)"""),
    Row("hessian of a matrix", """
x = tf.constant([[1.0, 2.0]], tf.float64)
(h,) = tf.hessians(tf.reduce_prod(x), x)
result = run(h)"""),
    Row("gradient of a gradient is None when linear", """
x = tf.constant(2.0)
(d,) = tf.gradients(3.0 * x, x)
result = tf.gradients(d, x)"""),
    Row("aggregation_method is accepted", """
x = tf.constant(2.0)
result = [
    run(tf.gradients(x * x + x, x, aggregation_method=m)[0])
    for m in (
        tf.AggregationMethod.DEFAULT,
        tf.AggregationMethod.ADD_N,
        tf.AggregationMethod.EXPERIMENTAL_TREE,
    )
]"""),
    Row("gate and colocate are accepted", """
x = tf.constant(2.0)
result = run(tf.gradients(x * x, x, colocate_gradients_with_ops=True, gate_gradients=True)[0])"""),
    Row("gradients outside the graph's scope", """
with tf.Graph().as_default() as g:
    x = tf.constant(2.0); y = x * x
d, = tf.gradients(y, x)
with tf.Session(graph=g) as s: result = [s.run(d), d.graph is g]"""),
    Row("a chain of 3000", """
x = tf.constant(1.0); y = x
for _ in range(3000): y = tf.identity(y) + 0.0
result = run(tf.gradients(y, x)[0])"""),
    Row("assign cuts", "v = tf.Variable(2.0); a = v.assign(v * 3.0); result = tf.gradients(a, v)"),
    Row("gradient sees the value used", """
v = tf.Variable(2.0)
y = v * v
(g,) = tf.gradients(y, v)
result = [run(g), run(v.assign(5.0)), run(g)]"""),
    Row("test.compute_gradient_error", """
x = tf.constant([0.3, 0.7], tf.float64); y = tf.sin(x) * x
with tf.Session(): result = bool(tf.test.compute_gradient_error(x, [2], y, [2]) < 1e-6)"""),
    Row("test.compute_gradient", """
x = tf.constant([0.3, 0.7], tf.float64)
y = tf.reduce_sum(x**2, keepdims=True)
with tf.Session():
    result = [
        np.round(j, 5) for j in tf.test.compute_gradient(x, [2], y, [1], x_init_value=np.array([0.3, 0.7]))
    ]"""),
    Row("test.compute_gradient has the dtype of x", """
result = []
with tf.Session():
    for dtype, to in [('float32', 'float32'), ('float32', 'float64'), ('float64', 'float32'), ('complex64', 'complex64')]:
        x = tf.constant([0.5, 0.7], dtype)
        y = 2 * tf.cast(x, to)
        result += [(j.dtype.name, j.shape) for j in tf.test.compute_gradient(x, [2], y, [2])]"""),
]
