"""What a run needs, in which order: from (fetches, fed tensors) to a Plan. No JAX, no shapes, no values.

Order. First everything that waits for no assignment, in creation order; then assignments and what waits for them, in
creation order. So a read that no control dependency puts after an assignment sees the value from before the run, and
two runs of the same fetches always do the same.

Variables. Within the plan a variable is a chain of immutable *versions*: an assignment makes a new version, and each
read names the version it sees. What remains is pure dataflow between numbered values; the session commits the last
versions at the end, or, when anything failed, none.

Stages. Host operations (Python functions, strings, shapes that depend on data) run between compiled segments. Each
node gets the earliest stage that respects this: device nodes of stage s, then host nodes of stage s, then s + 1.
"""

import re

from regrad.core.dtypes import runtime_name
from regrad.core.errors import InvalidArgumentError
from regrad.core.operation import Tensor, variable_of
from regrad.core.shapes import size_of, text
from regrad.core.tabular import Table
from regrad.core.traversal import body_graphs, needed, operations_within

_MAX_KEYED = 4096  # elements of a tensor by whose value a program may be specialised
_NUMBERED = re.compile(r"_\d+$")


class Node:
    """An operation in a plan, its inputs and outputs as value numbers."""

    __slots__ = ("op", "opdef", "ins", "outs", "stage", "host", "pure", "written")

    def __init__(self, op, ins, outs, host, written):
        self.op = op
        self.opdef = op.opdef
        self.ins = ins
        self.outs = outs
        self.host = host
        self.pure = op.opdef.pure() or op.opdef.host and not (op.opdef.stateful or op.opdef.writes or op.opdef.random)
        self.written = written
        self.stage = 0

    def __repr__(self):
        return f"{'host ' if self.host else ''}{self.op.type} {self.op.name} {self.ins} -> {self.outs} @{self.stage}"


