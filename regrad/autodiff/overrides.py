"""Which rule differentiates an operation: the one order in which rules are looked for.

1. `overrides=` of this `gradients()` call,
2. `with overriding(...)` blocks around the call, innermost first,
3. the view the call is made for,
4. the `gradient_override_map` blocks in force when the op was made, innermost first (TF1's meaning),
5. rules attached to the op after it was made, latest first,
6. rules of the graph, latest first,
7. the registry, under the op's type.

Rules are bound when gradients are built. A rule that takes `default` is given the next one down this list.
"""

import functools
import threading
import warnings

from regrad.autodiff import rules as rules_
from regrad.autodiff.selectors import Copies, Group, as_selector
from regrad.core import gradient_registry, source
from regrad.core.graph import Block, OverrideScope, RegradWarning, get_default_graph, operations_within


class OverrideError(ValueError):
    """An override that can never apply, or that applied to nothing."""


class Override:
    """A selector, the rule for what it means, and for which orders of differentiation it holds.

    Attributes:
      selector: which operations.
      rule: a function `rule(op, *grads)`, a Rule or Transform, or the name of a registered rule.
      order: "all", or the number of the differentiation it holds for: 1 for gradients, 2 for gradients of gradients.
      where: the line that made it.
      caught: how many operations it has differentiated so far.
      asked: whether any gradients were built while its block was open.
      optional: it may catch nothing without complaint: part of a preset that covers more than this graph has.
    """

    def __init__(self, selector, rule, order="all", layer="override", graph=None, optional=False):
        self.selector = as_selector(selector, graph)
        if not callable(rule) and not isinstance(rule, str):
            raise TypeError(f"An override's rule is a function rule(op, *grads) or the name of a registered one, got {rule!r}."
                            + (" rules.stop() lets nothing through." if rule is None else ""))
        if getattr(rule, "makes_rules", False):
            raise TypeError(f"rules.{rule.__name__} is no rule, but makes one: rules.{rule.__name__}(...).")
        if order != "all" and not (isinstance(order, int) and order >= 1):
            raise ValueError(f"order is 'all', 1, 2 ..., got {order!r}.")
        self.rule = rule
        self.order = order
        self.layer = layer
        self.optional = optional
        self.where = source.here()
        self.caught = 0
        self.asked = False

    def holds(self, order):
        return self.order == "all" or self.order == order

    def missed(self, path):
        """Returns words on why it caught nothing on a path of operations, for the error."""
        picked = self.selector.pick(path)
        meant = next((op for op in path if op in picked), None)
        if meant is None:
            return self.selector.hint(path)
        dtype = meant.outputs[0].dtype if meant.outputs else None
        if dtype is not None and dtype._kind not in "fc":
            return (f"; {meant.describe()} is meant, but it gives {dtype.name}, which carries no gradient: tf.bridge(selector, "
                    "rule) declares one across all operations on the way that take or give such tensors")
        return (f"; {meant.describe()} is meant, but no gradient arrives there: the rule of what takes its output goes past "
                "it, as those of custom_gradient, recompute_grad and groups do, or the path is cut")

    def moved(self, made):
        """Returns the Override that holds for copies of operations as this one does for the originals.

        Args:
          made: {original: copy}.
        """
        selector = self.selector
        if isinstance(selector, Group):
            copies = {t: c for op, copy in made.items() for t, c in zip(op.outputs, copy.outputs)}
            inputs, outputs = ([copies.get(t, t) for t in ts] for ts in (selector.inputs, selector.outputs))
            selector = Group(inputs, outputs, selector.name)
        else:
            selector = Copies(selector, made)
        new = type(self)(selector, self.rule, self.order, self.layer, optional=self.optional)
        new.where = self.where
        return new

    def __repr__(self):
        order = "" if self.order == "all" else f", order={self.order}"
        return f"<{self.selector!r} -> {rules_.rule_name(self.rule)}{order}, {self.layer} at {self.where}>"


class Bridge(Override):
    """An override that also lets gradients cross tensors of integer, bool or string type at the operations it means.

    The rule gets and returns gradients of whatever real dtype it chooses.
    """


def bridge(selector, rule, order="all"):
    """Returns a Bridge: a declared derivative across operations that have none (look-ups, argmax, host functions)."""
    return Bridge(selector, rule, order, "bridge")


