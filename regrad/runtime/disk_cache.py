"""Compiled segments kept on disk, so that a second process need not compile what the first one did.

A file holds one executable, named by a digest of the segment's structure and of all else that decides what it computes. It is
code: reading it runs it. So nobody but the user may be able to write to the folder or to those above it, and a file begins with
a code of authentication (HMAC-SHA256) of its name and content, by a key that only the user can read and that lies elsewhere.
What does not have it - another program's file, one of another user's Regrad, one that was damaged or cut short - is not looked
at any further, and replaced. `config.cache_dir = None` switches it off.
"""

import contextlib
import functools
import hmac
import json
import os
import re
import stat
import warnings

from regrad.core import files
from regrad.core.errors import OpError, RegradWarning
from regrad.core.opdef import USER_DEFINED
from regrad.runtime import config, foreign, native, onednn, products

_MAX_FILES = 2048
_NAME = re.compile("[0-9a-f]{64}")  # of a file; the folder's other files are somebody's
_CODE = 32  # bytes


def directory():
    """Returns the cache's directory, or None when it is switched off or not safe, or JAX keeps what it compiles itself.

    An executable that came out of JAX's own cache cannot be written again: reading it fails for missing functions.
    """
    from regrad.runtime.backend import jax

    by_jax = jax.config.jax_compilation_cache_dir and jax.config.jax_enable_compilation_cache
    if by_jax or config.cache_dir is None:
        return None
    folder = _own_folder(os.fspath(config.cache_dir))
    return folder if folder is not None and _key(_place_of_key()) is not None else None


# -- who may write -------------------------------------------------------------------------------------------------
@functools.lru_cache(maxsize=8)
def _own_folder(folder):
    """Returns the real path of a folder, made if need be; None, with a warning, where others could put something there."""
    try:
        _make(os.path.abspath(folder))
        folder = os.path.realpath(folder)
        wrong = _open_to_others(folder)
    except OSError as error:
        _warn_of(folder, error)
        return None
    if wrong is None:
        return folder
    _warn(f"{folder} is not used: {wrong}, and others could put programs there that run as yours; else tf.config.cache_dir or "
          "REGRAD_CACHE_DIR names another folder (XDG_CONFIG_HOME that of the key)")
    return None


def _make(folder):
    """Makes a folder, and those above it, for the user alone, whatever new files may usually be."""
    if not os.path.isdir(folder):
        _make(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o700)


def _open_to_others(folder):
    """Returns which folder on the way to `folder` others may write to, why, and what mends that; or None.

    Whoever owns a folder may do what he likes in it, root excepted, who may anyway. In one that anybody may write to and that
    is sticky, as /tmp is, nobody but its owner and theirs can rename or remove what is in it; and what is in it was looked at.
    """
    user, place = os.geteuid(), folder
    while True:
        at = os.stat(place)
        if at.st_uid != user and (place == folder or at.st_uid != 0):
            return f"{place} belongs to another user (chown {user} {place}, by root, mends that)"
        if at.st_mode & 0o022 and (place == folder or not at.st_mode & stat.S_ISVTX):
            return f"{place} has the mode {stat.S_IMODE(at.st_mode):o} (chmod go-w {place} mends that)"
        if place == os.path.dirname(place):
            return None
        place = os.path.dirname(place)


def _place_of_key():
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(base, "regrad", "cache.key")


@functools.lru_cache(maxsize=8)
def _key(path):
    """Returns the user's key, made where there is none; None, with a warning, where others can read it, or change it."""
    folder = _own_folder(os.path.dirname(path))
    if folder is None:
        return None
    path = os.path.join(folder, os.path.basename(path))
    try:
        return _read_key(path) or _new_key(path)
    except OSError as error:
        _warn_of(path, error)
    except ValueError as error:
        _warn(f"the key by which they are known, {path}, {error}: delete it, and a new one is made")
    return None


def _read_key(path):
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(handle, "rb") as file:
        at = os.fstat(handle)
        if not stat.S_ISREG(at.st_mode) or at.st_uid != os.geteuid() or at.st_mode & 0o077:
            raise ValueError(f"can be read by others (its mode is {stat.S_IMODE(at.st_mode):o}), or is no file of yours")
        key = file.read()
    if len(key) != _CODE:
        raise ValueError(f"has {len(key)} bytes instead of {_CODE}")
    return key


def _new_key(path):
    """Makes a key, unless another process is quicker; returns the one that is there then."""
    with files.Part(path, 0o600) as part:
        os.fchmod(part.handle, 0o600)
        part.file.write(os.urandom(_CODE))
        part.finish()
        with contextlib.suppress(FileExistsError):
            os.link(part.name, path)
    return _read_key(path)


def _code(name, body):
    made = hmac.new(_key(_place_of_key()), name.encode() + b"\0", "sha256")
    made.update(body)
    return made.digest()


