"""Op types that TensorFlow writes and Regrad has in another form.

A translation takes a region, a node and its inputs, and returns the node's outputs: tensors, or what stands for a handle. A
TensorArray, and a list of tensors, is the tensor that holds its rows: TensorFlow's `flow` carries the contents. What one
node of another type can stand for is in `core/tf_nodes.py`.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant
from regrad.core.graph_def import attribute
from regrad.core.opdef import find_op
from regrad.core.operation import Tensor
from regrad.core.shapes import as_dims

_HANDLES = (dtypes.resource, dtypes.variant)


def translated(region, node, inputs):
    """Returns the outputs of a node that is not simply an operation of its type; None for one that is."""
    if node.operation is not None:
        return None
    if node.op in region.library:
        return _call(region, node, inputs, node.op)
    translation = TRANSLATIONS.get(node.op)
    if node.op.startswith("TensorArray") and _has_no_handle(region, node, inputs):
        return None
    if translation is not None and (node.op not in _BODIES or hasattr(node.attr[_BODIES[node.op]].value, "attr")):
        return translation(region, node, inputs)
    return None


def _const(value, dtype=np.int32):
    return constant(np.asarray(value, dtype))


# -- functions ------------------------------------------------------------------------------
def _results(region, node, values, effects=()):
    """Gives the tensors among a call's results the node's name."""
    from regrad.ops.array import identityn_op
    from regrad.ops.control import group

    tensors = [v for v in values if isinstance(v, Tensor) and not _is_storage(v)]
    with region.graph.control_dependencies(effects):
        if not tensors:
            region.ops[node.name] = group(name=node.name)
            return values
        named = iter(identityn_op(tensors, name=node.name))
    values = [next(named) if isinstance(v, Tensor) and not _is_storage(v) else v for v in values]
    region.ops[node.name] = next(v.op for v in values if isinstance(v, Tensor) and not _is_storage(v))
    return values


def _is_storage(value):
    from regrad.core.operation import variable_of

    return variable_of(value) is not None


def _call(region, node, inputs, name=None):
    if name is None:
        function, structure = region.function(node, node.attr["f"].value)
    else:  # a function called under its own name, as TensorFlow 1's Defun is
        function, structure = region.library.function(name, node.attr, node)
    values, effects = region.called(node, function, structure, inputs)
    gradient = region.library.gradients.get(function.name)
    if gradient is None:
        return _results(region, node, values, effects)

    def rule(op, *dys):
        n = len(values)
        return [None] * n + _gradient_called(region, node, gradient, op.inputs[n:], dys[:n])

    from regrad.ops.array import identityn_op

    with region.graph.control_dependencies(effects):
        named = identityn_op([*values, *inputs], name=node.name)
    region.ops[node.name] = named[0].op
    named[0].op.attached_rules = [rule]
    return named[:len(values)]


def _gradient_called(region, node, name, arguments, dys):
    """Returns what the function `name`, another one's gradient, gives for its arguments."""
    function, structure = region.library.function(name, {}, node)
    return region.called(node, function, structure, [*arguments, *dys])[0]


def _symbolic_gradient(region, node, inputs):
    """The gradient of a function, as TensorFlow 1 writes what `tf.gradients` makes of a call."""
    from regrad.autodiff.walking import inner_gradients
    from regrad.ops.array import zeros_like

    named = node.attr["f"].value
    n = len(node.attr["Tout"].value)
    xs, dys = inputs[:n], inputs[n:]
    gradient = region.library.gradients.get(named.name)
    if gradient is not None:
        return _results(region, node, _gradient_called(region, node, gradient, xs, dys))
    ys, _ = region.called(node, *region.function(node, named), xs)
    grads = [zeros_like(x) if g is None else g for x, g in zip(xs, inner_gradients(ys, xs, dys))]
    return _results(region, node, grads)


def _branches(region, node, arguments, named):
    """Returns the functions that run the branches of a node."""
    def branch(function, structure):
        def make():
            values, effects = region.called(node, function, structure, arguments)
            if not effects:
                return values
            from regrad.ops.control import tuple as wait

            return wait(values, control_inputs=effects) if values else effects[-1]
        return make

    return [branch(*region.function(node, f)) for f in named]


def _if(region, node, inputs):
    from regrad.ops.array import size
    from regrad.ops.compare import not_equal
    from regrad.ops.flow import cond

    predicate = inputs[0]
    if predicate.dims != () and predicate.dims is not None:
        predicate = size(predicate)
    if predicate.dtype is not dtypes.bool_:
        predicate = not_equal(predicate, constant("" if predicate.dtype is dtypes.string else 0, predicate.dtype))
    branches = _branches(region, node, inputs[1:], [node.attr[k].value for k in ("then_branch", "else_branch")])
    return _chosen(region, node, cond(predicate, *branches, strict=True, name=f"{node.name}/If"))


def _case(region, node, inputs):
    from regrad.ops.flow import switch_case

    branches = _branches(region, node, inputs[1:], node.attr["branches"].value)
    made = switch_case(inputs[0], branches, name=f"{node.name}/Case")
    return _chosen(region, node, made if isinstance(made, (list, tuple)) or not isinstance(made, Tensor) else [made])


