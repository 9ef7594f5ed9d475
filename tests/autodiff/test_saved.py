"""Overrides that outlive the graph they were made on: copied with it, and written down for a program that builds it again."""

import inspect
import json

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

X = np.array([-1.5, 0.4, 2.0])


def thrice(op, dy, default):
    return [None if g is None else 3.0 * g for g in default()]


FUNCTIONS = {f"{__name__}:thrice": thrice}
tf.RegisterGradient("SavedTwice")(lambda op, dy: 2.0 * dy)
tf.RegisterGradient("SavedMore")(lambda op, dy, default: [5.0 * g for g in default()])


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
        loaded = tf.overrides_from_json(text, functions=FUNCTIONS)
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
    with tf.Graph().as_default(), pytest.raises(tf.OverrideError, match="matches none of the 0"):
        tf.overrides_from_json(text)


@pytest.mark.parametrize("within", [sel.ops, lambda op: sel.between(op.inputs[0], op.outputs[0]),
                                    lambda op: sel.group([op.inputs[0]], [op.outputs[0]])])
def test_operations_and_tensors_in_branches_and_loops_have_names(within):
    found = []
    for kept in (None, "attached", "read"):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            y, x = _looped()
            view = None
            if kept == "attached":
                view = tf.View("v", [(within(sel.type("Sin").select(graph)[1]), "SavedTwice")])
                text = tf.overrides_to_json(views=[view])
            elif kept == "read":
                view = tf.overrides_from_json(text)["v"]
            found.append(session.run(tf.gradients(y, x, view=view)[0]))
    assert found[0] != found[1] == found[2]
    with tf.Graph().as_default(), pytest.raises(tf.OverrideError, match="no branch or loop of the graph has an operation '"):
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
    tf.attach(x.graph.get_operation_by_name("block/t"), thrice)
    text = tf.overrides_to_json(views=[tf.View("v", {"Sin": "SavedTwice"})])
    for wrong, words in ((text.replace("block/t", "block/tt"), "block/t'"),
                         (text.replace("SavedTwice", "SavedTwic"), "SavedTwice"),
                         (text.replace(":thrice", ":fourfold"), "fourfold.*did you mean.*thrice"),
                         ("{}", "no text"), ("nonsense", "no text")):
        with tf.Graph().as_default() as graph:
            build()
            with pytest.raises(tf.OverrideError, match=words):
                tf.overrides_from_json(wrong, functions=FUNCTIONS)
            assert all(op.attached_rules is None for op in graph.get_operations()) and graph.gradient_rules == []


# -- each way of giving rules comes back as it was -----------------------------------------------------
def deep(n=3, block=None, rule_of="SavedTwice"):
    """Builds n layers; the operations named by `block` are made in a block of gradient_override_map."""
    x = h = tf.placeholder(tf.float64, [3], name="x")
    graph = x.graph
    for i in range(n):
        with graph.gradient_override_map({"Relu": rule_of} if i in (block or ()) else {}):
            h = tf.nn.relu(h - 0.1, name=f"r{i}")
        h = tf.multiply(h, 1.5, name=f"m{i}")
    return x, tf.sin(h, name="y")


def slopes(x, y, view=None):
    return values(tf.gradients(y, x, view=view)[0])


def test_what_was_attached_by_a_selector_holds_for_a_deeper_network():
    with tf.Graph().as_default():
        deep(3)
        tf.attach("Relu", "SavedTwice")
        text = tf.overrides_to_json()
    with tf.Graph().as_default():
        x, y = deep(5)
        tf.attach("Relu", "SavedTwice")
        want = slopes(x, y)
    with tf.Graph().as_default():
        x, y = deep(5)
        tf.overrides_from_json(text)
        np.testing.assert_array_equal(slopes(x, y), want)


def test_what_was_attached_before_more_was_built_stays_with_its_operations():
    with tf.Graph().as_default():
        x, y = deep(2)
        tf.attach("Relu", thrice)
        y = tf.nn.relu(y, name="later")
        want, text = slopes(x, y), tf.overrides_to_json()
    with tf.Graph().as_default():
        x, y = deep(2)
        y = tf.nn.relu(y, name="later")
        tf.overrides_from_json(text, functions=FUNCTIONS)
        np.testing.assert_array_equal(slopes(x, y), want)


