"""Overrides as text, and back: for a program that builds its graph again, in another process or another day.

What can be named is written down: selectors of types, names, scopes, positions, operations, groups and combinations of these;
rules that are registered or ready-made (`rules.clip(1.0) >> ...`), and the names of functions, which the program that loads
them passes. What cannot be named (a lambda, a closure, a predicate, a tensor as a strength) is an error that says so.

The text is data: reading it imports nothing, and calls only what makes ready-made rules.
"""

import inspect
import json

import numpy as np

from regrad.autodiff import rules
from regrad.autodiff import selectors as sel
from regrad.autodiff.overrides import Bridge, Override, OverrideError, View
from regrad.core import gradient_registry, source
from regrad.core.errors import Damaged, nearest
from regrad.core.graph import get_default_graph
from regrad.core.graph_proto import checked_functions, name_in_files
from regrad.core.operation import Tensor
from regrad.core.override_blocks import OverrideScope
from regrad.core.reading import words_of
from regrad.core.traversal import operations_within

_FORMAT = 2
_READ = (1, 2)  # of 1, which had no "blocks" and "given", everything is read


class DamagedOverrides(OverrideError, Damaged):
    """A text that is none of `overrides_to_json`."""


def overrides_to_json(graph=None, views=(), blocks=True):
    """Returns a graph's rules and the given views as text for `overrides_from_json`.

    Rules of `tf.attach` and `tf.set_graph_rule` are kept, and those of `gradient_override_map`. What was attached by a selector
    that means the same operations still is kept as that selector, and holds for a deeper network, too; what was not is kept
    as the names of its operations. Operations of gradients are left out: a gradient is made anew.

    Args:
      graph: the default graph by default.
      views: list of `View`s to keep too, each of its own name.
      blocks: whether to keep what the program gives while it builds: rules of `gradient_override_map` and `tf.grouped`; and to
        note which operations have a gradient of their own (`custom_gradient`, `py_func(grad=)`), so that loading complains
        where they have not. False leaves all that to the program.

    Raises:
      OverrideError: (a ValueError) a rule or selector has no name under which another program could find it; the message has
        the line that made it. Two views have one name, or a view holds tensors.
    """
    graph = graph or get_default_graph()
    views = list(views)
    for i, view in enumerate(views):
        if view.name in [v.name for v in views[:i]]:
            raise OverrideError(f"overrides_to_json: two views are called {view.name!r}, and are read by their names: give "
                                "each its own, tf.View(name, ...).")
        if getattr(view, "grad_ys", None) is not None:
            raise OverrideError(f"overrides_to_json: the view {view.name!r} has grad_ys, tensors of this program, which cannot "
                                "be saved: give them to gradients(grad_ys=) instead.")
    writer = _Writer(graph)
    text = {"regrad overrides": _FORMAT, "attached": writer.attached(),
            "graph": [writer.written(o) for o in graph.gradient_rules if blocks or o.layer != "grouped"]}
    if blocks:
        text |= {"blocks": writer.blocks(), "given": [writer.called[op] for op in writer.ops if _given(op)]}
    text["views"] = {v.name: [writer.written(o) for o in v.overrides] for v in views}
    return json.dumps(text, indent=1)


