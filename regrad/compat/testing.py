"""What programs import as `tensorflow.python.framework.test_util`: decorators of tests, and checks of graphs.

There is one mode, graphs, so decorators that choose between graphs and eager execution run a test once, as a graph. Tests
that need eager execution, a GPU or TPU are skipped.
"""

import contextlib
import functools
import inspect
import socket
import unittest

import numpy as np

from regrad import test
from regrad.core import nest
from regrad.core.context import get_default_session, graphs
from regrad.core.graph import Graph, get_default_graph
from regrad.runtime.session import Session
from regrad.test import TestCase, compute_gradient_error, gpu_device_name, is_gpu_available, main

__all__ = ["TensorFlowTestCase", "TestCase", "compute_gradient_error", "gpu_device_name", "is_gpu_available", "main"]

TensorFlowTestCase = TestCase


# -- decorators -------------------------------------------------------------------------------------------
def _optional_arguments(decorate):
    """Makes `decorate(function)` usable as @name, @name() and @name("why", option=...)."""

    @functools.wraps(decorate)
    def decorator(*args, **kwargs):
        if args and callable(args[0]):
            return decorate(args[0])
        return decorate

    return decorator


@_optional_arguments
def _as_it_is(test_or_class):
    """Changes nothing: the test runs as a graph."""
    return test_or_class


@_optional_arguments
def _in_a_graph(test_or_class):
    """Runs a test, or each test of a class, in a graph of its own."""
    if inspect.isclass(test_or_class):
        return for_all_test_methods(_in_a_graph)(test_or_class)

    @functools.wraps(test_or_class)
    def decorated(self, *args, **kwargs):
        if graphs.top() is not None:
            return test_or_class(self, *args, **kwargs)
        graph = Graph()
        graph.seed = test.DEFAULT_GRAPH_SEED
        with graph.as_default():
            return test_or_class(self, *args, **kwargs)

    return decorated


def _skipped(reason):
    @_optional_arguments
    def skip(test_or_class):
        return unittest.skip(reason)(test_or_class)

    return skip


run_deprecated_v1 = deprecated_graph_mode_only = run_v1_only = run_all_in_deprecated_graph_mode_only = _in_a_graph
run_all_in_graph_and_eager_modes = run_in_v1_v2 = run_class_in_v1_v2 = _as_it_is
also_run_as_tf_function = build_as_function_and_v1_graph = run_in_async_and_sync_mode = _as_it_is
disable_xla = disable_mlir_bridge = disable_tfrt = no_xla_auto_jit = xla_allow_fallback = _as_it_is
disable_asan = disable_msan = disable_tsan = disable_ubsan = disable_cudnn_autotune = run_gpu_or_tpu = _as_it_is
enable_control_flow_v2 = disable_control_flow_v2 = with_control_flow_v2 = enable_c_shapes = with_c_shapes = _as_it_is
enable_output_all_intermediates = enable_tf_xla_constant_folding = run_without_tensor_float_32 = _as_it_is
run_all_without_tensor_float_32 = matmul_without_tf32 = with_eager_op_as_function = _as_it_is
enable_quantized_dtypes_training = enable_nested_function_shape_inference = assert_no_garbage_created = _as_it_is
assert_no_new_pyobjects_executing_eagerly = add_graph_building_optimization_tests = _as_it_is
run_v2_only = run_functions_eagerly = _skipped("there is no eager execution")
run_cuda_only = run_gpu_only = _skipped("there is no GPU")


def run_in_graph_and_eager_modes(func=None, config=None, use_gpu=True, **_options):
    """Decorator: runs a test method as a graph, in a graph and session of its own; the eager run is left out.

    Raises:
      ValueError: a class is decorated.
    """

    def decorate(f):
        if inspect.isclass(f):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods. Did you mean to use "
                             "`run_all_in_graph_and_eager_modes`?")

        @functools.wraps(f)
        def decorated(self, *args, **kwargs):
            with self.test_session(config=config):
                return f(self, *args, **kwargs)

        return decorated

    return decorate if func is None else decorate(func)


def for_all_test_methods(decorator, *args, **kwargs):
    """Class decorator: applies `decorator(*args, **kwargs)` to every method whose name begins with "test"."""

    def decorate(cls):
        made = decorator if not args and not kwargs else decorator(*args, **kwargs)
        for name in dir(cls):
            value = getattr(cls, name)
            if name.startswith("test") and callable(value) and name != "test_session":
                setattr(cls, name, made(value))
        return cls

    return decorate


def assert_no_new_tensors(f):
    """Decorator: fails if the test adds operations to the default graph it was called in."""

    @functools.wraps(f)
    def decorated(self, *args, **kwargs):
        graph = get_default_graph()
        before = len(graph.get_operations())
        with Graph().as_default():
            result = f(self, *args, **kwargs)
        self.assertEqual(len(graph.get_operations()), before, "the test left tensors behind")
        return result

    return decorated


