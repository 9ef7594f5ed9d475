"""Relevance rules on layers, a linear operation with the bias behind it: against the published formulas, in NumPy, and Zennit.

Each form of layer is an affine function y = J x + b; J and b are read off its values at 0 and at unit vectors, so that the
formulas know nothing of how the layer is written down.
"""

import pathlib

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

RNG = np.random.RandomState(11)
EVERY = sel.type("MatMul", "BatchMatMulV2", "Einsum", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput",
                 "Conv3DBackpropInputV2")


def c(*shape):
    return tf.constant(RNG.randn(*shape))


def normalised(x):
    mean, variance = c(3), tf.abs(c(3)) + 0.5
    if len(x.shape) == 2:
        return tf.nn.batch_normalization(x, mean, variance, c(3), c(3), 1e-3)
    return tf.nn.fused_batch_norm(x, c(3), c(3), mean, variance, is_training=False)[0]


L, K = tf.layers, tf.keras.layers
BIAS = dict(bias_initializer=tf.random_normal_initializer(seed=3))
# name: (shape of x, layer)
FORMS = {
    "BiasAdd": ((2, 5), lambda x: tf.nn.bias_add(tf.matmul(x, c(5, 3)), c(3))),
    "Add": ((2, 5), lambda x: tf.matmul(x, c(5, 3)) + c(3)),
    "Add, the bias first": ((2, 5), lambda x: c(3) + tf.matmul(x, c(5, 3))),
    "AddN": ((2, 5), lambda x: tf.add_n([c(2, 3), tf.matmul(x, c(5, 3))])),
    "Sub": ((2, 5), lambda x: tf.matmul(x, c(5, 3)) - c(3)),
    "Sub, the bias first": ((2, 5), lambda x: c(3) - tf.matmul(x, c(5, 3))),
    "a variable": ((2, 5), lambda x: tf.matmul(x, c(5, 3)) + tf.Variable(RNG.randn(3))),
    "two biases": ((2, 5), lambda x: tf.nn.bias_add(tf.matmul(x, c(5, 3)), c(3)) + c(2, 1)),
    "another product": ((2, 5), lambda x: tf.matmul(x, c(5, 3)) + tf.matmul(c(2, 4), c(4, 3))),
    "xw_plus_b": ((2, 5), lambda x: tf.nn.xw_plus_b(x, c(5, 3), c(3))),
    "transposed": ((2, 5), lambda x: tf.matmul(c(3, 5), x, transpose_b=True) + c(3, 1)),
    "batches": ((2, 2, 5), lambda x: tf.matmul(x, c(2, 5, 3)) + c(3)),
    "einsum": ((2, 2, 5), lambda x: tf.einsum("abc,cd->abd", x, c(5, 3)) + c(3)),
    "einsum, the weights first": ((2, 5), lambda x: tf.einsum("dc,ac->da", c(3, 5), x) + c(3, 1)),
    "tensordot": ((2, 2, 5), lambda x: tf.tensordot(x, c(5, 3), [[2], [0]]) + c(3)),
    "a bias behind a transposition": ((2, 5), lambda x: tf.transpose(tf.matmul(x, c(5, 3))) + c(3, 1)),
    "layers.dense": ((2, 5), lambda x: L.dense(x, 3, **BIAS)),
    "layers.dense of three axes": ((2, 2, 5), lambda x: L.dense(x, 3, **BIAS)),
    "keras Dense": ((2, 5), lambda x: K.Dense(3, dtype=tf.float64, **BIAS)(x)),
    "conv2d": ((1, 4, 4, 2), lambda x: tf.nn.bias_add(tf.nn.conv2d(x, c(3, 3, 2, 3), [1, 1, 1, 1], "SAME"), c(3))),
    "conv2d, channels first": ((1, 2, 4, 4), lambda x: L.conv2d(x, 3, 3, data_format="channels_first", **BIAS)),
    "dilated": ((1, 5, 5, 2), lambda x: L.conv2d(x, 3, 2, dilation_rate=2, **BIAS)),
    "dilated in batches": ((1, 5, 5, 2), lambda x: tf.nn.convolution(x, c(2, 2, 2, 3), "SAME", dilation_rate=[2, 2]) + c(3)),
    "conv1d": ((1, 5, 2), lambda x: L.conv1d(x, 3, 2, **BIAS)),
    "conv3d": ((1, 3, 3, 3, 1), lambda x: L.conv3d(x, 2, 2, **BIAS)),
    "conv2d_transpose": ((1, 3, 3, 2), lambda x: L.conv2d_transpose(x, 3, 2, strides=2, **BIAS)),
    "conv3d_transpose": ((1, 2, 2, 2, 1), lambda x: L.conv3d_transpose(x, 2, 2, **BIAS)),
    "depthwise": ((1, 4, 4, 2), lambda x: tf.nn.depthwise_conv2d(x, c(2, 2, 2, 2), [1, 1, 1, 1], "VALID") + c(4)),
    "keras DepthwiseConv2D": ((1, 4, 4, 2), lambda x: K.DepthwiseConv2D(2, dtype=tf.float64, **BIAS)(x)),
    "keras Conv2D": ((1, 4, 4, 2), lambda x: K.Conv2D(3, 2, dtype=tf.float64, **BIAS)(x)),
    "keras Conv2DTranspose": ((1, 3, 3, 2), lambda x: K.Conv2DTranspose(3, 2, dtype=tf.float64, **BIAS)(x)),
    "avg_pool": ((1, 4, 4, 2), lambda x: tf.nn.bias_add(tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), c(2))),
    "mean": ((2, 5), lambda x: tf.reduce_mean(x, axis=1) + c(2)),
}
NORMALISED = {
    "fused batch norm": ((1, 2, 2, 3), lambda x: normalised(x)),
    "batch norm": ((2, 3), normalised),
    "conv2d, fused batch norm": ((1, 4, 4, 2), lambda x: normalised(tf.nn.conv2d(x, c(3, 3, 2, 3), [1, 1, 1, 1], "SAME"))),
    "conv2d, bias, fused batch norm": ((1, 4, 4, 2), lambda x: normalised(
        tf.nn.bias_add(tf.nn.conv2d(x, c(3, 3, 2, 3), [1, 1, 1, 1], "SAME"), c(3)))),
    "dense, batch norm": ((2, 5), lambda x: normalised(tf.nn.bias_add(tf.matmul(x, c(5, 3)), c(3)))),
    "dense, batch norm, bias": ((2, 5), lambda x: normalised(tf.matmul(x, c(5, 3))) + c(3)),
    "a scale": ((2, 5), lambda x: (tf.matmul(x, c(5, 3)) + c(3)) * c(3) + c(3)),
    "a quotient": ((2, 5), lambda x: (tf.matmul(x, c(5, 3)) + c(3)) / c(3)),
    "a difference and a scale": ((2, 5), lambda x: (c(3) - tf.matmul(x, c(5, 3))) * c(3)),
}


