"""Layers compute what real TensorFlow's do, with its names of variables, updates, losses and mostly operations."""
import re

import numpy as np
import pytest

import regrad as tf
from tests.layers import recorded
from tests.recorded import expected, refusal

EXPECTED = expected("layers")


@pytest.mark.parametrize("unknown_batch", [False, True], ids=["static", "unknown_batch"])
@pytest.mark.parametrize("name", recorded.LAYERS)
def test_values_and_names(name, unknown_batch):
    lines, names, values = recorded.run(tf, name, unknown_batch)

    assert names == EXPECTED[f"unknown_{name}" if unknown_batch else f"names_{name}"]
    if name in recorded.SAME_GRAPH and not unknown_batch:
        assert lines == EXPECTED[f"graph_{name}"]
    theirs = EXPECTED[f"values_{name}"]
    np.testing.assert_allclose(values, theirs, rtol=2e-5, atol=3e-6 * max(1.0, np.abs(theirs).max()))


@pytest.mark.parametrize("name", recorded.REFUSALS)
def test_refusal(name):
    ours, theirs = refusal(lambda: recorded.REFUSALS[name](tf)), EXPECTED[f"refusal_{name}"]

    # The same type, and TensorFlow's sentence first; what to do about it may follow.
    assert ours[0].startswith(re.sub(r"[ .:]*$", "", theirs[0]))
