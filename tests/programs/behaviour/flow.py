"""cond, case, while_loop, map_fn, scan, TensorArray: values, structures, gradients, effects."""
import numpy as np
from corpus import Row

ROWS = [
    Row("cond", """
p = tf.placeholder(tf.bool)
x = tf.constant(2.0)
y = tf.cond(p, lambda: x * 2.0, lambda: x + 10.0)
result = [run(y, {p: v}) for v in (True, False)]"""),
    Row("cond of a comparison", """
x = tf.placeholder(tf.float32)
y = tf.cond(x > 1.0, lambda: tf.constant(1), lambda: tf.constant(0))
result = [run(y, {x: v}) for v in (2.0, 0.5)]"""),
    Row("cond's keyword names", """
result = run(
    [
        tf.cond(tf.constant(True), true_fn=lambda: 1, false_fn=lambda: 2),
        tf.cond(pred=tf.constant(False), true_fn=lambda: 1, false_fn=lambda: 2),
    ]
)"""),
    Row("cond's older keyword names", """
result = run(tf.cond(tf.constant(False), fn1=lambda: 1, fn2=lambda: 2))""",
        expect=np.int32(2)),
    Row("cond's structures", """
p = tf.placeholder(tf.bool)
a = tf.cond(p, lambda: (1, [2.0, 3.0]), lambda: (4, [5.0, 6.0]))
b = tf.cond(p, lambda: {'x': 1}, lambda: {'x': 2})
c = tf.cond(p, lambda: [1], lambda: [2])
result = [run([a, b, c], {p: v}) for v in (True, False)]"""),
    Row("cond without results", """
v = tf.Variable(0)
p = tf.placeholder(tf.bool)
op = tf.cond(p, lambda: tf.group(v.assign(5)), lambda: tf.group(v.assign(7)))
run(op, {p: True})
a = run(v)
run(op, {p: False})
result = [a, run(v)]"""),
    Row("the gradient of rows of what a branch gives", """
p = tf.placeholder(tf.bool)
x = tf.constant([[0.5, 1.0], [2.0, -1.0], [0.25, 3.0]])
y = tf.gather(tf.cond(p, lambda: x * x, lambda: tf.sin(x)), [2, 0, 2])
g = tf.gradients(y, x)[0]
result = [run(g, {p: v}) for v in (True, False)]"""),
    Row("cond runs one branch", """
v = tf.Variable(0); p = tf.placeholder(tf.bool)
y = tf.cond(p, lambda: tf.assign_add(v, 1), lambda: tf.assign_add(v, 100))
run(y, {p: True}); result = run(v)"""),
    Row("cond computes outer ops in both cases", """
v = tf.Variable(0); p = tf.placeholder(tf.bool); outer = tf.assign_add(v, 1)
y = tf.cond(p, lambda: tf.identity(outer), lambda: tf.constant(0))
run(y, {p: False}); result = run(v)"""),
    Row("cond with a host function in a branch", """
calls = []
p = tf.placeholder(tf.bool)
y = tf.cond(
    p,
    lambda: tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32),
    lambda: tf.constant(0.0),
)
result = [run(y, {p: False}), len(calls), run(y, {p: True}), len(calls)]"""),
    Row("cond, gradients", """
p = tf.placeholder(tf.bool); x, w = tf.constant(2.0), tf.constant(3.0)
y = tf.cond(p, lambda: x * w, lambda: x ** 2); g = tf.gradients(y, [x, w])
result = [run(g, {p: v}) for v in (True, False)]"""),
    Row("cond, gradient with an unused branch", """
p = tf.placeholder(tf.bool)
x = tf.constant(2.0)
y = tf.cond(p, lambda: x * 3.0, lambda: tf.constant(1.0))
(g,) = tf.gradients(y, x)
result = [run(g, {p: v}) for v in (True, False)]"""),
    Row("cond, second order", """
p = tf.placeholder(tf.bool)
x = tf.constant(2.0)
y = tf.cond(p, lambda: x**3, lambda: tf.exp(x))
(g,) = tf.gradients(tf.gradients(y, x)[0], x)
result = [run(g, {p: v}) for v in (True, False)]"""),
    Row("cond, gradient hides no NaN", """
x = tf.placeholder(tf.float32, [])
y = tf.cond(x > 0, lambda: tf.sqrt(x), lambda: 0.0 * x)
(g,) = tf.gradients(y, x)
result = [run(g, {x: v}) for v in (4.0, -1.0)]"""),
    Row("cond's names", """
y = tf.cond(tf.constant(True), lambda: tf.constant(1.0, name='inner'), lambda: tf.constant(2.0), name='c')
result = y.op.name.split('/')[0]"""),
    Row("case", """
i = tf.placeholder(tf.int32)
y = tf.case(
    [
        (tf.equal(i, 0), lambda: tf.constant(10)),
        (i > 3, lambda: tf.constant(20)),
        (i > 1, lambda: tf.constant(30)),
    ],
    default=lambda: tf.constant(40),
)
result = [run(y, {i: v}) for v in (0, 1, 2, 5)]"""),
    Row("case from a dict", """
i = tf.placeholder(tf.int32)
y = tf.case(
    {tf.equal(i, 0): lambda: tf.constant(1), tf.equal(i, 1): lambda: tf.constant(2)},
    default=lambda: tf.constant(3),
    exclusive=True,
)
result = [run(y, {i: v}) for v in (0, 1, 2)]"""),
    Row("switch_case", """
i = tf.placeholder(tf.int32)
y = tf.switch_case(
    i, {0: lambda: tf.constant(1), 1: lambda: tf.constant(3)}, default=lambda: tf.constant(9)
)
result = [run(y, {i: v}) for v in (0, 1, 2, -1)]"""),
    Row("while_loop", """
i, s = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)])
result = run([i, s])"""),
    Row("while_loop of one", """
y = tf.while_loop(lambda x: x < 100.0, lambda x: x * 2.0, [tf.constant(1.0)])
result = [isinstance(y, tf.Tensor), float(run(y))]""",
        expect=[True, 128.0]),
    Row("while_loop of a list", """
y = tf.while_loop(lambda x: x < 100.0, lambda x: [x * 2.0], [tf.constant(1.0)])
result = run(y)"""),
    Row("while_loop, structures", """
out = tf.while_loop(
    lambda i, d: i < 3,
    lambda i, d: (i + 1, {'a': d['a'] + 1.0, 'b': (d['b'][0] * 2.0,)}),
    (0, {'a': 1.0, 'b': (1.0,)}),
)
result = run(out)"""),
    Row("while_loop, no turn", """
x = tf.constant(2.0)
_, y = tf.while_loop(lambda i, y: i < 0, lambda i, y: (i + 1, y * y), [0, x])
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("while_loop, length fed", """
n = tf.placeholder(tf.int32)
x = tf.constant(2.0)
_, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, 1.0])
(g,) = tf.gradients(y, x)
result = [run([y, g], {n: v}) for v in (1, 3, 5)]"""),
    Row("while_loop, maximum_iterations", """
