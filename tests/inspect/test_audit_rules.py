"""audit: every kind of mistake in a user's own rule, wherever a rule may stand, is found and named with its line."""

import re

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel
from regrad.autodiff.defun import Defun
from regrad.inspect.auditing import DIFFERENT, RIGHT, UNCHECKED, WRONG

VALUE = np.array([0.7, -1.3, 2.1], np.float32)

# Gradients of tanh(x): of x, y = tanh(x) and what arrives. The first is right; the last is wrong in its own derivative alone.
KINDS = {
    "right": lambda x, y, dy: dy * (1.0 - y * y),
    "sign": lambda x, y, dy: -dy * (1.0 - y * y),
    "factor": lambda x, y, dy: 2.0 * dy * (1.0 - y * y),
    "term": lambda x, y, dy: dy,
    "sometimes": lambda x, y, dy: dy * tf.where(x < -1.0, 1.1 - y * y, 1.0 - y * y),
    "second": lambda x, y, dy: dy * tf.stop_gradient(1.0 - y * y),
}


def rule_of(kind):
    def rule(op, dy):
        return KINDS[kind](op.inputs[0], op.outputs[0], dy)

    rule.__name__ = kind
    return rule


for _kind in KINDS:
    tf.RegisterGradient(f"AuditRules{_kind}")(rule_of(_kind))


def here(kind):
    return sel.where(lambda op: op.type == "Tanh" and kind in op.name)


def tanh(kind, x):
    return tf.tanh(x, name=f"tanh_{kind}")


def mapped(kind, x):
    with tf.get_default_graph().gradient_override_map({"Tanh": f"AuditRules{kind}"}):
        return tanh(kind, x)


def custom(kind, x):
    @tf.custom_gradient
    def f(x):
        y = tf.tanh(x)

        def grad(dy):
            return KINDS[kind](x, y, dy)

        grad.__name__ = kind
        return y, grad

    return f(x)


def host(kind, x):
    y = tf.py_func(lambda a: np.tanh(a), [x], x.dtype, grad=rule_of(kind))
    y.set_shape(x.shape)
    return y


def defined(kind, x):
    @Defun(tf.float32, python_grad_func=rule_of(kind))
    def f(x):
        return tf.tanh(x)

    return f(x)


def grouped(kind, x):
    def rule(group, dy):
        return KINDS[kind](group.inputs[0], group.outputs[0], dy)

    @tf.grouped(rule, name=kind)
    def block(x):
        e = tf.exp(2.0 * x)
        return (e - 1.0) / (e + 1.0)

    return block(x)


def by_default(kind):
    def rule(op, dy, default):
        right, = default()
        return right if kind == "right" else KINDS[kind](op.inputs[0], op.outputs[0], dy)

    rule.__name__ = kind
    return rule


def with_captured(kind):
    """A rule that reads a tensor of the user's graph."""
    def rule(op, dy):
        one = op.graph.root.get_tensor_by_name("one:0")
        return KINDS[kind](op.inputs[0], op.outputs[0], dy) * one

    rule.__name__ = kind
    return rule


EACH = {kind: (here(kind), rule_of(kind)) for kind in KINDS}
PLACES = {  # how an operation with the gradient of this kind is built, and the options of `audit`
    "override": (tanh, lambda: {"overrides": list(EACH.values())}),
    "view": (tanh, lambda: {"view": tf.View("wrong", list(EACH.values()))}),
    "rule with default": (tanh, lambda: {"overrides": [(here(kind), by_default(kind)) for kind in KINDS]}),
    "rule over a tensor": (tanh, lambda: {"overrides": [(here(kind), with_captured(kind)) for kind in KINDS]}),
    "rule of the graph": (tanh, lambda: [tf.set_graph_rule(*each) for each in EACH.values()] and {}),
    "attached": (tanh, lambda: [tf.attach(*each) for each in EACH.values()] and {}),
    "mapped": (mapped, dict),
    "custom gradient": (custom, dict),
    "host function": (host, dict),
    "grouped": (grouped, dict),
    "Defun": (defined, dict),
}


