"""What a compiled program looks at: operations that values may refuse, as far as nobody knows beforehand that they do not.

Op types declare it (`core.opdef.Refusal`, `Bounds`); NumPy's lowerings raise. Of what is compiled this is found here:

- what comes from outside of a segment, the host looks at before it calls the program: indices and labels that were fed;
- what is known to be right nobody looks at: constants, what was looked at already, and integers whose range is known, such as
  what argmax gives, a remainder, and the counter of a loop;
- of the rest the program tells by one number, which operation was refused first, those in branches and loops included
  (`backend.XlaBackend.look`). The caller reads it before anything is committed, and NumPy says of the same values what is
  wrong with them (`Segment.refused`).
"""

import itertools
import operator

import numpy as np

from regrad.core.errors import InvalidArgumentError
from regrad.core.opdef import Bounds, Known, Ranged, Spec, declared_attrs, refusal_of
from regrad.core.traversal import body_graphs, operations_within
from regrad.runtime import config

_JOINING = {"Transpose": slice(0, 1), "Pack": slice(None), "ConcatV2": slice(0, -1)}
_MOST = 64  # values that an index is put together from, and steps back to them


class Checks:
    """What is to be looked at of the nodes of a segment.

    Attributes:
      before: [(value number, limit, Bounds, operation, shape)] for what the host looks at.
      within: {node: its operations that the program tells of}: itself, or those in its bodies.
      first: none of these comes after the first node that overwrites anything. So the program can leave that as it was.
    """

    __slots__ = ("before", "first", "within")

    def __init__(self, nodes, infos, outermost, known=()):
        """Args: infos: Specs by value number; outermost: the host can look; known: nodes that an earlier segment tells of."""
        self.before, self.within, self.first = [], {}, True
        asked = [(n, refusal_of(n.op)) for n in nodes if n not in known]
        asked = [(n, refusal) for n, refusal in asked if refusal is not None or n.opdef.facts.bodies]
        if not asked:
            return
        wanted, seen = config.checks == "all", {}
        maker = {v: n for n in nodes for v in n.outs}
        for node, refusal in asked:
            if refusal is None:
                inside = _inside(node, maker, infos) if wanted else ()
                if inside:
                    self.within[node] = inside
            elif isinstance(refusal, Bounds):
                self._index(node, refusal, maker, infos, outermost, seen, wanted)
            elif wanted and not (refusal.never and refusal.never(*_ranged(node, maker, infos), **declared_attrs(node.op))):
                self.within[node] = [node.op]
        if self.within:
            written = next((at for at, n in enumerate(nodes) if n.opdef.writes), len(nodes))
            self.first = len(nodes) <= config.apart_ops and self.within.keys() <= set(nodes[:written])

    def _index(self, node, bounds, maker, infos, outermost, seen, wanted):
        """Notes who looks at an index; `seen`: {(value, limit): spare} of what is looked at."""
        inputs = _specs(node, infos)
        limit = bounds.limit(*inputs, **declared_attrs(node.op))
        v = node.ins[bounds.position]
        roots = _roots(v, maker, infos, bounds.spare)

        def fits(v):
            least, largest = _range(v, maker, infos, _MOST)
            return largest < (limit if type(limit) is int else min(limit, default=0)) and (
                least >= 0 or bounds.spare == "negative")

        right = fits(v) or isinstance(infos[v], Known) and bounds.hold(infos[v].array, limit)
        if right or all(seen.get((root, limit), "nobody") in (None, bounds.spare) or fits(root) for root in roots):
            return
        origin = _origin(v, maker, infos)
        if outermost and origin is not None:
            self.before.append((origin, limit, bounds, node.op, inputs[bounds.position].dims))
        elif wanted:
            self.within[node] = [node.op]
        else:
            return
        seen.update(((root, limit), bounds.spare) for root in roots)


def _specs(node, infos):
    return [infos[v] if v >= 0 else Spec(t.dims, t.dtype) for v, t in zip(node.ins, node.op.inputs)]


def _ranged(node, maker, infos):
    """Returns the Specs of a node's inputs, Ranged where they are integers whose value is not known."""
    return [Ranged(spec.dims, spec.dtype, *_range(v, maker, infos, _MOST))
            if v >= 0 and spec.dtype.is_integer and not isinstance(spec, Known) else spec
            for v, spec in zip(node.ins, _specs(node, infos))]


def _inside(node, maker, infos):
    """Returns the operations in the bodies of a node that its program tells of."""
    op = node.op
    if not may_be_refused(op):
        return []
    from regrad.runtime.bodies import body_dims, body_stage

    specs = _ranged(node, maker, infos)
    found, graphs = [], body_graphs(op)
    try:
        calls = op.opdef.facts.bodies.calls(op, specs, body_dims)
        if calls is not None:
            for graph, specs, _ in calls:
                stage = body_stage(graph, specs)
                for segment in stage.segments:
                    found += itertools.chain(*Checks(segment.nodes, stage.infos, False).within.values())
            graphs = [graph for graph in graphs if calls and all(graph is not called for called, *_ in calls)]
    except (InvalidArgumentError, ValueError):  # a branch that is not taken may not fit the shapes of this run
        pass
    return found + [inner for graph in graphs for inner in operations_within(graph) if _refusable(inner)]


