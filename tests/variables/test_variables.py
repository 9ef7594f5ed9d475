"""What variables do when run: order of reads and assignments, initialisation, scattering, threads of names."""
import numpy as np
import pytest

import regrad as tf
from regrad.core.func_graph import FuncGraph


def run(*fetches, feed=None):
    """Initialises everything and returns the fetches, each in a run of its own."""
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return [sess.run(f, feed) for f in fetches]


# -- reading and assigning --------------------------------------------------------------------------------
def test_a_read_sees_the_value_before_the_run():
    w = tf.Variable(1.0)
    assigned = w.assign(5.0)

    assert run([w, w + 1, assigned], w) == [[1.0, 2.0, 5.0], 5.0]


@pytest.mark.parametrize("read", [lambda w: w + 0, tf.identity, lambda w: w.read_value(), lambda w: tf.stack([w, w])[0]])
def test_a_read_after_an_assignment_sees_it(read):
    w = tf.Variable(1.0)
    with tf.control_dependencies([w.assign_add(2.0)]):
        after = read(w)

    assert run(after) == [3.0]


def test_a_control_dependency_on_anything_else_makes_no_new_read(fresh_graph):
    w = tf.Variable(1.0, name="w")
    other = tf.Variable(1.0)
    other.assign(2.0)
    with tf.control_dependencies([tf.no_op(), other.assign(3.0)]):
        assert (w + 1).op.inputs[0] is w.value()
    w.assign(2.0)
    with tf.control_dependencies([tf.no_op()]):
        assert (w + 1).op.inputs[0] is w.value()


def test_gradients_flow_through_a_read_after_an_assignment():
    w = tf.Variable(3.0)
    with tf.control_dependencies([w.assign(5.0)]):
        loss = w * w

    assert run(tf.gradients(loss, w)) == [[10.0]]


def test_assignments_chain():
    w = tf.Variable(1.0)
    chained = tf.assign_add(tf.assign(tf.assign_add(w, 1.0), 10.0), 5.0)

    assert run(chained, w) == [15.0, 15.0]


@pytest.mark.parametrize("bad", [lambda w: tf.assign(w + 1, 2.0), lambda w: tf.assign_add(tf.constant(1.0), 2.0),
                                 lambda w: tf.scatter_add(3.0, 0, 1.0)])
def test_only_variables_are_assigned(bad):
    with pytest.raises(TypeError, match="assigns a variable, not"):
        bad(tf.Variable(1.0))


@pytest.mark.parametrize("method, expected", [
    ("update", [9, 2, 7, 4]), ("add", [16, 2, 10, 4]), ("sub", [-14, 2, -4, 4]), ("mul", [54, 2, 21, 4]),
    ("div", [1 / 54, 2, 3 / 7, 4]), ("max", [9, 2, 7, 4]), ("min", [1, 2, 3, 4])])
@pytest.mark.parametrize("of_method", [True, False])
def test_scatter(method, expected, of_method):
    w = tf.Variable([1.0, 2.0, 3.0, 4.0])
    indices, updates = [0, 2, 0], [6.0, 7.0, 9.0]
    if of_method:
        changed = getattr(w, f"scatter_{method}")(tf.IndexedSlices(tf.constant(updates), tf.constant(indices)))
    else:
        changed = getattr(tf, f"scatter_{method}")(w, indices, updates)

    np.testing.assert_allclose(run(changed)[0], np.float32(expected), rtol=1e-6)


