"""Overrides that outlive the graph they were made on: copied with it, and written down for a program that builds it again."""

import json

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

X = np.array([-1.5, 0.4, 2.0])


def thrice(op, dy, default):
    return [None if g is None else 3.0 * g for g in default()]


tf.RegisterGradient("SavedTwice")(lambda op, dy: 2.0 * dy)


def build():
    x = tf.placeholder(tf.float64, [3], name="x")
    with tf.name_scope("block"):
        h = tf.nn.relu(tf.tanh(x, name="t"), name="r")
    return x, tf.exp(-tf.sin(h, name="s"), name="y")


def values(g):
    x = g.op.graph.get_tensor_by_name("x:0")
    with tf.Session(graph=g.graph) as session:
        return session.run(g, {x: X})


SELECTORS = {
    "type": lambda x, y: "Tanh",
    "types": lambda x, y: sel.type("Tanh", "Sin"),
    "name": lambda x, y: "block/t",
    "pattern": lambda x, y: sel.name("block/*") - sel.type("Relu"),
    "scope and type": lambda x, y: sel.scope("block") & sel.type("Relu"),
    "last": lambda x, y: sel.last(sel.type("Exp") | sel.type("Sin")),
    "nth": lambda x, y: sel.nth(sel.everything, slice(1, 3)),
    "inverse": lambda x, y: ~sel.type("Tanh"),
    "operation": lambda x, y: y.op,
    "between": lambda x, y: sel.between(x, y.graph.get_tensor_by_name("block/r:0")),
}


def holds(make):
    """Returns the gradients of a built graph on which `make(graph, x, y)` put rules, and of one that got them as text."""
    got = []
    with tf.Graph().as_default():
        x, y = build()
        plain = values(tf.gradients(y, x)[0])
    with tf.Graph().as_default() as graph:
        x, y = build()
        views = make(graph, x, y) or []
        got.append(values(tf.gradients(y, x, view=views[0] if views else None)[0]))
        text = tf.overrides_to_json(views=views)
    json.loads(text)
    with tf.Graph().as_default():
        x, y = build()
        loaded = tf.overrides_from_json(text)
        got.append(values(tf.gradients(y, x, view=loaded[views[0].name] if views else None)[0]))
    assert not np.allclose(got[0], plain)
    return got


@pytest.mark.parametrize("name", SELECTORS)
def test_selectors(name):
    for make in (lambda g, x, y: tf.attach(SELECTORS[name](x, y), thrice) and None,
                 lambda g, x, y: tf.set_graph_rule(SELECTORS[name](x, y), thrice) and None,
                 lambda g, x, y: [tf.View("v", {SELECTORS[name](x, y): thrice})]):
        np.testing.assert_array_equal(*holds(make))


RULES = {
    "registered name": "SavedTwice",
    "function of a module": thrice,
    "ready-made function": rules.guided_relu,
    "scale": rules.scale(0.5),
    "reverse": rules.reverse(),
    "clip": rules.clip(-0.1, 0.2),
    "norm, along an axis": rules.clip_norm(0.1, axis=0),
    "composed": rules.default >> rules.clip(0.1) >> rules.scale(3.0),
    "before": rules.clip(0.1) >> rules.default,
    "mixed": rules.mix(0.25, rules.surrogate(rules.fast_sigmoid(slope=3.0)), rules.default),
    "surrogate": rules.surrogate(),
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name):
    np.testing.assert_array_equal(*holds(lambda g, x, y: tf.set_graph_rule("Relu", RULES[name]) and None))


def test_group_bridge_and_order():
    def make(g, x, y):
        h = g.get_tensor_by_name("block/r:0")
        return [tf.View("v", [tf.Override(sel.group([x], [h], "inner"), "SavedTwice"), tf.bridge("Sin", thrice),
                              tf.Override("Exp", thrice, order=2)])]

    np.testing.assert_array_equal(*holds(make))


def _looped():
    x = tf.constant(0.5, tf.float64, name="x")

    def turn(i, a):
        return i + 1, tf.cond(i < 1, lambda: tf.sin(a, name="s"), lambda: 2.0 * tf.sin(a, name="s"))

    return tf.while_loop(lambda i, a: i < 3, turn, [0, x])[1], x


