"""The turns of a compiled loop whose number is known: one after another (`scan`), or all at once.

What the turns of `map_fn`, of a Jacobian's rows and of their gradients have to do with one another is that they count, that
each writes or takes a row of its own of an array, and that sums are added up. What they compute otherwise is then computed for
all turns at once: a product of a matrix and a vector becomes one of two matrices, and a hundred small steps one of their size
times a hundred. Where turns follow from one another, or where all at once would take much memory, they are scanned.
"""

import copy
from typing import NamedTuple

import numpy as np

from regrad.core.operation import origin
from regrad.core.shapes import fully_known
from regrad.core.traversal import body_graphs
from regrad.runtime.rewriting import stacked_product

# Rows of so many elements in all are read before anything else: where an element-wise loop reads a row out of its stack
# itself, LLVM often does not vectorise it, and four gates of an LSTM take eight times as long. It costs some 80 ns a turn.
_LONG = 256
_MOST = 1 << 26  # elements that all turns make at once, if nothing is fused
_SUMS = ("Add", "AddV2", "AddN", "Identity")


def scan(b, turns, first, captures, xs, body, reverse):
    """Makes a known number of turns that read or stack rows, one after another.

    Args:
      first: the loop variables before the first turn.
      xs: arrays of which each turn reads a row, from the last to the first if `reverse`.

    Returns:
      The loop variables after the last turn, the number of turns, and the stacks of what `body` returns behind them.
    """
    n = len(first)
    sums = _sums_of_products(body, first, captures, xs, turns)
    stack_of = dict(zip(body.inputs[len(body.inputs) - len(xs):], xs))
    more = _factors(sums, stack_of)
    kept = [i for i in range(n) if i not in sums]
    inner = body if not sums else _with(body, [*(body.outputs[i] for i in kept), *body.outputs[n:], *more])

    def step(state, row):
        i, rows = row
        if sum(r.size for r in rows) >= _LONG:
            rows = b.apart(*rows)
        values = list(first)
        for k, v in zip(kept, state):
            values[k] = v
        values = b.call(inner, [*values, *captures, *rows], i)
        return like(b, values[:len(kept)], state), tuple(b.np.asarray(v) for v in values[len(kept):])

    count = b.np.arange(turns, dtype="int32")
    state, ys = b.scan(step, tuple(first[i] for i in kept), (count[::-1] if reverse else count, tuple(xs)),
                       length=turns, reverse=reverse)
    last, ys = list(first), list(ys)
    for i, v in zip(kept, state):
        last[i] = v
    stack_of.update(zip(more, ys[len(ys) - len(more):]))
    for i, terms in sums.items():
        last[i] = _with_products(b, last[i], terms, stack_of)
    return (*last, b.np.asarray(np.int32(turns)), *ys[:len(ys) - len(more)])


def like(b, values, state):
    """Returns `values` as arrays of the dtypes of `state`."""
    return tuple(b.np.asarray(v).astype(s.dtype) for v, s in zip(values, state))


def inputs_of(outputs, at):
    """Returns the positions of the graph inputs that `outputs` depend on; None if anything impure is on the way."""
    found, seen, stack = set(), set(), list(outputs)
    while stack:
        t = stack.pop()
        if t in at:
            found.add(at[t])
            continue
        op = t.op
        if op in seen:
            continue
        seen.add(op)
        if not op.opdef.pure() or op.opdef.xla_only or op.opdef.facts.bodies or op.control_inputs:
            return None
        stack += op.inputs
    return found


# -- all at once -----------------------------------------------------------------------------------


class _Roles(NamedTuple):
    """What a loop's variables are to its turns, by position; those that no turn changes are in none.

    Attributes:
      counters: by how much each turn adds to it.
      sums: the tensors whose sum over all turns is added to it.
      rows: the operation by which a turn writes, takes out or adds a row.
    """

    counters: dict
    sums: dict
    rows: dict


_ROWS = ("TensorArrayWriteV3", "TensorArrayTake", "InplaceAdd")  # of their first input, those that the second tells