def as_overrides(given, graph=None, layer="override", order="all"):
    """Returns a list of Overrides for a dict {key: rule}, a list of pairs or Overrides, a View, or None."""
    if not given:
        return []
    given = given.overrides if isinstance(given, View) else given
    items = list(given.items() if isinstance(given, dict) else given) if hasattr(given, "__iter__") else [given]
    if not all(isinstance(i, Override) or isinstance(i, tuple) and len(i) in (2, 3) for i in items):
        raise TypeError("Overrides are a dict {op type, name, pattern, operation or selector: rule}, or a list of pairs (key, "
                        f"rule); got {given!r:.200}.")
    return [i if isinstance(i, Override) else Override(i[0], i[1], i[2] if len(i) > 2 else order, layer, graph)
            for i in items]


# -- bound rules --------------------------------------------------------------------------------


REGISTERED = "registered for the op type"


class BoundRule:
    """A rule found for an op, and why it is the one.

    Attributes:
      function: the rule.
      name: the name it was found under.
      why: words, such as "gradient_override_map at train.py:12".
      override: the Override or the block of gradient_override_map it came from, or None.
      below: function that returns the BoundRule this one replaces (None: nothing flows).
    """

    __slots__ = ("function", "name", "why", "override", "below")

    def __init__(self, function, name, why, override=None, below=None):
        self.function = function
        self.name = name
        self.why = why
        self.override = override
        self.below = below

    def apply(self, op, grads):
        try:
            if self.below is None or not rules_.takes_default(self.function):
                return self.function(op, *grads)
            return self.function(op, *grads, default=self._default(op, grads))
        except Exception as error:
            self._explain(error, op, grads)
            raise

    def _explain(self, error, op, grads):
        """Adds to an exception of the rule where it came from, and how rules are called if this one was not made for that."""
        notes = getattr(error, "__notes__", ())
        note = f"in the gradient rule {self.name!r} ({self.why}) of {op.describe()}"
        if note in notes or notes and isinstance(error, RecursionError):  # which hundreds of rules would add to
            return
        if source.misfit(error):
            error.add_note("A gradient rule is called as rule(op, *gradients), with the operation and the gradients of its "
                           f"outputs; here {1 + len(grads)} arguments.")
        error.add_note(note)

    def _default(self, op, given):
        def default(*grads):
            """Returns the gradients this op would have had, for the arriving ones or for `grads`."""
            if grads and len(grads) != len(op.outputs):
                raise TypeError(f"default() takes the arriving gradients, or one gradient for each of the {len(op.outputs)} "
                                f"outputs of {op.name!r}; got {len(grads)}.")
            rule = self.below()
            return [None] * len(op.inputs) if rule is None else rules_.as_grads(rule.apply(op, list(grads or given)))

        return default

    @property
    def where(self):
        return source.of_function(getattr(self.function, "function", self.function))

    def describe(self):
        return f"{self.name!r} at {self.where} ({self.why})"


