"""Every row of `tests/cases/*.py`, checked in every way.

For a `Case`:
 1. the op type occurs in the graph that the row builds, and has a rule (order 0: is declared NotDifferentiable);
 2. value in float64 against the reference, on the host backend, through XLA, and through a Session;
 3. the same in each further dtype, and each op's result dtype against the shape rule's;
 4. each op's result shape against the shape rule with full, partial (first axis unknown) and no static shapes, and
    against the rule as the runtime uses it; host against XLA;
 5. derivatives of all orders asked for, in one random direction in all inputs and incoming gradients: against central
    differences, and against jax.jvp of the lowering; first derivative in lower dtypes.

 6. value and derivatives against what real TensorFlow answered for the same row, where it could (tests/oracle.py);
    tests/differences.py says where it differs, and why;
 7. the same for inputs of zeros, huge, infinite and NaN numbers, with the first derivative (`test_nonfinite`).

For `Steps`, runs of one session: what each gives or which error it raises, and the variables after it, as TensorFlow
recorded them; with full, partial and no static shapes, executed by NumPy and compiled; which gradients are None.

Derivatives of several rows compile as one XLA function, by the quickest of its code generators, so that the whole suite takes
minutes. Values and first derivatives go through sessions as well, many rows in one program, compiled with the options that are
shipped (opcheck.run_sessions); with these `test_nonfinite` and `test_edge` compile, too, and `test_alone`, which is slow, each
row as a program of its own.
"""

import contextlib
import fnmatch

import numpy as np
import pytest

import regrad as tf
from regrad.core.dtypes import as_dtype
from regrad.core.opdef import find_op
from regrad.core.shapes import compatible
from tests import opcheck, oracle
from tests.cases import Bad, Case, Edge, Steps, arrays_of, families, nonfinite
from tests.differences import BOUNDS, DIFFERENT

FAMILIES = families()
ROWS = [(family, row) for family, rows in FAMILIES.items() for row in rows]
CASES = [(f, r) for f, r in ROWS if isinstance(r, Case)]
EDGES = [(f, r) for f, r in ROWS if isinstance(r, Edge)]
STEPS = [(f, r) for f, r in ROWS if isinstance(r, Steps)]
BADS = [(f, r) for f, r in ROWS if isinstance(r, Bad)]

RECORDED = oracle.recorded()
# Inputs of zeros, infinities and NaN, for all that TensorFlow could answer.
NOT_FINITE = [(k, r) for f, rows in FAMILIES.items() for k, r in nonfinite([(f, r) for r in rows]).items() if k in RECORDED]


def _ids(rows):
    return [f"{family}-{row.id}" for family, row in rows]


class Measurements:
    """The rows of a run, measured a batch at a time when the first of the batch is asked for."""

    def __init__(self, rows):
        self.batches = [rows[i:i + 64] for i in range(0, len(rows), 64)]
        self.of = {}

    def __getitem__(self, case):
        if id(case) not in self.of:
            batch = next(b for b in self.batches if any(c is case for c in b))
            measured = [opcheck.Measured(c) for c in batch]
            opcheck.measure(measured)
            opcheck.run_sessions(measured)
            self.of.update({id(c): m for c, m in zip(batch, measured)})
        return self.of[id(case)]


@pytest.fixture(scope="session")
def measurements(request):
    selected = [item.callspec.params["case"] for item in request.session.items
                if getattr(item, "originalname", None) == "test_case"]
    return Measurements([row for _, row in selected])