def around(kinds, build, x):
    """Yields what is computed of `x` when functions with gradients of each kind stand alone, and in bodies of every sort."""
    def f(a):
        return tf.add_n([build(kind, a) for kind in kinds])

    yield f(x)
    yield tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a) * 1.5), [0, x])[1]
    yield tf.cond(tf.reduce_sum(x) > 0.0, lambda: f(x), lambda: x)
    yield tf.map_fn(f, tf.stack([x, x + 0.1]))
    yield tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.cond(i < 1, lambda: f(a) * 2.0, lambda: a)), [0, x])[1]


@pytest.mark.parametrize("place", PLACES)
def test_each_mistake_is_found_wherever_it_stands(place):
    build, options_of = PLACES[place]
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.constant(1.0, name="one")
    kinds = [k for k in KINDS if not (place in ("host function", "grouped") and k == "second")]
    total = tf.add_n([tf.reduce_sum(y) for y in around(kinds, build, x)])
    report = tf.audit(total, x, {x: VALUE}, order=2, **options_of())

    found = [f for f in report.findings if re.search(r"test_audit_rules\.py:\d+", f.rule)]
    verdicts = {kind: [(f.verdict, f.order) for f in found if f.rule.startswith((kind, f"AuditRules{kind}"))] for kind in kinds}
    assert not report and not report.of(UNCHECKED), str(report)
    assert len(report.of(WRONG)) == sum(v == WRONG for each in verdicts.values() for v, _ in each)
    for kind, each in verdicts.items():
        first = [v for v, order in each if order == 1]
        second = [v for v, order in each if order == 2]
        assert first == ([RIGHT] if kind in ("right", "second") else [WRONG]) * 5, f"{kind}\n{report}"
        if kind == "right" or kind == "second":
            assert set(second) <= ({RIGHT} if kind == "right" else {WRONG}), f"{kind}\n{report}"
            assert place == "host function" or len(second) == 5


def test_a_rule_that_is_right_everywhere_makes_a_true_report():
    x = tf.placeholder(tf.float32, [3], name="x")
    for place in ("mapped", "custom gradient", "host function", "grouped"):
        report = tf.audit(tf.add_n([tf.reduce_sum(y) for y in around(["right"], PLACES[place][0], x)]), x, {x: VALUE})
        assert report, f"{place}\n{report}"


def transposed(op, dy):
    a, b = op.inputs
    return tf.matmul(b, dy, transpose_a=True, transpose_b=True), tf.matmul(a, dy, transpose_a=True)


def one_missing(op, dy):
    return dy * op.inputs[1], None


def rows_doubled(op, dy):
    return tf.IndexedSlices(2.0 * dy, op.inputs[1], tf.shape(op.inputs[0])), None, None


def second_output_lost(op, da, db):
    return tf.concat([da, 0.0 * db], 0), None, None


SEVERAL = {  # program of a square matrix, the rule, and the input that is off
    "transposed": (lambda x: tf.matmul(x, x + 1.0), {"MatMul": transposed}, "x:0"),
    "one input missing": (lambda x: tf.multiply(x, tf.exp(x)), {"Mul": one_missing}, "Exp:0"),
    "slices": (lambda x: tf.gather(x, [0, 2, 2]), {"GatherV2": rows_doubled}, ""),
    "one output missing": (lambda x: tf.add_n(tf.split(x, [2, 2], 0)), {"SplitV": second_output_lost}, ""),
}


@pytest.mark.parametrize("case", SEVERAL)
def test_several_inputs_outputs_and_slices(case):
    build, overrides, off = SEVERAL[case]
    x = tf.placeholder(tf.float32, [4, 4], name="x")
    report = tf.audit(build(x), x, {x: np.random.RandomState(0).randn(4, 4)}, overrides=overrides)

    found, = report.wrong
    rule, = overrides.values()
    assert found.rule.startswith(f"{rule.__name__} at tests/inspect/test_audit_rules.py:{rule.__code__.co_firstlineno}")
    assert found.input == off


