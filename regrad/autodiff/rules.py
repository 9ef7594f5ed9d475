"""Rules as values: the rule that is replaced, transforms of gradients, and how they compose.

    default >> clip(1.0) >> scale(0.5)      the usual gradient, clipped, then halved
    clip(1.0) >> default                    the arriving gradient clipped before the usual rule
    mix(w, surrogate, default)              w * surrogate + (1 - w) * default; w may be a tensor

A plain function may take part too: one with a parameter `default` is given a function that returns the gradients the op
would have had without it, as a list:

    def doubled(op, dy, default):
        return [None if g is None else 2.0 * g for g in default()]
"""

import functools
import inspect
import numbers

from regrad.core import gradient_registry
from regrad.core.convert import convert_to_tensor
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.lazy import instead
from regrad.ops.math import cast


class _Composable:
    """What rules and transforms have: a function under a name, which may ask for the rule it replaces."""

    takes_default = True
    recipe = None  # how it was made, (name, arguments, keywords): what is written down when it is saved

    def __init__(self, function, name):
        self.function = function
        self.__name__ = name

    def __repr__(self):
        return self.__name__


class Rule(_Composable):
    """A gradient rule that composes: `rule >> transform` changes the gradients it returns."""

    def __call__(self, op, *grads, default):
        return self.function(op, *grads, default=default)

    def __rshift__(self, other):
        if not isinstance(other, Transform):
            raise TypeError(f"{self!r} >> {other!r}: what follows a rule is a transform of its gradients, such as clip(1.0).")
        return _made(Rule(lambda op, *grads, default: other.over(as_grads(self(op, *grads, default=default)), op),
                          f"{self.__name__} >> {other.__name__}"), ">>", self, other)


class Transform(_Composable):
    """A change of one gradient: `function(gradient, op)` -> gradient. As a rule it changes what the default gives."""

    def over(self, grads, op):
        return [None if g is None else self.function(g, op) for g in grads]

    def __call__(self, op, *grads, default):
        return self.over(default(), op)

    def __rshift__(self, other):
        if isinstance(other, Transform):
            return _made(Transform(lambda g, op: other.function(self.function(g, op), op),
                                   f"{self.__name__} >> {other.__name__}"), ">>", self, other)
        rule = as_rule(other)
        return _made(Rule(lambda op, *grads, default: apply_rule(rule, op, self.over(grads, op), default),
                          f"{self.__name__} >> {rule_name(rule)}"), ">>", self, other)


def _made(rule, name, *args, **kwargs):
    rule.recipe = (name, args, kwargs)
    return rule


def ready_made(factory):
    """Decorator for functions of `regrad.rules` that make rules: what they make remembers how, so that it can be saved."""

    @functools.wraps(factory)
    def made(*args, **kwargs):
        rule = _made(factory(*args, **kwargs), factory.__name__, *args, **kwargs)
        if rule.__name__ in ("<lambda>", "derivative"):
            given = [rule_name(a) for a in args] + [f"{k}={rule_name(a)}" for k, a in kwargs.items()]
            rule.__name__ = f"{factory.__name__}({', '.join(given)})"
        return rule

    made.makes_rules = True  # and is none itself
    return made


default = Rule(lambda op, *grads, default: default(*grads), "default")


# -- strengths -------------------------------------------------------------------------------------


def strength_of(value, like):
    """Returns a number, scalar tensor or schedule (a function of the global step) as a scalar tensor of the dtype of `like`."""
    if is_schedule(value):
        from regrad.train.steps import scheduled

        value = scheduled(value)
    value = convert_to_tensor(value, dtype=None if hasattr(value, "dtype") else like.dtype.real_dtype)
    return value if value.dtype is like.dtype else cast(value, like.dtype)


def is_schedule(value):
    return callable(value) and not hasattr(value, "_as_graph_element")


def strength_text(strength):
    """Returns a strength as it prints; refuses at once what is none."""
    if not (is_schedule(strength) or hasattr(strength, "dtype") or isinstance(strength, numbers.Number)):
        raise TypeError("The strength of a change of gradients is a number, a scalar tensor or a schedule, a function of the "
                        f"global step; got {strength!r}.")
    if isinstance(strength, numbers.Real) and strength != strength:
        raise ValueError("The strength of a change of gradients is NaN: all gradients would be.")
    return strength.name if hasattr(strength, "name") else getattr(strength, "__name__", None) or repr(strength)


