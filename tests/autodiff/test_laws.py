"""Laws of gradients and of overriding, on random graphs: flat, inside a branch, inside a loop.

The programs are those of `random_programs.py`. Nothing here knows a derivative: laws compare gradients with each other, with
JAX's derivative of the same graph, and, for a sample, with what TensorFlow answered.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import regrad as tf
from regrad import rules, sel
from regrad.core.opdef import declared_attrs
from regrad.core.operation import op_arguments
from regrad.runtime.backend import XLA, x64
from tests.autodiff import random_programs
from tests.autodiff.random_programs import SIZE, C, U, X

# a selector that was drawn may mean nothing
pytestmark = pytest.mark.filterwarnings(r"ignore:(gradients|jacobian).view:regrad.RegradWarning")


def host_sin(x):
    """sin(x) computed by NumPy, with gradients of two orders by NumPy."""
    second = tf.host_gradient(lambda v, dy, g: (-np.sin(v) * dy * g, np.cos(v) * g))
    return tf.py_func(np.sin, [x], tf.float64, grad=tf.host_gradient(lambda v, dy: np.cos(v) * dy, second), shape=x.shape)


STEPS = random_programs.table(tf) | {"host": lambda a, b: host_sin(a) * b}
FLAT = sorted(set(STEPS) - {"choice", "loop"})
TYPES = ["Tanh", "Sin", "Sigmoid", "Exp", "Square", "Relu", "Add", "Sub", "Mul", "Maximum", "RealDiv", "MatMul", "Mean", "Sum",
         "Softmax", "ConcatV2", "StridedSlice", "PyFunc"]


def programs(kinds=tuple(STEPS)):
    step = st.tuples(st.sampled_from(kinds), st.integers(0, 4), st.integers(0, 4))
    return st.lists(step, min_size=2, max_size=6)


places = st.sampled_from(["flat", "branch", "loop"])


@st.composite
def selectors(draw, depth=2):
    if depth and draw(st.booleans()):
        a, b = draw(selectors(depth - 1)), draw(selectors(depth - 1))
        return draw(st.sampled_from([a & b, a | b, a - b]))
    simple = [lambda: sel.type(*draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))),
              lambda: sel.first(), lambda: sel.last(), lambda: sel.nth(sel.everything, draw(st.integers(-4, 4))),
              lambda: sel.name(draw(st.sampled_from(["*", "*a*", "M*", "?"]))),
              lambda: sel.where(lambda op: len(op.name) % 2 == 0), lambda: sel.everything]
    return draw(st.sampled_from(simple))()


def laws(examples):
    """The settings of a law: so many examples, always the same ones."""
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))


def steps(program, x, c, each=lambda i, t: t):
    return random_programs.steps(tf, program, x, c, each, STEPS)


def place(program, where, x, c):
    return random_programs.place(tf, program, where, x, c, STEPS)


class Example:
    """A fresh graph with x and c; `session.run` with X fed."""

    def __enter__(self):
        self.graph = tf.Graph()
        self.context = self.graph.as_default()
        self.context.__enter__()
        self.x = tf.placeholder(tf.float64, [SIZE, SIZE], name="x")
        self.c = tf.constant(C, name="c")
        self.session = tf.Session()
        return self

    def __exit__(self, *exc):
        self.session.close()
        self.context.__exit__(*exc)

    def run(self, fetches):
        return self.session.run(fetches, {self.x: X})

    def gradient(self, y, **options):
        return tf.gradients(y, self.x, unconnected_gradients="zero", **options)[0]


def times(k):
    def rule(op, *dys, default):
        return [None if g is None else k * tf.convert_to_tensor(g) for g in default()]

    return rule


tf.RegisterGradient("LawTriple")(times(3.0))
tf.RegisterGradient("LawOnly")(lambda op, *dys: _only(5.0)(op, *dys))


# -- against JAX -----------------------------------------------------------------------------------------


def interpret(graph, known, wanted):
    """Evaluates `wanted` of a graph by the lowerings of its operations, loops and branches turn by turn."""
    values = dict(known)
    for op in graph._ops:
        if all(t in values for t in op.outputs):
            continue
        kind, inputs = op.type, [values[t] for t in op.inputs]
        if kind == "If":
            branch = op.attrs["branches"][0 if bool(inputs[0]) else 1]
            out = interpret(branch, zip(branch.inputs, inputs[1:]), branch.outputs)
        elif kind == "PyFunc":
            out = jnp.sin(inputs[0])  # the one host function here
        elif kind == "While":
            n, test, body = op.attrs["n_carry"], op.attrs["cond"], op.attrs["body"]
            carry, captures = inputs[1:1 + n], inputs[1 + n:]
            while bool(interpret(test, zip(test.inputs, carry + captures), test.outputs)[0]):
                carry = interpret(body, zip(body.inputs, carry + captures), body.outputs)
            out = carry
        else:
            arguments = [np.asarray(v) if i in op.opdef.static else v for i, v in enumerate(op_arguments(op, inputs))]
            out = op.opdef.lower(XLA, *arguments, **declared_attrs(op))
        values.update(zip(op.outputs, out if isinstance(out, (list, tuple)) else [out]))
    return [values[t] for t in wanted]


@laws(12)
@given(programs(), places)
def test_gradients_equal_jaxs_derivative(program, where):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        with x64():
            value, back = jax.vjp(lambda x: interpret(e.graph, {e.x: x}, [y])[0], jnp.asarray(X))
            expected = back(jnp.asarray(U))[0]
        got_value, got = e.run([y, e.gradient(y, grad_ys=[U])])
    np.testing.assert_allclose(got_value, value, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11)


@laws(7)
@given(programs(), places)
def test_second_derivatives_equal_jaxs(program, where):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        with x64():
            of = lambda x: jnp.sum(interpret(e.graph, {e.x: x}, [y])[0] * C)  # noqa: E731
            expected = jax.grad(lambda x: jnp.sum(jax.grad(of)(x) * U))(jnp.asarray(X))
        got = e.run(e.gradient(tf.reduce_sum(e.gradient(y, grad_ys=[C]) * U)))
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)


@laws(12)
@given(programs(), places, st.floats(-3, 3), st.floats(-3, 3))
def test_linear_in_what_arrives(program, where, a, b):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        one, two, both = e.run([e.gradient(y, grad_ys=[g]) for g in (U, C, a * U + b * C)])
    np.testing.assert_allclose(both, a * one + b * two, rtol=1e-9, atol=1e-10)


@laws(7)
@given(programs(), places)
def test_forward_mode_is_the_transpose(program, where):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        forward = tf.jvp(y, e.x, [tf.constant(C)])[0]
        forward = tf.zeros_like(y) if forward is None else forward
        back, along = e.run([e.gradient(y, grad_ys=[U]), forward])
    np.testing.assert_allclose(np.sum(along * U), np.sum(back * C), rtol=1e-9, atol=1e-10)


# -- the ten laws of overriding ----------------------------------------------------------------------------


@laws(12)
@given(programs(), places, selectors())
def test_1_the_default_rule_is_no_override(program, where, selector):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        plain, same = e.run([e.gradient(y), e.gradient(y, view=tf.View("v", {selector: rules.default}))])
    np.testing.assert_array_equal(plain, same)


@laws(12)
@given(programs(), st.integers(0, 7), st.floats(-3, 3))
def test_2_k_times_default_scales_the_paths_through_the_op(program, at, k):
    with Example() as e:
        made = steps(program, e.x, e.c)
        y, t = made[-1], made[at % len(made)]
        through = e.gradient(t, grad_ys=tf.gradients(y, t, unconnected_gradients="zero"))
        plain, cut, scaled = e.run([e.gradient(y), through, e.gradient(y, view=tf.View("v", {t: times(k)}))])
    np.testing.assert_allclose(scaled, plain + (k - 1) * cut, rtol=1e-9, atol=1e-10)


def _operands(program, made, at, x, c):
    """Returns the matrices that step `at` was made of."""
    before = [c, x, *made[:at]]
    return [before[-1 - i % len(before)] for i in program[at][1:]]


@laws(10)
@given(programs(), st.integers(0, 7), st.floats(-3, 3))
def test_2_k_times_the_default_of_a_group_scales_the_paths_through_it(program, at, k):
    with Example() as e:
        made = steps(program, e.x, e.c)
        at %= len(made)
        y, t = made[-1], made[at]
        group = sel.group(_operands(program, made, at, e.x, e.c), [t])
        through = e.gradient(t, grad_ys=tf.gradients(y, t, unconnected_gradients="zero"))
        same = e.gradient(y, view=tf.View("same", {group: rules.default}))
        plain, same, cut, scaled = e.run([e.gradient(y), same, through, e.gradient(y, view=tf.View("v", {group: times(k)}))])
    np.testing.assert_allclose(same, plain, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(scaled, plain + (k - 1) * cut, rtol=1e-9, atol=1e-10)


@laws(10)
@given(programs(), st.integers(0, 7), st.integers(0, 7))
def test_8_a_group_is_a_unit_or_an_error_that_names_the_leak(program, i, j):
    with Example() as e:
        made = steps(program, e.x, e.c)
        i, j = sorted((i % len(made), j % len(made)))
        view = tf.View("v", {sel.group([e.x, e.c, *made[:i]], [made[j]], "some"): rules.default})
        try:
            whole = e.gradient(made[-1], view=view)
        except tf.OverrideError as error:
            assert "group 'some'" in str(error) and ("leaks" in str(error) or "no unit" in str(error))
            return
        plain, whole = e.run([e.gradient(made[-1]), whole])
    np.testing.assert_allclose(whole, plain, rtol=1e-12, atol=1e-14)


@laws(12)
@given(programs(), st.integers(0, 7))
def test_3_three_ways_to_stop(program, at):
    at %= len(program)

    def nothing(op, *dys):
        return [None] * len(op.inputs)

    with Example() as e:
        made = steps(program, e.x, e.c)
        stopped = steps(program, e.x, e.c, lambda i, t: tf.stop_gradient(t) if i == at else t)
        got = e.run([e.gradient(made[-1], view=tf.View("v", {made[at]: nothing})),
                     e.gradient(made[-1], stop_gradients=[made[at]]), e.gradient(stopped[-1])])
    np.testing.assert_array_equal(got[0], got[1])
    np.testing.assert_allclose(got[0], got[2], rtol=1e-12)


@laws(9)
@given(programs(), places, st.sampled_from(TYPES))
def test_4_every_way_of_saying_it_is_the_same(program, where, kind):
    triple = times(3.0)
    with Example() as e:
        y = place(program, where, e.x, e.c)
        reached = any(op.type == kind for op in e.graph._ops)
        by_predicate = sel.where(lambda op: op.type == kind)
        ways = [e.gradient(y, view=tf.View("v", {kind: triple})), e.gradient(y, view=tf.View("w", {kind: "LawTriple"})),
                e.gradient(y, overrides=[tf.Override(kind, triple, optional=True)]),
                e.gradient(y, overrides=[tf.Override(by_predicate, triple, optional=True)])]
        with tf.set_graph_rule(kind, triple):
            ways.append(e.gradient(y))
        if reached and where == "flat" and not {"choice", "loop"} & {s[0] for s in program}:
            with tf.attach(kind, triple):
                ways.append(e.gradient(y))
        scope = e.graph.gradient_override_map({kind: "LawTriple"})
        scope.__enter__()
        again = place(program, where, e.x, e.c)
        try:
            scope.__exit__(None, None, None)
        except tf.RegradWarning as warning:  # as an error, as warnings are here: the block made no op of the type
            assert "overrides nothing" in str(warning)
        got = e.run([*ways, e.gradient(again)])
    for g in got[1:]:
        np.testing.assert_allclose(g, got[0], rtol=1e-12)


@laws(9)
@given(programs(), places, selectors(), selectors())
def test_5_disjoint_overrides_commute_inner_blocks_win_and_undo_restores(program, where, a, b):
    b = b - a
    with Example() as e:
        y = place(program, where, e.x, e.c)
        before = e.gradient(y)
        one = e.gradient(y, view=tf.View("ab", [(a, times(2.0)), (b, times(-3.0))]))
        two = e.gradient(y, view=tf.View("ba", [(b, times(-3.0)), (a, times(2.0))]))
        alone = e.gradient(y, view=tf.View("a", {a: _only(2.0)}))
        with tf.overriding([tf.Override(a, times(5.0), optional=True)]), \
             tf.overriding([tf.Override(a, _only(2.0), optional=True)]):
            inner = e.gradient(y)
        before, one, two, alone, inner, after = e.run([before, one, two, alone, inner, e.gradient(y)])
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(inner, alone)
    np.testing.assert_array_equal(before, after)


def _only(k):
    """A rule that asks for no default: `k` times what arrives, for every input of the output's shape."""

    def rule(op, *dys):
        return [k * dys[0] if t.shape == op.outputs[0].shape and t.dtype == dys[0].dtype and i < 2 else None
                for i, t in enumerate(op.inputs)] if dys[0] is not None else [None] * len(op.inputs)

    return rule


