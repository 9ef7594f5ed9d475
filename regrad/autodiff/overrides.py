"""Overrides: which rule for which operations, and the ways of saying so. Which one counts: `resolution.py`."""

import functools
import threading
import warnings

from regrad.autodiff import rules as rules_
from regrad.autodiff.selectors import Copies, Group, as_selector
from regrad.core import source
from regrad.core.errors import RegradWarning
from regrad.core.graph import get_default_graph
from regrad.core.override_blocks import Block
from regrad.core.shown import Shown
from regrad.core.tabular import Record
from regrad.core.traversal import operations_within


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

    Example:
      x = tf.constant([-1.0, 2.0])
      rule = tf.Override("Relu", lambda op, dy: 2.0 * dy)
      slopes = tf.gradients(tf.nn.relu(x), x, overrides=[rule])[0]
      print(rule.caught, tf.Session().run(slopes))
      #> 1 [2. 2.]
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
        if isinstance(self, Bridge):
            takers = [op.describe() for op in path if op not in picked and not set(meant.outputs).isdisjoint(op.inputs)]
            return (f"; {meant.describe()} is meant, but no gradient arrives there"
                    + (f": what takes its output, {' and '.join(takers[:2])}, has a rule of its own that gives it none. Let "
                       "the bridge reach across, tf.bridge(sel.between(x, y), rule), or override that operation, too"
                       if takers else ""))
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


# -- ways to put a rule somewhere -------------------------------------------------------------------


class _Blocks(threading.local):
    def __init__(self):
        self.items = []


open_blocks = _Blocks()  # of `overriding`, innermost last


class overriding(Shown, Block):
    """Context manager: overrides for every `gradients()` call inside the block, those of optimizers and libraries too.

        with tf.overriding({"Relu": guided}):
            train = optimizer.minimize(loss)

    Args:
      overrides: {op type, name, pattern or selector: rule}.
      order: "all", 1, 2 ...: the order of differentiation they hold for.

    Warns (RegradWarning) on leaving when an override caught nothing.

    Example:
      x = tf.constant([-1.0, 2.0])
      y = tf.nn.relu(x)
      with tf.overriding({"Relu": lambda op, dy: 3.0 * dy}):
          slopes = tf.gradients(y, x)[0]
      print(tf.Session().run(slopes))
      #> [3. 3.]
    """

    def __init__(self, overrides, order="all"):
        self.overrides = as_overrides(overrides, get_default_graph(), "overriding block", order)
        self._waits("tf.overriding")

    def __enter__(self):
        self.waiting = None
        open_blocks.items.append(self.overrides)
        return self.overrides

    def __exit__(self, kind, *_):
        open_blocks.items.remove(self.overrides)
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

    Example:
      x = tf.constant([-1.0, 2.0])
      y = tf.nn.relu(x)
      handle = tf.attach("Relu", lambda op, dy: 3.0 * dy)
      changed = tf.gradients(y, x)[0]
      handle.detach()
      print(*tf.Session().run([changed, tf.gradients(y, x)[0]]))
      #> [3. 3.] [0. 1.]
    """
    graph = graph or _graph_of(selector)
    override = Override(selector, rule, order, "attached", graph)
    ops = override.selector.select(graph)
    if not ops:
        there = operations_within(graph)
        raise OverrideError(f"attach: {override.selector!r} matches none of the {len(there)} operations of the graph"
                            f"{override.selector.hint(there)}")
    _warn_of_later_runs("attach", override.selector, graph)
    for op in ops:
        op.attached_rules = [*(op.attached_rules or ()), override]
    return Attached(override, ops)


def _warn_of_later_runs(who, selector, graph):
    """Warns where a name means what an earlier run of a notebook's cell has made, and a later run made its like."""
    for name in getattr(selector, "exact", ()):
        first = graph._by_name.get(name)
        if first is None:
            continue
        for later in (graph._by_name.get(f"{name}_{k}") for k in range(1, graph._names_in_use.get(name.lower(), 1))):
            if later is not None and later.type == first.type and source.another_run(first.frames, later.frames):
                warnings.warn(f"{who}: {name!r} is what an earlier run made, at {first.location}; a later one made "
                              f"{later.name!r}, which keeps its rule. Give the operation or tensor itself, or begin with "
                              "tf.reset_default_graph().",
                              RegradWarning, stacklevel=source.level())
                break


