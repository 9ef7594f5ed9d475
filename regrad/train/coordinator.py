"""Threads that work for a training loop: starting, stopping and waiting for them, passing on their exceptions."""

import contextlib
import sys
import threading
import time

from regrad.core import context, errors
from regrad.core.graph import get_default_graph
from regrad.core.graph_keys import GraphKeys
from regrad.core.shown import Shown


class Coordinator(Shown):
    """Lets threads stop together and tells the main thread what went wrong in any of them.

        coord = tf.train.Coordinator()
        threads = [threading.Thread(target=work, args=(coord,)) for _ in range(4)]   # loops: while not coord.should_stop()
        ...
        coord.request_stop()
        coord.join(threads)
    """

    def __init__(self, clean_stop_exception_types=None):
        """Args: clean_stop_exception_types: exceptions that only stop; by default OutOfRangeError."""
        self._clean = tuple(clean_stop_exception_types or (errors.OutOfRangeError,))
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error = None
        self._joined = False
        self._registered = set()

    @property
    def joined(self):
        return self._joined

    def should_stop(self):
        """Returns whether a stop was requested."""
        return self._stop.is_set()

    def request_stop(self, ex=None):
        """Asks all threads to stop; `ex` (an exception or sys.exc_info()) is raised again by `join`."""
        with self._lock:
            if isinstance(ex, tuple):
                ex = ex[1]
            if ex is not None and not isinstance(ex, self._clean):
                if self._joined:
                    raise ex
                if not self._stop.is_set():  # what goes wrong while stopping is part of stopping
                    self._error = ex
            self._stop.set()

    def clear_stop(self):
        """Makes `should_stop` false again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def wait_for_stop(self, timeout=None):
        """Waits up to `timeout` seconds; returns whether a stop was requested."""
        return self._stop.wait(timeout)

    def register_thread(self, thread):
        """Adds a thread for which `join` waits."""
        with self._lock:
            self._registered.add(thread)

    @contextlib.contextmanager
    def stop_on_exception(self):
        """Context manager: an exception inside the block requests a stop, and ends there."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits until the threads have ended, then raises what one of them reported.

        Args:
          threads: threads to wait for, besides the registered ones.
          stop_grace_period_secs: how long they may take after a stop was requested.
          ignore_live_threads: do not complain about those that run on.

        Raises:
          RuntimeError: a thread did not end in time.
        """
        with self._lock:
            waited = self._registered | set(threads or ())
        while any(t.is_alive() for t in waited) and not self._stop.wait(0.02):
            pass
        deadline = time.monotonic() + stop_grace_period_secs
        for t in waited:
            t.join(max(0.0, deadline - time.monotonic()))
        alive = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._registered.clear()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    def raise_requested_exception(self):
        """Raises what a thread passed to `request_stop`, if anything."""
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """A thread that calls `run_loop` (or `target`) again and again until its coordinator stops."""

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        """Args: timer_interval_secs: seconds between calls, None for no pause."""
        super().__init__(daemon=True)
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        self._coord = coord
        self._interval = timer_interval_secs
        self._looped = target, args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        """Starts and returns a thread that calls `target(*args, **kwargs)` every so many seconds."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None:
                    due += self._interval
                    if self._coord.wait_for_stop(max(0.0, due - time.monotonic())):
                        break
            self.stop_loop()

    def start_loop(self):
        """Called once before the first turn."""

    def stop_loop(self):
        """Called once after the last turn."""

    def run_loop(self):
        """One turn."""
        target, args, kwargs = self._looped
        if target is not None:
            target(*args, **kwargs)


class QueueRunner(Shown):
    """Threads that run operations, usually ones that fill a queue, until told to stop or out of range."""

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None,
                 queue_runner_def=None, import_scope=None):
        """Args:
          queue: what the operations fill.
          enqueue_ops: operations, one thread each.
          close_op, cancel_op: run when the last thread has ended, and when the coordinator stops; by default they close the
            queue, the second with what waits to be enqueued cancelled.
          queue_closed_exception_types: exceptions that end a thread quietly; by default OutOfRangeError.
          queue_runner_def, import_scope: not available: a runner is made by the program.
        """
        if queue_runner_def is not None:
            raise NotImplementedError("QueueRunner: there is no protocol buffer of it; make it of a queue and its operations.")
        if not enqueue_ops:
            raise ValueError("QueueRunner: enqueue_ops is empty.")
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None and queue is not None else close_op
        self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None and queue is not None else cancel_op
        self._closed = tuple(queue_closed_exception_types or (errors.OutOfRangeError,))
        self._lock = threading.Lock()
        self._running = 0
        self._exceptions = []

    queue = property(lambda self: self._queue)
    enqueue_ops = property(lambda self: self._enqueue_ops)
    exceptions_raised = property(lambda self: self._exceptions)

    @property
    def name(self):
        return getattr(self._queue, "name", "queue_runner")

    def create_threads(self, sess, coord=None, daemon=False, start=False):
        """Returns one thread per operation; `start` starts them."""
        with self._lock:
            if self._running:
                return []
            self._running = len(self._enqueue_ops)
        threads = [threading.Thread(target=self._work, args=(sess, op, coord), daemon=daemon,
                                    name=f"QueueRunnerThread-{self.name}-{op.name}") for op in self._enqueue_ops]
        if coord is not None and self._cancel_op is not None:
            threads.append(threading.Thread(target=self._cancel, args=(sess, coord), daemon=daemon))
        for t in threads:
            if coord is not None:
                coord.register_thread(t)
            if start:
                t.start()
        return threads

    def _work(self, sess, op, coord):
        try:
            while coord is None or not coord.should_stop():
                sess.run(op)
        except self._closed:
            pass
        except Exception as error:
            self._exceptions.append(error)
            if coord is None:
                print(f"QueueRunner {self.name}: {error}", file=sys.stderr)
                raise
            coord.request_stop(error)
        finally:
            with self._lock:
                self._running -= 1
                last = self._running == 0
            if last and self._close_op is not None:
                with contextlib.suppress(Exception):  # the session may be closed already
                    sess.run(self._close_op)

    def _cancel(self, sess, coord):
        coord.wait_for_stop()
        with contextlib.suppress(Exception):  # the session may be closed already
            sess.run(self._cancel_op)


def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
    """Adds a QueueRunner to a collection of the graph, for `start_queue_runners`."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon=True, start=True, collection=GraphKeys.QUEUE_RUNNERS):
    """Starts the graph's queue runners; returns their threads.

    Raises:
      ValueError: no session is given and none is the default.
    """
    sess = sess or context.get_default_session()
    if sess is None:
        raise ValueError("Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass "
                         "an explicit session to tf.start_queue_runners(sess=sess)")
    return [t for runner in sess.graph.get_collection(collection)
            for t in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]
