"""`tf.contrib.sparsemax`: the nearest distribution to a vector, most of whose probabilities are 0 (Martins and Astudillo 2016,
arXiv:1602.02068)."""

import numpy as np

import regrad as tf


def sparsemax(logits, name=None):
    """Returns, for each row of `logits` [batch, classes], the distribution that is nearest to it.

    It is max(z - tau, 0), tau such that the result adds up to 1; its gradient is its derivative. Rows with a NaN give NaN.

    Args:
      logits: floating matrix.
    """
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        classes = tf.shape(logits)[1]
        z, _ = tf.nn.top_k(logits, classes)
        sums = tf.cumsum(z, 1)
        counts = tf.cast(tf.range(1, classes + 1), logits.dtype)
        held = 1 + counts * z > sums  # the largest elements, that stay above tau
        size = tf.reduce_sum(tf.cast(held, tf.int32), 1)
        last = tf.stack([tf.range(tf.shape(logits)[0]), tf.maximum(size - 1, 0)], 1)
        tau = (tf.gather_nd(sums, last) - 1) / tf.cast(tf.maximum(size, 1), logits.dtype)
        p = tf.maximum(logits - tau[:, tf.newaxis], tf.cast(0, logits.dtype))
        undefined = tf.logical_or(tf.equal(size, 0), tf.is_nan(tf.reduce_sum(logits, 1)))
        return tf.where(undefined, tf.fill(tf.shape(p), tf.cast(np.nan, logits.dtype)), p)


def sparsemax_loss(logits, sparsemax, labels, name=None):
    """Returns the loss [batch] whose gradient by `logits` is `sparsemax` - `labels`; 0 where these agree.

    Args:
      logits, sparsemax: matrix [batch, classes], and what `sparsemax` makes of it.
      labels: [batch, classes], each row a distribution.
    """
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits, p, labels = (tf.convert_to_tensor(t) for t in (logits, sparsemax, labels))
        zero = tf.zeros_like(p)
        ours = tf.where(tf.logical_or(p > 0, tf.is_nan(p)), p * (logits - 0.5 * p), zero)
        theirs = labels * (0.5 * labels - logits)
        # A class that no label names may have a score of minus infinity.
        theirs = tf.where(tf.logical_and(tf.equal(labels, 0), tf.is_inf(logits)), zero, theirs)
        return tf.reduce_sum(ours + theirs, 1)


__all__ = ["sparsemax", "sparsemax_loss"]
