"""diagnose: each illness is found, at its operation, with its line; a healthy pass has none."""

import json

import numpy as np
import pytest

import regrad as tf
from regrad import rules


def _healthy(x):
    return tf.reduce_sum(tf.tanh(x) * tf.exp(0.1 * x))



ILL = {  # program, value of x, kind, type of the operation, words of the cure
    "root at 0": (lambda x: tf.reduce_sum(tf.sqrt(x)), [0.0, 1.0], "not finite", "Sqrt", "eps"),
    "root at 0, deeper": (lambda x: tf.exp(tf.reduce_sum(tf.sqrt(tf.nn.relu(x)))), [-1.0, 1.0], "not finite", "Sqrt", "eps"),
    "logarithm of 0": (lambda x: tf.reduce_sum(tf.log(x)), [0.0, 1.0], "forward not finite", "Log", "log_softmax"),
    "division": (lambda x: tf.reduce_sum(1.0 / x), [0.0, 1.0], "forward not finite", "RealDiv", "div_no_nan"),
    "dead units": (lambda x: tf.reduce_sum(tf.nn.relu(x)), [-1.0, -2.0], "zero", "Relu", "leaky_relu"),
    "saturated": (lambda x: tf.reduce_sum(tf.sigmoid(x)), [30.0, -30.0], "saturated", "Sigmoid", "smaller initial"),
    "vanishing": (lambda x: tf.reduce_sum(tf.sigmoid(x)), [11.0, -11.0], "vanishing", "Sigmoid", "smaller initial"),
    "exploding": (lambda x: tf.reduce_sum(x * 1e6), [1.0, 1.0], "exploding", "Mul", "clip"),
    "one class": (lambda x: tf.reduce_sum(tf.nn.softmax(tf.reshape(x, [2, 1]))), [0.3, -1.0], "constant", "Softmax",
                  "tf.sigmoid"),
    "squared error after softmax": (lambda x: tf.reduce_mean(tf.square(tf.nn.softmax(x) - [0.0, 1.0])), [1.0, -1.0],
                                    "wrong loss", "Square", "softmax_cross_entropy_with_logits"),
    "squared error after sigmoid": (lambda x: tf.reduce_mean(tf.squared_difference(tf.sigmoid(x), [0.0, 1.0])), [1.0, -1.0],
                                    "wrong loss", "SquaredDifference", "sigmoid_cross_entropy_with_logits"),
}


@pytest.mark.parametrize("case", ILL)
def test_finds(case):
    program, value, kind, op_type, words = ILL[case]
    x = tf.placeholder(tf.float32, [2])
    found = tf.diagnose(program(x), x, {x: value})
    problems = [p for p in found.of(kind) if p.type == op_type]

    assert not found
    assert len(problems) == 1
    assert words in problems[0].cure and "test_diagnose.py" in problems[0].at and "lambda" in problems[0].line
    assert op_type in str(found)


WELL = {
    "chain": (_healthy, [0.3, -0.2]),
    "cross entropy": (lambda x: tf.nn.softmax_cross_entropy_with_logits(logits=x, labels=tf.constant([0.0, 1.0])), [1.0, -1.0]),
    "squares of no probability": (lambda x: tf.reduce_mean(tf.square(x - [0.0, 1.0])), [1.0, -1.0]),
    "loop": (lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a)), [0, x])[1], [1.0, -1.0]),
    "a branch not taken": (lambda x: tf.reduce_sum(tf.where(x > 0.0, 1.0 / x, x)), [0.0, 1.0]),
    "gather": (lambda x: tf.gather(x, [0, 1, 1]), [1.0, 1.0]),
}


@pytest.mark.parametrize("case", WELL)
def test_healthy(case):
    program, value = WELL[case]
    x = tf.placeholder(tf.float32, [2])
    found = tf.diagnose(program(x), x, {x: value})

    assert found, str(found)
    assert found.xs[0].state == "well"


def test_infinite_rule_behind_a_choice():
    x = tf.placeholder(tf.float32, [2])
    y = tf.reduce_sum(tf.where(x > 0.0, tf.sqrt(x), x))
    found = tf.diagnose(y, x, {x: [0.0, 1.0]}, overrides={"Sqrt": lambda op, dy: dy * (0.5 / op.outputs[0])})

    assert [(p.type, "tf.where inside" in p.cure) for p in found.of("not finite")] == [("Sqrt", True)]


def test_only_the_first_op_is_named():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.reduce_sum(tf.sqrt(tf.tanh(tf.sin(x))))
    found = tf.diagnose(y, x, {x: [0.0, 1.0]})

    assert [p.type for p in found.of("not finite")] == ["Sqrt"]
    assert found.xs[0].state == "not finite" and found.xs[0].infinite == 0.5


def test_states_of_xs():
    a, b, c = (tf.placeholder(tf.float32, [2]) for _ in range(3))
    y = tf.reduce_sum(a * 1e-9 + tf.round(b) + c)
    found = tf.diagnose(y, [a, b, c], {a: [1.0, 1.0], b: [1.0, 1.0], c: [1.0, 1.0]})

    assert [x.state for x in found.xs] == ["vanishing", "None", "well"]
    assert found.xs[2].norm == pytest.approx(np.sqrt(2.0))