def test_gradients_that_were_made_before_change_nothing():
    for made in (False, True):
        with tf.Graph().as_default():
            x, y = deep(2)
            tf.attach(sel.type("Relu", "Mul"), "SavedMore")
            if made:
                tf.gradients(y, x)
            text = tf.overrides_to_json()
        assert json.loads(text)["attached"][0]["selector"] == {"kind": "type", "names": ["Relu", "Mul"]}


@pytest.mark.parametrize("again", [(), (0, 2)], ids=["read by a program without the block", "with it"])
@pytest.mark.parametrize("rule", ["SavedTwice", "SavedMore"])
def test_blocks_come_back(again, rule):
    with tf.Graph().as_default():
        x, y = deep(3, (0, 2), rule)
        want, text = slopes(x, y), tf.overrides_to_json()
    with tf.Graph().as_default():
        x, y = deep(3, again, rule)
        tf.overrides_from_json(text)
        tf.overrides_from_json(text)
        np.testing.assert_array_equal(slopes(x, y), want)


def test_blocks_in_blocks_and_a_rule_of_an_operation_alone_come_back():
    def made(blocks):
        x = tf.placeholder(tf.float64, [3], name="x")
        graph = x.graph
        with graph.gradient_override_map({"Tanh": "SavedTwice", "Sin": "SavedTwice"} if blocks else {}):
            with graph.gradient_override_map({"Tanh": "SavedMore"} if blocks else {}):
                h = tf.tanh(x, name="t")
            y = tf.exp(tf.sin(h), name="y")
        if blocks:
            y.op._set_attr("_gradient_op_type", b"SavedTwice")
        return x, y

    with tf.Graph().as_default():
        x, y = made(True)
        want, text = slopes(x, y), tf.overrides_to_json()
    with tf.Graph().as_default():
        x, y = made(False)
        plain = slopes(x, y)
        tf.overrides_from_json(text)
        np.testing.assert_array_equal(slopes(x, y), want)
        np.testing.assert_allclose(want, np.full(3, 40.0))  # 2 * 2 * 5 * 2: one rule asks for the next
        assert not np.allclose(plain, want)


def test_blocks_that_do_not_fit_complain():
    with tf.Graph().as_default():
        deep(2, (0,))
        text, without = tf.overrides_to_json(), tf.overrides_to_json(blocks=False)
    with tf.Graph().as_default() as graph:
        deep(2, (0,), "SavedMore")
        with pytest.raises(tf.OverrideError, match="'r0'.*the rule 'SavedMore' here, and 'SavedTwice' where.*blocks=False"):
            tf.overrides_from_json(text)
        tf.overrides_from_json(without)
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.constant(1.0), name="other")
        with pytest.raises(tf.OverrideError, match="'r0'.*blocks=False"):
            tf.overrides_from_json(text)
        tf.overrides_from_json(without)
        assert all(op.override_scope is None for op in graph.get_operations())
    with tf.Graph().as_default(), pytest.raises(tf.OverrideError, match="SavedTwic'; did you mean 'SavedTwice'"):
        deep(2)
        tf.overrides_from_json(text.replace("SavedTwice", "SavedTwic"))


def _own(gradient, x):
    if gradient == "custom_gradient":
        return tf.custom_gradient(lambda v: (v + 1.0, lambda dy: 7.0 * dy))(x)
    if gradient == "py_func":
        return tf.py_func(lambda v: v + 1.0, [x], tf.float64, grad=lambda op, dy: 7.0 * dy)
    return tf.py_func(lambda v: v + 1.0, [x], tf.float64) if gradient == "py_func without" else tf.identityn([x, x])[0]


