"""Overrides as text, and back: for a program that builds its graph again, in another process or another day.

What can be named is written down: selectors of types, names, scopes, positions, operations, groups and combinations of these;
rules that are registered, ready-made (`rules.clip(1.0) >> ...`), or functions of modules, found again by import. What
cannot be named (a lambda, a closure, a predicate, a tensor as a strength) is an error that says so.
"""

import importlib
import json
import sys

from regrad.autodiff import rules
from regrad.autodiff import selectors as sel
from regrad.autodiff.overrides import Bridge, Override, OverrideError, View
from regrad.core import gradient_registry
from regrad.core.graph import Tensor, get_default_graph, operations_within

_FORMAT = 1


def overrides_to_json(graph=None, views=()):
    """Returns a graph's rules (`tf.attach`, `tf.set_graph_rule`) and the given views as text for `overrides_from_json`.

    Args:
      graph: the default graph by default.
      views: list of `View`s to keep too.

    Raises:
      OverrideError: (a ValueError) a rule or selector has no name under which another process could find it; the message has
        the line that made it.
    """
    graph = graph or get_default_graph()
    attached = {}
    for op, name in _named(graph):
        if op.forward_op is not None:
            continue  # a gradient is made anew
        for rule in op.attached_rules or ():
            if isinstance(rule, Override):  # what a block or custom_gradient gave is part of the program
                attached.setdefault(rule, []).append(name)
    return json.dumps({
        "regrad overrides": _FORMAT,
        "attached": [_written(o, {"names": names, "kind": "ops"}) for o, names in attached.items()],
        "graph": [_written(o) for o in graph.gradient_rules],
        "views": {v.name: [_written(o) for o in v.overrides] for v in views},
    }, indent=1)


def overrides_from_json(text, graph=None):
    """Puts saved rules on a graph; returns the saved views, {name: View}.

    Rules already there stay; later ones come first.

    Raises:
      OverrideError: (a ValueError) the text is none of `overrides_to_json`, or names an operation, tensor, rule or function
        that is not here; nothing is put on the graph then.
    """
    graph = graph or get_default_graph()
    try:
        data = json.loads(text)
        known = data.get("regrad overrides") == _FORMAT
    except (AttributeError, ValueError):
        known = False
    if not known:
        raise OverrideError("overrides_from_json: this is no text of overrides_to_json.")
    attached = [_read(o, graph, "attached") for o in data["attached"]]
    of_graph = [_read(o, graph, "rule of the graph") for o in data["graph"]]
    views = {name: [_read(o, graph, "view") for o in found] for name, found in data["views"].items()}
    for override in attached:
        for op in override.selector.select(graph):
            op.attached_rules = [*(op.attached_rules or ()), override]
    graph.gradient_rules += of_graph
    return {name: View(name, found) for name, found in views.items()}


def _written(override, selector=None):
    try:
        return {"selector": selector or _selector_data(override.selector), "rule": _rule_data(override.rule),
                "order": override.order, "bridge": isinstance(override, Bridge), "optional": override.optional}
    except _Nameless as what:
        raise OverrideError(f"overrides_to_json: {override!r} cannot be saved: {what}") from None


def _read(data, graph, layer):
    kind = Bridge if data["bridge"] else Override
    return kind(_selector(data["selector"], graph), _rule(data["rule"]), data["order"], layer, graph, data["optional"])


class _Nameless(Exception):
    """Why something has no name that another process could find it by."""


# -- rules -------------------------------------------------------------------------------------------


def _rule_data(rule):
    if isinstance(rule, str):
        return {"registered": rule}
    if rule is rules.default:
        return {"made": "default"}
    recipe = getattr(rule, "recipe", None)
    if recipe is not None:
        name, args, kwargs = recipe
        return {"made": name, "args": [_argument(a) for a in args], "kwargs": {k: _argument(a) for k, a in kwargs.items()}}
    for found in gradient_registry._rules.values():
        if found.function is rule:
            return {"registered": found.name}
    module, name = getattr(rule, "__module__", None), getattr(rule, "__qualname__", "<")
    if module not in (None, "__main__") and "<" not in name and _imported(module, name) is rule:
        return {"function": f"{module}:{name}"}
    raise _Nameless(f"its rule {rules.rule_name(rule)!r} is neither registered, nor made by regrad.rules, nor a function of a "
                    "module. Register it, @tf.RegisterGradient(name), and override with that name.")


