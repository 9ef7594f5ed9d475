"""Host functions: what they get, what they may return, gradients that are host functions too, threads, failures."""

import threading
import traceback

import numpy as np
import pytest

import regrad as tf
from regrad import rules
from regrad.core.errors import InvalidArgumentError, UnimplementedError

X, Y = np.array([0.3, 1.7, -2.2]), np.array([0.2, 0.9, 0.7])


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


VALUES = {  # function, inputs, Tout, what comes
    "string": (lambda a: a.upper(), [b"ab"], tf.string, b"AB"),
    "strings": (lambda a: np.array([v + b"!" for v in a]), [[b"ab", b"c"]], tf.string, [b"ab!", b"c!"]),
    "a list of strings": (lambda a: [v + b"!" for v in a], [[b"ab", b"c"]], tf.string, [b"ab!", b"c!"]),
    "text": (lambda: "é", [], tf.string, "é".encode()),
    "a list as a row": (lambda: [1.0, 2.0], [], tf.float32, [1.0, 2.0]),
    "a list of lists": (lambda: [[1, 2], [3, 4]], [], tf.int32, [[1, 2], [3, 4]]),
    "a number": (lambda: 3, [], tf.int64, 3),
    "a truth value": (lambda a: a > 0, [1.0], tf.bool, True),
    "half": (lambda a: a * 2, [np.float16(1.5)], tf.float16, 3.0),
    "complex": (lambda a: a * 2j, [np.complex64(1 + 1j)], tf.complex64, -2 + 2j),
    "no input, no output": (lambda: None, [], [], None),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("stateful", [True, False])
def test_values(name, stateful):
    function, inputs, kinds, expected = VALUES[name]
    got = run(tf.py_func(function, inputs, kinds, stateful=stateful))
    if expected is None:
        assert got is None if stateful else got == []
    else:
        np.testing.assert_array_equal(got, np.array(expected))


@pytest.mark.parametrize("way", [
    lambda a: tf.constant(a), lambda a: tf.Variable(a).initialized_value(), lambda a: tf.constant([a, a])[0],
    lambda a: tf.placeholder_with_default(a, [2]), lambda a: tf.py_func(lambda: a, [], a.dtype),
    lambda a: tf.data.Dataset.from_tensors(a).make_one_shot_iterator().get_next(),
], ids=["constant", "variable", "list", "default", "host function", "dataset"])
def test_the_other_order_of_bytes(way, monkeypatch):
    """Files from machines of the other order (IDX, FITS) are read into such arrays; TensorFlow gives garbage for some."""
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    got = run(way(np.array([1, 2], ">i4")) * 2)

    np.testing.assert_array_equal(got, [2, 4])
    assert got.dtype == np.int32


REFUSED = {  # function, Tout, shape, words
    "too few": (lambda: None, tf.float32, None, "returns 0 values, but expects to see 1"),
    "too many": (lambda: (np.float32(1), np.float32(2)), tf.float32, None, "returns 2 values, but expects to see 1"),
    "one for two": (lambda: np.float32(1), [tf.float32] * 2, None, "returns 1 values, but expects to see 2"),
    "something for nothing": (lambda: np.float32(1), [], None, "expects to see 0"),
    "None among values": (lambda: [None, 1.0], [tf.float32] * 2, None, "Unsupported object type NoneType"),
    "dtype": (lambda: np.float64(1), tf.float32, None, "float64, but expects float32"),
    "kind": (lambda: 3.5, tf.int64, None, "is no int64"),
    "range": (lambda: 3000, tf.int8, None, "out of bounds for int8"),
    "ragged": (lambda: [[1.0], [1.0, 2.0]], tf.float32, None, "rows of different lengths"),
    "shape": (lambda: np.ones(3, np.float32), tf.float32, [2], r"shape \[3\], but .2. was promised"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_not_promised_is_refused(name):
    function, kinds, shape, words = REFUSED[name]
    made = tf.py_func(function, [], kinds, shape=shape, name="mine")
    with pytest.raises((InvalidArgumentError, UnimplementedError), match=words) as caught:
        run(made)
    assert "test_script.py" in str(caught.value) and "'mine' (PyFunc)" in str(caught.value)


def test_an_exception_keeps_its_class_its_traceback_and_gains_the_place():
    class Odd(Exception):
        def __init__(self, number, more):
            super().__init__(number)
            self.more = more

    def inner(x):
        raise Odd(3, "more")

    with pytest.raises(Odd) as caught:
        run(tf.py_func(lambda x: inner(x), [1.0], tf.float32, name="odd"))
    frames = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert caught.value.more == "more" and frames[-2:] == ["<lambda>", "inner"]
    assert any("'odd'" in note and "test_script.py" in note for note in caught.value.__notes__)


class WithCode(Exception):
    def __init__(self, code, *, hint):
        super().__init__(code)
        self.hint = hint


RAISED = {
    "ValueError": (ValueError("blah"), tf.errors.InvalidArgumentError),
    "TypeError": (TypeError("blah"), tf.errors.InvalidArgumentError),
    "StopIteration": (StopIteration("blah"), tf.errors.OutOfRangeError),
    "MemoryError": (MemoryError("blah"), tf.errors.ResourceExhaustedError),
    "NotImplementedError": (NotImplementedError("blah"), tf.errors.UnimplementedError),
    "KeyError": (KeyError("blah"), tf.errors.UnknownError),
    "OSError": (FileNotFoundError(2, "blah"), tf.errors.UnknownError),
    "UnicodeDecodeError": (UnicodeDecodeError("utf8", b"x", 0, 1, "blah"), tf.errors.InvalidArgumentError),
    "of the user's": (WithCode("blah", hint="look"), tf.errors.UnknownError),
    "of TensorFlow's": (tf.errors.AbortedError(None, None, "blah"), tf.errors.AbortedError),
}


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("times", [1, 5])  # small programs become one function after some runs
def test_an_exception_is_of_its_class_and_of_tensorflows(name, times):
    error, kind = RAISED[name]
    failing = []

    def function(x):
        if failing:
            raise error
        return x

    y = tf.py_func(function, [tf.constant(1.0)], tf.float32, name="odd")
    text, attributes = str(error), {k: v for k, v in vars(error).items() if k != "op"}
    with tf.Session() as session:
        for _ in range(times):
            session.run(y)
        failing.append(True)
        with pytest.raises(kind) as caught:
            session.run(y)
        failing.clear()
        assert session.run(y) == 1.0
    found = caught.value
    assert isinstance(found, type(error)) and type(found).__name__ == type(error).__name__
    assert text in str(found) and found.args == error.args and attributes.items() <= vars(found).items()
    assert found.message == "blah" if kind is tf.errors.AbortedError else found.message == text
    assert found.op.name == "odd" and found.error_code == kind.error_code


# -- gradients ---------------------------------------------------------------------------------------


def mod_grad(x, y, dz):
    return dz, -dz * np.floor(x / y)


def test_a_gradient_that_is_a_host_function():
    x, y = tf.constant(X), tf.constant(Y)
    z = tf.py_func(np.mod, [x, y], tf.float64, grad=tf.host_gradient(mod_grad))
    dx, dy = run(tf.gradients(tf.sin(z), [x, y]))
    np.testing.assert_allclose(dx, np.cos(np.mod(X, Y)))
    np.testing.assert_allclose(dy, -np.cos(np.mod(X, Y)) * np.floor(X / Y))


def _cube(second=None):
    """x ** 3 on the host, its gradient on the host, and the gradient of that."""
    first = tf.host_gradient(lambda x, dy: 3 * x**2 * dy, grad=second)
    return lambda x: tf.py_func(lambda v: v**3, [x], tf.float64, grad=first, shape=[3])


@pytest.mark.parametrize("second", [tf.host_gradient(lambda x, dy, ddx: (6 * x * dy * ddx, 3 * x**2 * ddx)),
                                    lambda op, ddx: (6.0 * op.inputs[0] * op.inputs[1] * ddx,
                                                     3.0 * tf.square(op.inputs[0]) * ddx)], ids=["host", "graph"])
def test_second_derivatives(second):
    x = tf.constant(X)
    y = _cube(second)(x)
    g = tf.gradients(tf.sin(y), x)[0]
    got = run([g, tf.gradients(g, x)[0]])
    np.testing.assert_allclose(got[0], np.cos(X**3) * 3 * X**2)
    np.testing.assert_allclose(got[1], -np.sin(X**3) * 9 * X**4 + np.cos(X**3) * 6 * X)


def test_no_second_derivative_was_given():
    x = tf.constant(X)
    g = tf.gradients(_cube()(x), x)[0]
    for differentiate in (lambda: tf.gradients(g, x), lambda: tf.jvp(_cube()(x), x, [x]), lambda: tf.hessians(_cube()(x), x)):
        with pytest.raises(LookupError, match="grad=rules.stop"):
            differentiate()
    assert "gradients() raises an error" in tf.why_none(g, x) and "py_func(..., grad=rule)" in tf.why_none(g, x)


def test_a_gradient_of_the_host_counts_as_constant_where_that_is_said():
    x = tf.constant(X)
    cube = tf.py_func(lambda v: v**3, [x], tf.float64, grad=tf.host_gradient(lambda v, dy: 3 * v**2 * dy, rules.stop()))
    assert tf.gradients(tf.gradients(cube, x), x) == [None]


def test_a_rule_that_calls_the_host_is_no_constant_either():
    x = tf.constant(X)
    host = tf.gradients(tf.sin(x), x, overrides={"Sin": lambda op, dy: dy * tf.py_func(np.cos, [op.inputs[0]], tf.float64)})[0]
    partly = host * x  # a way that is right beside it makes it no better
    for y in (host, partly):
        with pytest.raises(LookupError, match="PyFunc.*a gradient of 'Sin'"):
            tf.gradients(y, x)
        assert "raises an error" in tf.why_none(y, x)


def test_why_none_names_what_is_left_out_beside_a_gradient():
    x = tf.constant(X)
    assert "gets a gradient, but some ways to it end\nStopGradient" in tf.why_none(x * tf.stop_gradient(x), x)


def test_in_a_loop_and_as_an_override():
    x = tf.constant(X)
    looped = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, _cube()(tf.sin(h))), (0, x))[1]
    same = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.sin(h) ** 3), (0, x))[1]
    host = tf.host_gradient(lambda v, dy: dy * np.cos(v))
    got = run([tf.gradients(looped, x)[0], tf.gradients(same, x)[0], tf.gradients(tf.sin(x), x, overrides={"Sin": host})[0]])
    np.testing.assert_allclose(got[0], got[1], rtol=1e-12)
    np.testing.assert_allclose(got[2], np.cos(X))


