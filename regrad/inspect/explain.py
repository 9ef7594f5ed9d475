"""`explain_gradients`: which rule differentiates each operation, why that one, and where a path ends.

The backward walk is made as `gradients` makes it, rules and all, but into a graph that is thrown away: so what is told is
what would happen, and the graph explained stays as it was. (Rules are called for it: one that prints, prints.)
"""

import contextlib
import copy
import html

from regrad.autodiff.gradients import Walk, as_list, check_reachable, checked_view, flows, values_of_slices
from regrad.autodiff.overrides import Override, as_overrides
from regrad.autodiff.partials import Partials, as_accumulation, element
from regrad.autodiff.resolution import REGISTERED, BoundRule, Resolution
from regrad.autodiff.rules import as_grads
from regrad.autodiff.walking import ancestors
from regrad.core import gradient_registry
from regrad.core.files import in_place_of
from regrad.core.indexed_slices import IndexedSlices
from regrad.core.opdef import spec_text
from regrad.core.operation import Operation, Tensor
from regrad.core.tabular import Record, Table
from regrad.core.traversal import body_graphs
from regrad.inspect.cures import cure_for
from regrad.inspect.formulas import formula
from regrad.inspect.replaying import Scratch
from regrad.inspect.report import Report, absent
from regrad.ops.flow_grad import carry_that_gets_gradients
from regrad.runtime.plan import shape_only_positions

# What can happen at an operation on the way from ys to xs.
RULE, OVERRIDDEN, STOPPED = "rule", "overridden", "stopped"
NOT_DIFFERENTIABLE, NO_RULE, FAILED = "not differentiable", "no rule", "rule failed"
INTEGER, NOTHING, INSIDE = "no gradient dtype", "no gradient arrives", "inside a group"


class Step(Record):
    """One operation between xs and ys.

    Attributes:
      name, type: the operation's; inside a loop or branch the name starts with that of the operation around it.
      status: "rule", "overridden", "stopped", "not differentiable", "no rule", "rule failed", "no gradient dtype" (its
        outputs are integers, bools or strings), "no gradient arrives" or "inside a group".
      rule, rule_at, why: the rule's name, "file:line" where it stands, and how it was found; "" without one.
      at, line: "file:line" where the operation was made, and that line of the program.
      inputs, outputs: [(tensor name, "float32[2]")].
      to: for each input, True when a gradient goes to it.
      made: [(name, type, names of input operations)] of the operations that the rule builds.
      flow: what one run had here, with `values`, `arriving` and `given`, in an explanation that `at` has made; or None.
      formulas: for each input, what it gets as text, such as "dy * (h > 0)"; "" where there is no short formula.
      note: further words.
    """

    def __init__(self, op, prefix, status, rule=None, to=(), note="", made=()):
        self.op = op
        self.name, self.type = prefix + op.name, op.type
        self.status = status
        self.bound = rule
        self.rule = rule.name if rule is not None else ""
        self.rule_at = rule.where if rule is not None else ""
        self.why = rule.why if rule is not None else ""
        self.at = op.location
        self.line = source_line(op)
        self.inputs = [(t.name, spec_text(t)) for t in op.inputs]
        self.outputs = [(t.name, spec_text(t)) for t in op.outputs]
        self.to = list(to) or [False] * len(op.inputs)
        self.note = note
        self.made = list(made)
        self.formulas = [""] * len(op.inputs)
        self.flow = None

    def __str__(self):
        return f"{self.name} ({self.type}) at {self.at}: {self.says()}"

    def says(self):
        """Returns "rule X at file:line (why)", or what happened instead."""
        if self.status in (RULE, OVERRIDDEN):
            text = f"{self.rule} at {self.rule_at} ({self.why})"
        else:
            text = self.status
        if self.status == INTEGER:
            text = f"{self.op.outputs[0].dtype.name} carries no gradient"
        return text + (f"; {self.note}" if self.note else "")

    def passes_by(self):
        """Returns the inputs to which the rule gives None because it stands for the way to them."""
        return getattr(self.bound.function, "passes_by", ()) if self.bound is not None else ()

    def data(self):
        return {"name": self.name, "type": self.type, "status": self.status, "rule": self.rule, "rule_at": self.rule_at,
                "why": self.why, "at": self.at, "line": self.line, "inputs": self.inputs, "outputs": self.outputs,
                "to": self.to, "formulas": self.formulas, "made": self.made, "note": self.note,
                **({} if self.flow is None else {"flow": self.flow.data()})}


