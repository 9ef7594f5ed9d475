"""Records what real TensorFlow answers for the programs of this folder, into `expected/`.

    python tests/programs/record.py [research] [behaviour] [overrides] [name ...]

Needs TensorFlow 2.x and, for `tf.layers` and `tf.nn.rnn_cell`, the package tf_keras of the same version;
Regrad is not used. TensorFlow runs as its version 1: `import tensorflow` gives `tensorflow.compat.v1` with
all behaviour of version 2 switched off. `research` writes one .npz a program, `behaviour` one .json a table,
`overrides` expected/silent_overrides.json. Without arguments all three are written; names restrict
`research` to programs and `behaviour` to tables.
"""
import json
import os
import pathlib
import runpy
import subprocess
import sys
import time
import traceback

os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import corpus
import numpy as np


def tensorflow_1():
    """Returns `tensorflow.compat.v1`, standing for the module `tensorflow` from now on."""
    import tensorflow.compat.v1 as tf
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_v2_behavior()
    for module in (tf.layers, tf.nn.rnn_cell):
        dir(module)              # loaded lazily, and under the module's own name
    sys.modules["tensorflow"] = tf
    return tf


def record_research(tf, only):
    failed = []
    for path in corpus.programs("research"):
        if only and path.stem not in only:
            continue
        start = time.time()
        try:
            with tf.Graph().as_default():
                results = runpy.run_path(str(path))["RESULTS"]
        except Exception as error:
            failed.append(path.stem)
            traceback.print_exc(limit=-4)
            print(f"{path.stem}: {type(error).__name__}: {error}")
            continue
        results = {key: np.asarray(value) for key, value in results.items()}
        target = corpus.EXPECTED / f"{path.stem}.npz"
        # An .npz holds the time of its writing; one that says the same stays as it is.
        if not target.exists() or corpus.differences(results, dict(np.load(target)), 1e-10):
            np.savez_compressed(target, **results)
        size = target.stat().st_size
        assert size < 200_000, f"{target.name} has {size} bytes; give fewer results"
        bad = [k for k, value in results.items() if value.dtype.kind == "f" and not np.isfinite(value).all()]
        print(f"{path.stem:28s} {len(results):3d} arrays {size:7d} bytes {time.time() - start:5.1f} s", *bad)
    if failed:
        raise SystemExit(f"not recorded: {', '.join(failed)}")


def record_behaviour(tf, only):
    import behaviour
    problems = 0
    for name, rows in behaviour.TABLES.items():
        if only and name not in only:
            continue
        recorded = {}
        for row in rows:
            try:
                problem = corpus.failure_of(row, tf) if row.raises and row.asked else None
                if row.recorded:
                    recorded[row.id] = corpus.encode(corpus.run_row(row, tf))
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            if problem:
                problems += 1
                print(f"{name}/{row.id}: {problem}")
        corpus.save_json(f"behaviour_{name}.json", recorded)
        print(f"{name:20s} {len(rows)} rows, {len(recorded)} recorded")
    if problems:
        raise SystemExit(f"{problems} rows are not as TensorFlow has them")


def record_overrides():
    """Each case runs in a process of its own: some switch TensorFlow's modes for good."""
    import silent_overrides
    recorded = {}
    for case in silent_overrides.CASES:
        done = subprocess.run([sys.executable, __file__, "--case", case.name], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{case.name}:\n{done.stderr}")
        recorded[case.name] = json.loads(done.stdout.splitlines()[-1])
        recorded[case.name].pop("message", None)        # it holds the paths of the machine it ran on
        print(f"{case.name:40s} {json.dumps(recorded[case.name])[:150]}")
    corpus.save_json("silent_overrides.json", recorded)


def run_case(name):
    import silent_overrides
    (case,) = [case for case in silent_overrides.CASES if case.name == name]
    if case.mode == "eager":
        import tensorflow as tf
    else:
        tf = tensorflow_1()
        if case.mode == "control_flow_v2":
            tf.enable_control_flow_v2()
    print(json.dumps(silent_overrides.outcome(case, tf)))


def main(arguments):
    if arguments[:1] == ["--case"]:
        return run_case(arguments[1])
    kinds = [a for a in arguments if a in ("research", "behaviour", "overrides")]
    only = set(arguments) - set(kinds)
    kinds = kinds or ["research", "behaviour", "overrides"]
    corpus.EXPECTED.mkdir(exist_ok=True)
    if "overrides" in kinds:
        record_overrides()
    tf = tensorflow_1()
    if "research" in kinds:
        record_research(tf, only)
    if "behaviour" in kinds:
        record_behaviour(tf, only)


if __name__ == "__main__":
    main(sys.argv[1:])
