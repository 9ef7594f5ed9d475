"""Segments: runs of device operations that are compiled, or executed by the host backend, as one.

A segment is described by its *structure*: op types, attributes, how values flow, shapes and dtypes, small constants by
value. Equal structures compile once per process, whatever graph or session they come from.
"""

import contextlib
import functools
import itertools
import operator
import threading

import numpy as np

from regrad.core import errors
from regrad.core.dtypes import as_dtype
from regrad.core.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    exception_type_from_error_code,
    lowering_failure,
)
from regrad.core.func_graph import FuncGraph
from regrad.core.host import HOST, as_array
from regrad.core.opdef import USER_DEFINED, Known, declared_attrs, refusal_of, spec_text
from regrad.core.operation import op_arguments
from regrad.core.shapes import compatible, fully_known, size_of
from regrad.core.traversal import body_graphs, operations_within
from regrad.runtime import (
    background,
    blas,
    buffers,
    config,
    disk_cache,
    foreign,
    forking,
    memory,
    onednn,
    packing,
    repeats,
    stopping,
)
from regrad.runtime.overwriting import Overwriting

_LARGE = 32 << 20  # bytes of temporaries from which a program's place in memory is looked after, NumPy's memory as well
_LONG = 1_000_000_000  # nanoseconds of NumPy's time from which a loop is one that somebody may want to stop
_AGAIN = 30  # seconds that NumPy has to say what was wrong with a compiled run
_INLINE = 64  # elements; larger constants are passed as arguments, so that they do not count for the structure
_BODY_BLOCKS = 1 << 32  # what a random op takes of its stream in a run when its shape is not known beforehand


class ShapeOf:
    """What a lowering gets for an operand of which only shape and dtype matter."""

    __slots__ = ("shape", "dtype", "ndim")

    def __init__(self, shape, dtype):
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)


