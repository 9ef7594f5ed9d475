"""`audit`: holds the gradient of every operation of a graph against differences of its values.

Each operation on the way from xs to ys is built once more, alone, in 64 bits, with the values that its inputs have in the
user's own run. Along a random direction v and for a random arriving gradient u, the rule's <g, v> must equal the difference
quotient of <u, f>. All operations are run together; the few that disagree are looked at one by one.
"""

import numpy as np

from regrad.autodiff import forward
from regrad.autodiff.gradients import checked, flows, gradients
from regrad.core import dtypes
from regrad.core.convert import constant
from regrad.core.dtypes import DType
from regrad.core.graph import FuncGraph, Graph
from regrad.inspect.explain import FAILED, NO_RULE, NOT_DIFFERENTIABLE, OVERRIDDEN, RULE, explain_gradients
from regrad.inspect.report import Report, Table, absent
from regrad.inspect.taps import fetch
from regrad.ops.array import placeholder, zeros_like

RIGHT, DIFFERENT, WRONG, UNCHECKED = "right", "deliberately different", "wrong", "not checked"

# Op types whose registered rule is not the derivative of what they compute, and is not meant to be.
_MEANT = ("ForwardOf", "StopGradient", "PreventGradient", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars",
          "FakeQuantWithMinMaxVarsPerChannel", "QuantizeAndDequantize", "QuantizeAndDequantizeV2",
          "QuantizeAndDequantizeV3")
_WIDE = {"float16": dtypes.float64, "bfloat16": dtypes.float64, "float32": dtypes.float64, "complex64": dtypes.complex128}
_STEPS = (1e-3, 1e-4, 1e-5, 1e-6)
_NUDGES = 7


class Finding:
    """What was found about one operation.

    Attributes:
      op, type, at: its name, type and line; rule: the rule and why it is the one.
      verdict: "right", "deliberately different" (an override, or an op made to differ), "wrong" or "not checked".
      order: 1 or 2: the derivative the verdict is about.
      given, true: the rule's directional derivative and the numeric one; None when not checked.
      error: |given - true| / max(|true|, |given|, 1e-6 of the terms' size).
      input: name of the input whose gradient is off, when one alone is.
      note: further words.
    """

    def __init__(self, step, verdict, order=1, given=None, true=None, error=None, input="", note=""):
        self.op, self.type, self.at, self.rule = step.name, step.type, step.at, step.says()
        self.verdict, self.order, self.given, self.true, self.error = verdict, order, given, true, error
        self.input, self.note = input, note

    def data(self):
        return dict(vars(self))


class Audit(Report):
    """The findings of an audit; true when nothing is wrong.

    Attributes:
      findings: list of `Finding`, in the order of the backward walk.
    """

    def __init__(self, findings):
        self.findings = findings

    def of(self, verdict):
        """Returns the findings of one verdict."""
        return [f for f in self.findings if f.verdict == verdict]

    @property
    def wrong(self):
        return self.of(WRONG)

    def __bool__(self):
        return not self.wrong

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


def audit(ys, xs, feed_dict=None, session=None, order=1, rtol=1e-4, seed=0, **options):
    """Checks numerically, in 64 bits, the gradient rule of every operation between `xs` and `ys`.

    Args:
      ys, xs: as of `gradients`.
      feed_dict: values for the graph's placeholders: the point at which every operation is checked.
      session: a Session in which variables have values; the default session, or a new one, otherwise.
      order: 1, or 2: the derivative of each rule is checked too. A rule for forward mode beside a rule is held against it
        in either case: <u, forward(v)> = <reverse(u), v>.
      rtol: greatest relative difference that still counts as right.
      seed: of the random directions.
      options: `overrides`, `view`, `stop_gradients` ... as of `gradients`.

    Returns:
      An `Audit`: `print` it; it is true when nothing is wrong. Operations in the bodies of loops and branches, whose
      values are not at hand, are checked at random values between 0.3 and 0.9.
    """
    if order not in (1, 2):
        raise ValueError(f"audit: order is 1 or 2, got {order!r}.")
    told = explain_gradients(ys, xs, **options)
    rng = np.random.RandomState(seed)
    steps = [s for s in told.steps if s.status in (RULE, OVERRIDDEN, NOT_DIFFERENTIABLE, NO_RULE, FAILED)]
    operands = [t for s in steps if not _inside(s.op) for t in s.op.inputs if t.dtype._kind != "o"]
    values = fetch(operands, feed_dict, session)
    findings, probes, graph = {}, [], Graph()
    with graph.as_default():
        for step in steps:
            if step.status in (NO_RULE, FAILED):
                findings[step] = [Finding(step, WRONG, note=step.note)]
                continue
            try:
                probes.append(Probe(step, graph, values, rng, order))
            except _Skip as why:
                findings[step] = [Finding(step, UNCHECKED, note=str(why))]
    from regrad.runtime.session import Session

    with Session(graph=graph) as alone, np.errstate(all="ignore"):
        for probe, found in _check(alone, probes, order, rtol, rng):
            findings[probe.step] = found
    return Audit([f for s in steps for f in findings[s]])


