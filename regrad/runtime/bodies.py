"""Branches and bodies: called turn by turn from the host, traced in place into a segment, or run by NumPy inside one."""

import numpy as np

from regrad.core.host import HOST, as_array
from regrad.core.opdef import Known, Spec
from regrad.core.operation import variable_of
from regrad.runtime import direct, memory, stopping
from regrad.runtime.plan import body_plan
from regrad.runtime.segment import freeze, is_array


class HostBodies:
    """The backend of a branch or loop that runs turn by turn from the host: `call` runs a body as a program of its own.

    Assignments inside bodies make new versions that the next call sees; they are committed with the whole run.
    """

    is_host = True
    np = np
    name = "host bodies"

    def __init__(self, session, node, operands):
        self.session = session
        self.node = node
        self.versions = {}
        for t, value in zip(node.op.inputs, operands):
            variable = variable_of(t)
            if variable is not None:
                self.versions[variable] = value

    def call(self, graph, args, iteration=0):
        """Returns the outputs of `graph` for `args`, one per graph input (NumPy or device arrays)."""
        stopping.check(self.session)
        runner = self.session.body_runner(graph)
        arrays = []
        for t, value in zip(graph.inputs, args):
            variable = variable_of(t)
            value = self.versions[variable] if variable in self.versions else value
            arrays.append(value if is_array(value) else as_array(value))
        results, assigned = runner.run_body(arrays)
        self.versions.update(assigned)
        return results[:len(graph.outputs)]

    def final_versions(self):
        return [self.versions[v] for v in self.node.written]


class XlaBodies:
    """The XLA backend inside an operation with bodies: `call` traces a body in place."""

    is_host = False

    def __init__(self, xla, seeds, op):
        self._xla = xla
        self._seeds = seeds
        self._op = op

    def run_on_host(self):
        """Gives up compiling this operation: raises what makes the plan be made again with it on the host."""
        raise MustRunOnHost(self._op)

    def __getattr__(self, name):
        return getattr(self._xla, name)

    def call(self, graph, args, iteration=0):
        """Returns the outputs of `graph`, traced on `args`.

        Args:
          args: one array or tracer per graph input; NumPy arrays are known when compiling, inside too.
          iteration: the turn of a loop (an int or traced integer): random ops draw anew in each.
        """
        plan = body_plan(graph)
        stage = body_stage(graph, [Known(value, t.dtype) if type(value) is np.ndarray else Spec(tuple(value.shape), t.dtype)
                                   for t, value in zip(plan.fed, args)])
        if stage.misfit is not None:  # run from the host, it is refused only where it is reached
            self.run_on_host()
        env, infos = [None] * plan.size, stage.infos
        for v, value in zip(plan.feeds, args):
            env[v] = value
        for segment in stage.segments:
            seeds = [self._turn(op, iteration) for op in segment.random_ops]
            inner = {op: self._turn(op, iteration) for op in segment.body_random_ops}
            for v, r in zip(segment.outs, segment.evaluate(self._xla, [env[v] for v in segment.ins] + segment.constants,
                                                           seeds, inner)):
                env[v] = r
        return [infos[v].array if env[v] is None else env[v] for v in plan.fetches[:len(graph.outputs)]]

    def _turn(self, op, iteration):
        return _of_turn(self.np, self._seeds.get(op), iteration)


def _of_turn(np_, row, iteration):
    """Returns the seed of a random op in one turn of a loop; `row` is None where only shapes are asked for."""
    if row is None:
        row = np.zeros(3, np.uint64)
    row, turn = np_.asarray(row), np_.asarray(iteration).astype("uint64")
    # The upper half of the op seed, which TF's seeds leave free, says which turn this is; nested loops mix theirs.
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    high = (row[1] >> half) * np.uint64(0x9E3779B1) + turn & low
    return np_.stack([row[0], (row[1] & low) | high << half, row[2]])