def skip_if(condition):
    """Decorator or context manager: skips when `condition`, a bool or a function without arguments, is true."""

    def decorate(f):
        @functools.wraps(f)
        def decorated(self, *args, **kwargs):
            if condition() if callable(condition) else condition:
                return None
            return f(self, *args, **kwargs)

        return decorated

    return decorate


@contextlib.contextmanager
def skip_if_error(test_obj, error_type, messages=None):
    """Context manager: skips the test when that error is raised with one of these texts in its message."""
    messages = [messages] if isinstance(messages, str) else messages
    try:
        yield
    except error_type as error:
        if not messages or any(m in str(error) for m in messages):
            test_obj.skipTest(f"Skipping error: {type(error).__name__}: {error}")
        raise


@contextlib.contextmanager
def device(use_gpu=False):
    yield


use_gpu = force_cpu = force_gpu = contextlib.nullcontext


def py_func_if_in_function(f):
    return f


def set_producer_version(graph, producer_version):
    """Does nothing: every graph is of one version."""


# -- what there is ------------------------------------------------------------------------------------------
def _false(*_args, **_kwargs):
    return False


IsGoogleCudaEnabled = IsBuiltWithROCm = IsBuiltWithNvcc = IsMklEnabled = GpuSupportsHalfMatMulAndConv = _false
CudaSupportsHalfMatMulAndConv = is_xla_enabled = is_mlir_bridge_enabled = is_asan_enabled = is_msan_enabled = _false
is_tsan_enabled = is_ubsan_enabled = _false


def IsBuiltWithXLA():
    return True


def pick_unused_port():
    """Returns a port of this machine that nobody listens on."""
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


# -- graphs and layouts ---------------------------------------------------------------------------------------
def assert_ops_in_graph(expected_ops, graph):
    """Returns {name: node} for {name: op type}; ValueError when one is missing or of another type."""
    found = {}
    for node in graph.as_graph_def().node:
        if node.name in expected_ops:
            if expected_ops[node.name] != node.op:
                raise ValueError(f"Expected op for node {node.name} is different. {expected_ops[node.name]} vs {node.op}")
            found[node.name] = node
    if set(found) != set(expected_ops):
        raise ValueError(f"Not all expected ops are present. Expected {sorted(expected_ops)}, found {sorted(found)}")
    return found


def get_node_def_from_graph(node_name, graph_def):
    """Returns the node of that name, or None."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_equal_graph_def(actual, expected, *_args, **_kwargs):
    """Fails unless both hold the same nodes, in any order."""
    actual, expected = ({n.name: n for n in g.node} for g in (actual, expected))
    for name in actual:
        if name not in expected:
            raise AssertionError(f"Found unexpected node '{{{{node {name}}}}}")
    for name, node in expected.items():
        if name not in actual:
            raise AssertionError(f"Did not find expected node '{{{{node {name}}}}}")
        if str(actual[name]) != str(node):
            raise AssertionError(f"Node named '{name}' did not match: {actual[name]} is not {node}")


assert_equal_graph_def_v1 = assert_equal_graph_def_v2 = assert_equal_graph_def


def _moved(value, axes):
    """Returns a tensor transposed, or a list of sizes reordered, by the axes for its rank."""
    from regrad.ops.array import transpose

    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) == 1:
        return [value[i] for i in axes[len(value)]]
    return transpose(value, axes[len(value.shape)])


def NHWCToNCHW(input_tensor):
    """Returns a tensor, or a list of sizes, with its channels moved from last to second."""
    return _moved(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor):
    """Returns a tensor, or a list of sizes, with its channels moved from second to last."""
    return _moved(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


# -- gradient_checker_v2 --------------------------------------------------------------------------------------
def compute_gradient(f, x, delta=None):
    """Returns the Jacobians of `f` at the arrays `x`, by its gradients and by differences: two lists of [y size, x size].

    Args:
      f: function of as many tensors as `x` has, giving one tensor.
      x: list of arrays or tensors.
      delta: step of the differences.
    """
    from regrad.ops.array import placeholder_with_default

    if not isinstance(x, (list, tuple)):
        raise ValueError("`x` must be a list or tuple of values convertible to a Tensor")
    with contextlib.ExitStack() as stack:
        sess = get_default_session() or stack.enter_context(Session(graph=get_default_graph()))
        values = [sess.run(v) if hasattr(v, "_as_graph_element") else np.asarray(v) for v in x]
        tensors = [placeholder_with_default(v, v.shape) for v in values]
        y = f(*tensors)
        shape = list(np.shape(sess.run(y)))
        both = []
        with sess.as_default():
            for i, (t, v) in enumerate(zip(tensors, values)):
                others = {o: w for j, (o, w) in enumerate(zip(tensors, values)) if j != i}
                both.append(test.compute_gradient(t, list(v.shape), y, shape, v, delta or 1.0 / 1024, extra_feed_dict=others))
    return [a.T for a, _ in both], [b.T for _, b in both]


def max_error(grad1, grad2):
    """Returns the largest difference between two lists of Jacobians."""
    return max((float(np.abs(a - b).max()) for a, b in zip(nest.flatten(grad1), nest.flatten(grad2)) if a.size), default=0.0)
