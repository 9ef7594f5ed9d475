"""Parts of a user's graph built once more, alone: what a rule's gradients are computed from, and the turns of loops.

A rule may be a closure over tensors of the user's graph, as those of `custom_gradient` are. So it is called where it belongs,
with a graph to build into that is thrown away, and everything between the inputs and the result is copied from there.
"""

import numpy as np

from regrad.core import dtypes
from regrad.core.convert import constant
from regrad.core.copying import copy_op
from regrad.core.dtypes import DType
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import Graph
from regrad.core.opdef import declared_attrs
from regrad.core.operation import origin, variable_of
from regrad.ops.array import placeholder

WIDE = {"float16": dtypes.float64, "bfloat16": dtypes.float64, "float32": dtypes.float64, "complex64": dtypes.complex128}
_VISITS = 8  # turns of a loop in which what it holds is looked at


class Scratch(FuncGraph):
    """A graph to build into beside another. What is captured is an input of its own, and of no graph between."""

    def capture(self, tensor):
        if tensor not in self.captures:
            known = tensor.value() if tensor.dtype._kind in "iubs" else None
            self.captures[tensor] = (self.add_input(tensor.dtype, tensor.dims, "capture") if known is None else
                                     constant(known, tensor.dtype))
        return self.captures[tensor]


def wide(dtype):
    """Returns the 64-bit dtype in which what is of `dtype` is audited."""
    return WIDE.get(dtype.name, dtype)


def attributes(op, is_wide):
    """Returns the attributes for a copy of `op`, in 64 bits or as it is; what marks an operation of the user's stays behind."""
    attrs = declared_attrs(op)
    return {k: wide(v) if isinstance(v, DType) else v for k, v in attrs.items()} if is_wide else dict(attrs)


def fixed(opdef):
    """True when an operand of an op type has a real dtype that cannot be another."""
    return any(a.fixed is not None and a.fixed._kind in "fc" for a in opdef.args)


class Piece:
    """What computes some tensors from others: the operations to copy, in order, and the tensors whose values are needed.

    Attributes:
      ops: the operations, of the user's graph and of the scratch graph, in the order in which they run.
      leaves: tensors that do not depend on the starts: they count with their values.
      wide: whether all of it can be computed in 64 bits.
    """

    def __init__(self, starts, ends, scratch):
        self.starts, self.scratch = set(starts), scratch
        self.outer = {inner: outer for outer, inner in scratch.captures.items()}
        mine, seen, stack = [], set(), [t for t in map(self.original, ends) if t not in self.starts]
        leaves = {}
        first = min((t.op.id for t in starts if t.graph is not scratch), default=0)
        home = next((t.graph for t in starts if t.graph is not scratch), None)
        while stack:
            t = stack.pop()
            if t.op in seen:
                continue
            seen.add(t.op)
            # What was made before the starts, or in a graph around theirs, does not depend on them.
            if t.op.type == "FuncInput" or t.graph is not scratch and (t.graph is not home or t.op.id < first):
                continue
            mine.append(t.op)
            stack += [s for s in map(self.original, t.op.inputs) if s not in self.starts]
        mine.sort(key=lambda op: (op.graph is scratch, op.id))
        depends, self.ops = set(), []
        for op in mine:
            if op.graph is scratch or any(s in self.starts or s in depends for s in map(self.original, op.inputs)):
                depends.update(op.outputs)
                self.ops.append(op)
        for t in [*(s for op in self.ops for s in op.inputs), *ends]:
            t = self.original(t)
            if t not in self.starts and t not in depends:
                leaves[t] = True
        self.leaves = list(leaves)
        self.wide = not any(fixed(op.opdef) or op.opdef.facts.bodies or op.opdef.facts.user_code
                            for op in self.ops)

    def original(self, t):
        return self.outer.get(t, t)

    def copied(self, made, graph, is_wide, of_scratch):
        """Copies the operations of the user's graph, or of the scratch graph, into `graph`.

        Args:
          made: {tensor: copy}, which has starts and leaves, and grows.
        """
        for op in self.ops:
            if (op.graph is self.scratch) is not of_scratch:
                continue
            inputs = [made[self.original(t)] for t in op.inputs]
            if op.type == "Const" and is_wide:
                outputs = [constant(np.asarray(op.attrs["value"]), wide(op.outputs[0].dtype))]
            elif is_wide:
                outputs = graph._add(op.opdef, tuple(inputs), attributes(op, True), "piece", op.groups).outputs
            else:
                outputs = copy_op(op, graph, inputs, "piece").outputs
            made.update(zip(op.outputs, outputs))


