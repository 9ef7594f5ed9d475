"""Overriding: every way of saying it, the order of the ways, and that an override applies or complains."""

import re
import warnings

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel


@pytest.fixture
def net():
    """x -> Tanh -> Mul 2 -> Exp, with its value fed."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [3], name="x")
        h = tf.tanh(x, name="h")
        with tf.name_scope("head"):
            y = tf.exp(h * 2.0, name="e")

        class Net:
            pass

        n = Net()
        n.graph, n.x, n.h, n.y = graph, x, h, y
        n.value = np.array([0.1, -0.4, 0.8])
        with tf.Session() as session:
            n.run = lambda fetch: session.run(fetch, {x: n.value})
            yield n


def _true(n):
    return 2.0 * np.exp(2.0 * np.tanh(n.value)) * (1 - np.tanh(n.value) ** 2)


def triple(op, dy, default):
    return [None if g is None else 3.0 * g for g in default()]


WAYS = {
    "call, by type": lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": triple}),
    "call, by name": lambda n: tf.gradients(n.y, n.x, overrides={"h": triple}),
    "call, by pattern": lambda n: tf.gradients(n.y, n.x, overrides={"?": triple}),
    "call, by operation": lambda n: tf.gradients(n.y, n.x, overrides={n.h.op: triple}),
    "call, by tensor": lambda n: tf.gradients(n.y, n.x, overrides={n.h: triple}),
    "call, by scope": lambda n: tf.gradients(n.y, n.x, overrides={sel.scope("head") & sel.type("Exp"): triple}),
    "call, by predicate": lambda n: tf.gradients(n.y, n.x, overrides={sel.where(lambda op: op.type == "Tanh"): triple}),
    "call, first": lambda n: tf.gradients(n.y, n.x, overrides={sel.first(): triple}),
    "call, last": lambda n: tf.gradients(n.y, n.x, overrides={sel.last(): triple}),
    "call, nth": lambda n: tf.gradients(n.y, n.x, overrides={sel.nth(sel.everything, 1): triple}),
    "call, between": lambda n: tf.gradients(n.y, n.x, overrides={sel.between(n.x, n.h): triple}),
    "call, difference": lambda n: tf.gradients(n.y, n.x, overrides={sel.between(n.x, n.y) - sel.scope("head"): triple}),
    "call, group": lambda n: tf.gradients(n.y, n.x, overrides={sel.group([n.x], [n.h]): triple}),
    "composed": lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": rules.default >> rules.scale(3.0)}),
    "before": lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": rules.scale(3.0) >> rules.default}),
    "mixed": lambda n: tf.gradients(n.y, n.x, overrides={
        "Tanh": rules.mix(tf.constant(0.5, tf.float64), rules.scale(6.0), rules.scale(0.0))}),
    "view": lambda n: tf.gradients(n.y, n.x, view=tf.View("v", {"Tanh": triple})),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_says_the_same(net, way):
    np.testing.assert_allclose(net.run(WAYS[way](net))[0], 3 * _true(net))


def test_attach_and_detach(net):
    with tf.attach("Tanh", triple) as attached:
        assert attached.ops == [net.h.op]
        np.testing.assert_allclose(net.run(tf.gradients(net.y, net.x))[0], 3 * _true(net))
    np.testing.assert_allclose(net.run(tf.gradients(net.y, net.x))[0], _true(net))


def _in_a_loop():
    """Returns (x, y): three turns of a branch that is always taken, and another, each with a Sin."""
    x = tf.constant(0.5, tf.float64)

    def turn(i, a):
        return i + 1, tf.cond(i >= 0, lambda: tf.sin(a), lambda: 2.0 * tf.sin(a))

    return x, tf.while_loop(lambda i, a: i < 3, turn, [0, x])[1]


def test_attaching_reaches_into_loops_and_branches():
    x, y = _in_a_loop()
    session = tf.Session()
    true = session.run(tf.gradients(y, x)[0])

    sines = sel.type("Sin")
    assert sines.count(tf.get_default_graph()) == 2
    with tf.attach(sines, triple) as attached:
        assert len(attached.ops) == 2
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0]), 27 * true)
    with tf.attach(sel.last(sines), triple):  # the branch that is not taken
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0]), true)
    np.testing.assert_allclose(session.run(tf.gradients(y, x)[0]), true)


def test_a_block_covers_an_optimizer():
    with tf.Graph().as_default():
        w = tf.get_variable("w", [2], dtype=tf.float64, initializer=tf.ones_initializer())
        loss = tf.reduce_sum(tf.square(w))
        with tf.overriding({"Square": triple}):
            step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            np.testing.assert_allclose(session.run(w), 1 - 0.1 * 6)


def test_the_order_of_the_ways(net):
    def times(k):
        return lambda op, dy, default: [k * default()[0]]

    with net.graph.gradient_override_map({"Tanh": "Registered5"}):
        t = tf.tanh(net.x)
    factor = lambda **kw: net.run(tf.gradients(t, net.x, **kw))[0] / (1 - np.tanh(net.value) ** 2)  # noqa: E731
    with tf.set_graph_rule("Tanh", times(2.0)):
        np.testing.assert_allclose(factor(), 5)  # the scope stands before the graph
        with tf.attach(t, times(3.0)):
            np.testing.assert_allclose(factor(), 5)  # ... and before what was attached later
            with tf.overriding({"Tanh": times(7.0)}):
                np.testing.assert_allclose(factor(), 7 * 5)  # default is the next one down
                np.testing.assert_allclose(factor(overrides={"Tanh": times(11.0)}), 11 * 7 * 5)


@tf.RegisterGradient("Registered5")
def _five(op, dy):
    return 5.0 * dy * (1.0 - tf.square(op.outputs[0]))


def test_orders(net):
    first = tf.gradients(net.y, net.x, overrides=[("Tanh", triple, 1)])[0]
    plain = tf.gradients(net.y, net.x)[0]
    second = tf.gradients(plain, net.x)[0]
    only_second = tf.overriding({"Tanh": triple}, order=2)
    with only_second:
        np.testing.assert_allclose(net.run(tf.gradients(net.y, net.x))[0], _true(net))
        changed = tf.gradients(plain, net.x)[0]
    got = net.run([first, plain, second, changed])
    np.testing.assert_allclose(got[0], 3 * got[1])
    assert not np.allclose(got[2], got[3])


def test_first_order_maml_is_one_argument():
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.constant(2.0)
        inner = tf.gradients(w**3.0, w)[0]
        outer = (w - 0.1 * inner) ** 2.0
        full, first = tf.gradients(outer, w), tf.gradients(outer, w, through_gradients=False)
        fast = 2.0 - 0.1 * 12.0
        np.testing.assert_allclose(session.run([full[0], first[0]]), [2 * fast * (1 - 0.1 * 12.0), 2 * fast], rtol=1e-5)


def test_bridge_crosses_integers(net):
    z = tf.cast(tf.cast(net.x * 10.0, tf.int32) * 2, tf.float64)

    assert tf.gradients(z, net.x) == [None]
    straight = tf.bridge(sel.between(net.x, z), lambda op, dy: [dy] + [None] * (len(op.inputs) - 1))
    np.testing.assert_allclose(net.run(tf.gradients(z, net.x, overrides=[straight]))[0], 1)


def test_views_side_by_side(net):
    passes = tf.view_gradients(net.y, net.x, [tf.View("true"), tf.View("triple", {"Tanh": triple})])
    got = net.run(passes)
    np.testing.assert_allclose(got["triple"][0], 3 * got["true"][0])


def test_accumulation_rules(net):
    y = net.x * 2.0 + net.x * -5.0
    got = net.run([tf.gradients(y, net.x, accumulate={net.x: rules.accumulate_max})[0],
                   tf.gradients(y, net.x, accumulate={"all": rules.accumulate_mean})[0]])
    np.testing.assert_allclose(got, [[-5] * 3, [-1.5] * 3])


def test_known_gradient(net):
    np.testing.assert_allclose(net.run(tf.gradients(net.y, net.x, known_gradients={net.h: np.full(3, 7.0)}))[0],
                               7 * (1 - np.tanh(net.value) ** 2))


def test_forward_values_never_change(net):
    before = net.run(net.y)
    tf.gradients(net.y, net.x, overrides={"Tanh": triple, "Exp": lambda op, dy: dy})
    assert (net.run(net.y) == before).all()


def _stranger():
    with tf.Graph().as_default():
        return tf.constant(np.ones(3))


@tf.custom_gradient
def _passed_by(x):
    return tf.sin(x), lambda dy: dy


REFUSALS = {
    "a type nobody has": (lambda n: tf.gradients(n.y, n.x, overrides={"tanh": triple}), ValueError, "did you mean 'Tanh'"),
    "nothing of the type": (lambda n: tf.gradients(n.y, n.x, overrides={"Relu": triple}), tf.OverrideError,
                            "caught none of the 3 operations .* Exp, Mul, Tanh"),
    "what a custom gradient goes past": (lambda n: tf.gradients(_passed_by(n.y), n.x, overrides={"Sin": triple}),
                                         tf.OverrideError, r"'Sin' \(Sin\), .* is meant, but no gradient arrives there"),
    "no such name": (lambda n: tf.gradients(n.y, n.x, overrides={sel.name("heed/e"): triple}), tf.OverrideError,
                     "did you mean 'head/e'"),
    "more than a key, a rule and an order": (lambda n: tf.gradients(n.y, n.x, overrides=[("Tanh", triple, 1, 2)]), TypeError,
                                             "list of pairs"),
    "no rule": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": 3}), TypeError, "an override's rule|An override's rule"),
    "an unregistered rule": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": "Tanhh"}), LookupError,
                             "never registered; did you mean 'Tanh'"),
    "too many gradients": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": lambda op, dy: (dy, dy)}), ValueError,
                           "Num gradients 2 .* num inputs 1"),
    "the wrong dtype": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": lambda op, dy: tf.cast(dy, tf.float32)}), TypeError,
                        "dtype float32, expected float64"),
    "the wrong shape": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": lambda op, dy: dy[:2]}), ValueError,
                        r"Original input shape: \(3,\)"),
    "a gradient of another graph": (lambda n: tf.gradients(n.y, n.x, overrides={"Tanh": lambda op, dy: _stranger()}),
                                    ValueError, "input 0 of h .* belongs to another graph"),
    "attached to nothing": (lambda n: tf.attach("Relu", triple), tf.OverrideError, "matches none"),
    "a view by its name": (lambda n: tf.gradients(n.y, n.x, view="guided"), TypeError, "view is a tf.View"),
    "a leaking group": (lambda n: tf.gradients(n.y * n.h, n.x, overrides={sel.group([n.x], [n.y]): triple}), tf.OverrideError,
                        r"leaks: h:0.* outside by 'mul' \(Mul\)"),
    "a group that leaks to the end": (lambda n: tf.gradients([n.y, n.h], n.x, overrides={sel.group([n.x], [n.y]): triple}),
                                      tf.OverrideError, "leaks: h:0.* outside as one of ys"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_an_override_applies_or_complains(net, case):
    act, error, words = REFUSALS[case]
    with pytest.raises(error, match=words):
        act(net)


@pytest.mark.parametrize(("make", "words"), [
    (lambda n: tf.overriding({"Tanh": triple}), "tf.overriding at .*test_overrides.py:.*not opened"),
    (lambda n: n.graph.gradient_override_map({"Tanh": "Tanh"}), "gradient_override_map at .*not opened"),
])
def test_a_block_that_is_never_opened_warns(net, make, words):
    with pytest.warns(tf.RegradWarning, match=words):
        make(net)


def test_a_view_holds_in_a_block_too(net):
    with tf.overriding(tf.View("tripled", {"Tanh": triple})):
        g = tf.gradients(net.y, net.x)[0]

    np.testing.assert_allclose(net.run(g), 3.0 * _true(net))


def test_a_rule_that_another_asks_for_has_caught_something(net):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tf.overriding({"Tanh": triple}), tf.overriding({"Tanh": rules.default >> rules.scale(2.0)}):
            g = tf.gradients(net.y, net.x)[0]

    np.testing.assert_allclose(net.run(g), 6.0 * _true(net))


def test_a_block_around_what_is_built_warns(net):
    with pytest.warns(tf.RegradWarning, match="no gradients.. or minimize.. was called.*gradient_override_map"), \
            tf.overriding({"Tanh": triple}):
        tf.tanh(net.x)


def test_a_block_is_a_decorator_too(net):
    @net.graph.gradient_override_map({"Sin": "Tripled"})
    def build(x):
        return tf.sin(x)

    tf.RegisterGradient("Tripled")(lambda op, dy: 3.0 * dy)
    (g,) = tf.gradients(build(build(net.x)), net.x)

    np.testing.assert_allclose(net.run(g), [9.0, 9.0, 9.0])


def test_a_block_that_catches_nothing_warns(net):
    with pytest.warns(tf.RegradWarning, match="overrides nothing"), net.graph.gradient_override_map({"Relu": "Registered5"}):
        tf.sin(net.x)
    with pytest.warns(tf.RegradWarning, match="caught no operation"), tf.overriding({"Relu": triple}):
        tf.gradients(net.y, net.x)


def test_selectors_are_data(net):
    s = (sel.type("Tanh", "Exp") | sel.name("head/*")) - sel.where(lambda op: op.type == "Const")
    assert [op.name for op in s.select(net.graph)] == ["h", "head/mul", "head/e"]
    assert s.count(net.graph) == 3
    assert repr(sel.last(sel.type("Tanh"))) == "sel.last(sel.type('Tanh'))"
    assert tf.get_gradient_function(net.h.op).name == "Tanh"


@pytest.mark.parametrize("pattern", ["hea*", "hea?/", "[gh]ead"])
def test_a_scope_given_as_a_pattern_is_refused_with_the_selector_that_takes_it(pattern, net):
    with pytest.raises(ValueError, match="whole name") as refused:
        sel.scope(pattern)
    (advice,) = re.findall(r"sel\.name\('(.*)'\)", str(refused.value))
    assert sel.name(advice).select(net.graph) == sel.scope("head").select(net.graph)


# -- groups by scope and by function -------------------------------------------------------------------


def test_a_group_of_all_that_a_scope_holds(net):
    with tf.variable_scope("inner"):
        w = tf.get_variable("w", initializer=np.array([1.0, 2.0, 3.0]))
        h = tf.sin(tf.tanh(net.x) * w)
    y = tf.exp(h)
    group = sel.group_in("inner")
    seen = []

    def rule(group, dy, default):
        seen.append([t.name for t in group.inputs])
        return [2.0 * g for g in default()]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain, doubled = session.run([tf.gradients(y, [net.x, w]), tf.gradients(y, [net.x, w], overrides={group: rule})],
                                     {net.x: net.value})
    np.testing.assert_allclose(doubled, np.multiply(2, plain))
    assert seen == [["x:0", "inner/w:0"]] and [t.name for t in group.outputs] == [h.name]
    with pytest.raises(ValueError, match="inner"):
        sel.group_in("iner")


def test_a_group_of_what_a_function_builds(net):
    @tf.grouped(lambda group, *dys, default: [None if g is None else 3.0 * g for g in default()])
    def block(x, scale=1.0):
        return {"a": tf.sin(x) * scale, "b": [tf.cos(x)]}

    def plain(x, scale=1.0):
        return {"a": tf.sin(x) * scale, "b": [tf.cos(x)]}

    k = tf.constant(0.5, tf.float64)
    grads = []
    for f in (plain, block):
        first = f(net.h, scale=k)
        looped = tf.while_loop(lambda i, h: i < 2, lambda i, h, f=f: (i + 1, f(h)["a"]), (0, net.x))[1]
        y = first["a"] + first["b"][0]
        g = tf.gradients(y, [net.h, k])
        grads.append([*g, tf.gradients(looped, net.x)[0], tf.gradients(g[0], net.h)[0]])
    expected, got = net.run(grads)
    np.testing.assert_allclose(got[0], 3 * expected[0])
    np.testing.assert_allclose(got[1], 3 * expected[1])
    np.testing.assert_allclose(got[2], 9 * expected[2])  # two turns
    np.testing.assert_allclose(got[3], 3 * expected[3])  # the derivative of what the rule gave


def test_what_leaks_from_a_function_is_named(net):
    kept = []

    @tf.grouped(lambda group, dy: dy)
    def leaking(x):
        kept.append(tf.sin(x, name="inside"))
        return kept[0] * 2.0

    y = leaking(net.x) + kept[0]
    with pytest.raises(tf.OverrideError, match="(?s)group 'leaking'.*inside"):
        tf.gradients(y, net.x)


def test_a_group_gives_way_to_an_override_of_the_call(net):
    @tf.grouped(lambda group, dy: dy)
    def block(x):
        return tf.sin(x)

    y = block(net.x)
    other = {sel.group([net.x], [y]): lambda group, dy: 5.0 * dy}
    got = net.run([tf.gradients(y, net.x)[0], tf.gradients(y, net.x, overrides=other)[0]])
    np.testing.assert_allclose(got, [np.ones(3), 5 * np.ones(3)])


# -- what users write --------------------------------------------------------------------------------


def test_a_shape_that_is_known_late_is_checked_late():
    x = tf.placeholder(tf.float64, None, name="x")
    y = tf.reduce_sum(tf.tanh(x, name="h"))
    right = tf.gradients(y, x, overrides={"Tanh": lambda op, dy: 2.0 * dy})[0]
    wrong = tf.gradients(y, x, overrides={"Tanh": lambda op, dy: tf.reduce_sum(dy, 0)})[0]
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(right, {x: np.ones((2, 3))}), np.full((2, 3), 2.0))
        np.testing.assert_array_equal(session.run(tf.gradients(tf.reduce_sum(right * x), x)[0], {x: np.ones(2)}), [2.0, 2.0])
        words = r"(?s)float64\[3\].*float64\[2,3\].*sum over those"
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=words) as error:
            session.run(wrong, {x: np.ones((2, 3))})
    told = str(error.value) + str(getattr(error.value, "__notes__", ""))
    assert "'h' (Tanh)" in told or "h_grad" in told


def test_a_variable_stands_for_what_reads_it():
    v = tf.get_variable("v", initializer=np.array([1.0, 2.0]))
    y = tf.reduce_sum(v * v) + tf.reduce_sum(tf.gather(v, [0]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        plain, tripled = (tf.convert_to_tensor(tf.gradients(y, v, **o)[0]) for o in ({}, {"overrides": {v: triple}}))
        plain, tripled = session.run([plain, tripled])
    np.testing.assert_allclose(plain, [3, 4])
    np.testing.assert_allclose(tripled, 3 * plain)


def test_stop_as_a_rule(net):
    assert tf.gradients(net.y, net.x, overrides={"Tanh": rules.stop()}) == [None]
    with pytest.raises(TypeError, match="rules.stop"):
        tf.gradients(net.y, net.x, overrides={"Tanh": None})


def test_views_as_a_dictionary(net):
    got = net.run(tf.view_gradients(net.y, net.x, {"true": None, "triple": {"Tanh": triple}}))
    np.testing.assert_allclose(got["triple"][0], 3 * got["true"][0])


def test_a_name_that_is_not_there_comes_with_those_that_are(net):
    with pytest.raises(tf.OverrideError, match="the operations there are h, head/mul, head/e"):
        tf.gradients(net.y, net.x, overrides={"somewhere/else": triple})


def test_an_operation_of_another_graph_is_named(net):
    with tf.Graph().as_default():
        other = tf.tanh(tf.constant(1.0), name="stranger")
    with pytest.raises(tf.OverrideError, match="stranger belong to another graph"):
        tf.gradients(net.y, net.x, overrides={other: triple})


def test_a_group_leaves_the_order_of_the_rest_as_it_was():
    """Newest first: sums then stand beside their terms, which keeps large graphs local."""
    with tf.Graph().as_default() as graph:
        x = tf.constant([0.5])
        h = tf.tanh(x)
        branches = [tf.sin(h), tf.cos(h), tf.exp(h), tf.sigmoid(h)]
        y = tf.add_n(branches) + tf.square(tf.sqrt(x))
        plain = len(graph.get_operations())
        tf.gradients(y, x, overrides={sel.group([h], [branches[1]]): rules.default})
        made = [op.forward_op.id for op in graph.get_operations()[plain:] if op.forward_op is not None]
    assert made == sorted(made, reverse=True)


def test_what_is_read_twice_waits_for_both_also_where_a_group_holds_one_back():
    with tf.Graph().as_default():
        x = tf.constant([0.5], tf.float64)
        early = tf.tanh(x)
        after = tf.sin(early)  # older than `read`: its turn would come last, and the group waits for it
        read = tf.exp(x)
        once, late = read * 2.0, tf.cos(read)
        both = early + late
        y = after + once + both
        group = sel.group([x, late], [early, both])
        plain, same = (tf.gradients(y, x, overrides=o)[0] for o in (None, {group: rules.default}))
        with tf.Session() as session:
            plain, same = session.run([plain, same])
    np.testing.assert_allclose(same, plain, rtol=1e-12)


def test_an_x_of_another_graph_is_refused_also_in_a_body():
    with tf.Graph().as_default():
        stranger = tf.constant(1.0)
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with pytest.raises(ValueError, match="in xs belongs to another graph than ys"):
            tf.gradients(tf.square(x), stranger)
        with pytest.raises(ValueError, match="in stop_gradients belongs to another graph than ys"):
            tf.gradients(tf.square(x), x, stop_gradients=[stranger])
        with pytest.raises(ValueError, match="in xs belongs to another graph than ys"):
            tf.while_loop(lambda v: v < 9.0, lambda v: tf.gradients(tf.square(v), stranger), [x])


@pytest.mark.parametrize("given, words", [(None, "got None"), ("x:0", "get_tensor_by_name"), ("op", "got <")])
def test_an_x_that_is_no_tensor_is_refused(net, given, words):
    with pytest.raises(TypeError, match=f"x must be a tensor or variable, .*{words}"):
        tf.gradients(net.y, net.h.op if given == "op" else given)


def test_numbers_as_x_bring_a_warning_at_the_callers_line(net):
    with pytest.warns(tf.RegradWarning, match="no tensor of the graph") as told:
        tf.gradients(net.y, [net.value])
    assert told[0].filename == __file__


def test_gradients_extend_the_graph_of_ys_also_from_a_body_of_another():
    with tf.Graph().as_default() as graph:
        x = tf.constant(1.0)
        y = tf.square(x)
    made = []
    with tf.Graph().as_default():
        tf.while_loop(lambda v: v < 9.0, lambda v: made.extend(tf.gradients(y, x)) or v + 1.0, [tf.constant(1.0)])
    assert made and all(g.graph is graph and g.op.name.startswith("gradients/") for g in made)


def test_ways_of_adding_have_tensorflows_numbers():
    ways = tf.AggregationMethod
    assert [ways.ADD_N, ways.DEFAULT, ways.EXPERIMENTAL_TREE, ways.EXPERIMENTAL_ACCUMULATE_N] == [0, 0, 1, 2]


def test_a_rule_counts_how_often_it_was_used():
    from regrad.core import gradient_registry

    if gradient_registry.find("TestCounted") is None:
        tf.RegisterGradient("TestCounted")(lambda op, dy: dy)
    rule = gradient_registry.find("TestCounted")
    before = rule.used
    x = tf.constant([0.5])
    with tf.get_default_graph().gradient_override_map({"Tanh": "TestCounted"}):
        y = tf.tanh(tf.tanh(x))
    tf.gradients(y, x)
    assert rule.used == before + 2


def test_of_two_rules_of_a_graph_the_later_holds(net):
    tf.set_graph_rule("Tanh", lambda op, dy: 5.0 * dy)
    later = tf.set_graph_rule("Tanh", triple)
    assert tf.get_gradient_function(net.h.op).override is later.override


def test_a_rule_taken_off_an_operation_leaves_the_others(net):
    first, second = tf.attach("Tanh", triple, order=1), tf.attach("Tanh", triple, order=2)
    assert tf.get_gradient_function(net.h.op).override is first.override  # the rule of a first gradient
    second.detach()
    assert tf.get_gradient_function(net.h.op).override is first.override


def test_an_override_counts_what_it_caught(net):
    ways = [tf.Override(sel.type("Tanh", "Exp"), triple), tf.Override(sel.group([net.x], [net.h]), triple)]
    for override in ways:
        tf.gradients(net.y, net.x, overrides=[override])
    assert [o.caught for o in ways] == [2, 1]
    with pytest.raises(tf.OverrideError, match="holds for order 2, but this call is a differentiation of order 1"):
        tf.gradients(net.y, net.x, overrides=[tf.Override("Tanh", triple, order=2)])


def test_an_error_inside_a_rule_names_the_rule_and_the_operation():
    def broken(op, dy):
        return dy.nosuch

    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        y = tf.tanh(x, name="here")
        with pytest.raises(AttributeError, match="nosuch") as caught:
            tf.gradients(y, x, overrides={"Tanh": broken})
    (note,) = caught.value.__notes__
    assert "gradient rule" in note and "'here' (Tanh)" in note and note.count("test_overrides.py") >= 2
