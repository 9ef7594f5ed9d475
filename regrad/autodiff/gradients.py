"""`gradients()`: extends a graph by operations that compute derivatives.

One walk, backwards over the operations between xs and ys, newest first. An op is made after its inputs, so descending
creation order is a reverse topological order: no recursion, linear time, and the same result on every run.
"""

import contextlib
import warnings

from regrad.autodiff import forward as forward_mode
from regrad.autodiff.groups import GroupStep, grouped_order
from regrad.autodiff.overrides import OverrideError, View, as_overrides
from regrad.autodiff.partials import Partials, as_accumulation, element
from regrad.autodiff.resolution import REGISTERED, Resolution
from regrad.autodiff.walking import ancestors, in_forward_mode, in_progress
from regrad.core import collecting, gradient_registry, source
from regrad.core.convert import convert_to_tensor
from regrad.core.errors import RegradWarning, RuleError, RuleTypeError, ShapeError
from regrad.core.frames import NameScope
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec, define_op, spec_text
from regrad.core.operation import Operation, Tensor
from regrad.core.shapes import compatible, fully_known
from regrad.ops import array


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
              overrides=None, view=None, known_gradients=None, accumulate=None, through_gradients=True, order=None):
    """Returns the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: tensor or list of tensors to differentiate.
      xs: tensor, variable or list of them; inner tensors of the graph are as good as variables.
      grad_ys: list as long as `ys`: the gradient arriving at each y, of its shape and dtype; None means ones. A
        complex y needs one.
      name: name scope of the operations added.
      colocate_gradients_with_ops: record that what is built for an operation belongs with it.
      gate_gradients, aggregation_method: accepted; without meaning under XLA.
      stop_gradients: tensors through which nothing flows, in this call.
      unconnected_gradients: "none" or "zero": what an x without a path to any y gets.
      overrides: rules for this call only, before all others: {op type, name, pattern, operation, selector: rule}, or a
        list of `Override`s. One that catches nothing is an error.
      view: a `View` whose overrides hold in this call, and whose `grad_ys` are taken where none are given.
      known_gradients: {inner tensor: its gradient}, taken instead of what would arrive there.
      accumulate: {tensor or variable: rule(terms, tensor)}: how gradients add where paths meet, a variable's from all places
        that use it; the key "all" means every tensor. A rule that has nothing to add up is an error.
      through_gradients: False treats what earlier `gradients()` calls made as constant: first-order MAML in one word.
      order: for which differentiation `overrides` hold: 1 where ys are computed without gradients, 2 where gradients are
        differentiated, ...; all by default. A call of another order is an error.

    Returns:
      A list as long as `xs`: a Tensor of the shape and dtype of x, an IndexedSlices (from `gather`), or None.

    Raises:
      LookupError: an op on the path has no gradient rule.
      RuleError, RuleTypeError (ValueError, TypeError): a rule returned the wrong number, dtype, shape or graph.
      OverrideError (ValueError): an override of this call caught no operation, a rule of `accumulate` had nothing to add up,
        or a group leaks.
      TypeError, ValueError: arguments that do not fit together.

    Example:
      x = tf.constant([1.0, -2.0])
      y = tf.reduce_sum(tf.square(x))
      slopes = tf.gradients(y, x)[0]
      halves = tf.gradients(y, x, overrides={"Square": lambda op, dy: dy * op.inputs[0]})[0]
      print(*tf.Session().run([slopes, halves]))
      #> [ 2. -4.] [ 1. -2.]
    """
    ys, xs = as_list(ys), as_list(xs)
    stops = [] if stop_gradients is None else as_list(stop_gradients)
    if unconnected_gradients not in ("none", "zero"):
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}; it is 'none' or 'zero'.")
    if isinstance(grad_ys, dict):
        raise TypeError(f"grad_ys is a list of the gradients that arrive at ys, got {grad_ys!r}; rules are given by name: "
                        "gradients(ys, xs, overrides={...}).")
    if order is not None and not overrides:
        raise ValueError(f"gradients(order={order!r}) says for which differentiation overrides= hold, and none are given.")
    if grad_ys is None and checked_view(view) is not None:
        grad_ys = view.grad_ys
    grad_ys = [None] * len(ys) if grad_ys is None else as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method}: it is one of tf.AggregationMethod.")
    if not ys:
        return [None] * len(xs)
    graph = _graph_of(ys)
    with graph.as_default(), graph.name_scope(name):
        # A Variable as y is what a run reads; as x it stands for its storage and for every read of it.
        ys = [convert_to_tensor(values_of_slices(y), name="y") for y in ys]
        xs, stops = [element(x, "x") for x in xs], [element(s, "stop_gradients") for s in stops]
        for what, tensors in (("ys", ys[1:]), ("xs", xs), ("stop_gradients", stops)):
            for t in tensors:
                check_reachable(graph if what == "ys" else ys[0].graph, t, what)
        accumulate = as_accumulation(accumulate)
        call = as_overrides(overrides, graph, "this call", "all" if order is None else order)
        before, seen = {o: o.caught for o in call}, _caught_by(view)
        options = {"overrides": call, "view": view, "through_gradients": through_gradients, "accumulate": accumulate}
        sums = Partials(accumulate, colocate_gradients_with_ops)
        for t, g in (known_gradients or {}).items():
            sums.know(element(t, "known_gradients"), g)
        for i, (y, dy) in enumerate(zip(ys, grad_ys)):
            sums.add(y, _seed(y, dy, i))
        walks = []
        totals = _totals(graph, ys, xs, stops, sums, options, colocate_gradients_with_ops, walks)
        path = [op for walk in walks for op in walk.path]
        if not isinstance(overrides, Together):
            complain_of_unused("gradients", before, path, [walk.order for walk in walks])
            _warn_of_idle("gradients", view, seen)
        if accumulate and not accumulate.together:
            complain_of_unadded("gradients", accumulate)
        for t in sums.known:
            _check_passed_by(t, sums, path)
        for t in sums.never_asked():
            raise OverrideError(f"gradients(known_gradients=...): {t.name} is not on the way from xs to ys, made at "
                                f"{t.op.location}, so nothing asks for its gradient; known_gradients replace what arrives.")
        if unconnected_gradients == UnconnectedGradients.ZERO:
            totals = [array.zeros_like(_read(x)) if g is None else g for x, g in zip(xs, totals)]
    return totals


