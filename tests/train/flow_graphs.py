"""Graphs with loops, branches and functions as TensorFlow writes them; `python flow_graphs.py` records them and what they give.

It runs under TensorFlow 2. Each program is built with control flow as TensorFlow 1 wrote it (Switch, Merge, Enter ...) and as
version 2 does (functions), and recorded with its value, its gradient, and the gradient of the sum of the gradient's squares.
"""

import pathlib

import numpy as np

FILE = pathlib.Path(__file__).parent / "flow_by_tensorflow.npz"
PROGRAMS: dict = {}


def program(*shapes, ints=(), only=None, order=2):
    """Records a function of `tf` and placeholders: of doubles of these shapes, then int32 scalars.

    Args:
      ints: values of further int32 arguments.
      only: "v1" or "v2" where the other makes no sense, or cannot be read.
      order: of derivatives compared.
    """
    def keep(function):
        PROGRAMS[function.__name__] = (function, shapes, ints, only, order)
        return function
    return keep


@program((2, 3))
def cond_simple(tf, x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.square(x) * x, lambda: tf.exp(-x))


@program((2, 3))
def cond_other_branch(tf, x):
    return tf.cond(tf.reduce_sum(x) > 100.0, lambda: tf.square(x) * x, lambda: tf.exp(-x))


@program((3,), (3,))
def cond_two_outputs(tf, x, y):
    a, b = tf.cond(x[0] > y[0], lambda: (x * y, x), lambda: (y, tf.sin(x) * y))
    return a * b


@program((3,), ints=(2,))
def cond_nested(tf, x, k):
    def inner():
        z = tf.sin(x)
        return tf.cond(k > 1, lambda: z * x, lambda: z + 1.0)
    return tf.cond(k > 0, inner, lambda: -x)


@program((3,), ints=(1,))
def cond_same_predicate_twice(tf, x, k):
    training = k > 0
    y = tf.cond(training, lambda: x * 2.0, lambda: x)
    return tf.cond(training, lambda: tf.square(y), lambda: y) + tf.sin(y)


@program((2, 3), only="v1")
def cond_differentiated(tf, x):
    return tf.gradients(tf.cond(x[0, 0] > 0.0, lambda: tf.sin(x) * x, lambda: x), x)[0]


@program((3,), ints=(1,))
def case_of_three(tf, x, k):
    return tf.case([(tf.equal(k, 0), lambda: x), (tf.equal(k, 1), lambda: x * x * x)], default=lambda: tf.exp(x))


@program((3,), ints=(1,))
def switch_case(tf, x, k):
    return tf.switch_case(k, [lambda: x, lambda: x * x * x, lambda: tf.exp(x)])


@program((3,), ints=(4,))
def while_simple(tf, x, n):
    return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * x + tf.sin(v)), (0, x))[1]


@program((3,))
def while_of_known_length(tf, x):
    return tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, tf.tanh(v) * x), (tf.constant(0), x))[1]


@program((2, 2), (2, 2))
def while_with_invariant(tf, x, w):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.matmul(v, w)), (0, x), maximum_iterations=10)[1]


@program((2,))
def while_by_value(tf, x):
    return tf.while_loop(lambda v: tf.reduce_sum(tf.abs(v)) < 100.0, lambda v: v * v + 1.5, [x])


@program((2,))
def while_nested(tf, x):
    def outer(i, v):
        w = tf.while_loop(lambda j, u: j < i + 1, lambda j, u: (j + 1, u * x + 0.1), (0, v))[1]
        return i + 1, tf.sin(w)
    return tf.while_loop(lambda i, v: i < 3, outer, (0, x))[1]


@program((2,))
def cond_in_while(tf, x):
    def step(i, v):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: v * x, lambda: v + tf.sin(x))
    return tf.while_loop(lambda i, v: i < 4, step, (0, x))[1]


@program((2,), ints=(1,))
def while_in_cond(tf, x, k):
    def loop():
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * x), (0, x))[1]
    return tf.cond(k > 0, loop, lambda: -x)


