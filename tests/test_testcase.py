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