def _refusable(op):
    refusal = refusal_of(op)
    return refusal is not None and not (refusal.never and refusal.never(*op.inputs, **declared_attrs(op)))


def may_be_refused(op):
    """True if values may refuse `op`, or an operation in its branches or bodies."""
    return _refusable(op) or any(_refusable(inner) for graph in body_graphs(op) for inner in operations_within(graph))


def _origin(v, maker, infos):
    """Returns the value from outside whose integers, all of them and in order, are those of `v`; None if there is none."""
    while v in maker and maker[v].opdef.facts.passes_value:
        v = maker[v].ins[0]
    return v if v not in maker and infos[v].dtype.is_integer and not isinstance(infos[v], Known) else None


def _roots(v, maker, infos, spare):
    """Returns the values all of whose integers are in `v`, which holds no others but spare ones."""
    roots, stack = set(), [v]
    while stack:
        v = stack.pop()
        node, parts = maker.get(v), ()
        if node is not None and len(stack) < _MOST:
            if node.opdef.facts.passes_value:
                parts = node.ins[:1]
            elif node.op.type in _JOINING:
                parts = node.ins[_JOINING[node.op.type]]
            elif node.op.type == "SumRepeatedRows" and spare == "largest":
                parts = node.ins[1:]
        if parts and all(infos[w].dtype.is_integer for w in parts):
            stack += parts
        else:
            roots.add(v)
    return roots


# -- ranges -----------------------------------------------------------------------------------------


def _range(v, maker, infos, steps):
    """Returns (least, largest) that the integers of a value can be."""
    info = infos[v]
    if not info.dtype.is_integer:
        return -np.inf, np.inf
    if isinstance(info, Known):
        return (int(info.array.min()), int(info.array.max())) if info.array.size else (0, -1)
    if isinstance(info, Ranged):
        return info.low, info.high
    limits = np.iinfo(info.dtype.as_numpy_dtype)
    node = maker.get(v)
    if node is None or not steps:
        return limits.min, limits.max
    bodies = node.opdef.facts.bodies
    rule = (_PASSED if node.opdef.facts.passes_value else _RANGES.get(node.op.type)) or bodies and bodies.counters and _counted
    found = rule and rule(node, v, infos, lambda *values: [_range(w, maker, infos, steps // 2) for w in values])
    return found if found and limits.min <= found[0] and found[1] <= limits.max else (limits.min, limits.max)


def _all_of(places):
    """Returns the rule of an operation that gives integers of some of its operands."""
    def rule(node, v, infos, ranges):
        lows, highs = zip(*ranges(*node.ins[places]))
        return min(lows), max(highs)

    return rule


def _ends(function):
    """Returns the rule of an element-wise function that grows, or falls, with each operand."""
    def rule(node, v, infos, ranges):
        ends = [function(x, y) for x, y in itertools.product(*ranges(*node.ins))]
        return min(ends), max(ends)

    return rule


def _remainder(node, v, infos, ranges):
    (divisor,) = ranges(node.ins[1])
    return (0, divisor[1] - 1) if divisor[0] > 0 else None


def _quotient(node, v, infos, ranges):
    x, y = ranges(*node.ins)
    return (0, x[1] // y[0]) if x[0] >= 0 and y[0] > 0 else None


def _drawn(node, v, infos, ranges):
    low, high = ranges(*node.ins[1:3])
    return low[0], high[1] - 1


def _places(node, v, infos, ranges):
    """Places along an axis."""
    axis, dims = infos[node.ins[1]].value(), infos[node.ins[0]].dims
    return None if axis is None else (0, dims[int(axis)] - 1)


def _classes(node, v, infos, ranges):
    """Places along the last axis: of the largest, or drawn by chances."""
    return (0, infos[node.ins[0]].dims[-1] - 1) if v == node.outs[-1] else None


def _counted(node, v, infos, ranges):
    """What a loop has saved of its counters."""
    return node.opdef.facts.bodies.counters(node.op, _specs(node, infos)).get(node.outs.index(v))


_PASSED = _all_of(slice(0, 1))
_RANGES = {
    **{kind: _all_of(places) for kind, places in _JOINING.items()},
    **dict.fromkeys(("StridedSlice", "Slice", "Unpack", "BroadcastTo", "GatherV2", "GatherNd", "ReverseV2", "Roll", "Tile"),
                    _all_of(slice(0, 1))),
    "Split": _all_of(slice(1, 2)), "Range": _all_of(slice(0, 2)), "SelectV2": _all_of(slice(1, 3)),
    **dict.fromkeys(("Add", "AddV2"), _ends(operator.add)), "Sub": _ends(operator.sub), "Mul": _ends(operator.mul),
    "Minimum": _ends(min), "Maximum": _ends(max), "FloorMod": _remainder, "FloorDiv": _quotient,
    "ArgMax": _places, "ArgMin": _places, "TopKV2": _classes, "Multinomial": _classes, "RandomUniformInt": _drawn,
}
