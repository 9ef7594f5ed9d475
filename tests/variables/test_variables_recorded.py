"""Variables, scopes, initializers and random numbers are what real TensorFlow recorded, op for op and number for number."""
import re

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import config
from tests.recorded import expected, graph_lines, refusal
from tests.variables import recorded

EXPECTED = expected("variables")


@pytest.mark.parametrize("build", recorded.GRAPHS, ids=lambda f: f.__name__)
def test_graph(build, fresh_graph):
    build(tf)

    assert graph_lines(fresh_graph) == EXPECTED[f"graph_{build.__name__}"]


@pytest.mark.parametrize("name", recorded.REFUSALS)
def test_refusal(name):
    ours, theirs = refusal(lambda: recorded.REFUSALS[name](tf)), EXPECTED[f"refusal_{name}"]

    # The same type, and TensorFlow's sentence first; what to do about it may follow.
    assert ours[0].startswith(re.sub(r"[ .:]*$", "", theirs[0].replace("float32_ref", "float32")))


@pytest.fixture(params=["host", "compiled"])
def backend(request, monkeypatch):
    """Everything is executed by NumPy, or everything compiled."""
    for name in ("host_runs", "tiny_ops"):
        monkeypatch.setattr(config, name, 10**9 if request.param == "host" else 0)
    return request.param


@pytest.mark.parametrize("name", recorded.RANDOM)
def test_random_numbers(name, backend):
    ours, theirs = recorded.run_random(tf, recorded.RANDOM[name]), EXPECTED[f"random_{name}"]

    assert ours.dtype == theirs.dtype
    if ours.dtype.kind in "iu" or "uniform" in name:
        np.testing.assert_array_equal(ours, theirs)
    else:
        ulps = {2: 2e-3, 4: 7e-7, 8: 2e-15}[ours.itemsize]
        # Logarithms, sines and roots are those of another library.
        np.testing.assert_allclose(ours, theirs, rtol=ulps, atol=ulps)


def test_seed_rule():
    np.testing.assert_array_equal(recorded.seeds(tf), EXPECTED["seeds"])
