"""tf.contrib: what its layers compute, what their variables are called, scopes of arguments, settings."""
import copy
import pickle

import numpy as np
import pytest

import regrad as tf
from regrad.contrib.lstm_block import block_lstm

layers, framework, slim = tf.contrib.layers, tf.contrib.framework, tf.contrib.slim
X = np.random.RandomState(0).randn(2, 5, 6, 3).astype(np.float32)


def run(fetches, feeds=None):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)


def test_fully_connected():
    y = layers.fully_connected(tf.constant(X), 4, weights_regularizer=layers.l2_regularizer(0.1), scope="fc",
                               outputs_collections="ends")
    w, b = tf.trainable_variables()
    assert [v.name for v in (w, b)] == ["fc/weights:0", "fc/biases:0"] and framework.get_model_variables() == [w, b]
    assert y.shape.as_list() == [2, 5, 6, 4] and tf.get_collection("ends") == [y]
    value, weights, loss = run([y, w, tf.losses.get_regularization_loss()])
    np.testing.assert_allclose(value, np.maximum(X @ weights, 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(loss, 0.05 * (weights ** 2).sum(), rtol=1e-5)
    again = layers.fully_connected(tf.constant(X), 4, reuse=True, scope="fc")
    assert len(tf.trainable_variables()) == 2 and again.shape == y.shape
    assert layers.linear(tf.ones([1, 2]), 3, biases_initializer=None).op.type == "MatMul"


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_convolutions_and_pools(data_format):
    x = tf.constant(X if data_format == "NHWC" else X.transpose(0, 3, 1, 2))
    y = layers.conv2d(x, 4, [3, 2], 2, data_format=data_format, scope="c", activation_fn=None)
    up = layers.conv2d_transpose(y, 3, 3, 2, data_format=data_format, scope="t")
    pools = [layers.max_pool2d(x, 2, data_format=data_format), layers.avg_pool2d(x, [2, 3], 1, "SAME", data_format=data_format)]
    kernel, _, back, _ = tf.trainable_variables()
    assert [v.op.name for v in tf.trainable_variables()] == ["c/weights", "c/biases", "t/weights", "t/biases"]
    expected = [tf.nn.conv2d(X, kernel, [1, 2, 2, 1], "SAME"), tf.nn.max_pool(X, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
                tf.nn.avg_pool(X, [1, 2, 3, 1], [1, 1, 1, 1], "SAME")]
    expected.append(tf.nn.relu(tf.nn.conv2d_transpose(expected[0], back, [2, 6, 6, 3], [1, 2, 2, 1], "SAME")))
    ours, theirs = run([[y, *pools, up], expected])
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a if data_format == "NHWC" else a.transpose(0, 2, 3, 1), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fused", [None, False], ids=["fused", "in parts"])
@pytest.mark.parametrize("in_place", [False, True], ids=["collected", "in place"])
def test_batch_norm(in_place, fused):
    training = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 3])
    y = layers.batch_norm(x, 0.9, scale=True, is_training=training, scope="bn", fused=fused,
                          **({"updates_collections": None} if in_place else {}))
    names = [v.op.name for v in framework.get_model_variables()]
    assert names == ["bn/beta", "bn/gamma", "bn/moving_mean", "bn/moving_variance"]
    assert [v.op.name for v in tf.trainable_variables()] == names[:2]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == (0 if in_place else 2)
    data = X.reshape(-1, 3)
    mean, variance = data.mean(0), data.var(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        value = sess.run([y, updates], {x: data, training: True})[0]
        np.testing.assert_allclose(value, (data - mean) / np.sqrt(variance + 0.001), rtol=1e-4, atol=1e-5)
        moving = sess.run(tf.global_variables()[2:])
        variance *= 1 if fused is False else len(data) / (len(data) - 1)
        np.testing.assert_allclose(moving, [0.1 * mean, 0.9 + 0.1 * variance], rtol=1e-4, atol=1e-6)
        value = sess.run(y, {x: data, training: False})
        np.testing.assert_allclose(value, (data - 0.1 * mean) / np.sqrt(0.9 + 0.1 * variance + 0.001), rtol=1e-4, atol=1e-5)
        sess.run([y, updates], {x: data, training: False})
        np.testing.assert_allclose(sess.run(tf.global_variables()[2:]), moving)


def test_other_normalizers_and_small_layers():
    x = tf.constant(X)
    made = [layers.layer_norm(x), layers.instance_norm(x), layers.unit_norm(x, 2), layers.flatten(x),
            layers.one_hot_encoding(tf.constant([1, 0]), 3), layers.dropout(x, 0.5, is_training=False), layers.bias_add(x),
            layers.softmax(x)]
    values = run(made)
    whole = X - X.mean((1, 2, 3), keepdims=True)
    np.testing.assert_allclose(values[0], whole / X.std((1, 2, 3), keepdims=True), rtol=1e-4, atol=1e-5)
    each = X - X.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(values[1], each / X.std((1, 2), keepdims=True), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(values[2], X / np.linalg.norm(X, axis=2, keepdims=True), rtol=1e-4)
    np.testing.assert_array_equal(values[3], X.reshape(2, -1))
    assert values[4].tolist() == [[0, 1, 0], [1, 0, 0]]
    np.testing.assert_array_equal(values[5], X)
    np.testing.assert_array_equal(values[6], X)
    np.testing.assert_allclose(values[7].sum(-1), 1, rtol=1e-5)
    dropped = run(layers.dropout(tf.ones([1000]), 0.8, seed=1))
    assert set(np.unique(dropped)) == {0, 1.25} and 0.7 < (dropped > 0).mean() < 0.9


def test_arg_scopes():
    settings = {"activation_fn": None, "weights_initializer": tf.ones_initializer()}
    with slim.arg_scope([slim.conv2d, slim.fully_connected], **settings) as s, slim.arg_scope([slim.conv2d], padding="VALID"):
        a = slim.conv2d(tf.ones([1, 4, 4, 1]), 1, 3, scope="a")
        b = slim.fully_connected(tf.ones([1, 2]), 1, activation_fn=tf.negative)
    with slim.arg_scope(s):
        c = slim.conv2d(tf.ones([1, 4, 4, 1]), 1, 3, scope="c")
    d = slim.conv2d(tf.ones([1, 4, 4, 1]), 1, 3, scope="d")
    assert [t.shape.as_list() for t in (a, c, d)] == [[1, 2, 2, 1], [1, 4, 4, 1], [1, 4, 4, 1]]
    assert d.op.type == "Relu" and run(b).tolist() == [[-2]] and run(a).tolist()[0][0][0] == [9]
    assert slim.has_arg_scope(slim.conv2d) and slim.arg_scoped_arguments(slim.conv2d) == {}
    for wrong, error in ((lambda: slim.arg_scope([len], x=1), ValueError), (lambda: slim.arg_scope(3, x=1), TypeError),
                         (lambda: slim.arg_scope(s, x=1), ValueError)):
        with pytest.raises(error), wrong():
            pass


def test_stacks_and_repetitions():
    x = slim.stack(tf.ones([2, 3]), slim.fully_connected, [4, 5], scope="fc")
    y = slim.repeat(tf.ones([1, 4, 4, 1]), 2, slim.conv2d, 3, [3, 3], scope="conv")
    names = [v.op.name for v in tf.trainable_variables()]
    assert names[::2] == ["fc/fc_1/weights", "fc/fc_2/weights", "conv/conv_1/weights", "conv/conv_2/weights"]
    assert x.shape.as_list() == [2, 5] and y.shape.as_list() == [1, 4, 4, 3]
    assert slim.get_variables_to_restore(exclude=["fc"]) == slim.get_variables("conv")
    assert len(slim.get_variables_by_name("biases")) == 4 and len(slim.get_variables("fc", "weights")) == 2


def test_initializers_and_regularizers():
    draw = run(layers.xavier_initializer(seed=1)([300, 100]))
    assert abs(draw).max() <= np.sqrt(6 / 400) and abs(draw.var() - 2 / 400) < 1e-4
    normal = run(layers.variance_scaling_initializer(seed=1)([3, 3, 20, 40]))
    # a deviation of sqrt(1.3 factor / n), of which the cut at two deviations leaves 0.88
    assert abs(normal.std() - 0.8796 * np.sqrt(1.3 * 2 / 180)) < 2e-3
    w = tf.constant([1.0, -2.0])
    both = layers.l1_l2_regularizer(0.5, 0.1)
    losses = run([layers.l1_regularizer(0.5)(w), both(w), layers.sum_regularizer([both, None])(w)])
    assert losses == pytest.approx([1.5, 1.75, 1.75])
    assert layers.l2_regularizer(0.0)(w) is None and layers.sum_regularizer([]) is None
    assert run(layers.apply_regularization(layers.l2_regularizer(1.0), [w])) == 2.5
    for wrong in (lambda: layers.l2_regularizer(1), lambda: layers.l1_regularizer(-0.1),
                  lambda: layers.apply_regularization(both)):
        with pytest.raises(ValueError):
            wrong()


def test_settings_of_a_program():
    h = tf.contrib.training.HParams(rate=0.1, sizes=[3, 4], name="x", deep=True)
    assert h.rate == 0.1 and "rate" in h and h.get("none", 5) == 5
    h.parse("rate=0.5,sizes=[1,2,3],name=y,deep=false")
    assert h.values() == {"rate": 0.5, "sizes": [1, 2, 3], "name": "y", "deep": False}
    twin = copy.deepcopy(h)
    twin.sizes.append(5)
    twin.rate = 0.2
    assert (h.rate, h.sizes, pickle.loads(pickle.dumps(twin)).values()["rate"]) == (0.5, [1, 2, 3], 0.2)
    assert tf.contrib.training.HParams(rate=1.0).parse_json('{"rate": 2}').rate == 2.0
    assert h.to_json(sort_keys=True).startswith('{"deep": false')
    for wrong in (lambda: h.parse("none=1"), lambda: h.set_hparam("sizes", 3), lambda: h.set_hparam("rate", "fast"),
                  lambda: h.add_hparam("rate", 1)):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(AttributeError, match="it has rate"):
        h.missing  # noqa: B018


def test_names_of_the_other_parts():
    assert tf.contrib.rnn.BasicLSTMCell is tf.nn.rnn_cell.BasicLSTMCell
    assert tf.contrib.opt.AdamWOptimizer.__base__ is tf.contrib.opt.DecoupledWeightDecayExtension
    assert framework.get_or_create_global_step() is tf.train.get_global_step()
    assert slim.losses is tf.contrib.losses and slim.metrics is tf.contrib.metrics
    with pytest.raises(AttributeError, match="Regrad leaves tf.contrib.learn.Estimator out"):
        tf.contrib.learn.Estimator  # noqa: B018


def test_an_lstm_in_one_operation_is_the_cell_step_by_step():
    x = tf.constant(np.random.RandomState(0).rand(4, 2, 3).astype(np.float32))
    fused = tf.contrib.rnn.LSTMBlockFusedCell(5, use_peephole=True)
    outputs, state = fused(x, dtype=tf.float32, sequence_length=[4, 2])
    listed, listed_state = fused([x[i] for i in range(4)], dtype=tf.float32, sequence_length=[4, 2])
    by_lists = block_lstm(4, [x[i] for i in range(4)], *fused.weights[:2], None, None, *fused.weights[2:], use_peephole=True)
    assert len(listed) == 4 and [len(part) for part in by_lists] == [4] * 7
    cell = tf.nn.rnn_cell.LSTMCell(5, use_peepholes=True)
    steps, last = tf.nn.dynamic_rnn(cell, x, [4, 2], dtype=tf.float32, time_major=True)
    names = {v.op.name.rpartition("/")[2]: v for v in fused.variables}
    for v in cell.variables:
        source = names[v.op.name.rpartition("/")[2]]
        tf.add_to_collection("same", v.assign(source))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([v.assign(np.linspace(-1, 1, 5)) for k, v in names.items() if "diag" in k])
        session.run(tf.get_collection("same"))
        got, want, again, whole = session.run([[outputs, state], [steps, last], [listed, listed_state], by_lists[6]])
    np.testing.assert_allclose(got[0], want[0], atol=1e-6)
    np.testing.assert_allclose(got[1], want[1], atol=1e-6)
    np.testing.assert_array_equal(again[0], got[0])
    np.testing.assert_array_equal(again[1], got[1])
    np.testing.assert_allclose(np.array(whole)[:, 0], got[0][:, 0], atol=1e-6)


def test_images_turned_and_moved():
    x = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    image = tf.contrib.image
    both = image.compose_transforms(image.angles_to_projective_transforms(np.pi / 2, 3, 3),
                                    image.translations_to_projective_transforms([1, 0]))
    with tf.Session() as session:
        made = [image.rotate(x, np.pi / 2), image.translate(x, [1, 0]), image.transform(x, both)]
        turned, moved, composed = session.run(made)
    np.testing.assert_array_equal(turned, np.rot90(x))
    np.testing.assert_array_equal(moved, [[0, 0, 1], [0, 3, 4], [0, 6, 7]])
    np.testing.assert_array_equal(composed, np.pad(np.rot90(x), [[0, 0], [1, 0]])[:, :3])  # turned, then moved


def test_images_warped_by_a_flow():
    rng = np.random.RandomState(0)
    value, flow = rng.randn(2, 4, 5, 3), rng.uniform(-3, 3, [2, 4, 5, 2])
    x, f = tf.placeholder(tf.float64, [2, 4, 5, 3]), tf.placeholder(tf.float64, [2, 4, 5, 2])
    y = tf.contrib.image.dense_image_warp(x, f)
    assert y.shape == x.shape
    j, i = np.clip(np.arange(4)[:, None] - flow[..., 0], 0, 3), np.clip(np.arange(5) - flow[..., 1], 0, 4)
    hats = [np.maximum(0, 1 - abs(places[..., None] - np.arange(n))) for places, n in ((j, 4), (i, 5))]
    with tf.Session() as session:
        want = np.einsum("bjip,bjiq,bpqc->bjic", *hats, value)
        np.testing.assert_allclose(session.run(y, {x: value, f: flow}), want, atol=1e-12)
        assert tf.test.compute_gradient_error([x, f], [x.shape, f.shape], y, y.shape, [value, flow]) < 1e-8
        # On pixels TensorFlow's flow has no gradient, but on the last ones. One of float16 moves other images, too.
        on_pixels = np.zeros(flow.shape)
        slopes = session.run(tf.gradients(y, f)[0], {x: value, f: on_pixels})
        on_pixels[:, 3, :, 0] = (value[:, 2] - value[:, 3]).sum(-1)
        on_pixels[:, :, 4, 1] = (value[:, :, 3] - value[:, :, 4]).sum(-1)
        np.testing.assert_allclose(slopes, on_pixels, atol=1e-12)
        single = tf.contrib.image.dense_image_warp(tf.constant(value, tf.float32), tf.ones(f.shape, tf.float16))
        np.testing.assert_array_equal(session.run(single)[:, 1:, 1:], value[:, :-1, :-1].astype(np.float32))
        free = tf.placeholder(tf.float32, [None, None, None, 1])
        warped = tf.contrib.image.dense_image_warp(free, tf.zeros_like(tf.tile(free, [1, 1, 1, 2])))
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(warped, {free: np.ones([1, 3, 1, 1])})
    with pytest.raises(tf.errors.InvalidArgumentError, match="height"):
        tf.contrib.image.dense_image_warp(tf.ones([1, 1, 3, 1]), tf.ones([1, 1, 3, 2]))
    with pytest.raises(ValueError, match="flow must have"):
        tf.contrib.image.dense_image_warp(x, tf.ones([1, 4, 5, 2], tf.float64))


def test_the_projector_is_told_what_to_show(tmp_path):
    projector = tf.contrib.tensorboard.plugins.projector
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words:0", "words.tsv"
    embedding.sprite.image_path = "all.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(tmp_path) as writer:
        projector.visualize_embeddings(writer, config)
    assert (tmp_path / "projector_config.pbtxt").read_text().split() == (
        'embeddings { tensor_name: "words:0" metadata_path: "words.tsv" '
        'sprite { image_path: "all.png" single_image_dim: 28 single_image_dim: 28 } }').split()
    assert projector.ProjectorConfig.FromString(config.SerializeToString()) == config


def test_gdn_divides_by_the_energy_of_all_channels():
    x = np.random.RandomState(0).rand(2, 3, 4).astype(np.float32)
    y, back = layers.gdn(tf.constant(x)), layers.gdn(tf.constant(x), inverse=True, name="back")
    grads = tf.gradients(y, tf.trainable_variables()[:2])
    root = np.sqrt(1 + 0.1 * x ** 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run([y, back, grads])
    np.testing.assert_allclose(got[0], x / root, rtol=1e-4)
    np.testing.assert_allclose(got[1], x * root, rtol=1e-4)
    assert [g.shape for g in got[2]] == [(4,), (4, 4)]
    # Below its bound a variable is pushed back, and not further down.
    bound = tf.constant([1.0, 1.0])
    v = tf.constant([0.5, 2.0])
    with tf.get_default_graph().gradient_override_map({"Maximum": "GDNLowerBound"}):
        kept = tf.maximum(v, bound)
    up, down = (tf.gradients(kept, v, grad_ys=tf.constant([s, s]))[0] for s in (-1.0, 1.0))
    with tf.Session() as session:
        assert [list(g) for g in session.run([up, down])] == [[-1, -1], [0, 1]]


def test_scipy_minimises_within_bounds_and_tells_of_its_steps():
    rng = np.random.RandomState(0)
    w = tf.get_variable("w", [2, 2], tf.float64, initializer=tf.zeros_initializer())
    b = tf.get_variable("b", initializer=np.float64(3))
    unused = tf.get_variable("unused", initializer=np.float64(7))
    scale = tf.placeholder(tf.float64, [])
    target = rng.randn(2, 2) * 2
    loss = tf.reduce_sum((w - target) ** 2 * scale) + (b - 1) ** 4
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, var_to_bounds={w: (-1, np.full([2, 2], 0.5))},
                                                       options={"maxiter": 100, "ftol": 1e-14, "gtol": 1e-10})
    losses, steps = [], []

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        optimizer.minimize(sess, {scale: 2.0}, fetches=[loss, b], loss_callback=lambda *seen: losses.append(seen),
                           step_callback=lambda x: steps.append(x.shape))
        got_w, got_b, got_unused = sess.run([w, b, unused])

    np.testing.assert_allclose(got_w, np.clip(target, -1, 0.5), atol=1e-6)
    np.testing.assert_allclose(got_b, 1, atol=0.02)
    assert got_unused == 7 and set(steps) == {(6,)}
    assert losses[0][1] == 3 and losses[-1][0] < losses[0][0]


def test_scipy_keeps_constraints():
    v = tf.get_variable("v", initializer=np.float32([-1, -1]))
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(tf.reduce_sum(tf.square(v)), equalities=[v[0] + v[1] - 4.0],
                                                       inequalities=[v[0] - 3.0], method="SLSQP")
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        optimizer.minimize()
        np.testing.assert_allclose(v.eval(), [3, 1], atol=1e-3)


def test_external_optimizers_refuse():
    a, b = tf.get_variable("a", initializer=1.0), tf.get_variable("b", initializer=1.0)
    with pytest.raises(ValueError, match="b:0 is not among"):
        tf.contrib.opt.ScipyOptimizerInterface(a * b, [a], var_to_bounds={b: (0, 1)})
    with pytest.raises(ValueError, match="no variable is trainable"), tf.Graph().as_default():
        tf.contrib.opt.ScipyOptimizerInterface(tf.constant(1.0))
    with pytest.raises(ValueError, match="needs a session"):
        tf.contrib.opt.ScipyOptimizerInterface(a * b).minimize()


def test_losses_take_predictions_first():
    rng = np.random.RandomState(0)
    logits, one_hot = tf.constant(rng.randn(4, 3), tf.float32), tf.constant(np.eye(3)[[0, 2, 1, 1]], tf.float32)
    ours = [slim.losses.softmax_cross_entropy(logits, one_hot, weights=[1.0, 0, 1, 1]),
            slim.losses.sigmoid_cross_entropy(logits, one_hot), slim.losses.log_loss(tf.sigmoid(logits), one_hot),
            slim.losses.sparse_softmax_cross_entropy(logits, tf.constant([0, 2, 1, 1])),
            slim.losses.mean_squared_error(logits, one_hot), slim.losses.cosine_distance(logits, one_hot, dim=1)]
    total = slim.losses.get_total_loss()
    theirs = [tf.losses.softmax_cross_entropy(one_hot, logits, weights=[1.0, 0, 1, 1]),
              tf.losses.sigmoid_cross_entropy(one_hot, logits), tf.losses.log_loss(one_hot, tf.sigmoid(logits)),
              tf.losses.sparse_softmax_cross_entropy([0, 2, 1, 1], logits),
              tf.losses.mean_squared_error(one_hot, logits), tf.losses.cosine_distance(one_hot, logits, axis=1)]
    hinge = slim.losses.hinge_loss(logits, one_hot)

    got, want, all_of_them, each = run([ours, theirs, total, hinge])
    np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(all_of_them, np.sum(want), rtol=1e-6)
    assert each.shape == (4, 3)
    assert len(tf.losses.get_losses()) == 12


def test_metrics_take_predictions_first():
    predictions, labels = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 0, 1])
    values, updates = slim.metrics.aggregate_metric_map({
        "accuracy": tf.contrib.metrics.streaming_accuracy(predictions, labels),
        "precision": slim.metrics.streaming_precision(predictions, labels),
        "mean": slim.metrics.streaming_mean(tf.to_float(labels))})
    now = tf.contrib.metrics.accuracy(predictions, labels, weights=[1.0, 2.0, 0, 1])

    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(updates)
        got = sess.run(values)
        assert {k: round(float(v), 4) for k, v in got.items()} == {"accuracy": 0.5, "precision": 0.6667, "mean": 0.75}
        assert sess.run(now) == 0.5


def test_covariance_and_correlation_over_batches():
    rng = np.random.RandomState(0)
    x, y, w = rng.randn(12), rng.randn(12) + 5, rng.randint(0, 3, 12)
    fed = [tf.placeholder(tf.float32, [None]) for _ in range(3)]
    pairs = [tf.contrib.metrics.streaming_covariance(*fed), tf.contrib.metrics.streaming_covariance(fed[0], fed[1]),
             tf.contrib.metrics.streaming_pearson_correlation(fed[0], fed[1])]
    values, updates = zip(*pairs)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert np.isnan(sess.run(values)).all()
        for i in range(0, 12, 4):
            updated = sess.run(updates, dict(zip(fed, (x[i:i + 4], y[i:i + 4], w[i:i + 4]))))
        got = sess.run(values)
    np.testing.assert_allclose(got, [np.cov(x, y, fweights=w)[0, 1], np.cov(x, y)[0, 1], np.corrcoef(x, y)[0, 1]], rtol=1e-4)
    np.testing.assert_allclose(updated, got, rtol=1e-6)


def test_create_train_op_scales_and_clips_gradients():
    a, b = tf.get_variable("a", initializer=1.0), tf.get_variable("b", initializer=1.0)
    ran = tf.get_variable("ran", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, ran.assign_add(1.0))
    loss = 3.0 * a + 0.5 * b
    train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0), clip_gradient_norm=2,
                                             gradient_multipliers={"b": 2.0}, summarize_gradients=True)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(train_op) == 3.5
        assert sess.run([a, b, ran, tf.train.get_global_step()]) == [-1, 0, 1, 1]
    assert len(tf.get_collection(tf.GraphKeys.SUMMARIES)) == 4
    with pytest.raises(ValueError, match="empty"):
        slim.learning.multiply_gradients([(a, b)], {})