class Resolution:
    """The rules in force for one walk: every layer's overrides, each selector evaluated once on the path."""

    def __init__(self, call=(), view=(), graph=None):
        self.call = list(call)
        self.blocks = [o for block in reversed(_blocks.items) for o in block]
        for override in self.blocks:
            override.asked = True
        self.view = list(view)
        self.graph_rules = list(reversed(graph.gradient_rules)) if graph is not None else []
        self.all = [*self.call, *self.blocks, *self.view, *self.graph_rules]
        self.order = 1
        self.upper, self.lower = {}, {}

    def crossing(self, ops):
        """Returns the tensors that carry gradients although their dtype has none: those at declared bridges."""
        tensors = set()
        for override in self.all:
            if isinstance(override, Bridge):
                for op in override.selector.pick(ops):
                    tensors.update(op.outputs)
                    tensors.update(op.inputs)
        return tensors

    def bind(self, ops, order):
        """Evaluates the selectors on `ops`, the path in creation order, for differentiation number `order`."""
        self.order = order
        upper = [(o, "this call") for o in self.call] + [(o, "overriding block") for o in self.blocks]
        self.upper = self._by_op(upper + [(o, "view") for o in self.view], ops)
        self.lower = self._by_op([(o, "graph") for o in self.graph_rules], ops)
        return self

    def _by_op(self, overrides, ops):
        by_op = {}
        for override, layer in overrides:
            if isinstance(override.selector, Group) or not override.holds(self.order):
                continue
            for op in override.selector.pick(ops):
                by_op.setdefault(op, []).append((override, layer))
        return by_op

    def groups(self):
        """Returns the (Group, Override) pairs in force."""
        return [(o.selector, o) for o in self.all if isinstance(o.selector, Group) and o.holds(self.order)]

    def candidates(self, op):
        """Yields (rule or name, why, Override, block or None) for `op`, first the one that counts, the registry last."""
        for override, layer in self.upper.get(op, ()):
            yield override.rule, f"{layer}: {override.selector!r} at {override.where}", override
        scope = op.override_scope
        if scope is not None:
            block = scope.block_for(op.opdef.type)
            while block is not None:
                yield block.mapping[op.opdef.type], f"gradient_override_map at {block.where}", block
                block = block.parent.block_for(op.opdef.type) if block.parent is not None else None
        attr = op.attrs.get("_gradient_op_type")
        if attr is not None:
            yield attr.decode() if isinstance(attr, bytes) else attr, "the op's _gradient_op_type", None
        for attached in reversed(op.attached_rules or ()):
            if isinstance(attached, Override):
                if attached.holds(self.order):
                    yield attached.rule, f"attached at {attached.where}", attached
            else:
                yield attached, "given with the op", None
        for override, _ in self.lower.get(op, ()):
            yield override.rule, f"rule of the graph: {override.selector!r} at {override.where}", override

    def rule_for(self, op):
        """Returns the BoundRule for `op`, or None when it is declared not differentiable.

        Raises:
          LookupError: there is no rule; the message names the op, the name looked for, and the remedies.
        """
        if (not self.upper and not self.lower and op.override_scope is None and op.attached_rules is None
                and "_gradient_op_type" not in op.attrs):
            return _registered(op)
        return self._bind(op, self.candidates(op))

    def _bind(self, op, candidates):
        rule = self._first(op, candidates)
        if rule is not None and rule.override is not None:
            if type(rule.override) is OverrideScope:
                rule.override.used += 1
            else:
                rule.override.caught += 1
        return rule

    def _first(self, op, candidates):
        for rule, why, override in candidates:
            if callable(rule):
                name = rules_.rule_name(rule)
            else:
                found = gradient_registry.find(rule)
                if found is None:
                    from regrad.autodiff.gradients import missing_rule

                    raise missing_rule(op, f": its rule is overridden to {rule!r} ({why}), a name that was never "
                                           f"registered{gradient_registry.suggest(rule)}", name=rule)
                if found.function is None:
                    return None
                found.used += 1
                name, rule = found.name, found.function
            return BoundRule(rule, name, why, override, functools.partial(self._bind_rest, op, list(candidates)))
        return _registered(op)

    def _bind_rest(self, op, candidates):
        return self._bind(op, iter(candidates))

    def check_used(self):
        """Raises OverrideError for an override of this call that caught nothing on the path."""
        for override in self.call:
            if not override.caught and not override.optional and override.holds(self.order):
                yield override


def _registered(op):
    found = gradient_registry.find(op.opdef.type)
    if found is None:
        from regrad.autodiff.gradients import missing_rule

        raise missing_rule(op)
    if found.function is None:
        return None
    found.used += 1
    return BoundRule(found.function, found.name, REGISTERED)


def get_gradient_function(op):
    """Returns the rule that would differentiate `op` now, a BoundRule with its name, place and reason; None if declared
    not differentiable.

    Raises:
      LookupError: there is none.
    """
    return Resolution(graph=op.graph).bind([op], 1).rule_for(op)


# -- ways to put a rule somewhere -------------------------------------------------------------------


class _Blocks(threading.local):
    def __init__(self):
        self.items = []


_blocks = _Blocks()


class overriding(Block):
    """Context manager: overrides for every `gradients()` call inside the block, those of optimizers and libraries too.

        with tf.overriding({"Relu": guided}):
            train = optimizer.minimize(loss)

    Args:
      overrides: {op type, name, pattern or selector: rule}.
      order: "all", 1, 2 ...: the order of differentiation they hold for.

    Warns (RegradWarning) on leaving when an override caught nothing.
    """

    def __init__(self, overrides, order="all"):
        self.overrides = as_overrides(overrides, get_default_graph(), "overriding block", order)
        self._waits("tf.overriding")

    def __enter__(self):
        self.waiting = None
        _blocks.items.append(self.overrides)
        return self.overrides

    def __exit__(self, kind, *_):
        _blocks.items.remove(self.overrides)
        if kind is None:
            for o in self.overrides:
                if not o.caught and not o.optional:
                    why = ("caught no operation of what was differentiated in this block" if o.asked else
                           "caught nothing: no gradients() or minimize() was called in this block. It covers such calls, "
                           "whenever their operations were made; graph.gradient_override_map covers the operations made in a "
                           "block, whenever they are differentiated")
                    warnings.warn(f"overriding: {o!r} {why}.", RegradWarning, stacklevel=2)


