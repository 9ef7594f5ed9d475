"""Compiled segments kept on disk, so that a second process need not compile what the first one did.

A file holds one executable, named by a digest of the segment's structure, the versions of everything that compiles, and the
processor. Files are written whole or not at all, behind a digest of what they hold: LLVM ends the process over one that is
damaged. One that cannot be read is ignored and replaced. `config.cache_dir = None` switches it off.
"""

import functools
import os
import warnings

from regrad.core.errors import RegradWarning
from regrad.core.opdef import USER_DEFINED
from regrad.runtime import config, foreign, native, onednn, products

_MAX_FILES = 2048
_DIGEST = 32  # bytes


def directory():
    """Returns the cache's directory, or None when it is switched off, or JAX keeps what it compiles itself.

    An executable that came out of JAX's own cache cannot be written again: reading it fails for missing functions.
    """
    from regrad.runtime.backend import jax

    by_jax = jax.config.jax_compilation_cache_dir and jax.config.jax_enable_compilation_cache
    return None if by_jax else config.cache_dir


def digest(key):
    """Returns the name for a structure, or None when the structure holds what has no lasting name."""
    text = repr(key)
    if "('object', " in text or " object at 0x" in text or "<function" in text or f"({USER_DEFINED} " in text:
        return None
    import hashlib
    import platform

    import jaxlib

    from regrad.runtime.backend import jax

    options = sorted(config.compiler_options(0).items()), config.apart_ops, config.call_ops, config.repeat_size
    versions = (jax.__version__, jaxlib.__version__, platform.machine(), _processor(), options, onednn.version(),
                products.available(), native.available(onednn.NATIVE))
    return hashlib.sha256(repr((versions, _own_version(), text)).encode()).hexdigest()


def _processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next((line for line in f if line.startswith("flags")), "")
    except OSError:
        import platform

        return platform.processor()


_version = None


def _own_version():
    """Returns a digest of Regrad's own lowerings: an executable outlives neither a release nor an edit."""
    global _version
    if _version is None:
        import hashlib

        h = hashlib.sha256()
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        for folder in ("ops", "runtime", "core"):
            for name in sorted(os.listdir(os.path.join(package, folder))):
                if name.endswith(".py"):
                    stat = os.stat(os.path.join(package, folder, name))
                    h.update(f"{name} {stat.st_size} {stat.st_mtime_ns}".encode())
        _version = h.hexdigest()
    return _version


@functools.lru_cache(maxsize=1)
def _find_lapack():
    """Lets jaxlib look up LAPACK's functions, which it does when it lowers the first call of one.

    An executable that calls them and comes from the disk would otherwise jump to address 0.
    """
    from regrad.runtime.backend import jax

    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


def _digest_of(data):
    import hashlib

    return hashlib.sha256(data).digest()


def load(name):
    """Returns the executable stored under `name`, or None."""
    if directory() is None or name is None:
        return None
    import pickle

    try:
        with open(os.path.join(directory(), name), "rb") as f:
            written, data = f.read(_DIGEST), f.read()
        if written != _digest_of(data):
            return None
        if b"lapack" in data:
            _find_lapack()
        foreign.register_all_in(data)
        stored = pickle.loads(data)
        from jax.experimental.serialize_executable import deserialize_and_load

        executable = deserialize_and_load(*stored)
        os.utime(os.path.join(directory(), name))
        return executable
    except Exception:  # whatever is wrong with the file, compiling is the answer
        return None


def store(name, executable):
    """Keeps an executable under `name`; does nothing if it cannot."""
    if directory() is None or name is None:
        return
    try:
        import pickle
        import tempfile

        from jax.experimental.serialize_executable import serialize

        os.makedirs(directory(), exist_ok=True)
        data = pickle.dumps(serialize(executable))
        handle, temporary = tempfile.mkstemp(dir=directory())
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(_digest_of(data))
                f.write(data)
            os.replace(temporary, os.path.join(directory(), name))
        except OSError:
            os.remove(temporary)
            raise
        _prune()
    except OSError as error:
        if "REGRAD_CACHE_DIR" in os.environ:
            _warn_of(directory(), str(error))
    except Exception:  # an executable that does not serialise must not fail the run
        return


@functools.lru_cache(maxsize=1)
def _warn_of(folder, error):
    """Says once that the folder somebody asked for is of no use."""
    warnings.warn(f"REGRAD_CACHE_DIR={folder}: compiled programs are not kept there, so every process compiles anew: {error}",
                  RegradWarning, stacklevel=2)


def _prune():
    names = os.listdir(directory())
    if len(names) > _MAX_FILES:
        paths = [os.path.join(directory(), n) for n in names]
        for path in sorted(paths, key=os.path.getmtime)[:len(paths) // 2]:
            os.remove(path)
