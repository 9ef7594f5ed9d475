"""Bad input: the type of the error, its words, and that it names the line of the user's file that is to blame.

A row is a program of a few lines; the line to blame ends in `#!`. Rows of op types stand in `cases/`, and what TensorFlow
refuses too in `programs/behaviour/errors.py`.
"""
import re
import traceback
import warnings

import numpy as np
import pytest

import regrad as tf
from regrad import cli

BASICS = {
    # What a tensor is not.
    "a number": ("TypeError", "no value until it is run", "int(tf.constant(1.0)) #!"),
    "a number for math": ("TypeError", "no value until it is run", "import math\nmath.sin(tf.constant(1.0)) #!"),
    "an index": ("TypeError", "interpreted as an integer", "[1, 2][tf.constant(1)] #!"),
    "a range": ("TypeError", "interpreted as an integer", "range(tf.constant(1)) #!"),
    "formatted": ("TypeError", r"\.3f", "f'{tf.constant(1.0):.3f}' #!"),
    "a container": ("TypeError", "tf.reduce_any", "1.0 in tf.constant([1.0]) #!"),
    "a list of unknown length": ("TypeError", "tf.map_fn", "list(tf.placeholder(tf.float32, [None])) #!"),
    "a scalar as a list": ("TypeError", "it is a scalar", "list(tf.constant(1.0)) #!"),
    "changed in place": ("TypeError", "item assignment.*tf.where", "x = tf.constant([1.0])\nx[0] = 2.0 #!"),
    "an array": ("NotImplementedError", "tf.py_func.*user.py:1", "y = tf.constant(1.0) * 2.0\nnp.sin(y) #!"),
    "later TensorFlow's numpy": ("AttributeError", r"no attribute 'numpy'.*sess.run", "tf.constant(1.0).numpy() #!"),
    "NumPy's methods": ("AttributeError", "tf.reduce_sum", "tf.constant([1.0]).sum() #!"),
    "a variable as a number": ("TypeError", "w:0 has no value", "w = tf.get_variable('w', [])\nfloat(w) #!"),
    "a tensor's length": ("TypeError", "Const:0 is not known", "len(tf.constant([1.0])) #!"),
    # Names, shapes, dtypes, graphs.
    "two graphs": ("ValueError", r"Tensor 'Const:0' \(made at user.py:[24]\) must be from the same graph", """
a = tf.constant(1.0)
with tf.Graph().as_default():
    b = tf.constant(1.0)
    tf.add_n([b, a]) #!"""),
    "a name that is no string": ("TypeError", "name must be a string, got 3", "tf.constant(1.0, name=3) #!"),
    "a scope that is no string": ("TypeError", "must be a string", "with tf.get_default_graph().name_scope(3): pass #!"),
    "a number for a name": ("TypeError", "Add: name must be a string, got 3", "tf.add(tf.constant(1.0), 2.0, name=3) #!"),
    "a name with other letters": ("ValueError", "letters A to Z", "tf.constant(1.0, name='größe') #!"),
    "a name with blanks": ("ValueError", "no blanks", "with tf.name_scope('my scope'): pass #!"),
    "a misspelt dtype": ("TypeError", "did you mean 'float32'", "tf.placeholder('flaot32') #!"),
    "a shape for a dtype": ("TypeError", "takes the dtype first", "tf.placeholder([None, 3]) #!"),
    "a negative size": ("ValueError", "None stands for", "tf.placeholder(tf.float32, [-1, 3]) #!"),
    "a tensor as a static size": ("TypeError", "consists of numbers", "tf.placeholder(tf.float32, [tf.constant(3)]) #!"),
    "an axis that is not there": ("IndexError", r"\(2,\) has 1 dimensions", "tf.zeros([2]).shape[1] #!"),
    "an unknown size": ("ValueError", r"tf.shape\(x\)\[i\]",
                        "x = tf.placeholder(tf.float32, [None])\ntf.reshape(x, [x.shape[0] * 2]) #!"),
    "the list of an unknown shape": ("ValueError", "set_shape", "tf.placeholder(tf.float32).shape.as_list() #!"),
    "a device's name": ("ValueError", "/gpu:0", "with tf.device('gpu0'): pass #!"),
    "a device's index": ("ValueError", "a number or", "with tf.device('/gpu:x'): pass #!"),
    "a device that is a number": ("TypeError", "named by a string", "with tf.device(3): pass #!"),
    "a tensor for control inputs": ("TypeError", "in brackets", "with tf.control_dependencies(tf.constant(1.0)): pass #!"),
    "a finalized graph": ("RuntimeError", r"finalized.*'Const'", "tf.get_default_graph().finalize()\ntf.constant(1.0) #!"),
}

