"""Steps of a segment that repeat themselves, as loops of the compiled program.

Unrolled turns of a recurrent network, or equal layers: XLA compiles every one of them, however alike they are. As the body
of a loop they compile once. What one turn gives the next is carried; what differs from turn to turn is a row of an array,
and so is what is read of each turn afterwards. Small turns of which none gives another anything - the tasks of a
meta-learner, the members of an ensemble - are no loop: each of their steps is computed for all turns at once.
"""

import functools
import itertools
import operator
from typing import NamedTuple

import numpy as np

from regrad.core.shapes import size_of
from regrad.runtime import config
from regrad.runtime.rewriting import products_op, row_taken, stacked_product

_TURNS = 4  # fewer are not worth a loop
_SAVED = 64  # nor are loops that save XLA fewer steps
_TRIED = 24  # periods of each part of the steps, those that would save most; the multiples of a period are among them
_PIECES = 8  # an array split into fewer is rather one turn's than one for each turn
_PERIOD = 512  # steps of the longest turn
_STACKED = 1 << 16  # elements a turn; more than that is not put into an array to be read by turns
_MOVED = 8  # steps of a turn for each value that is put into an array, or read one by one
_EDGES = 3  # values read one by one that do not count: the first and last turns' neighbours are unlike the others
_KEPT = 1 << 22  # elements a turn that are read afterwards


class Wiring(NamedTuple):
    """How the steps of a segment hang together.

    Attributes:
      steps: in order.
      signs: a number for each step; equal where type, attributes, constants, and shapes of results are.
      made_at: {slot: step that makes it}; -1 for inputs. Constants are not among them.
      reads: {slot: steps that read it, in order}; the number of steps stands for what is read after them.
      specs: {slot: (dims, dtype)} of inputs and results.
      rows: {slot: Row} for inputs that are rows of an array.
      template: constants by slot.
    """

    steps: list
    signs: np.ndarray
    made_at: dict
    reads: dict
    specs: dict
    rows: dict
    template: list


class Repeat:
    """Steps `start` to `stop` of a segment: `turns` times the same, with other operands.

    Attributes:
      steps: those of one turn, with their operands in slots of its own.
      same: {slot: slot of the segment} for what is the same in all turns.
      carried: [(slot, slot of the segment before the first turn, slot of the turn that makes it for the next)].
      each: {slot: slots of the segment, one for each turn}.
      outs: {slot of the turn: slots of the segment, one for each turn} for what is read after the loop.
      n_slots: how many slots a turn has; the segment's come first, for its constants.
      small: whether a turn's results are, so that a loop would take longer than the steps written out.
    """

    def __init__(self, w, start, period, turns, kinds, small):
        steps = w.steps
        self.start, self.stop, self.turns, self.small = start, start + period * turns, turns, small
        one = steps[start:start + period]
        place, self.same, self.each, carried = {}, {}, {}, {}
        self.steps = []
        for j, (step, of_step) in enumerate(zip(one, kinds)):
            operands = list(step[2])
            for a, kind in enumerate(of_step):
                if kind is None or kind[0] == "inner":
                    continue
                v = operands[a]
                if kind[0] == "each":
                    kind = ("each", tuple(steps[start + k * period + j][2][a] for k in range(turns)))
                elif kind[0] == "carry":
                    kind = (*kind, v)
                else:
                    kind = ("same", v)
                i = operands[a] = place.setdefault(kind, len(w.template) + len(place))
                if kind[0] == "same":
                    self.same[i] = v
                elif kind[0] == "each":
                    self.each[i] = kind[1]
                else:
                    _, at, output, first = kind
                    carried[i] = (first, one[at][4][output])
            self.steps.append((*step[:2], tuple(operands), *step[3:]))
        self.n_slots = len(w.template) + len(place)
        self.carried = [(i, *made) for i, made in carried.items()]
        self.outs = {}
        for j, step in enumerate(one):
            for output, i in enumerate(step[4]):
                slots = tuple(steps[start + k * period + j][4][output] for k in range(turns))
                if any(w.reads.get(s, (-1,))[-1] >= self.stop for s in slots):
                    self.outs[i] = slots


