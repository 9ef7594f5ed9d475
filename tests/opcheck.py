"""The machinery behind `test_ops.py`: an interpreter of graphs over a chosen backend, and batches of rows.

The interpreter calls the lowerings one by one, as a compiled segment does, and holds every result against what the
shape rule promised: before the run (static shapes as far as they were known) and at run time (all shapes known).
"""

import contextlib
import warnings

import numpy as np

import regrad.ops as ops
from regrad.autodiff.gradients import gradients
from regrad.core import gradient_registry
from regrad.core.convert import convert_to_tensor
from regrad.core.dtypes import as_dtype
from regrad.core.graph import Graph
from regrad.core.host import HOST
from regrad.core.opdef import Known, Spec
from regrad.core.operation import Tensor, op_arguments
from regrad.core.shapes import compatible
from regrad.ops.array import placeholder
from regrad.ops.vjp import linear_vjp, lowering_vjp
from regrad.runtime import config
from regrad.runtime.plan import needs_host, shape_only_positions, static_positions
from regrad.runtime.segment import ShapeOf
from regrad.runtime.session import Session
from tests import oracle
from tests.cases import random_like
from tests.oracle import dims_for

ops.load()

BATCH = 8  # rows whose derivatives are compiled together; of longer programs XLA takes more for each row
RTOL = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 3e-5, "complex64": 3e-5}
GRAD_RTOL = {"float16": 5e-2, "float32": 1e-3, "complex64": 1e-3}


# -- running a graph -------------------------------------------------------------------------


class NotOnHost(Exception):
    """An op of the graph has no NumPy form."""


def needed(tensors):
    """Returns the operations that `tensors` need, in creation order."""
    seen, stack = {t.op for t in tensors}, [t.op for t in tensors]
    while stack:
        for t in stack.pop().inputs:
            if t.op not in seen:
                seen.add(t.op)
                stack.append(t.op)
    return sorted(seen, key=lambda op: op.id)


def evaluate(b, fetches, feeds):
    """Returns the values of `fetches` computed by backend `b`.

    What depends on no tracer is computed with NumPy, as the runtime folds it: shapes, and what is made of them.
    """
    env = dict(feeds)
    for op in needed(fetches):
        if op.outputs and all(t in env for t in op.outputs):
            continue
        statics, shape_only = static_positions(op), shape_only_positions(op)
        values = []
        for i, t in enumerate(op.inputs):
            v = env[t]
            if i in shape_only:
                v = ShapeOf(tuple(v.shape), v.dtype)
            assert i not in statics or isinstance(v, np.ndarray), \
                f"{op.describe()}: input {i} is static, and depends on values"
            values.append(v)
        known = all(isinstance(v, (np.ndarray, np.generic, ShapeOf)) for v in values)
        backend = b
        if op.type == "Const" or known and op.opdef.pure() and not op.opdef.xla_only or needs_host(op):
            backend = HOST
        if backend.is_host and op.opdef.xla_only:
            raise NotOnHost(op.type)
        if not backend.is_host:
            values = [backend.constant(v) if isinstance(v, np.ndarray) and i not in statics else v
                      for i, v in enumerate(values)]
        args = op_arguments(op, values)
        if op.opdef.random:
            args = [np.array([op.attrs["seed"], op.attrs["seed2"], 0], np.uint64), *args]
        attrs = {k: v for k, v in op.attrs.items() if k in op.opdef.attrs}
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                result = op.opdef.lower(backend, *args, **attrs)
        except Exception as error:
            error.add_note(f"in {op.describe()}, on the {backend.name} backend")
            raise
        results = result if isinstance(result, (tuple, list)) else (result,)
        check_specs(op, results, statics, [env[t] for t in op.inputs])
        for t, r in zip(op.outputs, results):
            env[t] = np.asarray(r) if backend.is_host else r
    return [env[t] for t in fetches]