SESSIONS = {
    "a session in the place of feeds": ("TypeError", r"eval\(session=sess\)",
                                        "x = tf.constant(1.0) * 2.0\nx.eval(tf.Session()) #!"),
    "a number for a session": ("TypeError", "must be a tf.Session, got 3", "tf.no_op().run(session=3) #!"),
    "a constant larger than memory": ("ResourceExhaustedError", "4,000,000,000,000,000 bytes", """
x = tf.zeros([10 ** 8, 10 ** 7])
tf.Session().run(x) #!"""),
    "numbers that the placeholder cannot hold": ("TypeError", "value 1099511627776.*int32 of 'x:0', made at user.py:1", """\
x = tf.placeholder(tf.int32, [2], name='x')
tf.Session().run(x, {x: [1, 2 ** 40]}) #!"""),
    "a dict for a run's record": ("TypeError", "tf.RunMetadata", """
tf.Session().run(tf.constant(1.0), options=tf.RunOptions(trace_level=3), run_metadata={}) #!"""),
    "a misspelt option of a run": ("ValueError", "did you mean 'trace_level'", "tf.RunOptions(tracelevel=3) #!"),
    "a level of tracing that is none": ("ValueError", "FULL_TRACE; got 'FULL'", "tf.RunOptions(trace_level='FULL') #!"),
    "a file that a host function misses": ("FileNotFoundError", "'nothing.npy'", """
y = tf.py_func(lambda: np.load('nothing.npy'), [], tf.float64) #!
tf.Session().run(y)"""),
    "more memory than there is": ("ResourceExhaustedError", "Fill would make 400,000,000,000,000 bytes.*'zeros' \\(Fill\\)", """
n = tf.placeholder(tf.int32, [])
y = tf.zeros([n, n]) + tf.random_normal([1]) #!
tf.config.host_runs = tf.config.tiny_ops = 0
tf.Session().run(y, {n: 10 ** 7})"""),
    "another graph's tensor": ("ValueError", r"not an element of this graph.*user.py:2.*tf.Session\(graph=g\)", """
with tf.Graph().as_default(): y = tf.constant(2.0)
tf.constant(1.0)
tf.Session().run(y) #!"""),
    "a tensor of a loop's body": ("ValueError", "not an element.*user.py:3.*return it", """
def body(i):
    inner.append(i * 2) #!
    return i + 1
inner = []
tf.while_loop(lambda i: i < 3, body, [0])
tf.Session().run(inner[0])"""),
    "None": ("TypeError", "tf.gradients where no path", "tf.constant(1.0)\ntf.Session().run(None) #!"),
    "an optimizer": ("TypeError", r"minimize\(loss\)",
                     "tf.constant(1.0)\ntf.Session().run(tf.train.AdamOptimizer()) #!"),
    "a function": ("TypeError", r"global_variables_initializer\(\)",
                   "tf.constant(1.0)\ntf.Session().run(tf.global_variables_initializer) #!"),
    "an iterator": ("TypeError", r"get_next\(\)",
                    "it = tf.data.Dataset.range(3).make_one_shot_iterator()\ntf.Session().run(it) #!"),
    "a closed session": ("RuntimeError", "closed Session.*inside", """
x = tf.constant(1.0)
with tf.Session() as s: pass
s.run(x) #!"""),
    "a closed session, in parts": ("RuntimeError", "closed Session", """
x = tf.placeholder(tf.float32)
s = tf.Session(); s.close()
s.partial_run_setup([x], [x]) #!"""),
    "a session of an empty graph": ("RuntimeError", "graph is empty.*default graph", """
s = tf.Session(graph=tf.Graph())
x = tf.constant(1.0)
s.run(x) #!"""),
    "an array for the feeds": ("TypeError", "feed_dict must be a dictionary",
                               "x = tf.placeholder(tf.float32)\ntf.Session().run(x, np.zeros(2)) #!"),
    "a misspelt feed": ("TypeError", "placeholders are images:0",
                        "x = tf.placeholder(tf.float32, name='images')\ntf.Session().run(x, {'image:0': 1.0}) #!"),
    "an operation fed": ("TypeError", "its output, x:0",
                         "x = tf.placeholder(tf.float32, name='x')\ntf.Session().run(x, {x.op: 1.0}) #!"),
    "None fed": ("ValueError", r"Cannot feed None for Tensor 'x:0'.*float32\[2\]",
                 "x = tf.placeholder(tf.float32, [2], name='x')\ntf.Session().run(x, {x: None}) #!"),
    "text for a time": ("TypeError", "timeout_in_ms must be an integer, got 'long'", "tf.RunOptions(timeout_in_ms='long') #!"),
    "text for a session's time": ("TypeError", "operation_timeout_in_ms must be an integer", """
tf.Session(config=tf.ConfigProto(operation_timeout_in_ms='long')) #!"""),
    "options": ("TypeError", "tf.RunOptions", "x = tf.constant(1.0)\ntf.Session().run(x, options=3) #!"),
    "a misspelt setting": ("ValueError", "did you mean 'allow_soft_placement'", "tf.ConfigProto(allow_soft_placment=True) #!"),
    "a misspelt setting, set": ("AttributeError", "'allow_growth'", "tf.GPUOptions().alow_growth = True #!"),
}

FLOW = {
    "shapes that only the run knows, in a loop": ("InvalidArgumentError", "^(?!.*JAX).*are 2 and 3.*user.py:3", """
x = tf.placeholder(tf.float32)
_, y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x[1:] + x), [0, x], [tf.TensorShape([]), tf.TensorShape(None)]) #!
tf.Session().run(y, {x: [1.0, 2.0, 3.0]})"""),
    "a condition of text": ("TypeError", r"tf.equal\(cond, 'True'\)", "tf.cond(tf.constant('a'), lambda: 1, lambda: 2) #!"),
    "a body that gives too few": ("ValueError", "returned 1 for 2 loop variables",
                                  "tf.while_loop(lambda i, x: i < 3, lambda i, x: i + 1, [0, 1.0]) #!"),
    "a body that gives None": ("ValueError", "returned None", "tf.while_loop(lambda i: i < 3, lambda i: None, [0]) #!"),
    "a body of other arguments": ("TypeError", "body of tf.while_loop is called with 2 arguments",
                                  "tf.while_loop(lambda i, x: i < 3, lambda i: i + 1, [0, 1.0]) #!"),
    "a condition of several": ("ValueError", "tf.reduce_all", "tf.while_loop(lambda i: i < [1, 2], lambda i: i + 1, [0]) #!"),
    "a dtype that changes": ("TypeError", "variable 1.*tf.cast", """
tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, tf.cast(x, tf.int32)), [0, 1.0]) #!"""),
    "too many invariants": ("ValueError", "2 given for 1", """
s = tf.TensorShape([])
tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], shape_invariants=[s, s]) #!"""),
    "a loop's tensor used outside": ("ValueError", "Cannot use 'while/mul:0' as input to Add.*user.py:3", """
def body(i):
    inner.append(i * 2)
    return i + 1
inner = []
tf.while_loop(lambda i: i < 3, body, [0])
inner[0] + 1 #!"""),
    "a branch of other arguments": ("TypeError", "true_fn of a conditional is called with 0 arguments",
                                    "tf.cond(tf.constant(True), lambda x: x, lambda: 1.0) #!"),
    "a row's function of other arguments": ("TypeError", "fn of scan is called with 2 arguments",
                                            "tf.scan(lambda a: a, tf.constant([1.0])) #!"),
    "a row's function that gives None": ("ValueError", "fn returned None", "tf.map_fn(lambda x: None, tf.constant([1.0])) #!"),
    "a TensorArray of a negative size": ("InvalidArgumentError", "size must be >= 0", """
a = tf.TensorArray(tf.float32, -1) #!
tf.Session().run(a.stack())"""),
    "a TensorArray of a scalar's rows": ("ValueError", "has no rows", "tf.TensorArray(tf.float32, 1).unstack(1.0) #!"),
}

_TANH = "x = tf.constant([1.0])\ny = tf.tanh(x)\n"

