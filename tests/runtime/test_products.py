"""Products of matrices that `products.c` computes on XLA's threads: values, which ones, and what is done without it."""

import os
import shutil
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.runtime import backend, foreign, native, products, segment
from tests import c_library

SHAPES = [(1, 5, 3), (128, 128, 128), (131, 77, 300), (500, 112, 40)]  # rows, columns, inner: a part of a tile, blocks, rests
needs_library = pytest.mark.skipif(native.library() is None and shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library, installed or compiled now."""
    found = native.library()
    if found is None:
        found = c_library.built(tmp_path_factory.mktemp("products"))
        foreign.register.cache_clear()
    return found


@pytest.fixture
def used(library, monkeypatch):
    """It is used, as on a machine of several cores."""
    monkeypatch.setattr(native, "library", lambda: library)
    monkeypatch.setattr(tf.config, "native", True)
    monkeypatch.setattr(native.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    monkeypatch.setattr(tf.config, "host_runs", 0)
    segment.clear_cache()


@pytest.fixture
def calls(monkeypatch):
    """The shapes of the products that are handed over while programs are traced."""
    made, call = [], foreign.call

    def counted(target, shape, *args, **attributes):
        if target == products.TARGET:
            made.append(shape)
        return call(target, shape, *args, **attributes)

    monkeypatch.setattr(foreign, "call", counted)
    return made


@c_library.needs_compiler
@pytest.mark.parametrize("kernel", c_library.PROCESSORS)
def test_products_of_all_shapes_by_all_kernels(kernel, tmp_path):
    built = c_library.built(tmp_path, *c_library.PROCESSORS[kernel], names=("products", "sharing"))
    target = f"regrad_product {kernel}"
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(built.regrad_product), platform="cpu")
    rng = np.random.default_rng(0)
    for rows, columns, inner in SHAPES:
        for transposed in range(4):
            x = rng.standard_normal((inner, rows) if transposed & 1 else (rows, inner), np.float32)
            y = rng.standard_normal((columns, inner) if transposed & 2 else (inner, columns), np.float32)
            z = foreign.call(target, (rows, columns), np.float32, x, y, transposed=np.int32(transposed))
            x, y = x.T if transposed & 1 else x, y.T if transposed & 2 else y
            error = np.abs(z - np.matmul(x.astype("d"), y))
            assert (error <= inner * 2.0**-24 * np.matmul(abs(x), abs(y))).all()  # what rounding may do in any order


@needs_library
def test_which_products_it_computes(used, monkeypatch):
    def serves(*args, **kwargs):
        return products.serves(backend.XLA, *args, **kwargs)

    assert serves(64, 512, 192, np.float32)
    assert not serves(64, 512, 192, np.float64)
    assert not products.serves(HOST, 64, 512, 192, np.float32)
    assert not serves(64, 64, 64, np.float32)  # done before another thread is awake
    assert not serves(1024, 1024, 1024, np.float32)  # XLA shares it out itself
    assert not serves(8, 1024, 1024, np.float32)  # not worth packing
    assert serves(1024, 10, 128, np.float32, transpose_x=True)
    assert not serves(1024, 10, 128, np.float32)
    assert serves(192, 512, 3200, np.float32, transpose_x=True)
    assert not serves(192, 512, 3200, np.float32)
    monkeypatch.setattr(tf.config, "threads", 1)
    assert not serves(64, 512, 192, np.float32)
    monkeypatch.setattr(tf.config, "threads", 2)
    assert serves(64, 512, 192, np.float32)
    monkeypatch.setattr(tf.config, "native", False)
    assert not serves(64, 512, 192, np.float32)


def test_without_the_library_xla_computes(monkeypatch):
    monkeypatch.setattr(native, "library", lambda: None)
    assert not products.available() and native.handler(products.TARGET) is None
    assert not products.serves(backend.XLA, 64, 512, 192, np.float32)


def test_a_library_for_another_machine_is_none(tmp_path, monkeypatch):
    (tmp_path / "_native.so").write_bytes(b"not a library")
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    assert native.library.__wrapped__() is None


@needs_library
def test_where_xla_has_no_such_interface_xla_computes(used, monkeypatch):
    monkeypatch.setattr(foreign, "register", lambda target: None)
    assert products.available() and not products.serves(backend.XLA, 64, 512, 192, np.float32)


PROGRAM = """
import numpy as np
import regrad as tf

rng = np.random.default_rng(0)
x = tf.placeholder(tf.float32, [{steps}, 64, 64])
w = tf.constant(rng.standard_normal((192, 256)).astype("f") / 16)
turn = lambda h, x: tf.tanh(tf.matmul(tf.tanh(tf.matmul(tf.concat([x, h], 1), w)), w, transpose_b=True)[:, :128])
h = tf.zeros([64, 128])
if {loop}:
    h = tf.foldl(turn, x, h)
else:
    for row in tf.unstack(x):
        h = turn(h, row)
y = tf.reduce_sum(tf.square(h))
fetches = [y, *tf.gradients(y, [x, w])]
session = tf.Session()
feed = {{x: rng.standard_normal(x.shape.as_list()).astype("f")}}
"""


def _program(loop, steps=3):
    names = {}
    with tf.Graph().as_default():
        exec(PROGRAM.format(loop=loop, steps=steps), names)
    return lambda: names["session"].run(names["fetches"], names["feed"])


@needs_library
@pytest.mark.parametrize("loop", [True, False], ids=["loop", "unrolled"])
def test_programs_with_it_and_without(loop, used, calls, monkeypatch):
    with_it = _program(loop)()
    assert {(64, 256), (64, 192)} <= set(calls)
    n = len(calls)
    monkeypatch.setattr(tf.config, "native", False)
    segment.clear_cache()
    without = _program(loop)()
    assert len(calls) == n
    for a, b in zip(with_it, without):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * np.abs(b).max())


def _turn(more):
    """Returns a turn of a loop with weights `w`, which are turned, and whose rows of columns put together are multiplied."""
    w = np.random.default_rng(1).standard_normal((160, 256), np.float32)

    def turn(h, row):
        g = jax.numpy.concatenate([jax.numpy.tanh(row), h], 1)  # 64 x 256
        h = products.product(backend.XLA, g, w[32:], transpose_y=True) / 16
        return h, (g, g.sum(0), h.sum(), h > 0, *more(g))

    return turn


ROWS = {"placed": (lambda g: (), 0), "needed as it is": (lambda g: (g.max(),), 1), "twice a result": (lambda g: (g,), 1)}


@needs_library
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("rows", ROWS)
def test_stacks_of_loops_are_what_they_are_without_it(rows, reverse, used, monkeypatch):
    rng = np.random.default_rng(0)
    more, joined = ROWS[rows]
    inputs = [rng.standard_normal(dims, np.float32) for dims in ((64, 128), (4, 64, 128))]
    loops, made = [], []
    for switch in (True, False):
        monkeypatch.setattr(tf.config, "native", switch)
        program = jax.jit(lambda h, x: backend.XLA.scan(_turn(more), h, x, length=4, reverse=reverse)).trace(*inputs)
        eqns = program.jaxpr.eqns
        loop = next(eqn for eqn in eqns if eqn.primitive.name == "while")
        loops.append(([eqn.primitive.name for eqn in eqns], [e.primitive.name for e in loop.params["body_jaxpr"].jaxpr.eqns]))
        made.append(jax.tree.leaves(program.lower().compile()(*inputs)))
    (around, turn), (plain, _) = loops
    assert "ffi_call" in around and "ffi_call" not in plain  # the large stacks begin as they are
    assert "transpose" in around and "ffi_call" in turn  # the weights are turned once
    assert turn.count("concatenate") == joined
    for a, b in zip(*made, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@needs_library
def test_eight_threads_get_what_one_gets(used, calls):
    run = _program(loop=True, steps=50)
    expected, got = run(), {}

    def work(i):
        got[i] = [run() for _ in range(3)]

    threads = [threading.Thread(target=work, args=[i]) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert calls and len(got) == 8
    for results in got.values():
        for result in results:
            for a, b in zip(result, expected):
                np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not products.available(), reason="it was not built when Regrad was installed, or there is one core")
def test_a_second_process_takes_programs_that_call_it_from_the_disk(tmp_path):
    code = "import regrad as tf\ntf.config.host_runs = 0; {switch}\n" + PROGRAM.format(loop=True, steps=3) + """
from regrad.runtime import segment
print(session.run(y, feed), segment.compile_count)
"""
    lines = []
    for switch in ("", "", "tf.config.native = False"):  # the last has another program
        done = subprocess.run([sys.executable, "-c", code.replace("{switch}", switch)],
                              env={**os.environ, "REGRAD_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True)
        lines.append(done.stdout.split())
    assert lines[0][0] == lines[1][0]
    assert int(lines[0][1]) > int(lines[1][1]) == 0 < int(lines[2][1])


@pytest.mark.parametrize("transpose_y", [False, True])
def test_a_column_is_multiplied_as_a_row(used, transpose_y):
    x, y = np.ones((2048, 1024), np.float32), np.arange(2048, dtype=np.float32)[:, None]
    y = y.T if transpose_y else y
    traced = jax.jit(lambda x, y: products.product(backend.XLA, x, y, True, transpose_y)).trace(x, y)
    assert "ffi_call" not in str(traced.jaxpr)
    np.testing.assert_array_equal(traced.lower().compile()(x, y), np.full((1024, 1), 2047 * 1024, np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("transpose_y", [False, True])
def test_a_long_first_operand_is_turned_beforehand(dtype, transpose_y):
    rng = np.random.default_rng(0)
    x, y = (9 * rng.standard_normal((300, 7))).astype(dtype), (9 * rng.standard_normal((300, 5))).astype(dtype)
    traced = jax.jit(lambda x, y: products.product(backend.XLA, x, y, True, transpose_y)).trace(x, y.T if transpose_y else y)
    assert ("optimization_barrier" in str(traced.jaxpr)) == (dtype == np.float32)
    got = traced.lower().compile()(x, y.T if transpose_y else y)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, x.T @ y, rtol=1e-4, atol=1e-2)