def at_once(b, turns, first, known, captures, xs, body, reverse):
    """Makes all turns at once; arguments and result are those of `scan`.

    Args:
      known: the loop variables before the first turn again, NumPy arrays where they are known.

    Returns:
      None where the turns depend on one another, or make too much to be made together.
    """
    n = len(first)
    roles = _roles(body, known)
    if roles is None:
        return None
    order = np.arange(turns)[::-1] if reverse else np.arange(turns)  # the turn that reads, and makes, each row
    mapped = {body.inputs[i]: np.asarray(known[i] + step * order, known[i].dtype) for i, step in roles.counters.items()}
    mapped.update(zip(body.inputs[len(body.inputs) - len(xs):], xs))
    places = {i: _places(op.inputs[1], mapped) for i, op in roles.rows.items()}
    if not all(op.type == "InplaceAdd" or _apart(places[i], len(first[i])) for i, op in roles.rows.items()):
        return None
    same = dict(zip(body.inputs, [*first, *captures]))
    _read_rows(body, same, mapped)

    sums = _sums_of_products(body, first, captures, xs, turns)
    terms = {i: some for i, some in roles.sums.items() if i not in sums}
    rows = {i: op.inputs[1:] for i, op in roles.rows.items() if op.type != "TensorArrayTake"}
    wanted = [t for some in (body.outputs[n:], *terms.values(), *rows.values(), _factors(sums, mapped)) for t in some]
    wanted = [t for t in dict.fromkeys(wanted) if t not in mapped]
    same = {t: x for t, x in same.items() if t not in mapped}
    if not _alone(wanted, {*mapped, *same}, {body.inputs[i] for i in (*roles.sums, *roles.rows)}):
        return None
    inner = _with(body, wanted, [*same, *mapped])

    def turn(at, *values):
        return [b.np.asarray(v) for v in b.call(inner, [*same.values(), *values], at)]

    made = b.all_at_once(turn, [_computed(b, x) for x in (order.astype(np.int32), *mapped.values())], _MOST)
    if made is None:
        return None
    stack_of = mapped | dict(zip(wanted, made))
    last = list(first)
    for i, some in terms.items():
        last[i] = sum((b.np.sum(stack_of[t], 0, dtype=last[i].dtype) for t in some), last[i])
    for i, some in sums.items():
        last[i] = _with_products(b, last[i], some, stack_of)
    for i, op in roles.rows.items():
        last[i] = _with_rows(b, op, last[i], places[i], [stack_of[t] for t in rows.get(i, ())])
    last = list(like(b, last, first))
    for i, step in roles.counters.items():
        last[i] = np.asarray(known[i] + step * turns, known[i].dtype)
    return (*last, np.asarray(turns, np.int32), *(stack_of[t] for t in body.outputs[n:]))


def _roles(body, known):
    """Returns the _Roles of a loop's variables; None if one of them is something else."""
    users, roles = _users(body), _Roles({}, {}, {})
    for i, (x, t, out) in enumerate(zip(known, body.inputs, body.outputs)):
        made = origin(out)
        if made is t:
            continue
        step = step_of(made, t, x)
        if step is not None:
            roles.counters[i] = step
            continue
        if users[out] != 1:
            return None
        terms = _added(out, t, users)
        if terms:
            roles.sums[i] = terms
        elif made.op.type in _ROWS and made.op.inputs[0] is t and users[t] == users[made] == 1:
            roles.rows[i] = made.op
        else:
            return None
    return roles


def step_of(out, t, start):
    """Returns the constant that an operation adds to the counter `t`, known to be the integer `start` before the first turn.

    None if it does something else, or `start` is something else: an array of several, a tracer.
    """
    op = out.op
    if type(start) is not np.ndarray or start.dtype.kind != "i" or start.ndim:
        return None
    if op.type not in ("Add", "AddV2", "Sub") or t not in op.inputs:
        return None
    first = op.inputs[0] is t
    other = op.inputs[first].op
    if other.type != "Const" or other.outputs[0].dims or op.type == "Sub" and not first:
        return None
    return int(other.attrs["value"]) * (-1 if op.type == "Sub" else 1)


def _places(t, mapped):
    """Returns which row each turn means by the tensor `t`, as a NumPy array; None if that is not known."""
    while t.op.type in ("Identity", "Reshape", "ExpandDims"):
        t = t.op.inputs[0]
    known = mapped.get(t)
    return known if type(known) is np.ndarray and known.ndim == 1 else None


def _apart(places, size):
    """True if the turns mean a row of their own each, of an array of so many."""
    return places is not None and _within(places, size) and len(np.unique(places)) == len(places)


def _within(places, size):
    return len(places) > 0 and 0 <= places.min() and places.max() < size


def _read_rows(body, same, mapped):
    """Adds to `mapped` what the turns read: rows, at known places, of arrays that are the same in all turns."""
    for op in body._ops:
        if op.type in ("TensorArrayReadV3", "TensorArrayTake") and op.inputs[0] in same:
            places, array = _places(op.inputs[1], mapped), same[op.inputs[0]]
            if places is not None and _within(places, len(array)):
                mapped[op.outputs[0]] = array[_as_slice(places)]


def _as_slice(places):
    """Returns `places`, as a slice if they follow one another."""
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    if step in (1, -1) and (np.diff(places) == step).all():
        end = int(places[-1]) + step
        return slice(int(places[0]), end if end >= 0 else None, step)
    return places


