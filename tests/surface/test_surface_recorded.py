"""What the names beyond single ops give is what TensorFlow gave."""
import functools

import numpy as np
import pytest

import regrad as tf
from tests.recorded import expected
from tests.surface import recorded

EXPECTED = expected("surface")


@functools.cache
def _answers():
    return {name: [EXPECTED[f"{name}/{i}"] for i in range(sum(k.rpartition("/")[0] == name for k in EXPECTED))]
            for name in recorded.PROGRAMS}


@pytest.mark.parametrize("name", recorded.PROGRAMS)
def test_as_tensorflow(name):
    with tf.Graph().as_default():
        ours = recorded.flat(recorded.PROGRAMS[name](tf))
    theirs = _answers()[name]

    assert len(ours) == len(theirs) > 0
    tolerance = recorded.TOLERANCE.get(name, {"rtol": 2e-6, "atol": 1e-7})
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert (a.dtype.kind, a.shape) == (b.dtype.kind, b.shape), f"value {i}"
        assert a.dtype == b.dtype or a.dtype.kind in "SU", f"value {i}"
        if a.dtype.kind == "S" or a.dtype.kind in "iub" and "atol" not in recorded.TOLERANCE.get(name, {}):
            np.testing.assert_array_equal(a, b, f"value {i}")
        else:
            np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), **tolerance, err_msg=f"value {i}")


def test_every_program_was_recorded():
    assert {k.rpartition("/")[0] for k in EXPECTED} == set(recorded.PROGRAMS)