class NumPyBodies:
    """The backend of an operation with bodies in a segment that NumPy executes, as long as it is cold.

    Attributes:
      stages: {(plan, shapes, values that must be known): _ColdBody}, kept by the segment.
    """

    is_host = True
    np = np
    name = "host"

    def __init__(self, seeds, op, stages):
        self._seeds = seeds
        self._op = op
        self._stages = stages

    def call(self, graph, args, iteration=0):
        """Returns the outputs of `graph` for `args`, arrays, one per graph input."""
        stopping.check_time()
        args = [a if type(a) is np.ndarray else as_array(a) for a in args]
        plan = body_plan(graph)
        key = (plan, *[a.shape for a in args])
        if plan.keyed_feeds:
            key = (*key, *[freeze(args[i]) for i in plan.keyed_feeds])
        found = self._stages.get(key)
        if found is None:
            stage = body_stage(graph, [Known(a, t.dtype) if i in plan.keyed_feeds else Spec(a.shape, t.dtype)
                                       for i, (a, t) in enumerate(zip(args, plan.fed))])
            if stage.misfit is not None:
                raise memory.exhausted(*stage.misfit)
            found = self._stages[key] = _ColdBody(stage)
        found.turns += 1
        if found.turns == _MANY_TURNS:
            found.direct = direct.of_body(plan, found.stage)
        if found.direct is not None:
            return found.direct(args, {})[0][:len(graph.outputs)]
        stage = found.stage
        env, infos = [None] * plan.size, stage.infos
        for v, a in zip(plan.feeds, args):
            env[v] = a
        for segment in stage.segments:
            seeds, inner = (), None
            if segment.random_ops or segment.body_random_ops:
                seeds = [_of_turn(np, self._seeds.get(op), iteration) for op in segment.random_ops]
                inner = {op: _of_turn(np, self._seeds.get(op), iteration) for op in segment.body_random_ops}
            values = segment.evaluate(HOST, [env[v] for v in segment.ins] + segment.constants, seeds, inner)
            for v, value in zip(segment.outs, values):
                env[v] = value
        return [infos[v].array if env[v] is None else env[v] for v in plan.fetches[:len(graph.outputs)]]


class _ColdBody:
    """What NumPy needs to run a body for arguments of some shapes.

    Attributes:
      stage: the Stage.
      turns: how often it ran.
      direct: it all as one function, if it ran often.
    """

    __slots__ = ("stage", "turns", "direct")

    def __init__(self, stage):
        self.stage, self.turns, self.direct = stage, 0, None


_MANY_TURNS = 20  # what writing the function takes is some twenty turns' time


def body_stage(graph, specs):
    """Returns the Stage of a branch or body for inputs of these Specs."""
    plan = body_plan(graph)
    infos = [None] * plan.size
    for v, spec in zip(plan.feeds, specs):
        infos[v] = spec
    from regrad.runtime.program import Stage  # a stage may hold bodies, and a body is one

    return Stage(_Inline(plan), 0, infos)


def body_dims(graph, specs):
    """Returns the dims of what a branch or body gives for inputs of these Specs."""
    stage = body_stage(graph, specs)
    return [stage.infos[v].dims for v in body_plan(graph).fetches[:len(graph.outputs)]]


class MustRunOnHost(Exception):
    """A branch or loop turned out to need shapes that differ from turn to turn: its plan is made again."""

    def __init__(self, op):
        super().__init__(op)
        self.op = op

    def mark(self):
        """Remembers it, for the op and for the graphs around it."""
        op = self.op
        op._host = True
        for graph in op.graph.outwards():
            for name in ("_plan", "_needs_host"):
                graph.__dict__.pop(name, None)
            for other in (graph.outer_graph._ops if graph.outer_graph is not None else ()):
                if other.opdef.facts.bodies:
                    other.__dict__.pop("_host", None)


class _Inline:
    """What a Stage needs of a Program, for a body traced in place."""

    def __init__(self, plan):
        self.plan = plan


def xla_for(op, xla, seeds):
    """Returns the backend for one op's lowering: one that can trace bodies, if the op has any."""
    return XlaBodies(xla, seeds, op) if op.opdef.facts.bodies else xla
