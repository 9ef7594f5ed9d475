"""What rows of `cases/indexing.py` cannot say: fed operands, sparse gradients, variables, names."""

import numpy as np
import pytest

import regrad as tf
from regrad.core.indexed_slices import IndexedSlices
from regrad.ops import array, indexing, layout, segment, sort
from regrad.runtime import config
from regrad.runtime import segment as runtime_segment
from regrad.runtime.plan import static_positions

X = np.arange(24.0).reshape(2, 3, 4)


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


# -- operands that shape the result, fed ----------------------------------------------------------
FED = {  # op type: (build of x and the fed operand, the same in NumPy, the values fed)
    "Reshape": (array.reshape, np.reshape, ([4, 6], [3, 2, 4], [-1])),
    "Transpose": (array.transpose, np.transpose, ([1, 0, 2], [2, 1, 0])),
    "BroadcastTo": (array.broadcast_to, np.broadcast_to, ([2, 3, 4], [5, 2, 3, 4])),
    "Tile": (layout.tile, np.tile, ([1, 2, 1], [0, 1, 3])),
    "ReverseV2": (layout.reverse, np.flip, ([0], [-1, 1])),
    "Pad": (layout.pad, np.pad, ([[1, 0], [0, 2], [0, 0]], [[0, 0], [0, 0], [3, 1]])),
    "ConcatV2": (lambda x, axis: array.concat([x, x], axis), lambda x, axis: np.concatenate([x, x], axis),
                 (0, -1)),
    "Split": (lambda x, axis: array.split(x, 2, axis)[1], lambda x, axis: np.split(x, 2, axis)[1], (0, -1)),
    "SplitV": (lambda x, n: array.split(x, n, -1)[0], lambda x, n: x[..., :n[0]], ([1, 3], [4, 0])),
    "ExpandDims": (array.expand_dims, np.expand_dims, (0, -1)),
    "Slice": (lambda x, n: indexing.slice_(x, [0, 1, 0], n), lambda x, n: x[:n[0], 1:1 + n[1], :n[2]],
              ([1, 2, 3], [2, 0, 4])),
    "StridedSlice": (lambda x, n: x[..., n[0]:n[1]], lambda x, n: x[..., n[0]:n[1]], ([0, 2], [1, -1])),
    "GatherV2": (lambda x, axis: indexing.gather(x, [1, 0], axis=axis),
                 lambda x, axis: np.take(x, [1, 0], axis), (0, -1)),
    "TopKV2": (lambda x, k: sort.top_k(x, k)[0], lambda x, k: -np.sort(-x)[..., :k], (1, 3)),
    "OneHot": (lambda x, n: x[..., 0, None] * indexing.one_hot([0, 2, 1], n, dtype=x.dtype),
               lambda x, n: x[..., 0, None] * np.eye(max(n, 3))[[0, 2, 1], :n], (3, 2)),
    "UnsortedSegmentSum": (lambda x, n: segment.unsorted_segment_sum(x, [1, 1], n),
                           lambda x, n: np.concatenate([x[:1] * 0, x.sum(0)[None], np.zeros((n - 2, 3, 4))]),
                           (2, 4)),
    "Fill": (lambda x, n: array.fill(n, x[0, 0, 0]) + x, lambda x, n: np.broadcast_to(x[0, 0, 0], n) + x,
             ([1], [2, 3, 4])),
}