class Segment:
    """Device nodes with their inputs and outputs, ready to run.

    Attributes:
      ins: plan value numbers that the segment reads.
      outs: plan value numbers that it makes for others.
      guards: where values are refused, the compiled function can leave what it overwrites as it was.
      random_ops: operations that draw numbers; one uint64[n, 3] argument, after the inputs, seeds them all.
      constants: arrays passed last.
      bounds: (input, limit, Bounds, operation, shape) for each input of an operation that is an input of the segment, too,
        and must lie within limits: the caller looks at them.
      branch_draws: (If or Case, value number of what chooses its branch, branch, random operation, blocks) for each random
        operation in a branch: it takes blocks of its stream in the runs that take that branch, as in TensorFlow.
      refusals: operations that only values can refuse, and that the compiled function tells of, those in bodies too; if there
        are any, its last output is a number: 0, or how many of them there are from the first that was refused on.
    """

    has_bodies = False  # some operations are loops or branches
    patience = 1  # so many times longer than usual it is NumPy's
    beside = False  # other segments of the program are worth compiling while NumPy runs
    alone = False  # it is all there is in its program

    def __init__(self, nodes, infos, outs, looks=None):
        """Args: nodes in order; infos: value number -> Spec or Known; outs: value numbers needed outside; looks: its Checks."""
        self.nodes = nodes
        self.outs = tuple(outs)
        self.ins = []
        self.random_ops = [n.op for n in nodes if n.opdef.random]
        self.body_random_ops = []
        self.random_blocks = [random_blocks(n.op, [infos[v] for v in n.outs]) for n in nodes if n.opdef.random]
        self.branch_draws = []
        for n in nodes:
            if n.opdef.facts.bodies:
                self._draws_inside(n, infos)
        self._begin()
        self._infos = infos
        self._lay_out(infos)
        apart = type(self) is Segment and config.apart_ops < len(nodes) <= config.longest_ops  # may hold Repeats
        self._made = [[(infos[v].dims, infos[v].dtype.name) for v in n.outs] for n in nodes] if apart else ()
        self.bounds, self.refusals, self.guards = (), [], True
        if looks is not None:
            self.guards = looks.first
            place = {v: i for i, v in enumerate(self.ins)}
            self.bounds = [(place[v], *bound) for v, *bound in looks.before]
            self.refusals = [op for n in nodes for op in looks.within.get(n, ())]
        self.portable = all(numpy_can(n.op) for n in nodes)

    def _draws_inside(self, node, infos):
        """Notes the random operations in the bodies of one, and how much they take of their streams."""
        inside = random_ops_inside(node.op)
        drawn, chooses = branch_draws(node, infos) if inside else {}, node.ins[0]
        self.body_random_ops += inside
        if isinstance(infos[chooses], Known):
            taken = node.opdef.facts.bodies.taken(node.op, infos[chooses].array) if drawn else None
            self.random_blocks += [drawn[op][1] * (drawn[op][0] == taken) if op in drawn else _BODY_BLOCKS for op in inside]
        else:
            self.random_blocks += [0 if op in drawn else _BODY_BLOCKS for op in inside]
            self.branch_draws += [(node.op, chooses, branch, op, blocks) for op, (branch, blocks) in drawn.items()]

    def _begin(self):
        """Makes what changes as the segment is used."""
        self.donate = ()
        self.replaced = {}  # input that is donated: the output that takes its memory
        self.packing = None  # the Layout of small variables that go in and out as one array
        self.runs = 0
        self._key = None
        self._executable = None
        self.device_constants = []
        self._large = False  # its temporaries are worth looking after
        self._lendings = {}  # input: memory for large arrays that are passed there
        self._stages = {}  # of branches and bodies that NumPy executes: (plan, shapes ...) -> _ColdBody
        self._cost = None
        self._bodies = None  # what branches and loops consist of, see `_inside`
        self._largest = None  # (operation, Spec) of the result that takes most room
        self._freed_after = None
        self._overwrites = False  # NumPy writes rows of large variables in place

    def _lay_out(self, infos):
        """Gives every value a slot, as it is met: inputs, seeds, results; shapes and small constants are in the template."""
        self.template = template = []
        self.steps, self.constants = [], []
        made, read, constants = {}, {}, {}  # value number -> slot; the last two from outside, given by callers or kept here
        seeds = []

        def slot(content=None):
            template.append(content)
            return len(template) - 1

        for node in self.nodes:
            op, opdef = node.op, node.opdef
            static, shape_only = _positions(op)
            args, values = [], []
            if opdef.random:
                seeds.append(slot())
                args.append(seeds[-1])
            for position, v in enumerate(node.ins):
                if v < 0:
                    args.append(slot())
                    continue
                if position in shape_only:
                    args.append(slot(ShapeOf(tuple(infos[v].dims), np.dtype(infos[v].dtype.as_numpy_dtype))))
                    continue
                found = made.get(v)
                if found is None:
                    info = infos[v]
                    if not isinstance(info, Known):
                        found = read.get(v)
                        if found is None:
                            found = read[v] = slot()
                    elif position in static or _inlined(info.array):
                        found = slot(info.array)
                        if position not in static:
                            values.append(found)
                    else:
                        found = constants.get(v)
                        if found is None:
                            found = constants[v] = slot()
                args.append(found)
            outs = []
            for v in node.outs:
                made[v] = slot()
                outs.append(made[v])
            bodies = ()
            if opdef.facts.bodies:
                self.has_bodies = True
                bodies = ([infos[v].dims for v in node.outs],)
            self.steps.append((op, lowering(op), tuple(args), op.groups, tuple(outs), values, bodies, declared_attrs(op),
                               refusal_of(op)))
        self.ins = list(read)
        self.constants = [infos[v].array for v in constants]
        self.in_slots = (*read.values(), *constants.values())
        self.seed_slots = tuple(seeds)
        self.in_specs = [(tuple(infos[v].dims), infos[v].dtype) for v in (*read, *constants)]
        slots = constants | read | made
        self.out_slots = tuple([slots[v] for v in self.outs])

    @property
    def key(self):
        """What is equal for segments that compute the same: the steps, and where their operands come from."""
        if self._key is None:
            steps = tuple((op.opdef.key, _frozen_attrs(op), groups, args, outs)
                          for op, _, args, groups, outs, *_ in self.steps)
            contents = tuple((i, _frozen_content(content)) for i, content in enumerate(self.template) if content is not None)
            specs = tuple((dims, dtype.name) for dims, dtype in self.in_specs)
            self._key = steps, contents, specs, self.in_slots, len(self.constants), self._told()
        return self._key, self.out_slots

    @property
    def codes(self):
        """{operation: its number} for `refusals`: the earlier it comes, the larger."""
        return {op: len(self.refusals) - i for i, op in enumerate(self.refusals)}

    def _told(self):
        """Returns which operations, by their places, the program tells of, and by which numbers."""
        if not self.refusals:
            return ()
        codes = self.codes
        return tuple((at, k, codes[inner]) for at, (op, *_) in enumerate(self.steps) for k, inner in enumerate(
            (op, *(inner for graph in body_graphs(op) for inner in operations_within(graph)))) if inner in codes)

    def overwrite(self, replaced, private=()):
        """Lets results take the memory of inputs, or go in and out with others as one array if they are small.

        JAX pairs them by shape and in order, so the results come first, in the order of their inputs. Another pair's memory is
        no use: what still has to be read from it would be copied, and so would the result.

        Args:
          replaced: {value read: value made of it}.
          private: values made that nobody but a variable asks for, in the order that they are to have.
        """
        pairs = [(i, replaced[v]) for i, v in enumerate(self.ins) if replaced.get(v) in self.outs]
        rank, looked_at = {v: k for k, v in enumerate(private)}, {bound[0] for bound in self.bounds}
        small = sorted([(i, v) for i, v in pairs if v in rank and i not in looked_at], key=lambda pair: rank[pair[1]])
        small = packing.worth(small, self.in_specs)
        packed = {i for i, _ in small}
        pairs_donated = [(i, v) for i, v in pairs if i not in packed]
        self.donate = tuple(i for i, _ in pairs_donated)
        place = {v: k for k, v in enumerate(self.outs)}
        order = dict.fromkeys([place[v] for _, v in pairs] + list(place.values()))
        self.outs, self.out_slots = (tuple(row[k] for k in order) for row in (self.outs, self.out_slots))
        self.replaced = {i: self.outs.index(v) for i, v in pairs_donated}
        if small:
            self.packing = packing.Layout([(i, self.outs.index(v)) for i, v in small], [self.in_specs[i] for i, _ in small])

    def unpack(self):
        """Lets all variables go in and out by themselves: it is to be compiled anew."""
        self.packing = self._executable = None

    def on_host(self):
        """True when the next execution is NumPy's: always for a tiny segment, at first where compiling would take longer."""
        if self.has_bodies:
            self.cost()  # which finds out whether NumPy may run it
        if not self.portable:
            return False
        if forking.lost or self.tiny():
            return True
        if self.runs == 0 and config.host_runs and self.cost() <= config.random_cost * len(self.random_ops):
            return True  # initial values: NumPy draws millions in the time that compiling a random op takes
        return self.runs < self.runs_on_host()

    def tiny(self):
        """True for a segment that NumPy has done before a compiled program would have been called."""
        return (self.portable and not self.has_bodies and len(self.nodes) <= config.tiny_ops
                and self.cost() <= config.tiny_cost and not self._overwrites)

    def runs_on_host(self):
        """Returns how many runs are NumPy's, which depends on the segment, and on how many shapes its plan has been run for."""
        if self.cost() <= config.host_cost:
            return self.patience * (min(config.host_runs, 2) if self.beside else config.host_runs)
        on_host = self.cost() + _NS_PER_CALL * len(self.nodes)
        compiling = 50_000_000 + 2_000_000 * len(self.steps) + 60_000_000 * self._n_products + 150_000_000 * self._n_bodies
        return self.patience * min(config.host_runs, 2) if on_host < compiling else 0

    def compiles_meanwhile(self):
        """True when another thread should compile the segment during the next execution, the last of NumPy's."""
        worth = self.cost() > config.host_cost or self.beside and not self.tiny()
        return worth and not forking.lost and self.runs + 1 == self.runs_on_host()

    def cost(self):
        """Returns an estimate of NumPy's time in nanoseconds, but for what calling it costs: whether compiling pays."""
        infos = self._infos
        if self._cost is None and infos is not None:  # another thread, which compiles, may be asking for it, too
            size = {}  # value number -> elements, one at least
            overwritten = {self.ins[i] for i in self.donate} if self.alone else set()
            moved = products = n_products = results = 0
            largest = -1
            for node in self.nodes:
                made = 0
                for v in node.outs:
                    size[v] = size_of(infos[v].dims) or 1
                    made += size[v]
                    taken = size[v] * infos[v].dtype.size
                    results += taken
                    if taken > largest:
                        largest, self._largest = taken, (node.op, infos[v])
                if node.opdef.facts.cost == "free":
                    continue
                rows_of = node.opdef.facts.rows_of
                for i, v in enumerate(node.ins):
                    if v < 0 or i in rows_of and i not in node.opdef.writes:
                        continue
                    if v not in size:
                        size[v] = size_of(infos[v].dims) or 1
                    if i in rows_of and v in overwritten and size[v] > config.tiny_cost:
                        self._overwrites = True
                        made -= size[v]
                        overwritten.update(node.outs)
                    else:
                        moved += size[v]
                moved += made
                found = _products(node.op, node.ins, infos, made)
                if found:
                    products += found
                    n_products += 1
            inside = self._bodies_cost(infos) if self.has_bodies else (0, 0, 0)
            self._results, self._n_products, self._n_bodies = results, n_products + inside[1], inside[2]
            self._cost = moved + _NS_PER_PRODUCT * products + inside[0]  # the last but one: it says that all is known
            self._infos = None
        return self._cost

    def _bodies_cost(self, infos):
        """Returns what branches and bodies cost, how many products and how many bodies there are, those of bodies included.

        Where nobody knows how often a body runs, the segment is not NumPy's.
        """
        cost = n_products = 0
        n_bodies = sum(n.opdef.facts.bodies is not None for n in self.nodes)
        parts, known = self._inside(infos)
        self.portable = self.portable and known
        for part, times in parts:
            cost += times * (part.cost() + _NS_PER_CALL * len(part.nodes))
            n_products += part._n_products
            n_bodies += part._n_bodies
            self.portable = self.portable and part.portable
        return cost, n_products, n_bodies

    def _inside(self, infos):
        """Returns [(segment of a branch or body, how often it runs)], and whether that is known of all of them."""
        if self._bodies is None:
            found = [_inner(n, infos) for n in self.nodes]
            self._bodies = [each for inner in found for each in inner or ()], None not in found
        return self._bodies

    @property
    def endless(self):
        """True when it has loops that may go on for long, or for ever: a run may be stopped in them."""
        if not self.has_bodies:
            return False
        parts, known = self._inside(self._infos)  # None when another thread has worked all out
        return not known or _long(parts)

    # -- computing ------------------------------------------------------------------------------

    def evaluate(self, b, args, seeds, body_seeds=None):
        """Runs the lowerings on `b`, on arrays or tracers; returns the outputs.

        Args:
          args: inputs, then constants.
          seeds: one uint64[3] per random op of the segment.
          body_seeds: {random op inside a branch or body: uint64[3]}.
        """
        env = self.template.copy()
        for i, value in zip(self.in_slots, args):
            env[i] = value
        for i, seed in zip(self.seed_slots, seeds):
            env[i] = seed
        pieces = None if b.is_host or len(self.steps) <= config.apart_ops else self._pieces()
        if pieces is None:
            freed = self._freed() if b.is_host and (self.cost() > config.host_cost or self._overwrites) else None
            readers = None if b.is_host else self._readers()
            _take(self.steps, b, env, body_seeds, self._stages if self.has_bodies else None, freed, readers)
        else:
            self._take_apart(b, pieces, env, seeds, body_seeds)
        return tuple([repeats.value(env[i]) for i in self.out_slots])

    def _freed(self):
        """Returns, for each step, the slots that nothing reads after it; None where all the results take little room."""
        if self._freed_after is None:
            if self._results < _LARGE and not self._overwrites:
                self._freed_after = ()
            else:
                last = {i: at for at, step in enumerate(self.steps) for i in (*step[2], *step[4])}
                for i in self.out_slots:
                    last.pop(i, None)
                self._freed_after = [[] for _ in self.steps]
                for i, at in last.items():
                    self._freed_after[at].append(i)
        return self._freed_after

    def _readers(self):
        """Returns {slot that a step overwrites: slots of products that read it, of which that step's operands need nothing}.

        XLA copies what is overwritten, in every run, unless it sees from what follows from what that nothing reads it later. Of
        weights that is mostly the product by which the gradient goes on to the layer before.
        """
        needs = [0] * len(self.template)  # of each slot: a bit for each product that it follows from
        products, found = {}, {}
        bit = 1
        for op, _, refs, _, outs, *_ in self.steps:
            needed = functools.reduce(operator.or_, [needs[i] for i in refs], 0)
            if op.opdef.facts.product and not op.opdef.writes:
                for i in refs:
                    products.setdefault(i, []).append((bit, outs[0]))
                needed |= bit
                bit <<= 1
            for k in op.opdef.writes:
                for one, slot in reversed(products.get(refs[k], ())):
                    if not needed & one:
                        found.setdefault(refs[k], []).append(slot)
                        needed |= needs[slot]
            for i in outs:
                needs[i] = needed
        return found

    def _take_apart(self, b, pieces, env, seeds, body_seeds):
        """Takes the steps in calls that XLA does not inline: it optimises each on its own, so a segment costs what it is long.

        In one piece, XLA takes time that grows with the square of a chain's length, and makes programs that compute many
        values again for each use.
        """
        in_loops = any(isinstance(piece, repeats.Repeat) for piece in pieces)
        if in_loops and hasattr(seeds, "shape"):
            for k, i in enumerate(self.seed_slots):
                env[i] = repeats.Row(seeds, k)
        turned = {}
        for piece in pieces:
            if isinstance(piece, repeats.Repeat):
                repeats.run(b, piece, env, self.template, lambda steps, inner: _take(steps, b, inner, None))
                continue
            steps, ins, outs = piece
            if in_loops and len(steps) == 1 and repeats.take_rows(b, steps[0], env, self.template, turned):
                continue

            given = {i: repeats.value(env[i]) for i in ins}
            known = {i: x for i, x in given.items() if type(x) is np.ndarray}  # whatever the operands; so inside, and behind

            def call(values, steps=steps, outs=outs, known=known):
                inner = self.template.copy()
                for i, value in (*known.items(), *values.items()):
                    inner[i] = value
                _take(steps, b, inner, body_seeds)
                known.update((i, inner[i]) for i in outs if type(inner[i]) is np.ndarray)
                return {i: inner[i] for i in outs}

            values = b.call(call, [{i: x for i, x in given.items() if i not in known}])
            for i, value in (*values.items(), *known.items()):
                env[i] = value

    def _pieces(self):
        """Returns the Repeats among the steps and, for the others, [(steps, slots read, slots made for later steps)].

        None where nothing repeats itself and nothing is long enough for XLA to be slow at it.
        """
        n, steps = len(self.steps), self.steps
        made_at, reads = self._flow()
        found = self._repeats(made_at, reads)
        if not found and self._longest_chain() <= config.call_ops:
            return None
        last_use = {i: found[-1] for i, found in reads.items()}
        crossing = _crossing(made_at, last_use, n)
        pieces, start = [], 0
        for repeat in (*found, None):
            stop = repeat.start if repeat else n
            alone = [at for at in range(start, stop) if repeats.on_rows(steps[at], self.template)] if found else []
            for at in (*alone, stop):
                pieces += self._calls(start, at, made_at, last_use, crossing)
                if at < stop:
                    pieces += self._calls(at, at + 1, made_at, last_use, crossing)
                start = at + 1
            if repeat:
                pieces.append(repeat)
                start = repeat.stop
        return pieces

    def _longest_chain(self):
        """Returns how many steps follow from one another at most without a product between, across which XLA fuses nothing."""
        length = [0] * len(self.template)
        for op, _, refs, _, outs, *_ in self.steps:
            reached = 0 if op.opdef.facts.product else 1 + max((length[i] for i in refs), default=0)
            for i in outs:
                length[i] = reached
        return max(length, default=0)

    def _flow(self):
        """Returns {slot: step that makes it, -1 for what is given} and {slot: steps that read it, the end for results}."""
        n, steps = len(self.steps), self.steps
        made_at = dict.fromkeys((*self.in_slots, *self.seed_slots), -1)
        made_at.update((i, at) for at, step in enumerate(steps) for i in step[4])
        reads = {}
        for at, step in enumerate(steps):
            for i in step[2]:
                reads.setdefault(i, []).append(at)
        for i in self.out_slots:
            reads.setdefault(i, []).append(n)
        return made_at, reads

    def _repeats(self, made_at, reads):
        if not self._made:
            return []
        rows = {i: repeats.Row(self.seed_slots, k) for k, i in enumerate(self.seed_slots)}
        signs = np.array(self._signs())
        return repeats.find(repeats.Wiring(self.steps, signs, made_at, reads, self._specs(), rows, self.template))

    def unlike(self):
        """Returns how many steps XLA is given to compile: of those that repeat themselves, one turn."""
        return len(self.steps) - sum(r.stop - r.start - len(r.steps) for r in self._repeats(*self._flow()))

    def _signs(self):
        """Returns a number for each step: equal where type, attributes, constants, and shapes of results are."""
        numbers, signs, told = {}, [], set(self.refusals)
        for at, (step, made) in enumerate(zip(self.steps, self._made)):
            op, _, args, groups, *_, bodies, _, _ = step
            attrs = _frozen_attrs(op)
            if op.opdef.random:
                attrs = tuple(a for a in attrs if a[0] not in ("seed", "seed2"))  # they are in an operand
            constants = tuple(_frozen_content(self.template[i]) for i in args)
            sign = (op.opdef.key, attrs, groups, constants, tuple(made), op in told) if not bodies else at
            signs.append(numbers.setdefault(sign, len(numbers)))
        return signs

    def _specs(self):
        """Returns {slot: (dims, dtype's name)} of inputs and results."""
        specs = {i: (dims, dtype.name) for i, (dims, dtype) in zip(self.in_slots, self.in_specs)}
        specs.update((i, spec) for made, step in zip(self._made, self.steps) for i, spec in zip(step[4], made))
        return specs

    def _calls(self, start, stop, made_at, last_use, crossing):
        """Returns [(steps, slots read, slots made for later steps)] for steps `start` to `stop`, cut where few values cross."""
        calls = []
        while start < stop:
            end = min(start + config.call_ops, stop)
            if end < stop:
                # The later of equal ones; at least half of a full call.
                end = min(range(start + config.call_ops // 2, end + 1), key=lambda at: (crossing[at], -at))
            steps = self.steps[start:end]
            ins = dict.fromkeys(i for step in steps for i in step[2] if made_at.get(i, start) < start)
            outs = [i for step in steps for i in step[4] if last_use.get(i, -1) >= end]
            calls.append((steps, list(ins), outs))
            start = end
        return calls

    def run_host(self, args, seeds, owned=None):
        """Executes the segment with NumPy.

        Args:
          owned: arrays that are the session's alone and will be replaced by results: those may be the same arrays. Others
            that are new, and may be kept, are added. None: nothing may be overwritten.
        """
        meanwhile = self._executable is None and self.compiles_meanwhile()
        if meanwhile:
            background.compile_soon(self)
        args = [a if type(a) is np.ndarray else as_array(a) for a in args]
        if self.cost() > config.host_cost:
            buffers.heap()
        inner = None
        if self.body_random_ops:
            inner = {op: seeds[len(self.random_ops) + i] for i, op in enumerate(self.body_random_ops)}
        host = HOST if owned is None or not self._overwrites else Overwriting(owned)
        with np.errstate(all="ignore"), contextlib.nullcontext() if self.tiny() else blas.one_thread():
            try:
                results = self.evaluate(host, args + self.constants, seeds, inner)
            except BaseException:
                if host is not HOST:
                    host.undo()
                raise
        return [np.asarray(r) if hasattr(r, "rows") else r for r in results] if self.has_bodies else results

    def made(self, results, args):
        """Returns those of `results` of a run by NumPy that are new arrays, which nobody else has.

        Not where a user's code, or a branch's or loop's, may hand out what it keeps.
        """
        if self.has_bodies or any(USER_DEFINED in n.opdef.key for n in self.nodes):
            return []
        given = {id(x) for x in (*args, *self.constants, *self.template)}
        return [r for r in {id(r): r for r in results}.values()
                if type(r) is np.ndarray and r.flags.owndata and id(r) not in given]

    @property
    def compiled(self):
        return self._executable is not None

    def executable(self):
        """Returns the compiled function of (inputs, seeds if any, constants), from the process's cache if it is there."""
        if self._executable is None:
            forking.check(next((n.op for n in self.nodes if not numpy_can(n.op)), self.nodes[0].op))
            if self.packing and not packing.possible():
                self.packing = None
            try:
                executable = compiled(self)
            except MemoryError as error:  # XLA's own
                raise self._exhausted(f"OOM when compiling: {error}.") from None
            needed = in_all(executable)
            if memory.large(needed) and needed > memory.limit():
                raise self._exhausted(f"OOM: a compiled program takes {needed:,} bytes, with what it reads and returns, and "
                                      f"there is memory for {memory.limit():,}.")
            if self.constants:
                from regrad.runtime.backend import to_device

                self.device_constants = [to_device(c) for c in self.constants]
            self._large = temporaries(executable) > _LARGE
            # Last: another thread may be waiting to see it.
            if self.packing:
                executable = packing.Packed(executable, self.packing)
            self._executable = stopping.Stoppable(executable) if self.endless else executable
        return self._executable

    def lent(self, i, array):
        """Returns a copy of `array` that XLA reads where it lies, in memory kept for input `i`.

        Otherwise JAX makes a copy for every run, which now and then splits the free block that the program's temporaries were
        in: the next run then asks the system for more (VGG16's step: 1.6 GB instead of 1.0).
        """
        buffer = self._lendings.get(i)
        if buffer is None:
            buffer = self._lendings[i] = buffers.like(array)
        np.copyto(buffer, array)
        return buffer

    def _exhausted(self, message):
        """Returns the error for memory that ran out, which names the largest tensor here: it need not be the one."""
        self.cost()
        op, spec = self._largest
        return ResourceExhaustedError(None, op, f"{message} Of {len(self.nodes)} operations computed as one, the largest "
                                      f"result is {spec_text(spec)}, {_bytes(spec):,} bytes, of {op.name!r}.")

    def settle(self):
        """Puts the heap in order before a run whose temporaries are large."""
        if self._large and buffers.heap() is not None:
            buffers.heap().settle()

    @staticmethod
    def check(bound, array):
        """Raises when an input is not within one of `self.bounds`."""
        _, limit, bounds, op, dims = bound
        array = np.asarray(array).reshape(dims)
        if not bounds.hold(array, limit):
            try:
                bounds.refuse(array, limit)
            except Exception as error:
                explained(error, op, "executing")
                raise

    def failed(self, error):
        """Raises what users see of an exception of the executable's."""
        foreign.raise_interrupt()
        if isinstance(error, OpError):
            raise error
        own = [n.op for n in self.nodes if USER_DEFINED in n.opdef.key]
        code, _, message = str(error).partition(": ")
        if code == "RESOURCE_EXHAUSTED":
            raise self._exhausted(message) from None
        if not own:
            raise error
        # Compiled code of the user's refused: with the name of a status code, and not knowing which operation it is.
        kind = exception_type_from_error_code(getattr(errors, code)) if hasattr(errors, code) else UnknownError
        translated = kind(None, own[0] if len(own) == 1 else None, message or str(error))
        for op in own[:3]:
            translated.add_note(f"while running {op.describe()}")
        raise translated from error

    def run_compiled(self, args, seeds, session, put_back):
        """Executes the segment with XLA, for a session that may be closed meanwhile; `put_back`: see `refused`."""
        executable = self._executable or self.executable()
        for bound in self.bounds:
            self.check(bound, args[bound[0]])
        borrowed, given = False, args
        for i, a in enumerate(args):
            if type(a) is np.ndarray and a.nbytes >= buffers.LARGE:
                args[i], borrowed = self.lent(i, a), True
        self.settle()
        if len(seeds):
            args = [*args, seeds]
        if self.constants:
            args = [*args, *self.device_constants]
        try:
            results = executable(*args, session=session) if type(executable) is stopping.Stoppable else executable(*args)
        except Exception as error:
            self.failed(error)
        if borrowed and type(executable) is not packing.Packed:
            results[0].block_until_ready()  # it is, unless JAX's client computes in threads of its own
        if self.refusals:
            *results, word = results
            if word.item():
                self.refused(word.item(), given, seeds, results, put_back)
        return results

    def refused(self, number, args, seeds, results, put_back):
        """Raises what is wrong with the values that a compiled program was called with.

        NumPy computes with them once more, as it would have in the program's first runs, and says what it says then.

        Args:
          number: of the operation that the program said values refuse.
          args, seeds, results: what it was called with, and what else it gave.
          put_back: a function that keeps a value, by its number in the plan, whose memory the program was given.
        """
        from regrad.runtime.bodies import MustRunOnHost

        args = list(args)
        for i, j in self.replaced.items():  # where it was, there is what it was
            args[i] = results[j]
            put_back(self.ins[i], results[j])
        with contextlib.suppress(MustRunOnHost, DeadlineExceededError), stopping.within(_AGAIN):
            self.run_host(args, seeds)
        # It takes too long, or NumPy's numbers differ in their last bits and are right.
        op = self.refusals[-number]
        raise refusal_of(op).error(None, op, refusal_of(op).message)


def _inner(node, infos):
    """Returns [(segment of a branch or body, how often it runs)] of an operation; None where nobody knows how often."""
    from regrad.runtime.bodies import body_dims, body_stage

    if not node.opdef.facts.bodies:
        return []
    specs = [infos[v] if v >= 0 else None for v in node.ins]
    try:
        calls = node.opdef.facts.bodies.calls(node.op, specs, body_dims)
        return calls and [(part, times) for graph, specs, times in calls for part in body_stage(graph, specs).segments]
    except (InvalidArgumentError, ValueError):
        return None  # a branch that is not taken may not fit the shapes of this run: its lowering knows what to do


def may_be_stopped(node, infos):
    """True for a loop that a run may be stopped in."""
    inner = _inner(node, infos)
    return inner is None or _long(inner)


def _long(parts):
    return any(part.endless or times * part.cost() > _LONG for part, times in parts)


def temporaries(executable):
    """Returns how many bytes an executable takes while it runs, besides what goes in and comes out; 0 if it does not say."""
    try:
        return executable.memory_analysis().temp_size_in_bytes
    except Exception:  # not every backend keeps it
        return 0


def in_all(executable):
    """Returns how many bytes an executable reads, makes and returns; 0 if it does not say."""
    try:
        found = executable.memory_analysis()
        return (found.argument_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
                + found.temp_size_in_bytes)
    except Exception:  # as above
        return 0


def _bytes(spec):
    return (size_of(spec.dims) or 0) * spec.dtype.size


def refuse(refusal, op, result, operands, attrs):
    """Raises when NumPy's computation of `op` met what its Refusal speaks of."""
    if not refusal.by_itself and np.any(refusal.finds(HOST, result, *operands, **attrs)):
        raise refusal.error(None, op, refusal.message)


def _take(steps, b, env, body_seeds, stages=None, freed=None, readers=None):
    """Runs the lowerings of `steps` on `b`.

    Args:
      env: the values by slot.
      stages: see `bodies.NumPyBodies`.
      freed: for each step, the slots to be emptied after it.
      readers: see `Segment._readers`.
    """
    wrap = not b.is_host
    overwriting = type(b) is Overwriting
    for at, (op, lower, refs, groups, outs, values, bodies, attrs, refusal) in enumerate(steps):
        if wrap:
            background.go_on()
            if values and not bodies:
                for i in values:
                    env[i] = b.constant(env[i])
        operands = [env[i] for i in refs]
        if readers:
            b.readers = [env[i] for k in op.opdef.writes for i in readers.get(refs[k], ())]
        if groups is not None:
            operands = _grouped(op, operands)
        if overwriting and op.opdef.facts.rows_of:
            b.look(env, [i for k, i in enumerate(refs) if k in op.opdef.writes and i in freed[at]])
        try:
            if wrap and op.opdef.writes:
                operands = b.guarded(refusal, operands)
            if op.opdef.xla_only and b.is_host:
                result = _by_xla(lower, operands, attrs)
            else:
                result = lower(_with_bodies(b, body_seeds, op, stages) if bodies else b, *operands, **attrs)
        except Exception as error:
            explained(error, op, "executing" if b.is_host else "lowering")
            raise
        if wrap and op.opdef.writes:
            b.wrote([refs[k] for k in op.opdef.writes], outs)
        if refusal is not None:
            (refuse if b.is_host else b.note)(refusal, op, result, operands, attrs)
        if bodies and b.is_host:
            result = fitting(op, result, *bodies)
        if len(outs) == 1:
            env[outs[0]] = result[0] if type(result) in (tuple, list) else result
        else:
            for i, r in zip(outs, result):
                env[i] = r
        if freed:
            result = operands = None
            for i in freed[at]:
                env[i] = None


def _by_xla(lower, operands, attrs):
    """Returns what a lowering that NumPy cannot execute gives, where NumPy is asked what was wrong with a compiled run."""
    from regrad.runtime.backend import XLA, x64

    with x64():
        result = lower(XLA, *operands, **attrs)
    return [np.asarray(r) for r in result] if type(result) in (tuple, list) else np.asarray(result)


def lowering(op):
    """Returns the function that computes `op`; that of a user's op type is held to what its shape rule promised."""
    if USER_DEFINED not in op.opdef.key or op.opdef.host:
        return op.opdef.lower  # what a host operation returns is checked in any case, by `results_of_host`
    return functools.partial(_promised, op)


def _promised(op, b, *operands, **attrs):
    if op.opdef.lower is None:
        raise UnimplementedError(None, op, f"{op.type} cannot be computed: define_op(..., lower=function) says how.")
    result = op.opdef.lower(b, *operands, **attrs)
    given = result if isinstance(result, (tuple, list)) else (result,)
    if len(given) != len(op.outputs):
        raise InvalidArgumentError(None, op, f"{op.type}: its lowering returned {len(given)} arrays, its infer promises "
                                   f"{len(op.outputs)}.")
    for i, (t, r) in enumerate(zip(op.outputs, given)):
        if r is None:
            raise InvalidArgumentError(None, op, f"{op.type}: its lowering returned None for output {i}.")
        if not compatible(np.shape(r), t.dims):
            raise InvalidArgumentError(None, op, f"{op.type}: its lowering returned shape {list(np.shape(r))} for output {i}, "
                                       f"its infer promises {t.shape}.")
    given = [_of_dtype(op, b, i, t.dtype, r) for i, (t, r) in enumerate(zip(op.outputs, given))]
    return given if isinstance(result, (tuple, list)) else given[0]


def _of_dtype(op, b, i, dtype, result):
    """Returns what a lowering gave for output `i` in the dtype that was promised, where it is another of the same kind."""
    found = result.dtype if hasattr(result, "dtype") else np.asarray(result).dtype
    if found == dtype.as_numpy_dtype:
        return result
    found = as_dtype(found)
    if found._kind != dtype._kind:
        raise InvalidArgumentError(None, op, f"{op.type}: its lowering returned {found.name} for output {i}, its infer "
                                   f"promises {dtype.name}.")
    return b.np.asarray(result, dtype.as_numpy_dtype)  # NumPy and JAX choose differently among floats


_NO_VALUE = ("TracerBoolConversionError", "TracerIntegerConversionError", "TracerArrayConversionError",
             "ConcretizationTypeError")  # JAX's errors for a value that is asked for while a program is compiled


def explained(error, op, doing):
    """Raises what says more than `error`, from the lowering of `op`: which operation it was and where that was made.

    An error of the user's own code stays what it is, with a note; so does one that is explained already.
    """
    facts = op.opdef.facts
    if not (facts.user_code or facts.bodies):
        if type(error).__name__ in _NO_VALUE:
            raise InvalidArgumentError(
                None, op, f"{op.type}: its lowering asks for the value of an array, as `if`, int() or NumPy do, and there is "
                "none while a program is compiled. Use b.np throughout (b.np.where chooses), mark the operand static, or "
                "define the op type with host=True.") from error
        failure = lowering_failure(error, op)
        if failure is not None:
            raise failure from error
    own_text = type(error).__str__ is OpError.__str__
    if isinstance(error, OpError) and error.op is None:
        error.op = op
        if own_text:
            error._regrad_op = op  # its text says which
    if getattr(error, "_regrad_op", None) is None:
        error.add_note(f"while {doing} {op.describe()}")
        try:
            error._regrad_op = op
        except AttributeError:
            pass


def is_array(value):
    """True for device arrays and for the rows a host loop saved, which stay as they are."""
    return hasattr(value, "addressable_data") or hasattr(value, "rows")


def results_of_host(op, result):
    """Returns the outputs of a host operation as a tuple of arrays, checked against their static shapes."""
    result = result if isinstance(result, (tuple, list)) else (result,)
    if len(result) == 1 and type(result[0]) is np.ndarray and result[0].shape == op.outputs[0].dims:
        return result
    for r in result:
        if type(r) is not np.ndarray:
            result = [r if type(r) is np.ndarray or is_array(r) else as_array(r) for r in result]
            break
    for i, (t, r) in enumerate(zip(op.outputs, result)):
        if r.shape != t.dims and not compatible(r.shape, t.dims):
            raise InvalidArgumentError(
                None, op, f"{op.type} gave shape {list(r.shape)} for output {i}, whose static shape is {t.shape}.")
    return result


def _crossing(made_at, last_use, n):
    """Returns, for each place between n steps, how many values made before it are used behind it."""
    changes = [0] * (n + 2)
    for i, at in made_at.items():
        if last_use.get(i, -1) > at >= 0:
            changes[at + 1] += 1
            changes[last_use[i] + 1] -= 1
    return list(itertools.accumulate(changes))


def random_blocks(op, outputs):
    """Returns how many blocks of its stream a random op takes in a run, its outputs being of the given shapes."""
    blocks = op.opdef.facts.blocks
    if blocks is None:
        return 1
    return blocks(op.attrs, *(o.dims for o in outputs)) if all(fully_known(o.dims) for o in outputs) else _BODY_BLOCKS


def branch_draws(node, infos):
    """Returns {random operation: (branch, blocks)} for those that stand in a branch itself, not in what is nested there.

    Those whose numbers are counted by a size that depends on values are left out.
    """
    from regrad.runtime.bodies import body_plan, body_stage

    if not node.opdef.facts.bodies.taken:
        return {}
    found = {}
    for branch, graph in enumerate(node.op.attrs["branches"]):
        random = [op for op in graph._ops if op.opdef.random]
        blocks = {op: random_blocks(op, op.outputs) for op in random}
        if _BODY_BLOCKS in blocks.values():
            try:
                stage = body_stage(graph, [infos[v] for v in node.ins[1:]])
            except (InvalidArgumentError, ValueError):  # this run does not take the branch: its shapes do not fit
                continue
            nodes = [n for n in body_plan(graph).nodes if n.opdef.random and all(stage.infos[v] is not None for v in n.outs)]
            blocks = {n.op: random_blocks(n.op, [stage.infos[v] for v in n.outs]) for n in nodes}
        found |= {op: (branch, n) for op, n in blocks.items() if n != _BODY_BLOCKS}
    return found


def random_ops_inside(op):
    """Returns the random operations in the bodies of `op`, nested ones included."""
    return [inner for graph in body_graphs(op) for inner in operations_within(graph) if inner.opdef.random]


def numpy_can(op):
    """True when NumPy has what the operation needs, in its branches and bodies too."""
    if op.opdef.xla_only:
        return False
    if not op.opdef.facts.bodies:
        return True
    return all(numpy_can(inner) for graph in body_graphs(op) for inner in graph._ops)


def _with_bodies(b, seeds, op, stages):
    from regrad.runtime.bodies import NumPyBodies, XlaBodies

    return NumPyBodies(seeds or {}, op, stages) if b.is_host else XlaBodies(b, seeds or {}, op)


def fitting(op, result, dims):
    """Returns what a branch or loop gave NumPy, of the shapes that were worked out for it.

    Raises:
      MustRunOnHost: they differ: what follows was made ready for other shapes.
    """
    from regrad.runtime.bodies import MustRunOnHost

    result = list(result) if isinstance(result, (tuple, list)) else [result]
    saved, unsettled = op.opdef.facts.bodies.saved_from(op), op.opdef.facts.bodies.unsettled
    for i, (r, wanted) in enumerate(zip(result, dims)):
        if np.shape(r) != tuple(wanted):
            if i < saved and not (unsettled and unsettled(np.shape(r))):
                raise MustRunOnHost(op)
            # What a branch that was not taken, or a loop of no turns, would have saved or written.
            result[i] = np.zeros(wanted, op.outputs[i].dtype.as_numpy_dtype)
    return result


_NS_PER_CALL = 3_000  # what NumPy takes for an operation of nothing
_NS_PER_PRODUCT = 0.03  # multiply-and-add in a matrix product; three times that in NumPy's convolution, half of it in oneDNN's


def _products(op, ins, infos, out):
    """Returns how many multiply-adds an op takes, those of a convolution weighed, where it makes `out` elements."""
    product = op.opdef.facts.product
    if product is None:
        return 0
    found = product.multiply_adds(op, [infos[v].dims for v in ins], out)
    if not product.convolution:
        return found
    fast = onednn.fast(HOST, onednn.FORWARD, op.outputs[0].dtype.as_numpy_dtype, found)
    return found // 2 if fast else 3 * found


def _inlined(array):
    """True for a constant that is written into the program."""
    return array.size <= _INLINE or buffers.uniform(array)


def _positions(op):
    opdef = op.opdef
    if not opdef.static and not opdef.shape_only and opdef.facts.bodies is None:
        return (), ()
    from regrad.runtime.plan import shape_only_positions, static_positions

    return static_positions(op), shape_only_positions(op)


def _grouped(op, operands):
    if op.opdef.random:
        return [operands[0], *op_arguments(op, operands[1:])]
    return op_arguments(op, operands)


def _frozen_attrs(op):
    if not op.opdef.attrs:
        return ()
    return tuple((k, freeze(op.attrs[k])) for k in op.opdef.attrs)


def freeze(value):
    """Returns a hashable stand-in for an attribute's value, equal for equal values."""
    if isinstance(value, np.ndarray):
        if value.size > _INLINE and buffers.uniform(value):
            return ("uniform", value.shape, freeze(value[(0,) * value.ndim]))
        return ("array", value.shape, value.dtype.str, value.tobytes() if value.dtype != object else tuple(value.flat))
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, freeze(v)) for k, v in value.items())
    if isinstance(value, FuncGraph):
        return _frozen_graph(value)
    if isinstance(value, float):
        return ("float", value.hex())  # 0.0 and -0.0 are two values, NaN is one
    if isinstance(value, str):
        return ("str", str(value))
    try:
        hash(value)
    except TypeError:
        return ("object", id(value))
    return (type(value).__name__, value)


