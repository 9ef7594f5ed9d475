"""The small modules: logging, gfile, flags, app."""

import subprocess
import sys

import pytest

import regrad as tf

LOGGING = """
import regrad as tf
tf.logging.debug("hidden")
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("shown %d", 3)
for _ in range(5):
    tf.logging.log_every_n(tf.logging.WARN, "every second", 2)
    tf.logging.log_first_n(tf.logging.ERROR, "twice", 2)
tf.logging.log_if(tf.logging.INFO, "never", False)
"""


@pytest.mark.parametrize("before, mark", [
    ("", "{}:tensorflow:{}"), ("import logging; logging.basicConfig(format='mine %(message)s')", "mine {1}"),
], ids=["by itself", "as the program says"])
def test_logging(before, mark):
    lines = subprocess.run([sys.executable, "-c", before + LOGGING], capture_output=True, text=True).stderr.splitlines()
    assert lines[0] == mark.format("INFO", "shown 3")
    assert lines.count(mark.format("WARNING", "every second")) == 3
    assert lines.count(mark.format("ERROR", "twice")) == 2
    assert len(lines) == 6


def test_gfile(tmp_path):
    g, folder = tf.gfile, tmp_path / "a" / "b"
    g.MakeDirs(folder)
    g.MakeDirs(folder)
    with g.GFile(folder / "x.txt", "w") as f:
        f.write("one\ntwo\n")
    assert g.Exists(folder / "x.txt") and g.IsDirectory(folder)
    with g.Open(folder / "x.txt") as f:
        assert f.readline() == "one\n"
        assert list(f) == ["two\n"]
    assert g.GFile(folder / "x.txt", "rb").read() == b"one\ntwo\n"
    g.Copy(folder / "x.txt", folder / "y.txt")
    with pytest.raises(tf.errors.AlreadyExistsError):
        g.Copy(folder / "x.txt", folder / "y.txt")
    g.Rename(folder / "x.txt", folder / "y.txt", overwrite=True)
    assert g.ListDirectory(folder) == ["y.txt"]
    assert g.Glob(f"{folder}/*.txt") == [f"{folder}/y.txt"]
    assert g.Stat(folder / "y.txt").length == 8
    assert [files for _, _, files in g.Walk(tmp_path)] == [[], [], ["y.txt"]]
    g.Remove(folder / "y.txt")
    for missing in (lambda: g.Remove(folder / "y.txt"), lambda: g.GFile(folder / "y.txt").read(),
                    lambda: g.ListDirectory(tmp_path / "c"), lambda: g.Stat(tmp_path / "c")):
        with pytest.raises(tf.errors.NotFoundError, match="No such file"):
            missing()
    g.DeleteRecursively(tmp_path / "a")
    assert not g.Exists(tmp_path / "a")


def test_gfile_by_its_later_names(tmp_path):
    g, folder = tf.io.gfile, tmp_path / "a" / "b"
    g.makedirs(folder)
    g.mkdir(tmp_path / "c")
    with g.GFile(folder / "x.txt", "w") as f:
        f.write("one")
    g.copy(folder / "x.txt", folder / "y.txt")
    for refused in (g.copy, g.rename):
        with pytest.raises(tf.errors.AlreadyExistsError):
            refused(src=folder / "x.txt", dst=folder / "y.txt")
    g.rename(folder / "x.txt", folder / "y.txt", overwrite=True)
    assert g.listdir(path=folder) == ["y.txt"] and g.glob(f"{folder}/?.txt") == [f"{folder}/y.txt"]
    assert g.exists(folder / "y.txt") and g.isdir(folder) and g.stat(folder / "y.txt").length == 3
    assert [files for _, _, files in g.walk(tmp_path / "a")] == [[], ["y.txt"]]
    g.remove(folder / "y.txt")
    g.rmtree(tmp_path / "a")
    assert g.listdir(tmp_path) == ["c"]


