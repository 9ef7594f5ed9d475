"""`Defun`: TensorFlow 1's function with a gradient of its own, from `tensorflow.python.framework.function`."""

import functools
import inspect

from regrad.core import nest, source
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.graph import Operation, get_default_graph
from regrad.ops.array import identity, identityn_op


class Defun:
    """Decorator that makes a Python function of tensors a function of the graph, with a gradient of its own if it has one.

        @function.Defun(tf.float32, python_grad_func=lambda op, dy: dy)
        def quantize(x):
            return tf.round(x)

    The operations of the body stand in the graph where the function is called, under its name. A call gives a tensor, or a
    tuple of several; None if the function returns None.

    Args:
      input_types: the dtype of each argument; none at all takes them as they come.
      func_name: the name of the function, and of the name scope of a call.
      python_grad_func: rule `python_grad_func(call, *output_gradients)`; `call.inputs` and `call.outputs` are the tensors
        of the call. It returns one gradient per argument, as a rule for `RegisterGradient` does.
      grad_func: another such function, called with the arguments and then the gradients of the outputs.
      shape_func: `shape_func(call)` -> list of shapes of the outputs.
      out_names, noinline, capture_by_value and others: accepted.

    Raises:
      ValueError: both gradients are given, or the number of arguments is wrong.
      TypeError: an argument has another dtype.
    """

    def __init__(self, *input_types, func_name=None, grad_func=None, python_grad_func=None, out_names=None, shape_func=None,
                 **options):
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("Gradient defined twice: Defun takes grad_func or python_grad_func, not both.")
        self._types = [as_dtype(t) for t in input_types]
        self._name = func_name
        self._python_grad_func, self._grad_func, self._shape_func = python_grad_func, grad_func, shape_func

    def __call__(self, func):
        if not callable(func):
            raise ValueError(f"function {func!r} must be callable")
        wanted = [p for p in inspect.signature(func).parameters.values() if p.kind in (p.POSITIONAL_ONLY,
                                                                                      p.POSITIONAL_OR_KEYWORD)]
        takes_more = any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(func).parameters.values())
        if self._types and len(self._types) != len(wanted) and not takes_more:
            raise ValueError(f"Defun: {source.of_function(func)} takes {len(wanted)} arguments, but {len(self._types)} types "
                             "are given.")
        function_name = self._name or func.__name__

        @functools.wraps(func)
        def call(*args, name=None):
            return self._call(func, name or function_name, args)

        call.name = function_name
        call.declared_input_types, call.python_grad_func = self._types, self._python_grad_func
        call.add_to_graph = lambda graph: None  # calls build their operations where they stand
        return call

    def _call(self, func, name, args):
        types = self._types or [None] * len(args)
        if len(args) != len(types):
            raise ValueError(f"Expected number of arguments: {len(types)}, received: {len(args)}")
        with get_default_graph().name_scope(name):
            inputs = [identity(convert_to_tensor(x, dtype=None if hasattr(x, "dtype") else t)) for x, t in zip(args, types)]
            for i, (x, t) in enumerate(zip(inputs, types)):
                if t is not None and x.dtype is not t:
                    raise TypeError(f"{name}: argument {i} is {x.dtype.name}, expected {t.name}; the function is at "
                                    f"{source.of_function(func)}.")
            returned = func(*inputs)
            results = [] if returned is None else [convert_to_tensor(r) for r in nest.flatten(returned)]
            if not results:
                return None
            if self._python_grad_func is not None or self._grad_func is not None:
                results = self._with_gradient(results, inputs, name)
            if self._shape_func is not None:
                for t, shape in zip(results, self._shape_func(Call(results[0].op, results, inputs, name))):
                    t.set_shape(shape)
        return tuple(results) if len(results) > 1 else results[0]

    def _with_gradient(self, results, inputs, name):
        n = len(results)

        def rule(op, *dys):
            given = dys[:n]
            if self._grad_func is not None:
                grads = self._grad_func(*op.inputs[n:], *given)
            else:
                grads = self._python_grad_func(Call(op, op.outputs[:n], op.inputs[n:], name), *given)
            grads = list(grads) if isinstance(grads, (list, tuple)) else [grads]
            return [None] * n + grads

        rule.__wrapped__ = self._python_grad_func or getattr(self._grad_func, "__wrapped__", self._grad_func)
        outputs = identityn_op([*results, *inputs], name="call")
        outputs[0].op.attached_rules = [rule]
        return outputs[:n]


class Call:
    """A call of a Defun, as its gradient sees it: an operation whose inputs are the arguments.

    Attributes:
      operation: the operation of the graph that stands for it.
      type: the function's name.
      inputs, outputs: its arguments and results.
    """

    def __init__(self, operation: Operation, outputs, inputs, name):
        self.operation, self.type = operation, name
        self.name, self.graph = operation.name, operation.graph
        self.outputs, self.inputs = outputs, inputs
