"""How the device operations of a stage are cut into segments."""

from regrad.core.opdef import Known
from regrad.runtime.plan import shape_only_positions


def data_inputs(node):
    """Returns the values a node needs, those left out of which only the shape matters."""
    shape_only = shape_only_positions(node.op)
    if not shape_only:
        return [v for v in node.ins if v >= 0]
    return [v for i, v in enumerate(node.ins) if v >= 0 and i not in shape_only]


def split(nodes, limit):
    """Returns `nodes` in parts of at most `limit`; whole when it is at most twice that."""
    if len(nodes) <= 2 * limit:
        return [nodes]
    return [nodes[i:i + limit] for i in range(0, len(nodes), limit)]


_FEW = 8  # values handed from one part to another that are not worth computing again


def recomputing(i, part, parts, part_of, infos):
    """Returns `part` with cheap nodes of earlier parts in front, where it would otherwise take many values from them.

    A backward part reads something of nearly every forward operation. Handing over hundreds of small arrays costs more than
    computing element-wise operations again from the few values at the forward part's edge.
    """
    made = {v for n in part for v in n.outs}
    taken = {}
    for n in part:
        for v in data_inputs(n):
            j = part_of.get(v, i)
            if j < i and v not in made:
                taken.setdefault(j, {})[v] = True
    front = []
    for j in sorted(taken):
        if len(taken[j]) <= _FEW:
            continue
        producer = {v: n for n in parts[j] for v in n.outs}
        again, edge, stack = {}, set(), list(taken[j])
        while stack:
            v = stack.pop()
            node = producer.get(v)
            if node is None or not _cheap(node):
                if not isinstance(infos[v], Known):
                    edge.add(v)
            elif node not in again:
                again[node] = True
                stack += data_inputs(node)
        if 2 * len(edge - taken.keys()) < len(taken[j]) and len(again) <= 2 * len(part):
            front += [n for n in parts[j] if n in again]
    return front + part if front else part


def _cheap(node):
    op = node.op
    return node.pure and not op.opdef.static and not op.opdef.has_lists and not op.opdef.extra.get("has_bodies") and (
        op.type not in ("MatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "AvgPool")
        and not op.opdef.xla_only)
