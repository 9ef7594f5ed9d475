"""How many threads NumPy's products take, where that can be told."""

import contextlib
import ctypes
import functools
import threading

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_",
          "openblas_{}_num_threads")
_lock = threading.Lock()
_depth = 0
_before = 1


@functools.cache
def _functions():
    """Returns OpenBLAS's (get, set) for the number of threads, or None where NumPy has another library."""
    try:
        from numpy._core import _multiarray_umath

        library = ctypes.CDLL(_multiarray_umath.__file__)
        name = next(n for n in _NAMES if hasattr(library, n.format("set")))
    except (ImportError, OSError, AttributeError, StopIteration):
        return None
    return library[name.format("get")], library[name.format("set")]


@contextlib.contextmanager
def one_thread():
    """Products inside the block take one thread.

    Two would wait for each other, busily, whenever one of them is not given a core: where another thread compiles at the same
    time, or on a machine with other work, a product that takes 0.1 ms takes 20.
    """
    global _depth, _before
    functions = _functions()
    if functions is None:
        yield
        return
    get, set_ = functions
    with _lock:
        _depth += 1
        if _depth == 1:
            _before = get()
            set_(1)
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                set_(_before)
