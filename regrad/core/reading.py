"""What goes wrong while a file is read: one class of error, with the file's name, the place in it, and what to do.

    with reading(path) as at:
        at.place = "the entry of 'w'"
        ...

Whatever bytes make fail inside is `Damaged`: DataLossError and ValueError in one, and of the class that was raised as well, so
that a program catches what it always caught. What the system refuses becomes the error of `tf.errors` that TensorFlow makes of
it. Errors of `tf.errors` pass, those about bytes and values with the file's name in front. A graph that is a message, and says
what no graph can be, is `refusing`'s: InvalidArgumentError and ValueError in one, which names the node.
"""

import contextlib
import functools
import os

from regrad.core.errors import BadValue, Damaged, GradientError, OpError, ResourceExhaustedError
from regrad.core.files import translated

_REMEDY = "The file was damaged or cut short, or is of another format: copy it again, or have it written again."


class reading:
    """Context manager: failures inside name the file, or whatever `name` is, and the `place` set last."""

    def __init__(self, name, place="", remedy=_REMEDY):
        self.name, self.place, self._remedy = name, place, remedy

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception) or isinstance(error, ImportError):
            return False
        name = os.fsdecode(self.name) if isinstance(self.name, (bytes, os.PathLike)) else self.name
        where = f"{name}, {self.place}" if self.place else name
        if isinstance(error, OpError):
            if isinstance(error, (Damaged, BadValue)) and error.file is None:
                error.file, error.message = name, f"{where}: {error.message}"
                error.message += f". {self._remedy}" if isinstance(error, Damaged) else ""
            return False
        if isinstance(error, OSError) and error.errno is not None:
            with translated(name):
                raise error
        if isinstance(error, MemoryError):
            raise ResourceExhaustedError(None, None, f"{where}: what it says it holds does not fit in memory") from error
        made = like(error, f"{where}: {words_of(error)}. {self._remedy}")
        made.file = name
        raise made from error


class refusing(contextlib.ContextDecorator):
    """Context manager: what fails while a graph is made of nodes is InvalidArgumentError and ValueError, and names the node."""

    def __init__(self, node=None):
        self._node = node

    def __exit__(self, kind, error, trace):
        if not isinstance(error, Exception) or isinstance(error, (GradientError, ImportError)):
            return False
        node = self._node
        where = "" if node is None or f"'{node.name}'" in str(error) else f"Node '{node.name}' ({node.op}): "
        if isinstance(error, OpError):
            if isinstance(error, BadValue):
                error.message = where + error.message
            return False
        if isinstance(error, MemoryError):
            raise ResourceExhaustedError(None, None, f"{where}what it says it holds does not fit in memory") from error
        raise like(error, where + words_of(error), BadValue) from error

    def __enter__(self):
        return self


def each(name, items, remedy=_REMEDY):
    """Yields `items`; what fails while one is read is as in `reading`, what fails in whoever takes them is not."""
    items = iter(items)
    while True:
        with reading(name, remedy=remedy):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def words_of(error):
    """Returns what an exception says, with its class where that says more."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, EOFError):
        return "it ends too early"
    own = isinstance(error, (LookupError, TypeError, AttributeError, AssertionError)) or not str(error)
    return (f"{type(error).__name__}: {error}" if own else str(error)).rstrip(".: ")


def like(error, message, kind=Damaged):
    """Returns an error of a class of `tf.errors`, `kind`, that is of the class of `error`, too, and has its attributes."""
    own = type(error)
    try:
        cls = _class_of(own, kind)
        made = own.__new__(cls, message) if cls is not kind else kind(message)
    except TypeError:  # a class that is like no other
        return kind(message)
    made.__dict__.update(error.__dict__)
    made.args, made.message, made._node_def, made.op = (message,), message, None, None
    return made


@functools.cache
def _class_of(own, kind):
    if issubclass(kind, own):
        return kind
    return own if issubclass(own, kind) else type(kind.__name__, (kind, own), {"__module__": kind.__module__})
