"""Every exception Regrad raises on purpose.

    Exception
    ├── OpError                     TF's run-time errors: carry `.op`, `.node_def`, `.message`, `.error_code`
    │   ├── CancelledError ... UnauthenticatedError      one class per TF error code
    │   ├── InvalidArgumentError    bad value met while running
    │   ├── FailedPreconditionError uninitialised variable, closed queue ...
    │   └── DataLossError ── Damaged(ValueError)         bytes that are not what their format says; regrad/core/reading.py
    ├── BadValue                    what an op cannot take: InvalidArgumentError and ValueError in one
    │   └── ShapeError              shapes that cannot go together
    ├── Unsupported                 what no kernel computes: UnimplementedError and ValueError in one
    ├── GradientError(LookupError)  no rule for an op on the path
    └── RuleError(ValueError)       a rule returned something it must not

    RegradWarning(UserWarning)  legal, and probably not meant

Build-time misuse raises Python's own TypeError, ValueError, KeyError and RuntimeError, as TensorFlow does.

How to write a message: name the op or function; say what came, by argument name, with shape and dtype; say what
is required; give the remedy; end with the place (`made at file:line`) when an operation is to blame.
"""

import functools

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class RegradWarning(UserWarning):
    """Something is legal and probably not meant."""


class OpError(Exception):
    """An error met while running a graph; subclasses carry TF's error codes.

    Attributes:
      op: the Operation that failed, or None.
      message: what went wrong.
      error_code: TF's integer code.
    """

    error_code = UNKNOWN

    def __init__(self, node_def=None, op=None, message="", error_code=None):
        # TF's argument order is (node_def, op, message); a single string is a message.
        if isinstance(node_def, str) and op is None and not message:
            node_def, message = None, node_def
        super().__init__(message)
        self._node_def = node_def
        self.op = op
        self.message = message
        if error_code is not None:
            self.error_code = error_code

    @property
    def node_def(self):
        """The NodeDef of the operation, or None."""
        return self.op.node_def if self._node_def is None and self.op is not None else self._node_def

    def __str__(self):
        if self.op is None:
            return self.message
        return f"{self.message}\n  {self.op.describe()}"


class CancelledError(OpError):
    """The operation was cancelled."""

    error_code = CANCELLED


class UnknownError(OpError):
    """An error of no known kind."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError):
    """An operation received a value it cannot take."""

    error_code = INVALID_ARGUMENT


class DeadlineExceededError(OpError):
    """A deadline passed before the operation finished."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError):
    """Something asked for (a file, a key in a checkpoint) does not exist."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something to be created exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The caller may not do this."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Out of memory, or of another resource."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """The system is not in the state needed, for instance a variable is uninitialised."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """The operation was aborted."""

    error_code = ABORTED


class OutOfRangeError(OpError):
    """An operation ran past the end of its input."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """The operation is not implemented for these arguments."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """An invariant of the system is broken."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """The runtime is unavailable."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Unrecoverable loss or corruption of data."""

    error_code = DATA_LOSS


class Damaged(DataLossError, ValueError):
    """Bytes that are not what their format says; `file` is the name of theirs, None where nobody has said it yet."""

    file = None


Damaged.__name__ = Damaged.__qualname__ = DataLossError.__name__  # the name that programs know stands in tracebacks


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    error_code = UNAUTHENTICATED


_RAISED_BY_USERS = {  # what TF makes of the exceptions of a host function; UnknownError of all others
    ValueError: InvalidArgumentError, TypeError: InvalidArgumentError, StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError, NotImplementedError: UnimplementedError,
}


def of_host_function(error):
    """Returns `error`, an exception of a user's function, as one that is TF's class for it as well: programs catch either.

    Its type's name, text, arguments and attributes and its traceback stay what they are.
    """
    if isinstance(error, OpError):
        return error
    kind = next((kind for cls, kind in _RAISED_BY_USERS.items() if isinstance(error, cls)), UnknownError)
    own = type(error)
    try:
        cls = _as_both(own, kind)
        try:
            error.__class__ = cls
            both = error
        except TypeError:  # Python's own classes are not exchanged
            args = error.__reduce__()[1]  # of an OSError, the file's name too
            both = cls.__new__(cls, *args)
            own.__init__(both, *args)
            both.__dict__.update(error.__dict__)
            both.__cause__, both.__context__ = error.__cause__, error.__context__
            both.__suppress_context__ = error.__suppress_context__
    except Exception:  # a class that is like no other
        return error
    both._node_def, both.op, both.message = None, None, str(error)
    return both.with_traceback(error.__traceback__)


@functools.cache
def _as_both(own, kind):
    names = {"__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__, "__str__": own.__str__}
    return type(own.__name__, (own, kind), names)


class BadValue(InvalidArgumentError, ValueError):
    """A shape or value that an operation cannot take; `file` is the name of what it came from, where that was a file.

    TF refuses what it finds while building with ValueError, and what it finds when running with InvalidArgumentError.
    Regrad finds more while building, so that what it refuses there is both.
    """

    file = None


class ShapeError(BadValue):
    """Shapes that do not fit together."""


class Unsupported(UnimplementedError, ValueError):
    """What TF's kernels refuse, because nobody computes it, found while building: both UnimplementedError and ValueError."""


class GradientError(LookupError):
    """An operation on the path from ys to xs has no gradient rule."""


class RuleError(ValueError):
    """A gradient rule returned the wrong number, shape or graph of gradients."""


class RuleTypeError(RuleError, TypeError):
    """A gradient rule returned a value of the wrong type or dtype."""


def uninitialized(variable):
    """Returns TF's error for a variable that has no value in this session."""
    return FailedPreconditionError(
        None, variable, f"Attempting to use uninitialized value {variable.name}: run {_initializer_of(variable)} "
        "in this session first, or assign the variable.")


def _initializer_of(variable):
    """Names what initialises a variable: metrics keep theirs in a collection of their own."""
    graph = variable.graph
    for key, name in (("variables", "global_variables"), ("local_variables", "local_variables")):
        if any(getattr(v, "op", None) is variable for v in graph.get_collection(key)):
            return f"tf.{name}_initializer()"
    return "its initializer"


def lowering_failure(error, op):
    """Returns TF's error for what the computation of `op` raised, or None: then it is to be passed on as it is.

    A lowering that is handed what it cannot take fails with the words of NumPy or JAX.
    """
    if isinstance(error, Damaged):
        return None
    if isinstance(error, (ValueError, TypeError, IndexError, ZeroDivisionError)):
        return InvalidArgumentError(None, op, f"{op.type}: {error}")
    if isinstance(error, MemoryError):
        return ResourceExhaustedError(None, op, f"OOM when allocating the result of {op.type}: {error}")
    return None


_BY_CODE = {
    c.error_code: c
    for c in (CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError,
              AlreadyExistsError, PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError,
              AbortedError, OutOfRangeError, UnimplementedError, InternalError, UnavailableError, DataLossError,
              UnauthenticatedError)
}


def exception_type_from_error_code(error_code):
    """Returns the OpError subclass for one of TF's integer codes."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls):
    """Returns TF's integer code for an OpError subclass."""
    return cls.error_code


def nearest(word, candidates, n=3):
    """Returns ", did you mean 'X'?" for the names most like `word`, or an empty string."""
    import difflib

    candidates = list(candidates)
    lower = {c.lower(): c for c in candidates}
    close = [lower[word.lower()]] if word.lower() in lower else []
    close += [c for c in difflib.get_close_matches(word, candidates, n=n, cutoff=0.6) if c not in close]
    return f"; did you mean {' or '.join(repr(c) for c in close[:n])}?" if close else ""
