"""A plan made ready for concrete shapes: segments and host calls in order.

Specialising walks the plan's nodes once with concrete shapes, works out every shape in plain Python (no tracing), folds
what is known before running, and cuts the device nodes into bounded segments. Where a shape or a size depends on what a
host operation gives, the walk stops there; the rest is specialised when the value has come, once per shape (a tree).
"""

import signal
import threading
import warnings

import numpy as np


from regrad.core.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from regrad.core.graph import RegradWarning, Tensor, op_arguments, variable_of
from regrad.core.host import HOST
from regrad.core.opdef import Known, Spec, spec_text
from regrad.core.shapes import compatible, fully_known, size_of
from regrad.runtime import config
from regrad.runtime.plan import body_plan, shape_only_positions, static_positions
from regrad.runtime.segment import Segment, ShapeOf, freeze

_FOLD = 1024  # elements; larger results are computed when they are needed, not stored in the program


class Program:
    """The plan for one signature of feeds: the root of the tree of stages."""

    def __init__(self, plan, feed_arrays, session):
        self.plan = plan
        self.infos = [None] * plan.size
        keyed = plan.keyed
        for v, array, tensor in zip(plan.feeds, feed_arrays, plan.fed):
            self.infos[v] = Known(array, tensor.dtype) if v in keyed else Spec(array.shape, tensor.dtype)
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
        self.root_only = len(plan.stages) == 1  # nothing runs after the compiled segments
        self.root = Stage(self, 0, self.infos)
        self.donates = any(s.donate for s in self.root.segments)

    def keys_of_reads(self, session):
        return tuple(freeze(np.asarray(session.state.get(op))) for op in self.plan.keyed_reads)