@program((2,))
def while_in_cond_in_while(tf, x):
    def step(i, v):
        def loop():
            return tf.while_loop(lambda j, u: j < 2, lambda j, u: (j + 1, u * x), (0, v))[1]
        return i + 1, tf.cond(i > 1, loop, lambda: v + x)
    return tf.while_loop(lambda i, v: i < 3, step, (0, x))[1]


@program((2,))
def while_shape_grows(tf, x):
    return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, tf.sin(x)], 0)), (0, x),
                         shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])))[1]


@program((4, 2))
def arrays_in_while(tf, x):
    rows = tf.TensorArray(tf.float64, 4).unstack(x)
    out = tf.TensorArray(tf.float64, 4)

    def step(i, s, out):
        s = tf.sin(s) + rows.read(i) * s
        return i + 1, s, out.write(i, s * s)
    _, last, out = tf.while_loop(lambda i, s, out: i < 4, step, (0, x[0], out))
    return out.stack() + last


@program((3,))
def array_that_grows(tf, x):
    out = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    out = tf.while_loop(lambda i, out: i < 3, lambda i, out: (i + 1, out.write(i, x * tf.cast(i, tf.float64) * x)), (0, out))[1]
    return out.stack()


@program((4, 2))
def array_gather_and_concat(tf, x):
    rows = tf.TensorArray(tf.float64, 4, clear_after_read=False).unstack(x * x)
    return tf.reshape(rows.concat(), [4, 2]) * rows.gather([3, 1, 0, 2])


@program((4, 2))
def map_fn(tf, x):
    return tf.map_fn(lambda row: tf.sin(row) * tf.reduce_sum(row), x)


@program((2, 2), order=1)
def map_fn_nested(tf, x):
    return tf.map_fn(lambda row: tf.map_fn(lambda e: e * tf.sin(e), row), x)


@program((4, 2))
def scan(tf, x):
    return tf.scan(lambda s, row: tf.tanh(s) * row + s, x)


@program((4, 2))
def foldl(tf, x):
    return tf.foldl(lambda s, row: s * row + 1.0, x)


@program((2, 4, 3), ints=((3, 4),), order=1)
def dynamic_rnn_lstm(tf, x, lengths):
    weights = tf.constant(np.random.RandomState(1).randn(5, 8) * 0.5)

    class Cell:
        """A cell for `dynamic_rnn`, whose own cells are gone."""

        state_size, output_size = (2, 2), 2

        def call(self, row, state):
            c, h = state
            i, j, f, o = tf.split(tf.matmul(tf.concat([row, h], 1), weights), 4, axis=1)
            c = c * tf.sigmoid(f) + tf.sigmoid(i) * tf.tanh(j)
            h = tf.tanh(c) * tf.sigmoid(o)
            return h, (c, h)

        def __call__(self, row, state, scope=None):
            return self.call(row, state)

        def zero_state(self, batch_size, dtype):
            return tf.zeros([2, 2], dtype), tf.zeros([2, 2], dtype)

        get_initial_state = zero_state

    cell = Cell()
    outputs, (c, _) = tf.nn.dynamic_rnn(cell, x, lengths, cell.zero_state(2, tf.float64))
    return tf.reduce_sum(outputs, 1) + c


@program((2, 4, 4, 3), ints=(1,), order=1)
def batch_norm_by_cond(tf, x, training):
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    mean, variance = tf.cond(training > 0, lambda: (mean, variance), lambda: (tf.zeros_like(mean), tf.ones_like(variance)))
    return tf.nn.batch_normalization(x, mean, variance, 0.1, 2.0, 1e-3)


@program((3, 4))
def greedy_decoder(tf, logits):
    def step(i, state, best):
        scores = tf.nn.log_softmax(tf.matmul(state[None], logits)[0])
        return i + 1, tf.tanh(state + scores[:3] * scores[1:]), best + tf.reduce_max(scores)
    _, state, best = tf.while_loop(lambda i, s, b: tf.logical_and(i < 6, b > -50.0), step,
                                   (0, tf.ones([3], tf.float64), tf.zeros([], tf.float64)))
    return state * best


