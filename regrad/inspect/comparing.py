"""`compare`: two backward passes over one forward pass, held against each other operation by operation."""

import numpy as np

from regrad.autodiff.overrides import View
from regrad.inspect.report import Report, Table
from regrad.inspect.taps import Taps, fetch, part, whole


class Agreement:
    """How two gradients at one place agree.

    Attributes:
      name, type, at: the operation, or the x (then type and at are "").
      cosine: of the angle between them, 1 for the same direction; None when one is zero or missing.
      ratio: norm in the second / norm in the first; None when the first is zero or missing.
      signs: share of elements of one sign, zeros agreeing with zeros.
      rules: names of the two rules, for an operation.
    """

    def __init__(self, name, type, at, a, b, rules=("", "")):
        self.name, self.type, self.at, self.rules = name, type, at, rules
        self.cosine = self.ratio = self.signs = None
        if a is not None and b is not None and a.size == b.size:
            norms = np.linalg.norm(a), np.linalg.norm(b)
            if norms[0] and norms[1]:
                self.cosine = float(np.clip(np.real(np.vdot(a, b)) / norms[0] / norms[1], -1.0, 1.0))
            self.ratio = float(norms[1] / norms[0]) if norms[0] else None
            self.signs = float(np.mean(np.sign(a) == np.sign(b))) if a.size else None

    def data(self):
        return dict(vars(self))


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
        name = key if isinstance(key, str) else key.name
        for a in [*self.xs, *self.ops]:
            if a.name == name:
                return a
        raise KeyError(f"{name!r} is not among the operations and xs compared.")

    def tables(self):
        def row(a):
            return a.name, a.type, _text(a.cosine), _text(a.ratio), _text(a.signs), a.rules[0], a.rules[1]

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

    Adds the operations of two `gradients` calls to the graph.

    Args:
      view_a, view_b: each a `View`, a dict of overrides, or None for the gradient without either.
      ys, xs: as of `gradients`.
      feed_dict, session: as of `Session.run`; the default session, or a new one, by default.
      options: further arguments of `gradients` for both.

    Returns:
      A `Comparison`: cosine, ratio of norms, and share of equal signs.
    """
    views = [_view(v, label) for v, label in ((view_a, "first"), (view_b, "second"))]
    names = [v.name for v in views]
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    taps = [Taps(ys, xs, view=v, name=f"compare_{v.name}", **options) for v in views]
    totals = [[whole(g) for g in t.grads] for t in taps]
    values = fetch([g for t in taps for g in t.tensors()] + [g for gs in totals for g in gs if g is not None],
                   feed_dict, session)

    def value(g):
        return None if g is None else np.ravel(values[part(g)])

    rules = [{s.op: s.rule or s.status for s in t.explanation.steps} for t in taps]
    ops = []
    for op in dict.fromkeys(op for t in taps for op in t.at):
        given = [t.at[op][1] if op in t.at else [None] * len(op.inputs) for t in taps]
        both = [(value(a), value(b)) for a, b in zip(*given) if a is not None and b is not None]
        joined = [np.concatenate(side) for side in zip(*both)] if both else (None, None)
        ops.append(Agreement(op.name, op.type, op.location, *joined, tuple(r.get(op, "") for r in rules)))
    agreed = [Agreement(x.name, "", "", value(a), value(b)) for x, a, b in zip(taps[0].xs, *totals)]
    return Comparison(names, ops, agreed)


def _view(given, label):
    return given if isinstance(given, View) else View("true" if given is None else label, given)