@pytest.mark.parametrize(("saved", "loaded"), [("custom_gradient", "py_func"), ("py_func", "py_func without")])
def test_gradients_of_operations_own_are_asked_for(saved, loaded):
    def made(gradient):
        x = tf.placeholder(tf.float64, [3], name="x")
        y = _own(gradient, x)
        y.set_shape([3])
        return x, tf.sin(y, name="y")

    with tf.Graph().as_default():
        x, y = made(saved)
        want, text = slopes(x, y), tf.overrides_to_json()
        without = tf.overrides_to_json(blocks=False)
    with tf.Graph().as_default():
        x, y = made(saved)
        tf.overrides_from_json(text)
        np.testing.assert_array_equal(slopes(x, y), want)
    if loaded == "py_func without":
        with tf.Graph().as_default():
            made(loaded)
            with pytest.raises(tf.OverrideError, match="'PyFunc'.*had a gradient of its own.*blocks=False"):
                tf.overrides_from_json(text)
            tf.overrides_from_json(without)


@pytest.mark.parametrize("rule", [thrice, lambda group, dy, default: [3.0 * g for g in default()]])
def test_grouped_functions(rule):
    def made():
        x = tf.placeholder(tf.float64, [3], name="x")
        return x, tf.sin(tf.grouped(rule)(lambda v: tf.exp(tf.tanh(v)))(x), name="y")

    with tf.Graph().as_default():
        x, y = made()
        want, without = slopes(x, y), tf.overrides_to_json(blocks=False)
        if rule is not thrice:
            with pytest.raises(tf.OverrideError, match="(?s)Register it.*blocks=False leaves it to the program"):
                tf.overrides_to_json()
        text = tf.overrides_to_json() if rule is thrice else without
    with tf.Graph().as_default() as graph:
        x, y = made()
        tf.overrides_from_json(text, functions=FUNCTIONS)
        tf.overrides_from_json(without)
        assert len(graph.gradient_rules) == 1
        np.testing.assert_array_equal(slopes(x, y), want)


def test_text_of_version_1_is_read():
    text = json.dumps({"regrad overrides": 1, "attached": [{"selector": {"kind": "ops", "names": ["r0"]}, "rule": {
        "function": "regrad.autodiff.surrogates:guided_relu"}, "order": "all", "bridge": False, "optional": False}],
        "graph": [], "views": {}})
    with tf.Graph().as_default() as graph:
        deep(1)
        tf.overrides_from_json(text)
        assert graph.get_operation_by_name("r0").attached_rules[0].rule is rules.guided_relu


LISTED = {
    "attach": lambda x, y: tf.attach("Relu", "SavedMore"),
    "attach twice": lambda x, y: (tf.attach("Relu", "SavedMore"), tf.attach("Relu", "SavedMore")),
    "attach an operation": lambda x, y: tf.attach(y.op, "SavedMore"),
    "attach a predicate": lambda x, y: tf.attach(lambda op: op.type == "Relu", "SavedMore"),
    "attach to readers of a variable": lambda x, y: tf.attach(tf.global_variables()[0], "SavedMore"),
    "attach a function": lambda x, y: tf.attach("Relu", thrice),
    "attach for an order": lambda x, y: tf.attach("Relu", "SavedMore", order=1),
    "graph rule": lambda x, y: tf.set_graph_rule("Relu", "SavedMore"),
    "graph rules": lambda x, y: (tf.set_graph_rule("Relu", thrice), tf.set_graph_rule("Relu", "SavedMore")),
    "graph rule of a group": lambda x, y: tf.set_graph_rule(sel.group([x, tf.global_variables()[0]], [y.op.inputs[0]]), thrice),
    "graph rule of readers": lambda x, y: tf.set_graph_rule(tf.global_variables()[0], "SavedMore"),
    "a block's, and attached": lambda x, y: (y.op._set_attr("_gradient_op_type", b"SavedMore"), tf.attach(y.op, "SavedMore")),
}