class Plan:
    """The nodes a run executes, in order, with values numbered.

    Attributes:
      nodes: Nodes in execution order.
      feeds: value number of each fed tensor.
      fetches: value number of each fetched tensor (-1 for an operation fetched for its effect).
      reads: {variable op: value number of its version at the start}.
      commits: {variable op: value number of its last version}, for variables assigned in the run.
      keyed: value numbers that must be known when compiling (sizes, axes).
      sought: these, and those that they are worked out from.
      waiting: operations that wait for other threads before the run begins.
      size: how many values there are.
    """

    def __init__(self, graph, fetches, fed):
        self.graph = graph
        self.asked = tuple(fetches)
        self.nodes = []
        self.producer = {}  # value number -> Node
        self.tensors = []  # value number -> Tensor or variable op, for shapes and messages
        self.reads = {}
        self.commits = {}
        self._of_tensor = {}
        self._version = {}
        self.fed = tuple(fed)
        self.feeds = [self._new(t) for t in fed]
        for t, v in zip(fed, self.feeds):
            variable = variable_of(t) if t.op.opdef.type == "FuncInput" else None
            if variable is None:
                self._of_tensor[t] = v
            else:  # a body is given the variable's present value, and may make new versions of it
                self._version[variable] = v
        # A variable fetched by itself is a read like any other that waits for no assignment.
        before = {f: self._value(f) for f in fetches if isinstance(f, Tensor) and variable_of(f) is not None}
        plain = {}  # op type -> whether its operations are the ordinary ones, of which there may be tens of thousands
        for op in _ordered(needed(fetches, set(fed))):
            ordinary = plain.get(op.opdef)
            if ordinary is None:
                ordinary = plain[op.opdef] = _is_plain(op.opdef)
            if ordinary:
                self._add_plain(op)
            else:
                self._add(op)
        self.fetches = [before[f] if f in before else self._value(f) if isinstance(f, Tensor) else -1 for f in fetches]
        self.size = len(self.tensors)
        fixed = {t for t in fed if t.op.opdef.type not in ("Placeholder", "PlaceholderWithDefault", "FuncInput")}
        if fixed:
            self._check_repeated(fixed)
        waiting = [n for n in self.nodes if n.opdef.facts.waiting]
        gives = [(n.op, n.opdef.facts.waiting.gives(n.op)) for n in waiting if n.opdef.facts.waiting.gives]
        given = {op.inputs[0] for op, _ in gives}
        self.waiting = [n.op for n in waiting if n.opdef.facts.waiting.take and n.op.inputs[0] not in given]
        if gives and self.waiting:  # what waits for an answer to what the run gives cannot do so first
            after = _after({op for op, _ in gives}, [n.op for n in self.nodes])
            self.waiting = [op for op in self.waiting if op not in after]
        self.filling = []
        if gives and self.commits:
            taken = {n.op.inputs[0] for n in waiting if n.opdef.facts.waiting.take}
            self.filling = [(op, sum(n for other, n in gives if other.inputs[0] is op.inputs[0]))
                            for op, _ in gives if op.opdef.facts.waiting.room and op.inputs[0] not in taken]
        self.keyed, self.keyed_feeds, self.keyed_reads = self._find_keyed()
        self._assign_stages()

    def again(self):
        """Returns a plan for the same fetches and feeds, made anew."""
        return Plan(self.graph, self.asked, self.fed)

    def _check_repeated(self, fed):
        """Refuses feeds of what a branch or loop has repeated inside, since its value was known when that was built."""
        for node in self.nodes:
            for inner in (node.op, *(op for graph in body_graphs(node.op) for op in operations_within(graph))):
                for graph in body_graphs(inner):
                    repeated = [t for t, copy in graph.captures.items() if copy.op.opdef.type == "Const"]
                    for t in repeated:
                        found = _fed_among(t, fed)
                        if found is not None:
                            raise ValueError(
                                f"Tensor {found.name} may not be fed: {inner.describe()} was built with its value. "
                                f"tf.placeholder_with_default(value, {list(found.dims)}) in its place may be fed.")

    # -- numbering ------------------------------------------------------------------------

    def _new(self, tensor):
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def _value(self, tensor):
        """Returns the number of a tensor's value; of a variable's storage, that of its present version."""
        number = self._of_tensor.get(tensor)
        if number is not None:
            return number
        variable = variable_of(tensor)
        if variable is None:
            raise InvalidArgumentError(None, tensor.op, f"{tensor.name} has no value in this run.")
        number = self._version.get(variable)
        if number is None:
            number = self._new(variable)
            self.reads[variable] = self._version[variable] = number
        return number

    def _add(self, op):
        opdef = op.opdef
        if opdef.variable:
            return
        if opdef.type in ("Placeholder", "FuncInput"):
            t = op.outputs[0]
            if t in self._of_tensor or variable_of(t) is not None:
                return
            raise InvalidArgumentError(
                None, op, f"You must feed a value for placeholder tensor '{op.name}' with dtype {runtime_name(t.dtype)}"
                f"{'' if t.dims is None else f' and shape {text(t.dims)}'}: run(..., feed_dict={{{op.name}: value}})."
                f"{self._fed_later(op)}")
        if opdef.facts.passes_value == "unchanged":  # the value has the number of the operand's
            self._of_tensor.setdefault(op.outputs[0], self._value(op.inputs[0]))
            return
        written = written_variables(op)
        # A variable that is only overwritten needs no old value, and may be uninitialised.
        ins = tuple(-1 if i in opdef.writes and not opdef.reads else self._value(t) for i, t in enumerate(op.inputs))
        if opdef.writes:
            outs = tuple(self._new(v) for v in written)
            for t, v in zip(op.outputs, outs):
                self._of_tensor.setdefault(t, v)
        else:
            outs = []
            for t in op.outputs:
                number = self._new(t)
                outs.append(number)
                self._of_tensor.setdefault(t, number)
            outs = tuple(outs) + tuple(self._new(v) for v in written)  # a branch or loop that assigns
        for v, number in zip(written, outs[len(outs) - len(written):]):
            self._version[v] = self.commits[v] = number
        node = Node(op, ins, outs, needs_host(op), written)
        self.nodes.append(node)
        for number in outs:
            self.producer[number] = node

    def _fed_later(self, op):
        """Returns the words for a feed of a placeholder that was made by the same line, or name, later: a cell ran again."""
        base = _NUMBERED.sub("", op.name)
        for t in self.fed:
            if t.op.type == op.type and t.op.id > op.id and _NUMBERED.sub("", t.op.name) == base:
                return (f" You fed '{t.op.name}', made later at {t.op.location}, and what runs was made of the earlier "
                        f"'{op.name}': run the lines, or cells, between again, or begin with tf.reset_default_graph().")
        return ""

    def _add_plain(self, op):
        """Adds an operation of a type that `_is_plain`."""
        of_tensor, tensors = self._of_tensor, self.tensors
        host = False
        ins = []
        for t in op.inputs:
            number = of_tensor.get(t)
            ins.append(self._value(t) if number is None else number)
            host = host or t.dtype._kind in "so"
        outs = []
        for t in op.outputs:
            outs.append(len(tensors))
            of_tensor.setdefault(t, len(tensors))
            tensors.append(t)
            host = host or t.dtype._kind in "so"
        node = Node(op, tuple(ins), tuple(outs), host, ())
        self.nodes.append(node)
        for number in outs:
            self.producer[number] = node

    # -- what must be known when compiling ---------------------------------------------------

    def _find_keyed(self):
        """Returns value numbers, feed positions and variables by whose values programs are specialised.

        Walks back from the operands that lowerings must know (sizes, axes), through integer arithmetic, to fed values,
        variables and host results; a number that comes out of real computation is itself waited for.
        """
        keyed = set()
        self.sought = seen = set()
        stack = [node.ins[i] for node in self.nodes for i in static_positions(node.op)]
        feeds = {v: i for i, v in enumerate(self.feeds)}
        reads = {v: op for op, v in self.reads.items()}
        while stack:
            v = stack.pop()
            if v in seen or v < 0:
                continue
            seen.add(v)
            node = self.producer.get(v)
            if node is None:
                keyed.add(v)
                continue
            if node.host or not node.pure or node.opdef.facts.bodies:  # what branches and loops give is not folded
                keyed.add(v)
                continue
            inputs = [n for i, n in enumerate(node.ins) if i not in shape_only_positions(node.op)]
            if all(self._is_small_integer(n) for n in inputs):
                stack.extend(inputs)
            else:
                keyed.add(v)
        return (keyed, [i for v, i in feeds.items() if v in keyed],
                [op for v, op in reads.items() if v in keyed])

    def _is_small_integer(self, number):
        t = self.tensors[number]
        t = t if isinstance(t, Tensor) else t.outputs[0]
        if t.op.opdef.type == "Const":
            return True
        size = size_of(t.dims)
        return t.dtype._kind in "iub" and (size is None or size <= _MAX_KEYED)

    # -- stages --------------------------------------------------------------------------------

    def _assign_stages(self):
        made_by_host = {}  # value number -> True when a host node made it
        stage_of = [0] * self.size
        last_host = 0
        for node in self.nodes:
            stage = 0
            for v in node.ins:
                if v < 0:
                    continue
                s = stage_of[v]
                if not node.host and (v in made_by_host or v in self.keyed and v in self.producer):
                    s += 1
                stage = s if s > stage else stage
            if node.host and not node.pure:
                stage = max(stage, last_host)
                last_host = stage
            node.stage = stage
            for v in node.outs:
                stage_of[v] = stage
                if node.host:
                    made_by_host[v] = True
        self.stages = [([], []) for _ in range(max((n.stage for n in self.nodes), default=0) + 1)]
        for node in self.nodes:
            self.stages[node.stage][node.host].append(node)
        self.stage_of = stage_of

    def tables(self):
        """Returns the plan as a list of one table: a row for each operation, in the order in which they run."""
        stages = f" in {len(self.stages)} stages" if len(self.stages) > 1 else ""
        rows = [(s, "host" if n.host else "device", n.op.type, repr(n.op.name), n.op.location)
                for s, both in enumerate(self.stages) for nodes in both for n in nodes]
        return [Table(f"Plan of {len(self.nodes)} operations{stages}, {len(self.feeds)} feeds, {len(self.reads)} variables "
                      f"read, {len(self.commits)} assigned", ["stage", "on", "type", "operation", "made at"], rows)]

    def __str__(self):
        return str(self.tables()[0])

    __repr__ = __str__

    def _repr_html_(self):
        return self.tables()[0].html()


