"""`audit`: holds the gradient of every operation of a graph against differences of its values.

Each operation on the way from xs to ys is built once more, alone, in 64 bits, with the values that its inputs have in the
user's own run. Along a random direction v and for a random arriving gradient u, the rule's <g, v> must equal the difference
quotient of <u, f>. All operations are run together; the few that disagree are looked at one by one.
"""

import inspect

import numpy as np

from regrad.autodiff import forward
from regrad.autodiff.gradients import as_list, checked, flows, gradients, values_of_slices
from regrad.autodiff.overrides import Bridge
from regrad.autodiff.partials import element
from regrad.autodiff.rules import Rule, Transform, dense
from regrad.autodiff.selectors import Group, Selector, as_selector
from regrad.core.convert import constant
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import Graph
from regrad.core.operation import Operation, variable_of
from regrad.core.shapes import fully_known
from regrad.core.tabular import Record, Table
from regrad.core.traversal import body_graphs
from regrad.inspect import replaying
from regrad.inspect.explain import (
    FAILED,
    NO_RULE,
    NOT_DIFFERENTIABLE,
    OVERRIDDEN,
    RULE,
    explain_gradients,
    reached_from,
    unchanged,
)
from regrad.inspect.report import Report, absent
from regrad.inspect.taps import fetch
from regrad.ops.array import placeholder, zeros_like
from regrad.ops.math import multiply
from regrad.ops.reduce import reduce_sum
from regrad.ops.tensor_array import is_unwritten

RIGHT, DIFFERENT, WRONG, UNCHECKED = "right", "deliberately different", "wrong", "not checked"

# Op types whose registered rule is not the derivative of what they compute, and is not meant to be.
_MEANT = ("ForwardOf", "StopGradient", "PreventGradient", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars",
          "FakeQuantWithMinMaxVarsPerChannel", "QuantizeAndDequantize", "QuantizeAndDequantizeV2",
          "QuantizeAndDequantizeV3")
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
_NUDGES = 7


class Finding(Record):
    """What was found about one operation.

    Attributes:
      op, type, at: its name, type and line; rule: the rule and why it is the one.
      verdict: "right", "deliberately different" (an override, or an op made to differ), "wrong" or "not checked".
      order: 1 or 2: the derivative the verdict is about.
      given, true: the rule's directional derivative and the numeric one; None when not checked.
      error: |given - true| / max(|true|, |given|, 1e-6 of the terms' size).
      input: name of the input whose gradient is off, when one alone is.
      note: further words; forward: True when it is about a forward rule, held against the reverse one.
    """

    def __init__(self, step, verdict, order=1, given=None, true=None, error=None, input="", note="", forward=False):
        self.op, self.type, self.at, self.rule = step.name, step.type, step.at, step.says()
        self.verdict, self.order, self.given, self.true, self.error = verdict, order, given, true, error
        self.input, self.note, self.forward = input, note, forward

    def data(self):
        return dict(vars(self))

    def __str__(self):
        numbers = "" if self.given is None else f", the rule says {_number(self.given)} and it is {_number(self.true)}"
        more = "".join(f", {words}" for words in (self.input and f"input {self.input}", self.note) if words)
        return f"{self.verdict}: {self.op} ({self.type}) at {self.at}, order {self.order}{numbers}{more}; rule {self.rule}"


class Audit(Report):
    """The findings of an audit; true when nothing is wrong, and all was checked or the audit is lenient.

    Attributes:
      findings: list of `Finding`, in the order of the backward walk.
    """

    def __init__(self, findings, lenient=False):
        self.findings, self.lenient = findings, lenient

    def of(self, verdict):
        """Returns the findings of one verdict."""
        return [f for f in self.findings if f.verdict == verdict]

    @property
    def wrong(self):
        return self.of(WRONG)

    def __bool__(self):
        return not self.wrong and (self.lenient or not self.of(UNCHECKED))

    def __getitem__(self, op):
        """Returns the Finding of an operation, tensor or name: of its first derivative, or of the second if that is wrong."""
        name = getattr(getattr(op, "op", op), "name", op)
        found = sorted((f for f in self.findings if f.op == name), key=lambda f: (f.verdict != WRONG, f.order))
        if not found:
            raise absent(name, "the operations that were audited", (f.op for f in self.findings))
        return found[0]

    def tables(self):
        counts = ", ".join(f"{len(self.of(v))} {v}" for v in (RIGHT, DIFFERENT, WRONG, UNCHECKED) if self.of(v))
        order = [WRONG, DIFFERENT, UNCHECKED, RIGHT]
        rows = sorted(self.findings, key=lambda f: order.index(f.verdict))
        return [Table(f"Audit of {len({f.op for f in self.findings})} operations: "
                      f"{counts or 'no gradient flows from ys to xs, tf.why_none(ys, x) says why'}",
                      ["verdict", "order", "operation", "type", "made at", "rule says", "numerically", "rule", "note"],
                      [(f.verdict, f.order, f.op, f.type, f.at, _number(f.given), _number(f.true), f.rule,
                        " ".join(filter(None, [f.input and f"input {f.input}", f.note]))) for f in rows])]

    def data(self):
        return {"findings": [f.data() for f in self.findings]}


