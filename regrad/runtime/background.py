"""Compiling while NumPy computes: a thread that lives as long as there is something to compile.

A program waits for that thread when it ends, because XLA cannot be stopped in the middle; what has not begun by then is
left.
"""

import threading

_lock = threading.Lock()
_waiting: list = []
_working = False


def compile_soon(segment):
    """Compiles `segment` in another thread; `segment.executable()` waits for that, or does it itself if it failed."""
    global _working
    with _lock:
        _waiting.append(segment)
        if _working:
            return
        _working = True
    threading.Thread(target=_work, name="regrad-compile").start()


def _work():
    global _working
    while True:
        with _lock:
            if not _waiting or not threading.main_thread().is_alive():
                _waiting.clear()
                _working = False
                return
            segment = _waiting.pop(0)
        try:
            segment.executable()
        except Exception:  # whoever runs the segment meets it again, with the place that asked for the run
            pass