y = tf.while_loop(lambda i: True, lambda i: i + 1, [tf.constant(0)], maximum_iterations=4)
result = run(y)"""),
    Row("while_loop, gradient of what is carried and of what is not", """
x, w = tf.constant(2.0), tf.constant(3.0)
_, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y * w)), [0, x])
result = run(tf.gradients(y, [x, w]))"""),
    Row("while_loop, back_prop=False", """
x = tf.constant(2.0)
_, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0], back_prop=False)
result = run(y)"""),
    Row("gradients inside a body, by what is outside it", """
w = tf.Variable([1.0, 2.0])
d = w * w
x = tf.constant([[1.0, 1.0], [2.0, 3.0]])
by_variable = tf.map_fn(lambda x: tf.gradients(x * d * w, w)[0], x)
meta = tf.gradients(by_variable, w)[0]
def task(x):
    e = x * d
    grads = tf.map_fn(lambda z: tf.gradients(z * e, [w, x, d]), tf.constant([1.0, 2.0]), dtype=[tf.float32] * 3)
    return grads[0] + grads[1] * grads[2]
nested = tf.map_fn(task, x)
stopped = tf.map_fn(lambda x: tf.gradients(x * d * w, w, stop_gradients=[d])[0], x)
branch = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.gradients(d * d, w)[0] + tf.gradients(d * w, d)[0], lambda: w)
result = run([by_variable, meta, nested, stopped, branch])"""),
    Row("while_loop, nested", """
