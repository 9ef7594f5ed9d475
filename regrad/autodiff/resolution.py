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

from regrad.autodiff import rules
from regrad.autodiff.overrides import Bridge, Override, open_blocks
from regrad.autodiff.selectors import Group
from regrad.core import gradient_registry, source
from regrad.core.errors import GradientError
from regrad.core.override_blocks import OverrideScope
from regrad.core.tabular import Record

REGISTERED = "registered for the op type"


class BoundRule(Record):
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
            if self.below is None or not rules.takes_default(self.function):
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
            return [None] * len(op.inputs) if rule is None else rules.as_grads(rule.apply(op, list(grads or given)))

        return default

    @property
    def where(self):
        return source.of_function(getattr(self.function, "function", self.function))

    def describe(self):
        return f"{self.name!r} at {self.where} ({self.why})"

    __str__ = describe

    def data(self):
        return {"rule": self.name, "at": self.where, "why": self.why}


class Resolution:
    """The rules in force for one walk: every layer's overrides, each selector evaluated once on the path."""

    def __init__(self, call=(), view=(), graph=None):
        self.call = list(call)
        self.blocks = [o for block in reversed(open_blocks.items) for o in block]
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
        if tensors:  # what loops and branches consist of passes on what a bridge lets through, on both sides of it
            unasked = [op for op in ops if op.unasked]
            for op in unasked:
                tensors.update(op.outputs if tensors.intersection(op.inputs) else ())
            for op in reversed(unasked):
                tensors.update(op.inputs if tensors.intersection(op.outputs) else ())
        return tensors

    def across(self, ops):
        """Returns the tensors that ways lead through although their dtype has no gradient: at bridges and inside groups."""
        tensors = self.crossing(ops)
        for override in self.all:
            if isinstance(override.selector, Group):
                tensors.update(t for op in override.selector.pick(ops) for t in op.outputs)
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
        """Yields (rule or name, why, its Override or block or None) for `op`, the one that counts first; not the registry's."""
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
                name = rules.rule_name(rule)
            else:
                found = gradient_registry.find(rule)
                if found is None:
                    raise _missing_rule(op, f": its rule is overridden to {rule!r} ({why}), a name that was never "
                                           f"registered{gradient_registry.suggest(rule)}", name=rule)
                if found.function is None:
                    return None
                found.used += 1
                name, rule = found.name, found.function
            return BoundRule(rule, name, why, override, functools.partial(self._bind_rest, op, list(candidates)))
        return _registered(op)

    def _bind_rest(self, op, candidates):
        return self._bind(op, iter(candidates))


def _registered(op):
    found = gradient_registry.of_type(op.opdef.type)
    if found is None:
        raise _missing_rule(op)
    if found.function is None:
        if op.forward_op is not None and op.opdef.facts.user_code:
            raise _constant_by_silence(op)
        return None
    found.used += 1
    return BoundRule(found.function, found.name, REGISTERED)


def _constant_by_silence(op):
    """Returns the error for a derivative of a gradient that a host function computes, which it would leave out."""
    return GradientError(
        f"No gradient defined for operation {op.describe()}: a host function computes the gradient there, and nobody said what "
        "its derivative is, so that a derivative of the gradient would be wrong. Give it one, tf.host_gradient(f, grad=...) or "
        "tf.py_func(..., grad=rule); grad=rules.stop() says that it counts as constant. gradients() was called at "
        f"{source.here()}.")


def get_gradient_function(op):
    """Returns the rule that would differentiate `op` now, a BoundRule with its name, place and reason; None if declared
    not differentiable.

    Raises:
      LookupError: there is none.
    """
    return Resolution(graph=op.graph).bind([op], 1).rule_for(op)


def _missing_rule(op, detail="", name=None):
    """Returns the error for an op on the path that no rule differentiates; `name` is that of the rule looked for, by default
    its type."""
    return GradientError(
        f"No gradient defined for operation '{op.name}' (op type: {op.type}){detail}; made at {op.location}. Either "
        f'register a rule, @tf.RegisterGradient("{name or op.type}"), give one to this call, gradients(..., '
        f'overrides={{"{op.type}": rule}}), or cut the path with tf.stop_gradient; gradients() was called at '
        f"{source.here()}."
    )