def test_count_up_to():
    w = tf.Variable(0)
    count = tf.count_up_to(w, 2)
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert [sess.run(count), sess.run(count)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            sess.run(count)
        assert sess.run(w) == 2


# -- initialisation -----------------------------------------------------------------------------------------
def test_variables_may_start_from_each_other():
    w = tf.Variable(tf.random_normal([3]))
    twice = tf.Variable(2 * w, name="twice")
    same = tf.Variable(w.initialized_value())
    deep = tf.Variable(lambda: tf.exp(twice + same))
    a, b, c, d = run([w, twice, same, deep])[0]

    np.testing.assert_array_equal([2 * a, a], [b, c])
    np.testing.assert_allclose(d, np.exp(3 * a), rtol=1e-6)


def test_initialized_value_is_the_value_once_there_is_one():
    w = tf.Variable(1.0)
    v = w.initialized_value()
    with tf.Session() as sess:
        assert sess.run(v) == 1.0
        sess.run(w.assign(7.0))
        assert sess.run(v) == 7.0


def test_uninitialised_variables_are_reported():
    w, v = tf.Variable(1.0, name="w"), tf.get_local_variable("v", [2])
    report, asked = tf.report_uninitialized_variables(), tf.is_variable_initialized(w)
    check = tf.assert_variables_initialized()
    with tf.Session() as sess:
        assert sess.run(report).tolist() == [b"w", b"v"]
        assert not sess.run(asked)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value (w|v)"):
            sess.run(check)
        sess.run(w.initializer)
        assert sess.run(report).tolist() == [b"v"]
        assert sess.run(asked)
        sess.run(tf.local_variables_initializer())
        sess.run(check)
        np.testing.assert_array_equal(sess.run(v).shape, [2])


def test_load_adds_nothing_to_the_graph(fresh_graph):
    w = tf.Variable([1.0, 2.0])
    fresh_graph.finalize()
    with tf.Session() as sess:
        w.load([3.0, 4.0], sess)
        assert sess.run(w).tolist() == [3.0, 4.0]
        assert w.eval().tolist() == [3.0, 4.0]
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            w.load([1.0, 2.0, 3.0])


def test_a_variable_made_inside_a_body_lives_outside(fresh_graph):
    made = []

    def branch():
        with tf.variable_scope("inside", reuse=tf.AUTO_REUSE):
            made.append(tf.get_variable("w", [2], initializer=tf.ones_initializer()))
        made.append(tf.Variable(lambda: 2.0, name="own"))
        return tf.reduce_sum(made[-2]) * made[-1]

    y = tf.cond(tf.placeholder_with_default(True, []), branch, lambda: tf.constant(0.0))

    assert all(v.graph is fresh_graph for v in made)
    assert {v.op.name for v in tf.global_variables()} >= {"inside/w"}
    assert run(y) == [4.0]


def test_an_initial_tensor_from_inside_a_body_is_refused(fresh_graph):
    body = FuncGraph("body", fresh_graph)
    with body.as_default():
        inner = tf.ones([2])
        with pytest.raises(ValueError, match="from inside a control-flow construct"):
            tf.Variable(inner)


# -- attributes, sharing, parts -----------------------------------------------------------------------------
def test_attributes():
    w = tf.Variable([[1, 2, 3]], name="w", trainable=False, dtype=tf.float64)

    assert (w.name, w.op.name, w.dtype, w.shape.as_list()) == ("w:0", "w", tf.float64, [1, 3])
    assert (w.trainable, w.initializer.name, w.value().name) == (False, "w/Assign", "w/read:0")
    assert tf.trainable_variables() == []
    assert str(w) == "<tf.Variable 'w:0' shape=(1, 3) dtype=float64>"
    assert len({w, w}) == 1
    assert w == w
    with pytest.raises(TypeError, match="not iterable"):
        iter(w)
    assert w  # there is one, whatever it holds


def test_a_variable_of_unknown_shape_may_change_it():
    w = tf.Variable(tf.placeholder_with_default([1.0], [None]), validate_shape=False)
    grown = tf.assign(w, [1.0, 2.0, 3.0], validate_shape=False)

    assert w.shape.ndims is None
    assert [v.tolist() for v in run(w, grown, w * 2)] == [[1.0], [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]


def test_regularizers_and_scope_defaults():
    with tf.variable_scope("s", initializer=tf.constant_initializer(3.0), regularizer=lambda v: 0.5 * tf.reduce_sum(v),
                           dtype=tf.float64):
        w = tf.get_variable("w", [2])
        with tf.variable_scope("free", regularizer=tf.no_regularizer):
            tf.get_variable("v", [2])
    with tf.variable_scope("s", reuse=True, dtype=tf.float64):
        assert tf.get_variable("w") is w
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)

    assert [loss.op.name for loss in losses] == ["s/w/Regularizer/mul"]
    assert w.dtype == tf.float64
    assert run(losses) == [[3.0]]


def test_partitioned_variables_are_used_and_trained_as_one():
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(3)):
        w = tf.get_variable("w", [5, 2], initializer=tf.ones_initializer())
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(w * np.arange(10.0, dtype="f4").reshape(5, 2)))

    assert [p.shape.as_list() for p in w] == [[2, 2], [2, 2], [1, 2]]
    assert len(tf.trainable_variables()) == 3
    before, _, after = run(w, train, w)
    np.testing.assert_array_equal(after, before - 0.5 * np.arange(10).reshape(5, 2))


