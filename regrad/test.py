"""`tf.test`: a TestCase with assertions on arrays, and gradients against finite differences."""

import contextlib
import os
import random
import re
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

from regrad.core import nest
from regrad.core.context import get_default_session, graphs
from regrad.core.device import canonical_name
from regrad.core.dtypes import as_dtype
from regrad.core.errors import InvalidArgumentError, OpError
from regrad.core.graph import get_default_graph, reset_default_graph
from regrad.core.operation import Tensor
from regrad.core.shown import Shown
from regrad.ops.random import DEFAULT_GRAPH_SEED
from regrad.runtime.session import Session

__all__ = ["Benchmark", "TestCase", "compute_gradient", "compute_gradient_error", "get_temp_dir", "gpu_device_name",
           "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm", "is_built_with_xla", "is_gpu_available",
           "main", "mock", "test_src_dir_path"]


def main(argv=None):
    """Runs the tests of the calling program."""
    unittest.main(argv=argv)


def get_temp_dir():
    """Returns a folder for the files of a test."""
    return tempfile.mkdtemp()


def test_src_dir_path(relative_path):
    """Returns the path of a file given from the folder of the running program."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)


def is_built_with_cuda():
    return False


is_built_with_rocm = is_built_with_gpu_support = is_built_with_cuda


def is_built_with_xla():
    return True


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    return False


def gpu_device_name():
    return ""


class Benchmark(Shown):
    """Base of benchmarks, which run nothing here: a timing is taken with `make bench`."""

    def report_benchmark(self, iters=None, cpu_time=None, wall_time=None, throughput=None, extras=None, name=None,
                         metrics=None):
        """Prints the figures."""
        given = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput, "extras": extras}
        print(name or type(self).__name__, {k: v for k, v in given.items() if v is not None})


class TestCase(unittest.TestCase):
    """unittest's TestCase; each test starts with an empty default graph, and arrays, tensors and structures are compared.

    The graph seed is DEFAULT_GRAPH_SEED (87654321), and Python's and NumPy's generators are seeded, so that a test's random
    numbers are the same in every run.
    """

    _cached = None  # the session of `cached_session`, and what it was asked for with

    def setUp(self):
        super().setUp()
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")
        self._close_cached()
        random.seed(DEFAULT_GRAPH_SEED)
        np.random.seed(DEFAULT_GRAPH_SEED)
        graphs.reset()
        reset_default_graph()
        get_default_graph().seed = DEFAULT_GRAPH_SEED
        self.addCleanup(self._close_cached)

    def _close_cached(self):
        if self._cached is not None:
            self._cached[0].close()
            self._cached = None

    def get_temp_dir(self):
        """Returns a folder for the files of this test."""
        if not hasattr(self, "_folder"):
            self._folder = tempfile.TemporaryDirectory()
            self.addCleanup(self._folder.cleanup)
        return os.path.join(self._folder.name, "")

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """Context manager: a new session on `graph` (the default one by default), made the default one, closed at the end."""
        with Session(graph=graph, config=config) as sess:
            yield sess

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """Context manager: the one session of this test, made the default one; its variables last until the test ends.

        Raises:
          ValueError: the test's session was made with other arguments.
        """
        asked = (graph, config, force_gpu)
        if self._cached is None:
            self._cached = Session(graph=graph, config=config), asked
        sess, made_with = self._cached
        for name, now, before in zip(("graph", "config", "force_gpu"), asked, made_with):
            if now is not before:
                raise ValueError(f"The {name} used to get the cached session is different than the one that was used to create "
                                 "the session. Maybe create a new session with self.session().")
        with sess.graph.as_default(), sess.as_default():
            yield sess

    def test_session(self, graph=None, config=None, use_gpu=False, force_gpu=False):
        """Context manager: `cached_session` without a graph, `session` with one."""
        return (self.cached_session if graph is None else self.session)(graph, config, use_gpu, force_gpu)

    def evaluate(self, tensors):
        """Returns the values of tensors in the default session, or in that of the test; of what a function returns."""
        if callable(tensors):
            tensors = tensors()
        sess = get_default_session()
        if sess is None:
            with self.test_session() as sess:
                return sess.run(tensors)
        return sess.run(tensors)

    def checkedThread(self, target, args=None, kwargs=None):
        """Returns a thread whose `join` fails this test if `target` raised."""
        return _CheckedThread(self, target, args, kwargs)

    def _array(self, x):
        if isinstance(x, Tensor) or hasattr(x, "_as_graph_element"):
            x = self.evaluate(x)
        elif isinstance(x, (list, tuple)) and any(isinstance(leaf, Tensor) for leaf in nest.flatten(x)):
            x = self.evaluate(x)
        return np.asarray(x)

    def _evaluated(self, a, b):
        """Returns both with their tensors evaluated, in one run, so that random ones are drawn once."""
        leaves = [x for x in (*nest.flatten(a), *nest.flatten(b)) if isinstance(x, Tensor) or hasattr(x, "_as_graph_element")]
        if not leaves:
            return a, b
        values = iter(self.evaluate(leaves))
        known = {id(x): v for x, v in zip(leaves, values)}
        return (nest.map_structure(lambda x: known.get(id(x), x), s) for s in (a, b))

    def _compare(self, a, b, check, where=""):
        if hasattr(a, "_asdict"):
            a = a._asdict()
        if hasattr(b, "_asdict"):
            b = b._asdict()
        if isinstance(a, dict) != isinstance(b, dict):
            raise ValueError(f"Can't compare dict to non-dict, a{where} vs b{where}. {a!r} and {b!r}")
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), f"mismatched keys: a{where} has keys {list(a)}, but b{where} has keys {list(b)}")
            for k in a:
                self._compare(a[k], b[k], check, f"{where}[{k}]")
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and _ragged(a, b):
            self.assertEqual(len(a), len(b), f"Mismatched length: a{where} has {len(a)} items, but b{where} has {len(b)} items")
            for i, (x, y) in enumerate(zip(a, b)):
                self._compare(x, y, check, f"{where}[{i}]")
        else:
            check(self._array(a), self._array(b), where)

    def _same_shape(self, x, y, where, msg):
        self.assertEqual(x.shape, y.shape, f"Shape mismatch: expected {x.shape}, got {y.shape}"
                                           f"{f' at {where}' if where else ''}. {msg or ''}")

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Fails unless shapes are equal and |a - b| <= atol + rtol |b|, in half precision with 1e-3 at least."""

        def check(x, y, where):
            r, t = (max(rtol, 1e-3), max(atol, 1e-3)) if np.float16 in (x.dtype, y.dtype) else (rtol, atol)
            if "bfloat16" in (x.dtype.name, y.dtype.name):
                r, t = max(rtol, 1e-2), max(atol, 1e-2)
            self._same_shape(x, y, where, msg)
            x, y = (v.astype(np.float32) if v.dtype.name == "bfloat16" else v for v in (x, y))
            if np.allclose(x, y, rtol=r, atol=t):
                return
            at = np.where(~np.isclose(x, y, rtol=r, atol=t)) if x.ndim else ()
            lines = [f"not close where = {at}", f"not close lhs = {x[at]}", f"not close rhs = {y[at]}",
                     f"not close dif = {np.abs(x - y)[at]}", f"not close tol = {(t + r * np.abs(y))[at]}",
                     f"dtype = {x.dtype}, shape = {x.shape}"] if x.ndim else [f"lhs = {x}, rhs = {y}, dif = {abs(x - y)}"]
            raise AssertionError("\n".join([f"Not equal to tolerance rtol={r}, atol={t}: a{where} is not b{where}. {msg or ''}",
                                            *lines]))

        self._compare(*self._evaluated(a, b), check)

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3,
                                      half_atol=1e-3, bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None):
        """`assertAllClose` with the tolerance of the coarsest dtype of the two."""
        a, b = self._evaluated(a, b)
        kinds = {np.asarray(x).dtype.name for x in (a, b)}
        for names, r, t in (({"float32", "complex64"}, float_rtol, float_atol), ({"float16"}, half_rtol, half_atol),
                            ({"bfloat16"}, bfloat16_rtol, bfloat16_atol)):
            if kinds & names:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):
        """Fails if `assertAllClose` would not."""
        try:
            self.assertAllClose(a, b, rtol, atol, msg)
        except AssertionError:
            return
        raise AssertionError(f"The two values are close at all elements. {msg or ''}")

    def assertAllEqual(self, a, b, msg=None):
        """Fails unless shapes and all elements are equal; NaN equals NaN."""

        def check(x, y, where):
            self._same_shape(x, y, where, msg)
            if x.dtype == object or y.dtype == object or x.dtype.kind in "SU" or y.dtype.kind in "SU":
                x, y = (_object_array([_bytes(v) for v in a.ravel()]).reshape(a.shape) for a in (x, y))
            same = x == y
            if x.dtype.kind in "fc" and y.dtype.kind in "fc":
                same = np.logical_or(same, np.logical_and(np.isnan(x), np.isnan(y)))
            if not np.all(same):
                at = np.where(~np.asarray(same, bool)) if x.ndim else ()
                raise AssertionError(f"not equal where = {at}\nnot equal lhs = {x[at]}\nnot equal rhs = {y[at]}\n"
                                     f"a{where} and b{where} differ. {msg or ''}")

        self._compare(*self._evaluated(a, b), check)

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
        """Fails unless all elements are numbers of the range."""
        values = self._array(target)
        self.assertIn(values.dtype.kind, "fiu", f"The value of {target!r} does not consist of numbers that have an order")
        low, high = np.greater if open_lower_bound else np.greater_equal, np.less if open_upper_bound else np.less_equal
        self._all(lambda x: low(x, lower_bound) & high(x, upper_bound), values, f"not all in {lower_bound} .. {upper_bound}")

    def assertNear(self, f1, f2, err, msg=None):
        """Fails unless |f1 - f2| <= err."""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err}{f' ({msg})' if msg else ''}")

    def assertArrayNear(self, farray1, farray2, err, msg=None):
        """Fails unless both have one length and elements differ by at most `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for f1, f2 in zip(farray1, farray2):
            self.assertNear(float(f1), float(f2), err, msg)

    def _NDArrayNear(self, ndarray1, ndarray2, err):
        return float(np.linalg.norm(np.asarray(ndarray1) - np.asarray(ndarray2))) < err

    def assertNDArrayNear(self, ndarray1, ndarray2, err, msg=None):
        """Fails unless the norm of the difference is less than `err`."""
        self.assertTrue(self._NDArrayNear(ndarray1, ndarray2, err), msg)

    def assertShapeEqual(self, input_a, input_b, msg=None):
        """Fails unless two arrays or tensors have one (static) shape."""
        shapes = [x.get_shape().as_list() if hasattr(x, "get_shape") else list(np.shape(x)) for x in (input_a, input_b)]
        self.assertEqual(*shapes, msg)

    def assertDTypeEqual(self, target, expected_dtype):
        """Fails unless the value has that dtype."""
        found = target.dtype if isinstance(target, Tensor) else self._array(target).dtype
        self.assertEqual(as_dtype(found), as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1, device2, msg=None):
        """Fails unless both names mean one device."""
        device1, device2 = canonical_name(device1), canonical_name(device2)
        self.assertEqual(device1, device2, msg or f"Devices {device1} and {device2} are not equal.")

    def assertProtoEquals(self, expected_message_maybe_ascii, message, msg=None):
        """Fails unless two messages (the first may be in text format) have equal fields."""
        self.assertEqual(_parsed(str(expected_message_maybe_ascii)), _parsed(str(message)), msg)

    def assertProtoEqualsVersion(self, expected, actual, producer=None, min_consumer=0, msg=None):
        """`assertProtoEquals`, whatever the version of the graph."""
        expected, actual = (_parsed(str(m)) for m in (expected, actual))
        for fields in (expected, actual):
            fields.pop("versions", None)
        self.assertEqual(expected, actual, msg)

    def assertStartsWith(self, actual, expected_start, msg=None):
        """Fails unless the text begins so."""
        self.assertTrue(actual.startswith(expected_start), f"{actual!r} does not start with {expected_start!r}. {msg or ''}")

    def assertEmpty(self, container, msg=None):
        """Fails if the container has items."""
        self.assertEqual(len(container), 0, f"{container!r} has length of {len(container)}. {msg or ''}")

    def assertNotEmpty(self, container, msg=None):
        """Fails if the container has no items."""
        self.assertNotEqual(len(container), 0, f"{container!r} has length of 0. {msg or ''}")

    def assertLen(self, container, expected_len, msg=None):
        """Fails unless the container has so many items."""
        self.assertEqual(len(container), expected_len, f"{container!r} has length of {len(container)}. {msg or ''}")

    def assertSequenceAlmostEqual(self, expected_seq, actual_seq, places=None, msg=None, delta=None):
        """Fails unless the sequences are of one length and their numbers almost equal."""
        self.assertEqual(len(expected_seq), len(actual_seq), msg)
        for x, y in zip(expected_seq, actual_seq):
            self.assertAlmostEqual(x, y, places=places, msg=msg, delta=delta)

    def assertContainsSubset(self, expected_subset, actual_set, msg=None):
        """Fails unless everything expected is there."""
        missing = set(expected_subset) - set(actual_set)
        self.assertFalse(missing, f"Missing elements {missing}. {msg or ''}")

    def assertSameElements(self, expected_seq, actual_seq, msg=None):
        """Fails unless both hold the same items, in any order and however often."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)

    def assertBetween(self, value, minv, maxv, msg=None):
        """Fails unless minv <= value <= maxv."""
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} unexpectedly not between {minv!r} and {maxv!r}")

    @contextlib.contextmanager
    def captureWritesToStream(self, stream):
        """Context manager that keeps what is written to `stream`, by Python or below it: `contents()` gives it."""
        stream.flush()
        try:
            number = stream.fileno()
        except (AttributeError, OSError):  # a stream that is no file: a test runner's
            number = None
        with tempfile.TemporaryFile("w+") as file, contextlib.ExitStack() as stack:
            if number is None:
                name = "stderr" if stream is sys.stderr else "stdout"
                stack.enter_context(getattr(contextlib, f"redirect_{name}")(file))
            else:
                saved = os.dup(number)
                stack.callback(os.close, saved)
                os.dup2(file.fileno(), number)
                stack.callback(os.dup2, saved, number)
            captured = _Captured()
            stack.callback(lambda: captured.read(file))
            stack.callback(stream.flush)
            yield captured

    def assertItemsEqual(self, expected_seq, actual_seq, msg=None):
        """Fails unless both hold the same items, in any order."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertRaisesRegexp(self, *args, **kwargs):
        """`assertRaisesRegex`, under the name it had."""
        return self.assertRaisesRegex(*args, **kwargs)

    def assertRegexpMatches(self, text, expected_regex, msg=None):
        """`assertRegex`, under the name it had."""
        self.assertRegex(text, expected_regex, msg)

    def assertRaisesOpError(self, expected_err_re_or_predicate):
        """Context manager: fails unless an OpError is raised whose message matches the regex (or predicate)."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type=InvalidArgumentError):
        """Context manager: fails unless an error about shapes that do not go together is raised."""
        return self.assertRaisesWithPredicateMatch(
            (exception_type, ValueError), r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes")

    def assertRaisesWithLiteralMatch(self, expected_exception, expected_exception_message, expected_callable=None, *args,
                                     **kwargs):
        """Fails unless a call, or the block below it, raises that exception with exactly that message."""
        block = self.assertRaisesWithPredicateMatch(expected_exception, lambda error: str(error) == expected_exception_message)
        if expected_callable is None:
            return block
        with block:
            expected_callable(*args, **kwargs)
        return None

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):
        """Context manager: fails unless that exception is raised and its message matches the regex (or predicate)."""
        kind = getattr(exception_type, "__name__", str(exception_type))
        try:
            yield
        except exception_type as error:
            wanted = expected_err_re_or_predicate
            if not (wanted(error) if callable(wanted) else re.search(wanted, str(error))):
                raise AssertionError(f"{kind} of another kind: {error}") from error
            return
        raise AssertionError(f"{kind} not raised")


