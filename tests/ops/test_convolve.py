"""The forms of a convolution agree with each other: sums over taps and XLA's own."""

import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.ops import convolve
from regrad.ops.window import conv_windows

RNG = np.random.RandomState(0)
SAME, VALID = "SAME", "VALID"


def _windows(shape, kernel, padding, stride=1, dilation=1):
    explicit = () if isinstance(padding, str) else (0, 0, *padding[0], *padding[1], 0, 0)
    name = padding if isinstance(padding, str) else "EXPLICIT"
    return conv_windows(shape, kernel, "NHWC", (1, stride, stride, 1), (1, dilation, dilation, 1), name, explicit)


def _data(shape, kernel, padding, **more):
    windows = _windows(shape, kernel[:2], padding, **more)
    dy = (shape[0], windows[0].out, windows[1].out, kernel[3])
    return windows, *(RNG.randn(*s).astype(np.float32) for s in (shape, kernel, dy))


def _three(b, x, w, dy, windows):
    return (convolve.forward(b, x, w, windows), convolve.by_input(b, x.shape, w, dy, windows),
            convolve.by_filter(b, x, w.shape, dy, windows))


def _reference(x, w, dy, windows):
    """The definition, in float64 on the host."""
    return _three(HOST, *(a.astype(np.float64) for a in (x, w, dy)), windows)


def _xla(function, *arrays):
    import jax

    return [np.asarray(y) for y in jax.jit(function)(*arrays)]


def _close(actual, expected, rtol):
    for what, a, e in zip(("forward", "by input", "by filter"), actual, expected):
        assert a.shape == e.shape and a.dtype == np.float32
        np.testing.assert_allclose(a, e, atol=rtol * np.abs(e).max(), rtol=0, err_msg=what)


@pytest.mark.parametrize(("shape", "kernel", "padding", "more"), [
    ((8, 16, 16, 64), (3, 3, 64, 32), SAME, {}),
    ((3, 24, 25, 6), (3, 3, 6, 5), SAME, {"stride": 2}),
    ((3, 24, 25, 6), (5, 2, 6, 5), VALID, {"dilation": 2}),
    ((3, 24, 25, 6), (3, 3, 3, 4), SAME, {}),  # groups
    ((2, 6, 6, 40), (3, 3, 40, 33), SAME, {}),  # by its input as sums over taps
    ((2, 30, 30, 1), (5, 5, 1, 3), SAME, {}),  # one channel
    ((2, 9, 8, 7), (1, 1, 7, 5), SAME, {"stride": 2}),  # one place
])
def test_the_form_that_xla_runs_is_the_definition(monkeypatch, shape, kernel, padding, more):
    from regrad.runtime.backend import XLA

    monkeypatch.setattr(tf.config, "onednn", False)
    monkeypatch.setattr(tf.config, "native", False)
    windows, x, w, dy = _data(shape, kernel, padding, **more)
    _close(_xla(lambda x, w, dy: _three(XLA, x, w, dy, windows), x, w, dy), _reference(x, w, dy, windows), 2e-5)
