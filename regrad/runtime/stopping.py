"""Runs are stopped in the middle of compiled loops that are long, or of which nobody knows how long they go on.

XLA cannot be interrupted, and while it computes in the main thread Python answers no signal. But a program reads its arguments
where they lie, each time that it asks for them. So one with such loops gets an array of zeros, and a loop goes on as long as
it reads zeros there, a place a turn, which costs it a nanosecond. Another thread, which sleeps until a signal or a deadline
comes, writes ones: all loops of the run end, and what the program gives is thrown away.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import sys
import threading
import time
import weakref

import numpy as np

from regrad.core.errors import CancelledError, DeadlineExceededError
from regrad.runtime.loading import import_jax

PLACES = 1024  # turns read one after the other: what is the same in all turns LLVM would read once, before the loop
_SIGNALS = (signal.SIGINT, signal.SIGTERM)  # which ask for an end, if they are answered by Python
_signal = sys.modules.get("_signal", signal)


def goes_on(b, turn):
    """Returns whether a loop of the program that is traced by `b` may make this turn."""
    place = turn.astype("uint32") & np.uint32(PLACES - 1)
    return b.lax.dynamic_index_in_dim(b.flags, place, keepdims=False) == 0


class Stoppable:
    """A compiled program that takes such an array as its last argument, called without it."""

    def __init__(self, executable):
        self._executable = executable

    def __call__(self, *args, session):
        run = _of_thread()
        if run.session is not None:  # a signal's handler runs something: nothing stops that
            return self._executable(*args, run.zeros)
        while True:
            try:
                run.begin(session)
                results = self._executable(*args, run.flags)
                results[0].block_until_ready()  # it is, unless JAX's client computes in threads of its own
                asked = run.asked
            finally:
                run.end()
            if not asked:
                return results
            run.check(session)
            # It was a signal that Python has answered by now, and not by an exception: once more, from the beginning.


class _Run:
    """What a thread runs, one loop after the other.

    Attributes:
      deadline: when its time is over, as `time.monotonic()` counts; None for never.
      session: whose loop computes now, if one does.
      flags, zeros: the array, on the device, and another that nobody writes to.
      asked: True if the loop is to stop. It is set before the ones are written: no loop has read any while it is False.
      main: whether this is the main thread, which answers signals.
    """

    def __init__(self):
        self.deadline = None
        self.flags = self.zeros = self._memory = None
        self.asked = False
        self.session = None
        self.main = threading.current_thread() is threading.main_thread()
        self._lock = threading.RLock()  # a signal's handler may come in between
        self._watcher = None

    def begin(self, session):
        if self.flags is None:
            self.flags, self.zeros = (import_jax().device_put(np.zeros(PLACES, np.uint8)) for _ in range(2))
            on_cpu = all(device.platform == "cpu" for device in self.flags.devices())
            self._memory = self.flags.unsafe_buffer_pointer() if on_cpu else None
        if self.asked:
            self._write(False)
        self.session = session
        self.check(session)
        if self.main or self.deadline is not None:
            self._watcher = _Watcher.one or _Watcher.started()
            if self._watcher is not None:
                self._watcher.watch(self)

    def end(self):
        try:
            if self._watcher is not None:
                self._watcher.leave(self)
        finally:
            self.session = self._watcher = None

    def check(self, session):
        if session.closed:
            raise CancelledError("The session was closed in the middle of a run.")
        self.check_time()

    def check_time(self):
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise DeadlineExceededError(None, None, "Timed out waiting for notification: the run has taken as long as its "
                                        "RunOptions(timeout_in_ms=...) or ConfigProto(operation_timeout_in_ms=...) allow.")

    def stop(self):
        self._write(True)

    def _write(self, asked):
        with self._lock:
            self.asked = asked
            if self._memory is not None:
                ctypes.memset(self._memory, asked, PLACES)


_threads = threading.local()
_runs: weakref.WeakSet = weakref.WeakSet()  # of all threads


def _of_thread():
    """Returns the _Run of this thread."""
    try:
        return _threads.run
    except AttributeError:
        run = _threads.run = _Run()
        _runs.add(run)
        return run


# -- time ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def within(seconds):
    """Context manager: runs of this thread have so much time; 0 or None leaves them what a run around them has."""
    run = _of_thread()
    outer = run.deadline
    if seconds:
        run.deadline = time.monotonic() + seconds
    try:
        yield
    finally:
        run.deadline = outer


def left():
    """Returns the seconds that this thread's run still has, None for no limit."""
    deadline = _of_thread().deadline
    return None if deadline is None else max(deadline - time.monotonic(), 0)