def _frozen_graph(graph):
    """Returns the structure of a branch or body: equal for bodies that compute the same."""
    number, ops = {}, []
    for i, t in enumerate(graph.inputs):
        number[t] = ("in", i, t.dtype.name)
    for op in graph._ops:
        if op.opdef.type != "FuncInput":
            for t in op.outputs:
                number[t] = (len(ops), t.value_index)
            ops.append((op.opdef.key, _frozen_attrs(op), op.groups, tuple(number.get(t) for t in op.inputs)))
    return ("graph", tuple(ops), tuple(number.get(t) for t in graph.outputs))


def _frozen_content(content):
    """Returns what a slot of the template counts for in a segment's structure."""
    return ("shape", content.shape, content.dtype.str) if type(content) is ShapeOf else freeze(content)


# -- the process's cache of compiled structures --------------------------------------------------

_cache: dict = {}  # structure -> _Entry, those asked for last behind the others
_cache_lock = threading.Lock()
compile_count = 0


def compiled(segment):
    """Returns the executable for a segment's structure, compiling it if the process has not yet."""
    global compile_count
    key = (segment.key, segment.donate, segment.packing and segment.packing.key, segment.endless)
    with _cache_lock:
        entry = _cache[key] = _cache.pop(key, None) or _Entry(len(segment.steps))
        if entry.executable is None:
            _forget_oldest(entry)
    with entry.lock:  # two threads that need the same structure compile it once
        if entry.executable is None:
            name = disk_cache.digest(key) if disk_cache.directory() is not None else None
            entry.executable = disk_cache.load(name)
            if entry.executable is None:
                entry.executable = _compile(segment)
                compile_count += 1
                disk_cache.store(name, entry.executable)
    return entry.executable


