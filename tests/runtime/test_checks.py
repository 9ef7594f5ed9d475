"""A program is checked in its hundredth run as in its first: what values refuse raises in compiled programs too.

Each row is a program whose bad input only values tell that the program itself computes, so that nobody can look at them before.
It runs compiled, is given the bad input, says what NumPy's runs say of it, changes no variable, and goes on.
"""

import numpy as np
import pytest

import regrad as tf
from regrad.core.errors import RegradWarning
from regrad.ops import inplace
from regrad.runtime import segment
from tests.cases import Bad, families

ERRORS = tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError
TABLE = np.arange(15, dtype=np.float32).reshape(5, 3)


def whole(x, dtype=tf.int32):
    """Returns integers that are computed."""
    return tf.cast(x, dtype)


def table():
    return tf.constant(TABLE) * 1.5


def array():
    return tf.TensorArray(tf.float32, 5, clear_after_read=False).unstack(table())


def sparse(x, dims):
    return tf.SparseTensor(whole(x, tf.int64)[None], x[:1], dims)


def dense(x):
    return tf.sparse_to_dense(whole(x), [6], x)


def crops(x):
    return tf.image.crop_and_resize(tf.ones([2, 3, 3, 1]), tf.constant([[0.0, 0, 1, 1]] * 2), whole(x), [2, 2])


def gradient_of_crops(x):
    """The crops themselves nobody asks for."""
    image = tf.ones([2, 3, 3, 1])
    return tf.gradients(tf.image.crop_and_resize(image, tf.constant([[0.0, 0, 1, 1]] * 2), whole(x), [2, 2]), image)[0]


def loss_of(x):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=whole(x), logits=table()[:2])