GRADIENTS = {
    "a tensor of another graph to explain": ("ValueError", "belongs to another graph", _TANH + """
with tf.Graph().as_default(): z = tf.constant(1.0)
tf.explain_gradients(y, z) #!"""),
    "a name for a view to explain": ("TypeError", "view is a tf.View", _TANH + "tf.explain_gradients(y, x, view='guided') #!"),
    "a name for an audit's session": ("TypeError", "must be a tf.Session", _TANH + "tf.audit(y, x, session='main') #!"),
    "a promise of one number": ("ValueError", "pair", "tf.inspect.expect_gradient(tf.constant(1.0), norm=3.0) #!"),
    "a promise that nothing keeps": ("ValueError", "nothing lies between",
                                     "tf.inspect.expect_gradient(tf.constant(1.0), norm=(3.0, 1.0)) #!"),
    "steps of no size": ("ValueError", "each above 0", _TANH + "tf.inspect.bias(y, x, scales=(0.0, 1.0)) #!"),
    "a number for a graph": ("TypeError", "tf.Graph or a list", "tf.inspect.overrides_in_use(3) #!"),
    "an op type without a lowering": ("UnimplementedError", "lower=function.*user.py:3", """
op = tf.define_op('Unlowered', 'x: T', infer=lambda x: tf.Spec(x.dims, x.dtype))
y = op(tf.constant(1.0)) #!
tf.Session().run(y)"""),
    "a lowering that gives nothing": ("InvalidArgumentError", "returned None for output 0.*user.py:3", """
op = tf.define_op('Nothing', 'x: T', infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: None)
y = op(tf.constant(1.0)) #!
tf.Session().run(y)"""),
    "rules in the place of arriving gradients": ("TypeError", r"grad_ys is a list.*overrides=\{", _TANH + """
tf.gradients(y, x, {'Tanh': tf.rules.stop()}) #!"""),
    "a function of tensors for a selector": ("AttributeError", "rule stands behind.*asked about 'Tanh'.*user.py:2", _TANH + """
tf.gradients(y, x, overrides={tf.tanh: tf.rules.stop()}) #!"""),
    "a predicate that fails": ("KeyError", "user.py:3, and was asked about 'Tanh'", _TANH + """\
tf.gradients(y, x, overrides={tf.sel.where(lambda op: {}[op.name]): tf.rules.stop()}) #!"""),
    "a misspelt name of an operation": ("ValueError", "TensorFlow 1. print.*did you mean 'hidden_1'", """
x = tf.constant([1.0])
y = tf.tanh(x, name='hidden_1')
tf.gradients(y, x, overrides={'hidden1': tf.rules.stop()}) #!"""),
    "a group of tensors apart": ("ValueError", "no path leads from .'Exp:0'", _TANH + """
tf.sel.group([tf.exp(x)], [y]) #!"""),
    "a group without a rule": ("TypeError", r"@tf.grouped\(rule\)", """
@tf.grouped
def f(x):
    return tf.tanh(x)
f(tf.constant(1.0)) #!"""),
    "a negative bound": ("ValueError", "must not be negative", "tf.rules.clip(-1.0) #!"),
    "a strength of NaN": ("ValueError", "NaN", "tf.rules.scale(float('nan')) #!"),
    "a weight for a rule": ("TypeError", "rule is a function.*got 0.5", "tf.rules.mix('w', 0.5, tf.rules.stop()) #!"),
    "a rule for a weight": ("TypeError", "weight comes first",
                            "tf.rules.mix(tf.rules.stop(), tf.rules.stop(), tf.rules.default) #!"),
    "spikes of integers": ("TypeError", r"int32 \(Const:0\)", "tf.spike(tf.constant([1])) #!"),
    "two host gradients of one input": ("InvalidArgumentError", "returns 2 gradients.*has 1 input;.*user.py:3", """
x = tf.constant([1.0])
y = tf.py_func(np.sin, [x], tf.float32, grad=tf.host_gradient(lambda x, dy: (dy, dy)))
tf.Session().run(tf.gradients(y, x)) #!"""),
    "a name for an x": ("TypeError", "get_tensor_by_name", "x = tf.constant(1.0)\ntf.gradients(x * 2.0, 'x') #!"),
    "a number to stop at": ("TypeError", "must be a tensor",
                            "x = tf.constant(1.0)\ntf.gradients(x * 2.0, x, stop_gradients=[3]) #!"),
    "overrides that are no dict": ("TypeError", "list of pairs",
                                   "x = tf.constant(1.0)\ntf.gradients(tf.tanh(x), x, overrides=[max]) #!"),
    "a rule of other arguments": ("TypeError", r"rule\(op, \*gradients\).*here 2 arguments.*rule '<lambda>'", _TANH + """
tf.gradients(y, x, overrides={'Tanh': lambda dy: dy}) #!"""),
    "what makes a rule": ("TypeError", r"makes one: rules.scale\(", _TANH + """
tf.gradients(y, x, overrides={'Tanh': tf.rules.scale}) #!"""),
    "a rule that is not registered": ("LookupError", 'RegisterGradient."Mine"', _TANH + """
tf.gradients(y, x, overrides={'Tanh': 'Mine'}) #!"""),
    "a rule before its selector": ("TypeError", "stands behind its selector", _TANH + """
tf.attach(tf.rules.guided_relu, 'Tanh') #!"""),
    "selectors joined by a word": ("TypeError", "combine with &", _TANH + """
tf.gradients(y, x, overrides={tf.sel.type('Tanh') and tf.sel.first(): tf.rules.stop()}) #!"""),
    "a misspelt selector": ("AttributeError", "did you mean 'type'", "tf.sel.typ('Tanh') #!"),
    "a group from back to front": ("ValueError", "no path leads from .'Tanh:0'", _TANH + """
tf.gradients(y, x, overrides={tf.sel.group([y], [x]): lambda op, dy: dy}) #!"""),
    "one more than there are": ("ValueError", "means 1 of them", _TANH + """
tf.gradients(y, x, overrides={tf.sel.nth('Tanh', 1): tf.rules.stop()}) #!"""),
    "a way of adding for every tensor": ("TypeError", "'all': rule", _TANH + """
tf.gradients(y, x, accumulate=tf.rules.accumulate_max) #!"""),
    "a misspelt tensor for a way of adding": ("TypeError", "got 'al'", _TANH + """
tf.gradients(y, x, accumulate={'al': tf.rules.accumulate_max}) #!"""),
    "a way of adding that gives another shape": ("ValueError", r"gave float32\[\] for Const:0, which is", _TANH + """
tf.gradients(y * x, x, accumulate={x: lambda terms, tensor: tf.reduce_sum(terms[0])}) #!"""),
    "a way of adding that gives None": ("ValueError", "gave None for Const:0", _TANH + """
tf.gradients(y * x, x, accumulate={x: lambda terms, tensor: None}) #!"""),
    "a known gradient of another shape": ("ValueError", r"float32\[3\] for Tanh:0, which is float32\[1\]", _TANH + """
tf.gradients(y * 2.0, x, known_gradients={y: tf.ones([3])}) #!"""),
    "a known gradient that nothing asks for": ("ValueError", "Exp:0 is not on the way", _TANH + """
tf.gradients(y, x, known_gradients={tf.exp(x): [1.0]}) #!"""),
    "views that are none": ("TypeError", "list of tf.View", _TANH + "tf.view_gradients(y, x, ['true']) #!"),
    "a direction of another shape": ("ValueError", r"vs\[0\] is float32\[2\]", _TANH + "tf.jvp(y, x, [[1.0, 2.0]]) #!"),
    "a number for a host gradient": ("TypeError", "function", "tf.host_gradient(3) #!"),
    "a variable that has a value elsewhere": ("FailedPreconditionError", "pass session=", _TANH + """
w = tf.get_variable('w', [1])
tf.diagnose(y * w, x) #!"""),
    "an audit in no session": ("FailedPreconditionError", "pass session=", """
w = tf.get_variable('w', [1])
tf.audit(w * w, w) #!"""),
    "an operation that is not told of": ("KeyError", "operations between xs and ys; did you mean 'Tanh'", _TANH + """
tf.explain_gradients(y, x)['tanh'] #!"""),
    "an operation that was not audited": ("KeyError", "audited: Tanh", _TANH + "tf.audit(y, x)['nothing'] #!"),
    "an x that was not compared": ("KeyError", "compared: Const:0, Tanh", _TANH + "tf.compare(None, None, y, x)[3] #!"),
    "what makes a derivative": ("TypeError", r"makes one: rules.fast_sigmoid\(", """
tf.spike(tf.constant([1.0]), tf.rules.fast_sigmoid) #!"""),
    "a rule for what gives no numbers": ("ValueError", "gives bool, which carries no gradient: tf.bridge", """
x = tf.constant([1.0])
tf.gradients(tf.to_float(x > 0.5), x, overrides={'Greater': tf.rules.surrogate()}) #!"""),
    "a probability of more than 1": ("ValueError", "below 1, got 2.0", "tf.rules.dropout(2.0) #!"),
    "no bits": ("ValueError", "from 1 on, got 0", "tf.rules.quantize_gradient(0) #!"),
    "names for tensors between": ("TypeError", "between takes tensors.*get_tensor_by_name", "tf.sel.between('x:0', 'y:0') #!"),
    "names for a group": ("TypeError", "sel.group takes tensors", "tf.sel.group(['x:0'], ['y:0']) #!"),
    "a name for an operation": ("TypeError", "sel.name means", "tf.sel.ops('x') #!"),
    "text for a number of an operation": ("TypeError", "whole number", "tf.sel.nth('Tanh', '1') #!"),
    "a number for overrides": ("TypeError", "got 3", "tf.overriding(3) #!"),
    "a grouped function without return": ("ValueError", "grouped: 'f' at .* returned None", """
@tf.grouped(lambda group, dy: dy)
def f(x):
    tf.tanh(x)
f(tf.constant(1.0)) #!"""),
    "a batch that is none": ("ValueError", "first axis", "x = tf.constant(1.0)\ntf.batch_jacobian(tf.tanh(x), x) #!"),
    "text for a surrogate": ("TypeError", "rules.fast_sigmoid", "tf.spike(tf.constant([1.0]), 'fast') #!"),
    "a rule that calls itself": ("RecursionError", "in the gradient rule", """
@tf.custom_gradient
def f(x):
    return tf.exp(x), lambda dy: tf.gradients(f(x), x)[0] #!
x = tf.constant(1.0)
tf.gradients(f(x), x)"""),
    "default of too many": ("TypeError", r"each of the 1 outputs of 'Tanh'", """
x = tf.constant(1.0)
tf.gradients(tf.tanh(x), x, overrides={'Tanh': lambda op, dy, default: default(dy, dy)}) #!"""),
    "a number for an op type": ("TypeError", "op types are strings", "tf.sel.type(3) #!"),
    "a number for a scope": ("TypeError", "strings", "tf.sel.scope(3) #!"),
    "a view without a name": ("TypeError", "name comes first", "tf.View({'Relu': 'Tanh'}) #!"),
    "text for a strength": ("TypeError", "a scalar tensor or a schedule", "tf.scale_gradient(tf.constant(1.0), 'a') #!"),
    "clipping upside down": ("ValueError", "at most high", "tf.clip_gradient(tf.constant(1.0), 1.0, -1.0) #!"),
    "a tensor for a function": ("TypeError", r"tf.straight_through\(tf.round\)\(x\)",
                                "x = tf.constant(1.0)\ntf.straight_through(tf.round(x), x) #!"),
    "a substitute of another shape": ("ValueError", "must have one shape", """
tf.substitute(tf.identity, tf.reduce_sum)(tf.constant([1.0, 2.0])) #!"""),
    "a custom gradient of too few": ("ValueError", "expected to return 2 gradients, but returned 1.*'f' at user.py:2", """
@tf.custom_gradient
def f(x, y):
    return x * y, lambda dy: dy
x = tf.constant(1.0)
tf.gradients(f(x, x), x) #!"""),
    "a custom gradient of other arguments": ("TypeError", "grad_fn of 'f'.* is called with 1 argument", """
@tf.custom_gradient
def f(x):
    return x, lambda: 1.0
x = tf.constant(1.0)
tf.gradients(f(x), x) #!"""),
    "a custom gradient of no function": ("TypeError", "decorates a function", "tf.custom_gradient(3) #!"),
    "a recomputed function that gives None": ("ValueError", "returned None",
                                              "tf.recompute_grad(lambda x: None)(tf.constant(1.0)) #!"),
    "an op type with blanks": ("ValueError", "letters and digits", """
tf.define_op('my op', 'x: T', infer=lambda x: x, lower=lambda b, x: x) #!"""),
    "a wrong signature": ("ValueError", "separated by commas", """
tf.define_op('RefusedA', 'x y', infer=lambda x: x, lower=lambda b, x: x) #!"""),
    "a shape rule that gives a number": ("TypeError", "must return a tf.Spec", """
op = tf.define_op('RefusedB', 'x: T', infer=lambda x: 3, lower=lambda b, x: x)
op(tf.constant(1.0)) #!"""),
    "a lowering that breaks its promise": ("InvalidArgumentError", r"returned shape \[\] for output 0", """
op = tf.define_op('RefusedC', 'x: T', infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: b.np.sum(x))
y = op(tf.placeholder_with_default([1.0, 2.0], [2])) #!
tf.Session().run(y)"""),
    "a lowering of another kind": ("InvalidArgumentError", "returned float32 for output 0, its infer promises int32", """
op = tf.define_op('RefusedF', 'x: T', infer=lambda x: tf.Spec(x.dims, tf.int32), lower=lambda b, x: x)
y = op(tf.placeholder_with_default([1.0, 2.0], [2])) #!
tf.Session().run(y)"""),
    "a misspelt dtype in a signature": ("ValueError", "did you mean 'float32'", """
tf.define_op('RefusedG', 'x: float31', infer=lambda x: x, lower=lambda b, x: x) #!"""),
    "a lowering that gives too many": ("InvalidArgumentError", "returned 2 arrays", """
op = tf.define_op('RefusedD', 'x: T', infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: (x, x))
y = op(tf.placeholder_with_default(1.0, [])) #!
tf.Session().run(y)"""),
    "a lowering that asks for a value": ("InvalidArgumentError", "b.np.where chooses", """
op = tf.define_op('RefusedE', 'x: T', infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: x if x > 0 else -x)
x = tf.placeholder(tf.float32, [])
y = op(x) #!
tf.config.host_runs = tf.config.tiny_ops = 0
tf.Session().run(y, {x: 1.0})"""),
}

