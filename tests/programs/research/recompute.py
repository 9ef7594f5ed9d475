"""Layers recomputed in the backward pass: custom_gradient of a block, nested, against the plain gradient."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(27)


def recompute(f):
    """Keeps the block's inputs only; what it computed is computed again when the gradient is wanted."""
    @tf.custom_gradient
    def block(*inputs):
        def grad(*dy):
            with tf.control_dependencies(dy):
                again = [tf.identity(i) for i in inputs]
            with tf.name_scope("recomputed"):
                outputs = f(*again)
            return tf.gradients(outputs, again, grad_ys=list(dy))
        return f(*[tf.stop_gradient(i) for i in inputs]), grad
    return block


def layer(x, w, b):
    h = tf.tanh(tf.matmul(x, w) + b)
    return h * tf.sigmoid(h) + x


weights = [tf.constant(rng.randn(6, 6) / 3) for _ in range(3)]
biases = [tf.constant(rng.randn(6) / 3) for _ in range(3)]
x = tf.placeholder(tf.float64, [None, 6])


def network(block, x):
    for w, b in zip(weights, biases):
        x = block(x, w, b)
    return tf.reduce_sum(tf.square(x))


xs = [x] + weights + biases
plain = tf.gradients(network(layer, x), xs)
recomputed = tf.gradients(network(recompute(layer), x), xs)
two_deep = recompute(lambda x, w, b: recompute(layer)(layer(x, w, b), w, b))
nested = tf.gradients(tf.reduce_sum(two_deep(x, weights[0], biases[0])), [x, weights[0], biases[0]])
nested_plain = tf.gradients(tf.reduce_sum(layer(layer(x, weights[0], biases[0]), weights[0], biases[0])),
                            [x, weights[0], biases[0]])
again = sum(
    1 for op in tf.get_default_graph().get_operations() if "recomputed" in op.name and op.type == "Tanh"
)

with tf.Session() as sess:
    out = sess.run({"plain": plain, "recomputed": recomputed, "nested": nested, "nested_plain": nested_plain},
                   {x: rng.randn(5, 6)})
RESULTS = {"tanhs": np.array(again)}
for name, values in out.items():
    for i, v in enumerate(values):
        RESULTS["%s_%d" % (name, i)] = v
