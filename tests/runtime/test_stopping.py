"""Loops without an end, or with a late one, are stopped by Ctrl-C, by time, by closing a session; variables stay as before."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import stopping

pytestmark = pytest.mark.usefixtures("interruptible")

LONG = 2_000_000_000  # turns: some ten seconds


def _count(turns, start=0):
    """Returns `start` and the number of turns that `turns`, a tensor, says, added by a loop."""
    return tf.while_loop(lambda i, x: i < turns, lambda i, x: (i + 1, x + 1), [0, tf.convert_to_tensor(start)])[1]


def _after_loop(value):
    """Returns (variable, step): an assignment of a large variable that uses `value`."""
    w = tf.Variable(np.arange(300_000, dtype=np.float32))
    return w, w.assign(w * 0.5 + tf.cast(value, tf.float32))


class _while_in_a_loop:
    """Context manager: calls a function in another thread as soon as the main thread's run is where it can be stopped."""

    def __init__(self, function, *args):
        self.call, self.over = lambda: function(*args), threading.Event()
        self.thread = threading.Thread(target=self._wait)

    def _wait(self):
        while not self.over.is_set():
            if stopping._Watcher.one is not None and stopping._Watcher.one._main is not None:
                self.call()
                return
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *exc):
        self.over.set()
        self.thread.join()


PLACES = {
    "alone": lambda go: _endless(go, 0),
    "in a branch": lambda go: tf.cond(tf.logical_not(go), lambda: 0, lambda: _endless(go, 0)),
    "in a loop of known length": lambda go: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, _endless(go, x)), [0, 0])[1],
    "in a scan": lambda go: tf.scan(lambda x, row: _endless(go, x) + row, tf.range(3), 0)[2],
    "of products": lambda go: tf.while_loop(lambda x: go, lambda x: tf.tanh(x @ x), [tf.ones([100, 100])])[0, 0],
    "of an hour's known length": lambda go: tf.cond(go, lambda: tf.while_loop(
        lambda i, x: i < 50_000, lambda i, x: (i + 1, _slow(x)), [0, 1.0])[1], lambda: 0.0),
    "that saves rows, as long": lambda go: tf.cond(go, lambda: _derivative(lambda x: tf.while_loop(
        lambda i, x: i < 50_000, lambda i, x: (i + 1, tf.sin(x) + tf.stop_gradient(_slow(x))), [0, x])[1]), lambda: 0.0),
    "of random numbers": lambda go: tf.while_loop(lambda x: go, lambda x: x + tf.random_normal([]), [0.0]),
    "from the host": lambda go: tf.while_loop(lambda x: go, lambda x: tf.ensure_shape(
        tf.py_func(lambda v: v + np.int32(1), [x], tf.int32), []), [0]),
}


def _slow(x):
    return tf.reduce_max(tf.ones([1000, 1000]) * x @ tf.ones([1000, 1000])) * 1e-3


def _derivative(function):
    x = tf.constant(1.0)
    return tf.gradients(function(x), x)[0]


def _endless(go, start):
    return tf.while_loop(lambda x: go, lambda x: x + 1, [start])


def _stop_all():
    """Stops an endless loop in each place by Ctrl-C and by time, and looks whether anything has changed."""
    tf.config.cache_dir = None
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for place, loop in PLACES.items():
        tf.reset_default_graph()
        go = tf.placeholder(tf.bool, [])
        w, step = _after_loop(loop(go))
        with tf.Session() as session:
            session.run(w.initializer)
            first = session.run(step, {go: False})
            if place != "from the host":  # there Python is never away
                number = signal.SIGTERM if place == "alone" else signal.SIGINT
                with pytest.raises(KeyboardInterrupt), _while_in_a_loop(os.kill, os.getpid(), number):
                    session.run(step, {go: True})
                assert signal.set_wakeup_fd(-1) == -1
            with pytest.raises(tf.errors.DeadlineExceededError, match="timeout_in_ms"):
                session.run(step, {go: True}, options=tf.RunOptions(timeout_in_ms=30))
            np.testing.assert_array_equal(session.run(w), first)
            again = session.run(step, {go: False})
            session.run(w.initializer)
            session.run(step, {go: False})
            np.testing.assert_array_equal(session.run(step, {go: False}), again)
        print(place)


