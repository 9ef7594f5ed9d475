"""Gradients gathered over several runs, then applied; gradient noise, factors per variable, averages."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(40)
x, y = tf.placeholder(tf.float64, [None, 4]), tf.placeholder(tf.float64, [None, 1])
noise = tf.placeholder_with_default(tf.zeros([4, 5], tf.float64), [4, 5])
with tf.variable_scope("net"):
    w = tf.get_variable("w", initializer=tf.constant(rng.randn(4, 5) / 2))
    b = tf.get_variable("b", [5], tf.float64, tf.constant_initializer(0.1))
    v = tf.get_variable("v", initializer=tf.constant(rng.randn(5, 1) / 2))
loss = tf.losses.huber_loss(y, tf.matmul(tf.nn.elu(tf.matmul(x, w) + b), v), delta=0.7)

global_step = tf.train.create_global_step()
opt = tf.train.MomentumOptimizer(0.1, 0.8)
tvs = tf.trainable_variables()
accum = [tf.Variable(tf.zeros_like(tv.initialized_value()), trainable=False) for tv in tvs]
count = tf.Variable(0.0, trainable=False, dtype=tf.float64, name="count")
zero = [a.assign(tf.zeros_like(a)) for a in accum] + [count.assign(0.0)]
gvs = opt.compute_gradients(loss, tvs)
collect = [a.assign_add(g) for a, (g, _) in zip(accum, gvs)] + [count.assign_add(1.0)]
factors = {"net/w": 1.0, "net/b": 2.0, "net/v": 0.5}
mean = [(factors[tv.op.name] * (a + (noise if a.shape == noise.shape else 0.0)) / count, tv)
        for a, tv in zip(accum, tvs)]
apply_op = opt.apply_gradients(mean, global_step=global_step)
ema = tf.train.ExponentialMovingAverage(0.9, num_updates=global_step)
with tf.control_dependencies([apply_op]):
    train_op = ema.apply(tvs)

TOLERANCE = 1e-5      # tf.losses computes in float32
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(4):
        sess.run(zero)
        part = []
        for _ in range(3):
            feed = {x: rng.randn(6, 4), y: rng.randn(6, 1)}
            part.append(sess.run(loss, feed))
            sess.run(collect, feed)
        sess.run(train_op, {noise: 0.01 * rng.randn(4, 5)})
        history.append(part)
    final = sess.run(tvs)
    averages = sess.run([ema.average(tv) for tv in tvs])
    step = sess.run(global_step)

RESULTS = {
    "losses": history,
    "global_step": step,
    "average_names": np.array([ema.average_name(tv) for tv in tvs]),
}
for tv, value, average in zip(tvs, final, averages):
    RESULTS[tv.op.name], RESULTS["average " + tv.op.name] = value, average