def _graph_of(selector):
    graph = getattr(selector, "graph", None)
    return graph if graph is not None else get_default_graph()


class Attached(Record):
    """Rules attached to operations; also a context manager that detaches at its end."""

    def __init__(self, override, ops):
        self.override = override
        self.ops = ops

    def __str__(self):
        on = [op for op in self.ops if self.override in (op.attached_rules or ())]
        names = ", ".join(op.name for op in on[:3]) + (f" and {len(on) - 3} others" if len(on) > 3 else "")
        return f"{rules_.rule_name(self.override.rule)} at {self.override.where}, on {names or 'nothing: it was detached'}"

    def data(self):
        return {"rule": rules_.rule_name(self.override.rule), "for": repr(self.override.selector), "order": self.override.order,
                "at": self.override.where, "caught": self.override.caught, "operations": ", ".join(op.name for op in self.ops)}

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
    """Gives a whole graph a rule, for operations that exist and those to come; returns a handle with `remove()`.

    Example:
      handle = tf.set_graph_rule("Relu", lambda op, dy: 3.0 * dy)
      x = tf.constant([-1.0, 2.0])
      print(tf.Session().run(tf.gradients(tf.nn.relu(x), x)[0]))
      handle.remove()
      #> [3. 3.]
    """
    graph = graph or get_default_graph()
    override = Override(selector, rule, order, "rule of the graph", graph)
    _warn_of_later_runs("set_graph_rule", override.selector, graph)
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

    Example:
      @tf.grouped(lambda group, dy, default: [tf.clip_by_value(g, -1.0, 1.0) for g in default()])
      def cube(x):
          return x * x * x

      x = tf.constant([0.5, 3.0])
      print(tf.Session().run(tf.gradients(cube(x), x)[0]))
      #> [0.75 1.  ]
    """
    from regrad.autodiff.custom import build_apart

    def decorate(function):
        if not callable(function):
            raise TypeError(f"grouped(rule) decorates a function of tensors, got {function!r}: @tf.grouped(rule), with the "
                            "rule in brackets.")

        @functools.wraps(function)
        def built(*args, **kwargs):
            result, inputs, outputs, variables, ops = build_apart(function, args, kwargs)
            group = Group([*inputs, *variables], outputs, name or function.__name__.strip("<>"), ops)
            outputs[0].graph.gradient_rules.append(Override(group, rule, order, "grouped"))
            return result

        return built

    return decorate


class GraphRule(Record):
    """A rule of a graph."""

    def __init__(self, graph, override):
        self.graph = graph
        self.override = override

    def __str__(self):
        gone = "" if self.override in self.graph.gradient_rules else ", removed"
        return f"{rules_.rule_name(self.override.rule)} at {self.override.where}, for {self.override.selector!r}{gone}"

    def data(self):
        return {"rule": rules_.rule_name(self.override.rule), "for": repr(self.override.selector), "order": self.override.order,
                "at": self.override.where, "caught": self.override.caught}

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
      grad_ys: the gradients arriving at the ys (one tensor, or a list as long as they), where a call gives none itself.

    Example:
      x = tf.constant([-1.0, 2.0])
      doubled = tf.View("doubled", {"Relu": lambda op, dy: 2.0 * dy})
      print(tf.Session().run(tf.gradients(tf.nn.relu(x), x, view=doubled)[0]))
      #> [2. 2.]
    """

    def __init__(self, name, overrides=None, order="all", grad_ys=None):
        if not isinstance(name, str):
            raise TypeError(f"View: the name comes first and is a string, got {name!r}.")
        self.name = name
        self.overrides = as_overrides(overrides, get_default_graph(), "view", order)
        self.grad_ys = grad_ys

    def __repr__(self):
        arriving = "" if self.grad_ys is None else f", grad_ys {self.grad_ys}"
        return f"<view {self.name!r}: {self.overrides}{arriving}>"


def as_view(given, name):
    """Returns a View: the given one, one called "true" for None, or one called `name` for overrides."""
    return given if isinstance(given, View) else View("true" if given is None else name, given)
