"""The corpus of TensorFlow 1 programs: where it lies, how it is run, how results are stored and compared.

Imported both by `record.py`, which runs the programs under real TensorFlow, and by the tests, which run
them under Regrad. It therefore imports neither.
"""
import contextlib
import importlib
import json
import math
import pathlib
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected"

# How far an array may be from the recorded one, as a share of the recorded one's largest magnitude, by dtype.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-5, "complex64": 1e-5, "float16": 2e-3}


def programs(folder):
    """Returns the paths of the programs in `folder` ("seeds", "research"), in alphabetical order."""
    return sorted((HERE / folder).glob("*.py"))


# -- Stored results -------------------------------------------------------------------
def encode(value):
    """Returns `value` (nested lists and dicts of numbers, strings, None and arrays) as JSON can hold it."""
    if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, bytes):
        return {"$bytes": value.decode("latin-1")}
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind == "c":
            flat = [[float(z.real), float(z.imag)] for z in array.ravel()]
        elif array.dtype.kind in "OS":
            flat = [encode(item) for item in array.ravel().tolist()]
        elif array.dtype.kind == "f":
            # A float32 is stored with the digits that identify it, not with those of its double.
            flat = [float(str(x)) for x in array.ravel()]
        else:
            flat = array.ravel().tolist()
        return {"$dtype": "object" if array.dtype.kind in "OS" else array.dtype.name,
                "$shape": list(array.shape), "$values": flat}
    raise TypeError(f"cannot be stored: {value!r} of type {type(value).__name__}; give .name, .as_list() ...")