def _after(first, ops):
    """Returns those of `ops`, in creation order, that depend on one of `first`."""
    found = set(first)
    for op in sorted(ops, key=lambda op: op.id):
        if any(t.op in found for t in op.inputs) or any(c in found for c in op.control_inputs):
            found.add(op)
    return found


def _fed_among(tensor, fed):
    """Returns a tensor of `fed` that `tensor` is, or is computed from, its shape apart; None if there is none."""
    seen, stack = {tensor}, [tensor]
    while stack:
        t = stack.pop()
        if t in fed:
            return t
        of_shape = shape_only_positions(t.op)
        more = [x for i, x in enumerate(t.op.inputs) if i not in of_shape and x not in seen]
        seen.update(more)
        stack += more
    return None


def _ordered(ops):
    """Returns the operations in execution order (see the top of this file)."""
    ops = sorted(ops, key=lambda op: op.id)
    late = {op for op in ops if written_variables(op)}
    if not late:
        return ops
    for op in ops:
        for t in op.inputs:
            if t.op in late:
                late.add(op)
                break
        else:
            if op._controls and any(c in late for c in op._controls):
                late.add(op)
    return [op for op in ops if op not in late] + [op for op in ops if op in late]


def _is_plain(opdef):
    """True for an op type whose operations compute values from values, on the host only where there are strings."""
    facts = opdef.facts
    return not (opdef.variable or opdef.host or opdef.writes or opdef.random or facts.passes_value == "unchanged"
                or opdef.type in ("Placeholder", "FuncInput") or facts.host_if or facts.bodies)