def _number(x):
    return "" if x is None else f"{x:.6g}"


def audit(ys, xs, feed_dict=None, session=None, order=1, rtol=1e-4, seed=0, lenient=False, meant=None, **options):
    """Checks numerically the gradient rule of every operation between `xs` and `ys`: the library's and your own.

    Rules of your own are checked wherever they stand: overrides, rules registered or attached, groups, `custom_gradient`,
    `py_func(grad=)`, in loops and branches too. The user's Python functions are called for that, some tens of times.

    Args:
      ys, xs: as of `gradients`.
      feed_dict: values for the graph's placeholders: the point at which every operation is checked.
      session: a Session in which variables have values; as of `diagnose` otherwise.
      order: 1, or 2: the derivative of each rule is checked too. A rule for forward mode beside a rule is held against it
        in either case: <u, forward(v)> = <reverse(u), v>.
      rtol: greatest relative difference that still counts as right.
      seed: of the random directions.
      lenient: True: the report is true also when something could not be checked.
      meant: which rules of yours are to differ from the derivative: the rule, the name it is registered under, the function
        with `custom_gradient`; or the operations, by op type, name, pattern or selector; or a list of these. Rules made of
        `regrad.rules` alone need not be named.
      options: `overrides`, `view`, `stop_gradients` ... as of `gradients`.

    Returns:
      An `Audit`: `print` it; it is true when nothing is wrong, and everything was checked. Operations in the bodies of loops
      and branches are checked at the values of up to eight turns of the run, those of branches not taken at random values
      between 0.3 and 0.9.

    Example:
      x = tf.constant([1.0, 2.0])
      y = tf.square(x)
      print(bool(tf.audit(y, x)), bool(tf.audit(y, x, overrides={"Square": lambda op, dy: dy})))
      #> True False
    """
    if order not in (1, 2):
        raise ValueError(f"audit: order is 1 or 2, got {order!r}.")
    told = explain_gradients(ys, xs, **options)
    rng = np.random.RandomState(seed)
    steps = [s for s in told.steps if s.status in (RULE, OVERRIDDEN, NOT_DIFFERENTIABLE, NO_RULE, FAILED)
             and not (s.status == RULE and s.op.opdef.facts.bodies)]  # what they hold is checked
    declared = _declared(meant, told.steps)
    live = reached_from([element(x, "x") for x in as_list(xs)], [element(values_of_slices(y), "y") for y in as_list(ys)])
    for step in steps:
        step.meant = _is_meant(step) or step in declared
        step.live = live
    at = _Values(told.steps, feed_dict, session)
    findings, probes, graph = {}, [], Graph()
    with graph.as_default():
        for step in steps:
            if step.status in (NO_RULE, FAILED):
                findings[step] = [Finding(step, WRONG, note=step.note)]
                continue
            try:
                probes += _probes(step, graph, at, rng, order)
            except _Skip as why:
                findings[step] = [Finding(step, DIFFERENT if step.meant else UNCHECKED, note=str(why))]
    from regrad.runtime.session import Session

    found = {}
    with Session(graph=graph) as alone, np.errstate(all="ignore"):
        for probe, told_of in _check(alone, probes, order, rtol, rng):
            found.setdefault(probe.step, []).append(told_of)
    for step, each in found.items():
        findings[step] = _worst(each)
    return Audit([f for s in steps for f in findings[s]], lenient)