def test_rules_of_operations_in_branches_and_loops():
    found = []
    for kept in (None, "attached", "read"):
        with tf.Graph().as_default(), tf.Session() as session:
            y, x = _looped()
            if kept == "attached":
                tf.attach(sel.last(sel.type("Sin")), "SavedTwice")
                text = tf.overrides_to_json()
            elif kept == "read":
                tf.overrides_from_json(text)
            found.append(session.run(tf.gradients(y, x)[0]))
    assert found[0] != found[1] == found[2]
    with tf.Graph().as_default(), pytest.raises(tf.OverrideError, match="no branch or loop"):
        tf.overrides_from_json(text)


def _nothing(x, y):
    w = tf.constant(0.5, tf.float64)
    return {
        "lambda": lambda: tf.set_graph_rule("Tanh", lambda op, dy: dy),
        "predicate": lambda: tf.set_graph_rule(sel.where(lambda op: op.type == "Tanh"), thrice),
        "tensor": lambda: tf.set_graph_rule("Tanh", rules.scale(w)),
        "closure, attached": lambda: tf.attach("Tanh", lambda op, dy: w * dy),
    }


@pytest.mark.parametrize(("name", "words"), [("lambda", "Register it"), ("predicate", "by type, name or scope"),
                                            ("tensor", "is a tensor"), ("closure, attached", "Register it")])
def test_what_has_no_name_is_refused(name, words):
    x, y = build()
    _nothing(x, y)[name]()
    with pytest.raises(tf.OverrideError, match=f"(?s)test_saved.py.*{words}"):
        tf.overrides_to_json()


def test_what_is_not_there_is_refused_and_changes_nothing(fresh_graph):
    x, y = build()
    tf.attach("Tanh", thrice)
    text = tf.overrides_to_json(views=[tf.View("v", {"Sin": "SavedTwice"})])
    for wrong, words in ((text.replace("block/t", "block/tt"), "block/t'"),
                         (text.replace("SavedTwice", "SavedTwic"), "SavedTwice"),
                         (text.replace(":thrice", ":fourfold"), "fourfold"), ("{}", "no text"), ("nonsense", "no text")):
        with tf.Graph().as_default() as graph:
            build()
            with pytest.raises(tf.OverrideError, match=words):
                tf.overrides_from_json(wrong)
            assert all(op.attached_rules is None for op in graph.get_operations()) and graph.gradient_rules == []


# -- with a GraphDef -----------------------------------------------------------------------------------


def imported(make, into=None):
    with tf.Graph().as_default() as graph:
        x, y = build()
        plain = values(tf.gradients(y, x)[0])
        make(graph, x, y)
        got = [values(tf.gradients(y, x)[0])]
        saved = graph.as_graph_def()
    with (into or tf.Graph()).as_default() as graph:
        tf.import_graph_def(saved, name="")
        got.append(values(tf.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))[0]))
    assert not np.allclose(got[0], plain)
    return got


@pytest.mark.parametrize("name", SELECTORS)
def test_graph_rules_travel_with_a_graph_def(name):
    np.testing.assert_array_equal(*imported(lambda g, x, y: tf.set_graph_rule(SELECTORS[name](x, y), thrice)))


@pytest.mark.parametrize("make", [lambda g, x, y: tf.attach("Tanh", lambda op, dy: 7.0 * dy),
                                  lambda g, x, y: tf.set_graph_rule(sel.where(lambda op: op.name == "s"), thrice),
                                  lambda g, x, y: tf.set_graph_rule(sel.group([x], [y.op.inputs[0]]), "SavedTwice")])
def test_other_rules_travel_too(make):
    np.testing.assert_array_equal(*imported(make))


def test_imported_rules_hold_for_what_was_imported_alone():
    with tf.Graph().as_default() as graph:
        build()
        tf.set_graph_rule("Tanh", thrice)
        saved = graph.as_graph_def()
    x = tf.constant(X)
    own = tf.tanh(x)
    loaded, = tf.import_graph_def(saved, {"x": own}, ["block/t:0"], name="again")
    with tf.Session() as session:
        got = session.run([tf.gradients(own, x)[0], tf.gradients(loaded, own)[0]])
    np.testing.assert_allclose(got, [1 - np.tanh(X) ** 2, 3 * (1 - np.tanh(np.tanh(X)) ** 2)])