def written_variables(op):
    """Returns the variables an operation assigns, those assigned inside its branches or body included."""
    if op.opdef.writes:
        found = []
        for i in op.opdef.writes:
            variable = variable_of(op.inputs[i])
            if variable is None:
                raise InvalidArgumentError(None, op, f"{op.type} needs a variable as input {i}, got {op.inputs[i].name}.")
            found.append(variable)
        return tuple(found)
    if op.opdef.facts.bodies:
        found = {}
        for graph in body_graphs(op):
            for inner in _wanted_in(graph):
                found |= dict.fromkeys(written_variables(inner))
        return tuple(found)
    return ()


def _wanted_in(graph):
    """Returns the operations of a body that its outputs need, in the order they were made: as in any run, others do not run."""
    wanted = needed(graph.outputs)
    return [op for op in graph._ops if op in wanted]


def needs_host(op):
    """Returns `host_needed(op)`, remembered."""
    found = op.__dict__.get("_host")
    if found is None:
        found = op._host = host_needed(op)
    return found


def host_needed(op):
    """True when the operation runs on the host: declared so, touching strings, or holding a body that must."""
    facts = op.opdef.facts
    if op.opdef.host or facts.host_if and facts.host_if(op):
        return True
    for t in op.outputs:
        if t.dtype._kind in "so":
            return True
    for t in op.inputs:
        if t.dtype._kind in "so":
            return True
    for graph in body_graphs(op):
        if graph.__dict__.get("_needs_host") is None:
            graph._needs_host = any(needs_host(inner) or written_variables(inner) for inner in graph._ops)
        if graph._needs_host:
            return True
        # A size that is computed in the body, or changes from turn to turn, cannot be compiled once: such a loop is run turn by
        # turn, such a branch on its own.
        _, loop_vars = body_layout(op)
        if len(body_plan(graph).stages) > 1 or loop_vars and any(i < loop_vars for i in body_plan(graph).keyed_feeds):
            return True
    return False


def static_positions(op):
    """Returns indices into the flat inputs of the operands that the lowering must know."""
    if op.opdef.facts.bodies:
        return _body_static_positions(op)
    return _flat_positions(op, op.opdef.static)


def body_plan(graph):
    """Returns the Plan of a body: its inputs fed, its outputs fetched; in an element function of tf.data every effect runs."""
    plan = graph.__dict__.get("_plan")
    if plan is None or plan.version != graph.version:
        effects = [op for op in graph._ops if op.opdef.stateful and needs_host(op)] if graph.runs_all else []
        plan = graph._plan = Plan(graph, [*graph.outputs, *effects], tuple(graph.inputs))
        plan.version = graph.version
    return plan


def _body_static_positions(op):
    """Returns the inputs that a branch or body must know when compiled: sizes and axes that come in as captures."""
    if needs_host(op):
        return ()
    offset, loop_vars = body_layout(op)
    needed = {offset + i for graph in body_graphs(op) for i in body_plan(graph).keyed_feeds}
    return tuple(sorted(needed.union(op.opdef.facts.bodies.static(op))))


def body_layout(op):
    """Returns (how many inputs come before those passed to the bodies, how many of these are loop variables)."""
    bodies = op.opdef.facts.bodies
    return (bodies.offset, bodies.loop_vars(op)) if bodies else (0, 0)


def shape_only_positions(op):
    """Returns indices into the flat inputs of the operands of which only the shape matters."""
    return _flat_positions(op, op.opdef.shape_only)


def _flat_positions(op, arguments):
    if not arguments or op.groups is None:
        return arguments
    positions, at = [], 0
    for i, size in enumerate(op.groups):
        n = 1 if size is None else size
        if i in arguments:
            positions += range(at, at + n)
        at += n
    return tuple(positions)
