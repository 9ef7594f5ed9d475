"""Programs written out as one function: they do what the general way does, and fail as it fails."""

import contextvars

import numpy as np
import pytest

import regrad as tf
from regrad.runtime import direct

RUNS = direct.AFTER[0] + 2


def _program(session):
    """Returns the only program that the session holds."""
    (program,) = {id(p): p for r in session._runners.values() for p in r.programs.values()}.values()
    return program


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_later_runs_are_like_the_first(session):
    x = tf.placeholder(tf.float32, [3])
    a, b = tf.split(tf.concat([x, x + 1.0], 0), 2)
    host = tf.py_func(lambda u, v: (u * v, u.sum()), [a, b], [tf.float32, tf.float32])
    host[0].set_shape([3])
    host[1].set_shape([])
    fetches = [tf.tanh(host[0]) + host[1], tf.no_op(), x, tf.constant(2.0)]
    first = session.run(fetches, {x: [1, 2, 3]})
    for _ in range(RUNS):
        again = session.run(fetches, {x: [1, 2, 3]})
        assert [type(r) for r in again] == [type(r) for r in first]
        for one, other in zip(first, again):
            np.testing.assert_array_equal(one, other)
    assert _program(session).direct is not None
    again[2][0] = 7  # the caller's own


def test_variables_are_read_and_assigned(session):
    v = tf.Variable([1.0, 2.0])
    bump = v.assign_add([1.0, 1.0])
    session.run(v.initializer)
    for i in range(RUNS):
        np.testing.assert_array_equal(session.run([v, bump])[1], [2.0 + i, 3.0 + i])
    kept = session.run(v)
    session.run(bump)
    assert kept[0] == 1.0 + RUNS
    session.state.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        session.run([v, bump])


def test_what_needs_no_computing(session):
    """A segment may hand on what it was given, and compute nothing."""
    counter = tf.Variable(0)
    count = tf.count_up_to(counter, 20)
    session.run(counter.initializer)
    assert [session.run(count) for _ in range(RUNS)] == list(range(RUNS))
    session.run(count.op)
    assert [session.run(counter) for _ in range(RUNS)] == [RUNS + 1] * RUNS


def test_an_error_names_its_operation(session):
    def picky(x):
        if x[0] < 0:
            raise LookupError("negative")
        return x

    x = tf.placeholder(tf.float32, [1])
    y = tf.py_func(picky, [x], tf.float32, name="picky")
    y.set_shape([1])
    z = tf.identity(y) * 2.0
    for _ in range(RUNS):
        assert session.run(z, {x: [1.0]}) == 2.0
    assert _program(session).direct is not None
    with pytest.raises(LookupError, match="negative") as caught:
        session.run(z, {x: [-1.0]})
    assert any("'picky'" in note and "test_direct.py" in note for note in caught.value.__notes__)
    assert session.run(z, {x: [1.0]}) == 2.0


def test_a_shape_that_is_not_as_promised_is_refused(session):
    sizes = [2] * direct.AFTER[0]
    y = tf.py_func(lambda: np.zeros(sizes.pop() if sizes else 5, np.float32), [], tf.float32)
    y.set_shape([2])
    for _ in range(direct.AFTER[0]):
        session.run(y)
    assert _program(session).direct is not None
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"gave shape \[5\]"):
        session.run(y)


def test_a_traced_run_still_shows_its_steps(session):
    x = tf.placeholder(tf.float32, [2])
    y = tf.py_func(np.sin, [x], tf.float32)
    y.set_shape([2])
    for _ in range(RUNS):
        session.run(y, {x: [0, 1]})
    metadata = tf.RunMetadata()
    session.run(y, {x: [0, 1]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    assert "PyFunc" in str(metadata)


@pytest.mark.parametrize("build", [
    lambda x: tf.random_uniform([2]) + x,                                      # its numbers move on
    lambda x: tf.cond(x[0] > 0, lambda: tf.py_func(np.sin, [x], tf.float32), lambda: x),
    lambda x: tf.boolean_mask(x, x > 0) * 2.0,                                 # a shape that depends on data
])
def test_what_it_is_not_for(session, build):
    x = tf.placeholder(tf.float32, [2])
    y = build(x)
    for _ in range(RUNS):
        session.run(y, {x: [1.0, -1.0]})
    assert all(p.direct is None for r in session._runners.values() for p in r.programs.values() if r.plan.fed == (x,))


def test_numpy_does_not_warn_and_the_users_code_runs_in_its_callers_context(session):
    x = tf.placeholder(tf.float32, [3])
    scale = contextvars.ContextVar("scale", default=1.0)
    scaled = tf.define_op("ScaledByTheCaller", "x", infer=lambda x: x, lower=lambda b, x: x * np.float32(scale.get()))
    plain, own = tf.log(x), scaled(x)
    for runs in range(RUNS):
        scale.set(float(runs))
        with np.errstate(all="raise"):
            assert session.run(plain, {x: np.zeros(3)})[0] == -np.inf
        assert session.run(own, {x: np.ones(3)})[0] == runs
    assert np.geterr()["divide"] == "warn"
    assert len([p for r in set(session._runners.values()) for p in r.programs.values() if p.direct is not None]) == 2


def _trained(session, rows=8, width=4):
    """Returns (run a step with these ids, the variable, all fetches) of a program that is one compiled segment."""
    ids, scale = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [rows, width])
    v = tf.Variable(np.ones((rows, width), np.float32))
    loss = tf.reduce_sum(tf.gather(v * scale, ids) ** 2)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    fetches = [loss, train, tf.tanh(scale), tf.constant(3.0), scale]
    session.run(v.initializer)

    def step(chosen, by=1.0, **how):
        return session.run(fetches, {ids: np.int32(chosen), scale: np.full((rows, width), by, np.float32)}, **how)

    return step, v


@pytest.fixture
def compiling():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tf.config, "host_runs", 0)
        patched.setattr(tf.config, "tiny_ops", 0)
        yield


