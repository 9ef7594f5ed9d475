"""Corners where an override or a rule of accumulation once did nothing, or something else, without a word."""

import itertools
import warnings

import numpy as np
import pytest

import regrad as tf
from regrad import rules, sel

X = np.array([0.3, -0.7, 1.2])


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def double(op, *dys, default):
    return [None if g is None else 2.0 * tf.convert_to_tensor(g) for g in default()]


# -- how gradients add -----------------------------------------------------------------------------------------

VARIABLES = {
    "a variable": lambda: tf.Variable(X),
    "a resource variable": lambda: tf.get_variable("w", initializer=X, use_resource=True),
    "a shared variable": lambda: [tf.get_variable("w", initializer=X), tf.get_variable_scope().reuse_variables(),
                                  tf.get_variable("w", [3], tf.float64)][2],
    "a partitioned variable": lambda: tf.get_variable("w", initializer=X, partitioner=tf.fixed_size_partitioner(3)),
    "a Keras variable": lambda: tf.keras.backend.variable(X, dtype="float64"),
    "a tensor": lambda: tf.constant(X),
}


@pytest.mark.parametrize("kind", VARIABLES)
def test_the_terms_of_a_variable_meet_at_the_variable(kind):
    w = VARIABLES[kind]()
    seen = []

    def largest(terms, tensor):
        seen.append(len(terms))
        return rules.accumulate_max(terms, tensor)

    y = tf.reduce_sum(w * 2.0) + tf.reduce_sum(w * -5.0) + tf.reduce_sum(tf.convert_to_tensor(w) * 1.0)
    if isinstance(w, tf.Variable):
        y = y + tf.reduce_sum(w.read_value() * 3.0)
    got = run(tf.gradients(y, [w], accumulate={w: largest})[0])
    np.testing.assert_allclose(got, [-5.0] * 3)
    assert seen == [4 if isinstance(w, tf.Variable) else 3]


def test_rows_of_an_embedding_and_uses_of_the_whole_meet_at_the_variable():
    w = tf.Variable(np.ones((3, 2)))
    y = tf.reduce_sum(tf.nn.embedding_lookup(w, [0, 0, 2])) + 5.0 * tf.reduce_sum(w)
    got = run(tf.gradients(y, w, accumulate={w: rules.accumulate_max})[0])
    np.testing.assert_allclose(got, [[5, 5], [5, 5], [5, 5]])


def test_an_override_of_what_reads_a_variable_holds_for_each_term():
    w = tf.Variable(X)
    y = tf.reduce_sum(w * 2.0) + tf.reduce_sum(w * -5.0)
    got = run(tf.gradients(y, w, overrides={w: double}, accumulate={w: rules.accumulate_max})[0])
    np.testing.assert_allclose(got, [-10.0] * 3)


def test_inside_a_body_its_own_tensors_are_keys():
    keys = []

    def turn(i, h):
        keys.append(tf.tanh(h))
        return i + 1, keys[-1] * 2.0 + keys[-1] * -5.0

    x = tf.constant(X)
    y = tf.while_loop(lambda i, h: i < 1, turn, [0, x])[1]
    got = run(tf.gradients(y, x, accumulate={keys[-1]: rules.accumulate_max})[0])
    np.testing.assert_allclose(got, -5.0 * (1 - np.tanh(X) ** 2))


NOTHING_TO_ADD = {
    "one use": (lambda w, other: tf.reduce_sum(w), lambda w, other: w, "one term alone arrives there, from 'Sum'"),
    "not on the way": (lambda w, other: tf.reduce_sum(w * w), lambda w, other: other, "no gradient arrives there"),
    "nothing meets": (lambda w, other: tf.reduce_sum(tf.sin(w)), lambda w, other: "all", "no tensor .* more than one term"),
    "uses in a loop": (
        lambda w, other: tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, h * w + w), [0, tf.constant(X)])[1],
        lambda w, other: w, r"from 'while/While' .* A loop, branch or group gives one term"),
}


@pytest.mark.parametrize("case", NOTHING_TO_ADD)
@pytest.mark.parametrize("call", ["gradients", "jacobian", "hessian_vector_product", "minimize"])
def test_a_rule_that_has_nothing_to_add_up_is_an_error(case, call):
    build, key, words = NOTHING_TO_ADD[case]
    w, other = tf.Variable(X), tf.Variable(X)
    y, accumulate = build(w, other), {key(w, other): rules.accumulate_max}
    calls = {"gradients": lambda: tf.gradients(y, w, accumulate=accumulate),
             "jacobian": lambda: tf.jacobian(y, w, accumulate=accumulate),
             "hessian_vector_product": lambda: tf.hessian_vector_product(y, w, [X], accumulate=accumulate),
             "minimize": lambda: tf.train.GradientDescentOptimizer(0.1).minimize(y, var_list=[w], accumulate=accumulate)}
    if call == "hessian_vector_product" and case in ("uses in a loop", "nothing meets"):
        return  # the second derivative has two terms there
    with pytest.raises(tf.OverrideError, match=rf"(?s)accumulate=.*{words}"):
        calls[call]()