class Stage:
    """Device segments, then host calls, of one stage; then the next, chosen by what the host calls gave.

    Attributes:
      segments: in order.
      hosts: nodes executed on the host after them.
      waits: value numbers whose shape (or value, when keyed) decides what comes next; empty when nothing does.
      next: the next Stage, when `waits` is empty.
    """

    def __init__(self, program, index, infos):
        self.program = program
        self.index = index
        self.infos = infos
        plan = program.plan
        device, self.hosts = plan.stages[index]
        self.segments = []
        self.children = {}
        self.next = None
        nodes = self._specialise(device)
        self.hosts = [n for n in self.hosts if not self._folded(n)]
        self.waits = self._waits()
        self._cut(nodes)
        if not self.waits and index + 1 < len(plan.stages):
            self.next = Stage(program, index + 1, infos)

    # -- shapes and folding --------------------------------------------------------------------

    def _specialise(self, nodes):
        """Fills in `infos` for the outputs of `nodes`; returns those that are not folded away."""
        infos = self.infos
        left = []
        for node in nodes:
            if node.pure and self._folded(node):
                continue
            specs = self._specs(node)
            for v, spec in zip(node.outs, specs):
                infos[v] = spec
            left.append(node)
        return left

    def _specs(self, node):
        """Returns the concrete Specs of a device node's outputs."""
        op = node.op
        infos = self.infos
        outputs = op.outputs
        if not node.written:
            for t in (*outputs, *op.inputs):  # what is known of all of them was checked when the op was made
                if not fully_known(t.dims):
                    break
            else:
                if len(outputs) == len(node.outs):
                    return [Spec(t.dims, t.dtype) for t in outputs]
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
        try:
            specs = op.opdef.infer(*op_arguments(op, tuple(inputs)), **_declared(op))
        except (ValueError, TypeError) as error:
            given = ", ".join(spec_text(i) for i in inputs)
            raise InvalidArgumentError(None, op, f"{op.type}: {error} (inputs: {given})") from None
        specs = specs if type(specs) is list else [specs]
        if node.written:
            # New versions of variables: the op's outputs are the first of them, the others are like the old ones.
            specs = specs[:len(node.outs)] if op.opdef.writes else specs
            for variable in node.written[len(specs) if op.opdef.writes else 0:]:
                specs.append(Spec(variable.outputs[0].dims, variable.outputs[0].dtype))
        done = []
        for i, spec in enumerate(specs):
            dims = spec.dims
            if not fully_known(dims) and i < len(outputs) and fully_known(outputs[i].dims):
                dims = outputs[i].dims
            if not fully_known(dims):
                dims = self._traced_dims(op, inputs, i)
            done.append(Spec(dims, spec.dtype))
        return done

    def _traced_dims(self, op, inputs, index):
        """Asks JAX for an output's shape, where the shape rule does not tell."""
        import jax

        from regrad.runtime.backend import XLA, x64

        static, shape_only = static_positions(op), shape_only_positions(op)
        arrays = [i for i in range(len(inputs)) if i not in static and i not in shape_only]

        def function(*values):
            operands = [i.array if isinstance(i, Known) else ShapeOf(i.dims, i.dtype.as_numpy_dtype) for i in inputs]
            for i, v in zip(arrays, values):
                operands[i] = v
            return op.opdef.lower(xla_for(op, XLA, {}), *op_arguments(op, operands), **_declared(op))

        with x64():
            result = jax.eval_shape(function, *(jax.ShapeDtypeStruct(inputs[i].dims, inputs[i].dtype.as_numpy_dtype)
                                                for i in arrays))  # fmt: skip
        result = result if isinstance(result, (tuple, list)) else [result]
        return tuple(result[index].shape)

    def _folded(self, node):
        """Computes a node of known inputs now; True when that was possible and the result is worth keeping."""
        opdef, infos = node.opdef, self.infos
        if not node.pure or opdef.xla_only or opdef.extra.get("has_bodies"):
            return False
        shape_only = shape_only_positions(node.op)
        for position, v in enumerate(node.ins):
            info = infos[v]
            if info is None or position not in shape_only and not isinstance(info, Known):
                return False
        if shape_only and not opdef.partial:
            return False  # zeros like something: the compiler makes them where they are used
        op = node.op
        if opdef.type == "Const":
            infos[node.outs[0]] = Known(op.attrs["value"], op.attrs["dtype"])
            return True
        if any((size_of(t.dims) or 0) > _FOLD for t in op.outputs):
            return False
        operands = [ShapeOf(infos[v].dims, infos[v].dtype.as_numpy_dtype) if position in shape_only else infos[v].array
                    for position, v in enumerate(node.ins)]  # fmt: skip
        try:
            with np.errstate(all="ignore"):
                result = opdef.lower(HOST, *op_arguments(op, operands), **_declared(op))
        except NotImplementedError:
            return False
        except Exception as error:
            error.add_note(f"while computing {op.describe()}")
            raise
        result = result if isinstance(result, (tuple, list)) else (result,)
        arrays = [np.asarray(r) for r in result]
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
        if any(i is None for i in inputs) or op.opdef.extra.get("has_bodies") or node.written:
            outputs = [Spec(t.dims, t.dtype) for t in op.outputs]
            return outputs + [Spec(v.outputs[0].dims, v.outputs[0].dtype) for v in node.written]
        try:
            specs = op.opdef.infer(*op_arguments(op, tuple(inputs)), **_declared(op))
        except (ValueError, TypeError) as error:
            raise InvalidArgumentError(None, op, f"{op.type}: {error}") from None
        return specs if type(specs) is list else [specs]

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
        stage = self.children.get(key)
        if stage is None:
            infos = list(self.infos)
            for v in self.waits:
                t = plan.tensors[v]
                dtype = (t if isinstance(t, Tensor) else t.outputs[0]).dtype
                array = env[v]
                infos[v] = Known(np.array(array), dtype) if v in plan.keyed else Spec(array.shape, dtype)
            stage = self.children[key] = Stage(self.program, self.index + 1, infos)
        return stage

    # -- segments ----------------------------------------------------------------------------------

    def _cut(self, nodes):
        """Cuts device nodes into segments of bounded size; a segment's outputs are what anything else needs."""
        if not nodes:
            return
        parts = split(self._live(nodes), config.segment_ops)
        part_of = {v: i for i, part in enumerate(parts) for n in part for v in n.outs}
        if len(parts) > 1:
            parts = [recomputing(i, part, parts, part_of, self.infos) for i, part in enumerate(parts)]
        needed = [dict() for _ in parts]
        for v in self._outside_uses():
            if v in part_of:
                needed[part_of[v]][v] = True
        for i, part in enumerate(parts):
            made = {v for n in part for v in n.outs}
            for n in part:
                for v in _data_inputs(n):
                    if v not in made and v in part_of:
                        needed[part_of[v]][v] = True
        self.segments = [Segment(part, self.infos, outs) for part, outs in zip(parts, needed)]
        self._donate()

    def _donate(self):
        """Lets segments overwrite the old values of variables that the run replaces.

        Only where nothing can fail afterwards: a run that fails must leave every variable as it was.
        """
        plan = self.program.plan
        if any(hosts for _, hosts in plan.stages[self.index:]) or not getattr(self.program, "root_only", False):
            return
        fetched = set(plan.fetches)
        replaced = {}
        for variable, new in plan.commits.items():
            old = plan.reads.get(variable)
            info, made = self.infos[old] if old is not None else None, self.infos[new]
            if old is not None and old not in fetched and made is not None and not isinstance(made, Known):
                if info.dims == made.dims:
                    replaced[old] = True
        for segment in reversed(self.segments):
            donate = [i for i, v in enumerate(segment.ins) if replaced.pop(v, None)]
            segment.donate = tuple(donate)

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

    def _live(self, nodes):
        """Returns the nodes whose results anything reads: folding leaves some unread."""
        live = {v for v in self._outside_uses() if v >= 0}
        kept = []
        for node in reversed(nodes):
            if any(v in live for v in node.outs) or not node.pure and not node.opdef.random:
                kept.append(node)
                shape_only = shape_only_positions(node.op)
                live.update(v for i, v in enumerate(node.ins) if i not in shape_only)
        kept.reverse()
        return kept