def _chosen(region, node, made):
    if isinstance(made, (list, tuple)):
        return _results(region, node, list(made))
    region.ops[node.name] = made
    return []


def _while(region, node, inputs):
    from regrad.importer.region import repeated

    (test, test_nodes), (body, body_nodes) = (region.function(node, node.attr[k].value) for k in ("cond", "body"))
    unchanged = [body_nodes.origin(text) == argument for text, argument in zip(body.results, body.arguments)]

    def step(values, wanted):
        found, effects = region.called(node, body, body_nodes, values)
        if not effects:
            return [found[i] for i in wanted]
        from regrad.ops.control import tuple as wait

        return wait([found[i] for i in wanted], control_inputs=effects)

    last = repeated(f"{node.name}/While", list(inputs), unchanged,
                    lambda values: region.called(node, test, test_nodes, values)[0][0], step)
    return _results(region, node, last)


_BODIES = {"If": "then_branch", "While": "body", "Case": "branches"}  # the op types that Regrad has under these names, too


# -- handles ----------------------------------------------------------------------------------------
def _passed(region, node, inputs):
    """Identity and the like: handles, and what stands for them, are passed on as they are."""
    kinds = attribute(node, "T")
    if not isinstance(kinds, tuple):
        kinds = (kinds,)
    if all(isinstance(v, Tensor) for v in inputs) and not any(k in _HANDLES for k in kinds):
        return None
    return inputs


def _nothing(region, node, inputs):
    op = _make("NoOp", (), node.name)
    region.ops[node.name] = op
    return []


# -- TensorArrays ----------------------------------------------------------------------------------
class Array:
    """Stands for the handle of a TensorArray: what its operations have to know besides the rows."""

    def __init__(self, dtype, dynamic):
        self.dtype, self.dynamic = dtype, dynamic


def _has_no_handle(region, node, inputs):
    """True for a node that Regrad wrote: its TensorArrays consist of their rows alone."""
    if node.op == "TensorArrayV3":
        used = region.structure.used
        return node.name + ":0" in used and node.name + ":1" not in used
    opdef = find_op(node.op)
    return opdef is not None and len(inputs) == len(opdef.args)


def _make(op_type, inputs, name, **attrs):
    return find_op(op_type)(*inputs, name=name, **attrs)


def _array(region, node, inputs):
    dynamic = bool(attribute(node, "dynamic_size", False))
    flow = _make("TensorArrayV3", inputs, node.name, dtype=attribute(node, "dtype"), dynamic_size=dynamic,
                 element_shape=as_dims(attribute(node, "element_shape")))
    return [Array(flow.dtype, dynamic), flow]


def _array_write(region, node, inputs):
    handle, index, value, flow = inputs
    return [_make("TensorArrayWriteV3", (flow, index, value), node.name, dynamic_size=handle.dynamic)]


def _counts(indices):
    """Returns the number up to which `indices` count from 0, a tensor; None where they are something else."""
    if indices.op.type != "Range":
        return None
    first, limit, step = indices.op.inputs
    return limit if [first.value(), step.value()] == [0, 1] else None


def _array_scatter(region, node, inputs):
    handle, indices, value, flow = inputs
    if _counts(indices) is not None:  # `unstack`
        return [_make("TensorArrayUnstack", (value, flow), node.name, dynamic_size=handle.dynamic)]
    return [_make("TensorArrayScatterV3", (flow, indices, value), node.name, dynamic_size=handle.dynamic)]


def _of_rows(op_type):
    """Returns the translation for an operation that reads: its handle is left out, the flow comes first."""
    def translation(region, node, inputs):
        _, *rest, flow = inputs
        return [_make(op_type, (flow, *rest), node.name)]
    return translation


def _array_gather(region, node, inputs):
    _, indices, flow = inputs
    size = _counts(indices)
    if size is not None and size.op.type == "TensorArraySizeV3" and size.op.inputs[0] is flow:  # `stack`
        rows = _make("Identity", (flow,), node.name)
    else:
        rows = _make("TensorArrayGatherV3", (flow, indices), node.name)
    shape = as_dims(attribute(node, "element_shape"))
    if shape is not None:
        rows.set_shape((None, *shape))
    return [rows]


def _array_concat(region, node, inputs):
    _, flow = inputs
    from regrad.ops.array import fill, shape

    value = _make("TensorArrayConcatV3", (flow,), node.name)
    sizes = shape(flow, out_type=dtypes.int64)
    return [value, fill(sizes[:1], sizes[1])]


# -- lists of tensors ---------------------------------------------------------------------------------
def _reserve(region, node, inputs):
    shape, size = inputs
    grows = size.value() is not None and not size.value()
    return [_make("TensorArrayV3", (size,), node.name, dtype=attribute(node, "element_dtype"), dynamic_size=grows,
                  element_shape=_known_shape(shape))]


def _known_shape(tensor):
    """Returns the sizes that a tensor of them tells, None for those that are -1."""
    sizes = tensor.partial()
    return None if not isinstance(sizes, tuple) else tuple(None if d is None or d < 0 else d for d in sizes)


