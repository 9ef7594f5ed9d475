"""The XLA backend: what a lowering receives as `b` while it is traced into a compiled segment.

The only module that names JAX for op lowerings. 64-bit types are switched on by a context manager around tracing and
calling, so the user's own JAX configuration is never changed.
"""

import contextlib
import os

import numpy as np

from regrad.core import collecting
from regrad.runtime import background, buffers, config, reductions, stopping
from regrad.runtime.loading import import_jax

jax = import_jax()
import jax.numpy as jnp  # noqa: E402
from jax.experimental.xla_metadata import set_xla_metadata  # noqa: E402

from regrad.runtime import scanning  # noqa: E402


class XlaBackend:
    """jax.numpy and lax under the names that lowerings use; `core.host.HostBackend` is its twin.

    Attributes:
      np: jax.numpy.
      lax: jax.lax.
      jax: the jax module, for what neither has (jax.scipy, jax.nn, jax.random).
      is_host: False.
      flags: what loops look at (runtime/stopping.py), an argument of the program that is traced, or None.
      readers: results that have to be there before what is traced now may overwrite its operands.
    """

    np = jnp
    lax = jax.lax
    jax = jax
    is_host = False
    name = "xla"

    def __init__(self, flags=None):
        self.flags = flags
        self.readers = ()

    @staticmethod
    def cast(x, dtype):
        """Returns `x` with DType `dtype`."""
        x = jnp.asarray(x)
        if x.dtype.kind == "c" and not dtype.is_complex:
            x = jnp.real(x)
        return x.astype(dtype.as_numpy_dtype)

    @staticmethod
    def constant(x):
        if buffers.uniform(x):
            return jnp.broadcast_to(jnp.asarray(x[(0,) * x.ndim]), x.shape)
        return jnp.asarray(x)

    @staticmethod
    def stop_gradient(x):
        return jax.lax.stop_gradient(x)

    @staticmethod
    def call(function, values):
        """Returns `function(*values)`, computed by a call that XLA does not inline: nothing is fused across its border."""
        with set_xla_metadata(inlineable="false"):
            return jax.jit(function)(*values)

    @staticmethod
    def apart(*values):
        """Returns `values`, computed before what uses them: XLA fuses nothing into them, nor them into anything."""
        return XLA.call(lambda *given: given, values)

    @staticmethod
    def all_at_once(turn, stacks, most=None):
        """Returns what `turn` returns for each row of the arrays `stacks`, stacked: each of its steps is computed for all.

        None where the results of its steps have more than `most` elements in all, or functions of other libraries are called.
        """
        return scanning.all_at_once(turn, stacks, most)

    def scan(self, turn, first, rows, length, reverse=False):
        """Does what `jax.lax.scan` does; stops when the run is to."""
        return scanning.scan(turn, first, rows, length, reverse, self.while_loop)

    def while_loop(self, test, turn, first):
        """Does what `jax.lax.while_loop` does, where the first of the values counts the turns; stops when the run is to."""
        if self.flags is None:
            return jax.lax.while_loop(test, turn, first)
        return jax.lax.while_loop(lambda values: test(values) & stopping.goes_on(self, values[0]), turn, first)


XLA = XlaBackend()


def x64():
    """Context manager: 64-bit types hold inside, in this thread."""
    return jax.enable_x64(True)


def to_device(array):
    """Returns a NumPy array that nobody changes any more as a device array of the same dtype.

    It may lie where the array lies; XLA does not overwrite memory that is not its own, whatever a program donates.
    """
    with jax.enable_x64(True):
        if array.nbytes < buffers.HUGE:  # what jnp.array and jnp.full do costs a compile for each shape
            return jax.device_put(np.array(array) if buffers.uniform(array) else array)
        if buffers.uniform(array):
            return jnp.full(array.shape, array[(0,) * array.ndim])
        return jnp.array(array, copy=True)  # device_put would hold on to the NumPy array for a while


def copy_on_device(array):
    """Returns a copy of a device array."""
    with jax.enable_x64(True):
        return jnp.array(array, copy=True)


def _make_client():
    """Makes JAX's CPU client as `config` says; one that exists already stays as it is.

    Synchronous: a call computes in the calling thread. Handing a small step over costs 30 to 60 us, many times its work, and
    large ones use all cores either way. Flag and variable are read once, when the client is made, and then put back.
    """
    flag, variable = "jax_cpu_enable_async_dispatch", "PJRT_NPROC"
    count = os.environ.get(variable)
    try:
        dispatch = jax.config.read(flag)
    except AttributeError:  # another JAX may not have it
        dispatch = None
    if config.synchronous and dispatch is not None:
        jax.config.update(flag, False)
    if config.threads:
        os.environ[variable] = str(config.threads)
    try:
        jax.devices()
    finally:
        if dispatch is not None:
            jax.config.update(flag, dispatch)
        if count is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = count


buffers.heap()
if config.synchronous or config.threads:
    _make_client()


@contextlib.contextmanager
def without_notes():
    """Context manager: an error that passes through JAX in the block does not say that JAX hid frames of its own."""
    try:
        yield
    except Exception as error:
        error.__notes__ = [note for note in getattr(error, "__notes__", ()) if "JAX has removed" not in note]
        raise


def compile_function(function, specs, donate, operations=0):
    """Compiles `function(*arrays)` for inputs of the given (shape, NumPy dtype) pairs.

    Args:
      function: traceable by JAX, returns a tuple of arrays.
      specs: one (shape, dtype) per argument.
      donate: indices of arguments whose buffers the results may overwrite.
      operations: how many the function computes.
    """
    with jax.enable_x64(True):
        arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in specs]
        # Lowering and compiling ahead of time: the result is called with no tracing machinery in between.
        with without_notes(), collecting.paused():
            traced = jax.jit(function, donate_argnums=tuple(donate), keep_unused=True).trace(*arguments)
            lowered = traced.lower()
        program = traced.jaxpr
        options = config.compiler_options(operations, reductions.library_gains(program), reductions.level(program))
        if not specs:  # XLA would compute all of it while compiling, by an interpreter that takes minutes for one product
            options = {"xla_disable_hlo_passes": "constant_folding", **options}
        with background.in_xla():
            try:
                return lowered.compile(compiler_options=options)
            except jax.errors.JaxRuntimeError:  # another XLA may not know an option
                return lowered.compile()