def test_a_loss_that_is_not_a_number_stops_training():
    a = tf.get_variable("a", initializer=-1.0)
    train_op = slim.learning.create_train_op(tf.log(a), tf.train.GradientDescentOptimizer(1.0))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
            sess.run(train_op)


def test_trains_goes_on_and_evaluates(tmp_path):
    def build():
        w = slim.model_variable("w", [1], initializer=tf.ones_initializer())
        return w, tf.reduce_sum(tf.square(w))

    for steps, want in ((3, 0.8**4), (5, 0.8**8)):  # the loss before the last step
        with tf.Graph().as_default():
            _, loss = build()
            train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
            last = slim.learning.train(train_op, str(tmp_path), number_of_steps=steps, summary_op=None, log_every_n_steps=2)
            np.testing.assert_allclose(last, want, rtol=1e-5)

    w, loss = build()
    mean, update = tf.metrics.mean(w)
    got = slim.evaluation.evaluate_once("", tf.train.latest_checkpoint(str(tmp_path)), eval_op=update, num_evals=2,
                                        final_op=[mean, loss])
    np.testing.assert_allclose(got, [0.8**5, 0.8**10], rtol=1e-5)


def test_evaluations_are_counted_and_summarised(tmp_path):
    w = tf.get_variable("w", initializer=3.0)
    tf.summary.scalar("w", w)
    tf.train.get_or_create_global_step()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"), global_step=0)
    training = tf.contrib.training
    ran = tf.get_variable("ran", initializer=0, collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    hooks = [training.StopAfterNEvalsHook(4), training.SummaryAtEndHook(str(tmp_path / "eval"))]
    assert training.evaluate_once(path, eval_ops=tf.assign_add(ran, 1), final_ops={"w": w, "ran": ran}, hooks=hooks) == {
        "w": 3.0, "ran": 4}
    values = [v.simple_value for f in (tmp_path / "eval").iterdir() for e in tf.train.summary_iterator(str(f))
              for v in e.summary.value]
    assert values == [3.0]
    assert training.evaluate_repeatedly(str(tmp_path), final_ops=ran, timeout=0, eval_interval_secs=0) == 0
    with tf.Graph().as_default():
        w = tf.get_variable("w", [])
        assert slim.evaluation.evaluation_loop("", str(tmp_path), None, 2, eval_op=tf.no_op(), final_op=w,
                                               eval_interval_secs=0, max_number_of_evaluations=1) == 3.0
    assert training.wait_for_new_checkpoint(str(tmp_path), path, timeout=0) is None


def test_contrib_training_trains_until_a_hook_stops_it():
    loss = tf.square(tf.get_variable("w", initializer=1.0))
    train_op = slim.learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))
    last = tf.contrib.training.train(train_op, None, hooks=[tf.train.StopAtStepHook(3)], save_checkpoint_secs=None,
                                     save_summaries_steps=None)
    np.testing.assert_allclose(last, 0.8**4, rtol=1e-5)
    with pytest.raises(ValueError, match="logdir cannot be None when save_summaries_steps"):
        tf.contrib.training.train(train_op, None)


