"""Convolutions by oneDNN: NumPy's and compiled ones are the definition, wherever its library is and where it is not."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import regrad as tf
from regrad.core.host import HOST
from regrad.ops import convolve
from regrad.ops.window import FORMATS, conv_windows
from regrad.runtime import backend, foreign, native, onednn, segment, winograd

needs_library = pytest.mark.skipif(onednn._library() is None, reason="this platform has no wheel of oneDNN")
RNG = np.random.RandomState(0)

# shape of the input, window, channels made, stride, dilation, padding
CASES = {
    "5x5, same, on all threads": ((16, 14, 14, 20), (5, 5), 24, 1, 1, "SAME"),
    "strides and odd sizes": ((19, 23, 18, 17), (3, 4), 19, 2, 1, "SAME"),
    "dilated": ((9, 23, 18, 17), (3, 2), 19, 1, 2, "VALID"),
    "padding of its own": ((9, 20, 21, 17), (3, 3), 19, 1, 1, [(2, 0), (1, 3)]),
    "strides leave a rest": ((19, 24, 24, 16), (3, 3), 32, 3, 1, "VALID"),
    "image of three channels": ((8, 32, 32, 3), (3, 3), 24, 1, 1, "SAME"),
    "one place": ((16, 16, 16, 24), (1, 1), 48, 1, 1, "SAME"),
    "3-D": ((2, 8, 9, 10, 12), (3, 3, 3), 16, 1, 1, "SAME"),
    "1-D": ((32, 300, 16), (5,), 32, 1, 1, "SAME"),
    "4 groups of channels": ((5, 17, 16, 32), (3, 3), 24, 2, 1, "SAME"),
    "depthwise": ((5, 17, 16, 33), (3, 5), 33, 1, 1, "SAME"),
    "two filters for each channel": ((20, 17, 16, 33), (3, 3), 66, 2, 1, [(1, 1), (0, 2)]),
    "depthwise and dilated": ((15, 17, 16, 33), (3, 3), 33, 1, 2, "VALID"),
}
GROUPS = {"4 groups of channels": 4, "depthwise": 33, "two filters for each channel": 33, "depthwise and dilated": 33}


def _data(shape, window, channels, stride, dilation, padding, groups=1):
    spatial = len(window)
    explicit = () if isinstance(padding, str) else (0, 0, *(v for pair in padding for v in pair), 0, 0)
    windows = conv_windows(shape, window, FORMATS[spatial][0], (1, *[stride] * spatial, 1), (1, *[dilation] * spatial, 1),
                           padding if isinstance(padding, str) else "EXPLICIT", explicit)
    arrays = (shape, (*window, shape[-1] // groups, channels), (shape[0], *(w.out for w in windows), channels))
    return windows, *(RNG.randn(*a).astype(np.float32) for a in arrays)


def _three(b, x, w, dy, windows):
    if w.shape[-2] == 1 < x.shape[-1]:
        w = w.reshape(*w.shape[:-2], x.shape[-1], -1)
        return (convolve.depthwise(b, x, w, windows), convolve.depthwise_by_input(b, x.shape, w, dy, windows),
                convolve.depthwise_by_filter(b, x, w.shape, dy, windows))
    return (convolve.forward(b, x, w, windows), convolve.by_input(b, x.shape, w, dy, windows),
            convolve.by_filter(b, x, w.shape, dy, windows))


@pytest.fixture(autouse=True)
def no_winograd(monkeypatch):
    """What Winograd's method would do is left to oneDNN."""
    monkeypatch.setattr(winograd, "serves", lambda *args: False)


@pytest.fixture
def by_python(monkeypatch):
    """Compiled programs call it through Python, as where there is no C compiler."""
    monkeypatch.setattr(tf.config, "native", False)
    segment.clear_cache()
    yield
    segment.clear_cache()


@needs_library
@pytest.mark.parametrize("case, by_c", [*((case, True) for case in CASES), ("5x5, same, on all threads", False),
                                        ("3-D", False), ("depthwise", False)])
def test_it_is_the_definition_on_the_host_and_compiled(case, by_c, monkeypatch):
    monkeypatch.setattr(tf.config, "native", by_c)
    windows, x, w, dy = _data(*CASES[case], GROUPS.get(case, 1))
    assert onednn.serves(HOST, onednn.FORWARD, x.shape, w.shape, x.dtype, windows)
    exact = _three(HOST, *(a.astype(np.float64) for a in (x, w, dy)), windows)
    compiled = backend.compile_function(lambda x, w, dy: _three(backend.XLA, x, w, dy, windows),
                                        [(a.shape, a.dtype) for a in (x, w, dy)], ())
    for results in (_three(HOST, x, w, dy, windows), compiled(x, w, dy)):
        for what, got, expected in zip(("forward", "by input", "by filter"), results, exact):
            assert got.dtype == np.float32
            np.testing.assert_allclose(got, expected, rtol=0, atol=3e-6 * np.abs(expected).max(), err_msg=what)


def test_what_it_does_not_serve():
    windows, x, w, dy = _data(*CASES["5x5, same, on all threads"])
    library = onednn._library() is not None
    assert onednn.serves(HOST, onednn.FORWARD, x.shape, w.shape, np.float32, windows) == library
    assert not onednn.serves(HOST, onednn.FORWARD, x.shape, w.shape, np.float64, windows)
    assert not onednn.serves(HOST, onednn.FORWARD, x.shape, (1, 1, 20, 2), np.float32, windows)  # too small to be worth a call