x = tf.constant(1.5)
_, y = tf.while_loop(
    lambda i, y: i < 2,
    lambda i, y: (i + 1, tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, z * x), [0, y])[1]),
    [0, 1.0],
)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("cond in a while_loop", """
x = tf.constant(1.5)
_, y = tf.while_loop(
    lambda i, y: i < 4,
    lambda i, y: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: y * x, lambda: y + x)),
    [0, 1.0],
)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("while_loop in a cond", """
p = tf.placeholder(tf.bool); x = tf.constant(1.5)
y = tf.cond(p, lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0])[1], lambda: x)
g, = tf.gradients(y, x); result = [run([y, g], {p: v}) for v in (True, False)]"""),
    Row("while_loop with a growing shape", """
_, y = tf.while_loop(
    lambda i, y: i < 3,
    lambda i, y: (i + 1, tf.concat([y, [tf.cast(i, tf.float32)]], 0)),
    [0, tf.zeros([1])],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
)
result = [run(y), y.shape.as_list()]"""),
    Row("while_loop with a variable", """
v = tf.Variable(2.0)
_, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * v), [0, 1.0])
result = run([y, tf.gradients(y, v)[0]])"""),
    Row("while_loop with assignments", """
v = tf.Variable(0.0)
def body(i):
    with tf.control_dependencies([tf.assign_add(v, tf.cast(i, tf.float32))]): return i + 1
run(tf.while_loop(lambda i: i < 5, body, [tf.constant(0)])); result = run(v)"""),
    Row("while_loop that doubles a variable", """
v = tf.Variable(2.0, use_resource=True)
def body(i):
    with tf.control_dependencies([tf.assign(v, v * 2.0)]): return i + 1
run(tf.while_loop(lambda i: i < 4, body, [0], parallel_iterations=1)); result = run(v)"""),
    Row("while_loop whose branch reads and assigns a variable", """
v = tf.Variable(1.0, use_resource=True)
def body(i):
    chosen = tf.cond(v > 4.0, lambda: tf.assign(v, v - 3.0), lambda: tf.assign(v, v + 2.0))
    with tf.control_dependencies([chosen]): return i + 1
run(tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)); result = run(v)"""),
    Row("while_loop until a variable that it assigns is large", """
v = tf.Variable(0)
def body(i):
    with tf.control_dependencies([tf.assign_add(v, 1)]): return tf.identity(v)
run(tf.while_loop(lambda _: v < 10, body, [v], parallel_iterations=1, maximum_iterations=30)); result = run(v)"""),
    Row("while_loop of a tensor and an empty list", """
result = run(tf.while_loop(lambda i, _: i < 10, lambda i, _: [i + 1, []], [tf.constant(0), []]))"""),
    Row("cond by what was assigned reads the new value", """
v = tf.Variable(1.0, use_resource=True)
assigned = tf.assign_add(v, 5.0)
y = tf.cond(assigned > 3.0, lambda: v * 2.0, lambda: v * 3.0)
result = run([y, tf.gradients(y, v)[0]])"""),
    Row("cond's gradient uses what its branch read", """
v, x = tf.Variable(1.0, use_resource=True), tf.constant(2.0)
y = tf.cond(tf.assign_add(v, 5.0) > 3.0, lambda: v * x, lambda: x)
with tf.control_dependencies([y]): later = tf.assign(v, 100.0)
with tf.control_dependencies([later]): start = tf.constant(1.0)
result = run([y, tf.gradients(y, x, grad_ys=start)[0]])"""),
    Row("while_loop from what was assigned reads the new value", """
v = tf.Variable(1.0, use_resource=True)
result = run(tf.while_loop(lambda i, x: x < 20.0, lambda i, x: (i + 1, x + v), [0, tf.assign(v, 5.0)]))"""),
    Row("while_loop that assigns a variable, gradients", """
v = tf.Variable(2.0, use_resource=True)
y0 = tf.constant(1.0)
def body(i, y):
    y = y * v
    with tf.control_dependencies([y]): written = tf.assign_add(v, 1.0)
    with tf.control_dependencies([written]): return i + 1, tf.identity(y)
_, y = tf.while_loop(lambda i, y: i < 3, body, [0, y0], parallel_iterations=1)
result = run([y, tf.gradients(y, [y0, v])])"""),
    Row("while_loop that trains", """
w = tf.Variable([1.0, 2.0], use_resource=True)
table = tf.Variable(np.ones((4, 2), np.float32), use_resource=True)
optimizer = tf.train.AdamOptimizer(0.1)
step = tf.train.get_or_create_global_step()
def body(i):
    loss = tf.reduce_sum(tf.square(w - 0.5)) + tf.reduce_sum(tf.square(tf.gather(table, [1, 1, 2])) * w)
    with tf.control_dependencies([optimizer.minimize(loss, global_step=step)]): return i + 1
