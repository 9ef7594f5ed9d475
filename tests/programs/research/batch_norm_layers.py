"""A conv net from tf.layers: batch normalisation, UPDATE_OPS, weight decay, Momentum, evaluation."""
import numpy as np
import tensorflow as tf

rng = np.random.RandomState(24)
TOLERANCE = 1e-4


def init(*shape):
    return tf.constant_initializer(rng.randn(*shape).astype(np.float32) / np.sqrt(np.prod(shape[:-1])))


x = tf.placeholder(tf.float32, [None, 8, 8, 2], name="images")
y = tf.placeholder(tf.int32, [None], name="labels")
is_training = tf.placeholder(tf.bool, [], name="is_training")


def network(images, training):
    h = tf.layers.conv2d(images, 6, 3, padding="same", use_bias=False, kernel_initializer=init(3, 3, 2, 6),
                         name="conv1", kernel_regularizer=lambda w: 1e-3 * tf.nn.l2_loss(w))
    h = tf.layers.batch_normalization(h, momentum=0.9, training=training, name="bn1")
    h = tf.nn.relu(h)
    h = tf.layers.max_pooling2d(h, 2, 2, name="pool1")
    h = tf.layers.conv2d(h, 5, [3, 3], strides=2, activation=tf.nn.elu, kernel_initializer=init(3, 3, 6, 5),
                         bias_initializer=tf.constant_initializer(0.1), name="conv2")
    h = tf.layers.flatten(h)
    h = tf.layers.dense(h, 7, kernel_initializer=init(5, 7), name="fc1")
    h = tf.nn.relu(tf.layers.batch_normalization(h, momentum=0.9, training=training, name="bn2", fused=False))
    h = tf.layers.dropout(h, rate=0.5, training=False)
    return tf.layers.dense(h, 3, kernel_initializer=init(7, 3), name="logits")


logits = network(x, is_training)
loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
total = tf.losses.get_total_loss()
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    train_op = tf.train.MomentumOptimizer(0.05, 0.9).minimize(total)
conv1, gamma = tf.trainable_variables()[0], tf.trainable_variables()[1]
grads = tf.gradients(total, [conv1, gamma, x])

feed = {x: rng.randn(12, 8, 8, 2).astype(np.float32), y: rng.randint(0, 3, 12)}
history = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    first = sess.run(grads, {**feed, is_training: True})
    inference = sess.run(grads, {**feed, is_training: False})
    for _ in range(6):
        history.append(sess.run([loss, total, train_op], {**feed, is_training: True})[:2])
    evaluation = sess.run(logits, {**feed, is_training: False})
    moving = [sess.run(v) for v in tf.global_variables() if "moving" in v.name and "Momentum" not in v.name]

RESULTS = {"update_ops": np.array(len(update_ops)), "d_conv1": first[0], "d_gamma": first[1], "d_x": first[2],
           "d_conv1_inference": inference[0], "losses": history, "evaluation": evaluation,
           "bn1_mean": moving[0], "bn1_variance": moving[1], "bn2_mean": moving[2], "bn2_variance": moving[3],
           "names": np.array([v.op.name for v in tf.trainable_variables()])}
