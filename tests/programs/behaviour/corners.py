"""Corners that TensorFlow's own unit tests hold it to: what few programs notice, and some do."""
from corpus import Row


def _refused(id, kind, word, code, **options):
    return Row(id, code, raises=(kind, word), **options)


ROWS = [
    # Graphs.
    Row("what modules ask of tensors", """
x, y = tf.placeholder(tf.float32, [None, 3], name='x'), tf.placeholder(tf.float32, [2], name='y')
a, b = tf.unique(y)
result = [x._shape_as_list(), y._shape_tuple(), y._rank(), a._as_node_def_input(), b._as_node_def_input(), y.op._id > x.op._id]"""),
    Row("what modules ask of operations", """
x = tf.constant(1)
with tf.control_dependencies([x.op]):
    y = tf.constant([2.0], tf.float64)
z = tf.unique(y)[0].op
result = [[o.name for o in x.op._control_outputs], z._output_types, [t.name for t in z._input_types], z.op_def.name,
          len(z.op_def.input_arg), len(z.op_def.output_arg)]"""),
    Row("a constant's attribute is a message", """
op = tf.constant([[1, 2], [3, 4]]).op
result = [tf.make_ndarray(op.get_attr('value')), op.get_attr('value').tensor_shape.dim[0].size]"""),
    Row("a graph without functions", "result = len(graph.as_graph_def().library.function)"),
    Row("names in a list of tensors and numbers", """
x = tf.constant(1, name='x')
tf.convert_to_tensor([[x, 2], [3, x]])
tf.stack([x, 4])
result = names()"""),
    _refused("update_input, another shape", "InvalidArgumentError", "incompatible shapes: [2,2] and [3,1]", """
z = tf.ones([3, 1]) + tf.ones([3, 1])
z.op._update_input(0, tf.ones([2, 2]))"""),
    _refused("a tensor's name without its output", "ValueError", "Tensor names must be of the form", """
tf.constant(1, name='a')
graph.get_tensor_by_name('a')"""),
    _refused("a scope's default name that is none", "TypeError", "values", "tf.name_scope('k', tf.constant(1)).__enter__()"),
    Row("stripped scopes", """
ops = module('python.framework.ops')
result = [ops.strip_name_scope(n, 'h') for n in ('h/h/w', 'h///h/w', '^h/w', 'loc:@h/w', 'hh/w', 'h')]"""),
    Row("an assertion's operation", """
try:
    run(tf.Assert(tf.constant(False), ['x'], name='a'))
except tf.errors.InvalidArgumentError as error:
    result = error.op.name.split('/')[0]"""),
    Row("the trace of a run", """
import json
timeline = module('python.client.timeline')
data = tf.RunMetadata()
with tf.Session() as s:
    s.run(tf.constant(1.0) + 1.0, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=data)
result = sorted(json.loads(timeline.Timeline(data.step_stats).generate_chrome_trace_format()))"""),
    # Gradients.
    _refused("hessians where the gradient does not depend on x", "ValueError", "", """
x = tf.placeholder(tf.float32, [10, 10])
tf.hessians(x, x)"""),
    Row("custom_gradient of a method", """
class Model:
    slope = 5.0

    @tf.custom_gradient
    def twice(self, x):
        return x * 2.0, lambda dy: dy * self.slope

x = tf.constant(3.0)
y = Model().twice(x)
result = run([y, tf.gradients(y, x)[0]])"""),
    # Defun.
    Row("names and results of calls of a Defun", """
function = module('python.framework.function')

@function.Defun(tf.float32, func_name='Foo')
def foo(a):
    return a + 1

@function.Defun(tf.float32)
def two(a):
    b = a + 1.0
    return b, b

@function.Defun(tf.float32)
def one(a):
    return [a]

@function.Defun(tf.float32)
def none(a):
    a + 1.0

with tf.name_scope('my'):
    inner = foo([1.0], name='precious')
result = [foo([1.0]).op.name, foo([1.0]).op.name, inner.op.name, run(two([1.0])), type(two([1.0])).__name__,
          run(one([1.0])), isinstance(none([1.0]), tf.Operation), foo.stateful_ops, len(foo.captured_inputs)]"""),
    Row("a Defun's gradient by an argument it ignores", """
function = module('python.framework.function')
foo = function.Defun(tf.float32, tf.float32, func_name='Foo')(lambda x, y: x * 2)
x, y = tf.constant(1.0), tf.constant([2.0, 3.0])
result = run(tf.gradients(foo(x, y), [x, y]))"""),
    Row("symbolic_gradient", """
function = module('python.framework.function')
functional_ops = module('python.ops.functional_ops')

@function.Defun(tf.float32, func_name='Quad')
def square(x):
    return x * x + 1.0

y = square([2.0])
dx = functional_ops.symbolic_gradient(input=[tf.constant([2.0]), tf.constant([0.1])], Tout=[tf.float32], f='Quad')
result = run([y, *dx])"""),
    Row("calls of a Defun share its variables", """
function = module('python.framework.function')

@function.Defun(tf.float32)
def foo(x):
    return x + tf.get_variable('w', [2], initializer=tf.ones_initializer())

x = tf.ones([2])
with tf.variable_scope('a'):
    y = foo(x)
with tf.variable_scope('b'):
    z = foo(x)
result = [[v.name for v in tf.global_variables()], run([y, z])]"""),
    _refused("Defun: None among the results", "ValueError", "can not return None", """
function = module('python.framework.function')
function.Defun()(lambda: (None, None)).definition"""),
    _refused("Defun: a default value", "ValueError", "are not supported", """
function = module('python.framework.function')
function.Defun()(lambda x=1: x)"""),
    _refused("Defun: too many arguments", "ValueError", "0", """
function = module('python.framework.function')
function.Defun()(lambda: tf.constant(1))(1)"""),
    _refused("Defun: unknown keywords", "ValueError", "Unknown keyword arguments", """
function = module('python.framework.function')
function.Defun(tf.int32)(lambda x: x)(1, device='/cpu:0')"""),
    _refused("Defun: names for more results", "InvalidArgumentError", "output names size = 2 outputs size = 1", """
function = module('python.framework.function')
function.Defun(tf.float32, out_names=['a', 'b'])(lambda x: x)([1.0])"""),
    _refused("Defun: grad_func gives too many", "InvalidArgumentError", "SymGrad expects to return 1", """
function = module('python.framework.function')
slope = function.Defun(tf.float32, tf.float32)(lambda x, dy: (x, dy))
x = tf.constant(1.0)
run(tf.gradients(function.Defun(tf.float32, grad_func=slope)(lambda x: x * 2.0)(x), x))""", asked=False),
    # Variables.
    Row("a variable is true", "result = bool(tf.Variable(0.0))"),
    Row("assign without reading", """
v = tf.Variable([1.0])
ops = [v.assign([2.0], read_value=False), v.assign_add([2.0], read_value=False), v.assign_sub([2.0], read_value=False)]
result = [isinstance(op, tf.Operation) for op in ops]"""),
    Row("enumerations of variables", """
v = tf.Variable(1.0)
result = [v.aggregation.name, v.synchronization.name, tf.VariableAggregation.MEAN.name]"""),
    Row("what a variable creator gets", """
seen = []

def creator(make, **given):
    seen.append([given['trainable'], given['name'], given['dtype'] is None, given['collections'] is None])
    return make(**given)

with tf.variable_creator_scope(creator):
    tf.Variable(1.0, name='a', trainable=False)
result = seen"""),
    Row("a partitioned variable is shared without a partitioner", """
with tf.variable_scope('s', partitioner=tf.fixed_size_partitioner(2)):
    tf.get_variable('w', [4, 2])
with tf.variable_scope('s', reuse=True):
    w = tf.get_variable('w', [4, 2])
result = [w.name, len(list(w))]"""),
    # Layers.
    Row("smart_cond", """
smart_cond = module('python.framework.smart_cond')
p, one, two = tf.placeholder(tf.bool, []), lambda: 1, lambda: 2
result = [smart_cond.smart_cond(True, one, two), smart_cond.smart_cond(tf.constant(False), one, two),
          smart_cond.smart_cond(1, one, two), smart_cond.smart_case([(False, one), (True, two)], default=one),
          smart_cond.smart_constant_value(p), raised(lambda: smart_cond.smart_cond('a', one, two))[:1],
          raised(lambda: smart_cond.smart_cond(True, 1, two))[:1]]"""),
    Row("a layer's activity is averaged over the batch", """
tf.layers.dense(tf.ones([4, 2]), 3, kernel_initializer=tf.ones_initializer(), activity_regularizer=tf.reduce_sum)
result = run(tf.losses.get_regularization_losses())"""),
    Row("a layer that is built by hand", """
layer = tf.layers.Dense(3)
layer.build([None, 2])
result = [layer.kernel.name, layer.bias.name, str(layer.kernel.shape)]"""),
    _refused("a convolution with strides and dilation", "ValueError", "",
             "tf.layers.conv2d(tf.ones([1, 7, 7, 1]), 3, 3, strides=2, dilation_rate=2)"),
    _refused("batch normalisation over an axis twice", "ValueError", "Duplicate",
             "tf.layers.batch_normalization(tf.ones([2, 3, 4]), axis=[1, 1])"),
    Row("sizes of convolutions", """
utils = module('python.layers.utils')
result = [utils.conv_output_length(5, 2, 'full', 1), utils.conv_input_length(3, 4, 'same', 1),
          utils.conv_input_length(2, 2, 'valid', 2), utils.conv_input_length(3, 4, 'full', 1),
          utils.deconv_output_length(4, 2, 'same', 1), utils.deconv_output_length(4, 2, 'valid', 2),
          utils.deconv_output_length(4, 2, 'full', 1), utils.convert_data_format('channels_first', 4),
          utils.convert_data_format('channels_last', 3)]"""),
    # Files.
    Row("imported groups of colocation", """
a = tf.constant(1.0, name='a')
with tf.colocate_with(a):
    tf.no_op(name='n')
    tf.constant(2.0, name='c')
text = graph.as_graph_def()
data = tf.GraphDef()
data.ParseFromString(text.SerializeToString())
made = [*tf.import_graph_def(text, return_elements=['n', 'c'], name='x'),
        *tf.import_graph_def(data, return_elements=['n', 'c'], name='y')]
result = [op.colocation_groups() for op in made]"""),
    _refused("a saver's names", "TypeError", "", "tf.train.Saver({1: tf.Variable(1.0)})"),
    *(_refused(f"an empty list, {code.partition('(')[0]}", "ValueError", "", f"tf.{code}") for code in (
        "identity_n([])", "dynamic_stitch([], [])", "summary.merge([])", "FIFOQueue(1, [])", "sparse_concat(0, [])",
        "data.Dataset.zip(())", "Assert(tf.constant(True), [])")),
    _refused("a variable saved twice", "ValueError", "two names", """
v = tf.Variable(1.0)
tf.train.Saver({'a': v, 'b': v})"""),
    _refused("gradients of two graphs", "ValueError", "graph", """
x = tf.constant(1.0)
with tf.Graph().as_default():
    other = tf.constant(1.0)
tf.gradients([x * x, other], x)"""),
    _refused("extract_sub_graph of no GraphDef", "TypeError", "GraphDef", "tf.graph_util.extract_sub_graph(3, ['a'])"),
    _refused("a tensor as a message", "TypeError", "", "tf.make_tensor_proto(tf.constant(1))"),
    _refused("verify_shape of a message", "TypeError", "Expected Tensor's shape",
             "tf.make_tensor_proto(1, shape=[1], verify_shape=True)",
             asked=False),
    _refused("reading an array nothing was written to", "InvalidArgumentError", "",
             "run(tf.TensorArray(tf.float32, 3).read(0))"),
    # Kernels.
    Row("an empty list of bools", "result = run([tf.reduce_any([]), tf.reduce_all([]), tf.reduce_all([[True, False]], 1)])"),
    Row("Python numbers are complex to a Fourier transform", "result = run([tf.fft([1.0, 2.0]), tf.ifft2d([[1, 2]])])"),
    Row("names of crops and standardised images", """
x = tf.ones([4, 4, 3])
result = [tf.random_crop(x, [2, 2, 3]).name, tf.image.per_image_standardization(x).name]"""),
    _refused("base64 that is none", "InvalidArgumentError", "", "run(tf.decode_base64('!!'))"),
    _refused("base64 of the other alphabet", "InvalidArgumentError", "", "run(tf.decode_base64('a+b/'))"),
    _refused("one of queues of unlike dtypes", "TypeError", "matching component dtypes",
             "tf.QueueBase.from_list(0, [tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.float32)])"),
    _refused("one of queues of unlike names", "TypeError", "matching component names", """
tf.QueueBase.from_list(0, [tf.FIFOQueue(1, tf.int32, names=['a']), tf.FIFOQueue(1, tf.int32, names=['b'])])"""),
    _refused("a generated function without its dtype", "TypeError", "missing",
             "module('python.ops.gen_math_ops').cast(1.5)"),
]
