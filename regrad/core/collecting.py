"""Python's garbage collector, kept away while thousands of objects are made that all stay.

Looking for garbage among them costs more than making them, the more of them there are.
"""

import contextlib
import gc


@contextlib.contextmanager
def paused():
    """No garbage is looked for inside the block."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