def overrides_from_json(text, graph=None, functions=None):
    """Puts saved rules on a graph; returns the saved views, {name: View}.

    Rules already there stay; later ones come first. A rule that is there already, as after loading twice, is not put again.

    Args:
      text: what `overrides_to_json` returned. It is data: nothing in it is imported.
      graph: the default graph by default.
      functions: {"module:function": function}, the functions that the text names.

    Raises:
      OverrideError: (a ValueError) the text names an operation, tensor, rule or function that is not here, or a block that
        gave its operations other rules here; nothing is put on the graph then.
      DataLossError: (an OverrideError too) it is none of `overrides_to_json`; likewise.
    """
    graph = graph or get_default_graph()
    reader = _Reader(graph, checked_functions(functions))
    try:
        data = json.loads(text)
        known = data.get("regrad overrides") in _READ
    except (AttributeError, TypeError, ValueError, RecursionError):
        known = False
    if not known:
        raise DamagedOverrides("overrides_from_json: this is no text of overrides_to_json.")
    try:
        attached = [reader.attached(o) for o in data["attached"]]
        of_graph = [reader.override(o, "rule of the graph") for o in data["graph"]]
        blocks = [found for block in data.get("blocks", ()) for found in reader.block(block)]
        for name in data.get("given", ()):
            reader.check_given(name)
        views = {name: View(name, [reader.override(o, "view") for o in found]) for name, found in data["views"].items()}
    except OverrideError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise DamagedOverrides(f"overrides_from_json: the text is damaged, or of another version: {words_of(error)}") from error
    there = _Writer(graph, by_identity=True)
    rules_of = {}
    for override, ops in attached:
        for op in ops:
            rules_of.setdefault(op, []).append(override)
    new = {op: there.missing(found, op.attached_rules or (), there.rule_of) for op, found in rules_of.items()}
    graph.gradient_rules += there.missing(of_graph, graph.gradient_rules, there.whole)
    for op, found in new.items():
        if found:
            op.attached_rules = [*(op.attached_rules or ()), *found]
    for op, scope in blocks:
        op.override_scope = scope
    return views


class _Nameless(Exception):
    """Why something has no name that another program could find it by."""


def _names(graph, ops):
    """Returns {operation: what it is called here}: its name; in branches and bodies (name, how many of it came before)."""
    called, met = {}, {}
    for op in ops:
        if op.graph is graph:
            called[op] = op.name
        else:
            met[op.name] = met.get(op.name, -1) + 1
            called[op] = (op.name, met[op.name])
    return called


def _named_rules(op):
    """Returns the names of the rules that blocks of `gradient_override_map` gave an operation, the innermost first."""
    found, block = [], op.override_scope and op.override_scope.block_for(op.opdef.type)
    while block is not None:
        found.append(block.mapping[op.opdef.type])
        block = block.parent and block.parent.block_for(op.opdef.type)
    own = op.attrs.get("_gradient_op_type")
    return found if own is None else [*found, own.decode() if isinstance(own, bytes) else own]


def _given(op):
    """Returns whether an operation has a gradient that was given with it, as those of custom_gradient."""
    return any(not isinstance(rule, Override) for rule in op.attached_rules or ())


_SELECTORS = (("type", sel._Type, "types"), ("name", sel._Name, "patterns"), ("scope", sel._Scope, "scopes"))


def _is_rule(function):
    """Returns whether a ready-made function is a rule itself, or a derivative for such as take one; others make something."""
    parameters = list(inspect.signature(function).parameters)
    return not getattr(function, "makes_rules", False) and (parameters[:1] == ["op"] or parameters == ["x"])


