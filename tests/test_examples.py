"""The examples run; figures printed in docs/gradient-control.md are what its blocks print; its links lead to tests."""

import os
import pathlib
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import regrad as tf

ROOT = pathlib.Path(__file__).parents[1]
DOC = ROOT / "docs" / "gradient-control.md"
TEXT = DOC.read_text()
SECTIONS = re.findall(r"^### (.*?)\n.*?^```python\n(.*?)^```", TEXT, re.M | re.S)
SCRIPTS = {  # script: arguments, {tmp} being a directory of its own
    "domain_adversarial_digits.py": ["--seeds", "1", "--steps", "20", "--out", "{tmp}/picture.png"],
} | {f"gradient_control/{p.name}": [] for p in sorted((ROOT / "examples" / "gradient_control").glob("*.py"))}

_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def agree(printed, promised):
    """True when two outputs have the same words, and numbers that agree to what the promise shows."""
    words = [" ".join(_NUMBER.sub("", text).split()) for text in (printed, promised)]
    numbers = [[float(n) for n in _NUMBER.findall(text)] for text in (printed, promised)]
    return words[0] == words[1] and len(numbers[0]) == len(numbers[1]) and np.allclose(*numbers, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("title", "code"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_a_block_prints_what_it_says(title, code, capsys):
    promised = "\n".join(line[3:] for line in code.splitlines() if line.startswith("#> "))
    with tf.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, f"<{title}>", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert promised, "a block prints a figure, and says which"
    assert agree(printed, promised), f"printed:\n{printed}\npromised:\n{promised}"


def test_disagreement_is_noticed():
    assert agree("a [1.0 2.5] True", "a [1. 2.5] True")
    assert not agree("a [1.0 2.6] True", "a [1. 2.5] True")
    assert not agree("a [1.0 2.5] False", "a [1. 2.5] True")
    assert not agree("1.0", "1.0 2.0")


def test_there_are_examples_enough():
    assert len(SECTIONS) >= 15 and len({title for title, _ in SECTIONS}) == len(SECTIONS)


def test_links_lead_to_tests():
    links = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)(?:#(\w+))?\)", TEXT)
    assert len(links) > 20
    for path, name in links:
        source = (ROOT / path).read_text()
        assert not name or f"def {name}(" in source, f"{path} has no {name}"


def test_every_row_of_the_table_has_a_link():
    table = TEXT[TEXT.index("## What others offer"):]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| |")]
    assert rows and all("](../tests/" in row for row in rows)


@pytest.mark.parametrize("script", SCRIPTS)
def test_script_runs(script, tmp_path):
    arguments = [a.format(tmp=tmp_path) for a in SCRIPTS[script]]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run([sys.executable,
                           str(ROOT / "examples" / script), *arguments],
                          cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip(), "an example prints a figure"