def test_values_of_a_checkpoint_and_of_arrays_are_assigned(tmp_path):
    a, b = slim.model_variable("net/a", [2], initializer=tf.ones_initializer()), tf.get_variable("b", initializer=5.0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver([a]).save(sess, str(tmp_path / "model"))
        sess.run([a.assign([7, 7]), b.assign(7.0)])
        sess.run(*slim.assign_from_checkpoint(path, [a, b], ignore_missing_vars=True))
        assert sess.run([a[0], b]) == [1, 7]
        framework.assign_from_values_fn({"net/a": [2.0, 3.0], "b": 4.0})(sess)
        assert sess.run([a[1], b]) == [3, 4]

    with pytest.raises(ValueError, match=r"missing variable \[b\]"):
        slim.assign_from_checkpoint(path, [b])
    with pytest.raises(ValueError, match=r"has \[2\], the variable \[\]"):
        slim.assign_from_checkpoint(path, {"net/a": b})
    with pytest.raises(ValueError, match="c was not found"):
        framework.get_unique_variable("c")
    assert framework.list_variables(path) == [("net/a", [2])]
    assert framework.filter_variables([a, b], ["^net", "b"], ["a$"]) == [b]
    assert framework.filter_variables([a, b], ["a"], reg_search=False) == []


def test_small_parts():
    counter = framework.local_variable(3, name="counter")
    framework.add_model_variable(counter)
    framework.add_model_variable(counter)
    assert tf.local_variables() == tf.model_variables() == [counter] and tf.global_variables() == []
    assert tf.contrib.util.constant_value(tf.constant(4)) == 4
    np.testing.assert_array_equal(run(tf.contrib.stateless.stateless_random_normal([3], [1, 2])),
                                  run(tf.random.stateless_normal([3], [1, 2])))


@pytest.mark.parametrize(("shape", "data_format"), [([2, 4, 3, 5], "NHWC"), ([2, 5, 4, 3], "NCHW"), ([6, 5], "NHWC")])
def test_batch_norm_is_one_operation_for_images_and_matrices(shape, data_format):
    x = tf.constant(np.random.RandomState(1).randn(*shape).astype(np.float32))
    y, z = (layers.batch_norm(x, data_format=data_format, fused=f, updates_collections=None, scope=s)
            for f, s in ((None, "a"), (False, "b")))
    assert y.shape == x.shape
    assert {op.type for op in tf.get_default_graph().get_operations() if op.name.startswith("a/")} & {"FusedBatchNormV3"}
    weights = tf.constant(np.random.RandomState(2).randn(*shape).astype(np.float32))
    a, b, *slopes = run([y, z, *(tf.gradients(v * weights, x)[0] for v in (y, z))])
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(*slopes, rtol=1e-3, atol=1e-4)