_SUM = "w = tf.get_variable('w', [2])\nloss = tf.reduce_sum(w)\n"
_SAVED = """
with tf.Graph().as_default(), tf.Session() as s:
    tf.get_variable('weights', [2], initializer=tf.ones_initializer())
    s.run(tf.global_variables_initializer())
    tf.train.Saver().save(s, 'model')
"""

TRAINING = {
    "the name of a loss": ("ValueError", "for 'loss', expected", _SUM + "tf.train.AdamOptimizer().minimize('loss') #!"),
    "a learning rate of NaN": ("ValueError", "learning_rate is NaN",
                               _SUM + "tf.train.AdamOptimizer(float('nan')).minimize(loss) #!"),
    "too many initial values": ("ValueError", "at most 2, but received 3.*value of variable 'v'", """
tf.get_variable('v', [2], initializer=tf.constant_initializer([1.0, 2.0, 3.0])) #!"""),
    "a misspelt variable that is shared": ("ValueError", "a/weight does not exist.*did you mean 'a/weights'", """
with tf.variable_scope('a'): tf.get_variable('weights', [2])
with tf.variable_scope('a', reuse=True): tf.get_variable('weight', [2]) #!"""),
    "text for a learning rate": ("TypeError", "learning_rate must be a number",
                                 _SUM + "tf.train.GradientDescentOptimizer('0.1').minimize(loss) #!"),
    "None for a learning rate": ("ValueError", "learning_rate must be",
                                 _SUM + "tf.train.AdamOptimizer(None).minimize(loss) #!"),
    "None for a loss": ("ValueError", "loss is None", _SUM + "tf.train.AdamOptimizer().minimize(None) #!"),
    "no variables": ("ValueError", "No variables to optimize.*make them",
                     "tf.train.AdamOptimizer().minimize(tf.constant(1.0)) #!"),
    "no trainable variables": ("ValueError", "w:0, were made with trainable=False", """
w = tf.get_variable('w', [2], trainable=False)
tf.train.AdamOptimizer().minimize(tf.reduce_sum(w)) #!"""),
    "a cut path": ("ValueError", "No gradients provided.*tf.stop_gradient",
                   _SUM + "tf.train.AdamOptimizer().minimize(tf.stop_gradient(loss)) #!"),
    "a list that holds no pairs": ("TypeError", "pairs", _SUM + "tf.train.AdamOptimizer().apply_gradients([w]) #!"),
    "a pair the other way round": ("NotImplementedError", "Trying to update a Tensor",
                                   _SUM + "tf.train.AdamOptimizer().apply_gradients([(w, tf.ones([2]))]) #!"),
    "a number for a step": ("TypeError", "get_or_create_global_step",
                            _SUM + "tf.train.AdamOptimizer().minimize(loss, global_step=3) #!"),
    "text for a seed": ("TypeError", "integer", "tf.set_random_seed('a') #!"),
    "text for an op's seed": ("TypeError", "integer", "tf.random_normal([2], seed='a') #!"),
    "a variable's name": ("TypeError", "name comes first", "tf.get_variable([2], 'w') #!"),
    "a name of an initializer": ("ValueError", r"Variable w has the initializer 'zeros'.*tf.zeros_initializer\(\)",
                                 "tf.get_variable('w', [2], initializer='zeros') #!"),
    "a variable's shape": ("ValueError", r"Variable w, shape \[-1, 2\]", "tf.get_variable('w', [-1, 2]) #!"),
    "an initializer of another shape": ("ValueError", "initial value's shape .*of variable w", """
tf.get_variable('w', [2], initializer=lambda shape: 3.0) #!"""),
    "a number for a regularizer": ("TypeError", "l2_regularizer", "tf.get_variable('w', [2], regularizer=0.1) #!"),
    "a number for a partitioner": ("ValueError", "must be callable", "tf.get_variable('w', [2], partitioner=3) #!"),
    "another shape loaded": ("ValueError", r"variable w:0, which has shape \(2,\).*user.py:1", """\
w = tf.get_variable('w', [2])
w.load([1.0, 2.0, 3.0], tf.Session()) #!"""),
    "a checkpoint that is not there": ("ValueError", "valid checkpoint: nothing/model; there is no folder nothing",
                                       _SUM + "tf.train.Saver().restore(tf.Session(), 'nothing/model') #!"),
    "a checkpoint for a session": ("TypeError", r"restore\(sess, save_path\).*got 'model'", _SAVED + """
tf.get_variable('weights', [2])
tf.train.Saver().restore('model', tf.Session()) #!"""),
    "text for a checkpoint's step": ("TypeError", "global_step must be an integer, got 'last'", _SUM + """
tf.train.Saver().save(tf.Session(), 'model', global_step='last') #!"""),
    "a checkpoint's file": ("ValueError", "has model. It is the prefix", _SAVED + """
tf.get_variable('weights', [2])
tf.train.Saver().restore(tf.Session(), 'model.index') #!"""),
    "a latest checkpoint that is not there": ("ValueError", r"latest_checkpoint\(folder\) gives None", _SUM + """
tf.train.Saver().restore(tf.Session(), tf.train.latest_checkpoint('nothing')) #!"""),
    "a variable the checkpoint lacks": ("NotFoundError", "Key weigths not found.*'weights'.*user.py:6", _SAVED + """\
tf.get_variable('weigths', [2])
tf.train.Saver().restore(tf.Session(), 'model') #!"""),
    "a variable of another dtype": ("InvalidArgumentError", "weights; expected dtype int32 does not equal", _SAVED + """
tf.get_variable('weights', [2], tf.int32)
tf.train.Saver().restore(tf.Session(), 'model') #!"""),
    "a variable of another shape": ("InvalidArgumentError", r"lhs shape= \[3\] rhs shape= \[2\].*user.py:6", _SAVED + """\
tf.get_variable('weights', [3])
tf.train.Saver().restore(tf.Session(), 'model') #!"""),
    "a checkpoint cut short": ("DataLossError", "damaged", _SAVED + """
tf.get_variable('weights', [2])
with open('model.data-00000-of-00001', 'w'): pass
tf.train.Saver().restore(tf.Session(), 'model') #!"""),
    "a checkpoint of one file": ("NotFoundError", "cannot be read", _SAVED + """
import os
tf.get_variable('weights', [2])
os.remove('model.data-00000-of-00001')
tf.train.Saver().restore(tf.Session(), 'model') #!"""),
    "a path without a name": ("ValueError", "prefix of the files", _SUM + "tf.train.Saver().save(tf.Session(), '') #!"),
    # What belongs to later TensorFlows, or is left out.
    "tf.function": ("AttributeError", "built once", "tf.function #!"),
    "a model that was not compiled": ("RuntimeError", "Use `model.compile", "tf.keras.Sequential().fit([[1.0]], [1]) #!"),
    "a device list": ("AttributeError", "is_gpu_available", "tf.config.list_physical_devices() #!"),
    "a misspelt setting of ours": ("AttributeError", "did you mean 'host_runs'", "tf.config.host_run = 3 #!"),
    "text for a setting": ("ValueError", "at least 0", "tf.config.host_runs = '3' #!"),
    "a wrong kind of setting": ("ValueError", "cannot be 3", "tf.config.cache_dir = 3 #!"),
}

