"""Interrupts, failures in the middle of a run, threads, and memory: a session stays usable and holds no more than it needs."""

import gc
import signal
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import backend

pytestmark = pytest.mark.usefixtures("interruptible")


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)


def _net(width, batch=4, behind_host=False):
    fed = x = tf.placeholder(tf.float32, [batch, width])
    if behind_host:
        x = tf.py_func(lambda a: a, [fed], tf.float32)
        x.set_shape(fed.shape)
    w = tf.Variable(np.linspace(-0.1, 0.1, width * width, dtype=np.float32).reshape(width, width))
    y = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, w)) - 0.5))
    return fed, w, tf.train.MomentumOptimizer(0.01, 0.9).minimize(y)


def test_an_interrupt_in_a_host_function_stops_the_run_and_changes_nothing(session):
    w = tf.Variable([1.0, 2.0])
    stop = [False]

    def work(x):
        if stop[0]:
            signal.raise_signal(signal.SIGINT)
        return x + 1

    step = w.assign(tf.py_func(work, [w], tf.float32))
    session.run(w.initializer)
    session.run(step)
    stop[0] = True
    with pytest.raises(KeyboardInterrupt):
        session.run(step)
    np.testing.assert_array_equal(session.run(w), [2.0, 3.0])
    stop[0] = False
    np.testing.assert_array_equal(session.run(step), [3.0, 4.0])


@pytest.mark.parametrize("behind", [False, True], ids=["", "behind a host function"])
def test_an_interrupt_while_variables_are_overwritten_comes_after_them(session, compiled, monkeypatch, behind):
    """Ctrl-C in the middle of a compiled step that overwrites its variables: all of them have the new values."""
    x, w, step = _net(16, behind_host=behind)
    variables = tf.global_variables()
    feed = {x: np.ones([4, 16], np.float32)}

    def values_after(interrupt):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step, feed)
            programs = [p for r in session._runners.values() for p in r.programs.values()]
            stages = [s for p in programs for s in (p.root, p.root.next) if s is not None]
            (segment,) = {s for stage in stages for s in stage.segments if s.donate}
            if interrupt:
                run = segment.run_compiled

                def interrupted(*args):
                    results = run(*args)
                    signal.raise_signal(signal.SIGINT)
                    return results

                with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                    patched.setattr(segment, "run_compiled", interrupted)
                    session.run(step, feed)
            else:
                session.run(step, feed)
            session.run(step, feed)
            return session.run(variables)

    for one, other in zip(values_after(True), values_after(False)):
        np.testing.assert_array_equal(one, other)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_while_jax_is_loaded_comes_after_it():
    """JAX that was loaded by half cannot be loaded again; MLIR's dialects, which it loads later, neither."""
    code = ("import importlib.abc, signal, sys\nimport numpy as np\nimport regrad as tf\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\ntf.config.cache_dir = None\n"
            "tf.config.host_runs = tf.config.tiny_ops = 0\nseen = []\n"
            "class Interrupts(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        places = {'jax._src.core', 'jax.numpy', 'jaxlib.mlir.dialects.mhlo', 'regrad.runtime.scanning'}\n"
            "        if name in places.difference(seen):\n"
            "            seen.append(name)\n"
            "            signal.raise_signal(signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupts())\nx = tf.placeholder(tf.float32, [3])\ny = tf.reduce_sum(tf.tanh(x) * 3.0)\n"
            "interrupts = 0\nwith tf.Session() as session:\n    while True:\n        try:\n"
            "            print(session.run(y, {x: np.zeros(3)}))\n            break\n"
            "        except KeyboardInterrupt:\n            interrupts += 1\n"
            "print(len(seen), 0 < interrupts <= len(seen), signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "0.0\n4 True True\n", done.stdout + done.stderr


def test_a_failed_compile_leaves_the_session_as_it_was(session, compiled, monkeypatch):
    x, w, step = _net(17)
    session.run(tf.global_variables_initializer())
    before = session.run(tf.global_variables())

    def fail(*args):
        raise MemoryError("no room")

    with monkeypatch.context() as patched, pytest.raises(tf.errors.ResourceExhaustedError, match="no room"):
        patched.setattr(backend, "compile_function", fail)
        session.run(step, {x: np.ones([4, 17])})
    for one, other in zip(before, session.run(tf.global_variables())):
        np.testing.assert_array_equal(one, other)
    session.run(step, {x: np.ones([4, 17])})
    assert (session.run(w) != before[0]).any()


def test_a_compile_in_one_thread_lets_others_run(session, compiled, monkeypatch):
    x, w, step = _net(18)
    v = tf.Variable(1.0)
    session.run(tf.global_variables_initializer())
    session.run(v)
    compiling, done = threading.Event(), threading.Event()
    compile_function = backend.compile_function

    def slow(*args, **kwargs):
        compiling.set()
        assert done.wait(60)
        return compile_function(*args, **kwargs)

    monkeypatch.setattr(backend, "compile_function", slow)
    failures = []

    def train():
        try:
            session.run(step, {x: np.ones([4, 18])})
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    assert compiling.wait(60)
    assert session.run(v) == 1.0  # while the other thread waits for its compiler
    done.set()
    thread.join(60)
    assert not failures and not thread.is_alive()


def test_a_session_that_is_closed_while_it_compiles_cancels_the_run(session, compiled, monkeypatch):
    v = tf.Variable(1.0)
    session.run(v.initializer)
    compile_function = backend.compile_function

    def closing(*args, **kwargs):
        thread = threading.Thread(target=session.close)
        thread.start()
        thread.join(60)
        return compile_function(*args, **kwargs)

    monkeypatch.setattr(backend, "compile_function", closing)
    with pytest.raises(tf.errors.CancelledError, match="session was closed"):
        session.run(v.assign(v * 3.0 - 1.0))


def test_threads_that_assign_the_same_variables_are_as_one_after_the_other(session):
    """x <- 2x + k by 8 threads: every order of the runs gives another number, a mixture gives none of them."""
    a, b = tf.Variable(np.int64(1)), tf.Variable(np.int64(1))
    k = tf.placeholder(tf.int64, [])
    step = tf.group(a.assign(2 * a + k), b.assign(2 * b + k))
    session.run([a.initializer, b.initializer])
    seen = []

    def work(i):
        for _ in range(5):
            session.run(step, {k: i})
            seen.append(session.run([a, b]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(x == y for x, y in seen) and len(seen) == 40


def test_ten_thousand_runs_hold_no_more_than_ten(session):
    x = tf.placeholder(tf.float32, [3])
    v = tf.Variable([1.0, 2.0, 3.0])
    step = v.assign(tf.py_func(lambda a: a * np.float32(0.5), [v * x], tf.float32))
    session.run(v.initializer)

    def objects():
        gc.collect()
        return len(gc.get_objects())

    for _ in range(10):
        session.run(step, {x: [1, 1, 1]})
    before = objects()
    for _ in range(10_000):
        session.run(step, {x: [1, 1, 1]})
    assert objects() - before < 100


def test_dropped_sessions_and_graphs_are_freed(compiled):
    graph = tf.Graph()
    with graph.as_default():
        x, w, step = _net(19)
        session = tf.Session()
        session.run(tf.global_variables_initializer())
        session.run(step, {x: np.ones([4, 19])})
    values = [weakref.ref(v) for v in session.state.values()]
    session.close()
    gc.collect()
    assert not any(ref() is not None for ref in values)
    dead = weakref.ref(graph), weakref.ref(session)
    del graph, session, x, w, step
    gc.collect()
    assert [ref() for ref in dead] == [None, None]
