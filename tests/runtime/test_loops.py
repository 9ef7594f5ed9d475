"""What the compiled form of a loop changes about it must not be seen in its results."""

import numpy as np
import pytest

import regrad as tf
from regrad import config
from regrad.core import traversal
from regrad.ops import flow, turns

TURNS, BATCH, UNITS = 3, 2, 4


def _steps(step, loop, h):
    if loop:
        return tf.while_loop(lambda i, h: i < TURNS, lambda i, h: (i + 1, step(i, h)), [0, h])[1]
    for i in range(TURNS):
        h = step(i, h)
    return h


def _plain(x, w, u):
    return lambda i, h: tf.tanh(tf.matmul(tf.concat([x[i], h], 1), w))


def _both_ways(x, w, u):
    return lambda i, h: tf.tanh(tf.matmul(h, u) + tf.matmul(h + x[i], u, transpose_b=True))


def _columns(x, w, u):
    return lambda i, h: tf.transpose(tf.tanh(tf.matmul(u, h + x[i], transpose_a=True, transpose_b=True)))


def _partly(x, w, u):
    # Not only products: the sum stays in the loop.
    return lambda i, h: tf.tanh(tf.matmul(h, u) + tf.reduce_sum(u) * x[i])


def _fixed(x, w, u):
    # One factor of the weight's gradient is the same in every turn.
    return lambda i, h: h + tf.matmul(x[0], tf.tanh(u))


@pytest.mark.parametrize("make,summed", [(_plain, 1), (_both_ways, 2), (_columns, 1), (_partly, 0), (_fixed, 0)])
def test_gradients_of_a_loop_are_those_of_its_turns(make, summed, monkeypatch):
    monkeypatch.setattr(config, "cache_dir", None)  # what comes from the disk is not traced
    monkeypatch.setattr(config, "host_runs", 0)
    found, inner = [], turns._sums_of_products

    def noted(*args):
        result = inner(*args)
        found.append(sum(len(terms) for terms in result.values()))
        return result

    monkeypatch.setattr(turns, "_sums_of_products", noted)
    rng = np.random.default_rng(3)
    values = []
    for loop in (True, False):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(rng.standard_normal((TURNS, BATCH, UNITS)) if not values else values[0])
            w = tf.constant(rng.standard_normal((2 * UNITS, UNITS)) if not values else values[1])
            if not values:
                values = session.run([x, w])
            h = _steps(make(x, w, w[UNITS:]), loop, tf.constant(np.full((BATCH, UNITS), 0.5)))
            dw = tf.gradients(tf.reduce_sum(h * h), w)[0]
            second = tf.gradients(tf.reduce_sum(dw * dw), w)[0]
            results = session.run([h, dw])
            if loop:
                assert max(found, default=0) >= summed and (summed or not any(found))
            results.append(session.run(second))
            if loop:
                expected = results
    for got, wanted in zip(results, expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size,again", [(16, False), (5000, True), (None, True)])
def test_few_slow_values_are_saved_and_many_computed_again(size, again):
    x = tf.placeholder(tf.float32, [size])
    _, h = tf.while_loop(lambda i, h: i < TURNS, lambda i, h: (i + 1, tf.tanh(h * x)), [0, x])
    gradient = tf.gradients(h, x)[0]
    body = next(op for op in gradient.graph.get_operations() if op.type == "While" and "gradients" in op.name).get_attr("body")
    assert any(op.type == "Tanh" for op in body._ops) is again
    with tf.Session() as session:
        got = session.run(gradient, {x: np.full(size or 3, 0.5, np.float32)})
    t, slope = 0.5, 1.0
    for _ in range(TURNS):
        t, slope = np.tanh(t * 0.5), (t + slope * 0.5) * (1 - np.tanh(t * 0.5) ** 2)
    np.testing.assert_allclose(got, slope, rtol=1e-5)


@pytest.mark.parametrize("rows", [2, None])
def test_nothing_is_saved_for_a_shape(rows):
    x, b = tf.placeholder(tf.float32, [rows, 3]), tf.constant(np.float32([1, 2, 3]))
    _, h = tf.while_loop(lambda i, h: i < TURNS, lambda i, h: (i + 1, tf.matmul(h, tf.eye(3)) + b), [0, x])
    gradient = tf.gradients(h, b)[0]
    loop = next(op for op in gradient.graph.get_operations() if op.type == "While" and "gradients" not in op.name)
    assert len(loop.outputs) == 3  # i, h and the number of turns
    with tf.Session() as session:
        assert session.run(gradient, {x: np.zeros((2, 3))}).tolist() == [2 * TURNS] * 3


def test_the_shape_of_a_variable_that_changes_its_size_is_that_of_the_last_turn():
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.concat([v, v], 0)), [0, x],
                         shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
    with tf.Session() as session:
        assert session.run(tf.shape(y), {x: [1.0, 2.0]}).tolist() == [16]