def assert_close(actual, expected, rtol, what, scale=0.0):
    """Relative to each element, or to the largest, or to `scale`, whichever is more."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    if expected.dtype.kind in "biuSOU" and actual.dtype.kind in "biuSOU":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    actual, expected = actual.astype(wide), expected.astype(wide)
    finite = np.abs(expected[np.isfinite(expected)])
    scale = max(scale, float(finite.max()) if finite.size else 0.0)
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * scale, err_msg=what)


def check_values(values, references, rtol, what):
    assert len(values) == len(references), f"{what}: {len(values)} outputs, the reference gives {len(references)}"
    for i, (v, r) in enumerate(zip(values, references)):
        assert_close(v, r, rtol, f"{what}, output {i}")


def reference_values(case, arrays):
    with np.errstate(all="ignore"):
        out = case.reference(*arrays, **case.kwargs)
    return list(out) if isinstance(out, (tuple, list)) else [out]


def _without_extremes(p, q):
    """Two values with 0 where both have the same infinity or limit of their type, which differences cannot see."""
    same = (p == q) & (np.abs(p) > 1e200)
    return np.where(same, 0, p), np.where(same, 0, q)


def check_derivatives(m, levels_at, sides, jvps, what):
    """Holds every level of derivatives against differences of the level before it."""
    case = m.case
    built = m.built["full"]
    outputs, levels = levels_at
    (outs_p, levels_p), (outs_m, levels_m) = sides
    flowing = [i for i, t in enumerate(built.outputs) if t.dtype._kind in "fc"]
    current_p, current_m = [outs_p[i] for i in flowing], [outs_m[i] for i in flowing]
    directions = [m.dx[i] for i in m.wrt]
    for k, grads in enumerate(levels):
        weights = m.weights[k]
        for g in grads:
            assert g is None or np.all(np.isfinite(g)), f"{what}: derivative {k + 1} is not finite"
        claimed = opcheck.dot(grads, directions)
        current_p, current_m = zip(*(_without_extremes(p, q) for p, q in zip(current_p, current_m)))
        measured = (opcheck.dot(weights, current_p) - opcheck.dot(weights, current_m)) / (2 * opcheck.STEP)
        scale = 1e-3 + sum(float(np.sum(np.abs(g * d))) for g, d in zip(grads, directions) if g is not None)
        magnitude = sum(float(np.sum(np.abs(w * c))) for w, c in zip(weights, current_p))
        allowed = case.grad_rtol * max(scale, abs(measured)) + 1e-10 * magnitude
        assert abs(claimed - measured) <= allowed, (
            f"{what}: derivative {k + 1} of {case.op_type} in a random direction is {claimed}, "
            f"finite differences say {measured}")
        if k < len(jvps):
            allowed = 1e-8 * max(scale, abs(claimed)) * max(1.0, case.grad_rtol / 1e-6)
            assert abs(claimed - float(jvps[k])) <= allowed, (
                f"{what}: derivative {k + 1} of {case.op_type} in a random direction is "
                f"{claimed}, jax.jvp says {float(jvps[k])}")
        current_p, current_m = ([g for g in lv[k] if g is not None] for lv in (levels_p, levels_m))
        directions = directions + m.dw[k]


@pytest.mark.parametrize("case", CASES, ids=_ids(CASES))
def test_case(case, measurements):
    family, case = case
    m = measurements[case]
    if m.error is not None:
        raise m.error
    assert case.op_type in m.types, f"the row builds {sorted(m.types)}"
    if m.wrt and case.derivatives:
        expected = "rule" if case.order else "not differentiable"
        assert opcheck.rule_of(case.op_type) == expected, f"{case.op_type}: order={case.order}"
    if m.xla_error is not None:
        raise m.xla_error

    # Values.
    full, last = m.built["full"], m.known[-1]
    references = None if case.reference is None else reference_values(case, [opcheck.widened(x) for x in m.arrays])
    results = {f"host, {k} shapes": v for k, v in m.host.items()}
    if m.xla is not None:
        results |= {f"XLA, {k} shapes": m.built[k].grouped(m.xla[k]) for k in m.xla if k in m.built}
    assert results
    first = next(iter(results.values()))
    if isinstance(m.session, Exception):
        raise m.session
    results |= {how: (values, levels) for how, dtype, values, levels in m.session if not dtype}
    for what, (values, levels) in results.items():
        check_values(values, first[0] if references is None else references, case.rtol, what)
        for level, expected in zip(levels, first[1]):
            for g, e in zip(level, expected):
                assert (g is None) == (e is None), f"{what}: a gradient is None that is not with other shapes known"
                if g is not None:
                    assert_close(g, e, 1e-8 * max(1.0, case.grad_rtol / 1e-6), f"{what}, derivative", scale=1e-3)

    # Static shapes: with everything known, the shape rule knows the result, unless that depends on values.
    if not full.host_only() and not full.keyed_inputs():
        for t, v in zip(full.outputs, first[0]):
            assert t.dims == v.shape, f"{t.op.describe()}: with full static shapes the rule says {t.shape}, not {v.shape}"

    # Further dtypes.
    for name, (arrays, _, built, host) in m.low.items():
        got = {} if host is None else {f"host, {name}": host}
        if m.xla is not None and name in m.xla["low"]:
            got[f"XLA, {name}"] = built.grouped(m.xla["low"][name])
        got |= {f"{how}, {name}": (values, levels) for how, dtype, values, levels in m.session if dtype == name}
        wide = [opcheck.widened(x) for x in arrays]
        expected = None if case.reference is None else reference_values(case, wide)
        first_low = next(iter(got.values()))
        for what, (values, levels) in got.items():
            tolerance = opcheck.RTOL.get(name, case.rtol) * max(1.0, case.rtol / 1e-10) ** 0.25
            check_values(values, first_low[0] if expected is None else expected, tolerance, what)
            for level, low_first in zip(levels, first_low[1]):
                for g, e in zip(level, low_first):
                    if g is not None and name in opcheck.GRAD_RTOL:
                        # a sum of terms of size one that cancels is as exact as its terms are
                        assert_close(g, e, opcheck.GRAD_RTOL[name], f"{what}, derivative", scale=1e-3)

    check_tensorflow(f"{family}-{case.id}", case, m.arrays, *first)

    # Derivatives.
    if m.order:
        known = last if m.xla is not None and last in m.xla else "full"
        built = m.built[known]
        if m.xla is not None:
            sides = [built.grouped(s[known]) for s in m.sides]
            check_derivatives(m, built.grouped(m.xla[known]), sides, m.xla["jvp"], f"{known} shapes")
        else:
            sides = [host_values(m, built, h) for h in (opcheck.STEP, -opcheck.STEP)]
            check_derivatives(m, m.host[known], sides, [], f"host, {known} shapes")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=_ids(CASES))
def test_alone(case):
    """A row that is a program of its own, compiled as sessions do, gives what NumPy gives: value and derivatives."""
    m = opcheck.Measured(case[1])
    if m.error is not None or m.host_only:
        pytest.skip("it is not compiled")
    built = m.built["full"]
    with opcheck.settings(host_runs=0, tiny_ops=0), tf.Session(graph=built.graph) as session:
        compiled = session.run(built.fetches(), built.feeds(m.arrays, m.weights))
    with tf.Session(graph=built.graph) as session:
        for v, e in zip(compiled, session.run(built.fetches(), built.feeds(m.arrays, m.weights))):
            rtol = max(opcheck.RTOL.get(np.asarray(e).dtype.name, case[1].rtol), 1e-8 * max(1.0, case[1].grad_rtol / 1e-6))
            assert_close(v, e, rtol, "compiled alone", scale=1e-3)


NUMERIC = ("float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
           "complex64", "complex128", "bool")
FIRST = {r.op_type: r for f, r in reversed(CASES) if f not in ("strings", "random") and r.derivatives
         and any(isinstance(x, tuple) for x in r.inputs)}


@pytest.mark.parametrize("op_type", FIRST)
def test_dtypes(op_type):
    """Every dtype that the op type accepts gives the dtype that the rule says, and float64's value where that is whole."""
    row = FIRST[op_type]
    definition = find_op(op_type)
    var = next((a.var for a in definition.args if a.var), None)
    filled = [i for i, x in enumerate(row.inputs) if isinstance(x, tuple)]
    rng = np.random.RandomState(5)
    base = [rng.randint(1, 4, x.shape) if i in filled else x for i, x in enumerate(row.arrays())]
    exact = None
    for name in ("float64", *NUMERIC):
        dtype = as_dtype(name)
        if var in definition.types and dtype not in definition.types[var]:
            continue
        arrays = [x.astype(dtype.as_numpy_dtype) if i in filled else x for i, x in enumerate(base)]
        try:
            built = opcheck.Built(row, arrays, "full", 0)
        except (TypeError, ValueError):  # the row holds a number of another type, or asks the op for what it refuses
            continue
        values = opcheck.abstract(built, arrays) if not built.on_host() else opcheck.evaluate(
            opcheck.HOST, built.outputs, built.feeds(arrays, []))
        if name == "float64" and built.on_host():
            exact = values
        for v, e in zip(values, exact or ()):
            whole = e.dtype.kind == "f" and np.all(np.abs(e) < 100) and np.all(e == np.floor(e))
            if whole and name != "bool" and not (name.startswith("u") and np.any(e < 0)) and "FakeQuant" not in op_type:
                np.testing.assert_array_equal(v.astype(np.complex128), e, err_msg=name)


