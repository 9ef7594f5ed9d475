"""Branches: cond, case and nested cond with gradients, side effects and overrides in a branch."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(30)


@tf.RegisterGradient("CondTimesTen")
def _times_ten(op, grad):
    return grad * 10.0


x = tf.placeholder(tf.float64, [3], name="x")
flag = tf.placeholder(tf.bool, [], name="flag")
index = tf.placeholder(tf.int32, [], name="index")
w = tf.Variable([1.0, -2.0, 0.5], dtype=tf.float64, name="w")
taken = tf.Variable(0, name="taken")

simple = tf.cond(flag, lambda: tf.reduce_sum(x * w), lambda: tf.reduce_sum(tf.square(x) - w))
by_size = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: -x, name="by_size")
nested = tf.cond(flag, lambda: tf.cond(x[0] > 0.0, lambda: x * w, lambda: x / w), lambda: tf.stop_gradient(x))
several = tf.cond(flag, lambda: (x[0], [x[1] * 2.0, w]), lambda: (x[2], [x[0] * x[1], -w]), strict=True)
cased = tf.case([(tf.equal(index, 0), lambda: tf.sin(x)), (tf.equal(index, 1), lambda: x ** 3)],
                default=lambda: tf.zeros_like(x) + w, exclusive=False)


def count():
    # An assignment in a branch happens when the branch is taken, and only then.
    with tf.control_dependencies([tf.assign_add(taken, 1)]):
        return tf.identity(x)


counted = tf.cond(flag, count, lambda: 2.0 * x)
with tf.get_default_graph().gradient_override_map({"Tanh": "CondTimesTen"}):
    overridden = tf.cond(flag, lambda: tf.tanh(x), lambda: tf.tanh(2.0 * x))

fetches = {}
for name, y in [
    ("simple", simple),
    ("by_size", by_size),
    ("nested", nested),
    ("cased", cased),
    ("counted", counted),
    ("overridden", overridden),
    ("several", tf.add_n([several[0], several[1][0]])),
]:
    fetches[name] = y
    fetches["d_" + name] = tf.gradients(y, x)[0]
fetches["dw_simple"] = tf.gradients(simple, w)[0]
fetches["dw_nested"] = tf.gradients(nested, w)[0]
fetches["dw_cased"] = tf.gradients(cased, w)[0]
fetches["dd_simple"] = tf.gradients(tf.gradients(tf.cond(flag, lambda: x**3, lambda: tf.sin(x)), x)[0], x)[0]
loss = tf.cond(flag, lambda: tf.reduce_sum(tf.square(w - x)), lambda: tf.reduce_sum(tf.abs(w)))
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

RESULTS, history = {}, []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for number, (f, i, scale) in enumerate(
        [(True, 0, 1.0), (False, 1, 1.0), (True, 2, -1.0), (False, 0, -1.0)]
    ):
        feed = {flag: f, index: i, x: scale * np.array([0.5, 1.5, -0.25])}
        for name, value in sess.run(fetches, feed).items():
            RESULTS["%s_%d" % (name, number)] = value
        RESULTS["taken_%d" % number] = sess.run(taken)
    for step in range(4):
        sess.run(train_op, {flag: step % 2 == 0, x: [1.0, 1.0, 1.0]})
        history.append(sess.run(w))
RESULTS["w"] = history