_TOKEN = re.compile(r"""\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([{}<>:,;\[\]])|([^\s{}<>:,;\[\]]+))""")


def _parsed(text):
    """Returns a message in text format as {field: [values]}, a message inside as such a dict."""
    tokens = [next(g for g in m.groups() if g is not None) for m in _TOKEN.finditer(text) if m.group().strip()]
    tokens.reverse()
    return _fields(tokens)


def _fields(tokens):
    found: dict = {}
    while tokens:
        name = tokens.pop()
        if name in "}>":
            break
        if name in ",;":
            continue
        if tokens[-1] == ":":
            tokens.pop()
        value = tokens.pop()
        if value in "{<":
            found.setdefault(name, []).append(_fields(tokens))
        elif value == "[":
            while (item := tokens.pop()) != "]":
                if item != ",":
                    found.setdefault(name, []).append(_scalar(item))
        else:
            found.setdefault(name, []).append(_scalar(value))
    return found


def _scalar(text):
    if text[0] in "\"'":
        return text[1:-1]
    if text.startswith("DT_") and not text.endswith(("_REF", "_INVALID")):
        return float(as_dtype(text[3:].lower()).as_datatype_enum)  # a message may hold the number
    try:
        return float(text)
    except ValueError:
        return text


class _Captured:
    """What `captureWritesToStream` kept."""

    def __init__(self):
        self._contents = ""

    def read(self, file):
        file.flush()
        file.seek(0)
        self._contents = file.read()

    def contents(self):
        return self._contents