class Cut(Record):
    """A place where the path from an x to the ys ends: the operation, why it ends there, and what to do.

    Attributes:
      op, type, rule, at, line: name and type of the operation, what its rule says, the line that made it.
      tensor: the input that gets nothing.
      why, cure: words.
      shape_only: True when the operation asks for no more than the tensor's shape.
      aside: True for what a function with a gradient of its own computed: its rule stands for the way through it.
    """

    def __init__(self, step, tensor, why, shape_only=False, aside=False):
        self.op, self.type, self.at, self.line = step.name, step.type, step.at, step.line
        self.rule = step.says()
        self.tensor = tensor
        self.why = why
        self.cure = ("make it an argument of the function, which its gradient function answers for" if aside else
                     "take it out of stop_gradients" if step.status == STOPPED else
                     "let the rule return a gradient there; a function without `return` gives None"
                     if step.status == OVERRIDDEN and why == _none(step, tensor) else
                     "mend the rule, or take it away" if step.status == FAILED else cure_for(step.op, shape_only))
        self.shape_only = shape_only
        self.aside = aside

    def data(self):
        return dict(vars(self))

    def __str__(self):
        return f"{self.op} ({self.type}) at {self.at}: {self.why}. Cure: {self.cure}."


class Target(Record):
    """What one x gets.

    Attributes:
      name: the x.
      gradient: True when it gets a gradient, False when `gradients` would give None.
      cuts: list of `Cut`: every place where a path from it to the ys ends, also when another path is open.
      reason: words, when no path leads from it to any y.
    """

    def __init__(self, name, gradient, cuts, reason):
        self.name, self.gradient, self.cuts, self.reason = name, gradient, cuts, reason

    def __str__(self):
        return f"{self.name}: {'a gradient' if self.gradient else f'None, {self.reason}'}"

    def data(self):
        return {"name": self.name, "gradient": self.gradient, "reason": self.reason, "cuts": [c.data() for c in self.cuts]}