def test_outputs_integers_and_none():
    x, n = tf.constant(X), tf.constant([1, 2, 3])
    y, m = tf.py_func(lambda x, n: (np.exp(x) * n, n), [x, n], [tf.float64, tf.int32],
                      grad=tf.host_gradient(lambda x, n, dy, dm, outputs: (dy * outputs[0], None)))
    z = tf.py_func(lambda a, b: a, [x, 2.0 * x], tf.float64, grad=tf.host_gradient(lambda a, b, dy: (dy, None)))
    got = run(tf.gradients(y, x) + tf.gradients(z, x))
    np.testing.assert_allclose(got[0], np.exp(X) * [1, 2, 3])
    np.testing.assert_allclose(got[1], np.ones(3))


@pytest.mark.parametrize(("gradient", "words"), [
    (lambda x, y, dz: dz, "1 gradients.*has 2 inputs"),
    (lambda x, y, dz: (dz, dz, dz), "3 gradients.*has 2 inputs"),
    (lambda x, y, dz: (dz.astype("f4"), dz), "returns float32 as the gradient of input 0 of .*float64: return"),
    (lambda x, y, dz: (dz[:2], dz), r"shape \[2\]"),
])
def test_a_host_gradient_is_checked(gradient, words):
    x, y = tf.constant(X), tf.constant(Y)
    z = tf.py_func(np.mod, [x, y], tf.float64, grad=tf.host_gradient(gradient))
    with pytest.raises(InvalidArgumentError, match=f"(?s){words}"):
        run(tf.gradients(z, [x, y]))