@laws(9)
@given(programs(FLAT), places, st.sampled_from(TYPES))
@pytest.mark.filterwarnings("ignore::regrad.RegradWarning")  # a type that the program does not have
def test_5_the_inner_scope_wins(program, where, kind):
    with Example() as e:
        with e.graph.gradient_override_map({kind: "LawTriple"}), e.graph.gradient_override_map({kind: "LawOnly"}):
            nested = place(program, where, e.x, e.c)
        with e.graph.gradient_override_map({kind: "LawOnly"}):
            alone = place(program, where, e.x, e.c)
        a, b = e.run([e.gradient(nested), e.gradient(alone)])
    np.testing.assert_array_equal(a, b)


@laws(9)
@given(programs(), places, selectors())
def test_6_a_forward_value_never_changes(program, where, selector):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        alone = e.run(y)
        with_gradient, _ = e.run([y, e.gradient(y, view=tf.View("v", {selector: times(1e9)}))])
        after = e.run(y)
    np.testing.assert_allclose(with_gradient, alone, rtol=1e-13)
    np.testing.assert_array_equal(alone, after)


@laws(9)
@given(programs(FLAT), st.sampled_from(TYPES))
def test_7_an_override_reaches_the_same_ops_wherever_the_code_stands(program, kind):
    with Example() as e:
        got = [e.gradient(place(program, where, e.x, e.c), view=tf.View(where, {kind: times(3.0)}))
               for where in ("flat", "branch", "loop", "mapped", "recomputed")]
        y = place(program, "flat", e.x, e.c)
        loaded, = tf.import_graph_def(tf.Graph.as_graph_def(y.graph), {"x": e.x}, return_elements=[y.name], name="loaded")
        got = e.run([*got, e.gradient(loaded, view=tf.View("loaded", {kind: times(3.0)}))])
    for g in got[1:]:
        np.testing.assert_allclose(g, got[0], rtol=1e-12, atol=1e-14)