def decode(stored):
    """The inverse of `encode`; tuples come back as lists."""
    if isinstance(stored, list):
        return [decode(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if "$bytes" in stored:
        return stored["$bytes"].encode("latin-1")
    if "$values" not in stored:
        return {key: decode(item) for key, item in stored.items()}
    values, name = stored["$values"], stored["$dtype"]
    if name == "object":
        array = np.empty(len(values), object)
        array[:] = [decode(item) for item in values]
    elif name.startswith("complex"):
        array = np.array([complex(*pair) for pair in values], name)
    else:
        array = np.array(values, name)
    return array.reshape(stored["$shape"])


def load_json(name):
    return json.loads((EXPECTED / name).read_text())


def save_json(name, table):
    """Writes `table` (id -> encoded result) with one row a line, so that a change reads well in a diff."""
    rows = [f"{json.dumps(key)}: {json.dumps(item)}" for key, item in table.items()]
    (EXPECTED / name).write_text("{\n" + ",\n".join(rows) + "\n}\n")


# -- Comparison -----------------------------------------------------------------------
def differences(got, want, tolerance=None, where="result"):
    """Returns a list of sentences saying where `got` is not `want` ([] if it is).

    Strings, booleans, None and integers must be equal; arrays must agree in dtype and shape, and in value up
    to `tolerance`, or else `TOLERANCES` of the recorded dtype, times the array's largest magnitude.
    """
    if isinstance(want, dict):
        if not isinstance(got, dict) or sorted(map(str, got)) != sorted(want):
            return [f"{where}: got {_short(got)}, expected a dict with keys {sorted(want)}"]
        got = {str(key): item for key, item in got.items()}
        return [d for key in want for d in differences(got[key], want[key], tolerance, f"{where}[{key!r}]")]
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return [f"{where}: got {_short(got)}, expected {_short(want)}"]
        return [d for i, (g, w) in enumerate(zip(got, want, strict=True))
                for d in differences(g, w, tolerance, f"{where}[{i}]")]
    if isinstance(want, np.ndarray):
        return _array_differences(got, want, tolerance, where)
    if isinstance(want, float) and isinstance(got, (int, float)) and not isinstance(got, np.generic):
        same = got == want or math.isnan(got) and math.isnan(want) or math.isclose(got, want, rel_tol=1e-6)
        return [] if same else [f"{where}: got {got!r}, expected {want!r}"]
    same = type(got) is type(want) and got == want
    return [] if same else [f"{where}: got {_short(got)}, expected {_short(want)}"]


def _array_differences(got, want, tolerance, where):
    if not isinstance(got, (np.ndarray, np.generic)):
        return [f"{where}: got {_short(got)}, expected an array {want.dtype}{list(want.shape)}"]
    got = np.asarray(got)
    if want.dtype.kind == "O":
        return differences(got.tolist(), want.tolist(), tolerance, where)
    if got.dtype != want.dtype or got.shape != want.shape:
        return [f"{where}: got {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"]
    if want.dtype.kind not in "fc":
        return [] if np.array_equal(got, want) else [f"{where}: got {_short(got)}, expected {_short(want)}"]
    finite = np.abs(want[np.isfinite(want)])
    allowed = (tolerance or TOLERANCES[want.dtype.name]) * (finite.max() if finite.size else 1.0) + 1e-12
    if np.allclose(got, want, rtol=0.0, atol=allowed, equal_nan=True):
        return []
    apart = np.abs(got - want)
    worst = f"; largest difference {np.nanmax(apart):.3g}" if np.isfinite(apart).any() else ""
    return [f"{where}: got {_short(got)}, expected {_short(want)}{worst}"]


def _short(value):
    text = " ".join(repr(value).split())
    return text if len(text) < 300 else text[:300] + " ..."


# -- Snippets -------------------------------------------------------------------------
class Row:
    """One row of a behaviour table: a few lines of TF1 that leave their answer in `result`.

    Args:
      id: a name for the row, unique in the corpus.
      code: Python; `tf`, `np` and the names that `run_row` gives are there.
      expect: what must come, where a later TensorFlow answers otherwise than 1.15; else it is recorded.
      raises: (type name, word): the code must raise that type or a subclass, with that word in its message.
      asked: False if a later TensorFlow does not refuse it, or refuses it otherwise.
      tolerance: replaces the one of the dtype.
    """

    def __init__(self, id, code, raises=None, asked=True, tolerance=None, **expect):
        self.id, self.code, self.raises, self.asked, self.tolerance = id, code, raises, asked, tolerance
        self.recorded = "expect" not in expect and raises is None
        self.expect = expect.pop("expect", None)
        assert not expect, f"{id}: unknown options {sorted(expect)}"

    def __repr__(self):
        return self.id


def run_row(row, tf):
    """Runs the code of `row` against `tf` in a graph of its own and returns its `result`.

    Names given to the code: `run(fetches, feed_dict)` runs in one session after initialising all variables;
    `names()` and `types()` list the graph's operations in the order they were made; `raised(f)` calls f and
    returns the names of the exception's classes, or None; `module(path)` gives one of TensorFlow's own, by its name
    below `tensorflow.`.
    """
    graph, sessions = tf.Graph(), []

    def run(fetches, feed_dict=None):
        if not sessions:
            sessions.append(tf.Session())
            sessions[0].run(tf.global_variables_initializer())
        return sessions[0].run(fetches, feed_dict)

    def raised(call):
        try:
            call()
        except Exception as error:
            return [c.__name__ for c in type(error).__mro__]
        return None

    def module(path):
        return importlib.import_module(f"{tf.__name__.partition('.')[0]}.{path}")

    space = {"tf": tf, "np": np, "run": run, "raised": raised, "graph": graph, "module": module,
             "names": lambda: [op.name for op in graph.get_operations()],
             "types": lambda: [op.type for op in graph.get_operations()]}
    with graph.as_default(), warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore", DeprecationWarning)
        stack.callback(lambda: [session.close() for session in sessions])
        exec(compile(row.code, f"<{row.id}>", "exec"), space)
    return space.get("result")


def failure_of(row, tf):
    """Runs a row that must raise; returns None if it did as the row says, else a sentence."""
    kind, word = row.raises
    try:
        result = run_row(row, tf)
    except Exception as error:
        classes = [c.__name__ for c in type(error).__mro__]
        if kind not in classes:
            return f"raised {classes[0]}, expected {kind}: {error}"
        if word.lower() not in str(error).lower():
            return f"the message lacks {word!r}: {error}"
        return None
    return f"gave {_short(result)}, expected {kind}"