@pytest.mark.parametrize("op_type", FED)
@pytest.mark.parametrize("known", ["shape", "no shape"])
def test_operands_fed_at_run_time(op_type, known):
    """Each value gives its own shape; the gradient is that of the op with the operand written in."""
    build, reference, values = FED[op_type]
    x = tf.placeholder("float64", X.shape if known == "shape" else None)
    operand = tf.placeholder("int32", np.shape(values[0])
                             if len({np.shape(v) for v in values}) == 1 else None)
    y = build(x, operand)
    assert op_type in {op.type for op in y.graph.get_operations()}
    dy = tf.placeholder("float64", None)
    (dx,) = tf.gradients(y, x, dy)
    dx = tf.convert_to_tensor(dx)
    for value in values:
        expected = reference(X, value)
        weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
        got, gradient = run([y, dx], {x: X, operand: value, dy: weights})
        np.testing.assert_array_equal(got, expected)
        # The ops are linear (or pick elements), so the gradient is known from what moves where.
        bump = [np.vdot(weights, reference(X + 1e-3 * unit, value) - expected) / 1e-3
                for unit in np.eye(X.size).reshape(-1, *X.shape)]
        np.testing.assert_allclose(gradient.ravel(), bump, atol=1e-9)


def test_sequence_mask_is_as_wide_as_the_longest():
    lengths = tf.placeholder("int64", [3])
    np.testing.assert_array_equal(run(indexing.sequence_mask(lengths), {lengths: [1, 0, 2]}),
                                  [[1, 0], [0, 0], [1, 1]])


def test_an_index_known_only_at_run_time_compiles_once(monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0)
    monkeypatch.setattr(config, "tiny_ops", 0)
    x, i = tf.placeholder("float32", [None, 4]), tf.placeholder("int32", [])
    y = tf.reduce_sum(x[i] * x[i, 1])
    values = np.random.RandomState(0).rand(500, 4).astype(np.float32)
    with tf.Session() as sess:
        sess.run(y, {x: values, i: 0})
        before = runtime_segment.compile_count
        for k in (3, 499, -1):
            np.testing.assert_allclose(sess.run(y, {x: values, i: k}), values[k].sum() * values[k, 1],
                                       rtol=1e-5)
        assert runtime_segment.compile_count == before


# -- what a program sees while it builds ----------------------------------------------------------
@pytest.mark.parametrize(("build", "shape"), [
    (lambda x: x[0], (3, None)),
    (lambda x: x[:, 1:, None], (None, 2, 1, None)),
    (lambda x: x[..., None], (None, 3, None, 1)),
    (lambda x: array.reshape(x, [array.shape(x)[0], -1]), (None, None)),
    (lambda x: array.reshape(x, [array.shape(x)[0], 3, 2, -1]), (None, 3, 2, None)),
    (lambda x: array.zeros([array.shape(x)[0], x.shape[1], 5]), (None, 3, 5)),
    (lambda x: indexing.gather(x, [0, 1], axis=1), (None, 2, None)),
    (lambda x: layout.tile(x, [2, 2, 2]), (None, 6, None)),
    (lambda x: layout.pad(x, [[0, 0], [1, 1], [0, 0]]), (None, 5, None)),
    (lambda x: array.concat([x, x], 1), (None, 6, None)),
    (lambda x: array.transpose(x), (None, 3, None)),
    (lambda x: array.unstack(x, axis=1)[0], (None, None)),
    (lambda x: indexing.slice_(x, [0, 0, 0], [-1, 2, 2]), (None, 2, 2)),
    (lambda x: sort.top_k(x, 2)[1], (None, 3, 2)),
])
def test_static_shapes_with_unknown_sizes(build, shape):
    x = tf.placeholder("float32", [None, 3, None])
    assert build(x).dims == shape


def test_names_are_tensorflows():
    x = tf.placeholder("float32", [None, 3], "x")
    made = [x[0], x[:, 1], tf.gather(x, [0]), tf.pad(x, [[1, 1], [0, 0]]), tf.concat([x, x], 0),
            tf.stack([x, x]),
            tf.unstack(x, axis=1)[0], tf.split(x, 3, 1)[0], tf.transpose(x), tf.reverse(x, [0]),
            tf.one_hot([1], 2),
            tf.boolean_mask(x, [True, False]), tf.tile(x, [1, 2]), tf.expand_dims(x, 0), tf.zeros_like(x)]
    assert [t.op.name for t in made] == [
        "strided_slice", "strided_slice_1", "GatherV2", "Pad", "concat", "stack", "unstack", "split",
                                         "transpose",
        "ReverseV2", "one_hot", "boolean_mask/GatherV2", "Tile", "ExpandDims", "zeros_like"]
    assert [t.op.name for t in made[0].op.inputs] == ["x", "strided_slice/stack", "strided_slice/stack_1",
                                                      "strided_slice/stack_2"]
    assert made[10].op.inputs[1].op.name == "one_hot/depth"