@pytest.mark.parametrize("known", [True, False])
def test_a_size_that_a_branch_computes(known):
    x = tf.placeholder(tf.float32, [2, 3] if known else [None, None])
    n = tf.cond(tf.equal(3 if known else tf.shape(x)[1], 1), lambda: tf.constant(0), lambda: tf.constant(2))
    y = tf.pad(x, [[0, 0], [n, 0]], constant_values=1.0)
    dx, = tf.gradients(tf.reduce_sum(y * y), x)
    with tf.Session() as sess:
        for rows in ([[1.0, 2.0, 3.0]] * 2, [[4.0, 2.0, 3.0]] * 2):
            got, slope = sess.run([y, dx], {x: rows})
            assert got.tolist() == [[1.0, 1.0, *row] for row in rows] and slope.tolist() == [[2 * v for v in r] for r in rows]


def test_a_size_that_a_body_computes():
    x, k = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [])

    def body(i, a):
        n = tf.cond(tf.equal(i, 1), lambda: tf.constant(0), lambda: tf.cast(k, tf.int32))
        return i + 1, a + tf.reduce_sum(tf.square(tf.pad(x, [[0, 0], [n, 0]], constant_values=1.0)))

    total = tf.while_loop(lambda i, a: i < 3, body, [0, 0.0])[1]
    dx, = tf.gradients(total, x)
    with tf.Session() as sess:
        for size in (2, 1, 2):
            got, slope = sess.run([total, dx], {x: np.full((2, 3), 3.0), k: size})
            assert got == 3 * 54 + 2 * 2 * size and slope.tolist() == [[18.0] * 3] * 2


@pytest.mark.parametrize("host_runs", [0, 9])
def test_a_loop_over_nothing_has_gradients(host_runs, monkeypatch):
    monkeypatch.setattr(config, "host_runs", host_runs)
    x, w = tf.placeholder(tf.float32, [None, None]), tf.constant(2.0)
    rows = tf.map_fn(lambda row: tf.map_fn(lambda a: a * w, row), x)
    rest = tf.while_loop(lambda i, a: i < tf.shape(x)[0],
                         lambda i, a: (i + 1, a * w + tf.reduce_max(tf.slice(x, [i, 0], [1, 1]))), [0, tf.constant(3.0)])[1]
    gradients = tf.gradients([rows, rest], [x, w])
    with tf.Session() as session:
        for shape, dw in ((0, 2), 0.0), ((2, 0), None), ((2, 1), 2.0 + 13.0):
            if dw is not None:
                dx, got = session.run(gradients, {x: np.ones(shape)})
                assert dx.shape == shape and got == dw
            assert session.run(tf.gradients(rows, x)[0], {x: np.ones(shape)}).tolist() == np.full(shape, 2.0).tolist()


def test_second_order_through_a_loop_whose_length_an_outer_turn_decides(monkeypatch):
    def inner(i, a):
        return i + 1, tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, tf.tanh(b * a + x)), [0, a])[1]

    found = []
    for host_runs in (9, 0):
        monkeypatch.setattr(config, "host_runs", host_runs)
        monkeypatch.setattr(config, "tiny_ops", 12 if host_runs else 0)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float64, [])
            y = tf.while_loop(lambda i, a: i < 4, inner, [0, x])[1]
            first = tf.gradients(y, x)[0]
            second = tf.gradients(first, x)[0]
            found += [session.run([y, first, second], {x: 0.5})]
            high, low = (session.run(first, {x: v}) for v in (0.5001, 0.4999))
            np.testing.assert_allclose(found[-1][2], (high - low) / 0.0002, rtol=1e-6)
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_what_a_loop_waits_for_is_found_once_for_each_operation(monkeypatch):
    asked = []
    count = traversal.assigned_by
    monkeypatch.setattr(traversal, "assigned_by", lambda op: asked.append(op) or count(op))

    w = tf.get_variable("w", initializer=3.0)
    x = w.assign(1.0) + w.assign(2.0)
    for _ in range(30):
        x = tf.cond(x > 0.0, lambda x=x: x * w, lambda x=x: x)
    assert len(asked) < 300  # of each choice what it holds, of the 29 before it nothing


def test_edges_that_change_are_waited_for():
    w = tf.get_variable("w", initializer=3.0)
    x = tf.identity(tf.constant(1.0))

    def power():
        return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * w), [0, x])[1]

    late = w.assign(7.0).op
    power()
    x.op._add_control_input(late)
    after = power()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(after) == 49.0