def _data_inputs(node):
    """Returns the values a node needs, those left out of which only the shape matters."""
    shape_only = shape_only_positions(node.op)
    if not shape_only:
        return [v for v in node.ins if v >= 0]
    return [v for i, v in enumerate(node.ins) if v >= 0 and i not in shape_only]


def split(nodes, limit):
    """Returns `nodes` in parts of at most `limit`; whole when it is at most twice that."""
    if len(nodes) <= 2 * limit:
        return [nodes]
    return [nodes[i:i + limit] for i in range(0, len(nodes), limit)]


_FEW = 8  # values handed from one part to another that are not worth computing again


def recomputing(i, part, parts, part_of, infos):
    """Returns `part` with cheap nodes of earlier parts in front, where it would otherwise take many values from them.

    A backward part reads something of nearly every forward operation. Handing over hundreds of small arrays costs more than
    computing element-wise operations again from the few values at the forward part's edge.
    """
    made = {v for n in part for v in n.outs}
    taken = {}
    for n in part:
        for v in _data_inputs(n):
            j = part_of.get(v, i)
            if j < i and v not in made:
                taken.setdefault(j, {})[v] = True
    front = []
    for j in sorted(taken):
        if len(taken[j]) <= _FEW:
            continue
        producer = {v: n for n in parts[j] for v in n.outs}
        again, edge, stack = {}, set(), list(taken[j])
        while stack:
            v = stack.pop()
            node = producer.get(v)
            if node is None or not _cheap(node):
                if not isinstance(infos[v], Known):
                    edge.add(v)
            elif node not in again:
                again[node] = True
                stack += _data_inputs(node)
        if 2 * len(edge - taken.keys()) < len(taken[j]) and len(again) <= 2 * len(part):
            front += [n for n in parts[j] if n in again]
    return front + part if front else part


def _cheap(node):
    op = node.op
    return node.pure and not op.opdef.static and not op.opdef.has_lists and not op.opdef.extra.get("has_bodies") and (
        op.type not in ("MatMul", "BatchMatMulV2", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "AvgPool")
        and not op.opdef.xla_only)  # fmt: skip


def _declared(op):
    """Returns the op's attributes that its definition declares."""
    attrs = op.attrs
    if len(attrs) != len(op.opdef.attrs):
        return {k: v for k, v in attrs.items() if k in op.opdef.attrs}
    return attrs


