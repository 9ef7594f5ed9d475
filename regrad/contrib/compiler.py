"""`tf.contrib.compiler`: where to use XLA, which compiles everything here."""

import contextlib
import sys


@contextlib.contextmanager
def experimental_jit_scope(compile_ops=True, separate_compiled_gradients=False):
    """A block that changes nothing: every graph is compiled by XLA."""
    yield


jit = sys.modules[__name__]
__all__ = ["experimental_jit_scope", "jit"]