def check_specs(op, results, statics, values):
    """Holds results against the shape rule: as it was used when building, and as the runtime uses it."""
    assert len(results) == len(op.outputs), f"{op.describe()}: {len(results)} results, {len(op.outputs)} outputs"
    for t, r in zip(op.outputs, results):
        assert np.dtype(r.dtype) == np.dtype(t.dtype.as_numpy_dtype), \
            f"{op.describe()}: output {t.value_index} is {r.dtype}, the rule said {t.dtype.name}"
        assert compatible(t.dims, tuple(r.shape)), \
            f"{op.describe()}: output {t.value_index} has shape {r.shape}, the rule said {t.shape}"
    if op.type == "Const" or op.opdef.host or op.opdef.facts.bodies:
        return
    concrete = [Known(np.asarray(v), t.dtype) if i in statics or isinstance(v, np.ndarray) and v.dtype.kind in "iu"
                else Spec(tuple(v.shape), t.dtype) for i, (t, v) in enumerate(zip(op.inputs, values))]
    specs = op.opdef.infer(*op_arguments(op, concrete), **{k: v for k, v in op.attrs.items() if k in op.opdef.attrs})
    specs = specs if isinstance(specs, list) else [specs]
    for s, t, r in zip(specs, op.outputs, results):
        assert s.dims == tuple(r.shape) or needs_host(op) and compatible(s.dims, tuple(r.shape)), \
            f"{op.describe()}: with all shapes known the rule says {s.dims}, the result has {tuple(r.shape)}"
        assert s.dtype is t.dtype


def xla():
    from regrad.runtime.backend import XLA

    return XLA


# For derivatives of second and third order, and what they are compared with: with these XLA compiles the same program in
# a quarter of the time. Values and first derivatives are computed with the options that are shipped, too (`run_sessions`).
QUICK = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}


def compiled(function, *arguments, quick=True):
    """Returns `function` compiled by XLA for arrays like `arguments`: quickly, or as sessions compile."""
    import jax

    lowered = jax.jit(function).lower(*arguments)
    try:
        return lowered.compile(compiler_options=QUICK if quick else config.compiler_options(config.apart_ops))
    except jax.errors.JaxRuntimeError:  # another XLA may not know an option
        return lowered.compile()


# -- rows as graphs --------------------------------------------------------------------------------


def cast_array(x, name):
    """Returns a floating `x` in the dtype `name`; a real one given a complex dtype gets an imaginary part."""
    if x.dtype.kind not in "fc":
        return x
    target = as_dtype(name)
    if target.is_complex and x.dtype.kind == "f":
        x = x + 1j * np.random.RandomState(3).permutation(x.ravel()).reshape(x.shape)
    if x.dtype.kind == "c" and not target.is_complex:
        return x if name == "float64" else x.astype(np.complex64)
    with np.errstate(over="ignore"):
        return x.astype(target.as_numpy_dtype)


def widened(x):
    """Returns `x` in the widest dtype of its kind: what a reference computes with."""
    if x.dtype.kind in "fV" or x.dtype.name == "bfloat16":
        return x.astype(np.float64)
    return x.astype(np.complex128) if x.dtype.kind == "c" else x


