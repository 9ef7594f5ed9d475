"""`regrad explain script.py`."""

import json

import pytest

from regrad import cli

SCRIPT = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [2], name="x")
w = tf.Variable([1.0, 2.0], name="w")
loss = tf.reduce_sum(tf.round(x) * tf.tanh(w), name="loss")
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(SCRIPT)
    return str(path)


def test_explains_a_script(script, tmp_path, capsys):
    files = {kind: tmp_path / f"out.{kind}" for kind in ("html", "json", "dot")}
    written = [a for kind, path in files.items() for a in (f"--{kind}", str(path))]
    code = cli.main(["explain", script, "--ys", "loss", "--xs", "x,w", *written])

    assert code == 0
    assert "Round" in capsys.readouterr().out
    assert [x["gradient"] for x in json.loads(files["json"].read_text())["xs"]] == [False, True]
    assert "<svg" in files["html"].read_text() and "digraph" in files["dot"].read_text()


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["--ys", "loss:0"], 0, ""),
    (["--ys", "los"], 2, "los"),
    (["--ys", "tf"], 2, "regrad explain"),
])
def test_names(script, arguments, code, words, capsys):
    assert cli.main(["explain", script, *arguments]) == code
    assert words in capsys.readouterr().err


def test_no_such_script(capsys):
    assert cli.main(["explain", "nowhere.py", "--ys", "y"]) == 2
    assert "regrad explain: no such file" in capsys.readouterr().err
