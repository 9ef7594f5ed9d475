"""Sessions: structures of fetches, feeding, eval, several sessions, host functions, reads and writes."""
from corpus import Row

ROWS = [
    Row("fetch structures", """
import collections
P = collections.namedtuple('P', 'a b')
x, y = tf.constant(1.0), tf.constant([2, 3])
out = run([x, (y, [x]), {'k': y, 'l': (x,)}, P(x, y)])
result = [out, [type(o).__name__ for o in out], [out[3].a, out[3].b]]"""),
    Row("a single fetch", """
result = [run(tf.constant(3)), type(run(tf.constant([3]))).__name__, run([]), run(())]"""),
    Row("the same fetch twice", "x = tf.constant(1.0); result = run([x, x, (x, {'x': x})])"),
    Row("an operation gives None", "x = tf.constant(1.0); result = run([x.op, tf.no_op(), x])"),
    Row("fetch by name", "tf.constant(4.0, name='x'); result = run(['x:0', 'x'])"),
    Row("fetch a variable", "v = tf.Variable([1.0, 2.0]); result = run([v, {'v': v}, v.value(), v + 1.0])"),
    Row("fetch an ordered dict", """
import collections
d = collections.OrderedDict([('b', tf.constant(1)), ('a', tf.constant(2))])
out = run(d)
result = [list(out), type(out).__name__, list(out.values())]"""),
    Row("fetch IndexedSlices", """
s = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([5, 1]))
out = run(s)
result = [type(out).__name__, out.values, out.indices, out.dense_shape]"""),
    Row("fetch a SparseTensor", """
s = tf.SparseTensor([[0, 1]], [3.0], [2, 2])
out = run(s)
result = [type(out).__name__, out.indices, out.values, out.dense_shape]"""),
    Row("feed a placeholder", "x = tf.placeholder(tf.float32, [None]); result = run(x * 2.0, {x: [1, 2]})"),
    Row("feed by name", "x = tf.placeholder(tf.float32, [], name='x'); result = run(x * 2.0, {'x:0': 3.0})"),
    Row("feed an inner tensor", """
x = tf.constant(1.0)
y = tf.exp(x)
z = y * 2.0
result = run([z, y, x], {y: 10.0})"""),
    Row("feed a constant", "x = tf.constant(1.0); result = run(x + 1.0, {x: 5.0})"),
    Row("feed a variable", "v = tf.Variable(1.0); y = v * 2.0; result = [run(y, {v: 7.0}), run(y)]"),
    Row("feed what is fetched", "x = tf.placeholder(tf.float32); result = run(x, {x: [1.0]})"),
    Row("feed a placeholder_with_default", """
x = tf.placeholder_with_default([1.0], [None])
result = [run(x), run(x, {x: [2.0, 3.0]})]"""),
    # TensorFlow 2 folds y in spite of the feed
    Row("feed a gradient's inner tensor", """
x = tf.constant(2.0)
y = x * x
z = tf.sin(y)
(g,) = tf.gradients(z, x)
result = [float(v) for v in run([g, z], {y: 0.0})]""",
        expect=[4.0, 0.0]),
    Row("feed stops what feeds it", """
calls = []
x = tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32); y = x + 1.0
result = [run(y, {x: 5.0}), len(calls)]"""),
    Row("is_feedable", """
x = tf.constant(1.0)
graph.prevent_feeding(x)
result = [graph.is_feedable(x), graph.is_feedable(tf.constant(2.0)), graph.is_fetchable(x)]"""),
    Row("eval and run", """
with tf.Session() as s:
    v = tf.Variable(2.0)
    v.initializer.run()
    x = tf.placeholder(tf.float32)
    result = [
        v.eval(),
        (x * v).eval({x: 3.0}),
        (x * v).eval(feed_dict={x: 4.0}, session=s),
        tf.get_default_session() is s,
    ]"""),
    Row("InteractiveSession", """
s = tf.InteractiveSession()
a = tf.constant(2.0).eval()
s.close()
result = [a, tf.get_default_session() is None]"""),
    Row("two sessions", """
v = tf.Variable(1.0); add = v.assign_add(1.0)
a, b = tf.Session(), tf.Session()
for s in (a, b): s.run(v.initializer)
a.run(add); a.run(add); b.run(add)
result = [a.run(v), b.run(v)]"""),
    Row("the graph grows between runs", """
x = tf.constant(1.0)
a = run(x)
y = x + 1.0
b = run(y)
v = tf.Variable(9.0)
run(v.initializer)
result = [a, b, run(v * y)]"""),
    Row("session of another graph", """
with tf.Graph().as_default() as g: x = tf.constant(1.0)
with tf.Session(graph=g) as s: result = [s.run(x), s.graph is g, tf.get_default_graph() is g]"""),
    Row("make_callable", """
x = tf.placeholder(tf.float32)
s = tf.Session()
f = s.make_callable([x * 2.0, x + 1.0], [x])
result = [f(3.0), f(4.0)]"""),
    Row("partial_run", """
a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
y = a * 2.0; z = y + b
s = tf.Session(); h = s.partial_run_setup([y, z], [a, b])
out = s.partial_run(h, y, {a: 3.0})
result = [out, s.partial_run(h, z, {b: out})]"""),
    Row("results are the caller's", """
v = tf.Variable([1.0, 2.0])
a = run(v)
a[0] = 9.0
result = [a, run(v), a.flags.writeable]"""),
    Row("a failed run leaves the variable", """
v = tf.Variable(1.0); bad = tf.Assert(tf.placeholder_with_default(False, []), ['no'])
with tf.control_dependencies([bad]): a = v.assign(5.0)
result = [raised(lambda: run(a))[0], run(v)]"""),
    Row("a host function runs once a run", """
calls = []
x = tf.py_func(lambda: calls.append(1) or np.float32(len(calls)), [], tf.float32)
result = [run([x, x + 1.0, x * 2.0]), run(x), len(calls)]"""),
    Row("a host function not needed does not run", """
calls = []
x = tf.py_func(lambda: calls.append(1) or np.float32(1), [], tf.float32); run(tf.constant(1.0))
result = len(calls)"""),
    Row("a host function without outputs", """
calls = []
op = tf.py_func(lambda v: calls.append(v.tolist()), [tf.constant([1.0])], [])
result = [run(op), calls]"""),
    Row("what a host function receives", """
seen = []
def f(a, b, c, d):
    seen.extend([type(a).__name__, a.dtype.name, a.shape, type(b).__name__, b.dtype.name, c, d.dtype.name])
    return a
y = tf.py_func(f, [tf.constant([1.0]), tf.constant(2), tf.constant('s'), tf.constant(True)], tf.float32)
run(y)
result = seen"""),
    Row("what a host function may return", """
fs = [lambda: np.float32(1), lambda: np.ones(2, 'f'), lambda: [np.float32(1)]]
result = [run(tf.py_func(f, [], tf.float32)) for f in fs[:2]] + [run(tf.py_func(fs[2], [], [tf.float32])),
          run(tf.py_func(lambda: (np.int64(1), b'x', True), [], [tf.int64, tf.string, tf.bool]))]"""),
    Row("numpy_function", """
result = run(tf.numpy_function(lambda a, b: a + b, [tf.constant([1.0]), tf.constant([2.0])], tf.float32))"""),
    Row("a host function's list", """
a, b = tf.py_func(np.frexp, [tf.constant([8.0, 0.75])], [tf.float32, tf.int32])
result = run([a, b])"""),
    Row("a counter", """
v = tf.Variable(0)
up = v.assign_add(1)
[run(up) for _ in range(5)]
result = run(v)"""),
    Row("load and eval of a variable", """
v = tf.Variable([1.0])
s = tf.Session()
v.load([5.0], s)
result = s.run(v)"""),
    Row("count_up_to", """
v = tf.Variable(0)
up = v.count_up_to(2)
result = [run(up), run(up), raised(lambda: run(up))[0]]"""),
    Row("scatter updates", """
v = tf.Variable([1.0, 2.0, 3.0, 4.0])
result = [
    run(tf.scatter_update(v, [1], [9.0])),
    run(tf.scatter_add(v, [0, 0], [1.0, 2.0])),
    run(tf.scatter_sub(v, [3], [1.0])),
    run(tf.scatter_mul(v, [0], [2.0])),
    run(tf.scatter_nd_update(v, [[2]], [0.5])),
]"""),
    Row("assignment to a slice", """
v = tf.Variable([1.0, 2.0, 3.0])
result = [run(v[1:].assign([7.0, 8.0])), run(v)]"""),
    Row("print passes its value", "x = tf.constant([1.0, 2.0]); result = run(tf.Print(x, [x], 'x'))"),
    Row("random numbers change from run to run", """
x = tf.random_uniform([3])
a, b = run(x), run(x)
result = bool((a != b).any())"""),
    Row("seeds repeat in a new session", """
x, y = tf.random_normal([3], seed=1), tf.random_normal([3], seed=1)
def two():
    with tf.Session() as s: return s.run(x).tolist() + s.run(x).tolist()
with tf.Session() as s: a, b = s.run([x, y])
result = [two() == two(), bool((a == b).all())]"""),
    Row("graph seed", """
def draw(seed):
    with tf.Graph().as_default():
        tf.set_random_seed(seed); x, y = tf.random_uniform([2]), tf.random_uniform([2])
        with tf.Session() as s: return [v.tolist() for v in s.run([x, y])]
a, b, c = draw(1), draw(1), draw(2)
result = [a == b, a == c, a[0] == a[1]]"""),
    Row("a random number used twice is one number", """
x = tf.random_uniform([])
a, b = run([x, x * 1.0])
result = bool(a == b)"""),
    Row("random ranges", """
tf.set_random_seed(0)
u, i, t = (
    tf.random_uniform([1000], 2.0, 3.0),
    tf.random_uniform([1000], 5, 8, tf.int32),
    tf.truncated_normal([1000]),
)
a, b, c = run([u, i, t])
result = [
    bool((a >= 2).all() and (a < 3).all()),
    sorted(set(b.tolist())),
    bool((abs(c) <= 2).all()),
    bool(abs(c.mean()) < 0.2),
]"""),
    Row("random_shuffle and multinomial", """
s = run(tf.random_shuffle(tf.range(10))); m = run(tf.multinomial(tf.log([[0.5, 0.5, 0.0]]), 50))
result = [sorted(s.tolist()), m.shape, m.dtype.name, bool((m < 2).all())]"""),
    Row("dropout keeps its sum", """
tf.set_random_seed(1)
y = run(tf.nn.dropout(tf.ones([1000]), keep_prob=0.5))
result = [sorted(set(y.tolist())), bool(400 < (y > 0).sum() < 600)]"""),
    Row("config is accepted", """
c = tf.ConfigProto(allow_soft_placement=True)
c.gpu_options.allow_growth = True
result = tf.Session(config=c).run(tf.constant(1.0))"""),
]