OUTSIDE, ZERO = r"indices\[1\] = 5 is not in \[0, 5\)", "Integer division by zero"
# name: (program of a float32 vector, good input, bad input, words)
ROWS = {
    "gather": (lambda x: tf.gather(table(), whole(x)), [0, 4], [0, 5], OUTSIDE),
    "gather below": (lambda x: tf.gather(table(), whole(x)), [0, 4], [-1, 4], r"indices\[0\] = -1 is not in \[0, 5\)"),
    "gather integers": (lambda x: tf.gather(tf.constant([[7, 8], [9, 9]]), whole(x), axis=1), [0, 1], [0, 2],
                        r"indices\[1\] = 2 is not in \[0, 2\)"),
    "gather_nd": (lambda x: tf.gather_nd(table(), whole(x)), [4, 2], [4, 3],
                  r"indices\[\] = \[4, 3\] does not index into param shape \[5, 3\]"),
    "embedding_lookup": (lambda x: tf.nn.embedding_lookup(table(), whole(x)), [0, 4], [0, 5], OUTSIDE),
    "labels": (loss_of, [0, 2], [0, 3], r"label value of 3 which is outside the valid range of \[0, 3\)"),
    "scatter_nd": (lambda x: tf.scatter_nd(whole(x)[:, None], x, [4]), [0, 3], [0, 4],
                   r"indices\[1\] = \[4\] does not index into shape \[4\]"),
    "tensor_scatter_add": (lambda x: tf.tensor_scatter_add(table()[:, 0], whole(x)[:, None], x), [0, 3], [-1, 3],
                           r"indices\[0\] = \[-1\] does not index into shape \[5\]"),
    "inplace_add": (lambda x: inplace.inplace_add(table(), whole(x), table()[:2]), [0, 4], [0, 5], OUTSIDE),
    "unsorted_segment_sum": (lambda x: tf.unsorted_segment_sum(table()[:2], whole(x), 3), [0, -2], [0, 3],
                             r"segment_ids\[1\] = 3 is out of range \[0, 3\)"),
    "sparse_segment_sum": (lambda x: tf.sparse_segment_sum(table(), whole(x), [0, 0], num_segments=2), [0, 4], [0, 5],
                           r"indices\[1\] == 5 out of range \[0, 5\)"),
    "sparse_segment_mean": (lambda x: tf.sparse_segment_mean(table(), [0, 1], whole(x), num_segments=2), [0, 1], [1, 0],
                            "segment ids are not increasing"),
    "sparse_to_dense": (dense, [0, 4], [0, 6], r"indices\[1\] = \[6\] is out of bounds: need 0 <= index < \[6\]"),
    "sparse_to_dense out of order": (dense, [0, 4], [4, 0], r"indices\[1\] = \[0\] is out of order"),
    "sparse_to_dense twice": (dense, [0, 4], [4, 4], r"indices\[1\] = \[4\] is repeated"),
    "sparse_to_dense unchecked": (lambda x: tf.sparse_to_dense(whole(x), [6], x, validate_indices=False), [4, 0], [4, -1],
                                  r"indices\[1\] = \[-1\] does not index into shape \[6\]"),
    "sparse_tensor_dense_matmul": (lambda x: tf.sparse_tensor_dense_matmul(sparse(x, [2, 5]), table()), [1, 4], [1, 5],
                                   r"k \(5\) from index\[0,1\] out of bounds \(>=5\)"),
    "sparse_add": (lambda x: tf.sparse_add(sparse(x, [5, 3]), table()), [4, 2], [4, 3],
                   r"indices\[0\] = \[4, 3\] does not index into shape \[5, 3\]"),
    "sparse * dense": (lambda x: (sparse(x, [5, 3]) * table()).values, [4, 2], [5, 0],
                       r"indices\[0\] = \[5, 0\] does not index into param shape \[5, 3\]"),
    "sparse_reduce_sum": (lambda x: tf.sparse_reduce_sum(sparse(x, [5, 3]), 1), [4, 2], [5, 0],
                          r"indices\[0\] = \[5, 0\] does not index into shape \[5, 3\]"),
    "slice": (lambda x: tf.slice(table(), whole(x), [2, 2]), [3, 1], [4, 1], r"Expected size\[0\] in \[0, 1\], but got 2"),
    "x[i]": (lambda x: table()[whole(x[0])], [-5, 0], [5, 0], "slice index 5 of dimension 0 out of bounds: the size is 5"),
    "invert_permutation": (lambda x: tf.invert_permutation(whole(x)), [1, 0], [1, 1], "1 is duplicated in the input"),
    "reverse_sequence": (lambda x: tf.reverse_sequence(table()[:2], whole(x), 1), [0, 3], [0, 4],
                         r"seq_lengths must be in \[0, 3\], got \[0, 4\]"),
    "crop_and_resize": (crops, [0, 1], [0, 2], r"box_index has values outside \[0, batch_size\): \[0, 2\] for 2 images"),
    "crop_and_resize, gradient": (gradient_of_crops, [0, 1], [0, 2], "an index is out of range"),
    "TensorArray.read": (lambda x: array().read(whole(x[0])), [4, 0], [5, 0], "read from index 5 but array size is: 5"),
    "TensorArray.write": (lambda x: array().write(whole(x[0]), x[0] * [1.0, 2, 3]).stack(), [4, 0], [-1, 0],
                          "Tried to write to index -1 but array is not resizeable and size is: 5"),
    "TensorArray.gather": (lambda x: array().gather(whole(x)), [4, 0], [5, 0], "read from index 5 but array size is: 5"),
    "TensorArray.scatter": (lambda x: array().scatter(whole(x), table()[:2]).stack(), [4, 0], [5, 0],
                            "Tried to write to index 5 but array is not resizeable and size is: 5"),
    "bincount": (lambda x: tf.math.bincount(whole(x), maxlength=6), [0, 4], [0, -1], "Input arr must be non-negative"),
    "histogram_fixed_width": (lambda x: tf.histogram_fixed_width(table(), x, 4), [0, 4], [4, 0],
                              r"value_range should satisfy value_range\[0\] < value_range\[1\], got \[4.0, 0.0\]"),
    "unravel_index": (lambda x: tf.unravel_index(whole(x), [2, 3]), [0, 5], [0, 6], "index is out of bound as with dims"),
    "random_uniform": (lambda x: 0 * tf.random_uniform([3], whole(x[0]), whole(x[1]), tf.int32), [0, 4], [4, 4],
                       "Need minval < maxval, got 4 >= 4"),
    "floordiv": (lambda x: 7 // whole(x), [1, 2], [1, 0], ZERO),
    "mod": (lambda x: 7 % whole(x), [1, 2], [1, 0], ZERO),
    "div": (lambda x: tf.div(7, whole(x)), [1, 2], [1, 0], ZERO),
    "truncatediv": (lambda x: tf.truncatediv(7, whole(x)), [1, 2], [1, 0], ZERO),
    "truncatemod": (lambda x: tf.truncatemod(7, whole(x)), [1, 2], [1, 0], ZERO),
    "pow": (lambda x: tf.pow(2, whole(x)), [1, 2], [1, -1], "Integers to negative integer powers are not allowed"),
    "matrix_inverse": (lambda x: tf.matrix_inverse(tf.diag(x)), [1, 2], [1, 0], "Input is not invertible"),
    "lu": (lambda x: tf.linalg.lu(tf.diag(x))[0], [1, 2], [1, 0], "Input is not invertible"),
    "matrix_band_part": (lambda x: tf.matrix_band_part(table(), whole(x[0]), whole(x[1])), [5, 3], [6, 3],
                         "num_lower and num_upper must be negative or less or equal to the number of rows and columns"),
    "cholesky": (lambda x: tf.cholesky(tf.diag(x)), [1, 2], [1, -1], "Cholesky decomposition was not successful"),
    "self_adjoint_eig": (lambda x: tf.self_adjoint_eigvals(tf.diag(1 / x)), [1, 2], [0, 1], "decomposition was not successful"),
}


def total(y):
    return tf.add_n([tf.reduce_sum(tf.cast(t, tf.float32)) for t in (y if isinstance(y, list) else [y])])


def alone(build, x, good):
    return total(build(x))


def in_branch(build, x, good):
    return tf.cond(x[0] > -100, lambda: total(build(x)), lambda: tf.constant(0.0))


def in_loop(build, x, good):
    """It is met in a turn of a loop of which nobody knows how long it goes on."""
    data = tf.stack([good, x, good])
    turns = 3 + whole(0 * x[0])
    return tf.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, y + total(build(data[i]))), [0, 0.0])[1]