class _CheckedThread:
    """A thread whose exception is raised, as a failure of its test, by `join`."""

    def __init__(self, case, target, args, kwargs):
        self._case = case
        self._failure = None
        self._thread = threading.Thread(target=self._run, args=(target, args or (), kwargs or {}), daemon=True)
        self.start, self.is_alive = self._thread.start, self._thread.is_alive

    def _run(self, target, args, kwargs):
        try:
            target(*args, **kwargs)
        except Exception as error:
            self._failure = error

    def join(self):
        self._thread.join()
        if self._failure is not None:
            self._case.fail(f"Error in checkedThread: {self._failure}")

    @property
    def name(self):
        return self._thread.name


def _ragged(a, b):
    """True for lists that must be compared item by item, because they hold structures, tensors or unlike shapes."""
    return any(isinstance(x, (dict, Tensor)) or np.ndim(x) for x in (*a, *b))


def _object_array(items):
    out = np.empty(len(items), object)
    out[:] = items
    return out


def _bytes(x):
    return x.encode() if isinstance(x, str) else bytes(x) if isinstance(x, (bytes, bytearray)) else x


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
      (by rules, by differences), arrays [elements of x, elements of y] of the dtype of `x`; a list of them for a list of
      tensors. A complex number counts as two elements, real and imaginary part.
    """
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
        numbers = np.random.RandomState(0)
        value = numbers.random_sample([int(d) for d in shape])
        if x.dtype.is_complex:
            value = value + 1j * numbers.random_sample([int(d) for d in shape])
    return np.array(value, dtype)


def _flat(array):
    """Returns the real numbers of an array, a complex one's as real and imaginary part in turn."""
    array = np.ascontiguousarray(array).reshape(-1)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