def _argument(x):
    if x is None or isinstance(x, (bool, int, float, str)):
        return {"value": x}
    if isinstance(x, (list, tuple)):
        return {"items": [_argument(i) for i in x]}
    if isinstance(x, Tensor) or hasattr(x, "_as_graph_element"):
        raise _Nameless(f"{getattr(x, 'name', x)} is a tensor of this program; use a number, or make the rule after loading.")
    if callable(x):
        return {"rule": _rule_data(x)}
    raise _Nameless(f"{x!r} is no number or rule.")


def _imported(module, name):
    try:
        found = sys.modules.get(module) or importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def _rule(data):
    if "registered" in data:
        if gradient_registry.find(data["registered"]) is None:
            raise OverrideError(f"overrides_from_json: no gradient rule is registered under {data['registered']!r}"
                                f"{gradient_registry.suggest(data['registered'])}; run or import what registers it first.")
        return data["registered"]
    if "function" in data:
        module, _, name = data["function"].partition(":")
        found = _imported(module, name)
        if not callable(found):
            raise OverrideError(f"overrides_from_json: there is no function {name!r} in a module {module!r} here.")
        return found
    if data["made"] == "default":
        return rules.default
    args = [_value(a) for a in data["args"]]
    if data["made"] == ">>":
        return args[0] >> args[1]
    return getattr(rules, data["made"])(*args, **{k: _value(a) for k, a in data["kwargs"].items()})


def _value(data):
    if "items" in data:
        return [_value(i) for i in data["items"]]
    return _rule(data["rule"]) if "rule" in data else data["value"]


# -- selectors ---------------------------------------------------------------------------------------


def _selector_data(s):
    if s is sel.everything:
        return {"kind": "everything"}
    if isinstance(s, sel._Combined):
        return {"kind": s.sign, "of": [_selector_data(s.left), _selector_data(s.right)]}
    if isinstance(s, sel._Nth):
        index = [s.index.start, s.index.stop, s.index.step] if isinstance(s.index, slice) else s.index
        return {"kind": "nth", "of": [_selector_data(s.inner)], "index": index, "word": s.word}
    if isinstance(s, sel._Ops):
        return {"kind": "ops", "names": sorted(op.name for op in s.ops)}
    if isinstance(s, sel._Between):
        return {"kind": "between", "xs": [t.name for t in s.xs], "ys": [t.name for t in s.ys]}
    if isinstance(s, sel.Group):
        return {"kind": "group", "xs": [t.name for t in s.inputs], "ys": [t.name for t in s.outputs], "name": s.name}
    for kind, cls, words in (("type", sel._Type, "types"), ("name", sel._Name, "patterns"), ("scope", sel._Scope, "scopes")):
        if isinstance(s, cls):
            return {"kind": kind, "names": list(getattr(s, words))}
    raise _Nameless(f"{s!r} asks a function of this program; select by type, name or scope.")


def _selector(data, graph):
    kind = data["kind"]
    if kind == "everything":
        return sel.everything
    if kind in ("&", "|", "-"):
        a, b = (_selector(d, graph) for d in data["of"])
        return a & b if kind == "&" else a | b if kind == "|" else a - b
    if kind == "nth":
        index = slice(*data["index"]) if isinstance(data["index"], list) else data["index"]
        return sel._Nth(_selector(data["of"][0], graph), index, data["word"])
    if kind in ("type", "name", "scope"):
        return getattr(sel, kind)(*data["names"])
    if kind == "ops":
        return sel.ops(*(_element(n, graph) for n in data["names"]))
    xs, ys = ([_element(n, graph) for n in data[k]] for k in ("xs", "ys"))
    return sel.between(xs, ys) if kind == "between" else sel.group(xs, ys, data["name"])


def _named(graph):
    """Yields (operation, what it is called here): its name; in branches and bodies [name, how many of it came before]."""
    met = {}
    for op in operations_within(graph):
        if op.graph is graph:
            yield op, op.name
        else:
            n = met[op.name] = met.get(op.name, -1) + 1
            yield op, [op.name, n]


def _element(name, graph):
    if isinstance(name, list):
        for op, called in _named(graph):
            if called == name:
                return op
        raise OverrideError(f"overrides_from_json: no branch or loop of the graph has an operation {name[0]!r}.")
    try:
        return graph.as_graph_element(name)
    except KeyError as error:
        raise OverrideError(f"overrides_from_json: {error.args[0]}") from None