run(tf.while_loop(lambda i: i < 4, body, [0], parallel_iterations=1)); result = run([w, table, step])"""),
    Row("cond, what an unused operation of a branch waits for", """
unfed = tf.placeholder(tf.float32, [])
a = tf.constant(3)
def branch():
    with tf.control_dependencies([unfed]): unused = a + 1
    return a + 2
result = run(tf.cond(tf.constant(True), branch, lambda: tf.constant(1)))"""),
    Row("cond of operations", """
p = tf.placeholder(tf.bool)
y = tf.cond(p, tf.no_op, tf.no_op)
result = [run(y, {p: v}) for v in (True, False)]"""),
    Row("switch_case by a Python number", """
tf.switch_case(1, [lambda: 1, lambda: 2])""", raises=("TypeError", "must be a Tensor")),
    Row("case, none is true", """
x = tf.placeholder(tf.int32, [])
pairs = [(tf.equal(x, i), lambda: tf.constant(2)) for i in (1, 2)]
run(tf.case(pairs, exclusive=True), {x: 4})""",
        raises=("InvalidArgumentError", "Input error")),
    Row("case, exclusive, two are true", """
x, y = tf.constant(1), tf.constant(2)
chosen = tf.case([(x < y, lambda: tf.constant(17)), (x < y, lambda: tf.constant(23))],
                 default=lambda: tf.constant(-1), exclusive=True)
try:
    run(chosen)
except tf.errors.InvalidArgumentError as error:
    result = 'Input error' in str(error)"""),
    Row("while_loop with a SparseTensor that grows", """
x = tf.SparseTensor([[0], [3]], tf.constant([2.0, 4.0]), [10])
def body(i, x):
    at = tf.cast(tf.fill([1, 1], i), tf.int64)
    return [i + 1, tf.sparse_add(x, tf.SparseTensor(at, tf.fill([1], 1.0), x.dense_shape))]
_, y = tf.while_loop(lambda i, _: i < 4, body, [0, x])
_, z = tf.while_loop(lambda i, _: i < 4, lambda i, x: [i + 1, tf.SparseTensor(x.indices, x.values * 2.0, x.dense_shape)],
                     [0, x], [tf.TensorShape([]), tf.TensorShape([None])])
result = [run([y.indices, y.values, z.values]), z.indices.shape.as_list(), z.dense_shape.shape.as_list()]"""),
    Row("while_loop with slices and a shape invariant", """
x = tf.IndexedSlices(tf.constant([[2.0, 4.0], [3.0, 5.0]]), tf.constant([0, 3]), tf.constant([10, 2]))
_, y = tf.while_loop(lambda i, _: i < 3, lambda i, x: [i + 1, tf.IndexedSlices(x.values * 2.0, x.indices, x.dense_shape)],
                     [0, x], [tf.TensorShape([]), tf.TensorShape([None, 2])])
result = [run([y.values, y.indices]), y.values.shape.as_list()]"""),
    Row("while_loop in which the rank grows", """
x = tf.constant([1.0, 2.0])
_, y = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.stack([x, x * 2.0])), [0, x],
                     [tf.TensorShape([]), tf.TensorShape(None)])
result = [y.shape.ndims, run([y, tf.gradients(y, x)[0]])]"""),
    Row("while_loop, gradient of what broadcasting makes larger", """
x, v = tf.placeholder(tf.float32, [None]), tf.constant([2.0])
_, y = tf.while_loop(lambda i, v: i < 5, lambda i, v: [i + 1, x * v], [0, v], [tf.TensorShape([]), tf.TensorShape(None)])
result = run([y, *tf.gradients(y, [x, v])], {x: [3.0, 4.0]})"""),
    Row("while_loop with a TensorSpec", """
x = tf.constant([1.0])
_, y = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, x],
                     [tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32)])
result = run(y)"""),
    Row("while_loop with a TensorSpec of another dtype", """
tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x), [0, tf.constant([1.0])],
              [tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)])""", raises=("TypeError", "dtype")),
    Row("a loop's tensor in another loop", """
kept = []
def body(i):
    kept.append(tf.constant(1))
    return i + 1
tf.while_loop(lambda i: i < 10, body, [0])
tf.while_loop(lambda i: i < 10, lambda i: kept[0], [0])""", raises=("ValueError", "different while loops")),
    Row("map_fn that gives a tuple for a list", """
