"""The forms of a convolution agree with each other: sums over taps, Winograd's, and XLA's own."""

import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.ops import convolve, winograd
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


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize(("height", "width"), [(7, 9), (16, 5), (20, 19)])
@pytest.mark.parametrize("padding", [SAME, VALID, [(2, 1), (0, 2)]])
def test_winograd(m, height, width, padding):
    from regrad.runtime.backend import XLA

    windows, x, w, dy = _data((2, height, width, 3), (3, 3, 3, 4), padding)
    margins = [(v.lo, v.hi) for v in windows]
    got = _xla(lambda x, w, dy: (winograd.forward(XLA, x, w, m, margins),
                                 winograd.by_input(XLA, w, dy, m, margins, x.shape[1:3]),
                                 winograd.by_filter(XLA, x, dy, m, margins)), x, w, dy)
    _close(got, _reference(x, w, dy, windows), 1e-5)


def test_winograds_rounding_errors_stay_near_those_of_the_definition():
    from regrad.runtime.backend import XLA

    windows, x, w, dy = _data((1, 24, 24, 128), (3, 3, 128, 64), SAME)
    exact = convolve.forward(HOST, x.astype(np.float64), w.astype(np.float64), windows)
    for m, limit in ((2, 1e-6), (4, 3e-6)):
        (got,) = _xla(lambda x, w, m=m: [winograd.forward(XLA, x, w, m, [(1, 1), (1, 1)])], x, w)
        assert np.sqrt(np.mean((got - exact) ** 2)) < limit * np.sqrt(np.mean(exact**2))


def test_winograd_serves_large_layers_only():
    for by_onednn, of_64_channels in ((False, 4), (True, 0)):
        assert winograd.size(16, 64, 64, 64, 64, by_onednn) == of_64_channels
        assert winograd.size(16, 8, 8, 512, 512, by_onednn) == 4
        assert winograd.size(64, 14, 14, 1, 32, by_onednn) == 0
        assert winograd.size(16, 64, 64, 31, 64, by_onednn) == 0


@pytest.mark.parametrize(("shape", "kernel", "padding", "more"), [
    ((16, 32, 32, 64), (3, 3, 64, 128), SAME, {}),  # Winograd in all three
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
    windows, x, w, dy = _data(shape, kernel, padding, **more)
    _close(_xla(lambda x, w, dy: _three(XLA, x, w, dy, windows), x, w, dy), _reference(x, w, dy, windows), 2e-5)