class _Uninterrupted:
    """Context manager: in the main thread, Ctrl-C is answered when the block is left."""

    def __init__(self):
        self.depth = 0
        self.pending = None
        self.old = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self.depth += 1
            if self.depth == 1:
                self.old = signal.getsignal(signal.SIGINT)
                if callable(self.old):
                    signal.signal(signal.SIGINT, self._defer)

    def _defer(self, number, frame):
        self.pending = number, frame

    def __exit__(self, *exc):
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and callable(self.old):
                signal.signal(signal.SIGINT, self.old)
                pending, self.pending = self.pending, None
                if pending is not None:
                    self.old(*pending)


uninterrupted = _Uninterrupted()


def own_device_array(array):
    """Returns a device array that shares no memory with `array`."""
    from regrad.runtime.backend import to_device

    return to_device(np.array(array))


def _unread(plan, v):
    """True when only ops that take uninitialised variables read value `v`."""
    return v not in plan.fetches and all(n.opdef.extra.get("uninitialized_ok") for n in plan.nodes if v in n.ins)


def _is_array(value):
    """True for device arrays and for the rows a host loop saved, which stay as they are."""
    return hasattr(value, "addressable_data") or hasattr(value, "rows")


class Runner:
    """Runs one plan in one session: feeds in, fetched values out."""

    def __init__(self, plan, session):
        self.plan = plan
        self.session = session
        self.programs = {}
        self.commits = list(plan.commits.items())
        self.last = {}

    def run(self, arrays):
        """Executes the plan; commits variables only when everything succeeded.

        Args:
          arrays: the fed values, arrays of the right dtype, in the order of `plan.fed`.

        Returns:
          The fetched values in order, NumPy or device arrays; None for an operation.
        """
        if not self.commits:
            return self.run_body(arrays)[0]
        # Once old values may have been overwritten there is no way back: an interrupt waits until the new ones are in.
        with uninterrupted:
            results, assigned = self.run_body(arrays)
            self.session.state.update(assigned)
        return results

    def run_body(self, arrays):
        """Returns `_run_body(arrays)`, planning again when an operation turns out not to compile."""
        while True:
            try:
                return self._run_body(arrays)
            except MustRunOnHost as found:
                found.mark()
                self.plan = self.plan.again()
                self.programs.clear()
                self.commits = list(self.plan.commits.items())

    def _run_body(self, arrays):
        """Executes the plan; returns the fetched values and {variable: new value}, which is not committed."""
        plan, session = self.plan, self.session
        key = tuple([a.shape for a in arrays])
        if plan.keyed_feeds:
            key = (key, *(freeze(arrays[i]) for i in plan.keyed_feeds))
        if plan.keyed_reads:
            for op in plan.keyed_reads:
                if op not in session.state:
                    raise uninitialized(op)
            key = (key, *(freeze(np.asarray(session.state[op])) for op in plan.keyed_reads))
        program = self.programs.get(key)
        if program is None:
            program = self._specialise(arrays, key)
        env = [None] * plan.size
        for v, a in zip(plan.feeds, arrays):
            env[v] = a
        state = session.state
        for variable, v in plan.reads.items():
            value = state.get(variable)
            if type(value) is np.ndarray and value.size > config.tiny_cost:
                value = state[variable] = own_device_array(value)
            env[v] = value
        stage = program.root
        while stage is not None:
            if len(stage.segments) > 1:
                with session.xla_context():  # once for all of them
                    for segment in stage.segments:
                        self._run_segment(segment, env)
            elif stage.segments:
                self._run_segment(stage.segments[0], env)
            for node in stage.hosts:
                if session.recorder is None:
                    self._run_host(node, env, stage.infos)
                else:
                    session.recorder.step(node.op.name, "host", 1,
                                          lambda n=node, i=stage.infos: self._run_host(n, env, i))  # fmt: skip
            stage = stage.follow(env) if stage.waits else stage.next
            if stage is not None:
                infos = stage.infos
        infos = program.infos
        program.runs += 1
        results = []
        for v in plan.fetches:
            if v < 0:
                results.append(None)
                continue
            value = env[v]
            if value is None:
                value = self._known(v, infos, program)
            results.append(value)
        assigned = {}
        for variable, v in self.commits:
            value = self._known(v, infos, program) if env[v] is None else env[v]
            # A fed array or a constant belongs to somebody else.
            assigned[variable] = np.array(value) if type(value) is np.ndarray else value
        return results, assigned

    def _known(self, v, infos, program):
        """Returns the value of a folded number, or explains a variable without one."""
        info = infos[v]
        stage = program.root
        while info is None or not isinstance(info, Known):
            stage = next(iter(stage.children.values()), stage.next) if stage is not None else None
            if stage is None:
                break
            info = stage.infos[v]
        if isinstance(info, Known):
            return info.array
        t = self.plan.tensors[v]
        if not isinstance(t, Tensor):
            raise uninitialized(t)
        raise InternalError(None, t.op, f"{t.name} was not computed")

    def _specialise(self, arrays, key):
        session = self.session
        program = self.programs[key] = Program(self.plan, arrays, session)
        session.plans += 1
        if config.recompile_warning and len(self.programs) == config.recompile_warning + 1:
            self._warn_of_recompiling()
        return program

    def _warn_of_recompiling(self):
        """Says, once, which feeds keep this plan from being compiled once for all."""
        keys = list(self.programs)
        keyed = bool(self.plan.keyed_feeds or self.plan.keyed_reads)
        shapes = [k[0] if keyed else k for k in keys]
        names = [t.name for i, t in enumerate(self.plan.fed) if len({s[i] for s in shapes}) > 1]
        names += [f"{self.plan.fed[i].name} (its value, which a shape depends on)" for n, i in enumerate(self.plan.keyed_feeds)
                  if len({k[1 + n] for k in keys}) > 1]  # fmt: skip
        warnings.warn(
            f"The same fetches were prepared for {len(keys)} different shapes, each compiled anew when it turns out hot; "
            f"what varies: {', '.join(names) or 'a variable'}. Feed a few sizes only (pad the batch and mask the rest), or "
            "set regrad.config.recompile_warning = 0 to hear no more of it.", RegradWarning, stacklevel=6)  # fmt: skip

    def _run_segment(self, segment, env):
        args = [env[v] for v in segment.ins]
        for v, a in zip(segment.ins, args):
            if a is None:
                raise self._missing(v)
        random = segment.random_ops + segment.body_random_ops
        seeds = self.session.seeds(random) if random else ()
        if self.session.recorder is not None:
            results = self._recorded(segment, args, seeds)
        elif segment.on_host():
            results = segment.run_host(args, seeds)
        else:
            with self.session.xla_context():
                results = segment.run_compiled(args, seeds)
        segment.runs += 1
        for v, r in zip(segment.outs, results):
            env[v] = r

    def _recorded(self, segment, args, seeds):
        """Executes a segment as `_run_segment` does, timing it."""
        name = f"{segment.nodes[0].op.name} ... {segment.nodes[-1].op.name}"
        if segment.on_host():
            return self.session.recorder.step(name, "segment (NumPy)", len(segment.nodes),
                                              lambda: segment.run_host(args, seeds))  # fmt: skip
        with self.session.xla_context():
            return self.session.recorder.step(name, "segment (XLA)", len(segment.nodes),
                                              lambda: segment.run_compiled(args, seeds))  # fmt: skip

    def _missing(self, v):
        t = self.plan.tensors[v]
        return InternalError(None, t.op, f"{t.name} was not computed") if isinstance(t, Tensor) else uninitialized(t)

    def _run_host(self, node, env, infos):
        op, opdef = node.op, node.opdef
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
                elif not opdef.extra.get("uninitialized_ok"):
                    raise self._missing(v)
            if value is not None and type(value) is not ShapeOf and not opdef.extra.get("has_bodies"):
                value = np.asarray(value)
            operands.append(value)
        backend = HOST
        if opdef.random:
            operands.insert(0, self.session.seeds([op])[0])
            operands = [operands[0], *op_arguments(op, operands[1:])]
        elif not opdef.extra.get("has_bodies"):
            operands = op_arguments(op, operands)
        else:
            backend = HostBodies(self.session, node, operands)
            operands = op_arguments(op, operands)
        try:
            result = opdef.lower(backend, *operands, **_declared(op))
        except Exception as error:
            if isinstance(error, (ValueError, TypeError, IndexError)) and not (
                    opdef.extra.get("user_code") or opdef.extra.get("has_bodies")):  # fmt: skip
                raise InvalidArgumentError(None, op, f"{op.type}: {error}") from error
            if not getattr(error, "_regrad_op", None):
                error.add_note(f"while running {op.describe()}")
                try:
                    error._regrad_op = op
                except AttributeError:
                    pass
            raise
        result = result if isinstance(result, (tuple, list)) else (result,)
        if node.written and opdef.extra.get("has_bodies"):
            result = (*result, *backend.final_versions())
        for i, (v, r) in enumerate(zip(node.outs, result)):
            if type(r) is not np.ndarray and not _is_array(r):
                r = np.asarray(r)
            if i < len(op.outputs):
                t = op.outputs[i]
                if not compatible(r.shape, t.dims):
                    raise InvalidArgumentError(
                        None, op, f"{op.type} gave shape {list(r.shape)} for output {i}, whose static shape is {t.shape}.")
            env[v] = r