@pytest.mark.parametrize("partitioner, parts", [
    (tf.variable_axis_size_partitioner(3 * 4 * 6), 4), (tf.min_max_variable_partitioner(3, min_slice_size=80), 3),
    (tf.min_max_variable_partitioner(9, min_slice_size=130), 2)])
def test_partitioners(partitioner, parts):
    assert list(partitioner(shape=tf.TensorShape([10, 6]), dtype=tf.float32)) == [parts, 1]


@pytest.mark.parametrize("shape", [[4, 4], [6, 3], [3, 6], [2, 2, 2, 3]])
def test_orthogonal_initializer(shape):
    w = run(tf.get_variable("w", shape, tf.float64, tf.orthogonal_initializer(gain=2.0)))[0].reshape(-1, shape[-1])
    small = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w

    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


@pytest.mark.parametrize("shape", [[3, 4, 6], [3, 2, 2, 2], [1, 3, 5, 2, 4]])
def test_an_orthogonal_matrix_in_the_middle_of_a_window(shape):
    made = tf.initializers.delta_orthogonal
    w = run(tf.get_variable("w", shape, tf.float64, made(gain=2.0)))[0]
    middle = w[tuple((d - 1) // 2 for d in shape[:-2])]
    np.testing.assert_allclose(middle @ middle.T, 4 * np.eye(shape[-2]), atol=1e-12)
    assert np.count_nonzero(w) == np.count_nonzero(middle)
    with pytest.raises(ValueError, match="In_filters cannot be greater than out_filters"):
        made()([3, 5, 2])


@pytest.mark.parametrize("shape", [[3, 2, 4], [2, 2, 3, 3], [1, 1, 2, 3], [2, 2, 2, 1, 2]])
def test_orthogonal_convolutions(shape):
    from regrad.variables import orthogonal

    made = getattr(orthogonal, f"ConvolutionOrthogonal{len(shape) - 2}D")
    w = run(tf.get_variable("w", shape, tf.float64, made(gain=2.0, seed=3)))[0]
    response = np.fft.fftn(w, [4] * (len(shape) - 2), range(len(shape) - 2)).reshape(-1, *shape[-2:])
    for matrix in response:  # of each frequency
        np.testing.assert_allclose(matrix @ matrix.conj().T, 4 * np.eye(shape[-2]), atol=1e-12)
    for bad, says in (([*shape[:-2], 5, 2], "In_filters cannot be greater"), ([3], "dimensional")):
        with pytest.raises(ValueError, match=says):
            made()(bad)


def test_initializers_know_their_configuration():
    for name in "Zeros Constant RandomUniform TruncatedNormal VarianceScaling GlorotUniform Orthogonal Identity".split():
        from regrad.variables import initializers

        made = getattr(initializers, name)()
        again = type(made).from_config(made.get_config())
        assert again.get_config() == made.get_config()


# -- random numbers -------------------------------------------------------------------------------------------
def test_sessions_repeat_seeded_numbers_and_differ_without_seeds():
    seeded, free = tf.random_uniform([4], seed=1), tf.random_uniform([4])
    with tf.Session() as first, tf.Session() as second:
        a, b = [first.run(seeded), first.run(seeded)], [second.run(seeded), second.run(seeded)]
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a[0], a[1])
        assert not np.array_equal(first.run(free), second.run(free))


@pytest.mark.parametrize("draw, mean, variance", [
    (lambda n: tf.random_gamma([n], 0.3, seed=1, dtype=tf.float64), 0.3, 0.3),
    (lambda n: tf.random_gamma([n], 5.0, 2.0, seed=1, dtype=tf.float64), 2.5, 1.25),
    (lambda n: tf.random_poisson(3.0, [n], seed=1, dtype=tf.float64), 3.0, 3.0),
    (lambda n: tf.random_poisson(50.0, [n], seed=1, dtype=tf.float64), 50.0, 50.0),
    (lambda n: tf.truncated_normal([n], seed=1, dtype=tf.float64), 0.0, 0.7737413),
    (lambda n: tf.random_normal([n], 1.0, 2.0, seed=1, dtype=tf.float64), 1.0, 4.0),
    (lambda n: tf.cast(tf.random_uniform([n], 0, 6, tf.int32, seed=1), tf.float64), 2.5, 35 / 12)])
def test_moments_of_draws(draw, mean, variance):
    n = 40_000
    x = run(draw(n))[0]

    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n)
    assert abs(x.var() - variance) < 0.05 * variance


