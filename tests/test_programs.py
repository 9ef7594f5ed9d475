"""Research programs of TensorFlow 1's time, run unmodified; results frozen from real TensorFlow.

Each program of `programs/research` says `import tensorflow as tf` and leaves named arrays in `RESULTS`; what
TensorFlow answered lies in `programs/expected` (written by `programs/record.py`). A program may say with
TOLERANCE that it computes in float32 somewhere; the tolerance is relative to the largest number of an array.
"""
import pathlib
import sys

import numpy as np
import pytest

import regrad as tf
from regrad.cli import run_module

sys.path.insert(0, str(pathlib.Path(__file__).parent / "programs"))
import corpus

PROGRAMS = {path.stem: path for path in corpus.programs("research")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gives_what_tensorflow_gave(name):
    with tf.Graph().as_default():
        done = run_module(PROGRAMS[name])

    want = dict(np.load(corpus.EXPECTED / f"{name}.npz"))
    got = {key: np.asarray(value) for key, value in done["RESULTS"].items()}
    assert corpus.differences(got, want, done.get("TOLERANCE")) == []


def test_every_program_is_recorded():
    recorded = {path.stem for path in corpus.EXPECTED.glob("*.npz")}

    assert recorded == set(PROGRAMS)
    assert [p.name for p in corpus.EXPECTED.iterdir() if p.stat().st_size > 200_000] == []


@pytest.mark.parametrize("change", [lambda a: a + 1e-3 * np.abs(a).max(), lambda a: a.astype("float32"),
                                    lambda a: a[:-1], lambda a: a.tolist()])
def test_the_comparison_can_fail(change):
    want = dict(np.load(corpus.EXPECTED / "dann.npz"))

    assert corpus.differences(want, want) == []
    assert corpus.differences({**want, "W0": change(want["W0"])}, want) != []
