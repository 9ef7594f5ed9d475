"""Gradient rules for `flow.py`: the gradient of a choice is a choice, of a loop a loop in the other direction.

A gradient body is built by walking the forward body like any graph, overrides included. Where its rules use a tensor of
the forward body, cheap ones are computed again inside the gradient body; the others (products, random numbers, host
functions ...) become further outputs of the forward operation, saved when it runs.
"""

from regrad.autodiff import walking
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import int64
from regrad.core.frames import framed
from regrad.core.func_graph import FuncGraph
from regrad.core.gradient_registry import NotDifferentiable, RegisterGradient
from regrad.core.graph import get_default_graph
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import Spec, declared_attrs
from regrad.core.operation import Tensor, variable_of
from regrad.core.shapes import fully_known, size_of
from regrad.core.traversal import assigned_by, needed
from regrad.ops.array import concat, fill, shape, size, unasked_identity, zeros, zeros_like
from regrad.ops.flow import case_op, if_op, set_captures, while_op
from regrad.ops.generate import range as range_of
from regrad.ops.indexing import add_slices
from regrad.ops.math import cast, maximum
from regrad.runtime.plan import needs_host, shape_only_positions

_FEW = 4096  # elements; what a loop saves of each iteration stays in the processor's cache then
_SPECIMEN = 7  # a size


def _worth_saving(t):
    kind = t.op.opdef
    return not kind.pure() or kind.facts.cost == "heavy" or (
        kind.facts.cost == "slow" and fully_known(t.dims) and size_of(t.dims) <= _FEW)


class GradGraph(FuncGraph):
    """The gradient of a body: a graph that may use the tensors of the forward body.

    Attributes:
      forward: the body it differentiates.
      outer_of: {input of `forward`: the outer tensor it stands for}, for captures.
      saved: forward tensors that the forward operation must save, each with the input here that receives it.
    """

    def __init__(self, name, outer_graph, forward, outer_of):
        super().__init__(name, outer_graph, inherits_scope=True)
        self.forward = forward
        self.outer_of = outer_of
        self.saved = {}
        self.assigned = {variable for op in forward._ops for variable in assigned_by(op)}
        self.shape_of = {}  # {loop variable of `forward`: outer tensor of its shape}
        self._copies = {}
        self._shapes = {}  # {forward tensor: a copy of which only the shape is asked, and that is never computed}

    def encloses(self, graph):
        return graph is self.forward or self._differentiates(graph) or super().encloses(graph)

    def _differentiates(self, graph):
        """True for the body that `forward` is the gradient of: the function of a custom gradient holds tensors of it."""
        return isinstance(self.forward, GradGraph) and (graph is self.forward.forward or self.forward._differentiates(graph))

    def copy_of(self, tensor):
        """Returns what stands in this graph for a tensor of the first body, or None."""
        inner = self.forward.copy_of(tensor) if self._differentiates(tensor.graph) else tensor
        return self._copies.get(inner)

    def capture(self, tensor):
        if self._differentiates(tensor.graph):
            inner = self.forward.copy_of(tensor)
            if inner is None:
                raise ValueError(f"The second derivative needs {tensor.name!r} of the body, which the first did not use: "
                                 "give it to the function under custom_gradient as an argument.")
            tensor = inner
        if tensor.graph is not self.forward:
            return super().capture(tensor)
        return self._copies[tensor] if tensor in self._copies else self._copied(tensor, self._copies)

    def capture_shape(self, tensor):
        """Returns a tensor of the shape of `tensor`, for which nothing is saved.

        A loop variable without a shape invariant keeps its shape, so its last value will do; of anything else a copy, which
        nothing computes.
        """
        if tensor in self.shape_of or tensor.graph is not self.forward:
            return super().capture(self.shape_of.get(tensor, tensor))
        if tensor in self._copies:
            return self._copies[tensor]
        return self._copied(tensor, self._shapes)

    def _copied(self, tensor, copies):
        """Returns what stands here for a tensor of the forward body, after computing again what that needs."""
        with self.as_default(), self.control_dependencies(None):
            stack = [tensor]
            while stack:
                t = stack[-1]
                if t not in copies:
                    missing = self._copy(t, copies)
                    if missing:
                        stack += missing
                        continue
                stack.pop()
        return copies[tensor]

    def _copy(self, t, copies):
        """Puts what stands for `t` into `copies`, or returns the inputs that must be there first."""
        op, only_shape = t.op, copies is self._shapes
        if t in self.outer_of:
            copies[t] = super().capture(self.outer_of[t])
        elif only_shape and (t in self._copies or t in self.shape_of):
            copies[t] = self.capture_shape(t)
        elif (_worth_saving(t) or self._changes(op) or self._reads_row(op)) and not (
                only_shape and op.opdef.pure() and not op.opdef.facts.bodies):
            copies[t] = self.capture(t) if only_shape else self._saved(t)
        else:
            of_shape = () if only_shape else set(shape_only_positions(op)).difference(op.opdef.facts.led_through)
            missing = [t for i, t in enumerate(op.inputs) if t not in copies and i not in of_shape]
            if missing:
                return missing
            inputs = tuple(self.capture_shape(t) if i in of_shape else copies[t] for i, t in enumerate(op.inputs))
            with framed(self, scope=""):
                copy = self._add(op.opdef, inputs, declared_attrs(op), op.name, op.groups)
            copy.attrs = op.attrs
            copy.override_scope = op.override_scope
            copy.attached_rules = op.attached_rules
            copy.forward_op = None
            for old, new in zip(op.outputs, copy.outputs):
                copies[old] = new
                if new.dims is None or None in new.dims:
                    new.set_shape(old.dims)
        return ()

    def _changes(self, op):
        """True for a read of a variable that the forward body assigns: it would read something else by now."""
        return bool(self.assigned) and any(variable_of(t) in self.assigned for t in op.inputs)

    def _reads_row(self, op):
        """True for a row of an array that the loop carries: saving the row saves the whole array."""
        return op.type in ("TensorArrayReadV3", "TensorArrayTake") and op.inputs[0] not in self.outer_of

    def _saved(self, t):
        with framed(self, scope=""):
            self.saved[t] = self._new_input(t.dtype, t.dims, "saved/" + t.op.name)
        return self.saved[t]

    def forget_unread(self):
        """Leaves of `saved` only what the outputs need: rules also make gradients that nobody asked for."""
        read = needed(self.outputs)
        self.saved = {t: inner for t, inner in self.saved.items() if inner.op in read}


