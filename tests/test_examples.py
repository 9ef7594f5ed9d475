"""The examples run; figures printed in docs/gradient-control.md are what its blocks print; its links lead to tests."""

import json
import os
import pathlib
import re
import runpy
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
}
GALLERY = sorted((ROOT / "examples" / "gradient_control").glob("*.py"))
PARTS = ("figure.py", "digits.py")  # what several examples use

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
    assert len(GALLERY) - len(PARTS) >= 15


def test_links_lead_to_tests():
    links = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)(?:#(\w+))?\)", TEXT)
    assert len(links) > 20
    for path, name in links:
        source = (ROOT / path).read_text()
        assert not name or f"def {name}(" in source, f"{path} has no {name}"


def test_every_row_of_the_table_has_a_link():
    table = TEXT[TEXT.index("## What others offer"):TEXT.index("## Rules that outlive")]
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
    assert (tmp_path / "picture.png").stat().st_size > 5_000


@pytest.mark.parametrize("script", [p for p in GALLERY if p.name not in PARTS], ids=lambda p: p.stem)
def test_an_example_prints_figures_and_draws_one(script, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [str(script), str(picture)])
    monkeypatch.syspath_prepend(str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert _NUMBER.search(printed.replace(str(picture), "")), "an example prints figures"
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) > 5_000
    assert f"gradient_control/{script.name}" in TEXT, "docs/gradient-control.md names every example"


NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path, tmp_path):
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in cells), "kept without what it showed"
    program = "\n".join(f"exec(compile({''.join(cell['source'])!r}, {cell['id']!r}, 'exec'))" for cell in cells)
    told = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (told.returncode, told.stderr) == (0, "") and told.stdout


def test_there_are_notebooks():
    assert NOTEBOOKS
