"""A backward pass with a tap at every operation: what arrives at its outputs, and what its rule gives to its inputs.

Of operations in the bodies of loops and branches there are as many values as turns. A host function in the backward body is
called with them turn by turn, which makes that loop run from the host.
"""

import functools
from bisect import bisect_left

import numpy as np

from regrad.autodiff.gradients import as_list, gradients, values_of_slices
from regrad.autodiff.overrides import Override, OverrideError, as_overrides
from regrad.autodiff.partials import element
from regrad.autodiff.rules import dense
from regrad.autodiff.selectors import Each
from regrad.core import context
from regrad.core.errors import FailedPreconditionError
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.operation import Operation, variable_of
from regrad.inspect.explain import explain_gradients, reached_from
from regrad.ops.array import identity
from regrad.ops.script import py_func
from regrad.runtime.plan import body_graphs


class Taps:
    """The gradients of one backward pass, as tensors.

    Attributes:
      explanation: the `Explanation` of the pass.
      at: {operation: (gradients of its outputs, gradients its rule gives to its inputs)}; None where there is none.
      xs: what stands for each x; grads: the gradient of each, or None.
      log: [(operation inside a body, what `inside` returned)], in the order of the run; `turns()` says in which turns.
    """

    def __init__(self, ys, xs, overrides=None, view=None, name="taps", inside=None, all_inputs=False, **options):
        """Args: as of `gradients`; inside: called in the run for each operation inside a body and each turn, as
        `inside(operation, inputs, outputs, arriving, given)` with arrays, None for what is not there; all_inputs: what a rule
        gives to inputs counts also where no x is behind them, and slices are made whole."""
        graph = element(as_list(ys)[0], "y").graph
        call = as_overrides(overrides, graph, "this call")
        self.explanation = explain_gradients(ys, xs, overrides=call, view=view, **options)
        if self.explanation.unused:
            raise OverrideError(f"{name}(overrides=...): caught nothing: {'; '.join(self.explanation.unused)}")
        self.at, self.log = {}, []
        self.xs = [element(x, "x") for x in as_list(xs)]
        live = reached_from(self.xs, [element(values_of_slices(y), "y") for y in as_list(ys)])

        def tap(op, *dys, default):
            grads = default()
            if not isinstance(op, Operation):
                return grads
            real = [g if t.dtype._kind in "fc" and (all_inputs or t in live) else None for t, g in zip(op.inputs, grads)]
            if all_inputs:
                real = [g if g is None else dense(g) for g in real]
            if op.opdef.type == "While":  # the last are rows that another loop has saved, of any number of turns
                real[len(real) - op.attrs["n_xs"]:] = [None] * op.attrs["n_xs"]
            if op.graph is graph:
                self.at[op] = list(dys), real
            elif inside is not None and any(g is not None for g in real):
                grads = self._recorded(op, dys, grads, real, inside)
            return grads

        taps = [Override(Each(), tap, optional=True)]
        self.grads = gradients(ys, xs, overrides=[*taps, *call], view=view, name=name, **options)

    def _recorded(self, op, dys, grads, real, inside):
        """Returns the gradients, which now wait for a host function that is called with all that is at the operation."""
        values = [t if t.dtype._kind in "fc" and variable_of(t) is None and not op.opdef.facts.bodies else None
                  for t in (*op.inputs, *op.outputs)]
        places = [*values, *dys, *real]
        ends = len(op.inputs), len(values), len(values) + len(dys)

        def record(*arrays):
            arrays = iter(arrays)
            told = [None if p is None else np.asarray(next(arrays)) for p in places]
            self.log.append((op, inside(op, told[:ends[0]], told[ends[0]:ends[1]], told[ends[1]:ends[2]], told[ends[2]:])))

        seen = py_func(record, [part(p) for p in places if p is not None], [], name="tap")
        with get_default_graph().control_dependencies([seen]):
            return [g if r is None else IndexedSlices(identity(g.values), g.indices, g.dense_shape)
                    if isinstance(g, IndexedSlices) else identity(g) for g, r in zip(grads, real)]

    def around(self, op):
        """Returns the operation in whose body `op` stands, or None."""
        return self._holders.get(op.graph)

    def outermost(self, op):
        """Returns the operation of the graph itself that holds `op`, an operation inside a body; `op` if there is none."""
        while self.around(op) is not None:
            op = self.around(op)
        return op

    @functools.cached_property
    def _holders(self):
        return {body: step.op for step in self.explanation.steps
                if isinstance(step.op, Operation) for body in body_graphs(step.op)}

    def turns(self):
        """Returns, for each entry of the log, the turns of the loops around it, outermost first (branches count for none).

        The backward pass goes through a loop's turns from the last to the first.
        """
        around = self._holders
        turns = [()] * len(self.log)
        at = {}
        for i, (op, _) in enumerate(self.log):
            at.setdefault(op, []).append(i)
        stack = [(body, op, range(len(self.log)), ()) for body, op in around.items() if op not in at]
        while stack:
            body, outer, span, before = stack.pop()
            mine = {op: entries[bisect_left(entries, span.start):bisect_left(entries, span.stop)]
                    for op, entries in at.items() if op.graph is body}
            count = max(map(len, mine.values()), default=0)
            for op, entries in mine.items():
                start = span.start
                for k, i in enumerate(entries):
                    turns[i] = (*before, count - 1 - k) if outer.type == "While" else before
                    # What an operation with bodies held ran since it last said anything.
                    stack += [(inner, op, range(start, i), turns[i]) for inner, o in around.items() if o is op]
                    start = i + 1
        return turns

    def tensors(self):
        """Returns every gradient once."""
        found = [g for dys, gs in self.at.values() for g in (*dys, *gs)] + self.grads
        return list(dict.fromkeys(part(g) for g in found if g is not None))


