"""Python's garbage collector, kept away while thousands of objects are made that all stay.

Looking for garbage among them costs more than making them, the more of them there are.
"""

import contextlib
import gc
import os
import threading

_MANY = 50_000  # new objects, which the collector would go through twice before it counts them as old
_MOST = 1_000_000  # of them before garbage is looked for among all

_lock = threading.Lock()
_blocks = 0  # that are open, of all threads: one may build a graph while another compiles
_enabled = False  # whether there was a collector to be kept away
_aged = _stayed = _collections = 0  # see `_age`


@contextlib.contextmanager
def paused():
    """No garbage is looked for inside the block, and what it makes counts as old after it."""
    global _blocks, _enabled
    with _lock:
        if not _blocks:
            _enabled = gc.isenabled()
            gc.disable()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks = max(_blocks - 1, 0)
            if not _blocks and _enabled:
                _age()
                gc.enable()


def _age():
    """Makes many new objects old ones at once: into the permanent generation, and back into the oldest.

    The collector does not know of them when it decides whether to go through all objects, so that is decided here: when there
    are half as many new ones as stayed the times before.
    """
    global _aged, _stayed, _collections
    new = gc.get_count()[0]
    if new < _MANY or gc.get_freeze_count():  # somebody else keeps objects there
        return
    collections = gc.get_stats()[2]["collections"]
    if collections != _collections:
        _aged, _collections = 0, collections
    _aged += new
    if _aged > max(_MOST, _stayed // 2):
        _stayed = max(_stayed + _aged - gc.collect(), 0)
    else:
        gc.freeze()
        gc.unfreeze()


def _forget():
    """In a forked process, where only the thread that forked goes on."""
    global _lock, _blocks
    _lock = threading.Lock()
    if _blocks and _enabled:
        gc.enable()
    _blocks = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
