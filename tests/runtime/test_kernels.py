"""Every function of C or oneDNN that compiled programs call, where programs differentiate, repeat and map it.

One program for each holds: the value, first and second derivative, a loop with its gradient, `map_fn` with its gradient,
gradients inside `map_fn`, and `recompute_grad`. What it gives with the functions is what XLA gives without them.
"""

import numpy as np
import pytest

import regrad as tf
from regrad.ops.vjp import lowering_vjp
from regrad.runtime import foreign, native

pytestmark = pytest.mark.skipif(native.library() is None, reason="there was no C compiler")

RNG = np.random.RandomState(8)


def _rows(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape).astype(np.float32)


W, FLAT, SQUARE = _rows(192, 192) / 14, _rows(1, 3, 16, 16), _rows(3, 3, 32, 32)
KERNELS = {  # name: (target, function of x, x)
    "bilinear": ("regrad_sums_of_rows", lambda x: tf.image.resize_bilinear(x, [9, 40]), _rows(1, 24, 24, 2)),
    "bicubic": ("regrad_sums_of_rows", lambda x: tf.image.resize_bicubic(x, [40, 40]), _rows(1, 24, 24, 2)),
    "area": ("regrad_sums_of_rows", lambda x: tf.image.resize_area(x, [12, 9]), _rows(1, 36, 36, 2)),
    "igamma": ("regrad_special", lambda x: tf.igamma(x, x * x + 0.5), _rows(9, low=0.5, high=3)),
    "matmul": ("regrad_product", lambda x: tf.matmul(x, W), _rows(40, 192)),
    "transposed": ("regrad_product", lambda x: tf.matmul(W, x, transpose_a=True, transpose_b=True), _rows(72, 192)),
    "convolution": ("regrad_convolution", lambda x: tf.nn.conv2d(x, FLAT, [1, 1, 1, 1], "SAME"), _rows(4, 16, 16, 16)),
    "winograd": ("regrad_winograd", lambda x: tf.nn.conv2d(x, SQUARE, [1, 1, 1, 1], "SAME"), _rows(2, 24, 24, 32)),
    "igammac": ("regrad_special", lambda x: tf.igammac(x + 1.0, x), _rows(9, low=0.5, high=3)),
    "betainc": ("regrad_special", lambda x: tf.betainc(x, x + 1.0, x / 4.0), _rows(9, low=0.5, high=3)),
}


def _everywhere(f, x):
    """Returns values of `f` at `x` in all the places where a program may have it."""
    def grad(y, x):
        return tf.gradients(tf.reduce_sum(tf.sin(3.0 * y)), x)[0]

    first = grad(f(x), x)
    found = [f(x), first, grad(first, x)]
    loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.reduce_mean(f(x * (0.8 + s / 99.0)))), [0, 0.9])[1]
    found += [loop, grad(loop, x)]
    rows = tf.stack([x, 0.5 * x])
    mapped = tf.map_fn(f, rows)
    found += [mapped, grad(mapped, rows)]
    found.append(tf.map_fn(lambda r: tf.gradients(tf.reduce_sum(f(r) ** 2), r)[0], rows))
    again = tf.recompute_grad(f)(x)
    found += [grad(again, x), grad(grad(again, x), x)]
    return found


# XLA compiles its own forms of the last two for a long time.
@pytest.mark.parametrize("name", [*KERNELS][:-2] + [pytest.param(name, marks=pytest.mark.slow) for name in [*KERNELS][-2:]])
def test_a_kernel_gives_what_xla_gives_wherever_it_stands(name, monkeypatch):
    target, f, value = KERNELS[name]
    called, original = [], foreign.call

    def call(target, *args, **attributes):
        called.append(target)
        return original(target, *args, **attributes)

    monkeypatch.setattr(foreign, "call", call)
    monkeypatch.setattr(tf.config, "host_runs", 0)
    monkeypatch.setattr(tf.config, "tiny_ops", 0)
    monkeypatch.setattr(tf.config, "cache_dir", None)
    results = []
    for on in (True, False):
        monkeypatch.setattr(tf.config, "native", on)
        monkeypatch.setattr(tf.config, "onednn", on)
        called.clear()
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, value.shape)
            found = _everywhere(f, x)
            results.append(session.run(found, {x: value}))
        assert (target in called) is on, called
    for a, b in zip(*results):
        assert np.isfinite(b).all()
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * np.abs(b).max())


def test_what_jax_differentiates_calls_no_kernel():
    """An op type whose rule is JAX's derivative of its lowering, which a kernel computes otherwise."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, dy = tf.constant(_rows(1, 36, 36, 2)), tf.constant(_rows(1, 12, 9, 2))
        y = tf.image.resize_area(x, [12, 9])
        by_jax, *_ = lowering_vjp(y.op, dy)
        by_rule, = tf.gradients(y, x, dy)
        (again,) = tf.gradients(tf.reduce_sum(by_jax ** 2), dy)
        np.testing.assert_allclose(*session.run([by_jax, by_rule]), rtol=1e-5, atol=1e-6)
        assert np.isfinite(session.run(again)).all()
