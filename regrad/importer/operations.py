"""One node of a GraphDef becomes one operation, where Regrad has its op type."""

import importlib
import itertools

import numpy as np

from regrad.core import device as devices
from regrad.core import dtypes, gradient_registry
from regrad.core.copying import copied_bodies
from regrad.core.errors import OpError, nearest
from regrad.core.graph_def import plain
from regrad.core.graph_proto import Lost, StoredBody, supplied
from regrad.core.opdef import find_op, op_types


def add_operation(graph, node, inputs, functions):
    """Returns the operation that a node of one of Regrad's op types becomes, with the rules attached to the one it was made of.

    Args:
      functions: {name in the file, or of the node: function}, what a node that was read from a file may call.

    Raises:
      ValueError: no such op type, another number of inputs, or attributes that do not fit.
    """
    old = node.operation
    if old is not None and old.type == node.op:
        return _made(graph, node, inputs, functions, old)
    try:
        return _made(graph, node, inputs, functions, None)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # which an attribute of another kind leads to
        if isinstance(error, (OpError, ValueError)):
            raise
        raise ValueError(f"NodeDef '{node.name}' ({node.op}): its attributes or inputs do not fit, {type(error).__name__}: "
                         f"{error}") from error


def _made(graph, node, inputs, functions, old):
    """Returns the operation of a node; `old` is the one that the node was made of in this process, or None."""
    if old is not None:
        attrs = {k: _attr(node, k, v) for k, v in old.attrs.items()}
        opdef, groups, attrs = old.opdef, old.groups, copied_bodies(old, attrs, graph, inputs)
    else:
        opdef, groups, attrs = described(node, inputs)
        attrs |= {key: supplied(functions, node.name, attrs[key]) for key in opdef.facts.stored.functions
                  if isinstance(attrs[key], Lost) or not callable(attrs[key])}
        attrs = _made_bodies(opdef, attrs, graph, inputs, functions)
    if opdef.facts.stored.module:
        module = importlib.import_module(opdef.facts.stored.module)
        inputs, groups, attrs = module.rebuilt(node, inputs, groups, attrs, graph, functions)
    if groups is None and len(inputs) != len(opdef.args):
        raise ValueError(f"NodeDef '{node.name}': {opdef.type} takes {len(opdef.args)} inputs, got {len(inputs)}.")
    _check_types(node, opdef, inputs, groups)
    marks = {k: plain(v.value) for k, v in node.attr.items() if _is_mark(k, opdef)}  # no arguments of the op type
    noted = {k: v for k, v in attrs.items() if k not in opdef.attrs and not _is_mark(k, opdef)} | marks
    op = graph._add(opdef, inputs, {k: v for k, v in attrs.items() if k in opdef.attrs}, node.name, groups)
    if noted:
        op.attrs = {**op.attrs, **noted}
    if node.device:
        op._set_device(devices.joined(op.device, node.device))
    rule = node.attr.get("_gradient_op_type")
    if rule is not None and op.override_scope is None:
        op._set_attr("_gradient_op_type", rule.value)
    if old is not None:
        op.attached_rules = old.attached_rules
    return op


def _attr(node, key, default):
    """Returns an attribute of a node, or `default` where it has none; ValueError where what is written there is damaged."""
    given = node.attr.get(key)
    try:
        return default if given is None else plain(given.value)
    except ValueError as error:
        raise ValueError(f"NodeDef '{node.name}', attribute {key!r}: {error}") from None


_KINDS = (((bool, int, float, np.bool_, np.number), "a number"), ((str, bytes), "text"), (dtypes.DType, "a dtype"))


_OF_OUTPUTS = frozenset(("num", "num_partitions", "num_sparse", "num_split", "top_paths"))  # which count outputs


def _checked(node, key, value, default):
    """Returns an attribute's value; ValueError where it is of another kind than the default of its op type, or an operation
    would have more outputs than any has."""
    if key in _OF_OUTPUTS and isinstance(value, int) and value > 1_000_000:
        raise ValueError(f"NodeDef '{node.name}', attribute {key!r}: {node.op} would have {value} outputs.")
    for kind, word in _KINDS:
        if isinstance(default, kind) and value is not None and not isinstance(value, kind):
            raise ValueError(f"NodeDef '{node.name}', attribute {key!r}: {node.op} has {word} there, got {value!r:.100}.")
    return value


def _check_types(node, opdef, inputs, groups):
    """Raises ValueError for inputs of dtypes that the op type does not take together."""
    types, rest = {}, iter(inputs)
    for i, arg in enumerate(opdef.args):
        for t in itertools.islice(rest, 1 if groups is None or groups[i] is None else groups[i]):
            wanted = arg.fixed or (None if arg.mixed else types.setdefault(arg.var, t.dtype))
            allowed = {wanted} if wanted is not None and t.dtype is not wanted else opdef.types.get(arg.var, {t.dtype})
            if t.dtype not in allowed:
                raise ValueError(f"NodeDef '{node.name}': {opdef.type} was passed {t.dtype.name} from {t.name}, incompatible "
                                 f"with expected {dtypes.names(allowed)} of '{arg.name}'.")


def _is_mark(key, opdef):
    """True for an attribute that any operation may have, such as "_class"."""
    return key.startswith("_") and key not in opdef.attrs and key not in ("_gradient_op_type", "_output_shapes")


def described(node, inputs):
    """Returns (OpDef, groups, attributes) for a node that was read from bytes or made by hand.

    Raises:
      ValueError: Regrad has no such op type, or the attributes are Python objects of another process.
    """
    gradient_registry.complete()
    opdef = find_op(node.op)
    if opdef is None:
        raise ValueError(f"Op type not registered '{node.op}' in Regrad, of node '{node.name}'{nearest(node.op, op_types())}")
    attrs = {}
    for key, default in opdef.attrs.items():
        attrs[key] = _checked(node, key, _attr(node, key, default), default)
    if opdef.facts.stored.complete:
        try:
            attrs = opdef.facts.stored.complete(attrs)
        except ValueError as error:
            raise ValueError(f"NodeDef '{node.name}' ({node.op}): {error}") from None
    lists = [i for i, arg in enumerate(opdef.args) if arg.is_list]
    if not lists:
        return opdef, None, attrs
    groups = [None] * len(opdef.args)
    if len(lists) == 1:
        groups[lists[0]] = len(inputs) - len(opdef.args) + 1
    else:
        for i in lists:
            types = node.attr.get(opdef.args[i].var)
            count = node.attr.get("N") if types is None or not isinstance(types.value, (tuple, list)) else None
            groups[i] = count.value if count is not None else len(types.value) if types is not None else 0
    return opdef, tuple(groups), attrs


def _made_bodies(opdef, attrs, graph, inputs, functions):
    """Returns the attributes with bodies made of what a file holds of them."""
    if not opdef.facts.bodies:
        return attrs
    first = attrs.get("n_carry", 0)
    inputs = inputs[opdef.facts.bodies.offset:]

    def made(value):
        if isinstance(value, tuple):
            return tuple(made(v) for v in value)
        return value.make(graph, inputs, first, functions) if isinstance(value, StoredBody) else value

    return {key: made(value) for key, value in attrs.items()}
