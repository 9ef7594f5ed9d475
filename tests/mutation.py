"""How many small faults in the gradients do the tests notice?

    python tests/mutation.py [--samples 400] [--seed 1] [--only norm_grad ...] [--results FILE] [--again | --report]

Faults are made with Cosmic Ray, a mutation tester: its operators and a few of our own (OPERATORS) change one place of a
file: a sign, a comparison, a number, a dropped term, swapped arguments. A sample of all places, the same for the same
seed and the same lines, spread over the files by their size, is tried: the tests that cover a file run until one of them
fails.

Every fault runs in a fork of this process, which has loaded NumPy, JAX and pytest but nothing of Regrad; the child gets
the changed source by an import hook, so that no file changes. There are two stages: first the rows of `tests/cases` that
NumPy can evaluate, which take a second; what they do not notice meets the rows that need XLA, and the other tests in TESTS.

Each fault is a line of JSON in the results file. A fault is known by its line's text, so that a run goes on where an
earlier one stopped, also after the files have changed elsewhere; the report says what was drawn and not tried yet. JUDGED
below says which faults cannot be noticed, since they change nothing.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("JAX_PLATFORMS", "cpu")
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # a forked child must not wait for threads it does not have
    os.environ.setdefault(_name, "1")

FILES = [*sorted((ROOT / "regrad" / "ops").glob("*_grad.py")),
         *(ROOT / "regrad" / "autodiff" / n for n in (
             "gradients.py", "partials.py", "groups.py", "derivatives.py", "overrides.py", "resolution.py"))]

# Cosmic Ray's operators, without those whose faults no program survives (a tensor shifted left, a decorator taken away).
OPERATORS = """
    ReplaceBinaryOperator_Add_Sub ReplaceBinaryOperator_Sub_Add ReplaceBinaryOperator_Mul_Div ReplaceBinaryOperator_Mul_Add
    ReplaceBinaryOperator_Div_Mul ReplaceBinaryOperator_FloorDiv_Mul ReplaceBinaryOperator_Mod_FloorDiv
    ReplaceBinaryOperator_Pow_Mul ReplaceBinaryOperator_BitAnd_BitOr ReplaceBinaryOperator_BitOr_BitAnd
    ReplaceUnaryOperator_Delete_USub ReplaceUnaryOperator_Delete_Not
    ReplaceComparisonOperator_Eq_NotEq ReplaceComparisonOperator_NotEq_Eq
    ReplaceComparisonOperator_Lt_LtE ReplaceComparisonOperator_Lt_GtE
    ReplaceComparisonOperator_LtE_Lt ReplaceComparisonOperator_LtE_Gt
    ReplaceComparisonOperator_Gt_GtE ReplaceComparisonOperator_Gt_LtE
    ReplaceComparisonOperator_GtE_Gt ReplaceComparisonOperator_GtE_Lt
    ReplaceComparisonOperator_Is_IsNot ReplaceComparisonOperator_IsNot_Is
    AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd
    ReplaceBreakWithContinue ReplaceContinueWithBreak NumberReplacer ZeroIterationForLoop
    """.split()

# Functions that a rule may be missing around something: f(x, ...) becomes x.
STEPS = set("""
    abs broadcast_like cast conj cos exp expand_dims identity invert_permutation log negative real reciprocal reshape
    reshape_like reversed rsqrt sign sin sorted sqrt square stop_gradient sum_to_like transpose zeros_like ones_like
    convert_to_tensor mulnonan_op divnonan_op
    """.split())

STAGES = ("host", "xla")

# Quick ones first.
BUILDER = [*(f"tests/autodiff/test_{n}.py" for n in ("overrides", "derivatives", "custom", "second_order", "transforms")),
           "tests/test_silent_overrides.py", "tests/inspect/test_explain.py", "tests/autodiff", "tests/ops",
           "tests/test_programs.py", "tests/test_tf1_behaviour.py"]

# The families of rows, and the other tests, that cover a file; by default the family of its name.
TESTS = {
    "barrier_grad": ([], ["tests/ops/test_gradient_graphs.py", "tests/autodiff", "tests/runtime"]),
    "compare_grad": (["compare", "math", "clip"], []),
    "flow_grad": ([], ["tests/ops/test_gradient_graphs.py", "tests/autodiff", "tests/ops/test_functional.py",
                       "tests/nn/test_rnn.py", "tests/runtime", "tests/test_tf1_behaviour.py",
                       "tests/test_silent_overrides.py"]),
    "einsum_grad": (["einsum"], ["tests/ops/test_gradient_graphs.py"]),
    "indexing_grad": (["indexing"], ["tests/ops/test_gradient_graphs.py", "tests/ops/test_indexing.py",
                                     "tests/autodiff/test_derivatives.py"]),
    "layout_grad": (["layout"], []),
    "array_grad": (["array", "layout"], ["tests/ops", "tests/test_tf1_behaviour.py"]),
    "random_grad": (["random"], ["tests/variables/test_variables.py"]),
    "state_grad": ([], ["tests/test_gradients_declared.py", "tests/variables"]),
    "train_grad": (["train"], ["tests/test_gradients_declared.py"]),
    "tensor_array_grad": ([], ["tests/ops", "tests/autodiff", "tests/nn/test_rnn.py", "tests/test_tf1_behaviour.py"]),
    "gradients": (["array", "math"], BUILDER),
    "derivatives": ([], ["tests/autodiff/test_derivatives.py", "tests/autodiff", "tests/test_tf1_behaviour.py"]),
    **{name: ([], BUILDER) for name in ("overrides", "resolution", "groups", "partials")},
}

# Faults that change nothing that can be seen: {(file, line as changed): why}.
_ONE = "there is one"
_SYMMETRIC = "the function is symmetric"
_RANK = "of two axes the last is number 1"
JUDGED = {
    ("flow_grad", "while graph is None:"): "the bodies around are extended too, which forgets the same",
    ("flow_grad", "if _is_real(y):"): "a walk hands zeros where nothing arrives",
    ("indexing_grad", "first = cast(equal(x, y), dtype)"): _SYMMETRIC,
    ("indexing_grad", "rest = cast(equal(updates, indexing.gathernd_op(y, indices)), dtype)"): _SYMMETRIC,
    ("math_grad", "return math.mulnonan_op(conj(derivative(op.inputs[ -1], op.outputs[0])), dy)"): _ONE,
    ("math_grad", "x, s = op.inputs[0], op.outputs[ -1]"): _ONE,
    ("nn_grad", "return nn.softplusgrad_op(dy, op.inputs[ -1])"): _ONE,
    ("nn_grad", 'return nn.leakyrelugrad_op(dy, op.inputs[ -1], alpha=op.attrs["alpha"])'): _ONE,
    ("nn_grad", "dlogits += (dback - reduce_sum(dback * p, 1, keepdims=True)) * p"): _RANK,
    ("nn_grad", "dlogits += reduce_sum(labels, 1, keepdims=True) * (dback - dp) * p"): _RANK,
    ("derivatives", "shape = array.concat([array.shape(y), array.shape(probe[k])], -1)"): "a vector has one axis",
    ("derivatives", 'def hessians(ys, xs, name="hessians", colocate_gradients_with_ops=True, gate_gradients=False, '
                    "aggregation_method=None,"): "the argument is accepted and ignored",
    ("gradients", "if len(outputs) >= 1:"): "where nothing arrives at an only output, the walk has left before",
    ("partials", "self.terms[tensor] = [math.addn_op([(g) for g in terms])]"): "an op converts what it is given",
    ("gradients", "if not compatible(t.dims, g.dims):"): _SYMMETRIC,
    ("derivatives", "probe = gradients(y, x, **options)[ -1]"): _ONE,
    ("flow_grad", "dy = (dy)"): "an op converts what it is given",
    ("pool_grad", "return pool.avgpoolgrad_op(shape(op.inputs[ -1]), dy, **_attrs(op))"): _ONE,
    ("pool_grad", "return pool.maxpoolgradv2_op(x, op.outputs[ -1], dy, ksize, strides, **_attrs(op)), None, None"): _ONE,
    ("random_grad", "y = op.outputs[ -1]"): _ONE,
    ("reduce_grad", "return max(1, nx // max(ny, 1))"): _SYMMETRIC,
    ("reduce_grad", "return math.cast(math.maximum(math.floordiv(size(x), math.maximum(1, size(y))), 1), x.dtype)"): _SYMMETRIC,
}


# -- faults --------------------------------------------------------------------------------------------


def own_operators():
    """Returns Cosmic Ray operators for what it has none for: dropped terms, swapped arguments and results, missing steps."""
    import parso
    from cosmic_ray.operators.operator import Operator

    def inside(node, *kinds):
        while node is not None:
            if node.type in kinds:
                return True
            node = node.parent
        return False

    class Own(Operator):
        def mutation_positions(self, node):
            # The words of errors are not what is tested here.
            if not inside(node, "fstring", "raise_stmt", "decorator", "assert_stmt"):
                for _ in self.choices(node):
                    yield node.start_pos, node.end_pos

        def mutate(self, node, index):
            first = node.get_first_leaf()
            return parso.parse(first.prefix + self.choices(node)[index])

        @classmethod
        def examples(cls):
            return ()

    def code(nodes):
        return "".join(n.get_code() for n in nodes).strip()

    class DropOperand(Own):
        def choices(self, node):
            if node.type not in ("arith_expr", "term", "and_test", "or_test"):
                return []
            found = []
            for i in range(1, len(node.children), 2):
                found.append(code(node.children[:i] + node.children[i + 2:]))
                if i == 1 and node.children[i].value != "/" and node.children[i].value != "//":
                    rest = node.children[i:] if node.children[i].value == "-" else node.children[i + 1:]
                    found.append(code(rest))
            return found

    def swaps(children):
        found = []
        for i in range(0, len(children) - 2, 2):
            a, b = children[i], children[i + 2]
            if not {"argument", "lambdef", "string"} & {a.type, b.type} and code([a]) != code([b]):
                found.append(code(children[:i]) + code([b]) + ", " + code([a]) + code(children[i + 3:]))
        return found

    class SwapArguments(Own):
        def choices(self, node):
            if node.type != "arglist" or node.parent.type != "trailer":
                return []
            if code([node.parent.parent.children[0]]) in ("isinstance", "getattr", "hasattr", "setattr"):
                return []
            return swaps(node.children)

    class SwapResults(Own):
        def choices(self, node):
            if node.type != "testlist" or node.parent.type != "return_stmt":
                return []
            return swaps(node.children)

    class MissingStep(Own):
        def choices(self, node):
            if node.type not in ("atom_expr", "power") or len(node.children) < 2:
                return []
            call = node.children[-1]
            if call.type != "trailer" or call.children[0].value != "(" or len(call.children) != 3:
                return []
            name = node.children[-2]
            name = name.children[-1] if name.type == "trailer" else name
            if getattr(name, "value", None) not in STEPS:
                return []
            first = call.children[1]
            first = first.children[0] if first.type == "arglist" else first
            return [] if first.type == "argument" else [f"({code([first])})"]

    return {c.__name__: c for c in (DropOperand, SwapArguments, SwapResults, MissingStep)}


def operators():
    from cosmic_ray.operators.provider import OperatorProvider

    known = OperatorProvider()
    return {name: known[name] for name in OPERATORS} | own_operators()


def mutants(path):
    """Returns every fault of a file: [{"file", "operator", "occurrence", "line", "text", "nth"}].

    `text` is the line, `nth` counts what the operator can do to lines that read so.
    """
    from cosmic_ray.ast import ast_nodes, get_ast

    source = path.read_text()
    tree, lines = get_ast(source), source.splitlines()
    found = []
    for name, operator in operators().items():
        seen: collections.Counter[str] = collections.Counter()
        positions = [p for node in ast_nodes(tree) for p in operator().mutation_positions(node)]
        for i, ((line, _), _) in enumerate(positions):
            text = lines[line - 1].strip()
            found.append({"file": path.stem, "operator": name, "occurrence": i, "line": line, "text": text, "nth": seen[text]})
            seen[text] += 1
    return found


def key(mutant):
    return mutant["file"], mutant["operator"], mutant["text"], mutant["nth"]


def mutate(path, mutant):
    """Returns (changed source, the lines before, the lines after)."""
    import difflib

    from cosmic_ray.mutating import mutate_code

    source = path.read_text()
    changed = mutate_code(source, operators()[mutant["operator"]](), mutant["occurrence"])
    diff = list(difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm=""))[3:]
    before = " ".join(d[1:].strip() for d in diff if d.startswith("-"))
    after = " ".join(d[1:].strip() for d in diff if d.startswith("+"))
    return changed, before, after


def hints(path, line):
    """Returns the strings quoted in the statement around a line, and in those that name what it defines: op types."""
    import ast

    tree = ast.parse(path.read_text())
    around = [s for s in tree.body if min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", ()))]) <= line
              <= s.end_lineno]
    names = {s.name for s in around if hasattr(s, "name")}
    around += [s for s in tree.body if names & {n.id for n in ast.walk(s) if isinstance(n, ast.Name)}]
    return {n.value for s in around for n in ast.walk(s) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def sample(seed, count):
    """Returns faults drawn at random, from each file as many as its share of all faults, and no fewer than four."""
    def rank(mutant):
        return hashlib.sha256(repr((seed, key(mutant))).encode()).digest()

    per_file = {p: mutants(p) for p in FILES}
    total = sum(map(len, per_file.values()))
    chosen = []
    for found in per_file.values():
        n = min(len(found), max(4, round(count * len(found) / total)))
        chosen += sorted(found, key=rank)[:n]
    return chosen, total


# -- one fault, one child --------------------------------------------------------------------------------


def preload():
    """Loads what is slow to load and has no part in what is tested."""
    for name in ("numpy", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.ndimage", "pytest",
                 "jax", "jax.numpy", "jax.lax", "jax.scipy.special", "jax.export", "rich"):
        __import__(name)


class Hook:
    """Imports one module from another source than its file."""

    def __init__(self, path, source):
        self.name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        self.path, self.source = path, source

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        import importlib.machinery
        import importlib.util

        hook = self

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname):
                return compile(hook.source, str(hook.path), "exec", dont_inherit=True)

        return importlib.util.spec_from_file_location(fullname, self.path, loader=Loader(fullname, str(self.path)))


class Choose:
    """A pytest plugin: only rows of some families, evaluated by NumPy alone or row by row with XLA; the first failure."""

    def __init__(self, families, stage, first):
        self.families, self.stage, self.first = families, stage, first
        self.failed = ""

    def pytest_collection_modifyitems(self, items):
        kept = []
        for item in items:
            if item.path.name == "test_ops.py":
                if not hasattr(item, "callspec"):
                    continue
                row = next(iter(item.callspec.params.values()))
                if not isinstance(row, tuple) or row[0] not in self.families:
                    continue
                self.adapt(item.module)
            kept.append(item)
        items[:] = sorted(kept, key=self.order)  # what is likeliest to fail comes first

    def order(self, item):
        row = next(iter(item.callspec.params.values())) if hasattr(item, "callspec") else None
        return not (isinstance(row, tuple) and getattr(row[1], "op_type", "") in self.first)

    def adapt(self, test_ops):
        import pytest

        from tests import opcheck

        host = self.stage == "host"

        def measured(measurements, case):
            m = opcheck.Measured(case)
            if m.error is None and host != all(m.on_host.values()):
                pytest.skip("another stage")
            if m.error is None and host:
                m.session = m.host[m.known[-1]][0]
            elif m.error is None:
                opcheck.measure([m])
                test_ops._run_session([m])
            return m

        test_ops.Measurements.__getitem__ = measured
        if host:
            opcheck.Built.host_only = opcheck.Built.on_host

    def pytest_collectreport(self, report):
        if report.failed and not self.failed:
            self.failed = f"while collecting {report.nodeid}"

    def pytest_runtest_logreport(self, report):
        if report.failed and not self.failed:
            self.failed = report.nodeid


def child(path, source, stage, families, tests, first, log):
    """Runs a stage's tests in this process; returns what failed first, "" if nothing did."""
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    import pytest

    if source is not None:
        sys.meta_path.insert(0, Hook(path, source))
    chosen = (["tests/test_ops.py"] if families else []) + (tests if stage == "xla" else [])
    if not chosen:
        return "", 5
    if stage != "host":
        import jax

        jax.config.update("jax_compilation_cache_dir", os.environ["MUTATION_CACHE"] + "/jax")
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    sys.stdout = sys.stderr = log
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    plugin = Choose(families, stage, first)
    code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", *chosen],
                       plugins=[plugin])
    return plugin.failed, int(code)


