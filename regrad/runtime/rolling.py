"""Equal segments in a row as one compiled loop.

A long graph that repeats itself - layers, unrolled steps, and their gradients - is cut into equal segments. They compile
once, but calling hundreds of them from Python takes longer than small ones compute. So a row of them becomes a loop, whose
body is the segment: what one turn gives the next is carried, and what later loops read turn by turn stays in one array, a
row for each turn.
"""

from regrad.core.shapes import size_of
from regrad.runtime.segment import Segment

_TURNS = 4  # fewer equal segments are called one by one
_COST = 1_000_000  # nanoseconds of NumPy's time; a segment that takes longer does not feel the call
_LOOSE = 16_384  # elements; larger values from elsewhere, one for each turn, are not worth stacking


class Rolled(Segment):
    """Equal segments, one after the other, as one.

    Each input of the segments is one of these, in all turns (`a` and `q` count arguments of the loop, outputs of a segment):
      ("same", a): the same value.
      ("carry", q, a): the output q of the turn before, at first an argument.
      ("rows", a, start, step): a row of what an earlier loop gave.
      ("loose", (a, ...)): a value from elsewhere for each turn.
    """

    def __init__(self, parts, inputs, ins, stacked, picked, numbers):
        """Args: `stacked`: outputs wanted as rows, whose value numbers are `numbers`; `picked`: {value: (turn, output)}."""
        self.parts = parts
        self.inputs = inputs
        self.ins = ins
        self.stacked = stacked
        self.picked = list(picked.values())
        self.outs = (*numbers, *picked)
        self.nodes = [n for part in parts for n in part.nodes]
        body = parts[0]
        self.steps = body.steps
        self.carried = [kind[1] for kind in inputs if kind[0] == "carry"]
        last = len(parts) - 1
        self.rows = sorted({*stacked, *(q for turn, q in self.picked if turn != last or q not in self.carried)})
        self.in_specs = [None] * len(ins)
        for (dims, dtype), kind in zip(body.in_specs, inputs):
            for a in kind[1] if kind[0] == "loose" else (kind[2] if kind[0] == "carry" else kind[1],):
                self.in_specs[a] = (dims, dtype)
        self.portable = True
        self.random_ops = self.body_random_ops = self.random_blocks = self.branch_draws = self.bounds = ()
        self.refusals, self.guards = body.refusals, True
        self.constants = []
        self._begin()

    @property
    def key(self):
        return "loop", self.parts[0].key, len(self.parts), tuple(self.inputs), tuple(self.stacked), tuple(self.picked)

    def stack_of(self, a, turns):
        """Notes that argument `a` holds the rows of `turns` turns."""
        dims, dtype = self.in_specs[a]
        self.in_specs[a] = ((turns, *dims), dtype)

    def cost(self):
        if self._cost is None:
            cost, first = sum(part.cost() for part in self.parts), self.parts[0]
            self._n_products, self._n_bodies, self._largest = first._n_products, first._n_bodies, first._largest
            self._cost = cost
        return self._cost

    def evaluate(self, b, args, seeds, body_seeds=None):
        outs, carry = self._by_turns(b, args) if b.is_host else self._as_loop(b, args)
        last = len(self.parts) - 1
        rows = dict(zip(self.rows, outs))
        picked = [carry[self.carried.index(q)] if turn == last and q in self.carried else rows[q][turn]
                  for turn, q in self.picked]
        return (*(rows[q] for q in self.stacked), *picked)

    def _as_loop(self, b, args):
        slices = []
        for kind in self.inputs:
            if kind[0] == "rows":
                _, a, start, step = kind
                slices.append(args[a][start::step][:len(self.parts)])
            elif kind[0] == "loose":
                slices.append(b.np.stack([args[a] for a in kind[1]]))

        def turn(carry, rows):
            carry_of, row_of = iter(carry), iter(rows)
            inputs = [args[kind[1]] if kind[0] == "same" else next(carry_of if kind[0] == "carry" else row_of)
                      for kind in self.inputs]
            outs = self.parts[0].evaluate(b, inputs, ())
            return [outs[q] for q in self.carried], [outs[q] for q in self.rows]

        first = [args[kind[2]] for kind in self.inputs if kind[0] == "carry"]
        carry, rows = b.scan(turn, first, slices, length=len(self.parts))
        return rows, carry

    def _by_turns(self, b, args):
        rows, outs = [[] for _ in self.rows], ()
        for turn, part in enumerate(self.parts):
            inputs = []
            for kind in self.inputs:
                if kind[0] == "same":
                    inputs.append(args[kind[1]])
                elif kind[0] == "rows":
                    inputs.append(args[kind[1]][kind[2] + kind[3] * turn])
                elif kind[0] == "loose":
                    inputs.append(args[kind[1][turn]])
                else:
                    inputs.append(outs[kind[1]] if turn else args[kind[2]])
            outs = part.evaluate(b, inputs, ())
            for row, q in zip(rows, self.rows):
                row.append(outs[q])
        return [b.np.stack(row) for row in rows], [outs[q] for q in self.carried]