def _extend(body, tensors):
    """Makes `tensors` of a body further outputs of it."""
    body.outputs = [*body.outputs, *tensors]
    body.__dict__.pop("_plan", None)


def _touched(op):
    """Forgets what was remembered about an op that got more outputs, and about the graphs around it; so do sessions."""
    op.__dict__.pop("_host", None)
    for graph in op.graph.outwards():
        graph.__dict__.pop("_plan", None)
        graph.__dict__.pop("_needs_host", None)
    op.graph.root.changed_what_is_planned()


def _is_real(t):
    return t.dtype.is_floating or t.dtype.is_complex


def _dense(dys):
    """Returns what arrives, IndexedSlices as tensors of the graph that the operation is in: a body's would be its own."""
    return [None if dy is None else convert_to_tensor(dy) for dy in dys]


# -- If, Case --------------------------------------------------------------------------------


def _branches_grad(op, *dys):
    graph = get_default_graph()
    branches = op.attrs["branches"]
    n_saved = op.attrs["n_saved"]
    own = len(branches[0].outputs) - n_saved[0]
    offset = 1
    captures = op.inputs[offset:]
    wanted = [i for i, t in enumerate(captures) if _is_real(t) and walking.wants(t)]
    dys = _dense(dys)
    arriving = [i for i, dy in enumerate(dys[:own]) if dy is not None and _is_real(op.outputs[i])]
    grad_graphs, results = [], []
    saved_at = own
    for j, branch in enumerate(branches):
        g = GradGraph(f"branch{j}_grad", graph, branch, dict(zip(branch.inputs, captures)))
        g.assigned.update(filter(None, map(variable_of, branch.inputs)))  # by whatever runs in between: a value costs little
        with g.as_default():
            ys = [branch.outputs[i] for i in arriving]
            grad_ys = [g.capture(dys[i]) for i in arriving]
            for k in range(n_saved[j]):  # what arrives at values saved for an earlier gradient: second order
                dy = dys[saved_at + k]
                if dy is not None and _is_real(branch.outputs[own + k]):
                    ys.append(branch.outputs[own + k])
                    grad_ys.append(g.capture(dy))
            grads = walking.inner_gradients(ys, [branch.inputs[i] for i in wanted], grad_ys)
        saved_at += n_saved[j]
        grad_graphs.append(g)
        results.append(grads)
    used = [k for k in range(len(wanted)) if any(r[k] is not None for r in results)]
    if not used:
        return [None] * len(op.inputs)
    in_rows = {k for k in used if _reads_variable(captures[wanted[k]]) and all(
        r[k] is None or isinstance(r[k], IndexedSlices) for r in results)}
    rows = {k: _row_parts(grad_graphs, [r[k] for r in results], captures[wanted[k]]) for k in in_rows}
    for j, (g, grads) in enumerate(zip(grad_graphs, results)):
        with g.as_default():
            g.outputs = []
            for k in used:
                if k in in_rows:
                    g.outputs += map(unasked_identity, rows[k][j])
                else:
                    g.outputs.append(unasked_identity(_local(g, grads[k])) if grads[k] is not None
                                     else zeros_like(g.capture(captures[wanted[k]])))
    for g in grad_graphs:
        g.forget_unread()
    _save(op, grad_graphs, own)
    outers = set_captures(grad_graphs, 0)
    kind = if_op if op.type == "If" else case_op
    made = kind(op.inputs[0], outers, branches=tuple(grad_graphs), n_saved=(0,) * len(branches), name="If")
    out, made = [None] * len(captures), iter(made)
    for k in used:
        found = next(made)
        out[wanted[k]] = IndexedSlices(found, next(made), shape(_plain(captures[wanted[k]]))) if k in in_rows else found
    return [None, *out]