def test_flags():
    flags = tf.flags.FlagValues()
    tf.flags.DEFINE_string("name", "x", "a name", flags)
    tf.flags.DEFINE_integer("n", 1, "a count", flag_values=flags)
    tf.flags.DEFINE_float("rate", 0.5, "a rate", flag_values=flags)
    tf.flags.DEFINE_bool("fast", True, "whether", flags)
    tf.flags.DEFINE_bool("deep", False, "whether", flags)
    tf.flags.DEFINE_list("parts", ["a"], "parts", flags)
    tf.flags.DEFINE_enum("mode", "train", ["train", "test"], "what to do", flags)
    given = ["prog", "--n=3", "file", "--rate", "0.25", "--nofast", "--deep", "--parts=u, v", "--other", "--", "--n=9"]
    assert flags(given, known_only=True) == ["prog", "file", "--other", "--", "--n=9"]
    with pytest.raises(tf.flags.UnrecognizedFlagError, match="Unknown command line flag 'other'"):
        flags(given)
    given.remove("--other")
    assert flags(given) == ["prog", "file", "--n=9"]
    assert flags.flag_values_dict() == {"name": "x", "n": 3, "rate": 0.25, "fast": False, "deep": True,
                                        "parts": ["u", "v"], "mode": "train"}
    flags.n = 7
    assert flags.n == 7
    for argv, says in ((["--n=x"], "--n=x"), (["--mode=run"], r"train\|test"), (["--rate"], "needs a value")):
        with pytest.raises(ValueError, match=says):
            flags(["prog", *argv])
    with pytest.raises(AttributeError, match="no flag 'missing'"):
        _ = flags.missing
    with pytest.raises(ValueError, match="defined twice"):
        tf.flags.DEFINE_string("name", "y", "again", flags)


PROGRAM = """
'''Counts.'''
import sys
import tensorflow as tf

tf.app.flags.DEFINE_integer("max_steps", 3, "how many steps", short_name="n")
tf.app.flags.DEFINE_boolean("fast", False, "whether")
tf.app.flags.DEFINE_string("folder", "", "where")
tf.app.flags.DEFINE_enum("mode", "train", ["train", "test"], "what to do")
FLAGS = tf.app.flags.FLAGS

def main(argv):
    print("ran", argv[1:], FLAGS.max_steps, FLAGS.fast)

if "direct" in sys.argv:
    print("read", FLAGS.max_steps)
else:
    tf.app.run()
"""


@pytest.fixture
def run(tmp_path, capsys):
    """Returns a function of a command line: (exit code, or error; what was printed, what was warned of)."""
    import warnings

    from regrad import cli

    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def call(line):
        tf.app.flags.FLAGS.__init__()  # as in a process of its own
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                cli.run_module(program, line.split())
                code = 0
            except SystemExit as end:
                code = end.code or 0
            except tf.flags.Error as error:
                code = error
        return code, capsys.readouterr().out, [str(w.message) for w in caught]

    yield call
    tf.app.flags.FLAGS.__init__()


@pytest.mark.parametrize("line, printed", [  # as TensorFlow printed it
    ("--max_steps 4 word -- --other", "ran ['word', '--', '--other'] 4 False"),
    ("word --max_steps=7", "ran ['word'] 7 False"),
    ("-n 7 --fast", "ran [] 7 True"),
    ("--undefok=max_stepz --max_stepz=5", "ran [] 3 False"),
    ("-", "ran ['-'] 3 False"),
    ("--nofast direct", "read 3"),
])
def test_command_lines(run, line, printed):
    assert run(line) == (0, printed + "\n", [])


@pytest.mark.parametrize("line, left, says", [
    ("--max_stepz=5", ["--max_stepz=5"], "no flag 'max_stepz'; did you mean 'max_steps'? --max_stepz=5 is left to main"),
    ("-max_stepz 5", ["-max_stepz", "5"], "did you mean 'max_steps'"),
    ("--nofst", ["--nofst"], "no flag 'nofst'"),
])
def test_unknown_flags_are_left_to_main_with_a_warning(run, line, left, says):
    code, printed, (warned,) = run(line)
    assert (code, printed) == (0, f"ran {left} 3 False\n") and says in warned


def test_unknown_flags_are_refused_where_flags_are_read_without_app_run(run):
    error, printed, _ = run("direct --max_stepz=5")
    assert str(error) == "Unknown command line flag 'max_stepz'. Did you mean: max_steps ?" and printed == ""
    assert isinstance(error, tf.flags.UnrecognizedFlagError) and error.flagvalue == "5"


@pytest.mark.parametrize("line", ["--help", "--helpshort", "--helpfull", "--help direct"])
def test_help_lists_the_flags_and_runs_nothing(run, line):
    code, printed, _ = run(line)
    assert code == 1 and "Counts." in printed and "ran" not in printed and "read 3" not in printed
    assert "  -n,--max_steps: how many steps\n    (default: '3')\n    (an integer)\n" in printed
    assert "  --[no]fast: whether\n    (default: 'false')\n" in printed
    assert "  --mode: <train|test>: what to do\n" in printed