tf.map_fn(lambda x: (x, -x), tf.constant([1, 2]), dtype=[tf.int32, tf.int32])""",
        raises=("TypeError", "don't have the same nested structure")),
    Row("structures that differ", """
try:
    tf.nest.assert_same_structure([1, (2, 3)], [1, 2])
except ValueError as error:
    a = 'nested structure.' in str(error) and 'is a sequence, while substructure "type=int str=2" is not' in str(error)
try:
    tf.nest.assert_same_structure([1, 2], [1, 2, 3])
except ValueError as error:
    b = 'same number of elements' in str(error)
result = [a, b]"""),
    Row("while_loop with a host function", """
seen = []
def note(i):
    seen.append(int(i))
    return i
run(
    tf.while_loop(
        lambda i: i < 3, lambda i: tf.reshape(tf.py_func(note, [i], tf.int32), []) + 1, [tf.constant(0)]
    )
)
result = seen"""),
    Row("while_loop, override in the body", """
@tf.RegisterGradient('FlowSin')
def rule(op, g): return g * 10.0
x = tf.constant(1.0)
def body(i, y):
    with tf.get_default_graph().gradient_override_map({'Sin': 'FlowSin'}): return i + 1, tf.sin(y)
_, z = tf.while_loop(lambda i, z: i < 3, body, [0, x])
result = run(tf.gradients(z, x)[0])"""),
    Row("while_loop and cond, override of the graph around the body", """
@tf.RegisterGradient('FlowOuter')
def rule(op, g): return g * 10.0
x, graph = tf.constant(1.0), tf.get_default_graph()
def sin(y):
    with graph.gradient_override_map({'Sin': 'FlowOuter'}): return tf.sin(y)
_, z = tf.while_loop(lambda i, z: i < 3, lambda i, y: (i + 1, tf.cond(y > 0.0, lambda: sin(y), lambda: y)), [0, x])
result = run(tf.gradients([z, tf.sin(x)], x)[0])"""),
    Row("while_loop, custom_gradient in the body", """
f = tf.custom_gradient(lambda t: (tf.round(t), lambda dy: dy * 3.0)); x = tf.constant(1.4)
_, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, f(y * 1.3)), [0, x])
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("map_fn", """
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
y = tf.map_fn(lambda r: tf.reduce_sum(r) * r, x)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("map_fn with a dtype", """
result = run(tf.map_fn(lambda i: tf.cast(i, tf.float32) / 2.0, tf.constant([1, 2, 3]), dtype=tf.float32))"""),
    Row("map_fn of tuples", """
x = tf.constant([1.0, 2.0])
a, b = tf.map_fn(lambda t: (t[0] + t[1], t[0] * t[1]), (x, x * 10.0))
result = run([a, b, tf.gradients([a, b], x)[0]])"""),
    Row("map_fn of unknown length", """
x = tf.placeholder(tf.float32, [None])
y = tf.map_fn(tf.sin, x)
(g,) = tf.gradients(y, x)
result = [run([y, g], {x: np.arange(n)}) for n in (2, 3)]"""),
    Row("scan", """
x = tf.constant([1.0, 2.0, 3.0])
y = tf.scan(lambda a, b: a * b, x)
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("scan with an initializer", """
x = tf.constant([1.0, 2.0, 3.0])
s = tf.constant(10.0)
y = tf.scan(lambda a, b: a + b * b, x, initializer=s)
result = run([y] + tf.gradients(y, [x, s]))"""),
    Row("scan, reverse and tuples", """
x = tf.constant([1.0, 2.0, 3.0])
y = tf.scan(lambda a, b: (a[0] + b, a[1] * b), x, initializer=(0.0, 1.0), reverse=True)
result = run(y)"""),
    Row("foldl and foldr", """
x = tf.constant([1.0, 2.0, 3.0])
a, b = tf.foldl(lambda a, b: a - b, x), tf.foldr(lambda a, b: a - b, x)
result = run([a, b, tf.gradients(a, x)[0], tf.gradients(b, x)[0]])"""),
    Row("TensorArray", """
ta = tf.TensorArray(tf.float32, 3).write(0, [1.0, 2.0]).write(2, [5.0, 6.0]).write(1, [3.0, 4.0])
result = run([ta.stack(), ta.size()])"""),
    Row("TensorArray, unstack, read and gather", """
x = tf.constant([1.0, 2.0, 3.0])
ta = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
y = ta.read(0) * ta.read(2) + tf.reduce_sum(ta.gather([1, 1]))
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("TensorArray, concat and split", """
ta = tf.TensorArray(tf.float32, 2, infer_shape=False).split(tf.constant([1.0, 2.0, 3.0]), [2, 1])
result = run([ta.concat()])"""),
    Row("TensorArray, concat of what a loop wrote", """
x = tf.placeholder(tf.float32, [None, 3])
_, a = tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, t.write(i, x[i])), (0, tf.TensorArray(tf.float32, 4)))
y = a.concat()
result = [y.shape.as_list(), run(y, {x: np.ones((4, 3))})]"""),
    Row("TensorArray, growing", """
