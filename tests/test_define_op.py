"""Op types that users define: in Python, in C++ built by the system's compiler, and defined again."""

import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel
from regrad.core import opdef

ROOT = pathlib.Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "native_op" / "isotonic.py"


# -- in C++ ----------------------------------------------------------------------------------------


def _example():
    spec = importlib.util.spec_from_file_location("isotonic_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


REFUSING = """
ffi::Error Refuse(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (x.typed_data()[0] < 0) return ffi::Error::InvalidArgument("negative numbers are not served");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Refusing, Refuse, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The example's C++ and a handler of our own, compiled together: nearly all of the time goes into XLA's header."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))[0]
    if shutil.which(compiler) is None:
        pytest.skip(f"no C++ compiler: {compiler} is not on the path")
    directory = tmp_path_factory.mktemp("native")
    example = _example()
    source = directory / "both.cc"
    source.write_text(example.SOURCE.read_text() + REFUSING)
    example.SOURCE = source
    return example.build(directory)


@pytest.fixture(scope="module")
def isotonic(library):
    return _example().define(library)


def expected(x):
    """The minimum over ends of the maximum over starts of means: isotonic regression by its definition."""
    n = len(x)
    mean = [[x[j:k + 1].mean() if j <= k else None for k in range(n)] for j in range(n)]
    return np.array([max(min(mean[j][k] for k in range(i, n)) for j in range(i + 1)) for i in range(n)])


X = np.random.RandomState(3).standard_normal((2, 7)).cumsum(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_value_and_derivatives(isotonic, dtype):
    x = tf.placeholder(dtype, [None, 7])
    y = isotonic(x)
    u, v = (np.random.RandomState(i).standard_normal(X.shape) for i in (4, 5))
    dx = tf.gradients(y, x, grad_ys=[u.astype(dtype)])[0]
    along = tf.jvp(y, x, [tf.constant(v, dtype)])[0]
    with tf.Session() as session:
        got, slope, forward = session.run([y, dx, along], {x: X})
    np.testing.assert_allclose(got, [expected(row) for row in X], rtol=1e-5)
    h = 1e-6
    numeric = [(expected(a + h * b) - expected(a - h * b)) / (2 * h) for a, b in zip(X, v)]
    np.testing.assert_allclose(np.sum(slope * v), np.sum(u * numeric), rtol=1e-4)
    np.testing.assert_allclose(forward, numeric, rtol=1e-4, atol=1e-6)
    assert y.shape.as_list() == [None, 7] and got.dtype == dtype


def test_is_an_operation_like_any_other(isotonic):
    x = tf.placeholder(tf.float64, [2, 7])
    looped = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.sin(isotonic(h) * 2.0)), (0, x))[1]
    y = tf.reduce_sum(tf.square(isotonic(tf.sin(x) * 2.0)) + looped)
    audited = tf.audit(y, x, {x: X}, order=2)
    g = tf.gradients(y, x)[0]
    doubled = tf.gradients(y, x, overrides={"Isotonic": rules.scale(0.0)})[0]
    second = tf.gradients(tf.reduce_sum(g * X), x)[0]
    d, h = np.random.RandomState(6).standard_normal(X.shape), 1e-6
    with tf.Session() as session:
        ends = session.run(y, {x: X + h * d}), session.run(y, {x: X - h * d})
        slopes = session.run(g, {x: X + h * d}), session.run(g, {x: X - h * d})
        one, none, two = session.run([g, doubled, second], {x: X})
    assert audited and {f.type: f.verdict for f in audited.findings}["Isotonic"] == "right", str(audited)
    np.testing.assert_allclose(np.sum(one * d), (ends[0] - ends[1]) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(np.sum(two * d), np.sum((slopes[0] - slopes[1]) * X) / (2 * h), rtol=1e-4)
    np.testing.assert_array_equal(none, 0)


def test_compiles_into_one_segment(isotonic):
    x = tf.placeholder(tf.float32, [40])
    y = tf.tanh(isotonic(tf.exp(x)) * 1.25)
    with tf.Session() as session:
        session.run([y, tf.gradients(y, x)[0]], {x: np.ones(40)})
        (program,) = {p for runner in session._runners.values() for p in runner.programs.values()}
    (segment,) = program.root.segments
    assert segment.compiled and program.root.next is None and not program.root.hosts


def test_shape_rule_refuses(isotonic):
    with pytest.raises(ValueError, match="at least one axis.*test_define_op.py"):
        isotonic(tf.constant(1.0))
    with pytest.raises(TypeError, match="Isotonic"):
        isotonic(tf.constant([1, 2]))


def test_what_the_handler_refuses_fails_the_run_with_its_words(library):
    import ctypes

    import jax

    refuse = jax.ffi.pycapsule(ctypes.cdll.LoadLibrary(str(library)).Refusing)
    jax.ffi.register_ffi_target("regrad_test_refusing", refuse, platform="cpu")

    def lower(b, x):
        return b.jax.ffi.ffi_call("regrad_test_refusing", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    refusing = tf.define_op("DefinedRefusing", "x: T", types={"T": {tf.float32}}, xla_only=True, infer=opdef.same, lower=lower)
    x = tf.placeholder(tf.float32, [2])
    y = refusing(x, name="picky") + 1.0
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative numbers are not served") as error:
            session.run(y, {x: [-1.0, 2.0]})
        assert error.value.op.name == "picky"
        assert any("'picky'" in note and "test_define_op.py" in note for note in error.value.__notes__)
        np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [2.0, 3.0])


def test_the_compilers_words_reach_the_user(tmp_path, monkeypatch):
    example = _example()
    example.SOURCE = tmp_path / "wrong.cc"
    example.SOURCE.write_text("int main( {")
    try:
        example.build(tmp_path)
    except FileNotFoundError:
        pytest.skip("no C++ compiler")
    except RuntimeError as error:
        assert "wrong.cc" in str(error)
    else:
        raise AssertionError("wrong code was compiled")


# -- in Python ---------------------------------------------------------------------------------------


def test_the_derivative_of_a_lowering():
    wave = tf.define_op("DefinedWave", "x: T", infer=opdef.same, lower=lambda b, x: b.np.sin(x * x))
    tf.vjp_of_lowering("DefinedWave")
    x = tf.constant([0.3, 1.2], tf.float64)
    y = wave(x)
    g = tf.gradients(y, x)[0]
    with tf.Session() as session:
        got = session.run([g, tf.gradients(g, x)[0]])
    v = np.array([0.3, 1.2])
    np.testing.assert_allclose(got, [2 * v * np.cos(v * v), 2 * np.cos(v * v) - 4 * v * v * np.sin(v * v)])


PROGRAM = """
import numpy as np, regrad as tf
op = tf.define_op("DefinedAnew", "x: T", infer=lambda x: tf.Spec(x.dims, x.dtype), lower=lambda b, x: b.np.{f}(x))
tf.config.host_runs = tf.config.tiny_ops = 0
x = tf.placeholder(tf.float32, [])
print(tf.Session().run(op(x), {{x: 0.0}}))
"""


def test_an_edited_lowering_is_not_taken_from_the_disk(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "REGRAD_CACHE_DIR": str(tmp_path)}
    printed = [subprocess.run([sys.executable, "-c", PROGRAM.format(f=f)], env=environment, capture_output=True, text=True,
                              check=True).stdout for f in ("sin", "cos")]
    assert [float(p) for p in printed] == [0.0, 1.0]


# -- defined again -------------------------------------------------------------------------------------


@pytest.fixture
def notebook(monkeypatch):
    """Returns run(cell, number): from now on code counts as that run of that cell of a notebook."""
    shell = types.SimpleNamespace(parent_header={})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))

    def run(cell, number):
        shell.parent_header = {"metadata": {"cellId": cell}, "header": {"msg_id": f"message {number}"}}

    return run


def test_a_cell_run_again_replaces_what_it_defined(notebook):
    def define(factor):
        op = tf.define_op("DefinedInACell", "x: T", infer=opdef.same, lower=lambda b, x: x * factor)
        tf.RegisterGradient("DefinedInACell")(lambda op, dy: factor * dy)
        return op

    def values(op):
        x = tf.constant([1.0, 2.0])
        with tf.Session() as session:
            tf.config.host_runs, was = 0, tf.config.host_runs
            tf.config.tiny_ops, tiny = 0, tf.config.tiny_ops
            try:
                return session.run([op(x), tf.gradients(op(x), x)[0]])
            finally:
                tf.config.host_runs, tf.config.tiny_ops = was, tiny

    notebook("a", 1)
    np.testing.assert_allclose(values(define(2.0)), [[2, 4], [2, 2]])
    notebook("a", 2)  # edited, and run again
    np.testing.assert_allclose(values(define(3.0)), [[3, 6], [3, 3]])
    with pytest.raises(ValueError, match="defined already"):  # twice in one run
        define(4.0)
    notebook("b", 3)
    with pytest.raises(ValueError, match="defined already"):
        define(4.0)
    with pytest.raises(KeyError, match="test_define_op.py"):
        tf.RegisterGradient("DefinedInACell")(lambda op, dy: dy)


@pytest.mark.parametrize("name", ["Conv2DOnce", "MatMulTwice", "SumOfProductsOfMine", "StepByProduct", "Identity2", "WhileOne"])
def test_names_mean_nothing_to_the_runtime(name):
    double = tf.define_op(name, "x: T", infer=opdef.same, lower=lambda b, x: 2 * x)
    x = tf.placeholder(tf.float32, [4])
    with tf.Session() as session:
        for _ in range(5):  # NumPy's runs and compiled ones
            assert session.run(double(x) + double(double(x)), {x: np.ones(4)}).tolist() == [6.0] * 4


def test_facts_of_a_users_op_are_the_runtimes():
    """A result that is never worth computing twice is saved by a loop for its gradient; another is computed again."""
    saved = {}
    for cost in ("heavy", "light"):
        op = tf.define_op(f"Costs{cost}", "x: T", infer=opdef.same, lower=lambda b, x: b.np.tanh(x), facts=tf.Facts(cost=cost))
        tf.vjp_of_lowering(f"Costs{cost}")
        start = tf.constant([0.5, 2.0])
        end = tf.while_loop(lambda i, x: i < 4, lambda i, x, op=op: (i + 1, tf.square(op(x))), [0, start])[1]
        gradient = tf.gradients(end, start)[0]
        loop = end.op.inputs[0].op
        saved[cost] = {t.op.type for t in loop.attrs["body"].outputs[loop.attrs["n_carry"]:]}
        with tf.Session() as session:
            assert np.isfinite(session.run(gradient)).all()
    assert "Costsheavy" in saved["heavy"] and "Costslight" not in saved["light"]
    with pytest.raises(TypeError, match="facts of 'NoFacts' must be a tf.Facts"):
        tf.define_op("NoFacts", "x: T", infer=opdef.same, facts={"cost": "heavy"})
    with pytest.raises(TypeError, match="no_such_fact"):
        tf.Facts(no_such_fact=True)


def test_defined_twice_is_refused():
    assert repr(sel.type("MatMul")) == "sel.type('MatMul')"
    with pytest.raises(ValueError, match="defined already"):
        tf.define_op("MatMul", "x: T", infer=opdef.same)
