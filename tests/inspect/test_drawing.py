"""The drawing of a backward pass: formulas, shapes, the numbers of a run, and themes."""

import json
import re

import numpy as np
import pytest

import regrad as tf
from regrad import sel

A = [0.3, -0.7, 1.2]
FORMULAS = {  # y of a and b, and what the rule of its operation gives each
    "relu": (lambda a, b: tf.nn.relu(a, name="h"), ["dy * (h > 0)"]),
    "tanh": (lambda a, b: tf.tanh(a, name="h"), ["dy * (1 - h²)"]),
    "sigmoid": (lambda a, b: tf.sigmoid(a, name="h"), ["dy * h * (1 - h)"]),
    "softplus": (lambda a, b: tf.nn.softplus(a), ["dy * sigmoid(a)"]),
    "product": (lambda a, b: a * b, ["dy * b", "dy * a"]),
    "difference": (lambda a, b: a - b, ["dy", "-dy"]),
    "square": (lambda a, b: tf.square(a), ["dy * 2 * a"]),
    "exponential": (lambda a, b: tf.exp(a, name="h"), ["h * dy"]),
    "logarithm": (lambda a, b: tf.log(a), ["1 / a * dy"]),
    "mean": (lambda a, b: tf.reduce_mean(a), ["dy / 3"]),
    "sum over what was broadcast": (lambda a, b: a + b[0], ["dy", "sum(dy)"]),
    "matrix product": (lambda a, b: tf.matmul(a[None], b[:, None], name="p"), ["dy @ strided_slice_1ᵀ", "strided_sliceᵀ @ dy"]),
    "rows": (lambda a, b: tf.gather(a, [0, 2]), ["rows dy"]),
    "greatest": (lambda a, b: tf.reduce_max(a), ["dy where a is greatest"]),
    "cross entropy": (lambda a, b: tf.nn.softmax_cross_entropy_with_logits_v2(logits=a, labels=b),
                      ["dy * (softmax(Reshape) - Reshape_1)", "-dy * log_softmax(Reshape)"]),
    "choice": (lambda a, b: tf.where(tf.greater(a, 0.0, name="up"), a, b), ["where(up, dy, 0)", "where(up, 0, dy)"]),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_formulas_are_read_off_what_the_rule_builds(case):
    program, formulas = FORMULAS[case]
    a, b = tf.placeholder(tf.float32, [3], name="a"), tf.placeholder(tf.float32, [3], name="b")
    y = program(a, b)
    step = next(s for s in tf.explain_gradients(y, [a, b]).steps if any(s.formulas) and s.type != "Reshape")
    assert [f for f in step.formulas if f] == formulas


def test_formulas_are_true():
    """Every formula that Python can read gives the numbers of the gradient itself."""
    a, b = tf.placeholder(tf.float64, [3], name="a"), tf.placeholder(tf.float64, [3], name="b")
    fed = {a: np.abs(A) + 0.1, b: np.array([0.5, -1.5, 2.5])}
    names = {"dy": np.array([1.0, 2.0, -0.5]), "a": fed[a], "b": fed[b], "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
             "cos": np.cos, "sin": np.sin, "exp": np.exp, "sign": np.sign, "where": np.where, "max": np.maximum, "log": np.log}
    tried = 0
    for f in (tf.nn.relu, tf.tanh, tf.sigmoid, tf.nn.softplus, tf.square, tf.exp, tf.log, tf.sin, tf.cos, tf.abs, tf.sqrt,
              tf.rsqrt, tf.reciprocal, tf.erf, tf.nn.elu, lambda x: x * b, lambda x: x / b, lambda x: x - b, lambda x: b - x,
              lambda x: tf.maximum(x, b), lambda x: tf.minimum(x, b), lambda x: tf.squared_difference(x, b), tf.negative):
        y = f(a)
        step, = [s for s in tf.explain_gradients(y, [a, b]).steps if s.op is y.op]
        grads = tf.gradients(y, [a, b], grad_ys=[names["dy"]])
        with tf.Session() as session:
            values = session.run([y, *(g for g in grads if g is not None)], fed)
        own = {**names, re.sub(r"\W", "_", y.op.name): values[0]}
        for text, t in zip(step.formulas, y.op.inputs):
            if not text:
                continue
            python = text.replace("²", "**2").replace("³", "**3").replace("0 <", "0. <")
            if not re.search(r"[^\w\s.()*+/<>=,-]", python):
                at = 1 + [g for g in (a, b) if grads[(a, b).index(g)] is not None].index(t)
                np.testing.assert_allclose(eval(python, own), values[at], rtol=1e-5, err_msg=f"{y.op.type}: {text}")
                tried += 1
    assert tried >= 25


def program():
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.name_scope("layer"):
        w = tf.Variable(tf.ones([3, 2]), name="w")
        h = tf.nn.relu(tf.matmul(x, w, name="z"), name="h")
    y = tf.reduce_sum(tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a, name="t")), [0, h])[1])
    return x, w, h, y


