"""Selectors: which operations, said as data.

    from regrad import sel

    sel.type("Relu") & sel.scope("block3")        the ReLUs built in one name scope
    sel.last(sel.type("Conv2D"))                   the last convolution
    sel.between(x, y) - sel.name("head/*")         all on the way from x to y, but for the head
    sel.where(lambda op: op.inputs[0].shape[-1] == 64)

Of the Identity operations that loops, branches and functions consist of - no line of the program asked for them - a selector
means those that it names one by one: as an operation, a tensor, or by their very name.

A selector prints as it was written, counts (`len(s.select(graph))`, `s.count(graph)`), combines with `&`, `|`, `-` and `~`,
and may be used again on any graph. It is evaluated late: when gradients are built, on the operations that lie on the path
(`between` and the positions mean positions among these), or at once by `select`. Evaluation is linear in the graph.
"""

import fnmatch
import itertools
import operator
import re

from regrad.autodiff.walking import ancestors
from regrad.core import gradient_registry, source
from regrad.core.errors import nearest
from regrad.core.graph import Graph, get_default_graph
from regrad.core.lazy import instead
from regrad.core.operation import Operation, Tensor, variable_of
from regrad.core.override_blocks import check_op_type
from regrad.core.traversal import operations_within


class Selector:
    """A set of operations, described. Subclasses define `pick` and `__repr__`."""

    def pick(self, ops):
        """Returns the set of those of `ops` (a list in creation order) that are meant."""
        raise NotImplementedError

    def select(self, source):
        """Returns the operations meant, in creation order, of a Graph, or of a list of operations.

        Those in the branches and bodies of a graph's operations count too, and stand behind the operation they belong to.
        """
        ops = operations_within(source) if isinstance(source, Graph) else sorted(source, key=lambda op: op.id)
        picked = self.pick(ops)
        return [op for op in ops if op in picked]

    def count(self, source):
        """Returns how many operations are meant."""
        return len(self.pick(operations_within(source) if isinstance(source, Graph) else list(source)))

    def __and__(self, other):
        return _Combined(self, "&", as_selector(other))

    def __or__(self, other):
        return _Combined(self, "|", as_selector(other))

    def __sub__(self, other):
        return _Combined(self, "-", as_selector(other))

    def __invert__(self):
        return _Combined(everything, "-", self)

    def __bool__(self):
        raise TypeError(f"{self!r} is neither true nor false: Python's `and`, `or` and `not` would drop a part of it. "
                        "Selectors combine with &, |, - and ~.")

    def hint(self, ops):
        """Returns words on what would have matched, for the error when nothing did."""
        return ""


def _asked(ops):
    """Returns those of `ops` that a description may mean: not the Identity operations that loops and branches consist of."""
    return [op for op in ops if not op.unasked]


class _Combined(Selector):
    def __init__(self, left, sign, right):
        self.left, self.sign, self.right = left, sign, right

    def pick(self, ops):
        left, right = self.left.pick(ops), self.right.pick(ops)
        return left & right if self.sign == "&" else left | right if self.sign == "|" else left - right

    def hint(self, ops):
        return self.left.hint(ops) or self.right.hint(ops)

    def __repr__(self):
        if self.left is everything and self.sign == "-":
            return f"~{self.right!r}"
        return f"({self.left!r} {self.sign} {self.right!r})"


class _Everything(Selector):
    def pick(self, ops):
        return set(_asked(ops))

    def __repr__(self):
        return "sel.everything"


everything = _Everything()


class Each(Selector):
    """Every operation, those included that no line of the program asked for: for what looks on and changes nothing."""

    def pick(self, ops):
        return set(ops)

    def __repr__(self):
        return "each operation"


class _Type(Selector):
    def __init__(self, *types):
        for t in types:
            check_op_type(t, "sel.type")
        self.types = types
        self.known = {gradient_registry.canonical(t) for t in types} | set(types)

    def pick(self, ops):
        known = self.known
        return {op for op in ops if op.opdef.type in known and not op.unasked}

    def hint(self, ops):
        return f"; the op types there are {', '.join(sorted({op.type for op in ops})) or 'none'}"

    def __repr__(self):
        return f"sel.type({', '.join(map(repr, self.types))})"