def roll(segments, outside, number):
    """Returns `segments` with every row of equal ones that can be a loop made one.

    Args:
      segments: in order.
      outside: the values that something else reads.
      number: a function that returns the number of a new value.
    """
    runs, made = _runs(segments)
    if not runs:
        return segments
    within = {at for start, stop, _ in runs for at in range(start, stop)}
    read = {*outside, *(v for at, s in enumerate(segments) if at not in within for v in s.ins)}
    stacks = {}  # (loop, output) -> value number of its rows
    for start, stop, kinds in runs:
        for p, kind in enumerate(kinds):
            if kind[0] == "rows":
                stacks.setdefault(kind[1:3], None)
            else:
                read.update(s.ins[p] for s in segments[start:stop if kind[0] == "loose" else start + 1])
    for key in sorted(stacks):
        stacks[key] = number()
    result, at = [], 0
    for i, (start, stop, kinds) in enumerate(runs):
        result += segments[at:start]
        parts = segments[start:stop]
        arguments = {}

        def argument(v, arguments=arguments):
            return arguments.setdefault(v, len(arguments))

        inputs, turns = [], {}
        for p, kind in enumerate(kinds):
            if kind[0] == "rows":
                _, loop, q, step = kind
                a = argument(stacks[loop, q])
                turns[a] = runs[loop][1] - runs[loop][0]
                inputs.append(("rows", a, made[parts[0].ins[p]][2], step))
            elif kind[0] == "loose":
                inputs.append(("loose", tuple(argument(s.ins[p]) for s in parts)))
            else:
                inputs.append((*kind, argument(parts[0].ins[p])))
        stacked = [q for loop, q in sorted(stacks) if loop == i]
        picked = {v: (turn, q) for turn, s in enumerate(parts) for q, v in enumerate(s.outs) if v in read}
        loop = Rolled(parts, inputs, list(arguments), stacked, picked, [stacks[i, q] for q in stacked])
        for a, n in turns.items():
            loop.stack_of(a, n)
        result.append(loop)
        at = stop
    return result + segments[at:]


def _runs(segments):
    """Returns [(start, stop, kind of each input)] of the loops, and {value: (loop, output, turn)} of what they make."""
    runs, made, at = [], {}, 0
    while at < len(segments):
        stop, kinds = _extent(segments, at, made)
        if stop - at < _TURNS:
            at += 1
            continue
        for turn, segment in enumerate(segments[at:stop]):
            made.update((v, (len(runs), q, turn)) for q, v in enumerate(segment.outs))
        runs.append((at, stop, kinds))
        at = stop
    return runs, made


def _extent(segments, start, made):
    """Returns where a loop that begins at `start` ends, and the kinds of its inputs."""
    inside, kinds, stop = set(), None, start + 1
    first = segments[start]
    single = first.donate, first.random_ops, first.constants, first.bounds, first.has_bodies
    if not first.portable or any(single):
        return stop, kinds
    while stop < len(segments):
        before, segment = segments[stop - 1], segments[stop]
        if segment.donate or segment.key != first.key or first.cost() > _COST:
            break
        inside.update(before.outs)
        found = [_kind(v, w, size_of(dims), before, inside, made)
                 for v, w, (dims, _) in zip(before.ins, segment.ins, first.in_specs)]
        if None in found or kinds is not None and found != kinds:
            break
        kinds = found
        stop += 1
    return stop, kinds


def _kind(v, w, size, before, inside, made):
    """Returns what kind of input reads `v` in one turn and `w` in the next; None where it is none."""
    if v == w:
        return ("same",)
    if w in before.outs:
        return "carry", before.outs.index(w)
    if v in made and w in made and made[v][:2] == made[w][:2]:
        return "rows", *made[v][:2], made[w][2] - made[v][2]
    return ("loose",) if w not in inside and size <= _LOOSE else None