class Explanation(Report):
    """What `gradients` would do, told and not done.

    Attributes:
      steps: list of `Step`, in the order of the backward walk; those of a loop's body follow the loop.
      targets: list of `Target`, one per x.
      unused: overrides of this call that catch nothing, as text: `gradients` would refuse them.
      ys: names.
    """

    def __init__(self, ys, steps, targets, unused, call=None):
        self.ys, self.steps, self.targets, self.unused = ys, steps, targets, unused
        self._call = call

    def at(self, feed_dict=None, session=None):
        """Returns this explanation with the numbers of one run: forward values, and the gradients that flowed, at every step.

        Adds the operations of one `gradients` call to the graph, as `diagnose` does, and like it looks into loops turn by turn.

        Args:
          feed_dict, session: as of `diagnose`.
        """
        from regrad.inspect.flowing import flows_of

        flows = flows_of(self._call, self.steps, feed_dict, session)
        steps = [copy.copy(s) for s in self.steps]
        for step in steps:
            step.flow = flows.get(step.op)
        return Explanation(self.ys, steps, self.targets, self.unused, self._call)

    def __getitem__(self, key):
        """Returns the Step of an operation, tensor or name."""
        op = getattr(key, "op", key)
        for step in self.steps:
            if step.op is op or step.name == op:
                return step
        raise absent(getattr(op, "name", op), "the operations between xs and ys", (s.name for s in self.steps))

    def overridden(self):
        """Returns the steps whose rule is not the op type's own."""
        return [s for s in self.steps if s.status == OVERRIDDEN]

    def tables(self):
        walked = Table(f"Gradient of {', '.join(self.ys)}: {len(self.steps)} operations, last first",
                       ["operation", "type", "made at", "what happens"],
                       [(s.name, s.type, s.at, s.says()) for s in self.steps])
        wanted = Table("What each x gets", ["x", "gradient", "why"],
                       [(t.name, "yes" if t.gradient else "None", t.reason) for t in self.targets])
        out = [walked, wanted]
        for title, got in (("Where every path ends", False), ("Where one path ends and another is open", True)):
            by_cut = {}
            for target in self.targets:
                for c in target.cuts if target.gradient is got else ():
                    by_cut.setdefault((c.op, c.type, c.at, c.why, c.cure), []).append(target.name)
            if by_cut:
                rows = [(", ".join(xs[:3]) + (f" and {len(xs) - 3} others" if len(xs) > 3 else ""), *cut)
                        for cut, xs in by_cut.items()]
                out.append(Table(title, ["xs", "at operation", "type", "made at", "why", "cure"], rows))
        if self.unused:
            out.append(Table("Overrides that catch nothing (gradients() refuses them)", ["override"],
                             [[u] for u in self.unused]))
        return out

    def data(self):
        return {"ys": self.ys, "steps": [s.data() for s in self.steps], "xs": [t.data() for t in self.targets],
                "unused_overrides": self.unused}

    def diff(self, other):
        """Returns the `Difference` from this explanation to `other`."""
        return Difference(self, other)

    def to_dot(self):
        """Returns the operations and gradients as text for Graphviz."""
        from regrad.inspect.drawing import dot

        return dot(self)

    def _repr_html_(self):
        from regrad.inspect.drawing import fragment

        return fragment(self)

    def html(self, path=None, feed_dict=None, session=None):
        """Returns a page that needs nothing else; writes it to `path` if given.

        Args:
          path: a file.
          feed_dict, session: of a run whose numbers are shown, as of `at`; without either there is none.
        """
        from regrad.inspect.drawing import page

        text = page(self if feed_dict is None and session is None else self.at(feed_dict, session))
        if path is not None:
            with in_place_of(path) as file:
                file.write(text.encode())
        return text


class Difference(Report):
    """How two explanations differ: True when they do.

    Attributes:
      changes: [(operation, what happens in the first, what happens in the second)]; "" where it is not on the path.
      xs: [(x, gets one in the first, gets one in the second)], those that differ.
    """

    def __init__(self, a, b):
        first, second = ({s.name: s for s in e.steps} for e in (a, b))
        told = {name: [s[name].says() if name in s else "" for s in (first, second)] for name in [*first, *second]}
        self.changes = [(name, *both) for name, both in told.items() if both[0] != both[1]]
        got = [{t.name: t.gradient for t in e.targets} for e in (a, b)]
        self.xs = [(x, got[0].get(x), got[1].get(x)) for x in dict.fromkeys([*got[0], *got[1]])
                   if got[0].get(x) != got[1].get(x)]

    def __bool__(self):
        return bool(self.changes or self.xs)

    def tables(self):
        if not self:
            return [Table("The two passes are the same.", [], [])]
        words = {True: "a gradient", False: "None", None: ""}
        out = [Table(f"{len(self.changes)} operations differ", ["operation", "first", "second"],
                     [(n, a or "not on the path", b or "not on the path") for n, a, b in self.changes])]
        if self.xs:
            out.append(Table(f"{len(self.xs)} xs differ", ["x", "first", "second"],
                             [(x, words[a], words[b]) for x, a, b in self.xs]))
        return out

    def data(self):
        return {"changes": self.changes, "xs": self.xs}


