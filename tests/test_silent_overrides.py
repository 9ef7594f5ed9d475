"""Where TensorFlow loses an override without a word, Regrad applies it or complains; never a third thing."""
import pathlib
import sys

import numpy as np
import pytest

import regrad as tf

sys.path.insert(0, str(pathlib.Path(__file__).parent / "programs"))
import corpus
from silent_overrides import CASES, outcome, plain

RECORDED = corpus.load_json("silent_overrides.json")


def complaints(case, got):
    """Returns a list of sentences saying what is wrong with the outcome `got` ([] if nothing is)."""
    if "error" in got:
        if case.error is None:
            return [f"raised {got['error'][0]}: {got['message']}"]
        kind, words = case.error
        missing = [word for word in words if word not in got["message"]]
        return ([] if kind in got["error"] else [f"raised {got['error'][0]}, not {kind}"]) + \
            [f"the message lacks {word!r}: {got['message']}" for word in missing]
    told = case.warning and any(all(w in text for w in case.warning) for text in got["warnings"])
    if case.explain:
        missing = [word for word in case.explain if word not in got.get("explanation", "")]
        return [f"the explanation lacks {word!r}" for word in missing]
    if case.value is not None and same(got["value"], case.value):
        return []
    return [] if told else [f"gave {got['value']} without a word"]


def same(a, b):
    return a is not None and np.allclose(np.array(a, float), b, rtol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_applies_or_complains(case):
    got = outcome(case, tf)

    assert complaints(case, got) == []
    if case.explain:
        assert got["value"] == RECORDED[case.name]["value"] == [None]


def test_tensorflow_is_silent_in_most_of_these():
    # The record is what the cases are there for: were it to change, so should the table.
    values = [(c, RECORDED[c.name]) for c in CASES if "value" in RECORDED[c.name] and not c.explain]
    silent = [case.name for case, got in values if complaints(case, got)]

    assert len(silent) >= 11
    assert set(RECORDED) == {case.name for case in CASES}


def test_plain_makes_lists():
    assert plain([np.float32(1.0), (np.arange(2), None)]) == [1.0, [[0, 1], None]]