def test_custom_gradients_of_several_arguments_results_and_variables():
    w = tf.Variable([1.0, 2.0, 3.0])

    def make(factor):
        @tf.custom_gradient
        def f(a, b):
            def grad(da, db, variables=None):
                return (da * b + 2.0 * db * a, da * a), [tf.reduce_sum(factor * db)[None] * tf.ones([3])]

            return a * b, a * a + tf.reduce_sum(w), grad

        @tf.custom_gradient
        def g(a, b):
            def grad(da, db, variables=None):
                return (da * b + 2.0 * db * a, da * a), [tf.reduce_sum(factor * db) * tf.ones([3])]

            return (a * b, a * a + tf.reduce_sum(w)), grad

        return g

    x, z = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [3], name="z")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for factor, verdict in ((1.0, RIGHT), (1.1, WRONG)):
            report = tf.audit(make(factor)(x, z), [x, z, w], {x: VALUE, z: VALUE + 1}, order=2, lenient=True)
            assert {f.verdict for f in report.findings if f.type == "IdentityN" and f.order == 1} == {verdict}
            assert not report.of(UNCHECKED)
            if verdict is WRONG:
                assert report.wrong[0].input == "Variable/read:0"


def test_what_a_graph_notes_on_operations_is_no_matter():
    x = tf.placeholder(tf.float32, [3])
    h = tf.exp(x)
    with tf.colocate_with(h.op):
        y = tf.tanh(h)
    assert "_class" in y.op.attrs and tf.audit(y, x, {x: VALUE}, order=2)


def test_a_host_gradient_is_checked():
    def program(factor):
        x = tf.placeholder(tf.float32, [3])
        y = tf.py_func(lambda a: a * a, [x], tf.float32, grad=tf.host_gradient(lambda a, dy: np.float32(factor) * a * dy))
        return tf.audit(y, x, {x: VALUE})

    assert program(2.0) and [f.type for f in program(2.1).wrong] == ["PyFunc"]


def test_a_loop_with_a_rule_of_its_own_is_checked_as_a_whole():
    x = tf.placeholder(tf.float32, [3])
    y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 1.5), [0, x])[1]

    def wrong(op, *dys, default):
        return [None if g is None else 2.0 * g for g in default()]

    def passes(op, *dys, default):
        return default()

    assert [f.type for f in tf.audit(y, x, {x: VALUE}, overrides={"While": wrong}).wrong] == ["While"]
    assert tf.audit(y, x, {x: VALUE}, overrides={"While": passes})


def test_a_rule_that_is_wrong_in_one_turn_alone():
    def late(op, dy):
        return dy * tf.where(op.outputs[0] > 6.5, tf.constant(3.0), tf.constant(2.0)) * op.inputs[1] / 2.0, None

    x = tf.placeholder(tf.float32, [])
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x])[1]
    report = tf.audit(y, x, {x: 1.0}, overrides={"Mul": late})
    assert [f.note for f in report.wrong] == ["in turn 2"]
    assert tf.audit(y, x, {x: 0.5}, overrides={"Mul": late}, lenient=True)


# -- what is meant, what is not checked ------------------------------------------------------------------


def straight(op, dy):
    return dy


tf.RegisterGradient("AuditStraight")(straight)


@tf.custom_gradient
def passing(x):
    return tf.round(x), lambda dy: dy


MEANT = {
    "the rule": (tf.tanh, {"overrides": {"Tanh": straight}, "meant": straight}),
    "the op type": (tf.tanh, {"overrides": {"Tanh": straight}, "meant": "Tanh"}),
    "a pattern": (tf.tanh, {"overrides": {"Tanh": straight}, "meant": "*anh"}),
    "a selector in a list": (tf.tanh, {"overrides": {"Tanh": straight}, "meant": [sel.type("Tanh")]}),
    "a registered name": (tf.tanh, {"overrides": {"Tanh": "AuditStraight"}, "meant": "AuditStraight"}),
    "a function with its gradient": (passing, {"meant": passing}),
}


