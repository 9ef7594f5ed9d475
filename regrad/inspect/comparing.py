"""`compare`: two backward passes over one forward pass, held against each other operation by operation."""

import numpy as np

from regrad.autodiff.overrides import as_view
from regrad.core.tabular import Record, Table
from regrad.inspect.report import Report, absent
from regrad.inspect.taps import Taps, fetch, one_turn, part, turn_text, whole


class Agreement(Record):
    """How two gradients at one place agree.

    Attributes:
      name, type, at: the operation, or the x (then type and at are "").
      cosine: of the angle between them, 1 for the same direction; None when one is zero or missing.
      ratio: norm in the second / norm in the first; None when the first is zero or missing.
      signs: share of elements of one sign, zeros agreeing with zeros.
      rules: names of the two rules, for an operation.
      turns: for an operation in a loop {turn: Agreement of that turn alone}; the rest is about all turns together.
    """

    def __init__(self, name, type, at, a, b, rules=("", "")):
        self.name, self.type, self.at, self.rules, self.turns = name, type, at, rules, {}
        self.cosine = self.ratio = self.signs = None
        if a is not None and b is not None and a.size == b.size:
            norms = np.linalg.norm(a), np.linalg.norm(b)
            if norms[0] and norms[1]:
                self.cosine = float(np.clip(np.real(np.vdot(a, b)) / norms[0] / norms[1], -1.0, 1.0))
            self.ratio = float(norms[1] / norms[0]) if norms[0] else None
            self.signs = float(np.mean(np.sign(a) == np.sign(b))) if a.size else None

    def data(self):
        return vars(self) | {"turns": {t: a.data() for t, a in self.turns.items()}}

    def __str__(self):
        place = f" ({self.type}) at {self.at}" if self.at else ""
        cosine, ratio, signs = (_text(x) or "none" for x in (self.cosine, self.ratio, self.signs))
        return f"{self.name}{place}: cosine {cosine}, norm ratio {ratio}, same sign {signs}"

    def least(self):
        """Returns the turn whose cosine is least, or None."""
        return min((t for t, a in self.turns.items() if a.cosine is not None), key=lambda t: self.turns[t].cosine, default=None)


class Comparison(Report):
    """Two views compared.

    Attributes:
      names: of the two views.
      ops: list of `Agreement`: of what each operation gives to its inputs, in the order of the backward walk.
      xs: list of `Agreement`, one per x.
    """

    def __init__(self, names, ops, xs):
        self.names, self.ops, self.xs = names, ops, xs

    def __getitem__(self, key):
        """Returns the Agreement of an operation, tensor or name; of an x by its tensor's name ("x:0")."""
        name = getattr(key, "name", key)
        for a in [*self.xs, *self.ops]:
            if a.name == name or a.name.endswith(f":{name}"):
                return a
        raise absent(name, "the xs and operations compared", (a.name for a in [*self.xs, *self.ops]))

    def tables(self):
        def row(a):
            name = f"{a.name} ({len(a.turns)} turns)" if a.turns else a.name
            least = a.least()
            cosine = _text(a.cosine) + (f" (least {_text(a.turns[least].cosine)}, turn {turn_text(least)})"
                                        if least is not None and len(a.turns) > 1 else "")
            return name, a.type, cosine, _text(a.ratio), _text(a.signs), a.rules[0], a.rules[1]

        first, second = self.names
        columns = ["type", "cosine", "norm ratio", "same sign", f"rule in {first}", f"rule in {second}"]
        return [Table(f"Gradient of each x: {second} against {first}", ["x", *columns[1:4]],
                      [(r[0], *r[2:5]) for r in map(row, self.xs)]),
                Table("What each operation passes on, last first", ["operation", *columns], map(row, self.ops))]

    def data(self):
        return {"views": self.names, "xs": [x.data() for x in self.xs], "ops": [o.data() for o in self.ops]}


def _text(x):
    return "" if x is None else f"{x:.4g}"


def compare(view_a, view_b, ys, xs, feed_dict=None, session=None, **options):
    """Runs two backward passes in one run and tells how they agree, per operation and per x.

    Adds the operations of two `gradients` calls to the graph. Loops and branches are looked into turn by turn; for that, the
    backward loops run from the host.

    Args:
      view_a, view_b: each a `View`, a dict of overrides, or None for the gradient without either.
      ys, xs: as of `gradients`.
      feed_dict, session: as of `Session.run`; the default session, the one session of the graph in which
        variables have values, or a new one, by default.
      options: further arguments of `gradients` for both.

    Returns:
      A `Comparison`: cosine, ratio of norms, and share of equal signs.

    Example:
      x = tf.constant([1.0, 2.0])
      report = tf.compare(None, {"Square": lambda op, dy: -dy * op.inputs[0]}, tf.square(x), x)
      print(round(report.xs[0].cosine, 4), round(report.xs[0].ratio, 4))
      #> -1.0 0.5
    """
    views = [as_view(view_a, "first"), as_view(view_b, "second")]
    names = [v.name for v in views]
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    taps = [Taps(ys, xs, view=v, name=f"compare_{v.name}", inside=lambda op, x, y, arriving, given: given, **options)
            for v in views]
    totals = [[whole(g) for g in t.grads] for t in taps]
    values = fetch([g for t in taps for g in t.tensors()] + [g for gs in totals for g in gs if g is not None],
                   feed_dict, session)

    def value(g):
        return None if g is None else np.ravel(values[part(g)])

    rules = [{s.op: s.rule or s.status for s in t.explanation.steps} for t in taps]
    inside = _inside_bodies(taps, rules)
    ops = []
    for op in dict.fromkeys(op for t in taps for op in t.at):
        given = [t.at[op][1] if op in t.at else [None] * len(op.inputs) for t in taps]
        both = [(value(a), value(b)) for a, b in zip(*given) if a is not None and b is not None]
        ops.append(Agreement(op.name, op.type, op.location, *_joined(both), tuple(r.get(op, "") for r in rules)))
        ops += inside.get(op, ())
    agreed = [Agreement(x.name, "", "", value(a), value(b)) for x, a, b in zip(taps[0].xs, *totals)]
    return Comparison(names, ops, agreed)


def _inside_bodies(taps, rules):
    """Returns {operation of the graph: Agreements of what its bodies hold}."""
    sides = [{(op, turns): given for (op, given), turns in zip(t.log, t.turns())} for t in taps]
    names = {s.op: s.name for t in taps for s in t.explanation.steps}
    at = {}
    for op, turns in dict.fromkeys([*sides[0], *sides[1]]):
        given = [side.get((op, turns), [None] * len(op.inputs)) for side in sides]
        at.setdefault(op, {})[turns] = [(np.ravel(a), np.ravel(b)) for a, b in zip(*given) if a is not None and b is not None]
    found = {}
    for op, by_turn in at.items():
        place = names.get(op, op.name), op.type, op.location
        told = tuple(r.get(op, "") for r in rules)
        every = [pair for pairs in by_turn.values() for pair in pairs]
        agreed = Agreement(*place, *_joined(every), told)
        agreed.turns = {one_turn(t): Agreement(*place, *_joined(pairs), told) for t, pairs in by_turn.items() if t}
        found.setdefault(taps[0].outermost(op), []).append(agreed)
    return found


def _joined(pairs):
    return [np.concatenate(side) for side in zip(*pairs)] if pairs else (None, None)