_IMAGES = "x = tf.zeros([1, 4, 4, 3])\n"
_CELL = "cell = tf.nn.rnn_cell.BasicLSTMCell(4)\nx = tf.zeros([2, 3, 4])\n"

_ODD_CELL = """\
class Odd(tf.nn.rnn_cell.RNNCell):
    state_size = output_size = 4
    def call(self, x, state):
        return %s
"""
_RUN_ODD = "\ntf.nn.dynamic_rnn(Odd(), tf.zeros([2, 3, 4]), dtype=tf.float32) #!"

OPERATIONS = {
    "datasets without a bracket": ("TypeError", r"zip\(\(first, second\)\)", """
tf.data.Dataset.zip(tf.data.Dataset.range(3), tf.data.Dataset.range(3)) #!"""),
    "data for an input function": ("TypeError", "input_fn must be a function", """
model = tf.estimator.Estimator(lambda features, labels, mode: None, 'folder')
model.train((np.zeros([2, 3]), np.zeros(2)), steps=1) #!"""),
    "a number for a model function": ("TypeError", "model_fn must be a function", "tf.estimator.Estimator(3, 'folder') #!"),
    "a picture that is none": ("InvalidArgumentError", "size 3: cannot identify image file\n", """
y = tf.image.decode_png(tf.constant('abc')) #!
tf.Session().run(y)"""),
    "a class for a cell": ("TypeError", r"LSTMCell\(units\)", _CELL + "tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell, x) #!"),
    "text for a cell's units": ("TypeError", "GRUCell: num_units must be an integer", "tf.nn.rnn_cell.GRUCell('4') #!"),
    "negative units of a cell": ("ValueError", "must not be negative", "tf.nn.rnn_cell.GRUCell(-4) #!"),
    "text for a batch": ("TypeError", "batch_size must be an integer", _CELL + "cell.zero_state('2', tf.float32) #!"),
    "a cell without a state": ("TypeError", "Odd returned .*output and the next state", _ODD_CELL % "x" + _RUN_ODD),
    "a cell without an output": ("ValueError", "Odd returned None for its output", _ODD_CELL % "None, state" + _RUN_ODD),
    "a cell's output of another size": ("ValueError", r"output_size is 4.*user.py:4",
                                        _ODD_CELL % "tf.concat([x, x], 1), state" + _RUN_ODD),
    "a cell's state that grows": ("ValueError", r"returned float32\[2,8\] as the next one.*user.py:4",
                                  _ODD_CELL % "x, tf.concat([x, x], 1)" + _RUN_ODD),
    "a cell's state of another dtype": ("TypeError", r"returned int32\[2,4\] as the next one.*tf.cast.*user.py:4",
                                        _ODD_CELL % "x, tf.cast(x, tf.int32)" + _RUN_ODD),
    "a loop function of two results": ("ValueError", "returns five things", _CELL + """
tf.nn.raw_rnn(cell, lambda *_: (1, 2)) #!"""),
    "text for strides": ("TypeError", "strides must be an integer, got '1'",
                         _IMAGES + "tf.nn.conv2d(x, tf.zeros([3, 3, 3, 8]), '1', 'SAME') #!"),
    "None for a window": ("TypeError", "ksize must be an integer", _IMAGES + "tf.nn.max_pool(x, None, 2, 'SAME') #!"),
    "text for units": ("TypeError", "units must be an integer", "tf.layers.dense(tf.zeros([2, 3]), '3') #!"),
    "half a unit": ("TypeError", "units must be an integer, got 4.5", "tf.layers.dense(tf.zeros([2, 3]), 4.5) #!"),
    "a misspelt activation": ("ValueError", "did you mean 'relu'",
                              "tf.layers.dense(tf.zeros([2, 3]), 3, activation='rellu') #!"),
    "text for filters": ("TypeError", "filters must be an integer", _IMAGES + "tf.layers.conv2d(x, '8', 3) #!"),
    "a state in one piece": ("ValueError", r"tuple \(c, h\).*zero_state", _CELL + "cell(x[0], tf.zeros([3, 4])) #!"),
    "no function of elements": ("TypeError", "Dataset.map takes a function.*got 3", "tf.data.Dataset.range(2).map(3) #!"),
    "None for a block": ("TypeError", "block_size must be", "tf.depth_to_space(tf.zeros([1, 2, 2, 4]), None) #!"),
    "a probability to keep nothing": ("ValueError", "keep_prob = 0", "tf.nn.dropout(tf.zeros([2]), 0.0) #!"),
    "text for a probability": ("ValueError", "keep_prob must be", "tf.nn.dropout(tf.zeros([2]), 'a') #!"),
    "an axis first": ("TypeError", "takes the tensor first", "tf.split(1, 2, tf.zeros([2, 2])) #!"),
    "operands first": ("TypeError", "equation comes first", "tf.einsum(tf.zeros([2, 3]), 'ij->ji') #!"),
    "None for a size": ("TypeError", "-1 in tf.reshape", "tf.reshape(tf.zeros([4]), [None, 2]) #!"),
    "a number for a string": ("TypeError", "tf.as_string", "tf.string_join([tf.constant(1.0), 'a']) #!"),
    "an int too large": ("TypeError", "too large for int64", "tf.constant(2 ** 80) #!"),
    "a dense tensor for a sparse one": ("TypeError", "tf.sparse.from_dense", "tf.sparse_tensor_to_dense(tf.zeros([2])) #!"),
    "an array fed for a sparse one": ("TypeError", "tf.SparseTensorValue", """
x = tf.sparse_placeholder(tf.float32)
tf.Session().run(tf.sparse_tensor_to_dense(x), {x: np.zeros([2, 2])}) #!"""),
    "a variable without brackets": ("TypeError", "in brackets",
                                    "w = tf.get_variable('w', [])\ntf.variables_initializer(w) #!"),
    "a summary alone": ("TypeError", "must be a list", "tf.summary.merge(tf.summary.scalar('a', 1.0)) #!"),
    "None for a summary": ("TypeError", "merge_all gives None", """
tf.summary.FileWriter('logs').add_summary(tf.summary.merge_all()) #!"""),
    "an integer and a real number": ("TypeError", r"tf.cast\(x, tf.float32\)", "tf.constant(1) * tf.constant(1.5) #!"),
    "a vector for a matrix": ("ValueError", "tf.tensordot", "tf.matmul(tf.zeros([3]), tf.zeros([3, 2])) #!"),
    "a number for a summary's name": ("TypeError", "must be a string", "tf.summary.scalar(3, 1.0) #!"),
    "a metric that is not initialised": ("FailedPreconditionError", r"tf.local_variables_initializer\(\)", """\
value, update = tf.metrics.mean([1.0])
tf.Session().run(update) #!"""),
    "a sequence without time": ("ValueError", "batch, time, depth",
                                _CELL + "tf.nn.dynamic_rnn(cell, tf.zeros([2, 3]), dtype=tf.float32) #!"),
    "a state of one part": ("ValueError", "has 1 tensors.*zero_state",
                            _CELL + "tf.nn.dynamic_rnn(cell, x, initial_state=tf.zeros([2, 4])) #!"),
    "a state of another size": ("ValueError", r"float32\[2,5\].*\[batch, 4\]",
                                _CELL + "tf.nn.dynamic_rnn(cell, x, initial_state=(tf.zeros([2, 4]), tf.zeros([2, 5]))) #!"),
}

