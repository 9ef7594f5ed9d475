"""`overrides_in_use`: every override a program made, what it caught, and whether it was ever used."""

from regrad.autodiff.overrides import Override
from regrad.core import gradient_registry
from regrad.core.func_graph import FuncGraph
from regrad.core.graph import Graph, get_default_graph
from regrad.core.tabular import Record, Table
from regrad.core.traversal import operations_within
from regrad.inspect.report import Report


class Row(Record):
    """One override, or one rule that the program registered.

    Attributes:
      kind: "gradient_override_map", "attached", "rule of the graph" or "registered".
      what: op types and rule names, the selector, or the name.
      at: the line.
      operations: how many operations it is about; None for a registered rule.
      used: how often `gradients` has applied it.
      problem: words; "" when it is used.
    """

    def __init__(self, kind, what, at, operations, used, problem):
        self.kind, self.what, self.at, self.operations, self.used, self.problem = kind, what, at, operations, used, problem

    def data(self):
        return dict(vars(self))

    def __str__(self):
        return f"{self.kind}: {self.what} at {self.at}, used {self.used} times{f': {self.problem}' if self.problem else ''}"


class Inventory(Report):
    """The overrides of a program; true when each was used.

    Attributes:
      rows: list of `Row`.
    """

    def __init__(self, rows):
        self.rows = rows

    @property
    def problems(self):
        """The rows that did nothing."""
        return [r for r in self.rows if r.problem]

    def __bool__(self):
        return not self.problems

    def tables(self):
        title = (f"{len(self.problems)} of {len(self.rows)} overrides and rules did nothing" if self.problems else
                 f"All {len(self.rows)} overrides and rules were used" if self.rows else
                 "No override was made, no rule registered")
        rows = sorted(self.rows, key=lambda r: not r.problem)
        return [Table(title, ["kind", "what", "at", "operations", "used", "problem"],
                      [(r.kind, r.what, r.at, r.operations, r.used, r.problem) for r in rows])]

    def data(self):
        return {"rows": [r.data() for r in self.rows]}


def overrides_in_use(graph=None):
    """Tells what every override made so far has caught, and which did nothing.

    Call it when the gradients are built: an override that no `gradients` call has applied by then is told as unused, and so is
    a rule that was registered and never applied.

    Args:
      graph: a Graph, or a list of them; the default graph by default.

    Returns:
      An `Inventory`: `print` it; it is true when everything was used.
    """
    graphs = graph if isinstance(graph, (list, tuple)) else [graph or get_default_graph()]
    if not all(isinstance(g, Graph) for g in graphs):
        raise TypeError(f"overrides_in_use: graph is a tf.Graph or a list of them, got {graph!r}.")
    graphs = [g for g in graphs if not isinstance(g, FuncGraph)]
    rows, named = [], set()
    for g in graphs:
        for block in dict.fromkeys(b for b in g.override_blocks if b.mapping):
            named.update(block.mapping.values())
            rows.append(_row("gradient_override_map", ", ".join(f"{k}: {v}" for k, v in block.mapping.items()), block.where,
                             block.caught, block.used, "no operation of these types was made inside it"))
        attached = {}
        for op in operations_within(g):
            for rule in op.attached_rules or ():
                if isinstance(rule, Override):
                    attached[rule] = attached.get(rule, 0) + 1
        of_graph = [(o, o.selector.count(g)) for o in g.gradient_rules]
        for kind, found in (("attached", attached.items()), ("rule of the graph", of_graph)):
            for override, count in found:
                named.add(override.rule)
                rows.append(_row(kind, repr(override.selector), override.where, count, override.caught,
                                 "its selector matches no operation"))
    for rule in gradient_registry._rules.values():
        if rule.function is not None and not rule.where.startswith("regrad/"):
            why = ("it stands in an override that was not applied" if rule.name in named else
                   "no override names it, and no operation of that type was differentiated")
            rows.append(Row("registered", rule.name, rule.where, None, rule.used, "" if rule.used else why))
    return Inventory(rows)


def _row(kind, what, at, count, used, nothing):
    problem = "" if used else nothing if not count else "no gradients() call went through one of its operations"
    return Row(kind, what, at, count, used, problem)