def _reads_variable(t):
    """True for a variable's value, in a body too: where its gradient is in rows, an optimizer leaves other rows alone."""
    while variable_of(t) is None:
        if t.op.type == "Identity":
            t = t.op.inputs[0]
        elif t.op.type == "FuncInput" and isinstance(t.graph, FuncGraph):
            t = next((outer for outer, inner in t.graph.captures.items() if inner is t), None)
            if t is None:
                return False
        else:
            return False
    return True


def _row_parts(graphs, grads, capture):
    """Returns (values, indices) of each branch's gradient by a variable, as far as may be of one shape in all of them.

    As in TensorFlow a branch without a gradient gives all rows, of zeros. Where branches have another number of rows, further
    rows of zeros for an index that is there anyway change nothing.
    """
    parts = []
    for g, dy in zip(graphs, grads):
        with g.as_default():
            if dy is None:
                values = zeros_like(g.capture(capture))
                parts.append([values, range_of(shape(values)[0])])
            else:
                parts.append([_local(g, dy.values), _local(g, dy.indices)])
    counts = [indices.dims[0] if indices.dims else None for _, indices in parts]
    total = capture.dims[0] if capture.dims and None in grads else None
    most = max(counts) if None not in counts else total
    wide = any(indices.dtype is int64 for _, indices in parts)
    for g, part, dy, count in zip(graphs, parts, grads, counts):
        with g.as_default():
            if wide:
                part[1] = cast(part[1], int64)
            if dy is not None and most is not None and count not in (0, most):
                part[:] = _with_more_rows(*part, most)
    return parts


def _with_more_rows(values, indices, count):
    """Returns rows of which there are `count` at least: zeros at the first index (at 0 where there is none)."""
    known = indices.dims[0] if indices.dims else None
    more = maximum(count - size(indices), 0) if known is None else max(count - known, 0)
    zeros_below = zeros(concat([[more], shape(values)[1:]], 0), values.dtype)
    first = concat([indices, zeros([1], indices.dtype)], 0)[0]
    out = concat([values, zeros_below], 0), concat([indices, fill([more], first)], 0)
    if known is not None:
        out[1].set_shape([known + more])
    return out


def _local(graph, g):
    g = convert_to_tensor(g)
    return graph.capture(g) if g.graph is not graph else g


def _save(op, grad_graphs, own):
    """Makes what the gradient branches need of the forward ones further outputs of the forward op."""
    branches, n_saved = list(op.attrs["branches"]), list(op.attrs["n_saved"])
    outputs = list(op.outputs[:own])
    rest = list(op.outputs[own:])
    for j, (branch, g) in enumerate(zip(branches, grad_graphs)):
        kept, rest = rest[:n_saved[j]], rest[n_saved[j]:]
        have = branch.outputs[own:]
        new = [t for t in g.saved if t not in have]
        _extend(branch, new)
        n_saved[j] += len(new)
        made = [Tensor(op, 0, t.dims, t.dtype) for t in new]
        all_saved = dict(zip([*have, *new], [*kept, *made]))
        outputs += all_saved.values()
        for t, inner in g.saved.items():
            g.inputs.append(inner)
            g.outer_inputs.append(all_saved[t])
            g.captures[all_saved[t]] = inner
    for i, t in enumerate(outputs):
        t.value_index = i
    op.attrs = {**op.attrs, "n_saved": tuple(n_saved)}
    op.outputs = outputs
    _touched(op)


