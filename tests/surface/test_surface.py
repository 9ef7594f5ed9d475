"""Every public name of TensorFlow 1 that a dense program may use exists, with its arguments, or is left out with a reason."""
import fnmatch

import pytest

import regrad as tf
from tests.surface import surface
from tests.surface.left_out import DIFFERENT_ARGUMENTS, LATER_ARGUMENTS, LEFT_OUT

RECORDED = surface.recorded()


def reason(name):
    """Returns the pattern under which a name is left out, or None."""
    if name in LEFT_OUT:
        return name
    return next((p for p in LEFT_OUT if "*" in p and fnmatch.fnmatchcase(name, p)), None)


def value(name):
    """Returns Regrad's value of a name, or None."""
    space, _, leaf = name.rpartition(".")
    try:
        return getattr(surface.module(tf, space), leaf)
    except (AttributeError, ModuleNotFoundError):
        return None


def complaint(theirs, ours):
    """Returns what is wrong with arguments, or None: each must be there, at its place if it can be given by position."""
    if ours is None:
        return "takes no arguments that are known"
    wanted = [a for a in theirs if not a.startswith("*") and a not in LATER_ARGUMENTS]
    own = [a for a in ours if not a.startswith("*")]
    lost = [a for a in wanted if a not in own]
    if lost and not any(a.startswith("**") for a in ours):
        return f"lacks {', '.join(lost)}"
    moved = [a for i, a in enumerate(wanted) if a in own and own.index(a) != i and theirs.index(a) == i]
    if moved and not any(a.startswith("*") for a in ours):
        return f"has {', '.join(moved)} at another place: {', '.join(own)}"
    return None


@pytest.mark.parametrize("space", ["", *surface.SPACES])
def test_names_and_arguments(space):
    wrong = []
    for name in (n for n in RECORDED if n.rpartition(".")[0] == space):
        ours = value(name)
        if (ours is None and name not in ("newaxis",)) != (reason(name) is not None):
            wrong.append(f"{name} {'is missing' if ours is None else f'exists, but is left out as {reason(name)!r}'}")
        elif ours is not None and RECORDED[name] is not None:
            words = complaint(RECORDED[name], surface.arguments(ours))
            if (words is not None) != (name in DIFFERENT_ARGUMENTS):
                wrong.append(f"{name} {words or 'agrees by now: take it off DIFFERENT_ARGUMENTS'}")
    assert wrong == []


def test_reasons_are_needed():
    assert [p for p in LEFT_OUT if not any(reason(n) == p for n in RECORDED)] == []
    assert set(DIFFERENT_ARGUMENTS) <= set(RECORDED)
    assert all(isinstance(words, str) and words for words in [*LEFT_OUT.values(), *DIFFERENT_ARGUMENTS.values()])


@pytest.mark.parametrize("theirs, ours, words", [
    (["x", "name"], ["x", "name"], None),
    (["x", "axis", "name"], ["x", "name", "axis"], "another place"),
    (["x", "axis"], ["x"], "lacks axis"),
    (["x", "axis"], ["x", "**kwargs"], None),
    (["x", "layout", "name"], ["x", "name"], None),
])
def test_the_comparison_notices(theirs, ours, words):
    found = complaint(theirs, ours)
    assert found is None if words is None else words in found
