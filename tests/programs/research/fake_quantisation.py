"""Quantisation-aware training (Jacob et al. 2017): fake_quant ops with moving ranges, and their gradients."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(39)
x = tf.placeholder(tf.float32, [None, 5])
y = tf.placeholder(tf.float32, [None, 2])
w1 = tf.Variable(rng.randn(5, 6).astype(np.float32), name="w1")
w2 = tf.Variable(rng.randn(6, 2).astype(np.float32), name="w2")
low, high = tf.Variable(-0.5, name="low"), tf.Variable(1.1, name="high")
lows, highs = tf.Variable([-0.9, -1.3], name="lows"), tf.Variable([1.0, 0.4], name="highs")
w1_q = tf.fake_quant_with_min_max_args(w1, min=-1.5, max=1.5, num_bits=4)
h = tf.nn.relu6(tf.matmul(x, w1_q))
h = tf.fake_quant_with_min_max_vars(h - 0.3, low, high, num_bits=4, narrow_range=True)
w2_q = tf.fake_quant_with_min_max_vars_per_channel(w2, lows, highs)
out = tf.matmul(h, w2_q)
loss = tf.reduce_mean(tf.square(out - y))
variables = [w1, w2, low, high, lows, highs]
grads = tf.gradients(loss, variables, gate_gradients=True)
train_op = tf.train.GradientDescentOptimizer(0.05).apply_gradients(zip(grads, variables))

feed = {x: rng.randn(9, 5).astype(np.float32), y: rng.randn(9, 2).astype(np.float32)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    RESULTS = {"d_" + v.op.name: g for v, g in zip(variables, sess.run(grads, feed))}
    RESULTS.update(sess.run({"w1_q": w1_q, "h": h, "w2_q": w2_q}, feed))
    for _ in range(4):
        history.append(sess.run([loss, train_op], feed)[0])
RESULTS["losses"] = history
