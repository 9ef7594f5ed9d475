"""The numbers of one run, at every operation of an explanation: what it gave, what arrived, what its rule passed on."""

import numpy as np

from regrad.core.operation import Operation
from regrad.core.tabular import Record
from regrad.inspect.taps import Taps, fetch, one_turn, part, turn_text

_SHOWN = 6  # elements of an array up to which all are shown


class Flow(Record):
    """What one run had at one operation.

    Attributes:
      values: of each output, an array or None; arriving: the gradient of each output; given: what the rule gave each input.
      turns: for an operation inside a loop [(turn, values, arriving, given)], in the order of the backward pass; the others are
        those of the turn that came first.
    """

    def __init__(self, values, arriving, given, turns=()):
        self.values, self.arriving, self.given, self.turns = values, arriving, given, list(turns)

    def data(self):
        return {"values": list(map(_plain, self.values)), "arriving": list(map(_plain, self.arriving)),
                "given": list(map(_plain, self.given)),
                "norms_in_turns": {turn_text(t): [norm(a) for a in arriving] for t, _, arriving, _ in self.turns}}

    def __str__(self):
        def said(arrays):
            return ", ".join(f"norm {n:.3g}" for a in arrays if (n := norm(a)) is not None) or "nothing"

        return f"{said(self.arriving)} arrives, {said(self.given)} is passed on"

    def norms(self):
        """Returns all norms of gradients here."""
        return [n for a in (*self.arriving, *self.given) if (n := norm(a)) is not None]


def flows_of(call, steps, feed_dict, session):
    """Returns {operation: Flow} for the steps of an explanation, from one run.

    Args:
      call: (ys, xs, options) of the `gradients` call that was explained.
    """
    ys, xs, options = call
    taps = Taps(ys, xs, name="flow", inside=lambda op, x, y, arriving, given: (y, arriving, given), **options)
    top = [s.op for s in steps if isinstance(s.op, Operation) and s.op in taps.at]
    forward = [t for op in top for t in op.outputs if t.dtype._kind in "fciub"]
    values = fetch([*taps.tensors(), *forward], feed_dict, session)

    def found(gradients):
        return [None if g is None else values[part(g)] for g in gradients]

    out = {op: Flow([values.get(t) for t in op.outputs], *map(found, taps.at[op])) for op in top}
    series = {}
    for (op, told), turns in zip(taps.log, taps.turns()):
        series.setdefault(op, []).append((one_turn(turns), *told))
    for op, turns in series.items():
        out[op] = Flow(*turns[0][1:], [entry for entry in turns if entry[0] is not None])
    return out


def norm(array):
    """Returns the Euclidean norm of an array, or None."""
    return None if array is None else float(np.linalg.norm(np.ravel(array).astype(np.complex128 if np.iscomplexobj(array) else
                                                                                   np.float64)))


def shown(array):
    """Returns an array in a few characters: all of it, or its range."""
    if array is None:
        return ""
    array = np.asarray(array)
    if array.dtype.kind not in "fiubc":
        return ""
    if array.size <= _SHOWN:
        return np.array2string(array, precision=3, suppress_small=True, separator=" ").replace("\n", "")
    if array.dtype.kind not in "fiu":
        return f"{array.size} elements"
    zeros = float(np.mean(array == 0))
    return f"{np.min(array):.3g} … {np.max(array):.3g}" + (f", {zeros:.0%} zeros" if zeros else "")


def _plain(array):
    if array is None:
        return None
    return {"shape": list(np.shape(array)), "norm": norm(array), **({"values": np.asarray(array).tolist()}
                                                                    if np.size(array) <= _SHOWN else {})}
