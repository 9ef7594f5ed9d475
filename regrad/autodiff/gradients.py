"""`gradients()`: extends a graph by operations that compute derivatives.

One walk, backwards over the operations between xs and ys, newest first. An op is made after its inputs, so descending
creation order is a reverse topological order: no recursion, linear time, and the same result on every run.
"""

from regrad.autodiff import overrides as rules
from regrad.core import source
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import GradientError, RuleError, RuleTypeError
from regrad.core.graph import FuncGraph, Operation, Tensor
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import spec_text
from regrad.core.shapes import compatible
from regrad.ops import array, math
from regrad.ops.indexing import join_slices


class UnconnectedGradients:
    """What `gradients` gives for an x that no path leads to: `NONE` or `ZERO`."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How terms are added; all give the same sum here, and are accepted for TF's sake."""

    ADD_N = 0
    DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False,
              aggregation_method=None, stop_gradients=None, unconnected_gradients=UnconnectedGradients.NONE,
              overrides=None):  # fmt: skip
    """Returns the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: tensor or list of tensors to differentiate.
      xs: tensor, variable or list of them; inner tensors of the graph are as good as variables.
      grad_ys: list as long as `ys`: the gradient arriving at each y, of its shape and dtype; None means ones. A
        complex y needs one.
      name: name scope of the operations added.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: accepted; without meaning under XLA.
      stop_gradients: tensors through which nothing flows, in this call.
      unconnected_gradients: "none" or "zero": what an x without a path to any y gets.
      overrides: rules for this call only, before all others; a dict of op type, operation or name to a rule (a function
        `rule(op, *grads)` or the name of a registered one).

    Returns:
      A list as long as `xs`: a Tensor of the shape and dtype of x, an IndexedSlices (from `gather`), or None.

    Raises:
      LookupError: an op on the path has no gradient rule.
      RuleError, RuleTypeError (ValueError, TypeError): a rule returned the wrong number, dtype, shape or graph.
      TypeError, ValueError: arguments that do not fit together.
    """
    ys, xs = _as_list(ys), _as_list(xs)
    stops = [] if stop_gradients is None else _as_list(stop_gradients)
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; it is 'none' or 'zero'.")
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    if not ys:
        raise ValueError("gradients: ys is empty.")
    graph = _element(ys[0], "y").graph
    with graph.as_default(), graph.name_scope(name):
        # A Variable as y is what a run reads; as x it stands for its storage and for every read of it.
        ys = [convert_to_tensor(_sparse_values(y), name="y") for y in ys]
        xs = [_element(x, "x") for x in xs]
        stops = [_element(s, "stop_gradients") for s in stops]
        for x in xs:
            if x.graph is not graph:
                raise ValueError(f"gradients: {x!r} belongs to another graph than ys.")
        sums = Partials()
        for i, (y, dy) in enumerate(zip(ys, grad_ys)):
            sums.add(y, _seed(y, dy, i))
        with rules.call_overrides(overrides, graph) as call:
            walk(graph, ys, xs, stops, sums, call)
        totals = [sums.total(x) for x in xs]
        if unconnected_gradients == UnconnectedGradients.ZERO:
            totals = [array.zeros_like(_read(x)) if g is None else g for x, g in zip(xs, totals)]
    return totals


def walk(graph, ys, xs, stops, sums, call):
    """Carries the gradients in `sums` from `ys` back to `xs`, rule by rule."""
    for op in backward_order(ys, xs, stops):
        outputs = op.outputs
        if len(outputs) == 1:
            out_grads = [sums.total(outputs[0])]
            if out_grads[0] is None:
                continue
        else:
            out_grads = [sums.total(t) for t in outputs]
            if all(g is None for g in out_grads):
                continue
        forward_op, graph._forward_op = graph._forward_op, op
        try:
            with graph.name_scope(op.name + "_grad"):
                rule = rules.resolve(op, call)
                if rule is None:  # declared not differentiable: nothing flows on
                    continue
                if len(outputs) > 1:
                    out_grads = [array.zeros_like(t) if g is None and flows(t) else g
                                 for t, g in zip(outputs, out_grads)]  # fmt: skip
                in_grads = checked(op, rule, rule.apply(op, out_grads))
        finally:
            graph._forward_op = forward_op
        for t, g in zip(op.inputs, in_grads):
            if g is not None and flows(t):
                sums.add(t, g)


def backward_order(ys, xs, stops):
    """Returns the operations on a path from some x to some y, newest first."""
    ancestors = _ancestors(ys)
    stopped = {t.op for t in stops}
    wanted = set(xs)
    path = []
    for op in sorted(ancestors, key=_creation):
        if op in stopped:
            continue
        for t in op.inputs:
            if t in wanted and flows(t):
                path.append(op)
                wanted.update(op.outputs)
                break
    path.reverse()
    return path


def _creation(op):
    return op.id


def _ancestors(tensors):
    seen = {t.op for t in tensors}
    stack = list(seen)
    while stack:
        for t in stack.pop().inputs:
            op = t.op
            if op not in seen:
                seen.add(op)
                stack.append(op)
    return seen


def flows(t):
    """True when a gradient can flow to a tensor of this dtype."""
    return t.dtype._kind in "fc"