def _check_passed_by(t, sums, path):
    """Raises OverrideError for a known gradient of what a function with a gradient of its own computed: it counts already."""
    reached = {t}
    for op in () if t in sums.terms else path:
        if reached.isdisjoint(op.inputs):
            continue
        for rule in op.attached_rules or ():
            if any(op.inputs[i] in reached for i in getattr(rule, "passes_by", ())):
                raise OverrideError(f"gradients(known_gradients=...): no gradient arrives at {t.name}, made at "
                                    f"{t.op.location}: the rule of {op.describe()} goes past it, and stands for the way "
                                    "through it already.")
        reached.update(op.outputs)


class Together(list):
    """Overrides of several calls of `gradients` that are one derivative: each must act in one of them."""


@contextlib.contextmanager
def together(who, ys, options):
    """Context manager for several calls of `gradients` with the same options; complains at the end of what acted in none.

    Yields the options for each call. Around calls that are together already it does nothing.
    """
    overrides, accumulate, order = (options.get(key) for key in ("overrides", "accumulate", "order"))
    accumulate = as_accumulation(accumulate)
    if isinstance(overrides, Together) or accumulate and accumulate.together:
        yield options
        return
    if order is not None and not overrides:
        raise ValueError(f"{who}(order={order!r}) says for which differentiation overrides= hold, and none are given.")
    graph = _graph_of(as_list(ys))
    call = Together(as_overrides(overrides, graph, "this call", "all" if order is None else order))
    before, seen = {o: o.caught for o in call}, _caught_by(options.get("view"))
    if accumulate:
        accumulate.together = True
    yield {**{key: value for key, value in options.items() if key != "order"}, "overrides": call, "accumulate": accumulate}
    complain_of_unused(who, before, None, ())
    _warn_of_idle(who, options.get("view"), seen)
    if accumulate:
        complain_of_unadded(who, accumulate)


def complain_of_unused(who, before, path, orders):
    """Raises OverrideError for an override that has caught nothing.

    Args:
      before: {override: how many operations it had caught before}.
      path, orders: the operations between xs and ys, and of which order the differentiations were; None and () if several.
    """
    for o, caught in before.items():
        if o.caught > caught or o.optional:
            continue
        if orders and not any(map(o.holds, orders)):
            raise OverrideError(f"{who}(overrides=...): {o!r} holds for order {o.order}, but this call is a differentiation of "
                                f"order {orders[0]}: " + ("there is no gradient among what it differentiates." if orders[0] == 1
                                                          else "what it differentiates contains gradients."))
        if path is None:
            raise OverrideError(f"{who}(overrides=...): {o!r} caught no operation, in none of its differentiations.")
        raise OverrideError(f"{who}(overrides=...): {o!r} caught none of the {len(path)} operations between xs and "
                            f"ys{o.missed(path)}")