def test_a_run_gives_its_numbers_to_the_drawing():
    x, w, h, y = program()
    value = np.array([[1.0, -0.5, 0.2], [-1.0, 0.1, 0.3]], np.float32)
    told = tf.explain_gradients(y, [x, w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        run = told.at({x: value})
        dh, dz, hv = session.run([*tf.gradients(y, [h, h.op.inputs[0]]), h], {x: value})
        page = told.html(feed_dict={x: value}, session=session)

    flow = run["layer/h"].flow
    np.testing.assert_allclose(flow.values[0], hv, rtol=1e-6)
    np.testing.assert_allclose(flow.arriving[0], dh, rtol=1e-5)
    np.testing.assert_allclose(flow.given[0], dz, rtol=1e-5)
    assert told["layer/h"].flow is None and run.steps[0].name == told.steps[0].name
    inside = next(s for s in run.steps if s.type == "Tanh")
    assert [turn for turn, *_ in inside.flow.turns] == [2, 1, 0]
    assert f"&Vert;{np.linalg.norm(dz):.3g}&Vert;" in page and "turn by turn, last first" in page and "class='bar'" in page
    assert "class='bar'" not in told.html() and "= dy * (h &gt; 0)" in told.html() and "float32[2,2]" in page
    assert json.loads(run.to_json())["steps"][0]["flow"]["arriving"][0]["norm"] is not None


def test_numbers_that_are_ill_stand_out():
    x = tf.placeholder(tf.float32, [2], name="x")
    page = tf.explain_gradients(tf.reduce_sum(tf.sqrt(x)), x).html(feed_dict={x: [0.0, 1.0]})
    assert re.search(r"nums ill'[^>]*>.*?&Vert;inf&Vert;", page)


def test_groups_and_slices_have_numbers_too():
    x = tf.placeholder(tf.float32, [3], name="x")
    h = tf.tanh(x * 2.0, name="h")
    y = tf.reduce_sum(tf.gather(h, [0, 2]))
    run = tf.explain_gradients(y, x, overrides={sel.group([x], [h]): lambda group, dy: dy}).at({x: A})
    assert {s.type for s in run.steps if s.flow is not None} >= {"Sum", "GatherV2"}
    assert run._repr_html_().count("class='grad'") >= 2


def test_a_page_and_a_notebook_follow_dark_themes():
    x = tf.placeholder(tf.float32, [3], name="x")
    told = tf.explain_gradients(tf.tanh(x), x)
    for text in (told.html(), told._repr_html_()):
        assert "prefers-color-scheme: dark" in text and 'data-jp-theme-light="false"' in text and "vscode-dark" in text
        style = text[text.index("<style>"):text.index("</style>")]
        dark = re.findall(r"\{(--ink: #dfe6ee[^}]*)\}", style)
        used, light = set(re.findall(r"var\((--\w+)\)", style)), set(re.findall(r"(--\w+):", style.partition("@media")[0]))
        assert len(dark) == 2 and used <= light == set(re.findall(r"(--\w+):", dark[0]))
