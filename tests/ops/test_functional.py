"""map_fn, scan, foldl and foldr: values, static shapes, derivatives of both orders, structures, overrides, refusals."""

import numpy as np
import pytest

import regrad as tf

X = np.random.RandomState(5).uniform(0.2, 1.5, (4, 3))


def run(fetches, feeds=None):
    with tf.Session() as sess:
        return sess.run(fetches, feeds)


def _scanned(f, rows, state=None, reverse=False):
    out, order = [], list(rows)[::-1] if reverse else list(rows)
    for row in order:
        state = row if state is None else f(state, row)
        out.append(state)
    return np.stack(out[::-1] if reverse else out)


def _decay(a, row):
    return a * 0.5 + row * row


ROWS = {  # name -> (graph, the same in NumPy)
    "map": (lambda x: tf.map_fn(lambda row: row * row[0], x), lambda x: x * x[:, :1]),
    "map_scalars": (lambda x: tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)), x), lambda x: (x * x).sum(1)),
    "scan": (lambda x: tf.scan(_decay, x), lambda x: _scanned(_decay, x)),
    "scan_reverse": (lambda x: tf.scan(_decay, x, reverse=True), lambda x: _scanned(_decay, x, reverse=True)),
    "scan_from": (lambda x: tf.scan(_decay, x, initializer=tf.ones([3], tf.float64)),
                  lambda x: _scanned(_decay, x, np.ones(3))),
    "scan_from_reverse": (lambda x: tf.scan(_decay, x, initializer=tf.ones([3], tf.float64), reverse=True),
                          lambda x: _scanned(_decay, x, np.ones(3), reverse=True)),
    "foldl": (lambda x: tf.foldl(_decay, x), lambda x: _scanned(_decay, x)[-1]),
    "foldl_from": (lambda x: tf.foldl(_decay, x, initializer=tf.ones([3], tf.float64)),
                   lambda x: _scanned(_decay, x, np.ones(3))[-1]),
    "foldr": (lambda x: tf.foldr(_decay, x), lambda x: _scanned(_decay, x, reverse=True)[0]),
    "foldr_from": (lambda x: tf.foldr(_decay, x, initializer=tf.ones([3], tf.float64)),
                   lambda x: _scanned(_decay, x, np.ones(3), reverse=True)[0]),
}


def _differences(f, x, v, h=1e-6):
    return (f(x + h * v) - f(x - h * v)) / (2 * h)


@pytest.mark.parametrize("known", [True, False], ids=["static", "fed"])
@pytest.mark.parametrize("name", ROWS)
def test_values_and_derivatives(name, known):
    build, reference = ROWS[name]
    x = tf.placeholder(tf.float64, X.shape if known else [None, 3])
    y = build(x)
    want = reference(X)
    if known:
        assert y.shape.as_list() == list(want.shape)
    loss = tf.reduce_sum(tf.sin(y))
    dx = tf.gradients(loss, x)[0]
    v = np.random.RandomState(6).randn(*X.shape)
    ddx = tf.gradients(tf.reduce_sum(dx * v), x)[0]
    got, first, second = run([y, dx, ddx], {x: X})
    np.testing.assert_allclose(got, want, rtol=1e-12)

    def loss_at(a):
        return np.sin(reference(a)).sum()

    np.testing.assert_allclose((first * v).sum(), _differences(loss_at, X, v), rtol=1e-6)
    w = np.random.RandomState(7).randn(*X.shape)
    around = [(loss_at(X + 1e-4 * (s * v + t * w)), s * t) for s in (1, -1) for t in (1, -1)]
    np.testing.assert_allclose((second * w).sum(), sum(f * sign for f, sign in around) / 4e-8, rtol=1e-4)


def test_structures():
    pair = tf.map_fn(lambda t: {"sum": t["a"] + t["b"], "positive": t["a"] > t["b"]}, {"a": X, "b": X[::-1].copy()},
                     dtype={"sum": tf.float64, "positive": tf.bool})
    a, (b, c) = tf.scan(lambda s, row: (s[0] + row[0], [s[1][0] * row[1], s[1][1] + 1]), (X, X[:, 0]),
                        initializer=(np.zeros(3), [np.float64(1), 0]))
    low, high = tf.foldl(lambda s, row: (tf.minimum(s[0], row), tf.maximum(s[1], row)), X,
                         initializer=(np.full(3, 9.0), np.full(3, -9.0)))
    pair, a, b, c, low, high = run([pair, a, b, c, low, high])
    np.testing.assert_allclose(pair["sum"], X + X[::-1])
    np.testing.assert_array_equal(pair["positive"], X > X[::-1])
    np.testing.assert_allclose(a, np.cumsum(X, 0))
    np.testing.assert_allclose(b, np.cumprod(X[:, 0]))
    np.testing.assert_array_equal(c, [1, 2, 3, 4])
    np.testing.assert_array_equal(low, X.min(0))
    np.testing.assert_array_equal(high, X.max(0))


