"""Tracebacks as they are shown: the program's frames, without those inside Regrad; `tf.config.tracebacks = "full"` shows all.

Only what is printed is shorter, by Python for a program that ends and by IPython for a cell: an exception itself keeps its
whole traceback, for debuggers and for whoever catches it. Where another hook shows exceptions, it shows them as it does.
"""

import sys
import types

from regrad.core import source

_LEFT_OUT = '({} inside Regrad left out; tf.config.tracebacks = "full" shows {})'


def _wanted():
    config = sys.modules.get("regrad.runtime.config")
    return config is None or config.tracebacks == "short"


def install():
    """Makes Python, and IPython where it runs, show exceptions shortly; nothing where a program has a hook of its own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _excepthook
    shell = source.shell()
    shown = getattr(shell, "InteractiveTB", None)
    if shown is not None and "structured_traceback" not in vars(shown):
        original = shown.structured_traceback

        def structured_traceback(etype=None, value=None, tb=None, *args, **kwargs):
            return original(etype, value, shortened(tb) if _wanted() else tb, *args, **kwargs)

        shown.structured_traceback = structured_traceback


def _excepthook(kind, error, frames):
    if not (_wanted() and show(error, frames)):
        sys.__excepthook__(kind, error, frames)


def show(error, frames):
    """Prints an exception as Python does, shortly; returns False, and prints nothing, where there is nothing to leave out."""
    import traceback

    told = traceback.TracebackException(type(error), error, frames, compact=True)
    left_out, todo, seen = 0, [told], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        kept = [frame for frame in one.stack if not source.is_own(frame.filename)]
        if kept:
            left_out += len(one.stack) - len(kept)
            one.stack[:] = kept
        todo += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    if not left_out:
        return False
    print("".join(told.format()), end="", file=sys.stderr)
    what = "1 frame", "it" if left_out == 1 else "them"
    print(_LEFT_OUT.format(what[0] if left_out == 1 else f"{left_out} frames", what[1]), file=sys.stderr)
    return True


def shortened(frames):
    """Returns a traceback without Regrad's frames; the same one where no others are left."""
    kept, at = [], frames
    while at is not None:
        if not source.is_own(at.tb_frame.f_code.co_filename):
            kept.append(at)
        at = at.tb_next
    made = None
    for one in reversed(kept):
        made = types.TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return frames if made is None else made