class Partials:
    """The terms of each tensor's gradient, summed once, when they are asked for."""

    def __init__(self):
        self.terms = {}

    def add(self, tensor, gradient):
        self.terms.setdefault(tensor, []).append(gradient)

    def total(self, tensor):
        """Returns the sum of the terms, or None when there are none; slices alone stay slices."""
        terms = self.terms.get(tensor)
        if terms is None:
            return None
        if len(terms) > 1:
            if all(isinstance(g, IndexedSlices) for g in terms):
                total = join_slices(terms)
            else:
                total = math.addn_op([convert_to_tensor(g) for g in terms])
            self.terms[tensor] = terms = [total]
        return terms[0]


def _seed(y, dy, i):
    if dy is None:
        if y.dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype.name}): the derivative of "
                            f"{y.name} has no one direction.")  # fmt: skip
        return array.ones_like(y, name=f"grad_ys_{i}")
    if isinstance(dy, IndexedSlices):
        return dy
    dy = convert_to_tensor(dy, dtype=None if hasattr(dy, "dtype") else y.dtype, name=f"grad_ys_{i}")
    if dy.dtype is not y.dtype:
        raise TypeError(f"Gradient type {dy.dtype.name} generated for tensor {y.name} with type {y.dtype.name} must match: "
                        f"grad_ys[{i}] has the dtype of ys[{i}].")  # fmt: skip
    if not compatible(dy.dims, y.dims):
        raise ValueError(f"grad_ys[{i}] is {spec_text(dy)}, but ys[{i}] ({y.name}) is {spec_text(y)}.")
    return dy


def checked(op, rule, returned):
    """Returns a rule's result as a list of one gradient per input, or raises at once what is wrong with it."""
    grads = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    inputs = op.inputs
    if len(grads) != len(inputs):
        raise RuleError(f"Num gradients {len(grads)} generated for op {op.name} ({op.type}) do not match num inputs "
                        f"{len(inputs)}. {_blame(op, rule)} A rule returns one gradient, or None, for each input: "
                        f"{', '.join(t.name for t in inputs)}.")  # fmt: skip
    for i, (t, g) in enumerate(zip(inputs, grads)):
        if g is None:
            continue
        if type(g) is not Tensor and not isinstance(g, IndexedSlices):
            try:
                g = grads[i] = convert_to_tensor(g, dtype=None if hasattr(g, "dtype") else t.dtype)
            except (TypeError, ValueError) as error:
                raise RuleTypeError(f"The gradient for input {i} of {op.name} ({op.type}) is no tensor: {error}. "
                                    f"{_blame(op, rule)}") from None  # fmt: skip
        if g.graph is not op.graph:
            if isinstance(op.graph, FuncGraph) and op.graph.encloses(g.graph):
                g = grads[i] = op.graph.capture(g)
            elif not (isinstance(g.graph, FuncGraph) and g.graph.encloses(op.graph)):
                raise RuleError(f"The gradient for input {i} of {op.name} ({op.type}), {g.name}, belongs to another graph. "
                                f"{_blame(op, rule)}")  # fmt: skip
        if g.dtype is not t.dtype and flows(t):
            raise RuleTypeError(f"The gradient for input {i} of {op.name} ({op.type}) has dtype {g.dtype.name}, expected "
                                f"{t.dtype.name}, the dtype of {t.name}. {_blame(op, rule)} "
                                f"tf.cast(g, tf.{t.dtype.name}) converts.")  # fmt: skip
        if type(g) is Tensor and g.dims != t.dims:
            if not compatible(g.dims, t.dims):
                raise RuleError(
                    "Incompatible shapes between op input and calculated input gradient. Forward operation: "
                    f"{op.name} ({op.type}). Input index: {i}. Original input shape: {t.shape}. Calculated input "
                    f"gradient shape: {g.shape}. {_blame(op, rule)} A gradient has the shape of its input; where "
                    "the op broadcast it, sum over those axes.")  # fmt: skip
            g.set_shape(t.dims)
    return grads


def _blame(op, rule):
    return f"Rule: {rule.describe()}. Op made at {op.location}."


def _as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _sparse_values(y):
    return y.values if isinstance(y, IndexedSlices) else y


def _element(x, what):
    """Returns the tensor that a variable, slices or a tensor stands for in a walk."""
    if isinstance(x, IndexedSlices):
        return x.values
    if isinstance(x, Tensor):
        return x
    handle = getattr(x, "_gradient_handle", None)  # a Variable: its storage, which all reads of it start from
    if handle is not None:
        return handle()
    if isinstance(x, Operation) or x is None:
        raise TypeError(f"gradients: {what} must be a tensor or variable, got {x!r}.")
    return convert_to_tensor(x, name=what)


def _read(x):
    return array.identity(x) if x.op.opdef.variable else x


def missing_rule(op, detail=""):
    """Returns the error for an op on the path that no rule differentiates."""
    return GradientError(
        f"No gradient defined for operation '{op.name}' (op type: {op.type}){detail}; made at {op.location}. Either "
        f'register a rule, @tf.RegisterGradient("{op.type}"), give one to this call, gradients(..., '
        f'overrides={{"{op.type}": rule}}), or cut the path with tf.stop_gradient; gradients() was called at '
        f"{source.here()}."
    )