def one_turn(turns):
    """Returns a path of turns as reports have it: None outside loops, a number in one loop, a tuple in nested ones."""
    return turns[0] if len(turns) == 1 else turns or None


def turn_text(turn):
    """Returns a turn as words have it: "3", or "3.1" for turn 1 of a loop in turn 3 of another."""
    return str(turn) if isinstance(turn, int) else ".".join(map(str, turn))


def part(gradient):
    """Returns the tensor to fetch for a gradient: of slices, their values."""
    return gradient.values if isinstance(gradient, IndexedSlices) else gradient


def whole(gradient):
    """Returns a gradient as one tensor of the shape of its x, or None."""
    return None if gradient is None else dense(gradient)


def fetch(tensors, feed_dict, session):
    """Returns {tensor: value} from one run in the session that `session_for` chooses."""
    tensors = list(dict.fromkeys(tensors))
    if not tensors:
        return {}
    session, own = session_for(tensors[0].graph, session)
    try:
        return dict(zip(tensors, session.run(tensors, feed_dict)))
    except FailedPreconditionError as error:
        if own:
            open_ = len(_with_values(tensors[0].graph))
            there = f", and {open_} sessions of this graph have values" if open_ else ""
            error.add_note(f"It ran in a session of its own, in which no variable has a value{there}: pass session=..., or "
                           "call it in the `with` block of the session that has them.")
        raise
    finally:
        if own:
            session.close()


def session_for(graph, session=None):
    """Returns (the session to run in, whether it was made for this): the one given, the default one, or the open one of the
    graph whose variables have values, if there is one alone."""
    from regrad.runtime.session import Session

    session = session or context.get_default_session()
    if session is not None and not hasattr(session, "run"):
        raise TypeError(f"session must be a tf.Session, got {session!r}.")
    if session is not None:
        return session, False
    there = _with_values(graph)
    return (there[0], False) if len(there) == 1 else (Session(graph=graph), True)


def _with_values(graph):
    from regrad.runtime.session import open_sessions

    return [s for s in open_sessions(graph.root) if s.state]