_NODES = """
with tf.Graph().as_default() as other:
    x = tf.placeholder(tf.float32, [2], name='x')
    tf.multiply(x, [2.0, 3.0], name='y')
nodes = other.as_graph_def()
if %s: nodes = tf.GraphDef.FromString(nodes.SerializeToString())
"""
_OTHER_DTYPE = "nodes.node[0].attr['dtype'].type = tf.int32.as_datatype_enum\ntf.import_graph_def(nodes) #!"
_CUT_SHORT = "nodes.node[1].attr['value'].tensor.tensor_content = b'abc'\ntf.import_graph_def(nodes) #!"

IMPORTS = {
    "inputs of two dtypes": ("ValueError", "'y': Mul was passed .*, incompatible with expected", _NODES % 0 + _OTHER_DTYPE),
    "inputs of two dtypes, of a file": ("ValueError", "incompatible with expected int32 of 'y'", _NODES % 1 + _OTHER_DTYPE),
    "a constant cut short": ("ValueError", r"'y/y', attribute 'value': .*float32\[2\] holds 3 bytes", _NODES % 0 + _CUT_SHORT),
    "a constant of a file cut short": ("ValueError", "'y/y', attribute 'value': .* holds 3 bytes", _NODES % 1 + _CUT_SHORT),
    "a constant with too many values": ("ValueError", "holds 3 values", _NODES % 1 + """
value = nodes.node[1].attr['value'].tensor
value.tensor_content = b''
value.float_val.extend([1.0, 2.0, 3.0])
tf.import_graph_def(nodes) #!"""),
}

