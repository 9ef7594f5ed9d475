"""Which lines of the user's program made an operation.

Capturing costs about a microsecond: the frames' code objects and instruction offsets are kept, and turned into
file names and line numbers only when somebody asks.
"""

import contextlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CONTEXTLIB = contextlib.__file__  # the frames of a `with` block on a generator
_DEPTH = 4  # a helper that makes a layer, its caller, and two more
_own: dict[str, bool] = {}  # file name -> whether its frames are none of the user's


def user_frames():
    """Returns the innermost frames outside Regrad, innermost first, as ((code, offset), ...)."""
    frame = sys._getframe(1)
    while frame is not None:
        own = _own.get(name := frame.f_code.co_filename)
        if own is None:
            own = _own[name] = is_own(name) or name == _CONTEXTLIB
        if not own:
            break
        frame = frame.f_back
    frames = []
    while frame is not None and len(frames) < _DEPTH:
        frames.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(frames)


def _line(code, offset):
    for start, end, line in code.co_lines():
        if start <= offset < end and line is not None:
            return line
    return code.co_firstlineno


def resolve(frames):
    """Returns [(filename, line, function name), ...] for what `user_frames` kept."""
    return [(code.co_filename, _line(code, offset), code.co_name) for code, offset in frames]


def location(frames):
    """Returns "file:line" of the innermost user frame, or "an unknown place"."""
    if not frames:
        return "an unknown place"
    code, offset = frames[0]
    return place(code.co_filename, _line(code, offset))


def place(filename, line):
    """Returns "file:line", or "Cell [2], line 5" of a notebook's cell."""
    cell = _cell_number(filename)
    return f"{_short(filename)}:{line}" if cell is None else f"Cell [{cell}], line {line}"


def _cell_number(filename):
    """Returns the number of the cell that IPython keeps under a file name, or None."""
    if filename.startswith("<ipython-input-"):  # of older versions
        number = filename.removeprefix("<ipython-input-").partition("-")[0]
        return number if number.isdigit() else None
    return getattr(getattr(shell(), "compile", None), "_filename_map", {}).get(filename)


def shell():
    """Returns the IPython shell that runs, or None."""
    ipython = sys.modules.get("IPython")
    get = getattr(ipython, "get_ipython", None)
    return get() if get is not None else None


def is_own(filename):
    """True for a file of Regrad's."""
    return filename.startswith(_PACKAGE)


def here():
    """Returns "file:line" of the user's line being executed."""
    return location(user_frames())


def level():
    """Returns the `stacklevel` with which the caller warns at the user's line."""
    frame, n = sys._getframe(1), 1
    while frame.f_back is not None and (frame.f_code.co_filename.startswith(_PACKAGE)
                                        or frame.f_code.co_filename == _CONTEXTLIB):
        frame, n = frame.f_back, n + 1
    return n


def cell():
    """Returns (the notebook cell being run, the number of this run), or None outside notebooks that tell.

    Jupyter's front ends send the cell's id with what they ask to be executed.
    """
    request = getattr(shell(), "parent_header", None) or {}
    name = request.get("metadata", {}).get("cellId")
    return None if name is None else (name, request.get("header", {}).get("msg_id"))


def rerun(before, now):
    """True when two answers of `cell` are two runs of one cell, which may replace what it defined itself."""
    return before is not None and now is not None and before[0] == now[0] and before[1] != now[1]


def another_run(frames, later):
    """True when two operations were made by one line of a notebook's cell, say, in two runs: the same code, compiled anew."""
    if not frames or not later:
        return False
    (code, offset), (again, at) = frames[0], later[0]
    return code is not again and code == again and offset == at


def of_function(f):
    """Returns "file:line" where the function `f` is defined."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    f = getattr(f, "func", f)  # functools.partial
    code = getattr(f, "__code__", None) or getattr(type(f).__call__, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code is not None else repr(f)


def call(function, *args, role, **kwargs):
    """Returns `function(*args, **kwargs)` of a user's function; where it takes other arguments, the error says what called it.

    Args:
      role: what the function is, as "cond of tf.while_loop".
    """
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if misfit(error):
            error.add_note(f"{role} is called with {len(args)} argument{'s' * (len(args) != 1)}; it is at "
                           f"{of_function(function)}")
        raise


def misfit(error):
    """True for a TypeError of a call itself, which the caller has just caught: no line of what it called ran."""
    return isinstance(error, TypeError) and error.__traceback__.tb_next is None


def _short(filename):
    """Shortens a path below the working directory to a relative one; the rest stay absolute."""
    if filename.startswith(_PACKAGE):
        return "regrad/" + filename[len(_PACKAGE):]
    try:
        relative = os.path.relpath(filename)
    except ValueError:
        return filename
    return filename if relative.startswith("..") else relative
