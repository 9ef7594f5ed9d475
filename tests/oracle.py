"""The rows of `tests/cases` under real TensorFlow: what it answers, recorded for the tests of every other machine.

    python tests/oracle.py [family ...]     (with TensorFlow 2.x, used as its version 1)

writes `tests/cases/tensorflow.npz` (or $ORACLE_FILE): for each row that TensorFlow can build, its outputs and their
first and second derivatives. With families named, what is recorded of the others stays. The tables build their graphs
through `regrad.ops...`; here those names lead to TensorFlow's functions and op types, so that the very same rows run.
`tests/test_ops.py` compares.
"""

import contextlib
import importlib
import inspect
import json
import os
import pathlib
import sys
import types
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
FILE = pathlib.Path(os.environ.get("ORACLE_FILE", HERE / "cases" / "tensorflow.npz"))
LEVELS = 2


def fingerprint(case, arrays):
    """Returns a number that changes when a row's inputs do: a recording of other inputs is out of date."""
    text = repr([(x.shape, str(x.dtype), x.tolist()) for x in arrays])
    if hasattr(case, "wrt"):
        text += repr(case.kwargs) + repr(case.wrt)
    return zlib.crc32(text.encode())


def weights(level, index, shape, dtype):
    """Returns the gradient that arrives at one tensor of a level, the same wherever it is asked for."""
    from tests.cases import random_like

    return random_like(shape, dtype, np.random.RandomState(100 * level + index)).astype(dtype)


def recorded():
    """Returns {row key: {"fingerprint", "outputs", "levels", "missing"}} as it stands in the file.

    A row of several runs has what `run_steps` gives.
    """
    if not FILE.exists():
        return {}
    with np.load(FILE, allow_pickle=False) as data:
        rows, arrays = json.loads(str(data["rows"])), _unpacked(data)
    for row in rows.values():
        _each(row, arrays.__getitem__)
    return rows


ARRAYS = ("outputs", "levels", "results", "variables")  # what of a recorded row are arrays, in lists of lists


def _each(row, function):
    """Replaces every array of a row, or name of one, by what `function` makes of it."""
    def changed(x):
        return [changed(item) for item in x] if isinstance(x, list) else x if x is None or isinstance(x, dict) else function(x)

    row.update({k: changed(row[k]) for k in ARRAYS if k in row})


def _packed(arrays):
    """Returns thousands of small arrays as two: an entry of an archive is larger than most of them.

    Of strings there are the bytes, and in the index the lengths.
    """
    index, parts = {}, []
    for name, a in arrays.items():
        if a.dtype == object:
            items = [item if isinstance(item, bytes) else item.encode() for item in a.ravel().tolist()]
            index[name] = [len(item) for item in items], a.shape
            parts += items
        else:
            index[name] = str(a.dtype), a.shape
            parts.append(a.tobytes())
    return {"index": json.dumps(index), "bytes": np.frombuffer(b"".join(parts), np.uint8)}


def _unpacked(data):
    """Returns the arrays that `_packed` put together, by name."""
    arrays, all_bytes, at = {}, data["bytes"].tobytes(), 0
    for name, (dtype, shape) in json.loads(str(data["index"])).items():
        if isinstance(dtype, list):
            ends = at + np.cumsum([0, *dtype])
            a = np.empty(len(dtype), object)
            a[:] = [all_bytes[i:j] for i, j in zip(ends, ends[1:])]
            arrays[name], at = a.reshape(shape), int(ends[-1])
            continue
        size = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(all_bytes, _dtype(dtype), size, at).reshape(shape)
        at += arrays[name].nbytes
    return arrays