for _norm in (L.batch_normalization, lambda x, **o: K.BatchNormalization(dtype=tf.float64, **o)(x, training=False)):
    _random = dict(beta_initializer=BIAS["bias_initializer"], gamma_initializer=BIAS["bias_initializer"],
                   moving_mean_initializer=BIAS["bias_initializer"])
    _name = "layers" if _norm is L.batch_normalization else "keras"
    NORMALISED[f"{_name} conv2d, batch normalization"] = ((1, 4, 4, 2), lambda x, norm=_norm, o=_random: norm(
        tf.nn.conv2d(x, c(2, 2, 2, 3), [1, 1, 1, 1], "SAME"), **o))
    NORMALISED[f"{_name} dense, batch normalization"] = ((2, 5), lambda x, norm=_norm, o=_random: norm(
        tf.nn.xw_plus_b(x, c(5, 3), c(3)), **o))


def pos(z):
    return np.maximum(z, 0)


def neg(z):
    return np.minimum(z, 0)


def over(r, z):
    return np.divide(r, z, out=np.zeros_like(r), where=np.abs(z) > 1e-300)


def sign(z):
    return np.where(z < 0, -1.0, 1.0)


def gamma(J, x, b, r, g=0.25):
    z = J * x
    up = (z.sum(1) + b >= 0)[:, None]
    zg, bg = z + g * np.where(up, pos(z), neg(z)), b + g * np.where(up[:, 0], pos(b), neg(b))
    return zg.T @ (r / (zg.sum(1) + bg))


