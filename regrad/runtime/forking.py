"""A process that was forked: it has the memory of the one before, and of its threads only the one that forked.

XLA computes and compiles with threads of its own, and waits for ever for those that are gone. So where it was loaded before
the fork all is NumPy's, and what NumPy has not got is refused. Locks that other threads held are made anew.
"""

import os
import sys
import threading

from regrad.core.errors import FailedPreconditionError

lost = False  # whether XLA's threads are


def check(op):
    """Raises FailedPreconditionError where `op`, which needs XLA, cannot have it."""
    if lost:
        raise FailedPreconditionError(None, op, (
            f"{op.type} is computed by XLA, whose threads did not come along when this process was forked. Let processes be "
            "started anew, by multiprocessing.get_context('spawn') (or 'forkserver'), or fork before the first compiled run; "
            "operations that NumPy has go on."))


def _begin_again():
    """In the forked process."""
    global lost
    loading, segment, onednn, blas, session = (
        sys.modules.get(f"regrad.runtime.{name}") for name in ("loading", "segment", "onednn", "blas", "session"))
    bridge = sys.modules.get("jax._src.xla_bridge")  # a program may use JAX on its own
    lost = lost or loading is not None and loading.begun or bool(getattr(bridge, "_backends", None))
    if loading is not None:
        loading._lock = threading.RLock()
    if blas is not None:
        blas._lock = threading.Lock()
    if segment is not None:
        segment._cache_lock = threading.Lock()
        segment._cache.clear()
    if onednn is not None:
        onednn.begin_again()
    for one in list(session._sessions) if session is not None else ():
        one._begin_again()


os.register_at_fork(after_in_child=_begin_again)