def explain_gradients(ys, xs, grad_ys=None, stop_gradients=None, overrides=None, view=None, known_gradients=None,
                      accumulate=None, through_gradients=True, order=None):
    """Tells what `gradients(ys, xs, ...)` would do, for every operation between; adds no operation to the graph.

    Args: as of `gradients`. Nothing is complained about: what `gradients` would refuse (a missing rule, a rule of the
      wrong shape, an override that catches nothing) is part of what is told.

    Returns:
      An `Explanation`: `print` it, look at `.steps` and `.targets`, `.diff(another)`, `.html(path)`, `.to_json()`,
      `.to_dot()`.

    Raises:
      TypeError, ValueError: ys or xs are no tensors, or belong to several graphs.

    Example:
      x = tf.constant([1.0, -2.0], name="x")
      told = tf.explain_gradients(tf.reduce_sum(tf.nn.relu(x)), x)
      print([step.op.type for step in told.steps])
      #> ['Sum', 'Relu']
    """
    ys = [element(values_of_slices(y), "y") for y in as_list(ys)]
    xs = [element(x, "x") for x in as_list(xs)]
    stops = [element(s, "stop_gradients") for s in ([] if stop_gradients is None else as_list(stop_gradients))]
    if not ys:
        raise ValueError("explain_gradients: ys is empty.")
    graph = ys[0].graph
    for what, tensors in (("ys", ys[1:]), ("xs", xs), ("stop_gradients", stops)):
        for t in tensors:
            check_reachable(graph, t, what)
    call, view = as_overrides(overrides, graph, "this call", "all" if order is None else order), checked_view(view)
    accumulate, before = as_accumulation(accumulate), {o: o.caught for o in call}
    steps = []
    with unchanged(graph, [*call, *Resolution((), view.overrides if view else (), graph).all]):
        scratch = Scratch("explained", graph)
        with scratch.as_default():
            sums = Partials(accumulate)
            for t, g in (known_gradients or {}).items():
                sums.know(element(t, "known_gradients"), g)
            walk = _Told(scratch, ys, xs, stops, call, view, through_gradients, accumulate)
            walk.steps = steps
            for y in ys:
                sums.add(y, scratch.add_input(y.dtype, y.dims, "grad_y"))
            walk.run(sums)
            got = {t: sums.total(t) is not None for t in xs}
        unused = [f"{o!r}{o.missed(walk.path)}" for o, caught in before.items() if o.caught == caught and not o.optional]
        unused += accumulate.unused() if accumulate else []
    _add_the_rest(steps, walk, ys, xs, through_gradients)
    targets = [_target(x, got[x], ys, steps, sums, walk) for x in xs]
    options = {"grad_ys": grad_ys, "stop_gradients": stop_gradients, "overrides": call, "view": view,
               "known_gradients": known_gradients, "accumulate": accumulate, "through_gradients": through_gradients}
    return Explanation([y.name for y in ys], steps, targets, unused, (ys, xs, options))


def why_none(ys, x, **options):
    """Returns, in words, why `gradients(ys, x, ...)` gives None for `x`: each place where a path ends, with its cure.

    Of an x that gets a gradient it names the paths that end all the same: what they would add counts as 0.

    Example:
      x = tf.constant([1.0, 2.0], name="x")
      print(str(tf.why_none(tf.stop_gradient(x), x)).splitlines()[0])
      #> x:0 gets None: every path to it ends
    """
    told = explain_gradients(ys, x, **options)
    target = told.targets[0]
    if any(step.status == NO_RULE for step in told.steps):
        head = "gets nothing, gradients() raises an error: an operation on the way has no rule"
    elif target.gradient:
        head = "gets a gradient, but some ways to it end" if target.cuts else "gets a gradient."
    else:
        head = f"gets None: {target.reason}"
    return WhyNone("\n".join([f"{target.name} {head}", *map(str, target.cuts)]))


class WhyNone(str):
    """What `why_none` says: text that shows itself line by line in a notebook and at a prompt."""

    __slots__ = ()
    __repr__ = str.__str__

    def _repr_html_(self):
        first, *cuts = self.split("\n")
        rest = "".join(f"<li>{html.escape(cut)}</li>" for cut in cuts)
        return f"<p>{html.escape(first)}</p>" + (f"<ul>{rest}</ul>" if cuts else "")


