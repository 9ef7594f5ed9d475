"""Copies of operations: in the same graph on other inputs, or in another graph; bodies of loops and branches are copied too."""

from regrad.core.func_graph import FuncGraph
from regrad.core.opdef import declared_attrs
from regrad.core.operation import variable_of
from regrad.core.shapes import compatible


def copy_op(op, graph, inputs, name, controls=()):
    """Returns a copy of `op` in `graph`.

    Its overrides stay with it: those of blocks around the original, and rules attached to it.

    Args:
      inputs: tensors of `graph`, one for each input of `op`, of its dtype.
      name: of the copy, made unique; with "/" at its end taken as it is.
      controls: operations of `graph` to wait for.
    """
    attrs = copied_bodies(op, op.attrs, graph, inputs)
    with graph.as_default(), graph.control_dependencies(None), graph.control_dependencies(controls):
        copy = graph._add(op.opdef, tuple(inputs), declared_attrs(op), name, op.groups)
    copy.attrs, copy._device = attrs, op._device
    copy._controls = tuple(controls)
    copy.override_scope, copy.attached_rules = op.override_scope, op.attached_rules
    for old, new in zip(op.outputs, copy.outputs):
        if compatible(old.dims, new.dims):
            new.set_shape(old.dims)
    return copy


def copied_bodies(op, attrs, graph, inputs):
    """Returns the attributes `attrs` of `op` with copies of its bodies, for an operation of `graph` on `inputs`.

    Two operations must not share a body: what the gradient of one saves is added to it.
    """
    bodies = op.opdef.facts.bodies
    if bodies is None:
        return attrs
    # Input i of a body is input offset + i of its operation; what is captured stands behind the loop variables.
    inputs = inputs[bodies.offset:]
    first = bodies.loop_vars(op)
    return {key: _copied(value, graph, inputs, first) for key, value in attrs.items()}


def _copied(value, graph, inputs, first):
    if isinstance(value, FuncGraph):
        return _copy_body(value, graph, inputs, first)
    if isinstance(value, tuple) and any(isinstance(v, FuncGraph) for v in value):
        return tuple(_copied(v, graph, inputs, first) for v in value)
    return value


def _copy_body(body, outer, inputs, first):
    """Returns a copy of a body whose inputs stand for `inputs`, tensors of `outer`; captures begin at input `first`."""
    new = FuncGraph(body.name, outer)
    for name in ("n_carry", "n_explicit"):
        if name in body.__dict__:
            setattr(new, name, getattr(body, name))
    last = first + len(body.outer_inputs)
    given = dict(zip(body.inputs[first:last], inputs[first:last]))
    made: dict = {}
    for op in body._ops:
        copy = copy_op(op, new, [made[t] for t in op.inputs], op.name + "/", [made[c] for c in op.control_inputs])
        if op.opdef.type == "FuncInput" and op.outputs[0] in given and op.attrs.get("variable") is not None:
            copy.attrs = {**op.attrs, "variable": variable_of(given[op.outputs[0]])}
        made[op] = copy
        made.update(zip(op.outputs, copy.outputs))
    new.inputs = [made[t] for t in body.inputs]
    new.outputs = [made[t] for t in body.outputs]
    new.outer_inputs = list(given.values())
    new.captures = {outside: made[inside] for inside, outside in given.items()}
    new.built = True
    return new
