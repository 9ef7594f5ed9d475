"""Runs a plan in a session: the programs of one plan, and what happens to the values that go through them."""

import contextlib

import numpy as np

from regrad.core import collecting
from regrad.core.errors import InternalError, uninitialized
from regrad.core.func_graph import FuncGraph
from regrad.core.host import HOST, as_array
from regrad.core.interrupts import Deferred
from regrad.core.opdef import Known, declared_attrs
from regrad.core.operation import Tensor, op_arguments, variable_of
from regrad.core.shapes import fully_known
from regrad.core.traversal import body_graphs, operations_within
from regrad.runtime import buffers, config, direct, stopping
from regrad.runtime.bodies import HostBodies, MustRunOnHost
from regrad.runtime.plan import shape_only_positions
from regrad.runtime.program import Program
from regrad.runtime.segment import ShapeOf, explained, freeze, random_blocks, results_of_host
from regrad.runtime.variants import Variants, warn


class Runner:
    """Runs one plan in one session: feeds in, fetched values out."""

    def __init__(self, plan, session):
        self.plan = plan
        self.session = session
        self.programs = Variants(len(plan.nodes))
        self.sole = None  # the only program there can be: every feed's shape is fixed
        self.commits = list(plan.commits.items())
        self.shown = _shown(plan)
        self.variables = {v: variable for variable, v in plan.reads.items()}
        self.reshaping = _reshaped(plan) if self.commits else ()
        self.reshaped = 0  # how many variables of the session had taken another shape when this one looked last
        self.shifting = ()  # those of them that the plan reads: programs hold for their shapes

    def run(self, arrays):
        """Executes the plan; commits variables only when everything succeeded.

        Args:
          arrays: the fed values, arrays of the right dtype, in the order of `plan.fed`.

        Returns:
          The fetched values in order, NumPy or device arrays; None for an operation.
        """
        session = self.session
        try:
            program = self.sole if self.reshaped == len(session.reshaped) and self.sole is not None else self.program(arrays)
        except MustRunOnHost as found:
            self._plan_again(found)
            program = self._ready(arrays)
        if program.cold and program.direct is None and self._compile_unlocked(program):
            program = self._ready(arrays)  # other threads ran meanwhile
        session.executing += 1
        try:
            if program.direct is not None and session.recorder is None and not (program.root.donates or self.reshaping):
                results, assigned = program.direct(arrays, session.state)
                if assigned:
                    session.state.update(assigned, often=True)
                return results
            if not self.commits:
                return self.run_body(arrays, program)[0]
            # Once old values may be overwritten there is no way back: an interrupt waits for the new ones.
            with Deferred() as interrupts:
                results, assigned = self.run_body(arrays, program, interrupts)
                for variable in self.reshaping:
                    old, new = session.state.get(variable), assigned[variable]
                    if old is not None and old.shape != new.shape:
                        session.reshaped.add(variable)
                session.state.update(assigned, program.direct is not None)
            return results
        finally:
            session.executing -= 1

    def _compile_unlocked(self, program):
        """Compiles what the next run of `program` needs while other threads may use the session; True if there was anything."""
        segments = program.to_compile()
        if not segments or self.session.recorder is not None:
            return False
        with self.session.unlocked():
            for segment in reversed(segments):  # another thread may have begun at the other end
                try:
                    segment.executable()
                except Exception:  # the run meets it again, and knows what to do about it
                    return True
        return True

    def run_body(self, arrays, program=None, interrupts=None):
        """Executes the plan, made anew when an operation turns out not to compile.

        Args:
          arrays: as for `run`.
          program: the program for them, if the caller has it.
          interrupts: what defers them from where old values of variables are overwritten.

        Returns:
          The fetched values, and {variable: new value}, which is not committed.
        """
        done = {}  # host operation with effects -> what it gave: it does not run again when the plan is made again
        while True:
            try:
                program = program or self.program(arrays)
                if program.direct is None or not self._plain(program):
                    return self._execute(program, arrays, done, interrupts)
                if program.donates:
                    interrupts.begin()
                return program.direct(arrays, self.session.state)
            except MustRunOnHost as found:
                program = None
                self._plan_again(found)

    def _ready(self, arrays):
        """Returns `program(arrays)`, of the plan made anew when an operation turns out not to compile."""
        while True:
            try:
                return self.program(arrays)
            except MustRunOnHost as found:
                self._plan_again(found)

    def _plan_again(self, found):
        found.mark()
        self.plan = self.plan.again()
        self.programs.clear()
        self.sole = None
        self.commits = list(self.plan.commits.items())
        self.shown = _shown(self.plan)
        self.variables = {v: variable for variable, v in self.plan.reads.items()}

    def program(self, arrays):
        """Returns the plan made ready for the shapes of `arrays`, and for the values that shapes depend on."""
        if self.reshaped != len(self.session.reshaped):
            self._look_for_reshaped()
        if self.sole is not None:
            return self.sole
        plan, state = self.plan, self.session.state
        key = tuple([a.shape for a in arrays])
        if plan.keyed_feeds:
            key = (key, *(freeze(arrays[i]) for i in plan.keyed_feeds))
        if plan.keyed_reads:
            for op in plan.keyed_reads:
                if op not in state:
                    raise uninitialized(op)
            key = (key, *(freeze(np.asarray(state[op])) for op in plan.keyed_reads))
        if self.shifting:
            key = (key, *(np.shape(state.get(op)) for op in self.shifting))
        return self.programs.find(key) or self._specialise(arrays, key)

    def _look_for_reshaped(self):
        """Forgets programs that hold for another shape of a variable."""
        found = [op for op in self.plan.reads if op in self.session.reshaped]
        if len(found) != len(self.shifting):
            self.programs.clear()
            self.sole = None
        self.shifting, self.reshaped = found, len(self.session.reshaped)

    def _execute(self, program, arrays, done, interrupts):
        plan, session = self.plan, self.session
        env = [None] * program.size
        for v, a in zip(plan.feeds, arrays):
            env[v] = a if type(a) is np.ndarray else self._readable(v, a)
        state = session.state
        for variable, v in plan.reads.items():
            env[v] = state.get(variable)
        stage = program.root
        owned = []  # what NumPy may overwrite, and what it has made that may be kept
        drawn = {}  # random operation -> where its stream stood
        while stage is not None:
            infos = stage.infos  # in the end those of the last, which know what all of them have worked out
            segments = stage.ready()
            if stage.donates:
                for segment in segments:  # what fails to compile does so before anything is overwritten
                    if not segment.compiled and not segment.on_host():
                        segment.executable()
            several = len(segments) > 1 and not segments[-1].on_host()
            with session.xla_context() if several else contextlib.nullcontext():  # once for all of them
                for segment in segments:
                    if segment.donate:
                        interrupts.begin()
                    self._run_segment(segment, env, owned, drawn)
            for node in stage.hosts:
                if session.recorder is None:
                    self._run_host(node, env, stage.infos, done, drawn)
                else:
                    session.recorder.step(node.op.name, "host", 1,
                                          lambda n=node, i=stage.infos: self._run_host(n, env, i, done, drawn))
            if stage.waits:
                stage = stage.follow(env)
                env.extend([None] * (program.size - len(env)))  # for the values of loops that a new stage consists of
            else:
                stage = stage.next
        program.runs += 1
        if program.runs in direct.AFTER and program.direct is None and self._plain(program):
            program.direct = direct.direct(program, self)
        results = []
        for v in plan.fetches:
            if v < 0:
                results.append(None)
                continue
            value = env[v]
            if value is None:
                value = self._known(v, infos)
            results.append(value)
        assigned = {}
        for variable, v in self.commits:
            value = self._known(v, infos) if env[v] is None else env[v]
            if type(value) is np.ndarray and not _taken(value, owned):  # a fed array or a constant belongs to somebody else
                value = buffers.kept(value)
            assigned[variable] = value
        return results, assigned

    def _plain(self, program):
        """True unless the run is recorded, or another waits that may still need what this one would overwrite."""
        return self.session.recorder is None and (self.session.executing <= 1 or not program.donates)

    def _known(self, v, infos):
        """Returns the value of a folded number, or explains a variable without one."""
        info = infos[v]
        if isinstance(info, Known):
            return info.array
        t = self.plan.tensors[v]
        if not isinstance(t, Tensor):
            raise uninitialized(t)
        raise InternalError(None, t.op, f"{t.name} was not computed")

    def _specialise(self, arrays, key):
        session = self.session
        with collecting.paused():
            program = Program(self.plan, arrays, session, self.programs.patience)
        one_too_many = self.programs.add(key, program)
        plan = self.plan
        fixed = not (plan.keyed_feeds or plan.keyed_reads or self.shifting) and all(fully_known(t.dims) for t in plan.fed)
        if fixed and not isinstance(plan.graph, FuncGraph):  # what is given to bodies is not compared with their shapes
            self.sole = program
        session.plans += 1
        if one_too_many:
            self._warn_of_recompiling()
        return program

    def _warn_of_recompiling(self):
        """Says, once, which feeds keep this plan from being compiled once for all."""
        plan, keys = self.plan, [k[0] if self.shifting else k for k in self.programs]
        keyed = bool(plan.keyed_feeds or plan.keyed_reads)
        shapes = [k[0] if keyed else k for k in keys]
        names, remedies = [], []
        for i, t in enumerate(plan.fed):
            ranks, sizes = {len(s[i]) for s in shapes}, list(zip(*{s[i] for s in shapes}))
            axes = [a for a, of_axis in enumerate(sizes) if len(set(of_axis)) > 1] if len(ranks) == 1 else []
            if len(ranks) > 1 or axes:
                names.append(t.name + (f" (its size along axis {' and '.join(map(str, axes))})" if axes else " (its rank)"))
            if t.op.type in ("Placeholder", "PlaceholderWithDefault"):
                remedies += [f"`mask = tf.bucket({t.op.name}, axis={a})`" for a in axes if t.dims is not None]
        names += [f"{plan.fed[i].name} (its value, which a shape depends on)" for n, i in enumerate(plan.keyed_feeds)
                  if len({k[1 + n] for k in keys}) > 1]
        remedy = "Feed a few only"
        if remedies:
            remedy = (f"Feed a few sizes only: {', '.join(remedies[:3])} pads feeds with zeros to the next of a few, and says "
                      "what is real")
        warn(", ".join(names) or "a variable", remedy)

    def _run_segment(self, segment, env, owned, drawn):
        args = [env[v] for v in segment.ins]
        for v, a in zip(segment.ins, args):
            if a is None:
                raise self._missing(v)
        on_host = segment.on_host()
        if not on_host:
            from regrad.runtime.backend import copy_on_device, to_device

            for i, v in enumerate(segment.ins):
                if type(args[i]) is np.ndarray and v in self.variables and args[i].size > config.tiny_cost:
                    args[i] = env[v] = self.session.state[self.variables[v]] = to_device(args[i])
        random = segment.random_ops + segment.body_random_ops
        seeds = self.session.seeds(random, segment.random_blocks, drawn) if random else ()
        if self.session.recorder is not None:
            results = self._recorded(segment, args, seeds, on_host)
        elif on_host:
            if self.session.executing > 1:  # a run that waits, for this one perhaps, may still need what it would overwrite
                owned = None
            else:
                owned += [args[i] for i in segment.donate]
            results = segment.run_host(args, seeds, owned)
            if owned is not None and segment.alone and self.commits and not self.shown:
                owned += segment.made(results, [*args, *owned])
        else:
            if self.session.executing > 1:  # a run that waits, for this one perhaps, may still need what it would overwrite
                for i in segment.donate:
                    args[i] = copy_on_device(args[i])
            with self.session.xla_context():
                results = segment.run_compiled(args, seeds, self.session, self.put_back)
        segment.runs += 1
        for v, r in zip(segment.outs, results):
            env[v] = r
        if segment.branch_draws:
            self.session.drew(segment.branch_draws, [env[draw[1]] for draw in segment.branch_draws], drawn)

    def put_back(self, v, array):
        """Keeps the value of a variable, number `v` in the plan, where the program that was given its memory has left it."""
        self.session.state[self.variables[v]] = array

    def _recorded(self, segment, args, seeds, on_host):
        """Executes a segment as `_run_segment` does, timing it."""
        name = f"{segment.nodes[0].op.name} ... {segment.nodes[-1].op.name}"
        if on_host:
            return self.session.recorder.step(name, "segment (NumPy)", len(segment.nodes),
                                              lambda: segment.run_host(args, seeds))
        if not segment.compiled:
            self.session.recorder.step(f"waiting for {name}", "compiler", len(segment.nodes),
                                       lambda: segment.executable() and None)
        with self.session.xla_context():
            return self.session.recorder.step(name, "segment (XLA)", len(segment.nodes),
                                              lambda: segment.run_compiled(args, seeds, self.session, self.put_back))

    def _missing(self, v):
        t = self.plan.tensors[v]
        return InternalError(None, t.op, f"{t.name} was not computed") if isinstance(t, Tensor) else uninitialized(t)

    def _run_host(self, node, env, infos, done, drawn):
        op, opdef = node.op, node.opdef
        if op in done:
            for v, r in zip(node.outs, done[op]):
                env[v] = r
            return
        stopping.check(self.session)
        shape_only = shape_only_positions(op)
        operands = []
        for position, v in enumerate(node.ins):
            if v < 0:
                operands.append(None)
                continue
            value = env[v]
            if value is None:
                info = infos[v]
                if isinstance(info, Known):
                    value = info.array
                elif position in shape_only and info is not None:
                    value = ShapeOf(info.dims, info.dtype.as_numpy_dtype)
                elif not opdef.facts.uninitialized_ok:
                    raise self._missing(v)
            if value is not None and type(value) is not ShapeOf and not opdef.facts.bodies:
                value = as_array(value)
            operands.append(value)
        backend = HOST
        if opdef.random:
            operands.insert(0, self.session.seeds([op], [random_blocks(op, op.outputs)], drawn)[0])
            operands = [operands[0], *op_arguments(op, operands[1:])]
        elif not opdef.facts.bodies:
            operands = op_arguments(op, operands)
        else:
            backend = HostBodies(self.session, node, operands)
            operands = op_arguments(op, operands)
        if opdef.facts.in_session:  # it keeps something in the session
            operands = [self.session, *operands]
        try:
            result = opdef.lower(backend, *operands, **declared_attrs(op))
        except Exception as error:
            explained(error, op, "running")
            raise
        if node.written and opdef.facts.bodies:
            result = result if isinstance(result, (tuple, list)) else (result,)
            result = (*result, *backend.final_versions())
        result = results_of_host(op, result)
        if not node.pure:
            done[op] = result
        for v, r in zip(node.outs, result):
            env[v] = r if type(r) is np.ndarray else self._readable(v, r)

    def _readable(self, v, value):
        """Returns a value as what reads it in this plan can have it: where any of that is compiled, a loop's rows as one array.

        Raises:
          MustRunOnHost: the rows are of different shapes.
        """
        if hasattr(value, "rows"):
            for node in self.plan.nodes:
                if not node.host and v in node.ins:
                    if value.ragged:
                        raise MustRunOnHost(node.op)
                    return np.asarray(value)
        return value


def _reshaped(plan):
    """Returns the variables to which a plan may give another shape."""
    found = set()
    for node in plan.nodes:
        for op in (node.op, *(inner for graph in body_graphs(node.op) for inner in operations_within(graph))):
            if op.opdef.type == "Assign" and not op.attrs["validate_shape"]:
                found.add(variable_of(op.inputs[0]))
    return [variable for variable in plan.commits if variable in found]


def _shown(plan):
    """True when what a segment makes may reach more than variables and fetches: a host operation could hold on to it."""
    return isinstance(plan.graph, FuncGraph) or any(node.host for node in plan.nodes)


def _taken(value, arrays):
    """True when `value` is one of `arrays`, from which it is taken: no two variables hold the same one."""
    for i, array in enumerate(arrays):
        if array is value:
            del arrays[i]
            return True
    return False