# -- writing -------------------------------------------------------------------------------------------
class _Writer:
    """Writes the overrides of a graph.

    Attributes:
      ops: the operations of the graph that are not made by gradients.
      called: {operation: its name}.
      functions: {name: function}, those that were written.
      by_identity: write functions as they are, to be compared.
    """

    def __init__(self, graph, by_identity=False):
        self.graph, self.functions, self.by_identity = graph, {}, by_identity
        self.ops = operations_within(graph, gradients=False)
        self.called = _names(graph, self.ops)

    def attached(self):
        """Returns what was attached to operations."""
        found = {}
        for op in self.ops:
            for rule in op.attached_rules or ():
                if isinstance(rule, Override):
                    found.setdefault(rule, []).append(op)
        return [self.written(override, self._meaning(override.selector, ops)) for override, ops in found.items()]

    def _meaning(self, selector, ops):
        """Returns a selector as data where it still means `ops`, and their names where it does not, or has no name itself."""
        try:
            if selector.pick(self.ops) == set(ops):
                return self.selector(selector)
        except _Nameless:
            pass
        return {"kind": "ops", "names": [self.called[op] for op in ops]}

    def blocks(self):
        """Returns what blocks gave operations: [{"rules": names, the innermost first, "names": of operations}]."""
        found = {}
        for op in self.ops:
            named = _named_rules(op)
            if named:
                found.setdefault(tuple(named), []).append(self.called[op])
        return [{"rules": list(named), "names": names} for named, names in found.items()]

    def written(self, override, selector=None):
        """Returns an Override as data."""
        try:
            return self.whole(override, selector)
        except _Nameless as what:
            more = " blocks=False leaves it to the program." if override.layer == "grouped" else ""
            raise OverrideError(f"overrides_to_json: {override!r} cannot be saved: {what}{more}") from None

    def whole(self, override, selector=None):
        return {"selector": selector or self.selector(override.selector), **self.rule_of(override)}

    def rule_of(self, override):
        """Returns an Override as data, but for the operations that it means."""
        return {"rule": self.rule(override.rule), "order": override.order, "bridge": isinstance(override, Bridge),
                "optional": override.optional}

    @staticmethod
    def missing(overrides, there, data):
        """Returns those of `overrides` that are not among the Overrides `there`, by `data` of each."""
        known = []
        for override in there:
            try:
                known.append(data(override) if isinstance(override, Override) else None)
            except _Nameless:  # so that none of the others is the same
                continue
        new = []
        for override in overrides:
            found = data(override)
            if found in known:
                known.remove(found)
            else:
                new.append(override)
        return new

    # -- rules --------------------------------------------------------------------------------------
    def rule(self, rule):
        if isinstance(rule, str):
            return {"registered": rule}
        if rule is rules.default:
            return {"made": "default"}
        recipe = getattr(rule, "recipe", None)
        if recipe is not None:
            name, args, kwargs = recipe
            return {"made": name, "args": [self.argument(a) for a in args],
                    "kwargs": {k: self.argument(a) for k, a in kwargs.items()}}
        for found in gradient_registry._rules.values():
            if found.function is rule:
                return {"registered": found.name}
        name = getattr(rule, "__name__", "")
        if rules._ready_made().get(name) is rule:
            return {"ready": name}
        return {"function": self._function(rule)}

    def _function(self, function):
        if self.by_identity:
            return function
        name = name_in_files(function)
        if name is None or "<" in name:
            raise _Nameless(f"its rule {rules.rule_name(function)!r} is neither registered, nor made by regrad.rules of "
                            "numbers, nor a function of a module. Register it, @tf.RegisterGradient(name), and override with "
                            "that name.")
        if self.functions.setdefault(name, function) is not function and self.functions[name] != function:
            raise _Nameless(f"two functions are called {name!r}, {source.of_function(function)} and "
                            f"{source.of_function(self.functions[name])}: give each a name of its own.")
        return name

    def argument(self, x):
        if x is None or isinstance(x, (bool, int, float, str)):
            return {"value": x}
        if isinstance(x, np.generic) and x.dtype.kind in "biuf":
            return {"value": x.item()}
        if isinstance(x, np.ndarray) and x.dtype.kind in "biuf":
            return {"array": x.tolist(), "dtype": x.dtype.name}
        if isinstance(x, (list, tuple)):
            return {"items": [self.argument(i) for i in x]}
        if isinstance(x, Tensor) or hasattr(x, "_as_graph_element"):
            raise _Nameless(f"{getattr(x, 'name', x)} is a tensor of this program; use a number, or make the rule after "
                            "loading.")
        if callable(x):
            return {"rule": self.rule(x)}
        raise _Nameless(f"{x!r} is no number or rule.")

    # -- selectors ----------------------------------------------------------------------------------
    def selector(self, s):
        if s is sel.everything:
            return {"kind": "everything"}
        if isinstance(s, sel._Combined):
            return {"kind": s.sign, "of": [self.selector(s.left), self.selector(s.right)]}
        if isinstance(s, sel._Nth):
            index = [s.index.start, s.index.stop, s.index.step] if isinstance(s.index, slice) else s.index
            return {"kind": "nth", "of": [self.selector(s.inner)], "index": index, "word": s.word}
        if isinstance(s, sel._Ops):
            return self._operations(s.ops)
        if isinstance(s, sel._Readers):
            return {"kind": "readers", "names": [self._tensor(s.handle)], "name": s.name}
        if isinstance(s, sel._Between):
            return {"kind": "between", "xs": self._tensors(s.xs), "ys": self._tensors(s.ys)}
        if isinstance(s, sel.Group):
            return {"kind": "group", "xs": self._tensors(s.inputs), "ys": self._tensors(s.outputs), "name": s.name}
        if isinstance(s, sel.Copies) and _is_fixed(s.inner):
            return self._operations(s.pick(s.made.values()))
        for kind, cls, words in _SELECTORS:
            if isinstance(s, cls):
                return {"kind": kind, "names": list(getattr(s, words))}
        raise _Nameless(f"{s!r} asks a function of this program; select by type, name or scope.")

    def _operations(self, ops):
        return {"kind": "ops", "names": sorted((self._operation(op) for op in ops), key=str)}

    def _operation(self, op):
        called = self.called.get(op)
        if called is None and op.graph is self.graph:
            return op.name  # of a gradient
        if called is None:
            raise _Nameless(f"{op.describe()} is not in the graph that is saved.")
        return called

    def _tensors(self, tensors):
        return [self._tensor(t) for t in tensors]

    def _tensor(self, t):
        called = self._operation(t.op)
        return t.name if isinstance(called, str) else [*called, t.value_index]