def alpha_beta(J, x, b, r, alpha, beta):
    z = J * x
    up, down = pos(z), neg(z)
    return alpha * up.T @ over(r, up.sum(1) + pos(b)) - beta * down.T @ over(r, down.sum(1) + neg(b))


def box(J, x, b, r, low=-3.0, high=3.0):
    z = J * x - low * pos(J) - high * neg(J)
    return z.T @ (r / z.sum(1))


# name: (rule, formula of the matrix J, the input x, the bias b and the relevance r that arrives)
RULES = {
    "epsilon": (lambda: rules.lrp_epsilon(1e-12), lambda J, x, b, r: (J * x).T @ (r / (J @ x + b))),
    "a large epsilon": (lambda: rules.lrp_epsilon(0.5),
                        lambda J, x, b, r: (J * x).T @ (r / (J @ x + b + 0.5 * sign(J @ x + b)))),
    "epsilon without bias": (lambda: rules.lrp_epsilon(0.5, bias=False),
                             lambda J, x, b, r: (J * x).T @ (r / (J @ x + 0.5 * sign(J @ x)))),
    "gamma": (lambda: rules.lrp_gamma(0.25, 1e-12), gamma),
    "alpha-beta": (lambda: rules.lrp_alpha_beta(2.0, 1.0), lambda *a: alpha_beta(*a, 2.0, 1.0)),
    "z+": (rules.lrp_z_plus, lambda *a: alpha_beta(*a, 1.0, 0.0)),
    "flat": (rules.lrp_flat, lambda J, x, b, r: (J != 0).T @ (r / (J != 0).sum(1))),
    "w^2": (rules.lrp_w_square, lambda J, x, b, r: (J**2).T @ (r / ((J**2).sum(1) + b**2))),
    "z box": (lambda: rules.lrp_z_box(-3.0, 3.0, 1e-12), box),
    "excitation": (rules.excitation, lambda J, x, b, r: (pos(J) * x).T @ over(r, pos(J) @ x)),
}
POOLS = {"avg_pool": "AvgPool", "mean": "Mean"}


def read_off(session, x, y, x0):
    """Returns the matrix and the bias of an affine function."""
    flat = x0.size
    b = session.run(y, {x: np.zeros_like(x0)}).ravel()
    columns = [session.run(y, {x: e.reshape(x0.shape)}).ravel() - b for e in np.eye(flat)]
    J = np.stack(columns, axis=1)
    J[np.abs(J) < 1e-12] = 0
    return J, b


def check(form, selector, without=()):
    """Holds every rule on one form of layer against its formula, in one run."""
    shape, layer = (FORMS | NORMALISED)[form]
    x0 = RNG.randn(*shape)
    x = tf.placeholder(tf.float64, shape)
    y = layer(x)
    r = RNG.randn(*y.shape.as_list())
    names = [name for name in RULES if name not in without]
    got = [tf.gradients(y, x, grad_ys=[tf.constant(r)], overrides=[(selector, RULES[name][0]())])[0] for name in names]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        J, b = read_off(session, x, y, x0)
        for name, values, positive in zip(names, session.run(got, {x: x0}), session.run(got, {x: np.abs(x0)})):
            at, values = (np.abs(x0), positive) if name == "excitation" else (x0, values)
            np.testing.assert_allclose(values.ravel(), RULES[name][1](J, at.ravel(), b, r.ravel()), rtol=1e-7, atol=1e-10,
                                       err_msg=f"{name} on {form}")