def _caught_by(view):
    """Returns how many operations the overrides of a view have caught; None where it is no mistake if they catch none."""
    overrides = () if checked_view(view) is None else view.overrides
    return None if all(o.optional for o in overrides) else sum(o.caught for o in overrides)


def _warn_of_idle(who, view, before):
    if before is not None and _caught_by(view) == before:
        warnings.warn(f"{who}(view=...): {view!r} caught no operation between xs and ys: this is the gradient without it.",
                      RegradWarning, stacklevel=source.level())


def complain_of_unadded(who, accumulation):
    for words in accumulation.unused():
        raise OverrideError(f"{who}({words}")


def _totals(graph, ys, xs, stops, sums, options, colocate, walks):
    """Carries `sums` back from `ys` to `xs`; returns the total of each x, or None.

    In the body of a loop or branch the way may lead through captures, into the graphs around it: to a variable from its
    value, to a weight from what was computed of it outside. What the rules build stays in the body.
    """
    home = ys[0].graph
    bridges = _bridges(home, [x for x in xs if x.graph is not home and _reachable(home, x)])
    walk = Walk(graph, ys, [*(x for x in xs if x.graph is home), *bridges], [s for s in stops if s.graph is home], **options)
    walk.colocate = colocate
    walks.append(walk)
    walk.run(sums)
    outside = {}
    for inner, outer in bridges.items():
        if (g := sums.total(inner)) is not None:
            outside.setdefault(outer.graph, []).append((outer, g))
    for arrived in outside.values():
        beyond = Partials(options["accumulate"], colocate)
        for t, g in arrived:
            beyond.add(t, g)
        for x, g in zip(xs, _totals(graph, [t for t, _ in arrived], xs, stops, beyond, options, colocate, walks)):
            if g is not None:
                sums.add(x, g)
    return [sums.total(x) for x in xs]


def _bridges(home, outer_xs):
    """Returns {tensor of `home`: the outer tensor it captures}, for those that are one of `outer_xs` or computed from one."""
    if not outer_xs:
        return {}
    captured = {outer: inner for outer, inner in home.captures.items() if inner.op.type == "FuncInput"}
    consumers, seen, stack, behind = {}, set(), [t.op for t in captured], {}
    while stack:
        op = stack.pop()
        if op not in seen:
            seen.add(op)
            if op.type == "FuncInput" and op.graph not in behind:  # what the inputs of a body between stand for
                behind[op.graph] = {inner.op: outer for outer, inner in op.graph.captures.items()}
            inputs = op.inputs if op.type != "FuncInput" else [t for t in [behind[op.graph].get(op)] if t is not None]
            for t in inputs:
                consumers.setdefault(t.op, []).append(op)
                stack.append(t.op)
    reached, stack = set(), [x.op for x in outer_xs]
    while stack:
        op = stack.pop()
        if op not in reached:
            reached.add(op)
            stack.extend(consumers.get(op, ()))
    return {inner: outer for outer, inner in captured.items() if outer.op in reached}


def checked_view(view):
    if view is not None and not isinstance(view, View):
        raise TypeError(f"gradients: view is a tf.View(name, overrides), got {view!r}.")
    return view