class _Told(Walk):
    """A walk that writes down what it does."""

    steps: list
    prefix = ""
    complains = False

    def step(self, op, sums):
        if not any(sums.terms_at(t) for t in op.outputs):
            return
        before = len(self.graph._ops)
        is_op = isinstance(op, Operation)
        rule, note, status = None, "", RULE
        try:
            rule = op.rule if not is_op else self.resolution.rule_for(op)
            status = NOT_DIFFERENTIABLE if rule is None else OVERRIDDEN if rule.why != REGISTERED else RULE
        except LookupError as error:
            status, note = NO_RULE, str(error)
        mine = Step(op, self.prefix, status, rule, note=note)
        self.steps.append(mine)
        if status in (NOT_DIFFERENTIABLE, NO_RULE):
            return
        if is_op and op.opdef.facts.bodies and status == RULE:
            self._bodies(op, [sums.total(t) for t in op.outputs], mine, sums)
            return
        arriving = {t: len(sums.terms.get(t, ())) for t in op.inputs}
        known = set(sums.known)
        self.told = mine
        try:
            super().step(op, sums)
        except Exception as error:  # whatever a rule of the user's may raise
            mine.status, mine.note = FAILED, f"{type(error).__name__}: {error}"
            if "finalized" in str(error):  # it adds to the graph itself, which must not be
                mine.status, mine.note = status, "it adds to the graph, so was not tried out; taken to reach all real inputs"
                for t in op.inputs:
                    if self.flows(t):
                        sums.add(t, self.graph.add_input(t.dtype, t.dims, "assumed"))
        mine.to = [len(sums.terms.get(t, ())) > arriving[t] or t in known and self.flows(t) for t in op.inputs]
        mine.made = [(o.name, o.type, [t.op.name for t in o.inputs]) for o in self.graph._ops[before:] if o.type != "FuncInput"]

    def _rules(self, op):
        rule, forward = super()._rules(op)
        return (None if rule is None else _Noted(rule, self.told)), forward

    def _bodies(self, op, out_grads, mine, sums):
        """Walks the bodies of a loop or of branches, as their rules would, and passes on what the inputs get."""
        reached = {1 + i for i in carry_that_gets_gradients(op, out_grads)} if op.type == "While" else set()
        for label, body, inner_ys, inner_xs, positions in _bodies_of(op, out_grads, self.wanted):
            scratch = Scratch("explained", body)
            with scratch.as_default():
                inner = _Told(scratch, inner_ys, inner_xs, outer=self)
                inner.steps, inner.prefix = self.steps, f"{self.prefix}{op.name}/{label}:"
                inner_sums = Partials(self.accumulate)
                for y in inner_ys:
                    inner_sums.add(y, scratch.add_input(y.dtype, y.dims, "grad_y"))
                inner.run(inner_sums)
                reached.update(i for i, x in zip(positions, inner_xs) if inner_sums.total(x) is not None)
            first = len(self.steps)
            _add_the_rest(self.steps, inner, inner_ys, inner_xs, self.through_gradients, first)
        for i in sorted(reached):
            t = op.inputs[i]
            sums.add(t, self.graph.add_input(t.dtype, t.dims, "through"))
        mine.to = [i in reached for i in range(len(op.inputs))]




class _Noted(BoundRule):
    """A rule whose results are written down as formulas."""

    __slots__ = ("step",)

    def __init__(self, rule, step):
        super().__init__(rule.function, rule.name, rule.why, rule.override, rule.below)
        self.step = step

    def apply(self, op, grads):
        given = as_grads(super().apply(op, grads))
        came = [(k, g.values if isinstance(g, IndexedSlices) else g) for k, g in enumerate(grads)
                if g is not None and not (isinstance(g, Tensor) and g.op.type == "ZerosLike")]
        names = {g: "dy" if len(came) == 1 else f"dy{k}" for k, g in came}
        self.step.formulas = [formula(op, i, g, names, self.why == REGISTERED)
                              if isinstance(g, (Tensor, IndexedSlices)) and names else "" for i, g in enumerate(given)]
        return given


def _bodies_of(op, out_grads, wanted):
    """Yields (label, body, its outputs that a gradient arrives at, its real inputs, their positions among op.inputs).

    Real inputs: loop variables on the way to these, and what is captured of the tensors `wanted`.
    """
    n, carry = 0, ()
    if op.type == "While":
        body, n = op.attrs["body"], op.attrs["n_carry"]
        carry = carry_that_gets_gradients(op, out_grads)
        ys = [body.outputs[i] for i in carry]
        ys += [y for y, g in zip(body.outputs[n:], out_grads[n + 1:]) if g is not None and flows(y)]
        bodies = [("body", body, ys)]
    else:
        bodies = [(f"branch{j}", b, [y for y, g in zip(b.outputs, out_grads) if g is not None and flows(y)])
                  for j, b in enumerate(op.attrs["branches"])]
    for label, body, ys in bodies:
        real = [i for i, (t, outer) in enumerate(zip(body.inputs, op.inputs[1:]))
                if (i in carry if i < n else flows(t) and outer in wanted)]
        if ys:
            yield label, body, ys, [body.inputs[i] for i in real], [1 + i for i in real]