@pytest.mark.parametrize("low, high", [(-1, 1), (-30, 30), (3, 9), (0, np.inf), (-np.inf, -2), (-0.1, 20), (2, 2.1), (5, 99)])
def test_truncated_normal_of_any_interval(low, high):
    stats = pytest.importorskip("scipy.stats")
    from regrad.ops.random import parameterized_truncated_normal

    x = run(parameterized_truncated_normal([20_000], 1.0, 2.0, 1.0 + 2.0 * low, 1.0 + 2.0 * high, tf.float64, seed=5))[0]

    assert stats.kstest((x - 1) / 2, stats.truncnorm(low, high).cdf).pvalue > 1e-3


def test_gamma_is_differentiated_implicitly():
    special = pytest.importorskip("scipy.special")
    alpha = tf.constant([0.7, 2.5, 9.0], tf.float64)
    x = tf.random_gamma([], alpha, seed=3)
    got, at = run([tf.gradients(x, alpha)[0], x])[0]
    # dx/dalpha holds the distribution function fixed: differences of its inverse.
    a, h = np.array([0.7, 2.5, 9.0]), 1e-5
    p = special.gammainc(a, at)
    expected = (special.gammaincinv(a + h, p) - special.gammaincinv(a - h, p)) / (2 * h)

    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_shuffled_gradients_go_back():
    x = tf.constant(np.arange(12.0).reshape(6, 2))
    y = tf.random_shuffle(x, seed=1)
    shuffled, gradient = run([y, tf.gradients(tf.reduce_sum(y * y), x)[0]])[0]

    assert sorted(map(tuple, shuffled)) == [tuple(row) for row in np.arange(12.0).reshape(6, 2)]
    np.testing.assert_array_equal(gradient, 2 * np.arange(12.0).reshape(6, 2))


@pytest.mark.parametrize("build, says", [
    (lambda: tf.random_uniform([2], dtype=tf.int32), "Must specify maxval for integer dtype"),
    (lambda: tf.random_uniform([2], dtype=tf.string), "dtype string, it is not one of"),
    (lambda: tf.random_uniform([2], 3, 3, dtype=tf.int32), "Need minval < maxval"),
    (lambda: tf.random_normal([-2]), ">= 0"), (lambda: tf.multinomial(tf.ones([3]), 2), "rank 1 for logits"),
    (lambda: tf.random_crop(tf.ones([2, 3]), [3, 3]), "Need value.shape >= size")])
def test_refused_draws(build, says):
    with pytest.raises(ValueError, match=says):
        build()


@pytest.mark.parametrize("loop", ["compiled", "host"])
def test_turns_of_loops_and_runs_draw_different_numbers(loop):
    n = tf.placeholder(tf.int32, [])
    bound = {"maximum_iterations": 4} if loop == "compiled" else {}

    def turn(i, drawn):
        inner = tf.while_loop(lambda j, _: j < 3, lambda j, d: (j + 1, tf.concat([d[1:], tf.random_uniform([1])], 0)),
                              (0, tf.zeros([3])))[1]
        return i + 1, tf.concat([drawn[3:], inner], 0)

    tf.set_random_seed(1)
    drawn = tf.while_loop(lambda i, _: i < n, turn, (0, tf.zeros([12])), **bound)[1]
    with tf.Session() as sess:
        numbers = np.concatenate([sess.run(drawn, {n: 4}) for _ in range(5)])

    assert len(set(numbers.tolist())) == 60


