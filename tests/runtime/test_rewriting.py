"""What a program computes stays the same when its operations are replaced by fewer."""

import numpy as np
import pytest

import regrad as tf
from regrad import config
from regrad.runtime import program


def _uses(a, w):
    """Products with `w` and its transpose on either side, in a sum whose gradient also has a part that is no product."""
    terms = [tf.matmul(x, w) for x in a[:3]]
    terms += [tf.matmul(x, w, transpose_b=True) for x in a[3:5]]
    terms += [tf.matmul(w, x, transpose_a=True, transpose_b=True) for x in a[5:]]
    return tf.add_n([tf.reduce_sum(tf.square(t)) for t in terms]) + tf.reduce_sum(w * w)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_sum_of_products_is_one_product(compiled, monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0 if compiled else 3)
    rng = np.random.default_rng(5)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        xs = tf.constant(rng.standard_normal((7, 2, 6)))
        w = tf.constant(rng.standard_normal((6, 6)))
        fetches = [_uses(tf.unstack(xs), w), tf.gradients(_uses(tf.unstack(xs), w), w)[0]]
        made = len(graph.get_operations())
        got = session.run(fetches)
        assert len(graph.get_operations()) == made
        monkeypatch.setattr(program, "rewritten", lambda nodes, infos, outside: nodes)
        with tf.Session() as session:
            plain = session.run(fetches)
    for a, b in zip(got, plain):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_which_sums_of_products_are_one(monkeypatch):
    seen = []
    inner = program.rewritten

    def noted(*args):
        nodes = inner(*args)
        seen.append([(n.op.type, n.op.groups) for n in nodes if n.op.type == "SumOfProducts"])
        return nodes

    monkeypatch.setattr(program, "rewritten", noted)
    with tf.Graph().as_default(), tf.Session() as session:
        a = [tf.placeholder(tf.float32, [2, 6]) for _ in range(4)]
        feeds = dict.fromkeys(a, np.ones((2, 6)))
        products = [tf.matmul(x, x, transpose_a=True) for x in a]
        long = [tf.matmul(x, x, transpose_b=True) for x in a]
        nested = tf.add_n([tf.add_n(products[:2]), products[2] + products[3], tf.ones([6, 6])])
        shared = tf.add_n(products[:3])
        assert session.run(nested, feeds)[0, 0] == 9 and seen.pop() == [("SumOfProducts", (4, 4, 1))]
        session.run([shared, products[0]], feeds)
        assert seen.pop() == []  # a product that something else reads is made all the same
        session.run(tf.add_n(long), feeds)
        assert seen.pop() == []  # the operands are longer than the products
        session.run(tf.add_n(products[:2]), feeds)
        assert seen.pop() == []


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_only_the_part_of_a_product_that_is_read_is_computed(transpose_a, transpose_b, compiled, monkeypatch):
    monkeypatch.setattr(config, "host_runs", 0 if compiled else 3)
    seen = []
    inner = program.rewritten

    def noted(*args):
        nodes = inner(*args)
        seen.append([(n.op.type, n.op.outputs[0].dims) for n in nodes if n.op.type == "PartOfProduct"])
        return nodes

    monkeypatch.setattr(program, "rewritten", noted)
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((6, 4)), rng.standard_normal((4, 8))
    given_a, given_b = a.T if transpose_a else a, b.T if transpose_b else b
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float64, given_a.shape), tf.placeholder(tf.float64, given_b.shape)
        feeds = {x: given_a, y: given_b}
        product = tf.matmul(x, y, transpose_a, transpose_b)
        columns, rows = tf.split(product, [2, 5, 1], axis=-1), tf.split(tf.matmul(x, y, transpose_a, transpose_b), 3)
        np.testing.assert_allclose(session.run(columns[1], feeds), (a @ b)[:, 2:7])
        np.testing.assert_allclose(session.run(rows[2], feeds), (a @ b)[4:])
        assert seen == [[("PartOfProduct", (6, 5))], [("PartOfProduct", (2, 8))]]
        seen.clear()
        np.testing.assert_allclose(session.run(columns[0] + columns[1][:, :2], feeds), (a @ b)[:, :2] + (a @ b)[:, 2:4])
        np.testing.assert_allclose(session.run([columns[0], product], feeds)[1], a @ b)
        assert seen == [[], []]