class Walk:
    """The way back from ys to xs: the operations on it, newest first, and the rule of each.

    Attributes:
      path: operations between xs and ys in creation order.
      wanted: the tensors that a gradient is carried to: xs, and what is computed of them on the path.
      known: {tensor: the gradient that is taken there, whatever arrives}.
      order: 1 for a gradient, 2 for a gradient of what `gradients()` made, ...
      resolution: the overrides in force.
    """

    colocate = False  # whether what a rule builds belongs with the operation it differentiates
    complains = True  # whether what has no effect is warned of

    def __init__(self, graph, ys, xs, stops=(), overrides=None, view=None, through_gradients=True, accumulate=None,
                 outer=None):
        """Args: as of `gradients`; outer: the walk whose overrides hold here too, for the inside of a loop or branch."""
        self.graph = graph
        self.accumulate = accumulate
        if outer is not None:
            self.accumulate, through_gradients = outer.accumulate, outer.through_gradients
        self.through_gradients = through_gradients
        behind = ancestors(ys)
        if not through_gradients:
            behind = {op for op in behind if op.forward_op is None}
        ops = sorted(behind, key=_creation)
        view_overrides = () if checked_view(view) is None else view.overrides
        call = as_overrides(overrides, graph, "this call")
        if outer is not None:
            call, view_overrides = outer.resolution.call, outer.resolution.view
        self.resolution = Resolution(call, view_overrides, graph)
        self.crossing = self.resolution.crossing(ops)
        self.stopped = {t.op for t in stops}
        self.wanted = set(xs)
        self.xs, self.ys = xs, ys
        self.known = {}
        self.path = self._path(ops)
        self.order = outer.order if outer is not None else 1 + max(_depths(self.path).values(), default=0)
        self.resolution.bind(self.path, self.order)

    def _path(self, ops):
        """Returns the operations that lead from xs on; what they make becomes `wanted`."""
        path, wanted, stopped, across = [], self.wanted, self.stopped, self.resolution.across(ops)
        for op in ops:
            if op in stopped:
                continue
            for t in op.inputs:
                if t in wanted and (flows(t) or t in across):
                    path.append(op)
                    wanted.update(op.outputs)
                    break
        return path

    def flows(self, t):
        return flows(t) or t in self.crossing

    def run(self, sums):
        """Carries the gradients in `sums` back to the xs, rule by rule."""
        self.known = sums.known
        with collecting.paused(), in_progress(self):
            for op in grouped_order(self, self.resolution.groups(), self.path):
                self.step(op, sums)

    def step(self, op, sums):
        """Applies the rule of one operation (or group) to what has arrived at its outputs."""
        outputs = op.outputs
        if self.accumulate and op.type == "Identity" and self.accumulate.splits(outputs[0], op.inputs[0]):
            for g in sums.terms_at(outputs[0]):
                self._apply(op, outputs, [g], sums)
            return
        out_grads = [sums.total(t) for t in outputs]
        if any(g is not None for g in out_grads):
            self._apply(op, outputs, out_grads, sums)

    def _apply(self, op, outputs, out_grads, sums):
        """Passes what the rule of `op` gives for `out_grads` on to its inputs."""
        graph = self.graph
        frame, first = graph.frame, outputs[0].op
        # A block in force around gradients() is about the forward graph: what rules build is not stamped with it.
        with NameScope(graph, _within(frame, op.name) + "_grad", forward_op=first, made_from=first, override_scope=None,
                       colocation=(first,) if self.colocate else frame.colocation):
            rule, forward = self._rules(op)
            if rule is None and forward is None:  # declared not differentiable: nothing flows on
                return
            if len(outputs) > 1 and not (type(op) is Operation and op.opdef.facts.bodies):
                out_grads = [array.zeros_like(t) if g is None and flows(t) else g for t, g in zip(outputs, out_grads)]
            in_grads = (checked(op, rule, rule.apply(op, out_grads)) if forward is None
                        else forward_mode.replaced(op, forward, out_grads))
        for t, g in zip(op.inputs, in_grads):
            if g is not None and self.flows(t):
                sums.add(t, g)

    def _rules(self, op):
        """Returns (the rule of `op`, the forward rule to use in its place or None)."""
        if isinstance(op, GroupStep):
            op.override.caught += 1
            return op.rule, None
        if not in_forward_mode():
            return self.resolution.rule_for(op), None
        try:
            rule = self.resolution.rule_for(op)
        except LookupError:
            forward = forward_mode.rule_beside(op, None)
            if forward is None:
                raise
            return None, forward
        return rule, forward_mode.rule_beside(op, rule)


def _within(frame, name):
    """Returns how an operation is called in the scope of its gradient: by its own name, but for the scope of a rule around.

    A rule may call `gradients`: without this each level of such calls would double the length of names.
    """
    return name if frame.forward_op is None else name.removeprefix(frame.scope.rpartition("/")[0] + "/")


def _creation(op):
    return op.id


def _depths(ops):
    """Returns, for each of `ops`, how many `gradients()` calls deep it was made; 0 for forward operations."""
    depths = {}
    for op in ops:
        chain = []
        while op is not None and op not in depths:
            chain.append(op)
            op = op.forward_op
        depth = -1 if op is None else depths[op]
        for made in reversed(chain):
            depth += 1
            depths[made] = depth
    return depths


def flows(t):
    """True when a gradient can flow to a tensor of this dtype."""
    return t.dtype._kind in "fc"


