"""Training does what real TensorFlow recorded: trajectories, names of operations and slots, learning rates, averages."""
import re

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import config
from tests.recorded import expected, refusal
from tests.train import recorded

EXPECTED = expected("train")
TRAJECTORIES = [k.removeprefix("values_").rpartition("_")[::2] for k in EXPECTED if k.startswith("values_")]


@pytest.mark.parametrize("compiled", [False, True], ids=["host", "compiled"])
@pytest.mark.parametrize("name, dtype", TRAJECTORIES)
def test_trajectory(name, dtype, compiled, monkeypatch):
    for setting in ("host_runs", "tiny_ops"):
        monkeypatch.setattr(config, setting, 0 if compiled else 10**9)
    _, names, values = recorded.train(tf, recorded.OPTIMIZERS[name], dtype, sparse=True)

    assert names == EXPECTED[f"names_{name}"]
    rtol = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(values, EXPECTED[f"values_{name}_{dtype}"], rtol=5 * rtol, atol=rtol)


@pytest.mark.parametrize("name", recorded.SAME_NAMES)
def test_operations(name):
    lines = recorded.train(tf, recorded.OPTIMIZERS[name], "float32", sparse=False)[0]

    assert lines == EXPECTED[f"graph_{name}"]


@pytest.mark.parametrize("name", recorded.RATES)
def test_learning_rate(name):
    ours, theirs = recorded.rate(tf, recorded.RATES[name]), EXPECTED[f"rate_{name}"]

    assert ours.dtype == theirs.dtype
    # TensorFlow multiplies by the reciprocal of a constant: the difference that restarts leave of a step shows the rounding.
    np.testing.assert_allclose(ours, theirs, rtol=1e-6 if "restarts" in name else 3e-7)


@pytest.mark.parametrize("name", recorded.AVERAGES)
def test_moving_averages(name):
    names, values = recorded.averages(tf, **recorded.AVERAGES[name])

    assert names == EXPECTED[f"average_names_{name}"]
    np.testing.assert_allclose(values, EXPECTED[f"averages_{name}"], rtol=3e-7)


@pytest.mark.parametrize("name", recorded.REFUSALS)
def test_refusal(name):
    ours, theirs = refusal(lambda: recorded.REFUSALS[name](tf)), EXPECTED[f"refusal_{name}"]

    # The same type, and TensorFlow's sentence first; what to do about it may follow.
    assert ours[0].startswith(re.sub(r"([ .:]|expected: .*)*$", "", theirs[0].replace("_ref", "")))
