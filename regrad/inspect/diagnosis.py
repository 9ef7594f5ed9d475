"""`diagnose`: where a backward pass falls ill, from one run: NaN, zero, vanishing and exploding gradients, saturation."""

import math

import numpy as np

from regrad.core.tabular import Record, Table
from regrad.inspect.explain import source_line
from regrad.inspect.report import Report
from regrad.inspect.taps import Taps, fetch, one_turn, part, turn_text

# What makes a value or derivative infinite, and what to do, by op type.
_SINGULAR = {
    "Log": "its derivative 1/x is infinite at 0: use tf.nn.log_softmax or a cross entropy with logits, or log(x + eps)",
    "Log1p": "its derivative 1/(1+x) is infinite at -1: keep the argument above -1",
    "Sqrt": "the root's derivative is infinite at 0: take the root of x + eps",
    "Rsqrt": "it is infinite at 0: add eps to the argument",
    "RealDiv": "something is divided by 0: use tf.div_no_nan, or make the denominator safe before the division",
    "Div": "something is divided by 0: use tf.div_no_nan, or make the denominator safe before the division",
    "Reciprocal": "1/x is infinite at 0: make the argument safe before",
    "Pow": "a power below 1 has an infinite derivative at 0, and a negative base has no real one: keep the base above 0",
    "Exp": "it overflows: subtract the maximum first (tf.reduce_logsumexp, tf.nn.softmax), or clip the argument",
    "Acos": "its derivative is infinite at -1 and 1: clip the argument to the open interval",
    "Asin": "its derivative is infinite at -1 and 1: clip the argument to the open interval",
    "Acosh": "its derivative is infinite at 1: keep the argument above 1",
    "Atanh": "its derivative is infinite at -1 and 1: clip the argument to the open interval",
    "Prod": "products overflow: add logarithms",
}
_CHOICE = ("0 times infinity in a branch of tf.where that is not taken is NaN: make the argument safe with a tf.where inside, "
           "before the function")
_ANY = "look at the values that enter it; tf.check_numerics before it names the first that is not finite"

# Activations: the share of units at which the derivative is next to 0, from input and output.
_SATURATED = {
    "Sigmoid": lambda x, y: y * (1 - y) < 0.01,
    "Tanh": lambda x, y: 1 - y * y < 0.02,
    "Relu": lambda x, y: y <= 0,
    "Relu6": lambda x, y: (y <= 0) | (y >= 6),
    "Elu": lambda x, y: x < -4,
    "Selu": lambda x, y: x < -4,
    "Softsign": lambda x, y: np.abs(x) > 9,
    "Softplus": lambda x, y: x < -4,
    "Softmax": lambda x, y: y * (1 - y) < 0.001,
    "Erf": lambda x, y: np.abs(x) > 2,
}
_UNSATURATE = {
    "Relu": "units that are 0 for the whole batch learn nothing: a smaller learning rate or initial bias, or tf.nn.leaky_relu",
    "Softmax": "it is certain already: scale the logits down, or give them to a cross entropy that takes logits",
}
_SCALE = "scale what enters it down: smaller initial weights, or normalise (batch or layer normalisation) before it"
_OF_RULES = ("not finite", "zero", "vanishing", "exploding")  # what a rule of another's making may be at fault for
_SQUARES = ("SquaredDifference", "Square", "L2Loss", "Abs")
_THROUGH = ("Mean", "Sum", "Sub", "Add", "Mul", "RealDiv", "Reshape", "Identity", "Neg", "Cast", "Squeeze")