@contextlib.contextmanager
def unchanged(graph, overrides):
    """Keeps the graphs from getting operations, and the counts of what was caught and used as they are."""
    counts = [(o, "caught", o.caught) for o in overrides]
    counts += [(r, "used", r.used) for r in [*gradient_registry._rules.values(), *graph.override_blocks]]
    counts += [(r, "caught", r.caught) for op in graph._ops for r in op.attached_rules or () if isinstance(r, Override)]
    graphs, stack = [(g, g._finalized) for g in graph.outwards()], [graph]
    while stack:
        inside = [body for op in stack.pop()._ops for body in body_graphs(op)]
        graphs += [(body, body._finalized) for body in inside]
        stack += inside
    for g, _ in graphs:
        g._finalized = True
    try:
        yield
    finally:
        for g, was in graphs:
            g._finalized = was
        for thing, name, count in counts:
            setattr(thing, name, count)


def _between(ys, xs, through_gradients=True):
    """Returns the operations on any way from xs to ys, whatever the dtypes, newest first, and all tensors reached."""
    reached, path = set(xs), []
    for op in sorted(ancestors(ys), key=lambda op: op.id):
        if any(t in reached for t in op.inputs) and (through_gradients or op.forward_op is None):
            path.append(op)
            reached.update(op.outputs)
    return path[::-1], reached


def _add_the_rest(steps, walk, ys, xs, through_gradients, first=None):
    """Adds the operations that no gradient arrives at, with the reason."""
    told = {s.op for s in steps}
    inside = {op for s in steps if hasattr(s.op, "ops") for op in s.op.ops}
    rest = []
    for op in _between(ys, xs, through_gradients)[0]:
        if op in told:
            continue
        if op in walk.stopped:
            status = STOPPED
        elif op in inside:
            status = INSIDE
        else:
            status = INTEGER if op.outputs and not any(map(walk.flows, op.outputs)) else NOTHING
        rest.append(Step(op, walk.prefix, status, note="in stop_gradients" if status == STOPPED else ""))
    if first is None:
        steps += rest
    else:
        steps[first:first] = rest


def _target(x, got, ys, steps, sums, walk):
    path = _between(ys, [x], walk.through_gradients)[0]
    if not path and x not in ys and (walk.through_gradients or not _between(ys, [x])[0]):
        return Target(x.name, got, [], "" if got else _unconnected(x))
    cuts = _cuts([x], ys, walk.through_gradients, {s.op: s for s in steps}, walk.crossing)
    # Where only a shape is asked for, or a rule stands for the way through a function, no gradient is missed, unless that is
    # all there is.
    cuts = [c for c in cuts if not c.shape_only and not c.aside] or ([] if got else cuts)
    reason = "" if got else "every path to it ends" if cuts else "nothing arrives at it"
    if not got and cuts and all(c.shape_only for c in cuts):
        reason = "no more than its shape is asked for, its value makes no difference"
    elif not got and not cuts and not walk.through_gradients:
        reason = "through_gradients=False: what earlier calls of gradients() made counts as constant"
    if not got and not walk.flows(x):
        reason = f"it is {x.dtype.name}, which carries no gradient; cast it to a floating type first, and differentiate by that"
    return Target(x.name, got, cuts, reason)


