"""Feeds in buckets: few programs, the same answers, and refusals."""

import numpy as np
import pytest

import regrad as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _mean_loss(mask_of):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    mask = mask_of(x)
    w = tf.Variable([[1.0], [-2.0], [0.5]])
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0), 1)
    mean = tf.reduce_mean(loss) if mask is None else tf.reduce_sum(loss * mask) / tf.reduce_sum(mask)
    return x, w, mean, tf.gradients(mean, w)[0]


@pytest.mark.parametrize("sizes", [None, [4, 9, 40]])
def test_padding_that_is_masked_changes_nothing_but_the_number_of_programs(session, monkeypatch, sizes):
    monkeypatch.setattr(tf.config, "recompile_warning", 0)
    x, w, mean, slope = _mean_loss(lambda x: tf.bucket(x, sizes=sizes))
    x2, w2, mean2, slope2 = _mean_loss(lambda x: None)
    session.run([w.initializer, w2.initializer])
    plans = session.plans
    call = session.make_callable([mean, slope], [x])
    for n in range(1, 34):
        rows = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
        expected = session.run([mean2, slope2], {x2: rows})
        for got in (session.run([mean, slope], {x: rows}), call(rows)):
            np.testing.assert_allclose(got[0], expected[0], rtol=1e-5)
            np.testing.assert_allclose(got[1], expected[1], rtol=1e-4, atol=1e-6)
    assert session.plans - plans == 33 + (7 if sizes is None else 3)


def test_an_inner_axis(session):
    x = tf.placeholder(tf.int32, [2, None])
    mask = tf.bucket(x, axis=-1, sizes=[5])
    got, real = session.run([x, mask], {x: [[1, 2, 3], [4, 5, 6]]})
    np.testing.assert_array_equal(got, [[1, 2, 3, 0, 0], [4, 5, 6, 0, 0]])
    np.testing.assert_array_equal(real, [1, 1, 1, 0, 0])


def test_two_axes(session):
    x = tf.placeholder(tf.float32, [None, None, 2])
    rows, columns = tf.bucket(x, axis=1, sizes=[4]), tf.bucket(x)
    got, *real = session.run([x, rows, columns], {x: np.ones([3, 2, 2])})
    np.testing.assert_array_equal(got, np.pad(np.ones([3, 2, 2]), [(0, 1), (0, 2), (0, 0)]))
    assert [r.tolist() for r in real] == [[1, 1, 0, 0], [1, 1, 1, 0]]


def test_refusals(session):
    x = tf.placeholder(tf.float32, [None, 3], name="rows")
    with pytest.raises(ValueError, match=r"axis of unknown size; rows:0 has shape \(\?, 3\), and axis 1 was asked for"):
        tf.bucket(x, axis=1)
    with pytest.raises(ValueError, match="must be positive and increase"):
        tf.bucket(x, sizes=[4, 4])
    with pytest.raises(TypeError, match="takes a placeholder"):
        tf.bucket(tf.ones([3]))
    mask = tf.bucket(x, sizes=[2, 4])
    with pytest.raises(ValueError, match="has buckets already"):
        tf.bucket(x)
    with pytest.raises(ValueError, match=r"size 5 along axis 0 of rows:0 is larger than the largest bucket, 4"):
        session.run(mask, {x: np.ones([5, 3])})
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(mask, {x: np.ones([2, 4])})
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(mask, {x: 1.0})
