"""TensorArray, while_loop, scan, map_fn, foldl and foldr, with gradients, by loops whose length is data."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(31)
x = tf.placeholder(tf.float64, [None, 3])
w = tf.Variable(rng.randn(3, 3) / 2, name="w")
n = tf.shape(x)[0]

power = tf.while_loop(
    lambda i, y: i < n, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w))), [tf.constant(0), x]
)[1]
newton = tf.while_loop(lambda y: tf.reduce_max(tf.abs(y * y - 2.0 - x[0, 0] ** 2)) > 1e-9,
                       lambda y: (0.5 * (y + (2.0 + x[0, 0] ** 2) / y),), [tf.constant(1.0, tf.float64)])
rnn = tf.scan(
    lambda h, row: tf.tanh(tf.matmul(h[tf.newaxis], w)[0] + row), x, initializer=tf.zeros([3], tf.float64)
)
pairs = tf.scan(lambda a, b: (a[0] + b[0], a[1] * b[1] + a[0]), (x, tf.sin(x)), reverse=False)
mapped = tf.map_fn(lambda row: tf.reduce_sum(tf.square(row)) * row[0], x)
multi = tf.map_fn(
    lambda t: (t[0] * t[1], tf.cast(t[1] > 0, tf.int32)), (x, tf.cos(x)), dtype=(tf.float64, tf.int32)
)
folded = tf.foldl(
    lambda a, row: a * 0.5 + tf.matmul(row[tf.newaxis], w)[0], x, initializer=tf.zeros([3], tf.float64)
)
folded_right = tf.foldr(lambda a, row: tf.sin(a) + row, x)

ta = tf.TensorArray(tf.float64, size=0, dynamic_size=True, clear_after_read=False)
_, ta = tf.while_loop(lambda i, ta: i < n, lambda i, ta: (i + 1, ta.write(i, x[i] * tf.cast(i, tf.float64))),
                      [tf.constant(0), ta])
written = ta.stack()
chosen = ta.gather([n - 1, 0])
split = tf.TensorArray(tf.float64, size=2, infer_shape=False).split(x, [n - 1, 1])
joined = tf.concat([split.read(1), split.read(0)], 0)
concatenated = tf.TensorArray(tf.float64, size=3).unstack(tf.reshape(x[:3], [3, 3])).concat()
fibonacci = tf.while_loop(lambda i, a, b: i < 10, lambda i, a, b: (i + 1, b, a + b), [0, 0, 1])
nested = tf.while_loop(
    lambda i, y: i < 2,
    lambda i, y: (
        i + 1,
        tf.while_loop(lambda j, z: j <= i, lambda j, z: (j + 1, z * tf.sin(w[0])), [0, y])[1],
    ),
    [0, x[0]],
)[1]

fetches = {}
for name, y in [("power", power), ("newton", newton), ("rnn", rnn), ("pairs", pairs[0] + pairs[1]),
                ("mapped", mapped), ("multi", multi[0]), ("folded", folded), ("folded_right", folded_right),
                ("written", written), ("chosen", chosen), ("joined", joined), ("concatenated", concatenated),
                ("nested", nested)]:
    grads = tf.gradients(tf.reduce_sum(tf.square(y)), [x, w])
    fetches[name], fetches["dx_" + name] = y, grads[0]
    if grads[1] is not None:
        fetches["dw_" + name] = grads[1]
fetches["signs"], fetches["fibonacci"] = multi[1], fibonacci

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    RESULTS = {}
    for length in (3, 5):
        out = sess.run(fetches, {x: rng.randn(length, 3)})
        out["fibonacci"] = np.array(out["fibonacci"])
        RESULTS.update(("%s_%d" % (name, length), value) for name, value in out.items())