def leaf(value, dtype):
    """Returns (a tensor of this value, what to feed): real numbers are fed, so that nothing is folded; others may be static."""
    if dtype._kind not in "fc":
        return constant(value, dtype), {}
    value = np.asarray(value).astype(dtype.as_numpy_dtype)
    fed = placeholder(dtype, value.shape)
    return fed, {fed: value}


# -- the turns of loops ------------------------------------------------------------------------------------


def visits(op, given):
    """Runs the bodies of a loop or branch once more; returns {body: [{tensor: value} of each turn kept]}.

    Args:
      op: the operation; given: the values of its inputs.
    """
    given = [np.asarray(value) for value in given]
    if op.type == "While":
        return _turns(op, given)
    branches = op.attrs["branches"]
    taken = int(given[0])
    taken = (0 if taken else 1) if op.type == "If" else taken if 0 <= taken < len(branches) else len(branches) - 1
    body = branches[taken]
    run = _Body(body, given[1:])
    return {body: [run(given[1:])]}


def _turns(op, given):
    n, n_xs = op.attrs["n_carry"], op.attrs["n_xs"]
    cond, body = op.attrs["cond"], op.attrs["body"]
    limit, carry, captures = int(given[0]), given[1:1 + n], given[1 + n:len(given) - n_xs]
    xs = given[len(given) - n_xs:] if n_xs else []
    turns = min([len(x) for x in xs], default=limit)
    kept, goes_on, run, i = [], None, None, 0
    while turns < 0 or i < turns:
        state = [*carry, *captures]
        if cond is not None:
            goes_on = goes_on or _Body(cond, state)
            if not np.asarray(goes_on(state)[cond.outputs[0]]):
                break
        row = [x[len(x) - 1 - i if op.attrs["reverse"] else i] for x in xs]
        run = run or _Body(body, [*state, *row])
        kept.append(run([*state, *row]))
        carry = [kept[-1][t] for t in body.outputs[:n]]
        i += 1
    return {body: spread(kept)}


def spread(turns):
    """Returns some of the turns of a loop, the first and the last among them."""
    return [turns[k] for k in sorted({round(k) for k in np.linspace(0, len(turns) - 1, _VISITS)})] if turns else []


class _Body:
    """A body as a program of its own: called with its inputs, it returns the values of all its tensors."""

    def __init__(self, body, args):
        from regrad.runtime.session import Session

        self.graph, made = Graph(), {}
        self.inputs = []
        with self.graph.as_default():
            for t, value in zip(body.inputs, args):
                made[t] = placeholder(t.dtype, None if np.shape(value) != t.dims else t.dims)
                self.inputs.append(made[t])
            for op in body._ops:
                if op.type == "FuncInput" and op.outputs[0] in made:
                    continue
                if op.opdef.writes or any(t not in made for t in op.inputs):
                    continue  # an assignment, and what waits for it
                made.update(zip(op.outputs, copy_op(op, self.graph, [made[t] for t in op.inputs], op.name).outputs))
        self.made = {t: new for t, new in made.items() if t.dtype._kind in "fciub"}
        self.session = Session(graph=self.graph)

    def __call__(self, args):
        return dict(zip(self.made, self.session.run(list(self.made.values()), dict(zip(self.inputs, args)))))


def storage(t):
    """Returns the storage of the variable that `t` is read from, or `t`."""
    start = origin(t)
    return start if variable_of(start) is not None else t