# -- sparse gradients -----------------------------------------------------------------------------
def dense(g, shape):
    out = np.zeros(shape)
    np.add.at(out, g.indices, g.values)
    return out


W = np.arange(12.0).reshape(4, 3)
I = np.array([1, 3, 1], np.int32)  # noqa: E741


@pytest.mark.parametrize(("read", "rows"), [
    (lambda w, i: tf.gather(w, i), lambda i: i),
    (lambda w, i: tf.gather(tf.identity(w), tf.stack([i, i])), lambda i: np.concatenate([i, i])),
    (lambda w, i: tf.gather(w, i) + tf.gather(w, i[:1]), lambda i: np.concatenate([i, i[:1]])),
    (lambda w, i: tf.gather(tf.concat([tf.zeros([1, 3], w.dtype), w], 0), i), lambda i: i - 1),
    (lambda w, i: tf.gather(tf.concat([w, w[:, :1]], 1), i), None),
    (lambda w, i: tf.gather_nd(w, i[:, None]), lambda i: i),
    (lambda w, i: 2.0 * tf.gather(w, i) / 4.0, lambda i: i),
])
def test_gradients_of_rows_stay_rows(read, rows):
    w = tf.get_variable("w", initializer=W)
    i = tf.placeholder("int32", [3])
    y = read(w, i)
    dy = tf.placeholder("float64", None)
    weights = np.cos(np.arange(y.shape.num_elements())).reshape(y.shape.as_list())
    (g,) = tf.gradients(y, w, dy)
    if rows is not None:
        assert isinstance(g, IndexedSlices) and g.shape.as_list() == [4, 3]
    value, whole = run([g, tf.convert_to_tensor(g)], {i: I, dy: weights})
    if rows is not None:
        assert sorted(value.indices) == sorted(rows(I))
        np.testing.assert_allclose(dense(value, (4, 3)), whole)
    fixed = tf.placeholder("float64", [4, 3])
    (same,) = tf.gradients(read(fixed, i), fixed, dy)
    np.testing.assert_allclose(run(tf.convert_to_tensor(same), {fixed: W, i: I, dy: weights}), whole)


def test_rows_replaced_by_a_concat_are_left_out():
    w = tf.get_variable("w", initializer=W)
    (g,) = tf.gradients(tf.gather(tf.concat([tf.zeros([2, 3], w.dtype), w], 0), [0, 5, 1, 2]), w)
    value = run(g)
    assert value.indices.tolist() == [3, 0] and value.values.shape == (2, 3)


def test_slices_scale_and_otherwise_become_dense():
    w = tf.get_variable("w", initializer=W)
    (g,) = tf.gradients(tf.gather(w, I), w)
    scaled = [g * 2.0, 2.0 * g, tf.constant(2.0, tf.float64) * g, g * tf.constant(2.0, tf.float64), g / 0.5,
              -1.0 * -g * 2.0]
    assert all(isinstance(s, IndexedSlices) for s in scaled)
    whole = np.zeros((4, 3))
    np.add.at(whole, I, 1.0)
    for s in scaled:
        np.testing.assert_array_equal(dense(run(s), (4, 3)), 2 * whole)
    for made, expected in ((g + w, whole + W), (w + g, whole + W), (1.0 - g, 1 - whole), (g - w, whole - W),
                           (g * w, whole * W),
                           (w * g, whole * W), (1.0 / (g + 1.0), 1 / (whole + 1)), (g + g, 2 * whole)):
        assert not isinstance(made, IndexedSlices)
        np.testing.assert_allclose(run(made), expected)


