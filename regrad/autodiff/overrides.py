"""Which rule differentiates an operation: the one order in which rules are looked for.

1. rules given to this `gradients()` call,
2. a rule attached to the op after it was made,
3. the `gradient_override_map` blocks in force when the op was made, innermost first,
4. the registry, under the op's type.

Rules are bound when gradients are built, so what counts is what is registered then.
"""

import contextlib

from regrad.core import gradient_registry, source
from regrad.core.graph import Operation, Tensor, check_op_type


class BoundRule:
    """A rule found for an op, and why it is the one.

    Attributes:
      function: `function(op, *output_gradients)`.
      name: the name it was found under.
      why: words for an explanation, such as "gradient_override_map at train.py:12".
    """

    __slots__ = ("function", "name", "why")

    def __init__(self, function, name, why):
        self.function = function
        self.name = name
        self.why = why

    def apply(self, op, grads):
        return self.function(op, *grads)

    @property
    def where(self):
        return source.of_function(self.function)

    def describe(self):
        return f"{self.name!r} at {self.where} ({self.why})"


class CallOverrides:
    """The rules of one `gradients()` call."""

    def __init__(self, mapping, graph):
        self.by_type, self.by_op = {}, {}
        for key, rule in (mapping or {}).items():
            if isinstance(key, Tensor):
                self.by_op[key.op] = rule
            elif isinstance(key, Operation):
                self.by_op[key] = rule
            elif isinstance(key, str) and key in graph._by_name:
                self.by_op[graph._by_name[key]] = rule
            elif isinstance(key, str):
                check_op_type(key, "gradients(overrides=...)")
                self.by_type[gradient_registry.canonical(key)] = rule
            else:
                raise TypeError(f"gradients(overrides=...): a key is an op type, an operation or its name, got {key!r}.")

    def rule_for(self, op):
        if op in self.by_op:
            return self.by_op[op]
        return self.by_type.get(gradient_registry.canonical(op.type))


@contextlib.contextmanager
def call_overrides(mapping, graph):
    """Yields the CallOverrides of one call, or None when there are none."""
    yield CallOverrides(mapping, graph) if mapping else None


def resolve(op, call=None):
    """Returns the BoundRule for `op`, or None when it is declared not differentiable.

    Raises:
      LookupError: there is no rule; the message names the op, the name looked for, and the remedies.
    """
    if call is not None:
        rule = call.rule_for(op)
        if rule is not None:
            return _bind(op, rule, "overrides of this gradients() call")
    if op.attached_rules:
        return _bind(op, op.attached_rules[-1], "attached to the op")
    attr = op.attrs.get("_gradient_op_type")
    if attr is not None:
        return _bind(op, attr.decode() if isinstance(attr, bytes) else attr, "the op's _gradient_op_type")
    if op.override_scope is not None:
        name = op.override_scope.named_rule(op.type)
        if name is not None:
            return _bind(op, name, f"gradient_override_map at {op.override_scope.block_for(op.type).where}")
    found = gradient_registry.find(op.type)
    if found is None:
        from regrad.autodiff.gradients import missing_rule

        raise missing_rule(op)
    return None if found.function is None else BoundRule(found.function, found.name, "registered for the op type")


def _bind(op, rule, why):
    if callable(rule):
        return BoundRule(rule, getattr(rule, "__name__", repr(rule)), why)
    found = gradient_registry.find(rule)
    if found is None:
        from regrad.autodiff.gradients import missing_rule

        raise missing_rule(op, f": its rule is overridden to {rule!r} ({why}), a name that was never registered"
                           + gradient_registry.suggest(rule))  # fmt: skip
    return None if found.function is None else BoundRule(found.function, found.name, why)