def in_map(build, x, good):
    return total(tf.map_fn(lambda row: total(build(row)), tf.stack([good, x, good])))


def in_branch_of_map(build, x, good):
    return total(tf.map_fn(lambda row: in_branch(build, row, good), tf.stack([good, x, good])))


def in_loop_of_branch(build, x, good):
    return in_branch(lambda row: in_loop(build, row, good), x, good)


INSIDE = in_branch, in_loop, in_map, in_branch_of_map, in_loop_of_branch
KINDS = "gather", "x[i]", "TensorArray.read", "floordiv", "cholesky"
PLACES = [*((name, alone) for name in ROWS), *((name, place) for place in INSIDE for name in KINDS)]


@pytest.fixture
def programs(monkeypatch):
    """The segments that are compiled."""
    compile_, found = segment._compile, []
    monkeypatch.setattr(segment, "_compile", lambda s: found.append(s) or compile_(s))
    monkeypatch.setattr(tf.config, "cache_dir", None)
    segment.clear_cache()
    return found


@pytest.fixture
def compiling(monkeypatch):
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)


@pytest.mark.parametrize("name, place", PLACES, ids=[f"{name} {place.__name__}" for name, place in PLACES])
def test_what_values_refuse_is_refused_when_compiled(name, place, compiling):
    build, good, bad, words = ROWS[name]
    good, bad = (np.array(v, np.float32) for v in (good, bad))
    fed, v = tf.placeholder(tf.float32, [2]), tf.get_variable("v", initializer=1.0)
    y = place(build, fed, good)
    step = tf.assign_add(v, 0 * y + 1)
    with tf.Session() as session:
        session.run(v.initializer)
        expected = session.run([y, step], {fed: good})[0]
        with pytest.raises(ERRORS, match=words) as raised:
            session.run([y, step], {fed: bad})
        assert "test_checks.py" in str(raised.value)  # the user's line
        assert session.run(v) == 2
        np.testing.assert_array_equal(session.run([y, step], {fed: good})[0], expected)
        assert session.run(v) == 3