# -- branches and bodies -----------------------------------------------------------------------


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
        runner = self.session.body_runner(graph)
        arrays = []
        for t, value in zip(graph.inputs, args):
            variable = variable_of(t)
            value = self.versions[variable] if variable in self.versions else value
            arrays.append(value if _is_array(value) else np.asarray(value))
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
        infos = [None] * plan.size
        env = [None] * plan.size
        for v, t, value in zip(plan.feeds, plan.fed, args):
            env[v] = value
            infos[v] = Known(value, t.dtype) if type(value) is np.ndarray else Spec(tuple(value.shape), t.dtype)
        stage = Stage(_Inline(plan), 0, infos)
        for segment in stage.segments:
            seeds = [self._turn(op, iteration) for op in segment.random_ops]
            inner = {op: self._turn(op, iteration) for op in segment.body_random_ops}
            for v, r in zip(segment.outs, segment.evaluate(self._xla, [env[v] for v in segment.ins] + segment.constants,
                                                           seeds, inner)):  # fmt: skip
                env[v] = r
        return [infos[v].array if env[v] is None else env[v] for v in plan.fetches[:len(graph.outputs)]]

    def _turn(self, op, iteration):
        row = self._seeds.get(op)
        if row is None:  # only shapes are asked for
            row = np.zeros(3, np.uint64)
        return self.np.asarray(row) + self.np.asarray([0, 0, 1], "uint64") * self.np.asarray(iteration).astype("uint64")


