"""How the device operations of a stage are cut into segments."""

import itertools
import math

from regrad.core.opdef import Known
from regrad.runtime.plan import shape_only_positions


def data_inputs(node):
    """Returns the values a node needs, those left out of which only the shape matters."""
    shape_only = shape_only_positions(node.op) if node.opdef.shape_only else ()
    if not shape_only:
        return node.ins if not node.opdef.writes else [v for v in node.ins if v >= 0]
    return [v for i, v in enumerate(node.ins) if v >= 0 and i not in shape_only]


def split(nodes, limit):
    """Returns `nodes` in parts of at most `limit`.

    Where the graph repeats itself (layers, unrolled steps), cuts fall at whole periods, so that the parts are equal and
    compile once.
    """
    signs, crossing = _signatures(nodes, limit)
    parts, i, phase = [], 0, None
    while len(nodes) - i > limit:
        window = signs[i:i + 3 * limit]
        if phase is not None and len(window) >= 2 * phase and window == signs[i - phase:i - phase + len(window)]:
            start, period = 0, phase  # it goes on as before
        else:
            start, period = _repetition(window, limit)
        if period is None:
            size, phase = limit, None
        elif phase == period and start == 0:
            size = period * 2 ** int(math.log2(limit // period))
        else:
            # Entering a repetition: begin it where the fewest values cross the cut.
            first = max(start, 1)
            size = min(range(first, first + period), key=lambda k: (crossing[i + k], k))
            phase = period
        parts.append(nodes[i:i + size])
        i += size
    if i < len(nodes):
        parts.append(nodes[i:])
    return parts


def _signatures(nodes, reach):
    """Returns two lists with a number per node: one equal for nodes that do the same with neighbours at the same distances,
    and how many values made shortly before are used from here on."""
    made_at, numbers, signs, last_use = {}, {}, [], {}
    for at, node in enumerate(nodes):
        near = tuple(at - made_at[v] if v in made_at and at - made_at[v] < reach else None for v in node.ins)
        signs.append(numbers.setdefault((node.op.type, near, len(node.outs)), len(numbers)))
        for v, distance in zip(node.ins, near):
            if distance is not None:
                last_use[v] = at
        for v in node.outs:
            made_at[v] = at
    changes = [0] * (len(nodes) + 1)
    for v, at in last_use.items():
        changes[made_at[v] + 1] += 1
        changes[at + 1] -= 1
    return signs, list(itertools.accumulate(changes))


def _repetition(signs, limit):
    """Returns (start, period): from `start` on, `signs` repeats with a period of at most `limit`; (0, None) if it does not.

    The periods of a sequence's prefixes come from the failure function of Knuth, Morris and Pratt (1977); here it is taken
    of the reversed sequence, so that an irregular beginning does no harm.
    """
    backwards = signs[::-1]
    fail = [0] * len(backwards)
    best = None
    for m in range(1, len(backwards)):
        k = fail[m - 1]
        while k and backwards[m] != backwards[k]:
            k = fail[k - 1]
        fail[m] = k + 1 if backwards[m] == backwards[k] else 0
        period = m + 1 - fail[m]
        if period <= limit and m + 1 >= 2 * period:
            best = len(signs) - m - 1, period
    if best is None or best[0] > limit:
        return 0, None
    return best


_FEW = 8  # values handed from one part to another that are not worth computing again


def aligned(parts, limit):
    """Returns `parts` with the forward ones cut again where what the backward ones read of them ends.

    So each backward part computes again what one forward part did, and no more: else it would begin at the edges of two.
    """
    nodes = [n for part in parts for n in part]
    place = {v: at for at, n in enumerate(nodes) for v in n.outs}
    starts = list(itertools.accumulate(map(len, parts), initial=0))
    part_of = [j for j, part in enumerate(parts) for _ in part]
    ends, touched = set(), set()
    for i, part in enumerate(parts):
        taken = {}
        for n in part:
            for v in data_inputs(n):
                at = place.get(v, starts[i])
                if at < starts[i]:
                    taken.setdefault(part_of[at], set()).add(at)
        many = {j for j, places in taken.items() if len(places) > _FEW}
        if many:
            near = many | {j for j in (min(many) - 1, max(many) + 1) if j in taken and j < i - 1}
            ends.add(max(at for j in near for at in taken[j]) + 1)
            touched |= near
    if not touched:
        return parts
    first, last = min(touched), max(touched)
    begin, end = starts[first], starts[last + 1]
    cuts = [begin, *sorted(e for e in ends if begin < e < end), end]
    pieces = [nodes[a:b] for a, b in itertools.pairwise(cuts)]
    if len(pieces) > 2 * (last - first + 1) + _FEW:
        return parts
    long = 3 * limit // 2  # an equal piece somewhat too long is better than two unequal ones
    return [*parts[:first], *(p for piece in pieces for p in (split(piece, limit) if len(piece) > long else [piece])),
            *parts[last + 1:]]


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
    plain = not op.opdef.static and not op.opdef.has_lists and not op.opdef.xla_only and not op.opdef.facts.bodies
    return node.pure and plain and len(node.outs) <= _FEW and op.opdef.facts.cost != "heavy"