class Built:
    """A row built as a graph: its placeholders, outputs, and levels of derivatives.

    Level k differentiates sum(w_k * current_k), where current_0 are the outputs and current_k the derivatives of level
    k - 1, with respect to the inputs and all the earlier weights. So the rules of gradient ops are checked in all
    their inputs, the incoming gradient among them.
    """

    def __init__(self, row, arrays, known, order, output_shapes=None, graph=None, through=None):
        """Args: graph: where to build it. through: what every floating tensor goes through, on its way in and out."""
        self.row = row
        self.graph = graph or Graph()
        self.seeds, self.levels, self.seed_shapes = [], [], []
        with self.graph.as_default():
            self.inputs = [placeholder(as_dtype(x.dtype), dims_for(x.shape, known)) for x in arrays]
            out = row.build(*(through(x) if through else x for x in self.inputs), **row.kwargs)
            self.outputs = [convert_to_tensor(t) for t in (out if isinstance(out, (list, tuple)) else [out])]
            if through:
                self.outputs = [through(t) for t in self.outputs]
            if not order:
                return
            wrt = row.differentiable(arrays)
            params = [self.inputs[i] for i in wrt]
            shapes = [arrays[i].shape for i in wrt]
            current = [t for t in self.outputs if t.dtype._kind in "fc"]
            current_shapes = [s for s, t in zip(output_shapes, self.outputs) if t.dtype._kind in "fc"]
            for _ in range(order):
                weights = [placeholder(t.dtype, dims_for(s, known)) for t, s in zip(current, current_shapes)]
                grads = gradients(current, params, grad_ys=weights)
                grads = [None if g is None else convert_to_tensor(g) for g in grads]
                self.seeds.append(weights)
                self.seed_shapes.append(current_shapes)
                self.levels.append(grads)
                found = [(g, s) for g, s in zip(grads, shapes) if g is not None]
                if not found:
                    break
                params = params + weights
                shapes = shapes + current_shapes
                current = [g for g, _ in found]
                current_shapes = [s for _, s in found]

    def fetches(self):
        return self.outputs + [g for level in self.levels for g in level if g is not None]

    def grouped(self, values):
        """Returns (outputs, [gradients per level, None where there is none]) of the values of `fetches()`."""
        values = iter(values)
        outputs = [next(values) for _ in self.outputs]
        return outputs, [[None if g is None else next(values) for g in level] for level in self.levels]

    def feeds(self, arrays, weights):
        pairs = dict(zip(self.inputs, arrays))
        for level, ws in zip(self.seeds, weights):
            pairs.update(zip(level, ws))
        return pairs

    def on_host(self):
        return not any(op.opdef.xla_only for op in needed(self.fetches()))

    def host_only(self):
        return any(needs_host(op) for op in needed(self.outputs))

    def keyed_inputs(self):
        """Returns indices of the inputs whose values decide shapes: they are known when a program is compiled."""
        found, stack = set(), []
        for op in needed(self.fetches()):
            stack += [op.inputs[i] for i in static_positions(op)]
        while stack:
            t = stack.pop()
            if t not in found:
                found.add(t)
                shape_only = shape_only_positions(t.op)
                stack += [u for i, u in enumerate(t.op.inputs) if i not in shape_only]
        return {i for i, t in enumerate(self.inputs) if t in found}


def rule_of(op_type):
    """Returns "rule", "not differentiable" or "none"."""
    found = gradient_registry.find(op_type)
    return "none" if found is None else "not differentiable" if found.function is None else "rule"


def dot(xs, ys):
    """Returns the real inner product of two lists of arrays: TF's gradient g of f satisfies df = dot(g, dx)."""
    return sum(float(np.sum(np.real(np.conj(x) * y))) for x, y in zip(xs, ys) if x is not None and y is not None)


# -- what a row claims, and what it does ------------------------------------------------------------