class _Skip(Exception):
    """Why an operation cannot be checked."""


def _inside(op):
    return isinstance(getattr(op, "graph", None), FuncGraph)


class Probe:
    """One operation alone in a graph, in 64 bits, with its gradient and what is needed to check it."""

    def __init__(self, step, graph, values, rng, order):
        op = step.op
        opdef = getattr(op, "opdef", None)
        if opdef is None:
            raise _Skip("it is a group under one rule")
        if opdef.extra.get("has_bodies"):
            raise _Skip("its inside is checked operation by operation")
        if opdef.random:
            raise _Skip("it is random")
        if opdef.host and opdef.extra.get("user_code"):
            raise _Skip("it is a Python function of the user's, which may run once a run")
        if opdef.stateful or opdef.writes or opdef.variable:
            raise _Skip("it has state")
        self.step = step
        fixed = any(a.fixed is not None and a.fixed._kind in "fc" for a in opdef.args)
        self.wide = not fixed
        self.inputs, self.x = [], []
        for t in op.inputs:
            value = values[t] if t in values else _made_up(t, rng)
            kind = t.dtype._kind in "fc"
            dtype = _WIDE.get(t.dtype.name, t.dtype) if self.wide and kind else t.dtype
            if kind:
                value = np.asarray(value).astype(dtype.as_numpy_dtype)
                self.inputs.append(placeholder(dtype, value.shape))
            else:
                self.inputs.append(constant(value, dtype))
            self.x.append(value)
        attrs = {k: _WIDE.get(v.name, v) if self.wide and isinstance(v, DType) else v for k, v in op.attrs.items()}
        try:
            self.op = graph._add(opdef, tuple(self.inputs), attrs, op.name + "/", op.groups)
        except (TypeError, ValueError) as error:
            raise _Skip(f"it could not be built in 64 bits: {error}") from None
        self.op.frames = op.frames
        self.real = [i for i, t in enumerate(self.inputs) if flows(t)]
        self.outs = [t for t in self.op.outputs if flows(t)]
        if not self.real or not self.outs:
            raise _Skip("nothing real goes in and comes out")
        if any(t.dims is None or None in t.dims for t in self.outs):
            raise _Skip("the shape of what it gives depends on data")
        self.us = {t: placeholder(t.dtype, t.dims) for t in self.outs}
        self.u = [_random(rng, t) for t in self.outs]
        self.grads = [None] * len(self.inputs)
        if step.bound is not None:
            dys = [self.us.get(t) for t in self.op.outputs]
            with graph.name_scope(op.name + "_rule"):
                try:
                    self.grads = checked(self.op, step.bound, step.bound.apply(self.op, dys))
                except Exception as error:
                    raise _Skip(f"its rule cannot be used outside the graph: {error}") from None
        from regrad.autodiff.rules import dense

        self.grads = [None if g is None or not flows(self.inputs[i]) else dense(g) for i, g in enumerate(self.grads)]
        self.v = {i: _random(rng, self.inputs[i]) for i in self.real}
        if opdef.extra.get("symmetric"):
            self.v = {i: v + np.conj(np.swapaxes(v, -1, -2)) for i, v in self.v.items()}
        self.along = self._forward(step, graph)
        self.seconds = []
        if order == 2:
            self._second(rng)

    def _forward(self, step, graph):
        """Returns what the forward rule beside the reverse one gives for the directions, a tensor per real output, or None."""
        rule = forward.rule_beside(step.op, step.bound)
        if rule is None:
            return None
        self.along_v = dict(self.v)
        tangents = [constant(self.v[i]) if i in self.v else None for i in range(len(self.inputs))]
        with graph.name_scope(self.op.name + "_forward"):
            try:
                outs = forward.checked(self.op, rule, forward.as_grads(rule(self.op, *tangents)))
            except Exception as error:
                raise _Skip(f"its forward rule cannot be used outside the graph: {error}") from None
        return [zeros_like(y) if t is None else t for y, t in zip(self.op.outputs, outs) if flows(y)]

    def _second(self, rng):
        """Adds the derivative of sum <g, w> by inputs and arriving gradients."""
        from regrad.ops.math import multiply
        from regrad.ops.reduce import reduce_sum

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
        """Returns the feed_dict of the point that lies `t` along the directions from `x`."""
        x = self.x if x is None else x
        directions = self.v if directions is None else directions
        fed = {self.inputs[i]: x[i] + t * directions[i] if i in directions else x[i] for i in self.real}
        q = self.q if shift_u else self.u
        fed.update((ph, u + t * d if shift_u else u) for ph, u, d in zip(self.us.values(), self.u, q))
        return fed

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