# -- how often, in which order, from which threads -----------------------------------------------------


def test_once_a_run_that_needs_it_in_creation_order():
    calls = []
    made = [tf.py_func(lambda k=k: calls.append(k) or np.float32(k), [], tf.float32) for k in range(3)]
    total = made[2] * 2.0 + made[0] + made[2]
    with tf.Session() as session:
        for n in range(1, 5):
            session.run([total, made[0]])
            assert calls == [0, 2] * n


def test_a_stateless_one_may_be_folded():
    calls = []
    y = tf.py_func(lambda v: calls.append(1) or v + 1, [tf.constant(1.0)], tf.float32, stateful=False) * 2.0
    with tf.Session() as session:
        assert [session.run(y) for _ in range(5)] == [4.0] * 5
    assert 1 <= len(calls) <= 5


def test_from_several_threads():
    x = tf.placeholder(tf.float64, [3])
    here = []
    y = tf.py_func(lambda v: here.append(threading.get_ident()) or v * 2, [tf.sin(x)], tf.float64,
                   grad=tf.host_gradient(lambda v, dy: 2 * dy), shape=[3])
    g = tf.gradients(tf.reduce_sum(tf.exp(y)), x)[0]
    wrong = []
    with tf.Session() as session:
        def work(k):
            for i in range(20):
                v = X * (k + 0.01 * i)
                if not np.allclose(session.run(g, {x: v}), np.exp(2 * np.sin(v)) * 2 * np.cos(v)):
                    wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert wrong == [] and len(here) == 80 and set(here) == {t.ident for t in threads}  # each in the thread that runs it