@needs_library
@pytest.mark.parametrize("batch, threads", [(16, 0), (8, 1)])
def test_small_ones_take_one_thread_and_leave_the_others_theirs(batch, threads, monkeypatch):
    shape, *rest = CASES["5x5, same, on all threads"]
    windows, x, w, dy = _data((batch, *shape[1:]), *rest)
    openmp, keys, execute = onednn._library().openmp, [], onednn.execute
    monkeypatch.setattr(onednn, "execute", lambda key, addresses: (keys.append(key), execute(key, addresses)))
    onednn.convolution(HOST, onednn.FORWARD, x, w, dy.shape, windows)
    assert keys[0].decode().startswith(f"forward 2 {threads} ")
    assert openmp.omp_get_max_threads() == (threads or onednn._library().threads)


NET = """
import numpy as np
import regrad as tf

tf.config.host_runs = 0
x = tf.placeholder(tf.float32, [None, 16, 16, 16])
w = tf.Variable(np.linspace(-0.1, 0.1, 3 * 3 * 16 * 24, dtype=np.float32).reshape(3, 3, 16, 24))
y = tf.reduce_sum(tf.square(tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))))
gradients = tf.gradients(y, [x, w])
second = tf.gradients(tf.reduce_sum(tf.square(gradients[0])), w)[0]
session = tf.Session()
session.run(w.initializer)
feed = {x: np.linspace(0, 1, 8 * 16 * 16 * 16, dtype=np.float32).reshape(8, 16, 16, 16)}
"""


def _net():
    names = {}
    with tf.Graph().as_default():
        exec(NET, names)
    return names


def test_gradients_of_first_and_second_order_with_it_and_without(monkeypatch):
    results = []
    monkeypatch.setattr(tf.config, "cache_dir", None)
    for settings in ({"onednn": True, "host_runs": 0}, {"onednn": True, "host_runs": 3}, {"onednn": False, "host_runs": 0}):
        segment.clear_cache()
        for name, value in settings.items():
            monkeypatch.setattr(tf.config, name, value)
        net = _net()
        tf.config.host_runs = settings["host_runs"]
        results.append(net["session"].run([net["y"], *net["gradients"], net["second"]], net["feed"]))
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5 * np.abs(b).max())


@needs_library
def test_threads_that_run_one_session_get_what_one_gets(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    net = _net()
    expected = net["session"].run(net["gradients"], net["feed"])
    got = [None] * 4

    def work(i):
        got[i] = net["session"].run(net["gradients"], net["feed"])

    threads = [threading.Thread(target=work, args=[i]) for i in range(len(got))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for result in got:
        for a, b in zip(result, expected):
            np.testing.assert_array_equal(a, b)


@needs_library
def test_a_second_process_takes_programs_that_call_it_from_the_disk(tmp_path):
    code = NET + """
from regrad.runtime import segment
print(session.run(y, feed), segment.compile_count)
"""
    lines = []
    for switch in ("", "", "tf.config.onednn = False"):  # the last has another program
        done = subprocess.run([sys.executable, "-c", code.replace("host_runs = 0", f"host_runs = 0; {switch}")],
                              env={**os.environ, "REGRAD_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True)
        lines.append(done.stdout.split())
    assert lines[0][0] == lines[1][0]
    assert int(lines[0][1]) > int(lines[1][1]) == 0 < int(lines[2][1])


@needs_library
def test_an_interrupt_while_python_calls_it_stops_the_run(by_python, interruptible, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    net = _net()
    expected = net["session"].run(net["y"], net["feed"])
    execute, stop = onednn._Convolution.execute, [True]

    def interrupted(self, addresses):
        if stop:
            stop.pop()
            signal.raise_signal(signal.SIGINT)
        execute(self, addresses)

    monkeypatch.setattr(onednn._Convolution, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        net["session"].run(net["y"], net["feed"])
    assert net["session"].run(net["y"], net["feed"]) == expected


@needs_library
def test_what_fails_inside_is_an_error_of_the_run(by_python, monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    net = _net()
    net["session"].run(net["y"], net["feed"])
    monkeypatch.setattr(onednn, "_library", lambda: None)
    with pytest.raises(Exception, match="compiled with oneDNN, which is not installed any more"):
        net["session"].run(net["y"], net["feed"])


@needs_library
@pytest.mark.skipif(not native.available(onednn.NATIVE), reason="there was no C compiler when Regrad was installed")
def test_what_cannot_be_prepared_is_an_error_of_the_run_and_is_tried_again(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)

    def fails(*args):
        raise MemoryError

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [7, 13, 14, 15])  # a shape of its own: what was prepared once is not prepared again
        y = tf.reduce_sum(tf.nn.conv2d(x, tf.ones([3, 3, 15, 16]), 1, "SAME"))
        with monkeypatch.context() as m:
            m.setattr(onednn._Convolution, "__init__", fails)
            with pytest.raises(Exception, match="a convolution could not be prepared"):
                session.run(y, {x: np.ones(x.shape)})
        assert session.run(y, {x: np.ones(x.shape)}) == np.float32(7 * 16 * 15 * (13 * 3 - 2) * (14 * 3 - 2))


def test_without_the_library_xla_computes(monkeypatch):
    monkeypatch.setattr(onednn, "_library", lambda: None)
    windows, x, w, dy = _data(*CASES["5x5, same, on all threads"])
    assert not onednn.serves(HOST, onednn.FORWARD, x.shape, w.shape, np.float32, windows)


@needs_library
def test_where_xla_has_no_such_interface_only_numpy_calls_it(monkeypatch):
    monkeypatch.setattr(foreign, "register", lambda target: None)
    windows, x, w, dy = _data(*CASES["5x5, same, on all threads"])
    assert onednn.serves(HOST, onednn.FORWARD, x.shape, w.shape, np.float32, windows)
    assert not onednn.serves(backend.XLA, onednn.FORWARD, x.shape, w.shape, np.float32, windows)