@laws(8)
@given(programs(FLAT), st.integers(0, 7))
def test_8_what_matches_nothing_or_returns_the_wrong_thing_fails(program, at):
    wrong = {
        "Num gradients": lambda op, dy: [dy] * (len(op.inputs) + 1),
        "shape": lambda op, dy: [tf.zeros([7, 5], tf.float64)] * len(op.inputs),
        "dtype": lambda op, dy: [tf.cast(dy, tf.float32)] + [None] * (len(op.inputs) - 1),
        "": lambda op, dy: {"a": dy},
    }
    with Example() as e:
        made = steps(program, e.x, e.c)
        path = [op for op in sel.between(e.x, made[-1]).select(e.graph) if op.inputs[0].dtype == tf.float64]
        if not path:
            return
        op = path[at % len(path)]
        with pytest.raises(tf.OverrideError, match="caught none"):
            tf.gradients(made[-1], e.x, overrides={"LRN": times(2.0)})
        with pytest.raises(tf.OverrideError, match="caught none"):
            tf.gradients(made[-1], e.x, overrides={sel.type(op.type) - sel.type(op.type): times(2.0)})
        for words, rule in wrong.items():
            if words == "dtype" and e.x not in op.inputs and op.inputs[0].op not in path:
                continue  # what no gradient goes to is not looked at twice
            with pytest.raises((ValueError, TypeError), match=f"(?i){words}"):
                tf.gradients(made[-1], e.x, overrides={op: rule})