class Problem(Record):
    """One thing that is not well.

    Attributes:
      kind: "forward not finite", "not finite", "zero", "vanishing", "exploding", "saturated", "constant", "wrong loss".
      op, type, at, line: the operation, its type, "file:line" and that line; inside a loop or branch the name starts with
        that of the operation around it.
      rule: where another than the registered rule is in force, its name, its line and how it was found; "" otherwise.
      what, cure: words.
      turn: in a loop, the turn in which it starts (the backward pass comes from the last turn): a number from 0, or a tuple
        of them for a loop in a loop; None elsewhere.
      turns: all turns in which it was found.
    """

    def __init__(self, kind, op, what, cure, turn=None, name=None):
        self.kind, self.op, self.type, self.at, self.line = kind, name or op.name, op.type, op.location, source_line(op)
        self.what, self.cure, self.turn, self.rule = what, cure, turn, ""
        self.turns = [] if turn is None else [turn]

    def blame(self, rule):
        """Names the rule that has taken the place of the registered one."""
        self.rule = rule
        if self.kind in _OF_RULES:
            self.what = f"{self.what}; its rule is {rule}"
            self.cure = f"look at that rule first, the registered one is not in force; else {self.cure}"

    def data(self):
        return dict(vars(self))

    def when(self):
        """Returns words on the turns, "" outside loops."""
        if self.turn is None:
            return ""
        more = f" and {len(self.turns) - 1} earlier" if len(self.turns) > 1 else ""
        return f"turn {turn_text(self.turn)}{more}"

    def __str__(self):
        when = self.when()
        return (f"{self.kind}: {self.op} ({self.type}) at {self.at}{', ' + when if when else ''}: {self.what}. "
                f"Cure: {self.cure}.")


class Health(Record):
    """The gradient of one x, or what an operation passes on.

    Attributes:
      name, type, at: of the operation ("" for an x).
      arriving: Euclidean norm of what arrives at its outputs (None for an x); norm: of what it gives to its inputs.
      gain: norm / arriving.
      zeros, infinite: shares of elements that are 0, and that are NaN or infinite.
      state: "well", "None", "not finite", "zero", "vanishing" or "exploding".
      turns: of an operation in a loop, {turn: (norm of what arrives, norm of what it gives)}; the rest is about all turns.
    """

    def __init__(self, name, type, at, grads, arriving, limits):
        self.name, self.type, self.at, self.turns = name, type, at, {}
        values = [np.asarray(g) for g in grads if g is not None]
        self.norm = _norm(values) if values else None
        self.arriving = None if arriving is None else _norm([np.asarray(a) for a in arriving if a is not None])
        self.gain = self.norm / self.arriving if values and self.arriving and math.isfinite(self.arriving) else None
        n = sum(v.size for v in values) or 1
        self.zeros = sum(int(np.sum(v == 0)) for v in values) / n
        self.infinite = sum(int(np.sum(~np.isfinite(v))) for v in values) / n
        measure = self.norm if arriving is None else self.gain
        if not values:
            self.state = "None"
        elif self.infinite:
            self.state = "not finite"
        elif self.norm == 0:
            self.state = "zero"
        elif measure is not None and measure < limits[0]:
            self.state = "vanishing"
        elif measure is not None and measure > limits[1]:
            self.state = "exploding"
        else:
            self.state = "well"

    def data(self):
        return dict(vars(self))

    def __str__(self):
        place = f" ({self.type}) at {self.at}" if self.at else ""
        gain = f", gain {_text(self.gain)}" if self.gain is not None else ""
        return f"{self.name}{place}: {self.state}, norm {_text(self.norm) or 'none'}{gain}, {self.zeros:.0%} zeros"