def _jacobians(sess, x, x_shape, y, y_shape, value, delta, feeds):
    from regrad.autodiff.gradients import gradients
    from regrad.ops.array import placeholder

    value = _start(x, x_shape, value)
    dy = placeholder(y.dtype, list(y_shape))
    dx = gradients(y, x, grad_ys=dy)[0]
    n, m = _flat(value).size, int(np.prod(y_shape)) * (2 if y.dtype.is_complex else 1)
    by_rule, by_difference = np.zeros((2, n, m), value.real.dtype)
    for j in range(m if dx is not None else 0):
        seed = np.zeros([int(d) for d in y_shape], y.dtype.as_numpy_dtype)
        _flat(seed)[j] = 1
        found = sess.run(dx, {**feeds, x: value, dy: seed})
        if hasattr(found, "dense_shape"):  # IndexedSlicesValue
            dense = np.zeros(value.shape, value.dtype)
            np.add.at(dense, found.indices, found.values)
            found = dense
        by_rule[:, j] = _flat(found)
    for i in range(n):
        ends = []
        for sign in (1, -1):
            moved = value.copy()
            _flat(moved)[i] += sign * delta
            ends.append(_flat(sess.run(y, {**feeds, x: moved})).astype(np.float64))
        by_difference[i] = (ends[0] - ends[1]) / (2 * delta)
    return by_rule, by_difference


def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta=1e-3, init_targets=None, extra_feed_dict=None):
    """Returns the largest difference between the two Jacobians of `compute_gradient`."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.abs(a - b).max()) if a.size else 0.0) for a, b in pairs)