def _dtype(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


# -- TensorFlow under Regrad's names -------------------------------------------------------------

RENAMED = {"complex_abs": "abs", "select": "where", "slice_": "slice", "print_": "print", "accumulaten": "AccumulateNV2"}


def _raw(tf, name):
    """Returns an op type as a function of positional inputs: TensorFlow's own take keywords only."""
    found = {n.lower(): n for n in dir(tf.raw_ops)}
    op_type, name = name, found.get(name) or found.get(name + "v2") or found.get(name + "v3")
    if name is None:
        return _missing(op_type)
    function = getattr(tf.raw_ops, name)
    names = list(inspect.signature(function).parameters)

    def build(*inputs, **attrs):
        return function(**dict(zip(names, inputs)), **attrs)

    return build


class Names(types.ModuleType):
    """A module any of whose names is looked for among TensorFlow's."""

    __path__: list = []

    def __init__(self, name, tf):
        super().__init__(name)
        self.__dict__["_tf"] = tf

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        tf = self._tf
        if name.endswith("_op") and not hasattr(tf, name):
            return _raw(tf, name[:-3])
        name = RENAMED.get(name, name)
        later = sys.modules["tensorflow"]  # what only version 2 has
        tables = importlib.import_module("tensorflow.python.ops.lookup_ops")  # what stood in tf.contrib
        for space in (tf, tf.math, tf.linalg, tf.signal, tf.nn, tf.bitwise, tf.strings, tf.image, tf.random, tf.sparse,
                      tf.quantization, tf.math.special, tf.debugging, tf.errors, tf.dtypes, later.linalg, later.math,
                      tf.lookup, tables):
            if hasattr(space, name):
                return getattr(space, name)
        if f"{self.__name__}.{name}" in sys.modules:
            return sys.modules[f"{self.__name__}.{name}"]
        if name.replace("_", "") in {n.lower() for n in dir(tf.raw_ops)}:
            return _raw(tf, name.replace("_", ""))
        return _missing(name)


def _missing(name):
    def build(*args, **kwargs):
        raise AttributeError(f"TensorFlow has no {name!r}")

    return build


def pretend(tf):
    """Makes `import regrad...` give TensorFlow's names."""
    core, ops = ([p.stem for p in (HERE.parent / "regrad" / part).glob("*.py")] for part in ("core", "ops"))
    for name in ["regrad", "regrad.core", *(f"regrad.core.{m}" for m in core), "regrad.nn", "regrad.nn.functions", "regrad.ops",
                 *(f"regrad.ops.{m}" for m in ops)]:
        sys.modules[name] = Names(name, tf)
    for name in list(sys.modules):
        if name.startswith("regrad."):
            parent, _, child = name.rpartition(".")
            sys.modules[parent].__dict__[child] = sys.modules[name]
    sys.modules["regrad.core.errors"].__dict__.update(ShapeError=ValueError, BadValue=ValueError)


def _differentiate(tf, session, outputs, inputs, feeds, order):
    """Returns (gradients per level, what stopped it), level after level as `test_ops.py` does."""
    levels = []
    current = [t for t in outputs if t.dtype.is_floating or t.dtype.is_complex]
    for level in range(order):
        values = session.run(current, feeds)
        seeds = [tf.constant(weights(level, i, v.shape, v.dtype)) for i, v in enumerate(values)]
        try:
            grads = tf.gradients(current, inputs, grad_ys=seeds)
        except (LookupError, ValueError, TypeError, NotImplementedError, RuntimeError) as error:
            return levels, f"{type(error).__name__}: {str(error)[:80]}"
        grads = [None if g is None else tf.convert_to_tensor(g) for g in grads]
        present = iter(session.run([g for g in grads if g is not None], feeds))
        levels.append([None if g is None else next(present) for g in grads])
        current = [g for g in grads if g is not None]
        if not current:
            break
    return levels, ""


def record_row(tf, case, order=LEVELS):
    arrays = case.arrays()
    with tf.Graph().as_default(), tf.Session() as session:
        placeholders = [tf.placeholder(tf.as_dtype(x.dtype) if x.dtype != object else tf.string, x.shape) for x in arrays]
        feeds = dict(zip(placeholders, arrays))
        out = case.build(*placeholders, **case.kwargs)
        outputs = [tf.convert_to_tensor(t) for t in (out if isinstance(out, (list, tuple)) else [out])]
        values = [as_array(v) for v in session.run(outputs, feeds)]
        levels, missing = [], ""
        wrt = case.differentiable(arrays)
        if wrt and case.order and case.derivatives:
            levels, missing = _differentiate(tf, session, outputs, [placeholders[i] for i in wrt], feeds, order)
    return {"fingerprint": fingerprint(case, arrays), "outputs": values, "levels": levels, "missing": missing}


def as_array(value):
    """Returns a copy of a fetched value; strings as objects, which are all of them bytes."""
    if isinstance(value, (bytes, str)):
        value = np.array(value if isinstance(value, bytes) else value.encode(), object)
    return np.array(value)


# -- rows of several runs ------------------------------------------------------------------------


def dims_for(shape, known):
    """Returns what is told of a shape: all ("full"), all but the first axis, its rank, or nothing."""
    if known == "full":
        return shape
    if known == "partial":
        return (None, *shape[1:]) if shape else shape
    return (None,) * len(shape) if known == "rank" else None


def _fetched(tf, fetch):
    """Yields the tensors and operations of a fetch."""
    if isinstance(fetch, tf.SparseTensor):
        fetch = [fetch.indices, fetch.values, fetch.dense_shape]
    for item in [fetch] if isinstance(fetch, (tf.Tensor, tf.Operation, tf.Variable)) else fetch:
        if isinstance(item, (tf.Tensor, tf.Operation, tf.Variable)):
            yield item
        else:
            yield from _fetched(tf, item)


def run_steps(tf, row, known="full", during=contextlib.nullcontext):
    """Runs a `Steps` row under `tf`, which is TensorFlow or Regrad; the runs of its own within `during()`.

    Returns:
      {"results": of each run a list of arrays, or {"error": the name of its class}; "variables": their values after each;
      "shapes": what was known of each result's shape beforehand; "gradients": for each floating variable and input
      whether something flows to it from the floating results, or the error of asking; "types": the graph's op types}.
    """
    found = {"results": [], "variables": [], "shapes": [], "gradients": []}
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variables = [tf.Variable(v, name=f"v{i}") for i, v in enumerate(row.variables)]
        inputs = [tf.placeholder(tf.string if x.dtype == object else tf.as_dtype(x.dtype), dims_for(x.shape, known))
                  for x in row.inputs]
        initialise = tf.global_variables_initializer()
        runs = [list(_fetched(tf, fetch)) for fetch in row.build(*variables, *inputs)]
        session.run(initialise)
        for run in runs:
            tensors = [t for t in run if not isinstance(t, tf.Operation)]
            found["shapes"].append([None if t.shape.dims is None else t.shape.as_list() for t in tensors])
            try:
                with during():
                    values = session.run(run, dict(zip(inputs, row.inputs)))
                found["results"].append([as_array(v) for t, v in zip(run, values) if not isinstance(t, tf.Operation)])
            except (tf.errors.OpError, ValueError, TypeError) as error:
                found["results"].append({"error": type(error).__name__})
            found["variables"].append([as_array(v) for v in session.run(variables)])
        found["types"] = sorted({op.type for op in graph.get_operations()})
        ys = [t for run in runs for t in run if isinstance(t, tf.Tensor) and t.dtype.is_floating]
        xs = [x for x in (*variables, *inputs) if x.dtype.is_floating]
        try:
            found["gradients"] = [g is not None for g in tf.gradients(ys, xs)] if ys and xs else []
        except (LookupError, TypeError, ValueError) as error:
            found["gradients"] = type(error).__name__
    return found


def record_steps(tf, row):
    found = run_steps(tf, row)
    del found["types"]
    return {"fingerprint": fingerprint(row, [*row.variables, *row.inputs]), **found}


def _named(row, arrays):
    """Moves a row's arrays to `arrays`, leaving their names."""
    def name(v):
        arrays[f"a{len(arrays)}"] = np.asarray(v)
        return f"a{len(arrays) - 1}"

    _each(row, name)


def main(families):
    from tests.recorded import tensorflow_1

    tf = tensorflow_1()
    pretend(tf)
    from tests import cases

    rows, arrays, failed = {}, {}, 0
    if families:
        rows = {k: v for k, v in recorded().items() if k.removeprefix("nonfinite-").partition("-")[0] not in families}
        for row in rows.values():
            _named(row, arrays)
    for family in families or sorted(p.stem for p in (HERE / "cases").glob("[a-z]*.py")):
        if family == "tensor_array":  # whose op types take other inputs than TensorFlow's
            continue
        try:
            table = importlib.import_module(f"tests.cases.{family}").CASES
        except Exception as error:  # a table that asks Regrad itself while it is read
            print(f"not recorded: {family}: {type(error).__name__}: {error}")
            continue
        steps = [row for row in table if isinstance(row, cases.Steps) and row.expected is None]
        table = [(family, case) for case in table if isinstance(case, cases.Case)]
        chosen = [(f"{family}-{row.id}", row, None) for row in steps]
        chosen += [(f"{family}-{case.id}", case, LEVELS) for family, case in table]
        chosen += [(key, case, 1) for key, case in cases.nonfinite(table).items()]
        for key, case, order in chosen:
            try:
                row = record_steps(tf, case) if order is None else record_row(tf, case, order)
            except Exception as error:
                failed += 1
                print(f"not recorded: {key}: {type(error).__name__}: {str(error)[:150]}".replace("\n", " "))
                continue
            _named(row, arrays)
            rows[key] = row
    print(f"{len(rows)} rows recorded, {failed} not")
    np.savez_compressed(FILE, rows=json.dumps(rows), **_packed(arrays))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    main(sys.argv[1:])
