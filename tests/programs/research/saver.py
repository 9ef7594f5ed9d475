"""Checkpoints: saved during training, restored into other sessions and graphs, and under new names."""
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(29)
folder = tempfile.mkdtemp()
data, target = rng.randn(10, 4), rng.randn(10, 2)
start = rng.randn(4, 2)


def model():
    w = tf.get_variable("layer/w", initializer=tf.constant(start))
    b = tf.get_variable("layer/b", [2], tf.float64, tf.zeros_initializer())
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.constant(data), w) + b - target))
    return w, b, step, loss, tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)


with tf.Graph().as_default():
    w, b, step, loss, train_op = model()
    saver = tf.train.Saver(max_to_keep=2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        paths = []
        for _ in range(3):
            sess.run(train_op)
            sess.run(train_op)
            paths.append(saver.save(sess, os.path.join(folder, "model.ckpt"), global_step=step))
        straight = [sess.run([train_op, loss])[1] for _ in range(3)]
        last_two = [os.path.basename(p) for p in saver.last_checkpoints]

with tf.Graph().as_default():
    w, b, step, loss, train_op = model()
    saver = tf.train.Saver()
    with tf.Session() as sess:
        latest = tf.train.latest_checkpoint(folder)
        saver.restore(sess, latest)          # no initialisation needed
        at = sess.run(step)
        resumed = [sess.run([train_op, loss])[1] for _ in range(3)]
        saver.restore(sess, paths[1])
        earlier = sess.run([step, w])

with tf.Graph().as_default():
    other = tf.get_variable("other", [4, 2], tf.float64)
    with tf.Session() as sess:
        tf.train.Saver({"layer/w": other}).restore(sess, paths[1])
        renamed = sess.run(other)
        try:
            tf.train.Saver({"absent": other}).restore(sess, paths[1])
            missing = ""
        except tf.errors.NotFoundError as error:
            missing = "absent" if "absent" in str(error) else str(error)
shutil.rmtree(folder)

RESULTS = {
    "latest": np.array(os.path.basename(latest)),
    "kept": np.array(last_two),
    "at": at,
    "straight": straight,
    "resumed": resumed,
    "earlier_step": earlier[0],
    "earlier_w": earlier[1],
    "renamed": renamed,
    "missing": np.array(missing),
}
