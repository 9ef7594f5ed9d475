"""Cases in which TensorFlow loses or garbles a gradient override without a word, and what Regrad must do.

In each case Relu's gradient is "times 100", unless the case says otherwise, and the input is [1, 2].
`record.py` runs the cases under TensorFlow and freezes what it gives; the test runs them under Regrad, which
must either apply the override or complain.
"""
import contextlib
import itertools
import warnings

import numpy as np

_serial = itertools.count()


class Case:
    """One case.

    Args:
      name: what happens, in words.
      program: function of (tf, rule): builds, runs and returns a value; `rule` is the registered name.
      value: what Regrad may answer, or None if it must complain.
      error: (type name, words): the error Regrad may raise instead; each word stands in its message.
      warning: words of a warning with which Regrad may answer `value`, or what TensorFlow does.
      explain: words that `tf.explain_gradients(ys, xs)` must say; the program then returns (value, ys, xs).
      mode: how TensorFlow is asked: "graph", "control_flow_v2" or "eager" (its version 2).
    """

    def __init__(self, name, program, value=None, error=None, warning=None, explain=None, mode="graph"):
        self.name, self.program, self.value, self.mode = name, program, value, mode
        self.error, self.warning, self.explain = error, warning, explain

    def __repr__(self):
        return self.name


def outcome(case, tf):
    """Runs a case; returns a dict with its "warnings" and its "value", or an "error" and its "message"."""
    rule = f"SilentTimes100_{next(_serial)}"

    @tf.RegisterGradient(rule)
    def _times_100(op, grad):
        return grad * 100.0

    graph = contextlib.nullcontext() if case.mode == "eager" else tf.Graph().as_default()
    with graph, warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = {"value": case.program(tf, rule)}
        except Exception as error:
            result = {"error": [c.__name__ for c in type(error).__mro__], "message": str(error)}
    if case.explain and "value" in result:
        value, ys, xs = result["value"]
        result = {"value": value}
        if hasattr(tf, "explain_gradients"):
            result["explanation"] = str(tf.explain_gradients(ys, xs))
    if "value" in result:
        result["value"] = plain(result["value"])
    result["warnings"] = [str(w.message) for w in heard if not issubclass(w.category, DeprecationWarning)]
    return result