@pytest.fixture(scope="session")
def compiled():
    return opcheck.Compiled(NOT_FINITE, RECORDED)


@pytest.mark.parametrize("case", NOT_FINITE, ids=[k for k, _ in NOT_FINITE])
def test_nonfinite(case, compiled):
    """Values and first derivatives for inputs that are no ordinary numbers are TensorFlow's, on both backends."""
    key, case = case
    results = compiled[key]
    assert results
    for what, (outputs, levels) in results.items():
        check_tensorflow(key, case, case.arrays(), outputs, levels, what)


def check_tensorflow(key, case, arrays, outputs, levels, what="the first backend"):
    """Compares with TensorFlow's recorded answers: they agree, or differ where and by as much as is listed, with a reason."""
    row = RECORDED.get(key)
    if row is None:
        return
    assert row["fingerprint"] == oracle.fingerprint(case, arrays), \
        f"{key} was recorded with other inputs: record again (make oracle)"
    check_differences(key, differences(row, outputs, levels, case, what), what)


def check_differences(key, found, what):
    """Holds the `differences` of a row against those that are listed."""
    listed = BOUNDS.get(key, {}).get(what, {})
    for part, (elements, largest, error) in found.items():
        if part not in listed:
            raise error
        assert elements <= listed[part][0] and largest <= listed[part][1], (
            f"{key}, {what}, {part}: {elements} elements differ from TensorFlow's, by {largest:.3g} of the largest at most; "
            f"listed are {listed[part]}\n{error}")
    agree = listed.keys() - found.keys()
    assert not agree, f"{key}, {what}: {sorted(agree)} listed as different from TensorFlow, and the same"


