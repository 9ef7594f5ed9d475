"""tf.contrib.quantize: what rewriting a graph changes, and what it leaves."""
import numpy as np
import pytest

import regrad as tf
from regrad.contrib import quantize, slim
from tests.cases.quantise import fake

RNG = np.random.RandomState(0)
X, LABELS = RNG.randn(6, 6, 6, 3).astype("f"), RNG.randint(0, 4, 6)


def network(training, fused=True):
    """A convolution, a depthwise one, a sum of two branches, a product of matrices without a normalisation."""
    norm = {"normalizer_fn": slim.batch_norm, "normalizer_params": {"is_training": training, "scale": True, "decay": 0.9}}
    h = slim.conv2d(X, 4, [3, 3], scope="a", **norm)
    h = slim.separable_conv2d(h, None, [3, 3], 1, scope="b", **norm)
    h = tf.nn.relu6(slim.conv2d(h, 4, [1, 1], activation_fn=None, scope="p", **norm) + h, name="join")
    h = tf.layers.conv2d(h, 4, 3, name="c", use_bias=False)
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=training, momentum=0.9, fused=fused, name="cbn"))
    return tf.identity(tf.layers.dense(tf.layers.flatten(h), 4, name="d"), name="logits")


def train(rewrite=None, steps=2, fused=True):
    """Returns [(loss, gradients) of each step], and the values of all variables after them."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        logits, step = network(True, fused), tf.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits))
        if rewrite is not None:
            rewrite()
        variables = tf.trainable_variables()
        grads = tf.gradients(loss, variables)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            update = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(grads, variables), step)
        sess.run(tf.global_variables_initializer())
        seen = [sess.run([loss, grads, update])[:2] for _ in range(steps)]
        return seen, {v.op.name: sess.run(v) for v in tf.global_variables()}


def restored(values, rewrite):
    """Returns the logits of an evaluation graph with the values of `train`, and the operations that round in it."""
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        logits = network(False)
        rewrite()
        for v in tf.global_variables():
            v.load(values[v.op.name], sess)
        return sess.run(logits), [op.name for op in graph.get_operations() if op.type.startswith("FakeQuant")]


@pytest.mark.parametrize("fused", [True, False])
def test_before_rounding_begins_training_is_the_same(fused):
    plain, values = train(fused=fused)
    folded, more = train(lambda: quantize.create_training_graph(quant_delay=100), fused=fused)
    for (loss, grads), (loss_too, grads_too) in zip(plain, folded):
        np.testing.assert_allclose(loss, loss_too, rtol=1e-6)
        for g, h in zip(grads, grads_too):
            np.testing.assert_allclose(h, g, rtol=1e-3, atol=2e-6)
    for name, value in values.items():
        np.testing.assert_allclose(more[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_training_measures_ranges():
    _, values = train(lambda: quantize.experimental_create_training_graph(freeze_bn_delay=0), steps=2)
    places = {name.rpartition("/")[0] for name in values if name.endswith("_quant/min")}
    assert places == {"a/weights_quant", "a/act_quant", "b/weights_quant", "b/act_quant", "p/weights_quant", "p/conv_quant",
                      "act_quant", "c/weights_quant", "c/act_quant", "d/weights_quant", "d/act_quant"}
    np.testing.assert_array_equal(values["c/act_quant/min"], 0)
    assert 0 < values["act_quant/max"] <= 6 and values["d/act_quant/min"] < 0
    assert values["cbn/moving_variance"].tolist() == [1, 1, 1, 1], "frozen from the beginning"


def test_evaluation_rounds_in_the_ranges_of_training():
    _, values = train(quantize.create_training_graph)
    got, rounding = restored(values, quantize.create_eval_graph)
    assert len(rounding) == 10  # all but the logits, which nothing takes

    def rounded(x, place, weights=False):
        return fake(x, values[f"{place}_quant/min"], values[f"{place}_quant/max"], narrow_range=weights)

    def folded(scope, norm, weights, depthwise=False):
        factor = values[f"{norm}/gamma"] / np.sqrt(values[f"{norm}/moving_variance"] + 0.001)
        scaled = values[weights] * (factor.reshape(-1, 1) if depthwise else factor)
        return rounded(scaled, f"{scope}/weights", True), values[f"{norm}/beta"] - values[f"{norm}/moving_mean"] * factor

    def conv(x, w, padding="SAME"):
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))) if padding == "SAME" and w.shape[0] == 3 else x
        out = x.shape[1] - w.shape[0] + 1
        return sum(x[:, i:i + out, j:j + out] @ w[i, j] for i in range(w.shape[0]) for j in range(w.shape[1]))

    relu = lambda x: np.maximum(x, 0)  # noqa: E731
    w, bias = folded("a", "a/BatchNorm", "a/weights")
    h = rounded(relu(conv(X, w) + bias), "a/act")
    w, bias = folded("b", "b/BatchNorm", "b/depthwise_weights", True)
    h = rounded(relu(conv(h, np.einsum("ijc,cd->ijcd", w[..., 0], np.eye(4))) + bias), "b/act")
    w, bias = folded("p", "p/BatchNorm", "p/weights")
    h = rounded(np.clip(rounded(conv(h, w) + bias, "p/conv") + h, 0, 6), "act")
    w, bias = folded("c", "cbn", "c/kernel")
    h = rounded(relu(conv(h, w, "VALID") + bias), "c/act")
    h = h.reshape(6, -1) @ rounded(values["d/kernel"], "d/weights", True) + values["d/bias"]
    np.testing.assert_allclose(got, h, atol=2e-2)  # some numbers fall to the other side of a half
    exact, _ = restored(values, lambda: None)
    assert np.abs(got - h).max() < np.abs(got - exact).max() / 5


def test_moving_averages_that_move_with_the_layer():
    norm = {"is_training": True, "updates_collections": None, "decay": 0.5}

    def moved(rewrite):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(1)
            h = slim.fully_connected(tf.reshape(X, [6, -1]), 4, normalizer_fn=slim.batch_norm, normalizer_params=norm)
            out = tf.reduce_sum(h)
            rewrite()
            sess.run(tf.global_variables_initializer())
            sess.run(out)
            return [sess.run(v) for v in tf.global_variables() if "moving" in v.op.name]

    for a, b in zip(moved(lambda: None), moved(quantize.create_training_graph), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
        assert np.all((a != 0) & (a != 1))
    still = moved(lambda: quantize.experimental_create_training_graph(freeze_bn_delay=0))
    assert [v.tolist() for v in still] == [[0] * 4, [1] * 4]


def test_settings():
    _, values = train(lambda: quantize.experimental_create_training_graph(weight_bits=2, symmetric=True, scope="c"), steps=1)
    assert {name.partition("/")[0] for name in values if name.endswith("_quant/min")} == {"c"}
    np.testing.assert_allclose(values["c/weights_quant/min"], -values["c/weights_quant/max"], rtol=1e-6)
    four, _ = restored(values, lambda: quantize.experimental_create_eval_graph(weight_bits=2, symmetric=True, scope="c"))
    eight, _ = restored(values, lambda: quantize.experimental_create_eval_graph(weight_bits=8, symmetric=True, scope="c"))
    assert np.abs(four - eight).max() > 1e-3


def test_refusals():
    x = tf.get_variable("x", [3])
    tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(x * x))
    with pytest.raises(ValueError, match="Training op found in graph"):
        quantize.create_training_graph()
    with tf.Graph().as_default():
        h = tf.layers.conv2d(X, 4, 3, use_bias=False)
        tf.nn.fused_batch_norm(h, tf.ones([4]), tf.zeros([4]))
        with pytest.raises(ValueError, match="has no moving average"):
            quantize.create_training_graph()