class _Name(Selector):
    def __init__(self, *patterns):
        for p in patterns:
            if not isinstance(p, str):
                raise TypeError(f"sel.name: names and patterns are strings, got {p!r}.")
        self.patterns = patterns
        self.exact = {p for p in patterns if not any(c in p for c in "*?[")}
        self._match = re.compile("|".join(fnmatch.translate(p) for p in patterns)).match

    def pick(self, ops):
        return {op for op in ops if self._match(op.name) and (not op.unasked or op.name in self.exact)}

    def hint(self, ops):
        names = [op.name for op in ops]
        near = nearest(self.patterns[0], names[:10_000])
        return near or (f"; the operations there are {', '.join(names)}" if len(names) <= 12 else "")

    def __repr__(self):
        return f"sel.name({', '.join(map(repr, self.patterns))})"


class _Scope(Selector):
    def __init__(self, *scopes):
        for s in scopes:
            if not isinstance(s, str):
                raise TypeError(f"sel.scope: name scopes are strings, got {s!r}.")
            if any(c in s for c in "*?["):
                raise ValueError(f"sel.scope: a scope is given by its whole name, got the pattern {s!r}; "
                                 f"sel.name({s.rstrip('/') + '/*'!r}) means what lies in scopes by a pattern.")
        self.scopes = tuple(s.rstrip("/") for s in scopes)

    def pick(self, ops):
        prefixes = tuple(s + "/" for s in self.scopes)
        return {op for op in ops if op.name.startswith(prefixes) and not op.unasked}

    def hint(self, ops):
        return nearest(self.scopes[0], {op.name.rpartition("/")[0] for op in ops} - {""})

    def __repr__(self):
        return f"sel.scope({', '.join(map(repr, self.scopes))})"


class _Where(Selector):
    def __init__(self, predicate):
        if not callable(predicate):
            raise TypeError(f"sel.where: the predicate is a function of an operation, got {predicate!r}.")
        self.predicate = predicate

    def pick(self, ops):
        ops = _asked(ops)
        asked = iter(ops)
        try:
            return set(filter(self.predicate, asked))
        except Exception as error:
            op = ops[len(ops) - operator.length_hint(asked) - 1]
            error.add_note("A function in a selector's place is called with each operation, and says whether it is meant; a "
                           f"rule stands behind its selector. This one is at {source.of_function(self.predicate)}, and was "
                           f"asked about {op.describe()}.")
            raise

    def __repr__(self):
        return f"sel.where({getattr(self.predicate, '__name__', self.predicate)})"


class _Ops(Selector):
    def __init__(self, ops):
        self.ops = frozenset(ops)

    def pick(self, ops):
        return self.ops.intersection(ops)

    def hint(self, ops):
        graphs = {op.graph for op in ops}
        strangers = sorted(op.name for op in self.ops if op.graph not in graphs)
        return f"; {', '.join(strangers[:3])} belong to another graph" if strangers and graphs else ""

    def __repr__(self):
        return f"sel.ops({', '.join(sorted(op.name for op in self.ops))})"


class _Readers(Selector):
    """What reads a variable: the places where its gradient arrives."""

    def __init__(self, handle, name):
        self.handle, self.name = handle, name

    def pick(self, ops):
        return {op for op in ops if self.handle in op.inputs}

    def __repr__(self):
        return f"readers of {self.name}"


class _Nth(Selector):
    def __init__(self, inner, index, word):
        self.inner, self.index, self.word = as_selector(inner), index, word

    def pick(self, ops):
        picked = self.inner.pick(ops)
        ordered = [op for op in ops if op in picked]
        if isinstance(self.index, slice):
            return set(ordered[self.index])
        return {ordered[self.index]} if -len(ordered) <= self.index < len(ordered) else set()

    def hint(self, ops):
        n = len(self.inner.pick(ops))
        return f"; {self.inner!r} means {n} of them, counted from 0" if n else self.inner.hint(ops)

    def __repr__(self):
        if self.word:
            return f"sel.{self.word}({self.inner!r})"
        return f"sel.nth({self.inner!r}, {self.index})"


