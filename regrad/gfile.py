"""`tf.gfile`: files and folders, by TF1's names, of the local file system.

What the system refuses is an error of `tf.errors`: a file that does not exist NotFoundError, and so on.
"""

import glob
import os
import pathlib
import shutil

from regrad.core import errors
from regrad.core.errors import AlreadyExistsError
from regrad.core.files import in_place_of, make_folders, translated
from regrad.core.shown import Shown

__all__ = ["Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory", "ListDirectory", "MakeDirs",
           "MkDir", "Open", "Remove", "Rename", "Stat", "Walk"]


def _refuse_existing(path, overwrite):
    if os.path.exists(path) and not overwrite:
        raise AlreadyExistsError(None, None, f"{os.fspath(path)} already exists; pass overwrite=True to replace it")


class GFile(Shown):
    """A file, opened when it is first used.

    Args:
      name: path.
      mode: as for `open`: "r", "w", "a", with "b" for bytes and "+".
    """

    def __init__(self, name, mode="r"):
        self._file = None
        self.name, self.mode = name, mode

    def _open(self):
        if self._file is None:
            with translated(self.name):
                self._file = open(self.name, self.mode)
        return self._file

    def _readable(self):
        if not set("r+") & set(self.mode):
            raise errors.PermissionDeniedError(None, None, f"File isn't open for reading: {self.name}, mode {self.mode!r}")
        return self._open()

    def read(self, n=-1):
        return self._readable().read(n)

    def readline(self):
        return self._readable().readline()

    def readlines(self):
        return self._readable().readlines()

    def write(self, content):
        if not set("wax+") & set(self.mode):
            raise errors.PermissionDeniedError(None, None, f"File isn't open for writing: {self.name}, mode {self.mode!r}")
        with translated(self.name):
            self._open().write(content)

    def seek(self, offset=None, whence=0):
        self._open().seek(offset, whence)

    def tell(self):
        return self._open().tell()

    def size(self):
        """Returns the length in bytes."""
        with translated(self.name):
            return os.path.getsize(self.name)

    def flush(self):
        if self._file is not None:
            with translated(self.name):
                self._file.flush()

    def close(self):
        if self._file is not None:
            file, self._file = self._file, None
            with translated(self.name):
                file.close()

    def __iter__(self):
        return iter(self._open())

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *exc):
        self.close()

    def __del__(self):
        self.close()


Open = FastGFile = GFile


def Exists(filename):
    """Returns whether a file or folder exists."""
    return os.path.exists(filename)


def IsDirectory(dirname):
    """Returns whether it is a folder."""
    return os.path.isdir(dirname)


def ListDirectory(dirname):
    """Returns the names in a folder."""
    with translated(dirname):
        return sorted(os.listdir(dirname))


def Glob(filename):
    """Returns the paths that match a pattern, or a list of patterns."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [path for p in patterns for path in sorted(glob.glob(os.fspath(p)))]


def MkDir(dirname):
    """Makes a folder, whose parent must exist; nothing if it exists."""
    with translated(dirname):
        if not os.path.exists(dirname):
            os.mkdir(dirname)


def MakeDirs(dirname):
    """Makes a folder and those above it; nothing if it exists."""
    make_folders(dirname)


def Remove(filename):
    """Deletes a file."""
    with translated(filename):
        os.remove(filename)


def DeleteRecursively(dirname):
    """Deletes a folder and all in it."""
    with translated(dirname):
        shutil.rmtree(dirname)


def Copy(oldpath, newpath, overwrite=False):
    """Copies a file; AlreadyExistsError if the new one exists and `overwrite` is not said."""
    _refuse_existing(newpath, overwrite)
    with translated(oldpath), open(oldpath, "rb") as old, in_place_of(newpath) as new:
        shutil.copyfileobj(old, new)


def Rename(oldname, newname, overwrite=False):
    """Renames a file; AlreadyExistsError if the new name is taken and `overwrite` is not said."""
    _refuse_existing(newname, overwrite)
    with translated(oldname):
        os.replace(oldname, newname)


def Stat(filename):
    """Returns the file's `os.stat` with TF's names: length, mtime_nsec, is_directory."""
    with translated(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, pathlib.Path(filename).is_dir())


class FileStatistics:
    """What `Stat` returns: length in bytes, time of the last change in nanoseconds, whether it is a folder."""

    def __init__(self, length, mtime_nsec, is_directory):
        self.length, self.mtime_nsec, self.is_directory = length, mtime_nsec, is_directory


def Walk(top, in_order=True):
    """Returns (folder, names of folders, names of files) for a folder and all below it."""
    return os.walk(top, topdown=in_order)