# -- what decides a program ----------------------------------------------------------------------------------------
def digest(key):
    """Returns the name for a structure, or None when the structure holds what has no lasting name."""
    text = repr(key)
    if "('object', " in text or " object at 0x" in text or "<function" in text or f"({USER_DEFINED} " in text:
        return None
    import hashlib
    import platform

    import jaxlib

    from regrad.runtime.backend import jax

    settings = [(name, getattr(jax.config, name, None)) for name in sorted(jax.config.values) if name != "jax_enable_x64"]
    options = (sorted(config.compiler_options(0).items()), config.apart_ops, config.call_ops, config.repeat_size,
               native.threads(), os.environ.get("XLA_FLAGS"), settings)
    versions = (jax.__version__, jaxlib.__version__, [(d.platform, d.device_kind) for d in jax.devices()], platform.machine(),
                _processor(), options, onednn.version(), products.available(), native.available(onednn.NATIVE))
    return hashlib.sha256(repr((versions, _own_version(), text)).encode()).hexdigest()


def _processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next((line for line in f if line.startswith("flags")), "")
    except OSError:
        import platform

        return platform.processor()


@functools.cache
def _own_version():
    """Returns a digest of Regrad's lowerings and C functions: an executable outlives neither a release nor an edit."""
    import hashlib

    from regrad import __version__

    found = hashlib.sha256(__version__.encode())
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [os.path.join(package, folder, name) for folder in ("ops", "runtime", "core")
             for name in sorted(os.listdir(os.path.join(package, folder))) if name.endswith(".py")]
    for path in [*paths, *filter(None, [native.path()])]:
        with open(path, "rb") as file:
            data = file.read()
        found.update(f"{os.path.relpath(path, package)} {len(data)} ".encode() + data)
    return found.hexdigest()


@functools.lru_cache(maxsize=1)
def _find_lapack():
    """Lets jaxlib look up LAPACK's functions, which it does when it lowers the first call of one.

    An executable that calls them and comes from the disk would otherwise jump to address 0.
    """
    from regrad.runtime.backend import jax

    jax.jit(jax.lax.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), "float32"))


# -- files ---------------------------------------------------------------------------------------------------------
def load(name):
    """Returns the executable stored under `name`, or None."""
    folder = directory()
    if folder is None or name is None:
        return None
    path = os.path.join(folder, name)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            written, body = file.read(_CODE), file.read()
        if not hmac.compare_digest(written, _code(name, body)):
            return None
        if b"lapack" in body:
            _find_lapack()
        foreign.register_all_in(body)
        from jax.experimental.serialize_executable import deserialize_and_load

        counts, data = body.split(b"\n", 1)
        executable = deserialize_and_load(data, *_structures(*json.loads(counts)))
    except Exception:  # whatever is wrong with the file, compiling is the answer
        return None
    with contextlib.suppress(OSError):  # on a disk that is only read
        os.utime(path)
    return executable


def store(name, executable):
    """Keeps an executable under `name`; does nothing if it cannot."""
    folder = directory()
    if folder is None or name is None:
        return
    try:
        from jax.experimental.serialize_executable import serialize

        data, *structures = serialize(executable)
        counts = [structure.num_leaves for structure in structures]
        if structures != _structures(*counts):
            return
        body = json.dumps(counts).encode() + b"\n" + data
    except Exception:  # an executable that does not serialise must not fail the run
        return
    path = os.path.join(folder, name)
    try:
        if not files.replaceable(path) or os.path.islink(path):
            os.remove(path)
        with files.in_place_of(path) as file:
            file.write(_code(name, body))
            file.write(body)
        _prune(folder)
    except (OSError, OpError) as error:
        _warn_of(folder, error)


def _structures(ins, outs):
    """Returns the trees of arguments and results of a function of `ins` arrays that returns a tuple of `outs`."""
    from regrad.runtime.backend import jax

    return [jax.tree_util.tree_structure(((0,) * ins, {})), jax.tree_util.tree_structure((0,) * outs)]


@functools.lru_cache(maxsize=8)
def _warn(why):
    warnings.warn(f"Compiled programs are not kept on disk, every process compiles anew: {why}.", RegradWarning, stacklevel=2)


def _warn_of(path, error):
    """Says once that the folder somebody asked for is of no use."""
    if "REGRAD_CACHE_DIR" in os.environ:
        _warn(f"REGRAD_CACHE_DIR={os.environ['REGRAD_CACHE_DIR']}: {path}: {error}")


def _prune(folder):
    """Deletes the older half where there are too many, and what killed processes have left."""
    paths = [os.path.join(folder, name) for name in os.listdir(folder) if _NAME.fullmatch(name)]
    if len(paths) > _MAX_FILES:
        files.remove_left_overs(os.path.join(folder, ""), and_longer=True)
        for path in sorted(paths, key=os.path.getmtime)[:len(paths) // 2]:
            files.remove_if_there(path)