_, ta = tf.while_loop(
    lambda i, ta: i < 4,
    lambda i, ta: (i + 1, ta.write(i, i * i)),
    [0, tf.TensorArray(tf.int32, 0, dynamic_size=True)],
)
result = run(ta.stack())"""),
    Row("TensorArray, elements of sizes of their own", """
x = tf.placeholder(tf.float32, [None, 2])
ta = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, x).write(1, tf.zeros([3, 2]))
y = ta.concat()
result = [run([y, tf.gradients(y, x)[0]], {x: np.ones((n, 2))}) for n in (1, 0, 3)]"""),
    Row("gradient through a variable that grows", """
x, n = tf.constant([[1.0, 2.0]]), tf.placeholder(tf.int32, [])
_, y = tf.while_loop(
    lambda i, a: i < n, lambda i, a: (i + 1, tf.concat([a, a[-1:] * x], 0)), [0, x],
    shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])])
result = [run([y, tf.gradients(y, x)[0]], {n: turns}) for turns in (3, 0)]"""),
    Row("gradient through a variable that shrinks", """
x = tf.placeholder(tf.float32, [None, 2])
_, y = tf.while_loop(
    lambda i, a: i < 2, lambda i, a: (i + 1, a[1:] * a[:1] + tf.reduce_mean(a)), [0, x])
result = run([y, tf.gradients(y, x)[0]], {x: np.arange(8.0).reshape(4, 2) / 8})"""),
    Row("gradient through a variable of unknown rank that grows", """
x = tf.placeholder(tf.float32)
_, y = tf.while_loop(
    lambda i, a: i < 2, lambda i, a: (i + 1, tf.concat([a, tf.reduce_mean(a, 0, keepdims=True)], 0)), [0, x])
result = [run([y, tf.gradients(y * y, x)[0]], {x: np.ones(shape)}) for shape in ((2, 2), (3,))]"""),
    Row("TensorArray, scatter makes it longer", """
x = tf.constant([[1.0, -1.0], [10.0, -10.0]])
ta = tf.TensorArray(tf.float32, 0, dynamic_size=True).scatter([1, 4], x)
a, b = ta.read(1), ta.read(4)
result = run([a, b, tf.gradients([a, b], x, grad_ys=[[2.0, 3.0], [4.0, 5.0]])[0]])"""),
    Row("TensorArray, split and written past its end", """
x = tf.constant([1.0, 2.0, 3.0])
y = tf.TensorArray(tf.float32, 3, dynamic_size=True).split(x, [1, 1, 1]).write(3, [4.0]).concat()
result = run([y, tf.gradients(y, x)[0]])"""),
    Row("TensorArray, another shape at a written index", """
ta = tf.TensorArray(tf.float32, 2).write(0, [1.0, 2.0])
ta.write(0, [1.0, 2.0, 3.0])""", raises=("ValueError", "Inconsistent shapes")),
    Row("TensorArray, stack of nothing", """
run(tf.TensorArray(tf.float32, 0, infer_shape=False).stack())""", raises=("UnimplementedError", "not fully defined")),
    Row("an override of Identity around a branch and a map catches those that were asked for", """
@tf.RegisterGradient('TenTimes')
def ten_times(op, dy):
    return 10.0 * dy

x = tf.constant(2.0)
with tf.get_default_graph().gradient_override_map({'Identity': 'TenTimes'}):
    a = tf.cond(x > 0.0, lambda: x * 3.0, lambda: x)
    b = tf.cond(x > 0.0, lambda: tf.identity(x) * 3.0, lambda: x)
    c = tf.reduce_sum(tf.map_fn(lambda e: e * x, tf.constant([1.0, 2.0])))
result = run([tf.gradients(y, x)[0] for y in (a, b, c)])"""),
    Row("TensorArray in a loop, gradient", """
