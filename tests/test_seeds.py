"""The programs people learn custom gradients from, run as they stand, with the outputs their texts give.

Each program is run twice in a process of its own: with its import line changed to `import regrad as tf`, and
unchanged through `python -m regrad run`.
"""
import os
import pathlib
import re
import subprocess
import sys

import pytest

SEEDS = pathlib.Path(__file__).parent / "programs" / "seeds"

# program -> what it prints. "..." stands for any further lines; numbers are compared as float32.
OUTPUTS = {
    "mul_override": """
        name: "Multiply"
        op: "Mul"
        input: "w/read"
        input: "Const"
        ...
        y / w: [10.]
        grad: [10.] None""",
    "multi_output": """
        [array([4., 7.]), array([3., 10.]), array([-2., -3.])]
        [60. 10.] None""",
    "stop_gradient_identity": """
        forward: [0. 2. -3.]
        backward: [1. 1. 1.]
        without: [None]""",
    "stop_gradient_general": """
        forward: [0. 1. -1.]
        backward: [2. 0.83994865 0.14130163]""",
    "gradients_of_sums": """
        [5.0, 1.0]
        [1.0, 1.0]
        [3.0, 4.0]""",
    "grad_ys": """
        [array([2., 2., 3.]), array([2., 2., 3.]), array([5., 4., 7.]), array([3., 2., 4.])]""",
    "stop_gradient": """
        [2.0, 1.0]
        5.0""",
    "without_stop_gradient": """
        [3.0, 2.0]
        5.0""",
    "clip_gradient": """
        with clipping: [0.1]
        without clipping: [1.]""",
    "halve_gradient": """
        forward prop: output =  [324.]
        with clipping: [array([108.])]
        without clipping: [array([1.])]""",
    "flip_gradient": """
        forward: [1. -2.] [3. -6.]
        flipped: [-1. -1.]
        flipped and scaled: [-0.75 -0.75]
        calls: 2""",
    "py_func_mod": """
        [0.30000001 0.69999999 1.20000005 1.70000005] [0.2 0.5 1. 2.9000001]
        [0.10000001 0.19999999 0.20000005 1.70000005] [1. 1. 1. 1.] [-1. -1. -1. 0.]""",
    "py_func_mod_stateless": """
        [0.30000001 0.69999999 1.20000005 1.70000005] [0.2 0.5 1. 2.9000001]
        [0.10000001 0.19999999 0.20000005 1.70000005] [1. 1. 1. 1.] [-1. -1. -1. 0.]""",
}

# program -> words of the error it ends with: the NumPy function breaks its promise of float32.
ERRORS = {
    "py_func_mod_uncast": ("InvalidArgumentError", "float64", "float32", "mod"),
}


def _run(name, how, tmp_path):
    script = SEEDS / f"{name}.py"
    if how == "substituted":
        text = script.read_text().replace("import tensorflow as tf", "import regrad as tf")
        text = text.replace("from tensorflow.python", "from regrad.python")
        script = tmp_path / script.name
        script.write_text(text)
        command = [sys.executable, str(script)]
    else:
        command = [sys.executable, "-m", "regrad", "run", str(script)]
    root = str(SEEDS.parents[2])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": paths})


def _tokens(text):
    """Words and numbers of a printed text, without the ways NumPy has of printing an array."""
    text = re.sub(r"np\.float32|dtype=float32|array|[\[\](),]", " ", text)
    return [float(token) if re.fullmatch(r"-?(\d+\.?\d*|\.\d+)(e[-+]\d+)?", token) else token
            for token in text.split()]


def _same(got, want):
    return got == (pytest.approx(want, rel=1e-6, abs=1e-7) if isinstance(want, float) else want)


def _matches(text, pattern):
    head, _, tail = (_tokens(part) for part in pattern.partition("..."))
    got = _tokens(text)
    if not tail:
        return len(got) == len(head) and all(map(_same, got, head))
    return (len(got) >= len(head) + len(tail) and all(map(_same, got[:len(head)], head))
            and all(map(_same, got[-len(tail):], tail)))


HOW = pytest.mark.parametrize("how", ["substituted", "unchanged"])


@HOW
@pytest.mark.parametrize("name", OUTPUTS)
def test_prints_what_its_text_says(name, how, tmp_path):
    done = _run(name, how, tmp_path)

    assert done.returncode == 0, done.stderr
    assert _matches(done.stdout, OUTPUTS[name]), done.stdout


@HOW
@pytest.mark.parametrize("name", ERRORS)
def test_fails_as_it_should(name, how, tmp_path):
    done = _run(name, how, tmp_path)

    assert done.returncode != 0, done.stdout
    assert [word for word in ERRORS[name] if word not in done.stderr] == [], done.stderr


def test_every_program_has_its_expectation():
    assert {path.stem for path in SEEDS.glob("*.py")} == set(OUTPUTS) | set(ERRORS)


def test_the_comparison_can_fail():
    text = OUTPUTS["mul_override"].replace("...", "attr {\n}\n")

    assert _matches(text, OUTPUTS["mul_override"])
    assert not _matches(text.replace("w/read", "w"), OUTPUTS["mul_override"])
    assert not _matches(text.replace("10.] None", "11.] None"), OUTPUTS["mul_override"])
    assert not _matches(OUTPUTS["gradients_of_sums"] + " 1.0", OUTPUTS["gradients_of_sums"])
