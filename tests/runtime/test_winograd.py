"""Convolutions by Winograd's method: NumPy's and compiled ones are the definition, for all sizes and on all processors."""


import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.ops import convolve
from regrad.ops.window import conv_windows
from regrad.runtime import backend, foreign, native, onednn, winograd
from tests import c_library

needs_library = pytest.mark.skipif(not native.available(winograd.TARGET), reason="there was no C compiler")
RNG = np.random.RandomState(0)

# shape of the input, side of the filter, channels made, padding, stride if it is not 1
CASES = {
    "tiles with rests, few of them": ((2, 23, 18, 33), 3, 70, "SAME"),
    "no padding": ((3, 13, 10, 48), 3, 32, "VALID"),
    "padding of its own": ((2, 20, 21, 32), 3, 35, [(2, 0), (1, 3)]),
    "more padding than the filter is wide": ((1, 17, 12, 32), 3, 64, [(4, 5), (0, 3)]),
    "many tiles, few columns": ((16, 24, 24, 32), 3, 32, "SAME"),
    "more tiles than are summed up at a time": ((9, 40, 40, 130), 3, 16, "SAME"),
    "a deep filter": ((2, 9, 8, 200), 3, 260, "SAME"),
    "2x2": ((4, 21, 20, 32), 2, 32, "SAME"),
    "4x4": ((4, 21, 20, 32), 4, 40, "VALID"),
    "5x5": ((6, 14, 14, 32), 5, 48, "SAME"),
    "by two places": ((3, 17, 14, 20), 3, 33, "SAME", 2),
    "by two places, few columns": ((9, 16, 16, 32), 4, 32, "SAME", 2),
    "by two places, padding of its own": ((2, 15, 19, 40), 5, 64, [(2, 1), (0, 3)], 2),
    "by three places": ((2, 16, 17, 70), 5, 64, [(0, 0), (3, 1)], 3),
    "by four places, a rest": ((2, 33, 31, 5), 11, 16, "VALID", 4),
}


def _data(shape, side, channels, padding, stride=1):
    explicit = () if isinstance(padding, str) else (0, 0, *padding[0], *padding[1], 0, 0)
    windows = conv_windows(shape, (side, side), "NHWC", (1, stride, stride, 1), (1,) * 4,
                           padding if isinstance(padding, str) else "EXPLICIT", explicit)
    shapes = (shape, (side, side, shape[-1], channels), (shape[0], *(w.out for w in windows), channels))
    return windows, *(RNG.randn(*s).astype(np.float32) for s in shapes)


def _three(b, x, w, dy, windows):
    return (convolve.forward(b, x, w, windows), convolve.by_input(b, x.shape, w, dy, windows),
            convolve.by_filter(b, x, w.shape, dy, windows))


@pytest.fixture
def always(monkeypatch):
    """It computes all convolutions of float32, also where others are faster."""
    monkeypatch.setattr(winograd, "serves", lambda b, kind, x_shape, w_shape, dtype, windows:
                        dtype == np.float32 and (b.is_host or native.serves(winograd.TARGET)))


def _is_the_definition(case, results, limit=2e-6):
    windows, *arrays = case
    exact = _three(HOST, *(a.astype(np.float64) for a in arrays), windows)
    for what, got, expected in zip(("forward", "by input", "by filter"), results, exact):
        assert got.dtype == np.float32
        error = np.sqrt(np.mean((got - expected) ** 2) / np.mean(expected**2))
        assert error < limit and np.abs(got - expected).max() < 3 * limit * np.abs(expected).max(), what


@needs_library
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_definition_on_the_host_and_compiled(name, always):
    windows, x, w, dy = case = _data(*CASES[name])
    _is_the_definition(case, _three(HOST, x, w, dy, windows))
    compiled = backend.compile_function(lambda x, w, dy: _three(backend.XLA, x, w, dy, windows),
                                        [(a.shape, a.dtype) for a in (x, w, dy)], ())
    _is_the_definition(case, compiled(x, w, dy))


@c_library.needs_compiler
@pytest.mark.parametrize("processor", [p for p in c_library.PROCESSORS if p != "this processor's"])
def test_it_is_the_definition_on_other_processors(processor, tmp_path, always, monkeypatch):
    flags = *c_library.PROCESSORS[processor], "-O1"
    built = c_library.built(tmp_path, *flags, names=("winograd", "products", "sharing"))
    monkeypatch.setattr(native, "library", lambda: built)
    for name in ("tiles with rests, few of them", "2x2", "4x4", "5x5", "by two places"):
        windows, x, w, dy = case = _data(*CASES[name])
        _is_the_definition(case, _three(HOST, x, w, dy, windows))


