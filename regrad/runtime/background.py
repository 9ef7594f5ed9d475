"""Compiling while NumPy computes: a thread that lives as long as there is something to compile.

XLA cannot be stopped in the middle, and a program that ends does not wait for it: what has not begun by then is left, and what
XLA has begun ends with the process (`_leave`).
"""

import atexit
import contextlib
import os
import threading

_lock = threading.Lock()
_changed = threading.Condition(_lock)
_waiting: list = []
_thread: threading.Thread | None = None  # while there is something to compile
_in_xla = False  # whether it is in the compiler, where it needs nothing of Python's
_ending = False


def compile_soon(segment):
    """Compiles `segment` in another thread; `segment.executable()` waits for that, or does it itself if it failed."""
    global _thread
    with _lock:
        if _ending:
            return
        _waiting.append(segment)
        if _thread is not None:
            return
        _watch_the_end()
        _thread = threading.Thread(target=_work, name="regrad-compile", daemon=True)
        _thread.start()


def _work():
    global _thread
    while True:
        with _lock:
            if not _waiting or _ending:
                _waiting.clear()
                _thread = None
                _changed.notify_all()
                return
            segment = _waiting.pop(0)
        try:
            segment.executable()
        except Exception:  # whoever runs the segment meets it again, with the place that asked for the run
            pass


@contextlib.contextmanager
def in_xla():
    """Context manager around a call of XLA's compiler."""
    global _in_xla
    if threading.current_thread() is not _thread:
        yield
        return
    with _lock:
        go_on()
        _in_xla = True
        _changed.notify_all()
    try:
        yield
    finally:
        with _lock:
            _in_xla = False
            _changed.notify_all()


def go_on():
    """Raises in the compiling thread when the program ends."""
    if _ending and threading.current_thread() is _thread:
        raise _Ending


class _Ending(Exception):
    """The program ends: nothing more is compiled."""


# -- when the program ends -------------------------------------------------------------------------


@contextlib.contextmanager
def _settled():
    """Context manager, holding the lock: the thread has ended, or is in the compiler; the value says whether it is there."""
    with _changed:
        while _thread is not None and not _in_xla:
            _changed.wait()
        yield _thread is not None


_watching = False


def _watch_the_end():
    global _watching
    if not _watching:
        _watching = True
        os.register_at_fork(after_in_child=_forget)
        threading._register_atexit(_end)  # before JAX lets go of what a compilation needs
        atexit.register(_leave)


def _forget():
    """In a forked process, where the thread does not exist."""
    global _lock, _changed, _thread, _in_xla
    _lock = threading.Lock()
    _changed = threading.Condition(_lock)
    _waiting.clear()
    _thread, _in_xla = None, False


def _end():
    """When the main thread has ended: begins nothing more, and waits where the process could not be left."""
    global _ending
    _ending = True
    with _settled() as compiling:
        thread = _thread
    if compiling and _exit_functions() is None:
        thread.join()


def _leave():
    """Makes the process end as soon as Python has, with the compiler still at work.

    That thread can take no part in Python any more. Where it asks to, Python before 3.14 ends it by unwinding its stack, which
    C++ answers with `terminate`: there it waits for the end. And no destructor is run that might pull something away from under
    the compiler: the first thing that `exit` calls, after all buffers are written, is `_exit`, with the same status.
    """
    with _settled() as compiling:
        if not compiling:
            return
        libc, set_terminate = _exit_functions()
        set_terminate(libc.pause)
        libc.on_exit(libc._exit, None)  # last in, first out
        libc.on_exit(libc.fcloseall, None)


def _exit_functions():
    """Returns (the C library, C++'s set_terminate); None where it is not GNU's, or jaxlib has another C++ than the system's."""
    import ctypes

    try:
        libc, cxx = ctypes.CDLL(None), ctypes.CDLL("libstdc++.so.6", mode=os.RTLD_NOLOAD)
        return (libc, cxx._ZSt13set_terminatePFvvE) if libc.on_exit and libc.fcloseall else None
    except (OSError, AttributeError):
        return None