def _forget_oldest(new):
    """Makes room for an entry: segments that still run keep what they have."""
    size = sum(e.size for e in _cache.values())
    for key in list(_cache):
        if size <= 2 * config.kept_ops or _cache[key] is new:
            return
        size -= _cache.pop(key).size


class _Entry:
    __slots__ = ("executable", "lock", "size")

    def __init__(self, size):
        self.executable = None
        self.size = size
        self.lock = threading.Lock()


def _compile(segment):
    from regrad.runtime.backend import XlaBackend, compile_function

    n_ins = len(segment.ins)
    n_random = len(segment.random_ops) + len(segment.body_random_ops)

    def function(*args):
        args = list(args)
        b = XlaBackend(args.pop() if segment.endless else None, segment.codes, bool(segment.refusals and segment.donate))
        seeds = args.pop(n_ins) if n_random else ()
        body_seeds = {op: seeds[len(segment.random_ops) + i] for i, op in enumerate(segment.body_random_ops)}
        results = segment.evaluate(b, args, seeds, body_seeds)
        if not segment.refusals:
            return results
        word, results = b.word(), list(results)
        for i, j in segment.replaced.items():
            if segment.out_slots[j] not in b.kept:
                results[j] = b.np.where(word != 0, args[i], results[j])
        return *results, word

    specs = [(dims, dtype.as_numpy_dtype) for dims, dtype in segment.in_specs]
    if n_random:
        specs.insert(n_ins, ((n_random, 3), np.uint64))
    if segment.endless:
        specs.append(((stopping.PLACES,), np.uint8))
    donate = segment.donate
    if segment.packing:
        function, specs, donate = segment.packing.of_pack(function, specs, donate)
    return compile_function(function, specs, donate, len(segment.steps))


def clear_cache():
    """Forgets all compiled structures of this process."""
    with _cache_lock:
        _cache.clear()