def _declared(meant, steps):
    """Returns the set of those of `steps` that `meant` of `audit` says."""
    items = list(meant) if isinstance(meant, (list, tuple, set)) else [] if meant is None else [meant]
    found = set()
    for item in items:
        if not isinstance(item, Selector) and callable(item):
            found.update(s for s in steps if s.bound is not None and item in _functions(s.bound))
        elif isinstance(item, str) and any(s.rule == item for s in steps):
            found.update(s for s in steps if s.rule == item)
        elif isinstance(item, Group):
            found.update(s for s in steps if getattr(s.op, "group", None) is item)
        else:
            ops = [s.op for s in steps if isinstance(s.op, Operation)]
            selector = as_selector(item, ops[0].graph if ops else None)
            picked = selector.pick(ops)
            if not picked:
                raise ValueError(f"audit(meant=...): {selector!r} means none of the operations between xs and ys"
                                 f"{selector.hint(ops)}")
            found.update(s for s in steps if s.op in picked)
    return found


def _functions(bound):
    """Returns what a rule may be called by: its function, and the function that it came with."""
    return [bound.function, getattr(bound.function, "__wrapped__", None), getattr(bound.function, "belongs_to", None)]


def _is_meant(step):
    """True where a rule that is not the derivative is no mistake: the library says so, or the rule is made of its parts."""
    if step.status == NOT_DIFFERENTIABLE or step.type in _MEANT:
        return True
    return step.status == OVERRIDDEN and (isinstance(step.bound.override, Bridge) or _ready(step.bound.function))


def _ready(rule):
    """True for what `regrad.rules` has, and for what is composed of nothing else."""
    if isinstance(rule, Transform):
        return True
    if isinstance(rule, Rule):
        _, args, kwargs = rule.recipe or ("", (), {})
        return all(_ready(r) for r in (*args, *kwargs.values()) if callable(r))
    if isinstance(rule, str):
        return True
    return (getattr(inspect.unwrap(rule), "__module__", None) or "").startswith("regrad.")


def _worst(each):
    """Returns the findings of one operation in several turns as those of one: of each kind the one that matters most."""
    order = [WRONG, DIFFERENT, RIGHT, UNCHECKED]  # at a corner in one turn it is checked in the others
    kinds = {}
    for found in each:
        for f in found:
            kinds.setdefault((f.order, f.forward), []).append(f)
    return [min(fs, key=lambda f: order.index(f.verdict)) for fs in kinds.values()]


class _Skip(Exception):
    """Why an operation cannot be checked."""


class _Values:
    """What tensors are in the user's run, those in the bodies of loops and branches turn by turn.

    Attributes:
      turns: {body: [{tensor: value}]}; None for a body whose values could not be had.
    """

    def __init__(self, steps, feed_dict, session):
        self.feed_dict, self.session, self.known, self.turns = feed_dict, session, {}, {}
        holders = [s.op for s in steps if isinstance(s.op, Operation) and s.op.opdef.facts.bodies]
        self.fetch([t for s in steps for t in s.op.inputs])
        while holders:  # those inside others come when what is around them has run
            ready = [op for op in holders if not _inside(op) or op.graph in self.turns]
            for op in ready:
                self._visit(op)
            holders = [op for op in holders if op not in ready]
            if not ready:
                break

    def fetch(self, tensors):
        missing = [t for t in tensors if t not in self.known and not _inside(t) and t.dtype._kind != "o"]
        self.known.update(fetch(missing, self.feed_dict, self.session))

    def _visit(self, op):
        for point in self.points(op.graph):
            try:
                values = [point[t] if t in point else self.known[t] for t in op.inputs]
                for body, turns in replaying.visits(op, values).items():
                    self.turns.setdefault(body, []).extend({**point, **turn} for turn in turns)
            except Exception:  # whatever the body does that cannot be done twice
                continue
        for body in body_graphs(op):
            self.turns[body] = replaying.spread(self.turns.get(body, []))

    def points(self, graph):
        """Returns the {tensor: value} of each visit of a graph that is kept; one empty one for what was never entered."""
        return self.turns.get(graph) or [{}]

    def of(self, t, point, rng):
        if t in point:
            return point[t]
        if t not in self.known and not _inside(t):
            self.fetch([t])
        return self.known[t] if t in self.known else _made_up(t, rng)


def _inside(x):
    return isinstance(x.graph, FuncGraph)


