"""Programs that run under real TensorFlow, which records what it answers, and under Regrad, which must answer the same.

A module `recorded.py` in a test folder has a function `results(tf)` that returns {name: value}, a value being an array or
a list of strings. `python tests/recorded.py variables train layers` writes `expected.npz` and `expected.json` beside
each: it needs TensorFlow 2.x, and for the layers tf_keras. The tests compare.
"""
import importlib
import json
import os
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def tensorflow_1():
    """Returns TensorFlow with all behaviour of its version 2 switched off."""
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def graph_lines(graph, first=0, without=()):
    """Returns one line per operation, "name type <- inputs", from the `first` on, leaving out names that start so."""
    lines = []
    for op in graph.get_operations()[first:]:
        if not op.name.startswith(tuple(without)):
            kind = {"AddV2": "Add"}.get(op.type, op.type)
            lines.append(" ".join([op.name, kind, "<-", *(t.name for t in op.inputs)]).removesuffix(" <-"))
    return lines


def refusal(build):
    """Returns ["ErrorType: first line"] of what `build()` raises, or ["nothing"]."""
    try:
        build()
    except Exception as error:
        return [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
    return ["nothing"]


def write(folder):
    """Records the results of a folder's programs, unless this TensorFlow lacks what they need."""
    programs, tf = importlib.import_module(f"tests.{folder}.recorded"), tensorflow_1()
    missing = [name for name in getattr(programs, "NEEDS", ()) if not hasattr(tf, name)]
    if missing:
        print(f"{folder}: not recorded, TensorFlow {tf.__version__} lacks {', '.join(missing)}")
        return
    results = programs.results(tf)
    arrays = {k: np.asarray(v) for k, v in results.items() if not isinstance(v, list)}
    np.savez_compressed(HERE / folder / "expected.npz", **arrays)
    with open(HERE / folder / "expected.json", "w", encoding="utf-8") as file:
        json.dump({k: v for k, v in results.items() if isinstance(v, list)}, file, indent=0, sort_keys=True)
        file.write("\n")


def expected(folder):
    """Returns what TensorFlow answered, {name: array or list of strings}."""
    with np.load(HERE / folder / "expected.npz") as arrays:
        results = dict(arrays)
    with open(HERE / folder / "expected.json", encoding="utf-8") as file:
        return results | json.load(file)


def compare(found, answers, rtol, atol):
    """Asserts that each of `found`, {name: array or list of strings}, is what TensorFlow answered under that name."""
    for name, value in found.items():
        if isinstance(answers[name], list):
            assert value == answers[name], name
        else:
            np.testing.assert_allclose(value, answers[name], rtol=rtol, atol=atol, err_msg=name)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    for name in sys.argv[1:]:
        write(name)