def test_the_hundredth_run_is_checked_as_the_first_one_is():
    """With the settings that users have: by NumPy, by a compiled program, and by the function written out for it."""
    fed = tf.placeholder(tf.float32, [40])
    y = tf.gather(tf.constant(np.arange(5000.0)) * 2, whole(fed)) // 1.0
    for _ in range(20):
        y = tf.tanh(y) + 1
    good, bad = np.zeros(40), np.full(40, 5000.0)
    with tf.Session() as session:
        for _ in range(20):
            session.run(y, {fed: good})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 5000 is not in \[0, 5000\)"):
                session.run(y, {fed: bad})


def test_what_is_not_taken_is_not_refused(compiling):
    fed = tf.placeholder(tf.int32, [])
    y = tf.cond(tf.equal(fed, 0), lambda: -1, lambda: 12 // fed)
    z = tf.map_fn(lambda i: tf.cond(tf.equal(i, 0), lambda: -1, lambda: 12 // i), tf.stack([fed, 2, fed]))
    none = tf.while_loop(lambda i, y: i < fed, lambda i, y: (i + 1, 12 // fed), [0, 7])[1]
    with tf.Session() as session:
        assert session.run([y, none], {fed: 0}) == [-1, 7] and session.run([y, none], {fed: 3}) == [4, 4]
        assert session.run(z, {fed: 0}).tolist() == [-1, 6, -1]


def test_a_loop_ends_where_values_are_refused(compiling):
    """It would go on for ever: what is divided by zero is less than anything."""
    n = tf.placeholder(tf.int32, [])
    loop = tf.while_loop(lambda i, x: i < 5, lambda i, x: (tf.minimum(i + 7 // x, 4), x), [0, n])
    in_test = tf.while_loop(lambda i: 7 // (n - i) < 100, lambda i: i + 1, [0])
    with tf.Session() as session:
        for fetch, value in ((loop, 0), (in_test, 3)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=ZERO):
                session.run(fetch, {n: value})


def test_gradients_of_loops_and_second_parts_are_looked_at(compiling):
    """Forward and backward loops, what a host function stands between, and a gradient that is fetched alone."""
    fed, v = tf.placeholder(tf.float32, [3]), tf.get_variable("v", initializer=TABLE)
    y = tf.map_fn(lambda i: tf.tanh(tf.gather(v, whole(i))), fed)
    between = tf.py_func(lambda a: a, [y], tf.float32)
    between.set_shape([3, 3])
    later = tf.gather(v, whole(fed + 0 * between[:, 0]) + 1)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y) + tf.reduce_sum(later))
    alone = tf.gradients(tf.gather(v, whole(fed), axis=1), v)[0]
    with tf.Session() as session:
        session.run(v.initializer)
        session.run([train, alone], {fed: [0, 1, 2]})
        before = session.run(v)
        for fetch, bad, words in ((train, [0, 5, 0], "= 5 is not in"), (train, [0, 0, 4], r"indices\[2\] = 5 is not in"),
                                  (tf.gradients(y, v), [9, 0, 0], "= 9 is not in"), (alone, [0, 3, 0], "= 3 is not in")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(fetch, {fed: bad})
            np.testing.assert_array_equal(session.run(v), before)


def test_what_stands_in_a_long_program_is_looked_at(compiling, monkeypatch):
    """In calls that XLA does not inline, in steps that repeat themselves as a loop, and in equal segments as one."""
    ids, x = tf.placeholder(tf.float32, [20]), tf.get_variable("x", initializer=np.ones((5, 5), np.float32))
    h = x
    for t in range(20):
        h = tf.tanh(tf.matmul(h, x)) + tf.gather(x, whole(ids[t]) + tf.range(1)) * 0.1 + 0.1
    loss = tf.reduce_sum(h)
    dx = tf.gradients(loss, x)[0]
    for settings in ({"apart_ops": 50}, {"repeat_size": 1}, {"longest_ops": 50, "whole_ops": 50, "segment_ops": 24}):
        for name, value in settings.items():
            monkeypatch.setattr(tf.config, name, value)
        with tf.Session() as session:
            session.run(x.initializer)
            good, bad = np.zeros(20), np.zeros(20)
            bad[13] = 5
            expected = session.run(dx, {ids: good})
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 5 is not in \[0, 5\)"):
                session.run(dx, {ids: bad})
            np.testing.assert_array_equal(session.run(dx, {ids: good}), expected)


def sparse_labels():
    """Weights of which C steps, by a product and without one, and XLA's, leave what they were."""
    labels, x = tf.placeholder(tf.float32, [8]), tf.placeholder(tf.float32, [8, 40])
    h = tf.layers.dense(tf.layers.dense(x, 200, tf.nn.relu), 300, tf.nn.relu)
    loss = tf.losses.sparse_softmax_cross_entropy(whole(labels), tf.layers.dense(h, 5))
    return labels, loss, {x: np.ones([8, 40], np.float32)}, r"label value of 7 which is outside the valid range of \[0, 5\)"


def rows():
    """An embedding: some rows are written, where they lie."""
    ids = tf.placeholder(tf.float32, [8])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(tf.get_variable("table", [5, 60_000]), whole(ids)) ** 2)
    return ids, loss, {}, r"indices\[3\] = 7 is not in \[0, 5\)"


OPTIMIZERS = {"GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1), "Adam": lambda: tf.train.AdamOptimizer(0.1),
              "Momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9), "Ftrl": lambda: tf.train.FtrlOptimizer(0.1),
              "Adagrad": lambda: tf.train.AdagradOptimizer(0.1)}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("build", [sparse_labels, rows])
def test_a_bad_label_leaves_all_variables_bit_for_bit_as_they_were(build, make, programs):
    """Those as well whose memory the program was given."""
    tf.set_random_seed(1)
    given, loss, feed, words = build()
    step = tf.train.get_or_create_global_step()
    train = make().minimize(loss, step)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        good, bad = np.arange(8.0) % 5, np.array([0, 1, 2, 7, 4, 0, 1, 9.0])
        for _ in range(6):
            session.run([train, loss], {given: good, **feed})
        assert any(s.refusals and s.donate for s in programs)
        before = session.run(tf.global_variables())
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run([train, loss], {given: bad, **feed})
        for was, now in zip(before, session.run(tf.global_variables())):
            np.testing.assert_array_equal(was, now)
        session.run(train, {given: good, **feed})
        assert session.run(step) == 7
        assert all(np.isfinite(v).all() for v in session.run(tf.global_variables()))


def test_what_is_known_to_be_right_costs_nothing(compiling, programs):
    """No program tells of what argmax gives, a remainder, a clipped index, a loop's counter, and what was looked at before."""
    fed, x = tf.placeholder(tf.int32, [4]), tf.placeholder(tf.float32, [4, 5])
    v = tf.get_variable("v", initializer=np.ones([5, 3], np.float32))
    rows = [tf.gather(v, i) for i in (tf.argmax(x, 1), fed % 5, tf.clip_by_value(fed * 3, 0, 4), tf.nn.top_k(x, 2)[1] + 0,
                                      tf.constant([4, 0]), tf.range(3) + 2)]
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(3), tf.reshape(x, [1, 4, 5]), dtype=tf.float32)
    rows += [outputs, tf.map_fn(lambda i: v[i] // 2, tf.range(5), tf.float32), tf.nn.embedding_lookup(v, fed)]
    train = tf.train.AdagradOptimizer(0.1).minimize(tf.add_n([tf.reduce_sum(r ** 2) for r in rows]))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {fed: [1, 2, 3, 4], x: np.ones([4, 5])})
        assert [s.refusals for s in programs] == [[] for _ in programs]


def test_checks_can_be_lowered_and_say_so(compiling, monkeypatch):
    fed = tf.placeholder(tf.float32, [2])
    y = tf.gather(table(), whole(fed))
    with pytest.raises(ValueError, match="'all' or 'given'"):
        tf.config.checks = "none"
    with pytest.warns(RegradWarning, match="is not looked at"):
        monkeypatch.setattr(tf.config, "checks", "given")
    with tf.Session() as session:
        assert np.isnan(session.run(y, {fed: [0, 9]})[1]).all()


VALUES = [(family, bad) for family, bads in families().items() for bad in bads if isinstance(bad, Bad) and bad.run]


@pytest.mark.parametrize("bad", [bad for _, bad in VALUES], ids=[f"{family} {bad.says}" for family, bad in VALUES])
def test_what_rows_say_of_values_a_compiled_program_says(bad, compiling):
    fetches = bad.build()
    with tf.Session() as session, pytest.raises(bad.error, match=bad.says):
        session.run(fetches)