def _probes(step, graph, at, rng, order):
    """Returns a Probe for each point at which an operation is to be checked."""
    op = step.op
    opdef = getattr(op, "opdef", None)
    if step.status == OVERRIDDEN and isinstance(step.bound.override, Bridge):
        raise _Skip("a declared bridge: there is no derivative to hold it against")
    if opdef is not None:
        if opdef.random:
            raise _Skip("it is random")
        if opdef.writes or opdef.variable:
            raise _Skip("it has state")
    home = op.graph if opdef is not None else op.outputs[0].graph
    points = at.points(home)
    apart = None
    if step.bound is not None and (opdef is None or opdef.facts.bodies or opdef.facts.user_code
                                   or op.type == "IdentityN" and step.passes_by()):
        apart = Apart(step, order)
    out = []
    for turn, point in enumerate(points):
        def value(t, point=point):
            return at.of(t, point, rng)

        if apart is None:
            try:
                probe = Probe(step, graph, value, rng, order)
            except _Closed:
                apart = Apart(step, order)
        if apart is not None:
            at.fetch(apart.piece.leaves)
            probe = ApartProbe(apart, graph, value, rng, order)
        probe.note = ("" if not isinstance(home, FuncGraph) else f"in turn {turn}" if len(points) > 1 else
                      "" if point else "at random values, since no turn of the run came there")
        out.append(probe)
    return out


class _Closed(Exception):
    """A rule cannot be called with an operation of another graph than the user's."""


class Probe:
    """One operation alone in a graph, in 64 bits, with its gradient and what is needed to check it."""

    note = ""

    @property
    def stride(self):
        """The unit of the steps of difference quotients: what is computed in 32 bits needs longer ones."""
        return 1.0 if self.wide else 30.0

    def __init__(self, step, graph, value_of, rng, order):
        op = step.op
        opdef = op.opdef
        self.step = step
        self.wide = not replaying.fixed(opdef)
        self.inputs, self.x, self.leaves = [], [], {}
        for t in op.inputs:
            value = _written(value_of(t), op, value_of)
            kind = t.dtype._kind in "fc"
            dtype = replaying.wide(t.dtype) if self.wide and kind else t.dtype
            if kind:
                value = np.asarray(value).astype(dtype.as_numpy_dtype)
                self.inputs.append(placeholder(dtype, value.shape))
            else:
                self.inputs.append(constant(value, dtype))
            self.x.append(value)
        try:
            self.op = graph._add(opdef, tuple(self.inputs), replaying.attributes(op, self.wide), op.name + "/", op.groups)
        except (TypeError, ValueError) as error:
            raise _Skip(f"it could not be built in 64 bits: {error}") from None
        self.op.frames = op.frames
        self.real = [i for i, t in enumerate(self.inputs) if flows(t)]
        self._outputs(self.op.outputs, op.outputs, value_of, rng)
        self.grads = [None] * len(self.inputs)
        if step.bound is not None:
            dys = [self.us.get(t) for t in self.op.outputs]
            with graph.name_scope(op.name + "_rule"):
                try:
                    self.grads = checked(self.op, step.bound, step.bound.apply(self.op, dys))
                except Exception:
                    raise _Closed from None
        self.grads = [None if g is None or not flows(self.inputs[i]) else dense(g) for i, g in enumerate(self.grads)]
        self._directions(self.grads, rng)
        self.along = self._forward(step, graph)
        self.seconds = []
        if order == 2:
            self._second(rng)

    def _outputs(self, outputs, originals, value_of, rng):
        self.outs = [t for t in outputs if flows(t)]
        if not self.real or not self.outs:
            raise _Skip("nothing real goes in and comes out")
        for t, original in zip(outputs, originals):
            if flows(t) and not fully_known(t.dims):
                t.set_shape(np.shape(value_of(original)))
        self.us = {t: placeholder(t.dtype, t.dims) for t in self.outs}
        self.u = [_random(rng, t) for t in self.outs]

    def _directions(self, grads, rng):
        # What a rule says nothing of counts where somebody asked for it: a constant needs no gradient.
        asked, inputs = self.step.live, self.step.op.inputs
        self.v = {i: _random(rng, self.inputs[i]) for i in self.real if grads[i] is not None or inputs[i] in asked}
        if getattr(self.step.op, "opdef", None) is not None and self.step.op.opdef.facts.symmetric:
            self.v = {i: v + np.conj(np.swapaxes(v, -1, -2)) for i, v in self.v.items()}
        self.along_v = dict(self.v)

    def _forward(self, step, graph):
        """Returns what the forward rule beside the reverse one gives for the directions, a tensor per real output, or None."""
        rule = forward.rule_beside(step.op, step.bound)
        if rule is None:
            return None
        tangents = [constant(self.v[i]) if i in self.v else None for i in range(len(self.inputs))]
        with graph.name_scope(self.op.name + "_forward"):
            try:
                outs = forward.checked(self.op, rule, forward.as_grads(rule(self.op, *tangents)))
            except Exception as error:
                raise _Skip(f"its forward rule cannot be used outside the graph: {error}") from None
        return [zeros_like(y) if t is None else t for y, t in zip(self.op.outputs, outs) if flows(y)]

    def _second(self, rng):
        """Adds the derivative of sum <g, w> by inputs and arriving gradients."""
        self.w = {i: _random(rng, self.inputs[i]) for i in self.real if self.grads[i] is not None}
        if not self.w or any(self.inputs[i].dtype.is_complex for i in self.real):
            return
        total = [reduce_sum(multiply(self.grads[i], constant(w))) for i, w in self.w.items()]
        try:
            self.seconds = gradients(total, [self.inputs[i] for i in self.real] + list(self.us.values()))
        except LookupError:
            self.seconds = []
        self.q = [_random(rng, t) for t in self.outs]

    def feeds(self, t, x=None, directions=None, shift_u=False):
        """Returns the feed_dict of the point that lies `t` strides along the directions from `x`."""
        x, t = self.x if x is None else x, t * self.stride
        directions = self.v if directions is None else directions
        fed = {self.inputs[i]: x[i] + t * directions[i] if i in directions else x[i] for i in self.real}
        q = self.q if shift_u else self.u
        fed.update((ph, u + t * d if shift_u else u) for ph, u, d in zip(self.us.values(), self.u, q))
        fed.update(self.leaves)
        return fed

    def repeats(self, session):
        """Returns whether it gives the same again."""
        return True

    def value(self, outs):
        """<u, f>."""
        return sum(_dot(u, o) for u, o in zip(self.u, outs))

    def fetched(self):
        return [g for g in self.grads if g is not None]

    def given(self, grads, directions):
        """<g, v> for fetched gradients, and the size of its terms."""
        grads = iter(grads)
        pairs = [(next(grads), directions.get(i)) for i, g in enumerate(self.grads) if g is not None]
        return sum((_dot(g, v) for g, v in pairs if v is not None), 0.0)


