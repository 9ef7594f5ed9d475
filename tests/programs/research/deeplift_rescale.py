"""DeepLIFT's rescale rule by override (Shrikumar et al. 2017): sample and reference in one batch."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(8)


@tf.RegisterGradient("DeepLiftRescale")
def _rescale(op, grad):
    # The batch holds the samples, then as many references.
    x, x_ref = tf.split(op.inputs[0], 2, axis=0)
    y, y_ref = tf.split(op.outputs[0], 2, axis=0)
    delta_in, delta_out = x - x_ref, y - y_ref
    local = tf.gradients(tf.nn.relu(x) if op.type == "Relu" else getattr(tf, op.type.lower())(x), x)[0]
    slope = tf.where(tf.abs(delta_in) > 1e-7, delta_out / delta_in, local)
    return grad * tf.concat([slope, slope], axis=0)


RULES = {kind: "DeepLiftRescale" for kind in ("Relu", "Tanh", "Sigmoid", "Softplus")}
shapes = [(5, 9), (9, 7), (7, 6), (6, 3)]
weights = [rng.randn(*s) / np.sqrt(s[0]) for s in shapes]
biases = [0.2 * rng.randn(s[1]) for s in shapes]


def network(x):
    h = tf.nn.relu(tf.matmul(x, weights[0]) + biases[0])
    h = tf.tanh(tf.matmul(h, weights[1]) + biases[1])
    h = tf.sigmoid(tf.matmul(h, weights[2]) + biases[2])
    return tf.matmul(h, weights[3]) + biases[3]


x = tf.placeholder(tf.float64, [None, 5])
reference = tf.placeholder(tf.float64, [5])
batch = tf.concat([x, tf.zeros_like(x) + reference], axis=0)
with tf.get_default_graph().gradient_override_map(RULES):
    scores = network(batch)
samples, references = tf.split(scores, 2, axis=0)
multipliers = tf.split(tf.gradients(scores[:, 1], batch)[0], 2, axis=0)[0]
contributions = multipliers * (x - reference)

data = rng.randn(4, 5)
data[1, 2] = 0.3       # equals the reference there: the slope comes from the derivative further up only
with tf.Session() as sess:
    RESULTS = sess.run({"contributions": contributions, "multipliers": multipliers,
                        "difference": (samples - references)[:, 1],
                        "completeness": tf.reduce_sum(contributions, 1) - (samples - references)[:, 1]},
                       {x: data, reference: np.full(5, 0.3)})