class Diagnosis(Report):
    """What `diagnose` found; true when nothing is ill.

    Attributes:
      problems: list of `Problem`, in the order of the backward walk.
      ops, xs: lists of `Health`.
    """

    def __init__(self, problems, ops, xs):
        self.problems, self.ops, self.xs = problems, ops, xs

    def __bool__(self):
        return not self.problems and all(x.state == "well" for x in self.xs)

    def of(self, kind):
        """Returns the problems of one kind."""
        return [p for p in self.problems if p.kind == kind]

    def tables(self):
        def row(h):
            name = f"{h.name} ({len(h.turns)} turns)" if h.turns else h.name
            return name, h.state, _text(h.norm), _text(h.gain), f"{h.zeros:.0%}", f"{h.infinite:.0%}"

        columns = ["state", "norm", "gain", "zeros", "NaN, Inf"]
        turns = any(p.turn is not None for p in self.problems)
        return [Table(f"{len(self.problems)} problem{'s' * (len(self.problems) != 1)}" if self.problems else "No problems",
                      ["kind", "operation", "type", "made at", *(["when"] if turns else []), "what", "cure"],
                      [(p.kind, p.op, p.type, p.at, *([p.when()] if turns else []), p.what, p.cure) for p in self.problems]),
                Table("Gradient of each x", ["x", *columns], map(row, self.xs)),
                Table("What each operation passes on, last first", ["operation", *columns], map(row, self.ops))]

    def data(self):
        return {"problems": [p.data() for p in self.problems], "xs": [x.data() for x in self.xs],
                "ops": [o.data() for o in self.ops]}


def _norm(arrays):
    with np.errstate(all="ignore"):
        return float(np.sqrt(sum(np.sum(np.square(np.abs(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64))))
                                 for a in arrays)))


def _text(x):
    return "" if x is None else f"{x:.3g}"


def diagnose(ys, xs, feed_dict=None, session=None, vanishing=1e-6, exploding=1e6, gain=1e-4, saturated=0.9, **options):
    """Runs a backward pass once, with a tap at every operation, and tells where it is ill.

    Adds the operations of one `gradients` call to the graph. Loops and branches are looked into turn by turn; for that, the
    backward loop runs from the host.

    Args:
      ys, xs: as of `gradients`.
      feed_dict, session: as of `Session.run`; the default session, the one session of the graph in which
        variables have values, or a new one, by default.
      vanishing, exploding: norms of the gradient of an x below and above which it is said to vanish and explode.
      gain: an operation that shrinks the norm of a gradient below this share, or blows it up by more than the inverse,
        is named.
      saturated: share of units of an activation at which its derivative is next to 0, from which on it is named.
      options: `overrides`, `view`, `grad_ys` ... as of `gradients`.

    Returns:
      A `Diagnosis`: `print` it; it is true when all is well.

    Example:
      x = tf.constant([1.0, 2.0])
      print(bool(tf.diagnose(tf.square(x), x)), bool(tf.diagnose(1e-9 * tf.square(x), x)))
      #> True False
    """
    limits = (gain, 1 / gain)

    def inside(op, x, y, arriving, given):
        health = Health(op.name, op.type, op.location, given, arriving, limits)
        return health, list(_ill(op, x, y, arriving, given, health, saturated))

    taps = Taps(ys, xs, name="diagnose", inside=inside, **options)
    forward = [t for op in taps.at if not op.opdef.facts.bodies for t in (*op.inputs, *op.outputs)
               if t.dtype._kind in "fc"]
    values = fetch([*taps.tensors(), *forward], feed_dict, session)
    names = {s.op: s.name for s in taps.explanation.steps}
    bodies, inner = _inside_bodies(taps, names, limits)
    found, ops = [], []
    for op, (dys, gs) in taps.at.items():
        arriving = [None if g is None else values[part(g)] for g in dys]
        given = [None if g is None else values[part(g)] for g in gs]
        x = [values.get(t) for t in op.inputs]
        y = [values.get(t) for t in op.outputs]
        health = Health(op.name, op.type, op.location, given, arriving, limits)
        ops += [health, *bodies.get(op, ())]
        # What begins inside a loop is told there.
        told = {p.kind for p in inner.get(op, ())}
        found += [p for p in _ill(op, x, y, arriving, given, health, saturated) if p.kind not in told]
        found += inner.get(op, ())
    found += _wrong_losses(taps)
    overridden = {s.name: s.says() for s in taps.explanation.overridden()}
    for problem in found:
        if problem.op in overridden:
            problem.blame(overridden[problem.op])
    order = {health.name: i for i, health in enumerate(ops)}
    found.sort(key=lambda p: order.get(p.op, 0))
    named = [Health(x.name, "", "", [None if g is None else values[part(g)]], None, (vanishing, exploding))
             for x, g in zip(taps.xs, taps.grads)]
    return Diagnosis(found, ops, named)