def test_a_separable_convolution_is_two_layers_of_which_the_second_has_the_bias():
    x = tf.constant(RNG.randn(1, 4, 4, 2))
    y = L.separable_conv2d(x, 3, 2, depth_multiplier=2, **BIAS)
    h, kernel = y.op.inputs[0].op.inputs
    r = RNG.randn(*y.shape.as_list())
    at_h, = tf.gradients(y, h, grad_ys=[tf.constant(r)], overrides={EVERY: rules.lrp_epsilon(0.5)})
    at_x, = tf.gradients(y, x, grad_ys=[tf.constant(r)], overrides={EVERY: rules.lrp_epsilon(0.5)})
    again, = tf.gradients(h, x, grad_ys=[at_h], overrides={EVERY: rules.lrp_epsilon(0.5)})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        at_h, at_x, again, h, w, y = session.run([at_h, at_x, again, h, kernel, y])
    s = r / (y + 0.5 * sign(y))
    np.testing.assert_allclose(at_h, h * np.einsum("bijo,ho->bijh", s, w[0, 0]), rtol=1e-7)
    np.testing.assert_allclose(at_x, again, rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_a_bias_is_part_of_the_layer(form):
    check(form, EVERY if form not in POOLS else sel.type(*POOLS.values()), ("z box", "w^2") if form in POOLS else ())


@pytest.mark.parametrize("form", [*FORMS, *NORMALISED])
def test_what_follows_may_have_a_rule_of_relevance_too(form):
    follows = sel.type("FusedBatchNorm", "FusedBatchNormV3", "Mul", "RealDiv", "Add", "AddN", "Sub", "BiasAdd", *POOLS.values())
    check(form, EVERY | follows, ("z box", "w^2") if form in POOLS else ("z box",) if form == "fused batch norm" else ())


# -- Zennit ------------------------------------------------------------------------------------------------

ZENNIT = dict(np.load(pathlib.Path(__file__).with_name("zennit.npz")))
RULE_OF_ZENNIT = {
    "epsilon": lambda: rules.lrp_epsilon(0.25), "epsilon without bias": lambda: rules.lrp_epsilon(0.25, bias=False),
    "gamma": lambda: rules.lrp_gamma(0.25, 1e-12), "alpha-beta": rules.lrp_alpha_beta, "z+": rules.lrp_z_plus,
    "z+ without bias": lambda: rules.lrp_z_plus(bias=False), "flat": rules.lrp_flat, "w^2": rules.lrp_w_square,
    "z box": lambda: rules.lrp_z_box(-3.0, 3.0, 1e-12),
}
PRESET_OF_ZENNIT = {
    "epsilon plus": lambda: rules.lrp_epsilon_plus(1e-9),
    "epsilon plus flat": lambda: rules.lrp_epsilon_plus(1e-9, first=rules.lrp_flat()),
    "epsilon alpha2 beta1": lambda: rules.lrp_epsilon_alpha2_beta1(1e-9),
    "epsilon gamma box": lambda: rules.lrp_epsilon_gamma_box(-3.0, 3.0, 1e-9),
    "epsilon plus without bias": lambda: rules.lrp_preset(rules.lrp_epsilon(1e-9, False), rules.lrp_z_plus(False), epsilon=1e-9,
                                                          absorb_bias=False),
    "gradient": lambda: None,
}


def zennit_network(name, x):
    """Returns what the recorded network gives for `x`, channels last."""
    def p(i, what):
        return tf.constant(ZENNIT[f"{name}/{i}/{what}"])

    def conv(h, i, padding="SAME"):
        return tf.nn.bias_add(tf.nn.convolution(h, p(i, "kernel"), padding), p(i, "bias"))

    def norm(h, i):
        parameters = (p(i, k) for k in ("scale", "offset", "mean", "variance"))
        return tf.nn.fused_batch_norm(h, *parameters, 1e-3, is_training=False)[0]

    def dense(h, i):
        return tf.nn.xw_plus_b(h, p(i, "kernel"), p(i, "bias"))

    def flat(h):  # channels first, as torch flattens
        return tf.reshape(tf.transpose(h, [0, 3, 1, 2]), [2, -1])

    if name == "network":
        h = tf.nn.avg_pool(tf.nn.relu(conv(x, 0)), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        return dense(tf.nn.relu(dense(flat(tf.nn.relu(conv(h, 3))), 6)), 8)
    if name == "normalised":
        return dense(flat(tf.nn.relu(norm(conv(tf.nn.relu(norm(conv(x, 0), 1)), 3), 4))), 7)
    if name == "dense":
        return dense(x, 0)
    if name == "depthwise":
        return tf.nn.depthwise_conv2d(x, p(0, "kernel"), [1, 1, 1, 1], "VALID") + p(0, "bias")
    if name == "transposed":
        return tf.nn.bias_add(tf.nn.conv2d_transpose(x, p(0, "kernel"), [1, 6, 6, 3], [1, 2, 2, 1], "VALID"), p(0, "bias"))
    return conv(x, 0, "VALID" if name == "conv3d" else "SAME")


@pytest.mark.parametrize("name", sorted({key.split("/")[0] for key in ZENNIT}))
def test_relevance_is_that_of_zennit(name):
    x, r = tf.constant(ZENNIT[f"{name}/x"]), tf.constant(ZENNIT[f"{name}/r"])
    y = zennit_network(name, x)
    whole = name in ("network", "normalised")
    made = {k: f() for k, f in PRESET_OF_ZENNIT.items()} if whole else {k: {EVERY: f()} for k, f in RULE_OF_ZENNIT.items()}
    got = {k: tf.gradients(y, x, grad_ys=[r], overrides=o)[0] for k, o in made.items()}
    with tf.Session() as session:
        for rule, values in session.run(got).items():
            np.testing.assert_allclose(values, ZENNIT[f"{name}/{rule}"], rtol=1e-6, atol=1e-8, err_msg=f"{rule} on {name}")


# -- which biases belong to a layer -------------------------------------------------------------------------

X2 = [[1.0, 2.0]]
W2, B2 = [[1.0, 0.5], [0.5, -1.0]], [-1.999, 1.0]
RIGHT = np.array([[1.0, 1.0]]) / (2.0 - 1.999 + 0.25)  # eq. 58: x_i w_i0 / (z_0 + epsilon)


def wrapper(op, r, default):
    return rules.lrp_epsilon(0.25)(op, r, default=default)


tf.RegisterGradient("RelevanceOfTheTests")(rules.lrp_epsilon(0.25))
BOTH = sel.type("MatMul", "BiasAdd")
WAYS = {
    "a preset": lambda: rules.lrp_preset(rules.lrp_epsilon(0.25), rules.lrp_z_plus()),
    "the product alone": lambda: {"MatMul": rules.lrp_epsilon(0.25)},
    "both": lambda: {BOTH: rules.lrp_epsilon(0.25)},
    "another epsilon at the sum": lambda: {"MatMul": rules.lrp_epsilon(0.25), "BiasAdd": rules.lrp_epsilon(7.0)},
    "the default said": lambda: {"MatMul": rules.lrp_epsilon(0.25), "BiasAdd": rules.default},
    "composed": lambda: {BOTH: rules.lrp_epsilon(0.25) >> rules.clip(100.0)},
    "a mixture": lambda: {BOTH: rules.mix(0.5, rules.lrp_epsilon(0.25), rules.lrp_epsilon(0.25))},
    "a tap above": lambda: [(sel.everything, lambda op, r, default: default()), (BOTH, rules.lrp_epsilon(0.25))],
    "a rule that calls it": lambda: {"MatMul": wrapper},
    "the name of a registered rule": lambda: {BOTH: "RelevanceOfTheTests"},
}


def two(way=None, more=(), build=None, **options):
    x, b = tf.constant(X2), tf.constant(B2)
    y = tf.nn.bias_add(tf.matmul(x, tf.constant(W2)), b) if build is None else build(x, b)
    options.setdefault("overrides", None if way is None else way())
    got = tf.gradients(y, [x, *(m(b) for m in more)], grad_ys=[tf.constant([[1.0, 0.0]])], **options)
    with tf.Session() as session:
        return session.run(got)


@pytest.mark.parametrize("way", WAYS)
def test_equation_58_however_the_rule_is_given(way):
    np.testing.assert_allclose(two(WAYS[way])[0], RIGHT, rtol=1e-3)


def test_equation_58_by_views_blocks_attachments_maps_and_rules_of_a_graph():
    rule = rules.lrp_epsilon(0.25)
    np.testing.assert_allclose(two(view=tf.View("lrp", {BOTH: rule}))[0], RIGHT, rtol=1e-3)
    with tf.overriding({BOTH: rule}):
        np.testing.assert_allclose(two()[0], RIGHT, rtol=1e-3)
    with tf.set_graph_rule(BOTH, rule):
        np.testing.assert_allclose(two()[0], RIGHT, rtol=1e-3)

    def mapped(x, b):
        with tf.get_default_graph().gradient_override_map({"MatMul": "RelevanceOfTheTests", "BiasAdd": "RelevanceOfTheTests"}):
            return tf.nn.bias_add(tf.matmul(x, tf.constant(W2)), b)

    np.testing.assert_allclose(two(build=mapped)[0], RIGHT, rtol=1e-3)

    def attached(x, b):
        y = mapped(x, b)
        tf.attach(BOTH, rule)
        return y

    np.testing.assert_allclose(two(build=attached)[0], RIGHT, rtol=1e-3)


def test_relevance_of_the_input_does_not_depend_on_what_else_is_asked_for():
    got, bias = two(WAYS["both"], [lambda b: b])
    np.testing.assert_allclose(got, RIGHT, rtol=1e-3)
    np.testing.assert_allclose(bias, [-1.999 / 0.251, 0.0], rtol=1e-3)  # b_j / (z_j + epsilon)


WITHOUT = np.array([[1.0, 1.0]]) / 2.25  # the bias left out: x_i w_i0 / (x w_0 + epsilon)
LEFT_OUT = {
    "a sum that passes": (lambda: {"MatMul": rules.lrp_epsilon(0.25), "BiasAdd": rules.lrp_pass}, WITHOUT),
    "a rule without bias": (lambda: {"MatMul": rules.lrp_epsilon(0.25, bias=False)}, WITHOUT),
    "a sum without bias": (lambda: {"MatMul": rules.lrp_epsilon(0.25), "BiasAdd": rules.lrp_epsilon(bias=False)}, WITHOUT),
    "a preset that keeps all": (lambda: rules.lrp_preset(rules.lrp_epsilon(0.25), rules.lrp_z_plus(), absorb_bias=False),
                                WITHOUT),
    "a rule of one's own at the sum": (lambda: {"MatMul": rules.lrp_epsilon(0.25), "BiasAdd": lambda op, r: [2.0 * r, None]},
                                       2 * WITHOUT),
    "the sum alone has a rule": (lambda: {"BiasAdd": rules.lrp_epsilon(0.25)}, np.array([W2])[0][:, 0] * 2.0 / 0.251),
}


@pytest.mark.parametrize("way", LEFT_OUT)
def test_a_bias_is_left_out_where_that_is_said(way):
    make, expected = LEFT_OUT[way]
    np.testing.assert_allclose(two(make)[0].ravel(), np.ravel(expected), rtol=1e-3)


def used_twice(x, b):
    z = tf.matmul(x, tf.constant(W2))
    return tf.nn.bias_add(z, b) + 0.0 * z


def test_a_sum_of_which_the_product_is_used_elsewhere_too_divides_for_itself():
    # at the sum 2 / (0.001 + .25), at the product 1 / 2.25, as if they were two layers
    got, = two(WAYS["both"], build=used_twice)
    np.testing.assert_allclose(got, 2 / 0.251 / 2.25 * np.ones((1, 2)), rtol=1e-3)


def test_a_group_and_a_known_gradient_end_a_layer():
    x, b = tf.constant(X2), tf.constant(B2)
    z = tf.matmul(x, tf.constant(W2))
    y = tf.nn.bias_add(z, b)
    rule, r = rules.lrp_epsilon(0.25), tf.constant([[1.0, 0.0]])
    known = tf.gradients(y, x, known_gradients={z: r}, overrides={"MatMul": rule})[0]
    group = tf.gradients(y, x, grad_ys=[r], overrides={sel.group([z], [y]): lambda group, r: r, "MatMul": rule})[0]
    inside = tf.gradients([y, z], x, grad_ys=[r, 0.0 * r], overrides={"MatMul": rule})[0]  # z is a y of its own
    with tf.Session() as session:
        for got in session.run([known, group, inside]):
            np.testing.assert_allclose(got, WITHOUT, rtol=1e-3)


def test_layers_in_loops_branches_and_maps():
    x, b, w = tf.constant(X2), tf.constant(B2), tf.constant(W2)

    def layer(h):
        return tf.nn.bias_add(tf.matmul(h, w), b)

    flat = layer(layer(x))
    built = {
        "loop": tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, layer(h)), (0, x))[1],
        "branch": tf.cond(x[0, 0] > 0.0, lambda: layer(layer(x)), lambda: x),
        "map": tf.map_fn(lambda row: layer(layer(row[None]))[0], x),
    }
    overrides = {BOTH: rules.lrp_epsilon(0.25)}
    r = tf.constant([[1.0, -0.5]])
    got = [tf.gradients(y, x, grad_ys=[r], overrides=overrides)[0] for y in (flat, *built.values())]
    with tf.Session() as session:
        expected, *others = session.run(got)
    for name, values in zip(built, others):
        np.testing.assert_allclose(values, expected, rtol=1e-5, err_msg=name)