def close(session):
    """Stops a loop of a session that is closed by another thread."""
    for run in list(_runs):
        if run.session is session:
            run.stop()


def check(session):
    """Ends this thread's run of `session` if its time is over, or another thread has closed it.

    Raises: CancelledError, DeadlineExceededError.
    """
    _of_thread().check(session)


def check_time():
    """Ends this thread's run if its time is over; raises DeadlineExceededError."""
    _of_thread().check_time()


# -- the thread that waits -------------------------------------------------------------------------


class _Watcher:
    """A thread that sleeps until Python is told of a signal, or the time of a run is over."""

    one = None  # of this process
    _starting = threading.Lock()

    @classmethod
    def started(cls):
        """Returns the one of this process; None where none can be started any more."""
        if cls.one is None:
            with cls._starting:
                if cls.one is None:
                    try:
                        cls.one = cls()
                    except RuntimeError:  # the program ends: no thread begins
                        return None
        return cls.one

    def __init__(self):
        import socket  # not in every program's imports: it takes 2 ms

        self._hearing, self._waking = socket.socketpair()  # Python writes a signal's number, whatever the main thread does
        self._hearing.setblocking(False)
        self._waking.setblocking(False)
        self._fd = self._waking.fileno()
        self._others = -1  # where Python would write it otherwise
        self._main = None  # the main thread's run
        self._timed = set()  # runs that have a deadline
        self._until = None  # it sleeps no longer
        self._lock = threading.RLock()
        threading.Thread(target=self._watch, name="regrad-stop", daemon=True).start()

    def watch(self, run):
        if run.deadline is not None:
            with self._lock:
                self._timed.add(run)
                sooner = self._until is None or run.deadline < self._until
            if sooner:
                with contextlib.suppress(BlockingIOError):  # so full of signals that it wakes anyway
                    self._waking.send(b"\0")
        if run.main:
            self._main = run
            self._others = _signal.set_wakeup_fd(self._fd)

    def leave(self, run):
        if run.main:
            _signal.set_wakeup_fd(self._others)
            self._main = None
            if self._others != -1:
                self._hear()  # what the thread has not told them yet
                self._others = -1
        if run.deadline is not None:
            with self._lock:
                self._timed.discard(run)

    def _watch(self):
        selector = selectors.DefaultSelector()
        selector.register(self._hearing, selectors.EVENT_READ)
        while True:
            with self._lock:
                self._until = min((run.deadline for run in self._timed), default=None)
            selector.select(None if self._until is None else max(self._until - time.monotonic(), 0))
            self._hear()
            with self._lock:
                late = [run for run in self._timed if run.deadline <= time.monotonic()]
                self._timed.difference_update(late)
            for run in late:
                run.stop()

    def _hear(self):
        """Stops the main thread's run if a signal asks for that, and tells the others."""
        with self._lock, contextlib.suppress(OSError):  # nothing to hear, or nobody to tell
            signals = self._hearing.recv(PLACES).replace(b"\0", b"")
            main = self._main
            if main is not None and not set(_SIGNALS).isdisjoint(signals):
                main.stop()
            if self._others != -1:
                os.write(self._others, signals)


def _forget():
    """In a forked process, where the thread does not exist."""
    global _threads
    _threads = threading.local()
    _Watcher.one, _Watcher._starting = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