def test_flags_from_a_file(run, tmp_path):
    (tmp_path / "flags.txt").write_text("# long\n--max_steps=9\n\n--fast\n")
    assert run(f"--flagfile={tmp_path}/flags.txt --nofast")[1] == "ran [] 9 False\n"


def test_programs_that_read_their_command_line_by_argparse(tmp_path, capsys, recwarn):
    from regrad import cli

    program = tmp_path / "program.py"
    program.write_text("""
import argparse, sys
import tensorflow as tf
parser = argparse.ArgumentParser()
parser.add_argument("--max_steps", type=int, default=3)
FLAGS, rest = parser.parse_known_args()
tf.app.run(main=lambda argv: print("ran", argv[1:], FLAGS.max_steps), argv=[sys.argv[0]] + rest)
""")
    with pytest.raises(SystemExit):
        cli.run_module(program, ["--max_steps=5", "--other=2"])
    assert capsys.readouterr().out == "ran ['--other=2'] 5\n" and not len(recwarn)


def test_misspelt_arguments_of_definitions_are_refused():
    with pytest.raises(TypeError, match="'shortname'; did you mean 'short_name'"):
        tf.flags.DEFINE_integer("n", 1, "", flag_values=tf.flags.FlagValues(), shortname="n")


def test_app_run_gives_main_what_is_left():
    seen = []
    with pytest.raises(SystemExit) as caught:
        tf.app.run(lambda argv: seen.append(argv) or 3, argv=["prog", "word"])
    assert caught.value.code == 3
    assert seen == [["prog", "word"]]
    assert tf.app.flags is tf.flags


def test_flags_of_more_kinds_and_their_checks():
    import enum

    class Mode(enum.Enum):
        TRAIN, TEST = 1, 2

    flags = tf.flags.FlagValues()
    tf.flags.DEFINE_integer("n", 1, "", lower_bound=0, flag_values=flags)
    tf.flags.DEFINE_float("rate", 0.1, "", 0.0, 1.0, flags)
    tf.flags.DEFINE_multi_integer("sizes", [1], "", flag_values=flags)
    tf.flags.DEFINE_multi_string("names", None, "", flag_values=flags)
    tf.flags.DEFINE_multi_enum("parts", ["a"], ["a", "b"], "", flag_values=flags)
    tf.flags.DEFINE_enum_class("mode", "train", Mode, "", flag_values=flags)
    tf.flags.DEFINE_spaceseplist("words", [], "", flags)
    tf.flags.DEFINE_alias("lr", "rate", flags)
    tf.flags.DEFINE_string("path", None, "", flags, required=True)
    tf.flags.register_validator("n", lambda n: n % 2 == 1, "must be odd", flags)
    tf.flags.mark_flags_as_mutual_exclusive(["names", "words"], flag_values=flags)

    @tf.flags.multi_flags_validator(["n", "rate"], "too fast", flags)
    def _(values):
        return values["n"] * values["rate"] < 3

    flags(["prog", "--path=p", "--sizes=3", "--sizes", "4", "--mode=TEST", "--lr=0.5", "--words=u v"])
    assert (flags.sizes, flags.mode, flags.rate, flags.words, flags.names) == ([3, 4], Mode.TEST, 0.5, ["u", "v"], None)
    assert flags["sizes"].present == 2 and flags["n"].default == 1 and flags.is_parsed()
    for argv, says in ((["--n=-1"], "between 0"), (["--n=2"], "must be odd"), (["--n=9"], "too fast"), (["--mode=x"], "TRAIN"),
                       (["--rate=2"], "between"), (["--names=a"], "At most one"), (["--parts=c"], r"a\|b")):
        with pytest.raises(tf.flags.IllegalFlagValueError, match=says):
            flags(["prog", "--n=1", "--rate=0.5", *argv])
        flags["n"].value, flags["names"].value = 1, None
    with pytest.raises(tf.flags.IllegalFlagValueError, match="must be odd"):
        flags.n = 4
    flags.n = 1
    with pytest.raises(tf.flags.IllegalFlagValueError, match="other than None"):
        flags.path = None
    with pytest.raises(tf.flags.DuplicateFlagError):
        tf.flags.DEFINE_alias("n", "rate", flags)
    with pytest.raises(tf.flags.UnrecognizedFlagError):
        tf.flags.mark_flag_as_required("missing", flags)
