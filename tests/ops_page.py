"""Writes `docs/ops.md`: every op type, the functions that make it, its gradient rule, its tests, its differences.

    make pages

All of it is read from the code and the test tables. `tests/test_ops_page.py` holds the page against them, but for what every
edit moves: numbers of lines and of rows.
"""

import ast
import collections
import fnmatch
import importlib
import inspect
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ops.md"
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import regrad as tf  # noqa: E402
from regrad.core import gradient_registry, opdef  # noqa: E402
from tests import oracle, tf_gradients  # noqa: E402
from tests.cases import Bad, Case, Edge, Steps, families  # noqa: E402
from tests.differences import DIFFERENT  # noqa: E402

NAMESPACES = ("", "nn", "math", "linalg", "image", "strings", "random", "bitwise", "signal", "spectral", "losses", "sets",
              "quantization", "debugging", "train", "summary", "io", "layers", "metrics")
OWN = ("losses", "train", "layers", "metrics", "summary", "io", "debugging")
KINDS = {"rule": "with a gradient", "not differentiable": "not differentiable", "none": "neither"}
SHOWN = 5  # functions per op type


# -- facts --------------------------------------------------------------------------------------------


def kind(op_type):
    """Returns "rule", "not differentiable" or "none"."""
    found = gradient_registry.find(op_type)
    return "none" if found is None else "not differentiable" if found.function is None else "rule"


def built_in():
    """Returns the op types that Regrad defines, sorted."""
    for package in ("core", "ops", "autodiff", "variables", "train", "nn", "data"):
        path = ROOT / "regrad" / package
        for file in sorted(path.glob("*.py")):
            importlib.import_module(f"regrad.{package}.{file.stem}" if file.stem != "__init__" else f"regrad.{package}")
    return sorted(t for t in opdef.op_types() if not t.startswith("Test") and _home(t) is not None)


def _home(op_type):
    """Returns the module in which an op type's lowering stands, None for one that a user defined."""
    definition = opdef.find_op(op_type)
    for function in (definition.lower, definition.infer):
        code = getattr(function, "__code__", None)
        if code is not None and (name := _module(code.co_filename)) is not None and name != "regrad.core.opdef":
            return name
    for name, module in list(sys.modules.items()):
        if name.startswith("regrad.ops.") and any(v is definition for v in vars(module).values()):
            return name
    return None


def _module(filename):
    try:
        path = pathlib.Path(filename).resolve().relative_to(ROOT)
    except ValueError:
        return None
    return ".".join(path.with_suffix("").parts) if path.parts[0] == "regrad" else None