class Apart:
    """What a rule builds that can only be called in the user's graph: a closure over its tensors, a group, a loop as a whole.

    Attributes:
      starts: {position among the inputs: the tensor that is varied}; ends: what is computed of them.
      dys, ws, tangents: what arrives, weights of the gradients, directions: tensors that are fed later.
      grads, along, seconds: what the rule, the forward rule beside it, and `gradients` of the rule's result give, or None.
      piece: how to compute all of it.
    """

    def __init__(self, step, order):
        self.step, op, bound = step, step.op, step.bound
        passed = step.passes_by() if op.type == "IdentityN" else ()
        reads = getattr(bound.function, "reads", ())
        self.starts = {i: replaying.storage(t) if i in reads or variable_of(t) is not None else t
                       for i, t in enumerate(op.inputs) if flows(t) and i not in passed}
        self.ends = list(op.inputs[:len(passed)]) if passed else list(op.outputs)
        if not self.starts or not any(map(flows, self.ends)):
            raise _Skip("nothing real goes in and comes out")
        self.scratch = scratch = replaying.Scratch("audited", op.graph)
        with unchanged(op.graph, () if bound.override is None else [bound.override]), scratch.as_default():
            self.dys = [scratch.add_input(t.dtype, t.dims, "dy") if flows(t) else None for t in self.ends]
            dys = [*self.dys, *[None] * (len(op.outputs) - len(self.ends))]
            try:
                grads = checked(op, bound, bound.apply(op, dys))
            except Exception as error:
                raise _Skip(f"its rule cannot be tried: {error}") from None
            self.grads = [None if g is None or i not in self.starts else dense(g) for i, g in enumerate(grads)]
            self.tangents, self.along = {}, None
            if isinstance(op, Operation) and (rule := forward.rule_beside(op, bound)) is not None:
                self.tangents = {i: scratch.add_input(t.dtype, t.dims, "tangent") for i, t in self.starts.items()}
                given = [self.tangents.get(i) for i in range(len(op.inputs))]
                try:
                    outs = forward.checked(op, rule, forward.as_grads(rule(op, *given)))
                except Exception as error:
                    raise _Skip(f"its forward rule cannot be tried: {error}") from None
                self.along = [zeros_like(y) if t is None else t for y, t in zip(self.ends, outs) if flows(y)]
            self.ws, self.seconds = {}, []
            if order == 2 and not any(t.dtype.is_complex for t in self.starts.values()):
                self._second(scratch)
        wanted = [t for t in (*self.grads, *(self.along or ()), *self.seconds) if t is not None]
        fed = [*self.starts.values(), *(t for t in self.dys if t is not None), *self.ws.values(), *self.tangents.values()]
        self.piece = replaying.Piece(fed, [*filter(flows, self.ends), *wanted], scratch)

    def _second(self, scratch):
        self.ws = {i: scratch.add_input(t.dtype, t.dims, "w") for i, t in self.starts.items() if self.grads[i] is not None}
        if not self.ws:
            return
        total = [reduce_sum(multiply(self.grads[i], w)) for i, w in self.ws.items()]
        try:
            self.seconds = [None if g is None else dense(g) for g in gradients(
                total, [*self.starts.values(), *(t for t in self.dys if t is not None)])]
        except LookupError:
            self.seconds = []