def test_overrides_take_part():
    x = tf.placeholder(tf.float32, [2])
    y = tf.reduce_sum(tf.nn.relu(x))
    found = tf.diagnose(y, x, {x: [-1.0, -2.0]}, overrides={"Relu": lambda op, dy: dy})

    assert found.of("zero") == [] and found.xs[0].state == "well"
    with pytest.raises(tf.OverrideError, match="Tanh"):
        tf.diagnose(y, x, {x: [-1.0, -2.0]}, overrides={"Tanh": lambda op, dy: dy})


def test_variables():
    v = tf.Variable([0.0, 4.0])
    y = tf.reduce_sum(tf.sqrt(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = tf.diagnose(y, v, session=session)

    assert found.xs[0].state == "not finite"
    assert json.loads(found.to_json())["problems"][0]["type"] == "Sqrt"


# -- in loops and branches: the operation inside, its line, and the turn ----------------------------


def _turns(n, body):
    return lambda x: tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, body(i, h)), (0, x))[1]


IN_BODIES = {  # program, value of x, kind, type of the operation, turn where it starts, all turns
    "root at 0 in the last turn": (_turns(4, lambda i, h: tf.sqrt(tf.nn.relu(h - 1.0))), [4.0, 400.0], "not finite", "Sqrt", 3,
                                   [3]),
    "dead in one turn": (_turns(5, lambda i, h: tf.where(tf.fill([2], tf.equal(i, 2)), tf.nn.relu(h - 99.0), h)), [1.0, 2.0],
                         "zero", "Relu", 2, [2]),
    "logarithm": (_turns(3, lambda i, h: tf.log(h)), [1.0, 1.0], "forward not finite", "Log", 1, [1]),
    "saturated": (_turns(3, lambda i, h: tf.sigmoid(h) * 60.0), [60.0, 60.0], "saturated", "Sigmoid", 2, [2, 1, 0]),
    "fading": (_turns(20, lambda i, h: h * 0.5), [1.0, 1.0], "vanishing", "Mul", 5, [5]),
    "growing": (_turns(20, lambda i, h: h * 4.0), [1.0, 1.0], "exploding", "Mul", 12, [12]),
    "branch": (lambda x: tf.cond(x[0] > 0.0, lambda: tf.sqrt(x), lambda: x), [1.0, 0.0], "not finite", "Sqrt", None, []),
    "branch in a loop": (_turns(4, lambda i, h: tf.cond(tf.equal(i, 1), lambda: tf.sqrt(h - 4.0) + 1.0, lambda: h + 3.0)),
                         [1.0, 2.0], "not finite", "Sqrt", 1, [1]),
    "scan": (lambda x: tf.scan(lambda a, v: tf.sqrt(v) + a, x), [1.0, 0.0], "not finite", "Sqrt", 0, [0]),
}


@pytest.mark.parametrize("case", IN_BODIES)
def test_finds_in_bodies(case):
    program, value, kind, op_type, turn, turns = IN_BODIES[case]
    x = tf.placeholder(tf.float32, [2])
    found = tf.diagnose(tf.reduce_sum(program(x)), x, {x: value})
    problems = [p for p in found.of(kind) if p.type == op_type]

    assert not found and len(problems) == 1, str(found)
    assert (problems[0].turn, problems[0].turns) == (turn, turns)
    assert "test_diagnose.py" in problems[0].at and ("body" in problems[0].op or "branch" in problems[0].op)
    assert [p for p in found.of(kind) if p.type in ("While", "If")] == []  # told inside, not twice
    assert turn is None or f"turn {turn}" in str(found)


def test_health_in_a_loop():
    x = tf.placeholder(tf.float32, [2])
    found = tf.diagnose(tf.reduce_sum(_turns(3, lambda i, h: h * 0.5)(x)), x, {x: [1.0, 1.0]})
    inside = next(h for h in found.ops if h.turns)

    assert found and list(inside.turns) == [2, 1, 0]
    assert [inside.turns[t] for t in (2, 1, 0)] == [pytest.approx([np.sqrt(2) / 2**k, np.sqrt(0.5) / 2**k]) for k in range(3)]
    assert inside.gain == pytest.approx(0.5)
    assert "3 turns" in str(found) and json.loads(found.to_json())["ops"]


def test_two_loops_deep_has_two_turns():
    x = tf.placeholder(tf.float32, [2])
    inner = lambda i, h: tf.while_loop(lambda j, g: j <= i, lambda j, g: (j + 1, tf.sqrt(g) - 1.0), (0, h))[1] + 5.0  # noqa: E731
    found = tf.diagnose(tf.reduce_sum(_turns(3, inner)(x)), x, {x: [1.0, 4.0]})

    # sqrt(1) - 1 = 0 in turn 0, inner turn 0; + 5; sqrt(5) - 1 = 1.2 and its root - 1 = 0.1 ...
    assert {t for h in found.ops for t in h.turns if isinstance(t, tuple)} == {(2, 2), (2, 1), (2, 0), (1, 1), (1, 0), (0, 0)}


