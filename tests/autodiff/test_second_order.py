"""Second derivatives where the first is zero: rules must be linear in what arrives, at zero too."""

import numpy as np
import pytest

import regrad as tf

CASES = {
    "a quotient squared": (lambda x: tf.square(x / 2.0), 0.5),
    "a product squared": (lambda x: tf.square(x * 0.5), 0.5),
    "a reciprocal squared": (lambda x: tf.square(1.0 / (x + 1.0) - 1.0), 2.0),
    "div_no_nan": (lambda x: tf.square(tf.div_no_nan(x, 2.0)), 0.5),
    "a root": (lambda x: tf.square(tf.sqrt(x + 1.0) - 1.0), 0.5),
    "sine": (lambda x: tf.square(tf.sin(x)), 2.0),
    "tanh": (lambda x: tf.square(tf.tanh(x)), 2.0),
    "softplus": (lambda x: tf.square(tf.nn.softplus(x) - np.log(2.0)), 0.5),
}


@pytest.mark.parametrize("name", CASES)
def test_second_derivative_at_a_stationary_point(name):
    build, want = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [])
        first = tf.gradients(build(x), x)[0]
        got = session.run([first, tf.gradients(first, x)[0]], {x: 0.0})
    np.testing.assert_allclose(got, [0.0, want], atol=1e-12)
