"""Functions with a gradient of their own."""

import numpy as np
import pytest

import regrad as tf
from regrad import sel

X = np.array([0.5, -1.0, 2.0])


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


@tf.custom_gradient
def square_said_to_be_cubic(x):
    return tf.square(x), lambda dy: dy * 3.0 * tf.square(x)


def test_the_rule_is_used_and_has_a_derivative():
    x = tf.constant(X)
    y = square_said_to_be_cubic(x)
    first = tf.gradients(y, x)[0]
    value, g, gg = run([y, first, tf.gradients(first, x)[0]])
    np.testing.assert_allclose(value, X**2)
    np.testing.assert_allclose(g, 3 * X**2)
    np.testing.assert_allclose(gg, 6 * X)


def test_of_the_stable_log():
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))

    x = tf.constant([0.0, 100.0])
    np.testing.assert_allclose(run(tf.gradients(log1pexp(x), x)[0]), [0.5, 1.0])  # the usual rule gives NaN


def test_several_arguments_and_results():
    @tf.custom_gradient
    def both(a, b):
        return (a * b, a + b), lambda d_mul, d_add: (10.0 * d_mul + d_add, 100.0 * d_add)

    a, b = tf.constant(2.0), tf.constant(3.0)
    p, q = both(a, b)
    np.testing.assert_allclose(run([p, q, *tf.gradients([p, q], [a, b])]), [6, 5, 11, 100])
    np.testing.assert_allclose(run(tf.gradients(p, [a, b])), [10, 0])  # what does not arrive is zero


def test_keywords():
    @tf.custom_gradient
    def scaled(x, factor=1.0, power=1, mask=None):
        y = x**power * factor
        return (y if mask is None else y * mask), lambda dy: dy * 7.0

    x, factor = tf.constant(3.0), tf.constant(5.0)
    y = scaled(x, power=2, factor=factor)
    assert run([y, tf.gradients(y, x)[0]]) == [45.0, 7.0]
    assert tf.gradients(y, factor) == [None]  # nothing was said of it


def test_nested_structures():
    @tf.custom_gradient
    def f(pair):
        a, b = pair["a"], pair["b"]
        return {"sum": a + b[0], "last": b[1]}, lambda *dys: {"a": dys[0] * 2.0, "b": [dys[1] * 3.0, dys[0] + dys[1]]}

    a, b, c = (tf.constant(v) for v in (1.0, 2.0, 4.0))
    out = f({"a": a, "b": [b, c]})
    # results come in sorted order of their keys: last, sum
    got = run([out["sum"], out["last"], *tf.gradients([out["sum"], out["last"]], [a, b, c], grad_ys=[10.0, 1.0])])
    np.testing.assert_allclose(got, [3, 4, 2, 30, 11])


def test_variables_inside():
    w = tf.get_variable("w", [], initializer=tf.constant_initializer(4.0))

    @tf.custom_gradient
    def f(x):
        y = x * tf.square(w)

        def grad(dy, variables):
            assert [v.name for v in variables] == ["w:0"]
            return dy * 100.0, [dy * 1000.0]

        return y, grad

    x = tf.constant(3.0)
    np.testing.assert_allclose(run([f(x), *tf.gradients(f(x), [x, w])]), [48, 100, 1000])


def test_nesting():
    @tf.custom_gradient
    def outer(x):
        y = square_said_to_be_cubic(x)
        return y * 2.0, lambda dy: 5.0 * tf.gradients(y, x, grad_ys=[dy])[0]

    x = tf.constant(X)
    np.testing.assert_allclose(run(tf.gradients(outer(x), x)[0]), 15 * X**2)


def test_inside_loops_and_branches():
    x = tf.constant(1.1, tf.float64)
    _, y = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, square_said_to_be_cubic(h)), (0, x))
    z = tf.cond(x > 0.0, lambda: square_said_to_be_cubic(x), lambda: x)
    got = run([tf.gradients(y, x)[0], tf.gradients(z, x)[0]])
    np.testing.assert_allclose(got, [3 * 1.1**2 * 3 * 1.1**4, 3 * 1.1**2])


