"""Forked processes: what NumPy has goes on there, what needs XLA says so at once, and nobody waits for ever."""

import os
import subprocess
import sys

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import forking

SECONDS = 60  # after which a child that waits for ever is ended


def _in_child(function):
    """Returns what `function` returns, text, in a fork of this process; "waits" if that does not end."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(SECONDS)  # ends the process
        try:
            os.write(theirs, str(function()).encode())
        except BaseException as error:
            os.write(theirs, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as file:
        found = file.read().decode()
    return found if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 else "waits"


def _session(depth=0):
    x = tf.placeholder(tf.float32, [64, 64])
    w = tf.Variable(np.eye(64, dtype=np.float32))
    y = tf.reduce_sum(tf.matmul(x, w))
    for _ in range(depth):
        y = tf.tanh(y) * 2.0
    step = tf.train.MomentumOptimizer(0.001, 0.9).minimize(y, tf.train.get_or_create_global_step())
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    feed = {x: np.ones([64, 64], np.float32)}
    return session, feed, step, y


def _forked_after_compiled_runs():
    tf.config.cache_dir, tf.config.host_runs, tf.config.tiny_ops = None, 0, 0
    session, feed, step, y = _session()
    for _ in range(3):
        session.run(step, feed)
    with session.graph.as_default():
        x = next(iter(feed))
        new = tf.reduce_sum(tf.sin(x) * tf.cos(x))
        looped = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, new])[1]
    steps = tf.train.get_global_step(session.graph)

    def work():
        assert forking.lost
        for _ in range(2):
            session.run(step, feed)
        found = [int(session.run(steps)), round(float(session.run(new, feed)), 1), round(float(session.run(looped, feed)), 1)]
        with tf.Graph().as_default():
            mine, feed_, step_, y_ = _session(2)
            found.append(round(float(mine.run(y_, feed_)), 3))
        return found

    print(_in_child(work))
    print(session.run(steps), forking.lost)
    session.run(step, feed)

    with session.graph.as_default():
        values = tf.svd(next(iter(feed)), compute_uv=False)
    print(_in_child(lambda: session.run(values, feed)))  # NumPy has no SVD here


def _forked_while_others_run():
    """Another thread holds the session's lock, and a third loads JAX, when the process is forked."""
    import threading

    tf.config.cache_dir = None
    started, over = threading.Event(), threading.Event()

    def slow(value):
        started.set()
        over.wait(SECONDS)
        return value

    x = tf.placeholder(tf.float32, [3])
    y, z = tf.py_func(slow, [x], tf.float32), x * 2.0
    session = tf.Session()
    session.run(z, {x: [1, 2, 3]})
    thread = threading.Thread(target=session.run, args=(y, {x: [1, 2, 3]}))
    thread.start()
    started.wait()
    print(_in_child(lambda: session.run(z, {x: [1, 2, 3]}).tolist()))
    over.set()
    thread.join()


def _pool():
    """Workers of `multiprocessing` that compute batches by a graph of their own, beside a training that compiles."""
    import multiprocessing

    tf.config.cache_dir, tf.config.host_runs = None, 0
    session, feed, step, y = _session()
    session.run(step, feed)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for batches in pool.imap(_batch, range(6)):
            session.run(step, {next(iter(feed)): np.full([64, 64], batches, np.float32)})
            print(batches, end=" ")
    print(session.run(tf.train.get_global_step()))


def _batch(seed):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 8, 8, 1])
        y = tf.reduce_mean(tf.image.resize_images(tf.nn.conv2d(x, tf.ones([3, 3, 1, 4]), [1, 1, 1, 1], "SAME"), [4, 4]))
        for _ in range(5):
            value = session.run(y, {x: np.full([2, 8, 8, 1], seed, np.float32)})
        return float(np.round(value, 3))


PROGRAMS = {
    _forked_after_compiled_runs: ["[5, 1862.2, 14897.9, ", "3 False", "FailedPreconditionError: Svd", "'spawn'"],
    _forked_while_others_run: ["[2.0, 4.0, 6.0]"],
    _pool: ["0.0 ", " 7\n"],
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__[1:].replace("_", " "))
def test_forked(program):
    """In a process of its own: this one has loaded JAX, which warns of forks, and has threads of other tests."""
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, program.__name__], capture_output=True, text=True,
                          timeout=2 * SECONDS)
    assert done.returncode == 0, done.stderr
    for text in PROGRAMS[program]:
        assert text in done.stdout, done.stdout + done.stderr


if __name__ == "__main__":
    globals()[sys.argv[1]]()