class Measured:
    """Everything about one Case that has to be computed: on the host at once, by XLA with its batch."""

    def __init__(self, case):
        self.case = case
        self.error = None
        self.xla_error = None
        self.xla = None
        self.session = []  # what sessions gave: (how, dtype, outputs, gradients), or an exception
        try:
            self._prepare()
        except Exception as error:  # the row's own test reports it
            self.error = error

    def _prepare(self):
        case = self.case
        rng = np.random.RandomState(11)
        self.arrays = case.arrays()
        self.wrt = case.differentiable(self.arrays)
        self.order = case.order if case.derivatives and self.wrt else 0
        self.known = ["full"]
        if case.unknown:
            self.known += ["partial", "rank" if case.unknown == "rank" else "none"]
        forward = Built(case, self.arrays, "full", 0)
        self.types = {op.type for op in needed(forward.outputs)}
        self.host_only = forward.host_only()
        shapes = self._shapes(forward)
        self.output_shapes = shapes
        self.built = {k: Built(case, self.arrays, k, self.order, shapes) for k in self.known}
        full = self.built["full"]
        self.weights = [[oracle.weights(k, i, s, t.dtype.as_numpy_dtype) for i, (s, t) in enumerate(zip(ss, level))]
                        for k, (ss, level) in enumerate(zip(full.seed_shapes, full.seeds))]
        # One direction in all inputs and weights serves every level: level k does not depend on its own weights.
        self.dx = [random_like(x.shape, x.dtype, rng) if i in self.wrt else np.zeros_like(x)
                   for i, x in enumerate(self.arrays)]
        self.dw = [[random_like(w.shape, w.dtype, rng) for w in level] for level in self.weights]
        self.on_host = {k: built.on_host() for k, built in self.built.items()}
        self.host = {k: built.grouped(evaluate(HOST, built.fetches(), built.feeds(self.arrays, self.weights)))
                     for k, built in self.built.items() if self.on_host[k]}
        self.low = {}
        for name in case.dtypes:
            arrays = [cast_array(x, name) for x in self.arrays]
            order = 1 if self.order and name in GRAD_RTOL else 0
            built = Built(case, arrays, "full", order, shapes)
            weights = [[w.astype(np.dtype(t.dtype.as_numpy_dtype)) for w, t in zip(self.weights[0], built.seeds[0])]
                       ] if order and not as_dtype(name).is_complex else []
            if order and not weights:  # complex where the row is real: its own weights
                weights = [[random_like(s, np.complex64, rng).astype(np.complex64) if t.dtype.is_complex
                            else random_like(s, np.float32, rng).astype(np.float32)
                            for s, t in zip(built.seed_shapes[0], built.seeds[0])]]
            feeds = built.feeds(arrays, weights)
            host = built.grouped(evaluate(HOST, built.fetches(), feeds)) if built.on_host() else None
            self.low[name] = arrays, weights, built, host

    def _shapes(self, forward):
        if forward.on_host():
            return [v.shape for v in evaluate(HOST, forward.outputs, dict(zip(forward.inputs, self.arrays)))]
        import jax

        keyed = forward.keyed_inputs()
        traced = [i for i in range(len(self.arrays)) if i not in keyed]

        def run(values):
            arrays = list(self.arrays)
            for i, v in zip(traced, values):
                arrays[i] = v
            return evaluate(xla(), forward.outputs, dict(zip(forward.inputs, arrays)))

        with jax.enable_x64(True):
            return [v.shape for v in jax.eval_shape(run, [self.arrays[i] for i in traced])]

    # -- by XLA ---------------------------------------------------------------------------------

    def arguments(self):
        """Returns the arrays that a compiled batch takes for this row."""
        low = [(a, w) for name, (a, w, _, _) in self.low.items() if name != "float32"]  # that is what `run_sessions` compiles
        return [self.arrays, self.weights, self.dx, self.dw, low]

    def trace(self, args):
        """Returns everything XLA is to compute for this row, on tracers `args`."""
        arrays, weights, dx, dw, low = args
        out = {}
        for known in (self.known[-1], "full"):
            if known in out or known == "full" and self.on_host["full"] and out:
                continue
            built = self.built[known]
            out[known] = evaluate(xla(), built.fetches(), built.feeds(self._with_keyed(built, arrays), weights))
        out["low"] = {}
        names = [name for name in self.low if name != "float32"]
        for (low_arrays, low_weights), name in zip(low, names):
            cast, _, built, _ = self.low[name]
            keyed = built.keyed_inputs()
            low_arrays = [c if i in keyed else a for i, (a, c) in enumerate(zip(low_arrays, cast))]
            out["low"][name] = evaluate(xla(), built.fetches(), built.feeds(low_arrays, low_weights))
        # A rule that is JAX's own derivative need not be compared with it.
        borrowed = self.order and gradient_registry.find(self.case.op_type).function in (lowering_vjp, linear_vjp)
        out["jvp"] = self._jvps(arrays, weights, dx, dw) if self.order and self.case.jax and not borrowed else []
        return out

    def _with_keyed(self, built, arrays):
        keyed = built.keyed_inputs()
        return [self.arrays[i] if i in keyed else a for i, a in enumerate(arrays)]

    def _jvps(self, arrays, weights, dx, dw):
        """Returns JAX's own first and second derivative of the lowering, in the row's direction."""
        import jax
        import jax.numpy as jnp

        built = self.built["full"]
        if any(op.opdef.host for op in needed(built.outputs)):
            return []
        arrays = self._with_keyed(built, arrays)
        flowing = [t for t in built.outputs if t.dtype._kind in "fc"]

        def inner(xs, ys):
            return sum(jnp.sum(jnp.real(jnp.conj(x) * y)) for x, y in zip(xs, ys))

        def scalar(xs, w0):
            full = list(arrays)
            for i, x in zip(self.wrt, xs):
                full[i] = x
            return inner(w0, evaluate(xla(), flowing, dict(zip(built.inputs, full))))

        xs, directions = [arrays[i] for i in self.wrt], [dx[i] for i in self.wrt]
        out = [jax.jvp(lambda *xs: scalar(xs, weights[0]), xs, directions)[1]]
        if len(weights) > 1:
            # <w1, gradient> is the derivative in direction w1, where an input without a gradient has direction 0.
            ws = iter(weights[1])
            w1 = [jnp.zeros_like(x) if g is None else next(ws) for x, g in zip(xs, built.levels[0])]

            def first(xs, w0):
                return jax.jvp(lambda *xs: scalar(xs, w0), xs, w1)[1]

            out.append(jax.jvp(first, (xs, list(weights[0])), (directions, list(dw[0])))[1])
        return out


