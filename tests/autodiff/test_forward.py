"""Rules for forward mode: used wherever their operations stand, and held against the reverse rules beside them."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules
from regrad.core.opdef import same

X = np.array([0.3, -0.5, 0.8])
V = np.array([1.0, 2.0, -1.0])

cubed = tf.define_op("ForwardCubed", "x: T", infer=same, lower=lambda b, x: x * x * x)
wrong = tf.define_op("ForwardWrong", "x: T", infer=same, lower=lambda b, x: x * x * x)
alone = tf.define_op("ForwardAlone", "x: T", infer=same, lower=lambda b, x: x * x * x)
mixed = tf.define_op("ForwardMixed", "x: T, n: int32, y: T", infer=lambda x, n, y: [same(x), same(y)],
                     lower=lambda b, x, n, y: (x * y, y * b.cast(n, tf.as_dtype(y.dtype))))
used = []


def _cubed_grad(op, dy):
    return 3.0 * tf.square(op.inputs[0]) * dy


for _type in ("ForwardCubed", "ForwardWrong", "ForwardTripled"):
    tf.RegisterGradient(_type)(_cubed_grad if _type != "ForwardTripled" else lambda op, dy: 3.0 * _cubed_grad(op, dy))


@tf.RegisterForwardGradient("ForwardCubed")
def _cubed_forward(op, dx):
    used.append(op.type)
    return 3.0 * tf.square(op.inputs[0]) * dx


tf.RegisterForwardGradient("ForwardWrong")(lambda op, dx: 2.0 * op.inputs[0] * dx)
tf.RegisterForwardGradient("ForwardAlone")(_cubed_forward)
tf.RegisterForwardGradient("ForwardTripled")(lambda op, dx: 3.0 * _cubed_forward(op, dx))
tf.RegisterGradient("ForwardMixed")(lambda op, da, db: (da * op.inputs[2], None, da * op.inputs[0] + db * 2.0))


@tf.RegisterForwardGradient("ForwardMixed")
def _mixed_forward(op, dx, dn, dy):
    assert dn is None
    return dx * op.inputs[2] + op.inputs[0] * dy, 2.0 * dy


@tf.custom_gradient
def grown(x, w):
    e = tf.exp(x) * w

    def grad(dy):
        return dy * e, tf.reduce_sum(dy * tf.exp(x))

    def forward(dx, dw):
        used.append("custom")
        return e * dx + tf.exp(x) * dw

    return e, grad, forward


def _loop(f):
    return lambda x: tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, f(h)), (0, x))[1]


PROGRAMS = {
    "flat": cubed,
    "loop": _loop(lambda h: tf.sin(cubed(h))),
    "branch": lambda x: tf.cond(x[0] > 0.0, lambda: cubed(x), lambda: x),
    "scan": lambda x: tf.scan(lambda a, v: cubed(a) + v, x),
    "several outputs, an integer": lambda x: tf.add_n(mixed(x, 2, tf.sin(x))),
    "one output used": lambda x: mixed(x, 2, tf.sin(x))[0],
    "custom": lambda x: grown(x, tf.constant(0.5, tf.float64)),
    "custom in a loop": _loop(lambda h: grown(h, tf.constant(0.5, tf.float64))),
    "custom of two": lambda x: grown(x, tf.reduce_sum(x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_rules_give_the_jacobian_times_the_vector(name):
    x = tf.constant(X)
    y = PROGRAMS[name](x)
    used.clear()
    along = tf.jvp(y, x, [V])[0]
    assert used or "output" in name
    with tf.Session() as session:
        forward, jacobian = session.run([along, tf.jacobian(y, x)])
    np.testing.assert_allclose(forward, jacobian @ V, rtol=1e-10)


def test_without_a_reverse_rule():
    x = tf.constant(X)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.jvp(tf.sin(alone(x)), x, [V])[0]), 3 * X**2 * V * np.cos(X**3))
    with pytest.raises(LookupError, match="ForwardAlone"):
        tf.gradients(alone(x), x)


def test_an_override_puts_it_aside_unless_it_names_a_pair():
    x = tf.constant(X)
    y = cubed(x)
    with tf.Session() as session:
        plain, scaled, named = session.run([tf.jvp(y, x, [V], **options)[0] for options in (
            {}, {"overrides": {"ForwardCubed": rules.scale(5.0)}}, {"overrides": {"ForwardCubed": "ForwardTripled"}})])
    np.testing.assert_allclose([scaled, named], [5 * plain, 3 * plain])


def test_derivatives_of_it():
    x = tf.constant(X)
    along = tf.jvp(cubed(x), x, [V])[0]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tf.gradients(along, x)[0]), 6 * X * V)


def test_audit_holds_the_two_against_each_other():
    x = tf.placeholder(tf.float64, [3])
    report = tf.audit(tf.reduce_sum(cubed(x) + wrong(x) + tf.add_n(mixed(x, 2, x))), x, {x: X})
    assert [(f.type, f.note) for f in report.wrong] == [("ForwardWrong", "forward rule against the reverse one")]
    assert sorted(f.type for f in report.of("right") if f.note) == ["ForwardCubed", "ForwardMixed"]


def test_transposition_of_a_whole_program():
    x = tf.placeholder(tf.float64, [3])
    good = tf.inspect.forward_against_reverse(tf.sin(cubed(x)), x, {x: X})
    bad = tf.inspect.forward_against_reverse([tf.sin(wrong(x)), x * 2.0], x, {x: X})
    assert all(r["difference"] < 1e-12 for r in good.rows) and any(r["difference"] > 1e-2 for r in bad.rows)


@pytest.mark.parametrize(("kind", "returned", "error", "words"), [
    ("Number", lambda op, dx: [dx, dx], ValueError, "2 tangents for the 1 outputs"),
    ("Dtype", lambda op, dx: tf.cast(dx, tf.float32), TypeError, "float32"),
    ("Shape", lambda op, dx: tf.zeros([7], tf.float64), ValueError, r"float64\[7\]"),
])
def test_what_a_forward_rule_returns_is_checked(kind, returned, error, words):
    op = tf.define_op(f"ForwardBad{kind}", "x: T", infer=same, lower=lambda b, x: x)
    tf.RegisterForwardGradient(op.type)(returned)
    x = tf.constant(X)
    with pytest.raises(error, match=f"(?s){words}.*test_forward.py"):
        tf.jvp(op(x), x, [V])


def test_registering():
    with pytest.raises(KeyError, match="test_forward.py"):
        tf.RegisterForwardGradient("ForwardCubed")(lambda op, dx: dx)
    with pytest.raises(TypeError, match="string"):
        tf.RegisterForwardGradient(3)
    with pytest.raises(TypeError, match="function"):
        tf.RegisterForwardGradient("ForwardNew")(3)
