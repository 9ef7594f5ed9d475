"""Graphs for TensorFlow: op types that are Regrad's own, of which gradients are made, as operations that TensorFlow has.

Each is built of Regrad's functions in a graph of its own, between placeholders for its inputs, and these operations take its
place. What this file does not know stays as it is.
"""

from regrad.core.graph import Graph
from regrad.core.graph_def import AttrValue, GraphDef, NodeDef, controls
from regrad.ops.array import (
    broadcast_gradient_args,
    broadcast_to,
    expand_dims,
    identity_n,
    ones_like,
    placeholder,
    reshape,
    shape,
    size,
    squeeze,
    stack,
)
from regrad.ops.compare import equal, where
from regrad.ops.generate import range as range_of
from regrad.ops.layout import pad
from regrad.ops.math import cast, floormod
from regrad.ops.partition import unique
from regrad.ops.reduce import reduce_any, reduce_sum
from regrad.ops.segment import unsorted_segment_sum


def expanded(graph_def):
    """Returns a GraphDef, that of a graph of this process, without the op types that are Regrad's own, as far as can be."""
    made = GraphDef(gradient_rules=graph_def.gradient_rules)
    for node in graph_def.node:
        op = node.operation
        build = _MADE_OF.get(node.op) if op is not None and op.override_scope is None and not op.attached_rules else None
        if node.op == "InitializedValue":
            parts = _initialized_value(node)
        else:
            parts = build and _in_place_of(node, build)
        list.extend(made.node, parts or [node])
    return made


def _initialized_value(node):
    """Returns the nodes of which TensorFlow makes the value of a variable that may have none yet."""
    ref, value, *controls = node.input
    dtype = AttrValue(node.operation.inputs[0].dtype)
    names = [f"{node.name}/{word}" for word in ("initialized", "value", "ref", "read")]
    is_initialized = NodeDef(name=names[0], op="IsVariableInitialized", input=[ref], attr={"dtype": dtype})
    rest = [(names[1], "Switch", [value, names[0]]), (names[2], "RefSwitch", [ref, names[0]]),
            (names[3], "Identity", [f"{names[2]}:1"]), (node.name, "Merge", [names[1], names[3], *controls])]
    made = [is_initialized, *(NodeDef(name=n, op=op, input=inputs, attr={"T": dtype}) for n, op, inputs in rest)]
    made[-1].attr["N"] = AttrValue(2)
    return made


def _in_place_of(node, build):
    """Returns the nodes that compute what `node` does, the last one of its name; None where `build` cannot say."""
    with Graph().as_default() as graph:
        inputs = [placeholder(t.dtype, t.shape) for t in node.operation.inputs]
        results = build(*inputs, **node.operation.attrs)
        if results is None:
            return None
        identity_n(results, name="results")
    outside = {t.op.name: text for t, text in zip(inputs, node.input)}

    def named(text):
        name, colon, index = text.partition(":")
        return outside.get(name) or f"{node.name}/{name}{colon}{index}"

    nodes = []
    for op in graph.get_operations():
        if op.name not in outside:
            part = NodeDef(op)
            part.input = [named(text) for text in part.input]
            part.name, part.device = f"{node.name}/{op.name}", node.device
            nodes.append(part)
    nodes[-1].name = node.name
    nodes[-1].input += controls(node)
    return nodes


# -- what each is made of: function(*inputs, **attributes) -> its outputs ----------------------------
def _reshape_like(x, like):
    return [reshape(x, shape(like))]


def _broadcast_like(x, like):
    return [broadcast_to(x, shape(like))]


def _sum_to_like(x, like):
    axes, _ = broadcast_gradient_args(shape(like), shape(x))
    return [reshape(reduce_sum(x, axes), shape(like))]


def _unreduce_like(dy, like, axes):
    sizes = shape(like)
    rank = size(sizes)
    axes = floormod(cast(reshape(axes, [-1]), rank.dtype) + rank, rank)
    reduced = reduce_any(equal(expand_dims(range_of(rank), 1), expand_dims(axes, 0)), 1)
    return [broadcast_to(reshape(dy, where(reduced, ones_like(sizes), sizes)), sizes)]


def _fit_weights(weights, values, last_axis):
    w, v = weights.dims, values.dims
    if w is None or v is None:
        return None
    if w and last_axis and len(w) == len(v) - 1:
        return [expand_dims(weights, -1)]
    return [squeeze(weights, [-1]) if w and last_axis and len(w) == len(v) + 1 else weights]


def _slice_grad(dy, like, begin):
    before = cast(begin, shape(dy).dtype)
    return [pad(dy, stack([before, shape(like) - before - shape(dy)], axis=1))]


def _tile_grad(dy, multiples, like):
    sizes = stack([cast(multiples, shape(like).dtype), shape(like)], axis=1)
    return [reshape(reduce_sum(reshape(dy, reshape(sizes, [-1])), range_of(0, 2 * size(multiples), 2)), shape(like))]


def _sum_repeated_rows(values, indices, num_rows):
    rows, place = unique(indices)
    return [unsorted_segment_sum(values, place, size(rows)), rows]


_MADE_OF = {"ReshapeLike": _reshape_like, "BroadcastLike": _broadcast_like, "SumToLike": _sum_to_like,
            "UnreduceLike": _unreduce_like, "FitWeights": _fit_weights, "SliceGrad": _slice_grad,
            "SumRepeatedRows": _sum_repeated_rows, "TileGrad": _tile_grad}
