"""Domain-adversarial training of a small network (Ganin & Lempitsky 2015) with a reversal by override."""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops


class FlipGradientBuilder(object):
    def __init__(self):
        self.num_calls = 0

    def __call__(self, x, l=1.0):
        grad_name = "DannFlipGradient%d" % self.num_calls

        @ops.RegisterGradient(grad_name)
        def _flip_gradients(op, grad):
            return [tf.negative(grad) * l]

        g = tf.get_default_graph()
        with g.gradient_override_map({"Identity": grad_name}):
            y = tf.identity(x)

        self.num_calls += 1
        return y


flip_gradient = FlipGradientBuilder()
rng = np.random.RandomState(0)
DTYPE = tf.float64


def weights(name, *shape):
    value = rng.randn(*shape) / np.sqrt(shape[0])
    return tf.get_variable(name, initializer=tf.constant(value, DTYPE))


def biases(name, n):
    return tf.get_variable(name, shape=[n], dtype=DTYPE, initializer=tf.zeros_initializer())


# Two blobs per class; the target domain is the source turned by 35 degrees and moved.
centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
labels = rng.randint(0, 3, 48)
source = centres[labels] + 0.4 * rng.randn(48, 2)
turn = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
target = centres[rng.randint(0, 3, 48)].dot(turn) + 0.3 + 0.4 * rng.randn(48, 2)

X = tf.placeholder(DTYPE, [None, 2], name="X")
y = tf.placeholder(tf.int32, [None], name="y")
domain = tf.placeholder(DTYPE, [None, 2], name="domain")
train = tf.placeholder(tf.bool, [], name="train")
l = tf.placeholder(DTYPE, [], name="l")
lr = tf.placeholder(DTYPE, [], name="lr")

with tf.variable_scope("feature_extractor"):
    W0, b0 = weights("W0", 2, 15), biases("b0", 15)
    feature = tf.nn.relu(tf.matmul(X, W0) + b0, name="feature")

with tf.variable_scope("label_predictor"):
    W1, b1 = weights("W1", 15, 3), biases("b1", 3)
    # While training only the first half of the batch, the source, has labels.
    rows = tf.cond(train, lambda: tf.slice(feature, [0, 0], [tf.shape(feature)[0] // 2, -1]), lambda: feature)
    logits = tf.matmul(rows, W1) + b1
    pred_loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))

with tf.variable_scope("domain_predictor"):
    d_W0, d_b0 = weights("W0", 15, 8), biases("b0", 8)
    d_W1, d_b1 = weights("W1", 8, 2), biases("b1", 2)
    hidden = tf.nn.relu(tf.matmul(flip_gradient(feature, l), d_W0) + d_b0)
    d_logits = tf.matmul(hidden, d_W1) + d_b1
    domain_loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=domain, logits=d_logits))

total_loss = pred_loss + domain_loss
train_op = tf.train.MomentumOptimizer(lr, 0.9).minimize(total_loss)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(y, tf.int64)), DTYPE))
domain_grad, = tf.gradients(domain_loss, [W0])
label_grad, = tf.gradients(pred_loss, [W0])

feed = {X: np.vstack([source[:32], target[:32]]), y: labels[:32], train: True,
        domain: np.repeat([[1.0, 0.0], [0.0, 1.0]], 32, axis=0)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    feed.update({l: 0.7, lr: 0.05})
    first = sess.run([domain_grad, label_grad], feed)
    for step in range(8):
        p = step / 8.0
        feed.update({l: 2.0 / (1.0 + np.exp(-10.0 * p)) - 1.0, lr: 0.05 / (1.0 + 10.0 * p) ** 0.75})
        _, *losses = sess.run([train_op, total_loss, pred_loss, domain_loss], feed)
        history.append(losses)
    test = sess.run(accuracy, {X: source[32:], y: labels[32:], train: False})
    final = sess.run([W0, d_W1])

RESULTS = {"domain_grad": first[0], "label_grad": first[1], "losses": history, "test_accuracy": test,
           "W0": final[0], "d_W1": final[1]}