def test_no_rows():
    x = tf.placeholder(tf.float64, [None, 3])
    mapped = tf.map_fn(lambda row: row[:2], x)
    scanned = tf.scan(_decay, x, initializer=np.ones(3))
    folded = tf.foldl(_decay, x, initializer=np.ones(3))
    mapped, scanned, folded = run([mapped, scanned, folded], {x: np.zeros((0, 3))})
    assert mapped.shape == (0, 2)
    assert scanned.shape == (0, 3)
    np.testing.assert_array_equal(folded, np.ones(3))


def test_a_captured_tensor_gets_its_gradient():
    w = tf.constant([1.0, 2.0, 3.0], tf.float64)
    y = tf.map_fn(lambda row: row * w, X)
    np.testing.assert_allclose(run(tf.gradients(y, w)[0]), X.sum(0))


@tf.RegisterGradient("FunctionalTen")
def _ten(op, dy):
    return 10.0 * dy


@pytest.mark.parametrize("f", [lambda x: tf.map_fn(tf.tanh, x), lambda x: tf.scan(lambda a, row: tf.tanh(row), x, np.zeros(3)),
                               lambda x: tf.foldl(lambda a, row: a + tf.tanh(row), x, np.zeros(3)),
                               lambda x: tf.foldr(lambda a, row: a + tf.tanh(row), x, np.zeros(3))])
def test_overrides_reach_inside(f):
    x = tf.constant(X)
    with tf.get_default_graph().gradient_override_map({"Tanh": "FunctionalTen"}):
        y = f(x)
    np.testing.assert_array_equal(run(tf.gradients(y, x)[0]), np.full(X.shape, 10.0))


def test_back_prop_false_stops_gradients():
    x = tf.constant(X)
    assert tf.gradients(tf.map_fn(lambda row: row * 2.0, x, back_prop=False), x) == [None]


@pytest.mark.parametrize(("build", "error", "says"), [
    (lambda: tf.map_fn(3, X), TypeError, "map_fn: fn must be callable"),
    (lambda: tf.scan(None, X), TypeError, "scan: fn must be callable"),
    (lambda: tf.map_fn(lambda r: r, 1.0), ValueError, "at least 1D"),
    (lambda: tf.map_fn(lambda r: r[0], (X, X[:2])), ValueError, r"same first size, got \[2, 4\]"),
    (lambda: tf.map_fn(lambda r: (r, r), X), ValueError, "another structure"),
    (lambda: tf.map_fn(lambda r: tf.cast(r, tf.int32), X), TypeError, "dtype int32, and not float64; say dtype="),
    (lambda: tf.foldl(lambda a, r: tf.cast(a, tf.float32), X), TypeError, "float32, and not float64"),
    (lambda: tf.scan(lambda a, r: a[:2], X), ValueError, "Inconsistent shapes"),
])
def test_refuses(build, error, says):
    with pytest.raises(error, match=says):
        build()


def test_vectorized_map_finds_out_the_dtypes():
    x = tf.placeholder(tf.float32, [None, 3])
    shift = tf.constant([1.0, 2.0, 3.0])
    total, parts = tf.vectorized_map(lambda row: (tf.argmax(row[0]), {"a": row[0] * shift, "b": row[1] + 1}),
                                      (x, tf.constant([10, 20])))
    assert (total.dtype, parts["b"].dtype, parts["a"].shape.as_list()) == (tf.int64, tf.int32, [2, 3])
    value = np.array([[3, 1, 2], [0, 5, 4]], np.float32)
    with tf.Session() as sess:
        got = sess.run([total, parts, tf.gradients(parts["a"], shift)[0]], {x: value})
    np.testing.assert_array_equal(got[0], [0, 1])
    np.testing.assert_array_equal(got[1]["a"], value * [1, 2, 3])
    np.testing.assert_array_equal(got[1]["b"], [11, 21])
    np.testing.assert_array_equal(got[2], value.sum(0))
