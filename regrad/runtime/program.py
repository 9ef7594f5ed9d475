"""A plan made ready for concrete shapes: segments and host calls in order.

Specialising walks the plan's nodes once with concrete shapes, works out every shape in plain Python (no tracing), folds
what is known before running, and cuts the device nodes into bounded segments. Where a shape or a size depends on what a
host operation gives, the walk stops there; the rest is specialised when the value has come, once per shape (a tree).
"""

import threading
from collections import Counter

import numpy as np

from regrad.core import collecting
from regrad.core.errors import InternalError, InvalidArgumentError, lowering_failure, uninitialized
from regrad.core.host import HOST, as_array
from regrad.core.opdef import Bounds, Known, Spec, declared_attrs, refusal_of, spec_text
from regrad.core.operation import Tensor, op_arguments
from regrad.core.shapes import fully_known, size_of
from regrad.runtime import config, memory
from regrad.runtime.bodies import body_dims, xla_for
from regrad.runtime.checks import Checks
from regrad.runtime.cutting import aligned, data_inputs, recomputing, split
from regrad.runtime.plan import shape_only_positions, static_positions
from regrad.runtime.rewriting import rewritten
from regrad.runtime.rolling import roll
from regrad.runtime.segment import (
    Segment,
    ShapeOf,
    freeze,
    lowering,
    may_be_stopped,
    random_ops_inside,
    refuse,
)
from regrad.runtime.variants import Variants, warn

_LARGE = 1 << 20  # bytes of variables from which copying them takes longer than calling one program more
_FOLD = 1024  # elements; larger results are computed when they are needed, not stored in the program


class Program:
    """The plan for one signature of feeds: the root of the tree of stages."""

    def __init__(self, plan, feed_arrays, session, patience=1):
        self.plan = plan
        self.size = plan.size  # of values: the plan's, and those that only loops of segments know
        self.infos = [None] * plan.size
        keyed = plan.keyed
        for v, array, tensor in zip(plan.feeds, feed_arrays, plan.fed):
            self.infos[v] = Known(array, tensor.dtype) if v in keyed else Spec(array.shape, tensor.dtype)
            memory.check(tensor.op, [self.infos[v]])  # few numbers may stand for many: a view, a file
        for variable, v in plan.reads.items():
            value = session.state.get(variable)
            dtype = variable.outputs[0].dtype
            if value is None:
                # Perhaps nothing but its shape is asked for: a gradient that does not depend on the variable's value.
                if not fully_known(variable.outputs[0].dims) or v in keyed:
                    if not _unread(plan, v):
                        raise uninitialized(variable)
                self.infos[v] = Spec(variable.outputs[0].dims, dtype)
            else:
                self.infos[v] = Known(np.asarray(value), dtype) if v in keyed else Spec(value.shape, dtype)
        self.runs = 0
        self.direct = None  # a function that does it all, for a small program that has run a few times
        self.root = Stage(self, 0, self.infos, patience)
        self.cold = True  # something may still have to be compiled

    @property
    def donates(self):
        """True when the first stage overwrites what a variable held."""
        return self.root.donates

    def unpack(self):
        """Lets the variables of the only segment go in and out by themselves; it is compiled anew."""
        self.root.segments[0].unpack()
        self.direct, self.runs, self.cold = None, 0, True

    def number(self):
        """Returns the number of a value that the plan does not know."""
        self.size += 1
        return self.size - 1

    def to_compile(self):
        """Returns the segments that the next run needs compiled and that are not, as far as the shapes are known."""
        segments, stage = [], self.root
        while stage is not None:
            segments += stage.ready()
            stage = stage.next
        missing = [s for s in segments if not s.compiled]
        self.cold = bool(missing) and not all(s.tiny() for s in missing)
        return [s for s in missing if not s.on_host()]