def quoted():
    """Returns {string: [(file, line)]} for the string constants of Regrad's files, those of gradient files first."""
    found = collections.defaultdict(list)
    for path in sorted((ROOT / "regrad").rglob("*.py"), key=lambda p: (not p.stem.endswith("_grad"), p)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found[node.value].append((path.relative_to(ROOT).as_posix(), node.lineno))
    return found


def rule_place(op_type, strings):
    """Returns (file, line) at which an op type's rule is entered: where its name is quoted, in its family's gradient file."""
    home = _home(op_type).replace(".", "/")
    function = gradient_registry.find(op_type).function
    own = _module(function.__code__.co_filename).replace(".", "/") + ".py" if function is not None else ""
    for file in (f"{home}_grad.py", own, f"{home}.py"):
        lines = [n for f, n in strings[op_type] if f == file]
        if lines:
            return file, lines[-1] if file == f"{home}.py" else lines[0]
        if file.endswith("_grad.py") and (ROOT / file).is_file():  # its name is put together there
            return file, 1
    return (own, function.__code__.co_firstlineno) if function is not None else (f"{home}.py", 1)


def _names_used(code):
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_used(constant)
    return names


def public_functions():
    """Returns {function: public name}: `tf.f` before `tf.module.f`, its own name before others."""
    found = {}
    for space in NAMESPACES:
        module = getattr(tf, space, None) if space else tf
        for name in sorted(dir(module)) if module is not None else ():
            value = None if name.startswith("_") else getattr(module, name, None)
            if not isinstance(value, types.FunctionType) or not value.__module__.startswith("regrad."):
                continue
            if space in OWN and not value.__module__.startswith(f"regrad.{space}"):
                continue  # what such a module imports for its own use
            if value not in found or not space and name == value.__name__:
                found[value] = f"tf.{space}.{name}" if space else f"tf.{name}"
    return found


def _ops_named(function):
    """Returns the op definitions that a function names: `relu_op`, or `nn.relu_op`."""
    names, spaces = _names_used(function.__code__), function.__globals__
    modules = [spaces[n] for n in names if isinstance(spaces.get(n), types.ModuleType)]
    found = set()
    for n in names:
        if n.endswith("_op"):
            found.update(v for m in [spaces, *map(vars, modules)] if isinstance(v := m.get(n), opdef.OpDef))
    return found


def makers():
    """Returns {op type: [public name]}: the functions of the op library that make it themselves, simplest first."""
    found = collections.defaultdict(list)
    for function, name in public_functions().items():
        plain = inspect.unwrap(function)
        todo, seen, used = [plain], set(), set()
        while todo:  # a function, and the private ones of its module that it calls
            f = todo.pop()
            if f not in seen:
                seen.add(f)
                used |= {d.type for d in _ops_named(f)}
                called = [f.__globals__.get(n) for n in _names_used(f.__code__) if n.startswith("_")]
                todo += [g for g in called if isinstance(g, types.FunctionType) and g.__module__ == plain.__module__]
        for t in used:
            found[t].append((_home(t) != plain.__module__, len(used), name))
    return {t: [n for *_, n in sorted(names)] for t, names in found.items()}


def _count(n, word):
    return f"{n} {word}" + ("" if n == 1 else "s")


def checks(op_type, rows, recorded):
    """Returns in words which rows hold an op type, or what does where it has none of its own."""
    from tests.test_gradients_declared import ELSEWHERE

    if op_type in ELSEWHERE:
        return ELSEWHERE[op_type]
    mine = [(f, r) for f, r in rows if r.op_type == op_type]
    held = [(f, r) for f, r in mine if isinstance(r, (Case, Steps))]
    cases = [(f, r) for f, r in held if isinstance(r, Case)]
    words = [_count(len(held), "row")] if held else []
    dtypes = {d for _, r in cases for d in r.dtypes} | {
        "string" if v.dtype == object else v.dtype.name for _, r in held if isinstance(r, Steps) for v in r.variables}
    dtypes = sorted(dtypes - {"float64"})
    if dtypes:
        words.append(" ".join(dtypes))
    order = max((r.order for _, r in cases if r.derivatives and r.differentiable(r.arrays())), default=0)
    if order and kind(op_type) == "rule":
        words.append(f"order {order}")
    n = sum(f"{f}-{r.id}" in recorded for f, r in held)
    if n:
        words.append(f"{n} against TensorFlow")
    for what, name in ((Edge, "edge"), (Bad, "refusal")):
        n = sum(isinstance(r, what) for _, r in mine)
        if n:
            words.append(_count(n, name))
    return ", ".join(words)


def differences(op_type, rows):
    """Returns the reasons for which rows of an op type answer otherwise than TensorFlow."""
    found = [tf_gradients.OTHERWISE[op_type]] if op_type in tf_gradients.OTHERWISE else []
    for f, r in rows:
        if isinstance(r, (Case, Steps)) and r.op_type == op_type:
            found += [why for pattern, why in DIFFERENT.items() if fnmatch.fnmatchcase(f"{f}-{r.id}", pattern)]
    return "; ".join(dict.fromkeys(found))


# -- the page ----------------------------------------------------------------------------------------------


def page():
    """Returns the text of the page."""
    all_types = built_in()
    by_kind = collections.Counter(kind(t) for t in all_types)
    rows = [(f, r) for f, rs in families().items() for r in rs]
    recorded, strings, made_by = oracle.recorded(), quoted(), makers()
    absent = tf_gradients.ABSENT
    waiting = [t for t in absent if absent[t].startswith("waiting")]
    of_tensorflow = tf_gradients.DIFFERENTIABLE | tf_gradients.OLDER | tf_gradients.HELPERS | tf_gradients.NOT_DIFFERENTIABLE
    from tests.test_gradients_declared import WITHOUT

    lines = [
        "# Op types", "",
        "Written by `make pages`. An op type is what an override names; `tf.raw_ops` makes each by its own",
        "name, and the functions here make it as TensorFlow's do. How a row of the tables is checked stands in",
        "[testing.md](testing.md).", "",
        "| | |", "|---|---|",
        f"| op types | {len(all_types)} |",
        *(f"| {words} | {by_kind[k]} |" for k, words in KINDS.items() if by_kind[k]),
        f"| of TensorFlow 1.15's op types with a gradient, or declared to have none, that a dense graph library is asked for "
        f"| {len(of_tensorflow)} |",
        f"| of these here, under that name or the newer one | {len(of_tensorflow - absent.keys())} |",
        f"| done otherwise | {len(absent) - len(waiting)} |",
        f"| waiting | {len(waiting)} |", "",
        *(f"Neither: `{t}`, {why}." for t, why in sorted(WITHOUT.items())), ""]
    groups = collections.defaultdict(list)
    for t in all_types:
        groups[_home(t).rpartition(".")[2]].append(t)
    for family in sorted(groups):
        lines += [f"## {family}", "", "| op type | made by | gradient | checks | otherwise than TensorFlow |",
                  "|---|---|---|---|---|"]
        for t in groups[family]:
            names = made_by.get(t, [])
            functions = " ".join(f"`{n}`" for n in names[:SHOWN]) + (" ..." if len(names) > SHOWN else "")
            if kind(t) == "none":
                rule = ""
            else:
                file, line = rule_place(t, strings)
                words = f"{pathlib.PurePath(file).name}:{line}" + ("" if kind(t) == "rule" else ", none flows")
                rule = f"[{words}](../{file}#L{line})"
            cells = (f"`{t}`", functions, rule, checks(t, rows, recorded), differences(t, rows))
            lines.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
        lines.append("")
    lines += ["## Older names", "",
              "An entry in the registry or an override under one of these serves the op type beside it.", "",
              "| name | op type |", "|---|---|",
              *(f"| `{a}` | `{t}` |" for a, t in sorted(gradient_registry.ALIASES.items())), "",
              "## Not here", "", "Op types that TensorFlow 1.15 differentiates, or declares not differentiable.", "",
              "| op type | why |", "|---|---|"]
    for why in dict.fromkeys(absent.values()):
        lines.append("| " + " ".join(f"`{t}`" for t in sorted(absent) if absent[t] == why) + f" | {why} |")
    return "\n".join(lines) + "\n"


def stable(text):
    """Returns what of a page must not be out of date: op types, functions, files and differences, without numbers."""
    text = re.sub(r":\d+(, none flows)?\]", r"\1]", re.sub(r"#L\d+", "", text))
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {tuple(cells[:3] + cells[4:]) if len(cells) == 5 else tuple(cells) for cells in rows}


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
