"""Writing files: errors of the system as those of `tf.errors`, and files that are there whole or not at all.

What is written lies beside its place, as `.NAME.part-` and eight digits, a name that no other writer has, until it is whole and
renamed. As long as its writer lives it is locked: one without a lock was left behind by a process that was killed, and is
removed by the next that writes to the same place.
"""

import contextlib
import errno
import fcntl
import glob
import os
import re
import shutil
import stat

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
_REMEDIES = {
    errno.ENOSPC: "make room there, or write to another disk", errno.EDQUOT: "make room there, or write to another disk",
    errno.EFBIG: "a limit of this process (`ulimit -f`) or of the file system allows no larger ones",
    errno.EROFS: "write to another disk", errno.EMFILE: "close some, or allow more (`ulimit -n`)",
}
_PART = re.compile(r"\.(.+)\.part-[0-9a-f]{8}$")


@contextlib.contextmanager
def translated(path):
    """Context manager: an OSError becomes the error of `tf.errors` that TensorFlow makes of it."""
    try:
        yield
    except OSError as error:
        kind = _MEANT_BY.get(error.errno, errors.UnknownError)
        where = os.fspath(path) if error.filename is None else os.fsdecode(error.filename)
        part = _PART.match(os.path.basename(where))  # users know the name that it was to have
        where = where if part is None else os.path.join(os.path.dirname(where), part[1])
        remedy = f": {_REMEDIES[error.errno]}" if error.errno in _REMEDIES else ""
        raise kind(None, None, f"{where}; {error.strerror or error}{remedy}") from None


class Part:
    """A file that is being written, and takes its place when it is whole; a context manager, which removes it otherwise.

    Attributes:
      file: to write bytes to.
      handle: the system's number of it.
    """

    def __init__(self, path, mode=0o666):
        """Args: path: its place. mode: as for `os.open`. Raises: OSError."""
        self._path, self.handle = _target(path), None
        remove_left_overs(self._path)
        self.name, self.handle = _begun(self._path, lambda name: os.open(name, _NEW, mode))
        self.file = open(self.handle, "wb", closefd=False)
        with contextlib.suppress(OSError):  # where there is none yet it has the mode of any new file
            os.fchmod(self.handle, stat.S_IMODE(os.stat(self._path).st_mode))

    def finish(self):
        """Writes what still waits in memory, so that nothing but the name is missing."""
        self.file.flush()
        os.fsync(self.handle)

    def take_place(self, path=None):
        """Renames it: `path` or, without that, its place is this file from now on. Raises: OpError."""
        with translated(path or self._path):
            os.replace(self.name, path or self._path)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        handle, self.handle = self.handle, None
        if handle is None:
            return
        try:
            remove_if_there(self.name)
        finally:
            with contextlib.suppress(OSError):  # of a full disk, again
                self.file.close()
            os.close(handle)

    __del__ = __exit__


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@contextlib.contextmanager
def in_place_of(path):
    """Context manager: gives a file to write bytes to, which takes the place of `path` when the block is left.

    Where that fails nothing has changed, and an OSError becomes the error of `tf.errors` that TensorFlow makes of it.
    """
    with translated(path):
        if not replaceable(path):
            with open(path, "wb") as file:
                yield file
            return
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        with Part(path) as part:
            yield part.file
            part.finish()
            part.take_place()


class Growing:
    """A file to which pieces are added, each whole or not at all: those that a full disk refuses wait for the next `flush`.

    Attributes:
      name: for messages.
      process: number of the process that made it: what waits in a fork of it is its own.
      refused: whether the last `flush` failed.
    """

    def __init__(self, handle, name, end=0):
        """Args: handle: the system's number of a file opened for writing, which is closed with this. end: its bytes so far."""
        self.name, self.process, self._handle = name, os.getpid(), handle
        self._waiting, self._size, self._end = [], 0, end
        self.refused = False

    def add(self, piece):
        """Adds bytes; they are written by `flush`, or when many wait."""
        if self._size > _MANY:
            self.flush()
        self._waiting.append(piece)
        self._size += len(piece)

    def flush(self):
        """Writes what waits. Raises: OpError: the system does not let it; the file ends as before, and all goes on waiting."""
        data = memoryview(b"".join(self._waiting))
        end, self.refused = self._end + len(data), True
        try:
            with translated(self.name):
                at = 0
                while at < len(data):
                    at += os.write(self._handle, data[at:])
        except BaseException:
            with contextlib.suppress(OSError):  # a pipe keeps what it has
                os.lseek(self._handle, self._end, os.SEEK_SET)
                os.ftruncate(self._handle, self._end)
            raise
        self._end, self._waiting, self._size, self.refused = end, [], 0, False

    def close(self):
        """Writes what waits, and closes the file when that was possible."""
        if self._handle is not None:
            self.flush()
            self.drop()

    def drop(self):
        """Closes the file without what waits."""
        handle, self._handle = self._handle, None
        os.close(handle)

    def __del__(self):
        if self._handle is not None:
            try:
                if self.process == os.getpid():
                    self.flush()
            finally:
                self.drop()


