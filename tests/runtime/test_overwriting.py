"""Rows of large variables that NumPy writes in place."""

import numpy as np
import pytest

import regrad as tf

ROWS, WIDTH = 2_000, 4  # more elements than tf.config.tiny_cost


@pytest.fixture
def session():
    with tf.Session() as sess:
        yield sess


def _variable(value=None):
    start = np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH) if value is None else value
    return tf.Variable(start), np.array(start)


def _memory(session, variable):
    return session.state[variable._gradient_handle().op]


def test_rows_are_written_where_the_variable_lies(session):
    v, want = _variable()
    rows = tf.placeholder(tf.int32, [3])
    step = tf.scatter_add(v, rows, tf.ones([3, WIDTH]))
    session.run(tf.global_variables_initializer())
    memory, before = _memory(session, v), session.run(v)
    for _ in range(3):
        session.run(step.op, {rows: [5, 1, 5]})
        np.add.at(want, [5, 1, 5], 1)
        assert _memory(session, v) is memory
        np.testing.assert_array_equal(session.run(v), want)
    np.testing.assert_array_equal(before[5], np.arange(20, 24))


def test_one_number_over_and_over_is_written_out_once(session):
    v, want = _variable(np.broadcast_to(np.float32(0.5), (ROWS, WIDTH)))
    step = tf.scatter_sub(v, [7], tf.ones([1, WIDTH]))
    session.run(tf.global_variables_initializer())
    session.run(step.op)
    memory = _memory(session, v)
    session.run(step.op)
    assert _memory(session, v) is memory
    want[7] -= 2
    np.testing.assert_array_equal(session.run(v), want)


def test_what_is_read_before_keeps_its_value(session):
    v, start = _variable()
    read = tf.identity(v)
    top = tf.reshape(read, [-1])[:8]
    with tf.control_dependencies([read, top]):
        step = tf.scatter_update(v, [0, 1], tf.zeros([2, WIDTH]))
    with tf.control_dependencies([step]):
        late = tf.identity(top) + 0
    session.run(tf.global_variables_initializer())
    old, later, _ = session.run([top, late, step.op])
    np.testing.assert_array_equal(old, start.ravel()[:8])
    np.testing.assert_array_equal(later, start.ravel()[:8])
    assert not session.run(v)[:2].any()


def test_variables_that_get_one_value_do_not_share_it(session):
    v, start = _variable()
    other = tf.Variable(np.zeros([ROWS, WIDTH], np.float32))
    step = tf.scatter_add(v, [0], tf.ones([1, WIDTH]))
    copy = tf.assign(other, step)
    session.run(tf.global_variables_initializer())
    session.run(copy.op)
    session.run(step.op)
    np.testing.assert_array_equal(session.run(other)[0], start[0] + 1)
    np.testing.assert_array_equal(session.run(v)[0], start[0] + 2)


def test_one_after_the_other(session):
    v, want = _variable()
    first = tf.scatter_add(v, [3, 3], tf.ones([2, WIDTH]))
    with tf.control_dependencies([first]):
        second = tf.scatter_mul(v, [3, 4], tf.fill([2, WIDTH], 2.0))
    session.run(tf.global_variables_initializer())
    memory = _memory(session, v)
    session.run(second.op)
    assert _memory(session, v) is memory
    want[3] += 2
    want[3:5] *= 2
    np.testing.assert_array_equal(session.run(v), want)


def test_a_run_that_fails_puts_back_what_it_overwrote(session):
    (v, start), (w, _) = _variable(), _variable()
    rows = tf.placeholder(tf.int32, [2])
    first = tf.scatter_update(v, [1, 2], tf.zeros([2, WIDTH]))
    with tf.control_dependencies([first]):
        second = tf.scatter_update(w, rows, tf.zeros([2, WIDTH]))
    session.run(tf.global_variables_initializer())
    memory = _memory(session, v)
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(second.op, {rows: [0, ROWS]})
    for variable in (v, w):
        np.testing.assert_array_equal(session.run(variable), start)
    session.run(second.op, {rows: [0, 1]})
    assert _memory(session, v) is memory and not session.run(v)[1:3].any()


@pytest.mark.parametrize("name", ["Adagrad", "Momentum", "RMSProp", "Ftrl", "GradientDescent"])
def test_optimizers_of_rows_go_on_as_compiled(name, monkeypatch):
    more = (0.9,) if name == "Momentum" else ()

    def train(host_runs):
        monkeypatch.setattr(tf.config, "host_runs", host_runs)
        with tf.Graph().as_default(), tf.Session() as session:
            v, _ = _variable(np.linspace(-1, 1, ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH))
            ids = tf.placeholder(tf.int32, [6])
            loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(v, ids) - 0.3))
            step = getattr(tf.train, name + "Optimizer")(0.1, *more).minimize(loss)
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step], {ids: np.array([1, 7, 1, 0, 9, k])})[0] for k in range(4)], session.run(v)

    for cold, hot in zip(train(3), train(0)):
        np.testing.assert_allclose(cold, hot, rtol=1e-5)
