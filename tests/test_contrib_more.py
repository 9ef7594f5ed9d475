"""tf.contrib: further cells, and optimize_loss."""
import numpy as np
import pytest

import regrad as tf

RNG = np.random.RandomState(0)
X = RNG.randn(3, 4, 2).astype("f")


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def normal(a):
    return (a - a.mean(1, keepdims=True)) / a.std(1, keepdims=True)


def test_normalised_lstm():
    cell = tf.contrib.rnn.LayerNormBasicLSTMCell(5, norm_gain=0.8, norm_shift=0.1)
    out, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), dtype=tf.float32)
    names = [v.op.name for v in tf.trainable_variables()]
    scope = "rnn/layer_norm_basic_lstm_cell/"
    assert names[0] == scope + "kernel" and len(names) == 11
    assert set(names[1:]) == {f"{scope}{g}/{v}" for g in ("input", "transform", "forget", "output", "state")
                              for v in ("gamma", "beta")}
    value, kernel, grads = run([out, tf.trainable_variables()[0], tf.gradients(out, tf.trainable_variables())])
    c = h = np.zeros((3, 5))
    for t in range(4):
        i, j, f, o = (0.8 * normal(a) + 0.1 for a in np.split(np.concatenate([X[:, t], h], 1) @ kernel, 4, 1))
        c = 0.8 * normal(c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)) + 0.1
        h = np.tanh(c) * sigmoid(o)
        np.testing.assert_allclose(value[:, t], h, rtol=1e-3, atol=1e-5)
    assert all(np.isfinite(g).all() for g in grads)


def test_cells_around_cells():
    rnn = tf.contrib.rnn
    gru = tf.nn.rnn_cell.GRUCell
    looking = rnn.AttentionCellWrapper(gru(4), 3)
    projected = rnn.OutputProjectionWrapper(rnn.InputProjectionWrapper(gru(4), 3), 7, tf.tanh)
    a, _ = tf.nn.dynamic_rnn(looking, tf.constant(X), dtype=tf.float32, scope="a")
    b, _ = tf.nn.dynamic_rnn(projected, tf.constant(X), dtype=tf.float32, scope="b")
    c, fw, bw = rnn.stack_bidirectional_dynamic_rnn([gru(4), gru(3)], [gru(4), gru(3)], tf.constant(X), dtype=tf.float32,
                                                    sequence_length=[4, 2, 3])
    names = {v.op.name: v.shape.as_list() for v in tf.trainable_variables()}
    inner = "a/attention_cell_wrapper/"
    assert names[f"{inner}kernel"] == [6, 2] and names[f"{inner}attention/attn_w"] == [1, 1, 4, 4]
    assert names[f"{inner}attn_output_projection/kernel"] == [8, 4] and names[f"{inner}gru_cell/gates/kernel"] == [6, 8]
    assert names["stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/gru_cell/gates/kernel"] == [11, 6]
    assert [t.shape.as_list() for t in (a, b, c)] == [[3, 4, 4], [3, 4, 7], [3, 4, 6]] and len(fw) == len(bw) == 2
    grads = tf.gradients([a, b, c], tf.trainable_variables())
    values = run([a, b, c, grads])
    assert all(np.isfinite(v).all() for v in values[:3]) and all(np.isfinite(g).all() for g in values[3])
    assert (values[2][1, 2:] == 0).all()
    with pytest.raises(ValueError, match="must be a list of RNNCells"):
        rnn.stack_bidirectional_dynamic_rnn([], [], tf.constant(X))