class Row:
    """A row of an array, taken when it is needed; `known` is the same as an array, if there is one."""

    __slots__ = ("at", "known", "stack")

    def __init__(self, stack, at, known=None):
        self.stack = stack
        self.at = at
        self.known = known


def value(x):
    """Returns the array that `x`, an array or a Row, stands for."""
    if type(x) is not Row:
        return x
    return x.stack[x.at] if x.known is None else x.known


def find(w):
    """Returns the Repeats among the steps of a Wiring, in order."""
    found, ranges = [], [(0, len(w.steps))]
    while ranges:
        begin, end = ranges.pop()
        best = _best(w, begin, end)
        if best is not None:
            found.append(best)
            ranges += (begin, best.start), (best.stop, end)
    found.sort(key=lambda r: r.start)
    on_their_own = {at for at, step in enumerate(w.steps) if on_rows(step, w.template)}
    while True:
        rows = w.rows | {i: Row(slots, k) for r in found for slots in r.outs.values() for k, i in enumerate(slots)}
        by_rows = on_their_own.union(*(range(r.start, r.stop) for r in found))
        good = [r for r in found if _moves_little(w, r, rows, by_rows)]
        if len(good) == len(found):
            return found
        found = good


def _best(w, begin, end):
    """Returns the Repeat that saves most among steps `begin` to `end`; None if none does."""
    for _, period, start, stop in _candidates(w.signs[begin:end])[:_TRIED]:
        at, end_at = begin + start + _phase(w, begin + start, period), begin + stop
        small = sum(_size(w, i) for step in w.steps[at:at + period] for i in step[4]) < config.repeat_size * period
        while at + _TURNS * period <= end_at:
            if small and _carries(_kinds(w, at, period, at + period)):
                break
            turns, kinds = _extent(w, at, period, (end_at - at) // period)
            if turns >= _TURNS and (turns - 1) * period >= _SAVED:
                repeat = Repeat(w, at, period, turns, kinds, small)
                if sum(_size(w, slots[0]) for slots in repeat.outs.values()) <= _KEPT:
                    return repeat
            at += turns * period  # a turn that is wired otherwise, as the first one often is
    return None


def _candidates(signs):
    """Returns [(steps saved, period, start, stop)] for the parts of `signs` that repeat themselves, the best ones first."""
    found = []
    for period in range(1, min(_PERIOD, len(signs) // _TURNS) + 1):
        equal = np.concatenate(([False], signs[period:] == signs[:-period], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        for start, stop in zip(edges[::2].tolist(), edges[1::2].tolist()):
            turns = (stop - start) // period + 1
            if turns >= _TURNS and (turns - 1) * period >= _SAVED:
                found.append(((turns - 1) * period, period, start, stop + period))
    return sorted(found, key=lambda c: (-c[0], c[1]))


def _phase(w, start, period):
    """Returns after how many steps from `start` on the fewest values go from one turn to the next."""
    changes = [0] * (2 * period + 1)
    for at in range(start, start + 2 * period):
        for i in w.steps[at][4]:
            near = max((r for r in w.reads.get(i, ()) if r < start + 2 * period), default=at)
            if near > at:
                changes[at + 1 - start] += 1
                changes[near + 1 - start] -= 1
    counts = list(itertools.accumulate(changes))[period:2 * period]
    return counts.index(min(counts))


def _extent(w, start, period, most):
    """Returns how many turns from `start` on are wired alike, and the kind of each operand of a turn's steps."""
    kinds, turns = None, 1
    while turns < most:
        found = _kinds(w, start, period, start + turns * period)
        if found is None or kinds is not None and found != kinds:
            break
        kinds = found
        turns += 1
    return turns, kinds


def _kinds(w, start, period, turn):
    """Returns for each operand in the turn at `turn` where it comes from, compared with the one at `start`; None if nowhere.

    It is None for a constant, ("inner", step, output) from this turn, ("carry", step, output) from the one before, ("same",)
    or ("each",) from before the loop.
    """
    steps, made_at = w.steps, w.made_at
    result = []
    for j in range(period):
        of_step = []
        for v, u in zip(steps[start + j][2], steps[turn + j][2]):
            at = made_at.get(u)
            if at is None:
                kind = None
            elif at >= turn:
                kind = ("inner", at - turn, steps[at][4].index(u))
                if made_at.get(v, -1) != at - turn + start or steps[start + at - turn][4][kind[2]] != v:
                    return None
            elif at >= start and at < turn - period:
                return None
            else:
                if at >= turn - period:
                    kind = ("carry", at - turn + period, steps[at][4].index(u))
                    if made_at.get(v, start) >= start:
                        return None
                else:
                    kind = ("same",) if v == u else ("each",)
                if w.specs.get(v) != w.specs.get(u):  # where operands are broadcast, results may be alike all the same
                    return None
            of_step.append(kind)
        result.append(of_step)
    return result


def _carries(kinds):
    """True where a turn reads what the one before made."""
    return any(kind and kind[0] == "carry" for of_step in kinds or () for kind in of_step)


def _size(w, i):
    return size_of(w.specs[i][0]) if i in w.specs else 0


def _moves_little(w, repeat, rows, by_rows):
    """True where few values have to be put into arrays for the loop to be read, or are read one by one after it.

    Args:
      rows: {slot: Row} for what are rows of an array.
      by_rows: the steps that read rows without taking them out of their array.
    """
    moved = elements = 0
    arrays = {}
    for slots in repeat.each.values():
        if len(_runs([(rows.get(i) or _piece(w, i, arrays),) for i in slots])) > _EDGES:
            moved += 1
            elements += _size(w, slots[0])
    for slots in repeat.outs.values():
        moved += sum(not all(at in by_rows for at in w.reads.get(i, ())) for i in slots) > _EDGES
    return elements <= _STACKED and moved <= len(repeat.steps) // _MOVED


def _piece(w, i, arrays):
    """Returns a Row for a slot that is one of many pieces of an array, which `arrays` names; else None."""
    at = w.made_at[i]
    if at < 0:
        return None
    step = w.steps[at]
    if takes_apart(step):
        return Row(step, step[4].index(i))
    taken = _row_taken(step, w.template)
    if taken is None:
        return None
    array = step[2][0], taken[0]
    return Row(arrays.setdefault(array, array), taken[1])


def _step(numbers):
    """Returns by how much each of `numbers` differs from the one before, where that is always the same; else None."""
    differences = {b - a for a, b in itertools.pairwise(numbers)}
    return differences.pop() if len(differences) == 1 else None


# -- computing --------------------------------------------------------------------------------------------


def takes_apart(step):
    """True for an operation that gives the equal pieces of an array."""
    kind, outs = step[0].type, step[4]
    return len(outs) >= _TURNS and (kind == "Unpack" or kind == "Split" and len(outs) >= _PIECES)


def _row_taken(step, template):
    """Returns (axis, index) for an operation that takes one row of an array along an axis; else None."""
    op, _, args, *_ = step
    constants = [template[i] for i in args[1:]] if op.type == "StridedSlice" else [None]
    return row_taken(op, constants[0], constants[2]) if all(type(c) is np.ndarray for c in constants) else None


def on_rows(step, template):
    """True for an operation that may be one on the rows that a Repeat reads or has kept: see `take_rows`."""
    kind = step[0].type
    if kind == "StridedSlice":
        return _row_taken(step, template) is not None
    return kind == "SumOfProducts" or takes_apart(step) or len(step[2]) >= _TURNS and kind in ("AddN", "Pack", "ConcatV2")


def rows_of(values):
    """Returns (array, number of the first row, step to the next) where `values` are Rows of one array, in order; else None."""
    if not all(type(v) is Row and v.stack is values[0].stack for v in values):
        return None
    step = _step([v.at for v in values]) if len(values) > 1 else 1
    return (values[0].stack, values[0].at, step) if step else None


def _stack(stack, first, step, n):
    """Returns n rows of `stack` as an array of their own."""
    if step < 0:
        return stack[first + step * (n - 1):first + 1:-step][::-1]
    return stack if n == len(stack) else stack[first:first + step * (n - 1) + 1:step]


def _rows_for_turns(b, values):
    """Returns (array, number of the first row, step to the next) of the rows, arrays or Rows, that the turns read."""
    runs = [[row for row, in run] for run in _runs([(v,) for v in values])]
    if len(runs) == 1:
        return rows_of(runs[0])
    parts = [_stack(*rows_of(run), len(run)) if len(run) > 1 else value(run[0])[None] for run in runs]
    return b.np.concatenate(parts), 0, 1


def run(b, repeat, env, template, take):
    """Computes a Repeat in a program that is traced: reads and writes `env`, arrays or Rows by slot.

    Args:
      template: constants by slot.
      take: computes `(steps, values by slot)`.
    """
    rows = {i: _rows_for_turns(b, [env[s] for s in slots]) for i, slots in repeat.each.items()}
    # Results are kept in the order in which what the loop reads is: the products of both are sums over rows.
    backwards = any(step < 0 for _, _, step in rows.values())
    turns = range(repeat.turns)[::-1] if backwards else range(repeat.turns)

    def compute(carry, row):
        inner = template + [None] * (repeat.n_slots - len(template))
        for i, s in repeat.same.items():
            inner[i] = same[s]
        for (i, _, _), x in zip(repeat.carried, carry):
            inner[i] = x
        for i, x in row.items():
            inner[i] = x
        take(repeat.steps, inner)
        return [inner[made] for _, _, made in repeat.carried], [inner[i] for i in repeat.outs]

    def turn(carry, at):
        k = repeat.turns - 1 - at if backwards else at
        return compute(carry, {i: b.lax.dynamic_index_in_dim(stack, first + step * k, keepdims=False)
                               for i, (stack, first, step) in rows.items()})

    same = {s: value(env[s]) for s in repeat.same.values()}
    if repeat.small and rows:
        stacks = [_stack(stack, first + step * turns[0], step * turns.step, len(turns)) for stack, first, step in rows.values()]
        last, kept = [], b.all_at_once(lambda *values: compute([], dict(zip(rows, values)))[1], stacks)
    else:
        first = [b.np.asarray(value(env[s])) for _, s, _ in repeat.carried]
        last, kept = b.scan(turn, first, b.np.arange(repeat.turns, dtype="int32"), length=repeat.turns, reverse=backwards)
    carried = {made: x for (_, _, made), x in zip(repeat.carried, last)}
    for i, stack in zip(repeat.outs, kept):
        for k, s in zip(turns, repeat.outs[i]):
            env[s] = Row(stack, k, carried.get(i) if k == turns[-1] else None)


def take_rows(b, step, env, template, turned):
    """Computes a step that is `on_rows` without moving the rows: takes an array apart, puts one together, adds up rows, or
    the products of the matrices that are rows. Returns False if it is none, or its operands are not rows.

    Args: `turned`: {(slot, axis): array with that axis in front}, to which it adds.
    """
    if not on_rows(step, template):
        return False
    op, _, args, groups, outs, _, _, attrs, _ = step
    values = [env[i] for i in args]
    if takes_apart(step):
        for i, row in zip(outs, _pieces(b, op.type, values, len(outs), attrs)):
            env[i] = row
        return True
    if op.type == "StridedSlice":
        axis, at = _row_taken(step, template)
        if (args[0], axis) not in turned:
            turned[args[0], axis] = b.np.moveaxis(value(values[0]), axis, 0)
        env[outs[0]] = Row(turned[args[0], axis], at % len(turned[args[0], axis]))
        return True
    joined = values[:-1] if op.type == "ConcatV2" else values
    rows = rows_of(joined)
    if op.type in ("Pack", "ConcatV2"):
        if rows is None:
            return False
        stack = _stack(*rows, len(joined))
        if op.type == "Pack":
            env[outs[0]] = b.np.moveaxis(stack, 0, attrs["axis"])
        else:
            axis = int(values[-1]) % (stack.ndim - 1)
            dims = list(stack.shape[1:])
            dims[axis] *= len(joined)
            env[outs[0]] = b.np.moveaxis(stack, 0, axis).reshape(dims)
    elif not any(type(v) is Row for v in values):
        return False
    elif op.type == "AddN":
        env[outs[0]] = _sum(values)
    else:
        env[outs[0]] = _sum_of_products(b, values, groups, **attrs)
    return True


def _pieces(b, kind, values, n, attrs):
    """Returns the Rows that an operation which `takes_apart` makes."""
    if kind == "Unpack":
        stack = b.np.moveaxis(value(values[0]), attrs["axis"], 0)
    else:
        x = value(values[1])
        axis = int(values[0]) % x.ndim
        stack = b.np.moveaxis(x.reshape(*x.shape[:axis], n, x.shape[axis] // n, *x.shape[axis + 1:]), axis, 0)
    return [Row(stack, k) for k in range(n)]


def _runs(tuples):
    """Returns `tuples` of values in lists, each of Rows that follow one another, place by place, or of one tuple."""
    runs = []
    for values in tuples:
        if runs and all(rows_of([*(row[at] for row in runs[-1][-2:]), v]) for at, v in enumerate(values)):
            runs[-1].append(values)
        else:
            runs.append([values])
    return runs


def _grouped(tuples):
    """Returns `tuples` of values, in whatever order, in runs as `_runs` does, and a list of those that are in none."""
    by_stack, alone = {}, []
    for values in tuples:
        if all(type(v) is Row for v in values):
            by_stack.setdefault(tuple(id(v.stack) for v in values), []).append(values)
        else:
            alone.append(values)
    runs = [run for some in by_stack.values() for run in _runs(sorted(some, key=lambda values: values[0].at))]
    return [run for run in runs if len(run) > 1], alone + [run[0] for run in runs if len(run) == 1]


def _sum(values):
    """Returns the sum of `values`, Rows of one array by one reduction."""
    runs, alone = _grouped([(v,) for v in values])
    terms = [_stack(*rows_of([v for v, in run]), len(run)).sum(0) for run in runs] + [value(v) for v, in alone]
    return functools.reduce(operator.add, terms)


def _sum_of_products(b, values, groups, transpose_x, transpose_y):
    """Returns what `rewriting.products_op` does: a product of stacked rows for each run of Rows, one for all other pairs."""
    n = groups[0]
    pairs, others, terms = {}, [], []
    for x, y, *how in zip(values[:n], values[n:2 * n], transpose_x, transpose_y):
        pairs.setdefault(tuple(how), []).append((x, y))
    for how, some in pairs.items():
        runs, alone = _grouped(some)
        terms += [stacked_product(b, *(_stack(*rows_of(side), len(run)) for side in zip(*run)), *how) for run in runs]
        others += [(*map(value, pair), *how) for pair in alone]
    if others:
        x, y, *how = zip(*others)
        terms.append(products_op.lower(b, x, y, (), transpose_x=how[0], transpose_y=how[1]))
    return functools.reduce(operator.add, terms + [value(v) for v in values[2 * n:]])