def _is_fixed(selector):
    """Returns whether a selector means operations one by one, whichever others are asked about with them."""
    if isinstance(selector, sel._Combined):
        return _is_fixed(selector.left) and _is_fixed(selector.right)
    return selector is sel.everything or isinstance(selector, (sel._Ops, *(cls for _, cls, _ in _SELECTORS)))


# -- reading -------------------------------------------------------------------------------------------
class _Reader:
    """Reads overrides for a graph; nothing is put on it."""

    def __init__(self, graph, functions):
        self.graph, self.functions = graph, functions
        self.ops = operations_within(graph, gradients=False)
        self.named = {name: op for op, name in _names(graph, self.ops).items()}

    def override(self, data, layer):
        """Returns an Override."""
        kind = Bridge if data["bridge"] else Override
        return kind(self.selector(data["selector"]), self.rule(data["rule"]), data["order"], layer, self.graph,
                    bool(data["optional"]))

    def attached(self, data):
        """Returns (an Override, the operations to attach it to)."""
        override = self.override(data, "attached")
        ops = override.selector.pick(self.ops)
        if not ops:
            raise OverrideError(f"overrides_from_json: {override.selector!r} matches none of the {len(self.ops)} operations "
                                f"of the graph{override.selector.hint(self.ops)}")
        return override, [op for op in self.ops if op in ops]

    def block(self, data):
        """Yields (operation, the scope to give it) for those that were in a block, and are not here.

        Raises:
          OverrideError: a block gave it something else here, or the operation is not here.
        """
        wanted = data["rules"]
        for name in data["names"]:
            op = self.element(name, " Its block of gradient_override_map was saved with the overrides; overrides_to_json("
                              "blocks=False) leaves blocks to the program.")
            here = _named_rules(op)
            if here == wanted:
                continue
            if here:
                raise OverrideError(f"overrides_from_json: gradient_override_map gave {op.describe()} the rule {here[0]!r} "
                                    f"here, and {wanted[0]!r} where the overrides were saved; "
                                    "overrides_to_json(blocks=False) leaves blocks to the program.")
            scope = None
            for rule in reversed(wanted):
                scope = OverrideScope({op.opdef.type: self.rule({"registered": rule})}, scope, "overrides_from_json")
            yield op, scope

    def check_given(self, name):
        """Raises OverrideError where an operation that had a gradient of its own has none here."""
        op = self.named.get(_key(name))
        if op is not None and not _given(op):
            raise OverrideError(f"overrides_from_json: {op.describe()} had a gradient of its own where the overrides were "
                                "saved (custom_gradient, py_func(grad=) ...), and has none here: build it as it was built "
                                "there, or save with overrides_to_json(blocks=False).")

    # -- rules --------------------------------------------------------------------------------------
    def rule(self, data):
        if "registered" in data:
            name = data["registered"]
            if gradient_registry.find(name) is None:
                raise OverrideError(f"overrides_from_json: no gradient rule is registered under {name!r}"
                                    f"{gradient_registry.suggest(name)}; run or import what registers it first.")
            return name
        if "function" in data:
            return self._function(data["function"])
        name, ready = data.get("ready", data.get("made")), {"mix": rules.mix, **rules._ready_made()}
        if "ready" in data:
            if name not in ready or not _is_rule(ready[name]):
                raise OverrideError(f"overrides_from_json: {name!r} is no ready-made rule{nearest(name, ready)}")
            return ready[name]
        if name == "default":
            return rules.default
        args = [self.argument(a) for a in data["args"]]
        if name == ">>":
            first, second = args
            return first >> second
        if not getattr(ready.get(name), "makes_rules", False):
            raise OverrideError(f"overrides_from_json: regrad.rules makes no {name!r}{nearest(name, ready)}")
        return ready[name](*args, **{k: self.argument(a) for k, a in data["kwargs"].items()})

    def _function(self, name):
        found = self.functions.get(name)
        if found is None:
            module, _, plain = name.partition(":")  # version 1 named ready-made rules by their modules
            ready = rules._ready_made().get(plain)
            if ready is None or ready.__module__ != module or not _is_rule(ready):
                raise OverrideError(f"overrides_from_json: the text names the function {name!r}. Text is data, and nothing "
                                    f"that it names is imported: pass the function, functions={{{name!r}: the function}}"
                                    f"{nearest(name, self.functions)}, or register it, and override with the name.")
            found = ready
        return found

    def argument(self, data):
        if "items" in data:
            return [self.argument(i) for i in data["items"]]
        if "array" in data:
            dtype = np.dtype(data["dtype"])
            if dtype.kind not in "biuf":
                raise ValueError(f"an array of {dtype.name}")
            return np.array(data["array"], dtype)
        return self.rule(data["rule"]) if "rule" in data else data["value"]

    # -- selectors ----------------------------------------------------------------------------------
    def selector(self, data):
        kind = data["kind"]
        if kind == "everything":
            return sel.everything
        if kind in ("&", "|", "-"):
            a, b = (self.selector(d) for d in data["of"])
            return a & b if kind == "&" else a | b if kind == "|" else a - b
        if kind == "nth":
            index = slice(*data["index"]) if isinstance(data["index"], list) else data["index"]
            found = sel.nth(self.selector(data["of"][0]), index)
            found.word = data["word"]
            return found
        if kind in ("type", "name", "scope"):
            return {"type": sel.type, "name": sel.name, "scope": sel.scope}[kind](*data["names"])
        if kind == "ops":
            return sel.ops(*(self.element(n) for n in data["names"]))
        if kind == "readers":
            return sel._Readers(self.element(data["names"][0]), data["name"])
        if kind not in ("between", "group"):
            raise ValueError(f"there is no selector {kind!r}")
        xs, ys = ([self.element(n) for n in data[k]] for k in ("xs", "ys"))
        return sel.between(xs, ys) if kind == "between" else sel.group(xs, ys, data["name"])

    def element(self, name, more=""):
        """Returns the operation or tensor of a name."""
        if not isinstance(name, list):
            try:
                return self.graph.as_graph_element(name)
            except KeyError as error:
                raise OverrideError(f"overrides_from_json: {error.args[0]}{more}") from None
        op = self.named.get(_key(name[:2]))
        if op is None:
            raise OverrideError(f"overrides_from_json: no branch or loop of the graph has an operation {name[0]!r}.{more}")
        return op.outputs[name[2]] if len(name) > 2 else op


def _key(name):
    return tuple(name) if isinstance(name, list) else name
