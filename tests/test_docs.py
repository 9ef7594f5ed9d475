"""Every Python block of the README and of docs/ runs as it stands."""

import pathlib
import re
import warnings

import pytest

import regrad as tf
from regrad import compat

ROOT = pathlib.Path(__file__).parents[1]
BLOCKS = [
    pytest.param(path, match.group(1), id=f"{path.name}:{text[:match.start()].count(chr(10)) + 1}")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for text in [path.read_text()]
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)
    if "define_op(" not in match.group(1) or "import" in match.group(1)
]


@pytest.mark.parametrize(("path", "code"), BLOCKS)
def test_block_runs_and_prints_what_stands_there(path, code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        with tf.Graph().as_default(), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, f"<{path.name}>", "exec"), {"__name__": "__main__"})
    finally:
        compat.uninstall()
    promised = re.findall(r"^#>(.*)", code, re.M)
    if promised:
        assert capsys.readouterr().out.split() == " ".join(promised).split()


def test_there_are_blocks():
    assert len(BLOCKS) >= 4


def _outside_blocks(path):
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)


def _anchors(path):
    """The names that headings have in links."""
    headings = re.findall(r"^#+ (.*)$", _outside_blocks(path), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_links_lead_somewhere_and_every_page_is_reached_from_the_readme():
    reached, waiting, broken = set(), [ROOT / "README.md"], []
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        for link in re.findall(r"\]\(([^)\s]+)\)", _outside_blocks(page)):
            if not link.startswith("http"):
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                if not target.exists() or anchor and target.suffix == ".md" and anchor not in _anchors(target):
                    broken.append((page.name, link))
                waiting.append(target)
    assert broken == []
    assert set((ROOT / "docs").glob("*.md")) <= reached
