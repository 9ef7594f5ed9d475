"""Imports JAX, which draws from NumPy's global random numbers when it is loaded (jax 0.10.2, clusters/k8s_cluster.py).

Regrad loads it in the middle of a program, in whichever run compiles first: a program that has seeded NumPy and draws its
batches there would get other ones from that run on.
"""

import threading

import numpy as np

from regrad.core import collecting


def import_jax():
    """Returns the module `jax`, loaded without a trace in `np.random`, whatever other threads draw meanwhile."""
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
