"""tf.test: its assertions hold and fail when they should, and gradients are held against differences."""

import numpy as np
import pytest

import regrad as tf


@pytest.fixture
def case():
    class Case(tf.test.TestCase):
        def runTest(self):
            pass

    case = Case()
    case.setUp()
    yield case
    case.doCleanups()


def _raises(words):
    raise ValueError(words)


ROWS = [  # assertion, arguments that hold, arguments that do not
    ("assertAllClose", ([1.0, 2.0], [1.0, 2.0 + 1e-7]), ([1.0, 2.0], [1.0, 2.1])),
    ("assertAllClose", ({"a": [1.0], "b": (2, [3.0])}, {"a": [1.0], "b": (2, [3.0])}), ({"a": [1.0]}, {"a": [2.0]})),
    ("assertAllClose", (np.float16([1.0]), np.float16([1.0005])), ([1.0], [[1.0]])),
    ("assertAllCloseAccordingToType", (np.float16([1.0]), np.float16([1.0005])), (np.float32([1.0]), np.float32([1.0005]))),
    ("assertNotAllClose", ([1.0], [1.1]), ([1.0], [1.0])),
    ("assertAllEqual", ([1, 2], np.array([1, 2])), ([1, 2], [1, 3])),
    ("assertAllEqual", (["a", b"b"], [b"a", b"b"]), (["a"], ["b"])),
    ("assertAllEqual", ([np.nan], [np.nan]), ([1, 2], [1, 2, 3])),
    ("assertNotAllEqual", ([1], [2]), ([1], [1])),
    ("assertAllGreater", ([1, 2], 0), ([1, 2], 1)),
    ("assertAllGreaterEqual", ([1, 2], 1), ([1, 2], 2)),
    ("assertAllLess", ([1, 2], 3), ([1, 2], 2)),
    ("assertAllLessEqual", ([1, 2], 2), ([1, 2], 1)),
    ("assertAllInSet", ([1, 2], {1, 2, 3}), ([1, 4], {1, 2, 3})),
    ("assertAllInRange", ([1, 2], 1, 2), ([1, 2], 1, 2, True)),
    ("assertNear", (1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
    ("assertArrayNear", ([1.0], [1.05], 0.1), ([1.0], [1.2], 0.1)),
    ("assertNDArrayNear", (np.ones(2), np.ones(2), 0.1), (np.ones(2), np.zeros(2), 0.1)),
    ("assertDTypeEqual", (np.ones(1, "f"), tf.float32), (np.ones(1), tf.float32)),
    ("assertStartsWith", ("abc", "ab"), ("abc", "b")),
    ("assertProtoEquals", ("dim { size: 3 } dim: <size: -1>", tf.TensorShape([3, None]).as_proto()),
     ("dim { size: 3 }", tf.TensorShape([4]).as_proto())),
    ("assertLen", ([1, 2], 2), ([1, 2], 3)),
    ("assertEmpty", ([],), ([1],)),
    ("assertContainsSubset", ([1], [1, 2]), ([3], [1, 2])),
    ("assertAllEqual", ([1, 10 ** 20], [1, 10 ** 20]), ([1, 10 ** 20], [1, 10 ** 21])),
    ("assertSameElements", ([1, 2, 1], [2, 1]), ([1], [2, 1])),
    ("assertRaisesWithLiteralMatch", (ValueError, "abc", _raises, "abc"), (ValueError, "abc", _raises, "abcd")),
    ("assertItemsEqual", ([1, 2], [2, 1]), ([1], [2, 1])),
    ("assertDeviceEqual", (None, ""), ("/cpu:0", "")),
]


@pytest.mark.parametrize(("name", "good", "bad"), ROWS, ids=[f"{i}-{r[0]}" for i, r in enumerate(ROWS)])
def test_assertions(case, name, good, bad):
    getattr(case, name)(*good)
    with pytest.raises(AssertionError):
        getattr(case, name)(*bad)


def test_tensors_are_evaluated(case):
    with case.session():
        case.assertAllClose(tf.constant([1.0, 2.0]) * 2.0, [2.0, 4.0])
        with pytest.raises(AssertionError):
            case.assertAllEqual(tf.constant([1, 2]), [1, 3])
    assert case.evaluate(tf.constant(3)) == 3


def test_op_errors(case):
    x = tf.placeholder(tf.float32, [1])
    with tf.Session() as sess, case.assertRaisesOpError("my message"):
        sess.run(tf.check_numerics(x, "my message"), {x: [np.inf]})
    with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError("x"):
        pass


def test_gradients_against_differences():
    @tf.custom_gradient
    def wrong(x):
        return tf.square(x), lambda dy: 3.0 * x * dy

    x, w = tf.constant(np.ones(3)), tf.constant(np.ones((3, 2)))
    y = tf.sin(tf.matmul(x[None], w))
    assert tf.test.compute_gradient_error(x, [3], y, [1, 2]) < 1e-5
    assert tf.test.compute_gradient_error([x, w], [[3], [3, 2]], y, [1, 2]) < 1e-5
    assert tf.test.compute_gradient_error(x, [3], wrong(x), [3], x_init_value=np.ones(3)) == pytest.approx(1.0, abs=1e-5)
    by_rule, by_difference = tf.test.compute_gradient(x, [3], tf.square(x), [3], np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(by_rule, np.diag([2.0, 4.0, 6.0]))
    np.testing.assert_allclose(by_difference, by_rule, atol=1e-8)


def test_a_session_for_the_test(case):
    v = tf.get_variable("v", initializer=1.0)
    with case.cached_session() as sess:
        sess.run(v.initializer)
        with case.test_session() as again:
            assert again is sess
    assert case.evaluate(v.assign_add(1.0)) == 2.0
    assert case.evaluate(v) == 2.0
    with case.session() as other, pytest.raises(tf.errors.FailedPreconditionError):
        other.run(v)
    with pytest.raises(ValueError, match="graph used to get the cached session"), case.cached_session(graph=tf.Graph()):
        pass
    assert case.evaluate({"a": [tf.constant(1)]}) == {"a": [1]}
    assert tf.get_default_graph().seed == 87654321


def test_messages_say_where(case):
    for first, second, error, says in (
            (7, 7 + 1e-5, AssertionError, "Not equal to tolerance"), ([0], [1], AssertionError, "not close dif"),
            ({"a": 1}, {"b": 1}, AssertionError, "mismatched keys"),
            (1, {"a": 1}, ValueError, "Can't compare dict to non-dict"),
            ({"x": (1, [{"n": 4}])}, {"x": (1, [{"n": 5}])}, AssertionError, r"\[x\]\[1\]\[0\]\[n\]")):
        with pytest.raises(error, match=says):
            case.assertAllClose(first, second)


def test_threads_fail_their_test(case):
    thread = case.checkedThread(target=lambda: 1 // 0)
    thread.start()
    with pytest.raises(case.failureException, match="division"):
        thread.join()


def test_complex_gradients_against_differences():
    x = tf.constant([1 + 2j, 2 - 1j])
    assert tf.test.compute_gradient_error(x, [2], x * x, [2]) < 2e-2
    by_rule, _ = tf.test.compute_gradient(x, [2], x * (1 + 2j), [2], np.array([1.0, 1j], np.complex64))
    np.testing.assert_allclose(by_rule[:2, :2], [[1, 2], [-2, 1]])


def test_a_test_may_set_itself_up_again_in_a_graph_of_its_own(case):
    with tf.Graph().as_default() as graph:
        case.setUp()
        assert tf.get_default_graph() is not graph  # TensorFlow leaves all blocks too
        with case.test_session():
            assert tf.constant(3).eval() == 3
