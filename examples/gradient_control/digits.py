"""A small convolutional network that has learnt scikit-learn's digits, for the examples that look into one."""

import numpy as np
from sklearn.datasets import load_digits

import regrad as tf


def trained(session_of, steps=120):
    """Returns (images, labels, placeholder, last feature maps, scores) of a trained network in the default graph."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 8, 8, 1)
    draw = np.random.RandomState(0)
    tf.set_random_seed(1)
    x, y = tf.placeholder(tf.float32, [None, 8, 8, 1]), tf.placeholder(tf.int32, [None])
    h = tf.layers.conv2d(x, 12, 3, padding="same", activation=tf.nn.relu, name="conv1")
    maps = tf.layers.conv2d(h, 24, 3, padding="same", activation=tf.nn.relu, name="conv2")
    h = tf.layers.max_pooling2d(maps, 2, 2)
    h = tf.layers.dense(tf.reshape(h, [-1, 16 * 24]), 32, tf.nn.relu, name="dense1")
    scores = tf.layers.dense(h, 10, name="dense2")
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=scores))
    step = tf.train.AdamOptimizer(3e-3).minimize(loss)
    session_of.run(tf.global_variables_initializer())
    for _ in range(steps):
        batch = draw.choice(1400, 64)
        session_of.run(step, {x: images[batch], y: labels[batch]})
    return images[1400:], labels[1400:], x, maps, scores
