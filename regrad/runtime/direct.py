"""Programs that have run a few times, as one straight Python function.

A program of a few tiny operations and host functions spends its time between the operations: looking up values, choosing
how a segment runs, building argument lists. Its steps are written out as Python source, `v7 = lower3(HOST, v2, v5)`, one line
each, and compiled; a failing line is found again by its number. So is a program that is one compiled segment, a step of
training: its values go from feeds and variables to the executable and back.
"""

import contextvars
import functools
import operator

import numpy as np

from regrad.core.errors import uninitialized
from regrad.core.func_graph import FuncGraph
from regrad.core.host import HOST, as_array
from regrad.core.opdef import USER_DEFINED, Known, declared_attrs
from regrad.core.operation import op_arguments
from regrad.core.shapes import size_of
from regrad.runtime import buffers, config, packing, stopping
from regrad.runtime.buffers import kept
from regrad.runtime.plan import shape_only_positions
from regrad.runtime.segment import ShapeOf, explained, refuse, results_of_host

AFTER = (3, 6, 12)  # runs; a program that runs once or twice is not worth the writing, and compiling may take some more


def direct(program, runner):
    """Returns a function of (fed arrays, {variable: value}) like `Runner._execute`, or None for a program that it is not for.

    It is for programs that NumPy executes for ever, of shapes that depend on nothing computed, without random numbers,
    bodies, and operations that keep something in the session; and for those that are one compiled segment.
    """
    root = program.root
    if len(root.segments) == 1 and not root.hosts and not root.waits and root.next is None and root.segments[0].compiled:
        segment = root.segments[0]
        # What is given to bodies may lie on the device, or be rows.
        other = segment.on_host() or isinstance(runner.plan.graph, FuncGraph)
        return None if other else _Writer(program, runner).of_compiled(segment, program)
    stages, stage = [], root
    while stage is not None:
        if stage.waits or any(s.random_ops or s.body_random_ops or not s.tiny() for s in stage.segments):
            return None
        if any(n.opdef.random or n.opdef.facts.bodies or n.opdef.facts.in_session for n in stage.hosts):
            return None
        stages.append(stage)
        stage = stage.next
    return _Writer(program, runner).function(stages)


def of_body(plan, stage):
    """Returns such a function of the arguments of a body that NumPy runs turn by turn, or None; it gives a list of outputs."""
    bodies = any(s.random_ops or s.body_random_ops or s.has_bodies for s in stage.segments)
    if bodies or stage.waits or stage.hosts or stage.next is not None or plan.reads or plan.commits:
        return None
    return _Writer(stage, None, plan).function([stage])


def _bytes(spec):
    return size_of(spec.dims) * spec.dtype.size