def plain(value):
    """Returns arrays as nested lists."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def override(tf, *names, graph=None):
    """The scope `{type: rule, ...}` from alternating types and rules."""
    graph = graph or tf.get_default_graph()
    return graph.gradient_override_map(dict(zip(names[::2], names[1::2], strict=True)))


def run(tf, fetches):
    with tf.Session() as session:
        return session.run(fetches)


def gradient(tf, y, x):
    grads = tf.gradients(y, x)
    return run(tf, grads[0]) if grads[0] is not None else None


def simple(type_name="Relu", build=lambda tf, x: tf.nn.relu(x)):
    """A program: one op inside the scope of an override of `type_name`."""
    def program(tf, rule):
        x = tf.constant([1.0, 2.0])
        with override(tf, type_name, rule):
            y = build(tf, x)
        return gradient(tf, y, x)
    return program


# -- The programs that are more than one op --------------------------------------------
def unregistered_rule(tf, rule):
    x = tf.constant([1.0, 2.0])
    with override(tf, "Relu", "NoSuchRule"):
        y = tf.nn.relu(x)
    return gradient(tf, y, x)


def in_function(tf, rule):
    x = tf.constant([1.0, 2.0])
    f = tf.function(tf.nn.relu)
    with override(tf, "Relu", rule):
        y = f(x)
    return gradient(tf, y, x)


def scope_too_late(tf, rule):
    x = tf.constant([1.0, 2.0])
    y = tf.nn.relu(x)
    with override(tf, "Relu", rule):
        grads = tf.gradients(y, x)
    return run(tf, grads[0])


def scope_of_another_graph(tf, rule):
    x = tf.constant([1.0, 2.0])
    with override(tf, "Relu", rule, graph=tf.Graph()):
        y = tf.nn.relu(x)
    return gradient(tf, y, x)


def eager_tape(tf, rule):
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape, tf.compat.v1.get_default_graph().gradient_override_map({"Relu": rule}):
        tape.watch(x)
        y = tf.nn.relu(x)
    return tape.gradient(y, x).numpy()


def tape_in_function(tf, rule):
    @tf.function
    def f(x):
        with tf.compat.v1.get_default_graph().gradient_override_map({"Relu": rule}):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.nn.relu(x)
            return tape.gradient(y, x)
    return f(tf.constant([1.0, 2.0])).numpy()


def tape_around_function(tf, rule):
    @tf.function
    def f(x):
        with tf.compat.v1.get_default_graph().gradient_override_map({"Relu": rule}):
            return tf.nn.relu(x)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x).numpy()


def custom_gradient(tf, rule):
    @tf.RegisterGradient(rule + "N")
    def _times_100(op, *grads):
        return [grad * 100.0 for grad in grads]

    @tf.custom_gradient
    def f(x):
        return x * 2.0, lambda dy: dy * 5.0

    x = tf.constant([1.0, 2.0])
    with override(tf, "IdentityN", rule + "N"):
        y = f(x)
    return gradient(tf, y, x)


def returning(make):
    """A program whose rule returns make(tf, grad)."""
    def program(tf, rule):
        @tf.RegisterGradient(rule + "Returns")
        def _bad_rule(op, grad):
            return make(tf, grad)

        x = tf.constant([1.0, 2.0])
        with override(tf, "Relu", rule + "Returns"):
            y = tf.nn.relu(2.0 * x)
        return gradient(tf, y, x)
    return program


def gradients_inside_the_scope(tf, rule):
    # The derivative of the sine is a cosine that tf.gradients makes.
    x = tf.constant([0.0, 0.5])
    y = tf.sin(x)
    with override(tf, "Cos", rule):
        dy, = tf.gradients(y, x)
    return gradient(tf, dy, x)


def imported_graph(tf, rule):
    x = tf.constant([1.0, 2.0], name="x")
    with override(tf, "Relu", rule):
        tf.nn.relu(x, name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    for node in graph_def.node:
        if node.name == "y":
            node.attr["_gradient_op_type"].s = b"RuleOfAnotherProcess"
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(graph_def, return_elements=["x:0", "y:0"])
        return gradient(tf, y, x)


def registered_twice(tf, rule):
    @tf.RegisterGradient(rule + "Again")
    def _first(op, grad):
        return grad * 2.0

    @tf.RegisterGradient(rule + "Again")
    def _second(op, grad):
        return grad * 3.0

    x = tf.constant([1.0, 2.0])
    with override(tf, "Relu", rule + "Again"):
        y = tf.nn.relu(x)
    return gradient(tf, y, x)


def cut(build):
    def program(tf, rule):
        x = tf.constant([1.0, 2.0])
        y = build(tf, x)
        return tf.gradients(y, x), y, x
    return program


def _while(tf, x):
    return tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.nn.relu(y)), [tf.constant(0), x])[1]


def _cond(tf, x):
    return tf.cond(tf.constant(1) < 2, lambda: tf.nn.relu(x), lambda: x)


def _map(tf, x):
    return tf.map_fn(tf.nn.relu, x)


HUNDRED = [100.0, 100.0]
NO_EAGER = ("AttributeError", ["GradientTape"])

CASES = [
    Case("plain", simple(), HUNDRED),
    Case("misspelt type", simple("ReLU"), error=("Exception", ["ReLU", "Relu"])),
    Case("rule never registered", unregistered_rule, error=("LookupError", ["NoSuchRule"])),
    Case("function called in the scope", in_function, HUNDRED, error=("Exception", ["function"])),
    Case("cond, control flow v2", simple(build=_cond), HUNDRED, mode="control_flow_v2"),
    Case("while_loop, control flow v2", simple(build=_while), [1e4, 1e4], mode="control_flow_v2"),
    Case("map_fn, control flow v2", simple(build=_map), HUNDRED, mode="control_flow_v2"),
    Case("cond", simple(build=_cond), HUNDRED),
    Case("while_loop", simple(build=_while), [1e4, 1e4]),
    Case("map_fn", simple(build=_map), HUNDRED),
    Case("scope opened after the op was made", scope_too_late, HUNDRED, warning=["Relu"]),
    Case("scope of another graph", scope_of_another_graph, error=("Exception", ["graph"])),
    Case("tape inside the scope, eager", eager_tape, error=NO_EAGER, mode="eager"),
    Case("tape and scope inside a function", tape_in_function, error=("AttributeError", []), mode="eager"),
    Case("tape around a function", tape_around_function, error=("AttributeError", []), mode="eager"),
    Case("ClipByValue, then clip_by_value",
         simple("ClipByValue", lambda tf, x: tf.clip_by_value(x, 0.0, 5.0)), HUNDRED,
         error=("Exception", ["ClipByValue"]), warning=["ClipByValue"]),
    Case("PyFuncStateless, then a stateful py_func",
         simple("PyFuncStateless", lambda tf, x: tf.py_func(lambda v: v * 2, [x], tf.float32)),
         error=("Exception", ["PyFunc"]), warning=["PyFuncStateless"]),
    Case("IdentityN around a custom_gradient", custom_gradient, [200.0, 200.0],
         error=("Exception", ["IdentityN"]), warning=["IdentityN"]),
    Case("rule returns float64 for float32", returning(lambda tf, grad: tf.cast(grad, tf.float64)),
         error=("TypeError", ["Returns", "float64", "float32", "silent_overrides.py"])),
    Case("rule returns a wrong shape", returning(lambda tf, grad: tf.zeros([3])),
         error=("ValueError", ["Returns", "3", "2", "silent_overrides.py"])),
    Case("rule returns two gradients for one input", returning(lambda tf, grad: (grad, grad)),
         error=("ValueError", ["Returns", "2", "1", "silent_overrides.py"])),
    Case("tf.gradients called inside the scope", gradients_inside_the_scope, [0.0, -0.4794255],
         warning=["Cos"]),
    Case("imported graph whose rule is missing", imported_graph,
         error=("LookupError", ["RuleOfAnotherProcess"])),
    Case("a name registered twice", registered_twice, [3.0, 3.0],
         error=("KeyError", ["silent_overrides.py"])),
    Case("round", cut(lambda tf, x: tf.round(x)), [None], explain=["Round"]),
    Case("argmax", cut(lambda tf, x: tf.argmax(x)), [None], explain=["ArgMax"]),
    Case("floordiv", cut(lambda tf, x: x // 2.0), [None], explain=["FloorDiv"]),
    Case("integer cast", cut(lambda tf, x: tf.cast(tf.cast(x, tf.int32), tf.float32)), [None],
         explain=["Cast"]),
]