def _cuts(xs, ys, through_gradients, steps, crossing):
    """Returns the Cuts on the ways from `xs` to `ys`, those inside bodies too; `steps` is {operation: its Step}."""
    path = _between(ys, xs, through_gradients)[0]
    reached = set(xs)
    for op in path[::-1]:  # what depends on no more than a shape (the mask of a dropout) is no path
        only = shape_only_positions(op)
        if any(t in reached and i not in only for i, t in enumerate(op.inputs)):
            reached.update(op.outputs)
    cuts = [Cut(s, t.name, _reason(s, t, i)) for s in steps.values() if not isinstance(s.op, Operation)
            for i, t in enumerate(s.op.inputs) if t in reached and not s.to[i] and flows(t)]
    for op in path:
        step = steps.get(op)
        if step is None or step.status in (INSIDE, NOTHING):
            continue
        ends = [(t, i) for i, t in enumerate(op.inputs) if t in reached and not step.to[i] and (flows(t) or t in crossing)]
        if step.status not in (STOPPED, INTEGER) and op.opdef.facts.bodies:
            inner = _cuts_inside(op, reached, through_gradients, steps, crossing)
            cuts += inner
            ends = [] if inner else ends
        # Of a value that is rounded to an integer, the place to speak of is where it stops being a real number.
        only, aside = shape_only_positions(op), step.passes_by()
        ends.sort(key=lambda end: end[1] in only or end[1] in aside)
        cuts += [Cut(step, t.name, _reason(step, t, i), i in only, i in aside) for t, i in ends[:1]]
    return cuts


def _cuts_inside(op, reached, through_gradients, steps, crossing):
    return [cut for body, inputs in _entered(op, reached)
            for cut in _cuts(inputs, body.outputs, through_gradients, steps, crossing)]


def _entered(op, reached):
    """Returns [(body, those of its inputs that stand for `reached` tensors)] for an operation with bodies."""
    entering = {i - 1 for i, t in enumerate(op.inputs) if t in reached and i}
    if op.type == "While":
        bodies = [op.attrs["body"]]
        grown = True
        while grown:  # what a turn reaches, the next turn starts from
            inside = _between(bodies[0].outputs, [bodies[0].inputs[i] for i in entering])[1]
            more = {i for i in range(op.attrs["n_carry"]) if bodies[0].outputs[i] in inside} - entering
            grown = bool(more)
            entering |= more
    else:
        bodies = op.attrs["branches"]
    return [(body, [body.inputs[i] for i in sorted(entering)]) for body in bodies]


def reached_from(xs, ys):
    """Returns all tensors on the ways from `xs` to `ys`, those inside loops and branches too."""
    found, stack = set(), [(xs, ys)]
    while stack:
        xs, ys = stack.pop()
        path, reached = _between(ys, xs)
        found |= reached
        holding = [op for op in path if op.opdef.facts.bodies]
        stack += [(inputs, body.outputs) for op in holding for body, inputs in _entered(op, reached)]
    return found


def _reason(step, tensor, position):
    if position in step.passes_by():
        return f"{step.rule!r} answers for the function's arguments alone, and the way leads past them"
    if step.status == STOPPED:
        return "it is in stop_gradients"
    if step.status == INTEGER:
        return f"its output is {step.op.outputs[0].dtype.name}, which carries no gradient"
    if step.status == NOT_DIFFERENTIABLE:
        return "declared not differentiable"
    if step.status == NO_RULE:
        return f"no rule is registered for {step.type}"
    if step.status == FAILED:
        return f"its rule fails: {step.note}"
    if step.type == "While" and tensor in step.op.inputs[1:]:
        return "no path inside leads from it to what the loop gives, other than by how many turns it makes"
    if step.type in ("While", "If", "Case"):
        return "no path inside it leads there"
    return _none(step, tensor.name if tensor is not None else "this input")


def _none(step, name):
    return f"its rule {step.rule!r} gives None for {name}"


def _unconnected(x):
    users = x.consumers()
    if not users:
        return "no operation takes it: was another tensor, or a copy, meant?"
    return f"no path leads from it to ys; it goes into {', '.join(op.name for op in users[:3])}" + (
        f" and {len(users) - 3} others" if len(users) > 3 else "")


def source_line(op):
    """Returns the line of the program that made `op`, stripped; "" when its file cannot be read."""
    frames = (op if isinstance(op, Operation) else op.outputs[0].op).traceback
    return frames[-1][3] if frames else ""