def transform(function):
    """Decorator: makes a Transform of `function(gradient)` or `function(gradient, op)`."""
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    takes_op = len(parameters) > 1
    return Transform(function if takes_op else lambda g, op: function(g), function.__name__)


@ready_made
def mix(weight, a, b):
    """Returns the rule `weight * a + (1 - weight) * b`.

    Args:
      weight: float, scalar tensor or schedule: changing it from run to run (annealing) recompiles nothing.
      a, b: rules.
    """
    a, b = as_rule(a), as_rule(b)
    if isinstance(weight, Rule | Transform) or not (is_schedule(weight) or hasattr(weight, "dtype")
                                                    or isinstance(weight, numbers.Real)):
        raise TypeError(f"mix: the weight comes first, and is a number, a scalar tensor or a schedule; got {weight!r}.")
    text = strength_text(weight)

    def mixed(op, *grads, default):
        out = []
        for first, second in zip(as_grads(apply_rule(a, op, grads, default)), as_grads(apply_rule(b, op, grads, default))):
            if first is None and second is None:
                out.append(None)
                continue
            like = first if first is not None else second
            w = strength_of(weight, like)
            terms = [] if first is None else [w * dense(first)]
            terms += [] if second is None else [(1.0 - w) * dense(second)]
            out.append(terms[0] if len(terms) == 1 else terms[0] + terms[1])
        return out

    return Rule(mixed, f"mix({text}, {rule_name(a)}, {rule_name(b)})")


# -- plain functions as rules ---------------------------------------------------------------------


def dense(g):
    """Returns a gradient as a tensor, slices made dense."""
    return convert_to_tensor(g) if isinstance(g, IndexedSlices) else g


def as_grads(returned):
    """Returns what a rule gave back as a list of gradients."""
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


def as_rule(rule):
    """Returns `rule` if it is callable, or the registered rule of that name."""
    if callable(rule):
        return rule
    if not isinstance(rule, str):
        raise TypeError(f"A gradient rule is a function rule(op, *grads), or the name of a registered one; got {rule!r}.")
    found = gradient_registry.find(rule)
    if found is None:
        raise LookupError(f"No gradient rule is registered under {rule!r}{gradient_registry.suggest(rule)}")
    return found.function or (lambda op, *grads: [None] * len(op.inputs))


def rule_name(rule):
    return rule if isinstance(rule, str) else getattr(rule, "__name__", repr(rule))


def takes_default(rule):
    """True when `rule` has a parameter `default`."""
    explicit = getattr(rule, "takes_default", None)
    return _has_default_parameter(rule) if explicit is None else explicit


@functools.lru_cache(maxsize=4096)
def _has_default_parameter(rule):
    try:
        return "default" in inspect.signature(rule).parameters
    except (TypeError, ValueError):
        return False


def apply_rule(rule, op, grads, default):
    """Calls `rule`, with `default` if it takes it."""
    return rule(op, *grads, default=default) if takes_default(rule) else rule(op, *grads)


_READY_MADE = ("transforms", "surrogates", "relevance", "quantisers")


def _ready_made():
    """Returns {name: function} of the ready-made rules, transforms and quantisers."""
    import importlib

    modules = [importlib.import_module(f"regrad.autodiff.{m}") for m in _READY_MADE]
    return {name: f for m in reversed(modules) for name, f in vars(m).items()
            if not name.startswith("_") and inspect.isfunction(f) and f.__module__ == m.__name__}


def __getattr__(name):
    """The ready-made rules and transforms, under one name: `rules.clip`, `rules.guided_relu` ..."""
    if name.startswith("_"):
        raise AttributeError(f"regrad.rules has no {name!r}")
    found = _ready_made()
    globals().update((k, f) for k, f in found.items() if k not in globals())
    if name in found:
        return found[name]
    raise AttributeError(f"regrad.rules has no {name!r}{instead('regrad.rules', name, found)}")


def __dir__():
    return sorted({"Rule", "Transform", "default", "mix", "transform", *_ready_made()})
