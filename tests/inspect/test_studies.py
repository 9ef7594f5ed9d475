"""Contracts, ablation, coverage and the bias meter: each told apart from its opposite."""

import numpy as np
import pytest

import regrad as tf
from regrad import rules
from regrad.core.errors import InvalidArgumentError

VALUE = np.array([0.5, -1.5, 2.0, 1.0], np.float32)


@pytest.fixture
def x():
    return tf.placeholder(tf.float32, [4], name="x")


CONTRACTS = [  # program, promise, words of the error or None
    (tf.exp, {}, None),
    (lambda x: tf.log(x - 0.5), {}, ["finite", "expect_gradient"]),
    (tf.nn.relu, {"nonzero": 0.75}, None),
    (tf.nn.relu, {"nonzero": 0.9}, ["0.9", "0.75"]),
    (lambda x: x * 3.0, {"norm": (1.0, 6.1)}, None),
    (lambda x: x * 3.0, {"norm": (None, 5.9)}, ["at most 5.9", "6"]),
    (lambda x: x * 3.0, {"norm": (6.1, None)}, ["at least 6.1", "6"]),
]


@pytest.mark.parametrize(("program", "promise", "words"), CONTRACTS)
def test_contracts(program, promise, words, x):
    h = tf.inspect.expect_gradient(x, **promise)
    g = tf.gradients(program(h), x)[0]
    with tf.Session() as session:
        if words is None:
            expected = session.run(tf.gradients(program(x), x)[0], {x: VALUE})
            np.testing.assert_allclose(session.run(g, {x: VALUE}), expected)
            return
        with pytest.raises(InvalidArgumentError) as caught:
            session.run(g, {x: VALUE})

    assert [w for w in [*words, "test_studies.py"] if w not in str(caught.value)] == []


def test_contract_in_an_override(x):
    y = tf.nn.relu(x)
    g = tf.gradients(y, x, overrides={"Relu": rules.default >> tf.inspect.expect(nonzero=1.0)})[0]
    with tf.Session() as session, pytest.raises(InvalidArgumentError, match="breaks the contract"):
        session.run(g, {x: VALUE})


@pytest.mark.parametrize("promise", [{"nonzero": 2.0}, {"norm": (1.0, 2.0, 3.0)}])
def test_contracts_that_make_no_sense(promise):
    with pytest.raises(ValueError, match="expect"):
        tf.inspect.expect(**promise)


def test_ablation_ranks(x):
    y = tf.reduce_sum(tf.tanh(tf.sin(tf.exp(x))))
    found = tf.inspect.ablate(y, x, {"Tanh": rules.scale(1.01), "Exp": rules.scale(4.0), "Sin": rules.default}, {x: VALUE})

    assert [r["override"] for r in found.rows] == ["sel.type('Exp')", "sel.type('Tanh')", "sel.type('Sin')"]
    assert [r["change"] for r in found.rows] == pytest.approx([0.75, 0.01 / 1.01, 0.0], abs=1e-5)
    assert "test_studies.py" in str(found)


def test_coverage_and_conservation(x):
    def share(op, relevance):  # in proportion to the summands: conserves
        a, b = op.inputs
        return relevance * a / (a + b), relevance * b / (a + b)

    y = tf.reduce_sum(tf.tanh(tf.add(x, 2.0 * x), name="t"))
    found = tf.inspect.coverage(y, x, {x: VALUE}, overrides={"Add": share, "Tanh": rules.scale(0.5)})
    rows = {r["type"]: r for r in found.rows}

    assert {t: r["choice"] for t, r in rows.items()} == {"Sum": "default", "Tanh": "chosen", "Add": "chosen", "Mul": "default"}
    assert rows["Add"]["lost"] == pytest.approx(0.0, abs=1e-5)
    assert abs(rows["Tanh"]["lost"]) > 0.1


def test_relevance_rules_conserve(x):
    w = tf.constant(np.random.RandomState(0).standard_normal([4, 3]), tf.float32)
    y = tf.reduce_max(tf.nn.relu(tf.matmul([x], w)), axis=1)
    options = {"grad_ys": [y], "overrides": rules.lrp_epsilon_plus()}
    rows = {r["type"]: r for r in tf.inspect.coverage(y, x, {x: VALUE}, **options).rows}

    assert {t: r["choice"] for t, r in rows.items() if t in ("MatMul", "Relu")} == {"MatMul": "chosen", "Relu": "chosen"}
    assert [r["lost"] for r in rows.values()] == pytest.approx([0.0] * len(rows), abs=1e-4)
    assert all(r["arrives"] for r in rows.values())


@pytest.mark.parametrize("times_input", [False, True])
def test_coverage_in_a_loop(x, times_input):
    y = tf.reduce_sum(tf.scan(lambda a, v: tf.tanh(a * 0.5) + v, x))
    found = tf.inspect.coverage(y, x, {x: VALUE}, times_input=times_input, overrides={"Tanh": rules.scale(1.0)})
    rows = {r["type"]: r for r in found.rows}

    assert (rows["Tanh"]["choice"], rows["Add"]["choice"], rows["While"]["choice"]) == ("chosen", "default", "default")
    assert "body" in rows["Tanh"]["operation"] and rows["Add"]["arrives"]
    if times_input:  # sums and look-ups conserve gradient times input
        assert [rows[t]["lost"] for t in ("Add", "TensorArrayReadV3")] == pytest.approx([0.0, 0.0], abs=1e-6)


def test_coverage_of_rows(x):
    found = tf.inspect.coverage(tf.tanh(tf.gather(x, [0, 2, 2])), x, {x: VALUE}, times_input=True)

    assert {r["type"]: r["lost"] for r in found.rows}["GatherV2"] == pytest.approx(0.0, abs=1e-6)


def test_coverage_names_nothing(x):
    found = tf.inspect.coverage(tf.round(x) + x, x, {x: VALUE}, times_input=True)

    assert {r["type"]: r["choice"] for r in found.rows} == {"Add": "default", "Round": "nothing"}


def test_bias_meter(x):
    smooth = tf.inspect.bias(tf.tanh(x), x, {x: VALUE}, scales=(0.001,)).rows[0]
    wrong = tf.inspect.bias(tf.tanh(x), x, {x: VALUE}, scales=(0.001,), overrides={"Tanh": rules.scale(2.0)}).rows[0]

    assert [smooth[k] for k in ("correlation", "gain", "along")] == pytest.approx([1.0, 1.0, 1.0], abs=1e-2)
    assert [wrong[k] for k in ("correlation", "gain", "along")] == pytest.approx([1.0, 0.5, 0.5], abs=1e-2)


def test_bias_of_a_straight_through_step(x):
    y = tf.straight_through(tf.round)(x * 10.0)
    rows = tf.inspect.bias(y, x, {x: VALUE + 0.013}, scales=(1e-4, 1.0)).rows

    assert rows[0]["gain"] == 0.0                       # no step is crossed
    assert rows[1]["gain"] == pytest.approx(1.0, abs=0.05)  # many are: on average the slope is as promised


def test_bias_needs_a_gradient(x):
    with pytest.raises(ValueError, match="why_none"):
        tf.inspect.bias(tf.round(x), x, {x: VALUE})