def test_join_slices_widens_indices():
    parts = [IndexedSlices(tf.ones([1, 2]), tf.constant([3])),
             IndexedSlices(tf.ones([2, 2]), tf.constant([0, 1], tf.int64))]
    joined = indexing.join_slices(parts)
    assert joined.indices.dtype is tf.int64 and run(joined.indices).tolist() == [3, 0, 1]
    assert indexing.join_slices(parts[:1]) is parts[0]


# -- variables ------------------------------------------------------------------------------------
def test_scatter_nd_on_variables():
    w = tf.get_variable("w", initializer=W)
    at = [[1, 2], [0, 0]]
    with tf.Session() as sess:
        for function, method in ((indexing.scatter_nd_update, None), (indexing.scatter_nd_add, np.add.at),
                                 (indexing.scatter_nd_sub, np.subtract.at)):
            sess.run(w.initializer)
            expected = W.copy()
            index = ([1, 0], [2, 0])
            if method is None:
                expected[index] = [5.0, 7.0]
            else:
                method(expected, index, [5.0, 7.0])
            np.testing.assert_array_equal(sess.run(function(w, at, [5.0, 7.0])), expected)
            np.testing.assert_array_equal(sess.run(w), expected)
    with pytest.raises(ValueError, match="must match the outer 1 dimensions of updates"):
        indexing.scatter_nd_update(w, at, [5.0])


@pytest.mark.parametrize("where", [np.s_[1], np.s_[:, 1:], np.s_[::-2, ..., -1], np.s_[None, 2, 0]])
def test_slices_of_variables_can_be_assigned(where):
    w = tf.get_variable("w", initializer=W)
    expected = W.copy()
    value = 100.0 + np.arange(float(W[where].size)).reshape(W[where].shape)
    expected[where] = value
    with tf.Session() as sess:
        sess.run(w.initializer)
        np.testing.assert_array_equal(sess.run(w[where]), W[where])
        np.testing.assert_array_equal(sess.run(w[where].assign(value)), expected)
        np.testing.assert_array_equal(sess.run(w), expected)


def test_a_row_named_at_run_time_can_be_assigned():
    w, i = tf.get_variable("w", initializer=W), tf.placeholder("int32", [])
    assign = w[i, ::2].assign([7.0, 8.0])
    with tf.Session() as sess:
        for k in (0, -1):
            sess.run(w.initializer)
            expected = W.copy()
            expected[k, ::2] = [7, 8]
            np.testing.assert_array_equal(sess.run(assign, {i: k}), expected)
    with pytest.raises(ValueError, match="does not fit the slice"):
        w[0].assign([1.0, 2.0])


