"""Imports JAX, which draws from NumPy's global random numbers when it is loaded (jax 0.10.2, clusters/k8s_cluster.py).

Regrad loads it in the middle of a program, in whichever run compiles first: a program that has seeded NumPy and draws its
batches there would get other ones from that run on. Ctrl-C waits until it is loaded: modules of a package that was loaded by
half stay behind, and importing it again fails for ever.
"""

import threading
from typing import Any

import numpy as np

from regrad.core import collecting
from regrad.core.interrupts import uninterrupted

_lock = threading.RLock()
_jax: Any = None
begun = False


def import_jax():
    """Returns the module `jax`, loaded without a trace in `np.random`, whatever other threads draw meanwhile."""
    global _jax
    if _jax is None:
        with uninterrupted, _lock:  # two threads that both put another `rand` there would leave one of them behind
            _jax = _jax or _load()
    return _jax


def _load():
    global begun
    begun = True
    here, own, drawn = threading.get_ident(), np.random.RandomState(), np.random.rand

    def rand(*shape):
        return (own.rand if threading.get_ident() == here else drawn)(*shape)

    np.random.rand = rand
    try:
        with collecting.paused():
            import jax

        return jax
    finally:
        np.random.rand = drawn
