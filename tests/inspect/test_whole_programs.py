"""Whole programs through every tool: they agree with `gradients`, and find nothing wrong where nothing is."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel


def _custom(x, w):
    @tf.custom_gradient
    def f(a):
        return tf.exp(a), lambda dy: dy * 2.0

    return f(x) * w


def _nested(x, w):
    def turn(i, a):
        return i + 1, tf.cond(tf.reduce_sum(a) > 0.0, lambda: tf.sin(a) * w, lambda: a)

    return tf.while_loop(lambda i, a: i < 3, turn, [0, x])[1]


def _lstm(x, w):
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(2), tf.reshape(x * w, [1, 3, 1]), dtype=tf.float32)[0]


def _group(x, w):
    return tf.tanh(tf.sin(x), name="q") * w


def _group_rule(graph):
    return {sel.group([graph.get_tensor_by_name("x:0")], [graph.get_tensor_by_name("q:0")]): lambda op, dy: dy}


def _bridges(graph):
    return [tf.bridge(sel.type("ArgMax"), lambda op, dy: [tf.ones([3]) * tf.cast(dy, tf.float32), None]),
            tf.bridge(sel.type("Cast"), lambda op, dy: dy)]


PROGRAMS = {  # program of a placeholder and a variable, overrides made of its graph
    "map": (lambda x, w: tf.map_fn(lambda a: tf.tanh(a) * 2.0, x) * w, None),
    "scan": (lambda x, w: tf.scan(lambda a, b: tf.sin(a * b), x) * w, None),
    "second order of a scan": (lambda x, w: tf.gradients(tf.scan(lambda a, b: tf.sin(a * b), x) * w, x)[0], None),
    "case": (lambda x, w: tf.case([(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x))], default=lambda: w * x), None),
    "branch in a loop": (_nested, None),
    "custom gradient": (_custom, None),
    "recomputed": (lambda x, w: tf.recompute_grad(lambda a: tf.tanh(a) * 2.0)(x) * w, None),
    "host function": (lambda x, w: tf.py_func(lambda a: a * 2, [x], tf.float32, grad=lambda op, dy: dy * 2.0) * w, None),
    "rows": (lambda x, w: tf.gather(w, [0, 1, 0]) * x, None),
    "assignment": (lambda x, w: x * tf.assign(w, x * 2.0), None),
    "group": (_group, _group_rule),
    "bridge": (lambda x, w: tf.to_float(tf.argmax(x)) * w, _bridges),
    "recurrent network": (_lstm, None),
}


MEANT = {"custom gradient": "IdentityN", "group": lambda overrides: next(iter(overrides))}  # rules that are not the derivative


@pytest.mark.parametrize("name", PROGRAMS)
def test_tools_agree(name, fresh_graph):
    program, make_overrides = PROGRAMS[name]
    x, w = tf.placeholder(tf.float32, [3], name="x"), tf.Variable([1.0, 2.0, 3.0])
    y = program(x, w)
    feed = {x: np.array([0.3, 0.5, 0.7], np.float32)}
    options = {} if make_overrides is None else {"overrides": make_overrides(fresh_graph)}
    before = len(fresh_graph._ops)
    told = tf.explain_gradients(y, [x, w], **options)
    page = told.html()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        meant = MEANT.get(name)
        checked = tf.audit(y, [x, w], feed, order=2, meant=meant(options["overrides"]) if callable(meant) else meant, **options)

        assert len([op for op in fresh_graph._ops[before:] if op.type != "NoOp"]) == 0
        assert checked, str(checked)
        assert [s.name for s in told.steps if s.status == "rule failed" or "tried" in s.note] == []
        assert page.count("<div class='rung") == len(told.steps)

        grads = tf.gradients(y, [x, w], **options)
        ill = tf.diagnose(y, [x, w], feed, **options)
        same = tf.compare(None, tf.View("again", {"*": rules.default}), y, [x, w], feed)
        norms = [None if g is None else float(np.linalg.norm(session.run(tf.convert_to_tensor(g), feed))) for g in grads]

    assert [t.gradient for t in told.targets] == [g is not None for g in grads]
    assert ill.problems == []
    assert [h.norm is None for h in ill.xs] == [n is None for n in norms]
    if name != "rows":  # of slices, the norm is that of the rows, not of their sum
        assert [h.norm for h in ill.xs] == [n if n is None else pytest.approx(n, rel=1e-4) for n in norms]
    assert all(a.cosine is None or a.cosine == pytest.approx(1.0) for a in same.xs)