RegisterGradient("If")(_branches_grad)
RegisterGradient("Case")(_branches_grad)


# -- While ------------------------------------------------------------------------------------


class _Loop:
    """A loop as its gradient sees it: what goes into its body, and which of that gets a gradient.

    Attributes:
      carry_in, capture_in, x_in: the inputs of the body: loop variables, captures, and rows.
      captures, xs: what the operation takes for the last two.
      real_carry, real_captures, real_xs: the positions among each of what gets a gradient; of the loop variables, those from
        which the outputs that a gradient arrives at are computed, in as many turns as it takes.
    """

    def __init__(self, op, dys):
        body, n, inputs = op.attrs["body"], op.attrs["n_carry"], op.inputs[1:]
        first_x = len(inputs) - op.attrs["n_xs"]
        self.carry_in, self.capture_in, self.x_in = body.inputs[:n], body.inputs[n:first_x], body.inputs[first_x:]
        self.captures, self.xs = inputs[n:first_x], inputs[first_x:]
        self.real_carry = carry_that_gets_gradients(op, dys)
        self.real_captures = [i for i, t in enumerate(self.capture_in) if _is_real(t) and walking.wants(self.captures[i])]
        self.real_xs = [i for i, t in enumerate(self.x_in) if _is_real(t) and walking.wants(self.xs[i])]


def carry_that_gets_gradients(op, dys):
    """Returns the positions of the loop variables from which outputs of a While are computed that a gradient arrives at.

    As in TensorFlow a variable that a loop takes along without using it for those gets None.
    """
    body, n = op.attrs["body"], op.attrs["n_carry"]
    real = [i for i, t in enumerate(body.inputs[:n]) if _is_real(t)]
    arrived = [i for i in real if dys[i] is not None]
    stacked = [y for y, dy in zip(body.outputs[n:], dys[n + 1:]) if dy is not None and _is_real(y)]
    if len(arrived) == len(real):
        return real
    ways = walking.leading([*body.outputs[:n], *stacked], body.inputs[:n], walking.carrying(body._ops))
    found, stack = set(arrived), [*arrived, *range(n, n + len(stacked))]
    while stack:
        more = ways[stack.pop()].intersection(real) - found
        found |= more
        stack += more
    return sorted(found)


class _Back:
    """One turn of a loop's gradient, in the graph `g`.

    Its loop variables are the gradients by the real loop variables of the forward body, and the sums over the turns of those
    by captures; what it stacks are the gradients by rows.

    Attributes:
      d_carry, sums: its loop variables.
      used, used_xs: for which of the loop's `real_captures` and `real_xs` there is a gradient.
      rows: (input of `g`, stack outside) of what it reads a row a turn.
    """

    def __init__(self, g, op, loop, dys):
        body, n, changing = op.attrs["body"], op.attrs["n_carry"], _changing(op)
        g.shape_of = {t: last for t, last in zip(loop.carry_in, op.outputs) if t not in changing}
        with g.as_default():
            self.d_carry = []
            for i in loop.real_carry:
                t = loop.carry_in[i]
                self.d_carry.append(g.add_input(t.dtype, t.dims if t in changing else op.outputs[i].dims, "d_carry"))
            self.rows = []
            ys, grad_ys = [body.outputs[i] for i in loop.real_carry], list(self.d_carry)
            for y, dy in zip(body.outputs[n:], dys[n + 1:]):
                if dy is not None and _is_real(y):
                    ys.append(y)
                    grad_ys.append(self._row(g, y, dy))
            for x, stack in zip(loop.x_in, loop.xs):
                g._copies[x] = self._row(g, x, stack)
            wanted = [t for some, real in ((loop.carry_in, loop.real_carry), (loop.capture_in, loop.real_captures),
                                           (loop.x_in, loop.real_xs)) for t in map(some.__getitem__, real)]
            grads = walking.inner_gradients(ys, wanted, grad_ys)
            first, last = len(loop.real_carry), len(wanted) - len(loop.real_xs)
            new_carry = [zeros_like(d) if t is None else unasked_identity(_local(g, t)) for d, t in zip(self.d_carry, grads)]
            by_captures, by_xs = grads[first:last], [None if t is None else _local(g, t) for t in grads[last:]]
            self.used = [k for k, t in enumerate(by_captures) if t is not None]
            self.used_xs = [k for k, t in enumerate(by_xs) if t is not None]
            taken = [loop.capture_in[loop.real_captures[k]] for k in self.used]
            self.sums = [g.add_input(t.dtype, t.dims, "sum") for t in taken]
            # Rows of a captured array stay rows: they are added in place.
            new_sums = [add_slices(s, by_captures[k]) if isinstance(by_captures[k], IndexedSlices)
                        else s + _local(g, by_captures[k]) for s, k in zip(self.sums, self.used)]
            g.outputs = [*new_carry, *new_sums, *(unasked_identity(by_xs[k]) for k in self.used_xs)]
        g.forget_unread()

    def _row(self, g, t, stack):
        """Returns a new input of `g`, neither loop variable nor capture: a row, like the tensor `t`, of `stack`."""
        self.rows.append((g._new_input(t.dtype, t.dims, "row"), stack))
        return self.rows[-1][0]


