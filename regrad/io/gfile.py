"""`tf.io.gfile`: files and folders by their later names; `tf.gfile` has the earlier ones, and says what each does."""

import os

from regrad import gfile
from regrad.gfile import GFile

__all__ = ["GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree", "stat",
           "walk"]


def copy(src, dst, overwrite=False):
    """Copies a file; AlreadyExistsError if the new one exists and `overwrite` is not said."""
    gfile.Copy(src, dst, overwrite)


def exists(path):
    """Returns whether a file or folder exists."""
    return gfile.Exists(path)


def glob(pattern):
    """Returns the paths that match a pattern, or a list of patterns."""
    return gfile.Glob(pattern)


def isdir(path):
    """Returns whether it is a folder."""
    return gfile.IsDirectory(path)


def listdir(path):
    """Returns the names in a folder."""
    return gfile.ListDirectory(path)


def makedirs(path):
    """Makes a folder and those above it; nothing if it exists."""
    gfile.MakeDirs(path)


def mkdir(path):
    """Makes a folder, whose parent must exist."""
    gfile.MkDir(path)


def remove(path):
    """Deletes a file."""
    gfile.Remove(path)


def rename(src, dst, overwrite=False):
    """Renames a file; AlreadyExistsError if the new name is taken and `overwrite` is not said."""
    gfile.Rename(src, dst, overwrite)


def rmtree(path):
    """Deletes a folder and all in it."""
    gfile.DeleteRecursively(path)


def stat(path):
    """Returns the file's length, mtime_nsec and is_directory."""
    return gfile.Stat(path)


def walk(top, topdown=True, onerror=None):
    """Returns (folder, names of folders, names of files) for a folder and all below it; `onerror` takes an OSError."""
    return os.walk(top, topdown=topdown, onerror=onerror)