_MANY = 1 << 16  # bytes that wait


class FolderPart:
    """A folder that is being written, and takes its place when it is whole; a context manager, which removes it otherwise.

    Attributes:
      name: its path until then, not made yet.
    """

    def __init__(self, path):
        """Args: path: its place; the folders above it are made. Raises: OpError."""
        self._path = os.path.abspath(path)
        folder, base = os.path.split(self._path)

        def begin(name):
            os.mkdir(name)
            return os.open(name, os.O_RDONLY | os.O_CLOEXEC)

        make_folders(folder)
        with translated(path):
            remove_left_overs(self._path)
            self._around, self._handle = _begun(self._path, begin)
        self.name = os.path.join(self._around, base)

    def take_place(self):
        """Renames it: it is whole, and in its place there is nothing, or an empty folder. Raises: OpError."""
        with translated(self._path):
            os.rename(self.name, self._path)

    def remove(self):
        """Deletes what has not taken its place."""
        handle, self._handle = self._handle, None
        if handle is not None:
            try:
                shutil.rmtree(self._around, ignore_errors=True)
            finally:
                os.close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def remove_folder(path):
    """Deletes a folder and all in it; one that is half deleted has its name no more."""
    path = os.path.abspath(path)
    with FolderPart(path) as part, translated(path):
        os.rename(path, part.name)


@contextlib.contextmanager
def ready(path, data):
    """Context manager: gives a Part with the bytes `data` that has but to take the place of `path`. Raises: OpError."""
    with translated(path):
        part = Part(path)
    with part:
        with translated(path):
            part.file.write(data)
            part.finish()
        yield part


def make_folders(path):
    """Makes a folder and those above it; nothing if it exists. Raises: OpError."""
    with translated(path):
        try:
            os.makedirs(path, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from None


def replaceable(path):
    """Returns whether `path` is a file or nothing: a device or pipe is written to as it is."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True


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


def set_aside(path):
    """Gives a file the name of a left-over, which is returned."""
    name = _name_beside(path)
    os.rename(path, name)
    return name


def remove_left_overs(path, and_longer=False):
    """Deletes what processes that were killed have left of writing `path`, or any path that begins with it; returns which."""
    found, (folder, name) = set(), os.path.split(path)
    for part in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}{'*' * and_longer}.part-????????")):
        match = _PART.match(os.path.basename(part))
        if match is None:
            continue
        with contextlib.suppress(OSError):  # another process may be removing it, too
            handle = os.open(part, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.isdir(part):
                    shutil.rmtree(part)
                else:
                    os.remove(part)
                found.add(os.path.join(folder, match[1]))
            finally:
                os.close(handle)
    return found


def also_called(path, other):
    """Calls a file `other`, too, in place of what had that name; False where the file system has one name for a file only."""
    name = _name_beside(other)
    try:
        os.link(path, name)
    except OSError:
        return False
    try:
        os.replace(name, other)
    finally:
        remove_if_there(name)
    return True


@contextlib.contextmanager
def alone_in(folder):
    """Context manager: no other thread or process that asks for it is in such a block for this folder."""
    handle = os.open(folder or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _target(path):
    """Returns the path to be replaced: behind a symbolic link that which it leads to."""
    path = os.fspath(path)
    return os.path.realpath(path) if os.path.islink(path) else path


def _name_beside(path):
    folder, base = os.path.split(path)
    return os.path.join(folder, f".{base}.part-{os.urandom(4).hex()}")


def _begun(path, begin):
    """Makes something beside `path` by `begin(name)`, which returns its handle; returns (name, handle), locked."""
    while True:
        name = _name_beside(path)
        try:
            handle = begin(name)
        except FileExistsError:
            continue
        if _locked(handle):
            return name, handle
        os.close(handle)  # one who looked for left-overs came in between


def _locked(handle):
    """Locks what was just made; False where another has taken it, to remove it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some file systems have no locks
        return True
    return os.fstat(handle).st_nlink > 0
