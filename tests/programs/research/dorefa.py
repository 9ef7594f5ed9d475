"""DoReFa-Net (Zhou et al. 2016): quantised weights, activations and gradients, with fixed noise."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(3)
BITW, BITA, BITG = 2, 3, 6
G = tf.get_default_graph()


def quantize(x, k):
    n = float(2 ** k - 1)
    with G.gradient_override_map({"Round": "Identity"}):
        return tf.round(x * n) / n


def fw(x):
    x = tf.tanh(x)
    x = x / tf.reduce_max(tf.abs(x)) * 0.5 + 0.5
    return 2 * quantize(x, BITW) - 1


def fa(x):
    return quantize(x, BITA)


noises = {}


@tf.RegisterGradient("DorefaFGGrad")
def grad_fg(op, x):
    rank = x.get_shape().ndims
    assert rank is not None
    maxx = tf.reduce_max(tf.abs(x), list(range(1, rank)), keep_dims=True)
    x = x / maxx
    n = float(2 ** BITG - 1)
    x = x * 0.5 + 0.5 + noises[op.name] / n
    x = tf.clip_by_value(x, 0.0, 1.0)
    x = quantize(x, BITG) - 0.5
    return x * maxx * 2


def fg(x, noise):
    with G.gradient_override_map({"Identity": "DorefaFGGrad"}):
        y = tf.identity(x)
    noises[y.op.name] = noise
    return y


def activate(x):
    return fa(tf.clip_by_value(x, 0.0, 1.0))


x = tf.placeholder(tf.float64, [8, 6, 6, 1])
y = tf.placeholder(tf.int64, [8])
w1 = tf.Variable(0.4 * rng.randn(3, 3, 1, 4), name="w1")
w2 = tf.Variable(0.4 * rng.randn(3, 3, 4, 4), name="w2")
w3 = tf.Variable(0.4 * rng.randn(16, 3), name="w3")
h = activate(tf.nn.conv2d(x, w1, [1, 1, 1, 1], "SAME"))
h = tf.nn.conv2d(h, fw(w2), [1, 1, 1, 1], "VALID")
h = fg(h, rng.uniform(-0.5, 0.5, (8, 4, 4, 4)))
h = activate(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"))
logits = tf.matmul(tf.reshape(h, [8, 16]), w3)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
grads = tf.gradients(loss, [w1, w2, w3], gate_gradients=True)
train_op = tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(grads, [w1, w2, w3]))

feed = {x: rng.randn(8, 6, 6, 1), y: rng.randint(0, 3, 8)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads, feed)
    quantised = sess.run(fw(w2))
    for _ in range(4):
        history.append(sess.run([loss, train_op], feed)[0])

RESULTS = {
    "levels": np.unique(np.round(quantised, 12)),
    "grad1": first[0],
    "grad2": first[1],
    "grad3": first[2],
    "losses": history,
}