def differences(row, outputs, levels, case, what):
    """Returns {part of a row: (elements that differ from TensorFlow's, by how much at most, the AssertionError)}.

    How much is said of finite numbers, in parts of TensorFlow's largest. A gradient that one of both does not have counts as 1.
    """
    rtol, found = max(1e-7, case.rtol), {}
    assert len(outputs) == len(row["outputs"]), "another number of outputs than in TensorFlow"

    def compare(part, ours, theirs, rtol, scale):
        try:
            assert (ours is None) == (theirs is None), f"TensorFlow, {part}: {theirs}, here {ours}"
            if theirs is not None:
                assert_close(ours, theirs, rtol, f"{what}, against TensorFlow, {part}", scale)
                assert "output" not in part or np.asarray(ours).dtype == theirs.dtype, \
                    f"TensorFlow, {part}: {theirs.dtype}, here {np.asarray(ours).dtype}"
        except AssertionError as error:
            found[part] = (*_distance(ours, theirs), error)

    for i, (v, e) in enumerate(zip(outputs, row["outputs"])):
        compare(f"output {i}", v, e, rtol, 0.0)
    for k, (ours, theirs) in enumerate(zip(levels, row["levels"])):
        for i, (g, e) in enumerate(zip(ours, theirs)):  # theirs are those of the inputs, which come first
            compare(f"derivative {k + 1}, input {i}", g, e, max(rtol, 1e-6), 1e-3)
    return found