class _Between(Selector):
    def __init__(self, xs, ys):
        self.xs, self.ys = _tensors(xs, "sel.between"), _tensors(ys, "sel.between")

    def _ways(self):
        reached, between = set(self.xs), set()
        for op in sorted(ancestors(self.ys), key=lambda op: op.id):
            if not reached.isdisjoint(op.inputs):
                between.add(op)
                reached.update(op.outputs)
        return between

    def pick(self, ops):
        return self._ways().intersection(_asked(ops))

    def hint(self, ops):
        if len({t.graph for t in (*self.xs, *self.ys)}) > 1:
            return "; the tensors belong to several graphs"
        first, last = ([t.name for t in ts] for ts in (self.xs, self.ys))
        return "" if self._ways() else f"; no path leads from {first} to {last}: what the graph computes first is given first"

    def __repr__(self):
        return f"sel.between({[t.name for t in self.xs]}, {[t.name for t in self.ys]})"


def _tensors(xs, who):
    xs = xs if isinstance(xs, (list, tuple)) else [xs]
    handles = [getattr(x, "_gradient_handle", None) for x in xs]
    for x, h in zip(xs, handles):
        if h is None and not isinstance(x, Tensor):
            hint = "; graph.get_tensor_by_name(name) gives a tensor by its name" if isinstance(x, str) else ""
            raise TypeError(f"{who} takes tensors and variables, got {x!r}{hint}.")
    return tuple(h() if h is not None else x for x, h in zip(xs, handles))


class Copies(Selector):
    """The copies of what a selector means among the originals; `made` is {original: copy}."""

    def __init__(self, inner, made):
        self.inner, self.made = inner, made

    def pick(self, ops):
        there = set(ops)
        originals = [original for original, copy in self.made.items() if copy in there]
        return {self.made[op] for op in self.inner.pick(sorted(originals, key=lambda op: op.id))}

    def __repr__(self):
        return f"copies of {self.inner!r}"


class Group(Selector):
    """A subgraph that one rule differentiates as a unit: everything between `inputs` and `outputs`.

    The rule is called as `rule(group, *output_gradients)` and returns one gradient per input; `group.inputs` and
    `group.outputs` are its tensors, `group.ops` what lies inside, which is not walked.

    Raises:
      ValueError: (when gradients are built) the cut leaks: a tensor inside is used outside without being an output, or
        a path enters by a tensor that is no input. The message names it.
    """

    def __init__(self, inputs, outputs, name="group", ops=None):
        self.inputs, self.outputs = _tensors(inputs, "sel.group"), _tensors(outputs, "sel.group")
        self.name = name
        if not self.outputs:
            raise ValueError("sel.group: a group needs at least one output.")
        if ops is None:
            inputs = set(self.inputs)
            ops, stack = set(), [t.op for t in self.outputs if t not in inputs]
            while stack:
                op = stack.pop()
                if op in ops:
                    continue
                ops.add(op)
                stack += [t.op for t in op.inputs if t not in inputs]
            if inputs and inputs.isdisjoint(self.outputs) and not any(inputs.intersection(op.inputs) for op in ops):
                first, last = ([t.name for t in ts] for ts in (self.inputs, self.outputs))
                raise ValueError(f"sel.group: no path leads from {first} to {last}: what the graph computes first is given "
                                 "first.")
        self.ops = frozenset(ops)

    @property
    def graph(self):
        return self.outputs[0].graph

    @property
    def type(self):
        return "Group"

    @property
    def location(self):
        return self.outputs[0].op.location

    def describe(self):
        return f"group '{self.name}' of {len(self.ops)} operations"

    def get_attr(self, name):
        raise ValueError(f"{self.describe()} has no attributes; look at group.ops.")

    def pick(self, ops):
        return self.ops.intersection(ops)

    def hint(self, ops):
        return _Between(self.inputs, self.outputs).hint(ops)

    def __repr__(self):
        return f"sel.group({[t.name for t in self.inputs]}, {[t.name for t in self.outputs]})"


# -- the words of the language ------------------------------------------------------------------

_WORDS = ("between", "everything", "first", "group", "group_in", "last", "name", "nth", "ops", "scope", "type", "where")


def type(*op_types):
    """Returns a selector of operations by op type ("Relu"); ValueError for a type that nobody has, with the nearest."""
    return _Type(*op_types)


def name(*patterns):
    """Returns a selector of operations by name; `*` and `?` stand for any characters."""
    return _Name(*patterns)