def test_explanations_tell_of_rules_with_nothing_to_add_up():
    w = tf.Variable(X)
    told = tf.explain_gradients(tf.reduce_sum(w), w, accumulate={w: rules.accumulate_max})
    assert "nothing to add up" in str(told.unused)


# -- PCGrad ------------------------------------------------------------------------------------------------------


def _losses():
    u, w = tf.Variable(np.array([1.0, 2.0])), tf.Variable(np.array([[0.5], [0.3]]))
    rows, idle = tf.Variable(np.ones((4, 2))), tf.Variable(1.0)
    losses = [tf.reduce_sum(tf.square(u) * [1.0, -0.2]) + tf.reduce_sum(w), tf.reduce_sum(-u * [1.5, 0.7]),
              tf.reduce_sum(w * u[:, None] * [[-2.0], [1.0]]) - tf.reduce_sum(tf.gather(rows, [1, 1])),
              tf.reduce_sum(tf.gather(rows, [0, 1])) - 0.3 * tf.reduce_sum(u)]
    return losses, [u, w, rows, idle]


def _algorithm_1(grads, orders):
    """Yu et al. 2020, algorithm 1, in NumPy: projections, one after another, of each task's whole vector."""
    total = 0
    for i, order in enumerate(orders):
        g = grads[i].copy()
        for j in order:
            if j != i and g @ grads[j] < 0:
                g -= g @ grads[j] / (grads[j] @ grads[j]) * grads[j]
        total = total + g
    return total


def test_pcgrad_projects_the_whole_vector_in_a_drawn_order():
    losses, variables = _losses()
    shared = tf.pcgrad(losses, variables, seed=3)
    assert shared[3] is None
    dense = [[tf.zeros_like(v) if g is None else tf.convert_to_tensor(g) for v, g in zip(variables, tf.gradients(y, variables))]
             for y in losses]
    flat = [np.concatenate([np.ravel(g) for g in of_loss[:3]]) for of_loss in run(dense)]
    orders = list(itertools.permutations(range(4)))
    # what each task becomes depends on its own order alone
    alone = [{tuple(np.round(_algorithm_1(flat, [o if k == i else [] for k in range(4)]) - sum(flat[:i] + flat[i + 1:]), 9))
              for o in orders} for i in range(4)]
    possible = [np.sum(parts, 0) for parts in itertools.product(*alone)]
    met = set()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = [session.run(shared[:3]) for _ in range(12)]
    for grads in first:
        got = np.concatenate([np.ravel(g) for g in grads])
        nearest = min(range(len(possible)), key=lambda k: np.abs(possible[k] - got).max())
        np.testing.assert_allclose(got, possible[nearest], atol=1e-8)
        met.add(nearest)
    assert len(met) > 1  # orders are drawn anew in each run
    with tf.Session() as session:  # the same ones in each session
        session.run(tf.global_variables_initializer())
        for grads in first:
            for a, b in zip(grads, session.run(shared[:3])):
                np.testing.assert_array_equal(a, b)


def test_pcgrad_of_losses_that_agree_is_their_sum():
    w = tf.Variable(X)
    losses = [tf.reduce_sum(tf.square(w)), 3.0 * tf.reduce_sum(tf.square(w))]
    np.testing.assert_allclose(*run([tf.pcgrad(losses, w)[0], tf.gradients(losses, w)[0]]), rtol=1e-12)


def test_a_rule_of_several_losses_sees_all_variables_and_what_it_gives_is_checked():
    losses, variables = _losses()
    seen = []

    def first_two(grads):
        seen.append([len(of_loss) for of_loss in grads])
        return [a + b for a, b in zip(grads[0], grads[1])]

    got = tf.combine_gradients(losses, variables, first_two)
    expected = [g for g in tf.gradients(losses[:2], variables) if g is not None]
    assert seen == [[3, 3, 3, 3]] and got[3] is None
    for a, b in zip(run(expected), run(got[:2])):
        np.testing.assert_allclose(a, b)
    with pytest.raises(ValueError, match="gave 1 gradients for the 3 variables"):
        tf.combine_gradients(losses, variables, lambda grads: grads[0][0])
    with pytest.raises(ValueError, match="has the shape and dtype"):
        tf.combine_gradients(losses, variables, lambda grads: [g[:1] for g in grads[0]])
    with pytest.raises(TypeError) as misfit:
        tf.combine_gradients(losses, variables, lambda grads, variables: grads[0])
    assert "rule(grads) of combine_gradients is called with 1 argument;" in misfit.value.__notes__[0]
    with pytest.raises(TypeError) as misfit:
        tf.gradients(losses, variables, accumulate={"all": lambda terms: terms[0]})
    assert "rule(terms, tensor) of accumulate is called with 2 arguments;" in misfit.value.__notes__[0]
    with pytest.raises(ValueError, match="no losses"):
        tf.pcgrad([], variables)
    with pytest.raises(tf.OverrideError, match="combine_gradients.* caught no operation"):
        tf.pcgrad(losses, variables, overrides={"Elu": double})
    tf.pcgrad(losses, variables, overrides={"Square": double})  # it acts for one of the losses


