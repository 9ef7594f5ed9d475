"""`Defun`: TensorFlow 1's function with a gradient of its own, from `tensorflow.python.framework.function`."""

import functools
import inspect
import re
from types import SimpleNamespace

from regrad.core import nest, source
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.errors import InvalidArgumentError
from regrad.core.graph import get_default_graph
from regrad.core.opdef import Spec
from regrad.core.operation import UNASKED, Operation, Tensor
from regrad.core.traversal import needed
from regrad.ops.array import identityn_op, unasked_identity, zeros_like
from regrad.ops.control import group


class Defun:
    """Decorator that makes a Python function of tensors a function of the graph, with a gradient of its own if it has one.

        @function.Defun(tf.float32, python_grad_func=lambda op, dy: dy)
        def quantize(x):
            return tf.round(x)

    The operations of the body stand in the graph where the function is called, in a name scope of the function's name; an
    operation of that name gives the results.

    Args:
      input_types: the dtype of each argument; none at all takes them as they come.
      func_name: the name of the function, and of its calls.
      python_grad_func: rule `python_grad_func(call, *output_gradients)`; `call.inputs` and `call.outputs` are the tensors
        of the call. It returns one gradient per argument, as a rule for `RegisterGradient` does.
      grad_func: another such function, called with the arguments and then the gradients of the outputs.
      shape_func: `shape_func(call)` -> list of shapes of the outputs.
      out_names: names of the results, as many as there are.
      options: `capture_by_value`, `noinline` and others: accepted.

    Raises:
      ValueError: both gradients are given; the function has defaults or keyword arguments, another number of arguments than
        of types, or returns None among tensors; a call has the wrong number of arguments, or keywords other than `name`.
      TypeError: (a call) an argument has another dtype.
      InvalidArgumentError: (a call) the number of `out_names` is not that of the results.
    """

    def __init__(self, *input_types, func_name=None, grad_func=None, python_grad_func=None, out_names=None, shape_func=None,
                 **options):
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("Gradient defined twice: Defun takes grad_func or python_grad_func, not both.")
        self._types = [as_dtype(t) for t in input_types]
        self._settings = {"func_name": func_name, "grad_func": grad_func, "python_grad_func": python_grad_func,
                          "out_names": out_names, "shape_func": shape_func, "options": options}

    def __call__(self, func):
        if not callable(func):
            raise ValueError(f"function {func!r} must be callable")
        parameters = inspect.signature(func).parameters.values()
        if any(p.kind in (p.VAR_KEYWORD, p.KEYWORD_ONLY) or p.default is not p.empty for p in parameters):
            raise ValueError("Functions with argument defaults or keyword arguments are not supported: "
                             f"{source.of_function(func)}.")
        takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        wanted = len(parameters) - takes_more
        if self._types and len(self._types) != wanted and not (takes_more and len(self._types) > wanted):
            raise ValueError("Defun: the number of specified input types is not that of the function's arguments: "
                             f"{source.of_function(func)} takes {wanted} arguments, but {len(self._types)} types are given.")
        typed = self._types or not parameters
        return _DefinedFunction(func, self._types if typed else None, **self._settings)