def _distance(ours, theirs):
    """Returns how many elements differ, and by how much, relative to the largest of `theirs`, those do that are finite."""
    if ours is None or theirs is None:
        return 1, 0.0
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, f"shape {ours.shape}, in TensorFlow {theirs.shape}"
    if ours.dtype.kind in "SOU":
        return int(np.sum(ours != theirs)), 0.0
    wide = np.complex128 if "c" in (ours.dtype.kind, theirs.dtype.kind) else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    both = np.isfinite(ours) & np.isfinite(theirs)
    with np.errstate(all="ignore"):
        apart, scale = np.abs(ours - theirs), np.max(np.abs(theirs[both]), initial=1e-3)
    same = (ours == theirs) | np.isnan(ours) & np.isnan(theirs)
    return int(np.sum(~same & ~(both & (apart <= 1e-6 * scale)))), float(np.max(apart[both] / scale, initial=0.0))


def test_every_difference_has_a_reason_and_every_reason_a_difference():
    """Of those of values and derivatives; rows of runs are held in `test_steps`."""
    patterns = {p for p in DIFFERENT if any(fnmatch.fnmatchcase(key, p) for key in BOUNDS)}
    unexplained = [key for key in BOUNDS if not any(fnmatch.fnmatchcase(key, p) for p in patterns)]
    assert unexplained == []
    steps = [f"{family}-{row.id}" for family, row in STEPS]
    assert [p for p in DIFFERENT if p not in patterns and not any(fnmatch.fnmatchcase(key, p) for key in steps)] == []
    keys = {f"{family}-{row.id}" for family, row in CASES} | {key for key, _ in NOT_FINITE}
    assert set(BOUNDS) <= keys


@pytest.mark.parametrize("row", STEPS, ids=_ids(STEPS))
def test_steps(row):
    """What every run gives, and the variables after it, are TensorFlow's, whatever was known of the shapes."""
    family, row = row
    key = f"{family}-{row.id}"
    recorded = RECORDED.get(key) if row.expected is None else _expected(row)
    assert recorded is not None, f"{key} has no recorded answer: record it (make oracle), or give `expected`"
    reason = next((why for pattern, why in DIFFERENT.items() if fnmatch.fnmatchcase(key, pattern)), None)
    for known in ("full", "partial", "none") if row.inputs and row.unknown else ("full",):
        check_steps(row, oracle.run_steps(tf, row, known), recorded, f"{known} shapes", reason)
    if row.compiled:
        check_steps(row, oracle.run_steps(tf, row, during=_compiling), recorded, "compiled", reason)


