"""Transforms of gradients through their three doors: a block in the graph, an override, a part of a composed rule."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

X = np.array([[0.3, -1.2, 2.0], [0.5, 0.0, -0.7]])
G = np.array([[3.0, -4.0, 0.1], [0.0, 12.0, -0.5]])
KEEP = np.array([True, False, True])


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def norm(g, axis=None):
    return np.sqrt((g**2).sum(axis=axis, keepdims=axis is not None))


ROWS = {  # transform, block, what becomes of G
    "scale": (lambda: rules.scale(2.5), lambda x: tf.scale_gradient(x, 2.5), 2.5 * G),
    "reverse": (lambda: rules.reverse(0.3), lambda x: tf.reverse_gradient(x, 0.3), -0.3 * G),
    "reverse, by default": (rules.reverse, tf.reverse_gradient, -G),
    "clip to both sides": (lambda: rules.clip(1.0), lambda x: tf.clip_gradient(x, 1.0), np.clip(G, -1, 1)),
    "clip to a range": (lambda: rules.clip(-0.2, 5.0), lambda x: tf.clip_gradient(x, -0.2, 5.0), np.clip(G, -0.2, 5)),
    "clip the norm": (lambda: rules.clip_norm(2.0), lambda x: tf.clip_gradient(x, norm=2.0), G * 2 / norm(G)),
    "clip a norm that is small": (lambda: rules.clip_norm(99.0), lambda x: tf.clip_gradient(x, norm=99.0), G),
    "clip the norm by row": (lambda: rules.clip_norm(2.0, axis=1), lambda x: tf.clip_gradient(x, norm=2.0, axis=1),
                             G * np.minimum(1, 2 / norm(G, 1))),
    "clip to a percentile": (lambda: rules.clip_percentile(60), lambda x: tf.clip_gradient(x, percentile=60),
                             np.clip(G, -3, 3)),
    "zero": (rules.zero, tf.zero_gradient, 0 * G),
    "mask": (lambda: rules.mask(KEEP), lambda x: tf.mask_gradient(x, KEEP), G * KEEP),
    "normalize": (rules.normalize, tf.normalize_gradient, G / norm(G)),
    "normalize by row": (lambda: rules.normalize(axis=1), lambda x: tf.normalize_gradient(x, axis=1), G / norm(G, 1)),
}


@pytest.mark.parametrize("name", ROWS)
def test_three_doors(name):
    transform, block, expected = ROWS[name]
    x = tf.constant(X)
    blocked = block(x)
    plain = tf.identity(x)
    doors = [tf.gradients(blocked, x, grad_ys=[G])[0],
             tf.gradients(plain, x, grad_ys=[G], overrides={"Identity": transform()})[0],
             tf.gradients(plain, x, grad_ys=[G], overrides={"Identity": rules.default >> transform()})[0]]
    value, *got = run([blocked, *doors])
    np.testing.assert_array_equal(value, X)  # forward, a block is the identity
    for g in got:
        np.testing.assert_allclose(g, expected, rtol=1e-12, atol=1e-15)


def test_the_order_of_composition():
    x = tf.constant(X)
    y = tf.square(x)
    after = tf.gradients(y, x, grad_ys=[G], overrides={"Square": rules.default >> rules.clip(1.0) >> rules.scale(0.5)})[0]
    before = tf.gradients(y, x, grad_ys=[G], overrides={"Square": rules.clip(1.0) >> rules.scale(0.5) >> rules.default})[0]
    got = run([after, before])
    np.testing.assert_allclose(got[0], 0.5 * np.clip(2 * X * G, -1, 1))
    np.testing.assert_allclose(got[1], 2 * X * 0.5 * np.clip(G, -1, 1))
    with pytest.raises(TypeError, match="what follows a rule is a transform"):
        rules.default >> rules.guided_relu


def test_a_strength_is_a_number_a_tensor_or_a_schedule():
    x, strength = tf.constant(X), tf.placeholder(tf.float64, [])
    step = tf.train.get_or_create_global_step()
    fed = tf.gradients(tf.reverse_gradient(x, strength), x, grad_ys=[G])[0]
    scheduled = tf.gradients(tf.reverse_gradient(x, lambda step: tf.cast(step, tf.float64) * 0.1), x, grad_ys=[G])[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for s in (0.5, 2.0):
            np.testing.assert_allclose(session.run(fed, {strength: s}), -s * G)
        session.run(step.assign(5))
        np.testing.assert_allclose(session.run(scheduled), -0.5 * G)


def test_mix_anneals_by_a_tensor():
    x, w = tf.constant(X), tf.placeholder(tf.float64, [])
    g = tf.gradients(tf.nn.relu(x), x, grad_ys=[G], overrides={"Relu": rules.mix(w, rules.guided_relu, rules.default)})[0]
    guided, true = np.maximum(G, 0) * (X > 0), G * (X > 0)
    with tf.Session() as session:
        for value in (0.0, 0.25, 1.0):
            np.testing.assert_allclose(session.run(g, {w: value}), value * guided + (1 - value) * true)


def test_zero_is_not_stop():
    x = tf.constant(X)
    assert tf.gradients(tf.stop_gradient(x), x) == [None]
    np.testing.assert_array_equal(run(tf.gradients(tf.zero_gradient(x), x)[0]), 0 * X)


def test_clip_norm_and_normalize_at_zero_and_their_second_order():
    x = tf.constant(X)
    zero = tf.zeros_like(x)
    for transform in (rules.clip_norm(1.0), rules.normalize()):
        first = tf.gradients(tf.identity(x), x, grad_ys=[zero], overrides={"Identity": transform})[0]
        second = tf.gradients(tf.gradients(tf.square(x), x, overrides={"Square": transform})[0], x)[0]
        a, b = run([first, second])
        np.testing.assert_array_equal(a, 0 * X)
        assert np.isfinite(b).all()
    v = tf.constant(np.zeros(3))
    again = tf.gradients(tf.gradients(tf.square(v), v, overrides={"Square": rules.clip_norm(1.0)})[0], v)[0]
    np.testing.assert_allclose(run(again), 2)  # 2 v, unclipped at 0


def test_noise_and_dropout_are_seeded():
    tf.set_random_seed(3)
    x = tf.constant(np.zeros(4000))
    noisy = tf.gradients(tf.noise_gradient(x, 0.5, seed=1), x)[0]
    dropped = tf.gradients(x * 1.0, x, overrides={"Mul": rules.dropout(0.25, seed=2)})[0]
    first, second = run([noisy, dropped]), run([noisy, dropped])
    np.testing.assert_array_equal(first, second)
    assert abs(first[0].mean() - 1) < 0.05 and abs(first[0].std() - 0.5) < 0.05
    assert set(first[1].round(6)) == {0.0, round(1 / 0.75, 6)} and abs(first[1].mean() - 1) < 0.1


def test_watch_taps_and_changes_nothing():
    x, seen = tf.constant(X), []
    h = tf.tanh(x)
    g = tf.gradients(h * 2.0, x, overrides={h.op: rules.watch(lambda g, op: seen.append((g, op.type))) >> rules.default})[0]
    tapped, plain, got = run([seen[0][0], tf.gradients(h * 2.0, x)[0], g])
    assert seen[0][1] == "Tanh"
    np.testing.assert_array_equal(tapped, np.full_like(X, 2.0))
    np.testing.assert_array_equal(got, plain)


def test_scaling_keeps_slices_sparse():
    table = tf.Variable(np.ones((5, 2)))
    rows = tf.gather(table, [1, 3])
    g = tf.gradients(rows, table, overrides={"GatherV2": rules.scale(3.0)})[0]
    assert isinstance(g, tf.IndexedSlices)
    np.testing.assert_array_equal(run(tf.convert_to_tensor(g)), [[0, 0], [3, 3], [0, 0], [3, 3], [0, 0]])


def test_blocks_in_a_loop():
    x = tf.constant(2.0, tf.float64)
    _, y = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.reverse_gradient(h * 1.5, 0.5)), (0, x))
    np.testing.assert_allclose(run(tf.gradients(y, x)[0]), (-0.75) ** 3)


def test_user_transforms():
    @rules.transform
    def halved(g):
        return 0.5 * g

    @rules.transform
    def signed(g, op):
        return g * tf.sign(op.inputs[0])

    x = tf.constant(X)
    got = run(tf.gradients(tf.square(x), x, overrides={"Square": halved >> signed})[0])
    np.testing.assert_allclose(got, X * np.sign(X))


def test_accumulation():
    x = tf.constant(np.array([1.0, -2.0]))
    a, b = np.array([3.0, 4.0]), np.array([-2.0, 0.5])
    y = tf.reduce_sum(x * a) + tf.reduce_sum(x * b)

    def project(u, v):
        return u - min(u @ v, 0) / (v @ v) * v

    expected = {"sum": a + b, "mean": (a + b) / 2, "max": [3, 4], "clipped": a / 5 + b / norm(b),
                "pcgrad": project(a, b) + project(b, a)}
    made = {"sum": rules.accumulate_sum, "mean": rules.accumulate_mean, "max": rules.accumulate_max,
            "clipped": rules.accumulate_clipped(1.0), "pcgrad": rules.accumulate_pcgrad}
    got = run({k: tf.gradients(y, x, accumulate={x: rule})[0] for k, rule in made.items()})
    for k in expected:
        np.testing.assert_allclose(got[k], expected[k], rtol=1e-12, err_msg=k)


def test_substitute():
    x = tf.constant(X)
    y = tf.substitute(forward=tf.round, backward_of=tf.sin)(x)
    value, g = run([y, tf.gradients(y, x, grad_ys=[G])[0]])
    np.testing.assert_array_equal(value, np.round(X))
    np.testing.assert_allclose(g, np.cos(X) * G)
    second = run(tf.gradients(tf.gradients(y, x)[0], x)[0])
    np.testing.assert_allclose(second, -np.sin(X))


def test_substitute_is_exact_where_the_sum_is_not():
    big = tf.constant([1e8], tf.float32)
    y = tf.substitute(lambda v: v * 0.0 + 0.1, lambda v: v)(big)
    assert run(y)[0] == np.float32(0.1)  # soft + (hard - soft) would give 0


REFUSALS = [
    (lambda x: tf.clip_gradient(x), ValueError, "give one of"),
    (lambda x: tf.clip_gradient(x, 1.0, norm=2.0), ValueError, "give one of"),
    (lambda x: rules.clip_percentile(101), ValueError, "between 0 and 100"),
    (lambda x: tf.gradients(tf.square(x), x, overrides={sel.last("Tanh"): rules.zero()}), tf.OverrideError, "caught none"),
]


@pytest.mark.parametrize(("act", "error", "words"), REFUSALS)
def test_refusals(act, error, words):
    with pytest.raises(error, match=words):
        act(tf.constant(X))


def test_rules_lists_what_is_ready_made_and_nothing_else():
    assert {"clip", "guided_relu", "lrp_epsilon", "pact", "default", "mix"} <= set(dir(rules))
    assert all(callable(getattr(rules, name)) for name in dir(rules))
    for name, words in (("guided_rellu", "guided_relu"), ("np", "has no 'np'")):
        with pytest.raises(AttributeError, match=words):
            getattr(rules, name)
