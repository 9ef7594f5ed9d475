"""audit: right, deliberately different and wrong rules are told apart, at first and second order."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules
from regrad.core.opdef import define_op, same
from regrad.inspect.auditing import DIFFERENT, RIGHT, WRONG

# Op types with rules that are wrong in one way each.
_WRONG = {
    "AuditWrongFactor": (lambda b, x: b.np.square(x), lambda op, dy: 2.001 * op.inputs[0] * dy),
    "AuditWrongSign": (lambda b, x: b.np.sin(x), lambda op, dy: -tf.cos(op.inputs[0]) * dy),
    "AuditWrongElement": (lambda b, x: b.np.exp(x), lambda op, dy: dy * op.outputs[0] * [1.0, 1.0, 1.1]),
    "AuditWrongNone": (lambda b, x: x * b.np.asarray(2.0, x.dtype), lambda op, dy: None),
    "AuditWrongNan": (lambda b, x: b.np.square(x), lambda op, dy: dy * op.inputs[0] / 0.0),
}
for _name, (_lower, _rule) in _WRONG.items():
    define_op(_name, "x: T", infer=same, lower=_lower)
    tf.RegisterGradient(_name)(_rule)

# Its first derivative is right; the constant hides that from the second.
define_op("AuditWrongSecond", "x: T", infer=same, lower=lambda b, x: x * x * x)
tf.RegisterGradient("AuditWrongSecond")(lambda op, dy: dy * tf.stop_gradient(3.0 * tf.square(op.inputs[0])))

VALUE = np.array([0.7, -1.3, 2.1], np.float32)


def _op(name):
    return lambda x: tf.get_default_graph().create_op(name, [x]).outputs[0]


@pytest.mark.parametrize("name", _WRONG)
def test_wrong_rules_are_caught(name):
    x = tf.placeholder(tf.float32, [3])
    y = tf.tanh(_op(name)(tf.tanh(x)))
    report = tf.audit(y, x, {x: VALUE})

    assert not report
    assert [(f.op, f.verdict) for f in report.wrong] == [(name, WRONG)]
    assert report.wrong[0].at.startswith("tests/inspect/test_audit.py")


def test_wrong_second_order_is_caught():
    x = tf.placeholder(tf.float32, [3])
    y = _op("AuditWrongSecond")(x)

    assert tf.audit(y, x, {x: VALUE})
    assert [(f.op, f.order) for f in tf.audit(y, x, {x: VALUE}, order=2).wrong] == [("AuditWrongSecond", 2)]


def test_wrong_input_is_named():
    define_op("AuditWrongInput", "x: T, y: T", infer=lambda x, y: same(x), lower=lambda b, x, y: x * y)
    tf.RegisterGradient("AuditWrongInput")(lambda op, dy: (dy * op.inputs[1], dy * op.inputs[1]))
    x, z = tf.placeholder(tf.float32, [3], name="x"), tf.placeholder(tf.float32, [3], name="z")
    y = tf.get_default_graph().create_op("AuditWrongInput", [x, z]).outputs[0]

    assert tf.audit(y, [x, z], {x: VALUE, z: VALUE + 1}).wrong[0].input == "z:0"


RIGHTS = {
    "chain": lambda x: tf.reduce_sum(tf.exp(tf.tanh(x)) * tf.sigmoid(x)),
    "matmul": lambda x: tf.matmul([x], tf.constant(np.eye(3, 2), tf.float32)),
    "gather": lambda x: tf.gather(x, [0, 0, 2]),
    "broadcast": lambda x: tf.reshape(x, [3, 1]) * tf.ones([3, 2]) / (2.0 + tf.square(x[:2])),
    "concat and split": lambda x: tf.concat(tf.split(x, 3)[::-1], 0),
    "softmax": lambda x: tf.log(tf.nn.softmax(x)),
    "relu": tf.nn.relu,
    "convolution": lambda x: tf.nn.conv2d(tf.reshape(x, [1, 1, 3, 1]), tf.ones([1, 2, 1, 2]), [1, 1, 1, 1], "SAME"),
    "cast": lambda x: tf.cast(x, tf.float64) * 2.0,
    "rounding": tf.round,
    "complex": lambda x: tf.abs(tf.exp(tf.complex(x, 2.0 * x))),
    "maximum": lambda x: tf.reduce_max(x),
    "a power of negative numbers": lambda x: x ** 2.0,
    "cholesky": lambda x: tf.cholesky(x[:, None] * x + 2.0 * tf.eye(3)),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("program", RIGHTS)
def test_right_rules_pass(program, order):
    x = tf.placeholder(tf.float32, [3])
    report = tf.audit(RIGHTS[program](x), x, {x: VALUE}, order=order)

    assert report.of(WRONG) == report.of(DIFFERENT) == []
    assert report.of(RIGHT)


KINKS = {"relu at 0": (tf.nn.relu, np.zeros(3)), "abs at 0": (tf.abs, [0.0, 1.0, -1.0]),
         "ties": (tf.reduce_max, np.ones(3)), "round at a half": (tf.round, [0.5, 1.5, 1.0])}


@pytest.mark.parametrize("kink", KINKS)
def test_corners_are_no_errors(kink):
    program, value = KINKS[kink]
    x = tf.placeholder(tf.float32, [3])

    assert tf.audit(program(x), x, {x: np.asarray(value, np.float32)}).of(RIGHT)


SMALL = {"logarithm": tf.log, "root": tf.sqrt, "reciprocal root": tf.rsqrt, "power": lambda x: tf.pow(x, 0.3)}


@pytest.mark.parametrize("program", SMALL)
def test_near_the_edge_of_a_domain(program):
    x = tf.placeholder(tf.float32, [3])
    value = np.array([1e-5, 1e-3, 1.0], np.float32)

    assert tf.audit(SMALL[program](x), x, {x: value}).of(RIGHT)
    assert tf.audit(SMALL[program](x), x, {x: value}, overrides={"*": rules.scale(1.01)}).of(DIFFERENT)


DELIBERATE = {
    "override": (tf.tanh, {"overrides": {"Tanh": lambda op, dy: dy}, "meant": "Tanh"}, "Tanh"),
    "block": (lambda x: tf.reverse_gradient(x, 0.3), {}, "reverse_gradient"),
    "stop": (lambda x: tf.stop_gradient(x) * x, {}, "StopGradient"),
    "straight through": (tf.straight_through(tf.round), {}, "straight_through/ForwardOf"),
}


@pytest.mark.parametrize("case", DELIBERATE)
def test_deliberate_differences(case):
    program, options, name = DELIBERATE[case]
    x = tf.placeholder(tf.float32, [3])
    report = tf.audit(program(x), x, {x: VALUE}, **options)

    assert report
    assert [f.op for f in report.of(DIFFERENT)] == [name]


def test_an_override_that_is_right_is_right():
    x = tf.placeholder(tf.float32, [3])
    report = tf.audit(tf.tanh(x), x, {x: VALUE}, overrides={"Tanh": rules.default >> rules.scale(1.0)})

    assert report["Tanh"].verdict == RIGHT


@pytest.mark.parametrize("program", [
    lambda f, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: f(x), lambda: x),
    lambda f, x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, f(a)), [0, x])[1],
])
def test_inside_bodies(program):
    x = tf.placeholder(tf.float32, [3])
    good, bad = tf.audit(program(tf.exp, x), x, {x: VALUE}), tf.audit(program(_op("AuditWrongSign"), x), x, {x: VALUE})

    assert good and [f.type for f in bad.wrong] == ["AuditWrongSign"]


def test_variables_and_session():
    v = tf.Variable([1.0, 2.0])
    y = tf.reduce_sum(tf.exp(v))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        assert tf.audit(y, v).of(RIGHT)


def test_the_graph_stays_as_it_was(fresh_graph):
    x = tf.placeholder(tf.float32, [3])
    y = tf.reduce_sum(tf.tanh(x))
    before = len(fresh_graph._ops)
    report = tf.audit(y, x, {x: VALUE}, order=2)

    assert len(fresh_graph._ops) == before
    assert "right" in str(report) and "right" in report.to_json()


@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_corners_are_no_fault(seed):
    x = tf.placeholder(tf.float32, [2, 20, 20, 4])
    h = tf.nn.max_pool(tf.nn.relu(x), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    y = tf.nn.max_pool(tf.nn.relu(h - 0.5), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    value = np.random.RandomState(seed).standard_normal([2, 20, 20, 4])
    assert {f.verdict for f in tf.audit(y, x, {x: value}, seed=seed).findings} == {"right"}
    wrong = tf.audit(y, x, {x: value}, seed=seed, overrides={"MaxPool": rules.scale(1.003)})
    assert [f.type for f in wrong.of("deliberately different")] == ["MaxPool", "MaxPool"]