@needs_library
def test_what_it_serves(monkeypatch):
    def serves(shape, kernel, padding="SAME", dtype=np.float32, stride=1, dilation=1, kind=onednn.FORWARD):
        windows = conv_windows(shape, kernel[:2], "NHWC", (1, stride, stride, 1), (1, dilation, dilation, 1), padding)
        return winograd.serves(HOST, kind, shape, kernel, dtype, windows)

    assert serves((16, 64, 64, 64), (3, 3, 64, 64)) and serves((16, 4, 4, 512), (3, 3, 512, 512))
    assert serves((64, 14, 14, 32), (5, 5, 32, 48))
    assert not serves((16, 64, 64, 64), (3, 3, 64, 64), dtype=np.float64)
    assert not serves((16, 64, 64, 64), (3, 3, 64, 64), stride=2)  # the phases have 16 places for 9
    assert serves((64, 16, 16, 128), (5, 5, 128, 256), stride=2)
    assert not serves((64, 16, 16, 128), (5, 5, 128, 256), stride=2, kind=onednn.BY_INPUT)  # 9 results a phase, tiles of 4
    assert not serves((64, 16, 16, 128), (5, 5, 128, 256), stride=3) and not serves((64, 16, 16, 8), (5, 5, 8, 256), stride=2)
    assert not serves((16, 64, 64, 64), (3, 3, 64, 64), dilation=2)
    assert not serves((16, 64, 64, 64), (3, 3, 32, 64))  # groups
    assert not serves((16, 64, 64, 64), (3, 5, 64, 64)) and not serves((16, 64, 64, 64), (7, 7, 64, 64))
    assert not serves((64, 28, 28, 1), (5, 5, 1, 32))  # the transforms take longer
    assert not serves((64, 32, 32, 3), (3, 3, 3, 64))
    assert not serves((1, 8, 8, 16), (3, 3, 16, 16))  # not worth a call
    assert not serves((64, 5, 5, 64), (3, 3, 64, 64))  # four tiles of 16 results for 25
    monkeypatch.setattr(tf.config, "native", False)
    assert not serves((16, 64, 64, 64), (3, 3, 64, 64))


@needs_library
def test_results_do_not_depend_on_the_number_of_threads(always, monkeypatch):
    windows, x, w, dy = _data(*CASES["many tiles, few columns"])
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(tf.config, "threads", threads)
        results.append(_three(HOST, x, w, dy, windows))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


@needs_library
def test_what_is_not_finite_stays_in_its_tiles(always):
    windows, x, w, _ = _data((1, 24, 24, 32), 3, 32, "SAME")
    x[0, 9, 9, 0] = np.inf
    got, exact = (f(HOST, x, w, windows) for f in (convolve.forward, convolve._forward_by_taps))
    assert not np.isfinite(got[0, 8:11, 8:11]).any()
    far = np.ones((24, 24), bool)
    far[4:16, 4:16] = False
    np.testing.assert_allclose(got[0, far], exact[0, far], atol=1e-4)


@needs_library
def test_second_derivatives_of_a_program(monkeypatch):
    monkeypatch.setattr(tf.config, "cache_dir", None)
    results, windows = [], conv_windows((4, 16, 16, 32), (3, 3), "NHWC", (1,) * 4, (1,) * 4, "SAME")
    for settings in ({"host_runs": 9}, {"host_runs": 0}, {"host_runs": 0, "native": False, "onednn": False}):
        for name, value in settings.items():
            monkeypatch.setattr(tf.config, name, value)
        with tf.Graph().as_default():
            shapes = (4, 16, 16, 32), (3, 3, 32, 32)
            assert winograd.serves(HOST, onednn.FORWARD, *shapes, np.float32, windows) == tf.config.native
            x = tf.constant(np.linspace(0, 1, 4 * 16 * 16 * 32, dtype=np.float32).reshape(4, 16, 16, 32))
            w = tf.constant(np.linspace(-0.1, 0.1, 3 * 3 * 32 * 32, dtype=np.float32).reshape(3, 3, 32, 32))
            y = tf.reduce_sum(tf.square(tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))))
            gradients = tf.gradients(y, [x, w])
            second = tf.gradients(tf.reduce_sum(tf.square(gradients[0])), w)[0]
            results.append(tf.Session().run([y, *gradients, second]))
    for other in results[:2]:
        for got, expected in zip(other, results[2]):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@needs_library
def test_without_memory_it_says_so(monkeypatch):
    windows, x, w, _ = _data(*CASES["no padding"])
    monkeypatch.setattr(native, "function", lambda name: lambda *args: 1)
    with pytest.raises(MemoryError, match="not enough memory for a convolution"):
        winograd.convolution(HOST, onednn.FORWARD, x, w, (3, 11, 8, 32), windows)


@needs_library
def test_where_xla_has_no_such_interface_others_compute(monkeypatch):
    windows, x, w, _ = _data((8, 16, 16, 64), 3, 64, "SAME")
    monkeypatch.setattr(foreign, "register", lambda target: None)
    assert winograd.serves(HOST, onednn.FORWARD, x.shape, w.shape, x.dtype, windows)
    assert not winograd.serves(backend.XLA, onednn.FORWARD, x.shape, w.shape, x.dtype, windows)