class ApartProbe(Probe):
    """A Probe of what an Apart has: its operations copied, with values for all else."""

    def __init__(self, apart, graph, value_of, rng, order):
        self.step, piece = apart.step, apart.piece
        self.wide = piece.wide
        self.leaves, made = {}, {}
        self.real = list(apart.starts)
        self.inputs, self.x = ([None] * len(self.step.op.inputs) for _ in range(2))

        def dtype_of(t):
            return replaying.wide(t.dtype) if self.wide else t.dtype

        for i, t in apart.starts.items():
            dtype = dtype_of(t)
            self.x[i] = np.asarray(value_of(t)).astype(dtype.as_numpy_dtype)
            self.inputs[i] = made[t] = placeholder(dtype, self.x[i].shape)
        for t in piece.leaves:
            made[t], fed = replaying.leaf(value_of(t), dtype_of(t))
            self.leaves.update(fed)
        try:
            piece.copied(made, graph, self.wide, of_scratch=False)
            self._outputs([made[t] for t in apart.ends], apart.ends, value_of, rng)
            made.update(zip((t for t in apart.dys if t is not None), self.us.values()))
            self._directions(apart.grads, rng)
            made.update((t, constant(self.v.get(i, np.zeros_like(self.x[i])))) for i, t in apart.tangents.items())
            self.w = {i: _random(rng, self.inputs[i]) for i in apart.ws}
            made.update((t, constant(self.w[i])) for i, t in apart.ws.items())
            piece.copied(made, graph, self.wide, of_scratch=True)
        except (TypeError, ValueError, LookupError) as error:
            raise _Skip(f"it could not be built alone: {error}") from None

        def copies(tensors):
            return [None if t is None else made[piece.original(t)] for t in tensors]

        self.grads, self.seconds = copies(apart.grads), copies(apart.seconds)
        self.along = None if apart.along is None else copies(apart.along)
        self.q = [_random(rng, t) for t in self.outs]
        self._of_users = any(op.opdef.facts.user_code for op in piece.ops)

    def repeats(self, session):
        if not self._of_users:
            return True
        first, again = (session.run([self.outs, self.fetched()], self.feeds(0.0)) for _ in range(2))
        return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(sum(first, []), sum(again, [])))


def _made_up(t, rng):
    known = t.value()
    if known is not None:
        return known
    if t.dtype._kind not in "fc" or t.dims is None:
        raise _Skip("its inputs are made inside a loop or branch")
    shape = [2 if d is None else d for d in t.dims]
    return rng.uniform(0.3, 0.9, shape)


def _written(value, op, value_of):
    """Returns the value of an input; a TensorArray that nothing was written to has the shape that it gets at `op`."""
    if not is_unwritten(np.shape(value)):
        return value
    return np.zeros(np.shape(value_of(op.outputs[0])), np.asarray(value).dtype)


def _random(rng, t):
    x = rng.standard_normal(t.dims)
    if t.dtype.is_complex:
        x = x + 1j * rng.standard_normal(t.dims)
    return np.asarray(x).astype(t.dtype.as_numpy_dtype)


def _dot(a, b):
    """Re sum conj(a) b: how a gradient and a direction meet, complex ones in TensorFlow's convention."""
    return float(np.sum(np.real(np.conj(np.asarray(a, np.result_type(a, np.float64))) * b)))


def _check(session, probes, order, rtol, rng):
    """Yields (probe, findings)."""
    if not probes:
        return
    try:
        given, slopes, seconds = _measure(session, probes, order)
    except Exception:  # one of them cannot run: find out which, by running each alone
        for p in probes:
            try:
                yield p, _judge(session, p, *(m[p] for m in _measure(session, [p], order)), rtol, rng)
            except Exception as error:
                yield p, [Finding(p.step, UNCHECKED, note=f"it does not run: {type(error).__name__}: {error}")]
        return
    for p in probes:
        yield p, _judge(session, p, given[p], slopes[p], seconds[p], rtol, rng)