def test_an_override_may_ask_for_it():
    x = tf.constant(X)
    y = square_said_to_be_cubic(x)
    doubled = tf.gradients(y, x, overrides={"IdentityN": lambda op, *g, default: [None if d is None else 2.0 * d
                                                                                  for d in default()]})[0]
    np.testing.assert_allclose(run(doubled), 6 * X**2)


def test_grad_pass_through():
    x = tf.constant(X)
    y = tf.grad_pass_through(tf.round)(x) * 3.0
    value, g = run([y, tf.gradients(y, x)[0]])
    np.testing.assert_array_equal(value, np.round(X) * 3)
    np.testing.assert_array_equal(g, [3, 3, 3])


def layer(x):
    w = tf.get_variable("w", [3, 3], tf.float64, initializer=tf.constant_initializer(np.eye(3) * 0.5 + 0.1))
    return tf.tanh(tf.matmul(x, w)) * tf.sin(x)


def test_recompute_changes_no_number():
    x = tf.constant(X[None])
    with tf.variable_scope("net"):
        kept = layer(x)
    with tf.variable_scope("net", reuse=True):
        again = tf.recompute_grad(layer)(x)
        w = tf.get_variable("w", dtype=tf.float64)
        fetches = [[y, *tf.gradients(y, [x, w]), tf.gradients(tf.gradients(y, x)[0], x)[0]] for y in (kept, again)]
    plain, recomputed = run(fetches)
    for a, b in zip(plain, recomputed):
        np.testing.assert_allclose(a, b, rtol=1e-12)


PLACES = {
    "outside": lambda f, x: f(x),
    "outside, twice": lambda f, x: f(f(x)),
    "a branch": lambda f, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: f(x), lambda: x),
    "a loop": lambda f, x: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, f(h)), [0, x])[1],
    "a loop in a branch": lambda f, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: PLACES["a loop"](f, x), lambda: x),
    "a branch in a loop": lambda f, x: PLACES["a loop"](lambda h: PLACES["a branch"](lambda v: tf.reshape(f(v), [2]), h), x),
    "a map": lambda f, x: tf.map_fn(f, x[None])[0],
}


@pytest.mark.parametrize("inside", [False, True], ids=["made before", "made by the function"])
@pytest.mark.parametrize("place", PLACES)
def test_variables_of_a_function_within(place, inside):
    def weights():
        return tf.get_variable("w", [2], tf.float64, initializer=tf.constant_initializer([0.5, -0.25]))

    def layer(h):
        w = weights()
        return tf.sin(h * w) + w

    @tf.custom_gradient
    def own(h):
        w = weights()

        def grad(dy, variables):
            assert [v.name for v in variables] == ["f2/w:0"]
            dh, dw = dy * w * tf.cos(h * w), dy * (h * tf.cos(h * w) + 1.0)
            return 3.0 * dh, [3.0 * dw]
        return layer(h), grad

    x = tf.constant([1.0, 2.0], tf.float64)
    functions = [layer, tf.recompute_grad(layer), own,
                 tf.grouped(lambda group, dy, default: [3.0 * g for g in default()])(lambda h: layer(h))]
    grads = []
    for i, f in enumerate(functions):
        with tf.variable_scope(f"f{i}", reuse=tf.AUTO_REUSE):
            if not inside:
                weights()
            y = PLACES[place](f, x)
            grads.append(tf.gradients(y, [weights(), x]))
    with tf.Session() as s:
        s.run(tf.global_variables_initializer())
        plain, again, tripled, group = s.run(grads)
    np.testing.assert_allclose(again, plain)
    np.testing.assert_allclose(group, tripled)
    if "loop" not in place and "twice" not in place:  # of two turns, the first counts nine times
        np.testing.assert_allclose(tripled, np.multiply(3, plain))