def _inside_bodies(taps, names, limits):
    """Returns ({operation of the graph: Healths of what its bodies hold}, {the same: Problems there})."""
    top = taps.outermost
    healths, problems, series = {}, {}, {}
    for (op, (health, ill)), turns in zip(taps.log, taps.turns()):
        turn = one_turn(turns)
        series.setdefault(op, []).append((turn, health))
        for p in ill:
            known = problems.setdefault((op, p.kind), p)
            if known is p:
                p.op, p.turn = names.get(op, op.name), turn
            if turn is not None:
                p.turn = turn
                known.turns.append(turn)
    for (op, kind), p in _over_turns(series, limits).items():
        p.op = names.get(op, op.name)
        problems.setdefault((op, kind), p)
    for op, entries in series.items():
        healths.setdefault(top(op), []).append(_joined(names.get(op, op.name), op, entries, limits))
    by_op = {}
    inner = {(taps.around(op), kind) for op, kind in problems}
    for (op, kind), p in problems.items():
        if (op, kind) not in inner:  # what begins inside a loop is told there
            by_op.setdefault(top(op), []).append(p)
    return healths, by_op


def _joined(name, op, entries, limits):
    """Returns the Health of an operation over all turns."""
    health = Health(name, op.type, op.location, [], None, limits)
    each = [h for _, h in entries]
    health.norm = _norm([np.asarray(h.norm) for h in each])
    health.arriving = _norm([np.asarray(h.arriving) for h in each])
    health.gain = health.norm / health.arriving if health.arriving and math.isfinite(health.arriving) else None
    health.zeros, health.infinite = (sum(getattr(h, k) for h in each) / len(each) for k in ("zeros", "infinite"))
    bad = [h.state for h in each if h.state != "well"]
    health.state = next((s for s in ("not finite", "exploding", "vanishing") if s in bad),
                        "zero" if len(bad) == len(each) else "well")
    health.turns = {t: (h.arriving, h.norm) for t, h in entries if t is not None}
    return health


def _over_turns(series, limits):
    """Returns {(operation, kind): Problem} where a gradient fades or grows from turn to turn, one a body: the first seen."""
    found, seen = {}, set()
    for op, entries in series.items():
        greatest = least = None
        for turn, h in entries:
            if turn is None or not h.arriving or not math.isfinite(h.arriving):
                continue
            greatest, least = max(greatest or 0.0, h.arriving), min(least or math.inf, h.arriving)
            kind, ratio = (("vanishing", h.arriving / greatest) if h.arriving < limits[0] * greatest else
                           ("exploding", h.arriving / least) if h.arriving > limits[1] * least else (None, None))
            if kind is not None and (op.graph, kind) not in seen:
                seen.add((op.graph, kind))
                words, cure = _OVER_TURNS[kind]
                found[op, kind] = Problem(kind, op, words.format(ratio), cure, turn)
    return found


_OVER_TURNS = {
    "vanishing": ("what arrives is {:.2g} of what arrived in a later turn: the loop forgets",
                  "use gates that start open (forget bias 1 or more), a recurrent matrix near the identity, or fewer turns"),
    "exploding": ("what arrives is {:.2g} times what arrived in a later turn",
                  "clip it at every turn, overrides={op: rules.clip_norm(1.0)}, or make the recurrent matrix smaller"),
}


def _finite(arrays):
    return all(a is None or np.all(np.isfinite(a)) for a in arrays)


