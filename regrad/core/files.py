"""Writing files: errors of the system as those of `tf.errors`, and files that are there whole or not at all."""

import contextlib
import errno
import os

from regrad.core import errors

_MEANT = {
    errors.NotFoundError: "ENOENT ENODEV ENXIO ESRCH",
    errors.AlreadyExistsError: "EEXIST",
    errors.PermissionDeniedError: "EACCES EPERM EROFS",
    errors.FailedPreconditionError: "ENOTEMPTY EISDIR ENOTDIR EBUSY ETXTBSY EPIPE",
    errors.InvalidArgumentError: "EINVAL ENAMETOOLONG E2BIG ESPIPE EBADF ELOOP",
    errors.ResourceExhaustedError: "ENOSPC EMFILE ENFILE ENOMEM EDQUOT EMLINK",
    errors.OutOfRangeError: "EFBIG ERANGE",
    errors.UnimplementedError: "ENOSYS EOPNOTSUPP EXDEV",
    errors.UnavailableError: "EAGAIN EINTR",
}
_MEANT_BY = {getattr(errno, name): kind for kind, names in _MEANT.items() for name in names.split() if hasattr(errno, name)}


@contextlib.contextmanager
def translated(path):
    """Context manager: an OSError becomes the error of `tf.errors` that TensorFlow makes of it."""
    try:
        yield
    except OSError as error:
        kind = _MEANT_BY.get(error.errno, errors.UnknownError)
        where = error.filename if error.filename is not None else os.fspath(path)
        raise kind(None, None, f"{where}; {error.strerror or error}") from None


@contextlib.contextmanager
def in_place_of(*paths):
    """Context manager: gives a file to write bytes to for each of `paths`; they take their places when all are written.

    Where that fails nothing is left behind, and an OSError becomes the error of `tf.errors` that TensorFlow makes of it.
    """
    parts = [f"{path}.part{os.getpid()}" for path in paths]
    with translated(paths[0]), contextlib.ExitStack() as cleaning:
        for part in parts:
            cleaning.callback(remove_if_there, part)
        with contextlib.ExitStack() as files:
            yield [files.enter_context(open(part, "wb")) for part in parts]
        for part, path in zip(parts, paths):
            os.replace(part, path)


def remove_if_there(path):
    """Deletes a file; nothing if it does not exist."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.remove(path)


def below(folder, path):
    """Returns whether a path leads into a folder, whatever links are on the way."""
    folder = os.path.realpath(folder)
    return os.path.commonpath([folder, os.path.realpath(path)]) == folder


def within(path):
    """Returns whether a path that stands in a file leads nowhere but below the folder it is relative to, links aside."""
    parts = path.replace("\\", "/").split("/")
    return bool(path) and "\0" not in path and ".." not in parts and not os.path.isabs(path) and not path.startswith("/") \
        and not os.path.splitdrive(path)[0]