def scope(*names):
    """Returns a selector of what was built inside name scopes; ValueError for a pattern: `sel.name("b*/*")` takes it."""
    return _Scope(*names)


def where(predicate):
    """Returns a selector of the operations for which `predicate(op)` is true."""
    return _Where(predicate)


def ops(*operations):
    """Returns a selector of these very operations (or the producers of tensors)."""
    for x in operations:
        if not isinstance(x, Operation) and not hasattr(x, "op"):
            raise TypeError(f"sel.ops takes operations and tensors, got {x!r}; sel.name means operations by name.")
    return _Ops(x if isinstance(x, Operation) else x.op for x in operations)


def first(selector=everything):
    """Returns a selector of the earliest-made operation that `selector` means."""
    return _Nth(selector, 0, "first")


def last(selector=everything):
    """Returns a selector of the latest-made operation that `selector` means."""
    return _Nth(selector, -1, "last")


def nth(selector, index):
    """Returns a selector of operation number `index` (from 0; negative from the end), or of a slice of them."""
    if not isinstance(index, (int, slice)):
        raise TypeError(f"sel.nth: index is a whole number or a slice, got {index!r}.")
    return _Nth(selector, index, None)


def between(xs, ys):
    """Returns a selector of everything on a path from `xs` to `ys`."""
    return _Between(xs, ys)


def group(inputs, outputs, name="group"):
    """Returns the Group of everything between `inputs` and `outputs`, to be differentiated by one rule as a unit."""
    return Group(inputs, outputs, name)


def group_in(scope, graph=None, name=None):
    """Returns the Group of everything built inside a name scope, to be differentiated by one rule as a unit.

    Its inputs are the real tensors that enter the scope, in the order of their first use, and then the variables made in it;
    its outputs are the real tensors that are used outside, or by nobody. What does not lead to an output, such as an
    optimizer's slots and averages that move along, is no part of it, nor is a variable's value used outside an output.

    Raises:
      ValueError: nothing was built in the scope; the message has the nearest ones.
    """
    graph = graph or get_default_graph()
    chosen = _Scope(scope)
    ops = [op for op in chosen.select(graph._ops) if op.forward_op is None]
    inside = {op for op in ops if not op.opdef.variable and not op.opdef.writes}
    if not inside:
        raise ValueError(f"sel.group_in: no operation was built in the name scope {scope!r}{chosen.hint(graph._ops)}")
    leaving = [t for op in ops if op in inside and not _reads_variable(op) for t in op.outputs if t.dtype._kind in "fc" and (
        not t.consumers() or any(c not in inside and c.forward_op is None and not c.opdef.writes for c in t.consumers()))]
    inside &= ancestors(leaving)
    entering = dict.fromkeys(t for op in ops if op in inside for t in op.inputs if t.op not in inside and t.dtype._kind in "fc")
    return Group(sorted(entering, key=lambda t: t.op.opdef.variable), leaving, name or scope.rstrip("/"), inside)


def _reads_variable(op):
    return op.type == "Identity" and variable_of(op.inputs[0]) is not None


def as_selector(key, graph=None):
    """Returns the selector that a dictionary key means: a Selector, op type, name or pattern, operation or tensor, or a
    variable, which stands for what reads it.

    A string is an op type if there is one of that name; else a pattern if it has `*`, `?` or `/`; else an op's name.
    """
    if isinstance(key, Selector):
        return key
    if hasattr(key, "_gradient_handle"):
        return _Readers(key._gradient_handle(), key.name)
    if isinstance(key, (Operation, Tensor)) or hasattr(key, "_as_graph_element"):
        return ops(key)
    if callable(key):
        return where(key)
    if not isinstance(key, str):
        raise TypeError(f"An override is keyed by an op type, a name, a pattern, an operation or a selector, got {key!r}.")
    try:
        return type(key)
    except ValueError as error:
        if any(c in key for c in "*?/") or graph is not None and key in graph._by_name:
            return name(key)
        if graph is not None:
            near = nearest(key, itertools.islice(graph._by_name, 10_000)) or "."
            raise ValueError(f"{error} Nor has an operation that name{near}") from None
        raise


def __getattr__(name):
    """Refuses what the language has no word for."""
    raise AttributeError(f"regrad.sel has no {name!r}{instead('regrad.sel', name, __dir__())}")


def __dir__():
    return sorted(_WORDS)