def test_runs_of_different_sizes_do_not_overlap():
    n = tf.placeholder(tf.int32, [])
    draw = tf.random_uniform([n], seed=1)
    with tf.Session() as sess:
        numbers = np.concatenate([sess.run(draw, {n: size}) for size in (64, 64, 32, 16, 64, 8, 32)])

    assert len(set(numbers.tolist())) == len(numbers)


def test_scattering_of_elements_and_in_batches():
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.IndexedSlices(tf.constant([[9.0], [8.0]]), tf.constant([[1], [0]]))

    assert run(w.scatter_nd_update([[0, 1]], [5.0]))[0].tolist() == [[1, 5], [3, 4]]
    assert run(w.scatter_nd_add([[1], [1]], [[1.0, 2.0], [3.0, 4.0]]))[0].tolist() == [[1, 2], [7, 10]]
    assert run(w.scatter_nd_sub([[0, 0], [0, 0]], [1.0, 2.0]))[0].tolist() == [[-2, 2], [3, 4]]
    assert run(w.batch_scatter_update(rows))[0].tolist() == [[1, 9], [8, 4]]
    assert run([w.gather_nd([[1, 0]]), w.sparse_read([1])])[0][0].tolist() == [3]
    assert run(w[0, 1:].assign([7.0]))[0].tolist() == [[1, 7], [3, 4]]


def test_keras_initializers():
    keras = tf.keras.initializers
    for name in "zeros he_normal RandomUniform truncated_normal glorot_uniform Orthogonal".split():
        made = keras.get(name)
        again = keras.deserialize(keras.serialize(made))
        assert again.get_config() == made.get_config()
    assert keras.get("uniform").maxval == 0.05
    assert keras.get(keras.Zeros).dtype == tf.float32
    assert keras.get(None) is None
    for wrong in ("nonsense", "serialize", 3):
        with pytest.raises(ValueError, match="initializer"):
            keras.get(wrong)


def test_keras_regularizers():
    keras, w = tf.keras.regularizers, tf.constant([[1.0, -2.0], [3.0, 0.0]])
    penalties = [keras.l1(0.1), keras.l2(0.5), keras.l1_l2(0.1, 0.5), keras.L1(), keras.get("l2"), keras.L1L2(),
                 keras.get(keras.serialize(keras.L2(0.5)))]
    with tf.Session() as sess:
        np.testing.assert_allclose(sess.run([p(w) for p in penalties]), [0.6, 7.0, 7.6, 0.06, 0.14, 0.0, 7.0], rtol=1e-6)
        tf.layers.dense(w, 1, kernel_initializer=tf.ones_initializer(), kernel_regularizer=keras.l2(2.0))
        sess.run(tf.global_variables_initializer())
        assert sess.run(tf.losses.get_regularization_losses()) == [4.0]
    assert keras.get(None) is None and keras.get(abs) is abs
    for wrong, words in (("L3", "Unknown regularizer"), (3, "Could not interpret")):
        with pytest.raises(ValueError, match=words):
            keras.get(wrong)


@pytest.mark.parametrize("value, dtype", [(True, tf.bool), (1, tf.int32), (1.0, tf.float32), ([1, 2], tf.int32),
                                          (np.float64(3), tf.float64), ("a", tf.string), (1j, tf.complex128)])
def test_an_initial_value_decides_the_dtype(value, dtype):
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        v = tf.get_variable("v", initializer=value)
        assert v.dtype == dtype and tf.get_variable("v", initializer=value) is v
        assert tf.get_variable("f", initializer=3, dtype=tf.float64).dtype == tf.float64
        with pytest.raises(ValueError, match="Initializer type 'float32' and explicit dtype 'float64'"):
            tf.get_variable("w", initializer=np.float32(1), dtype=tf.float64)