def attempt(path, source, stage, timeout, first=frozenset()):
    """Returns (outcome, what failed, seconds): "killed", "survived", "timeout" or "nothing" (no test ran)."""
    families, tests = TESTS.get(path.stem, ([path.stem.removesuffix("_grad")], []))
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as log, tempfile.NamedTemporaryFile("r") as answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pid = os.fork()
        if pid == 0:
            status = 70
            try:
                os.setpgid(0, 0)
                failed, code = child(path, source, stage, families, tests, first, log)
                with open(answer.name, "w") as f:
                    json.dump([failed, code], f)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() - started > timeout:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return "timeout", "", time.monotonic() - started
            time.sleep(0.02)
        seconds = time.monotonic() - started
        text = answer.read()
        if status or not text:
            log.seek(0)
            return "killed", f"the process ended: {log.read()[-200:]}", seconds
        failed, code = json.loads(text)
        if code == 5 and not failed:
            return "nothing", "", seconds
        return ("killed" if code else "survived"), failed, seconds


def try_fault(path, mutant, limits):
    source, before, after = mutate(path, mutant)
    mutant = {**mutant, "before": before, "after": after, "outcome": "survived", "stage": "", "by": "", "seconds": 0.0}
    try:
        compile(source, str(path), "exec")
    except SyntaxError as error:
        return {**mutant, "outcome": "no program", "by": str(error)}
    for stage in STAGES:
        outcome, by, seconds = attempt(path, source, stage, limits[stage], hints(path, mutant["line"]))
        mutant["seconds"] = round(mutant["seconds"] + seconds, 2)
        if outcome in ("killed", "timeout"):
            return {**mutant, "outcome": outcome, "stage": stage, "by": by}
    return mutant