def shifted(args, h):
    """Returns a row's arguments moved by h along its direction."""
    arrays, weights, dx, dw, low = args
    return [[x + h * d if x.dtype.kind in "fc" else x for x, d in zip(arrays, dx)],
            [[w + h * d for w, d in zip(ws, ds)] for ws, ds in zip(weights, dw)], dx, dw, low]


STEP = 5e-6


def measure(rows):
    """Measures rows by XLA, whichever others there are: all that a compiler computes."""
    chosen = [r for r in rows if r.error is None and not r.host_only]
    for i in range(0, len(chosen), BATCH):
        measure_batch(chosen[i:i + BATCH])


def measure_batch(rows):
    """Compiles the derivatives of all rows as one function, and runs it at the rows' points and beside them."""
    import jax

    for r in rows:
        r.xla_error = None

    def function(batch):
        out = []
        for row, args in zip(rows, batch):
            try:
                out.append(row.trace(args))
            except Exception as error:
                row.xla_error = error
                out.append({})
        return out

    with jax.enable_x64(True):
        batch = [r.arguments() for r in rows]
        try:
            run = compiled(function, batch)
            results = jax.device_get(run(batch))
        except Exception as error:
            if len(rows) == 1:
                rows[0].xla_error = error
                return
            for r in rows:  # find the one to blame
                measure_batch([r])
            return
        sides = [jax.device_get(run([shifted(a, h) for a in batch])) for h in (STEP, -STEP)]
    for i, row in enumerate(rows):
        row.xla = results[i]
        row.sides = [s[i] for s in sides]


def abstract(built, arrays):
    """Returns the outputs' shapes and dtypes as JAX works them out; nothing is computed."""
    import jax

    keyed = built.keyed_inputs()

    def run(*traced):
        return evaluate(xla(), built.outputs, built.feeds([a if i in keyed else t for i, (a, t)
                                                           in enumerate(zip(arrays, traced))], []))

    with jax.enable_x64(True):
        return jax.eval_shape(run, *arrays)


# -- through sessions ---------------------------------------------------------------------------------

TOGETHER = 24  # rows that are one program


def run_sessions(rows):
    """Runs rows as users' programs: many in one graph, by NumPy and then compiled with the options that are shipped.

    What each row takes and gives goes through a product with a number that is fed, 1: so XLA fuses the row's operations with
    others, which they are not when they stand alone.
    """
    chosen = [r for r in rows if r.error is None]
    for i in range(0, len(chosen), TOGETHER):
        _together(chosen[i:i + TOGETHER])


