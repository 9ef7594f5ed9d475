"""Every Python block of the README and of docs/ runs as it stands."""

import pathlib
import re
import warnings

import pytest

import regrad as tf

ROOT = pathlib.Path(__file__).parents[1]
BLOCKS = [
    pytest.param(path, match.group(1), id=f"{path.name}:{text[:match.start()].count(chr(10)) + 1}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for text in [path.read_text()]
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    if "define_op(" not in match.group(1) or "import" in match.group(1)
]


@pytest.mark.parametrize(("path", "code"), BLOCKS)
def test_block_runs(path, code, capsys):
    with tf.Graph().as_default(), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(code, f"<{path.name}>", "exec"), {"__name__": "__main__"})


def test_there_are_blocks():
    assert len(BLOCKS) >= 4
