"""`tf.contrib.copy_graph`: variables and operations of one graph made again in another."""

from regrad.core.copying import copy_op
from regrad.core.graph_keys import GraphKeys
from regrad.core.operation import Operation, Tensor
from regrad.runtime.session import Session
from regrad.variables.variable import Variable


def _scoped(name, scope):
    return f"{scope}/{name}" if scope else name


def copy_variable_to_graph(org_instance, to_graph, scope=""):
    """Returns a variable of `to_graph` that begins as `org_instance` does, with its dtype, collections, and name below `scope`.

    Raises:
      TypeError: `org_instance` is no variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance!r} is not a Variable")
    graph = org_instance.graph
    plain = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)
    collections = [name if name in plain else _scoped(name, scope) for name in graph.get_all_collection_keys()
                   if isinstance(name, str) and any(v is org_instance for v in graph.get_collection_ref(name))]
    with Session(graph=graph) as session:
        value = session.run(org_instance.initial_value)
    with to_graph.as_default(), to_graph.name_scope(None):
        return Variable(value, trainable=org_instance.trainable, name=_scoped(org_instance.op.name, scope),
                        collections=collections, validate_shape=False)


def copy_op_to_graph(org_instance, to_graph, variables, scope=""):
    """Returns an operation or tensor of `to_graph` that computes what `org_instance` does, below the name scope `scope`.

    Everything that it is made of is copied too, unless a copy of that name stands there already.

    Args:
      org_instance: Tensor, Operation or Variable.
      to_graph: the other graph.
      variables: variables of `to_graph` that `copy_variable_to_graph` made; their originals are not copied again.
      scope: name scope of the copies.

    Raises:
      TypeError: `org_instance` is none of these.
    """
    if isinstance(org_instance, Variable):
        return next((v for v in variables if v.op.name == _scoped(org_instance.op.name, scope)), None) or \
            copy_variable_to_graph(org_instance, to_graph, scope)
    if not isinstance(org_instance, (Operation, Tensor)):
        raise TypeError(f"Could not copy instance: {org_instance!r}")
    wanted = org_instance if isinstance(org_instance, Operation) else org_instance.op
    there = {op.name for op in to_graph.get_operations()}
    stack, ops = [wanted], {}
    while stack:
        op = stack.pop()
        if op not in ops and _scoped(op.name, scope) not in there:
            ops[op] = True
            stack += [t.op for t in op.inputs] + list(op.control_inputs)
    found = {}
    for op in sorted(ops, key=lambda op: op.id):
        inputs, controls = ([_copied(t, to_graph, scope, found) for t in things] for things in (op.inputs, op.control_inputs))
        with to_graph.name_scope(None):
            found[op] = copy_op(op, to_graph, inputs, _scoped(op.name, scope) + "/", controls)
    return _copied(org_instance, to_graph, scope, found)


def _copied(thing, graph, scope, found):
    if isinstance(thing, Operation):
        return found.get(thing) or graph.get_operation_by_name(_scoped(thing.name, scope))
    return _copied(thing.op, graph, scope, found).outputs[thing.value_index]


def get_copied_op(org_instance, graph, scope=""):
    """Returns the copy of an operation, tensor or variable that stands in `graph` below the name scope `scope`."""
    if isinstance(org_instance, Variable):
        name = _scoped(org_instance.op.name, scope)
        return next(v for v in graph.get_collection("variables") if v.op.name == name)
    return graph.as_graph_element(_scoped(org_instance.name, scope))


__all__ = ["copy_op_to_graph", "copy_variable_to_graph", "get_copied_op"]