def attach(selector, rule, graph=None, order="all"):
    """Gives operations that exist another rule, from now on.

    Args:
      selector: op type, name, pattern, operation, tensor or selector.
      rule: the rule, or a registered name.
      graph: the default graph by default.
      order: "all", 1, 2 ...

    Returns:
      A handle: `handle.ops` are the operations, `handle.detach()` takes the rule off again.

    Raises:
      OverrideError: (a ValueError) the selector means no operation of the graph; the message has what is there.
    """
    graph = graph or _graph_of(selector)
    override = Override(selector, rule, order, "attached", graph)
    ops = override.selector.select(graph)
    if not ops:
        there = operations_within(graph)
        raise OverrideError(f"attach: {override.selector!r} matches none of the {len(there)} operations of the graph"
                            f"{override.selector.hint(there)}")
    for op in ops:
        op.attached_rules = [*(op.attached_rules or ()), override]
    return Attached(override, ops)


def _graph_of(selector):
    graph = getattr(selector, "graph", None)
    return graph if graph is not None else get_default_graph()


class Attached:
    """Rules attached to operations; also a context manager that detaches at its end."""

    def __init__(self, override, ops):
        self.override = override
        self.ops = ops

    def detach(self):
        """Takes the rule off the operations."""
        for op in self.ops:
            left = [r for r in op.attached_rules or () if r is not self.override]
            op.attached_rules = left or None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.detach()


def set_graph_rule(selector, rule, graph=None, order="all"):
    """Gives a whole graph a rule, for operations that exist and those to come; returns a handle with `remove()`."""
    graph = graph or get_default_graph()
    override = Override(selector, rule, order, "rule of the graph", graph)
    graph.gradient_rules.append(override)
    return GraphRule(graph, override)


def grouped(rule, name=None, order="all"):
    """Decorator: what the function builds is differentiated by one rule as a unit, each call of it.

        @tf.grouped(lambda group, dy, default: [tf.clip_by_norm(g, 1.0) for g in default()])
        def block(x, w):
            return tf.tanh(tf.matmul(x, w))

    Unlike `custom_gradient`, the rule may ask for the gradient of the inside, and it is an override like others: one for this
    call, a block or a view comes before it.

    Args:
      rule: `rule(group, *output_gradients)`, one with `default` gets the gradients of the inside; returns one gradient per
        input. `group.inputs` are the tensors of the arguments, positional ones first, and the variables that the function uses.
      name: of the group, the function's by default.
      order: "all", 1, 2 ...

    Raises:
      OverrideError: (when gradients are built) a tensor made inside is used outside without being returned, or a path enters
        by a tensor that is no argument. The message names it.
    """
    from regrad.autodiff.custom import build_apart

    def decorate(function):
        @functools.wraps(function)
        def built(*args, **kwargs):
            result, inputs, outputs, variables, ops = build_apart(function, args, kwargs)
            group = Group([*inputs, *variables], outputs, name or function.__name__, ops)
            outputs[0].graph.gradient_rules.append(Override(group, rule, order, "grouped"))
            return result

        return built

    return decorate


class GraphRule:
    """A rule of a graph."""

    def __init__(self, graph, override):
        self.graph = graph
        self.override = override

    def remove(self):
        """Takes the rule off the graph."""
        if self.override in self.graph.gradient_rules:
            self.graph.gradient_rules.remove(self.override)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


class View:
    """A named backward pass: overrides that hold when gradients are taken for it.

        guided = tf.View("guided", {"Relu": guided_relu})
        true = tf.View("true")
        passes = tf.view_gradients(y, x, [true, guided])      # {"true": [...], "guided": [...]}

    Attributes:
      name: the view's name, also of the name scope of its gradients.
      overrides: its Overrides.
    """

    def __init__(self, name, overrides=None, order="all"):
        if not isinstance(name, str):
            raise TypeError(f"View: the name comes first and is a string, got {name!r}.")
        self.name = name
        self.overrides = as_overrides(overrides, get_default_graph(), "view", order)

    def __repr__(self):
        return f"<view {self.name!r}: {self.overrides}>"