x = tf.constant([1.0, 2.0, 3.0])
ta = tf.TensorArray(tf.float32, 3).unstack(x)
_, total, out = tf.while_loop(
    lambda i, t, o: i < 3,
    lambda i, t, o: (i + 1, t + ta.read(i) ** 2, o.write(i, t)),
    [0, 0.0, tf.TensorArray(tf.float32, 3)],
)
result = run([total, out.stack(), tf.gradients(total, x)[0], tf.gradients(out.stack(), x)[0]])"""),
    Row("dynamic_rnn", """
k = np.arange(24.0).reshape(6, 4) / 20 - 0.5
cell = tf.nn.rnn_cell.BasicRNNCell(4)
x = tf.constant(np.arange(12.0).reshape(2, 3, 2) / 10)
with tf.variable_scope('r', initializer=tf.constant_initializer(k)):
    y, s = tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)
result = [run([y, s, tf.gradients(y, x)[0]]), [v.name for v in tf.trainable_variables()]]"""),
    Row("dynamic_rnn with lengths", """
cell = tf.nn.rnn_cell.GRUCell(
    3, kernel_initializer=tf.constant_initializer(0.2), bias_initializer=tf.constant_initializer(0.1)
)
x = tf.constant(np.arange(12.0).reshape(2, 3, 2) / 10, tf.float32)
y, s = tf.nn.dynamic_rnn(cell, x, sequence_length=[3, 1], dtype=tf.float32)
result = run([y, s, tf.gradients(s, x)[0]])"""),
    Row("LSTMCell", """
cell = tf.nn.rnn_cell.LSTMCell(
    2, use_peepholes=True, initializer=tf.constant_initializer(0.3), forget_bias=0.5
)
x = tf.constant([[1.0, -1.0]])
y, s = cell(x, cell.zero_state(1, tf.float32))
result = [run([y, s.c, s.h]), sorted(v.op.name.split('/')[-1] for v in tf.trainable_variables())]"""),
    Row("MultiRNNCell and static_rnn", """
cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(2) for _ in range(2)])
x = [tf.constant([[1.0, -1.0]]), tf.constant([[0.5, 2.0]])]
with tf.variable_scope('r', initializer=tf.constant_initializer(0.2)):
    ys, state = tf.nn.static_rnn(cell, x, dtype=tf.float32)
result = [run([ys, state[1].c]), sorted(v.name for v in tf.trainable_variables())]"""),
    Row("bidirectional_dynamic_rnn", """
c = [tf.nn.rnn_cell.BasicRNNCell(2) for _ in range(2)]
x = tf.constant(np.arange(12.0).reshape(2, 3, 2) / 10, tf.float32)
with tf.variable_scope('r', initializer=tf.constant_initializer(0.2)):
    (f, b), (sf, sb) = tf.nn.bidirectional_dynamic_rnn(
        c[0], c[1], x, sequence_length=[3, 2], dtype=tf.float32
    )
result = run([f, b, sf, sb])"""),
    Row("a variable assigned between a computation and its gradient", """
def repeated(step):
    return lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, step(a, i)), [0, x])[1]
models = [
    lambda x: x * w * w,
    lambda x: tf.cond(x > 0, lambda: x * w.read_value() * w, lambda: x),
    repeated(lambda a, i: a * w),
    repeated(lambda a, i: a * w.read_value()),
    repeated(lambda a, i: tf.cond(i > 0, lambda: a * w, lambda: a)),
    repeated(lambda a, i: repeated(lambda b, j: b * w)(a)),
    repeated(lambda a, i: a * tf.gather(w * tf.ones([3]), i)),
    lambda x: tf.reduce_sum(tf.map_fn(lambda t: t * w * w, tf.stack([x, x]))),
    lambda x: tf.scan(lambda a, t: a * t * w, tf.stack([x, x]))[1],
]
fetches = []
for assigned_before in (False, True):
    for n, model in enumerate(models):
        with tf.variable_scope('m%d%d' % (n, assigned_before)):
            w = tf.get_variable('w', initializer=3.0, use_resource=True)
            x = tf.constant(2.0)
            with tf.control_dependencies([tf.assign(w, 4.0)] if assigned_before else []):
                y = model(tf.identity(x))
            with tf.control_dependencies([y]):
                late = tf.assign(w, 10.0)
            with tf.control_dependencies([late]):
                one = tf.identity(1.0)
            fetches.append([y, *tf.gradients(y, [x, w], one)])
result = run(fetches)"""),
    Row("numbers drawn in a branch go on where it was taken last", """