def _seed(y, dy, i):
    if dy is None:
        if y.dtype.is_complex:
            raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = tf.{y.dtype.name}): the derivative of "
                            f"{y.name} has no one direction.")
        if not (y.dtype.is_floating or y.dtype.is_integer):
            raise TypeError(f"Tensor {y.name} with type {y.dtype.name} must be numeric to obtain a default gradient.")
        return array.ones_like(y, name=f"grad_ys_{i}")
    if isinstance(dy, IndexedSlices):
        return dy
    dy = convert_to_tensor(dy, dtype=None if hasattr(dy, "dtype") else y.dtype, name=f"grad_ys_{i}")
    if dy.dtype is not y.dtype:
        raise TypeError(f"Gradient type {dy.dtype.name} generated for tensor {y.name} with type {y.dtype.name} must match: "
                        f"grad_ys[{i}] has the dtype of ys[{i}].")
    more = 0 if y.dims is None or dy.dims is None else len(dy.dims) - len(y.dims)
    if more > 0 and set(dy.dims[:more]) == {1}:  # TensorFlow's rules broadcast, and do not see them
        dy = array.squeeze(dy, list(range(more)))
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
                        f"{', '.join(t.name for t in inputs)}.")
    for i, (t, g) in enumerate(zip(inputs, grads)):
        if g is None:
            continue
        if type(g) is not Tensor and not isinstance(g, IndexedSlices):
            try:
                g = grads[i] = convert_to_tensor(g, dtype=None if hasattr(g, "dtype") else t.dtype)
            except (TypeError, ValueError) as error:
                raise RuleTypeError(f"The gradient for input {i} of {op.name} ({op.type}) is no tensor: "
                                    f"{str(error).rstrip('.')}. {_blame(op, rule)}") from None
        if g.graph is not op.graph:
            if isinstance(op.graph, FuncGraph) and op.graph.encloses(g.graph):
                g = grads[i] = op.graph.capture(g)
            elif not (isinstance(g.graph, FuncGraph) and g.graph.encloses(op.graph)):
                raise RuleError(f"The gradient for input {i} of {op.name} ({op.type}), {g.name}, belongs to another graph. "
                                f"{_blame(op, rule)}")
        if g.dtype is not t.dtype and flows(t):
            raise RuleTypeError(f"The gradient for input {i} of {op.name} ({op.type}) has dtype {g.dtype.name}, expected "
                                f"{t.dtype.name}, the dtype of {t.name}. {_blame(op, rule)} "
                                f"tf.cast(g, tf.{t.dtype.name}) converts.")
        if type(g) is Tensor and not (fully_known(g.dims) and fully_known(t.dims)) and rule.why != REGISTERED and (
                compatible(g.dims, t.dims)) and g.graph is get_default_graph() is t.graph:
            g = grads[i] = same_shape_op(g, t)
        if type(g) is Tensor and g.dims != t.dims:
            if not compatible(g.dims, t.dims):
                raise RuleError(
                    "Incompatible shapes between op input and calculated input gradient. Forward operation: "
                    f"{op.name} ({op.type}). Input index: {i}. Original input shape: {t.shape}. Calculated input "
                    f"gradient shape: {g.shape}. {_blame(op, rule)} A gradient has the shape of its input; where "
                    "the op broadcast it, sum over those axes.")
            g.set_shape(t.dims)
    return grads


def _same_shape_infer(gradient, like):
    if not compatible(gradient.dims, like.dims):
        raise ShapeError(f"a rule gave {spec_text(gradient)} as the gradient of an input that is {spec_text(like)}; a gradient "
                         "has the shape of its input: where the op broadcast it, sum over those axes")
    return Spec(gradient.dims if like.dims is None else like.dims, gradient.dtype)


# Shapes that are known at run time only are compared then, when a program is made for them: it costs no run anything.
same_shape_op = define_op("SameShape", "gradient: T, like: L", infer=_same_shape_infer, shape_only=(1,),
                          lower=lambda b, gradient, like: gradient)
gradient_registry.RegisterGradient("SameShape")(lambda op, dy: (dy, None))


def _blame(op, rule):
    return f"Rule: {rule.describe()}. Op made at {op.location}."


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def values_of_slices(y):
    return y.values if isinstance(y, IndexedSlices) else y


def _graph_of(ys):
    """Returns the graph to extend: that of ys, or the body that is being built inside it."""
    graph = element(ys[0], "y").graph
    default = get_default_graph()
    return default if isinstance(default, FuncGraph) and default.encloses(graph) else graph


def _reachable(graph, t):
    return t.graph is graph or isinstance(graph, FuncGraph) and graph.encloses(t.graph)


def check_reachable(graph, t, what):
    if not _reachable(graph, t):
        raise ValueError(f"gradients: {t!r} in {what} belongs to another graph than {'the first of ' * (what == 'ys')}ys.")


def _read(x):
    return array.identity(x) if x.op.opdef.variable else x