class Stage:
    """Device segments, then host calls, of one stage; then the next, chosen by what the host calls gave.

    Attributes:
      segments: in order; those of a long stage in one, an `Uncut`, as long as it is cold.
      hosts: nodes executed on the host after them.
      waits: value numbers whose shape (or value, when keyed) decides what comes next; empty when nothing does.
      next: the next Stage, when `waits` is empty.
      children: the next Stages, otherwise.
      patience: see `Segment`.
      misfit: (operation, what `memory.misfit` found among its results) for the first of a body's that does not fit into memory.
      donates: some segment overwrites old values of variables.
    """

    def __init__(self, program, index, infos, patience=1):
        self.program = program
        self.index = index
        self.infos = infos
        self.patience = patience
        plan = program.plan
        device, self.hosts = plan.stages[index]
        self.segments = []
        self.children = Variants(len(plan.nodes))
        self.next = None
        nodes = self._specialise(device)
        self.hosts = [n for n in self.hosts if not self._folded(n)]
        self.waits = self._waits()
        self.donates = False
        self.misfit = None
        self._cut(nodes)
        if not self.waits and index + 1 < len(plan.stages):
            self.next = Stage(program, index + 1, infos, patience)

    # -- shapes and folding --------------------------------------------------------------------

    def _specialise(self, nodes):
        """Fills in `infos` for the outputs of `nodes`; returns those that are not folded away."""
        infos = self.infos
        left = []
        for node in nodes:
            if node.pure and self._folded(node):
                continue
            specs = self._static_specs(node) or self._specs(node)
            for v, spec in zip(node.outs, specs):
                infos[v] = spec
            left.append(node)
        return left

    @staticmethod
    def _static_specs(node):
        """Returns the Specs of a node's outputs where the graph knows all its shapes; else None."""
        op = node.op
        if node.written or len(op.outputs) != len(node.outs):
            return None
        for t in (*op.outputs, *op.inputs):  # what is known of all of them was checked when the op was made
            if t.dims is None or None in t.dims:
                return None
        return [Spec(t.dims, t.dtype) for t in op.outputs]

    def _specs(self, node):
        """Returns the concrete Specs of a device node's outputs."""
        op = node.op
        infos = self.infos
        outputs = op.outputs
        inputs = []
        for position, v in enumerate(node.ins):
            if v < 0:
                inputs.append(Spec(op.inputs[position].dims, op.inputs[position].dtype))
            elif infos[v] is None:
                raise InternalError(None, op, f"the shape of input {position} is not known when it is needed")
            else:
                inputs.append(infos[v])
        for position in static_positions(op):
            v = node.ins[position]
            if v >= 0 and not isinstance(infos[v], Known):
                raise InternalError(None, op, f"the value of input {position} is not known when it is needed")
        specs = self._inferred(op, inputs)
        if node.written:
            # New versions of variables: the op's outputs are the first of them, the others are like the old ones.
            specs = specs[:len(node.outs)] if op.opdef.writes else specs
            for variable in node.written[len(specs) if op.opdef.writes else 0:]:
                specs.append(Spec(variable.outputs[0].dims, variable.outputs[0].dtype))
        done, inner = [], None
        for i, spec in enumerate(specs):
            dims = spec.dims
            if not fully_known(dims) and i < len(outputs) and fully_known(outputs[i].dims):
                dims = outputs[i].dims
            if not fully_known(dims) and op.opdef.facts.bodies:
                inner = inner or self._inner_dims(op, inputs)
                dims = inner[i] if i < len(outputs) else dims
            if not fully_known(dims):
                dims = self._traced_dims(op, inputs, i)
            done.append(Spec(dims, spec.dtype))
        return done

    def _inferred(self, op, inputs):
        """Returns the Specs of an op's outputs for inputs as far as this run knows them."""
        try:
            specs = op.opdef.infer(*op_arguments(op, tuple(inputs)), **declared_attrs(op))
        except (ValueError, TypeError) as error:
            given = ", ".join(spec_text(i) for i in inputs)
            raise InvalidArgumentError(None, op, f"{op.type}: {error} (inputs: {given})") from None
        return specs if type(specs) is list else [specs]

    def _inner_dims(self, op, inputs):
        """Returns the dims of what a branch or loop gives, as its bodies' shape rules tell; None for those that they do not."""
        try:
            return op.opdef.facts.bodies.dims(op, inputs, body_dims) or [None] * len(op.outputs)
        except (InvalidArgumentError, ValueError):  # a branch that is not taken may not fit the shapes of this run
            return [None] * len(op.outputs)

    def _traced_dims(self, op, inputs, index):
        """Asks JAX for an output's shape, where the shape rule does not tell."""
        from regrad.runtime.backend import XLA, jax, without_notes, x64

        static, shape_only = static_positions(op), shape_only_positions(op)
        arrays = [i for i in range(len(inputs)) if i not in static and i not in shape_only]

        def function(*values):
            operands = [i.array if isinstance(i, Known) else ShapeOf(i.dims, i.dtype.as_numpy_dtype) for i in inputs]
            for i, v in zip(arrays, values):
                operands[i] = v
            return op.opdef.lower(xla_for(op, XLA, {}), *op_arguments(op, operands), **declared_attrs(op))

        with x64(), without_notes():
            result = jax.eval_shape(function, *(jax.ShapeDtypeStruct(inputs[i].dims, inputs[i].dtype.as_numpy_dtype)
                                                for i in arrays))
        result = result if isinstance(result, (tuple, list)) else [result]
        return tuple(result[index].shape)

    def _folded(self, node):
        """Computes a node of known inputs now; True when that was possible and the result is worth keeping."""
        opdef, infos = node.opdef, self.infos
        if not node.pure or opdef.xla_only or opdef.facts.bodies:
            return False
        shape_only = shape_only_positions(node.op) if opdef.shape_only else ()
        for position, v in enumerate(node.ins):
            info = infos[v]
            if info is None or not isinstance(info, Known) and position not in shape_only:
                return False
        if shape_only and not opdef.partial and not any(v in self.program.plan.sought for v in node.outs):
            return False  # zeros like something: the compiler makes them where they are used
        op = node.op
        if opdef.type == "Const":
            infos[node.outs[0]] = Known(op.attrs["value"], op.attrs["dtype"])
            return True
        if any((size_of(t.dims) or 0) > _FOLD for t in op.outputs):
            return False
        operands = [ShapeOf(infos[v].dims, infos[v].dtype.as_numpy_dtype) if position in shape_only else infos[v].array
                    for position, v in enumerate(node.ins)]
        if opdef.static or not all(fully_known(t.dims) for t in op.inputs):
            specs = self._inferred(op, [infos[v] for v in node.ins])  # what the shape rule could not see before, it refuses now
            if any(v in self.program.plan.keyed for v in node.outs):
                memory.check(op, specs)
            elif memory.misfit(specs) or any((size_of(s.dims) or 0) > _FOLD for s in specs):
                return False
        try:
            with np.errstate(all="ignore"):
                result = lowering(op)(HOST, *op_arguments(op, operands), **declared_attrs(op))
                if refusal_of(op) is not None:
                    refuse(refusal_of(op), op, result, operands, declared_attrs(op))
        except NotImplementedError:
            return False
        except Exception as error:
            if isinstance(error, (ValueError, TypeError, IndexError)) and not opdef.host:
                self._specs(node)  # a shape rule that refuses says more
                raise InvalidArgumentError(None, op, f"{op.type}: {error}") from error
            if not any(v in self.program.plan.keyed for v in node.outs):
                return False  # it fails where it stands: an assertion may come first
            failure = lowering_failure(error, op)
            if failure is not None:
                raise failure from error
            error.add_note(f"while computing {op.describe()}")
            raise
        result = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [as_array(r) for r in result]
        if any(a.size > _FOLD for a in arrays) and not any(v in self.program.plan.keyed for v in node.outs):
            return False
        for v, array, t in zip(node.outs, arrays, op.outputs):
            infos[v] = Known(array.astype(t.dtype.as_numpy_dtype, copy=False), t.dtype)
        return True

    # -- what the next stage waits for -----------------------------------------------------------

    def _waits(self):
        """Returns the values made here that the next stages' shapes depend on."""
        plan, infos = self.program.plan, self.infos
        waits = []
        for node in self.hosts:
            specs = self._host_specs(node)
            for i, t in enumerate(node.op.outputs[:len(specs)]):
                if fully_known(t.dims) and specs[i] is not None:  # promised by `set_shape`, and checked when it runs
                    specs[i] = Spec(t.dims, t.dtype)
            memory.check(node.op, specs)
            for v, spec in zip(node.outs, specs):
                if v in plan.keyed or spec is None or not fully_known(spec.dims):
                    waits.append(v)
                    infos[v] = None
                else:
                    infos[v] = Spec(spec.dims, spec.dtype)
        for v in plan.keyed:
            if v in plan.producer and plan.stage_of[v] == self.index and not plan.producer[v].host:
                if not isinstance(infos[v], Known):
                    waits.append(v)
        return waits

    def _host_specs(self, node):
        op = node.op
        inputs = [self.infos[v] if v >= 0 else None for v in node.ins]
        if any(i is None for i in inputs) or op.opdef.facts.bodies or node.written:
            outputs = [Spec(t.dims, t.dtype) for t in op.outputs]
            return outputs + [Spec(v.outputs[0].dims, v.outputs[0].dtype) for v in node.written]
        return list(self._inferred(op, inputs))

    def follow(self, env):
        """Returns the next stage for the values that `env` now holds, specialising it if it is new."""
        plan = self.program.plan
        if self.index + 1 >= len(plan.stages):
            return None
        key = []
        for v in self.waits:
            array = env[v]
            key.append(freeze(np.asarray(array)) if v in plan.keyed else array.shape)
        key = tuple(key)
        stage = self.children.find(key)
        if stage is None:
            infos = list(self.infos)
            for v in self.waits:
                t = plan.tensors[v]
                dtype = (t if isinstance(t, Tensor) else t.outputs[0]).dtype
                array = env[v]
                infos[v] = Known(np.array(array), dtype) if v in plan.keyed else Spec(array.shape, dtype)
            stage = Stage(self.program, self.index + 1, infos, max(self.patience, self.children.patience))
            if self.children.add(key, stage):
                self._warn_of_sizes()
        return stage

    def _warn_of_sizes(self):
        """Says which operations give results of ever other sizes, or sizes that are ever others."""
        plan = self.program.plan
        varying = [v for i, v in enumerate(self.waits) if len({key[i] for key in self.children}) > 1]
        named = [f"{'the value' if v in plan.keyed else 'the shape'} of {plan.tensors[v].name} (made at {op.location})"
                 for v in varying[:3] if (op := getattr(plan.tensors[v], "op", plan.tensors[v]))]
        warn(", ".join(named), "Let it be one of a few: pad what it gives with zeros, or keep all rows and multiply those that "
             "do not count by 0")

    # -- segments ----------------------------------------------------------------------------------

    def ready(self):
        """Returns the segments that the next run executes: a long stage is cut when it is to be compiled."""
        if len(self.segments) == 1 and type(self.segments[0]) is Uncut and not self.segments[0].on_host():
            self._have(self.segments[0].parts())
        return self.segments

    def _have(self, segments):
        self.segments = segments
        self.donates = any(segment.donate for segment in segments)

    def _cut(self, nodes):
        """Makes segments of the device nodes; a segment's outputs are what anything else needs."""
        if not nodes:
            return
        nodes = _live(nodes, self._outside_uses())
        self._look_at_sizes(nodes)
        if len(nodes) > config.whole_ops and isinstance(self.program, Program):
            made = {v for n in nodes for v in n.outs}
            outside = [*self._outside_uses(), *_choosing(nodes)]
            uncut = Uncut(self, nodes, dict.fromkeys(v for v in outside if v in made))
            self._donate([uncut])
            self._have([uncut])
            self.ready()
        else:
            self._have(self.cut(nodes))

    def _look_at_sizes(self, nodes):
        """Refuses what does not fit into memory; of a body, which may not run, it is only noted."""
        for node in nodes:
            found = memory.misfit([self.infos[v] for v in node.outs])
            if found is not None:
                if isinstance(self.program, Program):
                    raise memory.exhausted(node.op, found)
                self.misfit = node.op, found
                return

    def cut(self, nodes):
        """Returns segments of bounded size; the values between them and around them are found, equal ones become loops."""
        parts = self._parts(nodes)
        whole = self._computing(parts) if len(nodes) <= config.longest_ops else None
        if whole and (len(nodes) <= config.whole_ops or sum(s.unlike() for s in whole) <= config.whole_ops):
            return whole
        segments = self._computing([piece for part in parts
                                    for piece in aligned(split(part, config.segment_ops), config.segment_ops)])
        # Pieces that do not repeat take longer to compile than one program, and their values go from call to call.
        return segments if whole is None or 2 * _unlike(segments) < len(nodes) else whole

    def _parts(self, nodes):
        """Returns `nodes` in two parts where one can write rows of large variables after all that the run may end with.

        Variables that are replaced as a whole are as fast replaced by others.
        """
        written = [self.infos[n.ins[i]] for n in nodes for i in n.opdef.facts.rows_of if i in n.opdef.writes]
        if sum(size_of(i.dims) * i.dtype.size for i in written) < _LARGE or not self._replaced():
            return [nodes]
        producer = {v: n for n in nodes for v in n.outs}
        first, stack = set(), [n for n in nodes if may_be_stopped(n, self.infos)]
        looks = Checks(nodes, self.infos, True)
        for node in () if looks.first else looks.within:
            bounds = refusal_of(node.op)
            # An index that the first part gives is looked at before the second one is called.
            stack.append(producer[node.ins[bounds.position]] if isinstance(bounds, Bounds) else node)
        while stack:
            node = stack.pop()
            if node not in first:
                first.add(node)
                stack += [producer[v] for v in data_inputs(node) if v in producer]
        return [part for part in ([n for n in nodes if n in first], [n for n in nodes if n not in first]) if part]

    def _computing(self, parts):
        """Returns segments for `parts`, lists of nodes."""
        part_of = {v: i for i, part in enumerate(parts) for n in part for v in n.outs}
        if len(parts) > 1:
            parts = [recomputing(i, part, parts, part_of, self.infos) for i, part in enumerate(parts)]
        needed = [dict() for _ in parts]
        choosing = _choosing([n for part in parts for n in part]) if isinstance(self.program, Program) else ()
        for v in (*self._outside_uses(), *choosing):
            if v in part_of:
                needed[part_of[v]][v] = True
        for part in parts:
            made = {v for n in part for v in n.outs}
            for n in part:
                for v in data_inputs(n):
                    if v not in made and v in part_of:
                        needed[part_of[v]][v] = True
        for i, part in enumerate(parts):
            again = rewritten(part, self.infos, needed[i])
            if again is not part:
                parts[i] = _live(again, needed[i])
        segments, known = [], set()
        for part, outs in zip(parts, needed):
            looks = Checks(part, self.infos, isinstance(self.program, Program), known)
            known.update(looks.within)
            segments.append(Segment(part, self.infos, outs, looks))
        self._donate(segments)
        if len(parts) > 1 and isinstance(self.program, Program):
            segments = roll(segments, self._outside_uses(), self.program.number)
            # The program is compiled for the most part: what is small in it should not make a later run wait for that.
            beside = sum(s.cost() for s in segments) > config.host_cost
            for segment in segments:
                segment.beside = beside
        for segment in segments:
            segment.patience = self.patience
            segment.alone = len(segments) == 1 and not self.index  # NumPy gives views, which an earlier stage may have given
        return segments

    def _donate(self, segments):
        """Lets segments overwrite the old values of variables that the run replaces.

        Only where nothing can fail afterwards: a run that fails must leave every variable as it was.
        """
        replaced, plan = self._replaced(), self.program.plan
        private = []
        if replaced and len(segments) == 1 and type(segments[0]) is Segment and not self.index and not segments[0].branch_draws:
            asked = Counter([*plan.fetches, *plan.commits.values()])
            commits = sorted(plan.commits.items(), key=lambda pair: pair[0].id)  # in one order for all plans
            for node in segments[0].nodes:
                unread = (*node.opdef.writes, *shape_only_positions(node.op))
                asked.update(v for i, v in enumerate(node.ins) if i not in unread)
            private = [new for variable, new in commits if asked[new] == 1 and not asked[plan.reads.get(variable)]]
        for segment in reversed(segments):
            if replaced and (segment.endless or not segment.guards):
                break  # where a segment may be stopped, or fail at any place, it and those before it keep the old values
            segment.overwrite({v: replaced.pop(v) for v in segment.ins if v in replaced}, private)
            if segment.bounds or segment.refusals:
                break  # the run may end before it, or with it

    def _replaced(self):
        """Returns {old value of a variable: the new one}, where the new one may take its place, if nothing fails afterwards."""
        plan = self.program.plan
        if not isinstance(self.program, Program) or self.index + 1 < len(plan.stages) or plan.stages[self.index][1]:
            return {}
        fetched = set(plan.fetches)
        replaced = {}
        for variable, new in plan.commits.items():
            old = plan.reads.get(variable)
            info, made = self.infos[old] if old is not None else None, self.infos[new]
            if old is not None and old not in fetched and made is not None and not isinstance(made, Known):
                if info.dims == made.dims:
                    replaced[old] = new
        return replaced

    def _outside_uses(self):
        """Yields values that host calls, later stages, fetches or commits read."""
        plan = self.program.plan
        yield from (v for v in plan.fetches if v >= 0)
        yield from plan.commits.values()
        yield from (v for v in self.waits)
        for node in plan.stages[self.index][1]:
            yield from node.ins
        for device, host in plan.stages[self.index + 1:]:
            for node in (*device, *host):
                shape_only = shape_only_positions(node.op)
                yield from (v for i, v in enumerate(node.ins) if i not in shape_only)