tf.set_random_seed(3)
p, n = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None, 3])
drop = tf.layers.dropout(n, 0.5, training=p)
one = tf.cond(p, lambda: tf.random_normal([2], seed=2), lambda: tf.random_uniform([2], seed=4))
of_value = tf.cond(tf.reduce_sum(n) > 5.0, lambda: n[0] * tf.random_uniform([3], seed=8), lambda: n[0])
host = tf.cond(p, lambda: tf.random_uniform([2], seed=5) + tf.py_func(lambda: np.float32(1), [], tf.float32), lambda: one)
which = tf.switch_case(tf.cast(p, tf.int32), [lambda: tf.random_normal([], seed=1), lambda: tf.random_normal([], seed=6)])
known = tf.cond(tf.constant(True), lambda: tf.random_uniform([], seed=9), lambda: 0.0)
with tf.Session() as s:
    result = [s.run([drop, one, of_value, host, which, known], {p: taken, n: np.ones((rows, 3))})
              for taken, rows in [(True, 2), (False, 1), (True, 1), (True, 3), (False, 2), (True, 2)]]"""),
    Row("strings that end in zero bytes, in loops, queues and variables", """
s = tf.placeholder_with_default(np.array([b'a\\0\\0', b'\\0', b'b'], object), [None])
more = lambda t: tf.string_join([t, b'\\0'])
q = tf.FIFOQueue(9, tf.string, shapes=[[]])
v = tf.Variable(b'v\\0')
p, late = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [])
first, then = more(p), tf.string_join([more(p), late])
fetches = [tf.map_fn(more, s), tf.map_fn(lambda t: tf.size(tf.decode_raw(t, tf.uint8)), s, tf.int32), tf.foldl(lambda a, b:
           tf.string_join([a, b]), s), tf.scan(lambda a, b: tf.string_join([a, b]), s), tf.TensorArray(tf.string, 3).unstack(s).read(0),
           tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t.write(i, s[i])), [0, tf.TensorArray(tf.string, 3)])[1].stack(),
           tf.cond(tf.size(s) > 1, lambda: more(s[0]), lambda: ''), q.dequeue_many(2), q.dequeue(), more(v), v]
with tf.Session() as session:
    session.run(v.initializer)
    for put in (q.enqueue(b'q\\0'), q.enqueue_many([s])):
        session.run(put)
    values = session.run(fetches)
    handle = session.partial_run_setup([first, then], [p, late])
    values += [session.partial_run(handle, first, {p: b'p\\0'}), session.partial_run(handle, then, {late: b'\\0'})]
values.append(np.array([c for c in tf.data.Dataset.from_tensors(b'd\\0').map(more).make_one_shot_iterator().get_next().eval(
    session=tf.Session())]))
plain = lambda x: list(x) if isinstance(x, bytes) else [plain(y) for y in x] if getattr(x, 'ndim', 0) else int(x)
result = [plain(x) for x in values]"""),
    Row("a matrix of truth values", """
x = tf.constant([True, True])
result = run([tf.eye(2, dtype=tf.bool), tf.matrix_diag_part(tf.matrix_diag(x))])"""),
    Row("fewer than no turns", """
n = tf.placeholder(tf.int32, [])
double = lambda n: tf.while_loop(lambda a: a < 100.0, lambda a: 2.0 * a, [1.0], maximum_iterations=n)
with tf.Session() as s:
    result = [s.run(double(n), {n: k}) for k in (-2, 0, 3)] + s.run([double(-1), double(2)])"""),
    Row("a branch that returns nothing", "tf.cond(tf.constant(True), lambda: None, lambda: None)",
        raises=("ValueError", "return value")),
    Row("an element of unknown shape, never written", "run(tf.TensorArray(tf.float32, 2).read(0))",
        raises=("InvalidArgumentError", "Could not read")),
    Row("arrays that bodies return", """
a, x = np.array([1.0, 2.0, 3.0], np.float32), tf.constant([4.0, 5.0, 6.0])
result = [run(t) for t in (
    tf.while_loop(lambda i, h: i < 2, lambda i, h: [i + 1, a], [0, x]), tf.map_fn(lambda e: a, x),
    tf.scan(lambda h, e: a, x, initializer=a), tf.foldl(lambda h, e: a * 2.0, x, initializer=a),
    tf.cond(x[0] > 0.0, lambda: [a, a], lambda: [x, x]), tf.tuple([a, None, x])[0])]"""),
]