def _computed(b, x):
    """Returns `x`; evenly spaced integers as what a program computes, instead of a long constant in it."""
    if type(x) is np.ndarray and x.ndim == 1 and x.dtype.kind == "i" and len(set(np.diff(x).tolist())) == 1:
        return x[0] + (x[1] - x[0]) * b.np.arange(len(x), dtype=x.dtype)
    return x


def _alone(wanted, given, others):
    """True if `wanted` can be computed from `given` for all turns at once, and without the tensors `others`."""
    seen, stack = set(), list(wanted)
    while stack:
        t = stack.pop()
        if t in others:
            return False
        if t in given or t.op in seen:
            continue
        seen.add(t.op)
        if not _computes(t.op):
            return False
        stack += t.op.inputs
    return True


def _computes(op):
    """True for an operation that may be computed for many turns at once. Of a choice, both branches would be."""
    if op.opdef.facts.bodies and op.type != "While":
        return False
    if op.control_inputs or op.opdef.host or not (op.opdef.random or op.opdef.pure()):
        return False
    return all(inner.type == "FuncInput" or _computes(inner) for graph in body_graphs(op) for inner in graph._ops)


def _with_rows(b, op, array, places, values):
    """Returns `array` after all turns have done what `op` does to a row: `places` tells which, where that is known.

    Args: values: the stacks of its other inputs.
    """
    in_order = _apart(places, len(array)) and len(places) == len(array)
    if op.type == "TensorArrayTake":
        return b.np.zeros_like(array) if in_order else array.at[places].set(0)
    index, stack = values
    if op.type == "TensorArrayWriteV3":
        return stack[_as_slice(np.argsort(places))] if in_order else array.at[places].set(stack)
    if in_order:
        return array + stack.reshape(array.shape)[_as_slice(np.argsort(places))]
    return op.opdef.lower(b, array, index.reshape(-1), stack.reshape(-1, *stack.shape[2:]))


# -- sums of products over the turns: a gradient adds up `a.T @ g` for every weight ------------------


def _sums_of_products(body, first, captures, xs, turns):
    """Returns {carry position: [(x, y, transpose_x, transpose_y)]} for sums over the turns of products of matrices.

    Their operands are stacked and multiplied once after the loop: the products of all turns are one, of stacked rows, which
    runs at the processor's full speed, and no turn reads and writes the sum. Only where the stacks are no longer than what
    the turns would have moved, and not much longer than what the loop reads.
    """
    users, found = _users(body), {}
    room = (1 << 20) + 2 * sum(x.size for x in xs)
    at = {t: i for i, t in enumerate(body.inputs)}
    captured = set(range(len(first), len(first) + len(captures)))
    for i, start in enumerate(first):
        if start.dtype not in (np.float32, np.float64):
            continue
        products = [t.op for t in _added(body.outputs[i], body.inputs[i], users) or ()]
        if not products or not all(op.type == "MatMul" and users[op.outputs[0]] == 1 and all(
                fully_known(t.dims) for t in op.inputs) for op in products):
            continue
        terms = [(*op.inputs, op.attrs["transpose_a"], op.attrs["transpose_b"]) for op in products]
        rows, columns = start.shape
        length = sum(x.dims[0 if tx else 1] for x, _, tx, _ in terms)
        size = turns * length * (rows + columns)
        if size > room or length * (rows + columns) > 2 * len(terms) * rows * columns:
            continue
        reads = [inputs_of([t], at) for x, y, _, _ in terms for t in (x, y)]
        if any(read is not None and read <= captured for read in reads):
            continue  # the same in every turn
        room -= size
        found[i] = terms
    return found


def _added(output, total, users):
    """Returns the tensors that `output` adds to `total`; None if it is no such sum, or if anything else reads a part of it."""
    stack, terms, found = [output], [], False
    while stack:
        t = stack.pop()
        if t is total:
            found = users[t] == 1
        elif t.op.type in _SUMS and users[t] == 1:
            stack += t.op.inputs
        else:
            terms.append(t)
    return terms if found else None


def _users(body):
    """Returns {tensor: how often the operations of a body and its outputs read it}."""
    users = {}
    for t in (*(t for op in body._ops for t in op.inputs), *body.outputs):
        users[t] = users.get(t, 0) + 1
    return users


def _factors(sums, stacked):
    """Returns the factors of sums of products of which there are no stacks yet."""
    return list(dict.fromkeys(t for terms in sums.values() for x, y, _, _ in terms for t in (x, y) if t not in stacked))


def _with_products(b, total, terms, stack_of):
    """Returns `total` and the sum of the products of all turns."""
    return sum((stacked_product(b, stack_of[x], stack_of[y], tx, ty) for x, y, tx, ty in terms), total)


def _with(body, outputs, inputs=None):
    """Returns the same body with other outputs, and other tensors as inputs."""
    other = copy.copy(body)
    other.outputs = outputs
    if inputs is not None:
        other.inputs = inputs
    other.__dict__.pop("_plan", None)
    return other