class _Writer:
    """Source lines, the objects that they name, and the operation of each line."""

    def __init__(self, program, runner, plan=None):
        self.plan = plan or runner.plan
        self.runner = runner
        self.infos = program.infos
        self.reads = {variable: f"v{v}" for variable, v in self.plan.reads.items()}
        self.commits = dict(self.plan.commits)
        self.packs = {}  # Pack -> name: variables that are in neither of the two
        self.lines = ["def run(arrays, state):"]
        self.names = {"HOST": HOST, "ndarray": np.ndarray, "asarray": as_array, "kept": kept, "errstate": np.errstate,
                      "SEVERAL": (tuple, list), "results_of_host": results_of_host, "refuse": refuse, "runner": runner}
        self.arrays = set()  # names that hold NumPy arrays for certain
        self.quiet = False  # NumPy's warnings are off for the whole of it
        self.ops = {}  # line number -> operation
        self.value = {}  # value number of the plan -> name

    def function(self, stages):
        plan = self.plan
        nodes = [n for stage in stages for segment in stage.segments for n in segment.nodes]
        # Code of the user's runs in the context of its caller.
        self.quiet = not any(stage.hosts for stage in stages) and not any(USER_DEFINED in n.opdef.key for n in nodes)
        self._take_in()
        fed = [f"v{v}" for v, t in zip(plan.feeds, plan.fed) if t.dtype.as_numpy_dtype is not np.object_]
        if self.runner is None or not isinstance(plan.graph, FuncGraph):
            self.arrays.update(fed)
            fed = []  # what is given to bodies may lie on the device
        for name in [*fed, *(f"v{v}" for v in plan.reads.values())]:
            self._as_array(name)
        for stage in stages:
            for k, segment in enumerate(stage.segments):
                self._segment(segment, f"s{stage.index}_{k}_")
            for node in stage.hosts:
                if not self._host(node, stage.infos):
                    return None
        return self._compiled() if self._give_back() else None

    def of_compiled(self, segment, program):
        """Returns the function for a program whose only segment is a compiled one, or None."""
        from regrad.runtime.backend import to_device, x64

        plan, place = self.plan, {v: i for i, v in enumerate(segment.ins)}
        executable = segment.executable()
        ins, outs = [f"v{v}" for v in segment.ins], [f"v{v}" for v in segment.outs]
        if type(executable) is stopping.Stoppable:
            executable = functools.partial(executable, session=self.runner.session)
        elif type(executable) is packing.Packed:
            members, ins = packing.apart(ins, segment.packing.ins)
            outs = ["pack", *packing.apart(outs, segment.packing.outs)[1]]
            variables = {name: variable for variable, name in self.reads.items()}
            pack = self.runner.session.state.pack_of(segment.packing, [variables[m] for m in members], program)
            if pack is None:
                program.unpack()
                return None
            executable, ins, self.packs = executable.of_pack, ["pack", *ins], {pack: "pack"}
            for variable in pack.places:
                del self.reads[variable], self.commits[variable]
        self.names |= {"x64": x64, "segment": segment, "executable": executable, "to_device": to_device}
        self._take_in()
        for variable, name in self.reads.items():
            if size_of(self.infos[plan.reads[variable]].dims) > config.tiny_cost:
                self._line(f"    if type({name}) is ndarray: {name} = state[{self._object(variable)}] = to_device({name})")
        self.value |= {v: f"v{v}" for v in segment.outs}
        for bound in segment.bounds:
            v = segment.ins[bound[0]]
            self._line(f"    segment.check({self._object(bound)}, v{v})")
        lent = [v for v in plan.feeds if v in place and _bytes(self.infos[v]) >= buffers.LARGE]
        for v in lent:
            self._line(f"    v{v} = segment.lent({place[v]}, v{v})")
        random = segment.random_ops + segment.body_random_ops
        if random:
            self._line(f"    seeds = {self._object(self.runner.session.seeds)}({self._object(random)}, "
                       f"{self._object(segment.random_blocks)})")
            ins.append("seeds")
        ins += [self._object(c) for c in segment.device_constants]
        self._line("    segment.settle()")
        self._line("    try:")
        self._line(f"        with x64(): results = executable({', '.join(ins)})")
        self._line("    except Exception as error: segment.failed(error)")
        if segment.refusals:
            outs.append("word")
        self._line(f"    {''.join(f'{name}, ' for name in outs)} = results")
        if segment.refusals:
            given = ", ".join(self.value[v] if v in self.value else f"state[{self._object(self.runner.variables[v])}]"
                              for v in segment.ins)
            made = ", ".join(f"v{v}" if f"v{v}" in outs else "None" for v in segment.outs)
            self._line(f"    if word.item(): segment.refused(word.item(), [{given}], {'seeds' if random else '()'}, [{made}], "
                       "runner.put_back)")
        if segment.branch_draws:
            self._line(f"    {self._object(self.runner.session.drew)}({self._object(segment.branch_draws)}, "
                       f"[{', '.join(f'v{draw[1]}' for draw in segment.branch_draws)}])")
        if lent:
            self._line("    results[0].block_until_ready()")
        if not self._give_back(own=segment.outs):
            return None
        return self._made("<regrad: a compiled program>")

    def _compiled(self):
        self.names["failed"] = self._failed
        self.lines.insert(1, "  try:")
        self.lines.append("  except Exception as error: failed(error); raise")
        run = self._made("<regrad: a small program>")
        if not self.quiet:
            return run
        # A context of its own in which they are off: entering it takes a fifth of the time that np.errstate takes.
        context = contextvars.copy_context()
        context.run(np.seterr, all="ignore")
        return functools.partial(context.run, run)

    def _made(self, name):
        """Returns the function that the lines are."""
        exec(compile("\n".join(self.lines), name, "exec"), self.names)
        return self.names["run"]

    def _failed(self, error):
        """Says which operation an exception is of, by the line of the function that raised it."""
        op = self.ops.get(error.__traceback__.tb_lineno - 1)  # a line more since they were written
        if op is not None:
            explained(error, op, "running" if op.opdef.host else "executing")

    def _take_in(self):
        """Writes what names the values of feeds and variables."""
        for i, v in enumerate(self.plan.feeds):
            self._line(f"    v{v} = arrays[{i}]")
        reads = self.packs | self.reads
        if reads:  # all at once: a program of hundreds of variables spends its time on looking them up
            values = f"{self._object(operator.itemgetter(*reads))}(state)"
            self._line(f"    try: {', '.join(reads.values())} = {values}")
            self._line(f"    except KeyError as error: raise {self._object(uninitialized)}(*error.args) from None")
        self.value |= {v: f"v{v}" for v in self.plan.feeds}
        self.value |= {self.plan.reads[variable]: name for variable, name in self.reads.items()}

    def _give_back(self, own=()):
        """Writes the return of what is fetched and assigned; False where a value is not known; `own` are new arrays."""
        results = [self._result(v) if v >= 0 else "None" for v in self.plan.fetches]
        assigned = [(self._object(variable), v, self._result(v)) for variable, v in self.commits.items()]
        pairs = [f"{variable}: {r if v in own else f'kept({r})'}" for variable, v, r in assigned]
        pairs += [f"{self._object(pack)}: {name}" for pack, name in self.packs.items()]
        self._line(f"    return [{', '.join(map(str, results))}], {{{', '.join(pairs)}}}")
        return None not in results and all(r is not None for *_, r in assigned)

    def _as_array(self, name):
        """Writes what makes a NumPy array of a value that may be a scalar of NumPy's, or another type of array."""
        if name not in self.arrays:
            self._line(f"    if type({name}) is not ndarray: {name} = asarray({name})")
            self.arrays.add(name)

    # -- lines ------------------------------------------------------------------------------------

    def _line(self, text, op=None):
        self.lines.append(text)
        if op is not None:
            self.ops[len(self.lines)] = op

    def _object(self, thing):
        name = f"k{len(self.names)}"
        self.names[name] = thing
        return name

    def _result(self, v):
        if v in self.value:
            return self.value[v]
        info = self.infos[v]
        return self._object(info.array) if isinstance(info, Known) else None

    def _call(self, lower, op, arguments, attrs):
        keywords = "".join(f", {name}={self._object(value)}" for name, value in attrs.items())
        return f"{self._object(lower)}({self._list(['HOST', *arguments])[1:-1]}{keywords})"

    def _list(self, names):
        """Returns the source of a list of names, some of which may be lists of names themselves."""
        return f"[{', '.join(n if isinstance(n, str) else self._list(n) for n in names)}]"

    def _segment(self, segment, prefix):
        slots = {i: self._object(value) for i, value in enumerate(segment.template) if value is not None}
        given = [*(self.value[v] for v in segment.ins), *(self._object(c) for c in segment.constants)]
        slots |= dict(zip(segment.in_slots, given))
        for v in segment.ins:
            self._as_array(self.value[v])
        if not self.quiet and any(op.type != "Identity" for op, *_ in segment.steps):
            self._line("    with errstate(all='ignore'):")
        indent = "    " if self.quiet else "        "
        for op, lower, refs, groups, outs, _, _, attrs, refusal in segment.steps:
            operands = [slots.get(i, "None") for i in refs]
            if op.type == "Identity":
                slots[outs[0]] = operands[0]
                continue
            refusal = None if refusal is not None and refusal.by_itself else refusal
            plain = self._plain(op, segment.template, refs) if groups is None and refusal is None else None
            if plain is not None:
                slots[outs[0]] = f"{prefix}{outs[0]}"
                given = ", ".join(o for k, o in enumerate(operands) if k not in op.opdef.static)
                self._line(f"{indent}{slots[outs[0]]} = {self._object(plain)}({given})", op)
                continue
            call = self._call(lower, op, operands if groups is None else op_arguments(op, operands), attrs)
            names = [f"{prefix}{i}" for i in outs]
            slots |= dict(zip(outs, names))
            made = names[0] if len(outs) == 1 else f"[{', '.join(names)}]"
            self._line(f"{indent}{made} = {call}" if outs else f"{indent}{call}", op)
            if refusal is not None:
                given = self._list(operands if groups is None else op_arguments(op, operands))
                objects = [self._object(thing) for thing in (refusal, op, attrs)]
                self._line(f"{indent}refuse({objects[0]}, {objects[1]}, {made}, {given}, {objects[2]})")
            if len(outs) == 1:
                self._line(f"{indent}if type({made}) in SEVERAL: {made} = {made}[0]")
        self.value |= {v: slots[i] for v, i in zip(segment.outs, segment.out_slots)}

    @staticmethod
    def _plain(op, template, refs):
        """Returns NumPy's own function of the operands, those left out that are static, where that is the lowering; or None."""
        form = op.opdef.facts.numpy
        return form and form(op, {k: template[i] for k, i in enumerate(refs) if k in op.opdef.static})

    def _host(self, node, infos):
        op, shape_only, operands = node.op, shape_only_positions(node.op), []
        for position, v in enumerate(node.ins):
            info = infos[v] if v >= 0 else None
            if v < 0:
                operands.append("None")
            elif v in self.value:
                operands.append(self.value[v] if self.value[v] in self.arrays else f"asarray({self.value[v]})")
            elif isinstance(info, Known):
                operands.append(self._object(np.asarray(info.array)))
            elif position in shape_only and info is not None:
                operands.append(self._object(ShapeOf(info.dims, info.dtype.as_numpy_dtype)))
            else:
                return False
        plain = self._plain(op, (), ())
        if plain is not None:
            name = self.value[node.outs[0]] = f"v{node.outs[0]}"
            self._line(f"    {name} = {self._object(plain)}({', '.join(operands)})", op)
            return True
        call = self._call(node.opdef.lower, op, op_arguments(op, operands), declared_attrs(op))
        outs = [f"v{v}" for v in node.outs]
        targets = f"{', '.join(outs)}, = " if outs else ""
        self._line(f"    {targets}results_of_host({self._object(op)}, {call})", op)
        self.value |= dict(zip(node.outs, outs))
        return True