def test_convolutional_lstm():
    pictures = RNG.randn(2, 3, 4, 5, 1).astype("f")
    cell = tf.contrib.rnn.Conv2DLSTMCell(input_shape=[4, 5, 1], output_channels=2, kernel_shape=[3, 3], skip_connection=True)
    out, state = tf.nn.dynamic_rnn(cell, tf.constant(pictures), dtype=tf.float32)
    kernel, bias = tf.trainable_variables()
    assert kernel.op.name == "rnn/conv_2d_lstm_cell/kernel" and kernel.shape.as_list() == [3, 3, 3, 8]
    h, c = tf.zeros([2, 4, 5, 2]), tf.zeros([2, 4, 5, 2])
    steps = []
    for t in range(3):
        gates = tf.nn.conv2d(tf.concat([pictures[:, t], h], -1), kernel, [1, 1, 1, 1], "SAME") + bias
        i, j, f, o = tf.split(gates, 4, -1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        steps.append(tf.concat([h, pictures[:, t]], -1))
    got, last, want, end = run([out, state.c, tf.stack(steps, 1), c])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(last, end, rtol=1e-5, atol=1e-6)


def test_linear():
    from regrad.python.ops.rnn_cell_impl import _linear

    with tf.variable_scope("s"):
        y = _linear([tf.ones([2, 3]), tf.ones([2, 1])], 5, True, bias_start=2.0)
    value, kernel = run([y, tf.trainable_variables()[0]])
    np.testing.assert_allclose(value, np.ones((2, 4)) @ kernel + 2, rtol=1e-6)
    assert [v.op.name for v in tf.trainable_variables()] == ["s/kernel", "s/bias"]
    for wrong in ([], [tf.ones([2])]):
        with pytest.raises(ValueError, match="args|2D"):
            _linear(wrong, 3, False)


def test_optimize_loss():
    layers = tf.contrib.layers
    table = layers.embed_sequence(tf.constant([[0, 1], [1, 1]]), 4, 3, initializer=tf.ones_initializer(), scope="e")
    w = tf.Variable([2.0, 1.0])
    loss = tf.reduce_sum(w * w) + tf.reduce_sum(table)
    step = tf.train.get_or_create_global_step()
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(tf.Variable(0.0, trainable=False, name="seen"), 1.0).op)
    train = layers.optimize_loss(loss, step, 0.5, "SGD", gradient_multipliers={w: 0.1}, clip_gradients=100.0,
                                 learning_rate_decay_fn=lambda rate, s: rate / 2.0, summaries=["loss", "gradients"])
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 3
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(train) == 17.0 and sess.run(step) == 1
        got = {v.op.name: sess.run(v) for v in tf.global_variables()}
    np.testing.assert_allclose(got["Variable"], [2 - 0.25 * 0.4, 1 - 0.25 * 0.2])
    np.testing.assert_allclose(got["e/embeddings"][:, 0], [0.75, 0.25, 1, 1])
    assert got["OptimizeLoss/learning_rate"] == 0.5 and got["seen"] == 1.0
    for arguments, words in (((0.1, "None"), "should be one of"), ((None, "SGD"), "Learning rate is None"),
                             ((-1.0, "SGD"), "Invalid learning_rate"), ((0.1, 3), "a name, a class")):
        with pytest.raises(ValueError, match=words):
            layers.optimize_loss(loss, step, *arguments)
    with pytest.raises(ValueError, match="vocab size"):
        layers.embed_sequence([1])


