"""Equal segments in a row run as one loop, and give what one segment gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regrad as tf
from regrad.runtime.rolling import Rolled
from regrad.runtime.segment import clear_cache

STEPS = 80


def chain(x, w):
    """One value carried, one shared; every link fetched as well."""
    links = [x]
    for _ in range(STEPS):
        links.append(tf.tanh(links[-1] * w) + 0.1 * x)
    loss = tf.reduce_sum(tf.square(links[-1]))
    return [loss, *tf.gradients(loss, [x, w]), links[17], links[18], links[30]]


def second_order(x, w):
    h = x
    for _ in range(STEPS):
        h = tf.sin(h * w)
    first = tf.gradients(h, x)[0]
    return [first, *tf.gradients(tf.square(first), [x, w])]


def layers(x, w):
    """A value of its own for each turn, from outside."""
    pieces = tf.unstack(tf.reshape(tf.tile(w, [STEPS]), [STEPS, -1]) * tf.reshape(tf.linspace(tf.cast(.5, w.dtype), 1., STEPS),
                                                                                 [STEPS, 1]))
    h = x
    for piece in pieces:
        h = tf.nn.softplus(h * piece) - 0.3
    return [h, *tf.gradients(h, [x, w])]


def two_back(x, w):
    """What is read two steps later makes no loop by itself, unless the turn before hands it on."""
    a, b = x, w
    for _ in range(STEPS):
        a, b = b, tf.sin(a) + b * 0.5
    return [b, *tf.gradients(b, [x, w])]


def run(build, dtype, **settings_):
    """Returns the results of three runs, and how many loops the program has."""
    before = {name: getattr(tf.config, name) for name in settings_}
    try:
        for name, value in settings_.items():
            setattr(tf.config, name, value)
        clear_cache()
        with tf.Graph().as_default(), tf.Session() as session:
            x, w = (tf.placeholder(dtype, [3], name) for name in "xw")
            fetches = build(x, w)
            feed = {x: np.array([.3, -.2, .9], dtype), w: np.array([1.1, .8, -1.02], dtype)}
            results = [session.run(fetches, feed) for _ in range(3)]
            programs = {p for runner in session._runners.values() for p in runner.programs.values()}
        loops = [s for p in programs for s in p.root.segments if isinstance(s, Rolled)]
        assert all("the largest result is" in str(loop._exhausted("Out of memory.")) for loop in loops)
        return results, len(loops)
    finally:
        for name, value in before.items():
            setattr(tf.config, name, value)
        clear_cache()


# Where host_cost is 0, all count as large.
@pytest.mark.parametrize("host", [{"host_runs": 0}, {"host_runs": 1}, {"host_cost": 0}], ids=str)
@pytest.mark.parametrize("build", [chain, second_order, layers, two_back], ids=lambda f: f.__name__)
def test_a_loop_gives_what_one_segment_gives(build, host):
    (whole, *_), none = run(build, np.float64, host_runs=9)
    rolled, loops = run(build, np.float64, whole_ops=30, segment_ops=24, longest_ops=0, **host)
    assert none == 0 and loops >= 2
    for results in rolled:
        for got, want in zip(results, whole):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


_UNARY = {"tanh": tf.tanh, "sin": tf.sin, "square": lambda v: tf.square(v) * 0.3, "neg": tf.negative}
_BINARY = {"add": tf.add, "mul": tf.multiply, "sub": tf.subtract}
_LINK = st.lists(st.one_of(st.sampled_from(sorted(_UNARY)), st.tuples(st.sampled_from(sorted(_BINARY)),
                                                                        st.sampled_from(["x", "w", "last", "before"]))),
                 min_size=1, max_size=4)


@settings(max_examples=5, deadline=None)
@given(link=_LINK, size=st.integers(10, 24))
def test_whatever_repeats_gives_what_one_segment_gives(link, size):
    def build(x, w):
        values = [x, w]
        for _ in range(24):
            h = values[-1]
            for step in link:
                if isinstance(step, str):
                    h = _UNARY[step](h)
                else:
                    h = _BINARY[step[0]](h, {"x": x, "w": w, "last": values[-1], "before": values[-2]}[step[1]])
            values.append(tf.tanh(h) * 0.9)
        return [values[-1], values[9], *tf.gradients(values[-1] + values[5], [x, w], unconnected_gradients="zero")]

    (whole, *_), _ = run(build, np.float64, host_runs=9)
    rolled, _ = run(build, np.float64, host_runs=0, whole_ops=size, segment_ops=size, longest_ops=0)
    for got, want in zip(rolled[0], whole):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_loops_behind_a_size_that_data_decide(monkeypatch):
    monkeypatch.setattr(tf.config, "whole_ops", 30)
    monkeypatch.setattr(tf.config, "longest_ops", 0)
    monkeypatch.setattr(tf.config, "segment_ops", 24)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [4])
        h = tf.boolean_mask(x, x > 0.0)
        for _ in range(STEPS):
            h = tf.sin(h * 1.1) + 0.1
        for row in ([1, 2, -3, 4], [1, -2, -3, -4], [2, 3, -4, 5]):
            want = np.float64([a for a in row if a > 0])
            for _ in range(STEPS):
                want = np.sin(want * 1.1) + 0.1
            np.testing.assert_allclose(session.run(h, {x: row}), want, rtol=1e-12)
