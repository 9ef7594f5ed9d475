"""NumPy runs first, another thread compiles, and which of them a run is of does not depend on time."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import background, segment


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(tf.config, "cache_dir", None)
    monkeypatch.setattr(tf.config, "host_cost", 10)  # so that this small net counts as work
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _net(width):
    """Returns (loss, step) of a small net whose structure no other test has."""
    w = tf.Variable(np.linspace(-1, 1, width * width, dtype=np.float32).reshape(width, width))
    x = tf.ones([4, width])
    loss = tf.reduce_sum(tf.square(tf.tanh(tf.matmul(x, w)) - 0.5))
    return loss, tf.train.GradientDescentOptimizer(0.01).minimize(loss), w


def _wait():
    for thread in threading.enumerate():
        if thread.name == "regrad-compile":
            thread.join(60)


def test_the_second_run_is_numpys_while_a_thread_compiles(session, monkeypatch):
    compiled = []
    monkeypatch.setattr(background, "compile_soon", compiled.append)
    loss, step, w = _net(37)
    session.run(w.initializer)
    before = session.compiles
    session.run(step)
    assert not compiled
    session.run(step)
    assert len(compiled) == 1 and session.compiles == before
    session.run(step)
    assert session.compiles == before + 1  # nobody had done it, so the third run did


def test_the_numbers_are_the_same_whether_the_thread_is_quick_or_slow(session, monkeypatch):
    def losses(wait):
        segment.clear_cache()
        with tf.Graph().as_default(), tf.Session() as session:
            loss, step, w = _net(41)
            session.run(w.initializer)
            found = []
            for _ in range(5):
                found.append(session.run([loss, step])[0])
                wait()
            return found

    assert losses(_wait) == losses(lambda: None)


def test_what_the_thread_cannot_compile_is_told_to_the_run(session, monkeypatch):
    from regrad.runtime import backend

    loss, step, w = _net(43)
    session.run(w.initializer)
    before = session.run(w)

    def fail(*args, **kwargs):
        raise MemoryError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(backend, "compile_function", fail)
        session.run([loss, step])
        session.run([loss, step])
        _wait()
        kept = session.run(w)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="no room"):
            session.run([loss, step])
        np.testing.assert_array_equal(session.run(w), kept)  # a failed compile leaves the variables
    assert (kept != before).any()
    session.run([loss, step])  # and the session works on


def test_a_program_that_ends_does_not_wait_for_the_compiler(tmp_path):
    program = tmp_path / "ends.py"
    program.write_text("""
import os, threading, time
import jax
import regrad as tf
compiled, compiling = jax.stages.Lowered.compile, []
def slowly(*args, **options):
    result = compiled(*args, **options)
    compiling.append(result)
    time.sleep(600)
jax.stages.Lowered.compile = slowly
tf.config.host_cost = 10
y = tf.reduce_sum(tf.tanh(tf.matmul(tf.random_uniform([30, 30]), tf.ones([30, 30]))))
session = tf.Session()
for _ in range(2):
    session.run(y)
while not compiling:
    time.sleep(0.01)
child = os.fork()
if not child:  # as multiprocessing ends its children
    threading._shutdown()
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
raise SystemExit(4)
""")
    done = subprocess.run([sys.executable, "-W", "ignore", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (4, "3\n", "")


def test_small_parts_of_a_large_program_are_compiled_with_the_others(session, monkeypatch):
    for name, value in (("whole_ops", 30), ("longest_ops", 0), ("segment_ops", 20), ("host_cost", 3000)):
        monkeypatch.setattr(tf.config, name, value)
    x = tf.constant(np.linspace(-1, 1, 601, dtype=np.float32)) + tf.placeholder(tf.float32, [])
    for _ in range(20):
        x = tf.tanh(x)  # 1,202 elements read and written, 20 times
    y = tf.reduce_sum(x)
    for _ in range(25):
        y = tf.sin(y) * 1.5
    queued = []
    monkeypatch.setattr(background, "compile_soon", queued.append)
    results, sizes = [], []
    for _ in range(4):
        results.append(session.run(y, {"Placeholder:0": 0.5}))
        sizes.append(len(queued))
    assert sizes == [0, 1, 1, 1]  # in one piece as long as it is NumPy's
    parts = queued[0].parts()
    small = [part for part in parts if part.cost() <= tf.config.host_cost and not part.tiny()]
    assert small and all(part.compiled for part in parts if not part.tiny())
    assert results[0] == results[1] and results[2] == results[3]


def test_a_long_program_is_cut_when_it_is_compiled(monkeypatch):
    """Variables, random numbers and what depends on a host function's result go on where NumPy left them."""
    monkeypatch.setattr(tf.config, "host_cost", 500)
    monkeypatch.setattr(tf.config, "whole_ops", 30)
    monkeypatch.setattr(tf.config, "segment_ops", 20)

    def train(**settings):
        for name, value in settings.items():
            monkeypatch.setattr(tf.config, name, value)
        with tf.Graph().as_default(), tf.Session() as session:
            w = tf.Variable(np.linspace(0.5, 1, 300, dtype=np.float64))
            h = w + 0.01 * tf.random_normal([300], seed=3, dtype=tf.float64)
            for _ in range(12):
                h = tf.tanh(h * w)
            rows = tf.py_func(lambda a: a[:200], [h], tf.float64)
            for _ in range(16):
                rows = tf.sin(rows) * 1.2
            step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(h))
            session.run(tf.global_variables_initializer())
            losses = [session.run([tf.reduce_sum(h), tf.reduce_sum(rows), step])[:2] for _ in range(5)]
            for _ in range(4):
                session.run(step)  # nothing can fail after it: the variable is overwritten in place
            programs = {p for r in session._runners.values() for p in r.programs.values() if r.plan.asked == (step,)}
            return losses, session.run(w), [p.donates for p in programs]

    # With the op seed alone, and the graph's default seed, all draw the same.
    cold, cold_w, _ = train(whole_ops=10_000, host_runs=9)
    hot, hot_w, overwritten = train(whole_ops=30, host_runs=3)
    assert overwritten == [True]
    np.testing.assert_allclose(hot, cold, rtol=1e-9)
    np.testing.assert_allclose(hot_w, cold_w, rtol=1e-9)