@laws(7)
@given(programs(), places, selectors())
def test_9_each_order_has_its_own_overrides(program, where, selector):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        first = e.gradient(y, grad_ys=[U])
        second = e.gradient(first)
        with tf.overriding([tf.Override(selector, times(2.0), order=2, optional=True)]):
            first_2 = e.gradient(y, grad_ys=[U])
        with tf.overriding([tf.Override(selector, times(2.0), order=1, optional=True)]):
            second_1 = e.gradient(first)
        got = e.run([first, first_2, second, second_1])
    # Compiled in one program, equal gradients may still differ in their last bits.
    np.testing.assert_allclose(got[0], got[1], rtol=1e-13)
    np.testing.assert_allclose(got[2], got[3], rtol=1e-13)


@laws(7)
@given(programs(), places, selectors(), selectors())
def test_10_views_together_are_views_one_at_a_time(program, where, a, b):
    with Example() as e:
        y = place(program, where, e.x, e.c)
        views = [tf.View("true"), tf.View("a", {a: times(2.0)}), tf.View("b", {b: times(-1.0)})]
        passes = tf.view_gradients(y, e.x, views, unconnected_gradients="zero")
        together = e.run(passes)
        for view in views:
            np.testing.assert_allclose(together[view.name][0], e.run(e.gradient(y, view=view)), rtol=1e-12, atol=1e-14)


# -- against TensorFlow ------------------------------------------------------------------------------------

random_programs.register(tf)


@pytest.mark.filterwarnings("ignore::regrad.RegradWarning")  # a block around a program without the types it names
def test_a_sample_equals_what_tensorflow_answers():
    recorded, compared = np.load(random_programs.RECORDED), 0
    for i, (program, where) in enumerate(random_programs.sample()):
        for name, value in random_programs.answers(tf, program, where).items():
            np.testing.assert_allclose(value, recorded[f"{i} {name}"], rtol=1e-9, atol=1e-11,
                                       err_msg=f"{program} {where} {name}")
            compared += 1
    assert compared == len(recorded.files) > 70