# -- groups ------------------------------------------------------------------------------------------------------


def test_a_group_that_would_starve_what_lies_inside_is_an_error():
    x = tf.placeholder(tf.float32, [2, 2])
    h = tf.layers.dense(x, 3, activation=tf.nn.relu)
    loss = tf.reduce_sum(tf.layers.dense(h, 1))
    kernel, bias = tf.trainable_variables()[:2]
    with pytest.raises(tf.OverrideError, match="dense/kernel:0, which lies inside.*Make it an input"), \
            tf.overriding({sel.group([x], [h]): lambda group, dy: tf.ones_like(x)}):
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.overriding({sel.group([x, kernel, bias], [h]): lambda group, dy, default: [None, *default()[1:]]}):
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    inside = h.op.inputs[0]
    with pytest.raises(tf.OverrideError, match=f"{inside.name}, which lies inside"):
        tf.gradients(loss, inside, overrides={sel.group([x], [h]): lambda group, dy: tf.ones_like(x)})
    with pytest.raises(tf.OverrideError, match="which lies inside"):  # in a body, too
        tf.gradients(tf.map_fn(lambda row: _starving(row, kernel), x), kernel)


def _starving(row, kernel):
    y = tf.reduce_sum(tf.matmul(row[None], kernel))
    tf.set_graph_rule(sel.group([row], [y]), lambda group, dy: tf.ones_like(row))
    return y * 1.0


def test_a_group_reaches_across_integers_inside():
    x = tf.constant(X)
    z = tf.cast(tf.cast(x * 10.0, tf.int32) * 2, tf.float64)
    group = sel.group([x], [z])
    np.testing.assert_allclose(run(tf.gradients(z, x, overrides={group: lambda group, dy: 7.0 * dy})[0]), [7.0] * 3)
    looped = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, _whole(h)), [0, x])[1]
    np.testing.assert_allclose(run(tf.gradients(looped, x)[0]), [9.0] * 3)
    with pytest.warns(tf.RegradWarning, match="as the way leads through .*, which is int32"):
        assert tf.gradients(z, x, overrides={group: rules.default}) == [None]
    assert "its rule 'group' gives None" in tf.why_none(z, x, overrides={group: rules.default})


@tf.grouped(lambda group, dy: 3.0 * dy)
def _whole(h):
    return tf.cast(tf.cast(h * 10.0, tf.int32), tf.float64)


# -- what loops and branches consist of ------------------------------------------------------------------------


def _structures(x):
    with tf.name_scope("net"):
        a = tf.identity(x)
        y = tf.while_loop(lambda i, h: i < 2,
                          lambda i, h: (i + 1, tf.cond(i > 0, lambda: tf.identity(h), lambda: tf.sin(h))), [0, a])[1]
        y = tf.map_fn(lambda t: tf.tanh(t * 2.0), y)
        y = tf.scan(lambda total, t: tf.sigmoid(total + t), y, initializer=tf.constant(0.0, tf.float64))
        return tf.case([(x[0] > 5.0, lambda: tf.identity(y))], default=lambda: tf.exp(y))


tf.RegisterGradient("CornerDouble")(lambda op, *dys: double(op, *dys, default=lambda: _registered(op, dys)))


def _registered(op, dys):
    from regrad.core import gradient_registry

    return rules.as_grads(gradient_registry.find(op.type).function(op, *dys))


