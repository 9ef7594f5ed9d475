"""What TF1 refuses: the type of the exception and a word of its message."""
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # While the graph is built.
    _refused("types do not mix", "TypeError", "type", "tf.constant(1.0) + tf.constant(1)"),
    _refused("types do not mix in matmul", "TypeError", "type",
             "tf.matmul(tf.ones([2, 2]), tf.ones([2, 2], tf.float64))"),
    _refused("float into an int tensor", "TypeError", "int32", "tf.constant(1) + 1.5"),
    _refused("float32 array and float64 tensor", "TypeError", "float",
             "tf.constant(1.0, tf.float64) + np.ones(2, 'float32') * tf.constant(1.0)"),
    _refused("string into a float", "TypeError", "float32", "tf.constant('a', tf.float32)"),
    _refused("None is no tensor", "ValueError", "None", "tf.convert_to_tensor(None)"),
    _refused("None as an input", "ValueError", "None", "tf.exp(None)"),
    _refused("an object is no tensor", "TypeError", "", "tf.convert_to_tensor(object())"),
    _refused("tensor of another type asked", "ValueError", "float64",
             "tf.convert_to_tensor(tf.constant(1.0), tf.float64)"),
    _refused("inner sizes of matmul", "ValueError", "equal", "tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))"),
    _refused("rank of matmul", "ValueError", "rank", "tf.matmul(tf.ones([2]), tf.ones([2, 3]))"),
    _refused("broadcast", "ValueError", "", "tf.ones([2, 3]) + tf.ones([2, 4])"),
    _refused("reshape to another size", "ValueError", "reshape", "tf.reshape(tf.ones([2, 3]), [4])"),
    _refused("reshape with two unknowns", "Exception", "-1", "run(tf.reshape(tf.ones([2, 3]), [-1, -1]))",
             asked=False),
    _refused("concat of unlike shapes", "ValueError", "", "tf.concat([tf.ones([2, 3]), tf.ones([2, 4])], 0)"),
    _refused("stack of unlike shapes", "ValueError", "shape", "tf.stack([tf.ones([2]), tf.ones([3])])"),
    _refused("stack, axis out of range", "ValueError", "axis", "tf.stack([tf.ones([2])], axis=3)"),
    _refused("reduction over a missing axis", "ValueError", "", "tf.reduce_sum(tf.ones([2]), 1)"),
    _refused("squeeze of a size that is not 1", "ValueError", "", "tf.squeeze(tf.ones([2, 3]), [0])"),
    _refused("transpose with a wrong permutation", "ValueError", "",
             "tf.transpose(tf.ones([2, 3]), [0, 1, 2])"),
    _refused("split that does not divide", "ValueError", "", "tf.split(tf.ones([5]), 2)"),
    _refused("index out of range", "ValueError", "out of bounds", "tf.ones([2])[5]"),
    _refused("too many indices", "ValueError", "", "tf.ones([2])[0, 0]"),
    _refused("a float as an index", "TypeError", "", "tf.ones([2])[0.5]"),
    _refused("channels of conv2d", "ValueError", "",
             "tf.nn.conv2d(tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 2, 5]), [1, 1, 1, 1], 'SAME')"),
    _refused("set_shape against the shape", "ValueError", "3", "tf.ones([2, 3]).set_shape([3, 3])"),
    _refused("labels and logits of unlike size", "ValueError", "", """
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.ones([2, 2], tf.int32), logits=tf.ones([2, 3]))"""),
    _refused("cross entropy with positional arguments", "ValueError", "named arguments",
             "tf.nn.softmax_cross_entropy_with_logits(tf.ones([2, 3]), tf.ones([2, 3]))", asked=False),
    _refused("a tensor as a condition", "TypeError", "bool", "if tf.constant(True): pass"),
    _refused("a tensor in a Python and", "TypeError", "bool", "tf.constant(True) and tf.constant(False)"),
    _refused("len of a tensor", "TypeError", "len", "len(tf.ones([2]))"),
    _refused("item assignment", "TypeError", "assign", "x = tf.ones([2]); x[0] = 1.0"),
    _refused("an invalid name", "ValueError", "valid", "tf.constant(1.0, name='a b')"),
    _refused("an invalid scope", "ValueError", "valid", "with tf.name_scope('a b'): pass"),
    _refused("a missing tensor", "KeyError", "x:0", "graph.get_tensor_by_name('x:0')"),
    _refused("a missing output", "KeyError", "",
             "tf.constant(1.0, name='x'); graph.get_tensor_by_name('x:1')"),
    _refused("a missing operation", "KeyError", "x", "graph.get_operation_by_name('x')"),
    _refused("a tensor's name without an output", "ValueError", "",
             "tf.constant(1.0, name='x'); graph.get_tensor_by_name('x')"),
    _refused("two graphs", "ValueError", "graph", """
with tf.Graph().as_default(): a = tf.constant(1.0)
a + tf.constant(1.0)"""),
    _refused("a finalized graph", "RuntimeError", "finalized", "graph.finalize(); tf.constant(1.0)"),
    _refused("variable twice", "ValueError", "already exists",
             "tf.get_variable('v', [1]); tf.get_variable('v', [1])"),
    _refused("reuse of what is not there", "ValueError", "does not exist",
             "with tf.variable_scope('s', reuse=True): tf.get_variable('v', [1])"),
    _refused("reuse with another shape", "ValueError", "shape", """
tf.get_variable('v', [1])
with tf.variable_scope(tf.get_variable_scope(), reuse=True): tf.get_variable('v', [2])"""),
    _refused("reuse with another type", "ValueError", "dtype", """
tf.get_variable('v', initializer=np.ones(1))
with tf.variable_scope(tf.get_variable_scope(), reuse=True): tf.get_variable('v', [1])"""),
    _refused("get_variable without a shape", "ValueError", "shape", "tf.get_variable('v')"),
    _refused("get_variable with shape and value", "ValueError", "shape",
             "tf.get_variable('v', [2], initializer=tf.ones([2]))"),
    _refused("assign of another shape", "ValueError", "shape", "tf.assign(tf.Variable([1.0, 2.0]), [1.0])"),
    _refused("variable without a value", "ValueError", "initial_value", "tf.Variable()"),
    _refused("cond's branches of unlike types", "ValueError", "",
             "tf.cond(tf.constant(True), lambda: 1, lambda: 1.0)"),
    _refused("cond with a Python bool", "TypeError", "bool", "tf.cond(True, lambda: 1, lambda: 2)"),
    _refused("cond's branches of unlike structure", "ValueError", "",
             "tf.cond(tf.constant(True), lambda: (tf.constant(1), tf.constant(2)), lambda: tf.constant(1))"),
    _refused("a loop that changes a shape", "ValueError", "shape",
             "tf.while_loop(lambda x: True, lambda x: tf.concat([x, x], 0), [tf.ones([1])])"),
    _refused("a loop that changes a type", "Exception", "",
             "run(tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.float32), [tf.constant(0)]))"),
    _refused("a loop whose body returns too few", "ValueError", "",
             "tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [tf.constant(0), tf.constant(0)])"),
    # Gradients.
    _refused("a name registered twice", "KeyError", "ErrorsTwice", """
tf.RegisterGradient('ErrorsTwice')(lambda op, g: g)
exec("tf.RegisterGradient('ErrorsTwice')(lambda op, g: 2.0 * g)", {'tf': tf})"""),
    _refused("a rule that is not callable", "TypeError", "", "tf.NotDifferentiable(3)"),
    _refused("a rule's name that is not a string", "TypeError", "string",
             "tf.RegisterGradient(lambda op, g: g)"),
    _refused("override map of something else", "TypeError", "",
             "with graph.gradient_override_map({'Exp': 3}): pass"),
    _refused("override map with a bad key", "TypeError", "",
             "with graph.gradient_override_map({3: 'Exp'}): pass"),
    _refused("a rule with too many gradients", "ValueError", "gradients", """
@tf.RegisterGradient('ErrorsTooMany')
def rule(op, g): return g, g
x = tf.constant(1.0)
with graph.gradient_override_map({'Exp': 'ErrorsTooMany'}): y = tf.exp(x)
tf.gradients(y, x)"""),
    _refused("a rule with a wrong shape", "ValueError", "shape", """
@tf.RegisterGradient('ErrorsShape')
def rule(op, g): return tf.ones([3])
x = tf.constant([1.0, 2.0])
with graph.gradient_override_map({'Exp': 'ErrorsShape'}): y = tf.exp(x)
tf.gradients(y, x)"""),
    _refused("a rule that raises", "ZeroDivisionError", "", """
@tf.RegisterGradient('ErrorsRaises')
def rule(op, g): return g * (1 / 0)
x = tf.constant(1.0)
with graph.gradient_override_map({'Exp': 'ErrorsRaises'}): y = tf.exp(x)
tf.gradients(y, x)"""),
    _refused("grad_ys of a wrong type", "TypeError", "float",
             "x = tf.constant(1.0); tf.gradients(tf.exp(x), x, tf.constant(1))"),
    _refused("grad_ys of a wrong number", "ValueError", "",
             "x = tf.constant(1.0); tf.gradients(tf.exp(x), x, [tf.constant(1.0), tf.constant(1.0)])"),
    _refused("gradient of a complex y", "TypeError", "complex",
             "z = tf.constant(1j); tf.gradients(z * z, z)"),
    _refused("unconnected_gradients of another value", "ValueError", "",
             "x = tf.constant(1.0); tf.gradients(x, x, unconnected_gradients='nonsense')"),
    _refused("prevent_gradient", "LookupError", "no",
             "x = tf.constant(1.0); tf.gradients(tf.raw_ops.PreventGradient(input=x, message='no'), x)"),
    _refused("custom_gradient with too many gradients", "ValueError", "", """
f = tf.custom_gradient(lambda x: (x * 2.0, lambda dy: (dy, dy)))
x = tf.constant(1.0)
tf.gradients(f(x), x)"""),
    _refused("minimize without variables", "ValueError", "variables",
             "tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))"),
    _refused("minimize without gradients", "ValueError", "No gradients",
             "v = tf.Variable(1.0); tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))"),
    _refused("minimize of an integer", "ValueError", "",
             "v = tf.Variable(1); tf.train.GradientDescentOptimizer(0.1).minimize(v * 2)"),
    _refused("apply_gradients of nothing", "ValueError", "No",
             "tf.train.GradientDescentOptimizer(0.1).apply_gradients([])"),
    # While the graph is run.
    _refused("a placeholder not fed", "InvalidArgumentError", "feed a value",
             "x = tf.placeholder(tf.float32, name='x'); run(x * 2.0)"),
    _refused("a fed value of a wrong type", "ValueError", "float",
             "x = tf.placeholder(tf.float32); run(x, {x: 'a'})"),
    _refused("a fed tensor", "TypeError", "feed",
             "x = tf.placeholder(tf.float32); run(x, {x: tf.constant(1.0)})"),
    _refused("a fed key that is no tensor", "TypeError", "feed_dict",
             "x = tf.constant(1.0); run(x, {3: 1.0})"),
    _refused("an uninitialised variable", "FailedPreconditionError", "uninitialized", """
v = tf.Variable(1.0)
with tf.Session() as s: s.run(v)"""),
    _refused("fetching None", "TypeError", "None", "run(None)"),
    _refused("fetching a number", "TypeError", "fetch", "run(3)"),
    _refused("fetching an unknown name", "ValueError", "", "run('nothing:0')"),
    _refused("fetching from another graph", "ValueError", "graph", """
with tf.Graph().as_default(): a = tf.constant(1.0)
run(a)"""),
    _refused("a closed session", "RuntimeError", "closed",
             "x = tf.constant(1.0); s = tf.Session(); s.close(); s.run(x)"),
    _refused("eval without a session", "ValueError", "session", "tf.constant(1.0).eval()"),
    _refused("a failing assertion", "InvalidArgumentError", "",
             "run(tf.assert_equal(tf.placeholder_with_default(1, []), 2))"),
    _refused("tf.Assert", "InvalidArgumentError", "oops",
             "run(tf.Assert(tf.placeholder_with_default(False, []), ['oops']))"),
    _refused("check_numerics", "InvalidArgumentError", "nan",
             "run(tf.check_numerics(tf.log(tf.placeholder_with_default(-1.0, [])), 'found nan'))"),
    _refused("gather out of range", "InvalidArgumentError", "",
             "run(tf.gather([1.0, 2.0], tf.placeholder_with_default([5], [1])))"),
    _refused("integer division by zero", "InvalidArgumentError", "zero",
             "run(tf.constant(1) // tf.placeholder_with_default(0, []))"),
    _refused("a reshape that fails when run", "InvalidArgumentError", "",
             "x = tf.placeholder(tf.float32, [None]); run(tf.reshape(x, [2, 2]), {x: [1.0, 2.0, 3.0]})"),
    _refused("a matmul that fails when run", "InvalidArgumentError", "",
             "x = tf.placeholder(tf.float32, [None, None]); run(tf.matmul(x, x), {x: np.ones((2, 3))})"),
    _refused("labels out of range", "InvalidArgumentError", "", """
run(
    tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.placeholder_with_default([7], [1]), logits=tf.ones([1, 3])
    )
)"""),
    # TensorFlow wraps it in an UnknownError; here it comes as it was raised
    _refused("a host function that raises", "ZeroDivisionError", "",
             "run(tf.py_func(lambda: np.float32(1 / 0), [], tf.float32))", asked=False),
    _refused("a host function's wrong type", "InvalidArgumentError", "float",
             "run(tf.py_func(lambda: np.float64(1), [], tf.float32))"),
    _refused("a host function's wrong number", "InvalidArgumentError", "",
             "run(tf.py_func(lambda: (np.float32(1),), [], [tf.float32, tf.float32]))"),
    _refused("ensure_shape", "InvalidArgumentError", "",
             "x = tf.placeholder(tf.float32); run(tf.ensure_shape(x, [2]), {x: [1.0]})"),
    _refused("non-positive Cholesky", "InvalidArgumentError", "", "run(tf.cholesky(-tf.eye(2)))",
             asked=False),
    _refused("singular inverse", "InvalidArgumentError", "", "run(tf.matrix_inverse(tf.zeros([2, 2])))"),
    Row("files that cannot be", """
def code(f):
    try:
        f()
    except tf.OpError as error:
        return type(error).__name__
import os, tempfile
folder = tempfile.mkdtemp()
path = os.path.join(folder, 'file')
with tf.gfile.GFile(path, 'w') as file:
    file.write('text')
result = [code(f) for f in (
    lambda: tf.gfile.GFile(folder + '/none').read(), lambda: tf.gfile.MkDir(folder), lambda: tf.gfile.MakeDirs(path + '/below'),
    lambda: tf.gfile.GFile(path, 'w').read(), lambda: tf.gfile.GFile(path, 'r').write('more'),
    lambda: tf.gfile.GFile(path + '/below', 'w').write('text'), lambda: tf.summary.FileWriter(path + '/below'),
    lambda: tf.gfile.Remove(folder), lambda: run(tf.read_file(folder + '/none')))]"""),
]