def test_recompute_runs_the_forward_again():
    calls = []

    def forward(v):
        calls.append(1)
        return np.exp(v)

    def counted(x):
        return tf.py_func(forward, [x], tf.float64, grad=lambda op, dy: dy * op.outputs[0])

    x = tf.constant(X)
    y = tf.recompute_grad(counted)(x)
    np.testing.assert_allclose(run(tf.gradients(tf.square(y), x)[0]), 2 * np.exp(2 * X))
    assert len(calls) == 2


def _by_names(x):
    h = tf.layers.dense(tf.layers.dense(x, 3, tf.tanh, kernel_regularizer=tf.nn.l2_loss), 2)
    return tf.layers.batch_normalization(h * tf.get_variable("scale", [2], tf.float64), training=True)


@pytest.mark.parametrize("reuse", [None, tf.AUTO_REUSE])
def test_what_is_recomputed_has_the_variables_of_the_first_call(reuse):
    x = tf.constant(np.arange(12.0).reshape(4, 3) / 7.0)
    with tf.variable_scope("net", reuse=reuse):
        y = tf.recompute_grad(_by_names)(x)
    variables = tf.trainable_variables()
    keys = tf.GraphKeys.UPDATE_OPS, tf.GraphKeys.REGULARIZATION_LOSSES, tf.GraphKeys.GLOBAL_VARIABLES
    held = [len(tf.get_collection(key)) for key in keys]
    again = tf.gradients(tf.square(y - 1.0), [x, *variables])
    assert len(variables) == 7 and [len(tf.get_collection(key)) for key in keys] == held == [2, 1, 9]
    with tf.variable_scope("net", reuse=True):
        plain = tf.gradients(tf.square(_by_names(x) - 1.0), [x, *variables])

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for a, b in zip(*sess.run([plain, again])):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


DRAWING = {
    "dropout": lambda x: tf.nn.dropout(x, 0.5),
    "with a seed": lambda x: tf.nn.dropout(x, 0.5, seed=3),
    "in a loop": lambda x: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tf.nn.dropout(h, 0.7)), [0, x])[1],
    "in a branch": lambda x: tf.cond(tf.random_uniform([]) < 0.5, lambda: tf.nn.dropout(x, 0.5), lambda: 2.0 * x),
}


@pytest.mark.parametrize("name", DRAWING)
def test_what_is_recomputed_draws_the_same_numbers(name, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 10**9)
    x = tf.constant(np.ones(64))
    y = tf.recompute_grad(DRAWING[name])(x)
    g = tf.gradients(y, x)[0]
    with tf.Session() as sess:
        alone = [sess.run(fetch) for fetch in (y, g, g, y)]
        for _ in range(4):
            np.testing.assert_allclose(*sess.run([y, g]))  # linear, of ones
    assert name == "in a branch" or not np.array_equal(alone[1], alone[2])