def test_nothing_is_assigned_out_of_range(monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0)
    monkeypatch.setattr(config, "tiny_ops", 0)
    w, i = tf.get_variable("w", initializer=W), tf.placeholder("int32", [])
    assign = w[i].assign([7.0, 8.0, 9.0])
    with tf.Session() as sess:
        sess.run(w.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 4 of dimension 0 out of bounds: the size is 4"):
            sess.run(assign, {i: 4})
        np.testing.assert_array_equal(sess.run(w), W)


@pytest.mark.parametrize("index", [4, -5])
@pytest.mark.parametrize("read", [
    lambda x, i: x[i], lambda x, i: x[i, ::2], lambda x, i: tf.slice(x, [i, 0], [1, 2]),
                                  lambda x, i: tf.gather(x, tf.abs(i) * tf.sign(i))])
def test_an_index_out_of_range_at_run_time(monkeypatch, read, index):
    x, i = tf.placeholder("float32", [None, 3]), tf.placeholder("int32", [])
    y = read(x, i) * 1.0
    dx = tf.convert_to_tensor(tf.gradients(y, x)[0])
    for compiled in (False, True):
        monkeypatch.setattr(config, "host_runs", 0 if compiled else 9)
        monkeypatch.setattr(config, "tiny_ops", 0 if compiled else 99)
        with tf.Session() as sess:
            for fetch in (y, [y, dx]):
                with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds|not in|Expected (begin|size)"):
                    sess.run(fetch, {x: W, i: index})


def test_lowerings_read_nan_out_of_range_and_write_nothing():
    """The program goes on with that; it raises when it is done."""
    import jax

    from regrad.runtime.backend import XLA

    with jax.enable_x64(True):
        read = indexing.take(XLA, jax.numpy.arange(3.0), (jax.numpy.array([2, 3, -1]),))
        written = indexing.add_at(XLA, (3,), (jax.numpy.array([2, 3, -1]),), jax.numpy.ones(3))
    np.testing.assert_array_equal(read, [2, np.nan, np.nan])
    np.testing.assert_array_equal(written, [0, 0, 1])


def test_the_least_value_fills_segments_without_rows():
    for dtype in ("float32", "int32", "float16"):
        low, high = segment.unsorted_segment_max(tf.ones([1], dtype), [1], 2), segment.unsorted_segment_min(
            tf.ones([1], dtype), [1], 2)
        got = run([low, high])
        assert got[0].tolist() == [low.dtype.min, 1] and got[1].tolist() == [high.dtype.max, 1]


def test_strings_are_arranged_like_numbers():
    x = tf.placeholder("string", [2, None])
    words = np.array([[b"a", b"bc"], [b"", b"d"]], object)
    built = [x[0], x[..., ::-1], tf.gather(x, [1, 1]), tf.concat([x, x], 1), tf.stack([x, x]),
             tf.reshape(x, [-1]),
             tf.transpose(x), tf.pad(x, [[0, 0], [1, 0]]), tf.tile(x, [1, 2]), tf.zeros_like(x),
             tf.zeros([2], tf.string),
             tf.one_hot([1], 2, "on", "off"), tf.boolean_mask(x, [True, False]), tf.gather_nd(x, [[1, 1]]),
             tf.split(x, 2)[1], tf.reverse(x, [0]), tf.fill([2], "x"), tf.expand_dims(x, 0), tf.unstack(x)[1]]
    empty = np.full((2, 2), b"", object)
    expected = [words[0], words[:, ::-1], words[[1, 1]], np.tile(words, 2), np.stack([words, words]),
                words.ravel(),
                words.T, np.concatenate([empty[:, :1], words], 1), np.tile(words, 2), empty, empty[0],
                [[b"off", b"on"]], words[:1], [b"d"], words[1:], words[::-1], [b"x", b"x"], words[None],
                words[1]]
    for got, e in zip(run(built, {x: words}), expected):
        assert got.tolist() == np.asarray(e, object).tolist()


def test_where_a_slice_begins_is_no_part_of_the_program():
    x, i, n = tf.placeholder(tf.float32, [3, None]), tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [2])
    cuts = [tf.slice(x, [i, 0], [1, -1]), tf.slice(x, [i, i], [1, 2]), tf.slice(x, [i, i], [-1, 2]), tf.random_crop(x, n)]
    said = [static_positions(next(op for op in (cut.op, cut.op.inputs[0].op) if op.type == "Slice")) for cut in cuts]
    assert [1 in positions for positions in said] == [False, False, True, False]
    with tf.Session() as sess:
        got = sess.run(cuts, {x: np.arange(12).reshape(3, 4), i: 1, n: [2, 3]})
    assert [c.tolist() for c in got[:3]] == [[[4, 5, 6, 7]], [[5, 6]], [[5, 6], [9, 10]]]
    assert got[3].shape == (2, 3)
