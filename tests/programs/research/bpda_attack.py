"""An attack through a defence without a derivative (BPDA, Athalye et al. 2018), on the host."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(36)
EPSILON, STEP = 0.3, 0.06


def bit_reduction(x):
    return np.floor(x * 7.0 + 0.5) / 7.0


@tf.RegisterGradient("BPDAIdentity")
def _identity_grad(op, grad):
    return grad


def defend(x):
    with tf.get_default_graph().gradient_override_map(
        {"PyFunc": "BPDAIdentity", "PyFuncStateless": "BPDAIdentity"}
    ):
        y = tf.py_func(bit_reduction, [x], tf.float64, stateful=False, name="defence")
    y.set_shape(x.get_shape())
    return y


w1, w2 = rng.randn(10, 16), rng.randn(16, 4) / 4
originals = rng.rand(5, 10)


def classify(x):
    return tf.matmul(tf.nn.relu(tf.matmul(x - 0.5, w1)), w2)


x = tf.placeholder(tf.float64, [5, 10])
labels = tf.argmax(classify(defend(tf.constant(originals))), 1)
adversarial = tf.Variable(originals, name="adversarial")
assign = tf.assign(adversarial, x)
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=classify(defend(adversarial)))
grad, = tf.gradients(tf.reduce_sum(loss), adversarial)
moved = tf.clip_by_value(adversarial + STEP * tf.sign(grad), originals - EPSILON, originals + EPSILON)
attack = tf.assign(adversarial, tf.clip_by_value(moved, 0.0, 1.0))
without = tf.gradients(tf.py_func(bit_reduction, [adversarial], tf.float64), adversarial)

history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(assign, {x: originals})
    first = sess.run(grad)
    for _ in range(8):
        history.append(sess.run(loss))
        sess.run(attack.op)
    final = sess.run(adversarial)
    broken = np.mean(sess.run(tf.argmax(classify(defend(adversarial)), 1)) != sess.run(labels))

RESULTS = {"grad": first, "losses": history, "adversarial": final, "broken": broken,
           "none_without": np.array(without == [None])}
