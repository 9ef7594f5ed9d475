"""Schedules of gradients by a step that nothing advances: a run that trains by one is told so, once."""

import warnings

from regrad.core import source
from regrad.core.errors import RegradWarning
from regrad.core.traversal import assigned_by, needed, operations_within


def warn_of_still_steps(plan):
    """Warns (RegradWarning) where a run changes variables by a schedule of a step that no operation of the graph changes.

    What sets the step to its first value, or to that of a checkpoint, does not count.
    """
    graph, found = plan.graph, []
    for step, schedule in graph.schedules.items():
        if step in plan.reads and plan.commits and not any(t.op is step or step in _read_of(t) for t in plan.fed):
            found.append((step, schedule))
    if not found:
        return
    writers = {}
    for op in operations_within(graph):
        for variable in assigned_by(op):
            writers.setdefault(variable, []).append(op)
    for step, schedule in found:
        del graph.schedules[step]
        if not any(map(_advances, writers.get(step, ()))):
            warnings.warn(f"The schedule {schedule} is a function of {step.name!r}, which nothing in the graph advances: it "
                          "stays at its first value. Give the step to what trains, minimize(loss, global_step=step) with step "
                          "= tf.train.get_or_create_global_step(), or advance it, tf.assign_add(step, 1).",
                          RegradWarning, stacklevel=source.level())


def _read_of(tensor):
    return [t.op for t in tensor.op.inputs] if tensor.op.type == "Identity" else ()


def _advances(op):
    """True for a writer that may give a step another value than its first, or one of a checkpoint."""
    if op.type != "Assign":
        return True
    behind = needed([op.inputs[1]])
    return not any(o.type.startswith("Restore") for o in behind) and any(
        o.opdef.variable or o.type.startswith("Placeholder") or o.opdef.stateful for o in behind)