# -- compare -------------------------------------------------------------------------------------
VALUE = np.array([0.5, -1.5, 2.0], np.float32)


@pytest.mark.parametrize(("rule", "cosine", "ratio", "signs"), [
    (rules.scale(3.0), 1.0, 3.0, 1.0),
    (rules.reverse(0.5), -1.0, 0.5, 0.0),
    (rules.zero(), None, 0.0, 0.0),
    (rules.default, 1.0, 1.0, 1.0),
])
def test_compare(rule, cosine, ratio, signs):
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.reduce_sum(tf.exp(tf.tanh(x, name="h")))
    found = tf.compare(None, tf.View("other", {"Tanh": rule}), y, x, {x: VALUE})

    for place in ("x:0", "h"):
        got = found[place]
        assert got.cosine == (cosine if cosine is None else pytest.approx(cosine, rel=1e-5))
        assert got.ratio == pytest.approx(ratio, rel=1e-5)
        assert got.signs == signs
    assert found["Exp"].cosine == pytest.approx(1.0) and found["Exp"].ratio == pytest.approx(1.0)
    assert found["h"].rules == ("Tanh", rule.__name__)
    assert "rule in other" in str(found)


def test_compare_guided_relu():
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.reduce_sum(tf.nn.relu(x, name="h") * [1.0, -1.0, 1.0, -1.0])
    found = tf.compare(None, {"Relu": rules.guided_relu}, y, x, {x: [1.0, 2.0, 3.0, -1.0]})

    # true gradient 1 -1 1 0, guided 1 0 1 0
    assert found["x:0"].cosine == pytest.approx(2 / np.sqrt(6), rel=1e-5)
    assert found["x:0"].ratio == pytest.approx(np.sqrt(2 / 3), rel=1e-5)
    assert found["x:0"].signs == 0.75


def test_compare_where_one_is_none():
    x = tf.placeholder(tf.float32, [3], name="x")
    y = tf.round(x, name="r")
    found = tf.compare(None, {"Round": rules.surrogate()}, y, x, {x: VALUE})

    assert found["x:0"].cosine is None
    assert found["r"].rules == ("not differentiable", "surrogate(identity)")


def test_compare_in_a_loop():
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.reduce_sum(_turns(3, lambda i, h: tf.tanh(h) * [1.0, -2.0])(x))
    found = tf.compare(None, {"Tanh": lambda op, dy, default: [default()[0] * [1.0, 3.0]]}, y, x, {x: [0.1, 0.2]})
    inside = next(a for a in found.ops if a.type == "Tanh")

    assert list(inside.turns) == [2, 1, 0] and inside.turns[2].cosine < inside.turns[0].cosine
    assert inside.least() == 2 and "least" in str(found) and "turn 2" in str(found)
    assert found[inside.name] is inside and inside.rules[0] == "Tanh"
    assert json.loads(found.to_json())["ops"]


def broken(op, dy):
    return 0.0 * dy


def exploded(op, dy, default):
    return [1e9 * g for g in default()]


BLAMED = {"zero": broken, "exploding": exploded}


@pytest.mark.parametrize("kind", BLAMED)
def test_an_overridden_operations_rule_is_named(kind):
    rule = BLAMED[kind]
    x = tf.placeholder(tf.float32, [2])
    y = tf.reduce_sum(tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, tf.tanh(a)), [0, x])[1] + tf.tanh(x))
    found = tf.diagnose(y, x, {x: [0.1, 0.2]}, overrides={"Tanh": rule})
    problems = [p for p in found.of(kind) if p.type == "Tanh"]

    assert len(problems) == 2
    for problem in problems:
        assert f"{rule.__name__} at tests/inspect/test_diagnose.py:{rule.__code__.co_firstlineno}" in problem.what
        assert "this call" in problem.rule and "look at that rule first" in problem.cure


TOOLS = {
    "diagnose": lambda y, w: tf.diagnose(y, w), "audit": lambda y, w: tf.audit(y, w),
    "compare": lambda y, w: tf.compare(None, tf.View("again", {"*": rules.default}), y, w),
    "coverage": lambda y, w: tf.inspect.coverage(y, w), "bias": lambda y, w: tf.inspect.bias(y, w, directions=1, scales=[0.1]),
    "forward": lambda y, w: tf.inspect.forward_against_reverse(y, w, directions=1),
    "ablate": lambda y, w: tf.inspect.ablate(y, w, {"Square": rules.scale(2.0)}),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_session_that_is_there_is_used(tool):
    w = tf.Variable([1.0, 2.0])
    y = tf.reduce_sum(tf.square(w))
    before = tf.Session()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
    assert session.closed
    session = tf.Session()  # no default session: as in a notebook
    session.run(tf.global_variables_initializer())
    assert TOOLS[tool](y, w)

    other = tf.Session()
    other.run(tf.global_variables_initializer())
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        TOOLS[tool](y, w)
    assert tool == "bias" or "2 sessions of this graph have values" in " ".join(caught.value.__notes__)
    for each in (before, session, other):
        each.close()