TABLES = {"operations": OPERATIONS, "basics": BASICS, "sessions": SESSIONS, "flow": FLOW, "gradients": GRADIENTS,
          "training": TRAINING, "imports": IMPORTS}
ROWS = [pytest.param(row, id=f"{table}: {name}") for table, rows in TABLES.items() for name, row in rows.items()]


@pytest.fixture
def config():
    saved = tf.config.host_runs, tf.config.tiny_ops
    yield
    tf.config.host_runs, tf.config.tiny_ops = saved


@pytest.mark.parametrize("row", ROWS)
def test_is_refused_with_words_and_line(row, config, tmp_path, monkeypatch):
    kind, words, code = row
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "user.py")
    (tmp_path / "user.py").write_text(code)
    guilty = 1 + next(i for i, line in enumerate(code.split("\n")) if line.endswith("#!"))

    with tf.Graph().as_default(), pytest.raises(Exception) as caught:
        exec(compile(code, path, "exec"), {"tf": tf, "np": np})

    error = caught.value
    text = " ".join([str(error), *getattr(error, "__notes__", ())])
    assert kind in [c.__name__ for c in type(error).__mro__], text
    assert re.search(words, text, re.DOTALL), text
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    assert guilty in lines or re.search(rf"user.py:{guilty}\b", text), text


def _no_device(op):
    raise ZeroDivisionError


def _with_a_device_function(x, n):
    with tf.device(_no_device):
        tf.exp(x)