@RegisterGradient("While")
def _while_grad(op, *dys):
    graph, dys = get_default_graph(), _dense(dys)
    loop = _Loop(op, dys)
    body, n = op.attrs["body"], op.attrs["n_carry"]
    g = GradGraph("while_grad", graph, body, dict(zip(loop.capture_in, loop.captures)))
    back = _Back(g, op, loop, dys)
    rows = [*back.rows, *_stacked(op, g)]

    explicit = [*back.d_carry, *back.sums]
    of_loop = set(explicit)
    g.inputs = [*explicit, *(t for t in g.inputs if t not in of_loop), *(inner for inner, _ in rows)]
    g.n_carry = len(explicit)
    start = [dys[i] if dys[i] is not None else zeros_like(op.outputs[i]) for i in loop.real_carry]
    start += [zeros_like(_plain(loop.captures[loop.real_captures[k]])) for k in back.used]
    taken = [*g.outer_inputs, *(stack for _, stack in rows)]
    turns, *taken = (t if t.graph is graph else graph.capture(t) for t in (op.outputs[n], *taken))
    made = while_op(turns, [*start, *taken], cond=None, body=g, n_carry=len(explicit), n_xs=len(rows),
                    reverse=not op.attrs["reverse"], invariants=(None,) * len(explicit), host=needs_host(op), name="While")
    out = [None] * len(op.inputs)
    by_xs = made[len(explicit) + 1:]  # behind the loop variables stands the number of turns
    for i, found in zip(loop.real_carry, made):
        out[1 + i] = found
    for k, found in zip(back.used, made[len(loop.real_carry):]):
        out[1 + n + loop.real_captures[k]] = found
    for k, found in zip(back.used_xs, by_xs):
        out[1 + n + len(loop.captures) + loop.real_xs[k]] = found
    return out


def _stacked(op, g):
    """Makes what the gradient needs of each forward turn a stacked output of the loop; returns [(input of `g`, stack)]."""
    body, n = op.attrs["body"], op.attrs["n_carry"]
    have = body.outputs[n:]
    new = [t for t in g.saved if t not in have]
    _extend(body, new)
    made = [Tensor(op, len(op.outputs) + k, None if t.dims is None else (None, *t.dims), t.dtype) for k, t in enumerate(new)]
    op.outputs = [*op.outputs, *made]
    _touched(op)
    stacks = dict(zip([*have, *new], op.outputs[n + 1:]))
    return [(inner, stacks[t]) for t, inner in g.saved.items()]


def _changing(op):
    """Returns the loop variables (inputs of the body) whose shape may change from turn to turn.

    Of a loop that runs on the host anyway, all whose shape is not known; of another, those that have another shape after a
    turn when every unknown size is the same number.
    """
    from regrad.runtime.bodies import body_dims

    body = op.attrs["body"]
    carry = body.inputs[:op.attrs["n_carry"]]
    unknown = [i for i, t in enumerate(carry) if not fully_known(t.dims)]
    if not unknown or needs_host(op):
        return {carry[i] for i in unknown}
    shapes = [(None, None) if t.dims is None else t.dims for t in body.inputs]  # an unknown rank is tried as 2
    specs = [Spec(tuple(_SPECIMEN if d is None else d for d in dims), t.dtype) for dims, t in zip(shapes, body.inputs)]
    try:
        after = body_dims(body, specs)
    except Exception:  # shapes that one number for all sizes does not fit tell nothing
        return set()
    return {carry[i] for i in unknown if after[i] != specs[i].dims}


def _plain(t):
    return unasked_identity(t) if variable_of(t) is not None else t


NotDifferentiable("FuncInput")