def test_reports_show_the_relevance_that_flows():
    x, b = tf.constant(X2), tf.constant(B2)
    y = tf.nn.bias_add(tf.matmul(x, tf.constant(W2)), b)
    study = tf.inspect.coverage(y, x, grad_ys=[tf.constant([[1.0, 0.0]])], overrides=WAYS["both"]())
    row = {r["type"]: r for r in study.rows}
    assert row["MatMul"]["passed on"] == pytest.approx(2 / 0.251, rel=1e-3)


def test_a_residual_block_keeps_relevance():
    x = tf.constant(RNG.rand(2, 5))
    h = tf.nn.relu(tf.matmul(x, c(5, 5))) + x
    y = tf.matmul(h, c(5, 3))
    got = tf.gradients(y, x, grad_ys=[y], overrides=rules.lrp_preset(rules.lrp_epsilon(1e-13), rules.lrp_z_plus(),
                                                                     epsilon=1e-13))[0]
    with tf.Session() as session:
        got, out = session.run([got, y])
    np.testing.assert_allclose(got.sum(1), out.sum(1), rtol=1e-7)


def test_batch_statistics_count_as_constants():
    x = tf.constant(RNG.randn(3, 2, 2, 3))
    y, mean, variance = tf.nn.fused_batch_norm(x, c(3), c(3))
    r = RNG.randn(3, 2, 2, 3)
    got = tf.gradients(y, x, grad_ys=[r], overrides={y.op.type: rules.lrp_epsilon(1e-12)})[0]
    scale, offset = y.op.inputs[1], y.op.inputs[2]
    with tf.Session() as session:
        got, x, y, m, s, b = session.run([got, x, y, mean, scale, offset])
    a = (y - b) / (x - m)
    np.testing.assert_allclose(got, x * a * r / y, rtol=1e-6)
