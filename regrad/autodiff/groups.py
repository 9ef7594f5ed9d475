"""Groups on the way back: subgraphs that one rule differentiates as a unit."""

import heapq
import warnings

from regrad.autodiff.overrides import OverrideError
from regrad.autodiff.partials import Partials
from regrad.autodiff.resolution import BoundRule
from regrad.autodiff.rules import as_rule
from regrad.core import source
from regrad.core.errors import RegradWarning


class GroupStep:
    """A group on the path, standing where its operations stood; its default is the walk through its inside.

    Attributes:
      members: its operations on the path, in creation order.
      nested: the (Group, Override) pairs in force inside it, for its default.
    """

    def __init__(self, walk, group, override, members):
        self.group, self.override, self.members, self.nested = group, override, members, []
        self.inputs, self.outputs, self.ops = group.inputs, group.outputs, group.ops
        self.graph, self.type, self.name = walk.graph, "Group", group.name
        self.location = group.location
        self.rule = BoundRule(as_rule(override.rule), group.name, f"group at {override.where}", override,
                              lambda: self._inside(walk))

    def describe(self):
        return self.group.describe()

    def get_attr(self, name):
        return self.group.get_attr(name)

    def _inside(self, walk):
        def function(_, *grads):
            sums = Partials(walk.accumulate)
            for t, g in zip(self.outputs, grads):
                if g is not None:
                    sums.add(t, g)
            for op in grouped_order(walk, self.nested, self.members):
                walk.step(op, sums)
            totals = {t: sums.total(t) for t in self.inputs}
            if walk.complains and not any(g is not None for g in totals.values()):
                self._warn_of_integers(walk)
            return [totals.pop(t, None) for t in self.inputs]  # a tensor that is an input twice gets its gradient once

        return BoundRule(function, "default", "the group's own operations")

    def _warn_of_integers(self, walk):
        whole = next((t for op in self.members for t in op.outputs if not walk.flows(t)), None)
        if whole is not None:
            warnings.warn(f"{self.describe()}: its own operations give no gradient to any of its inputs, as the way leads "
                          f"through {whole.name}, which is {whole.dtype.name}; a rule of a group that asks for its default "
                          f"there gets None. The group is made at {self.override.where}.", RegradWarning,
                          stacklevel=source.level())


def grouped_order(walk, groups, path):
    """Returns operations of `path` and GroupSteps, each after all its consumers.

    Of groups that lie in one another the outer one takes the step, and the inner one is in force in its default; of equal ones
    the first.

    Raises:
      OverrideError: a group's cut leaks, or two groups overlap.
    """
    if not groups:
        return path[::-1]
    inside = _owners(walk, groups, path)
    members_of = {}
    for op in path:
        members_of.setdefault(inside.get(op, op), []).append(op)
    producers, waiting = {}, dict.fromkeys(members_of, 0)  # waiting: how many consumers have not taken their step yet
    for node, ops in members_of.items():
        producers[node] = {inside.get(t.op, t.op) for op in ops for t in op.inputs} & members_of.keys() - {node}
        for p in producers[node]:
            waiting[p] += 1
    newest_first = {node: (-max(op.id for op in ops), i, node) for i, (node, ops) in enumerate(members_of.items())}
    ready = [newest_first[n] for n in members_of if not waiting[n]]
    heapq.heapify(ready)
    steps = []
    while ready:
        node = heapq.heappop(ready)[2]
        steps.append(node)
        for p in producers[node]:
            waiting[p] -= 1
            if not waiting[p]:
                heapq.heappush(ready, newest_first[p])
    if len(steps) != len(members_of):
        stuck = next(n for n in members_of if n not in set(steps) and isinstance(n, GroupStep))
        raise OverrideError(f"{stuck.describe()} is no unit: a path leaves it and comes back into it.")
    return steps


def _owners(walk, groups, path):
    """Returns {operation: the GroupStep that it belongs to}."""
    inside = {}
    for group, override in groups:
        members = [op for op in path if op in group.ops]
        if not members:
            continue
        step = GroupStep(walk, group, override, members)
        _check_leaks(walk, group, members, override)
        for other in {id(inside[op]): inside[op] for op in members if op in inside}.values():
            if group.ops.issuperset(other.members) and len(other.members) < len(members):
                step.nested += [(other.group, other.override), *other.nested]
            elif other.group.ops.issuperset(members):
                other.nested.append((group, override))
                break
            else:
                raise OverrideError(f"{group.describe()}, made at {override.where}, and {other.describe()}, made at "
                                    f"{other.override.where}, overlap, and neither lies inside the other.")
        else:
            inside.update(dict.fromkeys(members, step))
    return inside


def _check_leaks(walk, group, members, override):
    inner, outputs, inputs = group.ops, set(group.outputs), set(group.inputs)
    path = set(walk.path)
    for x in walk.xs:
        if x.op in inner and x not in inputs and x not in outputs:
            raise OverrideError(f"{group.describe()} leaks: the gradient by {x.name}, which lies inside, is asked for, but the "
                                f"rule answers for {[i.name for i in group.inputs]} alone. Make it an input, sel.group([..., "
                                "x], outputs), for which the rule gives a gradient too (None where it is to get none), or "
                                f"leave it out of what is asked for; the group is made at {override.where}.")
    for op in members:
        for t in op.outputs:
            used = next((c for c in t.consumers() if c in path and c not in inner), None)
            if t not in outputs and (used is not None or t in walk.ys):
                where = f"by {used.describe()}" if used is not None else "as one of ys"
                raise OverrideError(f"{group.describe()} leaks: {t.name}, made inside by {op.describe()}, is used outside "
                                    f"{where}, but is not among the outputs {[o.name for o in group.outputs]}; the group is "
                                    f"made at {override.where}.")
        for t in op.inputs:
            if t in walk.wanted and t not in inputs and t.op not in inner and walk.flows(t):
                raise OverrideError(f"{group.describe()} leaks: a path enters it by {t.name}, an input of {op.describe()}, "
                                    f"which is not among the inputs {[i.name for i in group.inputs]}; the group is made at "
                                    f"{override.where}.")