def _merged(dicts):
    return {k: v for d in dicts for k, v in d.items()}


def _measure(session, probes, order):
    """Returns {probe: <g, v>}, {probe: quotients for smaller and smaller steps}, {probe: the same for the second order}."""
    grads = session.run([p.fetched() for p in probes], _merged(p.feeds(0.0) for p in probes))
    given = {p: p.given(g, p.v) for p, g in zip(probes, grads)}
    slopes = {p: [] for p in probes}
    outs = [p.outs for p in probes]
    for h in _STEPS:
        up, down = (session.run(outs, _merged(p.feeds(t) for p in probes)) for t in (h, -h))
        for p, a, b in zip(probes, up, down):
            slopes[p].append((p.value(a) - p.value(b)) / (2 * h * p.stride))
    seconds = dict.fromkeys(probes)
    seconds.update(_seconds(session, [p for p in probes if p.seconds] if order == 2 else []))
    return given, slopes, seconds


def _seconds(session, probes):
    """Returns {probe: (what the derivative of the rule gives along the directions, quotients of the rule's own values)}."""
    if not probes:
        return {}
    got = session.run([[g for g in p.seconds if g is not None] for p in probes], _merged(p.feeds(0.0) for p in probes))
    directions = [[d for d, g in zip([*(p.v.get(i, np.zeros_like(p.x[i])) for i in p.real), *p.q], p.seconds) if g is not None]
                  for p in probes]
    said = [sum((_dot(g, d) for g, d in zip(gs, ds)), 0.0) for gs, ds in zip(got, directions)]
    found = [[] for _ in probes]
    for h in _STEPS:
        up, down = (session.run([p.fetched() for p in probes], _merged(p.feeds(t, shift_u=True) for p in probes))
                    for t in (h, -h))
        for p, f, a, b in zip(probes, found, up, down):
            f.append((p.given(a, p.w) - p.given(b, p.w)) / (2 * h * p.stride))
    return dict(zip(probes, zip(said, found)))


def _settled(slopes):
    """Returns the quotient that changes least with the step, and by how much it changes."""
    changes = [abs(a - b) for a, b in zip(slopes, slopes[1:])]
    if not np.all(np.isfinite(slopes)):
        return float("nan"), float("inf")
    best = int(np.argmin(changes))
    return slopes[best + 1], changes[best]


def _off(given, true, size, rtol, floor):
    error = abs(given - true) / max(abs(true), abs(given), 1e-6 * size, floor)
    return error, not error <= rtol


def _judge(session, p, given, slopes, second, rtol, rng):
    if not p.repeats(session):
        return [Finding(p.step, UNCHECKED, note="it gives something else each time")]
    found = list(_judged(session, p, given, slopes, second, rtol, rng))
    for f in found if p.note else ():
        f.note = f"{f.note}, {p.note}" if f.note else p.note
    return found