REFUSED = {
    "an operator's list": lambda x, n: x + [1.0, 2.0],
    "an array among tensors": lambda x, n: tf.concat([x, np.zeros([3, 2, 1])], 0),
    "a list that is packed": lambda x, n: tf.reshape(x, [n, [7]]),
    "a packed list of another size": lambda x, n: tf.placeholder_with_default([n, n], [3]),
    "the second of its name": lambda x, n: tf.nn.conv2d(x, x, 1, "SAME"),
    "a scope in which nothing is made": lambda x, n: tf.zeros([-1]),
    "a branch's condition": lambda x, n: tf.cond(x, lambda: 1, lambda: 2),
    "an initial value": lambda x, n: tf.get_variable("v", [2], initializer=tf.constant_initializer([1.0, 2.0, 3.0])),
    "an initializer that made operations": lambda x, n: tf.get_variable("v", [2], tf.int32, tf.random_normal_initializer()),
    "a device": _with_a_device_function,
}


@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_leaves_the_graph_as_it_was(make):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 3])
        n = tf.shape(tf.exp(x))[0]
        tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([1, 1, 1, 1]), 1, "SAME")

        def state():
            names = {name: n for name, n in graph._names_in_use.items() if not name.startswith("v/")}
            return ([op.name for op in graph.get_operations()], names, graph.get_name_scope(), x.consumers(), n.consumers())

        before = state()
        with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
            make(x, n)

        assert state() == before


def test_a_rate_that_is_refused_ends_its_scope():
    with tf.Graph().as_default() as graph:
        with pytest.raises(tf.errors.UnimplementedError):
            tf.train.exponential_decay(0.1, "step", 10, 0.9)

        assert graph.get_name_scope() == ""


def test_settings_tell_their_names_and_values():
    assert {"cache_dir", "host_runs", "onednn", "threads", "tiny_ops"} <= set(dir(tf.config)) and "os" not in dir(tf.config)
    assert f"host_runs={tf.config.host_runs}" in repr(tf.config)


def test_a_number_in_xs_is_warned_of():
    with pytest.warns(tf.RegradWarning, match="becomes a new constant"):
        assert tf.gradients(tf.constant([1.0]) * 2.0, np.ones(1)) == [None]


def test_a_cell_in_two_places_is_warned_of():
    cell = tf.nn.rnn_cell.GRUCell(4)

    with pytest.warns(tf.RegradWarning, match="one set of weights"):
        tf.nn.rnn_cell.MultiRNNCell([cell, cell])


@pytest.mark.parametrize(("name", "want"), [
    ("relu", [0.0, 0.0, 0.5]), ("linear", [-1.0, 0.0, 0.5]), ("hard_sigmoid", [0.3, 0.5, 0.6]),
])
def test_activations_and_initializers_have_keras_names(name, want):
    y = tf.layers.dense([[-1.0, 0.0, 0.5]], 3, activation=name, kernel_initializer="identity")

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        np.testing.assert_allclose(sess.run(y), [want], rtol=1e-6)


def test_a_folder_for_programs_that_is_none_is_warned_of_and_the_program_runs(tmp_path, monkeypatch, config):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REGRAD_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(tf.config, "cache_dir", str(tmp_path / "file"))
    tf.config.host_runs = tf.config.tiny_ops = 0
    x = tf.placeholder(tf.float32, [7])

    with pytest.warns(tf.RegradWarning, match="REGRAD_CACHE_DIR"):
        value = tf.Session().run(tf.erfc(x) * 2.0 + tf.lgamma(x), {x: np.ones(7)})

    np.testing.assert_allclose(value, np.full(7, 0.3145984), rtol=1e-4)


def test_a_lost_write_is_warned_of():
    array = tf.TensorArray(tf.float32, 1)
    array.write(0, 1.0)

    with pytest.warns(tf.RegradWarning, match="ta = ta.write"):
        array.stack()


def test_a_lost_write_in_a_loop_is_warned_of():
    def body(i, array):
        array.write(i, 1.0)
        return i + 1, array

    with pytest.warns(tf.RegradWarning, match="is lost"):
        tf.while_loop(lambda i, _: i < 3, body, [0, tf.TensorArray(tf.float32, 3)])


def test_reading_a_written_array_warns_of_nothing():
    array = tf.TensorArray(tf.float32, 1).write(0, 1.0)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array.stack()


@pytest.mark.parametrize(("script", "words"), [
    ("x = (", "SyntaxError"),
    ("import regrad as tf\ntf.constant('a', tf.int32)", "Expected int32"),
    ("from tensorflow.contrib.learn import Estimator", "takes model functions"),
    ("from tensorflow.examples.tutorials.mnist import input_data", "NumPy"),
])
def test_a_scripts_error_begins_at_its_line(script, words, tmp_path, capsys):
    path = tmp_path / "user.py"
    path.write_text(script)

    assert cli.main(["run", str(path)]) == 1

    told = capsys.readouterr().err
    assert told.splitlines()[0 if words == "SyntaxError" else 1].startswith(f'  File "{path}"')
    assert words in told


def test_a_module_is_run_as_by_python(tmp_path, monkeypatch, capsys):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "steps.py").write_text("count = 3")
    script = ("import sys\nimport tensorflow as tf\nfrom . import steps\nprint(sys.argv[1:], steps.count)\n"
              "tf.constant('a', tf.int32)")
    (tmp_path / "package" / "train.py").write_text(script)
    monkeypatch.chdir(tmp_path)

    assert cli.main(["run", "-m", "package.train", "--steps=3", "-m"]) == 1

    told = capsys.readouterr()
    assert told.out == "['--steps=3', '-m'] 3\n"
    assert told.err.splitlines()[1].endswith('train.py", line 5, in <module>')
    assert cli.main(["run", "-m", "package.nothing"]) == 1
    assert capsys.readouterr().err.endswith("No module named package.nothing\n")


def test_a_script_without_a_command_is_told_the_command(tmp_path, capsys):
    (tmp_path / "user.py").write_text("")
    assert cli.main([str(tmp_path / "user.py")]) == 2
    assert "regrad run " in capsys.readouterr().err


def test_the_command_line_without_a_command_tells_what_there_is(capsys):
    assert cli.main([]) == 2
    assert "doctor" in capsys.readouterr().err


def test_a_folder_is_no_script(tmp_path, capsys):
    assert cli.main(["run", str(tmp_path)]) == 2
    assert "folder" in capsys.readouterr().err