def _made_up(t, rng):
    known = t.value()
    if known is not None:
        return known
    if t.dtype._kind not in "fc" or t.dims is None:
        raise _Skip("its inputs are made inside a loop or branch")
    shape = [2 if d is None else d for d in t.dims]
    return rng.uniform(0.3, 0.9, shape)


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
                yield p, _judge(session, p, *(m[p] for m in _measure(session, [p], order)), order, rtol, rng)
            except Exception as error:
                yield p, [Finding(p.step, UNCHECKED, note=f"it does not run: {type(error).__name__}: {error}")]
        return
    for p in probes:
        yield p, _judge(session, p, given[p], slopes[p], seconds[p], order, rtol, rng)


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
            slopes[p].append((p.value(a) - p.value(b)) / (2 * h))
    seconds = dict.fromkeys(probes)
    two = [p for p in probes if p.seconds] if order == 2 else []
    if two:
        got = session.run([[g for g in p.seconds if g is not None] for p in two], _merged(p.feeds(0.0) for p in two))
        directions = [[d for d, g in zip([*p.v.values(), *p.q], p.seconds) if g is not None] for p in two]
        said = [sum((_dot(g, d) for g, d in zip(gs, ds)), 0.0) for gs, ds in zip(got, directions)]
        found = [[] for _ in two]
        for h in _STEPS:
            up, down = (session.run([p.fetched() for p in two], _merged(p.feeds(t, shift_u=True) for p in two))
                        for t in (h, -h))
            for p, f, a, b in zip(two, found, up, down):
                f.append((p.given(a, p.w) - p.given(b, p.w)) / (2 * h))
        seconds.update((p, (s, f)) for p, s, f in zip(two, said, found))
    return given, slopes, seconds


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


def _judge(session, p, given, slopes, second, order, rtol, rng):
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
            return [Finding(p.step, UNCHECKED, given=given, true=true, note="it has no derivative near these values")]
        if off:
            blamed = [i for i in p.real if len(p.real) > 1 and _again(session, p, x, size, rtol, i)[4]]
            input_name = p.step.inputs[blamed[0]][0] if len(blamed) == 1 else ""
            gone = [i for i in p.real if p.grads[i] is None and i in blamed]
            if gone or not p.fetched():
                note = "no gradient is given"
    verdict = RIGHT
    if off:
        meant = p.step.status in (OVERRIDDEN, NOT_DIFFERENTIABLE) or p.step.type in _MEANT
        verdict = DIFFERENT if meant else WRONG
    out = [Finding(p.step, verdict, 1, given, true, error, input_name, note)]
    if p.along is not None:
        grads, outs = session.run([p.fetched(), p.along], p.feeds(0.0))
        reverse, ahead = p.given(grads, p.along_v), p.value(outs)
        error, off = _off(ahead, reverse, size, rtol, 1e-9)
        out.append(Finding(p.step, WRONG if off else RIGHT, 1, ahead, reverse, error,
                           note="forward rule against the reverse one"))
    if second is not None:
        said, slopes = second
        true, change = _settled(slopes)
        error, off = _off(said, true, size, max(rtol, 1e-3), 1e-7)
        if off and not change <= 0.1 * abs(said - true):
            out.append(Finding(p.step, UNCHECKED, 2, said, true, note="its gradient has no derivative near these values"))
        else:
            # An override's rule may be any function; that its own derivative is another is deliberate too.
            wrong = DIFFERENT if p.step.status == OVERRIDDEN else WRONG
            out.append(Finding(p.step, wrong if off else RIGHT, 2, said, true, error))
    return out


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
        rounding = sum(float(np.sum(np.abs(u) * np.abs(m))) for u, m in zip(p.u, middle)) * 4e-16
        doubt = (corners + rounding) / h
        quotients.append((doubt if np.isfinite(doubt) else np.inf, (p.value(up) - p.value(down)) / (2 * h)))
    doubt, true = min(quotients)
    error, off = _off(given, true, size, rtol, 1e-9)
    known = doubt <= max(1e-3 * abs(true), 1e-3 * abs(given) if np.isfinite(given) else 0.0, 1e-8 * size)
    decided = bool(known or not off)
    if not np.isfinite(given) and np.isfinite(true):
        off = True
    elif known and abs(given - true) <= doubt:
        off = False
    return decided, given, true, error, off
