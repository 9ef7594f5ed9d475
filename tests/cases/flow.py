"""Rows for `regrad/ops/flow.py`: branches and loops, with derivatives to second order through them."""

import numpy as np

import regrad as tf
from tests.cases import Bad, Steps

YES, NO = np.array(True), np.array(False)


def branch(p, x):
    return tf.cond(p, lambda: x * x, lambda: tf.sin(x))


def captured(p, x, y):
    """Both branches use what is outside; one of them only one of the two."""
    return tf.cond(p, lambda: [x * y * y, y], lambda: [x * 2.0, tf.exp(y)])


def nested(p, q, x):
    return tf.cond(p, lambda: tf.cond(q, lambda: x**3, lambda: x * 2.0), lambda: -x)


def chosen(i, x):
    return tf.switch_case(i, {0: lambda: x * x, 1: lambda: tf.sin(x), 2: lambda: x * 0.5}, default=lambda: -x)


def power(n, x):
    """x to the power 2^n, elementwise."""
    return tf.while_loop(lambda i, z: i < n, lambda i, z: (i + 1, z * z), [tf.constant(0), x])[1]


def weighted(x, w):
    """What every turn uses from outside, and two loop variables that use each other."""
    return tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, tf.tanh(b * w), a + b), [tf.constant(0), x, x])[1:]


def until(x):
    """How often the loop turns depends on the values."""
    return tf.while_loop(lambda z: tf.reduce_sum(z) < 20.0, lambda z: z * 1.5, [x])


def held(op_type, function, *inputs, order=1, note="", expected=None, **more):
    """A row of a function's values and derivatives by its last input, and of the same in both orders of fetching."""
    def build(*tensors):
        y = function(*tensors)
        levels = [list(y) if isinstance(y, (list, tuple)) else [y]]
        for _ in range(order):
            weights = [tf.ones_like(t) for t in levels[-1]]
            levels.append([tf.gradients(levels[-1], tensors[-1], grad_ys=weights)[0]])
        return [[t for level in levels for t in level], levels[-1], levels[0]]

    if expected is not None:
        expected = [expected, expected[-1:], expected[:1]]
    return Steps(op_type, build, inputs=inputs, note=note, expected=expected, **more)


X = np.array([[-1.5, 0.5, 2.0], [0.25, -0.125, 1.0]])
Z = np.array([0.5, 1.25, -0.75])
STRANGE = np.array([np.nan, np.inf, -0.0])
CASES = [
    *(held("If", branch, p, X.astype(d), order=2 if d != "float16" else 1, note=f"{p} {d}", compiled=d == "float32")
      for p in (YES, NO) for d in ("float16", "float32", "float64")),
    held("If", branch, YES, X + 1j * X[::-1], note="complex"),
    held("If", branch, YES, X[:0], order=2, note="empty"),
    held("If", branch, NO, STRANGE, note="not finite"),
    *(held("If", captured, p, Z, Z + 2, order=2, note=f"both {p}") for p in (YES, NO)),
    *(held("If", nested, p, q, Z, order=2, note=f"nested {p} {q}") for p, q in ((YES, YES), (YES, NO), (NO, YES))),
    *(held("Case", chosen, np.int32(i), X, note=str(i), compiled=not i) for i in (0, 1, 2, 7, -1)),
    *(held("Case", chosen, np.int32(i), X, order=2, note=f"{i} twice", expected=values) for i, values in (
        (0, [X * X, 2 * X, 2 + 0 * X]), (1, [np.sin(X), np.cos(X), -np.sin(X)]))),
    held("Case", chosen, np.int32(1), STRANGE, note="not finite"),
    *(held("While", power, np.int32(n), X.astype(d), note=f"{n} turns, {d}", compiled=n == 2 and d == "float32")
      for n in (0, 1, 2) for d in ("float32", "float64")),
    held("While", power, np.int32(2), X, order=2, note="twice", expected=[X**4, 4 * X**3, 12 * X**2]),
    held("While", power, np.int32(2), X[:0], note="empty"),
    held("While", power, np.int32(1), STRANGE, note="not finite"),
    held("While", weighted, X, X / 2, note="two variables", compiled=True),
    held("While", until, np.abs(X), note="until"),
    Bad("If", lambda: tf.cond(tf.constant([True, False]), lambda: 1, lambda: 2), ValueError, "pred: Shape must be rank 0 but is rank 1"),
    Bad("If", lambda: tf.cond(tf.placeholder(tf.bool, []), lambda: 1.0, lambda: 2), ValueError,
        r"output 0 is float32\[\] and int32\[\]"),
    Bad("If", lambda: tf.cond(tf.placeholder(tf.bool, []), lambda: 1.0, lambda: [1.0, 2.0]), ValueError,
        "don't have the same nested structure"),
    Bad("Case", lambda: tf.switch_case(tf.constant(0), {}), ValueError, "branch_fns must not be empty"),
    Bad("While", lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.ones([2]) * i, [tf.constant(1.0)]), ValueError,
        r"enters the loop with shape \(\), but has shape \(2,\) after one iteration"),
    Bad("While", lambda: tf.while_loop(lambda i: i < 3, lambda i: tf.cast(i, tf.int32), [tf.constant(1.0)]),
        TypeError, "enters the loop with type float32, but has type int32 after one iteration"),
    Bad("While", lambda: tf.while_loop(lambda i: i, lambda i: i + 1, [tf.constant(1)]), TypeError,
        "must return a boolean scalar tensor"),
]