def test_endless_loops_end_and_change_nothing():
    """In a process of its own: a loop that nothing stops is there for ever."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == list(PLACES), done.stderr


def test_a_handler_that_does_not_raise_changes_nothing(session):
    """Whoever notes a signal, asyncio for one, hears of it, and the run gives what it gives; the handler may run something."""
    turns = tf.placeholder(tf.int32, [])
    count, seen = _count(turns), []
    assert session.run(count, {turns: 5}) == 5
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(session.run(count, {turns: number})))
    theirs, ours = socket.socketpair()
    ours.setblocking(False)
    with theirs, ours:
        signal.set_wakeup_fd(ours.fileno())
        with _while_in_a_loop(signal.raise_signal, signal.SIGINT):
            assert session.run(count, {turns: 20_000_000}) == 20_000_000
        assert signal.set_wakeup_fd(-1) == ours.fileno()
        assert seen == [signal.SIGINT]
        assert theirs.recv(8) == bytes([signal.SIGINT])


def test_a_session_s_time_ends_loops(session):
    turns = tf.placeholder(tf.int32, [])
    count = _count(turns)
    session.run(count, {turns: 5})
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=30)) as timed:
        with pytest.raises(tf.errors.DeadlineExceededError):
            timed.run(count, {turns: LONG})
        assert session.run(count, {turns: 6}) == 6
    assert session.run(count, {turns: 7}, options=tf.RunOptions(timeout_in_ms=60_000)) == 7


def test_one_run_is_stopped_and_others_go_on(session):
    """Runs of eight threads: one has a time, and a loop in its session and in another are not its."""
    turns = tf.placeholder(tf.int32, [])
    count = _count(turns)
    session.run(count, {turns: 5})
    found = {}

    def run(i):
        with tf.Session(graph=session.graph) if i % 2 else session.as_default() as own:
            limit = tf.RunOptions(timeout_in_ms=50) if i == 3 else None
            try:
                found[i] = own.run(count, {turns: LONG if i == 3 else 1_000_000 + i}, options=limit)
            except tf.errors.DeadlineExceededError:
                found[i] = "over"

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {i: "over" if i == 3 else 1_000_000 + i for i in range(8)}


def test_closing_a_session_ends_its_loop(session):
    turns = tf.placeholder(tf.int32, [])
    count = _count(turns)
    session.run(count, {turns: 5})
    with pytest.raises(tf.errors.CancelledError), _while_in_a_loop(session.close):
        session.run(count, {turns: LONG})
    with tf.Session(graph=session.graph) as other:
        assert other.run(count, {turns: 7}) == 7


def test_a_forked_process_has_a_thread_of_its_own_that_stops_runs(session):
    """JAX warns of forking, so what is done in the child is done here."""
    watcher = stopping._Watcher.started()
    stopping._forget()
    turns = tf.placeholder(tf.int32, [])
    count = _count(turns)
    session.run(count, {turns: 5})
    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(count, {turns: LONG}, options=tf.RunOptions(timeout_in_ms=30))
    assert stopping._Watcher.one is not watcher


@pytest.mark.parametrize("last, donates", [
    ("a loop", [False, True]), ("a division", [True]), ("a late division", [False, True])])
def test_rows_of_large_variables_are_written_in_place_behind_what_a_run_may_end_with(session, last, donates):
    """Copying them would take most of the step; what may stop the run, or refuses values too late, is a program before it."""
    turns = tf.placeholder(tf.int32, [])
    table = tf.Variable(np.zeros([5000, 64], np.float32))
    value = 12 // turns if last == "a division" else _count(turns) if last == "a loop" else turns - 1
    step = tf.scatter_add(table, [1, 7], tf.ones([2, 64]) * tf.cast(value, tf.float32))
    with tf.control_dependencies([step]):
        step = [step.op, 12 // turns] if last == "a late division" else step.op
    session.run(table.initializer)
    for _ in range(5):
        session.run(step, {turns: 4})
    (program,) = {p for r in session._runners.values() for p in r.programs.values() if p.plan.feeds}
    assert [bool(s.donate) for s in program.root.segments] == donates
    if last == "a loop":
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(step, {turns: LONG}, options=tf.RunOptions(timeout_in_ms=30))
    else:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(step, {turns: 0})
    found = session.run(table)
    assert found[1, 0] == found[7, 63] == 5 * (4 if last == "a loop" else 3) and found.sum() == 128 * found[1, 0]


if __name__ == "__main__":
    _stop_all()