@pytest.mark.parametrize("case", MEANT)
def test_what_is_meant_is_said(case):
    program, options = MEANT[case]
    x = tf.placeholder(tf.float32, [3])
    y = program(x)
    report = tf.audit(y, x, {x: VALUE}, order=2, **options)
    assert report and report.of(DIFFERENT)
    assert not tf.audit(y, x, {x: VALUE}, **{k: v for k, v in options.items() if k != "meant"})


def test_rules_made_of_the_librarys_parts_are_meant():
    x = tf.placeholder(tf.float32, [3])
    y = tf.reverse_gradient(tf.nn.relu(tf.grad_pass_through(tf.round)(x)))
    for rule in (rules.guided_relu, rules.scale(2.0), rules.default >> rules.clip(0.1),
                 rules.mix(0.5, rules.default, rules.zero())):
        report = tf.audit(y, x, {x: VALUE}, overrides={"Relu": rule})
        assert report and not report.of(UNCHECKED)
    mine = tf.audit(y, x, {x: VALUE}, overrides={"Relu": rules.mix(0.5, rules.default, straight)})
    assert [f.type for f in mine.wrong] == ["Relu"]


def test_what_means_nothing_is_refused():
    x = tf.placeholder(tf.float32, [3])
    with pytest.raises(ValueError, match="means none of the operations"):
        tf.audit(tf.tanh(x), x, {x: VALUE}, meant="Relu")


def test_what_is_not_checked_makes_a_false_report():
    calls = iter(range(1000))
    x = tf.placeholder(tf.float32, [3])
    y = tf.py_func(lambda v: v * np.float32(next(calls)), [x], tf.float32, grad=lambda op, dy: dy)
    report = tf.audit(y, x, {x: VALUE})
    assert [(f.verdict, f.note) for f in report.findings] == [(UNCHECKED, "it gives something else each time")]
    assert not report and tf.audit(y, x, {x: VALUE}, lenient=True)


def test_a_branch_that_was_not_taken_is_checked_at_random_values():
    x = tf.placeholder(tf.float32, [3])
    y = tf.cond(tf.reduce_sum(x) > 100.0, lambda: custom("sign", x), lambda: x)
    assert "random values" in tf.audit(y, x, {x: VALUE}).wrong[0].note


def test_nothing_is_added_to_the_graph(fresh_graph):
    x = tf.placeholder(tf.float32, [3])
    y = tf.add_n([tf.reduce_sum(y) for place in ("custom gradient", "host function", "grouped")
                  for y in around(["right"], PLACES[place][0], x)])
    before = len(fresh_graph._ops)
    tf.audit(y, x, {x: VALUE}, order=2)
    assert len(fresh_graph._ops) == before


HOST_FUNCTIONS = {"relu": (lambda a: np.maximum(a, 0), lambda op, dy: dy * tf.cast(op.inputs[0] > 0.0, tf.float32)),
                  "exp": (np.exp, lambda op, dy: dy * op.outputs[0]),
                  "large": (lambda a: 1e4 * a, lambda op, dy: dy * 1e4),
                  "flat": (lambda a: np.sign(a), lambda op, dy: 0.0 * dy)}


@pytest.mark.parametrize("name", HOST_FUNCTIONS)
@pytest.mark.parametrize("value", [VALUE, 0.0 * VALUE, 20.0 * VALUE, 1e-3 * VALUE])
def test_host_functions_of_32_bits_are_told_apart_from_their_rounding(name, value):
    f, rule = HOST_FUNCTIONS[name]
    x = tf.placeholder(tf.float32, [3])
    right = tf.audit(tf.py_func(f, [x], tf.float32, grad=rule), x, {x: value})
    wrong = tf.audit(tf.py_func(f, [x], tf.float32, grad=lambda op, dy: 1.2 * rule(op, dy)), x, {x: value})
    assert right.of(RIGHT) or name == "flat" and not value.any(), str(right)
    assert name == "flat" or [f.type for f in wrong.wrong] == ["PyFunc"], str(wrong)
