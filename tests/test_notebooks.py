"""In notebooks: places are cells and lines, tracebacks are short, and what ran again says so."""

import subprocess
import sys
import types

import pytest

import regrad as tf
from regrad.core import source, tracebacks


class Shown:
    """What shows exceptions; here it gives the traceback that it would show."""

    def structured_traceback(self, etype=None, value=None, tb=None, tb_offset=None):
        return tb


class Shell:
    """As IPython's: cells are compiled under file names of their own, which it numbers."""

    def __init__(self, name):
        self.name, self.ran, self.user = name, 0, {"tf": tf}
        self.compile = types.SimpleNamespace(_filename_map={})
        self.InteractiveTB = Shown()

    def run(self, text):
        self.ran += 1
        filename = self.name.format(self.ran)
        if "ipykernel" in filename:
            self.compile._filename_map[filename] = self.ran
        exec(compile(text, filename, "exec"), self.user)


@pytest.fixture(params=["/tmp/ipykernel_123/45{}.py", "<ipython-input-{}-0123abcd>"], ids=["ipykernel", "older"])
def notebook(request, monkeypatch):
    shell = Shell(request.param)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return shell


def test_places_are_cells(notebook):
    notebook.run("x = tf.placeholder(tf.float32, [2], name='x')")
    notebook.run("\n\ny = x * 2.0\ndef f():\n    pass")
    assert notebook.user["y"].op.location == "Cell [2], line 3"
    assert source.of_function(notebook.user["f"]) == "Cell [2], line 4"
    with pytest.raises(ValueError, match=r"made at Cell \[3\], line 1"):
        notebook.run("tf.matmul(x, x)")


def test_a_placeholder_of_an_earlier_cell(notebook):
    cell = "x = tf.placeholder(tf.float32, [2], name='x')"
    notebook.run(cell)
    notebook.run("y = x * 2.0")
    notebook.run(cell)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"You fed 'x_1', made later at Cell \[3\], line 1, and what "
                                                             r"runs was made of the earlier 'x'.*reset_default_graph"):
        notebook.run("tf.Session().run(y, {x: [1.0, 2.0]})")


def test_other_feeds_are_not_blamed():
    x, other = tf.placeholder(tf.float32, [2], name="x"), tf.placeholder(tf.float32, [2], name="other")
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.Session().run(x * 2.0, {other: [1.0, 2.0]})
    assert "You fed" not in str(error.value)


def test_a_variable_of_an_earlier_run(notebook):
    notebook.run("w = tf.get_variable('w', [])")
    with pytest.raises(ValueError, match=r"already exists.*Cell \[1\], line 1.*reset_default_graph"):
        notebook.run("w = tf.get_variable('w', [])")


def _frames(tb):
    return [] if tb is None else [tb.tb_frame.f_code.co_filename, *_frames(tb.tb_next)]


def test_cells_show_no_inner_frames_unless_asked(notebook, monkeypatch):
    tracebacks.install()
    notebook.run("x = tf.zeros([2])")
    with pytest.raises(ValueError) as error:
        notebook.run("tf.matmul(x, x)")
    tb = error.value.__traceback__
    show = notebook.InteractiveTB.structured_traceback
    shown = _frames(show(ValueError, error.value, tb))
    assert any(source.is_own(name) for name in _frames(tb)) and not any(source.is_own(name) for name in shown)
    assert shown[-1] == notebook.name.format(2) and error.value.__traceback__ is tb
    monkeypatch.setattr(tf.config, "tracebacks", "full")
    assert show(ValueError, error.value, tb) is tb


FAILS = """
import regrad as tf
{setting}

def build():
    x = tf.zeros([2])
    try:
        tf.matmul(x, x)
    except ValueError as error:
        raise RuntimeError("wrapped") from error

build()
"""


@pytest.mark.parametrize("setting, inner", [("", False), ("tf.config.tracebacks = 'full'", True),
                                            ("import sys; sys.excepthook = sys.__excepthook__", True)])
@pytest.mark.parametrize("command", [[], ["-m", "regrad", "run"]], ids=["python", "regrad run"])
def test_programs_end_with_their_own_frames(tmp_path, command, setting, inner):
    program = tmp_path / "program.py"
    program.write_text(FAILS.format(setting=setting))
    told = subprocess.run([sys.executable, *command, str(program)], capture_output=True, text=True).stderr
    assert told.count("program.py") >= 4 and "direct cause" in told and "RuntimeError: wrapped" in told
    assert ("matmul.py" in told) is inner and ("inside Regrad left out" in told) is not inner


def test_exceptions_keep_their_frames_for_debuggers():
    program = ("import regrad as tf, sys\ntry:\n    tf.matmul(tf.zeros([2]), tf.zeros([2]))\nexcept ValueError as error:\n"
               "    caught = error\nn, tb = 0, caught.__traceback__\nwhile tb: n, tb = n + 1, tb.tb_next\nassert n > 3\n"
               "sys.excepthook(type(caught), caught, caught.__traceback__)\nm, tb = 0, caught.__traceback__\n"
               "while tb: m, tb = m + 1, tb.tb_next\nassert m == n")
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_the_setting_is_checked():
    with pytest.raises(ValueError, match="'short' or 'full', got 'none'"):
        tf.config.tracebacks = "none"