@pytest.mark.parametrize("rows", [8, 5000])  # the larger ones are lent to XLA
def test_a_compiled_step_goes_on_as_it_began(session, compiling, rows):
    step, v = _trained(session, rows)
    want = np.ones((rows, 4), np.float32)
    for i in range(direct.AFTER[-1] + 3):
        by = np.float32(1 + i % 3)
        loss, none, tanh, three, scale = step([0, 2, 0], by)
        assert none is None and three == 3.0 and scale[0, 0] == by
        np.testing.assert_allclose(loss, by * by * (2 * want[0] ** 2 + want[2] ** 2).sum(), rtol=1e-5)
        np.testing.assert_allclose(tanh, np.full((rows, 4), np.tanh(by)), rtol=1e-6)
        want[0] *= 1 - 0.04 * by * by
        want[2] *= 1 - 0.02 * by * by
        scale[:] = 7  # the caller's own
    np.testing.assert_allclose(session.run(v), want, rtol=1e-5)
    assert all(p.direct is not None for r in session._runners.values() for p in r.programs.values() if p.donates)


def test_a_compiled_step_refuses_what_it_refused(session, compiling):
    step, v = _trained(session)
    for _ in range(direct.AFTER[-1] + 1):
        step([0, 2, 7])
    before = session.run(v)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"8 is not in \[0, 8\)"):
        step([0, 2, 8])
    np.testing.assert_array_equal(session.run(v), before)
    step([0, 2, 7])
    assert session.run(v)[0, 0] < before[0, 0]
    session.state.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        step([0, 2, 7])


def test_random_numbers_go_on(session, compiling, monkeypatch):
    x = tf.ones([6])
    noisy = tf.nn.dropout(x, 0.5, seed=3) + tf.random_normal([6], seed=4)
    found = [session.run(noisy) for _ in range(direct.AFTER[-1] + 3)]
    assert _program(session).direct is not None
    monkeypatch.setattr(direct, "AFTER", ())
    with tf.Session() as other:
        np.testing.assert_array_equal([other.run(noisy) for _ in found], found)
        assert _program(other).direct is None


def test_a_compiled_step_can_be_traced(session, compiling):
    step, v = _trained(session)
    for _ in range(direct.AFTER[-1] + 1):
        step([1])
    metadata = tf.RunMetadata()
    before = step([1])[0]
    after = step([1], options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)[0]
    assert step([1])[0] < after < before
    assert metadata.step_stats.dev_stats


def test_a_placeholder_of_unknown_size_keeps_refusing(session):
    x = tf.placeholder(tf.float32, [None, 2])
    y = x + 1.0
    for _ in range(RUNS):
        session.run(y, {x: np.ones((3, 2), np.float32)})
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(y, {x: np.ones((3, 1), np.float32)})
    x.set_shape([4, 2])
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(y, {x: np.ones((3, 2), np.float32)})


@pytest.mark.parametrize("build", [
    lambda f, v: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, f(h)), [0, v])[1],
    lambda f, v: tf.cond(tf.size(tf.unique(v)[0]) > 0, lambda: f(f(v)), lambda: v),
    lambda f, v: tf.map_fn(lambda row: f(f(row)), v[None])[0],
], ids=["while", "cond", "map"])
def test_host_functions_in_bodies_take_what_compiled_operations_gave(session, monkeypatch, build):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    x = tf.placeholder(tf.float32, [300, 300])

    def twice(v):
        y = tf.py_func(lambda a: a + a, [v], tf.float32)
        y.set_shape(v.shape)
        return y

    y = build(twice, tf.reduce_sum(tf.matmul(x, x), 0)[:3])
    for k in range(RUNS):
        np.testing.assert_array_equal(session.run(y, {x: np.full((300, 300), k, np.float32)}), np.full(3, 4 * 90000.0 * k * k))