def test_no_override_by_description_catches_what_no_line_asked_for():
    x = tf.constant(X)
    y = _structures(x)
    types = {op.type for op in sel.between(x, y).select(tf.get_default_graph())} | {"Identity", "Sin", "Tanh", "Sigmoid", "Exp"}
    wanted = {}
    for kind in sorted(types - {"While", "If", "Case"}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with tf.get_default_graph().gradient_override_map({kind: "CornerDouble"}):
                again = _structures(x)
        ways = [tf.gradients(again, x)[0], tf.gradients(y, x, overrides=[tf.Override(kind, double, optional=True)])[0],
                tf.gradients(y, x, overrides=[tf.Override(sel.where(lambda op, kind=kind: op.type == kind), double,
                                                          optional=True)])[0]]
        with tf.set_graph_rule(kind, double):
            ways.append(tf.gradients(y, x)[0])
        with tf.attach(kind, double):
            ways.append(tf.gradients(y, x)[0])
        with tf.overriding([tf.Override(kind, double, optional=True)]):
            ways.append(tf.gradients(y, x)[0])
        wanted[kind] = ways
    plain, got = run([tf.gradients(y, x)[0], wanted])
    for kind, ways in got.items():
        for g in ways:
            np.testing.assert_allclose(g, ways[0], rtol=1e-12, err_msg=kind)
    np.testing.assert_allclose(got["Identity"][0], 4 * plain)  # one before the loop, one in a branch


def test_what_no_line_asked_for_is_caught_where_it_is_named():
    x = tf.constant(X)
    y = tf.cond(x[0] > 0.0, lambda: tf.sin(x), lambda: x)
    plain, *named = run([tf.gradients(y, x)[0], *(tf.gradients(y, x, overrides={key: double})[0]
                                                 for key in (y, y.op, y.op.name, sel.ops(y)))])
    for g in named:
        np.testing.assert_allclose(g, 2 * plain)


def test_a_bridge_leads_through_loops_and_branches():
    x = tf.constant(X)
    n = tf.cond(x[0] > 0.0, lambda: tf.cast(x * 10.0, tf.int32), lambda: tf.cast(x, tf.int32))
    z = tf.cast(tf.identity(n) * 2, tf.float64)
    straight = tf.bridge(sel.between(x, z), lambda op, dy: [dy] + [None] * (len(op.inputs) - 1))
    told = tf.explain_gradients(z, x, overrides=[straight])
    assert "If" in {s.type for s in told.steps}


OUTPUTS = {
    "cond": lambda a, b, c: tf.cond(tf.reduce_sum(a) > 0.0, lambda: (a * c, b * 2.0), lambda: (a * 3.0, b * c)),
    "case": lambda a, b, c: tf.case([(a[0] > 5.0, lambda: (a, b)), (a[0] > 0.0, lambda: (c, b))], default=lambda: (c * 2.0, b)),
    "while_loop": lambda a, b, c: tf.while_loop(lambda i, u, v, w: i < 3, lambda i, u, v, w: (i + 1, u * 2.0, v * c + u, w * c),
                                                [0, a, b, c])[1:],
    "a chain in a loop": lambda a, b, c: tf.while_loop(lambda i, u, v, w: i < 3, lambda i, u, v, w: (i + 1, v, w, w * c),
                                                       [0, a, b, b])[1:],
    "a stop in a loop": lambda a, b, c: tf.while_loop(
        lambda i, u, v: i < 3, lambda i, u, v: (i + 1, u * tf.stop_gradient(v), v * c), [0, a, b])[1:],
    "an integer in a loop": lambda a, b, c: tf.while_loop(
        lambda i, u, v: i < 3, lambda i, u, v: (i + 1, u + tf.cast(tf.cast(v, tf.int32), tf.float64), v * c), [0, a, b])[1:],
    "map_fn": lambda a, b, c: tf.map_fn(lambda ab: (ab[0] * 2.0, ab[1] * c[0]), (a, b), dtype=(tf.float64, tf.float64)),
    "scan": lambda a, b, c: tf.scan(lambda acc, ab: (acc[0] + ab[0], acc[1] * ab[1]), (a, b),
                                    initializer=(tf.constant(0.0, tf.float64), tf.constant(1.0, tf.float64))),
    "a branch in a loop": lambda a, b, c: tf.while_loop(
        lambda i, u, v: i < 3, lambda i, u, v: (i + 1, tf.cond(i > 1, lambda: u * c, lambda: u), v * 2.0), [0, a, b])[1:],
}
# For each output whether a gradient reaches a, b and c: what TensorFlow 1 answers.
REACHED = {"cond": "101 011", "case": "101 010", "while_loop": "100 111 001", "a chain in a loop": "111 011 011",
           "a stop in a loop": "111 011", "an integer in a loop": "100 011", "map_fn": "100 011", "scan": "100 010",
           "a branch in a loop": "101 010"}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_what_does_not_reach_the_output_asked_for_gets_none(kind):
    inputs = [tf.constant(X) for _ in range(3)]
    outputs = OUTPUTS[kind](*inputs)
    got = " ".join("".join("01"[g is not None] for g in tf.gradients(y, inputs)) for y in outputs)
    assert got == REACHED[kind]
    for y in outputs:
        assert [t.gradient for t in tf.explain_gradients(y, inputs).targets] == [g is not None for g in tf.gradients(y, inputs)]
    assert all(np.isfinite(g).all() for g in run([g for y in outputs for g in tf.gradients(y, inputs) if g is not None]))


def test_momentum_leaves_alone_what_the_loss_does_not_use():
    w, still = tf.Variable(X), tf.Variable(X)
    used, _ = tf.cond(tf.reduce_sum(w) > -9.0, lambda: (w * 2.0, still * 2.0), lambda: (w, still))
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    both = optimizer.minimize(tf.reduce_sum(tf.square(w) + tf.square(still)))
    one = optimizer.minimize(tf.reduce_sum(used))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(both)
        before = session.run(still)
        session.run(one)
        np.testing.assert_array_equal(session.run(still), before)


# -- orders -------------------------------------------------------------------------------------------------------


def test_the_order_of_a_calls_overrides():
    x = tf.constant(X)
    y = tf.reduce_sum(tf.sin(x))
    g = tf.gradients(y, x)[0]
    v = [tf.ones_like(x)]
    got = run({"first": tf.gradients(y, x, overrides={"Sin": double}, order=1)[0],
               "second": tf.gradients(g, x, overrides={"Cos": double}, order=2)[0],
               "both": tf.hessian_vector_product(tf.reduce_sum(tf.sin(tf.sin(x))), x, v, overrides={"Sin": double})[0],
               "plain": tf.hessian_vector_product(tf.reduce_sum(tf.sin(tf.sin(x))), x, v)[0],
               "1": tf.hessian_vector_product(y, x, v, overrides={"Sin": double}, order=1)[0],
               "2": tf.hessian_vector_product(y, x, v, overrides={"Cos": double}, order=2)[0],
               "hessian": tf.hessians(y, x, overrides={"Sin": double}, order=1)[0]})
    np.testing.assert_allclose(got["first"], 2 * np.cos(X))
    for k in ("second", "1", "2"):
        np.testing.assert_allclose(got[k], -2 * np.sin(X))
    np.testing.assert_allclose(got["hessian"], np.diag(-2 * np.sin(X)))
    assert not np.allclose(got["both"], got["plain"])
    for call, words in [
        (lambda: tf.gradients(y, x, overrides={"Sin": double}, order=2), "holds for order 2, but this call is .* of order 1"),
        (lambda: tf.gradients(g, x, overrides={"Sin": double}, order=1), "order 1, but .* of order 2: .* contains gradients"),
        (lambda: tf.gradients(y, x, order=1), "none are given"),
        (lambda: tf.hessian_vector_product(y, x, v, order=1), "none are given"),
        (lambda: tf.gradients(y, x, overrides={"Sin": double}, order="first"), "order is 'all', 1, 2"),
        (lambda: tf.hessian_vector_product(y, x, v, overrides={"Elu": double}), "in none of its differentiations"),
        (lambda: tf.jacobian(y, x, overrides={"Elu": double}), "in none of its differentiations"),
        (lambda: tf.hessians(y, x, through_gradients=False), "takes no through_gradients"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_products_with_a_hessian_take_what_gradients_take():
    x, k = tf.constant(X), tf.constant(X)
    y = tf.sin(x) * tf.stop_gradient(x)
    direct = tf.hessian_vector_product(y, x, [tf.ones_like(x)], grad_ys=[[1.0, 2.0, 3.0]])[0]
    np.testing.assert_allclose(run(direct), -np.sin(X) * X * [1, 2, 3])
    assert tf.hessian_vector_product(y, k, [tf.ones_like(x)]) == [None]
    for of in (y, 2.0 * k):
        zero = tf.hessian_vector_product(of, k, [tf.ones_like(x)], unconnected_gradients="zero")[0]
        np.testing.assert_array_equal(run(zero), np.zeros(3))
    view = tf.View("v", {"Sin": double}, grad_ys=[[1.0, 2.0, 3.0]])
    viewed = tf.hessian_vector_product(y, x, [tf.ones_like(x)], view=view)[0]
    np.testing.assert_allclose(run(viewed), 2 * -np.sin(X) * X * [1, 2, 3])


OPTIMIZERS = {
    "tf.train": lambda: tf.train.GradientDescentOptimizer(0.1),
    "a wrapper": lambda: tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1),
    "Keras": lambda: tf.keras.optimizers.SGD(0.1),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_optimizers_take_overrides(kind):
    w = tf.Variable(X)
    optimizer, loss = OPTIMIZERS[kind](), tf.reduce_sum(tf.sin(w)) + tf.reduce_sum(tf.sin(w) * 2.0)
    steps = [tf.train.get_or_create_global_step()] if kind == "a wrapper" else []
    trains = [optimizer.minimize(loss, *steps, overrides={"Sin": double}, order=1),
              optimizer.minimize(loss, *steps, view=tf.View("v", {"Sin": double}))]
    for train in trains if kind != "a wrapper" else []:
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            np.testing.assert_allclose(session.run(w), X - 0.1 * 6 * np.cos(X), rtol=1e-6)
    with pytest.raises(tf.OverrideError, match="caught none"):
        optimizer.minimize(loss, *steps, overrides={"Elu": double})
    with pytest.raises(tf.OverrideError, match="order 2"):
        optimizer.minimize(loss, *steps, overrides={"Sin": double}, order=2)
    if hasattr(optimizer, "compute_gradients"):
        (g, _), = optimizer.compute_gradients(loss, accumulate={w: rules.accumulate_max})
        np.testing.assert_allclose(run(g), 2 * np.cos(X))


# -- views --------------------------------------------------------------------------------------------------------


def test_a_view_carries_its_grad_ys():
    x = tf.constant(X)
    y = tf.sin(x)
    view = tf.View("weighted", {"Sin": double}, grad_ys=[[1.0, 2.0, 3.0]])
    got = run([tf.gradients(y, x, view=view)[0], tf.view_gradients(y, x, [None, view]),
               tf.gradients(y, x, grad_ys=[X], view=view)[0], tf.jacobian(y, x, view=view)])
    expected = 2 * np.cos(X)
    np.testing.assert_allclose(got[0], expected * [1, 2, 3])
    np.testing.assert_allclose(got[1]["true"][0], np.cos(X))
    np.testing.assert_allclose(got[1]["weighted"][0], expected * [1, 2, 3])
    np.testing.assert_allclose(got[2], expected * X)  # the call's own come first
    np.testing.assert_allclose(got[3], np.diag(expected))
    assert "grad_ys" in repr(view)
    compared = tf.compare(None, view, y, x)
    np.testing.assert_allclose(compared[x.name].ratio, np.linalg.norm(expected * [1, 2, 3]) / np.linalg.norm(np.cos(X)))
    assert compared.names == ["true", "weighted"]


def test_a_view_that_catches_nothing_says_so():
    x = tf.constant(X)
    with pytest.warns(tf.RegradWarning, match="'v'.* caught no operation"):
        tf.gradients(tf.sin(x), x, view=tf.View("v", {"Elu": double}))
    tf.gradients(tf.sin(x), x, view=tf.View("v", {"Elu": double, "Sin": double}))
    tf.hessian_vector_product(tf.sin(x), x, [x], view=tf.View("v", {"Sin": double}, order=1))


# -- bridges, strengths, schedules -----------------------------------------------------------------------------


def test_a_bridge_by_type_passes_a_cast():
    x = tf.constant(X)
    z = tf.cast(x > 0.0, tf.float64) * 3.0
    straight = tf.bridge("Greater", lambda op, dy: (dy, None))
    np.testing.assert_allclose(run(tf.gradients(z, x, overrides=[straight])[0]), [3.0] * 3)
    assert tf.gradients(z, x) == [None]
    with pytest.raises(tf.OverrideError, match="what takes its output, 'Select.*has a rule of its own"):
        tf.gradients(tf.where(x > 0.0, x, -x), x, overrides=[straight])


def test_stop_ends_any_chain():
    x = tf.constant(X)
    for rule in (rules.default >> rules.stop(), rules.stop() >> rules.default, rules.scale(2.0) >> rules.stop(),
                 rules.stop() >> rules.clip(1.0), rules.stop() >> double, rules.default >> rules.clip(1.0) >> rules.stop()):
        assert tf.gradients(tf.sin(x), x, overrides={"Sin": rule}) == [None]
    with pytest.raises(TypeError):
        rules.stop() >> 3
    mixed = tf.gradients(tf.sin(x), x, overrides={"Sin": rules.mix(0.25, rules.stop(), rules.default)})[0]
    np.testing.assert_allclose(run(mixed), 0.75 * np.cos(X))


STRENGTHS = {
    "scale": lambda s: rules.scale(s), "reverse": lambda s: rules.reverse(s), "clip": lambda s: rules.clip(s),
    "clip to": lambda s: rules.clip(-3.0, s), "clip_norm": lambda s: rules.clip_norm(s),
    "clip_percentile": lambda s: rules.clip_percentile(s), "noise": lambda s: rules.noise(s, seed=1),
    "dropout": lambda s: rules.dropout(s, seed=1), "mix": lambda s: rules.mix(s, rules.scale(3.0), rules.default),
    **{name: lambda s, name=name: rules.surrogate(getattr(rules, name)(s)) for name in (
        "clipped", "tanh", "sigmoid", "fast_sigmoid", "arctan", "triangle", "gaussian", "swish_sign")},
}


@pytest.mark.parametrize("name", STRENGTHS)
def test_every_strength_may_be_a_number_a_tensor_or_a_schedule(name):
    x = tf.constant(X)
    y, given = tf.sin(x), tf.placeholder(tf.float64, [])
    step = tf.train.create_global_step()
    ways = [0.25, given, lambda step: 0.25 + tf.cast(step, tf.float64)]
    got = [tf.gradients(y, x, overrides={"Sin": STRENGTHS[name](strength)})[0] for strength in ways]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        number, fed, scheduled = session.run(got, {given: 0.25, step: 0})
        np.testing.assert_allclose(fed, number)
        np.testing.assert_allclose(scheduled, number)
        if name not in ("noise", "dropout"):
            later, fed = session.run(got[:0:-1], {given: 0.5, step: 0}), session.run(got[1], {given: 0.5})
            np.testing.assert_allclose(later[1], fed)


def _minimized(advance):
    x = tf.Variable(X)
    loss = tf.reduce_sum(tf.reverse_gradient(x, lambda step: tf.cast(step, tf.float64) + 1.0))
    step, optimizer = tf.train.get_or_create_global_step(), tf.train.GradientDescentOptimizer(1.0)
    train = optimizer.minimize(loss, global_step=step if advance == "given" else None)
    if advance == "Keras":
        train = tf.keras.optimizers.SGD(1.0).minimize(loss)
    later = {"added": lambda: tf.assign_add(step, 1), "assigned": lambda: tf.assign(step, step + 1)}.get(advance, tf.no_op)()
    tf.train.Saver()
    return train, later, x, {step: 3} if advance == "fed" else None


@pytest.mark.parametrize("advance", ["given", "added", "assigned", "fed"])
def test_a_schedule_of_a_step_that_goes_on_is_followed(advance):
    train, later, x, feed = _minimized(advance)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, feed)
            session.run(later)
        np.testing.assert_allclose(session.run(x), X + (8 if advance == "fed" else 3))


@pytest.mark.parametrize("advance", ["none", "Keras"])
def test_a_schedule_of_a_step_that_stands_still_says_so_once(advance):
    train, _, x, _ = _minimized(advance)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.gradients(tf.reverse_gradient(x, lambda step: 1.0), x))  # to look is no training
        with pytest.warns(tf.RegradWarning, match="test_corners.py.*'global_step', which nothing in the graph advances"):
            session.run(train)
        session.run(train)


def test_straight_through_with_a_derivative_has_that_derivatives_derivative():
    x = tf.constant(X)
    first = tf.gradients(tf.straight_through(tf.sign, rules.tanh(1.0))(x), x)[0]
    same = tf.gradients(tf.sign(x), x, overrides={"Sign": rules.surrogate(rules.tanh(1.0))})[0]
    got = run([first, tf.gradients(first, x)[0], same, tf.gradients(same, x)[0]])
    np.testing.assert_allclose(got[0], 1 - np.tanh(X) ** 2)
    np.testing.assert_allclose(got[1], -2 * np.tanh(X) * (1 - np.tanh(X) ** 2))
    np.testing.assert_allclose(got[:2], got[2:])


# -- what is made later, or again -------------------------------------------------------------------------------


def _normalised():
    x = tf.placeholder(tf.float32, [2, 2])
    with tf.variable_scope("inner"):
        h = tf.layers.batch_normalization(tf.layers.dense(x, 3, activation=tf.nn.relu), training=True)
        h = tf.nn.relu(h)
    return x, h, tf.reduce_sum(tf.layers.dense(h, 1))


def test_a_group_of_a_scope_is_the_same_after_an_optimizer_was_made():
    x, h, loss = _normalised()
    before = sel.group_in("inner")
    tf.train.AdamOptimizer(0.1).minimize(loss)
    tf.train.Saver()
    tf.summary.histogram("kernel", tf.trainable_variables()[0])
    after = sel.group_in("inner")
    assert (before.inputs, before.outputs, before.ops) == (after.inputs, after.outputs, after.ops)
    assert after.outputs == (h,) and after.inputs[0] is x
    assert {t.op.name for t in after.inputs[1:]} == {v.op.name for v in tf.trainable_variables("inner")}


CELL = "h = tf.tanh(x, name='h')"


def test_a_name_that_an_earlier_run_of_a_cell_made_is_told():
    names = {"tf": tf, "x": tf.constant(X)}
    for _ in range(2):
        exec(compile(CELL, "<cell>", "exec"), names)
    for give in (tf.attach, tf.set_graph_rule):
        with pytest.warns(tf.RegradWarning, match="'h' is what an earlier run made.*made 'h_1'.*tensor itself"):
            give("h", double)
    tf.attach(names["h"], double)  # the tensor itself


def test_names_made_by_one_run_of_a_loop_are_what_they_say():
    h = tf.constant(X)
    for _ in range(2):
        h = tf.tanh(h, name="h")
    tf.attach("h", double)


def test_rules_of_a_graph_reach_the_bodies_of_its_copy():
    x = tf.constant([0.5], name="x")
    body = lambda h: tf.cond(h[0] > 0.0, lambda: tf.sin(tf.sin(h)), lambda: tf.tanh(h))  # noqa: E731
    y = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, body(h)), [0, x])[1]
    y = tf.identity(tf.map_fn(tf.sinh, y), name="y")
    for kind in ("Sin", "Sinh"):
        tf.set_graph_rule(kind, double)
    original = run(tf.gradients(y, x)[0])
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(graph_def, return_elements=["x:0", "y:0"])
        np.testing.assert_allclose(run(tf.gradients(y, x)[0]), original)
        np.testing.assert_allclose(run(tf.gradients(tf.sin(x), x)[0]), np.cos([0.5]))
        again = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        x, y = tf.import_graph_def(again, return_elements=["import/x:0", "import/y:0"])
        np.testing.assert_allclose(run(tf.gradients(y, x)[0]), original)