@contextlib.contextmanager
def _compiling():
    """Everything is compiled, however small and new."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(tf.config, "host_runs", 0)
        changed.setattr(tf.config, "tiny_ops", 0)
        yield


def _expected(row):
    results = [[np.asarray(v) for v in run] if isinstance(run, list) else {"error": run} for run in row.expected]
    return {"fingerprint": oracle.fingerprint(row, [*row.variables, *row.inputs]), "results": results}


def check_steps(row, found, recorded, what, reason):
    """Holds the runs of a row against the recorded ones, and static shapes against those that came."""
    assert recorded["fingerprint"] == oracle.fingerprint(row, [*row.variables, *row.inputs]), "recorded with other inputs"
    assert row.op_type in found["types"], f"the row builds {found['types']}"
    for i, (result, shapes) in enumerate(zip(found["results"], found["shapes"])):
        for value, shape in zip(result if isinstance(result, list) else (), shapes):
            assert compatible(shape, value.shape), f"{what}, run {i}: {value.shape}, the rule said {shape}"
    try:
        _same_steps(row, found, recorded, what)
    except AssertionError:
        if reason is None:
            raise
    else:
        assert reason is None, f"{what}: the row is listed as different from TensorFlow, and is the same"


def _same_steps(row, found, recorded, what):
    for kind in ("results", "variables"):
        for i, (ours, theirs) in enumerate(zip(found[kind], recorded.get(kind, found[kind]), strict=True)):
            where = f"{what}, run {i}, {kind}"
            if isinstance(theirs, dict) or isinstance(ours, dict):
                assert ours == theirs, f"{where}: {ours}, expected {theirs}"
                continue
            assert len(ours) == len(theirs), f"{where}: {len(ours)}, expected {len(theirs)}"
            for v, e in zip(ours, theirs):
                assert v.dtype == e.dtype, f"{where}: {v.dtype}, expected {e.dtype}"
                assert_close(v, e, row.rtol if v.dtype.itemsize > 2 else 2e-2, where)
    if what == "full shapes" and "shapes" in recorded:
        for ours, theirs in zip(found["shapes"], recorded["shapes"]):
            for s, t in zip(ours, theirs):
                assert t is None or s is not None and all(d is None or n == d for n, d in zip(s, t, strict=True)), \
                    f"TensorFlow knows the shape {t}, here it is {s}"
    theirs = recorded.get("gradients", found["gradients"])
    if isinstance(theirs, str):  # TensorFlow has no rule, or one that fails: here the op type is declared not differentiable
        theirs = [False] * len(found["gradients"])
    assert found["gradients"] == theirs, f"gradients: {found['gradients']}, in TensorFlow {theirs}"


def host_values(m, built, h):
    arrays, weights, *_ = opcheck.shifted(m.arguments(), h)
    return built.grouped(opcheck.evaluate(opcheck.HOST, built.fetches(), built.feeds(arrays, weights)))


@pytest.mark.parametrize("edge", EDGES, ids=_ids(EDGES))
def test_edge(edge):
    """Decided derivatives at kinks, ties and poles, on both backends."""
    import jax

    edge = edge[1]
    arrays = arrays_of([np.asarray(x, np.float64) if isinstance(x, (list, float)) else x for x in edge.inputs])
    order = 1 if edge.second is None else 2
    row = Case(edge.op_type, edge.build, None, edge.inputs, edge.kwargs)
    shapes = opcheck.Measured(Case(edge.op_type, edge.build, None, tuple(arrays), edge.kwargs, order=0, dtypes=(),
                                   derivatives=False)).output_shapes
    built = opcheck.Built(row, arrays, "full", order, shapes)
    assert edge.op_type in {op.type for op in opcheck.needed(built.outputs)}
    weights = [[np.ones(s, t.dtype.as_numpy_dtype) for s, t in zip(ss, level)]
               for ss, level in zip(built.seed_shapes, built.seeds)]
    if edge.dy is not None:
        weights[0] = [np.asarray(edge.dy, weights[0][0].dtype).reshape(weights[0][0].shape)]
    runs = {}
    if built.on_host():
        runs["host"] = opcheck.evaluate(opcheck.HOST, built.fetches(), built.feeds(arrays, weights))
    if not built.host_only():
        keyed = built.keyed_inputs()

        def run(traced, weights):
            return opcheck.evaluate(opcheck.xla(), built.fetches(), built.feeds(
                [arrays[i] if i in keyed else x for i, x in enumerate(traced)], weights))

        with jax.enable_x64(True):
            runs["XLA"] = jax.device_get(opcheck.compiled(run, arrays, weights, quick=False)(arrays, weights))
    for what, values in runs.items():
        levels = built.grouped(values)[1]
        for k, expected in enumerate((edge.grads, edge.second)[:len(levels)]):
            for i, (g, e) in enumerate(zip(levels[k], expected)):
                assert (g is None) == (e is None), f"{what}: gradient of input {i} is {g}, expected {e}"
                if e is not None:
                    np.testing.assert_allclose(np.asarray(g), np.broadcast_to(e, np.shape(g)), rtol=1e-10, atol=1e-12,
                                               err_msg=f"{what}: derivative {k + 1}, input {i}")


@pytest.mark.parametrize("bad", BADS, ids=_ids(BADS))
def test_refusal(bad):
    bad = bad[1]
    if not bad.run:
        with pytest.raises(bad.error, match=bad.says):
            bad.build()
        return
    from regrad.runtime.session import Session

    fetches = bad.build()
    with Session() as sess, pytest.raises(bad.error, match=bad.says):
        sess.run(fetches)


def test_rows_have_distinct_names():
    for family, rows in FAMILIES.items():
        ids = [f"{type(r).__name__} {r.id}" for r in rows if not isinstance(r, Bad)]
        assert len(ids) == len(set(ids)), f"{family}: {sorted(i for i in set(ids) if ids.count(i) > 1)}"


# -- the checker itself: a slightly wrong rule is noticed ---------------------------------------------


def _claims(case):
    m = opcheck.Measured(case)
    opcheck.measure([m])
    opcheck.run_sessions([m])
    test_case(("checker", case), _One(m))


class _One:
    def __init__(self, measured):
        self.measured = measured

    def __getitem__(self, case):
        return self.measured


def _square_like(op_type):
    from regrad.core.opdef import define_op, find_op, same

    return find_op(op_type) or define_op(op_type, "x", infer=same, lower=lambda b, x: x * x * x)


@pytest.mark.parametrize("wrong", ["first", "second", "weight", "none", "right"])
def test_the_checker_notices(wrong):
    """A rule wrong at first order by 1e-5, one wrong at second order only, one that loses the incoming gradient's part."""
    from regrad.core.gradient_registry import RegisterGradient, find
    from regrad.ops.array import stop_gradient

    op = _square_like(f"TestCube{wrong.title()}")
    factor = 3.00003 if wrong == "first" else 3.0

    def rule(op, dy):
        x = op.inputs[0]
        if wrong == "second":  # 3 x stop(x) dy: right in value, its derivative is half of what it should be
            return factor * x * stop_gradient(x) * dy
        if wrong == "weight":
            return factor * x * x * stop_gradient(dy)
        return None if wrong == "none" else factor * x * x * dy

    if find(op.type) is None:
        RegisterGradient(op.type)(rule)
    case = Case(op.type, op, lambda x: x**3, ((3, 2),), low=0.5, dtypes=())
    if wrong == "right":
        _claims(case)
        return
    with pytest.raises(AssertionError, match="derivative 2" if wrong in ("second", "weight") else "derivative 1"):
        _claims(case)


