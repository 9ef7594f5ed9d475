"""The XLA backend: what a lowering receives as `b` while it is traced into a compiled segment.

The only module that names JAX for op lowerings. 64-bit types are switched on by a context manager around tracing and
calling, so the user's own JAX configuration is never changed.
"""

import contextlib
import functools
import os

import numpy as np

from regrad.core import collecting
from regrad.core.interrupts import uninterrupted
from regrad.core.opdef import Bounds
from regrad.runtime import background, buffers, config, reductions, stopping
from regrad.runtime.loading import import_jax

with uninterrupted:
    jax = import_jax()
    import jax.numpy as jnp
    from jax.experimental.xla_metadata import set_xla_metadata

    from regrad.runtime import scanning


class XlaBackend:
    """jax.numpy and lax under the names that lowerings use; `core.host.HostBackend` is its twin.

    Attributes:
      np: jax.numpy.
      lax: jax.lax.
      jax: the jax module, for what neither has (jax.scipy, jax.nn, jax.random).
      is_host: False.
      flags: what loops look at (runtime/stopping.py), an argument of the program that is traced, or None.
      readers: results that have to be there before what is traced now may overwrite its operands.
      guarding: what is overwritten has to stay as it was where values were refused.
      keeps: the operation that is traced sees to that.
      kept: slots of new values of variables for which that is done.
      codes: {operation: its number, from 1} for those that values may refuse and that the program tells of.
    """

    np = jnp
    lax = jax.lax
    jax = jax
    is_host = False
    name = "xla"

    def __init__(self, flags=None, codes=None, guarding=False):
        self.flags = flags
        self.guarding = guarding
        self.keeps = False
        self.kept, self._written = set(), set()
        self._guard = None  # the word for what overwrites
        self.readers = ()
        self.codes = codes or {}
        self._found = []  # words of the function that is traced: the number of what was refused, or 0

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
    def divide(x, y):
        """Returns the quotients, each rounded once. Of `x / y` with a repeated `y`, XLA makes a product with `1 / y`.

        41 / 41 is less than 1 then, and 0 when it is rounded down.
        """
        shape = jnp.broadcast_shapes(jnp.shape(x), jnp.shape(y))
        return jnp.true_divide(x, jax.lax.optimization_barrier(jnp.broadcast_to(y, shape)))

    @staticmethod
    def rounded(x):
        """Returns `x`, a product that is rounded before anything is added to it: LLVM would make one operation of the two.

        On that depends where a coordinate lies that is rounded down or compared afterwards.
        """
        return jnp.where(x == x, x, -x)  # which LLVM cannot know to be the same

    def call(self, function, values):
        """Returns `function(*values)`, computed by a call that XLA does not inline: nothing is fused across its border."""
        with set_xla_metadata(inlineable="false"):
            results, words = jax.jit(self._telling(function))(*values)
        self._found += words
        return results

    @staticmethod
    def apart(*values):
        """Returns `values`, computed before what uses them: XLA fuses nothing into them, nor them into anything."""
        return XLA.call(lambda *given: given, values)

    def shapes(self, function):
        """Returns shapes and dtypes of what `function()` would return; nothing is computed."""
        return jax.eval_shape(self._telling(function))[0]

    def all_at_once(self, turn, stacks, most=None):
        """Returns what `turn` returns for each row of the arrays `stacks`, stacked: each of its steps is computed for all.

        None where the results of its steps have more than `most` elements in all, or functions of other libraries are called.
        """
        told = []

        def telling(*row):
            made, words = self._telling(turn)(*row)
            told[:] = words
            return [*made, *words]

        made = scanning.all_at_once(telling, stacks, most)
        if made is None or not told:
            return made
        self._found.append(jnp.max(made[-1]))
        return made[:-1]

    def scan(self, turn, first, rows, length, reverse=False):
        """Does what `jax.lax.scan` does; stops when the run is to."""
        def telling(carry, row):
            (carry, made), words = self._telling(turn)(carry, row)
            return carry, (made, words)

        last, (made, words) = scanning.scan(telling, first, rows, length, reverse, self._loop)
        self._found += [jnp.max(word, initial=0) for word in words]
        return last, made

    def while_loop(self, test, turn, first):
        """Does what `jax.lax.while_loop` does, where the first of the values counts the turns.

        It stops when the run is to, and where values refuse what it computes.
        """
        if not self.codes:
            return self._loop(test, turn, first)
        test, turn = _traced(self._telling(test), first), _traced(self._telling(turn), first)

        def step(state):
            *values, word = state
            made, words = turn(values)
            return *made, _first([word, *words, *test(values)[1]])

        *last, word = self._loop(lambda state: test(state[:-1])[0] & (state[-1] == 0), step, (*first, np.int32(0)))
        self._found += [word, *test(last)[1]]
        return tuple(last)

    def _loop(self, test, turn, first):
        if self.flags is None:
            return jax.lax.while_loop(test, turn, first)
        return jax.lax.while_loop(lambda values: test(values) & stopping.goes_on(self, values[0]), turn, first)

    def switch(self, index, branches):
        """Returns what one of the functions `branches` returns, of which there are `index` before it."""
        if not self.codes:
            return jax.lax.switch(index, branches)

        def telling(branch):
            def told():
                values, words = self._telling(branch)()
                return values, _first(words)

            return told

        values, word = jax.lax.switch(index, [telling(branch) for branch in branches])
        self._found.append(word)
        return values

    # -- what values refuse ---------------------------------------------------------------------

    def note(self, refusal, op, result, operands, attrs):
        """Traces what a Refusal finds, if the program is to tell of the operation."""
        code = self.codes.get(op)
        if code is not None:
            found = refusal.finds(self, result, *operands, **attrs)
            if found.ndim:  # counting takes a third of the time in which XLA finds out whether any is True
                found = jnp.sum(found, dtype=np.int32) != 0
            self._found.append(jnp.where(found, np.int32(code), np.int32(0)))

    def word(self):
        """Returns the number of the operation that was refused first, of those that have been traced; 0 if none was."""
        return _first(self._found)

    # -- what is overwritten ----------------------------------------------------------------------
    # Nothing that values may refuse comes after the first operation that overwrites anything (`Checks.first`).

    def guarded(self, refusal, operands):
        """Returns the operands of an operation that overwrites rows: those of an index nowhere, where values were refused."""
        self.keeps = self.guarding and isinstance(refusal, Bounds)
        if not self.keeps:
            return operands
        operands = list(operands)
        index = operands[refusal.position]
        (operands[refusal.position],) = self.apart(jnp.where(self._refused() != 0, np.iinfo(index.dtype).max, index))
        return operands

    def wrote(self, refs, outs):
        """Takes note that an operation has made the values in slots `outs` of those in slots `refs`."""
        if self.keeps and all(i in self.kept or i not in self._written for i in refs):
            self.kept.update(outs)
        self._written.update(outs)

    def unless(self, target):
        """Returns the name of the C function that does what `target` does, or leaves what it is to overwrite as it is."""
        return f"{target}_unless" if self.guarding else target

    def guard(self):
        """Returns the operands that such a function takes besides."""
        self.keeps = self.guarding
        return (self._refused(),) if self.guarding else ()

    def _refused(self):
        if self._guard is None:
            self._guard = self.word()
        return self._guard

    def _telling(self, function):
        """Returns what returns the function's results, and a list of one word, or none, of what it finds refused."""
        def telling(*values):
            outer, self._found = self._found, []
            try:
                results = function(*values)
                return results, [self.word()] if self._found else []
            finally:
                self._found = outer

        return telling


def _first(words):
    """Returns the largest of `words`, which are larger the earlier the operation comes; 0 if there are none."""
    return functools.reduce(jnp.maximum, words) if words else jnp.int32(0)


def _traced(function, first):
    """Returns `function`, of a tuple of arrays like `first`, as it was traced once."""
    traced, shapes = jax.make_jaxpr(function, return_shape=True)(first)
    tree = jax.tree.structure(shapes)
    return lambda values: tree.unflatten(jax.core.eval_jaxpr(traced.jaxpr, traced.consts, *values))


_FEW = 8  # numbers that are compared one by one
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


with uninterrupted:
    buffers.heap()
    if config.synchronous or config.threads:
        _make_client()
    jax.jit(jnp.negative).lower(jax.ShapeDtypeStruct((), "float32"))  # which loads MLIR's dialects, and registers them


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
            with uninterrupted:  # some operations have dialects of their own
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