class MustRunOnHost(Exception):
    """A branch or loop turned out to need shapes that differ from turn to turn: its plan is made again."""

    def __init__(self, op):
        super().__init__(op)
        self.op = op

    def mark(self):
        """Remembers it, for the op and for the graphs around it."""
        op = self.op
        op._host = True
        graph = op.graph
        while graph is not None:
            for name in ("_plan", "_needs_host"):
                graph.__dict__.pop(name, None)
            for other in (graph.outer_graph._ops if graph.outer_graph is not None else ()):
                if other.opdef.extra.get("has_bodies"):
                    other.__dict__.pop("_host", None)
            graph = graph.outer_graph


class _Inline:
    """What a Stage needs of a Program, for a body traced in place."""

    def __init__(self, plan):
        self.plan = plan


def xla_for(op, xla, seeds):
    """Returns the backend for one op's lowering: one that can trace bodies, if the op has any."""
    return XlaBodies(xla, seeds, op) if op.opdef.extra.get("has_bodies") else xla


def uninitialized(variable):
    """Returns TF's error for a variable that has no value in this session."""
    return FailedPreconditionError(
        None, variable, f"Attempting to use uninitialized value {variable.name}: run tf.global_variables_initializer() "
        "in this session first, or assign the variable.")  # fmt: skip


__all__ = ["Program", "Runner", "Stage", "uninitialized"]