PRIVATE = ["LowerBound", "UpperBound", "IdentityFirst", "Where", "TileGrad", "ScatterUpdate", "GradientBlock", "ForwardOf",
           "SameShape", "SumToLike", "After"]


@pytest.mark.parametrize("name", PRIVATE)
def test_a_programs_rule_may_have_any_name_that_tensorflow_leaves_free(name):
    from regrad.core import gradient_registry

    own = gradient_registry.of_type("GradientBlock")
    tf.RegisterGradient(name)(lambda op, dy: 7.0 * dy)
    try:
        with pytest.raises(KeyError, match="Registering two gradient.*test_corners.py"):
            tf.RegisterGradient(name)(lambda op, dy: 8.0 * dy)
        x = tf.constant(X)
        with tf.get_default_graph().gradient_override_map({"Tanh": name}):
            y = tf.tanh(x)
        blocks = tf.scale_gradient(tf.straight_through(tf.round)(y) + x[0] * 0.0, 2.0)
        np.testing.assert_allclose(run(tf.gradients(blocks, y)[0]), [2.0] * 3)
        np.testing.assert_allclose(run(tf.gradients(y, x)[0]), [7.0] * 3)
        assert gradient_registry.of_type("GradientBlock") is own
    finally:
        gradient_registry.forget(name)
    assert name == "IdentityFirst" or "test_corners" not in gradient_registry.of_type(name).where