def _together(rows):
    graph, parts, ones = Graph(), [], {}

    def through(t):
        if t.dtype._kind != "f":  # a product of complex numbers makes NaN of infinities
            return t
        if t.dtype not in ones:
            with graph.as_default():
                ones[t.dtype] = placeholder(t.dtype, ())
        return t * ones[t.dtype]

    try:
        for row in rows:
            name = "float32" if "float32" in row.low else ""  # the type that programs have, or the row's own
            arrays, weights, _, _ = row.low[name] if name else (row.arrays, row.weights[:1], None, None)
            order = min(row.order, 1)
            alone = row.host_only or row.built["full"].keyed_inputs() or _subnormal(row)
            built = Built(row.case, arrays, "full", order, row.output_shapes, graph, None if alone else through)
            parts.append((row, name, built, built.feeds(arrays, weights if order else [])))
        feeds = {t: x for _, _, _, fed in parts for t, x in fed.items()}
        feeds |= {t: np.ones((), dtype.as_numpy_dtype) for dtype, t in ones.items()}
        fetches = [built.fetches() for _, _, built, _ in parts]
        for how, changed in (("NumPy", {}), ("compiled", {"host_runs": 0, "tiny_ops": 0})):
            with settings(**changed), Session(graph=graph) as session:
                for (row, name, built, _), values in zip(parts, session.run(fetches, feeds)):
                    row.session.append((f"session, {how}", name, *built.grouped(values)))
    except Exception as error:
        if len(rows) == 1:
            rows[0].session = error
            return
        for row in rows:  # find the one to blame
            row.session = []
            _together([row])


def _subnormal(row):
    """True for a row of results that a product with 1 changes: compiled programs take such numbers for 0."""
    found = [v for outputs, _ in row.host.values() for v in outputs if v.dtype.kind == "f"]
    return any(np.any((v != 0) & (np.abs(v) < np.finfo(v.dtype).tiny)) for v in found)


@contextlib.contextmanager
def settings(**changed):
    """Context manager: settings of `tf.config` are others in the block."""
    before = {name: getattr(config, name) for name in changed}
    try:
        for name, value in changed.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


class Compiled:
    """Rows at inputs that may not be finite: what NumPy and XLA make of them, many rows compiled as one function."""

    def __init__(self, rows, recorded):
        self.rows, self.recorded = rows, recorded
        self.found = {}

    def __getitem__(self, key):
        """Returns {backend: (outputs, [first gradients])} of a row, or raises what building or running it raised."""
        if key not in self.found:
            at = next(i for i, (k, _) in enumerate(self.rows) if k == key)
            self._run(dict(self.rows[at - at % BATCH:at - at % BATCH + BATCH]))
        if isinstance(self.found[key], Exception):
            raise self.found[key]
        return self.found[key]

    def _run(self, rows):
        import jax

        ready = {}
        for key, case in rows.items():
            try:
                arrays, theirs = case.arrays(), self.recorded[key]
                built = Built(case, arrays, "full", 1 if theirs["levels"] else 0, [v.shape for v in theirs["outputs"]])
                weights = [[oracle.weights(0, i, s, t.dtype.as_numpy_dtype) for i, (s, t) in enumerate(zip(ss, level))]
                           for ss, level in zip(built.seed_shapes, built.seeds)]
                self.found[key] = {}
                if built.on_host():
                    values = evaluate(HOST, built.fetches(), built.feeds(arrays, weights))
                    self.found[key]["host"] = built.grouped(values)
                if not built.host_only():
                    ready[key] = built, arrays, weights, built.keyed_inputs()
            except Exception as error:
                self.found[key] = error

        def function(batch):
            out = {}
            for key, (traced, weights) in batch.items():
                built, arrays, _, keyed = ready[key]
                traced = [a if i in keyed else t for i, (a, t) in enumerate(zip(arrays, traced))]
                out[key] = evaluate(xla(), built.fetches(), built.feeds(traced, weights))
            return out

        with jax.enable_x64(True):
            given = {k: (arrays, weights) for k, (_, arrays, weights, _) in ready.items()}
            results = jax.device_get(compiled(function, given, quick=False)(given))
        for key, values in results.items():
            self.found[key]["XLA"] = ready[key][0].grouped(values)


def is_tensor(x):
    return isinstance(x, Tensor)
