"""Python's garbage collector, kept away while thousands of objects are made that all stay.

Looking for garbage among them costs more than making them, the more of them there are.
"""

import contextlib
import gc
import os
import threading

_lock = threading.Lock()
_blocks = 0  # that are open, of all threads: one may build a graph while another compiles
_enabled = False  # whether there was a collector to be kept away


@contextlib.contextmanager
def paused():
    """No garbage is looked for inside the block."""
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
                gc.enable()


def _forget():
    """In a forked process, where only the thread that forked goes on."""
    global _lock, _blocks
    _lock = threading.Lock()
    if _blocks and _enabled:
        gc.enable()
    _blocks = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
