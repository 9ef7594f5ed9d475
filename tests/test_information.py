"""What the package tells of itself: versions, signatures, how it is cited."""

import inspect
import pathlib
import pydoc
import re
import subprocess
import sys
import types

import regrad as tf
from regrad import cli
from regrad.runtime import information

ROOT = pathlib.Path(__file__).parents[1]
OPEN_ENDED = {  # what they take is whatever another function takes, or nothing
    "enable_eager_execution", "enable_tensor_equality", "enable_v2_behavior", "map_structure", "MirroredStrategy", "repeat",
    "safe_cumprod", "DecoupledWeightDecayExtension", "einsum"}


def test_versions_and_problems(capsys, monkeypatch, tmp_path):
    tf.show_versions()
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["regrad"] == tf.__version__ and ":0" in lines["devices"]
    assert lines["python"].startswith(sys.version.split()[0])
    assert cli.main(["info"]) == 0 and "problems" in capsys.readouterr().out
    monkeypatch.setattr("regrad.runtime.native.library", lambda: None)
    monkeypatch.setattr("regrad.runtime.onednn.version", lambda: None)
    monkeypatch.setattr("regrad.runtime.config.cache_dir", str(tmp_path / "none"))
    found = information.versions()
    assert "gcc" in found["problems"] and found["C kernels"] == "not there" and "not made yet" in found["cache"]
    monkeypatch.setattr("jax.devices", lambda: 1 / 0)
    assert "ZeroDivisionError" in information.versions()["problems"]


def _callables():
    """Returns {public callable: its name} of all namespaces."""
    modules, todo, found = set(), [tf], {}
    while todo:
        module = todo.pop()
        if module.__name__ in modules or not module.__name__.startswith("regrad"):
            continue
        modules.add(module.__name__)
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                todo.append(value)
            elif callable(value) and not (isinstance(value, type) and issubclass(value, BaseException)):
                found.setdefault(id(value), (name, value))
    return found.values()


def test_signatures_name_their_arguments():
    without, seen = [], 0
    for name, value in _callables():
        parameters = inspect.signature(value).parameters.values()
        kinds = {p.kind for p in parameters}
        if {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD} <= kinds and name not in OPEN_ENDED:
            without.append(name)
        seen += 1
    assert without == [] and seen > 2000
    assert str(inspect.signature(tf.Variable)).startswith("(initial_value=None, trainable=")
    assert str(inspect.signature(tf.raw_ops.MatMul)) == "(a, b, *, transpose_a=False, transpose_b=False, name=None)"
    assert str(inspect.signature(tf.contrib.metrics.streaming_accuracy)).startswith("(predictions, labels, weights=None")


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {tf.__version__}\n" in text and f'version = "{tf.__version__}"' in (ROOT / "pyproject.toml").read_text()


def test_the_docstring_points_on():
    for name in re.findall(r"\btf\.([\w.]+)", tf.__doc__):
        value = tf
        for part in name.split("."):
            value = getattr(value, part)


def test_importing_information_loads_no_jax():
    program = "import regrad as tf, sys; tf.show_versions; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_help_is_a_page_that_says_where_to_begin():
    page = pydoc.plain(pydoc.render_doc(tf))
    assert page.count("\n") < 120 and "tf.gradients" in page and "dir(tf)" in page
    assert "relu(" in pydoc.plain(pydoc.render_doc(tf.nn)) and "gradients" in tf.__all__
    names = {}
    exec("from regrad import *", names)
    assert names["gradients"] is tf.gradients