def _set_item(region, node, inputs):
    rows, index, item = inputs
    return [_make("TensorArrayWriteV3", (rows, index, item), node.name,
                  dynamic_size=bool(attribute(node, "resize_if_index_out_of_bounds", False)))]


def _item(op_type):
    """Returns the translation for what reads one row, or some: its last input says what shape rows have."""
    def translation(region, node, inputs):
        *inputs, shape = inputs
        row, known = _make(op_type, inputs, node.name), _known_shape(shape)
        if known is not None:
            row.set_shape(known if op_type == "TensorArrayReadV3" else (None, *known))
        return [row]
    return translation


def _stacked(region, node, inputs):
    rows, shape = inputs
    stacked, known = _make("Identity", (rows,), node.name), _known_shape(shape)
    if known is not None:
        n = attribute(node, "num_elements", -1)
        stacked.set_shape((n if n >= 0 else None, *known))
    return [stacked]


def _list_of(region, node, inputs):
    return [_make("Identity", inputs[:1], node.name)]


def _scattered(region, node, inputs):
    tensor, indices, shape, *size = inputs
    if not size:
        from regrad.ops.reduce import reduce_max

        size = [reduce_max(indices) + 1]
    rows = _make("TensorArrayV3", size, node.name, dtype=tensor.dtype, dynamic_size=False, element_shape=_known_shape(shape))
    return [_make("TensorArrayScatterV3", (rows, indices, tensor), node.name, dynamic_size=False)]


def _scattered_into(region, node, inputs):
    rows, tensor, indices = inputs
    return [_make("TensorArrayScatterV3", (rows, indices, tensor), node.name, dynamic_size=False)]


def _push(region, node, inputs):
    rows, item = inputs
    size = _make("TensorArraySizeV3", (rows,), node.name)
    return [_make("TensorArrayWriteV3", (rows, size, item), node.name, dynamic_size=True)]


def _pop(region, node, inputs):
    rows, shape = inputs
    last = _make("TensorArraySizeV3", (rows,), node.name) - 1
    row = _make("TensorArrayReadV3", (rows, last), node.name)
    known = _known_shape(shape)
    if known is not None:
        row.set_shape(known)
    return [rows[:last], row]


def _empty(region, node, inputs):
    return [_make("TensorArrayV3", (_const(0),), node.name, dtype=attribute(node, "element_dtype"), dynamic_size=True,
                  element_shape=_known_shape(inputs[0]))]


def _list_concat(region, node, inputs):
    return _array_concat(region, node, (None, inputs[0]))


def _length(region, node, inputs):
    return [_make("TensorArraySizeV3", inputs, node.name)]


def _element_shape(region, node, inputs):
    from regrad.ops.array import shape

    return [shape(inputs[0], out_type=attribute(node, "shape_type", dtypes.int32))[1:]]


def _cut(node, value, lengths):
    """Returns rows of equal lengths; ValueError where the lengths differ, or are not known."""
    known = lengths.value()
    if known is None or not known.size or len(set(known.tolist())) > 1:
        raise ValueError(f"Node '{node.name}' ({node.op}) cuts into parts whose lengths "
                         f"{'are not known' if known is None else f'are {known.tolist()}'}: only equal ones can be imported.")
    return _make("TensorArraySplitV3", (value,), node.name, num=known.size, length=int(known[0]))


TRANSLATIONS = {
    "SymbolicGradient": _symbolic_gradient,
    "TensorArraySplitV3": lambda region, node, inputs: [_cut(node, *inputs[1:3])],
    "TensorListSplit": lambda region, node, inputs: [_cut(node, inputs[0], inputs[2])],
    "TensorListElementShape": _element_shape,
    "PartitionedCall": _call, "StatefulPartitionedCall": _call,
    "If": _if, "StatelessIf": _if, "Case": _case, "StatelessCase": _case, "While": _while, "StatelessWhile": _while,
    "Identity": _passed, "IdentityN": _passed, "_Arg": lambda region, node, inputs: [],
    "TensorArrayV3": _array, "TensorArrayWriteV3": _array_write, "TensorArrayScatterV3": _array_scatter,
    "TensorArrayReadV3": _of_rows("TensorArrayReadV3"), "TensorArrayGatherV3": _array_gather,
    "TensorArraySizeV3": _of_rows("TensorArraySizeV3"), "TensorArrayConcatV3": _array_concat,
    "TensorArrayCloseV3": _nothing,
    "TensorListReserve": _reserve, "EmptyTensorList": _empty, "TensorListSetItem": _set_item,
    "TensorListGetItem": _item("TensorArrayReadV3"), "TensorListGather": _item("TensorArrayGatherV3"),
    "TensorListStack": _stacked, "TensorListFromTensor": _list_of, "TensorListLength": _length,
    "TensorListScatter": _scattered, "TensorListScatterV2": _scattered, "TensorListScatterIntoExistingList": _scattered_into,
    "TensorListPushBack": _push, "TensorListPopBack": _pop, "TensorListConcat": _list_concat,
    "TensorListConcatV2": _list_concat,
}