# -- a run --------------------------------------------------------------------------------------------------


def load(results):
    """Returns the last result of each fault."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return list({key(m): m for m in rows}.values())


def drawn(args):
    """Returns (the sample, without files that are not asked for; how many faults there are)."""
    chosen, total = sample(args.seed, args.samples)
    return [m for m in chosen if not args.only or m["file"] in args.only], total


def run(args):
    preload()
    os.nice(max(0, 19 - os.nice(0)))
    os.environ.setdefault("MUTATION_CACHE", os.path.join(tempfile.gettempdir(), f"regrad-mutation-{os.getuid()}"))
    os.environ["REGRAD_CACHE_DIR"] = ""  # JAX's own cache serves both; an executable that came from it cannot be stored again
    chosen, total = drawn(args)
    done = {key(m) for m in load(args.results)}
    todo = [m for m in chosen if key(m) not in done]
    print(f"seed {args.seed}: {len(chosen)} of {total} faults, {len(todo)} to try", flush=True)
    paths = {p.stem: p for p in FILES}
    limits: dict[str, dict[str, float]] = {}
    for mutant in todo:
        path = paths[mutant["file"]]
        if path.stem not in limits:
            limits[path.stem] = {}
            for stage in STAGES:
                outcome, by, seconds = attempt(path, None, stage, 1800)
                print(f"{path.stem}, no fault, {stage}: {outcome} {by} ({seconds:.1f} s)", flush=True)
                if outcome in ("killed", "timeout"):
                    sys.exit(f"the tests of {path.stem} fail without a fault: {by}")
                limits[path.stem][stage] = 120 + 10 * seconds  # what takes so long never ends
        result = try_fault(path, mutant, limits[path.stem])
        with open(args.results, "a", encoding="utf-8") as f:
            f.write(json.dumps(result) + "\n")
        if result["outcome"] == "survived":
            print(f"survived: {path.stem}:{result['line']}: {result['before']}\n      -> {result['after']}", flush=True)


def again(args):
    """Tries what survived once more, as the files and tests are now."""
    preload()
    os.environ.setdefault("MUTATION_CACHE", os.path.join(tempfile.gettempdir(), f"regrad-mutation-{os.getuid()}"))
    os.environ["REGRAD_CACHE_DIR"] = ""
    paths = {p.stem: p for p in FILES}
    for old in load(args.results):
        if old["outcome"] not in ("survived", "timeout") or (old["file"], old["after"]) in JUDGED:
            continue
        if args.only and old["file"] not in args.only:
            continue
        path = paths[old["file"]]
        same = {key(m): m for m in mutants(path)}.get(key(old))
        if same is None:
            result = {**old, "outcome": "gone", "by": "the line is no longer there"}
        else:
            found = try_fault(path, same, {"host": 600, "xla": 1800})
            result = {**found, "later": old["outcome"] == "survived"}
        with open(args.results, "a", encoding="utf-8") as f:
            f.write(json.dumps(result) + "\n")
        print(f"{result['outcome']}: {old['file']}:{old['line']}: {old['after']}\n    {result['by']}", flush=True)


def report(args):
    results = load(args.results)
    rows = [m for m in results if m["outcome"] not in ("no program", "gone")]
    table = collections.defaultdict(collections.Counter)
    for m in rows:
        equivalent = m["outcome"] == "survived" and (m["file"], m["after"]) in JUDGED
        table[m["file"]]["equivalent" if equivalent else m["outcome"]] += 1
    print(f"{'file':20} tried  noticed  equivalent  survived")
    whole = collections.Counter()
    for name, c in sorted(table.items()):
        whole += c
        print(f"{name:20} {c.total():5} {c['killed'] + c['timeout']:8} {c['equivalent']:11} {c['survived']:9}")
    noticed = whole["killed"] + whole["timeout"]
    later = sum(m.get("later", False) and m["outcome"] == "killed" for m in rows)
    print(f"{'all':20} {whole.total():5} {noticed:8} {whole['equivalent']:11} {whole['survived']:9}")
    if whole.total() > whole["equivalent"]:
        print(f"noticed: {100 * noticed / (whole.total() - whole['equivalent']):.1f} % of those that change something, "
              f"{100 * noticed / whole.total():.1f} % of all; {later} of them by tests that were written for them")
    chosen, total = drawn(args)
    untried = collections.Counter(m["file"] for m in chosen) - collections.Counter(
        m["file"] for m in chosen if key(m) in {key(r) for r in results})
    print(f"drawn and not tried: {untried.total()} of {len(chosen)} (there are {total})"
          + "".join(f", {n} in {name}" for name, n in untried.items()))
    for m in rows:
        if m["outcome"] == "survived" and (m["file"], m["after"]) not in JUDGED:
            print(f"survived: {m['file']}:{m['line']}: {m['before']}\n      -> {m['after']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "mutation.jsonl")
    parser.add_argument("--again", action="store_true", help="try what survived once more")
    parser.add_argument("--report", action="store_true", help="only show the results that are there")
    args = parser.parse_args()
    if args.again:
        again(args)
    elif not args.report:
        run(args)
    report(args)


if __name__ == "__main__":
    main()