def test_the_checker_notices_a_wrong_value_shape_or_dtype():
    from regrad.core import dtypes
    from regrad.core.opdef import Spec, define_op, find_op, same

    value = find_op("TestWrongShape") or define_op("TestWrongShape", "x", infer=lambda x: Spec((3,), x.dtype),
                                                   lower=lambda b, x: x * 2)
    with pytest.raises(AssertionError, match="shape"):
        _claims(Case("TestWrongShape", value, None, ((2,),), derivatives=False))
    kind = find_op("TestWrongDtype") or define_op("TestWrongDtype", "x", infer=lambda x: Spec(x.dims, dtypes.float32),
                                                  lower=lambda b, x: x * 2)
    with pytest.raises(AssertionError, match="float64, the rule said float32"):
        _claims(Case("TestWrongDtype", kind, None, ((2,),), derivatives=False))
    twice = find_op("TestTwoBackends") or define_op("TestTwoBackends", "x", infer=same,
                                                    lower=lambda b, x: x * (2 if b.is_host else 3))
    with pytest.raises(AssertionError, match="XLA"):
        _claims(Case("TestTwoBackends", twice, None, ((2,),), derivatives=False))
    with pytest.raises(AssertionError, match="host"):
        _claims(Case("TestTwoBackends", twice, lambda x: 3 * x, ((2,),), derivatives=False))


def test_the_checker_notices_wrong_runs():
    """A wrong value, dtype, error, variable or gradient, and a shape that TensorFlow would know."""
    row = Steps("AssignAdd", lambda v, x: [tf.assign_add(v, x)], (np.float32([1]),), (np.float32([1]),))
    found = oracle.run_steps(tf, row)
    right = {"fingerprint": oracle.fingerprint(row, [*row.variables, *row.inputs]), **found}
    check_steps(row, found, right, "full shapes", None)
    for wrong in ({"results": [[np.float32([2.001])]]}, {"results": [[np.float64([2])]]}, {"results": [[]]},
                  {"results": [{"error": "InternalError"}]}, {"variables": [[np.float32([1])]]}, {"gradients": [True, False]},
                  {"fingerprint": 0}):
        with pytest.raises(AssertionError):
            check_steps(row, found, right | wrong, "full shapes", None)
    with pytest.raises(AssertionError, match="knows the shape"):
        check_steps(row, found | {"shapes": [[None]]}, right, "full shapes", None)
    with pytest.raises(AssertionError, match="the rule said"):
        check_steps(row, found | {"shapes": [[[2]]]}, right, "full shapes", None)
    with pytest.raises(AssertionError, match="and is the same"):
        check_steps(row, found, right, "full shapes", "a reason that is none")