def _judged(session, p, given, slopes, second, rtol, rng):
    wrong = DIFFERENT if p.step.meant else WRONG
    rtol = rtol if p.wide else max(rtol, 2e-2)
    true, change = _settled(slopes)
    size = sum(float(np.sum(np.abs(u))) for u in p.u)
    error, off = _off(given, true, size, rtol, 1e-9)
    if not np.isfinite(given) and np.isfinite(true):
        error, off = float("inf"), True
    note, input_name = "", ""
    if off:
        x = None
        for attempt in range(_NUDGES):
            smooth, given, true, error, off = _again(session, p, x, size, rtol)
            if smooth:
                note = "checked beside a point where it has no derivative" if attempt > 1 else ""
                break
            if attempt == 0:  # steps in proportion to the values, which do not leave a domain such as x > 0
                p.v = {i: np.where(p.x[i] == 0, v, v * np.abs(p.x[i])).astype(v.dtype) for i, v in p.v.items()}
            else:
                x = [_nudged(rng, a, 1e-3 if attempt < 3 else 0.1) if i in p.real else a for i, a in enumerate(p.x)]
        else:
            asked = {i: v for i, v in p.v.items() if p.step.op.inputs[i] in p.step.live}
            if 0 < len(asked) < len(p.v):  # a constant may be where none is: the exponent of a negative number
                p.v = asked
                again = (m[p] for m in _measure(session, [p], 1 if second is None else 2))
                yield from _judged(session, p, *again, rtol, rng)
            else:
                yield Finding(p.step, UNCHECKED, given=given, true=true, note="it has no derivative near these values")
            return
        if off:
            blamed = [i for i in p.v if len(p.real) > 1 and _again(session, p, x, size, rtol, i)[4]]
            input_name = p.step.inputs[blamed[0]][0] if len(blamed) == 1 else ""
            gone = [i for i in p.real if p.grads[i] is None and i in blamed]
            if gone or not p.fetched():
                note = "no gradient is given"
    yield Finding(p.step, wrong if off else RIGHT, 1, given, true, error, input_name, note)
    if p.along is not None:
        grads, outs = session.run([p.fetched(), p.along], p.feeds(0.0))
        reverse, ahead = p.given(grads, p.along_v), p.value(outs)
        error, off = _off(ahead, reverse, size, rtol, 1e-9)
        yield Finding(p.step, WRONG if off else RIGHT, 1, ahead, reverse, error, note="forward rule against the reverse one",
                      forward=True)
    if second is None:
        return
    at, note = p.x, ""
    for attempt in range(_NUDGES):
        said, slopes = second
        true, change = _settled(slopes)
        error, off = _off(said, true, size, max(rtol, 1e-3), 1e-7)
        if not off or change <= 0.1 * abs(said - true):
            yield Finding(p.step, wrong if off else RIGHT, 2, said, true, error, note=note)
            return
        p.x = [_nudged(rng, a, 1e-3 if attempt < 3 else 0.1) if i in p.real else a for i, a in enumerate(at)]
        second, note = _seconds(session, [p])[p], "checked beside a point where it has no derivative"
    yield Finding(p.step, UNCHECKED, 2, said, true, note="its gradient has no derivative near these values")


def _nudged(rng, x, share):
    """Returns `x` moved by a share of itself, so that ties and corners are left behind and signs kept.

    Thousands of units at 0, as after a ReLU, are close to each other still when they are moved by thousandths.
    """
    r = rng.standard_normal(x.shape)
    return np.where(x == 0, share * r, x * (1 + share * np.clip(r, -5, 5))).astype(x.dtype)


def _again(session, p, x, size, rtol, only=None):
    """Measures one operation, from `x`, along input `only`; returns (that decides, given, true, error, off)."""
    directions = p.v if only is None else {only: p.v[only]}
    given = p.given(session.run(p.fetched(), p.feeds(0.0, x)), directions) if p.fetched() else 0.0

    def at(t):
        return [np.asarray(o) for o in session.run(p.outs, p.feeds(t, x, directions))]

    quotients, middle = [], at(0.0)
    for h in _STEPS:
        up, down = at(h), at(-h)
        # How well it is known: at a corner the two one-sided quotients of an output differ, however small the step (of the
        # outputs together they need not: corners of different signs cancel); and values are rounded.
        corners = sum(float(np.sum(np.abs(u) * np.abs(a - 2 * m + b))) for u, a, m, b in zip(p.u, up, middle, down))
        rounding = sum(float(np.sum(np.abs(u) * np.abs(m))) for u, m in zip(p.u, middle)) * (4e-16 if p.wide else 2e-7)
        h *= p.stride
        doubt = (corners + rounding) / h
        quotients.append((doubt if np.isfinite(doubt) else np.inf, (p.value(up) - p.value(down)) / (2 * h)))
    doubt, true = min(quotients)
    if not p.wide and np.isfinite(given):
        # Short steps tell nothing. Of two longer ones the doubt of a curve shrinks with the step, that of a corner stays.
        (first, _), (doubt, true) = quotients[:2]
        doubt, rounding = max(doubt - 0.1 * first, 0.0), rounding / (_STEPS[1] * p.stride)
        error, off = _off(given, true, size, rtol, 1e-9)
        off = off and abs(given - true) > 2 * rounding
        return not off or doubt <= 0.1 * max(abs(true), abs(given)), given, true, error, off
    error, off = _off(given, true, size, rtol, 1e-9)
    known = doubt <= max(1e-3 * abs(true), 1e-3 * abs(given) if np.isfinite(given) else 0.0, 1e-8 * size)
    decided = bool(known or not off)
    if not np.isfinite(given) and np.isfinite(true):
        off = True
    elif known and abs(given - true) <= doubt:
        off = False
    return decided, given, true, error, off
