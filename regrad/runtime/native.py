"""The C functions of Regrad's own that compiled programs call.

The C files become one library when pip installs Regrad where there is a C compiler (pyproject.toml). Without it, Python calls
oneDNN, and XLA computes the rest.
"""

import ctypes
import functools
import importlib.machinery
import os

from regrad.runtime import config, foreign


@functools.cache
def library():
    """Returns what a C compiler made of them when Regrad was installed, or None."""
    try:
        return ctypes.CDLL(path()) if path() is not None else None
    except OSError:  # made for another machine
        return None


def path():
    """Returns the path of the library's file, or None."""
    base = os.path.join(os.path.dirname(__file__), "_native")
    return next((base + suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES if os.path.exists(base + suffix)), None)


def function(name):
    """Returns the C function, or None; an older library may have fewer."""
    return getattr(library(), name, None)


def handler(target):
    """Returns the function that XLA calls, or None."""
    return function(target)


def available(name):
    """True where compiled programs may call it."""
    return config.native and foreign.allowed() and function(name) is not None


def threads():
    """Returns how many threads they may use."""
    return config.threads or os.cpu_count() or 1


def serves(target):
    """True where compiled programs may call a target of `foreign.TARGETS` that is a C function; it is registered then."""
    return available(target) and foreign.register(target) is not None
