"""`regrad explain script.py`."""

import json
import subprocess
import sys
import textwrap

import pytest

import regrad as tf
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
    (["--ys", "los"], 2, "did you mean 'loss'"),
    (["--ys", "loss", "--json", "no/such/folder"], 2, "No such file"),
    (["--ys", "tf"], 2, "regrad explain"),
])
def test_names(script, arguments, code, words, capsys):
    assert cli.main(["explain", script, *arguments]) == code
    assert words in capsys.readouterr().err


def test_a_script_that_builds_in_main_and_exits(tmp_path, capsys):
    path = tmp_path / "main.py"
    body = textwrap.indent(SCRIPT.replace("import tensorflow as tf", ""), "        ")
    path.write_text(f"import tensorflow as tf\ndef main(_):\n    with tf.Graph().as_default():\n{body}\ntf.app.run()")

    assert cli.main(["explain", str(path), "--ys", "loss"]) == 0
    assert "Tanh" in capsys.readouterr().out
    assert cli.main(["explain", str(path), "--ys", "nothing"]) == 2
    assert "name a tensor, such as 'loss:0'" in capsys.readouterr().err


TRAINS = """
import sys
import numpy as np
import tensorflow as tf

def main(_):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 2.0], name="w")
    middle = tf.tanh(w * x)
    {build}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        print("before", sess.run(middle, {{x: np.ones(2)}})[0] > 0, sys.argv[1:])
        for step in range(3):
            try:
                {train}
            finally:
                print("after" if sess.run(w)[0] == 1.0 else "trained")
            print("stepped")

main(None)
"""
LOSS = "loss = tf.reduce_sum(middle)"


@pytest.mark.parametrize("build, train", [
    (f"{LOSS}; step_op = tf.train.AdamOptimizer(0.1).minimize(loss)", "sess.run([step_op, loss], {x: np.ones(2)})"),
    (f"{LOSS}; step_op = w.assign_sub(tf.gradients(loss, w)[0])", "sess.run(step_op, {x: np.ones(2)})"),
    (f"{LOSS}; step_op = tf.keras.optimizers.SGD().get_updates(loss, [w])", "sess.run(step_op, {x: np.ones(2)})"),
    (f"{LOSS}; step_op = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)", "step_op.run({x: np.ones(2)})"),
], ids=["Adam", "by hand", "Keras", "by the operation"])
def test_a_script_is_stopped_before_it_trains(tmp_path, capsys, build, train):
    path = tmp_path / "trains.py"
    path.write_text(TRAINS.format(build=build, train=train))
    assert cli.main(["explain", str(path), "--ys", "loss,middle", "--", "--rate=3", "-v"]) == 0
    out, err = capsys.readouterr()
    assert "before True ['--rate=3', '-v']" in out and "after" in out and "stepped" not in out and "Tanh" in out
    assert "stopped before the first run that trains" in err and "trains.py:16" in err
    assert cli.main(["explain", str(path), "--ys", "Sum", "--to-end"]) == 0
    assert capsys.readouterr().out.count("stepped") == 3


def test_placeholders_are_explained_where_there_are_no_variables(tmp_path, capsys):
    path = tmp_path / "plain.py"
    path.write_text("""
import tensorflow as tf
x, n = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.int32, [], name="n")
loss = tf.reduce_sum(tf.tanh(x)) * tf.cast(n, tf.float32)
""")
    assert cli.main(["explain", str(path), "--ys", "loss", "--json", str(tmp_path / "out.json")]) == 0
    assert "Tanh" in capsys.readouterr().out
    assert [x["name"] for x in json.loads((tmp_path / "out.json").read_text())["xs"]] == ["x:0"]


def test_no_such_script(capsys):
    assert cli.main(["explain", "nowhere.py", "--ys", "y"]) == 2
    assert "regrad explain: no such file" in capsys.readouterr().err


DOCTOR = """
import tensorflow as tf

@tf.RegisterGradient("DoctorUsed{n}")
def _used(op, dy): return 2.0 * dy

@tf.RegisterGradient("DoctorUnused{n}")
def _unused(op, dy): return dy

with tf.Graph().as_default() as g:
    x = tf.placeholder(tf.float32, [2])
    h = tf.nn.relu6(x)
    with g.gradient_override_map({{"Identity": "DoctorUsed{n}"}}):
        h = tf.identity(h)
    with g.gradient_override_map({{}}):  # a block that is to do nothing is no fault
        h = tf.tanh(h)
    with g.gradient_override_map({{"Relu": "DoctorUsed{n}"}}):
        tf.nn.relu(x)
    {block}
    tf.gradients(h, x)
"""
NOTHING = 'with g.gradient_override_map({"Relu6": "DoctorUsed2"}): y = tf.tanh(x)'


def test_the_doctor_names_what_did_nothing(tmp_path, capsys):
    path = tmp_path / "old.py"
    path.write_text(DOCTOR.format(n=1, block="h = h * 2.0"))
    assert cli.main(["doctor", str(path)]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "2 of 4 overrides and rules did nothing" in told and "old.py" in told
    path.write_text(DOCTOR.format(n=2, block=NOTHING))
    with pytest.warns(tf.RegradWarning, match=r"(?s)overrides nothing.*1 of these types.*before it.*old.py:12.*attach"):
        assert cli.main(["doctor", str(path)]) == 1


ENDS = [("tf.app.run(lambda _: None, ['old.py'])", 1), ("raise SystemExit", 1), ("raise SystemExit(3)", 3)]


@pytest.mark.parametrize(("end", "code"), ENDS)
def test_the_doctor_answers_for_scripts_that_end_themselves(end, code, tmp_path):
    path = tmp_path / "old.py"
    path.write_text(f"import regrad as tf\ntf.set_graph_rule('Relu6', lambda op, dy: dy)\n{end}\n")
    done = subprocess.run([sys.executable, "-m", "regrad", "doctor", str(path)], capture_output=True, text=True)
    assert done.returncode == code and "1 of 1 overrides and rules did nothing" in done.stdout


def test_a_program_without_fault(fresh_graph):
    x = tf.constant([1.0])
    y = tf.tanh(x)
    tf.attach("Tanh", lambda op, dy: dy)
    tf.set_graph_rule("Sin", lambda op, dy: dy)
    before = {r.kind: r.problem for r in tf.inspect.overrides_in_use().rows if r.kind != "registered"}
    tf.explain_gradients(tf.sin(y), x)
    assert {r.kind: r.used for r in tf.inspect.overrides_in_use().rows if r.kind != "registered"} == dict.fromkeys(before, 0)
    tf.gradients(tf.sin(y), x)
    after = {r.kind: r.problem for r in tf.inspect.overrides_in_use().rows if r.kind != "registered"}
    assert before == {"attached": "no gradients() call went through one of its operations", "rule of the graph":
                      "its selector matches no operation"}
    assert after == {"attached": "", "rule of the graph": ""}


def test_a_reader_may_stop_before_the_end(script):
    command = [sys.executable, "-m", "regrad", "explain", script, "--ys", "loss"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    program.stdout.close()

    assert (program.stderr.read(), program.wait()) == (b"", 0)
    program.stderr.close()