def test_lazy_adam_leaves_other_rows():
    lazy, plain = (tf.Variable(tf.ones([4, 2])) for _ in range(2))
    ids = tf.placeholder(tf.int32, [None])

    def trained(v, opt):
        return opt.minimize(tf.reduce_sum(tf.gather(v, ids) ** 2), var_list=[v])

    steps = [trained(lazy, tf.contrib.opt.LazyAdamOptimizer(0.1)), trained(plain, tf.train.AdamOptimizer(0.1))]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for chosen in ([0, 2, 2], [2]):
            sess.run(steps, {ids: chosen})
        a, b = sess.run([lazy, plain])
    np.testing.assert_allclose(a[2], b[2], rtol=1e-6)  # a row in every gradient: the same
    assert b[0, 0] < 0.85 < a[0, 0] < 0.95 and (a[[1, 3]] == 1).all()


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_separable_convolution(data_format):
    layers = tf.contrib.layers
    x = RNG.randn(2, 6, 5, 3).astype("f")
    given = tf.constant(x if data_format == "NHWC" else x.transpose(0, 3, 1, 2))
    y = layers.separable_conv2d(given, 4, 3, 2, stride=2, data_format=data_format, scope="s")
    each = layers.separable_conv2d(given, None, [3, 3], 1, data_format=data_format, activation_fn=None, scope="d")
    variables = {v.op.name: v for v in tf.trainable_variables()}
    assert {n: v.shape.as_list() for n, v in variables.items()} == {
        "s/depthwise_weights": [3, 3, 3, 2], "s/pointwise_weights": [1, 1, 6, 4], "s/biases": [4],
        "d/depthwise_weights": [3, 3, 3, 1], "d/biases": [3]}
    want = tf.nn.relu(tf.nn.separable_conv2d(x, variables["s/depthwise_weights"], variables["s/pointwise_weights"],
                                             [1, 2, 2, 1], "SAME"))
    alone = tf.nn.depthwise_conv2d(x, variables["d/depthwise_weights"], [1, 1, 1, 1], "SAME")
    got = run([y, each, want, alone])
    for a, b in zip(got[:2], got[2:]):
        np.testing.assert_allclose(a if data_format == "NHWC" else a.transpose(0, 2, 3, 1), b, rtol=1e-4, atol=1e-5)


def test_small_layers_and_summaries():
    layers = tf.contrib.layers
    x = tf.constant([[1.0, 5.0, 2.0, -3.0]])
    relu = tf.nn.relu6(x, name="r")
    tf.add_to_collection("watched", relu)
    made = [layers.summarize_activation(relu), *layers.summarize_collection("watched", "r"), layers.summarize_tensor(3.0, "t")]
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 5 and len(run(made)) == 3
    assert run(layers.maxout(x, 2)).tolist() == [[5, 2]] and layers.elu(x, 2).op.type == "Elu"
    assert layers.relu6(x, 2).op.type == "Relu6" and run(tf.concat_v2([x, x], 1)).shape == (1, 8)
    with pytest.raises(ValueError, match="not a multiple"):
        layers.maxout(x, 3)
    assert tf.contrib.framework.load_variable is tf.train.load_variable


# -- lookup -----------------------------------------------------------------------------------------------


def test_lookup_by_its_older_names():
    lookup = tf.contrib.lookup
    assert all(callable(getattr(lookup, name)) or name == "FastHashSpec" for name in lookup.__all__)
    words, numbers = tf.constant(["b", "q"]), tf.constant([1, 7], tf.int64)
    places = lookup.string_to_index(words, mapping=["a", "b"], default_value=-5)
    texts = lookup.index_to_string(numbers, mapping=["a", "b"], default_value="?")
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"Run tf.tables_initializer\(\)"):
            session.run(places)
        session.run(tf.tables_initializer())
        assert session.run(places).tolist() == [1, -5] and session.run(texts).tolist() == [b"b", b"?"]
    with tf.Session() as other, pytest.raises(tf.errors.FailedPreconditionError):
        other.run(places)  # what a table holds is a session's


def test_tables_of_one_shared_name_are_one():
    def made(value, shared_name="t"):
        filled = tf.contrib.lookup.KeyValueTensorInitializer(["a"], [value], value_dtype=tf.int64)
        return tf.contrib.lookup.HashTable(filled, -1, shared_name=shared_name)

    first, second, apart = made(3), made(4), made(5, None)
    with tf.Session() as session:
        session.run(first.init)
        session.run([second.init, apart.init])  # the first stays as it was filled
        assert session.run([t.lookup(tf.constant("a")) for t in (first, second, apart)]) == [3, 3, 5]
    wrong = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, shared_name="t")
    with tf.Session() as session:
        session.run(first.init)
        with pytest.raises(tf.errors.InvalidArgumentError, match="has the shared name 't'"):
            session.run(wrong.size())