@pytest.mark.parametrize("way", LISTED)
def test_every_way_comes_back_once_however_often_it_is_loaded(way):
    def made():
        x = tf.placeholder(tf.float64, [3], name="x")
        w = tf.get_variable("w", initializer=np.full(3, 1.5))
        h = tf.nn.relu(x * w, name="r")
        return x, tf.sin(h, name="y")

    def run(x, y):
        got = tf.gradients(y, [x, tf.global_variables()[0]])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(got, {x: X})

    with tf.Graph().as_default():
        x, y = made()
        plain = run(x, y)
    with tf.Graph().as_default() as graph:
        x, y = made()
        LISTED[way](x, y)
        want, text = run(x, y), tf.overrides_to_json()
        tf.overrides_from_json(text, functions=FUNCTIONS)  # they are there
        np.testing.assert_array_equal(run(x, y), want)
        rules_before = len(graph.gradient_rules)
    assert not np.allclose(want, plain)
    with tf.Graph().as_default() as graph:
        x, y = made()
        for _ in range(3):
            tf.overrides_from_json(text, functions=FUNCTIONS)
        np.testing.assert_array_equal(run(x, y), want)
        assert len(graph.gradient_rules) == rules_before
        assert json.loads(tf.overrides_to_json()) == json.loads(text)


def test_functions_are_passed_by_name_and_loaded_once():
    with tf.Graph().as_default():
        deep(2)
        tf.attach("Relu", thrice)
        text = tf.overrides_to_json()
    name = f"{__name__}:thrice"
    assert name in text
    with tf.Graph().as_default():
        x, y = deep(2)
        with pytest.raises(tf.OverrideError, match=f"names the function '{name}'.*functions={{'{name}': the function}}"):
            tf.overrides_from_json(text)
        with pytest.raises(TypeError, match="mapping from names"):
            tf.overrides_from_json(text, functions={name: 3})
        other = {name: lambda op, dy, default: [3.0 * g for g in default()]}
        for _ in range(2):
            tf.overrides_from_json(text, functions=other)
        got = slopes(x, y)
    with tf.Graph().as_default():
        x, y = deep(2)
        tf.overrides_from_json(text, functions=FUNCTIONS)
        np.testing.assert_array_equal(slopes(x, y), got)


def test_names_that_two_things_have_are_refused():
    with tf.Graph().as_default():
        deep(1)
        views = [tf.View("v", {"Relu": "SavedTwice"}), tf.View("w"), tf.View("v", {"Sin": "SavedTwice"})]
        with pytest.raises(tf.OverrideError, match="two views are called 'v'"):
            tf.overrides_to_json(views=views)
        with pytest.raises(tf.OverrideError, match="the view 'g' has grad_ys, tensors of this program"):
            tf.overrides_to_json(views=[tf.View("g", {"Relu": "SavedTwice"}, grad_ys=tf.ones([3], tf.float64))])
        other = type(thrice)(thrice.__code__, {}, "thrice")
        other.__module__, other.__qualname__ = thrice.__module__, thrice.__qualname__
        tf.set_graph_rule("Relu", thrice)
        tf.set_graph_rule("Sin", other)
        with pytest.raises(tf.OverrideError, match="(?s)two functions are called 'test_saved:thrice'"):
            tf.overrides_to_json()


NET = np.random.default_rng(0).normal(size=(4, 4, 4, 3)).astype(np.float32)
PRESETS = {
    "epsilon_plus": lambda: rules.lrp_epsilon_plus(first=rules.lrp_flat()),
    "epsilon_alpha2_beta1": lambda: rules.lrp_epsilon_alpha2_beta1(),
    "epsilon_gamma_box": lambda: rules.lrp_epsilon_gamma_box(-3.0, np.float32(3.0)),
    "a box of arrays": lambda: rules.lrp_epsilon_gamma_box(np.full(3, -3.0, np.float32), np.full(3, 3.0, np.float32)),
    "excitation": lambda: rules.excitation_backprop(),
    "not absorbing": lambda: rules.lrp_preset(rules.lrp_epsilon(), rules.lrp_z_plus(), absorb_bias=False),
    "of one's own": lambda: rules.lrp_preset(rules.lrp_epsilon(0.1), rules.lrp_gamma(), last=rules.lrp_w_square()),
}