def test_names_that_tensorflow_registers_are_taken():
    for name in ("Tanh", "PyFunc", "Less", "MaxPoolGrad"):
        with pytest.raises(KeyError, match="Registering two gradient"):
            tf.RegisterGradient(name)(lambda op, dy: dy)


# -- groups in groups, and what is passed by --------------------------------------------------------------------


def test_a_group_inside_another_is_in_force_in_its_default():
    x = tf.constant(X)
    a = tf.sin(x)
    b = tf.tanh(a)
    y = tf.exp(b)
    inner, outer = sel.group([a], [b]), sel.group([x], [y])
    plain = tf.gradients(y, x)[0]
    both = [tf.gradients(y, x, overrides=[(first, double), (second, double)])[0]
            for first, second in ((inner, outer), (outer, inner), (inner, sel.group([a], [b])))]
    plain, *both = run([plain, *both])
    for g in both:
        np.testing.assert_allclose(g, 4 * plain)
    with pytest.raises(tf.OverrideError, match="caught none"):  # the outer rule does not ask for the inside
        tf.gradients(y, x, overrides=[(inner, double), (outer, lambda group, dy: 7.0 * dy)])
    with pytest.raises(tf.OverrideError, match="overlap, and neither lies inside the other"):
        tf.gradients(y, x, overrides=[(sel.group([x], [b]), double), (sel.group([a], [y]), double)])


def test_a_group_that_no_gradient_arrives_at_caught_nothing():
    x = tf.constant(X)
    seen = []

    @tf.custom_gradient
    def passed(x):
        seen.append(tf.sin(x))
        return seen[-1] * 2.0, lambda dy: dy

    y = passed(x)
    with pytest.raises(tf.OverrideError, match="caught none"):
        tf.gradients(y, x, overrides={sel.group([seen[0].op.inputs[0]], [seen[0]]): double})
    with pytest.raises(tf.OverrideError, match="goes past it, and stands for the way"):
        tf.gradients(y, x, known_gradients={seen[0]: X})