class Uncut(Segment):
    """All device operations of a long stage as NumPy executes them: cutting takes longer than a run, and may never be needed.

    What compiles it, cuts it and compiles the parts.
    """

    def __init__(self, stage, nodes, outs):
        super().__init__(nodes, stage.infos, outs, Checks(nodes, stage.infos, isinstance(stage.program, Program)))
        self.alone = not stage.index
        self.patience = stage.patience
        self._stage = stage
        self._parts = None
        self._cutting = threading.Lock()

    def parts(self):
        """Returns the segments that take this one's place; another thread may be about to make them."""
        with self._cutting:
            if self._parts is None:
                with collecting.paused():
                    self._parts = self._stage.cut(self.nodes)
                for part in self._parts:
                    part.runs = max(self.runs, self.runs_on_host())
            return self._parts

    def executable(self):
        for part in self.parts():
            if not part.on_host():
                part.executable()


def _choosing(nodes):
    """Returns the values that choose a branch in which numbers are drawn: the session asks which it was."""
    return [n.ins[0] for n in nodes if n.opdef.facts.bodies and n.opdef.facts.bodies.taken and random_ops_inside(n.op)]


def _live(nodes, outside):
    """Returns the nodes whose results `outside` or one another read: folding leaves some unread."""
    live = {v for v in outside if v >= 0}
    kept = []
    for node in reversed(nodes):
        if not live.isdisjoint(node.outs) or not node.pure and not node.opdef.random:
            kept.append(node)
            live.update(data_inputs(node))
    kept.reverse()
    return kept


def _unlike(segments):
    """Returns how many operations the different ones among segments and loops of them compute."""
    return sum({segment.key: len(segment.steps) for segment in segments}.values())


def _unread(plan, v):
    """True when only ops that take uninitialised variables read value `v`."""
    return v not in plan.fetches and all(n.opdef.facts.uninitialized_ok for n in plan.nodes if v in n.ins)
