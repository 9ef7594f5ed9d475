"""Ctrl-C waits: while variables are being replaced until they are, while modules are loaded until all of them are there."""

import signal
import sys
import threading

_signal = sys.modules.get("_signal", signal)  # what `signal` wraps in ten microseconds of enumerations for each call
_SIGINT = int(signal.SIGINT)


class _Uninterrupted:
    """Context manager: in the main thread, Ctrl-C is answered when the block is left."""

    def __init__(self):
        self.depth = 0
        self.pending = None
        self.old = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            if self.depth == 0:
                self.old = _signal.getsignal(_SIGINT)
                if callable(self.old):
                    _signal.signal(_SIGINT, self._defer)
            self.depth += 1  # last: an interrupt may have come before

    def _defer(self, number, frame):
        self.pending = number, frame

    def __exit__(self, *exc):
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.depth == 0 and callable(self.old):
                _signal.signal(_SIGINT, self.old)
                pending, self.pending = self.pending, None
                if pending is not None:
                    self.old(*pending)


uninterrupted = _Uninterrupted()


class Deferred:
    """Context manager: from `begin()` on, Ctrl-C in the main thread is answered when the block is left."""

    __slots__ = ("begun",)

    def __enter__(self):
        self.begun = False
        return self

    def begin(self):
        if not self.begun:
            uninterrupted.__enter__()
            self.begun = True

    def __exit__(self, *exc):
        if self.begun:
            uninterrupted.__exit__(*exc)
