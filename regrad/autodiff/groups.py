"""Groups on the way back: subgraphs that one rule differentiates as a unit."""

import heapq

from regrad.autodiff.overrides import OverrideError
from regrad.autodiff.partials import Partials
from regrad.autodiff.resolution import BoundRule
from regrad.autodiff.rules import as_rule


class GroupStep:
    """A group on the path, standing where its operations stood; its default is the walk through its inside."""

    def __init__(self, walk, group, override):
        self.group = group
        self.inputs, self.outputs, self.ops = group.inputs, group.outputs, group.ops
        self.graph, self.type, self.name = walk.graph, "Group", group.name
        self.location = group.location
        self.rule = BoundRule(as_rule(override.rule), group.name, f"group at {override.where}", override,
                              lambda: self._inside(walk))
        override.caught += 1

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
            members = [op for op in walk.path if op in self.ops]
            for op in reversed(members):
                walk.step(op, sums)
            totals = {t: sums.total(t) for t in self.inputs}
            return [totals.pop(t, None) for t in self.inputs]  # a tensor that is an input twice gets its gradient once

        return BoundRule(function, "default", "the group's own operations")


def grouped_order(walk, groups):
    """Returns operations and GroupSteps, each after all its consumers; OverrideError when a group's cut leaks."""
    inside = {}
    for group, override in groups:
        members = [op for op in walk.path if op in group.ops]
        if not members:
            continue
        step = GroupStep(walk, group, override)
        _check_leaks(walk, group, members, override)
        for op in members:
            inside.setdefault(op, step)  # the first override in force wins
    members_of = {}
    for op in walk.path:
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