def test_what_is_recomputed_draws_the_same_numbers_when_compiled(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    x = tf.constant(np.ones(64))
    pairs = [(y, tf.gradients(y, x)[0]) for y in (tf.recompute_grad(DRAWING[n])(x) for n in ("dropout", "in a branch"))]
    with tf.Session() as sess:
        for _ in range(4):
            for y, g in sess.run(pairs):
                np.testing.assert_allclose(y, g)


def test_overrides_reach_what_is_recomputed():
    x = tf.constant(X)
    triple = {"Tanh": lambda op, dy, default: [3.0 * default()[0]]}
    y = tf.recompute_grad(lambda v: tf.tanh(v) * 2.0)(x)
    by_call = tf.gradients(y, x, overrides=triple)[0]
    by_view = tf.gradients(y, x, view=tf.View("v", triple))[0]
    with tf.attach("Tanh", triple["Tanh"]):
        attached = tf.gradients(y, x)[0]
    for g in run([by_call, by_view, attached]):
        np.testing.assert_allclose(g, 6 * (1 - np.tanh(X) ** 2))


tf.RegisterGradient("Recomputed3")(lambda op, dy: 3.0 * dy)


@pytest.mark.parametrize("inside", [lambda v: tf.tanh(v), lambda v: tf.cond(v[0] < 99.0, lambda: tf.tanh(v), lambda: v)])
def test_a_block_around_a_function_holds_when_it_is_recomputed(inside):
    x = tf.constant(X)
    recomputing = tf.recompute_grad(lambda v: tf.grad_pass_through(tf.sign)(inside(v)) * 2.0)
    with tf.get_default_graph().gradient_override_map({"Tanh": "Recomputed3"}):
        y = recomputing(x)
    other = recomputing(x)
    with tf.attach(sel.type("Tanh") & sel.where(lambda op: op.override_scope is None), lambda op, dy: 5.0 * dy):
        grads = tf.gradients(y, x)[0], tf.gradients(other, x)[0]
    inside, attached = run(list(grads))
    np.testing.assert_allclose(inside, np.full_like(X, 6.0))
    np.testing.assert_allclose(attached, np.full_like(X, 10.0))


def _without_variables(x):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    return x * w, lambda dy: dy


def _in_a_loop(x):
    f = tf.recompute_grad(lambda v: tf.nn.dropout(v, 0.5))
    tf.gradients(tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, f(h)), [0, x])[1], x)


def _another_each_time(x):
    kinds = [tf.tanh, tf.identity]
    f = tf.recompute_grad(lambda v: tf.nn.dropout(kinds.pop()(v), 0.5))
    tf.gradients(f(x), x)


def _a_new_variable(x):
    tf.gradients(tf.recompute_grad(lambda v: v * tf.Variable(np.ones(())))(x), x)


REFUSALS = [
    (_in_a_loop, ValueError, "cannot draw again what it drew in the loop"),
    (_another_each_time, ValueError, "RandomUniform.* has no counterpart"),
    (_a_new_variable, ValueError, "makes the variable .* anew each time"),
    (lambda x: tf.custom_gradient(lambda v: v)(x), TypeError, r"must return \(result, grad_fn\)"),
    (lambda x: tf.custom_gradient(_without_variables)(tf.constant(1.0)), TypeError, "must accept a 'variables' keyword"),
    (lambda x: tf.gradients(tf.custom_gradient(lambda v: (v, lambda dy: (dy, dy)))(x), x),
     ValueError, "expected to return 1 gradients, but returned 2"),
    (lambda x: tf.gradients(tf.custom_gradient(lambda v: (v, lambda dy: dy[:1]))(x), x), ValueError, "shape"),
]


@pytest.mark.parametrize(("act", "error", "words"), REFUSALS)
def test_refusals(act, error, words):
    with pytest.raises(error, match=words):
        act(tf.constant(X))


@pytest.mark.parametrize("inside", [
    lambda f, x: tf.cond(tf.reduce_sum(x) > -9.0, lambda: f(x) * x, lambda: x),
    lambda f, x: tf.map_fn(lambda row: f(row) * row, x),
    lambda f, x: tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, f(x) * a), (0, x))[1],
], ids=["cond", "map", "captured"])
def test_second_order_in_a_body(inside):
    f = tf.custom_gradient(lambda x: (x * x, lambda dy: dy * tf.cos(x)))
    x = tf.constant([0.3, -0.5, 0.7])
    seconds = []
    for y in (inside(f, x), f(x) * x):
        first = tf.gradients(y, x)[0]
        seconds.append(tf.gradients(first * first, x)[0])
    with tf.Session() as session:
        np.testing.assert_allclose(*session.run(seconds), rtol=1e-5)


def test_arrays_as_gradients_and_results():
    x, a = tf.constant([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    y = tf.custom_gradient(lambda v: (a, lambda dy: a))(x)
    z = tf.custom_gradient(lambda v, w: ([v, a], lambda dv, da: (a, None)))(x, 1.0)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run([*z, *tf.gradients(y, x), *tf.gradients(z, x)]), [[1.0, 2.0], a, a, a])