def test_branches_that_read_other_numbers_of_rows_are_compiled(monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0)
    monkeypatch.setattr(config, "tiny_ops", 0)
    e = tf.get_variable("e", initializer=np.ones([6, 2], np.float32))
    ids, flag = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.bool, [])
    few, many = tf.constant([1, 1]), tf.constant([3, 0, 2], tf.int64)
    one = tf.cond(flag, lambda: 2.0 * tf.gather(e, few), lambda: tf.gather(e, many)[:2])
    other = tf.cond(flag, lambda: tf.gather(e, ids), lambda: tf.zeros([2, 2]))
    found = [tf.gradients(tf.reduce_sum(y * y), e)[0] for y in (one, other)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, rows in ((True, [[1] * 3, [5, 4, *[5] * 4]]), (False, [[3, 0, 2], list(range(6))])):
            got = session.run(found, {ids: [5, 4], flag: value})
            assert [g.indices.tolist() for g in got] == rows
            dense = session.run([tf.convert_to_tensor(g) for g in found], {ids: [5, 4], flag: value})
            assert dense[0][:, 0].tolist() == ([0, 16, 0, 0, 0, 0] if value else [2, 0, 0, 2, 0, 0])
            assert dense[1][:, 0].tolist() == ([0, 0, 0, 0, 2, 2] if value else [0] * 6)
    assert not any(op.__dict__.get("_host") for op in tf.get_default_graph().get_operations() if op.type == "If")


def test_a_branch_that_ran_is_still_compiled_once_it_is_differentiated():
    """What the gradient needs of it are further outputs, of other shapes in each branch: plans made before have none."""
    x, flag = tf.placeholder(tf.float32, [300]), tf.placeholder(tf.bool, [])
    row, ones = tf.reshape(x, [1, 300]), tf.ones([300, 7])
    y = tf.cond(flag, lambda: tf.reduce_sum(tf.exp(tf.matmul(row, ones) * 1e-3)),
                lambda: tf.reduce_sum(tf.nn.softmax(tf.matmul(row, row, transpose_a=True))))
    feed = {x: np.ones(300), flag: True}
    with tf.Session() as session:
        first = session.run(y, feed)
        tf.gradients(y, x)
        assert [session.run(y, feed) for _ in range(5)] == pytest.approx([first] * 5, rel=1e-6)
    assert not any(op.__dict__.get("_host") for op in tf.get_default_graph().get_operations() if op.type == "If")


def test_a_loop_that_stacks_rows_knows_how_many_however_many(monkeypatch):
    """Other loops run without knowing how long they will, where finding out takes long."""
    monkeypatch.setattr(flow, "_MAX_SIMULATED", TURNS)
    monkeypatch.setattr(config, "host_runs", 0)
    x = tf.constant(1.0)
    y = tf.while_loop(lambda i, y: i < 2 * TURNS, lambda i, y: (i + 1, tf.sin(y)), [0, x])[1]
    with tf.Session() as session:
        found = session.run([y, tf.gradients(y, x)[0]])
    expected, slope = 1.0, 1.0
    for _ in range(2 * TURNS):
        expected, slope = np.sin(expected), slope * np.cos(expected)
    np.testing.assert_allclose(found, [expected, slope], rtol=1e-6)


COUNTING = {  # where a counter begins, what is added to it, while what holds
    "up": lambda n: (0, 1, lambda i: i < n), "in threes": lambda n: (-3, 3, lambda i: i + 1 <= n),
    "down": lambda n: (n, -2, lambda i: (i > 0) & (i > 4 - n)),
    "either": lambda n: (0, 1, lambda i: (i < n // 2) | (i * 3 < n)),
}


@pytest.mark.parametrize("most", [None, 700])
@pytest.mark.parametrize("n", [0, 1, 700, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("name", COUNTING)
def test_turns_are_counted_many_at_a_time(name, n, most):
    start, step, holds = COUNTING[name](n)
    i, turns = start, 0
    while holds(i) and (most is None or turns < most):
        i, turns = i + step, turns + 1
    array = tf.TensorArray(tf.int32, max(turns, 1), element_shape=[])
    last, rows = tf.while_loop(lambda i, _: holds(i), lambda i, rows: (i + step, rows.write((i - start) // step, i)),
                               [start, array], maximum_iterations=most)
    with tf.Session() as session:
        assert session.run(last) == i
        np.testing.assert_array_equal(session.run(rows.stack())[:turns], start + step * np.arange(turns))


def test_a_feed_of_what_a_loop_was_built_with_is_refused():
    n, x = tf.constant(2), tf.constant(np.ones((2, 3), np.float32))
    h = tf.nn.relu(x)
    size = tf.shape(h)[0]
    doubled = tf.while_loop(lambda i, a: i < n + 1, lambda i, a: (i + 1, 2.0 * a), [0, 1.0])[1]
    sized = tf.while_loop(lambda i, a: i < size, lambda i, a: (i + 1, a * tf.reduce_sum(h)), [0, 1.0])[1]
    branch = tf.cond(doubled > 0.0, lambda: tf.map_fn(lambda v: v + tf.cast(n, tf.float32), tf.ones([2])), lambda: tf.ones([2]))
    with tf.Session() as session:
        for fetch in (doubled, branch):
            with pytest.raises(ValueError, match="Const:0 may not be fed.*built with its value.*placeholder_with_default"):
                session.run(fetch, {n: 4})
        assert session.run([doubled, n * 1], {doubled: 7.0, n: 4}) == [7.0, 4]
        assert session.run(sized, {h: np.full((2, 3), 2.0)}) == 144.0