def _ill(op, x, y, arriving, given, health, saturated):
    """Yields the Problems of one operation."""
    if _finite(x) and not _finite(y) and not (_finite(given) and _below_a_choice(op)):
        yield Problem("forward not finite", op, f"finite values enter it and {_share(y)} of what comes out is not",
                      _SINGULAR.get(op.type, _ANY))
    if _finite(arriving) and not _finite(given):
        which = next(t.name for t, g in zip(op.inputs, given) if not _finite([g]))
        cure = _CHOICE if _below_a_choice(op) else _SINGULAR.get(op.type, _ANY)
        yield Problem("not finite", op, f"a finite gradient arrives, {_share(given)} of what it gives to {which} is not", cure)
    constant = _constant(op)
    if constant:
        yield Problem("constant", op, *constant)
    elif health.state == "zero" and health.arriving:
        yield Problem("zero", op, "a gradient that is not 0 arrives, and 0 is passed on", _cure_of_zero(op))
    elif health.state == "vanishing":
        yield Problem("vanishing", op, f"it passes on {health.gain:.2g} of what arrives", _UNSATURATE.get(op.type, _SCALE))
    elif health.state == "exploding":
        yield Problem("exploding", op, f"it passes on {health.gain:.2g} times what arrives",
                      _SINGULAR.get(op.type, "scale its weights down, or clip the gradient: rules.clip_norm(1.0)"))
    units = _SATURATED.get(op.type)
    if units is not None and y[0] is not None and np.size(y[0]) and not constant:
        with np.errstate(all="ignore"):
            share = float(np.mean(units(x[0], y[0])))
        if share >= saturated:
            cure = _UNSATURATE.get(op.type, _SCALE)
            yield Problem("saturated", op, f"{share:.0%} of its units have next to no derivative", cure)


def _share(arrays):
    sizes = [(np.sum(~np.isfinite(a)), np.size(a)) for a in arrays if a is not None]
    return f"{sum(int(n) for n, _ in sizes) / max(sum(s for _, s in sizes), 1):.0%}"


def _cure_of_zero(op):
    if op.type in _SATURATED:
        return _UNSATURATE.get(op.type, _SCALE)
    return "look at what it is multiplied by or chosen with; where the zero is meant, nothing is to be done"


def _constant(op):
    """Returns (what, cure) for an operation whose output cannot depend on its input."""
    dims = op.inputs[0].dims if op.inputs else None
    if op.type in ("Softmax", "LogSoftmax") and dims and dims[-1] == 1:
        value = 1 if op.type == "Softmax" else 0
        return f"over one class it is always {value}: its gradient is 0, whatever the logits", "use tf.sigmoid, or two classes"
    if op.type == "Sub" and op.inputs[0] is op.inputs[1]:
        return "x - x is always 0", "subtract something else"
    return None


def _below_a_choice(op):
    """True when what `op` makes goes through element-wise operations into a tf.where."""
    seen, front = {op}, [op]
    for _ in range(4):
        front = [c for o in front for t in o.outputs for c in t.consumers() if c not in seen and c.forward_op is None]
        if any(c.type in ("Select", "SelectV2") for c in front):
            return True
        seen.update(front)
    return False


def _wrong_losses(taps):
    """Yields the Problems of squared errors of probabilities, whose gradient dies just where the answer is wrong."""
    for op in taps.at:
        if op.type not in ("Softmax", "Sigmoid"):
            continue
        seen, front = {op}, [op]
        while front:
            following = [c for o in front for t in o.outputs for c in t.consumers() if c in taps.at and c not in seen]
            squared = next((c for c in following if c.type in _SQUARES), None)
            if squared is not None and _leads_to_loss(squared, taps):
                yield Problem("wrong loss", squared, f"it measures the error of {op.name} ({op.type}): where that is sure and "
                              "wrong, its derivative is next to 0, and so is the gradient",
                              f"use tf.nn.{op.type.lower()}_cross_entropy_with_logits on the logits")
                break
            seen.update(following)
            front = [c for c in following if c.type in _THROUGH]


def _leads_to_loss(op, taps):
    """True when only sums, means and scalings follow `op` on the way to a scalar."""
    while True:
        if op.outputs[0].dims == ():
            return True
        following = [c for t in op.outputs for c in t.consumers() if c in taps.at]
        if len(following) != 1 or following[0].type not in (*_THROUGH, *_SQUARES):
            return False
        op = following[0]
