"""Relevance rules against their published formulas in NumPy, and conservation through whole networks."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

RNG = np.random.RandomState(7)
X = RNG.randn(4, 5)
W = RNG.randn(5, 3)
R = RNG.randn(4, 3)


def run(fetch, feed=None):
    with tf.Session() as session:
        return session.run(fetch, feed)


def divided(z, r):
    """Sum over outputs j of z_ij / sum_i z_ij r_j, for contributions z[n, i, j]; nothing where the sum is 0."""
    total = z.sum(1, keepdims=True)
    return (z * np.divide(r[:, None], total, out=np.zeros_like(total), where=total != 0)).sum(2)


def positive(z):
    return np.maximum(z, 0)


Z = X[:, :, None] * W[None]
SIGN = np.where(Z.sum(1, keepdims=True) >= 0, positive(Z), -positive(-Z))
LOW, HIGH = X.min() - 1, X.max() + 1
FORMULAS = {
    "epsilon": (lambda: rules.lrp_epsilon(1e-12), divided(Z, R)),
    "a large epsilon": (lambda: rules.lrp_epsilon(0.5),
                        (Z * (R / (Z.sum(1) + 0.5 * np.sign(Z.sum(1))))[:, None]).sum(2)),
    "gamma": (lambda: rules.lrp_gamma(0.25, 1e-12), divided(Z + 0.25 * SIGN, R)),
    "gamma 0": (lambda: rules.lrp_gamma(0.0, 1e-12), divided(Z, R)),
    "alpha-beta": (lambda: rules.lrp_alpha_beta(2.0, 1.0), 2 * divided(positive(Z), R) - divided(-positive(-Z), R)),
    "z+": (rules.lrp_z_plus, divided(positive(Z), R)),
    "flat": (rules.lrp_flat, divided(np.ones_like(Z), R)),
    "w^2": (rules.lrp_w_square, divided(np.broadcast_to(W**2, Z.shape), R)),
    "z box": (lambda: rules.lrp_z_box(LOW, HIGH, 1e-12), divided(Z - LOW * positive(W) + HIGH * positive(-W), R)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    make, expected = FORMULAS[name]
    x = tf.constant(X)
    y = tf.matmul(x, tf.constant(W))
    np.testing.assert_allclose(run(tf.gradients(y, x, grad_ys=[tf.constant(R)], overrides={"MatMul": make()})[0]),
                               expected, rtol=1e-9)


def test_excitation_formula():
    a = np.abs(X)
    x = tf.constant(a)
    got = tf.gradients(tf.matmul(x, W), x, grad_ys=[R], overrides={"MatMul": rules.excitation()})[0]
    np.testing.assert_allclose(run(got), divided(a[:, :, None] * positive(W)[None], R))


@pytest.mark.parametrize("name", sorted(set(FORMULAS) - {"a large epsilon"}))
def test_a_convolution_is_the_matrix_product_of_its_patches(name):
    image, kernel = RNG.randn(1, 4, 4, 2), RNG.randn(4, 4, 2, 3)  # one patch: the formulas of a dense layer apply
    r = RNG.randn(1, 3)
    x = tf.constant(image)
    y = tf.reshape(tf.nn.conv2d(x, tf.constant(kernel), [1, 1, 1, 1], "VALID"), [1, 3])
    flat = tf.constant(image.reshape(1, -1))
    z = tf.matmul(flat, tf.constant(kernel.reshape(-1, 3)))
    rule = FORMULAS[name][0]()
    a = tf.gradients(y, x, grad_ys=[r], overrides={"Conv2D": rule})[0]
    b = tf.gradients(z, flat, grad_ys=[r], overrides={"MatMul": rule})[0]
    got, expected = run([a, b])
    np.testing.assert_allclose(got.reshape(1, -1), expected, rtol=1e-8)


LINEAR = {
    "MatMul, transposed": lambda x: tf.matmul(tf.constant(RNG.randn(6, 5)), x, transpose_b=True),
    "BatchMatMul": lambda x: tf.matmul(tf.reshape(x, [2, 2, 5]), tf.constant(RNG.randn(2, 5, 3))),
    "Conv2D, SAME and strides": lambda x: tf.nn.conv2d(tf.reshape(x, [1, 4, 5, 1]), tf.constant(RNG.randn(3, 3, 1, 2)),
                                                       [1, 2, 2, 1], "SAME"),
    "two that meet": lambda x: x * 2.0 + tf.matmul(x, tf.constant(RNG.randn(5, 5))),
    "AvgPool": lambda x: tf.nn.avg_pool(tf.reshape(x, [1, 4, 5, 1]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
    "Mean": lambda x: tf.reduce_mean(x, axis=1),
    "Sum": lambda x: tf.reduce_sum(x, axis=0),
    "both factors": lambda x: tf.matmul(x, x, transpose_b=True),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("rule", ["epsilon", "gamma", "flat"])
def test_relevance_is_conserved(name, rule):
    made = {"epsilon": rules.lrp_epsilon(1e-13), "gamma": rules.lrp_gamma(0.3, 1e-13), "flat": rules.lrp_flat()}[rule]
    x = tf.constant(X)
    y = LINEAR[name](x)
    r = tf.constant(np.random.RandomState(1).rand(*y.shape.as_list()))
    overrides = {sel.type("MatMul", "BatchMatMulV2", "Conv2D", "Mul", "Add", "AvgPool", "Mean", "Sum"): made}
    got, arrived = run([tf.reduce_sum(tf.gradients(y, x, grad_ys=[r], overrides=overrides)[0]), tf.reduce_sum(r)])
    np.testing.assert_allclose(got, arrived, rtol=1e-7)


def test_alpha_beta_conserves_where_both_signs_are():
    x = tf.constant(X)
    got = tf.gradients(tf.matmul(x, W), x, grad_ys=[R], overrides={"MatMul": rules.lrp_alpha_beta()})[0]
    both = ((Z > 0).any(1) & (Z < 0).any(1)).astype(float)
    alone = np.where((Z > 0).any(1), 2.0, -1.0) * (1 - both)  # one sign only: its share alone, as the formula has it
    np.testing.assert_allclose(run(got).sum(1), (R * (both + alone)).sum(1), rtol=1e-9)


def network(x, biased=True):
    r = np.random.RandomState(3)
    h = tf.nn.conv2d(x, tf.constant(r.randn(3, 3, 1, 4)), [1, 1, 1, 1], "SAME")
    h = tf.nn.relu(tf.nn.bias_add(h, tf.constant(r.randn(4) if biased else np.zeros(4))))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.nn.conv2d(h, tf.constant(r.randn(2, 2, 4, 4)), [1, 1, 1, 1], "SAME"))
    h = tf.nn.avg_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.nn.relu(tf.matmul(tf.reshape(h, [2, 16]), tf.constant(r.randn(16, 8))))
    return tf.matmul(h, tf.constant(r.randn(8, 3)))


IMAGE = np.random.RandomState(5).rand(2, 8, 8, 1)
PRESETS = {
    "epsilon plus": lambda **o: rules.lrp_epsilon_plus(1e-12, **o),
    "epsilon plus flat": lambda **o: rules.lrp_epsilon_plus(1e-12, first=rules.lrp_flat(), **o),
    "epsilon gamma box": lambda **o: rules.lrp_epsilon_gamma_box(0.0, 1.0, 1e-12, **o),
    "last alone": lambda **o: rules.lrp_preset(rules.lrp_epsilon(1e-12), rules.lrp_epsilon(1e-12),
                                               last=rules.lrp_epsilon(1e-11), **o),
}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("biased", [False, True])
def test_a_preset_conserves_through_a_network(preset, biased):
    x = tf.constant(IMAGE)
    logits = network(x, biased)
    passes = tf.gradients(logits, x, grad_ys=[logits], overrides=PRESETS[preset](absorb_bias=False))[0]
    relevance, out = run([passes, logits])
    assert relevance.shape == IMAGE.shape
    np.testing.assert_allclose(relevance.sum((1, 2, 3)), out.sum(1), rtol=1e-5)


def test_the_alpha_beta_preset_gives_each_layer_its_rule():
    x = tf.constant(IMAGE)
    logits = network(x)
    a = tf.gradients(logits, x, grad_ys=[logits], overrides=rules.lrp_epsilon_alpha2_beta1())[0]
    b = tf.gradients(logits, x, grad_ys=[logits], overrides=[
        ("Conv2D", rules.lrp_alpha_beta(2.0, 1.0)), ("MatMul", rules.lrp_epsilon()), ("Relu", rules.lrp_pass),
        (sel.type("BiasAdd", "AvgPool"), rules.lrp_epsilon())])[0]
    a, b = run([a, b])
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_bias_absorbs_its_share():
    x, b = tf.constant(X), RNG.randn(3)
    y = tf.nn.bias_add(tf.matmul(x, W), b)
    got = run(tf.gradients(y, x, grad_ys=[y], overrides=rules.lrp_epsilon_plus(1e-12))[0])
    np.testing.assert_allclose(got, Z.sum(2), rtol=1e-6)  # x_i w_ij / (z_j + b_j) (z_j + b_j): of what the bias gave, nothing


def test_a_relu_network_without_biases_under_epsilon_is_gradient_times_input():
    # Ancona et al. 2018, proposition 1
    x = tf.constant(IMAGE)
    logits = network(x, biased=False)
    preset = rules.lrp_preset(rules.lrp_epsilon(1e-14), rules.lrp_epsilon(1e-14), epsilon=1e-14)
    lrp = tf.gradients(logits, x, grad_ys=[logits], overrides=preset)[0]
    plain = tf.gradients(logits, x)[0] * x
    got, expected = run([lrp, plain])
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


def test_a_preset_is_a_view_and_a_block():
    x = tf.constant(IMAGE)
    logits = network(x)
    preset = rules.lrp_epsilon_plus()
    assert all(isinstance(o, tf.Override) for o in preset)
    a = tf.gradients(logits, x, grad_ys=[logits], overrides=preset)[0]
    b = tf.gradients(logits, x, grad_ys=[logits], view=tf.View("lrp", rules.lrp_epsilon_plus()))[0]
    with tf.overriding(rules.lrp_epsilon_plus()):
        c = tf.gradients(logits, x, grad_ys=[logits])[0]
    a, b, c = run([a, b, c])
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)


def test_excitation_backprop_is_a_distribution():
    x = tf.constant(IMAGE)
    winner = tf.one_hot([1, 2], 3, dtype=tf.float64)
    r = np.random.RandomState(3)
    h = tf.nn.relu(tf.nn.conv2d(x, tf.constant(r.randn(3, 3, 1, 4)), [1, 1, 1, 1], "SAME"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    y = tf.matmul(tf.reshape(h, [2, 64]), tf.constant(r.randn(64, 3)))
    p = run(tf.gradients(y, x, grad_ys=[winner], overrides=rules.excitation_backprop())[0])
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum((1, 2, 3)), 1, rtol=1e-9)


def test_attention_conserves():
    x = tf.constant(X)
    a = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) * 0.3)
    y = tf.matmul(a, x)
    seed = tf.constant(np.abs(X))
    relevance = tf.gradients(y, a, grad_ys=[seed], overrides={"BatchMatMulV2" if y.op.type != "MatMul" else "MatMul":
                                                               rules.lrp_epsilon(1e-13)})[0]
    scores = a.op.inputs[0]
    at_scores = run(tf.gradients(a, scores, grad_ys=[relevance], overrides={"Softmax": rules.lrp_softmax})[0])
    r, s, z = run([relevance, a, scores])
    np.testing.assert_allclose(at_scores, z * (r - s * r.sum(1, keepdims=True)), rtol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid", "elu"])
def test_deeplift_contributions_sum_to_the_difference(activation):
    f = {"relu": tf.nn.relu, "tanh": tf.tanh, "sigmoid": tf.sigmoid, "elu": tf.nn.elu}[activation]
    x = tf.placeholder(tf.float64, [None, 5])
    reference = np.full((1, 5), 0.3)
    h = f(tf.matmul(x, W) + 0.1)
    y = tf.reduce_sum(tf.matmul(f(h * 2.0 - 0.2), tf.constant(RNG.randn(3, 2))), axis=1)
    kind = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "elu": "Elu"}[activation]
    slopes = tf.gradients(y, x, overrides={kind: rules.deeplift_rescale({x: np.tile(reference, (4, 1))})})[0]
    with tf.Session() as session:
        m, y1 = session.run([slopes, y], {x: X})
        y0 = session.run(y, {x: reference})
    np.testing.assert_allclose(((X - reference) * m).sum(1), y1 - y0, rtol=1e-8)


def test_deeplift_at_the_reference_is_the_gradient():
    x = tf.constant(X)
    y = tf.tanh(x)
    got, plain = run([tf.gradients(y, x, overrides={"Tanh": rules.deeplift_rescale({x: X})})[0], tf.gradients(y, x)[0]])
    np.testing.assert_array_equal(got, plain)


def test_relevance_in_a_loop():
    w = np.eye(5) + 0.1
    x = tf.constant(np.abs(X))
    _, h = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.nn.relu(tf.matmul(h, tf.constant(w)))), (0, x))
    relevance = tf.gradients(h, x, grad_ys=[h], overrides={"MatMul": rules.lrp_epsilon(1e-13), "Relu": rules.lrp_pass})[0]
    got, out = run([relevance, h])
    np.testing.assert_allclose(got.sum(1), out.sum(1), rtol=1e-8)


REFUSALS = [
    (lambda x: rules.lrp_alpha_beta(2.0, 2.0), ValueError, "alpha - beta must be 1"),
    (lambda x: tf.gradients(tf.exp(x), x, overrides={"Exp": rules.lrp_gamma()}), TypeError, "needs a linear operation.*Exp"),
    (lambda x: tf.gradients(tf.cond(x[0, 0] > 0.0, lambda: tf.tanh(x), lambda: x), x,
                            overrides={"Tanh": rules.deeplift_rescale({x: 0 * X})}), ValueError, "has no reference run"),
    (lambda x: tf.gradients(tf.reduce_mean(x), x, overrides={"Mean": rules.lrp_z_box(0.0, 1.0)}), TypeError, "not for"),
]


@pytest.mark.parametrize(("act", "error", "words"), REFUSALS)
def test_refusals(act, error, words):
    with pytest.raises(error, match=words):
        act(tf.constant(X))


# -- a finished model at other values ---------------------------------------------------------------------------


def _kept(v):
    z = tf.sin(v * 2.0)
    return z, lambda dz: dz * z * v  # what the function has kept of its run


def _mapped(x):
    with tf.get_default_graph().gradient_override_map({"Tanh": "ReplayHalved"}):
        return tf.tanh(x)


def _attached(x):
    y = tf.tanh(x)
    tf.attach(y, rules.default >> rules.scale(3.0))
    return y


@tf.RegisterGradient("ReplayHalved")
def _halved(op, dy):
    return 0.5 * dy


def _host(x):
    return tf.py_func(np.sin, [x], tf.float64, grad=lambda op, dy: 2.0 * dy * tf.cos(op.inputs[0]), shape=[None, 2])


MODELS = {
    "no override": tf.tanh, "a block of gradient_override_map": _mapped, "tf.attach": _attached, "py_func": _host,
    "custom_gradient": tf.custom_gradient(_kept), "reverse_gradient": lambda x: tf.tanh(tf.reverse_gradient(x, 2.0)),
    "straight_through": lambda x: tf.straight_through(tf.round)(x) * x, "substitute": tf.substitute(tf.sign, tf.tanh),
    "recompute_grad": tf.recompute_grad(tf.custom_gradient(_kept)),
    "grouped": lambda x: tf.grouped(lambda group, dy, _: dy * group.inputs[0])(lambda v: (tf.tanh(v), tf.exp(v)))(x)[0],
    "a gradient": lambda x: tf.gradients(tf.custom_gradient(_kept)(x) ** 2.0, x)[0],
    "a loop": lambda x: tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.reverse_gradient(tf.sin(v), 3.0)), (0, x))[1],
    "a branch": lambda x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.reverse_gradient(x, 3.0), lambda: x * 2.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_replayed_model_has_its_values_and_its_gradients(name):
    x, z = tf.placeholder(tf.float64, [None, 2]), tf.constant(X[:, :2])
    y = MODELS[name](x)
    again = rules.replay(y, {x: z})
    a, b = run([[y, tf.gradients(y, x)[0]], [again, tf.gradients(again, z)[0]]], {x: X[:, :2]})
    np.testing.assert_allclose(a, b)


def test_a_replayed_gradient_is_a_gradient():
    def moved(x):
        return tf.square(x - 0.1 * tf.gradients(x ** 3.0, x)[0])

    x, z = tf.constant(2.0, tf.float64), tf.constant(3.0, tf.float64)
    again, expected = rules.replay(moved(x), {x: z}), moved(z)
    double = {"Pow": rules.default >> rules.scale(2.0)}
    for options in ({"through_gradients": False}, {"overrides": double, "order": 2}):
        a, b = run([tf.gradients(y, z, **options)[0] for y in (again, expected)])
        np.testing.assert_allclose(a, b, err_msg=str(options))


READERS = {
    "a product": lambda w: tf.tanh(tf.matmul(X, w)),
    "rows": lambda w: tf.nn.embedding_lookup(w, [1, 0, 1]),
    "a loop": lambda w: tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, v * tf.gather(w, i)), (0, tf.constant(W[0])))[1],
    "map_fn": lambda w: tf.map_fn(lambda row: tf.reduce_sum(row[:, None] * w), tf.constant(X)),
}


@pytest.mark.parametrize("name", READERS)
def test_a_model_is_replayed_at_other_values_of_a_variable(name):
    w, moved, other = tf.Variable(W), tf.constant(W[::-1].copy()), tf.Variable(W[::-1].copy())
    values = {w: moved}
    again, expected = rules.replay(READERS[name](w), values), READERS[name](other)
    grads = [tf.convert_to_tensor(tf.gradients(y, at)[0]) for y, at in ((again, moved), (expected, other))]
    assert list(values) == [w]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for a, b in (session.run([again, expected]), session.run(grads)):
            np.testing.assert_allclose(a, b)


def test_a_value_that_changes_nothing_is_refused():
    x, unused, w = tf.placeholder(tf.float64, [None, 5]), tf.placeholder(tf.float64, [2], name="unused"), tf.Variable(W)
    y = tf.nn.relu(tf.matmul(x, w))
    with pytest.raises(ValueError, match="does not depend on unused:0"):
        rules.replay(y, {x: X, unused: [0.0, 0.0]})
    with pytest.raises(TypeError, match="values must be a tensor or variable"):
        rules.replay(y, {"x:0": X})
    with pytest.raises(ValueError, match="depends on none of the references"):
        tf.gradients(y, x, overrides={"Relu": rules.deeplift_rescale({unused: [0.0, 0.0]})})


def test_references_of_a_variable_count():
    w = tf.Variable(np.array([2.0, -1.0]))
    y = tf.tanh(w)
    slope = tf.gradients(y, w, overrides={"Tanh": rules.deeplift_rescale({w: [0.0, 0.5]})})[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(slope), (np.tanh([2.0, -1.0]) - np.tanh([0.0, 0.5])) / [2.0, -1.5])