class _DefinedFunction:
    """What `Defun` makes of a Python function.

    Attributes:
      name: the function's name.
      declared_input_types: the dtypes it was declared for; None if it takes its arguments as they come.
      python_grad_func, grad_func: its gradient, where it has one.
    """

    def __init__(self, func, types, func_name, grad_func, python_grad_func, out_names, shape_func, options):
        functools.update_wrapper(self, func)
        self.name = func_name or re.sub(r"[^\w.-]", "", getattr(func, "__name__", "function"))
        self.declared_input_types = types
        self.python_grad_func, self.grad_func = python_grad_func, grad_func
        self._func, self._out_names, self._shape_func, self._options = func, out_names, shape_func, options
        self._scopes = {}  # root graph -> the variable scope of the first call: every call shares its variables

    @property
    def grad_func_name(self):
        return None if self.grad_func is None else self.grad_func.name

    def add_to_graph(self, graph):
        """Accepted: calls build their operations where they stand."""

    def __call__(self, *args, name=None, **unknown):
        if unknown:
            raise ValueError(f"{self.name}: Unknown keyword arguments: {sorted(unknown)}.")
        types = self.declared_input_types if self.declared_input_types is not None else [None] * len(args)
        if len(args) != len(types):
            raise ValueError(f"{self.name}: Expected number of arguments: {len(types)}, received: {len(args)}")
        given = [convert_to_tensor(x, dtype=None if hasattr(x, "dtype") else t) for x, t in zip(args, types)]
        for i, (x, t) in enumerate(zip(given, types)):
            if t is not None and x.dtype is not t:
                raise TypeError(f"{self.name}: argument {i} is {x.dtype.name}, expected {t.name}; the function is at "
                                f"{source.of_function(self._func)}.")
        graph = get_default_graph()
        _functions(graph)[self.name] = self
        with graph.name_scope(name or self.name) as scope:
            inputs = [unasked_identity(x) for x in given]
            made_before = len(graph._ops)
            returned = self._body(inputs)
            results = self._results(returned)
            if not results:
                effects = [op for op in graph._ops[made_before:] if op.opdef.stateful and not op.opdef.variable]
                return group(*effects, name=scope)
            outputs = self._outputs(results, inputs, given, scope)
            if self._shape_func is not None:
                for t, shape in zip(outputs, self._shape_func(Call(outputs[0].op, outputs, given, self.name))):
                    t.set_shape(shape)
        return tuple(outputs) if len(outputs) > 1 else outputs[0]

    def _body(self, inputs):
        """Returns what the function gives for `inputs`; its variables are those of its first call."""
        from regrad.variables.scope import AUTO_REUSE, get_variable_scope, variable_scope_only

        here = get_variable_scope()
        first = _scopes(get_default_graph().root).setdefault(self, here)
        if first.name == here.name:
            return self._func(*inputs)
        with variable_scope_only(first, AUTO_REUSE, None):
            return self._func(*inputs)

    def _results(self, returned):
        leaves = [] if returned is None else nest.flatten(returned)
        if None in leaves:
            raise ValueError(f"Function can not return None: {source.of_function(self._func)} returned {returned!r}.")
        if self._out_names and len(self._out_names) != len(leaves):
            raise InvalidArgumentError(f"{self.name}: output names must be either empty or equal in size to outputs. output "
                                       f"names size = {len(self._out_names)} outputs size = {len(leaves)}")
        return [convert_to_tensor(r) for r in leaves]

    def _outputs(self, results, inputs, arguments, scope):
        """Returns the results of a call, given by an operation that has the function's gradient."""
        n = len(results)
        if self.python_grad_func is None and self.grad_func is None:
            # TensorFlow's gradient of a call is zero, not None, by an argument that the results do not depend on.
            reached = needed(results)
            used = {*results, *(t for op in reached for t in op.inputs)}
            idle = [x for x in inputs if x.dtype.is_floating and x not in used]
            outputs = identityn_op([*results, *idle], name=scope)
            outputs[0].op.attrs = UNASKED
            if idle:
                def pass_on(op, *dys):
                    return [*dys[:n], *map(zeros_like, op.inputs[n:])]

                outputs[0].op.attached_rules = [pass_on]
            return outputs[:n]

        def rule(op, *dys):
            given = dys[:n]
            if self.grad_func is not None:
                grads = self.grad_func(*op.inputs[n:], *given)
            else:
                grads = self.python_grad_func(Call(op, op.outputs[:n], op.inputs[n:], self.name), *given)
            grads = list(grads) if isinstance(grads, (list, tuple)) else [grads]
            if self.grad_func is not None and len(grads) != len(arguments):
                raise InvalidArgumentError(f"SymGrad expects to return {len(arguments)} gradients, one for each argument of "
                                           f"{self.name}, but get {len(grads)} instead: its grad_func is "
                                           f"{self.grad_func.name}.")
            return [None] * n + grads

        rule.passes_by = range(n)  # what the function computed: the rule stands for the way through it
        rule.__name__ = getattr(self.python_grad_func or self.grad_func, "__name__", self.name)
        rule.__wrapped__ = self.python_grad_func or getattr(self.grad_func, "__wrapped__", self.grad_func)
        outputs = identityn_op([*results, *arguments], name=scope)
        outputs[0].op.attrs = UNASKED  # its type is the function's name, as it is in TensorFlow
        outputs[0].op.attached_rules = [rule]
        return outputs[:n]

    # -- what the body is, without a call ---------------------------------------------

    @functools.cached_property
    def _graph(self):
        """The body as a graph of its own, with inputs of unknown shape."""
        from regrad.ops.flow import trace

        if self.declared_input_types is None:
            raise ValueError(f"{self.name}: without declared argument types it has a body only where it is called.")
        specs = [Spec(None, t) for t in self.declared_input_types]
        graph, returned = trace(self.name, self._func, specs)
        with graph.as_default():
            self._results(returned)
        return graph

    @property
    def captured_inputs(self):
        """The tensors of the graph around it that the body uses; none for `capture_by_value`."""
        return [] if self._options.get("capture_by_value") else list(self._graph.outer_inputs)

    @property
    def stateful_ops(self):
        """(name, type) of the body's operations that do more than compute."""
        return [(op.name, op.type) for op in self._graph._ops
                if (op.opdef.stateful or op.opdef.random) and op.type != "FuncInput"]

    @property
    def definition(self):
        """The function's `signature` (name, description, is_stateful) and `node_def`, as in TensorFlow's FunctionDef."""
        signature = SimpleNamespace(name=self.name, description=self._func.__doc__ or "", is_stateful=bool(self.stateful_ops))
        return SimpleNamespace(signature=signature, node_def=[op.node_def for op in self._graph._ops])


def _functions(graph):
    """Returns the functions that were called in `graph`, by name."""
    return graph.__dict__.setdefault("_defined_functions", {})


def _scopes(graph):
    return graph.__dict__.setdefault("_function_scopes", {})


def symbolic_gradient(input, Tout, f, name=None):
    """Returns the gradients of a function by its arguments, for given arguments and gradients of its results.

    Args:
      input: the arguments, then one gradient per result.
      Tout: the dtypes of the arguments: as many gradients come back.
      f: what `Defun` made, or the name of one that was called in the graph.

    Raises:
      ValueError: no function of that name was called.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "SymbolicGradient"):
        if isinstance(f, str):
            found = next((_functions(g)[f] for g in graph.outwards() if f in _functions(g)), None)
            if found is None:
                raise ValueError(f"symbolic_gradient: no function {f!r} was called in this graph.")
            f = found
        from regrad.autodiff.walking import inner_gradients

        xs = [convert_to_tensor(x) for x in input[:len(Tout)]]
        returned = f(*xs)
        ys = [returned] if isinstance(returned, Tensor) else list(returned)
        grads = inner_gradients(ys, xs, [convert_to_tensor(dy) for dy in input[len(Tout):]])
        return [zeros_like(x) if g is None else g for x, g in zip(xs, grads)]


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