@pytest.mark.parametrize("preset", PRESETS)
def test_relevance_presets_come_back(preset):
    def made():
        x = tf.constant(NET, name="x")
        kernel = tf.constant(NET[0, :2, :2].reshape(2, 2, 1, 3).repeat(3, 2))
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "VALID"), [0.1, -0.2, 0.3]))
        return x, tf.matmul(tf.reshape(h, [4, -1]), tf.constant(NET.reshape(-1)[:54].reshape(27, 2))) + [0.1, -0.1]

    def relevance(x, y, view):
        with tf.Session() as session:
            return session.run(tf.gradients(y, x, grad_ys=[y], view=view)[0])

    with tf.Graph().as_default():
        x, y = made()
        view = tf.View("lrp", PRESETS[preset]())
        want, text = relevance(x, y, view), tf.overrides_to_json(views=[view])
    with tf.Graph().as_default():
        x, y = made()
        got = relevance(x, y, tf.overrides_from_json(text)["lrp"])
    np.testing.assert_array_equal(got, want)
    assert np.any(want)


# What each ready-made rule is made of; a name that regrad.rules gets must stand here, or be no rule.
MADE = {
    "arctan": lambda: rules.surrogate(rules.arctan(3.0)), "clip": lambda: rules.clip(0.1),
    "clip_norm": lambda: rules.clip_norm(0.1), "clip_percentile": lambda: rules.clip_percentile(50.0),
    "clipped": lambda: rules.surrogate(rules.clipped(2.0)),
    "dropout": lambda: rules.dropout(0.5, seed=3), "fast_sigmoid": lambda: rules.surrogate(rules.fast_sigmoid(2.0)),
    "gaussian": lambda: rules.surrogate(rules.gaussian(0.7)), "mask": lambda: rules.mask(np.array([1.0, 0.0, 2.0])),
    "mix": lambda: rules.mix(np.float64(0.25), "SavedTwice", rules.default), "noise": lambda: rules.noise(0.1, seed=3),
    "normalize": lambda: rules.normalize(), "quantize_gradient": lambda: rules.quantize_gradient(2, seed=3),
    "reverse": lambda: rules.reverse(2.0), "scale": lambda: rules.scale(2.0), "stop": lambda: rules.stop(),
    "sigmoid": lambda: rules.surrogate(rules.sigmoid(2.0)), "surrogate": lambda: rules.surrogate(rules.approx_sign),
    "swish_sign": lambda: rules.surrogate(rules.swish_sign(3.0)), "tanh": lambda: rules.surrogate(rules.tanh(2.0)),
    "triangle": lambda: rules.surrogate(rules.triangle(0.5)), "zero": lambda: rules.zero(),
    "approx_sign": lambda: rules.surrogate(rules.approx_sign), "identity": lambda: rules.surrogate(rules.identity),
    "guided_relu": lambda: rules.guided_relu, "deconvnet_relu": lambda: rules.deconvnet_relu,
    "redirected_relu": lambda: rules.redirected_relu, "lrp_pass": lambda: rules.lrp_pass,
    "default": lambda: rules.default >> rules.scale(2.0), "excitation": lambda: rules.excitation(),
}
OF_OTHER_TESTS = {name for name in dir(rules) if name.startswith("lrp_")} | {"excitation"}


def test_every_ready_made_rule_is_in_the_table():
    def makes_or_is_rule(name):
        f = getattr(rules, name)
        return getattr(f, "makes_rules", False) or inspect.isfunction(f) and [*inspect.signature(f).parameters][:1] == ["op"]

    assert {name for name in dir(rules) if makes_or_is_rule(name)} <= set(MADE) | OF_OTHER_TESTS


@pytest.mark.parametrize("name", sorted(set(MADE) - {"excitation"}))
def test_ready_made_rules(name):
    got = []
    for text in (None, "read"):
        with tf.Graph().as_default():
            tf.set_random_seed(5)
            x, y = build()
            if text is None:
                tf.set_graph_rule("Relu", MADE[name]())
                kept = tf.overrides_to_json()
            else:
                tf.overrides_from_json(kept)
            found = tf.gradients(y, x)[0]
            got.append(None if found is None else values(found))
    assert (got[0] is None) == (got[1] is None)
    if got[0] is not None:
        np.testing.assert_array_equal(*got)


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
