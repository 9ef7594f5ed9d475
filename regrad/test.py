"""`tf.test`: a TestCase with assertions on arrays, and gradients against finite differences."""

import contextlib
import os
import tempfile
import unittest

import numpy as np

from regrad.core.graph import Graph, Tensor, get_default_graph
from regrad.runtime.session import Session

__all__ = ["TestCase", "compute_gradient", "compute_gradient_error", "get_temp_dir", "gpu_device_name", "is_built_with_cuda",
           "is_gpu_available", "main"]


def main(argv=None):
    """Runs the tests of the calling program."""
    unittest.main(argv=argv)


def get_temp_dir():
    """Returns a folder for the files of a test."""
    return tempfile.mkdtemp()


def is_built_with_cuda():
    return False


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return False


def gpu_device_name():
    return ""


class TestCase(unittest.TestCase):
    """unittest's TestCase; each test has a graph of its own, and arrays, tensors and structures of them are compared."""

    def setUp(self):
        super().setUp()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(Graph().as_default())
        self.addCleanup(self._stack.close)

    def get_temp_dir(self):
        """Returns a folder for the files of this test."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return os.path.join(self._folder.name, "")

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """Context manager: a session on `graph` (the test's own by default), made the default one."""
        with Session(graph=graph, config=config) as sess:
            yield sess

    test_session = cached_session = session

    def evaluate(self, tensors):
        """Returns the values of tensors in the default session, or in a new one."""
        from regrad.core.context import get_default_session

        sess = get_default_session()
        if sess is not None:
            return sess.run(tensors)
        with Session() as sess:
            return sess.run(tensors)

    def _array(self, x):
        return np.asarray(self.evaluate(x) if isinstance(x, Tensor) or hasattr(x, "_as_graph_element") else x)

    def _compare(self, a, b, check, where="value"):
        if isinstance(a, dict) and isinstance(b, dict):
            self.assertEqual(sorted(a), sorted(b), where)
            for k in a:
                self._compare(a[k], b[k], check, f"{where}[{k!r}]")
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and _ragged(a, b):
            self.assertEqual(len(a), len(b), where)
            for i, (x, y) in enumerate(zip(a, b)):
                self._compare(x, y, check, f"{where}[{i}]")
        else:
            check(self._array(a), self._array(b), where)

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Fails unless shapes are equal and |a - b| <= atol + rtol |b|, in half precision with 1e-3 at least."""

        def check(x, y, where):
            r, t = (max(rtol, 1e-3), max(atol, 1e-3)) if np.float16 in (x.dtype, y.dtype) else (rtol, atol)
            self.assertEqual(x.shape, y.shape, f"Shape mismatch of {where}: expected {x.shape}, got {y.shape}. {msg or ''}")
            np.testing.assert_allclose(x, y, rtol=r, atol=t, err_msg=f"{where} {msg or ''}")

        self._compare(a, b, check)

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3,
                                      half_atol=1e-3, bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None):
        """`assertAllClose` with the tolerance of the coarsest dtype of the two."""
        kinds = {self._array(x).dtype.name for x in (a, b)}
        for names, r, t in (({"bfloat16"}, bfloat16_rtol, bfloat16_atol), ({"float16"}, half_rtol, half_atol),
                            ({"float32", "complex64"}, float_rtol, float_atol)):
            if kinds & names:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(np.asarray(self._array(a)).astype(np.float64), np.asarray(self._array(b)).astype(np.float64),
                            rtol, atol, msg)

    def assertNotAllClose(self, a, b, **kwargs):
        """Fails if `assertAllClose` would not."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a, b, msg=None):
        """Fails unless shapes and all elements are equal; NaN equals NaN."""

        def check(x, y, where):
            self.assertEqual(x.shape, y.shape, f"Shape mismatch of {where}: expected {x.shape}, got {y.shape}. {msg or ''}")
            if x.dtype == object or y.dtype == object or x.dtype.kind in "SU" or y.dtype.kind in "SU":
                x, y = (np.array([_bytes(v) for v in a.ravel()], object) for a in (x, y))
            np.testing.assert_array_equal(x, y, err_msg=f"{where} {msg or ''}")

        self._compare(a, b, check)

    def assertNotAllEqual(self, a, b, msg=None):
        """Fails if all elements are equal."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def _all(self, fits, a, says):
        values = self._array(a)
        self.assertTrue(bool(np.all(fits(values))), f"{says}: {values}")

    def assertAllGreater(self, a, comparison_target):
        """Fails unless all elements are greater."""
        self._all(lambda x: x > comparison_target, a, f"not all greater than {comparison_target}")

    def assertAllGreaterEqual(self, a, comparison_target):
        """Fails unless all elements are at least that."""
        self._all(lambda x: x >= comparison_target, a, f"not all at least {comparison_target}")

    def assertAllLess(self, a, comparison_target):
        """Fails unless all elements are less."""
        self._all(lambda x: x < comparison_target, a, f"not all less than {comparison_target}")

    def assertAllLessEqual(self, a, comparison_target):
        """Fails unless all elements are at most that."""
        self._all(lambda x: x <= comparison_target, a, f"not all at most {comparison_target}")

    def assertAllInSet(self, target, expected_set):
        """Fails unless all elements are among `expected_set`."""
        self._all(lambda x: np.isin(x, list(expected_set)), target, f"not all in {expected_set}")

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):
        """Fails unless all elements lie in the range."""
        low, high = np.greater if open_lower_bound else np.greater_equal, np.less if open_upper_bound else np.less_equal
        self._all(lambda x: low(x, lower_bound) & high(x, upper_bound), target, f"not all in {lower_bound} .. {upper_bound}")

    def assertNear(self, f1, f2, err, msg=None):
        """Fails unless |f1 - f2| <= err."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err}{f' ({msg})' if msg else ''}")

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        """Fails unless both have one length and elements differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        """Fails unless the norm of the difference is less than `err`."""
        self.assertLess(float(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))), err, msg)

    def assertShapeEqual(self, np_array, tf_tensor, msg=None):
        """Fails unless the array's shape is the tensor's static one."""
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list(), msg)

    def assertDTypeEqual(self, target, expected_dtype):
        """Fails unless the value has that dtype."""
        from regrad.core.dtypes import as_dtype

        self.assertEqual(as_dtype(self._array(target).dtype), as_dtype(expected_dtype))

    def assertStartsWith(self, actual, expected_start, msg=None):
        self.assertTrue(actual.startswith(expected_start), f"{actual!r} does not start with {expected_start!r}. {msg or ''}")

    @contextlib.contextmanager
    def assertRaisesOpError(self, expected_err_re_or_predicate):
        """Context manager: fails unless an OpError is raised whose message matches the regex (or predicate)."""
        from regrad.core.errors import OpError

        with self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate):
            yield

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """Context manager: fails unless that exception is raised and its message matches the regex (or predicate)."""
        import re

        try:
            yield
        except exception_type as error:
            wanted = expected_err_re_or_predicate
            if not (wanted(error) if callable(wanted) else re.search(wanted, str(error))):
                raise AssertionError(f"{exception_type.__name__} of another kind: {error}") from error
            return
        raise AssertionError(f"{exception_type.__name__} not raised")


def _ragged(a, b):
    """True for lists that must be compared item by item, because they hold structures, tensors or unlike shapes."""
    return any(isinstance(x, (dict, Tensor)) or np.ndim(x) for x in (*a, *b))


def _bytes(x):
    return x.encode() if isinstance(x, str) else bytes(x)


# -- gradients ------------------------------------------------------------------------------------------
def compute_gradient(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """Returns the Jacobian of `y` for `x` in two ways: by `gradients`, and by differences of `y` itself.

    Args:
      x: tensor, or a list of them.
      x_shape: its shape (a list of shapes for a list).
      y: tensor computed from `x`.
      y_shape: its shape.
      x_init_value: where to differentiate; random by default.
      delta: step of the central differences.
      init_targets: operations to run first.
      extra_feed_dict: what else to feed.

    Returns:
      (by rules, by differences), arrays [elements of x, elements of y]; a list of them for a list of tensors.
    """
    from regrad.core.context import get_default_session

    with contextlib.ExitStack() as stack:
        sess = get_default_session() or stack.enter_context(Session(graph=get_default_graph()))
        if init_targets is not None:
            sess.run(init_targets)
        feeds = dict(extra_feed_dict or {})
        if not isinstance(x, list):
            return _jacobians(sess, x, x_shape, y, y_shape, x_init_value, delta, feeds)
        values = x_init_value or [None] * len(x)
        values = [_start(t, s, v) for t, s, v in zip(x, x_shape, values)]
        results = []
        for i, (t, s) in enumerate(zip(x, x_shape)):
            others = feeds | {o: v for j, (o, v) in enumerate(zip(x, values)) if j != i}
            results.append(_jacobians(sess, t, s, y, y_shape, values[i], delta, others))
        return results


def _start(x, shape, value):
    dtype = x.dtype.as_numpy_dtype
    if value is None:
        return np.random.RandomState(0).random_sample([int(d) for d in shape]).astype(dtype)
    return np.array(value, dtype)


def _jacobians(sess, x, x_shape, y, y_shape, value, delta, feeds):
    from regrad.autodiff.gradients import gradients
    from regrad.ops.array import placeholder

    value = _start(x, x_shape, value)
    if x.dtype.is_complex or y.dtype.is_complex:
        raise TypeError("compute_gradient: only real tensors are differentiated.")
    dy = placeholder(y.dtype, list(y_shape))
    dx = gradients(y, x, grad_ys=dy)[0]
    n, m = int(np.prod(x_shape)), int(np.prod(y_shape))
    by_rule, by_difference = np.zeros((n, m)), np.zeros((n, m))
    for j in range(m if dx is not None else 0):
        seed = np.zeros(m, y.dtype.as_numpy_dtype)
        seed[j] = 1
        by_rule[:, j] = np.ravel(sess.run(dx, {**feeds, x: value, dy: seed.reshape([int(d) for d in y_shape])}))
    for i in range(n):
        ends = []
        for sign in (1, -1):
            moved = value.copy().reshape(-1)
            moved[i] += sign * delta
            ends.append(np.ravel(sess.run(y, {**feeds, x: moved.reshape(value.shape)})).astype(np.float64))
        by_difference[i] = (ends[0] - ends[1]) / (2 * delta)
    return by_rule, by_difference


def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """Returns the largest difference between the two Jacobians of `compute_gradient`."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.abs(a - b).max()) if a.size else 0.0) for a, b in pairs)