@program((3,), order=1)
def function_called(tf, x):
    from tensorflow.python.framework import function

    @function.Defun(tf.float64, tf.float64)
    def product(a, b):
        return tf.sin(a) * b, a + b

    u, v = product(x, x * x)
    return product(u, v)[0]


@program((3,), order=1)
def function_with_a_gradient(tf, x):
    from tensorflow.python.framework import function

    @function.Defun(tf.float64, tf.float64)
    def slope(a, dy):
        return dy * 7.0 * a

    @function.Defun(tf.float64, grad_func=slope)
    def square(a):
        return a * a

    return square(x)


@program((3,), order=0)
def function_differentiated(tf, x):
    from tensorflow.python.framework import function

    @function.Defun(tf.float64)
    def product(a):
        return tf.sin(a) * a

    return tf.gradients(product(x * x), x)[0]


@program((3,), only="v2")
def function_of_version_2(tf, x):
    @tf.function
    def inner(a):
        return a * a, tf.nn.top_k(a, 2)

    @tf.function
    def outer(a):
        b, top = inner(tf.sin(a))
        return b * top.values[0] + tf.cast(top.indices[1], tf.float64)

    return outer(x) + outer(x * 2.0)


@program((3,), ints=(3,), only="v2")
def while_within_function(tf, x, n):
    @tf.function
    def power(a):
        return tf.while_loop(lambda i, v: i < n, lambda i, v: (i + 1, v * a), (0, a))[1]

    return tf.cond(n > 2, lambda: power(x), lambda: x)


def trained(tf):
    """A graph with the gradient of a loop in it, as version 1 records it."""
    x = tf.placeholder(tf.float64, [2], name="x")
    w = tf.get_variable("w", initializer=np.array([0.5, 2.0]), use_resource=False)
    y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * w), (0, x))[1]
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), name="step")


def lowered(tf):
    """Returns the graph of a version 2 function as its freezing leaves it: functions taken apart into Switch, Merge, Enter."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    weights = tf.Variable(np.eye(3) / 2 + 0.1)

    @tf.function
    def function(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.while_loop(
            lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(tf.matmul(v, weights))), (0, x))[1], lambda: -x)

    frozen = convert_variables_to_constants_v2(function.get_concrete_function(tf.TensorSpec([1, 3], tf.float64, name="x")))
    return frozen.graph.as_graph_def()


def _values(shapes, ints):
    draw = np.random.RandomState(7)
    return [draw.rand(*s) + 0.2 for s in shapes] + [np.int32(i) for i in ints]


def record(found):
    import tensorflow.compat.v1 as tf

    for name, (function, shapes, ints, only, order) in PROGRAMS.items():
        for version in ("v1", "v2"):
            if only not in (None, version):
                continue
            tf.disable_control_flow_v2() if version == "v1" else tf.enable_control_flow_v2()
            values = _values(shapes, ints)
            with tf.Graph().as_default() as graph:
                feeds = [tf.placeholder(v.dtype, v.shape, name=f"x{i}") for i, v in enumerate(values)]
                y = tf.identity(function(tf, *feeds), name="y")
                found[f"{name}.{version}.graph"] = np.frombuffer(graph.as_graph_def().SerializeToString(), np.uint8)
                if version == "v1" and only is None:
                    continue  # version 2 gives the same, and has second derivatives of loops
                xs = feeds[:len(shapes)]
                first = tf.gradients(y, xs) if order else []
                wanted = [y, *first]
                if order > 1:
                    wanted += tf.gradients(tf.add_n([tf.reduce_sum(g * g) for g in first]), xs)
                with tf.Session() as session:
                    for i, v in enumerate(session.run(wanted, dict(zip(feeds, values)))):
                        found[f"{name}.{i}"] = v
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        trained(tf)
        found["trained"] = np.frombuffer(graph.as_graph_def().SerializeToString(), np.uint8)
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    import tensorflow

    kept = {"lowered": np.frombuffer(lowered(tensorflow).SerializeToString(), np.uint8)}
    tensorflow.compat.v1.disable_v2_behavior()
    record(kept)
