"""Walks over a graph: what operations need, what they assign, and the operations in bodies of branches and loops."""

from regrad.core.func_graph import FuncGraph
from regrad.core.operation import Tensor, variable_of


def may_assign(op):
    """True for an operation that may write variables."""
    return bool(op.opdef.writes or op.opdef.facts.bodies)


def assigned_by(op):
    """Yields the variable operations that one operation assigns, inside its branches or body too."""
    for i in op.opdef.writes:
        assigned = variable_of(op.inputs[i])
        if assigned is not None:
            yield assigned
    for body in body_graphs(op):
        for inner in body._ops:
            yield from assigned_by(inner)


def body_graphs(op):
    """Returns the FuncGraphs among an operation's attributes: branches, loop bodies."""
    if not op.opdef.facts.bodies:
        return ()
    values = (v for value in op.attrs.values() for v in (value if isinstance(value, (list, tuple)) else (value,)))
    return [v for v in values if isinstance(v, FuncGraph)]


def operations_within(graph, gradients=True):
    """Returns the operations of a graph, behind each those of its branches and bodies, to any depth.

    Without `gradients`, what gradients are made of is left out, with all that is inside.
    """
    found, stack = [], [iter(graph._ops)]
    while stack:
        for op in stack[-1]:
            if not gradients and op.forward_op is not None:
                continue
            found.append(op)
            bodies = body_graphs(op)
            if bodies:
                stack.append(inner for body in bodies for inner in body._ops)
                break
        else:
            stack.pop()
    return found


def assigned_before(ops):
    """Returns the variable operations that are assigned by `ops` or by what these wait for.

    What each operation waits for is remembered, so that asking at every step of a growing graph stays linear.
    """
    return frozenset().union(*(_assigned_up_to(op) for op in ops))


def _assigned_up_to(op):
    graph = op.graph
    revision, known = graph.__dict__.get("_assigned", (None, {}))
    if revision != graph._revision:
        revision, known = graph._assigned = (graph._revision, {})
    stack = [op]
    while stack:
        last = stack[-1]
        if last in known:
            stack.pop()
            continue
        before = {*(t.op for t in last.inputs), *last._controls}
        missing = [other for other in before if other not in known]
        if missing:
            stack += missing
            continue
        sets = {id(s): s for s in map(known.__getitem__, before) if s}
        if may_assign(last):
            sets[0] = frozenset(assigned_by(last))
        known[last] = frozenset().union(*sets.values()) if len(sets) > 1 else next(iter(sets.values()), frozenset())
        stack.pop()
    return known[op]


def needed(fetches, fed=()):
    """Returns the set of operations that the fetches, tensors or operations, depend on, stopping at fed tensors."""
    seen = set()
    stack = list(fetches)
    while stack:
        item = stack.pop()
        if isinstance(item, Tensor):
            if item in fed:
                continue
            item = item.op
        if item in seen:
            continue
        seen.add(item)
        for t in item.inputs:
            if t.op not in seen and (not fed or t not in fed):
                stack.append(t.op)
        for c in item._controls:
            if c not in seen:
                stack.append(c)
    return seen
